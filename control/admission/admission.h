/* admission: from a finished handshake to a player on a map, and back.
 *
 *   MSG_PEER_CONNECTED -> Hello -> version, pass (pass.h), or ticket: under pressure a proof of
 *   work (proof.h), then its turn (verify_queue.h) for the signature -> the ticket's or pass's
 *   single use (Redis) -> the cluster's queue (gate/gate.h) -> a place under players_max -> the
 *   character's older session leaves -> no other node has the character (Redis: presence.h) ->
 *   MSG_CHARACTER_LOAD -> an instance of the map (director.h) -> MSG_PLAYER_JOIN, ReturnPass and
 *   Admitted -> MSG_PLAYER_JOINED ... MSG_PLAYER_LEFT, MSG_PEER_GONE
 *
 * Where the queue lets it in at another node: Redirect, and there a Hello with that pass; here the
 * session stays until that node has it, or goes back into the queue.
 *
 * MSG_PLAYER_TRANSFER takes a player from JOINED back to "an instance of the map", of another one.
 *
 * One session per connection, at most one session per character past WAITING. A connection that
 * ends at any of these steps is followed up; messages about a session that is no more are
 * recognised by its handle and dropped. Whoever is refused gets Refused and then an ENet disconnect
 * with the same reason; each refusal is counted by name.
 *
 * A ticket whose login fails for want of something on our side (the database, the map), or whose
 * player disconnects before that, is given its use back, so that the player can try again with it.
 *
 * Pure: time is an argument, and everything it does goes through adm_ops. Thread: one, the control
 * thread. Allocates at adm_new alone. */
#ifndef SW_CONTROL_ADMISSION_ADMISSION_H
#define SW_CONTROL_ADMISSION_ADMISSION_H

#include <stdbool.h>
#include <stdint.h>

#include "common/config.h"
#include "common/counter.h"
#include "common/msg.h"
#include "control/admission/hello.h"
#include "control/admission/pass.h"
#include "control/admission/proof.h"
#include "control/admission/ticket.h"
#include "control/director/director.h"
#include "control/gate/gate.h"

/* More such messages (hello.h) from one client end it. */
#define ADM_STRIKES_MAX 4u
/* How long a place pass is good. It counts only while, and shortly after, the queue is put together
 * again. */
#define ADM_PLACE_PASS_S 86400u
/* How long a client that is sent to another node has to get there. */
#define ADM_HANDOVER_S 60u
/* What a client that is to try again is told to wait. */
#define ADM_RETRY_MS 2000u
/* Longest wait for the world, for a shard, or for the older session. */
#define ADM_STEP_DEADLINE_MS 30000u
/* Another node that has the character is asked so often, and has so long to save it and let it go;
 * then it is taken from it, and what it still writes is refused by its older epoch. */
#define ADM_SEEK_AGAIN_MS 200u
#define ADM_SEEK_FORCE_MS 10000u
/* Longest wait for an instance that is being prepared. */
#define ADM_PLACING_DEADLINE_MS 10000u
/* A refused peer that has not taken its disconnect by then is cut off. */
#define ADM_ENDED_DEADLINE_MS 10000u
/* Tickets that ops.verify has been given and that are not answered: as many as its thread verifies
 * between two looks at it, and some. All others wait where their order can still change. */
#define ADM_VERIFY_WINDOW 64u
/* A pass is good for 1.5 times admission.grace and this: it is given anew when it is half a grace
 * old, in the round of adm_presence_due (30 s at most), so whoever breaks off has the grace left.
 */
#define ADM_PASS_MARGIN_S 60u

