/* deliver.c: from commands to deliveries, in order, once. R4: a reliable command may be
 * acknowledged when deliver() took it, or when it is held in memory set aside for that. One that
 * fills a gap is taken with the whole run that it releases, or is treated as not received. */
#include "dataplane/enet/engine.h"

static bool deliver_call(struct sw_enet *e, const struct peer *peer, uint32_t packets)
{
	/* nothing before its connected(), nothing once it is gone (a delivery may have ended it) */
	if ((peer->flags & PEER_OWES_CONNECTED) ||
		(peer->state != PEER_CONNECTED && peer->state != PEER_LATER))
		return false;
	if (!e->ops.deliver(e->ops.ctx, e->run, packets))
		return false;
	count(e, SW_ENET_C_DELIVERED, packets);
	return true;
}

static void run_put(struct sw_enet *e, uint32_t at, uint32_t index, uint8_t channel, uint8_t flags,
	const uint8_t *payload, uint32_t bytes)
{
	e->run[at] = (struct sw_enet_delivery){
		.peer = peer_handle(e, index),
		.payload = payload,
		.bytes = bytes,
		.channel = channel,
		.flags = flags,
	};
}

/* One packet that nothing waits for. False: dropped. */
bool deliver_one(struct sw_enet *e, uint32_t index, uint8_t channel, uint8_t flags,
	const uint8_t *payload, uint32_t bytes)
{
	run_put(e, 0, index, channel, flags, payload, bytes);
	if (deliver_call(e, &e->peers[index], 1))
		return true;
	count(e, SW_ENET_C_DROPPED_RING, 1);
	return false;
}

/* The payload of a held or pending packet, contiguous: in its block, or copied to *scratch. */
static const uint8_t *contiguous(
	struct sw_enet *e, uint32_t index, uint8_t **scratch, uint32_t *bytes)
{
	const struct block *block = block_at(e, index);
	uint8_t *at = *scratch;

	if (block->in.count == 0 && block->chain == NIL) {
		*bytes = block->bytes;
		return block->data;
	}
	if (block->in.count) {
		*bytes = block->in.total_bytes;
		fragment_copy(e, block, at);
	} else {
		*bytes = block->bytes;
		block_read(e, index, at);
	}
	*scratch = at + *bytes;
	DCHECK(*scratch <= e->scratch + e->scratch_bytes);
	return at;
}

/* Delivers the run that begins after in_reliable: first, if it is not NULL, and what is held behind
 * it. Returns false, and changes nothing, when deliver() does not take it. */
bool deliver_run(struct sw_enet *e, uint32_t index, uint8_t number, const struct command *first)
{
	struct peer *peer = &e->peers[index];
	struct channel *channel = peer_channel(e, peer, number);
	uint16_t begin = channel->in_reliable + 1u, next = begin;
	uint32_t packets = 0, held = 0, work;
	uint8_t *scratch = e->scratch;

	/* Refused a moment ago, and long: who repeats a small packet before a full hold must not
	 * make us copy the hold each time. */
	if (peer->held.head != NIL && e->now_ms < e->cold[index].again_ms) {
		count(e, SW_ENET_C_WITHHELD_RING, 1);
		return false;
	}
	if (first) {
		run_put(e, packets++, index, number, SW_ENET_RELIABLE, first->data,
			first->data_bytes);
		next++;
	}
	/* what is held is less than seven windows ahead, with up to FRAGMENTS_MAX behind it */
	while (peer->held.head != NIL && packets < e->run_max &&
		(uint16_t)(next - begin) < 0x8000) {
		uint32_t found = block_find(e, index, BLOCK_HELD, number, next), bytes;
		const uint8_t *payload;
		uint16_t span;

		if (found == NIL || block_at(e, found)->in.missing)
			break;
		payload = contiguous(e, found, &scratch, &bytes);
		run_put(e, packets++, index, number, SW_ENET_RELIABLE, payload, bytes);
		e->run_block[held++] = found;
		span = block_at(e, found)->in.count;
		next += span ? span : 1;
	}
	if (packets == 0)
		return true;
	if (!deliver_call(e, peer, packets)) {
		count(e, SW_ENET_C_WITHHELD_RING, 1);
		e->cold[index].put_off_ms = e->now_ms;
		work = packets + (uint32_t)(scratch - e->scratch) / BLOCK_BYTES;
		if (work > RUN_FREE)
			e->cold[index].again_ms = e->now_ms + 1 + work / RUN_PER_MS;
		return false;
	}
	channel->in_reliable = next - 1u;
	channel->in_unreliable = 0;
	for (uint32_t i = 0; i < held; i++)
		held_free(e, index, e->run_block[i]);
	deliver_pending(e, index, number);
	return true;
}

