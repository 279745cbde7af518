/* Proves, over a net_ring port and with frames alone: a client's messages reach the ring that their
 * first byte and its route name, a full ring withholds the acknowledgement and loses nothing,
 * routes move without a message on the wrong side, leaves are owed until both have them, and what
 * control and shards send reaches the client. */
#include "dataplane/worker_fixture.h"

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

/* A shard that gives a route up hears the marker, whether it had the route or not, and takes nobody
 * else's. */
static void a_route_that_is_given_up_ends(void **state)
{
	struct world world;
	struct client client;
	const struct msg *message;
	uint64_t peer;

	(void)state;
	world_make(&world, "give-up");
	client_make(&client, &world, 2);
	peer = client_connect(&client);
	for (int held = 0; held < 2; held++) {
		if (held)
			shard_route(&world, 0, peer, 1);
		shard_route(&world, 0, peer, 0);
		step(&world, 1);
		message = pop(&world, world.links.to_shard[0]);
		assert_non_null(message);
		assert_int_equal(message->type, MSG_ROUTE_END);
		assert_int_equal(message->peer, peer);
		assert_int_equal(msg_ring_used(world.links.to_shard[0]), 0);
		client_unreliable(&client, "\x41 lost", 6);
		step(&world, 1);
		assert_int_equal(counted(&world, DP_C_MESSAGE_NO_ROUTE), held + 1);
	}
	shard_route(&world, 1, peer, 2);
	step(&world, 1);
	shard_route(&world, 0, peer, 0);
	step(&world, 1);
	message = pop(&world, world.links.to_shard[0]);
	assert_non_null(message);
	assert_int_equal(message->type, MSG_ROUTE_END);
	client_unreliable(&client, "\x41 kept", 6);
	step(&world, 1);
	message = pop(&world, world.links.to_shard[1]);
	assert_non_null(message);
	assert_memory_equal(msg_payload(message), "\x41 kept", 6);
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

int main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test(messages_go_where_their_type_and_route_say),
		cmocka_unit_test(a_full_ring_withholds_the_acknowledgement),
		cmocka_unit_test(a_run_goes_whole_or_not_at_all),
		cmocka_unit_test(one_peer_does_not_fill_a_ring),
		cmocka_unit_test(a_route_ends_behind_the_last_message),
		cmocka_unit_test(a_route_that_is_given_up_ends),
		cmocka_unit_test(a_leave_is_owed_to_both),
		cmocka_unit_test(sends_and_disconnects_from_rings),
	};

	return cmocka_run_group_tests_name("messages", tests, ring_port_eal, ring_port_eal_end);
}
