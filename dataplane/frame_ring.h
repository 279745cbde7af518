/* frame_ring.h: frames (pointers to them) from one dataplane worker to another, oldest first.
 *
 * A single-producer, single-consumer ring on plain memory; needs no EAL. Whoever pushes a frame
 * gives it away: the other side frees it or sends it. Frames never leave the dataplane this way. */
#ifndef SW_DATAPLANE_FRAME_RING_H
#define SW_DATAPLANE_FRAME_RING_H

#include <stddef.h>
#include <stdint.h>

struct dp_frame_ring;

/* Main thread. Room for at least frames, which is rounded up to a power of two less one. NULL: no
 * memory. Empty it before it is freed, after both threads have ended. */
struct dp_frame_ring *dp_frame_ring_new(uint32_t frames);
void dp_frame_ring_free(struct dp_frame_ring *ring);
size_t dp_frame_ring_bytes(uint32_t frames);

/* The producer. Returns how many of frames[count] it took, from the first on; the others are still
 * the caller's. */
uint32_t dp_frame_ring_push(struct dp_frame_ring *ring, void *const *frames, uint32_t count);

/* The consumer. At most most frames into out; returns how many. */
uint32_t dp_frame_ring_pop(struct dp_frame_ring *ring, void **out, uint32_t most);

#endif
