#include <errno.h>
#include <getopt.h>
#include <stdlib.h>
#include <string.h>

#include "perf/gen/options.h"

/* X(name, key, low, high, member, kernel too, help) */
/* clang-format off */
#define NUMBERS(X) \
	X("clients", 'n', 1, FLOW_CLIENTS_MAX, flow.clients, true, "ENet clients (1000)") \
	X("bytes", 'b', FLOW_BYTES_MIN, FLOW_BYTES_MAX, flow.bytes, true, "of a message (40)") \
	X("window", 'w', 1, FLOW_CLIENTS_MAX, flow.window, true, "messages out at once (as many as clients)") \
	X("rate", 'r', 0, 1000000000, flow.rate, true, "messages/s of all; 0: as fast as echoes come (0)") \
	X("count", 'c', 0, UINT32_MAX, count, true, "messages to send, 0: no end (0)") \
	X("seed", 'S', 0, UINT32_MAX, flow.seed, true, "of the clients' connect ids (1)") \
	X("seconds", 's', 0, 86400, seconds, true, "to run, 0: until count or SIGINT (10)") \
	X("stats-period", 'p', 0, 86400, stats_period_s, true, "seconds between figures, 0: only at the end (0)") \
	X("burst", 'B', 1, 256, burst, false, "frames taken or given at once (32)") \
	X("rxd", 'R', 64, 32768, rxd, false, "receive descriptors (1024)") \
	X("txd", 'T', 64, 32768, txd, false, "transmit descriptors (1024)") \
	X("total-num-mbufs", 'm', 0, 4194304, mbufs, false, "buffers, 0: computed (0)") \
	X("flood", 'F', 0, UINT32_MAX, flood, false, "CONNECTs/s from invented sources while messages are sent (0)") \
	X("flood-attacks", 'A', 0, 1, attacks, false, "1: the flood is of every kind, one attacker with a peer among them (0)") \
	X("client-ports", 'P', 1, 60000, ports_per_address, false, "clients of one address, each with its own UDP port (50000)") \
	X("login-rate", 'l', 1, 1000000, login_rate, true, "game: logins a second (1000)") \
	X("hz", 'H', 1, 60, hz, true, "game: inputs a second of each player (20)") \
	X("chat-rate", 'c' + 128, 0, 1000, chat_rate, true, "game: lines/s in the channel of all, from the first SIGUSR1 to the second, and so on (0)") \
	X("settle", 'T' + 128, 0, 600, settle_s, true, "game: seconds from the last login to what is counted (2)") \
	X("storm", 'T' + 129, 0, FLOW_CLIENTS_MAX, storm, true, "game: clients, of all, that wait for SIGUSR1 before they log in (0)") \
	X("storm-rate", 'T' + 130, 1, 1000000, storm_rate, true, "game: logins a second of those (15000)") \
	X("give-up", 'T' + 131, 1, 3600, give_up_s, true, "game: seconds from a client's first CONNECT until it gives up (60)")
/* clang-format on */

static void help(bool kernel)
{
	printf("%s\nENet clients against an echo server, one message a datagram.\n"
	       "  --forward-mode MODE  unreliable (default), reliable, lines: what one says goes "
	       "to all\n"
	       "                       (stormweir-echo --lines), game: players of a stormweir "
	       "server\n"
	       "                       (perf/gen/game.h)%s\n"
	       "  --tickets FILE       game: one login ticket a player, as swctl ticket writes "
	       "them\n"
	       "  --walk HOW           game: uniform (default), crowd: there and back, game: "
	       "uniform,\n"
	       "                       and monsters are fought and loot is picked up "
	       "(perf/gen/hunt.h)\n"
	       "  --tx-ip %s    addresses of the first client and of the server\n"
	       "  --tx-udp %s    their UDP ports\n"
	       "  --interactive        commands on standard input (perf/gen/drive.h)\n",
		kernel ? "stormweir-gen-kernel --tx-ip SERVER --tx-udp PORT [options]"
		       : "stormweir-gen [EAL options] -- --port NAME --tx-ip FROM,TO [options]",
		kernel ? "" : ", or raw: frames that come back are sent again",
		kernel ? "SERVER " : "FROM,TO", kernel ? "PORT   " : "FROM,TO");
	if (!kernel)
		printf("  --port NAME          DPDK port, such as net_memif0\n"
		       "  --eth-peer N,MAC     the server's (or next hop's) MAC; N is ignored; "
		       "else ARP "
		       "asks\n");
#define HELP(name, key, low, high, member, too, text)                                              \
	if (!kernel || too)                                                                        \
		printf("  --%-18s %s\n", name, text);
	NUMBERS(HELP)
#undef HELP
}

