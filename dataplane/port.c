#include <arpa/inet.h>
#include <errno.h>
#include <net/if.h>
#include <stdlib.h>
#include <string.h>
#include <sys/ioctl.h>
#include <unistd.h>

#include <rte_errno.h>
#include <rte_ethdev.h>
#include <rte_mbuf.h>

#include "dataplane/eal.h"
#include "dataplane/port.h"
#include "dataplane/port_groups.h"

#define CACHE_MBUFS  256u
#define ETHERNET_MTU 1500u

bool dp_port_address(const char *text, uint32_t *ip)
{
	char host[32];
	const char *slash = strchr(text, '/');
	size_t n = slash ? (size_t)(slash - text) : strlen(text);
	struct in_addr address;

	if (n >= sizeof(host))
		return false;
	memcpy(host, text, n);
	host[n] = 0;
	if (slash) {
		char *end;
		long prefix = strtol(slash + 1, &end, 10);

		if (end == slash + 1 || *end || prefix < 1 || prefix > 32)
			return false;
	}
	if (inet_pton(AF_INET, host, &address) != 1)
		return false;
	*ip = ntohl(address.s_addr);
	return *ip >> 24 != 0 && *ip >> 24 != 127 && *ip >> 28 < 0xe;
}

bool dp_port_address6(const char *text, uint8_t ip6[16])
{
	char host[INET6_ADDRSTRLEN];
	const char *slash = strchr(text, '/');
	size_t n = slash ? (size_t)(slash - text) : strlen(text);

	if (n >= sizeof(host))
		return false;
	memcpy(host, text, n);
	host[n] = 0;
	if (slash) {
		char *end;
		long prefix = strtol(slash + 1, &end, 10);

		if (end == slash + 1 || *end || prefix < 1 || prefix > 128)
			return false;
	}
	return inet_pton(AF_INET6, host, ip6) == 1 && packet_is_host6(ip6);
}

uint32_t dp_port_queue_worker(const struct sw_config *config, uint32_t port_index, uint32_t queue)
{
	uint32_t before = 0;

	for (uint32_t i = 0; i < port_index; i++)
		before += config->ports[i].queues;
	return config->dataplane.lcore_count ? (before + queue) % config->dataplane.lcore_count : 0;
}

static bool a_worker_has_no_queue(const struct sw_config *config)
{
	uint32_t queues = 0;

	for (uint32_t i = 0; i < config->port_count; i++)
		queues += config->ports[i].queues;
	return queues < config->dataplane.lcore_count; /* they are dealt out in turn */
}

enum dp_steer dp_port_steer(const struct sw_config *config, uint32_t port_index, bool rss)
{
	const struct config_port *port = &config->ports[port_index];

	if (config->dataplane.lcore_count <= 1)
		return DP_STEER_QUEUE;
	if (port->steering == CONFIG_STEERING_SOFTWARE)
		return DP_STEER_HASH;
	if (port->steering == CONFIG_STEERING_AUTO &&
		(a_worker_has_no_queue(config) || (port->queues > 1 && !rss)))
		return DP_STEER_HASH;
	return port->queues > 1 ? DP_STEER_STRAYS : DP_STEER_QUEUE;
}

uint32_t dp_port_handoff_frames(const struct sw_config *config, enum dp_steer steer)
{
	uint32_t most = 0;

	if (steer == DP_STEER_QUEUE)
		return 0;
	/* Strays are few, and looked for every turn: eight bursts. */
	if (steer == DP_STEER_STRAYS)
		return 8 * config->dataplane.burst;
	/* As many as a port's own ring holds. A worker that stays away for longer than this loses
	 * frames in its own receive ring, too. */
	for (uint32_t i = 0; i < config->port_count; i++) {
		most = config->ports[i].rxd > most ? config->ports[i].rxd : most;
		most = config->ports[i].txd > most ? config->ports[i].txd : most;
	}
	return most;
}

