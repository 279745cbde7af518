/* Proves that every kind of frame is read as what it is, that every refusal has its name and a
 * frame that draws it, and that what we write is what we would accept. The reference checksum is
 * written differently from the one under test. */
#include <setjmp.h>
#include <stdarg.h>
#include <stdlib.h>
#include <cmocka.h>

#include "dataplane/packet.h"
#include "dataplane/packet_frames.h"

static const struct counter_desc drop_desc[] = {
#define DESC(id, name, kind, help) {name, help, kind},
	PACKET_DROPS(DESC)
#undef DESC
};

static const struct packet_local *local_of(const struct frame_case *c)
{
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

int main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test(cases_are_read_as_they_should),
		cmocka_unit_test(every_refusal_has_a_frame),
		cmocka_unit_test(every_prefix_is_safe),
		cmocka_unit_test(udp_fields),
		cmocka_unit_test(answers_to_arp_and_ping),
		cmocka_unit_test(links_write_frames_that_hold),
	};

	return cmocka_run_group_tests_name("packet", tests, NULL, NULL);
}
