/* tx.c: from queues to datagrams. */
#include "dataplane/enet/engine.h"

/* One DISCONNECT that asks for no acknowledgement. connect_id: NULL without checksum. False: no
 * buffer. */
bool tx_disconnect(struct sw_enet *e, uint32_t peer, const struct sw_enet_addr *to,
	uint16_t client_id, uint8_t session, const uint32_t *connect_id, uint32_t data)
{
	uint32_t header = WIRE_HEADER_BYTES + (connect_id ? WIRE_CHECKSUM_BYTES : 0);
	uint32_t bytes = header + WIRE_DISCONNECT_BYTES;
	void *frame;
	uint8_t *out = e->ops.tx_begin(e->ops.ctx, peer, to, bytes, &frame);

	if (!out) {
		e->no_buffer++;
		return false;
	}
	wire_put16(out, WIRE_SENT_TIME | (uint32_t)session << WIRE_SESSION_SHIFT | client_id);
	wire_put16(out + 2, (uint32_t)e->now_ms & 0xffff);
	wire_put32(wire_put_command(out + header, WIRE_DISCONNECT | WIRE_UNSEQUENCED_FLAG,
			   WIRE_CONTROL_CHANNEL, 1),
		data);
	if (connect_id)
		crc_put(e, out, bytes, WIRE_HEADER_BYTES, *connect_id);
	e->ops.tx_end(e->ops.ctx, peer, frame, bytes);
	count(e, SW_ENET_C_DATAGRAMS_OUT, 1);
	count(e, SW_ENET_C_BYTES_OUT, bytes);
	return true;
}

/* Queues a reliable command on the control channel. False: no memory. */
bool tx_control(
	struct sw_enet *e, uint32_t index, uint32_t command, const uint8_t *fields, uint32_t bytes)
{
	struct peer *peer = &e->peers[index];
	uint8_t head[WIRE_COMMAND_HEADER_BYTES];
	struct block *block;
	uint32_t at;

	/* one block beyond the queue's limit: who has filled it can still be told to go */
	if (!pool_take(e, POOL_QUEUE, &peer->queue_blocks, e->queue_blocks_max + 1, 1))
		return false;
	wire_put_command(head, command, WIRE_CONTROL_CHANNEL, ++peer->control_seq);
	at = block_new(e, head, sizeof head, fields, bytes);
	block = block_at(e, at);
	block->kind = BLOCK_OUT;
	block->peer = index;
	block->seq = peer->control_seq;
	block->payload_bytes = 0;
	block->channel = WIRE_CONTROL_CHANNEL;
	block->command = (uint8_t)command;
	block->out.order = peer->order++;
	list_push(e, &peer->reliable, at);
	block_hash_add(e, at);
	peer_dirty(e, index);
	return true;
}

/* Whether the peer's windows let the next reliable command go. */
static bool sendable(struct sw_enet *e, struct peer *peer, const struct block *block)
{
	uint32_t window = peer->throttle * peer->window_bytes / THROTTLE_SCALE;
	const struct channel *channel;
	uint16_t taken;

	if (block->payload_bytes && peer->in_flight_bytes + block->payload_bytes >
					    (window > peer->mtu ? window : peer->mtu))
		return false;
	if (block->attempts || block->channel == WIRE_CONTROL_CHANNEL)
		return true;
	/* the receiver has at least all before the oldest unacknowledged, and takes what is less
	 * than seven windows ahead of that */
	channel = peer_channel(e, peer, block->channel);
	taken = block_at(e, channel->unacked.head)->seq - 1u;
	return wire_windows_ahead(block->seq, taken) < WIRE_WINDOWS_AHEAD;
}

static void unreliable_free(struct sw_enet *e, struct peer *peer, uint32_t at)
{
	list_remove(e, &peer->unreliable, at);
	pool_give(e, POOL_QUEUE, &peer->queue_blocks, block_free(e, at));
}

/* The throttle's lot for the packet at the head of unreliable: true if it was dropped, with all
 * its fragments. */
