/* Proves: on a map with walls a bot that goes by ways_next gets from anywhere to its portals,
 * without ever standing before a wall; the same field serves all who go there; where nothing is
 * known it says so; and what stands in a safe zone, or is looked at from one, is no prey. */
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdio.h>
#include <string.h>

#include <cmocka.h>

#include "client/bot/walker.h"
#include "client/bot/ways.h"
#include "client/ground.h"
#include "simulation/rules/move.h"

static const char *path;

static void bots_find_the_portals(void **state)
{
	struct swc_ground *ground;
	struct ways *ways = ways_new();
	struct sw_move_map map = {.tick_hz = 20};
	struct swc_portal portal;
	uint32_t walks = 0, random = 1;
	char why[256];

	(void)state;
	assert_non_null(ways);
	if (swc_ground_load(path, &ground, why, sizeof(why)))
		fail_msg("%s", why);
	map.ground = ground->value;
	map.width_mm = ground->value->width_mm;
	map.height_mm = ground->value->height_mm;
	map.radius_mm = ground->value->radius_mm;
	assert_true(swc_ground_portal(ground, 0, &portal));
	for (uint32_t n = 0; n < 300; n++) {
		struct sw_move_state at = {0};
		int32_t to_x = portal.x0_mm / 2 + portal.x1_mm / 2;
		int32_t to_y = portal.y0_mm / 2 + portal.y1_mm / 2, x, y;
		uint32_t steps = 0, stuck = 0;

		random = random * 1664525u + 1013904223u;
		at.x_mm = (int32_t)(random % map.width_mm);
		random = random * 1664525u + 1013904223u;
		at.y_mm = (int32_t)(random % map.height_mm);
		if (!sw_move_legal(&map, at.x_mm, at.y_mm) ||
			!ways_next(ways, ground, at.x_mm, at.y_mm, to_x, to_y, &x, &y))
			continue;
		walks++;
		while (at.x_mm < portal.x0_mm || at.x_mm > portal.x1_mm || at.y_mm < portal.y0_mm ||
			at.y_mm > portal.y1_mm) {
			int32_t was_x = at.x_mm, was_y = at.y_mm;
			int dx, dy;

			assert_true(ways_next(ways, ground, at.x_mm, at.y_mm, to_x, to_y, &x, &y));
			walker_towards(at.x_mm, at.y_mm, x, y, &dx, &dy);
			sw_move_apply(&map, 5000, dx, dy, &at);
			stuck = at.x_mm == was_x && at.y_mm == was_y ? stuck + 1 : 0;
			assert_true(stuck < 3);
			if (++steps > 2000)
				fail_msg("walk %u: at %d, %d", n, at.x_mm, at.y_mm);
		}
	}
	assert_true(walks > 30);
	assert_false(ways_next(ways, NULL, 1, 1, 2, 2, &(int32_t){0}, &(int32_t){0}));
	assert_false(ways_next(NULL, ground, 1, 1, 2, 2, &(int32_t){0}, &(int32_t){0}));
	assert_false(ways_next(ways, ground, 1, 1, -2, 2, &(int32_t){0}, &(int32_t){0}));
	ways_free(ways);
	swc_ground_free(ground);
}

static void a_safe_zone_is_no_hunting_ground(void **state)
{
	static const char text[] =
		"{\"type\":\"map\",\"orientation\":\"orthogonal\",\"width\":20,\"height\":10,"
		"\"tilewidth\":10,\"tileheight\":10,\"tilesets\":[{\"firstgid\":1,\"tilecount\":1}]"
		","
		"\"layers\":[{\"type\":\"objectgroup\",\"objects\":[{\"type\":\"safe_zone\",\"x\":"
		"0,"
		"\"y\":0,\"width\":50,\"height\":100}]}]}";
	/* One at 4 m and one at 15 m: the zone reaches to 5 m. */
	static const struct {
		int32_t self_x_mm, prey_x_mm;
		bool may;
	} rows[] = {
		{6000, 7000, true}, {6000, 4900, false}, {4900, 6000, false}, {1000, 2000, false}};
	struct swc_ground *ground;
	char why[256];

	(void)state;
	if (swc_ground_parse(text, sizeof(text) - 1, "t.tmj", &ground, why, sizeof(why)))
		fail_msg("%s", why);
	for (size_t i = 0; i < sizeof(rows) / sizeof(rows[0]); i++) {
		const struct swc_self self = {.x_mm = rows[i].self_x_mm, .y_mm = 5000};
		const struct swc_actor prey = {.x_mm = rows[i].prey_x_mm, .y_mm = 5000};

		assert_int_equal(ways_may_strike(ground, &self, &prey), rows[i].may);
		assert_true(ways_may_strike(NULL, &self, &prey));
	}
	swc_ground_free(ground);
}

int main(int argc, char **argv)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test(bots_find_the_portals),
		cmocka_unit_test(a_safe_zone_is_no_hunting_ground),
	};

	if (argc != 2)
		return 2;
	path = argv[1];
	return cmocka_run_group_tests_name("ways", tests, NULL, NULL);
}
