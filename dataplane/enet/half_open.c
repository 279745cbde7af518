/* half_open.c: the handshake, until the client has proven that it receives at its address.
 *
 * A CONNECT takes an entry of a small fixed table, never a peer. Everything VERIFY_CONNECT says is
 * a keyed hash of (address, port, connect id) or comes from the CONNECT, so a repeated CONNECT
 * draws the identical VERIFY_CONNECT, also when its entry was evicted in between. There is no
 * timer: the client repeats. The acknowledgement of VERIFY_CONNECT must name peer id, session,
 * sequence number and sent time, all of them ours: 46 bits that only a reader of VERIFY_CONNECT
 * knows.
 *
 * Entries reserve peer slots: who is sent VERIFY_CONNECT has a place, and who is too many hears it
 * before it believes itself connected. But when many are turned away so in a short time while slots
 * are free, that is a flood, and reserving would make the server look full. Then who completes the
 * handshake gets a slot while there are any; who finds none is told so, and again if it did not
 * hear it.
 *
 * A stock client drops CONNECT when VERIFY_CONNECT arrives and acknowledges it once. If that
 * datagram is lost it believes itself connected, and repeats only data. So any other datagram with
 * the entry's address, peer id and session draws VERIFY_CONNECT again, seldom and not for ever. It
 * may be larger than what drew it, which costs nothing: 14 of those bits had to be known.
 *
 * Compressed, a CONNECT can be smaller than every VERIFY_CONNECT that answers it: what in that
 * cannot be guessed does not compress. To have that seldom its sequence number is then 1, as
 * stock's, which leaves 30 bits to guess. Who still is not answered repeats his CONNECT after 500
 * ms, and the two together are large enough. */
#include <sodium.h>

#include "dataplane/enet/engine.h"

/* Peers of one source address and port have different ids; behind a large NAT half of them may be
 * taken. (When the peer that stood in the way leaves in between, a repeated CONNECT draws another
 * VERIFY_CONNECT, and the client uses the first that it saw.) */
#define ID_TRIES         32u
#define TURNED_AWAY_MAX  16u /* within HALF_OPEN_YOUNG_MS */
#define VERIFY_TRIES     8u
#define VERIFY_BYTES_MAX (WIRE_HEADER_BYTES + WIRE_CHECKSUM_BYTES + WIRE_VERIFY_CONNECT_BYTES)

struct proof { /* what the keyed hash decides */
	uint16_t id;
	uint8_t session_in, session_out;
	uint16_t seq, time;
};

static struct proof proof_of(const struct sw_enet *e, const struct sw_enet_addr *from,
	uint32_t connect_id, uint8_t attempt)
{
	uint8_t in[16 + 2 + 4 + 1], out[crypto_shorthash_BYTES];
	struct proof proof;

	_Static_assert(crypto_shorthash_KEYBYTES == sizeof e->config.key, "SipHash-2-4");
	memcpy(in, from->ip, 16);
	wire_put16(in + 16, from->port);
	memcpy(in + 18, &connect_id, 4);
	in[22] = attempt;
	crypto_shorthash(out, in, sizeof in, e->config.key);
	proof.id = (uint16_t)((((uint32_t)out[0] << 8 | out[1]) & WIRE_PEER_MASK) % WIRE_NO_PEER);
	proof.session_in = out[2] & WIRE_SESSION_MASK;
	proof.session_out = out[3] & WIRE_SESSION_MASK;
	proof.seq = wire_get16(out + 4);
	proof.time = wire_get16(out + 6);
	return proof;
}

static uint32_t *half_open_head(struct sw_enet *e, const struct sw_enet_addr *from, uint16_t id)
{
	return &e->half_open_heads[peer_hash(e, from, id) & e->half_open_mask];
}

uint32_t half_open_find(struct sw_enet *e, const struct sw_enet_addr *from, uint16_t id)
{
	uint32_t index = *half_open_head(e, from, id);

	while (index != NIL) {
		const struct half_open *half = &e->half_open[index];

		if (half->id == id && address_equal(&half->address, from))
			break;
		index = half->hash_next;
	}
	return index;
}

