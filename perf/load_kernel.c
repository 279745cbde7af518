/* stormweir-load: a lean load generator on kernel sockets. N ENet peers over one socket a server,
 * one message a datagram, echoes counted; two servers take turns, so that what the machine does
 * meanwhile happens to both.
 *
 *   stormweir-load --server NAME=ADDRESS:PORT=PID --server ... [--peers 1000] [--bytes 40]
 *                  [--window 512] [--turn-ms 200] [--turns 40] [--bench NAME --commit ID]
 *
 * The server whose turn it is not is stopped (SIGSTOP), so that it does not burn the other's CPU. A
 * turn is set aside when its server or the generator waited for a CPU more than --wait-max (2)
 * percent of the time. The last line is one JSON object: the first server's messages/s over the
 * second's. */
#include <arpa/inet.h>
#include <errno.h>
#include <getopt.h>
#include <inttypes.h>
#include <netinet/udp.h>
#include <poll.h>
#include <signal.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/socket.h>
#include <unistd.h>

#include "common/mono.h"
#include "dataplane/lean_client.h"
#include "perf/turns.h"

#define SERVERS    2u
#define BATCH      64u
#define TURNS_MAX  1000u
#define PEERS_MAX  4000u           /* stock's limit is 4,095 */
#define STALL_NS   (5 * NS_PER_MS) /* nothing came back for so long: what is out is lost */
#define CONNECT_NS (10 * NS_PER_S)

struct server {
	char name[32];
	pid_t pid;
	int fd;
	struct lean_client *peers;
	uint32_t connected, gone;
	uint64_t received, sent, lost;
};

static struct {
	struct server server[SERVERS];
	uint32_t servers, peers, bytes, window, turn_ms, turns, wait_max; /* percent */
	const char *bench, *commit;
} run = {.peers = 1000, .bytes = 40, .window = 512, .turn_ms = 200, .turns = 40, .wait_max = 2};

static volatile sig_atomic_t stop;

static void on_signal(int number)
{
	(void)number;
	stop = 1;
}

/* --- one socket's datagrams, in batches --- */

static struct {
	struct mmsghdr out[BATCH], in[BATCH];
	struct iovec out_iov[BATCH], in_iov[BATCH];
	uint8_t out_bytes[BATCH][LEAN_OUT_BYTES], in_bytes[BATCH][2048];
	uint32_t out_count;
} io;

static void io_init(void)
{
	for (uint32_t i = 0; i < BATCH; i++) {
		io.out_iov[i].iov_base = io.out_bytes[i];
		io.out[i].msg_hdr.msg_iov = &io.out_iov[i];
		io.out[i].msg_hdr.msg_iovlen = 1;
		io.in_iov[i].iov_base = io.in_bytes[i];
		io.in_iov[i].iov_len = sizeof(io.in_bytes[i]);
		io.in[i].msg_hdr.msg_iov = &io.in_iov[i];
		io.in[i].msg_hdr.msg_iovlen = 1;
	}
}

static void io_flush(struct server *server)
{
	uint32_t at = 0;

	while (at < io.out_count) {
		int n = sendmmsg(server->fd, io.out + at, io.out_count - at, 0);

		if (n > 0)
			at += (uint32_t)n;
		else if (errno != EINTR && errno != ENOBUFS && errno != ECONNREFUSED)
			break; /* the rest counts as lost on the way */
		if (stop)
			break;
	}
	io.out_count = 0;
}

static uint8_t *io_next(struct server *server)
{
	if (io.out_count == BATCH)
		io_flush(server);
	return io.out_bytes[io.out_count];
}

static void io_put(uint32_t bytes)
{
	if (bytes)
		io.out_iov[io.out_count++].iov_len = bytes;
}

/* Messages of one size leave in one call, cut into datagrams by the kernel (UDP_SEGMENT): half the
 * generator's cost, the same datagrams on the wire. */
static struct {
	uint8_t bytes[BATCH * LEAN_OUT_BYTES];
	uint32_t used, each;
	bool refused; /* by the kernel: one by one from then on */
} segments;

