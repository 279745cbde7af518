#include "client/bot/quester.h"

#include <string.h>

#define NS_PER_S 1000000000ull
#define AGAIN_NS (6 * NS_PER_S)
#define WAIT_NS  (NS_PER_S * 3 / 4)

static void take_quest(struct quester *q, const struct swc_quest *quest)
{
	uint32_t i = 0;

	while (i < q->quests && q->quest[i].quest != quest->quest)
		i++;
	if (i == QUESTER_QUESTS)
		return;
	if (i == q->quests)
		q->quests++;
	q->quest[i].quest = quest->quest;
	q->quest[i].phase = quest->phase;
	q->quest[i].count = quest->count;
	q->quest[i].pending = quest->pending;
	q->quest[i].need = quest->need;
	q->quest[i].item = quest->item;
}

void quester_event(struct quester *q, const struct swc_event *event)
{
	switch (event->type) {
	case SWC_EVENT_JOINED: /* other actors */
		q->npcs = 0;
		q->question = 0;
		q->wait_ns = 0;
		break;
	case SWC_EVENT_QUESTS:
		if (event->quests.all)
			q->quests = 0;
		for (uint32_t i = 0; i < event->quests.count; i++)
			take_quest(q, &event->quests.quest[i]);
		break;
	case SWC_EVENT_INVENTORY:
		q->stacks = event->inventory.count < SWC_STACKS_MAX ? event->inventory.count
								    : SWC_STACKS_MAX;
		memcpy(q->stack, event->inventory.stacks, q->stacks * sizeof(q->stack[0]));
		break;
	case SWC_EVENT_DIALOGUE:
		q->question = event->dialogue.question;
		break;
	default:
		break;
	}
}

uint32_t quester_done(const struct quester *q)
{
	uint32_t done = 0;

	for (uint32_t i = 0; i < q->quests; i++)
		done += q->quest[i].phase == SWC_QUEST_DONE;
	return done;
}

bool quester_fights(const struct quester *q)
{
	for (uint32_t i = 0; i < q->quests; i++) {
		uint32_t has = q->quest[i].count + q->quest[i].pending;

		if (q->quest[i].phase != SWC_QUEST_OPEN)
			continue;
		for (uint32_t s = 0; q->quest[i].item && s < q->stacks; s++)
			if (q->stack[s].item == q->quest[i].item && q->stack[s].slot < 100)
				has += q->stack[s].count;
		if (has < q->quest[i].need)
			return true;
	}
	return false;
}

static uint64_t next_ns(const struct quester *q, uint32_t actor_id)
{
	for (uint32_t i = 0; i < q->npcs; i++)
		if (q->npc[i].actor_id == actor_id)
			return q->npc[i].next_ns;
	return 0;
}

const struct swc_actor *quester_npc(const struct quester *q, const struct swc_self *self,
	const struct swc_actor *const *actors, uint32_t count, uint64_t now_ns)
{
	const struct swc_actor *nearest = NULL;
	int64_t nearest_mm2 = INT64_MAX;

	if (now_ns < q->wait_ns)
		return NULL;
	for (uint32_t i = 0; i < count; i++) {
		int64_t x = (int64_t)actors[i]->x_mm - self->x_mm;
		int64_t y = (int64_t)actors[i]->y_mm - self->y_mm;

		if (actors[i]->kind != SWC_NPC || now_ns < next_ns(q, actors[i]->actor_id) ||
			x * x + y * y >= nearest_mm2)
			continue;
		nearest = actors[i];
		nearest_mm2 = x * x + y * y;
	}
	return nearest;
}

void quester_clicked(struct quester *q, uint32_t actor_id, uint64_t now_ns)
{
	uint32_t i = 0;

	while (i < q->npcs && q->npc[i].actor_id != actor_id)
		i++;
	if (i == QUESTER_NPCS)
		i = 0; /* the first is forgotten */
	else if (i == q->npcs)
		q->npcs++;
	q->npc[i].actor_id = actor_id;
	q->npc[i].next_ns = now_ns + AGAIN_NS;
	q->wait_ns = now_ns + WAIT_NS;
}
