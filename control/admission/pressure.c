#include "control/admission/pressure.h"

#include "common/mono.h"

#define LOOK_NS (PRESSURE_LOOK_MS * NS_PER_MS)
#define CALM_NS (PRESSURE_CALM_LOOKS * LOOK_NS)
#define FORGET  16u /* weight of the mean against one more */
#define SANE_NS (100 * NS_PER_MS)

void pressure_init(struct pressure *pressure, uint64_t wait_ns, uint32_t bits_max)
{
	*pressure = (struct pressure){
		.wait_ns = wait_ns, .bits_max = bits_max, .ticket_ns = PRESSURE_TICKET_NS};
}

void pressure_offered(struct pressure *pressure)
{
	pressure->offered++;
}

void pressure_verified(struct pressure *pressure, uint64_t took_ns)
{
	/* The thread was not run, rather. */
	if (took_ns > SANE_NS)
		took_ns = SANE_NS;
	pressure->ticket_ns -= pressure->ticket_ns / FORGET;
	pressure->ticket_ns += took_ns / FORGET;
}

static void begin_anew(struct pressure *pressure)
{
	pressure->calm = 0;
	pressure->offered = 0;
}

static void up(struct pressure *pressure)
{
	uint32_t bits = pressure->bits ? pressure->bits + 1 : PRESSURE_BITS_MIN;

	pressure->bits = bits < pressure->bits_max ? bits : pressure->bits_max;
}

static void down(struct pressure *pressure)
{
	if (pressure->offered * pressure->ticket_ns < CALM_NS / 2)
		pressure->bits = 0;
	else if (pressure->bits > PRESSURE_BITS_MIN)
		pressure->bits--;
}

void pressure_look(struct pressure *pressure, uint64_t waited_ns, uint64_t now_ns)
{
	if (pressure->looked_ns && now_ns - pressure->looked_ns < LOOK_NS)
		return;
	pressure->looked_ns = now_ns;
	if (waited_ns >= pressure->wait_ns) {
		up(pressure);
		begin_anew(pressure);
	} else if (waited_ns >= pressure->wait_ns / 4) {
		begin_anew(pressure);
	} else if (++pressure->calm >= PRESSURE_CALM_LOOKS) {
		down(pressure);
		begin_anew(pressure);
	}
}
