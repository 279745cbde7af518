/* journal.h: what the server has confirmed to bots, a JSON object a line, written when it was heard
 * and never changed: after a crash of the server it is compared with the database
 * (tests/e2e/belongings.py).
 *
 *   every line    bot, line (number of the bot's connection, from 1), character, event
 *   queued        state, position, wait_ms (character is 0: it is not told yet)
 *   joined        map
 *   detail        gold, experience (kept), gold_pending, experience_pending
 *   inventory     slots: [[slot, item, count], ...], all
 *   confirm       this bot confirms: trade, version, partner (name), gives, gets
 *   under_way     both have: the same
 *   trade_end     trade, reason (name), and what under_way has, as it was told last
 *   end           of the connection: how
 *
 * gives and gets are {gold, items: [[slot, item, count], ...]}. */
#ifndef SWC_BOT_JOURNAL_H
#define SWC_BOT_JOURNAL_H

#include <stdio.h>

#include "client/bot/trader.h"
#include "client/stormweir.h"

/* Who writes. */
struct journal_line {
	FILE *file; /* NULL: nothing is written */
	uint32_t bot, line;
};

/* An event, if it is one of the above. deal: the trade before the event. */
void journal_event(const struct journal_line *line, const struct swc_client *client,
	const struct swc_event *event, const struct trader_deal *deal);

void journal_deal(const struct journal_line *line, const struct swc_client *client,
	const char *what, const struct trader_deal *deal);

void journal_end(const struct journal_line *line, const struct swc_client *client, const char *how);

#endif
