#include "common/config_value.h"

#include <arpa/inet.h>
#include <ctype.h>
#include <inttypes.h>
#include <string.h>

struct unit {
	const char *name;
	uint64_t factor;
};

/* Largest first. Ends with factor 0. */
static const struct unit units_us[] = {
	{"h", 3600000000}, {"min", 60000000}, {"s", 1000000}, {"ms", 1000}, {"us", 1}, {0}};
static const struct unit units_ms[] = {{"h", 3600000}, {"min", 60000}, {"s", 1000}, {"ms", 1}, {0}};
static const struct unit units_s[] = {{"h", 3600}, {"min", 60}, {"s", 1}, {0}};
static const struct unit units_bytes[] = {
	{"GiB", 1u << 30}, {"MiB", 1u << 20}, {"KiB", 1u << 10}, {"B", 1}, {0}};
static const struct unit units_m[] = {{"km", 1000}, {"m", 1}, {0}};

static const struct unit *units_of(enum config_kind kind)
{
	switch (kind) {
	case CONFIG_DURATION_US:
		return units_us;
	case CONFIG_DURATION_MS:
		return units_ms;
	case CONFIG_DURATION_S:
		return units_s;
	case CONFIG_BYTES:
		return units_bytes;
	case CONFIG_LENGTH:
		return units_m;
	default:
		return NULL;
	}
}

const char *config_figure(enum config_kind kind, uint64_t value, char out[CONFIG_FIGURE_BYTES])
{
	const struct unit *unit = units_of(kind);

	while (unit && unit->factor > 1 && (!value || value % unit->factor))
		unit++;
	snprintf(out, CONFIG_FIGURE_BYTES, "%" PRIu64 "%s", unit ? value / unit->factor : value,
		unit ? unit->name : "");
	return out;
}

const char *config_quote(const char *text, size_t bytes, char out[CONFIG_QUOTE_BYTES])
{
	size_t n = 0;

	out[n++] = '"';
	for (size_t i = 0; i < bytes && i < 40; i++)
		out[n++] = isprint((unsigned char)text[i]) && text[i] != '"' ? text[i] : '?';
	n += (size_t)snprintf(out + n, CONFIG_QUOTE_BYTES - n, "\"%s", bytes > 40 ? " ..." : "");
	return out;
}

#define WRONG(...) (snprintf(why, CONFIG_WHY_BYTES, __VA_ARGS__), false)

/* Digits of text to *value; returns how many, 0 when there are none or it does not fit. */
static size_t digits_read(const char *text, size_t bytes, uint64_t *value)
{
	size_t i;

	*value = 0;
	for (i = 0; i < bytes && text[i] >= '0' && text[i] <= '9'; i++)
		if (__builtin_mul_overflow(*value, 10u, value) ||
			__builtin_add_overflow(*value, (uint64_t)(text[i] - '0'), value))
			return 0;
	return i;
}

static bool figure_read(const struct config_key *key, const char *text, size_t bytes,
	uint64_t *value, char why[CONFIG_WHY_BYTES])
{
	const struct unit *unit = units_of(key->kind);
	char quoted[CONFIG_QUOTE_BYTES], least[CONFIG_FIGURE_BYTES], most[CONFIG_FIGURE_BYTES];
	const char *allowed = config_kind_allowed[key->kind], *name;
	size_t digits = digits_read(text, bytes, value);
	size_t blank = digits < bytes && text[digits] == ' ' ? 1 : 0;

	config_quote(text, bytes, quoted);
	if (!digits) {
		bool just_digits = bytes && strspn(text, "0123456789") >= bytes;

		return WRONG("%s is %s, allowed is %s from %s to %s", quoted,
			just_digits ? "far too large" : "not a figure", allowed,
			config_figure(key->kind, key->min, least),
			config_figure(key->kind, key->max, most));
	}
	name = text + digits + blank;
	bytes -= digits + blank;
	if (!unit && (bytes || blank))
		return WRONG("%s is not a whole number, allowed is %s without a unit, from %s to "
			     "%s",
			quoted, allowed, config_figure(key->kind, key->min, least),
			config_figure(key->kind, key->max, most));
	if (unit && !bytes)
		return WRONG("%s lacks its unit, allowed is %s", quoted, allowed);
	while (unit && unit->factor &&
		(strlen(unit->name) != bytes || memcmp(unit->name, name, bytes)))
		unit++;
	if (unit && !unit->factor)
		return WRONG("%s has a unit that is not used here, allowed is %s", quoted, allowed);
	if ((unit && __builtin_mul_overflow(*value, unit->factor, value)) || *value < key->min ||
		*value > key->max)
		return WRONG("%s is out of range, allowed is from %s to %s", quoted,
			config_figure(key->kind, key->min, least),
			config_figure(key->kind, key->max, most));
	if (key->kind == CONFIG_POWER_OF_TWO && (*value & (*value - 1)))
		return WRONG("%s is not a power of two, allowed are powers of two from %s to %s",
			quoted, config_figure(key->kind, key->min, least),
			config_figure(key->kind, key->max, most));
	return true;
}