static void segments_flush(struct server *server)
{
	char control[CMSG_SPACE(sizeof(uint16_t))] = {0};
	struct iovec iov = {.iov_base = segments.bytes, .iov_len = segments.used};
	struct msghdr head = {.msg_iov = &iov,
		.msg_iovlen = 1,
		.msg_control = control,
		.msg_controllen = sizeof(control)};
	struct cmsghdr *cmsg = CMSG_FIRSTHDR(&head);
	uint16_t each = (uint16_t)segments.each;

	if (!segments.used)
		return;
	cmsg->cmsg_level = SOL_UDP;
	cmsg->cmsg_type = UDP_SEGMENT;
	cmsg->cmsg_len = CMSG_LEN(sizeof(each));
	memcpy(CMSG_DATA(cmsg), &each, sizeof(each));
	/* What fails for another reason than the kernel's not knowing it counts as lost. */
	if (sendmsg(server->fd, &head, 0) < 0 &&
		(errno == EINVAL || errno == EIO || errno == EOPNOTSUPP || errno == ENOPROTOOPT))
		segments.refused = true;
	segments.used = 0;
}

static void send_message(struct server *server, struct lean_client *client, const uint8_t *payload)
{
	uint32_t bytes;

	if (segments.refused) {
		io_put(lean_send_unreliable(client, 1, payload, run.bytes, io_next(server)));
		return;
	}
	/* 64 datagrams, and less than an IPv4 packet. */
	if (segments.used + 2 * segments.each > 60000)
		segments_flush(server);
	bytes = lean_send_unreliable(client, 1, payload, run.bytes, segments.bytes + segments.used);
	segments.each = bytes;
	segments.used += bytes;
}

/* --- peers --- */

static void on_message(
	void *ctx, uint8_t channel, bool reliable, const uint8_t *payload, uint32_t bytes)
{
	struct server *server = ctx;

	(void)channel;
	(void)reliable;
	(void)payload;
	server->received += bytes == run.bytes;
}

/* Takes what is there; returns datagrams. */
static uint32_t receive(struct server *server)
{
	const struct lean_sink sink = {.ctx = server, .message = on_message};
	uint32_t now_ms = (uint32_t)(mono_ns() / NS_PER_MS);
	int n = recvmmsg(server->fd, io.in, BATCH, MSG_DONTWAIT, NULL);

	for (int i = 0; i < n; i++) {
		uint32_t peer =
			io.in[i].msg_len >= 2 ? lean_get16(io.in_bytes[i]) & 0xfff : run.peers;
		struct lean_client *client;
		enum lean_state before;

		if (peer >= run.peers)
			continue;
		client = &server->peers[peer];
		before = client->state;
		io_put(lean_read(
			client, io.in_bytes[i], io.in[i].msg_len, &sink, now_ms, io_next(server)));
		server->connected += before == LEAN_CONNECTING && client->state == LEAN_CONNECTED;
		server->gone += before != LEAN_GONE && client->state == LEAN_GONE;
	}
	return n > 0 ? (uint32_t)n : 0;
}

static bool connect_all(struct server *server)
{
	uint64_t end_ns = mono_ns() + CONNECT_NS, again_ns = 0;

	while (server->connected < run.peers && mono_ns() < end_ns && !stop) {
		struct pollfd poll_fd = {.fd = server->fd, .events = POLLIN};

		/* CONNECT again every 500 ms to those without an answer, as ENet does: with the
		 * same id, or it would be another peer. */
		for (uint32_t i = 0; mono_ns() > again_ns && i < run.peers; i++) {
			struct lean_client *client = &server->peers[i];

			if (client->state == LEAN_CONNECTED)
				continue;
			io_put(lean_connect(client, 0x5707 + i * 2654435761u, (uint16_t)i, 0,
				(uint32_t)(mono_ns() / NS_PER_MS), io_next(server)));
			if (i % BATCH == BATCH - 1) {
				io_flush(server);
				while (receive(server) == BATCH)
					;
			}
			if (i + 1 == run.peers)
				again_ns = mono_ns() + 500 * NS_PER_MS;
		}
		if (again_ns < mono_ns())
			again_ns = mono_ns() + 500 * NS_PER_MS;
		io_flush(server);
		poll(&poll_fd, 1, 10);
		while (receive(server))
			io_flush(server);
		io_flush(server);
	}
	if (server->connected == run.peers)
		return true;
	fprintf(stderr, "load: %s: %u of %u peers connected within %u s\n", server->name,
		server->connected, run.peers, (unsigned)(CONNECT_NS / NS_PER_S));
	return false;
}

/* --- a turn --- */

