/* engine_fuzz.c: a fuzz target over the whole engine: what the wire, the application and time do,
 * in any order. Checks that nothing is read or written out of bounds (sanitizers), that deliveries
 * and answers keep their promises, and that after everyone has left no memory is kept.
 *
 * An input is a list of steps: an opcode byte, a client byte, a length byte, and that many bytes.
 */
#include <stdlib.h>

#include "dataplane/enet/range_coder.h"
#include "dataplane/enet/raw_engine.h"

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size);

#define CLIENTS 4u

enum step {            /* opcode % STEPS */
	STEP_COMMANDS, /* of a connected client: the bytes are commands */
	STEP_DATAGRAM, /* from the client's address: the bytes are the datagram */
	STEP_CONNECT,  /* the bytes overwrite a CONNECT from the front of its fields; with bit 7 of
			* the client byte it goes on as who was sent VERIFY_CONNECT */
	STEP_TIME,     /* as many ms as the bytes say, then service */
	STEP_SEND,     /* flags, channel, then as many bytes as the next two say */
	STEP_LEAVE,
	STEP_SWITCH,   /* what the ops answer */
	STEP_ACK,      /* acknowledges the commands of all datagrams sent */
	STEP_FRAGMENT, /* a well-formed one: count, number, length, channel, start */
	STEP_RELIABLE, /* a well-formed one: channel, sequence, length */
	STEPS
};

static struct raw_engine raw;
static struct range_coder coder;
static struct raw_client clients[CLIENTS];
static bool known[CLIENTS];
static uint64_t handles[CLIENTS];

#define REQUIRE(cond)                                                                              \
	do {                                                                                       \
		if (!(cond))                                                                       \
			abort();                                                                   \
	} while (0)

static void client_rx(uint32_t k, const uint8_t *bytes, uint32_t count)
{
	static uint8_t out[WIRE_MTU_MAX + 64];
	uint32_t packed;
	uint8_t *p;

	if (count > WIRE_MTU_MAX)
		count = WIRE_MTU_MAX;
	p = raw_header(&clients[k], out, (uint16_t)raw.now_ms);
	packed = k == 2 ? range_compress(&coder, bytes, count, p, count) : 0; /* one's is on */
	if (packed) {
		out[0] |= WIRE_COMPRESSED >> 8;
		count = packed;
	} else {
		memcpy(p, bytes, count);
	}
	raw_rx(&raw, &clients[k].address, out, 4 + count);
}

static void acknowledge(uint32_t k)
{
	uint8_t out[8 * 64];
	uint32_t n = 0;

	for (uint32_t i = 0; i < raw.sent_count; i++) {
		struct raw_datagram *d = &raw.sent[i];

		if (d->to.port != clients[k].address.port)
			continue;
		if (d->data[0] & WIRE_COMPRESSED >> 8) {
			static uint8_t packed[WIRE_MTU_MAX];

			memcpy(packed, d->data + 4, d->bytes - 4);
			d->bytes = 4 + range_decompress(&coder, packed, d->bytes - 4, d->data + 4,
					       sizeof d->data - 4);
			REQUIRE(d->bytes > 4);
		}
		for (uint32_t at = 4; at + 4 <= d->bytes && n < 64;) {
			uint8_t number = d->data[at] & WIRE_COMMAND_MASK;
			uint32_t bytes = number == WIRE_PING            ? 4
					 : number == WIRE_SEND_RELIABLE ? 6
									: 8;

			if (number == WIRE_SEND_FRAGMENT || number == WIRE_SEND_UNRELIABLE_FRAGMENT)
				bytes = 24;
			if (d->data[at] & WIRE_ACK_FLAG) {
				uint8_t *p = wire_put_command(out + 8 * n++, WIRE_ACKNOWLEDGE,
					d->data[at + 1], wire_get16(d->data + at + 2));

				memcpy(p, d->data + at + 2, 2);
				memcpy(p + 2, d->data + 2, 2);
			}
			if (number == WIRE_SEND_RELIABLE)
				bytes += wire_get16(d->data + at + 4);
			else if (number >= WIRE_SEND_UNRELIABLE)
				bytes += wire_get16(d->data + at + 6);
			at += bytes;
		}
	}
	raw_forget(&raw);
	client_rx(k, out, 8 * n);
}

