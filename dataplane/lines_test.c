/* Proves of fan-outs, with the real engine and the test's own time: how much of a turn they take
 * and how many a second there are; that a line is kept once for all its peers; that who is gone, or
 * came into a slot, gets nothing that was for another; that a peer that takes nothing costs the
 * others nothing and stays; that a delivery waits for memory, and for how long; that what the chat
 * thread says to one before a line is there before the line. */
#include <pthread.h>
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>
#include <stdlib.h>
#include <string.h>
#include <cmocka.h>

#include "common/chat.h"
#include "common/handle.h"
#include "common/mono.h"
#include "common/msg_ring.h"
#include "dataplane/counters.h"
#include "dataplane/enet/raw_engine.h"
#include "dataplane/lines.h"

#define PEERS 40u
#define BLOCK 128u

static struct raw_engine raw;
static struct raw_client clients[PEERS];
static uint64_t handles[PEERS];
static _Atomic uint64_t counters[DP_COUNTER_COUNT];
static struct msg_ring *ring;
static struct dp_lines *lines;
static uint64_t now_ns;

static void begin_with(const struct sw_enet_config *config, uint32_t per_s)
{
	raw_new(&raw, config);
	raw.quiet = true;
	for (uint32_t i = 0; i < PEERS; i++) {
		assert_true(raw_connect(&raw, &clients[i], 1 + i, 3));
		handles[i] = raw.handle;
		raw_service(&raw, 0);
	}
	memset(counters, 0, sizeof(counters));
	ring = msg_ring_new("lines", 4096);
	lines = dp_lines_new(ring, raw.engine, per_s, counters);
	assert_non_null(lines);
	now_ns = NS_PER_S;
}

static void begin(uint32_t per_s)
{
	const struct sw_enet_config config = {.peers_max = PEERS,
		.half_open_max = 64,
		.peer_queue_bytes = 4u << 20,
		.pool_bytes = 64u << 20};

	begin_with(&config, per_s);
}

static void end(void)
{
	dp_lines_free(lines);
	msg_ring_free(ring);
	raw_free(&raw);
}

static uint64_t counted(enum dp_counter counter)
{
	return counter_get(&counters[counter]);
}

static void push_line(uint32_t bytes)
{
	static struct msg_buffer message;
	uint8_t *payload = msg_begin(message.slot, MSG_CHAT_LINE, HANDLE_NONE, bytes);

	memset(payload, 0x90, bytes);
	message.slot->subject = now_ns;
	assert_true(msg_ring_push(ring, message.slot));
}

/* So many peers, one after the other and from the start again. */
static void push_to(uint32_t count)
{
	static struct msg_buffer message;
	uint8_t *payload =
		msg_begin(message.slot, MSG_CHAT_TO, HANDLE_NONE, count * sizeof(uint64_t));

	for (uint32_t i = 0; i < count; i++)
		memcpy(payload + i * sizeof(uint64_t), &handles[i % PEERS], sizeof(uint64_t));
	assert_true(msg_ring_push(ring, message.slot));
}

static bool turn(enum dp_lines_pace pace)
{
	dp_lines_take(lines);
	return dp_lines_send(lines, now_ns, pace);
}

/* Turns until nothing is left; the time goes on by a ms in each. */
static uint32_t turns(enum dp_lines_pace pace)
{
	uint32_t n = 0;

	while (turn(pace)) {
		n++;
		now_ns += NS_PER_MS;
		assert_true(n < 100000);
	}
	return n;
}

static void a_turn_takes_its_share(void **state)
{
	static const struct {
		enum dp_lines_pace pace;
		uint32_t deliveries;
	} paces[] = {{DP_LINES_FREE, 32}, {DP_LINES_BUSY, 8}, {DP_LINES_TICKING, 2}};

	(void)state;
	for (size_t i = 0; i < sizeof(paces) / sizeof(paces[0]); i++) {
		begin(100000000);
		push_line(200);
		push_to(1000);
		assert_true(turn(DP_LINES_HELD));
		assert_int_equal(counted(DP_C_CHAT_LINES), 0);
		assert_true(turn(paces[i].pace)); /* the line itself counts as one */
		assert_int_equal(counted(DP_C_CHAT_DELIVERIES), paces[i].deliveries - 1);
		now_ns += NS_PER_MS;
		assert_true(turn(paces[i].pace));
		assert_int_equal(counted(DP_C_CHAT_DELIVERIES), 2 * paces[i].deliveries - 1);
		turns(paces[i].pace);
		assert_int_equal(counted(DP_C_CHAT_DELIVERIES), 1000);
		assert_int_equal(counted(DP_C_CHAT_LINES), 1);
		end();
	}
}

