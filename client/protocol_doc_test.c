/* Proves that docs/protocol.md says what the code does: every message type, field, reason and enum
 * value has its row and no row is left over; its example packets decode, its movement table is what
 * the rules compute, its ticket verifies. argv[1] is the page. */
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <cmocka.h>

#include <sodium.h>

#include "proto/client.pb-c.h"
#include "proto/message_types.h"
#include "proto/probe.h"
#include "proto/proof.h"
#include "simulation/rules/move.h"

static char page[256 * 1024];

/* How many lines begin with this text. */
static unsigned lines(const char *start)
{
	unsigned count = 0;

	for (const char *line = page; line; line = strchr(line, '\n')) {
		line += *line == '\n';
		count += !strncmp(line, start, strlen(start));
	}
	return count;
}

static void has_row(const char *row)
{
	unsigned count = lines(row);

	if (count != 1)
		fail_msg("%u lines begin with \"%s\"", count, row);
}

/* The part of the page from this heading to the next one. */
static char *section(const char *heading)
{
	static char text[sizeof(page)];
	char line[128];
	const char *start, *end;

	snprintf(line, sizeof(line), "\n%s\n", heading);
	start = strstr(page, line);
	if (!start)
		fail_msg("there is no heading \"%s\"", heading);
	start += strlen(line);
	end = strstr(start, "\n#");
	snprintf(text, sizeof(text), "%.*s", end ? (int)(end - start) : (int)strlen(start), start);
	return text;
}

static unsigned rows(const char *text)
{
	unsigned count = 0;

	for (const char *at = text; (at = strstr(at, "\n| ")); at++)
		count += at[3] >= '0' && at[3] <= '9';
	return count;
}

#define MESSAGE_DESCRIPTORS(X)                                                                     \
	X(hello)                                                                                   \
	X(admitted)                                                                                \
	X(refused)                                                                                 \
	X(challenge)                                                                               \
	X(solution)                                                                                \
	X(return_pass)                                                                             \
	X(queued)                                                                                  \
	X(redirect)                                                                                \
	X(redirect_failed)                                                                         \
	X(joined)                                                                                  \
	X(character_detail)                                                                        \
	X(input_batch)                                                                             \
	X(input)                                                                                   \
	X(world_update)                                                                            \
	X(entity_state)                                                                            \
	X(view_change)                                                                             \
	X(actor_enter)                                                                             \
	X(click)                                                                                   \
	X(dialogue)                                                                                \
	X(dialogue_answer)                                                                         \
	X(quest)                                                                                   \
	X(quest_log)                                                                               \
	X(quest_update)                                                                            \
	X(quest_abandon)                                                                           \
	X(action_refused)                                                                          \
	X(attack)                                                                                  \
	X(combat_events)                                                                           \
	X(match_state)                                                                             \
	X(match_card)                                                                              \
	X(card_offer)                                                                              \
	X(card_pick)                                                                               \
	X(card_taken)                                                                              \
	X(match_rank)                                                                              \
	X(match_result)                                                                            \
	X(combat_event)                                                                            \
	X(pick_up)                                                                                 \
	X(inventory)                                                                               \
	X(item_stack)                                                                              \
	X(move_item)                                                                               \
	X(drop_item)                                                                               \
	X(trade_request)                                                                           \
	X(trade_offer)                                                                             \
	X(trade_confirm)                                                                           \
	X(trade_cancel)                                                                            \
	X(trade_item)                                                                              \
	X(trade_side)                                                                              \
	X(trade_state)                                                                             \
	X(trade_ended)                                                                             \
	X(party_request)                                                                           \
	X(party_answer)                                                                            \
	X(party_member)                                                                            \
	X(party_state)                                                                             \
	X(party_invite)                                                                            \
	X(party_member_live)                                                                       \
	X(party_live)                                                                              \
	X(chat_say)                                                                                \
	X(chat_whisper)                                                                            \
	X(chat_join)                                                                               \
	X(chat_part)                                                                               \
	X(chat_block)                                                                              \
	X(chat_report)                                                                             \
	X(chat_fetch)                                                                              \
	X(chat_line)                                                                               \
	X(chat_whispered)                                                                          \
	X(chat_done)                                                                               \
	X(chat_refused)                                                                            \
	X(chat_channel)                                                                            \
	X(chat_announcement)                                                                       \
	X(signed_ticket)                                                                           \
	X(ticket)

