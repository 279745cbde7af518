#include "common/log_line.h"

#include <inttypes.h>
#include <stdio.h>
#include <string.h>
#include <time.h>

#include "common/mono.h"

#define LEVEL_NAME(id, name) name,
static const char *const level_names[] = {SW_LOG_LEVELS(LEVEL_NAME)};

#define EVENT_ROW(id, level, module, text) {SW_LOG_##level, #id, module, text},
const struct log_event_desc log_event_desc[LOG_EVENTS_COUNT] = {LOG_EVENTS(EVENT_ROW)};

/* Bytes of the UTF-8 sequence at text that a terminal may be shown as it is: 1 for printable ASCII,
 * 2 to 4 for valid UTF-8 (RFC 3629) beyond the C1 controls; 0 for what must be escaped. */
static size_t printable(const unsigned char *text, size_t bytes)
{
	size_t more = text[0] >= 0xf0 ? 3 : text[0] >= 0xe0 ? 2 : 1;
	uint32_t code;

	if (text[0] < 0x80)
		return text[0] >= ' ' && text[0] != 0x7f && text[0] != '"' && text[0] != '\\';
	if (text[0] < 0xc2 || text[0] > 0xf4 || bytes <= more)
		return 0;
	code = text[0] & (0x3fu >> more);
	for (size_t i = 1; i <= more; i++) {
		if ((text[i] & 0xc0) != 0x80)
			return 0;
		code = code << 6 | (text[i] & 0x3fu);
	}
	if (code < 0xa0 || (code >= 0xd800 && code < 0xe000) || code > 0x10ffff ||
		(more == 2 && code < 0x800) || (more == 3 && code < 0x10000))
		return 0;
	return more + 1;
}

static size_t escape(const char *text, size_t bytes, char *out)
{
	static const char digits[] = "0123456789abcdef";
	const unsigned char *in = (const unsigned char *)text;
	size_t n = 0;

	for (size_t i = 0; i < bytes;) {
		size_t take = printable(in + i, bytes - i);

		if (take) {
			memcpy(out + n, in + i, take);
			n += take;
			i += take;
			continue;
		}
		out[n++] = '\\';
		if (in[i] == '"' || in[i] == '\\') {
			out[n++] = (char)in[i];
		} else {
			out[n++] = 'x';
			out[n++] = digits[in[i] >> 4];
			out[n++] = digits[in[i] & 15];
		}
		i++;
	}
	return n;
}

size_t log_line_write(const struct log_line *line, char out[LOG_LINE_BYTES])
{
	time_t seconds = (time_t)(line->wall_ns / NS_PER_S);
	size_t bytes = line->text_bytes, n;
	struct tm tm;

	if (bytes > SW_LOG_TEXT_BYTES)
		bytes = SW_LOG_TEXT_BYTES;
	gmtime_r(&seconds, &tm);
	n = strftime(out, LOG_LINE_BYTES, "time=%Y-%m-%dT%H:%M:%S", &tm);
	n += (size_t)snprintf(out + n, 128, ".%06uZ level=%s module=%.24s thread=%.16s text=\"",
		(unsigned)(line->wall_ns % NS_PER_S / 1000), level_names[line->level], line->module,
		line->thread);
	n += escape(line->text, bytes, out + n);
	out[n++] = '"';
	out[n++] = '\n';
	return n;
}

/* The placeholder at text, {0:x}: its bytes, 0 if there is none. */
static size_t placeholder(const char *text, uint32_t *arg, char unit[4])
{
	size_t i = 2, u = 0;

	if (text[0] != '{' || text[1] < '0' || text[1] > '3')
		return 0;
	*arg = (uint32_t)(text[1] - '0');
	if (text[i] == ':')
		for (i++; u < 3 && text[i] >= 'a' && text[i] <= 'z'; i++)
			unit[u++] = text[i];
	unit[u] = 0;
	return text[i] == '}' ? i + 1 : 0;
}

static size_t figure(uint64_t value, const char *unit, char out[24])
{
	if (!strcmp(unit, "x"))
		return (size_t)snprintf(out, 24, "%" PRIx64, value);
	if (!strcmp(unit, "us"))
		return (size_t)snprintf(out, 24, "%" PRIu64, value / 1000);
	if (!strcmp(unit, "ip"))
		return (size_t)snprintf(out, 24, "%u.%u.%u.%u", (unsigned)(value >> 24 & 255),
			(unsigned)(value >> 16 & 255), (unsigned)(value >> 8 & 255),
			(unsigned)(value & 255));
	return (size_t)snprintf(out, 24, "%" PRIu64, value);
}

size_t log_event_text(const char *template, const uint64_t arg[4], const char *extra,
	size_t extra_bytes, char *out, size_t out_bytes)
{
	size_t n = 0;

	while (*template && n < out_bytes) {
		char unit[4], number[24];
		const char *put = template;
		size_t put_bytes = 1, took;
		uint32_t i;

		took = placeholder(template, &i, unit);
		if (took) {
			put = number;
			put_bytes = figure(arg[i], unit, number);
		} else if (!strncmp(template, "{text}", 6)) {
			took = 6;
			put = extra;
			put_bytes = extra_bytes;
		} else {
			took = 1;
		}
		if (put_bytes > out_bytes - n)
			put_bytes = out_bytes - n;
		if (put_bytes)
			memcpy(out + n, put, put_bytes);
		n += put_bytes;
		template += took;
	}
	return n;
}

bool log_limit_take(struct log_limit *limit, uint64_t now_ns)
{
	if (now_ns - limit->window_ns >= NS_PER_S && !limit->held) {
		limit->window_ns = now_ns;
		limit->written = 0;
	}
	if (limit->written < LOG_EVENT_LINES) {
		limit->written++;
		return true;
	}
	limit->held++;
	return false;
}

uint32_t log_limit_held(struct log_limit *limit, uint64_t now_ns, bool stopping)
{
	uint32_t held = limit->held;

	if (!held || (!stopping && now_ns - limit->window_ns < NS_PER_S))
		return 0;
	limit->held = 0;
	limit->written = 0;
	limit->window_ns = now_ns;
	return held;
}
