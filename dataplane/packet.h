/* packet.h: Ethernet, 802.1Q, ARP, IPv4, IPv6, ICMP echo, neighbour discovery and UDP headers, read
 * and written.
 *
 * Pure: bytes in, a description or bytes out; no DPDK, clock or state, any thread. Every read is
 * bounded by the frame's length; a frame is either understood completely or refused by name.
 * RFC 826 (ARP), 791 and 1122 (IPv4), 792 (ICMP), 768 (UDP), 8200 (IPv6), 4443 (ICMPv6), 4861
 * (neighbour discovery), IEEE 802.1Q. IPv6's half is packet6.c. */
#ifndef SW_DATAPLANE_PACKET_H
#define SW_DATAPLANE_PACKET_H

#include <stdbool.h>
#include <stdint.h>
#include <string.h>

#include "common/counter.h"

/* Why a frame goes no further. X(id, name, kind, help): the metric's name and help; the worker's
 * counter list (counters.h) begins with this one. */
/* clang-format off */
#define PACKET_DROPS(X) \
	X(ETH_SHORT, "drop_eth_short", COUNTER_SUM, "frames shorter than an Ethernet header and its tag") \
	X(ETH_SOURCE, "drop_eth_source", COUNTER_SUM, "frames whose source MAC is a group address, zero, or our own (a loop, or a forged frame)") \
	X(ETH_OTHER_MAC, "drop_eth_other_mac", COUNTER_SUM, "frames for another station's MAC (promiscuous port, flooding switch), and group frames that are neither ARP nor IPv6") \
	X(ETH_TYPE, "drop_eth_type", COUNTER_SUM, "frames that are neither ARP, IPv4 nor IPv6 (LLDP, STP, ...)") \
	X(VLAN_OTHER, "drop_vlan_other", COUNTER_SUM, "frames of another VLAN than the port's: tagged where none is configured, or untagged where one is") \
	X(VLAN_NESTED, "drop_vlan_nested", COUNTER_SUM, "frames with a second VLAN tag") \
	X(ARP_SHORT, "drop_arp_short", COUNTER_SUM, "ARP frames shorter than an Ethernet/IPv4 ARP") \
	X(ARP_MALFORMED, "drop_arp_malformed", COUNTER_SUM, "ARP frames of other hardware or protocol, or with a forged sender") \
	X(ARP_OTHER, "drop_arp_other", COUNTER_SUM, "ARP frames that are no request for our address; usual on a shared wire") \
	X(IPV6, "drop_ipv6", COUNTER_SUM, "IPv6 frames on a port without address6") \
	X(IPV6_OTHER_GROUP, "drop_ipv6_other_group", COUNTER_SUM, "IPv6 multicast frames of groups that we are not in (other hosts' neighbour discovery, mDNS); usual on a shared wire") \
	X(IPV6_SHORT, "drop_ipv6_short", COUNTER_SUM, "frames shorter than an IPv6 header") \
	X(IPV6_VERSION, "drop_ipv6_version", COUNTER_SUM, "IPv6 frames whose version field is not 6") \
	X(IPV6_PAYLOAD_LENGTH, "drop_ipv6_payload_length", COUNTER_SUM, "IPv6 payload lengths above the frame's: cut or forged") \
	X(IPV6_SOURCE, "drop_ipv6_source", COUNTER_SUM, "IPv6 sources that nobody can have: our own, ::, loopback, IPv4-mapped, multicast") \
	X(IPV6_OTHER_ADDRESS, "drop_ipv6_other_address", COUNTER_SUM, "IPv6 packets for another address than the port's, and multicast that is not neighbour discovery") \
	X(IPV6_HOP_BY_HOP, "drop_ipv6_hop_by_hop", COUNTER_SUM, "IPv6 packets with hop-by-hop options; those of multicast listener queries are usual") \
	X(IPV6_ROUTING, "drop_ipv6_routing", COUNTER_SUM, "IPv6 packets with a routing header: source routes must not work") \
	X(IPV6_DESTINATION, "drop_ipv6_destination_options", COUNTER_SUM, "IPv6 packets with destination options: no client needs them") \
	X(IPV6_FRAGMENT, "drop_ipv6_fragment", COUNTER_SUM, "IPv6 fragments, also atomic ones: a client's MTU is larger than its path's") \
	X(IPV6_EXTENSION, "drop_ipv6_extension", COUNTER_SUM, "IPv6 packets with another extension header (AH, ESP, mobility, HIP, shim6, experiments)") \
	X(IPV6_PROTOCOL, "drop_ipv6_protocol", COUNTER_SUM, "IPv6 packets that are neither UDP nor ICMPv6") \
	X(ICMPV6_SHORT, "drop_icmpv6_short", COUNTER_SUM, "ICMPv6 messages shorter than their header") \
	X(ICMPV6_CHECKSUM, "drop_icmpv6_checksum", COUNTER_SUM, "ICMPv6 messages with a wrong checksum") \
	X(ICMPV6_OTHER, "drop_icmpv6_other", COUNTER_SUM, "ICMPv6 messages that ask nothing of us (port unreachable: a client is gone; router and neighbour advertisements)") \
	X(ND_HOP_LIMIT, "drop_nd_hop_limit", COUNTER_SUM, "neighbour discovery with a hop limit other than 255: it came through a router, so it is forged") \
	X(ND_MALFORMED, "drop_nd_malformed", COUNTER_SUM, "neighbour discovery that RFC 4861 tells to discard: short, with a code, a multicast target, an empty or cut option") \
	X(ND_OTHER, "drop_nd_other", COUNTER_SUM, "neighbour solicitations for another address; usual on a shared wire") \
	X(ND_CONFLICT, "drop_nd_conflict", COUNTER_SUM, "neighbour advertisements by which another station claims our address: a duplicate address, or an attack") \
	X(IPV4_SHORT, "drop_ipv4_short", COUNTER_SUM, "frames shorter than an IPv4 header") \
	X(IPV4_VERSION, "drop_ipv4_version", COUNTER_SUM, "IPv4 frames whose version field is not 4") \
	X(IPV4_HEADER_LENGTH, "drop_ipv4_header_length", COUNTER_SUM, "IPv4 headers that claim fewer than 20 bytes, or more than the frame has") \
	X(IPV4_TOTAL_LENGTH, "drop_ipv4_total_length", COUNTER_SUM, "IPv4 total lengths below the header's or above the frame's: cut or forged") \
	X(IPV4_CHECKSUM, "drop_ipv4_checksum", COUNTER_SUM, "IPv4 headers with a wrong checksum") \
	X(IPV4_OPTIONS, "drop_ipv4_options", COUNTER_SUM, "IPv4 headers with options: no client needs them, and source routes must not work") \
	X(IPV4_FRAGMENT, "drop_ipv4_fragment", COUNTER_SUM, "IPv4 fragments: a client's MTU is larger than its path's") \
	X(IPV4_SOURCE, "drop_ipv4_source", COUNTER_SUM, "IPv4 sources that nobody can have: our own, 0/8, 127/8, multicast, broadcast") \
	X(IPV4_OTHER_ADDRESS, "drop_ipv4_other_address", COUNTER_SUM, "IPv4 packets for another address than the port's") \
	X(IPV4_PROTOCOL, "drop_ipv4_protocol", COUNTER_SUM, "IPv4 packets that are neither UDP nor ICMP") \
	X(ICMP_SHORT, "drop_icmp_short", COUNTER_SUM, "ICMP messages shorter than their header") \
	X(ICMP_CHECKSUM, "drop_icmp_checksum", COUNTER_SUM, "ICMP messages with a wrong checksum") \
	X(ICMP_OTHER, "drop_icmp_other", COUNTER_SUM, "ICMP messages other than echo requests (port unreachable: a client is gone)") \
	X(UDP_SHORT, "drop_udp_short", COUNTER_SUM, "UDP datagrams shorter than their header") \
	X(UDP_LENGTH, "drop_udp_length", COUNTER_SUM, "UDP lengths below 8 or above what the IP packet carries") \
	X(UDP_CHECKSUM, "drop_udp_checksum", COUNTER_SUM, "UDP datagrams with a wrong checksum (on veth the far end leaves it to hardware that is not there: ethtool -K <far end> tx off)") \
	X(UDP_NO_CHECKSUM, "drop_udp_no_checksum", COUNTER_SUM, "UDP datagrams over IPv6 without a checksum, which there is mandatory (RFC 8200 8.1)") \
	X(UDP_SOURCE_PORT, "drop_udp_source_port", COUNTER_SUM, "UDP datagrams from port 0: they cannot be answered") \
	X(UDP_OTHER_PORT, "drop_udp_other_port", COUNTER_SUM, "UDP datagrams for another port than the server's")
