#include "simulation/script/tool/author_test.h"

#include <lauxlib.h>
#include <lua.h>
#include <lualib.h>
#include <stdlib.h>
#include <string.h>

#include "simulation/script/calls.h"

/* The running file: one in a state's registry. */
struct suite {
	struct author_tests *tests;
	const char *path;
	char content[512];
	struct mock *mock;    /* of the running test; NULL: none runs */
	uint32_t failed_seen; /* lines of handlers' errors that the test has taken */
};

/* A player or a monster of the running test. */
struct object {
	uint32_t index;
};

static struct suite *suite_of(lua_State *L)
{
	return *(struct suite **)lua_getextraspace(L);
}

static struct mock *mock_of(lua_State *L)
{
	struct mock *mock = suite_of(L)->mock;

	if (!mock)
		luaL_error(L, "only inside of test(name, function(world) ... end)");
	return mock;
}

static struct mock_player *check_player(lua_State *L, int index, uint32_t *place)
{
	const struct object *o = luaL_checkudata(L, index, "player");

	*place = o->index;
	return &mock_of(L)->player[o->index];
}

static struct mock_monster *check_monster(lua_State *L, int index, uint32_t *place)
{
	const struct object *o = luaL_checkudata(L, index, "monster");

	*place = o->index;
	return &mock_of(L)->monster[o->index];
}

static int push_object(lua_State *L, const char *class, uint32_t index)
{
	struct object *o = lua_newuserdatauv(L, sizeof(*o), 0);

	o->index = index;
	luaL_setmetatable(L, class);
	return 1;
}

static uint32_t check_item(lua_State *L, int index)
{
	const struct sim_item *item =
		sim_game_item_named(mock_of(L)->game, luaL_checkstring(L, index));

	if (!item)
		luaL_error(L, "there is no item '%s'", lua_tostring(L, index));
	return item->number;
}

static uint32_t check_quest(lua_State *L, int index)
{
	uint32_t quest = sim_quest_find(mock_of(L)->game, luaL_checkstring(L, index));

	if (quest == UINT32_MAX)
		luaL_error(L, "there is no quest '%s'", lua_tostring(L, index));
	return quest;
}

/* ---- players ---- */

static int player_give(lua_State *L)
{
	uint32_t place;
	struct mock_player *player = check_player(L, 1, &place);

	mock_give(player, check_item(L, 2), (uint32_t)luaL_optinteger(L, 3, 1));
	return 0;
}

static int player_count(lua_State *L)
{
	uint32_t place;
	const struct mock_player *player = check_player(L, 1, &place);

	lua_pushinteger(L, mock_count(player, check_item(L, 2)));
	return 1;
}

static int player_quest(lua_State *L)
{
	uint32_t place;
	const struct mock_player *player = check_player(L, 1, &place);
	const struct mock_quest *quest = &player->quest[check_quest(L, 2)];

	if (!quest->step || quest->step == UINT32_MAX) {
		lua_pushstring(L, quest->step ? "done" : "new");
		return 1;
	}
	lua_pushliteral(L, "open");
	lua_pushinteger(L, quest->step);
	lua_pushinteger(L, quest->count);
	return 3;
}

/* p:set_quest("wolves", 2), p:set_quest("letter", "done") */
static int player_set_quest(lua_State *L)
{
	uint32_t place;
	struct mock_player *player = check_player(L, 1, &place);
	struct mock_quest *quest = &player->quest[check_quest(L, 2)];

	if (lua_type(L, 3) == LUA_TSTRING) {
		luaL_argcheck(L, !strcmp(lua_tostring(L, 3), "done"), 3, "a step, or \"done\"");
		*quest = (struct mock_quest){.step = UINT32_MAX};
		return 0;
	}
	*quest = (struct mock_quest){.step = (uint32_t)luaL_checkinteger(L, 3),
		.count = (uint32_t)luaL_optinteger(L, 4, 0)};
	return 0;
}

/* The last line that was said to it, or asked. */
static void push_last(lua_State *L, const struct mock *mock, uint32_t player)
{
	for (uint32_t i = mock->lines; i-- > 0;)
		if (mock->line[i].player == player &&
			(mock->line[i].kind == MOCK_SAID || mock->line[i].kind == MOCK_ASKED)) {
			lua_pushstring(L, mock->line[i].text);
			return;
		}
	lua_pushnil(L);
}

