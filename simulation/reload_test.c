/* Proves hot reload on a shard under load, with a builder thread beside it: a good version comes in at a
 * tick's beginning on all instances, warm ones included; NPCs that are declared alike stay, others go
 * and come; a dialogue ends in the version in which it began, or with the next version; one that does
 * not load, stands in a wall or has too many NPCs is refused with file and line while the old one runs
 * on; one that fails, and one that is slow, give way to the one before by themselves. */
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <pthread.h>
#include <stdint.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

#include <cmocka.h>

#include "simulation/counters.h"
#include "simulation/instance.h"
#include "simulation/reload.h"
#include "simulation/state.h"
#include "simulation/testing.h"

#define CROWD 40u

static char folder[64];

static const char one[] =
	"npc { name = 'Tom', x = 100, y = 100, on_click = function(npc, player)\n"
	"  npc:say(player, 'one ' .. player.name) end }\n"
	"npc { name = 'Asker', x = 101, y = 100, on_click = function(npc, player)\n"
	"  local c = npc:ask(player, 'one?', { 'a', 'b' }) npc:say(player, 'one hears ' .. tostring(c)) end }\n"
	"npc { name = 'Gone', x = 99, y = 100 }\n"
	"npc { name = 'Keeper', x = 100, y = 103, storage = { version = 1, fields = { n = 0 } },\n"
	"  on_click = function(npc, player) npc.storage.n = npc.storage.n + 1\n"
	"    npc:say(player, 'one counts ' .. npc.storage.n) end }\n"
	"local n = 0 npc { name = 'Walker', x = 110, y = 100, on_tick = function(npc)\n"
	"  n = n + 1 if n <= 20 then npc:walk(1, 0) end end }\n";
static const char two[] =
	"npc { name = 'New', x = 100, y = 99, on_click = function(npc, player)\n"
	"  npc:say(player, 'I am new') end }\n"
	"local n = 0 npc { name = 'Walker', x = 110, y = 100, on_tick = function(npc)\n"
	"  n = n + 1 if n <= 40 then npc:walk(0, 1) end end }\n"
	"npc { name = 'Asker', x = 101, y = 100, on_click = function(npc, player)\n"
	"  local c = npc:ask(player, 'two?', { 'a', 'b' }) npc:say(player, 'two hears ' .. tostring(c)) end }\n"
	"npc { name = 'Keeper', x = 100, y = 103, storage = { version = 2, fields = { count = 0 },\n"
	"  upgrade = function(old, version) return { count = old.n * 10 + version } end },\n"
	"  on_click = function(npc, player) npc:say(player, 'two counts ' .. npc.storage.count) end }\n"
	"npc { name = 'Tom', x = 100, y = 100, on_click = function(npc, player)\n"
	"  npc:say(player, 'two ' .. player.name) end }\n";

struct rig {
	struct test_shard t;
	struct sim_instances *table;
	struct script_watchdog *watchdog;
	/* The builder's thread. */
	pthread_t builder;
	_Atomic bool built;
	int rc;
	char error[1024];
};

static const bool all[CONFIG_MAPS_MAX] = {true};

static void write_script(const char *text)
{
	test_write(folder, "npcs.lua", text);
}

static void start(struct rig *r)
{
	char error[512];

	memset(r, 0, sizeof(*r));
	test_init(&r->t, 200, CROWD + 10);
	strcpy(r->t.config.simulation.content, folder);
	strcpy(r->t.config.maps[0].script, "npcs.lua");
	r->t.config.maps[0].instances_max = 3;
	r->t.config.simulation.script_failures = 10;
	write_script(one);
	assert_int_equal(script_watchdog_start(&r->watchdog, SCRIPT_WATCHDOG_PERIOD_US), 0);
	r->t.links.watchdog = r->watchdog;
	r->table = sim_instances_new(&r->t.config, r->watchdog, 1, error, sizeof(error));
	assert_non_null(r->table);
	r->t.links.instances = r->table;
	test_start(&r->t, 1);
	test_open_instance(&r->t, instance_id(0, 1));
	test_open_instance(&r->t, instance_id(1, 1));
	test_run(&r->t, 100);
	for (uint32_t i = 0; i < CROWD; i++) {
		struct msg_player_join as = {.has_position = 1,
			.x_mm = 100000,
			.y_mm = 101000,
			.instance = instance_id(i % 2, 1)};

		test_join_as(&r->t, i, &as);
	}
	test_run(&r->t, 500);
}

static void end(struct rig *r)
{
	for (uint32_t i = 0; i < CROWD; i++) {
		assert_int_equal(r->t.clients[i].wrong, 0);
		assert_int_equal(r->t.clients[i].gaps, 0);
	}
	test_end(&r->t);
	sim_instances_free(r->table);
	script_watchdog_stop(r->watchdog);
}