uint32_t dp_port_mbufs(
	const struct sw_config *config, uint32_t rxd, uint32_t txd, enum dp_steer steer)
{
	uint32_t burst = config->dataplane.burst;
	uint32_t others = config->dataplane.lcore_count - 1;
	uint32_t sum = 0;

	if (config->dataplane.mbufs)
		return config->dataplane.mbufs;
	sum += 2 * rxd;         /* the receive ring, and as many on their way through a driver's
				 * second ring (AF_XDP's fill ring, the far end of net_ring) */
	sum += 2 * txd;         /* the transmit ring, and the completions not yet fetched */
	sum += 2 * burst;       /* a burst being read, a burst waiting to be sent */
	sum += CACHE_MBUFS * 2; /* the worker's cache holds up to 1.5 times its size; its spares */
	if (steer == DP_STEER_QUEUE)
		return sum;
	sum += others * dp_port_handoff_frames(config, steer); /* on their way to other workers */
	sum += others * 2 * burst;       /* a burst being read there, a burst waiting there */
	sum += others * CACHE_MBUFS * 2; /* those workers' caches */
	if (steer == DP_STEER_HASH)
		sum += others * dp_port_handoff_frames(config, steer); /* on their way back */
	return sum;
}

static void make_losses(const struct rte_eth_stats *stats, struct dp_port_losses *out)
{
	out->no_mbuf = stats->rx_nombuf;
	out->missed = stats->imissed;
	out->rx_errors = stats->ierrors;
	out->tx_errors = stats->oerrors;
}

void dp_port_losses(const struct dp_port *port, struct dp_port_losses *out)
{
	struct rte_eth_stats stats;

	memset(out, 0, sizeof(*out));
	if (!rte_eth_stats_get(port->id, &stats))
		make_losses(&stats, out);
}

void dp_port_ask_reset(struct dp_port *port)
{
	uint32_t done = atomic_load(&port->resets_done), expected = done;

	/* Asked again while one is under way: that one will do. */
	atomic_compare_exchange_strong(&port->resets_wanted, &expected, done + 1);
}

/* Runs on EAL's interrupt thread. */
static int on_event(uint16_t id, enum rte_eth_event_type type, void *ctx, void *unused)
{
	struct dp_port *port = ctx;

	(void)id;
	(void)unused;
	if (type == RTE_ETH_EVENT_INTR_RMV)
		atomic_store(&port->failed, true);
	dp_port_ask_reset(port);
	return 0;
}

/* MTU of the kernel interface behind a port (AF_XDP, af_packet, tap); 0 where there is none. */
static uint32_t kernel_mtu(uint32_t if_index, char name[IF_NAMESIZE])
{
	struct ifreq request;
	uint32_t mtu = 0;
	int fd;

	if (!if_index || !if_indextoname(if_index, name))
		return 0;
	fd = socket(AF_INET, SOCK_DGRAM | SOCK_CLOEXEC, 0);
	if (fd < 0)
		return 0;
	memset(&request, 0, sizeof(request));
	memcpy(request.ifr_name, name, IF_NAMESIZE);
	if (!ioctl(fd, SIOCGIFMTU, &request))
		mtu = (uint32_t)request.ifr_mtu;
	close(fd);
	return mtu;
}

static int check_limits(const struct dp_port *port, const struct rte_eth_dev_info *info,
	const struct config_port *wanted, FILE *log)
{
	uint32_t most = info->max_rx_queues < info->max_tx_queues ? info->max_rx_queues
								  : info->max_tx_queues;

	if (wanted->queues < 1 || wanted->queues > most || wanted->queues > DP_PORT_QUEUES_MAX) {
		fprintf(log,
			"port %s: %u queue pairs are asked for, this port has %u at most (VFs "
			"often have 4 or 16): lower its queues\n",
			port->name, wanted->queues,
			most < DP_PORT_QUEUES_MAX ? most : DP_PORT_QUEUES_MAX);
		return -EINVAL;
	}
	if (port->config->dataplane.burst < 1 || port->config->dataplane.burst > DP_BURST_MAX) {
		fprintf(log, "dataplane.burst: %u, allowed are 1 to %u\n",
			port->config->dataplane.burst, DP_BURST_MAX);
		return -EINVAL;
	}
	return 0;
}

/* What the port must carry, and what it carries. */
static int choose_mtu(struct dp_port *port, const struct rte_eth_dev_info *info, FILE *log)
{
	/* 48 bytes of headers over IPv6, 28 over IPv4. */
	uint32_t headers =
		PACKET_UDP_BYTES + (port->local.has_ip6 ? PACKET_IPV6_BYTES : PACKET_IPV4_BYTES);
	uint32_t need = port->config->enet.mtu + headers, kernel;
	char name[IF_NAMESIZE];

	port->mtu = need > ETHERNET_MTU ? need : ETHERNET_MTU;
	kernel = kernel_mtu(info->if_index, name);
	if (kernel && kernel < need) {
		fprintf(log,
			"port %s: interface %s has MTU %u, but enet.mtu %u needs %u: ip link set "
			"dev %s mtu %u, or lower enet.mtu to %u\n",
			port->name, name, kernel, port->config->enet.mtu, need, name, need,
			kernel - headers);
		return -EINVAL;
	}
	if (info->max_mtu && info->max_mtu < need) {
		fprintf(log,
			"port %s: carries an MTU of %u at most, but enet.mtu %u needs %u: lower "
			"enet.mtu to %u\n",
			port->name, info->max_mtu, port->config->enet.mtu, need,
			info->max_mtu - headers);
		return -EINVAL;
	}
	if (info->max_mtu && port->mtu > info->max_mtu)
		port->mtu = info->max_mtu;
	if (kernel && port->mtu > kernel)
		port->mtu = kernel;
	return 0;
}

