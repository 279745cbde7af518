#include <arpa/inet.h>
#include <errno.h>
#include <getopt.h>
#include <stdlib.h>
#include <string.h>

#include "dataplane/port.h"
#include "perf/echo/options.h"

/* X(name, key, range low, range high, member, help). Numbers; the rest is in apply(). */
/* clang-format off */
#define NUMBERS(X) \
	X("udp-port", 'u', 1, 65535, dataplane.udp_port, "UDP port") \
	X("burst", 'b', 1, DP_BURST_MAX, dataplane.burst, "frames taken or given at once") \
	X("mbufs", 'm', 0, 4194304, dataplane.mbufs, "buffers per queue, 0: computed") \
	X("stats-period", 's', 0, 86400, dataplane.stats_period_s, "seconds between figures, 0: only at the end") \
	X("record-core-cycles", 'R', 0, 1, dataplane.record_cycles, "1: count cycles per stage and frames per burst, 0: do not") \
	X("peers", 'n', 1, 2097152, enet.peers_max, "peers per worker") \
	X("half-open", 'o', 16, 1048576, enet.half_open_max, "handshakes under way per worker") \
	X("lines", 'L', 1000, 100000000, dataplane.chat_per_s, "each packet goes to all peers, as a chat line; at most so many deliveries per second (off)") \
	X("channels", 'c', 1, 255, enet.channels_max, "channels a client may have") \
	X("mtu", 't', 576, 4096, enet.mtu, "largest ENet datagram") \
	X("packet-max", 'p', 1, 1 << 24, enet.packet_bytes_max, "largest packet, fragments joined") \
	X("peer-hold", 'H', 1024, 1 << 30, enet.peer_hold_bytes, "bytes held per peer") \
	X("peer-queue", 'Q', 1024, 1 << 30, enet.peer_queue_bytes, "bytes waiting per peer") \
	X("pool", 'P', 65536, 4095ll << 20, enet.pool_bytes, "bytes behind holds and queues") \
	X("connects", 'C', 1, 10000000, enet.connects_per_s, "connects per second, all sources") \
	X("peer-datagrams", 'd', 0, 100000, enet.peer_datagrams_per_s, "datagrams read of a peer per second, 0: all") \
	X("source-connects", 'S', 1, 10000000, enet.source_connects_per_s, "connects per second from one address")
/* Of every port. */
#define PORT_NUMBERS(X) \
	X("rxq", 'q', 1, DP_PORT_QUEUES_MAX, queues, "queue pairs (--txq is the same)") \
	X("rxd", 'r', 64, 32768, rxd, "receive descriptors") \
	X("txd", 'x', 64, 32768, txd, "transmit descriptors") \
	X("vlan", 'v', 0, 4094, vlan, "802.1Q id, 0: untagged")
/* clang-format on */

#define CLASS_D 0xe0000000u /* multicast and reserved begin here */

static void help(void)
{
	printf("stormweir-echo [EAL options] -- --port NAME --address A.B.C.D/N [options]\n"
	       "Returns each ENet packet to its sender on its channel with its flags. One worker "
	       "per EAL "
	       "lcore.\n"
	       "  --port NAME          DPDK port, e.g. net_af_xdp0; with its --address, up to %u "
	       "times\n"
	       "  --address A.B.C.D/N  what the port before answers for\n"
	       "  --address6 A::B/N    and over IPv6\n"
	       "  --checksum off|on|any  ENet's CRC32 (any)\n"
	       "  --compression off|on|any  its range coder (any)\n"
	       "  --idle poll|adaptive   (poll)\n"
	       "  --benchmark-sessions N    sessions without a handshake, for packet generators: "
	       "whoever\n"
	       "                            sends from their addresses is they\n"
	       "  --benchmark-acknowledged yes  must be said with it\n"
	       "  --benchmark-address A.B.C.D, --benchmark-udp-port P  of the first (10.128.0.1, "
	       "%u)\n",
		CONFIG_PORTS_MAX, BENCHMARK_UDP);
#define HELP(name, key, low, high, member, text) printf("  --%-18s %s\n", name, text);
	NUMBERS(HELP)
	PORT_NUMBERS(HELP)
#undef HELP
}

