/* filter: words that are not said. Text and words are brought to one form first, so that case,
 * width, accents, look-alikes of other scripts, digits for letters, letters said several times, and
 * blanks or signs between letters do not make another word of it:
 *
 *   "Bad", "ｂａｄ", "bäd", "bаd" (Cyrillic а), "b4d", "baaad", "b a d", "b.a-d", "b\u200bad"
 *
 * The list is a file: one word a line, # begins a comment. "bad" is found as a whole word only (so
 * "badge" may be said), "*bad*" anywhere in one. Letters that follow each other in different
 * written words are put together only where each stands alone: "b a d", but not "scab add".
 *
 * Pure but for filter_load; one thread. Memory: a tree of the list's letters, made when it is read.
 */
#ifndef SW_CONTROL_CHAT_FILTER_H
#define SW_CONTROL_CHAT_FILTER_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

#define CHAT_WORDS_MAX      10000u
#define CHAT_WORD_BYTES_MAX 64u
#define CHAT_WORDS_BYTES    ((CHAT_WORD_BYTES_MAX + 1) * CHAT_WORDS_MAX) /* of the file, at most */

struct chat_filter;

/* Of a list in memory. NULL with a sentence in error: no memory, or a word that is none (its line
 * is named). */
struct chat_filter *chat_filter_new(
	const char *list, size_t bytes, char *error, size_t error_bytes);
/* Of a file; NULL likewise, the file cannot be read or is too large. Waits for the disk. */
struct chat_filter *chat_filter_load(const char *path, char *error, size_t error_bytes);
void chat_filter_free(struct chat_filter *filter);

uint32_t chat_filter_words(const struct chat_filter *filter);

/* True when the text, which chat_text_check has found good, has one of the words. NULL has none. */
bool chat_filter_finds(const struct chat_filter *filter, const uint8_t *text, size_t bytes);

#endif
