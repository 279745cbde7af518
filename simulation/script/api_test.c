/* Proves what content may call where (every call in every context, with its permission and
 * without), that the same seed and the same input give the same play in two VMs, that actors that
 * are gone are errors and not crashes, and that docs/content.md says what the tables in the code
 * say. */
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <cmocka.h>

#include "simulation/script/test_host.h"

/* How content makes each call; in a handler, player and monster are there, other is an NPC's
 * object.
 */
static const char *const uses[SCRIPT_CALL_COUNT] = {
	[SCRIPT_CALL_NPC] = "_ENV.npc { name = 'new', x = 1, y = 1 }",
	[SCRIPT_CALL_FIELD] = "local x = other.x",
	[SCRIPT_CALL_DISTANCE] = "other:distance(other)",
	[SCRIPT_CALL_TICK] = "tick()",
	[SCRIPT_CALL_RANDOM] = "math.random(6)",
	[SCRIPT_CALL_SAY] = "other:say(other, 'hello')",
	[SCRIPT_CALL_WALK] = "other:walk(1, 0)",
	[SCRIPT_CALL_SEND] = "other:send(other, 'cave', 1, 2)",
	[SCRIPT_CALL_ASK] = "other:ask(player, 'Well?', { 'yes' })",
	[SCRIPT_CALL_COUNT_ITEM] = "player:count_item('gel')",
	[SCRIPT_CALL_PARTY] = "player:party()",
	[SCRIPT_CALL_QUEST] = "player:quest('wolves')",
	[SCRIPT_CALL_TAKE_ITEM] = "player:take_item('gel', 2)",
	[SCRIPT_CALL_GIVE_ITEM] = "player:give_item('gel')",
	[SCRIPT_CALL_ADD_GOLD] = "player:add_gold(5)",
	[SCRIPT_CALL_ADD_EXPERIENCE] = "player:add_experience(5)",
	[SCRIPT_CALL_BEGIN_QUEST] = "player:begin_quest('wolves')",
	[SCRIPT_CALL_ADVANCE_QUEST] = "player:advance_quest('wolves')",
	[SCRIPT_CALL_COMPLETE_QUEST] = "player:complete_quest('wolves')",
	[SCRIPT_CALL_COMMIT] = "commit()",
	[SCRIPT_CALL_LOG] = "log('x')",
	[SCRIPT_CALL_MONSTER] = "_ENV.monster { kind = 'wolf', on_hurt = function() end }",
	[SCRIPT_CALL_QUEST_EVENTS] = "_ENV.quest { name = 'letter', on_begin = function() end }",
	[SCRIPT_CALL_MAP_EVENTS] = "_ENV.map_events { on_enter = function() end }",
	[SCRIPT_CALL_TIMER] = "_ENV.timer { name = 'new', on_time = function() end }",
	[SCRIPT_CALL_RULE] = "_ENV.rule { on_tick = function() end }",
	[SCRIPT_CALL_SHOUT] = "other:shout('hello')",
	[SCRIPT_CALL_WAIT] = "wait(2)",
	[SCRIPT_CALL_NEAR] = "players_near(other, 5)",
	[SCRIPT_CALL_MAP_NAME] = "map.name()",
	[SCRIPT_CALL_MAP_PLAYERS] = "map.players()",
	[SCRIPT_CALL_ANNOUNCE] = "map.announce('hear')",
	[SCRIPT_CALL_ITEM_INFO] = "item_info('gel')",
	[SCRIPT_CALL_QUEST_INFO] = "quest_info('wolves')",
	[SCRIPT_CALL_START_TIMER] = "start_timer('bell', 1)",
	[SCRIPT_CALL_STOP_TIMER] = "stop_timer('bell')",
	[SCRIPT_CALL_QUEUE_INTENT] = "queue_intent('k', player, { gold = 1 })",
	[SCRIPT_CALL_STRIKE] = "monster:strike(player, 3)",
	[SCRIPT_CALL_HEAL] = "monster:heal(3)",
	[SCRIPT_CALL_CHASE] = "monster:chase(player)",
	[SCRIPT_CALL_SET_ATTACK] = "monster:set_attack(3)",
	[SCRIPT_CALL_DROP] = "monster:drop('gel', 3, player)",
	[SCRIPT_CALL_MATCH_SECONDS] = "match.seconds()",
	[SCRIPT_CALL_MATCH_PLAYERS] = "match.players()",
	[SCRIPT_CALL_MATCH_LOCK] = "match.lock(true)",
	[SCRIPT_CALL_MATCH_HOLD] = "match.hold(true)",
	[SCRIPT_CALL_MATCH_FIGHT] = "match.fight(true)",
	[SCRIPT_CALL_MATCH_HURT] = "match.hurt(player, 3)",
	[SCRIPT_CALL_MATCH_BOOST] = "match.boost(player, 'big heart')",
	[SCRIPT_CALL_MATCH_OFFER] = "match.offer(player, { 'big heart' }, 5)",
	[SCRIPT_CALL_MATCH_RESULT] = "match.result(player, 1)",
	[SCRIPT_CALL_MATCH_FINISH] = "match.finish()",
};

