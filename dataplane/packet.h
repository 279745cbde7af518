/* packet.h: Ethernet, 802.1Q, ARP, ICMP echo, IPv4 and UDP headers, read and written.
 *
 * Pure: bytes in, a description or bytes out; no DPDK, clock or state, any thread. Every read is
 * bounded by the frame's length; a frame is either understood completely or refused by name.
 * RFC 826 (ARP), 791 and 1122 (IPv4), 792 (ICMP), 768 (UDP), IEEE 802.1Q. */
#ifndef SW_DATAPLANE_PACKET_H
#define SW_DATAPLANE_PACKET_H

#include <stdbool.h>
#include <stdint.h>

#include "common/counter.h"

/* Why a frame goes no further. X(id, name, kind, help): the metric's name and help; the worker's
 * counter list (counters.h) begins with this one. */
/* clang-format off */
#define PACKET_DROPS(X) \
	X(ETH_SHORT, "drop_eth_short", COUNTER_SUM, "frames shorter than an Ethernet header and its tag") \
	X(ETH_SOURCE, "drop_eth_source", COUNTER_SUM, "frames whose source MAC is a group address, zero, or our own (a loop, or a forged frame)") \
	X(ETH_OTHER_MAC, "drop_eth_other_mac", COUNTER_SUM, "frames for another station's MAC (promiscuous port, flooding switch), and group frames that are not ARP") \
	X(ETH_TYPE, "drop_eth_type", COUNTER_SUM, "frames that are neither ARP, IPv4 nor IPv6 (LLDP, STP, ...)") \
	X(VLAN_OTHER, "drop_vlan_other", COUNTER_SUM, "frames of another VLAN than the port's: tagged where none is configured, or untagged where one is") \
	X(VLAN_NESTED, "drop_vlan_nested", COUNTER_SUM, "frames with a second VLAN tag") \
	X(ARP_SHORT, "drop_arp_short", COUNTER_SUM, "ARP frames shorter than an Ethernet/IPv4 ARP") \
	X(ARP_MALFORMED, "drop_arp_malformed", COUNTER_SUM, "ARP frames of other hardware or protocol, or with a forged sender") \
	X(ARP_OTHER, "drop_arp_other", COUNTER_SUM, "ARP frames that are no request for our address; usual on a shared wire") \
	X(IPV6, "drop_ipv6", COUNTER_SUM, "IPv6 frames: this server speaks IPv4 only") \
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
	X(UDP_LENGTH, "drop_udp_length", COUNTER_SUM, "UDP lengths below 8 or above what the IPv4 packet carries") \
	X(UDP_CHECKSUM, "drop_udp_checksum", COUNTER_SUM, "UDP datagrams with a wrong checksum (on veth the far end leaves it to hardware that is not there: ethtool -K <far end> tx off)") \
	X(UDP_SOURCE_PORT, "drop_udp_source_port", COUNTER_SUM, "UDP datagrams from port 0: they cannot be answered") \
	X(UDP_OTHER_PORT, "drop_udp_other_port", COUNTER_SUM, "UDP datagrams for another port than the server's")
/* clang-format on */

#define PACKET_DROP_ENUM(id, name, kind, help) PACKET_DROP_##id,
enum packet_drop { PACKET_DROPS(PACKET_DROP_ENUM) PACKET_DROP_COUNT };

enum packet_kind {
	PACKET_REFUSED,      /* drop says why */
	PACKET_ARP_REQUEST,  /* for our address; answer with packet_arp_reply */
	PACKET_ECHO_REQUEST, /* a ping; answer with packet_echo_reply */
	PACKET_UDP,          /* for our port: payload_at, payload_bytes */
};

/* Whom a port answers for. Addresses are host order numbers: 10.0.0.1 is 0x0a000001. */
struct packet_local {
	uint8_t mac[6];
	uint16_t vlan; /* 0: untagged */
	uint32_t ip;
	uint16_t udp_port;
};

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
	uint32_t from_ip;      /* ARP: the sender's address */
	uint32_t l3_at;        /* offset of the ARP or IPv4 header */
	uint32_t payload_at;   /* offset of the UDP payload, or of the ICMP message */
	uint32_t payload_bytes;
};

/* Reads one frame. TTL is no reason to drop (RFC 1122 3.2.1.7). A UDP checksum of 0 means none was
 * made and is accepted (RFC 768). Bytes after the IPv4 total length are padding. */
void packet_parse(
	const struct packet_frame *frame, const struct packet_local *local, struct packet *out);

#define PACKET_ETH_BYTES  14u
#define PACKET_VLAN_BYTES 4u
#define PACKET_IPV4_BYTES 20u
#define PACKET_UDP_BYTES  8u
#define PACKET_ICMP_BYTES 8u
#define PACKET_ARP_BYTES  28u
#define PACKET_LINK_BYTES_MAX                                                                      \
	(PACKET_ETH_BYTES + PACKET_VLAN_BYTES + PACKET_IPV4_BYTES + PACKET_UDP_BYTES)

/* Write the answer to a frame that packet_parse named so into out[out_bytes], which does not
 * overlap the frame. Return its length, or 0 when it does not fit (an ARP answer has 42 or 46
 * bytes, a ping answer no more than the ping). Checksums are complete. */
uint32_t packet_arp_reply(const struct packet *packet, const struct packet_local *local,
	uint8_t *out, uint32_t out_bytes);
uint32_t packet_echo_reply(const struct packet_frame *frame, const struct packet *packet,
	const struct packet_local *local, uint8_t *out, uint32_t out_bytes);

/* All headers in front of a UDP payload to one destination, prebuilt; lengths, id and checksums are
 * filled in for each datagram. */
struct packet_link {
	uint8_t header[PACKET_LINK_BYTES_MAX];
	uint8_t bytes;       /* 42, or 46 with a tag */
	uint32_t ip_sum;     /* of the IPv4 header with length, id and checksum 0 */
	uint32_t pseudo_sum; /* of the pseudo header without its length */
};

void packet_link_build(struct packet_link *link, const struct packet_local *local,
	const uint8_t to_mac[6], uint32_t to_ip, uint16_t to_port);

/* Writes the headers at frame; the payload already stands link->bytes after it. ip_id should differ
 * between datagrams (DF is not set, so that a path with a small MTU still works). With
 * checksum_offload the port finishes the job: the IPv4 checksum is 0 and UDP's is the pseudo
 * header's sum, as DPDK wants it. payload_bytes is at most 65,507. Returns the frame's length. */
uint32_t packet_link_write(const struct packet_link *link, uint8_t *frame, uint32_t payload_bytes,
	uint16_t ip_id, bool checksum_offload);

/* The same in two steps, without offload: first everything but the UDP checksum, which stays 0;
 * later, when the bytes have been in the cache for a while, that too. Reading what was written a
 * moment ago in other pieces costs more than the sum itself. udp: the frame's UDP header. */
uint32_t packet_link_put(
	const struct packet_link *link, uint8_t *frame, uint32_t payload_bytes, uint16_t ip_id);
void packet_udp_seal(uint8_t *udp);

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

/* The Internet checksum (RFC 1071). Sums are of 16-bit words in memory order, so that neither needs
 * swapping: add parts of even length (only the last may be odd), fold, and store as it lies. */
uint64_t packet_sum(uint64_t sum, const uint8_t *bytes, uint32_t count);
uint16_t packet_sum_fold(uint64_t sum);

#endif
