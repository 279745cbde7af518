/* Proves that the step-counted string.find, match, gmatch and gsub answer as stock Lua's do: random
 * patterns, mostly well formed, on random subjects, each run in a plain Lua state with the stock
 * library and in the sandbox; results or the fact of an error must agree whenever the steps
 * suffice. The seed is printed on failure; another may be given as argument. */
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <cmocka.h>

#include <lualib.h>

#include "simulation/script/test_host.h"

#define ROUNDS 30000

static uint64_t seed = 1;
static uint64_t state;

static uint32_t draw(uint32_t below)
{
	state = state * 6364136223846793005u + 1442695040888963407u;
	return (uint32_t)(state >> 33) % below;
}

static const char *pick(const char *const *texts, uint32_t count)
{
	return texts[draw(count)];
}

#define PICK(...)                                                                                  \
	pick((const char *const[]){__VA_ARGS__},                                                   \
		sizeof((const char *const[]){__VA_ARGS__}) / sizeof(char *))

static void item(char *out)
{
	if (draw(4) == 0) { /* a set */
		strcat(out, PICK("[", "[", "[^"));
		for (uint32_t i = draw(4); i > 0; i--)
			strcat(out, PICK("a", "b", "-", "a-c", "%a", "%d", "%]", "]", "%-", "^",
					    ".", "$"));
		if (draw(20))
			strcat(out, PICK("a]", "]", "b-]"));
	} else if (draw(5) == 0) {
		strcat(out, PICK("%b()", "%bab", "%baa", "%f[%w]", "%f[a]", "%f[^a]", "%f[%z]",
				    "%1", "%2", "%0", "%b", "%f", "%"));
	} else {
		strcat(out, PICK("a", "b", "c", ".", "%a", "%d", "%s", "%w", "%W", "%p", "%.", "%%",
				    "(", "-", "^", "$", "x", "%x", "%u", "%g", "%c"));
		if (out[strlen(out) - 1] == '(' && draw(3))
			out[strlen(out) - 1] = 'a';
	}
	strcat(out, PICK("", "", "", "*", "+", "-", "?"));
}

static void pattern(char *out)
{
	*out = '\0';
	if (draw(6) == 0)
		strcat(out, "^");
	for (uint32_t i = 1 + draw(5); i > 0; i--) {
		uint32_t kind = draw(6);

		if (kind == 0) {
			strcat(out, "(");
			item(out);
			if (draw(3) == 0)
				strcat(out, "(");
			if (draw(3) == 0)
				item(out);
			if (draw(15))
				strcat(out, ")");
		} else if (kind == 1 && draw(3) == 0) {
			strcat(out, PICK("()", ")", "(a)"));
		} else {
			item(out);
		}
	}
	if (draw(6) == 0)
		strcat(out, "$");
}

static void subject(char *out)
{
	uint32_t length = draw(draw(4) ? 12 : 40);

	for (uint32_t i = 0; i < length; i++)
		out[i] = draw(12) ? "aab(c)b1 .-x"[draw(12)] : (char)(1 + draw(255));
	out[length] = '\0';
}

/* Writes what the calls return as one text, or "error". The functions stay globals in both states.
 */
static const char body[] =
	"local s, p, r, init, n = ...\n"
	"local out = {}\n"
	"local function add(...)\n"
	"  for i = 1, select('#', ...) do out[#out + 1] = tostring((select(i, ...))) end\n"
	"  out[#out + 1] = ';'\n"
	"end\n"
	"if r == 'find' then add(s:find(p, init))\n"
	"elseif r == 'match' then add(s:match(p, init))\n"
	"elseif r == 'gmatch' then for a, b, c in s:gmatch(p, init) do add(a, b, c) end\n"
	"elseif r == 'function' then add(s:gsub(p, function(a, b)\n"
	"    if a == 'a' then return nil end return '<' .. a .. (b or '') .. '>' end, n))\n"
	"elseif r == 'table' then add(s:gsub(p, { a = 'X', b = false, ['1'] = 2, ab = 'Y' }, n))\n"
	"else add(s:gsub(p, r, n)) end\n"
	"return table.concat(out, ',')\n";