/* Declarations of every class, whose handlers run the body in each context. */
static const char all_contexts[] =
	"other = npc { name = 'a', x = 1, y = 1 }\n"
	"local seen\n"
	"function run(player, monster) player = player or seen or other monster = monster or "
	"player "
	"%s end\n"
	"npc { name = 'b', x = 1, y = 1, on_click = function(_, p) seen = p run(p) end,\n"
	"  on_tick = function() run() end }\n"
	"monster { kind = 'wolf', on_hurt = function(m, p) run(p, m) end }\n"
	"quest { name = 'wolves', on_begin = function(p) run(p) end }\n"
	"npc { name = 'c', x = 1, y = 1, on_click = function(_, p) seen = p end }\n"
	"map_events { on_enter = function(p) run(p) end }\n"
	"timer { name = 'bell', on_time = function() end }\n"
	"rule { on_join = function(p) run(p) end }";

static enum script_result run_in(
	struct test_host *host, enum script_context context, const char *body, char *error)
{
	static const struct {
		enum script_handler handler;
		const char *name;
	} events[] = {[SCRIPT_CONTEXT_COMBAT] = {SCRIPT_HANDLER_MONSTER_HURT, "wolf"},
		[SCRIPT_CONTEXT_QUEST] = {SCRIPT_HANDLER_QUEST_BEGIN, "wolves"},
		[SCRIPT_CONTEXT_MAP_EVENT] = {SCRIPT_HANDLER_MAP_ENTER, ""},
		[SCRIPT_CONTEXT_MATCH] = {SCRIPT_HANDLER_RULE_JOIN, ""}};
	struct script_event event = {.player = TEST_PLAYER, .monster = TEST_MONSTER};
	enum script_result result;
	char source[1024];

	script_undeclare(host->vm, 0);
	snprintf(source, sizeof(source),
		context == SCRIPT_CONTEXT_LOAD
			? "other = npc { name = 'a', x = 1, y = 1 } function run(self, player) "
			  "player = player or other local monster = other %s end run()"
			: all_contexts,
		body);
	result = test_host_load(host, source);
	strcpy(error, host->error);
	if (context == SCRIPT_CONTEXT_LOAD || result != SCRIPT_OK)
		return result;
	if (context == SCRIPT_CONTEXT_NPC_CLICK) {
		result = script_vm_click(host->vm, test_host_npc(host, "b"), TEST_PLAYER);
	} else if (context == SCRIPT_CONTEXT_NPC_TICK) {
		script_vm_click(host->vm, test_host_npc(host, "c"), TEST_PLAYER);
		result = script_vm_tick(host->vm, test_host_npc(host, "b"));
	} else {
		event.handler = events[context].handler;
		event.declaration = script_vm_find(host->vm, event.handler, events[context].name);
		result = script_vm_event(host->vm, &event);
	}
	if (result == SCRIPT_WAITING)
		result = script_vm_resume(host->vm, host->job, &(struct script_answer){0});
	strcpy(error, test_host_error(host));
	return result;
}

