#include "simulation/npc.h"

#include <errno.h>
#include <stdio.h>
#include <stdlib.h>

#include "proto/client.pb-c.h"
#include "simulation/dialogue.h"
#include "simulation/entity.h"
#include "simulation/keep.h"
#include "simulation/random.h"
#include "simulation/script/script.h"
#include "simulation/send.h"
#include "simulation/transfer.h"

_Static_assert(SCRIPT_NAME_BYTES == CHARACTER_NAME_BYTES, "an actor's name fits either way");

/* ---- what the map provides to its script ---- */

static bool op_actor(void *ctx, uint64_t actor, struct script_actor *out)
{
	const struct sim_map *m = ctx;
	uint32_t slot = sim_slot_of_handle(m, actor);

	if (slot == SIM_NONE)
		return false;
	memset(out, 0, sizeof(*out));
	out->x_mm = m->entities[slot].x_mm;
	out->y_mm = m->entities[slot].y_mm;
	out->kind = (enum script_actor_kind)m->entities[slot].kind;
	if (slot < m->player_slots) {
		const struct sim_player *p = &m->players_table[slot];

		memcpy(out->name, p->name, CHARACTER_NAME_BYTES);
		out->detailed = p->detail == SIM_DETAIL_READY;
		out->level = p->level;
		out->gold = p->gold;
	}
	if (slot >= m->player_slots && slot < m->player_slots + m->npc_slots)
		memcpy(out->name, m->npcs[slot - m->player_slots].name, CHARACTER_NAME_BYTES);
	return true;
}

static bool op_say(void *ctx, uint64_t npc, uint64_t player, const char *text, uint32_t bytes)
{
	struct sim_map *m = ctx;
	uint32_t from = sim_slot_of_handle(m, npc), to = sim_slot_of_handle(m, player);
	Sw__Dialogue dialogue = SW__DIALOGUE__INIT;
	char copy[SCRIPT_SAY_BYTES + 1];

	if (from == SIM_NONE || to == SIM_NONE || to >= m->player_slots || bytes > SCRIPT_SAY_BYTES)
		return false;
	memcpy(copy, text, bytes);
	copy[bytes] = '\0';
	dialogue.actor_id = m->entities[from].wire_id;
	dialogue.text = copy;
	return sim_send_reliable(m->shard, m, to, SW_CHANNEL_SESSION,
		(uint32_t)sw__dialogue__pack(&dialogue, sim_send_begin(m->shard, SW_MSG_DIALOGUE)));
}

static void op_move(void *ctx, uint64_t npc, int8_t dx, int8_t dy)
{
	struct sim_map *m = ctx;
	uint32_t slot = sim_slot_of_handle(m, npc);

	if (slot == SIM_NONE || slot < m->player_slots || slot >= m->player_slots + m->npc_slots)
		return;
	m->npcs[slot - m->player_slots].dx = dx;
	m->npcs[slot - m->player_slots].dy = dy;
}

static uint64_t op_random(void *ctx)
{
	return sim_random(&((struct sim_map *)ctx)->random);
}

static uint32_t op_tick(void *ctx)
{
	return ((struct sim_map *)ctx)->tick;
}

static bool op_place(void *ctx, const char *tag, int32_t *x_mm, int32_t *y_mm)
{
	const struct sw_ground *ground = ((struct sim_map *)ctx)->rules.ground;
	const struct sw_ground_npc *npc = ground ? sw_ground_npc_find(ground, tag) : NULL;

	if (!npc)
		return false;
	*x_mm = npc->x_mm;
	*y_mm = npc->y_mm;
	return true;
}

static bool op_send(
	void *ctx, uint64_t player, const char *map, bool has_position, int32_t x_mm, int32_t y_mm)
{
	struct sim_map *m = ctx;
	uint32_t slot = sim_slot_of_handle(m, player);
	const struct sim_spawn spawn = {.has_position = has_position, .x_mm = x_mm, .y_mm = y_mm};

	return slot < m->player_slots && sim_player_transfer(m, slot, map, &spawn);
}

