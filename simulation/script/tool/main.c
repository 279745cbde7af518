/* swscript: checks, tries and tests content without a server. docs/content.md is its manual. */
#include <lauxlib.h>
#include <lua.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

#include "simulation/script/api.h"
#include "simulation/script/tool/author_test.h"
#include "simulation/script/tool/lint.h"
#include "simulation/script/tool/mock.h"

#define FILE_MAX (SCRIPT_SOURCE_MAX + 1)

static const char usage[] =
	"usage: swscript check [--data FOLDER] FILE...      syntax, names, calls that a context "
	"forbids, data files\n"
	"       swscript run [--data FOLDER] FILE click NPC [ANSWER...]\n"
	"       swscript run [--data FOLDER] FILE tick NPC [N]\n"
	"       swscript run [--data FOLDER] FILE hurt KIND [DAMAGE...]\n"
	"       swscript run [--data FOLDER] FILE enter\n"
	"                                                   one event on a mock map, and what came "
	"of it\n"
	"       swscript test [--data FOLDER] FILE...       runs tests of content\n"
	"       swscript stubs                              type stubs for the Lua language "
	"server\n"
	"       swscript reference                          the tables of docs/content.md\n"
	"FOLDER has items.yaml and the like; it is FILE's own where it is not given.\n";

struct swscript {
	struct script_config config;
	struct sim_game *game;
	const char *data; /* NULL: the folder of the first file */
	int count;
	char **arguments; /* [count]: what follows the verb and its options */
};

/* ---- the game's data ---- */

static bool read_data(struct swscript *s)
{
	const char *slash = s->count ? strrchr(s->arguments[0], '/') : NULL;
	char folder[512] = ".";

	if (s->data)
		snprintf(folder, sizeof(folder), "%s", s->data);
	else if (slash)
		snprintf(folder, sizeof(folder), "%.*s", (int)(slash - s->arguments[0]),
			s->arguments[0]);
	s->game = sim_game_load(folder, stderr);
	return s->game;
}

/* ---- check ---- */

static char *read_file(const char *path, size_t *bytes)
{
	FILE *file = fopen(path, "rb");
	char *text = malloc(FILE_MAX);

	*bytes = file && text ? fread(text, 1, FILE_MAX, file) : 0;
	if (file)
		fclose(file);
	return text;
}

static void list_npcs(const struct mock *mock, const char *path)
{
	printf("%s: %u NPCs\n", path, script_vm_npc_count(mock->vm));
	for (uint32_t i = 0; i < script_vm_npc_count(mock->vm); i++) {
		const struct script_npc *npc = script_vm_npc(mock->vm, i);

		printf("  %-31s x %8.2f  y %8.2f %s%s\n", npc->name, npc->x_mm / 1000.0,
			npc->y_mm / 1000.0, npc->has_click ? " on_click" : "",
			npc->has_tick ? " on_tick" : "");
	}
}

/* The linter reads only what compiles. */
static bool compiles(const char *text, size_t bytes)
{
	lua_State *L = luaL_newstate();
	bool good = L && luaL_loadbufferx(L, text, bytes, "", "t") == LUA_OK;

	if (L)
		lua_close(L);
	return good;
}

static unsigned lint(struct swscript *s, const char *path)
{
	struct mock *names = calloc(1, sizeof(*names));
	char error[SCRIPT_TEXT_BYTES];
	unsigned faults = 0;
	size_t bytes;
	char *text = read_file(path, &bytes);

	if (names && text && bytes < FILE_MAX && compiles(text, bytes) &&
		mock_open(names, &s->config, s->game, NULL, error, sizeof(error))) {
		faults = lint_file(names->vm, s->game, path, text, bytes, stderr);
		mock_close(names);
	}
	free(names);
	free(text);
	return faults;
}

