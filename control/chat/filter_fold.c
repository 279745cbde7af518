#include "control/chat/filter_fold.h"

#include <stddef.h>

/* Runs of characters that stand for ASCII letters, one each; '.' for a gap. The look-alikes are
 * those of Unicode's confusables (UTS #39) whose shape is a plain letter's in common fonts. */
static const struct {
	uint32_t first;
	const char *letters;
} runs[] = {
	{0xc0, "aaaaaaaceeeeiiiidnooooo.ouuuuypsaaaaaaaceeeeiiiidnooooo.ouuuuypy"},
	{0x100, "aaaaaaccccccccddddeeeeeeeeeegggggggghhhhiiiiiiiiiiiijjkkkllllllllllnnnnnnnnnoooooo"
		"o"
		"orrrrrrssssssssttttttuuuuuuuuuuuuwwyyyzzzzzzs"},
	{0x180, "bbbb..occdddddeeeffgywiikklldnnoo......pp.."},
	{0x1cd, "aaiioouuuuuuuuuueaaaaaaggggkkooooss"},
	{0x250, "aaabocddeeeeeej.ggg.."},
	{0x261, "gg..hhhii.illl.mmnnnoo..rrrrrrrrrsss.ttuuvwmyyzz"},
	/* Greek, capital and small */
	{0x391, "abrdezhqiklmneoprrstyfxyw"},
	{0x3b1, "abydsnhqiklmvco"},
	{0x3c0, "npcotuqxyw"},
	{0x3ac, "aeni"},
	{0x3cc, "oyw"},
	/* Cyrillic, capital and small, then the others */
	{0x410, "abbrdexe.nkjmhonpctyfxu4wwb"},
	{0x430, "abbrdexe.nkjmhonpctyfxu4wwb"},
	{0x450, "ee.regsiijj...kny."},
	{0x400, "ee.regsiijj...kny."},
	{0x1d00, "aab.cdde.jklmno"},
	{0x1e00, "aabbbbbbccddddddddddeeeeeeeeeeffgghhhhhhhhhhiiiikkkkkkllllllllmmmmmmnnnnnnnnooooo"
		 "ooopppprrrrr"
		 "rrrssssssssssttttttttuuuuuuuuuuvvvvwwwwwwwwwwxxxxyyzzzzzzhtwya"},
	{0x1ea0, "aaaaaaaaaaaaaaaaaaaaaaaaeeeeeeeeeeeeeeeeiiiioooooooooooooooooooooooouuuuuuuuuuuuu"
		 "uyyyyyyyy"},
	/* letterlike, circled, squared */
	{0x2100, "..c.............hhhii.l.nn.pqrrr........z...k.beeef.mo"},
	{0x249c, "abcdefghijklmnopqrstuvwxyzabcdefghijklmnopqrstuvwxyzabcdefghijklmnopqrstuvwxyz"},
	{0x1f110, "abcdefghijklmnopqrstuvwxyz"},
	{0x1f130, "abcdefghijklmnopqrstuvwxyz"},
	{0x1f150, "abcdefghijklmnopqrstuvwxyz"},
	{0x1f170, "abcdefghijklmnopqrstuvwxyz"},
	{0x1f1e6, "abcdefghijklmnopqrstuvwxyz"},
};

/* Digits and signs that are written for letters. */
static uint32_t stands_for(uint32_t c)
{
	switch (c) {
	case '0':
		return 'o';
	case '1':
	case '!':
	case '|':
		return 'i';
	case '2':
		return 'z';
	case '3':
	case 0x20ac: /* euro */
		return 'e';
	case '4':
	case '@':
		return 'a';
	case '5':
	case '$':
		return 's';
	case '6':
	case '9':
		return 'g';
	case '7':
	case '+':
		return 't';
	case '8':
		return 'b';
	default:
		return 0;
	}
}

/* l and i look alike in many fonts, and so are one. */
static enum chat_fold letter(uint32_t c, uint32_t *out)
{
	*out = c == 'l' ? 'i' : c;
	return CHAT_FOLD_LETTER;
}

static enum chat_fold ascii(uint32_t c, uint32_t *out)
{
	if (c >= 'A' && c <= 'Z')
		c += 'a' - 'A';
	if (c >= 'a' && c <= 'z')
		return letter(c, out);
	*out = stands_for(c);
	if (*out)
		return CHAT_FOLD_DIGIT;
	return c == ' ' ? CHAT_FOLD_BLANK : CHAT_FOLD_SIGN;
}

static int unseen(uint32_t c)
{
	return c == 0xad || c == 0x34f || (c >= 0x300 && c <= 0x36f) ||
	       (c >= 0x483 && c <= 0x489) || c == 0x115f || c == 0x1160 ||
	       (c >= 0x1ab0 && c <= 0x1aff) || c == 0x180e || (c >= 0x1dc0 && c <= 0x1dff) ||
	       (c >= 0x200b && c <= 0x200d) || (c >= 0x2060 && c <= 0x2065) ||
	       (c >= 0x20d0 && c <= 0x20ff) || c == 0x3164 || (c >= 0xfe00 && c <= 0xfe0f) ||
	       (c >= 0xfe20 && c <= 0xfe2f) || c == 0xfeff || c == 0xffa0 ||
	       (c >= 0xe0100 && c <= 0xe01ef);
}

enum chat_fold chat_fold(uint32_t c, uint32_t *out)
{
	if (c >= 0xff01 && c <= 0xff5e) /* full width */
		c -= 0xfee0;
	if (c < 0x80)
		return ascii(c, out);
	if (unseen(c))
		return CHAT_FOLD_NOTHING;
	if (c == 0xa0 || c == 0x1680 || (c >= 0x2000 && c <= 0x200a) || c == 0x202f ||
		c == 0x205f || c == 0x3000 || c == 0x2800)
		return CHAT_FOLD_BLANK;
	if (c >= 0x1d400 && c <= 0x1d6a3) { /* mathematical: 13 alphabets of 52 */
		c = (c - 0x1d400) % 52;
		return letter('a' + c % 26, out);
	}
	if (c >= 0x1d7ce && c <= 0x1d7ff)
		return ascii('0' + (c - 0x1d7ce) % 10, out);
	for (size_t i = 0; i < sizeof(runs) / sizeof(runs[0]); i++) {
		uint32_t at = c - runs[i].first;

		if (c < runs[i].first)
			continue;
		for (uint32_t n = 0; runs[i].letters[n]; n++)
			if (n == at && runs[i].letters[n] != '.')
				return letter((unsigned char)runs[i].letters[n], out);
	}
	*out = stands_for(c);
	if (*out)
		return CHAT_FOLD_DIGIT;
	if ((c >= 0x80 && c < 0xc0 && c != 0xaa && c != 0xb5 && c != 0xba) || c == 0xd7 ||
		c == 0xf7 || (c >= 0x2010 && c <= 0x205e) || (c >= 0x2190 && c <= 0x2bff) ||
		(c >= 0x3001 && c <= 0x3003) || (c >= 0x3008 && c <= 0x3020) || c == 0x30fb ||
		(c >= 0x1f300 && c <= 0x1faff))
		return CHAT_FOLD_SIGN;
	*out = c; /* a letter of its own */
	return CHAT_FOLD_LETTER;
}
