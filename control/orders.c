#include "control/orders.h"

#include <stdarg.h>
#include <string.h>
#include <time.h>

#include <sodium.h>

#include "common/handle.h"
#include "common/log.h"
#include "common/mono.h"
#include "control/orders_internal.h"

/* ---- answers and the audit ---- */

uint32_t order_cut(const char *text, uint32_t max)
{
	size_t bytes = strnlen(text, (size_t)max + 1);

	if (bytes <= max)
		return (uint32_t)bytes;
	while (max && ((unsigned char)text[max] & 0xc0) == 0x80)
		max--;
	return max;
}

static void audit(
	struct ctl *ctl, const char *author, const char *what, bool good, const char *text)
{
	struct msg_audit body = {.good = good, .kind = "command"};
	struct msg_buffer buffer;
	struct timespec now;
	uint8_t *at;

	clock_gettime(CLOCK_REALTIME, &now);
	body.at_ms = (int64_t)now.tv_sec * 1000 + now.tv_nsec / 1000000;
	randombytes_buf(body.id, sizeof(body.id));
	memcpy(body.author, author, sizeof(body.author));
	body.what_bytes = (uint16_t)order_cut(what, AUDIT_TEXT_BYTES);
	body.outcome_bytes = (uint16_t)order_cut(text, AUDIT_TEXT_BYTES);
	at = msg_begin(buffer.slot, MSG_AUDIT, HANDLE_NONE,
		(uint32_t)sizeof(body) + body.what_bytes + body.outcome_bytes);
	memcpy(at, &body, sizeof(body));
	memcpy(at + sizeof(body), what, body.what_bytes);
	memcpy(at + sizeof(body) + body.what_bytes, text, body.outcome_bytes);
	ctl_push(ctl, ctl_world_outbox(ctl), buffer.slot);
}

static void send_answer(struct ctl *ctl, uint64_t id, enum order_result result, const char *text)
{
	struct msg_order_answer body = {
		.result = result, .text_bytes = order_cut(text, ORDER_TEXT_BYTES)};
	struct msg_buffer buffer;
	uint8_t *at = msg_begin(buffer.slot, MSG_ORDER_ANSWER, HANDLE_NONE,
		(uint32_t)sizeof(body) + body.text_bytes);

	memcpy(at, &body, sizeof(body));
	memcpy(at + sizeof(body), text, body.text_bytes);
	buffer.slot->subject = id;
	/* It holds the answers to all orders that may be under way. */
	if (!msg_ring_push(ctl->links.to_ops, buffer.slot)) {
		counter_add(&ctl->counters[CTL_C_LOST], 1);
		return;
	}
	ctl->links.order_answered(ctl->links.order_ctx, id);
}

static void conclude(struct ctl *ctl, uint64_t id, const char *author, const char *what,
	enum order_result result, const char *text)
{
	counter_add(
		&ctl->counters[result == ORDER_DONE ? CTL_C_ORDERS_DONE : CTL_C_ORDERS_REFUSED], 1);
	sw_log(SW_LOG_INFO, "control", "order of %s: %s: %s: %s", author, what,
		result == ORDER_DONE ? "done" : "not done", text);
	audit(ctl, author, what, result == ORDER_DONE, text);
	send_answer(ctl, id, result, text);
}

void order_answer(struct ctl *ctl, const struct order *order, enum order_result result,
	const char *format, ...)
{
	char text[ORDER_TEXT_BYTES];
	va_list args;

	va_start(args, format);
	vsnprintf(text, sizeof(text), format, args);
	va_end(args);
	conclude(ctl, order->id, order->author, order->what, result, text);
}

/* ---- orders that wait for somebody ---- */

struct kept_order *order_keep(
	struct ctl *ctl, const struct order *order, uint64_t now_ns, const char *late, bool good)
{
	struct kept_order *kept = ctl->orders.kept;

	while (kept < ctl->orders.kept + ORDERS_KEPT_MAX && kept->id)
		kept++;
	if (kept == ctl->orders.kept + ORDERS_KEPT_MAX) {
		order_answer(ctl, order, ORDER_UNAVAILABLE, "too many orders wait");
		return NULL;
	}
	*kept = (struct kept_order){.id = order->id,
		.deadline_ns = now_ns + ORDERS_KEEP_MS * NS_PER_MS,
		.definition = DIRECTOR_NO_DEFINITION,
		.late_good = good};
	memcpy(kept->author, order->author, sizeof(kept->author));
	memcpy(kept->what, order->what, sizeof(kept->what));
	snprintf(kept->late, sizeof(kept->late), "%s", late);
	return kept;
}