static int player_index(lua_State *L)
{
	uint32_t place;
	const struct mock_player *player = check_player(L, 1, &place);
	const char *field = luaL_checkstring(L, 2);

	if (!strcmp(field, "name"))
		lua_pushstring(L, player->name);
	else if (!strcmp(field, "map"))
		lua_pushstring(L, player->map);
	else if (!strcmp(field, "last"))
		push_last(L, mock_of(L), place);
	else if (!strcmp(field, "gold"))
		lua_pushinteger(L, player->gold);
	else if (!strcmp(field, "experience"))
		lua_pushinteger(L, player->experience);
	else if (!strcmp(field, "level"))
		lua_pushinteger(L, player->level);
	else if (!strcmp(field, "health"))
		lua_pushinteger(L, player->health);
	else if (!strcmp(field, "attack"))
		lua_pushinteger(L, player->attack);
	else if (!strcmp(field, "speed_permille"))
		lua_pushinteger(L, player->speed_permille);
	else if (!strcmp(field, "place"))
		lua_pushinteger(L, player->place);
	else if (!strcmp(field, "offered"))
		lua_pushinteger(L, player->offered_count);
	else if (!strcmp(field, "x") || !strcmp(field, "y"))
		lua_pushnumber(L, (*field == 'x' ? player->x_mm : player->y_mm) / 1000.0);
	else if (luaL_getmetafield(L, 1, field) == LUA_TNIL)
		return luaL_error(L, "a player has no '%s'", field);
	return 1;
}

static int player_newindex(lua_State *L)
{
	uint32_t place;
	struct mock_player *player = check_player(L, 1, &place);
	const char *field = luaL_checkstring(L, 2);

	if (!strcmp(field, "gold"))
		player->gold = luaL_checkinteger(L, 3);
	else if (!strcmp(field, "level"))
		player->level = (uint32_t)luaL_checkinteger(L, 3);
	else if (!strcmp(field, "health"))
		player->health = (uint32_t)luaL_checkinteger(L, 3);
	else if (!strcmp(field, "x"))
		player->x_mm = (int32_t)(luaL_checknumber(L, 3) * 1000);
	else if (!strcmp(field, "y"))
		player->y_mm = (int32_t)(luaL_checknumber(L, 3) * 1000);
	else
		return luaL_error(L, "a player's '%s' cannot be set", field);
	return 0;
}

static const luaL_Reg player_methods[] = {{"give", player_give}, {"count", player_count},
	{"quest", player_quest}, {"set_quest", player_set_quest}, {"__index", player_index},
	{"__newindex", player_newindex}, {NULL, NULL}};

/* ---- monsters ---- */

static int monster_index(lua_State *L)
{
	uint32_t place;
	const struct mock *mock = mock_of(L);
	const struct mock_monster *monster = check_monster(L, 1, &place);
	const char *field = luaL_checkstring(L, 2);

	if (!strcmp(field, "health"))
		lua_pushinteger(L, monster->health);
	else if (!strcmp(field, "health_max"))
		lua_pushinteger(L, monster->health_max);
	else if (!strcmp(field, "attack"))
		lua_pushinteger(L, monster->attack);
	else if (!strcmp(field, "target") && monster->target == UINT32_MAX)
		lua_pushnil(L);
	else if (!strcmp(field, "target"))
		lua_pushstring(L, mock->player[monster->target].name);
	else
		return luaL_error(L, "a monster has no '%s'", field);
	return 1;
}

static const luaL_Reg monster_methods[] = {{"__index", monster_index}, {NULL, NULL}};

/* ---- the world ---- */

static int world_player(lua_State *L)
{
	struct mock *mock = mock_of(L);
	uint32_t index;

	luaL_checktype(L, 2, LUA_TTABLE);
	lua_getfield(L, 2, "name");
	index = mock_player(mock, luaL_optstring(L, -1, "Ada"));
	if (index == UINT32_MAX)
		return luaL_error(L, "a world has at most %d players", (int)MOCK_PLAYERS_MAX);
	push_object(L, "player", index);
	lua_pushnil(L);
	while (lua_next(L, 2)) { /* world, fields, name, player, key, value */
		if (strcmp(luaL_checkstring(L, -2), "name") != 0) {
			lua_pushcfunction(L, player_newindex);
			lua_pushvalue(L, 4);
			lua_pushvalue(L, -4);
			lua_pushvalue(L, -4);
			lua_call(L, 3, 0);
		}
		lua_pop(L, 1);
	}
	lua_settop(L, 4);
	return 1;
}

