/* send.c: from packets to queued commands. A command waits as it will look on the wire, so sending
 * and repeating it is a copy. */
#include <errno.h>

#include "dataplane/enet/engine.h"

/* Queues one command; its memory is reserved. */
static void queue_command(struct sw_enet *e, uint32_t index, struct channel *channel,
	const uint8_t *head, uint32_t head_bytes, const uint8_t *payload, uint32_t bytes)
{
	struct peer *peer = &e->peers[index];
	uint32_t at = block_new(e, head, head_bytes, payload, bytes);
	struct block *block = block_at(e, at);

	block->command = head[0];
	block->channel = head[1];
	block->seq = wire_get16(head + 2);
	if (head[0] & WIRE_ACK_FLAG) {
		queue_reliable(e, index, channel, at);
		return;
	}
	block->kind = BLOCK_OUT;
	block->peer = index;
	block->out.order = peer->order++;
	peer->bandwidth_bytes += block->bytes; /* asked for, also if throttled */
	block->aux = wire_get16(head + 4);
	list_push(e, &peer->unreliable, at);
}

void queue_reliable(struct sw_enet *e, uint32_t index, struct channel *channel, uint32_t at)
{
	struct peer *peer = &e->peers[index];
	struct block *block = block_at(e, at);
	uint32_t tail = channel->unacked.tail;

	block->kind = BLOCK_OUT;
	block->peer = index;
	block->out.order = peer->order++;
	peer->bandwidth_bytes += block->bytes; /* asked for, also if throttled */
	list_push(e, &peer->reliable, at);
	block_hash_add(e, at);
	block->out.unacked_next = NIL;
	block->out.unacked_prev = tail;
	if (tail == NIL)
		channel->unacked.head = at;
	else
		block_at(e, tail)->out.unacked_next = at;
	channel->unacked.tail = at;
}

/* The head of a packet that is neither reliable nor a fragment, numbered. */
static inline void put_unreliable(struct peer *peer, struct channel *channel, uint8_t *p,
	uint8_t number, uint32_t flags, uint32_t bytes)
{
	if (flags & SW_ENET_UNSEQUENCED)
		wire_put_unreliable(p, WIRE_SEND_UNSEQUENCED | WIRE_UNSEQUENCED_FLAG, number, 0,
			++peer->unsequenced_out, bytes);
	else
		wire_put_unreliable(p, WIRE_SEND_UNRELIABLE, number, channel->out_reliable,
			++channel->out_unreliable, bytes);
}

static void queue_single(struct sw_enet *e, uint32_t index, struct channel *channel, uint8_t number,
	uint32_t flags, const uint8_t *payload, uint32_t bytes)
{
	struct peer *peer = &e->peers[index];
	uint8_t head[WIRE_SEND_UNRELIABLE_BYTES], *p;

	if (flags & SW_ENET_RELIABLE) {
		channel->out_unreliable = 0;
		p = wire_put_command(
			head, WIRE_SEND_RELIABLE | WIRE_ACK_FLAG, number, ++channel->out_reliable);
		wire_put16(p, bytes);
		queue_command(e, index, channel, head, WIRE_SEND_RELIABLE_BYTES, payload, bytes);
		return;
	}
	put_unreliable(peer, channel, head, number, flags, bytes);
	queue_command(e, index, channel, head, WIRE_SEND_UNRELIABLE_BYTES, payload, bytes);
}

/* Begins a datagram that stays open until the next service, with the acknowledgements that are owed
 * by now. NULL: no place, no buffer, or a command of length bytes fits no datagram. */
