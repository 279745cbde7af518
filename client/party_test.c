/* Proves, without a socket, a client's side of parties: what one asks goes out as it was said; what
 * the server says of one's party, of invitations and of how members are is told field by field; an
 * older word of a party than one that is known changes nothing; and what cannot be is refused by
 * name and told to nobody. */
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdio.h>
#include <string.h>
#include <cmocka.h>

#include "client/seen.h"

#define OTHER 88u /* a character */

/* Of the last event; what its pointers point to is gone after it. */
static struct swc_event last;
static struct swc_party_member last_members[SWC_PARTY_MEMBERS_MAX];
static struct swc_party_live last_live[SWC_PARTY_MEMBERS_MAX];
static char last_text[128];

static void look(const struct swc_event *event)
{
	const char *text = "";

	last = *event;
	if (event->type == SWC_EVENT_PARTY)
		memcpy(last_members, event->party.members,
			event->party.count * sizeof(last_members[0]));
	if (event->type == SWC_EVENT_PARTY_LIVE)
		memcpy(last_live, event->party_live.members,
			event->party_live.count * sizeof(last_live[0]));
	if (event->type == SWC_EVENT_PARTY_INVITE)
		text = event->party_invite.name;
	if (event->type == SWC_EVENT_PARTY_ANSWER)
		text = event->party_answer.text;
	snprintf(last_text, sizeof(last_text), "%s", text);
}

static void start(struct seen *seen)
{
	seen_start_playing(seen);
	seen->look = look;
}

/* A party of oneself and another, who leads; rows are changed by the tests. */
struct state {
	Sw__PartyState said;
	Sw__PartyMember member[SWC_PARTY_MEMBERS_MAX + 1];
	Sw__PartyMember *members[SWC_PARTY_MEMBERS_MAX + 1];
};

static void make_state(struct state *s, uint64_t version)
{
	sw__party_state__init(&s->said);
	for (uint32_t i = 0; i <= SWC_PARTY_MEMBERS_MAX; i++) {
		sw__party_member__init(&s->member[i]);
		s->member[i].character_id = i ? OTHER + i - 1 : SEEN_CHARACTER;
		s->member[i].name = i ? "Bo" : "Ann";
		s->member[i].map = i ? "" : "meadow";
		s->member[i].online = !i;
		s->members[i] = &s->member[i];
	}
	s->said.party = 9;
	s->said.version = version;
	s->said.leader = OTHER;
	s->said.members = s->members;
	s->said.n_members = 2;
	s->said.change = SW__PARTY_CHANGE__CHANGE_JOINED;
	s->said.subject = SEEN_CHARACTER;
}

static void give_state(struct seen *seen, const struct state *s)
{
	seen_give(seen, SW_CHANNEL_SESSION, SW_MSG_PARTY_STATE, &s->said);
}

static void what_is_asked_goes_out_as_it_was_said(void **state)
{
	static const struct {
		int act;
		uint64_t character_id;
		const char *name;
		Sw__PartyAct want;
	} rows[] = {
		{SWC_PARTY_INVITE, 0, "Bo", SW__PARTY_ACT__ACT_INVITE},
		{SWC_PARTY_INVITE, OTHER, NULL, SW__PARTY_ACT__ACT_INVITE},
		{SWC_PARTY_ACCEPT, OTHER, NULL, SW__PARTY_ACT__ACT_ACCEPT},
		{SWC_PARTY_DECLINE, OTHER, NULL, SW__PARTY_ACT__ACT_DECLINE},
		{SWC_PARTY_LEAVE, 0, NULL, SW__PARTY_ACT__ACT_LEAVE},
		{SWC_PARTY_KICK, OTHER, NULL, SW__PARTY_ACT__ACT_KICK},
		{SWC_PARTY_PROMOTE, OTHER, NULL, SW__PARTY_ACT__ACT_PROMOTE},
		{SWC_PARTY_DISBAND, 0, NULL, SW__PARTY_ACT__ACT_DISBAND},
	};
	Sw__Joined joined = seen_joined();
	struct seen seen;

	(void)state;
	start(&seen);
	joined.stay = 3;
	seen_give(&seen, SW_CHANNEL_SESSION, SW_MSG_JOINED, &joined);
	for (size_t i = 0; i < sizeof(rows) / sizeof(rows[0]); i++) {
		Sw__PartyRequest *sent;

		swc_session_party(&seen.session, UINT64_MAX - i, rows[i].act, rows[i].character_id,
			rows[i].name);
		assert_int_equal(seen.packet[0], SW_MSG_PARTY_REQUEST);
		assert_true(seen.reliable && seen.channel == SW_CHANNEL_SESSION);
		sent = sw__party_request__unpack(NULL, seen.packet_bytes - 1, seen.packet + 1);
		assert_non_null(sent);
		assert_true(sent->request == UINT64_MAX - i);
		assert_int_equal(sent->act, rows[i].want);
		assert_int_equal(sent->character_id, rows[i].character_id);
		assert_string_equal(sent->name, rows[i].name ? rows[i].name : "");
		assert_int_equal(sent->stay, 3); /* of the map that one is on */
		sw__party_request__free_unpacked(sent, NULL);
	}
	seen_stop(&seen);
}

