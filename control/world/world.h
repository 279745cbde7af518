/* world: the world thread. It alone talks to PostgreSQL: it loads characters for control, answers
 * what shards need of them, and saves their positions.
 *
 * One thread, one libuv loop, and connections (links) in pipeline mode: `requests` for loads and
 * details, `saves` for batches of positions, because a login must not wait behind a batch that
 * waits for the disk; `commits`, postgres.commit_links of them, for a batch of commits at a time
 * each. No more, because one link carries many requests at once: a node costs the database that
 * many sessions, however many players it has.
 *
 * What it takes and answers (common/msg.h has the payloads):
 *
 *   MSG_CHARACTER_LOAD  from control. One round trip, one transaction: the character is created if
 *       it is new (name: text.h has the rule), its account is checked, its epoch is raised under
 * the row lock (unless it is above epoch_max, if there is one: MSG_LOAD_NEWER), its position is
 * read. While a save or commit of the character waits or is under way the load waits for it.
 * Answered with MSG_CHARACTER_LOADED within postgres.statement_timeout: MSG_LOAD_UNAVAILABLE when
 * PostgreSQL is away, too slow, or saves cannot be taken. An UNAVAILABLE load may still have raised
 * the epoch, and one that was sent twice may find its own raise NEWER: the client tries again (with
 * a ticket), and nobody holds the epoch that was skipped. MSG_DETAIL_QUERY    from a shard.
 * Answered with MSG_DETAIL_RESULT to that shard, in the same time, with what the character owns
 * once every commit of it that was taken before is settled; WRONG_ACCOUNT there means that there is
 * no such character. MSG_POSITION_SAVE   from a shard. No answer. The newest of a character waits
 * (save_table.h) and is written, in batches, under the lock of the character's row; a save of an
 * older epoch is refused and counted. Kept through any loss of the connection until PostgreSQL has
 * answered. While postgres.saves_pending_max characters wait, autosaves of others are dropped and
 *       counted; leaving saves are still taken for a while, and then the shards' rings are left
 *       standing (and loads are UNAVAILABLE): a full ring tells the shard to keep its save.
 *   MSG_COMMIT          from a shard (common/commit.h). Answered with MSG_COMMIT_RESULT exactly
 * once. Commits of a character are carried out in the order in which they came (commit_table.h), in
 * batches, several of them under way; each succeeds or is refused alone (migrations/0002 and 0004
 * have the statements). UNAVAILABLE at once when the shard's share of postgres.commits_pending_max
 * is taken or when PostgreSQL is away, EXPIRED when one has waited its time without having been
 * sent; one whose outcome is unknown is sent again until PostgreSQL has answered. MSG_WORLD_FLUSH
 * from control. Answered with MSG_WORLD_FLUSHED once everything taken before is committed (a
 * commit: settled), or at node.stop_deadline with the number that is not. MSG_AUDIT           from
 * control. No answer. On the disk (journal.h, ops.journal) when it has been taken, and from there
 * into ops_audit_log, once, also after a crash or an outage. MSG_WRITES_QUERY    from control.
 * Answered at once with what of a character is not in PostgreSQL.
 *   MSG_CORRECTION      from control (common/correction.h). Answered with MSG_CORRECTION_RESULT, once,
 *       when PostgreSQL has answered; UNAVAILABLE at once when it is away, UNKNOWN when the connection is
 *       lost meanwhile.
 *   MSG_PARTY_SAVE      from control (common/party.h). No answer. Written behind, in batches; of a
 *       party the greatest version stays, so it may be written twice and by two nodes.
 *   MSG_PARTY_RESTORE   from control. Answered with MSG_PARTY_RESTORED, when what waited is
 * written.
 *
 * Order between rings. A shard pushes a leaving save before it tells control that the player left,
 * and control pushes the next load after that. So each round takes control's messages out first,
 * then everything from the shards, and handles control's last: a load never overtakes its save or
 * commit. Detail queries are handled when all shards' rings have been read, for the same reason.
 *
 * An answer that finds its ring full waits in memory that its request already holds; a ring is read
 * only while such memory is left. So nothing is lost, and what waits is bounded.
 *
 * PostgreSQL away: each link comes back by itself for ever (pg_link.h). A batch whose outcome is
 * unknown is sent again. That is safe: the same epoch and the same save number write the same row,
 * and a newer save that was written meanwhile has a higher number, which the statement compares
 * under the lock; so the dying connection may deliver the old batch at any later time. A commit
 * that was carried out has a record, and whatever comes later under its request has no effect. */
#ifndef SW_CONTROL_WORLD_WORLD_H
#define SW_CONTROL_WORLD_WORLD_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>
#include <stdio.h>

#include "common/config.h"
#include "common/counter.h"
#include "common/msg_ring.h"

