#include "simulation/script/tool/mock.h"

#include <errno.h>
#include <stdarg.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "common/commit.h"
#include "common/handle.h"
#include "simulation/script/calls.h"

#define TICK_HZ    20u
#define STEP_MM    200 /* 4 m/s at full length (127) */
#define VIEW_MM    40000
#define HEALTH     100u
#define DONE       UINT32_MAX
#define ALL        UINT32_MAX
#define KEPT_TICKS (10 * TICK_HZ)

/* ---- what a test looks at ---- */

static void line(struct mock *mock, int kind, const char *who, uint32_t player, const char *text,
	size_t bytes)
{
	struct mock_line *at;

	if (mock->lines == MOCK_LINES_MAX)
		return;
	at = &mock->line[mock->lines++];
	memset(at, 0, sizeof(*at));
	at->kind = kind;
	at->player = player;
	snprintf(at->who, sizeof(at->who), "%s", who);
	snprintf(at->text, sizeof(at->text), "%.*s", (int)bytes, text);
}

static void take_texts(struct mock *mock)
{
	static struct script_text text;

	while (script_vm_text_pop(mock->vm, &text))
		line(mock, text.kind == SCRIPT_TEXT_ERROR ? MOCK_FAILED : MOCK_LOGGED, "", ALL,
			text.text, text.bytes);
}

/* ---- handles ---- */

static struct mock_player *player_of(struct mock *mock, uint64_t handle)
{
	uint64_t i = handle - MOCK_PLAYER;

	return handle >= MOCK_PLAYER && i < mock->players && !mock->player[i].gone
		       ? &mock->player[i]
		       : NULL;
}

static struct mock_monster *monster_of(struct mock *mock, uint64_t handle)
{
	uint64_t i = handle - MOCK_MONSTER;

	return handle >= MOCK_MONSTER && i < mock->monsters ? &mock->monster[i] : NULL;
}

static uint32_t index_of(const struct mock *mock, const struct mock_player *player)
{
	return (uint32_t)(player - mock->player);
}

static bool op_actor(void *ctx, uint64_t actor, struct script_actor *out)
{
	struct mock *mock = ctx;
	const struct mock_player *player = player_of(mock, actor);
	const struct mock_monster *monster = monster_of(mock, actor);

	memset(out, 0, sizeof(*out));
	if (player) {
		snprintf(out->name, sizeof(out->name), "%s", player->name);
		out->x_mm = player->x_mm;
		out->y_mm = player->y_mm;
		out->kind = SCRIPT_ACTOR_PLAYER;
		out->detailed = out->has_body = true;
		out->level = player->level;
		out->gold = player->gold;
		out->health = player->health;
		out->health_max = player->health_max;
		return true;
	}
	if (monster) {
		snprintf(out->name, sizeof(out->name), "%s", mock->game->kinds[monster->kind].name);
		out->x_mm = monster->x_mm;
		out->y_mm = monster->y_mm;
		out->kind = SCRIPT_ACTOR_MONSTER;
		out->has_body = true;
		out->health = monster->health;
		out->health_max = monster->health_max;
		return true;
	}
	if (!actor || actor > script_vm_npc_count(mock->vm))
		return false;
	*out = mock->npc[actor - 1];
	return true;
}

static void name_of(struct mock *mock, uint64_t actor, char name[SCRIPT_NAME_BYTES])
{
	struct script_actor is;

	name[0] = '\0';
	if (op_actor(mock, actor, &is))
		memcpy(name, is.name, SCRIPT_NAME_BYTES);
}

/* ---- talking ---- */

static bool op_say(void *ctx, uint64_t npc, uint64_t player, const char *text, uint32_t bytes)
{
	struct mock *mock = ctx;
	const struct mock_player *to = player_of(mock, player);
	char who[SCRIPT_NAME_BYTES];

	name_of(mock, npc, who);
	if (to)
		line(mock, MOCK_SAID, who, index_of(mock, to), text, bytes);
	return to;
}

static uint32_t op_shout(void *ctx, uint64_t actor, const char *text, uint32_t bytes)
{
	struct mock *mock = ctx;
	char who[SCRIPT_NAME_BYTES];

	name_of(mock, actor, who);
	line(mock, MOCK_SHOUTED, who, ALL, text, bytes);
	return mock->players;
}

