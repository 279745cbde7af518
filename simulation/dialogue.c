#include "simulation/dialogue.h"

#include "common/check.h"
#include "proto/client.pb-c.h"
#include "simulation/npc.h"
#include "simulation/reload.h"
#include "simulation/send.h"

/* The handler goes on; it may wait again, and says so by a new job. */
static bool resume(struct sim_map *m, uint32_t player, const struct script_answer *answer)
{
	struct sim_player *p = sim_player(m, player);
	uint32_t job = p->job;

	p->job = 0;
	p->question = 0;
	p->waits = false;
	return sim_npc_result(
		m, player, job, script_vm_resume(sim_reload_vm(m, job), job, answer));
}

/* ---- questions ---- */

bool sim_dialogue_ask(struct sim_map *m, uint32_t npc, uint32_t player,
	const struct script_question *question, uint32_t job)
{
	struct sim_player *p = sim_player(m, player);
	Sw__Dialogue dialogue = SW__DIALOGUE__INIT;
	char text[SCRIPT_SAY_BYTES + 1];
	char *choices[SCRIPT_CHOICES_MAX];

	DCHECK(question->text_bytes <= SCRIPT_SAY_BYTES && question->choices <= SCRIPT_CHOICES_MAX);
	if (!sim_is_present(m, player))
		return false;
	memcpy(text, question->text, question->text_bytes);
	text[question->text_bytes] = '\0';
	for (uint32_t i = 0; i < question->choices; i++)
		choices[i] = (char *)(uintptr_t)question->choice[i].text;
	dialogue.actor_id = m->entities[npc].wire_id;
	dialogue.text = text;
	dialogue.question = ++m->questions ? m->questions : ++m->questions;
	dialogue.n_choices = question->choices;
	dialogue.choices = choices;
	sim_work(m, SIM_COST_SEND);
	if (!sim_send_reliable(m->shard, m, player, SW_CHANNEL_SESSION,
		    (uint32_t)sw__dialogue__pack(
			    &dialogue, sim_send_begin(m->shard, SW_MSG_DIALOGUE))))
		return false;
	p->job = job;
	p->question = dialogue.question;
	p->choices = (uint8_t)question->choices;
	p->question_beat = m->beat + SIM_QUESTION_S * m->config.tick_hz;
	return true;
}

bool sim_dialogue_wait(struct sim_map *m, uint32_t player, uint32_t seconds, uint32_t job)
{
	struct sim_player *p = sim_player(m, player);

	if (!sim_is_present(m, player) || p->leave_wanted || (p->job && p->job != job))
		return false;
	p->job = job;
	p->question = 0;
	p->waits = true;
	p->question_beat = m->beat + seconds * m->config.tick_hz;
	return true;
}

uint32_t sim_dialogue_answer(
	struct sim_map *m, uint32_t player, uint32_t question, uint32_t choice, uint32_t *cost)
{
	const struct sim_player *p = sim_player(m, player);

	if (!question || p->question != question || choice > p->choices)
		return SW__ACTION_REFUSAL__NO_QUESTION;
	*cost += SIM_COST_SCRIPT;
	return resume(m, player, &(struct script_answer){.choice = choice})
		       ? SW__ACTION_REFUSAL__ACTION_REFUSAL_NONE
		       : SW__ACTION_REFUSAL__SCRIPT_FAILED;
}

void sim_dialogue_end(struct sim_map *m, uint32_t player)
{
	struct sim_player *p = sim_player(m, player);

	if (p->job)
		script_vm_cancel(sim_reload_vm(m, p->job), p->job);
	p->job = 0;
	p->question = 0;
	p->waits = false;
}

uint32_t sim_dialogue_second(struct sim_map *m, uint32_t player)
{
	const struct sim_player *p = sim_player(m, player);

	if ((!p->question && !p->waits) || (int32_t)(m->beat - p->question_beat) < 0 || m->script_left_ns <= 0)
		return 0;
	if (!resume(m, player, &(struct script_answer){.choice = 0}))
		sim_send_refused(
			m->shard, m, player, SW_MSG_CLICK, SW__ACTION_REFUSAL__SCRIPT_FAILED);
	return SIM_COST_SCRIPT;
}

/* ---- commits ---- */

static enum script_kept kept_of(enum commit_result result)
{
	switch (result) {
	case COMMIT_RESULT_OK:
		return SCRIPT_KEPT_OK;
	case COMMIT_RESULT_UNAVAILABLE:
	case COMMIT_RESULT_EXPIRED:
		return SCRIPT_KEPT_UNAVAILABLE;
	case COMMIT_RESULT_NOT_ENOUGH:
		return SCRIPT_KEPT_NOT_ENOUGH;
	case COMMIT_RESULT_QUEST_STATE:
		return SCRIPT_KEPT_QUEST_STATE;
	default:
		return SCRIPT_KEPT_REFUSED;
	}
}

void sim_dialogue_kept(struct sim_map *m, uint32_t player, uint32_t job, enum commit_result result)
{
	struct sim_player *p = sim_player(m, player);
	struct sim_wake *wake;

	p->keeping = false;
	if (p->state != SIM_PLAYER_PRESENT)
		return;
	if (!job || p->job != job) {
		if (result != COMMIT_RESULT_OK)
			sim_send_refused(
				m->shard, m, player, SW_MSG_CLICK, SW__ACTION_REFUSAL__NOT_KEPT);
		return;
	}
	/* Room for two of each player: more are there only if many came and left while the budget
	 * for scripts was spent. The commit is done; its handler is not told. */
	if (m->wake_count == m->commits_max) {
		sim_dialogue_end(m, player);
		return;
	}
	wake = &m->wakes[(m->wake_head + m->wake_count++) % m->commits_max];
	*wake = (struct sim_wake){.player = player,
		.generation = m->entities[player].generation,
		.job = job,
		.kept = (uint8_t)kept_of(result)};
}

bool sim_dialogue_wake(struct sim_map *m, struct sim_slice *slice)
{
	while (m->wake_count && m->script_left_ns > 0) {
		struct sim_wake wake = m->wakes[m->wake_head];

		if (slice->left <= 0)
			return false;
		m->wake_head = (m->wake_head + 1) % m->commits_max;
		m->wake_count--;
		slice->left -= SIM_COST_SLOT;
		if (!sim_is_present(m, wake.player) ||
			m->entities[wake.player].generation != wake.generation ||
			sim_player(m, wake.player)->job != wake.job)
			continue;
		if (!resume(m, wake.player,
			    &(struct script_answer){.kept = (enum script_kept)wake.kept}))
			sim_send_refused(m->shard, m, wake.player, SW_MSG_CLICK,
				SW__ACTION_REFUSAL__SCRIPT_FAILED);
		slice->left -= SIM_COST_SCRIPT + sim_work_taken(m);
	}
	return true;
}
