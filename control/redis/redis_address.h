/* redis_address: "127.0.0.1:6379", "[::1]:6379" or "unix:/run/redis.sock", and never a name: a
 * look-up would block the loop that asks, and put DNS into the path of every reconnect.
 * Pure; any thread. */
#ifndef SW_CONTROL_REDIS_REDIS_ADDRESS_H
#define SW_CONTROL_REDIS_REDIS_ADDRESS_H

#include <stdint.h>

struct redis_address {
	char host[64];  /* numeric IPv4 or IPv6 address; "" for a unix socket */
	uint16_t port;  /* host order */
	char path[108]; /* of a unix socket, "" for TCP */
};

/* Returns NULL and fills *address, or says what is wrong with text (a constant sentence). */
const char *redis_address_parse(struct redis_address *address, const char *text);

#endif
