#include "control/redis/redis_address.h"

#include <stdlib.h>
#include <string.h>

#include <arpa/inet.h>

const char *redis_address_parse(struct redis_address *address, const char *text)
{
	const char *host = text, *host_end, *port_text;
	unsigned char scratch[sizeof(struct in6_addr)];
	unsigned long port = 0;
	int family = AF_INET;

	memset(address, 0, sizeof(*address));
	if (!strncmp(text, "unix:", 5)) {
		text += 5;
		if (text[0] != '/')
			return "the path of a unix socket begins with /";
		if (strlen(text) >= sizeof(address->path))
			return "the path of a unix socket has at most 107 bytes";
		strcpy(address->path, text);
		return NULL;
	}
	if (text[0] == '[') {
		family = AF_INET6;
		host++;
		host_end = strchr(host, ']');
		port_text = host_end && host_end[1] == ':' ? host_end + 2 : NULL;
	} else {
		host_end = strrchr(text, ':');
		port_text = host_end ? host_end + 1 : NULL;
	}
	if (!port_text)
		return "expected ip:port, [ipv6]:port or unix:/path";
	if ((size_t)(host_end - host) >= sizeof(address->host))
		return "not a numeric IP address (names are not looked up)";
	memcpy(address->host, host, (size_t)(host_end - host));
	if (inet_pton(family, address->host, scratch) != 1)
		return "not a numeric IP address (names are not looked up)";
	for (const char *p = port_text; *p; p++) {
		if (*p < '0' || *p > '9' || port > 65535)
			return "the port is a number from 1 to 65535";
		port = port * 10 + (unsigned long)(*p - '0');
	}
	if (port < 1 || port > 65535)
		return "the port is a number from 1 to 65535";
	address->port = (uint16_t)port;
	return NULL;
}
