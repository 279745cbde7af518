#include "simulation/script/pattern.h"

#include <ctype.h>
#include <string.h>

static const char *run(struct pattern *m, const char *s, const char *p);

static const char *fail(struct pattern *m, const char *error)
{
	if (!m->error)
		m->error = error;
	return NULL;
}

static bool spend(struct pattern *m, uint64_t steps)
{
	if (m->steps < steps) {
		m->steps = 0;
		m->over_steps = true;
		fail(m, "too many steps");
		return false;
	}
	m->steps -= steps;
	return true;
}

/* The end of the single-character item at p: "a", "%a", ".", "[...]". NULL with an error set. */
static const char *item_end(struct pattern *m, const char *p)
{
	const char *q = p + 1;

	if (*p == '%') {
		if (q == m->pattern_end)
			return fail(m, "malformed pattern (ends with '%')");
		return q + 1;
	}
	if (*p != '[')
		return q;
	if (q < m->pattern_end && *q == '^')
		q++;
	/* The first character of a set is a member, even if it is ']'. */
	for (bool first = true; first || q >= m->pattern_end || *q != ']'; first = false) {
		if (q >= m->pattern_end)
			return fail(m, "malformed pattern (missing ']')");
		if (*q++ == '%' && q < m->pattern_end)
			q++;
	}
	return q + 1;
}

static bool class_has(unsigned char c, unsigned char class)
{
	int in;

	switch (tolower(class)) {
	case 'a':
		in = isalpha(c);
		break;
	case 'c':
		in = iscntrl(c);
		break;
	case 'd':
		in = isdigit(c);
		break;
	case 'g':
		in = isgraph(c);
		break;
	case 'l':
		in = islower(c);
		break;
	case 'p':
		in = ispunct(c);
		break;
	case 's':
		in = isspace(c);
		break;
	case 'u':
		in = isupper(c);
		break;
	case 'w':
		in = isalnum(c);
		break;
	case 'x':
		in = isxdigit(c);
		break;
	case 'z': /* not in the manual any more, but still known to stock Lua */
		in = c == 0;
		break;
	default:
		return class == c;
	}
	return isupper(class) ? !in : !!in;
}

/* p is at '[', end behind ']'. */
static bool set_has(unsigned char c, const char *p, const char *end)
{
	const char *last = end - 1;
	bool found = true;

	p++;
	if (*p == '^') {
		found = false;
		p++;
	}
	while (p < last) {
		if (*p == '%') {
			p++;
			if (class_has(c, (unsigned char)*p))
				return found;
			p++;
		} else if (p[1] == '-' && p + 2 < last) {
			if ((unsigned char)p[0] <= c && c <= (unsigned char)p[2])
				return found;
			p += 3;
		} else {
			if ((unsigned char)*p == c)
				return found;
			p++;
		}
	}
	return !found;
}

/* Does the item p..end match the character at s? Costs steps as long as the set is. */
static bool item_has(struct pattern *m, const char *s, const char *p, const char *end)
{
	unsigned char c;

	if (s >= m->subject_end || !spend(m, 1 + (uint64_t)(end - p) / 8))
		return false;
	c = (unsigned char)*s;
	switch (*p) {
	case '.':
		return true;
	case '%':
		return class_has(c, (unsigned char)p[1]);
	case '[':
		return set_has(c, p, end);
	default:
		return (unsigned char)*p == c;
	}
}

/* "%bxy"; p is at x. */
static const char *balance(struct pattern *m, const char *s, const char *p)
{
	const char *at;
	size_t open = 1;

	if (m->pattern_end - p < 2)
		return fail(m, "malformed pattern (missing arguments to '%b')");
	if (s >= m->subject_end || *s != p[0])
		return NULL;
	for (at = s + 1; at < m->subject_end; at++) {
		if (!spend(m, 1))
			return NULL;
		if (*at == p[1]) {
			if (--open == 0)
				return at + 1;
		} else if (*at == p[0]) {
			open++;
		}
	}
	return NULL;
}

/* As many as there are, then fewer until the rest matches. */
static const char *most(struct pattern *m, const char *s, const char *p, const char *end)
{
	ptrdiff_t count = 0;

	while (item_has(m, s + count, p, end))
		count++;
	for (; count >= 0 && !m->error; count--) {
		const char *match = run(m, s + count, end + 1);

		if (match)
			return match;
	}
	return NULL;
}

/* None, then more until the rest matches. */
static const char *fewest(struct pattern *m, const char *s, const char *p, const char *end)
{
	while (!m->error) {
		const char *match = run(m, s, end + 1);

		if (match)
			return match;
		if (m->error || !item_has(m, s, p, end))
			return NULL;
		s++;
	}
	return NULL;
}