#define DESCRIPTOR(name) &sw__##name##__descriptor,
static const ProtobufCMessageDescriptor *const descriptors[] = {MESSAGE_DESCRIPTORS(DESCRIPTOR)};
#define DESCRIPTORS (sizeof(descriptors) / sizeof(descriptors[0]))

static const ProtobufCMessageDescriptor *by_name(const char *name)
{
	for (size_t i = 0; i < DESCRIPTORS; i++) {
		if (!strcmp(descriptors[i]->short_name, name))
			return descriptors[i];
	}
	fail_msg("the test does not know %s", name);
	return NULL;
}

static const struct type {
	const char *name, *message, *who;
	uint8_t value;
} types[] = {
#define TYPE(name, value, message, who) {#name, #message, #who, value},
	SW_MESSAGE_TYPES(TYPE)};
#define TYPES (sizeof(types) / sizeof(types[0]))

/* The table of channels names it where the table of types puts it: at the end of row, a line of the
 * page. */
static void channel_names(const char *row, const char *message)
{
	const char *channel = strstr(page, row) + strlen(row), *at = section("## Transport: ENet");
	char start[32];

	snprintf(start, sizeof(start), "\n| %c | ", *channel);
	at = strstr(at, start);
	if (at) {
		const char *end = strchr(at + 1, '\n');

		while ((at = strstr(at, message)) && end && at < end) {
			if (at[-1] == ' ' && strchr(",; ", at[strlen(message)]))
				return;
			at++;
		}
	}
	fail_msg("channel %c does not name %s", *channel, message);
}

static void message_types_agree(void **state)
{
	char row[128];

	(void)state;
	for (size_t i = 0; i < TYPES; i++) {
		snprintf(row, sizeof(row), "| `0x%02x` | %s | %s | %s | ", types[i].value,
			types[i].name, types[i].message,
			strcmp(types[i].who, "CLIENT") ? "server" : "client");
		has_row(row);
		channel_names(row, types[i].message);
	}
	assert_int_equal(lines("| `0x"), TYPES);
	snprintf(row, sizeof(row), "Version %u.", SW_PROTOCOL_VERSION);
	has_row(row);
}

