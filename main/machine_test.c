/* Proves which lcore runs what for each shape of a configuration: one and two workers, alone or
 * fused with a shard, more shards than workers and fewer. Each machine is built and run as the
 * program does it, on EAL lcores: clients come in by the port and live on all workers, control
 * hears of each, and every shard answers what control sends. What cannot run is refused with a
 * sentence that says what to change. */
#include <time.h>

#include <rte_lcore.h>

#include <sodium.h>

#include "common/handle.h"
#include "common/mono.h"
#include "common/msg_ring.h"
#include "dataplane/counters.h"
#include "dataplane/lean_client.h"
#include "dataplane/port.h"
#include "dataplane/ring_port.h"
#include "dataplane/worker.h"
#include "main/machine.h"
#include "simulation/counters.h"
#include "simulation/shard.h"

#define CLIENTS 16u
#define WAIT_NS (20ull * NS_PER_S)

static struct machine machine; /* large */
static struct sw_config config;
static struct ring_port wire;
static struct packet_local local[CLIENTS];
static struct lean_client client[CLIENTS];

static void configure(const char *name, const uint32_t *workers, const uint32_t *shards)
{
	ring_port_config(&config, name, 1);
	config.dataplane.idle = CONFIG_IDLE_ADAPTIVE;
	config.dataplane.lcore_count = config.simulation.lcore_count = 0;
	for (; workers[config.dataplane.lcore_count]; config.dataplane.lcore_count++)
		config.dataplane.lcores[config.dataplane.lcore_count] =
			workers[config.dataplane.lcore_count];
	for (; shards[config.simulation.lcore_count]; config.simulation.lcore_count++)
		config.simulation.lcores[config.simulation.lcore_count] =
			shards[config.simulation.lcore_count];
	config.enet.peers_max = 64;
	config.enet.half_open_max = 64;
	config.enet.pool_bytes = 1 << 20;
	config.enet.peer_hold_bytes = 8192;
	config.rings.slots = 1024;
	config.simulation.players_max = 16;
	config.map_count = 1;
	config.maps[0] = (struct config_map){.name = "meadow",
		.width_m = 500,
		.height_m = 500,
		.tick_hz = 20,
		.players_max = 10,
		.instances_max = 2,
		.view_m = 40,
		.shard = CONFIG_SHARD_ANY};
}

/* --- clients --- */

static void put(uint32_t c, const uint8_t *datagram, uint32_t bytes)
{
	const struct packet_local *server = &machine.port[0]->local;
	struct packet_link link;
	uint8_t frame[2048];

	packet_link_build(&link, &local[c], server->mac, server->ip, server->udp_port);
	memcpy(frame + link.bytes, datagram, bytes);
	ring_port_put(&wire, 0, frame, packet_link_write(&link, frame, bytes, 1, false));
}

/* Answers until all are connected, and control has heard of as many from every worker as it has
 * peers. */
static void clients_come(const char *name)
{
	uint32_t heard[CONFIG_LCORES_MAX] = {0}, sum = 0;
	uint64_t end_ns = mono_ns() + WAIT_NS;
	uint8_t bytes[2048], out[LEAN_OUT_BYTES];
	struct msg popped[2 * MSG_SLOTS_MAX] __attribute__((aligned(64)));

	memset(client, 0, sizeof(client));
	for (uint32_t c = 0; c < CLIENTS; c++) {
		local[c] = (struct packet_local){.mac = {2, 0, 0, 0, 1, (uint8_t)c},
			.ip = 0x0a000064u + c,
			.udp_port = (uint16_t)(40000 + c)};
		put(c, out, lean_connect(&client[c], local[c].ip, 5, 77, 1000, out));
	}
	while (sum < CLIENTS) {
		uint32_t n;

		if (mono_ns() > end_ns)
			fail_msg("%s: control heard of %u of %u clients", name, sum, CLIENTS);
		while ((n = ring_port_get(&wire, 0, bytes, sizeof(bytes)))) {
			const struct packet_frame frame = {.data = bytes, .bytes = n};
			const struct lean_sink sink = {.ctx = NULL};
			uint32_t c = bytes[5], answer;
			struct packet packet;

			packet_parse(&frame, &local[c], &packet);
			answer = lean_read(&client[c], bytes + packet.payload_at,
				packet.payload_bytes, &sink, (uint32_t)(mono_ns() / NS_PER_MS),
				out);
			if (answer)
				put(c, out, answer);
		}
		for (uint32_t w = 0; w < machine.workers; w++) {
			n = msg_ring_pop(machine.worker_to_control[w], popped, 2 * MSG_SLOTS_MAX);
			for (uint32_t at = 0; at < n; at += popped[at].slots) {
				if (popped[at].type != MSG_PEER_CONNECTED)
					continue;
				assert_int_equal(handle_owner(popped[at].peer), w);
				heard[w]++;
				sum++;
			}
		}
		nanosleep(&(struct timespec){.tv_nsec = 1000000}, NULL);
	}
	for (uint32_t w = 0; w < machine.workers; w++) {
		if (!heard[w])
			fail_msg("%s: worker %u has no client", name, w);
		assert_int_equal(dp_worker_peers(machine.worker[w]), heard[w]);
	}
}

