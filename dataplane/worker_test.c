/* Proves, over a net_ring port and with frames alone: ARP, neighbour discovery and pings are
 * answered, an ENet client connects, its messages reach the ring that their first byte and its
 * route name, a full ring withholds the acknowledgement and loses nothing, routes move without a
 * message on the wrong side, leaves are owed until both have them, and malformed frames are counted
 * by name. */
#include "dataplane/worker_fixture.h"
#include "proto/probe.h"

static void arp_and_ping_are_answered(void **state)
{
	struct world world;
	uint8_t bytes[FRAME_BYTES_MAX], answer[2048];

	(void)state;
	world_make(&world, "arp");
	for (int base = FRAME_ARP; base >= FRAME_PING; base--) {
		struct frame_case c = {.base = (enum frame_base)base, .at = -1};
		struct packet_frame frame;

		frame_build(&c, bytes, &frame);
		/* The table's frames are for 02:..:01; the port has its own MAC. */
		if (base == FRAME_PING)
			memcpy(bytes, world.port->local.mac, 6);
		ring_port_put(&world.wire, 0, bytes, frame.bytes);
		assert_true(step(&world, 1));
		assert_int_equal(
			ring_port_get(&world.wire, 0, answer, sizeof(answer)), frame.bytes);
		assert_memory_equal(answer, bytes + 6, 6);
		assert_memory_equal(answer + 6, world.port->local.mac, 6);
	}
	assert_int_equal(counted(&world, DP_C_ARP_REPLIES), 1);
	assert_int_equal(counted(&world, DP_C_ICMP_ECHO_REPLIES), 1);
	assert_int_equal(counted(&world, DP_C_TX_PACKETS), 2);
	assert_false(step(&world, 1));
	world_free(&world);
}

/* Every refusal of the table, on a port with IPv6 or without. */
static void pings_are_limited(void **state)
{
	struct frame_case c = {.base = FRAME_PING, .at = -1};
	struct packet_frame frame;
	struct client client;
	struct world world;
	uint8_t bytes[FRAME_BYTES_MAX], answer[2048];
	uint32_t answered = 0;

	(void)state;
	world_make(&world, "pings");
	frame_build(&c, bytes, &frame);
	memcpy(bytes, world.port->local.mac, 6);
	for (int i = 0; i < 1500; i++) {
		ring_port_put(&world.wire, 0, bytes, frame.bytes);
		step(&world, 0);
		answered += ring_port_get(&world.wire, 0, answer, sizeof(answer)) != 0;
	}
	assert_int_equal(answered, 1000);
	assert_int_equal(counted(&world, DP_C_PING_LIMITED), 500);
	for (int i = 0; i < 50; i++) { /* ten in a millisecond */
		ring_port_put(&world.wire, 0, bytes, frame.bytes);
		step(&world, i % 25 ? 0 : 1);
		answered += ring_port_get(&world.wire, 0, answer, sizeof(answer)) != 0;
	}
	assert_int_equal(answered, 1020);
	client_make(&client, &world, 2);
	client_connect(&client);
	world_free(&world);
}

static void malformed_frames(bool six)
{
	struct world world;

	world_make6(&world, six ? "bad6" : "bad", six ? "2001:db8::1/64" : "");
	for (size_t i = 0; i < FRAME_CASES; i++) {
		const struct frame_case *c = &frame_cases[i];
		uint8_t bytes[FRAME_BYTES_MAX], answer[2048];
		struct packet_frame frame;
		uint64_t before;

		if (c->kind != PACKET_REFUSED || c->tagged_port || c->stripped ||
			(frame_is_ip6(c->base) && c->no_ip6 == six))
			continue;
		if (frame_is_ip6(c->base) != six && !c->no_ip6)
			continue;
		frame_build(c, bytes, &frame);
		/* What the table says of the MAC 02:..:01 must hold for this port's. */
		for (int at = 0; at < 12 && frame.bytes >= 12; at += 6)
			if (!memcmp(bytes + at, frames_local.mac, 6))
				memcpy(bytes + at, world.port->local.mac, 6);
		before = counted(&world, (enum dp_counter)c->drop);
		ring_port_put(&world.wire, 0, bytes, frame.bytes);
		step(&world, 1);
		if (counted(&world, (enum dp_counter)c->drop) != before + 1)
			fail_msg("%s: not counted as %s", c->name, dp_counter_desc[c->drop].name);
		assert_int_equal(ring_port_get(&world.wire, 0, answer, sizeof(answer)), 0);
	}
	world_free(&world);
}

