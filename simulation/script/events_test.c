/* Proves that declarations are found and their handlers called with what the table says, that what
 * a fight gives for good is one commit, that timers run by name in their order, that intents hand
 * over their changes, that handlers wait, and that storage keeps its declared fields and types and
 * goes over to a script that is loaded anew. */
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <cmocka.h>

#include "common/handle.h"
#include "simulation/script/test_host.h"

static enum script_result happen(
	struct test_host *host, enum script_handler handler, const char *name, int64_t number)
{
	struct script_event event = {.handler = handler,
		.declaration = script_vm_find(host->vm, handler, name),
		.monster = TEST_MONSTER,
		.player = TEST_PLAYER,
		.number = number};

	strcpy(event.name, "Bo");
	return script_vm_event(host->vm, &event);
}

static void declarations(void **unused)
{
	static const struct {
		const char *source, *error;
	} rows[] = {
		{"monster { kind = 'wolf', on_hurt = print }", NULL},
		{"monster { kind = 'woolf', on_hurt = print }", "there is no kind 'woolf'"},
		{"monster { kind = 'wolf' }", "monster wolf has no handler"},
		{"monster { on_hurt = print }", "monster: kind is missing"},
		{"monster { kind = 'wolf', on_hurt = 1 }", "monster: on_hurt must be a function"},
		{"monster { kind = 'wolf', on_hurt = print, on_tick = print }",
			"monster: unknown field 'on_tick'"},
		{"monster { kind = 'wolf', on_hurt = print }\n"
		 "monster { kind = 'wolf', on_death = print }",
			"monster wolf is declared already"},
		{"quest { name = 'wolves', on_begin = print }", NULL},
		{"quest { name = 'wolfs', on_begin = print }", "there is no quest 'wolfs'"},
		{"map_events { on_enter = print } map_events { on_leave = print }",
			"map_events is declared already"},
		{"timer { name = ('x'):rep(32), on_time = print }", "1 to 31 bytes"},
		{"for i = 1, 256 do timer { name = 't' .. i, on_time = print } end", NULL},
		{"for i = 1, 257 do timer { name = 't' .. i, on_time = print } end",
			"at most 256 declarations"},
		{"rule { on_tick = print, players = 2 }", "rule: unknown field 'players'"},
		{"npc { name = 'a', x = 1, y = 1, storage = { fields = { a = 1 } } }",
			"storage.version is missing"},
		{"npc { name = 'a', x = 1, y = 1, storage = { version = 1 } }",
			"storage.fields is missing"},
		{"npc { name = 'a', x = 1, y = 1, storage = { version = 1, fields = { a = {} } } }",
			"storage field 'a' has no first value"},
		{"npc { name = 'a', x = 1, y = 1, storage = { version = 1, field = 1 } }",
			"storage: unknown field 'field'"},
	};
	struct test_host host;

	(void)unused;
	test_host_start(&host, 4 << 20);
	for (size_t i = 0; i < sizeof(rows) / sizeof(rows[0]); i++) {
		uint32_t before = host.vm->declared_count;
		enum script_result result = test_host_load(&host, rows[i].source);

		if ((result == SCRIPT_OK) != !rows[i].error)
			fail_msg("%s: %s", rows[i].source, host.error);
		if (rows[i].error && !strstr(host.error, rows[i].error))
			fail_msg("%s: says %s", rows[i].source, host.error);
		if (rows[i].error) /* and nothing of the file stays */
			assert_int_equal(host.vm->declared_count, before);
		script_undeclare(host.vm, 0);
	}
	test_host_stop(&host);
}

