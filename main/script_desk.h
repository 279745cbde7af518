/* script_desk: what operators see of the maps' scripts, and where control's orders about them reach the
 * simulation. Keeps the last errors of each map; formats what swctl script shows.
 *
 * Threads: new, free: set-up. note: the main thread. ops: the control thread and its pool's. */
#ifndef SW_MAIN_SCRIPT_DESK_H
#define SW_MAIN_SCRIPT_DESK_H

#include <stdbool.h>

#include "common/config.h"
#include "control/control.h"
#include "simulation/instance.h"

#define SCRIPT_DESK_ERRORS 8u /* of each map */

struct script_desk;

/* instances, config: borrowed. recording: what changes scripts is refused, since a replay could not
 * repeat it; read at each order. NULL: no memory. */
struct script_desk *script_desk_new(struct sim_instances *instances, const struct sw_config *config,
	bool (*recording)(void *ctx), void *recording_ctx);
void script_desk_free(struct script_desk *desk);

/* An error or log line of a slot's script; title as script_text_title has it. */
void script_desk_note(struct script_desk *desk, uint32_t slot, const struct script_text *text,
	const char *title);

extern const struct ctl_script_ops script_desk_ops; /* ctx: the desk */

#endif
