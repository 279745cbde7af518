/* rx.c: from datagrams to commands. Every length is checked here, before anything is read. */
#include "dataplane/enet/engine.h"

#define RX_AHEAD 32u /* datagrams whose table lines are fetched before the first is worked on */

#define COMMAND_BYTES(name, number, bytes) [number] = (bytes),
static const uint8_t command_bytes[WIRE_COMMAND_COUNT] = {WIRE_COMMANDS(COMMAND_BYTES)};

static void announce(struct sw_enet *e, uint32_t index)
{
	struct peer *peer = &e->peers[index];
	struct sw_enet_connected info = {
		.peer = peer_handle(e, index),
		.address = peer->address,
		.connect_data = e->cold[index].connect_data,
		.payload_bytes_max = peer->mtu - tx_header_bytes(peer) - WIRE_SEND_UNRELIABLE_BYTES,
		.channels = peer->channel_count,
	};

	if (e->ops.connected(e->ops.ctx, &info))
		peer->flags &= ~(uint32_t)PEER_OWES_CONNECTED;
	else
		peer_dirty(e, index);
}

static void bandwidth_limit(struct sw_enet *e, uint32_t index, const uint8_t *p)
{
	struct peer_cold *cold = &e->cold[index];

	cold->incoming_bandwidth = wire_get32(p + 4);
	cold->outgoing_bandwidth = wire_get32(p + 8);
	e->peers[index].window_bytes =
		rtt_window_bytes(e->config.outgoing_bandwidth, cold->incoming_bandwidth);
}

static void throttle_configure(struct sw_enet *e, uint32_t index, const uint8_t *p)
{
	struct peer_cold *cold = &e->cold[index];

	cold->throttle_interval_ms = wire_get32(p + 4);
	cold->throttle_acceleration = wire_get32(p + 8);
	cold->throttle_deceleration = wire_get32(p + 12);
}

/* Where a SEND command says how much data follows it; 0: it carries none. */
static uint32_t length_offset(uint8_t number)
{
	switch (number) {
	case WIRE_SEND_RELIABLE:
		return 4;
	case WIRE_SEND_UNRELIABLE:
	case WIRE_SEND_FRAGMENT:
	case WIRE_SEND_UNSEQUENCED:
	case WIRE_SEND_UNRELIABLE_FRAGMENT:
		return 6;
	default:
		return 0;
	}
}

/* Cuts the next command off. Returns its whole length, or 0 and the refusal. */
static uint32_t cut(const struct peer *peer, const uint8_t *p, uint32_t bytes,
	struct command *command, uint32_t *refusal)
{
	uint32_t length, at;

	*refusal = SW_ENET_C_SHORT_COMMAND;
	if (bytes < WIRE_COMMAND_HEADER_BYTES)
		return 0;
	command->bytes = p;
	command->number = p[0] & WIRE_COMMAND_MASK;
	command->channel = p[1];
	command->seq = wire_get16(p + 2);
	command->data_bytes = 0;
	if (command->number == 0 || command->number >= WIRE_COMMAND_COUNT) {
		*refusal = SW_ENET_C_UNKNOWN_COMMAND;
		return 0;
	}
	length = command_bytes[command->number];
	if (bytes < length)
		return 0;
	command->data = p + length;
	at = length_offset(command->number);
	*refusal = 0;
	if (!at)
		return length;
	command->data_bytes = wire_get16(p + at);
	if (command->data_bytes > bytes - length)
		*refusal = SW_ENET_C_BAD_LENGTH;
	else if (command->channel >= peer->channel_count)
		*refusal = SW_ENET_C_BAD_CHANNEL;
	return *refusal ? 0 : length + command->data_bytes;
}

/* Works on one command. *keep: it may be acknowledged. Returns the refusal, which ends the
 * datagram, or 0. */
