/* redis_uv: lets a hiredis 0.14 asynchronous context live on a libuv loop.
 *
 * hiredis ships an adapter of its own, and it goes deaf: its poll callback returns on an error
 * status, so a refused connect or a reset is never reported, and commands are still accepted. This
 * one turns an error of the poll into a read and a write, through which hiredis finds the socket's
 * error by itself; a context that survives even that is freed, because libuv has stopped polling
 * it.
 *
 * Thread: the loop's. */
#ifndef SW_CONTROL_REDIS_REDIS_UV_H
#define SW_CONTROL_REDIS_REDIS_UV_H

#include <uv.h>

struct redisAsyncContext;

/* Attaches the context to the loop. gone(ctx) is called once, when hiredis gives the context up,
 * for whatever reason and before its memory goes: the owner forgets its pointer there. Returns 0,
 * or a negative errno (the context is still the caller's to free, and gone is not called). */
int redis_uv_attach(
	uv_loop_t *loop, struct redisAsyncContext *context, void (*gone)(void *ctx), void *ctx);

#endif
