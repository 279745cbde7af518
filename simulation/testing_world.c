/* The world thread of a shard under test, with a database that is a table. */
#include "simulation/testing.h"

#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <string.h>

#include <cmocka.h>

static struct msg_buffer batch[2];

static struct test_owned *owned(struct test_shard *t, uint64_t character_id)
{
	return character_id >= 5000 && character_id < 5000 + TEST_OWNED_MAX
		       ? &t->owned[character_id - 5000]
		       : NULL;
}

static enum commit_result change_slot(struct test_owned *o, const struct commit_op *op)
{
	uint32_t at = 0;

	while (at < o->slots && o->slot[at].slot < op->slot)
		at++;
	if (at == o->slots || o->slot[at].slot != op->slot) {
		if (op->amount <= 0 || o->slots == COMMIT_SLOTS_MAX)
			return COMMIT_RESULT_NOT_ENOUGH;
		memmove(&o->slot[at + 1], &o->slot[at], (o->slots - at) * sizeof(o->slot[0]));
		o->slots++;
		o->slot[at] = (struct msg_slot){.slot = op->slot,
			.item = op->item,
			.serial = op->serial,
			.count = op->amount};
		return COMMIT_RESULT_OK;
	}
	if (o->slot[at].item != op->item || o->slot[at].serial != op->serial)
		return COMMIT_RESULT_SLOT_TAKEN;
	if (o->slot[at].count + op->amount < 0)
		return COMMIT_RESULT_NOT_ENOUGH;
	o->slot[at].count += op->amount;
	if (!o->slot[at].count)
		memmove(&o->slot[at], &o->slot[at + 1], (--o->slots - at) * sizeof(o->slot[0]));
	return COMMIT_RESULT_OK;
}

static enum commit_result change_quest(
	struct test_owned *o, const struct commit_op *op, uint64_t now_ns)
{
	assert_true(op->item < TEST_QUESTS && op->amount >= 0 && op->amount <= COMMIT_STATE_MAX);
	if (o->quest[op->item] != op->slot)
		return COMMIT_RESULT_QUEST_STATE;
	o->quest[op->item] = (uint32_t)op->amount;
	if (!op->slot)
		o->quest_ns[op->item] = now_ns;
	return COMMIT_RESULT_OK;
}

static enum commit_result carry_out(
	struct test_owned *owners[2], const struct test_held *held, uint64_t now_ns)
{
	struct test_owned before[2] = {*owners[0], *owners[1]};
	enum commit_result result = COMMIT_RESULT_OK;

	for (uint32_t i = 0; i < held->commit.ops && result == COMMIT_RESULT_OK; i++) {
		const struct commit_op *op = &held->op[i];

		struct test_owned *o = owners[op->who];

		assert_true(op->who == 0 || held->commit.character_id[op->who]);
		if (op->kind == COMMIT_GOLD)
			o->gold += op->amount;
		else if (op->kind == COMMIT_EXPERIENCE)
			o->experience += op->amount;
		else if (op->kind == COMMIT_QUEST)
			result = change_quest(o, op, now_ns);
		else
			result = change_slot(o, op);
		if (result == COMMIT_RESULT_OK && (o->gold < 0 || o->experience < 0))
			result = COMMIT_RESULT_NOT_ENOUGH;
	}
	if (result != COMMIT_RESULT_OK) {
		*owners[1] = before[1];
		*owners[0] = before[0];
	}
	return result;
}

static void answer_commit(struct test_shard *t, const struct msg_commit_result *result)
{
	struct msg message[3];

	_Static_assert(MSG_HEAD_BYTES + sizeof(*result) <= sizeof(message), "three slots");
	memcpy(msg_begin(message, MSG_COMMIT_RESULT, 0, sizeof(*result)), result, sizeof(*result));
	assert_true(msg_ring_push(t->links.from_world, message));
}

/* In the order in which they came, whatever the order of the answers. */
static struct msg_commit_result settle(
	struct test_shard *t, const struct test_held *held, enum commit_result result)
{
	struct test_owned nobody, *o[2];
	struct msg_commit_result answer = {
		.request = {held->commit.request[0], held->commit.request[1]},
		.character_id = {held->commit.character_id[0], held->commit.character_id[1]}};