/* A port with a kernel interface keeps that one's MTU; others are told. */
static int set_mtu(const struct dp_port *port, const struct rte_eth_dev_info *info, FILE *log)
{
	int ret;

	if (info->if_index)
		return 0;
	ret = rte_eth_dev_set_mtu(port->id, (uint16_t)port->mtu);
	if (ret == -ENOTSUP) {
		/* memif, ring, pcap: they carry what fits their buffers. */
		if (port->mtu != ETHERNET_MTU)
			fprintf(log,
				"warning: port %s: its MTU cannot be set; is the far end made for "
				"%u?\n",
				port->name, port->mtu);
		return 0;
	}
	if (ret)
		fprintf(log,
			"port %s: MTU %u was refused: %s. Lower enet.mtu, or raise the PF's MTU\n",
			port->name, port->mtu, rte_strerror(-ret));
	return ret;
}

/* The default operations spin if their holder is preempted; buffers of one pool come and go on
 * several threads (other workers, net_ring's far end). */
#define POOL_OPS "ring_mt_rts"

/* AF_XDP's driver (22.11) tells the kernel of number times size bytes from the pool's first buffer
 * on. But no buffer crosses a page, so with pages of 4 KiB a pool is longer than that, and with
 * hugepages a little: what is sent from the buffers behind vanishes, and nobody counts it (found
 * with two workers, whose buffers go round the whole pool). Buffers of a power of two leave no
 * gaps. */
static struct rte_mempool *new_gapless_pool(
	const char *name, uint32_t mbufs, uint32_t room, int socket)
{
	uint32_t flags = RTE_MEMPOOL_F_NO_SPREAD;
	uint32_t bytes = (uint32_t)sizeof(struct rte_mbuf) + RTE_PKTMBUF_HEADROOM + room;
	uint32_t total = rte_mempool_calc_obj_size(bytes, flags, NULL);
	struct rte_pktmbuf_pool_private private = {0};
	struct rte_mempool *pool;

	bytes += rte_align32pow2(total) - total;
	private.mbuf_data_room_size = (uint16_t)(bytes - sizeof(struct rte_mbuf));
	pool = rte_mempool_create_empty(
		name, mbufs, bytes, CACHE_MBUFS, sizeof(private), socket, flags);
	if (!pool)
		return NULL;
	if (rte_mempool_set_ops_byname(pool, POOL_OPS, NULL))
		goto fail;
	rte_pktmbuf_pool_init(pool, &private);
	if (rte_mempool_populate_default(pool) < 0)
		goto fail;
	rte_mempool_obj_iter(pool, rte_pktmbuf_init, NULL);
	return pool;
fail:
	rte_mempool_free(pool);
	return NULL;
}

static struct rte_mempool *new_pool(
	const char *name, uint32_t mbufs, uint32_t room, int socket, bool gapless)
{
	if (gapless)
		return new_gapless_pool(name, mbufs, room, socket);
	return rte_pktmbuf_pool_create_by_ops(name, mbufs, CACHE_MBUFS, 0,
		(uint16_t)(RTE_PKTMBUF_HEADROOM + room), socket, POOL_OPS);
}

