/* bot.h: one bot: a client, what it does, and what happened to it. One thread for all bots. */
#ifndef SWC_BOT_BOT_H
#define SWC_BOT_BOT_H

#include "client/bot/comeback.h"
#include "client/bot/fellow.h"
#include "client/bot/journal.h"
#include "client/bot/maps.h"
#include "client/bot/options.h"
#include "client/bot/quester.h"
#include "client/bot/tickets.h"
#include "client/bot/talker.h"
#include "client/bot/trader.h"
#include "client/bot/walker.h"
#include "client/stormweir.h"

#define BOT_LEFT_ALONE 8u

struct bot {
	struct swc_client
		*client; /* NULL before its turn to connect, and between two connections */
	const struct options *options;
	const struct maps *maps;
	const struct ticket *tickets; /* its own: each options->bots-th */
	struct walker walker;
	struct walker detour; /* to the NPC, where a wall stands between */
	uint64_t detour_ns;   /* until then */
	uint32_t index;
	bool ready; /* its socket is readable */
	bool connected, admitted, joined, detailed, closed;
	bool left_by_us, timed_out;
	uint32_t refused_reason, disconnect_reason;
	uint8_t pass[SWC_PASS_BYTES_MAX]; /* to come again with */
	uint32_t pass_bytes;              /* 0: none that is good */
	bool with_pass;                   /* this connection came with one */
	bool ticket_used;                 /* the one whose turn it is */
	uint64_t vanish_ns;               /* when it vanishes next; 0: not known yet */
	uint32_t passes, passes_good;     /* shown; of these, admitted */
	uint32_t challenges;              /* it was asked to work */
	uint32_t redirects, came_back;    /* it was sent to another node; not let in there */
	uint32_t retry_ms;       /* of a refusal: the same ticket may be tried again after that */
	bool refused, was_there; /* ... on a map, on any connection */
	char end_text[256];
	/* the queue */
	bool queued;                                         /* waits now */
	uint32_t queue_state, queue_position, queue_wait_ms; /* as it was told last */
	uint32_t queue_told, queue_position_max;             /* on all connections */
	uint8_t place[SWC_PLACE_BYTES_MAX]; /* for the next connection, if this one breaks */
	uint32_t place_bytes;
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
	uint64_t truce_ns;  /* nothing is struck until then */
	bool truce;
	/* Loot that the server would not give (somebody else's, or the bag is full): left alone. */
	struct {
		uint32_t actor_id;
		uint64_t until_ns;
	} left_alone[BOT_LEFT_ALONE];
	uint32_t picked, left_alone_next; /* picked: what it tried last */
	uint32_t strikes, kills;
	int64_t gold, gold_pending; /* by the last detail */
	struct quester quester;
	/* trading, and coming again */
	struct trader trader;
	struct fellow fellow;
	struct talker talker;
	struct journal_line journal;
	struct comeback comeback;
	uint64_t trip_ns; /* when it turns from staying to travelling, or back */
	bool trip;
	char dialogue[1024];
	char mismatch[128]; /* --expect-positions: what differs; empty if nothing */
};

/* A bot that is to connect. tickets: the first of it and all after it. journal may be NULL. */
void bot_init(struct bot *bot, uint32_t index, const struct options *options,
	const struct maps *maps, const struct ticket *tickets, FILE *journal);

/* Begins to connect with the ticket whose turn it is. Returns 0 or a negative errno of swc_open. */
int bot_connect(struct bot *bot);

/* When bot_step should run even if nothing arrives. */
uint64_t bot_due_ns(const struct bot *bot);

/* Services the client and decides what to do. walk is false when all bots are to stand still (and
 * begin nothing). */
void bot_step(struct bot *bot, uint64_t now_ns, bool walk);

/* Whether this bot did what the options want. Writes the first thing that is wrong to why, or "".
 */
bool bot_well(const struct bot *bot, char *why, size_t why_bytes);

/* Packets and messages that could not be read, all kinds together: of a client, of all of the
 * bot's. */
uint64_t bot_unreadable(const struct swc_client *client);
uint64_t bot_refusals(const struct bot *bot);

#endif
