/* preset_test.c: proves that a peer without a handshake is there for whoever knows its numbers and
 * for nobody else: it is announced when first heard and sent nothing before; it is never pinged and
 * never times out, with reliable packets under way too; what a generator repeats is delivered
 * again; it ends without a word; its numbers are checked; and its place is given back. Real peers
 * beside it keep their rules. */
#include <errno.h>
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>
#include <cmocka.h>

#include "common/handle.h"
#include "dataplane/enet/raw_engine.h"

#define ID      0x101u
#define CLIENT  0x102u
#define SESSION 1u

static struct raw_engine raw;

static struct sw_enet_preset preset_of(uint32_t number)
{
	return (struct sw_enet_preset){.address = raw_source(number),
		.id = ID,
		.client_id = CLIENT,
		.session_in = SESSION,
		.session_out = 2,
		.channels = 4,
		.connect_id = number};
}

/* The generator at number; its datagrams are raw_header's. */
static struct raw_client generator(uint32_t number)
{
	return (struct raw_client){
		.address = raw_source(number), .peer_id = ID, .session = SESSION};
}

static void preset(uint32_t number)
{
	const struct sw_enet_preset one = preset_of(number);

	assert_int_equal(sw_enet_peer_preset(raw.engine, &one), 0);
}

enum kind { UNSEQUENCED, UNRELIABLE, RELIABLE };

static uint32_t rx(const struct raw_client *client, enum kind kind, uint16_t number)
{
	uint8_t out[64], *p = raw_header(client, out, 7);

	if (kind == UNSEQUENCED)
		p = raw_put_unsequenced(p, number, "data", 4);
	else if (kind == UNRELIABLE)
		p = raw_put_unreliable(p, 0, 0, number, "data", 4);
	else
		p = raw_put_reliable(p, 0, number, "data", 4);
	return raw_say(&raw, client, out, p);
}

static void announced_when_first_heard(void **state)
{
	struct raw_client client = generator(3);

	(void)state;
	raw_new(&raw, &(struct sw_enet_config){.peers_max = 4});
	raw.echo = true;
	preset(3);
	assert_int_equal(sw_enet_peers(raw.engine), 1);
	raw_service(&raw, 1);
	assert_int_equal(raw_count(&raw, SW_ENET_C_PRESET_PEERS), 1);
	assert_int_equal(raw_count(&raw, SW_ENET_C_PEERS), 1);
	raw_service(&raw, 100000);
	assert_int_equal(raw.connects, 0);
	assert_int_equal(raw.sent_count, 0);
	assert_int_equal(sw_enet_next_ms(raw.engine), UINT64_MAX);

	assert_int_equal(rx(&client, UNSEQUENCED, 1), 0);
	raw_service(&raw, 1);
	assert_int_equal(raw.connects, 1);
	assert_int_equal(raw.info.channels, 4);
	assert_int_equal(raw.delivered_count, 1);
	assert_int_equal(raw.sent_count, 1);
	assert_memory_equal(&raw.sent[0].to, &client.address, sizeof client.address);
	assert_int_equal(
		wire_get16(raw.sent[0].data), WIRE_SENT_TIME | 2u << WIRE_SESSION_SHIFT | CLIENT);
	assert_int_equal(rx(&client, UNSEQUENCED, 2), 0);
	assert_int_equal(raw.connects, 1);
	raw_free(&raw);
}

/* connected() that is refused is owed, and nothing is delivered before it. */
static void announced_again_until_taken(void **state)
{
	struct raw_client client = generator(3);

	(void)state;
	raw_new(&raw, &(struct sw_enet_config){.peers_max = 4});
	preset(3);
	raw.refuse_events = true;
	assert_int_equal(rx(&client, UNSEQUENCED, 1), 0);
	raw_service(&raw, 1);
	assert_int_equal(raw.delivered_count, 0);
	raw.refuse_events = false;
	raw_service(&raw, 1);
	assert_int_equal(raw.connects, 1);
	assert_int_equal(rx(&client, UNSEQUENCED, 2), 0);
	assert_int_equal(raw.delivered_count, 1);
	raw_free(&raw);
}

