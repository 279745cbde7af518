/* engine.h: the engine's own shapes, for the files of this folder only. enet.h is the manual.
 *
 * All memory is arrays that sw_enet_init lays out; everything refers to everything by index, and
 * NIL is no index. Times are ms of the engine's clock (timers.c): it stands still over our own
 * stalls. */
#ifndef SW_DATAPLANE_ENET_ENGINE_H
#define SW_DATAPLANE_ENET_ENGINE_H

#include "common/check.h"
#include "common/handle.h"
#include "dataplane/enet/enet.h"
#include "dataplane/enet/range_coder.h"
#include "dataplane/enet/wire.h"

#define NIL UINT32_MAX

/* ENet's timing, as in its enet.h. */
#define PING_INTERVAL_MS      500u
#define TIMEOUT_ATTEMPTS      32u /* doublings of the first timeout */
#define TIMEOUT_MIN_MS        5000u
#define TIMEOUT_MAX_MS        30000u
#define RTT_DEFAULT_MS        500u
#define THROTTLE_SCALE        32u
#define THROTTLE_STEP         7u /* ENET_PEER_PACKET_THROTTLE_COUNTER */
#define LOSS_INTERVAL_MS      10000u
#define BANDWIDTH_INTERVAL_MS 1000u

/* Ours. */
#define RTO_MIN_MS            10u /* ENet has none: at a round trip of 1 ms it repeats every 1 ms */
#define THROTTLE_JITTER_MS    20u /* a client answers once a frame: not congestion */
#define STALL_MS              1000u /* a gap this much beyond what was due is our own stall */
#define HALF_OPEN_YOUNG_MS    3000u /* never evicted before */
#define HALF_OPEN_LIFE_MS     20000u
#define HALF_OPEN_EXPIRE_MAX  64u /* in one service: a burst that grew old together is no stall */
#define HALF_OPEN_EXPAND      65536u /* bytes that a half-open client may make us decompress */
#define RETURNING_MS          600000u
#define DEPARTED_MS           30000u /* a client gives up after that */
#define DEPARTED_TELL_MS      200u   /* at least, and a round trip: what comes before crossed it */
#define DEPARTED_TELL_NEW_MS  2000u  /* where none was measured */
#define DEPARTED_TELL_MAX_MS  8000u
#define DEPARTED_ANSWERS_MAX  16u
#define DEPARTED_EXPAND_MAX   576u
#define VERIFY_AGAIN_MS       250u
#define VERIFY_AGAIN_MAX      5u
#define ASSEMBLY_MS           30000u /* and one more for each 4 bytes: 4 KiB/s is the slowest */
#define ASSEMBLY_BYTES_PER_MS 4u
#define GAP_MS                                                                                     \
	120000u               /* a packet waits so long for one before it: an honest sender has    \
				 given up long since */
#define EXPIRE_EVERY_MS 1000u /* a full hold is some thousand blocks to look through */
#define RUN_FREE        4u    /* packets and copied blocks of a refused run that cost nothing; */
#define RUN_PER_MS      32u   /* of a longer one, so many a ms until it is built again */
#define PENDING_MS      5000u /* an unreliable packet waits so long for others */
#define PENDING_MAX     32u   /* unreliable packets waiting, per peer */
#define ACK_BLOCKS_MAX  64u
#define OWING_MAX       64u     /* tries in one service to report who has gone */
#define NO_BUFFER_MAX   64u     /* then the rest of the dirty peers wait for the next service */
#define FRAGMENTS_MAX   0x6000u /* six reliable windows: 13 MB at the least MTU */

/* --- blocks: the memory behind queues and holds (pool.c) --- */

#define BLOCK_BYTES 128u
#define BLOCK_DATA  76u
#define CHAIN_DATA  (BLOCK_BYTES - 4u)

enum block_kind {
	BLOCK_OUT = 1, /* a command to send; hashed when reliable: (channel, seq) */
	BLOCK_HELD, /* a complete reliable packet out of order, or an assembly: (channel, first seq)
		     */
	BLOCK_FRAGMENT,         /* a fragment of an assembly: (channel, its own seq) */
	BLOCK_PENDING,          /* an unreliable packet or assembly that waits; not hashed */
	BLOCK_PENDING_FRAGMENT, /* a fragment of one; not hashed */
	BLOCK_SHARED,           /* a packet that blocks of several peers refer to (shared.c) */
};