static bool op_announce(void *ctx, const char *text, uint32_t bytes)
{
	line(ctx, MOCK_ANNOUNCED, "", ALL, text, bytes);
	return true;
}

static void op_move(void *ctx, uint64_t npc, int8_t dx, int8_t dy)
{
	struct mock *mock = ctx;

	mock->npc[npc - 1].x_mm += dx * STEP_MM / 127;
	mock->npc[npc - 1].y_mm += dy * STEP_MM / 127;
}

static uint64_t op_random(void *ctx)
{
	struct mock *mock = ctx;
	uint64_t z = mock->random += 0x9e3779b97f4a7c15u; /* splitmix64 */

	z = (z ^ (z >> 30)) * 0xbf58476d1ce4e5b9u;
	z = (z ^ (z >> 27)) * 0x94d049bb133111ebu;
	return z ^ (z >> 31);
}

static uint32_t op_tick(void *ctx)
{
	return ((struct mock *)ctx)->tick;
}

/* There is no map here: an NPC stands where it is put. */
static bool op_place(void *ctx, const char *tag, int32_t *x_mm, int32_t *y_mm)
{
	(void)ctx;
	(void)tag;
	*x_mm = *y_mm = 0;
	return true;
}

static bool op_send(
	void *ctx, uint64_t player, const char *map, bool has_position, int32_t x_mm, int32_t y_mm)
{
	struct mock_player *who = player_of(ctx, player);

	(void)has_position;
	(void)x_mm;
	(void)y_mm;
	if (who)
		snprintf(who->map, sizeof(who->map), "%s", map);
	return who;
}

static bool op_ask(void *ctx, uint64_t npc, uint64_t player, const struct script_question *question,
	uint32_t job)
{
	struct mock *mock = ctx;
	struct mock_player *who = player_of(mock, player);
	char speaker[SCRIPT_NAME_BYTES];

	if (!who)
		return false;
	name_of(mock, npc, speaker);
	line(mock, MOCK_ASKED, speaker, index_of(mock, who), question->text, question->text_bytes);
	who->job = job;
	who->wake_tick = 0;
	/* A choice by its text has a number now. */
	if (who->answered < who->answers && *who->answer[who->answered].text) {
		who->answer[who->answered].choice = 0;
		for (uint32_t i = 0; i < question->choices; i++)
			if (!strcmp(question->choice[i].text, who->answer[who->answered].text))
				who->answer[who->answered].choice = i + 1;
	}
	return true;
}

static bool op_wait(void *ctx, uint64_t player, uint32_t seconds, uint32_t job)
{
	struct mock *mock = ctx;
	struct mock_player *who = player_of(mock, player);

	if (!who || (who->job && who->job != job))
		return false;
	who->job = job;
	who->wake_tick = mock->tick + 1 + seconds * TICK_HZ;
	return true;
}

/* ---- the game's data ---- */

static uint32_t op_item(void *ctx, const char *name)
{
	const struct sim_item *item = sim_game_item_named(((struct mock *)ctx)->game, name);

	return item ? item->number : 0;
}

static void op_item_look(void *ctx, uint32_t number, struct script_item *out)
{
	const struct sim_item *item = sim_game_item(((struct mock *)ctx)->game, number);

	if (item)
		*out = (struct script_item){item->stack_max, item->attack, item->defence};
}

static uint32_t op_quest(void *ctx, const char *name)
{
	return sim_quest_find(((struct mock *)ctx)->game, name);
}

static void op_quest_row(void *ctx, uint32_t quest, struct script_quest_row *out)
{
	const struct sim_quest *row = &((struct mock *)ctx)->game->quests[quest];

	*out = (struct script_quest_row){row->title, row->level, row->gold, row->experience};
}

static uint32_t op_kind(void *ctx, const char *name)
{
	return sim_game_kind(((struct mock *)ctx)->game, name);
}

static uint32_t op_card(void *ctx, const char *name)
{
	const struct sim_game *game = ((struct mock *)ctx)->game;

	for (uint32_t i = 0; i < game->card_count; i++)
		if (!strcmp(game->cards[i].name, name))
			return i;
	return UINT32_MAX;
}

static uint32_t op_party(void *ctx, uint64_t player, const char *names[SCRIPT_PARTY_MAX])
{
	(void)ctx;
	(void)player;
	(void)names;
	return 0;
}

