/* IPv6: the half of packet.h that is about it. */
#include <string.h>

#include "dataplane/packet_internal.h"

enum {
	NEXT_HOP_BY_HOP = 0,
	NEXT_ROUTING = 43,
	NEXT_FRAGMENT = 44,
	NEXT_ESP = 50,
	NEXT_AH = 51,
	NEXT_ICMPV6 = 58,
	NEXT_DESTINATION = 60,
	NEXT_MOBILITY = 135,
	NEXT_HIP = 139,
	NEXT_SHIM6 = 140,
	NEXT_EXPERIMENT_1 = 253,
	NEXT_EXPERIMENT_2 = 254,
	ECHO_REQUEST = 128,
	ECHO_REPLY = 129,
	NEIGHBOUR_SOLICITATION = 135,
	NEIGHBOUR_ADVERTISEMENT = 136,
	ND_BYTES = 24, /* type, code, checksum, flags, target */
	ND_HOP_LIMIT = 255,
	OPTION_SOURCE_LINK = 1,
	OPTION_TARGET_LINK = 2,
	ADVERTISE_SOLICITED = 0x40,
	ADVERTISE_OVERRIDE = 0x20,
};

static const uint8_t all_nodes[16] = {0xff, 2, [15] = 1};
static const uint8_t unspecified[16];

/* All solicited-node groups begin so; the last three bytes are the address's (RFC 4291 2.7.1). */
static const uint8_t solicited_node[13] = {0xff, 2, [11] = 1, [12] = 0xff};

void packet_link_local(const uint8_t mac[6], uint8_t ip6[16])
{
	memcpy(ip6, (const uint8_t[8]){0xfe, 0x80}, 8);
	memcpy(ip6 + 8, mac, 3);
	ip6[8] ^= 2;
	ip6[11] = 0xff;
	ip6[12] = 0xfe;
	memcpy(ip6 + 13, mac + 3, 3);
}

bool packet_is_host6(const uint8_t ip6[16])
{
	return ip6[0] != 0xff && memcmp(ip6, unspecified, 10);
}

uint32_t packet_groups(const struct packet_local *local, uint8_t groups[PACKET_GROUPS_MAX][6])
{
	uint32_t count = 0;

	if (!local->has_ip6)
		return 0;
	memcpy(groups[count++], (const uint8_t[6]){0x33, 0x33, 0, 0, 0, 1}, 6);
	for (int link = 0; link < 2; link++) {
		uint8_t *group = groups[count];

		memcpy(group, (const uint8_t[3]){0x33, 0x33, 0xff}, 3);
		memcpy(group + 3, packet_own_ip6(local, link) + 13, 3);
		if (!link || memcmp(group, groups[count - 1], 6))
			count++;
	}
	return count;
}

static bool in_groups(const uint8_t *mac, const struct packet_local *local)
{
	uint8_t groups[PACKET_GROUPS_MAX][6];
	uint32_t count = packet_groups(local, groups);

	for (uint32_t i = 0; i < count; i++)
		if (!memcmp(mac, groups[i], 6))
			return true;
	return false;
}

static bool is_ours(const uint8_t *ip6, const struct packet_local *local)
{
	return !memcmp(ip6, local->ip6, 16) || !memcmp(ip6, local->link_ip6, 16);
}

static bool is_solicited_node(const uint8_t *ip6)
{
	return !memcmp(ip6, solicited_node, sizeof(solicited_node));
}

/* All nodes, or the solicited-node group of one of our addresses. */
static bool is_our_group(const uint8_t *ip6, const struct packet_local *local)
{
	return !memcmp(ip6, all_nodes, 16) ||
	       (is_solicited_node(ip6) && (!memcmp(ip6 + 13, local->ip6 + 13, 3) ||
						  !memcmp(ip6 + 13, local->link_ip6 + 13, 3)));
}

/* Walks the options (RFC 4861 4.6). False: one of them is empty, cut, or a link address of another
 * size than Ethernet's. *has_source: there was a source link-layer address. */
