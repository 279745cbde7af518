#include "client/bot/options.h"

#include <errno.h>
#include <getopt.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "client/stormweir.h"
#include "proto/message_types.h"

/* X(long name, field, argument, what it does) */
#define NUMBERS(X)                                                                                 \
	X("port", port, 1, 65535, "the server's UDP port")                                         \
	X("bots", bots, 1, 100000, "how many; each takes one ticket (1)")                          \
	X("first-ticket", first_ticket, 0, UINT32_MAX, "skip so many lines of the file (0)")       \
	X("seed", seed, 0, UINT64_MAX, "of the random walk (1)")                                   \
	X("connects-per-s", connects_per_s, 1, 1000000, "bots started a second (50)")              \
	X("expect-enters", expect_enters, 0, UINT32_MAX, "each bot must see so many come")         \
	X("expect-moves", expect_moves, 0, 1000000, "each bot must change maps so often")          \
	X("expect-results", expect_results, 0, 1000000,                                            \
		"each bot must be told so many matches' results")                                  \
	X("expect-quests", expect_quests, 0, UINT32_MAX,                                           \
		"each bot must have done so many quests in the end")                               \
	X("expect-trades", expect_trades, 0, UINT32_MAX,                                           \
		"all together must carry out so many trades")                                      \
	X("expect-parties", expect_parties, 0, UINT32_MAX,                                         \
		"all together must come into parties so often")                                    \
	X("expect-lines", expect_lines, 0, UINT32_MAX, "each bot must hear so many chat lines")    \
	X("returns", returns, 0, 10000,                                                            \
		"each comes again so often: line i + k x bots of the tickets is bot i's k-th (0)") \
	X("expect-leaves", expect_leaves, 0, UINT32_MAX, "all together must see so many go")       \
	X("protocol-version", protocol_version, 0, UINT32_MAX, "another than this client's")

#define TIMES(X)                                                                                   \
	X("seconds", run_ns, "leave after this time; 0: on Ctrl-C (0)")                            \
	X("stand-still-last", stand_still_last_ns, "stop walking so long before (0)")              \
	X("leave-over", leave_over_ns, "leave one by one over the last seconds (0)")               \
	X("vanish", vanish_ns,                                                                     \
		"with --returns or --pass: vanish, or fall silent, about so often, and come "      \
		"again (0)")                                                                       \
	X("silence", silence_ns,                                                                   \
		"with --returns: give up after hearing nothing so long (0: never)")                \
	X("connect-timeout", connect_timeout_ns, "until joined (15)")

#define STRINGS(X)                                                                                 \
	X("server", server, "IP", "the server's address")                                          \
	X("tickets", tickets, "FILE", "one base64 SignedTicket a line (swctl ticket)")             \
	X("report", report, "FILE", "write a JSON report")                                         \
	X("expect-positions", expect_positions, "FILE", "join where that report's bots ended")     \
	X("click", click, "NAME", "the first bot walks to this NPC and clicks it")                 \
	X("travel", travel, "NAME", "all bots click NPCs of this name, on each map they come to")  \
	X("journal", journal, "FILE", "write what the server confirms, a JSON object a line")      \
	X("maps", maps, "FOLDER", "map files (.tmj), so that walls are known")                     \
	X("walk", walk, "HOW", "random (default) or still")                                        \
	X("expect-refused", refused, "REASON", "well if refused so, e.g. TICKET_USED")             \
	X("expect-disconnect", disconnect, "REASON", "well if closed so, e.g. SERVER_STOPPING")

#define FLAGS(X)                                                                                   \
	X("pick", pick, "choose the last card of each offer in a battle")                          \
	X("portals", portals, "all walk to the nearest portal, on each map they come to (--maps)") \
	X("show", show, "draw the map around the first bot")                                       \
	X("until-well", until_well, "leave as soon as all that is expected has come (--seconds: at most)") \
	X("trade", trade, "trade with players near: fairly, unfairly, and breaking off")           \
	X("quests", quests, "click all NPCs in turn, choose the first answer, fight for quests")   \
	X("party", party, "make and change parties with players near")                             \
	X("chat", chat, "say lines in channels, whisper to players near; lose nothing of it")     \
	X("fight", fight, "attack monsters near, and pick up what lies near")                      \
	X("pass", pass, "come again with the pass that was given, while it is good")               \
	X("no-redirects", no_redirects, "wait for room at this node, though another one has some")  \
	X("checksum", checksum, "ENet's CRC-32, if the server has it on")

struct strings {
	const char *server, *tickets, *report, *expect_positions, *click, *travel, *maps, *walk,
		*journal, *refused, *disconnect;
};

enum option_id {
#define NUMBER_ENUM(name, field, low, high, help) OPTION_##field,
#define STRING_ENUM(name, field, argument, help)  OPTION_S_##field,
#define TIME_ENUM(name, field, help)              OPTION_##field,
#define FLAG_ENUM(name, field, help)              OPTION_F_##field,
	NUMBERS(NUMBER_ENUM) TIMES(TIME_ENUM) STRINGS(STRING_ENUM) FLAGS(FLAG_ENUM) OPTION_HELP
};

