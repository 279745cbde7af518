/* fanout.h: the chat thread's part in little: whoever is connected is a member of the one channel,
 * and each packet that comes is a line of it. The lists go through a ring to dataplane/lines, as in
 * the server; but this producer is on the worker's own thread, so what it costs is measured with
 * it. */
#ifndef SW_PERF_ECHO_FANOUT_H
#define SW_PERF_ECHO_FANOUT_H

#include <stdatomic.h>
#include <stdbool.h>
#include <stdint.h>

#include "dataplane/lines.h"

struct fanout;

/* Main thread. per_s: deliveries a second at most. counters[DP_COUNTER_COUNT]. NULL: no memory. */
struct fanout *fanout_new(
	struct sw_enet *engine, uint32_t peers_max, uint32_t per_s, _Atomic uint64_t *counters);
void fanout_free(struct fanout *fanout); /* NULL is fine */

/* The worker's thread. */
void fanout_come(struct fanout *fanout, uint64_t peer);
void fanout_go(struct fanout *fanout, uint64_t peer);
/* A line; false: too many wait, it is dropped. */
bool fanout_say(struct fanout *fanout, const void *payload, uint32_t bytes, uint64_t now_ns);
/* Once a turn. Returns whether there was work. */
bool fanout_step(struct fanout *fanout, uint64_t now_ns, enum dp_lines_pace pace);

#endif
