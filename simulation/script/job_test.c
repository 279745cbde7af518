/* Proves what a click handler may wait for: it goes on where it asked, with the answer, once; all
 * its durable calls are kept together, by commit() or at its end, and never of a handler that
 * failed; whatever it does wrong ends it by name; a handler that is cancelled leaves nothing; those
 * that wait are bounded, and an error on one thread does not free the next from its time limit. */
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <string.h>
#include <cmocka.h>

#include "simulation/script/test_host.h"

static enum script_result click(struct test_host *host, const char *body)
{
	char source[1024];

	snprintf(source, sizeof(source),
		"npc { name = 'a', x = 1, y = 1, on_click = function(npc, player) %s end }", body);
	test_host_load_ok(host, source);
	return script_vm_click(host->vm, test_host_npc(host, "a"), TEST_PLAYER);
}

static enum script_result resume(struct test_host *host, uint32_t choice, enum script_kept kept)
{
	return script_vm_resume(
		host->vm, host->job, &(struct script_answer){.choice = choice, .kept = kept});
}

static void questions(void **unused)
{
	struct test_host host;
	uint32_t job;

	(void)unused;
	test_host_start(&host, 4 << 20);
	host.asks_wait = true;
	assert_int_equal(click(&host, "local first = npc:ask(player, 'One?', { 'a', 'b' }) "
				      "local second = npc:ask(player, 'Two?', { 'c', 'd', 'e' }) "
				      "npc:say(player, first .. ' ' .. tostring(second))"),
		SCRIPT_WAITING);
	assert_string_equal(host.said, "One?");
	assert_string_equal(host.choice, "b");
	assert_int_equal(host.choices, 2);
	job = host.job;
	assert_int_equal(resume(&host, 2, 0), SCRIPT_WAITING);
	assert_string_equal(host.said, "Two?");
	assert_int_equal(resume(&host, 0, 0), SCRIPT_OK);
	assert_string_equal(host.said, "2 nil");
	/* over: neither of its numbers goes on with anything */
	assert_int_equal(resume(&host, 1, 0), SCRIPT_NO_HANDLER);
	host.job = job;
	assert_int_equal(resume(&host, 1, 0), SCRIPT_NO_HANDLER);
	assert_int_equal(host.vm->waiting, 0);
	assert_int_equal(host.keeps, 0);
	test_host_stop(&host);
}

static void all_durable_calls_are_one(void **unused)
{
	static const char *const calls = "player:take_item('gel', 2) player:give_item('gel') "
					 "player:add_gold(-7) player:add_experience(9) "
					 "player:begin_quest('wolves') ";
	static const struct script_change want[] = {{SCRIPT_TAKE_ITEM, 7, 2},
		{SCRIPT_GIVE_ITEM, 7, 1}, {SCRIPT_ADD_GOLD, 0, -7}, {SCRIPT_ADD_EXPERIENCE, 0, 9},
		{SCRIPT_BEGIN_QUEST, 0, 0}};
	struct test_host host;
	char body[512];

	(void)unused;
	test_host_start(&host, 4 << 20);
	/* at the end, when nobody waits */
	host.kept = SCRIPT_KEPT_PENDING;
	assert_int_equal(click(&host, calls), SCRIPT_OK);
	assert_int_equal(host.keeps, 1);
	assert_int_equal(host.job, 0);
	assert_int_equal(host.changes, 5);
	assert_memory_equal(host.change, want, sizeof(want));
	/* by commit, which brings the answer */
	snprintf(body, sizeof(body),
		"%s local ok, why = commit() npc:say(player, tostring(ok) .. ' ' .. tostring(why))",
		calls);
	for (uint32_t i = 0; i < SCRIPT_KEPT_COUNT; i++) {
		char text[64];

		host.said[0] = '\0';
		assert_int_equal(click(&host, body), SCRIPT_WAITING);
		assert_int_equal(host.keeps, 2 + i);
		assert_int_not_equal(host.job, 0);
		assert_string_equal(host.said, "");
		assert_int_equal(resume(&host, 0, (enum script_kept)i), SCRIPT_OK);
		snprintf(text, sizeof(text), i ? "false %s" : "true nil",
			script_kept_name((enum script_kept)i));
		assert_string_equal(host.said, text);
	}
	/* refused at once */
	host.kept = SCRIPT_KEPT_NOT_ENOUGH;
	assert_int_equal(click(&host, body), SCRIPT_OK);
	assert_string_equal(host.said, "false not_enough");
	/* and nothing of a handler that fails */
	host.keeps = 0;
	host.kept = SCRIPT_KEPT_PENDING;
	snprintf(body, sizeof(body), "%s error('late')", calls);
	assert_int_equal(click(&host, body), SCRIPT_ERROR);
	snprintf(body, sizeof(body), "%s while true do end", calls);
	assert_int_equal(click(&host, body), SCRIPT_OVER_TIME);
	assert_int_equal(host.keeps, 0);
	/* commit without anything is no commit */
	assert_int_equal(click(&host, "npc:say(player, tostring(commit()))"), SCRIPT_OK);
	assert_string_equal(host.said, "true");
	assert_int_equal(host.keeps, 0);
	test_host_stop(&host);
}

