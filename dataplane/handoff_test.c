/* Proves the hand-off by software: with one queue and three workers each client, over IPv4 or IPv6,
 * lives on the worker that its flow's hash names, and its answers leave through the queue's owner;
 * full rings drop or wait under a name; a worker that is overloaded costs its own clients alone;
 * two ports share the workers. In the end no frame is left. */
#include "dataplane/node_fixture.h"

static void one_queue_three_workers(void **state)
{
	uint32_t living[WORKERS_MAX] = {0}, foreign = 0;

	(void)state;
	node_make("one", 3, 1, 1, CONFIG_STEERING_AUTO);
	assert_int_equal(node.port[0]->steer, DP_STEER_HASH);
	for (uint32_t c = 0; c < CLIENTS; c++)
		client_make(c, 0, 0);
	connect_all(CLIENTS);
	for (uint32_t c = 0; c < CLIENTS; c++) {
		assert_int_equal(handle_owner(node.peer[c]), owner_of(c));
		living[owner_of(c)]++;
		foreign += owner_of(c) != 0;
	}
	for (uint32_t w = 0; w < 3; w++) {
		assert_true(living[w] > 0); /* the key is fixed: so it is, or never */
		assert_int_equal(dp_worker_peers(node.worker[w]), living[w]);
	}
	for (uint32_t round = 0; round < 5; round++) {
		for (uint32_t c = 0; c < CLIENTS; c++)
			client_say(&node.client[c]);
		turns(4);
	}
	for (uint32_t c = 0; c < CLIENTS; c++) {
		assert_int_equal(node.messages[c], 5);
		assert_int_equal(node.client[c].echoes, 5);
		assert_int_equal(node.client[c].enet.acknowledged, 5);
	}
	/* Worker 0 has the queue: nothing is handed to it, nothing sent by others alone. */
	assert_true(counted(0, DP_C_HANDOFF_OVER) >= foreign * 7);
	assert_int_equal(counted(1, DP_C_HANDOFF_TAKEN) + counted(2, DP_C_HANDOFF_TAKEN),
		counted(0, DP_C_HANDOFF_OVER));
	assert_int_equal(counted(1, DP_C_RX_PACKETS) + counted(2, DP_C_RX_PACKETS), 0);
	assert_int_equal(counted(1, DP_C_TX_PACKETS) + counted(2, DP_C_TX_PACKETS), 0);
	assert_true(counted(1, DP_C_HANDOFF_BACK) > 0 && counted(2, DP_C_HANDOFF_BACK) > 0);
	assert_int_equal(counted_by_all(DP_C_HANDOFF_OVER_FULL), 0);
	node_free();
}

/* ARP and pings are the queue's owner's own affair, whoever has the flows. */
static void arp_is_answered_by_the_queues_owner(void **state)
{
	struct frame_case arp = {.base = FRAME_ARP, .at = -1};
	struct packet_frame frame;
	uint8_t bytes[FRAME_BYTES_MAX], answer[2048];

	(void)state;
	node_make("arp", 3, 1, 1, CONFIG_STEERING_AUTO);
	frame_build(&arp, bytes, &frame);
	ring_port_put(&node.wire[0], 0, bytes, frame.bytes);
	turn(~0u);
	assert_int_equal(counted(0, DP_C_ARP_REPLIES), 1);
	assert_true(ring_port_get(&node.wire[0], 0, answer, sizeof(answer)) > 0);
	node_free();
}

static void a_full_ring_over_drops_by_name(void **state)
{
	uint32_t c = 0, sent = 0, room;

	(void)state;
	node_make("over", 2, 1, 1, CONFIG_STEERING_AUTO);
	while (client_make(c, 0, 0), owner_of(c) != 1)
		c++;
	room = 127; /* 64 descriptors: a ring of 128 slots less one */
	assert_int_equal(dp_port_handoff_frames(&node.config, DP_STEER_HASH), 64);
	while (sent < 3 * room) {
		for (uint32_t i = 0; i < 30; i++, sent++)
			client_connect(&node.client[c]);
		turn(1); /* worker 1 is away */
	}
	assert_int_equal(counted(0, DP_C_HANDOFF_OVER), room);
	assert_int_equal(counted(0, DP_C_HANDOFF_OVER_FULL), sent - room);
	assert_int_equal(counted(1, DP_C_HANDOFF_TAKEN), 0);
	for (uint32_t i = 0; i < 3; i++)
		turn(2);
	assert_int_equal(counted(1, DP_C_HANDOFF_TAKEN), room);
	node_free();
}

static void a_full_ring_back_waits(void **state)
{
	struct msg_buffer message;
	uint32_t c = 0, sent = 200;

	(void)state;
	node_make("back", 2, 1, 1, CONFIG_STEERING_AUTO);
	while (client_make(c, 0, 0), owner_of(c) != 1)
		c++;
	client_connect(&node.client[c]);
	turns(6);
	assert_int_equal(node.client[c].enet.state, LEAN_CONNECTED);
	/* More than its ring back takes, to be sent while the queue's owner is away. */
	for (uint32_t i = 0; i < sent; i++) {
		memcpy(msg_begin(message.slot, MSG_PEER_SEND, node.peer[c], 6), "\x01hello", 6);
		message.slot->channel = 0;
		message.slot->flags = MSG_SEND_RELIABLE;
		assert_true(msg_ring_push(node.links[1].from_control, message.slot));
		turn(2);
	}
	assert_true(counted(1, DP_C_HANDOFF_BACK_FULL) > 0);
	for (uint32_t i = 0; i < 40; i++) {
		turn(1);
		clients_read(); /* the client's own ring is small, too */
		turn(2);
	}
	turns(40);
	assert_true(node.client[c].echoes >= sent); /* some came twice: they were long in coming */
	assert_int_equal(node.gone, 0);
	assert_int_equal(counted_by_all(DP_C_TX_DROPPED), 0);
	node_free();
}