uint32_t deliver_reliable(
	struct sw_enet *e, uint32_t index, const struct command *command, bool *keep)
{
	struct peer *peer = &e->peers[index];
	struct channel *channel = peer_channel(e, peer, command->channel);
	uint32_t ahead, blocks, block;

	if (!channel) {
		count(e, SW_ENET_C_WITHHELD_MEMORY, 1);
		return 0;
	}
	ahead = wire_windows_ahead(command->seq, channel->in_reliable);
	if (ahead >= WIRE_WINDOWS_AHEAD || command->seq == channel->in_reliable) {
		/* a repetition is acknowledged again, or a lost acknowledgement would lock the
		 * channel; what is 7 or 8 windows away cannot be one (ENet's rule) */
		*keep = ahead != WIRE_WINDOWS_AHEAD && ahead != WIRE_WINDOWS_AHEAD + 1;
		count(e, *keep ? SW_ENET_C_DUPLICATES : SW_ENET_C_FAR_AHEAD, 1);
		return 0;
	}
	if (peer->held.head != NIL) {
		block = block_find(e, index, BLOCK_HELD, command->channel, command->seq);
		if (block != NIL) {
			if (block_at(e, block)->in.count)
				return SW_ENET_C_BAD_FRAGMENT;
			*keep = true;
			count(e, SW_ENET_C_DUPLICATES, 1);
			return 0;
		}
	}
	if (command->seq == (uint16_t)(channel->in_reliable + 1)) {
		*keep = deliver_run(e, index, command->channel, command);
		return 0;
	}
	blocks = pool_chain_blocks(command->data_bytes);
	/* Not further ahead than the hold could reach without a gap: else what comes later fills
	 * it, and what is wanted sooner is withheld again and again, at twice the interval each
	 * time. */
	if ((uint16_t)(command->seq - channel->in_reliable) > e->hold_blocks_max ||
		!pool_take(e, POOL_HOLD, &peer->hold_blocks, e->hold_blocks_max, blocks)) {
		count(e, SW_ENET_C_WITHHELD_MEMORY, 1);
		return 0;
	}
	block = block_new(e, NULL, 0, command->data, command->data_bytes);
	block_at(e, block)->kind = BLOCK_HELD;
	block_at(e, block)->peer = index;
	block_at(e, block)->channel = command->channel;
	block_at(e, block)->seq = command->seq;
	block_at(e, block)->in.due_ms = (uint32_t)(e->now_ms + GAP_MS);
	list_push(e, &peer->held, block);
	block_hash_add(e, block);
	count(e, SW_ENET_C_HELD, 1);
	*keep = true;
	return 0;
}

/* Drops what waits on the channel up to an unreliable sequence number, and what waits for a
 * reliable packet that is behind. */
static void pending_drop(
	struct sw_enet *e, uint32_t index, uint8_t number, const struct channel *channel)
{
	struct peer *peer = &e->peers[index];

	for (uint32_t at = peer->pending.head, next; at != NIL; at = next) {
		const struct block *block = block_at(e, at);
		bool passed;

		next = block->next;
		if (block->channel != number)
			continue;
		if (block->seq == channel->in_reliable)
			passed = block->aux <= channel->in_unreliable;
		else
			passed = wire_windows_ahead(block->seq, channel->in_reliable) >=
				 WIRE_WINDOWS_AHEAD;
		if (!passed)
			continue;
		count(e,
			block->in.missing ? SW_ENET_C_ASSEMBLIES_DROPPED
					  : SW_ENET_C_STALE_UNRELIABLE,
			1);
		pending_free(e, index, at);
	}
}

