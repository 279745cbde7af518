/* packet_frames.h: a table of frames, each with what packet_parse must say of it. The unit test
 * walks it, the fuzz replay takes it as seeds. A frame is a good one, changed in one place. */
#ifndef SW_DATAPLANE_PACKET_FRAMES_H
#define SW_DATAPLANE_PACKET_FRAMES_H

#include <string.h>

#include "dataplane/packet.h"

#define FRAME_BYTES_MAX 256u

static const struct packet_local frames_local = {
	.mac = {2, 0, 0, 0, 0, 1}, .ip = 0x0a000001, .udp_port = 7777};
static const struct packet_local frames_local_tagged = {
	.mac = {2, 0, 0, 0, 0, 1}, .vlan = 42, .ip = 0x0a000001, .udp_port = 7777};
/* 2001:db8::1, fe80::ff:fe00:1 */
static const struct packet_local frames_local6 = {.mac = {2, 0, 0, 0, 0, 1},
	.ip = 0x0a000001,
	.udp_port = 7777,
	.has_ip6 = true,
	.ip6 = {0x20, 1, 0xd, 0xb8, [15] = 1},
	.link_ip6 = {0xfe, 0x80, [11] = 0xff, [12] = 0xfe, [15] = 1}};

/* The last three are IPv6: only a port with an address6 reads them. */
enum frame_base { FRAME_UDP, FRAME_PING, FRAME_ARP, FRAME_UDP6, FRAME_PING6, FRAME_NEIGHBOUR };

/* One change: bytes at an offset, then what becomes of the checksums. */
struct frame_case {
	const char *name;
	enum frame_base base;
	uint16_t tag;     /* != 0: a tag with this id; 0xfff: a priority tag, id 0 */
	bool tagged_port; /* parsed by a port with VLAN 42 */
	bool stripped;    /* the port took the tag off */
	bool no_ip6;      /* an IPv6 base, parsed by a port without address6 */
	int at;           /* offset in the frame without tag, -1: nothing changes */
	uint8_t value[16];
	uint8_t value_bytes;
	bool fix; /* make the IP and L4 checksums right again after the change */
	int cut;  /* > 0: the frame ends there; < 0: this many bytes of padding */
	enum packet_kind kind;
	enum packet_drop drop;
};

#define DROP(id) .kind = PACKET_REFUSED, .drop = PACKET_DROP_##id
#define CHANGE(offset, ...)                                                                        \
	.at = (offset), .value = {__VA_ARGS__}, .value_bytes = sizeof((uint8_t[]){__VA_ARGS__})
#define SAME .at = -1

