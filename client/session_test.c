/* Proves, without a socket, that a session follows docs/protocol.md: what comes at its time is told
 * as events, what may not come is counted under its name and changes nothing, and reordering
 * between channels does no harm. */
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <cmocka.h>

#include "client/seen.h"

static char last_text[128]; /* of the last dialogue or refusal */
static uint32_t last_actor; /* that came or went */

static void look(const struct swc_event *event)
{
	if (event->type == SWC_EVENT_ENTER || event->type == SWC_EVENT_LEAVE)
		last_actor = event->actor->actor_id;
	if (event->type == SWC_EVENT_DIALOGUE)
		snprintf(last_text, sizeof(last_text), "%s", event->dialogue.text);
	if (event->type == SWC_EVENT_REFUSED)
		snprintf(last_text, sizeof(last_text), "%s", event->refused.text);
}

/* enter and leave: ids, 0 for none */
static void give_view(
	struct seen *seen, uint32_t tick, uint32_t sequence, uint32_t enter, uint32_t leave)
{
	Sw__ViewChange message = SW__VIEW_CHANGE__INIT;
	Sw__ActorEnter actor = SW__ACTOR_ENTER__INIT;
	Sw__EntityState state = SW__ENTITY_STATE__INIT;
	Sw__ActorEnter *actors[] = {&actor};
	uint32_t leaves[] = {leave};

	state.actor_id = enter;
	actor.state = &state;
	actor.kind = SW__ACTOR_KIND__PLAYER;
	actor.name = "someone";
	message.tick = tick;
	message.sequence = sequence;
	message.n_enter = enter != 0;
	message.enter = actors;
	message.n_leave = leave != 0;
	message.leave = leaves;
	seen_give(seen, SW_CHANNEL_EVENTS, SW_MSG_VIEW_CHANGE, &message);
}

static void give_update(struct seen *seen, uint32_t tick, uint32_t input_sequence, uint32_t id,
	int32_t x_mm, int32_t y_mm)
{
	Sw__WorldUpdate message = SW__WORLD_UPDATE__INIT;
	Sw__EntityState state = SW__ENTITY_STATE__INIT;
	Sw__EntityState *states[] = {&state};

	state.actor_id = id;
	state.x_mm = x_mm;
	state.y_mm = y_mm;
	message.tick = tick;
	message.input_sequence = input_sequence;
	message.n_entities = 1;
	message.entities = states;
	seen_give(seen, SW_CHANNEL_WORLD, SW_MSG_WORLD_UPDATE, &message);
}

/* 40 x 40 tiles of 5 m, a fifth of them solid, none in the middle. */
static struct swc_ground *walled(uint32_t random)
{
	static char text[16384];
	struct swc_ground *ground;
	char error[512], *at = text;

	at += sprintf(at,
		"{\"type\":\"map\",\"orientation\":\"orthogonal\",\"width\":40,\"height\":40,"
		"\"tilewidth\":1,\"tileheight\":1,\"properties\":[{\"name\":\"tile_mm\",\"value\":"
		"5000}],\"tilesets\":[{\"firstgid\":1,\"tilecount\":1}],\"layers\":[{\"type\":"
		"\"tilelayer\",\"width\":40,\"height\":40,\"properties\":[{\"name\":\"solid\","
		"\"value\":true}],\"data\":[");
	for (int i = 0; i < 1600; i++) {
		bool middle = abs(i / 40 - 20) < 2 && abs(i % 40 - 20) < 2;

		random = random * 1664525u + 1013904223u;
		at += sprintf(at, "%s%d", i ? "," : "", !middle && random >> 16 < 13000);
	}
	sprintf(at, "]}]}");
	if (swc_ground_parse(text, strlen(text), "walled", &ground, error, sizeof(error)))
		fail_msg("%s", error);
	return ground;
}

