/* Proves where admission sends players: the saved map's instance, the one that was left, a warm
 * one, one that has to be waited for (and for how long); what becomes of a transfer whose map is
 * full, unknown or refuses; that a room is come back into only while it takes its players back;
 * that a transferred player keeps its session, presence and stay count; that where everybody
 * refuses it ends after a few tries, and nobody gets another's place; and that a full node gives
 * every place back. */
#include <string.h>

#include "control/admission/admission_testing.h"

/* meadow on shard 0, caves on shard 1 as admission_testing has them, and a room. */
static void begin_with_room(uint32_t warm, uint32_t rooms_max)
{
	begin(50);
	strcpy(config.maps[2].name, "arena");
	config.maps[2].kind = CONFIG_MAP_ROOM;
	config.maps[2].shard = 1;
	config.maps[2].warm = warm;
	config.maps[2].instances_max = rooms_max;
	config.maps[2].players_max = 2;
	begin_again();
}

static struct msg_player_join last_join(void)
{
	struct sent *entry = last('s', MSG_PLAYER_JOIN);
	struct msg_player_join join;

	assert_non_null(entry);
	memcpy(&join, msg_payload(entry->message), sizeof(join));
	return join;
}

static uint32_t shard_of_last_join(void)
{
	return last('s', MSG_PLAYER_JOIN)->index;
}

static void transfer(uint32_t shard, uint64_t session, const char *map, const char *back)
{
	struct msg_player_join was = last_join();
	struct msg_player_transfer body = {.session = session,
		.character_id = was.character_id,
		.instance = was.instance,
		.input_sequence = 77,
		.x_mm = 1,
		.y_mm = 2,
		.has_position = 1,
		.return_x_mm = 3,
		.return_y_mm = 4,
		.live = {.at_ns = 1, .missing = 30},
		.return_live = {.at_ns = 2, .missing = 40},
		.name = "Ada"};
	struct msg message[4];

	strcpy(body.map, map);
	strcpy(body.return_map, back);
	memcpy(msg_begin(message, MSG_PLAYER_TRANSFER, 0, sizeof(body)), &body, sizeof(body));
	adm_from_shard(adm, shard, message, now_ns);
}

static void left_room(uint64_t session, uint32_t shard, uint32_t instance, uint64_t character)
{
	const struct msg_player_left body = {.session = session,
		.character_id = character,
		.instance = instance,
		.x_mm = 9,
		.y_mm = 8,
		.live = {.at_ns = 3, .missing = 50},
		.return_live = {.at_ns = 4, .missing = 60}};
	struct msg message[3];

	memcpy(msg_begin(message, MSG_PLAYER_LEFT, 0, sizeof(body)), &body, sizeof(body));
	adm_from_shard(adm, shard, message, now_ns);
}

static void instance_says(uint32_t shard, uint32_t id, enum instance_state state)
{
	const struct msg_instance body = {id, state};
	struct msg message;

	memcpy(msg_begin(&message, MSG_INSTANCE_STATE, 0, sizeof(body)), &body, sizeof(body));
	adm_from_shard(adm, shard, &message, now_ns);
}

static void a_transfer_keeps_the_session(void **state)
{
	uint64_t peer = peer_of(1), session;
	struct msg_player_join join;

	(void)state;
	begin_with_room(1, 2);
	session = bring(peer, 1, 10, AT_IN);
	assert_int_equal(how_many('a', 0), 1);
	transfer(0, session, "caves", "meadow");
	join = last_join();
	assert_int_equal(shard_of_last_join(), 1);
	assert_string_equal(join.map, "caves");
	assert_int_equal(join.session, session);
	assert_int_equal(join.character_id, 10);
	assert_int_equal(join.epoch, 5);
	assert_int_equal(join.stay, 1);
	assert_int_equal(join.input_sequence, 77);
	assert_int_equal(join.has_position, 1);
	assert_int_equal(join.x_mm, 1);
	assert_string_equal(join.return_map, "meadow");
	assert_string_equal(join.name, "Ada");
	assert_int_equal(join.live.missing, 30);
	assert_int_equal(join.return_live.missing, 40);
	shard_says(1, MSG_PLAYER_JOINED, session, 3);
	/* One presence for the whole session, one Admitted, one pass, and no disconnect. */
	assert_int_equal(how_many('a', 0), 1);
	assert_int_equal(how_many('p', 0), 0);
	assert_int_equal(how_many('d', MSG_PEER_SEND), 2);
	assert_int_equal(counted(ADM_C_ADMITTED), 1);
	assert_int_equal(counted(ADM_C_PASSES_GIVEN), 1);
	assert_false(was_refused(peer));
	/* The old shard's word is stale now. */
	shard_says(0, MSG_PLAYER_LEFT, session, 0);
	assert_int_equal(counted(ADM_C_STALE), 1);
	gone(peer);
	shard_says(1, MSG_PLAYER_LEFT, session, 0);
	assert_int_equal(how_many('p', 0), 1);
	finish();
}

