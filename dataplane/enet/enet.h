/* enet.h: the server side of the ENet reliable-UDP protocol, as a pure module.
 *
 * Bytes, a source and the time go in; datagrams and deliveries come out through a small table of
 * calls. No clock, socket, DPDK, lock or allocation inside: the same object file runs under the
 * poll loop, under a simulated network with a virtual clock, and under a fuzzer. One engine belongs
 * to one thread; every call below is that thread's, and none blocks.
 *
 * Wire format: ENet 1.3.x (github.com/lsalzman/enet, protocol.h). libenet stays the client side and
 * the oracle in tests. */
#ifndef SW_DATAPLANE_ENET_ENET_H
#define SW_DATAPLANE_ENET_ENET_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

#include "common/rate.h"
#include "common/counter.h"

struct sw_enet;

/* Where a datagram came from. IPv4 is written as ::ffff:a.b.c.d. */
struct sw_enet_addr {
	uint8_t ip[16];
	uint16_t port; /* host order */
};

#define SW_ENET_NO_PEER UINT32_MAX

/* Datagrams that are written and not yet ended, at most; see tx_begin. */
#define SW_ENET_OPEN_MAX 128u

/* Packet flags; the values are libenet's ENET_PACKET_FLAG_*. */
enum {
	SW_ENET_RELIABLE = 1u << 0,
	SW_ENET_UNSEQUENCED = 1u << 1,
	SW_ENET_UNRELIABLE_FRAGMENT = 1u << 3,
	/* Ours, not on the wire. A reliable packet that gives way: see sw_enet_send. */
	SW_ENET_YIELDS = 1u << 8,
};

/* Whether clients use what ENet does not negotiate. ANY: recognised from each CONNECT. A client
 * whose CONNECT differs from OFF or ON is refused, and told so. */
enum sw_enet_use { SW_ENET_OFF, SW_ENET_ON, SW_ENET_ANY };

struct sw_enet_config {
	uint32_t owner;     /* goes into bits 56..63 of every peer handle */
	uint32_t peers_max; /* slots; more than 4,095 work: a peer is (address, port, peer id) */
	uint32_t half_open_max;       /* handshakes under way; 0: sw_enet_half_open */
	uint32_t channels_max;        /* 1..255, caps what a client asks for */
	uint32_t mtu;                 /* 576..4096 */
	uint32_t packet_bytes_max;    /* largest packet either way, fragments joined */
	enum sw_enet_use checksum;    /* CRC32 */
	enum sw_enet_use compression; /* the range coder; a datagram that it does not make smaller
				       * goes plain, from either side */
	uint32_t incoming_bandwidth, outgoing_bandwidth; /* bytes/s per peer, 0 unlimited */
	uint32_t connects_per_s, connects_burst;         /* token bucket over all sources */
	struct rate *connects; /* that bucket, for several engines together; NULL: our own */
	uint32_t source_connects_per_s, source_connects_burst; /* token bucket per address */
	/* Of connects_per_s, connects_burst and half_open_max: kept for addresses that completed a
	 * handshake, or left, in the last ten minutes; at most 90. What they do not need of the
	 * rate is everyone's. */
	uint32_t returning_percent;
	uint32_t returning_max;      /* such addresses; 0: twice peers_max, 1,024 to 262,144 */
	uint32_t expand_bytes_per_s; /* of compressed datagrams, per peer, a second's worth at once
				      * but no less than two datagrams; 0: no limit */
	uint32_t peer_datagrams_per_s; /* that are read, a second's worth at once; those beyond it
					* count as lost. At most 1,000,000; 0: no limit */
	/* Memory, counted in blocks of 128 bytes with their heads. A released run is at most the
	 * hold and one packet: the rings behind deliver() must be able to take that much when
	 * empty. ENet has no receiver's window: a hold below twice 64 KiB and a packet can stall a
	 * client that sends much while it loses much (what is withheld fills its share in flight).
	 */
	uint32_t peer_hold_bytes; /* out-of-order and fragment memory of one peer; one packet of
				   * packet_bytes_max comes on top, to assemble what is next */
	uint32_t
		peer_queue_bytes; /* sends waiting or in flight of one peer; raised to one packet */
	size_t pool_bytes; /* memory behind holds (one half) and queues (the other) of all peers; at
			    * least four packets */
	uint8_t key[16];   /* of the keyed hash: random, per process */

