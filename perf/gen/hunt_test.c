/* hunt_test.c: proves that a bot of --walk game does what hunt.h says: goes to the nearest thing in
 * sight, strikes it at the cooldown's rate and only while it is in reach, picks loot up, and lets
 * go of what left, what is out of sight, what it was refused and what it does not get in time; and
 * that cut-off messages are left out. What the server says is packed by the protobuf library. */
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>
#include <cmocka.h>
#include <stdlib.h>
#include <string.h>

#include "perf/gen/hunt.h"
#include "proto/client.pb-c.h"

#define SELF 7u

static struct hunt hunt;
static uint32_t input;
static uint8_t packed[2048];

static void joined(int32_t x_mm, int32_t y_mm)
{
	Sw__Joined message = SW__JOINED__INIT;

	message.actor_id = SELF;
	message.map = "field";
	message.x_mm = x_mm;
	message.y_mm = y_mm;
	message.tick_hz = 20;
	hunt_joined(&hunt, packed, packed + sw__joined__pack(&message, packed));
	input = 0;
}

static size_t pack_view(uint32_t id, Sw__ActorKind kind, int32_t x_mm, int32_t y_mm, uint32_t gone)
{
	Sw__ViewChange message = SW__VIEW_CHANGE__INIT;
	Sw__ActorEnter enter = SW__ACTOR_ENTER__INIT, *enters[] = {&enter};
	Sw__EntityState state = SW__ENTITY_STATE__INIT;

	state.actor_id = id;
	state.x_mm = x_mm;
	state.y_mm = y_mm;
	enter.state = &state;
	enter.kind = kind;
	enter.name = "wolf";
	message.tick = 5;
	message.sequence = 1;
	message.n_enter = id != 0;
	message.enter = enters;
	message.n_leave = gone != 0;
	message.leave = &gone;
	return sw__view_change__pack(&message, packed);
}

static void enters(uint32_t id, Sw__ActorKind kind, int32_t x_mm, int32_t y_mm)
{
	hunt_view(&hunt, packed, packed + pack_view(id, kind, x_mm, y_mm, 0));
}

static void leaves(uint32_t id)
{
	hunt_view(&hunt, packed, packed + pack_view(0, 0, 0, 0, id));
}

static void update(uint32_t id, int32_t x_mm, int32_t y_mm)
{
	Sw__WorldUpdate message = SW__WORLD_UPDATE__INIT;
	Sw__EntityState state = SW__ENTITY_STATE__INIT, *entities[] = {&state};

	state.actor_id = id;
	state.x_mm = x_mm;
	state.y_mm = y_mm;
	message.tick = 9;
	message.n_entities = 1;
	message.entities = entities;
	hunt_update(&hunt, input, packed, packed + sw__world_update__pack(&message, packed));
}

static void refused(uint32_t reason)
{
	Sw__ActionRefused message = SW__ACTION_REFUSED__INIT;

	message.action = 0x48;
	message.reason = reason;
	hunt_refused(&hunt, packed, packed + sw__action_refused__pack(&message, packed));
}

struct did {
	enum hunt_act act;
	int8_t dx, dy;
	uint32_t id;
};

/* One input of a bot that would go (11, 22). */
static struct did step(bool may_act)
{
	struct did did = {.dx = 11, .dy = 22};

	did.act = hunt_step(&hunt, ++input, may_act, &did.dx, &did.dy, &did.id);
	assert_int_equal(hunt.dx[input % HUNT_INPUTS], did.dx);
	assert_int_equal(hunt.dy[input % HUNT_INPUTS], did.dy);
	return did;
}

/* Until it has looked around: an update then tells it where it is. */
static void look(void)
{
	for (uint32_t i = 0; i < 2 * HUNT_LOOK && !hunt.looks; i++)
		step(true);
	update(SELF, hunt.x_mm, hunt.y_mm);
}

