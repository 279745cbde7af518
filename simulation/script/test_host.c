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
	if (actor == TEST_MONSTER) {
		strcpy(out->name, "wolf");
		out->kind = SCRIPT_ACTOR_MONSTER;
		out->has_body = true;
		out->health = 30;
		out->health_max = 50;
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

	host->keeper = npc;
	assert_true(player == TEST_PLAYER && count && count <= SCRIPT_CHANGES_MAX);
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

static uint32_t host_shout(void *ctx, uint64_t actor, const char *text, uint32_t bytes)
{
	struct test_host *host = ctx;

	(void)actor;
	snprintf(host->shouted, sizeof(host->shouted), "%.*s", (int)bytes, text);
	return 2;
}

static bool host_announce(void *ctx, const char *text, uint32_t bytes)
{
	return host_shout(ctx, 0, text, bytes) > 0;
}

static uint32_t host_near(void *ctx, uint64_t actor, uint32_t mm, uint64_t players[SCRIPT_NEAR_MAX])
{
	(void)ctx;
	(void)actor;
	players[0] = TEST_PLAYER;
	return mm >= 5000;
}

static uint32_t host_players(void *ctx)
{
	(void)ctx;
	return 3;
}

static bool host_wait(void *ctx, uint64_t player, uint32_t seconds, uint32_t job)
{
	struct test_host *host = ctx;

	host->waits = seconds;
	host->job = job;
	return player == TEST_PLAYER;
}

static void host_item_look(void *ctx, uint32_t item, struct script_item *out)
{
	(void)ctx;
	*out = (struct script_item){.stack_max = item == 7 ? 20 : 1, .attack = item};
}

static void host_quest_row(void *ctx, uint32_t quest, struct script_quest_row *out)
{
	(void)ctx;
	*out = (struct script_quest_row){.title = "A title", .level = quest, .gold = 60};
}

static uint32_t host_kind(void *ctx, const char *name)
{
	(void)ctx;
	return strcmp(name, "wolf") ? UINT32_MAX : 3;
}

static uint32_t host_card(void *ctx, const char *name)
{
	(void)ctx;
	return strcmp(name, "big heart") ? UINT32_MAX : 2;
}

static bool host_deed(void *ctx, enum script_deed deed, uint64_t monster, uint64_t player,
	uint32_t what, int64_t amount)
{
	struct test_host *host = ctx;

	snprintf(host->done, sizeof(host->done), "%d %d %u %d", deed,
		player == TEST_PLAYER ? 1
		: player              ? 2
				      : 0,
		what, (int)amount);
	return monster == TEST_MONSTER;
}

static enum script_intent host_intend(void *ctx, const char *key, uint64_t player,
	const struct script_change *changes, uint32_t count)
{
	struct test_host *host = ctx;

	snprintf(host->done, sizeof(host->done), "%s", key);
	memcpy(host->change, changes, count * sizeof(*changes));
	host->changes = count;
	return player == TEST_PLAYER ? host->intent : SCRIPT_INTENT_GONE;
}

static uint64_t host_match_ms(void *ctx)
{
	(void)ctx;
	return 2500;
}

static bool host_move_match(
	void *ctx, enum script_move move, uint64_t player, uint32_t what, int64_t amount)
{
	struct test_host *host = ctx;

	snprintf(host->done, sizeof(host->done), "%d %d %u %d", move, player == TEST_PLAYER, what,
		(int)amount);
	return player == TEST_PLAYER;
}

static uint32_t host_match_players(void *ctx, uint64_t players[SCRIPT_NEAR_MAX])
{
	return host_near(ctx, 0, 5000, players);
}

static bool host_offer(void *ctx, uint64_t player, const uint32_t cards[SCRIPT_OFFER_MAX],
	uint32_t count, uint32_t seconds)
{
	struct test_host *host = ctx;

	snprintf(host->done, sizeof(host->done), "%u %u %u", cards[count - 1], count, seconds);
	return player == TEST_PLAYER;
}

static const struct script_ops ops = {.actor = host_actor,
	.say = host_say,
	.move = host_move,
	.random = host_random,
	.tick = host_tick,
	.place = host_place,
	.send = host_send,
	.item = host_item,
	.count_item = host_count_item,
	.quest = host_quest,
	.quest_look = host_quest_look,
	.keep = host_keep,
	.ask = host_ask,
	.party = host_party,
	.shout = host_shout,
	.announce = host_announce,
	.near = host_near,
	.players = host_players,
	.wait = host_wait,
	.item_look = host_item_look,
	.quest_row = host_quest_row,
	.kind = host_kind,
	.card = host_card,
	.deed = host_deed,
	.intend = host_intend,
	.match_ms = host_match_ms,
	.move_match = host_move_match,
	.match_players = host_match_players,
	.offer = host_offer};

/* A test that failed could not stop its own: the next one does. */
/* Of running time: enough for what ends, under a sanitizer on a slow machine, too. */
#define TEST_LIMIT_US 50000

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
	host->config.strikes_max = 0;
	host->config.limit_us[SCRIPT_CONTEXT_NPC_CLICK] = TEST_LIMIT_US;
	host->config.limit_us[SCRIPT_CONTEXT_NPC_TICK] = TEST_LIMIT_US;
	assert_int_equal(script_watchdog_start(&host->config.watchdog, 1000), 0);
	assert_int_equal(script_vm_new(&host->vm, &host->config, &ops, host), 0);
	leftover = *host;
}

void test_host_again(struct test_host *host)
{
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
