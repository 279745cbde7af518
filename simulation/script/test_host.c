#include "simulation/script/test_host.h"

#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <string.h>
#include <cmocka.h>

static bool host_actor(void *ctx, uint64_t actor, struct script_actor *out)
{
	struct test_host *host = ctx;
	const struct script_npc *npc;

	memset(out, 0, sizeof(*out));
	if (actor == TEST_PLAYER) {
		strcpy(out->name, "Ada");
		out->x_mm = 3000;
		out->y_mm = 4500;
		out->kind = SCRIPT_ACTOR_PLAYER;
		out->detailed = true;
		out->level = 3;
		out->gold = 40;
		return true;
	}
	if (actor == 0 || actor > script_vm_npc_count(host->vm))
		return false;
	npc = script_vm_npc(host->vm, (uint32_t)actor - 1);
	memcpy(out->name, npc->name, sizeof(out->name));
	out->x_mm = npc->x_mm;
	out->y_mm = npc->y_mm;
	out->kind = SCRIPT_ACTOR_NPC;
	return true;
}

static bool host_say(void *ctx, uint64_t npc, uint64_t player, const char *text, uint32_t bytes)
{
	struct test_host *host = ctx;

	(void)npc;
	memcpy(host->said, text, bytes);
	host->said[bytes] = '\0';
	host->says++;
	return player == TEST_PLAYER;
}

static void host_move(void *ctx, uint64_t npc, int8_t dx, int8_t dy)
{
	struct test_host *host = ctx;

	(void)npc;
	host->dx = dx;
	host->dy = dy;
	host->moves++;
}

static uint64_t host_random(void *ctx)
{
	struct test_host *host = ctx;

	host->random = host->random * 6364136223846793005u + 1442695040888963407u;
	return host->random ^ host->random >> 29;
}

static uint32_t host_tick(void *ctx)
{
	return ((struct test_host *)ctx)->tick;
}

static bool host_place(void *ctx, const char *tag, int32_t *x_mm, int32_t *y_mm)
{
	(void)ctx;
	*x_mm = 7000;
	*y_mm = 8500;
	return strcmp(tag, "wall") != 0; /* everywhere but there */
}

static bool host_send(
	void *ctx, uint64_t player, const char *map, bool has_position, int32_t x_mm, int32_t y_mm)
{
	struct test_host *host = ctx;

	snprintf(host->sent, sizeof(host->sent), "%s %d %d %d", map, has_position, x_mm, y_mm);
	return player == TEST_PLAYER;
}

static uint32_t host_item(void *ctx, const char *name)
{
	(void)ctx;
	/* and those of the content that is delivered */
	return strcmp(name, "gel") == 0 ? 7
	       : strcmp(name, "bread") == 0 || strcmp(name, "leather cap") == 0 ||
			       strcmp(name, "boar hide") == 0
		       ? 8
		       : 0;
}

static uint32_t host_count_item(void *ctx, uint64_t player, uint32_t item)
{
	(void)ctx;
	return player == TEST_PLAYER && item == 7 ? 12 : 0;
}

static uint32_t host_party(void *ctx, uint64_t player, const char *names[SCRIPT_PARTY_MAX])
{
	(void)ctx;
	names[0] = "Ada";
	names[1] = "Bo";
	return player == TEST_PLAYER ? 2 : 0;
}

static uint32_t host_quest(void *ctx, const char *name)
{
	(void)ctx;
	return strcmp(name, "wolves") == 0   ? 0
	       : strcmp(name, "letter") == 0 ? 1
	       : strcmp(name, "round") == 0  ? 2
					     : UINT32_MAX;
}

static void host_quest_look(void *ctx, uint64_t player, uint32_t quest, struct script_quest *out)
{
	(void)player;
	(void)quest;
	*out = ((struct test_host *)ctx)->quest;
}

static enum script_kept host_keep(void *ctx, uint64_t npc, uint64_t player,
	const struct script_change *changes, uint32_t count, uint32_t job)
{
	struct test_host *host = ctx;

	assert_true(npc && player == TEST_PLAYER && count && count <= SCRIPT_CHANGES_MAX);
	memcpy(host->change, changes, count * sizeof(*changes));
	host->changes = count;
	host->keeps++;
	host->job = job;
	return host->kept;
}

static bool host_ask(void *ctx, uint64_t npc, uint64_t player,
	const struct script_question *question, uint32_t job)
{
	struct test_host *host = ctx;

	(void)npc;
	snprintf(host->said, sizeof(host->said), "%.*s", (int)question->text_bytes, question->text);
	host->choices = question->choices;
	snprintf(host->choice, sizeof(host->choice), "%s",
		question->choice[question->choices - 1].text);
	host->asks++;
	host->job = job;
	return host->asks_wait && player == TEST_PLAYER;
}

static const struct script_ops ops = {host_actor, host_say, host_move, host_random, host_tick,
	host_place, host_send, host_item, host_count_item, host_quest, host_quest_look, host_keep,
	host_ask, host_party};

/* A test that failed could not stop its own: the next one does. */
static struct test_host leftover;

void test_host_start(struct test_host *host, uint32_t memory_bytes)
{
	if (leftover.vm)
		test_host_stop(&leftover);
	memset(host, 0, sizeof(*host));
	script_config_defaults(&host->config);
	strcpy(host->config.map, "test");
	host->config.memory_bytes = memory_bytes;
	/* Handlers run to their end, but for the tests that lower it. */
	host->config.slice_us = UINT32_MAX;
	host->config.limit_us[SCRIPT_CONTEXT_NPC_CLICK] = 2000;
	host->config.limit_us[SCRIPT_CONTEXT_NPC_TICK] = 2000;
	assert_int_equal(script_watchdog_start(&host->config.watchdog, 1000), 0);
	assert_int_equal(script_vm_new(&host->vm, &host->config, &ops, host), 0);
	leftover = *host;
}

void test_host_stop(struct test_host *host)
{
	script_vm_free(host->vm);
	script_watchdog_stop(host->config.watchdog);
	leftover.vm = NULL;
}

enum script_result test_host_load(struct test_host *host, const char *source)
{
	uint32_t first = script_vm_npc_count(host->vm);
	enum script_result result = script_vm_load(
		host->vm, "test.lua", source, strlen(source), host->error, sizeof(host->error));

	for (uint32_t i = first; i < script_vm_npc_count(host->vm); i++)
		script_vm_bind(host->vm, i, i + 1);
	return result;
}

void test_host_load_ok(struct test_host *host, const char *source)
{
	if (test_host_load(host, source) != SCRIPT_OK)
		fail_msg("%s\nin: %s", host->error, source);
}

uint32_t test_host_npc(struct test_host *host, const char *name)
{
	for (uint32_t i = script_vm_npc_count(host->vm); i-- > 0;)
		if (strcmp(script_vm_npc(host->vm, i)->name, name) == 0)
			return i;
	fail_msg("no NPC %s", name);
	return 0;
}

const char *test_host_error(struct test_host *host)
{
	static struct script_text text;

	while (script_vm_text_pop(host->vm, &text))
		if (text.kind == SCRIPT_TEXT_ERROR)
			return text.text;
	return "";
}
