#include "simulation/intent.h"

#include <string.h>

#include "simulation/keep.h"

enum { FREE, QUEUED, ASKED, KEPT };

#define BURST_S    2u
#define INDEX_BITS 8u
#define BUSY_PER_S 5u /* what is busy is so for as long as a commit takes */
_Static_assert(SIM_INTENTS_MAX == 1u << INDEX_BITS, "a place fits the number");

/* FNV-1a; 0 is for places that are free, and for intents without a key. */
static uint32_t hash_of(const char *key)
{
	uint32_t hash = 2166136261u;

	if (!*key)
		return 0;
	for (; *key; key++)
		hash = (hash ^ (uint8_t)*key) * 16777619u;
	return hash ? hash : 1;
}

static uint32_t number_of(const struct sim_map *m, uint32_t i)
{
	return m->intents->of[i].generation << INDEX_BITS | i;
}

/* A place that is free, or that has been remembered for long enough. */
static bool is_free(const struct sim_map *m, uint32_t i)
{
	const struct sim_intent *intent = &m->intents->of[i];

	return intent->state == FREE ||
	       (intent->state == KEPT && (int32_t)(m->beat - intent->until_beat) >= 0);
}

/* Tokens are counted in ticks' parts: a second's ticks bring SIM_INTENTS_PER_S. */
static bool may_queue(struct sim_map *m)
{
	struct sim_intents *intents = m->intents;
	uint32_t hz = m->config.tick_hz, most = BURST_S * SIM_INTENTS_PER_S * hz;
	uint64_t passed = m->beat - intents->token_beat;
	uint64_t tokens = intents->tokens + passed * SIM_INTENTS_PER_S;

	intents->token_beat = m->beat;
	intents->tokens = tokens < most ? (uint32_t)tokens : most;
	if (intents->tokens < hz)
		return false;
	intents->tokens -= hz;
	return true;
}

enum script_intent sim_intend(struct sim_map *m, const char *key, uint32_t player,
	const struct script_change *changes, uint32_t count)
{
	struct sim_intents *intents = m->intents;
	uint32_t hash = hash_of(key), place = SIM_NONE;
	struct sim_intent *intent;

	if (player >= m->player_slots || !sim_is_present(m, player) ||
		sim_player(m, player)->leave_wanted)
		return SCRIPT_INTENT_GONE;
	for (uint32_t i = 0; i < SIM_INTENTS_MAX; i++) {
		if (is_free(m, i)) {
			place = place == SIM_NONE ? i : place;
			continue;
		}
		if (hash && intents->of[i].hash == hash && !strcmp(intents->of[i].key, key))
			return SCRIPT_INTENT_REPEATED;
	}
	if (place == SIM_NONE)
		return SCRIPT_INTENT_FULL;
	if (!may_queue(m))
		return SCRIPT_INTENT_TOO_FAST;
	intent = &intents->of[place];
	intents->waiting += 1;
	*intent = (struct sim_intent){.state = QUEUED,
		.hash = hash,
		.player = player,
		.player_generation = m->entities[player].generation,
		.generation = (intent->generation + 1) & (UINT32_MAX >> INDEX_BITS),
		.next_beat = m->beat,
		.until_beat = m->beat + SIM_INTENT_TRY_S * m->config.tick_hz,
		.change_count = (uint8_t)count};
	memcpy(intent->key, key, strnlen(key, SCRIPT_KEY_BYTES - 1));
	memcpy(intent->change, changes, count * sizeof(*changes));
	sim_count(m->shard, SIM_INTENTS, 1);
	return SCRIPT_INTENT_OK;
}

static void end(struct sim_map *m, struct sim_intent *intent, bool well)
{
	m->intents->waiting -= intent->state == QUEUED;
	intent->state = KEPT;
	intent->until_beat = m->beat + SIM_INTENT_KEPT_S * m->config.tick_hz;
	if (!well)
		sim_count(m->shard, SIM_INTENTS_LOST, 1);
}

static void again(struct sim_map *m, struct sim_intent *intent, uint32_t beats)
{
	if ((int32_t)(m->beat - intent->until_beat) >= 0)
		end(m, intent, false);
	else
		intent->next_beat = m->beat + beats;
}

static bool is_passing(enum script_kept kept)
{
	return kept == SCRIPT_KEPT_BUSY || kept == SCRIPT_KEPT_NOT_READY ||
	       kept == SCRIPT_KEPT_UNAVAILABLE;
}

static void ask(struct sim_map *m, uint32_t i)
{
	struct sim_intent *intent = &m->intents->of[i];
	enum script_kept kept;

	if (!sim_is_present(m, intent->player) ||
		m->entities[intent->player].generation != intent->player_generation) {
		end(m, intent, false);
		return;
	}
	kept = sim_keep_intent(
		m, intent->player, intent->change, intent->change_count, number_of(m, i));
	if (kept == SCRIPT_KEPT_PENDING) {
		intent->state = ASKED;
		m->intents->waiting--;
	} else if (is_passing(kept)) {
		again(m, intent,
			kept == SCRIPT_KEPT_BUSY ? m->config.tick_hz / BUSY_PER_S + 1
						 : m->config.tick_hz);
	} else {
		end(m, intent, kept == SCRIPT_KEPT_OK);
	}
}

bool sim_intents_ask(struct sim_map *m, struct sim_slice *slice)
{
	struct sim_intents *intents = m->intents;

	if (!m->script || !intents->waiting)
		return true;
	for (; intents->cursor < SIM_INTENTS_MAX; intents->cursor++) {
		const struct sim_intent *intent = &intents->of[intents->cursor];

		if (slice->left <= 0)
			return false;
		slice->left -= SIM_COST_LOOK;
		if (intent->state != QUEUED || (int32_t)(m->beat - intent->next_beat) < 0)
			continue;
		ask(m, intents->cursor);
		slice->left -= SIM_COST_LIFE + sim_work_taken(m);
	}
	intents->cursor = 0;
	return true;
}

void sim_intent_answered(struct sim_map *m, uint32_t number, enum commit_result result)
{
	uint32_t i = number & (SIM_INTENTS_MAX - 1);
	struct sim_intent *intent = &m->intents->of[i];

	if (intent->state != ASKED || number_of(m, i) != number)
		return;
	/* Nothing has been done: it may be asked for again, as a commit of its own. */
	if (result == COMMIT_RESULT_UNAVAILABLE || result == COMMIT_RESULT_EXPIRED) {
		intent->state = QUEUED;
		m->intents->waiting++;
		again(m, intent, m->config.tick_hz);
		return;
	}
	end(m, intent, result == COMMIT_RESULT_OK);
}
