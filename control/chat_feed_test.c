/* Proves: of each session chat hears, before its shard, who it is and where, its party as that
 * changes, and its end once; each message has a greater version; what is said of one that has
 * ended, or of an older session in its place, is not said. */
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>
#include <string.h>

#include <cmocka.h>

#include "common/handle.h"
#include "common/party.h"
#include "control/chat_feed.h"

static struct msg_chat_player last;
static uint32_t said;

static void hear(void *ctx, const struct msg *message)
{
	uint64_t before = last.version;

	(void)ctx;
	assert_int_equal(message->type, MSG_CHAT_PLAYER);
	assert_int_equal(message->payload_bytes, sizeof(last));
	memcpy(&last, msg_payload(message), sizeof(last));
	assert_int_equal(message->subject, last.session);
	assert_int_equal(message->peer, last.peer);
	assert_true(last.version > before);
	said++;
}

static void join(struct chat_feed *feed, uint64_t session, uint64_t character, uint32_t instance)
{
	struct msg_player_join body = {.session = session,
		.character_id = character,
		.epoch = 4,
		.instance = instance,
		.map = "meadow",
		.name = "Ada"};
	struct msg_buffer buffer;

	memcpy(msg_begin(buffer.slot, MSG_PLAYER_JOIN, 77, sizeof(body)), &body, sizeof(body));
	chat_feed_to_shard(feed, buffer.slot);
}

static void party(struct chat_feed *feed, uint64_t party_id, uint32_t members, uint64_t session,
	uint64_t character)
{
	struct msg_party_state state = {
		.party_id = party_id, .member_count = members, .target_count = 1};
	struct msg_party_member member[2] = {{.character_id = 11}, {.character_id = 12}};
	struct msg_party_target target = {.session = session, .character_id = character};
	size_t bytes = members * sizeof(member[0]);
	struct msg_buffer buffer;
	uint8_t *at = msg_begin(buffer.slot, MSG_PARTY_STATE, HANDLE_NONE,
		(uint32_t)(sizeof(state) + bytes + sizeof(target)));

	memcpy(at, &state, sizeof(state));
	memcpy(at + sizeof(state), member, bytes);
	memcpy(at + sizeof(state) + bytes, &target, sizeof(target));
	chat_feed_to_shard(feed, buffer.slot);
}

static void a_stay(void **state)
{
	const uint64_t one = handle_make(0, 1, 3), two = handle_make(0, 2, 3);
	struct chat_feed *feed = chat_feed_new(8, hear, NULL);

	(void)state;
	join(feed, one, 11, 5);
	assert_int_equal(said, 1);
	assert_int_equal(last.character_id, 11);
	assert_int_equal(last.generation, 4);
	assert_int_equal(last.peer, 77);
	assert_int_equal(last.instance, 5);
	assert_int_equal(last.here, 1);
	assert_string_equal(last.name, "Ada");
	assert_string_equal(last.map, "meadow");
	party(feed, 900, 2, one, 11);
	assert_int_equal(said, 2);
	assert_int_equal(last.party_id, 900);
	party(feed, 900, 2, one, 11); /* nothing new */
	party(feed, 901, 2, two, 11); /* nobody yet */
	assert_int_equal(said, 2);
	join(feed, one, 11, 6); /* on to another map, with the party */
	assert_int_equal(last.instance, 6);
	assert_int_equal(last.party_id, 900);
	party(feed, 900, 2, one, 13); /* it is not among the members */
	assert_int_equal(last.party_id, 0);
	assert_int_equal(said, 4);
	chat_feed_again(feed, one);
	assert_int_equal(said, 5);
	chat_feed_gone(feed, one);
	assert_int_equal(last.here, 0);
	chat_feed_gone(feed, one);
	chat_feed_again(feed, one);
	party(feed, 900, 2, one, 11);
	assert_int_equal(said, 6);
	join(feed, two, 12, 5); /* the place is another session's */
	chat_feed_gone(feed, one);
	assert_int_equal(said, 7);
	assert_int_equal(last.session, two);
	assert_int_equal(last.party_id, 0);
	join(feed, handle_make(0, 1, 8), 12, 5); /* no such place */
	assert_int_equal(said, 7);
	chat_feed_free(feed);
}

int main(void)
{
	const struct CMUnitTest tests[] = {cmocka_unit_test(a_stay)};

	return cmocka_run_group_tests(tests, NULL, NULL);
}