struct outcome {
	int status;
	char text[8192];
};

static void run(lua_State *lua, int chunk, const char *s, const char *p, const char *r, int init,
	int n, struct outcome *out)
{
	const char *text;
	size_t bytes;

	lua_pushvalue(lua, chunk);
	lua_pushstring(lua, s);
	lua_pushstring(lua, p);
	lua_pushstring(lua, r);
	lua_pushinteger(lua, init);
	if (n >= 0)
		lua_pushinteger(lua, n);
	else
		lua_pushnil(lua);
	out->status = lua_pcall(lua, 5, 1, 0);
	text = lua_tolstring(lua, -1, &bytes);
	if (!text) {
		text = "?";
		bytes = 1;
	}
	assert_true(bytes < sizeof(out->text));
	memcpy(out->text, text, bytes + 1);
	lua_pop(lua, 1);
}

static void as_stock_lua(void **unused)
{
	static const char *const calls[] = {"find", "match", "gmatch", "function", "table", "%0%0",
		"<%1>", "%2", "x", "", "%%%1", "%", "%x"};
	struct test_host host;
	lua_State *stock = luaL_newstate(), *ours;
	uint32_t errors = 0, over = 0, matches = 0;

	(void)unused;
	test_host_start(&host, 4 << 20);
	ours = host.vm->state;
	luaL_openlibs(stock);
	assert_int_equal(luaL_loadstring(stock, body), LUA_OK);
	assert_int_equal(luaL_loadstring(ours, body), LUA_OK);
	script_sandbox_globals(ours);
	lua_setupvalue(ours, 1, 1);
	state = seed;
	for (uint32_t i = 0; i < ROUNDS; i++) {
		char s[64], p[256];
		const char *call = calls[draw(sizeof(calls) / sizeof(calls[0]))];
		int init = draw(3) ? 1 : (int)draw(30) - 15, n = draw(4) ? -1 : (int)draw(4);
		static struct outcome want, got;
		bool same_error;

		pattern(p);
		subject(s);
		run(stock, 1, s, p, call, init, n, &want);
		run(ours, 1, s, p, call, init, n, &got);
		if (strstr(got.text, "too many steps") && got.status != LUA_OK) {
			over++;
			continue;
		}
		/* Of an error only the kind of fault must agree, not the line that found it. */
		same_error = want.status != LUA_OK && got.status != LUA_OK;
		errors += same_error;
		matches += want.status == LUA_OK && !strstr(want.text, "nil");
		if (!same_error && (want.status != got.status || strcmp(want.text, got.text) != 0))
			fail_msg("seed %lu round %u: %s of '%s' with '%s' from %d at most %d\n"
				 "stock: %s\nours:  %s",
				(unsigned long)seed, i, call, s, p, init, n, want.text, got.text);
	}
	/* The generator does reach all of it. */
	assert_true(errors > ROUNDS / 50 && matches > ROUNDS / 5 && over < ROUNDS / 100);
	lua_settop(ours, 0);
	lua_close(stock);
	test_host_stop(&host);
}

