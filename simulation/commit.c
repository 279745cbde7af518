#include "simulation/commit.h"

#include "common/check.h"
#include "common/level.h"
#include "proto/client.pb-c.h"
#include "simulation/combat.h"
#include "simulation/dialogue.h"
#include "simulation/intent.h"
#include "simulation/list.h"
#include "simulation/live.h"
#include "simulation/loot.h"
#include "simulation/quest.h"
#include "simulation/send.h"
#include "simulation/trading.h"
#include "simulation/view.h"

/* What the shard's nth commit is called, which must be no other's as long as the database knows it:
 * request[0]: s->commit_start + (n >> NUMBER_BITS)
 * request[1]: n's lower bits << 32 | map's number << SIM_SEAT_BITS | place in m->commits; the top
 *             bit is not used: it tells results of matches (match/results.c) */
#define NUMBER_BITS 31u
#define PLACE_MASK  ((1u << SIM_SEAT_BITS) - 1)

/* ---- slots ---- */

/* Bit of a slot in the busy set: the bag's first, then what is worn. SIM_NONE: no such slot. */
static uint32_t index_of(uint32_t number)
{
	if (number < COMMIT_BAG_SLOTS)
		return number;
	if (number >= COMMIT_EQUIP_FIRST && number < COMMIT_EQUIP_FIRST + COMMIT_EQUIP_SLOTS)
		return COMMIT_BAG_SLOTS + number - COMMIT_EQUIP_FIRST;
	return SIM_NONE;
}

struct sim_stack *sim_bag_at(struct sim_map *m, uint32_t player, uint32_t number)
{
	uint32_t index = index_of(number);

	return index == SIM_NONE ? NULL : &m->bags[player].stack[index];
}

bool sim_bag_busy(const struct sim_map *m, uint32_t player, uint32_t number)
{
	uint32_t index = index_of(number);

	return m->bags[player].busy[index / 64] >> (index % 64) & 1;
}

static void mark_slot(struct sim_bag *bag, uint32_t number, bool busy)
{
	uint32_t index = index_of(number);

	if (busy)
		bag->busy[index / 64] |= 1ull << (index % 64);
	else
		bag->busy[index / 64] &= ~(1ull << (index % 64));
}

/* The slots and quests of character who among the operations, and the gold that it spends. */
static void mark(struct sim_map *m, uint32_t player, uint32_t who, const struct commit_op *op,
	uint32_t count, bool busy)
{
	struct sim_bag *bag = &m->bags[player];

	for (uint32_t i = 0; i < count; i++) {
		if (op[i].who != who)
			continue;
		if (op[i].kind == COMMIT_SLOT)
			mark_slot(bag, op[i].slot, busy);
		else if (op[i].kind == COMMIT_QUEST)
			sim_quest_mark(m, player, &op[i], busy);
		else if (op[i].kind == COMMIT_GOLD && op[i].amount < 0)
			bag->gold_bound += busy ? -op[i].amount : op[i].amount;
	}
}

static void apply(struct sim_map *m, uint32_t player, const struct commit_op *op)
{
	struct sim_stack *stack;

	if (op->kind == COMMIT_QUEST)
		sim_quest_apply(m, player, op);
	if (op->kind != COMMIT_SLOT)
		return;
	sim_quests_look(m, player);
	stack = sim_bag_at(m, player, op->slot);
	stack->count = (uint32_t)(stack->count + op->amount);
	stack->item = op->item;
	stack->serial = op->serial;
	if (!stack->count)
		*stack = (struct sim_stack){0};
}

void sim_bag_load(struct sim_map *m, uint32_t player, const struct msg_slot *slots, uint32_t count)
{
	struct sim_bag *bag = &m->bags[player];

	memset(bag->stack, 0, sizeof(bag->stack));
	for (uint32_t i = 0; i < count; i++) {
		struct sim_stack *stack = sim_bag_at(m, player, slots[i].slot);

		/* What does not fit is no use here; the database keeps it. */
		if (!stack || slots[i].count <= 0 || slots[i].count > INT32_MAX || !slots[i].item) {
			sim_count(m->shard, SIM_SLOTS_ODD, 1);
			continue;
		}
		*stack = (struct sim_stack){.item = slots[i].item,
			.count = (uint32_t)slots[i].count,
			.serial = slots[i].serial};
	}
	bag->loads++;
}

/* ---- asking ---- */

void sim_commit_request(const struct sim_map *m, uint32_t place, uint64_t request[2])
{
	uint64_t number = m->shard->commit_counter + 1;

	request[0] = m->shard->commit_start + (number >> NUMBER_BITS);
	request[1] =
		(number & ((1ull << NUMBER_BITS) - 1)) << 32 | m->number << SIM_SEAT_BITS | place;
}

