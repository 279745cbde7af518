#include <stdlib.h>
#include <string.h>

#include "common/check.h"
#include "common/handle.h"
#include "common/tables.h"
#include "dataplane/counters.h"
#include "dataplane/route.h"
#include "dataplane/trace.h"
#include "proto/message_types.h"

/* Late answers to shards that asked for a route of a peer that had gone: about as many as peers can
 * go while a shard's ring is full. Beyond it the shard's own ring waits. */
#define OWED_MAX 1024u

/* While a ring is more than half full a peer may put so many slots into it, or one run: who sends
 * more than is worked off must not take the other half, which is there for everyone else. */
#define SHARE_SLOTS 64u

/* One packet in so many carries when it was received. No divisor of a burst, or it would always be
 * the same places of one. */
#define TIMED_EVERY 17u

/* Rings that one peer puts into: share[] of struct route_peer. */
enum { OF_CONTROL, OF_SHARD, OF_CHAT, RINGS_OF_A_PEER };

struct share {
	uint16_t epoch, slots; /* of the ring's crowd; slots pushed in it */
};

struct route_peer {
	uint64_t peer; /* HANDLE_NONE: nobody */
	uint32_t to;   /* shard + 1 */
	bool leaving;  /* owes its leave to one of the two below, or both */
	bool control_told, shard_told;
	bool known;                          /* it has been on a map */
	struct share share[RINGS_OF_A_PEER]; /* of control's ring, of its shard's, of chat's */
};

struct crowd {          /* of one ring */
	uint32_t room;  /* slots free, or more */
	uint32_t half;  /* crowded: less room than this */
	uint16_t epoch; /* ends when it is crowded no more */
	bool crowded;   /* it was in this epoch */
	bool pushed;    /* since the last look */
};

struct owed {
	uint64_t peer;
	uint32_t shard;
};

/* Where one message goes, and what it is counted as. */
struct place {
	struct msg_ring *ring; /* NULL: dropped */
	enum dp_counter counter;
	uint32_t number; /* 0 control, shard + 1, CHAT_NUMBER: for counting what a run needs */
};

#define CHAT_NUMBER (CONFIG_LCORES_MAX + 1u)
#define NUMBERS     (CHAT_NUMBER + 1u)

struct dp_route {
	uint32_t owner, peers_max;
	struct dp_links links;
	_Atomic uint64_t *counters;
	const uint64_t *received; /* TSC of the burst at hand, or NULL */
	uint32_t untimed;         /* packets since the last that carried it */
	uint32_t owed_count;
	struct owed owed[OWED_MAX];
	uint32_t need[NUMBERS];      /* slots of the run at hand, per place number */
	struct crowd crowd[NUMBERS]; /* per place number */
	struct msg_buffer message;
	struct route_peer peers[];
};

static void count(struct dp_route *route, enum dp_counter counter)
{
	counter_add(&route->counters[counter], 1);
}

static void count_full(struct dp_route *route, enum dp_counter counter)
{
	count(route, counter);
	dp_trace_ring_full(route->owner, counter);
}

static struct msg_ring *ring_of(const struct dp_route *route, uint32_t number)
{
	if (number == CHAT_NUMBER)
		return route->links.to_chat;
	return number ? route->links.to_shard[number - 1] : route->links.to_control;
}

static struct share *share_of(struct route_peer *entry, uint32_t number)
{
	return &entry->share[number == CHAT_NUMBER ? OF_CHAT : number ? OF_SHARD : OF_CONTROL];
}

/* The numbers in use, one after the other: control, shards, chat. */
static uint32_t number_after(const struct dp_route *route, uint32_t number)
{
	if (number == route->links.shards && route->links.to_chat)
		return CHAT_NUMBER;
	return number < route->links.shards ? number + 1 : NUMBERS;
}

size_t dp_route_bytes(uint32_t peers_max)
{
	/* 32 bytes a peer: handle, route, what it was told, its share of crowded rings. */
	return sizeof(struct dp_route) + peers_max * sizeof(struct route_peer);
}