/* The head of a packet or command. Bytes that do not fit data go on in chained blocks, whose first
 * word is the next one. */
struct block {
	uint32_t next, prev; /* in the list that owns it */
	uint32_t hash_next;
	uint32_t chain;
	uint32_t peer;
	uint16_t seq, aux; /* aux: unreliable sequence number; of a reliable command to send: is in
			      sent */
	uint16_t bytes;    /* in data and chain, or in data and what is shared */
	uint16_t payload_bytes;
	uint8_t kind, channel, attempts, command;
	union {
		struct { /* BLOCK_OUT: data is the command as it goes on the wire */
			uint32_t unacked_next, unacked_prev; /* of the channel, in sequence */
			uint32_t sent_ms, rto_ms;
			uint32_t order; /* when it was queued; reliable and not, compared */
		} out;
		struct { /* BLOCK_HELD and BLOCK_PENDING; with count > 0: fragments */
			uint32_t fragments;
			uint32_t total_bytes, fragment_bytes;
			uint16_t count, missing;
			uint32_t due_ms;
		} in;
		struct { /* BLOCK_FRAGMENT, BLOCK_PENDING_FRAGMENT */
			uint32_t number;
		} piece;
		struct {                /* BLOCK_SHARED: data is the payload */
			uint32_t count; /* who refers to it */
		} shared;
	};
	uint8_t data[BLOCK_DATA];
};
_Static_assert(sizeof(struct block) == BLOCK_BYTES, "two cache lines");

/* block.chain of a command whose payload is shared: this bit, and the block of it. */
#define CHAIN_SHARED 0x80000000u

static inline bool chain_is_shared(uint32_t chain)
{
	return chain != NIL && chain & CHAIN_SHARED;
}

struct list {
	uint32_t head, tail;
};

enum pool_share { POOL_HOLD, POOL_QUEUE, POOL_SHARES };

/* --- peers (peer_table.c) --- */

enum peer_state {
	PEER_FREE,
	PEER_CONNECTED,
	PEER_LATER,         /* SW_ENET_DISCONNECT_LATER: drains, then PEER_DISCONNECTING */
	PEER_DISCONNECTING, /* our DISCONNECT waits for its acknowledgement */
	PEER_ACKNOWLEDGING, /* the client's DISCONNECT waits for ours to leave */
	PEER_GONE,          /* owes disconnected(); then free */
};

enum peer_flag {
	PEER_DIRTY = 1u << 0, /* on the engine's dirty list */
	PEER_OWES_CONNECTED = 1u << 1,
	PEER_TELL = 1u << 2, /* one unsequenced DISCONNECT goes before it is gone */
	PEER_CHECKSUM = 1u << 3,
	PEER_SAMPLED = 1u << 4,       /* has a round-trip sample */
	PEER_START_LEAVING = 1u << 5, /* PEER_DISCONNECTING: DISCONNECT is yet to be queued */
	PEER_COMPRESSED = 1u << 6,    /* it has shown that its compressor is on */
	PEER_PRESET = 1u << 7,        /* it had no handshake: preset.c */
};

struct channel {
	uint16_t out_reliable, out_unreliable;
	uint16_t in_reliable, in_unreliable;
	struct list unacked; /* sent or queued reliable commands, in sequence */
};
_Static_assert(sizeof(struct channel) == 16, "eight to a block");
#define CHANNELS_INLINE    4u
#define CHANNELS_PER_BLOCK (BLOCK_BYTES / 16u)

#define ACKS_INLINE    4u
#define ACKS_PER_BLOCK (BLOCK_DATA / WIRE_ACKNOWLEDGE_BYTES)

/* What receiving and sending touch. */
struct peer {
	/* who: the table's key is address, port and our id */
	struct sw_enet_addr address;
	uint16_t id, client_id;
	uint32_t connect_id; /* as it came, never swapped */
	uint32_t generation;
	uint8_t state, flags;
	uint8_t session_in, session_out; /* of headers we receive, of headers we send */
	uint8_t channel_count, ack_inline;
	uint16_t mtu;