// clang-format off
#define WORLD_COUNTERS(X)                                                                          \
	X(LOADS, "loads", COUNTER_SUM, "character loads asked for")                                \
	X(LOADS_OK, "loads_ok", COUNTER_SUM, "character loads that succeeded")                     \
	X(LOADS_WRONG_ACCOUNT, "loads_wrong_account", COUNTER_SUM, "loads refused: the character belongs to another account") \
	X(LOADS_NEWER, "loads_newer", COUNTER_SUM, "loads refused: the character has logged in since the epoch that was named") \
	X(LOADS_UNAVAILABLE, "loads_unavailable", COUNTER_SUM, "loads refused: PostgreSQL away or slow, or too many saves waiting") \
	X(CHARACTERS_CREATED, "characters_created", COUNTER_SUM, "characters at their first login") \
	X(NAMES_CHANGED, "names_changed", COUNTER_SUM, "new characters whose name was taken or not usable, and got a suffix") \
	X(DETAILS, "details", COUNTER_SUM, "detail queries asked for")                             \
	X(DETAILS_UNAVAILABLE, "details_unavailable", COUNTER_SUM, "detail queries refused: PostgreSQL away or slow") \
	X(DETAILS_UNKNOWN, "details_unknown", COUNTER_SUM, "detail queries for a character that does not exist") \
	X(SETTLES, "settles", COUNTER_SUM, "characters that left and are let go once all of theirs is in PostgreSQL") \
	X(SETTLES_LATE, "settles_late", COUNTER_SUM, "of those, for whom that was not so in good time") \
	X(SAVES_TAKEN, "saves_taken", COUNTER_SUM, "position saves taken from the shards")         \
	X(SAVES_COALESCED, "saves_coalesced", COUNTER_SUM, "saves replaced by a newer one before they were written") \
	X(SAVES_OUTDATED, "saves_outdated", COUNTER_SUM, "saves not kept: a newer one, or the leaving one, was waiting") \
	X(SAVES_INVALID, "saves_invalid", COUNTER_SUM, "saves refused: impossible map name or realm; our bug") \
	X(SAVES_DROPPED, "saves_dropped", COUNTER_SUM, "autosaves dropped: postgres.saves_pending_max characters wait") \
	X(SAVES_COMMITTED, "saves_committed", COUNTER_SUM, "saves written")                        \
	X(SAVES_REFUSED, "saves_refused", COUNTER_SUM, "saves refused by PostgreSQL: stale epoch (another login took over) or no such character") \
	X(BATCHES, "save_batches", COUNTER_SUM, "transactions of saves committed")                 \
	X(BATCHES_FAILED, "save_batches_failed", COUNTER_SUM, "transactions of saves that failed and are tried again") \
	X(BATCHES_UNKNOWN, "save_batches_unknown", COUNTER_SUM, "transactions of saves sent again because the connection was lost") \
	X(COMMITS_TAKEN, "commits_taken", COUNTER_SUM, "commits taken from the shards")            \
	X(COMMITS_OK, "commits_ok", COUNTER_SUM, "commits done")                                   \
	X(COMMITS_UNAVAILABLE, "commits_unavailable", COUNTER_SUM, "commits refused: PostgreSQL away, or postgres.commits_pending_max wait") \
	X(COMMITS_EXPIRED, "commits_expired", COUNTER_SUM, "commits refused: they could not be begun in their time") \
	X(COMMITS_STALE, "commits_stale", COUNTER_SUM, "commits refused: another login has taken the character over") \
	X(COMMITS_NO_CHARACTER, "commits_no_character", COUNTER_SUM, "commits refused: no such character") \
	X(COMMITS_NOT_ENOUGH, "commits_not_enough", COUNTER_SUM, "commits refused: not enough gold or items") \
	X(COMMITS_SLOT_TAKEN, "commits_slot_taken", COUNTER_SUM, "commits refused: the slot holds something else") \
	X(COMMITS_QUEST_STATE, "commits_quest_state", COUNTER_SUM, "commits refused: the quest stands elsewhere") \
	X(COMMITS_TOO_MUCH, "commits_too_much", COUNTER_SUM, "commits refused: a balance or count would leave its range") \
	X(COMMITS_INVALID, "commits_invalid", COUNTER_SUM, "commits refused: they cannot be read; our bug") \
	X(COMMITS_DUPLICATE, "commits_duplicate", COUNTER_SUM, "commits refused: the serial or the match result exists already") \
	X(COMMITS_NO_PLACE, "commits_no_place", COUNTER_SUM, "those of the unavailable for which no place was left to their shard") \
	X(COMMITS_REPEATED, "commits_repeated", COUNTER_SUM, "commits that came again and got the first result") \
	X(COMMIT_BATCHES, "commit_batches", COUNTER_SUM, "transactions of commits done")           \
	X(COMMIT_SETS, "commit_sets", COUNTER_SUM, "those of them that were sent as a set or as slots: simple commits of many characters") \
	X(COMMIT_BATCHES_FAILED, "commit_batches_failed", COUNTER_SUM, "transactions of commits that failed and are tried again") \
	X(COMMIT_BATCHES_UNKNOWN, "commit_batches_unknown", COUNTER_SUM, "transactions of commits sent again because the connection was lost") \
	X(AUDITS_TAKEN, "audits_taken", COUNTER_SUM, "records of what operators did, taken")       \
	X(AUDITS_WRITTEN, "audits_written", COUNTER_SUM, "... of them, and of those found in ops.journal, written into ops_audit_log") \
	X(AUDITS_LOST, "audits_lost", COUNTER_SUM, "... of them neither in ops.journal nor in PostgreSQL; the log has them") \
	X(RECORDS_PRUNED, "commit_records_pruned", COUNTER_SUM, "records of finished commits taken away: no repeat of them can have an effect any more") \
	X(LEDGER_PRUNED, "ledger_rows_pruned", COUNTER_SUM, "rows of the ledger summed up and taken away: older than postgres.ledger_days") \
	X(CORRECTIONS_OK, "corrections_ok", COUNTER_SUM, "what operators gave, took or reversed")  \
	X(CORRECTIONS_REFUSED, "corrections_refused", COUNTER_SUM, "what operators wanted to and could not, or of which it is not known") \
	X(PARTIES_TAKEN, "parties_taken", COUNTER_SUM, "changed parties taken from control, to be written down") \
	X(PARTIES_SAVED, "parties_saved", COUNTER_SUM, "changed parties written down")             \
	X(PARTIES_DROPPED, "parties_dropped", COUNTER_SUM, "changed parties not written down: 8,192 wait, or no memory") \
	X(PARTIES_INVALID, "parties_invalid", COUNTER_SUM, "changed parties refused: they cannot be read, or PostgreSQL does not take them; our bug") \
	X(LINKS_LOST, "links_lost", COUNTER_SUM, "connections to PostgreSQL lost, and attempts that failed") \
	X(ANSWERS_DELAYED, "answers_delayed", COUNTER_SUM, "answers that waited because the ring to their receiver was full") \
	X(ROUNDS_STALLED, "rounds_stalled", COUNTER_SUM, "rounds in which a ring was left standing: too many answers or saves wait") \
	X(MESSAGES_UNKNOWN, "messages_unknown", COUNTER_SUM, "messages of a type or size that does not belong here; our bug") \
	X(SAVES_PENDING, "saves_pending", COUNTER_GAUGE, "characters whose save is not committed")  \
	X(PARTIES_PENDING, "parties_pending", COUNTER_GAUGE, "changed parties that are not written down") \
	X(COMMITS_PENDING, "commits_pending", COUNTER_GAUGE, "commits without a result")           \
	X(AUDITS_WAITING, "audits_waiting", COUNTER_GAUGE, "records in ops.journal that are not in PostgreSQL") \
	X(LINKS_READY, "links_ready", COUNTER_GAUGE, "connections to PostgreSQL that are ready, of 2 and postgres.commit_links")