static void walks_its_own_way(void **state)
{
	(void)state;
	joined(50000, 50000);
	for (uint32_t i = 0; i < 100; i++) {
		struct did did = step(true);

		assert_int_equal(did.act, HUNT_WALK);
		assert_int_equal(did.dx, 11);
		assert_int_equal(did.dy, 22);
		assert_false(hunt_reads(&hunt)); /* nothing near: no update is read */
	}
}

static void goes_to_the_nearest(void **state)
{
	static const struct {
		int32_t x_mm, y_mm;
		int8_t dx, dy;
	} places[] = {{5000, 0, 127, 0}, {-4000, 0, -127, 0}, {3000, 3000, 127, 127},
		{0, -3000, 0, -127}, {-2000, 1000, -127, 63}};

	(void)state;
	for (uint32_t i = 0; i < sizeof(places) / sizeof(places[0]); i++) {
		struct did did;

		joined(50000, 50000);
		enters(100, SW__ACTOR_KIND__MONSTER, 50000 + 9000, 50000); /* further off */
		enters(101, SW__ACTOR_KIND__MONSTER, 50000 + places[i].x_mm,
			50000 + places[i].y_mm);
		enters(102, SW__ACTOR_KIND__PLAYER, 50001, 50001); /* nobody to fight */
		look();
		assert_int_equal(hunt.target, 101);
		assert_true(hunt_reads(&hunt));
		did = step(true);
		assert_int_equal(did.act, HUNT_WALK);
		assert_int_equal(did.dx, places[i].dx);
		assert_int_equal(did.dy, places[i].dy);
	}
	joined(50000, 50000);
	enters(100, SW__ACTOR_KIND__MONSTER, 50000 + HUNT_SIGHT_MM + 1, 50000);
	look();
	assert_int_equal(hunt.target, 0);
}

static void strikes_in_reach_at_the_cooldown(void **state)
{
	uint32_t blows = 0;

	(void)state;
	joined(50000, 50000);
	enters(100, SW__ACTOR_KIND__MONSTER, 50000 + HUNT_BLOW_MM, 50000);
	look();
	for (uint32_t i = 0; i < 4 * HUNT_STRIKE; i++) {
		struct did did = step(true);

		assert_int_equal(did.dx, 0);
		assert_int_equal(did.dy, 0);
		if (did.act != HUNT_ATTACK)
			continue;
		assert_int_equal(did.id, 100);
		blows++;
	}
	assert_int_equal(blows, 4);
	/* it walks off: after it, without a blow */
	update(100, 50000 + HUNT_BLOW_MM + 1, 50000);
	for (uint32_t i = 0; i < 2 * HUNT_STRIKE; i++) {
		struct did did = step(true);

		assert_int_equal(did.act, HUNT_WALK);
		assert_int_equal(did.dx, 127);
	}
	/* one action is out at a time */
	update(SELF, 50000 + 1000, 50000);
	for (uint32_t i = 0; i < 2 * HUNT_STRIKE; i++)
		assert_int_equal(step(false).act, HUNT_WALK);
	assert_int_equal(step(true).act, HUNT_ATTACK);
}

static void picks_up(void **state)
{
	struct did did;

	(void)state;
	joined(50000, 50000);
	enters(100, SW__ACTOR_KIND__LOOT, 50000, 50000 + HUNT_GRAB_MM);
	look();
	did = step(true);
	assert_int_equal(did.act, HUNT_PICK_UP);
	assert_int_equal(did.id, 100);
	leaves(100);
	assert_int_equal(hunt.target, 0);
	assert_int_equal(hunt.count, 0);
	assert_int_equal(step(true).dx, 11);
}