static uint32_t op_players(void *ctx)
{
	const struct mock *mock = ctx;
	uint32_t count = 0;

	for (uint32_t i = 0; i < mock->players; i++)
		count += !mock->player[i].gone;
	return count;
}

static uint32_t op_near(void *ctx, uint64_t actor, uint32_t mm, uint64_t players[SCRIPT_NEAR_MAX])
{
	struct mock *mock = ctx;
	struct script_actor is;
	uint32_t count = 0;

	if (!op_actor(mock, actor, &is))
		return 0;
	for (uint32_t i = 0; i < mock->players; i++) {
		const struct mock_player *p = &mock->player[i];
		int64_t dx = (int64_t)p->x_mm - is.x_mm, dy = (int64_t)p->y_mm - is.y_mm;

		if (!p->gone && p->health && MOCK_PLAYER + i != actor &&
			dx * dx + dy * dy <= (int64_t)mm * mm)
			players[count++] = MOCK_PLAYER + i;
	}
	return count;
}

/* ---- what lasts ---- */

int64_t mock_count(const struct mock_player *player, uint32_t item)
{
	for (uint32_t i = 0; i < MOCK_ITEMS_MAX; i++)
		if (player->bag[i].count && player->bag[i].item == item)
			return player->bag[i].count;
	return 0;
}

void mock_give(struct mock_player *player, uint32_t item, uint32_t count)
{
	uint32_t place = MOCK_ITEMS_MAX;

	for (uint32_t i = 0; i < MOCK_ITEMS_MAX; i++) {
		if (player->bag[i].count && player->bag[i].item == item) {
			player->bag[i].count += count;
			return;
		}
		if (!player->bag[i].count && place == MOCK_ITEMS_MAX)
			place = i;
	}
	if (place == MOCK_ITEMS_MAX)
		return;
	player->bag[place].item = item;
	player->bag[place].count = count;
}

static uint32_t op_count_item(void *ctx, uint64_t player, uint32_t item)
{
	const struct mock_player *who = player_of(ctx, player);

	return who ? (uint32_t)mock_count(who, item) : 0;
}

static bool take(struct mock_player *player, uint32_t item, uint32_t count)
{
	for (uint32_t i = 0; i < MOCK_ITEMS_MAX; i++)
		if (player->bag[i].count >= count && player->bag[i].item == item) {
			player->bag[i].count -= count;
			return true;
		}
	return false;
}

/* As many stacks as a bag has slots. */
static bool has_room(const struct mock *mock, const struct mock_player *player)
{
	uint32_t slots = 0;

	for (uint32_t i = 0; i < MOCK_ITEMS_MAX; i++) {
		const struct sim_item *item =
			player->bag[i].count ? sim_game_item(mock->game, player->bag[i].item)
					     : NULL;

		if (item)
			slots += (player->bag[i].count + item->stack_max - 1) / item->stack_max;
	}
	return slots <= COMMIT_BAG_SLOTS;
}

static bool may_begin(const struct mock *mock, const struct mock_player *player, uint32_t quest)
{
	const struct sim_quest *row = &mock->game->quests[quest];

	for (uint32_t i = 0; i < row->after.count; i++)
		if (player->quest[mock->game->quest_afters[row->after.first + i].quest].step !=
			DONE)
			return false;
	return player->level >= row->level;
}

static void op_quest_look(void *ctx, uint64_t player, uint32_t quest, struct script_quest *out)
{
	struct mock *mock = ctx;
	const struct mock_player *who = player_of(mock, player);
	const struct sim_quest *row = &mock->game->quests[quest];

	if (!who)
		return;
	*out = (struct script_quest){.phase = SCRIPT_QUEST_OPEN,
		.step = who->quest[quest].step,
		.count = who->quest[quest].count};
	if (!out->step)
		out->phase = may_begin(mock, who, quest) ? SCRIPT_QUEST_NEW : SCRIPT_QUEST_LOCKED;
	if (out->step == DONE)
		*out = (struct script_quest){.phase = SCRIPT_QUEST_DONE, .wait_s = row->again_s};
}

static enum script_kept begin_quest(struct mock *mock, struct mock_player *player, uint32_t quest)
{
	const struct sim_quest *row = &mock->game->quests[quest];

