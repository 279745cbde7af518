#include "client/legal_rig.h"

#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

#include <cmocka.h>

#include "proto/client.pb-c.h"

static const struct netsim_address here = {.ip = 1, .port = 1}, there = {.ip = 2, .port = 2};
static char folder[] = "/tmp/sw-legal-XXXXXX";

/* ---- the network ---- */

static void send_up(
	void *ctx, uint8_t channel, bool reliable, const uint8_t *packet, uint32_t bytes)
{
	struct rig *r = ctx;
	uint8_t datagram[1500];

	if (reliable) /* Hello: nobody admits here */
		return;
	assert_int_equal(channel, SW_CHANNEL_WORLD);
	r->sent_up++;
	memcpy(datagram, &r->sent_up, 4);
	memcpy(datagram + 4, packet, bytes);
	netsim_send(r->net, here, there, datagram, 4 + bytes);
}

static void on_event(void *ctx, const struct swc_event *event)
{
	struct rig *r = ctx;

	r->joins += event->type == SWC_EVENT_JOINED;
	if (event->type != SWC_EVENT_CORRECTED)
		return;
	r->corrected_ms = netsim_now_ms(r->net);
	r->corrected_input = r->session.self.input_applied;
}

static void send_down(struct rig *r, const struct msg *m)
{
	uint8_t datagram[1500];
	uint64_t due_ms = netsim_now_ms(r->net) + 60 + netsim_random(r->net, 40);
	uint32_t at;

	if (!(m->flags & MSG_SEND_RELIABLE)) {
		r->sent_down++;
		memcpy(datagram, &r->sent_down, 4);
		memcpy(datagram + 4, msg_payload(m), m->payload_bytes);
		netsim_send(r->net, there, here, datagram, 4 + m->payload_bytes);
		return;
	}
	while (netsim_random(r->net, 20) == 0) /* lost: sent again after a round trip and more */
		due_ms += 250;
	assert_true(r->down.count < PACKETS_MAX && m->payload_bytes <= 1500);
	if (r->down.count) { /* not before the one before */
		uint64_t last =
			r->down.queue[(r->down.head + r->down.count - 1) % PACKETS_MAX].due_ms;

		due_ms = due_ms > last ? due_ms : last;
	}
	at = (r->down.head + r->down.count++) % PACKETS_MAX;
	r->down.queue[at].due_ms = due_ms;
	r->down.queue[at].channel = m->channel;
	r->down.queue[at].bytes = m->payload_bytes;
	memcpy(r->down.queue[at].packet, msg_payload(m), m->payload_bytes);
}

/* Given up for a transfer: nothing of the peer follows. */
static void route(struct rig *r, const struct msg *m)
{
	struct msg_peer_route body;
	struct msg marker;

	memcpy(&body, msg_payload(m), sizeof(body));
	if (body.route)
		return;
	msg_begin(&marker, MSG_ROUTE_END, m->peer, 0);
	assert_true(msg_ring_push(r->t.links.from_dataplane[0], &marker));
}

static void from_shard(struct rig *r)
{
	static struct msg_buffer batch[2];
	uint32_t slots;

	while ((slots = msg_ring_pop(
			r->t.links.to_dataplane[0], batch[0].slot, 2 * MSG_SLOTS_MAX))) {
		const struct msg *end = batch[0].slot + slots;

		for (const struct msg *m = batch[0].slot; m < end; m = msg_next(m))
			if (m->type == MSG_PEER_SEND)
				send_down(r, m);
			else if (m->type == MSG_PEER_ROUTE)
				route(r, m);
	}
}

static bool newer(uint32_t *seen, const uint8_t *datagram)
{
	uint32_t number;

	memcpy(&number, datagram, 4);
	if (number <= *seen)
		return false;
	*seen = number;
	return true;
}