/* clang-format off */
static const struct frame_case frame_cases[] = {
	{"udp", FRAME_UDP, SAME, .kind = PACKET_UDP},
	{"udp, padded as short frames are", FRAME_UDP, SAME, .cut = -18, .kind = PACKET_UDP},
	{"udp, no checksum", FRAME_UDP, CHANGE(40, 0, 0), .kind = PACKET_UDP},
	{"udp, TTL 0 is not a reason to drop", FRAME_UDP, CHANGE(22, 0), .fix = true, .kind = PACKET_UDP},
	{"udp, DF set", FRAME_UDP, CHANGE(20, 0x40, 0), .fix = true, .kind = PACKET_UDP},
	{"udp, length shorter than the packet's", FRAME_UDP, CHANGE(38, 0, 12), .fix = true, .kind = PACKET_UDP},
	{"udp, no payload", FRAME_UDP, CHANGE(38, 0, 8), .fix = true, .kind = PACKET_UDP},
	{"udp, tagged", FRAME_UDP, .tag = 42, .tagged_port = true, SAME, .kind = PACKET_UDP},
	{"udp, tag stripped by the port", FRAME_UDP, .tag = 42, .tagged_port = true, .stripped = true, SAME, .kind = PACKET_UDP},
	{"udp, priority tag", FRAME_UDP, .tag = 0xfff, SAME, .kind = PACKET_UDP},
	{"ping", FRAME_PING, SAME, .kind = PACKET_ECHO_REQUEST},
	{"ping, tagged", FRAME_PING, .tag = 42, .tagged_port = true, SAME, .kind = PACKET_ECHO_REQUEST},
	{"arp request", FRAME_ARP, SAME, .kind = PACKET_ARP_REQUEST},
	{"arp request, unicast", FRAME_ARP, CHANGE(0, 2, 0, 0, 0, 0, 1), .kind = PACKET_ARP_REQUEST},
	{"arp probe, sender 0.0.0.0", FRAME_ARP, CHANGE(28, 0, 0, 0, 0), .kind = PACKET_ARP_REQUEST},
	{"arp request, padded", FRAME_ARP, SAME, .cut = -18, .kind = PACKET_ARP_REQUEST},

	{"13 bytes", FRAME_UDP, SAME, .cut = 13, DROP(ETH_SHORT)},
	{"cut inside the tag", FRAME_UDP, .tag = 42, .tagged_port = true, SAME, .cut = 17, DROP(ETH_SHORT)},
	{"source MAC is a group", FRAME_UDP, CHANGE(6, 3), DROP(ETH_SOURCE)},
	{"source MAC is zero", FRAME_UDP, CHANGE(6, 0, 0, 0, 0, 0, 0), DROP(ETH_SOURCE)},
	{"source MAC is ours", FRAME_UDP, CHANGE(6, 2, 0, 0, 0, 0, 1), DROP(ETH_SOURCE)},
	{"for another MAC", FRAME_UDP, CHANGE(5, 9), DROP(ETH_OTHER_MAC)},
	{"IPv4 in a broadcast frame", FRAME_UDP, CHANGE(0, 255, 255, 255, 255, 255, 255), DROP(ETH_OTHER_MAC)},
	{"unknown EtherType", FRAME_UDP, CHANGE(12, 0x88, 0xcc), DROP(ETH_TYPE)},
	{"802.3 length", FRAME_UDP, CHANGE(12, 0, 46), DROP(ETH_TYPE)},
	{"tag where none is configured", FRAME_UDP, .tag = 42, SAME, DROP(VLAN_OTHER)},
	{"other tag", FRAME_UDP, .tag = 43, .tagged_port = true, SAME, DROP(VLAN_OTHER)},
	{"no tag where one is configured", FRAME_UDP, .tagged_port = true, SAME, DROP(VLAN_OTHER)},
	{"802.1ad", FRAME_UDP, CHANGE(12, 0x88, 0xa8), DROP(VLAN_NESTED)},
	{"two tags", FRAME_UDP, .tag = 42, .tagged_port = true, CHANGE(12, 0x81, 0), DROP(VLAN_NESTED)},
	{"IPv6", FRAME_UDP6, .no_ip6 = true, SAME, DROP(IPV6)},
	{"IPv6 multicast", FRAME_NEIGHBOUR, .no_ip6 = true, SAME, DROP(IPV6)},
	{"IPv4 in an IPv6 multicast frame", FRAME_UDP, CHANGE(0, 0x33, 0x33, 0, 0, 0, 1), DROP(ETH_OTHER_MAC)},

	{"short arp", FRAME_ARP, SAME, .cut = 41, DROP(ARP_SHORT)},
	{"arp of other hardware", FRAME_ARP, CHANGE(14, 0, 6), DROP(ARP_MALFORMED)},
	{"arp of other protocol", FRAME_ARP, CHANGE(16, 0x86, 0xdd), DROP(ARP_MALFORMED)},
	{"arp hardware length", FRAME_ARP, CHANGE(18, 8), DROP(ARP_MALFORMED)},
	{"arp protocol length", FRAME_ARP, CHANGE(19, 16), DROP(ARP_MALFORMED)},
	{"arp sender is not the frame's", FRAME_ARP, CHANGE(27, 99), DROP(ARP_MALFORMED)},
	{"arp sender has our address", FRAME_ARP, CHANGE(28, 10, 0, 0, 1), DROP(ARP_MALFORMED)},
	{"arp reply", FRAME_ARP, CHANGE(20, 0, 2), DROP(ARP_OTHER)},
	{"arp request for another", FRAME_ARP, CHANGE(38, 10, 0, 0, 9), DROP(ARP_OTHER)},

	{"cut inside the IPv4 header", FRAME_UDP, SAME, .cut = 33, DROP(IPV4_SHORT)},
	{"version 5", FRAME_UDP, CHANGE(14, 0x55), .fix = true, DROP(IPV4_VERSION)},
	{"header of 16 bytes", FRAME_UDP, CHANGE(14, 0x44), DROP(IPV4_HEADER_LENGTH)},
	{"header longer than the frame", FRAME_UDP, CHANGE(14, 0x4f), .cut = 60, DROP(IPV4_HEADER_LENGTH)},
	{"total length below the header", FRAME_UDP, CHANGE(16, 0, 19), .fix = true, DROP(IPV4_TOTAL_LENGTH)},
	{"total length above the frame", FRAME_UDP, SAME, .cut = 61, DROP(IPV4_TOTAL_LENGTH)},
	{"total length 65535", FRAME_UDP, CHANGE(16, 255, 255), .fix = true, DROP(IPV4_TOTAL_LENGTH)},
	{"IPv4 checksum", FRAME_UDP, CHANGE(22, 63), DROP(IPV4_CHECKSUM)},
	{"options", FRAME_UDP, CHANGE(14, 0x46), .fix = true, DROP(IPV4_OPTIONS)},
	{"first fragment", FRAME_UDP, CHANGE(20, 0x20, 0), .fix = true, DROP(IPV4_FRAGMENT)},
	{"last fragment", FRAME_UDP, CHANGE(20, 0, 185), .fix = true, DROP(IPV4_FRAGMENT)},
	{"source is ours", FRAME_UDP, CHANGE(26, 10, 0, 0, 1), .fix = true, DROP(IPV4_SOURCE)},
	{"source 0.0.0.0", FRAME_UDP, CHANGE(26, 0, 0, 0, 0), .fix = true, DROP(IPV4_SOURCE)},
	{"source 127.0.0.1", FRAME_UDP, CHANGE(26, 127, 0, 0, 1), .fix = true, DROP(IPV4_SOURCE)},
	{"source 224.0.0.1", FRAME_UDP, CHANGE(26, 224, 0, 0, 1), .fix = true, DROP(IPV4_SOURCE)},
	{"source 255.255.255.255", FRAME_UDP, CHANGE(26, 255, 255, 255, 255), .fix = true, DROP(IPV4_SOURCE)},
	{"for another address", FRAME_UDP, CHANGE(30, 10, 0, 0, 9), .fix = true, DROP(IPV4_OTHER_ADDRESS)},
	{"TCP", FRAME_UDP, CHANGE(23, 6), .fix = true, DROP(IPV4_PROTOCOL)},

	{"short ICMP", FRAME_PING, CHANGE(16, 0, 27), .fix = true, DROP(ICMP_SHORT)},
	{"ICMP checksum", FRAME_PING, CHANGE(45, 1), DROP(ICMP_CHECKSUM)},
	{"ICMP echo reply", FRAME_PING, CHANGE(34, 0), .fix = true, DROP(ICMP_OTHER)},
	{"ICMP echo request with a code", FRAME_PING, CHANGE(35, 1), .fix = true, DROP(ICMP_OTHER)},

	{"short UDP", FRAME_UDP, CHANGE(16, 0, 27), .fix = true, DROP(UDP_SHORT)},
	{"UDP length 7", FRAME_UDP, CHANGE(38, 0, 7), .fix = true, DROP(UDP_LENGTH)},
	{"UDP length above the packet's", FRAME_UDP, CHANGE(38, 0, 29), .fix = true, DROP(UDP_LENGTH)},
	{"UDP checksum", FRAME_UDP, CHANGE(50, 99), DROP(UDP_CHECKSUM)},
	{"UDP from port 0", FRAME_UDP, CHANGE(34, 0, 0), .fix = true, DROP(UDP_SOURCE_PORT)},
	{"UDP to another port", FRAME_UDP, CHANGE(36, 0, 53), .fix = true, DROP(UDP_OTHER_PORT)},

	{"udp6", FRAME_UDP6, SAME, .kind = PACKET_UDP},
	{"udp6, padded", FRAME_UDP6, SAME, .cut = -18, .kind = PACKET_UDP},
	{"udp6, hop limit 0 is not a reason to drop", FRAME_UDP6, CHANGE(21, 0), .kind = PACKET_UDP},
	{"udp6, traffic class and flow label", FRAME_UDP6, CHANGE(14, 0x6f, 0xf1, 2, 3), .kind = PACKET_UDP},
	{"udp6, from a link-local address", FRAME_UDP6, CHANGE(22, 0xfe, 0x80, 0, 0), .fix = true, .kind = PACKET_UDP},
	{"udp6, from an address of NAT64", FRAME_UDP6, CHANGE(22, 0, 0x64, 0xff, 0x9b), .fix = true, .kind = PACKET_UDP},
	{"udp6, length shorter than the packet's", FRAME_UDP6, CHANGE(58, 0, 12), .fix = true, .kind = PACKET_UDP},
	{"udp6, no payload", FRAME_UDP6, CHANGE(58, 0, 8), .fix = true, .kind = PACKET_UDP},
	{"udp6, priority tag", FRAME_UDP6, .tag = 0xfff, SAME, .kind = PACKET_UDP},
	{"ping6", FRAME_PING6, SAME, .kind = PACKET_ECHO_REQUEST},
	{"ping6 of 8 bytes", FRAME_PING6, CHANGE(18, 0, 8), .fix = true, .kind = PACKET_ECHO_REQUEST},
	{"neighbour solicitation", FRAME_NEIGHBOUR, SAME, .kind = PACKET_NEIGHBOUR_REQUEST},
	{"solicitation, to our MAC", FRAME_NEIGHBOUR, CHANGE(0, 2, 0, 0, 0, 0, 1), .kind = PACKET_NEIGHBOUR_REQUEST},
	{"solicitation, padded", FRAME_NEIGHBOUR, SAME, .cut = -18, .kind = PACKET_NEIGHBOUR_REQUEST},
	{"solicitation without options", FRAME_NEIGHBOUR, CHANGE(18, 0, 24), .fix = true, .kind = PACKET_NEIGHBOUR_REQUEST},
	{"solicitation with an unknown option", FRAME_NEIGHBOUR, CHANGE(78, 14), .fix = true, .kind = PACKET_NEIGHBOUR_REQUEST},
	{"solicitation to all nodes", FRAME_NEIGHBOUR, CHANGE(38, 0xff, 2, 0, 0, 0, 0, 0, 0, 0, 0, 0, 0, 0, 0, 0, 1), .fix = true, .kind = PACKET_NEIGHBOUR_REQUEST},

	{"udp6 to another MAC", FRAME_UDP6, CHANGE(5, 9), DROP(ETH_OTHER_MAC)},
	{"IPv6 of another group", FRAME_NEIGHBOUR, CHANGE(5, 9), DROP(IPV6_OTHER_GROUP)},
	{"IPv6 broadcast", FRAME_UDP6, CHANGE(0, 255, 255, 255, 255, 255, 255), DROP(IPV6_OTHER_GROUP)},
	{"cut inside the IPv6 header", FRAME_UDP6, SAME, .cut = 53, DROP(IPV6_SHORT)},
	{"version 4 with IPv6's EtherType", FRAME_UDP6, CHANGE(14, 0x45), DROP(IPV6_VERSION)},
	{"payload length above the frame", FRAME_UDP6, SAME, .cut = 81, DROP(IPV6_PAYLOAD_LENGTH)},
	{"payload length 65535", FRAME_UDP6, CHANGE(18, 255, 255), DROP(IPV6_PAYLOAD_LENGTH)},
	{"udp6 from ::", FRAME_UDP6, CHANGE(22, 0, 0, 0, 0, 0, 0, 0, 0, 0, 0, 0, 0, 0, 0, 0, 0), .fix = true, DROP(IPV6_SOURCE)},
	{"udp6 from ::1", FRAME_UDP6, CHANGE(22, 0, 0, 0, 0, 0, 0, 0, 0, 0, 0, 0, 0, 0, 0, 0, 1), .fix = true, DROP(IPV6_SOURCE)},
	{"udp6 from ::ffff:10.0.0.2", FRAME_UDP6, CHANGE(22, 0, 0, 0, 0, 0, 0, 0, 0, 0, 0, 255, 255, 10, 0, 0, 2), .fix = true, DROP(IPV6_SOURCE)},
	{"udp6 from a group", FRAME_UDP6, CHANGE(22, 0xff, 2), .fix = true, DROP(IPV6_SOURCE)},
	{"udp6 from us", FRAME_UDP6, CHANGE(37, 1), .fix = true, DROP(IPV6_SOURCE)},
	{"ping6 from ::", FRAME_PING6, CHANGE(22, 0, 0, 0, 0, 0, 0, 0, 0, 0, 0, 0, 0, 0, 0, 0, 0), .fix = true, DROP(IPV6_SOURCE)},
	{"udp6 for another address", FRAME_UDP6, CHANGE(53, 9), .fix = true, DROP(IPV6_OTHER_ADDRESS)},
	{"udp6 in a group frame", FRAME_UDP6, CHANGE(0, 0x33, 0x33, 0, 0, 0, 1), DROP(IPV6_OTHER_ADDRESS)},
	{"udp6 to all nodes", FRAME_UDP6, CHANGE(38, 0xff, 2, 0, 0, 0, 0, 0, 0, 0, 0, 0, 0, 0, 0, 0, 1), .fix = true, DROP(IPV6_OTHER_ADDRESS)},
	{"ping6 of all nodes", FRAME_PING6, CHANGE(38, 0xff, 2, 0, 0, 0, 0, 0, 0, 0, 0, 0, 0, 0, 0, 0, 1), .fix = true, DROP(IPV6_OTHER_ADDRESS)},
	{"hop-by-hop options", FRAME_UDP6, CHANGE(20, 0), DROP(IPV6_HOP_BY_HOP)},
	{"routing header", FRAME_UDP6, CHANGE(20, 43), DROP(IPV6_ROUTING)},
	{"IPv6 fragment", FRAME_UDP6, CHANGE(20, 44), DROP(IPV6_FRAGMENT)},
	{"ESP", FRAME_UDP6, CHANGE(20, 50), DROP(IPV6_EXTENSION)},
	{"AH", FRAME_UDP6, CHANGE(20, 51), DROP(IPV6_EXTENSION)},
	{"destination options", FRAME_UDP6, CHANGE(20, 60), DROP(IPV6_DESTINATION)},
	{"mobility", FRAME_UDP6, CHANGE(20, 135), DROP(IPV6_EXTENSION)},
	{"HIP", FRAME_UDP6, CHANGE(20, 139), DROP(IPV6_EXTENSION)},
	{"shim6", FRAME_UDP6, CHANGE(20, 140), DROP(IPV6_EXTENSION)},
	{"TCP over IPv6", FRAME_UDP6, CHANGE(20, 6), DROP(IPV6_PROTOCOL)},
	{"no next header", FRAME_UDP6, CHANGE(20, 59), DROP(IPV6_PROTOCOL)},
	{"ICMP of IPv4 over IPv6", FRAME_UDP6, CHANGE(20, 1), DROP(IPV6_PROTOCOL)},
	{"short ICMPv6", FRAME_PING6, CHANGE(18, 0, 7), .fix = true, DROP(ICMPV6_SHORT)},
	{"ICMPv6 checksum", FRAME_PING6, CHANGE(65, 99), DROP(ICMPV6_CHECKSUM)},
	{"ICMPv6 checksum is over the addresses, too", FRAME_PING6, CHANGE(37, 3), DROP(ICMPV6_CHECKSUM)},
	{"ICMPv6 echo reply", FRAME_PING6, CHANGE(54, 129), .fix = true, DROP(ICMPV6_OTHER)},
	{"ICMPv6 echo request with a code", FRAME_PING6, CHANGE(55, 1), .fix = true, DROP(ICMPV6_OTHER)},
	{"ICMPv6 port unreachable", FRAME_PING6, CHANGE(54, 1, 4), .fix = true, DROP(ICMPV6_OTHER)},
	{"router advertisement", FRAME_NEIGHBOUR, CHANGE(54, 134), .fix = true, DROP(ICMPV6_OTHER)},
	{"neighbour advertisement of our address", FRAME_NEIGHBOUR, CHANGE(54, 136), .fix = true, DROP(ND_CONFLICT)},
	{"neighbour advertisement of another's", FRAME_NEIGHBOUR, .at = 54, .value = {136, 0, 0, 0, 0x60, 0, 0, 0, 0x20, 2}, .value_bytes = 10, .fix = true, DROP(ICMPV6_OTHER)},
	{"solicitation through a router", FRAME_NEIGHBOUR, CHANGE(21, 254), DROP(ND_HOP_LIMIT)},
	{"solicitation with a code", FRAME_NEIGHBOUR, CHANGE(55, 1), .fix = true, DROP(ND_MALFORMED)},
	{"short solicitation", FRAME_NEIGHBOUR, CHANGE(18, 0, 23), .fix = true, DROP(ND_MALFORMED)},
	{"solicitation of a group", FRAME_NEIGHBOUR, CHANGE(62, 0xff, 2), .fix = true, DROP(ND_MALFORMED)},
	{"solicitation with an empty option", FRAME_NEIGHBOUR, CHANGE(79, 0), .fix = true, DROP(ND_MALFORMED)},
	{"solicitation with an option longer than it", FRAME_NEIGHBOUR, CHANGE(79, 2), .fix = true, DROP(ND_MALFORMED)},
	{"solicitation with half an option head", FRAME_NEIGHBOUR, CHANGE(18, 0, 25), .fix = true, DROP(ND_MALFORMED)},
	{"solicitation from :: with its link address", FRAME_NEIGHBOUR, CHANGE(22, 0, 0, 0, 0, 0, 0, 0, 0, 0, 0, 0, 0, 0, 0, 0, 0), .fix = true, DROP(ND_MALFORMED)},
	{"solicitation for another", FRAME_NEIGHBOUR, CHANGE(77, 9), .fix = true, DROP(ND_OTHER)},
	{"solicitation with our source", FRAME_NEIGHBOUR, CHANGE(37, 1), .fix = true, DROP(IPV6_SOURCE)},
	{"UDP checksum over IPv6", FRAME_UDP6, CHANGE(70, 99), DROP(UDP_CHECKSUM)},
	{"UDP checksum is over IPv6's addresses, too", FRAME_UDP6, CHANGE(37, 3), DROP(UDP_CHECKSUM)},
	{"no UDP checksum over IPv6", FRAME_UDP6, CHANGE(60, 0, 0), DROP(UDP_NO_CHECKSUM)},
	{"short UDP over IPv6", FRAME_UDP6, CHANGE(18, 0, 7), DROP(UDP_SHORT)},
	{"UDP length above IPv6's", FRAME_UDP6, CHANGE(58, 0, 29), .fix = true, DROP(UDP_LENGTH)},
};
/* clang-format on */

