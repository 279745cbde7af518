/* table: the parties that have players on one map instance, as the shard knows them. A copy: the
 * authority is Redis, and whoever comes to the map brings its party anew.
 *
 * Pure: no rings, no players, no time. Memory is given; nothing is allocated. Private to
 * simulation; the shard's thread. */
#ifndef SW_SIMULATION_PARTY_TABLE_H
#define SW_SIMULATION_PARTY_TABLE_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

#include "common/party.h"

#define SIM_PARTY_NONE UINT32_MAX

struct sim_party_member {
	uint64_t character_id;
	uint32_t slot; /* of its player here, SIM_PARTY_NONE: it is elsewhere */
	uint8_t online, name_bytes, map_bytes, pad;
	char name[CHARACTER_NAME_BYTES];
	char map[MAP_NAME_BYTES];
};

struct sim_party {
	uint64_t id; /* 0: the place is free */
	uint64_t version, leader_id;
	uint32_t member_count;
	uint32_t here;       /* members with a slot */
	uint32_t live_bytes; /* of the last PartyLive */
	uint32_t pad;
};

/* What a player of the map is to parties, by its slot. */
struct sim_party_seat {
	uint64_t version; /* of the newest word on its membership */
	uint64_t character_id;
	uint32_t party; /* its place in the table, SIM_PARTY_NONE */
	uint32_t token_beat;
	uint8_t tokens; /* requests it may make now */
	bool ask;       /* it stands in the queue of those whose party is asked for */
	uint8_t pad[6];
};

struct sim_party_table {
	uint32_t slots, members_max, index_size; /* players, at most as many parties */
	uint32_t count;
	struct sim_party *parties;        /* [slots] */
	struct sim_party_member *members; /* [slots * members_max] */
	struct sim_party_seat *seats;     /* [slots] */
	uint32_t *index;                  /* [index_size]: places by id, SIM_PARTY_NONE: empty */
	uint32_t *free;                   /* [slots]: places, the last is taken first */
};

size_t sim_party_table_bytes(uint32_t slots, uint32_t members_max);
void sim_party_table_init(
	struct sim_party_table *table, void *memory, uint32_t slots, uint32_t members_max);

struct sim_party_member *sim_party_members(const struct sim_party_table *table, uint32_t party);
/* SIM_PARTY_NONE: it has nobody here. */
uint32_t sim_party_find(const struct sim_party_table *table, uint64_t id);

/* A party that may have come to the map: its place, with members as told if it is newer than what
 * is known. *fresh: it is. Members that are not in it any more keep nothing of it: the caller has
 * looked after their seats before (sim_party_lost). SIM_PARTY_NONE: no place is free. */
uint32_t sim_party_put(struct sim_party_table *table, const struct msg_party_state *state,
	const struct msg_party_member *members, bool *fresh);

/* NULL: not a member. */
struct sim_party_member *sim_party_member_of(
	const struct sim_party_table *table, uint32_t party, uint64_t character_id);

/* The player at slot is a member that is here. False: it is not a member. */
bool sim_party_attach(struct sim_party_table *table, uint32_t party, uint32_t slot);
/* It is in no party, or gone. The party goes with the last one. */
void sim_party_detach(struct sim_party_table *table, uint32_t slot);
/* A place that nobody was attached to after all. */
void sim_party_drop_empty(struct sim_party_table *table, uint32_t party);

/* For the hash of state: of the places part, part + parts, … */
uint64_t sim_party_table_hash(
	const struct sim_party_table *table, uint64_t h, uint32_t part, uint32_t parts);

#endif
