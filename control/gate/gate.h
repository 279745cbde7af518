/* gate: who waits at this node for a place in the cluster, between a good login and its character's
 * load.
 *
 * The queue itself, the bucket and the places stand in Redis, for all nodes
 * (lua/redis/gate_turn.lua). Ten times a second a node takes its turn: it says what is new (a
 * newcomer, one that has gone, one whose reserved place has become a place here, who of those that
 * wait is still there) and hears what became of it, who is let in, and how far each lane has come.
 * Who waits and for how long is worked out from that one number a lane; nobody's rank is ever asked
 * for.
 *
 *   gate_wait -> a turn says it -> told (position, wait) ... -> admit, or move to another node
 *        gate_leave at any time: gone for good, or away and expected back within the grace
 *
 * Whoever is to move is kept here, beside the place that is reserved there, for as long as that is
 * (admission.lease): gate_back, or that nobody was heard of there, and it waits again where it
 * stood. When the other node has heard of it, it ends here.
 *
 * A turn that is lost changes nothing here: what it said is said again, and the script takes what
 * is said twice for said once. Whoever Redis does not know any more (it was emptied, or lost its
 * last writes) is said again with the place that it had, before anybody is let in. While Redis is
 * away everyone here waits, and is told so.
 *
 * Pure: time is an argument, and what it does goes through gate_ops. Thread: the control loop.
 * Allocates at gate_new alone: 112 bytes for each session that there may be. */
#ifndef SW_CONTROL_GATE_GATE_H
#define SW_CONTROL_GATE_GATE_H

#include <stdbool.h>
#include <stdint.h>

#include "common/config.h"
#include "common/counter.h"
#include "common/mono.h"

/* Who passes whom. Each lane that has somebody is let in by its share of the rate, and what a lane
 * does not need is the others'. X(id, value, name) */
#define GATE_LANES(X)                                                                              \
	X(OPERATOR, 1, "operator")                                                                 \
	X(RETURNING, 2, "returning")                                                               \
	X(NORMAL, 3, "normal")
#define GATE_LANE_ENUM(id, value, name) GATE_LANE_##id = value,
enum gate_lane { GATE_LANES(GATE_LANE_ENUM) };
#define GATE_LANE_COUNT 3u

/* How it stands for those who wait. X(id, value, name, meaning); the values are Queued.state's. */
#define GATE_STATES(X)                                                                             \
	X(OPEN, 1, "open", "the queue moves")                                                      \
	X(THROTTLED, 2, "throttled", "the queue moves at a rate that an operator has set")         \
	X(CLOSED, 3, "closed", "an operator has closed the gate")                                  \
	X(FULL, 4, "full", "no node has room")                                                     \
	X(AWAY, 5, "away", "Redis does not answer: nobody is let in, and no place is lost")        \
	X(REBUILDING, 6, "rebuilding", "Redis was emptied: the places are being put together again")
#define GATE_STATE_ENUM(id, value, name, meaning) GATE_##id = value,
enum gate_state { GATE_STATES(GATE_STATE_ENUM) GATE_STATE_END };
const char *gate_state_name(enum gate_state state);

#define GATE_TURN_MS     100u /* between two turns, while there is something to say or to wait for */
#define GATE_IDLE_MS     1000u /* while there is not */
#define GATE_TELL_MS     1000u /* a client is told at most so often */
#define GATE_WORDS_MAX   512u  /* of one kind in a turn: what bounds a turn's cost in Redis */
#define GATE_BEATS_MAX   256u
#define GATE_TEXT_BYTES  256u  /* an operator's reason */
#define GATE_MOVES_MAX   3u    /* who came back so often, stays */
#define GATE_PENDING_MAX 8192u /* words that wait for a turn; a power of two */

