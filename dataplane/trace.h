/* trace.h: DPDK trace points of the dataplane, off unless EAL's --trace names them
 * (docs/performance.md). Off, each costs a load and a branch that is never taken; those of refusals
 * stand on the refusal's own path.
 *
 * Tracing needs memory per thread, which DPDK takes when the thread writes its first event: it is
 * for looking, not for production. */
#ifndef SW_DATAPLANE_TRACE_H
#define SW_DATAPLANE_TRACE_H

#include <rte_trace_point.h>

/* stormweir.rx.burst: a receive burst that brought frames. */
RTE_TRACE_POINT(dp_trace_rx_burst,
		RTE_TRACE_POINT_ARGS(uint16_t port_id, uint16_t queue_id, uint32_t frames),
		rte_trace_point_emit_u16(port_id);
		rte_trace_point_emit_u16(queue_id); rte_trace_point_emit_u32(frames);)

/* stormweir.tx.burst: frames that waited, and those that the port took. */
RTE_TRACE_POINT(
	dp_trace_tx_burst,
	RTE_TRACE_POINT_ARGS(uint16_t port_id, uint16_t queue_id, uint32_t waiting, uint32_t taken),
	rte_trace_point_emit_u16(port_id);
	rte_trace_point_emit_u16(queue_id); rte_trace_point_emit_u32(waiting);
	rte_trace_point_emit_u32(taken);)

/* stormweir.refused: a frame or datagram that went no further. by: 0 packet.h, 1 the engine;
 * reason: the number of the counter in its set, as in /stormweir/counters' order. */
RTE_TRACE_POINT(dp_trace_refused, RTE_TRACE_POINT_ARGS(uint8_t by, uint32_t reason, uint32_t bytes),
		rte_trace_point_emit_u8(by);
		rte_trace_point_emit_u32(reason); rte_trace_point_emit_u32(bytes);)

/* stormweir.ring.full: a ring had no room. counter: the number of the counter that says which and
 * what became of it. */
RTE_TRACE_POINT(dp_trace_ring_full, RTE_TRACE_POINT_ARGS(uint32_t worker, uint32_t counter),
		rte_trace_point_emit_u32(worker);
		rte_trace_point_emit_u32(counter);)

#endif
