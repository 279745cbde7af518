/* batch: how large the next batch of saves or commits may be, and when it may go. One that fails
 * goes again as smaller ones, which find the row that is to blame; what works doubles it again. */
#ifndef SW_CONTROL_WORLD_BATCH_H
#define SW_CONTROL_WORLD_BATCH_H

#include <stdbool.h>
#include <stdint.h>

/* World thread only. */
struct batch {
	uint32_t limit; /* rows that the next one may have */
	uint32_t rows;  /* of the one that was sent last */
	uint64_t sent_ns;
	uint64_t retry_ns; /* none goes before */
	uint64_t log_ns;   /* no line about a failure before */
};

void batch_sent(struct batch *batch, uint32_t rows, uint64_t now_ns);
/* limit_max: rows that a batch may ever have. */
void batch_done(struct batch *batch, uint32_t limit_max);
/* data: it failed because of what is in it, so smaller ones go at once; else after a pause. Of one
 * row there is no smaller batch: the caller takes it out, and may clear retry_ns then. */
void batch_failed(struct batch *batch, bool data, uint64_t now_ns);
/* A line in the log about a failure, unless there has just been one. what: "saves". */
void batch_say(struct batch *batch, const char *what, const char *why, const char *sqlstate,
	uint64_t now_ns);

#endif
