/* Proves that content cannot leave the sandbox or hurt the map: what R16 removes is absent, and
 * each attack ends that one call by name and leaves the VM, its memory and the other NPCs as they
 * were. All attacks run in one VM, one after the other. */
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdio.h>
#include <string.h>
#include <cmocka.h>

#include "simulation/script/attacks.h"
#include "simulation/script/test_host.h"

static const char *const removed[] = {"dofile", "loadfile", "load", "loadstring", "pcall", "xpcall",
	"rawset", "rawget", "rawequal", "rawlen", "setmetatable", "getmetatable", "collectgarbage",
	"require", "package", "os", "io", "debug", "coroutine", "warn", "_G", "string.dump",
	"string.pack", "string.unpack", "math.randomseed", "bit32"};

static void removed_globals(void **unused)
{
	struct test_host host;
	char source[256];

	(void)unused;
	test_host_start(&host, 1 << 20);
	for (size_t i = 0; i < sizeof(removed) / sizeof(removed[0]); i++) {
		snprintf(source, sizeof(source), "assert(%s == nil, '%s is there')", removed[i],
			removed[i]);
		test_host_load_ok(&host, source);
	}
	/* And nothing is there that is not meant to be. */
	test_host_load_ok(&host,
		"local meant = ' assert error ipairs next select tonumber tostring type _VERSION "
		"log print'"
		" .. ' pairs npc tick commit string table math utf8 map match wait players_near '"
		" .. ' monster quest map_events timer rule start_timer stop_timer queue_intent '"
		" .. ' item_info quest_info '\n"
		"local count = 0\n"
		"for k in pairs(_ENV) do\n"
		"  assert(meant:find(' ' .. k .. ' ', 1, true), k) count = count + 1\n"
		"end\n"
		"assert(count == 33, count)");
	test_host_stop(&host);
}

static uint32_t used_after_collection(struct test_host *host)
{
	for (int i = 0; i < 20; i++) /* each halves what deep recursion has left of call records */
		lua_gc(host->vm->state, LUA_GCCOLLECT);
	arena_check(&host->vm->arena);
	return host->vm->arena.used_bytes;
}

static void each_attack(void **unused)
{
	struct test_host host;
	uint32_t bystander;

	(void)unused;
	test_host_start(&host, 4 << 20);
	test_host_load_ok(&host,
		"npc { name = 'bystander', x = 1, y = 1, on_click = function(npc, player)\n"
		"  npc:say(player, ('%s %d'):rep(2, ' '):format(player.name, 1, 'x', "
		"#('ab'):rep(3)))\n"
		"end }");
	bystander = test_host_npc(&host, "bystander");
	for (size_t i = 0; i < sizeof(attacks) / sizeof(attacks[0]); i++) {
		char source[1024];
		const char *error;
		uint32_t npc, before;
		enum script_result result;

		snprintf(source, sizeof(source),
			"npc { name = 'attacker', x = 1, y = 1, on_click = function(npc, player) "
			"%s\n"
			" end }",
			attacks[i].body);
		test_host_load_ok(&host, source);
		npc = test_host_npc(&host, "attacker");
		before = used_after_collection(&host);
		/* On a slow machine too, only what never ends is out of time. */
		host.vm->config.limit_us[SCRIPT_CONTEXT_NPC_CLICK] =
			attacks[i].result == SCRIPT_OVER_TIME ? 2000 : 10000000;
		result = script_vm_click(host.vm, npc, TEST_PLAYER);
		error = test_host_error(&host);
		if (result != attacks[i].result || !strstr(error, attacks[i].text))
			fail_msg("%s: ended %s, not %s: %s", attacks[i].name,
				script_result_name(result), script_result_name(attacks[i].result),
				error);
		assert_int_equal(
			counter_get(&host.vm->values[SCRIPT_COUNT_CALLS_OK + (int)result]) > 0,
			true);
		/* At once, with no collection in between. */
		host.said[0] = '\0';
		result = script_vm_click(host.vm, bystander, TEST_PLAYER);
		if (result != SCRIPT_OK || strcmp(host.said, "Ada 1 x 6") != 0)
			fail_msg("after %s: %s, said '%s': %s", attacks[i].name,
				script_result_name(result), host.said, test_host_error(&host));
		if (!strstr(attacks[i].name, "kept") &&
			used_after_collection(&host) >
				before + 16384) /* the string table may grow */
			fail_msg("%s: %u bytes stay", attacks[i].name,
				host.vm->arena.used_bytes - before);
		assert_true(host.vm->arena.peak_bytes <= host.config.memory_bytes);
	}
	test_host_stop(&host);
}

