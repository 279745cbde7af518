/* The state hash: everything that decides what happens next, and nothing of metrics or memory. */
#include "simulation/hash.h"

#include "simulation/match/match.h"
#include "simulation/paths.h"
#include "simulation/quest.h"
#include "simulation/state.h"

static uint64_t mix(uint64_t hash, uint64_t value)
{
	hash ^= value;
	hash *= 0x9e3779b97f4a7c15ull;
	return hash ^ hash >> 29;
}

static uint64_t hash_live(uint64_t h, const struct msg_live *live)
{
	h = mix(h, live->at_ns);
	h = mix(h, (uint64_t)live->missing << 32 | live->back_ms);
	h = mix(h, (uint64_t)live->ready_ms << 32 | live->rested_ms);
	return mix(h, (uint64_t)live->credit << 8 | live->malformed);
}

static uint64_t hash_player(uint64_t h, const struct sim_map *m, uint32_t slot)
{
	const struct sim_player *p = &m->players_table[slot];
	const uint64_t *known = sim_known(m, slot);

	h = mix(h, p->state);
	if (p->state == SIM_PLAYER_FREE)
		return h;
	h = mix(h, p->peer);
	h = mix(h, p->session);
	h = mix(h, p->character_id);
	h = mix(h, (uint64_t)p->received_sequence << 32 | p->applied_sequence);
	h = mix(h, (uint64_t)p->input_waiting << 40 | (uint64_t)p->input_count << 32 |
			   (uint64_t)p->input_credit << 16 | p->owed);
	for (uint32_t i = 0; i < p->input_count; i++) {
		uint32_t at = (p->input_head + i) % SIM_INPUT_QUEUE;

		h = mix(h, (uint64_t)p->input_sequence[at] << 16 |
				   (uint64_t)(uint8_t)p->input_dx[at] << 8 |
				   (uint8_t)p->input_dy[at]);
	}
	h = mix(h, (uint64_t)p->detail << 32 | p->malformed);
	h = mix(h, (uint64_t)p->stay << 4 | (uint64_t)p->route_ended << 3 |
			   (uint64_t)p->transferring << 2 | (uint64_t)p->leave_wanted << 1 |
			   p->peer_gone);
	h = mix(h, (uint64_t)p->speed_mm_per_s << 32 | p->boost.attack << 16 | p->boost.defence);
	h = mix(h, (uint64_t)p->job << 32 | p->question);
	h = mix(h, (uint64_t)p->question_beat << 16 | (uint64_t)p->choices << 2 | (uint64_t)p->waits << 1 |
			   p->keeping);
	h = mix(h, (uint64_t)p->boost.health << 32 | p->silent_ticks);
	h = mix(h, (uint64_t)p->portal_beat << 16 | (uint64_t)p->portal << 1 | p->turned_back);
	h = hash_live(h, &p->live);
	h = hash_live(h, &p->return_live);
	h = mix(h, p->lacks_more);
	h = mix(h, (uint64_t)p->view_sequence << 32 | p->rotate);
	h = mix(h, (uint64_t)p->compared_beat << 32 | (uint64_t)p->pending_count << 2 |
			   (uint64_t)p->crowded << 1 | p->rescan);
	h = mix(h, (uint64_t)p->renew_floor << 32 | p->renew_next);
	h = mix(h, (uint64_t)p->renew_cursor << 32 | p->level);
	h = mix(h, (uint64_t)p->gold);
	h = mix(h, (uint64_t)p->behind << 16 | (uint64_t)p->within << 8 | p->near);
	h = mix(h, (uint64_t)(uint32_t)p->saved_x_mm << 32 | (uint32_t)p->saved_y_mm);
	for (uint32_t w = 0; w < m->known_words; w++)
		h = mix(h, known[w]);
	return h;
}