	o[0] = owned(t, held->commit.character_id[0]);
	o[1] = held->commit.character_id[1] ? owned(t, held->commit.character_id[1]) : &nobody;
	memset(&nobody, 0, sizeof(nobody));
	assert_true(o[0] && o[1]);
	answer.result = result == COMMIT_RESULT_OK ? carry_out(o, held, t->now_ns) : result;
	for (uint32_t who = 0; who < 2; who++) {
		answer.gold[who] = o[who]->gold;
		answer.experience[who] = o[who]->experience;
	}
	return answer;
}

void test_answer_commits(struct test_shard *t, enum commit_result result, bool last_first)
{
	struct msg_commit_result answers[TEST_HELD_MAX];
	uint32_t count = t->held_count;

	for (uint32_t i = 0; i < count; i++)
		answers[i] = settle(t, &t->held[i], result);
	for (uint32_t i = 0; i < count; i++)
		answer_commit(t, &answers[last_first ? count - 1 - i : i]);
	t->held_count = 0;
}

void test_answer_commit(struct test_shard *t, uint32_t index, enum commit_result result)
{
	struct msg_commit_result answer;

	assert_true(index < t->held_count);
	answer = settle(t, &t->held[index], result);
	t->held_count--;
	memmove(&t->held[index], &t->held[index + 1], (t->held_count - index) * sizeof(t->held[0]));
	answer_commit(t, &answer);
}

static void take_result(struct test_shard *t, const struct msg *m)
{
	struct msg_commit_result result = {.result = t->result_answer};
	struct msg answer[3];

	memcpy(&t->result_commit, msg_payload(m), sizeof(t->result_commit));
	memcpy(&t->result_op, msg_payload(m) + sizeof(t->result_commit), sizeof(t->result_op));
	t->results_asked++;
	if (t->result_answer == COMMIT_RESULT_COUNT)
		return;
	if (t->result_answer == COMMIT_RESULT_OK && t->place_count < 64)
		t->places[t->place_count++] = (uint32_t)t->result_op.amount;
	memcpy(result.request, t->result_commit.request, sizeof(result.request));
	memcpy(msg_begin(answer, MSG_COMMIT_RESULT, 0, sizeof(result)), &result, sizeof(result));
	assert_true(msg_ring_push(t->links.from_world, answer));
}

static void take_commit(struct test_shard *t, const struct msg *m)
{
	struct test_held held = {0};

	assert_true(m->payload_bytes >= sizeof(held.commit));
	memcpy(&held.commit, msg_payload(m), sizeof(held.commit));
	if (msg_payload(m)[sizeof(held.commit)] == COMMIT_RESULT) {
		take_result(t, m);
		return;
	}
	assert_true(held.commit.ops >= 1 && held.commit.ops <= COMMIT_OPS_MAX);
	assert_int_equal(
		m->payload_bytes, sizeof(held.commit) + held.commit.ops * sizeof(held.op[0]));
	memcpy(held.op, msg_payload(m) + sizeof(held.commit), held.commit.ops * sizeof(held.op[0]));
	assert_int_equal(held.commit.epoch[0], 3);
	assert_int_equal(held.commit.realm_id, 1);
	t->commits++;
	t->last_commit = held;
	test_note(t, 'C');
	assert_true(t->held_count < TEST_HELD_MAX);
	t->held[t->held_count++] = held;
	if (!t->hold_commits)
		test_answer_commits(t, COMMIT_RESULT_OK, false);
}

/* The world answers when what was asked of the character before is settled, and what that had to
 * wait for. */