static bool read_options(const uint8_t *option, uint32_t bytes, bool *has_source)
{
	*has_source = false;
	while (bytes) {
		uint32_t option_bytes = bytes >= 2 ? option[1] * 8u : 0;

		if (!option_bytes || option_bytes > bytes)
			return false;
		if (option[0] == OPTION_SOURCE_LINK || option[0] == OPTION_TARGET_LINK) {
			if (option_bytes != 8)
				return false;
			*has_source |= option[0] == OPTION_SOURCE_LINK;
		}
		option += option_bytes;
		bytes -= option_bytes;
	}
	return true;
}

/* RFC 4861 7.1.1 and 7.1.2: what must be silently discarded. The checksum holds already. */
static void parse_neighbour(const uint8_t *ip, const uint8_t *icmp, uint32_t bytes,
	const struct packet_local *local, struct packet *out)
{
	const uint8_t *from = ip + 8, *to = ip + 24, *target = icmp + 8;
	bool anonymous = !memcmp(from, unspecified, 16), has_source;

	if (ip[7] != ND_HOP_LIMIT)
		return packet_refuse(out, PACKET_DROP_ND_HOP_LIMIT);
	if (bytes < ND_BYTES || icmp[1] != 0 || target[0] == 0xff ||
		!read_options(icmp + ND_BYTES, bytes - ND_BYTES, &has_source))
		return packet_refuse(out, PACKET_DROP_ND_MALFORMED);
	if (icmp[0] == NEIGHBOUR_ADVERTISEMENT) {
		/* We keep no neighbours: the way back is the way that a packet came. */
		return packet_refuse(out, is_ours(target, local) ? PACKET_DROP_ND_CONFLICT
								 : PACKET_DROP_ICMPV6_OTHER);
	}
	/* From ::, someone wants to know whether the address is free (RFC 4862 5.4). */
	if (anonymous && (has_source || !is_solicited_node(to)))
		return packet_refuse(out, PACKET_DROP_ND_MALFORMED);
	if (!is_ours(target, local))
		return packet_refuse(out, PACKET_DROP_ND_OTHER);
	out->kind = PACKET_NEIGHBOUR_REQUEST;
	out->to_link_ip6 = memcmp(target, local->ip6, 16) != 0;
}

static uint64_t icmp_pseudo_sum(const uint8_t *ip, uint32_t bytes)
{
	return packet_sum(0, ip + 8, 32) + packet_sum_word(NEXT_ICMPV6) +
	       packet_sum_word((uint16_t)bytes);
}

/* own: the packet is for one of our addresses, not for a group. */
static void parse_icmpv6(const uint8_t *ip, const uint8_t *icmp, uint32_t bytes,
	const struct packet_local *local, bool own, struct packet *out)
{
	if (bytes < PACKET_ICMP_BYTES)
		return packet_refuse(out, PACKET_DROP_ICMPV6_SHORT);
	if (packet_sum_fold(packet_sum(icmp_pseudo_sum(ip, bytes), icmp, bytes)) != 0xffff)
		return packet_refuse(out, PACKET_DROP_ICMPV6_CHECKSUM);
	if (icmp[0] != NEIGHBOUR_SOLICITATION && !memcmp(ip + 8, unspecified, 16))
		return packet_refuse(out, PACKET_DROP_IPV6_SOURCE);
	if (icmp[0] == NEIGHBOUR_SOLICITATION || icmp[0] == NEIGHBOUR_ADVERTISEMENT)
		return parse_neighbour(ip, icmp, bytes, local, out);
	if (icmp[0] != ECHO_REQUEST || icmp[1] != 0)
		return packet_refuse(out, PACKET_DROP_ICMPV6_OTHER);
	/* Pings of all nodes need no answer (RFC 4443 4.2), and one ping would draw many. */
	if (!own)
		return packet_refuse(out, PACKET_DROP_IPV6_OTHER_ADDRESS);
	out->kind = PACKET_ECHO_REQUEST;
	out->payload_bytes = bytes;
}

