#include "control/gate/gate_link.h"

#include <inttypes.h>
#include <pthread.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <time.h>

#include <hiredis/hiredis.h>
#include <sodium.h>

#include "common/check.h"
#include "common/log.h"
#include "control/redis/redis_link.h"

#define WORDS       (2 * GATE_WORDS_MAX + GATE_BEATS_MAX)
#define HEAD_ARGS   30 /* the prefix, then 29 of gate_turn.lua before its words */
#define ARG_BYTES   40
#define ARGS_MAX    (HEAD_ARGS + 5 * WORDS)
#define HEAD_BYTES  32
#define NAMES_BYTES 8192u

struct gate_link {
	const struct sw_config *config;
	struct redis_link *link;
	struct gate *gate;
	gate_link_fn *ordered;
	void *ctx;
	char base[64], boot[17], expected[NAMES_BYTES];

	/* One turn is under way at most. */
	const char *args[ARGS_MAX];
	char text[ARGS_MAX][ARG_BYTES];
	uint32_t argc;
	struct gate_answer answer;

	bool warned;
	pthread_mutex_t lock; /* for the sentence */
	enum gate_state state;
	char sentence[512];
};

struct gate_link *gate_link_new(const struct sw_config *config, struct redis_link *link,
	uint64_t boot, struct gate *gate, gate_link_fn *ordered, void *ctx)
{
	struct gate_link *l = calloc(1, sizeof(*l));

	if (!l)
		return NULL;
	l->config = config;
	l->link = link;
	l->gate = gate;
	l->ordered = ordered;
	l->ctx = ctx;
	snprintf(l->base, sizeof(l->base), "%s{gate}:", config->redis.prefix);
	snprintf(l->boot, sizeof(l->boot), "%016" PRIx64, boot);
	gate_link_expect(l, NULL);
	pthread_mutex_init(&l->lock, NULL);
	l->state = GATE_AWAY;
	snprintf(l->sentence, sizeof(l->sentence), "not heard of yet");
	return l;
}

void gate_link_free(struct gate_link *l)
{
	if (!l)
		return;
	pthread_mutex_destroy(&l->lock);
	free(l);
}

void gate_link_expect(struct gate_link *l, const char *names)
{
	int length = -1;

	if (names)
		length = snprintf(l->expected, sizeof(l->expected), "%s %s", l->config->node.name,
			names);
	if (length < 0 || (size_t)length >= sizeof(l->expected))
		snprintf(l->expected, sizeof(l->expected), "?");
}

/* ---- what is said ---- */

static void arg(struct gate_link *l, const char *text)
{
	CHECK(l->argc < ARGS_MAX);
	l->args[l->argc++] = text;
}

__attribute__((format(printf, 2, 3))) static void arg_format(
	struct gate_link *l, const char *format, ...)
{
	char *text = l->text[l->argc];
	va_list list;

	va_start(list, format);
	vsnprintf(text, ARG_BYTES, format, list);
	va_end(list);
	arg(l, text);
}

static void arg_number(struct gate_link *l, uint64_t number)
{
	arg_format(l, "%" PRIu64, number);
}

static void arg_sid(struct gate_link *l, uint64_t session)
{
	arg_format(l, "%s:%" PRIx64, l->boot, session);
}