/* clang-format on */

#define PACKET_DROP_ENUM(id, name, kind, help) PACKET_DROP_##id,
enum packet_drop { PACKET_DROPS(PACKET_DROP_ENUM) PACKET_DROP_COUNT };

enum packet_kind {
	PACKET_REFUSED,           /* drop says why */
	PACKET_ARP_REQUEST,       /* for our address; answer with packet_arp_reply */
	PACKET_ECHO_REQUEST,      /* a ping; answer with packet_echo_reply */
	PACKET_NEIGHBOUR_REQUEST, /* for an address of ours; answer with packet_neighbour_reply */
	PACKET_UDP,               /* for our port: payload_at, payload_bytes */
};

/* Whom a port answers for. IPv4 addresses are host order numbers: 10.0.0.1 is 0x0a000001. IPv6
 * addresses are bytes as on the wire. With IPv6 it has two: the configured one, and the link-local
 * one that follows from the MAC; all is answered at both, as a kernel socket on :: would. */
struct packet_local {
	uint8_t mac[6];
	uint16_t vlan; /* 0: untagged */
	uint32_t ip;
	uint16_t udp_port;
	bool has_ip6;
	uint8_t ip6[16];
	uint8_t link_ip6[16]; /* packet_link_local(mac) */
};

/* fe80:: and the MAC as modified EUI-64 (RFC 4291, appendix A). */
void packet_link_local(const uint8_t mac[6], uint8_t ip6[16]);