/* Time on a CPU, and waiting for one, of a thread. */
static void schedstat(pid_t pid, uint64_t *run_ns, uint64_t *wait_ns)
{
	char path[64];
	FILE *file;

	*run_ns = *wait_ns = 0;
	snprintf(path, sizeof(path), "/proc/%d/schedstat", (int)pid);
	file = fopen(path, "r");
	if (!file)
		return;
	if (fscanf(file, "%" SCNu64 " %" SCNu64, run_ns, wait_ns) != 2)
		*run_ns = *wait_ns = 0;
	fclose(file);
}

static void pump(struct server *server, uint64_t end_ns, uint64_t *idle_ns)
{
	static uint8_t payload[1400];
	uint64_t out = 0, now_ns = mono_ns(), progress_ns = now_ns;
	static uint32_t next;

	while (now_ns < end_ns && !stop) {
		uint32_t sent = 0, got;
		uint64_t before = server->received, then_ns;

		while (out < run.window && sent < BATCH) {
			struct lean_client *client = &server->peers[next++ % run.peers];

			if (client->state != LEAN_CONNECTED)
				break;
			/* ENet numbers at most 65,535 unreliable messages behind a reliable one. */
			if (client->unreliable[1] == UINT16_MAX)
				io_put(lean_send_reliable(client, 1, payload, run.bytes,
					(uint32_t)(now_ns / NS_PER_MS), io_next(server)));
			else
				send_message(server, client, payload);
			out++;
			sent++;
		}
		segments_flush(server);
		io_flush(server);
		got = receive(server);
		io_flush(server);
		server->sent += sent;
		before = server->received - before;
		out -= before < out ? before : out;
		then_ns = now_ns;
		now_ns = mono_ns();
		if (before)
			progress_ns = now_ns;
		if (!sent && !got)
			*idle_ns += now_ns - then_ns;
		if (now_ns - progress_ns > STALL_NS && out) {
			server->lost += out;
			out = 0;
			progress_ns = now_ns;
		}
	}
}

static void take_turn(struct server *server, struct turn *turn)
{
	uint64_t start_ns, end_ns, idle_ns = 0, received, sent, lost, wall_ns;
	uint64_t run0, run1, wait0, wait1, own0, own1, ownwait0, ownwait1;

	kill(server->pid, SIGCONT);
	/* 10 ms to get going: caches, clocks, what lay in the rings. */
	start_ns = mono_ns();
	pump(server, start_ns + 10 * NS_PER_MS, &idle_ns);
	idle_ns = 0;
	schedstat(server->pid, &run0, &wait0);
	schedstat(getpid(), &own0, &ownwait0);
	received = server->received;
	sent = server->sent;
	lost = server->lost;
	start_ns = mono_ns();
	pump(server, start_ns + run.turn_ms * NS_PER_MS, &idle_ns);
	end_ns = mono_ns();
	schedstat(server->pid, &run1, &wait1);
	schedstat(getpid(), &own1, &ownwait1);
	received = server->received - received;
	sent = server->sent - sent;
	lost = server->lost - lost;
	wall_ns = end_ns - start_ns;
	kill(server->pid, SIGSTOP);
	/* What is still on its way belongs to no turn. */
	while (receive(server))
		io_flush(server);
	io_flush(server);
	turn->rate = (double)received * 1e9 / (double)wall_ns;
	turn->cpu_ns = received ? (double)(run1 - run0) / (double)received : 0;
	turn->idle = (double)idle_ns / (double)wall_ns;
	turn->lost = sent ? (double)lost / (double)sent : 0;
	turn->waited = (double)(wait1 - wait0 > ownwait1 - ownwait0 ? wait1 - wait0
								    : ownwait1 - ownwait0) /
		       (double)wall_ns;
	turn->set_aside = turn->waited * 100 > run.wait_max || !received;
}

/* --- set-up --- */

static bool add_server(char *text)
{
	struct server *server = &run.server[run.servers];
	char *address = strchr(text, '='), *port, *pid;
	struct sockaddr_in to = {.sin_family = AF_INET};
	int bytes = 16 << 20;

	if (run.servers == SERVERS || !address)
		return false;
	*address++ = 0;
	port = strchr(address, ':');
	pid = port ? strchr(port, '=') : NULL;
	if (!pid)
		return false;
	*port++ = 0;
	*pid++ = 0;
	snprintf(server->name, sizeof(server->name), "%s", text);
	server->pid = atoi(pid);
	to.sin_port = htons((uint16_t)atoi(port));
	if (server->pid <= 1 || inet_pton(AF_INET, address, &to.sin_addr) != 1)
		return false;
	server->fd = socket(AF_INET, SOCK_DGRAM | SOCK_CLOEXEC, 0);
	server->peers = calloc(PEERS_MAX, sizeof(*server->peers));
	if (server->fd < 0 || !server->peers ||
		connect(server->fd, (struct sockaddr *)&to, sizeof(to))) {
		perror("load: socket");
		return false;
	}
	if (setsockopt(server->fd, SOL_SOCKET, SO_RCVBUFFORCE, &bytes, sizeof(bytes)))
		setsockopt(server->fd, SOL_SOCKET, SO_RCVBUF, &bytes, sizeof(bytes));
	if (setsockopt(server->fd, SOL_SOCKET, SO_SNDBUFFORCE, &bytes, sizeof(bytes)))
		setsockopt(server->fd, SOL_SOCKET, SO_SNDBUF, &bytes, sizeof(bytes));
	run.servers++;
	return true;
}