// clang-format on

enum world_counter {
#define WORLD_COUNTER_ENUM(name, text, kind, help) WORLD_##name,
	WORLD_COUNTERS(WORLD_COUNTER_ENUM)
#undef WORLD_COUNTER_ENUM
		WORLD_COUNTER_COUNT
};

/* Who is at the other ends. The rings belong to the caller and outlive the world. */
struct world_links {
	struct msg_ring *from_control, *to_control;
	uint32_t shards;
	struct msg_ring *from_shard[CONFIG_LCORES_MAX], *to_shard[CONFIG_LCORES_MAX];
};

struct world;

/* Set-up thread; waits. Connects, checks the server (version, encoding, writable, share of
 * max_connections), runs the migrations, starts the thread, and returns once all links are ready.
 * NULL, with what is wrong, where, and the likely cause in errors, when any of this fails; nothing
 * is left running then. config outlives the world. */
struct world *world_start(
	const struct sw_config *config, const struct world_links *links, FILE *errors);

/* Set-up thread, once control has had its MSG_WORLD_FLUSHED: ends the loop, joins the thread and
 * frees all. Returns how many characters' saves were not committed, and commits not settled (0 is
 * what we want). */
uint32_t world_stop(struct world *world);

/* Group "world". Valid until world_stop. */
const struct counter_set *world_counters(const struct world *world);

/* Times of a round trip to PostgreSQL: refs[0] loads, refs[1] save batches, refs[2] commit
 * batches. */
#define WORLD_HISTOGRAMS 3u
void world_histograms(const struct world *world, struct histogram_ref refs[WORLD_HISTOGRAMS]);

/* Any thread. True when all links are ready, and saves and commits can be taken; else text says
 * what is wrong and for how long. Always writes a line for people, NUL-terminated. */
bool world_health(const struct world *world, char *text, size_t text_bytes);

#endif
