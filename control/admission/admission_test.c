/* Proves the way from a handshake to a map step by step: what each step sends, what each refusal is
 * called, that an end at any step leaves nothing behind, and that late and repeated messages do no
 * harm. */
#include <errno.h>
#include <string.h>

#include "control/admission/admission_testing.h"
#include "proto/client.pb-c.h"

static void test_way_in(void **state)
{
	struct msg_character_load load;
	struct msg_player_join join;
	Sw__Admitted *admitted;
	struct sent *entry;
	uint64_t session;

	(void)state;
	begin(10);
	session = bring(peer_of(3), 8, 77, AT_LOADING);
	entry = last('w', MSG_CHARACTER_LOAD);
	memcpy(&load, msg_payload(entry->message), sizeof(load));
	assert_int_equal(load.session, session);
	assert_int_equal(load.account_id, 8);
	assert_int_equal(load.character_id, 77);
	assert_string_equal(load.name, "name77");
	loaded_as(session, MSG_LOAD_OK, "caves");

	entry = last('d', MSG_PEER_SEND);
	assert_int_equal(msg_payload(entry->message)[0], SW_MSG_ADMITTED);
	admitted = sw__admitted__unpack(
		NULL, entry->message[0].payload_bytes - 1, msg_payload(entry->message) + 1);
	assert_string_equal(admitted->map, "caves");
	assert_string_equal(admitted->node, "node-1");
	sw__admitted__free_unpacked(admitted, NULL);

	entry = last('s', MSG_PLAYER_JOIN);
	assert_int_equal(entry->index, 1);
	assert_int_equal(entry->message[0].peer, peer_of(3));
	memcpy(&join, msg_payload(entry->message), sizeof(join));
	assert_int_equal(join.session, session);
	assert_int_equal(join.epoch, 5);
	assert_int_equal(join.x_mm, 7);
	assert_int_equal(join.payload_bytes_max, 1300);
	assert_string_equal(join.map, "caves");
	assert_string_equal(join.name, "name77");

	shard_says(0, MSG_PLAYER_JOINED, session, 1); /* not the shard that was asked */
	assert_int_equal(counted(ADM_C_PLAYERS), 0);
	shard_says(1, MSG_PLAYER_JOINED, session, 1);
	assert_int_equal(counted(ADM_C_PLAYERS), 1);
	assert_int_equal(how_many('a', 0), 1);
	gone(peer_of(3));
	assert_int_equal(how_many('s', MSG_PLAYER_REMOVE), 1);
	assert_int_equal(how_many('p', 0), 1);
	shard_says(1, MSG_PLAYER_LEFT, session, 0);
	assert_int_equal(how_many('r', 0), 0);
	finish();
}

static void test_map_choice(void **state)
{
	static const struct {
		const char *saved, *expected;
		uint32_t shard, has_position;
	} rows[] = {
		{"", "meadow", 0, 0},
		{"meadow", "meadow", 0, 1},
		{"caves", "caves", 1, 1},
		{"gone", "meadow", 0, 0},
		{"elsewhere", "meadow", 0, 0},
	};

	(void)state;
	begin(10);
	for (size_t i = 0; i < sizeof(rows) / sizeof(rows[0]); i++) {
		uint64_t session = bring(peer_of((uint32_t)i + 1), 1, i + 1, AT_LOADING);
		struct msg_player_join join;

		loaded_as(session, MSG_LOAD_OK, rows[i].saved);
		memcpy(&join, msg_payload(last('s', MSG_PLAYER_JOIN)->message), sizeof(join));
		assert_string_equal(join.map, rows[i].expected);
		assert_int_equal(join.has_position, rows[i].has_position);
		assert_int_equal(last('s', MSG_PLAYER_JOIN)->index, rows[i].shard);
		gone(peer_of((uint32_t)i + 1));
		shard_says(rows[i].shard, MSG_PLAYER_LEFT, session, 0);
	}
	strcpy(config.admission.first_map, "gone");
	loaded_as(bring(peer_of(9), 1, 9, AT_LOADING), MSG_LOAD_OK, "");
	expect_refused(peer_of(9), SW_REASON_MAP_UNAVAILABLE, true);
	gone(peer_of(9));
	finish();
}

