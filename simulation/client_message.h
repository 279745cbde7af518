/* client_message: what a client may say to a map, decoded with protobuf-c on memory that is given.
 *
 * Pure: no state, no allocation; any thread. The input is the client's and may be anything; each
 * refusal has a name and a counter (SIM_PARSE_REFUSALS). */
#ifndef SW_SIMULATION_CLIENT_MESSAGE_H
#define SW_SIMULATION_CLIENT_MESSAGE_H

#include <stdint.h>

#include "common/msg.h"
#include "simulation/counters.h"

#define SIM_PARSE_ENUM(id, name, help) SIM_PARSE_##id,
enum sim_parse { SIM_PARSE_REFUSALS(SIM_PARSE_ENUM) SIM_PARSE_OK };

/* Memory one decoding may use: a batch of 8 inputs takes under 1 KiB; a message that wants more
 * (thousands of empty sub-messages in few bytes) is refused as undecodable. */
#define SIM_PARSE_MEMORY 4096u

/* Longest encoding of each type that is looked at; canonical ones are far shorter. */
#define SIM_INPUT_BYTES_MAX  256u
#define SIM_ACTION_BYTES_MAX 32u
#define SIM_PARTY_BYTES_MAX  96u
#define SIM_INPUTS_MAX       8u

/* What a trade's message says. */
struct sim_trade_words {
	uint32_t id; /* TradeState.trade */
	uint32_t kind, slot, version;
	int64_t amount;
};

/* What a PartyRequest says. */
struct sim_party_words {
	uint64_t request, character_id;
	uint32_t act;
	char name[CHARACTER_NAME_BYTES]; /* "" also where it was too long to be one */
};

struct sim_client_message {
	uint8_t type; /* SW_MSG_INPUT, or an action: CLICK, ATTACK, PICK_UP, MOVE_ITEM, DROP_ITEM */
	uint32_t first_sequence, count; /* INPUT */
	int8_t dx[SIM_INPUTS_MAX], dy[SIM_INPUTS_MAX];
	uint32_t actor_id;             /* CLICK, ATTACK, PICK_UP */
	uint32_t from, to, item_count; /* MOVE_ITEM, DROP_ITEM: slots */
	struct sim_trade_words trade;  /* TRADE_OFFER, TRADE_CONFIRM, TRADE_CANCEL */
	uint32_t offer, card;          /* CARD_PICK; DIALOGUE_ANSWER: question, choice;
					* QUEST_ABANDON: the quest */
	struct sim_party_words party; /* PARTY_REQUEST */
	uint32_t stay;                 /* Joined.stay, as the client names it */
};

/* Decodes one message as it came from the dataplane, type byte first. memory[SIM_PARSE_MEMORY],
 * aligned to 16, is scratch. */
enum sim_parse sim_client_message_parse(uint8_t *memory, uint8_t channel, const uint8_t *bytes,
	uint32_t count, struct sim_client_message *out);

/* An InputBatch by protobuf-c alone, without type byte and without the quick way: what the fuzz
 * target holds the quick way against. */
enum sim_parse sim_client_input_reference(
	uint8_t *memory, const uint8_t *bytes, uint32_t count, struct sim_client_message *out);

#endif
