#include "simulation/npc.h"

#include <errno.h>
#include <stdio.h>
#include <stdlib.h>

#include "proto/client.pb-c.h"
#include "simulation/combat.h"
#include "simulation/deed.h"
#include "simulation/dialogue.h"
#include "simulation/entity.h"
#include "simulation/happening.h"
#include "simulation/intent.h"
#include "simulation/keep.h"
#include "simulation/match/match.h"
#include "simulation/match/script.h"
#include "simulation/random.h"
#include "simulation/script/script.h"
#include "simulation/send.h"
#include "simulation/transfer.h"

_Static_assert(SCRIPT_NAME_BYTES == SIM_GAME_NAME_BYTES, "a monster's is its kind's");
_Static_assert(SCRIPT_NAME_BYTES == CHARACTER_NAME_BYTES, "an actor's name fits either way");

/* ---- what the map provides to its script ---- */

static bool op_actor(void *ctx, uint64_t actor, struct script_actor *out)
{
	const struct sim_map *m = ctx;
	uint32_t slot = sim_slot_of_handle(m, actor);

	if (slot == SIM_NONE)
		slot = sim_slot_of_monster(m, actor); /* a corpse */
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
	if (sim_is_monster(m, slot))
		memcpy(out->name, m->game->kinds[m->monsters[sim_monster_of(m, slot)].kind].name,
			SCRIPT_NAME_BYTES);
	out->has_body = sim_is_monster(m, slot) || out->detailed;
	out->health = m->bodies[slot].health;
	out->health_max = m->bodies[slot].health_max;
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

/* What a handler leaves that nobody waits for, and that no NPC gives, is an intent: it is tried
 * until it can be had. */
static enum script_kept leave(
	struct sim_map *m, uint32_t player, const struct script_change *changes, uint32_t count)
{
	return sim_intend(m, "", player, changes, count) == SCRIPT_INTENT_OK ? SCRIPT_KEPT_PENDING
									     : SCRIPT_KEPT_BUSY;
}

static enum script_kept op_keep(void *ctx, uint64_t npc, uint64_t player,
	const struct script_change *changes, uint32_t count, uint32_t job)
{
	struct sim_map *m = ctx;
	uint32_t from = sim_slot_of_handle(m, npc), to = sim_slot_of_handle(m, player);
	enum script_kept kept = SCRIPT_KEPT_NOT_READY;

	if (npc == HANDLE_NONE && !job)
		return leave(m, to, changes, count);
	if ((npc == HANDLE_NONE || is_npc(m, from)) && to < m->player_slots)
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

static uint32_t op_players(void *ctx)
{
	return ((struct sim_map *)ctx)->players;
}

static bool op_wait(void *ctx, uint64_t player, uint32_t seconds, uint32_t job)
{
	struct sim_map *m = ctx;
	uint32_t slot = sim_slot_of_handle(m, player);

	return slot < m->player_slots && sim_dialogue_wait(m, slot, seconds, job);
}

static void op_item_look(void *ctx, uint32_t number, struct script_item *out)
{
	const struct sim_item *item = sim_game_item(((struct sim_map *)ctx)->game, number);

	if (item)
		*out = (struct script_item){item->stack_max, item->attack, item->defence};
}

static void op_quest_row(void *ctx, uint32_t quest, struct script_quest_row *out)
{
	const struct sim_quest *row = &((struct sim_map *)ctx)->game->quests[quest];

	*out = (struct script_quest_row){row->title, row->level, row->gold, row->experience};
}

static uint32_t op_kind(void *ctx, const char *name)
{
	return sim_game_kind(((struct sim_map *)ctx)->game, name);
}

static uint32_t op_card(void *ctx, const char *name)
{
	const struct sim_game *game = ((struct sim_map *)ctx)->game;

	for (uint32_t i = 0; i < game->card_count; i++)
		if (!strcmp(game->cards[i].name, name))
			return i;
	return UINT32_MAX;
}

static enum script_intent op_intend(void *ctx, const char *key, uint64_t player,
	const struct script_change *changes, uint32_t count)
{
	struct sim_map *m = ctx;

	return sim_intend(m, key, sim_slot_of_handle(m, player), changes, count);
}

static const struct script_ops ops = {.actor = op_actor,
	.say = op_say,
	.move = op_move,
	.random = op_random,
	.tick = op_tick,
	.place = op_place,
	.send = op_send,
	.item = op_item,
	.count_item = op_count_item,
	.quest = op_quest,
	.quest_look = op_quest_look,
	.keep = op_keep,
	.ask = op_ask,
	.party = op_party,
	.shout = sim_deed_shout,
	.announce = sim_deed_announce,
	.near = sim_deed_near,
	.players = op_players,
	.wait = op_wait,
	.item_look = op_item_look,
	.quest_row = op_quest_row,
	.kind = op_kind,
	.card = op_card,
	.deed = sim_deed_do,
	.intend = op_intend,
	.match_ms = sim_match_script_ms,
	.move_match = sim_match_script_move,
	.match_players = sim_match_script_players,
	.offer = sim_match_script_offer};

/* ---- set-up ---- */

int sim_npc_load(struct sim_map *m, const struct sim_npc_script *from, struct script_vm **vm,
	char *error, size_t error_bytes)
{
	struct script_config script;
	char why[1024] = "";
	enum script_result result;
	int status;

	script_config_defaults(&script);
	snprintf(script.map, sizeof(script.map), "%s", m->config.name);
	script.index = m->number;
	script.tick_hz = m->config.tick_hz;
	script.version = from->version;
	script.side = from->side;
	script.vms_before = from->vms_before;
	script.memory_bytes = from->memory_bytes;
	script.watchdog = from->watchdog;
	script.region = from->region;
	script.counters = from->counters;
	status = script_vm_new(vm, &script, &ops, m);
	if (status) {
		*vm = NULL;
		snprintf(error, error_bytes, "map %s: script VM: %s", m->config.name,
			strerror(-status));
		return status;
	}
	result = script_vm_load(*vm, from->path, from->text, from->bytes, why, sizeof(why));
	if (result != SCRIPT_OK) {
		snprintf(error, error_bytes, "map %s: %s (%s)", m->config.name, why,
			script_result_name(result));
		return -EINVAL;
	}
	return 0;
}

static bool has_rule(const struct script_vm *vm)
{
	return script_vm_find(vm, SCRIPT_HANDLER_RULE_TICK, "") != UINT32_MAX;
}

uint32_t sim_npc_slots(uint32_t declared)
{
	uint32_t slots = declared + declared / 4 + 16;

	return slots < SCRIPT_NPCS_MAX ? slots : SCRIPT_NPCS_MAX;
}

int sim_npc_check(
	const struct sim_map *m, const struct script_vm *vm, char *error, size_t error_bytes)
{
	for (uint32_t i = 0; i < script_vm_npc_count(vm); i++) {
		const struct script_npc *declared = script_vm_npc(vm, i);

		if (sim_position_legal(m, declared->x_mm, declared->y_mm))
			continue;
		snprintf(error, error_bytes,
			"map %s: NPC %s stands outside the map or in a wall, at %d, %d mm",
			m->config.name, declared->name, declared->x_mm, declared->y_mm);
		return -EINVAL;
	}
	if (m->match.rule == &sim_match_script && !has_rule(vm)) {
		snprintf(error, error_bytes,
			"map %s: its rule is script, and its script has no rule { on_tick = ... }",
			m->config.name);
		return -EINVAL;
	}
	return 0;
}

void sim_npc_place(struct sim_map *m)
{
	for (uint32_t i = 0; i < m->npc_slots; i++) {
		struct sim_npc *npc = &m->npcs[i];

		npc->index[0] = npc->index[1] = SIM_NONE;
		if (i >= script_vm_npc_count(m->script))
			continue;
		npc->index[m->reload.side] = i;
		npc->coming = true;
		m->reload.coming++;
	}
	sim_happenings_find(m);
	if (m->script)
		sim_npc_appear(m);
}

void sim_npc_appear(struct sim_map *m)
{
	for (uint32_t i = 0; i < m->npc_slots && m->reload.coming; i++) {
		uint32_t slot = m->player_slots + i, index = m->npcs[i].index[m->reload.side];
		struct sim_npc *npc = &m->npcs[i];
		const struct script_npc *declared;

		if (!npc->coming || m->entities[slot].cell != SIM_NONE ||
			m->entities[slot].known_by)
			continue;
		declared = script_vm_npc(m->script, index);
		memcpy(npc->name, declared->name, sizeof(npc->name));
		npc->name_bytes = (uint8_t)strnlen(npc->name, sizeof(npc->name) - 1);
		npc->appearance = declared->appearance & 0xffffff;
		npc->has_tick = declared->has_tick;
		npc->rests_until = m->beat;
		m->npc_ticks += declared->has_tick;
		npc->coming = false;
		m->reload.coming--;
		sim_entity_appear(m, slot, SIM_NPC, declared->x_mm, declared->y_mm, 0);
		script_vm_bind(m->script, index, sim_handle(m, slot));
	}
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

bool sim_npc_result(
	struct sim_map *m, uint32_t player, uint32_t job, enum script_result result)
{
	m->script_left_ns -= cost_of(result, SIM_COST_SCRIPT);
	tell_over_time(m, result);
	if (result == SCRIPT_SUSPENDED)
		sim_player(m, player)->job = job;
	return result == SCRIPT_OK || result == SCRIPT_NO_HANDLER || result == SCRIPT_WAITING ||
	       result == SCRIPT_SUSPENDED;
}

uint32_t sim_npc_click(struct sim_map *m, uint32_t npc, uint32_t player, uint32_t *cost)
{
	enum script_result result;

	*cost += SIM_COST_SCRIPT;
	result = script_vm_click(m->script, m->npcs[npc - m->player_slots].index[m->reload.side],
		sim_handle(m, player));
	if (result == SCRIPT_NO_ROOM)
		return SW__ACTION_REFUSAL__BUSY;
	return sim_npc_result(m, player, script_vm_job(m->script), result)
		       ? SW__ACTION_REFUSAL__ACTION_REFUSAL_NONE
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

/* The share of the tick's budget is the same for all: who took more rests until it has earned it.
 */
static void npc_ran(struct sim_map *m, uint32_t i, enum script_result result)
{
	int64_t cost_ns = cost_of(result, SIM_COST_SCRIPT_TICK);
	int64_t share_ns =
		(int64_t)m->shard->script_tick_us * 1000 / (m->npc_ticks ? m->npc_ticks : 1);

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
bool sim_npc_spent(struct sim_map *m)
{
	if (!script_vm_spent(m->script))
		return m->script_left_ns <= 0;
	if (m->shard->record && m->script_left_ns > 0)
		sim_record_over_time(m->shard->record, m);
	m->script_left_ns = m->script_left_ns < 0 ? m->script_left_ns : 0;
	return true;
}

void sim_npc_event(
	struct sim_map *m, enum script_context context, uint32_t player, enum script_result result)
{
	m->script_left_ns -= cost_of(result, SIM_COST_SCRIPT);
	tell_over_time(m, result);
	/* It is the player's, and ends with his stay. */
	if (result == SCRIPT_SUSPENDED && context == SCRIPT_CONTEXT_QUEST)
		sim_player(m, player)->job = script_vm_job(m->script);
}

/* Handlers that took longer than a slice. */
static bool go_on(struct sim_map *m, struct sim_slice *slice, int64_t least_ns)
{
	struct script_vm *before = m->reload.vm[!m->reload.side];
	struct script_gone_on gone;
	enum script_result result;
	uint32_t player;

	while (m->script_left_ns > least_ns && !sim_npc_spent(m)) {
		if (slice->left <= 0)
			return false;
		if (!script_vm_go_on(m->script, &gone, &result) &&
			(!before || !script_vm_go_on(before, &gone, &result)))
			break;
		slice->left -= SIM_COST_SCRIPT;
		player = sim_slot_of_handle(m, gone.player);
		if (gone.context != SCRIPT_CONTEXT_NPC_CLICK || player >= m->player_slots) {
			if (gone.context == SCRIPT_CONTEXT_QUEST && player < m->player_slots &&
				sim_player(m, player)->job == gone.job && result != SCRIPT_WAITING)
				sim_player(m, player)->job = 0;
			sim_npc_event(m, gone.context, player, result);
			continue;
		}
		if (sim_player(m, player)->job == gone.job && result != SCRIPT_WAITING)
			sim_player(m, player)->job = 0;
		if (!sim_npc_result(m, player, gone.job, result))
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
		if (sim_npc_spent(m)) {
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
		npc_ran(m, i, script_vm_tick(m->script, m->npcs[i].index[m->reload.side]));
		slice->left -= SIM_COST_SCRIPT_TICK;
	}
	return true;
}

/* Clicks that go on are first in every other tick, for half of the budget, so that neither they nor
 * the ticks starve the others. */
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
	/* What still runs on the version before leaves garbage there. */
	if (m->reload.vm[!m->reload.side] &&
		script_vm_under_way(m->reload.vm[!m->reload.side]))
		script_vm_gc(m->reload.vm[!m->reload.side]);
	return true;
}
