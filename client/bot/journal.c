#include "client/bot/journal.h"

#include <jansson.h>

#define N(value) ((json_int_t)(value))

/* Takes json. */
static void write_line(const struct journal_line *line, const struct swc_client *client,
	const char *event, json_t *json)
{
	json_t *head = json_pack("{s:I, s:I, s:I, s:s}", "bot", N(line->bot), "line", N(line->line),
		"character", N(swc_self(client)->character_id), "event", event);

	if (json)
		json_object_update(head, json);
	json_dumpf(head, line->file, JSON_COMPACT | JSON_PRESERVE_ORDER);
	fputc('\n', line->file);
	json_decref(head);
	json_decref(json);
}

static json_t *slots(const struct swc_stack *stacks, uint32_t count)
{
	json_t *list = json_array();

	for (uint32_t i = 0; i < count; i++)
		json_array_append_new(list, json_pack("[I, I, I]", N(stacks[i].slot),
						    N(stacks[i].item), N(stacks[i].count)));
	return list;
}

static json_t *offer(const struct trader_offer *offer)
{
	return json_pack(
		"{s:I, s:o}", "gold", N(offer->gold), "items", slots(offer->pile, offer->piles));
}

static json_t *deal_json(const struct trader_deal *deal)
{
	return json_pack("{s:I, s:I, s:s, s:o, s:o}", "trade", N(deal->trade), "version",
		N(deal->version), "partner", deal->partner_name, "gives", offer(&deal->own), "gets",
		offer(&deal->other));
}

void journal_deal(const struct journal_line *line, const struct swc_client *client,
	const char *what, const struct trader_deal *deal)
{
	if (line->file)
		write_line(line, client, what, deal_json(deal));
}

void journal_end(const struct journal_line *line, const struct swc_client *client, const char *how)
{
	if (line->file)
		write_line(line, client, "end", json_pack("{s:s}", "how", how));
}

void journal_event(const struct journal_line *line, const struct swc_client *client,
	const struct swc_event *event, const struct trader_deal *deal)
{
	json_t *json;

	if (!line->file)
		return;
	switch (event->type) {
	case SWC_EVENT_QUEUED:
		write_line(line, client, "queued",
			json_pack("{s:I, s:I, s:I}", "state", N(event->queued.state), "position",
				N(event->queued.position), "wait_ms", N(event->queued.wait_ms)));
		break;
	case SWC_EVENT_JOINED:
		write_line(
			line, client, "joined", json_pack("{s:s}", "map", swc_self(client)->map));
		break;
	case SWC_EVENT_DETAIL:
		write_line(line, client, "detail",
			json_pack("{s:I, s:I, s:I, s:I}", "gold", N(event->detail.gold),
				"experience", N(event->detail.experience), "gold_pending",
				N(event->detail.gold_pending), "experience_pending",
				N(event->detail.experience_pending)));
		break;
	case SWC_EVENT_INVENTORY:
		write_line(line, client, "inventory",
			json_pack("{s:o}", "slots",
				slots(event->inventory.stacks, event->inventory.count)));
		break;
	case SWC_EVENT_TRADE_ENDED:
		json = deal->trade == event->trade_ended.trade ? deal_json(deal) : json_object();
		json_object_set_new(json, "trade", json_integer(N(event->trade_ended.trade)));
		json_object_set_new(
			json, "reason", json_string(swc_trade_end_name(event->trade_ended.reason)));
		write_line(line, client, "trade_end", json);
		break;
	case SWC_EVENT_DISCONNECTED:
		journal_end(line, client,
			event->disconnected.by_us ? "LEFT"
			: event->disconnected.timed_out
				? "TIMED_OUT"
				: swc_reason_name(event->disconnected.reason));
		break;
	default:
		break;
	}
}
