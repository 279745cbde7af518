/* The stream of what happened to the realm's parties, and what the shards are told of it. What
 * comes from Redis is checked like anything from outside: others may write there. */
#include <inttypes.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "common/handle.h"
#include "common/log.h"
#include "common/mono.h"
#include "control/party/party_internal.h"

#define READ_MAX 64u /* events of one read */

static void malformed(struct party *party)
{
	party_count(party, PARTY_C_MALFORMED, 1);
}

/* ---- to the shards ---- */

void party_tell_answer(struct party *party, const struct party_call *call, enum party_result result)
{
	struct msg message[2];
	const struct msg_party_answer body = {.request = call->request.request,
		.character_id = call->request.character_id,
		.act = call->request.act,
		.result = result};

	party_count(party, PARTY_C_ANSWER_DONE + result, 1);
	memset(message, 0, sizeof(message));
	memcpy(msg_begin(message, MSG_PARTY_ANSWER, call->peer, sizeof(body)), &body, sizeof(body));
	message->subject = call->session;
	party->ops.to_shard(party->ops.ctx, call->shard, message);
}

static void tell_invite(struct party *party, uint64_t character_id, uint64_t other_id,
	const char *name, uint64_t left_ms, bool declined)
{
	struct msg_party_invite body = {.character_id = character_id,
		.other_id = other_id,
		.left_ms = left_ms < UINT32_MAX ? (uint32_t)left_ms : UINT32_MAX,
		.declined = declined};
	struct msg message[3];
	struct party_seat seat;

	if (!character_id || !other_id) {
		malformed(party);
		return;
	}
	if (!party->ops.find(party->ops.ctx, character_id, &seat))
		return;
	party_name_copy(body.name, sizeof(body.name), name);
	memset(message, 0, sizeof(message));
	memcpy(msg_begin(message, MSG_PARTY_INVITE, seat.peer, sizeof(body)), &body, sizeof(body));
	message->subject = seat.session;
	party->ops.to_shard(party->ops.ctx, seat.shard, message);
	party_count(party, PARTY_C_INVITES, 1);
}

/* A state with its members; targets come when it is sent. */
struct draft {
	struct msg_party_state head;
	struct msg_party_member members[PARTY_MEMBERS_MAX];
	/* of those who are concerned: members, and who is not one any more */
	uint64_t concerned[2 * PARTY_MEMBERS_MAX];
	uint32_t concerned_count;
};

static void concern(struct draft *draft, uint64_t character_id)
{
	if (character_id && draft->concerned_count < 2 * PARTY_MEMBERS_MAX)
		draft->concerned[draft->concerned_count++] = character_id;
}

/* The party as the script keeps it. False: it cannot be. */
static bool draft_party(struct draft *draft, const char *text, size_t bytes)
{
	json_t *root = json_loadb(text, bytes, 0, NULL), *members = json_object_get(root, "m");
	bool led = false;

	draft->head.party_id = party_json_number(root, "id");
	draft->head.version = party_json_number(root, "v");
	draft->head.leader_id = party_json_number(root, "leader");
	for (size_t i = 0; i < json_array_size(members) && i < PARTY_MEMBERS_MAX; i++) {
		const json_t *from = json_array_get(members, i);
		struct msg_party_member *member = &draft->members[i];
		const char *name = json_string_value(json_object_get(from, "n"));
		const char *map = json_string_value(json_object_get(from, "map"));

		member->character_id = party_json_number(from, "c");
		member->online = json_number_value(json_object_get(from, "a")) == 0;
		party_name_copy(member->name, sizeof(member->name), name ? name : "");
		party_name_copy(member->map, sizeof(member->map), map ? map : "");
		led |= member->character_id == draft->head.leader_id;
		if (!member->character_id)
			led = false, i = PARTY_MEMBERS_MAX;
		else
			draft->head.member_count++;
	}
	led &= json_array_size(members) == draft->head.member_count;
	json_decref(root);
	return led && draft->head.party_id && draft->head.version;
}

static uint8_t *state_begin(struct party *party, const struct draft *draft, uint32_t targets)
{
	struct msg_party_state head = draft->head;
	uint32_t members_bytes = head.member_count * (uint32_t)sizeof(draft->members[0]);
	uint8_t *at = msg_begin(party->scratch.slot, MSG_PARTY_STATE, HANDLE_NONE,
		(uint32_t)sizeof(head) + members_bytes +
			targets * (uint32_t)sizeof(struct msg_party_target));

	head.target_count = targets;
	memcpy(at, &head, sizeof(head));
	memcpy(at + sizeof(head), draft->members, members_bytes);
	return at + sizeof(head) + members_bytes;
}

