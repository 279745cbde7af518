/* Proves that a handler which takes longer than a slice is suspended, and goes on where it stood with
 * all its variables; that its slices together are bounded by its context's limit; that where Lua cannot
 * be suspended it is ended; that what waits for an answer and what waits for its slice are not taken
 * for one another; that memory which it may take is not given anew with each slice. And that who fails again and again is
 * barred, and what an error tells. */
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdio.h>
#include <string.h>
#include <cmocka.h>

#include "simulation/script/test_host.h"

#define SLICE_US 1000u

static void start(struct test_host *host, const char *body, uint32_t limit_us)
{
	char source[1024];

	test_host_start(host, 4 << 20);
	host->vm->config.slice_us = SLICE_US;
	host->vm->config.limit_us[SCRIPT_CONTEXT_NPC_CLICK] = limit_us;
	host->vm->config.limit_us[SCRIPT_CONTEXT_NPC_TICK] = limit_us;
	snprintf(source, sizeof(source),
		"npc { name = 'a', x = 1, y = 1, on_click = function(npc, player) %s end,\n"
		"  on_tick = function(npc) %s end }\n"
		"npc { name = 'b', x = 1, y = 1, on_tick = function(npc) npc.n = (npc.n or 0) + 1 end }",
		body, body);
	test_host_load_ok(host, source);
}

/* Until it has ended. Returns its slices. */
static uint32_t finish(struct test_host *host, enum script_result result, enum script_result *end)
{
	struct script_gone_on gone;
	uint32_t slices = 1;

	while (result == SCRIPT_SUSPENDED) {
		assert_true(script_vm_go_on(host->vm, &gone, &result));
		assert_int_equal(gone.npc_index, 0);
		slices++;
	}
	*end = result;
	return slices;
}

static void goes_on_where_it_stood(void **unused)
{
	struct test_host host;
	enum script_result result;

	(void)unused;
	/* As much work as several slices hold on any machine: it looks at no clock. */
	start(&host,
		"local sum, text = 0, ('x'):rep(3) for i = 1, 10000000 do sum = sum + i % 7 end "
		"npc:say(player, sum .. text)",
		1000000000);
	result = script_vm_click(host.vm, 0, TEST_PLAYER);
	assert_int_equal(result, SCRIPT_SUSPENDED);
	assert_int_equal(script_vm_click(host.vm, 1, TEST_PLAYER), SCRIPT_NO_HANDLER);
	assert_int_equal(script_vm_tick(host.vm, 1), SCRIPT_OK); /* others run meanwhile */
	assert_true(finish(&host, result, &result) >= 3);
	assert_int_equal(result, SCRIPT_OK);
	assert_string_equal(host.said, "29999997xxx");
	assert_false(script_vm_go_on(host.vm, &(struct script_gone_on){0}, &result));
	test_host_stop(&host);
}

static void slices_are_limited(void **unused)
{
	struct test_host host;
	enum script_result result;
	uint32_t slices;

	(void)unused;
	start(&host, "while true do end", 4 * SLICE_US);
	slices = finish(&host, script_vm_click(host.vm, 0, TEST_PLAYER), &result);
	assert_int_equal(result, SCRIPT_OVER_TIME);
	assert_int_equal(slices, 4);
	assert_non_null(strstr(test_host_error(&host), "test.lua:1: out of time (npc_click: 4000 us"));
	/* A tick that is suspended is not called anew, but goes on, when its NPC is to tick next. */
	for (uint32_t i = 0; i < 8; i++) {
		assert_int_equal(script_vm_tick(host.vm, 0),
			i % 4 == 3 ? SCRIPT_OVER_TIME : SCRIPT_SUSPENDED);
		assert_int_equal(script_vm_tick(host.vm, 1), SCRIPT_OK);
		assert_false(script_vm_go_on(host.vm, &(struct script_gone_on){0}, &result));
	}
	test_host_stop(&host);
}