static uint32_t op_item(void *ctx, const char *name)
{
	const struct sim_item *item = sim_game_item_named(((struct sim_map *)ctx)->game, name);

	return item ? item->number : 0;
}

static uint32_t op_party(void *ctx, uint64_t player, const char *names[SCRIPT_PARTY_MAX])
{
	const struct sim_map *m = ctx;
	const struct sim_party_table *table = &m->parties.table;
	uint32_t slot = sim_slot_of_handle(m, player), party;

	_Static_assert(SCRIPT_PARTY_MAX == PARTY_MEMBERS_MAX, "room for the largest party");
	if (slot >= m->player_slots || table->seats[slot].party == SIM_PARTY_NONE)
		return 0;
	party = table->seats[slot].party;
	for (uint32_t i = 0; i < table->parties[party].member_count; i++)
		names[i] = sim_party_members(table, party)[i].name;
	return table->parties[party].member_count;
}

static uint32_t op_count_item(void *ctx, uint64_t player, uint32_t item)
{
	const struct sim_map *m = ctx;
	uint32_t slot = sim_slot_of_handle(m, player), count = 0;

	if (slot >= m->player_slots || m->players_table[slot].detail != SIM_DETAIL_READY)
		return 0;
	for (uint32_t i = 0; i < COMMIT_BAG_SLOTS; i++)
		if (m->bags[slot].stack[i].item == item)
			count += m->bags[slot].stack[i].count;
	return count;
}

static uint32_t op_quest(void *ctx, const char *name)
{
	return sim_quest_find(((struct sim_map *)ctx)->game, name);
}

static void op_quest_look(void *ctx, uint64_t player, uint32_t quest, struct script_quest *out)
{
	const struct sim_map *m = ctx;
	uint32_t slot = sim_slot_of_handle(m, player);

	*out = (struct script_quest){.phase = SCRIPT_QUEST_UNKNOWN};
	if (slot < m->player_slots)
		sim_keep_quest(m, slot, quest, out);
}

static bool is_npc(const struct sim_map *m, uint32_t slot)
{
	return slot >= m->player_slots && slot < m->player_slots + m->npc_slots;
}

static enum script_kept op_keep(void *ctx, uint64_t npc, uint64_t player,
	const struct script_change *changes, uint32_t count, uint32_t job)
{
	struct sim_map *m = ctx;
	uint32_t from = sim_slot_of_handle(m, npc), to = sim_slot_of_handle(m, player);
	enum script_kept kept = SCRIPT_KEPT_NOT_READY;

	if (is_npc(m, from) && to < m->player_slots)
		kept = sim_keep(m, from, to, changes, count, job);
	if (kept == SCRIPT_KEPT_PENDING)
		sim_player(m, to)->job = job;
	else if (kept != SCRIPT_KEPT_OK && !job && to < m->player_slots)
		sim_send_refused(m->shard, m, to, SW_MSG_CLICK, SW__ACTION_REFUSAL__NOT_KEPT);
	return kept;
}

static bool op_ask(void *ctx, uint64_t npc, uint64_t player, const struct script_question *question,
	uint32_t job)
{
	struct sim_map *m = ctx;
	uint32_t from = sim_slot_of_handle(m, npc), to = sim_slot_of_handle(m, player);

	return is_npc(m, from) && to < m->player_slots &&
	       sim_dialogue_ask(m, from, to, question, job);
}

static const struct script_ops ops = {op_actor, op_say, op_move, op_random, op_tick, op_place,
	op_send, op_item, op_count_item, op_quest, op_quest_look, op_keep, op_ask, op_party};

/* ---- set-up ---- */

int sim_npc_load(
	struct sim_map *m, const struct sim_npc_script *from, char *error, size_t error_bytes)
{
	struct script_config script;
	char why[1024] = "";
	enum script_result result;
	int status;

