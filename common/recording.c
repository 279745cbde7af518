#include "common/recording.h"

#include <string.h>

static const uint8_t magic[8] = {'S', 'W', 'R', 'E', 'P', 'L', 'A', 'Y'};

const char *recording_end_name(enum recording_end end)
{
#define NAME(id, name, meaning) name,
	static const char *const names[] = {RECORDING_ENDS(NAME)};
#undef NAME

	return (uint32_t)end < RECORDING_END_COUNT ? names[end] : "?";
}

const char *recording_fault_text(enum recording_fault fault)
{
#define TEXT(id, text) text,
	static const char *const texts[] = {RECORDING_FAULTS(TEXT)};
#undef TEXT

	return (uint32_t)fault < RECORDING_FAULT_COUNT ? texts[fault] : "?";
}

/* ---- figures ---- */

static uint8_t *put(uint8_t *at, uint64_t value, uint32_t bytes)
{
	for (uint32_t i = 0; i < bytes; i++)
		*at++ = (uint8_t)(value >> (8 * i));
	return at;
}

static uint64_t get(const uint8_t **at, uint32_t bytes)
{
	uint64_t value = 0;

	for (uint32_t i = 0; i < bytes; i++)
		value |= (uint64_t) * (*at)++ << (8 * i);
	return value;
}

/* ---- the header ---- */

#define HEADER_FIXED (sizeof(magic) + 4 * 4 + 5 * 8 + RECORDING_BUILD_BYTES + CONFIG_PATH_BYTES)
_Static_assert(HEADER_FIXED + 8 * CONFIG_MAPS_MAX <= RECORDING_HEADER_MAX, "a header fits");

uint32_t recording_header_write(uint8_t out[RECORDING_HEADER_MAX], const struct recording_header *h)
{
	uint8_t *at = out;

	memcpy(at, magic, sizeof(magic));
	at = put(at + sizeof(magic), RECORDING_VERSION, 4);
	at = put(at, h->shard, 4);
	at = put(at, h->workers, 4);
	at = put(at, h->map_count, 4);
	at = put(at, h->node_seed, 8);
	at = put(at, h->seed, 8);
	at = put(at, h->commit_start, 8);
	at = put(at, h->start_ns, 8);
	at = put(at, h->config_hash, 8);
	memcpy(at, h->build, RECORDING_BUILD_BYTES);
	at += RECORDING_BUILD_BYTES;
	memcpy(at, h->config_path, CONFIG_PATH_BYTES);
	at += CONFIG_PATH_BYTES;
	for (uint32_t i = 0; i < h->map_count; i++)
		at = put(at, h->content_hash[i], 8);
	return (uint32_t)(at - out);
}

enum recording_fault recording_open(struct recording_reader *reader, const uint8_t *bytes,
	size_t count, struct recording_header *h)
{
	const uint8_t *at = bytes + sizeof(magic);

	memset(h, 0, sizeof(*h));
	*reader = (struct recording_reader){.bytes = bytes, .count = count};
	if (count < sizeof(magic) + 4 || memcmp(bytes, magic, sizeof(magic)))
		return RECORDING_FAULT_FOREIGN;
	h->version = (uint32_t)get(&at, 4);
	if (h->version != RECORDING_VERSION)
		return RECORDING_FAULT_VERSION;
	if (count < HEADER_FIXED)
		return RECORDING_FAULT_HEADER;
	h->shard = (uint32_t)get(&at, 4);
	h->workers = (uint32_t)get(&at, 4);
	h->map_count = (uint32_t)get(&at, 4);
	h->node_seed = get(&at, 8);
	h->seed = get(&at, 8);
	h->commit_start = get(&at, 8);
	h->start_ns = get(&at, 8);
	h->config_hash = get(&at, 8);
	memcpy(h->build, at, RECORDING_BUILD_BYTES);
	at += RECORDING_BUILD_BYTES;
	memcpy(h->config_path, at, CONFIG_PATH_BYTES);
	at += CONFIG_PATH_BYTES;
	if (h->shard >= CONFIG_LCORES_MAX || !h->workers || h->workers > CONFIG_LCORES_MAX ||
		h->map_count > CONFIG_MAPS_MAX || count < HEADER_FIXED + 8ull * h->map_count ||
		h->build[RECORDING_BUILD_BYTES - 1] || h->config_path[CONFIG_PATH_BYTES - 1])
		return RECORDING_FAULT_HEADER;
	for (uint32_t i = 0; i < h->map_count; i++)
		h->content_hash[i] = get(&at, 8);
	reader->at = (size_t)(at - bytes);
	reader->workers = h->workers;
	return RECORDING_FAULT_NONE;
}

/* ---- entries ---- */

/* Bytes after the kind, without a message's payload. */
static const uint8_t entry_bytes[] = {
	[RECORDING_STEP] = 8,
	[RECORDING_MESSAGE] = 1 + 2 + 2 + 1 + 2 + 8 + 8,
	[RECORDING_REFUSED] = 4,
	[RECORDING_TICK] = 4 + 4 + 8,
	[RECORDING_OVER_TIME] = 4 + 4,
	[RECORDING_ENDED] = 1,
};