/* X(id, name, kind, help) */
// clang-format off
#define ADM_COUNTERS(X)                                                                            \
	X(SESSIONS, "sessions", COUNTER_GAUGE, "connections that admission knows, in any state")   \
	X(PLAYERS, "players", COUNTER_GAUGE, "players on a map")                                   \
	X(PLACES, "places", COUNTER_GAUGE, "places taken under players_max, by players and logins under way") \
	X(QUEUED, "queued", COUNTER_GAUGE, "sessions that wait in the cluster's queue")            \
	X(STOPPING, "stopping", COUNTER_GAUGE, "1 when nobody is let in any more")                 \
	X(CONNECTS, "connects", COUNTER_SUM, "peers that finished the handshake")                  \
	X(ADMITTED, "admitted", COUNTER_SUM, "logins that were sent on to a map")                  \
	X(JOINED, "joined", COUNTER_SUM, "players that a shard put on its map")                    \
	X(LEFT, "left", COUNTER_SUM, "players that a shard saved and took off its map")            \
	X(TRANSFERS, "transfers", COUNTER_SUM, "players that left a map for another one of this node") \
	X(TURNED_BACK, "turned_back", COUNTER_SUM, "transfers whose map could not be had: on to where they came from, or the first map") \
	X(TAKEOVERS, "takeovers", COUNTER_SUM, "older sessions that a new login of their character ended") \
	X(ELSEWHERE, "takeovers_elsewhere", COUNTER_SUM, "logins whose character another node had, which was told to end it") \
	X(FORCED, "takeovers_forced", COUNTER_SUM, "logins that took their character from a node which did not let it go in time") \
	X(OUSTED, "ousted", COUNTER_SUM, "sessions that ended because another node has, or wants, their character") \
	X(RELEASES, "ticket_releases", COUNTER_SUM, "tickets that were given their use back")      \
	X(VERIFY_WAITING, "verify_waiting", COUNTER_GAUGE, "tickets that wait for the verification of their signature") \
	X(VERIFY_SOURCES, "verify_sources", COUNTER_GAUGE, "sources (IPv4 addresses, /64 of IPv6) that these came from") \
	X(VERIFY_UNDER_WAY, "verify_under_way", COUNTER_GAUGE, "tickets that the verifying thread has") \
	X(VERIFY_OLDEST, "verify_oldest_us", COUNTER_GAUGE, "how long the oldest of those that wait has waited") \
	X(PROOF_BITS, "proof_bits", COUNTER_GAUGE, "work that a ticket needs now, in bits; 0: none, there is no pressure") \
	X(CHALLENGED, "challenged", COUNTER_SUM, "clients that were asked for a proof of work")    \
	X(PROOFS_GOOD, "proofs_good", COUNTER_SUM, "proofs of work that were good")                \
	X(PASSES_GIVEN, "passes_given", COUNTER_SUM, "passes that players were given to come again with") \
	X(PASSES_GOOD, "passes_good", COUNTER_SUM, "passes that were shown and were good, before their single use was asked for") \
	X(MOVED, "moved", COUNTER_SUM, "clients that were sent to another node, which has room")   \
	X(MOVES_UNREACHED, "moves_unreached", COUNTER_SUM, "of these, those that got no answer there, and wait here again") \
	X(MOVES_REFUSED, "moves_refused", COUNTER_SUM, "... that were refused there, and wait here again") \
	X(MOVES_FAILED, "moves_lost", COUNTER_SUM, "... that nobody has heard of there, and that wait here again") \
	X(MOVED_HERE, "moved_here", COUNTER_SUM, "clients that another node has sent here, and that came") \
	X(SUPERSEDED, "superseded", COUNTER_SUM, "sessions in the queue whose pass came again on another connection, which has their place now") \
	X(CUT_OFF, "cut_off", COUNTER_SUM, "refused peers that did not take their disconnect")     \
	X(STALE, "stale_messages", COUNTER_SUM, "messages about sessions or peers that had ended: normal")

