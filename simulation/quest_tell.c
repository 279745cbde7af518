/* What a client is told of its quests. */
#include "proto/client.pb-c.h"
#include "simulation/quest.h"
#include "simulation/send.h"
#include "simulation/wire.h"

/* Of an open quest, and of one that has changed: numbers and enums, title and text, head. */
#define QUEST_BYTES_MAX (7u * 6 + SIM_QUEST_TITLE_BYTES + 2 + SIM_QUEST_TEXT_BYTES + 3 + 4)
/* Of one that is done: its number and phase; and its wait, which is below 2^28. */
#define DONE_BYTES_MAX (2u + 6 + 2)
#define WAIT_BYTES_MAX (1u + 4)
_Static_assert(SIM_QUEST_AGAIN_S_MAX < 1u << 28, "four bytes");
_Static_assert(SIM_QUESTS_OPEN *QUEST_BYTES_MAX + SIM_QUESTS_MAX * DONE_BYTES_MAX +
			       SIM_QUESTS_AGAIN_MAX * WAIT_BYTES_MAX <
		       MSG_PAYLOAD_MAX - 1,
	"a log fits one message");

static uint8_t *write_step(const struct sim_map *m, const struct sim_quest *quest,
	const struct sim_quest_now *now, uint8_t *at)
{
	uint32_t number = sim_quest_state_step(now->state);
	const struct sim_quest_step *step = sim_quest_step(m->game, quest, number);
	uint32_t count = sim_quest_state_count(now->state);

	at = wire_u32(at, 4, number);
	if (!step)
		return at;
	at = wire_bytes(at, 5, step->text, (uint32_t)strlen(step->text));
	if (step->kind != SIM_QUEST_HAVE && step->kind != SIM_QUEST_TALK) {
		at = wire_u32(at, 6, count < step->need ? count : step->need);
		at = wire_u32(at, 7, now->due);
	}
	at = wire_u32(at, 8, step->need);
	return wire_u32(at, 9, step->item);
}

/* For a client one that may be begun again is as if it had never been. */
static bool is_done(const struct sim_map *m, uint32_t player, uint32_t index)
{
	return sim_quest_is_done(sim_quest_now(m, player, index)->state) &&
	       !sim_quest_is_new(m, player, index);
}

static uint8_t *write_quest(
	const struct sim_map *m, uint32_t player, uint32_t index, bool title, uint8_t *at)
{
	const struct sim_quest *quest = &m->game->quests[index];
	const struct sim_quest_now *now = sim_quest_now(m, player, index);
	uint8_t body[QUEST_BYTES_MAX], *end = wire_u32(body, 1, quest->number);
	bool done = is_done(m, player, index);

	if (sim_quest_is_open(now->state))
		end = wire_u32(end, 2, SW__QUEST_PHASE__QUEST_OPEN);
	else if (done)
		end = wire_u32(end, 2, SW__QUEST_PHASE__QUEST_DONE);
	if (title)
		end = wire_bytes(end, 3, quest->title, (uint32_t)strlen(quest->title));
	if (sim_quest_is_open(now->state))
		end = write_step(m, quest, now, end);
	if (done && quest->again_s)
		end = wire_u32(end, 10, sim_quest_wait_s(m, player, index));
	return wire_bytes(at, 1, body, (uint32_t)(end - body));
}

void sim_quests_tell_all(struct sim_map *m, uint32_t player)
{
	uint8_t *start = sim_send_begin(m->shard, SW_MSG_QUEST_LOG), *at = start;
	struct sim_quest_log *log = &m->quest_logs[player];
	uint32_t open = 0;

	if (!m->game->quest_count)
		return;
	for (uint32_t q = 0; q < m->game->quest_count; q++) {
		uint32_t state = sim_quest_now(m, player, q)->state;

		if (sim_quest_is_open(state) && open++ < SIM_QUESTS_OPEN)
			at = write_quest(m, player, q, true, at);
		else if (is_done(m, player, q))
			at = write_quest(m, player, q, false, at);
	}
	log->all = false;
	log->changed_count = 0;
	sim_work(m, SIM_COST_SEND + m->game->quest_count * SIM_COST_SLOT);
	sim_send_reliable(m->shard, m, player, SW_CHANNEL_SESSION, (uint32_t)(at - start));
}

void sim_quests_tell(struct sim_map *m, uint32_t player)
{
	struct sim_quest_log *log = &m->quest_logs[player];
	uint8_t *start, *at;

	if (log->all) {
		sim_quests_tell_all(m, player);
		return;
	}
	start = at = sim_send_begin(m->shard, SW_MSG_QUEST_UPDATE);
	for (uint32_t i = 0; i < log->changed_count; i++)
		at = write_quest(m, player, log->changed[i], true, at);
	log->changed_count = 0;
	sim_work(m, SIM_COST_SEND);
	sim_send_reliable(m->shard, m, player, SW_CHANNEL_SESSION, (uint32_t)(at - start));
}
