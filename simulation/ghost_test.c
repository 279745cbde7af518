/* Proves: 10,000 peers that vanish in one moment leave no ghost. The word of their end comes at
 * once, late, twice, or never (then it is the dataplane's answer when the route is told again),
 * some of them are being taken over meanwhile: each session is saved once as leaving and reported
 * left once, whoever was replaced is told so, every slot and seat is free again; and when the same
 * characters come back as new sessions they stand where they were, with nobody else on the map. */
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>
#include <stdlib.h>
#include <string.h>

#include <cmocka.h>

#include "simulation/counters.h"
#include "simulation/random.h"
#include "simulation/state.h"
#include "simulation/testing.h"

#define PEERS 10000u

struct player {
	bool alive;                    /* the dataplane has the peer */
	uint32_t lefts, leaving_saves; /* of the session that runs */
	uint32_t told;                 /* the reason of its disconnect */
	bool joined;
	struct msg_position_save saved; /* the last one */
};

static struct player players[PEERS];
static struct msg_buffer batch[2];

static uint64_t peer_of(uint32_t i, uint32_t generation)
{
	return handle_make(0, generation, i);
}

static void push_gone(struct test_shard *t, uint32_t i, uint32_t generation)
{
	const struct msg_peer_gone gone = {0};
	struct msg message;

	memcpy(msg_begin(&message, MSG_PEER_GONE, peer_of(i, generation), sizeof(gone)), &gone,
		sizeof(gone));
	assert_true(msg_ring_push(t->links.from_dataplane[0], &message));
}

/* Plays dataplane, control and world for all. */
static void read_all(struct test_shard *t, uint32_t generation)
{
	struct msg_ring *rings[] = {
		t->links.to_dataplane[0], t->links.to_control, t->links.to_world};

	for (uint32_t r = 0; r < 3; r++) {
		uint32_t slots;

		while ((slots = msg_ring_pop(rings[r], batch[0].slot, 2 * MSG_SLOTS_MAX))) {
			const struct msg *end = batch[0].slot + slots;

			for (const struct msg *m = batch[0].slot; m < end; m = msg_next(m)) {
				struct msg_peer_disconnect disconnect;
				struct msg_player_joined joined;
				struct msg_player_left left;
				struct msg_position_save save;

				switch (m->type) {
				case MSG_PEER_ROUTE:
					if (!players[handle_index(m->peer)].alive ||
						m->peer !=
							peer_of(handle_index(m->peer), generation))
						push_gone(t, handle_index(m->peer),
							handle_generation(m->peer));
					break;
				case MSG_PEER_DISCONNECT:
					memcpy(&disconnect, msg_payload(m), sizeof(disconnect));
					players[handle_index(m->peer)].told = disconnect.data;
					break;
				case MSG_PLAYER_JOINED:
					memcpy(&joined, msg_payload(m), sizeof(joined));
					players[joined.session % PEERS].joined = true;
					break;
				case MSG_PLAYER_LEFT:
					memcpy(&left, msg_payload(m), sizeof(left));
					players[left.session % PEERS].lefts++;
					break;
				case MSG_PLAYER_REFUSED:
					fail_msg("a join was refused");
					break;
				case MSG_POSITION_SAVE:
					memcpy(&save, msg_payload(m), sizeof(save));
					players[save.character_id % PEERS].saved = save;
					players[save.character_id % PEERS].leaving_saves +=
						save.leaving;
					break;
				}
			}
		}
	}
}

static void run(struct test_shard *t, uint32_t generation, uint32_t ms)
{
	for (uint32_t i = 0; i < ms; i += 2) {
		t->now_ns += 2 * NS_PER_MS;
		while (sim_shard_step(t->shard, t->now_ns))
			read_all(t, generation);
		read_all(t, generation);
	}
}

static void join_all(struct test_shard *t, uint32_t generation, uint64_t *dice)
{
	for (uint32_t i = 0; i < PEERS; i++) {
		struct msg_player_join join = {.session = generation * PEERS + i,
			.character_id = i,
			.has_position = 1,
			.map = "meadow",
			.payload_bytes_max = 1300};
		struct msg message[5];

		if (generation == 1) {
			join.x_mm = (int32_t)sim_random_below(dice, 3000000);
			join.y_mm = (int32_t)sim_random_below(dice, 3000000);
		} else { /* as the world has it */
			join.x_mm = players[i].saved.x_mm;
			join.y_mm = players[i].saved.y_mm;
		}
		players[i].alive = true;
		players[i].joined = false;
		players[i].lefts = players[i].leaving_saves = players[i].told = 0;
		memcpy(msg_begin(message, MSG_PLAYER_JOIN, peer_of(i, generation), sizeof(join)),
			&join, sizeof(join));
		assert_true(msg_ring_push(t->links.from_control, message));
		if (i % 500 == 499)
			run(t, generation, 20);
	}
	run(t, generation, 200);
	for (uint32_t i = 0; i < PEERS; i++)
		if (!players[i].joined)
			fail_msg("%u has not joined", i);
	assert_int_equal(t->shard->players, PEERS);
}