static inline struct open *open_datagram(struct sw_enet *e, uint32_t index, uint32_t length)
{
	struct peer *peer = &e->peers[index];
	struct open *open = &e->open[e->open_count];
	struct sw_enet_written *written = &e->written[e->open_count];
	uint32_t header = tx_header_bytes(peer);

	if (e->open_count == SW_ENET_OPEN_MAX || e->serving || length > peer->mtu - header)
		return NULL;
	open->out = e->ops.tx_begin(e->ops.ctx, index, &peer->address, peer->mtu, &written->frame);
	if (!open->out)
		return NULL;
	written->peer_index = index;
	open->at = header;
	if (peer->flags & PEER_DIRTY) /* or it owes none */
		open->at = tx_put_acks(e, peer, open->out, open->at);
	peer->open = (uint8_t)++e->open_count;
	return open;
}

/* An unreliable packet that nothing queued stands before goes straight into the peer's datagram:
 * no block, no list, and one copy in place of two (W1: see docs/performance.md). False: it must be
 * queued. The throttle's lot is drawn as it would be when the queue is framed. */
static inline bool put_direct(struct sw_enet *e, uint32_t index, uint8_t number, uint32_t flags,
	const uint8_t *payload, uint32_t bytes)
{
	struct peer *peer = &e->peers[index];
	struct channel *channel = &peer->channel[number];
	uint32_t length = WIRE_SEND_UNRELIABLE_BYTES + bytes;
	struct open *open;
	uint8_t *p;

	if (peer->reliable.head != NIL || peer->unreliable.head != NIL)
		return false;
	/* it would be reliable: see sw_enet_send */
	if (channel->out_unreliable == UINT16_MAX && !(flags & SW_ENET_UNSEQUENCED))
		return false;
	open = peer->open ? &e->open[peer->open - 1] : open_datagram(e, index, length);
	if (!open || length > peer->mtu - open->at)
		return false;
	p = open->out + open->at;
	put_unreliable(peer, channel, p, number, flags, bytes);
	memcpy(p + WIRE_SEND_UNRELIABLE_BYTES, payload, bytes);
	peer->bandwidth_bytes += length; /* asked for, also if throttled */
	if (tx_throttled(peer)) {
		count(e, SW_ENET_C_THROTTLED, 1);
		return true; /* written over by the next, or not sent */
	}
	open->at += length;
	peer->packets_sent++;
	return true;
}

static void queue_fragments(struct sw_enet *e, uint32_t index, struct channel *channel,
	uint8_t number, bool reliable, const uint8_t *payload, uint32_t bytes, uint32_t fragment)
{
	uint32_t fragments = (bytes + fragment - 1) / fragment;
	uint16_t start = reliable ? channel->out_reliable + 1u : ++channel->out_unreliable;

	for (uint32_t i = 0; i < fragments; i++) {
		uint32_t offset = i * fragment;
		uint32_t part = bytes - offset < fragment ? bytes - offset : fragment;
		uint8_t head[WIRE_SEND_FRAGMENT_BYTES], *p;

		if (reliable)
			p = wire_put_command(head, WIRE_SEND_FRAGMENT | WIRE_ACK_FLAG, number,
				++channel->out_reliable);
		else
			p = wire_put_command(
				head, WIRE_SEND_UNRELIABLE_FRAGMENT, number, channel->out_reliable);
		wire_put16(p, start);
		wire_put16(p + 2, part);
		wire_put32(p + 4, fragments);
		wire_put32(p + 8, i);
		wire_put32(p + 12, bytes);
		wire_put32(p + 16, offset);
		queue_command(e, index, channel, head, sizeof head, payload + offset, part);
	}
	if (reliable)
		channel->out_unreliable = 0;
}

/* Whether so many more reliable commands can be told apart: each that waits on the channel, sent or
 * not, has a sequence number of its own. */
bool numbers_left(struct sw_enet *e, const struct channel *channel, uint32_t commands)
{
	uint32_t head = channel->unacked.head, waiting;

	if (head == NIL)
		return true;
	waiting = (uint16_t)(channel->out_reliable - block_at(e, head)->seq) + 1u;
	return waiting + commands <= UINT16_MAX;
}

