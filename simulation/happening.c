#include "simulation/happening.h"

#include "simulation/combat.h"
#include "simulation/npc.h"

#define LOOK_BACK 16u /* notes looked at for an earlier blow of the same player */

static uint16_t find(const struct sim_map *m, enum script_handler handler, const char *name)
{
	uint32_t declaration = m->script ? script_vm_find(m->script, handler, name) : UINT32_MAX;

	return declaration < SIM_NOT_HANDLED ? (uint16_t)declaration : SIM_NOT_HANDLED;
}

void sim_happenings_find(struct sim_map *m)
{
	struct sim_handled *handled = &m->handled;

	if (!m->script)
		return;
	m->happening_count = 0;
	for (uint32_t i = 0; i < m->game->kind_count; i++) {
		const char *name = m->game->kinds[i].name;

		handled->kinds[i] =
			(struct sim_handled_kind){find(m, SCRIPT_HANDLER_MONSTER_HURT, name),
				find(m, SCRIPT_HANDLER_MONSTER_FIGHT, name),
				find(m, SCRIPT_HANDLER_MONSTER_DEATH, name)};
	}
	for (uint32_t i = 0; i < m->game->quest_count; i++) {
		const char *name = m->game->quests[i].name;

		handled->quests[i] =
			(struct sim_handled_quest){find(m, SCRIPT_HANDLER_QUEST_BEGIN, name),
				find(m, SCRIPT_HANDLER_QUEST_COMPLETE, name)};
	}
	handled->enter = find(m, SCRIPT_HANDLER_MAP_ENTER, "");
	handled->leave = find(m, SCRIPT_HANDLER_MAP_LEAVE, "");
}

static struct sim_happening *at(struct sim_map *m, uint32_t index)
{
	return &m->happenings[(m->happening_head + index) % SIM_HAPPENINGS_MAX];
}

/* NULL: there is no room. */
static struct script_event *note(
	struct sim_map *m, enum script_handler handler, uint16_t declaration)
{
	struct sim_happening *happening;

	if (m->happening_count == SIM_HAPPENINGS_MAX) {
		sim_count(m->shard, SIM_HAPPENINGS_LOST, 1);
		return NULL;
	}
	happening = at(m, m->happening_count++);
	*happening = (struct sim_happening){.beat = m->beat,
		.event = {.handler = handler,
			.declaration = declaration,
			.monster = HANDLE_NONE,
			.player = HANDLE_NONE}};
	return &happening->event;
}

/* The blows of one player in one tick are one. */
static bool merged(struct sim_map *m, const struct script_event *event)
{
	uint32_t looks = m->happening_count < LOOK_BACK ? m->happening_count : LOOK_BACK;

	for (uint32_t i = 1; i <= looks; i++) {
		struct sim_happening *earlier = at(m, m->happening_count - i);

		if (earlier->beat != m->beat)
			return false;
		if (earlier->event.handler == event->handler &&
			earlier->event.monster == event->monster &&
			earlier->event.player == event->player) {
			earlier->event.number += event->number;
			return true;
		}
	}
	return false;
}

void sim_happens_fight(struct sim_map *m, enum script_handler handler, uint32_t monster_slot,
	uint32_t player, uint32_t damage)
{
	const struct sim_handled_kind *kind;
	struct script_event event = {.handler = handler, .number = damage}, *noted;
	uint16_t declaration;

	if (!m->script)
		return;
	kind = &m->handled.kinds[m->monsters[sim_monster_of(m, monster_slot)].kind];
	declaration = handler == SCRIPT_HANDLER_MONSTER_HURT    ? kind->hurt
		      : handler == SCRIPT_HANDLER_MONSTER_DEATH ? kind->death
								: kind->fight;
	if (declaration == SIM_NOT_HANDLED)
		return;
	event.monster = sim_handle(m, monster_slot);
	event.player = sim_handle(m, player);
	if (handler == SCRIPT_HANDLER_MONSTER_HURT && merged(m, &event))
		return;
	noted = note(m, handler, declaration);
	if (!noted)
		return;
	noted->monster = event.monster;
	noted->player = event.player;
	noted->number = event.number;
}

