/* port_link: whether a port has a wire. Behind net_af_xdp, net_af_packet and net_tap stands an
 * interface of the kernel, which can be set down or deleted without the driver saying so: there the
 * kernel is asked. Other ports (VFs, memif) know their link themselves. */
#ifndef SW_DATAPLANE_PORT_LINK_H
#define SW_DATAPLANE_PORT_LINK_H

#include <stdint.h>

#define DP_NETDEV_BYTES 16u /* IF_NAMESIZE, without its header's socket functions */

/* X(id, meaning). From best to worst. */
#define DP_LINKS(X)                                                                                \
	X(UP, "has a link")                                                                        \
	X(DOWN, "no link: set down, or nothing at the other end; it may come back")                \
	X(GONE, "its kernel interface was deleted; only a restart helps")

#define DP_LINK_ENUM(id, meaning) DP_LINK_##id,
enum dp_link { DP_LINKS(DP_LINK_ENUM) DP_LINK_COUNT };

/* Main thread. The kernel interface behind DPDK's port: its index, and its name; 0 and "" where
 * there is none. The name is worth keeping, for an interface that is gone has none. */
uint32_t dp_link_netdev(uint16_t port_id, char name[DP_NETDEV_BYTES]);

/* Main thread; a few system calls, or a question to the driver. netdev: as dp_link_netdev returned
 * it when the port was opened. before: the answer when nothing can be found out. */
enum dp_link dp_link_look(uint16_t port_id, uint32_t netdev, enum dp_link before);

#endif