static void malformed_frames_are_counted_by_name(void **state)
{
	(void)state;
	malformed_frames(false);
	malformed_frames(true);
}

static void neighbours_and_pings_over_ipv6(void **state)
{
	struct world world;
	uint8_t bytes[FRAME_BYTES_MAX], answer[2048];

	(void)state;
	world_make6(&world, "nd", "2001:db8::1/64");
	for (int base = FRAME_PING6; base <= FRAME_NEIGHBOUR; base++) {
		for (int link = 0; link < 2; link++) {
			struct frame_case c = {.base = (enum frame_base)base, .at = -1};
			const struct packet_local *local = &world.port->local;
			const uint8_t *asked = link ? local->link_ip6 : local->ip6;
			struct packet_frame frame;

			frame_build(&c, bytes, &frame);
			if (base == FRAME_PING6) {
				memcpy(bytes, local->mac, 6);
				memcpy(bytes + 38, asked, 16);
			} else {
				memcpy(bytes + 3, asked + 13, 3);
				memcpy(bytes + 51, asked + 13, 3);
				memcpy(bytes + 62, asked, 16);
			}
			frame_fix(bytes, frame.bytes);
			ring_port_put(&world.wire, 0, bytes, frame.bytes);
			assert_true(step(&world, 1));
			assert_int_equal(
				ring_port_get(&world.wire, 0, answer, sizeof(answer)), frame.bytes);
			assert_memory_equal(answer, bytes + 6, 6);
			assert_memory_equal(answer + 22, asked, 16);
			assert_memory_equal(answer + 38, bytes + 22, 16);
		}
	}
	assert_int_equal(counted(&world, DP_C_ND_REPLIES), 2);
	assert_int_equal(counted(&world, DP_C_ICMPV6_ECHO_REPLIES), 2);
	assert_int_equal(counted(&world, DP_C_ICMP_ECHO_REPLIES), 0);
	world_free(&world);
}

/* Three clients on one port: IPv4, IPv6 global and link-local, each answered its own way. */
static void ipv6_clients_beside_ipv4(void **state)
{
	struct world world;
	struct client clients[3];
	struct msg_buffer message;
	uint64_t peers[3];

	(void)state;
	world_make6(&world, "six", "2001:db8::1/64");
	client_make(&clients[0], &world, 2);
	client_make6(&clients[1], &world, 2, false);
	client_make6(&clients[2], &world, 2, true);
	for (int i = 0; i < 3; i++) {
		uint8_t out[LEAN_OUT_BYTES];
		struct msg_peer_connected body;
		const struct msg *event;

		client_put(&clients[i], out,
			lean_connect(&clients[i].enet, 7 + (uint32_t)i, 5, 77, 1000, out));
		step(&world, 1);
		assert_int_equal(client_read(&clients[i]), 1);
		assert_int_equal(clients[i].enet.state, LEAN_CONNECTED);
		step(&world, 1);
		event = pop(&world, world.links.to_control);
		assert_non_null(event);
		assert_int_equal(event->type, MSG_PEER_CONNECTED);
		memcpy(&body, msg_payload(event), sizeof(body));
		peers[i] = event->peer;
		if (i == 1)
			assert_memory_equal(body.ip, clients[i].local.ip6, 16);
		if (i == 2) {
			/* the port's number is in it: fe80:1:: is the first port's link */
			assert_int_equal(packet_get32(body.ip), 0xfe800001);
			assert_memory_equal(body.ip + 4, clients[i].local.link_ip6 + 4, 12);
		}
	}
	for (int i = 2; i >= 0; i--) {
		client_reliable(&clients[i], "\x01 up", 4);
		step(&world, 1);
		client_read(&clients[i]);
		assert_int_equal(clients[i].enet.acknowledged, 1);
		assert_int_equal(pop(&world, world.links.to_control)->peer, peers[i]);
		memcpy(msg_begin(message.slot, MSG_PEER_SEND, peers[i], 6), "\x02 down", 6);
		assert_true(msg_ring_push(world.links.from_control, message.slot));
		step(&world, 1);
		client_read(&clients[i]);
		assert_int_equal(clients[i].messages, 1);
	}
	/* One of them asks the other address from now on: it is answered from there. */
	clients[2].to_link = false;
	memcpy(clients[2].local.ip6, clients[2].local.link_ip6, 16);
	client_reliable(&clients[2], "\x01 up", 4);
	step(&world, 1);
	client_read(&clients[2]);
	assert_int_equal(clients[2].enet.acknowledged, 2);
	world_free(&world);
}

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

