#include "control/redis/redis_link.h"

#include <errno.h>
#include <pthread.h>
#include <signal.h>
#include <stdarg.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include <hiredis/async.h>

#include "common/check.h"
#include "control/redis/redis_address.h"
#include "control/redis/redis_uv.h"

#define SHA_BYTES 41u

static const struct counter_desc counter_descs[REDIS_COUNTER_COUNT] = {
#define DESC(id, name, kind, help) {name, help, kind},
	REDIS_COUNTERS(DESC)
#undef DESC
};

/* A command on its way. They are answered in the order they were sent. */
struct call {
	struct redis_link *link;
	struct call *next;
	redis_link_fn *fn; /* NULL: the link's own PING */
	void *ctx;
	uint64_t deadline_ms; /* of uv_now */
	/* A script call keeps its arguments, to be sent again after NOSCRIPT. */
	int script; /* enum redis_script, -1 for a plain command */
	int keys, argc;
	const char **argv;
	size_t *lengths;
};

/* AUTH, SELECT, ROLE and one SCRIPT LOAD for each script. */
struct setup_step {
	struct redis_link *link;
	enum redis_counter cause; /* what a refusal counts as */
	const char *what;
	int script; /* -1: none */
};

struct redis_link {
	uv_loop_t *loop;
	uv_timer_t timer; /* the next thing that is due: retry, deadline or PING */
	struct redis_address address;
	char *address_text, *password, database[12];
	struct redis_link_config config;

	enum redis_link_state state;
	bool freed;
	redisAsyncContext *context;     /* NULL when down, and once hiredis gives it up */
	enum redis_result break_result; /* what waiting commands are told when it breaks */
	struct call *head, **tail;
	uint64_t due_ms;        /* DOWN: next attempt; CONNECTING: the deadline */
	uint64_t last_reply_ms; /* UP: for the idle PING */
	uint32_t backoff_ms;

	struct setup_step steps[3 + REDIS_SCRIPT_COUNT];
	uint32_t steps_left;
	char sha[REDIS_SCRIPT_COUNT][SHA_BYTES];

	_Atomic uint64_t counters[REDIS_COUNTER_COUNT];
	struct counter_set set;