static int number(const char *name, const char *text, long long low, long long high, uint32_t *out,
	FILE *errors)
{
	char *end;
	long long value = strtoll(text, &end, 10);

	if (end == text || *end || value < low || value > high) {
		fprintf(errors, "echo: --%s %s: allowed are %lld to %lld\n", name, text, low, high);
		return -EINVAL;
	}
	*out = (uint32_t)value;
	return 0;
}

static int text(const char *name, const char *from, char *to, size_t bytes, FILE *errors)
{
	if (strlen(from) >= bytes) {
		fprintf(errors, "echo: --%s: longer than %zu bytes\n", name, bytes - 1);
		return -EINVAL;
	}
	memcpy(to, from, strlen(from) + 1);
	return 0;
}

/* Index of word in words (NULL at the end), -EINVAL if it is none of them. */
static int choose(const char *name, const char *word, const char *const *words, FILE *errors)
{
	for (int i = 0; words[i]; i++)
		if (!strcmp(word, words[i]))
			return i;
	fprintf(errors, "echo: --%s %s: not one of the words that --help names\n", name, word);
	return -EINVAL;
}

/* What benchmark sessions are asked for by, and whether it was said twice. */
struct asked {
	struct echo_benchmark *benchmark;
	bool given, acknowledged;
};

static int benchmark(struct asked *asked, int key, FILE *errors)
{
	struct in_addr ip;

	asked->given = true;
	switch (key) {
	case 'B':
		return number("benchmark-sessions", optarg, 1, BENCHMARK_SESSIONS_MAX,
			&asked->benchmark->sessions, errors);
	case 'U':
		return number("benchmark-udp-port", optarg, 1, 65535, &asked->benchmark->udp_port,
			errors);
	case 'I':
		if (inet_pton(AF_INET, optarg, &ip) != 1) {
			fprintf(errors, "echo: --benchmark-address %s: not an IPv4 address\n",
				optarg);
			return -EINVAL;
		}
		asked->benchmark->ip = ntohl(ip.s_addr);
		return 0;
	default:
		if (strcmp(optarg, "yes") != 0) {
			fprintf(errors, "echo: --benchmark-acknowledged %s: allowed is yes\n",
				optarg);
			return -EINVAL;
		}
		asked->acknowledged = true;
		return 0;
	}
}

static int benchmark_fits(const struct sw_config *config, const struct asked *asked, FILE *errors)
{
	const struct echo_benchmark *b = asked->benchmark;

	if (!asked->given)
		return 0;
	if (!b->sessions || !asked->acknowledged)
		fprintf(errors,
			"echo: sessions without a handshake let anyone on the wire in: give both "
			"--benchmark-sessions N and --benchmark-acknowledged yes, or none of the "
			"--benchmark options\n");
	else if (b->sessions > config->enet.peers_max)
		fprintf(errors, "echo: --benchmark-sessions %u: more than --peers %u\n",
			b->sessions, config->enet.peers_max);
	else if (b->ip >> 24 == 0 || benchmark_last_ip(b) < b->ip ||
		 benchmark_last_ip(b) >= CLASS_D)
		fprintf(errors,
			"echo: --benchmark-address: the sessions' addresses, one each, begin or "
			"end where no host has one\n");
	else if (config->enet.checksum == CONFIG_USE_ON)
		fprintf(errors,
			"echo: --benchmark-sessions: they have no checksum, and --checksum on "
			"demands one\n");
	else
		return 0;
	return -EINVAL;
}

static int apply(
	struct sw_config *config, struct asked *asked, uint32_t *addresses, int key, FILE *errors)
{
	static const char *const uses[] = {"off", "on", "any", NULL};
	static const char *const idles[] = {"poll", "adaptive", NULL};
	struct config_port *port;
	int word;

