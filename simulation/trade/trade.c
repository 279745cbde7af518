#include "simulation/trade/trade.h"

#include <string.h>

#include "common/check.h"

/* The sum, for P players: P/2 trades of 656 B with 4 B each for the list, and 4 B each player. */
size_t trade_table_bytes(uint32_t players_max)
{
	size_t trades = (players_max + 1) / 2;

	return trades * sizeof(struct trade) + (trades + players_max) * sizeof(uint32_t);
}

void trade_table_init(
	struct trade_table *table, void *memory, uint32_t players_max, uint32_t idle_beats)
{
	memset(memory, 0, trade_table_bytes(players_max));
	*table = (struct trade_table){.players_max = players_max,
		.trades_max = (players_max + 1) / 2,
		.idle_beats = idle_beats,
		.trades = memory};
	table->active = (uint32_t *)(table->trades + table->trades_max);
	table->of = table->active + table->trades_max;
	for (uint32_t i = 0; i < table->trades_max; i++)
		table->active[i] = i;
	for (uint32_t i = 0; i < players_max; i++)
		table->of[i] = TRADE_NONE;
}

/* ---- the table ---- */

static struct trade *find(const struct trade_table *table, uint32_t player)
{
	uint32_t at = table->of[player];

	return at == TRADE_NONE ? NULL : &table->trades[at];
}

const struct trade *trade_of(const struct trade_table *table, uint32_t player)
{
	return find(table, player);
}

static uint32_t side_of(const struct trade *trade, uint32_t player)
{
	return trade->side[0].player == player ? 0 : 1;
}

static void begin(struct trade_table *table, uint32_t asks, uint32_t asked, uint32_t beat)
{
	uint32_t at, index;
	struct trade *trade;

	/* Those under way whose players have both left hold a trade and no player: a map that is
	 * full again may then wait for the database. trade_ask has looked. */
	CHECK(table->count < table->trades_max);
	at = table->count++;
	index = table->active[at];
	trade = &table->trades[index];
	memset(trade, 0, sizeof(*trade));
	trade->id = ++table->last_id ? table->last_id : ++table->last_id;
	trade->version = 1;
	trade->at = at;
	trade->state = TRADE_ASKED;
	for (uint32_t who = 0; who < 2; who++) {
		trade->side[who].player = who ? asked : asks;
		trade->side[who].beat = beat;
		trade->side[who].stale = true;
		table->of[trade->side[who].player] = index;
	}
}

void trade_end(struct trade_table *table, const struct trade_ops *ops, struct trade *trade,
	enum trade_end end)
{
	uint32_t index = trade_place(table, trade), last = --table->count;

	for (uint32_t who = 0; who < 2; who++) {
		struct trade_side *side = &trade->side[who];

		if (side->player == TRADE_NOBODY)
			continue;
		table->of[side->player] = TRADE_NONE;
		/* Who was never told of the trade need not hear that it has ended, unless it
		 * asked for it. */
		if (side->told || !who) {
			ops->tell_end(ops->ctx, trade, who, end);
			table->told++;
		}
	}
	ops->ended(ops->ctx, end);
	trade->state = TRADE_FREE;
	table->active[trade->at] = table->active[last];
	table->trades[table->active[last]].at = trade->at;
	table->active[last] = index;
}

/* ---- messages ---- */

static void touch(struct trade *trade, uint32_t who, uint32_t beat)
{
	trade->side[who].beat = beat;
	trade->side[0].stale = trade->side[1].stale = true;
}

static void changed(struct trade *trade, uint32_t who, uint32_t beat)
{
	trade->version++;
	/* Who had confirmed and waited is asked again, and has all its time for it. */
	trade->side[0].beat = trade->side[1].beat = beat;
	trade->side[0].confirmed = trade->side[1].confirmed = false;
	touch(trade, who, beat);
}