struct kept_order *order_kept(struct ctl *ctl, uint64_t id)
{
	for (struct kept_order *k = ctl->orders.kept; k < ctl->orders.kept + ORDERS_KEPT_MAX; k++)
		if (k->id && k->id == id)
			return k;
	return NULL;
}

void order_kept_end(
	struct ctl *ctl, struct kept_order *kept, enum order_result result, const char *more)
{
	size_t bytes = strlen(kept->text);

	snprintf(kept->text + bytes, sizeof(kept->text) - bytes, "%s", more);
	conclude(ctl, kept->id, kept->author, kept->what, result, kept->text);
	kept->id = 0;
}

void orders_tick(struct ctl *ctl, uint64_t now_ns)
{
	for (struct kept_order *k = ctl->orders.kept; k < ctl->orders.kept + ORDERS_KEPT_MAX; k++)
		if (k->id && (now_ns >= k->deadline_ns || ctl_state(ctl) != CTL_READY))
			order_kept_end(
				ctl, k, k->late_good ? ORDER_DONE : ORDER_UNAVAILABLE, k->late);
}

/* ---- record ---- */

static void record_start(struct ctl *ctl, const struct order *order, uint64_t now_ns)
{
	(void)now_ns;
	order_answer(ctl, order, ORDER_REFUSED,
		"a recording begins with the server: a replay needs the state that it begins at, "
		"and "
		"that of a running shard, the heaps of its scripts among it, cannot be written "
		"down (docs/decisions.md). Set simulation.record and start the node anew; end it "
		"with record stop");
}

static void record_stop(struct ctl *ctl, const struct order *order, uint64_t now_ns)
{
	uint32_t shards = 0;

	(void)now_ns;
	if (ctl->links.record_stop)
		shards = ctl->links.record_stop(ctl->links.record_ctx);
	if (shards)
		order_answer(ctl, order, ORDER_DONE,
			"the recordings of %u shards end; the log names their files", shards);
	else
		order_answer(ctl, order, ORDER_REFUSED, "nothing is being recorded");
}

/* ---- which order it is ---- */

static const struct command {
	const char *verb, *object; /* object NULL: the second word is an argument */
	uint32_t words;            /* at least */
	bool more;                 /* words that say why may follow */
	enum operator_role role;   /* at least */
	const char *usage;
	void (*run)(struct ctl *ctl, const struct order *order, uint64_t now_ns);
} commands[] = {
	{"instance", "open", 3, false, OPERATOR_OPERATE, "instance open MAP", order_instance_open},
	{"instance", "close", 3, true, OPERATOR_OPERATE, "instance close SLOT.GENERATION [why]",
		order_instance_close},
	{"kick", NULL, 2, true, OPERATOR_OPERATE, "kick PLAYER [why]", order_kick},
	{"ledger", "grant", 7, true, OPERATOR_ADMIN,
		"ledger grant CHARACTER gold|experience|item:NUMBER|single:NUMBER AMOUNT REQUEST why",
		order_ledger_grant},
	{"ledger", "take", 7, true, OPERATOR_ADMIN,
		"ledger take CHARACTER gold|experience|item:NUMBER|single:NUMBER AMOUNT REQUEST why",
		order_ledger_take},
	{"ledger", "reverse", 4, true, OPERATOR_ADMIN, "ledger reverse REQUEST why",
		order_ledger_reverse},
	{"party", NULL, 2, false, OPERATOR_READ, "party PARTY|PLAYER", order_party},
	{"player", NULL, 2, false, OPERATOR_READ, "player PLAYER", order_player},
	{"record", "start", 2, false, OPERATOR_ADMIN, "record start", record_start},
	{"record", "stop", 2, false, OPERATOR_ADMIN, "record stop", record_stop},
	{"script", "list", 2, false, OPERATOR_READ, "script list", order_script_list},
	{"script", "errors", 3, false, OPERATOR_READ, "script errors MAP|all", order_script_errors},
	{"script", "profile", 3, false, OPERATOR_READ, "script profile MAP|all",
		order_script_profile},
	{"script", "reload", 3, true, OPERATOR_OPERATE, "script reload MAP|all [why]",
		order_script_reload},
	{"script", "release", 3, true, OPERATOR_OPERATE, "script release MAP|all [NAME]",
		order_script_release},
	{"script", "rollback", 3, true, OPERATOR_OPERATE, "script rollback MAP|all [why]",
		order_script_rollback},
	{"gate", "close", 2, true, OPERATOR_OPERATE, "gate close [why]", order_gate_close},
	{"gate", "open", 2, true, OPERATOR_OPERATE, "gate open [why]", order_gate_open},
	{"gate", "throttle", 3, true, OPERATOR_OPERATE, "gate throttle RATE [why]",
		order_gate_throttle},
	{"gate", "status", 2, false, OPERATOR_READ, "gate status", order_gate_status},
	{"chat", "announce", 3, true, OPERATOR_OPERATE, "chat announce TEXT", order_chat},
	{"chat", "mute", 4, true, OPERATOR_OPERATE, "chat mute PLAYER MINUTES [why]", order_chat},
	{"chat", "ban", 5, true, OPERATOR_OPERATE, "chat ban PLAYER CHANNEL MINUTES [why]",
		order_chat},
	{"chat", "slow", 4, true, OPERATOR_OPERATE, "chat slow CHANNEL SECONDS [why]", order_chat},
	{"chat", "history", 3, false, OPERATOR_READ, "chat history CHANNEL", order_chat},
	{"chat", "reports", 2, false, OPERATOR_READ, "chat reports", order_chat},
	{"chat", "close", 3, true, OPERATOR_OPERATE, "chat close REPORT [why]", order_chat},
	{"chat", "erase", 3, true, OPERATOR_ADMIN, "chat erase CHARACTER [why]", order_chat},
};

