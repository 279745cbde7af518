/* Proves, without a socket, a client's side of chat: what one asks goes out as it was said; a line
 * comes to the program once however often it comes from the wire, a gap is told with its length, a
 * change of owner is told and what the old one says late is not; whispers and announcements come
 * once; and what cannot be is refused by name and told to nobody. */
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdio.h>
#include <string.h>
#include <cmocka.h>

#include "client/seen.h"
#include "client/session_chat.h"
#include "common/chat.h"

#define CHANNEL 0x1122334455667788u

static struct swc_event last; /* what its pointers point to is gone after it */
static char last_text[128];
static uint64_t first_history;

static void look(const struct swc_event *event)
{
	const char *text = "";

	last = *event;
	if (event->type == SWC_EVENT_CHAT_LINE)
		text = event->chat_line.line.text;
	if (event->type == SWC_EVENT_CHAT_WHISPER)
		text = event->whisper.text;
	if (event->type == SWC_EVENT_CHAT_CHANNEL)
		text = event->chat_channel.name;
	if (event->type == SWC_EVENT_CHAT_REFUSED)
		text = event->chat_refused.text;
	if (event->type == SWC_EVENT_ANNOUNCEMENT)
		text = event->announcement.text;
	if (event->type == SWC_EVENT_CHAT_CHANNEL && event->chat_channel.count)
		first_history = event->chat_channel.history[0].sequence;
	snprintf(last_text, sizeof(last_text), "%s", text);
}

static void start(struct seen *seen)
{
	seen_start_playing(seen);
	seen->look = look;
}

static void give(struct seen *seen, uint8_t type, const void *message)
{
	seen_give(seen, SW_CHANNEL_CHAT, type, message);
}

static void come_in(struct seen *seen, uint64_t channel, uint64_t token, uint64_t sequence)
{
	Sw__ChatChannel said = SW__CHAT_CHANNEL__INIT;

	said.channel = channel;
	said.kind = SW__CHAT_KIND__CHAT_LANGUAGE;
	said.name = "de";
	said.token = token;
	said.sequence = sequence;
	give(seen, SW_MSG_CHAT_CHANNEL, &said);
}

static void go_out(struct seen *seen, uint64_t channel)
{
	Sw__ChatChannel said = SW__CHAT_CHANNEL__INIT;

	said.channel = channel;
	said.left = true;
	give(seen, SW_MSG_CHAT_CHANNEL, &said);
}

static void line(struct seen *seen, uint64_t token, uint64_t sequence)
{
	Sw__ChatLine said = SW__CHAT_LINE__INIT;

	said.channel = CHANNEL;
	said.token = token;
	said.sequence = sequence;
	said.sender_id = 88;
	said.sender = "Bo";
	said.text = "Hi";
	give(seen, SW_MSG_CHAT_LINE, &said);
}

static void lines_come_once_and_gaps_are_told(void **state)
{
	/* token, sequence; and what becomes of it: '+' told, with so many missed, 'r' a repeat,
	 * 'o' of an old owner */
	static const struct {
		uint64_t token, sequence;
		char what;
		uint64_t missed;
		bool owner;
	} steps[] = {
		{5, 41, '+', 0, false},
		{5, 42, '+', 0, false},
		{5, 42, 'r', 0, false},
		{5, 41, 'r', 0, false},
		{5, 46, '+', 3, false},
		{5, 44, 'r', 0, false}, /* too late: 43 to 45 were told as missed */
		{4, 90, 'o', 0, false},
		{7, 1, '+', 0, true},
		{5, 47, 'o', 0, false},
		{7, 2, '+', 0, false},
		{9, 3, '+', 2, true}, /* its first two are missing */
		{9, 4, '+', 0, false},
	};
	uint64_t told = 0, repeats = 0, old = 0, missed = 0;
	struct seen seen;

	(void)state;
	start(&seen);
	line(&seen, 5, 40); /* one is not in it */
	assert_int_equal(seen.session.stats.chat_unknown, 1);
	come_in(&seen, CHANNEL, 5, 40);
	for (size_t i = 0; i < sizeof(steps) / sizeof(steps[0]); i++) {
		line(&seen, steps[i].token, steps[i].sequence);
		told += steps[i].what == '+';
		repeats += steps[i].what == 'r';
		old += steps[i].what == 'o';
		missed += steps[i].missed;
		assert_int_equal(seen.events[SWC_EVENT_CHAT_LINE], told);
		assert_int_equal(seen.session.stats.chat_repeats, repeats);
		assert_int_equal(seen.session.stats.chat_old, old);
		assert_int_equal(seen.session.stats.chat_missed, missed);
		if (steps[i].what != '+')
			continue;
		assert_int_equal(last.chat_line.missed, steps[i].missed);
		assert_int_equal(last.chat_line.owner_changed, steps[i].owner);
		assert_int_equal(last.chat_line.line.sequence, steps[i].sequence);
		assert_int_equal(last.chat_line.channel, CHANNEL);
		assert_string_equal(last_text, "Hi");
	}
	go_out(&seen, CHANNEL);
	assert_true(last.chat_channel.left);
	line(&seen, 9, 5);
	assert_int_equal(seen.session.stats.chat_unknown, 2);
	assert_int_equal(seen.events[SWC_EVENT_CHAT_LINE], told);
	go_out(&seen, CHANNEL); /* told once */
	assert_int_equal(seen.events[SWC_EVENT_CHAT_CHANNEL], 2);
	assert_int_equal(seen_refused(&seen), 0);
	seen_stop(&seen);
}

