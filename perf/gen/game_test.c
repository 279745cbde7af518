/* game_test.c: proves what W3 rests on: that the generator's players log in through loss, and again
 * when they were refused for the moment; that what they send is what a client would send (a
 * protobuf library reads it, and a batch repeats the inputs of the one before); that a number left
 * out of ViewChange.sequence, a tick without an update and a disconnect are each seen and counted;
 * that the engine never misses an acknowledgement for long; and that a file of tickets is read as
 * it was written. The far end is the real engine. */
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>
#include <cmocka.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

#include "common/mono.h"
#include "dataplane/enet/raw_engine.h"
#include "dataplane/lean_client.h"
#include "perf/gen/game.h"
#include "proto/client.pb-c.h"
#include "proto/message_types.h"

#define CLIENTS   20u
#define GIVE_UP_S 30u

static struct {
	struct raw_engine raw;
	struct game *game;
	struct game_tickets tickets;
	uint8_t out[FLOW_DATAGRAM_MAX];
	uint32_t lose, chance; /* one of so many is lost, both ways; 0: none */
	uint64_t now_ns;
	uint64_t peers[CLIENTS];
	uint32_t peer_count, inputs;
	bool silent; /* no Joined */
	uint32_t attacks;
	uint32_t refuse; /* so many Hellos are refused, to be tried again in refuse_ms */
	uint32_t refuse_ms;
	/* what the last batch of each client held, by sequence */
	int8_t dx[CLIENTS][256], dy[CLIENTS][256];
	uint32_t newest[CLIENTS];
} world;

static bool lost(void)
{
	world.chance = world.chance * 1664525 + 1013904223;
	return world.lose && (world.chance >> 16) % world.lose == 0;
}

static void check_batch(uint32_t client, const uint8_t *payload, uint32_t bytes)
{
	Sw__InputBatch *batch = sw__input_batch__unpack(NULL, bytes - 1, payload + 1);
	uint32_t first, newest;

	assert_int_equal(payload[0], SW_MSG_INPUT);
	assert_non_null(batch);
	first = batch->first_sequence;
	newest = first + (uint32_t)batch->n_inputs - 1;
	assert_int_equal(newest, world.newest[client] + 1);
	assert_int_equal(batch->n_inputs, newest < 8 ? newest : 8);
	for (uint32_t i = 0; i < batch->n_inputs; i++) {
		int8_t *dx = &world.dx[client][(first + i) % 256];
		int8_t *dy = &world.dy[client][(first + i) % 256];

		assert_in_range(batch->inputs[i]->dx + 127, 0, 254);
		assert_in_range(batch->inputs[i]->dy + 127, 0, 254);
		if (first + i < newest) { /* as it was told before */
			assert_int_equal(batch->inputs[i]->dx, *dx);
			assert_int_equal(batch->inputs[i]->dy, *dy);
		}
		*dx = (int8_t)batch->inputs[i]->dx;
		*dy = (int8_t)batch->inputs[i]->dy;
	}
	world.newest[client] = newest;
	world.inputs++;
	sw__input_batch__free_unpacked(batch, NULL);
}

static uint8_t *begin(void *ctx, uint32_t client)
{
	(void)ctx;
	(void)client;
	return world.out;
}

static void end(void *ctx, uint32_t client, uint32_t bytes)
{
	struct sw_enet_addr from = raw_source(client + 1);
	uint32_t at = 4;

	(void)ctx;
	while (at < bytes) {
		const uint8_t *p = world.out + at;
		uint32_t number = p[0] & 0xf, data = 0;

		if (number == 6)
			data = lean_get16(p + 4);
		if (number == 7) {
			data = lean_get16(p + 6);
			check_batch(client, p + 8, data);
		}
		at += lean_command_bytes((uint8_t)number) + data;
	}
	assert_int_equal(at, bytes);
	if (!lost())
		raw_rx(&world.raw, &from, world.out, bytes);
}

