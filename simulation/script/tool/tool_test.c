/* Proves the tools for authors: the linter names what is wrong with its line, and says nothing of
 * what is right; authors' tests pass, fail and say why, each on a map of its own. */
#include <dirent.h>
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <fcntl.h>
#include <unistd.h>

#include <cmocka.h>

#include "simulation/script/api.h"
#include "simulation/script/tool/author_test.h"
#include "simulation/script/tool/lint.h"
#include "simulation/script/tool/mock.h"

static struct script_config config;
static struct sim_game *game;
static char folder[] = "/tmp/sw-script-tool-XXXXXX";

static void write_file(const char *name, const char *text)
{
	char path[128];
	FILE *file;

	snprintf(path, sizeof(path), "%s/%s", folder, name);
	file = fopen(path, "w");
	assert_non_null(file);
	fputs(text, file);
	fclose(file);
}

static void remove_folder(void)
{
	DIR *files = opendir(folder);
	const struct dirent *entry;

	while (files && (entry = readdir(files)))
		unlinkat(dirfd(files), entry->d_name, 0); /* not . and .., which are folders */
	if (files)
		closedir(files);
	rmdir(folder);
}

/* Source, and what the linter says; "": nothing. */
static const struct {
	const char *source, *says;
} lints[] = {
	/* names */
	{"local a = b", "f.lua:1: unknown global 'b'\n"},
	{"b = 1\nlocal a = b", ""},
	{"function f() g() end\nfunction g() f() end", ""},
	{"local a <const> = 1\nfor i, v in ipairs({}) do print(i, v, a, _VERSION) end", ""},
	{"do local a = 1 end\nprint(a)", "f.lua:2: unknown global 'a'\n"},
	{"repeat local a = 1 until a\nfor i = 1, 2 do end\nprint(i)",
		"f.lua:3: unknown global 'i'\n"},
	{"local t = { x = 1, [2] = 3; y }\nt.z.w = t", "f.lua:1: unknown global 'y'\n"},
	{"string.dump(print)", "f.lua:1: there is no string.dump\n"},
	{"print(math.pi, map.name, utf8.char)\nos.exit()", "f.lua:2: unknown global 'os'\n"},
	{"-- a\n--[[ b\n c ]]\nlocal s = [==[ x ]] ]==] .. 'it\\'s' .. \"\\\"\"\nprint(s, q)",
		"f.lua:5: unknown global 'q'\n"},
	{"goto done\nlocal a = 1\n::done:: print(0x1p-3, 1e+5, 3 // 2, ~1, 1 ~= 2, ...)", ""},
	/* contexts */
	{"npc { name = 'a', x = 1, y = 1, on_tick = function(npc)\n  commit()\nend }",
		"f.lua:2: commit is not allowed in npc_tick\n"},
	{"math.random(3)", "f.lua:1: math.random is not allowed in load\n"},
	{"local function f() return math.random(3) end\n"
	 "npc { name = 'a', x = 1, y = 1, on_tick = f }",
		""},
	{"local function f() return math.random(3) end\nlocal x = f()",
		"f.lua:1: math.random is not allowed in load\n"},
	{"local function pay(p) p:add_gold(1) end\n"
	 "local function both(p) pay(p) end\n"
	 "timer { name = 't', on_time = function() both() end }\n"
	 "npc { name = 'a', x = 1, y = 1, on_click = function(npc, p) both(p) end }",
		"f.lua:1: player:add_gold is not allowed in map_event\n"},
	{"function pay(p) p:add_gold(1) end\n"
	 "map_events { on_enter = function(p) pay(p) end }",
		"f.lua:1: player:add_gold is not allowed in map_event\n"},
	{"local shop = {}\nfunction shop.pay(p) p:add_gold(1) end\n"
	 "map_events { on_enter = function(p) shop.pay(p) end }",
		"f.lua:2: player:add_gold is not allowed in map_event\n"},
	{"local m = {}\nfunction m:add_gold() end\n"
	 "map_events { on_enter = function(p) m:add_gold(1) end }",
		""},
	{"npc { name = 'a', x = 1, y = 1, on_tick = function(npc)\n"
	 "  for _, p in ipairs(players_near(npc, 5)) do\n"
	 "    (function() npc:ask(p, 'a', { 'b' }) end)()\n  end\nend }",
		"f.lua:3: npc:ask is not allowed in npc_tick\n"},
	{"monster { kind = 'wolf', on_death = function(m, p) p:add_gold(1) p:give_item('gel') end "
	 "}",
		"f.lua:1: player:give_item is not allowed in combat\n"},
	{"rule { on_tick = function() match.finish() end }\n"
	 "timer { name = 't', on_time = function() match.finish() end }",
		"f.lua:2: match.finish is not allowed in map_event\n"},
	{"npc { name = 'a', x = 1, y = 1, on_click = function() npc { name = 'b' } end }",
		"f.lua:1: npc is not allowed in npc_click\n"},
	/* arguments */
	{"npc { name = 'a', x = 1, y = 1, on_click = function(npc, p)\n"
	 "  p:give_item('gle', 2)\n  p:begin_quest('hunt')\n  p:give_item()\n  npc:say(p)\n"
	 "  p:take_item('gel', 1, 2)\nend }",
		"f.lua:2: player:give_item: there is no item 'gle'\n"
		"f.lua:3: player:begin_quest: there is no quest 'hunt'\n"
		"f.lua:4: player:give_item takes at least 1 argument, not 0\n"
		"f.lua:5: npc:say takes 2 arguments, not 1\n"
		"f.lua:6: player:take_item takes at most 2 arguments, not 3\n"},
	{"npc { name = 'a', x = 1, y = 1, on_click = function(npc, p)\n"
	 "  p:give_itm('gel')\n  print(p.naem)\n  npc.mood = npc.mood or 1\n  npc:greet(p)\n"
	 "  npc:say(p, table.unpack({}))\nend }",
		"f.lua:2: a player has no method 'give_itm'\n"
		"f.lua:3: a player has no field 'naem'\n"},
	{"rule { on_join = function(p) match.boost(p, 'blade') match.boost(p, 'blad') end }",
		"f.lua:1: match.boost: there is no card 'blad'\n"},
	{"timer { name = 't', on_time = function() start_timer('t') end }",
		"f.lua:1: start_timer takes at least 2 arguments, not 1\n"},
};

