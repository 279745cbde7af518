#include "simulation/quest.h"

#include "proto/client.pb-c.h"
#include "simulation/commit.h"
#include "simulation/happening.h"

static const struct sim_quest *quest_of(const struct sim_map *m, uint32_t quest)
{
	return &m->game->quests[quest];
}

static const struct sim_quest_step *step_of(
	const struct sim_map *m, uint32_t quest, const struct sim_quest_now *now)
{
	return sim_quest_is_open(now->state) ? sim_quest_step(m->game, quest_of(m, quest),
						       sim_quest_state_step(now->state))
					     : NULL;
}

/* ---- the log ---- */

static void changed(struct sim_map *m, uint32_t player, uint32_t quest)
{
	struct sim_quest_log *log = &m->quest_logs[player];

	sim_player(m, player)->tell |= SIM_TELL_QUESTS;
	for (uint32_t i = 0; i < log->changed_count; i++)
		if (log->changed[i] == quest)
			return;
	if (log->changed_count == SIM_QUESTS_OPEN)
		log->all = true;
	else
		log->changed[log->changed_count++] = (uint16_t)quest;
}

static void list_open(struct sim_map *m, uint32_t player)
{
	struct sim_quest_log *log = &m->quest_logs[player];

	log->count = 0;
	for (uint32_t q = 0; q < m->game->quest_count && log->count < SIM_QUESTS_OPEN; q++)
		if (sim_quest_is_open(sim_quest_now(m, player, q)->state))
			log->open[log->count++] = (uint16_t)q;
	log->look = true;
}

void sim_quests_clear(struct sim_map *m, uint32_t player)
{
	if (m->game->quest_count)
		memset(sim_quest_now(m, player, 0), 0,
			m->game->quest_count * sizeof(struct sim_quest_now));
	m->quest_logs[player] = (struct sim_quest_log){.all = true};
}

/* What was counted for another step than the quest stands at is worth nothing any more. */
static void forget_due(struct sim_quest_now *now)
{
	if (now->due && (!sim_quest_is_open(now->state) ||
				now->due_step != sim_quest_state_step(now->state)))
		now->due = 0;
}

/* A beat that is not 0. */
static uint32_t beat_after(const struct sim_map *m, uint32_t seconds)
{
	uint32_t beat = m->beat + seconds * m->config.tick_hz;

	return beat ? beat : 1;
}

void sim_quests_load(
	struct sim_map *m, uint32_t player, const struct msg_quest *quests, uint32_t count)
{
	for (uint32_t q = 0; q < m->game->quest_count; q++) {
		sim_quest_now(m, player, q)->state = 0;
		sim_quest_now(m, player, q)->again_beat = 0;
	}
	for (uint32_t i = 0; i < count; i++) {
		uint32_t q = sim_quest_of(m->game, quests[i].quest);

		if (q == UINT32_MAX || quests[i].state > COMMIT_STATE_MAX)
			continue;
		sim_quest_now(m, player, q)->state = (uint16_t)quests[i].state;
		if (sim_quest_is_done(quests[i].state) && quests[i].age_s < quest_of(m, q)->again_s)
			sim_quest_now(m, player, q)->again_beat =
				beat_after(m, quest_of(m, q)->again_s - quests[i].age_s);
	}
	for (uint32_t q = 0; q < m->game->quest_count; q++)
		forget_due(sim_quest_now(m, player, q));
	list_open(m, player);
	m->quest_logs[player].all = true;
}

/* ---- progress ---- */

static void due(
	struct sim_map *m, uint32_t player, uint32_t quest, const struct sim_quest_step *step)
{
	struct sim_quest_now *now = sim_quest_now(m, player, quest);

	now->due++;
	now->due_step = (uint8_t)step->number;
	changed(m, player, quest);
}

void sim_quests_killed(struct sim_map *m, uint32_t player, uint32_t monster_kind)
{
	const struct sim_quest_log *log = &m->quest_logs[player];

	sim_work(m, log->count * SIM_COST_SLOT);
	for (uint32_t i = 0; i < log->count; i++) {
		const struct sim_quest_now *now = sim_quest_now(m, player, log->open[i]);
		const struct sim_quest_step *step = step_of(m, log->open[i], now);

		if (step && step->kind == SIM_QUEST_KILL && step->monster_kind == monster_kind &&
			sim_quest_state_count(now->state) + now->due < step->need)
			due(m, player, log->open[i], step);
	}
}

static uint32_t in_bag(const struct sim_map *m, uint32_t player, uint32_t item)
{
	uint32_t count = 0;

	for (uint32_t slot = 0; slot < COMMIT_BAG_SLOTS; slot++)
		if (m->bags[player].stack[slot].item == item)
			count += m->bags[player].stack[slot].count;
	return count;
}