uint64_t sim_commit_number(const struct sim_map *m, const uint64_t request[2])
{
	return (request[0] - m->shard->commit_start) << NUMBER_BITS | request[1] >> 32;
}

uint32_t sim_commit_bind(struct sim_map *m, uint32_t player, uint32_t who,
	const struct commit_op *op, uint32_t count)
{
	struct sim_bag *bag = &m->bags[player];

	bag->commits++;
	mark(m, player, who, op, count, true);
	return bag->loads;
}

bool sim_commit_room(const struct sim_map *m, uint32_t player)
{
	return m->commit_free_count && m->bags[player].commits < SIM_COMMITS_PLAYER;
}

static bool push(struct sim_map *m, uint32_t player, enum commit_reason reason,
	const struct sim_commit *commit)
{
	const struct sim_player *p = sim_player(m, player);
	struct msg message[(MSG_HEAD_BYTES + sizeof(struct msg_commit) +
				   SIM_COMMIT_OPS_MAX * sizeof(struct commit_op) + MSG_SLOT_BYTES -
				   1) /
			   MSG_SLOT_BYTES];
	struct msg_commit body = {.request = {commit->request[0], commit->request[1]},
		.character_id = {p->character_id, 0},
		.epoch = {p->epoch, 0},
		.realm_id = p->realm_id,
		.expires_ms = SIM_COMMIT_EXPIRES_MS,
		.reason = reason,
		.ops = commit->op_count};
	uint8_t *payload = lane_shard_begin(message, MSG_COMMIT, p->peer,
		(uint32_t)(sizeof(body) + commit->op_count * sizeof(commit->op[0])));

	message->subject = p->character_id;
	memcpy(payload, &body, sizeof(body));
	memcpy(payload + sizeof(body), commit->op, commit->op_count * sizeof(commit->op[0]));
	return sim_push(m->shard, m->shard->links.to_world, message);
}

static bool ask(struct sim_map *m, uint32_t player, enum commit_reason reason,
	const struct sim_commit *as, const struct commit_op *ops, uint32_t count)
{
	struct sim_shard *s = m->shard;
	struct sim_bag *bag = &m->bags[player];
	struct sim_commit *commit;
	uint32_t place;

	CHECK(count >= 1 && count <= SIM_COMMIT_OPS_MAX);
	if (!sim_commit_room(m, player))
		return false;
	place = m->commit_free[m->commit_free_count - 1];
	commit = &m->commits[place];
	*commit = *as;
	sim_commit_request(m, place, commit->request);
	commit->player = player;
	commit->generation = m->entities[player].generation;
	commit->loads = bag->loads;
	commit->op_count = (uint8_t)count;
	memcpy(commit->op, ops, count * sizeof(*ops));
	if (!push(m, player, reason, commit)) {
		commit->request[0] = 0;
		sim_count(s, SIM_COMMITS_HELD, 1);
		return false;
	}
	m->commit_free_count--;
	s->commit_counter++;
	bag->commits++;
	mark(m, player, 0, commit->op, commit->op_count, true);
	sim_count(s, SIM_COMMITS, 1);
	sim_work(m, SIM_COST_SEND);
	return true;
}

bool sim_commit_ask(struct sim_map *m, uint32_t player, enum commit_reason reason, uint32_t action,
	uint32_t loot, const struct commit_op *ops, uint32_t count)
{
	return ask(m, player, reason,
		&(struct sim_commit){
			.purpose = SIM_COMMIT_ACTION, .loot = loot, .action = (uint8_t)action},
		ops, count);
}

bool sim_commit_script(struct sim_map *m, uint32_t player, enum commit_reason reason, uint32_t job,
	const struct commit_op *ops, uint32_t count)
{
	return ask(m, player, reason,
		&(struct sim_commit){.purpose = SIM_COMMIT_SCRIPT, .loot = SIM_NONE, .job = job},
		ops, count);
}

bool sim_commit_intent(struct sim_map *m, uint32_t player, enum commit_reason reason,
	uint32_t number, const struct commit_op *ops, uint32_t count)
{
	return ask(m, player, reason,
		&(struct sim_commit){
			.purpose = SIM_COMMIT_INTENT, .loot = SIM_NONE, .job = number},
		ops, count);
}

