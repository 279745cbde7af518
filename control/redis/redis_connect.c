/* An attempt to connect: the socket, then AUTH, SELECT, ROLE and the scripts, all sent at once. */
#include <stdio.h>
#include <string.h>

#include "control/redis/redis_link_internal.h"
#include "control/redis/redis_uv.h"

static void on_gone(void *ctx)
{
	redis_link_lost(ctx);
}

static void on_disconnect(const redisAsyncContext *context, int status)
{
	(void)status;
	redis_link_lost(context->data);
}

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
		redis_link_lost(link);
		return;
	}
	if (link->state != REDIS_LINK_CONNECTING)
		return;
	if (redis_link_surplus(link, context))
		return;
	if (!setup_reply_good(link, step, reply, &why)) {
		if (reply->type == REDIS_REPLY_ERROR && cause == REDIS_C_REPLICA)
			cause = REDIS_C_SETUP;
		redis_link_break(link, true, cause, REDIS_RESULT_LOST, step->what, why);
		return;
	}
	if (--link->steps_left)
		return;
	link->backoff_ms = link->config.backoff_min_ms;
	link->last_reply_ms = uv_now(link->loop);
	redis_link_count(link, REDIS_C_CONNECTS);
	redis_link_set_state(link, REDIS_LINK_UP, "Redis at %s: connected", link->address_text);
	redis_link_arm(link);
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
		redis_link_break(link, false, REDIS_C_CONNECT_REFUSED, REDIS_RESULT_LOST,
			"cannot connect",
			redis_context_error(context) ? redis_context_error(context)
						     : context->c.errstr);
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

void redis_link_connect(struct redis_link *link)
{
	redisAsyncContext *context;

	uv_update_time(link->loop);
	link->due_ms = uv_now(link->loop) + link->config.connect_timeout_ms;
	redis_link_set_state(
		link, REDIS_LINK_CONNECTING, "Redis at %s: connecting", link->address_text);
	context = link->address.path[0] ? redisAsyncConnectUnix(link->address.path)
					: redisAsyncConnect(link->address.host, link->address.port);
	if (!context || context->err) {
		char why[160];

		snprintf(why, sizeof(why), "%s", context ? context->errstr : "out of memory");
		if (context)
			redisAsyncFree(context);
		redis_link_break(link, false, REDIS_C_CONNECT_REFUSED, REDIS_RESULT_LOST,
			"cannot connect", why);
		return;
	}
	context->data = link;
	if (redis_uv_attach(link->loop, context, on_gone, link)) {
		redisAsyncFree(context);
		redis_link_break(link, false, REDIS_C_CONNECT_REFUSED, REDIS_RESULT_LOST,
			"cannot watch the socket", NULL);
		return;
	}
	link->context = context;
	redisAsyncSetConnectCallback(context, on_connect);
	redisAsyncSetDisconnectCallback(context, on_disconnect);
	redis_link_arm(link);
}
