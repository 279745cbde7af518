/* record: a shard writes down what it does not decide itself, so that swreplay can repeat
 * it: the times it was stepped at, the messages it took, the pushes that found their ring full
 * (common/recording.h has the format). Instances that are handed over are MSG_INSTANCE_OPEN among
 * the messages: what is in them follows from their id and the node's seed.
 *
 * The shard's thread, after sim_record_new. No system call, no allocation, no lock: entries go into
 * a byte ring; whoever writes the file reads it (control/recorder). When the ring is full it is
 * closed, and the shard goes on as if nothing were recorded.
 *
 * A replay uses the same struct without a ring: sim_record_push then refuses what was refused. */
#ifndef SW_SIMULATION_RECORD_H
#define SW_SIMULATION_RECORD_H

#include <stdbool.h>
#include <stdint.h>

#include "common/byte_ring.h"
#include "common/config.h"
#include "common/msg.h"
#include "common/msg_ring.h"
#include "common/recording.h"

struct sim_map;

/* A tick's hash covers every so-many-th slot of its map, another part each tick: all within 16. */
#define SIM_RECORD_PARTS 16u

/* Refused pushes of a step before it is known whether anything happens in it. */
#define SIM_RECORD_EARLY (CONFIG_LCORES_MAX + 2u)

struct sim_record {
	struct byte_ring *out; /* NULL: a replay */
	/* A replay sets these before each step. */
	const uint32_t *refusals; /* [refusal_count], rising: numbers of pushes to refuse */
	uint32_t refusal_count;
	/* What the last step ended in, for the replay; ended.instance 0: no tick. */
	struct {
		uint32_t instance, tick;
		uint64_t hash;
	} ended;
	uint32_t over_time; /* handlers that the time limit ended, ever */
	bool short_of_room; /* a replay's own ring was full: it is not the recording's fault */

	/* private */
	uint64_t now_ns;
	bool open; /* this step's entry is written */
	uint32_t attempts, refusal_at;
	uint32_t early[SIM_RECORD_EARLY], early_count;
};

/* Set-up thread. NULL: no memory, or buffer_bytes is no power of two. */
struct sim_record *sim_record_new(uint32_t buffer_bytes);
void sim_record_free(struct sim_record *record);

/* Set-up thread: what a recording's header says of this program and these maps. Unreadable files
 * count as empty. */
void sim_record_header(const struct sw_config *config, struct recording_header *header);

/* The hash of the sources that this program's simulation was built from, as text. */
extern const char sim_build_id[RECORDING_BUILD_BYTES];

/* ---- the shard's thread ---- */

void sim_record_step(struct sim_record *record, uint64_t now_ns);
/* Something happens in this step: it is written. */
void sim_record_touch(struct sim_record *record);
void sim_record_messages(
	struct sim_record *record, uint32_t source, const struct msg *messages, uint32_t slots);
bool sim_record_push(struct sim_record *record, struct msg_ring *ring, const struct msg *message);
bool sim_record_room(struct sim_record *record, const struct msg_ring *ring);
void sim_record_tick(struct sim_record *record, const struct sim_map *m);
void sim_record_over_time(struct sim_record *record, const struct sim_map *m);

#endif