static void state_end(struct party *party, uint32_t shard)
{
	party->ops.to_shard(party->ops.ctx, shard, party->scratch.slot);
	party_count(party, PARTY_C_TOLD, 1);
}

/* To each shard that has somebody whom it concerns, PARTY_MEMBERS_MAX of them in a message. */
static void tell_state(struct party *party, const struct draft *draft)
{
	struct msg_party_target found[2 * PARTY_MEMBERS_MAX], batch[PARTY_MEMBERS_MAX];
	uint32_t shard_of[2 * PARTY_MEMBERS_MAX], count = 0;

	for (uint32_t i = 0; i < draft->concerned_count; i++) {
		struct party_seat seat;

		if (!party->ops.find(party->ops.ctx, draft->concerned[i], &seat))
			continue;
		found[count] =
			(struct msg_party_target){seat.peer, seat.session, draft->concerned[i]};
		shard_of[count++] = seat.shard;
	}
	for (uint32_t shard = 0; count && shard < party->shards; shard++) {
		uint32_t filled = 0;

		for (uint32_t i = 0; i <= count; i++) {
			if (filled == PARTY_MEMBERS_MAX || (i == count && filled)) {
				memcpy(state_begin(party, draft, filled), batch,
					filled * sizeof(batch[0]));
				state_end(party, shard);
				filled = 0;
			}
			if (i < count && shard_of[i] == shard)
				batch[filled++] = found[i];
		}
	}
}

void party_tell_arrived(struct party *party, const struct party_call *call, const redisReply *reply)
{
	struct draft draft = {0};
	const char *text = party_text(reply, 3);
	size_t end = 2 + (size_t)party_number(party_text(reply, 1));
	struct msg_party_target target = {call->peer, call->session, call->request.character_id};
	struct party_seat seat;

	if (!party->ops.find(party->ops.ctx, target.character_id, &seat) ||
		seat.session != call->session) {
		party_count(party, PARTY_C_STALE, 1);
		return;
	}
	if (reply->elements < 4 || end > reply->elements ||
		(*text && !draft_party(&draft, text, strlen(text)))) {
		malformed(party);
		return;
	}
	draft.head.version = party_number(party_text(reply, 2));
	memcpy(state_begin(party, &draft, 1), &target, sizeof(target));
	state_end(party, seat.shard);
	for (size_t i = 4; i + 3 <= end; i += 3)
		tell_invite(party, target.character_id, party_number(party_text(reply, i)),
			party_text(reply, i + 1), party_number(party_text(reply, i + 2)), false);
}

static void resync(struct party *party)
{
	struct msg message;

	memset(&message, 0, sizeof(message));
	msg_begin(&message, MSG_PARTY_RESYNC, HANDLE_NONE, 0);
	for (uint32_t shard = 0; shard < party->shards; shard++)
		party->ops.to_shard(party->ops.ctx, shard, &message);
	party_count(party, PARTY_C_RESYNCS, 1);
}

/* ---- events ---- */

/* The value of a field of an event. */
static const char *field(const redisReply *fields, const char *name)
{
	for (size_t i = 0; i + 1 < fields->elements; i += 2)
		if (!strcmp(party_text(fields, i), name))
			return party_text(fields, i + 1);
	return "";
}

static void on_state_event(struct party *party, const redisReply *fields, uint64_t version)
{
	struct draft draft = {0};
	const char *text = field(fields, "j"), *gone = field(fields, "x");
	uint64_t change = party_number(field(fields, "g"));

	if (*text && !draft_party(&draft, text, strlen(text))) {
		malformed(party);
		return;
	}
	draft.head.party_id = party_number(field(fields, "p"));
	draft.head.version = version;
	draft.head.subject_id = party_number(field(fields, "s"));
	draft.head.change = change < PARTY_CHANGE_COUNT ? (uint32_t)change : PARTY_CHANGE_NONE;
	if (!draft.head.party_id) {
		malformed(party);
		return;
	}
	for (uint32_t i = 0; i < draft.head.member_count; i++)
		concern(&draft, draft.members[i].character_id);
	while (*gone) {
		char number[NUMBER_BYTES];
		size_t bytes = strcspn(gone, ",");

		party_name_copy(number, bytes < sizeof(number) ? bytes + 1 : sizeof(number), gone);
		concern(&draft, party_number(number));
		gone += bytes + (gone[bytes] == ',');
	}
	tell_state(party, &draft);
}

