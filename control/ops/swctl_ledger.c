/* swctl ledger grant|take|reverse: what an operator corrects, as an order to a node. A grant or take
 * has a request, by which it is done once however often it is asked for; without --request a new one
 * is drawn. */
#include "control/ops/swctl.h"

#include <getopt.h>
#include <stdbool.h>
#include <stdint.h>
#include <stdio.h>
#include <string.h>

#include <sodium.h>

#define WORDS_MAX 16

struct ledger_args {
	const char *words[WORDS_MAX];
	int count;
	const char *http, *token, *reason, *request;
};

static int args_parse(struct ledger_args *args, int argc, char **argv)
{
	static const struct option options[] = {
		{"http", required_argument, NULL, 'h'},
		{"token", required_argument, NULL, 't'},
		{"reason", required_argument, NULL, 'r'},
		{"request", required_argument, NULL, 'q'},
		{NULL, 0, NULL, 0},
	};
	int option;

	*args = (struct ledger_args){0};
	while ((option = getopt_long(argc, argv, "", options, NULL)) != -1) {
		if (option == 'h')
			args->http = optarg;
		else if (option == 't')
			args->token = optarg;
		else if (option == 'r')
			args->reason = optarg;
		else if (option == 'q')
			args->request = optarg;
		else
			return -1;
	}
	for (int i = optind; i < argc && args->count < WORDS_MAX; i++)
		args->words[args->count++] = argv[i];
	return 0;
}

static bool draw(char text[37])
{
	uint8_t b[16];

	if (sodium_init() < 0)
		return false;
	randombytes_buf(b, sizeof(b));
	snprintf(text, 37, "%02x%02x%02x%02x-%02x%02x-4%x%02x-8%x%02x-%02x%02x%02x%02x%02x%02x", b[0],
		b[1], b[2], b[3], b[4], b[5], b[6] & 15u, b[7], b[8] & 15u, b[9], b[10], b[11],
		b[12], b[13], b[14], b[15]);
	return true;
}

int swctl_ledger(int argc, char **argv)
{
	char drawn[37] = "";
	struct ledger_args args;
	const char *order[WORDS_MAX + 12];
	int count = 0, rc;
	bool reverse;

	if (args_parse(&args, argc, argv))
		return 2;
	reverse = args.count > 0 && strcmp(args.words[0], "reverse") == 0;
	if (args.count != (reverse ? 2 : 4) || !args.reason || (reverse && args.request)) {
		fprintf(stderr,
			"swctl: ledger grant|take CHARACTER WHAT AMOUNT [--request UUID], or "
			"ledger reverse REQUEST, each with --reason; see swctl help\n");
		return 2;
	}
	if (!reverse && !args.request) {
		if (!draw(drawn)) {
			fprintf(stderr, "swctl: no source of randomness\n");
			return 1;
		}
		args.request = drawn;
	}
	order[count++] = "ledger";
	for (int i = 0; i < args.count; i++)
		order[count++] = args.words[i];
	if (!reverse)
		order[count++] = args.request;
	order[count++] = "--reason";
	order[count++] = args.reason;
	if (args.http) {
		order[count++] = "--http";
		order[count++] = args.http;
	}
	if (args.token) {
		order[count++] = "--token";
		order[count++] = args.token;
	}
	order[count] = NULL;
	optind = 0; /* swctl_order reads options again, of other words */
	rc = swctl_order(count, (char **)order);
	if (rc == 1 && drawn[0])
		fprintf(stderr,
			"swctl: its request was %s: with --request and the same words it is not done "
			"twice\n",
			drawn);
	return rc;
}
