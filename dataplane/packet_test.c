/* Proves that every kind of frame is read as what it is, that every refusal has its name and a
 * frame that draws it, and that what we write is what we would accept. The reference checksum is
 * written differently from the one under test. */
#include <setjmp.h>
#include <stdarg.h>
#include <stdlib.h>
#include <cmocka.h>

#include "dataplane/packet_internal.h"
#include "dataplane/packet_plain.h"
#include "dataplane/packet_frames.h"

static const struct counter_desc drop_desc[] = {
#define DESC(id, name, kind, help) {name, help, kind},
	PACKET_DROPS(DESC)
#undef DESC
};

static const struct packet_local *local_of(const struct frame_case *c)
{
	if (frame_is_ip6(c->base) && !c->no_ip6)
		return &frames_local6;
	return c->tagged_port ? &frames_local_tagged : &frames_local;
}

/* A copy on the heap of exactly the frame's size, so that asan sees one byte too many. */
static uint8_t *exact(struct packet_frame *frame)
{
	uint8_t *copy = malloc(frame->bytes ? frame->bytes : 1);

	assert_non_null(copy);
	memcpy(copy, frame->data, frame->bytes);
	frame->data = copy;
	return copy;
}

static void cases_are_read_as_they_should(void **state)
{
	(void)state;
	for (size_t i = 0; i < FRAME_CASES; i++) {
		const struct frame_case *c = &frame_cases[i];
		uint8_t bytes[FRAME_BYTES_MAX];
		struct packet_frame frame;
		struct packet packet;
		uint8_t *copy;

		frame_build(c, bytes, &frame);
		copy = exact(&frame);
		packet_parse(&frame, local_of(c), &packet);
		if (packet.kind != c->kind || (c->kind == PACKET_REFUSED && packet.drop != c->drop))
			fail_msg("%s: kind %d, %s; expected kind %d, %s", c->name, packet.kind,
				packet.kind ? "-" : drop_desc[packet.drop].name, c->kind,
				c->kind ? "-" : drop_desc[c->drop].name);
		free(copy);
	}
}

static void every_refusal_has_a_frame(void **state)
{
	(void)state;
	for (int drop = 0; drop < PACKET_DROP_COUNT; drop++) {
		bool found = false;

		for (size_t i = 0; i < FRAME_CASES; i++)
			found |= frame_cases[i].kind == PACKET_REFUSED &&
				 frame_cases[i].drop == (enum packet_drop)drop;
		if (!found)
			fail_msg("no frame draws %s", drop_desc[drop].name);
	}
}

static void every_prefix_is_safe(void **state)
{
	(void)state;
	for (size_t i = 0; i < FRAME_CASES; i++) {
		const struct frame_case *c = &frame_cases[i];
		uint8_t bytes[FRAME_BYTES_MAX];
		struct packet_frame frame;
		uint32_t whole;

		frame_build(c, bytes, &frame);
		whole = frame.bytes;
		for (uint32_t n = 0; n < whole; n++) {
			struct packet packet;
			uint8_t *copy;

			frame.data = bytes;
			frame.bytes = n;
			copy = exact(&frame);
			packet_parse(&frame, local_of(c), &packet);
			if (packet.kind == PACKET_UDP)
				assert_true(packet.payload_at + packet.payload_bytes <= n);
			free(copy);
		}
	}
}

/* Each value of each byte of a plain frame, with checksums looked at and not: the short way of
 * packet_parse takes what the long one takes, and says the same of it. */
static void short_way_says_the_same(void **state)
{
	uint8_t bytes[FRAME_BYTES_MAX];
	struct packet_frame frame;
	struct packet quick, any;
	uint32_t taken = 0;

	(void)state;
	frame_build(&frame_cases[0], bytes, &frame);
	for (uint32_t n = 0; n < frame.bytes * 512; n++) {
		uint8_t was = bytes[n / 512];

		bytes[n / 512] = (uint8_t)n;
		frame.ip_checksum_good = frame.l4_checksum_good = n >> 8 & 1;
		packet_parse(&frame, &frames_local, &quick);
		packet_parse_any(&frame, &frames_local, &any);
		if (!packet_same(&quick, &any))
			fail_msg("byte %u as %u: kind %d, and %d", n / 512, n & 0xff, quick.kind,
				any.kind);
		taken += any.kind == PACKET_UDP;
		bytes[n / 512] = was;
	}
	assert_true(taken > frame.bytes);
}

