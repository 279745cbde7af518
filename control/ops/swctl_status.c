/* swctl status, swctl instance list and show: a node's /status as tables. */
#include "control/ops/swctl.h"

#include <errno.h>
#include <getopt.h>
#include <inttypes.h>
#include <stdbool.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

#include <jansson.h>

#include "control/ops/http_get.h"

static bool colour;

static const char *level_colour(const char *level)
{
	if (!colour)
		return "";
	if (!strcmp(level, "green"))
		return "\033[32m";
	return !strcmp(level, "yellow") ? "\033[33m" : "\033[31m";
}

static const char *text_of(const json_t *object, const char *key)
{
	const char *text = json_string_value(json_object_get(object, key));

	return text ? text : "?";
}

static json_int_t number_of(const json_t *object, const char *key)
{
	return json_integer_value(json_object_get(object, key));
}

/* The threads of a group of counters or histograms: an array, or NULL. */
static const json_t *group_of(const json_t *root, const char *section, const char *group)
{
	return json_object_get(json_object_get(root, section), group);
}

static json_int_t sum_of(const json_t *root, const char *group, const char *counter)
{
	const json_t *threads = group_of(root, "counters", group), *thread;
	json_int_t sum = 0;
	size_t i;

	json_array_foreach((json_t *)(uintptr_t)threads, i, thread) sum +=
		number_of(thread, counter);
	return sum;
}

/* Sentences may hold what another server said: no escape sequence reaches the terminal. */
static void print_plain(const char *text)
{
	for (; *text; text++)
		putchar((unsigned char)*text < 0x20 || *text == 0x7f ? '?' : *text);
}

static void print_level(const char *level)
{
	printf("%s%-7s%s", level_colour(level), level, colour ? "\033[0m" : "");
}

static void print_duration(json_int_t seconds)
{
	if (seconds >= 86400)
		printf("%" JSON_INTEGER_FORMAT " d ", seconds / 86400);
	if (seconds >= 3600)
		printf("%" JSON_INTEGER_FORMAT " h ", seconds / 3600 % 24);
	if (seconds >= 60)
		printf("%" JSON_INTEGER_FORMAT " min ", seconds / 60 % 60);
	printf("%" JSON_INTEGER_FORMAT " s", seconds % 60);
}

/* Of a histogram only an upper bound is known; 0: there are no values. */
static void print_bound(json_int_t ns)
{
	char text[32];

	if (!ns)
		snprintf(text, sizeof(text), "-");
	else if (ns < 1000000)
		snprintf(text, sizeof(text), "<%.0f us", (double)ns / 1e3);
	else
		snprintf(text, sizeof(text), "<%.1f ms", (double)ns / 1e6);
	printf(" %10s", text);
}

static void print_below(const json_t *histogram, const char *key)
{
	print_bound(number_of(histogram, "count") ? number_of(histogram, key) : 0);
}

static const json_t *thread_of(const json_t *threads, json_int_t number)
{
	const json_t *thread;
	size_t i;

	json_array_foreach((json_t *)(uintptr_t)threads, i,
		thread) if (number_of(thread, "thread") == number) return thread;
	return NULL;
}

/* The stage with the highest 99th percentile, to say where a long tick spends its time. */
static void print_worst_stage(const json_t *histograms)
{
	const char *name, *worst = NULL;
	json_int_t most = 0;
	json_t *histogram;

	json_object_foreach((json_t *)(uintptr_t)histograms, name, histogram)
	{
		if (strncmp(name, "stage_", 6) || strlen(name) < 10 ||
			number_of(histogram, "p99_below_ns") <= most)
			continue;
		most = number_of(histogram, "p99_below_ns");
		worst = name + strlen("stage_");
	}
	if (worst) /* without the unit */
		printf("  %.*s\n", (int)(strlen(worst) - strlen("_ns")), worst);
	else
		printf("  -\n");
}

