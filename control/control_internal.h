/* control_internal: the control thread's state, shared by control.c (life, rings, stop) and
 * report.c (heartbeat, health, counters). Thread: the loop's, but for what is marked. */
#ifndef SW_CONTROL_CONTROL_INTERNAL_H
#define SW_CONTROL_CONTROL_INTERNAL_H

#include <pthread.h>
#include <signal.h>

#include <uv.h>

#include "control/admission/admission.h"
#include "control/builder.h"
#include "control/chat_feed.h"
#include "control/control.h"
#include "control/director/director.h"
#include "control/gate/gate_link.h"
#include "control/orders.h"
#include "control/outbox.h"
#include "control/party/party.h"
#include "control/presence.h"
#include "control/redis/redis_link.h"
#include "control/redis_keys.h"
#include "control/scripts.h"
#include "control/verifier.h"

/* The counters of the loop itself. X(id, name, kind, help) */
// clang-format off
#define CTL_COUNTERS(X)                                                                            \
	X(ROUNDS, "rounds", COUNTER_SUM, "times the rings were drained")                           \
	X(MESSAGES, "messages", COUNTER_SUM, "messages taken from the rings")                      \
	X(DELAYED, "messages_delayed", COUNTER_SUM, "messages that waited because their ring was full") \
	X(LOST, "messages_lost", COUNTER_SUM, "messages that could not even wait; a receiver has stopped, or our bug") \
	X(MISFITS, "messages_misfit", COUNTER_SUM, "messages of other threads whose size is not their type's: our bug") \
	X(WAITING, "waiting_slots", COUNTER_GAUGE, "slots that wait for full rings")               \
	X(HELD, "rounds_held", COUNTER_SUM, "rounds in which the dataplane's rings were left standing, because much waits") \
	X(ORDERS_DONE, "orders_done", COUNTER_SUM, "operators' orders that were carried out, and questions answered") \
	X(ORDERS_REFUSED, "orders_refused", COUNTER_SUM, "operators' orders that were not")        \
	X(ORDERS_FORBIDDEN, "orders_forbidden", COUNTER_SUM, "... because the operator's role does not have the right") \
	X(HEARTBEATS, "heartbeats", COUNTER_SUM, "heartbeats given to Redis")                      \
	X(STATE, "state", COUNTER_GAUGE, "0 starting, 1 ready, 2 and 3 stopping, 4 stopped")
// clang-format on

#define CTL_COUNTER_ENUM(id, name, kind, help) CTL_C_##id,
enum ctl_counter { CTL_COUNTERS(CTL_COUNTER_ENUM) CTL_COUNTER_COUNT };

/* Slots taken from a ring at once. */
#define CTL_BURST_SLOTS (8u * MSG_SLOTS_MAX)

struct ctl {
	const struct sw_config *config;
	struct ctl_links links;
	uint64_t boot_id;
	uint64_t started_ns;

	uv_loop_t loop;
	uv_async_t stop_async; /* never closed while the thread runs: any thread may send */
	uv_timer_t drain_timer, heartbeat_timer, deadline_timer;
	uint32_t idle_rounds;
	uint64_t ticked_ns;

	struct adm *adm;
	struct verifier *verifier;
	struct director *director;
	struct builder builder;
	struct orders_table orders;
	struct scripts scripts;
	struct redis_link *redis;
	struct redis_keys *keys;
	struct presence *presence;
	struct chat_feed *chat; /* NULL: there is no chat */
	struct party *party;
	struct gate *gate;
	struct gate_link *gate_link;
	uint64_t nodes_asked_ns; /* the world, for the nodes that a rebuild waits for */
	bool nodes_known;
	uint64_t redis_up_ns;    /* presence said before is said again */
	struct outbox *outboxes; /* dataplane[workers], shards[shards], world, chat */
	uint32_t outbox_count;
	uint64_t delayed_seen, lost_seen;
	uint32_t told_state; /* enum sw_node_state that the workers know, UINT32_MAX: none */
	bool shard_stopped[CONFIG_LCORES_MAX];
	uint32_t shards_left; /* that have not said MSG_SHARD_STOPPED */
	uint64_t finish_by_ns;
	uint32_t unsaved; /* read after the thread has ended */

	_Atomic int state; /* enum ctl_state; the loop writes, any thread reads */
	_Atomic uint64_t counters[CTL_COUNTER_COUNT];
	struct counter_set set;

	pthread_t thread;
	pthread_mutex_t lock; /* for the three below */
	pthread_cond_t changed;
	bool redis_was_up, done;
	_Atomic bool abort_start; /* ctl_start gives up */
	bool joined;

	struct msg burst[CTL_BURST_SLOTS];
};

/* loop.c */
extern const struct adm_ops ctl_adm_ops;           /* with ctx to be set to the ctl */
extern const struct director_ops ctl_director_ops; /* likewise */
extern const struct party_ops ctl_party_ops;       /* likewise */
extern const struct presence_ops ctl_presence_ops; /* likewise */
extern const struct gate_ops ctl_gate_ops;         /* likewise */
void ctl_built(void *ctx, uint32_t id, bool good);
/* Through the outbox of a ring; what finds no place there is counted and said. */
void ctl_push(struct ctl *ctl, struct outbox *outbox, const struct msg *message);
/* Whether a message has this size; counted when not. */
bool ctl_fits(struct ctl *ctl, const struct msg *message, size_t bytes);
struct outbox *ctl_shard_outbox(struct ctl *ctl, uint32_t shard);
struct outbox *ctl_world_outbox(struct ctl *ctl);
struct outbox *ctl_chat_outbox(struct ctl *ctl); /* only where there is chat */
void ctl_to_chat(void *ctx, const struct msg *message);
/* As presence_ops.corrected. */
void ctl_corrected(void *ctx, uint64_t session, uint64_t character_id);
bool ctl_claimed(void *ctx, uint64_t session, enum adm_claim said);
void ctl_redis_changed(void *ctx, enum redis_link_state state, const char *sentence);
void ctl_begin_stop(struct ctl *ctl);
void ctl_on_drain(uv_timer_t *timer);
void ctl_on_heartbeat(uv_timer_t *timer);

/* report.c */
void ctl_set_state(struct ctl *ctl, enum ctl_state state);
void ctl_beat(struct ctl *ctl, uint64_t now_ns);
void ctl_counters_init(struct ctl *ctl);

#endif
