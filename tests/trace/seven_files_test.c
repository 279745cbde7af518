/* The seven-file promise, whole: one input frame is followed from a port to the player's input slot
 * in a real shard, and the update that answers it from the shard's tick to the port. At each hop
 * this test looks at what the file named there, in the README's order, has done:
 *
 *   1 dataplane/worker.c    one turn of the worker
 *   2 dataplane/wire.c      the frame comes out of the receive burst; later, out of the transmit
 * one 3 dataplane/packet.c    its headers are read, its checksums hold 4 dataplane/enet/rx.c   its
 * command belongs to a connected peer 5 dataplane/route.c     its first byte and the peer's route
 * name the shard: it is in that ring 6 simulation/inlet.c    it leaves the ring and is the player's
 * next input 7 simulation/update.c   the tick has moved the player, and the update is in the ring
 * back */
#include "dataplane/worker_fixture.h"

#include "proto/client.pb-c.h"
#include "simulation/counters.h"
#include "simulation/rules/move.h"
#include "simulation/shard.h"

struct trace {
	struct world world; /* port, worker, its rings */
	struct client client;
	struct sw_config config; /* of the shard */
	struct sim_links links;
	struct sim_shard *shard;
	/* the last message of each type that the client got */
	uint8_t got[256][1400];
	uint32_t got_bytes[256];
};

static void on_any(
	void *ctx, uint8_t channel, bool reliable, const uint8_t *payload, uint32_t bytes)
{
	struct trace *t = ctx;

	(void)channel;
	(void)reliable;
	assert_in_range(bytes, 1, sizeof(t->got[0]));
	memcpy(t->got[payload[0]], payload, bytes);
	t->got_bytes[payload[0]] = bytes;
}

static void client_takes(struct trace *t)
{
	const struct lean_sink sink = {.ctx = t, .message = on_any};
	uint8_t bytes[2048], out[LEAN_OUT_BYTES];
	uint32_t n;

	while ((n = ring_port_get(&t->world.wire, 0, bytes, sizeof(bytes)))) {
		const struct packet_frame frame = {.data = bytes, .bytes = n};
		struct packet packet;

		packet_parse(&frame, &t->client.local, &packet);
		assert_int_equal(packet.kind, PACKET_UDP);
		client_put(&t->client, out,
			lean_read(&t->client.enet, bytes + packet.payload_at, packet.payload_bytes,
				&sink, now_ms(&t->client), out));
	}
}

/* One millisecond of everything: shard, worker, client. */
static void pass(struct trace *t, uint32_t ms)
{
	while (ms--) {
		t->world.now_ns += NS_PER_MS;
		while (sim_shard_step(t->shard, t->world.now_ns))
			;
		dp_worker_step(t->world.worker, t->world.now_ns);
		client_takes(t);
	}
}

static uint64_t sim_counted(const struct trace *t, uint32_t counter)
{
	return counter_get(&sim_shard_counters(t->shard)->values[counter]);
}

static void shard_make(struct trace *t)
{
	char error[256] = "";

	sw_config_defaults(&t->config);
	t->config.map_count = 1;
	t->config.maps[0] = (struct config_map){.name = "meadow",
		.width_m = 500,
		.height_m = 500,
		.tick_hz = 20,
		.players_max = 10,
		.view_m = 40};
	t->config.simulation.players_max = 16;
	t->links = (struct sim_links){
		.workers = 1,
		.from_dataplane = {t->world.links.to_shard[0]},
		.to_dataplane = {t->world.links.from_shard[0]},
		.from_control = msg_ring_new("control", 256),
		.to_control = msg_ring_new("control", 256),
		.from_world = msg_ring_new("world", 256),
		.to_world = msg_ring_new("world", 256),
	};
	t->shard =
		sim_shard_new(&t->config, 0, &t->links, 1, t->world.now_ns, error, sizeof(error));
	if (!t->shard)
		fail_msg("%s", error);
}

static void join(struct trace *t, uint64_t peer)
{
	struct msg_player_join body = {.session = handle_make(0, 1, 1),
		.character_id = 7,
		.epoch = 1,
		.has_position = 1,
		.x_mm = 100000,
		.y_mm = 100000,
		.realm_id = 1,
		.payload_bytes_max = 1000,
		.map = "meadow",
		.name = "Ada"};
	struct msg_buffer message;

	memcpy(msg_begin(message.slot, MSG_PLAYER_JOIN, peer, sizeof(body)), &body, sizeof(body));
	assert_true(msg_ring_push(t->links.from_control, message.slot));
	pass(t, 200);
	assert_int_equal(sim_counted(t, SIM_JOINS), 1);
	assert_true(t->got_bytes[SW_MSG_JOINED] > 0);
}

static const Sw__EntityState *state_of(const Sw__WorldUpdate *update, uint32_t actor)
{
	for (size_t i = 0; i < update->n_entities; i++)
		if (update->entities[i]->actor_id == actor)
			return update->entities[i];
	return NULL;
}

