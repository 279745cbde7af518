/* stormweir: a table of contents. Load the configuration, reserve, connect the rings, start the
 * threads, run, stop in reverse. */
#include <errno.h>
#include <pthread.h>
#include <signal.h>
#include <stdio.h>
#include <stdlib.h>
#include <time.h>

#include <sodium.h>

#include "common/config.h"
#include "common/log.h"
#include "control/chat/chat.h"
#include "control/control.h"
#include "control/ops/ops.h"
#include "control/world/world.h"
#include "dataplane/eal.h"
#include "main/machine.h"
#include "main/options.h"

/* What is up, so that it can be taken down in reverse from wherever a start fails. */
struct server {
	struct sw_config config;
	struct machine machine;
	struct world *world;
	struct chat *chat;
	struct ctl *control;
	struct ops *ops;
	sigset_t signals;
};

static enum ops_level world_ops_health(void *ctx, char *sentence, size_t bytes)
{
	return world_health(ctx, sentence, bytes) ? OPS_GREEN : OPS_RED;
}

/* Signals that stop the server are blocked in every thread and taken by main alone (run). */
static void block_signals(sigset_t *signals)
{
	sigemptyset(signals);
	sigaddset(signals, SIGINT);
	sigaddset(signals, SIGTERM);
	sigaddset(signals, SIGHUP);
	pthread_sigmask(SIG_BLOCK, signals, NULL);
	signal(SIGPIPE, SIG_IGN);
}

static int start_log(struct server *server)
{
	struct msg_ring *rings[2 * CONFIG_LCORES_MAX];
	uint32_t count = machine_log_rings(&server->machine, rings);
	int rc = sw_log_start(rings, count);

	if (rc)
		fprintf(stderr, "stormweir: the log thread did not start\n");
	return rc;
}

static int start_world(struct server *server)
{
	struct world_links links;

	machine_world_links(&server->machine, &links);
	server->world = world_start(&server->config, &links, stderr);
	return server->world ? 0 : -EIO;
}

static enum ops_level chat_ops_health(void *ctx, char *sentence, size_t bytes)
{
	return chat_health(ctx, sentence, bytes) ? OPS_YELLOW : OPS_GREEN;
}

static int start_chat(struct server *server)
{
	struct chat_links links;

	machine_chat_links(&server->machine, &links);
	server->chat = chat_start(&server->config, &links, stderr);
	return server->chat ? 0 : -EIO;
}

static void order_answered(void *ctx, uint64_t subject)
{
	ops_order_answered(ctx, subject);
}

static int start_control(struct server *server)
{
	struct ctl_links links;

	machine_control_links(&server->machine, &links);
	server->ops = ops_new(); /* answers at the end of the start, but control knows it before */
	if (!server->ops)
		return -ENOMEM;
	links.order_answered = order_answered;
	links.order_ctx = server->ops;
	server->control = ctl_start(&server->config, &links, stderr);
	return server->control ? 0 : -EIO;
}

static int start_ops(struct server *server)
{
	struct histogram_ref refs[WORLD_HISTOGRAMS];

	machine_register(&server->machine, server->ops);
	ctl_register(server->control, server->ops);
	ops_register_counters(server->ops, world_counters(server->world));
	world_histograms(server->world, refs);
	for (uint32_t i = 0; i < WORLD_HISTOGRAMS; i++)
		ops_register_histogram(server->ops, &refs[i]);
	ops_register_counters(server->ops, chat_counters(server->chat));
	refs[0] = chat_histogram(server->chat);
	ops_register_histogram(server->ops, &refs[0]);
	ops_register_health(server->ops, "chat", chat_ops_health, server->chat);
	ops_register_health(server->ops, "postgres", world_ops_health, server->world);
	return ops_start(server->ops, &server->config, stderr);
}

/* The lcores run before control: a start that fails after control is up is stopped like any other,
 * and that needs shards that answer. Clients who come early wait in the ring to control. */
static int start(struct server *server, const char *config_path)
{
	int rc = machine_build(&server->machine, &server->config, config_path);

	if (!rc)
		rc = start_log(server);
	if (!rc)
		rc = start_world(server);
	if (!rc)
		rc = start_chat(server);
	if (!rc)
		rc = machine_start(&server->machine);
	if (!rc)
		rc = start_control(server);
	if (!rc)
		rc = start_ops(server);
	return rc;
}

static void run(struct server *server)
{
	const struct timespec look = {.tv_nsec = 100000000};
	int got;

	sw_log(SW_LOG_INFO, "main", "ready: node %s, UDP port %u, http://%s",
		server->config.node.name, server->config.dataplane.udp_port,
		server->config.http.address);
	do {
		got = sigtimedwait(&server->signals, NULL, &look);
		machine_tend(&server->machine);
	} while (got != SIGINT && got != SIGTERM);
	sw_log(SW_LOG_INFO, "main", "stopping: saving everyone");
}

/* In reverse: control saves everyone through shards and world, then the world, then the wire.
 * Returns how many saves and commits are not in PostgreSQL. */
static uint32_t stop(struct server *server)
{
	uint32_t unsaved = 0;

	if (server->control) {
		ctl_request_stop(server->control);
		while (!ctl_wait(server->control, 100))
			machine_tend(&server->machine);
		unsaved = ctl_join(server->control);
	}
	if (server->ops) {
		ops_stop(server->ops);
		ops_free(server->ops);
	}
	chat_stop(server->chat);
	machine_stop(&server->machine);
	if (server->world)
		world_stop(server->world);
	if (server->control)
		ctl_free(server->control);
	chat_free(server->chat);
	if (!server->control)
		sw_log(SW_LOG_INFO, "main", "not started");
	else if (unsaved)
		sw_log(SW_LOG_ERROR, "main", "stopped; saves and commits not in PostgreSQL: %u%s",
			unsaved,
			unsaved == UINT32_MAX ? " (a shard or PostgreSQL did not answer in time)"
					      : "");
	else
		sw_log(SW_LOG_INFO, "main", "stopped; everyone is saved");
	sw_log_stop();
	machine_free(&server->machine);
	return unsaved;
}

int main(int argc, char **argv)
{
	static struct server server; /* large; one per process, reached through main's calls only */
	struct options options;
	uint32_t unsaved;
	int rc;

	switch (options_parse(argc, argv, &options)) {
	case OPTIONS_DONE:
		return 0;
	case OPTIONS_WRONG:
		return 2;
	case OPTIONS_RUN:
		break;
	}
	if (sw_config_load(&server.config, options.config_path, stderr))
		return 2;
	if (sodium_init() < 0) {
		fprintf(stderr, "stormweir: libsodium has no source of randomness\n");
		return 1;
	}
	rc = sw_log_open(server.config.log.file, server.config.log.level);
	if (rc) {
		fprintf(stderr, "stormweir: log.file %s cannot be opened\n",
			server.config.log.file);
		return 1;
	}
	block_signals(&server.signals);
	if (dp_eal_init(options.eal_argc, options.eal_argv, stderr) < 0)
		return 1;
	rc = start(&server, options.config_path);
	if (!rc)
		run(&server);
	unsaved = stop(&server);
	dp_eal_cleanup();
	return rc || unsaved ? 1 : 0;
}
