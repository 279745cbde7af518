/* raw.h: the reference load: frames of a size that go round between us and whoever sends each back
 * (testpmd's macswap), as fast as the port carries them; nothing is looked at. One thread. */
#ifndef SW_PERF_GEN_RAW_H
#define SW_PERF_GEN_RAW_H

#include "dataplane/port.h"
#include "perf/gen/drive.h"
#include "perf/gen/options.h"

/* The frames have the size of an echo of options->flow.bytes, and options->flow.window of them are
 * on their way. load->ctx is memory of raw's own; one at a time. */
void raw_load_init(
	struct drive_load *load, const struct gen_options *options, struct dp_port *port);

#endif