static void hello_is_first_and_says_who_we_are(void **state)
{
	struct seen seen;
	Sw__Hello *hello;

	(void)state;
	seen_start(&seen);
	assert_int_equal(seen.packet[0], SW_MSG_HELLO);
	assert_int_equal(seen.channel, SW_CHANNEL_SESSION);
	assert_true(seen.reliable);
	hello = sw__hello__unpack(NULL, seen.packet_bytes - 1, seen.packet + 1);
	assert_non_null(hello);
	assert_int_equal(hello->protocol_version, SW_PROTOCOL_VERSION);
	assert_int_equal(hello->ticket.len, 6);
	assert_memory_equal(hello->ticket.data, "ticket", 6);
	assert_string_equal(hello->client_build, "test");
	sw__hello__free_unpacked(hello, NULL);

	seen_admit(&seen);
	assert_int_equal(seen.session.state, SWC_LOADING);
	assert_int_equal(seen.session.self.character_id, 77);
	seen_join(&seen);
	assert_int_equal(seen.session.state, SWC_PLAYING);
	assert_int_equal(seen.events[SWC_EVENT_JOINED], 1);
	assert_int_equal(seen.session.self.x_mm, 100000);
	assert_int_equal(seen_refused(&seen), 0);
	seen_stop(&seen);
}

static void malformed_packets_are_counted_by_name(void **state)
{
	static const struct {
		const char *what;
		uint8_t channel;
		size_t bytes;
		uint8_t packet[16];
		enum swc_refusal refusal;
	} packets[] = {
		{"nothing", 0, 0, {0}, SWC_REFUSAL_EMPTY},
		{"type 0", 0, 1, {0x00}, SWC_REFUSAL_UNKNOWN_TYPE},
		{"type 255", 0, 1, {0xff}, SWC_REFUSAL_UNKNOWN_TYPE},
		{"a client's type", 0, 1, {SW_MSG_HELLO}, SWC_REFUSAL_UNKNOWN_TYPE},
		{"a client's input", 1, 1, {SW_MSG_INPUT}, SWC_REFUSAL_UNKNOWN_TYPE},
		{"an update on 0", 0, 1, {SW_MSG_WORLD_UPDATE}, SWC_REFUSAL_WRONG_CHANNEL},
		{"a view on 1", 1, 1, {SW_MSG_VIEW_CHANGE}, SWC_REFUSAL_WRONG_CHANNEL},
		{"half a tag", 1, 2, {SW_MSG_WORLD_UPDATE, 0x80}, SWC_REFUSAL_PROTOBUF},
		{"a length past the end", 1, 3, {SW_MSG_WORLD_UPDATE, 0x1a, 0x7f},
			SWC_REFUSAL_PROTOBUF},
		{"an entity with half a varint", 1, 5, {SW_MSG_WORLD_UPDATE, 0x1a, 2, 0x08, 0x80},
			SWC_REFUSAL_PROTOBUF},
		{"wire type 7", 0, 2, {SW_MSG_DIALOGUE, 0x0f}, SWC_REFUSAL_PROTOBUF},
		{"a view without sequence", 3, 1, {SW_MSG_VIEW_CHANGE}, SWC_REFUSAL_OUT_OF_RANGE},
		{"an enter without state", 3, 5, {SW_MSG_VIEW_CHANGE, 0x10, 1, 0x1a, 0},
			SWC_REFUSAL_OUT_OF_RANGE},
		{"a map of no size", 0, 1, {SW_MSG_JOINED}, SWC_REFUSAL_OUT_OF_RANGE},
		{"a second Admitted", 0, 1, {SW_MSG_ADMITTED}, SWC_REFUSAL_OUT_OF_ORDER},
		{"an input never made", 1, 3, {SW_MSG_WORLD_UPDATE, 0x10, 9},
			SWC_REFUSAL_OUT_OF_RANGE},
	};

	(void)state;
	for (size_t i = 0; i < sizeof(packets) / sizeof(packets[0]); i++) {
		struct seen seen;

		seen_start_playing(&seen);
		swc_session_receive(
			&seen.session, packets[i].channel, packets[i].packet, packets[i].bytes);
		if (seen.session.stats.refused[packets[i].refusal] != 1 || seen_refused(&seen) != 1)
			fail_msg("%s: not counted as %s", packets[i].what,
				swc_refusal_text(packets[i].refusal));
		assert_int_equal(seen.session.state, SWC_PLAYING);
		seen_stop(&seen);
	}
}

