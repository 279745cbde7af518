#include "control/world/journal.h"

#include <errno.h>
#include <fcntl.h>
#include <inttypes.h>
#include <stdlib.h>
#include <string.h>
#include <sys/file.h>
#include <unistd.h>

#include "common/log.h"

/* ---- lines ---- */

static char *put(char *at, const char *text, char end)
{
	for (; *text; text++) {
		if (*text == '\t' || *text == '\n' || *text == '\\')
			*at++ = '\\';
		*at++ = *text == '\t' ? 't' : *text == '\n' ? 'n' : *text;
	}
	*at++ = end;
	return at;
}

static size_t line_write(char line[JOURNAL_LINE_MAX], const struct journal_record *r)
{
	char time[24], *at = put(line, r->id, '\t');

	snprintf(time, sizeof(time), "%" PRId64, r->at_ms);
	at = put(at, time, '\t');
	at = put(at, r->good ? "1" : "0", '\t');
	at = put(at, r->author, '\t');
	at = put(at, r->kind, '\t');
	at = put(at, r->what, '\t');
	return (size_t)(put(at, r->outcome, '\n') - line);
}

/* Copies a field up to its end; NULL: it does not fit, or is cut. */
static const char *take(const char *at, char end, char *out, size_t bytes)
{
	while (*at && *at != end) {
		char c = *at++;

		if (c == '\t' || bytes < 2)
			return NULL;
		if (c == '\\') {
			c = *at++;
			if (c != 't' && c != 'n' && c != '\\')
				return NULL;
			c = (char)(c == 't' ? '\t' : c == 'n' ? '\n' : c);
		}
		*out++ = c;
		bytes--;
	}
	*out = 0;
	return *at == end ? at + 1 : NULL;
}

static bool uuid_good(const char *id)
{
	return strlen(id) == 36 && strspn(id, "0123456789abcdef-") == 36;
}

static bool line_read(const char *line, struct journal_record *r)
{
	char time[24], good[2];
	const char *at = take(line, '\t', r->id, sizeof(r->id));
	char *end;

	at = at ? take(at, '\t', time, sizeof(time)) : NULL;
	at = at ? take(at, '\t', good, sizeof(good)) : NULL;
	at = at ? take(at, '\t', r->author, sizeof(r->author)) : NULL;
	at = at ? take(at, '\t', r->kind, sizeof(r->kind)) : NULL;
	at = at ? take(at, '\t', r->what, sizeof(r->what)) : NULL;
	at = at ? take(at, '\n', r->outcome, sizeof(r->outcome)) : NULL;
	if (!at || *at || !uuid_good(r->id) || !time[0])
		return false;
	errno = 0;
	r->at_ms = strtoll(time, &end, 10);
	r->good = good[0] == '1';
	return !*end && !errno;
}

/* The line at read_at with its line feed, in journal->line; 0: none is whole. */
static size_t line_at(struct journal *j)
{
	ssize_t got = pread(j->fd, j->line, JOURNAL_LINE_MAX, (off_t)j->read_at);
	char *feed;

	if (got <= 0)
		return 0;
	j->line[got] = 0;
	feed = memchr(j->line, '\n', (size_t)got);
	if (!feed)
		return got == JOURNAL_LINE_MAX ? JOURNAL_LINE_MAX : 0;
	feed[1] = 0;
	return (size_t)(feed + 1 - j->line);
}

/* ---- the file ---- */

/* What is left of the last process; a last line without an end was never acknowledged. */
static void look_through(struct journal *j)
{
	size_t bytes;

	for (j->read_at = 0; (bytes = line_at(j)); j->read_at += bytes)
		j->waiting++;
	if (j->read_at < j->end && !ftruncate(j->fd, (off_t)j->read_at))
		j->end = j->read_at;
	j->read_at = 0;
}

int journal_open(struct journal *j, const char *path, FILE *errors)
{
	int rc;

	memset(j, 0, sizeof(*j));
	j->fd = -1;
	j->path = path;
	if (!path[0])
		return 0;
	j->fd = open(path, O_RDWR | O_CREAT | O_APPEND | O_CLOEXEC, 0600);
	if (j->fd < 0) {
		rc = -errno;
		fprintf(errors, "ops.journal: %s: %s\n", path, strerror(-rc));
		return rc;
	}
	if (flock(j->fd, LOCK_EX | LOCK_NB)) {
		rc = -errno;
		fprintf(errors, "ops.journal: %s: another server has it\n", path);
		journal_close(j);
		return rc;
	}
	j->end = (uint64_t)lseek(j->fd, 0, SEEK_END);
	look_through(j);
	return 0;
}

void journal_close(struct journal *j)
{
	if (j->fd >= 0)
		close(j->fd);
	j->fd = -1;
}

bool journal_add(struct journal *j, const struct journal_record *record)
{
	char line[JOURNAL_LINE_MAX];
	size_t bytes = line_write(line, record);
	ssize_t done;

	if (j->fd < 0) {
		errno = ENOENT;
		return false;
	}
	done = write(j->fd, line, bytes);
	if (done == (ssize_t)bytes && !fdatasync(j->fd)) {
		j->end += bytes;
		j->waiting++;
		return true;
	}
	if (done >= 0 && done < (ssize_t)bytes)
		errno = ENOSPC;
	/* Half a line would spoil the next one. */
	if (done > 0 && ftruncate(j->fd, (off_t)j->end))
		j->end += (uint64_t)done;
	return false;
}

bool journal_first(struct journal *j, struct journal_record *record)
{
	size_t bytes;

	while (j->fd >= 0 && j->waiting && (bytes = line_at(j))) {
		memset(record, 0, sizeof(*record));
		if (line_read(j->line, record))
			return true;
		j->damaged++;
		sw_log(SW_LOG_ERROR, "world",
			"ops.journal: %s: a line at byte %" PRIu64 " is no record and is skipped",
			j->path, j->read_at);
		journal_drop_first(j);
	}
	return false;
}

void journal_drop_first(struct journal *j)
{
	j->read_at += line_at(j);
	j->waiting--;
	if (j->waiting)
		return;
	if (!ftruncate(j->fd, 0)) {
		j->read_at = j->end = 0;
		return;
	}
	sw_log(SW_LOG_WARN, "world", "ops.journal: %s cannot be emptied: %s", j->path,
		strerror(errno));
}