static void messages_go_where_their_type_and_route_say(void **state)
{
	struct world world;
	struct client client;
	const struct msg *message;
	uint64_t peer;

	(void)state;
	world_make(&world, "types");
	client_make(&client, &world, 2);
	peer = client_connect(&client);

	client_reliable(&client, "\x01hello", 6);
	step(&world, 1);
	message = pop(&world, world.links.to_control);
	assert_non_null(message);
	assert_int_equal(message->type, MSG_PEER_PACKET);
	assert_int_equal(message->peer, peer);
	assert_int_equal(message->channel, 0);
	assert_int_equal(message->flags, MSG_SEND_RELIABLE);
	assert_int_equal(message->payload_bytes, 6);
	assert_memory_equal(msg_payload(message), "\x01hello", 6);
	client_read(&client);
	assert_int_equal(client.enet.acknowledged, 1);

	/* Taken, acknowledged, and dropped by name. */
	client_reliable(&client, "\x41 no map yet", 11);
	client_reliable(&client, "\x80 chat", 6);
	client_reliable(&client, "\xc0 unknown", 9);
	client_reliable(&client, "\x00 unknown", 9);
	step(&world, 1);
	client_read(&client);
	assert_int_equal(client.enet.acknowledged, 5);
	assert_int_equal(counted(&world, DP_C_MESSAGE_NO_ROUTE), 1);
	assert_int_equal(counted(&world, DP_C_MESSAGE_CHAT), 1);
	assert_int_equal(counted(&world, DP_C_MESSAGE_UNKNOWN), 2);
	assert_null(pop(&world, world.links.to_control));

	shard_route(&world, 1, peer, 2);
	step(&world, 1);
	client_unreliable(&client, "\x41 walk", 6);
	step(&world, 1);
	message = pop(&world, world.links.to_shard[1]);
	assert_non_null(message);
	assert_int_equal(message->channel, 1);
	assert_int_equal(message->flags, 0);
	assert_null(pop(&world, world.links.to_shard[0]));
	assert_null(pop(&world, world.links.to_control));
	world_free(&world);
}

static void a_full_ring_withholds_the_acknowledgement(void **state)
{
	struct world world;
	struct client client;
	uint8_t out[LEAN_OUT_BYTES];
	const struct msg *message;
	uint32_t bytes;

	(void)state;
	world_make(&world, "full");
	client_make(&client, &world, 2);
	client_connect(&client);
	fill(world.links.to_control);

	bytes = lean_send_reliable(&client.enet, 0, "\x01wait", 5, now_ms(&client), out);
	client_put(&client, out, bytes);
	client_unreliable(&client, "\x01lost", 5);
	step(&world, 1);
	client_read(&client);
	assert_int_equal(client.enet.acknowledged, 0);
	assert_int_equal(counted(&world, DP_C_RELIABLE_HELD), 1);
	assert_int_equal(counted(&world, DP_C_UNRELIABLE_DROPPED), 1);

	/* The client repeats; meanwhile the ring was drained. */
	drain(&world, world.links.to_control);
	client_put(&client, out, bytes);
	step(&world, 1);
	client_read(&client);
	assert_int_equal(client.enet.acknowledged, 1);
	message = pop(&world, world.links.to_control);
	assert_non_null(message);
	assert_memory_equal(msg_payload(message), "\x01wait", 5);
	world_free(&world);
}