static int number(long long low, long long high, uint32_t *out, const char *name, FILE *errors)
{
	char *end;
	long long value = strtoll(optarg, &end, 10);

	if (end == optarg || *end || value < low || value > high) {
		fprintf(errors, "gen: --%s %s: allowed are %lld to %lld\n", name, optarg, low,
			high);
		return -EINVAL;
	}
	*out = (uint32_t)value;
	return 0;
}

static int mode(struct gen_options *options, bool kernel, FILE *errors)
{
	options->raw = !kernel && !strcmp(optarg, "raw");
	options->game = !strcmp(optarg, "game");
	options->flow.mode = !strcmp(optarg, "reliable") ? FLOW_RELIABLE
			     : !strcmp(optarg, "lines")  ? FLOW_LINES
							 : FLOW_UNRELIABLE;
	if (options->raw || options->game || options->flow.mode != FLOW_UNRELIABLE ||
		!strcmp(optarg, "unreliable"))
		return 0;
	fprintf(errors, "gen: --forward-mode %s: unreliable, reliable, lines, game%s\n", optarg,
		kernel ? "" : " or raw");
	return -EINVAL;
}

static int walk(struct gen_options *options, FILE *errors)
{
	static const char *const names[] = {[GAME_WALK_UNIFORM] = "uniform",
		[GAME_WALK_CROWD] = "crowd",
		[GAME_WALK_GAME] = "game"};

	for (uint32_t i = 0; i < sizeof(names) / sizeof(names[0]); i++) {
		if (!strcmp(optarg, names[i])) {
			options->walk = (enum game_walk)i;
			return 0;
		}
	}
	fprintf(errors, "gen: --walk %s: uniform, crowd or game\n", optarg);
	return -EINVAL;
}

static int addresses(struct gen_options *options, FILE *errors)
{
	const char *comma = strchr(optarg, ',');
	const char *to = comma ? comma + 1 : optarg;
	size_t from = comma ? (size_t)(comma - optarg) : 0;

	if (from >= sizeof(options->from) || strlen(to) >= sizeof(options->to)) {
		fprintf(errors, "gen: --tx-ip %s: two IPv4 addresses with a comma\n", optarg);
		return -EINVAL;
	}
	memcpy(options->from, optarg, from);
	options->from[from] = 0;
	strcpy(options->to, to);
	return 0;
}

static int ports(struct gen_options *options, FILE *errors)
{
	unsigned from = options->from_port, to;
	char end;

	if ((sscanf(optarg, "%u,%u%c", &from, &to, &end) == 2 ||
		    sscanf(optarg, "%u%c", &to, &end) == 1) &&
		from >= 1 && from <= 65535 && to >= 1 && to <= 65535) {
		options->from_port = from;
		options->to_port = to;
		return 0;
	}
	fprintf(errors, "gen: --tx-udp %s: UDP ports 1 to 65535\n", optarg);
	return -EINVAL;
}

static int mac(struct gen_options *options, FILE *errors)
{
	const char *comma = strchr(optarg, ',');
	uint8_t *to = options->to_mac;
	char end;

	if (sscanf(comma ? comma + 1 : optarg, "%hhx:%hhx:%hhx:%hhx:%hhx:%hhx%c", &to[0], &to[1],
		    &to[2], &to[3], &to[4], &to[5], &end) == 6)
		return 0;
	fprintf(errors, "gen: --eth-peer %s: a MAC like 0,02:00:00:00:00:01\n", optarg);
	return -EINVAL;
}

