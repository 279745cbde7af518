/* rude: a client that sends what no client may, over stock libenet or as bare datagrams, for the
 * end-to-end test.
 *
 *   rude ADDRESS PORT noise COUNT         COUNT datagrams of random bytes; waits for no answer
 *   rude ADDRESS PORT hello               connects, sends random bytes instead of a Hello
 *   rude ADDRESS PORT silent              connects and says nothing
 *   rude ADDRESS PORT large BYTES         connects, sends a packet of that size
 *   rude ADDRESS PORT play TICKET-FILE    joins with a raw ticket, then sends random messages
 *
 * Prints the reason that the server closes with, as its number, or "timeout" after 15 s. Exit code
 * 0 unless it could not connect at all. The random numbers are the same in each run. */
#include <stdbool.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include <enet/enet.h>

#include "proto/client.pb-c.h"
#include "proto/message_types.h"

static uint64_t random_state = 88172645463325252ull;

static uint32_t next(void)
{
	random_state ^= random_state << 13;
	random_state ^= random_state >> 7;
	random_state ^= random_state << 17;
	return (uint32_t)(random_state >> 16);
}

static void noise(const ENetAddress *to, int count)
{
	ENetSocket out = enet_socket_create(ENET_SOCKET_TYPE_DATAGRAM);
	uint8_t bytes[1400];

	for (int i = 0; i < count; i++) {
		ENetBuffer buffer = {
			.data = bytes, .dataLength = next() % (i % 8 ? 64 : sizeof(bytes))};

		for (size_t b = 0; b < buffer.dataLength; b++)
			bytes[b] = (uint8_t)next();
		/* Half of them look like a CONNECT or a command of some peer. */
		if (i % 2 && buffer.dataLength >= 8) {
			bytes[0] = i % 4 == 1 ? 0x8f : 0x80;
			bytes[1] = i % 4 == 1 ? 0xff : (uint8_t)next() % 128;
			bytes[4] = (uint8_t)(0x80 | next() % 16);
		}
		enet_socket_send(out, to, &buffer, 1);
	}
	enet_socket_destroy(out);
}

static void send_bytes(ENetPeer *peer, uint8_t channel, const void *bytes, size_t count)
{
	ENetPacket *packet = enet_packet_create(bytes, count, ENET_PACKET_FLAG_RELIABLE);

	if (enet_peer_send(peer, channel, packet))
		enet_packet_destroy(packet);
}

static void send_garbage(ENetPeer *peer, uint8_t type_first, uint8_t types)
{
	uint8_t bytes[200];
	size_t count = 1 + next() % (sizeof(bytes) - 1);

	for (size_t i = 0; i < count; i++)
		bytes[i] = (uint8_t)next();
	if (types)
		bytes[0] = (uint8_t)(type_first + next() % types);
	send_bytes(peer, (uint8_t)(next() % SW_CHANNELS), bytes, count);
}

static void send_hello(ENetPeer *peer, const char *path)
{
	uint8_t ticket[1024], packet[2048] = {SW_MSG_HELLO};
	Sw__Hello hello = SW__HELLO__INIT;
	FILE *file = fopen(path, "rb");

	if (!file) {
		perror(path);
		exit(2);
	}
	hello.protocol_version = SW_PROTOCOL_VERSION;
	hello.ticket.data = ticket;
	hello.ticket.len = fread(ticket, 1, sizeof(ticket), file);
	hello.client_build = "rude";
	fclose(file);
	send_bytes(peer, SW_CHANNEL_SESSION, packet, 1 + sw__hello__pack(&hello, packet + 1));
}

int main(int argc, char **argv)
{
	ENetAddress to;
	ENetHost *host;
	ENetPeer *peer;
	ENetEvent event;
	const char *mode = argc > 3 ? argv[3] : "", *argument = argc > 4 ? argv[4] : "";
	bool connected = false, joined = false;

	if (argc < 4 || enet_initialize() || enet_address_set_host_ip(&to, argv[1])) {
		fprintf(stderr, "usage: %s ADDRESS PORT noise|hello|silent|large|play [ARGUMENT]\n",
			argv[0]);
		return 2;
	}
	to.port = (enet_uint16)atoi(argv[2]);
	if (!strcmp(mode, "noise")) {
		noise(&to, atoi(argument));
		return 0;
	}
	host = enet_host_create(NULL, 1, SW_CHANNELS, 0, 0);
	peer = host ? enet_host_connect(host, &to, SW_CHANNELS, SW_PROTOCOL_VERSION) : NULL;
	if (!peer)
		return 2;
	for (int turn = 0; turn < 1500; turn++) {
		int got = enet_host_service(host, &event, 10);

		if (got > 0 && event.type == ENET_EVENT_TYPE_DISCONNECT) {
			printf("%u\n", event.data);
			return connected ? 0 : 1;
		}
		if (got > 0 && event.type == ENET_EVENT_TYPE_CONNECT) {
			connected = true;
			if (!strcmp(mode, "play"))
				send_hello(peer, argument);
			if (!strcmp(mode, "large")) {
				size_t count = (size_t)atol(argument);
				void *bytes = calloc(1, count);

				send_bytes(peer, SW_CHANNEL_SESSION, bytes, count);
				free(bytes);
			}
		}
		if (got > 0 && event.type == ENET_EVENT_TYPE_RECEIVE) {
			joined = joined || event.packet->data[0] == SW_MSG_JOINED;
			enet_packet_destroy(event.packet);
		}
		if (connected && !strcmp(mode, "hello"))
			send_garbage(peer, 0, 0);
		if (joined)
			send_garbage(peer, SW_SIMULATION_FIRST, 12);
	}
	puts("timeout");
	return connected ? 0 : 1;
}
