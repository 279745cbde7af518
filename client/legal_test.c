/* Proves: a client that predicts, over a path of 150 ms there and back with jitter and 5 % loss
 * each way, is never corrected while it moves legally: on open ground and at its edge, beside walls
 * and in corners, at 15, 20 and 30 Hz, after pauses, with frames that come late, clocks that run a
 * little fast or slow, and a server whose ticks come late. In the end it stands where the server
 * says, to the millimetre. One that is too fast, or walks through walls, is corrected and ends
 * where the server says, which is somewhere legal that a legal walker could have reached.
 *
 * The shard is the real one and the session is the library's; between them lies a lossy network on
 * a virtual clock. Unreliable packets that were overtaken are dropped and reliable ones come late
 * but in order, as the engine and libenet have it. LEGAL_SEEDS in the environment runs more seeds.
 */
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

#include <cmocka.h>

#include "client/session.h"
#include "proto/client.pb-c.h"
#include "simulation/counters.h"
#include "simulation/state.h"
#include "simulation/testing.h"
#include "tests/netsim/netsim.h"

#define PACKETS_MAX 256u

static const struct netsim_address here = {.ip = 1, .port = 1}, there = {.ip = 2, .port = 2};
static char folder[] = "/tmp/sw-legal-XXXXXX";
static char map_text[65536];

/* Reliable packets on their way, one way: they come in order. */
struct reliable {
	struct {
		uint64_t due_ms;
		uint8_t channel;
		uint32_t bytes;
		uint8_t packet[1500];
	} queue[PACKETS_MAX];
	uint32_t head, count;
};

struct rig {
	struct test_shard t;
	struct swc_session session;
	struct swc_ground *ground;
	struct netsim *net;
	struct reliable down; /* to the client; to the server none is needed */
	uint32_t sent_up, sent_down, seen_up, seen_down; /* of the unreliable channel */
	uint64_t corrected_ms;
	uint32_t corrected_input;
	double client_ms, pace; /* the client's clock, and how fast it runs */
	double tick_ms;         /* the client's next tick on its clock */
	uint64_t frame_ms, idle_until_ms;
	uint32_t ticks_at_once; /* inputs that a client makes for each tick: 1 is legal */
	bool stock;             /* a client that does not know of WorldUpdate.input_waiting */
	uint32_t waiting_most;  /* on the server */
};

/* ---- the network ---- */

static void send_up(
	void *ctx, uint8_t channel, bool reliable, const uint8_t *packet, uint32_t bytes)
{
	struct rig *r = ctx;
	uint8_t datagram[1500];

	if (reliable) /* Hello: nobody admits here */
		return;
	assert_int_equal(channel, SW_CHANNEL_WORLD);
	r->sent_up++;
	memcpy(datagram, &r->sent_up, 4);
	memcpy(datagram + 4, packet, bytes);
	netsim_send(r->net, here, there, datagram, 4 + bytes);
}

static void on_event(void *ctx, const struct swc_event *event)
{
	struct rig *r = ctx;

	if (event->type != SWC_EVENT_CORRECTED)
		return;
	r->corrected_ms = netsim_now_ms(r->net);
	r->corrected_input = r->session.self.input_applied;
}

static void send_down(struct rig *r, const struct msg *m)
{
	uint8_t datagram[1500];
	uint64_t due_ms = netsim_now_ms(r->net) + 60 + netsim_random(r->net, 40);
	uint32_t at;

	if (!(m->flags & MSG_SEND_RELIABLE)) {
		r->sent_down++;
		memcpy(datagram, &r->sent_down, 4);
		memcpy(datagram + 4, msg_payload(m), m->payload_bytes);
		netsim_send(r->net, there, here, datagram, 4 + m->payload_bytes);
		return;
	}
	while (netsim_random(r->net, 20) == 0) /* lost: sent again after a round trip and more */
		due_ms += 250;
	assert_true(r->down.count < PACKETS_MAX && m->payload_bytes <= 1500);
	if (r->down.count) { /* not before the one before */
		uint64_t last =
			r->down.queue[(r->down.head + r->down.count - 1) % PACKETS_MAX].due_ms;

		due_ms = due_ms > last ? due_ms : last;
	}
	at = (r->down.head + r->down.count++) % PACKETS_MAX;
	r->down.queue[at].due_ms = due_ms;
	r->down.queue[at].channel = m->channel;
	r->down.queue[at].bytes = m->payload_bytes;
	memcpy(r->down.queue[at].packet, msg_payload(m), m->payload_bytes);
}

