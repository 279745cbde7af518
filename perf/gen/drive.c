#include <inttypes.h>
#include <signal.h>
#include <string.h>

#include "common/mono.h"
#include "perf/gen/drive.h"

#define DRAIN_NS (20 * NS_PER_MS)

static volatile sig_atomic_t stop, mark;

void drive_stop(void)
{
	stop = 1;
}

bool drive_stopped(void)
{
	return stop;
}

void drive_mark(void)
{
	mark = 1;
}

bool drive_marked(void)
{
	bool marked = mark;

	mark = 0;
	return marked;
}

/* Turns until end_ns; returns the time of turns that found nothing to do. */
static uint64_t turns(const struct drive_load *load, uint64_t end_ns)
{
	uint64_t now_ns = mono_ns(), idle_ns = 0;

	while (now_ns < end_ns && !stop) {
		bool work = load->turn(load->ctx, now_ns);
		uint64_t then_ns = now_ns;

		now_ns = mono_ns();
		if (!work)
			idle_ns += now_ns - then_ns;
	}
	return idle_ns;
}

static void drain(const struct drive_load *load)
{
	uint64_t now_ns = mono_ns(), end_ns = now_ns + DRAIN_NS;

	load->send(load->ctx, false, now_ns);
	while (load->out(load->ctx) && now_ns < end_ns) {
		load->turn(load->ctx, now_ns);
		now_ns = mono_ns();
	}
	/* The last acknowledgements leave. */
	load->turn(load->ctx, now_ns);
}

static void run_turn(const struct drive_load *load, uint32_t warm_ms, uint32_t ms)
{
	struct latency *latency = load->latency(load->ctx);
	struct drive_totals begin, before, after, end;
	uint64_t start_ns = mono_ns(), wall_ns, idle_ns, p50_ns, p99_ns;

	load->totals(load->ctx, &begin);
	load->send(load->ctx, true, start_ns);
	turns(load, start_ns + warm_ms * NS_PER_MS);
	load->totals(load->ctx, &before);
	latency_clear(latency);
	start_ns = mono_ns();
	idle_ns = turns(load, start_ns + ms * NS_PER_MS);
	wall_ns = mono_ns() - start_ns;
	load->totals(load->ctx, &after);
	p50_ns = latency_quantile_ns(latency, 0.5);
	p99_ns = latency_quantile_ns(latency, 0.99);
	drain(load);
	load->totals(load->ctx, &end);
	printf("turn wall_ns %" PRIu64 " sent %" PRIu64 " received %" PRIu64 " lost %" PRIu64
	       " all %" PRIu64 " idle_ns %" PRIu64 " p50_ns %" PRIu64 " p99_ns %" PRIu64 "\n",
		wall_ns, after.sent - before.sent, after.received - before.received,
		end.lost - begin.lost, end.received - begin.received, idle_ns, p50_ns, p99_ns);
}

int drive_commands(const struct drive_load *load)
{
	char line[128];

	while (!stop && fgets(line, sizeof(line), stdin)) {
		uint32_t warm_ms, ms;

		if (!strcmp(line, "connect\n")) {
			printf(load->connect(load->ctx) ? "connected\n" : "failed\n");
		} else if (sscanf(line, "run %" SCNu32 " %" SCNu32, &warm_ms, &ms) == 2) {
			run_turn(load, warm_ms, ms);
		} else if (!strcmp(line, "leave\n")) {
			load->leave(load->ctx);
			printf("left\n");
		} else {
			printf("unknown\n");
		}
		fflush(stdout);
	}
	load->report(load->ctx, stderr);
	return 0;
}

static void print_latency(const struct latency *latency)
{
	static const double shares[] = {0.5, 0.9, 0.99, 0.999, 0.9999};

	printf("latency us:");
	for (uint32_t i = 0; i < sizeof(shares) / sizeof(shares[0]); i++)
		printf(" p%g %.1f", shares[i] * 100,
			(double)latency_quantile_ns(latency, shares[i]) / 1000);
	printf(" max %.1f\n", (double)latency->max_ns / 1000);
}

static void print_period(
	const struct drive_totals *now, const struct drive_totals *before, double seconds)
{
	printf("%.0f messages/s, %" PRIu64 " lost\n",
		(double)(now->received - before->received) / seconds, now->lost - before->lost);
	fflush(stdout);
}

int drive_once(const struct drive_load *load, uint32_t seconds, uint32_t stats_period_s)
{
	const struct drive_totals zero = {0};
	struct drive_totals before = {0}, now;
	uint64_t start_ns, end_ns, now_ns, period_ns, idle_ns = 0;
	double wall_s;

	if (!load->connect(load->ctx))
		return 1;
	start_ns = now_ns = period_ns = mono_ns();
	end_ns = seconds ? start_ns + seconds * NS_PER_S : UINT64_MAX;
	load->send(load->ctx, true, start_ns);
	while (now_ns < end_ns && !stop && !load->finished(load->ctx)) {
		/* A tenth of a second at a time, to see the end of a count. */
		idle_ns += turns(
			load, now_ns + NS_PER_S / 10 < end_ns ? now_ns + NS_PER_S / 10 : end_ns);
		now_ns = mono_ns();
		if (!stats_period_s || now_ns - period_ns < stats_period_s * NS_PER_S)
			continue;
		load->totals(load->ctx, &now);
		print_period(&now, &before, (double)(now_ns - period_ns) / 1e9);
		before = now;
		period_ns = now_ns;
	}
	wall_s = (double)(now_ns - start_ns) / 1e9;
	drain(load);
	load->totals(load->ctx, &now);
	printf("%.3f s, generator idle %.0f %%; ", wall_s, (double)idle_ns / wall_s / 1e7);
	print_period(&now, &zero, wall_s);
	print_latency(load->latency(load->ctx));
	load->leave(load->ctx);
	load->report(load->ctx, stdout);
	return now.received ? 0 : 1;
}