static void a_run_goes_whole_or_not_at_all(void **state)
{
	struct world world;
	struct client client;
	struct msg_buffer junk;
	uint8_t first[LEAN_OUT_BYTES];
	uint32_t first_bytes;
	uint64_t peer;

	(void)state;
	world_make(&world, "run");
	client_make(&client, &world, 2);
	peer = client_connect(&client);
	shard_route(&world, 0, peer, 1);
	step(&world, 1);
	/* 1 is late; 2 for the shard, 3 for control and 4 for the shard are held behind it. */
	first_bytes = lean_send_reliable(&client.enet, 0, "\x41 one", 5, now_ms(&client), first);
	client_reliable(&client, "\x41 two", 5);
	client_reliable(&client, "\x01 three", 7);
	client_reliable(&client, "\x41 four", 6);
	step(&world, 1);
	client_read(&client);
	assert_int_equal(client.enet.acknowledged, 3); /* held in memory set aside for that */
	assert_int_equal(msg_ring_used(world.links.to_shard[0]), 0);

	/* Control's ring has no room for 3: nothing of the run is handed over, 1 not acknowledged.
	 */
	fill(world.links.to_control);
	client_put(&client, first, first_bytes);
	step(&world, 1);
	client_read(&client);
	assert_int_equal(client.enet.acknowledged, 3);
	assert_int_equal(msg_ring_used(world.links.to_shard[0]), 0);

	/* The shard's ring has room for two of three: the same. */
	drain(&world, world.links.to_control);
	msg_begin(junk.slot, MSG_NONE, HANDLE_NONE, 0);
	while (msg_ring_room(world.links.to_shard[0]) > 2)
		assert_true(msg_ring_push(world.links.to_shard[0], junk.slot));
	client_put(&client, first, first_bytes);
	step(&world, 1);
	assert_int_equal(msg_ring_used(world.links.to_control), 0);
	assert_int_equal(counted(&world, DP_C_RELIABLE_HELD), 2);

	drain(&world, world.links.to_shard[0]);
	client_put(&client, first, first_bytes);
	step(&world, 1);
	client_read(&client);
	assert_int_equal(client.enet.acknowledged, 4);
	assert_int_equal(drain(&world, world.links.to_shard[0]), 3);
	assert_int_equal(drain(&world, world.links.to_control), 1);
	world_free(&world);
}

/* One peer says more than is worked off: the half of the ring that is not its own takes what others
 * say, and their events. */