static void help(void)
{
	printf("stormweir-bot: fills a Stormweir server with players that walk\n\n"
	       "  stormweir-bot --server IP --port P --tickets FILE [options]\n\n");
#define NUMBER_HELP(name, field, low, high, text) printf("  --%-18s N       %s\n", name, text);
#define STRING_HELP(name, field, argument, text)                                                   \
	printf("  --%-18s %-7s %s\n", name, argument, text);
#define TIME_HELP(name, field, text) printf("  --%-18s SECONDS %s\n", name, text);
#define FLAG_HELP(name, field, text) printf("  --%-18s         %s\n", name, text);
	STRINGS(STRING_HELP)
	TIMES(TIME_HELP)
	NUMBERS(NUMBER_HELP)
	FLAGS(FLAG_HELP)
	printf("\nSIGUSR1: stand still from now on. Ctrl-C: leave.\n"
	       "Exit code: 0 all bots were well, 1 some were not (the report names them), 2 "
	       "usage.\n");
}

static bool number(const char *name, const char *text, uint64_t low, uint64_t high, uint64_t *out)
{
	char *end;

	errno = 0;
	*out = strtoull(text, &end, 10);
	if (errno || !*text || *end || *text == '-' || *out < low || *out > high) {
		fprintf(stderr, "stormweir-bot: --%s takes a number from %llu to %llu, not '%s'\n",
			name, (unsigned long long)low, (unsigned long long)high, text);
		return false;
	}
	return true;
}

/* Seconds, with a fraction if wanted. */
static bool seconds(const char *name, const char *text, uint64_t *out_ns)
{
	char *end;
	double value = strtod(text, &end);

	if (!*text || *end || !(value >= 0 && value <= 1e7)) {
		fprintf(stderr, "stormweir-bot: --%s takes seconds up to 10,000,000, not '%s'\n",
			name, text);
		return false;
	}
	*out_ns = (uint64_t)(value * 1e9);
	return true;
}

static bool reason(const char *option, const char *name, uint32_t *out)
{
	if (!name)
		return true;
	for (uint32_t value = 0; value < 256; value++) {
		if (!strcmp(swc_reason_name(value), name)) {
			*out = value;
			return true;
		}
	}
	fprintf(stderr, "stormweir-bot: --%s: there is no reason %s\n", option, name);
	return false;
}

static bool complete(struct options *options, const struct strings *strings)
{
	if (!strings->server || !options->port || !strings->tickets) {
		fprintf(stderr, "stormweir-bot: --server, --port and --tickets are needed; "
				"see --help\n");
		return false;
	}
	if (strings->walk && strcmp(strings->walk, "random") && strcmp(strings->walk, "still")) {
		fprintf(stderr, "stormweir-bot: --walk is random or still, not '%s'\n",
			strings->walk);
		return false;
	}
	options->server = strings->server;
	options->tickets = strings->tickets;
	options->report = strings->report;
	options->expect_positions = strings->expect_positions;
	options->click = strings->click;
	options->travel = strings->travel;
	options->maps = strings->maps;
	options->journal = strings->journal;
	options->still = strings->walk && !strcmp(strings->walk, "still");
	return reason("expect-refused", strings->refused, &options->expect_refused) &&
	       reason("expect-disconnect", strings->disconnect, &options->expect_disconnect);
}

int options_parse(struct options *options, int argc, char **argv)
{
#define NUMBER_OPTION(name, field, low, high, text) {name, required_argument, NULL, OPTION_##field},
#define TIME_OPTION(name, field, text)              {name, required_argument, NULL, OPTION_##field},
#define STRING_OPTION(name, field, argument, text)                                                 \
	{name, required_argument, NULL, OPTION_S_##field},
#define FLAG_OPTION(name, field, text) {name, no_argument, NULL, OPTION_F_##field},
	static const struct option long_options[] = {
		NUMBERS(NUMBER_OPTION) TIMES(TIME_OPTION) STRINGS(STRING_OPTION)
			FLAGS(FLAG_OPTION){"help", no_argument, NULL, OPTION_HELP},
		{NULL, 0, NULL, 0}};
	struct strings strings = {0};
	uint64_t value;
	int option;

	*options = (struct options){.bots = 1,
		.seed = 1,
		.connects_per_s = 50,
		.connect_timeout_ns = 15000000000ull,
		.expect_refused = REASON_ANY,
		.expect_disconnect = REASON_ANY};
	while ((option = getopt_long(argc, argv, "", long_options, NULL)) != -1) {
		switch (option) {
#define NUMBER_CASE(name, field, low, high, text)                                                  \
	case OPTION_##field:                                                                       \
		if (!number(name, optarg, low, high, &value))                                      \
			return -1;                                                                 \
		options->field = (__typeof__(options->field))value;                                \
		break;
#define TIME_CASE(name, field, text)                                                               \
	case OPTION_##field:                                                                       \
		if (!seconds(name, optarg, &options->field))                                       \
			return -1;                                                                 \
		break;
#define STRING_CASE(name, field, argument, text)                                                   \
	case OPTION_S_##field:                                                                     \
		strings.field = optarg;                                                            \
		break;
#define FLAG_CASE(name, field, text)                                                               \
	case OPTION_F_##field:                                                                     \
		options->field = true;                                                             \
		break;
			NUMBERS(NUMBER_CASE)
			TIMES(TIME_CASE)
			STRINGS(STRING_CASE)
			FLAGS(FLAG_CASE)
		case OPTION_HELP:
			help();
			return 1;
		default: /* getopt has said what is wrong */
			return -1;
		}
	}
	if (optind < argc) {
		fprintf(stderr, "stormweir-bot: '%s' is not an option\n", argv[optind]);
		return -1;
	}
	return complete(options, &strings) ? 0 : -1;
}
