/* stormweir-pcap: writes a capture for packet generators, and says what a server must count for it.
 *   stormweir-pcap CAPTURE FILE [--count N] [--seed S] [--mac M] [--source-mac M] [--ip A.B.C.D]
 *                  [--udp-port P] [--sessions N] [--client-ip A.B.C.D] [--client-udp-port P]
 *                  [--message-bytes N]
 * On stdout a line "GROUP COUNTER N" for each counter that the capture leads to. Frames are a
 * microsecond apart. Files are pcap's classic format (draft-ietf-opsawg-pcap). */
#include <arpa/inet.h>
#include <errno.h>
#include <getopt.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "perf/pcap/capture.h"

#define COUNT_MAX  10000000u
#define FATES_MAX  64u
#define PCAP_MAGIC 0xa1b2c3d4u
#define PCAP_MAJOR 2u
#define PCAP_MINOR 4u
#define PCAP_ETHER 1u

static struct {
	struct capture_fate fate;
	uint32_t frames;
} fates[FATES_MAX];

static int usage(const char *fault, const char *what)
{
	fprintf(stderr,
		"pcap: %s %s\n"
		"usage: stormweir-pcap CAPTURE FILE [--count N] [--seed S] [--mac M]\n"
		"       [--source-mac M] [--ip A.B.C.D] [--udp-port P] [--sessions N]\n"
		"       [--client-ip A.B.C.D] [--client-udp-port P] [--message-bytes N]\n"
		"--mac, --ip, --udp-port: the server's; malformed and malformed6 are for %s and "
		"port %u alone\n"
		"--sessions, --client-ip, --client-udp-port: of the benchmark sessions that speak, "
		"1000 from 10.128.0.1 and port %u on unless told otherwise; --message-bytes: 40\n",
		fault, what, "10.0.0.1, 2001:db8::1", CAPTURE_UDP, BENCHMARK_UDP);
#define LINE(id, name, help) fprintf(stderr, "  %-12s %s\n", name, help);
	CAPTURES(LINE)
#undef LINE
	return 2;
}

static bool number(const char *text, uint64_t low, uint64_t high, uint64_t *out)
{
	char *end;

	errno = 0;
	*out = strtoull(text, &end, 0);
	return !errno && end != text && !*end && *text != '-' && *out >= low && *out <= high;
}

static bool mac(const char *text, uint8_t out[6])
{
	int used = 0;

	return sscanf(text, "%2hhx:%2hhx:%2hhx:%2hhx:%2hhx:%2hhx%n", &out[0], &out[1], &out[2],
		       &out[3], &out[4], &out[5], &used) == 6 &&
	       !text[used];
}

static void count(struct capture_fate fate)
{
	uint32_t i = 0;

	if (!fate.counter)
		return;
	while (fates[i].frames && strcmp(fates[i].fate.counter, fate.counter) != 0)
		i++;
	fates[i].fate = fate;
	fates[i].frames++;
}

static int write_all(
	enum capture capture, const struct capture_options *options, uint32_t frames, FILE *file)
{
	/* In the machine's byte order, which the magic number tells the reader. */
	const struct {
		uint32_t magic;
		uint16_t major, minor;
		uint32_t reserved[2], snap_bytes, link;
	} head = {PCAP_MAGIC, PCAP_MAJOR, PCAP_MINOR, {0}, 65535, PCAP_ETHER};
	uint8_t out[CAPTURE_BYTES_MAX];

	_Static_assert(sizeof(head) == 24, "pcap's file header");
	fwrite(&head, sizeof(head), 1, file);
	for (uint32_t i = 0; i < frames; i++) {
		struct capture_fate fate;
		uint32_t bytes = capture_frame(capture, options, i, out, &fate);
		const uint32_t record[4] = {i / 1000000, i % 1000000, bytes, bytes};

		fwrite(record, sizeof(record), 1, file);
		fwrite(out, bytes, 1, file);
		count(fate);
	}
	return ferror(file) ? -EIO : 0;
}

int main(int argc, char **argv)
{
	static const struct option options[] = {{"count", required_argument, NULL, 'c'},
		{"seed", required_argument, NULL, 's'}, {"mac", required_argument, NULL, 'm'},
		{"source-mac", required_argument, NULL, 'M'}, {"ip", required_argument, NULL, 'i'},
		{"udp-port", required_argument, NULL, 'u'},
		{"sessions", required_argument, NULL, 'n'},
		{"client-ip", required_argument, NULL, 'I'},
		{"client-udp-port", required_argument, NULL, 'U'},
		{"message-bytes", required_argument, NULL, 'b'}, {NULL, 0, NULL, 0}};
	struct capture_options made;
	enum capture capture = 0;
	uint64_t value, frames = 0;
	struct in_addr ip;
	bool good = true;
	FILE *file;
	int key;

	capture_defaults(&made);
	while ((key = getopt_long(argc, argv, "", options, NULL)) != -1) {
		switch (key) {
		case 'c':
			good = number(optarg, 1, COUNT_MAX, &frames);
			break;
		case 's':
			good = number(optarg, 0, UINT64_MAX, &made.seed);
			break;
		case 'm':
			good = mac(optarg, made.mac);
			break;
		case 'M':
			good = mac(optarg, made.source_mac);
			break;
		case 'i':
			good = inet_pton(AF_INET, optarg, &ip) == 1;
			made.ip = ntohl(ip.s_addr);
			break;
		case 'u':
			good = number(optarg, 1, 65535, &value);
			made.udp_port = (uint16_t)value;
			break;
		case 'n':
			good = number(optarg, 1, BENCHMARK_SESSIONS_MAX, &value);
			made.benchmark.sessions = (uint32_t)value;
			break;
		case 'I':
			good = inet_pton(AF_INET, optarg, &ip) == 1;
			made.benchmark.ip = ntohl(ip.s_addr);
			break;
		case 'U':
			good = number(optarg, 1, 65535, &value);
			made.benchmark.udp_port = (uint32_t)value;
			break;
		case 'b':
			good = number(optarg, CAPTURE_MESSAGE_MIN, CAPTURE_MESSAGE_MAX, &value);
			made.message_bytes = (uint32_t)value;
			break;
		default:
			good = false;
		}
		if (!good)
			return usage("cannot use", optarg ? optarg : argv[optind - 1]);
	}
	if (argc - optind != 2)
		return usage("wanted are", "CAPTURE and FILE");
	while (capture < CAPTURE_COUNT && strcmp(capture_names[capture], argv[optind]) != 0)
		capture++;
	if (capture == CAPTURE_COUNT)
		return usage("no capture is called", argv[optind]);
	if ((capture == CAPTURE_MALFORMED || capture == CAPTURE_MALFORMED6) &&
		(made.ip != CAPTURE_IP || made.udp_port != CAPTURE_UDP))
		return usage("this capture has a fixed --ip and --udp-port:", argv[optind]);
	if (!frames)
		frames = capture_period(capture) ? capture_period(capture) : 1000;
	file = fopen(argv[optind + 1], "wb");
	key = file ? write_all(capture, &made, (uint32_t)frames, file) : -errno;
	if (file && fclose(file))
		key = -errno;
	if (key) {
		fprintf(stderr, "pcap: %s: %s\n", argv[optind + 1], strerror(-key));
		return 1;
	}
	for (uint32_t i = 0; i < FATES_MAX && fates[i].frames; i++)
		printf("%s %s %u\n", fates[i].fate.group, fates[i].fate.counter, fates[i].frames);
	return 0;
}