static void one_peer_does_not_fill_a_ring(void **state)
{
	struct world world;
	struct client loud, other;
	uint8_t again[LEAN_OUT_BYTES];
	uint32_t again_bytes, loud_messages;
	uint64_t peers[2];

	(void)state;
	world_make(&world, "loud");
	client_make(&loud, &world, 2);
	client_make(&other, &world, 3);
	peers[0] = client_connect(&loud);
	peers[1] = client_connect(&other);
	for (int i = 0; i < 2; i++)
		shard_route(&world, 0, peers[i], 1);
	step(&world, 1);
	for (int round = 0; round < 2; round++) { /* and when it has been quiet, again */
		uint64_t put_off = counted(&world, DP_C_RING_SHARE);

		for (int i = 0; i < 300; i++) {
			client_unreliable(&loud, "\x41 loud", 6);
			step(&world, 0);
		}
		loud_messages = msg_ring_used(world.links.to_shard[0]);
		assert_in_range(loud_messages, RING_SLOTS / 2, RING_SLOTS / 2 + 64);
		assert_int_equal(counted(&world, DP_C_RING_SHARE) - put_off, 300 - loud_messages);
		/* what is reliable is not acknowledged */
		again_bytes =
			lean_send_reliable(&loud.enet, 0, "\x41 loud", 6, now_ms(&loud), again);
		client_put(&loud, again, again_bytes);
		step(&world, 1);
		client_read(&loud);
		assert_int_equal(loud.enet.acknowledged, round);
		client_unreliable(&other, "\x41 other", 7);
		client_reliable(&other, "\x41 other", 7);
		step(&world, 1);
		client_read(&other);
		assert_int_equal(other.enet.acknowledged, round + 1);
		assert_int_equal(drain(&world, world.links.to_shard[0]), loud_messages + 2);
		assert_int_equal(counted(&world, DP_C_UNRELIABLE_DROPPED), 0);
		step(&world, 1);
		client_put(&loud, again, again_bytes);
		step(&world, 1);
		client_read(&loud);
		assert_int_equal(loud.enet.acknowledged, round + 1);
		drain(&world, world.links.to_shard[0]);
		step(&world, 1);
	}
	world_free(&world);
}

static void a_route_ends_behind_the_last_message(void **state)
{
	struct world world;
	struct client client;
	const struct msg *message;
	uint64_t peer;

	(void)state;
	world_make(&world, "route");
	client_make(&client, &world, 2);
	peer = client_connect(&client);
	shard_route(&world, 0, peer, 1);
	step(&world, 1);
	client_unreliable(&client, "\x41 1", 3);
	step(&world, 1);
	shard_route(&world, 1, peer, 2);
	client_unreliable(&client, "\x41 2", 3);
	step(&world, 1);
	assert_int_equal(msg_ring_pop(world.links.to_shard[0], world.popped, 2 * MSG_SLOTS_MAX),
		2); /* the packet and the marker, a slot each */
	message = world.popped;
	assert_int_equal(message->type, MSG_PEER_PACKET);
	assert_int_equal(msg_next(message)->type, MSG_ROUTE_END);
	assert_int_equal(msg_next(message)->peer, peer);
	message = pop(&world, world.links.to_shard[1]);
	assert_non_null(message);
	assert_memory_equal(msg_payload(message), "\x41 2", 3);

	/* The old shard's ring is full: the route stays, and the asker's later messages wait. */
	fill(world.links.to_shard[1]);
	shard_route(&world, 0, peer, 1);
	shard_route(&world, 0, peer, 0);
	step(&world, 1);
	step(&world, 1);
	client_unreliable(&client, "\x41 3", 3);
	step(&world, 1);
	assert_int_equal(counted(&world, DP_C_UNRELIABLE_DROPPED), 1); /* still shard 1's */
	assert_int_equal(msg_ring_used(world.links.to_shard[0]), 0);
	drain(&world, world.links.to_shard[1]);
	step(&world, 1);
	message = pop(&world, world.links.to_shard[1]);
	assert_non_null(message);
	assert_int_equal(message->type, MSG_ROUTE_END);
	message = pop(&world, world.links.to_shard[0]);
	assert_non_null(message);
	assert_int_equal(message->type, MSG_ROUTE_END); /* the second of the two that waited */
	world_free(&world);
}

