/* verifier: the thread that verifies the signatures of tickets (ticket_check, some 65 us each), so
 * that the control thread never does.
 *
 * Two rings (msg_ring.h), from and to the control thread. Between its waits the thread neither
 * allocates, locks nor logs, and makes no system call; when its ring is empty it waits for
 * verifier_ask to wake it. Who is served in which order, and who is refused when there are too
 * many, is admission's (verify_queue.h): never more than ADM_VERIFY_WINDOW tickets are here.
 *
 * On a machine with few cores it shares one with hot threads. It runs at nice VERIFIER_NICE, so
 * that a flood of tickets waits, not a tick. */
#ifndef SW_CONTROL_VERIFIER_H
#define SW_CONTROL_VERIFIER_H

#include <stdint.h>

#include "common/config.h"
#include "common/counter.h"
#include "common/msg_ring.h"
#include "control/admission/ticket.h"

#define VERIFIER_NICE 5

/* X(id, name, kind, help) */
#define VERIFIER_COUNTERS(X)                                                                       \
	X(VERIFIED, "verified", COUNTER_SUM, "tickets that were verified, good and bad")           \
	X(BAD, "bad", COUNTER_SUM, "of these, tickets that were not good")                         \
	X(BUSY, "busy_ns", COUNTER_SUM, "time that took")                                          \
	X(WAITS, "waits", COUNTER_SUM, "times it found nothing to do")

#define VERIFIER_COUNTER_ENUM(id, name, kind, help) VERIFIER_C_##id,
enum verifier_counter { VERIFIER_COUNTERS(VERIFIER_COUNTER_ENUM) VERIFIER_COUNTER_COUNT };

struct verifier;

/* What comes back: MSG_TICKET_VERIFIED. */
struct verifier_answer {
	uint64_t session;
	uint64_t took_ns;
	uint32_t fault; /* enum ticket_fault */
	uint32_t pad;
	struct ticket ticket;
};

/* Set-up thread. Starts the thread; NULL when memory or a thread is short. config outlives it. */
struct verifier *verifier_start(const struct sw_config *config);
/* Set-up thread, when nobody calls verifier_ask any more: ends the thread, with what it has not
 * done, and frees. NULL is fine. */
void verifier_stop(struct verifier *verifier);

/* Control thread. The bytes, at most TICKET_BYTES_MAX, are copied. No more than ADM_VERIFY_WINDOW
 * may be without an answer. */
void verifier_ask(struct verifier *verifier, uint64_t session, const uint8_t *ticket,
	uint32_t bytes, uint64_t wall_s);
/* Control thread is its consumer: MSG_TICKET_VERIFIED, a verifier_answer each. */
struct msg_ring *verifier_answers(struct verifier *verifier);

/* Any thread: group "verifier". */
const struct counter_set *verifier_counters(const struct verifier *verifier);

#endif
