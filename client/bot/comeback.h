/* comeback.h: a bot's connection ends, by its own will or not, and it comes again with the next of
 * its tickets (--returns). A second connection may be made while the first one still hears, as when
 * a player connects from elsewhere. */
#ifndef SWC_BOT_COMEBACK_H
#define SWC_BOT_COMEBACK_H

#include <stdbool.h>
#include <stdint.h>

#include "client/bot/journal.h"
#include "client/bot/trader.h"

struct bot;

/* How it went. X(name in the report, what) */
#define COMEBACK_CAUSES(X)                                                                         \
	X(left, "it left in good order")                                                           \
	X(vanished, "it closed at once")                                                           \
	X(muted, "it fell silent")                                                                 \
	X(replaced, "it connected a second time")                                                  \
	X(silence, "it heard nothing")                                                             \
	X(ended, "the connection ended, or was refused")

#define COMEBACK_ENUM(name, text) COMEBACK_##name,
enum comeback_cause { COMEBACK_CAUSES(COMEBACK_ENUM) COMEBACK_CAUSE_COUNT };

struct comeback {
	uint64_t random;
	struct swc_client *old; /* an earlier connection that is not closed yet; else NULL */
	struct trader_deal old_deal;
	struct journal_line old_line;
	bool old_mute, old_ended;
	uint64_t again_ns; /* when it connects again; 0: not */
	uint32_t ticket;   /* which of its tickets is next */
	bool leaving;      /* for good */
	uint32_t causes[COMEBACK_CAUSE_COUNT];
	/* of connections that are closed */
	uint64_t reliable_lost, leaves_unknown, unreadable;
	const char *unreadable_why; /* of the last that was unreadable; NULL */
};

/* The bot gives its connection up, for a cause that is not `ended`. Returns whether it did: it has
 * a ticket to come again with. Not from inside swc_service. */
bool comeback_drop(struct bot *bot, enum comeback_cause cause, uint64_t now_ns);

/* Its connection has ended (DISCONNECTED). */
void comeback_ended(struct bot *bot, uint64_t now_ns);

/* Connects again when it is time. Returns 1 when it did (the client and its socket are new), 0, or
 * a negative errno. */
int comeback_due(struct bot *bot, uint64_t now_ns);

/* Services the earlier connection. */
void comeback_service(struct bot *bot, uint64_t now_ns);

/* The bot leaves for good. */
void comeback_leave(struct bot *bot);

/* Frees both clients. */
void comeback_close(struct bot *bot);

#endif