static uint32_t work(struct sw_enet *e, uint32_t index, const struct command *command, bool *keep)
{
	struct peer *peer = &e->peers[index];
	const uint8_t *p = command->bytes;

	if (command->number == WIRE_ACKNOWLEDGE && peer->state != PEER_ACKNOWLEDGING)
		return acknowledge_received(e, index, p);
	if (command->number == WIRE_DISCONNECT && peer->state != PEER_ACKNOWLEDGING) {
		*keep = peer->state != PEER_DISCONNECTING;
		return 0; /* the caller lets it leave: it knows of the acknowledgement */
	}
	if (peer->state != PEER_CONNECTED && peer->state != PEER_LATER)
		return SW_ENET_C_LEAVING;
	if (command->data_bytes > e->config.packet_bytes_max) {
		leave(e, index, SW_ENET_GONE_OVERSIZE, e->config.told.oversize, true);
		return SW_ENET_C_OVERSIZE;
	}
	switch (command->number) {
	case WIRE_PING:
		*keep = true;
		return 0;
	case WIRE_SEND_RELIABLE:
		return deliver_reliable(e, index, command, keep);
	case WIRE_SEND_UNRELIABLE:
		return deliver_unreliable(e, index, command);
	case WIRE_SEND_FRAGMENT:
		return fragment_reliable(e, index, command, keep);
	case WIRE_SEND_UNSEQUENCED:
		return deliver_unsequenced(e, index, command);
	case WIRE_SEND_UNRELIABLE_FRAGMENT:
		return fragment_unreliable(e, index, command);
	case WIRE_BANDWIDTH_LIMIT:
		bandwidth_limit(e, index, p);
		*keep = true;
		return 0;
	case WIRE_THROTTLE_CONFIGURE:
		throttle_configure(e, index, p);
		*keep = true;
		return 0;
	default:
		return SW_ENET_C_UNEXPECTED_COMMAND;
	}
}

/* The commands of a peer's datagram from data[at] on. Returns the refusal that ended it, or 0. */
static uint32_t commands(
	struct sw_enet *e, uint32_t index, const uint8_t *data, uint32_t bytes, uint32_t at)
{
	struct peer *peer = &e->peers[index];
	bool timed = wire_get16(data) & WIRE_SENT_TIME;

	/* a call of ours, connected() or deliver(), may have ended it */
	while (at < bytes && peer->state != PEER_GONE) {
		struct command command;
		uint32_t refusal, length;
		bool keep = false, wants;

		length = cut(peer, data + at, bytes - at, &command, &refusal);
		if (!length)
			return refusal;
		wants = data[at] & WIRE_ACK_FLAG;
		if (wants && timed && !acknowledge_room(e, peer)) {
			count(e, SW_ENET_C_WITHHELD_MEMORY, 1);
			return 0; /* what cannot be acknowledged is not taken */
		}
		refusal = work(e, index, &command, &keep);
		if (refusal)
			return refusal;
		count(e, SW_ENET_C_COMMANDS_IN, 1);
		/* A libenet that leaves reads nothing behind the acknowledgement of anything but
		 * its DISCONNECT, and has forgotten what else it sent. */
		if (command.number == WIRE_DISCONNECT && wants && keep && timed)
			acknowledge_forget(e, peer);
		if (wants && !timed && keep)
			refusal = SW_ENET_C_NO_SENT_TIME;
		else if (wants && keep)
			acknowledge_queue(
				e, index, command.channel, command.seq, wire_get16(data + 2));
		if (command.number == WIRE_DISCONNECT) {
			leave_received(
				e, index, wire_get32(command.bytes + 4), wants && keep && timed);
			return refusal;
		}
		if (refusal)
			return refusal;
		at += length;
	}
	return 0;
}

/* Undoes compression and checks the checksum. *at: behind the sent time, then behind the checksum.
 * Returns the refusal, or 0. */
static uint32_t plain(
	struct sw_enet *e, struct peer *peer, const uint8_t **data, uint32_t *bytes, uint32_t *at)
{
	bool compressed = wire_get16(*data) & WIRE_COMPRESSED;
	uint32_t time_end = *at;

	if (peer->flags & PEER_CHECKSUM)
		*at += WIRE_CHECKSUM_BYTES;
	if (*bytes < *at)
		return SW_ENET_C_SHORT_HEADER;
	if (compressed) {
		uint32_t refusal;

		*data = unseal_peer(e, (uint32_t)(peer - e->peers), *data, bytes, *at, &refusal);
		if (!*data)
			return refusal;
	}
	if (peer->flags & PEER_CHECKSUM &&
		!crc_matches(e, *data, *bytes, time_end, peer->connect_id))
		return SW_ENET_C_BAD_CHECKSUM;
	if (compressed)
		peer->flags |= PEER_COMPRESSED;
	return 0;
}

