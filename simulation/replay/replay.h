/* replay: a recording (common/recording.h) fed to a shard of its own, step by step, and compared.
 *
 * One thread. The configuration says which maps there are; the recording which instances of them
 * ran, and everything that came in. What the shard sends goes to whoever looks. At each tick's end
 * its hash is compared with the recorded one: the first that differs ends the replay. */
#ifndef SW_SIMULATION_REPLAY_REPLAY_H
#define SW_SIMULATION_REPLAY_REPLAY_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

#include "common/config.h"
#include "common/msg.h"
#include "common/recording.h"

struct sim_replay;
struct sim_shard;

/* Called for each message: as it is about to be fed (source: RECORDING_CONTROL and so on), or as it
 * left the shard (to: the same). May be NULL. */
struct sim_replay_ops {
	void *ctx;
	void (*in)(void *ctx, uint32_t source, const struct msg *message);
	void (*out)(void *ctx, uint32_t to, const struct msg *message);
};

/* Builds the shard. bytes, config and ops are borrowed for the life of the replay. anyway: also
 * when the recording was made by other sources, another configuration, other map files or scripts;
 * what differs then stands in error all the same, and "" there means that all is alike. Returns
 * NULL with the reason in error. */
struct sim_replay *sim_replay_new(const uint8_t *bytes, size_t count,
	const struct sw_config *config, const struct sim_replay_ops *ops, bool anyway, char *error,
	size_t error_bytes);
void sim_replay_free(struct sim_replay *replay);

/* X(id, meaning) */
#define SIM_REPLAY_RESULTS(X)                                                                      \
	X(STEPPED, "a step was made, and no tick ended in it")                                     \
	X(TICKED, "a step was made in which a tick ended as it was recorded")                      \
	X(ENDED, "the recording has come to its end")                                              \
	X(DIFFERS, "a tick ended otherwise than it was recorded")                                  \
	X(BROKEN, "the recording is damaged, or cannot be fed")

#define SIM_REPLAY_ENUM(id, meaning) SIM_REPLAY_##id,
enum sim_replay_result { SIM_REPLAY_RESULTS(SIM_REPLAY_ENUM) SIM_REPLAY_RESULT_COUNT };

/* Makes the next step. After ENDED, DIFFERS or BROKEN it is not to be called again. */
enum sim_replay_result sim_replay_step(struct sim_replay *replay);

struct sim_replay_view {
	const struct sim_shard *shard; /* simulation/state.h */
	struct recording_header header;
	/* The tick of the last step, 0 instance if none: as recorded, and what came out. */
	struct {
		uint32_t instance, tick;
		uint64_t hash;
	} recorded, own;
	uint64_t steps, ticks;
	uint64_t now_ns;
	uint32_t over_time_recorded, over_time_own; /* handlers that the time limit ended */
	uint32_t over_time_tick;                    /* the first of them, either way */
	bool whole;                                 /* ENDED: in order, by a stop or an operator */
	enum recording_end end;                     /* ENDED, if has_end */
	bool has_end;
	char text[160]; /* DIFFERS, BROKEN, ENDED: a sentence */
};
const struct sim_replay_view *sim_replay_view(const struct sim_replay *replay);

#endif
