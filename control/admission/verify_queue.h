/* verify_queue: the tickets that wait for the verification of their signature, and the order of
 * service: one of each source in turn, oldest first within a source. A source is an IPv4 address or
 * the /64 of an IPv6 one. So whoever floods from few sources waits behind itself: a ticket from
 * another source waits for one of each.
 *
 * A full queue takes a newcomer in place of the newest ticket of a source that has the most, if
 * that leaves the newcomer's source with no more than the other one.
 *
 * A fixed pool; every call is of constant time. Pure; one thread; allocates in _init alone. */
#ifndef SW_CONTROL_ADMISSION_VERIFY_QUEUE_H
#define SW_CONTROL_ADMISSION_VERIFY_QUEUE_H

#include <stdbool.h>
#include <stdint.h>

#include "control/admission/map64.h"
#include "control/admission/ticket.h"

#define VERIFY_NONE UINT32_MAX

struct verify_entry {
	uint64_t session; /* 0: free */
	uint64_t since_ns;
	uint32_t source, prev, next; /* in its source's list; next in the free list */
	uint32_t older, newer;       /* in the list of all, by age */
	uint32_t bytes;
	uint8_t ticket[TICKET_BYTES_MAX];
};

/* One that has tickets here. */
struct verify_source {
	uint64_t key;
	uint32_t head, tail, count;
	uint32_t before, after;          /* in the round of all sources; after in the free list */
	uint32_t level_prev, level_next; /* among those with as many tickets */
};

struct verify_queue {
	struct verify_entry *entries;  /* [max] */
	struct verify_source *sources; /* [max]: each has one ticket at least */
	uint32_t *levels;              /* [max + 1]: a source with so many tickets */
	struct map64 by_source;
	uint32_t max, count, source_count;
	uint32_t entry_free, source_free;
	uint32_t turn;           /* the source that is served next */
	uint32_t most;           /* tickets of the source that has the most */
	uint32_t oldest, newest; /* of all */
};

enum verify_push {
	VERIFY_TAKEN,
	VERIFY_TAKEN_FOR, /* and the session in *evicted is not in it any more */
	VERIFY_FULL       /* not taken */
};

/* Returns false when memory is short; max tickets of 600 bytes each, sources included. */
bool verify_queue_init(struct verify_queue *queue, uint32_t max);
void verify_queue_fini(struct verify_queue *queue);

/* The source that an address counts for. */
uint64_t verify_source_key(const uint8_t ip[16]);

/* bytes: at most TICKET_BYTES_MAX; session: not 0. *at is where it stands, for _remove. */
enum verify_push verify_queue_push(struct verify_queue *queue, uint64_t source, uint64_t session,
	const uint8_t *ticket, uint32_t bytes, uint64_t now_ns, uint32_t *at, uint64_t *evicted);

/* The next one to serve, and whose it is; NULL: none waits. It is not in the queue any more, and
 * the memory is good until the next push. */
const struct verify_entry *verify_queue_pop(struct verify_queue *queue, uint64_t *session);

/* It waits no more: its session has ended. */
void verify_queue_remove(struct verify_queue *queue, uint32_t at);

/* When the oldest came; 0: none waits. */
uint64_t verify_queue_oldest_ns(const struct verify_queue *queue);

#endif
