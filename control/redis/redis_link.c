#include "control/redis/redis_link.h"

#include <errno.h>
#include <signal.h>
#include <stdarg.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "control/redis/redis_link_internal.h"

static const struct counter_desc counter_descs[REDIS_COUNTER_COUNT] = {
#define DESC(id, name, kind, help) {name, help, kind},
	REDIS_COUNTERS(DESC)
#undef DESC
};

const char *redis_result_name(enum redis_result result)
{
	static const char *const names[REDIS_RESULT_COUNT] = {
#define NAME(id, name, meaning) name,
		REDIS_RESULTS(NAME)
#undef NAME
	};

	return (unsigned)result < REDIS_RESULT_COUNT ? names[result] : "unknown";
}

void redis_link_count(struct redis_link *link, enum redis_counter counter)
{
	counter_add(&link->counters[counter], 1);
}

static void on_timer(uv_timer_t *timer);

void redis_link_arm(struct redis_link *link)
{
	uint64_t now = uv_now(link->loop), due = link->due_ms;

	if (link->freed || !link->addressed)
		return;
	if (link->state == REDIS_LINK_UP)
		due = link->head ? link->head->deadline_ms
				 : link->last_reply_ms + link->config.ping_ms;
	uv_timer_start(&link->timer, on_timer, due > now ? due - now : 0, 0);
}

/* ---- health ---- */

void redis_link_set_state(
	struct redis_link *link, enum redis_link_state state, const char *format, ...)
{
	char text[sizeof(link->health_text)];
	va_list args;

	va_start(args, format);
	vsnprintf(text, sizeof(text), format, args);
	va_end(args);
	link->state = state;
	counter_put(&link->counters[REDIS_C_UP], state == REDIS_LINK_UP);
	pthread_mutex_lock(&link->health_lock);
	/* An attempt that follows a failure keeps the failure's sentence: that is what helps. */
	link->health_state = state;
	if (state != REDIS_LINK_CONNECTING || !link->health_text[0])
		memcpy(link->health_text, text, sizeof(text));
	pthread_mutex_unlock(&link->health_lock);
	if (link->config.changed && !link->freed)
		link->config.changed(link->config.ctx, state, text);
}

enum redis_link_state redis_link_health(struct redis_link *link, char *text, size_t text_bytes)
{
	enum redis_link_state state;

	pthread_mutex_lock(&link->health_lock);
	snprintf(text, text_bytes, "%s", link->health_text);
	state = link->health_state;
	pthread_mutex_unlock(&link->health_lock);
	return state;
}

const struct counter_set *redis_link_counters(const struct redis_link *link)
{
	return &link->set;
}

bool redis_link_up(const struct redis_link *link)
{
	return link->state == REDIS_LINK_UP;
}

/* ---- breaking ---- */

void redis_link_break(struct redis_link *link, bool free_context, enum redis_counter cause,
	enum redis_result result, const char *what, const char *why)
{
	redisAsyncContext *context = link->context;
	uint32_t pause = link->backoff_ms;

	if (link->state == REDIS_LINK_DOWN)
		return;
	redis_link_count(link, cause);
	link->break_result = result;
	link->context = NULL;
	link->due_ms = uv_now(link->loop) + pause;
	link->backoff_ms =
		pause * 2 < link->config.backoff_max_ms ? pause * 2 : link->config.backoff_max_ms;
	redis_link_set_state(link, REDIS_LINK_DOWN, "Redis at %s: %s%s%s; trying again",
		link->address_text, what, why ? ": " : "", why ? why : "");
	/* Inside one of its callbacks hiredis notes this and frees right after. */
	if (free_context && context)
		redisAsyncFree(context);
	redis_link_arm(link);
}

const char *redis_context_error(const struct redisAsyncContext *context)
{
	return context && context->err ? context->errstr : NULL;
}

void redis_link_lost(struct redis_link *link)
{
	if (link->state == REDIS_LINK_CONNECTING)
		redis_link_break(link, false, REDIS_C_LOST, REDIS_RESULT_LOST,
			"the connection broke during the checks",
			redis_context_error(link->context));
	else
		redis_link_break(link, false, REDIS_C_LOST, REDIS_RESULT_LOST,
			"the connection broke", redis_context_error(link->context));
}

bool redis_link_surplus(struct redis_link *link, const struct redisAsyncContext *context)
{
	if (context->replies.head || context->c.reader->pos >= context->c.reader->len)
		return false;
	redis_link_break(link, true, REDIS_C_PROTOCOL, REDIS_RESULT_LOST,
		"the server sent more replies than it got commands", NULL);
	return true;
}

/* ---- time ---- */

