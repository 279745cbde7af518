/* options.h: what a load generator is told; testpmd's spellings where they fit. */
#ifndef SW_PERF_GEN_OPTIONS_H
#define SW_PERF_GEN_OPTIONS_H

#include <stdio.h>

#include "perf/gen/flow.h"
#include "perf/gen/game.h"

struct gen_options {
	struct flow_config flow;
	bool raw;  /* frames that come back are sent again; no ENet */
	bool game; /* players (game.h) and not echoes */
	enum game_walk walk;
	char tickets[256]; /* file of the players' tickets */
	uint32_t login_rate, hz, settle_s;
	uint32_t chat_rate; /* lines a second, once marked */
	uint32_t storm, storm_rate, give_up_s;
	char port[128];
	char from[32], to[32]; /* addresses; from is the first client's */
	uint32_t from_port, to_port;
	uint32_t ports_per_address; /* clients beyond it have the next address */
	uint8_t to_mac[6];          /* all zero: asked for with ARP */
	uint32_t burst, rxd, txd, mbufs;
	uint32_t attacks; /* the flood is of attack.h */
	uint32_t flood;   /* CONNECTs a second from invented sources beside the clients */
	uint32_t count;   /* of messages; flow.count is the same */
	uint32_t seconds, stats_period_s;
	bool interactive;
};

/* Fills *options from argv (argv[0] is skipped). kernel: without the options of DPDK ports. Returns
 * 0, 1 after --help was printed to stdout, or -EINVAL after the fault was named on errors. */
int gen_options(struct gen_options *options, bool kernel, int argc, char **argv, FILE *errors);

#endif