	/* What a client reads as disconnect data when the engine itself refuses or ends it; the
	 * numbers are the application's (proto/message_types.h). All may be 0. */
	struct {
		uint32_t full;     /* no peer slot is free */
		uint32_t checksum; /* its CONNECT has a checksum and ours is off, or the reverse */
		uint32_t compression; /* the same of compression */
		uint32_t slow;        /* SW_ENET_GONE_SLOW */
		uint32_t oversize;    /* SW_ENET_GONE_OVERSIZE */
		uint32_t malformed;   /* SW_ENET_GONE_ASSEMBLY, SW_ENET_GONE_PROTOCOL */
	} told;
};

/* Why a peer is gone. X(name, text) */
#define SW_ENET_GONE_REASONS(X)                                                                    \
	X(CLIENT, "the client disconnected")                                                       \
	X(LOCAL, "we disconnected it and it acknowledged, or was told at once")                    \
	X(TIMEOUT, "it stopped acknowledging")                                                     \
	X(SLOW, "its send queue ran full")                                                         \
	X(OVERSIZE, "it sent a packet larger than packet_bytes_max")                               \
	X(ASSEMBLY, "a packet was not completed, or the one before it did not come, in time")      \
	X(PROTOCOL, "it sent what no client may send")

#define SW_ENET_GONE_ENUM(name, text) SW_ENET_GONE_##name,
enum sw_enet_gone { SW_ENET_GONE_REASONS(SW_ENET_GONE_ENUM) SW_ENET_GONE_REASONS_COUNT };

struct sw_enet_delivery {
	uint64_t peer;
	const uint8_t *payload; /* valid during the call */
	uint32_t bytes;
	uint8_t channel;
	uint8_t flags; /* SW_ENET_* as the client sent it */
};

struct sw_enet_connected {
	uint64_t peer;
	struct sw_enet_addr address;
	uint32_t connect_data;
	uint32_t payload_bytes_max; /* largest unreliable payload that fits one datagram */
	uint8_t channels;
};

/* A datagram that tx_begin gave the place for. */
struct sw_enet_written {
	void *frame; /* as tx_begin set it */
	uint32_t peer_index;
	uint32_t bytes; /* 0: given back */
};

/* What the engine calls. All of them run inside the engine's own calls, on its thread. */
struct sw_enet_ops {
	void *ctx;

	/* Takes the whole run, in order, or nothing (R4): what is taken is acknowledged, what is
	 * not is treated as not received. A run is one packet and those held behind it. May call
	 * sw_enet_send and sw_enet_disconnect. */
	bool (*deliver)(void *ctx, const struct sw_enet_delivery *run, uint32_t count);

	/* Packets of a burst that do not depend on each other, of whatever peers, all unreliable;
	 * each may be taken or not. Returns how many were. What is promised of deliver holds, but a
	 * peer that is disconnected from within may have another packet further on. NULL: deliver
	 * is called with each by itself. */
	uint32_t (*deliver_each)(void *ctx, const struct sw_enet_delivery *packets, uint32_t count);

	/* Both are owed: false means try again later; nothing of the peer is delivered before its
	 * connected, nor after its disconnected. connected may call sw_enet_send and
	 * sw_enet_disconnect. */
	bool (*connected)(void *ctx, const struct sw_enet_connected *info);
	bool (*disconnected)(void *ctx, uint64_t peer, uint32_t data, enum sw_enet_gone reason);

	/* A place for one datagram of at most bytes_max bytes. peer_index is the peer's slot, or
	 * SW_ENET_NO_PEER for a stateless answer to the datagram that sw_enet_rx is working on.
	 * NULL: no buffer now; the engine tries again later. tx_end sends it with its length; every
	 * tx_begin that returned memory is followed by exactly one tx_end (0 bytes: given back),
	 * with the same peer_index and the *frame that tx_begin set, which is the caller's name for
	 * it. Up to SW_ENET_OPEN_MAX may be begun and not ended, at most one of a peer: what
	 * sw_enet_send writes into them leaves in the next sw_enet_service. */
	uint8_t *(*tx_begin)(void *ctx, uint32_t peer_index, const struct sw_enet_addr *to,
		uint32_t bytes_max, void **frame);
	void (*tx_end)(void *ctx, uint32_t peer_index, void *frame, uint32_t bytes);

	/* tx_end for several, of peers, in this order. NULL: tx_end is called for each. */
	void (*tx_end_each)(void *ctx, const struct sw_enet_written *datagrams, uint32_t count);
};

/* The engine's counters: group "enet". X(id, name, kind, help). Refusals are named here. The list
 * is in counters.h beside this file, and grows with the engine. */
