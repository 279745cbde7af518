#include <inttypes.h>
#include <stdio.h>
#include <sys/prctl.h>
#include <time.h>
#include <unistd.h>

#include "common/mono.h"
#include "perf/gen/drive.h"
#include "perf/gen/game_load.h"

struct run {
	struct game *game;
	struct enet_wire wire;
	uint64_t idle_ns;
	/* What is counted, from when: NULL until it is. */
	struct game_counters *from;
	uint64_t from_ns;
	enum { NO_STORM, STORM_WAITS, STORM, STORM_OVER } storm;
	uint32_t chat_rate; /* lines a second in every other stretch between marks */
	bool chatting;
};

static void marked(struct run *run);
static void storm_over(struct run *run);

static void datagram(
	void *ctx, uint32_t client, const uint8_t *data, uint32_t bytes, uint64_t now_ns)
{
	game_receive(ctx, client, data, bytes, now_ns);
}

/* The server's control threads and databases may have to share this CPU: a turn without work leaves
 * it to them for a moment, much shorter than what the rings hold. */
static void rest(void)
{
	const struct timespec moment = {.tv_nsec = 20000};

	nanosleep(&moment, NULL);
}

/* Until end_ns, until all have come in when the end is 0, or a signal. */
static void turns(struct run *run, uint64_t end_ns)
{
	const struct wire_sink sink = {.ctx = run->game, .datagram = datagram};
	uint64_t now_ns = mono_ns();

	while (!drive_stopped() && (end_ns ? now_ns < end_ns : game_waiting(run->game) != 0)) {
		uint64_t before_ns = now_ns;
		bool work = run->wire.receive(run->wire.ctx, &sink, now_ns);

		game_step(run->game, run->wire.room(run->wire.ctx), now_ns);
		work |= run->wire.flush(run->wire.ctx) != 0;
		if (!work)
			rest();
		now_ns = mono_ns();
		if (!work)
			run->idle_ns += now_ns - before_ns;
		if (drive_marked() && run->from)
			marked(run);
		if (run->storm == STORM && game_waiting(run->game) == 0)
			storm_over(run);
	}
}

static void report(const struct run *run, const struct game_counters *from, double seconds)
{
	const struct game_counters *now = game_counters(run->game);
	const struct latency *latency = game_latency(run->game);
	const struct latency *storm = game_storm_latency(run->game);

	printf("players %u\nseconds %.3f\nidle_percent %.1f\n", game_playing(run->game), seconds,
		(double)run->idle_ns / seconds / 1e7);
	printf("heard_p50_ms %.2f\nheard_p99_ms %.2f\n",
		(double)latency_quantile_ns(latency, 0.5) / 1e6,
		(double)latency_quantile_ns(latency, 0.99) / 1e6);
#define PRINT(name, help) printf("%s %" PRIu64 "\n", #name, now->name - from->name);
	GAME_COUNTERS(PRINT)
#undef PRINT
	if (run->storm != NO_STORM)
		printf("storm_in %" PRIu64 "\nstorm_p50_s %.2f\nstorm_last_s %.2f\n", storm->count,
			(double)latency_quantile_ns(storm, 0.5) / 1e9, (double)storm->max_ns / 1e9);
	printf("last_reason %u\n", game_last_reason(run->game));
	run->wire.report(run->wire.ctx, stdout);
}

/* SIGUSR1: the figures so far, and from here on others. */
static void marked(struct run *run)
{
	uint64_t now_ns = mono_ns();

	report(run, run->from, (double)(now_ns - run->from_ns) / 1e9);
	printf("gen: mark\n");
	fflush(stdout);
	*run->from = *game_counters(run->game);
	run->from_ns = now_ns;
	latency_clear(game_latency(run->game));
	run->idle_ns = 0;
	run->chatting = run->chat_rate && !run->chatting;
	game_chat(run->game, run->chatting ? run->chat_rate : 0, now_ns);
	if (run->storm == STORM_WAITS) {
		run->storm = STORM;
		game_storm(run->game, now_ns);
	}
}

static void storm_over(struct run *run)
{
	run->storm = STORM_OVER;
	printf("gen: storm over\n");
	fflush(stdout);
}

static void done(void)
{
	printf("gen: done\n");
	fflush(stdout);
}

static void leave(struct run *run)
{
	const struct wire_sink sink = {.ctx = run->game, .datagram = datagram};
	uint64_t end_ns = mono_ns() + 2 * NS_PER_S;
	uint32_t from = 0;
	bool more = true;

	while (more && mono_ns() < end_ns) {
		uint64_t now_ns = mono_ns();

		run->wire.receive(run->wire.ctx, &sink, now_ns);
		more = game_disconnect(run->game, &from, run->wire.room(run->wire.ctx), now_ns);
		run->wire.flush(run->wire.ctx);
	}
}

static int play(struct run *run, const struct gen_options *options)
{
	const struct game_counters *counters = game_counters(run->game);
	struct game_counters before;
	uint64_t begin_ns = mono_ns();
	int status = 0;

	prctl(PR_SET_TIMERSLACK, 1000ul);
	turns(run, 0);
	printf("gen: %" PRIu64 " logins in %.1f s\n", counters->joined,
		(double)(mono_ns() - begin_ns) / 1e9);
	fflush(stdout);
	if (counters->joined < options->flow.clients - options->storm) {
		fprintf(stderr,
			"gen: %" PRIu64 " of %u players came in; %" PRIu64
			" were refused (reason %u), %" PRIu64 " had no answer\n",
			counters->joined, options->flow.clients - options->storm, counters->refused,
			game_last_reason(run->game), counters->unanswered);
		report(run, &(struct game_counters){0}, (double)(mono_ns() - begin_ns) / 1e9);
		done();
		status = 1;
	} else {
		turns(run, mono_ns() + options->settle_s * NS_PER_S);
		before = *counters;
		latency_clear(game_latency(run->game));
		run->idle_ns = 0;
		printf("gen: playing %u\n", game_playing(run->game));
		fflush(stdout);
		run->from = &before;
		run->from_ns = mono_ns();
		turns(run,
			options->seconds ? run->from_ns + options->seconds * NS_PER_S : UINT64_MAX);
		report(run, &before, (double)(mono_ns() - run->from_ns) / 1e9);
		run->from = NULL;
		done();
	}
	turns(run, status ? mono_ns() : UINT64_MAX);
	leave(run);
	printf("gen: left\n");
	fflush(stdout);
	pause();
	return status;
}

int game_run(const struct gen_options *options, const struct flow_ops *flow_ops,
	const struct enet_wire *wire)
{
	struct game_config config = {.clients = options->flow.clients,
		.ids = options->flow.ids,
		.login_rate = options->login_rate,
		.storm = options->storm,
		.storm_rate = options->storm_rate,
		.give_up_s = options->give_up_s,
		.hz = options->hz,
		.seed = options->flow.seed,
		.walk = options->walk};
	struct game_tickets tickets;
	struct run run = {.wire = *wire,
		.storm = options->storm ? STORM_WAITS : NO_STORM,
		.chat_rate = options->chat_rate};
	int status = 1;

	if (!game_tickets_load(&tickets, options->tickets, config.clients))
		return 1;
	config.tickets = &tickets;
	run.game = game_new(&config, flow_ops);
	if (run.game)
		status = play(&run, options);
	else
		fprintf(stderr, "gen: no memory for %u players\n", config.clients);
	game_free(run.game);
	game_tickets_free(&tickets);
	return status;
}
