/* Proves: the game's files say what the game is; files that are not there leave what a map needs to
 * be walked on; every fault of every file is said at once, with file and line; the content that is
 * checked in has none. argv[1] is its folder. */
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

#include <cmocka.h>

#include "simulation/game/game.h"

static const char *content;
static char folder[64];
static char errors_text[16384];
static const char *const names[] = {
	"items.yaml", "monsters.yaml", "loot.yaml", "levels.yaml", "quests.yaml"};
#define NAMES (sizeof(names) / sizeof(names[0]))

static void write_file(const char *name, const char *text)
{
	char path[128];
	FILE *file;

	snprintf(path, sizeof(path), "%s/%s", folder, name);
	if (!text) {
		unlink(path);
		return;
	}
	file = fopen(path, "w");
	assert_non_null(file);
	fputs(text, file);
	fclose(file);
}

static struct sim_game *load(const char *from)
{
	FILE *errors = fmemopen(errors_text, sizeof(errors_text), "w");
	struct sim_game *game;

	memset(errors_text, 0, sizeof(errors_text));
	assert_non_null(errors);
	game = sim_game_load(from, errors);
	fclose(errors);
	return game;
}

static void without_files_there_is_what_a_map_needs(void **state)
{
	struct sim_game *game = load(folder);

	(void)state;
	assert_non_null(game);
	assert_int_equal(game->item_count, 0);
	assert_int_equal(game->kind_count, 1);
	assert_false(game->kinds_known);
	assert_string_equal(game->kinds[SIM_KIND_PLAIN].name, "wanderer");
	assert_int_equal(game->kinds[SIM_KIND_PLAIN].sight_mm, 0);
	assert_int_equal(sim_game_level(game, 0)->level, 1);
	assert_int_equal(sim_game_level(game, INT64_MAX)->level, 1);
	assert_null(sim_game_item(game, 1));
	assert_int_equal(sim_game_kind(game, "wolf"), UINT32_MAX);
	sim_game_free(game);
}

static void files_say_what_the_game_is(void **state)
{
	struct sim_game *game;

	(void)state;
	write_file("items.yaml",
		"items:\n"
		"- {number: 7, name: coat, slot: body, defence: 2}\n"
		"- {number: 2, name: gel, stack_max: 9}\n"
		"- {number: 5, name: bow, slot: weapon, attack: 3, range_mm: 9000,\n"
		"   cooldown_ms: 700}\n");
	write_file("monsters.yaml",
		"monsters:\n"
		"- {name: wolf, health: 50, attack: 11, sight_mm: 9000, loot: b, gold_max: 4}\n"
		"- {name: wanderer, health: 12}\n"
		"- {name: rat, health: 3, loot: a}\n");
	write_file("loot.yaml", "loot:\n"
				"- {table: b, item: coat, chance_permille: 5}\n"
				"- {table: a, item: gel, chance_permille: 1000, count_max: 9}\n"
				"- {table: b, item: gel, chance_permille: 500}\n");
	write_file("levels.yaml", "levels:\n"
				  "- {level: 1, experience: 0, health: 80, attack: 9}\n"
				  "- {level: 2, experience: 100, health: 90, attack: 10}\n");
	game = load(folder);
	if (!game)
		fail_msg("%s", errors_text);
	assert_int_equal(game->item_count, 3);
	assert_string_equal(sim_game_item(game, 2)->name, "gel");
	assert_string_equal(sim_game_item(game, 5)->name, "bow");
	assert_string_equal(sim_game_item(game, 7)->name, "coat");
	assert_int_equal(sim_game_item(game, 2)->stack_max, 9);
	assert_int_equal(sim_game_item(game, 2)->equip, SIM_NO_SLOT);
	assert_int_equal(sim_game_item(game, 7)->equip, SIM_EQUIP_BODY);
	assert_int_equal(sim_game_item(game, 5)->range_mm, 9000);
	assert_null(sim_game_item(game, 0));
	assert_null(sim_game_item(game, 3));
	assert_null(sim_game_item(game, 8));
	assert_int_equal(game->kind_count, 3);
	assert_true(game->kinds_known);
	assert_int_equal(sim_game_kind(game, "wanderer"), SIM_KIND_PLAIN);
	assert_int_equal(game->kinds[SIM_KIND_PLAIN].health, 12);
	assert_int_equal(game->kinds[sim_game_kind(game, "wolf")].drop_count, 2);
	assert_int_equal(game->kinds[sim_game_kind(game, "wolf")].range_mm, 1500);
	assert_int_equal(game->kinds[sim_game_kind(game, "rat")].drop_count, 1);
	assert_string_equal(
		game->drops[game->kinds[sim_game_kind(game, "rat")].drop_first].item_name, "gel");
	assert_int_equal(sim_game_level(game, 99)->level, 1);
	assert_int_equal(sim_game_level(game, 100)->level, 2);
	assert_int_equal(sim_game_level(game, 100000)->level, 2);
	sim_game_free(game);
}

