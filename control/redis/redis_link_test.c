/* Proves that the link always comes back and never loses a callback: against a fake server that
 * refuses, resets, stays silent, closes in the middle of a reply, is a replica or talks nonsense,
 * and then becomes well; and against a real redis-server that is killed and started again. */
#include <setjmp.h>
#include <signal.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/socket.h>

#include <cmocka.h>
#include <hiredis/hiredis.h>

#include "control/redis/redis_fixture.h"
#include "control/redis/redis_link.h"

/* ---- the fake server: TCP on an ephemeral port of the loopback address ---- */

enum mode {
	GOOD,
	CLOSE_ON_ACCEPT,
	RESET_ON_ACCEPT,
	SILENT,          /* accepts, never answers */
	SILENT_COMMANDS, /* passes the checks, then silence */
	CLOSE_COMMANDS,
	RESET_COMMANDS,
	CLOSE_MID_REPLY,
	CLOSE_MID_CHECKS,
	REPLICA,
	NO_AUTH,
	NOT_REDIS,
	TOO_MANY_REPLIES, /* two for each command */
	READONLY_COMMANDS
};

struct peer;

struct fake {
	uv_loop_t loop;
	uv_tcp_t listener;
	enum mode mode;
	int accepted;
	char address[32];
	struct peer *last; /* the newest connection */
	struct redis_link *link;
	enum redis_link_state state;
	int downs;
};

struct peer {
	uv_tcp_t tcp;
	struct fake *fake;
	char in[65536]; /* more than the longest script of lua/redis */
	size_t in_bytes;
};

static void peer_free(uv_handle_t *handle)
{
	free(handle->data);
}

static void peer_close(struct peer *peer, bool reset)
{
	if (uv_is_closing((uv_handle_t *)&peer->tcp))
		return;
	if (reset)
		uv_tcp_close_reset(&peer->tcp, peer_free);
	else
		uv_close((uv_handle_t *)&peer->tcp, peer_free);
}

static void peer_say(struct peer *peer, const char *text)
{
	uv_buf_t buf = uv_buf_init((char *)(uintptr_t)text, (unsigned)strlen(text));

	uv_try_write((uv_stream_t *)&peer->tcp, &buf, 1);
}

/* The bytes of the first whole command in the buffer, 0 if it is cut; its first word goes to name.
 */
static size_t command_parse(const char *in, size_t bytes, char name[16])
{
	const char *at = in, *end = in + bytes;
	char *rest;
	long argc, length;

	if (!bytes || !memchr(at, '\n', bytes))
		return 0;
	argc = strtol(at + 1, &rest, 10);
	at = rest + 2;
	for (long i = 0; i < argc; i++) {
		if (at >= end || !memchr(at, '\n', (size_t)(end - at)))
			return 0;
		length = strtol(at + 1, &rest, 10);
		at = rest + 2 + length + 2;
		if (at > end)
			return 0;
		if (i == 0)
			snprintf(name, 16, "%.*s", (int)length, rest + 2);
	}
	return (size_t)(at - in);
}

static void peer_command(struct peer *peer, const char *name)
{
	enum mode mode = peer->fake->mode;
	bool check = true;

	if (!strcmp(name, "ROLE")) {
		if (mode == CLOSE_MID_CHECKS) {
			peer_say(peer, "*3\r\n$6\r\nmas");
			peer_close(peer, false);
		} else if (mode == NO_AUTH) {
			peer_say(peer, "-NOAUTH Authentication required.\r\n");
		} else {
			peer_say(peer, mode == REPLICA ? "*1\r\n$5\r\nslave\r\n"
						       : "*1\r\n$6\r\nmaster\r\n");
		}
	} else if (!strcmp(name, "SCRIPT")) {
		peer_say(peer, "$40\r\n0123456789012345678901234567890123456789\r\n");
	} else if (!strcmp(name, "AUTH") || !strcmp(name, "SELECT")) {
		peer_say(peer, "+OK\r\n");
	} else {
		check = false;
	}
	if (check)
		return;
	switch (mode) {
	case SILENT_COMMANDS:
		break;
	case CLOSE_COMMANDS:
	case RESET_COMMANDS:
		peer_close(peer, mode == RESET_COMMANDS);
		break;
	case CLOSE_MID_REPLY:
		peer_say(peer, "$100\r\nabc");
		peer_close(peer, false);
		break;
	case TOO_MANY_REPLIES:
		peer_say(peer, "+PONG\r\n+PONG\r\n");
		break;
	case READONLY_COMMANDS:
		peer_say(peer, "-READONLY You can't write against a read only replica.\r\n");
		break;
	default:
		peer_say(peer, "+PONG\r\n");
	}
}

