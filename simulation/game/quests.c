#include "simulation/game/quests.h"

#include <stdlib.h>
#include <string.h>

#include "simulation/game/game.h"

_Static_assert(SIM_QUEST_NAME_BYTES == SIM_GAME_NAME_BYTES, "a name is a name");

#define STACKS_MAX 64u /* of a bag */

#define NUMBER(row, field, low, high, otherwise)                                                   \
	{                                                                                          \
#field, offsetof(struct row, field), GAME_NUMBER, false, low, high, otherwise      \
	}
#define NAME(row, field)                                                                           \
	{                                                                                          \
#field, offsetof(struct row, field), GAME_NAME, false, 0, 0, 0                     \
	}
#define COLUMNS(list) list, sizeof(list) / sizeof((list)[0])

enum { STEPS, REWARDS, AFTER, INNER };

/* clang-format off */
static const struct game_column step_columns[] = {
	{"number", offsetof(struct sim_quest_step, number), GAME_NUMBER, true, 1, SIM_QUEST_STEPS_MAX, 0},
	{"text", offsetof(struct sim_quest_step, text), GAME_TEXT, true, 0, SIM_QUEST_TEXT_BYTES, 0},
	NAME(sim_quest_step, kill),
	NAME(sim_quest_step, have),
	NAME(sim_quest_step, reach),
	NAME(sim_quest_step, talk),
	NAME(sim_quest_step, bring),
	NUMBER(sim_quest_step, count, 1, SIM_QUEST_COUNT_MAX, 0),
	NUMBER(sim_quest_step, x_m, 0, 16384, UINT32_MAX),
	NUMBER(sim_quest_step, y_m, 0, 16384, UINT32_MAX),
	NUMBER(sim_quest_step, radius_m, SIM_QUEST_RADIUS_M_MIN, 1000, 0),
};
static const struct game_column reward_columns[] = {
	{"item", offsetof(struct sim_quest_reward, item_name), GAME_NAME, true, 0, 0, 0},
	NUMBER(sim_quest_reward, count, 1, 65535, 1),
};
static const struct game_column after_columns[] = {
	{"quest", offsetof(struct sim_quest_after, name), GAME_NAME, true, 0, 0, 0},
};
static const struct game_column quest_columns[] = {
	{"number", offsetof(struct sim_quest, number), GAME_NUMBER, true, 1, INT32_MAX, 0},
	{"name", offsetof(struct sim_quest, name), GAME_NAME, true, 0, 0, 0},
	{"title", offsetof(struct sim_quest, title), GAME_TEXT, true, 0, SIM_QUEST_TITLE_BYTES, 0},
	NUMBER(sim_quest, level, 1, 1000, 1),
	{"after", offsetof(struct sim_quest, after), GAME_ROWS, false, AFTER, SIM_QUEST_AFTER_MAX, 0},
	NAME(sim_quest, gives),
	NUMBER(sim_quest, gives_count, 1, 65535, 1),
	{"steps", offsetof(struct sim_quest, steps), GAME_ROWS, true, STEPS, SIM_QUEST_STEPS_MAX, 0},
	NUMBER(sim_quest, gold, 0, 1000000000, 0),
	NUMBER(sim_quest, experience, 0, 1000000000, 0),
	NUMBER(sim_quest, again_s, 1, SIM_QUEST_AGAIN_S_MAX, 0),
	{"rewards", offsetof(struct sim_quest, rewards), GAME_ROWS, false, REWARDS, SIM_QUEST_REWARDS_MAX, 0},
};
static const struct game_table inner_tables[INNER] = {
	[STEPS] = {"steps", COLUMNS(step_columns), sizeof(struct sim_quest_step),
		offsetof(struct sim_quest_step, line)},
	[REWARDS] = {"rewards", COLUMNS(reward_columns), sizeof(struct sim_quest_reward),
		offsetof(struct sim_quest_reward, line)},
	[AFTER] = {"after", COLUMNS(after_columns), sizeof(struct sim_quest_after),
		offsetof(struct sim_quest_after, line)},
};
static const struct game_table quest_table = {"quests", COLUMNS(quest_columns),
	sizeof(struct sim_quest), offsetof(struct sim_quest, line)};
/* clang-format on */

bool sim_quests_read(
	struct sim_game *game, const void *text, size_t bytes, struct config_faults *faults)
{
	struct game_inner inner[INNER];
	bool good;