/* An address that one host can have and that no IPv4 address is mapped to: not in ::/80 (::, ::1,
 * ::ffff:a.b.c.d), not multicast. */
bool packet_is_host6(const uint8_t ip6[16]);

/* The Ethernet groups that neighbour discovery for local needs, each once: all nodes, and the
 * solicited-node groups of its addresses (RFC 2464 7, 4291 2.7.1). Returns how many, 0 without
 * IPv6. */
#define PACKET_GROUPS_MAX 3u
uint32_t packet_groups(const struct packet_local *local, uint8_t groups[PACKET_GROUPS_MAX][6]);

/* A received frame, contiguous, without frame check sequence. */
struct packet_frame {
	const uint8_t *data;
	uint32_t bytes;
	bool vlan_stripped;    /* the port took the tag off; vlan_tci has it */
	uint16_t vlan_tci;     /* priority, DEI, id */
	bool ip_checksum_good; /* the port has checked: do not sum again */
	bool l4_checksum_good;
};

struct packet {
	enum packet_kind kind;
	enum packet_drop drop; /* if REFUSED */
	uint8_t from_mac[6];   /* the next hop back */
	uint16_t from_port;    /* UDP */
	uint32_t from_ip;      /* IPv4, and ARP: the sender's address */
	uint32_t l3_at;        /* offset of the ARP or IP header */
	uint32_t payload_at;   /* offset of the UDP payload, or of the ICMP message */
	uint32_t payload_bytes;
	bool is_ip6;      /* from_ip6 counts, not from_ip */
	bool to_link_ip6; /* it was for our link-local address, which the answer comes from */
	uint8_t from_ip6[16];
};

