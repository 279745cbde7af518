/* acknowledge.c: acknowledgements, those that come and those that we owe. */
#include "dataplane/enet/engine.h"

static void unacked_remove(struct sw_enet *e, struct list *unacked, struct block *block)
{
	if (block->out.unacked_prev == NIL)
		unacked->head = block->out.unacked_next;
	else
		block_at(e, block->out.unacked_prev)->out.unacked_next = block->out.unacked_next;
	if (block->out.unacked_next == NIL)
		unacked->tail = block->out.unacked_prev;
	else
		block_at(e, block->out.unacked_next)->out.unacked_prev = block->out.unacked_prev;
}

/* Takes a sent command out of the books. */
static void unsent(struct sw_enet *e, struct peer *peer, uint32_t index)
{
	struct block *block = block_at(e, index);

	if (block->channel != WIRE_CONTROL_CHANNEL) {
		struct channel *channel = peer_channel(e, peer, block->channel);

		unacked_remove(e, &channel->unacked, block);
	}
	if (block->aux) {
		peer->in_flight_bytes -= block->payload_bytes;
		list_remove(e, &peer->sent, index);
	} else {
		list_remove(e, &peer->reliable, index); /* was about to be repeated */
	}
	block_hash_remove(e, index);
	pool_give(e, POOL_QUEUE, &peer->queue_blocks, block_free(e, index));
}

/* An ACKNOWLEDGE command. Only one that names a command in flight gives a round-trip sample: one
 * for VERIFY_CONNECT, whose sent time is no time, may come again. */
uint32_t acknowledge_received(struct sw_enet *e, uint32_t index, const uint8_t *command)
{
	struct peer *peer = &e->peers[index];
	uint16_t seq = wire_get16(command + 4);
	uint16_t rtt_ms = (uint16_t)(e->now_ms - wire_get16(command + 6));
	uint32_t found = block_find(e, index, BLOCK_OUT, command[1], seq);
	bool disconnect;

	/* Unlike in libenet, one for nothing does not count as a sign that what we sent arrives:
	 * who invents them could keep what it never acknowledges, our DISCONNECT above all, and its
	 * place, for ever. */
	if (found == NIL || block_at(e, found)->attempts == 0)
		return 0;
	if (rtt_ms >= 0x8000)
		return SW_ENET_C_FUTURE_ACKNOWLEDGE;
	disconnect = (block_at(e, found)->command & WIRE_COMMAND_MASK) == WIRE_DISCONNECT;
	rtt_acknowledge(e, index, rtt_ms);
	unsent(e, peer, found);
	if (peer->sent.head == NIL)
		timer_rearm(e, index);
	if (peer->reliable.head != NIL || peer->state == PEER_LATER)
		peer_dirty(e, index);
	if (disconnect && peer->state == PEER_DISCONNECTING)
		leave_acknowledged(e, index);
	return 0;
}

/* All that was sent counts as acknowledged, without a round-trip sample. */
void acknowledge_all(struct sw_enet *e, uint32_t index)
{
	struct peer *peer = &e->peers[index];

	while (peer->sent.head != NIL)
		unsent(e, peer, peer->sent.head);
	if (peer->reliable.head != NIL)
		peer_dirty(e, index);
}

/* Makes sure that the next acknowledge_queue has a place. Asked before a command is worked on: what
 * cannot be acknowledged is not taken. */
bool acknowledge_room(struct sw_enet *e, struct peer *peer)
{
	uint32_t block;

	if (peer->acks.head == NIL && peer->ack_inline < ACKS_INLINE)
		return true;
	if (peer->acks.tail != NIL &&
		block_at(e, peer->acks.tail)->bytes < ACKS_PER_BLOCK * WIRE_ACKNOWLEDGE_BYTES)
		return true;
	if (!pool_take(e, POOL_QUEUE, &peer->ack_blocks, ACK_BLOCKS_MAX, 1))
		return false;
	block = block_new(e, NULL, 0, NULL, 0);
	list_push(e, &peer->acks, block);
	return true;
}

void acknowledge_queue(
	struct sw_enet *e, uint32_t index, uint8_t channel, uint16_t seq, uint16_t sent_time)
{
	struct peer *peer = &e->peers[index];
	uint8_t *p;

	if (peer->acks.tail == NIL) {
		p = peer->ack[peer->ack_inline++];
	} else {
		struct block *block = block_at(e, peer->acks.tail);

		p = block->data + block->bytes;
		block->bytes += WIRE_ACKNOWLEDGE_BYTES;
	}
	p = wire_put_command(p, WIRE_ACKNOWLEDGE, channel, seq);
	wire_put16(p, seq);
	wire_put16(p + 2, sent_time);
	peer_dirty(e, index);
}

/* What we owe, but have not said yet. */
void acknowledge_forget(struct sw_enet *e, struct peer *peer)
{
	while (peer->acks.head != NIL) {
		uint32_t block = peer->acks.head;

		list_remove(e, &peer->acks, block);
		block_free_raw(e, block);
		pool_give(e, POOL_QUEUE, &peer->ack_blocks, 1);
	}
	peer->ack_inline = 0;
}