static void only_for_who_knows_the_numbers(void **state)
{
	struct raw_client wrong[] = {generator(4), generator(3), generator(3)};
	static const uint32_t refusals[] = {
		SW_ENET_C_UNKNOWN_PEER, SW_ENET_C_UNKNOWN_PEER, SW_ENET_C_WRONG_SESSION};

	(void)state;
	raw_new(&raw, &(struct sw_enet_config){.peers_max = 4});
	preset(3);
	wrong[1].peer_id++;
	wrong[2].session++;
	for (uint32_t i = 0; i < 3; i++)
		assert_int_equal(rx(&wrong[i], UNSEQUENCED, 1), refusals[i]);
	assert_int_equal(raw.connects, 0);
	raw_free(&raw);
}

/* A frame over and over, as a generator without counters sends it, and numbers that wrap. */
static void what_repeats_is_delivered(void **state)
{
	struct raw_client client = generator(3), real;

	(void)state;
	raw_new(&raw, &(struct sw_enet_config){.peers_max = 4});
	preset(3);
	for (uint32_t i = 0; i < 5; i++) {
		assert_int_equal(rx(&client, UNSEQUENCED, 9), 0);
		assert_int_equal(rx(&client, UNRELIABLE, 9), 0);
	}
	assert_int_equal(raw.delivered_count, 10);
	/* not less than half the numbers ahead: too far for a real one */
	assert_int_equal(rx(&client, UNSEQUENCED, 50000), 0);
	assert_int_equal(rx(&client, UNRELIABLE, 2), 0);
	assert_int_equal(raw.delivered_count, 12);
	assert_int_equal(raw_count(&raw, SW_ENET_C_STALE_UNRELIABLE), 0);

	assert_true(raw_connect(&raw, &real, 5, 4));
	raw_forget(&raw);
	for (uint32_t i = 0; i < 2; i++) {
		assert_int_equal(rx(&real, UNSEQUENCED, 9), 0);
		assert_int_equal(rx(&real, UNRELIABLE, 9), 0);
	}
	assert_int_equal(rx(&real, UNSEQUENCED, 50000), 0);
	assert_int_equal(raw.delivered_count, 2);
	assert_int_equal(raw_count(&raw, SW_ENET_C_STALE_UNRELIABLE), 3);
	raw_free(&raw);
}

/* The bytes that perf/pktgen/sessions.lua and perf/trex/sessions.py send. */
static void what_generators_send(void **state)
{
	static const struct {
		const char *what;
		uint8_t head[12], head_bytes;
		uint8_t channel, flags;
		uint32_t bytes;
	} frames[] = {
		{"Pktgen", {0x11, 1, 0x49, 1, 0, 0, 1, 1, 1, 1}, 10, 1, SW_ENET_UNSEQUENCED, 257},
		{"unsequenced", {0x11, 1, 0x49, 0, 0, 0, 0, 7, 0, 40}, 10, 0, SW_ENET_UNSEQUENCED,
			40},
		{"unreliable", {0x11, 1, 0x07, 0, 0, 0, 0, 7, 0, 40}, 10, 0, 0, 40},
		{"reliable", {0x91, 1, 0, 0, 0x86, 0, 0, 1, 0, 40}, 10, 0, SW_ENET_RELIABLE, 40},
	};

	(void)state;
	raw_new(&raw, &(struct sw_enet_config){.peers_max = 4});
	preset(3);
	for (uint32_t i = 0; i < sizeof frames / sizeof *frames; i++) {
		struct sw_enet_addr from = raw_source(3);
		uint8_t out[300] = {0};

		memcpy(out, frames[i].head, frames[i].head_bytes);
		raw_forget(&raw);
		if (raw_rx(&raw, &from, out, frames[i].head_bytes + frames[i].bytes) ||
			raw.delivered_count != 1)
			fail_msg("%s", frames[i].what);
		assert_int_equal(raw.delivered[0].bytes, frames[i].bytes);
		assert_int_equal(raw.delivered[0].channel, frames[i].channel);
		assert_int_equal(raw.delivered[0].flags, frames[i].flags);
	}
	raw_free(&raw);
}

