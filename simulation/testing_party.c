/* What control says of parties to a shard under test, and what its clients ask. */
#include "simulation/testing.h"

#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdio.h>
#include <string.h>

#include <cmocka.h>

static uint64_t character_of(uint32_t client)
{
	return 5000 + client;
}

void test_party_say(struct test_shard *t, const struct test_party *said)
{
	static struct msg_buffer buffer;
	struct msg_party_state head = {.party_id = said->party,
		.version = said->version,
		.leader_id = said->member_count ? character_of(said->leader) : 0,
		.change = said->change,
		.member_count = said->member_count,
		.target_count = said->target_count};
	uint8_t *at = msg_begin(buffer.slot, MSG_PARTY_STATE, HANDLE_NONE,
		(uint32_t)(sizeof(head) + said->member_count * sizeof(struct msg_party_member) +
			   said->target_count * sizeof(struct msg_party_target)));

	memcpy(at, &head, sizeof(head));
	at += sizeof(head);
	for (uint32_t i = 0; i < said->member_count; i++) {
		struct msg_party_member m = {.character_id = character_of(said->members[i]),
			.online = 1,
			.map = "meadow"};

		snprintf(m.name, sizeof(m.name), "c%u", said->members[i]);
		memcpy(at, &m, sizeof(m));
		at += sizeof(m);
	}
	for (uint32_t i = 0; i < said->target_count; i++) {
		uint32_t c = said->targets[i];
		struct msg_party_target target = {
			test_peer(c), t->clients[c].session, character_of(c)};

		memcpy(at, &target, sizeof(target));
		at += sizeof(target);
	}
	assert_true(msg_ring_push(t->links.from_control, buffer.slot));
}

void test_party_request(struct test_shard *t, uint32_t client, uint64_t number, uint32_t act,
	uint64_t character_id, const char *name)
{
	Sw__PartyRequest words = SW__PARTY_REQUEST__INIT;
	uint8_t bytes[256] = {SW_MSG_PARTY_REQUEST};

	words.request = number;
	words.stay = t->clients[client].stay;
	words.act = (Sw__PartyAct)act;
	words.character_id = character_id;
	words.name = (char *)name;
	test_packet(t, client, SW_CHANNEL_SESSION, bytes,
		1 + (uint32_t)sw__party_request__pack(&words, bytes + 1));
}