static void test_bad_tickets(void **state)
{
	static const struct {
		uint32_t version, realm;
		uint64_t expires;
		const char *name;
		enum adm_counter counter;
		enum sw_disconnect_reason reason;
	} rows[] = {
		{SW_PROTOCOL_VERSION + 1, 1, WALL, "a", ADM_C_REFUSED_VERSION,
			SW_REASON_WRONG_VERSION},
		{0, 1, WALL, "a", ADM_C_REFUSED_VERSION, SW_REASON_WRONG_VERSION},
		{SW_PROTOCOL_VERSION, 2, WALL, "a", ADM_C_TICKET_REALM,
			SW_REASON_TICKET_WRONG_REALM},
		{SW_PROTOCOL_VERSION, 1, WALL - 60, "a", ADM_C_TICKET_EXPIRED,
			SW_REASON_TICKET_EXPIRED},
		{SW_PROTOCOL_VERSION, 1, WALL, "", ADM_C_TICKET_NAME, SW_REASON_TICKET_MALFORMED},
	};

	(void)state;
	begin(10);
	for (size_t i = 0; i < sizeof(rows) / sizeof(rows[0]); i++) {
		uint64_t peer = peer_of((uint32_t)i + 1);
		struct ticket ticket = ticket_for(1, 1);

		ticket.realm_id = rows[i].realm;
		ticket.issued_unix_s = WALL - 100;
		ticket.expires_unix_s = rows[i].expires;
		strcpy(ticket.name, rows[i].name);
		connected(peer);
		assert_int_equal(counted(rows[i].counter), i == 1);
		hello_as(peer, rows[i].version, &ticket);
		expect_refused(peer, rows[i].reason, false);
		assert_int_equal(counted(rows[i].counter), i == 1 ? 2 : 1);
		hello(peer, 1, 1); /* too late */
		assert_int_equal(how_many('c', 0), 0);
		gone(peer);
		gone(peer);
	}
	finish();
}

/* Redis away, ticket used, no answer: never let in unchecked. */
static void test_claims(void **state)
{
	static const struct {
		int rc;
		enum adm_claim claim;
		enum adm_counter counter;
		uint32_t reason;
		bool retry;
	} rows[] = {
		{-107, 0, ADM_C_REFUSED_REDIS_AWAY, SW_REASON_TRY_LATER, true},
		{0, ADM_CLAIM_USED, ADM_C_REFUSED_USED, SW_REASON_TICKET_USED, false},
		{0, ADM_CLAIM_UNKNOWN, ADM_C_REFUSED_CLAIM_UNKNOWN, SW_REASON_TRY_LATER, false},
	};

	(void)state;
	for (size_t i = 0; i < sizeof(rows) / sizeof(rows[0]); i++) {
		begin(10);
		claim_rc = rows[i].rc;
		connected(peer_of(1));
		hello(peer_of(1), 1, 1);
		if (!claim_rc)
			claimed(last('c', 0)->session, rows[i].claim);
		expect_refused(peer_of(1), rows[i].reason, rows[i].retry);
		assert_int_equal(counted(rows[i].counter), 1);
		assert_int_equal(how_many('w', 0), 0);
		assert_int_equal(how_many('r', 0), 0);
		gone(peer_of(1));
		finish();
	}
}

static void test_world_and_shard_refuse(void **state)
{
	uint64_t session;

	(void)state;
	begin(10);
	loaded_as(bring(peer_of(1), 1, 1, AT_LOADING), MSG_LOAD_UNAVAILABLE, "");
	expect_refused(peer_of(1), SW_REASON_TRY_LATER, true);
	assert_int_equal(how_many('r', 0), 1); /* the ticket can be used again */
	loaded_as(bring(peer_of(2), 1, 2, AT_LOADING), MSG_LOAD_WRONG_ACCOUNT, "");
	expect_refused(peer_of(2), SW_REASON_WRONG_ACCOUNT, false);
	session = bring(peer_of(3), 1, 3, AT_JOINING);
	shard_says(0, MSG_PLAYER_REFUSED, session, SW_REASON_MAP_UNAVAILABLE);
	expect_refused(peer_of(3), SW_REASON_MAP_UNAVAILABLE, true);
	assert_int_equal(how_many('r', 0), 2);
	assert_int_equal(counted(ADM_C_PLACES), 0);
	for (uint32_t i = 1; i <= 3; i++)
		gone(peer_of(i));
	finish();
}