/* a.b.c.d, then separator, then a number from min to max; nothing after it. */
static bool ipv4_read(const char *text, char separator, uint64_t min, uint64_t max, uint32_t *ip,
	uint64_t *number)
{
	const char *cut = strchr(text, separator);
	char host[INET_ADDRSTRLEN];
	struct in_addr address;
	size_t digits;

	if (!cut || (size_t)(cut - text) >= sizeof(host))
		return false;
	memcpy(host, text, (size_t)(cut - text));
	host[cut - text] = 0;
	if (inet_pton(AF_INET, host, &address) != 1)
		return false;
	digits = digits_read(cut + 1, strlen(cut + 1), number);
	*ip = ntohl(address.s_addr);
	return digits && digits <= 5 && !cut[1 + digits] && *number >= min && *number <= max;
}

/* An address that one host can have: not 0.x, loopback, multicast or broadcast. */
static bool is_host(uint32_t ip)
{
	return ip >> 24 != 0 && ip >> 24 != 127 && ip >> 28 < 14;
}

/* The network itself or its broadcast address; a network of one or two addresses has neither (RFC
 * 3021). */
static bool is_network_or_broadcast(uint32_t ip, uint64_t prefix)
{
	uint32_t host_bits = UINT32_MAX >> prefix % 32;

	return prefix < 31 && ((ip & host_bits) == 0 || (ip & host_bits) == host_bits);
}

/* No file but those below the folder it is relative to. */
static bool stays_inside(const char *path)
{
	if (*path == '/')
		return false;
	for (; *path; path += strcspn(path, "/"), path += *path == '/')
		if (path[0] == '.' && path[1] == '.' && (!path[2] || path[2] == '/'))
			return false;
	return true;
}

static bool host_bits_zero(const uint8_t ip6[16], uint32_t prefix)
{
	for (uint32_t bit = prefix; bit < 128; bit++)
		if (ip6[bit / 8] & 0x80u >> bit % 8)
			return false;
	return true;
}

/* A unicast IPv6 address, then / and a prefix length. */
static bool prefix6_read(const char *text)
{
	static const uint8_t zero[10];
	const char *cut = strchr(text, '/');
	char host[INET6_ADDRSTRLEN];
	struct in6_addr address;
	uint64_t number;
	size_t digits;

	if (!cut || (size_t)(cut - text) >= sizeof(host))
		return false;
	memcpy(host, text, (size_t)(cut - text));
	host[cut - text] = 0;
	if (inet_pton(AF_INET6, host, &address) != 1)
		return false;
	digits = digits_read(cut + 1, strlen(cut + 1), &number);
	/* ::/80 holds ::, ::1 and the addresses that IPv4's are mapped to. */
	if (number < 127 && host_bits_zero(address.s6_addr, (uint32_t)number))
		return false; /* all routers of the network (RFC 4291 2.6.1) */
	return digits && digits <= 3 && !cut[1 + digits] && number >= 1 && number <= 128 &&
	       address.s6_addr[0] != 0xff && memcmp(address.s6_addr, zero, sizeof(zero));
}

/* Not so long that sun_path would cut it (108 bytes with its NUL). */
static bool is_unix(const char *text)
{
	return !strncmp(text, "unix:/", 6) && text[6] && strlen(text) - 5 < 108;
}

