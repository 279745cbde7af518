/* http_get: one GET or POST over HTTP/1.0 to a numeric IPv4 address, for swctl and tests. Blocks,
 * at most about five seconds. Any thread. */
#ifndef SW_CONTROL_OPS_HTTP_GET_H
#define SW_CONTROL_OPS_HTTP_GET_H

#include <stddef.h>

/* Returns the HTTP status and the body (malloc, NUL-terminated); or a negative errno and NULL:
 * -EINVAL the address is not ip:port, -EBADMSG the answer is not HTTP, -EMSGSIZE it is above 16
 * MiB, -ETIMEDOUT, -ECONNREFUSED, ... */
int http_get(const char *address, const char *path, char **body, size_t *bytes);
/* The same with a body, and a bearer token if that is not "". */
int http_post(const char *address, const char *path, const char *token, const char *sent,
	size_t sent_bytes, char **body, size_t *bytes);

#endif
