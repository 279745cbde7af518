/* counters.h: what a shard counts, group "simulation". X(id, name, kind, help). Each refusal has
 * its name here; the lists below it add the refusals of client messages. */
#ifndef SW_SIMULATION_COUNTERS_H
#define SW_SIMULATION_COUNTERS_H

#include "common/counter.h"
#include "simulation/trade/lists.h"

// clang-format off

/* Why a client's message is not taken. X(id, name, help). Each is one malformed message. */
#define SIM_PARSE_REFUSALS(X)                                                                      \
	X(EMPTY,         "empty",         "message refused: no type byte")                         \
	X(UNKNOWN_TYPE,  "unknown_type",  "message refused: a type that no client sends to a map") \
	X(WRONG_CHANNEL, "wrong_channel", "message refused: not on the channel of its type")       \
	X(OVERSIZE,      "oversize",      "message refused: longer than any of its type")          \
	X(UNDECODABLE,   "undecodable",   "message refused: not the protobuf of its type")         \
	X(NO_INPUTS,     "no_inputs",     "input batch refused: it holds none")                    \
	X(MANY_INPUTS,   "many_inputs",   "input batch refused: more than 8 inputs")               \
	X(INPUT_RANGE,   "input_range",   "input batch refused: an axis outside -127..127")

/* Why an action is refused, in the order of ActionRefusal in client.proto, from 1; TRADE_REFUSALS
 * follow. X(id, name, help) */
#define SIM_ACTION_REFUSALS(X)                                                                     \
	X(NOT_READY,     "not_ready",     "action refused: the details are still loading")         \
	X(NO_SUCH_ACTOR, "no_such_actor", "action refused: no such actor in view")                 \
	X(TOO_FAR,       "too_far",       "action refused: out of reach")                          \
	X(NOT_AN_NPC,    "not_an_npc",    "click refused: it cannot be clicked")                   \
	X(TOO_OFTEN,     "too_often",     "action refused: too many in one tick")                  \
	X(SCRIPT_FAILED, "script_failed", "click refused: the script ended with an error")         \
	X(LEFT_MAP,      "left_map",      "action refused: meant for a map that was left")         \
	X(DEAD,          "dead",          "action refused: who is dead does nothing")              \
	X(TARGET_DEAD,   "target_dead",   "attack refused: the target is dead")                    \
	X(WRONG_TARGET,  "wrong_target",  "attack refused: it cannot be attacked")                 \
	X(COOLING_DOWN,  "cooling_down",  "attack refused: the last was too short a time ago")     \
	X(NO_SIGHT,      "no_sight",      "action refused: a wall is between")                     \
	X(SAFE_ZONE,     "safe_zone",     "attack refused: one of the two stands in a safe zone") \
	X(MAP_FULL,      "map_full",      "a way refused: the other map is full or not served here") \
	X(MAP_CLOSED,    "map_closed",    "a way refused: the room takes nobody any more") \
	X(NOT_YOURS, "not_yours", "pick-up refused: somebody else may take it first") \
	X(TAKEN, "taken", "pick-up refused: somebody is taking it") \
	X(BAG_FULL, "bag_full", "pick-up refused: no slot of the bag takes it") \
	X(NO_SUCH_SLOT, "no_such_slot", "action refused: there is no such slot, or it is twice the same") \
	X(EMPTY_SLOT, "empty_slot", "action refused: nothing lies in the slot") \
	X(WRONG_SLOT, "wrong_slot", "move refused: the item does not fit there") \
	X(NOT_ENOUGH, "not_enough", "action refused: there is less in the slot") \
	X(BUSY, "busy", "action refused: the slot is being changed, or too much is under way") \
	X(GROUND_FULL, "ground_full", "drop refused: no place on the ground is free") \
	X(NOT_KEPT, "not_kept", "action refused by the database")