static int world_monster(lua_State *L)
{
	struct mock *mock = mock_of(L);
	uint32_t kind = sim_game_kind(mock->game, luaL_checkstring(L, 2)), index;

	if (kind == UINT32_MAX)
		return luaL_error(L, "there is no monster '%s'", lua_tostring(L, 2));
	index = mock_monster(mock, kind, (int32_t)(luaL_optnumber(L, 3, 0) * 1000),
		(int32_t)(luaL_optnumber(L, 4, 0) * 1000));
	if (index == UINT32_MAX)
		return luaL_error(L, "a world has at most %d monsters", (int)MOCK_MONSTERS_MAX);
	return push_object(L, "monster", index);
}

static int push_outcome(lua_State *L, enum script_result result)
{
	lua_pushstring(L, script_result_name(result));
	return 1;
}

static uint32_t check_npc(lua_State *L, int index)
{
	uint32_t npc;

	if (!mock_npc(mock_of(L), luaL_checkstring(L, index), &npc))
		luaL_error(L, "there is no NPC '%s'", lua_tostring(L, index));
	return npc;
}

/* w:click("Bess", ada, { 1, "No." }): the answers to what is asked, in order */
static int world_click(lua_State *L)
{
	struct mock *mock = mock_of(L);
	uint32_t npc = check_npc(L, 2), place;
	struct mock_player *player = check_player(L, 3, &place);

	player->answers = player->answered = 0;
	if (!lua_isnoneornil(L, 4)) {
		luaL_checktype(L, 4, LUA_TTABLE);
		for (lua_Unsigned i = 1; i <= lua_rawlen(L, 4) && i <= MOCK_ANSWERS_MAX; i++) {
			lua_rawgeti(L, 4, (lua_Integer)i);
			player->answer[i - 1].choice = 0;
			player->answer[i - 1].text[0] = '\0';
			if (lua_type(L, -1) == LUA_TNUMBER)
				player->answer[i - 1].choice = (uint32_t)lua_tointeger(L, -1);
			else if (lua_type(L, -1) == LUA_TSTRING)
				snprintf(player->answer[i - 1].text, sizeof(player->answer[0].text),
					"%s", lua_tostring(L, -1));
			player->answers++;
			lua_pop(L, 1);
		}
	}
	return push_outcome(L, mock_click(mock, npc, place));
}

static int world_tick(lua_State *L)
{
	for (lua_Integer n = luaL_optinteger(L, 2, 1); n > 0; n--)
		mock_tick(mock_of(L));
	return 0;
}

static int world_seconds(lua_State *L)
{
	for (double n = luaL_checknumber(L, 2) * 20; n > 0; n--)
		mock_tick(mock_of(L));
	return 0;
}

static int world_hurt(lua_State *L)
{
	uint32_t player, monster;

	check_monster(L, 2, &monster);
	check_player(L, 3, &player);
	mock_hurt(mock_of(L), player, monster, (uint32_t)luaL_checkinteger(L, 4));
	return 0;
}

static int event(lua_State *L, enum script_handler handler, bool has_player, int64_t number)
{
	uint32_t player = UINT32_MAX;

	if (has_player)
		check_player(L, 2, &player);
	return push_outcome(L, mock_event(mock_of(L), handler, "", UINT32_MAX, player, number));
}

static int world_enter(lua_State *L)
{
	return event(L, SCRIPT_HANDLER_MAP_ENTER, true, 0);
}

static int world_leave(lua_State *L)
{
	uint32_t player;

	check_player(L, 2, &player);
	mock_leave(mock_of(L), player);
	return 0;
}

static int world_open(lua_State *L)
{
	return event(L, SCRIPT_HANDLER_RULE_OPEN, false, 0);
}

static int world_join(lua_State *L)
{
	return event(L, SCRIPT_HANDLER_RULE_JOIN, true, lua_toboolean(L, 3));
}

static int world_pick(lua_State *L)
{
	uint32_t player;

	check_player(L, 2, &player);
	lua_pushboolean(L, mock_pick(mock_of(L), player, (uint32_t)luaL_checkinteger(L, 3)));
	return 1;
}

static int world_refuse(lua_State *L)
{
	const char *why = luaL_checkstring(L, 2);

	for (int kept = 0; kept < SCRIPT_KEPT_COUNT; kept++)
		if (!strcmp(script_kept_name(kept), why)) {
			mock_of(L)->refuse = kept;
			return 0;
		}
	return luaL_argerror(L, 2, "what commit() may say");
}

