/* travel_rig: a node without a wire. Admission, director and the shards are the real ones and talk
 * through real rings; the rig plays dataplane, world, Redis and the clients, each late by chance.
 * Test code; all but rig_shard is one thread's. */
#ifndef SW_TESTS_MAPS_TRAVEL_RIG_H
#define SW_TESTS_MAPS_TRAVEL_RIG_H

#include <pthread.h>
#include <stdbool.h>
#include <stdint.h>

#include "common/handle.h"
#include "control/admission/admission.h"
#include "control/admission/ticket_key.h"
#include "control/director/director.h"
#include "simulation/instance.h"
#include "simulation/state.h"

#define RIG_SHARDS  3u
#define RIG_CLIENTS 40u

struct rig_client {
	uint64_t peer; /* 0: not connected */
	uint32_t generation;
	uint32_t route; /* shard + 1, as the dataplane knows it */
	bool joined, refused;
	uint32_t stay, view_sequence, joins;
	/* as saved: what the world answers a load with */
	struct msg_position_save saved;
	uint64_t epoch;
};

struct rig {
	struct sw_config config;
	struct ticket_key key;
	struct sim_instances *instances;
	struct sim_shard *shard[RIG_SHARDS];
	struct sim_links links[RIG_SHARDS];
	struct adm *adm;
	struct director *director;
	struct rig_client client[RIG_CLIENTS];
	uint64_t random, now_ns;
	uint32_t stuck[RIG_SHARDS]; /* turns that its ring to the dataplane is not read */
	uint32_t ordered;           /* the build under way */
	/* With threads: the builder is one, too; it answers order with built. */
	bool threads;
	pthread_t builder;
	_Atomic uint32_t order, built; /* ids; UINT32_MAX ends it */
	struct script_watchdog *watchdog;
	char folder[32]; /* of arena's script */
	struct rig_verified {
		uint64_t session;
		enum ticket_fault fault;
		struct ticket ticket;
	} verified[ADM_VERIFY_WINDOW];
	uint32_t verified_count;
	uint64_t claims[64], seeks[64];
	uint32_t claim_count, seek_count;
	uint64_t queue[64]; /* sessions that the gate has to let in */
	uint32_t queue_count;
	uint64_t loads[256]; /* session; with character ids beside */
	uint64_t load_character[256];
	uint32_t load_count;
	uint64_t lost; /* what should never happen; said by name in fault */
	char fault[256];
};

/* Maps meadow (shard 0, cap 30), cave (by heat, two instances), and arena, a room of a second for
 * five players, 15 Hz, with a script. */
void rig_start(struct rig *rig, uint64_t seed, bool threads);
void rig_end(struct rig *rig);

uint32_t rig_chance(uint64_t *random, uint32_t below);

/* A shard's turn, then, once in a while, a player of it through a portal to anywhere. */
void rig_shard(struct sim_shard *shard, uint64_t now_ns, uint64_t *random, bool portals);

/* Everybody else's turn: each ring is read, or by chance not; a build is finished, or not. */
void rig_turn(struct rig *rig, bool late);

void rig_connect(struct rig *rig, uint32_t client);
void rig_leave(struct rig *rig, uint32_t client);

#endif