uint32_t recording_entry_write(uint8_t out[RECORDING_ENTRY_MAX], const struct recording_entry *e)
{
	uint8_t *at = put(out, e->kind, 1);

	switch (e->kind) {
	case RECORDING_STEP:
		at = put(at, e->now_ns, 8);
		break;
	case RECORDING_MESSAGE:
		at = put(at, e->message.source, 1);
		at = put(at, e->message.type, 2);
		at = put(at, e->message.flags, 2);
		at = put(at, e->message.channel, 1);
		at = put(at, e->message.payload_bytes, 2);
		at = put(at, e->message.peer, 8);
		at = put(at, e->message.subject, 8);
		break;
	case RECORDING_REFUSED:
		at = put(at, e->attempt, 4);
		break;
	case RECORDING_TICK:
	case RECORDING_OVER_TIME:
		at = put(at, e->tick.instance, 4);
		at = put(at, e->tick.tick, 4);
		if (e->kind == RECORDING_TICK)
			at = put(at, e->tick.hash, 8);
		break;
	case RECORDING_ENDED:
		at = put(at, e->end, 1);
		break;
	}
	return (uint32_t)(at - out);
}

static enum recording_fault read_message(
	struct recording_reader *reader, const uint8_t *at, struct recording_entry *e)
{
	e->message.source = (uint8_t)get(&at, 1);
	e->message.type = (uint16_t)get(&at, 2);
	e->message.flags = (uint16_t)get(&at, 2);
	e->message.channel = (uint8_t)get(&at, 1);
	e->message.payload_bytes = (uint32_t)get(&at, 2);
	e->message.peer = get(&at, 8);
	e->message.subject = get(&at, 8);
	e->message.payload = at;
	if (e->message.source >= RECORDING_WORKER + reader->workers ||
		e->message.payload_bytes > MSG_PAYLOAD_MAX)
		return RECORDING_FAULT_MESSAGE;
	if (e->message.payload_bytes > reader->count - (size_t)(at - reader->bytes))
		return RECORDING_FAULT_CUT;
	reader->at += e->message.payload_bytes;
	return RECORDING_FAULT_NONE;
}

bool recording_next(
	struct recording_reader *reader, struct recording_entry *e, enum recording_fault *fault)
{
	const uint8_t *at = reader->bytes + reader->at;
	uint8_t kind;

	*fault = RECORDING_FAULT_NONE;
	memset(e, 0, sizeof(*e));
	if (reader->at == reader->count)
		return false;
	kind = *at++;
	if (kind < RECORDING_STEP || kind > RECORDING_ENDED)
		*fault = RECORDING_FAULT_KIND;
	else if (reader->count - reader->at - 1 < entry_bytes[kind])
		*fault = RECORDING_FAULT_CUT;
	else if (!reader->in_step && kind != RECORDING_STEP && kind != RECORDING_ENDED)
		*fault = RECORDING_FAULT_ORDER;
	if (*fault)
		return false;
	e->kind = kind;
	reader->at += 1 + entry_bytes[kind];
	switch (kind) {
	case RECORDING_STEP:
		e->now_ns = get(&at, 8);
		reader->in_step = true;
		break;
	case RECORDING_MESSAGE:
		*fault = read_message(reader, at, e);
		break;
	case RECORDING_REFUSED:
		e->attempt = (uint32_t)get(&at, 4);
		break;
	case RECORDING_TICK:
	case RECORDING_OVER_TIME:
		e->tick.instance = (uint32_t)get(&at, 4);
		e->tick.tick = (uint32_t)get(&at, 4);
		if (kind == RECORDING_TICK)
			e->tick.hash = get(&at, 8);
		break;
	case RECORDING_ENDED:
		e->end = (uint8_t)get(&at, 1);
		if (e->end >= RECORDING_END_COUNT)
			*fault = RECORDING_FAULT_KIND;
		break;
	}
	return !*fault;
}

/* ---- hashes ---- */

uint64_t recording_hash(uint64_t hash, const void *bytes, size_t count)
{
	const uint8_t *at = bytes;

	for (size_t i = 0; i < count; i++)
		hash = (hash ^ at[i]) * 0x100000001b3ull;
	return hash;
}

#define HASH(field) h = recording_hash(h, &(field), sizeof(field))

/* What only says where things run or lie is left out: lcores, folders, the recording itself. */
uint64_t recording_config_hash(const struct sw_config *c)
{
	uint64_t h = RECORDING_HASH;
	typeof(((struct sw_config *)NULL)->simulation) simulation;

	memcpy(&simulation, &c->simulation, sizeof(simulation));
	memset(simulation.lcores, 0, sizeof(simulation.lcores));
	simulation.lcore_count = 0;
	memset(simulation.content, 0, sizeof(simulation.content));
	memset(simulation.record, 0, sizeof(simulation.record));
	simulation.record_buffer_bytes = simulation.record_max_bytes = 0;
	simulation.seed = 0; /* the recording has what it came to */
	HASH(simulation);
	HASH(c->map_count);
	h = recording_hash(h, c->maps, c->map_count * sizeof(c->maps[0]));
	HASH(c->enet.peers_max);
	HASH(c->enet.packet_bytes_max);
	HASH(c->rings.slots);
	HASH(c->party);
	HASH(c->node.stop_deadline_ms);
	return h;
}
