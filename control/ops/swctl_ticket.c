/* swctl ticket and swctl ticket-key: stand in for the login service, in development and in drills.
 */
#include "control/ops/swctl.h"

#include <errno.h>
#include <getopt.h>
#include <inttypes.h>
#include <stdbool.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <time.h>

#include <sodium.h>

#include "control/admission/ticket_key.h"
#include "control/admission/utf8.h"

struct ticket_args {
	const char *key, *name, *out;
	uint64_t realm, account, character, ttl, count;
	bool raw;
};

static bool number(const char *option, const char *text, uint64_t max, uint64_t *value)
{
	char *end;

	errno = 0;
	*value = strtoull(text, &end, 10);
	if (!errno && text[0] >= '0' && text[0] <= '9' && !*end && *value <= max)
		return true;
	fprintf(stderr, "swctl: --%s takes a number from 0 to %" PRIu64 ", not \"%s\"\n", option,
		max, text);
	return false;
}

static bool ticket_args_parse(struct ticket_args *args, int argc, char **argv)
{
	static const struct option options[] = {
		{"key", required_argument, NULL, 'k'},
		{"realm", required_argument, NULL, 'r'},
		{"account", required_argument, NULL, 'a'},
		{"character", required_argument, NULL, 'c'},
		{"first-character", required_argument, NULL, 'c'},
		{"name", required_argument, NULL, 'n'},
		{"ttl", required_argument, NULL, 't'},
		{"count", required_argument, NULL, 'N'},
		{"out", required_argument, NULL, 'o'},
		{"raw", no_argument, NULL, 'R'},
		{NULL, 0, NULL, 0},
	};
	bool good = true;
	int option;

	*args = (struct ticket_args){.realm = 1, .account = 1, .ttl = 300};
	while ((option = getopt_long(argc, argv, "", options, NULL)) != -1) {
		switch (option) {
		case 'k':
			args->key = optarg;
			break;
		case 'r':
			good &= number("realm", optarg, UINT32_MAX, &args->realm);
			break;
		case 'a':
			good &= number("account", optarg, INT64_MAX, &args->account);
			break;
		case 'c':
			good &= number("character", optarg, INT64_MAX, &args->character);
			break;
		case 'n':
			args->name = optarg;
			break;
		case 't':
			good &= number("ttl", optarg, TICKET_LIFETIME_MAX_S, &args->ttl);
			break;
		case 'N':
			good &= number("count", optarg, 10000000, &args->count);
			break;
		case 'o':
			args->out = optarg;
			break;
		case 'R':
			args->raw = true;
			break;
		default:
			good = false;
		}
	}
	if (good && (optind < argc || !args->key || !args->character || !args->account ||
			    !args->name)) {
		fprintf(stderr, "swctl: ticket needs --key, --character, --name; see swctl help\n");
		good = false;
	}
	if (good && args->raw && !args->out) {
		fprintf(stderr, "swctl: --raw needs --out\n");
		good = false;
	}
	return good;
}

static bool raw_write(
	const struct ticket_args *args, uint64_t character, const uint8_t *data, size_t bytes)
{
	char path[4096];
	FILE *file;
	bool good;

	snprintf(path, sizeof(path), args->count ? "%s.%" PRIu64 : "%s", args->out, character);
	file = fopen(path, "we");
	good = file && fwrite(data, 1, bytes, file) == bytes;
	if (file && fclose(file))
		good = false;
	if (!good)
		fprintf(stderr, "swctl: %s: %s\n", path, strerror(errno));
	return good;
}

static bool ticket_write(const struct ticket_args *args, const struct ticket_key *key, uint64_t i,
	uint64_t now_s, FILE *out)
{
	struct ticket ticket = {.realm_id = (uint32_t)args->realm,
		.account_id = args->account,
		.character_id = args->character + i,
		.issued_unix_s = now_s,
		.expires_unix_s = now_s + args->ttl};
	char base64[sodium_base64_ENCODED_LEN(TICKET_BYTES_MAX, sodium_base64_VARIANT_ORIGINAL)];
	uint8_t data[TICKET_BYTES_MAX];
	int length;
	size_t bytes;

	if (args->count)
		length =
			snprintf(ticket.name, sizeof(ticket.name), "%s%" PRIu64, args->name, i + 1);
	else
		length = snprintf(ticket.name, sizeof(ticket.name), "%s", args->name);
	if (length < 1 || (size_t)length >= sizeof(ticket.name) ||
		!utf8_is_text(ticket.name, (size_t)length)) {
		fprintf(stderr, "swctl: a name is UTF-8 text of 1 to 31 bytes\n");
		return false;
	}
	randombytes_buf(ticket.nonce, sizeof(ticket.nonce));
	bytes = ticket_sign(data, &ticket, key->id, key->secret_key);
	if (args->raw)
		return raw_write(args, ticket.character_id, data, bytes);
	sodium_bin2base64(base64, sizeof(base64), data, bytes, sodium_base64_VARIANT_ORIGINAL);
	return fprintf(out, "%s\n", base64) > 0;
}

int swctl_ticket(int argc, char **argv)
{
	uint64_t now_s = (uint64_t)time(NULL);
	struct ticket_args args;
	struct ticket_key key;
	FILE *out = stdout;
	const char *why;
	bool good = true;
	int rc;

	if (!ticket_args_parse(&args, argc, argv))
		return 2;
	if (ticket_init()) {
		fprintf(stderr, "swctl: no source of randomness\n");
		return 1;
	}
	rc = ticket_key_load(&key, args.key, &why);
	if (rc) {
		fprintf(stderr, "swctl: %s: %s\n", args.key, why ? why : strerror(-rc));
		return 1;
	}
	if (args.out && !args.raw)
		out = fopen(args.out, "we");
	if (!out) {
		fprintf(stderr, "swctl: %s: %s\n", args.out, strerror(errno));
		return 1;
	}
	for (uint64_t i = 0; good && i < (args.count ? args.count : 1); i++)
		good = ticket_write(&args, &key, i, now_s, out);
	sodium_memzero(&key, sizeof(key));
	if (out == stdout ? fflush(out) : fclose(out)) {
		fprintf(stderr, "swctl: writing the tickets: %s\n", strerror(errno));
		good = false;
	}
	return good ? 0 : 1;
}

int swctl_ticket_key(int argc, char **argv)
{
	static const struct option options[] = {
		{"out-dir", required_argument, NULL, 'd'},
		{"id", required_argument, NULL, 'i'},
		{NULL, 0, NULL, 0},
	};
	const char *dir = NULL;
	uint64_t id = 1;
	struct ticket_key key;
	char path[4096];
	int option, rc;

	while ((option = getopt_long(argc, argv, "", options, NULL)) != -1) {
		if (option == 'd')
			dir = optarg;
		else if (option != 'i' || !number("id", optarg, UINT32_MAX, &id))
			return 2;
	}
	if (!dir || optind < argc) {
		fprintf(stderr, "swctl: ticket-key needs --out-dir; see swctl help\n");
		return 2;
	}
	if (ticket_init()) {
		fprintf(stderr, "swctl: no source of randomness\n");
		return 1;
	}
	ticket_key_new(&key, (uint32_t)id);
	snprintf(path, sizeof(path), "%s/ticket-%" PRIu64 ".key", dir, id);
	rc = ticket_key_save(&key, path);
	if (rc)
		fprintf(stderr, "swctl: %s: %s\n", path, strerror(-rc));
	else
		ticket_key_print_yaml(&key, stdout);
	sodium_memzero(&key, sizeof(key));
	return rc ? 1 : 0;
}