static void a_leave_is_owed_to_both(void **state)
{
	struct world world;
	struct client client;
	uint8_t out[LEAN_OUT_BYTES];
	const struct msg *message;
	struct msg_peer_gone gone;
	uint64_t peer;

	(void)state;
	world_make(&world, "leave");
	client_make(&client, &world, 2);
	peer = client_connect(&client);
	shard_route(&world, 0, peer, 1);
	step(&world, 1);
	assert_int_equal(dp_worker_peers(world.worker), 1);
	fill(world.links.to_shard[0]);
	client_put(&client, out, lean_disconnect(&client.enet, 5, now_ms(&client), out));
	step(&world, 1);
	step(&world, 2);
	step(&world, 2);
	/* Control once, however often the shard's ring was full. */
	message = pop(&world, world.links.to_control);
	assert_non_null(message);
	assert_int_equal(message->type, MSG_PEER_GONE);
	assert_int_equal(message->peer, peer);
	memcpy(&gone, msg_payload(message), sizeof(gone));
	assert_int_equal(gone.data, 5);
	assert_int_equal(gone.reason, SW_ENET_GONE_CLIENT);
	drain(&world, world.links.to_shard[0]);
	step(&world, 2);
	step(&world, 2);
	message = pop(&world, world.links.to_shard[0]);
	assert_non_null(message);
	assert_int_equal(message->type, MSG_PEER_GONE);
	assert_null(pop(&world, world.links.to_control));
	assert_int_equal(dp_worker_peers(world.worker), 0);

	/* A route for it comes too late: the shard hears so, also when its ring was full. */
	shard_route(&world, 1, peer, 2);
	step(&world, 1);
	message = pop(&world, world.links.to_shard[1]);
	assert_non_null(message);
	assert_int_equal(message->type, MSG_PEER_GONE);
	fill(world.links.to_shard[1]);
	shard_route(&world, 1, peer, 2);
	step(&world, 1);
	drain(&world, world.links.to_shard[1]);
	step(&world, 1);
	message = pop(&world, world.links.to_shard[1]);
	assert_non_null(message);
	assert_int_equal(message->type, MSG_PEER_GONE);
	assert_int_equal(counted(&world, DP_C_ROUTES_STALE), 2);
	world_free(&world);
}

static void sends_and_disconnects_from_rings(void **state)
{
	const struct msg_peer_disconnect kick = {
		.mode = MSG_DISCONNECT_NOW, .data = SW_REASON_KICKED};
	struct world world;
	struct client client;
	struct msg_buffer message;
	uint64_t peer;

	(void)state;
	world_make(&world, "sends");
	client_make(&client, &world, 2);
	peer = client_connect(&client);
	memcpy(msg_begin(message.slot, MSG_PEER_SEND, peer, 10), "\x02 admitted", 10);
	message.slot->flags = MSG_SEND_RELIABLE;
	assert_true(msg_ring_push(world.links.from_control, message.slot));
	memcpy(msg_begin(message.slot, MSG_PEER_SEND, peer, 8), "\x42 world", 8);
	message.slot->channel = SW_CHANNEL_WORLD;
	assert_true(msg_ring_push(world.links.from_shard[1], message.slot));
	step(&world, 1);
	assert_int_equal(client_read(&client), 1); /* both in one datagram */
	assert_int_equal(client.messages, 2);
	assert_int_equal(client.last_bytes, 8);

	/* What cannot be: counted, nothing else. */
	message.slot->channel = 200;
	assert_true(msg_ring_push(world.links.from_control, message.slot));
	message.slot->channel = 1;
	message.slot->peer = handle_make(0, 99, 3);
	assert_true(msg_ring_push(world.links.from_control, message.slot));
	message.slot->peer = handle_make(7, 1, 0);
	assert_true(msg_ring_push(world.links.from_control, message.slot));
	msg_begin(message.slot, MSG_PLAYER_JOIN, peer, 0);
	assert_true(msg_ring_push(world.links.from_control, message.slot));
	msg_begin(message.slot, MSG_PEER_DISCONNECT, peer, 3);
	assert_true(msg_ring_push(world.links.from_control, message.slot));
	shard_route(&world, 0, peer, SHARDS + 1);
	step(&world, 1);
	assert_int_equal(counted(&world, DP_C_SEND_INVALID), 1);
	assert_int_equal(counted(&world, DP_C_SEND_STALE), 2);
	assert_int_equal(counted(&world, DP_C_RING_UNKNOWN), 3);

	memcpy(msg_begin(message.slot, MSG_PEER_DISCONNECT, peer, sizeof(kick)), &kick,
		sizeof(kick));
	assert_true(msg_ring_push(world.links.from_control, message.slot));
	step(&world, 1);
	client_read(&client);
	assert_int_equal(client.enet.state, LEAN_GONE);
	assert_int_equal(client.enet.gone_data, SW_REASON_KICKED);
	world_free(&world);
}