/* Worker 1 is kept from its CPU while its clients send more than its ring takes: those of worker 0,
 * whose queue all come in by, are answered in the same turn as ever. */
static void an_overloaded_worker_costs_its_own_clients(void **state)
{
	uint32_t fast = 0, slow = 0, rounds = 50;

	(void)state;
	node_make("fair", 2, 1, 1, CONFIG_STEERING_AUTO);
	while (client_make(fast, 0, 0), owner_of(fast) != 0)
		fast++;
	while (client_make(slow, 0, 0), owner_of(slow) != 1)
		slow++;
	client_connect(&node.client[fast]);
	client_connect(&node.client[slow]);
	turns(6);
	for (uint32_t round = 1; round <= rounds; round++) {
		for (uint32_t i = 0; i < 30; i++)
			client_connect(&node.client[slow]);
		client_say(&node.client[fast]);
		for (uint32_t i = 0; i < 2; i++) {
			turn(1);
			control_turn();
			clients_read();
		}
		assert_int_equal(node.client[fast].echoes, round);
	}
	assert_true(counted(0, DP_C_HANDOFF_OVER_FULL) > 0);
	assert_int_equal(counted(0, DP_C_TX_NO_MBUF) + counted(0, DP_C_TX_DROPPED), 0);
	turns(4);
	assert_int_equal(node.client[fast].echoes, rounds);
	node_free();
}

static void two_ports_share_three_workers(void **state)
{
	(void)state;
	node_make("two", 3, 2, 1, CONFIG_STEERING_AUTO);
	for (uint32_t c = 0; c < CLIENTS; c++)
		client_make(c, c % 2, 0);
	connect_all(CLIENTS);
	for (uint32_t c = 0; c < CLIENTS; c++) {
		assert_int_equal(handle_owner(node.peer[c]), owner_of(c));
		client_say(&node.client[c]);
	}
	turns(4);
	for (uint32_t c = 0; c < CLIENTS; c++)
		assert_int_equal(node.client[c].echoes, 1);
	node_free();
}

/* Two ports of one queue each and two workers: each has a port, and nothing crosses. */
static void a_port_each_needs_no_handing_on(void **state)
{
	(void)state;
	node_make("each", 2, 2, 1, CONFIG_STEERING_AUTO);
	assert_null(node.handoff);
	for (uint32_t c = 0; c < CLIENTS; c++)
		client_make(c, c % 2, 0);
	connect_all(CLIENTS);
	for (uint32_t c = 0; c < CLIENTS; c++)
		assert_int_equal(handle_owner(node.peer[c]), c % 2);
	node_free();
}

/* Over IPv6, to the global and to the link-local address of two ports, beside clients of IPv4: the
 * hash takes the whole address, and answers have IPv6's headers on whichever queue. */
static void six_and_four_share_the_workers(void **state)
{
	uint32_t living[WORKERS_MAX] = {0};

	(void)state;
	node_make("six", 3, 2, 1, CONFIG_STEERING_AUTO);
	for (uint32_t c = 0; c < CLIENTS; c++) {
		if (c % 3)
			client_make6(c, c % 2, 0, c % 3 == 2);
		else
			client_make(c, c % 2, 0);
	}
	connect_all(CLIENTS);
	for (uint32_t round = 0; round < 5; round++) {
		for (uint32_t c = 0; c < CLIENTS; c++)
			client_say(&node.client[c]);
		turns(4);
	}
	for (uint32_t c = 0; c < CLIENTS; c++) {
		assert_int_equal(handle_owner(node.peer[c]), owner_of(c));
		living[owner_of(c)] += node.client[c].six;
		assert_int_equal(node.messages[c], 5);
		assert_int_equal(node.client[c].echoes, 5);
	}
	for (uint32_t w = 0; w < 3; w++)
		assert_true(living[w] > 0);
	assert_true(counted(2, DP_C_HANDOFF_BACK) > 0); /* which has no queue */
	assert_int_equal(counted_by_all(DP_C_TX_DROPPED), 0);
	node_free();
}

int main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test(one_queue_three_workers),
		cmocka_unit_test(six_and_four_share_the_workers),
		cmocka_unit_test(arp_is_answered_by_the_queues_owner),
		cmocka_unit_test(a_full_ring_over_drops_by_name),
		cmocka_unit_test(a_full_ring_back_waits),
		cmocka_unit_test(an_overloaded_worker_costs_its_own_clients),
		cmocka_unit_test(two_ports_share_three_workers),
		cmocka_unit_test(a_port_each_needs_no_handing_on),
	};

	return cmocka_run_group_tests_name("handoff", tests, ring_port_eal, ring_port_eal_end);
}
