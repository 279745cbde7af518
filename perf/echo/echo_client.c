/* echo_client: a stock libenet client that proves an echo server: every kind of packet comes back
 * whole, on its channel; then a graceful disconnect.
 *   stormweir-echo-client ADDRESS PORT [crc] [range] [later] [NAME=VALUE]...
 * crc, range: libenet's checksum and range coder are on. later: leaves by disconnect_later, with
 * packets on the way. The numbers and what they are without: the table NUMBERS. Exit 0 when all
 * came back, 1 with a sentence otherwise. */
#include <enet/enet.h>
#include <enet/time.h>
#include <stdbool.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#define STEP_MS     5000u /* generous: the machine may be busy; nothing here measures time */
#define TRIES       20u   /* an unreliable packet may be lost */
#define BYTES_MAX   (1u << 20)
#define LATER_COUNT 100u
#define ANY_REASON  0xffffffffu

/* X(name, otherwise, what) */
/* clang-format off */
#define NUMBERS(X) \
	X(channels, 4, "channels asked for; all are used") \
	X(mtu, 0, "the host's, 0: libenet's own") \
	X(in, 0, "incoming bandwidth, bytes/s") \
	X(out, 0, "outgoing bandwidth, bytes/s") \
	X(large, 20000, "bytes of the reliable packet in fragments; half of it goes unreliably") \
	X(peers, 1, "connections of one host to the server, at once") \
	X(lives, 1, "how often each connects, one life after the other") \
	X(idle, 0, "milliseconds of silence before the end; ENet's pings go on") \
	X(frame, 20, "milliseconds that one enet_host_service waits") \
	X(refused, 0, "not 0: connecting must end with this reason") \
	X(told, 0, "not 0: does not leave, but waits for the server to say this reason")
/* clang-format on */

struct options {
#define MEMBER(name, otherwise, what) enet_uint32 name;
	NUMBERS(MEMBER)
#undef MEMBER
	bool crc, range, later;
};

static const struct {
	const char *name;
	enet_uint32 flags, bytes; /* bytes 0: options.large; 1 with fragments: half of it */
} kinds[] = {
	{"reliable", ENET_PACKET_FLAG_RELIABLE, 40},
	{"unreliable", 0, 40},
	{"unsequenced", ENET_PACKET_FLAG_UNSEQUENCED, 40},
	{"reliable, one byte", ENET_PACKET_FLAG_RELIABLE, 1},
	{"unreliable, as large as a datagram", 0, 1380},
	{"reliable fragments", ENET_PACKET_FLAG_RELIABLE, 0},
	{"unreliable fragments", ENET_PACKET_FLAG_UNRELIABLE_FRAGMENT, 1},
};

static unsigned char out[BYTES_MAX];
static unsigned char number;
static enet_uint32 frame_ms;

static int fail(const char *what, const char *name)
{
	fprintf(stderr, "echo_client: %s: %s\n", name, what);
	return 1;
}

static void fill(size_t bytes, enet_uint8 channel)
{
	out[0] = ++number;
	for (size_t i = 1; i < bytes; i++)
		out[i] = (unsigned char)(i * 31 + number + channel);
}

/* As enet_host_service, which sends nothing again while it waits: so in pieces, as a game's frames
 * are. */
static int serve(ENetHost *host, ENetEvent *event, enet_uint32 ms)
{
	enet_uint32 begin = enet_time_get();
	int ret;

	do {
		ret = enet_host_service(host, event, frame_ms < ms ? frame_ms : ms);
	} while (!ret && enet_time_get() - begin < ms);
	return ret;
}

/* 0: came back; 1: something else did; -1: nothing in time. */
static int wait_for(
	ENetHost *host, const ENetPeer *peer, enet_uint8 channel, size_t bytes, enet_uint32 ms)
{
	ENetEvent event;

	while (serve(host, &event, ms) > 0) {
		bool same;

		if (event.type == ENET_EVENT_TYPE_DISCONNECT)
			return 1;
		if (event.type != ENET_EVENT_TYPE_RECEIVE)
			continue;
		same = event.peer == peer && event.channelID == channel &&
		       event.packet->dataLength == bytes && !memcmp(event.packet->data, out, bytes);
		/* A late answer to an earlier try has that try's number. */
		if (!same && event.packet->data[0] == out[0]) {
			enet_packet_destroy(event.packet);
			return 1;
		}
		enet_packet_destroy(event.packet);
		if (same)
			return 0;
	}
	return -1;
}

static int echo_kind(ENetHost *host, ENetPeer *peer, const struct options *o, size_t k)
{
	bool reliable = kinds[k].flags == ENET_PACKET_FLAG_RELIABLE;
	size_t bytes = kinds[k].bytes;

	if (!bytes)
		bytes = o->large;
	else if (kinds[k].flags == ENET_PACKET_FLAG_UNRELIABLE_FRAGMENT)
		bytes = o->large / 2;
	for (size_t channel = 0; channel < peer->channelCount; channel++) {
		int came = -1;

		for (size_t try = 0; try < (reliable ? 1 : TRIES) && came < 0; try++) {
			ENetPacket *packet;

			fill(bytes, (enet_uint8)channel);
			packet = enet_packet_create(out, bytes, kinds[k].flags);
			if (enet_peer_send(peer, (enet_uint8)channel, packet) < 0)
				return fail("could not be sent", kinds[k].name);
			came = wait_for(host, peer, (enet_uint8)channel, bytes,
				reliable ? STEP_MS : STEP_MS / TRIES);
		}
		if (came)
			return fail(came < 0 ? "did not come back" : "came back changed",
				kinds[k].name);
	}
	return 0;
}