static int make_pools(struct dp_port *port, uint32_t mbufs, bool gapless, FILE *log)
{
	/* Frame: MTU, Ethernet header, two tags. */
	uint32_t frame_bytes = port->mtu + PACKET_ETH_BYTES + 2 * PACKET_VLAN_BYTES;
	uint32_t room =
		frame_bytes > RTE_MBUF_DEFAULT_DATAROOM ? frame_bytes : RTE_MBUF_DEFAULT_DATAROOM;

	room = RTE_ALIGN_CEIL(room, 64);
	port->frame_bytes_max = room;
	for (uint32_t q = 0; q < port->queues; q++) {
		char name[RTE_MEMPOOL_NAMESIZE];

		if (port->pool[q])
			continue; /* a reset keeps the pools */
		snprintf(name, sizeof(name), "sw_p%u_q%u", port->index, q);
		port->pool[q] =
			new_pool(name, mbufs, room, rte_eth_dev_socket_id(port->id), gapless);
		if (!port->pool[q]) {
			fprintf(log,
				"port %s: no memory for %u buffers of %u bytes for queue %u: %s. "
				"Give EAL "
				"more (-m, more hugepages), or lower rxd, txd or dataplane.mbufs\n",
				port->name, mbufs, room, q, rte_strerror(rte_errno));
			return -ENOMEM;
		}
	}
	return 0;
}

static uint64_t if_all(uint64_t capabilities, uint64_t wanted)
{
	return (capabilities & wanted) == wanted ? wanted : 0;
}

static void say_steering(const struct dp_port *port, FILE *log)
{
	uint32_t workers = port->config->dataplane.lcore_count;

	if (port->queues > 1 && !port->rss)
		fprintf(log,
			"warning: port %s: %u queues, but it has no RSS of its own; unless its far "
			"end spreads flows, all traffic comes to one queue\n",
			port->name, port->queues);
	if (port->steer == DP_STEER_HASH)
		fprintf(log,
			"port %s: flows are dealt to the %u dataplane lcores in software "
			"(ports[].steering)\n",
			port->name, workers);
	else if (port->steer == DP_STEER_STRAYS && !port->rss)
		fprintf(log,
			"warning: port %s: its far end is trusted to keep each flow on one queue "
			"(ports[].steering: port)\n",
			port->name);
}

static int configure(struct dp_port *port, const struct rte_eth_dev_info *info, FILE *log)
{
	const uint64_t rss_wanted =
		RTE_ETH_RSS_IPV4 | RTE_ETH_RSS_NONFRAG_IPV4_UDP | RTE_ETH_RSS_FRAG_IPV4 |
		(port->local.has_ip6 ? RTE_ETH_RSS_IPV6 | RTE_ETH_RSS_NONFRAG_IPV6_UDP : 0);
	uint64_t tx_checksum = if_all(info->tx_offload_capa,
		RTE_ETH_TX_OFFLOAD_IPV4_CKSUM | RTE_ETH_TX_OFFLOAD_UDP_CKSUM);
	struct rte_eth_conf conf;
	int ret;

	memset(&conf, 0, sizeof(conf));
	conf.rxmode.mtu = port->mtu;
	conf.rxmode.offloads = info->rx_offload_capa &
			       (RTE_ETH_RX_OFFLOAD_IPV4_CKSUM | RTE_ETH_RX_OFFLOAD_UDP_CKSUM);
	/* All of a queue's buffers come from one pool and have one reference: freed in bulk. */
	conf.txmode.offloads =
		tx_checksum | (info->tx_offload_capa & RTE_ETH_TX_OFFLOAD_MBUF_FAST_FREE);
	port->tx_checksum_offload = tx_checksum != 0;
	port->rss = false;
	if (port->queues > 1) {
		conf.rx_adv_conf.rss_conf.rss_hf = rss_wanted & info->flow_type_rss_offloads;
		if (conf.rx_adv_conf.rss_conf.rss_hf)
			conf.rxmode.mq_mode = RTE_ETH_MQ_RX_RSS;
	}
	ret = rte_eth_dev_configure(port->id, port->queues, port->queues, &conf);
	if (ret && conf.rxmode.mq_mode == RTE_ETH_MQ_RX_RSS) {
		fprintf(log, "warning: port %s: RSS was refused (%s); going on without\n",
			port->name, rte_strerror(-ret));
		conf.rxmode.mq_mode = RTE_ETH_MQ_RX_NONE;
		conf.rx_adv_conf.rss_conf.rss_hf = 0;
		ret = rte_eth_dev_configure(port->id, port->queues, port->queues, &conf);
	}
	port->rss = !ret && conf.rxmode.mq_mode == RTE_ETH_MQ_RX_RSS;
	port->steer = dp_port_steer(port->config, port->index, port->rss);
	say_steering(port, log);
	if (ret)
		fprintf(log, "port %s: configuration refused: %s\n", port->name,
			rte_strerror(-ret));
	return ret;
}