static void test_cap(void **state)
{
	uint64_t a;

	(void)state;
	begin(2);
	a = bring(peer_of(1), 1, 1, AT_IN);
	bring(peer_of(2), 1, 2, AT_LOADING); /* a login under way counts */
	bring(peer_of(3), 1, 3, AT_CLAIMING);
	assert_int_equal(counted(ADM_C_PLACES), 2); /* who waits does not */
	claimed(last('c', 0)->session, ADM_CLAIM_OURS);
	assert_int_equal(counted(ADM_C_QUEUED), 1);
	assert_false(newcomer.seat);
	assert_int_equal(newcomer.lane, GATE_LANE_NORMAL);
	assert_int_equal(newcomer.character_id, 3);
	assert_false(was_refused(peer_of(3)));

	/* A takeover needs no place of its own ... */
	bring(peer_of(4), 1, 1, AT_CLAIMING);
	adm_claimed(adm, last('c', 0)->session, ADM_CLAIM_OURS, now_ns);
	assert_true(newcomer.seat);
	assert_int_equal(newcomer.lane, GATE_LANE_RETURNING);
	assert_int_equal(counted(ADM_C_QUEUED), 2);
	/* ... unless the one it takes over has gone meanwhile, and its place too. */
	leave_all(peer_of(1), a);
	assert_int_equal(let_in(), 1); /* the first of them */
	assert_int_equal(counted(ADM_C_QUEUED), 1);
	assert_int_equal(counted(ADM_C_PLACES), 2);
	assert_int_equal(let_in(), 0);
	gone(peer_of(2));
	assert_int_equal(let_in(), 1);
	assert_int_equal(counted(ADM_C_QUEUED), 0);
	for (uint32_t i = 3; i <= 4; i++)
		gone(peer_of(i));

	/* Too many wait: the ticket can be shown again. */
	queue_rc = -28;
	bring(peer_of(5), 1, 5, AT_CLAIMING);
	claimed(last('c', 0)->session, ADM_CLAIM_OURS);
	expect_refused(peer_of(5), SW_REASON_SERVER_FULL, true);
	assert_int_equal(last('r', 0)->session, last('c', 0)->session);
	gone(peer_of(5));
	finish();
}

/* A client is given its place as a pass, once for each place, and what it shows of it reaches the gate:
 * of its own character alone, whole, and of this purpose. */
static void test_place_pass(void **state)
{
	const struct gate_standing at_5 = {.state = GATE_OPEN,
		.position = 5,
		.lane = GATE_LANE_RETURNING,
		.seq = 5,
		.epoch = 0xfedcba9876543210};
	struct gate_standing at_9 = at_5;
	uint64_t session;

	(void)state;
	begin(0);
	session = bring(peer_of(1), 1, 1, AT_LOADING);
	assert_int_equal(newcomer.seq, 0);
	for (int i = 0; i < 4; i++) {
		const struct msg *message;
		Sw__Queued *told;

		at_9.seq = 9;
		adm_tell(adm, session, i < 2 ? &at_5 : &at_9);
		message = last('d', MSG_PEER_SEND)->message;
		told = sw__queued__unpack(
			NULL, message->payload_bytes - 1, msg_payload(message) + 1);
		assert_int_equal(told->place.len > 0, i == 0 || i == 2);
		if (i == 0) {
			shown_place_bytes = (uint32_t)told->place.len;
			memcpy(shown_place, told->place.data, told->place.len);
		}
		sw__queued__free_unpacked(told, NULL);
	}
	gone(peer_of(1));
	/* Its own, as it was. */
	bring(peer_of(2), 1, 1, AT_LOADING);
	assert_int_equal(newcomer.seq, 5);
	assert_int_equal(newcomer.epoch, at_5.epoch);
	assert_int_equal(newcomer.place_lane, GATE_LANE_RETURNING);
	assert_int_equal(newcomer.lane, GATE_LANE_NORMAL);
	/* Another character's; another account's. */
	bring(peer_of(3), 1, 2, AT_LOADING);
	assert_int_equal(newcomer.seq, 0);
	gone(peer_of(2));
	bring(peer_of(4), 2, 1, AT_LOADING);
	assert_int_equal(newcomer.seq, 0);
	gone(peer_of(4));
	/* One byte is another: no place, and no harm. */
	shown_place[shown_place_bytes / 2] ^= 1;
	bring(peer_of(5), 1, 1, AT_LOADING);
	assert_int_equal(newcomer.seq, 0);
	assert_int_equal(counted(ADM_C_PASS(PASS_FAULT_FORGED)), 1);
	assert_false(was_refused(peer_of(5)));
	shown_place_bytes = 0;
	gone(peer_of(3));
	gone(peer_of(5));
	finish();
}

