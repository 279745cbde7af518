/* game.h: what many players say and hear, without a socket or a port: ENet's handshake, a login
 * ticket, inputs at a fixed rate, and whether what the server sends is complete. Lean: a client is
 * two lines of memory, messages are read as far as numbers need it, by hand.
 *
 * A player walks one way for a while, then another; its input of each tick goes out with the seven
 * before it, at a time within the tick that is its own. What it must acknowledge rides with that,
 * or leaves after 16 ms. When the server has had inputs of it left over for a second, one is left
 * out (docs/protocol.md: The client's clock). Bytes and the time go in, datagrams come out through
 * flow_ops' begin and end; one thread makes every call. */
#ifndef SW_PERF_GEN_GAME_H
#define SW_PERF_GEN_GAME_H

#include "perf/gen/flow.h"

#define GAME_TICKET_MAX 512u   /* bytes, as the protocol says */
#define GAME_REPEAT_MS  500u   /* CONNECT and Hello, each time after that */

enum game_walk {
	GAME_WALK_UNIFORM, /* anywhere */
	GAME_WALK_CROWD,   /* there and back: whoever starts in a crowd stays in it */
	GAME_WALK_GAME     /* anywhere, and what is near is fought and picked up (hunt.h) */
};

struct game_tickets {
	uint32_t count;
	uint16_t *bytes;                    /* [count] */
	uint8_t (*ticket)[GAME_TICKET_MAX]; /* [count] */
};

/* Reads base64 tickets, a line each (swctl ticket), at most max. False after it has said on stderr
 * what is wrong. */
bool game_tickets_load(struct game_tickets *tickets, const char *path, uint32_t max);
void game_tickets_free(struct game_tickets *tickets);

struct game_config {
	uint32_t clients;
	uint32_t ids;        /* client i calls itself i % ids, at most 4095 */
	uint32_t login_rate; /* clients a second */
	uint32_t storm;      /* the last so many log in after game_storm(); fewer than clients */
	uint32_t storm_rate; /* clients a second of those; at least 1 when there are any */
	uint32_t give_up_s;  /* from a client's first CONNECT to Joined; at least 1 */
	uint32_t hz;         /* inputs a second */
	uint32_t seed;
	enum game_walk walk;
	const struct game_tickets *tickets; /* at least as many as clients */
};

/* X(name, what it counts) */
#define GAME_COUNTERS(X)                                                                           \
	X(connects, "CONNECTs, repeats included")                                                  \
	X(hellos, "Hellos, repeats included")                                                      \
	X(joined, "players that came onto the map")                                                \
	X(retries, "logins refused for the moment, tried again when the server said")              \
	X(refused, "clients that were refused, or sent away before they were on the map")          \
	X(unanswered, "clients that were not on the map in time")                                  \
	X(disconnects, "players that the server ended")                                            \
	X(settled_disconnects, "of those, players that are no part of the storm")                  \
	X(inputs, "inputs sent")                                                                   \
	X(inputs_late, "inputs left out: the generator was a tick late")                           \
	X(inputs_paced, "inputs left out: the server said that they come too fast")                \
	X(updates, "world updates")                                                                \
	X(update_bytes, "bytes of those")                                                          \
	X(updates_missed, "ticks of the map without an update of a player, once it had one")       \
	X(settled_missed, "of those, of players that are no part of the storm")                    \
	X(updates_old, "world updates that came behind a newer one")                               \
	X(reliable, "reliable messages and fragments, each once")                                  \
	X(reliable_repeated, "those that came again")                                              \
	X(reliable_early, "those that came before one that is missing: not acknowledged")          \
	X(reliable_lost, "numbers left out in ViewChange.sequence")                                \
	X(view_changes, "view changes")                                                            \
	X(attacks, "blows struck at monsters")                                                     \
	X(picks, "tries to pick up loot")                                                          \
	X(actions_repeated, "of both, those said again: not acknowledged in GAME_REPEAT_MS")       \
	X(actions_refused, "answers of the server that one was refused")                           \
	X(chat_said, "lines said in the channel of all")                                           \
	X(chat_heard, "lines heard, of all players together, each once")                           \
	X(chat_refused, "lines that the server did not take")                                      \
	X(answers, "datagrams that only acknowledge")                                              \
	X(unreadable, "datagrams and messages that make no sense")                                 \
	X(no_buffer, "datagrams that were not sent for want of a buffer")

#define GAME_COUNTER_MEMBER(name, help) uint64_t name;
struct game_counters {
	GAME_COUNTERS(GAME_COUNTER_MEMBER)
};

struct game;

/* config and ops are copied; tickets outlive it. NULL: values out of range, or no memory. */
struct game *game_new(const struct game_config *config, const struct flow_ops *ops);
void game_free(struct game *game);

void game_receive(
	struct game *game, uint32_t client, const uint8_t *data, uint32_t bytes, uint64_t now_ns);
/* Once a turn of the loop: logins, repeats, inputs. At most room datagrams. */
void game_step(struct game *game, uint32_t room, uint64_t now_ns);

/* Those of config.storm begin to log in. Once. */
void game_storm(struct game *game, uint64_t now_ns);

/* From now on so many lines a second are said in the channel of all, by one player after the other,
 * each once: who loses one is not heard again. 0: none. */
void game_chat(struct game *game, uint32_t lines_per_s, uint64_t now_ns);

/* Logins that are still under way or to come; the storm's only once it has begun. */
uint32_t game_waiting(const struct game *game);
/* Players on the map now. */
uint32_t game_playing(const struct game *game);

/* One DISCONNECT each, unacknowledged, from client *from on, at most room; false when all are done.
 */
bool game_disconnect(struct game *game, uint32_t *from, uint32_t room, uint64_t now_ns);

const struct game_counters *game_counters(const struct game *game);
/* From when an input was due to the update that says it was applied; of players that are no part of the storm. */
struct latency *game_latency(struct game *game);
/* From the storm's beginning to Joined, of its players. */
const struct latency *game_storm_latency(const struct game *game);
/* The reason that the last disconnect, or refusal, gave. */
uint32_t game_last_reason(const struct game *game);

#endif
