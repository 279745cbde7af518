/* text: what the world thread checks of texts before PostgreSQL sees them (one bad row would fail a
 * whole batch), and the rule for names. Pure. */
#ifndef SW_CONTROL_WORLD_TEXT_H
#define SW_CONTROL_WORLD_TEXT_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

#include "common/msg.h"

/* True when text[0..bytes) is valid UTF-8 by RFC 3629 (no overlong form, no surrogate, at most
 * U+10FFFF) without NUL: what PostgreSQL takes as text. */
bool world_text_valid(const char *text, size_t bytes);

/* The rule for names. A realm has each name once. A new character gets the name of its ticket where
 * that is free; else, and where the ticket's name is not usable or contains '~' itself, the name
 * cut to fit, then '~' and the character's id in base 36. A plain name never contains '~' and ids
 * are unique, so the second one is always free: no login fails for its name. Writes both
 * candidates, plain first ("" where the plain one is not to be tried). wanted need not end with
 * NUL. */
void world_name_candidates(const char wanted[CHARACTER_NAME_BYTES], uint64_t character_id,
	char plain[CHARACTER_NAME_BYTES], char suffixed[CHARACTER_NAME_BYTES]);

#endif
