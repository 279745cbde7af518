#include "control/party/party.h"

#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include <sodium.h>

#include "common/check.h"
#include "common/mono.h"
#include "control/admission/utf8.h"
#include "control/party/party_internal.h"

static const struct counter_desc counter_descs[PARTY_COUNTER_COUNT] = {
#define DESC(id, name, kind, help) {name, help, kind},
#define ANSWER(id, value, name, meaning)                                                           \
	{"answers_" name, "answers to players: " meaning, COUNTER_SUM},
	PARTY_COUNTERS(DESC) PARTY_RESULTS(ANSWER)
#undef DESC
#undef ANSWER
};

struct party *party_new(const struct sw_config *config, struct redis_link *link, uint32_t shards,
	const struct party_ops *ops)
{
	struct party *party = aligned_alloc(64, (sizeof(*party) + 63) & ~(size_t)63);

	if (!party)
		return NULL;
	memset(party, 0, sizeof(*party));
	party->config = config;
	party->link = link;
	party->shards = shards;
	party->ops = *ops;
	snprintf(party->base, sizeof(party->base), "%s{party:%u}", config->redis.prefix,
		config->node.realm_id);
	party->set = (struct counter_set){
		"party", 0, PARTY_COUNTER_COUNT, counter_descs, party->counters};
	return party;
}

void party_free(struct party *party)
{
	free(party);
}

const struct counter_set *party_counters(const struct party *party)
{
	return &party->set;
}

/* ---- what players ask ---- */

static const char *const act_names[PARTY_ACT_COUNT] = {
#define NAME(id, value, name) [value] = name,
	PARTY_ACTS(NAME)
#undef NAME
};

