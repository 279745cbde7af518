/* fragment.c: packets that come in fragments.
 *
 * An assembly is a head block and a list of the fragments that came; it reserves the memory of the
 * whole packet when its first fragment is taken, and uses it as they come. So a fragment that was
 * acknowledged is never evicted, one that is refused for want of memory is always a first one, and
 * what a client announces but does not send commits nothing.
 *
 * Every fragment but the last has the same length, as in ENet; one that says otherwise is refused,
 * so a complete set covers the packet exactly and none overlap. */
#include "dataplane/enet/engine.h"

struct fragment {
	uint32_t start, count, number, total_bytes, fragment_bytes;
};

static uint32_t fragment_parse(
	const struct sw_enet *e, const struct command *command, struct fragment *f)
{
	const uint8_t *p = command->bytes;
	uint32_t offset = wire_get32(p + 20), bytes = command->data_bytes;

	f->start = wire_get16(p + 4);
	f->count = wire_get32(p + 8);
	f->number = wire_get32(p + 12);
	f->total_bytes = wire_get32(p + 16);
	if (f->number >= f->count || f->count > WIRE_FRAGMENTS_MAX || bytes == 0 ||
		f->total_bytes < f->count || offset >= f->total_bytes ||
		bytes > f->total_bytes - offset)
		return SW_ENET_C_BAD_FRAGMENT;
	if (f->total_bytes > e->config.packet_bytes_max)
		return SW_ENET_C_OVERSIZE;
	if (f->count > FRAGMENTS_MAX)
		return SW_ENET_C_BAD_FRAGMENT;
	if (f->number == 0) {
		f->fragment_bytes = bytes;
		if (offset != 0)
			return SW_ENET_C_BAD_FRAGMENT;
	} else {
		f->fragment_bytes = offset / f->number;
		if (f->fragment_bytes == 0 || offset % f->number)
			return SW_ENET_C_BAD_FRAGMENT;
	}
	if (f->number + 1 < f->count ? bytes != f->fragment_bytes
				     : offset + bytes != f->total_bytes)
		return SW_ENET_C_BAD_FRAGMENT;
	if ((uint64_t)(f->count - 1) * f->fragment_bytes >= f->total_bytes ||
		(uint64_t)f->count * f->fragment_bytes < f->total_bytes)
		return SW_ENET_C_BAD_FRAGMENT;
	return 0;
}

/* Blocks that an assembly reserves. */
static uint32_t assembly_blocks(uint32_t fragments, uint32_t fragment_bytes)
{
	return 1 + fragments * pool_chain_blocks(fragment_bytes);
}

static bool assembly_matches(const struct block *head, const struct fragment *f)
{
	return head->in.count == f->count && head->in.total_bytes == f->total_bytes &&
	       head->in.fragment_bytes == f->fragment_bytes;
}

/* Memory must have been reserved. */
static uint32_t assembly_new(struct sw_enet *e, uint32_t index, uint8_t kind,
	const struct command *command, const struct fragment *f, uint32_t due_ms)
{
	uint32_t at = block_new(e, NULL, 0, NULL, 0);
	struct block *head = block_at(e, at);

	head->kind = kind;
	head->peer = index;
	head->channel = command->channel;
	head->in.fragments = NIL;
	head->in.total_bytes = f->total_bytes;
	head->in.fragment_bytes = f->fragment_bytes;
	head->in.count = head->in.missing = (uint16_t)f->count;
	head->in.due_ms = due_ms;
	return at;
}

static uint32_t fragment_add(struct sw_enet *e, uint32_t assembly, uint8_t kind, uint32_t key,
	uint16_t seq, const struct command *command, uint32_t number)
{
	uint32_t at = block_new(e, NULL, 0, command->data, command->data_bytes);
	struct block *block = block_at(e, at), *head = block_at(e, assembly);

	block->kind = kind;
	block->peer = key;
	block->channel = command->channel;
	block->seq = seq;
	block->piece.number = number;
	block->next = head->in.fragments;
	head->in.fragments = at;
	head->in.missing--;
	block_hash_add(e, at);
	return at;
}