/* A ChatChannel that comes while one is in the channel overtakes lines: it is no reason to drop
 * them. */
static void a_channel_told_again_loses_no_line(void **state)
{
	struct seen seen;

	(void)state;
	start(&seen);
	come_in(&seen, CHANNEL, 5, 40);
	come_in(&seen, CHANNEL, 5, 42);
	assert_false(last.chat_channel.owner_changed);
	line(&seen, 5, 41);
	line(&seen, 5, 42);
	assert_int_equal(seen.session.stats.chat_lines, 2);
	come_in(&seen, CHANNEL, 6, 2);
	assert_true(last.chat_channel.owner_changed);
	line(&seen, 6, 1);
	line(&seen, 6, 2);
	come_in(&seen, CHANNEL, 5, 9); /* of the one before */
	assert_false(last.chat_channel.owner_changed);
	line(&seen, 6, 3);
	assert_int_equal(seen.session.stats.chat_lines, 5);
	assert_int_equal(seen.session.stats.chat_missed, 0);
	seen_stop(&seen);
}

static void a_channel_comes_with_its_history(void **state)
{
	Sw__ChatChannel said = SW__CHAT_CHANNEL__INIT;
	Sw__ChatLine one = SW__CHAT_LINE__INIT, *lines[SWC_HISTORY_MAX + 1];
	struct seen seen;

	(void)state;
	start(&seen);
	one.token = 5;
	one.sequence = 39;
	one.sender = "Bo";
	one.text = "before";
	for (size_t i = 0; i <= SWC_HISTORY_MAX; i++)
		lines[i] = &one;
	said.channel = CHANNEL;
	said.kind = SW__CHAT_KIND__CHAT_GUILD;
	said.name = "Wolves";
	said.token = 5;
	said.sequence = 39;
	said.slow_ms = 3000;
	said.history = lines;
	said.n_history = SWC_HISTORY_MAX;
	give(&seen, SW_MSG_CHAT_CHANNEL, &said);
	assert_int_equal(last.chat_channel.count, SWC_HISTORY_MAX);
	assert_int_equal(last.chat_channel.kind, SWC_CHANNEL_GUILD);
	assert_int_equal(last.chat_channel.slow_ms, 3000);
	assert_int_equal(first_history, 39);
	assert_string_equal(last_text, "Wolves");
	said.n_history = SWC_HISTORY_MAX + 1;
	give(&seen, SW_MSG_CHAT_CHANNEL, &said);
	said.n_history = 1;
	one.sequence = 0;
	give(&seen, SW_MSG_CHAT_CHANNEL, &said);
	said.n_history = 0;
	said.token = 0;
	give(&seen, SW_MSG_CHAT_CHANNEL, &said);
	said.token = 5;
	said.channel = 0;
	give(&seen, SW_MSG_CHAT_CHANNEL, &said);
	said.channel = CHANNEL;
	said.name = "a name that is longer than 31 bytes";
	give(&seen, SW_MSG_CHAT_CHANNEL, &said);
	assert_int_equal(seen.session.stats.refused[SWC_REFUSAL_OUT_OF_RANGE], 5);
	assert_int_equal(seen.events[SWC_EVENT_CHAT_CHANNEL], 1);
	/* more than one may be in */
	for (uint64_t i = 1; i <= SWC_CHANNELS_MAX; i++)
		come_in(&seen, i, 1, 0);
	assert_int_equal(seen.session.stats.refused[SWC_REFUSAL_NO_MEMORY], 1);
	seen_stop(&seen);
}

