/* legal_rig: a session of the library and the real shard, and between them a lossy network on a
 * virtual clock: 150 ms there and back with jitter, 5 % loss each way. Unreliable packets that were
 * overtaken are dropped and reliable ones come late but in order, as the engine and libenet have
 * it. It also plays control for transfers between the maps of the shard. Test programs only. */
#ifndef SWC_LEGAL_RIG_H
#define SWC_LEGAL_RIG_H

#include <stdbool.h>
#include <stdint.h>

#include "client/session.h"
#include "simulation/counters.h"
#include "simulation/state.h"
#include "simulation/testing.h"
#include "tests/netsim/netsim.h"

#define PACKETS_MAX 256u

/* Reliable packets on their way, one way: they come in order. */
struct reliable {
	struct {
		uint64_t due_ms;
		uint8_t channel;
		uint32_t bytes;
		uint8_t packet[1500];
	} queue[PACKETS_MAX];
	uint32_t head, count;
};

struct rig {
	struct test_shard t;
	struct swc_session session;
	struct swc_ground *grounds[2];
	uint32_t ground_count;
	struct netsim *net;
	struct reliable down; /* to the client; to the server none is needed */
	uint32_t sent_up, sent_down, seen_up, seen_down; /* of the unreliable channel */
	uint64_t corrected_ms;
	uint32_t corrected_input;
	double client_ms, pace; /* the client's clock, and how fast it runs */
	double tick_ms;         /* the client's next tick on its clock */
	uint64_t frame_ms, idle_until_ms;
	uint32_t ticks_at_once; /* inputs that a client makes for each tick: 1 is legal */
	bool stock;             /* a client that does not know of WorldUpdate.input_waiting */
	uint32_t waiting_most;  /* on the server */
	uint32_t transfers;     /* control's part: seen, and played */
	uint32_t joins;         /* JOINED that the client heard */
};

/* Once a program: the folder with the maps. 0, or it cannot be made. */
int rig_begin(void);
void rig_end(void);

/* One map, "meadow"; with walls it is a file that the client may have, too. */
void rig_start(struct rig *r, uint64_t seed, uint32_t hz, bool walls, bool client_has_walls);
/* Two maps with walls and monsters, each with portals to the other one. */
void rig_start_world(struct rig *r, uint64_t seed);
void rig_stop(struct rig *r);

void rig_pass_ms(struct rig *r);

/* The player's, on whichever map it is; NULL between two. */
struct sim_map *rig_map(const struct rig *r, uint32_t *slot);
const struct sim_entity *rig_entity(const struct rig *r);

/* Stands still until all is confirmed; then client and server agree. */
void rig_settle(struct rig *r, const char *who);

/* A player that is never long satisfied with a direction, and rests at times. */
void rig_wander(struct rig *r, uint32_t ms);

#endif