/* The lines of some kinds, as an array. */
static int push_lines(lua_State *L, unsigned kinds, uint32_t player)
{
	const struct mock *mock = mock_of(L);
	lua_Integer count = 0;

	lua_newtable(L);
	for (uint32_t i = 0; i < mock->lines; i++) {
		if (!(kinds >> mock->line[i].kind & 1) ||
			(player != UINT32_MAX && mock->line[i].player != player))
			continue;
		lua_pushstring(L, mock->line[i].text);
		lua_rawseti(L, -2, ++count);
	}
	return 1;
}

static int world_said(lua_State *L)
{
	uint32_t player = UINT32_MAX;

	if (!lua_isnoneornil(L, 2))
		check_player(L, 2, &player);
	return push_lines(L, 1u << MOCK_SAID | 1u << MOCK_ASKED, player);
}

static int world_shouted(lua_State *L)
{
	return push_lines(L, 1u << MOCK_SHOUTED, UINT32_MAX);
}

static int world_announced(lua_State *L)
{
	return push_lines(L, 1u << MOCK_ANNOUNCED, UINT32_MAX);
}

static int world_logged(lua_State *L)
{
	return push_lines(L, 1u << MOCK_LOGGED, UINT32_MAX);
}

/* What handlers ended with; a test that asks has expected it. */
static int world_errors(lua_State *L)
{
	suite_of(L)->failed_seen = mock_of(L)->lines;
	return push_lines(L, 1u << MOCK_FAILED, UINT32_MAX);
}

static int world_npc(lua_State *L)
{
	const struct script_actor *npc = &mock_of(L)->npc[check_npc(L, 2)];

	lua_createtable(L, 0, 2);
	lua_pushnumber(L, npc->x_mm / 1000.0);
	lua_setfield(L, -2, "x");
	lua_pushnumber(L, npc->y_mm / 1000.0);
	lua_setfield(L, -2, "y");
	return 1;
}

static int world_match(lua_State *L)
{
	const struct mock *mock = mock_of(L);

	lua_createtable(L, 0, 4);
	lua_pushboolean(L, mock->locked);
	lua_setfield(L, -2, "locked");
	lua_pushboolean(L, mock->held);
	lua_setfield(L, -2, "held");
	lua_pushboolean(L, mock->fighting);
	lua_setfield(L, -2, "fighting");
	lua_pushboolean(L, mock->finished);
	lua_setfield(L, -2, "finished");
	return 1;
}

static const luaL_Reg world_methods[] = {{"player", world_player}, {"monster", world_monster},
	{"click", world_click}, {"tick", world_tick}, {"seconds", world_seconds},
	{"hurt", world_hurt}, {"enter", world_enter}, {"leave", world_leave}, {"open", world_open},
	{"join", world_join}, {"pick", world_pick}, {"refuse", world_refuse}, {"said", world_said},
	{"shouted", world_shouted}, {"announced", world_announced}, {"logged", world_logged},
	{"errors", world_errors}, {"npc", world_npc}, {"match", world_match}, {NULL, NULL}};

/* ---- the file ---- */

static int api_content(lua_State *L)
{
	struct suite *suite = suite_of(L);
	const char *name = luaL_checkstring(L, 1), *slash = strrchr(suite->path, '/');

	snprintf(suite->content, sizeof(suite->content), "%.*s%s",
		slash ? (int)(slash - suite->path + 1) : 0, suite->path, name);
	return 0;
}

static int trace(lua_State *L)
{
	luaL_traceback(L, L, luaL_tolstring(L, 1, NULL), 1);
	return 1;
}

/* The first error of a handler that the test has not asked for. */
static const char *unexpected(const struct suite *suite)
{
	for (uint32_t i = suite->failed_seen; i < suite->mock->lines; i++)
		if (suite->mock->line[i].kind == MOCK_FAILED)
			return suite->mock->line[i].text;
	return NULL;
}

static void put_indented(FILE *out, const char *text)
{
	fputs("  # ", out);
	for (; *text; text++) {
		putc(*text, out);
		if (*text == '\n')
			fputs("  # ", out);
	}
	putc('\n', out);
}