/* A commit of a version that has been replaced twice is answered late: its handler's number is nobody
 * else's, though the VM is on the same side and its handlers are as many. */
static void numbers(void **unused)
{
	struct test_host host;
	uint32_t job;

	(void)unused;
	test_host_start(&host, 4 << 20);
	host.kept = SCRIPT_KEPT_PENDING;
	host.asks_wait = true;
	assert_int_equal(click(&host, "player:add_gold(1) commit()"), SCRIPT_WAITING);
	job = host.job;
	script_vm_free(host.vm);
	host.config.vms_before += 2;
	test_host_again(&host);
	assert_int_equal(click(&host, "npc:ask(player, 'sure?', { 'yes' })"), SCRIPT_WAITING);
	assert_int_equal(script_vm_resume(host.vm, job, &(struct script_answer){.kept = SCRIPT_KEPT_OK}),
		SCRIPT_NO_HANDLER);
	assert_int_equal(resume(&host, 1, SCRIPT_KEPT_OK), SCRIPT_OK);
	test_host_stop(&host);
}

static void reading(void **unused)
{
	static const struct {
		struct script_quest quest;
		const char *said;
	} rows[] = {
		{{SCRIPT_QUEST_NEW, 0, 0, 0}, "new nil nil"},
		{{SCRIPT_QUEST_LOCKED, 0, 0, 0}, "locked nil nil"},
		{{SCRIPT_QUEST_OPEN, 4, 2, 0}, "open 4 2"},
		{{SCRIPT_QUEST_DONE, 0, 0, 0}, "done nil nil"},
		{{SCRIPT_QUEST_DONE, 0, 0, 90}, "done 90 nil"},
		{{SCRIPT_QUEST_UNKNOWN, 0, 0, 0}, "unknown nil nil"},
	};
	struct test_host host;

	(void)unused;
	test_host_start(&host, 4 << 20);
	for (size_t i = 0; i < sizeof(rows) / sizeof(rows[0]); i++) {
		host.quest = rows[i].quest;
		assert_int_equal(click(&host, "local a, b, c = player:quest('wolves') "
					      "npc:say(player, a .. ' ' .. tostring(b) .. ' ' .. "
					      "tostring(c))"),
			SCRIPT_OK);
		assert_string_equal(host.said, rows[i].said);
	}
	assert_int_equal(
		click(&host, "npc:say(player, player.level .. ' ' .. player.gold .. ' ' .. "
			     "player:count_item('gel') .. ' ' .. tostring(npc.gold))"),
		SCRIPT_OK);
	assert_string_equal(host.said, "3 40 12 nil");
	assert_int_equal(click(&host, "npc:say(player, table.concat(player:party(), ' ') .. "
				      "#npc:party())"),
		SCRIPT_OK);
	assert_string_equal(host.said, "Ada Bo0");
	test_host_stop(&host);
}