static void one_input_there_and_back(void **state)
{
	struct trace *t = calloc(1, sizeof(*t));
	Sw__Input east = SW__INPUT__INIT, *inputs[] = {&east};
	Sw__InputBatch batch = SW__INPUT_BATCH__INIT;
	uint8_t input[64] = {SW_MSG_INPUT}, datagram[LEAN_OUT_BYTES], frame[2048];
	uint32_t input_bytes, bytes, actor;
	struct packet_frame view = {.data = frame};
	struct packet_link link;
	struct packet packet;
	uint64_t peer, rx, commands, to_shard, taken, updates, tx;
	const struct counter_set *enet;
	Sw__Joined *joined;
	Sw__WorldUpdate *update;
	const Sw__EntityState *own;

	(void)state;
	world_make(&t->world, "seven");
	client_make(&t->client, &t->world, 2);
	shard_make(t);
	enet = &dp_worker_counters(t->world.worker)[1];
	peer = client_connect(&t->client);
	join(t, peer);
	joined = sw__joined__unpack(
		NULL, t->got_bytes[SW_MSG_JOINED] - 1, t->got[SW_MSG_JOINED] + 1);
	assert_non_null(joined);
	assert_int_equal(joined->x_mm, 100000);
	actor = joined->actor_id;

	/* The frame, as the client's network card would send it: one step to the east. */
	east.dx = 127;
	batch.first_sequence = 1;
	batch.inputs = inputs;
	batch.n_inputs = 1;
	input_bytes = 1 + (uint32_t)sw__input_batch__pack(&batch, input + 1);
	bytes = lean_send_unreliable(
		&t->client.enet, SW_CHANNEL_WORLD, input, input_bytes, datagram);
	packet_link_build(&link, &t->client.local, t->world.port->local.mac,
		t->world.port->local.ip, t->world.port->local.udp_port);
	memcpy(frame + link.bytes, datagram, bytes);
	view.bytes = packet_link_write(&link, frame, bytes, 1, false);

	/* 3: the headers, read alone. */
	packet_parse(&view, &t->world.port->local, &packet);
	assert_int_equal(packet.kind, PACKET_UDP);
	assert_memory_equal(frame + packet.payload_at, datagram, bytes);

	/* 1, 2, 4, 5: one turn of the worker, and it stands in the shard's ring. */
	rx = counted(&t->world, DP_C_RX_PACKETS);
	commands = counter_get(&enet->values[SW_ENET_C_COMMANDS_IN]);
	to_shard = counted(&t->world, DP_C_TO_SHARD);
	assert_int_equal(msg_ring_used(t->links.from_dataplane[0]), 0);
	ring_port_put(&t->world.wire, 0, frame, view.bytes);
	assert_true(dp_worker_step(t->world.worker, t->world.now_ns));
	assert_int_equal(counted(&t->world, DP_C_RX_PACKETS), rx + 1);
	assert_int_equal(counter_get(&enet->values[SW_ENET_C_COMMANDS_IN]), commands + 1);
	assert_int_equal(counted(&t->world, DP_C_TO_SHARD), to_shard + 1);
	assert_int_equal(msg_ring_used(t->links.from_dataplane[0]), 1);

	/* 6: the shard takes it from the ring at once, without waiting for a tick. */
	taken = sim_counted(t, SIM_PACKETS);
	assert_true(sim_shard_step(t->shard, t->world.now_ns));
	assert_int_equal(msg_ring_used(t->links.from_dataplane[0]), 0);
	assert_int_equal(sim_counted(t, SIM_PACKETS), taken + 1);

	/* 7: the next tick applies it, and its update leaves by the ring and the port. */
	updates = sim_counted(t, SIM_UPDATES);
	tx = counted(&t->world, DP_C_TX_PACKETS);
	t->got_bytes[SW_MSG_WORLD_UPDATE] = 0;
	pass(t, 50);
	assert_int_equal(sim_counted(t, SIM_INPUTS), 1);
	assert_true(sim_counted(t, SIM_UPDATES) > updates);
	assert_true(counted(&t->world, DP_C_TX_PACKETS) > tx);
	assert_true(t->got_bytes[SW_MSG_WORLD_UPDATE] > 0);
	update = sw__world_update__unpack(
		NULL, t->got_bytes[SW_MSG_WORLD_UPDATE] - 1, t->got[SW_MSG_WORLD_UPDATE] + 1);
	assert_non_null(update);
	assert_int_equal(update->input_sequence, 1);
	own = state_of(update, actor);
	assert_non_null(own);
	assert_int_equal(own->x_mm, 100000 + joined->speed_mm_per_s / joined->tick_hz);
	assert_int_equal(own->y_mm, 100000);

	sw__world_update__free_unpacked(update, NULL);
	sw__joined__free_unpacked(joined, NULL);
	sim_shard_free(t->shard);
	msg_ring_free(t->links.from_control);
	msg_ring_free(t->links.to_control);
	msg_ring_free(t->links.from_world);
	msg_ring_free(t->links.to_world);
	world_free(&t->world);
	free(t);
}

int main(void)
{
	const struct CMUnitTest tests[] = {cmocka_unit_test(one_input_there_and_back)};

	return cmocka_run_group_tests_name("seven files", tests, ring_port_eal, ring_port_eal_end);
}