/* The same in matches; they follow those of trades. */
#define SIM_MATCH_REFUSALS(X)                                                                      \
	X(NOT_BEGUN,     "not_begun",     "attack refused: the match has not begun, or is over")   \
	X(NO_OFFER,      "no_offer",      "card refused: none is offered to this player now")      \
	X(NO_SUCH_CARD,  "no_such_card",  "card refused: it was not among those offered")      \
	X(IN_MATCH,      "in_match",      "trade message refused: a match is fought here")

/* The same of dialogues and quests; they follow those of matches. */
#define SIM_QUEST_REFUSALS(X)                                                                      \
	X(NO_QUESTION,    "no_question",    "answer refused: that question is not asked any more, or has no such choice") \
	X(QUEST_UNKNOWN,  "quest_unknown",  "quest refused: there is none of that number, or its state cannot be read") \
	X(QUEST_NOT_OPEN, "quest_not_open", "quest refused: it is not begun, or done")

#define SIM_COUNTERS(X)                                                                            \
	X(PLAYERS,            "players",            COUNTER_GAUGE, "players on this shard's maps")                        \
	X(TICKS,              "ticks",              COUNTER_SUM,   "map ticks run")                                       \
	X(TICKS_SKIPPED,      "ticks_skipped",      COUNTER_SUM,   "ticks left out because the one before ended a whole period late") \
	X(TICKS_SKIPPED_OTHERS, "ticks_skipped_others", COUNTER_SUM, "... of them not by the map's own last tick, but by the shard's other maps, or by what held up its lcore") \
	X(OVERRUNS,           "overruns",           COUNTER_SUM,   "ticks whose work took longer than their period")      \
	X(OVERRUN_NS,         "overrun_ns",         COUNTER_SUM,   "by how much, in all")                                 \
	X(TICKS_WAITED,       "ticks_waited",       COUNTER_SUM,   "ticks that ended a period late although their stages took less: the lcore had other work, or was taken away") \
	X(SLICE_OVER_NS,      "slice_over_ns",      COUNTER_GAUGE, "most nominal nanoseconds that a slice went beyond simulation.slice: its last unit of work") \
	X(SLICES,             "slices",             COUNTER_SUM,   "slices of ticks run")                                 \
	X(JOINS,              "joins",              COUNTER_SUM,   "players placed on a map")                             \
	X(JOINS_REFUSED,      "joins_refused",      COUNTER_SUM,   "joins refused: unknown, full or closing map, stopping shard, or a peer that is taken") \
	X(LEAVES,             "leaves",             COUNTER_SUM,   "players taken off a map")                             \
	X(LEAVES_STALE,       "leaves_stale",       COUNTER_SUM,   "leaves of players that were not here (late or double)") \
	X(LEAVES_MALFORMED,   "leaves_malformed",   COUNTER_SUM,   "players disconnected for unreadable messages")        \
	X(LEAVES_SLOW,        "leaves_slow",        COUNTER_SUM,   "players disconnected because their reliable queue in the shard ran full") \
	X(OWED,               "owed",               COUNTER_GAUGE, "players with a message owed to a full ring, or still leaving") \
	X(ROUTES_CHECKED,     "routes_checked",     COUNTER_SUM,   "routes told again, so that a peer the dataplane no longer has is found") \
	X(TRANSFERS,          "transfers",          COUNTER_SUM,   "players that left for another map of the node")       \
	X(PORTALS,            "portals",            COUNTER_SUM,   "... of them through portals")                         \
	X(MATCHES,            "matches",            COUNTER_SUM,   "matches that came to a result")                       \
	X(CARDS_PICKED,       "cards_picked",       COUNTER_SUM,   "cards chosen by their player")                        \
	X(CARDS_GIVEN,        "cards_given",        COUNTER_SUM,   "cards given because no choice came in time")          \
	X(RESULTS,            "results",            COUNTER_SUM,   "match results of players that were kept")             \
	X(RESULTS_RETRIED,    "results_retried",    COUNTER_SUM,   "match results asked again: the world thread could not keep them") \
	X(RESULTS_LOST,       "results_lost",       COUNTER_SUM,   "match results given up: refused, or not kept in time") \
	X(RESULTS_STALE,      "results_stale",      COUNTER_SUM,   "answers to match results that nobody waits for")      \
	X(INSTANCES_OPENED,   "instances_opened",   COUNTER_SUM,   "map instances taken over")                            \
	X(INSTANCES_ENDED,    "instances_ended",    COUNTER_SUM,   "instances that ended and were handed back")           \
	X(INSTANCES_CLOSED,   "instances_closed",   COUNTER_SUM,   "instances that control told to take nobody more")     \
	X(INSTANCES_STALE,    "instances_stale",    COUNTER_SUM,   "the same about instances that had ended: normal")     \
	X(PACKETS,            "packets",            COUNTER_SUM,   "client messages received")                            \
	X(PACKETS_STALE,      "packets_stale",      COUNTER_SUM,   "client messages of peers without a player here")      \
	X(PACKETS_LEFT_MAP,   "packets_left_map",   COUNTER_SUM,   "client messages refused: meant for a map that the player has left") \
	X(MESSAGES_UNKNOWN,   "messages_unknown",   COUNTER_SUM,   "ring messages of a type or size that a shard does not take")  \
	X(INPUTS,             "inputs",             COUNTER_SUM,   "inputs applied")                                      \
	X(INPUTS_REPEATED,    "inputs_repeated",    COUNTER_SUM,   "inputs ignored: seen before")                         \
	X(INPUTS_DROPPED,     "inputs_dropped",     COUNTER_SUM,   "inputs dropped: the client sends faster than real time allows") \
	X(INPUTS_SPARED,      "inputs_spared",      COUNTER_SUM,   "inputs that stood still, left out of a full queue: no place changes by it") \
	X(ACTIONS,            "actions",            COUNTER_SUM,   "clicks and other actions done")                       \
	X(ACTIONS_REFUSED,    "actions_refused",    COUNTER_SUM,   "actions refused by name to their player")             \
	X(INPUTS_DEAD,        "inputs_dead",        COUNTER_SUM,   "inputs refused: who is dead does not walk")           \
	X(BLOWS,              "blows",              COUNTER_SUM,   "blows that hurt somebody")                            \
	X(MONSTERS_KILLED,    "monsters_killed",    COUNTER_SUM,   "monsters that died")                                  \
	X(MONSTERS_BACK,      "monsters_back",      COUNTER_SUM,   "monsters that came back")                             \
	X(PLAYERS_KILLED,     "players_killed",     COUNTER_SUM,   "players that died")                                   \
	X(PLAYERS_BACK,       "players_back",       COUNTER_SUM,   "players that stood up again")                         \
	X(COMBAT_EVENTS,      "combat_events",      COUNTER_SUM,   "blows told to observers")                             \
	X(COMBAT_EVENTS_CUT,  "combat_events_cut",  COUNTER_SUM,   "blows not told: more happened in one tick than is told to one observer") \
	X(COMMITS,            "commits",            COUNTER_SUM,   "changes of what players own, asked of the world thread") \
	X(COMMITS_REFUSED,    "commits_refused",    COUNTER_SUM,   "commits that the database refused; the details are loaded again") \
	X(COMMITS_HELD,       "commits_held",       COUNTER_SUM,   "commits not asked: the world ring was full")          \
	X(COMMITS_STALE,      "commits_stale",      COUNTER_SUM,   "answers to commits of players that had left")         \
	X(COMMITS_GIVEN_UP,   "commits_given_up",   COUNTER_SUM,   "commits that a leaving player did not wait for any longer") \
	X(SLOTS_ODD,          "slots_odd",          COUNTER_SUM,   "stored slots that cannot be shown: of no known place or count") \
	X(QUESTS_BEGUN,       "quests_begun",       COUNTER_SUM,   "quests begun")                                        \
	X(QUEST_PROGRESS,     "quest_progress",     COUNTER_SUM,   "quests brought on by a kill, a thing, a place or a talk") \
	X(QUESTS_DONE,        "quests_done",        COUNTER_SUM,   "quests done, and their reward given")                 \
	X(QUESTS_ABANDONED,   "quests_abandoned",   COUNTER_SUM,   "quests given up")                                     \
	X(LOOT_FELL,          "loot_fell",          COUNTER_SUM,   "things that came to lie on the ground")               \
	X(LOOT_TAKEN,         "loot_taken",         COUNTER_SUM,   "things picked up")                                    \
	X(LOOT_EXPIRED,       "loot_expired",       COUNTER_SUM,   "things on the ground that nobody took in time")       \
	X(LOOT_LOST,          "loot_lost",          COUNTER_SUM,   "drops of monsters for which no place on the ground was free") \
	X(ACTIONS_DROPPED,    "actions_dropped",    COUNTER_SUM,   "actions beyond the answers a player gets in one tick") \
	X(DETAIL_QUERIES,     "detail_queries",     COUNTER_SUM,   "lazy joins asked of the world thread")                \
	X(DETAIL_RESULTS,     "detail_results",     COUNTER_SUM,   "lazy joins done")                                     \
	X(DETAIL_RETRIES,     "detail_retries",     COUNTER_SUM,   "lazy joins asked again: the world thread could not answer") \
	X(DETAIL_STALE,       "detail_stale",       COUNTER_SUM,   "lazy join answers for players that had left")         \
	X(SAVES,              "saves",              COUNTER_SUM,   "positions handed to the world thread")                \
	X(SAVES_WAITED,       "saves_waited",       COUNTER_SUM,   "times a save found the world ring full and stayed owed") \
	X(UPDATES,            "updates",            COUNTER_SUM,   "world updates handed to the dataplane")               \
	X(UPDATE_BYTES,       "update_bytes",       COUNTER_SUM,   "bytes of those")                                      \
	X(UPDATES_PICKED,     "updates_picked",     COUNTER_SUM,   "world updates of records picked one by one: more was near than fits") \
	X(UPDATES_DROPPED,    "updates_dropped",    COUNTER_SUM,   "world updates dropped: the ring to the dataplane was full") \
	X(ENTERS,             "enters",             COUNTER_SUM,   "actors that came into a player's view")               \
	X(LEAVES_OF_VIEW,     "leaves_of_view",     COUNTER_SUM,   "actors that left a player's view")                    \
	X(VIEW_CHANGES,       "view_changes",       COUNTER_SUM,   "view change messages sent")                           \
	X(RELIABLE_QUEUED,    "reliable_queued",    COUNTER_SUM,   "reliable messages that waited in the shard for a full ring") \
	X(INTENTS,            "intents",            COUNTER_SUM,   "changes of what lasts that scripts have queued") \
	X(INTENTS_LOST,       "intents_lost",       COUNTER_SUM,   "... that came to nothing: the player had too little, or left, or it took too long") \
	X(HAPPENINGS_LOST,    "happenings_lost",    COUNTER_SUM,   "events that a script was not told of: too many waited") \
	X(SCRIPT_TICKS_CUT,   "script_ticks_cut",   COUNTER_SUM,   "map ticks in which NPCs had to wait: the script budget was spent") \
	X(SCRIPT_RETURNS,     "script_returns",     COUNTER_SUM,   "versions of a script that failed too often: the one before came back") \
	X(SCRIPT_TICKS_RESTED, "script_ticks_rested", COUNTER_SUM, "on_tick handlers not called: the NPC's last one took more than its share") \
	X(PARTIES,            "parties",            COUNTER_GAUGE, "parties with somebody on the map that ticked last")   \
	X(PARTY_REQUESTS,     "party_requests",     COUNTER_SUM,   "changes of parties asked of control")                 \
	X(PARTY_TOO_OFTEN,    "party_refused_too_often", COUNTER_SUM, "party requests refused: too many in a short time") \
	X(PARTY_NO_SUCH_ACT,  "party_refused_no_such_act", COUNTER_SUM, "party requests refused: no such act, or without a number") \
	X(PARTY_HELD,         "party_refused_unavailable", COUNTER_SUM, "party requests refused: the ring to control was full") \
	X(PARTY_ASKS,         "party_asks",         COUNTER_SUM,   "parties of players asked for, when they came or at a resync") \
	X(PARTY_RESYNCS,      "party_resyncs",      COUNTER_SUM,   "times control had every player's party asked for")    \
	X(PARTY_STATES,       "party_states",       COUNTER_SUM,   "states of parties taken from control")                \
	X(PARTY_REPEATED,     "party_repeated",     COUNTER_SUM,   "... that said nothing new")                           \
	X(PARTY_OLD,          "party_old",          COUNTER_SUM,   "... that were older than what was known")             \
	X(PARTY_WRONG_TARGET, "party_wrong_target", COUNTER_SUM,   "words about parties for players that are not here (any more)") \
	X(PARTY_ODD,          "party_odd",          COUNTER_SUM,   "words about parties that cannot be: our bug, or nodes with different settings") \
	X(PARTY_LOST,         "party_lost",         COUNTER_SUM,   "words about parties that found a map's inbox full; the party is asked for again") \
	X(PARTY_INVITES,      "party_invites",      COUNTER_SUM,   "invitations, and ends of such, told to players")      \
	X(PARTY_LIVES,        "party_lives",        COUNTER_SUM,   "times how its members are was told to a party")       \
	X(PARTY_SHARES,       "party_shares",       COUNTER_SUM,   "shares of a kill's experience for other members")     \
	X(LOG_LOST,           "log_lost",           COUNTER_SUM,   "log events dropped: the log ring was full")