	/* lists of the engine */
	uint32_t dirty_next;
	uint32_t timer_next, timer_prev; /* in a wheel slot; timer_prev NIL: first of it */
	uint32_t timer_slot;             /* NIL: no timer */
	uint64_t timer_ms;

	/* out */
	struct list reliable, unreliable; /* waiting, by order */
	struct list sent;                 /* reliable, by time sent */
	struct list acks;                 /* blocks of acknowledgements beyond ack_inline */
	uint32_t ack_blocks;
	uint32_t queue_blocks;
	uint32_t in_flight_bytes, window_bytes;
	uint32_t order;
	uint16_t control_seq; /* of channel 0xff */
	uint16_t unsequenced_out;
	uint32_t rtt_ms, rtt_variance_ms;
	uint64_t earliest_timeout_ms; /* 0: none */
	uint64_t ack_ms;              /* last acknowledgement received */
	uint64_t heard_ms;            /* last valid datagram */
	uint64_t packets_sent;
	uint64_t bandwidth_epoch_ms;
	uint32_t bandwidth_bytes; /* queued since */
	uint8_t throttle, throttle_limit, throttle_counter;

	/* in */
	uint8_t pending_count;
	uint16_t unsequenced_in;
	uint8_t open;        /* 1 + index into sw_enet.open; 0: no datagram of it is open */
	uint32_t rx_full_us; /* when it may send its whole burst again (rx.c) */
	struct list held;    /* BLOCK_HELD: complete or assembling */
	struct list pending; /* BLOCK_PENDING */

	struct channel channel[CHANNELS_INLINE];
	uint32_t channel_index; /* block of block indices of the further channels; NIL until used */
	uint8_t ack[ACKS_INLINE][WIRE_ACKNOWLEDGE_BYTES];
	uint32_t hold_blocks;
} __attribute__((aligned(64))); /* beside a million others each line and page costs */

/* What they seldom touch. */
struct peer_cold {
	uint32_t incoming_bandwidth, outgoing_bandwidth; /* the client's, bytes/s */
	uint32_t throttle_interval_ms, throttle_acceleration, throttle_deceleration;
	uint64_t throttle_epoch_ms;
	uint32_t last_rtt_ms, last_variance_ms, lowest_rtt_ms, highest_variance_ms;
	uint32_t connect_data;
	uint32_t leave_data;  /* what the client said, or what it is told */
	uint8_t leave_reason; /* enum sw_enet_gone */
	uint64_t put_off_ms;  /* when deliver() last refused what was next in order; 0: never */
	uint64_t again_ms;    /* no run is put together before */
	uint64_t expire_ms;   /* what waits is not looked through before */
	uint64_t packets_lost;
	uint32_t expand_owed_bytes, expand_ms; /* decompressed and not yet paid off by time; when it
						* was last paid */
	uint32_t unsequenced[WIRE_UNSEQUENCED_WINDOW / 32];
};

_Static_assert(sizeof(struct peer) <= 320 && sizeof(struct peer_cold) <= 256,
	"W10: at most 1 KiB a silent peer, with its share of the tables");

/* A datagram that is being written while a burst is worked on: unreliable packets go straight into
 * it, and what else the peer is owed is put behind them when it is closed (tx.c). */
struct open {
	uint8_t *out;
	uint32_t at;
};
_Static_assert(SW_ENET_OPEN_MAX < UINT8_MAX, "peer.open");

struct peer_slot { /* of the open-addressing table */
	uint32_t tag;
	uint32_t peer; /* NIL: empty */
};

/* --- half-open clients and connect rates (half_open.c, guard.c) --- */

struct half_open {
	struct sw_enet_addr address;
	uint16_t id, client_id;
	uint32_t connect_id;
	uint32_t hash_next;
	uint32_t age_next, age_prev; /* oldest first */
	uint8_t session_in, session_out;
	uint8_t channels;
	bool checksum, compressed;
	uint16_t mtu;
	uint16_t verify_seq, verify_time;
	uint8_t again; /* VERIFYs sent without a CONNECT */
	uint8_t verifies;
	uint32_t credit_bytes;   /* came and not answered */
	uint32_t expanded_bytes; /* decompressed for it */
	uint32_t window_bytes, verify_window_bytes;
	uint32_t incoming_bandwidth, outgoing_bandwidth;
	uint32_t throttle[3]; /* interval, acceleration, deceleration */
	uint32_t data;
	uint64_t created_ms, verified_ms;
};

