#include "client/bot/report.h"

#include <errno.h>
#include <stdio.h>
#include <string.h>

#include <jansson.h>

void report_totals(const struct bot *bots, uint32_t count, struct totals *totals)
{
	char why[256];

	*totals = (struct totals){.bots = count};
	for (uint32_t i = 0; i < count; i++) {
		const struct bot *bot = &bots[i];
		const struct swc_stats *stats;

		totals->well += bot_well(bot, why, sizeof(why));
		totals->trades += bot->trader.ended[SWC_TRADE_DONE];
		totals->parties += bot->fellow.joined;
		if (!bot->client)
			continue;
		stats = swc_stats(bot->client);
		totals->connected += bot->connected;
		totals->joined += bot->joined;
		totals->playing += swc_state(bot->client) == SWC_PLAYING;
		totals->closed += bot->closed;
		totals->queued += bot->queued;
		if (bot->queued && bot->queue_wait_ms > totals->longest_wait_ms)
			totals->longest_wait_ms = bot->queue_wait_ms;
		totals->refused += bot->refused;
		totals->unconfirmed += bot->left_by_us && bot->timed_out;
		totals->updates += stats->updates;
		totals->entity_states += stats->entity_states;
		totals->enters += stats->enters;
		totals->leaves += stats->leaves;
		totals->reliable_lost += stats->reliable_lost;
		totals->corrections += stats->corrections;
		totals->inputs += stats->inputs;
		totals->unreadable += bot_refusals(bot);
		totals->rtt_ms_sum += stats->rtt_ms;
	}
}

static json_t *position(int32_t x_mm, int32_t y_mm)
{
	return json_pack("{s:i, s:i}", "x_mm", x_mm, "y_mm", y_mm);
}

#define N(value) ((json_int_t)(value))

/* How often each of the names came; those that never did are left out. */
static json_t *named(const uint64_t counts[TRADER_NAMES_MAX], const char *(*name)(uint32_t))
{
	json_t *json = json_object();

	for (uint32_t i = 0; i < TRADER_NAMES_MAX; i++)
		if (counts[i])
			json_object_set_new(json, name(i), json_integer(N(counts[i])));
	return json;
}

static json_t *party_json(const struct fellow *fellow)
{
	return json_pack("{s:i, s:i, s:i, s:i, s:i, s:i, s:i, s:i}", "differing",
		(int)fellow->differing, "joined", (int)fellow->joined, "asked", (int)fellow->asked,
		"answers", (int)fellow->answers, "done", (int)fellow->results[0], "states",
		(int)fellow->told, "lives", (int)fellow->lives, "odd", (int)fellow->odd);
}

static json_t *chat_json(const struct talker *talker)
{
	json_t *refused = json_object();

	for (uint32_t i = 0; i < TALKER_REFUSALS_MAX; i++)
		if (talker->refused[i])
			json_object_set_new(refused, swc_chat_refusal_name(i),
				json_integer((json_int_t)talker->refused[i]));
	return json_pack("{s:i, s:i, s:i, s:i, s:o, s:i, s:i, s:i, s:i, s:I, s:i, s:i, s:I, s:I}",
		"said", (int)talker->said, "whispers", (int)talker->whispers, "joins",
		(int)talker->joins, "done", (int)talker->done, "refused", refused, "heard",
		(int)talker->heard, "whispered", (int)talker->whispered, "own", (int)talker->own,
		"came", (int)talker->came, "missed", N(talker->missed), "owners",
		(int)talker->owners, "disorder", (int)talker->disorder, "delay_us_mean",
		N(talker->own ? talker->delay_ns / talker->own / 1000 : 0), "delay_us_max",
		N(talker->delay_ns_max / 1000));
}

static json_t *trades_json(const struct trader *trader)
{
	json_t *fates = json_object();

	for (uint32_t i = 0; i < TRADER_FATE_COUNT; i++)
		if (trader->fates[i])
			json_object_set_new(
				fates, trader_fate_name(i), json_integer(N(trader->fates[i])));
	return json_pack("{s:I, s:o, s:o, s:o}", "begun", N(trader->begun), "ended",
		named(trader->ended, swc_trade_end_name), "refused",
		named(trader->denied, swc_denied_name), "meant", fates);
}