static void permissions(void **unused)
{
	struct test_host host;
	uint64_t *allowed;

	(void)unused;
	test_host_start(&host, 4 << 20);
	allowed = host.vm->config.allowed;
	for (unsigned context = 0; context < SCRIPT_CONTEXT_COUNT; context++)
		for (unsigned call = 0; call < SCRIPT_CALL_COUNT; call++) {
			uint64_t before = allowed[context];
			char error[SCRIPT_TEXT_BYTES], text[128];

			/* One declares in a file, and what declares is needed to get there. */
			if (context != SCRIPT_CONTEXT_LOAD &&
				script_call_rows[call].where == SCRIPT_IN_LOAD) {
				assert_false(before >> call & 1);
				continue;
			}
			/* As it comes. */
			assert_int_equal(before, script_context_calls(context));
			if (!(before >> call & 1))
				assert_int_equal(run_in(&host, context, uses[call], error),
					SCRIPT_NOT_ALLOWED);
			else if (run_in(&host, context, uses[call], error) != SCRIPT_OK)
				fail_msg("%s: %s", uses[call], error);
			/* Taken away: named. In load, npc is needed to get there at all. */
			if (context != SCRIPT_CONTEXT_LOAD || call != SCRIPT_CALL_NPC) {
				allowed[context] &= ~(1ull << call);
				assert_int_equal(run_in(&host, context, uses[call], error),
					SCRIPT_NOT_ALLOWED);
				snprintf(text, sizeof(text), "%s is not allowed in %s",
					script_call_name(call), script_context_name(context));
				if (!strstr(error, text) || !strstr(error, "test.lua:"))
					fail_msg("says: %s", error);
			}
			/* Given: whatever it then is, it is not a matter of permission. */
			allowed[context] |= 1ull << call;
			assert_int_not_equal(
				run_in(&host, context, uses[call], error), SCRIPT_NOT_ALLOWED);
			allowed[context] = before;
		}
	test_host_stop(&host);
}

/* R15, spelled out. */
static void rights_of_contexts(void **unused)
{
	const uint64_t all = (SCRIPT_CALL_COUNT < 64 ? 1ull << SCRIPT_CALL_COUNT : 0) - 1;
	uint64_t in[SCRIPT_CONTEXT_COUNT], declare = 0, match = 0;
	const uint64_t log = 1ull << SCRIPT_CALL_LOG, ask = 1ull << SCRIPT_CALL_ASK;
	const uint64_t wait = 1ull << SCRIPT_CALL_WAIT;
	const uint64_t steps =
		1ull << SCRIPT_CALL_ADVANCE_QUEST | 1ull << SCRIPT_CALL_COMPLETE_QUEST;
	const uint64_t reward = 1ull << SCRIPT_CALL_ADD_GOLD | 1ull << SCRIPT_CALL_ADD_EXPERIENCE;
	const uint64_t durable = reward | steps | 1ull << SCRIPT_CALL_TAKE_ITEM |
				 1ull << SCRIPT_CALL_GIVE_ITEM | 1ull << SCRIPT_CALL_BEGIN_QUEST |
				 1ull << SCRIPT_CALL_COMMIT;
	/* The listed few live ones that a tick may not make. */
	const uint64_t not_in_a_tick = 1ull << SCRIPT_CALL_ANNOUNCE | 1ull << SCRIPT_CALL_STRIKE |
				       1ull << SCRIPT_CALL_HEAL | 1ull << SCRIPT_CALL_CHASE |
				       1ull << SCRIPT_CALL_SET_ATTACK | 1ull << SCRIPT_CALL_DROP;
	uint64_t live;

	(void)unused;
	for (unsigned call = 0; call < SCRIPT_CALL_COUNT; call++) {
		if (script_call_rows[call].where == SCRIPT_IN_LOAD)
			declare |= 1ull << call;
		if (!strncmp(script_call_name(call), "match.", 6))
			match |= 1ull << call;
	}
	for (unsigned context = 0; context < SCRIPT_CONTEXT_COUNT; context++)
		in[context] = script_context_calls(context);
	live = all & ~declare & ~durable & ~ask & ~wait & ~match;
	assert_int_equal(in[SCRIPT_CONTEXT_LOAD], declare | log);
	assert_int_equal(in[SCRIPT_CONTEXT_NPC_CLICK], live | durable | ask | wait);
	assert_int_equal(in[SCRIPT_CONTEXT_NPC_TICK], live & ~not_in_a_tick);
	assert_int_equal(in[SCRIPT_CONTEXT_COMBAT], live | reward);
	assert_int_equal(in[SCRIPT_CONTEXT_QUEST], live | (durable & ~steps) | wait);
	assert_int_equal(in[SCRIPT_CONTEXT_MAP_EVENT], live);
	assert_int_equal(in[SCRIPT_CONTEXT_MATCH], live | match);
}

