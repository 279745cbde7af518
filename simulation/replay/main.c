/* swreplay: repeats what a shard did from the recording of its inputs (simulation.record), compares
 * each tick with the recorded one, and shows what went on in a range of ticks. Needs neither ports
 * nor databases. Exit code: 0 all ticks agree, 1 one differs, 2 it cannot be replayed. */
#include <errno.h>
#include <fcntl.h>
#include <getopt.h>
#include <inttypes.h>
#include <stdlib.h>
#include <string.h>
#include <sys/mman.h>
#include <sys/stat.h>
#include <unistd.h>

#include "simulation/replay/show.h"
#include "simulation/state.h"

struct options {
	const char *file, *config;
	uint32_t from, to, hash_every;
	bool anyway, range;
	struct show show;
};

static void usage(FILE *out)
{
	fputs("usage: swreplay [options] FILE.swrec\n"
	      "  --config FILE     the server's configuration; default: where it was when "
	      "recording\n"
	      "  --anyway          also with other sources, maps, scripts or configuration\n"
	      "  --hash N          prints the whole shard's state hash every N ticks\n"
	      "  --from TICK, --to TICK  prints of these ticks, and stops after the last\n"
	      "  --map NAME        --from, --to, --hash and --print are about this map; default: "
	      "all\n"
	      "  --print LIST      players: each player after each tick; in, out: the messages "
	      "that\n"
	      "                    the shard took and sent; several with commas between\n"
	      "  --character ID    prints of this character alone\n"
	      "A relative simulation.content starts at the working folder, as for the server.\n",
		out);
}

static bool number(const char *name, const char *text, uint64_t max, uint64_t *out)
{
	char *end;

	errno = 0;
	*out = strtoull(text, &end, 10);
	if (!errno && *text >= '0' && *text <= '9' && !*end && *out <= max)
		return true;
	fprintf(stderr, "swreplay: --%s: \"%s\" is not a number up to %" PRIu64 "\n", name, text,
		max);
	return false;
}

static bool print_list(char *list, struct show *show)
{
	for (char *word = strtok(list, ","); word; word = strtok(NULL, ",")) {
		if (!strcmp(word, "players"))
			show->players = true;
		else if (!strcmp(word, "in"))
			show->in = true;
		else if (!strcmp(word, "out"))
			show->sent = true;
		else {
			fprintf(stderr, "swreplay: --print: \"%s\" is none of players, in, out\n",
				word);
			return false;
		}
	}
	return true;
}

/* 0: run; otherwise the exit code + 1. */
static int parse(int argc, char **argv, struct options *o)
{
	static const struct option names[] = {{"config", 1, NULL, 'c'}, {"anyway", 0, NULL, 'a'},
		{"hash", 1, NULL, 'h'}, {"from", 1, NULL, 'f'}, {"to", 1, NULL, 't'},
		{"map", 1, NULL, 'm'}, {"print", 1, NULL, 'p'}, {"character", 1, NULL, 'i'},
		{"help", 0, NULL, '?'}, {0}};
	int option, index = 0;
	uint64_t value;
	bool ok = true;

	*o = (struct options){.to = UINT32_MAX, .show.out = stdout};
	while (ok && (option = getopt_long(argc, argv, "", names, &index)) != -1) {
		switch (option) {
		case 'c':
			o->config = optarg;
			break;
		case 'a':
			o->anyway = true;
			break;
		case 'h':
			ok = number("hash", optarg, UINT32_MAX, &value);
			o->hash_every = (uint32_t)value;
			break;
		case 'f':
			ok = number("from", optarg, UINT32_MAX, &value);
			o->from = (uint32_t)value;
			o->range = true;
			break;
		case 't':
			ok = number("to", optarg, UINT32_MAX, &value);
			o->to = (uint32_t)value;
			o->range = true;
			break;
		case 'm':
			ok = strlen(optarg) < MAP_NAME_BYTES;
			if (ok)
				strcpy(o->show.map, optarg);
			break;
		case 'p':
			ok = print_list(optarg, &o->show);
			break;
		case 'i':
			ok = number("character", optarg, UINT64_MAX, &o->show.character);
			break;
		default:
			usage(optopt ? stderr : stdout);
			return optopt ? 3 : 1;
		}
	}
	if (!ok)
		return 3;
	if (optind + 1 != argc) {
		usage(stderr);
		return 3;
	}
	o->file = argv[optind];
	return 0;
}

