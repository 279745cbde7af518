#include "control/chat/chat_orders.h"

#include <stdarg.h>
#include <stdio.h>
#include <string.h>

#include "common/handle.h"
#include "control/chat/chat_internal.h"

void chat_order_answer(
	struct chat *chat, uint64_t id, enum order_result result, const char *format, ...)
{
	struct msg_order_answer body = {.result = result};
	char text[ORDER_TEXT_BYTES];
	struct msg *message = chat->out;
	va_list args;
	uint8_t *at;
	int bytes;

	va_start(args, format);
	bytes = vsnprintf(text, sizeof(text), format, args);
	va_end(args);
	body.text_bytes = bytes < (int)sizeof(text) ? (uint32_t)bytes : sizeof(text) - 1;
	at = msg_begin(message, MSG_CHAT_ORDER_ANSWER, HANDLE_NONE,
		(uint32_t)sizeof(body) + body.text_bytes);
	memcpy(at, &body, sizeof(body));
	memcpy(at + sizeof(body), text, body.text_bytes);
	message->subject = id;
	outbox_push(&chat->to_control, message); /* lost: answered at its deadline */
}

void chat_orders_take(struct chat *chat, const struct msg *message)
{
	chat_order_answer(chat, message->subject, ORDER_UNAVAILABLE, "not yet");
}