static int room(struct sw_enet *e, struct peer *peer, bool yields, uint32_t blocks)
{
	if (yields)
		return pool_take_yielding(e, &peer->queue_blocks, e->yields_blocks_max, blocks);
	return pool_take(e, POOL_QUEUE, &peer->queue_blocks, e->queue_blocks_max, blocks)
		       ? 0
		       : -ENOBUFS;
}

/* Apart, so that the short way below keeps its registers. */
static __attribute__((noinline)) int queue_packet(struct sw_enet *e, uint32_t index, uint8_t number,
	uint32_t flags, const uint8_t *payload, uint32_t bytes)
{
	struct peer *peer = &e->peers[index];
	uint32_t datagram, fragment, blocks, last;
	bool yields = flags & SW_ENET_YIELDS, must = flags & SW_ENET_RELIABLE && !yields, whole;
	struct channel *channel;
	int rc = -ENOBUFS;

	channel = peer_channel(e, peer, number);
	if (!channel)
		goto full;
	/* ENet's promotions: what does not fit a datagram, unless it may be lost in parts, and what
	 * the unreliable counter cannot number any more */
	datagram = peer->mtu - tx_header_bytes(peer);
	whole = bytes + WIRE_SEND_UNRELIABLE_BYTES <= datagram;
	if (!whole && !(flags & SW_ENET_UNRELIABLE_FRAGMENT))
		flags |= SW_ENET_RELIABLE;
	if (channel->out_unreliable == UINT16_MAX && !(whole && flags & SW_ENET_UNSEQUENCED))
		flags |= SW_ENET_RELIABLE;
	if (whole) {
		blocks = pool_chain_blocks(
			bytes + (flags & SW_ENET_RELIABLE ? WIRE_SEND_RELIABLE_BYTES
							  : WIRE_SEND_UNRELIABLE_BYTES));
		if (flags & SW_ENET_RELIABLE && !numbers_left(e, channel, 1))
			goto full;
		rc = room(e, peer, yields, blocks);
		if (rc)
			goto full;
		queue_single(e, index, channel, number, flags, payload, bytes);
	} else {
		fragment = datagram - WIRE_SEND_FRAGMENT_BYTES;
		last = bytes % fragment;
		blocks = bytes / fragment * pool_chain_blocks(datagram) +
			 (last ? pool_chain_blocks(WIRE_SEND_FRAGMENT_BYTES + last) : 0);
		if (flags & SW_ENET_RELIABLE &&
			!numbers_left(e, channel, bytes / fragment + (last > 0)))
			goto full;
		rc = room(e, peer, yields, blocks);
		if (rc)
			goto full;
		queue_fragments(e, index, channel, number, flags & SW_ENET_RELIABLE, payload, bytes,
			fragment);
	}
	count(e, SW_ENET_C_QUEUED, 1);
	peer_dirty(e, index);
	return 0;
full:
	if (must) {
		count(e, SW_ENET_C_SLOW_PEERS, 1);
		leave(e, index, SW_ENET_GONE_SLOW, e->config.told.slow, true);
	} else {
		count(e, yields ? SW_ENET_C_YIELDED : SW_ENET_C_DROPPED_QUEUE, 1);
	}
	return rc;
}

int sw_enet_send(struct sw_enet *e, uint64_t handle, uint8_t number, uint32_t flags,
	const void *payload, uint32_t bytes)
{
	uint32_t index = handle_index(handle);
	const struct peer *peer;

	if (index >= e->peers_fresh || handle != peer_handle(e, index))
		return -ESTALE;
	peer = &e->peers[index];
	if (peer->state != PEER_CONNECTED)
		return -ESTALE;
	if (number >= peer->channel_count || bytes == 0 || bytes > e->config.packet_bytes_max)
		return -EINVAL;
	if (flags & SW_ENET_RELIABLE || number >= CHANNELS_INLINE ||
		!put_direct(e, index, number, flags, payload, bytes))
		return queue_packet(e, index, number, flags, payload, bytes);
	count(e, SW_ENET_C_QUEUED, 1);
	return 0;
}
