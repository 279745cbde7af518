/* ops: what an operator can ask a node over HTTP. libmicrohttpd with a thread of its own, on the
 * loopback address of http.address.
 *
 *   /metrics  every registered counter and histogram, in Prometheus' text format
 *   /health   200 while no component is red, else 503; JSON: one state and one sentence each
 *   /ready    200 while players can be let in, else 503; one line of text
 *   /status   JSON for swctl status: node, uptime, health, map instances, counters, histograms
 *   /         a page for a browser that shows /status, and looks again by itself
 *   /order    POST: an operator's order, with a token (orders.h); it goes to the control thread
 *
 * Build the registry first, start after: what is registered must outlive ops_stop. It reads atomics
 * and calls the health functions, and touches nothing else of any thread. */
#ifndef SW_CONTROL_OPS_OPS_H
#define SW_CONTROL_OPS_OPS_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>
#include <stdio.h>

#include "common/config.h"
#include "common/counter.h"

/* X(id, name, meaning). The worst component decides. */
#define OPS_LEVELS(X)                                                                              \
	X(GREEN, "green", "all is well")                                                           \
	X(YELLOW, "yellow", "works, but an operator should look")                                  \
	X(RED, "red", "does not do what it is for")

#define OPS_LEVEL_ENUM(id, name, meaning) OPS_##id,
enum ops_level { OPS_LEVELS(OPS_LEVEL_ENUM) OPS_LEVEL_COUNT };

/* Group "ops". X(id, name, kind, help) */
// clang-format off
#define OPS_COUNTERS(X)                                                                            \
	X(ORDERS, "orders", COUNTER_SUM, "operators' orders that went to the control thread")      \
	X(UNAUTHORIZED, "orders_unauthorized", COUNTER_SUM, "orders without an operator's token, or with the file of tokens not to be used") \
	X(UNREADABLE, "orders_unreadable", COUNTER_SUM, "orders that are no list of words")        \
	X(BUSY, "orders_busy", COUNTER_SUM, "orders refused: too many under way, or the server stopping") \
	X(UNANSWERED, "orders_unanswered", COUNTER_SUM, "orders that a stop of the server left without an answer")
// clang-format on
#define OPS_COUNTER_ENUM(id, name, kind, help) OPS_C_##id,
enum ops_counter { OPS_COUNTERS(OPS_COUNTER_ENUM) OPS_COUNTER_COUNT };

struct ops;
struct msg_ring;

/* Called on the HTTP thread: reads atomics only (or takes a lock that no hot thread takes). Always
 * writes a sentence for a person, NUL-terminated. */
typedef enum ops_level ops_health_fn(void *ctx, char *sentence, size_t bytes);

/* Set-up thread, all of these. NULL when memory is short. */
struct ops *ops_new(void);
/* The set is borrowed. */
void ops_register_counters(struct ops *ops, const struct counter_set *set);
/* The ref is copied, its histogram and texts are borrowed. */
void ops_register_histogram(struct ops *ops, const struct histogram_ref *ref);
/* name is borrowed: "redis", "postgres", "dataplane", "shard 0". */
void ops_register_health(struct ops *ops, const char *name, ops_health_fn *fn, void *ctx);
/* Whether players can be let in; any level but green is "not ready". May be registered once;
 * without it the node is ready while it is not red. */
void ops_register_ready(struct ops *ops, ops_health_fn *fn, void *ctx);

/* One running copy of a map. Names are borrowed. */
struct ops_instance {
	const char *map, *kind, *state;
	uint32_t slot, generation;
	bool used;    /* false: a free slot, of which nothing else is said */
	bool running; /* on a shard */
	uint32_t shard;
	uint64_t players, players_max;
	uint64_t ticks, skipped, overruns; /* of the slot, over all its instances */
	uint64_t tick_ns;                  /* the last tick's work; 0: none yet */
	uint64_t tick_age_ns;              /* since it ended */
	uint32_t tick_hz;
	const struct histogram *tick_time; /* of this instance's ticks; NULL: not known */
	uint64_t load_permille;            /* ticks' work by their period, smoothed */
	uint64_t heat_permille;            /* that, and the share of players_max, added up */
	uint64_t shard_heat;               /* of its shard, as placement compares it */
	const char *overrun_stage;         /* to blame for the last overrun; NULL: none was */
};

/* Called on the HTTP thread: reads atomics only. Fills *out for a slot; false past the last. */
typedef bool ops_instance_fn(void *ctx, uint32_t slot, uint64_t now_ns, struct ops_instance *out);
/* May be registered once. */
void ops_register_instances(struct ops *ops, ops_instance_fn *fn, void *ctx);

/* Where orders go: MSG_ORDER, answered with MSG_ORDER_ANSWER. The rings belong to the caller, and
 * have OPS_ORDER_SLOTS. May be called once; without it no orders are taken. */
#define OPS_ORDER_SLOTS 2048u
void ops_register_orders(
	struct ops *ops, struct msg_ring *to_control, struct msg_ring *from_control);
/* The consumer of to_control, after it has pushed an answer: subject is the order's. Until
 * ops_free. */
void ops_order_answered(struct ops *ops, uint64_t subject);

/* Starts to answer. Returns 0, or a negative errno after a sentence in errors: the address is not
 * loopback (-EPERM), the port is taken (-EADDRINUSE), ... config must outlive ops_stop. Port 0
 * takes a free one: ask ops_port. */
int ops_start(struct ops *ops, const struct sw_config *config, FILE *errors);
uint16_t ops_port(const struct ops *ops);

/* Waits for answers under way. Then the registered things may go. */
void ops_stop(struct ops *ops);
void ops_free(struct ops *ops);

#endif
