/* Proves that content cannot leave the sandbox or hurt the map: what R16 removes is absent, and
 * each attack ends that one call by name and leaves the VM, its memory and the other NPCs as they
 * were. All attacks run in one VM, one after the other. */
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdio.h>
#include <string.h>
#include <cmocka.h>

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
		" .. ' pairs npc tick commit string table math utf8 '\n"
		"local count = 0\n"
		"for k in pairs(_ENV) do\n"
		"  assert(meant:find(' ' .. k .. ' ', 1, true), k) count = count + 1\n"
		"end\n"
		"assert(count == 19, count)");
	test_host_stop(&host);
}

/* A table whose # is over 1 << 60: its hash part is grown first, so that no key moves to the
 * array. */
#define FALSE_LENGTH                                                                               \
	"local t = { 1, 2, 3, 4 } for i = 1, 129 do t['k' .. i] = 1 end "                          \
	"t[5] = 1 for k = 0, 59 do t[8 << k] = 1 end assert(#t > 1 << 60) "

/* The body of an on_click, how it must end, and what its error must say. */
static const struct {
	const char *name, *body;
	enum script_result result;
	const char *text;
} attacks[] = {
	{"endless while", "while true do end", SCRIPT_OVER_TIME, "out of time (npc_click"},
	{"endless goto", "::again:: goto again", SCRIPT_OVER_TIME, "out of time"},
	{"endless repeat with calls", "local function f() end repeat f() until false",
		SCRIPT_OVER_TIME, "out of time"},
	{"endless library calls", "while true do ('x'):rep(1000):find('y') end", SCRIPT_OVER_TIME,
		"out of time"},
	{"endless tail calls", "local function f() return f() end f()", SCRIPT_OVER_TIME,
		"out of time"},
	{"endless iterator", "for _ in function() return 1 end do end", SCRIPT_OVER_TIME, ""},
	{"endless gsub callback", "('x'):gsub('x', function() while true do end end)",
		SCRIPT_OVER_TIME, "out of time"},
	{"endless comparator", "table.sort({ 3, 1, 2 }, function() while true do end end)",
		SCRIPT_OVER_TIME, "out of time"},
	{"big for", "for i = 1, math.huge do end", SCRIPT_OVER_TIME, "out of time"},
	{"recursion", "local function f() return 1 + f() end f()", SCRIPT_TOO_DEEP,
		"recursion too deep"},
	{"recursion with many locals",
		"local function f() local a, b, c, d, e, g, h, i, j = 1 return a + f() end f()",
		SCRIPT_TOO_DEEP, "recursion too deep"},
	{"nested gsub callbacks", "local function f() return (('x'):gsub('x', f)) end f()",
		SCRIPT_TOO_DEEP, "stack overflow"},
	{"nested sort comparators",
		"local function f() table.sort({ 2, 1 }, f) return true end f()", SCRIPT_TOO_DEEP,
		"stack overflow"},
	{"nested tostring", "local function f(s) return s:gsub('.', f) end f(('x'):rep(1000))",
		SCRIPT_TOO_DEEP, "stack overflow"},
	{"doubling string", "local s = 'x' while true do s = s .. s end", SCRIPT_OVER_MEMORY,
		"out of memory"},
	{"wide concatenation",
		"local s = ('x'):rep(200000) s = s .. s .. s .. s .. s .. s .. s .. s",
		SCRIPT_OVER_MEMORY, "out of memory: a block of 1600025 bytes"},
	{"table of tables", "local t = {} while true do t = { t, {}, {}, {} } end",
		SCRIPT_OVER_MEMORY, "out of memory"},
	{"one huge table", "local t = {} for i = 1, 1e9 do t[i] = i end", SCRIPT_OVER_MEMORY,
		"out of memory"},
	{"many big strings", "local t = {} for i = 1, 1e9 do t[i] = ('x'):rep(100000) .. i end",
		SCRIPT_OVER_MEMORY, "out of memory"},
	{"many closures", "local t for i = 1, 1e9 do local u = t t = function() return u end end",
		SCRIPT_OVER_MEMORY, "out of memory"},
	{"rep bomb", "return ('x'):rep(1e10)", SCRIPT_OVER_MEMORY,
		"string.rep: the result is over"},
	{"rep of nothing", "assert((''):rep(1e10) == '') error('end')", SCRIPT_ERROR, "end"},
	{"rep with a gap", "return (''):rep(1e10, 'ab')", SCRIPT_OVER_MEMORY, "string.rep"},
	{"rep at the edge of integers", "return ('xx'):rep(math.maxinteger)", SCRIPT_OVER_MEMORY,
		"string.rep"},
	{"optional items", "return (('a'):rep(40)):find(('a?'):rep(40) .. ('a'):rep(40))",
		SCRIPT_OVER_STEPS, "pattern needs too many steps"},
	{"stars", "return (('a'):rep(5000)):match('.-.-.-.-.-b')", SCRIPT_OVER_STEPS, "steps"},
	{"balance", "return (('('):rep(100000)):find('%b()')", SCRIPT_OVER_STEPS, "steps"},
	{"wide set", "return (('b'):rep(100000)):find('[' .. ('a'):rep(100000) .. ']')",
		SCRIPT_OVER_STEPS, "steps"},
	{"back references", "return (('a'):rep(3000)):find('(.*)(.*)%1%2b')", SCRIPT_OVER_STEPS,
		"steps"},
	{"gsub steps", "return (('a'):rep(20000)):gsub('a*b', '')", SCRIPT_OVER_STEPS, "steps"},
	{"gmatch steps", "for _ in (('a'):rep(20000)):gmatch('a*b') do end", SCRIPT_OVER_STEPS,
		"steps"},
	{"deep pattern", "return (('a'):rep(300)):find(('a?'):rep(300))", SCRIPT_ERROR,
		"pattern too complex"},
	{"malformed pattern", "return ('a'):find('[a')", SCRIPT_ERROR, "malformed pattern"},
	{"gsub grows", "return (('x'):rep(1000)):gsub('x', ('y'):rep(100000))", SCRIPT_OVER_MEMORY,
		"out of memory"},
	{"huge move", "table.move({}, 1, 1e9, 2)", SCRIPT_OVER_STEPS, "table.move"},
	{"move of all integers", "table.move({}, math.mininteger, math.maxinteger, 1)",
		SCRIPT_OVER_STEPS, "table.move"},
	{"false length, insert", FALSE_LENGTH "table.insert(t, 1, 0)", SCRIPT_OVER_STEPS,
		"table.insert"},
	{"false length, remove", FALSE_LENGTH "table.remove(t, 1)", SCRIPT_OVER_STEPS,
		"table.remove"},
	{"false length, sort", FALSE_LENGTH "table.sort(t)", SCRIPT_OVER_STEPS, "table.sort"},
	{"huge concat", "table.concat({}, 'x', 1, math.maxinteger)", SCRIPT_OVER_STEPS,
		"table.concat"},
	{"wide unpack", "table.unpack({}, 1, 1e6)", SCRIPT_ERROR, "too many results to unpack"},
	{"unpack of all integers", "table.unpack({}, math.mininteger, math.maxinteger)",
		SCRIPT_ERROR, "too many results to unpack"},
	{"wide byte", "return (('x'):rep(200000)):byte(1, -1)", SCRIPT_ERROR, "slice too long"},
	{"wide codepoint", "return utf8.codepoint(('x'):rep(200000), 1, -1)", SCRIPT_ERROR,
		"slice too long"},
	{"erring comparator", "table.sort({ 3, 2, 1 }, function() error('no order') end)",
		SCRIPT_ERROR, "no order"},
	{"senseless comparator",
		"local t = {} for i = 1, 100 do t[i] = i end\n"
		"table.sort(t, function() return true end) table.sort(t, function() return false "
		"end)\n"
		"error('sorted')",
		SCRIPT_ERROR, "sorted"},
	{"mixed sort", "table.sort({ 1, 'x', {} })", SCRIPT_ERROR, "attempt to compare"},
	{"long strings to sort",
		"local t, s = {}, ('x'):rep(200000) for i = 1, 10000 do t[i] = s end table.sort(t)",
		SCRIPT_OVER_STEPS, "too much work"},
	{"format width", "return ('%1000d'):format(1)", SCRIPT_ERROR, "invalid"},
	{"format bomb", "return (('%99.99f'):rep(5000)):format(1)", SCRIPT_ERROR, "bad argument"},
	{"format address", "return ('%p'):format({})", SCRIPT_ERROR, "%p"},
	{"format address, disguised", "return ('%-10p'):format('x')", SCRIPT_ERROR, "%p"},
	{"set a library", "string.rep = nil", SCRIPT_ERROR, "the string table is read-only"},
	{"set pi", "math.pi = 3", SCRIPT_ERROR, "the math table is read-only"},
	{"add to a library", "table.extra = 1", SCRIPT_ERROR, "the table table is read-only"},
	{"insert into a library", "table.insert(string, 1)", SCRIPT_ERROR, "read-only"},
	{"set through utf8", "utf8[1] = 2", SCRIPT_ERROR, "the utf8 table is read-only"},
	{"string metatable, write", "local s = 'x' s.rep = 1", SCRIPT_ERROR, "attempt to index"},
	{"string metatable, read",
		"assert(('x').__index == nil and ('x').dump == nil and ('x').pack == nil) "
		"error('end')",
		SCRIPT_ERROR, "end"},
	{"string arithmetic", "return 'x' + 1", SCRIPT_ERROR, "attempt to add"},
	{"metatable by field",
		"local t = { __index = function() return 1 end, __gc = function() end }\n"
		"t.__metatable = t assert(t.nothing == nil) error('end')",
		SCRIPT_ERROR, "end"},
	{"to-be-closed variable", "local x <close> = {}", SCRIPT_ERROR, "non-closable"},
	{"error of a table", "error({ code = 1 })", SCRIPT_ERROR, "(the error object is a table"},
	{"error of nil", "error()", SCRIPT_ERROR, "(the error object is a nil"},
	{"error of a number", "error(7.5)", SCRIPT_ERROR, "7.5"},
	{"error of a function", "error(error)", SCRIPT_ERROR, "(the error object is a function"},
	{"error of an NPC", "error(npc)", SCRIPT_ERROR, "(the error object is a userdata"},
	{"huge error text", "error(('x'):rep(200000))", SCRIPT_ERROR, "xxxx"},
	{"error with control characters", "error('a\\0b\\27[2Jc')", SCRIPT_ERROR, "a?b?[2Jc"},
	{"error while out of memory",
		"local t = {} for i = 1, 1e9 do t = { t } if i > 1e8 then error('x') end end",
		SCRIPT_OVER_MEMORY, "out of memory"},
	{"error in deep recursion",
		"local function f(n) if n == 0 then error('deep') end f(n - 1) end f(5000)",
		SCRIPT_ERROR, "... "},
	{"_ENV replaced", "local _ENV = {} print('x')", SCRIPT_ERROR, "global 'print'"},
	{"own globals replaced", "string, pairs, error = nil error('x')", SCRIPT_ERROR, "'error'"},
	{"assign to an NPC's name", "npc.name = 'x'", SCRIPT_ERROR, "cannot be changed"},
	{"assign to a player", "player.fame = 1", SCRIPT_ERROR, "only NPCs keep values"},
	{"NaN key on an NPC", "npc[0/0] = 1", SCRIPT_ERROR, "NaN"},
	{"say to nobody", "npc:say(nil, 'x')", SCRIPT_ERROR, "actor expected"},
	{"say as a player", "npc.say(player, player, 'x')", SCRIPT_ERROR, "NPC expected"},
	{"say through a table", "npc.say({}, player, 'x')", SCRIPT_ERROR, "actor expected"},
	{"say too much", "npc:say(player, ('x'):rep(513))", SCRIPT_ERROR, "over 512"},
	{"say nothing", "npc:say(player, '')", SCRIPT_ERROR, "empty"},
	{"say no UTF-8", "npc:say(player, '\\xc0\\x80')", SCRIPT_ERROR, "not UTF-8"},
	{"say a surrogate", "npc:say(player, '\\xed\\xa0\\x80')", SCRIPT_ERROR, "not UTF-8"},
	{"say a cut character", "npc:say(player, 'x\\xe2\\x82')", SCRIPT_ERROR, "not UTF-8"},
	{"say a control character", "npc:say(player, 'x\\27[31m')", SCRIPT_ERROR, "control"},
	{"walk nowhere", "npc:walk(0/0, 1)", SCRIPT_ERROR, "not a direction"},
	{"walk to infinity", "npc:walk(math.huge, 1)", SCRIPT_ERROR, "not a direction"},
	{"declare while running", "_ENV.npc { name = 'x', x = 1, y = 1 }", SCRIPT_NOT_ALLOWED,
		"npc is not allowed in npc_click"},
	{"random of an empty interval", "math.random(2, 1)", SCRIPT_ERROR, "interval is empty"},
	{"log flood", "while true do log(('x'):rep(5000)) end", SCRIPT_OVER_TIME, "out of time"},
	{"ipairs over a library", "for _ in ipairs(string) do end error('end')", SCRIPT_ERROR,
		"end"},
	{"tostring",
		"assert(tostring({}) == 'table' and tostring(print) == 'function') error('end')",
		SCRIPT_ERROR, "end"},
	{"arithmetic", "return 1 // 0", SCRIPT_ERROR, "attempt to"},
	/* Last: it stays full. */
	{"memory kept in a global",
		"hold = {} for i = 1, 200 do hold[i] = ('x'):rep(100000) .. i end",
		SCRIPT_OVER_MEMORY, "out of memory"},
};

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