	if (player->quest[quest].step)
		return player->quest[quest].step == DONE && row->again_s ? SCRIPT_KEPT_QUEST_WAIT
									 : SCRIPT_KEPT_QUEST_STATE;
	if (!may_begin(mock, player, quest))
		return SCRIPT_KEPT_QUEST_BEFORE;
	player->quest[quest] =
		(struct mock_quest){.step = sim_quest_first(mock->game, row)->number};
	if (row->gives_item)
		mock_give(player, row->gives_item, row->gives_count);
	return SCRIPT_KEPT_OK;
}

static enum script_kept end_step(
	struct mock *mock, struct mock_player *player, uint32_t quest, const char *npc, bool last)
{
	const struct sim_quest *row = &mock->game->quests[quest];
	const struct sim_quest_step *step = NULL, *next = NULL;

	if (player->quest[quest].step && player->quest[quest].step != DONE)
		step = sim_quest_step(mock->game, row, player->quest[quest].step);
	if (!step || step->kind != SIM_QUEST_TALK || strcmp(step->talk, npc))
		return SCRIPT_KEPT_QUEST_STATE;
	next = sim_quest_next(mock->game, row, step);
	if (last == (next != NULL))
		return SCRIPT_KEPT_QUEST_STATE;
	if (step->item && !take(player, step->item, step->need))
		return SCRIPT_KEPT_NOT_ENOUGH;
	player->quest[quest] = (struct mock_quest){.step = next ? next->number : DONE};
	if (next)
		return SCRIPT_KEPT_OK;
	player->gold += row->gold;
	player->experience += row->experience;
	for (uint32_t i = 0; i < row->rewards.count; i++)
		mock_give(player, mock->game->quest_rewards[row->rewards.first + i].item,
			mock->game->quest_rewards[row->rewards.first + i].count);
	return SCRIPT_KEPT_OK;
}

static enum script_kept change(struct mock *mock, struct mock_player *player, const char *npc,
	const struct script_change *what)
{
	switch ((enum script_change_kind)what->kind) {
	case SCRIPT_TAKE_ITEM:
		return take(player, what->what, (uint32_t)what->amount) ? SCRIPT_KEPT_OK
									: SCRIPT_KEPT_NOT_ENOUGH;
	case SCRIPT_GIVE_ITEM:
		mock_give(player, what->what, (uint32_t)what->amount);
		return SCRIPT_KEPT_OK;
	case SCRIPT_ADD_GOLD:
		player->gold += what->amount;
		return SCRIPT_KEPT_OK;
	case SCRIPT_ADD_EXPERIENCE:
		player->experience += what->amount;
		return SCRIPT_KEPT_OK;
	case SCRIPT_BEGIN_QUEST:
		return begin_quest(mock, player, what->what);
	case SCRIPT_ADVANCE_QUEST:
		return end_step(mock, player, what->what, npc, false);
	case SCRIPT_COMPLETE_QUEST:
		return end_step(mock, player, what->what, npc, true);
	}
	return SCRIPT_KEPT_REFUSED;
}

static void note_quests(
	struct mock *mock, const struct mock_player *before, const struct mock_player *after)
{
	for (uint32_t q = 0; q < mock->game->quest_count; q++) {
		bool complete = after->quest[q].step == DONE;

		if (before->quest[q].step == after->quest[q].step ||
			(before->quest[q].step && !complete) ||
			mock->happened_count == MOCK_QUESTS_MAX)
			continue;
		mock->happened[mock->happened_count].player = index_of(mock, before);
		mock->happened[mock->happened_count].quest = q;
		mock->happened[mock->happened_count++].complete = complete;
	}
}

/* All of it or nothing. */
static enum script_kept keep(struct mock *mock, struct mock_player *player, const char *npc,
	const struct script_change *changes, uint32_t count)
{
	struct mock_player *after = malloc(sizeof(*after));
	enum script_kept kept = mock->refuse;

	mock->refuse = SCRIPT_KEPT_OK;
	if (!after)
		return SCRIPT_KEPT_UNAVAILABLE;
	*after = *player;
	for (uint32_t i = 0; i < count && kept == SCRIPT_KEPT_OK; i++)
		kept = change(mock, after, npc, &changes[i]);
	if (kept == SCRIPT_KEPT_OK && after->gold < 0)
		kept = SCRIPT_KEPT_NOT_ENOUGH;
	if (kept == SCRIPT_KEPT_OK && !has_room(mock, after))
		kept = SCRIPT_KEPT_BAG_FULL;
	if (kept == SCRIPT_KEPT_OK) {
		note_quests(mock, player, after);
		*player = *after;
	}
	free(after);
	return kept;
}

