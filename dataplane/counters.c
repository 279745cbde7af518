#include "dataplane/counters.h"

#define DESC(id, counter_name, counter_kind, counter_help)                                         \
	[DP_C_##id] = {.name = (counter_name), .help = (counter_help), .kind = (counter_kind)},

const struct counter_desc dp_counter_desc[DP_COUNTER_COUNT] = {DP_COUNTERS(DESC)};
