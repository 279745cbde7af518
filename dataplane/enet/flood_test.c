/* flood_test.c: proves that a hundred players who exchange reliable packets notice no flood: of
 * invented CONNECTs, half-open clients that never finish, one source with thousands of connects,
 * repeats, random bytes, truncated fragments, stale and guessed acknowledgements, a peer at full
 * speed. Nothing of theirs is lost or sent again, nobody is disconnected, no answer is larger than
 * what drew it, and every refused datagram is in exactly one counter of refusals. And that players
 * who drop during a flood of a hundred times the rate of new connects get back in, also when it
 * comes in a player's name.
 */
#include <inttypes.h>
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>

#include <cmocka.h>

#include "dataplane/enet/crowd.h"
#include "dataplane/enet/raw_engine.h"

#define PLAYERS    100u
#define PER_SOURCE 10u
#define ROGUE      PLAYERS       /* a connected client that attacks */
#define NEWCOMER   (PLAYERS + 1) /* connects when the flood is over */
#define PER_MS     100u
#define PEER_RATE  2000u
#define FLOOD_MS   500u
#define AFTER_MS   4000u /* until half-open entries may be evicted */

static struct crowd crowd;
static uint64_t random_state;

static uint32_t draw(void)
{
	random_state ^= random_state << 13;
	random_state ^= random_state >> 7;
	random_state ^= random_state << 17;
	return (uint32_t)(random_state >> 16);
}

/* Someone who is not of the crowd. */
static struct sw_enet_addr stranger(uint32_t number)
{
	return (struct sw_enet_addr){.ip = {[10] = 0xff,
					     [11] = 0xff,
					     [12] = 198,
					     [13] = (uint8_t)(18 + (number >> 16 & 1)),
					     [14] = (uint8_t)(number >> 8),
					     [15] = (uint8_t)number},
		.port = (uint16_t)(1024 + number % 60000)};
}

/* --- one datagram each of a flood; number counts them --- */

static uint32_t spoofed(uint32_t number, struct sw_enet_addr *from, uint8_t *out)
{
	(void)number;
	*from = stranger(draw());
	return raw_connect_bytes(out, draw(), 1 + draw() % 255, draw());
}

static uint32_t half_open(uint32_t number, struct sw_enet_addr *from, uint8_t *out)
{
	*from = stranger(number % 5000);
	return raw_connect_bytes(out, number % 5000, 4, 0);
}

static uint32_t one_source(uint32_t number, struct sw_enet_addr *from, uint8_t *out)
{
	*from = stranger(1);
	from->port = (uint16_t)(1024 + number % 60000);
	return raw_connect_bytes(out, number, 4, 0);
}

static uint32_t one_port(uint32_t number, struct sw_enet_addr *from, uint8_t *out)
{
	*from = stranger(1);
	return raw_connect_bytes(out, number, 4, 0);
}

static uint32_t repeated(uint32_t number, struct sw_enet_addr *from, uint8_t *out)
{
	(void)number;
	*from = stranger(1);
	return raw_connect_bytes(out, 7, 4, 0);
}

/* CONNECT of a player's own connection again, from its own address: no second peer, no answer. */
static uint32_t players_connect(uint32_t number, struct sw_enet_addr *from, uint8_t *out)
{
	uint32_t player = number % PLAYERS;
	uint32_t bytes = raw_connect_bytes(out, 0, 4, 0);

	*from = crowd_address(&crowd, player);
	memcpy(out + 44, &crowd.clients[player].lean.connect_id, 4);
	return bytes;
}

static uint32_t random_bytes(uint32_t number, struct sw_enet_addr *from, uint8_t *out)
{
	uint32_t bytes = draw() % 200;

	(void)number;
	*from = stranger(draw() % 1000);
	for (uint32_t i = 0; i < bytes; i++)
		out[i] = (uint8_t)draw();
	return bytes;
}

/* Compressed nonsense without peer id: what a decoder must refuse. */
static uint32_t random_compressed(uint32_t number, struct sw_enet_addr *from, uint8_t *out)
{
	uint32_t bytes = random_bytes(number, from, out);

	if (bytes < 4)
		bytes = 4;
	wire_put16(out, WIRE_SENT_TIME | WIRE_COMPRESSED | WIRE_NO_PEER);
	return bytes;
}