	script_config_defaults(&script);
	snprintf(script.map, sizeof(script.map), "%s", m->config.name);
	script.index = m->number;
	script.version = from->version;
	script.memory_bytes = from->memory_bytes;
	script.watchdog = from->watchdog;
	script.region = from->region;
	script.counters = from->counters;
	status = script_vm_new(&m->script, &script, &ops, m);
	if (status) {
		snprintf(error, error_bytes, "map %s: script VM: %s", m->config.name,
			strerror(-status));
		return status;
	}
	result = script_vm_load(m->script, from->path, from->text, from->bytes, why, sizeof(why));
	if (result != SCRIPT_OK) {
		snprintf(error, error_bytes, "map %s: %s (%s)", m->config.name, why,
			script_result_name(result));
		return -EINVAL;
	}
	m->npc_slots = script_vm_npc_count(m->script);
	return 0;
}

int sim_npc_place(struct sim_map *m, char *error, size_t error_bytes)
{
	for (uint32_t i = 0; i < m->npc_slots; i++) {
		const struct script_npc *declared = script_vm_npc(m->script, i);
		struct sim_npc *npc = &m->npcs[i];
		uint32_t slot = m->player_slots + i;

		if (!sim_position_legal(m, declared->x_mm, declared->y_mm)) {
			snprintf(error, error_bytes,
				"map %s: NPC %s stands outside the map or in a wall, at %d, %d mm",
				m->config.name, declared->name, declared->x_mm, declared->y_mm);
			return -EINVAL;
		}
		memcpy(npc->name, declared->name, sizeof(npc->name));
		npc->name_bytes = (uint8_t)strnlen(npc->name, sizeof(npc->name) - 1);
		npc->appearance = declared->appearance & 0xffffff;
		npc->has_tick = declared->has_tick;
		m->npc_ticks += declared->has_tick;
		sim_entity_appear(m, slot, SIM_NPC, declared->x_mm, declared->y_mm, 0);
		script_vm_bind(m->script, i, sim_handle(m, slot));
	}
	return 0;
}

/* ---- handlers ---- */

static int64_t cost_of(enum script_result result, int64_t usual_ns)
{
	return result == SCRIPT_OVER_TIME || result == SCRIPT_OVER_STEPS ||
			       result == SCRIPT_SUSPENDED
		       ? SCRIPT_SLICE_US * 1000
		       : usual_ns;
}

/* Where it was stopped depends on the CPU's time: a replay may differ from here on. */
static void tell_over_time(struct sim_map *m, enum script_result result)
{
	if (m->shard->record && (result == SCRIPT_OVER_TIME || result == SCRIPT_SUSPENDED))
		sim_record_over_time(m->shard->record, m);
}

bool sim_npc_result(struct sim_map *m, uint32_t player, enum script_result result)
{
	m->script_left_ns -= cost_of(result, SIM_COST_SCRIPT);
	tell_over_time(m, result);
	if (result == SCRIPT_SUSPENDED)
		sim_player(m, player)->job = script_vm_job(m->script);
	return result == SCRIPT_OK || result == SCRIPT_NO_HANDLER || result == SCRIPT_WAITING ||
	       result == SCRIPT_SUSPENDED;
}

uint32_t sim_npc_click(struct sim_map *m, uint32_t npc, uint32_t player, uint32_t *cost)
{
	enum script_result result;

	*cost += SIM_COST_SCRIPT;
	result = script_vm_click(m->script, npc - m->player_slots, sim_handle(m, player));
	if (result == SCRIPT_NO_ROOM)
		return SW__ACTION_REFUSAL__BUSY;
	return sim_npc_result(m, player, result) ? SW__ACTION_REFUSAL__ACTION_REFUSAL_NONE
					 : SW__ACTION_REFUSAL__SCRIPT_FAILED;
}

/* The handler's intent lasts for this tick. */
static void npc_walk(struct sim_map *m, uint32_t i)
{
	struct sim_npc *npc = &m->npcs[i];
	uint32_t slot = m->player_slots + i;

	if (npc->dx || npc->dy || m->entities[slot].moving_mm_per_s)
		sim_entity_walk(m, slot, SIM_NPC_MM_PER_S, npc->dx, npc->dy);
	npc->dx = npc->dy = 0;
}

