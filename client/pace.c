#include "client/pace.h"

#define NS_PER_S 1000000000ull

void swc_pace_join(struct swc_pace *pace)
{
	*pace = (struct swc_pace){0};
}

void swc_pace_update(struct swc_pace *pace, uint32_t waiting)
{
	if (!pace->looks || waiting < pace->least)
		pace->least = waiting;
	if (++pace->looks < SWC_PACE_LOOKS)
		return;
	pace->stretched = pace->least > 0;
	pace->looks = 0;
}

uint64_t swc_pace_interval_ns(const struct swc_pace *pace, uint32_t tick_hz)
{
	uint64_t interval_ns = NS_PER_S / tick_hz;

	return pace->stretched ? interval_ns + interval_ns / SWC_PACE_STRETCH_PER : interval_ns;
}
