/* quester.h: a bot that does quests: it goes from NPC to NPC, takes the first choice of each
 * question, and fights while a quest wants kills or things. When a quest has moved on it goes round
 * again. Pure; one thread. */
#ifndef SWC_BOT_QUESTER_H
#define SWC_BOT_QUESTER_H

#include "client/stormweir.h"

#define QUESTER_QUESTS 64u /* that it remembers */
#define QUESTER_NPCS   32u

struct quester {
	struct {
		uint32_t quest, phase, step, count, pending, need, item;
	} quest[QUESTER_QUESTS];
	uint32_t quests;
	struct swc_stack stack[SWC_STACKS_MAX];
	uint32_t stacks;
	struct {
		uint32_t actor_id;
		uint64_t clicked_ns;
	} npc[QUESTER_NPCS];
	uint32_t npcs;
	uint32_t question;   /* to be answered with its first choice; 0: none */
	uint64_t wait_ns;    /* for what the last NPC says */
	uint64_t clicked_ns; /* the last of all */
	uint64_t news_ns;    /* who was clicked before may have something else to say now */
};

/* What happened, of any type. */
void quester_event(struct quester *quester, const struct swc_event *event);

/* How many quests are done, open ones not among them. */
uint32_t quester_done(const struct quester *quester);

/* Whether a quest wants kills, or things that it has not got. */
bool quester_fights(const struct quester *quester);

/* ... things: what lies around is picked up. */
bool quester_picks(const struct quester *quester);

/* The NPC to go to: of count actors whose turn it is the one that was clicked longest ago, the
 * nearest of those that never were; NULL: none. */
const struct swc_actor *quester_npc(const struct quester *quester, const struct swc_self *self,
	const struct swc_actor *const *actors, uint32_t count, uint64_t now_ns);

/* It was clicked. */
void quester_clicked(struct quester *quester, uint32_t actor_id, uint64_t now_ns);

#endif
