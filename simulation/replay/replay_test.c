/* Proves that a shard is a function of its seed, its messages and the times given, and that a
 * recording holds all of them: a random log (joins of the hurt and the dead, leaves, inputs, clicks
 * on a scripted NPC, garbage, transfers, takeovers, rooms that open, are closed and end, rings that
 * are full, ticks that come late; and a whole game: fights, loot, trades, quests, parties, a
 * battle) recorded while it runs gives the same hash in every tick when it is replayed, and the
 * same whole state at the end. And that the comparison can fail: one altered input, time or refused
 * push is found, in the tick it acts in. A recording that breaks off is replayed up to its last
 * whole step; another script is refused by name. */
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

#include <cmocka.h>

#include "simulation/instance.h"
#include "simulation/random.h"
#include "simulation/record.h"
#include "simulation/replay/replay.h"
#include "simulation/script/script.h"
#include "simulation/state.h"
#include "simulation/testing.h"
#include "simulation/testing_game.h"

#define CLIENTS    60u
#define ROOM_FIRST 1u
#define ROOMS      3u

static char content[] = "/tmp/sw-replay-XXXXXX";

struct rig {
	struct test_shard t;
	struct script_watchdog *watchdog;
	struct sim_instances *table;
	struct sim_record *record;
	uint8_t *bytes; /* the recording */
	size_t count, size;
	uint64_t random;
	uint64_t hash; /* of the whole state at the end */
	uint32_t generation[ROOMS];
	uint32_t sequence[CLIENTS];
};

static const char script[] =
	"local seen = {}\n"
	"npc { name = 'Tom', x = 20, y = 20,\n"
	"  on_tick = function(npc) npc:walk(math.random(-1, 1), math.random(-1, 1)) end,\n"
	"  on_click = function(npc, player)\n"
	"    seen[player.name .. math.random(4)] = true\n"
	"    local n = 0\n"
	"    for name in pairs(seen) do n = n + #name end\n"
	"    if math.random(3) == 1 then npc:send(player, 'arena')\n"
	"    else npc:say(player, 'Hello ' .. n) end\n"
	"  end }\n"
	"npc { name = 'Ann', x = 30, y = 20,\n"
	"  on_tick = function(npc) npc:walk(0.3, 0) end }\n";

static void write_script(const char *text)
{
	test_write(content, "meadow.lua", text);
}

static void keep(struct rig *r, const void *bytes, size_t count)
{
	if (r->count + count > r->size) {
		r->size = 2 * (r->count + count);
		r->bytes = realloc(r->bytes, r->size);
	}
	memcpy(r->bytes + r->count, bytes, count);
	r->count += count;
}

/* What the recorder does. */
static void collect(struct rig *r)
{
	uint8_t bytes[65536];
	uint32_t got;

	while ((got = byte_ring_pop(r->record->out, bytes, sizeof(bytes))))
		keep(r, bytes, got);
}

/* With the configuration as it is. */
static void start_recorded(struct rig *r, uint64_t seed)
{
	struct recording_header header = {.workers = r->t.workers};
	uint8_t bytes[RECORDING_HEADER_MAX];
	char error[512] = "";

	assert_int_equal(script_watchdog_start(&r->watchdog, 500000), 0);
	r->table = sim_instances_new(&r->t.config, r->watchdog, seed, error, sizeof(error));
	if (!r->table)
		fail_msg("%s", error);
	r->record = sim_record_new(1u << 22);
	r->t.links.instances = r->table;
	r->t.links.record = r->record;
	r->t.links.watchdog = r->watchdog;
	header.node_seed = header.seed = seed;
	header.start_ns = r->t.now_ns;
	sim_record_header(&r->t.config, &header);
	keep(r, bytes, recording_header_write(bytes, &header));
	test_start(&r->t, seed);
	test_open_instance(&r->t, instance_id(0, 1));
}

