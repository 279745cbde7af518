#include "simulation/record.h"

#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "simulation/hash.h"
#include "simulation/state.h"

struct sim_record *sim_record_new(uint32_t buffer_bytes)
{
	struct sim_record *r = calloc(1, sizeof(*r));

	if (!r)
		return NULL;
	r->out = byte_ring_new(buffer_bytes);
	if (r->out)
		return r;
	free(r);
	return NULL;
}

void sim_record_free(struct sim_record *r)
{
	if (r)
		byte_ring_free(r->out);
	free(r);
}

static uint64_t hash_file(uint64_t hash, const char *folder, const char *name)
{
	char path[2 * CONFIG_PATH_BYTES];
	uint8_t bytes[4096];
	size_t got;
	FILE *file;

	if (!name[0])
		return recording_hash(hash, "", 1);
	snprintf(path, sizeof(path), "%s/%s", folder, name);
	file = fopen(path, "rb");
	if (!file)
		return recording_hash(hash, "?", 1);
	while ((got = fread(bytes, 1, sizeof(bytes), file)))
		hash = recording_hash(hash, bytes, got);
	fclose(file);
	return recording_hash(hash, "", 1);
}

void sim_record_header(const struct sw_config *config, struct recording_header *h)
{
#define FILE_NAME(id, name) name,
	static const char *const game[] = {SIM_GAME_FILES(FILE_NAME)};
	uint64_t all = RECORDING_HASH; /* what all maps share */

	for (uint32_t i = 0; i < sizeof(game) / sizeof(game[0]); i++)
		all = hash_file(all, config->simulation.content, game[i]);
	h->config_hash = recording_config_hash(config);
	h->map_count = config->map_count;
	for (uint32_t i = 0; i < config->map_count; i++) {
		uint64_t hash = hash_file(all, config->simulation.content, config->maps[i].file);

		h->content_hash[i] =
			hash_file(hash, config->simulation.content, config->maps[i].script);
	}
	memcpy(h->build, sim_build_id, sizeof(h->build));
}

/* ---- the shard's thread ---- */

static void write_entry(struct sim_record *r, const struct recording_entry *entry,
	const void *payload, uint32_t payload_bytes)
{
	uint8_t bytes[RECORDING_ENTRY_MAX];

	if (r->out)
		byte_ring_push(
			r->out, bytes, recording_entry_write(bytes, entry), payload, payload_bytes);
}

static void write_refused(struct sim_record *r, uint32_t attempt)
{
	write_entry(r, &(struct recording_entry){.kind = RECORDING_REFUSED, .attempt = attempt},
		NULL, 0);
}

void sim_record_step(struct sim_record *r, uint64_t now_ns)
{
	r->now_ns = now_ns;
	r->open = false;
	r->attempts = r->refusal_at = r->early_count = 0;
	r->ended.instance = 0;
}

void sim_record_touch(struct sim_record *r)
{
	if (r->open)
		return;
	r->open = true;
	write_entry(
		r, &(struct recording_entry){.kind = RECORDING_STEP, .now_ns = r->now_ns}, NULL, 0);
	for (uint32_t i = 0; i < r->early_count; i++)
		write_refused(r, r->early[i]);
}

void sim_record_messages(
	struct sim_record *r, uint32_t source, const struct msg *messages, uint32_t slots)
{
	const struct msg *end = messages + slots;

	if (!slots)
		return;
	sim_record_touch(r);
	for (const struct msg *m = messages; m < end; m = msg_next(m)) {
		const struct recording_entry entry = {.kind = RECORDING_MESSAGE,
			.message = {.source = (uint8_t)source,
				.type = m->type,
				.flags = m->flags,
				.channel = m->channel,
				.payload_bytes = m->payload_bytes,
				.peer = m->peer,
				.subject = m->subject}};

		write_entry(r, &entry, msg_payload(m), m->payload_bytes);
	}
}

static void refused(struct sim_record *r, uint32_t attempt)
{
	if (!r->open && r->early_count < SIM_RECORD_EARLY) {
		r->early[r->early_count++] = attempt;
		return;
	}
	sim_record_touch(r);
	write_refused(r, attempt);
}

/* The next push or look for room; a replay: whether it must fail. */
static bool attempt(struct sim_record *r, uint32_t *number)
{
	*number = r->attempts++;
	if (r->refusal_at >= r->refusal_count || r->refusals[r->refusal_at] != *number)
		return true;
	r->refusal_at++;
	return false;
}

bool sim_record_push(struct sim_record *r, struct msg_ring *ring, const struct msg *message)
{
	uint32_t number;

	if (!attempt(r, &number))
		return false;
	if (msg_ring_push(ring, message))
		return true;
	r->short_of_room = true;
	refused(r, number);
	return false;
}

bool sim_record_room(struct sim_record *r, const struct msg_ring *ring)
{
	uint32_t number;

	if (!attempt(r, &number))
		return false;
	if (msg_ring_room(ring) >= 1)
		return true;
	r->short_of_room = true;
	refused(r, number);
	return false;
}

void sim_record_tick(struct sim_record *r, const struct sim_map *m)
{
	r->ended.instance = m->id;
	r->ended.tick = m->tick;
	r->ended.hash = sim_hash_map(m, m->beat % SIM_RECORD_PARTS, SIM_RECORD_PARTS);
	write_entry(r,
		&(struct recording_entry){.kind = RECORDING_TICK,
			.tick = {.instance = m->id, .tick = m->tick, .hash = r->ended.hash}},
		NULL, 0);
}

void sim_record_over_time(struct sim_record *r, const struct sim_map *m)
{
	r->over_time++;
	write_entry(r,
		&(struct recording_entry){
			.kind = RECORDING_OVER_TIME, .tick = {.instance = m->id, .tick = m->tick}},
		NULL, 0);
}