static void from_shard(struct rig *r)
{
	static struct msg_buffer batch[2];
	uint32_t slots;

	while ((slots = msg_ring_pop(
			r->t.links.to_dataplane[0], batch[0].slot, 2 * MSG_SLOTS_MAX))) {
		const struct msg *end = batch[0].slot + slots;

		for (const struct msg *m = batch[0].slot; m < end; m = msg_next(m))
			if (m->type == MSG_PEER_SEND)
				send_down(r, m);
	}
}

static bool newer(uint32_t *seen, const uint8_t *datagram)
{
	uint32_t number;

	memcpy(&number, datagram, 4);
	if (number <= *seen)
		return false;
	*seen = number;
	return true;
}

static void deliver(struct rig *r)
{
	struct netsim_address from;
	uint8_t datagram[1500];
	int bytes;

	while ((bytes = netsim_receive(r->net, there, &from, datagram, sizeof(datagram))) >= 0)
		if (newer(&r->seen_up, datagram))
			test_packet(&r->t, 0, SW_CHANNEL_WORLD, datagram + 4, (uint32_t)bytes - 4);
	while ((bytes = netsim_receive(r->net, here, &from, datagram, sizeof(datagram))) >= 0)
		if (newer(&r->seen_down, datagram))
			swc_session_receive(
				&r->session, SW_CHANNEL_WORLD, datagram + 4, (size_t)bytes - 4);
	while (r->down.count && r->down.queue[r->down.head].due_ms <= netsim_now_ms(r->net)) {
		swc_session_receive(&r->session, r->down.queue[r->down.head].channel,
			r->down.queue[r->down.head].packet, r->down.queue[r->down.head].bytes);
		r->down.head = (r->down.head + 1) % PACKETS_MAX;
		r->down.count--;
	}
}

/* ---- time ---- */

/* As stormweir.c: ticks that are due are made up for, at most so many. */
#define TICKS_BEHIND 4.0

/* What docs/protocol.md has for clients without pace.h: no more than 8 inputs unanswered. */
static bool may_make_one(const struct rig *r)
{
	return r->session.prediction.newest - r->session.self.input_applied < 8;
}

static void client_frame(struct rig *r)
{
	double period_ms;

	if (r->session.state != SWC_PLAYING)
		return;
	period_ms = r->stock ? 1000.0 / r->session.self.tick_hz
			     : (double)swc_session_interval_ns(&r->session) / 1e6;
	if (r->tick_ms == 0 || r->tick_ms + TICKS_BEHIND * period_ms < r->client_ms)
		r->tick_ms = r->client_ms;
	for (; r->tick_ms <= r->client_ms; r->tick_ms += period_ms)
		for (uint32_t i = 0; i < r->ticks_at_once; i++)
			if (!r->stock || may_make_one(r))
				swc_session_tick(&r->session);
}

static void pass_ms(struct rig *r)
{
	netsim_advance(r->net, 1);
	r->client_ms += r->pace;
	deliver(r);
	if (netsim_now_ms(r->net) >= r->frame_ms) { /* 60 a second; one in 50 is late */
		client_frame(r);
		r->frame_ms = netsim_now_ms(r->net) +
			      (netsim_random(r->net, 50) ? 16 : 16 + netsim_random(r->net, 100));
	}
	r->t.now_ns += NS_PER_MS;
	if (netsim_now_ms(r->net) < r->idle_until_ms)
		return;
	if (netsim_random(r->net, 2000) == 0) /* the server's core was away for so long */
		r->idle_until_ms = netsim_now_ms(r->net) + netsim_random(r->net, 60);
	while (sim_shard_step(r->t.shard, r->t.now_ns))
		;
	test_read_world(&r->t);
	test_read_control(&r->t);
	from_shard(r);
	if (r->t.shard->maps[0]->players_table[0].input_waiting > r->waiting_most)
		r->waiting_most = r->t.shard->maps[0]->players_table[0].input_waiting;
}

/* ---- the map ---- */

