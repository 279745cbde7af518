/* W9: 1,000 NPCs whose on_tick runs each tick, in the server's VM with all limits on, against the same
 * handlers in the stock interpreter (stock.lua), in turns.
 *
 *   stormweir-bench-script FOLDER COMMIT [ROUNDS [TICKS]]      FOLDER: of w9.lua and stock.lua
 *
 * Both sides are measured in CPU time of what runs the handlers; ours has its collector's steps in it and the
 * watchdog beside it. The last line is one JSON object. */
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <time.h>

#include "simulation/script/script.h"

#define NPCS       1000u
#define ROUNDS_MAX 64u
#define TICK_US    50000.0 /* of 20 a second */

struct bench {
	struct script_vm *vm;
	struct script_watchdog *watchdog;
	uint32_t tick, moves;
};

static bool actor(void *ctx, uint64_t handle, struct script_actor *out)
{
	(void)ctx;
	memset(out, 0, sizeof(*out));
	out->kind = SCRIPT_ACTOR_NPC;
	out->x_mm = (int32_t)(handle % 100) * 1000;
	out->y_mm = (int32_t)(handle / 100) * 1000;
	return true;
}

static void move(void *ctx, uint64_t npc, int8_t dx, int8_t dy)
{
	struct bench *bench = ctx;

	(void)npc;
	(void)dx;
	(void)dy;
	bench->moves++;
}

static uint32_t tick(void *ctx)
{
	return ((struct bench *)ctx)->tick;
}

static const struct script_ops ops = {.actor = actor, .move = move, .tick = tick};

static double cpu_s(void)
{
	struct timespec now;

	clock_gettime(CLOCK_THREAD_CPUTIME_ID, &now);
	return (double)now.tv_sec + (double)now.tv_nsec / 1e9;
}

static bool start(struct bench *bench, const char *folder)
{
	static char text[SCRIPT_SOURCE_MAX], error[SCRIPT_TEXT_BYTES], path[512];
	struct script_config config;
	size_t bytes;
	FILE *file;

	snprintf(path, sizeof(path), "%s/w9.lua", folder);
	file = fopen(path, "rb");
	if (!file) {
		fprintf(stderr, "W9: %s cannot be read\n", path);
		return false;
	}
	bytes = fread(text, 1, sizeof(text), file);
	fclose(file);
	script_config_defaults(&config);
	snprintf(config.map, sizeof(config.map), "w9");
	if (script_watchdog_start(&config.watchdog, SCRIPT_WATCHDOG_PERIOD_US) ||
		script_vm_new(&bench->vm, &config, &ops, bench)) {
		fprintf(stderr, "W9: no memory or no thread\n");
		return false;
	}
	bench->watchdog = config.watchdog;
	if (script_vm_load(bench->vm, path, text, bytes, error, sizeof(error)) != SCRIPT_OK ||
		script_vm_npc_count(bench->vm) != NPCS) {
		fprintf(stderr, "W9: %s\n", error);
		return false;
	}
	for (uint32_t i = 0; i < NPCS; i++)
		script_vm_bind(bench->vm, i, i + 1);
	script_vm_own(bench->vm);
	return true;
}

/* Seconds of CPU for so many ticks; below 0: a handler failed. *worst_s: the longest tick. */
static double ours(struct bench *bench, uint32_t ticks, double *worst_s)
{
	double begin = cpu_s(), last = begin;

	for (uint32_t t = 0; t < ticks; t++, bench->tick++) {
		double now;

		script_vm_budget(bench->vm, 1000000);
		for (uint32_t i = 0; i < NPCS; i++) {
			enum script_result result = script_vm_tick(bench->vm, i);

			/* A slice may end in it where the machine is busy. */
			while (result == SCRIPT_SUSPENDED)
				result = script_vm_tick(bench->vm, i);
			if (result != SCRIPT_OK)
				return -1;
		}
		script_vm_gc(bench->vm);
		now = cpu_s();
		if (now - last > *worst_s)
			*worst_s = now - last;
		last = now;
	}
	return cpu_s() - begin;
}

static double stock(const char *folder, uint32_t ticks)
{
	char command[1200];
	double seconds = -1;
	FILE *pipe;

	snprintf(command, sizeof(command), "lua5.4 '%s/stock.lua' '%s/w9.lua' %u", folder, folder,
		ticks);
	pipe = popen(command, "r");
	if (!pipe)
		return -1;
	if (fscanf(pipe, "%lf", &seconds) != 1)
		seconds = -1;
	return pclose(pipe) == 0 ? seconds : -1;
}

static int rising(const void *a, const void *b)
{
	double x = *(const double *)a, y = *(const double *)b;

	return (x > y) - (x < y);
}

int main(int argc, char **argv)
{
	uint32_t rounds = argc > 3 ? (uint32_t)atoi(argv[3]) : 9;
	uint32_t ticks = argc > 4 ? (uint32_t)atoi(argv[4]) : 200;
	double ratio[ROUNDS_MAX], tick_us[ROUNDS_MAX], worst_s = 0;
	static struct bench bench;

	if (argc < 3 || rounds < 1 || rounds > ROUNDS_MAX || !ticks) {
		fprintf(stderr, "usage: stormweir-bench-script FOLDER COMMIT [ROUNDS [TICKS]]\n");
		return 2;
	}
	if (!start(&bench, argv[1]) || ours(&bench, 20, &worst_s) < 0) /* warm */
		return 1;
	worst_s = 0;
	printf("%5s %14s %14s %8s\n", "round", "ours us/tick", "stock us/tick", "ratio");
	for (uint32_t r = 0; r < rounds; r++) {
		double theirs_s = r % 2 ? stock(argv[1], ticks) : 0;
		double ours_s = ours(&bench, ticks, &worst_s);

		if (!(r % 2))
			theirs_s = stock(argv[1], ticks);
		if (ours_s <= 0 || theirs_s <= 0) {
			fprintf(stderr, "W9: a side failed (is lua5.4 there?)\n");
			return 1;
		}
		ratio[r] = theirs_s / ours_s;
		tick_us[r] = ours_s * 1e6 / ticks;
		printf("%5u %14.0f %14.0f %8.3f\n", r + 1, tick_us[r], theirs_s * 1e6 / ticks, ratio[r]);
	}
	qsort(ratio, rounds, sizeof(ratio[0]), rising);
	qsort(tick_us, rounds, sizeof(tick_us[0]), rising);
	printf("1,000 NPCs: %.2f ms of a tick of 50 ms (%.1f %%), the longest of %u ticks %.2f ms\n",
		tick_us[rounds / 2] / 1000, tick_us[rounds / 2] / TICK_US * 100, rounds * ticks,
		worst_s * 1000);
	printf("{\"bench\": \"W9\", \"commit\": \"%s\", \"metrics\": {"
	       "\"vs_lua\": {\"median\": %.3f, \"low\": %.3f, \"high\": %.3f, \"target\": 0.85, "
	       "\"better\": \"higher\"}, "
	       "\"tick_share\": {\"median\": %.4f, \"low\": %.4f, \"high\": %.4f, \"target\": 0.2, "
	       "\"better\": \"lower\"}}}\n",
		argv[2], ratio[rounds / 2], ratio[0], ratio[rounds - 1],
		tick_us[rounds / 2] / TICK_US, tick_us[0] / TICK_US, tick_us[rounds - 1] / TICK_US);
	script_vm_free(bench.vm);
	script_watchdog_stop(bench.watchdog);
	return 0;
}
