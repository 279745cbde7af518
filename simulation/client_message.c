#include "simulation/client_message.h"

#include <stdbool.h>
#include <stddef.h>
#include <string.h>

#include "proto/client.pb-c.h"
#include "proto/message_types.h"

/* A bump arena behind protobuf-c's allocator: what is given out is taken back as a whole. */
struct arena {
	uint8_t *memory;
	uint32_t used;
};

static void *arena_alloc(void *data, size_t bytes)
{
	struct arena *arena = data;
	uint8_t *at = arena->memory + arena->used;

	if (bytes > SIM_PARSE_MEMORY)
		return NULL;
	bytes = (bytes + 15) & ~(size_t)15;
	if (bytes > SIM_PARSE_MEMORY - arena->used)
		return NULL;
	arena->used += (uint32_t)bytes;
	return at;
}

static void arena_free(void *data, void *pointer)
{
	(void)data;
	(void)pointer;
}

/* A sint32 in a varint of at most two bytes, which holds every legal axis. */
static const uint8_t *quick_axis(const uint8_t *at, const uint8_t *end, int8_t *out)
{
	uint32_t value;
	int32_t axis;

	if (at == end)
		return NULL;
	value = *at++;
	if (value & 0x80) {
		if (at == end || *at & 0x80)
			return NULL;
		value = (value & 0x7f) | (uint32_t)*at++ << 7;
	}
	axis = (int32_t)(value >> 1) ^ -(int32_t)(value & 1);
	if (axis < -127 || axis > 127)
		return NULL;
	*out = (int8_t)axis;
	return at;
}

/* Reads a batch as every encoder writes it: fields in order, nothing unknown, axes in range. False:
 * it is something else, and protobuf-c decides. This is the message that comes 20 times a second
 * from everyone: 25 ns here, 300 ns there (perf/sim_bench). client_fuzz compares the two. */
static bool quick_input(const uint8_t *at, uint32_t count, struct sim_client_message *out)
{
	const uint8_t *end = at + count;

	if (at < end && *at == (1 << 3)) {
		uint64_t value = 0;

		at++;
		for (uint32_t shift = 0;; shift += 7) {
			if (at == end || shift > 28)
				return false;
			value |= (uint64_t)(*at & 0x7f) << shift;
			if (!(*at++ & 0x80))
				break;
		}
		if (value > UINT32_MAX)
			return false;
		out->first_sequence = (uint32_t)value;
	}
	while (at < end && *at != (3 << 3)) {
		const uint8_t *input_end;

		if (out->count == SIM_INPUTS_MAX || end - at < 2 || at[0] != (2 << 3 | 2) ||
			at[1] > 0x7f || at[1] > end - at - 2)
			return false;
		input_end = at + 2 + at[1];
		at += 2;
		if (at < input_end && *at == (1 << 3) &&
			!(at = quick_axis(at + 1, input_end, &out->dx[out->count])))
			return false;
		if (at < input_end && *at == (2 << 3) &&
			!(at = quick_axis(at + 1, input_end, &out->dy[out->count])))
			return false;
		if (at != input_end)
			return false;
		out->count++;
	}
	/* A stay of one byte: more would be 128 maps on one connection. */
	if (at < end) {
		if (end - at != 2 || at[1] & 0x80)
			return false;
		out->stay = at[1];
	}
	return out->count != 0;
}