/* Reads one frame. TTL is no reason to drop (RFC 1122 3.2.1.7). A UDP checksum of 0 means none was
 * made and is accepted over IPv4 (RFC 768). Bytes after the IP packet's length are padding. */
void packet_parse(
	const struct packet_frame *frame, const struct packet_local *local, struct packet *out);

#define PACKET_ETH_BYTES    14u
#define PACKET_VLAN_BYTES   4u
#define PACKET_IPV4_BYTES   20u
#define PACKET_IPV6_BYTES   40u
#define PACKET_UDP_BYTES    8u
#define PACKET_ICMP_BYTES   8u
#define PACKET_ARP_BYTES    28u
#define PACKET_PROTOCOL_UDP 17u
#define PACKET_LINK_BYTES_MAX                                                                      \
	(PACKET_ETH_BYTES + PACKET_VLAN_BYTES + PACKET_IPV6_BYTES + PACKET_UDP_BYTES)

/* Write the answer to a frame that packet_parse named so into out[out_bytes], which does not
 * overlap the frame. Return its length, or 0 when it does not fit (an ARP answer has 42 or 46
 * bytes, a neighbour advertisement 86 or 90, a ping answer no more than the ping). Checksums are
 * complete. */
uint32_t packet_arp_reply(const struct packet *packet, const struct packet_local *local,
	uint8_t *out, uint32_t out_bytes);
uint32_t packet_echo_reply(const struct packet_frame *frame, const struct packet *packet,
	const struct packet_local *local, uint8_t *out, uint32_t out_bytes);
uint32_t packet_neighbour_reply(const struct packet *packet, const struct packet_local *local,
	uint8_t *out, uint32_t out_bytes);

/* All headers in front of a UDP payload to one destination, prebuilt; lengths, id and checksums are
 * filled in for each datagram. The header is last, so that IPv4's share of it ends within 60 bytes.
 */
struct packet_link {
	uint32_t ip_sum;     /* of the IPv4 header with length, id and checksum 0 */
	uint32_t pseudo_sum; /* of the pseudo header without its length */
	uint8_t bytes;       /* 42, or 46 with a tag; over IPv6 62 or 66 */
	bool is_ip6;
	uint8_t header[PACKET_LINK_BYTES_MAX];
};

void packet_link_build(struct packet_link *link, const struct packet_local *local,
	const uint8_t to_mac[6], uint32_t to_ip, uint16_t to_port);
/* from_link: from our link-local address. The flow label is 0. */
void packet_link_build6(struct packet_link *link, const struct packet_local *local, bool from_link,
	const uint8_t to_mac[6], const uint8_t to_ip6[16], uint16_t to_port);

/* The way back to where a UDP packet came from. */
void packet_link_back(
	struct packet_link *link, const struct packet_local *local, const struct packet *packet);

/* Writes the headers at frame; the payload already stands link->bytes after it. ip_id (IPv4) should
 * differ between datagrams (DF is not set, so that a path with a small MTU still works). With
 * checksum_offload the port finishes the job: the IPv4 checksum is 0 and UDP's is the pseudo
 * header's sum, as DPDK wants it. payload_bytes is at most 65,507. Returns the frame's length. */
uint32_t packet_link_write(const struct packet_link *link, uint8_t *frame, uint32_t payload_bytes,
	uint16_t ip_id, bool checksum_offload);

/* The same in two steps, without offload: first everything but the UDP checksum, which stays 0;
 * later, when the bytes have been in the cache for a while, that too. Reading what was written a
 * moment ago in other pieces costs more than the sum itself. udp: the frame's UDP header, right
 * behind the IP header. */
static inline uint32_t packet_link_put(
	const struct packet_link *link, uint8_t *frame, uint32_t payload_bytes, uint16_t ip_id);