static void wrong_uses_end_the_handler(void **unused)
{
	static const struct {
		const char *body, *text;
	} rows[] = {
		{"player:take_item('gold', 1)", "there is no item 'gold'"},
		{"player:begin_quest('x')", "there is no quest 'x'"},
		{"player:quest('x')", "there is no quest 'x'"},
		{"player:take_item('gel', 0)", "out of range"},
		{"player:take_item('gel', -1)", "out of range"},
		{"player:give_item('gel', 1.5)", "number has no integer representation"},
		{"player:give_item('gel', 2000000000)", "out of range"},
		{"player:add_gold(2000000000)", "out of range"},
		{"player:add_experience(-1)", "out of range"},
		{"npc:take_item('gel')", "only of the player whom the handler is called for"},
		{"npc.take_item(5)", "actor expected"},
		{"commit() commit()", "commit() was called already"},
		{"commit() player:add_gold(1)", "commit() was called already"},
		{"for i = 1, 17 do player:add_gold(1) end", "at most 16 things"},
		{"table.sort({ 1, 2 }, function() commit() end)", "cannot wait here"},
		{"('x'):gsub('x', function() npc:ask(player, 'a', { 'b' }) end)",
			"cannot wait here"},
		{"for i = 1, 17 do npc:ask(player, 'a', { 'b' }) end", "at most 16 times"},
		{"npc:ask(npc, 'a', { 'b' })", "only of the player whom the handler is called for"},
		{"npc:ask(player, '', { 'b' })", "text is empty"},
		{"npc:ask(player, 'a')", "table expected"},
		{"npc:ask(player, 'a', {})", "1 to 8 choices"},
		{"npc:ask(player, 'a', { 1, 2, 3, 4, 5, 6, 7, 8, 9 })", "1 to 8 choices"},
		{"npc:ask(player, 'a', { 1 })", "a choice is 1 to 100 bytes"},
		{"npc:ask(player, 'a', { ('x'):rep(101) })", "a choice is 1 to 100 bytes"},
		{"npc:ask(player, 'a', { '\\1' })", "a choice is 1 to 100 bytes"},
		{"player:ask(player, 'a', { 'b' })", "NPC expected"},
	};
	struct test_host host;

	(void)unused;
	test_host_start(&host, 4 << 20);
	for (size_t i = 0; i < sizeof(rows) / sizeof(rows[0]); i++) {
		enum script_result result = click(&host, rows[i].body);
		const char *error = test_host_error(&host);

		if (result != SCRIPT_ERROR || !strstr(error, rows[i].text))
			fail_msg("%s: %s: %s", rows[i].body, script_result_name(result), error);
	}
	assert_int_equal(host.keeps, 0);
	assert_int_equal(host.vm->waiting, 0);
	test_host_stop(&host);
}

static void a_cancelled_handler_leaves_nothing(void **unused)
{
	struct test_host host;
	uint32_t used = 0;

	(void)unused;
	test_host_start(&host, 4 << 20);
	host.asks_wait = true;
	test_host_load_ok(&host, "npc { name = 'a', x = 1, y = 1, on_click = function(npc, player) "
				 "player:add_gold(5) npc:ask(player, ('x'):rep(400), { 'b' }) "
				 "npc:say(player, 'on') end }");
	for (uint32_t i = 0; i < 3000; i++) {
		assert_int_equal(script_vm_click(host.vm, 0, TEST_PLAYER), SCRIPT_WAITING);
		script_vm_cancel(host.vm, host.job);
		script_vm_cancel(host.vm, host.job);
		assert_int_equal(resume(&host, 1, 0), SCRIPT_NO_HANDLER);
		if (i == 1000) {
			lua_gc(host.vm->state, LUA_GCCOLLECT);
			used = host.vm->arena.used_bytes;
		}
	}
	lua_gc(host.vm->state, LUA_GCCOLLECT);
	assert_true(host.vm->arena.used_bytes < used + 4096);
	assert_int_equal(host.says, 0);
	assert_int_equal(host.keeps, 0);
	assert_int_equal(host.vm->waiting, 0);
	test_host_stop(&host);
}

