/* crowd.c: see crowd.h. */
#include <stdlib.h>
#include <sys/mman.h>

#include "common/check.h"
#include "dataplane/enet/crowd.h"

#define PORT       20000u
#define BURST      32u
#define LARGE_PAGE ((size_t)2 << 20)

static uint32_t client_of(const struct crowd *crowd, const struct sw_enet_addr *to, uint32_t id)
{
	uint32_t source = (uint32_t)to->ip[13] << 16 | (uint32_t)to->ip[14] << 8 | to->ip[15];
	uint32_t client = source * crowd->per_source + id;

	return to->ip[12] == 10 && to->port == PORT && id < crowd->per_source &&
			       client < crowd->count
		       ? client
		       : UINT32_MAX;
}

struct sw_enet_addr crowd_address(const struct crowd *crowd, uint32_t client)
{
	uint32_t source = client / crowd->per_source;

	return (struct sw_enet_addr){.ip = {[10] = 0xff,
					     [11] = 0xff,
					     [12] = 10,
					     [13] = (uint8_t)(source >> 16),
					     [14] = (uint8_t)(source >> 8),
					     [15] = (uint8_t)source},
		.port = PORT};
}

/* --- the engine's calls --- */

static bool on_deliver(void *ctx, const struct sw_enet_delivery *run, uint32_t n)
{
	struct crowd *crowd = ctx;

	for (uint32_t i = 0; i < n; i++) {
		uint32_t who, number;

		if (crowd->mute) { /* the clients' memory is not what is measured */
			if (sw_enet_send(crowd->engine, run[i].peer, run[i].channel, run[i].flags,
				    run[i].payload, run[i].bytes))
				crowd->disorder++;
			continue;
		}
		if (run[i].bytes != CROWD_PAYLOAD) {
			crowd->disorder++;
			continue;
		}
		memcpy(&who, run[i].payload, 4);
		memcpy(&number, run[i].payload + 4, 4);
		if (who >= crowd->count || crowd->clients[who].taken++ != number)
			crowd->disorder++;
		if (sw_enet_send(crowd->engine, run[i].peer, run[i].channel, run[i].flags,
			    run[i].payload, run[i].bytes))
			crowd->disorder++;
	}
	return true;
}

static bool on_connected(void *ctx, const struct sw_enet_connected *info)
{
	struct crowd *crowd = ctx;

	(void)info;
	crowd->connected++;
	return true;
}

static bool on_disconnected(void *ctx, uint64_t peer, uint32_t data, enum sw_enet_gone reason)
{
	struct crowd *crowd = ctx;

	(void)peer;
	(void)data;
	crowd->gone[reason]++;
	return true;
}

static uint8_t *on_tx_begin(void *ctx, uint32_t peer_index, const struct sw_enet_addr *to,
	uint32_t bytes_max, void **frame)
{
	struct crowd *crowd = ctx;
	struct crowd_frame *out;

	(void)peer_index;
	(void)bytes_max; /* at most the MTU's limit */
	out = crowd->frame_free ? crowd->frame_free : &crowd->frame[crowd->frames_fresh++];
	CHECK(crowd->frames_fresh <= SW_ENET_OPEN_MAX + 1);
	crowd->frame_free = out->next;
	out->next = NULL;
	out->to = *to;
	*frame = out;
	return out->data;
}

struct hearing {
	struct crowd *crowd;
	uint32_t client;
};

static void on_message(
	void *ctx, uint8_t channel, bool reliable, const uint8_t *payload, uint32_t bytes)
{
	struct hearing *hearing = ctx;
	struct crowd_client *client = &hearing->crowd->clients[hearing->client];
	uint32_t who, number;

	(void)channel;
	(void)reliable;
	if (bytes != CROWD_PAYLOAD) {
		hearing->crowd->disorder++;
		return;
	}
	memcpy(&who, payload, 4);
	memcpy(&number, payload + 4, 4);
	if (who != hearing->client || client->heard++ != number)
		hearing->crowd->disorder++;
}

static struct crowd_datagram *say(struct crowd *crowd, uint32_t client)
{
	struct crowd_datagram *said;