static enum packet_drop drop_of_next(uint8_t next)
{
	switch (next) {
	case NEXT_HOP_BY_HOP:
		return PACKET_DROP_IPV6_HOP_BY_HOP;
	case NEXT_ROUTING:
		return PACKET_DROP_IPV6_ROUTING;
	case NEXT_FRAGMENT:
		return PACKET_DROP_IPV6_FRAGMENT;
	case NEXT_DESTINATION:
		return PACKET_DROP_IPV6_DESTINATION;
	case NEXT_ESP:
	case NEXT_AH:
	case NEXT_MOBILITY:
	case NEXT_HIP:
	case NEXT_SHIM6:
	case NEXT_EXPERIMENT_1:
	case NEXT_EXPERIMENT_2:
		return PACKET_DROP_IPV6_EXTENSION;
	default:
		return PACKET_DROP_IPV6_PROTOCOL;
	}
}

void packet_parse_ipv6(
	const struct packet_frame *frame, const struct packet_local *local, struct packet *out)
{
	const uint8_t *mac = frame->data, *ip = frame->data + out->l3_at;
	uint32_t bytes = frame->bytes - out->l3_at, payload_bytes;
	bool group = memcmp(mac, local->mac, 6) != 0, anonymous, own;

	if (!local->has_ip6)
		return packet_refuse(out, PACKET_DROP_IPV6);
	if (group && !(mac[0] & 1))
		return packet_refuse(out, PACKET_DROP_ETH_OTHER_MAC);
	if (group && !in_groups(mac, local))
		return packet_refuse(out, PACKET_DROP_IPV6_OTHER_GROUP);
	if (bytes < PACKET_IPV6_BYTES)
		return packet_refuse(out, PACKET_DROP_IPV6_SHORT);
	if (ip[0] >> 4 != 6)
		return packet_refuse(out, PACKET_DROP_IPV6_VERSION);
	/* A jumbogram's is 0, and it has hop-by-hop options. */
	payload_bytes = packet_get16(ip + 4);
	if (payload_bytes > bytes - PACKET_IPV6_BYTES)
		return packet_refuse(out, PACKET_DROP_IPV6_PAYLOAD_LENGTH);
	out->is_ip6 = true;
	memcpy(out->from_ip6, ip + 8, 16);
	/* Only a neighbour solicitation may come from ::. */
	anonymous = ip[6] == NEXT_ICMPV6 && !memcmp(ip + 8, unspecified, 16);
	if (!anonymous && (!packet_is_host6(ip + 8) || is_ours(ip + 8, local)))
		return packet_refuse(out, PACKET_DROP_IPV6_SOURCE);
	own = !group && is_ours(ip + 24, local);
	if (!own && (!is_our_group(ip + 24, local) || ip[6] == PACKET_PROTOCOL_UDP))
		return packet_refuse(out, PACKET_DROP_IPV6_OTHER_ADDRESS);
	out->to_link_ip6 = own && memcmp(ip + 24, local->ip6, 16);
	out->payload_at = out->l3_at + PACKET_IPV6_BYTES;
	if (ip[6] == PACKET_PROTOCOL_UDP)
		packet_parse_udp(ip + PACKET_IPV6_BYTES, payload_bytes, frame, local, ip + 8, out);
	else if (ip[6] == NEXT_ICMPV6)
		parse_icmpv6(ip, ip + PACKET_IPV6_BYTES, payload_bytes, local, own, out);
	else
		packet_refuse(out, drop_of_next(ip[6]));
}

static void put_ipv6(uint8_t *ip, uint16_t payload_bytes, uint8_t next, uint8_t hop_limit,
	const uint8_t *from, const uint8_t *to)
{
	memcpy(ip, (const uint8_t[4]){0x60}, 4);
	packet_put16(ip + 4, payload_bytes);
	ip[6] = next;
	ip[7] = hop_limit;
	memcpy(ip + 8, from, 16);
	memcpy(ip + 24, to, 16);
}

