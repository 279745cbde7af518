/* Proves of interest management, over random lives of a dozen to a few thousand players on two maps
 * (walks, places in a dense square, joins, leaves, leaves told late or twice, takeovers, reconnects
 * into the same place, transfers within and between maps, deaths and players that stand up
 * elsewhere, monsters), with unreliable updates lost by chance: what each client believes is near,
 * from the ViewChanges and WorldUpdates that it got, is what is near by a brute-force oracle:
 * everyone in sight, or, where more is in sight than a view holds, as many of them as it holds;
 * nobody else; no gap, no contradiction, at most one ViewChange a tick. Everyone in view is told of
 * within a second, bytes are bounded, and whoever has stopped is believed to be where he is
 * although his last update was lost, a second after one that was not. In the end everybody goes,
 * and nobody is known to anyone.
 *
 * near_test SECONDS [SEED] goes on with further seeds for so long; a failure names its seed. */
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <time.h>

#include <cmocka.h>

#include "common/mono.h"
#include "simulation/combat.h"
#include "simulation/counters.h"
#include "simulation/interest.h"
#include "simulation/random.h"
#include "simulation/state.h"
#include "simulation/testing.h"
#include "simulation/transfer.h"

#define LOSE_PERMILLE 100u

struct life {
	uint32_t players, width_m, rounds, monsters, update_bytes;
	uint32_t dense; /* of ten joins so many are in one square of 12 m */
	uint32_t tick_hz;
};

/* The last: more in sight than a view holds; the one before: at times. */
static const struct life lives[] = {
	{.players = 12,
		.width_m = 150,
		.rounds = 60,
		.monsters = 10,
		.update_bytes = 1200,
		.dense = 3,
		.tick_hz = 20},
	{.players = 60,
		.width_m = 250,
		.rounds = 40,
		.monsters = 40,
		.update_bytes = 1200,
		.dense = 2,
		.tick_hz = 15},
	{.players = 100,
		.width_m = 100,
		.rounds = 30,
		.monsters = 0,
		.update_bytes = 256,
		.dense = 7,
		.tick_hz = 30},
	{.players = 400,
		.width_m = 400,
		.rounds = 12,
		.monsters = 50,
		.update_bytes = 600,
		.dense = 4,
		.tick_hz = 20},
	{.players = 60,
		.width_m = 220,
		.rounds = 40,
		.monsters = 10,
		.update_bytes = 256,
		.dense = 3,
		.tick_hz = 5},
	{.players = 1500,
		.width_m = 800,
		.rounds = 4,
		.monsters = 100,
		.update_bytes = 1200,
		.dense = 5,
		.tick_hz = 20},
};
#define LIVES (sizeof(lives) / sizeof(lives[0]))

static struct {
	uint64_t views, crowded, looked;
} checked;

/* What the lives must have held, or they prove nothing of it. */
static const struct {
	const char *name;
	enum sim_counter counter;
} held[] = {
	{"players placed", SIM_JOINS},
	{"transfers", SIM_TRANSFERS},
	{"leaves told late or twice", SIM_LEAVES_STALE},
	{"players killed", SIM_PLAYERS_KILLED},
	{"players that stood up elsewhere", SIM_PLAYERS_BACK},
	{"monsters killed", SIM_MONSTERS_KILLED},
	{"monsters back", SIM_MONSTERS_BACK},
};
#define HELD (sizeof(held) / sizeof(held[0]))
static uint64_t happened[HELD];

struct rig {
	struct test_shard t;
	const struct life *life;
	uint64_t seed, dice;
	uint32_t round;
	uint32_t sequence[TEST_CLIENTS_MAX], stay[TEST_CLIENTS_MAX];
	uint32_t transfers; /* seen */
	uint32_t moving_on; /* the client that is transferred, or TEST_CLIENTS_MAX */
	uint32_t moving_rounds;
	struct msg_player_join last[TEST_CLIENTS_MAX]; /* to come back into the same place */
};

static uint32_t below(struct rig *r, uint32_t n)
{
	return sim_random_below(&r->dice, n);
}

static void wrong(const struct rig *r, uint32_t client, const char *what, uint32_t a, uint32_t b)
{
	fail_msg("seed %llu, life of %u, round %u, client %u: %s (%u, %u)",
		(unsigned long long)r->seed, r->life->players, r->round, client, what, a, b);
}

/* ---- the oracle ---- */

/* The map and slot of a client that is present; NULL if it is not. */
static struct sim_map *map_of(const struct rig *r, uint32_t client, uint32_t *slot)
{
	const struct sim_shard *s = r->t.shard;

