/* admission_internal: the state of admission, and what its parts use of each other: admission.c
 * (what comes in), steps.c (what is sent, places, the character, how a session ends). Thread: one.
 */
#ifndef SW_CONTROL_ADMISSION_ADMISSION_INTERNAL_H
#define SW_CONTROL_ADMISSION_ADMISSION_INTERNAL_H

#include "control/admission/admission.h"
#include "control/admission/session.h"

/* Room for the two larger bodies that admission sends. */
#define BODY_SLOTS 3u
_Static_assert(
	sizeof(struct msg_player_join) <= BODY_SLOTS * MSG_SLOT_BYTES - MSG_HEAD_BYTES, "fits");
_Static_assert(
	sizeof(struct msg_character_load) <= BODY_SLOTS * MSG_SLOT_BYTES - MSG_HEAD_BYTES, "fits");

struct adm {
	const struct sw_config *config;
	uint32_t workers, shards;
	struct adm_ops ops;
	struct session_table table;
	uint32_t places;
	bool stopping;
	_Atomic uint64_t counters[ADM_COUNTER_COUNT];
	struct counter_set set;
};

void adm_count(struct adm *adm, enum adm_counter counter);

/* To a peer, on channel 0, reliable. */
void adm_send_bytes(struct adm *adm, uint64_t peer, const uint8_t *data, size_t bytes);
void adm_send_disconnect(
	struct adm *adm, uint64_t peer, enum msg_disconnect_mode mode, uint32_t reason);
/* Refused, and a disconnect once it is acknowledged. */
void adm_send_refusal(struct adm *adm, uint64_t peer, uint32_t reason, uint32_t retry_ms);

void adm_place_take(struct adm *adm, struct session *session);
/* The session becomes its character's holder, and the world is asked. */
void adm_load(struct adm *adm, struct session *session, uint64_t now_ns);
/* Gives the ticket its use back, if the session has it. */
void adm_release(struct adm *adm, struct session *session);
struct adm_presence adm_presence_of(const struct session *session);

/* The session has no player on a shard (any more): to ENDED, or away if its peer is gone already.
 */
void adm_end(struct adm *adm, struct session *session, uint32_t reason, uint64_t now_ns);
/* Counts, tells the client, ends. retry_ms: 0 where the same ticket will not do. */
void adm_refuse(struct adm *adm, struct session *session, enum adm_counter counter,
	uint32_t retry_ms, uint64_t now_ns);
/* The same with another reason than the counter's own. */
void adm_refuse_as(struct adm *adm, struct session *session, enum adm_counter counter,
	uint32_t reason, uint32_t retry_ms, uint64_t now_ns);
/* The shard has the player, or may have it: it must save, and say MSG_PLAYER_LEFT. */
void adm_leave(struct adm *adm, struct session *session, uint32_t reason, uint64_t now_ns);

#endif
