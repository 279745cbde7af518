/* handoff.h: frames that come in at one dataplane worker's queue and belong to another's peer.
 *
 * Two rings from each worker that owns a queue to each other one:
 *   over  frames as received, to the worker that has the flow. Full: the frame is dropped and
 *         counted, as a full receive ring drops.
 *   back  frames to be sent by a queue of the other one: replies of a worker that has no queue of
 *         its own on that port. Full: they wait with their sender, whose engine then tries later.
 * And where RSS steers, the table of flows (flows.h).
 *
 * Every queue of every port has a number, counted through in the order of the configuration;
 * a frame on its way carries it in mbuf->hash.usr. Frames stay buffers of their queue's pool. */
#ifndef SW_DATAPLANE_HANDOFF_H
#define SW_DATAPLANE_HANDOFF_H

#include <stdbool.h>
#include <stdint.h>

#include "common/config.h"
#include "dataplane/flows.h"
#include "dataplane/frame_ring.h"
#include "dataplane/port.h"

struct dp_handoff {
	uint32_t workers;
	uint32_t queues;        /* of all ports */
	uint64_t key[2];        /* of dp_flow_hash */
	struct dp_flows *flows; /* NULL: no port is steered by RSS */
	/* [from][to], NULL where nothing can cross. */
	struct dp_frame_ring *over[CONFIG_LCORES_MAX][CONFIG_LCORES_MAX];
	struct dp_frame_ring *back[CONFIG_LCORES_MAX][CONFIG_LCORES_MAX];
};

/* Main thread, after the ports are open and before the workers are made. *out is NULL when no frame
 * can ever cross: one worker, or each port belongs to one. Returns 0, or -ENOMEM after it has said
 * so on stderr. */
int dp_handoff_new(const struct sw_config *config, struct dp_port *const *ports,
	uint32_t port_count, const uint8_t key[16], struct dp_handoff **out);

/* Main thread, after the workers are gone and before the ports are closed: frames on their way go
 * back to their pools. NULL is fine. */
void dp_handoff_free(struct dp_handoff *handoff);

/* The number of a queue. */
uint32_t dp_handoff_queue(const struct sw_config *config, uint32_t port_index, uint32_t queue);

/* Bytes of it all: the sum stands in handoff.c. */
size_t dp_handoff_bytes(
	const struct sw_config *config, struct dp_port *const *ports, uint32_t port_count);

#endif