static void the_linter(void **state)
{
	struct mock *names = calloc(1, sizeof(*names));
	char error[256];

	(void)state;
	assert_true(mock_open(names, &config, game, NULL, error, sizeof(error)));
	for (size_t i = 0; i < sizeof(lints) / sizeof(lints[0]); i++) {
		char *said = NULL;
		size_t bytes;
		FILE *out = open_memstream(&said, &bytes);

		lint_file(names->vm, game, "f.lua", lints[i].source, strlen(lints[i].source), out);
		fclose(out);
		if (strcmp(said, lints[i].says))
			fail_msg("%s\nis said to be: %s", lints[i].source, said);
		free(said);
	}
	mock_close(names);
	free(names);
}

static const char shop[] =
	"npc { name = 'Bess', x = 3, y = 4, on_click = function(npc, player)\n"
	"  local n = npc:ask(player, 'What?', { 'Gel.', 'Nothing.' })\n"
	"  if n ~= 1 then return end\n"
	"  player:add_gold(-3) player:give_item('gel')\n"
	"  local kept, why = commit() npc:say(player, kept and 'Here.' or why) end,\n"
	"  on_tick = function(npc) npc:walk(1, 0) end }\n"
	"npc { name = 'Bad', x = 1, y = 1, on_click = function() error('broken') end }\n"
	"map_events { on_enter = function(p) start_timer('bell', 2, p.name) end }\n"
	"timer { name = 'bell', on_time = function(n) map.announce('ding ' .. n) end }\n"
	"monster { kind = 'wolf', on_hurt = function(m, p, n) m:heal(1) m:strike(p, n) end,\n"
	"  on_death = function(m, p) queue_intent('k', p, { gold = 5 }) end }\n";