/* Who waits in the queue and ends there: its ticket is good again where it may come back, and the
 * gate hears whether its place is to be kept. */
static void test_queue_ends(void **state)
{
	const struct gate_standing standing = {.state = GATE_OPEN, .position = 7, .wait_ms = 900};
	struct adm_player player;
	Sw__Queued *told;
	uint64_t session;

	(void)state;
	for (int how = 0; how < 4; how++) {
		begin(0); /* no place for anybody */
		session = bring(peer_of(1), 1, 1, AT_LOADING);
		assert_int_equal(counted(ADM_C_QUEUED), 1);
		assert_int_equal(how_many('w', 0), 0);
		adm_tell(adm, session, &standing);
		told = sw__queued__unpack(NULL,
			last('d', MSG_PEER_SEND)->message[0].payload_bytes - 1,
			msg_payload(last('d', MSG_PEER_SEND)->message) + 1);
		assert_int_equal(told->state, SW__QUEUE_STATE__QUEUE_OPEN);
		assert_int_equal(told->position, 7);
		assert_int_equal(told->wait_ms, 900);
		sw__queued__free_unpacked(told, NULL);
		now_ns += 3600 * NS_PER_S; /* however long it takes */
		adm_tick(adm, now_ns);
		assert_false(was_refused(peer_of(1)));
		assert_true(adm_player(adm, "1", now_ns, &player));
		assert_string_equal(player.state, "queued");
		if (how == 1) {
			adm_stop(adm, now_ns);
			expect_refused(peer_of(1), SW_REASON_SERVER_STOPPING, true);
		} else if (how == 2) {
			assert_true(adm_kick(adm, session, now_ns));
			expect_refused(peer_of(1), SW_REASON_KICKED, false);
		} else if (how == 3) {
			adm_replaced(adm, session, now_ns);
			expect_refused(peer_of(1), SW_REASON_REPLACED, false);
		}
		if (how)
			assert_int_equal(last('u', 0)->index, how == 1);
		gone(peer_of(1));
		assert_int_equal(how_many('u', 0), 1);
		assert_int_equal(last('u', 0)->index, how <= 1);
		assert_int_equal(how_many('r', 0), how <= 1);
		/* Late words of the gate. */
		assert_false(adm_let_in(adm, session, now_ns));
		adm_replaced(adm, session, now_ns);
		adm_tell(adm, session, &standing);
		finish();
	}
}

/* The same character again, while its older session is at each step. */
static void test_takeover(void **state)
{
	(void)state;
	for (enum step step = AT_LOADING; step <= AT_IN; step++) {
		uint64_t old, new;
		uint32_t loads;

		begin(1);
		old = bring(peer_of(1), 1, 1, step);
		loads = how_many('w', MSG_CHARACTER_LOAD);
		new = bring(peer_of(2), 1, 1, AT_LOADING);
		if (step == AT_LOADING) {
			expect_refused(peer_of(1), SW_REASON_REPLACED, false);
		} else {
			struct msg_player_remove body;

			/* Not before the older one is saved. */
			assert_int_equal(how_many('w', MSG_CHARACTER_LOAD), loads);
			memcpy(&body, msg_payload(last('s', MSG_PLAYER_REMOVE)->message),
				sizeof(body));
			assert_int_equal(body.session, old);
			assert_int_equal(body.reason, SW_REASON_REPLACED);
			shard_says(0, MSG_PLAYER_JOINED, old, 1); /* may cross the remove */
			assert_int_equal(how_many('w', MSG_CHARACTER_LOAD), loads);
			shard_says(0, MSG_PLAYER_LEFT, old, 0);
			expect_refused(peer_of(1), SW_REASON_REPLACED, false);
		}
		assert_int_equal(how_many('w', MSG_CHARACTER_LOAD), loads + 1);
		loaded_as(old, MSG_LOAD_OK, "meadow"); /* late: of the older session */
		assert_int_equal(how_many('s', MSG_PLAYER_JOIN), step == AT_LOADING ? 0 : 1);
		loaded_as(new, MSG_LOAD_OK, "meadow");
		shard_says(0, MSG_PLAYER_LEFT, old, 0); /* twice */
		shard_says(0, MSG_PLAYER_JOINED, new, 2);
		assert_int_equal(counted(ADM_C_PLAYERS), 1);
		assert_int_equal(counted(ADM_C_PLACES), 1);
		gone(peer_of(1));
		leave_all(peer_of(2), new);
		finish();
	}
}