static void deliver(struct rig *r)
{
	struct netsim_address from;
	uint8_t datagram[1500];
	int bytes;

	while ((bytes = netsim_receive(r->net, there, &from, datagram, sizeof(datagram))) >= 0)
		if (newer(&r->seen_up, datagram))
			test_packet(&r->t, 0, SW_CHANNEL_WORLD, datagram + 4, (uint32_t)bytes - 4);
	while ((bytes = netsim_receive(r->net, here, &from, datagram, sizeof(datagram))) >= 0)
		if (newer(&r->seen_down, datagram))
			swc_session_receive(
				&r->session, SW_CHANNEL_WORLD, datagram + 4, (size_t)bytes - 4);
	while (r->down.count && r->down.queue[r->down.head].due_ms <= netsim_now_ms(r->net)) {
		swc_session_receive(&r->session, r->down.queue[r->down.head].channel,
			r->down.queue[r->down.head].packet, r->down.queue[r->down.head].bytes);
		r->down.head = (r->down.head + 1) % PACKETS_MAX;
		r->down.count--;
	}
}

/* ---- time ---- */

/* As stormweir.c: ticks that are due are made up for, at most so many. */
#define TICKS_BEHIND 4.0

/* What docs/protocol.md has for clients without pace.h: no more than 8 inputs unanswered. */
static bool may_make_one(const struct rig *r)
{
	return r->session.prediction.newest - r->session.self.input_applied < 8;
}

static void client_frame(struct rig *r)
{
	double period_ms;

	if (r->session.state != SWC_PLAYING)
		return;
	period_ms = r->stock ? 1000.0 / r->session.self.tick_hz
			     : (double)swc_session_interval_ns(&r->session) / 1e6;
	if (r->tick_ms == 0 || r->tick_ms + TICKS_BEHIND * period_ms < r->client_ms)
		r->tick_ms = r->client_ms;
	for (; r->tick_ms <= r->client_ms; r->tick_ms += period_ms)
		for (uint32_t i = 0; i < r->ticks_at_once; i++)
			if (!r->stock || may_make_one(r))
				swc_session_tick(&r->session);
}

/* As control places one who has left a map for another. */
static void send_on(struct rig *r)
{
	const struct msg_player_transfer *transfer = &r->t.transfer;
	struct msg_player_join join_as = {.x_mm = transfer->x_mm,
		.y_mm = transfer->y_mm,
		.has_position = transfer->has_position,
		.heading = transfer->heading,
		.stay = ++r->transfers,
		.input_sequence = transfer->input_sequence,
		.live = transfer->live};

	assert_int_equal(r->transfers, r->t.transfers);
	memcpy(join_as.map, transfer->map, sizeof(join_as.map));
	test_join_as(&r->t, 0, &join_as);
}

void rig_pass_ms(struct rig *r)
{
	struct sim_map *m;
	uint32_t slot;

	netsim_advance(r->net, 1);
	r->client_ms += r->pace;
	deliver(r);
	if (netsim_now_ms(r->net) >= r->frame_ms) { /* 60 a second; one in 50 is late */
		client_frame(r);
		r->frame_ms = netsim_now_ms(r->net) +
			      (netsim_random(r->net, 50) ? 16 : 16 + netsim_random(r->net, 100));
	}
	r->t.now_ns += NS_PER_MS;
	if (netsim_now_ms(r->net) < r->idle_until_ms)
		return;
	if (netsim_random(r->net, 2000) == 0) /* the server's core was away for so long */
		r->idle_until_ms = netsim_now_ms(r->net) + netsim_random(r->net, 60);
	while (sim_shard_step(r->t.shard, r->t.now_ns))
		;
	test_read_world(&r->t);
	test_read_control(&r->t);
	from_shard(r);
	m = rig_map(r, &slot);
	if (m && sim_player(m, slot)->input_waiting > r->waiting_most)
		r->waiting_most = sim_player(m, slot)->input_waiting;
	if (r->transfers != r->t.transfers)
		send_on(r);
}

/* ---- the map ---- */

#define COLUMNS 24
#define ROWS    20

/* Rooms, a corridor one tile wide, pillars: something to run into everywhere. */
static bool solid(int column, int row)
{
	return (column == 8 && row != 4 && row != 12) || (row == 9 && column > 8 && column != 15) ||
	       (column % 5 == 3 && row % 4 == 2);
}

static bool shifted(int column, int row)
{
	return solid((column + 2) % COLUMNS, row);
}