static void a_transfer_that_fails_comes_back(void **state)
{
	/* Where to, what the shards answer before one takes it, where it ends. */
	static const struct {
		const char *to, *back;
		uint32_t refusals;
		const char *want;
		int32_t x_mm; /* -1: none */
		uint32_t why; /* that the player is told */
	} rows[] = {
		{"nowhere", "meadow", 0, "meadow", 3, SW_REASON_MAP_UNAVAILABLE},
		{"caves", "meadow", 1, "meadow", 3, SW_REASON_MAP_CLOSING},
		{"", "meadow", 0, "meadow", 1, 0},
		{"nowhere", "nowhere", 0, "meadow", -1, SW_REASON_MAP_UNAVAILABLE},
		{"nowhere", "", 0, "meadow", -1, SW_REASON_MAP_UNAVAILABLE},
		{"arena", "caves", 2, "caves", 3, SW_REASON_MAP_CLOSING},
	};

	(void)state;
	for (size_t i = 0; i < sizeof(rows) / sizeof(rows[0]); i++) {
		uint64_t peer = peer_of(1), session;
		struct msg_player_join join;

		begin_with_room(1, 2);
		session = bring(peer, 1, 10, AT_IN);
		transfer(0, session, rows[i].to, rows[i].back);
		builds_done(true);
		for (uint32_t n = 0; n < rows[i].refusals; n++) {
			shard_says(shard_of_last_join(), MSG_PLAYER_REFUSED, session,
				SW_REASON_MAP_CLOSING);
			builds_done(true);
			adm_tick(adm, now_ns);
		}
		join = last_join();
		if (strcmp(join.map, rows[i].want) || (rows[i].x_mm >= 0) != join.has_position ||
			(join.has_position && join.x_mm != rows[i].x_mm))
			fail_msg("row %zu: %s at %d", i, join.map, join.x_mm);
		assert_int_equal(join.back_reason, rows[i].why);
		/* Turned back, it is as it was there: a room's health is none of another map. */
		assert_int_equal(join.live.missing, rows[i].why ? 40 : 30);
		assert_int_equal(join.stay, 1);
		shard_says(shard_of_last_join(), MSG_PLAYER_JOINED, session, 3);
		assert_false(was_refused(peer));
		gone(peer);
		shard_says(shard_of_last_join(), MSG_PLAYER_LEFT, session, 0);
		finish();
	}
}

static void nobody_waits_for_ever(void **state)
{
	uint64_t peer = peer_of(1), session;

	(void)state;
	begin_with_room(0, 1);
	session = bring(peer, 1, 10, AT_IN);
	transfer(0, session, "arena", "meadow");
	assert_int_equal(how_many('s', MSG_PLAYER_JOIN), 1); /* it waits */
	now_ns += (ADM_PLACING_DEADLINE_MS - 1) * NS_PER_MS;
	adm_tick(adm, now_ns);
	assert_false(was_refused(peer));
	now_ns += NS_PER_MS;
	adm_tick(adm, now_ns);
	assert_int_equal(counted(ADM_C_REFUSED_NO_INSTANCE), 1);
	/* Its ticket was played with: it is not to be tried again. */
	expect_refused(peer, SW_REASON_MAP_UNAVAILABLE, false);
	assert_int_equal(how_many('r', 0), 0);
	gone(peer);
	builds_done(true);
	finish();
}

/* Also while it is on no map, its pass does not bring it back. */
static void whoever_is_kicked_on_the_way_has_no_pass(void **state)
{
	uint64_t peer = peer_of(1), session;

	(void)state;
	begin_with_room(0, 1);
	session = bring(peer, 1, 10, AT_IN);
	transfer(0, session, "arena", "meadow");
	assert_int_equal(how_many('x', 0), 0);
	assert_true(adm_kick(adm, session, now_ns));
	assert_int_equal(how_many('x', 0), 1);
	expect_refused(peer, SW_REASON_KICKED, false);
	gone(peer);
	builds_done(true);
	finish();
}