static void a_party_is_told_whole(void **state)
{
	struct state s;
	struct seen seen;

	(void)state;
	start(&seen);
	make_state(&s, 100);
	give_state(&seen, &s);
	assert_int_equal(seen.events[SWC_EVENT_PARTY], 1);
	assert_int_equal(last.party.party, 9);
	assert_int_equal(last.party.version, 100);
	assert_int_equal(last.party.leader_id, OTHER);
	assert_int_equal(last.party.count, 2);
	assert_int_equal(last.party.change, SW__PARTY_CHANGE__CHANGE_JOINED);
	assert_int_equal(last.party.subject_id, SEEN_CHARACTER);
	assert_int_equal(last_members[0].character_id, SEEN_CHARACTER);
	assert_string_equal(last_members[0].name, "Ann");
	assert_string_equal(last_members[0].map, "meadow");
	assert_true(last_members[0].online);
	assert_int_equal(last_members[1].character_id, OTHER);
	assert_string_equal(last_members[1].name, "Bo");
	assert_string_equal(last_members[1].map, "");
	assert_false(last_members[1].online);

	s.said.n_members = SWC_PARTY_MEMBERS_MAX; /* the largest */
	s.said.version++;
	give_state(&seen, &s);
	assert_int_equal(last.party.count, SWC_PARTY_MEMBERS_MAX);
	assert_int_equal(last_members[SWC_PARTY_MEMBERS_MAX - 1].character_id,
		OTHER + SWC_PARTY_MEMBERS_MAX - 2);
	assert_int_equal(seen_refused(&seen), 0);
	seen_stop(&seen);
}

/* A version is the realm's: an older one is older whatever party it is of, on whatever map it was
 * said. The same again is told again: who comes to a map is told how it is. */
static void an_older_word_changes_nothing(void **state)
{
	struct state s;
	struct seen seen;

	(void)state;
	start(&seen);
	make_state(&s, 100);
	give_state(&seen, &s);
	s.said.version = 99;
	s.said.party = 4;
	give_state(&seen, &s);
	assert_int_equal(seen.events[SWC_EVENT_PARTY], 1);
	s.said.version = 100;
	s.said.party = 9;
	give_state(&seen, &s);
	assert_int_equal(seen.events[SWC_EVENT_PARTY], 2);

	s.said = (Sw__PartyState)SW__PARTY_STATE__INIT; /* in none any more */
	s.said.version = 1ull << 40;
	s.said.change = SW__PARTY_CHANGE__CHANGE_KICKED;
	give_state(&seen, &s);
	assert_int_equal(seen.events[SWC_EVENT_PARTY], 3);
	assert_int_equal(last.party.party, 0);
	assert_int_equal(last.party.count, 0);
	assert_int_equal(last.party.change, SW__PARTY_CHANGE__CHANGE_KICKED);
	make_state(&s, 101); /* of before that */
	give_state(&seen, &s);
	seen_join(&seen);
	give_state(&seen, &s);
	assert_int_equal(seen.events[SWC_EVENT_PARTY], 3);
	make_state(&s, (1ull << 40) + 1);
	give_state(&seen, &s);
	assert_int_equal(last.party.party, 9);
	assert_int_equal(seen_refused(&seen), 0);
	seen_stop(&seen);
}