static void make_with(enum game_walk walk, uint32_t storm)
{
	const struct flow_ops ops = {.begin = begin, .end = end};
	struct game_config config = {.clients = CLIENTS,
		.ids = 4095,
		.login_rate = 100,
		.storm = storm,
		.storm_rate = 1000,
		.give_up_s = GIVE_UP_S,
		.hz = 20,
		.walk = walk,
		.tickets = &world.tickets};

	memset(&world, 0, sizeof(world));
	world.tickets = (struct game_tickets){.count = CLIENTS,
		.bytes = calloc(CLIENTS, sizeof(*world.tickets.bytes)),
		.ticket = calloc(CLIENTS, sizeof(*world.tickets.ticket))};
	for (uint32_t i = 0; i < CLIENTS; i++)
		world.tickets.bytes[i] = 180;
	raw_new(&world.raw, &(struct sw_enet_config){.peers_max = CLIENTS, .half_open_max = 64});
	world.now_ns = world.raw.now_ms * NS_PER_MS;
	world.game = game_new(&config, &ops);
	assert_non_null(world.game);
}

static void make(enum game_walk walk)
{
	make_with(walk, 0);
}

static void unmake(void)
{
	game_free(world.game);
	game_tickets_free(&world.tickets);
	raw_free(&world.raw);
}

static void send_to(
	uint64_t peer, uint8_t channel, uint32_t flags, const uint8_t *bytes, uint32_t n)
{
	assert_int_equal(sw_enet_send(world.raw.engine, peer, channel, flags, bytes, n), 0);
}

static void refuse(uint64_t peer)
{
	uint8_t refused[64] = {SW_MSG_REFUSED};
	Sw__Refused message = SW__REFUSED__INIT;

	world.refuse--;
	message.reason = SW_REASON_TRY_LATER;
	message.text = "the login service cannot answer now";
	message.retry_after_ms = world.refuse_ms;
	send_to(peer, SW_CHANNEL_SESSION, SW_ENET_RELIABLE, refused,
		(uint32_t)sw__refused__pack(&message, refused + 1) + 1);
	assert_int_equal(sw_enet_disconnect(world.raw.engine, peer, SW_ENET_DISCONNECT_LATER,
				 SW_REASON_TRY_LATER, SW_ENET_GONE_LOCAL),
		0);
}

/* The server's part: Joined for each Hello. */
static void answer(void)
{
	static const uint8_t joined[] = {SW_MSG_JOINED, 1 << 3, 7};

	for (uint32_t i = 0; i < world.raw.delivered_count; i++) {
		const struct raw_delivery *d = &world.raw.delivered[i];

		world.attacks += d->first == SW_MSG_ATTACK;
		if (d->first != SW_MSG_HELLO)
			continue;
		if (world.refuse) {
			refuse(d->peer);
			continue;
		}
		assert_true(world.peer_count < CLIENTS);
		world.peers[world.peer_count++] = d->peer;
		if (!world.silent)
			send_to(d->peer, SW_CHANNEL_SESSION, SW_ENET_RELIABLE, joined,
				sizeof(joined));
	}
	world.raw.delivered_count = 0;
}

static void carry(void)
{
	static struct raw_datagram sent[RAW_SENT_MAX];
	uint32_t n = world.raw.sent_count;

	assert_true(n < RAW_SENT_MAX);
	memcpy(sent, world.raw.sent, n * sizeof(sent[0]));
	answer();
	raw_forget(&world.raw);
	for (uint32_t i = 0; i < n; i++) {
		for (uint32_t client = 0; client < CLIENTS; client++) {
			struct sw_enet_addr address = raw_source(client + 1);

			if (memcmp(address.ip, sent[i].to.ip, 16) ||
				address.port != sent[i].to.port || lost())
				continue;
			game_receive(world.game, client, sent[i].data, sent[i].bytes, world.now_ns);
		}
	}
}

static void step(uint32_t ms)
{
	for (uint32_t i = 0; i < ms; i++) {
		world.now_ns += NS_PER_MS;
		game_step(world.game, 64, world.now_ns);
		carry();
		raw_service(&world.raw, 1);
		carry();
	}
}

static const struct game_counters *joined(void)
{
	for (uint32_t i = 0; i < 40 && game_waiting(world.game); i++)
		step(500);
	assert_int_equal(game_playing(world.game), CLIENTS);
	assert_int_equal(world.peer_count, CLIENTS);
	return game_counters(world.game);
}

