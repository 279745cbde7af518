/* pressure: how much work a client is asked for before its ticket's signature is verified. The
 * rule, looked at every PRESSURE_LOOK_MS:
 *
 *   up     the oldest ticket that waits has waited longer than `wait`: one bit more (the work
 *          doubles), from PRESSURE_BITS_MIN to `bits_max`
 *   down   in PRESSURE_CALM_LOOKS looks on end it waited less than a quarter of that: one bit less,
 *          not below PRESSURE_BITS_MIN
 *   off    as down, and what came for verification meanwhile, the tickets of those who did not do
 *          the work included, would have kept the thread less than half busy: so a flood that
 *          refuses to work does not switch the work off by refusing
 *
 * Pure: the clock is an argument; the caller says what it saw. */
#ifndef SW_CONTROL_ADMISSION_PRESSURE_H
#define SW_CONTROL_ADMISSION_PRESSURE_H

#include <stdint.h>

#define PRESSURE_BITS_MIN   12u /* about 4,096 hashes: a millisecond or two */
#define PRESSURE_LOOK_MS    100u
#define PRESSURE_CALM_LOOKS 10u
/* What a signature is taken to cost before any was verified. */
#define PRESSURE_TICKET_NS 65000u

struct pressure {
	uint64_t wait_ns;   /* when it begins */
	uint32_t bits_max;  /* 0: nobody is ever asked for work */
	uint32_t bits;      /* asked for now; 0: calm */
	uint64_t looked_ns; /* the last look; 0: none yet */
	uint32_t calm;      /* looks on end */
	uint64_t offered;   /* tickets since the first of them */
	uint64_t ticket_ns; /* what one costs the thread: a mean that forgets */
};

void pressure_init(struct pressure *pressure, uint64_t wait_ns, uint32_t bits_max);

/* A ticket came that would be verified if nobody was asked for work. */
void pressure_offered(struct pressure *pressure);

/* One was verified, and took the thread so long. */
void pressure_verified(struct pressure *pressure, uint64_t took_ns);

/* Often; looks when it is time. waited_ns: of the oldest ticket that waits; 0: none does. */
void pressure_look(struct pressure *pressure, uint64_t waited_ns, uint64_t now_ns);

#endif