static json_t *comebacks_json(const struct comeback *comeback)
{
	json_t *json = json_object();

#define CAUSE(name, text)                                                                          \
	if (comeback->causes[COMEBACK_##name])                                                     \
		json_object_set_new(                                                               \
			json, #name, json_integer(N(comeback->causes[COMEBACK_##name])));
	COMEBACK_CAUSES(CAUSE)
	return json;
}

static json_t *bot_json(const struct bot *bot)
{
	const struct swc_self *self;
	const struct swc_stats *stats;
	json_t *json, *unreadable;
	char why[256];
	bool well = bot_well(bot, why, sizeof(why));

	if (!bot->client)
		return json_pack("{s:i, s:b, s:s}", "bot", (int)bot->index, "well", 0, "why", why);
	self = swc_self(bot->client);
	stats = swc_stats(bot->client);
	json = json_pack("{s:I, s:I, s:I, s:b, s:s, s:b, s:b, s:b, s:b}", "bot", N(bot->index),
		"character_id", N(self->character_id), "actor_id", N(self->actor_id), "well", well,
		"why", why, "connected", bot->connected, "admitted", bot->admitted, "joined",
		bot->joined, "detail", bot->detailed);
	if (bot->queue_told)
		json_object_set_new(json, "queue",
			json_pack("{s:I, s:I, s:I}", "told", N(bot->queue_told), "position_max",
				N(bot->queue_position_max), "position", N(bot->queue_position)));
	if (bot->joined) {
		json_object_set_new(json, "map", json_string(self->map));
		json_object_set_new(json, "join", position(bot->first_x_mm, bot->first_y_mm));
		json_object_set_new(json, "died", json_boolean(bot->died));
		json_object_set_new(json, "last", position(self->server_x_mm, self->server_y_mm));
		json_object_set_new(json, "last_tick", json_integer(N(self->server_tick)));
		json_object_set_new(json, "in_view", json_integer(N(swc_actors(bot->client))));
	}
	json_object_update_new(json,
		json_pack("{s:I, s:I, s:I, s:I, s:I, s:I, s:I, s:I, s:I, s:I, s:I, s:I, s:I, s:I, "
			  "s:I}",
			"updates", N(stats->updates), "entity_states", N(stats->entity_states),
			"view_changes", N(stats->view_changes), "enters", N(stats->enters),
			"leaves", N(stats->leaves), "players_entered", N(bot->players_entered),
			"reliable_lost", N(stats->reliable_lost), "leaves_unknown",
			N(stats->leaves_unknown), "states_unknown", N(stats->states_unknown),
			"states_old", N(stats->states_old), "inputs", N(stats->inputs),
			"corrections", N(stats->corrections), "correction_mm_max",
			N(stats->correction_mm_max), "rtt_ms", N(stats->rtt_ms), "clicks",
			N(bot->clicks)));
	json_object_set_new(json, "silence_ms_max", json_integer(N(bot->silence_ns_max / 1000000)));
	json_object_set_new(json, "quests_done", json_integer(N(quester_done(&bot->quester))));
	json_object_set_new(json, "gold", json_integer(N(bot->gold)));
	unreadable = json_object();
#define COUNT(name, text)                                                                          \
	if (stats->refused[SWC_REFUSAL_##name])                                                    \
		json_object_set_new(                                                               \
			unreadable, #name, json_integer(N(stats->refused[SWC_REFUSAL_##name])));
	SWC_REFUSALS(COUNT)
	json_object_set_new(json, "unreadable", unreadable);
	if (bot->refused)
		json_object_set_new(
			json, "refused", json_string(swc_reason_name(bot->refused_reason)));
	if (bot->closed) {
		json_object_set_new(json, "disconnect",
			json_string(bot->timed_out && bot->left_by_us ? "LEFT_UNCONFIRMED"
				    : bot->timed_out                  ? "TIMED_OUT"
				    : bot->left_by_us                 ? "LEFT"
						      : swc_reason_name(bot->disconnect_reason)));
		json_object_set_new(json, "disconnect_text", json_string(bot->end_text));
	}
	if (bot->options->trade)
		json_object_set_new(json, "trades", trades_json(&bot->trader));
	if (bot->options->party)
		json_object_set_new(json, "party", party_json(&bot->fellow));
	if (bot->options->chat)
		json_object_set_new(json, "chat", chat_json(&bot->talker));
	if (bot->options->returns || bot->options->pass)
		json_object_set_new(json, "comebacks", comebacks_json(&bot->comeback));
	if (bot->options->pass)
		json_object_set_new(json, "passes",
			json_pack("{s:i, s:i}", "shown", (int)bot->passes, "good",
				(int)bot->passes_good));
	if (bot->redirects)
		json_object_set_new(json, "redirects",
			json_pack("{s:i, s:i}", "sent", (int)bot->redirects, "came_back",
				(int)bot->came_back));
	if (bot->challenges)
		json_object_set_new(json, "challenges", json_integer(N(bot->challenges)));
	if (bot->has_dialogue)
		json_object_set_new(json, "dialogue", json_string(bot->dialogue));
	return json;
}

/* All bots' trades by name. */
static json_t *all_trades(const struct bot *bots, uint32_t count)
{
	struct trader all = {0};

	for (uint32_t i = 0; i < count; i++) {
		const struct trader *trader = &bots[i].trader;

		all.begun += trader->begun;
		for (uint32_t j = 0; j < TRADER_NAMES_MAX; j++) {
			all.ended[j] += trader->ended[j];
			all.denied[j] += trader->denied[j];
		}
		for (uint32_t j = 0; j < TRADER_FATE_COUNT; j++)
			all.fates[j] += trader->fates[j];
	}
	return trades_json(&all);
}

static json_t *all_comebacks(const struct bot *bots, uint32_t count)
{
	struct comeback all = {0};

	for (uint32_t i = 0; i < count; i++)
		for (uint32_t j = 0; j < COMEBACK_CAUSE_COUNT; j++)
			all.causes[j] += bots[i].comeback.causes[j];
	return comebacks_json(&all);
}

int report_write(const char *path, const struct bot *bots, uint32_t count)
{
	json_t *list = json_array(), *json;
	struct totals totals;
	int error;

	for (uint32_t i = 0; i < count; i++)
		json_array_append_new(list, bot_json(&bots[i]));
	report_totals(bots, count, &totals);
	json = json_pack(
		"{s:{s:I, s:I, s:I, s:I, s:I, s:I, s:I, s:I, s:I, s:I, s:I, s:I, s:I}, s:o}",
		"totals", "bots", N(totals.bots), "well", N(totals.well), "connected",
		N(totals.connected), "joined", N(totals.joined), "refused", N(totals.refused),
		"updates", N(totals.updates), "enters", N(totals.enters), "leaves",
		N(totals.leaves), "reliable_lost", N(totals.reliable_lost), "corrections",
		N(totals.corrections), "inputs", N(totals.inputs), "unreadable",
		N(totals.unreadable), "leaves_unconfirmed", N(totals.unconfirmed), "bots", list);
	if (!json)
		return -ENOMEM;
	if (count && bots->options->trade)
		json_object_set_new(json, "trades", all_trades(bots, count));
	if (count && (bots->options->returns || bots->options->pass))
		json_object_set_new(json, "comebacks", all_comebacks(bots, count));
	errno = 0;
	error = json_dump_file(json, path, JSON_INDENT(1) | JSON_PRESERVE_ORDER);
	json_decref(json);
	return error ? (errno ? -errno : -EIO) : 0;
}

static const json_t *by_character(const json_t *list, uint64_t character_id)
{
	size_t i;
	json_t *entry;

	json_array_foreach(list, i, entry)
	{
		if ((uint64_t)json_integer_value(json_object_get(entry, "character_id")) ==
			character_id)
			return entry;
	}
	return NULL;
}

int report_compare(const char *path, struct bot *bots, uint32_t count)
{
	json_error_t error;
	json_t *json = json_load_file(path, 0, &error);
	int differ = 0;

	if (!json || !json_is_array(json_object_get(json, "bots"))) {
		fprintf(stderr, "stormweir-bot: %s: not a report: %s\n", path,
			json ? "it has no list of bots" : error.text);
		json_decref(json);
		return -1;
	}
	for (uint32_t i = 0; i < count; i++) {
		struct bot *bot = &bots[i];
		const struct swc_self *self = bot->client ? swc_self(bot->client) : NULL;
		const json_t *before, *last;
		json_int_t x, y;

		if (!bot->joined)
			continue; /* not well in any case */
		before = by_character(json_object_get(json, "bots"), self->character_id);
		if (json_is_true(json_object_get(before, "died")))
			continue; /* it may have been on its way back to life */
		last = json_object_get(before, "last");
		x = json_integer_value(json_object_get(last, "x_mm"));
		y = json_integer_value(json_object_get(last, "y_mm"));
		if (!last)
			snprintf(bot->mismatch, sizeof(bot->mismatch), "is not in %.80s", path);
		else if (x != bot->first_x_mm || y != bot->first_y_mm)
			snprintf(bot->mismatch, sizeof(bot->mismatch),
				"joined at %d, %d mm; was last at %lld, %lld mm", bot->first_x_mm,
				bot->first_y_mm, (long long)x, (long long)y);
		else
			continue;
		differ++;
	}
	json_decref(json);
	return differ;
}
