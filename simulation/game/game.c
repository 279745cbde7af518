#include "simulation/game/game.h"

#include <errno.h>
#include <stdlib.h>
#include <string.h>

#include "common/level.h"
#include "simulation/game/table.h"

#define COLUMNS(list) list, sizeof(list) / sizeof((list)[0])

#define NUMBER(row, field, low, high, otherwise)                                                   \
	{                                                                                          \
#field, offsetof(struct row, field), GAME_NUMBER, false, low, high, otherwise      \
	}
#define NEEDED(row, field, low, high)                                                              \
	{                                                                                          \
#field, offsetof(struct row, field), GAME_NUMBER, true, low, high, 0               \
	}

/* clang-format off */
static const struct game_column item_columns[] = {
	{"name", offsetof(struct sim_item, name), GAME_NAME, true, 0, 0, 0},
	NEEDED(sim_item, number, 1, INT32_MAX),
	NUMBER(sim_item, stack_max, 1, 65535, 1),
	{"slot", offsetof(struct sim_item, equip), GAME_EQUIP, false, 0, 0, 0},
	NUMBER(sim_item, attack, 0, 10000, 0),
	NUMBER(sim_item, defence, 0, 10000, 0),
	NUMBER(sim_item, range_mm, 100, 50000, 0),
	NUMBER(sim_item, cooldown_ms, 100, 60000, 0),
};
static const struct game_column kind_columns[] = {
	{"name", offsetof(struct sim_monster_kind, name), GAME_NAME, true, 0, 0, 0},
	NEEDED(sim_monster_kind, health, 1, 1000000),
	NUMBER(sim_monster_kind, attack, 0, 10000, 0),
	NUMBER(sim_monster_kind, defence, 0, 10000, 0),
	NUMBER(sim_monster_kind, range_mm, 100, 50000, 1500),
	NUMBER(sim_monster_kind, cooldown_ms, 100, 60000, 1500),
	NUMBER(sim_monster_kind, speed_mm_per_s, 1, 20000, 2000),
	NUMBER(sim_monster_kind, sight_mm, 0, 40000, 0),
	NUMBER(sim_monster_kind, leash_mm, 1000, 200000, 30000),
	NUMBER(sim_monster_kind, experience, 0, 1000000, 0),
	NUMBER(sim_monster_kind, gold_min, 0, 1000000, 0),
	NUMBER(sim_monster_kind, gold_max, 0, 1000000, 0),
	{"loot", offsetof(struct sim_monster_kind, loot), GAME_NAME, false, 0, 0, 0},
};
static const struct game_column drop_columns[] = {
	{"table", offsetof(struct sim_drop, table), GAME_NAME, true, 0, 0, 0},
	{"item", offsetof(struct sim_drop, item_name), GAME_NAME, true, 0, 0, 0},
	NEEDED(sim_drop, chance_permille, 1, 1000),
	NUMBER(sim_drop, count_min, 1, 65535, 1),
	NUMBER(sim_drop, count_max, 1, 65535, 1),
};
static const struct game_column level_columns[] = {
	NEEDED(sim_level, level, 1, LEVEL_MAX),
	NEEDED(sim_level, experience, 0, INT32_MAX),
	NEEDED(sim_level, health, 1, 1000000),
	NEEDED(sim_level, attack, 1, 10000),
};

static const struct game_column card_columns[] = {
	{"name", offsetof(struct sim_card, name), GAME_NAME, true, 0, 0, 0},
	NEEDED(sim_card, number, 1, INT32_MAX),
	NUMBER(sim_card, attack, 0, 1000, 0),
	NUMBER(sim_card, defence, 0, 1000, 0),
	NUMBER(sim_card, health, 0, 10000, 0),
	NUMBER(sim_card, speed_permille, 0, 500, 0),
};
static const struct game_column stage_columns[] = {
	NEEDED(sim_battle_stage, at_s, 0, 86400),
	NEEDED(sim_battle_stage, radius_permille, 0, 3000),
	NUMBER(sim_battle_stage, shrink_s, 0, 3600, 0),
	NUMBER(sim_battle_stage, damage, 0, 1000000, 0),
	NUMBER(sim_battle_stage, pick_s, 0, 60, 0),
};

static const struct game_table item_table = {"items", COLUMNS(item_columns),
	sizeof(struct sim_item), offsetof(struct sim_item, line)};
static const struct game_table kind_table = {"monsters", COLUMNS(kind_columns),
	sizeof(struct sim_monster_kind), offsetof(struct sim_monster_kind, line)};
