/* stock_world.h: an engine as server and stock libenet clients on a simulated network, for tests.
 *
 * Every message says who sent it, how, on which channel and as the how-manieth, and its other bytes
 * follow from that; each side checks all it receives: reliable ones come exactly once, in order,
 * intact; unreliable ones never go back; unsequenced ones never come twice. A violation aborts with
 * the seed. */
#ifndef SW_DATAPLANE_ENET_STOCK_WORLD_H
#define SW_DATAPLANE_ENET_STOCK_WORLD_H

#include <enet/enet.h>

#include "dataplane/enet/enet.h"
#include "tests/netsim/netsim.h"

#define WORLD_CHANNELS 255u
#define WORLD_CLIENTS  8192u

/* What a refused client reads: before 1.3.11 libenet keeps no reason (connect.c). */
#define WORLD_TOLD(reason) (ENET_VERSION < ENET_VERSION_CREATE(1, 3, 11) ? 0 : (reason))

enum world_kind { WORLD_RELIABLE, WORLD_UNRELIABLE, WORLD_UNSEQUENCED, WORLD_KINDS };

/* One direction of one client. */
struct world_stream {
	uint32_t sent[WORLD_KINDS][WORLD_CHANNELS];
	uint32_t received[WORLD_KINDS][WORLD_CHANNELS]; /* of unreliable: the last number + 1 */
	uint32_t count[WORLD_KINDS];                    /* received */
	uint8_t seen[WORLD_CHANNELS][512]; /* unsequenced, bits; only the first 4,096 */
};

struct world_client {
	ENetHost *host; /* may be shared by several clients */
	ENetPeer *peer;
	bool connected, gone;
	uint32_t gone_data;
	/* what the server saw */
	uint64_t handle;
	uint32_t connects, disconnects, disconnect_data;
	enum sw_enet_gone reason;
	uint32_t payload_bytes_max, channels;
	struct world_stream *up, *down; /* made on first use */
};

struct world_config {
	struct netsim_config net;
	struct sw_enet_config engine; /* zero fields get defaults */
	uint64_t start_ms;
	uint32_t client_skew_ms;
	uint32_t refuse_per_mille; /* deliver, connected and disconnected refuse, tx_begin has none
				    */
	uint32_t step_ms;          /* 0: 1 */
	uint32_t client_frame_ms;  /* clients are served so seldom; 0: each step */
	bool echo; /* the server returns each packet on its channel with its flags */
};

struct world {
	struct world_config config;
	struct netsim *sim;
	struct sw_enet *engine;
	void *memory;
	struct world_client *client;
	uint32_t clients;
	ENetHost *hosts[WORLD_CLIENTS];
	uint32_t host_count;
	bool deaf;              /* deliver() takes nothing */
	struct out_frame *open; /* datagrams that tx_begin handed out */
	uint32_t open_count;
};

uint64_t world_seed(void); /* SW_SEED of the environment, else 1 */
struct world *world_new(const struct world_config *config);
void world_free(struct world *world);

/* A host for up to peers clients. checksum: its CRC32 is on. */
ENetHost *world_host(struct world *world, size_t peers, bool checksum);
/* Begins to connect; returns the client's number, which is its connect data too. */
uint32_t world_connect(struct world *world, ENetHost *host, size_t channels);

void world_run(struct world *world, uint64_t ms);
/* Runs until done(world) or for at most ms; returns whether it is done. */
bool world_until(struct world *world, bool (*done)(struct world *), uint64_t ms);
bool world_all_connected(struct world *world);
bool world_all_arrived(struct world *world); /* every reliable message sent so far, both ways */
bool world_all_gone(struct world *world);    /* disconnected() for each that was connected */
bool world_clients_gone(struct world *world);

/* Sends one numbered message of bytes (at least 12), down: server to client. flags: libenet's. */
void world_send_up(
	struct world *world, uint32_t client, uint8_t channel, uint32_t flags, uint32_t bytes);
int world_send_down(
	struct world *world, uint32_t client, uint8_t channel, uint32_t flags, uint32_t bytes);

/* Prints where everyone stands. */
void world_dump(struct world *world);
uint64_t world_count(struct world *world, enum sw_enet_counter counter);

#endif
