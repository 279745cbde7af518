/* stormweir-script: checks and tries content without a server. A small map of its own stands in for
 * the shard: NPCs walk at 4 m/s in 20 ticks a second, and one player named Alice clicks. She has
 * what is asked of her, all is kept, and to each question she takes the first choice. */
#include <errno.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "simulation/script/api.h"

#define PLAYER    1000000u /* the player's handle; an NPC's is its index + 1 */
#define SPEED_MM  200      /* in a tick, at full length (127) */
#define NAMES_MAX 64u

struct stage {
	struct script_vm *vm;
	uint32_t tick;
	uint64_t random;
	struct script_actor actors[SCRIPT_NPCS_MAX];
	struct script_actor player;
	char names[NAMES_MAX][SCRIPT_NAME_BYTES]; /* of items and quests that were named */
	uint32_t name_count;
	uint32_t job; /* that waits; 0: none */
};

static bool stage_actor(void *ctx, uint64_t actor, struct script_actor *out)
{
	struct stage *stage = ctx;

	*out = actor == PLAYER ? stage->player : stage->actors[actor - 1];
	return true;
}

static bool stage_say(void *ctx, uint64_t npc, uint64_t player, const char *text, uint32_t bytes)
{
	struct stage *stage = ctx;

	printf("%s to %s: %.*s\n", stage->actors[npc - 1].name,
		player == PLAYER ? stage->player.name : "?", (int)bytes, text);
	return player == PLAYER;
}

static void stage_move(void *ctx, uint64_t npc, int8_t dx, int8_t dy)
{
	struct stage *stage = ctx;
	struct script_actor *actor = &stage->actors[npc - 1];

	actor->x_mm += dx * SPEED_MM / 127;
	actor->y_mm += dy * SPEED_MM / 127;
}

static uint64_t stage_random(void *ctx)
{
	struct stage *stage = ctx;
	uint64_t z = stage->random += 0x9e3779b97f4a7c15u; /* splitmix64 */

	z = (z ^ (z >> 30)) * 0xbf58476d1ce4e5b9u;
	z = (z ^ (z >> 27)) * 0x94d049bb133111ebu;
	return z ^ (z >> 31);
}

static uint32_t stage_tick(void *ctx)
{
	return ((struct stage *)ctx)->tick;
}

/* There is no map here. */
static bool stage_place(void *ctx, const char *tag, int32_t *x_mm, int32_t *y_mm)
{
	(void)ctx;
	(void)tag;
	*x_mm = *y_mm = 0;
	return true;
}

static bool stage_send(
	void *ctx, uint64_t player, const char *map, bool has_position, int32_t x_mm, int32_t y_mm)
{
	struct stage *stage = ctx;

	printf("%s goes to %s", player == PLAYER ? stage->player.name : "?", map);
	if (has_position)
		printf(", %.3f, %.3f m", x_mm / 1000.0, y_mm / 1000.0);
	printf("\n");
	return player == PLAYER;
}

/* Every name is one of something: there is no game's data here. From 1; 0: too many. */
static uint32_t name_number(struct stage *stage, const char *name)
{
	uint32_t i = 0;

	if (strlen(name) >= SCRIPT_NAME_BYTES)
		return 0;
	while (i < stage->name_count && strcmp(stage->names[i], name) != 0)
		i++;
	if (i == NAMES_MAX)
		return 0;
	if (i == stage->name_count)
		strcpy(stage->names[stage->name_count++], name);
	return i + 1;
}

static uint32_t stage_item(void *ctx, const char *name)
{
	return name_number(ctx, name);
}

/* Nobody is in a party here. */
static uint32_t stage_party(void *ctx, uint64_t player, const char *names[SCRIPT_PARTY_MAX])
{
	(void)ctx;
	(void)player;
	(void)names;
	return 0;
}

static uint32_t stage_count_item(void *ctx, uint64_t player, uint32_t item)
{
	(void)ctx;
	(void)player;
	(void)item;
	return 1;
}

static uint32_t stage_quest(void *ctx, const char *name)
{
	uint32_t number = name_number(ctx, name);

	return number ? number : UINT32_MAX;
}

