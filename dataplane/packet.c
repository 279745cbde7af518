#include <string.h>

#include "dataplane/packet_internal.h"
#include "dataplane/packet_plain.h"

enum {
	ETHERTYPE_IPV4 = 0x0800,
	ETHERTYPE_ARP = 0x0806,
	ETHERTYPE_VLAN = 0x8100,
	ETHERTYPE_QINQ = 0x88a8,
	PROTOCOL_ICMP = 1,
	ARP_REQUEST = 1,
	ARP_REPLY = 2,
	ICMP_ECHO_REPLY = 0,
	ICMP_ECHO_REQUEST = 8,
	LINK4_BYTES = PACKET_ETH_BYTES + PACKET_IPV4_BYTES + PACKET_UDP_BYTES,
};

static inline uint32_t word32(const uint8_t *bytes)
{
	uint32_t word;

	memcpy(&word, bytes, 4);
	return word;
}

/* Inline, so that a length known here (an IPv4 header without options) becomes a few additions. */
static inline __attribute__((always_inline)) uint64_t add_words(
	uint64_t sum, const uint8_t *bytes, uint32_t count)
{
	/* Two chains of additions, each waiting for its own carries alone. */
	uint64_t other = 0, last = 0;

	for (; count >= 16; bytes += 16, count -= 16) {
		sum = packet_add_carry(sum, packet_word64(bytes));
		other = packet_add_carry(other, packet_word64(bytes + 8));
	}
	sum = packet_add_carry(sum, other);
	if (count & 8) {
		sum = packet_add_carry(sum, packet_word64(bytes));
		bytes += 8;
	}
	if (count & 4) {
		sum = packet_add_carry(sum, word32(bytes));
		bytes += 4;
	}
	if (count & 2) {
		uint16_t half;

		memcpy(&half, bytes, 2);
		last = half;
		bytes += 2;
	}
	if (count & 1) { /* as if a zero followed */
		uint16_t half = 0;

		memcpy(&half, bytes, 1);
		last += half;
	}
	return packet_add_carry(sum, last);
}

uint64_t packet_sum(uint64_t sum, const uint8_t *bytes, uint32_t count)
{
	sum = add_words(sum, bytes, count);
	return (sum & 0xffffffffu) + (sum >> 32); /* so that callers can add to it */
}

static inline uint16_t fold(uint64_t sum)
{
	uint32_t half = (uint32_t)sum, top = (uint32_t)(sum >> 32);

	half += top;
	half += half < top;                    /* the carry, back in */
	half = (half & 0xffff) + (half >> 16); /* at most 0xffff + 0xffff */
	return (uint16_t)((half & 0xffff) + (half >> 16));
}

uint16_t packet_sum_fold(uint64_t sum)
{
	return fold(sum);
}

/* Source, destination and protocol: the pseudo header without its length. */
static uint64_t pseudo_sum(const uint8_t *ip, uint8_t protocol)
{
	return add_words(packet_sum_word(protocol), ip + 12, 8);
}

static bool mac_is_zero(const uint8_t *mac)
{
	static const uint8_t zero[6];

	return !memcmp(mac, zero, 6);
}

static void parse_arp(
	const uint8_t *arp, uint32_t bytes, const struct packet_local *local, struct packet *out)
{
	uint32_t from_ip;

	if (bytes < PACKET_ARP_BYTES)
		return packet_refuse(out, PACKET_DROP_ARP_SHORT);
	if (packet_get16(arp) != 1 || packet_get16(arp + 2) != ETHERTYPE_IPV4 || arp[4] != 6 ||
		arp[5] != 4)
		return packet_refuse(out, PACKET_DROP_ARP_MALFORMED);
	if (packet_get16(arp + 6) != ARP_REQUEST || packet_get32(arp + 24) != local->ip)
		return packet_refuse(out, PACKET_DROP_ARP_OTHER);
	/* Sender 0.0.0.0 is a probe before an address is taken (RFC 5227): it is answered. The
	 * answer goes to the frame's source, which must be the sender that ARP names. */
	from_ip = packet_get32(arp + 14);
	if (memcmp(arp + 8, out->from_mac, 6) ||
		(from_ip && packet_source_impossible(from_ip, local->ip)))
		return packet_refuse(out, PACKET_DROP_ARP_MALFORMED);
	out->kind = PACKET_ARP_REQUEST;
	out->from_ip = from_ip;
}