static enum sim_parse unpack_input(ProtobufCAllocator *allocator, const uint8_t *bytes,
	uint32_t count, struct sim_client_message *out)
{
	const Sw__InputBatch *batch = sw__input_batch__unpack(allocator, count, bytes);

	if (!batch)
		return SIM_PARSE_UNDECODABLE;
	if (!batch->n_inputs)
		return SIM_PARSE_NO_INPUTS;
	if (batch->n_inputs > SIM_INPUTS_MAX)
		return SIM_PARSE_MANY_INPUTS;
	out->first_sequence = batch->first_sequence;
	out->stay = batch->stay;
	out->count = (uint32_t)batch->n_inputs;
	for (uint32_t i = 0; i < out->count; i++) {
		const Sw__Input *input = batch->inputs[i];

		if (input->dx < -127 || input->dx > 127 || input->dy < -127 || input->dy > 127)
			return SIM_PARSE_INPUT_RANGE;
		out->dx[i] = (int8_t)input->dx;
		out->dy[i] = (int8_t)input->dy;
	}
	return SIM_PARSE_OK;
}

static enum sim_parse parse_input(ProtobufCAllocator *allocator, const uint8_t *bytes,
	uint32_t count, struct sim_client_message *out)
{
	if (count > SIM_INPUT_BYTES_MAX)
		return SIM_PARSE_OVERSIZE;
	if (quick_input(bytes, count, out))
		return SIM_PARSE_OK;
	return unpack_input(allocator, bytes, count, out);
}

static enum sim_parse parse_click(ProtobufCAllocator *allocator, const uint8_t *bytes,
	uint32_t count, struct sim_client_message *out)
{
	const Sw__Click *click;

	if (count > SIM_ACTION_BYTES_MAX)
		return SIM_PARSE_OVERSIZE;
	click = sw__click__unpack(allocator, count, bytes);
	if (!click)
		return SIM_PARSE_UNDECODABLE;
	out->actor_id = click->actor_id;
	out->stay = click->stay;
	return SIM_PARSE_OK;
}

static enum sim_parse parse_attack(ProtobufCAllocator *allocator, const uint8_t *bytes,
	uint32_t count, struct sim_client_message *out)
{
	const Sw__Attack *attack;

	if (count > SIM_ACTION_BYTES_MAX)
		return SIM_PARSE_OVERSIZE;
	attack = sw__attack__unpack(allocator, count, bytes);
	if (!attack)
		return SIM_PARSE_UNDECODABLE;
	out->actor_id = attack->actor_id;
	out->stay = attack->stay;
	return SIM_PARSE_OK;
}

static enum sim_parse parse_pick_up(ProtobufCAllocator *allocator, const uint8_t *bytes,
	uint32_t count, struct sim_client_message *out)
{
	const Sw__PickUp *pick;

	if (count > SIM_ACTION_BYTES_MAX)
		return SIM_PARSE_OVERSIZE;
	pick = sw__pick_up__unpack(allocator, count, bytes);
	if (!pick)
		return SIM_PARSE_UNDECODABLE;
	out->actor_id = pick->actor_id;
	out->stay = pick->stay;
	return SIM_PARSE_OK;
}

static enum sim_parse parse_pick(ProtobufCAllocator *allocator, const uint8_t *bytes,
	uint32_t count, struct sim_client_message *out)
{
	const Sw__CardPick *pick;

	if (count > SIM_ACTION_BYTES_MAX)
		return SIM_PARSE_OVERSIZE;
	pick = sw__card_pick__unpack(allocator, count, bytes);
	if (!pick)
		return SIM_PARSE_UNDECODABLE;
	out->offer = pick->offer;
	out->card = pick->card;
	out->stay = pick->stay;
	return SIM_PARSE_OK;
}

static enum sim_parse parse_move_item(ProtobufCAllocator *allocator, const uint8_t *bytes,
	uint32_t count, struct sim_client_message *out)
{
	const Sw__MoveItem *move;

	if (count > SIM_ACTION_BYTES_MAX)
		return SIM_PARSE_OVERSIZE;
	move = sw__move_item__unpack(allocator, count, bytes);
	if (!move)
		return SIM_PARSE_UNDECODABLE;
	out->from = move->from;
	out->to = move->to;
	out->item_count = move->count;
	out->stay = move->stay;
	return SIM_PARSE_OK;
}