/* Refusals beside those of the ticket itself (ticket.h). X(id, name, reason for the client, help) */
#define ADM_REFUSALS(X)                                                                            \
	X(VERSION, "version", WRONG_VERSION, "another protocol version")                           \
	X(HELLO_TIMEOUT, "hello_timeout", HELLO_TIMEOUT, "no good Hello within hello_deadline")    \
	X(STRIKES, "strikes", MALFORMED, "too many messages that no honest client sends")          \
	X(VERIFY_FULL, "verify_full", TRY_LATER, "too many tickets wait for their verification")   \
	X(VERIFY_CROWDED, "verify_crowded_out", TRY_LATER, "too many wait, and too many of them come from this one's source") \
	X(VERIFY_TIMEOUT, "verify_timeout", TRY_LATER, "the ticket was not verified in time")      \
	X(PROOF_MISSING, "proof_missing", PROOF_MISSING, "asked for a proof of work, and brought none in time") \
	X(PASS_USED, "pass_used", PASS_REFUSED, "the pass, or another one of the same stay, was used before") \
	X(PASS_STALE, "pass_stale", PASS_REFUSED, "the character has logged in since the pass was given") \
	X(PASS_BUSY, "pass_busy", TRY_LATER, "another login of the character is under way; the pass is good again if that fails") \
	X(USED, "ticket_used", TICKET_USED, "the ticket was used before")                          \
	X(REDIS_AWAY, "redis_away", TRY_LATER, "Redis is away, so the ticket could not be checked") \
	X(CLAIM_UNKNOWN, "claim_unknown", TRY_LATER, "Redis did not say whether the ticket was used") \
	X(SEEK_UNKNOWN, "seek_unknown", TRY_LATER, "Redis did not say whether another node has the character") \
	X(FULL, "full", SERVER_FULL, "as many wait in the queue here as may (admission.queue_max)") \
	X(TABLE_FULL, "table_full", SERVER_FULL, "no session is free")                             \
	X(REPLACED, "replaced", REPLACED, "a newer login of the same character")                   \
	X(TAKEOVER_TIMEOUT, "takeover_timeout", TRY_LATER, "the character's older session did not leave in time") \
	X(WRONG_ACCOUNT, "wrong_account", WRONG_ACCOUNT, "the character belongs to another account") \
	X(WORLD_AWAY, "world_away", TRY_LATER, "the database is away")                             \
	X(WORLD_TIMEOUT, "world_timeout", TRY_LATER, "the world did not answer in time")           \
	X(NO_MAP, "no_map", MAP_UNAVAILABLE, "neither the saved map nor first_map is served here") \
	X(NO_ROOM, "no_room", MAP_UNAVAILABLE, "every instance of the map is full or closing, and no more may run") \
	X(NO_INSTANCE, "no_instance", MAP_UNAVAILABLE, "no instance of the map was ready in time") \
	X(MAP_REFUSED, "map_refused", MAP_UNAVAILABLE, "the shard refused the player, such as for a full map, and no other instance could take it") \
	X(JOIN_TIMEOUT, "join_timeout", TRY_LATER, "the shard did not answer in time")             \
	X(STOPPING, "stopping", SERVER_STOPPING, "the server is stopping")                         \
	X(KICKED, "kicked", KICKED, "removed by an operator")
// clang-format on

#define ADM_COUNTER_ENUM(id, name, kind, help)   ADM_C_##id,
#define ADM_REFUSAL_ENUM(id, name, reason, help) ADM_C_REFUSED_##id,
#define ADM_TICKET_ENUM(id, name, reason, help)  ADM_C_TICKET_##id,
#define ADM_PASS_ENUM(id, name, reason, help)    ADM_C_PASS_##id,
#define ADM_PROOF_ENUM(id, name, reason, help)   ADM_C_PROOF_##id,
#define ADM_MESSAGE_ENUM(id, name, help)         ADM_C_MESSAGE_##id,
enum adm_counter {
	ADM_COUNTERS(ADM_COUNTER_ENUM) ADM_REFUSALS(ADM_REFUSAL_ENUM) TICKET_FAULTS(ADM_TICKET_ENUM)
		PASS_FAULTS(ADM_PASS_ENUM) PROOF_FAULTS(ADM_PROOF_ENUM)
			HELLO_FAULTS(ADM_MESSAGE_ENUM) ADM_COUNTER_COUNT
};
/* The counter of a fault that is not NONE. */
#define ADM_C_PASS(fault)  (ADM_C_PASS_LENGTH + (fault)-1)
#define ADM_C_PROOF(fault) (ADM_C_PROOF_MALFORMED + (fault)-1)

/* What Redis said about a ticket's single use. */
enum adm_claim {
	ADM_CLAIM_OURS,   /* it was not used before, and is now */
	ADM_CLAIM_USED,   /* it was used before */
	ADM_CLAIM_UNKNOWN /* no answer: it may be used up */
};

