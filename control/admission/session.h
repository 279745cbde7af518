/* session: the table of sessions. A session is one connection from the handshake to the peer's end
 * and, if it went so far, to the save of its player. Sessions of a state stand in one list, oldest
 * first, so that deadlines are found without a search.
 *
 * Pure; one thread. */
#ifndef SW_CONTROL_ADMISSION_SESSION_H
#define SW_CONTROL_ADMISSION_SESSION_H

#include <stdbool.h>
#include <stdint.h>

#include "common/msg.h"
#include "control/admission/map64.h"
#include "control/admission/ticket.h"
#include "control/admission/verify_queue.h"

#define SESSION_NONE UINT32_MAX

/* X(id, name, what ends the state) */
#define SESSION_STATES(X)                                                                          \
	X(FREE, "free", "a new connection")                                                        \
	X(CONNECTED, "connected", "a Hello with a ticket, or a good pass")                         \
	X(VERIFYING, "verifying", "the ticket's signature is verified")                            \
	X(CLAIMING, "claiming", "Redis says whether the ticket was used")                          \
	X(QUEUED, "queued", "the cluster's queue lets it in")                                      \
	X(SENT, "sent", "it is at the other node where it was let in, or back")                    \
	X(WAITING, "waiting", "the character's older session has left")                            \
	X(SEEKING, "seeking", "no other node has the character")                                   \
	X(LOADING, "loading", "the world has loaded the character")                                \
	X(PLACING, "placing", "an instance of the map is ready")                                   \
	X(JOINING, "joining", "the shard has taken the player")                                    \
	X(IN, "in", "the player leaves")                                                           \
	X(LEAVING, "leaving", "the shard has saved the player")                                    \
	X(ENDED, "ended", "the dataplane says that the peer is gone")

#define SESSION_STATE_ENUM(id, name, ends) SESSION_##id,
enum session_state { SESSION_STATES(SESSION_STATE_ENUM) SESSION_STATE_COUNT };

struct session {
	uint32_t index, generation;
	enum session_state state;
	uint32_t prev, next; /* in the list of its state */
	uint64_t since_ns;   /* when it entered the state; IN: when its presence was last said */
	uint64_t peer;
	bool peer_gone;
	bool place;      /* counts under admission.players_max */
	bool claimed;    /* its ticket, or pass, is used up in Redis */
	bool returned;   /* it came with a pass: ticket is filled from that, and has no issue */
	bool sent_here;  /* by another node, with its place: a HANDOVER pass */
	bool was_sent;   /* to another node; it may be back */
	bool stays;      /* its client follows no Redirect */
	bool superseded; /* another connection has its pass, and is to have its place */
	bool challenged; /* it was asked for work */
	bool holder;     /* the one session of its character: SEEKING to LEAVING */
	uint8_t strikes; /* messages that no honest client sends */
	uint16_t payload_bytes_max;
	bool admitted;       /* the client has been told */
	bool present;        /* its presence has been said */
	bool reserved;       /* its character is, in Redis */
	bool elsewhere;      /* in SEEKING: another node has it */
	bool forced;         /* ... and was asked for in any case */
	uint64_t seek_ns;    /* in SEEKING: when to ask again; UINT64_MAX: an answer is due */
	uint32_t instance;   /* that the player is on or sent to; INSTANCE_NONE */
	uint32_t shard;      /* of it */
	uint32_t stay;       /* maps before this one */
	uint32_t journey;    /* PLACING, JOINING; SESSION_NONE */
	uint32_t waiter;     /* of a holder: the session that follows; SESSION_NONE */
	uint32_t waits_for;  /* in WAITING: the holder */
	uint32_t end_reason; /* sw_disconnect_reason, for LEAVING and ENDED */
	uint32_t verify; /* VERIFYING: where its ticket waits; VERIFY_NONE: it is being verified */
	uint64_t epoch;  /* 0 until it is loaded */
	uint64_t epoch_max; /* returned: the one that its pass was given under, if it was */
	uint64_t claimer;   /* claimed: the session that Redis has it for */
	uint64_t pass_ns;   /* when it was given its newest pass */
	uint64_t place_character, place_account; /* whose place it has shown; 0: none */
	uint64_t place_seq, place_epoch;         /* of it; then of the last that it was given */
	uint8_t place_lane;
	uint64_t began_ns;
	uint8_t ip[16];
	char name[CHARACTER_NAME_BYTES]; /* the character's; of the ticket until it is loaded */
	struct ticket ticket;
};

struct session_list {
	uint32_t head, tail, count;
};

struct session_table {
	struct session *sessions; /* [max] */
	uint32_t max;
	struct session_list lists[SESSION_STATE_COUNT];
	struct map64 by_peer;      /* peer handle */
	struct map64 by_character; /* holders */
	struct map64 by_claim;     /* claimed: the first half of the nonce */
};

bool session_table_init(struct session_table *table, uint32_t max);
void session_table_fini(struct session_table *table);

/* A session in CONNECTED, or NULL when the table is full or the peer is in it already. */
struct session *session_new(struct session_table *table, uint64_t peer, uint64_t now_ns);
void session_free(struct session_table *table, struct session *session);
void session_move(struct session_table *table, struct session *session, enum session_state state,
	uint64_t now_ns);

uint64_t session_handle(const struct session *session);
/* NULL for a handle of a session that has ended. */
struct session *session_by_handle(struct session_table *table, uint64_t handle);
struct session *session_by_peer(struct session_table *table, uint64_t peer);
struct session *session_by_character(struct session_table *table, uint64_t character_id);
/* NULL for SESSION_NONE. */
struct session *session_at(struct session_table *table, uint32_t index);
struct session *session_oldest(struct session_table *table, enum session_state state);

#endif
