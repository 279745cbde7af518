/* redis_keys: what the control thread keeps in Redis beside presence (presence.h): the single use
 * of tickets, and the node's heartbeat. Keys that change together share a hash tag, for Redis
 * Cluster.
 *
 *   <prefix>{ticket}:<nonce, hex>   <boot>:<session>, while the ticket or pass is valid
 *   <prefix>{gate}:n:<node>         hash of struct keys_beat, for redis.heartbeat_expire; a node
 *                                   without it is unknown, and gets nobody. Besides: at_us by
 *                                   Redis's clock, and <prefix>{gate}:epoch as it was then
 *   <prefix>{gate}:nodes            set of the names that ever beat since Redis was empty
 *
 * Thread: the control loop. */
#ifndef SW_CONTROL_REDIS_KEYS_H
#define SW_CONTROL_REDIS_KEYS_H

#include <stdbool.h>
#include <stdint.h>

#include "common/config.h"
#include "control/admission/admission.h"

struct keys_beat {
	const char *address; /* ip:port for clients */
	const char *state;   /* of CTL_STATES */
	bool stopped;        /* its last word: whoever beats next under its name is no second one */
	uint64_t uptime_s;
	uint64_t sessions, players, places;
	uint32_t players_max;
	uint64_t room;            /* how many it takes now, logins under way counted; 0: none */
	const char *maps;         /* "meadow=120,cave=80": the room on each */
	const char *shard_age_ms; /* since the last tick of each shard, "12,7"; -: unknown */
	uint64_t admitted;        /* gate_admitted */
	uint64_t scripts;         /* scripts_hash: nodes that run the same have the same */
};

struct redis_link;
struct redis_keys;

/* claimed: what Redis said; returns false when nobody wants the claim any more, and then it is
 * given back. boot_id: random, per process. */
struct redis_keys *redis_keys_new(const struct sw_config *config, struct redis_link *link,
	uint64_t boot_id, bool (*claimed)(void *ctx, uint64_t session, enum adm_claim claim),
	void *ctx);
/* After the link has been freed, and its callbacks have run. */
void redis_keys_free(struct redis_keys *keys);

/* At each connect: asks Redis how it is set up, and logs a warning for what would let a used ticket
 * in again (no AOF, an eviction policy that takes keys). */
void redis_keys_check_server(struct redis_keys *keys);

/* As in adm_ops. */
int redis_keys_claim(struct redis_keys *keys, uint64_t session,
	const uint8_t nonce[TICKET_NONCE_BYTES], uint64_t expire_s);
void redis_keys_release(
	struct redis_keys *keys, uint64_t session, const uint8_t nonce[TICKET_NONCE_BYTES]);

/* Sent by redis_keys_flush, or, while Redis is away, by the first one after that; the last 64 of
 * them. */
void redis_keys_spend(
	struct redis_keys *keys, const uint8_t nonce[PASS_NONCE_BYTES], uint64_t expire_s);

void redis_keys_flush(struct redis_keys *keys);

/* Logs when another process, one that has not stopped, beats under the same name, and when Redis
 * begins or ends to refuse the write (no memory left, no disk). */
void redis_keys_heartbeat(struct redis_keys *keys, const struct keys_beat *beat);
/* Whether Redis answered the last heartbeat with an error: tickets cannot be noted as used either.
 * Any thread. */
bool redis_keys_refused(const struct redis_keys *keys);

#endif