static void every_fault_is_said_with_file_and_line(void **state)
{
	static const struct {
		const char *file, *text, *want;
	} table[] = {
		{"items.yaml", "goat: 1\n", "items.yaml:1: (file)"},
		{"items.yaml", "items: {}\n", "items.yaml:1: (file)"},
		{"items.yaml", "items: []\nmore: []\n", "items.yaml:1: (file)"},
		{"items.yaml", "items: [\n", "items.yaml:2: (file)"},
		{"items.yaml", "- 1\n", "items.yaml:1: (file)"},
		{"items.yaml", "items:\n- 5\n", "items.yaml:2: items[0]: is no mapping"},
		{"items.yaml", "items:\n- {number: 1}\n",
			"items.yaml:2: items[0]: name is missing"},
		{"items.yaml", "items:\n- {name: a, number: 0}\n",
			"items.yaml:2: items[0]: number is 0"},
		{"items.yaml", "items:\n- {name: a, number: -1}\n",
			"number is -1, allowed is 1 to"},
		{"items.yaml", "items:\n- {name: a, number: 99999999999}\n",
			"number is 99999999999"},
		{"items.yaml", "items:\n- {name: a, number: [1]}\n", "number is no number"},
		{"items.yaml", "items:\n- name: a\n  number: 1\n  goat: 2\n",
			"items.yaml:4: items[0]: goat is not known here"},
		{"items.yaml", "items:\n- name: a\n  number: 1\n  number: 2\n",
			"items.yaml:4: items[0]: number is there twice"},
		{"items.yaml", "items:\n- {name: '', number: 1}\n", "name is no name"},
		{"items.yaml", "items:\n- {name: 12345678901234567890123456789012, number: 1}\n",
			"name is no name"},
		{"items.yaml", "items:\n- {name: a, number: 1}\n- {name: b, number: 1}\n",
			"items.yaml:3: items: number 1 is that of line 2"},
		{"items.yaml", "items:\n- {name: a, number: 1}\n- {name: a, number: 2}\n",
			"items.yaml:3: items: the name a is that of line 2"},
		{"items.yaml", "items:\n- {name: a, number: 1, slot: tail}\n",
			"slot is tail, allowed is one of weapon offhand"},
		{"items.yaml", "items:\n- {name: a, number: 1, slot: head, stack_max: 2}\n",
			"stack_max must be 1"},
		{"items.yaml", "items:\n- {name: a, number: 1, slot: weapon, range_mm: 2000}\n",
			"a weapon has both"},
		{"items.yaml",
			"items:\n- {name: a, number: 1, slot: head, range_mm: 2000, cooldown_ms: "
			"500}\n",
			"a weapon has both"},
		{"monsters.yaml", "monsters:\n- {name: a, health: 0}\n", "monsters.yaml:2: "},
		{"monsters.yaml", "monsters:\n- {name: a, health: 1, loot: none}\n",
			"there is no loot table none"},
		{"monsters.yaml", "monsters:\n- {name: a, health: 1, gold_min: 3}\n",
			"gold_min is 3, allowed is gold_max, 0"},
		{"monsters.yaml", "monsters:\n- {name: a, health: 1}\n- {name: a, health: 1}\n",
			"the name a is that of line 2"},
		{"monsters.yaml",
			"monsters:\n- {name: wanderer, health: 1}\n- {name: wanderer, health: 1}\n",
			"the name wanderer is that of line 2"},
		{"loot.yaml", "loot:\n- {table: a, item: gold, chance_permille: 1}\n",
			"there is no item gold"},
		{"loot.yaml", "loot:\n- {table: a, item: gel, chance_permille: 1001}\n",
			"chance_permille is 1001, allowed is 1 to 1000"},
		{"loot.yaml", "loot:\n- {table: a, item: gel, chance_permille: 1, count_max: 10}\n",
			"count_max is 10, allowed is 9"},
		{"loot.yaml", "loot:\n- {table: a, item: gel, chance_permille: 1, count_min: 2}\n",
			"count_min is 2, allowed is count_max, 1"},
		{"levels.yaml", "levels:\n- {level: 2, experience: 0, health: 1, attack: 1}\n",
			"level is 2, allowed is 1"},
		{"levels.yaml", "levels:\n- {level: 1, experience: 1, health: 1, attack: 1}\n",
			"experience is 1, allowed is 0"},
#define QUEST(steps) "quests:\n- {number: 1, name: a, title: A, steps: [" steps "]}\n"
#define TALK         "{number: 1, text: t, talk: Tom}"
		{"quests.yaml", "quests:\n- {number: 1, name: a, title: A}\n",
			"quests.yaml:2: quests[0]: steps is missing"},
		{"quests.yaml", "quests:\n- {number: 1, name: a, title: A, steps: 5}\n",
			"quests[0]: steps is no list"},
		{"quests.yaml", QUEST(""), "of the wrong length, allowed are 1 to 30 rows"},
		{"quests.yaml", QUEST("5"), "quests[0].steps[0]: is no mapping"},
		{"quests.yaml", QUEST("{number: 31, text: t, talk: Tom}"),
			"quests[0].steps[0]: number is 31, allowed is 1 to 30"},
		{"quests.yaml", QUEST("{number: 1, talk: Tom}"), "steps[0]: text is missing"},
		{"quests.yaml", QUEST("{number: 1, text: t}"), "a step is one of kill"},
		{"quests.yaml", QUEST("{number: 1, text: t, talk: Tom, have: gel}"),
			"a step is one of kill"},
		{"quests.yaml", QUEST("{number: 1, text: t, have: gel, bring: gel}"),
			"bring goes with talk"},
		{"quests.yaml", QUEST("{number: 1, text: t, have: gel}"),
			"the last step of a is not a talk"},
		{"quests.yaml", QUEST("{number: 1, text: t, kill: wolf}, " TALK),
			"there is no monster wolf"},
		{"quests.yaml", QUEST(TALK ", {number: 1, text: t, talk: Tom}"),
			"number 1 is that of another step of a"},
		{"quests.yaml", QUEST("{number: 2, text: t, reach: meadow, x_m: 1}, " TALK),
			"reach has x_m, y_m and radius_m"},
		{"quests.yaml", QUEST("{number: 1, text: t, talk: Tom, x_m: 1}"),
			"reach has x_m, y_m and radius_m"},
		{"quests.yaml",
			QUEST("{number: 2, text: t, reach: meadow, x_m: 1, y_m: 1, radius_m: "
			      "4}, " TALK),
			"radius_m is 4, allowed is 5 to 1000"},
		{"quests.yaml", QUEST("{number: 1, text: t, talk: Tom, count: 2}"),
			"count goes with kill, have and bring"},
		{"quests.yaml", QUEST("{number: 1, text: t, talk: Tom, bring: gold}"),
			"there is no item gold"},
		{"quests.yaml", QUEST("{number: 1, text: t, talk: Tom, bring: gel, count: 73}"),
			"73 times gel, allowed are up to 72"},
		{"quests.yaml",
			"quests:\n- number: 1\n  name: a\n  title: A\n  rewards: [{item: gel, "
			"count: "
			"10}]\n"
			"  steps: [" TALK "]\n",
			"quests.yaml:5: quests: 10 times gel, allowed are up to 9"},
		{"quests.yaml",
			"quests:\n- {number: 1, name: a, title: A, gives: x, steps: [" TALK "]}\n",
			"there is no item x"},
		{"quests.yaml",
			"quests:\n- {number: 1, name: a, title: A, gives_count: 2, steps: [" TALK
			"]}\n",
			"gives_count goes with gives"},
		{"quests.yaml",
			"quests:\n- {number: 1, name: a, title: A, steps: [" TALK "]}\n"
			"- {number: 1, name: b, title: A, steps: [" TALK "]}\n",
			"quests.yaml:3: quests: number 1 is that of line 2"},
		{"quests.yaml",
			"quests:\n- {number: 1, name: a, title: A, steps: [" TALK "]}\n"
			"- {number: 2, name: a, title: A, steps: [" TALK "]}\n",
			"quests.yaml:3: quests: the name a is that of line 2"},
		{"quests.yaml",
			"quests:\n- {number: 1, name: a, title: A, after: [{quest: c}], steps: "
			"[" TALK "]}\n",
			"there is no quest c"},
		{"quests.yaml",
			"quests:\n- {number: 1, name: a, title: A, after: [{quest: b}], steps: "
			"[" TALK "]}\n"
			"- {number: 2, name: b, title: A, after: [{quest: a}], steps: [" TALK
			"]}\n",
			"quests.yaml:2: quests: a comes after itself"},
	};

	(void)state;
	for (size_t i = 0; i < sizeof(table) / sizeof(table[0]); i++) {
		struct sim_game *game;

		for (size_t f = 0; f < NAMES; f++)
			write_file(names[f], NULL);
		/* all files are looked at, whatever is wrong with one */
		write_file("levels.yaml", "levels: 4\n");
		write_file("items.yaml", "items:\n- {name: gel, number: 1, stack_max: 9}\n");
		write_file(table[i].file, table[i].text);
		game = load(folder);
		assert_null(game);
		if (!strstr(errors_text, table[i].want) ||
			(strcmp(table[i].file, "levels.yaml") &&
				!strstr(errors_text, "levels.yaml:1: (file)")))
			fail_msg("row %zu: %s", i, errors_text);
	}
	for (size_t f = 0; f < NAMES; f++)
		write_file(names[f], NULL);
}