/* The stages of a tick (R7), in order. X(id, name, help) */
#define SIM_STAGE_LIST(X)                                                                          \
	X(RESET,     "reset",     "1: joins and leaves, ghost and eviction guard")                 \
	X(LAZY_JOIN, "lazy_join", "2: lazy-join follow-up")                                        \
	X(DEFERRED,  "deferred",  "3: deferred results of the world thread")                       \
	X(PARTY,     "party",     "4: party events")                                               \
	X(MESSAGES,  "messages",  "5: inputs and actions of players")                              \
	X(ACTORS,    "actors",    "6: NPCs and monsters")                                          \
	X(INTEREST,  "interest",  "7: interest management and movement deltas")                    \
	X(FLUSH,     "flush",     "8: updates to the dataplane, autosave, counts")
#define SIM_COUNTER_ENUM(id, name, kind, help) SIM_##id,
#define SIM_OVERRUN_COUNTER_ENUM(id, name, help) SIM_OVERRUNS_##id,
#define SIM_PARSE_COUNTER_ENUM(id, name, help) SIM_MALFORMED_##id,
#define SIM_REFUSED_COUNTER_ENUM(id, name, help) SIM_REFUSED_##id,
#define SIM_TRADE_REFUSED_COUNTER_ENUM(id, name, help) SIM_REFUSED_TRADE_##id,
#define SIM_TRADE_COUNTER_ENUM(id, value, name, help) SIM_TRADE_##id,
enum sim_counter {
	SIM_COUNTERS(SIM_COUNTER_ENUM)
	SIM_PARSE_REFUSALS(SIM_PARSE_COUNTER_ENUM)
	SIM_ACTION_REFUSALS(SIM_REFUSED_COUNTER_ENUM)
	TRADE_REFUSALS(SIM_TRADE_REFUSED_COUNTER_ENUM)
	SIM_MATCH_REFUSALS(SIM_REFUSED_COUNTER_ENUM)
	SIM_QUEST_REFUSALS(SIM_REFUSED_COUNTER_ENUM)
	TRADE_ENDS(SIM_TRADE_COUNTER_ENUM)
	SIM_STAGE_LIST(SIM_OVERRUN_COUNTER_ENUM)
	SIM_COUNTER_COUNT
};

// clang-format on

#define SIM_STAGE_ENUM(id, name, help) SIM_STAGE_##id,
enum sim_stage { SIM_STAGE_LIST(SIM_STAGE_ENUM) SIM_STAGES };

#endif