/* Where random strings seldom go: NUL bytes, the edges of init, long captures, gsub's anchors. */
static void edges(void **unused)
{
	static const char *const expressions[] = {"('a\\0b'):find('\\0')", "('a\\0b'):find('%z')",
		"('a\\0b'):match('[\\0-a]+')", "('abc'):find('', 10)", "('abc'):find('', 4)",
		"('abc'):find('b', -2)", "('abc'):find('b', -20)", "('abc'):find('b', 0)",
		"('a.c'):find('.', 1, true)", "('a.c'):find('.c', 1, true)",
		"('abc'):gsub('', '-')", "('abc'):gsub('^', '-')", "('abc'):gsub('^a', '-', 0)",
		"('aaa'):gsub('^a', '-')", "('abc'):gsub('%w', '%0%0', -1)",
		"('hello world'):gsub('o', {}, 1)", "('abc'):gsub('(b)()', '%2%1')",
		"('x'):rep(100):find(('x?'):rep(10)..'$')", "('a$'):find('a$')",
		"('a$a'):find('$a')", "('^a'):find('^^')", "('a-b'):find('a-b')",
		"('[]'):find('[]]')", "('a]'):find('[^]]')",
		"('THE (quick) fox'):find('%((%a+)%)')",
		"('key = value'):match('^(%w+)%s*=%s*(%w+)$')", "('f(a(b)c)d'):match('%b()')",
		"('THE (quick) fox'):gsub('%f[%a]%a+', string.lower)", "(12345):rep(2)",
		"string.find(12345, 34)", "string.gsub(121, 1, 3)", "('x'):gsub('x', 5)",
		"('x'):gsub('x', '%1')", "('abab'):match('(ab)%1')", "('abc'):gmatch('b')()",
		"('abc'):gmatch('()', -1)()", "('abc'):gsub('(a)(b)(c)', '%3%2%1')",
		"('abc'):match('((a)(b))')", "('\\xff\\xfe'):find('[\\xf0-\\xff]+')",
		"('a'):rep(3, ',')", "('x'):byte(-10, 10)", "('xyz'):byte(2, -1)",
		"('xyz'):byte(0)", "('%5.2f|%-5s|%5s|%q'):format(1.5, 'a', 'b', 'c\\n')",
		"('%s %s'):format(nil, true)", "table.concat({ 1, 2, 'x' }, '-')",
		"table.concat({ 1, 2, 3 }, '-', 2, 3)", "table.unpack({ 1, 2, 3 }, 2)",
		"table.unpack({ 1, 2 }, -1, 1)", "select('#', table.unpack({}, 1, 3))",
		"table.remove({ 1, 2, 3 }, 1)", "table.remove({})", "table.remove({ 5 }, 2)",
		"table.concat(table.move({ 1, 2, 3 }, 1, 3, 2))",
		"table.concat(table.move({ 1, 2, 3 }, 2, 3, 1))", "table.pack(1, nil, 3).n"};
	struct test_host host;
	lua_State *stock = luaL_newstate(), *ours;

	(void)unused;
	test_host_start(&host, 4 << 20);
	ours = host.vm->state;
	luaL_openlibs(stock);
	for (size_t i = 0; i < sizeof(expressions) / sizeof(expressions[0]); i++) {
		char source[512];
		lua_State *const states[] = {stock, ours};
		struct outcome outcomes[2];

		snprintf(source, sizeof(source),
			"local out = {} local r = table.pack(%s)\n"
			"for i = 1, r.n do out[i] = tostring(r[i]) end return table.concat(out, "
			"',')",
			expressions[i]);
		for (int which = 0; which < 2; which++) {
			lua_State *lua = states[which];

			assert_int_equal(luaL_loadstring(lua, source), LUA_OK);
			if (lua == ours) {
				script_sandbox_globals(lua);
				lua_setupvalue(lua, -2, 1);
			}
			run(lua, lua_gettop(lua), "", "", "", 1, 1, &outcomes[which]);
			lua_settop(lua, 0);
		}
		if (outcomes[0].status != outcomes[1].status ||
			(outcomes[0].status == LUA_OK &&
				strcmp(outcomes[0].text, outcomes[1].text) != 0))
			fail_msg("%s: stock %s, ours %s", expressions[i], outcomes[0].text,
				outcomes[1].text);
	}
	lua_close(stock);
	test_host_stop(&host);
}

int main(int argc, char **argv)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test(as_stock_lua),
		cmocka_unit_test(edges),
	};

	if (argc > 1)
		seed = strtoull(argv[1], NULL, 10);
	return cmocka_run_group_tests(tests, NULL, NULL);
}