/* What Redis said about who has a character. */
enum adm_sought {
	ADM_SOUGHT_OURS,   /* nobody else; it is reserved for the session */
	ADM_SOUGHT_HELD,   /* another node, which has been told to end it */
	ADM_SOUGHT_NEWER,  /* another node, by a login since epoch_max: nothing was done */
	ADM_SOUGHT_UNKNOWN /* no answer: it may be reserved */
};

struct adm_presence {
	uint64_t session, character_id;
	uint64_t generation; /* the character's writer epoch: greater is newer, on any node */
};

/* Calls out of admission. None may call back into it, except through a later call by the loop. */
struct adm_ops {
	void *ctx;
	/* The message is copied; the other side gets it even if its ring is full now. */
	void (*to_dataplane)(void *ctx, uint32_t worker, const struct msg *message);
	void (*to_shard)(void *ctx, uint32_t shard, const struct msg *message);
	void (*to_world)(void *ctx, const struct msg *message);
	/* Asks Redis to note the nonce as used by this session, for expire_s. Returns 0:
	 * adm_claimed follows, exactly once; or a negative errno: Redis is away. */
	int (*claim)(void *ctx, uint64_t session, const uint8_t nonce[TICKET_NONCE_BYTES],
		uint64_t expire_s);
	/* Gives the use back, if the session still has it. May fail: then the ticket stays used. */
	void (*release)(void *ctx, uint64_t session, const uint8_t nonce[TICKET_NONCE_BYTES]);
	/* Notes a pass's nonce as used, by nobody, for expire_s. May fail. */
	void (*spend)(void *ctx, const uint8_t nonce[PASS_NONCE_BYTES], uint64_t expire_s);
	/* Has a ticket checked (ticket_check) as of wall_s; adm_verified follows, exactly once. At
	 * most ADM_VERIFY_WINDOW are under way. The bytes are copied. */
	void (*verify)(void *ctx, uint64_t session, const uint8_t *ticket, uint32_t bytes,
		uint64_t wall_s);
	/* It is to wait in the queue until adm_let_in. 0; or a negative errno: too many do. */
	int (*queue)(void *ctx, const struct gate_newcomer *newcomer, uint64_t now_ns);
	/* It waits no more. away: it may come back to its place. */
	void (*unqueue)(void *ctx, uint64_t session, bool away);
	/* It did not get in at the node where it was let in: it waits here again, where it stood.
	 */
	void (*requeue)(void *ctx, uint64_t session);
	/* Asks Redis whether another node has the character, and reserves it if not, or in any
	 * case. epoch_max: 0, or as in msg_character_load. Returns 0: adm_sought follows, exactly
	 * once; or a negative errno: Redis is away. */
	int (*seek)(void *ctx, uint64_t session, uint64_t character_id, uint64_t epoch_max,
		bool in_any_case);
	/* The player is on a map; is not any more, and is being saved. */
	void (*arrived)(void *ctx, const struct adm_presence *presence);
	void (*departed)(void *ctx, const struct adm_presence *presence);
	/* The session has ended and lets its character go: any node may have it, once what its
	 * player did is in PostgreSQL, if it has played. */
	void (*vacated)(void *ctx, const struct adm_presence *presence, bool played);
};

struct adm;

/* Copied. */
struct adm_secrets {
	struct pass_keys pass_keys;
	uint8_t challenge_key[PROOF_KEY_BYTES]; /* drawn at random, of this process alone */
};
/* Sessions that there may be. Twice the peers: a session whose peer is gone may still wait for its
 * save while the dataplane gives the peer's slot to the next. */
static inline uint64_t adm_sessions(const struct sw_config *config, uint32_t workers)
{
	return 2ull * workers * config->enet.peers_max;
}

/* config and director: borrowed, for the life of adm. workers, shards: how many of each there are.
 * Returns NULL when memory is short. */
struct adm *adm_new(const struct sw_config *config, const struct adm_secrets *secrets,
	uint32_t workers, uint32_t shards, struct director *director, const struct adm_ops *ops);
void adm_free(struct adm *adm);

/* One message from a ring. wall_s: Unix seconds, for ticket expiry alone. Messages of types that do
 * not come from there are counted as stale. */
void adm_from_dataplane(
	struct adm *adm, const struct msg *message, uint64_t now_ns, uint64_t wall_s);