/* What the linter finds is said first: running the file ends at the first of it. */
static bool check_file(struct swscript *s, struct mock *mock, const char *path)
{
	char error[SCRIPT_TEXT_BYTES] = "";
	unsigned faults = lint(s, path);
	bool opened = mock_open(mock, &s->config, s->game, path, error, sizeof(error));

	if (!opened && !faults)
		fprintf(stderr, "%s\n", error);
	else if (opened && !faults)
		list_npcs(mock, path);
	if (opened)
		mock_close(mock);
	return opened && !faults;
}

static int check(struct swscript *s, struct mock *mock)
{
	int failed = 0;

	for (int i = 0; i < s->count; i++)
		failed += !check_file(s, mock, s->arguments[i]);
	return failed ? 1 : 0;
}

/* ---- run ---- */

/* Lines from *seen on. */
static void print_lines(const struct mock *mock, uint32_t *seen)
{
	static const char *const verbs[] = {
		"says", "shouts", "announces", "asks", "logs", "failed"};

	for (; *seen < mock->lines; ++*seen) {
		const struct mock_line *line = &mock->line[*seen];

		fprintf(line->kind == MOCK_FAILED ? stderr : stdout, "%s%s%s: %s\n",
			*line->who ? line->who : "the map", " ", verbs[line->kind], line->text);
	}
}

static void print_player(const struct mock *mock, const struct mock_player *player)
{
	printf("%s has %lld gold, %lld experience, %u health", player->name,
		(long long)player->gold, (long long)player->experience, player->health);
	for (uint32_t i = 0; i < MOCK_ITEMS_MAX; i++)
		if (player->bag[i].count)
			printf(", %u %s", player->bag[i].count,
				sim_game_item(mock->game, player->bag[i].item)->name);
	if (*player->map)
		printf(", and goes to %s", player->map);
	printf("\n");
}

static int run_click(struct swscript *s, struct mock *mock, uint32_t player)
{
	struct mock_player *who = &mock->player[player];
	uint32_t npc;

	if (!mock_npc(mock, s->arguments[2], &npc)) {
		fprintf(stderr, "%s: no NPC is named \"%s\"\n", s->arguments[0], s->arguments[2]);
		return 1;
	}
	for (int i = 3; i < s->count && who->answers < MOCK_ANSWERS_MAX; i++) {
		char *end;
		long choice = strtol(s->arguments[i], &end, 10);

		if (!*end)
			who->answer[who->answers].choice = (uint32_t)choice;
		else
			snprintf(who->answer[who->answers].text, sizeof(who->answer[0].text), "%s",
				s->arguments[i]);
		who->answers++;
	}
	who->x_mm = mock->npc[npc].x_mm + 1000;
	who->y_mm = mock->npc[npc].y_mm;
	return mock_click(mock, npc, player) <= SCRIPT_WAITING ? 0 : 1;
}

static int run_ticks(struct swscript *s, struct mock *mock)
{
	long count = s->count > 3 ? strtol(s->arguments[3], NULL, 10) : 1;
	uint32_t npc;

	if (!mock_npc(mock, s->arguments[2], &npc)) {
		fprintf(stderr, "%s: no NPC is named \"%s\"\n", s->arguments[0], s->arguments[2]);
		return 1;
	}
	for (long i = 0; i < count; i++) {
		mock_tick(mock);
		printf("tick %u: %s at %.2f, %.2f\n", mock->tick, s->arguments[2],
			mock->npc[npc].x_mm / 1000.0, mock->npc[npc].y_mm / 1000.0);
	}
	return 0;
}

static int run_hurt(struct swscript *s, struct mock *mock, uint32_t player)
{
	uint32_t kind = sim_game_kind(mock->game, s->arguments[2]), monster;

	if (kind == UINT32_MAX) {
		fprintf(stderr, "there is no monster \"%s\"\n", s->arguments[2]);
		return 1;
	}
	monster = mock_monster(mock, kind, 0, 0);
	if (s->count == 3)
		mock_hurt(mock, player, monster, mock->monster[monster].health);
	for (int i = 3; i < s->count; i++)
		mock_hurt(mock, player, monster, (uint32_t)strtoul(s->arguments[i], NULL, 10));
	mock_tick(mock);
	return 0;
}

