/* bucket.h: a token bucket of one holder in one word (the generic cell rate algorithm, as
 * common/rate.h, for one thread). Zeroed: full. Pure: the time is an argument. */
#ifndef SW_CONTROL_CHAT_BUCKET_H
#define SW_CONTROL_CHAT_BUCKET_H

#include <stdint.h>

struct chat_bucket {
	uint64_t full_at_ns; /* when it will be full again */
};

/* Takes one, if it may: every_ns is the time that one takes to come back, burst how many there are
 * when it is full (at least 1). Returns 0, or how long it is until one may be taken. */
static inline uint64_t chat_bucket_take(
	struct chat_bucket *bucket, uint64_t every_ns, uint32_t burst, uint64_t now_ns)
{
	uint64_t from = bucket->full_at_ns > now_ns ? bucket->full_at_ns : now_ns;
	uint64_t most = (uint64_t)(burst - 1) * every_ns;

	if (from - now_ns > most)
		return from - now_ns - most;
	bucket->full_at_ns = from + every_ns;
	return 0;
}

#endif
