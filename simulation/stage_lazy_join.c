/* Stage 2: lazy-join follow-up. Players stand on the map before their details are known; at most
 * simulation.lazy_joins_per_tick of them are asked for in a tick, oldest first. Where the world
 * thread could not answer, the question is put again after SIM_DETAIL_RETRY_S. */
#include "simulation/list.h"
#include "simulation/state.h"

static bool ask(
	struct sim_shard *s, const struct sim_map *m, uint32_t slot, const struct sim_player *p)
{
	struct msg message;
	struct msg_detail_query query = {.request = sim_handle(m, slot),
		.character_id = p->character_id,
		.realm_id = p->realm_id};
	uint8_t *payload = lane_shard_begin(&message, MSG_DETAIL_QUERY, p->peer, sizeof(query));

	message.subject = query.request;
	memcpy(payload, &query, sizeof(query));
	return sim_push(s, s->links.to_world, &message);
}

enum { START, ASK };

bool sim_stage_lazy_join(struct sim_shard *s, struct sim_map *m, struct sim_slice *slice)
{
	if (m->step == START) {
		m->quota = m->lazy.count; /* each at most once a tick */
		m->cursor = s->lazy_joins_per_tick;
		m->step = ASK;
	}
	while (m->quota && m->cursor) {
		uint32_t slot = m->lazy.head;
		struct sim_player *p = sim_player(m, slot);

		if (slice->left <= 0)
			return false;
		slice->left -= SIM_COST_SEND;
		if (p->state == SIM_PLAYER_PRESENT && (int32_t)(m->beat - p->detail_beat) >= 0) {
			if (!ask(s, m, slot, p))
				return true; /* the ring is full: next tick */
			p->detail = SIM_DETAIL_ASKED;
			sim_count(s, SIM_DETAIL_QUERIES, 1);
			m->cursor--;
		}
		sim_lazy_pop(m, &m->lazy);
		if (p->state == SIM_PLAYER_PRESENT && p->detail == SIM_DETAIL_WANTED)
			sim_lazy_push(m, &m->lazy, slot);
		m->quota--;
	}
	return true;
}