static int setup_queues(struct dp_port *port, FILE *log)
{
	const struct config_port *wanted = &port->config->ports[port->index];
	int socket = rte_eth_dev_socket_id(port->id);
	int ret;

	for (uint16_t q = 0; q < port->queues; q++) {
		ret = rte_eth_rx_queue_setup(
			port->id, q, port->rxd, (unsigned)socket, NULL, port->pool[q]);
		if (ret) {
			fprintf(log, "port %s: receive queue %u with %u descriptors refused: %s\n",
				port->name, q, port->rxd, rte_strerror(-ret));
			return ret;
		}
		ret = rte_eth_tx_queue_setup(port->id, q, port->txd, (unsigned)socket, NULL);
		if (ret) {
			fprintf(log, "port %s: transmit queue %u with %u descriptors refused: %s\n",
				port->name, q, port->txd, rte_strerror(-ret));
			return ret;
		}
	}
	if (port->rxd != wanted->rxd || port->txd != wanted->txd)
		fprintf(log, "warning: port %s: descriptors adjusted to rxd %u, txd %u\n",
			port->name, port->rxd, port->txd);
	return 0;
}

/* Our MAC is the port's: a VF drops silently what is sent from another. Two virtual ports differ.
 */
static void choose_mac(
	struct dp_port *port, const struct rte_eth_dev_info *info, const struct rte_ether_addr *mac)
{
	memcpy(port->local.mac, mac->addr_bytes, 6);
	if (!strcmp(info->driver_name, "net_tap")) {
		/* The tap interface itself, the far end of this wire, has the port's MAC. */
		port->local.mac[0] |= 2;
		port->local.mac[5] ^= 0x80;
	} else if (rte_is_zero_ether_addr(mac)) {
		/* net_ring has none: a locally administered one, or every far end would drop us. */
		memcpy(port->local.mac, (const uint8_t[6]){2, 's', 'w', 0, 0, (uint8_t)port->index},
			6);
	}
}

enum dp_link dp_port_link(const struct dp_port *port, char *sentence, size_t bytes)
{
	enum dp_link link = (enum dp_link)atomic_load_explicit(&port->link, memory_order_relaxed);
	const char *of = port->netdev_name[0] ? ": interface " : "";

	snprintf(sentence, bytes, "port %s%s%s %s", port->name, of, port->netdev_name,
		link == DP_LINK_UP     ? "has a link"
		: link == DP_LINK_DOWN ? "has no link"
				       : "is gone");
	return link;
}

static void look_at_link(struct dp_port *port, FILE *log)
{
	enum dp_link before = (enum dp_link)atomic_load(&port->link);
	enum dp_link link = dp_link_look(port->id, port->netdev, before);
	char sentence[256];

	if (link == before)
		return;
	atomic_store(&port->link, link);
	dp_port_link(port, sentence, sizeof(sentence));
	fprintf(log, "%s%s%s\n", link == DP_LINK_UP ? "" : "warning: ", sentence,
		link == DP_LINK_UP     ? ""
		: link == DP_LINK_DOWN ? "; nothing is received until it is up (ip link set up, PF "
					 "up, cable)"
				       : "; nothing is received until a restart");
}

/* From a stopped device to a running one; also what follows a reset. */
static int bring_up(struct dp_port *port, FILE *log)
{
	const struct config_port *wanted = &port->config->ports[port->index];
	struct rte_eth_dev_info info;
	struct rte_ether_addr mac;
	int ret;

	ret = rte_eth_dev_info_get(port->id, &info);
	if (ret) {
		fprintf(log, "port %s: does not describe itself: %s\n", port->name,
			rte_strerror(-ret));
		return ret;
	}
	ret = check_limits(port, &info, wanted, log);
	if (ret)
		return ret;
	port->queues = (uint16_t)wanted->queues;
	ret = choose_mtu(port, &info, log);
	if (ret)
		return ret;
	ret = configure(port, &info, log);
	if (ret)
		return ret;
	port->rxd = (uint16_t)wanted->rxd;
	port->txd = (uint16_t)wanted->txd;
	ret = rte_eth_dev_adjust_nb_rx_tx_desc(port->id, &port->rxd, &port->txd);
	if (ret)
		return ret;
	ret = make_pools(port, dp_port_mbufs(port->config, port->rxd, port->txd, port->steer),
		!strcmp(info.driver_name, "net_af_xdp"), log);
	if (ret)
		return ret;
	ret = setup_queues(port, log);
	if (ret)
		return ret;
	ret = set_mtu(port, &info, log);
	if (ret)
		return ret;
	ret = rte_eth_dev_start(port->id);
	if (ret) {
		fprintf(log, "port %s: does not start: %s\n", port->name, rte_strerror(-ret));
		return ret;
	}
	ret = rte_eth_macaddr_get(port->id, &mac);
	if (ret)
		return ret;
	choose_mac(port, &info, &mac);
	packet_link_local(port->local.mac, port->local.link_ip6);
	dp_port_join(port, &info, log);
	if (!port->netdev)
		port->netdev = dp_link_netdev(port->id, port->netdev_name);
	look_at_link(port, log);
	return 0;
}