static bool throttled(struct sw_enet *e, struct peer *peer, struct block *block)
{
	uint16_t seq = block->seq, aux = block->aux;
	uint8_t channel = block->channel, command = block->command;
	bool fragment = (command & WIRE_COMMAND_MASK) == WIRE_SEND_UNRELIABLE_FRAGMENT;

	if (fragment && wire_get32(block->data + 12) != 0)
		return false; /* its first one was drawn for all */
	if (!tx_throttled(peer))
		return false;
	count(e, SW_ENET_C_THROTTLED, 1);
	do {
		unreliable_free(e, peer, peer->unreliable.head);
		if (!fragment || peer->unreliable.head == NIL)
			break;
		block = block_at(e, peer->unreliable.head);
	} while (block->command == command && block->channel == channel && block->seq == seq &&
		 block->aux == aux);
	return true;
}

static void reliable_sent(struct sw_enet *e, uint32_t index, uint32_t at)
{
	struct peer *peer = &e->peers[index];
	struct block *block = block_at(e, at);

	if (block->attempts)
		count(e, SW_ENET_C_RETRANSMITTED, 1);
	if (block->attempts < UINT8_MAX)
		block->attempts++;
	if (block->out.rto_ms == 0) {
		block->out.rto_ms = peer->rtt_ms + 4 * peer->rtt_variance_ms;
		if (block->out.rto_ms < RTO_MIN_MS)
			block->out.rto_ms = RTO_MIN_MS;
		if (block->out.rto_ms > TIMEOUT_MAX_MS) /* the client chose what it echoes */
			block->out.rto_ms = TIMEOUT_MAX_MS;
	}
	block->out.sent_ms = (uint32_t)e->now_ms;
	block->aux = 1;
	peer->in_flight_bytes += block->payload_bytes;
	list_remove(e, &peer->reliable, at);
	list_push(e, &peer->sent, at);
	if (peer->sent.head == at)
		timer_rearm(e, index);
}

__attribute__((noinline)) uint32_t tx_put_acks(

	struct sw_enet *e, struct peer *peer, uint8_t *out, uint32_t at)
{
	uint32_t room = (peer->mtu - at) / WIRE_ACKNOWLEDGE_BYTES;
	uint32_t n = peer->ack_inline;

	if (n > room)
		return at; /* the datagram was open, and is nearly full */
	if (n) {
		memcpy(out + at, peer->ack, (size_t)n * WIRE_ACKNOWLEDGE_BYTES);
		at += n * WIRE_ACKNOWLEDGE_BYTES;
		peer->ack_inline = 0;
	}
	while (peer->acks.head != NIL) {
		uint32_t head = peer->acks.head;
		struct block *block = block_at(e, head);

		if (block->bytes > peer->mtu - at)
			break;
		memcpy(out + at, block->data, block->bytes);
		at += block->bytes;
		list_remove(e, &peer->acks, head);
		block_free_raw(e, head);
		pool_give(e, POOL_QUEUE, &peer->ack_blocks, 1);
	}
	return at;
}

/* Commands in the order in which they were queued, repeated ones first, until one does not fit or
 * none may go. Returns the new end. */
static __attribute__((noinline)) uint32_t put_commands(
	struct sw_enet *e, uint32_t index, uint8_t *out, uint32_t at)
{
	struct peer *peer = &e->peers[index];
	bool blocked = false;

	for (;;) {
		uint32_t reliable = blocked ? NIL : peer->reliable.head;
		uint32_t unreliable = peer->unreliable.head, next = reliable;
		struct block *block;

		if (reliable == NIL ||
			(unreliable != NIL && (int32_t)(block_at(e, unreliable)->out.order -
							block_at(e, reliable)->out.order) < 0))
			next = unreliable;
		if (next == NIL)
			return at;
		block = block_at(e, next);
		if (next == reliable && !sendable(e, peer, block)) {
			blocked = true;
			continue;
		}
		if (next == unreliable && throttled(e, peer, block))
			continue;
		if (block->bytes > peer->mtu - at)
			return at;
		/* A whole block is a copy of known length, where there is room for it; what is
		 * beyond the command is written over, or not sent. */
		if (block->chain == NIL && peer->mtu - at >= BLOCK_DATA)
			memcpy(out + at, block->data, BLOCK_DATA);
		else
			block_read(e, next, out + at);
		at += block->bytes;
		peer->packets_sent++;
		if (next == reliable)
			reliable_sent(e, index, next);
		else
			unreliable_free(e, peer, next);
	}
}

