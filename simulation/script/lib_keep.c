/* What a click handler may change for good, and what it may wait for. A durable call is noted with
 * the handler's job; commit(), or the handler's end, has the host do all of them or none. */
#include "simulation/script/vm.h"

#include <string.h>

#include "common/handle.h"

#define AMOUNT_MAX 1000000000

static const char *const kept_names[] = {
#define X(name, text, meaning) #text,
	SCRIPT_KEPTS(X)
#undef X
};

const char *script_kept_name(enum script_kept kept)
{
	return kept < SCRIPT_KEPT_COUNT ? kept_names[kept] : "?";
}

/* ---- reading ---- */

uint32_t script_check_item(lua_State *state, struct script_vm *vm, int index)
{
	const char *name = luaL_checkstring(state, index);
	uint32_t item = vm->ops->item(vm->ctx, name);

	if (!item)
		luaL_error(state, "there is no item '%s'", name);
	return item;
}

uint32_t script_check_quest(lua_State *state, struct script_vm *vm, int index)
{
	const char *name = luaL_checkstring(state, index);
	uint32_t quest = vm->ops->quest(vm->ctx, name);

	if (quest == UINT32_MAX)
		luaL_error(state, "there is no quest '%s'", name);
	return quest;
}

static int player_count_item(lua_State *state)
{
	struct script_vm *vm = script_check_call(state, SCRIPT_CALL_COUNT_ITEM);
	uint64_t player = script_check_actor(state, vm, 1);

	lua_pushinteger(state, vm->ops->count_item(vm->ctx, player, script_check_item(state, vm, 2)));
	return 1;
}

static int player_party(lua_State *state)
{
	struct script_vm *vm = script_check_call(state, SCRIPT_CALL_PARTY);
	uint64_t player = script_check_actor(state, vm, 1);
	const char *names[SCRIPT_PARTY_MAX];
	uint32_t count = vm->ops->party(vm->ctx, player, names);

	lua_createtable(state, (int)count, 0);
	for (uint32_t i = 0; i < count; i++) {
		lua_pushstring(state, names[i]);
		lua_rawseti(state, -2, (lua_Integer)i + 1);
	}
	return 1;
}

static int player_quest(lua_State *state)
{
	static const char *const phases[] = {"new", "locked", "open", "done", "unknown"};
	struct script_vm *vm = script_check_call(state, SCRIPT_CALL_QUEST);
	uint64_t player = script_check_actor(state, vm, 1);
	struct script_quest quest = {.phase = SCRIPT_QUEST_UNKNOWN};

	vm->ops->quest_look(vm->ctx, player, script_check_quest(state, vm, 2), &quest);
	lua_pushstring(state, phases[quest.phase]);
	if (quest.phase == SCRIPT_QUEST_DONE && quest.wait_s) {
		lua_pushinteger(state, quest.wait_s);
		return 2;
	}
	if (quest.phase != SCRIPT_QUEST_OPEN)
		return 1;
	lua_pushinteger(state, quest.step);
	lua_pushinteger(state, quest.count);
	return 3;
}

/* ---- what is to be kept ---- */

/* A configuration may give the right to contexts that run on no thread of their own. */
static struct script_job *job_of(lua_State *state, struct script_vm *vm)
{
	if (!vm->job || vm->job->player == HANDLE_NONE)
		luaL_error(state, "only a handler with a player can wait, or change what is kept");
	return vm->job;
}

static int note(lua_State *state, struct script_vm *vm, enum script_change_kind kind, uint32_t what,
	int64_t amount)
{
	struct script_job *job = job_of(state, vm);

	if (job->committed)
		return luaL_error(state, "commit() was called already: a handler has one");
	if (job->change_count == SCRIPT_CHANGES_MAX)
		return luaL_error(
			state, "a handler changes at most %d things", (int)SCRIPT_CHANGES_MAX);
	job->change[job->change_count++] =
		(struct script_change){.kind = kind, .what = what, .amount = amount};
	return 0;
}