static void cancelled_in_any_order(void **unused)
{
	struct script_gone_on gone;
	struct test_host host;
	enum script_result result;
	uint32_t job[4];

	(void)unused;
	start(&host, "while true do end", 1000 * SLICE_US);
	for (uint32_t round = 0; round < 4; round++) {
		for (uint32_t i = 0; i < 4; i++) {
			assert_int_equal(
				script_vm_click(host.vm, 0, TEST_PLAYER), SCRIPT_SUSPENDED);
			job[i] = script_vm_job(host.vm);
		}
		/* each goes on in turn */
		for (uint32_t i = 0; i < 4; i++) {
			assert_true(script_vm_go_on(host.vm, &gone, &result));
			assert_int_equal(gone.job, job[i]);
			assert_int_equal(result, SCRIPT_SUSPENDED);
		}
		script_vm_cancel(host.vm, job[round]);
		script_vm_cancel(host.vm, job[(round + 2) % 4]);
		script_vm_cancel(host.vm, job[round]);
		assert_true(script_vm_go_on(host.vm, &gone, &result));
		assert_int_equal(gone.job, job[(round + 1) % 2]);
		script_vm_cancel(host.vm, job[(round + 1) % 4]);
		script_vm_cancel(host.vm, job[(round + 3) % 4]);
		assert_false(script_vm_go_on(host.vm, &gone, &result));
	}
	test_host_stop(&host);
}

static void what_cannot_be_suspended_is_ended(void **unused)
{
	static const char *const bodies[] = {
		"table.sort({ 3, 1, 2 }, function() while true do end end)",
		"('x'):gsub('x', function() while true do end end)"};
	struct test_host host;
	enum script_result result;

	(void)unused;
	for (size_t i = 0; i < 2; i++) {
		start(&host, bodies[i], 1000 * SLICE_US);
		assert_int_equal(finish(&host, script_vm_click(host.vm, 0, TEST_PLAYER), &result), 1);
		assert_int_equal(result, SCRIPT_OVER_TIME);
		test_host_stop(&host);
	}
}

static void questions_in_between(void **unused)
{
	struct script_answer answer = {.choice = 2};
	struct test_host host;
	enum script_result result;
	uint32_t job;

	(void)unused;
	start(&host,
		"for i = 1, 10000000 do end local n = npc:ask(player, 'Well?', { 'a', 'b' }) "
		"for i = 1, 10000000 do end npc:say(player, tostring(n))",
		1000000000);
	host.asks_wait = true;
	(void)finish(&host, script_vm_click(host.vm, 0, TEST_PLAYER), &result);
	assert_int_equal(result, SCRIPT_WAITING);
	job = host.job;
	assert_false(script_vm_go_on(host.vm, &(struct script_gone_on){0}, &result));
	result = script_vm_resume(host.vm, job, &answer);
	assert_int_equal(result, SCRIPT_SUSPENDED);
	/* It does not wait: an answer that comes twice is none. */
	assert_int_equal(script_vm_resume(host.vm, job, &answer), SCRIPT_NO_HANDLER);
	(void)finish(&host, result, &result);
	assert_int_equal(result, SCRIPT_OK);
	assert_string_equal(host.said, "2");
	test_host_stop(&host);
}

static void memory_is_not_given_anew(void **unused)
{
	struct test_host host;
	enum script_result result;
	uint32_t peak;

	(void)unused;
	/* 3 MiB are in use, which is the soft limit; the handler takes 1 KiB a millisecond or so. */
	start(&host,
		"local t = {} while true do t[#t + 1] = ('x'):rep(1000) .. #t for i = 1, 30000 do end end",
		1000000000);
	test_host_load_ok(&host, "hold = {} for i = 1, 26 do hold[i] = ('x'):rep(100000) .. i end");
	(void)finish(&host, script_vm_click(host.vm, 0, TEST_PLAYER), &result);
	assert_int_equal(result, SCRIPT_OVER_MEMORY);
	peak = host.vm->arena.peak_bytes;
	if (peak > (4 << 20) - (256 << 10))
		fail_msg("%u bytes at the peak", peak);
	test_host_stop(&host);
}

/* What handlers run for is added up, and tells when a tick's budget is spent. */
static void budget(void **unused)
{
	struct script_handler_view view;
	struct test_host host;
	uint32_t calls = 0;

	(void)unused;
	start(&host, "for i = 1, 10000 do end", 1000000000);
	assert_false(script_vm_spent(host.vm) && host.vm->round);
	script_vm_budget(host.vm, 3000);
	assert_false(script_vm_spent(host.vm));
	while (!script_vm_spent(host.vm)) { /* a run of some 50 us: no single one is overdue */
		(void)script_vm_tick(host.vm, 0);
		calls++;
	}
	assert_true(calls > 0);
	script_vm_handler(host.vm, 0, SCRIPT_CONTEXT_NPC_TICK, &view);
	assert_true(view.ran_us >= 2000);
	assert_int_equal(view.failed, 0);
	script_vm_budget(host.vm, 1000000000);
	assert_false(script_vm_spent(host.vm));
	test_host_stop(&host);
}

struct seen {
	uint32_t count;
	bool barred;
	char of[SCRIPT_NAME_BYTES], handler[32];
};