#define COLUMNS 24
#define ROWS    20

/* Rooms, a corridor one tile wide, pillars: something to run into everywhere. */
static bool solid(int column, int row)
{
	return (column == 8 && row != 4 && row != 12) || (row == 9 && column > 8 && column != 15) ||
	       (column % 5 == 3 && row % 4 == 2);
}

static void make_map(void)
{
	size_t used = 0;
	char path[64];
	FILE *file;

#define PUT(...) (used += (size_t)snprintf(map_text + used, sizeof(map_text) - used, __VA_ARGS__))
	PUT("{\"type\":\"map\",\"orientation\":\"orthogonal\",\"width\":%d,\"height\":%d,"
	    "\"tilewidth\":10,\"tileheight\":10,\"tilesets\":[{\"firstgid\":1,\"tilecount\":1}],"
	    "\"layers\":[{\"type\":\"tilelayer\",\"width\":%d,\"height\":%d,\"properties\":[{"
	    "\"name\":\"solid\",\"type\":\"bool\",\"value\":true}],\"data\":[",
		COLUMNS, ROWS, COLUMNS, ROWS);
	for (int row = ROWS; row--;)
		for (int column = 0; column < COLUMNS; column++)
			PUT("%s%d", row == ROWS - 1 && !column ? "" : ",", solid(column, row));
	PUT("]},{\"type\":\"objectgroup\",\"objects\":[{\"name\":\"a\",\"type\":\"spawn\",\"x\":45,"
	    "\"y\":125}]}]}");
#undef PUT
	snprintf(path, sizeof(path), "%s/map.tmj", folder);
	file = fopen(path, "w");
	assert_non_null(file);
	fputs(map_text, file);
	fclose(file);
}

/* ---- a session ---- */

static void start(struct rig *r, uint64_t seed, uint32_t hz, bool walls, bool client_has_walls)
{
	const struct netsim_config config = {
		.seed = seed, .loss = 0.05, .delay_min_ms = 40, .delay_max_ms = 110};
	const struct swc_session_ops ops = {.ctx = r, .send = send_up, .event = on_event};
	Sw__Admitted admitted = SW__ADMITTED__INIT;
	uint8_t packet[256];
	char error[256];

	memset(r, 0, sizeof(*r));
	test_init(&r->t, 20, 10);
	r->t.config.maps[0].tick_hz = hz;
	if (walls) {
		snprintf(r->t.config.simulation.content, CONFIG_PATH_BYTES, "%s", folder);
		strcpy(r->t.config.maps[0].file, "map.tmj");
		r->t.config.maps[0].width_m = r->t.config.maps[0].height_m = 0;
	}
	test_start(&r->t, seed);
	r->net = netsim_new(&config, 1000);
	r->frame_ms = r->idle_until_ms = 0;
	r->client_ms = 1000;
	r->pace = 0.9995 + 0.001 * netsim_random(r->net, 1001) / 1000;
	r->ticks_at_once = 1;
	swc_session_init(&r->session, &ops, 64);
	if (walls && client_has_walls) {
		if (swc_ground_parse(map_text, strlen(map_text), "map.tmj", &r->ground, error,
			    sizeof(error)))
			fail_msg("%s", error);
		assert_true(swc_session_use_ground(&r->session, r->ground));
	}
	swc_session_connected(&r->session, 1, (const uint8_t *)"t", 1, "test");
	admitted.map = "meadow";
	admitted.node = "n";
	packet[0] = SW_MSG_ADMITTED;
	swc_session_receive(&r->session, SW_CHANNEL_SESSION, packet,
		1 + sw__admitted__pack(&admitted, packet + 1));
	test_join(&r->t, 0, false, 0, 0);
	while (r->session.state != SWC_PLAYING && netsim_now_ms(r->net) < 9000)
		pass_ms(r);
	assert_int_equal(r->session.state, SWC_PLAYING);
	if (walls)
		assert_int_equal(r->session.self.walls,
			client_has_walls ? SWC_WALLS_KNOWN : SWC_WALLS_UNKNOWN);
}

static void stop(struct rig *r)
{
	test_end(&r->t);
	netsim_free(r->net);
	swc_session_free(&r->session);
	swc_ground_free(r->ground);
}