	pthread_mutex_t health_lock; /* health_*: written by the loop, read by any thread */
	enum redis_link_state health_state;
	char health_text[256];
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

static void count(struct redis_link *link, enum redis_counter counter)
{
	counter_add(&link->counters[counter], 1);
}

static void on_timer(uv_timer_t *timer);

static void arm(struct redis_link *link)
{
	uint64_t now = uv_now(link->loop), due = link->due_ms;

	if (link->freed)
		return;
	if (link->state == REDIS_LINK_UP)
		due = link->head ? link->head->deadline_ms
				 : link->last_reply_ms + link->config.ping_ms;
	uv_timer_start(&link->timer, on_timer, due > now ? due - now : 0, 0);
}

/* ---- health ---- */

__attribute__((format(printf, 3, 4))) static void set_state(
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

/* The connection is over. free_context: ours to end (a deadline, a refused check); false when
 * hiredis is ending it already. Commands that wait are called back by hiredis, as it frees. */
static void link_break(struct redis_link *link, bool free_context, enum redis_counter cause,
	enum redis_result result, const char *what, const char *why)
{
	redisAsyncContext *context = link->context;
	uint32_t pause = link->backoff_ms;

	if (link->state == REDIS_LINK_DOWN)
		return;
	count(link, cause);
	link->break_result = result;
	link->context = NULL;
	link->due_ms = uv_now(link->loop) + pause;
	link->backoff_ms =
		pause * 2 < link->config.backoff_max_ms ? pause * 2 : link->config.backoff_max_ms;
	set_state(link, REDIS_LINK_DOWN, "Redis at %s: %s%s%s; trying again", link->address_text,
		what, why ? ": " : "", why ? why : "");
	/* Inside one of its callbacks hiredis notes this and frees right after. */
	if (free_context && context)
		redisAsyncFree(context);
	arm(link);
}

static const char *context_error(const struct redisAsyncContext *context)
{
	return context && context->err ? context->errstr : NULL;
}

/* hiredis gives the context up by itself. First sign of it: a NULL reply, or its cleanup. */
static void link_lost(struct redis_link *link)
{
	if (link->state == REDIS_LINK_CONNECTING)
		link_break(link, false, REDIS_C_LOST, REDIS_RESULT_LOST,
			"the connection broke during the checks", context_error(link->context));
	else
		link_break(link, false, REDIS_C_LOST, REDIS_RESULT_LOST, "the connection broke",
			context_error(link->context));
}

static void on_gone(void *ctx)
{
	link_lost(ctx);
}

static void on_disconnect(const redisAsyncContext *context, int status)
{
	(void)status;
	link_lost(context->data);
}

/* ---- commands ---- */

static void call_free(struct call *call)
{
	if (call->argv)
		for (int i = 0; i < call->argc; i++)
			free((char *)call->argv[i]);
	free(call->argv);
	free(call->lengths);
	free(call);
}

static void on_reply(redisAsyncContext *context, void *reply_data, void *privdata);

static int send_call(struct call *call, int argc, const char **argv, const size_t *lengths)
{
	struct redis_link *link = call->link;

	if (redisAsyncCommandArgv(link->context, on_reply, call, argc, argv, lengths) != REDIS_OK)
		return -ENOMEM;
	/* The loop's cached time may be old by now, and the deadline is the server's, not ours. */
	uv_update_time(link->loop);
	call->deadline_ms = uv_now(link->loop) + link->config.command_timeout_ms;
	call->next = NULL;
	*link->tail = call;
	link->tail = &call->next;
	if (link->head == call)
		arm(link);
	return 0;
}

/* Sends EVALSHA, or EVAL, which loads as it runs. */
static int send_script(struct call *call, bool text)
{
	int argc = call->argc + 3, rc;
	const char **argv = calloc((size_t)argc, sizeof(*argv));
	size_t *lengths = calloc((size_t)argc, sizeof(*lengths));
	char keys[12];

	if (!argv || !lengths) {
		free(argv);
		free(lengths);
		return -ENOMEM;
	}
	snprintf(keys, sizeof(keys), "%d", call->keys);
	argv[0] = text ? "EVAL" : "EVALSHA";
	argv[1] = text ? redis_script_texts[call->script].text : call->link->sha[call->script];
	argv[2] = keys;
	for (int i = 0; i < 3; i++)
		lengths[i] = strlen(argv[i]);
	for (int i = 0; i < call->argc; i++) {
		argv[3 + i] = call->argv[i];
		lengths[3 + i] = call->lengths[i];
	}
	rc = send_call(call, argc, argv, lengths);
	free(argv);
	free(lengths);
	return rc;
}

/* More bytes than commands: the two ends are out of step, and hiredis aborts the process over a
 * reply that nobody waits for. Asked from inside the callback of a reply. */
static bool surplus(const redisAsyncContext *context)
{
	return !context->replies.head && context->c.reader->pos < context->c.reader->len;
}

static void link_surplus(struct redis_link *link)
{
	link_break(link, true, REDIS_C_PROTOCOL, REDIS_RESULT_LOST,
		"the server sent more replies than it got commands", NULL);
}

static void on_reply(redisAsyncContext *context, void *reply_data, void *privdata)
{
	struct call *call = privdata;
	struct redis_link *link = call->link;
	redisReply *reply = reply_data;
	bool readonly;

	CHECK(link->head == call);
	link->head = call->next;
	if (!link->head)
		link->tail = &link->head;
	if (!reply) {
		link_lost(link); /* does nothing when the break was ours */
		if (call->fn)
			call->fn(call->ctx, link->break_result, NULL);
		call_free(call);
		return;
	}
	link->last_reply_ms = uv_now(link->loop);
	if (surplus(context))
		link_surplus(link); /* this reply is still good */
	if (reply->type != REDIS_REPLY_ERROR) {
		if (call->fn)
			call->fn(call->ctx, REDIS_RESULT_OK, reply);
		call_free(call);
		arm(link);
		return;
	}
	if (call->script >= 0 && !strncmp(reply->str, "NOSCRIPT", 8) &&
		link->state == REDIS_LINK_UP) {
		count(link, REDIS_C_SCRIPT_RELOADS);
		if (!send_script(call, true))
			return;
	}
	count(link, REDIS_C_REPLY_ERRORS);
	readonly = !strncmp(reply->str, "READONLY", 8);
	if (call->fn)
		call->fn(call->ctx, REDIS_RESULT_ERROR, reply);
	call_free(call);
	/* The master was made a replica under us: leave it, and let ROLE judge the next connect. */
	if (readonly)
		link_break(link, true, REDIS_C_REPLICA, REDIS_RESULT_LOST,
			"the server has become a replica (READONLY)", NULL);
	arm(link);
}

static struct call *call_new(struct redis_link *link, redis_link_fn *fn, void *ctx)
{
	struct call *call;

	if (link->state != REDIS_LINK_UP || !link->context) {
		count(link, REDIS_C_NOT_CONNECTED);
		errno = ENOTCONN;
		return NULL;
	}
	call = calloc(1, sizeof(*call));
	if (!call) {
		errno = ENOMEM;
		return NULL;
	}
	call->link = link;
	call->fn = fn;
	call->ctx = ctx;
	call->script = -1;
	return call;
}

int redis_link_command(struct redis_link *link, redis_link_fn *fn, void *ctx, int argc,
	const char *const *argv, const size_t *lengths)
{
	struct call *call = call_new(link, fn, ctx);
	int rc;

	if (!call)
		return -errno;
	rc = send_call(call, argc, (const char **)(uintptr_t)argv, lengths);
	if (rc)
		call_free(call);
	else if (fn)
		count(link, REDIS_C_COMMANDS);
	return rc;
}

int redis_link_script(struct redis_link *link, enum redis_script script, redis_link_fn *fn,
	void *ctx, int keys, int argc, const char *const *argv, const size_t *lengths)
{
	struct call *call = call_new(link, fn, ctx);
	int rc = -ENOMEM;

	if (!call)
		return -errno;
	call->script = (int)script;
	call->keys = keys;
	call->argc = argc;
	call->argv = calloc((size_t)argc + 1, sizeof(*call->argv));
	call->lengths = calloc((size_t)argc + 1, sizeof(*call->lengths));
	if (!call->argv || !call->lengths)
		goto fail;
	for (int i = 0; i < argc; i++) {
		size_t bytes = lengths ? lengths[i] : strlen(argv[i]);
		char *copy = malloc(bytes + 1);

		if (!copy)
			goto fail;
		memcpy(copy, argv[i], bytes);
		copy[bytes] = 0;
		call->argv[i] = copy;
		call->lengths[i] = bytes;
	}
	rc = send_script(call, false);
	if (!rc) {
		count(link, REDIS_C_COMMANDS);
		return 0;
	}
fail:
	call_free(call);
	return rc;
}

/* ---- connecting ---- */

static bool setup_reply_good(struct redis_link *link, const struct setup_step *step,
	const redisReply *reply, const char **why)
{
	*why = "an answer of a kind that was not expected";
	if (reply->type == REDIS_REPLY_ERROR) {
		*why = reply->str;
		return false;
	}
	if (step->script >= 0) {
		if (reply->type != REDIS_REPLY_STRING || reply->len != SHA_BYTES - 1)
			return false;
		memcpy(link->sha[step->script], reply->str, SHA_BYTES);
		return true;
	}
	if (step->cause == REDIS_C_REPLICA) {
		if (reply->type != REDIS_REPLY_ARRAY || reply->elements < 1 ||
			reply->element[0]->type != REDIS_REPLY_STRING)
			return false;
		*why = "it is not the master; give the master's address";
		return !strcmp(reply->element[0]->str, "master");
	}
	return true;
}

static void on_setup(redisAsyncContext *context, void *reply_data, void *privdata)
{
	struct setup_step *step = privdata;
	struct redis_link *link = step->link;
	redisReply *reply = reply_data;
	enum redis_counter cause = step->cause;
	const char *why;

	if (!reply) {
		link_lost(link);
		return;
	}
	if (link->state != REDIS_LINK_CONNECTING)
		return;
	if (surplus(context)) {
		link_surplus(link);
		return;
	}
	if (!setup_reply_good(link, step, reply, &why)) {
		if (reply->type == REDIS_REPLY_ERROR && cause == REDIS_C_REPLICA)
			cause = REDIS_C_SETUP;
		link_break(link, true, cause, REDIS_RESULT_LOST, step->what, why);
		return;
	}
	if (--link->steps_left)
		return;
	link->backoff_ms = link->config.backoff_min_ms;
	link->last_reply_ms = uv_now(link->loop);
	count(link, REDIS_C_CONNECTS);
	set_state(link, REDIS_LINK_UP, "Redis at %s: connected", link->address_text);
	arm(link);
}

static bool setup_send(struct redis_link *link, uint32_t index, enum redis_counter cause,
	const char *what, int script, int argc, const char **argv)
{
	struct setup_step *step = &link->steps[index];

	*step = (struct setup_step){.link = link, .cause = cause, .what = what, .script = script};
	return redisAsyncCommandArgv(link->context, on_setup, step, argc, argv, NULL) == REDIS_OK;
}

/* Sends all the checks at once; the link is up when the last is answered well. */
static void on_connect(const redisAsyncContext *context, int status)
{
	struct redis_link *link = context->data;
	uint32_t n = 0;
	bool ok = true;

	if (link->context != context)
		return;
	if (status != REDIS_OK) {
		/* hiredis frees the context after this callback. */
		link_break(link, false, REDIS_C_CONNECT_REFUSED, REDIS_RESULT_LOST,
			"cannot connect",
			context_error(context) ? context_error(context) : context->c.errstr);
		return;
	}
	link->steps_left =
		1u + (link->password != NULL) + (link->config.database != 0) + REDIS_SCRIPT_COUNT;
	if (link->password)
		ok &= setup_send(link, n++, REDIS_C_AUTH, "AUTH was refused", -1, 2,
			(const char *[]){"AUTH", link->password});
	if (link->config.database)
		ok &= setup_send(link, n++, REDIS_C_AUTH, "SELECT was refused", -1, 2,
			(const char *[]){"SELECT", link->database});
	ok &= setup_send(
		link, n++, REDIS_C_REPLICA, "ROLE was refused", -1, 1, (const char *[]){"ROLE"});
	for (int i = 0; i < REDIS_SCRIPT_COUNT; i++)
		ok &= setup_send(link, n++, REDIS_C_SETUP, "a script was refused", i, 3,
			(const char *[]){"SCRIPT", "LOAD", redis_script_texts[i].text});
	/* Out of memory here: the missing answer runs into the connect deadline. */
	(void)ok;
}

static void link_connect(struct redis_link *link)
{
	redisAsyncContext *context;

	uv_update_time(link->loop);
	link->due_ms = uv_now(link->loop) + link->config.connect_timeout_ms;
	set_state(link, REDIS_LINK_CONNECTING, "Redis at %s: connecting", link->address_text);
	context = link->address.path[0] ? redisAsyncConnectUnix(link->address.path)
					: redisAsyncConnect(link->address.host, link->address.port);
	if (!context || context->err) {
		char why[160];

		snprintf(why, sizeof(why), "%s", context ? context->errstr : "out of memory");
		if (context)
			redisAsyncFree(context);
		link_break(link, false, REDIS_C_CONNECT_REFUSED, REDIS_RESULT_LOST,
			"cannot connect", why);
		return;
	}
	context->data = link;
	if (redis_uv_attach(link->loop, context, on_gone, link)) {
		redisAsyncFree(context);
		link_break(link, false, REDIS_C_CONNECT_REFUSED, REDIS_RESULT_LOST,
			"cannot watch the socket", NULL);
		return;
	}
	link->context = context;
	redisAsyncSetConnectCallback(context, on_connect);
	redisAsyncSetDisconnectCallback(context, on_disconnect);
	arm(link);
}

/* ---- time ---- */

static void on_timer(uv_timer_t *timer)
{
	struct redis_link *link = timer->data;
	uint64_t now = uv_now(link->loop);

	switch (link->state) {
	case REDIS_LINK_DOWN:
		if (now >= link->due_ms) {
			link_connect(link);
			return;
		}
		break;
	case REDIS_LINK_CONNECTING:
		if (now >= link->due_ms)
			link_break(link, true, REDIS_C_CONNECT_TIMEOUT, REDIS_RESULT_LOST,
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
			link_break(link, true, REDIS_C_COMMAND_TIMEOUT, REDIS_RESULT_TIMEOUT,
				"a command got no answer in time", NULL);
		else if (!link->head && now >= link->last_reply_ms + link->config.ping_ms)
			redis_link_command(link, NULL, NULL, 1, (const char *[]){"PING"}, NULL);
		break;
	}
	arm(link);
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
	link->address_text = strdup(config->address);
	if (config->password && config->password[0])
		link->password = strdup(config->password);
	if (!link->address_text || redis_address_parse(&link->address, config->address)) {
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
	link_connect(link);
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
	link->break_result = REDIS_RESULT_CLOSED;
	link->context = NULL;
	set_state(link, REDIS_LINK_DOWN, "Redis at %s: closed", link->address_text);
	if (context)
		redisAsyncFree(context);
	uv_close((uv_handle_t *)&link->timer, on_link_closed);
}
