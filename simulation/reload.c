#include "simulation/reload.h"

#include <stdio.h>

#include "simulation/dialogue.h"
#include "simulation/entity.h"
#include "simulation/happening.h"
#include "simulation/npc.h"

static struct script_vm *other(const struct sim_map *m)
{
	return m->reload.vm[!m->reload.side];
}

/* What is owed to control; where the ring is full it is tried again in the next tick. */
static void tell(struct sim_shard *s, struct sim_map *m)
{
	const struct msg_script *body = &m->reload.answer;
	struct msg_buffer message;

	memcpy(msg_begin(message.slot, MSG_SCRIPT_STATE, HANDLE_NONE, sizeof(*body)), body,
		sizeof(*body));
	m->reload.owed = !sim_push(s, s->links.to_control, message.slot);
}

/* ---- taking another version ---- */

static bool declared_alike(const struct sim_map *m, const struct sim_npc *npc)
{
	const struct script_npc *a = script_vm_npc(m->reload.vm[0], npc->index[0]);
	const struct script_npc *b = script_vm_npc(m->reload.vm[1], npc->index[1]);

	return a->x_mm == b->x_mm && a->y_mm == b->y_mm && a->appearance == b->appearance &&
	       !strcmp(a->name, b->name);
}

/* npc->index of both sides are known. */
static void run_side(struct sim_map *m, uint32_t side)
{
	uint32_t from = m->reload.side;

	script_vm_cancel_ticks(m->script);
	m->script = m->reload.vm[side];
	m->reload.side = side;
	m->npc_ticks = m->npc_next = m->reload.coming = 0;
	sim_happenings_find(m);
	for (uint32_t i = 0; i < m->npc_slots; i++) {
		uint32_t slot = m->player_slots + i;
		struct sim_npc *npc = &m->npcs[i];
		bool stands = m->entities[slot].cell != SIM_NONE;
		bool stays = stands && npc->index[from] != SIM_NONE &&
			     npc->index[side] != SIM_NONE && declared_alike(m, npc);

		npc->has_tick = false;
		npc->coming = npc->index[side] != SIM_NONE && !stays;
		m->reload.coming += npc->coming;
		if (stays) {
			npc->has_tick = script_vm_npc(m->script, npc->index[side])->has_tick;
			npc->rests_until = m->beat;
			m->npc_ticks += npc->has_tick;
			script_vm_bind(m->script, npc->index[side], sim_handle(m, slot));
		} else if (stands) {
			sim_entity_vanish(m, slot);
		}
	}
}

/* Places for NPCs that only the next version has. There are enough: the builder has counted. */
static void place_new(struct sim_map *m, uint32_t side)
{
	uint32_t count = script_vm_npc_count(m->reload.vm[side]), at = 0;
	uint32_t kept = 0;

	for (uint32_t i = 0; i < m->npc_slots; i++) {
		uint32_t index = m->npcs[i].index[!side];

		m->npcs[i].index[side] = index == SIM_NONE ? SIM_NONE : m->reload.to_next[index];
		kept += m->npcs[i].index[side] != SIM_NONE;
	}
	/* to_next goes on with those that have no place yet. */
	for (uint32_t n = 0; n < count - kept; n++) {
		while (m->npcs[at].index[side] != SIM_NONE)
			at++;
		m->npcs[at].index[side] =
			m->reload.to_next[script_vm_npc_count(m->reload.vm[!side]) + n];
	}
}

static void watch(struct sim_map *m)
{
	m->reload.watched = true;
	m->reload.watched_until = m->beat + SIM_RELOAD_WATCH_S * m->config.tick_hz;
}

static bool swap(struct sim_shard *s, struct sim_map *m, struct msg_script *answer)
{
	uint32_t side = !m->reload.side;
	struct script_vm *next = atomic_load(&m->reload.next);

	if (script_vm_version(m->script) == answer->version)
		return true;
	if (!next || script_vm_version(next) != answer->version) {
		snprintf(answer->text, sizeof(answer->text), "version %u was not prepared",
			answer->version);
		return false;
	}
	script_vm_own_as(next, &s->owner);
	if (script_vm_hand_over(m->script, next, answer->text, sizeof(answer->text)) != SCRIPT_OK)
		return false;
	m->reload.vm[side] = next;
	atomic_store(&m->reload.next, NULL);
	place_new(m, side);
	run_side(m, side);
	watch(m);
	return true;
}

