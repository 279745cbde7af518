/* log_line: the text of log lines. Log thread, and callers of sw_log on their own memory. Pure: no
 * clock, no file, no allocation. */
#ifndef SW_COMMON_LOG_LINE_H
#define SW_COMMON_LOG_LINE_H

#include <stddef.h>
#include <stdint.h>

#include "common/log.h"
#include "common/log_events.h"

/* Room for the longest line: each byte of the text may become four (\x1b). */
#define LOG_LINE_BYTES (SW_LOG_TEXT_BYTES * 4 + 160)

/* What makes one line. */
struct log_line {
	uint64_t wall_ns; /* since 1970 */
	enum sw_log_level level;
	const char *module, *thread;
	const char *text; /* any bytes: quotes, control characters and bad UTF-8 are escaped */
	size_t text_bytes;
};

/* Writes the line with its newline; returns its bytes, at most LOG_LINE_BYTES. */
size_t log_line_write(const struct log_line *line, char out[LOG_LINE_BYTES]);

/* One row of LOG_EVENTS. */
struct log_event_desc {
	enum sw_log_level level;
	const char *name, *module, *text;
};
extern const struct log_event_desc log_event_desc[LOG_EVENTS_COUNT];

/* Fills template with arg and extra[extra_bytes] (for {text}); returns bytes written, at most
 * out_bytes. What is no placeholder of log_events.h is copied as it stands. */
size_t log_event_text(const char *template, const uint64_t arg[4], const char *extra,
	size_t extra_bytes, char *out, size_t out_bytes);

/* One event's budget: LOG_EVENT_LINES a second. All zero is a fresh one. */
struct log_limit {
	uint64_t window_ns; /* when this second began */
	uint32_t written, held;
};

/* True when one more line may be written now; else it counts as held. */
bool log_limit_take(struct log_limit *limit, uint64_t now_ns);

/* How many were held in a second that is over (or, with stopping, at once), 0 if none; forgets
 * them. */
uint32_t log_limit_held(struct log_limit *limit, uint64_t now_ns, bool stopping);

#endif
