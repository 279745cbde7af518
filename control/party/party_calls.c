#include <inttypes.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "common/handle.h"
#include "common/log.h"
#include "control/party/party_internal.h"

#define SETTINGS 9 /* KEYS[1], operation, now, then the settings */
#define ARGS_MAX (3 * (int)PARTY_BATCH)

const char *party_text(const redisReply *reply, size_t i)
{
	if (!reply || reply->type != REDIS_REPLY_ARRAY || i >= reply->elements ||
		reply->element[i]->type != REDIS_REPLY_STRING)
		return "";
	return reply->element[i]->str;
}

uint64_t party_number(const char *text)
{
	uint64_t number = 0;

	if (!*text || strlen(text) > 20)
		return 0;
	for (; *text; text++) {
		uint64_t digit = (uint64_t)(*text - '0');

		if (*text < '0' || *text > '9' || number > (UINT64_MAX - digit) / 10)
			return 0;
		number = number * 10 + digit;
	}
	return number;
}

void party_number_text(uint64_t number, char text[NUMBER_BYTES])
{
	snprintf(text, NUMBER_BYTES, "%" PRIu64, number);
}

uint64_t party_json_number(const json_t *object, const char *name)
{
	const char *text = json_string_value(json_object_get(object, name));

	return text ? party_number(text) : 0;
}

void party_name_copy(char *to, size_t bytes, const char *from)
{
	size_t count = strnlen(from, bytes - 1);

	memcpy(to, from, count);
	memset(to + count, 0, bytes - count);
}

/* ---- what is to be written down ---- */

static void save(struct party *party, uint64_t id, uint64_t version, const char *text, size_t bytes)
{
	struct msg_party_save body = {.party_id = id,
		.version = version,
		.realm_id = party->config->node.realm_id,
		/* the script says it again after half of the grace at the latest */
		.keep_s = 2 * party->config->party.member_grace_s + 2 * PARTY_LEASE_MS / 1000,
		.text_bytes = (uint32_t)bytes};
	uint8_t *at;

	if (!id || !version || bytes > MSG_PAYLOAD_MAX - sizeof(body)) {
		party_count(party, PARTY_C_MALFORMED, 1);
		return;
	}
	at = msg_begin(
		party->scratch.slot, MSG_PARTY_SAVE, HANDLE_NONE, (uint32_t)(sizeof(body) + bytes));
	memcpy(at, &body, sizeof(body));
	memcpy(at + sizeof(body), text, bytes);
	party->ops.to_world(party->ops.ctx, party->scratch.slot);
	party_count(party, PARTY_C_SAVES, 1);
}

/* They follow what belongs to the word, whose length is the second element. */
static void saves(struct party *party, const redisReply *reply)
{
	size_t at = 2 + (size_t)party_number(party_text(reply, 1));

	for (; at + 3 <= reply->elements; at += 3)
		save(party, party_number(party_text(reply, at)),
			party_number(party_text(reply, at + 1)), party_text(reply, at + 2),
			reply->element[at + 2]->type == REDIS_REPLY_STRING
				? reply->element[at + 2]->len
				: 0);
	party->read_again = true; /* there is news, for us as for others */
}

/* ---- calls ---- */

static void on_reply(void *ctx, enum redis_result result, const struct redisReply *reply)
{
	struct party_call *call = ctx;
	struct party *party = call->party;

	party->calls--;
	counter_put(&party->counters[PARTY_C_CALLS], party->calls);
	if (result == REDIS_RESULT_ERROR) {
		party_count(party, PARTY_C_ERRORS, 1);
		sw_log(SW_LOG_ERROR, "party", "Redis: %s", reply->str);
	}
	if (result != REDIS_RESULT_OK || reply->type != REDIS_REPLY_ARRAY || !reply->elements)
		reply = NULL;
	if (result == REDIS_RESULT_CLOSED) {
		free(call); /* the control thread has ended */
		return;
	}
	if (reply && reply->elements == 1 && !strcmp(party_text(reply, 0), "NO_EPOCH")) {
		party_restore_begin(party);
		reply = NULL;
	}
	if (reply && reply->elements > 2)
		saves(party, reply);
	call->fn(party, call, reply);
	free(call);
}

bool party_call(struct party *party, party_reply_fn *fn, const struct party_call *what,
	const char *op, int argc, const char *const *argv)
{
	const struct sw_config *config = party->config;
	char numbers[6][NUMBER_BYTES];
	const char *args[1 + SETTINGS + ARGS_MAX];
	struct party_call *call;

	if (!redis_link_up(party->link) || party->calls >= PARTY_CALLS_MAX || argc > ARGS_MAX)
		return false;
	call = malloc(sizeof(*call));
	if (!call)
		return false;
	*call = *what;
	call->party = party;
	call->fn = fn;
	party_number_text(config->party.members_max, numbers[0]);
	party_number_text(config->party.invite_s * 1000ull, numbers[1]);
	party_number_text(config->party.leader_grace_s * 1000ull, numbers[2]);
	party_number_text(config->party.member_grace_s * 1000ull, numbers[3]);
	party_number_text(PARTY_LEASE_MS, numbers[4]);
	party_number_text(PARTY_REPEAT_MS, numbers[5]);
	memcpy(args,
		(const char *[]){party->base, op, "0", numbers[0], numbers[1],
			config->party.everyone_invites ? "all" : "leader", numbers[2], numbers[3],
			numbers[4], numbers[5]},
		(1 + SETTINGS) * sizeof(args[0]));
	for (int i = 0; i < argc; i++)
		args[1 + SETTINGS + i] = argv[i];
	if (redis_link_script(party->link, REDIS_SCRIPT_PARTY_STEP, on_reply, call, 1,
		    1 + SETTINGS + argc, args, NULL)) {
		free(call);
		return false;
	}
	party->calls++;
	counter_put(&party->counters[PARTY_C_CALLS], party->calls);
	return true;
}