static void parse_icmp(const uint8_t *icmp, uint32_t bytes, struct packet *out)
{
	if (bytes < PACKET_ICMP_BYTES)
		return packet_refuse(out, PACKET_DROP_ICMP_SHORT);
	/* Ports check TCP and UDP; what they say of ICMP differs, so it is summed here. */
	if (fold(add_words(0, icmp, bytes)) != 0xffff)
		return packet_refuse(out, PACKET_DROP_ICMP_CHECKSUM);
	if (icmp[0] != ICMP_ECHO_REQUEST || icmp[1] != 0)
		return packet_refuse(out, PACKET_DROP_ICMP_OTHER);
	out->kind = PACKET_ECHO_REQUEST;
	out->payload_bytes = bytes;
}

void packet_parse_udp(const uint8_t *udp, uint32_t bytes, const struct packet_frame *frame,
	const struct packet_local *local, const uint8_t *addresses, struct packet *out)
{
	uint32_t udp_bytes;

	if (bytes < PACKET_UDP_BYTES)
		return packet_refuse(out, PACKET_DROP_UDP_SHORT);
	udp_bytes = packet_get16(udp + 4);
	if (udp_bytes < PACKET_UDP_BYTES || udp_bytes > bytes)
		return packet_refuse(out, PACKET_DROP_UDP_LENGTH);
	if (packet_get16(udp + 2) != local->udp_port)
		return packet_refuse(out, PACKET_DROP_UDP_OTHER_PORT);
	if (packet_get16(udp) == 0)
		return packet_refuse(out, PACKET_DROP_UDP_SOURCE_PORT);
	if (packet_get16(udp + 6) == 0) {
		if (out->is_ip6)
			return packet_refuse(out, PACKET_DROP_UDP_NO_CHECKSUM);
	} else if (!frame->l4_checksum_good) {
		uint64_t sum =
			packet_sum_word(PACKET_PROTOCOL_UDP) + packet_sum_word((uint16_t)udp_bytes);

		sum = add_words(sum, addresses, out->is_ip6 ? 32 : 8);
		if (fold(add_words(sum, udp, udp_bytes)) != 0xffff)
			return packet_refuse(out, PACKET_DROP_UDP_CHECKSUM);
	}
	out->kind = PACKET_UDP;
	out->from_port = packet_get16(udp);
	out->payload_at += PACKET_UDP_BYTES;
	out->payload_bytes = udp_bytes - PACKET_UDP_BYTES;
}

static bool header_sound(const uint8_t *ip, uint32_t header_bytes)
{
	uint64_t sum = header_bytes == PACKET_IPV4_BYTES ? add_words(0, ip, PACKET_IPV4_BYTES)
							 : add_words(0, ip, header_bytes);

	return fold(sum) == 0xffff;
}