/* The NPC of that name in the client's instance; its actor id, 0: it is not there. */
static uint32_t npc_id(struct rig *r, uint32_t client, const char *name)
{
	struct sim_map *m = r->t.shard->maps[client % 2];

	for (uint32_t i = 0; i < m->npc_slots; i++)
		if (m->entities[m->player_slots + i].cell != SIM_NONE &&
			!strcmp(m->npcs[i].name, name))
			return m->entities[m->player_slots + i].wire_id;
	return 0;
}

/* A tick with everybody at it. */
static void tick(struct rig *r)
{
	uint32_t beat = r->t.shard->maps[0]->beat;

	for (uint32_t i = 6; i < CROWD; i++) { /* the first stand still */
		test_input(&r->t, i, beat, 1, beat / 8 % 2 ? 50 : -50, beat / 8 % 2 ? 20 : -20);
		if ((beat + i) % 10 == 0)
			test_click(&r->t, i, npc_id(r, i, "Tom"));
	}
	test_run(&r->t, 50);
}

static void order(struct rig *r, enum msg_script_act act, uint32_t version)
{
	uint32_t before = r->t.scripts[act];

	for (uint32_t i = 0; i < 2; i++) {
		const struct msg_script body = {
			.instance = instance_id(i, 1), .act = act, .version = version};
		struct msg_buffer message;

		memcpy(msg_begin(message.slot, MSG_SCRIPT_ORDER, HANDLE_NONE, sizeof(body)), &body,
			sizeof(body));
		assert_true(msg_ring_push(r->t.links.from_control, message.slot));
	}
	for (uint32_t i = 0; i < 20 && r->t.scripts[act] < before + 2; i++)
		tick(r);
	assert_int_equal(r->t.scripts[act], before + 2);
}

static void *prepare(void *context)
{
	struct rig *r = context;

	r->rc = sim_scripts_prepare(r->table, all, r->error, sizeof(r->error));
	atomic_store(&r->built, true);
	return NULL;
}

/* As control does it. The shard goes on meanwhile. */
static int prepare_beside(struct rig *r, const char *text)
{
	write_script(text);
	order(r, MSG_SCRIPT_CLEAR, 0);
	atomic_store(&r->built, false);
	assert_int_equal(pthread_create(&r->builder, NULL, prepare, r), 0);
	/* Ticks are not waited for here: a minute of them, after which a question is over, is soon gone. */
	for (uint32_t n = 0; n < 300 && !atomic_load(&r->built); n++)
		tick(r);
	pthread_join(r->builder, NULL);
	return r->rc;
}

static uint32_t version_of(struct rig *r)
{
	struct sim_script_view view;

	sim_scripts_view(r->table, 0, &view);
	return view.version;
}

static void expect_said(struct rig *r, uint32_t client, const char *npc, const char *text)
{
	uint32_t before = r->t.clients[client].dialogues;

	test_click(&r->t, client, npc_id(r, client, npc));
	tick(r);
	assert_int_equal(r->t.clients[client].dialogues, before + 1);
	assert_string_equal(r->t.clients[client].dialogue, text);
}

