#include <stdlib.h>
#include <string.h>

#include "common/mono.h"
#include "dataplane/lean_client.h"
#include "perf/gen/flow.h"

#define CHANNEL 1u

enum { CLIENT_OUT = 1u, CLIENT_WAITS = 2u };

struct client {
	struct lean_client lean;
	uint32_t again_ms; /* of the loop's clock: when a repeat, or a loss, is due */
	uint64_t due_ns;   /* when the message that is out was due: its stamp */
	uint8_t flags, tries;
} __attribute__((aligned(64)));
_Static_assert(sizeof(struct client) == 64, "one line per client");

/* Clients in line; each is in it at most once. */
struct line {
	uint32_t *client;
	uint32_t mask, head, tail;
};

struct flow {
	struct flow_config config;
	struct flow_ops ops;
	struct flow_counters counters;
	struct latency latency;
	struct client *clients;
	struct line idle;       /* connected, without a message out */
	struct line handshakes; /* by the time of the last CONNECT */
	uint32_t connect_next, out;
	uint32_t now_ms, swept_ms, sweep_next;
	bool sending, connecting;
	uint64_t due_ns; /* of the next message, when there is a rate */
	uint64_t now_ns;
	/* FLOW_LINES */
	uint32_t speaker;
	uint64_t stamp_ns, heard_ns; /* of the last line; when a delivery came */
	/* the datagram being read */
	uint32_t reading;
	bool echoed;
	uint8_t scratch[FLOW_DATAGRAM_MAX];
	uint8_t payload[FLOW_BYTES_MAX];
};

static bool line_new(struct line *line, uint32_t clients)
{
	uint32_t size = 1;

	while (size < clients)
		size *= 2;
	line->mask = size - 1;
	line->client = calloc(size, sizeof(*line->client));
	return line->client != NULL;
}

static bool line_empty(const struct line *line)
{
	return line->head == line->tail;
}

static void line_push(struct line *line, uint32_t client)
{
	line->client[line->tail++ & line->mask] = client;
}

static uint32_t line_pop(struct line *line)
{
	return line->client[line->head++ & line->mask];
}

static uint32_t to_ms(uint64_t ns)
{
	return (uint32_t)(ns / NS_PER_MS);
}

struct flow *flow_new(const struct flow_config *config, const struct flow_ops *ops)
{
	struct flow *flow;

	if (config->clients < 1 || config->clients > FLOW_CLIENTS_MAX || config->ids < 1 ||
		config->ids > 4095 || config->bytes < FLOW_BYTES_MIN ||
		config->bytes > FLOW_BYTES_MAX || config->window < 1)
		return NULL;
	flow = calloc(1, sizeof(*flow));
	if (!flow)
		return NULL;
	flow->config = *config;
	flow->ops = *ops;
	flow->clients = aligned_alloc(64, config->clients * sizeof(*flow->clients));
	if (!flow->clients || !line_new(&flow->idle, config->clients) ||
		!line_new(&flow->handshakes, config->clients)) {
		flow_free(flow);
		return NULL;
	}
	memset(flow->clients, 0, config->clients * sizeof(*flow->clients));
	for (uint32_t i = FLOW_BYTES_MIN; i < config->bytes; i++)
		flow->payload[i] = (uint8_t)i;
	return flow;
}

void flow_free(struct flow *flow)
{
	if (!flow)
		return;
	free(flow->handshakes.client);
	free(flow->idle.client);
	free(flow->clients);
	free(flow);
}

/* --- messages --- */

static bool may_send(const struct flow *flow)
{
	return flow->sending && (!flow->config.count || flow->counters.sent < flow->config.count);
}

/* Writes the message that is due behind the acknowledgements in out[at], or alone when at is 0.
 * Returns the datagram's bytes. */
static uint32_t put_message(struct flow *flow, struct client *client, uint8_t *out, uint32_t at)
{
	struct lean_client *lean = &client->lean;
	uint32_t bytes = flow->config.bytes;

	memcpy(flow->payload, &client->due_ns, sizeof(client->due_ns));
	/* ENet numbers at most 65,535 unreliable messages behind a reliable one. */
	if (flow->config.mode == FLOW_RELIABLE || lean->unreliable[CHANNEL] == UINT16_MAX)
		return at ? lean_add_reliable(lean, CHANNEL, flow->payload, bytes, out, at)
			  : lean_send_reliable(
				    lean, CHANNEL, flow->payload, bytes, flow->now_ms, out);
	return at ? lean_add_unreliable(lean, CHANNEL, flow->payload, bytes, out, at)
		  : lean_send_unreliable(lean, CHANNEL, flow->payload, bytes, out);
}