static void half_open_remove(struct sw_enet *e, uint32_t index)
{
	struct half_open *half = &e->half_open[index];
	uint32_t *link = half_open_head(e, &half->address, half->id);

	while (*link != index)
		link = &e->half_open[*link].hash_next;
	*link = half->hash_next;
	if (half->age_prev == NIL)
		e->half_open_age.head = half->age_next;
	else
		e->half_open[half->age_prev].age_next = half->age_next;
	if (half->age_next == NIL)
		e->half_open_age.tail = half->age_prev;
	else
		e->half_open[half->age_next].age_prev = half->age_prev;
	half->hash_next = e->half_open_free;
	e->half_open_free = index;
	e->half_open_used--;
}

/* Removes the oldest entry if it is at least age_ms old. */
static bool half_open_evict(struct sw_enet *e, uint64_t age_ms)
{
	uint32_t index = e->half_open_age.head;

	if (index == NIL || e->now_ms - e->half_open[index].created_ms < age_ms)
		return false;
	half_open_remove(e, index);
	count(e, SW_ENET_C_HALF_OPEN_EXPIRED, 1);
	return true;
}

/* Clients that never came back. */
void half_open_expire(struct sw_enet *e)
{
	for (uint32_t i = 0; i < HALF_OPEN_EXPIRE_MAX && half_open_evict(e, HALF_OPEN_LIFE_MS); i++)
		;
}

/* Whether the free peer slots are spoken for. */
static bool half_open_full(struct sw_enet *e)
{
	if (e->peers_used >= e->config.peers_max)
		return true;
	if (e->peers_used + e->half_open_used < e->config.peers_max ||
		half_open_evict(e, HALF_OPEN_YOUNG_MS))
		return false;
	if (e->now_ms - e->turned_away_ms >= HALF_OPEN_YOUNG_MS) {
		e->turned_away_ms = e->now_ms;
		e->turned_away = 0;
	}
	if (e->turned_away == TURNED_AWAY_MAX)
		return false;
	e->turned_away++;
	return true;
}

/* Whether there is a place for one more. Invented sources cannot take those that are kept. */
static bool half_open_room(struct sw_enet *e, const struct sw_enet_addr *from)
{
	if (e->half_open_used < e->half_open_max - e->half_open_kept)
		return true;
	if (e->half_open_used < e->half_open_max && returning_known(e, guard_source_key(e, from)))
		return true;
	return half_open_evict(e, HALF_OPEN_YOUNG_MS);
}

static uint32_t half_open_new(struct sw_enet *e, const struct sw_enet_addr *from, uint16_t id)
{
	uint32_t index = e->half_open_free, *head = half_open_head(e, from, id);
	struct half_open *half;

	if (index != NIL)
		e->half_open_free = e->half_open[index].hash_next;
	else
		index = e->half_open_fresh++;
	half = &e->half_open[index];
	*half = (struct half_open){
		.address = *from,
		.id = id,
		.created_ms = e->now_ms,
		.hash_next = *head,
		.age_next = NIL,
		.age_prev = e->half_open_age.tail,
	};
	*head = index;
	if (half->age_prev == NIL)
		e->half_open_age.head = index;
	else
		e->half_open[half->age_prev].age_next = index;
	e->half_open_age.tail = index;
	e->half_open_used++;
	return index;
}

/* The VERIFY_CONNECT of an entry. Returns its bytes. */
static uint32_t verify_build(
	struct sw_enet *e, const struct half_open *half, uint8_t out[VERIFY_BYTES_MAX])
{
	uint32_t header = WIRE_HEADER_BYTES + (half->checksum ? WIRE_CHECKSUM_BYTES : 0);
	uint8_t *p;

	wire_put16(out, WIRE_SENT_TIME | (uint32_t)half->session_out << WIRE_SESSION_SHIFT |
				half->client_id);
	wire_put16(out + 2, half->verify_time);
	p = wire_put_command(out + header, WIRE_VERIFY_CONNECT | WIRE_ACK_FLAG,
		WIRE_CONTROL_CHANNEL, half->verify_seq);
	wire_put16(p, half->id);
	p[2] = half->session_out; /* named from the client's view: what it receives */
	p[3] = half->session_in;
	wire_put32(p + 4, half->mtu);
	wire_put32(p + 8, half->verify_window_bytes);
	wire_put32(p + 12, half->channels);
	/* of a compressed one these might be all that makes it larger than the CONNECT: then they
	 * come in a command of their own, once the peer is made */
	wire_put32(p + 16, half->compressed ? 0 : e->config.incoming_bandwidth);
	wire_put32(p + 20, half->compressed ? 0 : e->config.outgoing_bandwidth);
	for (uint32_t i = 0; i < 3; i++)
		wire_put32(p + 24 + 4 * i, half->throttle[i]);
	memcpy(p + 36, &half->connect_id, sizeof half->connect_id);
	return seal(e, out, header + WIRE_VERIFY_CONNECT_BYTES,
		half->checksum ? &half->connect_id : NULL, half->compressed);
}

