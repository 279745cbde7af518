/* differential_internal.h: a run of a script, as the parts of it see it: differential_stream.c
 * (what is sent in a direction, and whether it arrives as it must), differential_life.c (what a
 * client does from its connect to its end), differential_run.c (both sides' events, the steps). */
#ifndef SW_DATAPLANE_ENET_DIFFERENTIAL_INTERNAL_H
#define SW_DATAPLANE_ENET_DIFFERENTIAL_INTERNAL_H

#include <enet/enet.h>

#include "dataplane/enet/differential.h"

#define HEAD_BYTES 12u
#define ASK_BYTES  28u
#define SEEN_MAX   1024u /* unsequenced messages per channel whose repetition is noticed */

enum message_kind { RELIABLE, UNRELIABLE, UNSEQUENCED, KINDS };
#define MESSAGE_KIND 0x0fu
#define MESSAGE_BIG  0x40u /* too large for a datagram: goes reliably, whatever it is */
#define MESSAGE_ASK  0x80u

/* One direction of a life. */
struct stream {
	uint32_t sent[KINDS][SCRIPT_CHANNELS], next[KINDS][SCRIPT_CHANNELS];
	uint32_t must_sent, must_got; /* reliable, or big */
	uint64_t loose_sent, loose_got;
	uint64_t hash[SCRIPT_CHANNELS];
	uint8_t seen[SCRIPT_CHANNELS][SEEN_MAX / 8];
};

enum life_state { LIFE_WAITS, LIFE_CONNECTS, LIFE_STEPS, LIFE_QUIET, LIFE_ENDS, LIFE_DONE };

struct life {
	const struct life_script *script;
	struct outcome *outcome;
	uint32_t client, number;
	enum life_state state;
	uint64_t next_ms, deadline_ms, quiet_ms;
	uint32_t step;
	ENetPeer *peer;
	uint64_t handle; /* the server's */
	bool server_here, client_over, server_ends;
	struct stream up, down;
};

struct client {
	ENetHost *host;
	uint32_t owner;    /* of the host: itself, or a client before */
	uint64_t freed_ms; /* of an owner: when one of its host last ended */
	uint64_t paused_until_ms, pause_again_ms;
	struct life *lives;
	uint32_t at;
};

struct run {
	const struct script *script;
	struct run_result *result;
	const char *name;
	struct netsim *sim;
	struct server *server;
	struct client client[SCRIPT_CLIENTS];
	uint64_t stalled_until_ms, stall_again_ms;
	uint8_t buffer[65536];
};

/* Said on stderr, with the seed, and counted. */
void run_violation(struct run *run, const struct life *life, const char *text);

/* Fills run->buffer with the next message of a stream. Returns whether it must arrive. */
bool stream_put(struct run *run, const struct life *life, struct stream *s, uint8_t channel,
	uint32_t flags, uint32_t bytes);
/* It was sent. */
void stream_sent(struct run *run, struct stream *s, uint8_t channel, uint32_t flags, bool must);
/* One has arrived; whatever it must not be is a violation. */
void stream_got(struct run *run, struct life *life, struct stream *s, uint8_t channel,
	const uint8_t *p, uint32_t bytes);
bool stream_complete(const struct stream *s);
uint64_t stream_hash(const struct stream *s);

/* What the client does next, if its time has come. */
void life_step(struct run *run, struct life *life, uint64_t now_ms);
/* It ends, by the way of its script. */
void life_end(struct run *run, struct life *life, uint64_t now_ms);

#endif