#define PORTAL(name, map, spawn, x)                                                                \
	"{\"name\":\"" name "\",\"type\":\"portal\",\"x\":" x                                      \
	",\"y\":0,\"width\":20,\"height\":200,\"properties\":[{\"name\":\"target_map\",\"type\":"  \
	"\"string\",\"value\":\"" map                                                              \
	"\"},{\"name\":\"target_spawn\",\"type\":\"string\",\"value\":\"" spawn "\"}]}"

int rig_begin(void)
{
	if (!mkdtemp(folder))
		return -1;
	test_write_map(folder, "map.tmj", COLUMNS, ROWS, solid,
		"{\"name\":\"a\",\"type\":\"spawn\",\"x\":45,\"y\":125}");
	test_write_map(folder, "west.tmj", COLUMNS, ROWS, solid,
		"{\"name\":\"a\",\"type\":\"spawn\",\"x\":45,\"y\":125}," PORTAL(
			"to the cave", "cave", "mouth", "220"));
	/* Other walls: the same, two tiles on. */
	test_write_map(folder, "east.tmj", COLUMNS, ROWS, shifted,
		"{\"name\":\"mouth\",\"type\":\"spawn\",\"x\":205,\"y\":100,\"width\":10,"
		"\"height\":30}," PORTAL("out", "meadow", "a", "0"));
	return 0;
}

void rig_end(void)
{
	static const char *const names[] = {"map.tmj", "west.tmj", "east.tmj"};
	char path[96];

	for (size_t i = 0; i < sizeof(names) / sizeof(names[0]); i++) {
		snprintf(path, sizeof(path), "%s/%s", folder, names[i]);
		unlink(path);
	}
	rmdir(folder);
}

/* ---- a session ---- */

static void init(struct rig *r)
{
	memset(r, 0, sizeof(*r));
	test_init(&r->t, 20, 10);
	snprintf(r->t.config.simulation.content, CONFIG_PATH_BYTES, "%s", folder);
	r->ticks_at_once = 1;
}

static void map_file(struct rig *r, uint32_t map, const char *name)
{
	strcpy(r->t.config.maps[map].file, name);
	r->t.config.maps[map].width_m = r->t.config.maps[map].height_m = 0;
}

static void know(struct rig *r, const char *file)
{
	char path[96], error[256];

	snprintf(path, sizeof(path), "%s/%s", folder, file);
	if (swc_ground_load(path, &r->grounds[r->ground_count], error, sizeof(error)))
		fail_msg("%s", error);
	r->ground_count++;
}

/* From the shard's start to the client's JOINED. */
static void join(struct rig *r, uint64_t seed)
{
	const struct netsim_config config = {
		.seed = seed, .loss = 0.05, .delay_min_ms = 40, .delay_max_ms = 110};
	const struct swc_session_ops ops = {.ctx = r, .send = send_up, .event = on_event};
	Sw__Admitted admitted = SW__ADMITTED__INIT;
	uint8_t packet[256];

	test_start(&r->t, seed);
	r->net = netsim_new(&config, 1000);
	r->client_ms = 1000;
	r->pace = 0.9995 + 0.001 * netsim_random(r->net, 1001) / 1000;
	swc_session_init(&r->session, &ops, 64);
	for (uint32_t i = 0; i < r->ground_count; i++)
		assert_true(swc_session_use_ground(&r->session, r->grounds[i]));
	swc_session_connected(&r->session, &(struct swc_hello){.protocol_version = 1,
						   .ticket = (const uint8_t *)"t",
						   .ticket_bytes = 1,
						   .client_build = "test"});
	admitted.map = "meadow";
	admitted.node = "n";
	packet[0] = SW_MSG_ADMITTED;
	swc_session_receive(&r->session, SW_CHANNEL_SESSION, packet,
		1 + sw__admitted__pack(&admitted, packet + 1));
	test_join(&r->t, 0, false, 0, 0);
	while (r->session.state != SWC_PLAYING && netsim_now_ms(r->net) < 9000)
		rig_pass_ms(r);
	assert_int_equal(r->session.state, SWC_PLAYING);
}

