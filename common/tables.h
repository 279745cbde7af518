/* tables: memory for what a hot thread reads at random.
 *
 * A table of 25,000 rows of half a KiB lies in 3,500 pages of 4 KiB: more than a TLB holds, and in a
 * virtual machine each miss walks two page tables. In large pages it is seven entries.
 * Measured: docs/decisions.md, "Tables in large pages". */
#ifndef SW_COMMON_TABLES_H
#define SW_COMMON_TABLES_H

#include <stddef.h>

#define TABLES_LARGE_PAGE ((size_t)2 << 20)

/* What tables_new takes from the system for so many bytes. */
static inline size_t tables_bytes(size_t bytes)
{
	size_t unit = bytes < TABLES_LARGE_PAGE ? 64 : TABLES_LARGE_PAGE;

	return (bytes + unit - 1) / unit * unit;
}

/* Zeroed, aligned to a cache line, and touched: a first-touch fault belongs to set-up, not to a
 * tick or a turn. From TABLES_LARGE_PAGE on aligned to it and rounded up to it, in transparent huge
 * pages where the kernel has them (madvise or always). Any thread, at set-up. NULL: no memory left.
 * Ends with free(). */
void *tables_new(size_t bytes);

#endif