	for (uint32_t i = 0; i < INNER; i++)
		inner[i] = (struct game_inner){.table = &inner_tables[i]};
	good = game_table_read_nested(&quest_table, inner, text, bytes, faults,
		(void **)&game->quests, &game->quest_count);
	game->quest_steps = inner[STEPS].rows;
	game->quest_step_count = inner[STEPS].count;
	game->quest_rewards = inner[REWARDS].rows;
	game->quest_afters = inner[AFTER].rows;
	return good;
}

void sim_quests_free(struct sim_game *game)
{
	free(game->quests);
	free(game->quest_steps);
	free(game->quest_rewards);
	free(game->quest_afters);
}

/* ---- what rows have to do with each other ---- */

static int by_number(const void *a, const void *b)
{
	const struct sim_quest *x = a, *y = b;

	if (x->number != y->number)
		return x->number < y->number ? -1 : 1;
	return x->line < y->line ? -1 : 1;
}

/* The item of that name; a fault and NULL without one, or where count is more than may be. */
static const struct sim_item *item_of(const struct sim_game *game, struct config_faults *faults,
	uint32_t line, const char *name, uint32_t count, uint32_t stacks)
{
	const struct sim_item *item = sim_game_item_named(game, name);

	if (!item)
		config_fault_add(faults, line, "quests: there is no item %s", name);
	else if (count > item->stack_max * stacks)
		config_fault_add(faults, line,
			"quests: %u times %s, allowed are up to %u: %u of a slot's", count, name,
			item->stack_max * stacks, stacks);
	else
		return item;
	return NULL;
}

static void check_step(
	const struct sim_game *game, struct config_faults *faults, struct sim_quest_step *step)
{
	bool place = step->x_m != UINT32_MAX || step->y_m != UINT32_MAX || step->radius_m;
	uint32_t kinds = !!step->kill[0] + !!step->have[0] + !!step->reach[0] + !!step->talk[0];
	const struct sim_item *item = NULL;
	uint32_t count = step->count ? step->count : 1;

	if (kinds != 1 || (step->bring[0] && !step->talk[0])) {
		config_fault_add(faults, step->line,
			"quests: a step is one of kill, have, reach, talk; bring goes with talk");
		return;
	}
	if (place != !!step->reach[0] ||
		(place && (step->x_m == UINT32_MAX || step->y_m == UINT32_MAX || !step->radius_m)))
		config_fault_add(faults, step->line,
			"quests: reach has x_m, y_m and radius_m, and nothing else has");
	if (step->count && (step->reach[0] || (step->talk[0] && !step->bring[0])))
		config_fault_add(
			faults, step->line, "quests: count goes with kill, have and bring");
	step->kind = step->kill[0]    ? SIM_QUEST_KILL
		     : step->have[0]  ? SIM_QUEST_HAVE
		     : step->reach[0] ? SIM_QUEST_REACH
				      : SIM_QUEST_TALK;
	if (step->kind == SIM_QUEST_KILL) {
		step->need = count;
		step->monster_kind = sim_game_kind(game, step->kill);
		if (step->monster_kind == UINT32_MAX)
			config_fault_add(
				faults, step->line, "quests: there is no monster %s", step->kill);
	}
	if (step->have[0])
		item = item_of(game, faults, step->line, step->have, count, STACKS_MAX);
	else if (step->bring[0])
		item = item_of(
			game, faults, step->line, step->bring, count, SIM_QUEST_BRING_STACKS);
	if (item) {
		step->item = item->number;
		step->need = count;
	}
}

static void check_steps(
	struct sim_game *game, struct config_faults *faults, const struct sim_quest *quest)
{
	struct sim_quest_step *steps = &game->quest_steps[quest->steps.first];
	uint32_t seen = 0;

	for (uint32_t i = 0; i < quest->steps.count; i++) {
		if (seen >> steps[i].number & 1)
			config_fault_add(faults, steps[i].line,
				"quests: number %u is that of another step of %s", steps[i].number,
				quest->name);
		seen |= 1u << steps[i].number;
		check_step(game, faults, &steps[i]);
	}
	if (quest->steps.count && !steps[quest->steps.count - 1].talk[0])
		config_fault_add(faults, steps[quest->steps.count - 1].line,
			"quests: the last step of %s is not a talk: somebody has to give the "
			"reward",
			quest->name);
}

static void check_items(
	struct sim_game *game, struct config_faults *faults, struct sim_quest *quest)
{
	const struct sim_item *item;

	if (quest->gives[0]) {
		item = item_of(game, faults, quest->line, quest->gives, quest->gives_count, 1);
		quest->gives_item = item ? item->number : 0;
	} else if (quest->gives_count != 1) {
		config_fault_add(faults, quest->line, "quests: gives_count goes with gives");
	}
	for (uint32_t i = 0; i < quest->rewards.count; i++) {
		struct sim_quest_reward *reward = &game->quest_rewards[quest->rewards.first + i];

		item = item_of(game, faults, reward->line, reward->item_name, reward->count, 1);
		reward->item = item ? item->number : 0;
	}
}

