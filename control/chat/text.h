/* text: what a client may say: a text that everybody can be shown. Pure; any thread. */
#ifndef SW_CONTROL_CHAT_TEXT_H
#define SW_CONTROL_CHAT_TEXT_H

#include <stddef.h>
#include <stdint.h>

#include "common/chat.h"

/* The next character (RFC 3629: no overlong form, no surrogate, at most U+10FFFF). Returns its
 * bytes, 0 where there is none. */
uint32_t chat_utf8_next(const uint8_t *at, size_t bytes, uint32_t *character);

/* CHAT_REFUSED_NONE, or TOO_LONG (over bytes_max; not looked at further), NOT_UTF8,
 * CONTROL_CHARACTER (C0, DEL, C1, line and paragraph separators, what turns the direction of text
 * or tags it unseen: all that lets a line look like another one's), EMPTY (nothing but blanks and
 * what shows nothing). */
enum chat_refusal chat_text_check(const uint8_t *text, size_t bytes, size_t bytes_max);

#endif