static enum script_kept op_keep(void *ctx, uint64_t npc, uint64_t player,
	const struct script_change *changes, uint32_t count, uint32_t job)
{
	struct mock *mock = ctx;
	struct mock_player *who = player_of(mock, player);
	char name[SCRIPT_NAME_BYTES];
	enum script_kept kept;

	name_of(mock, npc, name);
	if (!who)
		return SCRIPT_KEPT_NOT_READY;
	kept = keep(mock, who, name, changes, count);
	/* Nobody waits for it, so the player is told. */
	if (kept != SCRIPT_KEPT_OK && !job)
		line(mock, MOCK_LOGGED, "", index_of(mock, who), script_kept_name(kept),
			strlen(script_kept_name(kept)));
	return kept;
}

static enum script_intent op_intend(void *ctx, const char *key, uint64_t player,
	const struct script_change *changes, uint32_t count)
{
	struct mock *mock = ctx;
	const struct mock_player *who = player_of(mock, player);
	struct mock_intent *intent;

	if (!who)
		return SCRIPT_INTENT_GONE;
	for (uint32_t i = 0; i < mock->intents; i++)
		if (!strcmp(mock->intent[i].key, key) &&
			mock->tick - mock->intent[i].tick < KEPT_TICKS)
			return SCRIPT_INTENT_REPEATED;
	if (mock->intents == MOCK_INTENTS_MAX)
		return SCRIPT_INTENT_FULL;
	intent = &mock->intent[mock->intents++];
	*intent = (struct mock_intent){
		.player = index_of(mock, who), .count = count, .tick = mock->tick};
	snprintf(intent->key, sizeof(intent->key), "%s", key);
	memcpy(intent->change, changes, count * sizeof(*changes));
	return SCRIPT_INTENT_OK;
}

/* After the tick. Their keys stay known. */
static void keep_intents(struct mock *mock)
{
	for (uint32_t i = 0; i < mock->intents; i++) {
		struct mock_intent *intent = &mock->intent[i];

		if (intent->count && !mock->player[intent->player].gone)
			keep(mock, &mock->player[intent->player], "", intent->change,
				intent->count);
		intent->count = 0;
	}
}

/* ---- fights ---- */

static void drop(struct mock *mock, const struct mock_monster *monster, uint32_t item,
	int64_t count, const struct mock_player *player)
{
	char text[128];

	snprintf(text, sizeof(text), "drops %lld %s", (long long)count,
		sim_game_item(mock->game, item)->name);
	line(mock, MOCK_SHOUTED, mock->game->kinds[monster->kind].name,
		player ? index_of(mock, player) : ALL, text, strlen(text));
}

static bool op_deed(void *ctx, enum script_deed deed, uint64_t handle, uint64_t player,
	uint32_t what, int64_t amount)
{
	struct mock *mock = ctx;
	struct mock_monster *monster = monster_of(mock, handle);
	struct mock_player *who = player_of(mock, player);

	if (!monster)
		return false;
	if (deed == SCRIPT_DROP) {
		drop(mock, monster, what, amount, who);
		return true;
	}
	if (!monster->health)
		return false;
	if (deed == SCRIPT_HEAL) {
		monster->health += (uint32_t)amount;
		if (monster->health > monster->health_max)
			monster->health = monster->health_max;
		return true;
	}
	if (deed == SCRIPT_SET_ATTACK) {
		monster->attack = (uint32_t)amount;
		return true;
	}
	if (!who || !who->health)
		return false;
	if (deed == SCRIPT_STRIKE)
		who->health -= amount < who->health ? (uint32_t)amount : who->health;
	else
		monster->target = index_of(mock, who);
	return true;
}

/* ---- matches ---- */

static uint64_t op_match_ms(void *ctx)
{
	return ((struct mock *)ctx)->tick * 1000ull / TICK_HZ;
}

static uint32_t op_match_players(void *ctx, uint64_t players[SCRIPT_NEAR_MAX])
{
	struct mock *mock = ctx;
	uint32_t count = 0;

	for (uint32_t i = 0; i < mock->players; i++)
		if (!mock->player[i].gone && mock->player[i].health)
			players[count++] = MOCK_PLAYER + i;
	return count;
}