static void args_head(struct gate_link *l, const struct gate_turn *turn)
{
	const struct sw_config *config = l->config;
	const struct gate_order *order = gate_order(l->gate);
	uint64_t fresh;

	do
		randombytes_buf(&fresh, sizeof(fresh));
	while (!fresh);
	l->argc = 0;
	arg(l, l->base);
	arg(l, "0");
	arg(l, config->node.name);
	arg(l, l->boot);
	arg_number(l, fresh);
	arg_number(l, config->admission.rate);
	arg_number(l, config->admission.burst);
	arg_number(l, config->admission.batch);
	arg_number(l, config->admission.grace_s * 1000ull);
	arg_number(l, config->admission.lease_ms);
	arg_number(l, config->admission.rebuild_ms);
	arg_format(l, "%u %u %u", config->admission.operator_share,
		config->admission.returning_share,
		100 - config->admission.operator_share - config->admission.returning_share);
	arg_format(l, "%" PRId64, turn->here.room);
	arg_number(l, turn->here.places);
	arg_number(l, turn->admitted);
	arg(l, turn->restored ? "1" : "0");
	arg(l, l->expected);
	arg_number(l, order->at_us);
	arg(l, gate_state_name(order->state));
	arg_number(l, order->rate);
	arg(l, order->author);
	arg(l, order->reason);
	arg(l, turn->moves ? "1" : "0");
	for (int kind = 0; kind < GATE_WORD_KINDS; kind++)
		arg_number(l, turn->counts[kind]);
	CHECK(l->argc == HEAD_ARGS);
}

static void args_words(struct gate_link *l, const struct gate_turn *turn)
{
	const struct gate_word *word = turn->words;

	for (uint32_t kind = 0; kind < GATE_WORD_KINDS; kind++)
		for (uint32_t i = 0; i < turn->counts[kind]; i++, word++) {
			arg_format(l, "%u:%" PRIu64, word->realm_id, word->character_id);
			if (kind == GATE_WORD_LEFT)
				continue;
			arg_sid(l, word->session);
			if (kind != GATE_WORD_NEW)
				continue;
			arg_number(l, word->lane);
			arg_number(l, word->seq);
			arg_format(l, "-%s%s%s%s%s", word->seat ? "s" : "", word->again ? "r" : "",
				word->shown ? "p" : "", word->stays ? "t" : "",
				word->back ? "h" : "");
		}
}

/* ---- what is heard ---- */

static const char *text_at(const redisReply *list, size_t i)
{
	if (i >= list->elements || list->element[i]->type != REDIS_REPLY_STRING)
		return "";
	return list->element[i]->str;
}

static uint64_t number_at(const redisReply *list, size_t i)
{
	return strtoull(text_at(list, i), NULL, 10);
}

static void order_read(struct gate_order *order, const redisReply *head)
{
	const char *state = text_at(head, 2);

	*order = (struct gate_order){.state = !strcmp(state, "closed")      ? GATE_CLOSED
					      : !strcmp(state, "throttled") ? GATE_THROTTLED
									    : GATE_OPEN,
		.rate = (uint32_t)number_at(head, 3),
		.at_us = number_at(head, 4)};
	snprintf(order->author, sizeof(order->author), "%s", text_at(head, 5));
	snprintf(order->reason, sizeof(order->reason), "%s", text_at(head, 6));
}

/* Another boot's session is nobody's here. */
static uint64_t sid_read(const struct gate_link *l, const char *sid)
{
	if (strncmp(sid, l->boot, 16) != 0 || sid[16] != ':')
		return 0;
	return strtoull(sid + 17, NULL, 16);
}

static bool verdict_read(const char *word, enum gate_verdict *verdict)
{
	static const char *const names[] = {
		[GATE_PLACE] = "PLACE",
		[GATE_ADMIT] = "ADMIT",
		[GATE_MOVE] = "MOVE",
		[GATE_LATER] = "WAIT",
		[GATE_REPLACED] = "REPLACED",
		[GATE_LOST] = "LOST",
	};

	for (size_t i = 0; i < sizeof(names) / sizeof(names[0]); i++)
		if (!strcmp(names[i], word)) {
			*verdict = (enum gate_verdict)i;
			return true;
		}
	return false;
}

static bool call_read(const struct gate_link *l, struct gate_call *call, const char *words)
{
	char sid[48];
	int fields = sscanf(words + 1, "%47s %63s %63s", sid, call->node, call->address);

	call->verdict = words[0] == 'A' ? GATE_ADMIT : words[0] == 'M' ? GATE_MOVE : GATE_REPLACED;
	if (fields != (words[0] == 'M' ? 3 : 1) || !strchr("AMR", words[0]))
		return false;
	call->session = sid_read(l, sid);
	return true;
}