static void replace(struct test_shard *t, uint32_t i)
{
	const struct msg_player_remove remove = {
		.session = PEERS + i, .reason = SW_REASON_REPLACED};
	struct msg message;

	memcpy(msg_begin(&message, MSG_PLAYER_REMOVE, peer_of(i, 1), sizeof(remove)), &remove,
		sizeof(remove));
	assert_true(msg_ring_push(t->links.from_control, &message));
}

static void ten_thousand_vanish(void **state)
{
	struct test_shard t;
	uint64_t dice = 4711;
	const struct sim_map *m;

	(void)state;
	test_init(&t, 3000, PEERS);
	t.config.enet.peers_max = PEERS;
	t.config.simulation.players_max = PEERS;
	test_start(&t, 1);
	m = t.shard->maps[0];
	join_all(&t, 1, &dice);

	/* By i % 5: 0 at once, 1 twice, 2 a second later, 3 never, 4 replaced, and then at once. */
	for (uint32_t i = 0; i < PEERS; i++)
		if (i % 5 == 4)
			replace(&t, i);
	for (uint32_t i = 0; i < PEERS; i++) {
		if (i % 5 == 4)
			continue;
		players[i].alive = false;
		for (uint32_t n = 0; n < (i % 5 == 0 ? 1u : i % 5 == 1 ? 2u : 0u); n++)
			push_gone(&t, i, 1);
	}
	run(&t, 1, 1000);
	for (uint32_t i = 0; i < PEERS; i++) {
		if (i % 5 == 4) {
			players[i].alive = false;
			push_gone(&t, i, 1);
			push_gone(&t, i, 1);
		} else if (i % 5 == 2) {
			push_gone(&t, i, 1);
		}
	}
	run(&t, 1, 1000);
	/* Those of whom no word came, but for whoever had its turn to be asked for in these 2 s. */
	assert_in_range(t.shard->players, PEERS / 5 - PEERS / 5 / 10, PEERS / 5);
	run(&t, 1, SIM_ROUTE_CHECK_S * 1000 + 200);
	assert_int_equal(t.shard->players, 0);
	for (uint32_t i = 0; i < PEERS; i++) {
		const struct player *p = &players[i];

		if (p->lefts != 1 || p->leaving_saves != 1)
			fail_msg(
				"%u: left %u times, saved %u times", i, p->lefts, p->leaving_saves);
		assert_int_equal(p->told, i % 5 == 4 ? SW_REASON_REPLACED : SW_REASON_NONE);
	}
	for (uint32_t slot = 0; slot < m->player_slots; slot++) {
		assert_int_equal(m->players_table[slot].state, SIM_PLAYER_FREE);
		assert_int_equal(m->entities[slot].cell, SIM_NONE);
		assert_int_equal(m->entities[slot].known_by, 0);
	}
	assert_int_equal(m->free_count, m->player_slots);
	for (uint32_t i = 0; i < PEERS; i++)
		assert_int_equal(t.shard->seats[i], SIM_NONE);

	/* Words that are later still, and everyone again. */
	for (uint32_t i = 0; i < PEERS; i += 3)
		push_gone(&t, i, 1);
	join_all(&t, 2, &dice);
	for (uint32_t i = 0; i < PEERS; i += 3) /* of the older peer in the same place */
		push_gone(&t, i, 1);
	run(&t, 2, 200);
	assert_int_equal(t.shard->players, PEERS);
	for (uint32_t slot = 0; slot < m->player_slots; slot++) {
		const struct sim_player *p = &m->players_table[slot];

		if (p->state != SIM_PLAYER_PRESENT)
			continue;
		assert_int_equal(m->entities[slot].x_mm, players[p->character_id].saved.x_mm);
		assert_int_equal(m->entities[slot].y_mm, players[p->character_id].saved.y_mm);
	}
	test_end(&t);
}

int main(void)
{
	const struct CMUnitTest tests[] = {cmocka_unit_test(ten_thousand_vanish)};

	return cmocka_run_group_tests_name("ghost", tests, NULL, NULL);
}