static void start(struct rig *r, uint64_t seed)
{
	memset(r, 0, sizeof(*r));
	r->random = seed;
	test_init(&r->t, 120, 50);
	r->t.workers = 2;
	/* Small, so that it is full at times: 60 clients' updates, not read for a while. */
	r->t.config.rings.slots = 256;
	r->t.config.map_count = 2;
	snprintf(r->t.config.simulation.content, CONFIG_PATH_BYTES, "%s", content);
	strcpy(r->t.config.maps[0].script, "meadow.lua");
	r->t.config.maps[0].monsters = 30;
	r->t.config.maps[0].instances_max = 1;
	r->t.config.maps[1] = (struct config_map){.name = "arena",
		.kind = CONFIG_MAP_ROOM,
		.rule = "timed",
		.match_s = 3,
		.empty_s = 2,
		.instances_max = ROOMS,
		.width_m = 64,
		.height_m = 64,
		.tick_hz = 15,
		.view_m = 40,
		.monsters = 5,
		.players_max = 8};
	start_recorded(r, seed);
}

static void stop(struct rig *r)
{
	test_end(&r->t);
	sim_instances_free(r->table);
	sim_record_free(r->record);
	script_watchdog_stop(r->watchdog);
}

static uint32_t below(struct rig *r, uint32_t n)
{
	return sim_random_below(&r->random, n);
}

static void join(struct rig *r, uint32_t c, const char *map)
{
	struct msg_player_join as = {.has_position = below(r, 2),
		.x_mm = 10000 + (int32_t)below(r, 25000), /* near the NPCs */
		.y_mm = 10000 + (int32_t)below(r, 25000),
		.return_map = "meadow",
		.return_x_mm = 5000,
		.return_y_mm = 5000};

	if (below(r, 2)) { /* hurt, or dead, some time ago */
		as.live = (struct msg_live){.at_ns = r->t.now_ns - below(r, 900) * NS_PER_MS,
			.missing = below(r, 90),
			.back_ms = below(r, 4) ? 0 : 1 + below(r, 3000),
			.ready_ms = below(r, 1000),
			.rested_ms = below(r, 9000)};
		as.return_live = as.live;
	}
	strcpy(as.map, map);
	test_join_as(&r->t, c, &as);
	r->sequence[c] = 0;
}

/* The same peer once more, or a newer one in its place whose word came before the older's end. */
static void join_over(struct rig *r, uint32_t c)
{
	struct msg_player_join body = {.session = 9000 + below(r, 100),
		.character_id = 5000 + c,
		.map = "meadow",
		.name = "Bob",
		.payload_bytes_max = 1300};
	struct msg message[5];
	uint64_t peer = test_peer(c);

	if (below(r, 2))
		peer = handle_make(handle_owner(peer), 8, handle_index(peer));
	memcpy(msg_begin(message, MSG_PLAYER_JOIN, peer, sizeof(body)), &body, sizeof(body));
	assert_true(msg_ring_push(r->t.links.from_control, message));
}

/* An operator's word, which may come when the instance has ended. */
static void close_instance(struct rig *r, uint32_t id)
{
	const struct msg_instance body = {.id = id};
	struct msg message;

	memcpy(msg_begin(&message, MSG_INSTANCE_CLOSE, HANDLE_NONE, sizeof(body)), &body,
		sizeof(body));
	assert_true(msg_ring_push(r->t.links.from_control, &message));
}

static void garbage(struct rig *r, uint32_t c)
{
	uint8_t bytes[40];
	uint32_t count = 1 + below(r, sizeof(bytes) - 1);

	for (uint32_t i = 0; i < count; i++)
		bytes[i] = (uint8_t)sim_random(&r->random);
	test_packet(&r->t, c, (uint8_t)below(r, 4), bytes, count);
}

/* What clients call one of the two NPCs. */
static uint32_t npc(struct rig *r)
{
	const struct sim_map *m = r->t.shard->by_number[0];

	return m ? m->entities[m->player_slots + below(r, m->npc_slots)].wire_id : 1;
}