/* Steps in the order of the file, whatever their numbers; rows of all quests side by side. */
static void quests_have_steps(void **state)
{
	struct sim_game *game;
	const struct sim_quest *quest;
	const struct sim_quest_step *step;

	(void)state;
	write_file("items.yaml", "items:\n- {name: gel, number: 7, stack_max: 9}\n");
	write_file("quests.yaml",
		"quests:\n"
		"- {number: 9, name: late, title: Late, level: 4, after: [{quest: early}],\n"
		"   steps: [{number: 3, text: a, kill: wanderer, count: 2}, {number: 1, text: b,\n"
		"     reach: meadow, x_m: 0, y_m: 7, radius_m: 9}, {number: 2, text: c, talk: "
		"Tom,\n"
		"     bring: gel, count: 12}], gold: 5, rewards: [{item: gel, count: 9}]}\n"
		"- {number: 2, name: early, title: Early, gives: gel,\n"
		"   steps: [{number: 30, text: d, have: gel}, {number: 4, text: e, talk: Bo}]}\n");
	game = load(folder);
	if (!game)
		fail_msg("%s", errors_text);
	assert_int_equal(game->quest_count, 2);
	assert_int_equal(sim_quest_find(game, "late"), 1);
	assert_int_equal(sim_quest_of(game, 9), 1);
	assert_int_equal(sim_quest_of(game, 3), UINT32_MAX);
	quest = &game->quests[0];
	assert_int_equal(quest->gives_item, 7);
	assert_int_equal(sim_quest_first(game, quest)->number, 30);
	assert_int_equal(sim_quest_first(game, quest)->kind, SIM_QUEST_HAVE);
	assert_int_equal(sim_quest_first(game, quest)->need, 1);
	quest = &game->quests[1];
	assert_int_equal(quest->level, 4);
	assert_int_equal(game->quest_afters[quest->after.first].quest, 0);
	assert_int_equal(game->quest_rewards[quest->rewards.first].item, 7);
	step = sim_quest_first(game, quest);
	assert_int_equal(step->number, 3);
	assert_int_equal(step->need, 2);
	assert_int_equal(step->monster_kind, SIM_KIND_PLAIN);
	step = sim_quest_next(game, quest, step);
	assert_int_equal(step->kind, SIM_QUEST_REACH);
	assert_ptr_equal(step, sim_quest_step(game, quest, 1));
	step = sim_quest_next(game, quest, step);
	assert_int_equal(step->item, 7);
	assert_int_equal(step->need, 12);
	assert_null(sim_quest_next(game, quest, step));
	assert_null(sim_quest_step(game, quest, 30));
	sim_game_free(game);
	write_file("items.yaml", NULL);
	write_file("quests.yaml", NULL);
}