static uint8_t *rogue_header(struct sw_enet_addr *from, uint8_t *out)
{
	*from = crowd_address(&crowd, ROGUE);
	return lean_head(&crowd.clients[ROGUE].lean, out, (uint32_t)crowd.now_ms);
}

/* From a connected client: every length at which a fragment can be cut, impossible numbers too. */
static uint32_t truncated(uint32_t number, struct sw_enet_addr *from, uint8_t *out)
{
	static const uint8_t data[40];
	uint8_t *p = rogue_header(from, out), *end;
	bool reliable = number & 1;
	uint32_t count = number % 7 ? 1 + number % 50 : draw(), whole;

	end = raw_put_fragment(p, reliable, (uint8_t)(number % 5), (uint16_t)draw(),
		(uint16_t)draw(), count, draw() % 64, number % 3 ? draw() % 4000 : draw(),
		draw() % 4000, data, sizeof data);
	whole = (uint32_t)(end - out);
	return 4 + draw() % (whole - 4);
}

/* From a connected client: first pieces of packets that never become whole. */
static uint32_t unfinished(uint32_t number, struct sw_enet_addr *from, uint8_t *out)
{
	static const uint8_t data[500];
	uint8_t *p = rogue_header(from, out);
	uint16_t seq = (uint16_t)(2 + number * 4 % 8000);

	return (uint32_t)(raw_put_fragment(
				  p, number & 1, 1, seq, seq, 4, 0, 2000, 0, data, sizeof data) -
			  out);
}

/* From a connected client: acknowledgements of what was never sent, or long ago, or in time to
 * come.
 */
static uint32_t stale(uint32_t number, struct sw_enet_addr *from, uint8_t *out)
{
	uint8_t *p = rogue_header(from, out);

	p = wire_put_command(p, WIRE_ACKNOWLEDGE, number % 3 ? number % 6 : 0xff, draw() & 0xffff);
	wire_put16(p, draw() & 0xffff);
	wire_put16(p + 2, draw() & 0xffff);
	return 12;
}

/* From a connected client: nothing but valid pings, as fast as they come. */
static uint32_t full_speed(uint32_t number, struct sw_enet_addr *from, uint8_t *out)
{
	uint8_t *p = rogue_header(from, out);

	return (uint32_t)(wire_put_command(p, WIRE_PING | WIRE_ACK_FLAG, WIRE_CONTROL_CHANNEL,
				  (2 + number) & 0xffff) -
			  out);
}

/* A peer id that no client of the player's source address and port has. */
static uint16_t nobodys_id(uint32_t player)
{
	uint32_t first = player / PER_SOURCE * PER_SOURCE;
	uint16_t id = (uint16_t)(draw() % 4095);

	for (uint32_t i = first; i < first + PER_SOURCE; i++)
		if (crowd.clients[i].lean.peer_id == id)
			return nobodys_id(player);
	return id;
}

/* In a player's name, without its session: acknowledgements, and a DISCONNECT. */
static uint32_t in_its_name(uint32_t number, struct sw_enet_addr *from, uint8_t *out)
{
	struct lean_client lean = crowd.clients[number % PLAYERS].lean;
	uint8_t *p;

	*from = crowd_address(&crowd, number % PLAYERS);
	if (number & 1)
		lean.session = (lean.session + 1 + number / 2 % 3) & 3;
	else
		lean.peer_id = nobodys_id(number % PLAYERS);
	if (number & 2)
		return lean_disconnect(&lean, 0, (uint32_t)crowd.now_ms, out);
	p = lean_head(&lean, out, (uint32_t)crowd.now_ms);
	wire_put_command(p, WIRE_ACKNOWLEDGE, 0xff, draw() & 0xffff);
	wire_put16(p + 4, draw() & 0xffff);
	wire_put16(p + 6, draw() & 0xffff);
	return 12;
}

/* Guesses at the acknowledgement that would make a peer of an invented source. */
static uint32_t guessed(uint32_t number, struct sw_enet_addr *from, uint8_t *out)
{
	struct raw_client client = {.session = draw() & 3, .peer_id = (uint16_t)(draw() % 4095)};
	uint8_t *p;

	*from = stranger(number / 100 % 50);
	if (number % 100 == 0)
		return raw_connect_bytes(out, number / 100 % 50, 4, 0);
	p = raw_header(&client, out, 1);
	wire_put_command(p, WIRE_ACKNOWLEDGE, 0xff, draw() & 0xffff);
	wire_put16(p + 4, draw() & 0xffff);
	wire_put16(p + 6, draw() & 0xffff);
	return 12;
}

