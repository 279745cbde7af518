#include "control/redis/redis_uv.h"

#include <errno.h>
#include <stdlib.h>
#include <sys/socket.h>

#include <hiredis/async.h>

struct redis_uv {
	uv_poll_t poll;
	redisAsyncContext *context; /* NULL once hiredis has given it up */
	int events;
	void (*gone)(void *ctx);
	void *ctx;
};

/* Bytes though no command waits: hiredis would abort the process over such a reply. */
static int unasked(const redisAsyncContext *context)
{
	char byte;

	return !context->replies.head && (context->c.flags & REDIS_CONNECTED) &&
	       recv(context->c.fd, &byte, 1, MSG_PEEK | MSG_DONTWAIT) > 0;
}

static void on_poll(uv_poll_t *handle, int status, int events)
{
	struct redis_uv *u = handle->data;

	if (u->context && (events & UV_READABLE) && unasked(u->context))
		redisAsyncFree(u->context);
	/* Each handler may free the context (and call cleanup below), so look before each step. A
	 * failed connect shows in either; a reset in the read. */
	if (u->context && (status < 0 || (events & UV_READABLE)))
		redisAsyncHandleRead(u->context);
	if (u->context && (status < 0 || (events & UV_WRITABLE)))
		redisAsyncHandleWrite(u->context);
	/* libuv stops a poll handle that it reports an error on: nothing would ever come again. */
	if (u->context && status < 0)
		redisAsyncFree(u->context);
}

static void want(struct redis_uv *u, int add, int remove)
{
	int events = (u->events | add) & ~remove;

	if (events == u->events)
		return;
	u->events = events;
	if (events)
		uv_poll_start(&u->poll, events, on_poll);
	else
		uv_poll_stop(&u->poll);
}

static void add_read(void *data)
{
	want(data, UV_READABLE, 0);
}

static void del_read(void *data)
{
	want(data, 0, UV_READABLE);
}

static void add_write(void *data)
{
	want(data, UV_WRITABLE, 0);
}

static void del_write(void *data)
{
	want(data, 0, UV_WRITABLE);
}

static void on_closed(uv_handle_t *handle)
{
	free(handle->data);
}

/* hiredis closes the socket right after this; uv_close takes it out of the poller at once, and the
 * handle's memory lives until libuv says so. */
static void cleanup(void *data)
{
	struct redis_uv *u = data;

	u->context = NULL;
	uv_close((uv_handle_t *)&u->poll, on_closed);
	u->gone(u->ctx);
}

int redis_uv_attach(
	uv_loop_t *loop, struct redisAsyncContext *context, void (*gone)(void *ctx), void *ctx)
{
	struct redis_uv *u = calloc(1, sizeof(*u));
	int rc;

	if (!u)
		return -ENOMEM;
	u->context = context;
	u->gone = gone;
	u->ctx = ctx;
	u->poll.data = u;
	rc = uv_poll_init(loop, &u->poll, context->c.fd);
	if (rc) {
		free(u);
		return rc;
	}
	context->ev.data = u;
	context->ev.addRead = add_read;
	context->ev.delRead = del_read;
	context->ev.addWrite = add_write;
	context->ev.delWrite = del_write;
	context->ev.cleanup = cleanup;
	return 0;
}