	for (uint32_t i = 0; i < s->map_count; i++)
		for (*slot = 0; *slot < s->maps[i]->player_slots; (*slot)++) {
			const struct sim_player *p = sim_player(s->maps[i], *slot);

			if (p->state == SIM_PLAYER_PRESENT && !p->leave_wanted &&
				p->peer == r->t.clients[client].peer)
				return s->maps[i];
		}
	return NULL;
}

/* Whether the cell is one that interest.h allows for the place: hysteresis of an eighth. */
static bool cell_fits(const struct sim_map *m, const struct sim_entity *e)
{
	int32_t cell = (int32_t)m->cell_mm, margin = (int32_t)m->margin_mm;
	int32_t column = (int32_t)(e->cell % m->columns), row = (int32_t)(e->cell / m->columns);

	return e->x_mm >= column * cell - margin && e->x_mm < (column + 1) * cell + margin &&
	       e->y_mm >= row * cell - margin && e->y_mm < (row + 1) * cell + margin;
}

static bool in_sight(
	const struct sim_map *m, const struct sim_entity *a, const struct sim_entity *b)
{
	int32_t columns = abs((int32_t)(a->cell % m->columns) - (int32_t)(b->cell % m->columns));
	int32_t rows = abs((int32_t)(a->cell / m->columns) - (int32_t)(b->cell / m->columns));
	int32_t dx = abs(a->x_mm - b->x_mm), dy = abs(a->y_mm - b->y_mm);
	int32_t view = (int32_t)m->config.view_m * 1000, d = dx > dy ? dx : dy;
	bool sees = columns <= SIM_CELL_RADIUS && rows <= SIM_CELL_RADIUS;

	/* The promise: everyone within view, nobody beyond 1.86 times that (and a millimetre). */
	assert_true(d > view || sees);
	assert_true(d <= view * 187 / 100 || !sees);
	return sees;
}

static void check_client(struct rig *r, uint32_t client, bool places)
{
	const struct test_client *c = &r->t.clients[client];
	uint32_t slot, near = 0, told = 0, hz = r->life->tick_hz;
	struct sim_map *m = map_of(r, client, &slot);
	const struct sim_player *p;
	const struct sim_entity *self;

	if (!m || !c->here || !c->joins)
		return;
	p = sim_player(m, slot);
	self = &m->entities[slot];
	if (c->gaps || c->wrong)
		wrong(r, client, "gaps and contradictions", c->gaps, c->wrong);
	if (c->update_bytes_largest > r->life->update_bytes)
		wrong(r, client, "a large update", c->update_bytes_largest, 0);
	if (c->view_bytes_largest > SIM_VIEW_CHANGE_MAX)
		wrong(r, client, "a large ViewChange", c->view_bytes_largest, 0);
	if (self->wire_id != c->actor_id)
		wrong(r, client, "it is another actor", self->wire_id, c->actor_id);
	assert_true(cell_fits(m, self));
	checked.views++;
	checked.crowded += p->crowded;
	for (uint32_t other = 0; other < m->slots; other++) {
		const struct sim_entity *e = &m->entities[other];
		bool sees, knows;

		if (other == slot || e->cell == SIM_NONE)
			continue;
		sees = in_sight(m, self, e);
		knows = e->wire_id < TEST_ACTORS_MAX && c->knows[e->wire_id];
		near += sees;
		told += knows;
		if (knows && !sees)
			wrong(r, client, "believes one near that is not", e->wire_id, e->kind);
		if (sees && !knows && !p->crowded)
			wrong(r, client, "does not know one that is near", e->wire_id, e->kind);
		if (!knows)
			continue;
		checked.looked++;
		if (r->t.tick - c->heard_tick[e->wire_id] > hz + 1 && r->t.config.map_count == 1)
			wrong(r, client, "was not told of one for a second", e->wire_id,
				r->t.tick - c->heard_tick[e->wire_id]);
		if (places && other < m->player_slots &&
			(c->seen_x_mm[e->wire_id] != e->x_mm ||
				c->seen_y_mm[e->wire_id] != e->y_mm))
			wrong(r, client, "believes one elsewhere", e->wire_id, 0);
	}
	/* And nobody else: ghosts would show here. */
	if (told != c->view_count)
		wrong(r, client, "knows some who do not exist", c->view_count, told);
	if (p->crowded != (near > p->view_max))
		wrong(r, client, "the crowd is not noticed", near, p->view_max);
	if (p->crowded && told != p->view_max)
		wrong(r, client, "a view that is not as full as it may be", told, p->view_max);
	if (places && (c->x_mm != self->x_mm || c->y_mm != self->y_mm))
		wrong(r, client, "believes itself elsewhere", 0, 0);
}