static enum sim_parse parse_drop_item(ProtobufCAllocator *allocator, const uint8_t *bytes,
	uint32_t count, struct sim_client_message *out)
{
	const Sw__DropItem *drop;

	if (count > SIM_ACTION_BYTES_MAX)
		return SIM_PARSE_OVERSIZE;
	drop = sw__drop_item__unpack(allocator, count, bytes);
	if (!drop)
		return SIM_PARSE_UNDECODABLE;
	out->from = drop->slot;
	out->item_count = drop->count;
	out->stay = drop->stay;
	return SIM_PARSE_OK;
}

static enum sim_parse parse_trade_request(ProtobufCAllocator *allocator, const uint8_t *bytes,
	uint32_t count, struct sim_client_message *out)
{
	const Sw__TradeRequest *request;

	if (count > SIM_ACTION_BYTES_MAX)
		return SIM_PARSE_OVERSIZE;
	request = sw__trade_request__unpack(allocator, count, bytes);
	if (!request)
		return SIM_PARSE_UNDECODABLE;
	out->actor_id = request->actor_id;
	out->stay = request->stay;
	return SIM_PARSE_OK;
}

static enum sim_parse parse_trade_offer(ProtobufCAllocator *allocator, const uint8_t *bytes,
	uint32_t count, struct sim_client_message *out)
{
	const Sw__TradeOffer *offer;

	if (count > SIM_ACTION_BYTES_MAX)
		return SIM_PARSE_OVERSIZE;
	offer = sw__trade_offer__unpack(allocator, count, bytes);
	if (!offer)
		return SIM_PARSE_UNDECODABLE;
	out->trade.id = offer->trade;
	out->trade.kind = (uint32_t)offer->kind; /* unknown ones are refused by name */
	out->trade.slot = offer->slot;
	out->trade.amount = offer->amount;
	out->stay = offer->stay;
	return SIM_PARSE_OK;
}

static enum sim_parse parse_trade_confirm(ProtobufCAllocator *allocator, const uint8_t *bytes,
	uint32_t count, struct sim_client_message *out)
{
	const Sw__TradeConfirm *confirm;

	if (count > SIM_ACTION_BYTES_MAX)
		return SIM_PARSE_OVERSIZE;
	confirm = sw__trade_confirm__unpack(allocator, count, bytes);
	if (!confirm)
		return SIM_PARSE_UNDECODABLE;
	out->trade.id = confirm->trade;
	out->trade.version = confirm->version;
	out->stay = confirm->stay;
	return SIM_PARSE_OK;
}

static enum sim_parse parse_trade_cancel(ProtobufCAllocator *allocator, const uint8_t *bytes,
	uint32_t count, struct sim_client_message *out)
{
	const Sw__TradeCancel *cancel;

	if (count > SIM_ACTION_BYTES_MAX)
		return SIM_PARSE_OVERSIZE;
	cancel = sw__trade_cancel__unpack(allocator, count, bytes);
	if (!cancel)
		return SIM_PARSE_UNDECODABLE;
	out->trade.id = cancel->trade;
	out->stay = cancel->stay;
	return SIM_PARSE_OK;
}

static enum sim_parse parse_dialogue_answer(ProtobufCAllocator *allocator, const uint8_t *bytes,
	uint32_t count, struct sim_client_message *out)
{
	const Sw__DialogueAnswer *answer;

	if (count > SIM_ACTION_BYTES_MAX)
		return SIM_PARSE_OVERSIZE;
	answer = sw__dialogue_answer__unpack(allocator, count, bytes);
	if (!answer)
		return SIM_PARSE_UNDECODABLE;
	out->offer = answer->question;
	out->card = answer->choice;
	out->stay = answer->stay;
	return SIM_PARSE_OK;
}