static void joined_is_checked_field_by_field(void **state)
{
	enum { FIELDS = 10 };

	(void)state;
	for (int field = 0; field < FIELDS; field++) {
		Sw__Joined message = seen_joined();
		struct seen seen;

		switch (field) {
		case 0:
			message.actor_id = 0;
			break;
		case 1:
			message.width_mm = 0;
			break;
		case 2:
			message.height_mm = 0xffffffffu;
			break;
		case 3:
			message.x_mm = -1;
			break;
		case 4:
			message.y_mm = 200000;
			break;
		case 5:
			message.heading = 65536;
			break;
		case 6:
			message.tick_hz = 0;
			break;
		case 7:
			message.tick_hz = 100000;
			break;
		case 8:
			message.speed_mm_per_s = 0x7fffffff;
			break;
		case 9:
			message.map = "a name that is longer than 31 bytes";
			break;
		}
		seen_start(&seen);
		seen_admit(&seen);
		seen_give(&seen, SW_CHANNEL_SESSION, SW_MSG_JOINED, &message);
		assert_int_equal(seen.session.stats.refused[SWC_REFUSAL_OUT_OF_RANGE], 1);
		assert_int_equal(seen.session.state, SWC_LOADING);
		seen_stop(&seen);
	}
}

/* Bytes from a generator, and real messages with bytes changed: nothing may crash or change the
 * order of states. The value lies in the sanitizers. */
static void random_bytes_do_no_harm(void **state)
{
	uint32_t random = 2463534242u;
	struct seen seen;

	(void)state;
	seen_start_playing(&seen);
	for (int round = 0; round < 50000; round++) {
		uint8_t packet[64];
		size_t bytes;

		for (size_t i = 0; i < sizeof(packet); i++) {
			random ^= random << 13;
			random ^= random >> 17;
			random ^= random << 5;
			packet[i] = (uint8_t)random;
		}
		bytes = random % sizeof(packet);
		if (round & 1)
			packet[0] = (uint8_t)(0x40 + (packet[0] & 7));
		swc_session_receive(&seen.session, packet[1] & 3, packet, bytes);
		swc_session_tick(&seen.session);
	}
	assert_int_equal(seen.session.state, SWC_PLAYING);
	seen_stop(&seen);
}

static void a_refusal_carries_its_text(void **state)
{
	Sw__Refused message = SW__REFUSED__INIT;
	struct seen seen;

	(void)state;
	seen_start(&seen);
	seen.look = look;
	message.reason = SW_REASON_TICKET_USED;
	message.text = "used at noon";
	seen_give(&seen, SW_CHANNEL_SESSION, SW_MSG_REFUSED, &message);
	assert_string_equal(last_text, "used at noon");
	message.text = "";
	seen_give(&seen, SW_CHANNEL_SESSION, SW_MSG_REFUSED, &message);
	assert_string_equal(last_text, swc_reason_text(SW_REASON_TICKET_USED));
	assert_int_equal(seen.session.refused_reason, SW_REASON_TICKET_USED);
	seen_stop(&seen);
}

