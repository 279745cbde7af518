#include "control/ops/http_get.h"

#include <arpa/inet.h>
#include <errno.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/socket.h>
#include <sys/time.h>
#include <unistd.h>

#define ANSWER_BYTES_MAX (16u << 20)
#define TIMEOUT_S        5

static int dial(const char *address)
{
	const struct timeval timeout = {.tv_sec = TIMEOUT_S};
	struct sockaddr_in name = {.sin_family = AF_INET};
	const char *colon = strrchr(address, ':');
	unsigned long port;
	char host[32], *end;
	int fd, rc;

	if (!colon || (size_t)(colon - address) >= sizeof(host))
		return -EINVAL;
	memcpy(host, address, (size_t)(colon - address));
	host[colon - address] = 0;
	port = strtoul(colon + 1, &end, 10);
	if (*end || end == colon + 1 || port < 1 || port > 65535 ||
		inet_pton(AF_INET, host, &name.sin_addr) != 1)
		return -EINVAL;
	name.sin_port = htons((uint16_t)port);
	fd = socket(AF_INET, SOCK_STREAM | SOCK_CLOEXEC, 0);
	if (fd < 0)
		return -errno;
	setsockopt(fd, SOL_SOCKET, SO_RCVTIMEO, &timeout, sizeof(timeout));
	setsockopt(fd, SOL_SOCKET, SO_SNDTIMEO, &timeout, sizeof(timeout));
	if (connect(fd, (struct sockaddr *)&name, sizeof(name))) {
		rc = errno == EINPROGRESS ? -ETIMEDOUT : -errno;
		close(fd);
		return rc;
	}
	return fd;
}

/* Everything until the other side closes. */
static int read_all(int fd, char **text, size_t *bytes)
{
	size_t room = 0;
	ssize_t got;

	*text = NULL;
	*bytes = 0;
	for (;;) {
		if (*bytes + 1 >= room) {
			char *more = realloc(*text, room = room ? 2 * room : 65536);

			if (!more)
				return -ENOMEM;
			*text = more;
		}
		got = recv(fd, *text + *bytes, room - *bytes - 1, 0);
		if (got < 0)
			return errno == EAGAIN ? -ETIMEDOUT : -errno;
		if (!got)
			break;
		*bytes += (size_t)got;
		if (*bytes > ANSWER_BYTES_MAX)
			return -EMSGSIZE;
	}
	(*text)[*bytes] = 0;
	return 0;
}

/* One request, with its body if there is one, and the answer's body. */
static int exchange(const char *address, const char *head, const char *sent, size_t sent_bytes,
	char **body, size_t *bytes)
{
	int fd = dial(address), rc, status;
	char *text = NULL, *head_end;

	*body = NULL;
	*bytes = 0;
	if (fd < 0)
		return fd;
	if (send(fd, head, strlen(head), MSG_NOSIGNAL) != (ssize_t)strlen(head) ||
		(sent_bytes && send(fd, sent, sent_bytes, MSG_NOSIGNAL) != (ssize_t)sent_bytes))
		rc = -errno;
	else
		rc = read_all(fd, &text, bytes);
	close(fd);
	if (rc)
		goto out;
	rc = -EBADMSG;
	head_end = strstr(text, "\r\n\r\n");
	if (!head_end || sscanf(text, "HTTP/1.%*1[01] %3d", &status) != 1)
		goto out;
	*bytes -= (size_t)(head_end + 4 - text);
	memmove(text, head_end + 4, *bytes + 1);
	*body = text;
	return status;
out:
	free(text);
	*bytes = 0;
	return rc;
}

int http_get(const char *address, const char *path, char **body, size_t *bytes)
{
	char head[512];

	if (snprintf(head, sizeof(head), "GET %s HTTP/1.0\r\nHost: %s\r\n\r\n", path, address) >=
		(int)sizeof(head)) {
		*body = NULL;
		*bytes = 0;
		return -EINVAL;
	}
	return exchange(address, head, NULL, 0, body, bytes);
}

int http_post(const char *address, const char *path, const char *token, const char *sent,
	size_t sent_bytes, char **body, size_t *bytes)
{
	char head[512];

	if (snprintf(head, sizeof(head),
		    "POST %s HTTP/1.0\r\nHost: %s\r\n%s%s%sContent-Length: %zu\r\n\r\n", path,
		    address, token[0] ? "Authorization: Bearer " : "", token,
		    token[0] ? "\r\n" : "", sent_bytes) >= (int)sizeof(head)) {
		*body = NULL;
		*bytes = 0;
		return -EINVAL;
	}
	return exchange(address, head, sent, sent_bytes, body, bytes);
}
