/* Proves that three workers, each a thread, hand frames to each other whole, in order and without
 * loss or repetition; that a full ring takes what fits and leaves the rest; and, under the thread
 * sanitizer, that who pops a frame sees all that its giver has written. */
#include <pthread.h>
#include <sched.h>
#include <setjmp.h>
#include <stdarg.h>
#include <stdatomic.h>
#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>
#include <stdlib.h>
#include <cmocka.h>

#include "dataplane/frame_ring.h"

struct frame {
	uint32_t from, number, sum;
};

static void full_ring_takes_what_fits(void **state)
{
	struct dp_frame_ring *ring = dp_frame_ring_new(7);
	struct frame frames[10];
	void *in[10], *out[10];

	(void)state;
	assert_non_null(ring);
	for (int i = 0; i < 10; i++)
		in[i] = &frames[i];
	assert_int_equal(dp_frame_ring_push(ring, in, 10), 7);
	assert_int_equal(dp_frame_ring_push(ring, in + 7, 3), 0);
	assert_int_equal(dp_frame_ring_pop(ring, out, 2), 2);
	assert_ptr_equal(out[0], &frames[0]);
	assert_int_equal(dp_frame_ring_push(ring, in + 7, 3), 2);
	assert_int_equal(dp_frame_ring_pop(ring, out, 10), 7);
	assert_ptr_equal(out[6], &frames[8]);
	assert_int_equal(dp_frame_ring_pop(ring, out, 10), 0);
	dp_frame_ring_free(ring);
}

#define WORKERS 3u
#define FRAMES  40000u /* of each worker to each other */
#define BURST   32u

static struct dp_frame_ring *rings[WORKERS][WORKERS];
static _Atomic uint32_t finished;

struct worker {
	uint32_t index;
	uint32_t made[WORKERS], waiting[WORKERS], next[WORKERS];
	void *burst[WORKERS][BURST]; /* not yet taken by the ring */
	const char *failed;
	pthread_t thread;
};

static void give(struct worker *worker, uint32_t to)
{
	uint32_t taken;

	while (worker->waiting[to] < BURST && worker->made[to] < FRAMES) {
		struct frame *frame = malloc(sizeof(*frame));

		frame->from = worker->index;
		frame->number = worker->made[to]++;
		frame->sum = frame->from + frame->number;
		worker->burst[to][worker->waiting[to]++] = frame;
	}
	taken = dp_frame_ring_push(
		rings[worker->index][to], worker->burst[to], worker->waiting[to]);
	worker->waiting[to] -= taken;
	for (uint32_t i = 0; i < worker->waiting[to]; i++)
		worker->burst[to][i] = worker->burst[to][i + taken];
}

static void take(struct worker *worker, uint32_t from)
{
	void *out[BURST];
	uint32_t n = dp_frame_ring_pop(rings[from][worker->index], out, BURST);

	for (uint32_t i = 0; i < n; i++) {
		struct frame *frame = out[i];

		if (frame->from != from || frame->number != worker->next[from]++ ||
			frame->sum != frame->from + frame->number)
			worker->failed = "a frame is lost, repeated, out of order or torn";
		free(frame);
	}
}

static void *run(void *arg)
{
	struct worker *worker = arg;
	bool done = false;

	while (atomic_load(&finished) < WORKERS) {
		bool all = true;

		for (uint32_t other = 0; other < WORKERS; other++) {
			if (other == worker->index)
				continue;
			give(worker, other);
			take(worker, other);
			all &= worker->next[other] == FRAMES;
		}
		if (all && !done) {
			done = true;
			atomic_fetch_add(&finished, 1);
		}
		sched_yield();
	}
	return NULL;
}

static void three_workers(void **state)
{
	static struct worker workers[WORKERS];

	(void)state;
	for (uint32_t a = 0; a < WORKERS; a++)
		for (uint32_t b = 0; b < WORKERS; b++)
			rings[a][b] = a == b ? NULL : dp_frame_ring_new(127);
	for (uint32_t w = 0; w < WORKERS; w++) {
		workers[w].index = w;
		assert_int_equal(pthread_create(&workers[w].thread, NULL, run, &workers[w]), 0);
	}
	for (uint32_t w = 0; w < WORKERS; w++)
		pthread_join(workers[w].thread, NULL);
	for (uint32_t w = 0; w < WORKERS; w++) {
		assert_null(workers[w].failed);
		for (uint32_t other = 0; other < WORKERS; other++)
			dp_frame_ring_free(rings[w][other]);
	}
}

int main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test(full_ring_takes_what_fits),
		cmocka_unit_test(three_workers),
	};

	return cmocka_run_group_tests_name("frame_ring", tests, NULL, NULL);
}