/* The newest fragment again: it was not taken after all. */
static void fragment_undo(struct sw_enet *e, uint32_t assembly)
{
	struct block *head = block_at(e, assembly);
	uint32_t at = head->in.fragments;

	head->in.fragments = block_at(e, at)->next;
	head->in.missing++;
	block_hash_remove(e, at);
	block_free(e, at);
}

void fragment_copy(struct sw_enet *e, const struct block *head, uint8_t *out)
{
	for (uint32_t at = head->in.fragments; at != NIL; at = block_at(e, at)->next)
		block_read(e, at,
			out + (size_t)block_at(e, at)->piece.number * head->in.fragment_bytes);
}

/* Frees a packet and its fragments; returns the blocks that were reserved for it. */
static uint32_t packet_free(struct sw_enet *e, uint32_t at)
{
	const struct block *head = block_at(e, at);
	uint32_t reserved = 0;

	if (head->in.count) {
		reserved = assembly_blocks(head->in.count, head->in.fragment_bytes);
		for (uint32_t piece = head->in.fragments, next; piece != NIL; piece = next) {
			next = block_at(e, piece)->next;
			block_hash_remove(e, piece);
			block_free(e, piece);
		}
		block_free(e, at);
		return reserved;
	}
	return block_free(e, at);
}

void held_free(struct sw_enet *e, uint32_t index, uint32_t at)
{
	struct peer *peer = &e->peers[index];

	list_remove(e, &peer->held, at);
	block_hash_remove(e, at);
	pool_give(e, POOL_HOLD, &peer->hold_blocks, packet_free(e, at));
}

void pending_free(struct sw_enet *e, uint32_t index, uint32_t at)
{
	struct peer *peer = &e->peers[index];

	list_remove(e, &peer->pending, at);
	peer->pending_count--;
	pool_give(e, POOL_HOLD, &peer->hold_blocks, packet_free(e, at));
}

static uint32_t oversize(struct sw_enet *e, uint32_t index)
{
	leave(e, index, SW_ENET_GONE_OVERSIZE, e->config.told.oversize, true);
	return SW_ENET_C_OVERSIZE;
}

uint32_t fragment_reliable(
	struct sw_enet *e, uint32_t index, const struct command *command, bool *keep)
{
	struct peer *peer = &e->peers[index];
	struct channel *channel = peer_channel(e, peer, command->channel);
	struct fragment f;
	uint32_t refusal = fragment_parse(e, command, &f), ahead, own, at, due_ms;

	if (refusal == SW_ENET_C_OVERSIZE)
		return oversize(e, index);
	if (refusal)
		return refusal;
	if ((uint16_t)(f.start + f.number) != command->seq)
		return SW_ENET_C_BAD_FRAGMENT;
	if (!channel) {
		count(e, SW_ENET_C_WITHHELD_MEMORY, 1);
		return 0;
	}
	ahead = wire_windows_ahead((uint16_t)f.start, channel->in_reliable);
	own = wire_windows_ahead(command->seq, channel->in_reliable);
	if (ahead == WIRE_WINDOWS_AHEAD || ahead == WIRE_WINDOWS_AHEAD + 1 ||
		own == WIRE_WINDOWS_AHEAD || own == WIRE_WINDOWS_AHEAD + 1) {
		count(e, SW_ENET_C_FAR_AHEAD, 1);
		return 0;
	}
	if (ahead > WIRE_WINDOWS_AHEAD || f.start == channel->in_reliable ||
		block_find(e, index, BLOCK_FRAGMENT, command->channel, command->seq) != NIL) {
		*keep = true;
		count(e, SW_ENET_C_DUPLICATES, 1);
		return 0;
	}
	at = block_find(e, index, BLOCK_HELD, command->channel, (uint16_t)f.start);
	if (at == NIL) {
		uint32_t blocks = assembly_blocks(f.count, f.fragment_bytes);
		uint64_t end_ms = e->now_ms + ASSEMBLY_MS + f.total_bytes / ASSEMBLY_BYTES_PER_MS;
		bool next = (uint16_t)f.start == (uint16_t)(channel->in_reliable + 1);

		if (blocks > e->next_blocks_max) /* would never fit */
			return oversize(e, index);
		if (next ? !pool_take_next(e, peer, blocks)
			 : !pool_take(
				   e, POOL_HOLD, &peer->hold_blocks, e->hold_blocks_max, blocks)) {
			count(e, SW_ENET_C_WITHHELD_MEMORY, 1);
			return 0;
		}
		at = assembly_new(e, index, BLOCK_HELD, command, &f, (uint32_t)end_ms);
		block_at(e, at)->seq = (uint16_t)f.start;
		list_push(e, &peer->held, at);
		block_hash_add(e, at);
		timer_set(e, index, end_ms);
	} else if (!assembly_matches(block_at(e, at), &f)) {
		return SW_ENET_C_BAD_FRAGMENT;
	}
	DCHECK(block_at(e, at)->in.missing);
	fragment_add(e, at, BLOCK_FRAGMENT, index, command->seq, command, f.number);
	*keep = true;
	count(e, SW_ENET_C_HELD, 1);
	if (block_at(e, at)->in.missing)
		return 0;
	due_ms = block_at(e, at)->in.due_ms;
	block_at(e, at)->in.due_ms = (uint32_t)(e->now_ms + GAP_MS);
	if ((uint16_t)f.start == (uint16_t)(channel->in_reliable + 1) &&
		!deliver_run(e, index, command->channel, NULL)) {
		fragment_undo(e, at);
		block_at(e, at)->in.due_ms = due_ms;
		*keep = false;
	}
	return 0;
}