static void a_second_has_so_many(void **state)
{
	uint64_t before;

	(void)state;
	begin(5000);
	push_line(200);
	push_to(1000);
	turn(DP_LINES_FREE);
	before = counted(DP_C_CHAT_DELIVERIES);
	assert_int_equal(before, 31); /* a turn at once, after a pause of whatever length */
	for (uint32_t ms = 0; ms < 100; ms++) {
		now_ns += NS_PER_MS;
		for (uint32_t i = 0; i < 10; i++)
			assert_true(turn(DP_LINES_FREE));
	}
	assert_int_equal(counted(DP_C_CHAT_DELIVERIES) - before, 500);
	end();
}

static void a_line_is_kept_once(void **state)
{
	(void)state;
	begin(100000000);
	push_line(1000);
	push_to(400);
	push_to(200);
	turns(DP_LINES_FREE);
	raw_service(&raw, 0);
	assert_int_equal(raw_count(&raw, SW_ENET_C_QUEUE_BYTES), (600 + 9) * BLOCK);
	/* the next one ends it: it is the peers' alone now */
	push_line(10);
	turns(DP_LINES_FREE);
	for (uint32_t i = 0; i < PEERS; i++)
		sw_enet_disconnect(
			raw.engine, handles[i], SW_ENET_DISCONNECT_NOW, 0, SW_ENET_GONE_LOCAL);
	raw_service(&raw, 0);
	assert_int_equal(raw_count(&raw, SW_ENET_C_QUEUE_BYTES), 0);
	assert_int_equal(dp_lines_delay(lines)->bucket[0] + counted(DP_C_CHAT_LINES), 2);
	end();
}

static void who_is_gone_gets_nothing(void **state)
{
	uint64_t gone;

	(void)state;
	begin(100000000);
	push_line(200);
	push_to(PEERS);
	turn(DP_LINES_TICKING); /* one has it */
	gone = handles[PEERS - 1];
	sw_enet_disconnect(raw.engine, gone, SW_ENET_DISCONNECT_NOW, 0, SW_ENET_GONE_LOCAL);
	raw_service(&raw, 0);
	assert_true(raw_connect(&raw, &clients[PEERS - 1], 500, 3)); /* into its slot */
	assert_int_equal((uint32_t)raw.handle, (uint32_t)gone);
	turns(DP_LINES_FREE);
	assert_int_equal(counted(DP_C_CHAT_DELIVERIES), PEERS - 1);
	assert_int_equal(counted(DP_C_CHAT_STALE), 1);
	end();
}

static void one_that_takes_nothing_misses_it_and_stays(void **state)
{
	const struct sw_enet_config config = {.peers_max = PEERS,
		.half_open_max = 64,
		.peer_queue_bytes = 64 * BLOCK,
		.packet_bytes_max = 1000,
		.pool_bytes = 64u << 20};

	(void)state;
	begin_with(&config, 100000000);
	for (uint32_t i = 0; i < 32; i++)
		assert_int_equal(
			sw_enet_send(raw.engine, handles[0], 0, SW_ENET_RELIABLE, "x", 1), 0);
	push_line(200);
	push_to(PEERS);
	turns(DP_LINES_FREE);
	assert_int_equal(counted(DP_C_CHAT_DELIVERIES), PEERS - 1);
	assert_int_equal(counted(DP_C_CHAT_SLOW), 1);
	assert_int_equal(raw_count(&raw, SW_ENET_C_SLOW_PEERS), 0);
	assert_int_equal(sw_enet_send(raw.engine, handles[0], 0, SW_ENET_RELIABLE, "x", 1), 0);
	end();
}

/* All that what yields may take, by peers that are not those of the list. Each may take what it
 * leaves of the rest: see dataplane/enet/pool.c. */
static void take_memory(void)
{
	for (uint32_t i = 21; i < PEERS; i++)
		while (sw_enet_send(raw.engine, handles[i], 0, SW_ENET_RELIABLE | SW_ENET_YIELDS,
			       "x", 1) == 0)
			;
}