static const struct game_table drop_table = {"loot", COLUMNS(drop_columns),
	sizeof(struct sim_drop), offsetof(struct sim_drop, line)};
static const struct game_table level_table = {"levels", COLUMNS(level_columns),
	sizeof(struct sim_level), offsetof(struct sim_level, line)};
static const struct game_table card_table = {"cards", COLUMNS(card_columns),
	sizeof(struct sim_card), offsetof(struct sim_card, line)};
static const struct game_table stage_table = {"battle", COLUMNS(stage_columns),
	sizeof(struct sim_battle_stage), offsetof(struct sim_battle_stage, line)};
/* clang-format on */

static const struct sim_monster_kind plain = {.name = SIM_KIND_PLAIN_NAME,
	.health = 30,
	.range_mm = 1500,
	.cooldown_ms = 1500,
	.speed_mm_per_s = 2000,
	.leash_mm = 30000};
static const struct sim_level first_level = {.level = 1, .health = 100, .attack = 10};

#define FILE_ENUM(id, name) id,
enum { SIM_GAME_FILES(FILE_ENUM) FILES };
#define FILE_NAME(id, name) name,
static const char *const file_names[FILES] = {SIM_GAME_FILES(FILE_NAME)};

struct loader {
	struct sim_game *game;
	struct config_faults faults[FILES];
	char path[FILES][1024];
};

/* ---- reading ---- */

/* NULL with *bytes 0: there is no such file, or it cannot be read, which is a fault. */
static char *read_file(const char *path, struct config_faults *faults, size_t *bytes)
{
	FILE *file = fopen(path, "rb");
	char *text = NULL;

	*bytes = 0;
	if (!file) {
		if (errno != ENOENT)
			config_fault_add(faults, 1, "(file): %s", strerror(errno));
		return NULL;
	}
	text = malloc(SIM_GAME_FILE_MAX + 1);
	if (text)
		*bytes = fread(text, 1, SIM_GAME_FILE_MAX + 1, file);
	if (!text || ferror(file) || *bytes > SIM_GAME_FILE_MAX) {
		config_fault_add(faults, 1, "(file): cannot be read, or is larger than %u bytes",
			SIM_GAME_FILE_MAX);
		free(text);
		text = NULL;
		*bytes = 0;
	}
	fclose(file);
	return text;
}

/* Returns whether the file was there; *rows is NULL without memory. */
static bool read_rows(struct loader *l, uint32_t file, const struct game_table *table, void **rows,
	uint32_t *count)
{
	struct config_faults *faults = &l->faults[file];
	size_t bytes;
	char *text = read_file(l->path[file], faults, &bytes);

	*rows = NULL;
	*count = 0;
	if (text && !game_table_read(table, text, bytes, faults, rows, count))
		config_fault_add(faults, 1, "(file): no memory");
	free(text);
	return text != NULL;
}

static void read_quests(struct loader *l)
{
	struct config_faults *faults = &l->faults[QUESTS];
	size_t bytes;
	char *text = read_file(l->path[QUESTS], faults, &bytes);

	if (text && !sim_quests_read(l->game, text, bytes, faults))
		config_fault_add(faults, 1, "(file): no memory");
	free(text);
}

/* ---- what rows have to do with each other ---- */

static int by_number(const void *a, const void *b)
{
	const struct sim_item *x = a, *y = b;

	if (x->number != y->number)
		return x->number < y->number ? -1 : 1;
	return x->line < y->line ? -1 : 1;
}

static int by_table(const void *a, const void *b)
{
	const struct sim_drop *x = a, *y = b;
	int order = strcmp(x->table, y->table);

	return order ? order : x->line < y->line ? -1 : 1;
}

static void check_items(struct loader *l)
{
	struct sim_game *game = l->game;
	struct config_faults *faults = &l->faults[ITEMS];

	if (game->item_count)
		qsort(game->items, game->item_count, sizeof(*game->items), by_number);
	for (uint32_t i = 0; i < game->item_count; i++) {
		const struct sim_item *item = &game->items[i];

		if (i && item[-1].number == item->number)
			config_fault_add(faults, item->line, "items: number %u is that of line %u",
				item->number, item[-1].line);
		if (item->equip != SIM_NO_SLOT && item->stack_max != 1)
			config_fault_add(faults, item->line,
				"items: %s is worn, so its stack_max must be 1", item->name);
		if (!item->range_mm != !item->cooldown_ms ||
			(item->range_mm && item->equip != SIM_EQUIP_WEAPON))
			config_fault_add(faults, item->line,
				"items: %s: a weapon has both range_mm and cooldown_ms, and "
				"nothing "
				"else has",
				item->name);
		for (uint32_t k = 0; k < i; k++)
			if (!strcmp(game->items[k].name, item->name))
				config_fault_add(faults, item->line,
					"items: the name %s is that of line %u", item->name,
					game->items[k].line);
	}
}

