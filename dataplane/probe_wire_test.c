/* Proves, over a net_ring port and with frames alone: probes are answered with the node's state,
 * also when it has no free peer, at a limited rate, and no answer is larger than what asked for it.
 */
#include "dataplane/worker_fixture.h"
#include "proto/probe.h"

static void tell_node_state(struct world *world, uint32_t node_state)
{
	const struct msg_node_state body = {.state = node_state};
	struct msg_buffer message;

	memcpy(msg_begin(message.slot, MSG_NODE_STATE, HANDLE_NONE, sizeof(body)), &body,
		sizeof(body));
	assert_true(msg_ring_push(world->links.from_control, message.slot));
	step(world, 1);
}

/* Puts a datagram of the client with this IPv4 id, or flow label, on the wire; returns the bytes of
 * the frame that came back, in answer. */
static uint32_t probe_turn(struct client *client, const uint8_t *datagram, uint32_t bytes,
	uint16_t id, uint8_t answer[2048])
{
	const struct packet_local *server = &client->world->port->local;
	struct packet_link link;
	uint8_t frame[2048];
	uint32_t frame_bytes, got;

	if (client->six)
		packet_link_build6(&link, &client->local, client->to_link, server->mac,
			client->to_link ? server->link_ip6 : server->ip6, server->udp_port);
	else
		packet_link_build(&link, &client->local, server->mac, server->ip, server->udp_port);
	memcpy(frame + link.bytes, datagram, bytes);
	frame_bytes = packet_link_write(&link, frame, bytes, id, false);
	if (client->six)
		packet_put16(frame + link.bytes - 46, id);
	ring_port_put(&client->world->wire, 0, frame, frame_bytes);
	step(client->world, 1);
	got = ring_port_get(&client->world->wire, 0, answer, 2048);
	/* Never more bytes, and never more frames, than came. */
	assert_true(got <= frame_bytes);
	assert_int_equal(ring_port_get(&client->world->wire, 0, frame, sizeof(frame)), 0);
	return got;
}

static void probes_are_answered(void **state)
{
	struct world world;
	struct client clients[3];
	uint8_t request[64], answer[2048];

	(void)state;
	world_make6(&world, "probe", "2001:db8::1/64");
	client_make(&clients[0], &world, 2);
	client_make6(&clients[1], &world, 2, false);
	client_make6(&clients[2], &world, 2, true);
	for (uint32_t i = 0; i < sizeof(request); i++)
		request[i] = (uint8_t)(i * 11 + 3);
	memcpy(request, (const uint8_t[4]){SW_PROBE_0, SW_PROBE_1, SW_PROBE_REQUEST, 0}, 4);
	for (uint32_t told = SW_NODE_CLOSED; told <= SW_NODE_FULL; told++) {
		if (told) /* CLOSED is what it says before it is told anything */
			tell_node_state(&world, told);
		for (int c = 0; c < 3; c++) {
			uint32_t bytes = c ? 62 : 42;
			struct packet_frame frame = {.data = answer};
			struct packet packet;

			frame.bytes = probe_turn(&clients[c], request, 64, 0xff77, answer);
			assert_int_equal(frame.bytes, bytes + 64);
			packet_parse(&frame, &clients[c].local, &packet);
			assert_int_equal(packet.kind, PACKET_UDP);
			assert_int_equal(packet.payload_bytes, 64);
			assert_int_equal(answer[bytes + 2], SW_PROBE_ANSWER);
			assert_int_equal(answer[bytes + 3], told);
			assert_memory_equal(answer + bytes + 4, request + 4, 60);
			/* TRex knows its packets by IPv4's id, or the flow label */
			assert_int_equal(packet_get16(answer + (c ? 16 : 18)), 0xff77);
		}
	}
	assert_int_equal(counted(&world, DP_C_PROBE_REPLIES), 12);
	/* Neither the engine nor control has heard of it. */
	assert_int_equal(dp_worker_peers(world.worker), 0);
	assert_int_equal(drain(&world, world.links.to_control), 0);
	/* Its answer, should it come to us, is not answered. */
	request[2] = SW_PROBE_ANSWER;
	assert_int_equal(probe_turn(&clients[0], request, 64, 1, answer), 0);
	assert_int_equal(counted(&world, DP_C_PROBE_MALFORMED), 1);
	/* A state from a shard is a bug. */
	memset(&world.popped, 0, sizeof(world.popped[0]));
	msg_begin(world.popped, MSG_NODE_STATE, HANDLE_NONE, sizeof(struct msg_node_state));
	assert_true(msg_ring_push(world.links.from_shard[0], world.popped));
	step(&world, 1);
	assert_int_equal(counted(&world, DP_C_RING_UNKNOWN), 1);
	world_free(&world);
}

