#include "simulation/script/vm.h"

#include "common/check.h"

/* Lua's string table, which may outgrow a script's block, is recognised as it is made in
 * lua_newstate: the first block there without an object's tag of 128 pointers (Lua 5.4: lstring.c
 * luaS_init); script_vm_new CHECKs that it was found. Refused, it would have Lua collect at each
 * new string. */
#define STRINGS_FIRST_BYTES 1024u

/* A block that is too large is the stack's when this many calls are under way: Lua does not say. */
#define DEEP_CALLS 40

static void end_soon(struct script_vm *vm, enum script_result result)
{
	if (!(atomic_load_explicit(&vm->sequence, memory_order_relaxed) & 1))
		return;
	if (vm->ending == SCRIPT_OK)
		vm->ending = result;
	script_arm(vm);
}

/* Refused: Lua runs a full collection and asks once more, then raises its memory error. The text is
 * written here because no message handler is called for that. */
static void *refuse(struct script_vm *vm, void *block, size_t bytes, enum script_result result)
{
	bool again = vm->refused_block == block && vm->refused_bytes == bytes;
	char text[128];
	int n;

	vm->refused_block = block;
	vm->refused_bytes = again ? 0 : bytes;
	vm->refused = result;
	if (!again)
		counter_add(&vm->values[SCRIPT_COUNT_EMERGENCIES], 1);
	if (atomic_load_explicit(&vm->sequence, memory_order_relaxed) & 1) {
		n = snprintf(text, sizeof(text),
			"out of memory: a block of %zu bytes (a block may have %u, the map %u, %u "
			"in use)",
			bytes, SCRIPT_BLOCK_BYTES, vm->config.memory_bytes, vm->arena.used_bytes);
		script_trace(vm, 0, text, (size_t)n);
	}
	return NULL;
}

void *script_alloc(void *context, void *block, size_t old_bytes, size_t bytes)
{
	struct script_vm *vm = context;
	bool is_strings = block && block == vm->strings_block;
	void *got;

	if (bytes == 0) {
		if (block)
			arena_free(&vm->arena, block);
		return NULL;
	}
	if (bytes > SCRIPT_BLOCK_BYTES && !is_strings && (!block || bytes > old_bytes)) {
		enum script_result result =
			script_depth(vm) > DEEP_CALLS ? SCRIPT_TOO_DEEP : SCRIPT_OVER_MEMORY;

		if (bytes > SCRIPT_BLOCK_GRANT_BYTES)
			return refuse(vm, block, bytes, result);
		end_soon(vm, result);
	}
	got = block ? arena_resize(&vm->arena, block, bytes) : arena_alloc(&vm->arena, bytes);
	if (!got)
		return refuse(vm, block, bytes, SCRIPT_OVER_MEMORY);
	if (is_strings || (vm->booting && !vm->strings_block && !block && old_bytes == 0 &&
				  bytes == STRINGS_FIRST_BYTES))
		vm->strings_block = got;
	if (vm->arena.used_bytes > vm->soft_bytes)
		end_soon(vm, SCRIPT_OVER_MEMORY);
	return got;
}