static void see(void *ctx, const char *of, const char *handler, enum script_context context,
	const struct script_handler_view *view)
{
	struct seen *seen = ctx;

	(void)context;
	seen->count++;
	if (!view->barred)
		return;
	seen->barred = true;
	snprintf(seen->of, sizeof(seen->of), "%s", of);
	snprintf(seen->handler, sizeof(seen->handler), "%s", handler);
}

/* Who fails again and again is not called any more, and shown, until it is released; who fails now and
 * then is. */
static void repeated_failures(void **unused)
{
	struct seen seen = {0};
	struct test_host host;
	uint32_t calls = 0;

	(void)unused;
	test_host_start(&host, 4 << 20);
	host.vm->config.strikes_max = 40;
	test_host_load_ok(&host,
		"local n = 0 npc { name = 'bad', x = 1, y = 1, on_click = function() end,\n"
		"  on_tick = function() error('again') end }\n"
		"npc { name = 'endless', x = 1, y = 1, on_tick = function() while true do end end }\n"
		"npc { name = 'seldom', x = 1, y = 1, on_tick = function() n = n + 1\n"
		"  if n % 4 == 0 then error('now and then') end end }");
	while (script_vm_tick(host.vm, 0) == SCRIPT_ERROR)
		calls++;
	assert_int_equal(calls, 20);
	assert_int_equal(script_vm_tick(host.vm, 0), SCRIPT_BARRED);
	assert_int_equal(script_vm_click(host.vm, 0, TEST_PLAYER), SCRIPT_OK); /* its other one */
	for (uint32_t i = 0; i < 5; i++)
		assert_int_equal(script_vm_tick(host.vm, 1), SCRIPT_OVER_TIME);
	assert_int_equal(script_vm_tick(host.vm, 1), SCRIPT_BARRED);
	for (uint32_t i = 0; i < 400; i++)
		assert_int_not_equal(script_vm_tick(host.vm, 2), SCRIPT_BARRED);
	assert_int_equal(counter_get(&host.vm->values[SCRIPT_COUNT_BARRED]), 2);
	assert_int_equal(script_vm_release(host.vm, "endless"), 1);
	script_vm_each_handler(host.vm, see, &seen);
	assert_int_equal(seen.count, 4);
	assert_string_equal(seen.of, "bad");
	assert_string_equal(seen.handler, "on_tick");
	assert_int_equal(script_vm_tick(host.vm, 1), SCRIPT_OVER_TIME);
	assert_int_equal(script_vm_release(host.vm, ""), 1);
	assert_int_equal(script_vm_tick(host.vm, 0), SCRIPT_ERROR);
	assert_int_equal(counter_get(&host.vm->values[SCRIPT_COUNT_BARRED]), 0);
	test_host_stop(&host);
}

/* An error tells what the function where it happened had, and what the handler did; whatever that is. */
static void errors_with_locals(void **unused)
{
	const char *error;
	struct test_host host;

	(void)unused;
	test_host_start(&host, 4 << 20);
	test_host_load_ok(&host,
		"local function price(each, count)\n  local t, long = {}, ('x'):rep(50)\n"
		"  return each * count + t\nend\n"
		"npc { name = 'a', x = 1, y = 1, on_click = function(npc, player)\n"
		"  local wide, on, none, f = 0.5, true, nil, price\n"
		"  local evil = 'a\\nb\\27[2J' price(7, '3') end }");
	assert_int_equal(script_vm_click(host.vm, 0, TEST_PLAYER), SCRIPT_ERROR);
	error = test_host_error(&host);
	if (!strstr(error, "with each = 7, count = '3', t = a table, long = 'xxxxxxxxxxxxxxxxxxxxxxxxxxxxx") ||
		!strstr(error, "with npc = an actor, player = an actor, wide = 0.5, on = true, "
			       "none = nil, f = a function, evil = 'a\nb?[2J'"))
		fail_msg("%s", error);
	test_host_stop(&host);
}

int main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test(goes_on_where_it_stood),
		cmocka_unit_test(slices_are_limited),
		cmocka_unit_test(cancelled_in_any_order),
		cmocka_unit_test(what_cannot_be_suspended_is_ended),
		cmocka_unit_test(questions_in_between),
		cmocka_unit_test(memory_is_not_given_anew),
		cmocka_unit_test(budget),
		cmocka_unit_test(repeated_failures),
		cmocka_unit_test(errors_with_locals),
	};

	return cmocka_run_group_tests(tests, NULL, NULL);
}