#define FRAME_CASES (sizeof(frame_cases) / sizeof(frame_cases[0]))

/* An implementation of the checksum that shares nothing with packet.c: the words as numbers. */
static inline uint16_t frame_checksum(uint32_t sum, const uint8_t *p, uint32_t bytes)
{
	for (uint32_t i = 0; i < bytes; i++)
		sum += i & 1 ? p[i] : (uint32_t)p[i] << 8;
	while (sum >> 16)
		sum = (sum & 0xffff) + (sum >> 16);
	return (uint16_t)~sum;
}

static inline uint16_t frame_udp_checksum(const uint8_t *ip, const uint8_t *udp, uint32_t bytes)
{
	uint32_t sum = 17 + bytes;

	for (int i = 12; i < 20; i += 2)
		sum += packet_get16(ip + i);
	return frame_checksum(sum, udp, bytes);
}

/* UDP's or ICMPv6's, behind an IPv6 header. */
static inline uint16_t frame_checksum6(const uint8_t *ip, const uint8_t *l4, uint32_t bytes)
{
	uint32_t sum = ip[6] + bytes;

	for (int i = 8; i < 40; i += 2)
		sum += packet_get16(ip + i);
	return frame_checksum(sum, l4, bytes);
}

static inline void frame_fix6(uint8_t *frame, uint32_t frame_bytes)
{
	uint8_t *ip = frame + 14, *l4 = ip + 40, *sum = l4 + (ip[6] == 58 ? 2 : 6);
	uint32_t room = frame_bytes - 54;
	uint32_t bytes = ip[6] == 58 ? packet_get16(ip + 4) : packet_get16(l4 + 4);

	packet_put16(sum, 0);
	packet_put16(sum, frame_checksum6(ip, l4, bytes < room ? bytes : room));
}

