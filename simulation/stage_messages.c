/* Stage 5: what players sent. First inputs, in slot order: each player's budget grows by one input
 * a tick (and by one for each tick that was skipped) up to 1 + SIM_INPUT_BANK, so over any n ticks
 * it walks at most n + SIM_INPUT_BANK steps, however fast it sends. An input that stands still
 * costs nothing of it: whoever rests now and then loses what a fast clock has made too many. What
 * still waits is told (WorldUpdate.input_waiting), and a client stretches its interval by it. Then
 * actions, in the order of their arrival. An action that needs what the lazy join has not brought
 * yet is refused by name. Last the trades: what became of them is told once a tick. */
#include "simulation/action.h"
#include "simulation/combat.h"
#include "simulation/entity.h"
#include "simulation/portal.h"
#include "simulation/state.h"
#include "simulation/trading.h"

static uint32_t apply_inputs(struct sim_shard *s, struct sim_map *m, uint32_t slot)
{
	struct sim_player *p = sim_player(m, slot);
	uint32_t credit = p->input_credit + 1 + m->skipped, applied = 0;

	if (credit > SIM_INPUT_BANK + 1)
		credit = SIM_INPUT_BANK + 1;
	/* The dead stay where they fell; their inputs count as taken, so that a client that
	 * predicts is put right. */
	if (p->input_count && !sim_is_alive(m, slot)) {
		p->applied_sequence = p->received_sequence;
		sim_count(s, SIM_INPUTS_DEAD, p->input_count);
		p->input_count = 0;
		sim_entity_touch(m, slot);
	}
	while (p->input_count) {
		uint32_t i = p->input_head;
		bool stands = !p->input_dx[i] && !p->input_dy[i];

		if (!credit && !stands)
			break;
		sim_entity_walk(m, slot, m->match.hold ? 0 : p->speed_mm_per_s, p->input_dx[i],
			p->input_dy[i]);
		p->applied_sequence = p->input_sequence[i];
		p->input_head = (uint8_t)((i + 1) % SIM_INPUT_QUEUE);
		p->input_count--;
		credit -= !stands;
		applied++;
		if (m->portals && sim_portal_step(s, m, slot))
			break;
	}
	p->input_waiting = p->input_count;
	/* What is left of this tick's own share is real time that passed, and may be made up for.
	 */
	p->input_credit = (uint8_t)(credit > SIM_INPUT_BANK ? SIM_INPUT_BANK : credit);
	if (applied) {
		p->silent_ticks = 0;
	} else if (m->entities[slot].moving_mm_per_s &&
		   ++p->silent_ticks * 1000 > SIM_INPUT_SILENCE_MS * m->config.tick_hz) {
		m->entities[slot].moving_mm_per_s = 0;
		sim_entity_touch(m, slot);
	}
	sim_count(s, SIM_INPUTS, applied);
	return applied;
}

enum { INPUTS, ACTIONS, TRADES };

bool sim_stage_messages(struct sim_shard *s, struct sim_map *m, struct sim_slice *slice)
{
	const int64_t input_ns = SIM_COST_INPUT + (m->rules.ground ? SIM_COST_WALLS : 0);

	while (m->step == INPUTS) {
		if (m->cursor == m->player_slots) {
			m->step = ACTIONS;
			m->quota = m->action_count;
			break;
		}
		if (slice->left <= 0)
			return false;
		if (m->cursor + 4 < m->player_slots)
			sim_fetch_player(m, m->cursor + 4);
		if (sim_is_present(m, m->cursor))
			slice->left -= apply_inputs(s, m, m->cursor) * input_ns;
		slice->left -= SIM_COST_SLOT + sim_work_taken(m);
		m->cursor++;
	}
	/* Actions that came in while this stage ran wait for the next tick. */
	while (m->step == ACTIONS && m->quota && m->script_left_ns > 0) {
		struct sim_action action;

		if (slice->left <= 0)
			return false;
		action = m->actions[m->action_head];
		m->action_head = (m->action_head + 1) % m->actions_max;
		m->action_count--;
		m->quota--;
		slice->left -= sim_action_do(s, m, &action);
	}
	if (m->step == ACTIONS) {
		m->step = TRADES;
		m->cursor = m->trades.count;
	}
	return sim_trades_step(m, &m->cursor, slice);
}
