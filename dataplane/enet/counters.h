/* counters.h: what the engine counts; see enet.h. X(id, name, kind, help) */
#ifndef SW_DATAPLANE_ENET_COUNTERS_H
#define SW_DATAPLANE_ENET_COUNTERS_H

#define SW_ENET_COUNTER_ENUM(id, name, kind, help) SW_ENET_C_##id,

#define SW_ENET_COUNTERS(X)                                                                        \
	X(NONE, "none", COUNTER_SUM, "always 0: nothing was refused")                              \
	X(PEERS, "peers", COUNTER_GAUGE, "connected peers")

#endif
