/* Log lines and errors on their way to the log thread: a ring of one writer and one reader. */
#include "simulation/script/vm.h"

#include <stdio.h>
#include <string.h>

#include "common/handle.h"

void script_text_push(struct script_vm *vm, enum script_text_kind kind, enum script_result result,
	const char *text, size_t bytes)
{
	uint32_t head = atomic_load_explicit(&vm->text_head, memory_order_relaxed);
	struct script_text *slot = &vm->texts[head % SCRIPT_TEXTS];
	struct script_actor player;

	/* Log lines leave half of the room to errors. */
	if (head - atomic_load_explicit(&vm->text_tail, memory_order_acquire) >=
		(kind == SCRIPT_TEXT_LOG ? SCRIPT_TEXTS / 2 : SCRIPT_TEXTS)) {
		counter_add(&vm->values[SCRIPT_COUNT_TEXTS_LOST], 1);
		return;
	}
	if (bytes > sizeof(slot->text) - 1)
		bytes = sizeof(slot->text) - 1;
	slot->kind = kind;
	slot->result = result;
	slot->context = vm->context;
	slot->npc_index = vm->running_npc;
	slot->player = vm->running_player;
	slot->tick = vm->context == SCRIPT_CONTEXT_LOAD ? 0 : vm->ops->tick(vm->ctx);
	slot->version = vm->config.version;
	slot->handler = NULL;
	slot->npc_name[0] = slot->player_name[0] = '\0';
	if (vm->text_event) {
		slot->handler = script_handler_rows[vm->text_event->handler].name;
		if (vm->text_event->declaration < vm->declared_count)
			memcpy(slot->npc_name, vm->declared[vm->text_event->declaration].name,
				SCRIPT_NAME_BYTES);
	}
	if (vm->running_npc < vm->npc_count)
		memcpy(slot->npc_name, vm->npcs[vm->running_npc].npc.name, SCRIPT_NAME_BYTES);
	if (vm->running_player != HANDLE_NONE &&
		vm->ops->actor(vm->ctx, vm->running_player, &player))
		memcpy(slot->player_name, player.name, SCRIPT_NAME_BYTES);
	slot->bytes = (uint32_t)bytes;
	for (size_t i = 0; i < bytes; i++) /* one record cannot look like two lines of the log */
		slot->text[i] = (unsigned char)text[i] < 32 && text[i] != '\t' &&
						(text[i] != '\n' || kind == SCRIPT_TEXT_LOG)
					? ' '
					: text[i];
	slot->text[bytes] = '\0';
	atomic_store_explicit(&vm->text_head, head + 1, memory_order_release);
}

void script_text_title(const struct script_text *text, char *line, size_t line_bytes)
{
	const char *context = script_context_name(text->context);

	snprintf(line, line_bytes, "%s in %s%s%s%s%s%s%s%s, script version %u",
		text->kind == SCRIPT_TEXT_ERROR ? script_result_name(text->result) : "log",
		text->handler ? text->handler : context, text->handler ? " (" : "",
		text->handler ? context : "", text->handler ? ")" : "",
		text->npc_name[0] ? " of " : "", text->npc_name,
		text->player_name[0] ? " for " : "", text->player_name, text->version);
}

bool script_vm_text_pop(struct script_vm *vm, struct script_text *text)
{
	uint32_t tail = atomic_load_explicit(&vm->text_tail, memory_order_relaxed);

	if (atomic_load_explicit(&vm->text_head, memory_order_acquire) == tail)
		return false;
	*text = vm->texts[tail % SCRIPT_TEXTS];
	atomic_store_explicit(&vm->text_tail, tail + 1, memory_order_release);
	return true;
}
