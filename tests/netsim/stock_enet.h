/* stock_enet.h: unmodified libenet on netsim.
 *
 * The library reaches sockets and clock through its own exported functions (enet_socket_send,
 * enet_time_get, ...), and calls them through its procedure linkage table. A program that links
 * sw_netsim_enet defines those functions itself, so the loader resolves the library's calls to the
 * ones in stock_enet.c: the shared library of the distribution runs as it is, on the virtual clock.
 *
 * One network at a time, one thread. enet_host_service must be called with timeout 0. */
#ifndef SW_TESTS_NETSIM_STOCK_ENET_H
#define SW_TESTS_NETSIM_STOCK_ENET_H

#include "tests/netsim/netsim.h"

/* The network that hosts made from now on live on. ip: of the next hosts, which get a port each.
 * The library's 32-bit clock reads (netsim_now_ms + skew_ms), cut to 32 bits. */
void stock_enet_attach(struct netsim *sim, uint32_t ip, uint32_t skew_ms);

/* Sockets that were opened and not closed. */
int stock_enet_sockets(void);

#endif
