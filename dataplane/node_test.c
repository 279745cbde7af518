/* Proves that several workers are one node to the outside: what the configuration allows a second
 * is what all of them do together; one source is held to its rate however its flows are dealt out;
 * and a probe is told "full" when no worker has a free slot, not when that of the queue has none. */
#include "dataplane/node_fixture.h"
#include "proto/probe.h"

/* --- connects --- */

static void few_connects(struct sw_config *config)
{
	config->enet.connects_per_s = 10;
	config->enet.connects_burst = 8;
	config->enet.returning_percent = 0;
	config->enet.peers_max = config->enet.half_open_max = 64;
}

static uint64_t engines_counted(enum sw_enet_counter counter)
{
	uint64_t sum = 0;

	for (uint32_t w = 0; w < node.workers; w++)
		sum += counter_get(&dp_worker_counters(node.worker[w])[1].values[counter]);
	return sum;
}

static const struct {
	const char *name;
	uint32_t workers, ports;
} nodes[] = {{"c1", 1, 1}, {"c3", 3, 1}, {"c22", 2, 2}};

static void the_node_connects_as_configured(void **state)
{
	(void)state;
	for (uint32_t i = 0; i < sizeof(nodes) / sizeof(nodes[0]); i++) {
		node_make_tuned(nodes[i].name, nodes[i].workers, nodes[i].ports, 1,
			CONFIG_STEERING_AUTO, few_connects);
		for (uint32_t c = 0; c < CLIENTS; c++) {
			client_make(c, c % nodes[i].ports, 0);
			client_connect(&node.client[c]);
		}
		turns(6);
		if (engines_counted(SW_ENET_C_CONNECTED) != 8)
			fail_msg("%s: %llu connected, of a burst of 8", nodes[i].name,
				(unsigned long long)engines_counted(SW_ENET_C_CONNECTED));
		assert_int_equal(engines_counted(SW_ENET_C_CONNECT_RATE), CLIENTS - 8);
		node_free();
	}
}

/* One address whose flows go to all three workers: its burst is 12, so each has 4. */
static void few_of_a_source(struct sw_config *config)
{
	config->enet.source_connects_per_s = 3;
	config->enet.source_connects_burst = 12;
	config->enet.peers_max = config->enet.half_open_max = 64;
}

static void a_source_has_one_rate_on_all_workers(void **state)
{
	uint32_t asked[WORKERS_MAX] = {0}, expected = 0;

	(void)state;
	node_make_tuned("src", 3, 1, 1, CONFIG_STEERING_AUTO, few_of_a_source);
	for (uint32_t c = 0; c < CLIENTS; c++) {
		client_make(c, 0, 0);
		node.client[c].local.ip = 0x0a000100u;
		client_connect(&node.client[c]);
		asked[owner_of(c)]++;
	}
	turns(6);
	for (uint32_t w = 0; w < 3; w++)
		expected += asked[w] < 4 ? asked[w] : 4;
	assert_int_equal(engines_counted(SW_ENET_C_CONNECTED), expected);
	assert_in_range(expected, 8, 12);
	node_free();
}

/* --- probes --- */

static uint32_t tell_node_state(uint32_t state)
{
	const struct msg_node_state body = {.state = state};
	struct msg_buffer message;

	for (uint32_t w = 0; w < node.workers; w++) {
		memcpy(msg_begin(message.slot, MSG_NODE_STATE, HANDLE_NONE, sizeof(body)), &body,
			sizeof(body));
		assert_true(msg_ring_push(node.links[w].from_control, message.slot));
	}
	return state;
}

/* Sends count probes to the port and takes the answers. Returns how many; *says: of the last. */
static uint32_t probe(uint32_t port, uint32_t count, uint8_t *says)
{
	static const uint8_t request[] = {0x3f, 0xff, SW_PROBE_REQUEST, 0, 1, 2, 3, 4};
	struct client prober = {
		.local = {.mac = {2, 0, 0, 0, 2, 0}, .ip = 0x0a000909, .udp_port = 9},
		.port = port};
	uint8_t bytes[2048];
	uint32_t answers = 0, n;

	for (uint32_t i = 0; i < count; i++)
		client_put(&prober, request, sizeof(request));
	turn(~0u);
	while ((n = ring_port_get(&node.wire[port], 0, bytes, sizeof(bytes)))) {
		const struct packet_frame frame = {.data = bytes, .bytes = n};
		struct packet packet;

		packet_parse(&frame, &prober.local, &packet);
		assert_int_equal(packet.kind, PACKET_UDP);
		*says = bytes[packet.payload_at + 3];
		answers++;
	}
	return answers;
}

static void few_probes(struct sw_config *config)
{
	config->dataplane.probes_per_s = 10;
	config->dataplane.probes_burst = 6;
}

static void the_node_answers_probes_as_configured(void **state)
{
	uint8_t says;

	(void)state;
	node_make_tuned("prb", 2, 2, 1, CONFIG_STEERING_AUTO, few_probes);
	assert_int_equal(probe(0, 4, &says) + probe(1, 4, &says), 6);
	assert_int_equal(counted_by_all(DP_C_PROBE_LIMITED), 2);
	node_free();
}

static void four_peers(struct sw_config *config)
{
	config->enet.peers_max = 4;
}

static void full_is_said_of_the_node(void **state)
{
	uint32_t living[2] = {0}, c = 0;
	uint8_t says;

	(void)state;
	node_make_tuned("full", 2, 1, 1, CONFIG_STEERING_AUTO, four_peers);
	tell_node_state(SW_NODE_READY);
	turns(1);
	/* The queue's own worker is full, the other is not; then both. */
	for (uint32_t full = 0; full < 2; full++) {
		assert_int_equal(probe(0, 1, &says), 1);
		assert_int_equal(says, SW_NODE_READY);
		for (; living[full] < 4; c++) {
			assert_in_range(c, 0, CLIENTS - 1);
			client_make(c, 0, 0);
			if (owner_of(c) != full)
				continue;
			client_connect(&node.client[c]);
			living[full]++;
			turns(6);
		}
		assert_int_equal(dp_worker_peers(node.worker[full]), 4);
		c = full ? c : 0;
	}
	assert_int_equal(probe(0, 1, &says), 1);
	assert_int_equal(says, SW_NODE_FULL);
	node_free();
}

int main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test(the_node_connects_as_configured),
		cmocka_unit_test(a_source_has_one_rate_on_all_workers),
		cmocka_unit_test(the_node_answers_probes_as_configured),
		cmocka_unit_test(full_is_said_of_the_node),
	};

	return cmocka_run_group_tests_name("node", tests, ring_port_eal, ring_port_eal_end);
}