static void players_log_in_through_loss(void **state)
{
	static const uint32_t lose[] = {0, 4, 7};

	(void)state;
	for (uint32_t i = 0; i < sizeof(lose) / sizeof(lose[0]); i++) {
		make(GAME_WALK_UNIFORM);
		world.lose = lose[i];
		assert_int_equal(joined()->joined, CLIENTS);
		assert_int_equal(game_counters(world.game)->refused, 0);
		unmake();
	}
}

static void who_is_refused_for_the_moment_comes_again(void **state)
{
	(void)state;
	make(GAME_WALK_UNIFORM);
	world.refuse = 7;
	world.refuse_ms = 1500;
	joined();
	assert_int_equal(game_counters(world.game)->joined, CLIENTS);
	assert_int_equal(game_counters(world.game)->retries, 7);
	assert_int_equal(game_counters(world.game)->refused, 0);
	step(2000);
	assert_int_equal(game_playing(world.game), CLIENTS);
	unmake();
	make(GAME_WALK_UNIFORM);
	world.refuse = 3; /* for good */
	step(5000);
	assert_int_equal(game_waiting(world.game), 0);
	assert_int_equal(game_playing(world.game), CLIENTS - 3);
	assert_int_equal(game_counters(world.game)->refused, 3);
	assert_int_equal(game_counters(world.game)->retries, 0);
	assert_int_equal(game_last_reason(world.game), SW_REASON_TRY_LATER);
	unmake();
}

static void inputs_come_at_their_rate(void **state)
{
	uint32_t before;
	uint64_t retransmitted;

	(void)state;
	for (uint32_t walk = GAME_WALK_UNIFORM; walk <= GAME_WALK_GAME; walk++) {
		make((enum game_walk)walk);
		joined();
		step(2000); /* the first round trips are short: then some answers look late */
		before = world.inputs;
		retransmitted = raw_count(&world.raw, SW_ENET_C_RETRANSMITTED);
		step(10000);
		assert_in_range(
			world.inputs - before, 200 * CLIENTS - CLIENTS, 200 * CLIENTS + CLIENTS);
		/* what the engine had acknowledged late it would have sent again */
		assert_int_equal(raw_count(&world.raw, SW_ENET_C_RETRANSMITTED), retransmitted);
		assert_int_equal(game_counters(world.game)->disconnects, 0);
		unmake();
	}
}

/* To the first client: a monster so far east of it; it stands at 0, 0. */
static void say_monster(int32_t x_mm)
{
	Sw__ViewChange message = SW__VIEW_CHANGE__INIT;
	Sw__ActorEnter enter = SW__ACTOR_ENTER__INIT, *enters[] = {&enter};
	Sw__EntityState state = SW__ENTITY_STATE__INIT;
	uint8_t bytes[128] = {SW_MSG_VIEW_CHANGE};

	state.actor_id = 100;
	state.x_mm = x_mm;
	enter.state = &state;
	enter.kind = SW__ACTOR_KIND__MONSTER;
	enter.name = "slime";
	message.tick = 9;
	message.sequence = 1;
	message.n_enter = 1;
	message.enter = enters;
	send_to(world.peers[0], SW_CHANNEL_EVENTS, SW_ENET_RELIABLE, bytes,
		(uint32_t)sw__view_change__pack(&message, bytes + 1) + 1);
	step(100);
}

static void say_view(uint32_t sequence)
{
	const uint8_t bytes[] = {SW_MSG_VIEW_CHANGE, 1 << 3, 9, 2 << 3, (uint8_t)sequence};

	send_to(world.peers[0], SW_CHANNEL_EVENTS, SW_ENET_RELIABLE, bytes, sizeof(bytes));
	step(100);
}

static void say_update(uint32_t tick)
{
	const uint8_t bytes[] = {SW_MSG_WORLD_UPDATE, 1 << 3, (uint8_t)tick};

	send_to(world.peers[0], SW_CHANNEL_WORLD, 0, bytes, sizeof(bytes));
	step(10);
}