static void connect_step(uint32_t k, bool go_on, const uint8_t *bytes, uint32_t count)
{
	uint8_t out[64];
	uint32_t total = raw_connect_bytes(out, 0x1000 + k, 255, k);

	if (count > total - 8)
		count = total - 8;
	memcpy(out + 8, bytes, count);
	raw_forget(&raw);
	raw_rx(&raw, &clients[k].address, out, total);
	for (uint32_t i = 0; i < raw.sent_count; i++)
		REQUIRE(raw.sent[i].bytes <= total);
	if (!go_on || raw.sent_count != 1 || raw.sent[0].bytes < WIRE_VERIFY_CONNECT_BYTES)
		return;
	clients[k].peer_id = wire_get16(raw.sent[0].data + 8);
	clients[k].session = raw.sent[0].data[11];
}

static void step(uint8_t opcode, uint8_t who, const uint8_t *bytes, uint32_t count)
{
	static uint8_t payload[8192];
	static uint8_t out[4096];
	uint32_t k = who % CLIENTS;
	uint8_t *p;

	switch (opcode % STEPS) {
	case STEP_COMMANDS:
		client_rx(k, bytes, count);
		break;
	case STEP_DATAGRAM:
		raw_rx(&raw, &clients[k].address, bytes, count);
		break;
	case STEP_CONNECT:
		connect_step(k, who & 0x80, bytes, count);
		break;
	case STEP_TIME:
		raw_service(&raw, count ? (uint64_t)bytes[0] * (count > 1 ? bytes[1] : 1) : 1);
		break;
	case STEP_SEND:
		if (count < 4)
			break;
		(void)sw_enet_send(raw.engine, handles[k], bytes[1], bytes[0] & 0xb, payload,
			(uint32_t)(bytes[2] << 8 | bytes[3]) % (sizeof payload + 1));
		break;
	case STEP_LEAVE:
		(void)sw_enet_disconnect(
			raw.engine, handles[k], count ? bytes[0] % 3u : 0, 7, SW_ENET_GONE_LOCAL);
		break;
	case STEP_SWITCH:
		raw.deaf = count && bytes[0] & 1;
		raw.no_buffer = count && bytes[0] & 2;
		raw.refuse_events = count && bytes[0] & 4;
		raw.echo = count && bytes[0] & 8;
		break;
	case STEP_ACK:
		acknowledge(k);
		break;
	case STEP_FRAGMENT:
		if (count < 5)
			break;
		{
			uint32_t n = bytes[0] + 1u, number = bytes[1] % n, length = bytes[2] + 1u;
			uint32_t last = length / 2 + 1, seq = bytes[4];

			p = raw_put_fragment(out, who & 0x80, bytes[3],
				(uint16_t)(who & 0x80 ? seq + number : 0), (uint16_t)seq, n, number,
				(n - 1) * length + last, number * length, payload,
				number == n - 1 ? last : length);
			client_rx(k, out, (uint32_t)(p - out));
		}
		break;
	default:
		if (count < 3)
			break;
		p = raw_put_reliable(out, bytes[0], bytes[1], payload, bytes[2] * 4u);
		client_rx(k, out, (uint32_t)(p - out));
	}
}

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size)
{
	struct sw_enet_config config = {.compression = SW_ENET_ANY,
		.peers_max = 3,
		.pool_bytes = 256 << 10,
		.returning_percent = 25,
		.expand_bytes_per_s = 10000};

	raw_new(&raw, &config);
	for (uint32_t k = 0; k < CLIENTS; k++) {
		/* the fourth finds the server full */
		known[k] = raw_connect(&raw, &clients[k], k, k == 0 ? 4 : 255);
		REQUIRE(known[k] == (k < 3));
		handles[k] = known[k] ? raw.handle : 0;
	}
	raw_forget(&raw);
	while (size >= 3) {
		uint32_t count = data[2];

		if (count > size - 3)
			count = (uint32_t)size - 3;
		step(data[0], data[1], data + 3, count);
		data += 3 + count;
		size -= 3 + count;
	}
	/* everyone falls silent; what they took comes back */
	raw.deaf = raw.no_buffer = raw.refuse_events = raw.echo = false;
	for (int i = 0; i < 2000; i++)
		raw_service(&raw, 100);
	REQUIRE(sw_enet_peers(raw.engine) == 0);
	REQUIRE(raw.connects == raw.disconnects);
	REQUIRE(raw_count(&raw, SW_ENET_C_HOLD_BYTES) == 0);
	REQUIRE(raw_count(&raw, SW_ENET_C_QUEUE_BYTES) == 0);
	REQUIRE(raw_count(&raw, SW_ENET_C_HALF_OPEN) == 0);
	raw_free(&raw);
	return 0;
}
