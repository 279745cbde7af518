/* swctl's orders to a node, and the tokens that they need. */
#include "control/ops/swctl.h"

#include <errno.h>
#include <getopt.h>
#include <stdbool.h>
#include <stdint.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include <sodium.h>

#include "control/ops/http_get.h"
#include "control/ops/tokens.h"

struct order_args {
	const char *address, *token_path;
	char words[ORDER_WORDS_BYTES + 1];
	size_t bytes;
};

static bool word_add(struct order_args *args, const char *word)
{
	size_t bytes = strlen(word);

	if (!bytes || strchr(word, '\n') || args->bytes + bytes + 1 > ORDER_WORDS_BYTES) {
		fprintf(stderr,
			"swctl: an order's words are not empty, and %u bytes at most in all\n",
			ORDER_WORDS_BYTES);
		return false;
	}
	memcpy(args->words + args->bytes, word, bytes);
	args->words[args->bytes + bytes] = '\n';
	args->bytes += bytes + 1;
	return true;
}

static int args_parse(struct order_args *args, int argc, char **argv)
{
	static const struct option options[] = {
		{"http", required_argument, NULL, 'h'},
		{"token", required_argument, NULL, 't'},
		{"reason", required_argument, NULL, 'r'},
		{NULL, 0, NULL, 0},
	};
	const char *reason = NULL;
	int option;

	*args = (struct order_args){
		.address = "127.0.0.1:9100", .token_path = getenv("SWCTL_TOKEN")};
	while ((option = getopt_long(argc, argv, "", options, NULL)) != -1) {
		if (option == 'h')
			args->address = optarg;
		else if (option == 't')
			args->token_path = optarg;
		else if (option == 'r')
			reason = optarg;
		else
			return -1;
	}
	if (!word_add(args, argv[0]))
		return -1;
	for (int i = optind; i < argc; i++)
		if (!word_add(args, argv[i]))
			return -1;
	return reason && !word_add(args, reason) ? -1 : 0;
}

/* What a server wrote: no escape sequence reaches the terminal. */
static void print_answer(FILE *out, const char *text)
{
	size_t bytes = strlen(text);

	for (size_t i = 0; i < bytes; i++) {
		unsigned char c = (unsigned char)text[i];

		fputc((c < ' ' && c != '\n') || c == 0x7f ? '?' : c, out);
	}
	if (bytes && text[bytes - 1] != '\n')
		fputc('\n', out);
}

int swctl_order(int argc, char **argv)
{
	char token[TOKEN_BYTES_MAX + 1] = "", *body;
	enum token_fault fault;
	struct order_args args;
	size_t bytes;
	int status;

	if (args_parse(&args, argc, argv))
		return 2;
	if (args.token_path) {
		fault = tokens_first(args.token_path, token);
		if (fault != TOKEN_FAULT_NONE) {
			fprintf(stderr,
				"swctl: %s: there is no token in it, or others than its owner may "
				"read it (chmod 600)\n",
				args.token_path);
			return 1;
		}
	}
	status = http_post(args.address, "/order", token, args.words, args.bytes, &body, &bytes);
	sodium_memzero(token, sizeof(token));
	if (status < 0) {
		fprintf(stderr, "swctl: no answer from %s: %s\n", args.address, strerror(-status));
		if (status == -ECONNREFUSED)
			fprintf(stderr, "  Does the node run, and is this its http.address?\n");
		return 1;
	}
	if (status == 200) {
		print_answer(stdout, body);
	} else {
		fprintf(stderr,
			"swctl: %s: ", status == 409 || status == 403 ? "refused" : "not done");
		print_answer(stderr, body);
	}
	free(body);
	if (fflush(stdout))
		return 1;
	return status == 200 ? 0 : status == 400 ? 2 : 1;
}

/* A line for ops.tokens, on standard output; a copy of it is the operator's own file. */
int swctl_token(int argc, char **argv)
{
	uint8_t bytes[32];
	char token[2 * sizeof(bytes) + 1];
	const char *name = argc == 3 ? argv[1] : "";
	bool good =
		name[0] && name[0] != '#' && name[0] != '-' && strlen(name) < ORDER_AUTHOR_BYTES;

	for (const char *at = name; *at; at++)
		good &= *at >= '!' && *at <= '~';
	if (!good || operator_role_of(argv[2]) == OPERATOR_ROLE_COUNT) {
		fprintf(stderr,
			"swctl: token takes the operator's name, up to %u characters without "
			"blanks, and role: read, operate or admin\n",
			ORDER_AUTHOR_BYTES - 1);
		return 2;
	}
	if (sodium_init() < 0) {
		fprintf(stderr, "swctl: no source of randomness\n");
		return 1;
	}
	randombytes_buf(bytes, sizeof(bytes));
	sodium_bin2hex(token, sizeof(token), bytes, sizeof(bytes));
	printf("%s %s %s\n", name, argv[2], token);
	return fflush(stdout) ? 1 : 0;
}