static void handlers_get_what_the_table_says(void **unused)
{
	struct test_host host;

	(void)unused;
	test_host_start(&host, 4 << 20);
	test_host_load_ok(&host,
		"monster { kind = 'wolf',\n"
		"  on_hurt = function(m, p, n, x) assert(m.name == 'wolf' and m.kind == 'monster' "
		"and "
		"m.health == 30 and m.health_max == 50 and p.name == 'Ada' and p.health == nil and "
		"n == 7 and x == nil and tostring(m) == 'monster wolf') m:strike(p, n) end,\n"
		"  on_death = function(m, p) m:drop('gel', 20, p) end }\n"
		"map_events { on_enter = function(p) assert(p.name == 'Ada') end,\n"
		"  on_leave = function(name, x) assert(name == 'Bo' and x == nil) "
		"map.announce(name) "
		"end }\n"
		"rule { on_join = function(p, again) assert(p.name == 'Ada' and again == true) "
		"match.offer(p, { 'big heart', 'big heart' }, 9) end,\n"
		"  on_pick = function(p, n) assert(n == 2) match.result(p, n) end }");
	assert_int_equal(happen(&host, SCRIPT_HANDLER_MONSTER_HURT, "wolf", 7), SCRIPT_OK);
	assert_string_equal(host.done, "0 1 0 7");
	assert_int_equal(happen(&host, SCRIPT_HANDLER_MONSTER_DEATH, "wolf", 0), SCRIPT_OK);
	assert_string_equal(host.done, "4 1 7 20");
	assert_int_equal(happen(&host, SCRIPT_HANDLER_MONSTER_FIGHT, "wolf", 0), SCRIPT_NO_HANDLER);
	assert_int_equal(happen(&host, SCRIPT_HANDLER_MONSTER_HURT, "bat", 0), SCRIPT_NO_HANDLER);
	assert_int_equal(happen(&host, SCRIPT_HANDLER_MAP_ENTER, "", 0), SCRIPT_OK);
	assert_int_equal(happen(&host, SCRIPT_HANDLER_MAP_LEAVE, "", 0), SCRIPT_OK);
	assert_string_equal(host.shouted, "Bo");
	assert_int_equal(happen(&host, SCRIPT_HANDLER_RULE_JOIN, "", 1), SCRIPT_OK);
	assert_string_equal(host.done, "2 2 9");
	assert_int_equal(happen(&host, SCRIPT_HANDLER_RULE_PICK, "", 2), SCRIPT_OK);
	assert_string_equal(host.done, "5 1 0 2");
	test_host_stop(&host);
}

/* R15: a short list in combat, as one commit without an NPC; and a quest's handler may wait. */
static void what_lasts(void **unused)
{
	struct test_host host;

	(void)unused;
	test_host_start(&host, 4 << 20);
	test_host_load_ok(&host,
		"monster { kind = 'wolf',\n"
		"  on_death = function(m, p) p:add_gold(5) p:add_experience(9) end,\n"
		"  on_hurt = function(m, p) p:add_gold(-5) end,\n"
		"  on_fight = function(m, p) p:add_gold(5) error('no') end }\n"
		"quest { name = 'wolves', on_complete = function(p)\n"
		"  assert(wait(3) == true) p:give_item('gel', 2) local kept, why = commit()\n"
		"  assert(not kept and why == 'bag_full') end }");
	host.kept = SCRIPT_KEPT_PENDING;
	host.keeper = 99;
	assert_int_equal(happen(&host, SCRIPT_HANDLER_MONSTER_DEATH, "wolf", 0), SCRIPT_OK);
	assert_int_equal(host.keeps, 1);
	assert_int_equal(host.changes, 2);
	assert_int_equal(host.change[1].kind, SCRIPT_ADD_EXPERIENCE);
	assert_int_equal(host.keeper, HANDLE_NONE);
	assert_int_equal(happen(&host, SCRIPT_HANDLER_MONSTER_HURT, "wolf", 0), SCRIPT_ERROR);
	assert_int_equal(happen(&host, SCRIPT_HANDLER_MONSTER_FIGHT, "wolf", 0), SCRIPT_ERROR);
	assert_int_equal(host.keeps, 1);
	assert_int_equal(happen(&host, SCRIPT_HANDLER_QUEST_COMPLETE, "wolves", 0), SCRIPT_WAITING);
	assert_int_equal(host.waits, 3);
	assert_int_equal(
		script_vm_resume(host.vm, host.job, &(struct script_answer){0}), SCRIPT_WAITING);
	assert_int_equal(host.keeps, 2);
	assert_int_equal(script_vm_resume(host.vm, host.job,
				 &(struct script_answer){.kept = SCRIPT_KEPT_BAG_FULL}),
		SCRIPT_OK);
	test_host_stop(&host);
}