static uint64_t hash_fights(uint64_t h, const struct sim_map *m, uint32_t part, uint32_t parts)
{
	for (uint32_t slot = part; slot < m->slots; slot += parts) {
		const struct sim_body *body = &m->bodies[slot];

		h = mix(h, (uint64_t)body->health << 32 | body->ready_beat);
		h = mix(h, (uint64_t)body->back_beat << 32 | body->hurt_beat);
		h = mix(h, body->attack);
	}
	for (uint32_t n = part; n < m->monster_slots; n += parts) {
		h = mix(h, (uint64_t)m->monsters[n].target << 32 | m->monsters[n].around << 8 |
				   m->monsters[n].mood);
		h = mix(h, (uint64_t)(uint32_t)m->lairs[n].x_mm << 32 | (uint32_t)m->lairs[n].y_mm);
		h = mix(h, m->lairs[n].target_generation);
		h = mix(h, (uint64_t)m->lairs[n].owner << 32 | m->lairs[n].owner_generation);
	}
	for (uint32_t slot = part; slot < m->player_slots; slot += parts) {
		h = mix(h, (uint64_t)m->purses[slot].gold_due);
		h = mix(h, (uint64_t)m->purses[slot].experience);
		h = mix(h, (uint64_t)m->purses[slot].experience_due << 1 |
				   m->purses[slot].gains_asked);
		h = mix(h, (uint64_t)m->bags[slot].wait_beat << 1 | m->quest_logs[slot].look);
		h = mix(h, (uint64_t)m->bags[slot].gold_bound);
		for (uint32_t q = 0; q < m->game->quest_count; q++) {
			const struct sim_quest_now *now = sim_quest_now(m, slot, q);

			if (now->state || now->busy)
				h = mix(mix(h, (uint64_t)q << 48 | (uint64_t)now->state << 32 |
							(uint64_t)now->due << 16 |
							(uint64_t)now->due_step << 1 | now->busy),
					now->again_beat);
		}
		h = mix(h, (uint64_t)m->bags[slot].commits << 32 | m->bags[slot].loads);
		for (uint32_t i = 0; i < COMMIT_SLOTS_MAX; i++)
			if (m->bags[slot].stack[i].count)
				h = mix(mix(h, (uint64_t)i << 57 ^
							(uint64_t)m->bags[slot].stack[i].item
								<< 26 ^
							m->bags[slot].stack[i].count),
					m->bags[slot].stack[i].serial);
	}
	for (uint32_t i = part; i < m->commits_max; i += parts)
		if (m->commits[i].request[0])
			h = mix(mix(h, m->commits[i].request[1]),
				(uint64_t)m->commits[i].job << 32 | m->commits[i].answered);
	for (uint32_t i = 0; i < m->loot_slots; i++) {
		const struct sim_loot *loot = &m->loot[i];

		if (loot->state == SIM_LOOT_FREE)
			continue;
		h = mix(mix(h, (uint64_t)loot->item << 32 ^ loot->count << 8 ^ loot->state),
			loot->serial);
		h = mix(h, (uint64_t)loot->owner << 32 | loot->owner_generation);
		h = mix(h, (uint64_t)loot->owner_beat << 32 | loot->expires_beat);
		h = mix(h, (uint64_t)(uint32_t)loot->x_mm << 32 | (uint32_t)loot->y_mm);
	}
	h = mix(h, m->loot_next);
	return h;
}

static uint64_t hash_paths(uint64_t h, const struct sim_paths *paths)
{
	h = mix(h, paths->making);
	for (uint32_t i = 0; i < SIM_PATHS; i++) {
		const struct sw_path *path = &paths->path[i];

		h = mix(h, (uint64_t)path->column << 32 | path->row);
		h = mix(h, (uint64_t)path->head << 32 | path->tail);
		h = mix(h, paths->used_beat[i]);
	}
	return h;
}