static void put_icmp_sum(const uint8_t *ip, uint8_t *icmp, uint32_t bytes)
{
	packet_put_sum(icmp + 2, 0);
	packet_put_sum(icmp + 2,
		(uint16_t)~packet_sum_fold(packet_sum(icmp_pseudo_sum(ip, bytes), icmp, bytes)));
}

uint32_t packet_echo_reply6(const struct packet_frame *frame, const struct packet *packet,
	const struct packet_local *local, uint8_t *out, uint32_t out_bytes)
{
	uint32_t bytes = packet_ethernet_bytes(local) + PACKET_IPV6_BYTES + packet->payload_bytes;
	uint8_t *ip, *icmp;

	if (out_bytes < bytes)
		return 0;
	ip = out + packet_put_ethernet(out, local, packet->from_mac, PACKET_ETHERTYPE_IPV6);
	put_ipv6(ip, (uint16_t)packet->payload_bytes, NEXT_ICMPV6, PACKET_TTL,
		packet_own_ip6(local, packet->to_link_ip6), packet->from_ip6);
	icmp = ip + PACKET_IPV6_BYTES;
	memcpy(icmp, frame->data + packet->payload_at, packet->payload_bytes);
	icmp[0] = ECHO_REPLY;
	put_icmp_sum(ip, icmp, packet->payload_bytes);
	return bytes;
}

/* RFC 4861 7.2.4. Who asks from :: is told through all nodes, and hears that the address is taken.
 */
uint32_t packet_neighbour_reply(const struct packet *packet, const struct packet_local *local,
	uint8_t *out, uint32_t out_bytes)
{
	static const uint8_t all_nodes_mac[6] = {0x33, 0x33, 0, 0, 0, 1};
	bool anonymous = !memcmp(packet->from_ip6, unspecified, 16);
	const uint8_t *own = packet_own_ip6(local, packet->to_link_ip6);
	const uint32_t icmp_bytes = ND_BYTES + 8;
	uint8_t *ip, *icmp;

	if (out_bytes < packet_ethernet_bytes(local) + PACKET_IPV6_BYTES + icmp_bytes)
		return 0;
	ip = out + packet_put_ethernet(out, local, anonymous ? all_nodes_mac : packet->from_mac,
			   PACKET_ETHERTYPE_IPV6);
	put_ipv6(ip, (uint16_t)icmp_bytes, NEXT_ICMPV6, ND_HOP_LIMIT, own,
		anonymous ? all_nodes : packet->from_ip6);
	icmp = ip + PACKET_IPV6_BYTES;
	memset(icmp, 0, icmp_bytes);
	icmp[0] = NEIGHBOUR_ADVERTISEMENT;
	icmp[4] = ADVERTISE_OVERRIDE | (anonymous ? 0 : ADVERTISE_SOLICITED);
	memcpy(icmp + 8, own, 16);
	icmp[24] = OPTION_TARGET_LINK;
	icmp[25] = 1;
	memcpy(icmp + 26, local->mac, 6);
	put_icmp_sum(ip, icmp, icmp_bytes);
	return packet_ethernet_bytes(local) + PACKET_IPV6_BYTES + icmp_bytes;
}

void packet_link_build6(struct packet_link *link, const struct packet_local *local, bool from_link,
	const uint8_t to_mac[6], const uint8_t to_ip6[16], uint16_t to_port)
{
	uint8_t *ip, *udp;

	memset(link, 0, sizeof(*link));
	link->is_ip6 = true;
	ip = link->header + packet_put_ethernet(link->header, local, to_mac, PACKET_ETHERTYPE_IPV6);
	put_ipv6(ip, 0, PACKET_PROTOCOL_UDP, PACKET_TTL, packet_own_ip6(local, from_link), to_ip6);
	udp = ip + PACKET_IPV6_BYTES;
	packet_put16(udp, local->udp_port);
	packet_put16(udp + 2, to_port);
	link->bytes = (uint8_t)(udp + PACKET_UDP_BYTES - link->header);
	link->pseudo_sum =
		packet_sum_fold(packet_sum(0, ip + 8, 32) + packet_sum_word(PACKET_PROTOCOL_UDP));
}