static void is_out(struct flow *flow, struct client *client)
{
	client->flags |= CLIENT_OUT;
	client->tries = 0;
	client->again_ms =
		flow->now_ms + (flow->config.mode == FLOW_RELIABLE ? FLOW_REPEAT_MS : FLOW_LOST_MS);
	flow->out++;
	flow->counters.sent++;
}

static void rest(struct flow *flow, uint32_t index)
{
	struct client *client = &flow->clients[index];

	if ((client->flags & CLIENT_WAITS) || client->lean.state != LEAN_CONNECTED)
		return;
	client->flags |= CLIENT_WAITS;
	line_push(&flow->idle, index);
}

static void settle(struct flow *flow, struct client *client)
{
	client->flags &= (uint8_t)~CLIENT_OUT;
	flow->out--;
}

/* Its stamp tells a message from the client's one before, also when both were due at once. */
static void stamp(struct client *client, uint64_t due_ns)
{
	client->due_ns = due_ns > client->due_ns ? due_ns : client->due_ns + 1;
}

static bool send_new(struct flow *flow, uint32_t index, uint64_t due_ns)
{
	struct client *client = &flow->clients[index];
	uint8_t *out = flow->ops.begin(flow->ops.ctx, index);

	if (!out) {
		flow->counters.no_buffer++;
		return false;
	}
	stamp(client, due_ns);
	flow->ops.end(flow->ops.ctx, index, put_message(flow, client, out, 0));
	is_out(flow, client);
	return true;
}

/* --- what comes in --- */

/* A line that came before, or one of those given up, counts as late. */
static void hear_line(struct flow *flow, struct client *client, uint64_t due_ns, bool reliable)
{
	if (due_ns <= client->due_ns || !flow->out || !reliable) {
		flow->counters.late++;
		return;
	}
	client->due_ns = due_ns;
	flow->heard_ns = flow->now_ns;
	flow->out--;
	flow->counters.received++;
	latency_add(&flow->latency, flow->now_ns > due_ns ? flow->now_ns - due_ns : 0);
}

static void on_message(
	void *ctx, uint8_t channel, bool reliable, const uint8_t *payload, uint32_t bytes)
{
	struct flow *flow = ctx;
	struct client *client = &flow->clients[flow->reading];
	uint64_t due_ns;

	(void)channel;
	if (bytes != flow->config.bytes || payload[bytes - 1] != flow->payload[bytes - 1]) {
		flow->counters.wrong++;
		return;
	}
	memcpy(&due_ns, payload, sizeof(due_ns));
	if (flow->config.mode == FLOW_LINES) {
		hear_line(flow, client, due_ns, reliable);
		return;
	}
	if (!(client->flags & CLIENT_OUT) || due_ns != client->due_ns) {
		flow->counters.late++;
		return;
	}
	settle(flow, client);
	flow->counters.received++;
	latency_add(&flow->latency, flow->now_ns > due_ns ? flow->now_ns - due_ns : 0);
	flow->echoed = true;
}

static void state_changed(struct flow *flow, uint32_t index, enum lean_state before)
{
	struct client *client = &flow->clients[index];

	if (client->lean.state == LEAN_CONNECTED) {
		flow->counters.connected++;
		rest(flow, index);
		return;
	}
	if (before == LEAN_CONNECTING)
		flow->counters.refused++;
	else
		flow->counters.gone++;
	if (client->flags & CLIENT_OUT) {
		settle(flow, client);
		flow->counters.lost++;
	}
}

void flow_receive(
	struct flow *flow, uint32_t index, const uint8_t *data, uint32_t bytes, uint64_t now_ns)
{
	const struct lean_sink sink = {.ctx = flow, .message = on_message};
	struct client *client = &flow->clients[index];
	enum lean_state before = client->lean.state;
	uint32_t said;
	bool again;
	uint8_t *out;

	flow->now_ns = now_ns;
	flow->reading = index;
	flow->echoed = false;
	said = lean_read(&client->lean, data, bytes, &sink, flow->now_ms, flow->scratch);
	if (before != client->lean.state)
		state_changed(flow, index, before);
	again = flow->echoed && !flow->config.rate && may_send(flow) &&
		flow->out < flow->config.window && client->lean.state == LEAN_CONNECTED;
	if (!said && !again) {
		if (flow->echoed)
			rest(flow, index);
		return;
	}
	out = flow->ops.begin(flow->ops.ctx, index);
	if (!out) {
		flow->counters.no_buffer++;
		if (flow->echoed)
			rest(flow, index);
		return;
	}
	memcpy(out, flow->scratch, said);
	if (again) {
		stamp(client, now_ns);
		said = put_message(flow, client, out, said);
		is_out(flow, client);
	} else {
		flow->counters.answers++;
		if (flow->echoed)
			rest(flow, index);
	}
	flow->ops.end(flow->ops.ctx, index, said);
}

