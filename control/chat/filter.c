#include "control/chat/filter.h"

#include <errno.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "control/chat/filter_fold.h"
#include "control/chat/text.h"

/* Letters of a text that are looked at together: a word, or letters that stand alone. Longer ones
 * are looked at in parts that overlap by more than a word. */
#define LETTERS_MAX 256u

#define ROOT 0u

enum { WHOLE = 1, ANYWHERE = 2 };

struct node {
	uint32_t letter, child, sibling; /* 0: none; the root is nobody's child */
	uint32_t ends;                   /* WHOLE, ANYWHERE: a word ends here */
};

struct chat_filter {
	uint32_t words, count, max;
	struct node *nodes;
};

/* Of a word or text. */
struct letters {
	uint32_t letter[LETTERS_MAX];
	bool digit[LETTERS_MAX]; /* it was written as a digit or sign */
	uint32_t count;
	bool real; /* one was written as a letter */
};

static uint32_t child(const struct chat_filter *filter, uint32_t at, uint32_t letter)
{
	uint32_t next = filter->nodes[at].child;

	while (next && filter->nodes[next].letter != letter)
		next = filter->nodes[next].sibling;
	return next;
}

static void insert(struct chat_filter *filter, const struct letters *word, uint32_t ends)
{
	uint32_t at = ROOT;

	for (uint32_t i = 0; i < word->count; i++) {
		uint32_t next = child(filter, at, word->letter[i]);

		if (!next) {
			next = filter->count++;
			filter->nodes[next] = (struct node){
				.letter = word->letter[i], .sibling = filter->nodes[at].child};
			filter->nodes[at].child = next;
		}
		at = next;
	}
	filter->nodes[at].ends |= ends;
	filter->words++;
}

static void add(struct letters *letters, uint32_t letter, bool digit)
{
	if (letters->count == LETTERS_MAX) {
		const uint32_t keep = LETTERS_MAX / 2;

		memmove(letters->letter, letters->letter + keep, keep * sizeof(letters->letter[0]));
		memmove(letters->digit, letters->digit + keep, keep * sizeof(letters->digit[0]));
		letters->count = keep;
	}
	letters->letter[letters->count] = letter;
	letters->digit[letters->count++] = digit;
	letters->real |= !digit;
}

/* ---- the list ---- */

static bool parse_word(const uint8_t *at, size_t bytes, struct letters *word)
{
	uint32_t c, count, letter;

	word->count = 0;
	word->real = false;
	for (size_t i = 0; i < bytes; i += count) {
		count = chat_utf8_next(at + i, bytes - i, &c);
		if (!count)
			return false;
		switch (chat_fold(c, &letter)) {
		case CHAT_FOLD_LETTER:
			add(word, letter, false);
			break;
		case CHAT_FOLD_DIGIT:
			add(word, letter, true);
			break;
		default:
			break;
		}
	}
	return word->count >= 2 && word->real;
}

static bool line_add(struct chat_filter *filter, const char *line, size_t bytes, bool *good)
{
	const char *comment = memchr(line, '#', bytes);
	uint32_t ends = WHOLE;
	struct letters word;

	if (comment)
		bytes = (size_t)(comment - line);
	while (bytes &&
		(line[bytes - 1] == ' ' || line[bytes - 1] == '\t' || line[bytes - 1] == '\r'))
		bytes--;
	while (bytes && (*line == ' ' || *line == '\t')) {
		line++;
		bytes--;
	}
	if (!bytes)
		return true;
	if (bytes > 2 && line[0] == '*' && line[bytes - 1] == '*') {
		ends = ANYWHERE;
		line++;
		bytes -= 2;
	}
	*good = bytes <= CHAT_WORD_BYTES_MAX && filter->words < CHAT_WORDS_MAX &&
		parse_word((const uint8_t *)line, bytes, &word);
	if (*good)
		insert(filter, &word, ends);
	return *good;
}

struct chat_filter *chat_filter_new(const char *list, size_t bytes, char *error, size_t error_bytes)
{
	struct chat_filter *filter = calloc(1, sizeof(*filter));
	bool good = true;
	uint32_t line = 1;

	if (filter) /* a letter is a byte at least */
		filter->nodes = calloc(bytes + 1, sizeof(*filter->nodes));
	if (!filter || !filter->nodes) {
		snprintf(error, error_bytes, "no memory");
		free(filter);
		return NULL;
	}
	filter->count = 1;
	for (size_t at = 0; at < bytes && good; line++) {
		const char *end = memchr(list + at, '\n', bytes - at);
		size_t length = end ? (size_t)(end - list) - at : bytes - at;

		if (!line_add(filter, list + at, length, &good)) {
			snprintf(error, error_bytes,
				"line %u: no word of 2 letters to %u bytes, or more than %u words",
				line, CHAT_WORD_BYTES_MAX, CHAT_WORDS_MAX);
			chat_filter_free(filter);
			return NULL;
		}
		at += length + 1;
	}
	return filter;
}

struct chat_filter *chat_filter_load(const char *path, char *error, size_t error_bytes)
{
	FILE *file = fopen(path, "rb");
	char *list = malloc(CHAT_WORDS_BYTES + 1);
	struct chat_filter *filter = NULL;
	size_t bytes;

