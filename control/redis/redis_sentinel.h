/* redis_sentinel: which server is the master now, as the Sentinels that watch it say.
 *
 * Every Sentinel is asked each poll_ms, and heard on +switch-master, so that a failover is known
 * at once; the word of the greatest configuration epoch counts, and an older one only if more than
 * half of the Sentinels can be reached: so one that was cut off with an old master is outvoted. Each Sentinel has two connections (one that hears takes no
 * questions), each with a deadline on every answer, which a PING makes sure of on the one that
 * hears; what breaks is tried again for ever. Speaks RESP2 by hiredis's reader over libuv: the
 * asynchronous hiredis asserts on what a server sends to a subscriber.
 *
 * Thread: the loop's. */
#ifndef SW_CONTROL_REDIS_REDIS_SENTINEL_H
#define SW_CONTROL_REDIS_REDIS_SENTINEL_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

#include <uv.h>

struct redis_sentinel;

struct redis_sentinel_config {
	const char *const *addresses; /* [count], ip:port or [ipv6]:port; copied, as all texts */
	uint32_t count;               /* 1 to REDIS_SENTINELS_MAX */
	const char *password;         /* "" or NULL: no AUTH */
	const char *master_name;
	uint32_t answer_timeout_ms; /* of the connect, and of each answer */
	uint32_t poll_ms;           /* 0: 1000 */
	/* The master is at this address (ip:port), another one than the last time. Do not free
	 * the sentinel inside. */
	void (*master)(void *ctx, const char *address);
	void *ctx;
};

#define REDIS_SENTINELS_MAX 8u

/* NULL: no memory, or an address that is none (of TCP). */
struct redis_sentinel *redis_sentinel_new(
	uv_loop_t *loop, const struct redis_sentinel_config *config);

/* The memory goes when the loop has run its close callbacks; master is not called any more. */
void redis_sentinel_free(struct redis_sentinel *sentinel);

/* Any thread, until redis_sentinel_free. Returns how many Sentinels know the master now; of how
 * many, and what one of those says that do not, goes to text: "1 of 3 Sentinels know the master
 * \"game\"; 10.0.0.2:26379: connection refused". */
uint32_t redis_sentinel_text(struct redis_sentinel *sentinel, char *text, size_t text_bytes);

#endif
