/* trader.h: how a bot trades. It asks players near, or answers them; offers, changes its mind,
 * confirms; and, by chance, does what a dishonest or unlucky player does: calls it off, walks away,
 * goes through a portal, drops or moves what it has offered, loses its connection in the middle,
 * connects from elsewhere, says what may not be said. Pure: the same seed and the same events
 * decide the same. What it decides is carried out by its caller (struct trader_act). */
#ifndef SWC_BOT_TRADER_H
#define SWC_BOT_TRADER_H

#include <stdbool.h>
#include <stdint.h>

#include "client/stormweir.h"

#define TRADER_PILES_MAX 12u /* in one offer */
#define TRADER_NAMES_MAX 64u /* of ends and of refusals; see swc_denied_name */

/* How a trade that has begun is to go on. X(NAME, weight) */
#define TRADER_FATES(X)                                                                            \
	X(FINISH, 40)                                                                              \
	X(CANCEL, 6)                                                                               \
	X(WALK_OFF, 5)                                                                             \
	X(PORTAL, 6)                                                                               \
	X(DROP_OFFERED, 6)                                                                         \
	X(MOVE_OFFERED, 6)                                                                         \
	X(CHANGE_AFTER, 8)                                                                         \
	X(LEAVE, 7)                                                                                \
	X(VANISH, 8)                                                                               \
	X(REPLACE, 8)

#define TRADER_FATE_ENUM(name, weight) TRADER_FATE_##name,
enum trader_fate { TRADER_FATES(TRADER_FATE_ENUM) TRADER_FATE_COUNT };

/* What one side offers. */
struct trader_offer {
	int64_t gold;
	uint32_t piles;
	bool confirmed;
	struct swc_stack pile[TRADER_PILES_MAX];
};

/* A trade as a client was told of it last. trade 0: none. */
struct trader_deal {
	uint32_t trade, version, partner;
	enum swc_trade_phase phase;
	bool asked;
	char partner_name[SWC_NAME_BYTES];
	struct trader_offer own, other;
};

enum trader_act_kind {
	TRADER_NOTHING, /* it does not trade: the bot does something else */
	TRADER_STAND,
	TRADER_WALK,
	TRADER_ASK,
	TRADER_OFFER,
	TRADER_OFFER_GOLD,
	TRADER_CONFIRM,
	TRADER_CANCEL,
	TRADER_DROP,
	TRADER_MOVE,
	TRADER_TO_PORTAL,
	TRADER_LEAVE,   /* disconnects in good order, and comes again */
	TRADER_VANISH,  /* ... without waiting for anything */
	TRADER_REPLACE, /* connects a second time, while the first one still hears */
};

struct trader_act {
	enum trader_act_kind kind;
	uint32_t trade, version, actor, slot, to, count;
	int64_t gold;
	int dx, dy;
};

struct trader {
	uint64_t random;
	uint64_t act_ns;   /* when it acts next */
	uint64_t rest_ns;  /* until then it asks nobody */
	uint64_t since_ns; /* when the trade came to its phase, or what it waits for began */
	enum trader_fate fate;
	uint32_t acts_left;
	uint32_t fated; /* the trade whose fate was drawn */
	bool over;      /* the fate has been carried out */
	uint32_t vain;  /* confirmations of this trade that were refused */
	struct trader_deal deal;
	struct swc_stack bag[SWC_STACKS_MAX];
	uint32_t bag_count;
	int64_t gold;
	/* for the report */
	uint64_t begun, ended[TRADER_NAMES_MAX], denied[TRADER_NAMES_MAX], fates[TRADER_FATE_COUNT];
};

void trader_init(struct trader *trader, uint64_t seed, uint32_t index);

/* The connection is another one: no trade, nothing in hands. What was counted stays. */
void trader_again(struct trader *trader);

/* Brings a deal up to date with a TRADE event. */
void trader_deal_read(struct trader_deal *deal, const struct swc_event *event, const char *partner);

/* Takes TRADE, TRADE_ENDED, INVENTORY, DETAIL, JOINED and ACTION_DENIED; partner is the name of the
 * other one of a TRADE event. Others are ignored. */
void trader_event(struct trader *trader, const struct swc_event *event, const char *partner);

/* What to do now. self is alive and on a map; near: the nearest player in view, or NULL. */
struct trader_act trader_step(struct trader *trader, const struct swc_self *self,
	const struct swc_actor *near, uint64_t now_ns);

const char *trader_fate_name(enum trader_fate fate);

#endif