static bool within(const struct sim_map *m, uint32_t player, const struct sim_quest_step *step)
{
	const struct sim_entity *e = &m->entities[player];
	int64_t dx = (int64_t)e->x_mm - (int64_t)step->x_m * 1000;
	int64_t dy = (int64_t)e->y_mm - (int64_t)step->y_m * 1000;
	int64_t radius = (int64_t)step->radius_m * 1000;

	return !strcmp(step->reach, m->config.name) && dx * dx + dy * dy <= radius * radius;
}

uint32_t sim_quests_second(struct sim_map *m, uint32_t player)
{
	struct sim_quest_log *log = &m->quest_logs[player];
	bool again = false; /* one that could not be looked at now waits for a thing */
	uint32_t cost = 0;

	if (!log->count || sim_player(m, player)->detail != SIM_DETAIL_READY)
		return 0;
	for (uint32_t i = 0; i < log->count; i++) {
		const struct sim_quest_now *now = sim_quest_now(m, player, log->open[i]);
		const struct sim_quest_step *step = step_of(m, log->open[i], now);

		cost += SIM_COST_SLOT;
		if (!step || now->due)
			continue;
		if (now->busy) {
			again |= step->kind == SIM_QUEST_HAVE;
		} else if (step->kind == SIM_QUEST_HAVE && log->look) {
			cost += SIM_COST_QUEST_BAG;
			if (in_bag(m, player, step->item) >= step->need)
				due(m, player, log->open[i], step);
		} else if (step->kind == SIM_QUEST_REACH && within(m, player, step)) {
			due(m, player, log->open[i], step);
		}
	}
	log->look &= again;
	return cost;
}

void sim_quests_look(struct sim_map *m, uint32_t player)
{
	m->quest_logs[player].look = true;
}

/* Where the quest stands with what is due. */
static uint32_t after(const struct sim_map *m, uint32_t quest, const struct sim_quest_now *now,
	const struct sim_quest_step *step)
{
	uint32_t count = sim_quest_state_count(now->state) + now->due;
	const struct sim_quest_step *next = sim_quest_next(m->game, quest_of(m, quest), step);

	if (step->kind == SIM_QUEST_KILL && count < step->need)
		return sim_quest_state(step->number, count);
	return next ? sim_quest_state(next->number, 0) : now->state;
}

uint32_t sim_quests_due(struct sim_map *m, uint32_t player, struct commit_op *op, bool *busy)
{
	const struct sim_quest_log *log = &m->quest_logs[player];
	uint32_t count = 0;

	*busy = false;
	for (uint32_t i = 0; i < log->count; i++) {
		const struct sim_quest_now *now = sim_quest_now(m, player, log->open[i]);
		const struct sim_quest_step *step = step_of(m, log->open[i], now);

		if (!now->due || !step)
			continue;
		*busy |= now->busy;
		op[count++] = (struct commit_op){.kind = COMMIT_QUEST,
			.slot = now->state,
			.item = quest_of(m, log->open[i])->number,
			.amount = after(m, log->open[i], now, step)};
	}
	return count;
}

/* ---- commits ---- */

static struct sim_quest_now *of_op(
	struct sim_map *m, uint32_t player, const struct commit_op *op, uint32_t *quest)
{
	*quest = sim_quest_of(m->game, op->item);
	return *quest == UINT32_MAX ? NULL : sim_quest_now(m, player, *quest);
}

void sim_quests_asked(struct sim_map *m, uint32_t player, const struct commit_op *op)
{
	uint32_t quest;
	struct sim_quest_now *now = of_op(m, player, op, &quest);

	if (now)
		now->asked = now->due;
}

void sim_quests_gained(struct sim_map *m, uint32_t player, const struct commit_op *op, bool done)
{
	uint32_t quest;
	struct sim_quest_now *now = of_op(m, player, op, &quest);

	if (!now)
		return;
	if (done)
		now->due = (uint16_t)(now->due > now->asked ? now->due - now->asked : 0);
	now->asked = 0;
	changed(m, player, quest);
}

void sim_quest_mark(struct sim_map *m, uint32_t player, const struct commit_op *op, bool busy)
{
	uint32_t quest;
	struct sim_quest_now *now = of_op(m, player, op, &quest);

	if (now)
		now->busy = busy;
}

