#include "simulation/trading.h"

#include "common/check.h"
#include "proto/client.pb-c.h"
#include "simulation/combat.h"
#include "simulation/commit.h"
#include "simulation/entity.h"
#include "simulation/send.h"

#define FIRST_REFUSAL (SIM_REFUSED_TRADE_NOT_A_PLAYER - SIM_REFUSED_NOT_READY + 1)
_Static_assert(FIRST_REFUSAL == SW__ACTION_REFUSAL__TRADE_NOT_A_PLAYER, "counters go by the wire");
#define SAME_REFUSAL(name, counter, help)                                                          \
	_Static_assert(FIRST_REFUSAL + TRADE_REFUSAL_##name == SW__ACTION_REFUSAL__TRADE_##name,   \
		"the wire has them in this order");
TRADE_REFUSALS(SAME_REFUSAL)
#define SAME_END(name, value, counter, help)                                                       \
	_Static_assert(value == SW__TRADE_END_REASON__END_##name, "the wire's value");
TRADE_ENDS(SAME_END)
#define SAME(ours, wires) _Static_assert((int)(ours) == (int)(wires), "the wire's value")
SAME(TRADE_OFFER_ITEM, SW__TRADE_OFFER_KIND__OFFER_ITEM);
SAME(TRADE_OFFER_TAKE_BACK, SW__TRADE_OFFER_KIND__OFFER_TAKE_BACK);
SAME(TRADE_OFFER_GOLD, SW__TRADE_OFFER_KIND__OFFER_GOLD);
SAME(TRADE_ASKED, SW__TRADE_PHASE__PHASE_ASKED);
SAME(TRADE_OPEN, SW__TRADE_PHASE__PHASE_OPEN);
SAME(TRADE_UNDER_WAY, SW__TRADE_PHASE__PHASE_UNDER_WAY);

/* ---- what they own ---- */

static bool pile_of(void *ctx, uint32_t player, uint32_t slot, struct trade_pile *pile)
{
	struct sim_map *m = ctx;
	const struct sim_stack *stack = sim_bag_at(m, player, slot);

	*pile = (struct trade_pile){
		.item = stack->item, .count = stack->count, .serial = stack->serial};
	return !sim_bag_busy(m, player, slot);
}

/* What a click's handler spends just now is not there. */
static int64_t gold_of(void *ctx, uint32_t player)
{
	const struct sim_map *m = ctx;

	return m->players_table[player].gold - m->bags[player].gold_bound;
}

/* What the game's data does not know (any more) stays where it is. */
static uint32_t stack_max(void *ctx, uint32_t item)
{
	const struct sim_map *m = ctx;
	const struct sim_item *known = sim_game_item(m->game, item);

	return known ? known->stack_max : 0;
}

/* ---- the commit ---- */

static bool push(
	struct sim_map *m, const struct trade *trade, const struct commit_op *ops, uint32_t count)
{
	struct msg message[(MSG_HEAD_BYTES + sizeof(struct msg_commit) +
				   TRADE_OPS_MAX * sizeof(struct commit_op) + MSG_SLOT_BYTES - 1) /
			   MSG_SLOT_BYTES];
	struct msg_commit body = {.request = {trade->request[0], trade->request[1]},
		.realm_id = m->shard->realm_id,
		.expires_ms = SIM_COMMIT_EXPIRES_MS,
		.reason = COMMIT_REASON_TRADE,
		.ops = count};
	uint8_t *payload = lane_shard_begin(
		message, MSG_COMMIT, HANDLE_NONE, (uint32_t)(sizeof(body) + count * sizeof(*ops)));

	for (uint32_t who = 0; who < 2; who++) {
		const struct sim_player *p = sim_player(m, trade->side[who].player);

		body.character_id[who] = p->character_id;
		body.epoch[who] = p->epoch;
		body.realm_id = p->realm_id;
	}
	message->subject = body.character_id[0];
	memcpy(payload, &body, sizeof(body));
	memcpy(payload + sizeof(body), ops, count * sizeof(*ops));
	return sim_push(m->shard, m->shard->links.to_world, message);
}

static bool bind(void *ctx, struct trade *trade, const struct commit_op *ops, uint32_t count)
{
	struct sim_map *m = ctx;
	struct sim_shard *s = m->shard;

	for (uint32_t who = 0; who < 2; who++)
		if (m->bags[trade->side[who].player].commits >= SIM_COMMITS_PLAYER)
			return false;
	sim_commit_request(m, m->commits_max + trade_place(&m->trades, trade), trade->request);
	if (!push(m, trade, ops, count)) {
		sim_count(s, SIM_COMMITS_HELD, 1);
		return false;
	}
	s->commit_counter++;
	sim_count(s, SIM_COMMITS, 1);
	for (uint32_t who = 0; who < 2; who++)
		trade->side[who].tag = sim_commit_bind(m, trade->side[who].player, who, ops, count);
	return true;
}

static void settle(void *ctx, const struct trade *trade, uint32_t who, const struct commit_op *ops,
	uint32_t count)
{
	struct sim_map *m = ctx;
	struct sim_commit_share share = {.player = trade->side[who].player,
		.who = who,
		.loads = trade->side[who].tag,
		.number = sim_commit_number(m, trade->request),
		.result = trade->answer.result,
		.gold = trade->answer.gold[who],
		.experience = trade->answer.experience[who],
		.op = ops,
		.op_count = count};

	sim_commit_settle(m, &share);
}

/* ---- where they are ---- */

/* What one fights with is one's own, and nobody buys a life: not from the countdown on. */
static bool in_match(const struct sim_map *m)
{
	return m->match.hold || m->match.pvp;
}

static enum trade_nearness nearness(void *ctx, uint32_t a, uint32_t b, bool open)
{
	struct sim_map *m = ctx;

	if (in_match(m) || !sim_is_present(m, a) || !sim_is_present(m, b) || !sim_is_alive(m, a) ||
		!sim_is_alive(m, b) || m->players_table[a].detail != SIM_DETAIL_READY ||
		m->players_table[b].detail != SIM_DETAIL_READY)
		return TRADE_GONE;
	return sim_reach(m, a, b, open ? SIM_TRADE_LEASH_MM : SIM_TRADE_REACH_MM) ? TRADE_FAR
										  : TRADE_NEAR;
}

/* ---- what they are told ---- */

static void fill_side(Sw__TradeSide *out, const struct trade_side *side, Sw__TradeItem *items,
	Sw__TradeItem **pointers)
{
	sw__trade_side__init(out);
	out->gold = side->gold;
	out->confirmed = side->confirmed;
	out->n_items = side->piles;
	out->items = pointers;
	for (uint32_t i = 0; i < side->piles; i++) {
		sw__trade_item__init(&items[i]);
		items[i].slot = side->offered[i].slot;
		items[i].item = side->offered[i].pile.item;
		items[i].count = side->offered[i].pile.count;
		pointers[i] = &items[i];
	}
}

static uint32_t partner(const struct sim_map *m, const struct trade *trade, uint32_t who)
{
	uint32_t player = trade->side[!who].player;

	return player == TRADE_NOBODY ? 0 : m->entities[player].wire_id;
}

static void tell(void *ctx, const struct trade *trade, uint32_t who)
{
	struct sim_map *m = ctx;
	Sw__TradeState state = SW__TRADE_STATE__INIT;
	Sw__TradeSide side[2];
	Sw__TradeItem item[2][TRADE_PILES_MAX], *items[2][TRADE_PILES_MAX];

	for (uint32_t i = 0; i < 2; i++)
		fill_side(&side[i], &trade->side[i], item[i], items[i]);
	state.trade = trade->id;
	state.version = trade->version;
	state.partner = partner(m, trade, who);
	state.phase = (Sw__TradePhase)trade->state;
	state.asked = trade->state == TRADE_ASKED && who;
	state.own = &side[who];
	state.other = &side[!who];
	sim_send_reliable(m->shard, m, trade->side[who].player, SW_CHANNEL_SESSION,
		(uint32_t)sw__trade_state__pack(
			&state, sim_send_begin(m->shard, SW_MSG_TRADE_STATE)));
}

static void tell_end(void *ctx, const struct trade *trade, uint32_t who, enum trade_end end)
{
	struct sim_map *m = ctx;
	Sw__TradeEnded ended = SW__TRADE_ENDED__INIT;

	ended.trade = trade->id;
	ended.reason = (Sw__TradeEndReason)end;
	ended.partner = partner(m, trade, who);
	sim_send_reliable(m->shard, m, trade->side[who].player, SW_CHANNEL_SESSION,
		(uint32_t)sw__trade_ended__pack(
			&ended, sim_send_begin(m->shard, SW_MSG_TRADE_ENDED)));
}

static void count_end(void *ctx, enum trade_end end)
{
	struct sim_map *m = ctx;

	sim_count(m->shard, SIM_TRADE_DONE + (enum sim_counter)(end - TRADE_END_DONE), 1);
}

static struct trade_ops ops_of(struct sim_map *m)
{
	return (struct trade_ops){.ctx = m,
		.pile = pile_of,
		.gold = gold_of,
		.stack_max = stack_max,
		.near = nearness,
		.bind = bind,
		.settle = settle,
		.tell = tell,
		.tell_end = tell_end,
		.ended = count_end};
}

/* ---- stages ---- */

void sim_trades_init(struct sim_map *m, uint32_t idle_s)
{
	CHECK(m->commits_max + m->player_slots < 1u << SIM_SEAT_BITS);
	trade_table_init(&m->trades, m->trades_memory, m->player_slots, idle_s * m->config.tick_hz);
}

static uint32_t ask(struct sim_map *m, const struct trade_ops *ops, uint32_t player,
	uint32_t actor_id, enum trade_refusal *refusal)
{
	uint32_t target = sim_slot_of_wire_id(m, actor_id);

	/* Who is not in view does not exist for this client: ids cannot be probed. */
	if (target == SIM_NONE || (target != player && !sim_knows(m, player, target)))
		return SW__ACTION_REFUSAL__NO_SUCH_ACTOR;
	*refusal = sim_is_player(m, target) ? trade_ask(&m->trades, ops, player, target, m->beat)
					    : TRADE_REFUSAL_NOT_A_PLAYER;
	return SW__ACTION_REFUSAL__ACTION_REFUSAL_NONE;
}

uint32_t sim_trade_do(struct sim_map *m, const struct sim_action *action, uint32_t *cost)
{
	const struct sim_trade_words *words = &action->trade;
	enum trade_refusal refusal = TRADE_TAKEN;
	struct trade_ops ops = ops_of(m);
	uint32_t player = action->slot, other = 0;

	*cost += SIM_COST_TRADE;
	if (sim_player(m, player)->detail != SIM_DETAIL_READY)
		return SW__ACTION_REFUSAL__NOT_READY;
	if (!sim_is_alive(m, player))
		return SW__ACTION_REFUSAL__DEAD;
	if (in_match(m))
		return SW__ACTION_REFUSAL__IN_MATCH;
	switch (action->type) {
	case SW_MSG_TRADE_REQUEST:
		other = ask(m, &ops, player, action->actor_id, &refusal);
		break;
	case SW_MSG_TRADE_OFFER:
		refusal = trade_offer(&m->trades, &ops, player, words->id, words->kind, words->slot,
			words->amount, m->beat);
		break;
	case SW_MSG_TRADE_CONFIRM:
		refusal =
			trade_confirm(&m->trades, &ops, player, words->id, words->version, m->beat);
		*cost += SIM_COST_TRADE_PLAN;
		break;
	default:
		refusal = trade_cancel(&m->trades, &ops, player, words->id);
		*cost += 2 * SIM_COST_SEND;
	}
	if (other)
		return other;
	return refusal == TRADE_TAKEN ? SW__ACTION_REFUSAL__ACTION_REFUSAL_NONE
				      : FIRST_REFUSAL + refusal;
}

bool sim_trades_step(struct sim_map *m, uint32_t *cursor, struct sim_slice *slice)
{
	struct trade_ops ops = ops_of(m);
	bool more = true;

	while (more) {
		uint64_t under_way = m->shard->commit_counter;
		uint32_t told = m->trades.told;

		if (slice->left <= 0)
			return false;
		more = trade_step(&m->trades, &ops, cursor, m->beat);
		slice->left -=
			SIM_COST_TRADE + (m->trades.told - told) * SIM_COST_SEND +
			(int64_t)(m->shard->commit_counter - under_way) * SIM_COST_TRADE_PLAN +
			sim_work_taken(m);
	}
	return true;
}

void sim_trade_left(struct sim_map *m, uint32_t player, bool gone)
{
	const struct trade *trade = trade_of(&m->trades, player);
	struct trade_ops ops = ops_of(m);

	if (trade && (gone || trade->state != TRADE_UNDER_WAY))
		trade_left(&m->trades, &ops, player);
}

bool sim_trade_answered(struct sim_map *m, uint32_t place, const struct msg_commit_result *answer)
{
	return trade_answer(&m->trades, place, answer);
}
