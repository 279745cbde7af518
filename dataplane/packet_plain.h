/* packet_plain.h: the short way to read what nearly every frame is: an untagged IPv4 datagram for
 * our port, without options, not a fragment, with all in order. Three masked compares against what
 * such a frame must say, then the two checksums, which share the addresses: about 100 instructions
 * where packet_parse_any takes 280. It only ever says yes: packet_parse_any finds out what another
 * frame is. Inline, for the receive loop. */
#ifndef SW_DATAPLANE_PACKET_PLAIN_H
#define SW_DATAPLANE_PACKET_PLAIN_H

#include "dataplane/packet.h"

#ifdef __has_feature
#define PACKET_CHECKED __has_feature(address_sanitizer)
#elif defined(__SANITIZE_ADDRESS__)
#define PACKET_CHECKED 1
#else
#define PACKET_CHECKED 0
#endif

#define PACKET_PLAIN_BYTES (PACKET_ETH_BYTES + PACKET_IPV4_BYTES + PACKET_UDP_BYTES)

/* 16 bytes at once, where the machine can. */
typedef uint64_t packet_wide __attribute__((vector_size(16)));

/* What a plain frame's headers say where it matters, at 0, 16 and 26. */
struct packet_plain {
	packet_wide word[3];
	uint64_t own_mac;
	uint32_t own_ip;
	bool none; /* the port is tagged: nothing is plain */
};

void packet_plain_prepare(struct packet_plain *plain, const struct packet_local *local);

static inline uint64_t packet_word64(const uint8_t *bytes)
{
	uint64_t word;

	memcpy(&word, bytes, 8);
	return word;
}

static inline packet_wide packet_load_wide(const uint8_t *bytes)
{
	packet_wide wide;

	memcpy(&wide, bytes, 16);
	return wide;
}

/* 48 bits in the order in which they lie in memory; 8 bytes are read. */
static inline uint64_t packet_mac(const uint8_t *mac)
{
#if __BYTE_ORDER__ == __ORDER_LITTLE_ENDIAN__
	return packet_word64(mac) & 0xffffffffffffull;
#else
	return packet_word64(mac) & 0xffffffffffff0000ull;
#endif
}

/* The Internet checksum does not mind the width of its words (RFC 1071 2): 2^64 is 1 modulo 0xffff,
 * so a carry out of the top comes back in at the bottom: an add and an adc for 8 bytes. */
static inline uint64_t packet_add_carry(uint64_t sum, uint64_t word)
{
	sum += word;
	sum += sum < word;
	return sum;
}

/* 16 and 32 bytes: additions that hand on their carries. Compilers make three times the
 * instructions of it, and sums were an eighth of what a frame costs. Checkers of memory see into C
 * only. */
static inline uint64_t packet_add_16(uint64_t sum, const uint8_t *bytes)
{
#if defined(__x86_64__) && !PACKET_CHECKED
	__asm__("addq (%1), %0\n\t"
		"adcq 8(%1), %0\n\t"
		"adcq $0, %0"
		: "+&r"(sum)
		: "r"(bytes), "m"(*(const uint8_t(*)[16])bytes)
		: "cc");
	return sum;
#else
	return packet_add_carry(
		packet_add_carry(sum, packet_word64(bytes)), packet_word64(bytes + 8));
#endif
}

static inline uint64_t packet_add_32(uint64_t sum, const uint8_t *bytes)
{
#if defined(__x86_64__) && !PACKET_CHECKED
	__asm__("addq (%1), %0\n\t"
		"adcq 8(%1), %0\n\t"
		"adcq 16(%1), %0\n\t"
		"adcq 24(%1), %0\n\t"
		"adcq $0, %0"
		: "+&r"(sum)
		: "r"(bytes), "m"(*(const uint8_t(*)[32])bytes)
		: "cc");
	return sum;
#else
	return packet_add_16(packet_add_16(sum, bytes), bytes + 16);
#endif
}

/* Adds 8 bytes or more: the last few come with those before them in one load. A step for each bit
 * of the length, since a loop of one or two rounds is mostly its own beginning. */
static inline __attribute__((always_inline)) uint64_t packet_add_long(
	uint64_t sum, const uint8_t *bytes, uint32_t count)
{
	uint32_t rest = count & 7;

	if (rest) {
		uint64_t last = packet_word64(bytes + count - 8);

		sum = packet_add_carry(sum, __BYTE_ORDER__ == __ORDER_LITTLE_ENDIAN__
						    ? last >> (64 - 8 * rest)
						    : last << (64 - 8 * rest));
	}
	for (; __builtin_expect(count >= 128, false); bytes += 32, count -= 32)
		sum = packet_add_32(sum, bytes);
	if (count & 64) {
		sum = packet_add_32(packet_add_32(sum, bytes), bytes + 32);
		bytes += 64;
	}
	if (count & 32) {
		sum = packet_add_32(sum, bytes);
		bytes += 32;
	}
	if (count & 16) {
		sum = packet_add_16(sum, bytes);
		bytes += 16;
	}
	if (count & 8)
		sum = packet_add_carry(sum, packet_word64(bytes));
	return sum;
}

