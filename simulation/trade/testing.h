/* testing.h: people with bags who trade, and a database that carries commits out as a whole, once a
 * request, when it is told to. Test programs only; one thread.
 *
 * A character is in the database always, and on the map while it has a place there (a player slot
 * of the table); its cache is read from the database when it comes. */
#ifndef SW_SIMULATION_TRADE_TESTING_H
#define SW_SIMULATION_TRADE_TESTING_H

#include "simulation/trade/trade.h"

#define TT_PEOPLE    16u
#define TT_COMMITS   64u
#define TT_IDLE      50u /* beats */
#define TT_REACH     100
#define TT_SWORD     6u  /* each has a serial */
#define TT_HEIRLOOM  7u  /* does not change hands */
#define TT_STACK_MAX 20u /* of all others */

struct tt_bag {
	struct trade_pile pile[COMMIT_BAG_SLOTS];
	uint32_t bound[COMMIT_BAG_SLOTS]; /* operations under way on the slot */
	int64_t gold, gold_bound;
};

struct tt_commit {
	uint64_t request[2];
	uint32_t place; /* of its trade */
	uint32_t character[2], epoch[2];
	struct commit_op op[TRADE_OPS_MAX];
	uint32_t ops;
	bool executed; /* the database keeps result under request */
	bool answer_lost;
	uint32_t result;
};

struct tt_person {
	bool here;
	bool away; /* cannot trade */
	int32_t x;
	uint32_t epoch;
	struct tt_bag stored; /* in the database */
	struct tt_bag cache;  /* on the map */
	/* what it was told last */
	uint32_t told, told_id, told_version, told_state;
	uint32_t ends, end;
};

struct tt {
	struct trade_table table;
	void *memory;
	struct tt_person people[TT_PEOPLE]; /* a character's player slot is its own number */
	struct tt_commit commits[TT_COMMITS];
	uint32_t commit_count;
	uint64_t requests;
	uint32_t beat;
	bool ring_full;
	uint32_t ends[TRADE_END_LAST + 16];
	struct trade_ops ops;
};

/* Everybody is at home; nobody has anything. */
void tt_start(struct tt *t);
void tt_end(struct tt *t);

void tt_give(
	struct tt *t, uint32_t who, uint32_t slot, uint32_t item, uint32_t count, uint64_t serial);
void tt_come(struct tt *t, uint32_t who);
void tt_leave(struct tt *t, uint32_t who);
void tt_tick(struct tt *t); /* one beat */

/* The database carries commit i out, unless it has: then the result that it kept stands. refuse: a
 * result to give instead, COMMIT_RESULT_OK to do what can be done. */
void tt_execute(struct tt *t, uint32_t i, uint32_t refuse);
/* The world thread answers commit i, and forgets it. */
void tt_answer(struct tt *t, uint32_t i);

bool tt_same(const struct tt_bag *a, const struct tt_bag *b); /* what is owned */
bool tt_bound(const struct tt_bag *bag);

#endif
