/* The seven-file promise, dataplane side: one frame is followed from the port to its shard's ring
 * and one back, and at each hop this test looks at what the file named there has done.
 *
 *   in   port.c, wire.c   the frame comes out of the port's receive burst
 *        packet.c         its headers are read, its checksums hold
 *        enet/rx.c ...    its command belongs to a connected peer and is in order
 *        route.c          its first byte and the peer's route name a shard
 *        msg_ring.c       the message stands in that shard's ring, byte for byte
 *   (simulation/ takes it from there; its own test goes on)
 *   out  worker.c         the shard's message is taken from its ring
 *        enet/send.c ...  framed as a command to that peer, with an acknowledgement
 *        packet.c, wire.c headers to the next hop it came from, and out of the port */
#include "dataplane/worker_fixture.h"

static uint64_t engine_counted(const struct world *world, enum sw_enet_counter counter)
{
	return counter_get(&dp_worker_counters(world->worker)[1].values[counter]);
}

static void one_frame_in_and_one_out(void **state)
{
	static const char walk[] = "\x41 one step to the north", update[] = "\x42 you stand there";
	struct world world;
	struct client client;
	struct msg_buffer answer;
	const struct msg *message;
	uint8_t frame[2048], datagram[LEAN_OUT_BYTES], out[LEAN_OUT_BYTES];
	struct packet_frame view = {.data = frame};
	struct packet_link link;
	struct packet packet;
	const struct lean_sink sink = {.ctx = &client, .message = on_message};
	uint64_t peer, rx, commands, delivered, to_shard, sends, tx;
	uint32_t bytes;

	(void)state;
	world_make(&world, "trace");
	client_make(&client, &world, 2);
	peer = client_connect(&client);
	shard_route(&world, 1, peer, 2);
	step(&world, 1);
	client_read(&client);

	/* The frame, as a client's network card would send it. */
	bytes = lean_send_reliable(
		&client.enet, SW_CHANNEL_SESSION, walk, sizeof(walk), now_ms(&client), datagram);
	packet_link_build(&link, &client.local, world.port->local.mac, world.port->local.ip,
		world.port->local.udp_port);
	memcpy(frame + link.bytes, datagram, bytes);
	view.bytes = packet_link_write(&link, frame, bytes, 1, false);

	/* packet.c reads it so. */
	packet_parse(&view, &world.port->local, &packet);
	assert_int_equal(packet.kind, PACKET_UDP);
	assert_int_equal(packet.from_ip, client.local.ip);
	assert_int_equal(packet.payload_bytes, bytes);
	assert_memory_equal(frame + packet.payload_at, datagram, bytes);

	rx = counted(&world, DP_C_RX_PACKETS);
	commands = engine_counted(&world, SW_ENET_C_COMMANDS_IN);
	delivered = engine_counted(&world, SW_ENET_C_DELIVERED);
	to_shard = counted(&world, DP_C_TO_SHARD);
	ring_port_put(&world.wire, 0, frame, view.bytes);
	assert_true(step(&world, 1));
	assert_int_equal(counted(&world, DP_C_RX_PACKETS), rx + 1);
	assert_int_equal(engine_counted(&world, SW_ENET_C_COMMANDS_IN), commands + 1);
	assert_int_equal(engine_counted(&world, SW_ENET_C_DELIVERED), delivered + 1);
	assert_int_equal(counted(&world, DP_C_TO_SHARD), to_shard + 1);

	/* The shard's ring has it. */
	message = pop(&world, world.links.to_shard[1]);
	assert_non_null(message);
	assert_int_equal(message->type, MSG_PEER_PACKET);
	assert_int_equal(message->peer, peer);
	assert_int_equal(message->channel, SW_CHANNEL_SESSION);
	assert_int_equal(message->payload_bytes, sizeof(walk));
	assert_memory_equal(msg_payload(message), walk, sizeof(walk));

	/* Taken is acknowledged: that datagram is out already. */
	client_read(&client);
	assert_int_equal(client.enet.acknowledged, 1);

	/* The way back. */
	sends = counted(&world, DP_C_RING_SENDS);
	tx = counted(&world, DP_C_TX_PACKETS);
	memcpy(msg_begin(answer.slot, MSG_PEER_SEND, peer, sizeof(update)), update, sizeof(update));
	answer.slot->channel = SW_CHANNEL_WORLD;
	assert_true(msg_ring_push(world.links.from_shard[1], answer.slot));
	assert_true(step(&world, 1));
	assert_int_equal(counted(&world, DP_C_RING_SENDS), sends + 1);
	assert_int_equal(counted(&world, DP_C_TX_PACKETS), tx + 1);
	view.bytes = ring_port_get(&world.wire, 0, frame, sizeof(frame));
	assert_true(view.bytes > 0);
	assert_memory_equal(frame, client.local.mac, 6);
	assert_memory_equal(frame + 6, world.port->local.mac, 6);
	packet_parse(&view, &client.local, &packet);
	assert_int_equal(packet.kind, PACKET_UDP);
	assert_int_equal(packet.from_port, world.port->local.udp_port);
	lean_read(&client.enet, frame + packet.payload_at, packet.payload_bytes, &sink,
		now_ms(&client), out);
	assert_int_equal(client.messages, 1);
	assert_int_equal(client.last_bytes, sizeof(update));
	assert_memory_equal(client.last, update, sizeof(update));
	world_free(&world);
}

int main(void)
{
	const struct CMUnitTest tests[] = {cmocka_unit_test(one_frame_in_and_one_out)};

	return cmocka_run_group_tests_name("trace", tests, ring_port_eal, ring_port_eal_end);
}
