/* stormweir-lean6: an ENet client over IPv6, which stock libenet 1.3.17 cannot be: lean_client.h on
 * a kernel socket. Proves an echo server: connects, sends messages of all sizes, takes each of them
 * back, and leaves.
 *   stormweir-lean6 ADDRESS[%INTERFACE] PORT
 * Exit 0 when all came back, 1 with a sentence otherwise. */
#include <errno.h>
#include <netdb.h>
#include <poll.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/socket.h>
#include <unistd.h>

#include "common/mono.h"
#include "dataplane/lean_client.h"

#define TRIES     100   /* of 100 ms: the machine may be busy */
#define BYTES_MAX 1386u /* what fits a datagram of 1,400 bytes */
#define STEP      7u

static struct {
	int fd;
	struct lean_client client;
	uint8_t message[BYTES_MAX];
	uint32_t bytes, echoes;
} me;

static uint32_t now_ms(void)
{
	return (uint32_t)(mono_ns() / NS_PER_MS);
}

static int fail(const char *what)
{
	fprintf(stderr, "lean6: %s\n", what);
	return 1;
}

static void put(const uint8_t *datagram, uint32_t bytes)
{
	/* A lost or refused one is sent again by whoever waits. */
	if (bytes && send(me.fd, datagram, bytes, 0) < 0 && errno != ECONNREFUSED)
		perror("lean6: send");
}

static void on_message(
	void *ctx, uint8_t channel, bool reliable, const uint8_t *payload, uint32_t bytes)
{
	(void)ctx;
	(void)channel;
	(void)reliable;
	me.echoes += bytes == me.bytes && !memcmp(payload, me.message, bytes);
}

/* What has come within ms. */
static void receive(int ms)
{
	const struct lean_sink sink = {.message = on_message};
	struct pollfd wait = {.fd = me.fd, .events = POLLIN};
	uint8_t in[2048], out[LEAN_OUT_BYTES];
	ssize_t n;

	if (poll(&wait, 1, ms) <= 0)
		return;
	while ((n = recv(me.fd, in, sizeof(in), MSG_DONTWAIT)) > 0)
		put(out, lean_read(&me.client, in, (uint32_t)n, &sink, now_ms(), out));
}

static int reach(const char *address, const char *port)
{
	const struct addrinfo hints = {.ai_family = AF_INET6,
		.ai_socktype = SOCK_DGRAM,
		.ai_flags = AI_NUMERICHOST | AI_NUMERICSERV};
	struct addrinfo *to;

	if (getaddrinfo(address, port, &hints, &to))
		return fail("not an IPv6 address and port");
	me.fd = socket(AF_INET6, SOCK_DGRAM | SOCK_CLOEXEC, 0);
	if (me.fd < 0 || connect(me.fd, to->ai_addr, to->ai_addrlen))
		return fail(strerror(errno));
	freeaddrinfo(to);
	return 0;
}

/* One message, repeated until its echo is there. Repeating is what a retransmission is: the same
 * datagram; the server takes it once. */
static int echo(bool reliable)
{
	uint8_t out[LEAN_OUT_BYTES];
	uint32_t before = me.echoes, bytes;

	for (uint32_t i = 0; i < me.bytes; i++)
		me.message[i] = (uint8_t)(i * 31 + me.bytes + reliable);
	bytes = reliable ? lean_send_reliable(&me.client, 0, me.message, me.bytes, now_ms(), out)
			 : lean_send_unreliable(&me.client, 1, me.message, me.bytes, out);
	for (int try = 0; try < TRIES && me.echoes == before; try++) {
		put(out, bytes);
		if (!reliable) /* the same number again would be a late one */
			bytes = lean_send_unreliable(&me.client, 1, me.message, me.bytes, out);
		receive(100);
	}
	return me.echoes == before;
}

int main(int argc, char **argv)
{
	uint8_t out[LEAN_OUT_BYTES];
	uint32_t bytes;

	if (argc != 3)
		return fail("ADDRESS PORT");
	if (reach(argv[1], argv[2]))
		return 1;
	bytes = lean_connect(&me.client, (uint32_t)mono_ns(), 5, 77, now_ms(), out);
	for (int try = 0; try < TRIES && me.client.state != LEAN_CONNECTED; try++) {
		put(out, bytes);
		receive(100);
	}
	if (me.client.state != LEAN_CONNECTED)
		return fail("not connected");
	for (me.bytes = 1; me.bytes <= BYTES_MAX; me.bytes += STEP)
		if (echo(true) || echo(false)) {
			fprintf(stderr, "lean6: %u bytes did not come back\n", me.bytes);
			return 1;
		}
	put(out, lean_disconnect(&me.client, 0, now_ms(), out));
	printf("%u messages came back\n", me.echoes);
	return 0;
}