/* All 65,536 numbers and once more round: delivered in order, acknowledged, echoed reliably to one
 * who never acknowledges; nothing is repeated, and no memory stays taken. */
static void reliable_without_acknowledgements(void **state)
{
	struct raw_client client = generator(3);

	(void)state;
	raw_new(&raw, &(struct sw_enet_config){.peers_max = 4});
	raw.echo = true;
	raw.quiet = true;
	preset(3);
	for (uint32_t i = 1; i <= 70000; i++) {
		/* its echo opens the datagram that the reliable one rides in */
		assert_int_equal(rx(&client, UNSEQUENCED, (uint16_t)i), 0);
		assert_int_equal(rx(&client, RELIABLE, (uint16_t)i), 0);
		raw_service(&raw, i % 1000 == 0 ? 700 : 0);
	}
	assert_int_equal(raw.delivered_total, 140000);
	assert_int_equal(raw.sent_total, 70000);
	raw_service(&raw, 100000);
	raw_service(&raw, 100000);
	assert_int_equal(raw.sent_total, 70000);
	assert_int_equal(raw_count(&raw, SW_ENET_C_RETRANSMITTED), 0);
	assert_int_equal(raw_count(&raw, SW_ENET_C_PINGS_OUT), 0);
	assert_int_equal(raw_count(&raw, SW_ENET_C_TIMEOUTS), 0);
	assert_int_equal(raw_count(&raw, SW_ENET_C_QUEUE_BYTES), 0);
	assert_int_equal(sw_enet_peers(raw.engine), 1);
	assert_int_equal(sw_enet_next_ms(raw.engine), UINT64_MAX);
	raw_free(&raw);
}

/* More than a window is sent as the windows allow, without a word from the other side. */
static void a_large_answer_leaves_whole(void **state)
{
	static uint8_t large[200000];
	struct raw_client client = generator(3);

	(void)state;
	raw_new(&raw,
		&(struct sw_enet_config){
			.peers_max = 4, .packet_bytes_max = sizeof large, .pool_bytes = 8 << 20});
	preset(3);
	assert_int_equal(rx(&client, UNSEQUENCED, 1), 0);
	raw.quiet = true;
	assert_int_equal(
		sw_enet_send(raw.engine, raw.handle, 0, SW_ENET_RELIABLE, large, sizeof large), 0);
	for (int i = 0; i < 8; i++)
		raw_service(&raw, 1);
	assert_true(raw_count(&raw, SW_ENET_C_BYTES_OUT) > sizeof large);
	assert_int_equal(raw_count(&raw, SW_ENET_C_QUEUE_BYTES), 0);
	raw_free(&raw);
}

/* Heard or not, and whatever mode: at once and without a datagram. */
static void ends_without_a_word(void **state)
{
	struct raw_client client = generator(0);

	(void)state;
	raw_new(&raw, &(struct sw_enet_config){.peers_max = 6});
	for (uint32_t i = 0; i < 6; i++)
		preset(i);
	assert_int_equal(rx(&client, UNSEQUENCED, 1), 0);
	for (uint32_t i = 0; i < 6; i++) {
		struct sw_enet_peer_info info;

		sw_enet_peer_info(raw.engine, i, &info);
		assert_int_not_equal(info.peer, HANDLE_NONE);
		assert_int_equal(sw_enet_disconnect(raw.engine, info.peer,
					 (enum sw_enet_disconnect)(i % 3), 9, SW_ENET_GONE_LOCAL),
			0);
	}
	raw_service(&raw, 1);
	assert_int_equal(raw.sent_count, 0);
	assert_int_equal(raw.disconnects, 1); /* of the one that was announced */
	assert_int_equal(sw_enet_peers(raw.engine), 0);
	assert_int_equal(raw_count(&raw, SW_ENET_C_PRESET_PEERS), 0);
	assert_int_equal(
		raw_count(&raw, SW_ENET_C_CONNECTED), raw_count(&raw, SW_ENET_C_DISCONNECTED));
	preset(0); /* its numbers and its place are free again */
	raw_free(&raw);
}

