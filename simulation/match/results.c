/* What a match came to, durably: a commit for each player, asked again with the same request until
 * it is known to be kept, within a bounded time. */
#include "common/check.h"
#include "common/commit.h"
#include "simulation/match/match.h"

enum { WANTED, ASKED, SETTLED };

#define PER_TICK 8u

/* request[0] is the match's serial; request[1]: the top bit, the instance's slot << 8, the place in
 * m->match.results. The top bit tells it from what else the shard asks for. */
#define REQUEST_RESULT (1ull << 63)
_Static_assert(CONFIG_INSTANCES_MAX <= 256, "an instance's slot is a byte");

struct sim_match_who sim_match_who(const struct sim_map *m, uint32_t slot)
{
	const struct sim_player *p = &m->players_table[slot];

	return (struct sim_match_who){p->character_id, p->epoch, p->realm_id, 0};
}

void sim_match_result(struct sim_map *m, const struct sim_match_who *who, uint32_t place)
{
	struct sim_result *result;

	CHECK(m->match.result_count < m->match.rule->players_max && place);
	result = &m->match.results[m->match.result_count++];
	result->character_id = who->character_id;
	result->epoch = who->epoch;
	result->realm_id = who->realm_id;
	result->place = place;
	result->state = WANTED;
	result->next_beat = m->beat;
	result->give_up_beat = m->beat + SIM_RESULT_WAIT_S * m->config.tick_hz;
}

static bool ask(struct sim_shard *s, const struct sim_map *m, uint32_t index)
{
	const struct sim_result *result = &m->match.results[index];
	struct msg message[3];
	struct msg_commit body = {
		.request = {m->match.serial, REQUEST_RESULT | (uint64_t)m->number << 8 | index},
		.character_id = {result->character_id, 0},
		.epoch = {result->epoch, 0},
		.realm_id = result->realm_id,
		.expires_ms = SIM_RESULT_AGAIN_S * 1000,
		.reason = COMMIT_REASON_MATCH,
		.ops = 1};
	const struct commit_op op = {.kind = COMMIT_RESULT,
		.item = m->match.rule->number,
		.amount = result->place,
		.serial = m->match.serial};
	uint8_t *payload =
		lane_shard_begin(message, MSG_COMMIT, HANDLE_NONE, (uint32_t)(sizeof(body) + sizeof(op)));

	_Static_assert(MSG_HEAD_BYTES + sizeof(body) + sizeof(op) <= sizeof(message), "3 slots");
	message->subject = result->character_id;
	memcpy(payload, &body, sizeof(body));
	memcpy(payload + sizeof(body), &op, sizeof(op));
	return sim_push(s, s->links.to_world, message);
}

uint32_t sim_results_step(struct sim_shard *s, struct sim_map *m)
{
	uint32_t cost = 0, asked = 0;

	for (uint32_t i = 0; i < m->match.result_count && asked < PER_TICK; i++) {
		struct sim_result *result = &m->match.results[i];

		cost += SIM_COST_SLOT;
		if (result->state == SETTLED)
			continue;
		if ((int32_t)(m->beat - result->give_up_beat) >= 0) {
			result->state = SETTLED;
			sim_count(s, SIM_RESULTS_LOST, 1);
		} else if (result->state == WANTED && (int32_t)(m->beat - result->next_beat) >= 0) {
			cost += SIM_COST_SEND;
			asked++;
			if (!ask(s, m, i))
				break; /* the ring is full: the next tick tries again */
			result->state = ASKED;
		}
	}
	return cost;
}

bool sim_results_settled(const struct sim_map *m)
{
	for (uint32_t i = 0; i < m->match.result_count; i++)
		if (m->match.results[i].state != SETTLED)
			return false;
	return true;
}

static void settle(
	struct sim_shard *s, struct sim_map *m, struct sim_result *result, uint32_t answer)
{
	switch (answer) {
	case COMMIT_RESULT_OK:
		sim_count(s, SIM_RESULTS, 1);
		break;
	case COMMIT_RESULT_UNAVAILABLE:
	case COMMIT_RESULT_EXPIRED: /* certainly without effect */
		result->state = WANTED;
		result->next_beat = m->beat + SIM_RESULT_AGAIN_S * m->config.tick_hz;
		sim_count(s, SIM_RESULTS_RETRIED, 1);
		return;
	default: /* final */
		sim_count(s, SIM_RESULTS_LOST, 1);
	}
	result->state = SETTLED;
}

bool sim_results_answered(struct sim_shard *s, const struct msg_commit_result *answer)
{
	uint32_t number = (uint32_t)(answer->request[1] >> 8) & 0xff;
	uint32_t index = (uint32_t)answer->request[1] & 0xff;
	struct sim_map *m = number < CONFIG_INSTANCES_MAX ? s->by_number[number] : NULL;

	if (!(answer->request[1] & REQUEST_RESULT))
		return false;
	/* Given up, or of a room that has ended since. */
	if (!m || answer->request[0] != m->match.serial || index >= m->match.result_count ||
		m->match.results[index].state != ASKED)
		sim_count(s, SIM_RESULTS_STALE, 1);
	else
		settle(s, m, &m->match.results[index], answer->result);
	return true;
}