void sim_quest_apply(struct sim_map *m, uint32_t player, const struct commit_op *op)
{
	uint32_t quest;
	struct sim_quest_now *now = of_op(m, player, op, &quest);

	if (!now)
		return;
	sim_count(m->shard,
		!op->amount                                    ? SIM_QUESTS_ABANDONED
		: sim_quest_is_done((uint32_t)op->amount)      ? SIM_QUESTS_DONE
		: !now->state || sim_quest_is_done(now->state) ? SIM_QUESTS_BEGUN
							       : SIM_QUEST_PROGRESS,
		1);
	if (op->amount && sim_quest_is_done((uint32_t)op->amount))
		sim_happens_quest(m, player, quest, true);
	else if (op->amount && (!now->state || sim_quest_is_done(now->state)))
		sim_happens_quest(m, player, quest, false);
	now->state = (uint16_t)op->amount;
	now->again_beat = sim_quest_is_done(now->state) && quest_of(m, quest)->again_s
				  ? beat_after(m, quest_of(m, quest)->again_s)
				  : 0;
	forget_due(now);
	list_open(m, player);
	changed(m, player, quest);
}

/* ---- what a player may ---- */

uint32_t sim_quest_wait_s(const struct sim_map *m, uint32_t player, uint32_t quest)
{
	const struct sim_quest_now *now = sim_quest_now(m, player, quest);
	int32_t left = (int32_t)(now->again_beat - m->beat);

	if (!quest_of(m, quest)->again_s)
		return UINT32_MAX;
	if (!now->again_beat || left <= 0)
		return 0;
	return ((uint32_t)left + m->config.tick_hz - 1) / m->config.tick_hz;
}

bool sim_quest_is_new(const struct sim_map *m, uint32_t player, uint32_t quest)
{
	uint32_t state = sim_quest_now(m, player, quest)->state;

	return !state || (sim_quest_is_done(state) && !sim_quest_wait_s(m, player, quest));
}

bool sim_quest_may_begin(const struct sim_map *m, uint32_t player, const struct sim_quest *quest)
{
	if (m->players_table[player].level < quest->level)
		return false;
	for (uint32_t i = 0; i < quest->after.count; i++) {
		uint32_t before = m->game->quest_afters[quest->after.first + i].quest;

		if (!sim_quest_is_done(sim_quest_now(m, player, before)->state))
			return false;
	}
	return true;
}

/* What was handed out goes back, as far as it is there. SIM_NONE: a slot of it is busy. */
static uint32_t take_back(struct sim_map *m, uint32_t player, const struct sim_quest *quest,
	struct commit_op *op, uint32_t op_max)
{
	uint32_t left = quest->gives_item ? quest->gives_count : 0, count = 0;

	for (uint32_t slot = 0; slot < COMMIT_BAG_SLOTS && left && count < op_max; slot++) {
		const struct sim_stack *stack = sim_bag_at(m, player, slot);
		uint32_t taken = stack->count < left ? stack->count : left;

		if (!stack->count || stack->item != quest->gives_item)
			continue;
		if (sim_bag_busy(m, player, slot))
			return SIM_NONE;
		op[count++] = (struct commit_op){.kind = COMMIT_SLOT,
			.slot = (uint16_t)slot,
			.item = stack->item,
			.amount = -(int64_t)taken,
			.serial = stack->serial};
		left -= taken;
	}
	return count;
}

uint32_t sim_quest_abandon(struct sim_map *m, uint32_t player, uint32_t number)
{
	uint32_t quest = sim_quest_of(m->game, number), count;
	struct commit_op op[SIM_COMMIT_OPS_MAX];
	const struct sim_quest_now *now;

	if (sim_player(m, player)->detail != SIM_DETAIL_READY)
		return SW__ACTION_REFUSAL__NOT_READY;
	if (quest == UINT32_MAX)
		return SW__ACTION_REFUSAL__QUEST_UNKNOWN;
	now = sim_quest_now(m, player, quest);
	if (now->state && !sim_quest_is_open(now->state) && !sim_quest_is_done(now->state))
		return SW__ACTION_REFUSAL__QUEST_UNKNOWN;
	if (!sim_quest_is_open(now->state))
		return SW__ACTION_REFUSAL__QUEST_NOT_OPEN;
	if (now->busy)
		return SW__ACTION_REFUSAL__BUSY;
	op[0] = (struct commit_op){.kind = COMMIT_QUEST, .slot = now->state, .item = number};
	count = take_back(m, player, quest_of(m, quest), &op[1], SIM_COMMIT_OPS_MAX - 1);
	if (count == SIM_NONE || !sim_commit_ask(m, player, COMMIT_REASON_QUEST,
					 SW_MSG_QUEST_ABANDON, SIM_NONE, op, count + 1))
		return SW__ACTION_REFUSAL__BUSY;
	return SW__ACTION_REFUSAL__ACTION_REFUSAL_NONE;
}