/* Never more bytes than came: what is too much for one CONNECT waits for the repeated one. Returns
 * 0, or the refusal. */
static uint32_t verify_send(struct sw_enet *e, struct half_open *half, uint32_t bytes_max)
{
	uint8_t verify[VERIFY_BYTES_MAX], *out;
	uint32_t bytes = verify_build(e, half, verify);
	void *frame;

	if (bytes > bytes_max)
		return SW_ENET_C_CONNECT_SMALL;
	out = e->ops.tx_begin(e->ops.ctx, SW_ENET_NO_PEER, &half->address, bytes, &frame);
	if (!out)
		return SW_ENET_C_CONNECT_NO_BUFFER;
	memcpy(out, verify, bytes);
	e->ops.tx_end(e->ops.ctx, SW_ENET_NO_PEER, frame, bytes);
	half->credit_bytes -= bytes < half->credit_bytes ? bytes : half->credit_bytes;
	half->verified_ms = e->now_ms;
	if (half->verifies < UINT8_MAX)
		half->verifies++;
	count(e, SW_ENET_C_VERIFIES_OUT, 1);
	count(e, SW_ENET_C_DATAGRAMS_OUT, 1);
	count(e, SW_ENET_C_BYTES_OUT, bytes);
	return 0;
}

static uint8_t session_next(uint8_t stored, uint8_t drawn)
{
	return stored == WIRE_SESSION_NONE ? drawn : (stored + 1) & WIRE_SESSION_MASK;
}

/* Of what we send, never WIRE_SESSION_REFUSED: a refusal goes to whoever a CONNECT says it is from,
 * with the client id that it names. A client that is not connected does not look at the session;
 * one that is must not take it for ours. */
static uint8_t session_next_out(uint8_t stored, uint8_t drawn)
{
	uint8_t session = session_next(stored, drawn);

	return session == WIRE_SESSION_REFUSED ? session + 1 : session;
}

static uint32_t clamp(uint32_t value, uint32_t low, uint32_t high)
{
	return value < low ? low : value > high ? high : value;
}

static void half_open_fill(const struct sw_enet *e, struct half_open *half,
	const struct request *request, const struct proof *proof)
{
	const uint8_t *p = request->command;
	uint32_t mtu = clamp(wire_get32(p + 8), WIRE_MTU_MIN, WIRE_MTU_MAX);
	uint32_t window = wire_get32(p + 12), ours;
	uint32_t channels = wire_get32(p + 16);

	half->client_id = request->client_id;
	half->connect_id = request->connect_id;
	half->session_out = session_next_out(p[6], proof->session_out);
	half->session_in = session_next(p[7], proof->session_in);
	half->channels =
		(uint8_t)(channels < e->config.channels_max ? channels : e->config.channels_max);
	half->checksum = request->checksum;
	half->compressed = request->compressed;
	half->mtu = (uint16_t)(mtu < e->config.mtu ? mtu : e->config.mtu);
	half->verify_seq = request->compressed ? 1 : proof->seq;
	half->verify_time = proof->time;
	half->incoming_bandwidth = wire_get32(p + 20);
	half->outgoing_bandwidth = wire_get32(p + 24);
	for (uint32_t i = 0; i < 3; i++)
		half->throttle[i] = wire_get32(p + 28 + 4 * i);
	half->data = wire_get32(p + 44);
	half->window_bytes =
		rtt_window_bytes(e->config.outgoing_bandwidth, half->incoming_bandwidth);
	ours = rtt_window_bytes(e->config.incoming_bandwidth, 0);
	/* in flight is what may come out of order: no more than can be held, at half a block used
	 */
	if (ours > e->hold_blocks_max * (BLOCK_BYTES / 2))
		ours = e->hold_blocks_max * (BLOCK_BYTES / 2);
	half->verify_window_bytes =
		clamp(window < ours ? window : ours, WIRE_WINDOW_MIN, WIRE_WINDOW_MAX);
}

