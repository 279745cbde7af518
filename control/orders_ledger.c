/* The orders that change what a character owns: grant, take, reverse. Their words become a
 * MSG_CORRECTION to the world thread; its answer, a sentence. */
#include <errno.h>
#include <inttypes.h>
#include <stdlib.h>
#include <string.h>

#include "common/correction.h"
#include "common/handle.h"
#include "control/orders_internal.h"

/* ---- words ---- */

static bool number_read(const char *word, uint64_t max, uint64_t *number)
{
	char *end;

	errno = 0;
	*number = strtoull(word, &end, 10);
	return word[0] >= '0' && word[0] <= '9' && !*end && !errno && *number <= max;
}

/* 8-4-4-4-12 hexadecimal digits. */
static bool request_read(const char *word, uint64_t request[2])
{
	char digits[33];
	uint32_t count = 0;

	if (strlen(word) != 36)
		return false;
	for (uint32_t i = 0; i < 36; i++) {
		bool dash = i == 8 || i == 13 || i == 18 || i == 23;

		if (dash ? word[i] != '-' : !strchr("0123456789abcdefABCDEF", word[i]))
			return false;
		if (!dash)
			digits[count++] = word[i];
	}
	digits[count] = 0;
	request[1] = strtoull(digits + 16, NULL, 16);
	digits[16] = 0;
	request[0] = strtoull(digits, NULL, 16);
	return true;
}

static void request_text(const uint64_t request[2], char text[37])
{
	snprintf(text, 37, "%08x-%04x-%04x-%04x-%012llx", (unsigned)(request[0] >> 32),
		(unsigned)(request[0] >> 16 & 0xffff), (unsigned)(request[0] & 0xffff),
		(unsigned)(request[1] >> 48), (unsigned long long)(request[1] & 0xffffffffffffull));
}

/* "gold", or "item:7". */
static bool thing_read(const char *word, struct msg_correction *body)
{
	static const char *const words[CORRECTION_THING_COUNT] = {
#define WORD(name, word, meaning) word,
		CORRECTION_THINGS(WORD)
#undef WORD
	};
	size_t bytes = strcspn(word, ":");
	uint64_t item = 0;

	for (uint32_t i = 0; i < CORRECTION_THING_COUNT; i++) {
		bool numbered = i == CORRECTION_ITEM || i == CORRECTION_SINGLE;

		if (bytes != strlen(words[i]) || strncmp(word, words[i], bytes) != 0)
			continue;
		body->thing = i;
		if (numbered != (word[bytes] == ':') ||
			(numbered && !number_read(word + bytes + 1, INT32_MAX, &item)))
			return false;
		body->item = (uint32_t)item;
		return true;
	}
	return false;
}

/* ---- asked ---- */

static void ask(struct ctl *ctl, const struct order *order, struct msg_correction *body,
	uint64_t now_ns)
{
	struct kept_order *kept = order_keep(ctl, order, now_ns,
		"PostgreSQL has not answered yet: it was done, or was not, or will be; the same order "
		"with the same request says which, and is not done twice",
		false);
	struct msg message[2];

	if (!kept)
		return;
	body->order = order->id;
	body->realm_id = ctl->config->node.realm_id;
	memcpy(msg_begin(message, MSG_CORRECTION, HANDLE_NONE, sizeof(*body)), body, sizeof(*body));
	ctl_push(ctl, ctl_world_outbox(ctl), message);
}

static void change(struct ctl *ctl, const struct order *order, int sign, uint64_t now_ns)
{
	struct msg_correction body = {0};
	uint64_t amount = 0;

	if (!number_read(order->word[2], UINT64_MAX, &body.character_id) || !body.character_id) {
		order_answer(ctl, order, ORDER_USAGE,
			"\"%s\" is no character: its id is meant, a number", order->word[2]);
		return;
	}
	if (!thing_read(order->word[3], &body)) {
		order_answer(ctl, order, ORDER_USAGE,
			"\"%s\" is none of gold, experience, item:NUMBER (one that stacks), "
			"single:NUMBER",
			order->word[3]);
		return;
	}
	if (!number_read(order->word[4],
		    body.thing == CORRECTION_SINGLE ? CORRECTION_SINGLES_MAX : INT64_MAX,
		    &amount) ||
		!amount) {
		order_answer(ctl, order, ORDER_USAGE, "\"%s\" is no amount from 1 to %" PRId64,
			order->word[4],
			body.thing == CORRECTION_SINGLE ? (int64_t)CORRECTION_SINGLES_MAX
							: INT64_MAX);
		return;
	}
	if (!request_read(order->word[5], body.request)) {
		order_answer(ctl, order, ORDER_USAGE,
			"\"%s\" is no request: a UUID is meant, a new one for each intent",
			order->word[5]);
		return;
	}
	body.amount = sign * (int64_t)amount;
	ask(ctl, order, &body, now_ns);
}