static bool op_move_match(
	void *ctx, enum script_move move, uint64_t player, uint32_t what, int64_t amount)
{
	struct mock *mock = ctx;
	struct mock_player *who = player_of(mock, player);

	switch (move) {
	case SCRIPT_MATCH_LOCK:
		mock->locked = amount;
		return true;
	case SCRIPT_MATCH_HOLD:
		mock->held = amount;
		return true;
	case SCRIPT_MATCH_FIGHT:
		mock->fighting = amount;
		return true;
	case SCRIPT_MATCH_FINISH:
		mock->finished = true;
		return true;
	default:
		break;
	}
	if (!who)
		return false;
	if (move == SCRIPT_MATCH_RESULT) {
		if (who->place)
			return false;
		who->place = (uint32_t)amount;
		return true;
	}
	if (!who->health)
		return false;
	if (move == SCRIPT_MATCH_HURT) {
		who->health -= amount < who->health ? (uint32_t)amount : who->health;
	} else {
		const struct sim_card *card = &mock->game->cards[what];

		who->attack += card->attack;
		who->speed_permille += card->speed_permille;
		who->health += card->health;
		who->health_max += card->health;
	}
	return true;
}

static bool op_offer(void *ctx, uint64_t player, const uint32_t cards[SCRIPT_OFFER_MAX],
	uint32_t count, uint32_t seconds)
{
	struct mock *mock = ctx;
	struct mock_player *who = player_of(mock, player);

	if (!who || !who->health)
		return false;
	memcpy(who->offered, cards, count * sizeof(*cards));
	who->offered_count = count;
	who->offered_until = mock->tick + seconds * TICK_HZ;
	return true;
}

static const struct script_ops ops = {.actor = op_actor,
	.say = op_say,
	.move = op_move,
	.random = op_random,
	.tick = op_tick,
	.place = op_place,
	.send = op_send,
	.item = op_item,
	.count_item = op_count_item,
	.quest = op_quest,
	.quest_look = op_quest_look,
	.keep = op_keep,
	.ask = op_ask,
	.party = op_party,
	.shout = op_shout,
	.announce = op_announce,
	.near = op_near,
	.players = op_players,
	.wait = op_wait,
	.item_look = op_item_look,
	.quest_row = op_quest_row,
	.kind = op_kind,
	.card = op_card,
	.deed = op_deed,
	.intend = op_intend,
	.match_ms = op_match_ms,
	.move_match = op_move_match,
	.match_players = op_match_players,
	.offer = op_offer};

/* ---- the test's side ---- */

static char *read_source(const char *path, size_t *bytes, char *error, size_t error_bytes)
{
	FILE *file = fopen(path, "rb");
	char *text = malloc(SCRIPT_SOURCE_MAX + 2);

	if (!file || !text) {
		snprintf(error, error_bytes, "%s: %s", path, strerror(errno));
		free(text);
		text = NULL;
	} else {
		*bytes = fread(text, 1, SCRIPT_SOURCE_MAX + 1, file);
	}
	if (file)
		fclose(file);
	return text;
}

bool mock_open(struct mock *mock, const struct script_config *config, const struct sim_game *game,
	const char *path, char *error, size_t error_bytes)
{
	size_t bytes = 0;
	char *text = path ? read_source(path, &bytes, error, error_bytes) : calloc(1, 1);
	enum script_result result;

	memset(mock, 0, sizeof(*mock));
	mock->game = game;
	mock->random = 1;
	mock->tick = 1;
	mock->line = calloc(MOCK_LINES_MAX, sizeof(*mock->line));
	if (!text || !mock->line || script_vm_new(&mock->vm, config, &ops, mock)) {
		if (text)
			snprintf(error, error_bytes, "no memory");
		free(text);
		mock_close(mock);
		return false;
	}
	result = script_vm_load(mock->vm, path ? path : "", text, bytes, error, error_bytes);
	free(text);
	take_texts(mock);
	if (result != SCRIPT_OK) {
		mock_close(mock);
		return false;
	}
	for (uint32_t i = 0; i < script_vm_npc_count(mock->vm); i++) {
		const struct script_npc *npc = script_vm_npc(mock->vm, i);

		memcpy(mock->npc[i].name, npc->name, sizeof(npc->name));
		mock->npc[i].x_mm = npc->x_mm;
		mock->npc[i].y_mm = npc->y_mm;
		mock->npc[i].kind = SCRIPT_ACTOR_NPC;
		script_vm_bind(mock->vm, i, i + 1);
	}
	return true;
}

