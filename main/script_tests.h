/* script_tests: before a script is reloaded, swscript (beside the server's own program) checks it, and runs
 * its tests, NAME_test.lua beside NAME.lua, if there are any. In a process of its own, without the
 * server's descriptors, for SCRIPT_TESTS_S at most: what hangs or crashes there is a test that failed.
 *
 * Thread: any that may wait; a thread of libuv's pool does. */
#ifndef SW_MAIN_SCRIPT_TESTS_H
#define SW_MAIN_SCRIPT_TESTS_H

#include <stddef.h>

#define SCRIPT_TESTS_S "60"

/* Returns 0, also where there is no swscript, which is logged; else -EINVAL with lines in error. */
int script_tests_run(const char *content, const char *script, char *error, size_t error_bytes);

#endif