/* An editor is told of every call, field and handler, and of nothing else. */
static void stubs_are_whole(void **unused)
{
	char *text = NULL, line[256];
	uint32_t functions = 0;
	size_t bytes;
	FILE *out = open_memstream(&text, &bytes);

	(void)unused;
	script_stubs(out);
	fclose(out);
	for (unsigned call = 0; call < SCRIPT_CALL_COUNT; call++) {
		const char *name = script_call_name(call);

		if (call == SCRIPT_CALL_FIELD)
			continue;
		snprintf(line, sizeof(line), "\nfunction %s%s(", strchr(name, ':') ? "class_" : "",
			name);
		if (!strstr(text, line))
			fail_msg("no stub of %s", name);
	}
	for (const char *at = text; (at = strstr(at, "\nfunction ")); at++)
		functions++;
	assert_int_equal(functions, SCRIPT_CALL_COUNT - 1);
	for (const struct script_field_row *row = script_field_rows; row->class; row++) {
		snprintf(line, sizeof(line), "\n---@field %s %s %s\n", row->name, row->type,
			row->meaning);
		assert_non_null(strstr(text, line));
	}
	for (const struct script_handler_row *row = script_handler_rows; row->class; row++) {
		snprintf(
			line, sizeof(line), "\n---@field %s? fun(%s) ", row->name, row->parameters);
		assert_non_null(strstr(text, line));
	}
	assert_non_null(strstr(text, "\n---@param count? integer\nfunction "
				     "class_player:take_item(item, count) end\n"));
	free(text);
}

static const char play[] =
	"local bag = {}\n"
	"npc { name = 'a', x = 1, y = 2, on_click = function(npc, player)\n"
	"  for i = 1, 20 do bag['key' .. math.random(1000)] = math.random() bag[math.random(50)] = "
	"i end\n"
	"  bag[true] = 1 bag[0.5] = 2 bag[-3] = 3\n"
	"  local out = {}\n"
	"  for k, v in pairs(bag) do out[#out + 1] = tostring(k):sub(-3) if #out > 60 then break "
	"end end\n"
	"  table.sort(out, function(a, b) return a:byte(-1) < b:byte(-1) end)\n"
	"  npc:say(player, table.concat(out, ' ') .. tostring({}) .. math.random(0))\n"
	"  npc:walk(math.random() - 0.5, math.random(-1, 1))\n"
	"end }";