struct dp_route *dp_route_new(uint32_t owner, uint32_t peers_max, const struct dp_links *links,
	_Atomic uint64_t *counters)
{
	size_t bytes = (dp_route_bytes(peers_max) + 63) & ~(size_t)63;
	struct dp_route *route = tables_new(bytes);

	if (!route)
		return NULL;
	route->owner = owner;
	route->peers_max = peers_max;
	route->links = *links;
	route->counters = counters;
	for (uint32_t number = 0; number < NUMBERS; number = number_after(route, number)) {
		struct crowd *crowd = &route->crowd[number];

		crowd->room = msg_ring_room(ring_of(route, number)); /* all of it */
		crowd->half = crowd->room / 2;
	}
	return route;
}

void dp_route_free(struct dp_route *route)
{
	free(route);
}

void dp_route_time(struct dp_route *route, const uint64_t *received)
{
	route->received = received;
}

/* The peer's entry, NULL when the handle is not that of a peer here. */
static struct route_peer *find(const struct dp_route *route, uint64_t peer)
{
	uint32_t index = handle_index(peer);

	if (peer == HANDLE_NONE || handle_owner(peer) != route->owner ||
		index >= route->peers_max || route->peers[index].peer != peer)
		return NULL;
	return (struct route_peer *)&route->peers[index];
}

uint32_t dp_route_of(const struct dp_route *route, uint64_t peer)
{
	const struct route_peer *entry = find(route, peer);

	return entry ? entry->to : 0;
}

static struct place dropped(enum dp_counter counter)
{
	return (struct place){.counter = counter};
}

static struct place place_of(const struct dp_route *route, const struct sw_enet_delivery *message)
{
	const struct route_peer *entry;
	uint8_t type;

	if (!message->bytes)
		return dropped(DP_C_MESSAGE_EMPTY);
	if (message->bytes > MSG_PAYLOAD_MAX)
		return dropped(DP_C_MESSAGE_OVERSIZE);
	type = message->payload[0];
	if (type >= SW_CONTROL_FIRST && type <= SW_CONTROL_LAST)
		return (struct place){route->links.to_control, DP_C_TO_CONTROL, 0};
	if (type < SW_SIMULATION_FIRST || type > SW_CHAT_LAST)
		return dropped(DP_C_MESSAGE_UNKNOWN);
	entry = find(route, message->peer);
	if (type >= SW_CHAT_FIRST) {
		if (!route->links.to_chat)
			return dropped(DP_C_MESSAGE_CHAT);
		if (!entry || !entry->known)
			return dropped(DP_C_MESSAGE_NO_ROUTE);
		return (struct place){route->links.to_chat, DP_C_TO_CHAT, CHAT_NUMBER};
	}
	if (!entry || !entry->to)
		return dropped(DP_C_MESSAGE_NO_ROUTE);
	return (struct place){route->links.to_shard[entry->to - 1], DP_C_TO_SHARD, entry->to};
}

/* Whether a crowded ring has a place for so many slots more of this peer. */
static bool shares(const struct dp_route *route, uint64_t peer, uint32_t number, uint32_t slots)
{
	const struct crowd *crowd = &route->crowd[number];
	struct route_peer *entry;
	const struct share *share;

	if (crowd->room >= crowd->half)
		return true;
	entry = find(route, peer);
	if (!entry)
		return true;
	share = share_of(entry, number);
	return share->epoch != crowd->epoch || !share->slots || share->slots + slots <= SHARE_SLOTS;
}

static void pushed(struct dp_route *route, uint64_t peer, uint32_t number, uint32_t slots)
{
	struct crowd *crowd = &route->crowd[number];
	struct route_peer *entry;
	struct share *share;

	crowd->pushed = true;
	crowd->room -= slots < crowd->room ? slots : crowd->room;
	if (crowd->room >= crowd->half)
		return;
	crowd->crowded = true;
	entry = find(route, peer);
	if (!entry)
		return;
	share = share_of(entry, number);
	if (share->epoch != crowd->epoch)
		*share = (struct share){.epoch = crowd->epoch};
	slots += share->slots;
	share->slots = (uint16_t)(slots < UINT16_MAX ? slots : UINT16_MAX);
}

