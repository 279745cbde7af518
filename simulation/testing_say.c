/* What clients of a shard under test say. */
#include "simulation/testing.h"

#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <string.h>

#include <cmocka.h>

void test_packet(
	struct test_shard *t, uint32_t client, uint8_t channel, const void *bytes, uint32_t count)
{
	static struct msg_buffer buffer;

	memcpy(msg_begin(buffer.slot, MSG_PEER_PACKET, test_peer(client), count), bytes, count);
	buffer.slot->channel = channel;
	assert_true(msg_ring_push(t->links.from_dataplane[client % t->workers], buffer.slot));
}

static void send_words(
	struct test_shard *t, uint32_t client, uint8_t type, const ProtobufCMessage *message)
{
	uint8_t bytes[64] = {type};

	test_packet(t, client, SW_CHANNEL_SESSION, bytes,
		1 + (uint32_t)protobuf_c_message_pack(message, bytes + 1));
}

void test_input(struct test_shard *t, uint32_t client, uint32_t first, uint32_t count, int32_t dx,
	int32_t dy)
{
	Sw__Input input = SW__INPUT__INIT, *inputs[64];
	Sw__InputBatch message = SW__INPUT_BATCH__INIT;
	uint8_t bytes[1024];

	assert_true(count <= 64);
	input.dx = dx;
	input.dy = dy;
	for (uint32_t i = 0; i < count; i++)
		inputs[i] = &input;
	message.stay = t->clients[client].stay;
	message.first_sequence = first;
	message.n_inputs = count;
	message.inputs = inputs;
	bytes[0] = SW_MSG_INPUT;
	test_packet(t, client, SW_CHANNEL_WORLD, bytes,
		1 + (uint32_t)sw__input_batch__pack(&message, bytes + 1));
}

void test_pick(struct test_shard *t, uint32_t client, uint32_t offer, uint32_t card)
{
	Sw__CardPick pick = SW__CARD_PICK__INIT;

	pick.offer = offer;
	pick.card = card;
	pick.stay = t->clients[client].stay;
	send_words(t, client, SW_MSG_CARD_PICK, &pick.base);
}

void test_click(struct test_shard *t, uint32_t client, uint32_t actor_id)
{
	Sw__Click click = SW__CLICK__INIT;

	click.actor_id = actor_id;
	click.stay = t->clients[client].stay;
	send_words(t, client, SW_MSG_CLICK, &click.base);
}

void test_attack(struct test_shard *t, uint32_t client, uint32_t actor_id)
{
	Sw__Attack attack = SW__ATTACK__INIT;

	attack.actor_id = actor_id;
	attack.stay = t->clients[client].stay;
	send_words(t, client, SW_MSG_ATTACK, &attack.base);
}

void test_pick_up(struct test_shard *t, uint32_t client, uint32_t actor_id)
{
	Sw__PickUp pick = SW__PICK_UP__INIT;

	pick.actor_id = actor_id;
	pick.stay = t->clients[client].stay;
	send_words(t, client, SW_MSG_PICK_UP, &pick.base);
}

void test_move_item(
	struct test_shard *t, uint32_t client, uint32_t from, uint32_t to, uint32_t count)
{
	Sw__MoveItem move = SW__MOVE_ITEM__INIT;

	move.from = from;
	move.to = to;
	move.count = count;
	move.stay = t->clients[client].stay;
	send_words(t, client, SW_MSG_MOVE_ITEM, &move.base);
}

void test_drop_item(struct test_shard *t, uint32_t client, uint32_t slot, uint32_t count)
{
	Sw__DropItem drop = SW__DROP_ITEM__INIT;

	drop.slot = slot;
	drop.count = count;
	drop.stay = t->clients[client].stay;
	send_words(t, client, SW_MSG_DROP_ITEM, &drop.base);
}

void test_trade_ask(struct test_shard *t, uint32_t client, uint32_t actor_id)
{
	Sw__TradeRequest request = SW__TRADE_REQUEST__INIT;

	request.actor_id = actor_id;
	request.stay = t->clients[client].stay;
	send_words(t, client, SW_MSG_TRADE_REQUEST, &request.base);
}

void test_trade_offer(
	struct test_shard *t, uint32_t client, uint32_t kind, uint32_t slot, int64_t amount)
{
	Sw__TradeOffer message = SW__TRADE_OFFER__INIT;

	message.trade = t->clients[client].trade;
	message.stay = t->clients[client].stay;
	message.kind = (Sw__TradeOfferKind)kind;
	message.slot = slot;
	message.amount = amount;
	send_words(t, client, SW_MSG_TRADE_OFFER, &message.base);
}

void test_trade_confirm(struct test_shard *t, uint32_t client, uint32_t version)
{
	Sw__TradeConfirm message = SW__TRADE_CONFIRM__INIT;

	message.trade = t->clients[client].trade;
	message.stay = t->clients[client].stay;
	message.version = version;
	send_words(t, client, SW_MSG_TRADE_CONFIRM, &message.base);
}

void test_trade_cancel(struct test_shard *t, uint32_t client)
{
	Sw__TradeCancel message = SW__TRADE_CANCEL__INIT;

	message.trade = t->clients[client].trade;
	message.stay = t->clients[client].stay;
	send_words(t, client, SW_MSG_TRADE_CANCEL, &message.base);
}

void test_answer(struct test_shard *t, uint32_t client, uint32_t choice)
{
	Sw__DialogueAnswer answer = SW__DIALOGUE_ANSWER__INIT;

	answer.question = t->clients[client].question;
	answer.choice = choice;
	answer.stay = t->clients[client].stay;
	send_words(t, client, SW_MSG_DIALOGUE_ANSWER, &answer.base);
}

void test_abandon(struct test_shard *t, uint32_t client, uint32_t quest)
{
	Sw__QuestAbandon abandon = SW__QUEST_ABANDON__INIT;

	abandon.quest = quest;
	abandon.stay = t->clients[client].stay;
	send_words(t, client, SW_MSG_QUEST_ABANDON, &abandon.base);
}
