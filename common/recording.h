/* recording: the file that a shard's inputs are recorded in, and its reader.
 *
 * A header, then entries, little-endian, without padding. A step of the shard is an entry STEP,
 * followed by what the shard took or met in it: the messages that it popped, in order; the pushes
 * that found their ring full, by number within the step; the tick that it ended, with a hash over a
 * part of that map's state. Steps in which nothing happened are left out: they change nothing.
 * With the configuration, the maps' files and the scripts that is all the shard's state depends on,
 * but for handlers that the time limit ended: those are entries of their own, after which a replay
 * may differ. Pure: no clock, no allocation; any thread. */
#ifndef SW_COMMON_RECORDING_H
#define SW_COMMON_RECORDING_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

#include "common/config.h"
#include "common/msg.h"

#define RECORDING_VERSION     2u
#define RECORDING_BUILD_BYTES 65u

struct recording_header {
	uint32_t version;
	uint32_t shard, workers;
	uint64_t node_seed;    /* of the table of instances */
	uint64_t seed;         /* of the shard */
	uint64_t commit_start; /* of the shard's commits (sim_links) */
	uint64_t start_ns;     /* mono_ns when it was made */
	uint64_t config_hash;
	uint32_t map_count;
	uint64_t content_hash[CONFIG_MAPS_MAX]; /* [map_count]: of a map's file and script */
	char build[RECORDING_BUILD_BYTES];      /* of the simulation's sources, as text */
	char config_path[CONFIG_PATH_BYTES];
};

#define RECORDING_HEADER_MAX 1024u

/* Returns how many bytes of out it took. version is set. */
uint32_t recording_header_write(
	uint8_t out[RECORDING_HEADER_MAX], const struct recording_header *header);

/* Why a recording ended. X(id, name, meaning) */
#define RECORDING_ENDS(X)                                                                          \
	X(STOPPED, "stopped", "the server stopped in order: the recording is whole")               \
	X(LOST, "lost",                                                                            \
		"the file's writer did not keep up with the shard (simulation.record_buffer)")     \
	X(FULL, "full", "the file has reached simulation.record_max")                              \
	X(WRITE, "write", "the file could not be written")                                         \
	X(ORDERED, "ordered", "an operator ended it (swctl record stop): whole up to there")

#define RECORDING_END_ENUM(id, name, meaning) RECORDING_END_##id,
enum recording_end { RECORDING_ENDS(RECORDING_END_ENUM) RECORDING_END_COUNT };
const char *recording_end_name(enum recording_end end);

enum recording_kind {
	RECORDING_STEP = 1,
	RECORDING_MESSAGE,
	RECORDING_REFUSED,
	RECORDING_TICK,
	RECORDING_OVER_TIME,
	RECORDING_ENDED,
};

/* Where a message came from. */
enum { RECORDING_CONTROL, RECORDING_WORLD, RECORDING_WORKER }; /* + worker */

struct recording_entry {
	uint8_t kind; /* enum recording_kind */
	union {
		uint64_t now_ns; /* STEP */
		struct {
			uint8_t source;
			/* The head as msg.h has it; the payload lies in the recording. */
			uint16_t type, flags;
			uint8_t channel;
			uint32_t payload_bytes;
			uint64_t peer, subject;
			const uint8_t *payload;
		} message;
		uint32_t attempt; /* REFUSED: the step's pushes and looks for room, from 0 */
		struct {
			uint32_t instance, tick;
			uint64_t hash; /* TICK */
		} tick;                /* and OVER_TIME */
		uint8_t end;           /* ENDED: enum recording_end */
	};
};

#define RECORDING_ENTRY_MAX 40u /* without a message's payload */

/* Returns how many bytes of out it took; a message's payload is to follow. */
uint32_t recording_entry_write(
	uint8_t out[RECORDING_ENTRY_MAX], const struct recording_entry *entry);

/* What is wrong with a file. X(id, text) */
#define RECORDING_FAULTS(X)                                                                        \
	X(NONE, "nothing")                                                                         \
	X(FOREIGN, "it is not a recording")                                                        \
	X(VERSION, "it has another version than this program reads")                               \
	X(HEADER, "its header is damaged")                                                         \
	X(CUT, "it ends inside an entry: the server did not end in order")                         \
	X(KIND, "an entry of no known kind: it is damaged")                                        \
	X(MESSAGE, "a message that no ring can have held: it is damaged")                          \
	X(ORDER, "an entry outside of a step: it is damaged")

#define RECORDING_FAULT_ENUM(id, text) RECORDING_FAULT_##id,
enum recording_fault { RECORDING_FAULTS(RECORDING_FAULT_ENUM) RECORDING_FAULT_COUNT };
const char *recording_fault_text(enum recording_fault fault);

struct recording_reader {
	const uint8_t *bytes;
	size_t count, at;
	uint32_t workers;
	bool in_step;
};

/* bytes are borrowed. Fills *header. */
enum recording_fault recording_open(struct recording_reader *reader, const uint8_t *bytes,
	size_t count, struct recording_header *header);

/* The next entry. At the end of the bytes it is false, and *fault NONE; false after a fault. */
bool recording_next(struct recording_reader *reader, struct recording_entry *entry,
	enum recording_fault *fault);

/* FNV-1a, for the hashes of the header; begin with RECORDING_HASH. */
#define RECORDING_HASH 0xcbf29ce484222325ull
uint64_t recording_hash(uint64_t hash, const void *bytes, size_t count);

/* What of a configuration decides how a shard goes on. Set-up thread. */
uint64_t recording_config_hash(const struct sw_config *config);

#endif
