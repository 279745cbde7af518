/* stormweir-gen: ENet clients by the ten thousand from one core, on a DPDK port.
 *   stormweir-gen -l 1 --vdev=net_memif0,role=client,socket=/run/x.sock,socket-abstract=no -- \
 *       --port net_memif0 --tx-ip 10.78.1.2,10.78.1.1 --tx-udp 10000,7777 --clients 1000
 * Runs on EAL's main lcore. SIGINT and SIGTERM: clients leave, figures, exit 0. SIGUSR1, while a game is
 * played: the figures so far, and counting begins anew.
 *
 * On net_memif: DPDK 22.11's driver can crash the process that still polls while the far end exits.
 * Stop the server first, or run it with --interactive's order (perf/bench.c). */
#include <errno.h>
#include <signal.h>
#include <string.h>

#include "common/config.h"
#include "dataplane/eal.h"
#include "perf/gen/game_load.h"
#include "perf/gen/options.h"
#include "perf/gen/port_wire.h"
#include "perf/gen/raw.h"

static void on_signal(int number)
{
	(void)number;
	drive_stop();
}

static void on_mark(int number)
{
	(void)number;
	drive_mark();
}

static void port_config(const struct gen_options *options, struct sw_config *config)
{
	struct config_port *port = &config->ports[0];

	sw_config_defaults(config);
	config->dataplane.lcore_count = 1;
	config->dataplane.burst = options->burst;
	config->dataplane.udp_port = options->from_port;
	config->dataplane.mbufs = options->mbufs;
	config->port_count = 1;
	*port = (struct config_port){.queues = 1, .rxd = options->rxd, .txd = options->txd};
	snprintf(port->device, sizeof(port->device), "%s", options->port);
	snprintf(port->address, sizeof(port->address), "%s/24", options->from);
}

static int drive(const struct gen_options *options, const struct drive_load *load)
{
	if (!options->interactive)
		return drive_once(load, options->seconds, options->stats_period_s);
	printf("gen: ready\n");
	fflush(stdout);
	return drive_commands(load);
}

static int enet(const struct gen_options *options, struct dp_port *port)
{
	struct port_wire *wire = port_wire_new(options, port);
	struct drive_load load;
	struct flow_ops flow_ops;
	struct enet_wire ops;
	struct flow *flow;
	int status = 1;

	if (!wire)
		return 1;
	port_wire_ops(wire, &ops, &flow_ops);
	if (options->game) {
		if (port_wire_resolve(wire))
			status = game_run(options, &flow_ops, &ops);
		port_wire_free(wire);
		return status;
	}
	flow = flow_new(&options->flow, &flow_ops);
	if (!flow)
		fprintf(stderr, "gen: no memory for %u clients\n", options->flow.clients);
	if (flow && port_wire_resolve(wire)) {
		enet_load_init(&load, flow, &ops, options->flow.clients);
		status = drive(options, &load);
	}
	flow_free(flow);
	port_wire_free(wire);
	return status;
}

static int raw(const struct gen_options *options, struct dp_port *port)
{
	struct drive_load load;

	raw_load_init(&load, options, port);
	return drive(options, &load);
}

int main(int argc, char **argv)
{
	static struct gen_options options;
	static struct sw_config config;
	struct dp_port *port = NULL;
	int used, status = 1;

	/* --help needs no EAL. */
	for (int i = 1; i < argc; i++)
		if (!strcmp(argv[i], "--help") || !strcmp(argv[i], "-h"))
			return gen_options(&options, false, 2, (char *[]){argv[0], "--help", NULL},
				       stderr) < 0;
	used = dp_eal_init(argc, argv, stderr);
	if (used < 0)
		return 1;
	signal(SIGINT, on_signal);
	signal(SIGTERM, on_signal);
	signal(SIGUSR1, on_mark);
	if (!gen_options(&options, false, argc - used, argv + used, stderr)) {
		port_config(&options, &config);
		if (!dp_port_open(&config, 0, stderr, &port))
			status = options.raw ? raw(&options, port) : enet(&options, port);
	}
	dp_port_close(port);
	dp_eal_cleanup();
	return status;
}