#include "dataplane/enet/counters.h"

enum sw_enet_counter { SW_ENET_COUNTERS(SW_ENET_COUNTER_ENUM) SW_ENET_COUNTER_COUNT };
extern const struct counter_desc sw_enet_counter_desc[SW_ENET_COUNTER_COUNT];

/* Set-up. Bytes of memory that sw_enet_init wants for this configuration, aligned to 64; the sum
 * stands in enet.c, one line per holder. 0 when the configuration is not valid. */
size_t sw_enet_bytes(const struct sw_enet_config *config);

/* Set-up. Half-open clients that the engine has places for: half_open_max or, where that is 0, what
 * can be let in within the 3 s for which an entry is safe, as a power of two. */
uint32_t sw_enet_half_open(const struct sw_enet_config *config);

/* Set-up. The part of sw_enet_bytes that strangers occupy, who have no peer: half-open clients,
 * connect rates, addresses known to return, those who left. */
size_t sw_enet_stranger_bytes(const struct sw_enet_config *config);

/* What each slot of peers_max adds to that: 320 bytes of hot state, 256 of cold, 16 to 32 of the
 * table; 32 to 64 to know who returns, 8 to 16 for who has left. A silent peer takes nothing of the
 * pool. */
#define SW_ENET_PEER_BYTES_MAX (320u + 256u + 32u + 64u + 16u)

/* Set-up. Builds an engine in memory[bytes], which the caller owns and frees after the engine's
 * last call. Returns NULL when config is not valid or bytes is too small. config and ops are
 * copied. */
struct sw_enet *sw_enet_init(void *memory, size_t bytes, const struct sw_enet_config *config,
	const struct sw_enet_ops *ops, uint64_t now_ms);

/* A peer that had no handshake, for packet generators, which cannot have one. Benchmarks only:
 * whoever sends from its address is it. */
struct sw_enet_preset {
	struct sw_enet_addr address;
	uint16_t id;                     /* in headers that it sends, 0..0xffe */
	uint16_t client_id;              /* in headers that it is sent, 0..0xffe */
	uint8_t session_in, session_out; /* in the same, 0..3 */
	uint8_t channels;                /* 1..channels_max */
	uint32_t connect_id;             /* nothing depends on it: there is no checksum */
};

/* Set-up, or between two calls of the thread. Makes such a peer, without checksum and compression.
 * It is connected from now on, and connected() is called when its first datagram has come: before
 * that nothing is sent to it. From there it is a peer like others, but that
 *   it is never pinged and never times out, and takes no place in the timer wheel;
 *   what is sent to it reliably counts as acknowledged as soon as it has left;
 *   unreliable and unsequenced packets that repeat an earlier number are delivered again;
 *   sw_enet_disconnect ends it at once and does not tell it.
 * Returns 0, or
 *   -EINVAL  an id, session or channel count out of range
 *   -EEXIST  address and id are those of a peer, or of a handshake under way
 *   -ENOBUFS no slot is free */
int sw_enet_peer_preset(struct sw_enet *engine, const struct sw_enet_preset *preset);

struct sw_enet_datagram {
	struct sw_enet_addr from;
	uint32_t bytes;
	const uint8_t *data; /* not written to */
	uint32_t peer_index; /* out: the peer it belonged to, SW_ENET_NO_PEER if none */
	uint32_t refused;    /* out: 0, or the counter that says why it was dropped */
};

/* Takes a burst of received datagrams, in order. now_ms is monotonic, 64-bit, and the same or later
 * at every call. before(ctx, i), if not NULL, is called before datagram i is worked on, if a
 * stateless answer to it is possible, so that the caller knows which frame that belongs to;
 * after(ctx, i, n) only when datagrams i to i + n - 1 were accepted as peers' (peer_index is set by
 * then), before anything of them is delivered or sent to those peers. ctx is that of the ops. A
 * datagram may be accepted and refused: the commands before a bad one stand. Data of the burst is
 * not read after the call. */
struct sw_enet_rx_hooks {
	void (*before)(void *ctx, uint32_t i);
	void (*after)(void *ctx, uint32_t i, uint32_t n);
};
void sw_enet_rx(struct sw_enet *engine, struct sw_enet_datagram *datagrams, uint32_t count,
	const struct sw_enet_rx_hooks *hooks, uint64_t now_ms);

/* Fetches what sw_enet_send reads of that peer, for a call that follows soon. Any handle will do.
 */
void sw_enet_prefetch(const struct sw_enet *engine, uint64_t peer);

