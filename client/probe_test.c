/* Proves swc_probe over loopback sockets, IPv4 and IPv6, against a server played here: three probes
 * and their median, a lost one repeated once, what is not the answer awaited ignored, silence and
 * every state told. Time is the test's own. */
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <errno.h>
#include <arpa/inet.h>
#include <poll.h>
#include <stdlib.h>
#include <string.h>
#include <sys/socket.h>
#include <unistd.h>
#include <cmocka.h>

#include "client/stormweir.h"
#include "proto/probe.h"

#define MS 1000000ull

struct server {
	int fd;
	uint16_t port;
	struct sockaddr_storage from;
	socklen_t from_bytes;
	uint8_t got[64];
};

static int server_open(struct server *server, bool six)
{
	struct sockaddr_in6 any6 = {.sin6_family = AF_INET6, .sin6_addr = IN6ADDR_LOOPBACK_INIT};
	struct sockaddr_in any4 = {
		.sin_family = AF_INET, .sin_addr.s_addr = htonl(INADDR_LOOPBACK)};
	socklen_t bytes = six ? sizeof(any6) : sizeof(any4);
	struct sockaddr *any = six ? (struct sockaddr *)&any6 : (struct sockaddr *)&any4;

	server->fd = socket(six ? AF_INET6 : AF_INET, SOCK_DGRAM | SOCK_CLOEXEC, 0);
	if (server->fd < 0 || bind(server->fd, any, bytes))
		return -errno;
	assert_int_equal(getsockname(server->fd, any, &bytes), 0);
	server->port = ntohs(six ? any6.sin6_port : any4.sin_port);
	return 0;
}

/* The request that has come; fails if there is none. */
static void server_get(struct server *server)
{
	struct pollfd wait = {.fd = server->fd, .events = POLLIN};

	assert_int_equal(poll(&wait, 1, 5000), 1);
	server->from_bytes = sizeof(server->from);
	assert_int_equal(recvfrom(server->fd, server->got, sizeof(server->got), 0,
				 (struct sockaddr *)&server->from, &server->from_bytes),
		22);
	assert_true(sw_probe_is(server->got, 22));
	assert_int_equal(server->got[2], SW_PROBE_REQUEST);
	assert_int_equal(server->got[3], 0);
}

static bool server_idle(const struct server *server)
{
	struct pollfd wait = {.fd = server->fd, .events = POLLIN};

	return poll(&wait, 1, 0) == 0;
}

static void server_put(const struct server *server, const uint8_t *datagram, size_t bytes)
{
	assert_int_equal(sendto(server->fd, datagram, bytes, 0,
				 (const struct sockaddr *)&server->from, server->from_bytes),
		(ssize_t)bytes);
}

static void server_answer(struct server *server, uint8_t node_state)
{
	server->got[2] = SW_PROBE_ANSWER;
	server->got[3] = node_state;
	server_put(server, server->got, 22);
}

/* Loopback delivers at once, but the reader is told so by the kernel's own time. */
static void arrive(struct swc_probe *probe)
{
	struct pollfd wait = {.fd = swc_probe_fd(probe), .events = POLLIN};

	assert_int_equal(poll(&wait, 1, 5000), 1);
}

static void three_probes_and_their_median(void **state)
{
	static const uint64_t rtt_ms[][4] = {
		{30, 10, 20, 20}, {10, 20, 30, 20}, {7, 7, 400, 7}, {300, 200, 100, 200}};

	(void)state;
	for (int six = 0; six < 2; six++) {
		for (size_t i = 0; i < sizeof(rtt_ms) / sizeof(rtt_ms[0]); i++) {
			struct server server;
			struct swc_probe *probe;
			uint64_t now = 5 * MS;

			if (server_open(&server, six)) {
				assert_true(six); /* a machine without IPv6 */
				close(server.fd);
				return;
			}
			assert_int_equal(
				swc_probe_open(six ? "::1" : "127.0.0.1", server.port, &probe), 0);
			assert_int_equal(swc_probe_due_ns(probe), 0);
			for (int p = 0; p < 3; p++) {
				/* Takes the answer before, and sends the next. */
				assert_false(swc_probe_service(probe, now));
				server_get(&server);
				assert_int_equal(swc_probe_due_ns(probe), now + 500 * MS);
				server_answer(&server, (uint8_t)(p == 2 ? i : SW_NODE_READY));
				arrive(probe);
				now += rtt_ms[i][p] * MS;
			}
			assert_true(swc_probe_service(probe, now));
			assert_int_equal(swc_probe_due_ns(probe), UINT64_MAX);
			assert_int_equal(swc_probe_result(probe)->answers, 3);
			assert_int_equal(swc_probe_result(probe)->rtt_ns, rtt_ms[i][3] * MS);
			assert_int_equal(swc_probe_result(probe)->state, i); /* the last one's */
			assert_true(server_idle(&server));
			swc_probe_close(probe);
			close(server.fd);
		}
	}
}

