/* echo.h: one worker of the echo program: queues and engine without the game. Each packet goes back
 * to its sender on its channel with its flags; or, with --lines, to all peers of the worker
 * (fanout.h). */
#ifndef SW_PERF_ECHO_ECHO_H
#define SW_PERF_ECHO_ECHO_H

#include <stdbool.h>
#include <stdint.h>

#include "common/config.h"
#include "common/counter.h"
#include "dataplane/handoff.h"
#include "dataplane/port.h"
#include "perf/echo/benchmark.h"

struct dp_node;
struct echo;

/* Main thread. As dp_worker_new; NULL after it has said why. */
struct echo *echo_new(const struct sw_config *config, uint32_t index, struct dp_port *const *ports,
	uint32_t port_count, const uint8_t key[16], struct dp_handoff *handoff,
	struct dp_node *node);
void echo_free(struct echo *echo);

/* Main thread, before echo_run. Gives this worker all of the sessions: whichever worker a frame
 * comes to, its session is there. Returns 0, or -1 after it has said why not. */
int echo_benchmark(struct echo *echo, const struct echo_benchmark *sessions);

/* The echo's thread: polls until *stop is set, then tells every peer, and goes on until they have
 * acknowledged, at most ECHO_DRAIN_MS. */
#define ECHO_DRAIN_MS 1000u
void echo_run(struct echo *echo, const _Atomic bool *stop);

/* Any thread: the sets "dataplane" and "enet". */
#define ECHO_COUNTER_SETS 2u
const struct counter_set *echo_counters(const struct echo *echo);

/* Any thread. Time of the turns that found work; the rest of a poller's time is spent looking. */
uint64_t echo_busy_ns(const struct echo *echo);

#endif