static void players_are_sent(void **unused)
{
	static const struct {
		const char *body, *sent; /* sent NULL: an error */
	} rows[] = {
		{"assert(npc:send(player, 'cave'))", "cave 0 0 0"},
		{"assert(npc:send(player, 'cave', 1.5, 2))", "cave 1 1500 2000"},
		{"assert(not npc:send(npc, 'cave'))", "cave 0 0 0"},
		{"npc:send(player, '')", NULL},
		{"npc:send(player, ('x'):rep(32))", NULL},
		{"npc:send(player, 'a\\0b')", NULL},
		{"npc:send(player, 'cave', 1)", NULL},
		{"npc:send(player, 'cave', 0/0, 1)", NULL},
		{"npc:send(player)", NULL},
		{"npc:send()", NULL},
	};
	struct test_host host;

	(void)unused;
	for (size_t i = 0; i < sizeof(rows) / sizeof(rows[0]); i++) {
		char source[256];
		enum script_result result;

		test_host_start(&host, 4 << 20);
		snprintf(source, sizeof(source),
			"npc { name = 'a', x = 1, y = 1, on_click = function(npc, player) %s end }",
			rows[i].body);
		test_host_load_ok(&host, source);
		result = script_vm_click(host.vm, 0, TEST_PLAYER);
		if ((result == SCRIPT_OK) != (rows[i].sent != NULL) ||
			strcmp(host.sent, rows[i].sent ? rows[i].sent : ""))
			fail_msg("%s: \"%s\", %s", rows[i].body, host.sent, test_host_error(&host));
		test_host_stop(&host);
	}
}

static void same_seed_same_play(void **unused)
{
	char first[50][SCRIPT_SAY_BYTES + 1];
	int8_t moves[50][2];
	struct test_host host;

	(void)unused;
	for (int round = 0; round < 3; round++) {
		test_host_start(&host, 4 << 20);
		host.random = 42;
		test_host_load_ok(&host, play);
		for (int i = 0; i < 50; i++) {
			if (script_vm_click(host.vm, 0, TEST_PLAYER) != SCRIPT_OK)
				fail_msg("%s", test_host_error(&host));
			if (round == 0) {
				strcpy(first[i], host.said);
				moves[i][0] = host.dx;
				moves[i][1] = host.dy;
			}
			assert_string_equal(host.said, first[i]);
			assert_int_equal(host.dx, moves[i][0]);
			assert_int_equal(host.dy, moves[i][1]);
		}
		test_host_stop(&host);
	}
}

/* on_click bodies that must run, asserting for themselves. */
static const char *const fine[] = {
	"assert(player.name == 'Ada' and player.kind == 'player' and player.x == 3 and player.y == "
	"4.5)",
	"assert(npc.name == 'b' and npc.kind == 'npc' and npc.x == 0 and npc.y == 0.5 and "
	"npc.alive)",
	"assert(npc:distance(player) == 5 and player:distance(npc) == 5)",
	"assert(npc:say(player, 'hei \\u{e5}\\n\\u{1f600}') == true)",
	"npc.steps = (npc.steps or 0) + 1 npc[1] = npc assert(npc.steps == 1 and npc[1] == npc)",
	"assert(player == player and npc ~= player and tostring(npc) == 'npc b')",
	"assert(tostring(player) == 'player Ada' and ('%s'):format(player) == 'player Ada')",
	"assert(tick() == 7)",
	"for i = 1, 200 do local r = math.random(3) assert(r >= 1 and r <= 3 and math.type(r) == "
	"'integer') end",
	"for i = 1, 200 do local r = math.random(-2, 2) assert(r >= -2 and r <= 2) end",
	"for i = 1, 200 do local r = math.random() assert(r >= 0 and r < 1) end",
	"math.random(math.mininteger, math.maxinteger) math.random(0)",
	"local n = 0 for k, v in pairs({ 5, 6, x = 1, y = 2, [2.5] = 3 }) do n = n + 1 end "
	"assert(n == 5)",
	"local t = {} for k in pairs({ b = 1, a = 1, [3] = 1, [-1] = 1, [true] = 1 }) do t[#t + 1] "
	"= tostring(k) end\n"
	"assert(table.concat(t, ',') == '-1,3,a,b,true', table.concat(t, ','))",
	"local t = { a = 1, b = 2, c = 3 } for k in pairs(t) do t[k] = nil end assert(next(t) == "
	"nil)",
	"local t = { a = 1, b = 2, c = 3 } for k in pairs(t) do t.b, t.c = nil t[k] = nil end",
	"local t = {} for i = 1, 1000 do t[i] = (i * 7919) % 1000 end table.sort(t)\n"
	"for i = 2, 1000 do assert(t[i - 1] <= t[i]) end\n"
	"table.sort(t, function(a, b) return a > b end) for i = 2, 1000 do assert(t[i - 1] >= "
	"t[i]) end",
	"log('a', nil, 1.5, {}, npc) print()",
};

