/* lists.h: why a trade's message is refused, and why a trade ends. The enums, the counters, the
 * wire (ActionRefusal, TradeEndReason of proto/client.proto, same names) and the tests grow from
 * here. */
#ifndef SW_SIMULATION_TRADE_LISTS_H
#define SW_SIMULATION_TRADE_LISTS_H

// clang-format off

/* A refused message changes nothing. X(NAME, name of the counter, help) */
#define TRADE_REFUSALS(X)                                                                          \
	X(NOT_A_PLAYER,  "not_a_player",  "trade message refused: one trades with players only")                   \
	X(ONESELF,       "oneself",       "trade message refused: one does not trade with oneself")             \
	X(BUSY,          "busy",          "trade message refused: the sender trades already")                   \
	X(PARTNER_BUSY,  "partner_busy",  "trade message refused: the other one trades already")                \
	X(PARTNER_AWAY,  "partner_away",  "trade message refused: the other one cannot trade now: loading, leaving or dead") \
	X(OUT_OF_REACH,  "out_of_reach",  "trade message refused: the other one is too far away")               \
	X(ENDED,         "ended",         "trade message refused: names a trade that has ended or is not the sender's") \
	X(NOT_ACCEPTED,  "not_accepted",  "trade message refused: the other one has not accepted yet")          \
	X(UNDER_WAY,     "under_way",     "trade message refused: the trade is being carried out")              \
	X(NO_SUCH_KIND,  "no_such_kind",  "trade message refused: an offer of an unknown kind")                 \
	X(AMOUNT,        "amount",        "trade message refused: an amount that is not above zero, or gold below zero") \
	X(NOT_OWNED,     "not_owned",     "trade message refused: nothing is in the slot that was named")       \
	X(RESERVED,      "reserved",      "trade message refused: what is in the slot is bound by another change under way") \
	X(NOT_ENOUGH,    "not_enough",    "trade message refused: more than the sender has")                    \
	X(NOT_TRADABLE,  "not_tradable",  "trade message refused: an item that does not change hands")          \
	X(OFFER_FULL,    "offer_full",    "trade message refused: the offer holds as many piles as it may")     \
	X(NOT_OFFERED,   "not_offered",   "trade message refused: takes back what was not offered")             \
	X(OLD_VERSION,   "old_version",   "trade message refused: confirms another version of the offers")      \
	X(NOTHING,       "nothing",       "trade message refused: confirms two empty offers")                   \
	X(NO_ROOM,       "no_room",       "trade message refused: a bag has no room for what it would get")     \
	X(TOO_MUCH_GOLD, "too_much_gold", "trade message refused: more gold than one may own")

/* X(NAME, value on the wire, name of the counter, help) */
#define TRADE_ENDS(X)                                                                              \
	X(DONE,           1, "done",           "trades carried out")                                            \
	X(DECLINED,       2, "declined",       "trades ended: the one who was asked did not want to")           \
	X(CANCELLED,      3, "cancelled",      "trades ended: one of the two called it off")                    \
	X(LEFT,           4, "left",           "trades ended: one of the two left the map")                     \
	X(AWAY,           5, "away",           "trades ended: one of the two died, or could not trade for another reason") \
	X(APART,          6, "apart",          "trades ended: the two went too far apart")                      \
	X(IDLE,           7, "idle",           "trades ended: one of the two did nothing for too long")         \
	X(CHANGED,        8, "changed",        "trades ended: what was offered is not there any more, or the room for it") \
	X(UNAVAILABLE,    9, "unavailable",    "trades ended: the database could not carry it out now; nothing was changed") \
	X(REFUSED,       10, "refused",        "trades ended: the database refused it; nothing was changed")
// clang-format on

#define TRADE_REFUSAL_ENUM(name, counter, help) TRADE_REFUSAL_##name,
enum trade_refusal { TRADE_REFUSALS(TRADE_REFUSAL_ENUM) TRADE_TAKEN };
#define TRADE_REFUSAL_COUNT ((uint32_t)TRADE_TAKEN)

#define TRADE_END_ENUM(name, value, counter, help) TRADE_END_##name = value,
enum trade_end { TRADE_ENDS(TRADE_END_ENUM) TRADE_END_LAST };

#endif
