/* peer_table.c: peers by (address, port, peer id), their slots, and their channels.
 *
 * The table is open addressing with linear probing, at most half full, deletion by shifting back.
 */
#include "dataplane/enet/engine.h"

static uint64_t mix(uint64_t a, uint64_t b)
{
	unsigned __int128 product = (unsigned __int128)a * b;

	return (uint64_t)product ^ (uint64_t)(product >> 64);
}

/* Keyed, so that a source cannot aim at a bucket; not SipHash, because nothing is derived from it
 * that anyone sees. */
uint64_t peer_hash(const struct sw_enet *e, const struct sw_enet_addr *address, uint16_t id)
{
	uint64_t high, low;

	memcpy(&high, address->ip, sizeof high);
	memcpy(&low, address->ip + 8, sizeof low);
	low = mix(low ^ e->hash_key[0], high ^ e->hash_key[1]);
	return mix(low ^ ((uint64_t)address->port << 16 | id), e->hash_key[0] | 1);
}

void peer_prefetch(const struct sw_enet *e, uint64_t hash)
{
	__builtin_prefetch(&e->table[(uint32_t)hash & e->table_mask]);
}

static inline void fetch(const struct peer *peer)
{
	const uint8_t *line = (const uint8_t *)peer;

	__builtin_prefetch(line);
	__builtin_prefetch(line + 64);
	__builtin_prefetch(line + 128);
	__builtin_prefetch(line + 192);
	__builtin_prefetch(line + 256);
}

void sw_enet_prefetch(const struct sw_enet *e, uint64_t handle)
{
	uint32_t index = handle_index(handle);

	if (index < e->peers_fresh)
		fetch(&e->peers[index]);
}

/* The peer that peer_find will most likely return, NIL if there is none: its tag is enough here.
 * Its slot has been prefetched, and those it may have been pushed on to share the line as a rule.
 */
uint32_t peer_prefetch_found(const struct sw_enet *e, uint64_t hash)
{
	const struct peer_slot *slot = &e->table[(uint32_t)hash & e->table_mask];

	for (uint32_t at = (uint32_t)hash; slot->peer != NIL && slot->tag != (uint32_t)hash;)
		slot = &e->table[++at & e->table_mask];
	if (slot->peer == NIL)
		return NIL;
	fetch(&e->peers[slot->peer]);
	return slot->peer;
}

uint32_t peer_find(
	const struct sw_enet *e, uint64_t hash, const struct sw_enet_addr *address, uint16_t id)
{
	uint32_t tag = (uint32_t)hash;

	for (uint32_t at = tag & e->table_mask;; at = (at + 1) & e->table_mask) {
		const struct peer_slot *slot = &e->table[at];
		const struct peer *peer;

		if (slot->peer == NIL)
			return NIL;
		if (slot->tag != tag)
			continue;
		peer = &e->peers[slot->peer];
		if (peer->id == id && address_equal(&peer->address, address))
			return slot->peer;
	}
}

static void table_add(struct sw_enet *e, uint32_t index)
{
	const struct peer *peer = &e->peers[index];
	uint32_t tag = (uint32_t)peer_hash(e, &peer->address, peer->id);
	uint32_t at = tag & e->table_mask;

	while (e->table[at].peer != NIL)
		at = (at + 1) & e->table_mask;
	e->table[at] = (struct peer_slot){.tag = tag, .peer = index};
}

static void table_remove(struct sw_enet *e, uint32_t index)
{
	const struct peer *peer = &e->peers[index];
	uint32_t at = (uint32_t)peer_hash(e, &peer->address, peer->id) & e->table_mask;

	while (e->table[at].peer != index)
		at = (at + 1) & e->table_mask;
	for (uint32_t next = at;;) {
		uint32_t home;

		next = (next + 1) & e->table_mask;
		if (e->table[next].peer == NIL)
			break;
		home = e->table[next].tag & e->table_mask;
		/* it may move back only if its home is not between the hole and itself */
		if (((next - home) & e->table_mask) < ((next - at) & e->table_mask))
			continue;
		e->table[at] = e->table[next];
		at = next;
	}
	e->table[at].peer = NIL;
}

/* The caller knows that a slot is free: half-open clients have theirs reserved. */
uint32_t peer_new(struct sw_enet *e, const struct half_open *half)
{
	const struct list empty = {NIL, NIL};
	uint32_t index = e->peers_free, generation;
	struct peer *peer;
	struct peer_cold *cold;

	if (index != NIL) {
		e->peers_free = e->peers[index].dirty_next;
		generation = e->peers[index].generation;
	} else {
		CHECK(e->peers_fresh < e->config.peers_max);
		index = e->peers_fresh++;
		generation = 1;
	}
	peer = &e->peers[index];
	cold = &e->cold[index];
	*peer = (struct peer){
		.address = half->address,
		.id = half->id,
		.client_id = half->client_id,
		.connect_id = half->connect_id,
		.generation = generation,
		.state = PEER_CONNECTED,
		.flags = (uint8_t)((half->checksum ? PEER_CHECKSUM : 0) |
				   (half->compressed ? PEER_COMPRESSED : 0)),
		.session_in = half->session_in,
		.session_out = half->session_out,
		.channel_count = half->channels,
		.mtu = half->mtu,
		.timer_slot = NIL,
		.reliable = empty,
		.unreliable = empty,
		.sent = empty,
		.acks = empty,
		.held = empty,
		.pending = empty,
		.window_bytes = half->window_bytes,
		.control_seq = half->verify_seq,
		.rtt_ms = RTT_DEFAULT_MS,
		.ack_ms = e->now_ms,
		.heard_ms = e->now_ms,
		.bandwidth_epoch_ms = e->now_ms,
		.rx_full_us = (uint32_t)(e->now_ms * 1000),
		.throttle = THROTTLE_SCALE,
		.throttle_limit = THROTTLE_SCALE,
		.channel_index = NIL,
	};
	for (uint32_t i = 0; i < CHANNELS_INLINE; i++)
		peer->channel[i].unacked = empty;
	*cold = (struct peer_cold){
		.incoming_bandwidth = half->incoming_bandwidth,
		.outgoing_bandwidth = half->outgoing_bandwidth,
		.throttle_interval_ms = half->throttle[0],
		.throttle_acceleration = half->throttle[1],
		.throttle_deceleration = half->throttle[2],
		.last_rtt_ms = RTT_DEFAULT_MS,
		.lowest_rtt_ms = RTT_DEFAULT_MS,
		.connect_data = half->data,
	};
	e->peers_used++;
	table_add(e, index);
	return index;
}