static void udp_fields(void **state)
{
	uint8_t bytes[FRAME_BYTES_MAX];
	struct packet_frame frame;
	struct packet packet;
	const uint8_t mac[6] = {2, 0, 0, 0, 0, 2};

	(void)state;
	frame_build(&frame_cases[0], bytes, &frame);
	packet_parse(&frame, &frames_local, &packet);
	assert_int_equal(packet.from_ip, 0x0a000002);
	assert_int_equal(packet.from_port, 40000);
	assert_memory_equal(packet.from_mac, mac, 6);
	assert_int_equal(packet.payload_at, 42);
	assert_int_equal(packet.payload_bytes, 20);
	/* The port's word is taken: damage behind it is not looked for again. */
	bytes[50] ^= 1;
	frame.l4_checksum_good = true;
	packet_parse(&frame, &frames_local, &packet);
	assert_int_equal(packet.kind, PACKET_UDP);
}

static void answers_to_arp_and_ping(void **state)
{
	(void)state;
	for (int tagged = 0; tagged < 2; tagged++) {
		const struct packet_local *local = tagged ? &frames_local_tagged : &frames_local;
		struct packet_local client = {.mac = {2, 0, 0, 0, 0, 2}, .ip = 0x0a000002};
		struct frame_case c = {.base = FRAME_ARP, .tag = tagged ? 42 : 0, .at = -1};
		uint8_t bytes[FRAME_BYTES_MAX], out[FRAME_BYTES_MAX];
		struct packet_frame frame, answer;
		struct packet packet, back;
		uint32_t head = tagged ? 18 : 14, n;

		client.vlan = local->vlan;
		frame_build(&c, bytes, &frame);
		packet_parse(&frame, local, &packet);
		n = packet_arp_reply(&packet, local, out, sizeof(out));
		assert_int_equal(n, head + 28);
		assert_int_equal(packet_arp_reply(&packet, local, out, n - 1), 0);
		assert_memory_equal(out, client.mac, 6);
		assert_memory_equal(out + 6, local->mac, 6);
		assert_int_equal(packet_get16(out + head + 6), 2);
		assert_memory_equal(out + head + 8, local->mac, 6);
		assert_int_equal(packet_get32(out + head + 14), local->ip);
		assert_memory_equal(out + head + 18, client.mac, 6);
		assert_int_equal(packet_get32(out + head + 24), client.ip);

		c.base = FRAME_PING;
		frame_build(&c, bytes, &frame);
		packet_parse(&frame, local, &packet);
		n = packet_echo_reply(&frame, &packet, local, out, sizeof(out));
		assert_int_equal(n, frame.bytes);
		assert_int_equal(packet_echo_reply(&frame, &packet, local, out, n - 1), 0);
		/* As its receiver reads it: checksums hold, it is a reply, the data came back. */
		answer = (struct packet_frame){.data = out, .bytes = n};
		packet_parse(&answer, &client, &back);
		assert_int_equal(back.kind, PACKET_REFUSED);
		assert_int_equal(back.drop, PACKET_DROP_ICMP_OTHER);
		assert_int_equal(out[head + 20], 0);
		assert_memory_equal(out + head + 24, bytes + head + 24, n - head - 24);
	}
}

static void links_write_frames_that_hold(void **state)
{
	(void)state;
	for (uint32_t payload_bytes = 0; payload_bytes <= 1400; payload_bytes++) {
		const struct packet_local *local =
			payload_bytes & 1 ? &frames_local_tagged : &frames_local;
		const struct packet_local client = {.mac = {2, 0, 0, 0, 0, 2},
			.vlan = local->vlan,
			.ip = 0x0a000002,
			.udp_port = 40000};
		uint8_t out[1600], *ip, *udp;
		struct packet_frame frame = {.data = out};
		struct packet_link link;
		struct packet packet;

		packet_link_build(&link, local, client.mac, client.ip, client.udp_port);
		assert_int_equal(link.bytes, local->vlan ? 46 : 42);
		for (uint32_t i = 0; i < payload_bytes; i++)
			out[link.bytes + i] = (uint8_t)(i * 7 + payload_bytes);
		frame.bytes = packet_link_write(
			&link, out, payload_bytes, (uint16_t)(payload_bytes * 77), false);
		assert_int_equal(frame.bytes, link.bytes + payload_bytes);
		packet_parse(&frame, &client, &packet);
		assert_int_equal(packet.kind, PACKET_UDP);
		assert_int_equal(packet.payload_bytes, payload_bytes);
		assert_int_equal(packet.from_ip, local->ip);
		assert_int_equal(packet.from_port, local->udp_port);
		udp = out + link.bytes - 8;
		ip = udp - 20;
		assert_int_equal(frame_checksum(0, ip, 20), 0);
		assert_int_equal(frame_udp_checksum(ip, udp, 8 + payload_bytes), 0);
		assert_int_not_equal(packet_get16(udp + 6), 0);

		/* Offload: 0, and the pseudo header's sum, not complemented. */
		packet_link_write(&link, out, payload_bytes, 1, true);
		assert_int_equal(packet_get16(ip + 10), 0);
		assert_int_equal((uint16_t)~packet_get16(udp + 6),
			frame_checksum(17 + 8 + payload_bytes + 0x0a00 + 1 + 0x0a00 + 2, NULL, 0));
	}
}