int dp_port_open(const struct sw_config *config, uint32_t index, FILE *log, struct dp_port **out)
{
	const struct config_port *wanted = &config->ports[index];
	struct dp_port *port = calloc(1, sizeof(*port));
	int ret;

	if (!port)
		return -ENOMEM;
	port->config = config;
	port->index = index;
	snprintf(port->name, sizeof(port->name), "%s", wanted->device);
	port->id = RTE_MAX_ETHPORTS;
	port->local.vlan = (uint16_t)wanted->vlan;
	port->local.udp_port = (uint16_t)config->dataplane.udp_port;
	ret = -EINVAL;
	if (!dp_port_address(wanted->address, &port->local.ip)) {
		fprintf(log,
			"port %s: address \"%s\" is not an IPv4 unicast address like 10.0.0.1/24\n",
			port->name, wanted->address);
		goto fail;
	}
	port->local.has_ip6 = wanted->address6[0];
	if (port->local.has_ip6 && !dp_port_address6(wanted->address6, port->local.ip6)) {
		fprintf(log,
			"port %s: address6 \"%s\" is not an IPv6 unicast address like "
			"2001:db8::1/64\n",
			port->name, wanted->address6);
		goto fail;
	}
	if (wanted->vlan > 4094) {
		fprintf(log, "port %s: vlan %u, allowed are 1 to 4094, 0 for untagged\n",
			port->name, wanted->vlan);
		goto fail;
	}
	if (wanted->rxd > UINT16_MAX || wanted->txd > UINT16_MAX) {
		fprintf(log, "port %s: rxd and txd are at most 65535\n", port->name);
		goto fail;
	}
	ret = -ENODEV;
	if (rte_eth_dev_get_port_by_name(wanted->device, &port->id)) {
		port->id = RTE_MAX_ETHPORTS;
		dp_eal_explain_missing(wanted->device, log);
		goto fail;
	}
	ret = bring_up(port, log);
	if (ret)
		goto fail;
	rte_eth_dev_callback_register(port->id, RTE_ETH_EVENT_INTR_RESET, on_event, port);
	rte_eth_dev_callback_register(port->id, RTE_ETH_EVENT_INTR_RMV, on_event, port);
	*out = port;
	return 0;
fail:
	dp_port_close(port);
	return ret;
}

void dp_port_close(struct dp_port *port)
{
	if (!port)
		return;
	if (port->id < RTE_MAX_ETHPORTS) {
		rte_eth_dev_callback_unregister(port->id, RTE_ETH_EVENT_INTR_RESET, on_event, port);
		rte_eth_dev_callback_unregister(port->id, RTE_ETH_EVENT_INTR_RMV, on_event, port);
		dp_port_leave(port);
		rte_eth_dev_stop(port->id);
		rte_eth_dev_close(port->id);
	}
	for (uint32_t q = 0; q < DP_PORT_QUEUES_MAX; q++)
		rte_mempool_free(port->pool[q]);
	free(port);
}

void dp_port_maintain(struct dp_port *port, FILE *log)
{
	uint32_t wanted = atomic_load(&port->resets_wanted);
	int ret;

	if (port->turns++ % DP_PORT_LINK_TURNS == 0)
		look_at_link(port, log);
	if (wanted == atomic_load(&port->resets_done) || atomic_load(&port->failed))
		return;
	for (uint32_t q = 0; q < port->queues; q++)
		if (atomic_load(&port->let_go[q]) != wanted)
			return; /* its worker has not seen it yet */
	fprintf(log, "port %s: the device asks for a reset\n", port->name);
	ret = rte_eth_dev_reset(port->id);
	if (ret == -ENOTSUP)
		ret = rte_eth_dev_stop(port->id);
	if (!ret)
		ret = bring_up(port, log);
	if (ret) {
		fprintf(log, "port %s: reset failed: %s; it stays silent until a restart\n",
			port->name, rte_strerror(-ret));
		atomic_store(&port->failed, true);
		return;
	}
	atomic_store(&port->resets_done, wanted);
}