void adm_from_shard(struct adm *adm, uint32_t shard, const struct msg *message, uint64_t now_ns);
void adm_from_world(struct adm *adm, const struct msg *message, uint64_t now_ns);

/* The answer to ops.claim. Returns false when the session wants it no more: the caller then gives
 * the use back, if the claim was ours. */
bool adm_claimed(struct adm *adm, uint64_t session, enum adm_claim claim, uint64_t now_ns);

/* The answer to ops.verify: what ticket_check said, and how long that took. */
void adm_verified(struct adm *adm, uint64_t session, enum ticket_fault fault,
	const struct ticket *ticket, uint64_t took_ns, uint64_t now_ns, uint64_t wall_s);

/* Unix seconds, for the expiry of passes; call it at least each second. */
void adm_wall(struct adm *adm, uint64_t wall_s);
/* The queue lets it in. False: there is no place here for it after all, or it waits no more. */
bool adm_let_in(struct adm *adm, uint64_t session, uint64_t now_ns);
/* The queue lets it in at another node: it is sent there with a pass. False: it waits no more, or
 * its client follows no Redirect. */
bool adm_move(struct adm *adm, uint64_t session, const struct gate_move *to, uint64_t now_ns);
/* It was sent there, nobody has heard of it, and it waits here again. */
void adm_back(struct adm *adm, uint64_t session, uint64_t now_ns);
/* Another session of its character has its place in the queue, or the one that is reserved at the
 * other node: then it is let go. */
void adm_replaced(struct adm *adm, uint64_t session, uint64_t now_ns);
/* Tells it how it stands. */
void adm_tell(struct adm *adm, uint64_t session, const struct gate_standing *standing);

/* The answer to ops.seek. Returns false when the session wants it no more: the caller then lets the
 * character go, if it is ours. */
bool adm_sought(struct adm *adm, uint64_t session, enum adm_sought said, uint64_t now_ns);

/* Another node has the character of this session, or waits for it: the session ends with REPLACED,
 * if there is such a one. Returns false when there is none: then nothing of it is here. */
bool adm_oust(struct adm *adm, uint64_t session, uint64_t character_id, uint64_t now_ns);

/* Deadlines; call it every few milliseconds. */
void adm_tick(struct adm *adm, uint64_t now_ns);

/* From now on everyone is refused with SERVER_STOPPING, also logins under way. Players that a shard
 * has, or may have, are the shards' to end (MSG_SHARD_STOP). */
void adm_stop(struct adm *adm, uint64_t now_ns);

/* One player, as an operator sees it. */
struct adm_player {
	uint64_t session, peer, character_id, account_id, epoch;
	uint64_t since_ns; /* since its connection came */
	uint32_t realm_id;
	uint32_t instance, shard; /* INSTANCE_NONE: on none; shard: of it */
	uint32_t stay;            /* maps before this one */
	const char *state;        /* of SESSION_STATES */
	bool connected;           /* its peer is there */
	char name[CHARACTER_NAME_BYTES];
};

/* The player that a word names: a character's id, or its name. False: no such one is here. */
bool adm_player(struct adm *adm, const char *word, uint64_t now_ns, struct adm_player *out);
/* Ends a session of adm_player with SW_REASON_KICKED; whoever is on a map is saved. False: it has
 * ended, or is about to. */
bool adm_kick(struct adm *adm, uint64_t session, uint64_t now_ns);

/* Fills out with up to max players whose presence was last said before that time, and counts it as
 * said now; gives those a new pass whose pass is getting old. Returns how many. */
uint32_t adm_presence_due(struct adm *adm, uint64_t now_ns, uint64_t before_ns,
	struct adm_presence *out, uint32_t max);

/* Where a character plays. */
struct adm_seat {
	uint64_t session, peer, generation; /* generation as in adm_presence */
	uint32_t shard;
	char name[CHARACTER_NAME_BYTES];
};

/* Whether a shard of this node has the character's player, or is to get it. */
bool adm_seat_of(const struct adm *adm, uint64_t character_id, struct adm_seat *out);

/* Any thread may read it while adm lives: group "admission". */
const struct counter_set *adm_counters(const struct adm *adm);
/* Likewise: how long tickets waited until their verification was answered. */
const struct histogram *adm_verify_time(const struct adm *adm);

#endif