/* So many that a client can be told of all of them at once. */
static void few_quests_come_again(void **state)
{
	static char text[8192];
	struct sim_game *game;

	(void)state;
	for (uint32_t count = SIM_QUESTS_AGAIN_MAX; count <= SIM_QUESTS_AGAIN_MAX + 1; count++) {
		size_t at = (size_t)sprintf(text, "quests:\n");

		for (uint32_t i = 1; i <= count; i++)
			at += (size_t)snprintf(text + at, sizeof(text) - at,
				"- {number: %u, name: q%u, title: A, again_s: 60, steps: [" TALK
				"]}\n",
				i, i);
		write_file("quests.yaml", text);
		game = load(folder);
		if (count > SIM_QUESTS_AGAIN_MAX) {
			assert_null(game);
			assert_non_null(strstr(errors_text, "again_s has more than 48 quests"));
		} else {
			if (!game)
				fail_msg("%s", errors_text);
			assert_int_equal(game->quests[0].again_s, 60);
			sim_game_free(game);
		}
	}
	write_file("quests.yaml", NULL);
}

/* What the database keeps: these numbers are on disks. */
static void states_are_what_they_were(void **state)
{
	(void)state;
	assert_int_equal(sim_quest_state(1, 0), 0x0200);
	assert_int_equal(sim_quest_state(5, 3), 0x0a03);
	assert_int_equal(sim_quest_state(30, 900), 0x3dff);
	assert_int_equal(SIM_QUEST_DONE, 0x3e00);
	for (uint32_t value = 0; value <= 0xffff; value++) {
		bool open = value >= 0x0200 && value < 0x3e00;

		assert_int_equal(sim_quest_is_open(value), open);
		assert_int_equal(sim_quest_is_done(value), value >= 0x3e00 && value < 0x4000);
		if (open)
			assert_int_equal(sim_quest_state(sim_quest_state_step(value),
						 sim_quest_state_count(value)),
				value);
	}
}

static void the_content_has_no_fault(void **state)
{
	struct sim_game *game = load(content);

	(void)state;
	if (!game)
		fail_msg("%s", errors_text);
	assert_true(game->kinds_known && game->item_count && game->drop_count && game->quest_count);
	sim_game_free(game);
}

int main(int argc, char **argv)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test(without_files_there_is_what_a_map_needs),
		cmocka_unit_test(files_say_what_the_game_is),
		cmocka_unit_test(every_fault_is_said_with_file_and_line),
		cmocka_unit_test(quests_have_steps),
		cmocka_unit_test(few_quests_come_again),
		cmocka_unit_test(states_are_what_they_were),
		cmocka_unit_test(the_content_has_no_fault),
	};
	int failed;

	strcpy(folder, "/tmp/sw_game_XXXXXX");
	if (argc != 2 || !mkdtemp(folder))
		return 2;
	content = argv[1];
	failed = cmocka_run_group_tests_name("game", tests, NULL, NULL);
	for (size_t f = 0; f < NAMES; f++)
		write_file(names[f], NULL);
	rmdir(folder);
	return failed;
}