static bool waiting(struct sw_enet *e, struct peer *peer)
{
	return peer->ack_inline || peer->acks.head != NIL || peer->unreliable.head != NIL ||
	       (peer->reliable.head != NIL && sendable(e, peer, block_at(e, peer->reliable.head)));
}

/* Writes the header of a datagram whose commands end at `at`. Returns its bytes. */
static inline uint32_t finish(struct sw_enet *e, uint32_t index, uint8_t *out, uint32_t at)
{
	struct peer *peer = &e->peers[index];

	wire_put32(out, (WIRE_SENT_TIME | (uint32_t)peer->session_out << WIRE_SESSION_SHIFT |
				peer->client_id)
					<< 16 |
				((uint32_t)e->now_ms & 0xffff));
	if (peer->flags & (PEER_CHECKSUM | PEER_COMPRESSED))
		at = seal(e, out, at, peer->flags & PEER_CHECKSUM ? &peer->connect_id : NULL,
			peer->flags & PEER_COMPRESSED);
	return at;
}

static inline void bandwidth(struct sw_enet *e, uint32_t index)
{
	uint64_t elapsed_ms = e->now_ms - e->peers[index].bandwidth_epoch_ms;

	if (elapsed_ms >= BANDWIDTH_INTERVAL_MS)
		rtt_bandwidth(e, index, elapsed_ms);
}

/* Sends what waits for the peer and may go now. *more: no buffer, try again. */
uint32_t tx_flush(struct sw_enet *e, uint32_t index, bool *more)
{
	struct peer *peer = &e->peers[index];
	uint32_t header = tx_header_bytes(peer), sent = 0;

	bandwidth(e, index);
	while (waiting(e, peer)) {
		void *frame;
		uint8_t *out =
			e->ops.tx_begin(e->ops.ctx, index, &peer->address, peer->mtu, &frame);
		uint32_t at;

		if (!out) {
			count(e, SW_ENET_C_NO_BUFFER, 1);
			e->no_buffer++;
			*more = true;
			break;
		}
		at = tx_put_acks(e, peer, out, header);
		at = put_commands(e, index, out, at);
		if (at == header) { /* all of it was throttled */
			e->ops.tx_end(e->ops.ctx, index, frame, 0);
			break;
		}
		at = finish(e, index, out, at);
		e->ops.tx_end(e->ops.ctx, index, frame, at);
		count(e, SW_ENET_C_BYTES_OUT, at);
		sent++;
	}
	count(e, SW_ENET_C_DATAGRAMS_OUT, sent);
	return sent;
}

/* Sends the open datagrams, each with what its peer has had queued since. What did not fit stays on
 * the dirty list. Returns datagrams sent. */
uint32_t tx_close_all(struct sw_enet *e)
{
	uint32_t sent = 0, n = e->open_count;
	uint64_t bytes = 0;

	for (uint32_t i = 0; i < n; i++) {
		const struct open *open = &e->open[i];
		struct sw_enet_written *written = &e->written[i];
		uint32_t index = written->peer_index, at = open->at;
		struct peer *peer = &e->peers[index];

		peer->open = 0;
		bandwidth(e, index);
		if (peer->state != PEER_CONNECTED && peer->state != PEER_LATER)
			at = 0; /* ended since: nothing that was queued before goes out */
		else if (peer->flags & PEER_DIRTY)
			at = put_commands(e, index, open->out, tx_put_acks(e, peer, open->out, at));
		written->bytes = 0;
		if (at <= tx_header_bytes(peer)) /* or all of it was throttled */
			continue;
		written->bytes = finish(e, index, open->out, at);
		bytes += written->bytes;
		sent++;
	}
	e->open_count = 0;
	if (n && e->ops.tx_end_each)
		e->ops.tx_end_each(e->ops.ctx, e->written, n);
	else
		for (uint32_t i = 0; i < n; i++)
			e->ops.tx_end(e->ops.ctx, e->written[i].peer_index, e->written[i].frame,
				e->written[i].bytes);
	count(e, SW_ENET_C_DATAGRAMS_OUT, sent);
	count(e, SW_ENET_C_BYTES_OUT, bytes);
	return sent;
}