/* What was earned and done, as operations. *busy: a quest among them is, so it has to wait. */
static uint32_t gains(struct sim_map *m, uint32_t player, struct commit_op *op, bool *busy)
{
	const struct sim_purse *purse = &m->purses[player];
	uint32_t count = sim_quests_due(m, player, op, busy);

	if (purse->gold_due)
		op[count++] = (struct commit_op){.kind = COMMIT_GOLD, .amount = purse->gold_due};
	if (purse->experience_due)
		op[count++] = (struct commit_op){
			.kind = COMMIT_EXPERIENCE, .amount = purse->experience_due};
	return count;
}

bool sim_commit_gains(struct sim_map *m, uint32_t player)
{
	struct sim_purse *purse = &m->purses[player];
	struct commit_op op[SIM_QUESTS_OPEN + 2];
	bool busy;
	uint32_t count = gains(m, player, op, &busy);

	_Static_assert(SIM_QUESTS_OPEN + 2 <= SIM_COMMIT_OPS_MAX, "all gains are one commit");
	if (!count)
		return true;
	if (purse->gains_asked || busy || sim_player(m, player)->detail != SIM_DETAIL_READY ||
		!ask(m, player,
			purse->gold_due || purse->experience_due ? COMMIT_REASON_KILL
								 : COMMIT_REASON_QUEST,
			&(struct sim_commit){.purpose = SIM_COMMIT_GAINS, .loot = SIM_NONE}, op,
			count))
		return false;
	for (uint32_t i = 0; i < count; i++)
		if (op[i].kind == COMMIT_QUEST)
			sim_quests_asked(m, player, &op[i]);
	purse->gains_asked = true;
	return true;
}

bool sim_commit_settled(struct sim_map *m, uint32_t player)
{
	struct sim_bag *bag = &m->bags[player];

	if (sim_commit_gains(m, player) && !bag->commits)
		return true;
	if (!bag->wait_beat)
		bag->wait_beat = m->beat + SIM_COMMIT_WAIT_S * m->config.tick_hz;
	if ((int32_t)(m->beat - bag->wait_beat) < 0)
		return false;
	sim_count(m->shard, SIM_COMMITS_GIVEN_UP, bag->commits + 1);
	return true;
}

/* ---- answers ---- */

void sim_commit_answered(struct sim_shard *s, const struct msg_commit_result *result)
{
	uint32_t place = (uint32_t)result->request[1] & PLACE_MASK;
	uint32_t number = (uint32_t)result->request[1] >> SIM_SEAT_BITS;
	struct sim_map *m = number < CONFIG_INSTANCES_MAX ? s->by_number[number] : NULL;
	struct sim_commit *commit;

	if (m && place >= m->commits_max && sim_trade_answered(m, place - m->commits_max, result))
		return;
	if (!m || place >= m->commits_max || !result->request[0] ||
		m->commits[place].request[0] != result->request[0] ||
		m->commits[place].request[1] != result->request[1] || m->commits[place].answered) {
		sim_count(s, SIM_COMMITS_STALE, 1);
		return;
	}
	commit = &m->commits[place];
	commit->answered = true;
	commit->result = (uint8_t)(result->result < COMMIT_RESULT_COUNT ? result->result
									: COMMIT_RESULT_INVALID);
	commit->gold = result->gold[0];
	commit->experience = result->experience[0];
	m->answered[(m->answered_head + m->answered_count++) % m->commits_max] = place;
}

static void level_up(struct sim_map *m, uint32_t player)
{
	struct sim_player *p = sim_player(m, player);
	uint32_t level = level_of(m->purses[player].experience);

	if (level == p->level)
		return;
	p->level = level;
	if (p->state != SIM_PLAYER_PRESENT)
		return;
	/* A new level makes whole, but raises nobody from the dead, and heals nobody in a fight. */
	if (sim_is_alive(m, player) && !m->match.mortal)
		sim_body_player(m, player, true);
	else
		sim_live_remake(m, player);
	sim_view_renew(m, player);
}

/* Gold and experience that a commit was to bring are due no longer, whether they came or never
 * will. */
static void gains_done(struct sim_map *m, uint32_t player, const struct sim_commit *commit)
{
	struct sim_purse *purse = &m->purses[player];
	/* Else asked for again; what was done for a quest only if the reload finds it at that step.
	 */
	bool settled = commit->result != COMMIT_RESULT_UNAVAILABLE &&
		       commit->result != COMMIT_RESULT_EXPIRED &&
		       commit->result != COMMIT_RESULT_QUEST_STATE;

	if (commit->purpose != SIM_COMMIT_GAINS)
		return;
	purse->gains_asked = false;
	for (uint32_t i = 0; i < commit->op_count; i++) {
		const struct commit_op *op = &commit->op[i];

		if (op->kind == COMMIT_QUEST)
			sim_quests_gained(m, player, op, settled);
		else if (settled && op->kind == COMMIT_GOLD)
			purse->gold_due -= op->amount;
		else if (settled && op->kind == COMMIT_EXPERIENCE)
			purse->experience_due -= op->amount;
	}
	if (!settled)
		return;
	sim_player(m, player)->tell |= SIM_TELL_STATUS;
}

