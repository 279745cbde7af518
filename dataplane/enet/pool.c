/* pool.c: the memory behind queues and holds: blocks of two cache lines, in two shares.
 *
 * Accounting and taking are apart: pool_take reserves a number of blocks for a peer, block_new uses
 * them up, pool_give returns the reservation. So an assembly can be promised its memory when its
 * first fragment is taken, while only the bytes that came occupy blocks. Because every block in use
 * is inside some reservation, and the reservations of a share never exceed it, block_new cannot
 * fail.
 *
 * Fairness: a peer may hold as many blocks as are free in the share (Choudhury and Hahne's dynamic
 * thresholds), so that any number of hoarders leaves something for the others.
 *
 * No deadlock: what is out of order waits for what is next, so it must not take the memory that the
 * next packet is assembled in. pool_take_next has one largest packet more to give; and of the share
 * of holds a quarter is for that and the state of channels alone, or some thousand peers that hold
 * what they can and never send what is next would leave nobody enough to assemble a packet in. */
#include <errno.h>

#include "dataplane/enet/engine.h"

/* Blocks of a command or packet of so many bytes. */
uint32_t pool_chain_blocks(uint32_t bytes)
{
	return bytes <= BLOCK_DATA ? 1 : 1 + (bytes - BLOCK_DATA + CHAIN_DATA - 1) / CHAIN_DATA;
}

static bool take(struct sw_enet *e, enum pool_share share, uint32_t *peer_blocks, uint32_t peer_max,
	uint32_t blocks, uint64_t kept)
{
	uint64_t free = e->share_total[share] - e->share_used[share];
	uint64_t wanted = (uint64_t)*peer_blocks + blocks;

	free = free > kept ? free - kept : 0;
	if (wanted > peer_max || wanted > free)
		return false;
	*peer_blocks += blocks;
	e->share_used[share] += blocks;
	return true;
}

bool pool_take(struct sw_enet *e, enum pool_share share, uint32_t *peer_blocks, uint32_t peer_max,
	uint32_t blocks)
{
	return take(e, share, peer_blocks, peer_max, blocks,
		share == POOL_HOLD ? e->share_total[POOL_HOLD] / 4 : 0);
}

/* For what yields: half of the share of queues is not for it. 0, -ENOBUFS: who takes has had its
 * part, or -EAGAIN. */
int pool_take_yielding(
	struct sw_enet *e, uint32_t *blocks_taken, uint32_t blocks_max, uint32_t blocks)
{
	if ((uint64_t)*blocks_taken + blocks > blocks_max)
		return -ENOBUFS;
	return take(e, POOL_QUEUE, blocks_taken, blocks_max, blocks, e->share_total[POOL_QUEUE] / 2)
		       ? 0
		       : -EAGAIN;
}

/* For the state of a channel. */
bool pool_take_channel(struct sw_enet *e, struct peer *peer)
{
	return take(e, POOL_HOLD, &peer->hold_blocks, NIL, 1, 0);
}

/* For the assembly of a packet that is next in order on its channel. */
bool pool_take_next(struct sw_enet *e, struct peer *peer, uint32_t blocks)
{
	uint64_t free = e->share_total[POOL_HOLD] - e->share_used[POOL_HOLD];

	if (blocks > free || (uint64_t)peer->hold_blocks + blocks > e->next_blocks_max)
		return false;
	peer->hold_blocks += blocks;
	e->share_used[POOL_HOLD] += blocks;
	return true;
}

void pool_give(struct sw_enet *e, enum pool_share share, uint32_t *peer_blocks, uint32_t blocks)
{
	DCHECK(*peer_blocks >= blocks && e->share_used[share] >= blocks);
	*peer_blocks -= blocks;
	e->share_used[share] -= blocks;
}

uint32_t block_new_raw(struct sw_enet *e)
{
	uint32_t index = e->blocks_free;

	if (index != NIL) {
		e->blocks_free = block_at(e, index)->next;
		return index;
	}
	CHECK(e->blocks_fresh < e->blocks_total); /* see above: our bug otherwise */
	return e->blocks_fresh++;
}

void block_free_raw(struct sw_enet *e, uint32_t index)
{
	block_at(e, index)->next = e->blocks_free;
	e->blocks_free = index;
}

