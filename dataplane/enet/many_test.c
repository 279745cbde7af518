/* many_test.c: proves that one engine holds 100,000 peers on one port, a hundred to each source
 * address and port: all get packets and acknowledgements, all time out or leave, everything that
 * they took is back, and each costs no more memory than enet.h says. */
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>
#include <stdio.h>
#include <cmocka.h>

#include "dataplane/enet/crowd.h"

#define PEERS      100000u
#define PER_SOURCE 100u

static struct crowd crowd;

static void all_are_in(void)
{
	assert_int_equal(sw_enet_peers(crowd.engine), PEERS);
	assert_int_equal(crowd_counter(&crowd, SW_ENET_C_HALF_OPEN), 0);
	for (uint32_t i = 0; i < PEERS; i++)
		assert_int_equal(crowd.clients[i].lean.state, LEAN_CONNECTED);
}

static void all_is_back(void)
{
	assert_int_equal(sw_enet_peers(crowd.engine), 0);
	assert_int_equal(crowd_counter(&crowd, SW_ENET_C_PEERS), 0);
	assert_int_equal(crowd_counter(&crowd, SW_ENET_C_HALF_OPEN), 0);
	assert_int_equal(crowd_counter(&crowd, SW_ENET_C_QUEUE_BYTES), 0);
	assert_int_equal(crowd_counter(&crowd, SW_ENET_C_HOLD_BYTES), 0);
	assert_int_equal(sw_enet_next_ms(crowd.engine), UINT64_MAX);
}

static void memory_of_a_peer(void)
{
	struct sw_enet_config one = crowd.config;
	double each;

	one.peers_max = 1;
	each = (double)(crowd.memory_bytes - sw_enet_bytes(&one)) / (PEERS - 1);
	printf("%.0f bytes a peer, stated %u; %zu bytes for %u peers with a pool of %zu\n", each,
		SW_ENET_PEER_BYTES_MAX, crowd.memory_bytes, PEERS, crowd.config.pool_bytes);
	assert_true(each <= SW_ENET_PEER_BYTES_MAX);
}

static void packets_both_ways(uint32_t rounds)
{
	for (uint32_t round = 0; round < rounds; round++) {
		for (uint32_t i = 0; i < PEERS; i++)
			crowd_message(&crowd, i);
		crowd_pump(&crowd);
		crowd_run(&crowd, 10, 5);
	}
	for (uint32_t i = 0; i < PEERS; i++) {
		assert_int_equal(crowd.clients[i].heard, rounds);
		assert_int_equal(crowd.clients[i].lean.acknowledged, rounds);
	}
	assert_int_equal(crowd.disorder, 0);
	assert_int_equal(crowd_counter(&crowd, SW_ENET_C_RETRANSMITTED), 0);
	/* who is silent takes nothing of the pool */
	assert_int_equal(crowd_counter(&crowd, SW_ENET_C_QUEUE_BYTES), 0);
	assert_int_equal(crowd_counter(&crowd, SW_ENET_C_HOLD_BYTES), 0);
}

static void a_hundred_thousand(void **state)
{
	(void)state;
	assert_true(
		crowd_new(&crowd, &(struct sw_enet_config){.peers_max = PEERS}, PEERS, PER_SOURCE));
	memory_of_a_peer();
	crowd_connect_all(&crowd, 0, PEERS);
	all_are_in();
	packets_both_ways(2);
	crowd_run(&crowd, 1200, 100); /* pings, and their acknowledgements */
	assert_true(crowd_counter(&crowd, SW_ENET_C_PINGS_OUT) >= PEERS);
	all_are_in();

	/* one half leaves, the other stops to answer */
	for (uint32_t i = 0; i < PEERS; i += 2)
		crowd_leave(&crowd, i);
	crowd_pump(&crowd);
	crowd.deaf = true;
	crowd_run(&crowd, 31000, 100);
	assert_int_equal(crowd.gone[SW_ENET_GONE_CLIENT], PEERS / 2);
	assert_int_equal(crowd.gone[SW_ENET_GONE_TIMEOUT], PEERS / 2);
	assert_int_equal(crowd.connected, PEERS);
	all_is_back();

	/* every slot serves again */
	crowd.deaf = false;
	crowd_connect_all(&crowd, 0, PEERS);
	all_are_in();
	assert_int_equal(crowd_refusals(&crowd), 0);
	crowd_free(&crowd);
}

int main(void)
{
	const struct CMUnitTest tests[] = {cmocka_unit_test(a_hundred_thousand)};

	return cmocka_run_group_tests(tests, NULL, NULL);
}
