/* differential.h: the same random script, once against our engine and once against a stock libenet
 * host; stock clients run it, on the simulated network. What the protocol determines must agree.
 *
 * A round is a script of a seed: how server and network are set, and for each client what it does
 * in up to three lives, from its connect to one of twelve ways to end. The server acts on what
 * clients ask it in reliable messages, so that what it does is determined too.
 *
 * differential_script.c draws the script, differential_run.c runs it against a server
 * (differential_server.c: the two of them) and checks what each side receives, differential.c
 * compares the outcomes. One thread; one run at a time (stock_enet.h). */
#ifndef SW_DATAPLANE_ENET_DIFFERENTIAL_H
#define SW_DATAPLANE_ENET_DIFFERENTIAL_H

#include <stdbool.h>
#include <stdint.h>

#include "dataplane/enet/enet.h"
#include "tests/netsim/netsim.h"

#define SCRIPT_CLIENTS  8u
#define SCRIPT_LIVES    3u
#define SCRIPT_STEPS    96u
#define SCRIPT_NETS     4u
#define SCRIPT_CHANNELS 255u

enum step_kind {
	STEP_SEND,      /* count messages of bytes, with flags, on channel */
	STEP_ASK,       /* the server is to do so */
	STEP_PAUSE,     /* the client is not served for value[0] ms */
	STEP_STALL,     /* nor is the server */
	STEP_THROTTLE,  /* enet_peer_throttle_configure */
	STEP_BANDWIDTH, /* enet_host_bandwidth_limit */
	STEP_PING,      /* enet_peer_ping */
	STEP_KINDS
};

struct step {
	uint32_t after_ms; /* the step before */
	enum step_kind kind;
	uint8_t channel;
	uint32_t flags, count, bytes;
	uint32_t value[3];
};

/* X(name, waits until all has arrived). NOW and RESET are libenet's disconnect_now and peer_reset;
 * UNCONNECTED leaves before an answer can have come, AT_ONCE when it has, before it is
 * acknowledged. */
#define SCRIPT_ENDS(X)                                                                             \
	X(CLIENT_LATER_QUIET, true)                                                                \
	X(CLIENT_LATER, false)                                                                     \
	X(CLIENT_QUIET, true)                                                                      \
	X(CLIENT, false)                                                                           \
	X(CLIENT_NOW, true)                                                                        \
	X(CLIENT_RESET, true)                                                                      \
	X(CLIENT_UNCONNECTED, false)                                                               \
	X(CLIENT_AT_ONCE, false)                                                                   \
	X(SERVER_QUIET, true)                                                                      \
	X(SERVER, false)                                                                           \
	X(SERVER_LATER, false)                                                                     \
	X(SERVER_NOW, true)

#define SCRIPT_END_ENUM(name, quiet) END_##name,
enum script_end { SCRIPT_ENDS(SCRIPT_END_ENUM) SCRIPT_END_COUNT };
extern const bool script_end_quiet[SCRIPT_END_COUNT];
extern const char *const script_end_name[SCRIPT_END_COUNT];

struct life_script {
	uint32_t after_ms, channels, connect_data, end_data, step_count;
	struct step steps[SCRIPT_STEPS];
	enum script_end end;
};

struct client_script {
	uint32_t incoming_bandwidth, outgoing_bandwidth, mtu, lives;
	bool shares; /* the host of the client before */
	struct life_script life[SCRIPT_LIVES];
};

struct script {
	uint64_t seed;
	/* both servers */
	uint32_t mtu, channels_max, incoming_bandwidth, outgoing_bandwidth;
	bool checksum, compression;
	/* ours */
	bool any; /* recognises both, instead of being set like the clients */
	uint32_t refuse_per_mille;
	/* network, in turn for net_ms each */
	struct netsim_config net[SCRIPT_NETS];
	uint32_t net_ms;
	bool clean; /* nothing is lost, damaged or overtaken, and nobody pauses or is limited */
	bool lossy; /* a connection may end by time-out */
	uint32_t client_count;
	struct client_script client[SCRIPT_CLIENTS];
};

void script_draw(struct script *script, uint64_t seed);

/* What became of a life. */
struct outcome {
	bool connected;
	uint32_t channels, mtu, window_bytes; /* as the client saw them then */
	uint32_t server_connect_data;
	bool server_connected;
	/* the end, as each saw it; its data where the other side gave one */
	bool client_told, server_told;
	uint32_t client_data, server_data;
	bool up_complete, down_complete; /* all that is reliable arrived, where it has to */
	uint64_t up_hash, down_hash;     /* of these, in order, per channel */
	uint64_t up_loose, down_loose;   /* unreliable and unsequenced messages that arrived */
	bool broken;                     /* ended by time-out, where the network may do that */
};

struct run_result {
	struct outcome outcome[SCRIPT_CLIENTS][SCRIPT_LIVES];
	uint64_t datagrams, messages, virtual_ms;
	uint32_t violations; /* told on stderr as they were found */
};

void differential_run(const struct script *script, bool ours, struct run_result *result);

struct differential_total {
	uint64_t rounds, lives, broken, datagrams, messages, virtual_ms;
	uint64_t disagreements, stock_violations;
};

/* One round; disagreements are told on stderr, with the seed. */
void differential_round(uint64_t seed, struct differential_total *total);

/* --- differential_server.c, for differential_run.c --- */

struct run;
struct server;

/* What a server tells, from inside its step. */
void run_connected(struct run *run, uint64_t peer, uint32_t data);
void run_received(
	struct run *run, uint64_t peer, uint8_t channel, const uint8_t *payload, uint32_t bytes);
void run_disconnected(struct run *run, uint64_t peer, uint32_t data);

#define SERVER_IP   0x0a000001u
#define SERVER_PORT 7777u

struct server *server_new(
	const struct script *script, bool ours, struct run *run, struct netsim *sim);
void server_step(struct server *server);
/* Returns whether it was taken. */
bool server_send(struct server *server, uint64_t peer, uint8_t channel, uint32_t flags,
	const uint8_t *payload, uint32_t bytes);
void server_disconnect(
	struct server *server, uint64_t peer, enum sw_enet_disconnect mode, uint32_t data);
/* Frees it. Returns false when peers or memory were left over; everyone must have ended. */
bool server_free(struct server *server);

#endif
