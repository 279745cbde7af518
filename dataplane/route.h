/* route.h: where a client's messages go. The first byte's range names control, simulation or chat
 * (proto/message_types.h); a simulation message goes to the shard that has the peer's route, one of
 * chat to the chat thread, once the peer has been on a map.
 *
 * A route is changed by shards alone (MSG_PEER_ROUTE); the shard that loses it gets MSG_ROUTE_END
 * behind the last message of the peer. A run of messages is handed over whole or not at all (R4).
 * One thread, the worker's, makes every call but dp_route_new and dp_route_free. */
#ifndef SW_DATAPLANE_ROUTE_H
#define SW_DATAPLANE_ROUTE_H

#include <stdbool.h>
#include <stdint.h>

#include "common/config.h"
#include "common/msg_ring.h"
#include "dataplane/enet/enet.h"

/* The rings of one worker. to_* are pushed by the worker, from_* popped. Shards are counted from 0,
 * as in MSG_PEER_ROUTE's route - 1. log may be NULL; handoff is NULL for a worker alone. */
struct dp_handoff;
struct dp_node;
struct dp_links {
	struct dp_handoff *handoff; /* rings to the other workers */
	struct dp_node *node;       /* the same for all workers; NULL for the only one */
	struct msg_ring *to_control, *from_control;
	uint32_t shards;
	struct msg_ring *to_shard[CONFIG_LCORES_MAX], *from_shard[CONFIG_LCORES_MAX];
	struct msg_ring *to_chat, *from_chat, *lines; /* common/chat.h; all NULL: no chat here */
	struct msg_ring *log;
};

struct dp_route;

/* Main thread. links is copied; the rings and counters[DP_COUNTER_COUNT] outlive the route. owner:
 * the worker's number, as in its peers' handles. NULL: no memory. */
struct dp_route *dp_route_new(uint32_t owner, uint32_t peers_max, const struct dp_links *links,
	_Atomic uint64_t *counters);
void dp_route_free(struct dp_route *route);

/* Set-up. Some packets then carry the low half of *received, the cycle counter behind the receive
 * burst that they came in (msg.received). It outlives the route. */
void dp_route_time(struct dp_route *route, const uint64_t *received);

/* The sink of the engine (struct sw_enet_ops); ctx is the dp_route.
 *
 * deliver: true when every message of the run is in its ring, or was dropped and counted by name
 * (empty, unknown range, chat, no route, oversize; unreliable and its ring is full). False, and
 * nothing pushed, when a ring is full and the run has a reliable message. */
bool dp_route_deliver(void *ctx, const struct sw_enet_delivery *run, uint32_t count);
/* Each by itself. */
uint32_t dp_route_deliver_each(void *ctx, const struct sw_enet_delivery *packets, uint32_t count);
/* True when MSG_PEER_CONNECTED is in control's ring. */
bool dp_route_connected(void *ctx, const struct sw_enet_connected *info);
/* True when control, and the shard that has the route, have both taken MSG_PEER_GONE; each is told
 * once. */
bool dp_route_disconnected(void *ctx, uint64_t peer, uint32_t data, enum sw_enet_gone reason);

/* MSG_PEER_ROUTE from a shard. to is shard + 1, 0 for none. Whoever loses the route hears
 * MSG_ROUTE_END, and so does a shard that gives it up, in any case. A peer that is gone is answered
 * with MSG_PEER_GONE. False: nothing was done, a ring is full; try again later with the same. */
bool dp_route_set(struct dp_route *route, uint32_t from_shard, uint64_t peer, uint32_t to);

/* Answers that are owed, as far as they fit. Once a turn. */
void dp_route_service(struct dp_route *route);

/* The shard + 1 that has the peer's route, 0 if none or the peer is gone. */
uint32_t dp_route_of(const struct dp_route *route, uint64_t peer);

size_t dp_route_bytes(uint32_t peers_max);

#endif
