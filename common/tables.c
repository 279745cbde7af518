#include "common/tables.h"

#include <stdlib.h>
#include <string.h>
#include <sys/mman.h>

void *tables_new(size_t bytes)
{
	size_t whole = tables_bytes(bytes);
	void *memory = aligned_alloc(bytes < TABLES_LARGE_PAGE ? 64 : TABLES_LARGE_PAGE, whole);

	if (!memory)
		return NULL;
	if (bytes >= TABLES_LARGE_PAGE)
		madvise(memory, whole, MADV_HUGEPAGE); /* a wish: 4 KiB pages do, too */
	memset(memory, 0, whole);
	return memory;
}