static void bytecode_and_syntax(void **unused)
{
	static const struct {
		const char *source;
		size_t bytes;
		const char *text;
	} files[] = {
		{"\033Lua\x54\x00\x19\x93\r\n\x1a\n", 12, "attempt to load a binary chunk"},
		{"x = = 1", 7, "map.lua:1: unexpected symbol near '='"},
		{"\n\nnpc { x = 1, y = 1 }", 22, "map.lua:3: npc: name is missing"},
		{"npc { name = 'a', y = 1 }", 25, "map.lua:1: npc: x is missing"},
		{"npc { name = 'a', x = 1, y = 'z' }", 34, "y must be a number of metres"},
		{"npc { name = 'a', x = 0/0, y = 1 }", 34, "x must be a number of metres"},
		{"npc { name = 'a', at = 'wall' }", 31,
			"map.lua:1: npc: the map has no npc with tag 'wall'"},
		{"npc { name = 'a', at = 'well', x = 1 }", 38, "at takes the place of x and y"},
		{"npc { name = 'a', at = {} }", 27, "at must be the tag"},
		{"npc { name = 'a', x = 1, y = 1, on_clik = 1 }", 45, "unknown field 'on_clik'"},
		{"npc { name = 'a', x = 1, y = 1, on_click = 1 }", 46,
			"on_click must be a function"},
		{"npc { name = ('a'):rep(32), x = 1, y = 1 }", 42, "1 to 31 bytes"},
		{"npc { name = 'a', x = 1, y = 1, appearance = 1 << 24 }", 54, "appearance"},
		{"npc(1)", 6, "table expected"},
		{"math.random()", 13, "map.lua:1: math.random is not allowed in load"},
		{"while true do end", 17, "out of time"},
		{"npc { name = 'a', x = 1, y = 1 } error('late')", 46, "late"},
	};
	struct test_host host;

	(void)unused;
	test_host_start(&host, 1 << 20);
	host.vm->config.limit_us[SCRIPT_CONTEXT_LOAD] = 5000;
	for (size_t i = 0; i < sizeof(files) / sizeof(files[0]); i++) {
		char error[SCRIPT_TEXT_BYTES] = "";
		enum script_result result = script_vm_load(
			host.vm, "map.lua", files[i].source, files[i].bytes, error, sizeof(error));

		if (result == SCRIPT_OK || !strstr(error, files[i].text))
			fail_msg("%s: %s: %s", files[i].source, script_result_name(result), error);
		assert_int_equal(script_vm_npc_count(host.vm), 0);
	}
	test_host_load_ok(&host, "npc { name = 'fine', x = -1.5, y = 2.0005, appearance = 0xff }");
	assert_int_equal(script_vm_npc(host.vm, 0)->x_mm, -1500);
	assert_int_equal(script_vm_npc(host.vm, 0)->y_mm, 2001);
	assert_int_equal(script_vm_npc(host.vm, 0)->appearance, 0xff);
	test_host_stop(&host);
}

/* One file cannot change another's globals; a file's handlers share theirs. */
static void files_apart(void **unused)
{
	struct test_host host;

	(void)unused;
	test_host_start(&host, 1 << 20);
	test_host_load_ok(&host,
		"string = { format = function() return 'poisoned' end } pairs = nil shared = 5\n"
		"npc { name = 'one', x = 1, y = 1, on_click = function(npc, player)\n"
		"  shared = shared + 1 npc:say(player, tostring(shared)) end }");
	test_host_load_ok(&host,
		"npc { name = 'two', x = 1, y = 1, on_click = function(npc, player)\n"
		"  assert(shared == nil and pairs ~= nil)\n"
		"  npc:say(player, string.format('%d', 4) .. ('%d'):format(2)) end }");
	assert_int_equal(script_vm_click(host.vm, 1, TEST_PLAYER), SCRIPT_OK);
	assert_string_equal(host.said, "42");
	assert_int_equal(script_vm_click(host.vm, 0, TEST_PLAYER), SCRIPT_OK);
	assert_int_equal(script_vm_click(host.vm, 0, TEST_PLAYER), SCRIPT_OK);
	assert_string_equal(host.said, "7");
	test_host_stop(&host);
}