static void check_drops(struct loader *l)
{
	struct sim_game *game = l->game;

	if (game->drop_count)
		qsort(game->drops, game->drop_count, sizeof(*game->drops), by_table);
	for (uint32_t i = 0; i < game->drop_count; i++) {
		struct sim_drop *drop = &game->drops[i];

		drop->item = 0;
		while (drop->item < game->item_count &&
			strcmp(game->items[drop->item].name, drop->item_name))
			drop->item++;
		if (drop->item == game->item_count)
			config_fault_add(&l->faults[DROPS], drop->line, "loot: there is no item %s",
				drop->item_name);
		else if (drop->count_max > game->items[drop->item].stack_max)
			config_fault_add(&l->faults[DROPS], drop->line,
				"loot: count_max is %u, allowed is %u, the stack_max of %s",
				drop->count_max, game->items[drop->item].stack_max,
				drop->item_name);
		if (drop->count_min > drop->count_max)
			config_fault_add(&l->faults[DROPS], drop->line,
				"loot: count_min is %u, allowed is count_max, %u", drop->count_min,
				drop->count_max);
	}
}

static void check_kinds(struct loader *l)
{
	struct sim_game *game = l->game;

	for (uint32_t i = 0; i < game->kind_count; i++) {
		struct sim_monster_kind *kind = &game->kinds[i];

		if (kind->gold_min > kind->gold_max)
			config_fault_add(&l->faults[KINDS], kind->line,
				"monsters: gold_min is %u, allowed is gold_max, %u", kind->gold_min,
				kind->gold_max);
		for (uint32_t k = 0; k < i; k++)
			if (!strcmp(game->kinds[k].name, kind->name))
				config_fault_add(&l->faults[KINDS], kind->line,
					"monsters: the name %s is that of line %u", kind->name,
					game->kinds[k].line);
		if (!kind->loot[0])
			continue;
		while (kind->drop_first < game->drop_count &&
			strcmp(game->drops[kind->drop_first].table, kind->loot))
			kind->drop_first++;
		while (kind->drop_first + kind->drop_count < game->drop_count &&
			!strcmp(game->drops[kind->drop_first + kind->drop_count].table, kind->loot))
			kind->drop_count++;
		if (!kind->drop_count)
			config_fault_add(&l->faults[KINDS], kind->line,
				"monsters: there is no loot table %s", kind->loot);
	}
}

static void check_levels(struct loader *l)
{
	const struct sim_game *game = l->game;

	for (uint32_t i = 0; i < game->level_count; i++) {
		const struct sim_level *level = &game->levels[i];

		if (level->level != i + 1)
			config_fault_add(&l->faults[LEVELS], level->line,
				"levels: level is %u, allowed is %u: they go up from 1",
				level->level, i + 1);
		else if (level->experience != level_begins(level->level))
			config_fault_add(&l->faults[LEVELS], level->line,
				"levels: experience is %u, allowed is %lld: the database has the "
				"rule "
				"50 x level x (level - 1)",
				level->experience, (long long)level_begins(level->level));
	}
}

static void check_battle(struct loader *l)
{
	const struct sim_game *game = l->game;

	for (uint32_t i = 1; i < game->card_count; i++)
		if (game->cards[i].number <= game->cards[i - 1].number)
			config_fault_add(&l->faults[CARDS], game->cards[i].line,
				"cards: number is %u, allowed is more than %u: they go up",
				game->cards[i].number, game->cards[i - 1].number);
	for (uint32_t i = 1; i < game->stage_count; i++) {
		const struct sim_battle_stage *stage = &game->stages[i], *last = stage - 1;
		uint32_t busy_s = last->shrink_s > last->pick_s ? last->shrink_s : last->pick_s;

		if (stage->at_s <= last->at_s + busy_s)
			config_fault_add(&l->faults[STAGES], stage->line,
				"battle: at_s is %u, allowed is more than %u: when the stage "
				"before "
				"is done",
				stage->at_s, last->at_s + busy_s);
		if (stage->radius_permille > last->radius_permille)
			config_fault_add(&l->faults[STAGES], stage->line,
				"battle: radius_permille is %u, allowed is up to %u: the zone only "
				"shrinks",
				stage->radius_permille, last->radius_permille);
	}
}