static const char fine[] =
	"content 'shop.lua'\n"
	"test('buys', function(w)\n"
	"  local ada = w:player { name = 'Ada', gold = 10 }\n"
	"  expect(w:click('Bess', ada, { 'Gel.' }), 'ok')\n"
	"  expect(ada.gold, 7) expect(ada:count('gel'), 1) expect(ada.last, 'Here.')\n"
	"  w:click('Bess', ada, { 2 }) expect(ada.last, 'What?') expect(#w:said(ada), 3)\n"
	"  w:refuse('unavailable') w:click('Bess', ada, { 1 }) expect(ada.last, 'unavailable')\n"
	"  ada.gold = 2 w:click('Bess', ada, { 1 }) expect(ada.last, 'not_enough')\n"
	"end)\n"
	"test('each has a map of its own', function(w)\n"
	"  local bo = w:player { name = 'Bo' } expect(#w:said(), 0) w:enter(bo)\n"
	"  w:seconds(1.9) expect(#w:announced(), 0) w:tick(2) expect(w:announced()[1], 'ding Bo')\n"
	"  expect(w:npc('Bess').x > 9, true)\n"
	"end)\n"
	"test('errors that are expected', function(w)\n"
	"  expect(w:click('Bad', w:player {}), 'error') expect(w:errors()[1]:match('broken'), "
	"'broken')\n"
	"end)\n"
	"test('fights', function(w)\n"
	"  local ada, wolf = w:player {}, w:monster('wolf') w:hurt(wolf, ada, 10)\n"
	"  expect(wolf.health, 41) expect(ada.health, 90) w:hurt(wolf, ada, 99) w:tick()\n"
	"  expect(ada.gold, 5) expect(wolf.health, 0)\n"
	"end)\n";

static const char faulty[] =
	"content 'shop.lua'\n"
	"test('unequal', function(w) expect(1, 2, 'one') end)\n"
	"test('an error nobody asked for', function(w) w:click('Bad', w:player {}) end)\n"
	"test('no such NPC', function(w) w:click('Tom', w:player {}) end)\n"
	"test('no such item', function(w) w:player {}:give('gle') end)\n"
	"test('fine', function(w) end)\n";

static char *run_suite(const char *name, uint32_t *ran, uint32_t *failed)
{
	char path[128], *said = NULL;
	size_t bytes;
	FILE *out = open_memstream(&said, &bytes);
	struct author_tests tests = {.config = &config, .game = game, .out = out};

	snprintf(path, sizeof(path), "%s/%s", folder, name);
	author_tests_run(&tests, path);
	fclose(out);
	*ran = tests.ran;
	*failed = tests.failed;
	return said;
}

static void authors_tests(void **state)
{
	static const char *const reasons[] = {"faulty_test.lua:2: one is 1, not 2",
		"shop.lua:7: broken", "there is no NPC 'Tom'", "there is no item 'gle'", "ok 5 - "};
	uint32_t ran, failed;
	char *said = run_suite("fine_test.lua", &ran, &failed);

	(void)state;
	if (failed || ran != 4)
		fail_msg("%s", said);
	free(said);
	said = run_suite("faulty_test.lua", &ran, &failed);
	assert_int_equal(ran, 5);
	assert_int_equal(failed, 4);
	for (size_t i = 0; i < sizeof(reasons) / sizeof(reasons[0]); i++)
		if (!strstr(said, reasons[i]))
			fail_msg("not said: %s, but\n%s", reasons[i], said);
	free(said);
	/* What cannot be run has failed, too. */
	said = run_suite("none_test.lua", &ran, &failed);
	assert_int_equal(failed, 1);
	assert_non_null(strstr(said, "has no test"));
	free(said);
	said = run_suite("missing_test.lua", &ran, &failed);
	assert_int_equal(failed, 1);
	free(said);
}

