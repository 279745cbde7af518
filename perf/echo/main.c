/* stormweir-echo: port and engine without the game, for protocol tests and benchmarks.
 *   stormweir-echo -l 0 --vdev=net_af_xdp0,iface=veth0,busy_budget=0 -- \
 *       --port net_af_xdp0 --address 10.78.1.1/24 --udp-port 7777
 * One worker per EAL lcore; a plain thread prints figures and looks after the ports. SIGINT and
 * SIGTERM: peers are told and drained, final figures, exit 0. SIGHUP: every port is reset, as when
 * a PF resets its VF. */
#include <errno.h>
#include <inttypes.h>
#include <pthread.h>
#include <signal.h>
#include <stdatomic.h>
#include <stdbool.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/random.h>
#include <time.h>

#include <rte_launch.h>
#include <rte_lcore.h>

#include "dataplane/counters.h"
#include "dataplane/eal.h"
#include "dataplane/enet/enet.h"
#include "dataplane/node.h"
#include "dataplane/port.h"
#include "perf/echo/echo.h"
#include "perf/echo/options.h"

static _Atomic bool stop;  /* the signal handler sets it, everyone reads */
static _Atomic bool reset; /* the signal handler sets it, the watcher takes it */

static struct {
	struct sw_config config;
	struct echo_benchmark benchmark;
	struct dp_port *ports[CONFIG_PORTS_MAX];
	struct dp_handoff *handoff;
	struct dp_node node;
	struct echo *echoes[CONFIG_LCORES_MAX];
	uint32_t port_count, echo_count;
	_Atomic bool finished;
} run;

static void on_signal(int number)
{
	atomic_store_explicit(number == SIGHUP ? &reset : &stop, true, memory_order_relaxed);
}

static uint64_t sum(uint32_t set, uint32_t counter)
{
	uint64_t total = 0;

	for (uint32_t e = 0; e < run.echo_count; e++)
		total += counter_get(&echo_counters(run.echoes[e])[set].values[counter]);
	return total;
}

/* Nobody is to take a benchmark for a server. */
static void warn_of_benchmark(FILE *out)
{
	if (run.benchmark.sessions)
		fprintf(out,
			"echo: WARNING: benchmark: %u sessions without a handshake on each worker; "
			"whoever sends from their addresses is they\n",
			run.benchmark.sessions);
}

static void print_all(void)
{
	warn_of_benchmark(stdout);
	for (uint32_t e = 0; e < run.echo_count; e++) {
		const struct counter_set *sets = echo_counters(run.echoes[e]);

		for (uint32_t s = 0; s < ECHO_COUNTER_SETS; s++)
			for (uint32_t c = 0; c < sets[s].count; c++)
				if (counter_get(&sets[s].values[c]))
					printf("%s %u %s %" PRIu64 "\n", sets[s].group,
						sets[s].index, sets[s].desc[c].name,
						counter_get(&sets[s].values[c]));
	}
	for (uint32_t e = 0; e < run.echo_count; e++) {
		uint64_t frames =
			counter_get(&echo_counters(run.echoes[e])[0].values[DP_C_RX_PACKETS]);

		printf("worker %u: busy %" PRIu64 " ms, %" PRIu64 " ns a received frame\n", e,
			echo_busy_ns(run.echoes[e]) / 1000000,
			frames ? echo_busy_ns(run.echoes[e]) / frames : 0);
	}
	for (uint32_t p = 0; p < run.port_count; p++) {
		struct dp_port_losses losses;

		dp_port_losses(run.ports[p], &losses);
		printf("port %s: %" PRIu64 " frames lost for want of buffers, %" PRIu64
		       " in a full ring\n",
			run.ports[p]->name, losses.no_mbuf, losses.missed);
	}
	fflush(stdout);
}

