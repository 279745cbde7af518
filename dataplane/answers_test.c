/* Proves, over a net_ring port and with frames alone: ARP, neighbour discovery and pings are
 * answered, pings at a limited rate, malformed frames are counted by name, and clients of IPv6 play
 * beside those of IPv4. */
#include "dataplane/worker_fixture.h"

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

int main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test(arp_and_ping_are_answered),
		cmocka_unit_test(pings_are_limited),
		cmocka_unit_test(malformed_frames_are_counted_by_name),
		cmocka_unit_test(neighbours_and_pings_over_ipv6),
		cmocka_unit_test(ipv6_clients_beside_ipv4),
	};

	return cmocka_run_group_tests_name("answers", tests, ring_port_eal, ring_port_eal_end);
}
