/* log: structured lines, one a line, in logfmt:
 *
 *   time=2025-06-01T10:00:00.123456Z level=warn module=world thread=world text="..."
 *
 * Hot threads (dataplane workers, shards) never call this: they push MSG_LOG_EVENT messages
 * (log_events.h). Everyone else calls sw_log. One log thread, a timed drain every 10 ms, formats
 * the events and does all the writing, so that a slow disk or a stopped terminal holds up nobody.
 *
 * There is one log per process: this is the one module with state of its own. */
#ifndef SW_COMMON_LOG_H
#define SW_COMMON_LOG_H

#include <stdint.h>

#include "common/msg_ring.h"

/* X(id, name). From least to most serious. */
#define SW_LOG_LEVELS(X)                                                                           \
	X(DEBUG, "debug")                                                                          \
	X(INFO, "info")                                                                            \
	X(WARN, "warn")                                                                            \
	X(ERROR, "error")

#define SW_LOG_LEVEL_ENUM(id, name) SW_LOG_##id,
enum sw_log_level { SW_LOG_LEVELS(SW_LOG_LEVEL_ENUM) SW_LOG_LEVELS_COUNT };

#define SW_LOG_TEXT_BYTES 768u /* of one line's text; more is cut */

/* Set-up thread, before any other thread logs. file: "" for standard error, else appended to and
 * made if missing. level: a name of SW_LOG_LEVELS. Until it is called, and after sw_log_stop, lines
 * go to standard error at once. Returns 0, -EINVAL for an unknown level, or -errno of the file. */
int sw_log_open(const char *file, const char *level);

/* Set-up thread. Starts the log thread, which is the consumer of rings[count] (at most 128; the
 * pointers are copied) until sw_log_stop. Returns 0 or -errno. */
int sw_log_start(struct msg_ring *const *rings, uint32_t count);

/* Set-up thread, after the threads that push events have ended: writes all that waits, ends the
 * thread, closes the file. May be called without a start. */
void sw_log_stop(void);

/* Any thread but the hot ones. Formats on the caller, then queues the line for the log thread.
 * Never waits for the disk; when the queue is full the line is dropped, and the log says how many
 * were. module: a literal, such as "world". thread= is the calling thread's name
 * (pthread_setname_np). */
void sw_log(enum sw_log_level level, const char *module, const char *format, ...)
	__attribute__((format(printf, 3, 4)));

#endif