static void something(struct rig *r)
{
	uint32_t c = below(r, CLIENTS), room;
	bool here = r->t.clients[c].here;

	switch (below(r, 20)) {
	case 0:
		if (!here)
			join(r, c, "meadow");
		else if (below(r, 3) == 0)
			join_over(r, c);
		break;
	case 1:
		if (here && below(r, 4) == 0)
			test_gone(&r->t, c);
		else if (below(r, 4) == 0) /* late, twice, of a stranger */
			test_gone(&r->t, c);
		break;
	case 2:
		if (below(r, 4) == 0)
			test_remove(&r->t, c, SW_REASON_REPLACED);
		break;
	case 3:
		if (here && below(r, 3) == 0)
			garbage(r, c);
		break;
	case 4:
	case 5:
		if (here) /* an NPC, or anybody, or nobody */
			test_click(&r->t, c, below(r, 2) ? npc(r) : 1 + below(r, 400));
		break;
	case 6:
		room = below(r, ROOMS);
		if (!r->t.shard->by_number[ROOM_FIRST + room] && below(r, 2))
			test_open_instance(
				&r->t, instance_id(ROOM_FIRST + room, ++r->generation[room]));
		else if (below(r, 8) == 0)
			close_instance(r, instance_id(ROOM_FIRST + room, r->generation[room]));
		break;
	case 7:
		if (!here)
			join(r, c, "arena");
		break;
	default:
		if (here && r->t.clients[c].joins) {
			uint32_t count = 1 + below(r, 3);

			test_input(&r->t, c, r->sequence[c] + 1, count, (int32_t)below(r, 180) - 90,
				(int32_t)below(r, 180) - 90);
			r->sequence[c] += count - (count > 1 && below(r, 4) == 0);
		}
	}
}

/* Seconds of the made-up life of a shard. Control's and the dataplane's side play by testing.c. */
static void live(struct rig *r, uint32_t ms)
{
	uint64_t end_ns = r->t.now_ns + ms * NS_PER_MS;

	while (r->t.now_ns < end_ns) {
		uint32_t act = below(r, 12), pause = below(r, 100);

		for (uint32_t i = 0; i < act; i++)
			something(r);
		if (pause == 0) /* the lcore was away: whole ticks are missed */
			r->t.now_ns += below(r, 400) * NS_PER_MS;
		else
			r->t.now_ns += below(r, 8000) * 1000;
		if (pause > 97) /* nobody empties the rings for a while */
			test_run_holding(&r->t, 350);
		for (uint32_t i = 0, steps = below(r, 6); i < steps; i++)
			sim_shard_step(r->t.shard, r->t.now_ns += below(r, 100000));
		if (below(r, 3))
			test_run(&r->t, 1 + below(r, 5));
		else
			test_run_holding(&r->t, 1 + below(r, 5));
		test_read_world(&r->t);
		test_read_control(&r->t);
		if (below(r, 2))
			test_read_dataplane(&r->t);
		collect(r);
	}
	r->hash = sim_shard_hash(r->t.shard);
	assert_false(byte_ring_closed(r->record->out));
}

static void put_end(struct rig *r)
{
	uint8_t bytes[RECORDING_ENTRY_MAX];

	keep(r, bytes,
		recording_entry_write(bytes, &(struct recording_entry){.kind = RECORDING_ENDED,
						     .end = RECORDING_END_STOPPED}));
}

/* Replays it; returns how it ended, and how many ticks agreed. */
static enum sim_replay_result replay(
	const struct rig *r, size_t count, uint64_t *ticks, uint64_t *hash)
{
	char error[512];
	struct sim_replay *p =
		sim_replay_new(r->bytes, count, &r->t.config, NULL, false, error, sizeof(error));
	enum sim_replay_result result;

	if (!p)
		fail_msg("%s", error);
	do {
		result = sim_replay_step(p);
	} while (result == SIM_REPLAY_STEPPED || result == SIM_REPLAY_TICKED);
	*ticks = sim_replay_view(p)->ticks;
	*hash = sim_shard_hash(sim_replay_view(p)->shard);
	if (result == SIM_REPLAY_BROKEN)
		print_message("%s\n", sim_replay_view(p)->text);
	sim_replay_free(p);
	return result;
}

/* Entries of a kind. */
static uint64_t entries(const struct rig *r, enum recording_kind kind)
{
	struct recording_reader reader;
	struct recording_header header;
	struct recording_entry e;
	enum recording_fault fault;
	uint64_t found = 0;

	assert_int_equal(recording_open(&reader, r->bytes, r->count, &header), 0);
	while (recording_next(&reader, &e, &fault))
		found += e.kind == kind;
	return found;
}

/* What the logs must have held, or they prove nothing of it. */
static const struct {
	const char *name;
	enum sim_counter counter;
} held[] = {
	{"joins", SIM_JOINS},
	{"joins refused", SIM_JOINS_REFUSED},
	{"stale leaves", SIM_LEAVES_STALE},
	{"transfers", SIM_TRANSFERS},
	{"rooms ended", SIM_INSTANCES_ENDED},
	{"rooms closed", SIM_INSTANCES_CLOSED},
	{"late ticks", SIM_TICKS_SKIPPED},
	{"clicks", SIM_ACTIONS},
	{"clicks refused", SIM_ACTIONS_REFUSED},
	{"reliable messages behind a full ring", SIM_RELIABLE_QUEUED},
};
#define HELD (sizeof(held) / sizeof(held[0]))

