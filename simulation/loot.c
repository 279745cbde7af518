#include "simulation/loot.h"

#include "common/check.h"
#include "proto/client.pb-c.h"
#include "simulation/bag.h"
#include "simulation/combat.h"
#include "simulation/commit.h"
#include "simulation/entity.h"
#include "simulation/random.h"

#define SEARCH_MAX 64u /* places looked at for one that is free */

/* A place whose last entity nobody knows any more. */
static uint32_t take_place(struct sim_map *m)
{
	for (uint32_t n = 0; n < m->loot_slots && n < SEARCH_MAX; n++) {
		uint32_t i = m->loot_next;
		const struct sim_entity *e = &m->entities[sim_loot_slot(m, i)];

		sim_work(m, SIM_COST_PLACE);
		m->loot_next = (m->loot_next + 1) % m->loot_slots;
		if (m->loot[i].state == SIM_LOOT_FREE && e->cell == SIM_NONE && !e->known_by)
			return i;
	}
	return SIM_NONE;
}

static void come(struct sim_map *m, uint32_t i)
{
	m->loot[i].state = SIM_LOOT_COMING;
	m->coming[m->coming_count++] = i;
}

static bool fall(struct sim_map *m, const struct sim_entity *e, const struct sim_item *item,
	uint32_t count, uint32_t owner)
{
	uint32_t i = take_place(m);
	struct sim_loot *loot;

	if (i == SIM_NONE) {
		sim_count(m->shard, SIM_LOOT_LOST, 1);
		return false;
	}
	loot = &m->loot[i];
	*loot = (struct sim_loot){.item = item->number,
		.count = count,
		.serial = item->stack_max == 1 ? sim_random(&m->shard->serials) | 1 : 0,
		.owner = owner,
		.owner_generation = owner == SIM_NONE ? 0 : m->entities[owner].generation,
		.owner_beat = m->beat + SIM_LOOT_OWNER_S * m->config.tick_hz,
		.x_mm = e->x_mm + (int32_t)sim_random_below(&m->random, 2 * SIM_LOOT_BESIDE_MM) -
			SIM_LOOT_BESIDE_MM,
		.y_mm = e->y_mm + (int32_t)sim_random_below(&m->random, 2 * SIM_LOOT_BESIDE_MM) -
			SIM_LOOT_BESIDE_MM};
	/* Where one can get at it from the corpse. */
	if (!sim_position_legal(m, loot->x_mm, loot->y_mm) ||
		!sw_move_reaches(&m->rules, e->x_mm, e->y_mm, loot->x_mm, loot->y_mm,
			2 * SIM_LOOT_BESIDE_MM)) {
		loot->x_mm = e->x_mm;
		loot->y_mm = e->y_mm;
	}
	come(m, i);
	return true;
}

bool sim_loot_leave(
	struct sim_map *m, uint32_t slot, uint32_t item, uint32_t count, uint32_t owner)
{
	const struct sim_item *row = sim_game_item(m->game, item);

	return row && count <= row->stack_max && fall(m, &m->entities[slot], row, count, owner);
}

void sim_loot_fall(struct sim_map *m, uint32_t monster_slot, const struct sim_monster_kind *kind,
	uint32_t owner)
{
	for (uint32_t d = kind->drop_first; d < kind->drop_first + kind->drop_count; d++) {
		const struct sim_drop *drop = &m->game->drops[d];
		uint32_t count;

		if (sim_random_below(&m->random, 1000) >= drop->chance_permille)
			continue;
		count = drop->count_min +
			sim_random_below(&m->random, drop->count_max - drop->count_min + 1);
		fall(m, &m->entities[monster_slot], &m->game->items[drop->item], count, owner);
	}
}