/* X(id, name, kind, help) */
// clang-format off
#define GATE_COUNTERS(X)                                                                           \
	X(STATE, "state", COUNTER_GAUGE, "1 open, 2 throttled, 3 closed, 4 full, 5 Redis is away, 6 being rebuilt") \
	X(WAITING, "waiting", COUNTER_GAUGE, "sessions that wait at this node")                    \
	X(WAITING_ALL, "waiting_all", COUNTER_GAUGE, "places in the queue of the cluster, all lanes") \
	X(RATE, "rate", COUNTER_GAUGE, "let in a second at most, by the whole cluster")            \
	X(ROOM, "room", COUNTER_GAUGE, "free places of all nodes that are known, less what is reserved") \
	X(LEASES, "leases", COUNTER_GAUGE, "reserved places in the cluster: let in, and not arrived yet") \
	X(BELIEVED, "population_believed", COUNTER_GAUGE, "taken places of all nodes, as the gate counts them: reported, let in since, reserved") \
	X(REPORTED, "population_reported", COUNTER_GAUGE, "taken places of all nodes, by their last reports") \
	X(ERROR, "population_error", COUNTER_GAUGE, "places of this node that other nodes believe taken or free and that are not") \
	X(ERROR_MAX, "population_error_max", COUNTER_GAUGE, "the largest of those since the start")\
	X(NEWCOMERS, "newcomers", COUNTER_SUM, "sessions that came to wait")                       \
	X(ADMITTED, "admitted", COUNTER_SUM, "sessions that were let in here and took a place")    \
	X(MOVED, "moved", COUNTER_SUM, "sessions that were let in at another node, and sent there") \
	X(CAME_BACK, "came_back", COUNTER_SUM, "sessions that were sent to another node, did not get in there, and got their place here back") \
	X(PUT_BACK, "put_back", COUNTER_SUM, "sessions that were let in, found no place here after all, and got theirs in the queue back") \
	X(REPLACED, "replaced", COUNTER_SUM, "sessions whose place another session of their character has taken over") \
	X(AWAY, "away", COUNTER_SUM, "sessions that disconnected while they waited: their place is kept for the grace") \
	X(GONE, "gone", COUNTER_SUM, "sessions that were refused or removed while they waited")    \
	X(FULL, "refused_full", COUNTER_SUM, "sessions that could not even wait: admission.queue_max") \
	X(RESTORED, "places_restored", COUNTER_SUM, "places that Redis did not know any more and was told again") \
	X(TOLD, "told", COUNTER_SUM, "times a client was told how it stands")                      \
	X(TURNS, "turns", COUNTER_SUM, "turns that were answered")                                 \
	X(TURNS_LOST, "turns_lost", COUNTER_SUM, "turns without an answer: what they said was said again") \
	X(LET_IN, "let_in", COUNTER_SUM, "players that this node's turns let in, for any node")    \
	X(PLACES_EXPIRED, "places_expired", COUNTER_SUM, "abandoned places that this node's turns removed") \
	X(LEASES_EXPIRED, "leases_expired", COUNTER_SUM, "reserved places that nobody took, removed by this node's turns") \
	X(SET_ASIDE, "set_aside", COUNTER_SUM, "places at the head whose client was not there, or whose own node was full while others were not, passed over by this node's turns") \
	X(EPOCHS, "epochs", COUNTER_SUM, "times the data in Redis began anew, the first one included") \
	X(WORDS_LOST, "words_lost", COUNTER_SUM, "what could not wait for a turn: places that run out by themselves") \
	X(ERRORS, "errors", COUNTER_SUM, "turns that Redis answered with an error, or with what cannot be")
// clang-format on
#define GATE_COUNTER_ENUM(id, name, kind, help) GATE_C_##id,
enum gate_counter { GATE_COUNTERS(GATE_COUNTER_ENUM) GATE_COUNTER_COUNT };

struct gate_newcomer {
	uint64_t session, character_id;
	uint32_t realm_id;
	enum gate_lane lane;
	bool seat;  /* its older session has a place here: it needs no room */
	bool stays; /* its client follows no redirect */
	bool sent;  /* here by another node, with its place (a HANDOVER pass), which counts */
	/* A place that it shows (a PLACE pass); seq 0: none. Counts if Redis has lost that one. */
	uint64_t seq, epoch;
	enum gate_lane place_lane;
};

/* Where one is let in, if not here. */
struct gate_move {
	const char *node, *address; /* ip:port for clients */
	enum gate_lane lane;        /* its place, to be shown there; seq 0: it never knew it */
	uint64_t seq;
};

/* How a session stands. */
struct gate_standing {
	enum gate_state state;
	uint32_t position; /* 1: next; 0: not known yet */
	uint32_t wait_ms;  /* estimated; 0: not known, as when nothing moves */
	/* For the place pass; seq 0: it has no place yet. */
	enum gate_lane lane;
	uint64_t seq, epoch;
};

/* Calls out of gate_turn_heard and gate_tick. They may call gate_leave and gate_wait. */
struct gate_ops {
	void *ctx;
	void (*tell)(void *ctx, uint64_t session, const struct gate_standing *standing);
	/* It is let in here. False: there is no place for it after all. */
	bool (*admit)(void *ctx, uint64_t session, uint64_t now_ns);
	/* It is let in at another node, which keeps a place for it. False: it cannot be sent there;
	 * it waits on. NULL: no client of this node is sent to another one. */
	bool (*move)(void *ctx, uint64_t session, const struct gate_move *to, uint64_t now_ns);
	/* It has not got there in time, and waits here again. */
	void (*back)(void *ctx, uint64_t session, uint64_t now_ns);
	/* Another session of its character has its place, such as the one at the other node. */
	void (*replaced)(void *ctx, uint64_t session, uint64_t now_ns);
};

