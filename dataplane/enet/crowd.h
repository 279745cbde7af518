/* crowd.h: one engine and very many lean clients around it, without a network: for tests and
 * benchmarks of scale. Several clients share a source address and port, as behind a NAT. The engine
 * echoes each packet; a client's packet carries its number and a count, and both sides check that
 * every packet comes once and in order. One thread; time stands still but for crowd_run. */
#ifndef SW_DATAPLANE_ENET_CROWD_H
#define SW_DATAPLANE_ENET_CROWD_H

#include "dataplane/enet/enet.h"
#include "dataplane/lean_client.h"

#define CROWD_PAYLOAD     40u
#define CROWD_DATAGRAM    120u /* room for what a lean client says at once */
#define CROWD_CLIENTS_MAX (1u << 23)

struct crowd_client {
	struct lean_client lean;
	uint32_t sent, heard; /* its packets, and their echoes */
	uint32_t taken;       /* of its packets by the engine */
};

struct crowd_datagram {
	uint32_t client, bytes;
	uint8_t data[CROWD_DATAGRAM];
};

/* A datagram that tx_begin handed out, or one that is free. */
struct crowd_frame {
	struct crowd_frame *next; /* free ones */
	struct sw_enet_addr to;
	uint8_t data[4096];
};

struct crowd {
	struct sw_enet_config config;
	struct sw_enet *engine;
	void *memory;
	size_t memory_bytes;
	uint64_t now_ms;
	struct crowd_client *clients;
	uint32_t count, per_source;

	bool deaf; /* clients hear nothing and say nothing */
	bool mute; /* the engine's packets are dropped unread: for benchmarks */

	struct crowd_datagram *said; /* by clients, not given to the engine yet */
	uint32_t said_count, said_max;

	/* what came of it */
	uint64_t connected, gone[SW_ENET_GONE_REASONS_COUNT];
	uint64_t disorder; /* packets lost, repeated, out of order or changed, either way */
	uint64_t stray, stray_bytes; /* datagrams to addresses that are nobody's here */
	uint64_t out, out_bytes;     /* all datagrams of the engine */
	struct crowd_frame frame[SW_ENET_OPEN_MAX + 1], *frame_free;
	uint32_t frames_fresh;
};

/* config: what is 0 gets defaults that let all clients in at once. False: no memory, or not valid.
 */
bool crowd_new(struct crowd *crowd, const struct sw_enet_config *config, uint32_t count,
	uint32_t per_source);
void crowd_free(struct crowd *crowd);
struct sw_enet_addr crowd_address(const struct crowd *crowd, uint32_t client);

/* Writes what a client says; returns its bytes. */
uint32_t crowd_connect_bytes(struct crowd *crowd, uint32_t client, uint8_t *out);
uint32_t crowd_message_bytes(struct crowd *crowd, uint32_t client, bool reliable, uint8_t *out);

/* A client says it, at the next crowd_pump. */
void crowd_connect(struct crowd *crowd, uint32_t client);
void crowd_message(struct crowd *crowd, uint32_t client);
void crowd_leave(struct crowd *crowd, uint32_t client);

/* Gives all that clients have said to the engine, and their answers to what that draws. */
void crowd_pump(struct crowd *crowd);
/* Time goes on by ms in steps of step_ms, with service and pump after each. */
void crowd_run(struct crowd *crowd, uint32_t ms, uint32_t step_ms);

/* Connects clients [from, to). */
void crowd_connect_all(struct crowd *crowd, uint32_t from, uint32_t to);
uint64_t crowd_counter(const struct crowd *crowd, enum sw_enet_counter counter);
/* Sum of all counters of refusals. */
uint64_t crowd_refusals(const struct crowd *crowd);

#endif