static void a_ready_node_without_a_free_peer_is_full(void **state)
{
	static const uint8_t request[6] = {SW_PROBE_0, SW_PROBE_1, SW_PROBE_REQUEST};
	struct world world;
	struct client client;
	uint8_t answer[2048];

	(void)state;
	world_make(&world, "peersfull");
	tell_node_state(&world, SW_NODE_READY);
	for (uint8_t i = 0; i < world.config.enet.peers_max; i++) {
		client_make(&client, &world, (uint8_t)(i + 2));
		assert_int_equal(probe_turn(&client, request, 6, 1, answer), 48);
		assert_int_equal(answer[45], SW_NODE_READY);
		client_connect(&client);
		step(&world, 1);
		client_read(&client);
	}
	assert_int_equal(probe_turn(&client, request, 6, 1, answer), 48);
	assert_int_equal(answer[45], SW_NODE_FULL);
	world_free(&world);
}

static void probes_are_limited(void **state)
{
	static const uint8_t request[6] = {SW_PROBE_0, SW_PROBE_1, SW_PROBE_REQUEST};
	struct world world;
	struct client client;
	uint8_t answer[2048];
	uint32_t answered = 0;

	(void)state;
	world_make(&world, "limit");
	/* A new worker with another limit: 10 at once, then 100 a second, one in 10 turns. */
	dp_worker_free(world.worker);
	world.config.dataplane.probes_per_s = 100;
	world.config.dataplane.probes_burst = 10;
	world.worker = dp_worker_new(&world.config, 0, &world.port, 1, &world.links, key);
	assert_non_null(world.worker);
	world.now_ns = mono_ns() + NS_PER_MS;
	client_make(&client, &world, 2);
	for (int i = 0; i < 1000; i++)
		answered += probe_turn(&client, request, 6, 1, answer) != 0;
	assert_in_range(answered, 109, 111);
	assert_int_equal(counted(&world, DP_C_PROBE_REPLIES), answered);
	assert_int_equal(counted(&world, DP_C_PROBE_LIMITED), 1000 - answered);
	/* Who plays does not notice. */
	client_connect(&client);
	world_free(&world);
}

/* Whatever comes, in probe's clothes or not, with right checksums and both families: at most one
 * frame answers it, and it is not longer. */
static void nothing_is_amplified(void **state)
{
	uint64_t random = 0x9e3779b97f4a7c15ull;
	struct world world;
	struct client clients[2];
	uint32_t answered = 0;

	(void)state;
	world_make6(&world, "amplify", "2001:db8::1/64");
	tell_node_state(&world, SW_NODE_READY);
	client_make(&clients[0], &world, 2);
	client_make6(&clients[1], &world, 3, false);
	for (int i = 0; i < 20000; i++) {
		uint8_t datagram[200], answer[2048];
		uint32_t bytes;

		random ^= random << 13;
		random ^= random >> 7;
		random ^= random << 17;
		bytes = random % sizeof(datagram);
		for (uint32_t b = 0; b < bytes; b++)
			datagram[b] = (uint8_t)(random >> (b % 8 * 8)) ^ (uint8_t)(b * 7);
		if (bytes >= 4 && i % 4) {
			datagram[0] = SW_PROBE_0;
			datagram[1] = SW_PROBE_1;
			datagram[2] = i % 4 == 1 ? datagram[2] : SW_PROBE_REQUEST;
			datagram[3] = i % 4 == 3 ? 0 : datagram[3] & 1;
		}
		answered +=
			probe_turn(&clients[i % 8 < 4], datagram, bytes, (uint16_t)i, answer) != 0;
	}
	assert_true(answered > 5000);
	assert_int_equal(counted(&world, DP_C_PROBE_REPLIES), answered);
	world_free(&world);
}

int main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test(probes_are_answered),
		cmocka_unit_test(a_ready_node_without_a_free_peer_is_full),
		cmocka_unit_test(probes_are_limited),
		cmocka_unit_test(nothing_is_amplified),
	};

	return cmocka_run_group_tests_name("probe_wire", tests, ring_port_eal, ring_port_eal_end);
}