static void the_api_works(void **unused)
{
	static const struct {
		double dx, dy;
		int x, y;
	} walks[] = {{0, 0, 0, 0}, {1, 0, 127, 0}, {0, -1, 0, -127}, {5, 0, 127, 0}, {1, 1, 89, 89},
		{0.5, 0, 63, 0}, {1e300, 1e300, 89, 89}, {-3, 4, -76, 101}};
	struct test_host host;
	char source[1024];

	(void)unused;
	test_host_start(&host, 4 << 20);
	host.tick = 7;
	for (size_t i = 0; i < sizeof(fine) / sizeof(fine[0]); i++) {
		snprintf(source, sizeof(source),
			"npc { name = 'b', x = 0, y = 0.5, on_click = function(npc, player) %s\n "
			"end }",
			fine[i]);
		test_host_load_ok(&host, source);
		if (script_vm_click(host.vm, (uint32_t)i, TEST_PLAYER) != SCRIPT_OK)
			fail_msg("%s", test_host_error(&host));
	}
	for (size_t i = 0; i < sizeof(walks) / sizeof(walks[0]); i++) {
		snprintf(source, sizeof(source),
			"npc { name = 'w', x = 1, y = 1, on_tick = function(npc) npc:walk(%g, %g) "
			"end }",
			walks[i].dx, walks[i].dy);
		test_host_load_ok(&host, source);
		assert_int_equal(script_vm_tick(host.vm, test_host_npc(&host, "w")), SCRIPT_OK);
		assert_int_equal(host.dx, walks[i].x);
		assert_int_equal(host.dy, walks[i].y);
		assert_true(host.dx * host.dx + host.dy * host.dy <= 127 * 127);
	}
	test_host_stop(&host);
}

static void actors_that_are_gone(void **unused)
{
	struct test_host host;

	(void)unused;
	test_host_start(&host, 4 << 20);
	test_host_load_ok(&host,
		"npc { name = 'a', x = 1, y = 1,\n"
		"  on_click = function(npc, player)\n"
		"    assert(not player.alive and tostring(player) == 'actor (gone)')\n"
		"    assert(npc:say(player, 'x') == false)\n"
		"    kept = player return player.name end,\n"
		"  on_tick = function(npc) return kept.x end }\n"
		"npc { name = 'b', x = 1, y = 1, on_tick = function(npc) end }");
	assert_int_equal(script_vm_click(host.vm, 0, TEST_GHOST), SCRIPT_ERROR);
	assert_non_null(strstr(test_host_error(&host), "test.lua:5: name: the actor is gone"));
	assert_int_equal(script_vm_tick(host.vm, 0), SCRIPT_ERROR);
	assert_non_null(strstr(test_host_error(&host), "x: the actor is gone"));
	assert_int_equal(script_vm_click(host.vm, 1, TEST_PLAYER), SCRIPT_NO_HANDLER);
	script_vm_bind(host.vm, 1, 0);
	assert_int_equal(script_vm_tick(host.vm, 1), SCRIPT_NO_HANDLER);
	script_vm_bind(host.vm, 1, 2);
	assert_int_equal(script_vm_tick(host.vm, 1), SCRIPT_OK);
	test_host_stop(&host);
}