/* Whether every ring has room for what the run wants of it. Room can only grow meanwhile: we are
 * the rings' producer. */
static bool fits(struct dp_route *route, const struct sw_enet_delivery *run, uint32_t n)
{
	bool fit = true;

	for (uint32_t i = 0; i < n; i++) {
		struct place place = place_of(route, &run[i]);

		if (!place.ring)
			continue;
		route->need[place.number] += msg_slots(run[i].bytes);
		fit &= route->need[place.number] <= msg_ring_room(place.ring) &&
		       shares(route, run[i].peer, place.number, route->need[place.number]);
	}
	for (uint32_t i = 0; i < n; i++)
		route->need[place_of(route, &run[i]).number] = 0;
	return fit;
}

static bool push_packet(
	struct dp_route *route, const struct place *place, const struct sw_enet_delivery *packet)
{
	struct msg *message = route->message.slot;
	uint8_t *payload = msg_begin(message, MSG_PEER_PACKET, packet->peer, packet->bytes);

	message->channel = packet->channel;
	message->flags = packet->flags;
	if (route->received && ++route->untimed == TIMED_EVERY) {
		message->received = (uint32_t)*route->received;
		route->untimed = 0;
	}
	memcpy(payload, packet->payload, packet->bytes);
	if (!msg_ring_push(place->ring, message))
		return false;
	pushed(route, packet->peer, place->number, message->slots);
	return true;
}

bool dp_route_deliver(void *ctx, const struct sw_enet_delivery *run, uint32_t n)
{
	struct dp_route *route = ctx;
	bool reliable = false;

	for (uint32_t i = 0; i < n; i++)
		reliable |= run[i].flags & SW_ENET_RELIABLE;
	/* Unreliable alone: each goes or is dropped by itself. One message: its push is the test.
	 */
	if (reliable && n > 1 && !fits(route, run, n)) {
		count_full(route, DP_C_RELIABLE_HELD);
		return false;
	}
	for (uint32_t i = 0; i < n; i++) {
		struct place place = place_of(route, &run[i]);

		if (place.ring && n == 1 &&
			!shares(route, run->peer, place.number, msg_slots(run->bytes))) {
			count(route, DP_C_RING_SHARE);
			return !reliable;
		}
		if (place.ring && !push_packet(route, &place, &run[i])) {
			if (reliable) {
				CHECK(n == 1); /* there was room for the whole run */
				count_full(route, DP_C_RELIABLE_HELD);
				return false;
			}
			dp_trace_ring_full(route->owner, DP_C_UNRELIABLE_DROPPED);
			place.counter = DP_C_UNRELIABLE_DROPPED;
		}
		count(route, place.counter);
	}
	return true;
}

uint32_t dp_route_deliver_each(void *ctx, const struct sw_enet_delivery *packets, uint32_t n)
{
	uint32_t taken = 0;

	for (uint32_t i = 0; i < n; i++)
		taken += dp_route_deliver(ctx, &packets[i], 1);
	return taken;
}

bool dp_route_connected(void *ctx, const struct sw_enet_connected *info)
{
	struct dp_route *route = ctx;
	struct msg_peer_connected body = {
		.port = info->address.port,
		.payload_bytes_max = (uint16_t)info->payload_bytes_max,
		.connect_data = info->connect_data,
		.channels = info->channels,
	};
	struct msg *message = route->message.slot;
	uint32_t index = handle_index(info->peer);

	DCHECK(index < route->peers_max && handle_owner(info->peer) == route->owner);
	memcpy(body.ip, info->address.ip, sizeof(body.ip));
	memcpy(msg_begin(message, MSG_PEER_CONNECTED, info->peer, sizeof(body)), &body,
		sizeof(body));
	if (!msg_ring_push(route->links.to_control, message)) {
		count_full(route, DP_C_EVENTS_PUT_OFF);
		return false;
	}
	route->peers[index] = (struct route_peer){.peer = info->peer};
	return true;
}