static void a_party_that_cannot_be_is_refused(void **state)
{
	static char long_text[] = "a text of more than 31 bytes, at least one";
	enum { CASES = 9 };

	(void)state;
	for (int i = 0; i <= CASES; i++) {
		struct state s;
		struct seen seen;

		start(&seen);
		make_state(&s, 100);
		switch (i) {
		case 0: /* more than a party has */
			s.said.n_members = SWC_PARTY_MEMBERS_MAX + 1;
			break;
		case 1:
			s.said.version = 0;
			break;
		case 2: /* members of no party */
			s.said.party = 0;
			break;
		case 3:
			s.said.n_members = 0;
			break;
		case 4:
			s.member[1].character_id = 0;
			break;
		case 5:
			s.member[1].name = long_text;
			break;
		case 6:
			s.member[1].map = long_text;
			break;
		case 7: /* somebody else's party */
			s.member[0].character_id = OTHER + 1;
			break;
		case 8: /* led by one who is not in it */
			s.said.leader = OTHER + 1;
			break;
		}
		give_state(&seen, &s);
		if (seen.session.stats.refused[SWC_REFUSAL_OUT_OF_RANGE] != (i < CASES) ||
			seen.events[SWC_EVENT_PARTY] != (i == CASES))
			fail_msg("case %d", i);
		/* And it is not taken for a word of that version. */
		make_state(&s, 50);
		give_state(&seen, &s);
		assert_int_equal(seen.events[SWC_EVENT_PARTY], 1);
		seen_stop(&seen);
	}
}

static void answers_and_invitations(void **state)
{
	static char long_text[] = "a text of more than 31 bytes, at least one";
	Sw__PartyAnswer answer = SW__PARTY_ANSWER__INIT;
	Sw__PartyInvite invite = SW__PARTY_INVITE__INIT;
	struct seen seen;

	(void)state;
	start(&seen);
	answer.request = 1ull << 50;
	answer.act = SW__PARTY_ACT__ACT_KICK;
	answer.result = SW__PARTY_RESULT__PARTY_NOT_LEADER;
	seen_give(&seen, SW_CHANNEL_SESSION, SW_MSG_PARTY_ANSWER, &answer);
	assert_int_equal(last.type, SWC_EVENT_PARTY_ANSWER);
	assert_true(last.party_answer.request == 1ull << 50);
	assert_int_equal(last.party_answer.act, SWC_PARTY_KICK);
	assert_int_equal(last.party_answer.result, SW__PARTY_RESULT__PARTY_NOT_LEADER);
	assert_string_equal(last_text, swc_party_result_text(SW__PARTY_RESULT__PARTY_NOT_LEADER));
	answer.result = (Sw__PartyResult)1000; /* of a newer server */
	seen_give(&seen, SW_CHANNEL_SESSION, SW_MSG_PARTY_ANSWER, &answer);
	assert_int_equal(last.party_answer.result, 1000);
	assert_true(last_text[0]);

	invite.character_id = OTHER;
	invite.name = "Bo";
	invite.left_ms = 30000;
	seen_give(&seen, SW_CHANNEL_SESSION, SW_MSG_PARTY_INVITE, &invite);
	assert_int_equal(last.type, SWC_EVENT_PARTY_INVITE);
	assert_int_equal(last.party_invite.character_id, OTHER);
	assert_string_equal(last_text, "Bo");
	assert_int_equal(last.party_invite.left_ms, 30000);
	assert_false(last.party_invite.declined);
	invite.left_ms = 0;
	invite.declined = true;
	seen_give(&seen, SW_CHANNEL_SESSION, SW_MSG_PARTY_INVITE, &invite);
	assert_true(last.party_invite.declined && !last.party_invite.left_ms);
	assert_int_equal(seen_refused(&seen), 0);
	invite.name = long_text;
	seen_give(&seen, SW_CHANNEL_SESSION, SW_MSG_PARTY_INVITE, &invite);
	invite.name = "Bo";
	invite.character_id = 0;
	seen_give(&seen, SW_CHANNEL_SESSION, SW_MSG_PARTY_INVITE, &invite);
	assert_int_equal(seen.session.stats.refused[SWC_REFUSAL_OUT_OF_RANGE], 2);
	assert_int_equal(seen.events[SWC_EVENT_PARTY_INVITE], 2);
	seen_stop(&seen);
}

