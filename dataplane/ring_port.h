/* ring_port.h: for tests: EAL without hugepages, and a net_ring port whose far end the test holds.
 * What the test puts into to_server comes out of the port's receive burst; what the port sends is
 * in to_test. */
#ifndef SW_DATAPLANE_RING_PORT_H
#define SW_DATAPLANE_RING_PORT_H

#include <stdarg.h>
#include <setjmp.h>
#include <stddef.h>
#include <cmocka.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

#include <rte_eth_ring.h>
#include <rte_ethdev.h>
#include <rte_mbuf.h>
#include <rte_ring.h>

#include "common/config.h"
#include "dataplane/eal.h"

#define RING_PORT_QUEUES_MAX 4u

struct ring_port {
	struct rte_ring *to_server[RING_PORT_QUEUES_MAX], *to_test[RING_PORT_QUEUES_MAX];
	struct rte_mempool *pool; /* of the test's own frames */
};

/* Each process has its own prefix, so that tests run side by side. */
static inline int ring_port_eal(void **state)
{
	char prefix[64];
	char *argv[] = {"test", "--no-huge", "--no-shconf", "--no-pci", "-m", "64", "-l", "0",
		"--log-level", "error", "--no-telemetry", prefix, NULL};

	(void)state;
	snprintf(prefix, sizeof(prefix), "--file-prefix=sw_test_%d", (int)getpid());
	return dp_eal_init((int)(sizeof(argv) / sizeof(argv[0])) - 1, argv, stderr) < 0;
}

static inline int ring_port_eal_end(void **state)
{
	(void)state;
	dp_eal_cleanup();
	return 0;
}

/* The port's name is net_ring_<name>. */
static inline void ring_port_make(struct ring_port *port, const char *name, uint32_t queues)
{
	char text[32];

	for (uint32_t q = 0; q < queues; q++) {
		snprintf(text, sizeof(text), "%s_in%u", name, q);
		port->to_server[q] = rte_ring_create(text, 256, SOCKET_ID_ANY, 0);
		snprintf(text, sizeof(text), "%s_out%u", name, q);
		port->to_test[q] = rte_ring_create(text, 256, SOCKET_ID_ANY, 0);
		assert_non_null(port->to_server[q]);
		assert_non_null(port->to_test[q]);
	}
	snprintf(text, sizeof(text), "%s_pool", name);
	port->pool =
		rte_pktmbuf_pool_create(text, 511, 0, 0, RTE_MBUF_DEFAULT_BUF_SIZE, SOCKET_ID_ANY);
	assert_non_null(port->pool);
	assert_true(
		rte_eth_from_rings(name, port->to_server, queues, port->to_test, queues, 0) >= 0);
}

/* After dp_port_close. */
static inline void ring_port_free(struct ring_port *port)
{
	for (uint32_t q = 0; q < RING_PORT_QUEUES_MAX; q++) {
		rte_ring_free(port->to_server[q]);
		rte_ring_free(port->to_test[q]);
	}
	rte_mempool_free(port->pool);
	memset(port, 0, sizeof(*port));
}

static inline void ring_port_put(
	struct ring_port *port, uint32_t queue, const void *frame, uint32_t bytes)
{
	struct rte_mbuf *mbuf = rte_pktmbuf_alloc(port->pool);
	char *data;

	assert_non_null(mbuf);
	data = rte_pktmbuf_append(mbuf, (uint16_t)bytes);
	assert_non_null(data);
	memcpy(data, frame, bytes);
	assert_int_equal(rte_ring_enqueue(port->to_server[queue], mbuf), 0);
}

/* One frame that the port sent into out; its length, 0 when there is none. */
static inline uint32_t ring_port_get(
	struct ring_port *port, uint32_t queue, uint8_t *out, uint32_t out_bytes)
{
	void *object;
	struct rte_mbuf *mbuf;
	uint32_t bytes;

	if (rte_ring_dequeue(port->to_test[queue], &object))
		return 0;
	mbuf = object;
	bytes = rte_pktmbuf_pkt_len(mbuf);
	assert_true(bytes <= out_bytes);
	assert_int_equal(mbuf->nb_segs, 1);
	memcpy(out, rte_pktmbuf_mtod(mbuf, void *), bytes);
	rte_pktmbuf_free(mbuf);
	return bytes;
}

/* A configuration with one net_ring port. */
static inline void ring_port_config(struct sw_config *config, const char *name, uint32_t queues)
{
	sw_config_defaults(config);
	config->dataplane.lcore_count = 1;
	config->dataplane.mbufs = 1023;
	config->port_count = 1;
	snprintf(config->ports[0].device, sizeof(config->ports[0].device), "net_ring_%s", name);
	snprintf(config->ports[0].address, sizeof(config->ports[0].address), "10.0.0.1/24");
	config->ports[0].vlan = 0;
	config->ports[0].queues = queues;
	config->ports[0].rxd = 64;
	config->ports[0].txd = 64;
}

#endif
