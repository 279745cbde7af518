/* packet_internal.h: what packet.c and packet6.c use of each other. packet.h is the manual. */
#ifndef SW_DATAPLANE_PACKET_INTERNAL_H
#define SW_DATAPLANE_PACKET_INTERNAL_H

#include <string.h>

#include "dataplane/packet.h"

enum {
	PACKET_ETHERTYPE_IPV6 = 0x86dd,
	PACKET_TTL = 64,
};

static inline void packet_refuse(struct packet *out, enum packet_drop drop)
{
	out->kind = PACKET_REFUSED;
	out->drop = drop;
}

/* Of what is sent from local: header and tag. */
static inline uint32_t packet_ethernet_bytes(const struct packet_local *local)
{
	return PACKET_ETH_BYTES + (local->vlan ? PACKET_VLAN_BYTES : 0);
}

static inline const uint8_t *packet_own_ip6(const struct packet_local *local, bool link)
{
	return link ? local->link_ip6 : local->ip6;
}

/* packet_parse without its short way: it alone decides what a frame is that is not plain. */
void packet_parse_any(
	const struct packet_frame *frame, const struct packet_local *local, struct packet *out);

/* Whether two readings of one frame say the same, for tests. */
static inline bool packet_same(const struct packet *a, const struct packet *b)
{
	if (a->kind != b->kind)
		return false;
	if (a->kind == PACKET_REFUSED)
		return a->drop == b->drop;
	return !memcmp(a->from_mac, b->from_mac, 6) && a->from_port == b->from_port &&
	       a->from_ip == b->from_ip && a->l3_at == b->l3_at && a->payload_at == b->payload_at &&
	       a->payload_bytes == b->payload_bytes && a->is_ip6 == b->is_ip6 &&
	       a->to_link_ip6 == b->to_link_ip6 &&
	       (!a->is_ip6 || !memcmp(a->from_ip6, b->from_ip6, 16));
}

/* Returns the header's bytes. */
uint32_t packet_put_ethernet(
	uint8_t *out, const struct packet_local *local, const uint8_t *to_mac, uint16_t type);

/* UDP behind either IP header; addresses are source and destination as they lie in it. */
void packet_parse_udp(const uint8_t *udp, uint32_t bytes, const struct packet_frame *frame,
	const struct packet_local *local, const uint8_t *addresses, struct packet *out);

/* packet6.c. out->l3_at is set; the destination MAC is not looked at yet. */
void packet_parse_ipv6(
	const struct packet_frame *frame, const struct packet_local *local, struct packet *out);
uint32_t packet_echo_reply6(const struct packet_frame *frame, const struct packet *packet,
	const struct packet_local *local, uint8_t *out, uint32_t out_bytes);

#endif
