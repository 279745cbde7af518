/* tickets.h: the file that `swctl ticket` writes: one base64 SignedTicket a line. */
#ifndef SWC_BOT_TICKETS_H
#define SWC_BOT_TICKETS_H

#include <stdint.h>

struct ticket {
	uint32_t bytes;
	uint8_t data[1024];
};

/* Reads count tickets after skipping the first `skip`. Returns them (free() them), or NULL after
 * saying on stderr what is wrong, with file and line. Empty lines and lines that begin with # do
 * not count. */
struct ticket *tickets_load(const char *path, uint32_t skip, uint64_t count);

#endif
