/* raw_engine.c: see raw_engine.h. */
#include <stdlib.h>

#include "dataplane/enet/raw_engine.h"

static bool on_deliver(void *ctx, const struct sw_enet_delivery *run, uint32_t n)
{
	struct raw_engine *raw = ctx;

	if (raw->deaf) {
		raw->runs_refused++;
		return false;
	}
	raw->runs++;
	raw->delivered_total += n;
	for (uint32_t i = 0; i < n; i++) {
		if (raw->echo)
			(void)sw_enet_send(raw->engine, run[i].peer, run[i].channel, run[i].flags,
				run[i].payload, run[i].bytes);
		if (!raw->quiet && raw->delivered_count < RAW_DELIVERED_MAX) {
			struct raw_delivery *d = &raw->delivered[raw->delivered_count++];

			*d = (struct raw_delivery){.peer = run[i].peer,
				.bytes = run[i].bytes,
				.channel = run[i].channel,
				.flags = run[i].flags,
				.first = run[i].bytes ? run[i].payload[0] : 0};
			for (uint32_t at = 0; at < run[i].bytes; at++)
				d->sum += run[i].payload[at];
		}
	}
	return true;
}

static uint32_t on_deliver_each(void *ctx, const struct sw_enet_delivery *packets, uint32_t n)
{
	struct raw_engine *raw = ctx;
	uint32_t taken = 0;

	raw->each_calls++;
	for (uint32_t i = 0; i < n; i++)
		taken += on_deliver(ctx, &packets[i], 1);
	return taken;
}

static bool on_connected(void *ctx, const struct sw_enet_connected *info)
{
	struct raw_engine *raw = ctx;

	if (raw->refuse_events) {
		raw->events_refused++;
		return false;
	}
	raw->connects++;
	raw->handle = info->peer;
	raw->info = *info;
	if (raw->hang_up)
		(void)sw_enet_disconnect(
			raw->engine, info->peer, SW_ENET_DISCONNECT_NOW, 1, SW_ENET_GONE_LOCAL);
	return true;
}

static bool on_disconnected(void *ctx, uint64_t peer, uint32_t data, enum sw_enet_gone reason)
{
	struct raw_engine *raw = ctx;

	(void)peer;
	if (raw->refuse_events) {
		raw->events_refused++;
		return false;
	}
	raw->disconnects++;
	raw->gone_data = data;
	raw->gone_reason = reason;
	return true;
}

/* Exactly as large as asked for, so that the address sanitizer sees a byte too many. */
static uint8_t *on_tx_begin(void *ctx, uint32_t peer_index, const struct sw_enet_addr *to,
	uint32_t bytes_max, void **frame)
{
	struct raw_engine *raw = ctx;
	struct raw_frame *out;

	(void)peer_index;
	if (raw->no_buffer || bytes_max > RAW_DATAGRAM_MAX)
		return NULL;
	*frame = out = malloc(sizeof *out + bytes_max);
	*out = (struct raw_frame){.next = raw->open, .to = *to};
	raw->open = out;
	return out->data;
}

static void on_tx_end(void *ctx, uint32_t peer_index, void *frame, uint32_t bytes)
{
	struct raw_engine *raw = ctx;
	struct raw_frame *out = frame, **link = &raw->open;

	(void)peer_index;
	while (*link != out)
		link = &(*link)->next;
	*link = out->next;
	raw->sent_total += bytes != 0;
	if (bytes && !raw->quiet && raw->sent_count < RAW_SENT_MAX) {
		raw->sent[raw->sent_count].to = out->to;
		raw->sent[raw->sent_count].bytes = bytes;
		memcpy(raw->sent[raw->sent_count++].data, out->data, bytes);
	}
	free(out);
}

static void on_tx_end_each(void *ctx, const struct sw_enet_written *datagrams, uint32_t n)
{
	for (uint32_t i = 0; i < n; i++)
		on_tx_end(ctx, datagrams[i].peer_index, datagrams[i].frame, datagrams[i].bytes);
}

static void default_to(uint32_t *value, uint32_t fallback)
{
	if (!*value)
		*value = fallback;
}

void raw_new(struct raw_engine *raw, const struct sw_enet_config *config)
{
	raw_new_ops(raw, config, true);
}