static void on_timer(uv_timer_t *timer)
{
	struct redis_link *link = timer->data;
	uint64_t now = uv_now(link->loop);

	switch (link->state) {
	case REDIS_LINK_DOWN:
		if (now >= link->due_ms) {
			redis_link_connect(link);
			return;
		}
		break;
	case REDIS_LINK_CONNECTING:
		if (now >= link->due_ms)
			redis_link_break(link, true, REDIS_C_CONNECT_TIMEOUT, REDIS_RESULT_LOST,
				"no answer to the connect and its checks in time", NULL);
		break;
	case REDIS_LINK_UP:
		/* libuv runs timers before it reads: after this process was held up, the answer may
		 * lie in the socket. Our own lateness is not the server's silence. */
		if (link->head && now >= link->head->deadline_ms)
			redisAsyncHandleRead(link->context);
		if (link->state != REDIS_LINK_UP)
			break;
		if (link->head && now >= link->head->deadline_ms)
			redis_link_break(link, true, REDIS_C_COMMAND_TIMEOUT, REDIS_RESULT_TIMEOUT,
				"a command got no answer in time", NULL);
		else if (!link->head && now >= link->last_reply_ms + link->config.ping_ms)
			redis_link_command(link, NULL, NULL, 1, (const char *[]){"PING"}, NULL);
		break;
	}
	redis_link_arm(link);
}

/* ---- the master, by its Sentinels ---- */

static void on_master(void *ctx, const char *address)
{
	struct redis_link *link = ctx;
	char *text = strdup(address), *before = link->address_text;

	if (!text || redis_address_parse(&link->address, address)) {
		free(text); /* no memory: the link stays where it is, and the next word may fit */
		return;
	}
	redis_link_break(link, true, REDIS_C_SWITCHED, REDIS_RESULT_LOST,
		"the Sentinels say that the master is now", address);
	link->address_text = text;
	free(before);
	link->addressed = true;
	link->backoff_ms = link->config.backoff_min_ms;
	link->due_ms = uv_now(link->loop);
	redis_link_arm(link);
}

bool redis_link_watched(struct redis_link *link, char *text, size_t text_bytes)
{
	text[0] = 0;
	return !link->sentinel || redis_sentinel_text(link->sentinel, text, text_bytes) > 0;
}

/* ---- life ---- */

static uint32_t or_default(uint32_t value, uint32_t fallback)
{
	return value ? value : fallback;
}

struct redis_link *redis_link_new(uv_loop_t *loop, const struct redis_link_config *config)
{
	struct redis_link *link = calloc(1, sizeof(*link));
	sigset_t pipe_signal;

	if (!link)
		return NULL;
	link->addressed = !config->sentinel_count;
	link->address_text =
		strdup(link->addressed ? config->address : "(no Sentinel has said where)");
	if (config->password && config->password[0])
		link->password = strdup(config->password);
	if (!link->address_text ||
		(link->addressed && redis_address_parse(&link->address, config->address))) {
		free(link->address_text);
		free(link->password);
		free(link);
		return NULL;
	}
	sigemptyset(&pipe_signal);
	sigaddset(&pipe_signal, SIGPIPE);
	pthread_sigmask(SIG_BLOCK, &pipe_signal, NULL);

	link->loop = loop;
	link->config = *config;
	link->config.backoff_min_ms = or_default(config->backoff_min_ms, 100);
	link->config.backoff_max_ms = or_default(config->backoff_max_ms, 5000);
	link->config.ping_ms = or_default(config->ping_ms, 1000);
	snprintf(link->database, sizeof(link->database), "%u", config->database);
	link->backoff_ms = link->config.backoff_min_ms;
	link->tail = &link->head;
	link->set = (struct counter_set){
		"redis", 0, REDIS_COUNTER_COUNT, counter_descs, link->counters};
	pthread_mutex_init(&link->health_lock, NULL);
	uv_timer_init(loop, &link->timer);
	link->timer.data = link;
	if (link->addressed) {
		redis_link_connect(link);
		return link;
	}
	redis_link_set_state(
		link, REDIS_LINK_DOWN, "no Sentinel has said yet where the master is");
	link->sentinel = redis_sentinel_new(loop,
		&(struct redis_sentinel_config){.addresses = config->sentinels,
			.count = config->sentinel_count,
			.password = config->sentinel_password,
			.master_name = config->master_name,
			.answer_timeout_ms = config->command_timeout_ms,
			.master = on_master,
			.ctx = link});
	if (!link->sentinel) {
		redis_link_free(link);
		return NULL;
	}
	return link;
}

static void on_link_closed(uv_handle_t *handle)
{
	struct redis_link *link = handle->data;

	pthread_mutex_destroy(&link->health_lock);
	free(link->address_text);
	free(link->password);
	free(link);
}

void redis_link_free(struct redis_link *link)
{
	redisAsyncContext *context;

	if (!link || link->freed)
		return;
	context = link->context;
	link->freed = true; /* from here nothing arms the timer, and changed is not called */
	redis_sentinel_free(link->sentinel);
	link->break_result = REDIS_RESULT_CLOSED;
	link->context = NULL;
	redis_link_set_state(link, REDIS_LINK_DOWN, "Redis at %s: closed", link->address_text);
	if (context)
		redisAsyncFree(context);
	uv_close((uv_handle_t *)&link->timer, on_link_closed);
}
