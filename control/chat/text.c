#include "control/chat/text.h"

#include <stdbool.h>

uint32_t chat_utf8_next(const uint8_t *at, size_t bytes, uint32_t *character)
{
	static const uint32_t least[] = {0, 0, 0x80, 0x800, 0x10000};
	uint32_t count, value;

	if (!bytes)
		return 0;
	if (at[0] < 0x80) {
		*character = at[0];
		return 1;
	}
	count = at[0] >= 0xf0 ? 4 : at[0] >= 0xe0 ? 3 : 2;
	if (at[0] < 0xc2 || at[0] > 0xf4 || count > bytes)
		return 0;
	value = at[0] & (0xffu >> (count + 1));
	for (uint32_t i = 1; i < count; i++) {
		if ((at[i] & 0xc0) != 0x80)
			return 0;
		value = value << 6 | (at[i] & 0x3f);
	}
	if (value < least[count] || value > 0x10ffff || (value >= 0xd800 && value <= 0xdfff))
		return 0;
	*character = value;
	return count;
}

static bool control(uint32_t c)
{
	return c < 0x20 || (c >= 0x7f && c < 0xa0) || c == 0x2028 || c == 0x2029 || c == 0x061c ||
	       c == 0x200e || c == 0x200f || (c >= 0x202a && c <= 0x202e) ||
	       (c >= 0x2066 && c <= 0x206f) || (c >= 0xfff0 && c <= 0xfffb) ||
	       (c >= 0xe0000 && c <= 0xe007f);
}

/* Shows nothing; U+200C, U+200D and variation selectors are parts of words and emoji. */
static bool blank(uint32_t c)
{
	return c == 0x20 || c == 0xa0 || c == 0xad || c == 0x034f || c == 0x115f || c == 0x1160 ||
	       c == 0x1680 || c == 0x180e || (c >= 0x2000 && c <= 0x200d) || c == 0x202f ||
	       (c >= 0x205f && c <= 0x2065) || c == 0x2800 || c == 0x3000 || c == 0x3164 ||
	       (c >= 0xfe00 && c <= 0xfe0f) || c == 0xfeff || c == 0xffa0 ||
	       (c >= 0xe0100 && c <= 0xe01ef);
}

enum chat_refusal chat_text_check(const uint8_t *text, size_t bytes, size_t bytes_max)
{
	bool shown = false;
	uint32_t count, c;

	if (bytes > bytes_max)
		return CHAT_REFUSED_TOO_LONG;
	for (size_t i = 0; i < bytes; i += count) {
		count = chat_utf8_next(text + i, bytes - i, &c);
		if (!count)
			return CHAT_REFUSED_NOT_UTF8;
		if (control(c))
			return CHAT_REFUSED_CONTROL_CHARACTER;
		shown |= !blank(c);
	}
	return shown ? CHAT_REFUSED_NONE : CHAT_REFUSED_EMPTY;
}