#define COMMANDS (sizeof(commands) / sizeof(commands[0]))

static void usage(struct ctl *ctl, const struct order *order, const struct command *command)
{
	char text[2048] = "";

	for (size_t i = 0; i < COMMANDS; i++)
		if (!command || command == &commands[i])
			snprintf(text + strlen(text), sizeof(text) - strlen(text), "%s%s",
				text[0] ? "; " : "", commands[i].usage);
	order_answer(ctl, order, ORDER_USAGE, "%s: %s",
		command ? "the order is" : "there is no such order, but", text);
}

static void forbid(struct ctl *ctl, const struct order *order, const struct command *command)
{
	static const char *const names[OPERATOR_ROLE_COUNT] = {
#define NAME(id, name, meaning) name,
		OPERATOR_ROLES(NAME)
#undef NAME
	};

	counter_add(&ctl->counters[CTL_C_ORDERS_FORBIDDEN], 1);
	order_answer(ctl, order, ORDER_FORBIDDEN, "it needs the role %s, and this token has %s",
		names[command->role],
		order->role < OPERATOR_ROLE_COUNT ? names[order->role] : "none");
}

static void run(struct ctl *ctl, const struct order *order, uint64_t now_ns)
{
	for (size_t i = 0; i < COMMANDS; i++) {
		const struct command *c = &commands[i];

		if (strcmp(c->verb, order->word[0]) != 0 ||
			(c->object && (order->words < 2 || strcmp(c->object, order->word[1]) != 0)))
			continue;
		if (order->role < c->role || order->role >= OPERATOR_ROLE_COUNT)
			forbid(ctl, order, c);
		else if (order->words < c->words || (order->words > c->words && !c->more))
			usage(ctl, order, c);
		else if (ctl->state != CTL_READY)
			order_answer(ctl, order, ORDER_UNAVAILABLE, "the server is %s",
				ctl_state_name(ctl_state(ctl)));
		else
			c->run(ctl, order, now_ns);
		return;
	}
	usage(ctl, order, NULL);
}

void orders_take(struct ctl *ctl, const struct msg *message, uint64_t now_ns)
{
	const char *at = (const char *)msg_payload(message) + sizeof(struct msg_order), *end;
	struct order order = {.id = message->subject};
	struct msg_order body;
	size_t used = 0;

	memset(&body, 0, sizeof(body));
	memcpy(&body, msg_payload(message),
		message->payload_bytes < sizeof(body) ? 0 : sizeof(body));
	if (message->type != MSG_ORDER || !ctl_fits(ctl, message, sizeof(body) + body.words_bytes))
		return;
	memcpy(order.author, body.author, sizeof(order.author) - 1);
	order.role = body.role;
	end = at + body.words_bytes;
	for (; at < end && order.words < ORDERS_WORDS_MAX; at += strlen(at) + 1) {
		if (!memchr(at, 0, (size_t)(end - at)))
			break;
		order.word[order.words++] = at;
		used += (size_t)snprintf(
			order.what + used, sizeof(order.what) - used, "%s%s", used ? " " : "", at);
		if (used >= sizeof(order.what))
			used = sizeof(order.what) - 1;
	}
	if (!order.words || at < end)
		order_answer(
			ctl, &order, ORDER_USAGE, "an order has 1 to %u words", ORDERS_WORDS_MAX);
	else
		run(ctl, &order, now_ns);
}