void mock_close(struct mock *mock)
{
	script_vm_free(mock->vm);
	free(mock->line);
	mock->vm = NULL;
	mock->line = NULL;
}

uint32_t mock_player(struct mock *mock, const char *name)
{
	struct mock_player *player;

	if (mock->players == MOCK_PLAYERS_MAX)
		return UINT32_MAX;
	player = &mock->player[mock->players];
	*player = (struct mock_player){.level = 1, .health = HEALTH, .health_max = HEALTH};
	snprintf(player->name, sizeof(player->name), "%s", name);
	return mock->players++;
}

uint32_t mock_monster(struct mock *mock, uint32_t kind, int32_t x_mm, int32_t y_mm)
{
	const struct sim_monster_kind *row = &mock->game->kinds[kind];

	if (mock->monsters == MOCK_MONSTERS_MAX)
		return UINT32_MAX;
	mock->monster[mock->monsters] = (struct mock_monster){.kind = kind,
		.x_mm = x_mm,
		.y_mm = y_mm,
		.health = row->health,
		.health_max = row->health,
		.attack = row->attack,
		.target = UINT32_MAX};
	return mock->monsters++;
}

/* Goes on with whoever waits for an answer or a commit; time is waited for in mock_tick. */
static enum script_result go_on(
	struct mock *mock, struct mock_player *player, enum script_result result)
{
	while (result == SCRIPT_WAITING && player && player->job && !player->wake_tick) {
		struct script_answer answer = {0};
		uint32_t job = player->job;

		if (player->answered < player->answers)
			answer.choice = player->answer[player->answered++].choice;
		player->job = 0;
		result = script_vm_resume(mock->vm, job, &answer);
	}
	while (result == SCRIPT_SUSPENDED) {
		struct script_gone_on gone;

		if (!script_vm_go_on(mock->vm, &gone, &result))
			break;
	}
	take_texts(mock);
	return result;
}

static void end_talk(struct mock *mock, struct mock_player *player)
{
	if (player->job)
		script_vm_cancel(mock->vm, player->job);
	player->job = player->wake_tick = 0;
}

enum script_result mock_click(struct mock *mock, uint32_t npc, uint32_t player)
{
	struct mock_player *who = &mock->player[player];

	end_talk(mock, who);
	return go_on(mock, who, script_vm_click(mock->vm, npc, MOCK_PLAYER + player));
}

enum script_result mock_event(struct mock *mock, uint32_t handler, const char *name,
	uint32_t monster, uint32_t player, int64_t number)
{
	struct script_event event = {.handler = handler,
		.declaration = script_vm_find(mock->vm, handler, name),
		.monster = monster == UINT32_MAX ? HANDLE_NONE : MOCK_MONSTER + monster,
		.player = player == UINT32_MAX ? HANDLE_NONE : MOCK_PLAYER + player,
		.number = number};

	if (player != UINT32_MAX)
		memcpy(event.name, mock->player[player].name, sizeof(event.name));
	return go_on(mock, player == UINT32_MAX ? NULL : &mock->player[player],
		script_vm_event(mock->vm, &event));
}

/* Kills count for the quest steps that want them. */
static void count_kill(struct mock *mock, struct mock_player *player, uint32_t kind)
{
	for (uint32_t q = 0; q < mock->game->quest_count; q++) {
		const struct sim_quest *row = &mock->game->quests[q];
		struct mock_quest *now = &player->quest[q];
		const struct sim_quest_step *step =
			now->step && now->step != DONE ? sim_quest_step(mock->game, row, now->step)
						       : NULL;

		if (!step || step->kind != SIM_QUEST_KILL || step->monster_kind != kind)
			continue;
		if (++now->count >= step->need)
			*now = (struct mock_quest){
				.step = sim_quest_next(mock->game, row, step)->number};
	}
}

