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
	fault = TOKEN_FAULT_FILE_LINE;
	if (memchr(*text, 0, (size_t)got)) /* what follows it would not be read */
		goto out;
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

enum operator_role operator_role_of(const char *name)
{
	static const char *const names[OPERATOR_ROLE_COUNT] = {
#define NAME(id, name, meaning) name,
		OPERATOR_ROLES(NAME)
#undef NAME
	};
	uint32_t role = 0;

	while (role < OPERATOR_ROLE_COUNT && strcmp(name, names[role]) != 0)
		role++;
	return (enum operator_role)role;
}

/* The words of a line; name NULL: it is to be skipped. */
struct line {
	char *name, *token;
	enum operator_role role;
};

/* Cuts the line in place. False: it is neither an operator's nor to be skipped. */
static bool line_read(char *text, struct line *line)
{
	static const char blank[] = " \t\r";
	char *role, *rest;

	line->name = strtok_r(text, blank, &rest);
	if (!line->name || *line->name == '#') {
		line->name = NULL;
		return true;
	}
	role = strtok_r(NULL, blank, &rest);
	line->token = role ? strtok_r(NULL, blank, &rest) : NULL;
	if (!line->token || strtok_r(NULL, blank, &rest) ||
		strlen(line->name) >= ORDER_AUTHOR_BYTES || strlen(line->token) < TOKEN_BYTES_MIN ||
		strlen(line->token) > TOKEN_BYTES_MAX)
		return false;
	for (const char *at = line->name; *at; at++)
		if (*at < '!' || *at > '~')
			return false;
	line->role = operator_role_of(role);
	return line->role < OPERATOR_ROLE_COUNT;
}

static void digest(uint8_t out[crypto_generichash_BYTES], const char *token)
{
	crypto_generichash(
		out, crypto_generichash_BYTES, (const uint8_t *)token, strlen(token), NULL, 0);
}

enum token_fault tokens_operator(const char *path, const char *token, struct operator* who)
{
	uint8_t shown[crypto_generichash_BYTES], known[crypto_generichash_BYTES];
	enum token_fault fault;
	char *text, *at, *cut;
	struct line line;

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
	while ((cut = strsep(&at, "\n"))) {
		if (!line_read(cut, &line)) {
			fault = TOKEN_FAULT_FILE_LINE;
			break;
		}
		if (!line.name)
			continue;
		digest(known, line.token);
		if (sodium_memcmp(shown, known, sizeof(known)))
			continue;
		if (fault == TOKEN_FAULT_NONE) { /* whose is it, and with which role? */
			fault = TOKEN_FAULT_FILE_TWICE;
			break;
		}
		fault = TOKEN_FAULT_NONE;
		*who = (struct operator){.role = line.role};
		memcpy(who->name, line.name, strlen(line.name));
	}
	sodium_memzero(known, sizeof(known));
	forget(text);
	return fault;
}

enum token_fault tokens_first(const char *path, char token[TOKEN_BYTES_MAX + 1])
{
	char *text, *at, *cut;
	struct line line;
	enum token_fault fault = read_file(path, &text);

	if (fault != TOKEN_FAULT_NONE)
		return fault;
	fault = TOKEN_FAULT_MISSING;
	at = text;
	while (fault == TOKEN_FAULT_MISSING && (cut = strsep(&at, "\n"))) {
		if (!line_read(cut, &line)) {
			fault = TOKEN_FAULT_FILE_LINE;
		} else if (line.name) {
			memcpy(token, line.token, strlen(line.token) + 1);
			fault = TOKEN_FAULT_NONE;
		}
	}
	forget(text);
	return fault;
}
