#include "control/redis/redis_sentinel.h"

#include <pthread.h>
#include <stdarg.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include <hiredis/hiredis.h>

#include "common/check.h"
#include "control/redis/redis_address.h"

#define RETRY_MIN_MS 100u
#define RETRY_MAX_MS 2000u
#define READ_BYTES   4096u
/* An answer is some kilobytes. */
#define ANSWER_BYTES_MAX 65536u
/* A question with its arguments. */
#define WORDS_BYTES 512u

enum wire_kind { ASKS, HEARS };
enum wire_state { WIRE_DOWN, WIRE_CLOSING, WIRE_CONNECTING, WIRE_UP };

/* One connection to one Sentinel. */
struct wire {
	struct watch *watch;
	enum wire_kind kind;
	enum wire_state state;
	uv_tcp_t tcp;
	uv_connect_t connect;
	uv_timer_t timer; /* DOWN: the next try; else the deadline, or the next question */
	redisReader *reader;
	uint32_t unanswered; /* questions */
	bool auth_unanswered;
	uint32_t retry_ms;
	char in[READ_BYTES];
};

/* One Sentinel. */
struct watch {
	struct redis_sentinel *sentinel;
	char *address_text;
	struct sockaddr_storage address;
	struct wire wires[2];
	char master[80];
	uint64_t epoch;
	/* Any thread reads, under the lock. */
	bool knows;       /* master and epoch are its word, and the connection stands */
	char why_not[96]; /* "": nothing is wrong */
};

struct redis_sentinel {
	uv_loop_t *loop;
	struct redis_sentinel_config config;
	char *master_name, *password;
	struct watch *watches; /* [config.count] */
	char master[80];
	uint64_t epoch; /* of the word that was followed */
	bool freed;
	uint32_t open; /* handles whose close callback is to come, once freed */
	pthread_mutex_t lock;
};

static void wire_open(struct wire *wire);
static void on_timer(uv_timer_t *timer);

static void arm(struct wire *wire, uint32_t ms)
{
	if (!wire->watch->sentinel->freed)
		uv_timer_start(&wire->timer, on_timer, ms, 0);
}

__attribute__((format(printf, 2, 3))) static void why_not(
	struct watch *watch, const char *format, ...)
{
	va_list args;

	va_start(args, format);
	pthread_mutex_lock(&watch->sentinel->lock);
	vsnprintf(watch->why_not, sizeof(watch->why_not), format, args);
	pthread_mutex_unlock(&watch->sentinel->lock);
	va_end(args);
}

static void set_knows(struct watch *watch, bool knows)
{
	pthread_mutex_lock(&watch->sentinel->lock);
	watch->knows = knows;
	if (knows)
		watch->why_not[0] = 0;
	pthread_mutex_unlock(&watch->sentinel->lock);
}

/* ---- the end of a connection ---- */

static void all_gone(struct redis_sentinel *sentinel)
{
	for (uint32_t i = 0; sentinel->watches && i < sentinel->config.count; i++) {
		for (int w = 0; w < 2; w++)
			if (sentinel->watches[i].wires[w].reader)
				redisReaderFree(sentinel->watches[i].wires[w].reader);
		free(sentinel->watches[i].address_text);
	}
	free(sentinel->watches);
	free(sentinel->master_name);
	free(sentinel->password);
	pthread_mutex_destroy(&sentinel->lock);
	free(sentinel);
}

static void on_closed_last(uv_handle_t *handle)
{
	struct wire *wire = handle->data;
	struct redis_sentinel *sentinel = wire->watch->sentinel;

	if (--sentinel->open == 0)
		all_gone(sentinel);
}

static void on_closed(uv_handle_t *handle)
{
	struct wire *wire = handle->data;

	if (wire->watch->sentinel->freed) {
		on_closed_last(handle);
		return;
	}
	wire->state = WIRE_DOWN;
	arm(wire, wire->retry_ms);
	wire->retry_ms = wire->retry_ms * 2 < RETRY_MAX_MS ? wire->retry_ms * 2 : RETRY_MAX_MS;
}

