/* options.h: the bot's command line. */
#ifndef SWC_BOT_OPTIONS_H
#define SWC_BOT_OPTIONS_H

#include <stdbool.h>
#include <stdint.h>

#define REASON_ANY UINT32_MAX

struct options {
	const char *server, *tickets, *report, *expect_positions, *click, *travel, *maps, *journal;
	uint16_t port;
	uint32_t bots, first_ticket;
	uint64_t run_ns; /* 0: until SIGINT */
	uint64_t stand_still_last_ns, leave_over_ns, connect_timeout_ns, silence_ns, vanish_ns;
	uint32_t connects_per_s;
	uint32_t expect_enters, expect_leaves, expect_moves, expect_results, expect_trades,
		expect_quests, expect_parties, expect_lines;
	uint32_t returns; /* each bot has so many tickets more */
	uint32_t expect_refused,
		expect_disconnect; /* enum sw_disconnect_reason; REASON_ANY: none */
	uint32_t protocol_version;
	uint64_t seed;
	bool still, show, checksum, portals, fight, pick, quests, trade, party, chat, pass,
		until_well, no_redirects;
};

/* Returns 0; 1 when --help was answered; -1 after saying on stderr what is wrong. */
int options_parse(struct options *options, int argc, char **argv);

#endif