/* Unreliable packets whose reliable predecessor has been delivered, in order. */
void deliver_pending(struct sw_enet *e, uint32_t index, uint8_t number)
{
	struct peer *peer = &e->peers[index];
	struct channel *channel;

	if (peer->pending.head == NIL)
		return;
	channel = peer_channel(e, peer, number);
	for (;;) {
		uint32_t first = NIL, bytes;
		const struct block *block;
		const uint8_t *payload;
		uint8_t *scratch = e->scratch;

		pending_drop(e, index, number, channel);
		for (uint32_t at = peer->pending.head; at != NIL; at = block_at(e, at)->next) {
			block = block_at(e, at);
			if (block->channel == number && block->seq == channel->in_reliable &&
				block->in.missing == 0 &&
				(first == NIL || block->aux < block_at(e, first)->aux))
				first = at;
		}
		if (first == NIL)
			return;
		block = block_at(e, first);
		payload = contiguous(e, first, &scratch, &bytes);
		deliver_one(e, index, number, block->in.count ? SW_ENET_UNRELIABLE_FRAGMENT : 0,
			payload, bytes);
		channel->in_unreliable = block->aux;
		pending_free(e, index, first);
	}
}

uint32_t deliver_unreliable(struct sw_enet *e, uint32_t index, const struct command *command)
{
	struct peer *peer = &e->peers[index];
	struct channel *channel = peer_channel(e, peer, command->channel);
	uint16_t unreliable = wire_get16(command->bytes + 4);
	uint32_t block;

	if (!channel) {
		count(e, SW_ENET_C_DROPPED_MEMORY, 1);
		return 0;
	}
	if (wire_windows_ahead(command->seq, channel->in_reliable) >= WIRE_WINDOWS_AHEAD ||
		(command->seq == channel->in_reliable && unreliable <= channel->in_unreliable &&
			!(peer->flags & PEER_PRESET))) {
		count(e, SW_ENET_C_STALE_UNRELIABLE, 1);
		return 0;
	}
	if (command->seq == channel->in_reliable) {
		deliver_one(e, index, command->channel, 0, command->data, command->data_bytes);
		channel->in_unreliable = unreliable; /* also if dropped: it does not come again */
		if (peer->pending.head != NIL)
			pending_drop(e, index, command->channel, channel);
		return 0;
	}
	for (block = peer->pending.head; block != NIL; block = block_at(e, block)->next) {
		const struct block *other = block_at(e, block);

		if (other->channel == command->channel && other->seq == command->seq &&
			other->aux == unreliable) {
			count(e, SW_ENET_C_STALE_UNRELIABLE, 1);
			return 0;
		}
	}
	if (peer->pending_count >= PENDING_MAX ||
		!pool_take(e, POOL_HOLD, &peer->hold_blocks, e->hold_blocks_max,
			pool_chain_blocks(command->data_bytes))) {
		count(e, SW_ENET_C_DROPPED_MEMORY, 1);
		return 0;
	}
	block = block_new(e, NULL, 0, command->data, command->data_bytes);
	block_at(e, block)->kind = BLOCK_PENDING;
	block_at(e, block)->channel = command->channel;
	block_at(e, block)->seq = command->seq;
	block_at(e, block)->aux = unreliable;
	block_at(e, block)->in.due_ms = (uint32_t)(e->now_ms + PENDING_MS);
	list_push(e, &peer->pending, block);
	peer->pending_count++;
	timer_set(e, index, e->now_ms + PENDING_MS);
	return 0;
}

/* ENet's window: 1,024 groups that begin at a multiple of 1,024 and move only forward. A preset
 * peer may repeat itself, here and above. */
uint32_t deliver_unsequenced(struct sw_enet *e, uint32_t index, const struct command *command)
{
	struct peer *peer = &e->peers[index];
	uint32_t *seen = e->cold[index].unsequenced;
	uint32_t group = wire_get16(command->bytes + 4), bit = group % WIRE_UNSEQUENCED_WINDOW;
	uint32_t ahead =
		(group < peer->unsequenced_in ? group + 0x10000 : group) - peer->unsequenced_in;

	if (ahead >= WIRE_UNSEQUENCED_AHEAD && !(peer->flags & PEER_PRESET)) {
		count(e, SW_ENET_C_STALE_UNRELIABLE, 1);
		return 0;
	}
	if (group - bit != peer->unsequenced_in) {
		peer->unsequenced_in = (uint16_t)(group - bit);
		memset(seen, 0, sizeof e->cold[index].unsequenced);
	} else if (seen[bit / 32] & 1u << bit % 32 && !(peer->flags & PEER_PRESET)) {
		count(e, SW_ENET_C_STALE_UNRELIABLE, 1);
		return 0;
	}
	if (deliver_one(e, index, command->channel, SW_ENET_UNSEQUENCED, command->data,
		    command->data_bytes))
		seen[bit / 32] |= 1u << bit % 32;
	return 0;
}
