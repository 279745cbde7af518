/* counters: what chat counts, in one set: group "chat". The chat thread writes. */
#ifndef SW_CONTROL_CHAT_COUNTERS_H
#define SW_CONTROL_CHAT_COUNTERS_H

#include "common/chat.h"
#include "common/counter.h"

// clang-format off
/* X(id, name, kind, help) */
#define CHAT_COUNTERS(X)                                                                           \
	X(PLAYERS, "players", COUNTER_GAUGE, "players of this node that chat knows")               \
	X(CHANNELS, "channels", COUNTER_GAUGE, "channels with members on this node")               \
	X(OWNED, "channels_owned", COUNTER_GAUGE, "channels that this node is the owner of")       \
	X(OWNED_SLOTS, "slots_owned", COUNTER_GAUGE, "slots of channels that this node holds the lease of") \
	X(MEMBERS_MOST, "members_largest", COUNTER_GAUGE, "members on this node of its largest channel") \
	X(QUEUED, "queued_lines", COUNTER_GAUGE, "lines that wait for their turn in channels owned here") \
	X(FANOUTS, "fanouts", COUNTER_GAUGE, "lines that are being handed to the dataplane")       \
	X(LINES_FREE, "lines_free", COUNTER_GAUGE, "places for lines (chat.lines_max) that are free") \
	X(SENDS, "sends", COUNTER_SUM, "lines and whispers that players sent")                     \
	X(PUBLISHED, "published", COUNTER_SUM, "lines that got a number, in channels owned here")   \
	X(FANNED_OUT, "fanned_out", COUNTER_SUM, "lines that were handed to the dataplane")        \
	X(RECIPIENTS, "recipients", COUNTER_SUM, "copies of lines asked of the dataplane")         \
	X(BYTES, "recipient_bytes", COUNTER_SUM, "... and their bytes")                            \
	X(WHISPERS, "whispers", COUNTER_SUM, "whispers given to a player of this node")            \
	X(WHISPERS_LOCAL, "whispers_found_here", COUNTER_SUM, "whispers whose target was on the sender's node") \
	X(LOOKUPS_FOUND, "lookups_found", COUNTER_SUM, "whispers whose target Redis, or the cache, knew") \
	X(LOOKUPS_OFFLINE, "lookups_offline", COUNTER_SUM, "... and knew not")                     \
	X(LOOKUPS_FAILED, "lookups_failed", COUNTER_SUM, "... because Redis did not answer, or too many were asked for") \
	X(STALE, "stale_sessions", COUNTER_SUM, "whispers and answers for a session that has ended, or an older one") \
	X(DROPPED_QUEUE, "dropped_queue", COUNTER_SUM, "lines dropped as the oldest of a full queue") \
	X(DROPPED_AGE, "dropped_age", COUNTER_SUM, "lines dropped because they waited for too long") \
	X(DROPPED_FANOUT, "dropped_fanout", COUNTER_SUM, "lines that some members did not get: a dataplane lcore takes no more") \
	X(SLOW, "slow_modes", COUNTER_SUM, "times that a channel became slow by itself")           \
	X(FENCED, "fenced", COUNTER_SUM, "lines of an owner that is none any more, by their token") \
	X(LEASE_OVER, "lease_over", COUNTER_SUM, "lines not published because the lease had run out") \
	X(MOVED, "moved", COUNTER_SUM, "lines that came to a node that is not their channel's owner") \
	X(EVENTS, "events", COUNTER_SUM, "messages about players from control")                    \
	X(EVENTS_OLD, "events_old", COUNTER_SUM, "... that were a repeat or overtaken")            \
	X(EVENTS_BAD, "events_bad", COUNTER_SUM, "... that could not be read")                     \
	X(STRANGERS, "strangers", COUNTER_SUM, "packets of peers that chat does not know (yet, or any more)") \
	X(NO_MEMBERSHIP, "memberships_full", COUNTER_SUM, "players that could not be in one more channel") \
	X(NO_CHANNEL, "channels_full", COUNTER_SUM, "channels that found no place (chat.channels_max)") \
	X(SENT_LOST, "sent_lost", COUNTER_SUM, "answers and whispers whose dataplane lcore takes nothing") \
	X(WORDS_BAD, "node_messages_bad", COUNTER_SUM, "messages of other nodes that could not be read") \
	X(WORDS_SENT, "node_messages_sent", COUNTER_SUM, "messages to other nodes")                \
	X(WORDS_RECEIVED, "node_messages_received", COUNTER_SUM, "messages of other nodes")        \
	X(WORDS_LOST, "node_messages_lost", COUNTER_SUM, "messages to other nodes that Redis did not take") \
	X(LOG_WAITING, "log_waiting", COUNTER_GAUGE, "rows of the log that wait for PostgreSQL")   \
	X(LOG_WRITTEN, "log_written", COUNTER_SUM, "rows of the log in PostgreSQL")                \
	X(LOG_LOST, "log_lost", COUNTER_SUM, "rows of the log that found the queue full (chat.log_pending_max)") \
	X(ANNOUNCED, "announced", COUNTER_SUM, "announcements given to this node's players")       \
	X(REPORTS, "reports", COUNTER_SUM, "lines that players reported")                          \
	X(WORDS_LISTED, "filter_words", COUNTER_GAUGE, "words of the filter (chat.words)")
// clang-format on

#define CHAT_COUNTER_ENUM(id, name, kind, help)        CHAT_C_##id,
#define CHAT_REFUSAL_COUNTER(id, value, name, meaning) CHAT_C_REFUSED_##id,
enum chat_counter {
	CHAT_COUNTERS(CHAT_COUNTER_ENUM) CHAT_REFUSALS(CHAT_REFUSAL_COUNTER) CHAT_COUNTER_COUNT
};

/* The counter of a refusal that is not NONE. */
#define CHAT_C_REFUSED(reason) (CHAT_C_REFUSED_MALFORMED + (reason)-1)

static inline void chat_count(_Atomic uint64_t *counters, uint32_t counter, uint64_t n)
{
	counter_add(&counters[counter], n);
}

#endif
