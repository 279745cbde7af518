/* orders_internal: what the parts of orders share: orders.c (answers, the audit, orders that wait,
 * which order it is), orders_instances.c, orders_ledger.c, orders_players.c, orders_gate.c. Control
 * thread. */
#ifndef SW_CONTROL_ORDERS_INTERNAL_H
#define SW_CONTROL_ORDERS_INTERNAL_H

#include "control/control_internal.h"

struct order {
	uint64_t id;
	char author[ORDER_AUTHOR_BYTES];
	uint32_t role; /* enum operator_role */
	uint32_t words;
	const char *word[ORDERS_WORDS_MAX];
	char what[AUDIT_TEXT_BYTES]; /* the words, as one text */
};

/* ---- orders.c ---- */

/* How much of the text is at most so many bytes, and no part of a UTF-8 character. */
uint32_t order_cut(const char *text, uint32_t max);

/* The end of an order: said to whoever gave it, logged, and written down. */
__attribute__((format(printf, 4, 5))) void order_answer(struct ctl *ctl, const struct order *order,
	enum order_result result, const char *format, ...);

/* The order waits for somebody; with `late` it is answered at its deadline (good: as DONE). NULL,
 * after an answer: too many wait. */
struct kept_order *order_keep(
	struct ctl *ctl, const struct order *order, uint64_t now_ns, const char *late, bool good);
/* One that waits; NULL: it has been answered. */
struct kept_order *order_kept(struct ctl *ctl, uint64_t id);
/* The answer is its text and more. */
void order_kept_end(
	struct ctl *ctl, struct kept_order *kept, enum order_result result, const char *more);

/* ---- orders_instances.c ---- */

void order_instance_open(struct ctl *ctl, const struct order *order, uint64_t now_ns);
void order_instance_close(struct ctl *ctl, const struct order *order, uint64_t now_ns);

/* ---- orders_ledger.c ---- */

void order_ledger_grant(struct ctl *ctl, const struct order *order, uint64_t now_ns);
void order_ledger_take(struct ctl *ctl, const struct order *order, uint64_t now_ns);
void order_ledger_reverse(struct ctl *ctl, const struct order *order, uint64_t now_ns);

/* ---- orders_players.c ---- */

void order_kick(struct ctl *ctl, const struct order *order, uint64_t now_ns);
void order_player(struct ctl *ctl, const struct order *order, uint64_t now_ns);
void order_party(struct ctl *ctl, const struct order *order, uint64_t now_ns);

/* ---- scripts.c ---- */

void order_script_list(struct ctl *ctl, const struct order *order, uint64_t now_ns);
void order_script_errors(struct ctl *ctl, const struct order *order, uint64_t now_ns);
void order_script_profile(struct ctl *ctl, const struct order *order, uint64_t now_ns);
void order_script_reload(struct ctl *ctl, const struct order *order, uint64_t now_ns);
void order_script_release(struct ctl *ctl, const struct order *order, uint64_t now_ns);
void order_script_rollback(struct ctl *ctl, const struct order *order, uint64_t now_ns);

/* ---- orders_gate.c ---- */

void order_gate_close(struct ctl *ctl, const struct order *order, uint64_t now_ns);
void order_gate_open(struct ctl *ctl, const struct order *order, uint64_t now_ns);
void order_gate_throttle(struct ctl *ctl, const struct order *order, uint64_t now_ns);
void order_gate_status(struct ctl *ctl, const struct order *order, uint64_t now_ns);

/* ---- orders_chat.c ---- */

void order_chat(struct ctl *ctl, const struct order *order, uint64_t now_ns);

#endif