static void test_takeover_third(void **state)
{
	uint64_t a, c;

	(void)state;
	begin(1);
	a = bring(peer_of(1), 1, 1, AT_IN);
	bring(peer_of(2), 1, 1, AT_LOADING);
	c = bring(peer_of(3), 1, 1, AT_LOADING);
	expect_refused(peer_of(2), SW_REASON_REPLACED, false);
	/* Not the owner of the character: nobody is thrown out for it. */
	bring(peer_of(4), 2, 1, AT_CLAIMING);
	claimed(last('c', 0)->session, ADM_CLAIM_OURS);
	expect_refused(peer_of(4), SW_REASON_WRONG_ACCOUNT, false);
	gone(peer_of(1));
	assert_int_equal(how_many('w', MSG_CHARACTER_LOAD), 1);
	shard_says(0, MSG_PLAYER_LEFT, a, 0);
	assert_int_equal(how_many('w', MSG_CHARACTER_LOAD), 2);
	assert_int_equal(last('w', 0)->session, c);
	for (uint32_t i = 2; i <= 4; i++)
		gone(peer_of(i));
	finish();
}

static void test_takeover_wrong_account(void **state)
{
	uint64_t a, b;

	(void)state;
	begin(5);
	a = bring(peer_of(1), 1, 1, AT_IN);
	b = bring(peer_of(2), 2, 1, AT_CLAIMING);
	claimed(b, ADM_CLAIM_OURS);
	expect_refused(peer_of(2), SW_REASON_WRONG_ACCOUNT, false);
	assert_false(was_refused(peer_of(1)));
	assert_int_equal(how_many('s', MSG_PLAYER_REMOVE), 0);
	gone(peer_of(2));
	leave_all(peer_of(1), a);
	finish();
}

/* The shard's word that a player has left may overtake the dataplane's that its peer is gone. */
static void test_left_before_gone(void **state)
{
	uint64_t in;

	(void)state;
	for (enum step step = AT_JOINING; step <= AT_IN; step++) {
		uint64_t session;

		begin(3);
		session = bring(peer_of(1), 1, 1, step);
		shard_says(0, MSG_PLAYER_LEFT, session, 0);
		gone(peer_of(1));
		assert_int_equal(how_many('r', 0), 0); /* its ticket stays used */
		assert_int_equal(counted(ADM_C_SESSIONS), 0);
		finish();
	}
	begin(3); /* nor does a refusal for good give it back */
	in = bring(peer_of(1), 1, 1, AT_IN);
	bring(peer_of(2), 2, 1, AT_CLAIMING);
	claimed(last('c', 0)->session, ADM_CLAIM_OURS);
	expect_refused(peer_of(2), SW_REASON_WRONG_ACCOUNT, false);
	gone(peer_of(2));
	assert_int_equal(how_many('r', 0), 0);
	leave_all(peer_of(1), in);
	finish();
}

/* The peer goes at each step; each late answer that follows is dropped. */
static void test_gone_at_each_step(void **state)
{
	(void)state;
	for (enum step step = AT_CONNECTED; step <= AT_IN; step++) {
		uint64_t session;
		bool shard_has_it = step >= AT_JOINING;

		begin(3);
		session = bring(peer_of(1), 1, 1, step);
		gone(peer_of(1));
		gone(peer_of(1));
		assert_int_equal(how_many('s', MSG_PLAYER_REMOVE), shard_has_it);
		assert_int_equal(how_many('r', 0), step == AT_LOADING);
		if (step == AT_CLAIMING)
			assert_false(adm_claimed(adm, session, ADM_CLAIM_OURS, now_ns));
		if (step >= AT_LOADING)
			loaded_as(session, MSG_LOAD_OK, "meadow");
		if (shard_has_it) {
			assert_int_equal(counted(ADM_C_SESSIONS), 1);
			shard_says(0, step == AT_JOINING ? MSG_PLAYER_REFUSED : MSG_PLAYER_LEFT,
				session, 0);
			shard_says(0, MSG_PLAYER_LEFT, session, 0);
		}
		assert_int_equal(how_many('a', 0), how_many('p', 0));
		assert_int_equal(how_many('d', MSG_PEER_DISCONNECT), 0);
		finish();
	}
}