void order_ledger_grant(struct ctl *ctl, const struct order *order, uint64_t now_ns)
{
	change(ctl, order, 1, now_ns);
}

void order_ledger_take(struct ctl *ctl, const struct order *order, uint64_t now_ns)
{
	change(ctl, order, -1, now_ns);
}

void order_ledger_reverse(struct ctl *ctl, const struct order *order, uint64_t now_ns)
{
	struct msg_correction body = {.reverse = 1};

	if (request_read(order->word[2], body.request))
		ask(ctl, order, &body, now_ns);
	else
		order_answer(ctl, order, ORDER_USAGE,
			"\"%s\" is no request: the UUID of a commit is meant, as in the ledger",
			order->word[2]);
}

/* ---- answered ---- */

static const char *result_text(uint32_t result)
{
	static const char *const of_commits[COMMIT_RESULT_COUNT] = {
#define TEXT(name, text) text,
		COMMIT_RESULTS(TEXT)
#undef TEXT
	};
	static const char *const more[] = {
#define TEXT(name, text) text,
		CORRECTION_RESULTS(TEXT)
#undef TEXT
	};

	if (result < COMMIT_RESULT_COUNT)
		return of_commits[result];
	if (result >= CORRECTION_RESULT_FIRST && result < CORRECTION_RESULT_END)
		return more[result - CORRECTION_RESULT_FIRST];
	return "a newer server's result";
}

/* Who plays on this node is told by its shard. False: nobody does. */
static bool reload(struct ctl *ctl, uint64_t character_id)
{
	struct msg_player_reload body;
	struct adm_seat seat;
	struct msg message;

	if (!adm_seat_of(ctl->adm, character_id, &seat))
		return false;
	body.session = seat.session;
	memcpy(msg_begin(&message, MSG_PLAYER_RELOAD, seat.peer, sizeof(body)), &body,
		sizeof(body));
	ctl_push(ctl, ctl_shard_outbox(ctl, seat.shard), &message);
	return true;
}

void ctl_corrected(void *ctx, uint64_t session, uint64_t character_id)
{
	(void)session; /* a newer stay reads the same */
	reload(ctx, character_id);
}

static void owner_text(const struct msg_correction_result *body, int who, char *text, size_t bytes)
{
	if (body->character_id[who])
		snprintf(text, bytes, "; character %" PRIu64 " has %" PRId64 " gold, %" PRId64
				      " experience",
			body->character_id[who], body->gold[who], body->experience[who]);
}

void orders_corrected(struct ctl *ctl, const struct msg *message)
{
	struct msg_correction_result body;
	struct kept_order *kept;
	char text[512], owner[2][128] = {"", ""}, request[37];
	bool ok;

	if (!ctl_fits(ctl, message, sizeof(body)))
		return;
	memcpy(&body, msg_payload(message), sizeof(body));
	ok = body.result == COMMIT_RESULT_OK;
	for (int i = 0; i < 2 && ok; i++) {
		if (body.character_id[i] && !reload(ctl, body.character_id[i]))
			presence_corrected(ctl->presence, body.character_id[i]);
		owner_text(&body, i, owner[i], sizeof(owner[i]));
	}
	kept = order_kept(ctl, body.order);
	if (!kept)
		return; /* answered at its deadline */
	request_text(body.request, request);
	snprintf(text, sizeof(text), "%s%s; request %s%s%s",
		body.repeated ? "asked for before, and not done again; then: " : "",
		result_text(body.result), request, owner[0], owner[1]);
	order_kept_end(ctl, kept,
		ok						      ? ORDER_DONE
		: body.result == COMMIT_RESULT_UNAVAILABLE ||
				body.result == CORRECTION_RESULT_UNKNOWN ? ORDER_UNAVAILABLE
								      : ORDER_REFUSED,
		text);
}
