#include <rte_trace_point_register.h>

#include "dataplane/trace.h"

RTE_TRACE_POINT_REGISTER(dp_trace_rx_burst, stormweir.rx.burst)
RTE_TRACE_POINT_REGISTER(dp_trace_tx_burst, stormweir.tx.burst)
RTE_TRACE_POINT_REGISTER(dp_trace_refused, stormweir.refused)
RTE_TRACE_POINT_REGISTER(dp_trace_ring_full, stormweir.ring.full)