static void timers(void **unused)
{
	struct test_host host;
	char heard[64] = "";

	(void)unused;
	test_host_start(&host, 4 << 20);
	test_host_load_ok(&host,
		"timer { name = 'say', on_time = function(v) map.announce(math.type(v) or type(v)) "
		"map.announce(tostring(v)) end }\n"
		"timer { name = 'again', on_time = function(n) map.announce('again ' .. n) "
		"start_timer('again', 0, n + 1) end }\n"
		"npc { name = 'a', x = 1, y = 1, on_click = function(npc, player)\n"
		"  start_timer('say', 2, 'late') start_timer('say', 1, 'a') start_timer('say', 1, "
		"2.5)\n"
		"  start_timer('say', 0.06, true) start_timer('say', 3) end,\n"
		"  on_tick = function() log(stop_timer('say')) start_timer('again', 0, 1) end }\n"
		"npc { name = 'b', x = 1, y = 1, on_tick = function() local n = 0\n"
		"  while start_timer('say', 86400, n) do n = n + 1 end log(n) end }");
	host.tick = UINT32_MAX - 5; /* over its end and on */
	assert_int_equal(script_vm_click(host.vm, 0, TEST_PLAYER), SCRIPT_OK);
	for (int i = 0; i <= 45; i++, host.tick++) {
		host.shouted[0] = '\0';
		while (script_vm_timer(host.vm) == SCRIPT_OK)
			snprintf(heard + strlen(heard), sizeof(heard) - strlen(heard), "%d %s ", i,
				host.shouted);
	}
	assert_string_equal(heard, "2 true 20 a 20 2.5 40 late ");
	assert_int_equal(script_vm_timers(host.vm), 1);
	/* Stopped by name; one that starts itself again does so in the next tick, not in this. */
	assert_int_equal(script_vm_tick(host.vm, 0), SCRIPT_OK);
	assert_int_equal(script_vm_timers(host.vm), 1);
	for (int i = 0; i < 3; i++, host.tick++)
		while (script_vm_timer(host.vm) == SCRIPT_OK)
			;
	assert_string_equal(host.shouted, "again 2");
	/* Bounded. */
	assert_int_equal(script_vm_tick(host.vm, 1), SCRIPT_OK);
	assert_int_equal(script_vm_timers(host.vm), SCRIPT_TIMERS_MAX);
	test_host_stop(&host);
}