static void those_that_wait_are_bounded(void **unused)
{
	struct test_host host;
	uint32_t first = 0;

	(void)unused;
	test_host_start(&host, 8 << 20);
	host.asks_wait = true;
	test_host_load_ok(&host,
		"npc { name = 'a', x = 1, y = 1, on_click = function(npc, player) "
		"if npc:ask(player, '?', { 'b' }) == 1 then error('one') end end }");
	for (uint32_t i = 0; i < SCRIPT_JOBS_MAX; i++) {
		assert_int_equal(script_vm_click(host.vm, 0, TEST_PLAYER), SCRIPT_WAITING);
		if (!i)
			first = host.job;
	}
	assert_int_equal(host.vm->waiting, SCRIPT_JOBS_MAX);
	assert_int_equal(script_vm_click(host.vm, 0, TEST_PLAYER), SCRIPT_NO_ROOM);
	host.job = first;
	assert_int_equal(resume(&host, 0, 0), SCRIPT_OK);
	assert_int_equal(script_vm_click(host.vm, 0, TEST_PLAYER), SCRIPT_WAITING);
	assert_int_equal(resume(&host, 1, 0), SCRIPT_ERROR);
	assert_non_null(strstr(test_host_error(&host), "test.lua:1: one"));
	assert_int_equal(host.vm->waiting, SCRIPT_JOBS_MAX - 1);
	test_host_stop(&host);
}

/* A hook that ends a handler leaves its Lua thread without hooks: it must not be used again. */
static void the_next_one_is_ended_as_well(void **unused)
{
	struct test_host host;

	(void)unused;
	test_host_start(&host, 4 << 20);
	host.asks_wait = true;
	for (int i = 0; i < 3; i++) {
		assert_int_equal(click(&host, "while true do end"), SCRIPT_OVER_TIME);
		assert_int_equal(click(&host, "npc:ask(player, '?', { 'b' }) while true do end"),
			SCRIPT_WAITING);
		assert_int_equal(resume(&host, 1, 0), SCRIPT_OVER_TIME);
		/* What is too deep or too large is so on a slow machine, too. */
		host.vm->config.limit_us[SCRIPT_CONTEXT_NPC_CLICK] = 10000000;
		assert_int_equal(click(&host, "npc:ask(player, '?', { 'b' }) "
					      "local function f() return 1 + f() end f()"),
			SCRIPT_WAITING);
		assert_int_equal(resume(&host, 1, 0), SCRIPT_TOO_DEEP);
		assert_int_equal(
			click(&host,
				"npc:ask(player, '?', { 'b' }) "
				"local t = {} while true do t[#t + 1] = ('x'):rep(1000) .. #t end"),
			SCRIPT_WAITING);
		assert_int_equal(resume(&host, 1, 0), SCRIPT_OVER_MEMORY);
		host.vm->config.limit_us[SCRIPT_CONTEXT_NPC_CLICK] = 2000;
		lua_gc(host.vm->state, LUA_GCCOLLECT);
	}
	test_host_stop(&host);
}

int main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test(questions),
		cmocka_unit_test(all_durable_calls_are_one),
		cmocka_unit_test(numbers),
		cmocka_unit_test(reading),
		cmocka_unit_test(wrong_uses_end_the_handler),
		cmocka_unit_test(a_cancelled_handler_leaves_nothing),
		cmocka_unit_test(those_that_wait_are_bounded),
		cmocka_unit_test(the_next_one_is_ended_as_well),
	};

	return cmocka_run_group_tests(tests, NULL, NULL);
}
