/* Proves, over a net_ring port and with frames alone: chat of a client reaches the chat thread's
 * ring once it has been on a map, and from then on between maps too; a full ring withholds its
 * acknowledgement and does not touch other rings; what chat says to one, and its lines, reach the
 * clients named and nobody else, and an order that is not chat's to give is refused. */
#include "dataplane/worker_fixture.h"

#include "common/chat.h"

static void chat_reaches_its_ring(void **state)
{
	struct world world;
	struct client client;
	const struct msg *message;
	uint64_t peer;

	(void)state;
	world_make_with(&world, "chat", "", true);
	client_make(&client, &world, 2);
	peer = client_connect(&client);

	client_reliable(&client, "\x80 too early", 11);
	step(&world, 1);
	assert_int_equal(counted(&world, DP_C_MESSAGE_NO_ROUTE), 1);
	assert_null(pop(&world, world.links.to_chat));

	shard_route(&world, 1, peer, 2);
	step(&world, 1);
	client_reliable(&client, "\x80 hello", 7);
	step(&world, 1);
	message = pop(&world, world.links.to_chat);
	assert_non_null(message);
	assert_int_equal(message->type, MSG_PEER_PACKET);
	assert_int_equal(message->peer, peer);
	assert_memory_equal(msg_payload(message), "\x80 hello", 7);

	/* between two maps */
	shard_route(&world, 1, peer, 0);
	step(&world, 1);
	client_reliable(&client, "\x41 walk", 6);
	client_reliable(&client, "\xbf bye", 5);
	step(&world, 1);
	message = pop(&world, world.links.to_chat);
	assert_non_null(message);
	assert_memory_equal(msg_payload(message), "\xbf bye", 5);
	assert_int_equal(counted(&world, DP_C_TO_CHAT), 2);
	assert_int_equal(counted(&world, DP_C_MESSAGE_NO_ROUTE), 2);
	assert_int_equal(counted(&world, DP_C_MESSAGE_CHAT), 0);
	world_free(&world);
}

static void a_full_ring_of_chat_is_its_own_matter(void **state)
{
	struct world world;
	struct client client;
	uint8_t out[LEAN_OUT_BYTES];
	const struct msg *message;
	uint32_t bytes;
	uint64_t peer;

	(void)state;
	world_make_with(&world, "chat_full", "", true);
	client_make(&client, &world, 2);
	peer = client_connect(&client);
	shard_route(&world, 0, peer, 1);
	step(&world, 1);
	fill(world.links.to_chat);
	bytes = lean_send_reliable(&client.enet, 2, "\x80wait", 5, now_ms(&client), out);
	client_put(&client, out, bytes);
	client_reliable(&client, "\x41 act", 5);
	step(&world, 1);
	client_read(&client);
	assert_int_equal(client.enet.acknowledged, 1);
	message = pop(&world, world.links.to_shard[0]);
	assert_non_null(message);
	assert_memory_equal(msg_payload(message), "\x41 act", 5);

	drain(&world, world.links.to_chat);
	client_put(&client, out, bytes);
	step(&world, 1);
	client_read(&client);
	assert_int_equal(client.enet.acknowledged, 2);
	message = pop(&world, world.links.to_chat);
	assert_non_null(message);
	assert_memory_equal(msg_payload(message), "\x80wait", 5);
	world_free(&world);
}

static void push(
	struct msg_ring *ring, enum msg_type type, uint64_t peer, const void *bytes, uint32_t count)
{
	struct msg_buffer message;

	memcpy(msg_begin(message.slot, type, peer, count), bytes, count);
	assert_true(msg_ring_push(ring, message.slot));
}

static void what_chat_says_reaches_who_is_named(void **state)
{
	const struct msg_peer_route route = {.route = 1};
	struct world world;
	struct client client;
	uint64_t peer, list[3];

	(void)state;
	world_make_with(&world, "chat_out", "", true);
	client_make(&client, &world, 2);
	peer = client_connect(&client);

	/* a line to it, to one that is not there, and to one of the same slot before */
	list[0] = peer;
	list[1] = peer + 1;
	list[2] = handle_make(0, handle_generation(peer) + 1, handle_index(peer));
	push(world.links.lines, MSG_CHAT_LINE, HANDLE_NONE, "\x90 line", 6);
	push(world.links.lines, MSG_CHAT_TO, HANDLE_NONE, list, sizeof(list));
	push(world.links.from_chat, MSG_PEER_SEND, peer, "\x92 first", 7);
	assert_true(step(&world, 1));
	assert_int_equal(client_read_some(&client, 1), 1); /* both in one datagram */
	assert_int_equal(client.messages, 2);
	assert_memory_equal(client.last, "\x90 line", 6);
	assert_int_equal(counted(&world, DP_C_CHAT_LINES), 1);
	assert_int_equal(counted(&world, DP_C_CHAT_DELIVERIES), 1);
	assert_int_equal(counted(&world, DP_C_CHAT_STALE), 2);

	/* routes and ends are not chat's */
	push(world.links.from_chat, MSG_PEER_ROUTE, peer, &route, sizeof(route));
	push(world.links.from_chat, MSG_PEER_DISCONNECT, peer, &route, sizeof(route));
	push(world.links.from_chat, MSG_PEER_SEND, list[2], "\x92 stale", 7);
	step(&world, 1);
	assert_int_equal(counted(&world, DP_C_RING_UNKNOWN), 2);
	assert_int_equal(counted(&world, DP_C_CHAT_STALE), 3);
	assert_int_equal(counted(&world, DP_C_ROUTES_SET), 0);
	assert_int_equal(dp_worker_peers(world.worker), 1);
	world_free(&world);
}

/* A worker that has lines to send does not sleep, and says what is left to the next turn. */
static void lines_go_on_in_the_next_turn(void **state)
{
	struct world world;
	struct client client;
	uint64_t list[100], peer;

	(void)state;
	world_make_with(&world, "chat_pace", "", true);
	client_make(&client, &world, 2);
	peer = client_connect(&client);
	for (uint32_t i = 0; i < 100; i++)
		list[i] = peer;
	push(world.links.lines, MSG_CHAT_LINE, HANDLE_NONE, "\x90 line", 6);
	push(world.links.lines, MSG_CHAT_TO, HANDLE_NONE, list, sizeof(list));
	dp_worker_ticking(world.worker, true);
	assert_true(step(&world, 1));
	assert_int_equal(counted(&world, DP_C_CHAT_DELIVERIES), 1);
	dp_worker_ticking(world.worker, false);
	for (uint32_t turns = 0; counted(&world, DP_C_CHAT_DELIVERIES) < 100; turns++) {
		assert_true(turns < 10);
		assert_true(step(&world, 1));
		client_read(&client);
	}
	step(&world, 1);
	client_read(&client);
	assert_int_equal(client.messages, 100);
	world_free(&world);
}

int main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test(chat_reaches_its_ring),
		cmocka_unit_test(a_full_ring_of_chat_is_its_own_matter),
		cmocka_unit_test(what_chat_says_reaches_who_is_named),
		cmocka_unit_test(lines_go_on_in_the_next_turn),
	};

	return cmocka_run_group_tests_name("chat", tests, ring_port_eal, ring_port_eal_end);
}
