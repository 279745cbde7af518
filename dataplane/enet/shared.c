/* shared.c: one packet for many peers: its payload is kept once, with a count of who refers to it,
 * and copied when a datagram is written. So a repeated one never rewrites a frame that may still be
 * on its way out. */
#include <errno.h>

#include "dataplane/enet/engine.h"

uint32_t sw_enet_shared_new(struct sw_enet *e, const void *payload, uint32_t bytes)
{
	uint32_t index;

	if (!bytes || bytes > e->config.packet_bytes_max ||
		bytes > UINT16_MAX - WIRE_SEND_RELIABLE_BYTES ||
		pool_take_yielding(e, &e->shared_blocks, NIL, pool_chain_blocks(bytes)))
		return SW_ENET_NO_SHARED;
	index = block_new(e, NULL, 0, payload, bytes);
	block_at(e, index)->kind = BLOCK_SHARED;
	block_at(e, index)->shared.count = 1; /* the caller's */
	return index;
}

void shared_forget(struct sw_enet *e, uint32_t index)
{
	struct block *block = block_at(e, index);

	DCHECK(block->kind == BLOCK_SHARED && block->shared.count);
	if (--block->shared.count == 0)
		pool_give(e, POOL_QUEUE, &e->shared_blocks, block_free(e, index));
}

void sw_enet_shared_release(struct sw_enet *e, uint32_t shared)
{
	shared_forget(e, shared);
}

int sw_enet_send_shared(struct sw_enet *e, uint64_t handle, uint8_t number, uint32_t shared)
{
	uint32_t index = handle_index(handle), bytes, at;
	struct block *payload = block_at(e, shared), *block;
	uint8_t head[WIRE_SEND_RELIABLE_BYTES], *p;
	struct channel *channel;
	struct peer *peer;
	int rc = -ENOBUFS;

	DCHECK(payload->kind == BLOCK_SHARED);
	if (index >= e->peers_fresh || handle != peer_handle(e, index))
		return -ESTALE;
	peer = &e->peers[index];
	if (peer->state != PEER_CONNECTED)
		return -ESTALE;
	if (number >= peer->channel_count)
		return -EINVAL;
	bytes = payload->bytes;
	/* as sw_enet_send decides it */
	if (bytes + WIRE_SEND_UNRELIABLE_BYTES > peer->mtu - tx_header_bytes(peer))
		return -EMSGSIZE;
	channel = peer_channel(e, peer, number);
	if (channel && numbers_left(e, channel, 1))
		rc = pool_take_yielding(e, &peer->queue_blocks, e->yields_blocks_max, 1);
	if (rc) {
		count(e, SW_ENET_C_YIELDED, 1);
		return rc;
	}
	channel->out_unreliable = 0;
	p = wire_put_command(
		head, WIRE_SEND_RELIABLE | WIRE_ACK_FLAG, number, ++channel->out_reliable);
	wire_put16(p, bytes);
	if (bytes <= BLOCK_DATA - sizeof head) { /* it fits the peer's own block: no second look */
		at = block_new(e, head, sizeof head, payload->data, bytes);
		block = block_at(e, at);
	} else {
		at = block_new(e, head, sizeof head, NULL, 0);
		block = block_at(e, at);
		block->bytes = (uint16_t)(sizeof head + bytes);
		block->payload_bytes = (uint16_t)bytes;
		block->chain = CHAIN_SHARED | shared;
		payload->shared.count++;
	}
	block->command = head[0];
	block->channel = number;
	block->seq = channel->out_reliable;
	queue_reliable(e, index, channel, at);
	count(e, SW_ENET_C_QUEUED, 1);
	peer_dirty(e, index);
	return 0;
}