static bool tell_gone(struct dp_route *route, struct msg_ring *ring, uint64_t peer, uint32_t data,
	enum sw_enet_gone reason)
{
	struct msg_peer_gone body = {.data = data, .reason = (uint32_t)reason};
	struct msg *message = route->message.slot;

	memcpy(msg_begin(message, MSG_PEER_GONE, peer, sizeof(body)), &body, sizeof(body));
	if (msg_ring_push(ring, message))
		return true;
	count_full(route, DP_C_EVENTS_PUT_OFF);
	return false;
}

bool dp_route_disconnected(void *ctx, uint64_t peer, uint32_t data, enum sw_enet_gone reason)
{
	struct dp_route *route = ctx;
	struct route_peer *entry = find(route, peer);

	/* Told completely before: a repeat does no harm. */
	if (!entry)
		return true;
	entry->leaving = true;
	if (!entry->control_told)
		entry->control_told = tell_gone(route, route->links.to_control, peer, data, reason);
	if (entry->to && !entry->shard_told)
		entry->shard_told =
			tell_gone(route, route->links.to_shard[entry->to - 1], peer, data, reason);
	if (!entry->control_told || (entry->to && !entry->shard_told))
		return false;
	*entry = (struct route_peer){.peer = HANDLE_NONE};
	return true;
}

/* The shard asked for a peer that is not there: it hears so, now or owed. */
static bool answer_gone(struct dp_route *route, uint32_t shard, uint64_t peer)
{
	if (!route->owed_count && tell_gone(route, route->links.to_shard[shard], peer, 0, 0))
		return true;
	if (route->owed_count == OWED_MAX)
		return false;
	route->owed[route->owed_count++] = (struct owed){.peer = peer, .shard = shard};
	return true;
}

bool dp_route_set(struct dp_route *route, uint32_t from_shard, uint64_t peer, uint32_t to)
{
	struct route_peer *entry = find(route, peer);
	struct msg *message = route->message.slot;
	bool unheld;

	if (to > route->links.shards) {
		count(route, DP_C_RING_UNKNOWN);
		return true;
	}
	/* Leaving: the peer is gone, whatever its entry still owes. A new route now would be a
	 * ghost: nobody would tell its shard. */
	if (!entry || entry->leaving) {
		if (!answer_gone(route, from_shard, peer))
			return false;
		count(route, DP_C_ROUTES_STALE);
		return true;
	}
	/* A route that is given up is answered with the marker, also where it never came this far;
	 * nobody gives another's up. */
	unheld = !to && entry->to != from_shard + 1;
	if (unheld || (entry->to && entry->to != to)) {
		uint32_t shard = unheld ? from_shard : entry->to - 1;

		msg_begin(message, MSG_ROUTE_END, peer, 0);
		/* Before the new route takes effect, or the marker would not be the last word. */
		if (!msg_ring_push(route->links.to_shard[shard], message)) {
			count_full(route, DP_C_EVENTS_PUT_OFF);
			return false;
		}
	}
	if (unheld)
		return true;
	if (entry->to != to)
		entry->share[OF_SHARD] = (struct share){0}; /* of another ring */
	entry->to = to;
	entry->known |= to != 0;
	count(route, DP_C_ROUTES_SET);
	return true;
}

void dp_route_service(struct dp_route *route)
{
	uint32_t kept = 0;

	for (uint32_t number = 0; number < NUMBERS; number = number_after(route, number)) {
		struct crowd *crowd = &route->crowd[number];

		if (!crowd->pushed)
			continue;
		crowd->room = msg_ring_room(ring_of(route, number));
		if (crowd->room < crowd->half)
			continue;
		crowd->pushed = false;
		crowd->epoch += crowd->crowded;
		crowd->crowded = false;
	}
	for (uint32_t i = 0; i < route->owed_count; i++) {
		const struct owed owed = route->owed[i];

		if (!tell_gone(route, route->links.to_shard[owed.shard], owed.peer, 0, 0))
			route->owed[kept++] = owed;
	}
	route->owed_count = kept;
}
