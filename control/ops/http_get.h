/* http_get: one GET over HTTP/1.0 to a numeric IPv4 address, for swctl and tests. Blocks, at most
 * about five seconds. Any thread. */
#ifndef SW_CONTROL_OPS_HTTP_GET_H
#define SW_CONTROL_OPS_HTTP_GET_H

#include <stddef.h>

/* Returns the HTTP status and the body (malloc, NUL-terminated); or a negative errno and NULL:
 * -EINVAL the address is not ip:port, -EBADMSG the answer is not HTTP, -EMSGSIZE it is above 16
 * MiB, -ETIMEDOUT, -ECONNREFUSED, ... */
int http_get(const char *address, const char *path, char **body, size_t *bytes);

#endif
