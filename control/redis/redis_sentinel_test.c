/* Proves that the link follows its Sentinels: with a real master, two replicas and three Sentinels,
 * whose master is stopped (not dead) under a stream of commands and later killed; and with Sentinels
 * that the test plays, which disagree, fall silent, talk nonsense, or are gone. */
#include <setjmp.h>
#include <signal.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/prctl.h>
#include <sys/socket.h>
#include <sys/wait.h>
#include <unistd.h>

#include <cmocka.h>
#include <hiredis/hiredis.h>

#include "control/redis/redis_link.h"
#include "control/redis/redis_sentinel.h"

static uv_loop_t loop;

static void on_guard(uv_timer_t *timer)
{
	*(bool *)timer->data = true;
}

/* Runs the loop until the condition holds; fails after so many seconds, which only a hang takes. */
#define RUN_UNTIL_S(cond, seconds)                                                                 \
	do {                                                                                       \
		bool late = false;                                                                 \
		uv_timer_t guard;                                                                  \
		uv_timer_init(&loop, &guard);                                                      \
		guard.data = &late;                                                                \
		uv_timer_start(&guard, on_guard, (seconds)*1000, 0);                               \
		while (!(cond) && !late)                                                           \
			uv_run(&loop, UV_RUN_ONCE);                                                \
		uv_close((uv_handle_t *)&guard, NULL);                                             \
		uv_run(&loop, UV_RUN_NOWAIT);                                                      \
		if (late)                                                                          \
			fail_msg("never came true: %s", #cond);                                    \
	} while (0)
/* An election without a winner is tried again after seconds, a Sentinel that was held up waits for
 * half a minute (TILT). */
#define RUN_UNTIL(cond) RUN_UNTIL_S(cond, 90)

/* ---- real servers ---- */

#define SERVERS   3
#define SENTINELS 3

struct server {
	pid_t pid;
	int port;
};

static char dir[64];
static struct server servers[SERVERS], sentinels[SENTINELS];

/* A port that was free a moment ago. */
static int free_port(void)
{
	struct sockaddr_in name = {.sin_family = AF_INET, .sin_addr.s_addr = htonl(0x7f000001)};
	socklen_t length = sizeof(name);
	int fd = socket(AF_INET, SOCK_STREAM, 0);

	assert_int_equal(bind(fd, (struct sockaddr *)&name, sizeof(name)), 0);
	getsockname(fd, (struct sockaddr *)&name, &length);
	close(fd);
	return ntohs(name.sin_port);
}

static void spawn(struct server *server, const char *program, char *const *argv)
{
	server->pid = fork();
	assert_true(server->pid >= 0);
	if (server->pid)
		return;
	prctl(PR_SET_PDEATHSIG, SIGKILL);
	freopen("/dev/null", "w", stdout);
	execvp(program, argv);
	_exit(127);
}

static redisReply *ask(int port, const char *command)
{
	redisReply *reply = NULL;

	for (int turns = 0; turns < 2000 && !reply; turns++) {
		redisContext *context = redisConnect("127.0.0.1", port);

		if (context && !context->err)
			reply = redisCommand(context, command);
		redisFree(context);
		if (!reply)
			usleep(5000);
	}
	assert_non_null(reply);
	return reply;
}

/* Until the server's answer, as one text, contains this. */
static void until_says(int port, const char *command, const char *text)
{
	for (int turns = 0; turns < 2000; turns++) {
		redisReply *reply = ask(port, command);
		bool found = false;

		if (reply->type == REDIS_REPLY_STRING)
			found = strstr(reply->str, text);
		for (size_t i = 0; i + 1 < reply->elements && !found; i += 2) {
			char pair[256];

			snprintf(pair, sizeof(pair), "%s=%s;", reply->element[i]->str,
				reply->element[i + 1]->str);
			found = strstr(pair, text);
		}
		freeReplyObject(reply);
		if (found)
			return;
		usleep(5000);
	}
	fail_msg("%d never says %s to %s", port, text, command);
}

static void start_server(int i)
{
	char port[8], master[8];
	char *argv[] = {"redis-server", "--port", port, "--bind", "127.0.0.1", "--dir", dir, "--save",
		"", "--repl-diskless-sync-delay", "0", "--logfile", "/dev/null",
		i ? "--replicaof" : NULL, "127.0.0.1", master, NULL};

	servers[i].port = free_port();
	snprintf(port, sizeof(port), "%d", servers[i].port);
	snprintf(master, sizeof(master), "%d", servers[0].port);
	spawn(&servers[i], "redis-server", argv);
}

static void start_sentinel(int i)
{
	char path[96], port[8];
	char *argv[] = {"redis-sentinel", path, NULL};
	FILE *file;

	sentinels[i].port = free_port();
	snprintf(path, sizeof(path), "%s/sentinel-%d.conf", dir, i);
	snprintf(port, sizeof(port), "%d", sentinels[i].port);
	file = fopen(path, "w");
	fprintf(file,
		"port %s\nbind 127.0.0.1\ndir %s\nlogfile /dev/null\nsentinel monitor game "
		"127.0.0.1 %d 2\nsentinel down-after-milliseconds game 500\nsentinel "
		"failover-timeout game 2000\n",
		port, dir, servers[0].port);
	fclose(file);
	spawn(&sentinels[i], "redis-sentinel", argv);
}

static void start_all(void)
{
	strcpy(dir, "/tmp/sw-sentinel-XXXXXX");
	assert_non_null(mkdtemp(dir));
	for (int i = 0; i < SERVERS; i++)
		start_server(i);
	for (int i = 0; i < SERVERS; i++)
		until_says(servers[i].port, "INFO replication",
			i ? "master_link_status:up" : "connected_slaves:2");
	for (int i = 0; i < SENTINELS; i++)
		start_sentinel(i);
	for (int i = 0; i < SENTINELS; i++) {
		until_says(sentinels[i].port, "SENTINEL MASTER game", "num-slaves=2;");
		until_says(sentinels[i].port, "SENTINEL MASTER game", "num-other-sentinels=2;");
	}
}

static void end(struct server *server)
{
	if (!server->pid)
		return;
	kill(server->pid, SIGKILL);
	waitpid(server->pid, NULL, 0);
	server->pid = 0;
}

static void end_all(void)
{
	char command[96];

	for (int i = 0; i < SENTINELS; i++)
		end(&sentinels[i]);
	for (int i = 0; i < SERVERS; i++)
		end(&servers[i]);
	snprintf(command, sizeof(command), "rm -rf %s", dir);
	assert_int_equal(system(command), 0);
}

/* ---- a stream of commands ---- */

static struct stream {
	struct redis_link *link;
	uint64_t sent, answered, good, refused;
	bool over;
} stream;

static void send_one(void);

static void on_answer(void *ctx, enum redis_result result, const struct redisReply *reply)
{
	(void)ctx;
	(void)reply;
	stream.answered++;
	stream.good += result == REDIS_RESULT_OK;
	if (!stream.over && redis_link_up(stream.link))
		send_one();
}

static void send_one(void)
{
	char number[24];

	snprintf(number, sizeof(number), "%llu", (unsigned long long)stream.sent);
	if (redis_link_command(stream.link, on_answer, NULL, 3,
		    (const char *[]){"RPUSH", "list", number}, NULL))
		stream.refused++;
	else
		stream.sent++;
}

static void on_changed(void *ctx, enum redis_link_state state, const char *sentence)
{
	(void)ctx;
	(void)sentence;
	if (state == REDIS_LINK_UP && stream.link)
		for (int i = 0; i < 16; i++)
			send_one();
}

static uint64_t counted(enum redis_counter counter)
{
	return counter_get(&redis_link_counters(stream.link)->values[counter]);
}

/* The server whose address the link names. */
static struct server *connected_to(void)
{
	char text[256], address[32];

	if (redis_link_health(stream.link, text, sizeof(text)) != REDIS_LINK_UP)
		return NULL;
	for (int i = 0; i < SERVERS; i++) {
		snprintf(address, sizeof(address), "127.0.0.1:%d:", servers[i].port);
		if (strstr(text, address))
			return &servers[i];
	}
	return NULL;
}

static void failovers_in_the_middle_of_commands(void **state)
{
	char addresses[SENTINELS][32], text[256];
	const char *list[SENTINELS];
	struct redis_link_config config = {
		.address = "",
		.sentinels = list,
		.sentinel_count = SENTINELS,
		.master_name = "game",
		/* Silence alone never breaks the link: it leaves because it was told to. */
		.connect_timeout_ms = 1000,
		.command_timeout_ms = 60000,
		.backoff_min_ms = 10,
		.changed = on_changed,
	};
	struct server *second, *third;
	uint64_t good;

	(void)state;
	start_all();
	uv_loop_init(&loop);
	for (int i = 0; i < SENTINELS; i++) {
		snprintf(addresses[i], sizeof(addresses[i]), "127.0.0.1:%d", sentinels[i].port);
		list[i] = addresses[i];
	}
	memset(&stream, 0, sizeof(stream));
	stream.link = redis_link_new(&loop, &config);
	assert_non_null(stream.link);
	RUN_UNTIL(stream.good > 1000);
	assert_ptr_equal(connected_to(), &servers[0]);
	assert_true(redis_link_watched(stream.link, text, sizeof(text)));

	/* Stopped, not dead: its connection stays open. */
	kill(servers[0].pid, SIGSTOP);
	RUN_UNTIL(connected_to() && connected_to() != &servers[0]);
	assert_int_equal(counted(REDIS_C_SWITCHED), 1);
	assert_int_equal(counted(REDIS_C_COMMAND_TIMEOUT), 0);
	second = connected_to();
	good = stream.good;
	RUN_UNTIL(stream.good > good + 1000);
	/* It comes back, believes itself the master, and nobody follows it. */
	kill(servers[0].pid, SIGCONT);
	until_says(servers[0].port, "INFO replication", "role:master");
	good = stream.good;
	RUN_UNTIL(stream.good > good + 1000);
	assert_ptr_equal(connected_to(), second);

	/* Dead. */
	until_says(second->port, "INFO replication", "state=online");
	end(second);
	RUN_UNTIL(connected_to() && connected_to() != second);
	third = connected_to();
	good = stream.good;
	RUN_UNTIL(stream.good > good + 1000);
	assert_ptr_equal(connected_to(), third);
	end(&sentinels[0]);
	RUN_UNTIL(redis_link_watched(stream.link, text, sizeof(text)) &&
		  strstr(text, "2 of 3 Sentinels know the master \"game\"; 127.0.0.1:"));
	stream.over = true;
	RUN_UNTIL(stream.answered == stream.sent); /* each was called back */
	/* Without any Sentinel one can play on, and is warned. */
	end(&sentinels[1]);
	end(&sentinels[2]);
	RUN_UNTIL(!redis_link_watched(stream.link, text, sizeof(text)));
	assert_true(redis_link_up(stream.link));
	redis_link_free(stream.link);
	stream.link = NULL;
	uv_run(&loop, UV_RUN_DEFAULT);
	assert_int_equal(uv_loop_close(&loop), 0);
	end_all();
}

/* ---- Sentinels that the test plays ---- */

enum mode { WELL, SILENT, ERROR, NAME, GARBAGE, TOO_LONG, SURPLUS };

struct fake {
	uv_tcp_t listener;
	char address[32];
	enum mode mode;
	int port; /* of the master that it names */
	unsigned epoch;
	uint32_t asked, subscribed;
};

struct peer {
	uv_tcp_t tcp;
	struct fake *fake;
	char in[512];
};

static char followed[80];
static uint32_t changes;

static void peer_free(uv_handle_t *handle)
{
	free(handle->data);
}

static void say(struct peer *peer, const char *text)
{
	uv_buf_t buf = uv_buf_init((char *)(uintptr_t)text, (unsigned)strlen(text));

	uv_try_write((uv_stream_t *)&peer->tcp, &buf, 1);
}

static void answer(struct peer *peer, const char *in)
{
	struct fake *fake = peer->fake;
	char port[8], epoch[12], text[256];

	if (fake->mode == SILENT)
		return;
	if (strstr(in, "SUBSCRIBE")) {
		fake->subscribed++;
		say(peer, "*3\r\n$9\r\nsubscribe\r\n$14\r\n+switch-master\r\n:1\r\n");
	}
	if (strstr(in, "PING"))
		say(peer, "*2\r\n$4\r\npong\r\n$0\r\n\r\n");
	if (!strstr(in, "MASTER"))
		return;
	fake->asked++;
	snprintf(port, sizeof(port), "%d", fake->port);
	snprintf(epoch, sizeof(epoch), "%u", fake->epoch);
	snprintf(text, sizeof(text),
		"*8\r\n$4\r\nname\r\n$4\r\ngame\r\n$2\r\nip\r\n$%zu\r\n%s\r\n$4\r\nport\r\n$%zu\r\n%s"
		"\r\n$12\r\nconfig-epoch\r\n$%zu\r\n%s\r\n",
		fake->mode == NAME ? strlen("redis-1") : strlen("10.0.0.1"),
		fake->mode == NAME ? "redis-1" : "10.0.0.1", strlen(port), port, strlen(epoch),
		epoch);
	if (fake->mode == ERROR)
		say(peer, "-ERR No such master with that name\r\n");
	else if (fake->mode == GARBAGE)
		say(peer, "HTTP/1.1 400 Bad Request\r\n\r\n");
	else if (fake->mode == TOO_LONG)
		for (int i = 0; i < 100; i++)
			say(peer, i ? "0123456789012345678901234567890123456789012345678901234567890123"
				      "0123456789012345678901234567890123456789012345678901234567890123"
				      "0123456789012345678901234567890123456789012345678901234567890123"
				      "0123456789012345678901234567890123456789012345678901234567890123"
				      "0123456789012345678901234567890123456789012345678901234567890123"
				      "0123456789012345678901234567890123456789012345678901234567890123"
				      "0123456789012345678901234567890123456789012345678901234567890123"
				      "0123456789012345678901234567890123456789012345678901234567890123"
				      "0123456789012345678901234567890123456789012345678901234567890123"
				      "0123456789012345678901234567890123456789012345678901234567890123"
				      "0123456789012345678901234567890123456789012345678901234567890123"
				    : "$400000000\r\n");
	else
		say(peer, text);
	if (fake->mode == SURPLUS)
		say(peer, text);
}

static void on_alloc(uv_handle_t *handle, size_t size, uv_buf_t *buf)
{
	struct peer *peer = handle->data;

	(void)size;
	*buf = uv_buf_init(peer->in, sizeof(peer->in) - 1);
}

static void on_read(uv_stream_t *stream_of, ssize_t bytes, const uv_buf_t *buf)
{
	struct peer *peer = stream_of->data;

	if (bytes < 0) {
		if (!uv_is_closing((uv_handle_t *)stream_of))
			uv_close((uv_handle_t *)stream_of, peer_free);
		return;
	}
	buf->base[bytes] = 0;
	answer(peer, buf->base);
}

static void on_accept(uv_stream_t *listener, int status)
{
	struct peer *peer = calloc(1, sizeof(*peer));

	assert_int_equal(status, 0);
	peer->fake = listener->data;
	uv_tcp_init(&loop, &peer->tcp);
	peer->tcp.data = peer;
	assert_int_equal(uv_accept(listener, (uv_stream_t *)&peer->tcp), 0);
	uv_read_start((uv_stream_t *)&peer->tcp, on_alloc, on_read);
}

static void fake_init(struct fake *fake, enum mode mode, int port, unsigned epoch)
{
	struct sockaddr_in name;
	int length = sizeof(name);

	*fake = (struct fake){.mode = mode, .port = port, .epoch = epoch};
	uv_tcp_init(&loop, &fake->listener);
	fake->listener.data = fake;
	uv_ip4_addr("127.0.0.1", 0, &name);
	assert_int_equal(uv_tcp_bind(&fake->listener, (struct sockaddr *)&name, 0), 0);
	uv_tcp_getsockname(&fake->listener, (struct sockaddr *)&name, &length);
	snprintf(fake->address, sizeof(fake->address), "127.0.0.1:%u", ntohs(name.sin_port));
	assert_int_equal(uv_listen((uv_stream_t *)&fake->listener, 16, on_accept), 0);
}

static void on_master(void *ctx, const char *address)
{
	(void)ctx;
	snprintf(followed, sizeof(followed), "%s", address);
	changes++;
}

static struct redis_sentinel *watch_all(struct fake *fakes, uint32_t count)
{
	const char *list[REDIS_SENTINELS_MAX];
	struct redis_sentinel *sentinel;

	for (uint32_t i = 0; i < count; i++)
		list[i] = fakes[i].address;
	followed[0] = 0;
	changes = 0;
	sentinel = redis_sentinel_new(&loop,
		&(struct redis_sentinel_config){.addresses = list,
			.count = count,
			.master_name = "game",
			.answer_timeout_ms = 100,
			.poll_ms = 10,
			.master = on_master});
	assert_non_null(sentinel);
	return sentinel;
}

static void close_any(uv_handle_t *handle, void *arg)
{
	(void)arg;
	if (!uv_is_closing(handle))
		uv_close(handle, handle->data == arg ? NULL : peer_free);
}

static void finish(struct redis_sentinel *sentinel, struct fake *fakes, uint32_t count)
{
	redis_sentinel_free(sentinel);
	for (uint32_t i = 0; i < count; i++)
		if (!uv_is_closing((uv_handle_t *)&fakes[i].listener))
			uv_close((uv_handle_t *)&fakes[i].listener, NULL);
	while (uv_run(&loop, UV_RUN_NOWAIT) && loop.active_handles > 0)
		uv_walk(&loop, close_any, NULL);
	assert_int_equal(uv_loop_close(&loop), 0);
}

static void the_greatest_epoch_counts(void **state)
{
	struct fake fakes[3];
	struct redis_sentinel *sentinel;
	uint32_t asked;

	(void)state;
	uv_loop_init(&loop);
	for (int i = 0; i < 3; i++)
		fake_init(&fakes[i], WELL, 7001, 4);
	sentinel = watch_all(fakes, 3);
	RUN_UNTIL(fakes[0].asked > 3 && fakes[1].asked > 3 && fakes[2].asked > 3);
	assert_string_equal(followed, "10.0.0.1:7001");
	assert_int_equal(changes, 1);
	/* One hears of a failover; the two that are cut off are outvoted. */
	fakes[2].port = 7002;
	fakes[2].epoch = 5;
	RUN_UNTIL(!strcmp(followed, "10.0.0.1:7002"));
	asked = fakes[0].asked;
	RUN_UNTIL(fakes[0].asked > asked + 5);
	assert_int_equal(changes, 2);
	/* Only one of those two is left: no way back. */
	fakes[1].mode = fakes[2].mode = SILENT;
	asked = fakes[0].asked;
	RUN_UNTIL(fakes[0].asked > asked + 50);
	assert_int_equal(changes, 2);
	/* More than half of them, with lower numbers: they were set up anew. */
	fakes[1].mode = WELL;
	RUN_UNTIL(!strcmp(followed, "10.0.0.1:7001"));
	/* Of one epoch, none takes the place of the other. */
	fakes[1].port = 7003;
	asked = fakes[1].asked;
	RUN_UNTIL(fakes[1].asked > asked + 5);
	assert_int_equal(changes, 3);
	finish(sentinel, fakes, 3);
}

static void who_makes_no_sense_is_named(void **state)
{
	static const struct {
		enum mode mode;
		const char *says;
	} cases[] = {
		{SILENT, "no answer in time"},
		{ERROR, "No such master"},
		{NAME, "names redis-1:7001 as the master"},
		{GARBAGE, "Protocol error"},
		{TOO_LONG, "too long"},
		{SURPLUS, "nobody asked for"},
	};

	(void)state;
	for (size_t i = 0; i < sizeof(cases) / sizeof(cases[0]); i++) {
		struct fake fakes[2];
		struct redis_sentinel *sentinel;
		char text[256] = "";

		uv_loop_init(&loop);
		fake_init(&fakes[0], cases[i].mode, 7001, 9);
		fake_init(&fakes[1], WELL, 7002, 1);
		sentinel = watch_all(fakes, 2);
		RUN_UNTIL(!strcmp(followed, "10.0.0.1:7002") || cases[i].mode == SURPLUS);
		RUN_UNTIL((redis_sentinel_text(sentinel, text, sizeof(text)),
			strstr(text, cases[i].says)));
		if (!strstr(text, fakes[0].address))
			fail_msg("\"%s\" does not name %s", text, fakes[0].address);
		/* And then it is well. */
		fakes[0].mode = WELL;
		RUN_UNTIL(redis_sentinel_text(sentinel, text, sizeof(text)) == 2);
		RUN_UNTIL(!strcmp(followed, "10.0.0.1:7001"));
		RUN_UNTIL(fakes[0].subscribed);
		finish(sentinel, fakes, 2);
	}
}

int main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test(the_greatest_epoch_counts),
		cmocka_unit_test(who_makes_no_sense_is_named),
		cmocka_unit_test(failovers_in_the_middle_of_commands),
	};

	signal(SIGPIPE, SIG_IGN);
	return cmocka_run_group_tests(tests, NULL, NULL);
}