/* The first peer id for a client that is free, or is its own already: *index is then its entry,
 * else NIL. Where compression is on, VERIFY_CONNECT comes out larger than one CONNECT in ten, by a
 * byte or two, for the numbers in it that nobody can guess: then another id makes another one.
 * Returns 0, or the refusal. */
static uint32_t proof_find(
	struct sw_enet *e, const struct request *request, struct proof *proof, uint32_t *index)
{
	uint32_t tried = 0;

	for (uint8_t attempt = 0; attempt < ID_TRIES; attempt++) {
		struct half_open half = {0};
		uint8_t verify[VERIFY_BYTES_MAX];
		uint32_t peer;

		*proof = proof_of(e, request->from, request->connect_id, attempt);
		peer = peer_find(
			e, peer_hash(e, request->from, proof->id), request->from, proof->id);
		if (peer != NIL) {
			if (e->peers[peer].connect_id == request->connect_id)
				return SW_ENET_C_CONNECT_REPEATED;
			continue;
		}
		*index = half_open_find(e, request->from, proof->id);
		if (*index != NIL && e->half_open[*index].connect_id == request->connect_id)
			return 0;
		if (*index != NIL)
			continue;
		if (!request->compressed || ++tried == VERIFY_TRIES)
			return 0;
		half.id = proof->id;
		half_open_fill(e, &half, request, proof);
		if (verify_build(e, &half, verify) <= request->bytes)
			return 0;
	}
	return SW_ENET_C_CONNECT_IDS;
}

static bool differs(enum sw_enet_use ours, bool its)
{
	return ours != SW_ENET_ANY && its != (ours == SW_ENET_ON);
}

/* A datagram without peer id; data has at least its header. key: guard_source_key of from. */
uint32_t half_open_connect(struct sw_enet *e, const struct sw_enet_addr *from, uint64_t key,
	const uint8_t *data, uint32_t bytes)
{
	struct request request;
	uint32_t refusal, index;
	struct proof proof;

	refusal = guard_connect(e, key);
	if (!refusal)
		refusal = connect_read(e, from, data, bytes, &request);
	if (refusal)
		return refusal;
	refusal = proof_find(e, &request, &proof, &index);
	if (refusal)
		return refusal;
	if (index == NIL) {
		if (e->refuse_data)
			return connect_refuse(
				e, &request, e->refuse_data, SW_ENET_C_CONNECT_CLOSED);
		if (differs(e->config.checksum, request.checksum))
			return connect_refuse(
				e, &request, e->config.told.checksum, SW_ENET_C_CONNECT_CHECKSUM);
		if (differs(e->config.compression, request.compressed))
			return connect_refuse(e, &request, e->config.told.compression,
				SW_ENET_C_CONNECT_COMPRESSION);
		if (half_open_full(e))
			return connect_refuse(
				e, &request, e->config.told.full, SW_ENET_C_CONNECT_FULL);
		if (!half_open_room(e, from))
			return SW_ENET_C_CONNECT_TABLE;
		index = half_open_new(e, from, proof.id);
		half_open_fill(e, &e->half_open[index], &request, &proof);
	}
	/* without a buffer the entry stays, and the repeated CONNECT is answered */
	e->half_open[index].credit_bytes += bytes;
	return verify_send(e, &e->half_open[index], e->half_open[index].credit_bytes);
}

static void bandwidth_tell(struct sw_enet *e, uint32_t peer)
{
	uint8_t fields[8];

	wire_put32(fields, e->config.incoming_bandwidth);
	wire_put32(fields + 4, e->config.outgoing_bandwidth);
	if (e->config.incoming_bandwidth || e->config.outgoing_bandwidth)
		(void)tx_control(
			e, peer, WIRE_BANDWIDTH_LIMIT | WIRE_ACK_FLAG, fields, sizeof fields);
}

/* The client of an entry leaves before we have seen that it is here: it knows peer id and session
 * from VERIFY_CONNECT, and its acknowledgement was lost or is late. For us it never came. */
