/* Stage 3: deferred results of the world thread. An answer was put into its player's record when
 * the ring was drained; here it takes effect: the client gets CharacterDetail, those who see the
 * player get its looks. */
#include "simulation/commit.h"
#include "simulation/dialogue.h"
#include "simulation/list.h"
#include "simulation/state.h"
#include "simulation/status.h"

static void finish(struct sim_shard *s, struct sim_map *m, uint32_t slot)
{
	struct sim_player *p = sim_player(m, slot);

	if (p->detail_result != MSG_LOAD_OK) {
		p->detail = SIM_DETAIL_WANTED;
		p->detail_beat = m->beat + SIM_DETAIL_RETRY_S * m->config.tick_hz;
		sim_lazy_push(m, &m->lazy, slot);
		sim_count(s, SIM_DETAIL_RETRIES, 1);
		return;
	}
	sim_status_arrived(s, m, slot);
}

bool sim_stage_deferred(struct sim_shard *s, struct sim_map *m, struct sim_slice *slice)
{
	/* Commits first: what the details say is what they did. */
	if (!sim_commit_results(m, slice) || !sim_dialogue_wake(m, slice))
		return false;
	while (m->arrived.count) {
		uint32_t slot;

		if (slice->left <= 0)
			return false;
		slot = sim_lazy_pop(m, &m->arrived);
		if (sim_is_present(m, slot))
			finish(s, m, slot);
		slice->left -= SIM_COST_LIFE + sim_work_taken(m);
	}
	return true;
}
