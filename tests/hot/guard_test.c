/* Proves that the hot guard sees: run under it, a hot section that is clean ends well, and one that
 * allocates, locks or prints ends the process with status 86. Without the guard it must not pass. */
#include <pthread.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "common/hot.h"

int main(int argc, char **argv)
{
	static pthread_mutex_t mutex = PTHREAD_MUTEX_INITIALIZER;
	const char *what = argc > 1 ? argv[1] : "";
	void *volatile memory = malloc(16);

	if (!sw_hot_guard_begin)
		return 2;
	hot_begin();
	if (!strcmp(what, "malloc"))
		memory = malloc(16);
	else if (!strcmp(what, "free"))
		free(memory);
	else if (!strcmp(what, "lock"))
		pthread_mutex_lock(&mutex);
	else if (!strcmp(what, "print"))
		puts("a line");
	hot_end();
	return 0;
}