static void channels_free(struct sw_enet *e, struct peer *peer)
{
	uint32_t *group;
	uint32_t blocks = 1;

	if (peer->channel_index == NIL)
		return;
	group = (uint32_t *)(void *)block_at(e, peer->channel_index);
	for (uint32_t i = 0; i < BLOCK_BYTES / sizeof *group; i++) {
		if (group[i] == NIL)
			continue;
		block_free_raw(e, group[i]);
		blocks++;
	}
	block_free_raw(e, peer->channel_index);
	peer->channel_index = NIL;
	pool_give(e, POOL_HOLD, &peer->hold_blocks, blocks);
}

/* Forgets all that the peer queued, holds and owes, but its pending acknowledgements if keep_acks
 * (a client that we end is owed those of what it sent before). */
void peer_purge(struct sw_enet *e, uint32_t index, bool keep_acks)
{
	struct peer *peer = &e->peers[index];
	struct list *out[] = {&peer->reliable, &peer->unreliable, &peer->sent};

	for (uint32_t i = 0; i < sizeof out / sizeof *out; i++) {
		while (out[i]->head != NIL) {
			uint32_t block = out[i]->head;

			list_remove(e, out[i], block);
			if (block_at(e, block)->command & WIRE_ACK_FLAG)
				block_hash_remove(e, block);
			pool_give(e, POOL_QUEUE, &peer->queue_blocks, block_free(e, block));
		}
	}
	while (peer->held.head != NIL)
		held_free(e, index, peer->held.head);
	while (peer->pending.head != NIL)
		pending_free(e, index, peer->pending.head);
	if (!keep_acks)
		acknowledge_forget(e, peer);
	channels_free(e, peer);
	for (uint32_t i = 0; i < CHANNELS_INLINE; i++)
		peer->channel[i].unacked = (struct list){NIL, NIL};
	peer->in_flight_bytes = 0;
	DCHECK(peer->queue_blocks == 0 && peer->hold_blocks == 0);
}

void peer_free(struct sw_enet *e, uint32_t index)
{
	struct peer *peer = &e->peers[index];

	peer_purge(e, index, false);
	timer_clear(e, index);
	table_remove(e, index);
	if (peer->flags & PEER_PRESET)
		e->peers_preset--;
	peer->state = PEER_FREE;
	peer->generation = handle_generation_next(peer->generation);
	peer->dirty_next = e->peers_free;
	e->peers_free = index;
	e->peers_used--;
}

static void append(struct sw_enet *e, uint32_t *head, uint32_t *tail, uint32_t index)
{
	struct peer *peer = &e->peers[index];

	if (peer->flags & PEER_DIRTY)
		return;
	peer->flags |= PEER_DIRTY;
	peer->dirty_next = NIL;
	if (*head == NIL)
		*head = index;
	else
		e->peers[*tail].dirty_next = index;
	*tail = index;
}

void peer_dirty(struct sw_enet *e, uint32_t index)
{
	append(e, &e->dirty, &e->dirty_tail, index);
}

void peer_owing(struct sw_enet *e, uint32_t index)
{
	append(e, &e->owing, &e->owing_tail, index);
}

/* The state of a channel that is not part of the peer; NULL when no memory is left for it. These
 * come in blocks of eight when first used. */
struct channel *peer_channel_far(struct sw_enet *e, struct peer *peer, uint8_t channel)
{
	uint32_t group, *groups;
	struct channel *channels;

	if (peer->channel_index == NIL) {
		if (!pool_take_channel(e, peer))
			return NULL;
		peer->channel_index = block_new_raw(e);
		memset(block_at(e, peer->channel_index), 0xff, BLOCK_BYTES);
	}
	groups = (uint32_t *)(void *)block_at(e, peer->channel_index);
	group = (channel - CHANNELS_INLINE) / CHANNELS_PER_BLOCK;
	if (groups[group] == NIL) {
		if (!pool_take_channel(e, peer))
			return NULL;
		groups[group] = block_new_raw(e);
		channels = (struct channel *)(void *)block_at(e, groups[group]);
		memset(channels, 0, BLOCK_BYTES);
		for (uint32_t i = 0; i < CHANNELS_PER_BLOCK; i++)
			channels[i].unacked = (struct list){NIL, NIL};
	}
	channels = (struct channel *)(void *)block_at(e, groups[group]);
	return &channels[(channel - CHANNELS_INLINE) % CHANNELS_PER_BLOCK];
}