static void a_replay_agrees_in_every_tick(void **state)
{
	uint64_t sum[HELD] = {0}, refused = 0, garbled = 0;

	(void)state;
	for (uint64_t seed = 1; seed <= 4; seed++) {
		uint64_t ticks, hash;
		struct rig r;

		print_message("seed %llu\n", (unsigned long long)seed);
		start(&r, seed);
		live(&r, 8000);
		put_end(&r);
		for (uint32_t i = 0; i < HELD; i++)
			sum[i] += test_counter(&r.t, held[i].counter);
		for (uint32_t i = SIM_MALFORMED_EMPTY; i <= SIM_MALFORMED_INPUT_RANGE; i++)
			garbled += test_counter(&r.t, i);
		refused += entries(&r, RECORDING_REFUSED);
		stop(&r);
		assert_int_equal(replay(&r, r.count, &ticks, &hash), SIM_REPLAY_ENDED);
		assert_true(ticks > 100);
		assert_true(hash == r.hash);
		free(r.bytes);
	}
	for (uint32_t i = 0; i < HELD; i++) {
		print_message("%s: %llu\n", held[i].name, (unsigned long long)sum[i]);
		assert_true(sum[i] > 0);
	}
	print_message("refused pushes: %llu, garbage: %llu\n", (unsigned long long)refused,
		(unsigned long long)garbled);
	assert_true(refused > 0);
	assert_true(garbled > 0);
}

/* Blows, loot, bags, trades, quests, parties and a battle, too: none of them decides by anything
 * that is not in the recording. */
static void the_whole_game_is_replayed(void **state)
{
	char folder[] = "/tmp/sw-replay-game-XXXXXX";
	struct test_game game;
	uint64_t ticks, hash;
	struct rig r;

	(void)state;
	assert_non_null(mkdtemp(folder));
	test_game_write(folder);
	memset(&r, 0, sizeof(r));
	test_init(&r.t, 50, 60);
	test_game_config(&r.t, folder);
	start_recorded(&r, 7);
	test_open_instance(&r.t, TEST_GAME_ARENA);
	test_game_begin(&game, &r.t, 7);
	for (uint32_t round = 0; round < 400; round++) {
		test_run(&r.t, 100);
		test_game_round(&game);
		collect(&r);
	}
	test_game_happened(&r.t);
	r.hash = sim_shard_hash(r.t.shard);
	collect(&r);
	assert_false(byte_ring_closed(r.record->out));
	put_end(&r);
	stop(&r);
	assert_int_equal(replay(&r, r.count, &ticks, &hash), SIM_REPLAY_ENDED);
	assert_true(ticks > 800);
	assert_true(hash == r.hash);
	free(r.bytes);
	test_game_remove(folder);
	rmdir(folder);
}

/* The place of the n-th entry of a kind, from the middle of the recording on. */
static size_t find(const struct rig *r, enum recording_kind kind, uint32_t type)
{
	struct recording_reader reader;
	struct recording_header header;
	struct recording_entry e;
	enum recording_fault fault;
	size_t at;

	assert_int_equal(recording_open(&reader, r->bytes, r->count, &header), 0);
	for (at = reader.at; recording_next(&reader, &e, &fault); at = reader.at)
		if (at > r->count / 2 && e.kind == kind &&
			(kind != RECORDING_MESSAGE || e.message.type == type))
			return at;
	fail_msg("no entry of kind %d", kind);
	return 0;
}