static void a_delivery_waits_for_memory(void **state)
{
	const struct sw_enet_config config = {.peers_max = PEERS,
		.half_open_max = 64,
		.peer_queue_bytes = 1u << 20,
		.packet_bytes_max = 1000,
		.pool_bytes = 2048 * BLOCK};
	uint64_t got;

	(void)state;
	begin_with(&config, 100000000);
	take_memory();
	push_line(200);
	push_to(20);
	turn(DP_LINES_FREE);
	now_ns += DP_LINES_PATIENCE_NS - 1;
	turn(DP_LINES_FREE);
	got = counted(DP_C_CHAT_DELIVERIES);
	assert_int_equal(got + counted(DP_C_CHAT_MEMORY), 0);
	/* one of those who took it goes: there is memory again, and nobody has missed anything */
	sw_enet_disconnect(raw.engine, handles[21], SW_ENET_DISCONNECT_NOW, 0, SW_ENET_GONE_LOCAL);
	raw_service(&raw, 0);
	turns(DP_LINES_FREE);
	assert_int_equal(counted(DP_C_CHAT_DELIVERIES), 20);
	assert_int_equal(counted(DP_C_CHAT_MEMORY), 0);
	/* and with none for too long: dropped, all that find none */
	take_memory();
	push_line(200);
	push_to(20);
	turn(DP_LINES_FREE);
	now_ns += DP_LINES_PATIENCE_NS;
	assert_true(turn(DP_LINES_FREE));
	assert_false(turn(DP_LINES_FREE));
	assert_int_equal(counted(DP_C_CHAT_DELIVERIES), 20);
	assert_int_equal(counted(DP_C_CHAT_MEMORY), 20);
	end();
}

static void what_is_no_fan_out_is_counted(void **state)
{
	struct msg_buffer message;

	(void)state;
	begin(100000000);
	push_to(3); /* of no line */
	push_line(0);
	push_to(3);
	msg_begin(message.slot, MSG_PEER_SEND, handles[0], 4);
	assert_true(msg_ring_push(ring, message.slot));
	push_line(20);
	msg_begin(message.slot, MSG_CHAT_TO, HANDLE_NONE, 9);
	assert_true(msg_ring_push(ring, message.slot));
	push_to(0);
	push_to(1);
	turns(DP_LINES_FREE);
	assert_int_equal(counted(DP_C_RING_UNKNOWN), 5);
	assert_int_equal(counted(DP_C_CHAT_DELIVERIES), 1);
	assert_int_equal(counted(DP_C_CHAT_LINES), 1);
	end();
}

/* The chat thread: something to one, then a line. */
#define SAID 20000u
static struct msg_ring *direct;

static void push(struct msg_ring *to, const struct msg *message)
{
	while (!msg_ring_push(to, message))
		sched_yield();
}

static void *say(void *ctx)
{
	struct msg_buffer message;

	(void)ctx;
	for (uint32_t i = 0; i < SAID; i++) {
		msg_begin(message.slot, MSG_PEER_SEND, handles[0], 1);
		push(direct, message.slot);
		memset(msg_begin(message.slot, MSG_CHAT_LINE, HANDLE_NONE, 8), 0x90, 8);
		push(ring, message.slot);
		memcpy(msg_begin(message.slot, MSG_CHAT_TO, HANDLE_NONE, sizeof(uint64_t)),
			&handles[i % PEERS], sizeof(uint64_t));
		push(ring, message.slot);
	}
	return NULL;
}

static void what_is_for_one_overtakes(void **state)
{
	static struct msg popped[2 * MSG_SLOTS_MAX];
	uint64_t seen = 0;
	pthread_t thread;

	(void)state;
	begin(100000000);
	direct = msg_ring_new("direct", 512);
	assert_int_equal(pthread_create(&thread, NULL, say, NULL), 0);
	while (counted(DP_C_CHAT_DELIVERIES) < SAID) {
		dp_lines_take(lines);
		for (uint32_t n; (n = msg_ring_pop(direct, popped, 2 * MSG_SLOTS_MAX));)
			seen += n;
		if (!dp_lines_send(lines, now_ns, DP_LINES_FREE))
			sched_yield();
		assert_true(seen >= counted(DP_C_CHAT_DELIVERIES));
		now_ns += NS_PER_MS;
	}
	assert_int_equal(pthread_join(thread, NULL), 0);
	assert_int_equal(seen, SAID);
	msg_ring_free(direct);
	end();
}

int main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test(a_turn_takes_its_share),
		cmocka_unit_test(a_second_has_so_many),
		cmocka_unit_test(a_line_is_kept_once),
		cmocka_unit_test(who_is_gone_gets_nothing),
		cmocka_unit_test(one_that_takes_nothing_misses_it_and_stays),
		cmocka_unit_test(a_delivery_waits_for_memory),
		cmocka_unit_test(what_is_no_fan_out_is_counted),
		cmocka_unit_test(what_is_for_one_overtakes),
	};

	return cmocka_run_group_tests(tests, NULL, NULL);
}