static void link_local_and_groups(void **state)
{
	static const uint8_t groups[3][6] = {
		{0x33, 0x33, 0, 0, 0, 1}, {0x33, 0x33, 0xff, 0, 0, 1}, {0x33, 0x33, 0xff, 0, 0, 9}};
	struct packet_local local = frames_local6;
	uint8_t got[PACKET_GROUPS_MAX][6], ip6[16];

	(void)state;
	packet_link_local(local.mac, ip6);
	assert_memory_equal(ip6, frames_local6.link_ip6, 16);
	packet_link_local((const uint8_t[6]){0x52, 0x54, 1, 2, 3, 4}, ip6);
	assert_memory_equal(ip6,
		((const uint8_t[16]){
			0xfe, 0x80, 0, 0, 0, 0, 0, 0, 0x50, 0x54, 1, 0xff, 0xfe, 2, 3, 4}),
		16);
	assert_int_equal(packet_groups(&local, got), 2); /* both addresses end alike */
	assert_memory_equal(got, groups, 2 * 6);
	local.link_ip6[15] = 9;
	assert_int_equal(packet_groups(&local, got), 3);
	assert_memory_equal(got, groups, 3 * 6);
	assert_int_equal(packet_groups(&frames_local, got), 0);
}

/* As the kernel's neighbour table reads it (RFC 4861 7.1.2): every bit of the answer. */
static void neighbours_are_answered(void **state)
{
	static const uint8_t all_nodes_mac[6] = {0x33, 0x33, 0, 0, 0, 1};
	static const uint8_t client_mac[6] = {2, 0, 0, 0, 0, 2};

	(void)state;
	/* asked for the global address, for the link-local one, from nobody */
	for (int turn = 0; turn < 3; turn++) {
		struct packet_local local = frames_local6;
		struct frame_case c = {.base = FRAME_NEIGHBOUR, .at = -1};
		uint8_t bytes[FRAME_BYTES_MAX], out[FRAME_BYTES_MAX], *ip;
		const uint8_t *target = turn == 1 ? local.link_ip6 : local.ip6;
		struct packet_frame frame;
		struct packet packet;
		uint32_t head, n;

		frame_build(&c, bytes, &frame);
		memcpy(bytes + 62, target, 16);
		if (turn == 2) {
			memset(bytes + 22, 0, 16);
			packet_put16(bytes + 18, 24);
			local.vlan = 42;
			frame.vlan_stripped = true;
			frame.vlan_tci = 42;
		}
		frame_fix(bytes, frame.bytes);
		packet_parse(&frame, &local, &packet);
		assert_int_equal(packet.kind, PACKET_NEIGHBOUR_REQUEST);
		head = turn == 2 ? 18 : 14;
		n = packet_neighbour_reply(&packet, &local, out, sizeof(out));
		assert_int_equal(n, head + 72);
		assert_int_equal(packet_neighbour_reply(&packet, &local, out, n - 1), 0);
		ip = out + head;
		assert_memory_equal(out, turn == 2 ? all_nodes_mac : client_mac, 6);
		assert_memory_equal(out + 6, local.mac, 6);
		assert_int_equal(ip[0], 0x60);
		assert_int_equal(packet_get16(ip + 4), 32);
		assert_int_equal(ip[7], 255);
		assert_memory_equal(ip + 8, target, 16);
		assert_int_equal(ip[24], turn == 2 ? 0xff : 0x20);
		assert_int_equal(ip[39], turn == 2 ? 1 : 2);
		assert_int_equal(frame_checksum6(ip, ip + 40, 32), 0);
		assert_int_equal(ip[40], 136);
		assert_int_equal(ip[41], 0);
		assert_int_equal(ip[44], turn == 2 ? 0x20 : 0x60);
		assert_memory_equal(ip + 48, target, 16);
		assert_int_equal(packet_get16(ip + 64), 0x0201);
		assert_memory_equal(ip + 66, local.mac, 6);
	}
}