static void whoever_waits_gets_what_is_built(void **state)
{
	uint64_t a, b, c;

	(void)state;
	begin_with_room(0, 2);
	a = bring(peer_of(1), 1, 10, AT_IN);
	transfer(0, a, "arena", "meadow");
	b = bring(peer_of(2), 1, 11, AT_IN);
	transfer(0, b, "arena", "meadow");
	c = bring(peer_of(3), 1, 12, AT_IN);
	transfer(0, c, "arena", "meadow");
	builds_done(true);
	adm_tick(adm, now_ns);
	builds_done(true); /* two fit the first room, the third had another one ordered */
	adm_tick(adm, now_ns);
	assert_int_equal(how_many('s', MSG_PLAYER_JOIN), 6);
	assert_int_equal(last_join().character_id, 12);
	for (uint32_t i = 1; i <= 3; i++)
		gone(peer_of(i));
	shard_says(1, MSG_PLAYER_LEFT, a, 0);
	shard_says(1, MSG_PLAYER_LEFT, b, 0);
	shard_says(1, MSG_PLAYER_LEFT, c, 0);
	finish();
}

static void a_room_takes_back_its_own(void **state)
{
	/* What has become of the room, and where the player comes to. */
	static const struct {
		enum instance_state state;
		const char *map;
		uint16_t returning;
	} rows[] = {
		{INSTANCE_OPEN, "arena", 1},
		{INSTANCE_LOCKED, "arena", 1},
		{INSTANCE_CLOSING, "meadow", 0},
		{INSTANCE_ENDED, "meadow", 0},
	};

	(void)state;
	for (size_t i = 0; i < sizeof(rows) / sizeof(rows[0]); i++) {
		uint64_t session;
		uint32_t room;
		struct msg_player_join join;

		begin_with_room(1, 3);
		session = bring(peer_of(1), 1, 10, AT_IN);
		transfer(0, session, "arena", "meadow");
		room = last_join().instance;
		assert_int_equal(last_join().returning, 0);
		shard_says(1, MSG_PLAYER_JOINED, session, 3);
		gone(peer_of(1));
		left_room(session, 1, room, 10);
		if (rows[i].state != INSTANCE_OPEN)
			instance_says(1, room, rows[i].state);
		builds_done(true);
		session = bring(peer_of(2), 1, 10, AT_JOINING); /* saved on meadow */
		join = last_join();
		if (strcmp(join.map, rows[i].map) || join.returning != rows[i].returning)
			fail_msg("row %zu: %s", i, join.map);
		assert_int_equal(join.stay, 0);
		if (rows[i].returning) {
			assert_int_equal(join.instance, room);
			assert_int_equal(join.x_mm, 9);
			assert_string_equal(join.return_map, "meadow");
			assert_int_equal(join.return_x_mm, 7);
			assert_int_equal(join.live.missing, 50);
			assert_int_equal(join.return_live.missing, 60);
			/* It says no after all: out, to where it came from; no other room. */
			shard_says(1, MSG_PLAYER_REFUSED, session, SW_REASON_MAP_CLOSING);
			join = last_join();
			assert_string_equal(join.map, "meadow");
			assert_int_equal(join.live.missing, 60);
			assert_int_equal(join.x_mm, 7);
		}
		gone(peer_of(2));
		shard_says(shard_of_last_join(), MSG_PLAYER_LEFT, session, 0);
		finish();
	}
}

static void the_same_copy_of_a_map_is_preferred(void **state)
{
	uint64_t session, other;
	uint32_t second;

	(void)state;
	begin(50);
	config.maps[0].instances = 2;
	config.maps[0].players_max = 2;
	begin_again();
	bring(peer_of(1), 1, 10, AT_IN);
	bring(peer_of(2), 1, 11, AT_IN);
	session = bring(peer_of(3), 1, 12, AT_IN); /* the first is full */
	second = last_join().instance;
	gone(peer_of(3));
	left_room(session, 0, second, 12);
	other = session_of(peer_of(2));
	gone(peer_of(2)); /* now the first has room, and is the fuller one */
	shard_says(0, MSG_PLAYER_LEFT, other, 0);
	bring(peer_of(4), 1, 12, AT_JOINING);
	assert_int_equal(last_join().instance, second);
	assert_int_equal(last_join().live.missing, 60); /* as it left */
	bring(peer_of(5), 1, 13, AT_JOINING);
	assert_int_not_equal(last_join().instance, second);
	for (uint32_t i = 1; i <= 5; i++) {
		session = session_of(peer_of(i));
		if (!session)
			continue;
		gone(peer_of(i));
		shard_says(0, MSG_PLAYER_LEFT, session, 0);
	}
	finish();
}