static void on_event(struct party *party, const redisReply *entry)
{
	const redisReply *fields;
	const char *kind;
	uint64_t version;

	if (entry->type != REDIS_REPLY_ARRAY || entry->elements != 2 ||
		entry->element[1]->type != REDIS_REPLY_ARRAY) {
		malformed(party);
		return;
	}
	fields = entry->element[1];
	kind = field(fields, "k");
	version = party_number(field(fields, "v"));
	party_name_copy(party->last_event, sizeof(party->last_event), party_text(entry, 0));
	party_count(party, PARTY_C_EVENTS, 1);
	if (version != party->last_version + 1) {
		party_count(party, PARTY_C_GAPS, 1);
		resync(party);
	} else if (version > party->newest_version) {
		party->newest_version = version;
	}
	party->last_version = version;
	counter_put(&party->counters[PARTY_C_VERSION], version);
	if (!strcmp(kind, "state"))
		on_state_event(party, fields, version);
	else if (!strcmp(kind, "invite"))
		tell_invite(party, party_number(field(fields, "t")),
			party_number(field(fields, "c")), field(fields, "n"),
			party_number(field(fields, "l")), field(fields, "d")[0] == '1');
	else
		malformed(party);
}

static void on_read(void *ctx, enum redis_result result, const struct redisReply *reply)
{
	struct party *party = ctx;
	const redisReply *stream, *entries;

	if (result == REDIS_RESULT_CLOSED)
		return;
	party->reading = false;
	if (result != REDIS_RESULT_OK || !party->attached || reply->type == REDIS_REPLY_NIL)
		return;
	/* [[key, [[id, [field, value, ...]], ...]]] */
	stream =
		reply->type == REDIS_REPLY_ARRAY && reply->elements == 1 ? reply->element[0] : NULL;
	entries = stream && stream->type == REDIS_REPLY_ARRAY && stream->elements == 2
			  ? stream->element[1]
			  : NULL;
	if (!entries || entries->type != REDIS_REPLY_ARRAY) {
		malformed(party);
		return;
	}
	for (size_t i = 0; i < entries->elements; i++)
		on_event(party, entries->element[i]);
	party->read_again |= entries->elements == READ_MAX;
}

void party_read(struct party *party)
{
	char key[96], count[NUMBER_BYTES];

	if (party->reading)
		return;
	snprintf(key, sizeof(key), "%s:events", party->base);
	snprintf(count, sizeof(count), "%u", READ_MAX);
	party->read_ns = party->now_ns;
	party->read_again = false;
	party->reading = !redis_link_command(party->link, on_read, party, 6,
		(const char *[]){"XREAD", "COUNT", count, "STREAMS", key, party->last_event}, NULL);
}

/* From here on nothing is missed; before it something may have been. */
static void on_attached(struct party *party, struct party_call *call, const redisReply *reply)
{
	(void)call;
	party->attaching = false;
	if (!reply || !party->up)
		return;
	party->last_version = party_number(party_text(reply, 2));
	if (party_text(reply, 4)[0] == '1') {
		party_count(party, PARTY_C_LOST, 1);
		sw_log(SW_LOG_WARN, "party",
			"Redis has lost changes of parties; what it knows now is taken for the "
			"truth");
	}
	if (party->last_version > party->newest_version)
		party->newest_version = party->last_version;
	party_name_copy(party->last_event, sizeof(party->last_event), party_text(reply, 3));
	party->attached = true;
	counter_put(&party->counters[PARTY_C_ATTACHED], 1);
	counter_put(&party->counters[PARTY_C_VERSION], party->last_version);
	resync(party);
}

void party_attach(struct party *party)
{
	char newest[NUMBER_BYTES];

	if (party->attaching || party->attached || party->restore != RESTORE_IDLE)
		return;
	party_number_text(party->newest_version, newest);
	party->attaching = party_call(
		party, on_attached, &(struct party_call){0}, "attach", 1, (const char *[]){newest});
}
