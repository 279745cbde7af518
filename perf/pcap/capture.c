#include <string.h>

#include "dataplane/lean_client.h"
#include "dataplane/packet_frames.h"
#include "perf/pcap/capture.h"
#include "proto/probe.h"

#define CAPTURE_NAME(id, name, help) name,
const char *const capture_names[CAPTURE_COUNT] = {CAPTURES(CAPTURE_NAME)};

#define DROP_NAME(id, name, kind, help) name,
static const char *const drop_names[PACKET_DROP_COUNT] = {PACKET_DROPS(DROP_NAME)};

/* Sources are 10.64.0.0/10, 1,000 ports of each address. */
#define SOURCE_IP    0x0a400002u
#define SOURCE_PORTS 1000u

/* Payloads up to this: bytes of ENet or of a probe. */
#define PAYLOAD_BYTES_MAX 1400u

/* ENet datagrams that the engine refuses, whoever sends them (the compressed one is for a server
 * that takes compression, as is usual). Peer id 0xfff: "I have none yet". A CONNECT (command 0x82)
 * has 48 bytes: own id, session ids, MTU, window, channels, rates. */
/* clang-format off */
static const struct {
	const char *counter;
	uint8_t bytes[16];
	uint32_t count;
	bool connect; /* a whole CONNECT, with value at offset at of the datagram */
	uint32_t at, value;
} enet_cases[] = {
	{"refused_short_header", {0x8f}, 1, false, 0, 0},
	{"refused_short_header", {0x8f, 0xff, 0}, 3, false, 0, 0},
	{"refused_bad_compression", {0x4f, 0xff, 0x82, 0xff, 0, 1}, 6, false, 0, 0},
	{"refused_unknown_peer", {0x80, 5, 0, 1, 5, 0xff, 0, 1}, 8, false, 0, 0},
	{"refused_unknown_peer", {0x80, 0, 0, 1, 0x88, 0, 0, 1, 0, 1, 0xff, 0xff}, 12, false, 0, 0},
	{"refused_unknown_peer", {0x8f, 0xfe, 0, 1, 1, 0xff, 0, 1, 0, 1, 0, 1}, 12, false, 0, 0},
	{"refused_not_connect", {0x8f, 0xff, 0, 1, 5, 0xff, 0, 1}, 8, false, 0, 0},
	{"refused_not_connect", {0x8f, 0xff, 0, 1, 1, 0xff, 0, 1, 0, 1, 0, 1}, 12, false, 0, 0},
	{"refused_connect_malformed", {0}, 0, true, 20, 0},      /* no channels */
	{"refused_connect_malformed", {0}, 0, true, 20, 256},    /* more than ENet has */
};
/* clang-format on */
#define ENET_CASES (sizeof(enet_cases) / sizeof(enet_cases[0]))

static const uint8_t probe_bad[][8] = {
	{SW_PROBE_0, SW_PROBE_1, SW_PROBE_ANSWER, 1, 7, 8, 9, 10},
	{SW_PROBE_0, SW_PROBE_1, 2, 0, 7, 8, 9, 10},
	{SW_PROBE_0, SW_PROBE_1, 0, 0, 7, 8, 9, 10},
	{SW_PROBE_0, SW_PROBE_1, SW_PROBE_REQUEST, 1, 7, 8, 9, 10},
};
#define PROBE_BAD_CASES (sizeof(probe_bad) / sizeof(probe_bad[0]) + 1) /* and a short one */

void capture_defaults(struct capture_options *options)
{
	*options = (struct capture_options){.seed = 1,
		.mac = {2, 0, 0, 0, 0, 1},
		.source_mac = {2, 0, 0, 0, 0, 2},
		.ip = CAPTURE_IP,
		.udp_port = CAPTURE_UDP,
		.benchmark = {.sessions = 1000, .ip = BENCHMARK_IP, .udp_port = BENCHMARK_UDP},
		.message_bytes = 40};
}