static void peer_alloc(uv_handle_t *handle, size_t size, uv_buf_t *buf)
{
	struct peer *peer = handle->data;

	(void)size;
	*buf = uv_buf_init(
		peer->in + peer->in_bytes, (unsigned)(sizeof(peer->in) - peer->in_bytes));
}

static void peer_read(uv_stream_t *stream, ssize_t bytes, const uv_buf_t *buf)
{
	struct peer *peer = stream->data;
	char name[16];
	size_t used;

	(void)buf;
	if (bytes < 0) {
		peer_close(peer, false);
		return;
	}
	peer->in_bytes += (size_t)bytes;
	if (peer->fake->mode == SILENT) {
		peer->in_bytes = 0;
		return;
	}
	if (peer->fake->mode == NOT_REDIS) {
		peer_say(peer, "HTTP/1.1 400 Bad Request\r\n\r\n");
		return;
	}
	while ((used = command_parse(peer->in, peer->in_bytes, name))) {
		memmove(peer->in, peer->in + used, peer->in_bytes - used);
		peer->in_bytes -= used;
		peer_command(peer, name);
		if (uv_is_closing((uv_handle_t *)&peer->tcp))
			return;
	}
	if (peer->in_bytes == sizeof(peer->in))
		fail_msg("a command has more than the fake server's %zu bytes", sizeof(peer->in));
}

static void on_accept(uv_stream_t *listener, int status)
{
	struct fake *fake = listener->data;
	struct peer *peer = calloc(1, sizeof(*peer));

	assert_int_equal(status, 0);
	fake->accepted++;
	peer->fake = fake;
	fake->last = peer;
	uv_tcp_init(&fake->loop, &peer->tcp);
	peer->tcp.data = peer;
	assert_int_equal(uv_accept(listener, (uv_stream_t *)&peer->tcp), 0);
	if (fake->mode == CLOSE_ON_ACCEPT || fake->mode == RESET_ON_ACCEPT)
		peer_close(peer, fake->mode == RESET_ON_ACCEPT);
	else
		uv_read_start((uv_stream_t *)&peer->tcp, peer_alloc, peer_read);
}

static void fake_listen(struct fake *fake)
{
	assert_int_equal(uv_listen((uv_stream_t *)&fake->listener, 16, on_accept), 0);
}

static void on_changed(void *ctx, enum redis_link_state state, const char *sentence)
{
	struct fake *fake = ctx;

	assert_true(strlen(sentence) > 10);
	fake->downs += state == REDIS_LINK_DOWN;
	fake->state = state;
}

/* Binds, so that the port is taken and connects are refused until fake_listen. */
static void fake_init(struct fake *fake)
{
	struct sockaddr_in name;
	int length = sizeof(name);

	memset(fake, 0, sizeof(*fake));
	uv_loop_init(&fake->loop);
	uv_tcp_init(&fake->loop, &fake->listener);
	fake->listener.data = fake;
	uv_ip4_addr("127.0.0.1", 0, &name);
	assert_int_equal(uv_tcp_bind(&fake->listener, (struct sockaddr *)&name, 0), 0);
	uv_tcp_getsockname(&fake->listener, (struct sockaddr *)&name, &length);
	snprintf(fake->address, sizeof(fake->address), "127.0.0.1:%u", ntohs(name.sin_port));
}

static struct redis_link *link_new(struct fake *fake, const char *address, const char *password)
{
	struct redis_link_config config = {
		.address = address,
		.password = password,
		.database = 3,
		.connect_timeout_ms = 150,
		.command_timeout_ms = 150,
		.backoff_min_ms = 5,
		.backoff_max_ms = 20,
		.ping_ms = 30,
		.changed = on_changed,
		.ctx = fake,
	};

	fake->link = redis_link_new(&fake->loop, &config);
	assert_non_null(fake->link);
	return fake->link;
}

static void close_any(uv_handle_t *handle, void *arg)
{
	(void)arg;
	if (!uv_is_closing(handle))
		uv_close(handle,
			handle->data && handle->type == UV_TCP && uv_handle_get_data(handle) != arg
				? peer_free
				: NULL);
}