static const struct sim_entity *entity(const struct rig *r)
{
	return &r->t.shard->maps[0]->entities[0];
}

/* Stands still until all is confirmed; then client and server agree. */
static void settle(struct rig *r, const char *who)
{
	swc_session_walk(&r->session, 0, 0);
	r->ticks_at_once = 1;
	r->frame_ms = netsim_now_ms(r->net); /* if it hangs: no more */
	for (uint32_t ms = 0; ms < 3000; ms++)
		pass_ms(r);
	if (r->session.self.x_mm != entity(r)->x_mm || r->session.self.y_mm != entity(r)->y_mm ||
		r->session.self.input_applied != r->session.self.input_sequence)
		fail_msg("%s: the client is at %d %d (input %u of %u), the server at %d %d", who,
			r->session.self.x_mm, r->session.self.y_mm, r->session.self.input_applied,
			r->session.self.input_sequence, entity(r)->x_mm, entity(r)->y_mm);
	assert_true(sw_move_legal(&r->t.shard->maps[0]->rules, entity(r)->x_mm, entity(r)->y_mm));
}

/* A player that is never long satisfied with a direction, and rests at times. */
static void wander(struct rig *r, uint32_t ms)
{
	uint64_t turn_ms = 0;

	while (ms--) {
		if (netsim_now_ms(r->net) >= turn_ms) {
			uint32_t what = netsim_random(r->net, 10);

			turn_ms = netsim_now_ms(r->net) + 30 + netsim_random(r->net, 1500);
			if (what == 0) {
				swc_session_walk(&r->session, 0, 0);
				turn_ms += netsim_random(r->net, 4000);
			} else if (what < 4) { /* straight into something */
				swc_session_walk(&r->session,
					what == 1   ? 127
					: what == 2 ? -127
						    : 0,
					what == 3 ? (int)netsim_random(r->net, 2) * 254 - 127 : 0);
			} else {
				swc_session_walk(&r->session, (int)netsim_random(r->net, 255) - 127,
					(int)netsim_random(r->net, 255) - 127);
			}
			if (netsim_random(r->net, 40) == 0) /* the program hangs */
				r->frame_ms = netsim_now_ms(r->net) + netsim_random(r->net, 3000);
		}
		pass_ms(r);
	}
}

static uint32_t seeds(void)
{
	const char *text = getenv("LEGAL_SEEDS");
	int count = text ? atoi(text) : 0;

	return count > 0 ? (uint32_t)count : 12;
}

static void legal_movement_is_never_corrected(void **state)
{
	static const uint32_t rates[] = {15, 20, 30};
	uint64_t inputs = 0, dropped = 0;

	(void)state;
	for (uint64_t seed = 1; seed <= seeds(); seed++) {
		for (uint32_t i = 0; i < 6; i++) {
			struct rig r;
			char who[80];

			snprintf(who, sizeof(who), "seed %llu, %u Hz%s", (unsigned long long)seed,
				rates[i / 2], i % 2 ? ", walls" : "");
			start(&r, seed, rates[i / 2], i % 2, true);
			for (uint32_t n = 0; n < 3; n++) {
				wander(&r, 12000);
				if (r.session.stats.corrections)
					fail_msg("%s: corrected %llu times, by up to %llu mm, "
						 "last at %llu ms, input %u; dropped %llu",
						who,
						(unsigned long long)r.session.stats.corrections,
						(unsigned long long)
							r.session.stats.correction_mm_max,
						(unsigned long long)r.corrected_ms,
						r.corrected_input,
						(unsigned long long)test_counter(
							&r.t, SIM_INPUTS_DROPPED));
				settle(&r, who);
			}
			inputs += r.session.stats.inputs;
			dropped += test_counter(&r.t, SIM_INPUTS_DROPPED);
			assert_int_equal(r.session.stats.corrections, 0);
			stop(&r);
		}
	}
	print_message("%llu inputs, none corrected\n", (unsigned long long)inputs);
	assert_int_equal(dropped, 0);
}

/* An hour's walk without a rest, by a clock that is wrong by a thousandth, ten times what crystals
 * have: nothing piles up on the server, and nothing is corrected. The same for a client that does
 * not read the hint but keeps to eight unanswered inputs. */