static bool lists_read(struct gate_link *l, const redisReply *reply)
{
	struct gate_answer *a = &l->answer;
	const redisReply *lanes = reply->element[1], *news = reply->element[2];
	const redisReply *beats = reply->element[3], *calls = reply->element[4];

	if (lanes->elements != 2 * GATE_LANE_COUNT || news->elements > 3 * GATE_WORDS_MAX ||
		beats->elements > 2 * GATE_BEATS_MAX)
		return false;
	for (uint32_t lane = 1; lane <= GATE_LANE_COUNT; lane++) {
		a->lanes[lane].head = number_at(lanes, 2 * lane - 2);
		a->lanes[lane].waiting = number_at(lanes, 2 * lane - 1);
	}
	for (size_t i = 0; i + 3 <= news->elements; i += 3) {
		struct gate_verdict_new *said = &a->new_said[a->news++];

		said->lane = (uint32_t)number_at(news, i + 1);
		said->seq = number_at(news, i + 2);
		if (!verdict_read(text_at(news, i), &said->verdict) ||
			(said->verdict == GATE_PLACE && !said->seq) ||
			(said->seq && (!said->lane || said->lane > GATE_LANE_COUNT)))
			return false;
	}
	for (size_t i = 0; i + 2 <= beats->elements; i += 2) {
		struct gate_verdict_beat *said = &a->beat_said[a->beats++];

		said->beat = (uint32_t)number_at(beats, i) - 1;
		if (!verdict_read(text_at(beats, i + 1), &said->verdict))
			return false;
	}
	for (size_t i = 0; i < calls->elements && a->calls < GATE_CALLS_MAX; i++) {
		if (!call_read(l, &a->call[a->calls], text_at(calls, i)))
			return false;
		a->calls += a->call[a->calls].session != 0;
	}
	return true;
}

static bool answer_read(struct gate_link *l, const redisReply *reply)
{
	struct gate_answer *a = &l->answer;
	const redisReply *head;

	if (reply->type != REDIS_REPLY_ARRAY || reply->elements != 5)
		return false;
	for (size_t i = 0; i < 5; i++)
		if (reply->element[i]->type != REDIS_REPLY_ARRAY)
			return false;
	head = reply->element[0];
	if (head->elements != 16)
		return false;
	a->rebuilding = strcmp(text_at(head, 0), "OK") != 0;
	a->epoch = number_at(head, 1);
	order_read(&a->order, head);
	a->rate = (uint32_t)number_at(head, 3);
	a->room = number_at(head, 7);
	a->believed = number_at(head, 8);
	a->reported = number_at(head, 9);
	a->error = strtoll(text_at(head, 10), NULL, 10);
	a->leases = number_at(head, 11);
	a->popped = number_at(head, 12);
	a->expired_places = number_at(head, 13);
	a->expired_leases = number_at(head, 14);
	a->aside = number_at(head, 15);
	a->news = a->beats = a->calls = 0;
	return lists_read(l, reply);
}

static uint64_t figure(const struct gate_link *l, enum gate_counter counter)
{
	return counter_get(&gate_counters(l->gate)->values[counter]);
}

static void sentence_write(struct gate_link *l)
{
	const struct gate_order *order = gate_order(l->gate);
	enum gate_state state = gate_state(l->gate);
	char by[ORDER_AUTHOR_BYTES + GATE_TEXT_BYTES + 64] = "";
	time_t at = (time_t)(order->at_us / 1000000);
	struct tm tm;

	if (order->at_us && order->author[0] && gmtime_r(&at, &tm)) {
		size_t bytes = strftime(by, sizeof(by), ", since %F %T UTC by ", &tm);

		snprintf(by + bytes, sizeof(by) - bytes, "%s%s%s", order->author,
			order->reason[0] ? ": " : "", order->reason);
	}
	pthread_mutex_lock(&l->lock);
	l->state = state;
	snprintf(l->sentence, sizeof(l->sentence),
		"%s, %" PRIu64 " a second%s; %" PRIu64 " wait (%" PRIu64
		" here), room for %" PRIu64,
		gate_state_name(state), figure(l, GATE_C_RATE), by, figure(l, GATE_C_WAITING_ALL),
		figure(l, GATE_C_WAITING), figure(l, GATE_C_ROOM));
	pthread_mutex_unlock(&l->lock);
}