static void fake_fini(struct fake *fake)
{
	redis_link_free(fake->link);
	while (uv_run(&fake->loop, UV_RUN_NOWAIT) && fake->downs < 0)
		;
	uv_walk(&fake->loop, close_any, fake);
	uv_run(&fake->loop, UV_RUN_DEFAULT);
	assert_int_equal(uv_loop_close(&fake->loop), 0);
}

static void on_guard(uv_timer_t *timer)
{
	*(bool *)timer->data = true;
}

/* Runs the loop until the condition holds; fails after ten seconds. */
#define RUN_UNTIL(fake, cond)                                                                      \
	do {                                                                                       \
		bool late = false;                                                                 \
		uv_timer_t guard;                                                                  \
		uv_timer_init(&(fake)->loop, &guard);                                              \
		guard.data = &late;                                                                \
		uv_timer_start(&guard, on_guard, 10000, 0);                                        \
		while (!(cond) && !late)                                                           \
			uv_run(&(fake)->loop, UV_RUN_ONCE);                                        \
		uv_close((uv_handle_t *)&guard, NULL);                                             \
		uv_run(&(fake)->loop, UV_RUN_NOWAIT);                                              \
		if (late)                                                                          \
			fail_msg("never came true: %s", #cond);                                    \
	} while (0)

struct answer {
	int calls;
	enum redis_result result;
	long long integer;
	char text[128];
	struct redis_link *again; /* send one more from inside the callback */
	int again_rc;
};

static void on_answer(void *ctx, enum redis_result result, const struct redisReply *reply)
{
	struct answer *answer = ctx;

	answer->calls++;
	answer->result = result;
	assert_int_equal(reply != NULL, result == REDIS_RESULT_OK || result == REDIS_RESULT_ERROR);
	if (reply && reply->str)
		snprintf(answer->text, sizeof(answer->text), "%s", reply->str);
	if (reply)
		answer->integer = reply->integer;
	if (answer->again)
		answer->again_rc = redis_link_command(
			answer->again, on_answer, answer, 1, (const char *[]){"PING"}, NULL);
}

static int ask(struct redis_link *link, struct answer *answer)
{
	return redis_link_command(link, on_answer, answer, 1, (const char *[]){"PING"}, NULL);
}

static uint64_t counted(struct redis_link *link, enum redis_counter counter)
{
	return counter_get(&redis_link_counters(link)->values[counter]);
}

/* Faults while connecting: never up, counted by name, commands refused at once; and up as soon as
 * the server is well. */
static void test_connect_faults(void **state)
{
	static const struct {
		const char *name;
		enum mode mode;
		bool listen;
		enum redis_counter counter;
		bool connect_too; /* a reset may also be met by the connect itself */
	} rows[] = {
		{"refused", GOOD, false, REDIS_C_CONNECT_REFUSED, false},
		{"closed at once", CLOSE_ON_ACCEPT, true, REDIS_C_LOST, true},
		{"reset at once", RESET_ON_ACCEPT, true, REDIS_C_LOST, true},
		{"silent", SILENT, true, REDIS_C_CONNECT_TIMEOUT, false},
		{"closed in the checks", CLOSE_MID_CHECKS, true, REDIS_C_LOST, false},
		{"replica", REPLICA, true, REDIS_C_REPLICA, false},
		{"no auth", NO_AUTH, true, REDIS_C_SETUP, false},
		{"not redis", NOT_REDIS, true, REDIS_C_LOST, false},
	};

	(void)state;
	for (size_t i = 0; i < sizeof(rows) / sizeof(rows[0]); i++) {
		struct fake fake;
		struct answer answer = {0};
		char text[256];

		fake_init(&fake);
		fake.mode = rows[i].mode;
		if (rows[i].listen)
			fake_listen(&fake);
		link_new(&fake, fake.address, i % 2 ? "secret" : "");
		RUN_UNTIL(&fake, fake.downs >= 2);
		assert_false(redis_link_up(fake.link));
		assert_int_equal(ask(fake.link, &answer), -ENOTCONN);
		if (!counted(fake.link, rows[i].counter) &&
			!(rows[i].connect_too && counted(fake.link, REDIS_C_CONNECT_REFUSED))) {
			redis_link_health(fake.link, text, sizeof(text));
			fail_msg("%s: not counted under its name; health: %s", rows[i].name, text);
		}
		assert_int_equal(counted(fake.link, REDIS_C_CONNECTS), 0);
		fake.mode = GOOD;
		if (!rows[i].listen)
			fake_listen(&fake);
		RUN_UNTIL(&fake, redis_link_up(fake.link));
		assert_int_equal(ask(fake.link, &answer), 0);
		RUN_UNTIL(&fake, answer.calls);
		assert_int_equal(answer.result, REDIS_RESULT_OK);
		assert_int_equal(redis_link_health(fake.link, text, sizeof(text)), REDIS_LINK_UP);
		assert_non_null(strstr(text, "connected"));
		fake_fini(&fake);
		assert_int_equal(answer.calls, 1);
	}
}

/* Faults after the link was up: every waiting command is called back once with the right name, a
 * command sent from inside such a callback is refused, and the link comes back. */
static void test_command_faults(void **state)
{
	static const struct {
		enum mode mode;
		enum redis_counter counter;
		enum redis_result first, second;
	} rows[] = {
		{SILENT_COMMANDS, REDIS_C_COMMAND_TIMEOUT, REDIS_RESULT_TIMEOUT,
			REDIS_RESULT_TIMEOUT},
		{CLOSE_COMMANDS, REDIS_C_LOST, REDIS_RESULT_LOST, REDIS_RESULT_LOST},
		{RESET_COMMANDS, REDIS_C_LOST, REDIS_RESULT_LOST, REDIS_RESULT_LOST},
		{CLOSE_MID_REPLY, REDIS_C_LOST, REDIS_RESULT_LOST, REDIS_RESULT_LOST},
		{READONLY_COMMANDS, REDIS_C_REPLICA, REDIS_RESULT_ERROR, REDIS_RESULT_LOST},
	};

	(void)state;
	for (size_t i = 0; i < sizeof(rows) / sizeof(rows[0]); i++) {
		struct fake fake;
		struct answer first = {0}, second = {0}, after = {0};

		fake_init(&fake);
		fake_listen(&fake);
		link_new(&fake, fake.address, NULL);
		RUN_UNTIL(&fake, redis_link_up(fake.link));
		fake.mode = rows[i].mode;
		second.again = fake.link;
		assert_int_equal(ask(fake.link, &first), 0);
		assert_int_equal(ask(fake.link, &second), 0);
		assert_int_equal(first.calls, 0);
		RUN_UNTIL(&fake, first.calls && second.calls);
		assert_int_equal(first.result, rows[i].first);
		/* Both READONLY errors may be read at once, before the break. */
		if (second.result != REDIS_RESULT_ERROR) {
			assert_int_equal(second.result, rows[i].second);
			assert_int_equal(second.again_rc, -ENOTCONN);
		}
		second.again = NULL;
		assert_true(counted(fake.link, rows[i].counter) >= 1);
		fake.mode = GOOD;
		RUN_UNTIL(&fake, redis_link_up(fake.link));
		assert_int_equal(ask(fake.link, &after), 0);
		RUN_UNTIL(&fake, after.calls);
		assert_int_equal(after.result, REDIS_RESULT_OK);
		fake_fini(&fake);
		assert_int_equal(first.calls, 1);
	}
}

/* An idle link finds out by itself that the server has gone silent. */
static void test_idle_ping(void **state)
{
	struct fake fake;

	(void)state;
	fake_init(&fake);
	fake_listen(&fake);
	link_new(&fake, fake.address, NULL);
	RUN_UNTIL(&fake, redis_link_up(fake.link));
	fake.mode = SILENT_COMMANDS;
	RUN_UNTIL(&fake, counted(fake.link, REDIS_C_COMMAND_TIMEOUT) == 1);
	assert_int_equal(counted(fake.link, REDIS_C_COMMANDS), 0);
	fake_fini(&fake);
}

/* Replies that nobody asked for (hiredis aborts the process over them) break the link by name. */
static void test_surplus_replies(void **state)
{
	(void)state;
	for (int unasked = 0; unasked < 2; unasked++) {
		struct fake fake;
		struct answer answer = {0};

		fake_init(&fake);
		fake_listen(&fake);
		link_new(&fake, fake.address, NULL);
		RUN_UNTIL(&fake, redis_link_up(fake.link));
		if (unasked) {
			peer_say(fake.last, "+OK\r\n");
		} else {
			fake.mode = TOO_MANY_REPLIES;
			assert_int_equal(ask(fake.link, &answer), 0);
		}
		RUN_UNTIL(&fake, fake.downs == 1);
		fake.mode = GOOD;
		RUN_UNTIL(&fake, redis_link_up(fake.link));
		fake_fini(&fake);
		if (!unasked)
			assert_int_equal(answer.result, REDIS_RESULT_OK);
	}
}

/* Freeing the link answers what waits, even from inside a callback. */
static void on_answer_free(void *ctx, enum redis_result result, const struct redisReply *reply)
{
	struct fake *fake = ctx;

	(void)reply;
	assert_int_equal(result, REDIS_RESULT_OK);
	redis_link_free(fake->link);
	fake->link = NULL;
}

static void test_link_free(void **state)
{
	(void)state;
	for (int inside = 0; inside < 2; inside++) {
		struct fake fake;
		struct answer answer = {0};
		struct redis_link *link;

		fake_init(&fake);
		fake_listen(&fake);
		link = link_new(&fake, fake.address, NULL);
		RUN_UNTIL(&fake, redis_link_up(link));
		if (inside)
			redis_link_command(
				link, on_answer_free, &fake, 1, (const char *[]){"PING"}, NULL);
		else
			fake.mode = SILENT_COMMANDS;
		assert_int_equal(ask(link, &answer), 0);
		if (!inside) {
			redis_link_free(link);
			fake.link = NULL;
		}
		RUN_UNTIL(&fake, answer.calls);
		assert_int_equal(answer.result, REDIS_RESULT_CLOSED);
		fake_fini(&fake);
		assert_int_equal(answer.calls, 1);
	}
}

static void set_and_expect(struct fake *fake, const char *value)
{
	struct answer answer = {0};

	assert_int_equal(redis_link_command(fake->link, on_answer, &answer, 3,
				 (const char *[]){"SET", "k", value}, NULL),
		0);
	RUN_UNTIL(fake, answer.calls);
	assert_int_equal(answer.result, REDIS_RESULT_OK);
	memset(&answer, 0, sizeof(answer));
	redis_link_command(fake->link, on_answer, &answer, 2, (const char *[]){"GET", "k"}, NULL);
	RUN_UNTIL(fake, answer.calls);
	assert_string_equal(answer.text, value);
}

static void test_real_restart(void **state)
{
	struct redis_fixture server;
	struct fake fake;
	struct answer answer = {0};

	(void)state;
	fake_init(&fake);
	redis_fixture_init(&server);
	link_new(&fake, server.address, NULL); /* before the server: not there yet */
	RUN_UNTIL(&fake, fake.downs >= 2);
	for (int round = 0; round < 3; round++) {
		redis_fixture_start(&server, NULL, NULL);
		RUN_UNTIL(&fake, redis_link_up(fake.link));
		set_and_expect(&fake, round % 2 ? "odd" : "even");
		redis_fixture_kill(&server);
		memset(&answer, 0, sizeof(answer));
		if (!ask(fake.link, &answer)) {
			RUN_UNTIL(&fake, answer.calls);
			assert_int_equal(answer.result, REDIS_RESULT_LOST);
		}
		RUN_UNTIL(&fake, !redis_link_up(fake.link));
	}
	assert_int_equal(counted(fake.link, REDIS_C_CONNECTS), 3);
	fake_fini(&fake);
	redis_fixture_fini(&server);
}

/* A server that is stopped, not dead: the kernel still takes connects and bytes for it. */
static void test_real_paused(void **state)
{
	struct redis_fixture server;
	struct answer answer = {0};
	struct fake fake;

	(void)state;
	fake_init(&fake);
	redis_fixture_init(&server);
	redis_fixture_start(&server, NULL, NULL);
	link_new(&fake, server.address, NULL);
	RUN_UNTIL(&fake, redis_link_up(fake.link));
	kill(server.pid, SIGSTOP);
	assert_int_equal(ask(fake.link, &answer), 0);
	RUN_UNTIL(&fake, answer.calls);
	assert_int_equal(answer.result, REDIS_RESULT_TIMEOUT);
	RUN_UNTIL(&fake, counted(fake.link, REDIS_C_CONNECT_TIMEOUT) >= 1);
	kill(server.pid, SIGCONT);
	RUN_UNTIL(&fake, redis_link_up(fake.link));
	set_and_expect(&fake, "again");
	fake_fini(&fake);
	redis_fixture_fini(&server);
	assert_int_equal(answer.calls, 1);
}

static void test_real_auth(void **state)
{
	struct redis_fixture server;

	(void)state;
	redis_fixture_init(&server);
	redis_fixture_start(&server, "--requirepass", "secret");
	for (int right = 0; right < 2; right++) {
		struct fake fake;

		fake_init(&fake);
		link_new(&fake, server.address, right ? "secret" : "wrong");
		RUN_UNTIL(&fake, right ? redis_link_up(fake.link) : fake.downs >= 2);
		assert_int_equal(counted(fake.link, REDIS_C_AUTH) > 0, !right);
		fake_fini(&fake);
	}
	redis_fixture_fini(&server);
}

static void script(struct fake *fake, enum redis_script id, struct answer *answer, int keys,
	int argc, const char *const *argv)
{
	memset(answer, 0, sizeof(*answer));
	assert_int_equal(
		redis_link_script(fake->link, id, on_answer, answer, keys, argc, argv, NULL), 0);
	RUN_UNTIL(fake, answer->calls);
	if (answer->result != REDIS_RESULT_OK)
		fail_msg("script: %s", answer->text);
}

#define SCRIPT(id, keys, ...)                                                                      \
	script(&fake, REDIS_SCRIPT_##id, &answer, keys,                                            \
		(int)(sizeof((const char *[]){__VA_ARGS__}) / sizeof(char *)),                     \
		(const char *[]){__VA_ARGS__})

/* The scripts run by SHA, and are sent again after the server forgot them. */
static void test_real_scripts(void **state)
{
	struct redis_fixture server;
	struct answer answer = {0};
	struct fake fake;

	(void)state;
	fake_init(&fake);
	redis_fixture_init(&server);
	redis_fixture_start(&server, NULL, NULL);
	link_new(&fake, server.address, NULL);
	RUN_UNTIL(&fake, redis_link_up(fake.link));

	SCRIPT(PRESENCE_DROP, 1, "p", "node-a", "b1", "1:7", "s1");
	assert_int_equal(answer.integer, 0);
	assert_int_equal(counted(fake.link, REDIS_C_SCRIPT_RELOADS), 0);

	/* Forgotten by the server: sent again, unseen. */
	memset(&answer, 0, sizeof(answer));
	redis_link_command(
		fake.link, on_answer, &answer, 2, (const char *[]){"SCRIPT", "FLUSH"}, NULL);
	RUN_UNTIL(&fake, answer.calls);
	SCRIPT(PRESENCE_SEEK, 1, "p", "1:7", "node-a", "b1", "s1", "60000", "0", "3000", "0");
	assert_int_equal(counted(fake.link, REDIS_C_SCRIPT_RELOADS), 1);
	SCRIPT(PRESENCE_DROP, 1, "p", "node-a", "b1", "1:7", "s1");
	assert_int_equal(answer.integer, 1);

	memset(&answer, 0, sizeof(answer));
	redis_link_command(
		fake.link, on_answer, &answer, 3, (const char *[]){"SET", "t", "mine"}, NULL);
	RUN_UNTIL(&fake, answer.calls);
	SCRIPT(TICKET_RELEASE, 1, "t", "another");
	assert_int_equal(answer.integer, 0);
	SCRIPT(TICKET_RELEASE, 1, "t", "mine");
	assert_int_equal(answer.integer, 1);

	fake_fini(&fake);
	redis_fixture_fini(&server);
}

static void test_new_refuses_names(void **state)
{
	uv_loop_t loop;
	struct redis_link_config config = {.address = "localhost:6379", .connect_timeout_ms = 1};

	(void)state;
	uv_loop_init(&loop);
	assert_null(redis_link_new(&loop, &config));
	assert_int_equal(uv_loop_close(&loop), 0);
}

int main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test(test_new_refuses_names),
		cmocka_unit_test(test_connect_faults),
		cmocka_unit_test(test_command_faults),
		cmocka_unit_test(test_idle_ping),
		cmocka_unit_test(test_surplus_replies),
		cmocka_unit_test(test_link_free),
		cmocka_unit_test(test_real_restart),
		cmocka_unit_test(test_real_paused),
		cmocka_unit_test(test_real_auth),
		cmocka_unit_test(test_real_scripts),
	};

	return cmocka_run_group_tests(tests, NULL, NULL);
}