static int64_t amount_at(lua_State *state, int index, int64_t least)
{
	lua_Integer amount = luaL_checkinteger(state, index);

	luaL_argcheck(state, amount >= least && amount <= AMOUNT_MAX, index, "out of range");
	return amount;
}

static int change_item(lua_State *state, enum script_call call, enum script_change_kind kind)
{
	struct script_vm *vm = script_check_call(state, call);
	uint32_t item;

	script_check_clicker(state, vm, 1, script_call_name(call));
	item = script_check_item(state, vm, 2);
	return note(state, vm, kind, item, lua_isnoneornil(state, 3) ? 1 : amount_at(state, 3, 1));
}

static int player_take_item(lua_State *state)
{
	return change_item(state, SCRIPT_CALL_TAKE_ITEM, SCRIPT_TAKE_ITEM);
}

static int player_give_item(lua_State *state)
{
	return change_item(state, SCRIPT_CALL_GIVE_ITEM, SCRIPT_GIVE_ITEM);
}

static int player_add_gold(lua_State *state)
{
	struct script_vm *vm = script_check_call(state, SCRIPT_CALL_ADD_GOLD);

	script_check_clicker(state, vm, 1, "add_gold");
	/* R15: a fight takes nothing for good from who did not ask for it. */
	return note(state, vm, SCRIPT_ADD_GOLD, 0,
		amount_at(state, 2, vm->context == SCRIPT_CONTEXT_COMBAT ? 0 : -AMOUNT_MAX));
}

static int player_add_experience(lua_State *state)
{
	struct script_vm *vm = script_check_call(state, SCRIPT_CALL_ADD_EXPERIENCE);

	script_check_clicker(state, vm, 1, "add_experience");
	return note(state, vm, SCRIPT_ADD_EXPERIENCE, 0, amount_at(state, 2, 0));
}

static int change_quest(lua_State *state, enum script_call call, enum script_change_kind kind)
{
	struct script_vm *vm = script_check_call(state, call);

	script_check_clicker(state, vm, 1, script_call_name(call));
	return note(state, vm, kind, script_check_quest(state, vm, 2), 0);
}

static int player_begin_quest(lua_State *state)
{
	return change_quest(state, SCRIPT_CALL_BEGIN_QUEST, SCRIPT_BEGIN_QUEST);
}

static int player_advance_quest(lua_State *state)
{
	return change_quest(state, SCRIPT_CALL_ADVANCE_QUEST, SCRIPT_ADVANCE_QUEST);
}

static int player_complete_quest(lua_State *state)
{
	return change_quest(state, SCRIPT_CALL_COMPLETE_QUEST, SCRIPT_COMPLETE_QUEST);
}

/* ---- waiting ---- */

/* Inside a library's callback Lua cannot be suspended. */
void script_check_waits(lua_State *state, const char *call)
{
	if (!lua_isyieldable(state))
		luaL_error(state, "%s cannot wait here, inside a call of the library", call);
}

static int push_kept(lua_State *state, struct script_vm *vm, enum script_kept kept)
{
	counter_add(&vm->values[SCRIPT_COUNT_KEEPS_REFUSED], kept != SCRIPT_KEPT_OK);
	lua_pushboolean(state, kept == SCRIPT_KEPT_OK);
	if (kept == SCRIPT_KEPT_OK)
		return 1;
	lua_pushstring(state, script_kept_name(kept));
	return 2;
}

static int kept(lua_State *state, int status, lua_KContext context)
{
	struct script_vm *vm = script_vm_of(state);

	(void)status;
	(void)context;
	return push_kept(state, vm, vm->job->answer.kept);
}