/* Serves host until an event of the type; others than packets are a failure. Returns its data in
 * *data. */
static int wait_event(ENetHost *host, ENetEventType type, enet_uint32 ms, enet_uint32 *data)
{
	ENetEvent event;

	while (serve(host, &event, ms) > 0) {
		if (event.type == ENET_EVENT_TYPE_RECEIVE)
			enet_packet_destroy(event.packet);
		if (event.type == type) {
			*data = event.data;
			return 0;
		}
		if (event.type != ENET_EVENT_TYPE_RECEIVE)
			return -1;
	}
	return -1;
}

/* Nothing but pings; a connection that the server gave up would show. */
static int be_idle(ENetHost *host, enet_uint32 ms)
{
	enet_uint32 end = enet_time_get() + ms;
	ENetEvent event;

	while (ENET_TIME_LESS(enet_time_get(), end)) {
		if (enet_host_service(host, &event, 100) <= 0)
			continue;
		if (event.type != ENET_EVENT_TYPE_RECEIVE)
			return fail("the connection broke", "idle");
		enet_packet_destroy(event.packet);
	}
	return 0;
}

static int leave(ENetHost *host, ENetPeer **peers, const struct options *o)
{
	enet_uint32 data;

	for (enet_uint32 i = 0; i < o->peers; i++) {
		if (o->later) {
			for (size_t n = 0; n < LATER_COUNT; n++)
				enet_peer_send(peers[i], 0,
					enet_packet_create(out, 1000, ENET_PACKET_FLAG_RELIABLE));
			enet_peer_disconnect_later(peers[i], 7 + i);
		} else if (!o->told) {
			enet_peer_disconnect(peers[i], 7 + i);
		}
	}
	for (enet_uint32 i = 0; i < o->peers; i++) {
		if (wait_event(host, ENET_EVENT_TYPE_DISCONNECT, STEP_MS, &data))
			return fail("was not acknowledged", "disconnect");
		if (o->told && data != o->told)
			return fail("is not the one expected", "reason");
	}
	return 0;
}

static int live(ENetHost *host, const ENetAddress *address, const struct options *o)
{
	ENetPeer *peers[4096];
	enet_uint32 data;

	for (enet_uint32 i = 0; i < o->peers; i++) {
		peers[i] = enet_host_connect(host, address, o->channels, 77 + i);
		if (!peers[i])
			return fail("no peer", "libenet");
		if (o->refused) {
			if (wait_event(host, ENET_EVENT_TYPE_DISCONNECT, STEP_MS, &data))
				return fail("not told", "refusal");
			if (o->refused != ANY_REASON && data != o->refused)
				return fail("another reason", "refusal");
			continue;
		}
		if (wait_event(host, ENET_EVENT_TYPE_CONNECT, STEP_MS, &data))
			return fail("not connected", "connect");
	}
	if (o->refused)
		return 0;
	for (enet_uint32 i = 0; i < o->peers; i++)
		for (size_t k = 0; k < sizeof(kinds) / sizeof(kinds[0]); k++)
			if (echo_kind(host, peers[i], o, k))
				return 1;
	return be_idle(host, o->idle) || leave(host, peers, o);
}

static int option(struct options *o, const char *word)
{
	const char *value = strchr(word, '=');

	if (!strcmp(word, "crc"))
		return !(o->crc = true);
	if (!strcmp(word, "range"))
		return !(o->range = true);
	if (!strcmp(word, "later"))
		return !(o->later = true);
#define NUMBER(name, otherwise, what)                                                              \
	if (value && !strncmp(word, #name "=", sizeof(#name)))                                     \
		return o->name = (enet_uint32)strtoul(value + 1, NULL, 10), 0;
	NUMBERS(NUMBER)
#undef NUMBER
	return 1;
}

int main(int argc, char **argv)
{
#define OTHERWISE(name, otherwise, what) .name = (otherwise),
	struct options o = {NUMBERS(OTHERWISE)};
#undef OTHERWISE
	ENetAddress address;
	ENetHost *host;

	if (argc < 3)
		return fail("ADDRESS PORT [crc] [range] [later] [NAME=VALUE]...", "arguments");
	for (int i = 3; i < argc; i++)
		if (option(&o, argv[i]))
			return fail("unknown", argv[i]);
	if (o.peers < 1 || o.peers > 4095 || o.large < 2 || o.large > BYTES_MAX)
		return fail("out of range", "peers or large");
	if (enet_initialize() || enet_address_set_host(&address, argv[1]))
		return fail("not an IPv4 address", argv[1]);
	address.port = (enet_uint16)atoi(argv[2]);
	frame_ms = o.frame;
	host = enet_host_create(NULL, o.peers, o.channels, o.in, o.out);
	if (!host)
		return fail("no host", "libenet");
	if (o.crc)
		host->checksum = enet_crc32;
	if (o.range)
		enet_host_compress_with_range_coder(host);
	for (enet_uint32 i = 0; o.mtu && i < o.peers;
		i++) /* each took the host's when it was made */
		host->peers[i].mtu = host->mtu = o.mtu;
	for (enet_uint32 i = 0; i < o.lives; i++)
		if (live(host, &address, &o))
			return 1;
	printf("all came back\n");
	enet_host_destroy(host);
	return 0;
}
