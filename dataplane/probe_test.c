/* Proves which datagrams a probe is, that the bucket holds its rate and burst over any pattern of
 * time, and that the answer is the request but for two bytes: Pktgen's and TRex's marks come back.
 */
#include <setjmp.h>
#include <stdarg.h>
#include <stdlib.h>
#include <string.h>
#include <cmocka.h>

#include "dataplane/lean_client.h"
#include "dataplane/probe.h"

#define S 1000000000ull

static const struct {
	const char *name;
	uint8_t bytes[8];
	uint32_t count;
	bool is;
	enum dp_probe_fate fate;
} cases[] = {
	{"smallest", {0x3f, 0xff, 1, 0, 7, 8}, 6, true, DP_PROBE_ANSWERED},
	{"longer", {0x3f, 0xff, 1, 0, 7, 8, 9, 10}, 8, true, DP_PROBE_ANSWERED},
	{"short", {0x3f, 0xff, 1, 0, 7}, 5, true, DP_PROBE_MALFORMED},
	{"the mark alone", {0x3f, 0xff}, 2, true, DP_PROBE_MALFORMED},
	{"an answer is not answered", {0x3f, 0xff, 0x81, 1, 7, 8}, 6, true, DP_PROBE_MALFORMED},
	{"unknown kind", {0x3f, 0xff, 2, 0, 7, 8}, 6, true, DP_PROBE_MALFORMED},
	{"kind 0", {0x3f, 0xff, 0, 0, 7, 8}, 6, true, DP_PROBE_MALFORMED},
	{"a request with a state", {0x3f, 0xff, 1, 1, 7, 8}, 6, true, DP_PROBE_MALFORMED},
	{"empty", {0}, 0, false, 0},
	{"one byte", {0x3f}, 1, false, 0},
	{"CONNECT", {0x8f, 0xff, 0, 0, 0x82, 0xff}, 6, false, 0},
	{"CONNECT, compressed", {0xcf, 0xff, 0, 0, 0x82, 0xff}, 6, false, 0},
	{"DISCONNECT before it is connected", {0x0f, 0xff, 0x44, 0xff, 0, 0}, 6, false, 0},
	{"the highest peer, the last session", {0x3f, 0xfe, 1, 0, 7, 8}, 6, false, 0},
	{"the same, timed", {0xbf, 0xfe, 1, 0, 7, 8}, 6, false, 0},
};

static void what_is_a_probe(void **state)
{
	struct rate rate = {0};
	struct dp_probe probe;
	uint32_t left = 0;

	(void)state;
	dp_probe_init(&probe, 1000, 1000, &rate);
	for (size_t i = 0; i < sizeof(cases) / sizeof(cases[0]); i++) {
		/* On the heap, so that asan sees a byte too many. */
		uint8_t *copy = malloc(cases[i].count + 1);
		uint8_t *exact = copy + 1;
		enum dp_probe_fate fate;

		memcpy(exact, cases[i].bytes, cases[i].count);
		if (sw_probe_is(exact, cases[i].count) != cases[i].is)
			fail_msg("%s", cases[i].name);
		if (cases[i].is) {
			fate = dp_probe_take(&probe, exact, cases[i].count, 0);
			if (fate != cases[i].fate)
				fail_msg("%s: %d", cases[i].name, fate);
		}
		free(copy);
	}
	/* Malformed ones took nothing. */
	while (dp_probe_take(&probe, cases[0].bytes, 6, 0) == DP_PROBE_ANSWERED)
		left++;
	assert_int_equal(left, 998);
}

/* Of the 65,536 first words, a client that has no peer id yet sends four, and one that has one
 * never names 0xfff; what lean_client.h writes is as libenet writes it. */
static void no_client_sends_it(void **state)
{
	struct lean_client client;
	uint8_t out[LEAN_OUT_BYTES];

	(void)state;
	lean_connect(&client, 1, 0, 0, 0, out);
	assert_false(sw_probe_is(out, LEAN_CONNECT_BYTES));
	for (uint32_t peer = 0; peer < 0xfff; peer++) {
		for (uint8_t session = 0; session < 4; session++) {
			client.peer_id = (uint16_t)peer;
			client.session = session;
			assert_false(
				sw_probe_is(out, lean_send_unreliable(&client, 1, "x", 1, out)));
			assert_false(sw_probe_is(out, lean_disconnect(&client, 0, 0, out)));
		}
	}
}