/* The share of the tick's budget is the same for all: who took more rests until it has earned it. */
static void npc_ran(struct sim_map *m, uint32_t i, enum script_result result)
{
	int64_t cost_ns = cost_of(result, SIM_COST_SCRIPT_TICK);
	int64_t share_ns = (int64_t)m->shard->script_tick_us * 1000 / (m->npc_ticks ? m->npc_ticks : 1);

	m->script_left_ns -= cost_ns;
	tell_over_time(m, result);
	if (cost_ns > share_ns && cost_ns > SIM_COST_SCRIPT_TICK) {
		int64_t beats = cost_ns / (share_ns + 1);

		if (beats > SIM_SCRIPT_REST_S * m->config.tick_hz)
			beats = SIM_SCRIPT_REST_S * m->config.tick_hz;
		m->npcs[i].rests_until = m->beat + 1 + (uint32_t)beats;
	}
	npc_walk(m, i);
}

/* The watchdog saw the handlers use up the tick's budget, which what each is counted with did not
 * tell. */
static bool spent(struct sim_map *m)
{
	if (!script_vm_spent(m->script))
		return m->script_left_ns <= 0;
	if (m->shard->record && m->script_left_ns > 0)
		sim_record_over_time(m->shard->record, m);
	m->script_left_ns = m->script_left_ns < 0 ? m->script_left_ns : 0;
	return true;
}

/* Handlers of clicks that took longer than a slice. */
static bool go_on(struct sim_map *m, struct sim_slice *slice, int64_t least_ns)
{
	struct script_gone_on gone;
	enum script_result result;
	uint32_t player;

	while (m->script_left_ns > least_ns && !spent(m)) {
		if (slice->left <= 0)
			return false;
		if (!script_vm_go_on(m->script, &gone, &result))
			break;
		slice->left -= SIM_COST_SCRIPT;
		player = sim_slot_of_handle(m, gone.player);
		if (player >= m->player_slots)
			continue;
		if (sim_player(m, player)->job == gone.job && result != SCRIPT_WAITING)
			sim_player(m, player)->job = 0;
		if (!sim_npc_result(m, player, result))
			sim_send_refused(m->shard, m, player, SW_MSG_CLICK,
				SW__ACTION_REFUSAL__SCRIPT_FAILED);
	}
	return true;
}

static bool each_tick(struct sim_shard *s, struct sim_map *m, struct sim_slice *slice)
{
	for (; m->cursor < m->npc_slots; m->cursor++) {
		uint32_t i = (m->npc_next + m->cursor) % m->npc_slots;

		if (slice->left <= 0)
			return false;
		slice->left -= SIM_COST_SLOT;
		if (!m->npcs[i].has_tick)
			continue;
		if (spent(m)) {
			/* Whoever waits is first next time; nobody waits for ever. */
			m->npc_next = i;
			m->cursor = m->npc_slots;
			sim_count(s, SIM_SCRIPT_TICKS_CUT, 1);
			break;
		}
		if ((int32_t)(m->npcs[i].rests_until - m->beat) > 0) {
			sim_count(s, SIM_SCRIPT_TICKS_RESTED, 1);
			continue;
		}
		npc_ran(m, i, script_vm_tick(m->script, i));
		slice->left -= SIM_COST_SCRIPT_TICK;
	}
	return true;
}

/* Clicks that go on are first in every other tick, for half of the budget, so that neither they nor the
 * ticks starve the others. */
bool sim_npc_ticks(struct sim_shard *s, struct sim_map *m, struct sim_slice *slice)
{
	if (!m->script)
		return true;
	if (m->cursor == 0 && m->beat % 2 &&
		!go_on(m, slice, (int64_t)s->script_tick_us * 1000 / 2))
		return false;
	if (!each_tick(s, m, slice) || !go_on(m, slice, 0))
		return false;
	script_vm_gc(m->script);
	return true;
}