struct bucket {
	uint64_t tokens_milli; /* thousandths */
	uint64_t at_ms;
};

struct source {
	uint64_t key; /* hash of the address (IPv6: of its /64); 0: unused */
	struct bucket bucket;
};
#define SOURCE_WAYS 4u

struct returning {          /* returning.c */
	uint64_t key;       /* as of struct source; 0: unused */
	uint64_t proven_ms; /* that it receives at its address */
};
#define RETURNING_WAYS 4u

struct departed { /* departed.c */
	uint64_t key;
	uint64_t left_ms;
	uint32_t connect_id;
	uint32_t data;         /* tell: what it is told */
	uint16_t credit_bytes; /* came and not answered */
	uint16_t tell_ms;      /* tell: after the end, then twice, four times .. as long after it */
	uint16_t client_id;
	uint8_t answers;
	uint8_t session_in : 2, session_out : 2;
	bool checksum : 1, compressed : 1;
	bool tell : 1; /* it did not leave by itself */
	bool told : 1; /* so, when it ended */
};
_Static_assert(sizeof(struct departed) == 32, "two to a line");
#define DEPARTED_WAYS 4u

/* --- the engine --- */

#define WHEEL_SLOTS 4096u /* of 1 ms; what is due later is looked at again every 4 s */

struct sw_enet {
	struct sw_enet_config config;
	struct sw_enet_ops ops;

	/* time */
	uint64_t now_ms;    /* of the engine */
	uint64_t caller_ms; /* of the caller, at the last call */
	uint64_t wheel_ms;  /* slots up to here have run */
	uint64_t wheel_used[WHEEL_SLOTS / 64];
	uint32_t *wheel; /* [WHEEL_SLOTS] heads */

	/* peers */
	uint64_t handle_owner; /* the owner's part of their handles */
	struct peer *peers;
	struct peer_cold *cold;
	struct peer_slot *table;
	uint32_t table_mask;
	uint32_t peers_free, peers_fresh, peers_used, peers_connected, peers_preset;
	uint32_t dirty, dirty_tail; /* first in, first out */
	uint32_t owing, owing_tail; /* gone, and nobody took the news; flagged dirty too */
	uint32_t no_buffer;         /* times that tx_begin had none, in this service */
	bool serving; /* in sw_enet_service: what is sent now is queued, and leaves in it */
	uint32_t open_count;
	struct open open[SW_ENET_OPEN_MAX]; /* in the order in which they were begun */
	struct sw_enet_written written[SW_ENET_OPEN_MAX]; /* the same, for tx_end_each */
	uint64_t hash_key[2]; /* of the tables: what a source may choose must not choose the bucket
			       */

	/* half-open */
	struct half_open *half_open;
	uint32_t *half_open_heads;
	uint32_t half_open_mask, half_open_free, half_open_fresh, half_open_used;
	uint32_t half_open_max, half_open_kept; /* entries; those of them kept for who returns */
	uint32_t turned_away; /* from slots that half-open clients reserve, since */
	uint64_t turned_away_ms;
	struct list half_open_age;
	struct source *sources;
	uint32_t source_mask;
	struct rate own_connects, *connects;     /* the bucket over all sources */
	uint32_t kept_burst;                     /* of it, for who returns */
	uint64_t common_spent_ms, kept_spent_ms; /* when each was last found empty */
	uint32_t refuse_data;
	struct returning *returning;
	uint32_t returning_mask;
	struct departed *departed;
	uint32_t departed_mask;
	uint32_t expand_burst_bytes;

	/* what a peer may send: see peer_may in rx.c */
	uint32_t rx_cost_us, rx_burst_us; /* of one datagram; of all that may come at once */
	uint32_t rx_now_us;               /* of this burst; wraps */

	/* pool */
	uint8_t *blocks;
	uint32_t blocks_total, blocks_free, blocks_fresh;
	uint32_t share_total[POOL_SHARES], share_used[POOL_SHARES];
	uint32_t hold_blocks_max; /* of one peer, for what is out of order or may be lost */
	uint32_t next_blocks_max; /* of one peer, for what is next in order: a packet more */
	uint32_t queue_blocks_max;
	uint32_t yields_blocks_max; /* the part of it for what yields */
	uint32_t shared_blocks;     /* of packets that are shared */
	uint32_t *block_heads;      /* hash */
	uint32_t block_mask;