/* Whether the quest comes after itself. Each is walked from once; seen is of this walk. */
static bool is_circle(const struct sim_game *game, uint32_t from, uint32_t at, uint8_t *seen)
{
	const struct sim_quest *quest = &game->quests[at];

	for (uint32_t i = 0; i < quest->after.count; i++) {
		uint32_t before = game->quest_afters[quest->after.first + i].quest;

		if (before == from)
			return true;
		if (before == UINT32_MAX || seen[before])
			continue;
		seen[before] = 1;
		if (is_circle(game, from, before, seen))
			return true;
	}
	return false;
}

static void check_after(
	struct sim_game *game, struct config_faults *faults, const struct sim_quest *quest)
{
	for (uint32_t i = 0; i < quest->after.count; i++) {
		struct sim_quest_after *after = &game->quest_afters[quest->after.first + i];

		after->quest = sim_quest_find(game, after->name);
		if (after->quest == UINT32_MAX)
			config_fault_add(
				faults, after->line, "quests: there is no quest %s", after->name);
	}
}

void sim_quests_check(struct sim_game *game, struct config_faults *faults)
{
	if (game->quest_count > SIM_QUESTS_MAX) {
		config_fault_add(faults, 1, "quests: has %u rows, allowed are %u",
			game->quest_count, SIM_QUESTS_MAX);
		return;
	}
	for (uint32_t i = 0, again = 0; i < game->quest_count; i++) {
		again += game->quests[i].again_s != 0;
		if (again == SIM_QUESTS_AGAIN_MAX + 1 && game->quests[i].again_s)
			config_fault_add(faults, game->quests[i].line,
				"quests: again_s has more than %u quests", SIM_QUESTS_AGAIN_MAX);
	}
	if (game->quest_count)
		qsort(game->quests, game->quest_count, sizeof(*game->quests), by_number);
	for (uint32_t i = 0; i < game->quest_count; i++) {
		struct sim_quest *quest = &game->quests[i];

		if (i && quest[-1].number == quest->number)
			config_fault_add(faults, quest->line,
				"quests: number %u is that of line %u", quest->number,
				quest[-1].line);
		for (uint32_t k = 0; k < i; k++)
			if (!strcmp(game->quests[k].name, quest->name))
				config_fault_add(faults, quest->line,
					"quests: the name %s is that of line %u", quest->name,
					game->quests[k].line);
		check_steps(game, faults, quest);
		check_items(game, faults, quest);
		check_after(game, faults, quest);
	}
	for (uint32_t i = 0; i < game->quest_count; i++) {
		uint8_t seen[SIM_QUESTS_MAX] = {0};

		if (is_circle(game, i, i, seen))
			config_fault_add(faults, game->quests[i].line,
				"quests: %s comes after itself", game->quests[i].name);
	}
}

/* ---- looking up ---- */

uint32_t sim_quest_find(const struct sim_game *game, const char *name)
{
	for (uint32_t i = 0; i < game->quest_count; i++)
		if (!strcmp(game->quests[i].name, name))
			return i;
	return UINT32_MAX;
}

uint32_t sim_quest_of(const struct sim_game *game, uint32_t number)
{
	uint32_t low = 0, high = game->quest_count;

	while (low < high) {
		uint32_t middle = low + (high - low) / 2;

		if (game->quests[middle].number == number)
			return middle;
		if (game->quests[middle].number < number)
			low = middle + 1;
		else
			high = middle;
	}
	return UINT32_MAX;
}

const struct sim_quest_step *sim_quest_step(
	const struct sim_game *game, const struct sim_quest *quest, uint32_t number)
{
	const struct sim_quest_step *steps = &game->quest_steps[quest->steps.first];

	for (uint32_t i = 0; i < quest->steps.count; i++)
		if (steps[i].number == number)
			return &steps[i];
	return NULL;
}

const struct sim_quest_step *sim_quest_next(const struct sim_game *game,
	const struct sim_quest *quest, const struct sim_quest_step *step)
{
	const struct sim_quest_step *last =
		&game->quest_steps[quest->steps.first + quest->steps.count - 1];

	return step == last ? NULL : step + 1;
}

const struct sim_quest_step *sim_quest_first(
	const struct sim_game *game, const struct sim_quest *quest)
{
	return &game->quest_steps[quest->steps.first];
}
