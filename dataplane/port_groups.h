/* port_groups.h: the Ethernet groups that a port must let through, so that IPv6 neighbours find us
 * (packet_groups). Main thread, for port.c. */
#ifndef SW_DATAPLANE_PORT_GROUPS_H
#define SW_DATAPLANE_PORT_GROUPS_H

#include <stdio.h>

#include "dataplane/port.h"

struct rte_eth_dev_info;

/* The port is started and has its MAC. In this order: a kernel interface behind the port (AF_XDP,
 * af_packet) is told to let the groups through; else the port's own filter; else the port takes all
 * multicast; else log says that neighbours may not find us, and why that may be well. Nothing of it
 * ends the start: IPv4 works regardless. Without IPv6 it does nothing. */
void dp_port_join(struct dp_port *port, const struct rte_eth_dev_info *info, FILE *log);

/* Before the port is closed: the kernel interface forgets them, the rest ends with the port. After
 * a kill -9 they stay on that interface, where the next join finds them. */
void dp_port_leave(struct dp_port *port);

#endif