static enum party_result result_of(const char *word)
{
#define RESULT(id, value, name, meaning)                                                           \
	if (!strcmp(word, #id))                                                                    \
		return PARTY_##id;
	PARTY_RESULTS(RESULT)
#undef RESULT
	return PARTY_RESULT_COUNT;
}

static void on_changed(struct party *party, struct party_call *call, const redisReply *reply)
{
	enum party_result result = reply ? result_of(party_text(reply, 0)) : PARTY_UNAVAILABLE;

	if (result == PARTY_RESULT_COUNT) {
		party_count(party, PARTY_C_MALFORMED, 1);
		result = PARTY_UNAVAILABLE;
	}
	party_tell_answer(party, call, result);
}

static void on_arrived(struct party *party, struct party_call *call, const redisReply *reply)
{
	if (reply)
		party_tell_arrived(party, call, reply);
}

/* Whether the act has what it needs. The words are a client's. */
static bool complete(const struct msg_party_request *request)
{
	size_t bytes = strnlen(request->name, sizeof(request->name));

	if (!request->request || !request->act || request->act >= PARTY_ACT_COUNT)
		return false;
	switch (request->act) {
	case PARTY_ACT_LEAVE:
	case PARTY_ACT_DISBAND:
		return true;
	case PARTY_ACT_INVITE:
		return request->target_id || (bytes && bytes < sizeof(request->name) &&
						     utf8_is_text(request->name, bytes));
	default:
		return request->target_id != 0;
	}
}

static void change(
	struct party *party, const struct party_call *call, const struct party_seat *seat)
{
	const struct msg_party_request *request = &call->request;
	char character[NUMBER_BYTES], generation[NUMBER_BYTES], number[NUMBER_BYTES];
	char target[NUMBER_BYTES], new_party[NUMBER_BYTES];
	uint64_t drawn;

	party_count(party, PARTY_C_REQUESTS, 1);
	if (!complete(request)) {
		party_tell_answer(party, call, PARTY_NO_SUCH_ACT);
		return;
	}
	do { /* below 2^63, as characters' numbers */
		randombytes_buf(&drawn, sizeof(drawn));
		drawn >>= 1;
	} while (!drawn);
	party_number_text(request->character_id, character);
	party_number_text(seat->generation, generation);
	party_number_text(request->request, number);
	party_number_text(request->target_id, target);
	party_number_text(drawn, new_party);
	if (!party_call(party, on_changed, call, "change", 8,
		    (const char *[]){act_names[request->act], character, generation, seat->name,
			    number, target, request->target_id ? "" : request->name, new_party}))
		party_tell_answer(party, call, PARTY_UNAVAILABLE);
}

static void arrive(
	struct party *party, const struct party_call *call, const struct party_seat *seat)
{
	char character[NUMBER_BYTES], generation[NUMBER_BYTES];

	party_count(party, PARTY_C_ARRIVALS, 1);
	party_number_text(call->request.character_id, character);
	party_number_text(seat->generation, generation);
	/* Where that fails, the resync that follows the next connection asks again. */
	party_call(party, on_arrived, call, "arrive", 4,
		(const char *[]){character, generation, seat->name, call->request.map});
}

void party_from_shard(
	struct party *party, uint32_t shard, const struct msg *message, uint64_t now_ns)
{
	struct party_call call = {
		.peer = message->peer, .session = message->subject, .shard = shard};
	struct party_seat seat;

	party->now_ns = now_ns;
	if (message->type != MSG_PARTY_REQUEST || message->payload_bytes != sizeof(call.request)) {
		party_count(party, PARTY_C_MALFORMED, 1);
		return;
	}
	memcpy(&call.request, msg_payload(message), sizeof(call.request));
	call.request.map[MAP_NAME_BYTES - 1] = 0;
	if (!party->ops.find(party->ops.ctx, call.request.character_id, &seat) ||
		seat.session != call.session || seat.shard != shard) {
		party_count(party, PARTY_C_STALE, 1); /* it has moved on or left: nobody waits */
		return;
	}
	if (call.request.act == PARTY_ACT_ARRIVE)
		arrive(party, &call, &seat);
	else
		change(party, &call, &seat);
}

/* ---- presence ---- */

static void on_nothing(struct party *party, struct party_call *call, const redisReply *reply)
{
	(void)party;
	(void)call;
	(void)reply; /* what has changed was looked at; a failure is made good by the next refresh
		      */
}

static void flush_here(struct party *party)
{
	static _Thread_local struct {
		char character[NUMBER_BYTES], generation[NUMBER_BYTES], name[CHARACTER_NAME_BYTES];
	} text[PARTY_BATCH];
	const char *argv[3 * PARTY_BATCH];
	int n = 0;

	for (uint32_t i = 0; i < party->here_count; i++) {
		struct party_seat seat;

		if (!party->ops.find(party->ops.ctx, party->here[i].character_id, &seat))
			continue;
		party_number_text(party->here[i].character_id, text[i].character);
		party_number_text(seat.generation, text[i].generation);
		memcpy(text[i].name, seat.name, sizeof(seat.name));
		argv[n++] = text[i].character;
		argv[n++] = text[i].generation;
		argv[n++] = text[i].name;
	}
	party->here_count = 0;
	if (n)
		party_call(party, on_nothing, &(struct party_call){0}, "here", n, argv);
}

static void flush_away(struct party *party)
{
	static _Thread_local struct {
		char character[NUMBER_BYTES], generation[NUMBER_BYTES];
	} text[PARTY_BATCH];
	const char *argv[2 * PARTY_BATCH];
	int n = 0;

	for (uint32_t i = 0; i < party->away_count; i++) {
		party_number_text(party->away[i].character_id, text[i].character);
		party_number_text(party->away[i].generation, text[i].generation);
		argv[n++] = text[i].character;
		argv[n++] = text[i].generation;
	}
	party->away_count = 0;
	if (n)
		party_call(party, on_nothing, &(struct party_call){0}, "away", n, argv);
}

void party_here(struct party *party, uint64_t character_id)
{
	if (party->here_count == PARTY_BATCH)
		flush_here(party);
	party->here[party->here_count++].character_id = character_id;
}

void party_away(struct party *party, uint64_t character_id, uint64_t generation)
{
	if (party->away_count == PARTY_BATCH)
		flush_away(party);
	party->away[party->away_count++] = (struct away_entry){character_id, generation};
}

/* ---- time ---- */

void party_link_up(struct party *party, uint64_t now_ns)
{
	party->now_ns = now_ns;
	party->up = true;
	party->attached = party->attaching = party->reading = false;
	party_attach(party);
}

void party_link_down(struct party *party)
{
	party->up = party->attached = party->attaching = party->reading = false;
	counter_put(&party->counters[PARTY_C_ATTACHED], 0);
	party_restore_reset(party);
}

void party_tick(struct party *party, uint64_t now_ns)
{
	party->now_ns = now_ns;
	/* Puts first: who has come again under the same generation is here. */
	flush_here(party);
	flush_away(party);
	if (!party->up)
		return;
	party_restore_tick(party);
	if (!party->attached) {
		party_attach(party);
		return;
	}
	if (party->read_again || now_ns - party->read_ns >= PARTY_READ_MS * NS_PER_MS)
		party_read(party);
}