static void print_shards(const json_t *root)
{
	const json_t *shards = group_of(root, "counters", "simulation"), *shard;
	const json_t *times = group_of(root, "histograms", "simulation");
	size_t i;

	if (!json_array_size(shards))
		return;
	printf("\n%-6s %8s %12s %9s %10s %10s %10s  %s\n", "shard", "players", "ticks", "skipped",
		"tick p50", "p99", "longest", "slowest stage");
	json_array_foreach((json_t *)(uintptr_t)shards, i, shard)
	{
		json_int_t number = number_of(shard, "thread");
		const json_t *histograms = thread_of(times, number);
		const json_t *tick = json_object_get(histograms, "tick_ns");

		printf("%-6" JSON_INTEGER_FORMAT " %8" JSON_INTEGER_FORMAT
		       " %12" JSON_INTEGER_FORMAT " %9" JSON_INTEGER_FORMAT,
			number, number_of(shard, "players"), number_of(shard, "ticks"),
			number_of(shard, "ticks_skipped"));
		print_below(tick, "p50_below_ns");
		print_below(tick, "p99_below_ns");
		print_below(tick, "max_below_ns");
		print_worst_stage(histograms);
	}
}

static void print_instances(const json_t *root)
{
	const json_t *list = json_object_get(root, "instances"), *one;
	char place[32], age[96];
	size_t i;

	if (!json_array_size(list))
		return;
	printf("\n%-16s %-8s %-9s %-6s %14s %10s %10s %5s %9s %9s  %s\n", "map", "instance",
		"state", "shard", "players", "tick p50", "p99", "heat", "overruns", "skipped",
		"last tick");
	json_array_foreach((json_t *)(uintptr_t)list, i, one)
	{
		bool running = json_object_get(one, "shard") != NULL;

		snprintf(place, sizeof(place), "%" JSON_INTEGER_FORMAT ".%" JSON_INTEGER_FORMAT,
			number_of(one, "slot"), number_of(one, "generation"));
		printf("%-16s %-8s %-9s", text_of(one, "map"), place, text_of(one, "state"));
		if (!running) {
			printf(" -\n");
			continue;
		}
		snprintf(age, sizeof(age), "%" JSON_INTEGER_FORMAT " ms ago%s%s",
			number_of(one, "tick_age_ms"),
			json_object_get(one, "overrun_stage") ? "; last overrun by stage " : "",
			json_object_get(one, "overrun_stage") ? text_of(one, "overrun_stage") : "");
		printf(" %-6" JSON_INTEGER_FORMAT " %6" JSON_INTEGER_FORMAT
		       " of %-4" JSON_INTEGER_FORMAT,
			number_of(one, "shard"), number_of(one, "players"),
			number_of(one, "players_max"));
		print_bound(number_of(one, "tick_p50_below_ns"));
		print_bound(number_of(one, "tick_p99_below_ns"));
		printf(" %5" JSON_INTEGER_FORMAT " %9" JSON_INTEGER_FORMAT " %9" JSON_INTEGER_FORMAT
		       "  %s\n",
			number_of(one, "heat_permille"), number_of(one, "tick_overruns"),
			number_of(one, "ticks_skipped"), age);
	}
}

static void print_status(const json_t *root)
{
	const json_t *components = json_object_get(root, "components"), *component;
	size_t i;

	printf("node ");
	print_plain(text_of(root, "node"));
	printf("   up ");
	print_duration(number_of(root, "uptime_s"));
	printf("   ");
	print_level(text_of(root, "level"));
	printf("\n\n");
	json_array_foreach((json_t *)(uintptr_t)components, i, component)
	{
		printf("  %-12s ", text_of(component, "name"));
		print_level(text_of(component, "level"));
		printf(" ");
		print_plain(text_of(component, "text"));
		printf("\n");
	}
	printf("\nplayers %" JSON_INTEGER_FORMAT ", waiting %" JSON_INTEGER_FORMAT
	       ", sessions %" JSON_INTEGER_FORMAT ", peers %" JSON_INTEGER_FORMAT
	       ", saves waiting %" JSON_INTEGER_FORMAT "\n",
		sum_of(root, "admission", "players"), sum_of(root, "gate", "waiting"),
		sum_of(root, "admission", "sessions"), sum_of(root, "enet", "peers"),
		sum_of(root, "world", "saves_pending"));
	print_shards(root);
	print_instances(root);
}