static void wire_break(struct wire *wire)
{
	if (wire->state == WIRE_DOWN || wire->state == WIRE_CLOSING)
		return;
	wire->state = WIRE_CLOSING;
	if (wire->kind == ASKS)
		set_knows(wire->watch, false);
	uv_timer_stop(&wire->timer);
	uv_close((uv_handle_t *)&wire->tcp, on_closed);
}

/* ---- questions ---- */

/* Small: it fits the socket's buffer, or the connection is of no use. */
static void say(struct wire *wire, int count, const char *const *words)
{
	char text[WORDS_BYTES];
	uv_buf_t buf;
	int at = snprintf(text, sizeof(text), "*%d\r\n", count);

	for (int i = 0; i < count; i++)
		at += snprintf(text + at, sizeof(text) - (size_t)at, "$%zu\r\n%s\r\n",
			strlen(words[i]), words[i]);
	buf = uv_buf_init(text, (unsigned)at);
	if (uv_try_write((uv_stream_t *)&wire->tcp, &buf, 1) != at) {
		why_not(wire->watch, "takes nothing");
		wire_break(wire);
		return;
	}
	wire->unanswered++;
	arm(wire, wire->watch->sentinel->config.answer_timeout_ms);
}

static void ask(struct wire *wire)
{
	if (wire->kind == HEARS)
		say(wire, 1, (const char *[]){"PING"});
	else
		say(wire, 3,
			(const char *[]){"SENTINEL", "MASTER",
				wire->watch->sentinel->master_name});
}

static void on_timer(uv_timer_t *timer)
{
	struct wire *wire = timer->data;

	if (wire->state == WIRE_DOWN) {
		wire_open(wire);
	} else if (wire->state == WIRE_CONNECTING || wire->unanswered) {
		why_not(wire->watch, "no answer in time");
		wire_break(wire);
	} else if (wire->state == WIRE_UP) {
		ask(wire);
	}
}

/* ---- answers ---- */

/* Whose word counts may have changed. */
static void choose(struct redis_sentinel *sentinel)
{
	const struct watch *best = NULL;
	uint32_t know = 0;

	for (uint32_t i = 0; i < sentinel->config.count; i++) {
		const struct watch *watch = &sentinel->watches[i];

		know += watch->knows;
		/* Of one epoch: what is believed already, so that two do not take turns. */
		if (watch->knows && (!best || watch->epoch > best->epoch ||
					    (watch->epoch == best->epoch &&
						    !strcmp(watch->master, sentinel->master))))
			best = watch;
	}
	/* The others cannot be reached: this one may be cut off with an old master. Or all of them
	 * were set up anew, and count from 0 again. */
	if (!best || (best->epoch < sentinel->epoch && know <= sentinel->config.count / 2))
		return;
	sentinel->epoch = best->epoch;
	if (!strcmp(best->master, sentinel->master))
		return;
	memcpy(sentinel->master, best->master, sizeof(sentinel->master));
	sentinel->config.master(sentinel->config.ctx, sentinel->master);
}

static const char *text_of(const redisReply *reply, size_t i)
{
	if (i >= reply->elements || reply->element[i]->type != REDIS_REPLY_STRING)
		return "";
	return reply->element[i]->str;
}

/* SENTINEL MASTER: names and values. */
static void on_master(struct watch *watch, const redisReply *reply)
{
	const char *ip = "", *port = "", *epoch = "";
	struct redis_address address;
	char text[sizeof(watch->master)];

	set_knows(watch, false);
	if (reply->type != REDIS_REPLY_ARRAY) {
		why_not(watch, "%s", reply->type == REDIS_REPLY_ERROR ? reply->str : "no answer");
		return;
	}
	for (size_t i = 0; i + 1 < reply->elements; i += 2) {
		if (!strcmp(text_of(reply, i), "ip"))
			ip = text_of(reply, i + 1);
		else if (!strcmp(text_of(reply, i), "port"))
			port = text_of(reply, i + 1);
		else if (!strcmp(text_of(reply, i), "config-epoch"))
			epoch = text_of(reply, i + 1);
	}
	snprintf(text, sizeof(text), strchr(ip, ':') ? "[%.50s]:%.6s" : "%.50s:%.6s", ip, port);
	if (redis_address_parse(&address, text) || !address.host[0]) {
		/* resolve-hostnames is on: a name would have to be looked up */
		why_not(watch, "names %.60s as the master", text);
		return;
	}
	memcpy(watch->master, text, sizeof(text));
	watch->epoch = strtoull(epoch, NULL, 10);
	set_knows(watch, true);
}