static int api_commit(lua_State *state)
{
	struct script_vm *vm = script_check_call(state, SCRIPT_CALL_COMMIT);
	struct script_job *job = job_of(state, vm);
	enum script_kept result;

	if (job->committed)
		return luaL_error(state, "commit() was called already: a handler has one");
	script_check_waits(state, "commit");
	job->committed = true;
	if (!job->change_count) {
		lua_pushboolean(state, true);
		return 1;
	}
	counter_add(&vm->values[SCRIPT_COUNT_KEEPS], 1);
	result = vm->ops->keep(vm->ctx, script_npc_actor(vm, vm->running_npc), vm->running_player,
		job->change, job->change_count, script_job_id(vm, job));
	if (result != SCRIPT_KEPT_PENDING)
		return push_kept(state, vm, result);
	vm->yields = true;
	return lua_yieldk(state, 0, 0, kept);
}

static int answered(lua_State *state, int status, lua_KContext context)
{
	struct script_vm *vm = script_vm_of(state);

	(void)status;
	(void)context;
	if (!vm->job->answer.choice)
		lua_pushnil(state);
	else
		lua_pushinteger(state, vm->job->answer.choice);
	return 1;
}

/* The choices of the table at index 4, which keeps their texts. */
static void check_choices(lua_State *state, struct script_question *question)
{
	lua_Unsigned count;

	luaL_checktype(state, 4, LUA_TTABLE);
	count = lua_rawlen(state, 4);
	luaL_argcheck(state, count >= 1 && count <= SCRIPT_CHOICES_MAX, 4, "1 to 8 choices");
	_Static_assert(SCRIPT_CHOICES_MAX == 8, "the message above names it");
	for (lua_Unsigned i = 0; i < count; i++) {
		size_t bytes = 0;
		const char *text = NULL;

		if (lua_rawgeti(state, 4, (lua_Integer)i + 1) == LUA_TSTRING)
			text = lua_tolstring(state, -1, &bytes);
		luaL_argcheck(state,
			text && bytes >= 1 && bytes <= SCRIPT_CHOICE_BYTES &&
				script_is_text(text, bytes),
			4, "a choice is 1 to 100 bytes of UTF-8 text");
		_Static_assert(SCRIPT_CHOICE_BYTES == 100, "the message above names it");
		question->choice[i].text = text;
		question->choice[i].bytes = (uint32_t)bytes;
		lua_pop(state, 1);
	}
	question->choices = (uint32_t)count;
}

static int npc_ask(lua_State *state)
{
	struct script_vm *vm = script_check_call(state, SCRIPT_CALL_ASK);
	uint64_t npc = script_check_npc(state, vm, "ask");
	uint64_t player = script_check_clicker(state, vm, 2, "ask");
	struct script_question question = {0};
	size_t bytes;

	question.text = script_check_text(state, 3, &bytes);
	question.text_bytes = (uint32_t)bytes;
	check_choices(state, &question);
	script_check_waits(state, "ask");
	(void)job_of(state, vm);
	if (vm->job->asks == SCRIPT_ASKS_MAX)
		return luaL_error(state, "a handler asks at most %d times", (int)SCRIPT_ASKS_MAX);
	vm->job->asks++;
	if (!vm->ops->ask(vm->ctx, npc, player, &question, script_job_id(vm, vm->job))) {
		lua_pushnil(state);
		return 1;
	}
	counter_add(&vm->values[SCRIPT_COUNT_ASKS], 1);
	vm->yields = true;
	return lua_yieldk(state, 0, 0, answered);
}

const struct script_function script_keep_methods[] = {
	{"count_item", player_count_item},
	{"party", player_party},
	{"quest", player_quest},
	{"take_item", player_take_item},
	{"give_item", player_give_item},
	{"add_gold", player_add_gold},
	{"add_experience", player_add_experience},
	{"begin_quest", player_begin_quest},
	{"advance_quest", player_advance_quest},
	{"complete_quest", player_complete_quest},
	{"ask", npc_ask},
	{NULL, NULL},
};

const struct script_function script_lib_keep[] = {
	{"commit", api_commit},
	{NULL, NULL},
};