/* The memory cap is exact, whatever a script does at it; and more short strings than fill a block's
 * worth of Lua's string table are no offence. */
static void memory_cap(void **unused)
{
	struct test_host host;

	(void)unused;
	for (uint32_t mib = 1; mib <= 8; mib *= 2) {
		test_host_start(&host, mib << 20);
		test_host_load_ok(&host,
			"keep = {}\n"
			"npc { name = 'hoarder', x = 1, y = 1, on_click = function()\n"
			"  for i = 1, 1000 do keep[#keep + 1] = ('x'):rep(1000) .. #keep end end "
			"}\n"
			"npc { name = 'poor', x = 1, y = 1, on_click = function() local t = { {}, "
			"{} } end }");
		host.vm->config.limit_us[SCRIPT_CONTEXT_NPC_CLICK] = 1000000;
		for (int i = 0; i < 30; i++) { /* 30 MB wanted */
			enum script_result result = script_vm_click(host.vm, 0, TEST_PLAYER);

			assert_true(result == SCRIPT_OK || result == SCRIPT_OVER_MEMORY);
			assert_true(host.vm->arena.used_bytes <= mib << 20);
			assert_true(host.vm->arena.peak_bytes <= mib << 20);
			arena_check(&host.vm->arena);
			(void)test_host_error(&host);
			script_vm_gc(host.vm);
		}
		assert_int_equal(script_vm_click(host.vm, 0, TEST_PLAYER), SCRIPT_OVER_MEMORY);
		/* Full to the brim with what is in use, the map still is no crash. */
		(void)script_vm_click(host.vm, 1, TEST_PLAYER);
		test_host_stop(&host);
	}
	test_host_start(&host, 16 << 20);
	test_host_load_ok(&host, "npc { name = 'a', x = 1, y = 1, on_click = function()\n"
				 "  for i = 1, 12 do _ENV['t' .. i] = {} local t = _ENV['t' .. i]\n"
				 "    for j = 1, 6000 do t[j] = i .. '_' .. j end end end }");
	host.vm->config.limit_us[SCRIPT_CONTEXT_NPC_CLICK] = 10000000;
	if (script_vm_click(host.vm, 0, TEST_PLAYER) != SCRIPT_OK)
		fail_msg("72,000 short strings: %s", test_host_error(&host));
	assert_int_equal(counter_get(&host.vm->values[SCRIPT_COUNT_EMERGENCIES]), 0);
	test_host_stop(&host);
}

/* What can be had on the way is had without the full collection that stops a tick. */
static void no_emergency(void **unused)
{
	static const char *const bodies[] = {"local s = 'x' while true do s = s .. s end",
		"local t = {} for i = 1, 1e9 do t[i] = i end",
		"local t = {} while true do t = { t, {}, {}, {} } end",
		"local function f() return 1 + f() end f()", "return ('x'):rep(1e10)"};
	struct test_host host;

	(void)unused;
	test_host_start(&host, 16 << 20);
	for (size_t i = 0; i < sizeof(bodies) / sizeof(bodies[0]); i++) {
		char source[256];

		snprintf(source, sizeof(source),
			"npc { name = 'a', x = 1, y = 1, on_click = function() %s\n end }",
			bodies[i]);
		test_host_load_ok(&host, source);
		host.vm->config.limit_us[SCRIPT_CONTEXT_NPC_CLICK] = 10000000;
		assert_int_not_equal(script_vm_click(host.vm, (uint32_t)i, TEST_PLAYER), SCRIPT_OK);
		if (counter_get(&host.vm->values[SCRIPT_COUNT_EMERGENCIES]))
			fail_msg("a full collection: %s", bodies[i]);
	}
	test_host_stop(&host);
}

int main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test(removed_globals),
		cmocka_unit_test(each_attack),
		cmocka_unit_test(bytecode_and_syntax),
		cmocka_unit_test(files_apart),
		cmocka_unit_test(memory_cap),
		cmocka_unit_test(no_emergency),
	};

	return cmocka_run_group_tests(tests, NULL, NULL);
}
