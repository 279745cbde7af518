/* flows.h: which worker has a client's flow (source address and port).
 *
 * dp_flow_hash is the one hash of a flow. Where software steers, it alone decides (dp_flow_owner).
 * Where the NIC's RSS decides, the table below remembers: a worker enters the flows of its peers
 * and of clients in their handshake, and a worker that gets a datagram of a flow it does not know
 * looks here before it refuses it. So a peer stays where it is when RSS sends its flow to another
 * queue; that one's worker hands the frames on.
 *
 * The table is looked at for strangers and CONNECTs only, never for a datagram of a worker's own
 * peer. An entry is a hint: 25 bits of the hash, so that a stranger is handed on by mistake once in
 * two million, and refused there. Many threads read and write it, without locks. */
#ifndef SW_DATAPLANE_FLOWS_H
#define SW_DATAPLANE_FLOWS_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>
#include <string.h>

/* key: random, per process, the same for all workers: nobody outside can choose who has his flow.
 * port: the source's in the low 16 bits; the table's users put the number of our own port plus one
 * above it, because a client may be at two of our addresses. */
static inline uint64_t dp_flow_hash(const uint64_t key[2], const uint8_t ip[16], uint32_t port)
{
	unsigned __int128 product;
	uint64_t high, low;

	memcpy(&high, ip, 8);
	memcpy(&low, ip + 8, 8);
	product = (unsigned __int128)(low ^ key[0]) * (high ^ key[1] ^ 0x9e3779b97f4a7c15u);
	low = (uint64_t)product ^ (uint64_t)(product >> 64);
	product = (unsigned __int128)(low ^ (uint64_t)port << 20) * (key[0] | 1);
	low = (uint64_t)product ^ (uint64_t)(product >> 64);
	low = (low ^ low >> 32) * 0xd6e8feb86659fd93u;
	return low ^ low >> 29;
}

/* 0 to workers - 1. */
static inline uint32_t dp_flow_owner(uint64_t hash, uint32_t workers)
{
	return (uint32_t)(((hash >> 32) * workers) >> 32);
}

struct dp_flows;

#define DP_FLOWS_WORKERS_MAX 64u
#define DP_FLOWS_NOBODY      UINT32_MAX

/* Main thread. flows: as many as all workers have peer slots together. NULL: no memory. */
struct dp_flows *dp_flows_new(uint32_t flows);
void dp_flows_free(struct dp_flows *table);
size_t dp_flows_bytes(uint32_t flows);

/* The worker that has it. A peer's entry (peer true) stays until dp_flows_remove, one a peer slot;
 * a handshake's gives way when its place is needed. False: the bucket holds 16 peers already, and
 * this flow will not be found. */
bool dp_flows_put(struct dp_flows *table, uint64_t hash, uint32_t worker, bool peer);
void dp_flows_remove(struct dp_flows *table, uint64_t hash, uint32_t worker);

/* Any worker. A worker other than asker that has the flow, or DP_FLOWS_NOBODY. A new client of a
 * flow that asker has too should stay: then connect is true, and the answer nobody. */
uint32_t dp_flows_find(const struct dp_flows *table, uint64_t hash, uint32_t asker, bool connect);

#endif