static void answers_follow_the_last_way_in(void **state)
{
	struct world world;
	struct client client;
	uint8_t frame[2048];

	(void)state;
	world_make(&world, "way");
	client_make(&client, &world, 2);
	client_connect(&client);
	/* The client's router fails over: same address, another next hop. */
	client.local.mac[5] = 99;
	client_reliable(&client, "\x01 moved", 7);
	step(&world, 1);
	assert_true(ring_port_get(&world.wire, 0, frame, sizeof(frame)) > 0);
	assert_memory_equal(frame, client.local.mac, 6);
	world_free(&world);
}

static void replies_leave_by_the_port_they_came_in_on(void **state)
{
	struct ring_port second = {0};
	struct dp_port *ports[2];
	struct world world;
	struct client client;
	uint8_t datagram[LEAN_OUT_BYTES], frame[2048];
	struct packet_frame view = {.data = frame};
	struct packet_link link;
	struct packet packet;
	FILE *log = fopen("/dev/null", "w");
	uint32_t bytes;

	(void)state;
	/* Port 0 untagged with one queue, port 1 in VLAN 7 with two; one worker has all three. */
	world_make(&world, "first");
	ring_port_make(&second, "second", 2);
	world.config.port_count = 2;
	world.config.ports[1] = world.config.ports[0];
	strcpy(world.config.ports[1].device, "net_ring_second");
	strcpy(world.config.ports[1].address, "10.9.0.1/24");
	world.config.ports[1].vlan = 7;
	world.config.ports[1].queues = 2;
	ports[0] = world.port;
	assert_int_equal(dp_port_open(&world.config, 1, log, &ports[1]), 0);
	fclose(log);
	dp_worker_free(world.worker);
	world.worker = dp_worker_new(&world.config, 0, ports, 2, &world.links, key);
	assert_non_null(world.worker);
	world.now_ns = mono_ns() + NS_PER_MS;

	client_make(&client, &world, 2);
	client.local.vlan = 7;
	bytes = lean_connect(&client.enet, 99, 5, 77, 1000, datagram);
	packet_link_build(&link, &client.local, ports[1]->local.mac, ports[1]->local.ip,
		ports[1]->local.udp_port);
	memcpy(frame + link.bytes, datagram, bytes);
	ring_port_put(&second, 1, frame, packet_link_write(&link, frame, bytes, 1, false));
	step(&world, 1);
	assert_int_equal(ring_port_get(&world.wire, 0, frame, sizeof(frame)), 0);
	assert_int_equal(ring_port_get(&second, 0, frame, sizeof(frame)), 0);
	view.bytes = ring_port_get(&second, 1, frame, sizeof(frame));
	packet_parse(&view, &client.local, &packet);
	assert_int_equal(packet.kind, PACKET_UDP);
	assert_int_equal(packet.from_ip, ports[1]->local.ip);
	/* Connected by the second queue's frame, it is answered there: the way that came last. */
	bytes = lean_read(&client.enet, frame + packet.payload_at, packet.payload_bytes, NULL,
		now_ms(&client), datagram);
	memcpy(frame + link.bytes, datagram, bytes);
	ring_port_put(&second, 0, frame, packet_link_write(&link, frame, bytes, 2, false));
	bytes = lean_send_reliable(&client.enet, 0, "\x01", 1, now_ms(&client), datagram);
	memcpy(frame + link.bytes, datagram, bytes);
	ring_port_put(&second, 0, frame, packet_link_write(&link, frame, bytes, 3, false));
	step(&world, 1);
	assert_true(ring_port_get(&second, 0, frame, sizeof(frame)) > 0);
	assert_int_equal(ring_port_get(&second, 1, frame, sizeof(frame)), 0);
	assert_int_equal(ring_port_get(&world.wire, 0, frame, sizeof(frame)), 0);
	assert_int_equal(drain(&world, world.links.to_control), 2);

	while (ring_port_get(&second, 0, frame, sizeof(frame)))
		;
	world_free(&world);
	dp_port_close(ports[1]);
	ring_port_free(&second);
}