/* What this node is, for a turn. */
struct gate_here {
	int64_t room;    /* free places; nobody is let in here while it is not above 0 */
	uint64_t places; /* taken */
};

/* ---- a turn, to be said: gate_link.h puts it into words ---- */

enum gate_word_kind {
	GATE_WORD_TAKEN, /* in the order in which they are said */
	GATE_WORD_BACK,
	GATE_WORD_LEFT,
	GATE_WORD_AWAY,
	GATE_WORD_GONE,
	GATE_WORD_BEAT,
	GATE_WORD_NEW,
	GATE_WORD_KINDS
};

struct gate_word {
	uint64_t session, character_id, seq;
	uint32_t realm_id;
	uint8_t lane;
	bool seat, again, shown; /* shown: the seq is a client's word, if a sealed one */
	bool stays, back;        /* back: it was sent to another node */
};

struct gate_turn {
	struct gate_here here;
	uint64_t epoch;    /* that this node knows; 0: none */
	uint64_t admitted; /* here since the start, with those of this turn */
	bool moves;        /* clients of this node can be sent to others */
	bool restored;     /* it knows that the data is new, and has no place left to be said */
	uint32_t counts[GATE_WORD_KINDS];
	struct gate_word words[GATE_WORDS_MAX + GATE_BEATS_MAX + GATE_WORDS_MAX];
};

/* ---- what was answered ---- */

enum gate_verdict { GATE_PLACE, GATE_ADMIT, GATE_MOVE, GATE_LATER, GATE_REPLACED, GATE_LOST };

struct gate_verdict_new {
	enum gate_verdict verdict;
	uint32_t lane;
	uint64_t seq;
};

struct gate_verdict_beat {
	uint32_t beat; /* from 0 */
	enum gate_verdict verdict;
};

struct gate_call {
	enum gate_verdict verdict; /* ADMIT, MOVE, REPLACED */
	uint64_t session;
	char node[64], address[64];
};

#define GATE_CALLS_MAX 2048u

/* The operators' word. */
struct gate_order {
	enum gate_state state; /* OPEN, THROTTLED, CLOSED */
	uint32_t rate;
	uint64_t at_us;
	char author[ORDER_AUTHOR_BYTES], reason[GATE_TEXT_BYTES];
};

struct gate_answer {
	bool rebuilding;
	uint64_t epoch;
	struct gate_order order;
	uint32_t rate;
	uint64_t room, believed, reported, leases;
	int64_t error;
	uint64_t popped, expired_places, expired_leases, aside;
	struct {
		uint64_t head, waiting;
	} lanes[GATE_LANE_COUNT + 1]; /* by gate_lane */
	uint32_t news, beats, calls;
	struct gate_verdict_new new_said[GATE_WORDS_MAX]; /* of the NEW words, in their order */
	struct gate_verdict_beat beat_said[GATE_BEATS_MAX];
	struct gate_call call[GATE_CALLS_MAX];
};

struct gate;

/* config: borrowed. sessions: the index of a session's handle is below it. NULL: no memory. */
struct gate *gate_new(
	const struct sw_config *config, uint32_t sessions, const struct gate_ops *ops);
void gate_free(struct gate *gate);

/* 0; or -ENOSPC: as many wait here as may. */
int gate_wait(struct gate *gate, const struct gate_newcomer *newcomer, uint64_t now_ns);
/* It waits no more. away: it may come back, and its place is kept for the grace. Nothing happens
 * where it does not wait. */
void gate_leave(struct gate *gate, uint64_t session, bool away);
/* Its client could not get in where it was sent: it waits again, where it stood. Nothing happens
 * where it was not sent, or is back. */
void gate_back(struct gate *gate, uint64_t session);
/* A character has left the game: for the grace it is one that returns. */
void gate_left(struct gate *gate, uint32_t realm_id, uint64_t character_id);

/* Whether a turn is due: then *turn is it, until one of the next two is called. */
bool gate_turn_due(struct gate *gate, const struct gate_here *here, uint64_t now_ns,
	const struct gate_turn **turn);
void gate_turn_heard(struct gate *gate, const struct gate_answer *answer, uint64_t now_ns);
/* No answer came, or it could not be sent: it may have been carried out. */
void gate_turn_lost(struct gate *gate, uint64_t now_ns);

/* Tells those who wait. Every few milliseconds. */
void gate_tick(struct gate *gate, uint64_t now_ns);

/* What is known of the operators' word, as it was heard last. */
const struct gate_order *gate_order(const struct gate *gate);
/* As those who wait are told. */
enum gate_state gate_state(const struct gate *gate);
/* Places that this node has taken for lessees since the start: `admitted` of its heartbeat. */
uint64_t gate_admitted(const struct gate *gate);

/* Any thread: group "gate". */
const struct counter_set *gate_counters(const struct gate *gate);

#endif