static int api_test(lua_State *L)
{
	struct suite *suite = suite_of(L);
	struct author_tests *tests = suite->tests;
	const char *name = luaL_checkstring(L, 1), *wrong = NULL;
	char error[SCRIPT_TEXT_BYTES] = "";

	luaL_checktype(L, 2, LUA_TFUNCTION);
	if (!*suite->content)
		return luaL_error(L, "content \"FILE.lua\" comes before the first test");
	if (suite->mock)
		return luaL_error(L, "a test within a test");
	suite->mock = calloc(1, sizeof(*suite->mock));
	suite->failed_seen = 0;
	if (!suite->mock)
		return luaL_error(L, "no memory");
	if (!mock_open(suite->mock, tests->config, tests->game, suite->content, error,
		    sizeof(error))) {
		wrong = error;
	} else {
		lua_pushcfunction(L, trace);
		lua_pushvalue(L, 2);
		lua_newtable(L); /* the world */
		luaL_setmetatable(L, "world");
		if (lua_pcall(L, 1, 0, -3) != LUA_OK)
			wrong = lua_tostring(L, -1);
		else
			wrong = unexpected(suite);
	}
	tests->ran++;
	tests->failed += wrong != NULL;
	fprintf(tests->out, "%sok %u - %s: %s\n", wrong ? "not " : "", tests->ran, suite->path,
		name);
	if (wrong)
		put_indented(tests->out, wrong);
	if (suite->mock->vm)
		mock_close(suite->mock);
	free(suite->mock);
	suite->mock = NULL;
	return 0;
}

/* expect(is, should_be [, what]) */
static int api_expect(lua_State *L)
{
	const char *what = luaL_optstring(L, 3, "");

	luaL_checkany(L, 2);
	if (lua_compare(L, 1, 2, LUA_OPEQ))
		return 0;
	luaL_tolstring(L, 1, NULL);
	luaL_tolstring(L, 2, NULL);
	luaL_where(L, 1);
	lua_pushfstring(L, "%s%s%sis %s, not %s", lua_tostring(L, -1), what, *what ? " " : "",
		lua_tostring(L, -3), lua_tostring(L, -2));
	return lua_error(L);
}

static void class(lua_State *L, const char *name, const luaL_Reg *methods)
{
	luaL_newmetatable(L, name);
	luaL_setfuncs(L, methods, 0);
	if (lua_getfield(L, -1, "__index") == LUA_TNIL) {
		lua_pushvalue(L, -2);
		lua_setfield(L, -3, "__index");
	}
	lua_pop(L, 2);
}

/* Stock Lua, but for files, processes and modules: the server runs these tests, too, before it takes a
 * script (swctl script reload). */
static void open_libs(lua_State *L)
{
	static const luaL_Reg libs[] = {{LUA_GNAME, luaopen_base}, {LUA_STRLIBNAME, luaopen_string},
		{LUA_TABLIBNAME, luaopen_table}, {LUA_MATHLIBNAME, luaopen_math},
		{LUA_UTF8LIBNAME, luaopen_utf8}, {LUA_COLIBNAME, luaopen_coroutine}, {NULL, NULL}};
	static const char *const removed[] = {"dofile", "loadfile", "load", "collectgarbage"};

	for (const luaL_Reg *lib = libs; lib->func; lib++) {
		luaL_requiref(L, lib->name, lib->func, 1);
		lua_pop(L, 1);
	}
	for (size_t i = 0; i < sizeof(removed) / sizeof(removed[0]); i++) {
		lua_pushnil(L);
		lua_setglobal(L, removed[i]);
	}
}

static int run_file(lua_State *L)
{
	open_libs(L);
	class(L, "player", player_methods);
	class(L, "monster", monster_methods);
	class(L, "world", world_methods);
	lua_register(L, "content", api_content);
	lua_register(L, "test", api_test);
	lua_register(L, "expect", api_expect);
	if (luaL_loadfile(L, suite_of(L)->path) != LUA_OK)
		return lua_error(L);
	lua_call(L, 0, 0);
	return 0;
}

void author_tests_run(struct author_tests *tests, const char *path)
{
	struct suite suite = {.tests = tests, .path = path};
	uint32_t before = tests->ran;
	lua_State *L = luaL_newstate();
	const char *wrong = "no memory";

	if (L) {
		*(struct suite **)lua_getextraspace(L) = &suite;
		lua_pushcfunction(L, trace);
		lua_pushcfunction(L, run_file);
		wrong = lua_pcall(L, 0, 0, 1) == LUA_OK ? NULL : lua_tostring(L, -1);
	}
	if (!wrong && tests->ran == before)
		wrong = "has no test";
	if (wrong) {
		tests->ran++;
		tests->failed++;
		fprintf(tests->out, "not ok %u - %s\n", tests->ran, path);
		put_indented(tests->out, wrong);
	}
	if (L)
		lua_close(L);
}
