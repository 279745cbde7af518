/* raw_engine.h: an engine whose calls are recorded, and datagrams built byte by byte; for tests,
 * the fuzzer and the engine's benchmark. One at a time, one thread. */
#ifndef SW_DATAPLANE_ENET_RAW_ENGINE_H
#define SW_DATAPLANE_ENET_RAW_ENGINE_H

#include <stdio.h>

#include "dataplane/enet/enet.h"
#include "dataplane/enet/wire.h"

#define RAW_SENT_MAX      64u
#define RAW_DELIVERED_MAX 256u

struct raw_datagram {
	struct sw_enet_addr to;
	uint32_t bytes;
	uint8_t data[4096];
};

struct raw_delivery {
	uint64_t peer;
	uint32_t bytes;
	uint8_t channel, flags, first; /* first byte of the payload */
	uint64_t sum;                  /* of its bytes */
};

/* A datagram that tx_begin handed out. */
#define RAW_DATAGRAM_MAX 4096u
struct raw_frame {
	struct raw_frame *next;
	struct sw_enet_addr to;
	uint8_t data[];
};

struct raw_engine {
	struct sw_enet_config config;
	struct sw_enet *engine;
	void *memory;
	uint64_t now_ms;

	/* what the ops answer */
	bool deaf, no_buffer, refuse_events;
	bool quiet; /* record nothing: for benchmarks and fuzzing */
	bool echo;
	bool hang_up; /* at connected, at once */

	/* what they saw */
	struct raw_datagram sent[RAW_SENT_MAX];
	uint32_t sent_count;
	struct raw_delivery delivered[RAW_DELIVERED_MAX];
	uint32_t delivered_count, runs, each_calls;
	uint32_t connects, disconnects, events_refused, runs_refused;
	uint64_t handle; /* of the last connected */
	struct sw_enet_connected info;
	uint32_t gone_data;
	enum sw_enet_gone gone_reason;
	uint64_t sent_total, delivered_total;
	uint32_t refused, peer_index; /* of the last datagram */
	struct raw_frame *open;
};

/* Fills what is 0 with small defaults and builds the engine at now_ms 1000. */
void raw_new(struct raw_engine *raw, const struct sw_enet_config *config);
/* each: with the calls for several at once. */
void raw_new_ops(struct raw_engine *raw, const struct sw_enet_config *config, bool each);
void raw_free(struct raw_engine *raw);
struct sw_enet_addr raw_source(uint32_t number); /* 10.1.x.y, port 30000 + number % 30000 */

/* Gives one datagram to the engine, from memory that ends where it ends. Returns the refusal. */
uint32_t raw_rx(struct raw_engine *raw, const struct sw_enet_addr *from, const uint8_t *data,
	uint32_t bytes);
void raw_service(struct raw_engine *raw, uint64_t advance_ms);
void raw_forget(struct raw_engine *raw); /* what was sent and delivered so far */
uint64_t raw_count(struct raw_engine *raw, enum sw_enet_counter counter);

/* A client by hand. */
struct raw_client {
	struct sw_enet_addr address;
	uint16_t client_id, peer_id;
	uint8_t session; /* of what it sends */
	uint32_t connect_id;
};

/* The 52 bytes of CONNECT. */
uint32_t raw_connect_bytes(uint8_t *out, uint32_t connect_id, uint32_t channels, uint32_t data);
/* The whole handshake; the peer is raw->handle after it. Returns false when it was refused. */
bool raw_connect(
	struct raw_engine *raw, struct raw_client *client, uint32_t number, uint32_t channels);
/* Header of a datagram of the client, with sent time; returns where commands go. */
uint8_t *raw_header(const struct raw_client *client, uint8_t *out, uint16_t sent_time);

uint8_t *raw_put_acknowledge(uint8_t *p, uint8_t channel, uint16_t seq, uint16_t sent_time);
uint8_t *raw_put_unsequenced(uint8_t *p, uint16_t group, const void *data, uint32_t n);
uint8_t *raw_put_reliable(uint8_t *p, uint8_t channel, uint16_t seq, const void *data, uint32_t n);
uint8_t *raw_put_unreliable(uint8_t *p, uint8_t channel, uint16_t seq, uint16_t unreliable,
	const void *data, uint32_t n);
uint8_t *raw_put_fragment(uint8_t *p, bool reliable, uint8_t channel, uint16_t seq, uint16_t start,
	uint32_t count, uint32_t number, uint32_t total, uint32_t offset, const void *data,
	uint32_t n);

/* raw_new, and one client (source 1) that is connected and announced; nothing sent so far is kept.
 * Returns false when it was refused. */
bool raw_begin(struct raw_engine *raw, const struct sw_enet_config *config,
	struct raw_client *client, uint32_t channels);

/* A datagram of the client, from out to end. They return the refusal. */
uint32_t raw_say(struct raw_engine *raw, const struct raw_client *client, const uint8_t *out,
	const uint8_t *end);
/* A reliable packet of n bytes, at most 4,000; the first is its seq's low byte. */
uint32_t raw_say_reliable(struct raw_engine *raw, const struct raw_client *client, uint8_t channel,
	uint16_t seq, uint32_t n);
/* One of count fragments of 400 bytes. */
uint32_t raw_say_fragment(struct raw_engine *raw, const struct raw_client *client, bool reliable,
	uint8_t channel, uint16_t start, uint32_t count, uint32_t number);

#endif