/* The generator's own DISCONNECT is one. */
static void may_leave(void **state)
{
	struct raw_client client = generator(3);
	uint8_t out[16], *p = raw_header(&client, out, 7);

	(void)state;
	raw_new(&raw, &(struct sw_enet_config){.peers_max = 4});
	preset(3);
	p = wire_put_command(p, WIRE_DISCONNECT | WIRE_ACK_FLAG, WIRE_CONTROL_CHANNEL, 1);
	wire_put32(p, 77);
	assert_int_equal(raw_say(&raw, &client, out, p + 4), 0);
	raw_service(&raw, 1);
	assert_int_equal(raw.disconnects, 1);
	assert_int_equal(raw.gone_data, 77);
	assert_int_equal(raw_count(&raw, SW_ENET_C_PRESET_PEERS), 0);
	assert_int_equal(rx(&client, UNSEQUENCED, 1), SW_ENET_C_UNKNOWN_PEER);
	raw_free(&raw);
}

static void numbers_are_checked(void **state)
{
	static const struct {
		const char *what;
		uint16_t id, client_id;
		uint8_t in, out, channels;
	} wrong[] = {
		{"the id of CONNECT", 0xfff, 0, 0, 0, 1},
		{"an id of 13 bits", 0x1000, 0, 0, 0, 1},
		{"its own id", 0, 0xfff, 0, 0, 1},
		{"session in", 0, 0, 4, 0, 1},
		{"session out", 0, 0, 0, 4, 1},
		{"no channel", 0, 0, 0, 0, 0},
		{"more channels than there are", 0, 0, 0, 0, 5},
	};
	struct raw_client real;
	struct sw_enet_preset one = preset_of(3);

	(void)state;
	raw_new(&raw, &(struct sw_enet_config){.peers_max = 2, .channels_max = 4});
	for (uint32_t i = 0; i < sizeof wrong / sizeof *wrong; i++) {
		one.id = wrong[i].id;
		one.client_id = wrong[i].client_id;
		one.session_in = wrong[i].in;
		one.session_out = wrong[i].out;
		one.channels = wrong[i].channels;
		if (sw_enet_peer_preset(raw.engine, &one) != -EINVAL)
			fail_msg("%s", wrong[i].what);
	}
	preset(3);
	one = preset_of(3);
	assert_int_equal(sw_enet_peer_preset(raw.engine, &one), -EEXIST);
	assert_true(raw_connect(&raw, &real, 5, 4));
	one = preset_of(4);
	assert_int_equal(sw_enet_peer_preset(raw.engine, &one), -ENOBUFS);
	/* a real one's numbers are taken, and no slot is left for a further client */
	one.address = real.address;
	one.id = real.peer_id;
	assert_int_equal(sw_enet_peer_preset(raw.engine, &one), -EEXIST);
	assert_false(raw_connect(&raw, &real, 6, 4));
	assert_int_equal(raw_count(&raw, SW_ENET_C_CONNECT_FULL), 1);
	raw_free(&raw);
}

int main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test(announced_when_first_heard),
		cmocka_unit_test(announced_again_until_taken),
		cmocka_unit_test(only_for_who_knows_the_numbers),
		cmocka_unit_test(what_repeats_is_delivered),
		cmocka_unit_test(what_generators_send),
		cmocka_unit_test(reliable_without_acknowledgements),
		cmocka_unit_test(a_large_answer_leaves_whole),
		cmocka_unit_test(ends_without_a_word),
		cmocka_unit_test(may_leave),
		cmocka_unit_test(numbers_are_checked),
	};

	return cmocka_run_group_tests(tests, NULL, NULL);
}
