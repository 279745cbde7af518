#include "control/orders.h"

#include <inttypes.h>
#include <stdarg.h>
#include <stdlib.h>
#include <string.h>
#include <time.h>

#include <sodium.h>

#include "common/handle.h"
#include "common/log.h"
#include "common/mono.h"
#include "control/control_internal.h"

struct order {
	uint64_t id;
	char author[ORDER_AUTHOR_BYTES];
	uint32_t words;
	const char *word[ORDERS_WORDS_MAX];
	char what[AUDIT_TEXT_BYTES];
};

/* ---- answers and the audit ---- */

/* At most so many bytes, and no part of a UTF-8 character. */
static uint32_t cut(const char *text, uint32_t max)
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
	body.what_bytes = (uint16_t)cut(what, AUDIT_TEXT_BYTES);
	body.outcome_bytes = (uint16_t)cut(text, AUDIT_TEXT_BYTES);
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
		.result = result, .text_bytes = cut(text, ORDER_TEXT_BYTES)};
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

__attribute__((format(printf, 4, 5))) static void answer(struct ctl *ctl, const struct order *order,
	enum order_result result, const char *format, ...)
{
	char text[ORDER_TEXT_BYTES];
	va_list args;

	va_start(args, format);
	vsnprintf(text, sizeof(text), format, args);
	va_end(args);
	conclude(ctl, order->id, order->author, order->what, result, text);
}

/* ---- orders that wait for somebody ---- */

/* NULL, after an answer: too many wait. */
static struct kept_order *keep(
	struct ctl *ctl, const struct order *order, uint64_t now_ns, const char *late, bool good)
{
	struct kept_order *kept = ctl->orders.kept;

