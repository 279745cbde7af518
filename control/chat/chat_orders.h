/* chat_orders: what operators order of chat (orders.h). Each is answered with a text, at once or
 * when PostgreSQL has it. Thread: the chat thread. */
#ifndef SW_CONTROL_CHAT_CHAT_ORDERS_H
#define SW_CONTROL_CHAT_CHAT_ORDERS_H

#include "common/msg.h"

struct chat;

/* MSG_CHAT_ORDER. */
void chat_orders_take(struct chat *chat, const struct msg *message);
/* The end of one. */
__attribute__((format(printf, 4, 5))) void chat_order_answer(
	struct chat *chat, uint64_t id, enum order_result result, const char *format, ...);

#endif