/* splitmix64: one step, so that frame i needs no frame before it. */
static uint64_t mix(uint64_t seed, uint64_t index)
{
	uint64_t z = seed * 0xd1342543de82ef95u + (index + 1) * 0x9e3779b97f4a7c15u;

	z = (z ^ (z >> 30)) * 0xbf58476d1ce4e5b9u;
	z = (z ^ (z >> 27)) * 0x94d049bb133111ebu;
	return z ^ (z >> 31);
}

static void fill(uint64_t seed, uint64_t index, uint8_t *out, uint32_t bytes)
{
	for (uint32_t i = 0; i < bytes; i++)
		out[i] = (uint8_t)(mix(seed ^ 0x5eed, index << 16 | i / 8) >> (i % 8 * 8));
}

static uint32_t datagram_from(const struct capture_options *options, uint32_t ip, uint16_t udp_port,
	uint32_t index, const uint8_t *payload, uint32_t bytes, uint8_t *out)
{
	struct packet_local source = {.ip = ip, .udp_port = udp_port};
	struct packet_link link;

	memcpy(source.mac, options->source_mac, 6);
	packet_link_build(&link, &source, options->mac, options->ip, options->udp_port);
	memcpy(out + link.bytes, payload, bytes);
	return packet_link_write(&link, out, bytes, (uint16_t)index, false);
}

/* UDP from source number index. */
static uint32_t datagram(const struct capture_options *options, uint32_t index,
	const uint8_t *payload, uint32_t bytes, uint8_t *out)
{
	return datagram_from(options, SOURCE_IP + index / SOURCE_PORTS % 0x3ffffd,
		(uint16_t)(20000 + index % SOURCE_PORTS), index, payload, bytes, out);
}

/* A message of one of the benchmark sessions. Only a reliable one has a sent time in its header. */
static uint32_t message(
	enum capture capture, const struct capture_options *options, uint32_t index, uint8_t *out)
{
	uint32_t session = index % options->benchmark.sessions;
	uint32_t number = index / options->benchmark.sessions + 1, bytes;
	uint8_t text[CAPTURE_MESSAGE_MAX], payload[PAYLOAD_BYTES_MAX];
	struct lean_client client = {.peer_id = BENCHMARK_PEER_ID, .session = BENCHMARK_SESSION};

	fill(options->seed, index, text, options->message_bytes);
	packet_put32(text, session);
	packet_put32(text + 4, number);
	client.reliable[0] = client.unreliable[0] = (uint16_t)(number - 1);
	if (capture == CAPTURE_RELIABLE) {
		bytes = lean_send_reliable(
			&client, 0, text, options->message_bytes, index & 0xffff, payload);
	} else if (capture == CAPTURE_UNRELIABLE) {
		client.reliable[0] = 0;
		bytes = lean_send_unreliable(&client, 0, text, options->message_bytes, payload);
	} else {
		bytes = lean_send_unsequenced(
			&client, 0, (uint16_t)number, text, options->message_bytes, payload);
	}
	return datagram_from(options, options->benchmark.ip + session,
		(uint16_t)options->benchmark.udp_port, index, payload, bytes, out);
}

static uint32_t probe_payload(const struct capture_options *options, uint32_t index, uint8_t *out)
{
	uint32_t bytes = SW_PROBE_BYTES_MIN + (uint32_t)(mix(options->seed, index) % 507);

	fill(options->seed, index, out, bytes);
	out[0] = SW_PROBE_0;
	out[1] = SW_PROBE_1;
	out[2] = SW_PROBE_REQUEST;
	out[3] = 0;
	return bytes;
}

static uint32_t connect_payload(const struct capture_options *options, uint32_t index, uint8_t *out)
{
	struct lean_client client;

	return lean_connect(&client, (uint32_t)mix(options->seed, index), (uint16_t)(index % 4095),
		0, index & 0xffff, out);
}

static uint32_t enet_payload(const struct capture_options *options, uint32_t index, uint8_t *out,
	struct capture_fate *fate)
{
	uint32_t c = index % ENET_CASES, bytes = enet_cases[c].count;