static void answers_to_ping6(void **state)
{
	(void)state;
	for (int link = 0; link < 2; link++) {
		struct frame_case c = {.base = FRAME_PING6, .at = -1};
		uint8_t bytes[FRAME_BYTES_MAX], out[FRAME_BYTES_MAX];
		struct packet_frame frame;
		struct packet packet;
		uint32_t n;

		frame_build(&c, bytes, &frame);
		if (link)
			memcpy(bytes + 38, frames_local6.link_ip6, 16);
		frame_fix(bytes, frame.bytes);
		packet_parse(&frame, &frames_local6, &packet);
		n = packet_echo_reply(&frame, &packet, &frames_local6, out, sizeof(out));
		assert_int_equal(n, frame.bytes);
		assert_int_equal(packet_echo_reply(&frame, &packet, &frames_local6, out, n - 1), 0);
		assert_memory_equal(out, bytes + 6, 6);
		assert_memory_equal(out + 22, bytes + 38, 16);
		assert_memory_equal(out + 38, bytes + 22, 16);
		assert_int_equal(out[54], 129);
		assert_int_equal(frame_checksum6(out + 14, out + 54, 28), 0);
		assert_memory_equal(out + 58, bytes + 58, n - 58);
	}
}

static void links_write_ipv6_frames_that_hold(void **state)
{
	(void)state;
	for (uint32_t payload_bytes = 0; payload_bytes <= 1400; payload_bytes++) {
		struct packet_local local = frames_local6, client = frames_local6;
		bool from_link = payload_bytes % 3 == 0;
		uint8_t out[1600], *ip, *udp;
		struct packet_frame frame = {.data = out};
		struct packet_link link;
		struct packet packet;
		uint32_t sum;

		local.vlan = client.vlan = payload_bytes & 1 ? 42 : 0;
		client.mac[5] = client.ip6[15] = 2;
		client.udp_port = 40000;
		packet_link_local(client.mac, client.link_ip6);
		packet_link_build6(&link, &local, from_link, client.mac,
			from_link ? client.link_ip6 : client.ip6, client.udp_port);
		assert_int_equal(link.bytes, local.vlan ? 66 : 62);
		for (uint32_t i = 0; i < payload_bytes; i++)
			out[link.bytes + i] = (uint8_t)(i * 7 + payload_bytes);
		frame.bytes = packet_link_write(&link, out, payload_bytes, 1, false);
		assert_int_equal(frame.bytes, link.bytes + payload_bytes);
		packet_parse(&frame, &client, &packet);
		assert_int_equal(packet.kind, PACKET_UDP);
		assert_int_equal(packet.payload_bytes, payload_bytes);
		assert_int_equal(packet.to_link_ip6, from_link);
		assert_memory_equal(packet.from_ip6, from_link ? local.link_ip6 : local.ip6, 16);
		assert_int_equal(packet.from_port, local.udp_port);
		udp = out + link.bytes - 8;
		ip = udp - 40;
		assert_int_equal(frame_checksum6(ip, udp, 8 + payload_bytes), 0);
		assert_int_not_equal(packet_get16(udp + 6), 0);

		packet_link_write(&link, out, payload_bytes, 1, true);
		sum = 17 + 8 + payload_bytes;
		for (int i = 8; i < 40; i += 2)
			sum += packet_get16(ip + i);
		assert_int_equal((uint16_t)~packet_get16(udp + 6), frame_checksum(sum, NULL, 0));
	}
}