void raw_new_ops(struct raw_engine *raw, const struct sw_enet_config *config, bool each)
{
	struct sw_enet_ops ops = {
		.ctx = raw,
		.deliver = on_deliver,
		.deliver_each = each ? on_deliver_each : NULL,
		.tx_end_each = each ? on_tx_end_each : NULL,
		.connected = on_connected,
		.disconnected = on_disconnected,
		.tx_begin = on_tx_begin,
		.tx_end = on_tx_end,
	};
	struct sw_enet_config *c = &raw->config;
	size_t bytes;

	memset(raw, 0, sizeof *raw);
	*c = *config;
	default_to(&c->peers_max, 8);
	default_to(&c->half_open_max, 8);
	default_to(&c->channels_max, 255);
	default_to(&c->mtu, 1400);
	default_to(&c->packet_bytes_max, 8192);
	default_to(&c->connects_per_s, 1000000);
	default_to(&c->connects_burst, 1000000);
	default_to(&c->source_connects_per_s, 1000000);
	default_to(&c->source_connects_burst, 1000000);
	default_to(&c->peer_hold_bytes, 32768);
	default_to(&c->peer_queue_bytes, 65536);
	if (!c->pool_bytes)
		c->pool_bytes = 1 << 20;
	memcpy(c->key, "raw engine's key", sizeof c->key);
	bytes = sw_enet_bytes(c);
	raw->memory = aligned_alloc(64, bytes);
	raw->now_ms = 1000;
	raw->engine = sw_enet_init(raw->memory, bytes, c, &ops, raw->now_ms);
	if (!raw->engine)
		abort();
}

void raw_free(struct raw_engine *raw)
{
	for (struct raw_frame *next; raw->open; raw->open = next) {
		next = raw->open->next;
		free(raw->open);
	}
	free(raw->memory);
	raw->engine = NULL;
}

struct sw_enet_addr raw_source(uint32_t number)
{
	struct sw_enet_addr address = {.ip = {[10] = 0xff, [11] = 0xff, [12] = 10, [13] = 1}};

	address.ip[14] = (uint8_t)(number >> 8);
	address.ip[15] = (uint8_t)number;
	address.port = (uint16_t)(30000 + number % 30000);
	return address;
}

uint32_t raw_rx(struct raw_engine *raw, const struct sw_enet_addr *from, const uint8_t *data,
	uint32_t bytes)
{
	uint8_t *exact = malloc(bytes ? bytes : 1);
	struct sw_enet_datagram d = {.from = *from, .bytes = bytes, .data = exact};

	if (!exact)
		abort();
	memcpy(exact, data, bytes);
	sw_enet_rx(raw->engine, &d, 1, NULL, raw->now_ms);
	free(exact);
	raw->refused = d.refused;
	raw->peer_index = d.peer_index;
	return d.refused;
}

void raw_service(struct raw_engine *raw, uint64_t advance_ms)
{
	raw->now_ms += advance_ms;
	sw_enet_service(raw->engine, raw->now_ms);
}

void raw_forget(struct raw_engine *raw)
{
	raw->sent_count = raw->delivered_count = raw->runs = 0;
}

uint64_t raw_count(struct raw_engine *raw, enum sw_enet_counter counter)
{
	return counter_get(&sw_enet_counters(raw->engine)[counter]);
}

uint32_t raw_connect_bytes(uint8_t *out, uint32_t connect_id, uint32_t channels, uint32_t data)
{
	uint8_t *p = out;

	wire_put16(p, WIRE_SENT_TIME | WIRE_NO_PEER);
	wire_put16(p + 2, 77);
	p = wire_put_command(p + 4, WIRE_CONNECT | WIRE_ACK_FLAG, WIRE_CONTROL_CHANNEL, 1);
	memset(p, 0, WIRE_CONNECT_BYTES - WIRE_COMMAND_HEADER_BYTES);
	wire_put16(p, 5); /* the client's id for us */
	p[2] = p[3] = WIRE_SESSION_NONE;
	wire_put32(p + 4, 1400);
	wire_put32(p + 8, 65536);
	wire_put32(p + 12, channels);
	wire_put32(p + 24, 5000);
	wire_put32(p + 28, 2);
	wire_put32(p + 32, 2);
	memcpy(p + 36, &connect_id, 4);
	wire_put32(p + 40, data);
	return 4 + WIRE_CONNECT_BYTES;
}

bool raw_connect(
	struct raw_engine *raw, struct raw_client *client, uint32_t number, uint32_t channels)
{
	uint8_t out[64], *p;
	const uint8_t *verify;
	uint32_t bytes, index = raw->sent_count;
	bool quiet = raw->quiet;