static void reasons_agree(void **state)
{
	unsigned count = 0;
	char row[256];

	(void)state;
#define REASON(name, value, text)                                                                  \
	snprintf(row, sizeof(row), "| %d | %s | %s |", value, #name, text);                        \
	has_row(row);                                                                              \
	count++;
	SW_DISCONNECT_REASONS(REASON)
	assert_int_equal(rows(section("## Leaving")), count);
}

static void node_states_agree(void **state)
{
	char row[256];

	(void)state;
#define STATE(name, value, text)                                                                   \
	snprintf(row, sizeof(row), "| %d | %s | %s |", value, #name, text);                        \
	has_row(row);
	SW_NODE_STATES(STATE)
	snprintf(row, sizeof(row), "| 0, 1 | `%02x %02x` |", SW_PROBE_0, SW_PROBE_1);
	has_row(row);
	snprintf(row, sizeof(row), "| 2 | `%02x` | `%02x` |", SW_PROBE_REQUEST, SW_PROBE_ANSWER);
	has_row(row);
}

static const char *type_name(const ProtobufCFieldDescriptor *field)
{
	switch (field->type) {
	case PROTOBUF_C_TYPE_SINT32:
		return "sint32";
	case PROTOBUF_C_TYPE_INT64:
		return "int64";
	case PROTOBUF_C_TYPE_UINT32:
		return "uint32";
	case PROTOBUF_C_TYPE_UINT64:
		return "uint64";
	case PROTOBUF_C_TYPE_FIXED64:
		return "fixed64";
	case PROTOBUF_C_TYPE_BOOL:
		return "bool";
	case PROTOBUF_C_TYPE_STRING:
		return "string";
	case PROTOBUF_C_TYPE_BYTES:
		return "bytes";
	case PROTOBUF_C_TYPE_MESSAGE:
		return ((const ProtobufCMessageDescriptor *)field->descriptor)->short_name;
	case PROTOBUF_C_TYPE_ENUM:
		return ((const ProtobufCEnumDescriptor *)field->descriptor)->short_name;
	default:
		fail_msg("%s has a type that the test does not know", field->name);
		return "";
	}
}

static void fields_agree(void **state)
{
	(void)state;
	for (size_t i = 0; i < DESCRIPTORS; i++) {
		char heading[64], row[128];
		char *text;

		snprintf(heading, sizeof(heading), "### %s", descriptors[i]->short_name);
		text = section(heading);
		for (unsigned f = 0; f < descriptors[i]->n_fields; f++) {
			const ProtobufCFieldDescriptor *field = &descriptors[i]->fields[f];

			snprintf(row, sizeof(row), "\n| %u | %s | %s%s |", field->id, field->name,
				field->label == PROTOBUF_C_LABEL_REPEATED ? "repeated " : "",
				type_name(field));
			if (!strstr(text, row))
				fail_msg("%s: no row%s", heading, row);
		}
		/* those below have an enum in their section (enums_agree) */
		if (descriptors[i] != &sw__actor_enter__descriptor &&
			descriptors[i] != &sw__queued__descriptor &&
			descriptors[i] != &sw__trade_offer__descriptor &&
			descriptors[i] != &sw__trade_state__descriptor &&
			descriptors[i] != &sw__trade_ended__descriptor &&
			descriptors[i] != &sw__party_request__descriptor &&
			descriptors[i] != &sw__party_answer__descriptor &&
			descriptors[i] != &sw__party_state__descriptor &&
			descriptors[i] != &sw__action_refused__descriptor &&
			descriptors[i] != &sw__quest__descriptor &&
			descriptors[i] != &sw__chat_refused__descriptor &&
			descriptors[i] != &sw__chat_channel__descriptor &&
			descriptors[i] != &sw__match_state__descriptor)
			assert_int_equal(rows(text), descriptors[i]->n_fields);
	}
}

static void enums_agree(void **state)
{
	static const struct {
		const ProtobufCEnumDescriptor *descriptor;
		const char *heading;
		unsigned fields;
	} enums[] = {{&sw__actor_kind__descriptor, "### ActorEnter", 8},
		{&sw__action_refusal__descriptor, "### ActionRefused", 2},
		{&sw__trade_offer_kind__descriptor, "### TradeOffer", 5},
		{&sw__trade_phase__descriptor, "### TradeState", 7},
		{&sw__trade_end_reason__descriptor, "### TradeEnded", 3},
		{&sw__party_act__descriptor, "### PartyRequest", 5},
		{&sw__party_result__descriptor, "### PartyAnswer", 3},
		{&sw__party_change__descriptor, "### PartyState", 6},
		{&sw__quest_phase__descriptor, "### Quest", 10},
		{&sw__chat_refusal__descriptor, "### ChatRefused", 3},
		{&sw__chat_kind__descriptor, "### ChatChannel", 8},
		{&sw__queue_state__descriptor, "### Queued", 4},
		{&sw__match_phase__descriptor, "### MatchState", 10}};

	(void)state;
	for (size_t i = 0; i < sizeof(enums) / sizeof(enums[0]); i++) {
		char *text = section(enums[i].heading), row[128];

		for (unsigned v = 0; v < enums[i].descriptor->n_values; v++) {
			snprintf(row, sizeof(row), "\n| %d | %s |",
				enums[i].descriptor->values[v].value,
				enums[i].descriptor->values[v].name);
			if (!strstr(text, row))
				fail_msg("no row%s", row);
		}
		assert_int_equal(rows(text), enums[i].fields + enums[i].descriptor->n_values);
	}
}

static void movement_examples_agree(void **state)
{
	static const struct sw_move_map map = {
		.width_mm = 500000, .height_mm = 500000, .tick_hz = 20};
	unsigned count = 0;

	(void)state;
	for (const char *line = page; line; line = strchr(line + 1, '\n')) {
		struct sw_move_state at = {.heading = 0};
		int dx, dy, x, y;
		unsigned heading, moving;

		if (sscanf(line, "\n| %d, %d | %d, %d | %d, %d | %u | %u |", &dx, &dy, &at.x_mm,
			    &at.y_mm, &x, &y, &heading, &moving) != 8)
			continue;
		sw_move_apply(&map, 5000, dx, dy, &at);
		assert_int_equal(at.x_mm, x);
		assert_int_equal(at.y_mm, y);
		assert_int_equal(at.heading, heading);
		assert_int_equal(at.moving_mm_per_s, moving);
		count++;
	}
	assert_true(count >= 8);
}

static void walls_examples_agree(void **state)
{
	/* from the south: #... #..# #### */
	static const uint64_t solid[] = {0xf91};
	static const struct sw_ground ground = {.columns = 4,
		.rows = 3,
		.tile_mm = 1000,
		.width_mm = 4000,
		.height_mm = 3000,
		.solid = solid};
	static const struct sw_move_map map = {.width_mm = 4000,
		.height_mm = 3000,
		.tick_hz = 20,
		.radius_mm = 300,
		.ground = &ground};
	char hash[64];
	unsigned count = 0;

	(void)state;
	for (const char *line = strstr(page, "**Walls.**"); line; line = strchr(line + 1, '\n')) {
		struct sw_move_state at = {.heading = 0};
		int dx, dy, x, y, end = 0;

		if (sscanf(line, "\n| %d, %d | %d, %d | %d, %d |%n", &dx, &dy, &at.x_mm, &at.y_mm,
			    &x, &y, &end) != 6 ||
			line[end] != '\n')
			continue;
		sw_move_apply(&map, 5000, dx, dy, &at);
		assert_int_equal(at.x_mm, x);
		assert_int_equal(at.y_mm, y);
		count++;
	}
	assert_true(count >= 6);
	snprintf(hash, sizeof(hash), "have the hash `0x%016llx`",
		(unsigned long long)sw_ground_walls_hash(4, 3, 1000, solid));
	if (!strstr(page, hash))
		fail_msg("the page does not say: %s", hash);
}

static size_t from_hex(const char *text, uint8_t *bytes, size_t bytes_max)
{
	size_t count;
	const char *end;

	assert_int_equal(
		sodium_hex2bin(bytes, bytes_max, text, strcspn(text, "`"), " ", &count, &end), 0);
	assert_int_equal(*end, '`');
	return count;
}

static void example_packets_decode(void **state)
{
	bool seen[256] = {false};
	char *text = section("## A session in bytes");

	(void)state;
	for (const char *row = text; (row = strstr(row, "\n| ")); row++) {
		uint8_t packet[256];
		const char *hex = strchr(row, '`'), *name;
		ProtobufCMessage *message;
		size_t bytes, i = 0;

		if (strncmp(row, "\n| client | `", 13) && strncmp(row, "\n| server | `", 13))
			continue;
		bytes = from_hex(hex + 1, packet, sizeof(packet));
		name = strstr(hex, "` | ") + 4;
		while (i < TYPES && types[i].value != packet[0])
			i++;
		assert_true(i < TYPES);
		assert_true(!strncmp(name, types[i].name, strlen(types[i].name)) &&
			    name[strlen(types[i].name)] == ':');
		assert_int_equal(row[3], types[i].who[0] == 'C' ? 'c' : 's');
		message = protobuf_c_message_unpack(
			by_name(types[i].message), NULL, bytes - 1, packet + 1);
		assert_non_null(message);
		/* written as short as can be: nothing unknown, nothing twice */
		assert_int_equal(protobuf_c_message_get_packed_size(message), bytes - 1);
		assert_int_equal(message->n_unknown_fields, 0);
		protobuf_c_message_free_unpacked(message, NULL);
		seen[packet[0]] = true;
	}
	for (size_t i = 0; i < TYPES; i++)
		assert_true(seen[types[i].value]);
}

/* The Hello that answers the example's Challenge does so. */
static void the_example_work_is_done(void **state)
{
	uint8_t packet[256], input[SW_PROOF_INPUT_BYTES], hash[SW_PROOF_HASH_BYTES];
	const char *row = strstr(page, "| CHALLENGE: 12 bits");
	char text[128], hex[2 * SW_PROOF_HASH_BYTES + 1];
	Sw__Hello *hello;
	size_t bytes;

	(void)state;
	assert_non_null(row);
	bytes = from_hex(strstr(row, "| client | `") + 12, packet, sizeof(packet));
	hello = sw__hello__unpack(NULL, bytes - 1, packet + 1);
	assert_non_null(hello);
	assert_non_null(hello->solution);
	assert_int_equal(hello->solution->challenge.len, SW_PROOF_CHALLENGE_BYTES);
	sw_proof_input(input, hello->solution->challenge.data, hello->solution->number);
	crypto_hash_sha256(hash, input, sizeof(input));
	assert_true(sw_proof_good(hash, 12));
	sodium_bin2hex(hex, sizeof(hex), hash, sizeof(hash));
	snprintf(text, sizeof(text), "the number %llu gives `%s`.",
		(unsigned long long)hello->solution->number, hex);
	assert_non_null(strstr(page, text));
	sw__hello__free_unpacked(hello, NULL);
}

static size_t ticket_row(const char *start, uint8_t *bytes, size_t bytes_max)
{
	const char *row = strstr(page, start);

	assert_non_null(row);
	return from_hex(strchr(row, '`') + 1, bytes, bytes_max);
}

static void the_example_ticket_is_good(void **state)
{
	uint8_t key[32], seed[32], pair[64], signature[64], text[256] = "stormweir-ticket-1";
	uint8_t body[128], whole[256];
	size_t body_bytes, whole_bytes;
	Sw__SignedTicket *ticket;
	Sw__Ticket *inside;

	(void)state;
	assert_int_equal(ticket_row("\n| public key |", key, sizeof(key)), 32);
	body_bytes = ticket_row("\n| body: realm 1", body, sizeof(body));
	assert_int_equal(ticket_row("\n| signature | `", signature, sizeof(signature)), 64);
	whole_bytes = ticket_row("\n| SignedTicket, key 1", whole, sizeof(whole));

	for (unsigned i = 0; i < sizeof(seed); i++)
		seed[i] = (uint8_t)i;
	crypto_sign_seed_keypair(text + 64, pair, seed);
	assert_memory_equal(text + 64, key, sizeof(key));
	memcpy(text + 18, body, body_bytes);
	assert_int_equal(crypto_sign_verify_detached(signature, text, 18 + body_bytes, key), 0);

	ticket = sw__signed_ticket__unpack(NULL, whole_bytes, whole);
	assert_non_null(ticket);
	assert_int_equal(ticket->key_id, 1);
	assert_int_equal(ticket->body.len, body_bytes);
	assert_memory_equal(ticket->body.data, body, body_bytes);
	assert_memory_equal(ticket->signature.data, signature, 64);
	sw__signed_ticket__free_unpacked(ticket, NULL);
	inside = sw__ticket__unpack(NULL, body_bytes, body);
	assert_non_null(inside);
	assert_int_equal(inside->character_id, 42);
	assert_string_equal(inside->character_name, "Ada");
	assert_int_equal(inside->expires_unix_s, 1700000300);
	assert_int_equal(inside->nonce.len, 16);
	sw__ticket__free_unpacked(inside, NULL);
}

int main(int argc, char **argv)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test(message_types_agree),
		cmocka_unit_test(reasons_agree),
		cmocka_unit_test(node_states_agree),
		cmocka_unit_test(fields_agree),
		cmocka_unit_test(enums_agree),
		cmocka_unit_test(movement_examples_agree),
		cmocka_unit_test(walls_examples_agree),
		cmocka_unit_test(example_packets_decode),
		cmocka_unit_test(the_example_work_is_done),
		cmocka_unit_test(the_example_ticket_is_good),
	};
	FILE *file = argc == 2 ? fopen(argv[1], "r") : NULL;

	if (!file || sodium_init() < 0) {
		fprintf(stderr, "usage: %s docs/protocol.md\n", argv[0]);
		return 2;
	}
	page[fread(page, 1, sizeof(page) - 1, file)] = '\0';
	fclose(file);
	return cmocka_run_group_tests(tests, NULL, NULL);
}