	/* scratch of one delivery */
	struct sw_enet_delivery *run;
	uint32_t *run_block;
	uint32_t run_max;
	uint8_t *scratch;
	size_t scratch_bytes;

	uint32_t (*crc)[256];
	struct range_coder *coder;
	uint8_t *packed, *plain; /* [WIRE_MTU_MAX]: the datagram that leaves, that came */
	_Atomic uint64_t *counter;
};

static inline void count(struct sw_enet *e, enum sw_enet_counter counter, uint64_t n)
{
	counter_add(&e->counter[counter], n);
}

static inline struct block *block_at(struct sw_enet *e, uint32_t index)
{
	DCHECK(index < e->blocks_fresh);
	return (struct block *)(void *)(e->blocks + (size_t)index * BLOCK_BYTES);
}

/* pool.c: blocks, chains, and the table that finds them by (peer, kind, channel, seq). */
uint32_t pool_chain_blocks(uint32_t bytes);
bool pool_take_channel(struct sw_enet *e, struct peer *peer);
bool pool_take_next(struct sw_enet *e, struct peer *peer, uint32_t blocks);
bool pool_take(struct sw_enet *e, enum pool_share share, uint32_t *peer_blocks, uint32_t peer_max,
	uint32_t blocks);
int pool_take_yielding(
	struct sw_enet *e, uint32_t *blocks_taken, uint32_t blocks_max, uint32_t blocks);
void pool_give(struct sw_enet *e, enum pool_share share, uint32_t *peer_blocks, uint32_t blocks);
uint32_t block_new(struct sw_enet *e, const void *head, uint32_t head_bytes, const void *data,
	uint32_t data_bytes);
uint32_t block_new_raw(struct sw_enet *e);
uint32_t block_free(struct sw_enet *e, uint32_t index);
void block_free_raw(struct sw_enet *e, uint32_t index);
void block_read(struct sw_enet *e, uint32_t index, uint8_t *out);
void block_hash_add(struct sw_enet *e, uint32_t index);
void block_hash_remove(struct sw_enet *e, uint32_t index);
uint32_t block_find(struct sw_enet *e, uint32_t peer, uint8_t kind, uint8_t channel, uint16_t seq);
void list_push(struct sw_enet *e, struct list *list, uint32_t index);
void list_push_front(struct sw_enet *e, struct list *list, uint32_t index);
void list_remove(struct sw_enet *e, struct list *list, uint32_t index);

/* peer_table.c */
uint64_t peer_hash(const struct sw_enet *e, const struct sw_enet_addr *address, uint16_t id);
void peer_prefetch(const struct sw_enet *e, uint64_t hash);
uint32_t peer_prefetch_found(const struct sw_enet *e, uint64_t hash);
uint32_t peer_find(
	const struct sw_enet *e, uint64_t hash, const struct sw_enet_addr *address, uint16_t id);
uint32_t peer_new(struct sw_enet *e, const struct half_open *half);
void peer_free(struct sw_enet *e, uint32_t index);
void peer_purge(struct sw_enet *e, uint32_t index, bool keep_acks);
void peer_dirty(struct sw_enet *e, uint32_t index);
void peer_owing(struct sw_enet *e, uint32_t index);
struct channel *peer_channel_far(struct sw_enet *e, struct peer *peer, uint8_t channel);

static inline uint64_t peer_handle(const struct sw_enet *e, uint32_t index)
{
	uint64_t handle = e->handle_owner | (uint64_t)e->peers[index].generation << 32 | index;

	DCHECK(handle == handle_make(e->config.owner, e->peers[index].generation, index));
	return handle;
}

/* The peer that a handle names, in whatever state, or NIL. */
static inline uint32_t peer_of_handle(const struct sw_enet *e, uint64_t handle)
{
	uint32_t index = handle_index(handle);

	if (index >= e->peers_fresh || e->peers[index].state == PEER_FREE ||
		handle != peer_handle(e, index))
		return NIL;
	return index;
}