static void positions_before_enter_and_after_leave_are_ignored(void **state)
{
	struct seen seen;

	(void)state;
	seen_start_playing(&seen);
	seen.look = look;
	give_update(&seen, 1001, 0, 9, 1, 1);
	assert_int_equal(seen.session.stats.states_unknown, 1);
	assert_int_equal(seen.session.view.count, 0);
	give_view(&seen, 1002, 1, 9, 0);
	give_update(&seen, 1001, 0, 9, 2, 2);
	assert_int_equal(seen.session.stats.states_old, 1);
	assert_int_equal(swc_view_find(&seen.session.view, 9)->x_mm, 0);
	give_view(&seen, 1002, 2, 9, 0); /* its looks have come: the same actor, told anew */
	assert_int_equal(seen.events[SWC_EVENT_ENTER], 1);
	assert_int_equal(seen.events[SWC_EVENT_CHANGED], 1);
	assert_int_equal(seen.session.view.count, 1);
	give_update(&seen, 1003, 0, 9, 3, 3);
	assert_int_equal(swc_view_find(&seen.session.view, 9)->x_mm, 3);
	give_view(&seen, 1004, 3, 0, 9);
	assert_int_equal(seen.events[SWC_EVENT_LEAVE], 1);
	assert_int_equal(last_actor, 9);
	give_update(&seen, 1005, 0, 9, 4, 4);
	assert_int_equal(seen.session.stats.states_unknown, 2);
	assert_int_equal(seen.session.view.count, 0);
	assert_int_equal(seen_refused(&seen), 0);
	seen_stop(&seen);
}

static void two_updates_in_one_packet_are_one(void **state)
{
	/* tick 1001 and actor 9 at x 10; then, as a second WorldUpdate, actor 10 at x 20 */
	static const uint8_t packet[] = {SW_MSG_WORLD_UPDATE, 0x08, 0xe9, 0x07, 0x1a, 4, 0x08, 9,
		0x10, 20, 0x1a, 4, 0x08, 10, 0x10, 40};
	struct seen seen;

	(void)state;
	seen_start_playing(&seen);
	give_view(&seen, 1000, 1, 9, 0);
	give_view(&seen, 1000, 2, 10, 0);
	swc_session_receive(&seen.session, SW_CHANNEL_WORLD, packet, sizeof(packet));
	assert_int_equal(swc_view_find(&seen.session.view, 9)->x_mm, 10);
	assert_int_equal(swc_view_find(&seen.session.view, 10)->x_mm, 20);
	assert_int_equal(swc_view_find(&seen.session.view, 10)->tick, 1001);
	seen_stop(&seen);
}

static void a_gap_in_the_sequence_is_counted(void **state)
{
	struct seen seen;

	(void)state;
	seen_start_playing(&seen);
	give_view(&seen, 1, 1, 9, 0);
	give_view(&seen, 2, 2, 10, 0);
	assert_int_equal(seen.session.stats.reliable_lost, 0);
	give_view(&seen, 3, 5, 11, 0);
	assert_int_equal(seen.session.stats.reliable_lost, 2);
	give_view(&seen, 3, 5, 12, 0); /* the same again: refused */
	assert_int_equal(seen.session.stats.refused[SWC_REFUSAL_OUT_OF_ORDER], 1);
	assert_int_equal(seen.session.view.count, 3);
	give_view(&seen, 4, 6, 0, 4711);
	assert_int_equal(seen.session.stats.leaves_unknown, 1);
	seen_stop(&seen);
}

static Sw__InputBatch *batch(const struct seen *seen)
{
	assert_int_equal(seen->packet[0], SW_MSG_INPUT);
	assert_int_equal(seen->channel, SW_CHANNEL_WORLD);
	assert_false(seen->reliable);
	return sw__input_batch__unpack(NULL, seen->packet_bytes - 1, seen->packet + 1);
}