void rig_start(struct rig *r, uint64_t seed, uint32_t hz, bool walls, bool client_has_walls)
{
	init(r);
	r->t.config.maps[0].tick_hz = hz;
	if (walls)
		map_file(r, 0, "map.tmj");
	if (walls && client_has_walls)
		know(r, "map.tmj");
	join(r, seed);
	if (walls)
		assert_int_equal(r->session.self.walls,
			client_has_walls ? SWC_WALLS_KNOWN : SWC_WALLS_UNKNOWN);
}

void rig_start_world(struct rig *r, uint64_t seed)
{
	init(r);
	r->t.config.map_count = 2;
	r->t.config.maps[1] = r->t.config.maps[0];
	strcpy(r->t.config.maps[1].name, "cave");
	r->t.config.maps[1].tick_hz = 15;
	map_file(r, 0, "west.tmj");
	map_file(r, 1, "east.tmj");
	for (uint32_t i = 0; i < 2; i++) {
		r->t.config.maps[i].monsters = 40;
		know(r, i ? "east.tmj" : "west.tmj");
	}
	join(r, seed);
}

void rig_stop(struct rig *r)
{
	test_end(&r->t);
	netsim_free(r->net);
	swc_session_free(&r->session);
	for (uint32_t i = 0; i < r->ground_count; i++)
		swc_ground_free(r->grounds[i]);
}

struct sim_map *rig_map(const struct rig *r, uint32_t *slot)
{
	for (uint32_t i = 0; i < r->t.shard->map_count; i++) {
		struct sim_map *m = r->t.shard->maps[i];

		for (*slot = 0; *slot < m->player_slots; (*slot)++)
			if (sim_is_present(m, *slot))
				return m;
	}
	return NULL;
}

const struct sim_entity *rig_entity(const struct rig *r)
{
	uint32_t slot;
	const struct sim_map *m = rig_map(r, &slot);

	assert_non_null(m);
	return &m->entities[slot];
}

void rig_settle(struct rig *r, const char *who)
{
	const struct sim_map *m;
	uint32_t slot;

	swc_session_walk(&r->session, 0, 0);
	r->ticks_at_once = 1;
	r->frame_ms = netsim_now_ms(r->net); /* if it hangs: no more */
	for (uint32_t ms = 0; ms < 3000; ms++)
		rig_pass_ms(r);
	if (r->session.self.x_mm != rig_entity(r)->x_mm ||
		r->session.self.y_mm != rig_entity(r)->y_mm ||
		r->session.self.input_applied != r->session.self.input_sequence)
		fail_msg("%s: the client is at %d %d (input %u of %u), the server at %d %d", who,
			r->session.self.x_mm, r->session.self.y_mm, r->session.self.input_applied,
			r->session.self.input_sequence, rig_entity(r)->x_mm, rig_entity(r)->y_mm);
	m = rig_map(r, &slot);
	assert_true(sw_move_legal(&m->rules, rig_entity(r)->x_mm, rig_entity(r)->y_mm));
}

void rig_wander(struct rig *r, uint32_t ms)
{
	uint64_t turn_ms = 0;

	while (ms--) {
		if (netsim_now_ms(r->net) >= turn_ms) {
			uint32_t what = netsim_random(r->net, 10);

			turn_ms = netsim_now_ms(r->net) + 30 + netsim_random(r->net, 1500);
			if (what == 0) {
				swc_session_walk(&r->session, 0, 0);
				turn_ms += netsim_random(r->net, 4000);
			} else if (what < 4) { /* straight into something */
				swc_session_walk(&r->session,
					what == 1   ? 127
					: what == 2 ? -127
						    : 0,
					what == 3 ? (int)netsim_random(r->net, 2) * 254 - 127 : 0);
			} else {
				swc_session_walk(&r->session, (int)netsim_random(r->net, 255) - 127,
					(int)netsim_random(r->net, 255) - 127);
			}
			if (netsim_random(r->net, 40) == 0) /* the program hangs */
				r->frame_ms = netsim_now_ms(r->net) + netsim_random(r->net, 3000);
		}
		rig_pass_ms(r);
	}
}
