/* Orders about chat: the chat thread carries them out, and answers. */
#include <stdio.h>
#include <string.h>

#include "common/handle.h"
#include "control/orders_internal.h"

void order_chat(struct ctl *ctl, const struct order *order, uint64_t now_ns)
{
	struct msg_order body = {.role = order->role, .words = order->words};
	struct msg_buffer buffer;
	uint8_t *at;

	if (!ctl->chat) {
		order_answer(ctl, order, ORDER_UNAVAILABLE, "this node has no chat");
		return;
	}
	if (!order_keep(ctl, order, now_ns, "chat did not answer in time", false))
		return;
	memcpy(body.author, order->author, sizeof(body.author));
	for (uint32_t i = 0; i < order->words; i++)
		body.words_bytes += (uint32_t)strlen(order->word[i]) + 1;
	at = msg_begin(buffer.slot, MSG_CHAT_ORDER, HANDLE_NONE,
		(uint32_t)sizeof(body) + body.words_bytes);
	memcpy(at, &body, sizeof(body));
	at += sizeof(body);
	for (uint32_t i = 0; i < order->words; i++) {
		size_t bytes = strlen(order->word[i]) + 1;

		memcpy(at, order->word[i], bytes);
		at += bytes;
	}
	buffer.slot->subject = order->id;
	ctl_to_chat(ctl, buffer.slot);
}

void orders_chat_answered(struct ctl *ctl, const struct msg *message)
{
	struct kept_order *kept = order_kept(ctl, message->subject);
	struct msg_order_answer body;
	char text[ORDER_TEXT_BYTES + 1];

	memset(&body, 0, sizeof(body));
	memcpy(&body, msg_payload(message),
		message->payload_bytes < sizeof(body) ? 0 : sizeof(body));
	if (message->type != MSG_CHAT_ORDER_ANSWER ||
		!ctl_fits(ctl, message, sizeof(body) + body.text_bytes) ||
		body.text_bytes > ORDER_TEXT_BYTES || !kept)
		return; /* answered at its deadline */
	memcpy(text, msg_payload(message) + sizeof(body), body.text_bytes);
	text[body.text_bytes] = 0;
	order_kept_end(ctl, kept, (enum order_result)body.result, text);
}