	if (crowd->said_count == crowd->said_max)
		abort(); /* a client says one thing in answer to one datagram */
	said = &crowd->said[crowd->said_count];
	said->client = client;
	return said;
}

static void on_tx_end(void *ctx, uint32_t peer_index, void *frame, uint32_t bytes)
{
	struct crowd *crowd = ctx;
	struct hearing hearing = {.crowd = crowd};
	struct lean_sink sink = {.ctx = &hearing, .message = on_message};
	uint8_t answer[LEAN_OUT_BYTES];
	struct crowd_frame *out = frame;
	uint32_t said;

	(void)peer_index;
	out->next = crowd->frame_free;
	crowd->frame_free = out;
	if (!bytes)
		return;
	crowd->out++;
	crowd->out_bytes += bytes;
	if (crowd->mute)
		return;
	hearing.client = client_of(crowd, &out->to, lean_get16(out->data) & 0xfff);
	if (hearing.client == UINT32_MAX) {
		crowd->stray++;
		crowd->stray_bytes += bytes;
		return;
	}
	if (crowd->deaf)
		return;
	said = lean_read(&crowd->clients[hearing.client].lean, out->data, bytes, &sink,
		(uint32_t)crowd->now_ms, answer);
	if (!said)
		return;
	if (said > CROWD_DATAGRAM)
		abort();
	memcpy(say(crowd, hearing.client)->data, answer, said);
	crowd->said[crowd->said_count++].bytes = said;
}

/* --- set-up --- */

static void default_to(uint32_t *value, uint32_t fallback)
{
	if (!*value)
		*value = fallback;
}

bool crowd_new(struct crowd *crowd, const struct sw_enet_config *config, uint32_t count,
	uint32_t per_source)
{
	struct sw_enet_ops ops = {.ctx = crowd,
		.deliver = on_deliver,
		.connected = on_connected,
		.disconnected = on_disconnected,
		.tx_begin = on_tx_begin,
		.tx_end = on_tx_end};
	struct sw_enet_config *c = &crowd->config;

	memset(crowd, 0, sizeof *crowd);
	*c = *config;
	default_to(&c->peers_max, count);
	default_to(&c->half_open_max, 4096);
	default_to(&c->channels_max, 4);
	default_to(&c->mtu, 1400);
	default_to(&c->packet_bytes_max, 8192);
	default_to(&c->connects_per_s, 1000000000);
	default_to(&c->connects_burst, 1000000000);
	default_to(&c->source_connects_per_s, 1000000000);
	default_to(&c->source_connects_burst, 1000000000);
	default_to(&c->peer_hold_bytes, 32768);
	default_to(&c->peer_queue_bytes, 65536);
	if (!c->pool_bytes)
		c->pool_bytes = 64 << 20;
	memcpy(c->key, "a crowd's own key", sizeof c->key);
	crowd->count = count;
	crowd->per_source = per_source;
	crowd->now_ms = 1000;
	crowd->said_max = 2 * count + 1024;
	crowd->memory_bytes = sw_enet_bytes(c);
	if (!crowd->memory_bytes || count > CROWD_CLIENTS_MAX || per_source < 1 ||
		per_source > 4095)
		return false;
	/* large pages where there are some: a dataplane has its memory in them */
	crowd->memory = aligned_alloc(
		LARGE_PAGE, (crowd->memory_bytes + LARGE_PAGE - 1) / LARGE_PAGE * LARGE_PAGE);
	if (crowd->memory)
		madvise(crowd->memory, crowd->memory_bytes, MADV_HUGEPAGE);
	crowd->clients = calloc(count, sizeof *crowd->clients);
	crowd->said = malloc(crowd->said_max * sizeof *crowd->said);
	if (crowd->memory && crowd->clients && crowd->said)
		crowd->engine =
			sw_enet_init(crowd->memory, crowd->memory_bytes, c, &ops, crowd->now_ms);
	if (!crowd->engine)
		crowd_free(crowd);
	return crowd->engine != NULL;
}

