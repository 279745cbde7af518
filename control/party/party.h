/* party: the control thread's side of parties. Their authority is Redis: every change is one call
 * of lua/redis/party_step.lua, whoever of the realm's nodes asks for it. This module sends what
 * players ask and what presence says, reads what happened (a stream that all nodes read, so that
 * members on other nodes hear of it), tells the shards whose players it concerns, has each changed
 * party written down by the world thread, and fills a Redis that was emptied from there again.
 *
 * A Redis that lost its last changes (a replica took over, its last second was not on disk) is
 * noticed by its version, which then goes on above what was read: what it knows is the truth again.
 *
 * Nothing is missed unseen: versions are dense, so a gap in the stream (it is kept to 8,192 events)
 * is known for one, and after it, as after a new connection, every shard is told to ask for each of
 * its players anew (MSG_PARTY_RESYNC). While Redis is away, or is being filled, what players ask is
 * answered with UNAVAILABLE; parties as the shards know them go on meanwhile.
 *
 * Thread: the control loop. Time is an argument. */
#ifndef SW_CONTROL_PARTY_PARTY_H
#define SW_CONTROL_PARTY_PARTY_H

#include <stdbool.h>
#include <stdint.h>

#include "common/config.h"
#include "common/counter.h"
#include "common/party.h"

/* How often the stream is read. */
#define PARTY_READ_MS 100u
/* Who was not said to be here for so long is away: its node has died. As of presence. */
#define PARTY_LEASE_MS 90000u
/* So long a repeated request gets the first one's answer. */
#define PARTY_REPEAT_MS 120000u
/* Questions to Redis under way at once; more requests are answered with UNAVAILABLE. */
#define PARTY_CALLS_MAX 4096u
/* Characters whose presence is said in one call. */
#define PARTY_BATCH 64u
/* An emptied Redis that could not be filled is tried again after this time. */
#define PARTY_RESTORE_RETRY_MS 2000u
/* Longest wait for PostgreSQL's next row. */
#define PARTY_RESTORE_WAIT_MS 15000u

/* X(id, name, kind, help) */
// clang-format off
#define PARTY_COUNTERS(X)                                                                          \
	X(ATTACHED, "attached", COUNTER_GAUGE, "1 while the events of the realm's parties are read") \
	X(VERSION, "version", COUNTER_GAUGE, "the newest version of any party that was read")      \
	X(CALLS, "calls", COUNTER_GAUGE, "questions to Redis under way")                           \
	X(REQUESTS, "requests", COUNTER_SUM, "changes of parties that players asked for")          \
	X(ARRIVALS, "arrivals", COUNTER_SUM, "parties asked for, of players that came to a map")   \
	X(EVENTS, "events", COUNTER_SUM, "events of the realm that were read")                     \
	X(TOLD, "states_told", COUNTER_SUM, "states of parties that shards were told")             \
	X(INVITES, "invites_told", COUNTER_SUM, "invitations, and ends of such, that shards were told") \
	X(GAPS, "gaps", COUNTER_SUM, "times events were missed, and every player's party asked for anew") \
	X(LOST, "lost", COUNTER_SUM, "times Redis came back without changes that had been read (a replica took over?)") \
	X(RESYNCS, "resyncs", COUNTER_SUM, "times the shards were told to ask for every player's party") \
	X(SAVES, "saves", COUNTER_SUM, "changed parties handed to the world thread")               \
	X(RESTORES, "restores", COUNTER_SUM, "times an emptied Redis was filled")                  \
	X(RESTORES_FAILED, "restores_failed", COUNTER_SUM, "times that did not succeed; it is tried again") \
	X(RESTORED, "restored", COUNTER_SUM, "parties put back into Redis")                        \
	X(STALE, "stale_messages", COUNTER_SUM, "messages about players that are elsewhere or gone: normal") \
	X(MALFORMED, "malformed", COUNTER_SUM, "messages, replies and events that cannot be; our bug, or a foreign hand in Redis") \
	X(ERRORS, "errors", COUNTER_SUM, "calls that Redis answered with an error")