static bool text_check(const struct config_key *key, const char *text, char why[CONFIG_WHY_BYTES])
{
	const char *allowed = config_kind_allowed[key->kind];
	char quoted[CONFIG_QUOTE_BYTES];
	uint64_t number;
	uint32_t ip;

	config_quote(text, strlen(text), quoted);
	switch (key->kind) {
	case CONFIG_NAME:
		for (const char *c = text; *c; c++)
			if (!isalnum((unsigned char)*c) && !strchr("_-.", *c))
				return WRONG("%s has characters that a name may not have, allowed "
					     "is %s",
					quoted, allowed);
		return true;
	case CONFIG_PREFIX:
		if (!ipv4_read(text, '/', 1, 32, &ip, &number) || !is_host(ip))
			return WRONG("%s is not one, allowed is %s", quoted, allowed);
		return !is_network_or_broadcast(ip, number) ||
		       WRONG("%s is the network itself or its broadcast address, allowed is %s",
			       quoted, allowed);
	case CONFIG_PATH_INSIDE:
		return stays_inside(text) ||
		       WRONG("%s leads out of its folder, allowed is %s", quoted, allowed);
	case CONFIG_PREFIX6:
		return !*text || prefix6_read(text) ||
		       WRONG("%s is not one, allowed is %s", quoted, allowed);
	case CONFIG_ENDPOINT:
		return ipv4_read(text, ':', 1, 65535, &ip, &number) ||
		       WRONG("%s is not one, allowed is %s", quoted, allowed);
	case CONFIG_ENDPOINT_OR_NONE:
		return !*text || ipv4_read(text, ':', 1, 65535, &ip, &number) ||
		       WRONG("%s is not one, allowed is %s", quoted, allowed);
	case CONFIG_ENDPOINT_OR_UNIX:
		return is_unix(text) || ipv4_read(text, ':', 1, 65535, &ip, &number) ||
		       WRONG("%s is not one, allowed is %s", quoted, allowed);
	case CONFIG_LEVEL:
		return !strcmp(text, "debug") || !strcmp(text, "info") || !strcmp(text, "warn") ||
		       !strcmp(text, "error") ||
		       WRONG("%s is none of them, allowed is %s", quoted, allowed);
	default:
		return true;
	}
}

static bool text_read(const struct config_key *key, const char *text, size_t bytes, void *out,
	char why[CONFIG_WHY_BYTES])
{
	size_t min = key->min, max = key->max ? key->max : key->bytes - 1;
	char copy[CONFIG_PATH_BYTES];

	if (max >= sizeof(copy))
		max = sizeof(copy) - 1;
	if (bytes < min)
		return WRONG("is empty, allowed is %s", config_kind_allowed[key->kind]);
	if (bytes > max)
		return WRONG("is %zu bytes long, allowed are at most %zu", bytes, max);
	for (size_t i = 0; i < bytes; i++)
		if (iscntrl((unsigned char)text[i]))
			return WRONG("holds a control character, allowed is %s on one line",
				config_kind_allowed[key->kind]);
	memcpy(copy, text, bytes);
	copy[bytes] = 0;
	if (!text_check(key, copy, why))
		return false;
	memset(out, 0, key->bytes);
	memcpy(out, copy, bytes);
	return true;
}

static int nibble(char c)
{
	if (c >= '0' && c <= '9')
		return c - '0';
	c = (char)tolower((unsigned char)c);
	return c >= 'a' && c <= 'f' ? c - 'a' + 10 : -1;
}

static bool hex_read(const struct config_key *key, const char *text, size_t bytes, uint8_t *out,
	char why[CONFIG_WHY_BYTES])
{
	if (bytes != key->bytes * 2)
		return WRONG("has %zu characters, allowed are exactly %zu hexadecimal digits",
			bytes, key->bytes * 2);
	for (size_t i = 0; i < bytes; i++)
		if (nibble(text[i]) < 0)
			return WRONG("holds a character that is no hexadecimal digit, allowed are "
				     "0-9 and a-f");
	for (size_t i = 0; i < key->bytes; i++)
		out[i] = (uint8_t)(nibble(text[2 * i]) << 4 | nibble(text[2 * i + 1]));
	return true;
}