/* Everybody goes: nobody is in a known set any more, so that every slot is free. */
static void check_empty(struct rig *r)
{
	for (uint32_t c = 0; c < r->life->players; c++)
		if (r->t.clients[c].here)
			test_gone(&r->t, c);
	test_run(&r->t, 4000);
	for (uint32_t i = 0; i < r->t.shard->map_count; i++) {
		const struct sim_map *m = r->t.shard->maps[i];

		if (m->free_count != m->player_slots)
			wrong(r, 0, "slots are not free", m->free_count, m->player_slots);
		for (uint32_t slot = 0; slot < m->slots; slot++)
			if (m->entities[slot].known_by)
				wrong(r, 0, "known by nobody", slot, m->entities[slot].known_by);
	}
}

/* ---- the life ---- */

static void place(struct rig *r, int32_t *x_mm, int32_t *y_mm)
{
	uint32_t width_mm = r->life->width_m * 1000;

	*x_mm = (int32_t)below(r, width_mm);
	*y_mm = (int32_t)below(r, width_mm);
	if (below(r, 10) < r->life->dense) {
		*x_mm = 20000 + (int32_t)below(r, 12000);
		*y_mm = 20000 + (int32_t)below(r, 12000);
	}
}

static void join_as(struct rig *r, uint32_t c, struct msg_player_join *as)
{
	test_join_as(&r->t, c, as);
	r->last[c] = *as;
	r->sequence[c] = as->input_sequence;
}

static void join(struct rig *r, uint32_t c)
{
	struct msg_player_join as = {.has_position = below(r, 10) != 0};

	if (r->last[c].map[0] && below(r, 2)) { /* again, into the same place */
		as = r->last[c];
		as.stay = as.input_sequence = 0;
	} else {
		place(r, &as.x_mm, &as.y_mm);
		strcpy(as.map, r->t.config.map_count > 1 && below(r, 3) == 0 ? "cave" : "meadow");
	}
	join_as(r, c, &as);
}

static void walk(struct rig *r, uint32_t c)
{
	uint32_t count = 1 + below(r, 4);

	test_input(&r->t, c, r->sequence[c] + 1, count, (int32_t)below(r, 255) - 127,
		(int32_t)below(r, 255) - 127);
	r->sequence[c] += count;
}

/* What a script does, and a portal. */
static void send_on(struct rig *r, uint32_t c)
{
	struct sim_spawn spawn = {.has_position = below(r, 4) != 0};
	uint32_t slot;
	struct sim_map *m = map_of(r, c, &slot);

	if (!m || r->moving_on != TEST_CLIENTS_MAX)
		return;
	place(r, &spawn.x_mm, &spawn.y_mm);
	if (sim_player_transfer(m, slot,
		    r->t.config.map_count > 1 && below(r, 2) ? "cave" : "meadow", &spawn)) {
		r->moving_on = c;
		r->moving_rounds = 0;
	}
}

static void arrive(struct rig *r)
{
	const struct msg_player_transfer *from = &r->t.transfer;
	struct msg_player_join as = {0};
	uint32_t c = r->moving_on;

	if (c == TEST_CLIENTS_MAX)
		return;
	if (r->t.transfers == r->transfers) {
		if (++r->moving_rounds > 40) /* it went meanwhile */
			r->moving_on = TEST_CLIENTS_MAX;
		return;
	}
	r->transfers = r->t.transfers;
	r->moving_on = TEST_CLIENTS_MAX;
	if (!r->t.clients[c].here)
		return;
	as.has_position = from->has_position;
	as.x_mm = from->x_mm;
	as.y_mm = from->y_mm;
	memcpy(as.map, from->map, sizeof(as.map));
	as.stay = ++r->stay[c];
	as.input_sequence = from->input_sequence;
	join_as(r, c, &as);
}

static void kill_one(struct rig *r)
{
	struct sim_map *m = r->t.shard->maps[below(r, r->t.shard->map_count)];
	uint32_t slot = below(r, m->slots);

	if (!m->running && m->entities[slot].cell != SIM_NONE && m->bodies[slot].health)
		sim_hurt(m, SIM_NONE, slot, m->bodies[slot].health);
}

static void act(struct rig *r, uint32_t c)
{
	struct test_client *client = &r->t.clients[c];
	uint32_t what = below(r, 200);

	if (!client->here) {
		if (what < 40) {
			r->stay[c] = 0;
			join(r, c);
		} else if (what == 40 && client->peer) {
			test_gone(&r->t, c); /* once more */
		}
		return;
	}
	if (client->disconnected) { /* by a takeover: its peer goes, now or later */
		if (what < 60)
			test_gone(&r->t, c);
		return;
	}
	if (what == 0)
		test_gone(&r->t, c);
	else if (what == 1)
		test_remove(&r->t, c, SW_REASON_REPLACED);
	else if (what == 2)
		send_on(r, c);
	else if (what == 3)
		kill_one(r);
	else if (what < 120 && client->joins && r->moving_on != c)
		walk(r, c);
}