// clang-format on

#define PARTY_COUNTER_ENUM(id, name, kind, help)    PARTY_C_##id,
#define PARTY_ANSWER_ENUM(id, value, name, meaning) PARTY_C_ANSWER_##id,
enum party_counter {
	PARTY_COUNTERS(PARTY_COUNTER_ENUM) PARTY_RESULTS(PARTY_ANSWER_ENUM) PARTY_COUNTER_COUNT
};

/* Where a character plays on this node. */
struct party_seat {
	uint64_t session, peer;
	uint64_t generation; /* the character's writer epoch: greater is newer, on any node */
	uint32_t shard;
	char name[CHARACTER_NAME_BYTES];
};

/* What a look at a party found. X(id, sentence) */
#define PARTY_LOOKS(X)                                                                             \
	X(FOUND, "")                                                                               \
	X(NONE, "there is no such party, and no such character is in one")                         \
	X(UNAVAILABLE, "it cannot be said now: Redis is away, or is being filled with the "        \
		       "parties")
#define PARTY_LOOK_ENUM(id, sentence) PARTY_LOOK_##id,
enum party_look { PARTY_LOOKS(PARTY_LOOK_ENUM) PARTY_LOOK_COUNT };
const char *party_look_text(enum party_look look);

/* A party as Redis keeps it; texts are good UTF-8 without control characters. */
struct party_view {
	uint64_t party_id, version, leader_id;
	uint32_t member_count;
	struct party_view_member {
		uint64_t character_id;
		uint64_t seen_ms, away_ms; /* ago; away_ms 0: it is here */
		char name[CHARACTER_NAME_BYTES];
		char map[MAP_NAME_BYTES]; /* "": not known */
	} members[PARTY_MEMBERS_MAX];     /* who joined first first */
};

struct party_ops {
	void *ctx;
	/* The message is copied; the other side gets it even if its ring is full now. */
	void (*to_shard)(void *ctx, uint32_t shard, const struct msg *message);
	void (*to_world)(void *ctx, const struct msg *message);
	bool (*find)(void *ctx, uint64_t character_id, struct party_seat *out);
	/* The answer to party_look; view is NULL unless something was found. */
	void (*looked)(
		void *ctx, uint64_t request, enum party_look look, const struct party_view *view);
};

struct redis_link;
struct party;

/* config and link are borrowed; free it after the link, whose callbacks may come until then.
 * shards: how many there are. NULL: memory is short. */
struct party *party_new(const struct sw_config *config, struct redis_link *link, uint32_t shards,
	const struct party_ops *ops);
void party_free(struct party *party);

/* MSG_PARTY_REQUEST; MSG_PARTY_RESTORED. */
void party_from_shard(
	struct party *party, uint32_t shard, const struct msg *message, uint64_t now_ns);
void party_from_world(struct party *party, const struct msg *message, uint64_t now_ns);

/* A character is in the game on this node (when it comes, and again at least each
 * PARTY_LEASE_MS / 2); is not any more. Sent with the next tick. */
void party_here(struct party *party, uint64_t character_id);
void party_away(struct party *party, uint64_t character_id, uint64_t generation);

/* Asks Redis for a party: who is its number, or that or the name of a member. Changes nothing.
 * ops.looked comes with the request, once, perhaps before this returns. */
void party_look(struct party *party, const char *who, uint64_t request, uint64_t now_ns);

/* The link has come up, has broken. */
void party_link_up(struct party *party, uint64_t now_ns);
void party_link_down(struct party *party);

/* Every few milliseconds. */
void party_tick(struct party *party, uint64_t now_ns);

/* Any thread while it lives: group "party". */
const struct counter_set *party_counters(const struct party *party);

#endif