static bool failed(const struct mock *mock)
{
	for (uint32_t i = 0; i < mock->lines; i++)
		if (mock->line[i].kind == MOCK_FAILED)
			return true;
	return false;
}

static int run(struct swscript *s, struct mock *mock)
{
	char error[SCRIPT_TEXT_BYTES] = "";
	const char *what = s->count > 1 ? s->arguments[1] : "";
	uint32_t seen = 0, player;
	int status;

	if (!mock_open(mock, &s->config, s->game, s->arguments[0], error, sizeof(error))) {
		fprintf(stderr, "%s\n", error);
		return 1;
	}
	player = mock_player(mock, "Alice");
	mock->player[player].gold = 100;
	if (!strcmp(what, "click") && s->count > 2)
		status = run_click(s, mock, player);
	else if (!strcmp(what, "tick") && s->count > 2)
		status = run_ticks(s, mock);
	else if (!strcmp(what, "hurt") && s->count > 2)
		status = run_hurt(s, mock, player);
	else if (!strcmp(what, "enter"))
		status = mock_event(mock, SCRIPT_HANDLER_MAP_ENTER, "", UINT32_MAX, player, 0) <=
					 SCRIPT_WAITING
				 ? 0
				 : 1;
	else
		status = 2;
	print_lines(mock, &seen);
	if (status == 2)
		fputs(usage, stderr);
	else
		print_player(mock, &mock->player[player]);
	if (failed(mock))
		status = 1;
	mock_close(mock);
	return status;
}

/* ---- test ---- */

static int test(struct swscript *s)
{
	struct author_tests tests = {.config = &s->config, .game = s->game, .out = stdout};

	for (int i = 0; i < s->count; i++)
		author_tests_run(&tests, s->arguments[i]);
	printf("1..%u\n", tests.ran);
	return tests.failed ? 1 : 0;
}

/* ---- */

static int with_data(struct swscript *s, const char *verb)
{
	struct mock *mock = calloc(1, sizeof(*mock));
	int status = 1;

	if (!mock || !read_data(s))
		fprintf(stderr, "swscript: the game's data could not be read\n");
	else if (!strcmp(verb, "check"))
		status = check(s, mock);
	else if (!strcmp(verb, "run"))
		status = run(s, mock);
	else
		status = test(s);
	sim_game_free(s->game);
	free(mock);
	return status;
}

int main(int argc, char **argv)
{
	const char *verb = argc > 1 ? argv[1] : "";
	struct swscript s = {.count = argc - 2, .arguments = argv + 2};
	int status;

	if (!strcmp(verb, "reference") || !strcmp(verb, "stubs")) {
		(*verb == 'r' ? script_reference : script_stubs)(stdout);
		return 0;
	}
	if (s.count > 1 && !strcmp(s.arguments[0], "--data")) {
		s.data = s.arguments[1];
		s.count -= 2;
		s.arguments += 2;
	}
	if (s.count < 1 || (strcmp(verb, "check") && strcmp(verb, "run") && strcmp(verb, "test"))) {
		bool help = !strcmp(verb, "--help") || !strcmp(verb, "-h") || !strcmp(verb, "help");

		fputs(usage, help ? stdout : stderr);
		return help ? 0 : 2;
	}
	script_config_defaults(&s.config);
	/* Here nothing else waits for the thread. */
	s.config.slice_us = 500000;
	snprintf(s.config.map, sizeof(s.config.map), "try");
	if (script_watchdog_start(&s.config.watchdog, SCRIPT_WATCHDOG_PERIOD_US)) {
		fprintf(stderr, "swscript: no memory or no thread\n");
		return 1;
	}
	status = with_data(&s, verb);
	script_watchdog_stop(s.config.watchdog);
	return status;
}
