/* gate_link: the gate's turns as calls of lua/redis/gate_turn.lua, and the operators' word on it.
 *
 * Thread: the control loop, but for what is marked. */
#ifndef SW_CONTROL_GATE_GATE_LINK_H
#define SW_CONTROL_GATE_GATE_LINK_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

#include "control/gate/gate.h"

struct redis_link;
struct gate_link;

/* What became of gate_link_order(.., id). good: said, and what stood before; else why it may not
 * stand. */
typedef void gate_link_fn(void *ctx, uint64_t id, bool good, const char *text);

/* config and link are borrowed; free it after the link, whose callbacks may come until then. boot:
 * random, of this process; gate: borrowed. NULL: no memory. */
struct gate_link *gate_link_new(const struct sw_config *config, struct redis_link *link,
	uint64_t boot, struct gate *gate, gate_link_fn *ordered, void *ctx);
void gate_link_free(struct gate_link *gate_link);

/* The nodes, beside this one, whose places a Redis that was emptied has to know again before anybody
 * is let in: names, with blanks between them; copied. NULL, and as long as it was not called: not
 * known, then it waits for admission.rebuild. */
void gate_link_expect(struct gate_link *gate_link, const char *names);

/* Takes a turn when one is due, and tells those who wait. Every few milliseconds. */
void gate_link_tick(struct gate_link *gate_link, const struct gate_here *here, uint64_t now_ns);

/* An operator's word: state is OPEN, CLOSED or THROTTLED, rate counts with the last. ordered is
 * called once, later; or it returns false: Redis is away. */
bool gate_link_order(struct gate_link *gate_link, enum gate_state state, uint32_t rate,
	const char *author, const char *reason, uint64_t id);

/* Any thread: how the gate stands, with the operator's word, as a sentence. */
enum gate_state gate_link_health(struct gate_link *gate_link, char *text, size_t bytes);

#endif