static void inputs_repeat_the_seven_before_and_the_stop_is_repeated_until_confirmed(void **state)
{
	struct seen seen;
	Sw__InputBatch *sent;
	uint32_t before;

	(void)state;
	seen_start_playing(&seen);
	before = seen.sent;
	swc_session_tick(&seen.session);
	assert_int_equal(seen.sent, before); /* at rest nothing is sent */

	swc_session_walk(&seen.session, 127, 0);
	for (int i = 0; i < 12; i++)
		swc_session_tick(&seen.session);
	assert_int_equal(seen.sent, before + 12);
	sent = batch(&seen);
	assert_int_equal(sent->n_inputs, 8);
	assert_int_equal(sent->first_sequence, 5);
	assert_int_equal(sent->inputs[7]->dx, 127);
	sw__input_batch__free_unpacked(sent, NULL);

	swc_session_walk(&seen.session, 0, 0);
	for (int i = 0; i < 4; i++)
		swc_session_tick(&seen.session);
	assert_int_equal(seen.sent, before + 16);
	sent = batch(&seen);
	assert_int_equal(sent->first_sequence, 6); /* one stop, sequence 13, four times */
	assert_int_equal(sent->inputs[7]->dx, 0);
	sw__input_batch__free_unpacked(sent, NULL);

	give_update(&seen, 1013, 13, seen.session.self.actor_id, seen.session.self.x_mm,
		seen.session.self.y_mm);
	swc_session_tick(&seen.session);
	assert_int_equal(seen.sent, before + 16); /* confirmed: silence */
	assert_int_equal(seen.session.stats.corrections, 0);
	seen_stop(&seen);
}

/* A server as docs/protocol.md describes it (one input a tick, up to 8 wait, 4 more after a
 * silence), and a way to it that loses a third of the datagrams each way and delays the others: as
 * long as not eight batches in a row are lost, both compute the same walk, and nothing is ever
 * corrected. */
static void walk_with_a_third_lost(const struct swc_ground *ground)
{
	enum { TICKS = 4000, LATE = 5, QUEUE = 8, BANK = 4 };
	struct sw_move_map map = {.width_mm = 200000, .height_mm = 200000, .tick_hz = 20};
	struct sw_move_state server = {.x_mm = 100000, .y_mm = 100000};
	struct {
		uint8_t packet[256];
		uint32_t bytes, due;
	} way[LATE + 1] = {0};
	int8_t dx[QUEUE], dy[QUEUE];
	uint32_t waiting = 0, received = 0, applied = 0, credit = 0, random = 20221130,
		 lost_row = 0, stopped = 0;
	struct seen seen;

	if (ground) {
		Sw__Joined joined = seen_joined();

		seen_start(&seen);
		assert_true(swc_session_use_ground(&seen.session, ground));
		seen_admit(&seen);
		joined.ground_hash = swc_ground_hash(ground);
		joined.radius_mm = 300;
		seen_give(&seen, SW_CHANNEL_SESSION, SW_MSG_JOINED, &joined);
		assert_int_equal(seen.session.self.walls, SWC_WALLS_KNOWN);
		map.ground = ground->value;
		map.radius_mm = 300;
	} else {
		seen_start_playing(&seen);
	}
	for (uint32_t tick = 1; tick <= TICKS; tick++) {
		uint32_t before = seen.sent;

		random = random * 1664525u + 1013904223u;
		if (random >> 16 < 3000) /* another direction now and then; sometimes a rest */
			swc_session_walk(&seen.session, (int)(random >> 8 & 127) - 64,
				random & 64 ? (int)(random >> 3 & 127) - 64 : 0);
		if (tick > TICKS - 100)
			swc_session_walk(&seen.session, 0, 0);
		swc_session_tick(&seen.session);
		random = random * 1664525u + 1013904223u;
		if (seen.sent != before && (random >> 16) % 3 == 0 && lost_row < 3) {
			lost_row++;
		} else if (seen.sent != before) {
			uint32_t slot = tick % (LATE + 1);

			lost_row = 0;
			memcpy(way[slot].packet, seen.packet, seen.packet_bytes);
			way[slot].bytes = seen.packet_bytes;
			way[slot].due = tick + (random >> 20) % LATE;
		}
		for (uint32_t i = 0; i <= LATE; i++) {
			Sw__InputBatch *sent;

			if (!way[i].bytes || way[i].due > tick)
				continue;
			sent = sw__input_batch__unpack(NULL, way[i].bytes - 1, way[i].packet + 1);
			for (size_t n = 0; n < sent->n_inputs; n++) {
				if (sent->first_sequence + n <= received)
					continue;
				assert_int_equal(sent->first_sequence + n, received + 1);
				assert_true(waiting < QUEUE);
				dx[waiting] = (int8_t)sent->inputs[n]->dx;
				dy[waiting++] = (int8_t)sent->inputs[n]->dy;
				received++;
			}
			sw__input_batch__free_unpacked(sent, NULL);
			way[i].bytes = 0;
		}
		credit = credit + 1 > BANK + 1 ? BANK + 1 : credit + 1;
		for (; credit && waiting; credit--, waiting--) {
			struct sw_move_state from = server;

			sw_move_apply(&map, 5000, dx[0], dy[0], &server);
			stopped += (dx[0] && server.x_mm == from.x_mm) ||
				   (dy[0] && server.y_mm == from.y_mm);
			memmove(dx, dx + 1, QUEUE - 1);
			memmove(dy, dy + 1, QUEUE - 1);
			applied++;
		}
		random = random * 1664525u + 1013904223u;
		if ((random >> 16) % 3)
			give_update(&seen, 1000 + tick, applied, 5, server.x_mm, server.y_mm);
		assert_int_equal(seen.session.stats.corrections, 0);
	}
	assert_true(seen.session.stats.inputs > TICKS / 2);
	assert_true(!ground || stopped > 20); /* walls were met */
	assert_int_equal(applied, seen.session.prediction.newest);
	assert_int_equal(seen.session.self.x_mm, server.x_mm);
	assert_int_equal(seen.session.self.y_mm, server.y_mm);
	assert_int_equal(seen_refused(&seen), 0);
	seen_stop(&seen);
}

