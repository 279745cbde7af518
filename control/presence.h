/* presence: which node of the cluster plays which character, in Redis, so that none is played
 * twice. A login seeks its character before it is loaded, and has it reserved; another node that
 * has it is told to end it first (mail), saves, and lets go. What Redis knows is a help: if it is
 * away, emptied or failed over, the character's writer epoch in PostgreSQL still lets one node
 * write alone, and presence, said again, ends the older stay.
 *
 *   <prefix>{presence}:at:<realm>:<character>  hash: node, boot, session, generation
 *   <prefix>{presence}:alive:<node>            boot, redis.heartbeat_expire: who has it not is no
 *                                              obstacle to anybody
 *   <prefix>{presence}:mail:<node>             list of stays that it is to end, or whose belongings
 *                                              were changed from outside
 *
 * Thread: the control loop. */
#ifndef SW_CONTROL_PRESENCE_H
#define SW_CONTROL_PRESENCE_H

#include <stdbool.h>
#include <stdint.h>

#include "common/config.h"
#include "common/counter.h"
#include "control/admission/admission.h"

#define PRESENCE_MS         90000u
#define PRESENCE_REFRESH_MS 30000u
/* A reservation: longer than all the steps of a login may take. */
#define PRESENCE_SEEK_MS 120000u
/* The mail is looked at so often. */
#define PRESENCE_MAIL_MS 100u

struct redis_link;
struct presence;

// clang-format off
/* X(id, name, kind, help) */
#define PRESENCE_COUNTERS(X)                                                                       \
	X(SEEKS, "seeks", COUNTER_SUM, "logins that asked whether another node has their character") \
	X(HELD, "held", COUNTER_SUM, "answers that another node has it and was told to end it")    \
	X(MAILS, "mails", COUNTER_SUM, "stays that other nodes told this one to end")              \
	X(CORRECTED, "corrected", COUNTER_SUM, "stays whose character another node has corrected") \
	X(LOST, "lost", COUNTER_SUM, "stays that were found to be another node's, a newer login's") \
	X(DROPS, "drops", COUNTER_SUM, "characters that were let go")                              \
	X(MALFORMED, "malformed", COUNTER_SUM, "answers of Redis that make no sense")
// clang-format on
#define PRESENCE_COUNTER_ENUM(id, name, kind, help) PRESENCE_C_##id,
enum presence_counter { PRESENCE_COUNTERS(PRESENCE_COUNTER_ENUM) PRESENCE_COUNTER_COUNT };

struct presence_ops {
	void *ctx;
	/* The answer to presence_seek; false: nobody wants it any more, and it is let go. */
	bool (*sought)(void *ctx, uint64_t session, enum adm_sought said);
	/* The stay is to end: another node has the character, or waits for it. */
	void (*oust)(void *ctx, uint64_t session, uint64_t character_id);
	/* Another node has changed what the character owns. */
	void (*corrected)(void *ctx, uint64_t session, uint64_t character_id);
};

/* boot_id: random, per process. NULL: no memory. */
struct presence *presence_new(const struct sw_config *config, struct redis_link *link,
	uint64_t boot_id, const struct presence_ops *ops);
/* After the link has been freed, and its callbacks have run. */
void presence_free(struct presence *presence);

/* As adm_ops.seek. */
int presence_seek(struct presence *presence, uint64_t session, uint64_t character_id,
	uint64_t epoch_max, bool in_any_case);
/* Both are gathered and sent by presence_flush, puts first; while Redis is away they are dropped: a
 * put is said again by the refresh, a key that is not removed expires. */
void presence_put(struct presence *presence, const struct adm_presence *who);
void presence_drop(struct presence *presence, const struct adm_presence *who);
void presence_flush(struct presence *presence);
/* What the character owns was changed by this node, which may not play it: who does is told. While Redis is away
 * nobody is: what is PostgreSQL's is read at the next login. */
void presence_corrected(struct presence *presence, uint64_t character_id);
/* The node lives; not any more, with all its players saved. */
void presence_beat(struct presence *presence, bool stopped);
/* Looks at the mail, when it is time. */
void presence_tick(struct presence *presence, uint64_t now_ns);

/* Any thread may read it: group "presence". */
const struct counter_set *presence_counters(const struct presence *presence);

#endif