/* A block that holds head and then data, all fields but next and prev cleared. */
uint32_t block_new(struct sw_enet *e, const void *head, uint32_t head_bytes, const void *data,
	uint32_t data_bytes)
{
	uint32_t index = block_new_raw(e);
	struct block *block = block_at(e, index);
	uint32_t part = data_bytes < BLOCK_DATA - head_bytes ? data_bytes : BLOCK_DATA - head_bytes;
	const uint8_t *from = data;
	uint32_t *link = &block->chain;

	memset(block, 0, offsetof(struct block, data));
	block->bytes = (uint16_t)(head_bytes + data_bytes);
	block->payload_bytes = (uint16_t)data_bytes;
	block->chain = NIL;
	if (head_bytes)
		memcpy(block->data, head, head_bytes);
	if (part)
		memcpy(block->data + head_bytes, from, part);
	for (uint32_t left = data_bytes - part; left;) {
		uint32_t next = block_new_raw(e);
		uint8_t *chain = (uint8_t *)block_at(e, next);

		from += part;
		part = left < CHAIN_DATA ? left : CHAIN_DATA;
		*link = next;
		link = (uint32_t *)(void *)chain;
		*link = NIL;
		memcpy(chain + sizeof *link, from, part);
		left -= part;
	}
	return index;
}

/* Frees a block and its chain; returns how many blocks that were. The caller has unlinked it. What
 * it shares with others is theirs still. */
uint32_t block_free(struct sw_enet *e, uint32_t index)
{
	uint32_t freed = 1, chain = block_at(e, index)->chain;

	block_free_raw(e, index);
	if (chain_is_shared(chain)) {
		shared_forget(e, chain & ~CHAIN_SHARED);
		return freed;
	}
	while (chain != NIL) {
		uint32_t next = *(uint32_t *)(void *)block_at(e, chain);

		block_free_raw(e, chain);
		chain = next;
		freed++;
	}
	return freed;
}

/* Copies block->bytes bytes out. */
void block_read(struct sw_enet *e, uint32_t index, uint8_t *out)
{
	const struct block *block = block_at(e, index);
	uint32_t left = block->bytes, part = left < BLOCK_DATA ? left : BLOCK_DATA;
	uint32_t chain = block->chain;

	if (chain_is_shared(chain)) {
		part = left - block->payload_bytes;
		memcpy(out, block->data, part);
		block_read(e, chain & ~CHAIN_SHARED, out + part);
		return;
	}
	memcpy(out, block->data, part);
	while (left -= part) {
		const uint8_t *bytes = (const uint8_t *)block_at(e, chain);

		out += part;
		part = left < CHAIN_DATA ? left : CHAIN_DATA;
		memcpy(out, bytes + sizeof chain, part);
		chain = *(const uint32_t *)(const void *)bytes;
	}
}

static uint32_t *block_head(
	struct sw_enet *e, uint32_t peer, uint8_t kind, uint8_t channel, uint16_t seq)
{
	uint64_t key = (uint64_t)peer << 32 | (uint32_t)kind << 24 | (uint32_t)channel << 16 | seq;
	unsigned __int128 product =
		(unsigned __int128)(key ^ e->hash_key[0]) * (e->hash_key[1] | 1);

	return &e->block_heads[((uint64_t)product ^ (uint64_t)(product >> 64)) & e->block_mask];
}

static bool block_is(
	const struct block *block, uint32_t peer, uint8_t kind, uint8_t channel, uint16_t seq)
{
	return block->peer == peer && block->seq == seq && block->channel == channel &&
	       block->kind == kind;
}

void block_hash_add(struct sw_enet *e, uint32_t index)
{
	struct block *block = block_at(e, index);
	uint32_t *head = block_head(e, block->peer, block->kind, block->channel, block->seq);

	block->hash_next = *head;
	*head = index;
}

void block_hash_remove(struct sw_enet *e, uint32_t index)
{
	struct block *block = block_at(e, index);
	uint32_t *link = block_head(e, block->peer, block->kind, block->channel, block->seq);

	while (*link != index) {
		DCHECK(*link != NIL);
		link = &block_at(e, *link)->hash_next;
	}
	*link = block->hash_next;
}

uint32_t block_find(struct sw_enet *e, uint32_t peer, uint8_t kind, uint8_t channel, uint16_t seq)
{
	uint32_t index = *block_head(e, peer, kind, channel, seq);

	while (index != NIL && !block_is(block_at(e, index), peer, kind, channel, seq))
		index = block_at(e, index)->hash_next;
	return index;
}

void list_push(struct sw_enet *e, struct list *list, uint32_t index)
{
	struct block *block = block_at(e, index);

	block->next = NIL;
	block->prev = list->tail;
	if (list->tail == NIL)
		list->head = index;
	else
		block_at(e, list->tail)->next = index;
	list->tail = index;
}

void list_push_front(struct sw_enet *e, struct list *list, uint32_t index)
{
	struct block *block = block_at(e, index);

	block->prev = NIL;
	block->next = list->head;
	if (list->head == NIL)
		list->tail = index;
	else
		block_at(e, list->head)->prev = index;
	list->head = index;
}

void list_remove(struct sw_enet *e, struct list *list, uint32_t index)
{
	struct block *block = block_at(e, index);

	if (block->prev == NIL)
		list->head = block->next;
	else
		block_at(e, block->prev)->next = block->next;
	if (block->next == NIL)
		list->tail = block->prev;
	else
		block_at(e, block->next)->prev = block->prev;
}