struct choice {
	const char *name;
	uint32_t value;
};

static bool choice_read(const struct config_key *key, const struct choice *choice, const char *text,
	size_t bytes, void *out, char why[CONFIG_WHY_BYTES])
{
	char quoted[CONFIG_QUOTE_BYTES];

	for (; choice->name; choice++)
		if (strlen(choice->name) == bytes && !memcmp(choice->name, text, bytes)) {
			memcpy(out, &choice->value, sizeof(choice->value));
			return true;
		}
	return WRONG("%s is none of them, allowed is %s", config_quote(text, bytes, quoted),
		config_kind_allowed[key->kind]);
}
_Static_assert(sizeof(enum config_idle) == sizeof(uint32_t) &&
		       sizeof(enum config_use) == sizeof(uint32_t) &&
		       sizeof(enum config_map_kind) == sizeof(uint32_t) &&
		       sizeof(enum config_steering) == sizeof(uint32_t),
	"choices are written as uint32_t");

static const struct choice choices_idle[] = {
	{"poll", CONFIG_IDLE_POLL}, {"adaptive", CONFIG_IDLE_ADAPTIVE}, {NULL, 0}};
static const struct choice choices_use[] = {
	{"off", CONFIG_USE_OFF}, {"on", CONFIG_USE_ON}, {"any", CONFIG_USE_ANY}, {NULL, 0}};
static const struct choice choices_map_kind[] = {
	{"map", CONFIG_MAP_PERSISTENT}, {"room", CONFIG_MAP_ROOM}, {NULL, 0}};
static const struct choice choices_steering[] = {{"auto", CONFIG_STEERING_AUTO},
	{"port", CONFIG_STEERING_PORT}, {"software", CONFIG_STEERING_SOFTWARE}, {NULL, 0}};
static const struct choice choices_switch[] = {{"off", 0}, {"on", 1}, {NULL, 0}};

#define LCORE_MAX 127u /* RTE_MAX_LCORE of Debian's DPDK, less one */

bool config_value_parse(const struct config_key *key, const char *text, size_t bytes, void *out,
	char why[CONFIG_WHY_BYTES])
{
	static const struct config_key lcore = {.kind = CONFIG_INTEGER, .max = LCORE_MAX};
	uint64_t value;

	switch (key->kind) {
	case CONFIG_INTEGER:
	case CONFIG_POWER_OF_TWO:
	case CONFIG_DURATION_US:
	case CONFIG_DURATION_MS:
	case CONFIG_DURATION_S:
	case CONFIG_BYTES:
	case CONFIG_LENGTH:
		if (!figure_read(key, text, bytes, &value, why))
			return false;
		if (key->bytes == sizeof(uint64_t))
			memcpy(out, &value, sizeof(value));
		else
			*(uint32_t *)out = (uint32_t)value;
		return true;
	case CONFIG_LCORES:
		if (!figure_read(&lcore, text, bytes, &value, why))
			return false;
		*(uint32_t *)out = (uint32_t)value;
		return true;
	case CONFIG_HEX:
		return hex_read(key, text, bytes, out, why);
	case CONFIG_IDLE:
		return choice_read(key, choices_idle, text, bytes, out, why);
	case CONFIG_USE:
		return choice_read(key, choices_use, text, bytes, out, why);
	case CONFIG_STEERING:
		return choice_read(key, choices_steering, text, bytes, out, why);
	case CONFIG_MAP_KIND:
		return choice_read(key, choices_map_kind, text, bytes, out, why);
	case CONFIG_SHARD:
		if (bytes == 3 && !memcmp(text, "any", 3)) {
			*(uint32_t *)out = CONFIG_SHARD_ANY;
			return true;
		}
		if (!figure_read(key, text, bytes, &value, why))
			return false;
		*(uint32_t *)out = (uint32_t)value;
		return true;
	case CONFIG_SWITCH:
		return choice_read(key, choices_switch, text, bytes, out, why);
	default:
		return text_read(key, text, bytes, out, why);
	}
}
