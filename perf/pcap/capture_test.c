/* Proves that each frame of the captures is what it says: packet_parse refuses it by the foretold
 * name or takes it as a datagram; the malformed captures reach every drop of dataplane/packet.h;
 * probes are probes; the messages of benchmark sessions are what their rule says; the same seed
 * makes the same frames and another one others. */
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <string.h>
#include <cmocka.h>

#include "dataplane/packet_frames.h"
#include "perf/pcap/capture.h"
#include "proto/probe.h"

#define FRAMES 500u

#define DROP_NAME(id, name, kind, help) name,
static const char *const drops[PACKET_DROP_COUNT] = {PACKET_DROPS(DROP_NAME)};

static void parse(enum capture capture, const uint8_t *frame, uint32_t bytes, struct packet *out)
{
	const struct packet_frame view = {.data = frame, .bytes = bytes};

	packet_parse(&view, capture == CAPTURE_MALFORMED6 ? &frames_local6 : &frames_local, out);
}

static void every_drop_has_its_frame(void **state)
{
	bool reached[PACKET_DROP_COUNT] = {false};
	struct capture_options options;

	(void)state;
	capture_defaults(&options);
	for (enum capture c = CAPTURE_MALFORMED; c <= CAPTURE_MALFORMED6; c++) {
		for (uint32_t i = 0; i < capture_period(c); i++) {
			uint8_t frame[CAPTURE_BYTES_MAX];
			struct capture_fate fate;
			struct packet packet;
			uint32_t bytes = capture_frame(c, &options, i, frame, &fate);

			parse(c, frame, bytes, &packet);
			assert_int_equal(packet.kind, PACKET_REFUSED);
			assert_string_equal(fate.counter, drops[packet.drop]);
			reached[packet.drop] = true;
		}
	}
	for (uint32_t d = 0; d < PACKET_DROP_COUNT; d++)
		if (!reached[d])
			fail_msg("no frame for %s", drops[d]);
}

static void the_others_are_datagrams(void **state)
{
	struct capture_options options;

	(void)state;
	capture_defaults(&options);
	for (enum capture c = 0; c < CAPTURE_COUNT; c++) {
		if (c == CAPTURE_MALFORMED || c == CAPTURE_MALFORMED6)
			continue;
		for (uint32_t i = 0; i < FRAMES; i++) {
			uint8_t frame[CAPTURE_BYTES_MAX];
			struct capture_fate fate;
			struct packet packet;
			uint32_t bytes = capture_frame(c, &options, i, frame, &fate);
			bool probe;

			parse(c, frame, bytes, &packet);
			assert_int_equal(packet.kind, PACKET_UDP);
			probe = sw_probe_is(frame + packet.payload_at, packet.payload_bytes);
			if (c != CAPTURE_RANDOM)
				assert_int_equal(
					probe, c == CAPTURE_PROBE || c == CAPTURE_PROBE_BAD);
		}
	}
}

static void the_seed_decides(void **state)
{
	struct capture_options options, other;
	uint32_t same = 0;

	(void)state;
	capture_defaults(&options);
	capture_defaults(&other);
	other.seed = 2;
	for (uint32_t i = 0; i < FRAMES; i++) {
		uint8_t frames[3][CAPTURE_BYTES_MAX];
		struct capture_fate fate;
		uint32_t bytes = capture_frame(CAPTURE_RANDOM, &options, i, frames[0], &fate);

		assert_int_equal(
			capture_frame(CAPTURE_RANDOM, &options, i, frames[1], &fate), bytes);
		assert_memory_equal(frames[0], frames[1], bytes);
		same += capture_frame(CAPTURE_RANDOM, &other, i, frames[2], &fate) == bytes &&
			!memcmp(frames[0], frames[2], bytes);
	}
	assert_true(same < FRAMES / 50);
}

/* Offsets in the datagram, behind its header: ENet's protocol.h. */
static void sessions_speak_in_turn(void **state)
{
	static const struct {
		enum capture capture;
		uint8_t command;
		uint32_t head, number_at, length_at, text_at;
	} kinds[] = {
		{CAPTURE_UNSEQUENCED, 0x49, 0x1101, 6, 8, 10},
		{CAPTURE_UNRELIABLE, 0x07, 0x1101, 6, 8, 10},
		{CAPTURE_RELIABLE, 0x86, 0x9101, 6, 8, 10},
	};
	struct capture_options options;

	(void)state;
	capture_defaults(&options);
	options.benchmark.sessions = 7;
	options.message_bytes = 50;
	for (uint32_t k = 0; k < sizeof(kinds) / sizeof(kinds[0]); k++) {
		for (uint32_t i = 0; i < FRAMES; i++) {
			uint8_t frame[CAPTURE_BYTES_MAX];
			struct capture_fate fate;
			struct packet packet;
			uint32_t bytes = capture_frame(kinds[k].capture, &options, i, frame, &fate);
			const uint8_t *p;

			parse(kinds[k].capture, frame, bytes, &packet);
			p = frame + packet.payload_at;
			assert_string_equal(fate.counter, "delivered");
			assert_int_equal(packet.from_ip, 0x0a800001u + i % 7);
			assert_int_equal(packet.from_port, 20000);
			assert_int_equal(packet_get16(p), kinds[k].head);
			p += kinds[k].capture == CAPTURE_RELIABLE ? 2 : 0; /* the sent time */
			assert_int_equal(p[2], kinds[k].command);
			assert_int_equal(p[3], 0);
			if (kinds[k].capture == CAPTURE_RELIABLE) {
				assert_int_equal(packet_get16(p + 4), i / 7 + 1);
				p -= 2; /* a reliable command has no second number */
			} else {
				assert_int_equal(packet_get16(p + 4), 0);
				assert_int_equal(packet_get16(p + kinds[k].number_at), i / 7 + 1);
			}
			assert_int_equal(packet_get16(p + kinds[k].length_at), 50);
			assert_int_equal(packet_get32(p + kinds[k].text_at), i % 7);
			assert_int_equal(packet_get32(p + kinds[k].text_at + 4), i / 7 + 1);
			assert_ptr_equal(frame + packet.payload_at + packet.payload_bytes,
				p + kinds[k].text_at + 50);
		}
	}
}

static void the_server_is_chosen(void **state)
{
	struct capture_options options;
	uint8_t frame[CAPTURE_BYTES_MAX];
	struct capture_fate fate;
	struct packet packet;
	struct packet_local server = {
		.mac = {2, 9, 9, 9, 9, 9}, .ip = 0xc0000201, .udp_port = 5000};
	struct packet_frame view = {.data = frame};

	(void)state;
	capture_defaults(&options);
	memcpy(options.mac, server.mac, 6);
	options.ip = server.ip;
	options.udp_port = server.udp_port;
	view.bytes = capture_frame(CAPTURE_CONNECT, &options, 7, frame, &fate);
	packet_parse(&view, &server, &packet);
	assert_int_equal(packet.kind, PACKET_UDP);
	assert_int_equal(packet.payload_bytes, 52);
}

int main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test(every_drop_has_its_frame),
		cmocka_unit_test(the_others_are_datagrams),
		cmocka_unit_test(sessions_speak_in_turn),
		cmocka_unit_test(the_seed_decides),
		cmocka_unit_test(the_server_is_chosen),
	};

	return cmocka_run_group_tests(tests, NULL, NULL);
}