static void lets_go(void **state)
{
	static const struct {
		uint32_t reason;
		bool keeps;
	} refusals[] = {{SW__ACTION_REFUSAL__COOLING_DOWN, true},
		{SW__ACTION_REFUSAL__TOO_FAR, true}, {SW__ACTION_REFUSAL__BUSY, true},
		{SW__ACTION_REFUSAL__NO_SUCH_ACTOR, false}, {SW__ACTION_REFUSAL__NOT_YOURS, false},
		{SW__ACTION_REFUSAL__DEAD, false}, {SW__ACTION_REFUSAL__BAG_FULL, false}};

	(void)state;
	for (uint32_t i = 0; i < sizeof(refusals) / sizeof(refusals[0]); i++) {
		joined(50000, 50000);
		enters(100, SW__ACTOR_KIND__MONSTER, 51000, 50000);
		look();
		refused(refusals[i].reason);
		assert_int_equal(hunt.target, refusals[i].keeps ? 100 : 0);
		assert_int_equal(hunt.count, refusals[i].keeps);
	}
	/* behind a wall, say: never in reach */
	joined(50000, 50000);
	enters(100, SW__ACTOR_KIND__MONSTER, 55000, 50000);
	look();
	for (uint32_t i = 0; i < HUNT_GIVE_UP + 1; i++)
		step(true);
	assert_int_equal(hunt.target, 0);
	assert_int_equal(hunt.count, 0);
}

/* What it has begun it ends, and it looks around once in HUNT_LOOK inputs. */
static void looks_around_when_it_is_time(void **state)
{
	uint32_t looks = 0;

	(void)state;
	joined(50000, 50000);
	enters(100, SW__ACTOR_KIND__MONSTER, 50000 + HUNT_SIGHT_MM + 1, 50000);
	for (uint32_t i = 0; i < 10 * HUNT_LOOK; i++) {
		step(true);
		looks += hunt.looks;
		update(SELF, 50000, 50000);
	}
	assert_int_equal(looks, 10);
	update(100, 55000, 50000);
	look();
	assert_int_equal(hunt.target, 100);
	enters(101, SW__ACTOR_KIND__MONSTER, 51000, 50000);
	for (uint32_t i = 0; i < 3 * HUNT_LOOK; i++) {
		step(true);
		update(SELF, 50000, 50000);
		assert_int_equal(hunt.target, 100);
	}
	/* the last known takes the place of one that left, and is still what it was */
	enters(102, SW__ACTOR_KIND__LOOT, 50500, 50000);
	leaves(100);
	look();
	assert_int_equal(hunt.target, 102);
	assert_int_equal(step(true).act, HUNT_PICK_UP);
}

static void holds_no_more_than_it_can(void **state)
{
	(void)state;
	joined(50000, 50000);
	for (uint32_t i = 0; i < HUNT_NEAR + 5; i++)
		enters(100 + i, SW__ACTOR_KIND__MONSTER, 51000, 50000);
	assert_int_equal(hunt.count, HUNT_NEAR);
	enters(100, SW__ACTOR_KIND__MONSTER, 52000, 50000); /* its looks arrived */
	assert_int_equal(hunt.count, HUNT_NEAR);
	for (uint32_t i = 0; i < HUNT_NEAR + 5; i++)
		leaves(100 + i);
	assert_int_equal(hunt.count, 0);
}

/* In memory of exactly the bytes, so that the address sanitizer sees one beyond. */
static void cut_off_is_left_out(void **state)
{
	size_t bytes = pack_view(100, SW__ACTOR_KIND__MONSTER, 51000, 50000, 99);

	(void)state;
	for (size_t cut = 0; cut <= bytes; cut++) {
		uint8_t *exact = malloc(cut ? cut : 1);

		memcpy(exact, packed, cut);
		hunt = (struct hunt){.self = SELF};
		hunt_view(&hunt, exact, exact + cut);
		hunt_update(&hunt, 1, exact, exact + cut);
		hunt_refused(&hunt, exact, exact + cut);
		hunt_joined(&hunt, exact, exact + cut);
		free(exact);
		assert_in_range(hunt.count, 0, 1);
	}
}

int main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test(walks_its_own_way),
		cmocka_unit_test(goes_to_the_nearest),
		cmocka_unit_test(strikes_in_reach_at_the_cooldown),
		cmocka_unit_test(picks_up),
		cmocka_unit_test(lets_go),
		cmocka_unit_test(looks_around_when_it_is_time),
		cmocka_unit_test(holds_no_more_than_it_can),
		cmocka_unit_test(cut_off_is_left_out),
	};

	return cmocka_run_group_tests(tests, NULL, NULL);
}