static void whispers_and_announcements_come_once(void **state)
{
	Sw__ChatWhispered whisper = SW__CHAT_WHISPERED__INIT;
	Sw__ChatAnnouncement said = SW__CHAT_ANNOUNCEMENT__INIT;
	struct seen seen;

	(void)state;
	start(&seen);
	whisper.sender = "Bo";
	whisper.text = "psst";
	for (uint64_t round = 0; round < 2; round++)
		for (uint64_t i = 1; i <= SWC_WHISPERS_KNOWN / 2; i++)
			for (uint64_t token = 1; token <= 2; token++) {
				whisper.token = token;
				whisper.sequence = i;
				give(&seen, SW_MSG_CHAT_WHISPERED, &whisper);
			}
	assert_int_equal(seen.events[SWC_EVENT_CHAT_WHISPER], SWC_WHISPERS_KNOWN);
	assert_int_equal(seen.session.stats.chat_repeats, SWC_WHISPERS_KNOWN);
	assert_string_equal(last_text, "psst");
	said.text = "Restart at 6.";
	for (uint32_t i = 0; i < 4; i++) {
		said.number = (uint64_t[]){3, 3, 2, 4}[i];
		give(&seen, SW_MSG_CHAT_ANNOUNCEMENT, &said);
	}
	assert_int_equal(seen.events[SWC_EVENT_ANNOUNCEMENT], 2);
	assert_int_equal(last.announcement.number, 4);
	whisper.token = 0;
	give(&seen, SW_MSG_CHAT_WHISPERED, &whisper);
	said.number = 0;
	give(&seen, SW_MSG_CHAT_ANNOUNCEMENT, &said);
	assert_int_equal(seen.session.stats.refused[SWC_REFUSAL_OUT_OF_RANGE], 2);
	seen_stop(&seen);
}

static void answers_name_their_request(void **state)
{
	Sw__ChatRefused refused = SW__CHAT_REFUSED__INIT;
	Sw__ChatDone done = SW__CHAT_DONE__INIT;
	struct seen seen;

	(void)state;
	start(&seen);
	done.request = 7;
	done.token = 5;
	done.sequence = 41;
	give(&seen, SW_MSG_CHAT_DONE, &done);
	assert_int_equal(last.chat_done.request, 7);
	assert_int_equal(last.chat_done.sequence, 41);
	done.request = 0;
	give(&seen, SW_MSG_CHAT_DONE, &done);
	assert_int_equal(seen.session.stats.refused[SWC_REFUSAL_OUT_OF_RANGE], 1);
	for (uint32_t reason = 1; reason < CHAT_REFUSAL_COUNT; reason++) {
		refused.request = 8;
		refused.reason = (Sw__ChatRefusal)reason;
		refused.retry_after_ms = 1500;
		give(&seen, SW_MSG_CHAT_REFUSED, &refused);
		assert_int_equal(last.chat_refused.request, 8);
		assert_int_equal(last.chat_refused.reason, reason);
		assert_int_equal(last.chat_refused.retry_after_ms, 1500);
		assert_string_not_equal(last_text, swc_chat_refusal_text(0));
		assert_string_equal(last_text, swc_chat_refusal_text(reason));
	}
	assert_string_equal(swc_chat_refusal_text(CHAT_REFUSAL_COUNT), swc_chat_refusal_text(0));
	assert_int_equal(seen.session.stats.chat_refused, CHAT_REFUSAL_COUNT - 1);
	seen_stop(&seen);
}

