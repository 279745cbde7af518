/* enet_load.h: a flow of ENet clients (flow.h) over some wire, as a load to drive (drive.h). */
#ifndef SW_PERF_GEN_ENET_LOAD_H
#define SW_PERF_GEN_ENET_LOAD_H

#include "perf/gen/drive.h"
#include "perf/gen/flow.h"

/* Who takes what the wire receives: flow_receive or game_receive. */
struct wire_sink {
	void *ctx;
	void (*datagram)(
		void *ctx, uint32_t client, const uint8_t *data, uint32_t bytes, uint64_t now_ns);
};

/* The wire under many clients. One thread. */
struct enet_wire {
	void *ctx;
	/* Hands what came to the sink; returns datagrams. Nothing is taken while answers could
	 * not be written. */
	uint32_t (*receive)(void *ctx, const struct wire_sink *sink, uint64_t now_ns);
	uint32_t (*room)(void *ctx);  /* datagrams that can be begun */
	uint32_t (*flush)(void *ctx); /* sends what is begun; returns datagrams that left */
	/* Sends what is due of a flood, if there is one; NULL: the wire cannot. */
	void (*flood)(void *ctx, bool on, uint64_t now_ns);
	void (*report)(void *ctx, FILE *out);
};

/* load->ctx is memory of enet_load's own; one at a time. flow and wire outlive it. */
void enet_load_init(
	struct drive_load *load, struct flow *flow, const struct enet_wire *wire, uint32_t clients);

#endif