/* A sum that comes out as 0 is sent as 0xffff, also over IPv6, where 0 would be refused. */
static void a_checksum_of_0_is_written_as_ffff(void **state)
{
	(void)state;
	for (int six = 0; six < 2; six++) {
		struct packet_local client = frames_local6;
		struct packet_frame frame;
		struct packet_link link;
		struct packet packet;
		uint8_t out[128];
		uint16_t sum;

		client.udp_port = 40000;
		client.mac[5] = client.ip6[15] = 2;
		client.ip = 0x0a000002;
		if (six)
			packet_link_build6(&link, &frames_local6, false, client.mac, client.ip6,
				client.udp_port);
		else
			packet_link_build(
				&link, &frames_local6, client.mac, client.ip, client.udp_port);
		memset(out, 0, sizeof(out));
		packet_link_write(&link, out, 2, 1, false);
		/* What the sum lacks, as payload. */
		sum = packet_get16(out + link.bytes - 2);
		packet_put16(out + link.bytes, sum);
		frame = (struct packet_frame){
			.data = out, .bytes = packet_link_write(&link, out, 2, 1, false)};
		assert_int_equal(packet_get16(out + link.bytes - 2), 0xffff);
		packet_parse(&frame, &client, &packet);
		assert_int_equal(packet.kind, PACKET_UDP);
	}
}

/* Both ways of asking, which must agree where the short one may say yes. */
static bool is_back(const struct packet_link *link, const struct packet_local *local,
	const struct packet *packet)
{
	bool back = packet_link_is_back(link, local, packet);

	assert_int_equal(packet_plain_is_back(link, packet_mac(local->mac), packet),
		back && !packet->is_ip6);
	return back;
}

static void the_way_back_is_known_again(void **state)
{
	(void)state;
	for (int six = 0; six < 2; six++) {
		struct frame_case c = {.base = six ? FRAME_UDP6 : FRAME_UDP, .at = -1};
		struct packet_local local = frames_local6;
		uint8_t bytes[FRAME_BYTES_MAX];
		struct packet_frame frame;
		struct packet_link link = {0};
		struct packet packet, other;

		frame_build(&c, bytes, &frame);
		packet_parse(&frame, &local, &packet);
		assert_int_equal(packet.kind, PACKET_UDP);
		assert_false(is_back(&link, &local, &packet));
		packet_link_back(&link, &local, &packet);
		assert_true(is_back(&link, &local, &packet));
		other = packet;
		other.from_port++;
		assert_false(is_back(&link, &local, &other));
		other = packet;
		other.from_mac[3]++;
		assert_false(is_back(&link, &local, &other));
		other = packet;
		other.from_ip++;
		other.from_ip6[9]++;
		assert_false(is_back(&link, &local, &other));
		other = packet;
		other.is_ip6 = !six;
		assert_false(is_back(&link, &local, &other));
		other = packet;
		other.to_link_ip6 = true;
		assert_int_equal(is_back(&link, &local, &other), !six);
		local.mac[5]++;
		assert_false(is_back(&link, &local, &packet));
	}
}

/* The sum by 64-bit words and carries against the one by the book: each length, at each alignment,
 * with bytes that make carries. */
static void sums_are_the_same(void **state)
{
	uint8_t bytes[8 + 300];
	uint32_t random = 1;
	(void)state;

	for (uint32_t round = 0; round < 8; round++) {
		for (uint32_t i = 0; i < sizeof(bytes); i++) {
			random = random * 1664525u + 1013904223u;
			bytes[i] = round < 2 ? (uint8_t)-round : (uint8_t)(random >> 24);
			if (round > 4 && random & 1u << 20)
				bytes[i] = 0xff;
		}
		for (uint32_t at = 0; at < 8; at++) {
			for (uint32_t n = 8; n <= 300; n++) {
				uint64_t first = round & 1 ? UINT64_MAX : round;

				assert_int_equal(
					packet_sum_fold(packet_add_long(first, bytes + at, n)),
					packet_sum_fold(packet_add_carry(
						packet_sum(0, bytes + at, n), first)));
			}
		}
	}
}

int main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test(cases_are_read_as_they_should),
		cmocka_unit_test(every_refusal_has_a_frame),
		cmocka_unit_test(every_prefix_is_safe),
		cmocka_unit_test(short_way_says_the_same),
		cmocka_unit_test(udp_fields),
		cmocka_unit_test(answers_to_arp_and_ping),
		cmocka_unit_test(links_write_frames_that_hold),
		cmocka_unit_test(link_local_and_groups),
		cmocka_unit_test(neighbours_are_answered),
		cmocka_unit_test(answers_to_ping6),
		cmocka_unit_test(links_write_ipv6_frames_that_hold),
		cmocka_unit_test(a_checksum_of_0_is_written_as_ffff),
		cmocka_unit_test(the_way_back_is_known_again),
		cmocka_unit_test(sums_are_the_same),
	};

	return cmocka_run_group_tests_name("packet", tests, NULL, NULL);
}
