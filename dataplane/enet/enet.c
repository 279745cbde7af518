/* enet.c: set-up: what is valid, how much memory that takes, and what is where. */
#include <sodium.h>

#include "dataplane/enet/engine.h"

#define PEERS_MAX        (1u << 24)
#define PACKET_BYTES_MAX (32u << 20) /* ENet's own limit */
#define LINE             64u
#define HALF_OPEN_MOST   (1u << 20) /* 120 MB: 350,000 invented sources a second */

#define DESC(id, label, how, text)                                                                 \
	[SW_ENET_C_##id] = {.name = (label), .help = (text), .kind = (how)},
const struct counter_desc sw_enet_counter_desc[SW_ENET_COUNTER_COUNT] = {SW_ENET_COUNTERS(DESC)};

static uint32_t power_of_two(uint32_t at_least)
{
	uint32_t n = 1;

	while (n < at_least)
		n *= 2;
	return n;
}

static uint32_t between(uint32_t value, uint32_t low, uint32_t high)
{
	return value < low ? low : value > high ? high : value;
}

/* Everything that follows from the configuration. */
struct sizes {
	uint32_t blocks;
	uint32_t hold_blocks, next_blocks, queue_blocks; /* of one peer */
	uint32_t table, half_open, half_heads, block_heads, sources, returning, departed;
	uint32_t run;
	size_t scratch;
};

uint32_t sw_enet_half_open(const struct sw_enet_config *config)
{
	uint64_t let_in;

	if (config->half_open_max)
		return config->half_open_max;
	/* An entry is not evicted before HALF_OPEN_YOUNG_MS. Within that time the bucket lets in a
	 * burst and what flows into it: with places for so many, a flood meets the rate, never a
	 * full table. */
	let_in = config->connects_burst +
		 (uint64_t)config->connects_per_s * HALF_OPEN_YOUNG_MS / 1000 + 1;
	return power_of_two(let_in < HALF_OPEN_MOST ? (uint32_t)let_in : HALF_OPEN_MOST);
}

/* Blocks of one packet of the largest size, in fragments as small as the least MTU makes them. */
static uint64_t packet_blocks(const struct sw_enet_config *config)
{
	uint32_t fragment =
		WIRE_MTU_MIN - WIRE_HEADER_BYTES - WIRE_CHECKSUM_BYTES - WIRE_SEND_FRAGMENT_BYTES;
	uint64_t fragments = (config->packet_bytes_max + fragment - 1) / fragment;

	return 1 + fragments * pool_chain_blocks(fragment + WIRE_SEND_FRAGMENT_BYTES);
}

static bool sizes_of(const struct sw_enet_config *config, struct sizes *s)
{
	uint64_t packet, hold, queue, blocks;

	if (config->peers_max < 1 || config->peers_max > PEERS_MAX ||
		config->half_open_max > PEERS_MAX || config->returning_max > PEERS_MAX ||
		config->returning_percent > 90 || config->channels_max < 1 ||
		config->channels_max > WIRE_CHANNELS_MAX || config->mtu < WIRE_MTU_MIN ||
		config->mtu > WIRE_MTU_MAX || config->packet_bytes_max < 1 ||
		config->packet_bytes_max > PACKET_BYTES_MAX || config->checksum > SW_ENET_ANY ||
		config->compression > SW_ENET_ANY || config->connects_per_s < 1 ||
		config->connects_burst < 1 || config->source_connects_per_s < 1 ||
		config->source_connects_burst < 1 || config->peer_datagrams_per_s > 1000000)
		return false;
	packet = packet_blocks(config);
	hold = config->peer_hold_bytes / BLOCK_BYTES;
	queue = config->peer_queue_bytes / BLOCK_BYTES;
	blocks = config->pool_bytes / BLOCK_BYTES;
	if (queue < packet)
		queue = packet;
	/* a peer may take as much of a share as it leaves: see pool.c */
	if (blocks < 4 * packet || blocks >= 1u << 31)
		return false;
	s->blocks = (uint32_t)blocks;
	s->hold_blocks = (uint32_t)hold;
	/* beyond that one packet, and the channels' state, which lives there too */
	s->next_blocks = (uint32_t)(hold + packet) + 1 + WIRE_CHANNELS_MAX / CHANNELS_PER_BLOCK;
	s->queue_blocks = (uint32_t)queue;
	s->table = power_of_two(2 * config->peers_max);
	s->half_open = sw_enet_half_open(config);
	s->half_heads = power_of_two(2 * s->half_open);
	s->block_heads = power_of_two(s->blocks);
	s->sources = power_of_two(between(s->half_open, 256, 65536));
	s->returning = power_of_two(
		config->returning_max ? between(config->returning_max, RETURNING_WAYS, PEERS_MAX)
				      : between(2 * config->peers_max, 1024, 262144));
	/* a quarter of everybody within DEPARTED_MS */
	s->departed = power_of_two(between(config->peers_max / 4, 64, 65536));
	/* a run is one packet and at most what one peer holds, one block each or more; the hold is
	 * bounded by half the pool too */
	s->run = s->next_blocks < s->blocks ? s->next_blocks + 1 : s->blocks + 1;
	s->scratch = (size_t)s->run * BLOCK_BYTES + config->packet_bytes_max;
	return true;
}

/* Gives *at bytes of the memory, aligned to a line; with memory NULL it only adds up. */
static void *carve(uint8_t *memory, size_t *at, size_t bytes)
{
	void *here = memory ? memory + *at : NULL;

	*at += (bytes + LINE - 1) / LINE * LINE;
	return here;
}

/* What strangers occupy. */
static void lay_out_strangers(struct sw_enet *e, uint8_t *memory, size_t *at, const struct sizes *s)
{
	/* half-open clients, 120 bytes each, and their hash heads, 8 to 16 */
	e->half_open = carve(memory, at, (size_t)s->half_open * sizeof *e->half_open);
	e->half_open_heads = carve(memory, at, (size_t)s->half_heads * sizeof *e->half_open_heads);
	/* connect rates of sources, one or two for each half-open client, 24 bytes each */
	e->sources = carve(memory, at, (size_t)s->sources * sizeof *e->sources);
	/* addresses that proved themselves of late, 16 bytes each, two to four to a peer */
	e->returning = carve(memory, at, (size_t)s->returning * sizeof *e->returning);
	/* peers that have left, 32 bytes each, one to four peers */
	e->departed = carve(memory, at, (size_t)s->departed * sizeof *e->departed);
}

/* The memory, one line per holder. */
static size_t lay_out(struct sw_enet *e, uint8_t *memory, const struct sw_enet_config *config,
	const struct sizes *s)
{
	size_t at = 0, peers = config->peers_max;

	(void)carve(memory, &at, sizeof *e);
	/* hot state of peers, 320 bytes each, and cold state, 232 */
	e->peers = carve(memory, &at, peers * sizeof *e->peers);
	e->cold = carve(memory, &at, peers * sizeof *e->cold);
	/* table of peers, at most half full, 8 bytes a slot */
	e->table = carve(memory, &at, (size_t)s->table * sizeof *e->table);
	lay_out_strangers(e, memory, &at, s);
	/* timer wheel, 16 KiB */
	e->wheel = carve(memory, &at, WHEEL_SLOTS * sizeof *e->wheel);
	/* blocks behind queues and holds: pool_bytes; 4 to 8 bytes of hash heads for each block */
	e->blocks = carve(memory, &at, (size_t)s->blocks * BLOCK_BYTES);
	e->block_heads = carve(memory, &at, (size_t)s->block_heads * sizeof *e->block_heads);
	/* one released run: what one peer holds and one packet, contiguous, and its description */
	e->run = carve(memory, &at, (size_t)s->run * sizeof *e->run);
	e->run_block = carve(memory, &at, (size_t)s->run * sizeof *e->run_block);
	e->scratch = carve(memory, &at, s->scratch);
	/* checksum tables, 4 KiB */
	e->crc = carve(memory, &at, 4 * sizeof *e->crc);
	/* range coder, 65 KiB, and a datagram either way */
	e->coder = carve(memory, &at, sizeof *e->coder);
	e->packed = carve(memory, &at, WIRE_MTU_MAX);
	e->plain = carve(memory, &at, WIRE_MTU_MAX);
	e->counter = carve(memory, &at, SW_ENET_COUNTER_COUNT * sizeof *e->counter);
	return at;
}

size_t sw_enet_bytes(const struct sw_enet_config *config)
{
	struct sw_enet nowhere;
	struct sizes sizes;

	return sizes_of(config, &sizes) ? lay_out(&nowhere, NULL, config, &sizes) : 0;
}

size_t sw_enet_stranger_bytes(const struct sw_enet_config *config)
{
	struct sw_enet nowhere;
	struct sizes sizes;
	size_t at = 0;

	if (sizes_of(config, &sizes))
		lay_out_strangers(&nowhere, NULL, &at, &sizes);
	return at;
}

/* Limits of those who are not peers yet, or no more. */
static void init_strangers(struct sw_enet *e, const struct sizes *s)
{
	const struct sw_enet_config *config = &e->config;
	uint64_t percent = config->returning_percent;

	memset(e->half_open_heads, 0xff, (size_t)s->half_heads * sizeof *e->half_open_heads);
	e->half_open_mask = s->half_heads - 1;
	e->half_open_max = s->half_open;
	e->half_open_kept = (uint32_t)(s->half_open * percent / 100);
	e->half_open_free = NIL;
	e->half_open_age = (struct list){NIL, NIL};
	memset(e->sources, 0, (size_t)s->sources * sizeof *e->sources);
	e->source_mask = s->sources - 1;
	e->kept_burst = (uint32_t)(config->connects_burst * percent / 100);
	e->connects = config->connects ? config->connects : &e->own_connects;
	memset(e->returning, 0, (size_t)s->returning * sizeof *e->returning);
	e->returning_mask = s->returning - 1;
	memset(e->departed, 0, (size_t)s->departed * sizeof *e->departed);
	e->departed_mask = s->departed - 1;
}

struct sw_enet *sw_enet_init(void *memory, size_t bytes, const struct sw_enet_config *config,
	const struct sw_enet_ops *ops, uint64_t now_ms)
{
	struct sw_enet *e = memory;
	struct sizes s;

	if (!sizes_of(config, &s) || !memory || (uintptr_t)memory % LINE ||
		bytes < sw_enet_bytes(config))
		return NULL;
	memset(e, 0, sizeof *e);
	lay_out(e, memory, config, &s);
	e->config = *config;
	e->handle_owner = handle_make(config->owner, 0, 0);
	e->ops = *ops;
	e->caller_ms = now_ms;
	e->now_ms = now_ms + 1; /* 0 means never */
	e->wheel_ms = e->now_ms;
	memset(e->wheel, 0xff, WHEEL_SLOTS * sizeof *e->wheel);
	memset(e->table, 0xff, (size_t)s.table * sizeof *e->table);
	e->table_mask = s.table - 1;
	e->peers_free = e->dirty = e->dirty_tail = e->owing = e->owing_tail = NIL;
	/* the tables' keys must not be SipHash's own: they mix far less */
	for (uint8_t i = 0; i < 2; i++)
		crypto_shorthash((uint8_t *)&e->hash_key[i], &i, sizeof i, config->key);

	init_strangers(e, &s);
	if (config->peer_datagrams_per_s) {
		e->rx_cost_us = 1000000u / config->peer_datagrams_per_s;
		e->rx_burst_us = 1000000u - e->rx_cost_us;
	}
	e->expand_burst_bytes = config->expand_bytes_per_s > 2 * WIRE_MTU_MAX
					? config->expand_bytes_per_s
					: 2 * WIRE_MTU_MAX;

	e->blocks_total = s.blocks;
	e->blocks_free = NIL;
	e->share_total[POOL_HOLD] = s.blocks / 2;
	e->share_total[POOL_QUEUE] = s.blocks - s.blocks / 2;
	e->hold_blocks_max = s.hold_blocks;
	e->next_blocks_max = s.next_blocks;
	e->queue_blocks_max = s.queue_blocks;
	/* no less than one packet, or it could never go */
	e->yields_blocks_max = s.queue_blocks / 2;
	if (e->yields_blocks_max < packet_blocks(config))
		e->yields_blocks_max = (uint32_t)packet_blocks(config);
	memset(e->block_heads, 0xff, (size_t)s.block_heads * sizeof *e->block_heads);
	e->block_mask = s.block_heads - 1;
	e->run_max = s.run;
	e->scratch_bytes = s.scratch;
	crc_init(e->crc);
	for (uint32_t i = 0; i < SW_ENET_COUNTER_COUNT; i++)
		atomic_init(&e->counter[i], 0);
	return e;
}

void sw_enet_refuse_connects(struct sw_enet *e, uint32_t data)
{
	e->refuse_data = data;
}

void sw_enet_peer_info(const struct sw_enet *e, uint32_t index, struct sw_enet_peer_info *info)
{
	const struct peer *peer;

	memset(info, 0, sizeof *info);
	if (index >= e->peers_fresh || e->peers[index].state == PEER_FREE)
		return;
	peer = &e->peers[index];
	info->peer = peer_handle(e, index);
	info->address = peer->address;
	info->rtt_ms = peer->rtt_ms;
	info->rtt_variance_ms = peer->rtt_variance_ms;
	info->mtu = peer->mtu;
	info->reliable_in_flight_bytes = peer->in_flight_bytes;
	info->throttle = peer->throttle;
	info->packets_lost = e->cold[index].packets_lost;
	info->packets_sent = peer->packets_sent;
}

bool sw_enet_behind(const struct sw_enet *e)
{
	return e->no_buffer;
}

uint32_t sw_enet_peers(const struct sw_enet *e)
{
	return e->peers_connected;
}

_Atomic uint64_t *sw_enet_counters(struct sw_enet *e)
{
	return e->counter;
}