static void a_third_lost_each_way_needs_no_correction(void **state)
{
	(void)state;
	walk_with_a_third_lost(NULL);
	for (uint32_t seed = 1; seed < 5; seed++) {
		struct swc_ground *ground = walled(seed);

		walk_with_a_third_lost(ground);
		swc_ground_free(ground);
	}
}

static void unknown_walls_are_said_and_corrected(void **state)
{
	struct swc_ground *other = walled(1), *right = walled(2);
	Sw__Joined joined = seen_joined();
	struct seen seen;

	(void)state;
	assert_true(swc_ground_hash(other) != swc_ground_hash(right));
	seen_start(&seen);
	assert_true(swc_session_use_ground(&seen.session, other));
	seen_admit(&seen);
	joined.ground_hash = swc_ground_hash(right);
	joined.radius_mm = 300;
	seen_give(&seen, SW_CHANNEL_SESSION, SW_MSG_JOINED, &joined);
	assert_int_equal(seen.session.self.walls, SWC_WALLS_UNKNOWN);
	assert_int_equal(seen.events[SWC_EVENT_WALLS_UNKNOWN], 1);
	assert_null(seen.session.ground);
	/* it walks on open ground, and the server's word stops it */
	swc_session_walk(&seen.session, 127, 0);
	swc_session_tick(&seen.session);
	assert_int_equal(seen.session.self.x_mm, 100250);
	give_update(&seen, 1001, 1, 5, 100100, 100000);
	assert_int_equal(seen.session.self.x_mm, 100100);
	assert_int_equal(seen.session.stats.corrections, 1);
	/* the right one may come later */
	assert_true(swc_session_use_ground(&seen.session, right));
	assert_int_equal(seen.session.self.walls, SWC_WALLS_KNOWN);
	assert_ptr_equal(seen.session.ground, right);
	/* next map: open ground; then one whose actors are too wide for the tiles */
	joined.ground_hash = 0;
	joined.radius_mm = 0;
	seen_give(&seen, SW_CHANNEL_SESSION, SW_MSG_JOINED, &joined);
	assert_int_equal(seen.session.self.walls, SWC_WALLS_NONE);
	assert_null(seen.session.ground);
	joined.ground_hash = swc_ground_hash(right);
	joined.radius_mm = 2500;
	seen_give(&seen, SW_CHANNEL_SESSION, SW_MSG_JOINED, &joined);
	assert_int_equal(seen.session.self.walls, SWC_WALLS_UNKNOWN);
	joined.radius_mm = 8001;
	seen_give(&seen, SW_CHANNEL_SESSION, SW_MSG_JOINED, &joined);
	assert_int_equal(seen.session.stats.refused[SWC_REFUSAL_OUT_OF_RANGE], 1);
	for (uint32_t i = 2; i < SWC_GROUNDS_MAX; i++)
		assert_true(swc_session_use_ground(&seen.session, other));
	assert_false(swc_session_use_ground(&seen.session, other));
	seen_stop(&seen);
	swc_ground_free(other);
	swc_ground_free(right);
}

