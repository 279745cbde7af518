/* log_events.h: the rare events of hot threads: what they may say, and how they say it.
 *
 * A hot thread pushes an id and four figures; the log thread puts them into the text. {0} to {3}
 * are the arguments in decimal, {0:x} in hexadecimal, {0:us} nanoseconds as microseconds, {0:ip} an
 * IPv4 address in host order, {text} the bytes that came along with log_event_push_text.
 *
 * Of each event at most LOG_EVENT_LINES are written in a second; the rest is counted and said in
 * one line, so that a flood of one event hides no other. */
#ifndef SW_COMMON_LOG_EVENTS_H
#define SW_COMMON_LOG_EVENTS_H

#include <stdbool.h>
#include <stdint.h>

#include "common/msg_ring.h"

#define LOG_EVENT_LINES      5u
#define LOG_EVENT_TEXT_BYTES 160u

/* X(id, level, module, text) */
#define LOG_EVENTS(X)                                                                              \
	X(WORKER_STARTED, INFO, "dataplane", "worker {0} polls on lcore {1}")                      \
	X(WORKER_STOPPED, INFO, "dataplane", "worker {0} has ended")                               \
	X(LINK_UP, INFO, "dataplane", "port {0}: link is up")                                      \
	X(LINK_DOWN, WARN, "dataplane", "port {0}: link is down")                                  \
	X(MBUFS_SHORT, WARN, "dataplane", "port {0} queue {1}: no packet buffer was free")         \
	X(RING_FULL, WARN, "dataplane", "ring to {0} is full: {1} slots in use")                   \
	X(PEER_SLOW, INFO, "enet", "peer {0:x} from {1:ip} is too slow and was disconnected")      \
	X(PEER_PROTOCOL, INFO, "enet", "peer {0:x} from {1:ip} broke the protocol")                \
	X(SHARD_STARTED, INFO, "simulation", "shard {0} runs {2} maps on lcore {1}")               \
	X(SHARD_STOPPED, INFO, "simulation", "shard {0} has ended")                                \
	X(TICK_LATE, WARN, "simulation",                                                           \
		"map {0}: tick {1} took {2:us} us, more than its period, most of it in stage {3}")   \
	X(PLAYER_SLOW, INFO, "simulation",                                                         \
		"character {0} on map {1} takes no reliable messages and was disconnected")         \
	X(PLAYER_MALFORMED, INFO, "simulation",                                                    \
		"character {0} on map {1} sent {2} unreadable messages and was disconnected")       \
	X(SAVES_HELD, WARN, "simulation", "shard {0}: {1} saves wait for room in the world ring")  \
	X(SCRIPT_ERROR, WARN, "script", "map {0}: {text}")                                         \
	X(SCRIPT_SLOW, WARN, "script",                                                             \
		"map {0}: handlers took {1:us} us of {2:us} us and were ended")

#define LOG_EVENT_ENUM(id, level, module, text) LOG_EVENT_##id,
enum log_event { LOG_EVENTS(LOG_EVENT_ENUM) LOG_EVENTS_COUNT };

/* Hot thread, the producer of ring. now_ns: mono_ns. thread: worker or shard number. Copies two
 * slots; never blocks, allocates or formats. Returns false when the ring is full and the event is
 * lost: the caller bumps a counter. */
bool log_event_push(struct msg_ring *ring, enum log_event event, uint32_t thread, uint64_t now_ns,
	uint64_t a, uint64_t b, uint64_t c, uint64_t d);

/* The same with text[bytes] for {text}, cut at LOG_EVENT_TEXT_BYTES; a is {0}, b is {1}. The bytes
 * may be anything. */
bool log_event_push_text(struct msg_ring *ring, enum log_event event, uint32_t thread,
	uint64_t now_ns, uint64_t a, uint64_t b, const char *text, uint32_t bytes);

#endif