static const struct flood {
	const char *name;
	uint32_t (*next)(uint32_t number, struct sw_enet_addr *from, uint8_t *out);
	bool strangers; /* who never finish a handshake: answered at most as long as they ask */
	bool by_rogue;
	enum sw_enet_counter most; /* the refusal that most of it must meet; NONE: several */
} floods[] = {
	{"spoofed CONNECTs", spoofed, true, false, SW_ENET_C_CONNECT_RATE},
	{"half-open exhaustion", half_open, true, false, SW_ENET_C_NONE},
	{"one source", one_source, true, false, SW_ENET_C_CONNECT_SOURCE_RATE},
	{"one source and port", one_port, true, false, SW_ENET_C_CONNECT_SOURCE_RATE},
	{"repeats", repeated, true, false, SW_ENET_C_CONNECT_SOURCE_RATE},
	{"players' CONNECTs", players_connect, true, false, SW_ENET_C_CONNECT_SOURCE_RATE},
	{"random bytes", random_bytes, true, false, SW_ENET_C_UNKNOWN_PEER},
	{"compressed nonsense", random_compressed, true, false, SW_ENET_C_NONE},
	{"truncated fragments", truncated, false, true, SW_ENET_C_NONE},
	{"unfinished fragments", unfinished, false, true, SW_ENET_C_NONE},
	{"stale acknowledgements", stale, false, true, SW_ENET_C_NONE},
	{"a peer at full speed", full_speed, false, true, SW_ENET_C_PEER_RATE},
	{"in a player's name", in_its_name, true, false, SW_ENET_C_NONE},
	{"guessed acknowledgements", guessed, true, false, SW_ENET_C_NONE},
};

struct outcome {
	uint64_t sent, refused, request_bytes, reply_bytes;
	uint64_t by_counter; /* refusals by the engine's own count */
};

static void attack(const struct flood *flood, uint32_t number, struct outcome *outcome)
{
	uint8_t bytes[4096];
	struct sw_enet_datagram d = {.data = bytes};
	uint64_t out = crowd.out_bytes;

	d.bytes = flood->next(number, &d.from, bytes);
	sw_enet_rx(crowd.engine, &d, 1, NULL, crowd.now_ms);
	outcome->sent++;
	outcome->refused += d.refused != 0;
	outcome->request_bytes += d.bytes;
	/* nothing but stateless answers leaves inside sw_enet_rx */
	outcome->reply_bytes += crowd.out_bytes - out;
	if (flood->strangers && flood->next != guessed)
		assert_true(crowd.out_bytes - out <= d.bytes);
}