static void stage_quest_look(void *ctx, uint64_t player, uint32_t quest, struct script_quest *out)
{
	(void)ctx;
	(void)player;
	(void)quest;
	*out = (struct script_quest){.phase = SCRIPT_QUEST_NEW};
}

static enum script_kept stage_keep(void *ctx, uint64_t npc, uint64_t player,
	const struct script_change *changes, uint32_t count, uint32_t job)
{
	static const char *const verbs[] = {
		"takes", "gives", "gold", "experience", "begins", "advances", "completes"};
	struct stage *stage = ctx;

	(void)npc;
	(void)player;
	(void)job;
	for (uint32_t i = 0; i < count; i++) {
		const struct script_change *change = &changes[i];

		printf("kept: %s", verbs[change->kind]);
		if (change->what)
			printf(" %s", stage->names[change->what - 1]);
		if (change->amount)
			printf(" %lld", (long long)change->amount);
		printf("\n");
	}
	return SCRIPT_KEPT_OK;
}

static bool stage_ask(void *ctx, uint64_t npc, uint64_t player,
	const struct script_question *question, uint32_t job)
{
	struct stage *stage = ctx;

	printf("%s asks %s: %.*s\n", stage->actors[npc - 1].name,
		player == PLAYER ? stage->player.name : "?", (int)question->text_bytes,
		question->text);
	for (uint32_t i = 0; i < question->choices; i++)
		printf("  %u. %s\n", i + 1, question->choice[i].text);
	stage->job = job;
	return true;
}

static const struct script_ops ops = {stage_actor, stage_say, stage_move, stage_random, stage_tick,
	stage_place, stage_send, stage_item, stage_count_item, stage_quest, stage_quest_look,
	stage_keep, stage_ask, stage_party};

static void print_texts(struct script_vm *vm)
{
	struct script_text text;

	while (script_vm_text_pop(vm, &text))
		fprintf(text.kind == SCRIPT_TEXT_ERROR ? stderr : stdout, "%s%s%s\n",
			text.kind == SCRIPT_TEXT_ERROR ? script_result_name(text.result) : "log",
			": ", text.text);
}

/* Reads a whole file of at most SCRIPT_SOURCE_MAX + 1 bytes; NULL with a message printed. */
static char *read_file(const char *path, size_t *bytes)
{
	FILE *file = fopen(path, "rb");
	char *text = malloc(SCRIPT_SOURCE_MAX + 1);

	if (!file || !text) {
		fprintf(stderr, "%s: %s\n", path, strerror(errno));
		if (file)
			fclose(file);
		free(text);
		return NULL;
	}
	*bytes = fread(text, 1, SCRIPT_SOURCE_MAX + 1, file);
	if (ferror(file)) {
		fprintf(stderr, "%s: cannot be read\n", path);
		free(text);
		text = NULL;
	}
	fclose(file);
	return text;
}

static bool load(struct stage *stage, const char *path)
{
	uint32_t first = script_vm_npc_count(stage->vm);
	char error[SCRIPT_TEXT_BYTES];
	enum script_result result;
	size_t bytes;
	char *text = read_file(path, &bytes);

	if (!text)
		return false;
	result = script_vm_load(stage->vm, path, text, bytes, error, sizeof(error));
	free(text);
	print_texts(stage->vm);
	if (result != SCRIPT_OK) {
		fprintf(stderr, "%s\n", error);
		return false;
	}
	for (uint32_t i = first; i < script_vm_npc_count(stage->vm); i++) {
		const struct script_npc *npc = script_vm_npc(stage->vm, i);

		memcpy(stage->actors[i].name, npc->name, sizeof(npc->name));
		stage->actors[i].x_mm = npc->x_mm;
		stage->actors[i].y_mm = npc->y_mm;
		stage->actors[i].kind = SCRIPT_ACTOR_NPC;
		script_vm_bind(stage->vm, i, i + 1);
	}
	return true;
}

