/* utf8: whether bytes that a client or a ticket brought are text. Pure; any thread. */
#ifndef SW_CONTROL_ADMISSION_UTF8_H
#define SW_CONTROL_ADMISSION_UTF8_H

#include <stdbool.h>
#include <stddef.h>

/* Well-formed UTF-8 (RFC 3629: no overlong form, no surrogate, nothing above U+10FFFF) without
 * control characters, which have no place in a name and would break log lines. */
bool utf8_is_text(const char *bytes, size_t count);

#endif
