/* pattern: Lua 5.4's patterns (reference manual 6.4.1), matched with counted steps. Stock Lua's
 * matcher backtracks in C, where no hook fires: ("a?"):rep(40) against forty a's runs for hours.
 * This one gives the same answers, and stops after a given number of steps.
 *
 * Pure: no Lua state, no allocation. One thread per struct. */
#ifndef SW_SIMULATION_SCRIPT_PATTERN_H
#define SW_SIMULATION_SCRIPT_PATTERN_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

#define PATTERN_CAPTURES_MAX 32
#define PATTERN_DEPTH_MAX    200 /* as stock Lua */

#define PATTERN_POSITION ((ptrdiff_t)-1) /* capture length of "()" */
#define PATTERN_OPEN     ((ptrdiff_t)-2)

struct pattern {
	const char *subject, *subject_end;
	const char *pattern_end;
	uint64_t steps;    /* left */
	const char *error; /* set when pattern_match could not finish; static text */
	bool over_steps;   /* the error is that steps ran out */
	int depth;
	int captures;
	struct {
		const char *start;
		ptrdiff_t bytes; /* or PATTERN_POSITION, PATTERN_OPEN */
	} capture[PATTERN_CAPTURES_MAX];
};

/* Tries to match pattern (without a '^' anchor) at exactly from. Returns the match's end; NULL with
 * error NULL: no match; NULL with error set: malformed, too complex, or out of steps. The caller
 * has set subject, subject_end, pattern_end and steps; captures hold after a match. */
const char *pattern_match(struct pattern *m, const char *from, const char *pattern);

#endif