/* The rule's state is hashed as it lies: rules keep it without padding. */
static uint64_t hash_match(uint64_t h, const struct sim_map *m)
{
	const uint8_t *state = m->match.state;

	h = mix(h, m->match.serial);
	h = mix(h, (uint64_t)m->match.alone << 3 | (uint64_t)m->match.hold << 2 |
			   (uint64_t)m->match.pvp << 1 | m->match.mortal);
	for (uint32_t i = 0; i < m->match.rule->state_bytes; i++)
		h = mix(h, state[i]);
	for (uint32_t i = 0; i < m->match.result_count; i++)
		h = mix(h, (uint64_t)m->match.results[i].state << 32 | m->match.results[i].place);
	return h;
}

/* What waits for the script's handlers, and what it wants kept. */
static uint64_t hash_script(uint64_t h, const struct sim_map *m)
{
	h = mix(h, (uint64_t)m->happening_count << 32 | m->announcement_count);
	h = mix(h, (uint64_t)m->announcement_next << 32 | script_vm_timers(m->script));
	for (uint32_t i = 0; i < m->happening_count; i++) {
		const struct script_event *event =
			&m->happenings[(m->happening_head + i) % SIM_HAPPENINGS_MAX].event;

		h = mix(h, (uint64_t)event->handler << 32 | event->declaration);
		h = mix(mix(h, event->monster), event->player);
	}
	h = mix(h, (uint64_t)m->intents->waiting << 32 | m->intents->tokens);
	for (uint32_t i = 0; i < SIM_INTENTS_MAX; i++)
		h = mix(h, (uint64_t)m->intents->of[i].hash << 32 |
				   m->intents->of[i].generation << 8 | m->intents->of[i].state);
	return h;
}

uint64_t sim_hash_map(const struct sim_map *m, uint32_t part, uint32_t parts)
{
	uint64_t h = mix(m->random, (uint64_t)m->id << 32 | (uint32_t)m->match.ending << 2 |
					    (uint32_t)m->match.closing << 1 | m->match.locked);

	if (m->match.rule && !part)
		h = hash_match(h, m);
	if (m->paths)
		h = hash_paths(h, m->paths);
	h = mix(h, (uint64_t)m->tick << 32 | m->beat);
	h = mix(h, (uint64_t)m->questions << 32 | m->wake_count);
	h = mix(h, m->due_ns);
	if (m->script)
		h = hash_script(h, m);
	h = mix(h, (uint64_t)m->stage << 40 | (uint64_t)m->step << 32 | m->cursor);
	for (uint32_t slot = part; slot < m->slots; slot += parts) {
		const struct sim_entity *e = &m->entities[slot];

		h = mix(h, (uint64_t)(uint32_t)e->x_mm << 32 | (uint32_t)e->y_mm);
		h = mix(h, (uint64_t)e->generation << 32 | e->heading);
		h = mix(h, (uint64_t)e->cell << 32 | e->kind);
		h = mix(h, (uint64_t)e->changed_beat << 32 | e->moving_mm_per_s);
	}
	for (uint32_t slot = part; slot < m->player_slots; slot += parts)
		h = hash_player(h, m, slot);
	for (uint32_t n = part; n < m->monster_slots; n += parts)
		h = mix(h, (uint64_t)m->monsters[n].until_beat << 16 |
				   (uint64_t)(uint8_t)m->monsters[n].dx << 8 |
				   (uint8_t)m->monsters[n].dy);
	h = hash_fights(h, m, part, parts);
	h = mix(h, (uint64_t)m->parties.inbox.messages << 32 | m->parties.ask_count);
	h = mix(h, m->parties.resync_next);
	h = sim_party_table_hash(&m->parties.table, h, part, parts);
	return trade_table_hash(&m->trades, h, part, parts);
}

uint64_t sim_shard_hash(const struct sim_shard *s)
{
	uint64_t h = mix(s->seed, (uint64_t)s->stopping << 1 | s->stopped);

	for (uint32_t i = 0; i < s->map_count; i++)
		h = mix(h, sim_hash_map(s->maps[i], 0, 1));
	return h;
}
