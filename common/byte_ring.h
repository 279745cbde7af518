/* byte_ring: bytes from one hot thread to one other, in order, for what is written to a file and
 * must cost the writer no system call.
 *
 * Exactly one producer thread and one consumer thread for the life of the ring. What is pushed in
 * one call arrives whole or not at all. A ring that once had no room is closed by its producer: a
 * stream with a hole is worth nothing after the hole. */
#ifndef SW_COMMON_BYTE_RING_H
#define SW_COMMON_BYTE_RING_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

struct byte_ring;

/* Set-up thread. bytes: a power of two, 4096 at least; touched. NULL when memory is short or bytes
 * is not valid. Free it after both threads have ended. */
struct byte_ring *byte_ring_new(uint32_t bytes);
void byte_ring_free(struct byte_ring *ring);

/* Producer. Pushes head[head_bytes] and body[body_bytes], one after the other. Returns false, and
 * closes the ring, when they do not fit; false for a closed ring. Never blocks, allocates or logs.
 */
bool byte_ring_push(struct byte_ring *ring, const void *head, uint32_t head_bytes, const void *body,
	uint32_t body_bytes);

/* Consumer. Copies up to out_bytes out, oldest first; returns how many, 0 when it is empty. */
uint32_t byte_ring_pop(struct byte_ring *ring, void *out, uint32_t out_bytes);

/* Consumer. Whether the producer has closed it; what was pushed before can still be popped. */
bool byte_ring_closed(const struct byte_ring *ring);

/* Consumer: nobody reads any more; the producer's next push closes it. */
void byte_ring_refuse(struct byte_ring *ring);

#endif