static void intents(void **unused)
{
	static const struct {
		const char *body, *error; /* error NULL: it runs */
	} rows[] = {
		{"assert(queue_intent('k', player, { gold = -3, give = { gel = 2 } }))", NULL},
		{"local ok, why = queue_intent('k', player, { experience = 1 }) assert(ok)", NULL},
		{"queue_intent('k', player, {})", "nothing is to be changed"},
		{"queue_intent('', player, { gold = 1 })", "a key is 1 to 47 bytes"},
		{"queue_intent(('k'):rep(48), player, { gold = 1 })", "a key is 1 to 47 bytes"},
		{"queue_intent('k', npc, { gold = 1 })", "player expected"},
		{"queue_intent('k', player, { god = 1 })", "unknown field 'god'"},
		{"queue_intent('k', player, { experience = -1 })", "experience is not a whole"},
		{"queue_intent('k', player, { gold = 1.5 })", "gold is not a whole"},
		{"queue_intent('k', player, { give = { gl = 1 } })", "there is no item 'gl'"},
		{"queue_intent('k', player, { give = { gel = 0 } })", "give is not a whole"},
		{"queue_intent('k', player, { give = { 'gel' } })", "give is a table of items"},
		{"queue_intent('k', player)", "table expected"},
	};
	struct test_host host;

	(void)unused;
	test_host_start(&host, 4 << 20);
	for (size_t i = 0; i < sizeof(rows) / sizeof(rows[0]); i++) {
		char source[256];
		enum script_result result;

		snprintf(source, sizeof(source),
			"npc { name = 'n', x = 1, y = 1, on_click = function(npc, player) %s end }",
			rows[i].body);
		test_host_load_ok(&host, source);
		result = script_vm_click(host.vm, (uint32_t)i, TEST_PLAYER);
		if ((result == SCRIPT_OK) != !rows[i].error)
			fail_msg("%s: %s", rows[i].body, test_host_error(&host));
		if (rows[i].error && !strstr(test_host_error(&host), rows[i].error))
			fail_msg("%s says something else", rows[i].body);
	}
	/* Items in the order of their numbers, whatever the table's is. */
	test_host_load_ok(&host,
		"npc { name = 'n', x = 1, y = 1, on_click = function(npc, player)\n"
		"  assert(queue_intent('key', player, { take = { bread = 1, gel = 3 }, gold = 4 "
		"}))\n"
		"end, on_tick = function() end }");
	assert_int_equal(
		script_vm_click(host.vm, test_host_npc(&host, "n"), TEST_PLAYER), SCRIPT_OK);
	assert_string_equal(host.done, "key");
	assert_int_equal(host.changes, 3);
	assert_int_equal(host.change[0].kind, SCRIPT_TAKE_ITEM);
	assert_int_equal(host.change[0].what, 7);
	assert_int_equal(host.change[0].amount, 3);
	assert_int_equal(host.change[1].what, 8);
	assert_int_equal(host.change[2].kind, SCRIPT_ADD_GOLD);
	/* Refused: by name. */
	test_host_load_ok(&host,
		"npc { name = 'n', x = 1, y = 1, on_click = function(npc, player)\n"
		"  local ok, why = queue_intent('key', player, { gold = 4 })\n"
		"  assert(ok == false and why == 'repeated') end }");
	host.intent = SCRIPT_INTENT_REPEATED;
	assert_int_equal(
		script_vm_click(host.vm, test_host_npc(&host, "n"), TEST_PLAYER), SCRIPT_OK);
	assert_int_equal(counter_get(&host.vm->values[SCRIPT_COUNT_INTENTS]), 3);
	assert_int_equal(counter_get(&host.vm->values[SCRIPT_COUNT_INTENTS_REFUSED]), 1);
	test_host_stop(&host);
}

#define KEEPER                                                                                     \
	"npc { name = 'a', x = 1, y = 1,\n"                                                        \
	"  storage = { version = %s, fields = { visits = 0, last = '', open = false%s }%s },\n"    \
	"  on_click = function(npc, player) local s = npc.storage %s end }\n"                      \
	"timer { name = 'bell', on_time = function(v) map.announce(v) end }"

static void keeper(char *source, size_t bytes, const char *version, const char *fields,
	const char *upgrade, const char *body)
{
	snprintf(source, bytes, KEEPER, version, fields, upgrade, body);
}

static void click(struct test_host *host)
{
	if (script_vm_click(host->vm, 0, TEST_PLAYER) != SCRIPT_OK)
		fail_msg("%s", test_host_error(host));
}

static void storage_has_a_schema(void **unused)
{
	static const struct {
		const char *body, *error;
	} rows[] = {
		{"s.visits = s.visits + 1 assert(s.visits == 1) s.last = 'x' s.open = true", NULL},
		{"assert(s.visits == 0 and s.last == '' and s.open == false and s.other == nil)",
			NULL},
		{"s.visit = 1", "the declaration names no field 'visit'"},
		{"s.visits = 'one'", "'visits' is a number"},
		{"s.visits = nil", "'visits' is a number"},
		{"s.last = ('x'):rep(256)", "'last' is a string of at most 255 bytes"},
		{"s.last = {}", "'last' is a string"},
		{"npc.storage = {}", "an actor's 'storage' cannot be changed"},
		{"assert(player.storage == nil)", NULL},
	};

	(void)unused;
	for (size_t i = 0; i < sizeof(rows) / sizeof(rows[0]); i++) {
		struct test_host host;
		enum script_result result;
		char source[1024];

		test_host_start(&host, 4 << 20);
		keeper(source, sizeof(source), "1", "", "", rows[i].body);
		test_host_load_ok(&host, source);
		result = script_vm_click(host.vm, 0, TEST_PLAYER);
		if ((result == SCRIPT_OK) != !rows[i].error)
			fail_msg("%s: %s", rows[i].body, test_host_error(&host));
		if (rows[i].error && !strstr(test_host_error(&host), rows[i].error))
			fail_msg("%s says something else", rows[i].body);
		test_host_stop(&host);
	}
}

