/* stock_echo: the reference: an echo server on unmodified libenet and kernel sockets, busy polling,
 * one thread.   stormweir-stock-echo ADDRESS PORT PEERS
 * Each packet goes back to its sender on its channel with its flags. SIGINT: figures, exit 0. */
#include <enet/enet.h>
#include <signal.h>
#include <stdio.h>
#include <stdlib.h>

static volatile sig_atomic_t stop;

static void on_signal(int number)
{
	(void)number;
	stop = 1;
}

/* libenet keeps a received packet's flags; the receiver's own bits go. */
static void echo(ENetEvent *event)
{
	ENetPacket *packet = enet_packet_create(event->packet->data, event->packet->dataLength,
		event->packet->flags & (ENET_PACKET_FLAG_RELIABLE | ENET_PACKET_FLAG_UNSEQUENCED |
					       ENET_PACKET_FLAG_UNRELIABLE_FRAGMENT));

	if (!packet || enet_peer_send(event->peer, event->channelID, packet))
		enet_packet_destroy(packet);
	enet_packet_destroy(event->packet);
}

int main(int argc, char **argv)
{
	unsigned long messages = 0;
	ENetAddress address;
	ENetEvent event;
	ENetHost *host;

	if (argc != 4) {
		fprintf(stderr, "stormweir-stock-echo ADDRESS PORT PEERS\n");
		return 2;
	}
	signal(SIGINT, on_signal);
	signal(SIGTERM, on_signal);
	if (enet_initialize() || enet_address_set_host(&address, argv[1])) {
		fprintf(stderr, "stock-echo: %s is not an IPv4 address\n", argv[1]);
		return 1;
	}
	address.port = (enet_uint16)atoi(argv[2]);
	host = enet_host_create(&address, (size_t)atoi(argv[3]), 4, 0, 0);
	if (!host) {
		fprintf(stderr, "stock-echo: no host on %s:%s\n", argv[1], argv[2]);
		return 1;
	}
	enet_socket_set_option(host->socket, ENET_SOCKOPT_RCVBUF, 8 << 20);
	enet_socket_set_option(host->socket, ENET_SOCKOPT_SNDBUF, 8 << 20);
	printf("stock-echo: ready\n");
	fflush(stdout);
	while (!stop) {
		while (enet_host_service(host, &event, 0) > 0) {
			if (event.type == ENET_EVENT_TYPE_RECEIVE) {
				echo(&event);
				messages++;
			}
		}
	}
	printf("stock-echo: %lu messages\n", messages);
	enet_host_destroy(host);
	enet_deinitialize();
	return 0;
}