void crowd_free(struct crowd *crowd)
{
	free(crowd->said);
	free(crowd->clients);
	free(crowd->memory);
	crowd->engine = NULL;
	crowd->memory = crowd->clients = NULL;
	crowd->said = NULL;
}

/* --- what clients say --- */

uint32_t crowd_connect_bytes(struct crowd *crowd, uint32_t client, uint8_t *out)
{
	return lean_connect(&crowd->clients[client].lean, (client + 1) * 2654435761u,
		(uint16_t)(client % crowd->per_source), client, (uint32_t)crowd->now_ms, out);
}

uint32_t crowd_message_bytes(struct crowd *crowd, uint32_t client, bool reliable, uint8_t *out)
{
	struct crowd_client *c = &crowd->clients[client];
	uint8_t payload[CROWD_PAYLOAD] = {0};

	memcpy(payload, &client, 4);
	memcpy(payload + 4, &c->sent, 4);
	c->sent++;
	return reliable ? lean_send_reliable(
				  &c->lean, 0, payload, CROWD_PAYLOAD, (uint32_t)crowd->now_ms, out)
			: lean_send_unreliable(&c->lean, 0, payload, CROWD_PAYLOAD, out);
}

void crowd_connect(struct crowd *crowd, uint32_t client)
{
	struct crowd_datagram *said = say(crowd, client);

	said->bytes = crowd_connect_bytes(crowd, client, said->data);
	crowd->said_count++;
}

void crowd_message(struct crowd *crowd, uint32_t client)
{
	struct crowd_datagram *said = say(crowd, client);

	said->bytes = crowd_message_bytes(crowd, client, true, said->data);
	crowd->said_count++;
}

void crowd_leave(struct crowd *crowd, uint32_t client)
{
	struct crowd_datagram *said = say(crowd, client);

	said->bytes = lean_disconnect(
		&crowd->clients[client].lean, 0, (uint32_t)crowd->now_ms, said->data);
	crowd->said_count++;
}

void crowd_pump(struct crowd *crowd)
{
	while (crowd->said_count) {
		struct sw_enet_datagram burst[BURST];
		struct crowd_datagram now[BURST];
		uint32_t n = crowd->said_count < BURST ? crowd->said_count : BURST;

		/* the newest first: no client has two under way that must keep their order */
		crowd->said_count -= n;
		memcpy(now, crowd->said + crowd->said_count, n * sizeof *now);
		for (uint32_t i = 0; i < n; i++)
			burst[i] = (struct sw_enet_datagram){
				.from = crowd_address(crowd, now[i].client),
				.bytes = now[i].bytes,
				.data = now[i].data};
		sw_enet_rx(crowd->engine, burst, n, NULL, crowd->now_ms);
	}
}

void crowd_run(struct crowd *crowd, uint32_t ms, uint32_t step_ms)
{
	for (uint32_t at = 0; at < ms; at += step_ms) {
		crowd->now_ms += step_ms;
		sw_enet_service(crowd->engine, crowd->now_ms);
		crowd_pump(crowd);
	}
}

void crowd_connect_all(struct crowd *crowd, uint32_t from, uint32_t to)
{
	for (uint32_t i = from; i < to; i++) {
		crowd_connect(crowd, i);
		if (crowd->said_count < 1024 && i + 1 < to)
			continue;
		crowd_pump(crowd);
		sw_enet_service(crowd->engine, crowd->now_ms);
		crowd_pump(crowd);
	}
}

uint64_t crowd_counter(const struct crowd *crowd, enum sw_enet_counter counter)
{
	return counter_get(&sw_enet_counters(crowd->engine)[counter]);
}

uint64_t crowd_refusals(const struct crowd *crowd)
{
	static const enum sw_enet_counter all[] = {
#define REFUSAL(id, name, kind, help) SW_ENET_C_##id,
		SW_ENET_REFUSALS(REFUSAL)
#undef REFUSAL
	};
	uint64_t sum = 0;

	for (size_t i = 0; i < sizeof all / sizeof *all; i++)
		sum += crowd_counter(crowd, all[i]);
	return sum;
}