static void storage_goes_on(void **unused)
{
	static const struct {
		const char *version, *fields, *upgrade, *body, *error;
	} rows[] = {
		{"1", "", "", "assert(s.visits == 7 and s.last == 'Ada' and s.open == true)", NULL},
		/* What is new begins anew, what has another type as well. */
		{"1", ", more = 4, visits = 'none'", "",
			"assert(s.more == 4 and s.visits == 'none' and s.last == 'Ada')", NULL},
		{"2", ", more = 4",
			", upgrade = function(old, version) return { more = old.visits + version, "
			"last = old.last .. '!', odd = 1 } end",
			"assert(s.more == 8 and s.last == 'Ada!' and s.visits == 0)", NULL},
		{"2", "", ", upgrade = function() error('cannot') end", "", "test.lua:2: cannot"},
		/* Back to an older version, whose upgrade knows nothing of a newer one. */
		{"0", ", more = 4", ", upgrade = function() error('older?') end",
			"assert(s.visits == 7 and s.last == 'Ada' and s.more == 4)", NULL},
		{"2", "", ", upgrade = function() end", "", "storage.upgrade returned no table"},
		{"2", "", ", upgrade = function() while true do end end", "", "out of time"},
		/* The map has places for what was declared when it was loaded. */
		{"2", "", ", upgrade = function(old) npc { name = 'Late', x = 1, y = 1 } return old end", "",
			"npc is not allowed in storage.upgrade"},
		{"2", "", ", upgrade = function(old) timer { name = 'late', on_time = log } return old end",
			"", "timer is not allowed in storage.upgrade"},
		{"2", "", ", upgrade = function(old) log('up') return old end", "assert(s.visits == 7)",
			NULL},
	};

	(void)unused;
	for (size_t i = 0; i < sizeof(rows) / sizeof(rows[0]); i++) {
		struct script_vm *old, *new;
		struct test_host host;
		enum script_result result;
		char source[1024];

		test_host_start(&host, 4 << 20);
		keeper(source, sizeof(source), "1", "", "",
			"s.visits = 7 s.last = 'Ada' s.open = true start_timer('bell', 1, 'ding')");
		test_host_load_ok(&host, source);
		click(&host);
		old = host.vm;
		host.config.limit_us[SCRIPT_CONTEXT_LOAD] = 20000;
		test_host_again(&host);
		keeper(source, sizeof(source), rows[i].version, rows[i].fields, rows[i].upgrade,
			rows[i].body);
		test_host_load_ok(&host, source);
		new = host.vm;
		result = script_vm_hand_over(old, new, host.error, sizeof(host.error));
		if ((result == SCRIPT_OK) != !rows[i].error)
			fail_msg("row %zu: %s", i, host.error);
		if (rows[i].error) {
			if (!strstr(host.error, rows[i].error))
				fail_msg("row %zu says %s", i, host.error);
			host.vm = old; /* which goes on as if nothing had been */
			script_vm_free(new);
			click(&host);
			test_host_stop(&host);
			continue;
		}
		script_vm_free(old);
		click(&host);
		host.tick = 20;
		assert_int_equal(script_vm_timer(host.vm), SCRIPT_OK);
		assert_string_equal(host.shouted, "ding");
		test_host_stop(&host);
	}
}

int main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test(declarations),
		cmocka_unit_test(handlers_get_what_the_table_says),
		cmocka_unit_test(what_lasts),
		cmocka_unit_test(timers),
		cmocka_unit_test(intents),
		cmocka_unit_test(storage_has_a_schema),
		cmocka_unit_test(storage_goes_on),
	};

	return cmocka_run_group_tests(tests, NULL, NULL);
}