enum trade_refusal trade_ask(struct trade_table *table, const struct trade_ops *ops,
	uint32_t player, uint32_t other, uint32_t beat)
{
	struct trade *mine = find(table, player), *theirs = find(table, other);
	bool answers, declines;

	if (player == other)
		return TRADE_REFUSAL_ONESELF;
	declines = mine && mine->state == TRADE_ASKED && side_of(mine, player) == 1;
	answers = declines && mine == theirs;
	if (mine && !declines)
		return TRADE_REFUSAL_BUSY;
	if (theirs && !answers)
		return TRADE_REFUSAL_PARTNER_BUSY;
	switch (ops->near(ops->ctx, player, other, false)) {
	case TRADE_GONE:
		return TRADE_REFUSAL_PARTNER_AWAY;
	case TRADE_FAR:
		return TRADE_REFUSAL_OUT_OF_REACH;
	case TRADE_NEAR:
		break;
	}
	if (answers) {
		mine->state = TRADE_OPEN;
		mine->side[0].beat = beat;
		touch(mine, 1, beat);
		return TRADE_TAKEN;
	}
	if (!declines && table->count == table->trades_max)
		return TRADE_REFUSAL_PARTNER_BUSY;
	if (declines)
		trade_end(table, ops, mine, TRADE_END_DECLINED);
	begin(table, player, other, beat);
	return TRADE_TAKEN;
}

/* The player's trade by the name it gives. */
static enum trade_refusal find_open(
	const struct trade_table *table, uint32_t player, uint32_t id, struct trade **trade)
{
	*trade = find(table, player);
	if (!*trade || (*trade)->id != id)
		return TRADE_REFUSAL_ENDED;
	if ((*trade)->state == TRADE_ASKED)
		return TRADE_REFUSAL_NOT_ACCEPTED;
	if ((*trade)->state == TRADE_UNDER_WAY)
		return TRADE_REFUSAL_UNDER_WAY;
	return TRADE_TAKEN;
}

static struct trade_offered *find_offered(struct trade_side *side, uint32_t slot)
{
	for (uint32_t i = 0; i < side->piles; i++)
		if (side->offered[i].slot == slot)
			return &side->offered[i];
	return NULL;
}

static enum trade_refusal offer_item(
	struct trade_side *side, const struct trade_ops *ops, uint32_t slot, int64_t amount)
{
	struct trade_offered *offered = find_offered(side, slot);
	struct trade_pile pile;

	if (amount <= 0)
		return TRADE_REFUSAL_AMOUNT;
	if (slot >= COMMIT_BAG_SLOTS)
		return TRADE_REFUSAL_NOT_OWNED;
	if (!ops->pile(ops->ctx, side->player, slot, &pile))
		return TRADE_REFUSAL_RESERVED;
	if (!pile.count)
		return TRADE_REFUSAL_NOT_OWNED;
	if (amount > pile.count)
		return TRADE_REFUSAL_NOT_ENOUGH;
	if (!ops->stack_max(ops->ctx, pile.item))
		return TRADE_REFUSAL_NOT_TRADABLE;
	if (!offered && side->piles == TRADE_PILES_MAX)
		return TRADE_REFUSAL_OFFER_FULL;
	if (!offered)
		offered = &side->offered[side->piles++];
	pile.count = (uint32_t)amount;
	*offered = (struct trade_offered){.pile = pile, .slot = (uint16_t)slot};
	return TRADE_TAKEN;
}

static enum trade_refusal take_back(struct trade_side *side, uint32_t slot)
{
	struct trade_offered *offered = find_offered(side, slot);
	uint32_t after;

	if (!offered)
		return TRADE_REFUSAL_NOT_OFFERED;
	after = side->piles - (uint32_t)(offered - side->offered) - 1;
	memmove(offered, offered + 1, after * sizeof(*offered));
	memset(&side->offered[--side->piles], 0, sizeof(*offered));
	return TRADE_TAKEN;
}

static enum trade_refusal offer_gold(
	struct trade_side *side, const struct trade_ops *ops, int64_t amount)
{
	if (amount < 0)
		return TRADE_REFUSAL_AMOUNT;
	if (amount > ops->gold(ops->ctx, side->player))
		return TRADE_REFUSAL_NOT_ENOUGH;
	side->gold = amount;
	return TRADE_TAKEN;
}

enum trade_refusal trade_offer(struct trade_table *table, const struct trade_ops *ops,
	uint32_t player, uint32_t id, uint32_t kind, uint32_t slot, int64_t amount, uint32_t beat)
{
	struct trade *trade;
	enum trade_refusal refusal = find_open(table, player, id, &trade);
	uint32_t who;

	if (refusal != TRADE_TAKEN)
		return refusal;
	who = side_of(trade, player);
	switch (kind) {
	case TRADE_OFFER_ITEM:
		refusal = offer_item(&trade->side[who], ops, slot, amount);
		break;
	case TRADE_OFFER_TAKE_BACK:
		refusal = take_back(&trade->side[who], slot);
		break;
	case TRADE_OFFER_GOLD:
		refusal = offer_gold(&trade->side[who], ops, amount);
		break;
	default:
		refusal = TRADE_REFUSAL_NO_SUCH_KIND;
	}
	if (refusal == TRADE_TAKEN)
		changed(trade, who, beat);
	return refusal;
}