static char *read_guide(void)
{
	char *text = calloc(1, 262144);
	FILE *file = fopen(SW_SOURCE_FOLDER "/docs/content.md", "r");

	assert_true(file && text);
	assert_true(fread(text, 1, 262143, file) > 0);
	fclose(file);
	return text;
}

static void loads(const char *name, const char *text)
{
	struct mock *mock = calloc(1, sizeof(*mock));
	char path[128], error[SCRIPT_TEXT_BYTES], *said = NULL;
	size_t bytes;
	FILE *out = open_memstream(&said, &bytes);

	snprintf(path, sizeof(path), "%s/%s", folder, name);
	if (!mock_open(mock, &config, game, path, error, sizeof(error)))
		fail_msg("%s: %s", name, error);
	if (lint_file(mock->vm, game, name, text, strlen(text), out)) {
		fclose(out);
		fail_msg("%s", said);
	}
	fclose(out);
	free(said);
	mock_close(mock);
	free(mock);
}

static void passes(const char *name)
{
	uint32_t ran, failed;
	char *said = run_suite(name, &ran, &failed);

	if (failed || !ran)
		fail_msg("%s", said);
	free(said);
}

/* Every example of docs/content.md: those with a name are files, those without are content. Content
 * is checked and loaded, tests are run, with the game's data that is delivered. */
static void the_guide(void **state)
{
	char *guide = read_guide(), *at = guide;
	uint32_t contents = 0, suites = 0;

	(void)state;
	sim_game_free(game);
	game = sim_game_load(SW_SOURCE_FOLDER "/lua/content", stderr);
	assert_non_null(game);
	while ((at = strstr(at, "\n```lua\n"))) {
		char *end = strstr(at + 8, "\n```");
		char name[64] = "example.lua";

		assert_non_null(end);
		*end = '\0';
		(void)sscanf(at + 8, "-- %63s", name);
		write_file(name, at + 8);
		if (strstr(name, "_test.lua")) {
			suites++;
			passes(name);
		} else {
			contents++;
			loads(name, at + 8);
		}
		at = end + 1;
	}
	assert_true(contents >= 9 && suites >= 7);
	free(guide);
}

int main(void)
{
	static const struct {
		const char *name, *text;
	} files[] = {{"shop.lua", shop}, {"fine_test.lua", fine}, {"faulty_test.lua", faulty},
		{"none_test.lua", "content 'shop.lua'"},
		{"items.yaml", "items:\n- {number: 1, name: gel, stack_max: 9}\n"},
		{"monsters.yaml", "monsters:\n- {name: wolf, health: 50, attack: 5}\n"},
		{"cards.yaml", "cards:\n- {number: 1, name: blade, attack: 5}\n"}};
	const struct CMUnitTest tests[] = {
		cmocka_unit_test(the_linter),
		cmocka_unit_test(authors_tests),
		cmocka_unit_test(the_guide),
	};
	int failed;

	if (!mkdtemp(folder))
		return 1;
	for (size_t i = 0; i < sizeof(files) / sizeof(files[0]); i++)
		write_file(files[i].name, files[i].text);
	game = sim_game_load(folder, stderr);
	script_config_defaults(&config);
	config.slice_us = 500000;
	strcpy(config.map, "try");
	if (!game || script_watchdog_start(&config.watchdog, SCRIPT_WATCHDOG_PERIOD_US))
		return 1;
	failed = cmocka_run_group_tests(tests, NULL, NULL);
	script_watchdog_stop(config.watchdog);
	sim_game_free(game);
	remove_folder();
	return failed;
}