void mock_hurt(struct mock *mock, uint32_t player, uint32_t index, uint32_t damage)
{
	struct mock_monster *monster = &mock->monster[index];
	const struct sim_monster_kind *kind = &mock->game->kinds[monster->kind];

	if (!monster->health)
		return;
	monster->health -= damage < monster->health ? damage : monster->health;
	if (monster->target == UINT32_MAX)
		monster->target = player;
	if (monster->health) {
		mock_event(mock, SCRIPT_HANDLER_MONSTER_HURT, kind->name, index, player, damage);
		return;
	}
	mock->player[player].experience += kind->experience;
	count_kill(mock, &mock->player[player], monster->kind);
	mock_event(mock, SCRIPT_HANDLER_MONSTER_DEATH, kind->name, index, player, 0);
}

/* What one has, for the steps that want it. */
static void look_at_bag(struct mock *mock, struct mock_player *player)
{
	for (uint32_t q = 0; q < mock->game->quest_count; q++) {
		const struct sim_quest *row = &mock->game->quests[q];
		struct mock_quest *now = &player->quest[q];
		const struct sim_quest_step *step =
			now->step && now->step != DONE ? sim_quest_step(mock->game, row, now->step)
						       : NULL;

		if (step && step->kind == SIM_QUEST_HAVE &&
			mock_count(player, step->item) >= step->need)
			*now = (struct mock_quest){
				.step = sim_quest_next(mock->game, row, step)->number};
	}
}

static void player_tick(struct mock *mock, uint32_t i)
{
	struct mock_player *player = &mock->player[i];

	if (player->gone)
		return;
	look_at_bag(mock, player);
	if (player->job && player->wake_tick && player->wake_tick <= mock->tick) {
		uint32_t job = player->job;

		player->job = player->wake_tick = 0;
		go_on(mock, player, script_vm_resume(mock->vm, job, &(struct script_answer){0}));
	}
	if (player->offered_count && player->offered_until <= mock->tick)
		mock_pick(mock, i, 1);
}

bool mock_pick(struct mock *mock, uint32_t i, uint32_t choice)
{
	struct mock_player *player = &mock->player[i];

	if (!choice || choice > player->offered_count)
		return false;
	player->offered_count = 0;
	mock_event(mock, SCRIPT_HANDLER_RULE_PICK, "", UINT32_MAX, i, choice);
	return true;
}

void mock_tick(struct mock *mock)
{
	mock->tick++;
	for (uint32_t i = 0; i < mock->happened_count; i++)
		mock_event(mock,
			mock->happened[i].complete ? SCRIPT_HANDLER_QUEST_COMPLETE
						   : SCRIPT_HANDLER_QUEST_BEGIN,
			mock->game->quests[mock->happened[i].quest].name, UINT32_MAX,
			mock->happened[i].player, 0);
	mock->happened_count = 0;
	while (script_vm_timer(mock->vm) != SCRIPT_NO_HANDLER)
		;
	for (uint32_t i = 0; i < mock->players; i++)
		player_tick(mock, i);
	for (uint32_t i = 0; i < mock->monsters && mock->tick % TICK_HZ == 0; i++) {
		const struct mock_monster *monster = &mock->monster[i];

		if (monster->health && monster->target != UINT32_MAX &&
			!mock->player[monster->target].gone && mock->player[monster->target].health)
			mock_event(mock, SCRIPT_HANDLER_MONSTER_FIGHT,
				mock->game->kinds[monster->kind].name, i, monster->target, 0);
	}
	if (!mock->finished)
		mock_event(mock, SCRIPT_HANDLER_RULE_TICK, "", UINT32_MAX, UINT32_MAX, 0);
	for (uint32_t i = 0; i < script_vm_npc_count(mock->vm); i++)
		go_on(mock, NULL, script_vm_tick(mock->vm, i));
	script_vm_gc(mock->vm);
	keep_intents(mock);
	take_texts(mock);
}

void mock_leave(struct mock *mock, uint32_t player)
{
	mock_event(mock, SCRIPT_HANDLER_RULE_LEAVE, "", UINT32_MAX, player, 0);
	end_talk(mock, &mock->player[player]);
	mock->player[player].gone = true;
	mock_event(mock, SCRIPT_HANDLER_MAP_LEAVE, "", UINT32_MAX, player, 0);
}

bool mock_npc(const struct mock *mock, const char *name, uint32_t *index)
{
	for (*index = 0; *index < script_vm_npc_count(mock->vm); ++*index)
		if (!strcmp(script_vm_npc(mock->vm, *index)->name, name))
			return true;
	return false;
}
