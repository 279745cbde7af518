/* Proves with seeded random traffic, with a shard, a world and a Redis that answer rightly but when
 * they please, that a character is never on two sessions at once and that nothing is left of anyone
 * in the end. SW_SEED=n repeats a run. */
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <time.h>

#include "control/admission/admission_testing.h"

#define PEERS      12
#define CHARACTERS 4

static uint64_t random_state;

static uint32_t chance(uint32_t n)
{
	random_state ^= random_state << 13;
	random_state ^= random_state >> 7;
	random_state ^= random_state << 17;
	return (uint32_t)(random_state >> 11) % n;
}

struct model {
	uint64_t peers[PEERS]; /* 0: not connected */
	uint32_t generation[PEERS];
	struct sent queue[512]; /* what admission sent and nobody has worked on yet */
	uint32_t queued;
	uint64_t on_shard[CHARACTERS + 1]; /* the session that has the character, 0: none */
	uint64_t present[CHARACTERS + 1];
};

static struct model model;

static void model_answer(struct sent *entry)
{
	struct msg_player_join join;

	if (entry->to == 'c') {
		adm_claimed(adm, entry->session,
			chance(8)   ? ADM_CLAIM_OURS
			: chance(2) ? ADM_CLAIM_USED
				    : ADM_CLAIM_UNKNOWN,
			now_ns);
	} else if (entry->to == 'w') {
		loaded_as(entry->session,
			chance(8)   ? MSG_LOAD_OK
			: chance(2) ? MSG_LOAD_UNAVAILABLE
				    : MSG_LOAD_WRONG_ACCOUNT,
			"meadow");
	} else if (entry->to == 's' && entry->message[0].type == MSG_PLAYER_JOIN) {
		memcpy(&join, msg_payload(entry->message), sizeof(join));
		/* What all this is for. */
		assert_int_equal(model.on_shard[join.character_id], 0);
		if (!chance(6)) {
			shard_says(0, MSG_PLAYER_REFUSED, join.session, 0);
			return;
		}
		model.on_shard[join.character_id] = join.session;
		shard_says(0, MSG_PLAYER_JOINED, join.session, 1);
	} else if (entry->to == 's') {
		for (int c = 1; c <= CHARACTERS; c++)
			if (model.on_shard[c] == entry->session) {
				model.on_shard[c] = 0;
				shard_says(0, MSG_PLAYER_LEFT, entry->session, 0);
				if (chance(2))
					shard_says(0, MSG_PLAYER_LEFT, entry->session, 0);
			}
	} else if (entry->to == 'd' && entry->message[0].type == MSG_PEER_DISCONNECT) {
		uint32_t i = handle_index(entry->message[0].peer);

		if (model.peers[i] == entry->message[0].peer) {
			gone(model.peers[i]);
			model.peers[i] = 0;
		}
	}
}

static void model_take_sent(void)
{
	for (uint32_t i = 0; i < sent_count; i++) {
		if (sent[i].to == 'a' || sent[i].to == 'p' || sent[i].to == 'r')
			continue;
		assert_true(model.queued < 512);
		model.queue[model.queued++] = sent[i];
	}
	sent_count = 0;
}

/* Works on the oldest entry for one of the five receivers: each ring keeps its order. */
static void model_work(void)
{
	char to = "cwsd"[chance(4)];

	for (uint32_t i = 0; i < model.queued; i++) {
		struct sent entry = model.queue[i];

		if (entry.to != to)
			continue;
		memmove(&model.queue[i], &model.queue[i + 1],
			(--model.queued - i) * sizeof(model.queue[0]));
		model_answer(&entry);
		return;
	}
}

static void model_client(void)
{
	uint32_t i = chance(PEERS);

	if (!model.peers[i]) {
		model.peers[i] = handle_make(i % 2, ++model.generation[i], i);
		connected(model.peers[i]);
	} else if (chance(3)) {
		hello(model.peers[i], 1, 1 + chance(CHARACTERS));
	} else {
		gone(model.peers[i]);
		model.peers[i] = 0;
	}
}

static void test_random(void **state)
{
	uint64_t seed = (uint64_t)time(NULL);

	(void)state;
	if (getenv("SW_SEED"))
		seed = strtoull(getenv("SW_SEED"), NULL, 10);
	print_message("SW_SEED=%llu\n", (unsigned long long)seed);
	for (uint32_t round = 0; round < 40; round++) {
		random_state = (seed + round) * 0x9e3779b97f4a7c15ull + 1;
		memset(&model, 0, sizeof(model));
		begin(3);
		for (int step = 0; step < 2000; step++) {
			if (chance(3))
				model_work();
			else
				model_client();
			model_take_sent();
			now_ns += chance(20) * NS_PER_MS;
			if (!chance(200))
				now_ns += 31 * NS_PER_S;
			adm_tick(adm, now_ns);
			model_take_sent();
		}
		for (uint32_t i = 0; i < PEERS; i++)
			if (model.peers[i])
				gone(model.peers[i]);
		model_take_sent();
		memset(model.peers, 0, sizeof(model.peers));
		while (model.queued) {
			model_work();
			model_take_sent();
		}
		assert_true(counted(ADM_C_JOINED) > 5);
		assert_true(counted(ADM_C_TAKEOVERS) > 5);
		/* A player that is to leave before it joined is counted as left only. */
		assert_true(counted(ADM_C_JOINED) <= counted(ADM_C_LEFT));
		finish();
	}
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
		cmocka_unit_test(test_random),
	};

	return cmocka_run_group_tests(tests, setup, NULL);
}