/* Else a stop would wait for them a second. */
static void clients_go(const char *name)
{
	uint64_t end_ns = mono_ns() + WAIT_NS;
	uint8_t out[LEAN_OUT_BYTES];

	for (uint32_t c = 0; c < CLIENTS; c++)
		put(c, out, lean_disconnect(&client[c], 0, (uint32_t)(mono_ns() / NS_PER_MS), out));
	for (uint32_t w = 0; w < machine.workers; w++) {
		while (dp_worker_peers(machine.worker[w])) {
			if (mono_ns() > end_ns)
				fail_msg("%s: worker %u keeps its clients", name, w);
			nanosleep(&(struct timespec){.tv_nsec = 1000000}, NULL);
		}
	}
}

/* A message that no shard knows is counted by each that gets it. */
static void shards_listen(const char *name)
{
	uint64_t end_ns = mono_ns() + WAIT_NS;
	struct msg_buffer message;

	for (uint32_t s = 0; s < machine.shards; s++) {
		const struct counter_set *set = sim_shard_counters(machine.shard[s]);
		uint64_t before = counter_get(&set->values[SIM_MESSAGES_UNKNOWN]);

		msg_begin(message.slot, MSG_NONE, HANDLE_NONE, 0);
		assert_true(msg_ring_push(machine.control_to_shard[s], message.slot));
		while (counter_get(&set->values[SIM_MESSAGES_UNKNOWN]) == before) {
			if (mono_ns() > end_ns)
				fail_msg("%s: shard %u does not run", name, s);
			nanosleep(&(struct timespec){.tv_nsec = 1000000}, NULL);
		}
	}
}

/* --- what runs where --- */

#define NONE UINT32_MAX

static const struct shape {
	const char *name;
	uint32_t workers[4], shards[4]; /* lcores, 0 ends */
	uint32_t lcores;
	struct {
		uint32_t id, worker, shard;
	} on[4];
} shapes[] = {
	{"1fused", {1}, {1}, 1, {{1, 0, 0}}},
	{"1apart", {1}, {2}, 2, {{1, 0, NONE}, {2, NONE, 0}}},
	{"2fused", {1, 2}, {1, 2}, 2, {{1, 0, 0}, {2, 1, 1}}},
	{"2crossed", {1, 2}, {2, 1}, 2, {{1, 0, 1}, {2, 1, 0}}},
	{"1w2s", {1}, {2, 3}, 3, {{1, 0, NONE}, {2, NONE, 0}, {3, NONE, 1}}},
	{"1w2sfused", {1}, {1, 2}, 2, {{1, 0, 0}, {2, NONE, 1}}},
	{"2w1s", {1, 2}, {3}, 3, {{1, 0, NONE}, {2, 1, NONE}, {3, NONE, 0}}},
	{"2w1sfused", {2, 1}, {1}, 2, {{2, 0, NONE}, {1, 1, 0}}},
};