/* To one that hears: subscribe, message, pong. */
static void on_heard(struct wire *wire, const redisReply *reply)
{
	struct wire *asks = &wire->watch->wires[ASKS];

	if (reply->type != REDIS_REPLY_ARRAY) {
		why_not(wire->watch, "%s",
			reply->type == REDIS_REPLY_ERROR ? reply->str : "not a subscription");
		wire_break(wire);
		return;
	}
	if (strcmp(text_of(reply, 0), "message")) {
		wire->unanswered -= wire->unanswered > 0;
		return;
	}
	/* name, old ip and port, new ip and port; the Sentinel answers with the new ones by now. */
	if (asks->state == WIRE_UP)
		ask(asks);
}

static void on_reply(struct wire *wire, const redisReply *reply)
{
	struct redis_sentinel *sentinel = wire->watch->sentinel;

	wire->retry_ms = RETRY_MIN_MS;
	if (wire->auth_unanswered) {
		wire->auth_unanswered = false;
		wire->unanswered--;
		if (reply->type == REDIS_REPLY_ERROR) {
			why_not(wire->watch, "%s", reply->str);
			wire_break(wire);
		}
		return;
	}
	if (wire->kind == HEARS) {
		on_heard(wire, reply);
	} else if (!wire->unanswered) {
		why_not(wire->watch, "answers that nobody asked for");
		wire_break(wire);
	} else {
		wire->unanswered--;
		on_master(wire->watch, reply);
		choose(sentinel);
	}
	if (wire->state == WIRE_UP && !wire->unanswered)
		arm(wire, sentinel->config.poll_ms);
}

static void on_alloc(uv_handle_t *handle, size_t size, uv_buf_t *buf)
{
	struct wire *wire = handle->data;

	(void)size;
	*buf = uv_buf_init(wire->in, sizeof(wire->in));
}

static void on_read(uv_stream_t *stream, ssize_t bytes, const uv_buf_t *buf)
{
	struct wire *wire = stream->data;
	void *reply;

	if (wire->state != WIRE_UP)
		return;
	if (bytes < 0) {
		why_not(wire->watch, "%s", uv_strerror((int)bytes));
		wire_break(wire);
		return;
	}
	if (redisReaderFeed(wire->reader, buf->base, (size_t)bytes) != REDIS_OK ||
		wire->reader->len - wire->reader->pos > ANSWER_BYTES_MAX) {
		why_not(wire->watch, "an answer that is too long");
		wire_break(wire);
		return;
	}
	while (wire->state == WIRE_UP) {
		if (redisReaderGetReply(wire->reader, &reply) != REDIS_OK) {
			why_not(wire->watch, "%s", wire->reader->errstr);
			wire_break(wire);
			return;
		}
		if (!reply)
			return;
		on_reply(wire, reply);
		freeReplyObject(reply);
	}
}

/* ---- the start of a connection ---- */

static void on_connect(uv_connect_t *connect, int status)
{
	struct wire *wire = connect->data;
	const struct redis_sentinel *sentinel = wire->watch->sentinel;

	if (wire->state != WIRE_CONNECTING)
		return; /* closed meanwhile */
	if (status) {
		why_not(wire->watch, "%s", uv_strerror(status));
		wire_break(wire);
		return;
	}
	wire->state = WIRE_UP;
	wire->unanswered = 0;
	uv_read_start((uv_stream_t *)&wire->tcp, on_alloc, on_read);
	wire->auth_unanswered = sentinel->password != NULL;
	if (sentinel->password)
		say(wire, 2, (const char *[]){"AUTH", sentinel->password});
	if (wire->state == WIRE_UP && wire->kind == HEARS)
		say(wire, 2, (const char *[]){"SUBSCRIBE", "+switch-master"});
	else if (wire->state == WIRE_UP)
		ask(wire);
}

