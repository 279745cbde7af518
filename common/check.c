#include "common/check.h"

#include <stdio.h>
#include <stdlib.h>

_Noreturn void check_failed(const char *file, int line, const char *function, const char *text)
{
	fprintf(stderr, "%s:%d: %s: check failed: %s\n", file, line, function, text);
	abort();
}