/* Of a tick, with an input applied, to the first that came and to the last. */
static void say_update_to_both(uint32_t tick, uint32_t late, uint8_t input)
{
	uint8_t bytes[] = {SW_MSG_WORLD_UPDATE, 1 << 3, (uint8_t)tick, 2 << 3, input};

	send_to(world.peers[0], SW_CHANNEL_WORLD, 0, bytes, sizeof(bytes));
	bytes[2] = (uint8_t)(tick + late);
	send_to(world.peers[CLIENTS - 1], SW_CHANNEL_WORLD, 0, bytes, sizeof(bytes));
	step(10);
}

/* One input is left out for each second in which all updates say that some wait, and none when one
 * of them says that none does. */
static void who_is_too_fast_waits(void **state)
{
	static const struct {
		uint8_t waiting, one; /* one: of every tenth */
		uint32_t paced;
	} clocks[] = {{0, 0, 0}, {1, 1, 3}, {3, 1, 3}, {3, 0, 0}};

	(void)state;
	for (uint32_t i = 0; i < sizeof(clocks) / sizeof(clocks[0]); i++) {
		uint32_t before, inputs = 0;

		make(GAME_WALK_UNIFORM);
		joined();
		step(1000);
		before = world.newest[0];
		for (uint32_t tick = 0; tick < 70; tick++) {
			uint8_t bytes[] = {SW_MSG_WORLD_UPDATE, 1 << 3, (uint8_t)(tick + 1), 2 << 3,
				(uint8_t)world.newest[0], 5 << 3,
				tick % 10 == 9 ? clocks[i].one : clocks[i].waiting};

			send_to(world.peers[0], SW_CHANNEL_WORLD, 0, bytes, sizeof(bytes));
			step(50);
			inputs++;
		}
		assert_in_range(
			game_counters(world.game)->inputs_paced, clocks[i].paced, clocks[i].paced);
		assert_in_range(world.newest[0] - before + clocks[i].paced, inputs - 1, inputs + 1);
		unmake();
	}
}

/* Actions are reliable: through loss, each arrives once and in order, or is said again. */
static void actions_arrive_through_loss(void **state)
{
	static const uint32_t lose[] = {0, 5};

	(void)state;
	for (uint32_t i = 0; i < sizeof(lose) / sizeof(lose[0]); i++) {
		const struct game_counters *counters;

		make(GAME_WALK_GAME);
		counters = joined();
		say_monster(1000);
		step(1100);
		say_update(50); /* it looks around */
		world.lose = lose[i];
		step(9000);
		world.lose = 0;
		step(2000);
		/* One blow each 21 inputs of 20 a second, less what waited to be said again. */
		assert_in_range(counters->attacks, lose[i] ? 5 : 9, 10);
		assert_int_equal(world.attacks, counters->attacks);
		if (lose[i])
			assert_in_range(counters->actions_repeated, 1, counters->attacks);
		else
			assert_int_equal(counters->actions_repeated, 0);
		assert_int_equal(counters->disconnects, 0);
		unmake();
	}
}

static void what_is_missing_is_counted(void **state)
{
	const struct game_counters *counters;
	static uint8_t large[4000] = {SW_MSG_VIEW_CHANGE, 1 << 3, 9, 2 << 3, 6};

	(void)state;
	make(GAME_WALK_UNIFORM);
	counters = joined();
	say_view(1);
	say_view(2);
	assert_int_equal(counters->reliable_lost, 0);
	say_view(5);
	assert_int_equal(counters->reliable_lost, 2);
	/* one in fragments */
	send_to(world.peers[0], SW_CHANNEL_EVENTS, SW_ENET_RELIABLE, large, sizeof(large));
	step(500);
	assert_int_equal(counters->reliable_lost, 2);
	assert_int_equal(counters->view_changes, 4);
	say_update(50);
	say_update(51);
	assert_int_equal(counters->updates_missed, 0);
	say_update(54);
	assert_int_equal(counters->updates_missed, 2);
	say_update(53);
	assert_int_equal(counters->updates_old, 1);
	assert_int_equal(counters->updates, 3);
	assert_int_equal(sw_enet_disconnect(world.raw.engine, world.peers[0],
				 SW_ENET_DISCONNECT_NOW, 15, SW_ENET_GONE_LOCAL),
		0);
	step(100);
	assert_int_equal(counters->disconnects, 1);
	assert_int_equal(game_last_reason(world.game), 15);
	assert_int_equal(counters->unreadable, 0);
	unmake();
}