static void directions_are_at_most_127_long(void **state)
{
	struct seen seen;

	(void)state;
	seen_start(&seen);
	for (int dx = -200; dx <= 200; dx += 7) {
		for (int dy = -200; dy <= 200; dy += 7) {
			int x, y;

			swc_session_walk(&seen.session, dx, dy);
			x = seen.session.walk_dx;
			y = seen.session.walk_dy;
			assert_true(x * x + y * y <= 127 * 127);
			if (dx * dx + dy * dy > 127 * 127)
				assert_true(x * x + y * y >= 124 * 124);
			else
				assert_true(x == dx && y == dy);
		}
	}
	seen_stop(&seen);
}

static void dialogue_and_click(void **state)
{
	Sw__Dialogue message = SW__DIALOGUE__INIT;
	struct seen seen;
	Sw__Click *click;

	(void)state;
	seen_start_playing(&seen);
	seen.look = look;
	swc_session_click(&seen.session, 31);
	assert_int_equal(seen.packet[0], SW_MSG_CLICK);
	assert_true(seen.reliable);
	click = sw__click__unpack(NULL, seen.packet_bytes - 1, seen.packet + 1);
	assert_int_equal(click->actor_id, 31);
	sw__click__free_unpacked(click, NULL);
	message.actor_id = 31;
	message.text = "Good day.";
	seen_give(&seen, SW_CHANNEL_SESSION, SW_MSG_DIALOGUE, &message);
	assert_string_equal(last_text, "Good day.");
	seen_stop(&seen);
}

