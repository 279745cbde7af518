/* builder: instances are prepared on a thread of libuv's pool, at a priority below the control
 * thread's, and never two at once. What "prepare" means belongs to the simulation, which main hands
 * in; this file knows ids alone.
 *
 * Thread: the control thread; prepare runs on the pool's. */
#ifndef SW_CONTROL_BUILDER_H
#define SW_CONTROL_BUILDER_H

#include <stdbool.h>
#include <stdint.h>

#include <uv.h>

#define BUILDER_ERROR_BYTES 512u

/* On the pool's thread. Returns 0, or -errno with one line in error. */
typedef int builder_fn(void *ctx, uint32_t id, char *error, size_t error_bytes);
/* On the loop. */
typedef void builder_done_fn(void *ctx, uint32_t id, bool good);

struct builder {
	uv_loop_t *loop;
	uv_work_t work;
	builder_fn *prepare;
	void *prepare_ctx;
	builder_done_fn *done;
	void *done_ctx;
	uint32_t id; /* under way; 0: none */
	int rc;
	char error[BUILDER_ERROR_BYTES];
};

/* Begins; done follows from the loop. One at a time. */
void builder_start(struct builder *builder, uint32_t id);

#endif