static void the_bucket_holds(void **state)
{
	static const uint8_t request[6] = {0x3f, 0xff, 1, 0, 0, 0};
	static const uint32_t rates[][2] = {{0, 100}, {1, 1}, {1, 100}, {1000, 10}, {50000, 50000},
		{DP_PROBE_PER_S_MAX, 1}, {DP_PROBE_PER_S_MAX, DP_PROBE_PER_S_MAX}, {333, 7}};
	uint64_t random = 88172645463325252ull;

	(void)state;
	for (size_t r = 0; r < sizeof(rates) / sizeof(rates[0]); r++) {
		uint64_t now = 5 * S, start = now, taken = 0, asked = 0;
		struct rate rate = {0};
		struct dp_probe probe;

		dp_probe_init(&probe, rates[r][0], rates[r][1], &rate);
		for (int i = 0; i < 200000; i++) {
			random ^= random << 13;
			random ^= random >> 7;
			random ^= random << 17;
			/* mostly bursts, at times long pauses */
			now += random % 64 == 0 ? random % (i % 1000 ? S / 100 : 5000 * S) : 0;
			asked++;
			taken += dp_probe_take(&probe, request, 6, now) == DP_PROBE_ANSWERED;
			if (taken > rates[r][1] + (__uint128_t)(now - start) * rates[r][0] / S)
				fail_msg("%u/s, burst %u: %llu taken in %llu ns", rates[r][0],
					rates[r][1], (unsigned long long)taken,
					(unsigned long long)(now - start));
		}
		assert_true(rates[r][0] ? taken > 0 : taken == 0);
		/* At the configured pace it never says no. */
		for (int i = 0; rates[r][0] && i < 1000; i++) {
			now += S / rates[r][0] + 1;
			assert_int_equal(dp_probe_take(&probe, request, 6, now), DP_PROBE_ANSWERED);
		}
	}
}

static void the_answer_is_the_request_but_for_two_bytes(void **state)
{
	uint8_t request[1400], answer[1401];
	struct rate rate = {0};
	struct dp_probe probe;

	(void)state;
	dp_probe_init(&probe, 10000, 10000, &rate);
	for (uint32_t i = 0; i < sizeof(request); i++)
		request[i] = (uint8_t)(i * 13 + 5);
	memcpy(request, (const uint8_t[4]){0x3f, 0xff, 1, 0}, 4);
	for (uint32_t bytes = SW_PROBE_BYTES_MIN; bytes <= sizeof(request); bytes++) {
		answer[bytes] = 0xa5;
		dp_probe_write(&probe, request, bytes, false, answer);
		assert_int_equal(answer[bytes], 0xa5);
		assert_memory_equal(answer, request, 2);
		assert_int_equal(answer[2], SW_PROBE_ANSWER);
		/* Pktgen's mark at 6 to 21, TRex's in the last 16 */
		assert_memory_equal(answer + 4, request + 4, bytes - 4);
		assert_int_equal(dp_probe_take(&probe, answer, bytes, 0), DP_PROBE_MALFORMED);
	}
#define SAYS(name, value, text)                                                                    \
	probe.state = SW_NODE_##name;                                                              \
	dp_probe_write(&probe, request, 22, false, answer);                                        \
	assert_int_equal(answer[3], value);
	SW_NODE_STATES(SAYS)
#undef SAYS
	/* Full by its peers: only if it would be ready otherwise. */
	probe.state = SW_NODE_READY;
	dp_probe_write(&probe, request, 22, true, answer);
	assert_int_equal(answer[3], SW_NODE_FULL);
	probe.state = SW_NODE_DRAINING;
	dp_probe_write(&probe, request, 22, true, answer);
	assert_int_equal(answer[3], SW_NODE_DRAINING);
}

int main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test(what_is_a_probe),
		cmocka_unit_test(no_client_sends_it),
		cmocka_unit_test(the_bucket_holds),
		cmocka_unit_test(the_answer_is_the_request_but_for_two_bytes),
	};

	return cmocka_run_group_tests_name("probe", tests, NULL, NULL);
}
