/* Orders about the gate of the cluster. */
#include <stdio.h>
#include <string.h>

#include "control/orders_internal.h"

void orders_gate(void *ctx, uint64_t id, bool good, const char *text)
{
	struct ctl *ctl = ctx;
	struct kept_order *kept = order_kept(ctl, id);
	char more[ORDER_TEXT_BYTES];

	if (!kept)
		return; /* answered at its deadline */
	snprintf(more, sizeof(more), "%s%s", good ? "; before it was " : ": Redis: ", text);
	order_kept_end(ctl, kept, good ? ORDER_DONE : ORDER_UNAVAILABLE, more);
}

/* why: the words from this one on. */
static void gate_say(struct ctl *ctl, const struct order *order, uint64_t now_ns,
	enum gate_state state, uint32_t rate, uint32_t why)
{
	struct kept_order *kept = order_keep(
		ctl, order, now_ns, ": Redis did not answer in time; see gate status", false);
	char reason[ORDER_WORDS_BYTES + 1] = "";

	if (!kept)
		return;
	for (uint32_t i = why; i < order->words; i++)
		snprintf(reason + strlen(reason), sizeof(reason) - strlen(reason), "%s%s",
			i > why ? " " : "", order->word[i]);
	reason[order_cut(reason, GATE_TEXT_BYTES - 1)] = 0;
	snprintf(kept->text, sizeof(kept->text), "the gate of all nodes is %s",
		gate_state_name(state));
	if (state == GATE_THROTTLED)
		snprintf(kept->text + strlen(kept->text), sizeof(kept->text) - strlen(kept->text),
			" to %u a second", rate);
	if (!gate_link_order(ctl->gate_link, state, rate, order->author, reason, order->id))
		order_kept_end(ctl, kept, ORDER_UNAVAILABLE, ": it is not, Redis is away");
}

void order_gate_close(struct ctl *ctl, const struct order *order, uint64_t now_ns)
{
	gate_say(ctl, order, now_ns, GATE_CLOSED, 0, 2);
}

void order_gate_open(struct ctl *ctl, const struct order *order, uint64_t now_ns)
{
	gate_say(ctl, order, now_ns, GATE_OPEN, 0, 2);
}

void order_gate_throttle(struct ctl *ctl, const struct order *order, uint64_t now_ns)
{
	unsigned rate;
	int used = 0;

	if (sscanf(order->word[2], "%7u%n", &rate, &used) != 1 || order->word[2][used] || !rate ||
		rate > ctl->config->admission.rate) {
		order_answer(ctl, order, ORDER_USAGE,
			"\"%s\" is no rate: 1 to %u a second (admission.rate)", order->word[2],
			ctl->config->admission.rate);
		return;
	}
	gate_say(ctl, order, now_ns, GATE_THROTTLED, rate, 3);
}

void order_gate_status(struct ctl *ctl, const struct order *order, uint64_t now_ns)
{
	char text[512];

	(void)now_ns;
	gate_link_health(ctl->gate_link, text, sizeof(text));
	order_answer(ctl, order, ORDER_DONE, "%s", text);
}