static const uint8_t *map_file(const char *path, size_t *count)
{
	int fd = open(path, O_RDONLY | O_CLOEXEC);
	struct stat status;
	void *bytes = MAP_FAILED;

	if (fd >= 0 && !fstat(fd, &status)) {
		*count = (size_t)status.st_size;
		errno = EINVAL; /* of an empty file */
		if (*count)
			bytes = mmap(NULL, *count, PROT_READ, MAP_PRIVATE, fd, 0);
	}
	if (bytes == MAP_FAILED)
		fprintf(stderr, "swreplay: %s: %s\n", path, strerror(errno));
	if (fd >= 0)
		close(fd);
	return bytes == MAP_FAILED ? NULL : bytes;
}

/* Returns whether the last wanted tick has been shown. */
static bool show_tick(struct options *o, const struct sim_replay_view *v)
{
	uint32_t instance = v->own.instance, tick = v->own.tick;

	if (!show_wants(&o->show, instance))
		return false;
	o->show.open = tick + 1 >= o->from && tick < o->to; /* messages until its next tick ends */
	if (tick < o->from || tick > o->to)
		return o->range && tick > o->to;
	if (o->show.players)
		show_players(&o->show, instance);
	if (o->hash_every && tick % o->hash_every == 0)
		printf("%s tick %u hash %016" PRIx64 "\n", show_map_name(&o->show, instance), tick,
			sim_shard_hash(v->shard));
	return o->range && tick == o->to && o->show.map[0];
}

static void tell_over_time(const struct sim_replay_view *v)
{
	if (v->over_time_recorded || v->over_time_own)
		printf("handlers ended by the time limit: %u recorded, %u here, first in tick %u; "
		       "from there on a replay may differ\n",
			v->over_time_recorded, v->over_time_own, v->over_time_tick);
}

static int run(struct options *o, struct sim_replay *replay)
{
	const struct sim_replay_view *v = sim_replay_view(replay);
	enum sim_replay_result result;
	bool enough = false;

	o->show.view = v;
	o->show.open = !o->from;
	do {
		result = sim_replay_step(replay);
		if (result == SIM_REPLAY_TICKED)
			enough = show_tick(o, v);
	} while (!enough && (result == SIM_REPLAY_STEPPED || result == SIM_REPLAY_TICKED));
	if (result == SIM_REPLAY_DIFFERS) {
		uint32_t instance = v->recorded.instance ? v->recorded.instance : v->own.instance;
		uint32_t tick = v->recorded.instance ? v->recorded.tick : v->own.tick;

		if (o->show.players)
			show_players(&o->show, instance);
		printf("DIFFERS: map %s, slot %u, tick %u: %s; %" PRIu64 " ticks before it agree\n",
			show_map_name(&o->show, instance), instance & 0xff, tick, v->text,
			v->ticks);
		tell_over_time(v);
		return 1;
	}
	tell_over_time(v);
	if (result == SIM_REPLAY_BROKEN) {
		fprintf(stderr, "swreplay: %s: %s; %" PRIu64 " ticks before it agree\n", o->file,
			v->text, v->ticks);
		return 2;
	}
	printf("%" PRIu64 " ticks agree, %" PRIu64 " steps; %s\n", v->ticks, v->steps,
		enough ? "stopped at the last tick that was asked for" : v->text);
	return 0;
}

int main(int argc, char **argv)
{
	static struct sw_config config; /* large */
	struct options options;
	struct sim_replay_ops ops = {.ctx = &options.show, .in = show_in, .out = show_out};
	struct recording_reader reader;
	struct recording_header header;
	struct sim_replay *replay;
	enum recording_fault fault;
	char error[1024] = "";
	const uint8_t *bytes;
	size_t count;
	int code = parse(argc, argv, &options);

	if (code)
		return code - 1;
	bytes = map_file(options.file, &count);
	if (!bytes)
		return 2;
	fault = recording_open(&reader, bytes, count, &header);
	if (fault) {
		fprintf(stderr, "swreplay: %s: %s\n", options.file, recording_fault_text(fault));
		return 2;
	}
	if (sw_config_load(&config, options.config ? options.config : header.config_path, stderr))
		return 2;
	replay = sim_replay_new(bytes, count, &config, &ops, options.anyway, error, sizeof(error));
	if (error[0])
		fprintf(stderr, "swreplay: %s: %s%s\n", options.file, error,
			replay ? "" : " (--anyway goes on all the same)");
	if (!replay)
		return 2;
	code = run(&options, replay);
	sim_replay_free(replay);
	return code;
}