static void wire_open(struct wire *wire)
{
	struct watch *watch = wire->watch;
	int rc;

	if (wire->reader)
		redisReaderFree(wire->reader);
	wire->reader = redisReaderCreate();
	uv_tcp_init(watch->sentinel->loop, &wire->tcp);
	wire->tcp.data = wire->connect.data = wire;
	wire->state = WIRE_CONNECTING;
	arm(wire, watch->sentinel->config.answer_timeout_ms);
	rc = wire->reader ? uv_tcp_connect(&wire->connect, &wire->tcp,
				    (const struct sockaddr *)&watch->address, on_connect)
			  : UV_ENOMEM;
	if (rc) {
		why_not(watch, "%s", uv_strerror(rc));
		wire_break(wire);
	}
}

static bool watch_init(struct watch *watch, struct redis_sentinel *sentinel, const char *text)
{
	struct redis_address address;

	if (redis_address_parse(&address, text) || !address.host[0])
		return false;
	if (strchr(address.host, ':'))
		uv_ip6_addr(address.host, address.port, (struct sockaddr_in6 *)&watch->address);
	else
		uv_ip4_addr(address.host, address.port, (struct sockaddr_in *)&watch->address);
	watch->sentinel = sentinel;
	watch->address_text = strdup(text);
	for (int w = 0; w < 2; w++)
		watch->wires[w] = (struct wire){
			.watch = watch, .kind = (enum wire_kind)w, .retry_ms = RETRY_MIN_MS};
	return watch->address_text != NULL;
}

struct redis_sentinel *redis_sentinel_new(
	uv_loop_t *loop, const struct redis_sentinel_config *config)
{
	struct redis_sentinel *sentinel = calloc(1, sizeof(*sentinel));
	bool good = sentinel != NULL;

	CHECK(config->count > 0 && config->count <= REDIS_SENTINELS_MAX);
	if (!good)
		return NULL;
	pthread_mutex_init(&sentinel->lock, NULL);
	sentinel->loop = loop;
	sentinel->config = *config;
	sentinel->config.poll_ms = config->poll_ms ? config->poll_ms : 1000;
	sentinel->master_name = strdup(config->master_name);
	if (config->password && config->password[0])
		sentinel->password = strdup(config->password);
	sentinel->watches = calloc(config->count, sizeof(*sentinel->watches));
	good = sentinel->master_name && sentinel->watches;
	for (uint32_t i = 0; good && i < config->count; i++)
		good = watch_init(&sentinel->watches[i], sentinel, config->addresses[i]);
	if (!good) {
		all_gone(sentinel);
		return NULL;
	}
	for (uint32_t i = 0; i < config->count; i++)
		for (int w = 0; w < 2; w++) {
			struct wire *wire = &sentinel->watches[i].wires[w];

			uv_timer_init(loop, &wire->timer);
			wire->timer.data = wire;
			wire_open(wire);
		}
	return sentinel;
}

void redis_sentinel_free(struct redis_sentinel *sentinel)
{
	if (!sentinel || sentinel->freed)
		return;
	sentinel->freed = true;
	for (uint32_t i = 0; i < sentinel->config.count; i++)
		for (int w = 0; w < 2; w++) {
			struct wire *wire = &sentinel->watches[i].wires[w];

			sentinel->open += 1u + (wire->state != WIRE_DOWN);
			uv_close((uv_handle_t *)&wire->timer, on_closed_last);
			if (wire->state != WIRE_DOWN && wire->state != WIRE_CLOSING)
				uv_close((uv_handle_t *)&wire->tcp, on_closed);
			wire->state = WIRE_CLOSING;
		}
}

uint32_t redis_sentinel_text(struct redis_sentinel *sentinel, char *text, size_t text_bytes)
{
	const struct watch *silent = NULL;
	uint32_t know = 0;

	pthread_mutex_lock(&sentinel->lock);
	for (uint32_t i = 0; i < sentinel->config.count; i++) {
		know += sentinel->watches[i].knows;
		if (sentinel->watches[i].why_not[0])
			silent = &sentinel->watches[i];
	}
	snprintf(text, text_bytes, "%u of %u Sentinels know the master \"%s\"%s%s%s%s", know,
		sentinel->config.count, sentinel->master_name, silent ? "; " : "",
		silent ? silent->address_text : "", silent ? ": " : "",
		silent ? silent->why_not : "");
	pthread_mutex_unlock(&sentinel->lock);
	return know;
}