static int check(struct stage *stage, int count, char **paths)
{
	int failed = 0;

	for (int i = 0; i < count; i++) {
		uint32_t first = script_vm_npc_count(stage->vm);

		if (!load(stage, paths[i])) {
			failed++;
			continue;
		}
		printf("%s: %u NPCs\n", paths[i], script_vm_npc_count(stage->vm) - first);
		for (uint32_t n = first; n < script_vm_npc_count(stage->vm); n++) {
			const struct script_npc *npc = script_vm_npc(stage->vm, n);

			printf("  %-31s x %8.2f  y %8.2f %s%s\n", npc->name, npc->x_mm / 1000.0,
				npc->y_mm / 1000.0, npc->has_click ? " on_click" : "",
				npc->has_tick ? " on_tick" : "");
		}
	}
	return failed ? 1 : 0;
}

/* Clicks, or ticks count times; stops at the first error. */
static int try_npc(struct stage *stage, const char *path, const char *name, bool click, long count)
{
	uint32_t npc = 0;

	if (!load(stage, path))
		return 1;
	while (npc < script_vm_npc_count(stage->vm) &&
		strcmp(script_vm_npc(stage->vm, npc)->name, name) != 0)
		npc++;
	if (npc == script_vm_npc_count(stage->vm)) {
		fprintf(stderr, "%s: no NPC is named \"%s\"\n", path, name);
		return 1;
	}
	stage->player.x_mm = stage->actors[npc].x_mm + 1000;
	stage->player.y_mm = stage->actors[npc].y_mm;
	for (long i = 0; i < count; i++, stage->tick++) {
		enum script_result result = click ? script_vm_click(stage->vm, npc, PLAYER)
						  : script_vm_tick(stage->vm, npc);
		struct script_actor *actor = &stage->actors[npc];

		while (result == SCRIPT_WAITING)
			result = script_vm_resume(
				stage->vm, stage->job, &(struct script_answer){.choice = 1});
		script_vm_gc(stage->vm);
		print_texts(stage->vm);
		if (result == SCRIPT_NO_HANDLER)
			fprintf(stderr, "%s has no %s\n", name, click ? "on_click" : "on_tick");
		if (result != SCRIPT_OK)
			return 1;
		if (!click)
			printf("tick %u: %s at %.2f, %.2f\n", stage->tick, name,
				actor->x_mm / 1000.0, actor->y_mm / 1000.0);
	}
	return 0;
}

static int usage(void)
{
	fprintf(stderr, "usage: stormweir-script stubs                print type stubs for the Lua "
			"language server\n"
			"       stormweir-script check FILE...     load files, list their NPCs\n"
			"       stormweir-script click FILE NPC [N]  run on_click, N times\n"
			"       stormweir-script tick FILE NPC [N]   run on_tick for N ticks\n"
			"       stormweir-script reference           print the tables of "
			"docs/content.md\n");
	return 2;
}

static int run(struct stage *stage, int argc, char **argv)
{
	char *end = NULL;
	long count = argc == 5 ? strtol(argv[4], &end, 10) : 1;

	if (argc >= 3 && strcmp(argv[1], "check") == 0)
		return check(stage, argc - 2, argv + 2);
	if (argc < 4 || argc > 5 || (end && (*end || end == argv[4])) || count < 1)
		return usage();
	if (strcmp(argv[1], "click") == 0 || strcmp(argv[1], "tick") == 0)
		return try_npc(stage, argv[2], argv[3], argv[1][0] == 'c', count);
	return usage();
}

int main(int argc, char **argv)
{
	static struct stage stage = {.random = 1,
		.player = {.name = "Alice",
			.kind = SCRIPT_ACTOR_PLAYER,
			.detailed = true,
			.level = 1,
			.gold = 100}};
	struct script_watchdog *watchdog;
	struct script_config config;
	int status;

	if (argc == 2 && strcmp(argv[1], "reference") == 0) {
		script_reference(stdout);
		return 0;
	}
	if (argc == 2 && strcmp(argv[1], "stubs") == 0) {
		script_stubs(stdout);
		return 0;
	}
	script_config_defaults(&config);
	snprintf(config.map, sizeof(config.map), "try");
	if (script_watchdog_start(&config.watchdog, SCRIPT_WATCHDOG_PERIOD_US) ||
		script_vm_new(&stage.vm, &config, &ops, &stage)) {
		fprintf(stderr, "stormweir-script: no memory or no thread\n");
		return 1;
	}
	watchdog = config.watchdog;
	status = run(&stage, argc, argv);
	script_vm_free(stage.vm);
	script_watchdog_stop(watchdog);
	return status;
}
