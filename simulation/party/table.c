#include "simulation/party/table.h"

#include <string.h>

#include "common/check.h"

static uint32_t index_size_of(uint32_t slots)
{
	uint32_t size = 16;

	while (size < 2 * slots)
		size *= 2;
	return size;
}

static size_t round_up(size_t bytes)
{
	return (bytes + 63) & ~(size_t)63;
}

size_t sim_party_table_bytes(uint32_t slots, uint32_t members_max)
{
	return round_up(slots * sizeof(struct sim_party)) +
	       round_up((size_t)slots * members_max * sizeof(struct sim_party_member)) +
	       round_up(slots * sizeof(struct sim_party_seat)) +
	       round_up(index_size_of(slots) * sizeof(uint32_t)) +
	       round_up(slots * sizeof(uint32_t));
}

void sim_party_table_init(
	struct sim_party_table *table, void *memory, uint32_t slots, uint32_t members_max)
{
	uint8_t *at = memory;

	memset(at, 0, sim_party_table_bytes(slots, members_max));
	*table = (struct sim_party_table){
		.slots = slots, .members_max = members_max, .index_size = index_size_of(slots)};
	table->parties = (void *)at;
	at += round_up(slots * sizeof(struct sim_party));
	table->members = (void *)at;
	at += round_up((size_t)slots * members_max * sizeof(struct sim_party_member));
	table->seats = (void *)at;
	at += round_up(slots * sizeof(struct sim_party_seat));
	table->index = (void *)at;
	at += round_up(table->index_size * sizeof(uint32_t));
	table->free = (void *)at;
	for (uint32_t i = 0; i < table->index_size; i++)
		table->index[i] = SIM_PARTY_NONE;
	for (uint32_t i = 0; i < slots; i++) {
		table->free[i] = slots - 1 - i;
		table->seats[i].party = SIM_PARTY_NONE;
	}
}

struct sim_party_member *sim_party_members(const struct sim_party_table *table, uint32_t party)
{
	return table->members + (size_t)party * table->members_max;
}

/* ---- by id: open addressing, and no grave is left behind ---- */

static uint32_t home_of(const struct sim_party_table *table, uint64_t id)
{
	return (uint32_t)(id * 0x9e3779b97f4a7c15ull >> 32) & (table->index_size - 1);
}

uint32_t sim_party_find(const struct sim_party_table *table, uint64_t id)
{
	uint32_t at = home_of(table, id);

	for (; table->index[at] != SIM_PARTY_NONE; at = (at + 1) & (table->index_size - 1))
		if (table->parties[table->index[at]].id == id)
			return table->index[at];
	return SIM_PARTY_NONE;
}

static void index_put(struct sim_party_table *table, uint32_t party)
{
	uint32_t at = home_of(table, table->parties[party].id);

	while (table->index[at] != SIM_PARTY_NONE)
		at = (at + 1) & (table->index_size - 1);
	table->index[at] = party;
}

static void index_remove(struct sim_party_table *table, uint32_t party)
{
	uint32_t mask = table->index_size - 1;
	uint32_t at = home_of(table, table->parties[party].id), next;

	while (table->index[at] != party)
		at = (at + 1) & mask;
	/* Whoever stands behind and could stand here moves up. */
	for (next = (at + 1) & mask; table->index[next] != SIM_PARTY_NONE;
		next = (next + 1) & mask) {
		uint32_t home = home_of(table, table->parties[table->index[next]].id);

		if (((next - home) & mask) >= ((next - at) & mask)) {
			table->index[at] = table->index[next];
			at = next;
		}
	}
	table->index[at] = SIM_PARTY_NONE;
}

/* ---- parties ---- */

static void take_members(struct sim_party_table *table, uint32_t party,
	const struct msg_party_member *members, uint32_t count)
{
	struct sim_party_member *to = sim_party_members(table, party);

	for (uint32_t i = 0; i < count; i++) {
		to[i] = (struct sim_party_member){.character_id = members[i].character_id,
			.slot = SIM_PARTY_NONE,
			.online = members[i].online != 0};
		memcpy(to[i].name, members[i].name, sizeof(to[i].name));
		memcpy(to[i].map, members[i].map, sizeof(to[i].map));
		to[i].name_bytes = (uint8_t)strnlen(to[i].name, sizeof(to[i].name) - 1);
		to[i].map_bytes = (uint8_t)strnlen(to[i].map, sizeof(to[i].map) - 1);
	}
}