static void parse_ipv4(const uint8_t *ip, uint32_t bytes, const struct packet_frame *frame,
	const struct packet_local *local, struct packet *out)
{
	uint32_t header_bytes, total_bytes;

	if (bytes < PACKET_IPV4_BYTES)
		return packet_refuse(out, PACKET_DROP_IPV4_SHORT);
	if (ip[0] >> 4 != 4)
		return packet_refuse(out, PACKET_DROP_IPV4_VERSION);
	header_bytes = (ip[0] & 0xfu) * 4;
	if (header_bytes < PACKET_IPV4_BYTES || header_bytes > bytes)
		return packet_refuse(out, PACKET_DROP_IPV4_HEADER_LENGTH);
	total_bytes = packet_get16(ip + 2);
	if (total_bytes < header_bytes || total_bytes > bytes)
		return packet_refuse(out, PACKET_DROP_IPV4_TOTAL_LENGTH);
	if (!frame->ip_checksum_good && !header_sound(ip, header_bytes))
		return packet_refuse(out, PACKET_DROP_IPV4_CHECKSUM);
	if (packet_get32(ip + 16) != local->ip)
		return packet_refuse(out, PACKET_DROP_IPV4_OTHER_ADDRESS);
	if (header_bytes > PACKET_IPV4_BYTES)
		return packet_refuse(out, PACKET_DROP_IPV4_OPTIONS);
	/* More fragments, or an offset; DF is fine. */
	if (packet_get16(ip + 6) & 0x3fff)
		return packet_refuse(out, PACKET_DROP_IPV4_FRAGMENT);
	out->from_ip = packet_get32(ip + 12);
	if (packet_source_impossible(out->from_ip, local->ip))
		return packet_refuse(out, PACKET_DROP_IPV4_SOURCE);
	out->payload_at = out->l3_at + header_bytes;
	if (ip[9] == PACKET_PROTOCOL_UDP)
		packet_parse_udp(
			ip + header_bytes, total_bytes - header_bytes, frame, local, ip + 12, out);
	else if (ip[9] == PROTOCOL_ICMP)
		parse_icmp(ip + header_bytes, total_bytes - header_bytes, out);
	else
		packet_refuse(out, PACKET_DROP_IPV4_PROTOCOL);
}

__attribute__((noinline)) void packet_parse_any(
	const struct packet_frame *frame, const struct packet_local *local, struct packet *out)
{
	const uint8_t *data = frame->data;
	uint32_t at = PACKET_ETH_BYTES;
	uint16_t vlan = frame->vlan_stripped ? frame->vlan_tci & 0xfff : 0;
	uint16_t type;

	memset(out, 0, sizeof(*out));
	if (frame->bytes < PACKET_ETH_BYTES)
		return packet_refuse(out, PACKET_DROP_ETH_SHORT);
	type = packet_get16(data + 12);
	memcpy(out->from_mac, data + 6, 6);
	if ((out->from_mac[0] & 1) || mac_is_zero(out->from_mac) ||
		!memcmp(out->from_mac, local->mac, 6))
		return packet_refuse(out, PACKET_DROP_ETH_SOURCE);
	if (type == ETHERTYPE_QINQ)
		return packet_refuse(out, PACKET_DROP_VLAN_NESTED);
	if (type == ETHERTYPE_VLAN) {
		if (frame->vlan_stripped)
			return packet_refuse(out, PACKET_DROP_VLAN_NESTED);
		if (frame->bytes < PACKET_ETH_BYTES + PACKET_VLAN_BYTES)
			return packet_refuse(out, PACKET_DROP_ETH_SHORT);
		/* Id 0 is a priority tag: as untagged (802.1Q 6.9.1). */
		vlan = packet_get16(data + 14) & 0xfff;
		type = packet_get16(data + 16);
		at += PACKET_VLAN_BYTES;
		if (type == ETHERTYPE_VLAN || type == ETHERTYPE_QINQ)
			return packet_refuse(out, PACKET_DROP_VLAN_NESTED);
	}
	if (vlan != local->vlan)
		return packet_refuse(out, PACKET_DROP_VLAN_OTHER);
	out->l3_at = at;
	if (type == PACKET_ETHERTYPE_IPV6)
		return packet_parse_ipv6(frame, local, out);
	/* For us, or a broadcast ARP. */
	if (memcmp(data, local->mac, 6) && !((data[0] & 1) && type == ETHERTYPE_ARP))
		return packet_refuse(out, PACKET_DROP_ETH_OTHER_MAC);
	switch (type) {
	case ETHERTYPE_ARP:
		return parse_arp(data + at, frame->bytes - at, local, out);
	case ETHERTYPE_IPV4:
		return parse_ipv4(data + at, frame->bytes - at, frame, local, out);
	default:
		return packet_refuse(out, PACKET_DROP_ETH_TYPE);
	}
}

static void put_ipv4(uint8_t *ip, uint16_t total_bytes, uint16_t id, uint8_t protocol,
	uint32_t from_ip, uint32_t to_ip);

