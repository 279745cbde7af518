/* sample_probe: how far a server is, and whether it takes players; no login needed.
 *
 *	stormweir-probe ADDRESS PORT
 *
 * ADDRESS is IPv4, IPv6 or a name. Exit code: 0 ready, 1 silent, 3 anything else. */
#include <poll.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <time.h>

#include "client/stormweir.h"

static uint64_t now_ns(void)
{
	struct timespec now;

	clock_gettime(CLOCK_MONOTONIC, &now);
	return (uint64_t)now.tv_sec * 1000000000u + (uint64_t)now.tv_nsec;
}

int main(int argc, char **argv)
{
	const struct swc_probe_result *result;
	struct swc_probe *probe;
	enum swc_node_state state;
	uint64_t now;
	int error;

	if (argc != 3) {
		fprintf(stderr, "usage: %s ADDRESS PORT\n", argv[0]);
		return 2;
	}
	error = swc_probe_open(argv[1], (uint16_t)atoi(argv[2]), &probe);
	if (error) {
		fprintf(stderr, "%s: %s port %s: %s\n", argv[0], argv[1], argv[2],
			strerror(-error));
		return 2;
	}
	while (!swc_probe_service(probe, now = now_ns())) {
		struct pollfd socket = {.fd = swc_probe_fd(probe), .events = POLLIN};
		uint64_t due = swc_probe_due_ns(probe);

		poll(&socket, 1, due > now ? (int)((due - now) / 1000000u) + 1 : 0);
	}
	result = swc_probe_result(probe);
	state = result->state;
	if (result->answers)
		printf("%s %s; %.2f ms, median of %u\n", argv[1], swc_node_state_text(state),
			(double)result->rtt_ns / 1e6, result->answers);
	else
		printf("%s %s\n", argv[1], swc_node_state_text(state));
	swc_probe_close(probe);
	return state == SWC_NODE_READY ? 0 : state == SWC_NODE_SILENT ? 1 : 3;
}
