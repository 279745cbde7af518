/* admission_internal: the state of admission, and what its parts use of each other: admission.c
 * (what comes in), identify.c (who it is), handover.c (who goes to
 * another node), steps.c (what is sent, places, the character, how a
 * session ends), player.c (what operators ask), place.c (which map instance). Thread: one. */
#ifndef SW_CONTROL_ADMISSION_ADMISSION_INTERNAL_H
#define SW_CONTROL_ADMISSION_ADMISSION_INTERNAL_H

#include "control/admission/admission.h"
#include "control/admission/pressure.h"
#include "control/admission/session.h"
#include "control/admission/verify_queue.h"

/* Room for the two larger bodies that admission sends. */
#define BODY_SLOTS 5u
_Static_assert(
	sizeof(struct msg_player_join) <= BODY_SLOTS * MSG_SLOT_BYTES - MSG_HEAD_BYTES, "fits");
_Static_assert(
	sizeof(struct msg_character_load) <= BODY_SLOTS * MSG_SLOT_BYTES - MSG_HEAD_BYTES, "fits");

/* Joins under way at once, and places remembered of those that left. */
#define ADM_JOURNEYS_MAX 65536u

/* One player's way to an instance. */
struct journey {
	struct msg_player_join join;
	uint32_t definition;
	uint32_t left;   /* the instance it was in before, if it is wanted back there */
	uint32_t from;   /* of a transfer: the instance it comes from */
	uint32_t avoid;  /* that has just refused it */
	uint32_t reason; /* why; 0: none has */
	uint32_t tries;
	uint32_t next_free;
	bool strict;    /* left or turn back */
	bool transfer;  /* where it came from will do, too */
	uint8_t turned; /* 1: on its way back, 2: to the first map */
};

struct adm {
	const struct sw_config *config;
	struct director *director;
	struct journey *journeys;      /* [pool_max] */
	struct msg_player_left *lefts; /* [pool_max], a ring */
	struct map64 left_by_character;
	uint32_t pool_max, journey_free, left_next;
	uint64_t changes_seen; /* of the director */
	uint32_t workers, shards;
	struct adm_ops ops;
	struct session_table table;
	struct adm_secrets secrets;
	struct verify_queue verify;
	uint32_t verify_under_way; /* of ops.verify */
	struct pressure pressure;
	struct histogram verify_time;
	uint64_t wall_s; /* as told last */
	uint32_t places;
	uint64_t handovers;
	bool stopping;
	_Atomic uint64_t counters[ADM_COUNTER_COUNT];
	struct counter_set set;
};

void adm_count(struct adm *adm, enum adm_counter counter);
/* Sessions, players and places, as they are now. */
void adm_gauges(struct adm *adm);

/* To a peer, on channel 0, reliable. */
void adm_send_bytes(struct adm *adm, uint64_t peer, const uint8_t *data, size_t bytes);
void adm_send_disconnect(
	struct adm *adm, uint64_t peer, enum msg_disconnect_mode mode, uint32_t reason);
/* Refused, and a disconnect once it is acknowledged. */
void adm_send_refusal(struct adm *adm, uint64_t peer, uint32_t reason, uint32_t retry_ms);

void adm_place_take(struct adm *adm, struct session *session);
/* The session becomes its character's holder on this node, then of all nodes, and the world is
 * asked. */
void adm_load(struct adm *adm, struct session *session, uint64_t now_ns);
/* Those in SEEKING whose character another node has, when it is time to ask again. */
void adm_seek_waiting(struct adm *adm, uint64_t now_ns);
/* The ticket's use is the session's; it has let somebody in, and is never given back; it is given
 * back, if the session has it. */
void adm_claim_take(struct adm *adm, struct session *session, uint64_t claimer);
void adm_claim_done(struct adm *adm, struct session *session);
void adm_release(struct adm *adm, struct session *session);
/* Who has the use of the same ticket here; NULL: nobody. */
struct session *adm_claimer(struct adm *adm, const struct session *session);
struct adm_presence adm_presence_of(const struct session *session);

/* Somebody is known: its ticket's or pass's single use is asked for. */
void adm_identified(struct adm *adm, struct session *session, uint64_t now_ns, uint64_t wall_s);

/* identify.c */
bool adm_identify_init(struct adm *adm);
void adm_identify_fini(struct adm *adm);
/* A Hello of a session in CONNECTED. */
void adm_identify(struct adm *adm, struct session *session, const struct hello *hello,
	uint64_t now_ns, uint64_t wall_s);
/* It is not to be verified any more. */
void adm_identify_drop(struct adm *adm, struct session *session);
void adm_identify_tick(struct adm *adm, uint64_t now_ns);
/* Whether the place that it has shown is its character's: place_lane, _seq and _epoch of it. */
bool adm_place_shown(const struct session *session);
/* Seals the place that it stands at. Returns the bytes; 0: it has none, or has that one. */
size_t adm_place_pass(struct adm *adm, struct session *session,
	const struct gate_standing *standing, uint8_t out[PASS_BYTES_MAX]);
/* A pass to come again with, under the session's epoch; whether it is time for a newer one. */
void adm_pass_give(struct adm *adm, struct session *session, uint64_t now_ns);
bool adm_pass_due(const struct adm *adm, const struct session *session, uint64_t now_ns);
/* None of its passes lets anybody in any more. */
void adm_pass_spend(struct adm *adm, const struct session *session);

/* handover.c */
/* NONE: it was a good RedirectFailed. */
enum hello_fault adm_redirect_failed(
	struct adm *adm, struct session *session, const struct msg *message, uint64_t now_ns);
/* Ends it without a word of why. */
void adm_let_go(struct adm *adm, struct session *session, uint64_t now_ns);

/* place.c */
bool adm_places_init(struct adm *adm, uint32_t sessions);
void adm_places_fini(struct adm *adm);
/* NULL: too many are under way. */
struct journey *adm_journey_new(struct adm *adm, struct session *session);
void adm_journey_end(struct adm *adm, struct session *session);
void adm_left_remember(struct adm *adm, const struct msg_player_left *body);
/* The session's player is no longer where the director counts it. */
void adm_instance_leave(struct adm *adm, struct session *session);
/* The character is loaded; the player has left a map for another one. Each ends in JOINING, in
 * PLACING, or refused. */
void adm_place_loaded(struct adm *adm, struct session *session,
	const struct msg_character_loaded *loaded, uint64_t now_ns);
void adm_place_transfer(struct adm *adm, struct session *session,
	const struct msg_player_transfer *transfer, uint64_t now_ns);
/* For a session with a journey. */
void adm_place(struct adm *adm, struct session *session, uint64_t now_ns);
/* The instance refused: another one, if there is any. False: it cannot be helped. */
bool adm_place_again(struct adm *adm, struct session *session, uint32_t reason, uint64_t now_ns);
/* Those in PLACING, when something has changed. */
void adm_place_waiting(struct adm *adm, uint64_t now_ns);

/* The player is on no map any more: its presence goes. */
void adm_depart(struct adm *adm, struct session *session);

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
