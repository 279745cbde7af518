/* Fuzz target: no frame makes the parser read outside it, whatever port it is for, its short way
 * says the same as its long one, and an answer stays inside the room it is given. Byte 0 chooses
 * the port; the rest is the frame. */
#include <stdlib.h>
#include <string.h>

#include "common/check.h"
#include "dataplane/packet_internal.h"

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size);

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size)
{
	struct packet_local local = {.mac = {2, 0, 0, 0, 0, 1},
		.ip = 0x0a000001,
		.udp_port = 7777,
		.ip6 = {0x20, 1, 0xd, 0xb8, [15] = 1}};
	struct packet_frame frame = {0};
	struct packet_link link;
	struct packet packet, any;
	uint8_t *copy, *out;

	if (size < 1 || size > 2048)
		return 0;
	packet_link_local(local.mac, local.link_ip6);
	local.has_ip6 = !(data[0] & 8);
	local.vlan = data[0] & 1 ? 42 : 0;
	frame.vlan_stripped = data[0] & 2;
	frame.vlan_tci = 42;
	/* A fuzzer does not find checksums: let half the inputs pass them. */
	frame.ip_checksum_good = data[0] & 4;
	frame.l4_checksum_good = data[0] & 4;
	frame.bytes = (uint32_t)size - 1;
	copy = malloc(size); /* the frame ends where the allocation ends */
	out = malloc(size);
	CHECK(copy && out);
	memcpy(copy + 1, data + 1, size - 1);
	frame.data = copy + 1;
	packet_parse(&frame, &local, &packet);
	packet_parse_any(&frame, &local, &any);
	CHECK(packet_same(&packet, &any));
	switch (packet.kind) {
	case PACKET_REFUSED:
		CHECK(packet.drop < PACKET_DROP_COUNT);
		break;
	case PACKET_UDP:
		CHECK(packet.payload_at + packet.payload_bytes <= frame.bytes);
		packet_link_back(&link, &local, &packet);
		CHECK(packet_link_is_back(&link, &local, &packet));
		CHECK(link.bytes <= PACKET_LINK_BYTES_MAX && link.is_ip6 == packet.is_ip6);
		break;
	case PACKET_ECHO_REQUEST:
		CHECK(packet_echo_reply(&frame, &packet, &local, out, (uint32_t)size) <= size);
		break;
	case PACKET_ARP_REQUEST:
		CHECK(packet_arp_reply(&packet, &local, out, (uint32_t)size) <= size);
		break;
	case PACKET_NEIGHBOUR_REQUEST:
		CHECK(packet_neighbour_reply(&packet, &local, out, (uint32_t)size) <= size);
		break;
	}
	free(copy);
	free(out);
	return 0;
}