uint32_t fragment_unreliable(struct sw_enet *e, uint32_t index, const struct command *command)
{
	struct peer *peer = &e->peers[index];
	struct channel *channel = peer_channel(e, peer, command->channel);
	struct fragment f;
	uint32_t refusal = fragment_parse(e, command, &f), at, key;

	if (refusal == SW_ENET_C_OVERSIZE)
		return oversize(e, index);
	if (refusal)
		return refusal;
	if (!channel) {
		count(e, SW_ENET_C_DROPPED_MEMORY, 1);
		return 0;
	}
	if (wire_windows_ahead(command->seq, channel->in_reliable) >= WIRE_WINDOWS_AHEAD ||
		(command->seq == channel->in_reliable && f.start <= channel->in_unreliable)) {
		count(e, SW_ENET_C_STALE_UNRELIABLE, 1);
		return 0;
	}
	for (at = peer->pending.head; at != NIL; at = block_at(e, at)->next) {
		const struct block *other = block_at(e, at);

		if (other->channel == command->channel && other->seq == command->seq &&
			other->aux == f.start)
			break;
	}
	if (at == NIL) {
		if (peer->pending_count >= PENDING_MAX ||
			!pool_take(e, POOL_HOLD, &peer->hold_blocks, e->hold_blocks_max,
				assembly_blocks(f.count, f.fragment_bytes))) {
			count(e, SW_ENET_C_DROPPED_MEMORY, 1);
			return 0;
		}
		at = assembly_new(
			e, index, BLOCK_PENDING, command, &f, (uint32_t)(e->now_ms + PENDING_MS));
		block_at(e, at)->seq = command->seq;
		block_at(e, at)->aux = (uint16_t)f.start;
		list_push(e, &peer->pending, at);
		peer->pending_count++;
		timer_set(e, index, e->now_ms + PENDING_MS);
	} else if (!assembly_matches(block_at(e, at), &f)) {
		return SW_ENET_C_BAD_FRAGMENT;
	}
	key = at | 1u << 31; /* no peer has such an index: pieces are told apart by their head */
	if (block_at(e, at)->in.missing == 0 ||
		block_find(e, key, BLOCK_PENDING_FRAGMENT, command->channel, (uint16_t)f.number) !=
			NIL) {
		count(e, SW_ENET_C_STALE_UNRELIABLE, 1);
		return 0;
	}
	fragment_add(e, at, BLOCK_PENDING_FRAGMENT, key, (uint16_t)f.number, command, f.number);
	if (block_at(e, at)->in.missing == 0)
		deliver_pending(e, index, command->channel);
	return 0;
}
