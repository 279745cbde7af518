/* redis_link_internal: the link's state, shared by redis_link.c (life, breaks, deadlines),
 * redis_command.c and redis_connect.c. Thread: the loop's. */
#ifndef SW_CONTROL_REDIS_REDIS_LINK_INTERNAL_H
#define SW_CONTROL_REDIS_REDIS_LINK_INTERNAL_H

#include <pthread.h>

#include <hiredis/async.h>

#include "control/redis/redis_address.h"
#include "control/redis/redis_link.h"
#include "control/redis/redis_sentinel.h"

#define SHA_BYTES 41u

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
	struct redis_sentinel *sentinel; /* NULL: the address is configured */
	bool addressed;                  /* address is known */
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

/* redis_link.c */
void redis_link_count(struct redis_link *link, enum redis_counter counter);
/* Sets the timer for whatever is due next. */
void redis_link_arm(struct redis_link *link);
__attribute__((format(printf, 3, 4))) void redis_link_set_state(
	struct redis_link *link, enum redis_link_state state, const char *format, ...);
/* The connection is over. free_context: ours to end (a deadline, a refused check); false when
 * hiredis is ending it already. Commands that wait are called back by hiredis, as it frees. */
void redis_link_break(struct redis_link *link, bool free_context, enum redis_counter cause,
	enum redis_result result, const char *what, const char *why);
/* hiredis gives the context up by itself. First sign of it: a NULL reply, or its cleanup. Does
 * nothing when the break was ours. */
void redis_link_lost(struct redis_link *link);
/* Breaks the link, from inside the callback of a reply, when more bytes came than commands wait
 * for: the two ends are out of step, and hiredis aborts the process over a reply that nobody waits
 * for. Returns whether it did. */
bool redis_link_surplus(struct redis_link *link, const struct redisAsyncContext *context);
/* NULL when hiredis names no error. */
const char *redis_context_error(const struct redisAsyncContext *context);

/* redis_connect.c: begins an attempt. */
void redis_link_connect(struct redis_link *link);

#endif