/* Whether a sum that is not 0 folds to 0xffff: one multiplication to the compiler. */
static inline bool packet_sums_up(uint64_t sum)
{
	return sum % 0xffff == 0;
}

/* packet_udp_seal, inline. */
static inline void packet_seal(uint8_t *udp, bool is_ip6)
{
	uint32_t udp_bytes = packet_get16(udp + 4);
	/* The addresses stand right before UDP in both: one sum over them and the datagram. */
	uint32_t addresses = is_ip6 ? 32 : 8;
	uint64_t sum = packet_sum_word(PACKET_PROTOCOL_UDP) + packet_sum_word((uint16_t)udp_bytes);

	sum = packet_add_long(sum, udp - addresses, addresses + udp_bytes);
	/* 0 would mean "no checksum" (RFC 768); the rest of a division is never 0xffff. */
	packet_put_sum(udp + 6, (uint16_t) ~(sum % 0xffff));
}

/* Addresses that no station may send from (RFC 1122 3.2.1.3). */
static inline bool packet_source_impossible(uint32_t ip, uint32_t own)
{
	return ip == own || (ip >> 24) - 1 >= 0xe0 - 1 || ip >> 24 == 127;
}

/* Destination, no group as source, type, version and header length, no fragment, protocol, address,
 * port. */
static const uint8_t packet_plain_mask[PACKET_PLAIN_BYTES] = {[0] = 0xff,
	[1] = 0xff,
	[2] = 0xff,
	[3] = 0xff,
	[4] = 0xff,
	[5] = 0xff,
	[6] = 0x01,
	[12] = 0xff,
	[13] = 0xff,
	[14] = 0xff,
	[20] = 0x3f,
	[21] = 0xff,
	[23] = 0xff,
	[30] = 0xff,
	[31] = 0xff,
	[32] = 0xff,
	[33] = 0xff,
	[36] = 0xff,
	[37] = 0xff};

static inline packet_wide packet_plain_off(
	const struct packet_plain *plain, const uint8_t *data, uint32_t i, uint32_t at)
{
	return (packet_load_wide(data + at) ^ plain->word[i]) &
	       packet_load_wide(packet_plain_mask + at);
}

/* False: out is not written. */
static inline bool packet_parse_plain(
	const struct packet_plain *plain, const struct packet_frame *frame, struct packet *out)
{
	const uint8_t *data = frame->data, *ip = data + PACKET_ETH_BYTES,
		      *udp = ip + PACKET_IPV4_BYTES;
	uint64_t from_mac, addresses;
	packet_wide off;
	uint32_t total_bytes, udp_bytes, from_ip;

	if (frame->bytes < PACKET_PLAIN_BYTES || frame->vlan_stripped || plain->none)
		return false;
	off = packet_plain_off(plain, data, 0, 0) | packet_plain_off(plain, data, 1, 16) |
	      packet_plain_off(plain, data, 2, 26);
	if (off[0] | off[1])
		return false;
	from_mac = packet_mac(data + 6);
	addresses = packet_word64(ip + 12);
	total_bytes = packet_get16(ip + 2);
	udp_bytes = packet_get16(udp + 4);
	from_ip = packet_get32(ip + 12);
	if (!from_mac || from_mac == plain->own_mac ||
		total_bytes > frame->bytes - PACKET_ETH_BYTES ||
		packet_source_impossible(from_ip, plain->own_ip) || !packet_get16(udp) ||
		udp_bytes < PACKET_UDP_BYTES || udp_bytes + PACKET_IPV4_BYTES > total_bytes)
		return false;
	if (!frame->ip_checksum_good) {
		uint32_t middle;

		memcpy(&middle, ip + 8, 4);
		if (!packet_sums_up(packet_add_carry(
			    packet_add_carry(addresses, packet_word64(ip)), middle)))
			return false;
	}
	if (!frame->l4_checksum_good && packet_get16(udp + 6)) {
		uint64_t sum =
			packet_add_carry(addresses, packet_sum_word(PACKET_PROTOCOL_UDP) +
							    packet_sum_word((uint16_t)udp_bytes));

		if (!packet_sums_up(packet_add_long(sum, udp, udp_bytes)))
			return false;
	}
	out->kind = PACKET_UDP;
	memcpy(out->from_mac, data + 6, 6);
	out->from_port = packet_get16(udp);
	out->from_ip = from_ip;
	out->l3_at = PACKET_ETH_BYTES;
	out->payload_at = PACKET_PLAIN_BYTES;
	out->payload_bytes = udp_bytes - PACKET_UDP_BYTES;
	out->is_ip6 = out->to_link_ip6 = false;
	return true;
}

/* packet_link_is_back for a link and a packet that are both plain; false: ask that. */
static inline bool packet_plain_is_back(
	const struct packet_link *link, uint64_t own_mac, const struct packet *packet)
{
	const uint8_t *header = link->header;

	/* one branch: it is so nearly always */
	return !((packet_mac(header) ^ packet_mac(packet->from_mac)) |
		 (packet_mac(header + 6) ^ own_mac) |
		 (packet_get32(header + 30) ^ packet->from_ip) |
		 (packet_get16(header + 36) ^ packet->from_port) |
		 (link->bytes ^ PACKET_PLAIN_BYTES) | packet->is_ip6);
}

#endif
