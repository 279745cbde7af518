/* Commands and scripts: sent in order, answered in order, each called back once. */
#include <errno.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "common/check.h"
#include "control/redis/redis_link_internal.h"

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
		redis_link_arm(link);
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
		redis_link_lost(link); /* does nothing when the break was ours */
		if (call->fn)
			call->fn(call->ctx, link->break_result, NULL);
		call_free(call);
		return;
	}
	link->last_reply_ms = uv_now(link->loop);
	redis_link_surplus(link, context); /* then this reply is still good */
	if (reply->type != REDIS_REPLY_ERROR) {
		if (call->fn)
			call->fn(call->ctx, REDIS_RESULT_OK, reply);
		call_free(call);
		redis_link_arm(link);
		return;
	}
	if (call->script >= 0 && !strncmp(reply->str, "NOSCRIPT", 8) &&
		link->state == REDIS_LINK_UP) {
		redis_link_count(link, REDIS_C_SCRIPT_RELOADS);
		if (!send_script(call, true))
			return;
	}
	redis_link_count(link, REDIS_C_REPLY_ERRORS);
	readonly = !strncmp(reply->str, "READONLY", 8);
	if (call->fn)
		call->fn(call->ctx, REDIS_RESULT_ERROR, reply);
	call_free(call);
	/* The master was made a replica under us: leave it, and let ROLE judge the next connect. */
	if (readonly)
		redis_link_break(link, true, REDIS_C_REPLICA, REDIS_RESULT_LOST,
			"the server has become a replica (READONLY)", NULL);
	redis_link_arm(link);
}

static struct call *call_new(struct redis_link *link, redis_link_fn *fn, void *ctx)
{
	struct call *call;

	if (link->state != REDIS_LINK_UP || !link->context) {
		redis_link_count(link, REDIS_C_NOT_CONNECTED);
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
		redis_link_count(link, REDIS_C_COMMANDS);
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
		redis_link_count(link, REDIS_C_COMMANDS);
		return 0;
	}
fail:
	call_free(call);
	return rc;
}