static bool number(const char *name, uint32_t low, uint32_t high, uint32_t *out)
{
	char *end;
	unsigned long value = strtoul(optarg, &end, 10);

	if (!*optarg || *end || value < low || value > high) {
		fprintf(stderr, "load: --%s %s: allowed are %u to %u\n", name, optarg, low, high);
		return false;
	}
	*out = (uint32_t)value;
	return true;
}

static bool options(int argc, char **argv)
{
	static const struct option list[] = {{"server", 1, NULL, 's'}, {"peers", 1, NULL, 'p'},
		{"bytes", 1, NULL, 'b'}, {"window", 1, NULL, 'w'}, {"turn-ms", 1, NULL, 't'},
		{"turns", 1, NULL, 'n'}, {"wait-max", 1, NULL, 'W'}, {"bench", 1, NULL, 'B'},
		{"commit", 1, NULL, 'C'}, {NULL, 0, NULL, 0}};
	bool good = true;
	int key;

	while (good && (key = getopt_long(argc, argv, "", list, NULL)) != -1) {
		switch (key) {
		case 's':
			good = add_server(optarg);
			break;
		case 'p':
			good = number("peers", 1, PEERS_MAX, &run.peers);
			break;
		case 'b':
			good = number("bytes", 1, 1300, &run.bytes);
			break;
		case 'w':
			good = number("window", 1, 1000000, &run.window);
			break;
		case 't':
			good = number("turn-ms", 10, 10000, &run.turn_ms);
			break;
		case 'n':
			good = number("turns", 1, TURNS_MAX, &run.turns);
			break;
		case 'W':
			good = number("wait-max", 0, 100, &run.wait_max);
			break;
		case 'B':
			run.bench = optarg;
			break;
		case 'C':
			run.commit = optarg;
			break;
		default:
			good = false;
		}
	}
	if (good && run.servers)
		return true;
	fprintf(stderr, "load: --server NAME=ADDRESS:PORT=PID, one or two; see the head of "
			"load_kernel.c\n");
	return false;
}

int main(int argc, char **argv)
{
	static struct turn turns[SERVERS][TURNS_MAX];
	uint8_t out[LEAN_OUT_BYTES];
	int ret = 0;

	if (!options(argc, argv))
		return 2;
	signal(SIGINT, on_signal);
	signal(SIGTERM, on_signal);
	io_init();
	for (uint32_t s = 0; s < run.servers && !ret; s++) {
		ret = !connect_all(&run.server[s]);
		kill(run.server[s].pid, SIGSTOP);
	}
	for (uint32_t i = 0; i < run.turns && !ret && !stop; i++)
		for (uint32_t s = 0; s < run.servers; s++)
			take_turn(&run.server[s], &turns[s][i]);
	for (uint32_t s = 0; s < run.servers; s++) {
		struct server *server = &run.server[s];

		kill(server->pid, SIGCONT);
		if (server->gone) {
			fprintf(stderr, "load: %s ended %u of its peers\n", server->name,
				server->gone);
			ret = 1;
		}
		for (uint32_t i = 0; i < run.peers; i++)
			if (server->peers[i].state == LEAN_CONNECTED &&
				send(server->fd, out, lean_disconnect(&server->peers[i], 0, 0, out),
					0) < 0)
				break;
	}
	if (ret || stop)
		return 1;
	for (uint32_t s = 0; s < run.servers; s++)
		turns_report_one(run.server[s].name, turns[s], run.turns);
	if (run.servers == SERVERS && run.bench && run.commit)
		turns_report_ratio(turns[0], turns[1], run.turns, run.bench, run.commit);
	return 0;
}