/* Errors carry traceback, event and tick; a full ring loses texts, counted, and goes on. */
static void texts(void **unused)
{
	struct script_text text;
	struct test_host host;
	uint32_t popped = 0;

	(void)unused;
	test_host_start(&host, 4 << 20);
	host.tick = 99;
	test_host_load_ok(&host, "local function inner() error('broken') end\n"
				 "npc { name = 'a', x = 1, y = 1, on_click = function() log('one', "
				 "2) inner() end }");
	assert_int_equal(script_vm_click(host.vm, 0, TEST_PLAYER), SCRIPT_ERROR);
	assert_true(script_vm_text_pop(host.vm, &text));
	assert_int_equal(text.kind, SCRIPT_TEXT_LOG);
	assert_string_equal(text.text, "one\t2");
	assert_true(script_vm_text_pop(host.vm, &text));
	assert_int_equal(text.kind, SCRIPT_TEXT_ERROR);
	assert_int_equal(text.result, SCRIPT_ERROR);
	assert_int_equal(text.context, SCRIPT_CONTEXT_NPC_CLICK);
	assert_int_equal(text.npc_index, 0);
	assert_int_equal(text.player, TEST_PLAYER);
	assert_int_equal(text.tick, 99);
	assert_int_equal(text.bytes, strlen(text.text));
	assert_string_equal(text.text, "test.lua:1: broken\n\tin global error\n"
				       "\ttest.lua:1: in upvalue inner\n"
				       "\ttest.lua:2: in the function of line 2");
	assert_false(script_vm_text_pop(host.vm, &text));
	for (int i = 0; i < 40; i++)
		assert_int_equal(script_vm_click(host.vm, 0, TEST_PLAYER), SCRIPT_ERROR);
	while (script_vm_text_pop(host.vm, &text))
		popped++;
	assert_int_equal(popped, SCRIPT_TEXTS);
	assert_int_equal(counter_get(&host.vm->values[SCRIPT_COUNT_TEXTS_LOST]), 80 - SCRIPT_TEXTS);
	test_host_stop(&host);
}

static void counters(void **unused)
{
	const struct counter_set *set;
	struct test_host host;

	(void)unused;
	test_host_start(&host, 4 << 20);
	set = script_vm_counters(host.vm);
	assert_string_equal(set->group, "script");
	assert_int_equal(set->count, SCRIPT_COUNTER_COUNT);
	for (uint32_t i = 0; i < set->count; i++) {
		assert_non_null(set->desc[i].name);
		assert_non_null(set->desc[i].help);
		for (uint32_t j = 0; j < i; j++)
			assert_string_not_equal(set->desc[i].name, set->desc[j].name);
	}
	test_host_load_ok(&host, "npc { name = 'a', x = 1, y = 1, on_tick = function() end }");
	script_vm_tick(host.vm, 0);
	assert_int_equal(counter_get(&set->values[SCRIPT_COUNT_TICKS]), 1);
	assert_int_equal(counter_get(&set->values[SCRIPT_COUNT_CALLS_OK]), 2); /* and the load */
	assert_int_equal(counter_get(&set->values[SCRIPT_COUNT_NPCS]), 1);
	assert_true(counter_get(&set->values[SCRIPT_COUNT_MEMORY_BYTES]) > 10000);
	test_host_stop(&host);
}

static char *read_text(const char *folder, const char *name)
{
	char path[512], *text = calloc(1, 65536);
	FILE *file;

	snprintf(path, sizeof(path), "%s/%s", folder, name);
	file = fopen(path, "r");
	if (!file || !text)
		fail_msg("%s cannot be read", path);
	text[fread(text, 1, 65535, file)] = '\0';
	fclose(file);
	return text;
}

