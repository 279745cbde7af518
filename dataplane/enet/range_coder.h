/* range_coder.h: the compression that enet_host_compress_with_range_coder switches on, and that
 * Godot has on by default: an adaptive order-2 context model in front of a carryless range coder
 * (Subbotin). The format determines every byte: what range_compress writes is what libenet writes.
 *
 * A datagram is a stream of its own: the model starts empty and learns from the bytes it has coded.
 * The byte is looked for in the context of the two bytes before it, then of one, then of none;
 * each step down is coded as an escape. The end is an escape out of the last.
 *
 * One coder belongs to one thread. No allocation; the work is bounded by the bytes of output (out)
 * of a decoder and of input of an encoder, at most 3 contexts of 9 steps for each. */
#ifndef SW_DATAPLANE_ENET_RANGE_CODER_H
#define SW_DATAPLANE_ENET_RANGE_CODER_H

#include <stdint.h>

#define RANGE_NODES  4096u
#define RANGE_VALUES 256u
#define RANGE_GROUP  16u

/* A byte seen in a context; at the same time it is the context of that context's bytes and this
 * one. Index 0 is no node. The bytes of a context are a tree by their bits, the highest first, with
 * a byte at each node: so it is at most nine deep, whatever comes in. */
struct range_node {
	uint8_t value, count;
	uint16_t left, right; /* bit of this depth is 0, is 1 */
	uint16_t left_sum;    /* counts in left */
	uint16_t lower;       /* the same byte in the context that is a byte shorter */
	/* as a context */
	uint16_t first; /* root of its tree */
	uint16_t escapes, total;
};
_Static_assert(sizeof(struct range_node) == 16, "four to a cache line");

struct range_coder {
	struct range_node nodes[RANGE_NODES];
	uint32_t next;    /* first node not used */
	uint16_t context; /* node of the longest context; 0: that of no bytes */
	uint8_t order;    /* bytes of that context */
	/* the context of no bytes, where each byte has 1 and its count */
	uint8_t count[RANGE_VALUES];
	uint16_t group_sum[RANGE_VALUES / RANGE_GROUP];
	uint16_t node[RANGE_VALUES];
	uint16_t escapes, total;
};

/* Returns the bytes written, or 0 when they would be more than out_bytes, or in_bytes is 0. */
uint32_t range_compress(struct range_coder *coder, const uint8_t *in, uint32_t in_bytes,
	uint8_t *out, uint32_t out_bytes);

/* The same, or 0 when in is not what an encoder writes. */
uint32_t range_decompress(struct range_coder *coder, const uint8_t *in, uint32_t in_bytes,
	uint8_t *out, uint32_t out_bytes);

#endif