enum trade_refusal trade_confirm(struct trade_table *table, const struct trade_ops *ops,
	uint32_t player, uint32_t id, uint32_t version, uint32_t beat)
{
	struct trade *trade;
	enum trade_refusal refusal = find_open(table, player, id, &trade);
	const struct trade_side *side;

	if (refusal != TRADE_TAKEN)
		return refusal;
	if (version != trade->version)
		return TRADE_REFUSAL_OLD_VERSION;
	side = trade->side;
	if (!side[0].piles && !side[1].piles && !side[0].gold && !side[1].gold)
		return TRADE_REFUSAL_NOTHING;
	refusal = trade_plan(trade, ops);
	if (refusal != TRADE_TAKEN)
		return refusal;
	trade->side[side_of(trade, player)].confirmed = true;
	touch(trade, side_of(trade, player), beat);
	return TRADE_TAKEN;
}

enum trade_refusal trade_cancel(
	struct trade_table *table, const struct trade_ops *ops, uint32_t player, uint32_t id)
{
	struct trade *trade;
	enum trade_refusal refusal = find_open(table, player, id, &trade);

	if (refusal != TRADE_TAKEN && refusal != TRADE_REFUSAL_NOT_ACCEPTED)
		return refusal;
	trade_end(table, ops, trade,
		trade->state == TRADE_ASKED && side_of(trade, player) == 1 ? TRADE_END_DECLINED
									   : TRADE_END_CANCELLED);
	return TRADE_TAKEN;
}

/* ---- players and answers ---- */

void trade_left(struct trade_table *table, const struct trade_ops *ops, uint32_t player)
{
	struct trade *trade = find(table, player);

	if (!trade)
		return;
	table->of[player] = TRADE_NONE;
	trade->side[side_of(trade, player)].player = TRADE_NOBODY;
	if (trade->state != TRADE_UNDER_WAY)
		trade_end(table, ops, trade, TRADE_END_LEFT);
}

bool trade_answer(struct trade_table *table, uint32_t place, const struct msg_commit_result *answer)
{
	struct trade *trade;

	if (place >= table->trades_max)
		return false;
	trade = &table->trades[place];
	if (trade->state != TRADE_UNDER_WAY || trade->answered ||
		trade->request[0] != answer->request[0] || trade->request[1] != answer->request[1])
		return false;
	trade->answered = true;
	trade->answer = *answer;
	return true;
}

static uint64_t mix(uint64_t hash, uint64_t value)
{
	hash ^= value;
	hash *= 0x9e3779b97f4a7c15ull;
	return hash ^ hash >> 29;
}

/* Where things go is decided anew until it is under way. */
static uint64_t hash_side(const struct trade_side *side, bool under_way, uint64_t h)
{
	h = mix(h, (uint64_t)side->player << 32 | side->beat);
	h = mix(h, (uint64_t)side->gold);
	h = mix(h, (uint64_t)side->piles << 3 | (uint64_t)side->confirmed << 2 |
			   (uint64_t)side->told << 1 | side->stale);
	for (uint32_t i = 0; i < side->piles; i++) {
		const struct trade_offered *offered = &side->offered[i];

		h = mix(h, (uint64_t)offered->pile.item << 32 | offered->pile.count);
		h = mix(h, offered->pile.serial);
		h = mix(h, (uint64_t)offered->slot << 16 | (under_way ? offered->to : 0));
	}
	return h;
}

uint64_t trade_table_hash(
	const struct trade_table *table, uint64_t h, uint32_t part, uint32_t parts)
{
	h = mix(h, (uint64_t)table->last_id << 32 | table->count);
	for (uint32_t i = part; i < table->count; i += parts) {
		const struct trade *trade = &table->trades[table->active[i]];

		h = mix(h, (uint64_t)table->active[i] << 32 | trade->id);
		h = mix(h, (uint64_t)trade->version << 32 | (uint64_t)trade->state << 1 |
				   trade->answered);
		h = mix(h, trade->state == TRADE_UNDER_WAY ? trade->request[0] : 0);
		h = mix(h, trade->answered ? trade->answer.result : 0);
		h = hash_side(&trade->side[0], trade->state == TRADE_UNDER_WAY, h);
		h = hash_side(&trade->side[1], trade->state == TRADE_UNDER_WAY, h);
	}
	return h;
}
