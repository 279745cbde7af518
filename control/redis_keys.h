/* redis_keys: what the control thread keeps in Redis: the single use of tickets, presence, and the
 * node's heartbeat. Keys that change together share a hash tag, for Redis Cluster.
 *
 *   <prefix>{ticket}:<nonce, hex>           <boot>:<session>, while the ticket or pass is valid
 *   <prefix>{presence}:<realm>:<character>  hash: node, session, generation; KEYS_PRESENCE_MS
 *   <prefix>{node}:<name>                   JSON, redis.heartbeat_expire
 *
 * Thread: the control loop. */
#ifndef SW_CONTROL_REDIS_KEYS_H
#define SW_CONTROL_REDIS_KEYS_H

#include <stdbool.h>
#include <stdint.h>

#include "common/config.h"
#include "control/admission/admission.h"

#define KEYS_PRESENCE_MS         90000u
#define KEYS_PRESENCE_REFRESH_MS 30000u

/* In the beat that is a node's last word: whoever beats next under its name is no second one. */
#define KEYS_STATE_STOPPED "\"state\":\"stopped\""

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

void redis_keys_spend(
	struct redis_keys *keys, const uint8_t nonce[PASS_NONCE_BYTES], uint64_t expire_s);

/* Both are gathered and sent by redis_keys_flush, puts first; while Redis is away they are dropped:
 * a put is said again by the refresh, a key that is not removed expires. */
void redis_keys_presence_put(struct redis_keys *keys, const struct adm_presence *presence);
void redis_keys_presence_drop(struct redis_keys *keys, const struct adm_presence *presence);
void redis_keys_flush(struct redis_keys *keys);

/* json: a text that contains the boot id, and KEYS_STATE_STOPPED when the node has stopped. Logs
 * when another process, one that has not stopped, beats under the same name, and when Redis begins
 * or ends to refuse the write (no memory left, no disk). */
void redis_keys_heartbeat(struct redis_keys *keys, const char *json);
/* Whether Redis answered the last heartbeat with an error: tickets cannot be noted as used either.
 * Any thread. */
bool redis_keys_refused(const struct redis_keys *keys);

#endif