void packet_plain_prepare(struct packet_plain *plain, const struct packet_local *local)
{
	static const uint8_t at[] = {0, 16, 26};
	uint8_t frame[PACKET_PLAIN_BYTES] = {0};
	uint8_t *ip = frame + packet_put_ethernet(frame, local, local->mac, ETHERTYPE_IPV4);

	plain->none = local->vlan != 0;
	if (plain->none)
		return;
	memset(frame + 6, 0, 6); /* the source: anyone's */
	put_ipv4(ip, 0, 0, PACKET_PROTOCOL_UDP, 0, local->ip);
	packet_put16(ip + PACKET_IPV4_BYTES + 2, local->udp_port);
	for (uint32_t i = 0; i < sizeof(at); i++)
		plain->word[i] = packet_load_wide(frame + at[i]);
	plain->own_mac = packet_mac(local->mac);
	plain->own_ip = local->ip;
}

void packet_parse(
	const struct packet_frame *frame, const struct packet_local *local, struct packet *out)
{
	struct packet_plain plain;

	packet_plain_prepare(&plain, local);
	if (!packet_parse_plain(&plain, frame, out))
		packet_parse_any(frame, local, out);
}

uint32_t packet_put_ethernet(
	uint8_t *out, const struct packet_local *local, const uint8_t *to_mac, uint16_t type)
{
	uint32_t at = 12;

	memcpy(out, to_mac, 6);
	memcpy(out + 6, local->mac, 6);
	if (local->vlan) {
		packet_put16(out + at, ETHERTYPE_VLAN);
		packet_put16(out + at + 2, local->vlan);
		at += PACKET_VLAN_BYTES;
	}
	packet_put16(out + at, type);
	return at + 2;
}

uint32_t packet_arp_reply(const struct packet *packet, const struct packet_local *local,
	uint8_t *out, uint32_t out_bytes)
{
	uint8_t *arp;

	if (out_bytes < packet_ethernet_bytes(local) + PACKET_ARP_BYTES)
		return 0;
	arp = out + packet_put_ethernet(out, local, packet->from_mac, ETHERTYPE_ARP);
	packet_put16(arp, 1);
	packet_put16(arp + 2, ETHERTYPE_IPV4);
	arp[4] = 6;
	arp[5] = 4;
	packet_put16(arp + 6, ARP_REPLY);
	memcpy(arp + 8, local->mac, 6);
	packet_put32(arp + 14, local->ip);
	memcpy(arp + 18, packet->from_mac, 6);
	packet_put32(arp + 24, packet->from_ip);
	return packet_ethernet_bytes(local) + PACKET_ARP_BYTES;
}

static void put_ipv4(uint8_t *ip, uint16_t total_bytes, uint16_t id, uint8_t protocol,
	uint32_t from_ip, uint32_t to_ip)
{
	memset(ip, 0, PACKET_IPV4_BYTES);
	ip[0] = 0x45;
	packet_put16(ip + 2, total_bytes);
	packet_put16(ip + 4, id);
	ip[8] = PACKET_TTL;
	ip[9] = protocol;
	packet_put32(ip + 12, from_ip);
	packet_put32(ip + 16, to_ip);
}

uint32_t packet_echo_reply(const struct packet_frame *frame, const struct packet *packet,
	const struct packet_local *local, uint8_t *out, uint32_t out_bytes)
{
	uint32_t bytes = packet_ethernet_bytes(local) + PACKET_IPV4_BYTES + packet->payload_bytes;
	const uint8_t *request_ip = frame->data + packet->l3_at;
	uint8_t *ip, *icmp;

	if (packet->is_ip6)
		return packet_echo_reply6(frame, packet, local, out, out_bytes);
	if (out_bytes < bytes)
		return 0;
	ip = out + packet_put_ethernet(out, local, packet->from_mac, ETHERTYPE_IPV4);
	put_ipv4(ip, (uint16_t)(PACKET_IPV4_BYTES + packet->payload_bytes),
		packet_get16(request_ip + 4), PROTOCOL_ICMP, local->ip, packet->from_ip);
	packet_put_sum(ip + 10, (uint16_t)~fold(add_words(0, ip, PACKET_IPV4_BYTES)));
	icmp = ip + PACKET_IPV4_BYTES;
	memcpy(icmp, frame->data + packet->payload_at, packet->payload_bytes);
	icmp[0] = ICMP_ECHO_REPLY;
	packet_put_sum(icmp + 2, 0);
	packet_put_sum(icmp + 2, (uint16_t)~fold(add_words(0, icmp, packet->payload_bytes)));
	return bytes;
}

