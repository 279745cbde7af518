// clang-format off
/* trade: two players of one map exchange items and gold, at once or not at all (R12).
 *
 * Pure: no clock, no ring, no allocation. Time is the map's beat; what players own, where they
 * stand and what they are told is the caller's (struct trade_ops). One thread.
 *
 *   asked      one asked the other. Asking each other is accepting; the one who was asked may cancel
 *              (DECLINED), ask somebody else (declines, too), or be asked by others meanwhile: they
 *              are refused. Nobody is in two trades.
 *   open       each offers piles of its bag (slot and count) and gold, and takes them back. Each
 *              change raises the version and clears both confirmations. Confirming names the version
 *              that one saw, so that nobody agrees to what was changed under his hand.
 *   under way  both have confirmed: one commit of both characters (common/commit.h) was handed to the
 *              world thread. The offers are frozen, and bound in both bags (ops->bind). Nothing ends
 *              this but the answer: DONE, or nothing was changed. Who leaves meanwhile finds at the
 *              next login what the database holds.
 *
 * All before "under way" ends when one of the two leaves, dies, goes too far away, does nothing for
 * too long (unless it has confirmed and waits), or calls it off. Then nothing has changed hands,
 * and after a crash neither: an open trade is in this memory alone, and a commit happens as a
 * whole.
 *
 * Offers promise nothing: what was offered may be used up or dropped, and then the trade ends as
 * CHANGED when it would be carried out. The receiver's slots are chosen here, from the lowest: a
 * stack of the same item that has room for the whole pile, else an empty slot; a pile is not split.
 * What one gives makes room for what one gets.
 *
 * Answers to players are held back to trade_step: however fast one of them changes its offer, the
 * other is told of it once a tick. */
// clang-format on
#ifndef SW_SIMULATION_TRADE_TRADE_H
#define SW_SIMULATION_TRADE_TRADE_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

#include "common/commit.h"
#include "simulation/trade/lists.h"

#define TRADE_PILES_MAX 12u /* in one offer */
#define TRADE_NONE      UINT32_MAX
#define TRADE_NOBODY    UINT32_MAX
/* Each pile is taken from one slot and put into one, and gold goes both ways. */
#define TRADE_OPS_MAX (2 * 2 * TRADE_PILES_MAX + 4)
_Static_assert(TRADE_OPS_MAX <= COMMIT_OPS_MAX, "a trade is one commit");

enum trade_state { TRADE_FREE, TRADE_ASKED, TRADE_OPEN, TRADE_UNDER_WAY };

/* Values of TradeOfferKind of proto/client.proto. */
enum trade_offer { TRADE_OFFER_ITEM, TRADE_OFFER_TAKE_BACK, TRADE_OFFER_GOLD, TRADE_OFFER_KINDS };

/* What lies in a slot of a bag. count 0: it is empty. */
struct trade_pile {
	uint32_t item;
	uint32_t count;
	uint64_t serial; /* 0: it stacks */
};

struct trade_offered {
	struct trade_pile pile; /* count of it that is offered */
	uint16_t slot;
	uint16_t to; /* the receiver's, once under way */
	uint32_t pad;
};
_Static_assert(sizeof(struct trade_offered) == 24, "P/2 trades hold 24 of these");

struct trade_side {
	uint32_t player; /* its slot on the map; TRADE_NOBODY: it has left */
	uint32_t beat;   /* when it last did something here */
	int64_t gold;
	uint8_t piles;
	bool confirmed;
	bool told;    /* it has been told of this trade */
	bool stale;   /* ... but not of what it is now */
	uint32_t tag; /* the caller's: bind may note something for settle */
	struct trade_offered offered[TRADE_PILES_MAX];
};

struct trade {
	uint32_t id; /* never 0; what clients call it. Another one's after 2^32 trades of a map */
	uint32_t version;
	uint32_t at; /* in the table's list of those that are not free */
	uint8_t state;
	bool answered; /* the answer has come */
	uint16_t pad;
	struct trade_side side[2]; /* [0] asked first */
	uint64_t request[2];       /* of the commit */
	struct msg_commit_result answer;
};

struct trade_table {
	uint32_t players_max, trades_max; /* one trade for each two players: it cannot be full */
	uint32_t last_id;
	uint32_t count;       /* not free */
	uint32_t told;        /* calls of tell and tell_end, for who counts costs */
	uint32_t idle_beats;  /* so long a side may do nothing */
	uint32_t *active;     /* [trades_max], the first count of them: which; then those free */
	uint32_t *of;         /* [players_max]: the player's trade, TRADE_NONE */
	struct trade *trades; /* [trades_max] */
};

enum trade_nearness { TRADE_NEAR, TRADE_FAR, TRADE_GONE };