/* To be compared: monsters rest, and nobody stands up just before, whom who is in a crowd may see
 * half a second later; in a quiet round that is long over. */
static void rest(struct sim_map *m, bool quiet)
{
	for (uint32_t n = 0; n < m->monster_slots; n++) {
		struct sim_monster *monster = &m->monsters[n];

		if (monster->mood != SIM_WANDERS)
			continue;
		monster->dx = monster->dy = 0;
		monster->until_beat = m->beat + 1000;
	}
	for (uint32_t slot = 0; slot < m->player_slots && !quiet; slot++)
		if (!m->bodies[slot].health)
			m->bodies[slot].back_beat = m->beat + 3 * m->config.tick_hz;
}

static void live(const struct life *life, uint64_t seed, bool two_maps)
{
	static struct rig r; /* large */

	memset(&r, 0, sizeof(r));
	r.life = life;
	r.seed = seed;
	r.dice = seed;
	r.moving_on = TEST_CLIENTS_MAX;
	test_init(&r.t, life->width_m, life->players);
	r.t.lose_permille = LOSE_PERMILLE;
	r.t.lose_dice = seed;
	r.t.workers = 1 + (uint32_t)seed % 2;
	r.t.config.maps[0].tick_hz = life->tick_hz;
	r.t.config.maps[0].monsters = life->monsters;
	r.t.config.simulation.update_bytes_max = life->update_bytes;
	if (two_maps) {
		r.t.config.maps[1] = r.t.config.maps[0];
		strcpy(r.t.config.maps[1].name, "cave");
		r.t.config.map_count = 2;
	}
	test_start(&r.t, seed);
	for (r.round = 0; r.round < life->rounds; r.round++) {
		bool quiet = r.round % 4 == 3;

		for (uint32_t turn = 0; turn < 4; turn++) {
			for (uint32_t c = 0; c < life->players; c++)
				act(&r, c);
			test_run(&r.t, 1 + below(&r, 2 * 1000 / life->tick_hz));
			arrive(&r);
		}
		for (uint32_t n = 0; r.moving_on != TEST_CLIENTS_MAX && n < 60; n++) {
			test_run(&r.t, 20);
			arrive(&r);
		}
		/* What happened last is told within some ticks; a large view takes several. */
		for (uint32_t i = 0; i < r.t.shard->map_count; i++)
			rest(r.t.shard->maps[i], quiet);
		test_run(&r.t, quiet ? 7000 : 1500);
		if (quiet) { /* who stood up last may have been told of in updates that were lost */
			r.t.lose_permille = 0;
			test_run(&r.t, 1300);
			r.t.lose_permille = LOSE_PERMILLE;
		}
		for (uint32_t c = 0; c < life->players; c++)
			check_client(&r, c, quiet);
	}
	check_empty(&r);
	for (uint32_t i = 0; i < HELD; i++)
		happened[i] += test_counter(&r.t, held[i].counter);
	test_end(&r.t);
}

static void what_is_believed_is_near(void **state)
{
	(void)state;
	for (uint32_t i = 0; i < LIVES; i++)
		for (uint64_t seed = 1; seed <= (lives[i].players < 1000 ? 2 : 1); seed++)
			live(&lives[i], seed * 7919 + i, seed % 2 == 0);
	print_message("%llu views, %llu of them in a crowd, %llu actors in them\n",
		(unsigned long long)checked.views, (unsigned long long)checked.crowded,
		(unsigned long long)checked.looked);
	assert_true(checked.views > 3000 && checked.crowded > 100);
	for (uint32_t i = 0; i < HELD; i++) {
		print_message("%s: %llu\n", held[i].name, (unsigned long long)happened[i]);
		assert_true(happened[i] > 0);
	}
}

int main(int argc, char **argv)
{
	const struct CMUnitTest tests[] = {cmocka_unit_test(what_is_believed_is_near)};
	uint64_t seed = argc > 2 ? strtoull(argv[2], NULL, 10) : 1000;
	uint64_t end_ns = mono_ns() + (argc > 1 ? strtoull(argv[1], NULL, 10) : 0) * NS_PER_S;

	if (argc < 2)
		return cmocka_run_group_tests_name("near", tests, NULL, NULL);
	for (; mono_ns() < end_ns; seed++) {
		printf("seed %llu\n", (unsigned long long)seed);
		live(&lives[seed % LIVES], seed, seed % 3 == 0);
	}
	return 0;
}