static void an_hour_with_a_wrong_clock(void **state)
{
	static const struct {
		double pace;
		bool stock;
		uint32_t hz;
	} rows[] = {{1.001, false, 20}, {0.999, false, 20}, {1.0005, false, 30},
		{0.9995, false, 15}, {1.001, true, 20}, {0.999, true, 20}};

	(void)state;
	for (size_t i = 0; i < sizeof(rows) / sizeof(rows[0]); i++) {
		uint64_t turn_ms = 0;
		struct rig r;
		char who[32];

		snprintf(who, sizeof(who), "row %zu", i);
		start(&r, 100 + i, rows[i].hz, false, false);
		r.pace = rows[i].pace;
		r.stock = rows[i].stock;
		for (uint32_t ms = 0; ms < 3600000; ms++) {
			if (netsim_now_ms(r.net) >= turn_ms) {
				int x = (int)netsim_random(r.net, 2) * 2 - 1;

				turn_ms = netsim_now_ms(r.net) + 500 + netsim_random(r.net, 2000);
				swc_session_walk(
					&r.session, 127 * x, (int)netsim_random(r.net, 255) - 127);
			}
			pass_ms(&r);
		}
		if (r.session.stats.corrections || test_counter(&r.t, SIM_INPUTS_DROPPED) ||
			r.waiting_most > 6)
			fail_msg("%s: corrected %llu times, dropped %llu, %u waited", who,
				(unsigned long long)r.session.stats.corrections,
				(unsigned long long)test_counter(&r.t, SIM_INPUTS_DROPPED),
				r.waiting_most);
		print_message("%s: %llu inputs, at most %u waited\n", who,
			(unsigned long long)r.session.stats.inputs, r.waiting_most);
		/* It is no slower for it than its clock and the server's allow. */
		assert_true(r.session.stats.inputs >= 3600ull * rows[i].hz * 995 / 1000);
		settle(&r, who);
		stop(&r);
	}
}

/* Twice as many inputs as time allows. */
static void who_is_too_fast_is_corrected(void **state)
{
	(void)state;
	for (uint64_t seed = 1; seed <= 5; seed++) {
		struct rig r;
		uint64_t began;

		start(&r, seed, 20, false, false);
		began = r.t.shard->maps[0]->tick;
		r.ticks_at_once = 2;
		for (uint32_t n = 0; n < 6; n++) {
			swc_session_walk(&r.session, n % 2 ? -127 : 127, 0);
			for (uint32_t ms = 0; ms < 1500; ms++)
				pass_ms(&r);
		}
		assert_true(r.session.stats.corrections > 3);
		/* No step more than ticks, and the bank. */
		assert_true(test_counter(&r.t, SIM_INPUTS) <=
			    r.t.shard->maps[0]->tick - began + SIM_INPUT_BANK + 1);
		settle(&r, "too fast");
		stop(&r);
	}
}

/* A client that knows of no walls, on purpose or not. */
static void who_walks_through_walls_is_corrected(void **state)
{
	(void)state;
	for (uint64_t seed = 1; seed <= 5; seed++) {
		struct rig r;

		start(&r, seed, 20, true, false);
		swc_session_walk(&r.session, 127, 0); /* from 4.5, 7.5 m; a wall at 8 m */
		for (uint32_t ms = 0; ms < 3000; ms++) {
			pass_ms(&r);
			assert_true(entity(&r)->x_mm < 8000);
			assert_true(sw_move_legal(
				&r.t.shard->maps[0]->rules, entity(&r)->x_mm, entity(&r)->y_mm));
		}
		assert_true(r.session.stats.corrections > 3);
		settle(&r, "through walls");
		assert_in_range(r.session.self.x_mm, 7000, 8000); /* at the wall */
		stop(&r);
	}
}

int main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test(legal_movement_is_never_corrected),
		cmocka_unit_test(an_hour_with_a_wrong_clock),
		cmocka_unit_test(who_is_too_fast_is_corrected),
		cmocka_unit_test(who_walks_through_walls_is_corrected),
	};
	char path[64];
	int failed;

	if (!mkdtemp(folder))
		return 1;
	make_map();
	failed = cmocka_run_group_tests(tests, NULL, NULL);
	snprintf(path, sizeof(path), "%s/map.tmj", folder);
	unlink(path);
	rmdir(folder);
	return failed;
}