/* Queues one packet to a peer. Copies payload. Returns 0, or
 *   -ESTALE    the handle names no connected peer
 *   -EINVAL    channel not negotiated, or more than packet_bytes_max bytes, or none
 *   -ENOBUFS   unreliable: dropped, memory is short or the peer's queue is full;
 *              reliable: the same, and the peer is being disconnected (SLOW): it cannot be kept
 * With SW_ENET_YIELDS a reliable packet takes no more than half of the peer's queue and of the
 * memory behind queues, with what is there already, so that those without always find the other
 * half. It is dropped, and the peer stays:
 *   -ENOBUFS   half of the peer's queue is taken
 *   -EAGAIN    half of the memory is */
int sw_enet_send(struct sw_enet *engine, uint64_t peer, uint8_t channel, uint32_t flags,
	const void *payload, uint32_t bytes);

/* A packet for many peers, kept once: each that is sent it has one block of 128 bytes of its own,
 * however long the packet is. It lives until it is let go of and all to whom it was sent have
 * acknowledged it, or are gone. */
#define SW_ENET_NO_SHARED UINT32_MAX

/* Copies payload. Returns a name for it, or SW_ENET_NO_SHARED: memory is short, or bytes is 0 or
 * more than packet_bytes_max. It is the caller's until sw_enet_shared_release. */
uint32_t sw_enet_shared_new(struct sw_enet *engine, const void *payload, uint32_t bytes);
void sw_enet_shared_release(struct sw_enet *engine, uint32_t shared);

/* Queues it to one peer, reliable, as SW_ENET_YIELDS says. Returns 0, or
 *   -ESTALE    the handle names no connected peer
 *   -EINVAL    channel not negotiated
 *   -EMSGSIZE  it does not fit one of the peer's datagrams: send it by sw_enet_send
 *   -ENOBUFS, -EAGAIN  dropped, as above */
int sw_enet_send_shared(struct sw_enet *engine, uint64_t peer, uint8_t channel, uint32_t shared);

enum sw_enet_disconnect {
	SW_ENET_DISCONNECT, /* queued data is dropped; disconnected() on the acknowledgement */
	SW_ENET_DISCONNECT_LATER, /* after all queued data is acknowledged */
	SW_ENET_DISCONNECT_NOW,   /* one unsequenced DISCONNECT; disconnected() at once */
};
/* reason comes back in disconnected(), and data with it; the client reads data. Nothing is freed or
 * sent before the next sw_enet_service, so it may be called from deliver(). Returns 0, or -ESTALE
 * (also when the peer is already leaving, unless mode is harder than the one before). */
int sw_enet_disconnect(struct sw_enet *engine, uint64_t peer, enum sw_enet_disconnect mode,
	uint32_t data, enum sw_enet_gone reason);

/* Refuse every new connect with a DISCONNECT that carries data (0: accept again). */
void sw_enet_refuse_connects(struct sw_enet *engine, uint32_t data);

/* Once per poll: timers (retransmission, ping, timeouts), owed events, then frames what is waiting
 * for each peer that has something, in as few datagrams as fit its MTU. Returns datagrams sent.
 *
 * A gap between calls that is longer than a second beyond what sw_enet_next_ms asked for is our own
 * stall (a debugger, a suspended machine): the engine's time stands still for the rest of it, so
 * that nobody is timed out for it. */
uint32_t sw_enet_service(struct sw_enet *engine, uint64_t now_ms);

/* Whether the last service found no buffer for all that it had to send. */
bool sw_enet_behind(const struct sw_enet *engine);

/* When the engine next has something to do without input, in ms of its clock; UINT64_MAX if never.
 * For the adaptive idle mode. */
uint64_t sw_enet_next_ms(const struct sw_enet *engine);

struct sw_enet_peer_info {
	uint64_t peer; /* HANDLE_NONE if the slot is free */
	struct sw_enet_addr address;
	uint32_t rtt_ms, rtt_variance_ms, mtu, reliable_in_flight_bytes, throttle; /* 0..32 */
	uint64_t packets_lost, packets_sent;
};
void sw_enet_peer_info(
	const struct sw_enet *engine, uint32_t peer_index, struct sw_enet_peer_info *info);

/* Connected peers now. */
uint32_t sw_enet_peers(const struct sw_enet *engine);

/* The values behind sw_enet_counter_desc; the engine writes, anyone reads. */
_Atomic uint64_t *sw_enet_counters(struct sw_enet *engine);

#endif