static inline bool frame_is_ip6(enum frame_base base)
{
	return base >= FRAME_UDP6;
}

static inline void frame_fix(uint8_t *frame, uint32_t frame_bytes)
{
	uint8_t *ip = frame + 14, *l4 = ip + 20;
	uint32_t room = frame_bytes - 34, bytes;

	if (packet_get16(frame + 12) == 0x86dd) {
		frame_fix6(frame, frame_bytes);
		return;
	}
	packet_put16(ip + 10, 0);
	packet_put16(ip + 10, frame_checksum(0, ip, (ip[0] & 0xfu) * 4));
	if (ip[9] == 1) {
		bytes = packet_get16(ip + 2) >= 20 ? packet_get16(ip + 2) - 20u : 0;
		packet_put16(l4 + 2, 0);
		packet_put16(l4 + 2, frame_checksum(0, l4, bytes < room ? bytes : room));
	} else {
		bytes = packet_get16(l4 + 4);
		packet_put16(l4 + 6, 0);
		packet_put16(l4 + 6, frame_udp_checksum(ip, l4, bytes < room ? bytes : room));
	}
}

/* Builds case c into out[FRAME_BYTES_MAX]; *view describes it for packet_parse. */
static inline void frame_build(const struct frame_case *c, uint8_t *out, struct packet_frame *view)
{
	static const uint8_t udp[] = {2, 0, 0, 0, 0, 1, 2, 0, 0, 0, 0, 2, 8, 0, 0x45, 0, 0, 48, 0,
		1, 0, 0, 64, 17, 0, 0, 10, 0, 0, 2, 10, 0, 0, 1, 0x9c, 0x40, 0x1e, 0x61, 0, 28, 0,
		0, 1, 2, 3, 4, 5, 6, 7, 8, 9, 10, 11, 12, 13, 14, 15, 16, 17, 18, 19, 20};
	static const uint8_t arp[] = {255, 255, 255, 255, 255, 255, 2, 0, 0, 0, 0, 2, 8, 6, 0, 1, 8,
		0, 6, 4, 0, 1, 2, 0, 0, 0, 0, 2, 10, 0, 0, 2, 0, 0, 0, 0, 0, 0, 10, 0, 0, 1};
	static const uint8_t udp6[] = {2, 0, 0, 0, 0, 1, 2, 0, 0, 0, 0, 2, 0x86, 0xdd, 0x60, 0, 0,
		0, 0, 28, 17, 64, 0x20, 1, 0xd, 0xb8, 0, 0, 0, 0, 0, 0, 0, 0, 0, 0, 0, 2, 0x20, 1,
		0xd, 0xb8, 0, 0, 0, 0, 0, 0, 0, 0, 0, 0, 0, 1, 0x9c, 0x40, 0x1e, 0x61, 0, 28, 0, 0,
		1, 2, 3, 4, 5, 6, 7, 8, 9, 10, 11, 12, 13, 14, 15, 16, 17, 18, 19, 20};
	static const uint8_t neighbour[] = {0x33, 0x33, 0xff, 0, 0, 1, 2, 0, 0, 0, 0, 2, 0x86, 0xdd,
		0x60, 0, 0, 0, 0, 32, 58, 255, 0x20, 1, 0xd, 0xb8, 0, 0, 0, 0, 0, 0, 0, 0, 0, 0, 0,
		2, 0xff, 2, 0, 0, 0, 0, 0, 0, 0, 0, 0, 1, 0xff, 0, 0, 1, 135, 0, 0, 0, 0, 0, 0, 0,
		0x20, 1, 0xd, 0xb8, 0, 0, 0, 0, 0, 0, 0, 0, 0, 0, 0, 1, 1, 1, 2, 0, 0, 0, 0, 2};
	static const struct {
		const uint8_t *frame;
		uint32_t bytes;
	} bases[] = {
		[FRAME_UDP] = {udp, sizeof(udp)},
		[FRAME_PING] = {udp, sizeof(udp)},
		[FRAME_ARP] = {arp, sizeof(arp)},
		[FRAME_UDP6] = {udp6, sizeof(udp6)},
		[FRAME_PING6] = {udp6, sizeof(udp6)},
		[FRAME_NEIGHBOUR] = {neighbour, sizeof(neighbour)},
	};
	static const uint8_t echo[] = {8, 0, 0, 0, 0x12, 0x34, 0, 1};
	uint32_t bytes = bases[c->base].bytes;

	memset(out, 0, FRAME_BYTES_MAX);
	memcpy(out, bases[c->base].frame, bytes);
	if (c->base == FRAME_PING) {
		out[23] = 1;
		memcpy(out + 34, echo, sizeof(echo));
	} else if (c->base == FRAME_PING6) {
		out[20] = 58;
		memcpy(out + 54, echo, sizeof(echo));
		out[54] = 128;
	}
	if (c->base != FRAME_ARP)
		frame_fix(out, bytes);
	if (c->at >= 0)
		memcpy(out + c->at, c->value, c->value_bytes);
	if (c->fix)
		frame_fix(out, bytes);
	memset(view, 0, sizeof(*view));
	if (c->tag && c->stripped) {
		view->vlan_stripped = true;
		view->vlan_tci = (uint16_t)(0x6000 | c->tag);
	} else if (c->tag) {
		memmove(out + 16, out + 12, bytes - 12);
		packet_put16(out + 12, 0x8100);
		packet_put16(out + 14, (uint16_t)(0x6000 | (c->tag == 0xfff ? 0 : c->tag)));
		bytes += 4;
	}
	if (c->cut > 0)
		bytes = (uint32_t)c->cut;
	else
		bytes += (uint32_t)-c->cut;
	view->data = out;
	view->bytes = bytes;
}

#endif
