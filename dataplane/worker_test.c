/* Proves, over net_ring ports and with frames alone: a peer's answers leave by the way that its
 * last datagram came, what a full transmit ring does not take waits, a port's reset keeps peers
 * connected, buffers come back, and rings that could never take what a peer's hold releases are
 * refused. */
#include "dataplane/worker_fixture.h"

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

/* 255 frames fit the ring. */
static void say_without_reading(struct world *world, struct client *client, uint32_t messages)
{
	while (messages--) {
		client_reliable(client, "\x01 full", 6);
		step(world, 1);
		drain(world, world->links.to_control);
	}
}

static void a_full_transmit_ring(void **state)
{
	struct world world;
	struct client client;
	FILE *log = fopen("/dev/null", "w");
	uint64_t dropped;

	(void)state;
	world_make(&world, "txfull");
	client_make(&client, &world, 2);
	client_connect(&client);
	client_read(&client);
	step(&world, 1);
	drain(&world, world.links.to_control);
	say_without_reading(&world, &client, 270);
	assert_true(counted(&world, DP_C_TX_FULL) > 0);
	client_read_some(&client, 4); /* room for some of them */
	step(&world, 1);
	client_read(&client);
	assert_in_range(client.enet.acknowledged, 254, 259);
	step(&world, 1);
	client_read(&client);
	assert_int_equal(client.enet.acknowledged, 270); /* the rest has waited */
	assert_int_equal(counted(&world, DP_C_TX_DROPPED), 0);
	assert_int_not_equal(dp_worker_next_ns(world.worker), 0);

	/* What waits when the port is reset is dropped: its MAC may be another afterwards. */
	say_without_reading(&world, &client, 270);
	assert_int_equal(dp_worker_next_ns(world.worker), 0); /* tried again at once */
	dp_port_ask_reset(world.port);
	step(&world, 1);
	dropped = counted(&world, DP_C_TX_DROPPED);
	assert_in_range(dropped, 15, 20);
	dp_port_maintain(world.port, log);
	assert_true(dp_port_running(world.port));
	for (int i = 0; i < 3; i++) {
		client_read(&client);
		step(&world, 1);
	}
	assert_in_range(client.enet.acknowledged + dropped, 540, 541); /* one may be a ping */
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
		cmocka_unit_test(answers_follow_the_last_way_in),
		cmocka_unit_test(replies_leave_by_the_port_they_came_in_on),
		cmocka_unit_test(a_port_reset_leaves_peers_connected),
		cmocka_unit_test(a_full_transmit_ring),
		cmocka_unit_test(buffers_come_back),
		cmocka_unit_test(rings_too_small_are_refused),
	};

	return cmocka_run_group_tests_name("worker", tests, ring_port_eal, ring_port_eal_end);
}