static void a_port_reset_leaves_peers_connected(void **state)
{
	struct world world;
	struct client client;
	FILE *log = fopen("/dev/null", "w");

	(void)state;
	world_make(&world, "vfreset");
	client_make(&client, &world, 2);
	client_connect(&client);
	dp_port_ask_reset(world.port);
	dp_port_maintain(world.port, log);
	assert_false(dp_port_running(world.port));
	step(&world, 1);
	assert_int_equal(counted(&world, DP_C_PORT_RESETS), 1);
	dp_port_maintain(world.port, log);
	assert_true(dp_port_running(world.port));
	client_reliable(&client, "\x01 here", 6);
	step(&world, 1);
	client_read(&client);
	assert_int_equal(client.enet.acknowledged, 1);
	fclose(log);
	world_free(&world);
}

static void buffers_come_back(void **state)
{
	struct world world;
	struct client client;
	unsigned free_before, free_after;

	(void)state;
	world_make(&world, "buffers");
	client_make(&client, &world, 2);
	client_connect(&client);
	client_read(&client);
	step(&world, 1);
	drain(&world, world.links.to_control);
	free_before = rte_mempool_avail_count(world.port->pool[0]);
	for (int i = 0; i < 5000; i++) {
		client_reliable(&client, "\x01 again", 7);
		client_unreliable(&client, "\x42", 1);
		step(&world, 1);
		client_read(&client);
		drain(&world, world.links.to_control);
	}
	step(&world, 1);
	client_read(&client);
	assert_int_equal(client.enet.acknowledged, 5000);
	/* The worker takes them by the 32: a few may be at hand now, as before. 5,000 turns that
	 * lost one each would show. */
	free_after = rte_mempool_avail_count(world.port->pool[0]);
	assert_in_range(free_after + 32, free_before, free_before + 64);
	assert_int_equal(rte_mempool_in_use_count(world.wire.pool), 0);
	world_free(&world);
}

static void rings_too_small_are_refused(void **state)
{
	struct world world;

	(void)state;
	world_make(&world, "small");
	world.config.enet.peer_hold_bytes = 1 << 20;
	assert_null(dp_worker_new(&world.config, 0, &world.port, 1, &world.links, key));
	world_free(&world);
}

int main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test(arp_and_ping_are_answered),
		cmocka_unit_test(pings_are_limited),
		cmocka_unit_test(malformed_frames_are_counted_by_name),
		cmocka_unit_test(neighbours_and_pings_over_ipv6),
		cmocka_unit_test(ipv6_clients_beside_ipv4),
		cmocka_unit_test(probes_are_answered),
		cmocka_unit_test(a_ready_node_without_a_free_peer_is_full),
		cmocka_unit_test(probes_are_limited),
		cmocka_unit_test(nothing_is_amplified),
		cmocka_unit_test(messages_go_where_their_type_and_route_say),
		cmocka_unit_test(a_full_ring_withholds_the_acknowledgement),
		cmocka_unit_test(a_run_goes_whole_or_not_at_all),
		cmocka_unit_test(one_peer_does_not_fill_a_ring),
		cmocka_unit_test(a_route_ends_behind_the_last_message),
		cmocka_unit_test(a_leave_is_owed_to_both),
		cmocka_unit_test(sends_and_disconnects_from_rings),
		cmocka_unit_test(answers_follow_the_last_way_in),
		cmocka_unit_test(replies_leave_by_the_port_they_came_in_on),
		cmocka_unit_test(a_port_reset_leaves_peers_connected),
		cmocka_unit_test(buffers_come_back),
		cmocka_unit_test(rings_too_small_are_refused),
	};

	return cmocka_run_group_tests_name("worker", tests, ring_port_eal, ring_port_eal_end);
}
