/* Stage 1: what the last tick left is reset; who died vanishes, and who was dead comes back; joins,
 * leaves and owed messages are moved on; ghosts are looked for.
 *
 * Ghost and eviction guard. A ghost is a player whose peer the dataplane no longer has. Its word of
 * that is MSG_PEER_GONE, which is owed until the ring takes it; should one be lost all the same (a
 * peer that ended before its route came here, say), the shard would never hear of it. So every
 * player's route is told again each SIM_ROUTE_CHECK_S, spread over the ticks by slot: for a live
 * peer that changes nothing, for a dead one the dataplane answers MSG_PEER_GONE. An eviction
 * (takeover, a newer peer in the same place) is a leave like any other: saved, told to control,
 * harmless when it comes twice. */
#include "simulation/combat.h"
#include "simulation/life.h"
#include "simulation/list.h"
#include "simulation/loot.h"
#include "simulation/reload.h"
#include "simulation/state.h"

/* When the shard stops, so many players leave in a tick: all within half of node.stop_deadline. */
static uint32_t stop_quota(const struct sim_shard *s, const struct sim_map *m)
{
	uint32_t ticks = s->stop_ms / 2 * m->config.tick_hz / 1000;
	uint32_t quota = ticks ? m->config.players_max / ticks + 1 : m->config.players_max;

	return quota < 20 ? 20 : quota;
}

enum { START, FALLEN, LOOT, REVIVE, LIVES, ROUTES, STOP };

bool sim_stage_reset(struct sim_shard *s, struct sim_map *m, struct sim_slice *slice)
{
	uint32_t period = SIM_ROUTE_CHECK_S * m->config.tick_hz;

	if (m->step == START) {
		sim_reload_tick(s, m);
		int64_t budget_ns = (int64_t)s->script_tick_us * 1000;

		/* What was left of the last tick's, or taken too much, carries over. */
		m->script_left_ns += budget_ns;
		if (m->script_left_ns > budget_ns * 3 / 2)
			m->script_left_ns = budget_ns * 3 / 2;
		if (m->script)
			script_vm_budget(m->script, (uint32_t)(m->script_left_ns > 0 ? m->script_left_ns / 1000 : 0));
		m->step = FALLEN;
	}
	if (m->step == FALLEN) {
		if (!sim_fallen(m, slice))
			return false;
		m->step = LOOT;
		m->cursor = 0;
	}
	if (m->step == LOOT) {
		if (!sim_loot_appear(m, slice))
			return false;
		m->step = REVIVE;
		m->cursor = 0;
	}
	if (m->step == REVIVE) {
		if (!sim_revive(m, slice))
			return false;
		m->quota = m->life.count;
		m->step = LIVES;
	}
	while (m->step == LIVES) {
		uint32_t slot;

		if (!m->quota) {
			m->step = ROUTES;
			m->cursor = m->beat % period;
			break;
		}
		if (slice->left <= 0)
			return false;
		m->quota--;
		slot = sim_life_pop(m);
		if (!sim_life_step(s, m, slot))
			sim_life_push(m, slot);
		slice->left -= SIM_COST_LIFE + sim_work_taken(m);
	}
	while (m->step == ROUTES) {
		if (m->cursor >= m->player_slots) {
			m->step = STOP;
			m->cursor = 0;
			m->quota = s->stopping ? stop_quota(s, m) : 0;
			break;
		}
		if (slice->left <= 0)
			return false;
		if (sim_is_present(m, m->cursor)) {
			sim_player(m, m->cursor)->owed |= SIM_OWE_ROUTE;
			sim_life_push(m, m->cursor);
			sim_count(s, SIM_ROUTES_CHECKED, 1);
		}
		m->cursor += period;
		slice->left -= SIM_COST_SLOT;
	}
	for (; m->quota && m->cursor < m->player_slots; m->cursor++) {
		if (slice->left <= 0)
			return false;
		slice->left -= SIM_COST_SLOT;
		if (sim_is_present(m, m->cursor) && !sim_player(m, m->cursor)->leave_wanted) {
			sim_leave_want(
				m, m->cursor, SW_REASON_SERVER_STOPPING, MSG_DISCONNECT_LATER);
			m->quota--;
		}
	}
	return true;
}