static enum sim_parse parse_quest_abandon(ProtobufCAllocator *allocator, const uint8_t *bytes,
	uint32_t count, struct sim_client_message *out)
{
	const Sw__QuestAbandon *abandon;

	if (count > SIM_ACTION_BYTES_MAX)
		return SIM_PARSE_OVERSIZE;
	abandon = sw__quest_abandon__unpack(allocator, count, bytes);
	if (!abandon)
		return SIM_PARSE_UNDECODABLE;
	out->offer = abandon->quest;
	out->stay = abandon->stay;
	return SIM_PARSE_OK;
}

static enum sim_parse parse_party(ProtobufCAllocator *allocator, const uint8_t *bytes,
	uint32_t count, struct sim_client_message *out)
{
	const Sw__PartyRequest *request;

	if (count > SIM_PARTY_BYTES_MAX)
		return SIM_PARSE_OVERSIZE;
	request = sw__party_request__unpack(allocator, count, bytes);
	if (!request)
		return SIM_PARSE_UNDECODABLE;
	out->party.request = request->request;
	out->party.character_id = request->character_id;
	out->party.act = (uint32_t)request->act; /* unknown ones are refused by name */
	if (strlen(request->name) < sizeof(out->party.name))
		memcpy(out->party.name, request->name, strlen(request->name));
	out->stay = request->stay;
	return SIM_PARSE_OK;
}

typedef enum sim_parse parse_fn(ProtobufCAllocator *allocator, const uint8_t *bytes, uint32_t count,
	struct sim_client_message *out);

/* All but the input come on the session's channel. */
static parse_fn *action_parser(uint8_t type)
{
	switch (type) {
	case SW_MSG_CLICK:
		return parse_click;
	case SW_MSG_ATTACK:
		return parse_attack;
	case SW_MSG_PICK_UP:
		return parse_pick_up;
	case SW_MSG_MOVE_ITEM:
		return parse_move_item;
	case SW_MSG_DROP_ITEM:
		return parse_drop_item;
	case SW_MSG_TRADE_REQUEST:
		return parse_trade_request;
	case SW_MSG_TRADE_OFFER:
		return parse_trade_offer;
	case SW_MSG_TRADE_CONFIRM:
		return parse_trade_confirm;
	case SW_MSG_TRADE_CANCEL:
		return parse_trade_cancel;
	case SW_MSG_CARD_PICK:
		return parse_pick;
	case SW_MSG_DIALOGUE_ANSWER:
		return parse_dialogue_answer;
	case SW_MSG_QUEST_ABANDON:
		return parse_quest_abandon;
	case SW_MSG_PARTY_REQUEST:
		return parse_party;
	default:
		return NULL;
	}
}

enum sim_parse sim_client_message_parse(uint8_t *memory, uint8_t channel, const uint8_t *bytes,
	uint32_t count, struct sim_client_message *out)
{
	struct arena arena = {.memory = memory};
	ProtobufCAllocator allocator = {arena_alloc, arena_free, &arena};
	parse_fn *parse;

	if (!count)
		return SIM_PARSE_EMPTY;
	memset(out, 0, sizeof(*out));
	out->type = bytes[0];
	if (bytes[0] == SW_MSG_INPUT) {
		if (channel != SW_CHANNEL_WORLD)
			return SIM_PARSE_WRONG_CHANNEL;
		return parse_input(&allocator, bytes + 1, count - 1, out);
	}
	parse = action_parser(bytes[0]);
	if (!parse)
		return SIM_PARSE_UNKNOWN_TYPE;
	if (channel != SW_CHANNEL_SESSION)
		return SIM_PARSE_WRONG_CHANNEL;
	return parse(&allocator, bytes + 1, count - 1, out);
}

enum sim_parse sim_client_input_reference(
	uint8_t *memory, const uint8_t *bytes, uint32_t count, struct sim_client_message *out)
{
	struct arena arena = {.memory = memory};
	ProtobufCAllocator allocator = {arena_alloc, arena_free, &arena};

	memset(out, 0, sizeof(*out));
	return unpack_input(&allocator, bytes, count, out);
}
