/* report.h: what happened, as JSON, and the comparison with what happened before. */
#ifndef SWC_BOT_REPORT_H
#define SWC_BOT_REPORT_H

#include "client/bot/bot.h"

struct totals {
	uint32_t bots, well, connected, joined, playing, closed, refused;
	uint32_t queued, longest_wait_ms; /* that wait now, and how long by what they were told */
	uint32_t unconfirmed;             /* leaves that the server did not acknowledge in 5 s */
	uint64_t updates, entity_states, enters, leaves, reliable_lost, corrections, unreadable,
		inputs, trades, parties;
	uint64_t rtt_ms_sum;
};

void report_totals(const struct bot *bots, uint32_t count, struct totals *totals);

/* Writes the report. Returns 0 or a negative errno. */
int report_write(const char *path, const struct bot *bots, uint32_t count);

/* Compares where each character joined with where it was last in the report at path; sets mismatch
 * of each bot that differs or is not in it. Returns the number that differ, or -1 after saying on
 * stderr why the report cannot be read. */
int report_compare(const char *path, struct bot *bots, uint32_t count);

#endif
