/* fellow.h: how a bot lives with parties (--party). It invites players near by name, accepts or
 * declines, leaves, and as a leader removes others, hands the lead on or ends the party; and, by
 * chance, it says again what it has asked, as a client does whose connection broke. Pure: the same
 * seed and the same events decide the same. Its caller carries out what it decides. */
#ifndef SWC_BOT_FELLOW_H
#define SWC_BOT_FELLOW_H

#include <stdbool.h>
#include <stdint.h>

#include "client/stormweir.h"

#define FELLOW_RESULTS_MAX 16u

struct fellow {
	uint64_t random, due_ns;
	uint64_t party, leader_id, version; /* as told last */
	uint64_t members[SWC_PARTY_MEMBERS_MAX];
	uint32_t count;
	uint64_t inviter; /* whose invitation waits; 0: none */
	/* the last request */
	uint64_t request, target_id;
	enum swc_party_act act;
	char name[SWC_NAME_BYTES];
	bool answered, repeated;
	uint32_t result; /* of the first answer */
	/* counted */
	uint32_t asked, answers, results[FELLOW_RESULTS_MAX];
	uint32_t joined;    /* times it came into a party */
	uint32_t told;      /* PARTY events */
	uint32_t lives;     /* PARTY_LIVE events */
	uint32_t odd;       /* states it is not in, or that go back */
	uint32_t differing; /* answers to a repeat that are not the first one's: Redis was lost */
};

/* What it asks for now: swc_party's arguments. */
struct fellow_act {
	uint64_t request, character_id;
	enum swc_party_act act;
	const char *name; /* NULL where character_id says whom */
};

void fellow_init(struct fellow *fellow, uint64_t seed, uint32_t index);

/* It has connected again: it will be told anew. */
void fellow_again(struct fellow *fellow);

void fellow_event(
	struct fellow *fellow, const struct swc_self *self, const struct swc_event *event);

/* Whether it asks for something now. near: the name of a player in view, NULL: nobody is. */
bool fellow_step(struct fellow *fellow, const struct swc_self *self, const char *near,
	uint64_t now_ns, struct fellow_act *act);

#endif