static void settle_before(struct test_shard *t, uint64_t character_id)
{
	uint64_t of[2 * TEST_HELD_MAX + 1] = {character_id};
	bool settle_it[TEST_HELD_MAX] = {false};
	uint32_t count = 1;

	for (uint32_t i = t->held_count; i--;) {
		const uint64_t *id = t->held[i].commit.character_id;

		for (uint32_t n = 0; n < count && !settle_it[i]; n++)
			settle_it[i] = id[0] == of[n] || id[1] == of[n];
		if (!settle_it[i])
			continue;
		of[count++] = id[0];
		if (id[1])
			of[count++] = id[1];
	}
	for (uint32_t i = 0, index = 0, held = t->held_count; i < held; i++) {
		if (settle_it[i])
			test_answer_commit(t, index, COMMIT_RESULT_OK);
		else
			index++;
	}
}

static void answer_detail(struct test_shard *t, const struct msg *m)
{
	static struct msg_buffer answer;
	struct msg_detail_query query;
	struct msg_detail_result result = {.gold = 50, .level = 1};
	struct msg_quest quests[TEST_QUESTS];
	const struct test_owned *o;
	uint8_t *payload;

	memcpy(&query, msg_payload(m), sizeof(query));
	t->detail_queries++;
	if (!t->answer_details)
		return;
	result.request = query.request;
	result.character_id = query.character_id;
	if (t->refuse_details) {
		result = (struct msg_detail_result){.request = query.request,
			.character_id = query.character_id,
			.result = MSG_LOAD_UNAVAILABLE};
		memcpy(msg_begin(answer.slot, MSG_DETAIL_RESULT, 0, sizeof(result)), &result,
			sizeof(result));
		assert_true(msg_ring_push(t->links.from_world, answer.slot));
		return;
	}
	settle_before(t, query.character_id);
	result.appearance = 0x102030;
	o = owned(t, query.character_id);
	if (o) {
		result.gold = o->gold;
		result.experience = o->experience;
		result.slots = o->slots;
	}
	for (uint32_t q = 1; o && q < TEST_QUESTS; q++)
		if (o->quest[q])
			quests[result.quests++] = (struct msg_quest){q, o->quest[q],
				(uint32_t)((t->now_ns - o->quest_ns[q]) / 1000000000u)};
	payload = msg_begin(answer.slot, MSG_DETAIL_RESULT, 0,
		(uint32_t)(sizeof(result) + result.slots * sizeof(struct msg_slot) +
			   result.quests * sizeof(quests[0])));
	memcpy(payload, &result, sizeof(result));
	payload += sizeof(result);
	if (o)
		memcpy(payload, o->slot, o->slots * sizeof(o->slot[0]));
	memcpy(payload + result.slots * sizeof(struct msg_slot), quests,
		result.quests * sizeof(quests[0]));
	assert_true(msg_ring_push(t->links.from_world, answer.slot));
}

int64_t test_owns(const struct test_shard *t, uint32_t client, uint32_t item)
{
	int64_t count = 0;

	for (uint32_t i = 0; i < t->owned[client].slots; i++)
		if (t->owned[client].slot[i].item == item)
			count += t->owned[client].slot[i].count;
	return count;
}

void test_give(struct test_shard *t, uint32_t client, uint32_t slot, uint32_t item, int64_t count,
	uint64_t serial)
{
	const struct commit_op op = {
		.slot = (uint16_t)slot, .item = item, .amount = count, .serial = serial};

	assert_int_equal(change_slot(&t->owned[client], &op), COMMIT_RESULT_OK);
}

void test_read_world(struct test_shard *t)
{
	uint32_t slots;

	while ((slots = msg_ring_pop(t->links.to_world, batch[0].slot, 2 * MSG_SLOTS_MAX))) {
		const struct msg *end = batch[0].slot + slots;

		for (const struct msg *m = batch[0].slot; m < end; m = msg_next(m)) {
			switch (m->type) {
			case MSG_POSITION_SAVE:
				memcpy(&t->last_save, msg_payload(m), sizeof(t->last_save));
				t->saves++;
				t->leaving_saves += t->last_save.leaving;
				test_note(t, t->last_save.leaving ? 'L' : 'S');
				break;
			case MSG_COMMIT:
				take_commit(t, m);
				break;
			case MSG_DETAIL_QUERY:
				answer_detail(t, m);
				break;
			default:
				fail_msg("type %u to the world", m->type);
			}
		}
	}
}