uint32_t sim_loot_pick(struct sim_map *m, uint32_t player, uint32_t actor_id)
{
	uint32_t target = sim_slot_of_wire_id(m, actor_id), refusal, to;
	const struct sim_entity *self = &m->entities[player], *e;
	struct sim_loot *loot;
	struct commit_op op = {.kind = COMMIT_SLOT};

	if (sim_player(m, player)->detail != SIM_DETAIL_READY)
		return SW__ACTION_REFUSAL__NOT_READY;
	if (!sim_is_alive(m, player))
		return SW__ACTION_REFUSAL__DEAD;
	if (target == SIM_NONE || (target != player && !sim_knows(m, player, target)))
		return SW__ACTION_REFUSAL__NO_SUCH_ACTOR;
	e = &m->entities[target];
	if (e->kind != SIM_LOOT)
		return SW__ACTION_REFUSAL__WRONG_TARGET;
	loot = &m->loot[target - sim_loot_slot(m, 0)];
	if (loot->state != SIM_LOOT_LIES)
		return SW__ACTION_REFUSAL__TAKEN;
	if (loot->owner != SIM_NONE && (int32_t)(m->beat - loot->owner_beat) < 0 &&
		(loot->owner != player || loot->owner_generation != self->generation))
		return SW__ACTION_REFUSAL__NOT_YOURS;
	refusal = sim_reach(m, player, target, SIM_PICK_RANGE_MM);
	if (refusal)
		return refusal;
	to = sim_bag_room(m, player, loot->item, loot->count, loot->serial);
	if (to == SIM_NONE)
		return SW__ACTION_REFUSAL__BAG_FULL;
	op.slot = (uint16_t)to;
	op.item = loot->item;
	op.amount = loot->count;
	op.serial = loot->serial;
	if (!sim_commit_ask(m, player, COMMIT_REASON_LOOT, SW_MSG_PICK_UP,
		    target - sim_loot_slot(m, 0), &op, 1))
		return SW__ACTION_REFUSAL__BUSY;
	loot->state = SIM_LOOT_RESERVED;
	return SW__ACTION_REFUSAL__ACTION_REFUSAL_NONE;
}

uint32_t sim_loot_reserve(
	struct sim_map *m, uint32_t player, uint32_t item, uint32_t count, uint64_t serial)
{
	uint32_t i = take_place(m);

	if (i == SIM_NONE)
		return SIM_NONE;
	m->loot[i] = (struct sim_loot){.item = item,
		.count = count,
		.serial = serial,
		.owner = SIM_NONE,
		.x_mm = m->entities[player].x_mm,
		.y_mm = m->entities[player].y_mm,
		.state = SIM_LOOT_PROMISED};
	return i;
}

void sim_loot_release(struct sim_map *m, uint32_t i)
{
	m->loot[i].state = SIM_LOOT_FREE;
}

static void vanish(struct sim_map *m, uint32_t i)
{
	m->loot[i].state = SIM_LOOT_FREE;
	m->fallen[m->fallen_count++] = sim_loot_slot(m, i);
}

void sim_loot_settled(struct sim_map *m, uint32_t i, bool ok, bool picking)
{
	struct sim_loot *loot = &m->loot[i];

	if (!picking) {
		DCHECK(loot->state == SIM_LOOT_PROMISED);
		if (ok)
			come(m, i);
		else
			sim_loot_release(m, i);
		return;
	}
	DCHECK(loot->state == SIM_LOOT_RESERVED);
	if (ok) {
		vanish(m, i);
		sim_count(m->shard, SIM_LOOT_TAKEN, 1);
	} else {
		loot->state = SIM_LOOT_LIES;
	}
}

bool sim_loot_appear(struct sim_map *m, struct sim_slice *slice)
{
	for (; m->cursor < m->coming_count; m->cursor++) {
		struct sim_loot *loot = &m->loot[m->coming[m->cursor]];

		if (slice->left <= 0)
			return false;
		loot->state = SIM_LOOT_LIES;
		loot->expires_beat = m->beat + SIM_LOOT_S * m->config.tick_hz;
		sim_entity_appear(m, sim_loot_slot(m, m->coming[m->cursor]), SIM_LOOT, loot->x_mm,
			loot->y_mm, 0);
		sim_count(m->shard, SIM_LOOT_FELL, 1);
		slice->left -= SIM_COST_BACK + sim_work_taken(m);
	}
	m->coming_count = 0;
	return true;
}

uint32_t sim_loot_second(struct sim_map *m, uint32_t i)
{
	if (m->loot[i].state == SIM_LOOT_LIES &&
		(int32_t)(m->beat - m->loot[i].expires_beat) >= 0) {
		vanish(m, i);
		sim_count(m->shard, SIM_LOOT_EXPIRED, 1);
	}
	return SIM_COST_SLOT;
}