/* The server's names of kinds and refusals are those of the protocol. */
static void the_server_counts_as_the_protocol_does(void **state)
{
	(void)state;
#define SAME_REFUSAL(id, value, name, meaning)                                                     \
	assert_string_equal(swc_chat_refusal_name(value), "CHAT_" #id);
	CHAT_REFUSALS(SAME_REFUSAL)
#define SAME_KIND(id, value, name, what) assert_int_equal(SW__CHAT_KIND__CHAT_##id, value);
	CHAT_KINDS(SAME_KIND)
	assert_int_equal(CHAT_KIND_GM, SWC_CHANNEL_GM);
}

#define WENT(Type, type, number)                                                                   \
	assert_int_equal(seen.packet[0], number);                                                  \
	assert_int_equal(seen.channel, SW_CHANNEL_CHAT);                                           \
	assert_true(seen.reliable);                                                                \
	Sw__##Type *type = sw__##type##__unpack(NULL, seen.packet_bytes - 1, seen.packet + 1);     \
	assert_non_null(type);

static void what_is_asked_goes_out_as_it_was_said(void **state)
{
	struct seen seen;

	(void)state;
	start(&seen);
	{
		swc_session_say(&seen.session, 1, CHANNEL, "Hi");
		WENT(ChatSay, chat_say, SW_MSG_CHAT_SAY)
		assert_int_equal(chat_say->request, 1);
		assert_int_equal(chat_say->channel, CHANNEL);
		assert_string_equal(chat_say->text, "Hi");
		sw__chat_say__free_unpacked(chat_say, NULL);
	}
	{
		swc_session_whisper(&seen.session, 2, 0, "Bo", "psst");
		WENT(ChatWhisper, chat_whisper, SW_MSG_CHAT_WHISPER)
		assert_int_equal(chat_whisper->request, 2);
		assert_string_equal(chat_whisper->name, "Bo");
		assert_string_equal(chat_whisper->text, "psst");
		sw__chat_whisper__free_unpacked(chat_whisper, NULL);
	}
	{
		swc_session_channel_join(&seen.session, 3, SWC_CHANNEL_LANGUAGE, "de");
		WENT(ChatJoin, chat_join, SW_MSG_CHAT_JOIN)
		assert_int_equal(chat_join->request, 3);
		assert_int_equal(chat_join->kind, SW__CHAT_KIND__CHAT_LANGUAGE);
		assert_string_equal(chat_join->name, "de");
		sw__chat_join__free_unpacked(chat_join, NULL);
	}
	{
		swc_session_channel_part(&seen.session, 4, CHANNEL);
		WENT(ChatPart, chat_part, SW_MSG_CHAT_PART)
		assert_int_equal(chat_part->request, 4);
		assert_int_equal(chat_part->channel, CHANNEL);
		sw__chat_part__free_unpacked(chat_part, NULL);
	}
	{
		swc_session_block(&seen.session, 5, 88, true);
		WENT(ChatBlock, chat_block, SW_MSG_CHAT_BLOCK)
		assert_int_equal(chat_block->request, 5);
		assert_int_equal(chat_block->character_id, 88);
		assert_true(chat_block->unblock);
		sw__chat_block__free_unpacked(chat_block, NULL);
	}
	{
		swc_session_chat_report(&seen.session, 6, CHANNEL, 5, 41, "rude");
		WENT(ChatReport, chat_report, SW_MSG_CHAT_REPORT)
		assert_int_equal(chat_report->request, 6);
		assert_int_equal(chat_report->channel, CHANNEL);
		assert_int_equal(chat_report->token, 5);
		assert_int_equal(chat_report->sequence, 41);
		assert_string_equal(chat_report->why, "rude");
		sw__chat_report__free_unpacked(chat_report, NULL);
	}
	{
		swc_session_announcements(&seen.session, 7, 3);
		WENT(ChatFetch, chat_fetch, SW_MSG_CHAT_FETCH)
		assert_int_equal(chat_fetch->request, 7);
		assert_int_equal(chat_fetch->after, 3);
		sw__chat_fetch__free_unpacked(chat_fetch, NULL);
	}
	seen_stop(&seen);
}

/* Chat's channel is not ordered against the session's. */
static void it_may_come_before_joined(void **state)
{
	struct seen seen;

	(void)state;
	seen_start(&seen);
	seen.look = look;
	come_in(&seen, CHANNEL, 5, 40);
	line(&seen, 5, 41);
	seen_admit(&seen);
	line(&seen, 5, 42);
	assert_int_equal(seen.session.stats.chat_lines, 2);
	assert_int_equal(seen_refused(&seen), 0);
	seen_stop(&seen);
}

int main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test(lines_come_once_and_gaps_are_told),
		cmocka_unit_test(a_channel_told_again_loses_no_line),
		cmocka_unit_test(a_channel_comes_with_its_history),
		cmocka_unit_test(whispers_and_announcements_come_once),
		cmocka_unit_test(answers_name_their_request),
		cmocka_unit_test(the_server_counts_as_the_protocol_does),
		cmocka_unit_test(what_is_asked_goes_out_as_it_was_said),
		cmocka_unit_test(it_may_come_before_joined),
	};

	return cmocka_run_group_tests(tests, NULL, NULL);
}