static void done(struct sim_map *m, const struct sim_commit_share *share)
{
	uint32_t player = share->player;
	struct sim_purse *purse = &m->purses[player];
	struct sim_bag *bag = &m->bags[player];
	struct sim_player *p = sim_player(m, player);

	if (share->loads != bag->loads)
		return; /* the details were loaded since, and have it */
	for (uint32_t i = 0; i < share->op_count; i++) {
		const struct commit_op *op = &share->op[i];

		if (op->who != share->who)
			continue;
		/* A quest's row that is made anew: where it stands says the second operation. */
		if (op->kind == COMMIT_QUEST && i + 1 < share->op_count &&
			op[1].kind == COMMIT_QUEST && op[1].item == op->item)
			continue;
		apply(m, player, op);
		if (op->kind != COMMIT_QUEST) /* that says itself what to tell */
			p->tell |= op->kind == COMMIT_SLOT ? SIM_TELL_BAG : SIM_TELL_STATUS;
		if (op->kind == COMMIT_SLOT && op->slot >= COMMIT_EQUIP_FIRST)
			sim_body_player(m, player, false);
	}
	if (!bag->balance_known || share->number > bag->balance_number) {
		bag->balance_known = true;
		bag->balance_number = share->number;
		p->gold = share->gold;
		purse->experience = share->experience;
		level_up(m, player);
	}
}

void sim_commit_reload(struct sim_map *m, uint32_t player)
{
	struct sim_player *p = sim_player(m, player);

	if (p->detail == SIM_DETAIL_READY && p->state == SIM_PLAYER_PRESENT) {
		p->detail = SIM_DETAIL_WANTED;
		p->detail_beat = m->beat;
		sim_lazy_push(m, &m->lazy, player);
	}
}

void sim_commit_settle(struct sim_map *m, const struct sim_commit_share *share)
{
	m->bags[share->player].commits--;
	mark(m, share->player, share->who, share->op, share->op_count, false);
	if (share->result == COMMIT_RESULT_OK)
		done(m, share);
	else if (share->result != COMMIT_RESULT_UNAVAILABLE &&
		 share->result != COMMIT_RESULT_EXPIRED) {
		sim_count(m->shard, SIM_COMMITS_REFUSED, 1);
		sim_commit_reload(m, share->player);
	}
}

static void take_effect(struct sim_map *m, struct sim_commit *commit)
{
	uint32_t player = commit->player;
	struct sim_player *p = sim_player(m, player);
	bool ok = commit->result == COMMIT_RESULT_OK;
	bool here = m->entities[player].generation == commit->generation &&
		    (p->state == SIM_PLAYER_PRESENT || p->state == SIM_PLAYER_LEAVING);

	if (commit->loot != SIM_NONE)
		sim_loot_settled(m, commit->loot, ok, commit->action == SW_MSG_PICK_UP);
	if (commit->purpose == SIM_COMMIT_INTENT)
		sim_intent_answered(m, commit->job, (enum commit_result)commit->result);
	if (!here) {
		sim_count(m->shard, SIM_COMMITS_STALE, 1);
		return;
	}
	gains_done(m, player, commit);
	if (!ok && commit->action && p->state == SIM_PLAYER_PRESENT)
		sim_send_refused(m->shard, m, player, commit->action, SW__ACTION_REFUSAL__NOT_KEPT);
	sim_commit_settle(m, &(struct sim_commit_share){.player = player,
				     .loads = commit->loads,
				     .number = sim_commit_number(m, commit->request),
				     .result = commit->result,
				     .gold = commit->gold,
				     .experience = commit->experience,
				     .op = commit->op,
				     .op_count = commit->op_count});
	if (commit->purpose == SIM_COMMIT_SCRIPT)
		sim_dialogue_kept(m, player, commit->job, (enum commit_result)commit->result);
}

bool sim_commit_results(struct sim_map *m, struct sim_slice *slice)
{
	while (m->answered_count) {
		uint32_t place = m->answered[m->answered_head];

		if (slice->left <= 0)
			return false;
		m->answered_head = (m->answered_head + 1) % m->commits_max;
		m->answered_count--;
		take_effect(m, &m->commits[place]);
		m->commits[place].request[0] = 0;
		m->commit_free[m->commit_free_count++] = place;
		slice->left -= SIM_COST_LIFE + sim_work_taken(m);
	}
	return true;
}
