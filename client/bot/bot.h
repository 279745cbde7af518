/* bot.h: one bot: a client, what it does, and what happened to it. One thread for all bots. */
#ifndef SWC_BOT_BOT_H
#define SWC_BOT_BOT_H

#include "client/bot/maps.h"
#include "client/bot/options.h"
#include "client/bot/tickets.h"
#include "client/bot/walker.h"
#include "client/stormweir.h"

struct bot {
	struct swc_client *client; /* NULL before its turn to connect */
	const struct options *options;
	struct walker walker;
	struct walker detour; /* to the NPC, where a wall stands between */
	uint64_t detour_ns;   /* until then */
	uint32_t index;
	bool ready; /* its socket is readable */
	bool connected, admitted, joined, detailed, closed;
	bool left_by_us, timed_out;
	uint32_t refused_reason, disconnect_reason;
	bool refused;
	char end_text[256];
	uint32_t players_entered, actors_left;
	uint64_t now_ns, update_ns, silence_ns_max; /* longest time between two updates */
	uint32_t joins;                             /* maps joined on this connection */
	int32_t first_x_mm, first_y_mm;             /* where it joined the first of them */
	bool died;
	uint32_t cards, cards_given, results, wins; /* in battles */
	/* clicking */
	uint32_t npc_actor;
	uint64_t click_ns; /* when it may click (again) */
	uint32_t clicks;
	bool has_dialogue;
	/* fighting */
	uint64_t strike_ns; /* when it may strike or pick up (again) */
	uint32_t strikes, kills;
	int64_t gold, gold_pending; /* by the last detail */
	char dialogue[1024];
	char mismatch[128]; /* --expect-positions: what differs; empty if nothing */
};

/* Begins to connect. Returns 0 or a negative errno of swc_open. */
int bot_open(struct bot *bot, uint32_t index, const struct options *options,
	const struct maps *maps, const struct ticket *ticket);

/* Services the client and decides where to walk. walk is false when all bots are to stand still. */
void bot_step(struct bot *bot, uint64_t now_ns, bool walk);

/* Whether this bot did what the options want. Writes the first thing that is wrong to why, or "".
 */
bool bot_well(const struct bot *bot, char *why, size_t why_bytes);

/* Packets and messages that could not be read, all kinds together. */
uint64_t bot_refusals(const struct bot *bot);

#endif
