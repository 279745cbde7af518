/* hunt.h: what a bot of --walk game does besides walking: it knows the monsters and the loot that
 * ViewChange tells it of, looks around once a second, goes to what is nearest within
 * HUNT_SIGHT_MM, strikes a monster every HUNT_STRIKE inputs while it is in reach, and picks loot
 * up. It is as short-sighted as it is cheap: at most HUNT_NEAR things, of a ViewChange in fragments
 * only what the first one holds, world updates read only while it looks or has a target.
 *
 * No time, no memory of its own, no socket: messages and the number of the next input go in. One
 * thread makes every call. Bytes come from the server under test; what cannot be read is left out.
 */
#ifndef SW_PERF_GEN_HUNT_H
#define SW_PERF_GEN_HUNT_H

#include <stdbool.h>
#include <stdint.h>

#define HUNT_NEAR     16u
#define HUNT_INPUTS   8u    /* a batch: the ways of so many are remembered */
#define HUNT_SIGHT_MM 10000 /* further away it goes its own way */
#define HUNT_LOOK     20u   /* inputs from one look around to the next */
#define HUNT_STRIKE   21u   /* inputs from one blow to the next: bare hands' cooldown and a tick */
#define HUNT_PICK     20u   /* ... from one try to pick up to the next */
#define HUNT_GIVE_UP  200u  /* inputs after which a target that is still there is forgotten */
#define HUNT_BLOW_MM  1700  /* within so much it stops and strikes: the fist reaches 2,000 */
#define HUNT_GRAB_MM  2000  /* ... and picks up: 2,500 are allowed */

enum hunt_act { HUNT_WALK, HUNT_ATTACK, HUNT_PICK_UP };

struct hunt_thing {
	uint32_t id;
	int32_t x_mm, y_mm;
};

/* All zero: nobody. */
struct hunt {
	uint32_t self; /* own actor id */
	int32_t x_mm, y_mm;
	uint32_t target; /* its id, 0: none */
	uint32_t until;  /* the input at which it is given up */
	uint32_t look_at, act_at;
	uint8_t count;
	bool looks;   /* the next update is read to look around */
	uint8_t loot; /* ... the target is */
	uint8_t is_loot[HUNT_NEAR];
	struct hunt_thing near[HUNT_NEAR];       /* [count] */
	int8_t dx[HUNT_INPUTS], dy[HUNT_INPUTS]; /* ways of the last inputs, by sequence */
};

/* Each message without its type byte. */
void hunt_joined(struct hunt *h, const uint8_t *at, const uint8_t *end);
void hunt_view(struct hunt *h, const uint8_t *at, const uint8_t *end);
void hunt_refused(struct hunt *h, const uint8_t *at, const uint8_t *end);

/* Whether the next world update is worth reading, and that. */
static inline bool hunt_reads(const struct hunt *h)
{
	return h->count && (h->target || h->looks);
}
void hunt_update(struct hunt *h, uint32_t input, const uint8_t *at, const uint8_t *end);

/* For input number `input`, which goes *dx, *dy by itself: changes that towards a target, keeps it
 * for the batches to come, and says whether to act on *actor_id, too. may_act: nothing said before
 * waits to be acknowledged. */
enum hunt_act hunt_step(
	struct hunt *h, uint32_t input, bool may_act, int8_t *dx, int8_t *dy, uint32_t *actor_id);

#endif
