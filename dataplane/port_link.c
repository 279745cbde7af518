#include "dataplane/port_link.h"

#include <errno.h>
#include <net/if.h>
#include <string.h>
#include <sys/ioctl.h>
#include <sys/socket.h>
#include <unistd.h>

#include <rte_ethdev.h>

_Static_assert(DP_NETDEV_BYTES == IF_NAMESIZE, "a name is as long as the kernel's");

uint32_t dp_link_netdev(uint16_t port_id, char name[DP_NETDEV_BYTES])
{
	struct rte_eth_dev_info info;

	name[0] = 0;
	if (rte_eth_dev_info_get(port_id, &info) || !info.if_index ||
		!if_indextoname(info.if_index, name))
		return 0;
	return info.if_index;
}

/* By index: an interface that was made anew under the old name is not the one that we hold. */
static enum dp_link look_at_netdev(uint32_t netdev, enum dp_link before)
{
	struct ifreq request;
	enum dp_link link = before;
	int fd;

	memset(&request, 0, sizeof(request));
	if (!if_indextoname(netdev, request.ifr_name))
		return errno == ENXIO ? DP_LINK_GONE : before;
	fd = socket(AF_INET, SOCK_DGRAM | SOCK_CLOEXEC, 0);
	if (fd < 0)
		return before;
	/* IFF_RUNNING follows the carrier: a veth whose other end is down has none. */
	if (!ioctl(fd, SIOCGIFFLAGS, &request))
		link = (request.ifr_flags & IFF_UP) && (request.ifr_flags & IFF_RUNNING)
			       ? DP_LINK_UP
			       : DP_LINK_DOWN;
	close(fd);
	return link;
}

enum dp_link dp_link_look(uint16_t port_id, uint32_t netdev, enum dp_link before)
{
	struct rte_eth_link link;

	if (netdev)
		return look_at_netdev(netdev, before);
	if (rte_eth_link_get_nowait(port_id, &link))
		return before; /* the driver cannot say */
	return link.link_status ? DP_LINK_UP : DP_LINK_DOWN;
}