static void how_members_are(void **state)
{
	Sw__PartyMemberLive one = SW__PARTY_MEMBER_LIVE__INIT, two = SW__PARTY_MEMBER_LIVE__INIT;
	Sw__PartyMemberLive *members[SWC_PARTY_MEMBERS_MAX + 1];
	Sw__PartyLive live = SW__PARTY_LIVE__INIT;
	struct seen seen;

	(void)state;
	start(&seen);
	for (uint32_t i = 0; i <= SWC_PARTY_MEMBERS_MAX; i++)
		members[i] = i ? &two : &one;
	one.character_id = SEEN_CHARACTER;
	two.character_id = OTHER;
	two.actor_id = 6;
	two.x_mm = -7;
	two.y_mm = 8000;
	two.health = 9;
	two.health_max = 10;
	two.level = 11;
	live.party = 9;
	live.members = members;
	live.n_members = SWC_PARTY_MEMBERS_MAX;
	seen_give(&seen, SW_CHANNEL_SESSION, SW_MSG_PARTY_LIVE, &live);
	assert_int_equal(last.type, SWC_EVENT_PARTY_LIVE);
	assert_int_equal(last.party_live.party, 9);
	assert_int_equal(last.party_live.count, SWC_PARTY_MEMBERS_MAX);
	assert_int_equal(last_live[0].character_id, SEEN_CHARACTER);
	assert_int_equal(last_live[0].health_max, 0); /* not known yet */
	assert_int_equal(last_live[1].character_id, OTHER);
	assert_int_equal(last_live[1].actor_id, 6);
	assert_int_equal(last_live[1].x_mm, -7);
	assert_int_equal(last_live[1].y_mm, 8000);
	assert_int_equal(last_live[1].health, 9);
	assert_int_equal(last_live[1].health_max, 10);
	assert_int_equal(last_live[1].level, 11);
	assert_int_equal(seen_refused(&seen), 0);
	live.n_members++;
	seen_give(&seen, SW_CHANNEL_SESSION, SW_MSG_PARTY_LIVE, &live);
	live.n_members = 2;
	live.party = 0;
	seen_give(&seen, SW_CHANNEL_SESSION, SW_MSG_PARTY_LIVE, &live);
	assert_int_equal(seen.session.stats.refused[SWC_REFUSAL_OUT_OF_RANGE], 2);
	assert_int_equal(seen.events[SWC_EVENT_PARTY_LIVE], 1);
	seen_stop(&seen);
}

/* Channel 0 alone, whichever message it is. */
static void on_another_channel_nothing_is_taken(void **state)
{
	static const uint8_t types[] = {
		SW_MSG_PARTY_STATE, SW_MSG_PARTY_ANSWER, SW_MSG_PARTY_INVITE, SW_MSG_PARTY_LIVE};
	struct seen seen;

	(void)state;
	start(&seen);
	for (uint8_t channel = 1; channel < 4; channel++)
		for (size_t i = 0; i < sizeof(types); i++)
			swc_session_receive(&seen.session, channel, &types[i], 1);
	assert_int_equal(seen.session.stats.refused[SWC_REFUSAL_WRONG_CHANNEL], 12);
	assert_int_equal(seen_refused(&seen), 12);
	seen_stop(&seen);
}

static void each_has_words_of_its_own(
	const ProtobufCEnumDescriptor *of, const char *(*text)(uint32_t value))
{
	for (uint32_t i = 0; i < of->n_values; i++)
		for (uint32_t k = 0; k < i; k++)
			if (!strcmp(text((uint32_t)of->values[i].value),
				    text((uint32_t)of->values[k].value)))
				fail_msg("%s and %s", of->values[i].name, of->values[k].name);
}

static void what_is_told_has_words(void **state)
{
	(void)state;
	each_has_words_of_its_own(&sw__party_result__descriptor, swc_party_result_text);
	each_has_words_of_its_own(&sw__party_change__descriptor, swc_party_change_text);
	assert_true(swc_party_result_text(UINT32_MAX)[0]);
	assert_true(swc_party_change_text(UINT32_MAX)[0]);
}

int main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test(what_is_asked_goes_out_as_it_was_said),
		cmocka_unit_test(a_party_is_told_whole),
		cmocka_unit_test(an_older_word_changes_nothing),
		cmocka_unit_test(a_party_that_cannot_be_is_refused),
		cmocka_unit_test(answers_and_invitations),
		cmocka_unit_test(how_members_are),
		cmocka_unit_test(on_another_channel_nothing_is_taken),
		cmocka_unit_test(what_is_told_has_words),
	};

	return cmocka_run_group_tests_name("party", tests, NULL, NULL);
}