/* Whether a peer's datagram is within its rate: the token bucket of common/rate.h, in microseconds
 * that wrap. A few instructions on a line that is there; without a limit the cost is 0. Nothing of
 * a datagram beyond it is read, so a peer at full speed costs its worker a look at the table for
 * each. It is charged before the checksum, which is what would cost: whoever can exhaust it in a
 * peer's name knows address, port, id and session, and needs its rate. */
static inline bool peer_may(struct sw_enet *e, struct peer *peer)
{
	uint32_t ahead = peer->rx_full_us - e->rx_now_us;

	if (ahead > e->rx_burst_us) {
		/* more than it can ever owe: it is in the past */
		if (ahead <= e->rx_burst_us + e->rx_cost_us)
			return false;
		ahead = 0;
	}
	peer->rx_full_us = e->rx_now_us + ahead + e->rx_cost_us;
	return true;
}

/* What most datagrams are: one unreliable packet, next on its channel, of a peer in good standing.
 * It is told from all others by a handful of compares and takes half the instructions of the way
 * below, which does the same but for the delivery: that is left in *packet. False: nothing has been
 * done. */
static inline bool plain_packet(struct sw_enet *e, struct sw_enet_datagram *d, uint32_t index,
	struct sw_enet_delivery *packet)
{
	struct peer *peer = &e->peers[index];
	uint32_t head, at, bytes, unreliable;
	struct channel *channel;
	const uint8_t *p;

	if (d->bytes < WIRE_HEADER_BYTES + WIRE_SEND_UNRELIABLE_BYTES || d->bytes > WIRE_MTU_MAX)
		return false;
	head = wire_get16(d->data);
	/* its id and session, and not compressed */
	if ((head & ~WIRE_SENT_TIME) !=
			(peer->id | (uint32_t)peer->session_in << WIRE_SESSION_SHIFT) ||
		peer->state != PEER_CONNECTED ||
		peer->flags & (PEER_CHECKSUM | PEER_OWES_CONNECTED) ||
		!address_equal(&peer->address, &d->from))
		return false;
	at = head & WIRE_SENT_TIME ? 4 : 2;
	p = d->data + at;
	bytes = d->bytes - at - WIRE_SEND_UNRELIABLE_BYTES;
	if (p[0] != WIRE_SEND_UNRELIABLE || p[1] >= peer->channel_count ||
		p[1] >= CHANNELS_INLINE || wire_get16(p + 6) != bytes ||
		bytes > e->config.packet_bytes_max)
		return false;
	channel = &peer->channel[p[1]];
	unreliable = wire_get16(p + 4);
	if (wire_get16(p + 2) != channel->in_reliable || unreliable <= channel->in_unreliable ||
		peer->pending.head != NIL || !peer_may(e, peer))
		return false;
	peer->heard_ms = e->now_ms;
	d->peer_index = index;
	d->refused = 0;
	*packet = (struct sw_enet_delivery){.peer = peer_handle(e, index),
		.payload = p + WIRE_SEND_UNRELIABLE_BYTES,
		.bytes = bytes,
		.channel = p[1]};
	channel->in_unreliable = (uint16_t)unreliable; /* also if dropped: it does not come again */
	return true;
}

/* The packets of datagrams first to first + n - 1, all plain, at once: the calls cost as much as
 * what is done in them (W1: a tenth of our instructions). */
static void deliver_plain(struct sw_enet *e, const struct sw_enet_delivery *packets, uint32_t n,
	const struct sw_enet_rx_hooks *hooks, uint32_t first)
{
	uint32_t taken = 0;

	if (hooks && hooks->after)
		hooks->after(e->ops.ctx, first, n);
	if (e->ops.deliver_each)
		taken = e->ops.deliver_each(e->ops.ctx, packets, n);
	else
		for (uint32_t i = 0; i < n; i++)
			taken += e->ops.deliver(e->ops.ctx, &packets[i], 1);
	count(e, SW_ENET_C_COMMANDS_IN, n);
	count(e, SW_ENET_C_DELIVERED, taken);
	count(e, SW_ENET_C_DROPPED_RING, n - taken);
}

