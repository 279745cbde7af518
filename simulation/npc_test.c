/* Proves: an NPC of the map's script stands on the map and is seen, answers a click with a dialogue
 * to the clicker alone, walks on its tick by the rules; clicks from afar, from one whose details
 * are not there, and on a handler that fails, are refused by name; a script that cannot be run
 * refuses the map at set-up with a reason; a runaway handler does not stop the map. */
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

#include <cmocka.h>

#include "simulation/counters.h"
#include "simulation/script/script.h"
#include "simulation/testing.h"

static const char content[] =
	"npc { name = 'Tom', x = 100, y = 100, appearance = 0x112233,\n"
	"  on_click = function(npc, player) npc:say(player, 'Hello, ' .. player.name) end }\n"
	"npc { name = 'Walker', x = 110, y = 100, on_tick = function(npc) npc:walk(1, 0) end }\n"
	"npc { name = 'Broken', x = 100, y = 101,\n"
	"  on_click = function(npc, player) error('mended tomorrow') end }\n"
	"npc { name = 'Mad', x = 101, y = 101, on_click = function() while true do end end }\n";

static char folder[64];

static void remove_content(const char *name)
{
	char path[128];

	snprintf(path, sizeof(path), "%s/%s", folder, name);
	unlink(path);
}

static void start(struct test_shard *t)
{
	test_init(t, 200, 10);
	strcpy(t->config.simulation.content, folder);
	strcpy(t->config.maps[0].script, "npcs.lua");
	assert_int_equal(script_watchdog_start(&t->links.watchdog, SCRIPT_WATCHDOG_PERIOD_US), 0);
	test_start(t, 1);
}

static void end(struct test_shard *t)
{
	struct script_watchdog *watchdog = t->links.watchdog;

	test_end(t);
	script_watchdog_stop(watchdog);
}

/* The id of the nearest actor in view to a place. */
static uint32_t actor_at(const struct test_client *c, int32_t x_mm, int32_t y_mm)
{
	for (uint32_t id = 1; id < TEST_ACTORS_MAX; id++)
		if (c->knows[id] && c->seen_x_mm[id] == x_mm && c->seen_y_mm[id] == y_mm)
			return id;
	fail_msg("nobody at %d, %d", x_mm, y_mm);
	return 0;
}

static void npcs_answer_and_walk(void **state)
{
	struct test_shard t;
	struct test_client *c;
	uint32_t tom, broken, mad, walker = 0;
	int32_t x_mm;

	(void)state;
	start(&t);
	c = t.clients;
	test_join(&t, 0, true, 101000, 100000);
	test_join(&t, 1, true, 102000, 100000);
	test_join(&t, 2, true, 100000, 112000);
	test_run(&t, 300);
	tom = actor_at(c, 100000, 100000);
	broken = actor_at(c, 100000, 101000);
	mad = actor_at(c, 101000, 101000);

	test_click(&t, 0, tom);
	test_run(&t, 100);
	assert_int_equal(c[0].dialogues, 1);
	assert_string_equal(c[0].dialogue, "Hello, Ann");
	assert_int_equal(c[1].dialogues, 0);

	test_click(&t, 2, tom); /* 12 m away */
	test_run(&t, 100);
	assert_int_equal(c[2].refused_reason, SW__ACTION_REFUSAL__TOO_FAR);
	test_click(&t, 0, broken);
	test_run(&t, 100);
	assert_int_equal(c[0].refused_reason, SW__ACTION_REFUSAL__SCRIPT_FAILED);

	c[0].refused_reason = 0;
	test_click(&t, 0, mad); /* a slice a tick, until its limit is reached */
	test_run(&t, 200);
	assert_int_equal(c[0].refused_reason, 0);
	test_click(&t, 1, tom); /* and the map goes on */
	test_run(&t, 100);
	assert_int_equal(c[1].dialogues, 1);
	for (uint32_t i = 0; i < 300 && !c[0].refused_reason; i++)
		test_run(&t, 100);
	assert_int_equal(c[0].refused_reason, SW__ACTION_REFUSAL__SCRIPT_FAILED);
	test_click(&t, 0, mad); /* whoever clicks another ends it */
	test_run(&t, 100);
	test_click(&t, 0, tom);
	test_run(&t, 100);
	assert_int_equal(c[0].dialogues, 2);

	for (uint32_t id = 1; id < TEST_ACTORS_MAX; id++)
		if (c->knows[id] && c->seen_y_mm[id] == 100000 && c->seen_x_mm[id] > 110000)
			walker = id;
	assert_int_not_equal(walker, 0);
	x_mm = c->seen_x_mm[walker];
	test_run(&t, 1000);
	assert_int_equal(c->seen_x_mm[walker] - x_mm, 4000);
	end(&t);
}

static void bad_content_is_refused(void **state)
{
	static const struct {
		const char *text, *want;
	} table[] = {
		{"npc { name = 'Far', x = 900, y = 1 }", "Far stands outside"},
		{"this is not Lua", "bad.lua"},
		{"npc { name = 'Tom', x = 1, y = 1 } error('no')", "no"},
	};
	struct test_shard t;
	char error[512];

	(void)state;
	start(&t);
	strcpy(t.config.maps[0].script, "missing.lua");
	assert_null(sim_shard_new(&t.config, 0, &t.links, 1, 0, error, sizeof(error)));
	assert_non_null(strstr(error, "missing.lua: No such file"));
	strcpy(t.config.maps[0].script, "bad.lua");
	for (size_t i = 0; i < sizeof(table) / sizeof(table[0]); i++) {
		test_write(folder, "bad.lua", table[i].text);
		assert_null(sim_shard_new(&t.config, 0, &t.links, 1, 0, error, sizeof(error)));
		if (!strstr(error, table[i].want))
			fail_msg("row %zu: %s", i, error);
	}
	remove_content("bad.lua");
	end(&t);
}

int main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test(npcs_answer_and_walk),
		cmocka_unit_test(bad_content_is_refused),
	};
	int failed;

	snprintf(folder, sizeof(folder), "/tmp/sw-npc-XXXXXX");
	if (!mkdtemp(folder))
		return 1;
	test_write(folder, "npcs.lua", content);
	failed = cmocka_run_group_tests_name("npc", tests, NULL, NULL);
	remove_content("npcs.lua");
	rmdir(folder);
	return failed;
}
