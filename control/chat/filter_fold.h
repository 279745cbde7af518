/* filter_fold: one form for what looks alike. Pure. */
#ifndef SW_CONTROL_CHAT_FILTER_FOLD_H
#define SW_CONTROL_CHAT_FILTER_FOLD_H

#include <stdint.h>

/* What a character is to the filter. */
enum chat_fold {
	CHAT_FOLD_LETTER, /* *out is it */
	CHAT_FOLD_DIGIT,  /* *out is the letter that it stands for where there are letters beside it
			   */
	CHAT_FOLD_SIGN,   /* parts letters without parting words: . - _ and the like */
	CHAT_FOLD_BLANK,  /* parts words */
	CHAT_FOLD_NOTHING /* is not seen: accents on their own, zero width */
};

enum chat_fold chat_fold(uint32_t character, uint32_t *out);

#endif
