/* save_table: the position saves that wait for PostgreSQL, one entry per character, newest wins.
 *
 * Pure: no clock, no libpq, no libuv; the world thread is its only user. Bounded: all memory is
 * taken by save_table_new. An entry holds at most two saves of a character: one in flight (in the
 * batch that was sent) and a newer one that waits. At most one batch is in flight; until its
 * outcome is known its entries keep their place, so that putting it back always fits.
 *
 * What wins, for one character: the higher epoch; within an epoch the later stay (saves of two
 * stays may come from two shards, in either order); within a stay a leaving save over one that is
 * not; then the one that came later. The loser is never written. */
#ifndef SW_CONTROL_WORLD_SAVE_TABLE_H
#define SW_CONTROL_WORLD_SAVE_TABLE_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

#include "common/msg.h"

struct save_table;

struct save {
	struct msg_position_save position;
	uint64_t sequence; /* of the table, rising: later put, higher number */
};

enum save_put {
	SAVE_PUT_NEW,       /* the character had nothing waiting */
	SAVE_PUT_COALESCED, /* replaced an older waiting save */
	SAVE_PUT_OUTDATED,  /* a newer one, or the leaving one, is here already: nothing to do */
	SAVE_PUT_FULL       /* no entry left; nothing was changed */
};

/* capacity: characters, at least 1; batch_max: saves of one batch, at least 1. NULL: no memory. */
struct save_table *save_table_new(uint32_t capacity, uint32_t batch_max);
void save_table_free(struct save_table *table);
size_t save_table_bytes(uint32_t capacity, uint32_t batch_max);

/* Takes a copy. now_ns is kept as the time since when the character waits. */
enum save_put save_table_put(
	struct save_table *table, const struct msg_position_save *save, uint64_t now_ns);

/* Moves up to max (and batch_max) of the longest waiting saves, all of one realm, into the batch in
 * flight. Only when no batch is in flight. Returns how many; *saves points at them, ordered by
 * character id (as a signed number: PostgreSQL's order), valid until the batch is settled. A
 * character appears once. */
uint32_t save_table_take(struct save_table *table, uint32_t max, const struct save **saves);

/* Settle the batch in flight: done for good (committed or refused by PostgreSQL) ... */
void save_table_settle(struct save_table *table);
/* ... or not done, or not known to be done: its saves wait again, except where a newer one waits
 * already. first: before all others (the connection was lost), else behind them (the batch itself
 * failed, so others go first). */
void save_table_put_back(struct save_table *table, bool first);

/* True while a save of the character waits or is in flight. */
bool save_table_has(const struct save_table *table, uint32_t realm_id, uint64_t character_id);
/* Lets the character's waiting save go into the next batch. Nothing happens if it has none. */
void save_table_promote(struct save_table *table, uint32_t realm_id, uint64_t character_id);

uint32_t save_table_used(const struct save_table *table);      /* characters with any save */
uint32_t save_table_waiting(const struct save_table *table);   /* characters with a waiting one */
uint32_t save_table_in_flight(const struct save_table *table); /* saves of the batch */
uint64_t save_table_sequence(const struct save_table *table);  /* of the last put; 0: none yet */
/* now_ns of the save that waits at the front; UINT64_MAX when nothing waits. */
uint64_t save_table_front_ns(const struct save_table *table);

/* Characters with something put at or before sequence that is not settled yet, counting a save that
 * a later one replaced while it waited: the later one has to be settled for it. Walks the table. */
uint32_t save_table_unsettled(const struct save_table *table, uint64_t sequence);

/* Copies the newest save of each character that save_table_unsettled counts, up to max of them.
 * Returns how many it copied. */
uint32_t save_table_unsettled_list(
	const struct save_table *table, uint64_t sequence, struct save *saves, uint32_t max);

#endif
