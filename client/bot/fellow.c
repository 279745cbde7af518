#include "client/bot/fellow.h"

#include <stdio.h>
#include <string.h>

#include "client/bot/random.h"
#include "proto/client.pb-c.h"

#define NS_PER_MS 1000000ull

void fellow_init(struct fellow *fellow, uint64_t seed, uint32_t index)
{
	*fellow = (struct fellow){.random = bot_random_begin(seed + 5, index), .answered = true};
}

void fellow_again(struct fellow *fellow)
{
	fellow->party = fellow->version = fellow->count = 0;
	fellow->inviter = 0;
}

static void told(struct fellow *fellow, const struct swc_self *self, const struct swc_event *event)
{
	bool in = false;

	fellow->told++;
	for (uint32_t i = 0; i < event->party.count; i++) {
		fellow->members[i] = event->party.members[i].character_id;
		in |= fellow->members[i] == self->character_id;
	}
	fellow->odd += event->party.version < fellow->version || (event->party.party && !in);
	fellow->joined += event->party.party && event->party.party != fellow->party;
	fellow->party = event->party.party;
	fellow->version = event->party.version;
	fellow->leader_id = event->party.leader_id;
	fellow->count = event->party.count;
	if (fellow->party)
		fellow->inviter = 0;
}

static void answered(struct fellow *fellow, const struct swc_event *event)
{
	uint32_t result = event->party_answer.result;

	fellow->answers++;
	fellow->results[result < FELLOW_RESULTS_MAX ? result : FELLOW_RESULTS_MAX - 1]++;
	if (event->party_answer.request != fellow->request ||
		result == SW__PARTY_RESULT__PARTY_TOO_OFTEN ||
		result == SW__PARTY_RESULT__PARTY_UNAVAILABLE)
		return;
	if (!fellow->answered)
		fellow->result = result;
	else
		fellow->differing += result != fellow->result;
	fellow->answered = true;
}

void fellow_event(struct fellow *fellow, const struct swc_self *self, const struct swc_event *event)
{
	switch (event->type) {
	case SWC_EVENT_PARTY:
		told(fellow, self, event);
		break;
	case SWC_EVENT_PARTY_ANSWER:
		answered(fellow, event);
		break;
	case SWC_EVENT_PARTY_INVITE:
		if (!event->party_invite.declined)
			fellow->inviter =
				event->party_invite.left_ms ? event->party_invite.character_id : 0;
		break;
	case SWC_EVENT_PARTY_LIVE:
		fellow->lives++;
		break;
	default:
		break;
	}
}

/* One of the others. */
static uint64_t other(struct fellow *fellow, const struct swc_self *self)
{
	uint32_t at = fellow->count ? bot_random_below(&fellow->random, fellow->count) : 0;

	if (fellow->count && fellow->members[at] == self->character_id)
		at = (at + 1) % fellow->count;
	return fellow->count ? fellow->members[at] : self->character_id;
}

static void decide(struct fellow *fellow, const struct swc_self *self, const char *near)
{
	uint32_t dice = bot_random_below(&fellow->random, 100);

	fellow->target_id = 0;
	fellow->name[0] = '\0';
	if (!fellow->party && fellow->inviter) {
		fellow->act = dice < 80 ? SWC_PARTY_ACCEPT : SWC_PARTY_DECLINE;
		fellow->target_id = fellow->inviter;
		fellow->inviter = 0;
	} else if ((!fellow->party || dice < 50) && near) {
		fellow->act = SWC_PARTY_INVITE;
		snprintf(fellow->name, sizeof(fellow->name), "%s", near);
	} else if (fellow->party && fellow->leader_id != self->character_id && dice < 70) {
		fellow->act = SWC_PARTY_LEAVE;
	} else if (fellow->party && dice < 80) {
		fellow->act = SWC_PARTY_PROMOTE; /* also by whoever does not lead */
		fellow->target_id = other(fellow, self);
	} else if (fellow->party && dice < 92) {
		fellow->act = SWC_PARTY_KICK;
		fellow->target_id = other(fellow, self);
	} else {
		fellow->act = SWC_PARTY_DISBAND;
	}
	do
		fellow->request = bot_random(&fellow->random);
	while (!fellow->request);
	fellow->answered = fellow->repeated = false;
}

bool fellow_step(struct fellow *fellow, const struct swc_self *self, const char *near,
	uint64_t now_ns, struct fellow_act *act)
{
	bool again;

	if (now_ns < fellow->due_ns)
		return false;
	fellow->due_ns = now_ns + (900 + bot_random_below(&fellow->random, 800)) * NS_PER_MS;
	/* What has no answer, or by chance what has one. */
	again = fellow->request && !fellow->repeated &&
		(!fellow->answered || bot_random_below(&fellow->random, 6) == 0);
	if (again)
		fellow->repeated = fellow->answered;
	else if (fellow->party || fellow->inviter || near)
		decide(fellow, self, near);
	else
		return false;
	fellow->asked++;
	*act = (struct fellow_act){.request = fellow->request,
		.character_id = fellow->target_id,
		.act = fellow->act,
		.name = fellow->name[0] ? fellow->name : NULL};
	return true;
}