static void what_is_altered_is_found(void **state)
{
	uint64_t ticks, all, hash;
	uint8_t *input;
	size_t at;
	struct rig r;

	(void)state;
	start(&r, 99);
	live(&r, 6000);
	put_end(&r);
	stop(&r);
	assert_int_equal(replay(&r, r.count, &all, &hash), SIM_REPLAY_ENDED);

	/* Which player's input counts is chance: one that stood in a queue that overflowed does
	 * not. So some bytes of payloads are tried in turn, and half of them must be found. */
	uint32_t found = 0, tried = 0;
	at = find(&r, RECORDING_MESSAGE, MSG_PEER_PACKET);
	for (; tried < 20; at++) {
		struct recording_reader reader = {.bytes = r.bytes,
			.count = r.count,
			.at = at,
			.workers = 2,
			.in_step = true};
		struct recording_entry e;
		enum recording_fault fault;

		while (recording_next(&reader, &e, &fault) &&
			(e.kind != RECORDING_MESSAGE || e.message.type != MSG_PEER_PACKET ||
				e.message.payload[0] != SW_MSG_INPUT))
			;
		at = reader.at - 1;
		input = (uint8_t *)e.message.payload + e.message.payload_bytes - 1;
		*input ^= 0x02; /* the last axis of its last input */
		found += replay(&r, r.count, &ticks, &hash) == SIM_REPLAY_DIFFERS && ticks < all &&
			 ticks > all / 3;
		*input ^= 0x02;
		tried++;
	}
	print_message("%u of %u altered inputs found\n", found, tried);
	assert_true(2 * found >= tried);

	at = find(&r, RECORDING_STEP, 0); /* a step's time, by the least: a shard reads it all */
	r.bytes[at + 1 + 3] ^= 0x40;      /* 1.07 s */
	assert_int_not_equal(replay(&r, r.count, &ticks, &hash), SIM_REPLAY_ENDED);
	r.bytes[at + 1 + 3] ^= 0x40;

	at = find(&r, RECORDING_TICK, 0);
	r.bytes[at + 9] ^= 1; /* its hash */
	assert_int_equal(replay(&r, r.count, &ticks, &hash), SIM_REPLAY_DIFFERS);
	r.bytes[at + 9] ^= 1;
	assert_int_equal(replay(&r, r.count, &ticks, &hash), SIM_REPLAY_ENDED);
	assert_int_equal(ticks, all);
	free(r.bytes);
}

/* A server that was killed: the file ends anywhere. */
static void a_recording_that_breaks_off(void **state)
{
	uint64_t ticks, all, hash;
	struct rig r;

	(void)state;
	start(&r, 7);
	live(&r, 2000);
	stop(&r);
	assert_int_equal(replay(&r, r.count, &all, &hash), SIM_REPLAY_ENDED);
	for (uint32_t i = 1; i < 20; i++) {
		assert_int_equal(replay(&r, r.count - i * 7, &ticks, &hash), SIM_REPLAY_ENDED);
		assert_true(ticks <= all);
	}
	free(r.bytes);
}

static void another_script_is_refused(void **state)
{
	struct sw_config other;
	char error[512];
	struct rig r;

	(void)state;
	start(&r, 3);
	live(&r, 200);
	put_end(&r);
	stop(&r);
	other = r.t.config;
	other.simulation.slice_us++;
	assert_null(sim_replay_new(r.bytes, r.count, &other, NULL, false, error, sizeof(error)));
	assert_string_equal(error, "made with another configuration");
	write_script("npc { name = 'Tom', x = 21, y = 20 }\n");
	assert_null(
		sim_replay_new(r.bytes, r.count, &r.t.config, NULL, false, error, sizeof(error)));
	assert_string_equal(error, "map meadow had another file, script or game data");
	struct sim_replay *p =
		sim_replay_new(r.bytes, r.count, &r.t.config, NULL, true, error, sizeof(error));
	assert_non_null(p);
	assert_string_equal(error, "map meadow had another file, script or game data");
	sim_replay_free(p);
	write_script(script);
	r.bytes[100] ^= 1; /* in the build id */
	assert_null(
		sim_replay_new(r.bytes, r.count, &r.t.config, NULL, false, error, sizeof(error)));
	assert_memory_equal(error, "made by other sources", 21);
	free(r.bytes);
}

int main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test(a_replay_agrees_in_every_tick),
		cmocka_unit_test(the_whole_game_is_replayed),
		cmocka_unit_test(what_is_altered_is_found),
		cmocka_unit_test(a_recording_that_breaks_off),
		cmocka_unit_test(another_script_is_refused),
	};
	char path[64];
	int failed;

	if (!mkdtemp(content))
		return 1;
	write_script(script);
	failed = cmocka_run_group_tests(tests, NULL, NULL);
	snprintf(path, sizeof(path), "%s/meadow.lua", content);
	unlink(path);
	rmdir(content);
	return failed;
}