	*fate = (struct capture_fate){"enet", enet_cases[c].counter};
	memcpy(out, enet_cases[c].bytes, bytes);
	if (enet_cases[c].connect) {
		bytes = connect_payload(options, index, out);
		packet_put32(out + enet_cases[c].at, enet_cases[c].value);
	}
	return bytes;
}

static uint32_t probe_bad_payload(uint32_t index, uint8_t *out)
{
	uint32_t c = index % PROBE_BAD_CASES;

	if (c == PROBE_BAD_CASES - 1) {
		memcpy(out, probe_bad[0], 5);
		return 5;
	}
	memcpy(out, probe_bad[c], sizeof(probe_bad[c]));
	return sizeof(probe_bad[c]);
}

/* Refused cases that a port without VLAN can see, and IPv6's only for a port that has it. */
static bool malformed_has(const struct frame_case *c, bool ip6)
{
	return c->kind == PACKET_REFUSED && !c->tagged_port && !c->stripped &&
	       (frame_is_ip6(c->base) && !c->no_ip6) == ip6;
}

static uint32_t malformed_cases(bool ip6)
{
	uint32_t count = 0;

	for (size_t i = 0; i < FRAME_CASES; i++)
		count += malformed_has(&frame_cases[i], ip6);
	return count;
}

static uint32_t malformed(const struct capture_options *options, bool ip6, uint32_t index,
	uint8_t *out, struct capture_fate *fate)
{
	uint32_t left = index % malformed_cases(ip6), i = 0;
	struct packet_frame view;

	while (!malformed_has(&frame_cases[i], ip6) || left--)
		i++;
	frame_build(&frame_cases[i], out, &view);
	/* MACs are in no checksum. */
	for (int at = 0; at < 12; at += 6)
		if (!memcmp(out + at, frames_local.mac, 6))
			memcpy(out + at, options->mac, 6);
	*fate = (struct capture_fate){"dataplane", drop_names[frame_cases[i].drop]};
	return view.bytes;
}

uint32_t capture_period(enum capture capture)
{
	switch (capture) {
	case CAPTURE_MALFORMED:
		return malformed_cases(false);
	case CAPTURE_MALFORMED6:
		return malformed_cases(true);
	case CAPTURE_ENET:
		return ENET_CASES;
	case CAPTURE_PROBE_BAD:
		return PROBE_BAD_CASES;
	default:
		return 0;
	}
}

uint32_t capture_frame(enum capture capture, const struct capture_options *options, uint32_t index,
	uint8_t *out, struct capture_fate *fate)
{
	uint8_t payload[PAYLOAD_BYTES_MAX];
	uint32_t bytes = 0;

	switch (capture) {
	case CAPTURE_MALFORMED:
	case CAPTURE_MALFORMED6:
		return malformed(options, capture == CAPTURE_MALFORMED6, index, out, fate);
	case CAPTURE_PROBE:
		*fate = (struct capture_fate){"dataplane", "probe_replies"};
		bytes = probe_payload(options, index, payload);
		break;
	case CAPTURE_PROBE_BAD:
		*fate = (struct capture_fate){"dataplane", "drop_probe_malformed"};
		bytes = probe_bad_payload(index, payload);
		break;
	case CAPTURE_ENET:
		bytes = enet_payload(options, index, payload, fate);
		break;
	case CAPTURE_RANDOM:
		*fate = (struct capture_fate){"enet", NULL};
		bytes = 1 + (uint32_t)(mix(options->seed, index) % 200);
		fill(options->seed, index, payload, bytes);
		break;
	case CAPTURE_CONNECT:
		*fate = (struct capture_fate){"enet", "verifies_out"};
		bytes = connect_payload(options, index, payload);
		break;
	case CAPTURE_UNSEQUENCED:
	case CAPTURE_UNRELIABLE:
	case CAPTURE_RELIABLE:
		*fate = (struct capture_fate){"enet", "delivered"};
		return message(capture, options, index, out);
	case CAPTURE_COUNT:
		break;
	}
	return datagram(options, index, payload, bytes, out);
}