static void one_flood(void **state)
{
	const struct flood *flood = *state;
	struct outcome outcome = {0};
	uint64_t refusals;

	random_state = 0x9e3779b97f4a7c15;
	/* limits such that the half-open table, not only the rates, is reached */
	assert_true(crowd_new(&crowd,
		&(struct sw_enet_config){.peers_max = 2 * PLAYERS,
			.half_open_max = 64,
			.compression = SW_ENET_ANY,
			.checksum = SW_ENET_ANY,
			.connects_per_s = 2000,
			.connects_burst = 2000,
			.source_connects_per_s = 20,
			.source_connects_burst = 200,
			.peer_datagrams_per_s = flood->most == SW_ENET_C_PEER_RATE ? PEER_RATE : 0,
			.pool_bytes = 8 << 20},
		PLAYERS + 2, PER_SOURCE));
	crowd_connect_all(&crowd, 0, PLAYERS + 1);
	assert_int_equal(sw_enet_peers(crowd.engine), PLAYERS + 1);
	assert_int_equal(crowd_refusals(&crowd), 0);

	for (uint32_t ms = 0; ms < FLOOD_MS; ms++) {
		for (uint32_t i = 0; i < PER_MS; i++)
			attack(flood, ms * PER_MS + i, &outcome);
		for (uint32_t i = ms % 10; i < PLAYERS; i += 10)
			crowd_message(&crowd, i);
		crowd_pump(&crowd);
		crowd_run(&crowd, 1, 1);
	}
	outcome.by_counter = crowd_refusals(&crowd);
	print_message("%-25s %" PRIu64 " sent, %" PRIu64 " refused, %.3f bytes back a byte\n",
		flood->name, outcome.sent, outcome.refused,
		(double)outcome.reply_bytes / (double)outcome.request_bytes);

	assert_int_equal(outcome.by_counter, outcome.refused);
	assert_true(outcome.reply_bytes <= outcome.request_bytes);
	if (flood->most)
		assert_true(crowd_counter(&crowd, flood->most) * 2 > outcome.sent);
	if (flood->strangers)
		assert_true(outcome.refused * 10 > outcome.sent * 9);

	/* the players: nothing lost, nothing twice, nobody gone, no slot taken */
	assert_int_equal(crowd.disorder, 0);
	for (uint32_t i = 0; i < PLAYERS; i++) {
		assert_int_equal(crowd.clients[i].lean.state, LEAN_CONNECTED);
		assert_int_equal(crowd.clients[i].taken, FLOOD_MS / 10);
		assert_int_equal(crowd.clients[i].heard, FLOOD_MS / 10);
		assert_int_equal(crowd.clients[i].lean.acknowledged, FLOOD_MS / 10);
	}
	assert_int_equal(crowd.connected, PLAYERS + 1);
	assert_true(sw_enet_peers(crowd.engine) >= PLAYERS);
	for (uint32_t reason = 0; reason < SW_ENET_GONE_REASONS_COUNT; reason++)
		assert_true(crowd.gone[reason] <= (flood->by_rogue ? 1 : 0));

	/* and who wants in when it is over gets in */
	crowd_run(&crowd, AFTER_MS, 50);
	refusals = crowd_refusals(&crowd);
	crowd_connect(&crowd, NEWCOMER);
	crowd_pump(&crowd);
	assert_int_equal(crowd.clients[NEWCOMER].lean.state, LEAN_CONNECTED);
	assert_int_equal(crowd.connected, PLAYERS + 2);
	assert_int_equal(crowd_refusals(&crowd), refusals);
	crowd_free(&crowd);
}

/* --- who drops during a flood --- */

#define RATE       1000u /* connects a second */
#define ASK_MS     500u  /* a stock client's first repetition */
#define SPOOFED_MS 100u  /* datagrams: a hundred times the rate */

/* In a player's name: CONNECTs of its address, of ever new connections. */
static uint32_t players_address(uint32_t number, struct sw_enet_addr *from, uint8_t *out)
{
	*from = crowd_address(&crowd, 0);
	from->port = (uint16_t)(1024 + number % 60000);
	return raw_connect_bytes(out, draw(), 4, 0);
}

/* Runs the flood for ms, with somebody's CONNECT somewhere in it each time that one is due. */
static void flood_for(uint32_t ms, uint32_t *number, struct outcome *outcome)
{
	static const struct flood spoof = {.next = spoofed, .strangers = true};
	static const struct flood known = {.next = players_address, .strangers = true};
	uint32_t place = draw() % SPOOFED_MS;

	for (uint32_t end = *number + ms * SPOOFED_MS; *number < end; ++*number) {
		attack(*number % 10 ? &spoof : &known, *number, outcome);
		if (*number % SPOOFED_MS == place)
			crowd_pump(&crowd);
		if (*number % SPOOFED_MS < SPOOFED_MS - 1)
			continue;
		crowd_run(&crowd, 1, 1); /* whoever asks now finds what the flood has left */
		place = draw() % SPOOFED_MS;
	}
}

static bool in(uint32_t client)
{
	return crowd.clients[client].lean.state == LEAN_CONNECTED;
}

