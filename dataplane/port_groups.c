#include <errno.h>
#include <net/if.h>
#include <string.h>
#include <sys/ioctl.h>
#include <unistd.h>

#include <rte_ethdev.h>

#include "dataplane/port_groups.h"

/* SIOCADDMULTI or SIOCDELMULTI of each group. Returns 0, or -errno of the first that failed. */
static int kernel_groups(const struct dp_port *port, const char *interface, unsigned long what)
{
	uint8_t groups[PACKET_GROUPS_MAX][6];
	uint32_t count = packet_groups(&port->local, groups);
	int fd = socket(AF_INET, SOCK_DGRAM | SOCK_CLOEXEC, 0), ret = 0;

	if (fd < 0)
		return -errno;
	for (uint32_t i = 0; i < count; i++) {
		struct ifreq request;

		memset(&request, 0, sizeof(request));
		memcpy(request.ifr_name, interface, IF_NAMESIZE);
		request.ifr_hwaddr.sa_family = AF_UNSPEC;
		memcpy(request.ifr_hwaddr.sa_data, groups[i], 6);
		if (ioctl(fd, what, &request) && !ret)
			ret = -errno;
	}
	close(fd);
	return ret;
}

static void join_kernel(const struct dp_port *port, const char *interface, FILE *log)
{
	int ret = kernel_groups(port, interface, SIOCADDMULTI);

	if (ret)
		fprintf(log,
			"warning: port %s: interface %s does not take the multicast groups of IPv6 "
			"neighbour discovery (%s); unless it passes all multicast (ip link set dev "
			"%s allmulticast on), clients cannot find %s\n",
			port->name, interface, strerror(-ret), interface,
			port->config->ports[port->index].address6);
}

static void join_port(const struct dp_port *port, FILE *log)
{
	struct rte_ether_addr groups[PACKET_GROUPS_MAX];
	uint8_t macs[PACKET_GROUPS_MAX][6];
	uint32_t count = packet_groups(&port->local, macs);
	int filter, all;

	for (uint32_t i = 0; i < count; i++)
		memcpy(groups[i].addr_bytes, macs[i], 6);
	filter = rte_eth_dev_set_mc_addr_list(port->id, groups, count);
	if (!filter)
		return;
	all = rte_eth_allmulticast_enable(port->id);
	if (!all)
		return;
	/* memif, pcap and their kind pass everything: then all is well. */
	fprintf(log,
		"warning: port %s: has no multicast filter to set (%s) and no allmulticast mode "
		"(%s); if it, or the PF behind it (ip link set dev PF vf N trust on), filters "
		"multicast, IPv6 clients cannot find %s\n",
		port->name, strerror(-filter), strerror(-all),
		port->config->ports[port->index].address6);
}

void dp_port_join(struct dp_port *port, const struct rte_eth_dev_info *info, FILE *log)
{
	char interface[IF_NAMESIZE];

	if (!port->local.has_ip6)
		return;
	if (info->if_index && if_indextoname(info->if_index, interface))
		join_kernel(port, interface, log);
	else
		join_port(port, log);
}

void dp_port_leave(struct dp_port *port)
{
	struct rte_eth_dev_info info;
	char interface[IF_NAMESIZE];

	if (port->local.has_ip6 && !rte_eth_dev_info_get(port->id, &info) && info.if_index &&
		if_indextoname(info.if_index, interface))
		kernel_groups(port, interface, SIOCDELMULTI);
}