/* Figures of each period, and port resets; no lcore. */
static void *watch(void *unused)
{
	const struct timespec tenth = {.tv_nsec = 100000000};
	uint64_t rx = 0, tx = 0;

	for (uint32_t tenths = 1; !atomic_load(&run.finished); tenths++) {
		bool ask;

		nanosleep(&tenth, NULL);
		ask = atomic_exchange(&reset, false);
		for (uint32_t p = 0; p < run.port_count; p++) {
			if (ask)
				dp_port_ask_reset(run.ports[p]);
			dp_port_maintain(run.ports[p], stderr);
		}
		if (run.config.dataplane.stats_period_s &&
			tenths % (10 * run.config.dataplane.stats_period_s) == 0) {
			uint64_t rx_now = sum(0, DP_C_RX_PACKETS), tx_now = sum(0, DP_C_TX_PACKETS);

			printf("peers %" PRIu64 " (%" PRIu64
			       " without handshake), received %" PRIu64 "/s, sent %" PRIu64 "/s\n",
				sum(1, SW_ENET_C_PEERS), sum(1, SW_ENET_C_PRESET_PEERS),
				(rx_now - rx) / run.config.dataplane.stats_period_s,
				(tx_now - tx) / run.config.dataplane.stats_period_s);
			fflush(stdout);
			rx = rx_now;
			tx = tx_now;
		}
	}
	return unused;
}

static int lcore_main(void *unused)
{
	uint32_t index = (uint32_t)rte_lcore_index((int)rte_lcore_id());

	(void)unused;
	if (index < run.echo_count)
		echo_run(run.echoes[index], &stop);
	return 0;
}

static int open_all(void)
{
	uint8_t key[16];

	if (getrandom(key, sizeof(key), 0) != (ssize_t)sizeof(key))
		return -errno;
	run.config.dataplane.lcore_count = rte_lcore_count();
	for (uint32_t p = 0; p < run.config.port_count; p++) {
		int ret = dp_port_open(&run.config, p, stderr, &run.ports[p]);

		if (ret)
			return ret;
		run.port_count++;
	}
	if (dp_handoff_new(&run.config, run.ports, run.port_count, key, &run.handoff))
		return -ENOMEM;
	for (uint32_t e = 0; e < run.config.dataplane.lcore_count; e++) {
		run.echoes[e] = echo_new(
			&run.config, e, run.ports, run.port_count, key, run.handoff, &run.node);
		if (!run.echoes[e])
			return -ENOMEM;
		run.echo_count++;
		if (echo_benchmark(run.echoes[e], &run.benchmark))
			return -ENOMEM;
	}
	return 0;
}

static void close_all(void)
{
	for (uint32_t e = 0; e < run.echo_count; e++)
		echo_free(run.echoes[e]);
	dp_handoff_free(run.handoff);
	for (uint32_t p = 0; p < run.port_count; p++)
		dp_port_close(run.ports[p]);
}

static void serve(void)
{
	pthread_t watcher;
	bool watched = pthread_create(&watcher, NULL, watch, NULL) == 0;

	warn_of_benchmark(stderr);
	printf("echo: ready on port %u\n", run.config.dataplane.udp_port);
	fflush(stdout);
	rte_eal_mp_remote_launch(lcore_main, NULL, CALL_MAIN);
	rte_eal_mp_wait_lcore();
	atomic_store(&run.finished, true);
	if (watched)
		pthread_join(watcher, NULL);
	print_all();
}

int main(int argc, char **argv)
{
	struct sigaction action = {.sa_handler = on_signal};
	int used, ret;

	/* --help needs no EAL. */
	for (int i = 1; i < argc; i++)
		if (!strcmp(argv[i], "--help") || !strcmp(argv[i], "-h"))
			return echo_options(&run.config, &run.benchmark, 2,
				       (char *[]){argv[0], "--help", NULL}, stderr) < 0;
	used = dp_eal_init(argc, argv, stderr);
	if (used < 0)
		return 1;
	sigaction(SIGINT, &action, NULL);
	sigaction(SIGTERM, &action, NULL);
	sigaction(SIGHUP, &action, NULL);
	ret = echo_options(&run.config, &run.benchmark, argc - used, argv + used, stderr);
	if (!ret)
		ret = open_all();
	if (!ret)
		serve();
	close_all();
	dp_eal_cleanup();
	return ret != 0;
}
