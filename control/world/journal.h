/* journal: what operators did, in a file until it is in PostgreSQL. One record a line, of
 * tab-separated fields; a tab, line feed or backslash within one is written as \t, \n or \\. A
 * record is on the disk when journal_add returns, and leaves the file when all that are in it have
 * been taken. What the last process left comes first. A line that is no record is skipped, counted
 * and said.
 *
 * One thread, not a hot one; it waits for the disk. */
#ifndef SW_CONTROL_WORLD_JOURNAL_H
#define SW_CONTROL_WORLD_JOURNAL_H

#include <stdbool.h>
#include <stdint.h>
#include <stdio.h>

#include "common/msg.h"

/* A record as text, each NUL-terminated. */
struct journal_record {
	char id[37]; /* uuid */
	int64_t at_ms;
	bool good;
	char author[ORDER_AUTHOR_BYTES];
	char kind[16];
	char what[AUDIT_TEXT_BYTES + 1];
	char outcome[AUDIT_TEXT_BYTES + 1];
};

/* The longest line: each byte of text may need two. */
#define JOURNAL_LINE_MAX (128u + 2 * (ORDER_AUTHOR_BYTES + 16 + 2 * (AUDIT_TEXT_BYTES + 1)))

struct journal {
	int fd; /* -1: none */
	const char *path;
	uint64_t read_at, end; /* of the file */
	uint32_t waiting;      /* records from read_at on */
	uint32_t damaged;      /* lines that were no records, ever */
	char line[JOURNAL_LINE_MAX + 1];
};

/* A path of "" is no journal: nothing can be added. Returns 0, or a negative errno after a sentence
 * in errors: the file cannot be opened, or another process has it. */
int journal_open(struct journal *journal, const char *path, FILE *errors);
void journal_close(struct journal *journal);

/* False, with errno: it is not in the file. */
bool journal_add(struct journal *journal, const struct journal_record *record);
/* The oldest record; false: none waits. */
bool journal_first(struct journal *journal, struct journal_record *record);
/* The oldest one is taken care of. */
void journal_drop_first(struct journal *journal);

#endif