static void test_bad_messages(void **state)
{
	static const uint8_t no_protobuf[] = {SW_MSG_HELLO, 0xff, 0xff}, unknown[] = {0x3f, 1},
			     server_only[] = {SW_MSG_ADMITTED};
	static uint8_t oversize[HELLO_BYTES_MAX + 1] = {SW_MSG_HELLO};
	static uint8_t many_fields[400] = {SW_MSG_HELLO};
	const struct {
		const uint8_t *data;
		uint32_t bytes;
		uint8_t channel;
		enum hello_fault fault;
	} rows[] = {
		{NULL, 0, 0, HELLO_FAULT_EMPTY},
		{no_protobuf, sizeof(no_protobuf), 0, HELLO_FAULT_MALFORMED},
		{many_fields, sizeof(many_fields), 0, HELLO_FAULT_MALFORMED},
		{unknown, sizeof(unknown), 0, HELLO_FAULT_TYPE},
		{server_only, sizeof(server_only), 0, HELLO_FAULT_TYPE},
		{oversize, sizeof(oversize), 0, HELLO_FAULT_OVERSIZE},
		{no_protobuf, sizeof(no_protobuf), 2, HELLO_FAULT_CHANNEL},
	};

	(void)state;
	for (size_t i = 1; i + 1 < sizeof(many_fields); i += 2)
		many_fields[i] = 15 << 3; /* unknown fields: more than the arena holds */
	for (size_t i = 0; i < sizeof(rows) / sizeof(rows[0]); i++) {
		begin(3);
		connected(peer_of(1));
		for (uint32_t n = 0; n < ADM_STRIKES_MAX; n++)
			dataplane(MSG_PEER_PACKET, peer_of(1), rows[i].data, rows[i].bytes,
				rows[i].channel);
		assert_int_equal(counted(ADM_C_MESSAGE_NONE + rows[i].fault), ADM_STRIKES_MAX);
		assert_false(was_refused(peer_of(1)));
		dataplane(
			MSG_PEER_PACKET, peer_of(1), rows[i].data, rows[i].bytes, rows[i].channel);
		expect_refused(peer_of(1), SW_REASON_MALFORMED, false);
		gone(peer_of(1));
		finish();
	}
	/* On a map already: saved first, then told. */
	begin(3);
	uint64_t session = bring(peer_of(1), 1, 1, AT_IN);
	for (uint32_t n = 0; n <= ADM_STRIKES_MAX; n++)
		hello(peer_of(1), 1, 1);
	assert_int_equal(counted(ADM_C_MESSAGE_UNEXPECTED), ADM_STRIKES_MAX + 1);
	assert_int_equal(how_many('s', MSG_PLAYER_REMOVE), 1);
	shard_says(0, MSG_PLAYER_LEFT, session, 0);
	expect_refused(peer_of(1), SW_REASON_MALFORMED, false);
	gone(peer_of(1));
	finish();
}

static void test_deadlines(void **state)
{
	uint64_t in, joining;

	(void)state;
	begin(5);
	bring(peer_of(1), 1, 1, AT_CONNECTED);
	bring(peer_of(2), 1, 2, AT_LOADING);
	joining = bring(peer_of(3), 1, 3, AT_JOINING);
	in = bring(peer_of(4), 1, 4, AT_IN);
	bring(peer_of(5), 1, 4, AT_LOADING); /* waits for it */
	now_ns += 4999 * NS_PER_MS;
	adm_tick(adm, now_ns);
	assert_false(was_refused(peer_of(1)));
	now_ns += NS_PER_MS;
	adm_tick(adm, now_ns);
	expect_refused(peer_of(1), SW_REASON_HELLO_TIMEOUT, false);
	/* It does not take its disconnect: cut off. */
	now_ns += ADM_ENDED_DEADLINE_MS * NS_PER_MS;
	adm_tick(adm, now_ns);
	assert_int_equal(counted(ADM_C_CUT_OFF), 1);
	gone(peer_of(1));
	now_ns += ADM_STEP_DEADLINE_MS * NS_PER_MS;
	adm_tick(adm, now_ns);
	expect_refused(peer_of(2), SW_REASON_TRY_LATER, true);
	expect_refused(peer_of(3), SW_REASON_TRY_LATER, false);
	expect_refused(peer_of(5), SW_REASON_TRY_LATER, true);
	gone(peer_of(2));
	gone(peer_of(5));
	leave_all(peer_of(3), joining);
	leave_all(peer_of(4), in);
	finish();
}