/* What the table needs of the map. None may call back into the table. */
struct trade_ops {
	void *ctx;
	/* What of a slot of the bag (0..COMMIT_BAG_SLOTS-1) is free to give away. Returns false
	 * where the slot is bound: something of it is taken or put by a change under way. */
	bool (*pile)(void *ctx, uint32_t player, uint32_t slot, struct trade_pile *pile);
	/* Gold that is free to give away. */
	int64_t (*gold)(void *ctx, uint32_t player);
	/* Most in one slot; 0: the item does not change hands. */
	uint32_t (*stack_max)(void *ctx, uint32_t item);
	/* Whether the two may trade: FAR beyond the reach, which is wider once they trade (open);
	 * GONE: one of the two cannot, now. */
	enum trade_nearness (*near)(void *ctx, uint32_t a, uint32_t b, bool open);
	/* Hands one commit of both characters to the world thread, and binds in both bags what the
	 * operations take and put; fills trade->request. False: there is no room now, nothing was
	 * bound. */
	bool (*bind)(void *ctx, struct trade *trade, const struct commit_op *ops, uint32_t count);
	/* The answer (trade->answer) has come: unbinds in the bag of side `who`, and for
	 * COMMIT_RESULT_OK applies, what of the operations is its. Not called for one who has left.
	 */
	void (*settle)(void *ctx, const struct trade *trade, uint32_t who,
		const struct commit_op *ops, uint32_t count);
	/* side `who` of the trade is to be told how it stands, and how it ended. */
	void (*tell)(void *ctx, const struct trade *trade, uint32_t who);
	void (*tell_end)(void *ctx, const struct trade *trade, uint32_t who, enum trade_end end);
	/* Once a trade. */
	void (*ended)(void *ctx, enum trade_end end);
};

/* Set-up. The memory of a table, and a table laid over memory of that size, aligned to 8. */
size_t trade_table_bytes(uint32_t players_max);
void trade_table_init(
	struct trade_table *table, void *memory, uint32_t players_max, uint32_t idle_beats);

/* Messages of a player; each is taken (TRADE_TAKEN) or refused without any effect. The caller has
 * seen to it that player may trade, and that other is a player on the map whom it sees. */
enum trade_refusal trade_ask(struct trade_table *table, const struct trade_ops *ops,
	uint32_t player, uint32_t other, uint32_t beat);
enum trade_refusal trade_offer(struct trade_table *table, const struct trade_ops *ops,
	uint32_t player, uint32_t id, uint32_t kind, uint32_t slot, int64_t amount, uint32_t beat);
enum trade_refusal trade_confirm(struct trade_table *table, const struct trade_ops *ops,
	uint32_t player, uint32_t id, uint32_t version, uint32_t beat);
enum trade_refusal trade_cancel(
	struct trade_table *table, const struct trade_ops *ops, uint32_t player, uint32_t id);

/* The player is being taken off the map: its slot is somebody else's afterwards. */
void trade_left(struct trade_table *table, const struct trade_ops *ops, uint32_t player);

/* A commit's answer, for the trade at that place in the table (trade_place); takes effect with the
 * next trade_step. False: no trade there waits for it. */
bool trade_answer(
	struct trade_table *table, uint32_t place, const struct msg_commit_result *answer);

static inline uint32_t trade_place(const struct trade_table *table, const struct trade *trade)
{
	return (uint32_t)(trade - table->trades);
}

/* Once a tick for each trade: ends what is to end, hands commits over, tells who is to be told.
 * Moves the trade at *cursor on, which begins at table->count and goes down; false at the end.
 * Trades may come and go between two calls. */
bool trade_step(
	struct trade_table *table, const struct trade_ops *ops, uint32_t *cursor, uint32_t beat);

/* The player's trade, NULL without one. */
const struct trade *trade_of(const struct trade_table *table, uint32_t player);

/* Mixes all that decides what happens next into a hash: of the trades part, part + parts, ...; of
 * all with (0, 1). */
uint64_t trade_table_hash(
	const struct trade_table *table, uint64_t hash, uint32_t part, uint32_t parts);

/* ---- plan.c: for trade.c and step.c ---- */

/* Whether all that is offered is there to be given, and has room where it goes; chooses the slots.
 * TRADE_TAKEN, RESERVED, NOT_OWNED, NOT_ENOUGH, NO_ROOM or TOO_MUCH_GOLD. */
enum trade_refusal trade_plan(struct trade *trade, const struct trade_ops *ops);

/* The operations of a planned trade: everything is taken before anything is put. Returns how many.
 */
uint32_t trade_operations(const struct trade *trade, struct commit_op op[TRADE_OPS_MAX]);

/* ---- trade.c, for step.c ---- */
void trade_end(struct trade_table *table, const struct trade_ops *ops, struct trade *trade,
	enum trade_end end);

#endif
