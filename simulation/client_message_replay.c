/* Made-up inputs for client_message_fuzz.c: messages of every kind with seeded damage. */
#include "proto/client.pb-c.h"
#include "proto/message_types.h"
#include "simulation/random.h"
#include "tests/fuzz/replay.h"

#define INPUTS 3000u

/* One record: a valid message, most of the time damaged. */
static uint32_t record(uint64_t *seed, uint32_t sequence, uint8_t *out)
{
	Sw__Input inputs[10], *pointers[10];
	Sw__InputBatch input = SW__INPUT_BATCH__INIT;
	Sw__Click click = SW__CLICK__INIT;
	Sw__Attack attack = SW__ATTACK__INIT;
	Sw__PickUp pick = SW__PICK_UP__INIT;
	Sw__MoveItem move = SW__MOVE_ITEM__INIT;
	Sw__DropItem drop = SW__DROP_ITEM__INIT;
	Sw__TradeRequest request = SW__TRADE_REQUEST__INIT;
	Sw__TradeOffer offer = SW__TRADE_OFFER__INIT;
	Sw__TradeConfirm confirm = SW__TRADE_CONFIRM__INIT;
	Sw__TradeCancel cancel = SW__TRADE_CANCEL__INIT;
	uint32_t count, damage = sim_random_below(seed, 3);

	input.first_sequence = sequence;
	input.n_inputs = sim_random_below(seed, 10);
	input.inputs = pointers;
	for (size_t i = 0; i < input.n_inputs; i++) {
		sw__input__init(&inputs[i]);
		inputs[i].dx = (int32_t)sim_random_below(seed, 257) - 128;
		inputs[i].dy = (int32_t)sim_random_below(seed, 257) - 128;
		pointers[i] = &inputs[i];
	}
	click.actor_id = sim_random_below(seed, 30);
	out[0] = (uint8_t)sim_random(seed);
	out[0] = (uint8_t)((out[0] & ~3) | SW_CHANNEL_SESSION);
	if (!sim_random_below(seed, 5)) {
		attack.actor_id = pick.actor_id = click.actor_id;
		move.from = drop.slot = sim_random_below(seed, 120);
		move.to = sim_random_below(seed, 120);
		move.count = drop.count = sim_random_below(seed, 3);
		request.actor_id = 1 + sim_random_below(seed, 30);
		offer.trade = confirm.trade = cancel.trade = 1 + sim_random_below(seed, 3);
		offer.kind = (Sw__TradeOfferKind)sim_random_below(seed, 4);
		offer.slot = move.from;
		offer.amount = (int64_t)sim_random_below(seed, 5) - 1;
		confirm.version = sim_random_below(seed, 4);
		switch (sim_random_below(seed, 8)) {
		case 3:
			out[2] = SW_MSG_TRADE_REQUEST;
			count = 1 + (uint32_t)sw__trade_request__pack(&request, out + 3);
			break;
		case 4:
			out[2] = SW_MSG_TRADE_OFFER;
			count = 1 + (uint32_t)sw__trade_offer__pack(&offer, out + 3);
			break;
		case 5:
			out[2] = SW_MSG_TRADE_CONFIRM;
			count = 1 + (uint32_t)sw__trade_confirm__pack(&confirm, out + 3);
			break;
		case 6:
			out[2] = SW_MSG_TRADE_CANCEL;
			count = 1 + (uint32_t)sw__trade_cancel__pack(&cancel, out + 3);
			break;
		case 0:
			out[2] = SW_MSG_ATTACK;
			count = 1 + (uint32_t)sw__attack__pack(&attack, out + 3);
			break;
		case 1:
			out[2] = SW_MSG_PICK_UP;
			count = 1 + (uint32_t)sw__pick_up__pack(&pick, out + 3);
			break;
		case 2:
			out[2] = SW_MSG_MOVE_ITEM;
			count = 1 + (uint32_t)sw__move_item__pack(&move, out + 3);
			break;
		default:
			out[2] = SW_MSG_DROP_ITEM;
			count = 1 + (uint32_t)sw__drop_item__pack(&drop, out + 3);
		}
	} else if (sim_random_below(seed, 5)) {
		out[0] = (uint8_t)((out[0] & ~3) | SW_CHANNEL_WORLD);
		out[2] = SW_MSG_INPUT;
		count = 1 + (uint32_t)sw__input_batch__pack(&input, out + 3);
	} else {
		out[0] = (uint8_t)((out[0] & ~3) | SW_CHANNEL_SESSION);
		out[2] = SW_MSG_CLICK;
		count = 1 + (uint32_t)sw__click__pack(&click, out + 3);
	}
	out[1] = (uint8_t)count;
	while (damage--)
		out[2 + sim_random_below(seed, count)] = (uint8_t)sim_random(seed);
	return 2 + count;
}

uint32_t replay_made(uint64_t seed)
{
	for (uint32_t input = 0; input < INPUTS; input++) {
		uint8_t bytes[8 * 256];
		uint32_t used = 0, records = 1 + sim_random_below(&seed, 8);

		for (uint32_t i = 0; i < records; i++)
			used += record(&seed, 1 + i * 8, bytes + used);
		LLVMFuzzerTestOneInput(bytes, used);
	}
	return INPUTS;
}