void packet_udp_seal(uint8_t *udp, bool is_ip6);

/* Big-endian reads and writes at any alignment; the caller has checked the bounds. */
static inline uint16_t packet_get16(const uint8_t *p)
{
	return (uint16_t)(p[0] << 8 | p[1]);
}

static inline uint32_t packet_get32(const uint8_t *p)
{
	return (uint32_t)p[0] << 24 | (uint32_t)p[1] << 16 | (uint32_t)p[2] << 8 | p[3];
}

static inline void packet_put16(uint8_t *p, uint16_t v)
{
	p[0] = (uint8_t)(v >> 8);
	p[1] = (uint8_t)v;
}

static inline void packet_put32(uint8_t *p, uint32_t v)
{
	packet_put16(p, (uint16_t)(v >> 16));
	packet_put16(p + 2, (uint16_t)v);
}

/* Whether link is the way back already. A link that was never built is for MAC 0, which nobody has.
 */
bool packet_link_is_back(const struct packet_link *link, const struct packet_local *local,
	const struct packet *packet);

/* The Internet checksum (RFC 1071). Sums are of 16-bit words in memory order, so that neither needs
 * swapping: add parts of even length (only the last may be odd), fold, and store as it lies. */
uint64_t packet_sum(uint64_t sum, const uint8_t *bytes, uint32_t count);
uint16_t packet_sum_fold(uint64_t sum);

/* A 16-bit number as it adds to a sum: the word that stands in memory for it. */
static inline uint32_t packet_sum_word(uint16_t v)
{
	uint8_t bytes[2];
	uint16_t word;

	packet_put16(bytes, v);
	memcpy(&word, bytes, 2);
	return word;
}

/* A number whose bytes lie in memory as v's would big-endian. */
static inline uint32_t packet_lying32(uint32_t v)
{
	return __BYTE_ORDER__ == __ORDER_LITTLE_ENDIAN__ ? __builtin_bswap32(v) : v;
}

static inline void packet_put_sum(uint8_t *p, uint16_t folded)
{
	memcpy(p, &folded, 2);
}

/* Length, id and checksum of a prebuilt IPv4 header. */
static inline void packet_put_ipv4(
	const struct packet_link *link, uint8_t *ip, uint32_t udp_bytes, uint16_t ip_id)
{
	/* length and id as they lie there, side by side */
	uint32_t numbers = packet_lying32((PACKET_IPV4_BYTES + udp_bytes) << 16 | (uint32_t)ip_id);
	uint32_t sum = link->ip_sum + (numbers & 0xffff) + (numbers >> 16);

	sum = (sum & 0xffff) + (sum >> 16); /* three words: at most 0xffff + 2 */
	memcpy(ip + 2, &numbers, 4);
	packet_put_sum(ip + 10, (uint16_t) ~(sum + (sum >> 16)));
}

/* Any other link than below. */
uint32_t packet_link_put_any(
	const struct packet_link *link, uint8_t *frame, uint32_t payload_bytes, uint16_t ip_id);

/* Inline for untagged IPv4: a copy of known length and four numbers. */
static inline uint32_t packet_link_put(
	const struct packet_link *link, uint8_t *frame, uint32_t payload_bytes, uint16_t ip_id)
{
	enum { BYTES = PACKET_ETH_BYTES + PACKET_IPV4_BYTES + PACKET_UDP_BYTES };
	uint32_t udp_bytes = PACKET_UDP_BYTES + payload_bytes;

	if (link->bytes != BYTES)
		return packet_link_put_any(link, frame, payload_bytes, ip_id);
	memcpy(frame, link->header, BYTES);
	packet_put_ipv4(link, frame + PACKET_ETH_BYTES, udp_bytes, ip_id);
	packet_put16(frame + BYTES - 4, (uint16_t)udp_bytes);
	return BYTES + payload_bytes;
}

#endif