/* Peers are numbered as they come: the first is a settled player, the last one of the storm. */
static void the_storm_waits_and_is_told_apart(void **state)
{
	enum { STORM = 12, SETTLED = CLIENTS - STORM };
	const struct game_counters *counters;

	(void)state;
	make_with(GAME_WALK_UNIFORM, STORM);
	counters = game_counters(world.game);
	step(3000);
	assert_int_equal(counters->joined, SETTLED);
	assert_int_equal(counters->connects, SETTLED);
	assert_int_equal(game_storm_latency(world.game)->count, 0);
	game_storm(world.game, world.now_ns);
	assert_int_equal(game_waiting(world.game), STORM);
	step(1000);
	assert_int_equal(game_waiting(world.game), 0);
	assert_int_equal(counters->joined, CLIENTS);
	assert_int_equal(game_storm_latency(world.game)->count, STORM);
	assert_in_range(game_storm_latency(world.game)->max_ns, STORM * NS_PER_MS - NS_PER_MS, NS_PER_S);
	say_update_to_both(50, 0, 2);
	say_update_to_both(53, 1, 3);
	assert_int_equal(counters->updates, 4);
	assert_int_equal(counters->updates_missed, 5);
	assert_int_equal(counters->settled_missed, 2);
	assert_int_equal(game_latency(world.game)->count, 2);
	for (uint32_t i = 0; i < CLIENTS; i += CLIENTS - 1)
		sw_enet_disconnect(world.raw.engine, world.peers[i], SW_ENET_DISCONNECT_NOW, 15,
			SW_ENET_GONE_LOCAL);
	step(100);
	assert_int_equal(counters->disconnects, 2);
	assert_int_equal(counters->settled_disconnects, 1);
	unmake();
}

static void who_gets_no_answer_gives_up(void **state)
{
	(void)state;
	make(GAME_WALK_UNIFORM);
	world.silent = true;
	step(GIVE_UP_S * 1000 + 2000);
	assert_int_equal(game_waiting(world.game), 0);
	assert_int_equal(game_counters(world.game)->unanswered, CLIENTS);
	unmake();
}

static void tickets_are_read(void **state)
{
	char path[] = "/tmp/game-tickets-XXXXXX";
	int fd = mkstemp(path);
	struct game_tickets tickets;
	static const char text[] = "AAEC/w==\nc3Rvcm13ZWly\n!\n";

	(void)state;
	assert_true(fd >= 0);
	assert_int_equal(write(fd, text, sizeof(text) - 1), sizeof(text) - 1);
	close(fd);
	assert_true(game_tickets_load(&tickets, path, 2));
	assert_int_equal(tickets.bytes[0], 4);
	assert_memory_equal(tickets.ticket[0], "\0\1\2\xff", 4);
	assert_int_equal(tickets.bytes[1], 9);
	assert_memory_equal(tickets.ticket[1], "stormweir", 9);
	game_tickets_free(&tickets);
	assert_false(game_tickets_load(&tickets, path, 3)); /* the third is none */
	unlink(path);
	assert_false(game_tickets_load(&tickets, path, 1));
}

int main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test(players_log_in_through_loss),
		cmocka_unit_test(who_is_refused_for_the_moment_comes_again),
		cmocka_unit_test(inputs_come_at_their_rate),
		cmocka_unit_test(who_is_too_fast_waits),
		cmocka_unit_test(actions_arrive_through_loss),
		cmocka_unit_test(what_is_missing_is_counted),
		cmocka_unit_test(the_storm_waits_and_is_told_apart),
		cmocka_unit_test(who_gets_no_answer_gives_up),
		cmocka_unit_test(tickets_are_read),
	};

	return cmocka_run_group_tests(tests, NULL, NULL);
}