json_t *swctl_status_get(const char *address, char **out)
{
	json_t *root;
	size_t bytes;
	char *body;
	int status = http_get(address, "/status", &body, &bytes);

	root = body ? json_loadb(body, bytes, 0, NULL) : NULL;
	if (status != 200 || !root) {
		if (status < 0)
			fprintf(stderr, "swctl: no answer from %s: %s\n", address,
				strerror(-status));
		else
			fprintf(stderr, "swctl: %s is not a Stormweir node (HTTP status %d)\n",
				address, status);
		if (status == -ECONNREFUSED)
			fprintf(stderr, "  Does the node run, and is this its http.address?\n");
		json_decref(root);
		root = NULL;
	}
	if (out && root)
		*out = body;
	else
		free(body);
	return root;
}

int swctl_status(int argc, char **argv)
{
	static const struct option options[] = {
		{"http", required_argument, NULL, 'h'},
		{"json", no_argument, NULL, 'j'},
		{NULL, 0, NULL, 0},
	};
	const char *address = "127.0.0.1:9100";
	bool json = false, red;
	json_t *root;
	char *body;
	int option;

	while ((option = getopt_long(argc, argv, "", options, NULL)) != -1) {
		if (option == 'h')
			address = optarg;
		else if (option == 'j')
			json = true;
		else
			return 2;
	}
	if (optind < argc) {
		fprintf(stderr, "swctl: status takes no \"%s\"; see swctl help\n", argv[optind]);
		return 2;
	}
	root = swctl_status_get(address, &body);
	if (!root)
		return 1;
	colour = isatty(STDOUT_FILENO);
	if (json)
		fputs(body, stdout);
	else
		print_status(root);
	red = !strcmp(text_of(root, "level"), "red");
	json_decref(root);
	free(body);
	if (fflush(stdout))
		return 1;
	return red ? 3 : 0;
}

/* ---- instance ---- */

static void print_one(const json_t *one)
{
	const char *key;
	json_t *value;

	json_object_foreach((json_t *)(uintptr_t)one, key, value)
	{
		printf("%-16s ", key);
		if (json_is_string(value))
			print_plain(json_string_value(value));
		else
			printf("%" JSON_INTEGER_FORMAT, json_integer_value(value));
		printf("\n");
	}
}

/* swctl instance list, and show SLOT.GENERATION; what is an order goes to the node. */
int swctl_instance(int argc, char **argv)
{
	static const struct option options[] = {
		{"http", required_argument, NULL, 'h'},
		{"token", required_argument, NULL, 't'},
		{NULL, 0, NULL, 0},
	};
	const char *address = "127.0.0.1:9100", *wanted;
	char place[32];
	bool list, show, found = false;
	json_t *root, *one;
	int option;
	size_t i;

	/* What follows a verb that is not ours is the order's. */
	list = argc > 1 && !strcmp(argv[1], "list");
	show = argc > 1 && !strcmp(argv[1], "show");
	if (!list && !show)
		return swctl_order(argc, argv);
	while ((option = getopt_long(argc, argv, "", options, NULL)) != -1) {
		if (option == 'h')
			address = optarg;
		else if (option != 't')
			return 2;
	}
	if (argc - optind != (list ? 1 : 2)) {
		fprintf(stderr, "swctl: instance list, or instance show SLOT.GENERATION\n");
		return 2;
	}
	wanted = argv[optind + show];
	root = swctl_status_get(address, NULL);
	if (!root)
		return 1;
	if (list)
		print_instances(root);
	json_array_foreach(json_object_get(root, "instances"), i, one)
	{
		snprintf(place, sizeof(place), "%" JSON_INTEGER_FORMAT ".%" JSON_INTEGER_FORMAT,
			number_of(one, "slot"), number_of(one, "generation"));
		if (!show || strcmp(place, wanted) != 0)
			continue;
		print_one(one);
		found = true;
	}
	json_decref(root);
	if (show && !found)
		fprintf(stderr, "swctl: there is no instance %s; see swctl instance list\n",
			wanted);
	return fflush(stdout) || (show && !found) ? 1 : 0;
}