/* The hash that a datagram is looked up by, whose line of a table is on its way then: of its peer,
 * or, without peer id, of its source. *found: NIL if there is no peer to look for. */
static inline uint64_t fetch(struct sw_enet *e, const struct sw_enet_datagram *d, uint32_t *found)
{
	uint16_t id = d->bytes < 2 ? WIRE_NO_PEER : wire_get16(d->data) & WIRE_PEER_MASK;
	uint64_t hash;

	*found = id == WIRE_NO_PEER ? NIL : 0;
	if (id == WIRE_NO_PEER) {
		hash = guard_source_key(e, &d->from);
		returning_prefetch(e, hash);
		return hash;
	}
	hash = peer_hash(e, &d->from, id);
	peer_prefetch(e, hash);
	return hash;
}

/* One datagram; hash as fetch gave it. Returns the refusal, or 0. */
static __attribute__((noinline)) uint32_t datagram(struct sw_enet *e, struct sw_enet_datagram *d,
	uint64_t hash, const struct sw_enet_rx_hooks *hooks, uint32_t i)
{
	const uint8_t *data = d->data;
	uint32_t bytes = d->bytes, head, at, index, refusal;
	struct peer *peer;
	bool made = false;

	if (d->bytes < 2)
		return SW_ENET_C_SHORT_HEADER;
	head = wire_get16(d->data);
	at = head & WIRE_SENT_TIME ? 4 : 2;
	if (d->bytes < at)
		return SW_ENET_C_SHORT_HEADER;
	if (d->bytes > WIRE_MTU_MAX)
		return SW_ENET_C_OVERSIZE_DATAGRAM;
	if ((head & WIRE_PEER_MASK) == WIRE_NO_PEER)
		return half_open_connect(e, &d->from, hash, data, bytes);
	if (head & WIRE_COMPRESSED && e->config.compression == SW_ENET_OFF)
		return SW_ENET_C_COMPRESSED;

	index = peer_find(e, hash, &d->from, head & WIRE_PEER_MASK);
	if (index == NIL) {
		refusal = half_open_datagram(e, &d->from, &data, &bytes, &index, &at);
		if (refusal || index == NIL)
			return refusal;
		made = true;
		peer = &e->peers[index];
	} else {
		peer = &e->peers[index];
		if ((head >> WIRE_SESSION_SHIFT & WIRE_SESSION_MASK) != peer->session_in)
			return SW_ENET_C_WRONG_SESSION;
		if (peer->state == PEER_GONE)
			return SW_ENET_C_LEAVING;
		if (!peer_may(e, peer))
			return SW_ENET_C_PEER_RATE;
		if (peer->flags & PEER_CHECKSUM || head & WIRE_COMPRESSED) {
			refusal = plain(e, peer, &data, &bytes, &at);
			if (refusal)
				return refusal;
		}
	}
	peer->heard_ms = e->now_ms;
	d->peer_index = index;
	if (hooks && hooks->after)
		hooks->after(e->ops.ctx, i, 1);
	if (made) {
		e->peers_connected++;
		peer->flags |= PEER_OWES_CONNECTED;
		count(e, SW_ENET_C_CONNECTED, 1);
		timer_rearm(e, index);
		announce(e, index);
	} else if ((peer->flags & (PEER_PRESET | PEER_OWES_CONNECTED)) ==
		   (PEER_PRESET | PEER_OWES_CONNECTED)) {
		announce(e, index); /* this is the first of it */
	}
	return commands(e, index, data, bytes, at);
}

