/* node.h: what the dataplane workers of a process have in common besides frames: the rates that the
 * configuration gives to the node, and how full it is. One for all workers, zeroed by whoever makes
 * them; a worker alone may go without (dp_wire_new).
 *
 * Nothing of it is touched for a datagram of a connected peer. */
#ifndef SW_DATAPLANE_NODE_H
#define SW_DATAPLANE_NODE_H

#include <stdbool.h>
#include <stdint.h>

#include "common/config.h"
#include "common/counter.h"
#include "common/rate.h"

struct dp_node {
	/* Any worker. Each on a line of its own: the other's flood does not concern it. */
	struct rate connects __attribute__((aligned(64))); /* enet.connects_per_s */
	struct rate probes __attribute__((aligned(64)));   /* dataplane.probes_per_s */
	struct rate pings __attribute__((aligned(64)));    /* WIRE_PINGS_PER_S */
	/* Main writes while no worker runs. Connected peers as each worker's engine counts them. */
	const _Atomic uint64_t *peers[CONFIG_LCORES_MAX] __attribute__((aligned(64)));
};

/* Any worker. Whether no worker has a free peer slot. A client whose own worker is full is refused
 * a little before that: flows spread evenly, not exactly. */
static inline bool dp_node_full(const struct dp_node *node, uint32_t peers_max)
{
	for (uint32_t w = 0; w < CONFIG_LCORES_MAX; w++)
		if (node->peers[w] && counter_get(node->peers[w]) < peers_max)
			return false;
	return true;
}

#endif