uint32_t sim_party_put(struct sim_party_table *table, const struct msg_party_state *state,
	const struct msg_party_member *members, bool *fresh)
{
	uint32_t party = sim_party_find(table, state->party_id), here[PARTY_MEMBERS_MAX], n = 0;
	struct sim_party *p;

	DCHECK(state->member_count <= table->members_max);
	*fresh = false;
	if (party == SIM_PARTY_NONE) {
		if (table->count == table->slots)
			return SIM_PARTY_NONE;
		party = table->free[table->slots - 1 - table->count++];
		table->parties[party] = (struct sim_party){.id = state->party_id};
		index_put(table, party);
	}
	p = &table->parties[party];
	if (state->version <= p->version)
		return party;
	*fresh = true;
	for (uint32_t i = 0; i < p->member_count; i++) {
		uint32_t slot = sim_party_members(table, party)[i].slot;

		if (slot != SIM_PARTY_NONE)
			here[n++] = slot;
	}
	take_members(table, party, members, state->member_count);
	p->version = state->version;
	p->leader_id = state->leader_id;
	p->member_count = state->member_count;
	p->here = 0;
	for (uint32_t i = 0; i < n; i++) {
		struct sim_party_member *m =
			sim_party_member_of(table, party, table->seats[here[i]].character_id);

		if (m) {
			m->slot = here[i];
			p->here++;
		}
	}
	return party;
}

struct sim_party_member *sim_party_member_of(
	const struct sim_party_table *table, uint32_t party, uint64_t character_id)
{
	struct sim_party_member *m = sim_party_members(table, party);

	for (uint32_t i = 0; i < table->parties[party].member_count; i++)
		if (m[i].character_id == character_id)
			return &m[i];
	return NULL;
}

bool sim_party_attach(struct sim_party_table *table, uint32_t party, uint32_t slot)
{
	struct sim_party_seat *seat = &table->seats[slot];
	struct sim_party_member *m = sim_party_member_of(table, party, seat->character_id);

	if (!m)
		return false;
	if (seat->party != SIM_PARTY_NONE && seat->party != party)
		sim_party_detach(table, slot);
	if (m->slot == SIM_PARTY_NONE)
		table->parties[party].here++;
	m->slot = slot;
	seat->party = party;
	return true;
}

void sim_party_drop_empty(struct sim_party_table *table, uint32_t party)
{
	if (!table->parties[party].id || table->parties[party].here)
		return;
	index_remove(table, party);
	table->parties[party].id = 0;
	table->free[table->slots - table->count--] = party;
}

void sim_party_detach(struct sim_party_table *table, uint32_t slot)
{
	struct sim_party_seat *seat = &table->seats[slot];
	uint32_t party = seat->party;
	struct sim_party_member *m;

	if (party == SIM_PARTY_NONE)
		return;
	seat->party = SIM_PARTY_NONE;
	m = sim_party_member_of(table, party, seat->character_id);
	if (m && m->slot == slot) {
		m->slot = SIM_PARTY_NONE;
		table->parties[party].here--;
	}
	sim_party_drop_empty(table, party);
}

/* ---- the hash ---- */

static uint64_t mix(uint64_t hash, uint64_t value)
{
	hash ^= value;
	hash *= 0x9e3779b97f4a7c15ull;
	return hash ^ hash >> 29;
}

uint64_t sim_party_table_hash(
	const struct sim_party_table *table, uint64_t h, uint32_t part, uint32_t parts)
{
	for (uint32_t i = part; i < table->slots; i += parts) {
		const struct sim_party *p = &table->parties[i];
		const struct sim_party_seat *seat = &table->seats[i];

		if (p->id) {
			const struct sim_party_member *m = sim_party_members(table, i);

			h = mix(mix(mix(h, p->id), p->version), p->leader_id);
			h = mix(h, (uint64_t)p->member_count << 32 | p->here);
			for (uint32_t n = 0; n < p->member_count; n++)
				h = mix(mix(h, m[n].character_id), m[n].slot);
		}
		h = mix(mix(h, seat->version),
			(uint64_t)seat->party << 16 | (uint64_t)seat->tokens << 1 | seat->ask);
		h = mix(h, seat->token_beat);
	}
	return h;
}
