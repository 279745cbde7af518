#include "control/redis/scripts.h"

/* The arrays redis_script_<file>, made from lua/redis/<file>.lua when the build is configured. */
#include "redis_scripts_gen.h"

#define ENTRY(id, file)                                                                            \
	[REDIS_SCRIPT_##id] = {                                                                    \
		#file, (const char *)redis_script_##file, sizeof(redis_script_##file) - 1},

const struct redis_script_text redis_script_texts[REDIS_SCRIPT_COUNT] = {REDIS_SCRIPTS(ENTRY)};