static bool back(struct sim_map *m, bool hand_over, struct msg_script *answer)
{
	struct script_vm *before = other(m);

	if (hand_over && script_vm_version(m->script) == answer->version)
		return true;
	if (!before || (hand_over && script_vm_version(before) != answer->version)) {
		snprintf(answer->text, sizeof(answer->text), "there is no version before this one");
		return false;
	}
	if (hand_over && script_vm_hand_over(m->script, before, answer->text,
				 sizeof(answer->text)) != SCRIPT_OK)
		return false;
	run_side(m, !m->reload.side);
	m->reload.watched = false;
	return true;
}

static void clear(struct sim_map *m, struct msg_script *answer)
{
	struct script_vm *before = other(m);

	m->reload.watched = false;
	if (!before)
		return;
	answer->count = script_vm_under_way(before);
	for (uint32_t i = 0; i < m->player_slots && answer->count; i++)
		if (sim_player(m, i)->job && sim_reload_vm(m, sim_player(m, i)->job) == before)
			sim_dialogue_end(m, i);
	m->reload.vm[!m->reload.side] = NULL;
	for (uint32_t i = 0; i < m->npc_slots; i++)
		m->npcs[i].index[!m->reload.side] = SIM_NONE;
}

/* ---- orders ---- */

void sim_reload_open(struct sim_map *m)
{
	uint32_t version = m->reload.version ? atomic_load(m->reload.version) : 0;
	const struct script_vm *next = atomic_load(&m->reload.next);

	if (!next || script_vm_version(next) != version)
		return;
	m->reload.order = (struct msg_script){.act = MSG_SCRIPT_SWAP, .version = version};
	m->reload.ordered = true;
}

static void obey(struct sim_shard *s, struct sim_map *m)
{
	const struct msg_script *order = &m->reload.order;
	struct msg_script answer = {.instance = order->instance,
		.act = order->act,
		.version = order->version,
		.good = 1};

	m->reload.ordered = false;
	switch (order->act) {
	case MSG_SCRIPT_CLEAR:
		clear(m, &answer);
		break;
	case MSG_SCRIPT_SWAP:
		answer.good = swap(s, m, &answer);
		break;
	case MSG_SCRIPT_BACK:
		answer.good = back(m, true, &answer);
		break;
	case MSG_SCRIPT_RELEASE:
		answer.count = script_vm_release(m->script, order->text);
		break;
	default:
		answer.good = 0;
		snprintf(answer.text, sizeof(answer.text), "there is no such order");
	}
	answer.version = script_vm_version(m->script);
	m->reload.answer = answer;
	m->reload.owed = order->instance != INSTANCE_NONE;
}

void sim_reload_order(struct sim_shard *s, const struct msg *message)
{
	struct msg_script order;
	struct sim_map *m;

	memcpy(&order, msg_payload(message), sizeof(order));
	m = s->by_number[instance_slot(order.instance)];
	if (!m || m->id != order.instance || !m->script) {
		sim_count(s, SIM_INSTANCES_STALE, 1);
		return; /* control does not wait for an instance that has ended */
	}
	/* Control gave up an order that has not been obeyed by now: the later one is what it wants. What
	 * the instance opened with is no order of control's. */
	if (m->reload.ordered && m->reload.order.instance == INSTANCE_NONE)
		obey(s, m);
	m->reload.order = order;
	m->reload.order.text[sizeof(order.text) - 1] = '\0';
	m->reload.ordered = true;
}

/* Too many failures: the version before comes back. */
static void look(struct sim_shard *s, struct sim_map *m)
{
	struct msg_script said = {.instance = m->id, .act = MSG_SCRIPT_RETURN, .good = 1};
	struct script_turns turns;

	if ((int32_t)(m->beat - m->reload.watched_until) >= 0) {
		m->reload.watched = false;
		return;
	}
	script_vm_turns(m->script, &turns);
	if (turns.failed < SIM_RELOAD_FAILURES || !s->script_failures ||
		turns.failed * 100 < turns.ran * s->script_failures)
		return;
	said.version = script_vm_version(m->script); /* that failed */
	snprintf(said.text, sizeof(said.text), "%llu of %llu slices of its handlers failed",
		(unsigned long long)turns.failed, (unsigned long long)turns.ran);
	if (back(m, false, &said)) {
		sim_count(s, SIM_SCRIPT_RETURNS, 1);
		m->reload.answer = said;
		m->reload.owed = true;
	}
	m->reload.watched = false;
}

void sim_reload_tick(struct sim_shard *s, struct sim_map *m)
{
	if (m->reload.ordered && !m->reload.owed)
		obey(s, m);
	if (m->reload.watched && !m->reload.owed)
		look(s, m);
	if (m->reload.owed)
		tell(s, m);
	if (m->reload.coming)
		sim_npc_appear(m);
}