static void on_turn(void *ctx, enum redis_result result, const struct redisReply *reply)
{
	struct gate_link *l = ctx;
	bool good = result == REDIS_RESULT_OK;

	if (result == REDIS_RESULT_CLOSED)
		return; /* the control thread has ended */
	if (result == REDIS_RESULT_OK)
		good = answer_read(l, reply);
	if ((result == REDIS_RESULT_OK && !good) || result == REDIS_RESULT_ERROR) {
		counter_add(&gate_counters(l->gate)->values[GATE_C_ERRORS], 1);
		if (!l->warned)
			sw_log(SW_LOG_ERROR, "gate", "a turn of the queue fails: %s",
				result == REDIS_RESULT_ERROR ? reply->str
							     : "an answer that cannot be");
	}
	if (good)
		gate_turn_heard(l->gate, &l->answer, mono_ns());
	else
		gate_turn_lost(l->gate, mono_ns());
	l->warned = !good && (result == REDIS_RESULT_OK || result == REDIS_RESULT_ERROR);
	sentence_write(l);
}

void gate_link_tick(struct gate_link *l, const struct gate_here *here, uint64_t now_ns)
{
	const struct gate_turn *turn;

	if (gate_turn_due(l->gate, here, now_ns, &turn)) {
		args_head(l, turn);
		args_words(l, turn);
		if (redis_link_script(l->link, REDIS_SCRIPT_GATE_TURN, on_turn, l, 1, (int)l->argc,
			    l->args, NULL)) {
			gate_turn_lost(l->gate, now_ns);
			sentence_write(l);
		}
	}
	gate_tick(l->gate, now_ns);
}

/* ---- the operators' word ---- */

struct said {
	struct gate_link *link;
	uint64_t id;
};

static void on_order(void *ctx, enum redis_result result, const struct redisReply *reply)
{
	struct said *said = ctx;
	char before[512];

	if (result == REDIS_RESULT_OK && reply->type == REDIS_REPLY_ARRAY && reply->elements == 4) {
		snprintf(before, sizeof(before), "%s%s%s%s%s", text_at(reply, 0),
			text_at(reply, 2)[0] ? " by " : "", text_at(reply, 2),
			text_at(reply, 3)[0] ? ": " : "", text_at(reply, 3));
		said->link->ordered(said->link->ctx, said->id, true, before);
	} else if (result != REDIS_RESULT_CLOSED) {
		said->link->ordered(said->link->ctx, said->id, false,
			result == REDIS_RESULT_ERROR ? reply->str : redis_result_name(result));
	}
	free(said);
}

bool gate_link_order(struct gate_link *l, enum gate_state state, uint32_t rate, const char *author,
	const char *reason, uint64_t id)
{
	struct said *said = malloc(sizeof(*said));
	char number[16], why[GATE_TEXT_BYTES];

	if (!said)
		return false;
	*said = (struct said){l, id};
	snprintf(number, sizeof(number), "%u", rate);
	snprintf(why, sizeof(why), "%s", reason);
	if (!redis_link_script(l->link, REDIS_SCRIPT_GATE_STATE, on_order, said, 1, 5,
		    (const char *[]){l->base, gate_state_name(state), number, author, why}, NULL))
		return true;
	free(said);
	return false;
}

enum gate_state gate_link_health(struct gate_link *l, char *text, size_t bytes)
{
	enum gate_state state;

	pthread_mutex_lock(&l->lock);
	state = l->state;
	snprintf(text, bytes, "%s", l->sentence);
	pthread_mutex_unlock(&l->lock);
	return state;
}
