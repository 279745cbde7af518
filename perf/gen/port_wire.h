/* port_wire.h: many clients' datagrams over one DPDK port: each client has an address and a UDP
 * port of its own, all of them one MAC. One thread. */
#ifndef SW_PERF_GEN_PORT_WIRE_H
#define SW_PERF_GEN_PORT_WIRE_H

#include "dataplane/port.h"
#include "perf/gen/enet_load.h"
#include "perf/gen/options.h"

struct port_wire;

/* options and port outlive it. NULL after it has said what is wrong: addresses, memory. */
struct port_wire *port_wire_new(const struct gen_options *options, struct dp_port *port);
void port_wire_free(struct port_wire *wire);

/* Asks for the server's MAC until it answers, unless options name it. False: no answer in 5 s, and
 * stderr says so. Then the clients' headers are built. */
bool port_wire_resolve(struct port_wire *wire);

void port_wire_ops(struct port_wire *wire, struct enet_wire *ops, struct flow_ops *flow_ops);

#endif