/* docs/content.md has the tables as the code prints them: swscript reference. */
static void guide_is_true(void **unused)
{
	char *guide = read_text(SW_SOURCE_FOLDER, "docs/content.md"), *tables = NULL, *line;
	size_t bytes;
	FILE *out = open_memstream(&tables, &bytes);

	(void)unused;
	script_reference(out);
	fclose(out);
	for (line = strtok(tables, "\n"); line; line = strtok(NULL, "\n"))
		if (!strstr(guide, line))
			fail_msg("docs/content.md lacks: %s", line);
	free(tables);
	free(guide);
}

/* Clicks until the handler is done, choosing the same each time; all is kept, or refused by why. */
static void talk(struct test_host *host, const char *name, uint32_t choice, enum script_kept why)
{
	enum script_result result;

	host->asks_wait = true;
	host->kept = SCRIPT_KEPT_PENDING;
	result = script_vm_click(host->vm, test_host_npc(host, name), TEST_PLAYER);
	while (result == SCRIPT_WAITING)
		result = script_vm_resume(host->vm, host->job,
			&(struct script_answer){.choice = choice, .kept = why});
	if (result != SCRIPT_OK)
		fail_msg("%s: %s", name, test_host_error(host));
}

/* The content that is delivered: loads, answers in whatever phase its quests are, whatever becomes
 * of a commit, walks its round and comes back. */
static void meadow(void **unused)
{
	static const char *const names[] = {"Old Tom", "Mara", "Bess", "Watchman"};
	char *source = read_text(SW_SOURCE_FOLDER, "lua/content/meadow.lua");
	struct test_host host;

	(void)unused;
	test_host_start(&host, 4 << 20);
	test_host_load_ok(&host, source);
	host.quest.phase = SCRIPT_QUEST_DONE;
	for (int i = 0; i < 20; i++)
		talk(&host, "Old Tom", 0, SCRIPT_KEPT_OK);
	assert_int_equal(host.says, 21);
	for (uint32_t i = 0; i < 4 * 5 * 4 * SCRIPT_KEPT_COUNT; i++) {
		host.quest = (struct script_quest){
			.phase = (enum script_quest_phase)(i / 4 % 5), .step = 1 + i / 20 % 3};
		talk(&host, names[i % 4], i / 20 % 4, (enum script_kept)(i / 80));
	}
	host.quest.phase = SCRIPT_QUEST_NEW;
	talk(&host, "Old Tom", 1, SCRIPT_KEPT_OK);
	assert_string_equal(host.said, "Here it is. He walks around the square.");
	talk(&host, "Bess", 1, SCRIPT_KEPT_OK);
	assert_int_equal(host.changes, 2);
	assert_int_equal(host.change[1].amount, -3);
	talk(&host, "Bess", 3, SCRIPT_KEPT_NOT_ENOUGH);
	assert_string_equal(host.said, "You have none.");
	for (; host.tick < 500; host.tick++)
		assert_int_equal(
			script_vm_tick(host.vm, test_host_npc(&host, "Watchman")), SCRIPT_OK);
	assert_true(host.moves > 400);
	test_host_stop(&host);
	free(source);
}

int main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test(permissions),
		cmocka_unit_test(rights_of_contexts),
		cmocka_unit_test(stubs_are_whole),
		cmocka_unit_test(players_are_sent),
		cmocka_unit_test(same_seed_same_play),
		cmocka_unit_test(the_api_works),
		cmocka_unit_test(actors_that_are_gone),
		cmocka_unit_test(texts),
		cmocka_unit_test(counters),
		cmocka_unit_test(guide_is_true),
		cmocka_unit_test(meadow),
	};

	return cmocka_run_group_tests(tests, NULL, NULL);
}