	*client = (struct raw_client){
		.address = raw_source(number), .client_id = 5, .connect_id = 0x1000 + number};
	bytes = raw_connect_bytes(out, client->connect_id, channels, number);
	raw->quiet = false;
	if (index == RAW_SENT_MAX)
		index = raw->sent_count = 0;
	raw_rx(raw, &client->address, out, bytes);
	raw->quiet = quiet;
	if (raw->refused)
		return false;
	verify = raw->sent[index].data;
	client->peer_id = wire_get16(verify + 8);
	client->session = verify[11];
	p = raw_put_acknowledge(raw_header(client, out, 78), WIRE_CONTROL_CHANNEL,
		wire_get16(verify + 6), wire_get16(verify + 2));
	raw->sent_count = index;
	return raw_say(raw, client, out, p) == 0;
}

uint8_t *raw_header(const struct raw_client *client, uint8_t *out, uint16_t sent_time)
{
	wire_put16(out,
		WIRE_SENT_TIME | (uint32_t)client->session << WIRE_SESSION_SHIFT | client->peer_id);
	wire_put16(out + 2, sent_time);
	return out + 4;
}

uint8_t *raw_put_acknowledge(uint8_t *p, uint8_t channel, uint16_t seq, uint16_t sent_time)
{
	p = wire_put_command(p, WIRE_ACKNOWLEDGE, channel, seq);
	wire_put16(p, seq);
	wire_put16(p + 2, sent_time);
	return p + 4;
}

uint8_t *raw_put_unsequenced(uint8_t *p, uint16_t group, const void *data, uint32_t n)
{
	p = wire_put_command(p, WIRE_SEND_UNSEQUENCED | WIRE_UNSEQUENCED_FLAG, 0, 0);
	wire_put16(p, group);
	wire_put16(p + 2, n);
	memcpy(p + 4, data, n);
	return p + 4 + n;
}

uint8_t *raw_put_reliable(uint8_t *p, uint8_t channel, uint16_t seq, const void *data, uint32_t n)
{
	p = wire_put_command(p, WIRE_SEND_RELIABLE | WIRE_ACK_FLAG, channel, seq);
	wire_put16(p, n);
	memcpy(p + 2, data, n);
	return p + 2 + n;
}

uint8_t *raw_put_unreliable(uint8_t *p, uint8_t channel, uint16_t seq, uint16_t unreliable,
	const void *data, uint32_t n)
{
	p = wire_put_command(p, WIRE_SEND_UNRELIABLE, channel, seq);
	wire_put16(p, unreliable);
	wire_put16(p + 2, n);
	memcpy(p + 4, data, n);
	return p + 4 + n;
}

uint8_t *raw_put_fragment(uint8_t *p, bool reliable, uint8_t channel, uint16_t seq, uint16_t start,
	uint32_t count, uint32_t number, uint32_t total, uint32_t offset, const void *data,
	uint32_t n)
{
	uint32_t command =
		reliable ? WIRE_SEND_FRAGMENT | WIRE_ACK_FLAG : WIRE_SEND_UNRELIABLE_FRAGMENT;

	p = wire_put_command(p, command, channel, seq);
	wire_put16(p, start);
	wire_put16(p + 2, n);
	wire_put32(p + 4, count);
	wire_put32(p + 8, number);
	wire_put32(p + 12, total);
	wire_put32(p + 16, offset);
	memcpy(p + 20, data, n);
	return p + 20 + n;
}

bool raw_begin(struct raw_engine *raw, const struct sw_enet_config *config,
	struct raw_client *client, uint32_t channels)
{
	bool in;

	raw_new(raw, config);
	in = raw_connect(raw, client, 1, channels);
	raw_service(raw, 0);
	raw_forget(raw);
	return in;
}

uint32_t raw_say(struct raw_engine *raw, const struct raw_client *client, const uint8_t *out,
	const uint8_t *end)
{
	return raw_rx(raw, &client->address, out, (uint32_t)(end - out));
}

uint32_t raw_say_reliable(struct raw_engine *raw, const struct raw_client *client, uint8_t channel,
	uint16_t seq, uint32_t n)
{
	uint8_t payload[4000] = {(uint8_t)seq};
	uint8_t out[4096], *p = raw_header(client, out, (uint16_t)raw->now_ms);

	if (n > sizeof payload)
		abort();
	return raw_say(raw, client, out, raw_put_reliable(p, channel, seq, payload, n));
}

uint32_t raw_say_fragment(struct raw_engine *raw, const struct raw_client *client, bool reliable,
	uint8_t channel, uint16_t start, uint32_t count, uint32_t number)
{
	uint8_t payload[400] = {0};
	uint8_t out[1024], *p = raw_header(client, out, (uint16_t)raw->now_ms);

	return raw_say(raw, client, out,
		raw_put_fragment(p, reliable, channel, reliable ? (uint16_t)(start + number) : 0,
			start, count, number, count * 400, number * 400, payload, 400));
}