static void good_version(void **state)
{
	struct rig r;
	struct test_client *c;
	uint32_t tom, walker;

	(void)state;
	start(&r);
	c = r.t.clients;
	expect_said(&r, 0, "Tom", "one Ann");
	expect_said(&r, 2, "Keeper", "one counts 1");
	expect_said(&r, 4, "Keeper", "one counts 2");
	test_click(&r.t, 0, npc_id(&r, 0, "Asker"));
	test_click(&r.t, 1, npc_id(&r, 1, "Asker"));
	tick(&r);
	assert_string_equal(c[0].dialogue, "one?");
	tom = npc_id(&r, 0, "Tom");
	walker = npc_id(&r, 0, "Walker");
	assert_true(c[0].knows[npc_id(&r, 0, "Gone")]);

	assert_int_equal(prepare_beside(&r, two), 0);
	assert_int_equal(version_of(&r), 1);
	order(&r, MSG_SCRIPT_SWAP, 2);
	assert_int_equal(r.t.scripts_bad, 0);
	assert_int_equal(r.t.script.version, 2);
	sim_scripts_commit(r.table, all);
	assert_int_equal(version_of(&r), 2);
	for (uint32_t i = 0; i < 30; i++)
		tick(&r);
	/* Who is declared alike stays, and walks on from where it was; others come and go. */
	assert_int_equal(npc_id(&r, 0, "Tom"), tom);
	assert_int_equal(npc_id(&r, 0, "Walker"), walker);
	for (uint32_t i = 0; i < 20; i++)
		tick(&r);
	assert_int_equal(c[0].seen_x_mm[walker], 114000);
	assert_int_equal(c[0].seen_y_mm[walker], 108000);
	assert_int_equal(npc_id(&r, 0, "Gone"), 0);
	assert_true(c[0].knows[npc_id(&r, 0, "New")]);
	expect_said(&r, 2, "Tom", "two Ann");
	expect_said(&r, 3, "New", "I am new");
	expect_said(&r, 2, "Keeper", "two counts 21");
	/* The dialogue goes on in the version in which it began. */
	test_answer(&r.t, 0, 2);
	tick(&r);
	assert_string_equal(c[0].dialogue, "one hears 2");
	/* One more version, and what still runs on the first ends. */
	test_click(&r.t, 0, npc_id(&r, 0, "Asker"));
	tick(&r);
	assert_string_equal(c[0].dialogue, "two?");
	assert_int_equal(prepare_beside(&r, one), 0);
	c[1].refused_reason = 0;
	test_answer(&r.t, 1, 1);
	tick(&r);
	assert_int_equal(c[1].refused_reason, SW__ACTION_REFUSAL__NO_QUESTION);
	order(&r, MSG_SCRIPT_SWAP, 3);
	sim_scripts_commit(r.table, all);
	test_answer(&r.t, 0, 1);
	tick(&r);
	assert_string_equal(c[0].dialogue, "two hears 1");
	/* Back, as an operator may order: at once. */
	order(&r, MSG_SCRIPT_BACK, 2);
	assert_int_equal(r.t.script.version, 2);
	assert_int_equal(sim_scripts_revert(r.table, all, r.error, sizeof(r.error)), 0);
	assert_int_equal(version_of(&r), 2);
	for (uint32_t i = 0; i < 30; i++)
		tick(&r);
	expect_said(&r, 2, "Tom", "two Ann");
	expect_said(&r, 3, "New", "I am new");
	end(&r);
}

/* An instance that is ready when a version comes takes it when it opens, and so does one that is built
 * between the two steps. */
static void warm_instances(void **state)
{
	struct msg_instance body = {instance_id(2, 1), INSTANCE_OPEN};
	const struct msg_script clear = {.instance = body.id, .act = MSG_SCRIPT_CLEAR};
	uint32_t cleared;
	struct msg_buffer next;
	struct msg message;
	struct rig r;

	(void)state;
	for (uint32_t between = 0; between < 2; between++) {
		start(&r);
		if (!between)
			assert_int_equal(sim_instance_build(r.table, body.id, r.error, sizeof(r.error)), 0);
		assert_int_equal(prepare_beside(&r, two), 0);
		if (between)
			assert_int_equal(sim_instance_build(r.table, body.id, r.error, sizeof(r.error)), 0);
		order(&r, MSG_SCRIPT_SWAP, 2);
		sim_scripts_commit(r.table, all);
		memcpy(msg_begin(&message, MSG_INSTANCE_OPEN, HANDLE_NONE, sizeof(body)), &body,
			sizeof(body));
		assert_true(msg_ring_push(r.t.links.from_control, &message));
		/* The next reload begins before its first tick. */
		memcpy(msg_begin(next.slot, MSG_SCRIPT_ORDER, HANDLE_NONE, sizeof(clear)), &clear,
			sizeof(clear));
		assert_true(msg_ring_push(r.t.links.from_control, next.slot));
		cleared = r.t.scripts[MSG_SCRIPT_CLEAR];
		for (uint32_t i = 0; i < 5; i++)
			tick(&r);
		assert_int_equal(r.t.scripts[MSG_SCRIPT_CLEAR], cleared + 1);
		assert_int_equal(r.t.shard->map_count, 3);
		assert_int_equal(script_vm_version(r.t.shard->maps[2]->script), 2);
		end(&r);
	}
}

static void refused_versions(void **state)
{
	static const struct {
		const char *text, *want;
	} table[] = {
		{"npc { name = 'Tom', x = 1\n y = 1 }", "npcs.lua:2: '}' expected"},
		{"npc { name = 'Far', x = 900, y = 1 }", "Far stands outside"},
		{"error('no')", "npcs.lua:1: no"},
		{"for i = 1, 100 do npc { name = 'Many', x = 1, y = 1 } end", "it declares 100 NPCs"},
	};
	struct rig r;

	(void)state;
	start(&r);
	for (size_t i = 0; i < sizeof(table) / sizeof(table[0]); i++) {
		assert_int_not_equal(prepare_beside(&r, table[i].text), 0);
		if (!strstr(r.error, table[i].want))
			fail_msg("row %zu: %s", i, r.error);
		order(&r, MSG_SCRIPT_SWAP, 2 + (uint32_t)i);
		assert_int_equal(r.t.script.good, 0);
		expect_said(&r, 0, "Tom", "one Ann");
	}
	order(&r, MSG_SCRIPT_BACK, 0);
	assert_string_equal(r.t.script.text, "there is no version before this one");
	assert_int_equal(version_of(&r), 1);
	end(&r);
}