/* ---- what is always there ---- */

/* SIM_KIND_PLAIN comes first, the file's or ours. */
static bool add_plain(struct sim_game *game)
{
	struct sim_monster_kind *all = calloc(game->kind_count + 1, sizeof(*all));
	uint32_t count = 1;

	if (!all)
		return false;
	all[0] = plain;
	for (uint32_t i = 0; i < game->kind_count; i++) {
		bool is_plain = !strcmp(game->kinds[i].name, plain.name) && !all[0].line;

		all[is_plain ? 0 : count++] = game->kinds[i];
	}
	free(game->kinds);
	game->kinds = all;
	game->kind_count = count;
	return true;
}

static bool add_level(struct sim_game *game)
{
	if (game->level_count)
		return true;
	free(game->levels);
	game->levels = malloc(sizeof(*game->levels));
	if (!game->levels)
		return false;
	game->levels[0] = first_level;
	game->level_count = 1;
	return true;
}

static bool load(struct loader *l, const char *folder)
{
	struct sim_game *game = l->game;
	uint32_t faults = 0;

	for (uint32_t i = 0; i < FILES; i++)
		snprintf(l->path[i], sizeof(l->path[i]), "%s/%s", folder, file_names[i]);
	read_rows(l, ITEMS, &item_table, (void **)&game->items, &game->item_count);
	game->kinds_known =
		read_rows(l, KINDS, &kind_table, (void **)&game->kinds, &game->kind_count);
	read_rows(l, DROPS, &drop_table, (void **)&game->drops, &game->drop_count);
	read_rows(l, LEVELS, &level_table, (void **)&game->levels, &game->level_count);
	read_rows(l, CARDS, &card_table, (void **)&game->cards, &game->card_count);
	read_rows(l, STAGES, &stage_table, (void **)&game->stages, &game->stage_count);
	read_quests(l);
	if (!add_plain(game) || !add_level(game)) {
		config_fault_add(&l->faults[KINDS], 1, "(file): no memory");
		return false;
	}
	check_items(l);
	check_drops(l);
	check_kinds(l);
	check_levels(l);
	check_battle(l);
	sim_quests_check(game, &l->faults[QUESTS]);
	for (uint32_t i = 0; i < FILES; i++)
		faults += l->faults[i].count;
	return !faults;
}

struct sim_game *sim_game_load(const char *folder, FILE *errors)
{
	struct loader *l = calloc(1, sizeof(*l));
	struct sim_game *game = calloc(1, sizeof(*game));

	if (!l || !game) {
		fprintf(errors, "%s: no memory for the game's data\n", folder);
		goto fail;
	}
	l->game = game;
	if (!load(l, folder)) {
		for (uint32_t i = 0; i < FILES; i++)
			config_faults_print(&l->faults[i], l->path[i], errors);
		goto fail;
	}
	free(l);
	return game;
fail:
	free(l);
	sim_game_free(game);
	return NULL;
}

void sim_game_free(struct sim_game *game)
{
	if (!game)
		return;
	free(game->items);
	free(game->kinds);
	free(game->drops);
	free(game->levels);
	free(game->cards);
	free(game->stages);
	sim_quests_free(game);
	free(game);
}

/* ---- looking up ---- */

const struct sim_item *sim_game_item(const struct sim_game *game, uint32_t number)
{
	uint32_t low = 0, high = game->item_count;

	while (low < high) {
		uint32_t middle = low + (high - low) / 2;

		if (game->items[middle].number == number)
			return &game->items[middle];
		if (game->items[middle].number < number)
			low = middle + 1;
		else
			high = middle;
	}
	return NULL;
}

const struct sim_item *sim_game_item_named(const struct sim_game *game, const char *name)
{
	for (uint32_t i = 0; i < game->item_count; i++)
		if (!strcmp(game->items[i].name, name))
			return &game->items[i];
	return NULL;
}

uint32_t sim_game_kind(const struct sim_game *game, const char *name)
{
	for (uint32_t i = 0; i < game->kind_count; i++)
		if (!strcmp(game->kinds[i].name, name))
			return i;
	return UINT32_MAX;
}

const struct sim_level *sim_game_level(const struct sim_game *game, int64_t experience)
{
	uint32_t level = level_of(experience);

	return &game->levels[level < game->level_count ? level - 1 : game->level_count - 1];
}