static int apply(struct gen_options *options, bool kernel, int key, FILE *errors)
{
	switch (key) {
#define NUMBER(name, k, low, high, member, too, text)                                              \
	case k:                                                                                    \
		return number(low, high, &options->member, name, errors);
		NUMBERS(NUMBER)
#undef NUMBER
	case 'f':
		return mode(options, kernel, errors);
	case 'i':
		return addresses(options, errors);
	case 'u':
		return ports(options, errors);
	case 'e':
		return mac(options, errors);
	case 'I':
		options->interactive = true;
		return 0;
	case 'C':
		return walk(options, errors);
	case 'K':
		if (strlen(optarg) < sizeof(options->tickets)) {
			strcpy(options->tickets, optarg);
			return 0;
		}
		fprintf(errors, "gen: --tickets: a path too long\n");
		return -EINVAL;
	case 'D':
		if (strlen(optarg) < sizeof(options->port)) {
			strcpy(options->port, optarg);
			return 0;
		}
		fprintf(errors, "gen: --port: a name too long\n");
		return -EINVAL;
	default:
		fprintf(errors, "gen: see --help\n");
		return -EINVAL;
	}
}

int gen_options(struct gen_options *options, bool kernel, int argc, char **argv, FILE *errors)
{
	static const struct option list[] = {
#define OPTION(name, key, low, high, member, too, text) {name, required_argument, NULL, key},
		NUMBERS(OPTION)
#undef OPTION
			{"port", required_argument, NULL, 'D'},
		{"forward-mode", required_argument, NULL, 'f'},
		{"tx-ip", required_argument, NULL, 'i'},
		{"tx-udp", required_argument, NULL, 'u'},
		{"eth-peer", required_argument, NULL, 'e'},
		{"tickets", required_argument, NULL, 'K'},
		{"walk", required_argument, NULL, 'C'},
		{"interactive", no_argument, NULL, 'I'},
		{"help", no_argument, NULL, 'h'},
		{NULL, 0, NULL, 0},
	};
	int key;

	*options = (struct gen_options){.flow = {.clients = 1000, .bytes = 40, .seed = 1},
		.from_port = 10000,
		.to_port = 7777,
		.ports_per_address = 50000,
		.login_rate = 1000,
		.hz = 20,
		.settle_s = 2,
		.storm_rate = 15000,
		.give_up_s = 60,
		.burst = 32,
		.rxd = 1024,
		.txd = 1024,
		.seconds = 10};
	optind = 1;
	while ((key = getopt_long(argc, argv, "", list, NULL)) != -1) {
		if (key == 'h') {
			help(kernel);
			return 1;
		}
		if (apply(options, kernel, key, errors))
			return -EINVAL;
	}
	if (optind < argc) {
		fprintf(errors, "gen: \"%s\" is no option; see --help\n", argv[optind]);
		return -EINVAL;
	}
	if (!options->to[0] || (!kernel && (!options->from[0] || !options->port[0]))) {
		fprintf(errors, "gen: %s; see --help\n",
			kernel ? "--tx-ip says where the server is"
			       : "give --port, and --tx-ip FROM,TO (after \"--\")");
		return -EINVAL;
	}
	if (options->game && (!options->tickets[0] || options->interactive)) {
		fprintf(errors, "gen: players need --tickets, and take no commands\n");
		return -EINVAL;
	}
	if (options->storm && options->storm >= options->flow.clients) {
		fprintf(errors, "gen: --storm %u: of the %u --clients some have to be there before\n",
			options->storm, options->flow.clients);
		return -EINVAL;
	}
	options->flow.count = options->count;
	options->flow.ids = 4095;
	if (!options->flow.window)
		options->flow.window = options->flow.clients;
	return 0;
}
