/* stormweir-gen-kernel: the same clients over kernel sockets: what stock libenet is measured with.
 * A socket carries at most 4,095 clients, since the server's headers name one by 12 bits; the next
 * ones go to the server's next port, another ENet host. Datagrams of one size leave in one call,
 * cut apart by the kernel (UDP_SEGMENT), and come in 64 to a call: half the cost of one call each,
 * so that the server is the slower side. stormweir-gen-kernel --tx-ip 127.0.0.1 --tx-udp 7777
 * --clients 1000 */
#include <arpa/inet.h>
#include <errno.h>
#include <inttypes.h>
#include <netinet/udp.h>
#include <signal.h>
#include <stdlib.h>
#include <string.h>
#include <sys/socket.h>
#include <unistd.h>

#include "dataplane/lean_client.h"
#include "perf/gen/enet_load.h"
#include "perf/gen/game_load.h"
#include "perf/gen/options.h"

#define BATCH       64u /* the kernel's most segments */
#define CALL_BYTES  60000u
#define CLIENTS_MAX 4095u /* of one socket */
#define SOCKETS_MAX 16u

struct link {
	int fd;
	uint8_t out[CALL_BYTES + FLOW_DATAGRAM_MAX];
	uint32_t used, each, segments; /* of out */
};

static struct {
	struct link links[SOCKETS_MAX];
	uint32_t clients, sockets;
	uint8_t in_bytes[BATCH][2048];
	struct mmsghdr in[BATCH];
	struct iovec in_iov[BATCH];
	uint64_t sent, received, other, failed;
} self;

static void on_signal(int number)
{
	(void)number;
	drive_stop();
}

static struct link *link_of(uint32_t client)
{
	return &self.links[client / CLIENTS_MAX];
}

static uint32_t flush_link(struct link *link)
{
	char control[CMSG_SPACE(sizeof(uint16_t))] = {0};
	struct iovec iov = {.iov_base = link->out, .iov_len = link->used};
	struct msghdr head = {.msg_iov = &iov, .msg_iovlen = 1};
	uint32_t segments = link->segments;
	uint16_t each = (uint16_t)link->each;

	if (!segments)
		return 0;
	if (segments > 1) {
		struct cmsghdr *cmsg;

		head.msg_control = control;
		head.msg_controllen = sizeof(control);
		cmsg = CMSG_FIRSTHDR(&head);
		cmsg->cmsg_level = SOL_UDP;
		cmsg->cmsg_type = UDP_SEGMENT;
		cmsg->cmsg_len = CMSG_LEN(sizeof(each));
		memcpy(CMSG_DATA(cmsg), &each, sizeof(each));
	}
	/* What fails is lost on the way. */
	if (sendmsg(link->fd, &head, 0) < 0)
		self.failed += segments;
	self.sent += segments;
	link->used = link->segments = 0;
	return segments;
}

static uint32_t flush(void *ctx)
{
	uint32_t segments = 0;

	(void)ctx;
	for (uint32_t i = 0; i < self.sockets; i++)
		segments += flush_link(&self.links[i]);
	return segments;
}

static uint8_t *begin(void *ctx, uint32_t client)
{
	struct link *link = link_of(client);

	(void)ctx;
	if (link->segments == BATCH || link->used > CALL_BYTES - FLOW_DATAGRAM_MAX)
		flush_link(link);
	return link->out + link->used;
}

static void end(void *ctx, uint32_t client, uint32_t bytes)
{
	struct link *link = link_of(client);

	(void)ctx;
	if (link->segments && bytes != link->each) {
		/* Another size: what is there leaves first. */
		uint32_t at = link->used;

		flush_link(link);
		memmove(link->out, link->out + at, bytes);
	}
	link->each = bytes;
	link->used += bytes;
	link->segments++;
}

static uint32_t receive_link(uint32_t link, const struct wire_sink *sink, uint64_t now_ns)
{
	int n = recvmmsg(self.links[link].fd, self.in, BATCH, MSG_DONTWAIT, NULL);

	for (int i = 0; i < n; i++) {
		uint32_t id = self.in[i].msg_len >= 2 ? lean_get16(self.in_bytes[i]) & 0xfff
						      : CLIENTS_MAX;
		uint32_t client = link * CLIENTS_MAX + id;

		if (id >= CLIENTS_MAX || client >= self.clients)
			self.other++;
		else
			sink->datagram(
				sink->ctx, client, self.in_bytes[i], self.in[i].msg_len, now_ns);
	}
	self.received += n > 0 ? (uint32_t)n : 0;
	return n > 0 ? (uint32_t)n : 0;
}