	while (kept < ctl->orders.kept + ORDERS_KEPT_MAX && kept->id)
		kept++;
	if (kept == ctl->orders.kept + ORDERS_KEPT_MAX) {
		answer(ctl, order, ORDER_UNAVAILABLE, "too many orders wait");
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

static void kept_end(
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
			kept_end(ctl, k, k->late_good ? ORDER_DONE : ORDER_UNAVAILABLE, k->late);
}

/* ---- instance open, close ---- */

static void tell_opened(struct ctl *ctl, uint32_t id, char *text, size_t bytes)
{
	const struct config_map *map =
		&ctl->config->maps[instance_definition(ctl->config, instance_slot(id))];
	uint32_t shard = 0;

	director_runs(ctl->director, id, &shard);
	snprintf(text, bytes, "instance %u.%u of %s is open on shard %u", instance_slot(id),
		instance_generation(id), map->name, shard);
	if (map->kind != CONFIG_MAP_ROOM && map->close_after_s)
		snprintf(text + strlen(text), bytes - strlen(text),
			"; it closes by itself when it was empty for %u s and is one too many",
			map->close_after_s);
	else if (map->kind == CONFIG_MAP_ROOM)
		snprintf(text + strlen(text), bytes - strlen(text), "; it ends by its rule, %s",
			map->rule);
}

void orders_opened(void *ctx, uint32_t definition, uint32_t id)
{
	struct ctl *ctl = ctx;
	struct kept_order *first = NULL;
	char text[256];

	for (struct kept_order *k = ctl->orders.kept; k < ctl->orders.kept + ORDERS_KEPT_MAX; k++)
		if (k->id && k->definition == definition && (!first || k->id < first->id))
			first = k;
	if (!first)
		return; /* answered at its deadline */
	if (id == INSTANCE_NONE) {
		kept_end(ctl, first, ORDER_REFUSED,
			"no instance could be prepared (then the log says why), or players took "
			"the last one that may run");
		return;
	}
	tell_opened(ctl, id, text, sizeof(text));
	kept_end(ctl, first, ORDER_DONE, text);
}

static void instance_open(struct ctl *ctl, const struct order *order, uint64_t now_ns)
{
	const char *name = order->word[2];
	uint32_t definition = 0, id;
	enum director_refusal refusal;
	struct kept_order *kept;
	char text[256];

	while (definition < ctl->config->map_count &&
		strcmp(ctl->config->maps[definition].name, name) != 0)
		definition++;
	if (definition == ctl->config->map_count) {
		answer(ctl, order, ORDER_REFUSED, "there is no map %s", name);
		return;
	}
	kept = keep(ctl, order, now_ns, "it is being prepared and takes longer than usual", false);
	if (!kept)
		return;
	kept->definition = definition;
	refusal = director_open(ctl->director, definition, now_ns, &id);
	if (refusal != DIRECTOR_REFUSED_NONE) {
		kept_end(ctl, kept, ORDER_REFUSED, director_refusal_text(refusal));
	} else if (id != INSTANCE_NONE) {
		tell_opened(ctl, id, text, sizeof(text));
		kept_end(ctl, kept, ORDER_DONE, text);
	}
}

static bool id_read(const char *word, uint32_t *id)
{
	unsigned slot, generation;
	int used = 0;

	if (sscanf(word, "%3u.%8u%n", &slot, &generation, &used) != 2 || word[used] ||
		slot >= CONFIG_INSTANCES_MAX || !generation || generation > UINT32_MAX >> 8)
		return false;
	*id = instance_id(slot, generation);
	return true;
}

static void instance_close(struct ctl *ctl, const struct order *order, uint64_t now_ns)
{
	enum director_refusal refusal;
	uint32_t id;

	(void)now_ns;
	if (!id_read(order->word[2], &id)) {
		answer(ctl, order, ORDER_USAGE,
			"\"%s\" is no instance: its slot and generation are meant, as in 3.1",
			order->word[2]);
		return;
	}
	refusal = director_close(ctl->director, id);
	if (refusal != DIRECTOR_REFUSED_NONE) {
		answer(ctl, order, ORDER_REFUSED, "%s", director_refusal_text(refusal));
		return;
	}
	answer(ctl, order, ORDER_DONE, "instance %u.%u takes nobody more; %s", instance_slot(id),
		instance_generation(id),
		ctl->config->maps[instance_definition(ctl->config, instance_slot(id))].kind ==
				CONFIG_MAP_ROOM
			? "its match plays to its end"
			: "its players go to other instances of its map, and it ends");
}

/* ---- kick, player ---- */

static bool player_of(
	struct ctl *ctl, const struct order *order, uint64_t now_ns, struct adm_player *player)
{
	if (adm_player(ctl->adm, order->word[1], now_ns, player))
		return true;
	answer(ctl, order, ORDER_REFUSED, "no player %s is on this node", order->word[1]);
	return false;
}

static void kick(struct ctl *ctl, const struct order *order, uint64_t now_ns)
{
	struct adm_player player;

	if (!player_of(ctl, order, now_ns, &player))
		return;
	if (adm_kick(ctl->adm, player.session, now_ns))
		answer(ctl, order, ORDER_DONE,
			"%s (character %" PRIu64 ") is saved and disconnected", player.name,
			player.character_id);
	else
		answer(ctl, order, ORDER_REFUSED, "%s is leaving already (session %s)", player.name,
			player.state);
}

static void place_text(
	const struct ctl *ctl, const struct adm_player *player, char *text, size_t bytes)
{
	uint32_t definition = instance_definition(ctl->config, instance_slot(player->instance));

	if (player->instance == INSTANCE_NONE || definition >= ctl->config->map_count)
		snprintf(text, bytes, "on no map");
	else
		snprintf(text, bytes, "%s, instance %u.%u, shard %u",
			ctl->config->maps[definition].name, instance_slot(player->instance),
			instance_generation(player->instance), player->shard);
}

static void player(struct ctl *ctl, const struct order *order, uint64_t now_ns)
{
	struct msg_writes_query query = {.request = order->id};
	struct kept_order *kept;
	struct adm_player who;
	struct msg message;
	char place[128];

	if (!player_of(ctl, order, now_ns, &who))
		return;
	kept = keep(
		ctl, order, now_ns, "not saved     not known: the world thread did not say", true);
	if (!kept)
		return;
	place_text(ctl, &who, place, sizeof(place));
	snprintf(kept->text, sizeof(kept->text),
		"character     %" PRIu64 " %s, account %" PRIu64 ", realm %u\n"
		"session       %s for %" PRIu64 " s, %s, handle %016" PRIx64 ", peer %016" PRIx64
		"\n"
		"place         %s, %u maps before it\n"
		"epoch         %" PRIu64 "\n",
		who.character_id, who.name, who.account_id, who.realm_id, who.state,
		(uint64_t)(who.since_ns / NS_PER_S), who.connected ? "connected" : "peer gone",
		who.session, who.peer, place, who.stay, who.epoch);
	query.character_id = who.character_id;
	query.realm_id = who.realm_id;
	memcpy(msg_begin(&message, MSG_WRITES_QUERY, HANDLE_NONE, sizeof(query)), &query,
		sizeof(query));
	ctl_push(ctl, ctl_world_outbox(ctl), &message);
}

void orders_writes(struct ctl *ctl, const struct msg *message)
{
	struct msg_writes_result body;
	char text[256];

	if (message->payload_bytes != sizeof(body))
		return;
	memcpy(&body, msg_payload(message), sizeof(body));
	snprintf(text, sizeof(text), "not saved     %u commits, %s%s%s", body.commits,
		body.saves ? "a position" : "no position",
		body.links < body.links_max ? "; PostgreSQL is away, see /health" : "",
		!body.commits && !body.saves ? " (what its shard still keeps is not counted)" : "");
	for (struct kept_order *k = ctl->orders.kept; k < ctl->orders.kept + ORDERS_KEPT_MAX; k++)
		if (k->id && k->id == body.request)
			kept_end(ctl, k, ORDER_DONE, text);
}

/* ---- record ---- */

static void record_start(struct ctl *ctl, const struct order *order, uint64_t now_ns)
{
	(void)now_ns;
	answer(ctl, order, ORDER_REFUSED,
		"a recording begins with the server: a replay needs what its shard began with. Set "
		"simulation.record and start the node anew; end it with record stop");
}

static void record_stop(struct ctl *ctl, const struct order *order, uint64_t now_ns)
{
	uint32_t shards = 0;

	(void)now_ns;
	if (ctl->links.record_stop)
		shards = ctl->links.record_stop(ctl->links.record_ctx);
	if (shards)
		answer(ctl, order, ORDER_DONE,
			"the recordings of %u shards end; the log names their files", shards);
	else
		answer(ctl, order, ORDER_REFUSED, "nothing is being recorded");
}

/* ---- which order it is ---- */

static const struct command {
	const char *verb, *object; /* object NULL: the second word is an argument */
	uint32_t words;            /* at least */
	bool more;                 /* words that say why may follow */
	const char *usage;
	void (*run)(struct ctl *ctl, const struct order *order, uint64_t now_ns);
} commands[] = {
	{"instance", "open", 3, false, "instance open MAP", instance_open},
	{"instance", "close", 3, true, "instance close SLOT.GENERATION [why]", instance_close},
	{"kick", NULL, 2, true, "kick PLAYER [why]", kick},
	{"player", NULL, 2, false, "player PLAYER", player},
	{"record", "start", 2, false, "record start", record_start},
	{"record", "stop", 2, false, "record stop", record_stop},
};

#define COMMANDS (sizeof(commands) / sizeof(commands[0]))

static void usage(struct ctl *ctl, const struct order *order, const struct command *command)
{
	char text[512] = "";

	for (size_t i = 0; i < COMMANDS; i++)
		if (!command || command == &commands[i])
			snprintf(text + strlen(text), sizeof(text) - strlen(text), "%s%s",
				text[0] ? "; " : "", commands[i].usage);
	answer(ctl, order, ORDER_USAGE, "%s: %s",
		command ? "the order is" : "there is no such order, but", text);
}

static void run(struct ctl *ctl, const struct order *order, uint64_t now_ns)
{
	for (size_t i = 0; i < COMMANDS; i++) {
		const struct command *c = &commands[i];

		if (strcmp(c->verb, order->word[0]) != 0 ||
			(c->object && (order->words < 2 || strcmp(c->object, order->word[1]) != 0)))
			continue;
		if (order->words < c->words || (order->words > c->words && !c->more))
			usage(ctl, order, c);
		else if (ctl->state != CTL_READY)
			answer(ctl, order, ORDER_UNAVAILABLE, "the server is %s",
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

	if (message->type != MSG_ORDER || message->payload_bytes < sizeof(body))
		return;
	memcpy(&body, msg_payload(message), sizeof(body));
	if (body.words_bytes != message->payload_bytes - sizeof(body))
		return;
	memcpy(order.author, body.author, sizeof(order.author) - 1);
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
		answer(ctl, &order, ORDER_USAGE, "an order has 1 to %u words", ORDERS_WORDS_MAX);
	else
		run(ctl, &order, now_ns);
}