void sw_enet_rx(struct sw_enet *e, struct sw_enet_datagram *datagrams, uint32_t n,
	const struct sw_enet_rx_hooks *hooks, uint64_t now_ms)
{
	uint64_t hash[RX_AHEAD], bytes = 0;
	uint32_t found[RX_AHEAD], packets = 0; /* plain, and not delivered yet */
	struct sw_enet_delivery packet[RX_AHEAD];

	clock_advance(e, now_ms);
	e->rx_now_us = (uint32_t)(e->now_ms * 1000);
	for (uint32_t base = 0; base < n; base += RX_AHEAD) {
		uint32_t some = n - base < RX_AHEAD ? n - base : RX_AHEAD;

		for (uint32_t i = 0; i < some; i++)
			hash[i] = fetch(e, &datagrams[base + i], &found[i]);
		for (uint32_t i = 0; i < some; i++)
			if (found[i] != NIL)
				found[i] = peer_prefetch_found(e, hash[i]);
		for (uint32_t i = 0; i < some; i++) {
			struct sw_enet_datagram *d = &datagrams[base + i];

			bytes += d->bytes;
			if (found[i] != NIL && plain_packet(e, d, found[i], &packet[packets])) {
				packets++;
				continue;
			}
			if (packets) /* before: a peer's own order counts */
				deliver_plain(e, packet, packets, hooks, base + i - packets);
			packets = 0;
			d->peer_index = SW_ENET_NO_PEER;
			if (hooks && hooks->before)
				hooks->before(e->ops.ctx, base + i);
			d->refused = datagram(e, d, hash[i], hooks, base + i);
			if (d->refused)
				count(e, d->refused, 1);
		}
		if (packets)
			deliver_plain(e, packet, packets, hooks, base + some - packets);
		packets = 0;
	}
	count(e, SW_ENET_C_DATAGRAMS_IN, n);
	count(e, SW_ENET_C_BYTES_IN, bytes);
}

static uint32_t service(struct sw_enet *e, uint32_t index)
{
	struct peer *peer = &e->peers[index];
	bool more = false;
	uint32_t sent;

	if (peer->flags & PEER_OWES_CONNECTED && peer->state != PEER_GONE)
		announce(e, index);
	if (peer->state != PEER_CONNECTED && leave_step(e, index))
		return 0;
	if (peer->state == PEER_GONE)
		return 0; /* owes something, and is dirty again */
	sent = tx_flush(e, index, &more);
	if (peer->flags & PEER_PRESET)
		acknowledge_all(e, index);
	if (more)
		peer_dirty(e, index);
	if (peer->state != PEER_CONNECTED)
		leave_step(e, index);
	return sent;
}

/* Those whose end nobody has taken yet. Apart from the others, and only so many at once: when a
 * hundred thousand go while the destination is full, trying all of them would take so long that
 * nothing is received meanwhile. */
static void service_owing(struct sw_enet *e)
{
	for (uint32_t i = 0; i < OWING_MAX && e->owing != NIL; i++) {
		uint32_t index = e->owing;

		e->owing = e->peers[index].dirty_next;
		e->peers[index].flags &= ~(uint32_t)PEER_DIRTY;
		leave_step(e, index);
	}
}

uint32_t sw_enet_service(struct sw_enet *e, uint64_t now_ms)
{
	uint32_t sent, index, last;

	clock_advance(e, now_ms);
	e->serving = true;
	half_open_expire(e);
	timers_run(e);
	e->no_buffer = 0;
	sent = tx_close_all(e);
	index = e->dirty;
	last = e->dirty_tail;
	e->dirty = e->dirty_tail = NIL;
	service_owing(e);
	while (index != NIL) {
		uint32_t next = e->peers[index].dirty_next;

		e->peers[index].flags &= ~(uint32_t)PEER_DIRTY;
		sent += service(e, index);
		index = next;
		if (e->no_buffer < NO_BUFFER_MAX || index == NIL)
			continue;
		/* The way out is full: with many thousand waiting, asking for each would take so
		 * long that nothing is received meanwhile. Who had no luck goes behind the rest. */
		e->peers[last].dirty_next = e->dirty;
		if (e->dirty == NIL)
			e->dirty_tail = last;
		e->dirty = index;
		break;
	}
	e->serving = false;
	counter_put(&e->counter[SW_ENET_C_PEERS], e->peers_connected);
	counter_put(&e->counter[SW_ENET_C_PRESET_PEERS], e->peers_preset);
	counter_put(&e->counter[SW_ENET_C_HALF_OPEN], e->half_open_used);
	counter_put(&e->counter[SW_ENET_C_HOLD_BYTES],
		(uint64_t)e->share_used[POOL_HOLD] * BLOCK_BYTES);
	counter_put(&e->counter[SW_ENET_C_QUEUE_BYTES],
		(uint64_t)e->share_used[POOL_QUEUE] * BLOCK_BYTES);
	return sent;
}
