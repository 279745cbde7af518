/* An emptied Redis is filled from what PostgreSQL has. One node of the realm does it (a lock in
 * Redis, for a time): it takes a new epoch in PostgreSQL, puts back each party it finds under a new
 * version, and says at the end that the parties are whole. Until then nobody changes any. */
#include <inttypes.h>
#include <stdlib.h>
#include <string.h>

#include <sodium.h>

#include "common/handle.h"
#include "common/log.h"
#include "common/mono.h"
#include "control/party/party_internal.h"

static void wait_until(struct party *party, enum restore_step step, uint64_t ms)
{
	party->restore = step;
	party->restore_ns = party->now_ns + ms * NS_PER_MS;
}

static void failed(struct party *party, const char *why)
{
	sw_log(SW_LOG_WARN, "party", "Redis has lost the parties, and cannot be filled now: %s",
		why);
	party_count(party, PARTY_C_RESTORES_FAILED, 1);
	wait_until(party, RESTORE_WAITING, PARTY_RESTORE_RETRY_MS);
}

void party_restore_reset(struct party *party)
{
	party->restore = RESTORE_IDLE;
	party->restore_request = 0;
}

static bool current(const struct party *party, const struct party_call *call)
{
	return party->restore != RESTORE_IDLE && party->restore != RESTORE_WAITING &&
	       call->restore_request == party->restore_request;
}

static void ask_page(struct party *party, uint64_t epoch, uint64_t before)
{
	struct msg message[2];
	struct msg_party_restore body = {.request = party->restore_request,
		.epoch = epoch,
		.before = before,
		.realm_id = party->config->node.realm_id};

	memset(message, 0, sizeof(message));
	memcpy(msg_begin(message, MSG_PARTY_RESTORE, HANDLE_NONE, sizeof(body)), &body,
		sizeof(body));
	party->restore_rows = 0;
	party->restore_ended = false;
	wait_until(party, RESTORE_READING, PARTY_RESTORE_WAIT_MS);
	party->ops.to_world(party->ops.ctx, message);
}

static void on_begun(struct party *party, struct party_call *call, const redisReply *reply)
{
	if (!current(party, call))
		return;
	if (!reply) {
		failed(party, "Redis does not answer");
		return;
	}
	if (strcmp(party_text(reply, 0), "OK")) { /* HAVE: done; OTHER: it is being done */
		wait_until(party, RESTORE_WAITING, 100);
		return;
	}
	sw_log(SW_LOG_INFO, "party", "Redis knows no parties: what PostgreSQL has is put back");
	ask_page(party, 0, 0);
}

void party_restore_begin(struct party *party)
{
	char token[NUMBER_BYTES];
	struct party_call call = {0};

	party->attached = false;
	counter_put(&party->counters[PARTY_C_ATTACHED], 0);
	if (party->restore != RESTORE_IDLE)
		return;
	/* The lock in Redis is this process's, through all its tries. */
	while (!party->restore_token)
		randombytes_buf(&party->restore_token, sizeof(party->restore_token));
	do
		randombytes_buf(&party->restore_request, sizeof(party->restore_request));
	while (!party->restore_request);
	party_number_text(party->restore_token, token);
	call.restore_request = party->restore_request;
	wait_until(party, RESTORE_BEGINNING, PARTY_RESTORE_WAIT_MS);
	if (!party_call(party, on_begun, &call, "restore_begin", 1, (const char *[]){token}))
		wait_until(party, RESTORE_WAITING, PARTY_RESTORE_RETRY_MS);
}

static void on_ended(struct party *party, struct party_call *call, const redisReply *reply)
{
	if (!current(party, call))
		return;
	if (!reply || strcmp(party_text(reply, 0), "OK")) {
		failed(party, "another node has begun anew");
		return;
	}
	party_count(party, PARTY_C_RESTORES, 1);
	sw_log(SW_LOG_INFO, "party", "the parties are whole again: epoch %" PRIu64,
		party->restore_epoch);
	party_restore_reset(party);
	party_attach(party);
}

/* The page's last row is in Redis. */
static void end(struct party *party)
{
	char token[NUMBER_BYTES], epoch[NUMBER_BYTES];
	struct party_call call = {.restore_request = party->restore_request};

	if (party->restore_next) {
		ask_page(party, party->restore_epoch, party->restore_next);
		return;
	}
	party_number_text(party->restore_token, token);
	party_number_text(party->restore_epoch, epoch);
	if (!party_call(party, on_ended, &call, "restore_end", 2, (const char *[]){token, epoch}))
		failed(party, "Redis is away");
}

static void on_row(struct party *party, struct party_call *call, const redisReply *reply)
{
	bool bad = reply && !strcmp(party_text(reply, 0), "BAD");

	if (!current(party, call))
		return;
	if (!reply || (!bad && strcmp(party_text(reply, 0), "OK"))) {
		failed(party, "a party is not taken");
		return;
	}
	if (bad) /* the others are not kept waiting for it */
		sw_log(SW_LOG_ERROR, "party",
			"what PostgreSQL has of a party is damaged: it is lost");
	party_count(party, bad ? PARTY_C_MALFORMED : PARTY_C_RESTORED, 1);
	wait_until(party, RESTORE_READING, PARTY_RESTORE_WAIT_MS);
	if (!--party->restore_rows && party->restore_ended)
		end(party);
}

static void row(struct party *party, const struct msg_party_restored *body, const char *bytes)
{
	char token[NUMBER_BYTES], epoch[NUMBER_BYTES], id[NUMBER_BYTES];
	struct party_call call = {.restore_request = party->restore_request};
	char *text = strndup(bytes, body->text_bytes);

	party_number_text(party->restore_token, token);
	party_number_text(body->epoch, epoch);
	party_number_text(body->party_id, id);
	if (text && party_call(party, on_row, &call, "restore_row", 4,
			    (const char *[]){token, epoch, id, text}))
		party->restore_rows++;
	else
		failed(party, "Redis is away, or does not keep pace");
	free(text);
}

void party_from_world(struct party *party, const struct msg *message, uint64_t now_ns)
{
	struct msg_party_restored body;

	party->now_ns = now_ns;
	if (message->type != MSG_PARTY_RESTORED || message->payload_bytes < sizeof(body)) {
		party_count(party, PARTY_C_MALFORMED, 1);
		return;
	}
	memcpy(&body, msg_payload(message), sizeof(body));
	if (body.text_bytes != message->payload_bytes - sizeof(body)) {
		party_count(party, PARTY_C_MALFORMED, 1);
		return;
	}
	if (body.request != party->restore_request || party->restore != RESTORE_READING) {
		party_count(party, PARTY_C_STALE, 1);
		return;
	}
	switch (body.what) {
	case PARTY_RESTORED_ROW:
		row(party, &body, (const char *)msg_payload(message) + sizeof(body));
		break;
	case PARTY_RESTORED_END:
		party->restore_epoch = body.epoch;
		party->restore_next = body.version;
		party->restore_ended = true;
		if (!party->restore_rows)
			end(party);
		break;
	default:
		failed(party, "PostgreSQL does not answer");
	}
}

void party_restore_tick(struct party *party)
{
	if (party->restore == RESTORE_IDLE || party->now_ns < party->restore_ns)
		return;
	if (party->restore == RESTORE_WAITING)
		party_restore_reset(party); /* the next attach finds out */
	else
		failed(party, "no answer in time");
}