static void test_stop(void **state)
{
	uint64_t claiming, joining, in;

	(void)state;
	begin(9);
	bring(peer_of(1), 1, 1, AT_CONNECTED);
	claiming = bring(peer_of(2), 1, 2, AT_CLAIMING);
	bring(peer_of(3), 1, 3, AT_LOADING);
	joining = bring(peer_of(4), 1, 4, AT_JOINING);
	in = bring(peer_of(5), 1, 5, AT_IN);
	bring(peer_of(6), 1, 5, AT_LOADING); /* waits for it */
	adm_stop(adm, now_ns);
	connected(peer_of(7));
	for (uint32_t i = 1; i <= 7; i++)
		if (i != 4 && i != 5)
			expect_refused(peer_of(i), SW_REASON_SERVER_STOPPING, i != 7);
	assert_false(was_refused(peer_of(4)));
	assert_false(adm_claimed(adm, claiming, ADM_CLAIM_OURS, now_ns));
	shard_says(0, MSG_PLAYER_REFUSED, joining, SW_REASON_SERVER_STOPPING);
	expect_refused(peer_of(4), SW_REASON_SERVER_STOPPING, true);
	shard_says(0, MSG_PLAYER_LEFT, in, 0);
	assert_int_equal(how_many('w', 0), 3); /* nobody was sent on */
	for (uint32_t i = 1; i <= 7; i++)
		gone(peer_of(i));
	finish();
}

static void test_table_full(void **state)
{
	(void)state;
	begin(1000);
	for (uint32_t i = 0; i < 2 * 2 * 64; i++)
		connected(handle_make(0, 2, i));
	assert_int_equal(counted(ADM_C_REFUSED_TABLE_FULL), 0);
	connected(peer_of(1));
	expect_refused(peer_of(1), SW_REASON_SERVER_FULL, true);
	gone(peer_of(1));
	connected(handle_make(9, 1, 1)); /* of a worker that does not exist */
	connected(0);
	assert_int_equal(counted(ADM_C_REFUSED_TABLE_FULL), 2);
	for (uint32_t i = 0; i < 2 * 2 * 64; i++)
		gone(handle_make(0, 2, i));
	finish();
}

static void test_presence(void **state)
{
	struct adm_presence due[8];
	uint64_t sessions[3];

	(void)state;
	begin(10);
	for (uint32_t i = 0; i < 3; i++) {
		sessions[i] = bring(peer_of(i + 1), 1, i + 1, AT_IN);
		now_ns += NS_PER_S;
	}
	assert_int_equal(adm_presence_due(adm, now_ns, now_ns - NS_PER_S, due, 8), 2);
	assert_int_equal(due[0].character_id, 1);
	assert_int_equal(due[1].session, sessions[1]);
	assert_int_equal(due[1].generation, 5);
	assert_int_equal(adm_presence_due(adm, now_ns, now_ns - NS_PER_S, due, 8), 0);
	now_ns += NS_PER_S;
	assert_int_equal(adm_presence_due(adm, now_ns, now_ns, due, 2), 2);
	assert_int_equal(due[0].character_id, 3);
	assert_int_equal(adm_presence_due(adm, now_ns, now_ns, due, 8), 1);
	for (uint32_t i = 0; i < 3; i++)
		leave_all(peer_of(i + 1), sessions[i]);
	finish();
}

/* Another node has the character: it is asked again until it lets go, and forced when it does not;
 * who is wanted elsewhere ends, at any step, and lets its character go. */
