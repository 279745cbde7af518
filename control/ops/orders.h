/* orders: how an operator's order gets from HTTP to the control thread and its answer back. Private
 * to ops; the HTTP thread's, but for what is marked.
 *
 *   POST /order, with "Authorization: Bearer TOKEN", and the order's words as the body, one a line.
 *   200 done, 400 not an order, 401 no operator's token, 403 not the operator's role, 409 refused,
 *   503 nobody answers; the body is a text for a person.
 *
 * While the control thread works on it the connection is suspended and costs the HTTP thread
 * nothing. What an order is, and which role it needs, decides the control thread
 * (control/orders.h) alone. */
#ifndef SW_CONTROL_OPS_ORDERS_H
#define SW_CONTROL_OPS_ORDERS_H

#include <stdbool.h>
#include <stdint.h>
#include <stdio.h>

#include <pthread.h>

#include "common/counter.h"
#include "common/msg_ring.h"
#include "control/ops/ops.h"

/* Orders under way at once; the rings have room for all of them and their answers. */
#define ORDERS_MAX           16u
#define ORDERS_SCRATCH_SLOTS (2 * MSG_SLOTS_MAX)

struct MHD_Connection;
struct order;

struct orders {
	struct msg_ring *to_control, *from_control; /* NULL: no orders are taken */
	pthread_mutex_t lock;                       /* for the places and `stopping` */
	struct order *places[ORDERS_MAX];
	uint64_t last_id;
	bool stopping;
	_Atomic uint64_t counters[OPS_COUNTER_COUNT];
	struct counter_set set;
	struct msg scratch[ORDERS_SCRATCH_SLOTS];
};

void orders_init(struct orders *orders);
void orders_fini(struct orders *orders);

/* A request begins. NULL: no memory. */
struct order *order_new(struct orders *orders);
/* It is over: answered, or its connection is. */
void order_free(struct orders *orders, struct order *order);
/* Some of its body. */
void order_body(struct order *order, const char *bytes, size_t count);
/* The body is whole, or the connection was woken. True: *status and the text in out are the answer;
 * false: the connection has been suspended. */
bool order_go_on(struct orders *orders, struct order *order, struct MHD_Connection *connection,
	const char *tokens_path, unsigned *status, FILE *out);

/* Any thread: the answer to the order is in the ring. */
void orders_wake(struct orders *orders, uint64_t id);
/* The thread that stops ops, when control has ended: whoever waits is told so. */
void orders_stop(struct orders *orders);

#endif
