#include "client/bot/quester.h"

#include <string.h>

#define NS_PER_S 1000000000ull
#define AGAIN_NS (6 * NS_PER_S)
#define WAIT_NS  (NS_PER_S * 3 / 4)

/* Returns whether it stands elsewhere than before. */
static bool take_quest(struct quester *q, const struct swc_quest *quest)
{
	uint32_t i = 0;
	bool news;

	while (i < q->quests && q->quest[i].quest != quest->quest)
		i++;
	if (i == QUESTER_QUESTS)
		return false;
	news = i == q->quests || q->quest[i].phase != quest->phase ||
	       q->quest[i].step != quest->step;
	if (i == q->quests)
		q->quests++;
	q->quest[i].quest = quest->quest;
	q->quest[i].phase = quest->phase;
	q->quest[i].step = quest->step;
	q->quest[i].count = quest->count;
	q->quest[i].pending = quest->pending;
	q->quest[i].need = quest->need;
	q->quest[i].item = quest->item;
	return news;
}

void quester_event(struct quester *q, const struct swc_event *event)
{
	switch (event->type) {
	case SWC_EVENT_JOINED: /* other actors */
		q->npcs = 0;
		q->question = 0;
		q->wait_ns = 0;
		q->news_ns = 0;
		break;
	case SWC_EVENT_QUESTS:
		if (event->quests.all)
			q->quests = 0;
		for (uint32_t i = 0; i < event->quests.count; i++)
			if (take_quest(q, &event->quests.quest[i]))
				q->news_ns = q->clicked_ns + 1;
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

/* Whether an open quest lacks something: kills (item 0) or things. */
static bool lacks(const struct quester *q, uint32_t i)
{
	uint32_t has = q->quest[i].count + q->quest[i].pending;

	if (q->quest[i].phase != SWC_QUEST_OPEN)
		return false;
	for (uint32_t s = 0; q->quest[i].item && s < q->stacks; s++)
		if (q->stack[s].item == q->quest[i].item && q->stack[s].slot < 100)
			has += q->stack[s].count;
	return has < q->quest[i].need;
}

bool quester_fights(const struct quester *q)
{
	for (uint32_t i = 0; i < q->quests; i++)
		if (lacks(q, i))
			return true;
	return false;
}

bool quester_picks(const struct quester *q)
{
	for (uint32_t i = 0; i < q->quests; i++)
		if (q->quest[i].item && lacks(q, i))
			return true;
	return false;
}

/* 0: never. */
static uint64_t clicked_ns(const struct quester *q, uint32_t actor_id)
{
	for (uint32_t i = 0; i < q->npcs; i++)
		if (q->npc[i].actor_id == actor_id)
			return q->npc[i].clicked_ns;
	return 0;
}

const struct swc_actor *quester_npc(const struct quester *q, const struct swc_self *self,
	const struct swc_actor *const *actors, uint32_t count, uint64_t now_ns)
{
	const struct swc_actor *next = NULL;
	uint64_t oldest_ns = UINT64_MAX;
	int64_t nearest_mm2 = INT64_MAX;

	if (now_ns < q->wait_ns)
		return NULL;
	for (uint32_t i = 0; i < count; i++) {
		int64_t x = (int64_t)actors[i]->x_mm - self->x_mm;
		int64_t y = (int64_t)actors[i]->y_mm - self->y_mm;
		uint64_t clicked = clicked_ns(q, actors[i]->actor_id);
		bool turn = !clicked || clicked < q->news_ns || now_ns >= clicked + AGAIN_NS;

		if (actors[i]->kind != SWC_NPC || !turn || clicked > oldest_ns ||
			(clicked == oldest_ns && x * x + y * y >= nearest_mm2))
			continue;
		next = actors[i];
		oldest_ns = clicked;
		nearest_mm2 = x * x + y * y;
	}
	return next;
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
	q->npc[i].clicked_ns = q->clicked_ns = now_ns;
	q->wait_ns = now_ns + WAIT_NS;
}