static uint32_t half_open_leave(struct sw_enet *e, uint32_t index, const uint8_t *data,
	const uint8_t *disconnect, uint32_t bytes)
{
	const struct half_open *half = &e->half_open[index];
	struct departed who = {
		.key = departed_key(e, &half->address, half->id),
		.connect_id = half->connect_id,
		.client_id = half->client_id,
		.session_in = half->session_in & WIRE_SESSION_MASK,
		.session_out = half->session_out & WIRE_SESSION_MASK,
		.checksum = half->checksum,
		.compressed = half->compressed,
	};

	(void)departed_acknowledge(e, &who, &half->address, data, disconnect, bytes);
	departed_note(e, &who); /* for its repetitions, if that did not leave or gets lost too */
	half_open_remove(e, index);
	return 0;
}

/* The acknowledgement of VERIFY_CONNECT has come. */
static uint32_t half_open_complete(struct sw_enet *e, uint32_t index, uint32_t *peer)
{
	struct half_open *half = &e->half_open[index];

	if (e->peers_used >= e->config.peers_max) {
		if (tx_disconnect(e, SW_ENET_NO_PEER, &half->address, half->client_id,
			    half->session_out, half->checksum ? &half->connect_id : NULL,
			    e->config.told.full))
			count(e, SW_ENET_C_REFUSALS_OUT, 1);
		return SW_ENET_C_CONNECT_FULL;
	}
	*peer = peer_new(e, half);
	returning_note(e, &half->address);
	if (half->compressed)
		bandwidth_tell(e, *peer);
	if (half->verifies == 1) /* else nobody knows which one it answers */
		rtt_acknowledge(e, *peer, (uint32_t)(e->now_ms - half->verified_ms));
	half_open_remove(e, index);
	return 0;
}

/* A datagram whose peer id is no peer's. If it acknowledges VERIFY_CONNECT the peer is made, and
 * *next_command is where the rest of the datagram goes on; else *peer is NIL. data has at least its
 * header. Returns the refusal, 0 also when a DISCONNECT was acknowledged. */
uint32_t half_open_datagram(struct sw_enet *e, const struct sw_enet_addr *from,
	const uint8_t **data, uint32_t *bytes, uint32_t *peer, uint32_t *next_command)
{
	uint32_t head = wire_get16(*data), time_end = head & WIRE_SENT_TIME ? 4 : 2;
	uint32_t at = time_end, came = *bytes;
	uint32_t index = half_open_find(e, from, head & WIRE_PEER_MASK);
	const uint8_t *p, *disconnect;
	struct half_open *half;

	*peer = NIL;
	if (index == NIL)
		return departed_datagram(e, from, *data, *bytes);
	half = &e->half_open[index];
	if ((head >> WIRE_SESSION_SHIFT & WIRE_SESSION_MASK) != half->session_in)
		return SW_ENET_C_WRONG_SESSION;
	if (half->checksum)
		at += WIRE_CHECKSUM_BYTES;
	if (*bytes < at)
		return SW_ENET_C_SHORT_HEADER;
	if (head & WIRE_COMPRESSED) {
		if (half->expanded_bytes > HALF_OPEN_EXPAND)
			return SW_ENET_C_EXPAND_RATE;
		*data = unseal(e, *data, bytes, at, WIRE_MTU_MAX);
		half->expanded_bytes += *data ? *bytes : WIRE_MTU_MAX;
		if (!*data)
			return SW_ENET_C_BAD_COMPRESSION;
	}
	if (half->checksum && !crc_matches(e, *data, *bytes, time_end, half->connect_id))
		return SW_ENET_C_BAD_CHECKSUM;
	if (head & WIRE_COMPRESSED)
		half->compressed = true;
	p = *data + at;
	if (*bytes >= at + WIRE_ACKNOWLEDGE_BYTES &&
		(p[0] & WIRE_COMMAND_MASK) == WIRE_ACKNOWLEDGE && p[1] == WIRE_CONTROL_CHANNEL &&
		wire_get16(p + 4) == half->verify_seq && wire_get16(p + 6) == half->verify_time) {
		*next_command = at + WIRE_ACKNOWLEDGE_BYTES;
		return half_open_complete(e, index, peer);
	}
	disconnect = departed_disconnect(*data, *bytes, at);
	if (disconnect)
		return half_open_leave(e, index, *data, disconnect, came);
	if (half->again < VERIFY_AGAIN_MAX && e->now_ms - half->verified_ms >= VERIFY_AGAIN_MS &&
		!verify_send(e, half, VERIFY_BYTES_MAX))
		half->again++;
	return SW_ENET_C_NOT_VERIFIED;
}