/* --- handshakes --- */

void flow_connect(struct flow *flow)
{
	flow->connecting = true;
	flow->connect_next = 0;
}

uint32_t flow_connecting(const struct flow *flow)
{
	if (!flow->connecting)
		return 0;
	return flow->handshakes.tail - flow->handshakes.head + flow->config.clients -
	       flow->connect_next;
}

/* The same id each time, or it would be another peer. */
static bool connect_one(struct flow *flow, uint32_t index)
{
	struct client *client = &flow->clients[index];
	uint8_t *out = flow->ops.begin(flow->ops.ctx, index);

	if (!out) {
		flow->counters.no_buffer++;
		return false;
	}
	flow->ops.end(flow->ops.ctx, index,
		lean_connect(&client->lean, (index + 1) * 2654435761u ^ flow->config.seed,
			(uint16_t)(index % flow->config.ids), 0, flow->now_ms, out));
	client->again_ms = flow->now_ms + FLOW_CONNECT_MS;
	client->tries++;
	flow->counters.connects++;
	line_push(&flow->handshakes, index);
	return true;
}

static uint32_t connect_step(struct flow *flow, uint32_t room)
{
	struct line *line = &flow->handshakes;
	uint32_t used = 0;

	while (!line_empty(line)) {
		uint32_t index = line->client[line->head & line->mask];
		struct client *client = &flow->clients[index];

		if (client->lean.state == LEAN_CONNECTING) {
			if ((int32_t)(flow->now_ms - client->again_ms) < 0 || used == room)
				break;
			if (client->tries == FLOW_CONNECT_TRIES) {
				client->lean.state = LEAN_GONE;
				flow->counters.unanswered++;
			} else {
				line_pop(line);
				if (!connect_one(flow, index)) {
					line_push(line, index);
					break;
				}
				used++;
				continue;
			}
		}
		line_pop(line);
	}
	while (flow->connect_next < flow->config.clients && used < room &&
		line->tail - line->head < FLOW_HANDSHAKES) {
		struct client *client = &flow->clients[flow->connect_next];

		if (client->lean.state != LEAN_CONNECTED) {
			client->tries = 0;
			if (!connect_one(flow, flow->connect_next))
				break;
			used++;
		}
		flow->connect_next++;
	}
	if (!flow_connecting(flow))
		flow->connecting = false;
	return used;
}

/* --- repeats, losses --- */

static void overdue(struct flow *flow, uint32_t index)
{
	struct client *client = &flow->clients[index];
	uint8_t *out;

	if (flow->config.mode == FLOW_UNRELIABLE) {
		settle(flow, client);
		flow->counters.lost++;
		rest(flow, index);
		return;
	}
	if (client->tries == FLOW_REPEATS) {
		settle(flow, client);
		flow->counters.lost++;
		flow->counters.unanswered++;
		client->lean.state = LEAN_GONE;
		return;
	}
	out = flow->ops.begin(flow->ops.ctx, index);
	if (!out)
		return;                   /* at the next look */
	client->lean.reliable[CHANNEL]--; /* the same number again */
	flow->ops.end(flow->ops.ctx, index, put_message(flow, client, out, 0));
	flow->counters.repeated++;
	client->tries++;
	client->again_ms = flow->now_ms + (FLOW_REPEAT_MS << client->tries);
}

/* Each client is looked at once in 64 ms. */
static uint32_t sweep(struct flow *flow, uint32_t room)
{
	uint32_t look, used = 0;

	if (flow->now_ms == flow->swept_ms)
		return 0;
	look = (flow->config.clients + 63) / 64;
	flow->swept_ms = flow->now_ms;
	for (uint32_t i = 0; i < look && used < room; i++) {
		uint32_t index = flow->sweep_next;
		const struct client *client = &flow->clients[index];

		flow->sweep_next = index + 1 == flow->config.clients ? 0 : index + 1;
		if (!(client->flags & CLIENT_OUT) || (int32_t)(flow->now_ms - client->again_ms) < 0)
			continue;
		overdue(flow, index);
		used++;
	}
	return used;
}

/* --- new messages --- */

static bool next_idle(struct flow *flow, uint32_t *index)
{
	while (!line_empty(&flow->idle)) {
		struct client *client;

		*index = line_pop(&flow->idle);
		client = &flow->clients[*index];
		client->flags &= (uint8_t)~CLIENT_WAITS;
		if (client->lean.state == LEAN_CONNECTED && !(client->flags & CLIENT_OUT))
			return true;
	}
	return false;
}