static void quests_and_questions(void **state)
{
	Sw__Quest one = SW__QUEST__INIT, two = SW__QUEST__INIT;
	Sw__Quest *quests[SWC_QUESTS_MAX + 1] = {&one, &two};
	Sw__QuestLog log = SW__QUEST_LOG__INIT;
	Sw__Dialogue dialogue = SW__DIALOGUE__INIT;
	char *choices[SWC_CHOICES_MAX + 1];
	Sw__DialogueAnswer *answer;
	Sw__QuestAbandon *abandon;
	struct seen seen;

	(void)state;
	for (uint32_t i = 0; i < SWC_CHOICES_MAX + 1; i++)
		choices[i] = (char *)"yes";
	for (uint32_t i = 2; i < SWC_QUESTS_MAX + 1; i++)
		quests[i] = &one;
	one.quest = 1;
	two.quest = 2;
	two.phase = SW__QUEST_PHASE__QUEST_OPEN;
	two.title = (char *)"Wolves";
	log.n_quests = 2;
	log.quests = quests;
	seen_start(&seen);
	seen_admit(&seen);
	/* not before one is on a map */
	seen_give(&seen, 0, SW_MSG_QUEST_LOG, &log);
	assert_int_equal(seen.session.stats.refused[SWC_REFUSAL_OUT_OF_ORDER], 1);
	seen_join(&seen);
	seen_give(&seen, 0, SW_MSG_QUEST_LOG, &log);
	seen_give(&seen, 0, SW_MSG_QUEST_UPDATE, &log);
	assert_int_equal(seen.events[SWC_EVENT_QUESTS], 2);
	seen_give(&seen, 3, SW_MSG_QUEST_UPDATE, &log);
	assert_int_equal(seen.session.stats.refused[SWC_REFUSAL_WRONG_CHANNEL], 1);
	one.quest = 0;
	seen_give(&seen, 0, SW_MSG_QUEST_LOG, &log);
	one.quest = 1;
	log.n_quests = SWC_QUESTS_MAX + 1;
	seen_give(&seen, 0, SW_MSG_QUEST_LOG, &log);
	assert_int_equal(seen.session.stats.refused[SWC_REFUSAL_OUT_OF_RANGE], 2);
	assert_int_equal(seen.events[SWC_EVENT_QUESTS], 2);
	/* questions */
	dialogue.text = (char *)"Well?";
	dialogue.choices = choices;
	dialogue.n_choices = 2;
	seen_give(&seen, 0, SW_MSG_DIALOGUE, &dialogue); /* choices, and nothing is asked */
	dialogue.question = 5;
	seen_give(&seen, 0, SW_MSG_DIALOGUE, &dialogue);
	dialogue.n_choices = SWC_CHOICES_MAX + 1;
	seen_give(&seen, 0, SW_MSG_DIALOGUE, &dialogue);
	assert_int_equal(seen.session.stats.refused[SWC_REFUSAL_OUT_OF_RANGE], 4);
	assert_int_equal(seen.events[SWC_EVENT_DIALOGUE], 1);
	swc_session_answer(&seen.session, 5, 2);
	assert_int_equal(seen.packet[0], SW_MSG_DIALOGUE_ANSWER);
	assert_true(seen.reliable && seen.channel == 0);
	answer = sw__dialogue_answer__unpack(NULL, seen.packet_bytes - 1, seen.packet + 1);
	assert_int_equal(answer->question, 5);
	assert_int_equal(answer->choice, 2);
	sw__dialogue_answer__free_unpacked(answer, NULL);
	swc_session_abandon(&seen.session, 2);
	assert_int_equal(seen.packet[0], SW_MSG_QUEST_ABANDON);
	abandon = sw__quest_abandon__unpack(NULL, seen.packet_bytes - 1, seen.packet + 1);
	assert_int_equal(abandon->quest, 2);
	sw__quest_abandon__free_unpacked(abandon, NULL);
	swc_session_free(&seen.session);
}

int main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test(hello_is_first_and_says_who_we_are),
		cmocka_unit_test(malformed_packets_are_counted_by_name),
		cmocka_unit_test(joined_is_checked_field_by_field),
		cmocka_unit_test(random_bytes_do_no_harm),
		cmocka_unit_test(quests_and_questions),
		cmocka_unit_test(a_refusal_carries_its_text),
		cmocka_unit_test(positions_before_enter_and_after_leave_are_ignored),
		cmocka_unit_test(two_updates_in_one_packet_are_one),
		cmocka_unit_test(a_gap_in_the_sequence_is_counted),
		cmocka_unit_test(
			inputs_repeat_the_seven_before_and_the_stop_is_repeated_until_confirmed),
		cmocka_unit_test(a_third_lost_each_way_needs_no_correction),
		cmocka_unit_test(unknown_walls_are_said_and_corrected),
		cmocka_unit_test(directions_are_at_most_127_long),
		cmocka_unit_test(dialogue_and_click),
	};

	return cmocka_run_group_tests(tests, NULL, NULL);
}
