/* Proves that a peer whose flow moves to another queue, as when RSS is changed, goes on where it
 * is: connected, in its handshake, or before its handshake's answer has come; over IPv4 and IPv6.
 * Strangers are refused where they come in, and a frame handed on by mistake is dropped; so is one
 * that was begun for the queue before. Who has left is no longer looked for. */
#include "dataplane/node_fixture.h"

/* The far end spreads flows, as RSS does; then it changes its mind. */
static void moves(const char *name, bool six)
{
	struct client *settled = &node.client[0], *early = &node.client[1], *late = &node.client[2];
	uint8_t verify[2048];
	uint64_t strays, unknown;

	node_make(name, 2, 1, 2, CONFIG_STEERING_PORT);
	assert_int_equal(node.port[0]->steer, DP_STEER_STRAYS);
	for (uint32_t c = 0; c < 3; c++) {
		if (six)
			client_make6(c, 0, 0, false);
		else
			client_make(c, 0, 0);
	}

	client_connect(settled);
	turns(6);
	assert_int_equal(handle_owner(node.peer[0]), 0);
	client_say(settled);
	turns(4);
	assert_int_equal(counted_by_all(DP_C_HANDOFF_OVER), 0);
	settled->queue = 1; /* to worker 1, who has never heard of it */
	for (uint32_t i = 0; i < 10; i++) {
		client_say(settled);
		turns(4);
	}
	assert_int_equal(node.messages[0], 11);
	assert_int_equal(settled->echoes, 11);
	assert_int_equal(settled->enet.acknowledged, 11);
	assert_int_equal(counted(1, DP_C_HANDOFF_STRAYS), counted(1, DP_C_HANDOFF_OVER));
	assert_true(counted(1, DP_C_HANDOFF_STRAYS) >= 20); /* messages and acknowledgements */
	/* Its worker answers by its own queue: nothing goes back. */
	assert_int_equal(counted_by_all(DP_C_HANDOFF_BACK), 0);
	assert_int_equal(node.sent[0][1], 0);

	/* Between CONNECT and its acknowledgement. */
	client_connect(early);
	turn(~0u);
	early->queue = 1;
	turns(6);
	client_say(early);
	turns(4);
	assert_int_equal(handle_owner(node.peer[1]), 0);
	assert_int_equal(early->echoes, 1);

	/* Between a CONNECT whose answer was lost, and its repetition. */
	client_connect(late);
	turn(~0u);
	assert_true(ring_port_get(&node.wire[0], 0, verify, sizeof(verify)) > 0);
	late->queue = 1;
	client_connect(late);
	turns(6);
	assert_int_equal(handle_owner(node.peer[2]), 0);
	client_say(late);
	turns(4);
	assert_int_equal(late->echoes, 1);
	assert_int_equal(dp_worker_peers(node.worker[1]), 0);

	/* A stranger is refused where it comes in. */
	strays = counted(1, DP_C_HANDOFF_STRAYS);
	client_make(3, 0, 1);
	node.client[3].enet = settled->enet;
	unknown = unknown_peers(1);
	client_say(&node.client[3]);
	turns(2);
	assert_int_equal(counted(1, DP_C_HANDOFF_STRAYS), strays);
	assert_int_equal(unknown_peers(1), unknown + 1);
	node_free();
}

static void a_peer_survives_its_flows_move(void **state)
{
	(void)state;
	moves("rss", false);
	moves("rss6", true);
}

static uint64_t flow_of(const struct client *client)
{
	uint8_t ip[16] = {[10] = 0xff, [11] = 0xff};
	uint64_t hash_key[2];

	packet_put32(ip + 12, client->local.ip);
	memcpy(hash_key, key, sizeof(hash_key));
	return dp_flow_hash(hash_key, ip, client->local.udp_port | (client->port + 1) << 16);
}

/* Four workers; port 0 has a queue of each of the first two, port 1 one of each of the last two. A
 * frame that comes to the wrong one, as when two flows look alike in the table, is dropped there:
 * it must not be answered through a queue of another's. */
static void a_frame_handed_by_mistake_is_dropped(void **state)
{
	(void)state;
	node_make("mist", 4, 2, 2, CONFIG_STEERING_PORT);
	client_make(0, 0, 0);
	assert_true(dp_flows_put(node.handoff->flows, flow_of(&node.client[0]), 3, true));
	client_connect(&node.client[0]);
	turn(~0u);
	turn(~0u);
	assert_int_equal(counted(0, DP_C_HANDOFF_STRAYS), 1);
	assert_int_equal(counted(3, DP_C_HANDOFF_NO_WAY), 1);
	clients_read();
	assert_int_equal(node.sent[0][0] + node.sent[0][1], 0);
	node_free();
}

/* A peer slot has one flow in the table: that of who has it now. */
static void a_slot_has_one_flow(void **state)
{
	uint8_t out[LEAN_OUT_BYTES];

	(void)state;
	node_make("slot", 2, 1, 2, CONFIG_STEERING_PORT);
	for (uint32_t c = 0; c < CLIENTS; c++) {
		struct client *client = &node.client[c];

		client_make(c, 0, 0);
		client_connect(client);
		turns(6);
		assert_int_equal(dp_flows_find(node.handoff->flows, flow_of(client), 1, false), 0);
		if (c)
			assert_int_equal(
				dp_flows_find(node.handoff->flows, flow_of(client - 1), 1, false),
				DP_FLOWS_NOBODY);
		client_put(client, out,
			lean_disconnect(
				&client->enet, 0, (uint32_t)(node.now_ns / NS_PER_MS), out));
		turns(6);
		assert_int_equal(dp_worker_peers(node.worker[0]), 0);
	}
	node_free();
}

/* An unreliable packet's datagram is begun before a burst, with room for one queue's headers and
 * from its pool: it does not leave by the queue that the burst moves its peer to. */
static void what_was_begun_stays_on_its_way(void **state)
{
	struct client *client = &node.client[0];
	struct msg_buffer message;
	uint32_t before;

	(void)state;
	node_make("begun", 1, 1, 2, CONFIG_STEERING_AUTO);
	client_make(0, 0, 0);
	connect_all(1);
	memcpy(msg_begin(message.slot, MSG_PEER_SEND, node.peer[0], 6), "\x01 lost", 6);
	assert_true(msg_ring_push(node.links[0].from_control, message.slot));
	client->queue = 1;
	client_say(client);
	before = node.sent[0][0];
	turns(1);
	assert_int_equal(counted(0, DP_C_TX_DROPPED), 1);
	turns(4);
	assert_int_equal(client->echoes, 1);
	assert_int_equal(node.sent[0][0], before);
	assert_int_equal(counted(0, DP_C_TX_DROPPED), 1);
	node_free();
}

int main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test(a_peer_survives_its_flows_move),
		cmocka_unit_test(a_frame_handed_by_mistake_is_dropped),
		cmocka_unit_test(a_slot_has_one_flow),
		cmocka_unit_test(what_was_begun_stays_on_its_way),
	};

	return cmocka_run_group_tests_name("moves", tests, ring_port_eal, ring_port_eal_end);
}