static void test_elsewhere(void **state)
{
	uint64_t session;

	(void)state;
	begin(10);
	seek_auto = false;
	session = bring(peer_of(1), 1, 7, AT_CLAIMING);
	assert_true(claimed(session, ADM_CLAIM_OURS));
	assert_int_equal(how_many('k', 0), 1);
	assert_false(sought_in_any_case);
	for (uint64_t ms = 0; ms < ADM_SEEK_FORCE_MS; ms += ADM_SEEK_AGAIN_MS) {
		uint32_t before = how_many('k', 0);

		assert_true(adm_sought(adm, session, ADM_SOUGHT_HELD, now_ns));
		adm_tick(adm, now_ns);
		assert_int_equal(how_many('k', 0), before);
		now_ns += ADM_SEEK_AGAIN_MS * NS_PER_MS;
		adm_tick(adm, now_ns);
		adm_tick(adm, now_ns); /* an answer is due: not asked twice */
		assert_int_equal(how_many('k', 0), before + 1);
		assert_int_equal(sought_in_any_case, ms + ADM_SEEK_AGAIN_MS >= ADM_SEEK_FORCE_MS);
	}
	assert_null(last('w', MSG_CHARACTER_LOAD));
	assert_true(adm_sought(adm, session, ADM_SOUGHT_OURS, now_ns));
	assert_non_null(last('w', MSG_CHARACTER_LOAD));
	assert_int_equal(counted(ADM_C_ELSEWHERE), 1);
	assert_int_equal(counted(ADM_C_FORCED), 1);
	assert_false(adm_sought(adm, session, ADM_SOUGHT_OURS, now_ns)); /* late */

	/* It is wanted elsewhere while it loads: told so, and nothing was played. */
	assert_false(adm_oust(adm, session, 8, now_ns));
	assert_true(adm_oust(adm, session, 7, now_ns));
	expect_refused(peer_of(1), SW_REASON_REPLACED, false);
	assert_int_equal(last('v', 0)->session, session);
	assert_false(vacated_played);
	gone(peer_of(1));
	assert_false(adm_oust(adm, session, 7, now_ns));

	/* While it plays: saved first, then let go. */
	seek_auto = true;
	session = bring(peer_of(2), 1, 7, AT_IN);
	assert_true(adm_oust(adm, session, 7, now_ns));
	assert_true(adm_oust(adm, session, 7, now_ns)); /* said twice */
	assert_int_equal(how_many('s', MSG_PLAYER_REMOVE), 1);
	assert_int_equal(how_many('v', 0), 1);
	shard_says(0, MSG_PLAYER_LEFT, session, 0);
	assert_int_equal(how_many('v', 0), 2);
	assert_true(vacated_played);
	gone(peer_of(2));
	assert_int_equal(counted(ADM_C_OUSTED), 2);

	/* Redis is lost, before the question and before its answer. */
	seek_rc = -ENOTCONN;
	bring(peer_of(3), 1, 7, AT_LOADING);
	expect_refused(peer_of(3), SW_REASON_TRY_LATER, false);
	gone(peer_of(3));
	seek_rc = 0;
	seek_auto = false;
	session = bring(peer_of(4), 1, 7, AT_LOADING);
	assert_true(adm_sought(adm, session, ADM_SOUGHT_UNKNOWN, now_ns));
	expect_refused(peer_of(4), SW_REASON_TRY_LATER, false);
	gone(peer_of(4));
	/* The client goes while the question is open: the answer finds nobody. */
	session = bring(peer_of(5), 1, 7, AT_LOADING);
	gone(peer_of(5));
	assert_false(adm_sought(adm, session, ADM_SOUGHT_OURS, now_ns));
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
		cmocka_unit_test(test_way_in),
		cmocka_unit_test(test_map_choice),
		cmocka_unit_test(test_bad_tickets),
		cmocka_unit_test(test_claims),
		cmocka_unit_test(test_world_and_shard_refuse),
		cmocka_unit_test(test_cap),
		cmocka_unit_test(test_queue_ends),
		cmocka_unit_test(test_place_pass),
		cmocka_unit_test(test_takeover),
		cmocka_unit_test(test_takeover_third),
		cmocka_unit_test(test_takeover_wrong_account),
		cmocka_unit_test(test_left_before_gone),
		cmocka_unit_test(test_gone_at_each_step),
		cmocka_unit_test(test_bad_messages),
		cmocka_unit_test(test_deadlines),
		cmocka_unit_test(test_stop),
		cmocka_unit_test(test_table_full),
		cmocka_unit_test(test_presence),
		cmocka_unit_test(test_elsewhere),
	};

	return cmocka_run_group_tests(tests, setup, NULL);
}