void packet_link_build(struct packet_link *link, const struct packet_local *local,
	const uint8_t to_mac[6], uint32_t to_ip, uint16_t to_port)
{
	uint8_t *ip, *udp;

	memset(link, 0, sizeof(*link));
	ip = link->header + packet_put_ethernet(link->header, local, to_mac, ETHERTYPE_IPV4);
	put_ipv4(ip, 0, 0, PACKET_PROTOCOL_UDP, local->ip, to_ip);
	udp = ip + PACKET_IPV4_BYTES;
	packet_put16(udp, local->udp_port);
	packet_put16(udp + 2, to_port);
	link->bytes = (uint8_t)(udp + PACKET_UDP_BYTES - link->header);
	link->ip_sum = fold(add_words(0, ip, PACKET_IPV4_BYTES));
	link->pseudo_sum = fold(pseudo_sum(ip, PACKET_PROTOCOL_UDP));
}

void packet_link_back(
	struct packet_link *link, const struct packet_local *local, const struct packet *packet)
{
	if (packet->is_ip6)
		packet_link_build6(link, local, packet->to_link_ip6, packet->from_mac,
			packet->from_ip6, packet->from_port);
	else
		packet_link_build(
			link, local, packet->from_mac, packet->from_ip, packet->from_port);
}

bool packet_link_is_back(const struct packet_link *link, const struct packet_local *local,
	const struct packet *packet)
{
	const uint8_t *udp = link->header + link->bytes - PACKET_UDP_BYTES;

	if (memcmp(link->header, packet->from_mac, 6) || memcmp(link->header + 6, local->mac, 6) ||
		link->is_ip6 != packet->is_ip6)
		return false;
	if (packet_get16(udp + 2) != packet->from_port)
		return false;
	if (!packet->is_ip6)
		return packet_get32(udp - 4) == packet->from_ip;
	return !memcmp(udp - 16, packet->from_ip6, 16) &&
	       !memcmp(udp - 32, packet_own_ip6(local, packet->to_link_ip6), 16);
}

uint32_t packet_link_put_any(
	const struct packet_link *link, uint8_t *frame, uint32_t payload_bytes, uint16_t ip_id)
{
	uint8_t *udp = frame + link->bytes - PACKET_UDP_BYTES;
	uint32_t udp_bytes = PACKET_UDP_BYTES + payload_bytes;

	memcpy(frame, link->header, link->bytes);
	if (link->is_ip6)
		packet_put16(udp - PACKET_IPV6_BYTES + 4, (uint16_t)udp_bytes);
	else
		packet_put_ipv4(link, udp - PACKET_IPV4_BYTES, udp_bytes, ip_id);
	packet_put16(udp + 4, (uint16_t)udp_bytes);
	return link->bytes + payload_bytes;
}

void packet_udp_seal(uint8_t *udp, bool is_ip6)
{
	packet_seal(udp, is_ip6);
}

uint32_t packet_link_write(const struct packet_link *link, uint8_t *frame, uint32_t payload_bytes,
	uint16_t ip_id, bool checksum_offload)
{
	uint8_t *udp = frame + link->bytes - PACKET_UDP_BYTES;
	uint32_t bytes = packet_link_put(link, frame, payload_bytes, ip_id);

	if (checksum_offload) {
		if (!link->is_ip6)
			packet_put_sum(udp - PACKET_IPV4_BYTES + 10, 0);
		packet_put_sum(udp + 6,
			fold(link->pseudo_sum +
				packet_sum_word((uint16_t)(PACKET_UDP_BYTES + payload_bytes))));
	} else {
		packet_udp_seal(udp, link->is_ip6);
	}
	return bytes;
}