static uint32_t receive(void *ctx, const struct wire_sink *sink, uint64_t now_ns)
{
	uint32_t n = 0;

	(void)ctx;
	for (uint32_t i = 0; i < self.sockets; i++)
		n += receive_link(i, sink, now_ns);
	return n;
}

static uint32_t room(void *ctx)
{
	(void)ctx;
	return BATCH;
}

static void report(void *ctx, FILE *out)
{
	(void)ctx;
	fprintf(out,
		"datagrams_in %" PRIu64 "\ndatagrams_out %" PRIu64 "\nother_datagrams %" PRIu64
		"\nfailed %" PRIu64 "\n",
		self.received, self.sent, self.other, self.failed);
}

static bool open_socket(struct link *link, const struct sockaddr_in *to)
{
	int bytes = 16 << 20;

	link->fd = socket(AF_INET, SOCK_DGRAM | SOCK_CLOEXEC, 0);
	if (link->fd < 0 || connect(link->fd, (const struct sockaddr *)to, sizeof(*to))) {
		perror("gen: socket");
		return false;
	}
	if (setsockopt(link->fd, SOL_SOCKET, SO_RCVBUFFORCE, &bytes, sizeof(bytes)))
		setsockopt(link->fd, SOL_SOCKET, SO_RCVBUF, &bytes, sizeof(bytes));
	if (setsockopt(link->fd, SOL_SOCKET, SO_SNDBUFFORCE, &bytes, sizeof(bytes)))
		setsockopt(link->fd, SOL_SOCKET, SO_SNDBUF, &bytes, sizeof(bytes));
	return true;
}

static bool open_sockets(const struct gen_options *options)
{
	struct sockaddr_in to = {.sin_family = AF_INET};

	self.clients = options->flow.clients;
	self.sockets = (self.clients + CLIENTS_MAX - 1) / CLIENTS_MAX;
	if (inet_pton(AF_INET, options->to, &to.sin_addr) != 1) {
		fprintf(stderr, "gen: --tx-ip %s: the server's IPv4 address is wanted\n",
			options->to);
		return false;
	}
	if (self.sockets > SOCKETS_MAX || options->to_port + self.sockets - 1 > UINT16_MAX) {
		fprintf(stderr, "gen: at most %u clients, and a port for each %u\n",
			SOCKETS_MAX * CLIENTS_MAX, CLIENTS_MAX);
		return false;
	}
	for (uint32_t i = 0; i < BATCH; i++) {
		self.in_iov[i].iov_base = self.in_bytes[i];
		self.in_iov[i].iov_len = sizeof(self.in_bytes[i]);
		self.in[i].msg_hdr.msg_iov = &self.in_iov[i];
		self.in[i].msg_hdr.msg_iovlen = 1;
	}
	for (uint32_t i = 0; i < self.sockets; i++) {
		to.sin_port = htons((uint16_t)(options->to_port + i));
		if (!open_socket(&self.links[i], &to))
			return false;
	}
	return true;
}

int main(int argc, char **argv)
{
	const struct enet_wire wire = {
		.receive = receive, .room = room, .flush = flush, .report = report};
	const struct flow_ops ops = {.begin = begin, .end = end};
	static struct gen_options options;
	struct drive_load load;
	struct flow *flow;
	int ret = gen_options(&options, true, argc, argv, stderr), status;

	if (ret)
		return ret < 0 ? 2 : 0;
	signal(SIGINT, on_signal);
	signal(SIGTERM, on_signal);
	if (options.game)
		return open_sockets(&options) ? game_run(&options, &ops, &wire) : 1;
	flow = flow_new(&options.flow, &ops);
	if (!flow || !open_sockets(&options)) {
		flow_free(flow);
		return 1;
	}
	enet_load_init(&load, flow, &wire, options.flow.clients);
	if (options.interactive) {
		printf("gen: ready\n");
		fflush(stdout);
		status = drive_commands(&load);
	} else {
		status = drive_once(&load, options.seconds, options.stats_period_s);
	}
	flow_free(flow);
	return status;
}
