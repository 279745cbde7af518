/* echo_client: a stock libenet client that proves an echo server: every kind of packet comes back
 * whole, on its channel; then a graceful disconnect.
 *   stormweir-echo-client ADDRESS PORT [crc]
 * Exit 0 when all came back, 1 with a sentence otherwise. */
#include <enet/enet.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#define STEP_MS  5000u /* generous: the machine may be busy; nothing here measures time */
#define TRIES    20    /* an unreliable packet may be lost */
#define CHANNELS 4u

static const struct {
	const char *name;
	enet_uint32 flags;
	size_t bytes;
} kinds[] = {
	{"reliable", ENET_PACKET_FLAG_RELIABLE, 40},
	{"unreliable", 0, 40},
	{"unsequenced", ENET_PACKET_FLAG_UNSEQUENCED, 40},
	{"reliable, one byte", ENET_PACKET_FLAG_RELIABLE, 1},
	{"unreliable, as large as a datagram", 0, 1380},
	{"reliable fragments", ENET_PACKET_FLAG_RELIABLE, 20000},
	{"unreliable fragments", ENET_PACKET_FLAG_UNRELIABLE_FRAGMENT, 8000},
};

static unsigned char out[65536];

static int fail(const char *what, const char *name)
{
	fprintf(stderr, "echo_client: %s: %s\n", name, what);
	return 1;
}

/* As enet_host_service, which sends nothing again while it waits: so in short pieces, as a game's
 * frames are. */
static int serve(ENetHost *host, ENetEvent *event, enet_uint32 ms)
{
	enet_uint32 begin = enet_time_get();
	int ret;

	do {
		ret = enet_host_service(host, event, 20);
	} while (!ret && enet_time_get() - begin < ms);
	return ret;
}

/* 0: came back; 1: something else did; -1: nothing in time. */
static int wait_for(ENetHost *host, enet_uint8 channel, size_t bytes, enet_uint32 ms)
{
	ENetEvent event;

	while (serve(host, &event, ms) > 0) {
		int same;

		if (event.type == ENET_EVENT_TYPE_DISCONNECT)
			return 1;
		if (event.type != ENET_EVENT_TYPE_RECEIVE)
			continue;
		same = event.channelID == channel && event.packet->dataLength == bytes &&
		       !memcmp(event.packet->data, out, bytes);
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

static int echo_all(ENetHost *host, ENetPeer *peer)
{
	unsigned char number = 0;

	for (size_t k = 0; k < sizeof(kinds) / sizeof(kinds[0]); k++) {
		for (enet_uint8 channel = 0; channel < CHANNELS; channel++) {
			int came = -1;

			for (int try = 0; try < TRIES && came < 0; try++) {
				int reliable = kinds[k].flags == ENET_PACKET_FLAG_RELIABLE;

				out[0] = ++number;
				for (size_t i = 1; i < kinds[k].bytes; i++)
					out[i] = (unsigned char)(i * 31 + number + channel);
				enet_peer_send(peer, channel,
					enet_packet_create(out, kinds[k].bytes, kinds[k].flags));
				came = wait_for(host, channel, kinds[k].bytes,
					reliable ? STEP_MS : STEP_MS / TRIES);
				if (reliable)
					break;
			}
			if (came)
				return fail(came < 0 ? "did not come back" : "came back changed",
					kinds[k].name);
		}
	}
	return 0;
}

int main(int argc, char **argv)
{
	ENetAddress address;
	ENetEvent event;
	ENetHost *host;
	ENetPeer *peer;
	int ret;

	if (argc < 3)
		return fail("ADDRESS PORT [crc]", "arguments");
	if (enet_initialize() || enet_address_set_host_ip(&address, argv[1]))
		return fail("not an IPv4 address", argv[1]);
	address.port = (enet_uint16)atoi(argv[2]);
	host = enet_host_create(NULL, 1, CHANNELS, 0, 0);
	if (!host)
		return fail("no host", "libenet");
	if (argc > 3)
		host->checksum = enet_crc32;
	peer = enet_host_connect(host, &address, CHANNELS, 77);
	if (!peer || serve(host, &event, STEP_MS) <= 0 || event.type != ENET_EVENT_TYPE_CONNECT)
		return fail("not connected", argv[1]);
	ret = echo_all(host, peer);
	if (ret)
		return ret;
	enet_peer_disconnect(peer, 0);
	while ((ret = serve(host, &event, STEP_MS)) > 0)
		if (event.type == ENET_EVENT_TYPE_DISCONNECT)
			break;
	if (ret <= 0)
		return fail("was not acknowledged", "disconnect");
	printf("all came back\n");
	enet_host_destroy(host);
	return 0;
}