static void few_tries(void **state)
{
	uint64_t session;

	(void)state;
	begin(50);
	config.maps[0].instances = 6;
	begin_again();
	session = bring(peer_of(1), 1, 10, AT_JOINING);
	for (uint32_t tries = 1; !was_refused(peer_of(1)); tries++) {
		assert_int_equal(how_many('s', MSG_PLAYER_JOIN), tries);
		shard_says(0, MSG_PLAYER_REFUSED, session, SW_REASON_MAP_CLOSING);
	}
	assert_int_equal(how_many('s', MSG_PLAYER_JOIN), 4); /* of 6 that there are */
	gone(peer_of(1));
	finish();
}

/* So many places are remembered as there can be sessions; a newer one takes the oldest's memory,
 * and with it must not go the oldest's name. */
static void who_is_forgotten_gets_no_other_place(void **state)
{
	enum { REMEMBERED = 2 * 2 * 64 };
	uint64_t session;

	(void)state;
	begin_with_room(1, 3);
	for (uint32_t i = 0; i < REMEMBERED; i++) {
		session = bring(peer_of(1 + i % 60), 1, 1000 + i, AT_IN);
		gone(peer_of(1 + i % 60));
		left_room(session, 0, last_join().instance, 1000 + i);
		sent_count = 0;
	}
	session = bring(peer_of(61), 1, 10, AT_IN); /* in the room, in the first one's place */
	transfer(0, session, "arena", "meadow");
	shard_says(1, MSG_PLAYER_JOINED, session, 3);
	gone(peer_of(61));
	left_room(session, 1, last_join().instance, 10);
	session = bring(peer_of(62), 1, 1000, AT_JOINING);
	assert_string_equal(last_join().map, "meadow");
	assert_int_equal(last_join().returning, 0);
	gone(peer_of(62));
	shard_says(0, MSG_PLAYER_LEFT, session, 0);
	builds_done(true);
	finish();
}

static void ends_in_the_middle(void **state)
{
	uint64_t session;

	(void)state;
	/* The peer goes while it waits for a room; nothing of it is left. */
	begin_with_room(0, 1);
	session = bring(peer_of(1), 1, 10, AT_IN);
	transfer(0, session, "arena", "meadow");
	gone(peer_of(1));
	assert_int_equal(how_many('p', 0), 1);
	assert_int_equal(how_many('r', 0), 0);
	builds_done(true);
	finish();
	/* A newer login of the character while it waits: that one goes on. */
	begin_with_room(0, 1);
	session = bring(peer_of(1), 1, 10, AT_IN);
	transfer(0, session, "arena", "meadow");
	bring(peer_of(2), 1, 10, AT_JOINING);
	expect_refused(peer_of(1), SW_REASON_REPLACED, false);
	gone(peer_of(1));
	session = last_join().session;
	gone(peer_of(2));
	shard_says(0, MSG_PLAYER_LEFT, session, 0);
	builds_done(true);
	finish();
	/* A removal crosses the transfer: it was saved, and that is that. */
	begin_with_room(1, 2);
	session = bring(peer_of(1), 1, 10, AT_IN);
	gone(peer_of(1));
	assert_int_equal(how_many('s', MSG_PLAYER_REMOVE), 1);
	transfer(0, session, "caves", "meadow");
	assert_int_equal(how_many('s', MSG_PLAYER_JOIN), 1);
	finish();
	/* The node stops: nobody is sent on. */
	begin_with_room(1, 2);
	session = bring(peer_of(1), 1, 10, AT_IN);
	adm_stop(adm, now_ns);
	transfer(0, session, "caves", "meadow");
	expect_refused(peer_of(1), SW_REASON_SERVER_STOPPING, false);
	gone(peer_of(1));
	finish();
}

static int setup(void **state)
{
	(void)state;
	assert_int_equal(ticket_init(), 0);
	ticket_key_new(&key, 1);
	return 0;
}

int main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test(a_transfer_keeps_the_session),
		cmocka_unit_test(a_transfer_that_fails_comes_back),
		cmocka_unit_test(nobody_waits_for_ever),
		cmocka_unit_test(whoever_is_kicked_on_the_way_has_no_pass),
		cmocka_unit_test(whoever_waits_gets_what_is_built),
		cmocka_unit_test(a_room_takes_back_its_own),
		cmocka_unit_test(the_same_copy_of_a_map_is_preferred),
		cmocka_unit_test(few_tries),
		cmocka_unit_test(who_is_forgotten_gets_no_other_place),
		cmocka_unit_test(ends_in_the_middle),
	};

	return cmocka_run_group_tests_name("place", tests, setup, NULL);
}