/* The state of a channel below channel_count; NULL when no memory is left for it. */
static inline struct channel *peer_channel(struct sw_enet *e, struct peer *peer, uint8_t channel)
{
	return channel < CHANNELS_INLINE ? &peer->channel[channel]
					 : peer_channel_far(e, peer, channel);
}

static inline bool address_equal(const struct sw_enet_addr *a, const struct sw_enet_addr *b)
{
	return a->port == b->port && memcmp(a->ip, b->ip, sizeof a->ip) == 0;
}

/* connect.c */
struct request {
	const struct sw_enet_addr *from;
	uint8_t command[WIRE_CONNECT_BYTES];
	uint32_t bytes; /* of its datagram: what an answer may have */
	uint32_t connect_id;
	uint16_t client_id;
	bool checksum, compressed;
};
uint32_t connect_read(struct sw_enet *e, const struct sw_enet_addr *from, const uint8_t *data,
	uint32_t bytes, struct request *request);
uint32_t connect_refuse(
	struct sw_enet *e, const struct request *request, uint32_t data, uint32_t refusal);

/* half_open.c: the entry of a client under way, NIL if there is none. */
uint32_t half_open_find(struct sw_enet *e, const struct sw_enet_addr *from, uint16_t id);
/* Both return the refusal, 0 when a VERIFY went out or the peer was made. */
uint32_t half_open_connect(struct sw_enet *e, const struct sw_enet_addr *from, uint64_t key,
	const uint8_t *data, uint32_t bytes);
uint32_t half_open_datagram(struct sw_enet *e, const struct sw_enet_addr *from,
	const uint8_t **data, uint32_t *bytes, uint32_t *peer, uint32_t *next_command);
void half_open_expire(struct sw_enet *e);

/* guard.c: the cheap refusals. */
uint64_t guard_source_key(const struct sw_enet *e, const struct sw_enet_addr *from);
uint32_t guard_connect(struct sw_enet *e, uint64_t key);

/* returning.c: addresses that proved themselves; key: guard_source_key. */
void returning_note(struct sw_enet *e, const struct sw_enet_addr *address);
bool returning_known(struct sw_enet *e, uint64_t key);
void returning_prefetch(struct sw_enet *e, uint64_t key);

/* departed.c: answers to who has left. */
void departed_note(struct sw_enet *e, const struct departed *who);
const uint8_t *departed_disconnect(const uint8_t *data, uint32_t bytes, uint32_t at);
bool departed_acknowledge(struct sw_enet *e, struct departed *who, const struct sw_enet_addr *to,
	const uint8_t *data, const uint8_t *disconnect, uint32_t bytes);
uint32_t departed_datagram(
	struct sw_enet *e, const struct sw_enet_addr *from, const uint8_t *data, uint32_t bytes);

static inline uint64_t departed_key(
	const struct sw_enet *e, const struct sw_enet_addr *address, uint16_t id)
{
	return peer_hash(e, address, id) | 1; /* 0: unused */
}

/* crc32.c: ENet's checksum. */
void crc_init(uint32_t (*table)[256]);
bool crc_matches(
	struct sw_enet *e, const uint8_t *data, uint32_t bytes, uint32_t at, uint32_t connect_id);
void crc_put(struct sw_enet *e, uint8_t *data, uint32_t bytes, uint32_t at, uint32_t connect_id);

/* seal.c: checksum and compression of a datagram. */
uint32_t seal(
	struct sw_enet *e, uint8_t *out, uint32_t bytes, const uint32_t *connect_id, bool compress);
const uint8_t *unseal(
	struct sw_enet *e, const uint8_t *data, uint32_t *bytes, uint32_t at, uint32_t bytes_max);
const uint8_t *unseal_peer(struct sw_enet *e, uint32_t index, const uint8_t *data, uint32_t *bytes,
	uint32_t at, uint32_t *refusal);

/* rtt.c: round trip, throttle, bandwidth. */
void rtt_acknowledge(struct sw_enet *e, uint32_t index, uint32_t rtt_ms);
void rtt_bandwidth(struct sw_enet *e, uint32_t index, uint64_t elapsed_ms);
uint32_t rtt_window_bytes(uint32_t ours, uint32_t theirs);