static const char *capture_start(struct pattern *m, const char *s, const char *p, ptrdiff_t bytes)
{
	const char *match;

	if (m->captures >= PATTERN_CAPTURES_MAX)
		return fail(m, "too many captures");
	m->capture[m->captures].start = s;
	m->capture[m->captures].bytes = bytes;
	m->captures++;
	match = run(m, s, p);
	if (!match)
		m->captures--;
	return match;
}

static const char *capture_end(struct pattern *m, const char *s, const char *p)
{
	int i = m->captures - 1;
	const char *match;

	while (i >= 0 && m->capture[i].bytes != PATTERN_OPEN)
		i--;
	if (i < 0)
		return fail(m, "invalid pattern capture");
	m->capture[i].bytes = s - m->capture[i].start;
	match = run(m, s, p);
	if (!match)
		m->capture[i].bytes = PATTERN_OPEN;
	return match;
}

/* "%1": the end of a repetition of that capture at s. */
static const char *back_reference(struct pattern *m, const char *s, char digit)
{
	int i = digit - '1';
	size_t bytes;

	if (i < 0 || i >= m->captures || m->capture[i].bytes == PATTERN_OPEN)
		return fail(m, "invalid capture index in pattern");
	/* Stock Lua reads a position capture's length as a huge one, which never fits. */
	if (m->capture[i].bytes == PATTERN_POSITION)
		return NULL;
	bytes = (size_t)m->capture[i].bytes;
	if ((size_t)(m->subject_end - s) < bytes || !spend(m, bytes / 16 + 1))
		return NULL;
	return memcmp(m->capture[i].start, s, bytes) == 0 ? s + bytes : NULL;
}

/* "%f[set]"; p is at '['. Returns the item's end where the frontier is, NULL where not. */
static const char *frontier(struct pattern *m, const char *s, const char *p)
{
	const char *end;
	unsigned char before, at;

	if (p >= m->pattern_end || *p != '[')
		return fail(m, "missing '[' after '%f' in pattern");
	end = item_end(m, p);
	if (!end || !spend(m, 1 + (uint64_t)(end - p) / 4))
		return NULL;
	before = s == m->subject ? 0 : (unsigned char)s[-1];
	at = s == m->subject_end ? 0 : (unsigned char)*s;
	return !set_has(before, p, end) && set_has(at, p, end) ? end : NULL;
}

/* The rest of the pattern from p at s. Recursion is as deep as the pattern has items that may be
 * tried again; it is bounded by PATTERN_DEPTH_MAX. */
static const char *rest(struct pattern *m, const char *s, const char *p)
{
	const char *end;

	while (p != m->pattern_end) {
		if (!spend(m, 1))
			return NULL;
		switch (*p) {
		case '(':
			if (p + 1 != m->pattern_end && p[1] == ')')
				return capture_start(m, s, p + 2, PATTERN_POSITION);
			return capture_start(m, s, p + 1, PATTERN_OPEN);
		case ')':
			return capture_end(m, s, p + 1);
		case '$':
			if (p + 1 == m->pattern_end)
				return s == m->subject_end ? s : NULL;
			break;
		case '%':
			if (p + 1 == m->pattern_end)
				break;
			if (p[1] == 'b') {
				s = balance(m, s, p + 2);
				p += 4;
			} else if (p[1] == 'f') {
				p = frontier(m, s, p + 2);
				if (!p)
					return NULL;
			} else if (p[1] >= '0' && p[1] <= '9') {
				s = back_reference(m, s, p[1]);
				p += 2;
			} else {
				break;
			}
			if (!s)
				return NULL;
			continue;
		default:
			break;
		}
		end = item_end(m, p);
		if (!end)
			return NULL;
		switch (end < m->pattern_end ? *end : '\0') {
		case '?': {
			const char *match;

			if (item_has(m, s, p, end) && (match = run(m, s + 1, end + 1)))
				return match;
			if (m->error)
				return NULL;
			p = end + 1;
			continue;
		}
		case '+':
			return item_has(m, s, p, end) ? most(m, s + 1, p, end) : NULL;
		case '*':
			return most(m, s, p, end);
		case '-':
			return fewest(m, s, p, end);
		default:
			if (!item_has(m, s, p, end))
				return NULL;
			s++;
			p = end;
		}
	}
	return s;
}

static const char *run(struct pattern *m, const char *s, const char *p)
{
	const char *match;

	if (m->depth >= PATTERN_DEPTH_MAX)
		return fail(m, "pattern too complex");
	m->depth++;
	match = rest(m, s, p);
	m->depth--;
	return m->error ? NULL : match;
}

const char *pattern_match(struct pattern *m, const char *from, const char *pattern)
{
	m->depth = 0;
	m->captures = 0;
	m->error = NULL;
	m->over_steps = false;
	return run(m, from, pattern);
}