static void a_lost_probe_is_repeated_once(void **state)
{
	struct server server;
	struct swc_probe *probe;
	uint64_t now = 5 * MS;
	uint8_t first[22];

	(void)state;
	assert_int_equal(server_open(&server, false), 0);
	assert_int_equal(swc_probe_open("127.0.0.1", server.port, &probe), 0);
	/* The first is lost; its late answer is not the second try's. */
	assert_false(swc_probe_service(probe, now));
	server_get(&server);
	memcpy(first, server.got, 22);
	now += 499 * MS;
	assert_false(swc_probe_service(probe, now));
	assert_true(server_idle(&server));
	now += MS;
	assert_false(swc_probe_service(probe, now));
	server_get(&server);
	assert_memory_not_equal(first + 6, server.got + 6, 8);
	first[2] = SW_PROBE_ANSWER;
	server_put(&server, first, 22);
	arrive(probe);
	assert_false(swc_probe_service(probe, now + MS));
	assert_int_equal(swc_probe_result(probe)->answers, 0);
	server_answer(&server, SW_NODE_FULL);
	arrive(probe);
	now += 3 * MS;
	assert_false(swc_probe_service(probe, now));
	assert_int_equal(swc_probe_result(probe)->answers, 1);
	/* The other two are lost, and so are their repetitions. */
	for (int i = 0; i < 4; i++) {
		server_get(&server);
		now += 500 * MS;
		assert_int_equal(swc_probe_service(probe, now), i == 3);
	}
	assert_true(server_idle(&server));
	assert_int_equal(swc_probe_result(probe)->answers, 1);
	assert_int_equal(swc_probe_result(probe)->rtt_ns, 3 * MS);
	assert_int_equal(swc_probe_result(probe)->state, SWC_NODE_FULL);
	swc_probe_close(probe);
	close(server.fd);
}

static void what_is_not_the_answer_is_ignored(void **state)
{
	struct server server;
	struct swc_probe *probe;
	uint64_t now = 5 * MS;

	(void)state;
	assert_int_equal(server_open(&server, false), 0);
	assert_int_equal(swc_probe_open("127.0.0.1", server.port, &probe), 0);
	assert_false(swc_probe_service(probe, now));
	server_get(&server);
	for (uint32_t at = 0; at < 22; at++) {
		uint8_t bytes[24] = {0};

		if (at == 3)
			continue; /* the state may be any */
		memcpy(bytes, server.got, 22);
		bytes[2] = SW_PROBE_ANSWER;
		bytes[at] ^= 0x40;
		server_put(&server, bytes, 22);
	}
	server.got[2] = SW_PROBE_ANSWER;
	server_put(&server, server.got, 21);
	server_put(&server, server.got, 0);
	arrive(probe);
	assert_false(swc_probe_service(probe, now + MS));
	assert_int_equal(swc_probe_result(probe)->answers, 0);
	assert_int_equal(swc_probe_result(probe)->state, SWC_NODE_SILENT);
	/* A state that this library does not know is not "ready". */
	server_answer(&server, 77);
	arrive(probe);
	assert_false(swc_probe_service(probe, now + 2 * MS));
	assert_int_equal(swc_probe_result(probe)->answers, 1);
	assert_int_equal(swc_probe_result(probe)->state, SWC_NODE_CLOSED);
	swc_probe_close(probe);
	close(server.fd);
}

static void nobody_there(void **state)
{
	struct server server;
	struct swc_probe *probe;
	uint64_t now = 5 * MS;
	int turns = 0;

	(void)state;
	assert_int_equal(swc_probe_open("", 7777, &probe), -EINVAL);
	assert_int_equal(swc_probe_open("127.0.0.1", 0, &probe), -EINVAL);
	assert_int_equal(swc_probe_open("127.0.0.1.2.3", 7777, &probe), -EHOSTUNREACH);
	/* A port that nobody has: the kernel says "refused", which anyone could forge. */
	assert_int_equal(server_open(&server, false), 0);
	close(server.fd);
	assert_int_equal(swc_probe_open("127.0.0.1", server.port, &probe), 0);
	while (!swc_probe_service(probe, now)) {
		now = swc_probe_due_ns(probe);
		assert_true(++turns < 10);
	}
	assert_int_equal(turns, 6);
	assert_int_equal(swc_probe_result(probe)->state, SWC_NODE_SILENT);
	assert_string_equal(swc_node_state_text(SWC_NODE_SILENT), "does not answer");
	assert_string_equal(swc_node_state_text(SWC_NODE_READY), "takes players");
	swc_probe_close(probe);
	swc_probe_close(NULL);
}

int main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test(three_probes_and_their_median),
		cmocka_unit_test(a_lost_probe_is_repeated_once),
		cmocka_unit_test(what_is_not_the_answer_is_ignored),
		cmocka_unit_test(nobody_there),
	};

	return cmocka_run_group_tests_name("probe", tests, NULL, NULL);
}