void sim_happens_quest(struct sim_map *m, uint32_t player, uint32_t quest, bool complete)
{
	struct script_event *noted;
	uint16_t declaration;

	if (!m->script)
		return;
	declaration = complete ? m->handled.quests[quest].complete : m->handled.quests[quest].begin;
	if (declaration == SIM_NOT_HANDLED)
		return;
	noted = note(m, complete ? SCRIPT_HANDLER_QUEST_COMPLETE : SCRIPT_HANDLER_QUEST_BEGIN,
		declaration);
	if (noted)
		noted->player = sim_handle(m, player);
}

void sim_happens_enter(struct sim_map *m, uint32_t player)
{
	struct script_event *noted = NULL;

	if (m->script && m->handled.enter != SIM_NOT_HANDLED)
		noted = note(m, SCRIPT_HANDLER_MAP_ENTER, m->handled.enter);
	if (noted)
		noted->player = sim_handle(m, player);
}

void sim_happens_leave(struct sim_map *m, uint32_t player)
{
	struct script_event *noted = NULL;

	if (m->script && m->handled.leave != SIM_NOT_HANDLED)
		noted = note(m, SCRIPT_HANDLER_MAP_LEAVE, m->handled.leave);
	if (noted)
		memcpy(noted->name, sim_player(m, player)->name, CHARACTER_NAME_BYTES);
}

static struct script_event of_rule(
	struct sim_map *m, enum script_handler handler, uint32_t player, uint32_t number)
{
	return (struct script_event){.handler = handler,
		.declaration = m->script ? script_vm_find(m->script, handler, "") : UINT32_MAX,
		.monster = HANDLE_NONE,
		.player = player == SIM_NONE ? HANDLE_NONE : sim_handle(m, player),
		.number = number};
}

void sim_happens_rule(
	struct sim_map *m, enum script_handler handler, uint32_t player, uint32_t number)
{
	const struct script_event event = of_rule(m, handler, player, number);
	struct script_event *noted = NULL;

	if (event.declaration < SIM_NOT_HANDLED)
		noted = note(m, handler, (uint16_t)event.declaration);
	if (noted)
		*noted = event;
}

void sim_rule_run(struct sim_map *m, enum script_handler handler, uint32_t player, uint32_t number)
{
	const struct script_event event = of_rule(m, handler, player, number);

	if (event.declaration != UINT32_MAX)
		sim_npc_event(m, SCRIPT_CONTEXT_MATCH, player, script_vm_event(m->script, &event));
}

/* ---- running ---- */

/* A quest's handler may wait, and a player has one that does: the next one's turn comes later. */
static bool has_to_wait(struct sim_map *m, const struct script_event *event)
{
	uint32_t player;

	if (script_handler_rows[event->handler].context != SCRIPT_CONTEXT_QUEST)
		return false;
	player = sim_slot_of_handle(m, event->player);
	return player < m->player_slots && sim_player(m, player)->job != 0;
}

static bool is_gone(const struct sim_map *m, const struct script_event *event)
{
	return event->player != HANDLE_NONE && sim_slot_of_handle(m, event->player) == SIM_NONE;
}

static void run_first(struct sim_map *m)
{
	struct sim_happening happening = *at(m, 0);
	uint32_t player;

	m->happening_head = (m->happening_head + 1) % SIM_HAPPENINGS_MAX;
	m->happening_count--;
	if (is_gone(m, &happening.event))
		return;
	if (has_to_wait(m, &happening.event)) {
		*at(m, m->happening_count++) = happening;
		return;
	}
	player = sim_slot_of_handle(m, happening.event.player);
	sim_npc_event(m, script_handler_rows[happening.event.handler].context, player,
		script_vm_event(m->script, &happening.event));
}

bool sim_happenings_run(struct sim_map *m, struct sim_slice *slice)
{
	if (!m->script)
		return true;
	/* What comes in now, or has to wait, is for the next tick. */
	if (!m->cursor)
		m->quota = m->happening_count;
	m->cursor = 1;
	for (; m->quota && !sim_npc_spent(m); m->quota--) {
		if (slice->left <= 0)
			return false;
		run_first(m);
		slice->left -= SIM_COST_SCRIPT + sim_work_taken(m);
	}
	while (!sim_npc_spent(m)) {
		enum script_result result;

		if (slice->left <= 0)
			return false;
		result = script_vm_timer(m->script);
		if (result == SCRIPT_NO_HANDLER)
			return true;
		sim_npc_event(m, SCRIPT_CONTEXT_MAP_EVENT, SIM_NONE, result);
		slice->left -= SIM_COST_SCRIPT + sim_work_taken(m);
	}
	return true;
}