/* What is stored cannot be taken over: the old version goes on, with what it had. */
static void refused_storage(void **state)
{
	static const char *const texts[] = {
		"npc { name = 'Keeper', x = 100, y = 103, storage = { version = 2, fields = { n = 0 },\n"
		"  upgrade = function(old) error('never') end } }",
		"npc { name = 'Keeper', x = 100, y = 103, storage = { version = 2, fields = { n = 0 },\n"
		"  upgrade = function(old) while true do end end } }"};
	struct rig r;

	(void)state;
	start(&r);
	expect_said(&r, 2, "Keeper", "one counts 1");
	for (uint32_t i = 0; i < 2; i++) {
		assert_int_equal(prepare_beside(&r, texts[i]), 0);
		order(&r, MSG_SCRIPT_SWAP, 2 + i);
		assert_int_equal(r.t.script.good, 0);
		assert_non_null(strstr(r.t.script.text, i ? "out of time" : "never"));
		assert_int_equal(r.t.script.version, 1);
		sim_scripts_discard(r.table, all);
	}
	expect_said(&r, 2, "Keeper", "one counts 2");
	end(&r);
}

/* A version is refused after the instances have let go of the one before the running one: an operator
 * can have that back nevertheless, on all of them. */
static void back_after_a_refusal(void **state)
{
	struct rig r;

	(void)state;
	start(&r);
	assert_int_equal(prepare_beside(&r, two), 0);
	order(&r, MSG_SCRIPT_SWAP, 2);
	sim_scripts_commit(r.table, all);
	assert_int_not_equal(prepare_beside(&r, "npc { name = 'Tom', x = 1\n y = 1 }"), 0);
	order(&r, MSG_SCRIPT_BACK, 1);
	assert_int_equal(sim_scripts_revert(r.table, all, r.error, sizeof(r.error)), 0);
	order(&r, MSG_SCRIPT_SWAP, 1);
	assert_int_equal(version_of(&r), 1);
	for (uint32_t i = 0; i < 2; i++)
		assert_int_equal(script_vm_version(r.t.shard->maps[i]->script), 1);
	for (uint32_t i = 0; i < 10; i++)
		tick(&r);
	expect_said(&r, 0, "Tom", "one Ann");
	expect_said(&r, 1, "Tom", "one Ann");
	end(&r);
}

/* They give way by themselves, on each instance for itself, and a dialogue of theirs may end. */
static void bad_versions(void **state)
{
	static const char *const texts[] = {
		"npc { name = 'Tom', x = 100, y = 100, on_tick = function() error('every time') end }",
		"npc { name = 'Tom', x = 100, y = 100, on_tick = function() while true do end end }",
		"npc { name = 'Tom', x = 100, y = 100, on_click = function(npc, player)\n"
		"  if player.alive then local x = nil + 1 end end }"};
	struct rig r;

	(void)state;
	start(&r);
	for (size_t i = 0; i < sizeof(texts) / sizeof(texts[0]); i++) {
		uint32_t returned = r.t.scripts[MSG_SCRIPT_RETURN], ticks = 0;

		assert_int_equal(prepare_beside(&r, texts[i]), 0);
		order(&r, MSG_SCRIPT_SWAP, 2 + (uint32_t)i);
		sim_scripts_commit(r.table, all);
		while (r.t.scripts[MSG_SCRIPT_RETURN] < returned + 2) {
			tick(&r);
			if (++ticks == SIM_RELOAD_WATCH_S * 20)
				fail_msg("version %zu still runs", i);
		}
		assert_int_equal(sim_scripts_revert(r.table, all, r.error, sizeof(r.error)), 0);
		assert_int_equal(version_of(&r), 1);
		for (uint32_t n = 0; n < 10; n++)
			tick(&r);
		expect_said(&r, 0, "Tom", "one Ann");
		expect_said(&r, 1, "Tom", "one Ann");
	}
	assert_int_equal(test_counter(&r.t, SIM_SCRIPT_RETURNS), 6);
	end(&r);
}

int main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test(good_version),
		cmocka_unit_test(warm_instances),
		cmocka_unit_test(refused_versions),
		cmocka_unit_test(refused_storage),
		cmocka_unit_test(back_after_a_refusal),
		cmocka_unit_test(bad_versions),
	};
	char path[128];
	int failed;

	snprintf(folder, sizeof(folder), "/tmp/sw-reload-XXXXXX");
	if (!mkdtemp(folder))
		return 1;
	failed = cmocka_run_group_tests_name("reload", tests, NULL, NULL);
	snprintf(path, sizeof(path), "%s/npcs.lua", folder);
	unlink(path);
	rmdir(folder);
	return failed;
}