static void who_drops_gets_back_in(void **state)
{
	struct outcome outcome = {0};
	uint32_t number = 0, asked = 0, back = 0;

	(void)state;
	random_state = 0x1234567;
	assert_true(crowd_new(&crowd,
		&(struct sw_enet_config){.peers_max = 2 * PLAYERS,
			.returning_percent = 25,
			.half_open_max = 8192,
			.connects_per_s = RATE,
			.connects_burst = RATE,
			.source_connects_per_s = 20,
			.source_connects_burst = 50,
			.pool_bytes = 8 << 20},
		PLAYERS + 2, PER_SOURCE));
	crowd_connect_all(&crowd, 0, PLAYERS);
	assert_int_equal(sw_enet_peers(crowd.engine), PLAYERS);
	flood_for(500, &number, &outcome);
	assert_true(crowd_counter(&crowd, SW_ENET_C_CONNECT_RATE) > outcome.sent / 2);
	assert_int_equal(crowd_counter(&crowd, SW_ENET_C_CONNECT_TABLE), 0);

	/* the players but those of the first source, in whose name the flood comes, drop at once */
	crowd_connect(&crowd, NEWCOMER);
	for (uint32_t i = PER_SOURCE; i < PLAYERS; i++)
		crowd_leave(&crowd, i);
	flood_for(50, &number, &outcome);
	assert_int_equal(sw_enet_peers(crowd.engine), PER_SOURCE);
	for (uint32_t i = PER_SOURCE; i < PLAYERS; i++)
		crowd_connect(&crowd, i);
	flood_for(ASK_MS, &number, &outcome);
	for (uint32_t i = PER_SOURCE; i < PLAYERS; i++) {
		back += in(i);
		if (!in(i))
			crowd_connect(&crowd, i);
	}
	print_message("%u of %u are back at their first CONNECT\n", back, PLAYERS - PER_SOURCE);
	assert_true(back >= PLAYERS / 2);
	flood_for(ASK_MS, &number, &outcome);
	for (uint32_t i = PER_SOURCE; i < PLAYERS; i++)
		assert_true(in(i));

	/* who was never here takes its chance with the flood, and gets in by and by */
	while (!in(NEWCOMER) && asked < 5000) {
		if (asked++)
			crowd_connect(&crowd, NEWCOMER);
		flood_for(2, &number, &outcome);
	}
	print_message("a newcomer asked %u times\n", asked);
	assert_true(in(NEWCOMER));
	assert_int_equal(crowd_counter(&crowd, SW_ENET_C_CONNECT_TABLE), 0);
	assert_true(outcome.reply_bytes <= outcome.request_bytes);
	/* the flood in a player's name had its source's rate, and took no more of the share */
	assert_true(crowd_counter(&crowd, SW_ENET_C_CONNECTS_RETURNING) <=
		    50 + 20 * (number / SPOOFED_MS + 1000) / 1000 + 2 * PLAYERS);
	assert_int_equal(crowd.gone[SW_ENET_GONE_TIMEOUT], 0);
	for (uint32_t i = 0; i < PLAYERS; i++)
		assert_true(in(i));
	crowd_free(&crowd);
}

/* In peace the share that is kept is everyone's. */
static void the_share_is_everyones_in_peace(void **state)
{
	uint32_t verified = 0;

	(void)state;
	random_state = 0x1234567;
	assert_true(crowd_new(&crowd,
		&(struct sw_enet_config){.peers_max = 8192,
			.returning_percent = 25,
			.half_open_max = 8192,
			.connects_per_s = RATE,
			.connects_burst = RATE,
			.pool_bytes = 8 << 20},
		16, 1));
	for (uint32_t ms = 0; ms < 4000; ms++) {
		struct outcome outcome = {0};

		attack(&floods[0], ms, &outcome); /* as many as the whole rate */
		verified += outcome.refused == 0;
		crowd_run(&crowd, 1, 1);
	}
	assert_int_equal(verified, 4000);
	crowd_free(&crowd);
}

int main(void)
{
	struct CMUnitTest tests[sizeof floods / sizeof *floods + 2];
	struct CMUnitTest more[] = {cmocka_unit_test(who_drops_gets_back_in),
		cmocka_unit_test(the_share_is_everyones_in_peace)};

	for (size_t i = 0; i < sizeof floods / sizeof *floods; i++)
		tests[i] = (struct CMUnitTest){.name = floods[i].name,
			.test_func = one_flood,
			.initial_state = (void *)&floods[i]};
	tests[sizeof floods / sizeof *floods] = more[0];
	tests[sizeof floods / sizeof *floods + 1] = more[1];
	return cmocka_run_group_tests(tests, NULL, NULL);
}
