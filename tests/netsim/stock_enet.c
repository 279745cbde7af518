/* stock_enet.c: see stock_enet.h. The signatures are those of enet/enet.h. */
#include <arpa/inet.h>
#include <enet/enet.h>
#include <stdlib.h>
#include <string.h>

#include "tests/netsim/stock_enet.h"

#define SOCKETS_MAX 4096

static struct {
	struct netsim *sim;
	uint32_t ip, skew_ms;
	uint16_t port_next;
	struct netsim_address sockets[SOCKETS_MAX];
	bool used[SOCKETS_MAX];
} stock;

void stock_enet_attach(struct netsim *sim, uint32_t ip, uint32_t skew_ms)
{
	stock.sim = sim;
	stock.ip = ip;
	stock.skew_ms = skew_ms;
	if (stock.port_next == 0)
		stock.port_next = 20000;
}

int stock_enet_sockets(void)
{
	int n = 0;

	for (int i = 0; i < SOCKETS_MAX; i++)
		n += stock.used[i];
	return n;
}

enet_uint32 enet_time_get(void)
{
	return (enet_uint32)netsim_now_ms(stock.sim) + stock.skew_ms;
}

enet_uint32 enet_host_random_seed(void)
{
	return netsim_random(stock.sim, UINT32_MAX);
}

ENetSocket enet_socket_create(ENetSocketType type)
{
	(void)type;
	for (int i = 0; i < SOCKETS_MAX; i++) {
		if (stock.used[i])
			continue;
		stock.used[i] = true;
		stock.sockets[i] = (struct netsim_address){stock.ip, stock.port_next++};
		if (stock.port_next == 0)
			stock.port_next = 20000;
		return i;
	}
	return ENET_SOCKET_NULL;
}

void enet_socket_destroy(ENetSocket socket)
{
	if (socket != ENET_SOCKET_NULL)
		stock.used[socket] = false;
}

int enet_socket_bind(ENetSocket socket, const ENetAddress *address)
{
	if (address && address->port)
		stock.sockets[socket].port = address->port;
	if (address && address->host != ENET_HOST_ANY)
		stock.sockets[socket].ip = ntohl(address->host);
	return 0;
}

int enet_socket_get_address(ENetSocket socket, ENetAddress *address)
{
	address->host = htonl(stock.sockets[socket].ip);
	address->port = stock.sockets[socket].port;
	return 0;
}

int enet_socket_set_option(ENetSocket socket, ENetSocketOption option, int value)
{
	(void)socket;
	(void)option;
	(void)value;
	return 0;
}

int enet_socket_send(
	ENetSocket socket, const ENetAddress *address, const ENetBuffer *buffers, size_t count)
{
	uint8_t data[ENET_PROTOCOL_MAXIMUM_MTU + 64];
	size_t bytes = 0;

	for (size_t i = 0; i < count; i++) {
		if (buffers[i].dataLength > sizeof data - bytes)
			abort();
		if (buffers[i].dataLength) /* an empty packet has no data */
			memcpy(data + bytes, buffers[i].data, buffers[i].dataLength);
		bytes += buffers[i].dataLength;
	}
	netsim_send(stock.sim, stock.sockets[socket],
		(struct netsim_address){ntohl(address->host), address->port}, data, bytes);
	return (int)bytes;
}

int enet_socket_receive(ENetSocket socket, ENetAddress *address, ENetBuffer *buffers, size_t count)
{
	struct netsim_address from;
	int bytes;

	if (count != 1)
		abort();
	bytes = netsim_receive(
		stock.sim, stock.sockets[socket], &from, buffers->data, buffers->dataLength);
	if (bytes < 0)
		return 0;
	if (address) {
		address->host = htonl(from.ip);
		address->port = from.port;
	}
	return bytes;
}

int enet_socket_wait(ENetSocket socket, enet_uint32 *condition, enet_uint32 timeout_ms)
{
	(void)socket;
	(void)timeout_ms;
	*condition = ENET_SOCKET_WAIT_NONE;
	return 0;
}
