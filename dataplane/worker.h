/* worker.h: one dataplane worker: its port queues, its ENet engine, its rings to control and
 * shards.
 *
 * An lcore runs a worker alone, or fused with a shard; the loop is in main/. It calls
 * dp_worker_step with the time, and idles (idle.h) when nothing had work. */
#ifndef SW_DATAPLANE_WORKER_H
#define SW_DATAPLANE_WORKER_H

#include <stdbool.h>
#include <stdint.h>

#include "common/config.h"
#include "common/counter.h"
#include "dataplane/enet/enet.h"
#include "dataplane/port.h"
#include "dataplane/route.h"

struct dp_worker;

/* Main thread. Worker index of config->dataplane.lcores takes the queues that dp_port_queue_worker
 * gives it. key: random, per process. config, ports and rings outlive the worker; links is copied.
 * The engine's clock is mono_ns. Returns NULL after it has said on stderr why. */
struct dp_worker *dp_worker_new(const struct sw_config *config, uint32_t index,
	struct dp_port *const *ports, uint32_t port_count, const struct dp_links *links,
	const uint8_t key[16]);

/* Main thread, while no thread steps it. NULL is fine. */
void dp_worker_free(struct dp_worker *worker);

/* The worker's thread. One turn: what control and shards ask for; a burst from each queue through
 * the engine into the rings; timers and what waits to be sent; every transmit queue. now_ns is
 * mono_ns, the same or later at each call. Returns whether there was work. Never allocates, locks,
 * logs or blocks. */
bool dp_worker_step(struct dp_worker *worker, uint64_t now_ns);

/* The worker's thread. Whether a shard on the same lcore is in the middle of a tick: chat lines then
 * take little of the turns that follow (lines.h). */
void dp_worker_ticking(struct dp_worker *worker, bool ticking);

/* The worker's thread. When it has something to do without input, for dp_idle_wait; UINT64_MAX:
 * never. */
uint64_t dp_worker_next_ns(const struct dp_worker *worker);

/* The worker's thread, before the process ends: no new connects, everyone else is sent a DISCONNECT
 * with data (sw_disconnect_reason). Step on until dp_worker_peers is 0 or the patience ends. */
void dp_worker_refuse_connects(struct dp_worker *worker, uint32_t data);

/* Any thread. Connected peers, as the engine counts them. */
uint32_t dp_worker_peers(const struct dp_worker *worker);

/* Any thread. Two sets: [0] group "dataplane", [1] group "enet". They live as long as the worker.
 */
#define DP_WORKER_COUNTER_SETS 2u
const struct counter_set *dp_worker_counters(const struct dp_worker *worker);

/* Any thread. Frames per burst, as dp_wire_histograms, and how long chat lines took. */
#define DP_WORKER_HISTOGRAMS 3u
void dp_worker_histograms(
	const struct dp_worker *worker, struct histogram_ref out[DP_WORKER_HISTOGRAMS]);

/* Any thread but the worker's, one at a time. Asks the worker for its peer in slot peer_index, and
 * waits at most 200 ms for its next turn. Returns 0, -ENOENT (no peer there), -EINVAL (no such
 * slot), or -ETIMEDOUT (the worker does not step). */
int dp_worker_peer_info(
	struct dp_worker *worker, uint32_t peer_index, struct sw_enet_peer_info *info);

/* Main thread. Bytes that a worker takes, one line per holder in worker.c; without ports' pools. */
size_t dp_worker_bytes(const struct sw_config *config);

/* Main thread. Makes /stormweir/counters, /stormweir/cycles[,<worker>] and
 * /stormweir/peer,<index>[,<worker>] of these workers (and ports' losses) answer on DPDK's telemetry socket. Call with 0 workers before they are freed.
 * Returns 0, or -errno when telemetry has no room for the commands. */
int dp_telemetry_start(struct dp_worker *const *workers, uint32_t worker_count,
	struct dp_port *const *ports, uint32_t port_count);

#endif
