/* recorder: writes what shards record of their inputs (common/recording.h) into files, one of each
 * shard and start: FOLDER/shard-NUMBER-TIME.swrec, readable by owner and group alone, since what
 * players send is in it.
 *
 * One ordinary thread for all shards; it is the one consumer of their byte rings, which it looks at
 * every 5 ms. A recording ends for good, with its reason at the end of the file, in a log line and
 * in a counter: the server stops, an operator ends it, the ring ran full, the file is as large as
 * simulation.record_max or cannot be written. A server that does not come to an end itself leaves a
 * file without one. */
#ifndef SW_CONTROL_RECORDER_RECORDER_H
#define SW_CONTROL_RECORDER_RECORDER_H

#include <stdio.h>

#include "common/byte_ring.h"
#include "common/config.h"
#include "common/counter.h"
#include "common/recording.h"

struct recorder;

/* One shard's. */
struct recorder_source {
	struct byte_ring *ring;
	const struct recording_header *header; /* read by recorder_start alone */
};

/* Set-up thread. Makes the folder if its parent is there, the files and the thread. Returns NULL
 * after a sentence in errors: the folder or a file cannot be made, or memory is short. */
struct recorder *recorder_start(const struct sw_config *config,
	const struct recorder_source *sources, uint32_t count, FILE *errors);

/* Any thread, until recorder_stop: ends what is being recorded, in a moment
 * (RECORDING_END_ORDERED); the shards go on. Returns how many recordings that were. There is no way
 * to begin again: a recording needs what its shard began with. */
uint32_t recorder_end(struct recorder *recorder);

/* Any thread, until recorder_stop: recordings that go on. */
uint32_t recorder_open(const struct recorder *recorder);

/* After the shards' last step: writes what is left and the end. NULL is fine. */
void recorder_stop(struct recorder *recorder);

/* X(id, name, kind, help); the ends of RECORDING_ENDS follow as ended_<name>. */
#define RECORDER_COUNTERS(X)                                                                       \
	X(BYTES, "bytes", COUNTER_SUM, "bytes of the shard's recording that were written")
#define RECORDER_COUNTER_ENUM(id, name, kind, help) RECORDER_##id,
#define RECORDER_END_ENUM(id, name, meaning)        RECORDER_ENDED_##id,
enum recorder_counter {
	RECORDER_COUNTERS(RECORDER_COUNTER_ENUM) RECORDING_ENDS(RECORDER_END_ENUM)
		RECORDER_COUNTER_COUNT
};

/* Group "recorder", one set per source; until recorder_stop. */
const struct counter_set *recorder_counters(const struct recorder *recorder, uint32_t source);

#endif
