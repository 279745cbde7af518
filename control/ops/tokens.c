#include "control/ops/tokens.h"

#include <errno.h>
#include <fcntl.h>
#include <stdbool.h>
#include <stdlib.h>
#include <string.h>
#include <sys/stat.h>
#include <unistd.h>

#include <sodium.h>

#include "common/log.h"

const char *token_fault_text(enum token_fault fault)
{
	static const char *const texts[TOKEN_FAULT_COUNT] = {
#define TEXT(id, sentence) sentence,
		TOKEN_FAULTS(TEXT)
#undef TEXT
	};

	return texts[fault];
}

/* The whole file, NUL-terminated, to be freed. */
static enum token_fault read_file(const char *path, char **text)
{
	enum token_fault fault = TOKEN_FAULT_FILE_READ;
	int fd = open(path, O_RDONLY | O_CLOEXEC);
	struct stat what;
	ssize_t got;

	*text = NULL;
	if (fd < 0 || fstat(fd, &what))
		goto out;
	errno = EINVAL;
	if (!S_ISREG(what.st_mode) || what.st_size > (off_t)TOKENS_FILE_MAX)
		goto out;
	fault = TOKEN_FAULT_FILE_MODE;
	if (what.st_mode & 077)
		goto out;
	fault = TOKEN_FAULT_FILE_READ;
	*text = malloc(TOKENS_FILE_MAX + 1);
	if (!*text)
		goto out;
	got = read(fd, *text, TOKENS_FILE_MAX);
	if (got < 0)
		goto out;
	(*text)[got] = 0;
	close(fd);
	return TOKEN_FAULT_NONE;
out:
	if (fault == TOKEN_FAULT_FILE_READ)
		sw_log(SW_LOG_WARN, "ops", "ops.tokens: %s: %s", path, strerror(errno));
	free(*text);
	*text = NULL;
	if (fd >= 0)
		close(fd);
	return fault;
}

static void forget(char *text)
{
	sodium_memzero(text, TOKENS_FILE_MAX + 1);
	free(text);
}

/* Cuts a line into name and token. False: it is neither that nor to be skipped. *name NULL: to be
 * skipped. */
static bool line_read(char *line, char **name, char **token)
{
	static const char blank[] = " \t\r";
	char *rest;

	*name = strtok_r(line, blank, &rest);
	if (!*name || **name == '#') {
		*name = NULL;
		return true;
	}
	*token = strtok_r(NULL, blank, &rest);
	if (!*token || strtok_r(NULL, blank, &rest) || strlen(*name) >= ORDER_AUTHOR_BYTES ||
		strlen(*token) < TOKEN_BYTES_MIN || strlen(*token) > TOKEN_BYTES_MAX)
		return false;
	for (const char *at = *name; *at; at++)
		if (*at < '!' || *at > '~')
			return false;
	return true;
}

static void digest(uint8_t out[crypto_generichash_BYTES], const char *token)
{
	crypto_generichash(
		out, crypto_generichash_BYTES, (const uint8_t *)token, strlen(token), NULL, 0);
}

enum token_fault tokens_author(const char *path, const char *token, char author[ORDER_AUTHOR_BYTES])
{
	uint8_t shown[crypto_generichash_BYTES], known[crypto_generichash_BYTES];
	enum token_fault fault;
	char *text, *at, *line, *name, *one;

	if (!path[0])
		return TOKEN_FAULT_OFF;
	if (!token || !token[0])
		return TOKEN_FAULT_MISSING;
	fault = read_file(path, &text);
	if (fault != TOKEN_FAULT_NONE)
		return fault;
	digest(shown, token);
	fault = TOKEN_FAULT_WRONG;
	at = text;
	while ((line = strsep(&at, "\n"))) {
		if (!line_read(line, &name, &one)) {
			fault = TOKEN_FAULT_FILE_LINE;
			break;
		}
		if (!name)
			continue;
		digest(known, one);
		if (sodium_memcmp(shown, known, sizeof(known)))
			continue;
		fault = TOKEN_FAULT_NONE;
		memset(author, 0, ORDER_AUTHOR_BYTES);
		memcpy(author, name, strlen(name));
	}
	sodium_memzero(known, sizeof(known));
	forget(text);
	return fault;
}

enum token_fault tokens_first(const char *path, char token[TOKEN_BYTES_MAX + 1])
{
	char *text, *at, *line, *name, *one;
	enum token_fault fault = read_file(path, &text);

	if (fault != TOKEN_FAULT_NONE)
		return fault;
	fault = TOKEN_FAULT_MISSING;
	at = text;
	while (fault == TOKEN_FAULT_MISSING && (line = strsep(&at, "\n"))) {
		if (!line_read(line, &name, &one)) {
			fault = TOKEN_FAULT_FILE_LINE;
		} else if (name) {
			memcpy(token, one, strlen(one) + 1);
			fault = TOKEN_FAULT_NONE;
		}
	}
	forget(text);
	return fault;
}