/* acknowledge.c: acknowledgements received, and those owed. */
uint32_t acknowledge_received(struct sw_enet *e, uint32_t index, const uint8_t *command);
void acknowledge_all(struct sw_enet *e, uint32_t index);
bool acknowledge_room(struct sw_enet *e, struct peer *peer);
void acknowledge_forget(struct sw_enet *e, struct peer *peer);
void acknowledge_queue(
	struct sw_enet *e, uint32_t index, uint8_t channel, uint16_t seq, uint16_t sent_time);

/* deliver.c: from commands to deliveries. Each returns a refusal, 0 if none; *keep says whether
 * the command may be acknowledged. */
struct command {
	const uint8_t *bytes; /* header and fields */
	const uint8_t *data;
	uint32_t data_bytes;
	uint16_t seq;
	uint8_t number, channel;
};
uint32_t deliver_reliable(
	struct sw_enet *e, uint32_t index, const struct command *command, bool *keep);
uint32_t deliver_unreliable(struct sw_enet *e, uint32_t index, const struct command *command);
uint32_t deliver_unsequenced(struct sw_enet *e, uint32_t index, const struct command *command);
bool deliver_run(struct sw_enet *e, uint32_t index, uint8_t channel, const struct command *first);
void deliver_pending(struct sw_enet *e, uint32_t index, uint8_t channel_number);
bool deliver_one(struct sw_enet *e, uint32_t index, uint8_t channel, uint8_t flags,
	const uint8_t *payload, uint32_t bytes);

/* fragment.c */
uint32_t fragment_reliable(
	struct sw_enet *e, uint32_t index, const struct command *command, bool *keep);
uint32_t fragment_unreliable(struct sw_enet *e, uint32_t index, const struct command *command);
void fragment_copy(struct sw_enet *e, const struct block *head, uint8_t *out);
void held_free(struct sw_enet *e, uint32_t index, uint32_t block);
void pending_free(struct sw_enet *e, uint32_t index, uint32_t block);

/* tx.c */
uint32_t tx_flush(struct sw_enet *e, uint32_t index, bool *more);
uint32_t tx_put_acks(struct sw_enet *e, struct peer *peer, uint8_t *out, uint32_t at);
uint32_t tx_close_all(struct sw_enet *e);
bool tx_disconnect(struct sw_enet *e, uint32_t peer, const struct sw_enet_addr *to,
	uint16_t client_id, uint8_t session, const uint32_t *connect_id, uint32_t data);
bool tx_control(
	struct sw_enet *e, uint32_t index, uint32_t command, const uint8_t *fields, uint32_t bytes);

/* The throttle's lot for one unreliable packet: true if it is dropped. */
static inline bool tx_throttled(struct peer *peer)
{
	peer->throttle_counter = (peer->throttle_counter + THROTTLE_STEP) % THROTTLE_SCALE;
	return peer->throttle_counter > peer->throttle;
}

/* Bytes of a datagram to this peer before its first command. */
static inline uint32_t tx_header_bytes(const struct peer *peer)
{
	return WIRE_HEADER_BYTES + (peer->flags & PEER_CHECKSUM ? WIRE_CHECKSUM_BYTES : 0);
}

/* send.c: queues a reliable command whose block is ready and numbered; whether so many more can be
 * told apart. */
void queue_reliable(struct sw_enet *e, uint32_t index, struct channel *channel, uint32_t block);
bool numbers_left(struct sw_enet *e, const struct channel *channel, uint32_t commands);

/* shared.c */
void shared_forget(struct sw_enet *e, uint32_t shared);

/* leave.c */
void leave(struct sw_enet *e, uint32_t index, enum sw_enet_gone reason, uint32_t data, bool tell);
bool leave_step(struct sw_enet *e, uint32_t index);
void leave_acknowledged(struct sw_enet *e, uint32_t index);
void leave_received(struct sw_enet *e, uint32_t index, uint32_t data, bool acknowledge);

/* timers.c */
void clock_advance(struct sw_enet *e, uint64_t caller_ms);
void timer_set(struct sw_enet *e, uint32_t index, uint64_t due_ms);
void timer_clear(struct sw_enet *e, uint32_t index);
void timers_run(struct sw_enet *e);
void timer_rearm(struct sw_enet *e, uint32_t index);

#endif