	switch (key) {
#define NUMBER(name, k, low, high, member, text)                                                   \
	case k:                                                                                    \
		return number(name, optarg, low, high, &config->member, errors);
		NUMBERS(NUMBER)
#undef NUMBER
#define NUMBER(name, k, low, high, member, text)                                                   \
	case k:                                                                                    \
		for (uint32_t i = 0; i < CONFIG_PORTS_MAX; i++)                                    \
			if (number(name, optarg, low, high, &config->ports[i].member, errors))     \
				return -EINVAL;                                                    \
		return 0;
		PORT_NUMBERS(NUMBER)
#undef NUMBER
	case 'D':
		if (config->port_count == CONFIG_PORTS_MAX) {
			fprintf(errors, "echo: more than %u ports\n", CONFIG_PORTS_MAX);
			return -EINVAL;
		}
		port = &config->ports[config->port_count++];
		return text("port", optarg, port->device, sizeof(port->device), errors);
	case 'A':
		if (*addresses == CONFIG_PORTS_MAX) {
			fprintf(errors, "echo: more addresses than ports\n");
			return -EINVAL;
		}
		port = &config->ports[(*addresses)++];
		return text("address", optarg, port->address, sizeof(port->address), errors);
	case '6':
		if (!config->port_count) {
			fprintf(errors, "echo: --address6 follows its --port\n");
			return -EINVAL;
		}
		port = &config->ports[config->port_count - 1];
		return text("address6", optarg, port->address6, sizeof(port->address6), errors);
	case 'k':
		word = choose("checksum", optarg, uses, errors);
		if (word < 0)
			return word;
		config->enet.checksum = (enum config_use)word;
		return 0;
	case 'z':
		word = choose("compression", optarg, uses, errors);
		if (word < 0)
			return word;
		config->enet.compression = (enum config_use)word;
		return 0;
	case 'i':
		word = choose("idle", optarg, idles, errors);
		if (word < 0)
			return word;
		config->dataplane.idle = (enum config_idle)word;
		return 0;
	case 'B':
	case 'U':
	case 'I':
	case 'Y':
		return benchmark(asked, key, errors);
	default:
		fprintf(errors, "echo: see -- --help\n");
		return -EINVAL;
	}
}

int echo_options(struct sw_config *config, struct echo_benchmark *sessions, int argc, char **argv,
	FILE *errors)
{
	static const struct option options[] = {
#define OPTION(name, key, low, high, member, text) {name, required_argument, NULL, key},
		NUMBERS(OPTION) PORT_NUMBERS(OPTION)
#undef OPTION
			{"txq", required_argument, NULL, 'q'},
		{"port", required_argument, NULL, 'D'},
		{"address", required_argument, NULL, 'A'},
		{"address6", required_argument, NULL, '6'},
		{"checksum", required_argument, NULL, 'k'},
		{"compression", required_argument, NULL, 'z'},
		{"idle", required_argument, NULL, 'i'},
		{"benchmark-sessions", required_argument, NULL, 'B'},
		{"benchmark-acknowledged", required_argument, NULL, 'Y'},
		{"benchmark-address", required_argument, NULL, 'I'},
		{"benchmark-udp-port", required_argument, NULL, 'U'},
		{"help", no_argument, NULL, 'h'},
		{NULL, 0, NULL, 0},
	};
	struct asked asked = {.benchmark = sessions};
	uint32_t addresses = 0;
	int key;

	*sessions = (struct echo_benchmark){.ip = BENCHMARK_IP, .udp_port = BENCHMARK_UDP};
	sw_config_defaults(config);
	config->dataplane.idle = CONFIG_IDLE_POLL;
	/* The game's limits against floods are not what is measured here. */
	config->enet.peer_datagrams_per_s = 0;
	config->dataplane.chat_per_s = 0;
	config->dataplane.probes_per_s = config->dataplane.probes_burst = 10000000;
	config->enet.connects_per_s = config->enet.connects_burst = 1000000;
	config->enet.source_connects_per_s = config->enet.source_connects_burst = 1000000;
	config->port_count = 0;
	for (uint32_t i = 0; i < CONFIG_PORTS_MAX; i++)
		config->ports[i] = (struct config_port){.queues = 1, .rxd = 1024, .txd = 1024};
	optind = 1;
	while ((key = getopt_long(argc, argv, "", options, NULL)) != -1) {
		if (key == 'h') {
			help();
			return 1;
		}
		if (apply(config, &asked, &addresses, key, errors))
			return -EINVAL;
	}
	if (optind < argc) {
		fprintf(errors, "echo: \"%s\" is no option; see -- --help\n", argv[optind]);
		return -EINVAL;
	}
	if (!config->port_count || addresses != config->port_count) {
		fprintf(errors,
			"echo: give each --port its --address (after \"--\"); see -- --help\n");
		return -EINVAL;
	}
	return benchmark_fits(config, &asked, errors);
}