	if (!file || !list) {
		snprintf(error, error_bytes, "%s", file ? "no memory" : strerror(errno));
	} else {
		bytes = fread(list, 1, CHAT_WORDS_BYTES + 1, file);
		if (ferror(file))
			snprintf(error, error_bytes, "%s", strerror(errno));
		else if (bytes > CHAT_WORDS_BYTES)
			snprintf(error, error_bytes, "more than %u bytes", CHAT_WORDS_BYTES);
		else
			filter = chat_filter_new(list, bytes, error, error_bytes);
	}
	if (file)
		fclose(file);
	free(list);
	return filter;
}

void chat_filter_free(struct chat_filter *filter)
{
	if (!filter)
		return;
	free(filter->nodes);
	free(filter);
}

uint32_t chat_filter_words(const struct chat_filter *filter)
{
	return filter ? filter->words : 0;
}

/* ---- a text ---- */

/* Whether a word of the list begins at this letter: one that is found ANYWHERE, or one that ends
 * behind no fewer than whole letters. A letter that is said more often than the list says it is the
 * same one. */
static bool begins(
	const struct chat_filter *filter, const struct letters *text, uint32_t from, uint32_t whole)
{
	uint32_t at = ROOT;

	for (uint32_t i = from; i < text->count; i++) {
		uint32_t next = child(filter, at, text->letter[i]);

		if (next)
			at = next;
		else if (at == ROOT || filter->nodes[at].letter != text->letter[i])
			return false;
		if (filter->nodes[at].ends & ANYWHERE ||
			(filter->nodes[at].ends & WHOLE && i + 1 >= whole))
			return true;
	}
	return false;
}

/* whole: where a whole word may end. Any number of letters takes a time that grows with its square,
 * at worst, and not faster: a text is anybody's. */
static bool has(const struct chat_filter *filter, const struct letters *text, uint32_t whole)
{
	if (!text->real || text->count < 2) /* a number is a number */
		return false;
	if (begins(filter, text, 0, whole))
		return true;
	for (uint32_t i = 1; i < text->count; i++)
		if (begins(filter, text, i, UINT32_MAX))
			return true;
	return false;
}

/* Signs at the end of a word may be signs: "bad!" is b, a, d and i, or b, a and d. */
static bool has_word(const struct chat_filter *filter, const struct letters *text)
{
	uint32_t whole = text->count;

	while (whole && text->digit[whole - 1])
		whole--;
	return has(filter, text, whole);
}

struct scan {
	const struct chat_filter *filter;
	struct letters chunk;  /* between blanks, without signs */
	struct letters part;   /* between signs or blanks */
	struct letters single; /* that stand alone, one after the other */
};

static void clear(struct letters *letters)
{
	letters->count = 0;
	letters->real = false;
}

/* Any word of the list that the letters, which stood alone, spell in order. */
static bool spelt(struct scan *scan)
{
	struct letters *text = &scan->single;

	if (text->real && text->count >= 2)
		for (uint32_t i = 0; i < text->count; i++) {
			uint32_t at = ROOT;

			for (uint32_t n = i; n < text->count; n++) {
				uint32_t next = child(scan->filter, at, text->letter[n]);

				if (next)
					at = next;
				else if (at == ROOT ||
					 scan->filter->nodes[at].letter != text->letter[n])
					break;
				if (scan->filter->nodes[at].ends)
					return true;
			}
		}
	return false;
}

static bool part_end(struct scan *scan)
{
	bool found = has_word(scan->filter, &scan->part);

	clear(&scan->part);
	return found;
}

static bool chunk_end(struct scan *scan)
{
	bool found = part_end(scan);
	struct letters *chunk = &scan->chunk;

	if (chunk->count == 1) {
		found |= scan->single.count == LETTERS_MAX && spelt(scan);
		add(&scan->single, chunk->letter[0], chunk->digit[0]);
	} else if (chunk->count) {
		found |= spelt(scan);
		clear(&scan->single);
		found |= has_word(scan->filter, chunk);
	}
	clear(chunk);
	return found;
}

bool chat_filter_finds(const struct chat_filter *filter, const uint8_t *text, size_t bytes)
{
	struct scan scan;
	uint32_t c, count, letter;
	bool found = false;

	if (!filter || !filter->words)
		return false;
	scan.filter = filter;
	clear(&scan.chunk);
	clear(&scan.part);
	clear(&scan.single);
	for (size_t i = 0; i < bytes && !found; i += count) {
		enum chat_fold fold;

		count = chat_utf8_next(text + i, bytes - i, &c);
		if (!count)
			break;
		fold = chat_fold(c, &letter);
		if (fold == CHAT_FOLD_LETTER || fold == CHAT_FOLD_DIGIT) {
			if (scan.part.count == LETTERS_MAX || scan.chunk.count == LETTERS_MAX)
				found |= has(filter, &scan.chunk, LETTERS_MAX) ||
					 has(filter, &scan.part, LETTERS_MAX);
			add(&scan.part, letter, fold == CHAT_FOLD_DIGIT);
			add(&scan.chunk, letter, fold == CHAT_FOLD_DIGIT);
		} else if (fold == CHAT_FOLD_SIGN) {
			found |= part_end(&scan);
		} else if (fold == CHAT_FOLD_BLANK) {
			found |= chunk_end(&scan);
		}
	}
	return found || chunk_end(&scan) || spelt(&scan);
}