static void each_shape_runs(void **state)
{
	(void)state;
	for (uint32_t i = 0; i < sizeof(shapes) / sizeof(shapes[0]); i++) {
		const struct shape *shape = &shapes[i];

		ring_port_make(&wire, shape->name, 1);
		configure(shape->name, shape->workers, shape->shards);
		assert_int_equal(machine_build(&machine, &config, "machine_test"), 0);
		assert_int_equal(machine.lcores, shape->lcores);
		for (uint32_t n = 0; n < shape->lcores; n++) {
			const struct lcore *core = &machine.lcore[n];

			assert_int_equal(core->id, shape->on[n].id);
			assert_ptr_equal(core->worker,
				shape->on[n].worker == NONE ? NULL
							    : machine.worker[shape->on[n].worker]);
			assert_ptr_equal(core->shard, shape->on[n].shard == NONE
							      ? NULL
							      : machine.shard[shape->on[n].shard]);
		}
		assert_int_equal(machine_start(&machine), 0);
		clients_come(shape->name);
		shards_listen(shape->name);
		clients_go(shape->name);
		machine_stop(&machine);
		machine_free(&machine);
		ring_port_free(&wire);
	}
}

/* --- what is refused --- */

static void main_lcore(void)
{
	config.dataplane.lcores[0] = 0;
}

static void shard_on_main_lcore(void)
{
	config.simulation.lcores[0] = 0;
}

static void unknown_lcore(void)
{
	config.simulation.lcores[0] = 9;
}

static void more_workers_than_queues(void)
{
	config.dataplane.lcores[1] = 2;
	config.dataplane.lcore_count = 2;
	config.ports[0].steering = CONFIG_STEERING_PORT;
}

static void more_queues_than_the_port_has(void)
{
	config.ports[0].queues = 8;
}

static void no_port(void)
{
	snprintf(config.ports[0].device, sizeof(config.ports[0].device), "net_memif7");
}

static const struct {
	const char *name;
	void (*spoil)(void);
	const char *says;
} refusals[] = {
	{"ref0", main_lcore,
		"dataplane.lcores: lcore 0 is EAL's main lcore, where the control threads "
		"run; use another, or choose the main one with --main-lcore"},
	{"ref1", shard_on_main_lcore, "simulation.lcores: lcore 0 is EAL's main lcore"},
	{"ref2", unknown_lcore,
		"simulation.lcores: EAL has no lcore 9; name it before the --, with -l or "
		"--lcores"},
	{"ref3", more_workers_than_queues,
		"worker 1 has no queue: 2 lcores share the ports' queues; lower dataplane.lcores, "
		"raise ports[].queues, or set ports[].steering to auto or software"},
	{"ref4", more_queues_than_the_port_has,
		"8 queue pairs are asked for, this port has 1 at most"},
	{"ref5", no_port, "--vdev=net_memif7"},
};

static void what_cannot_run_is_refused(void **state)
{
	static const uint32_t one[] = {1, 0};
	char text[4096];

	(void)state;
	for (uint32_t i = 0; i < sizeof(refusals) / sizeof(refusals[0]); i++) {
		FILE *said = tmpfile();
		int old = dup(STDERR_FILENO), rc;
		size_t n;

		assert_non_null(said);
		ring_port_make(&wire, refusals[i].name, 1);
		configure(refusals[i].name, one, one);
		refusals[i].spoil();
		fflush(stderr);
		dup2(fileno(said), STDERR_FILENO);
		rc = machine_build(&machine, &config, "machine_test");
		fflush(stderr);
		dup2(old, STDERR_FILENO);
		close(old);
		machine_free(&machine);
		rewind(said);
		n = fread(text, 1, sizeof(text) - 1, said);
		text[n] = 0;
		fclose(said);
		if (!rc || !strstr(text, refusals[i].says))
			fail_msg("%s: %d, and said: %s", refusals[i].name, rc, text);
		ring_port_free(&wire);
	}
}

/* Four lcores on the CPUs that there are; the first is the main one. */
static int eal(void **state)
{
	char prefix[64];
	char *argv[] = {"test", "--no-huge", "--no-shconf", "--no-pci", "-m", "256", "--lcores",
		"0@0,1@0,2@0,3@0", "--log-level", "error", "--no-telemetry", prefix, NULL};

	(void)state;
	snprintf(prefix, sizeof(prefix), "--file-prefix=sw_test_%d", (int)getpid());
	return sodium_init() < 0 ||
	       dp_eal_init((int)(sizeof(argv) / sizeof(argv[0])) - 1, argv, stderr) < 0;
}

int main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test(each_shape_runs),
		cmocka_unit_test(what_cannot_run_is_refused),
	};

	return cmocka_run_group_tests_name("machine", tests, eal, ring_port_eal_end);
}