/* Time that a rate has fallen behind by more than this is given up, and counted. */
#define BEHIND_NS (100 * NS_PER_MS)

static void send_due(struct flow *flow, uint32_t room)
{
	uint64_t step_ns = NS_PER_S / flow->config.rate;
	uint32_t index;

	while (room && flow->due_ns <= flow->now_ns && may_send(flow) &&
		flow->out < flow->config.window && next_idle(flow, &index)) {
		if (!send_new(flow, index, flow->due_ns)) {
			rest(flow, index);
			return;
		}
		flow->due_ns += step_ns;
		room--;
	}
	if (flow->now_ns > flow->due_ns + BEHIND_NS) {
		uint64_t messages = (flow->now_ns - flow->due_ns - BEHIND_NS) / step_ns;

		flow->counters.behind += messages;
		flow->due_ns += messages * step_ns;
	}
}

static void send_free(struct flow *flow, uint32_t room)
{
	uint32_t index;

	while (room-- && may_send(flow) && flow->out < flow->config.window &&
		next_idle(flow, &index)) {
		if (!send_new(flow, index, flow->now_ns)) {
			rest(flow, index);
			return;
		}
	}
}

static void give_lines_up(struct flow *flow)
{
	if (!flow->out || flow->now_ns - flow->heard_ns <= FLOW_LOST_MS * NS_PER_MS)
		return;
	flow->counters.lost += flow->out;
	flow->out = 0;
}

/* The next client in turn says a line, when there is room for its deliveries. */
static void send_lines(struct flow *flow)
{
	uint32_t members = (uint32_t)(flow->counters.connected - flow->counters.gone);
	struct client *client;
	uint8_t *out;

	if (!may_send(flow) || flow->out > flow->config.window || !members)
		return;
	do
		flow->speaker = (flow->speaker + 1) % flow->config.clients;
	while (flow->clients[flow->speaker].lean.state != LEAN_CONNECTED);
	client = &flow->clients[flow->speaker];
	out = flow->ops.begin(flow->ops.ctx, flow->speaker);
	if (!out) {
		flow->counters.no_buffer++;
		return;
	}
	flow->stamp_ns = flow->now_ns > flow->stamp_ns ? flow->now_ns : flow->stamp_ns + 1;
	memcpy(flow->payload, &flow->stamp_ns, sizeof(flow->stamp_ns));
	flow->ops.end(flow->ops.ctx, flow->speaker,
		lean_send_reliable(&client->lean, CHANNEL, flow->payload, flow->config.bytes,
			flow->now_ms, out));
	if (!flow->out)
		flow->heard_ns = flow->now_ns;
	flow->out += members;
	flow->counters.sent += members;
}

void flow_step(struct flow *flow, uint32_t room, uint64_t now_ns)
{
	uint32_t used = 0;

	flow->now_ns = now_ns;
	flow->now_ms = to_ms(now_ns);
	if (flow->connecting)
		used = connect_step(flow, room);
	if (flow->config.mode == FLOW_LINES)
		give_lines_up(flow);
	else
		used += sweep(flow, room - used);
	if (!flow->sending)
		return;
	if (flow->config.mode == FLOW_LINES)
		send_lines(flow);
	else if (flow->config.rate)
		send_due(flow, room - used);
	else
		send_free(flow, room - used);
}

void flow_send(struct flow *flow, bool on, uint64_t now_ns)
{
	flow->sending = on;
	flow->due_ns = now_ns;
}

bool flow_disconnect(struct flow *flow, uint32_t *from, uint32_t room, uint64_t now_ns)
{
	flow->now_ms = to_ms(now_ns);
	for (; *from < flow->config.clients && room; ++*from) {
		struct client *client = &flow->clients[*from];
		uint8_t *out;

		if (client->lean.state != LEAN_CONNECTED)
			continue;
		out = flow->ops.begin(flow->ops.ctx, *from);
		if (!out)
			break;
		flow->ops.end(
			flow->ops.ctx, *from, lean_disconnect(&client->lean, 0, flow->now_ms, out));
		room--;
	}
	return *from < flow->config.clients;
}

uint32_t flow_out(const struct flow *flow)
{
	return flow->out;
}

bool flow_finished(const struct flow *flow)
{
	return flow->config.count && flow->counters.sent >= flow->config.count;
}

const struct flow_counters *flow_counters(const struct flow *flow)
{
	return &flow->counters;
}

struct latency *flow_latency(struct flow *flow)
{
	return &flow->latency;
}
