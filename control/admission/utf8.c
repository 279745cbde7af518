#include "control/admission/utf8.h"

#include <stdint.h>

bool utf8_is_text(const char *bytes, size_t count)
{
	const uint8_t *at = (const uint8_t *)bytes, *end = at + count;

	while (at < end) {
		uint8_t first = *at++, low = 0x80, high = 0xbf;
		int more;

		if (first < 0x80) {
			if (first < 0x20 || first == 0x7f)
				return false;
			continue;
		}
		if (first >= 0xc2 && first <= 0xdf)
			more = 1;
		else if (first >= 0xe0 && first <= 0xef)
			more = 2;
		else if (first >= 0xf0 && first <= 0xf4)
			more = 3;
		else
			return false;
		/* The second byte is where overlong forms, surrogates and too large values show. */
		if (first == 0xc2)
			low = 0xa0; /* U+0080..U+009F are control characters too */
		else if (first == 0xe0)
			low = 0xa0;
		else if (first == 0xed)
			high = 0x9f;
		else if (first == 0xf0)
			low = 0x90;
		else if (first == 0xf4)
			high = 0x8f;
		for (; more; more--, low = 0x80, high = 0xbf)
			if (at == end || *at < low || *at > high)
				return false;
			else
				at++;
	}
	return true;
}
