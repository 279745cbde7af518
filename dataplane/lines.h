/* lines.h: fan-outs: one packet of the chat thread to very many peers, at a pace that the game does
 * not feel. common/chat.h says what comes through the ring.
 *
 * The ring is the queue: nothing is taken from it before it is sent, but what fits the worker's
 * hands (256 slots). The pace:
 *   - so many deliveries a turn: DP_LINES_TURN; a fourth where the last receive burst was full; two
 *     while a shard on the same lcore is in the middle of a tick. What the game has to say this
 * turn stands before them;
 *   - so many a second: dataplane.chat_per_s;
 *   - none in a turn that begins with frames that the port has not taken yet, or that found no
 * buffer.
 *
 * Who does not take it: a peer that is gone, or another one of its slot, gets nothing
 * (drop_chat_stale); one whose queue is half full misses the line and stays (drop_chat_slow_peer).
 * Where half of the memory behind all queues is taken, a delivery waits DP_LINES_PATIENCE_NS for
 * it, and all behind it too; from then on deliveries that find none are dropped (drop_chat_memory)
 * until one finds some.
 *
 * The worker's thread alone. Never allocates, locks, logs or blocks. */
#ifndef SW_DATAPLANE_LINES_H
#define SW_DATAPLANE_LINES_H

#include <stdatomic.h>
#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

#include "common/counter.h"

struct msg_ring;
struct sw_enet;

#define DP_LINES_TURN        32u
#define DP_LINES_PATIENCE_NS 100000000ull

/* What this turn leaves for lines. */
enum dp_lines_pace {
	DP_LINES_FREE,    /* DP_LINES_TURN deliveries */
	DP_LINES_BUSY,    /* the last receive burst was full */
	DP_LINES_TICKING, /* a shard on this lcore is in the middle of a tick */
	DP_LINES_HELD,    /* none: the port is behind */
};

struct dp_lines;

/* Main thread. per_s: at most so many deliveries a second. counters[DP_COUNTER_COUNT] and engine
 * outlive it; ring is consumed by the worker alone. NULL: no memory. */
struct dp_lines *dp_lines_new(
	struct msg_ring *ring, struct sw_enet *engine, uint32_t per_s, _Atomic uint64_t *counters);
void dp_lines_free(struct dp_lines *lines); /* NULL is fine */
size_t dp_lines_bytes(void);

/* Takes what the ring has, if nothing is at hand. What the chat thread pushed to this worker's
 * other ring before that is there by now: it is to be drained between this and dp_lines_send. */
void dp_lines_take(struct dp_lines *lines);

/* Sends some of what is at hand. Returns whether something is, or was: then the worker is not idle.
 */
bool dp_lines_send(struct dp_lines *lines, uint64_t now_ns, enum dp_lines_pace pace);

/* Any thread. How long lines took from their sender to the last peer of a list (MSG_CHAT_TO). */
const struct histogram *dp_lines_delay(const struct dp_lines *lines);

#endif
