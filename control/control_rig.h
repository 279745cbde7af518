/* control_rig: a control thread with a real redis-server, and the test as dataplane, shard, world
 * and ops at the other ends of its rings. Every wait has a limit that only a hang reaches. */
#ifndef SW_CONTROL_CONTROL_RIG_H
#define SW_CONTROL_CONTROL_RIG_H

#include <hiredis/hiredis.h>

#include "common/handle.h"
#include "control/admission/ticket_key.h"
#include "control/control.h"
#include "control/redis/redis_fixture.h"

struct rig {
	struct sw_config config;
	struct redis_fixture server;
	struct ctl_links links;
	struct ctl *ctl;
	_Atomic uint64_t last_tick_ns;
	_Atomic bool build_fails; /* of instances */
	_Atomic uint64_t woken;   /* the last order whose answer ops was told of */
};

extern struct ticket_key rig_key;

/* Before all: the keys of the tickets. */
bool rig_keys(void);
/* What tests may change before rig_start. One map, meadow, runs from the start. */
void rig_init(struct rig *rig, uint32_t to_dataplane_slots);
void rig_start(struct rig *rig);
void rig_fini(struct rig *rig);

void rig_nap(void);
/* Takes messages from the ring until one is of the type; fails after ten seconds. */
const struct msg *rig_expect(struct msg_ring *ring, enum msg_type type);
void rig_push(struct msg_ring *ring, enum msg_type type, uint64_t peer, const void *body,
	uint32_t bytes, uint16_t flags);

/* The dataplane's and the client's part. */
void rig_connect(struct rig *rig, uint64_t peer);
void rig_gone(struct rig *rig, uint64_t peer);
struct ticket rig_ticket(uint64_t character);
void rig_say_hello(struct rig *rig, uint64_t peer, const struct ticket *ticket);
/* The next disconnect; its reason. */
uint32_t rig_disconnected(struct rig *rig);

/* The world and the shard answer well. Returns the session. */
uint64_t rig_let_in(struct rig *rig);
void rig_left(struct rig *rig, uint64_t session);
/* The world is asked whether all of who left is kept, and says so. */
void rig_settled(struct rig *rig);
void rig_say_settled(struct rig *rig, const struct msg *asked);

/* Redis, asked. */
redisReply *rig_ask(struct rig *rig, const char *command);
/* Asks until the answer contains the text, or is of that type if the text is NULL. */
void rig_until(struct rig *rig, const char *command, const char *text, int type);

extern enum operator_role rig_role; /* of anna, who orders */
/* An order, words with a NUL after each. */
void rig_order_send(struct rig *rig, const char *words, uint32_t count, uint32_t bytes);
/* The answer to the last order, which has `says` in it. */
void rig_answered(struct rig *rig, const char *words, enum order_result result, const char *says);
/* Both. */
void rig_order(struct rig *rig, const char *words, uint32_t count, uint32_t bytes,
	enum order_result result, const char *says);
/* The audit of the last order. */
void rig_audited(struct rig *rig, bool good, const char *what, const char *says);

/* After MSG_SHARD_STOP: the rest of a stop as a well node does it; and all of it. */
void rig_stop_rest(struct rig *rig, uint32_t unsaved);
void rig_stop(struct rig *rig, uint32_t unsaved);

#endif
