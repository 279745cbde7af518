/* swc_probe: is the node there, does it take players, and how far is it? Over a socket of its own,
 * so that IPv6 works, which stock libenet has not. */
#include "client/stormweir.h"

#include <errno.h>
#include <netdb.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/random.h>
#include <sys/socket.h>
#include <unistd.h>

#include "proto/probe.h"

#define WAIT_NS     500000000ull
#define TRIES       2u  /* of each probe: a failed one is repeated once */
#define PROBE_BYTES 22u /* head, 8 random bytes, and room for what else a probe may carry */
#define NONCE_AT    SW_PROBE_BYTES_MIN

struct swc_probe {
	int fd;
	bool waits;             /* for the answer to request */
	uint32_t probes, tries; /* probes done; tries of the one at hand */
	uint64_t sent_ns;
	uint64_t rtt_ns[SWC_PROBES]; /* sorted */
	struct swc_probe_result result;
	uint8_t request[PROBE_BYTES];
};

/* A number that nobody who does not see the request can answer with. */
static int draw(struct swc_probe *probe)
{
	uint8_t *p = probe->request;

	p[0] = SW_PROBE_0;
	p[1] = SW_PROBE_1;
	p[2] = SW_PROBE_REQUEST;
	p[4] = (uint8_t)probe->probes;
	p[5] = (uint8_t)probe->tries;
	return getrandom(p + NONCE_AT, 8, 0) == 8 ? 0 : -EIO;
}

int swc_probe_open(const char *address, uint16_t port, struct swc_probe **out)
{
	const struct addrinfo hints = {.ai_socktype = SOCK_DGRAM, .ai_flags = AI_NUMERICSERV};
	struct addrinfo *found = NULL;
	struct swc_probe *probe;
	char service[8];
	int error = -EHOSTUNREACH;

	if (!address || !*address || !port)
		return -EINVAL;
	probe = calloc(1, sizeof(*probe));
	if (!probe)
		return -ENOMEM;
	probe->fd = -1;
	probe->result.state = SWC_NODE_SILENT;
	snprintf(service, sizeof(service), "%u", port);
	if (!getaddrinfo(address, service, &hints, &found)) {
		for (struct addrinfo *at = found; at && probe->fd < 0; at = at->ai_next) {
			int fd =
				socket(at->ai_family, SOCK_DGRAM | SOCK_CLOEXEC | SOCK_NONBLOCK, 0);

			if (fd < 0)
				continue;
			/* Connected: the kernel takes answers from there alone. */
			if (connect(fd, at->ai_addr, at->ai_addrlen))
				close(fd);
			else
				probe->fd = fd;
		}
		freeaddrinfo(found);
		error = probe->fd < 0 ? -EHOSTUNREACH : 0;
	}
	if (error) {
		swc_probe_close(probe);
		return error;
	}
	*out = probe;
	return 0;
}

void swc_probe_close(struct swc_probe *probe)
{
	if (!probe)
		return;
	if (probe->fd >= 0)
		close(probe->fd);
	free(probe);
}

static void answered(struct swc_probe *probe, uint64_t rtt_ns, uint8_t state)
{
	struct swc_probe_result *result = &probe->result;
	uint32_t at = result->answers;

	for (; at && probe->rtt_ns[at - 1] > rtt_ns; at--)
		probe->rtt_ns[at] = probe->rtt_ns[at - 1];
	probe->rtt_ns[at] = rtt_ns;
	result->answers++;
	/* The middle one; of two, the shorter: nothing makes a round trip too short. */
	result->rtt_ns = probe->rtt_ns[(result->answers - 1) / 2];
	/* A state of a newer server's: not ready, whatever it means. */
	result->state = state <= SW_NODE_FULL ? (enum swc_node_state)state : SWC_NODE_CLOSED;
	probe->probes++;
	probe->tries = 0;
	probe->waits = false;
}

static void receive(struct swc_probe *probe, uint64_t now_ns)
{
	uint8_t in[PROBE_BYTES + 1];
	ssize_t n;

	/* What is not the answer awaited is nobody's: a late one to an earlier try, or a forgery.
	 */
	for (int i = 0; i < 64 && probe->waits; i++) {
		n = recv(probe->fd, in, sizeof(in), MSG_DONTWAIT);
		if (n < 0 && errno != EINTR && errno != ECONNREFUSED)
			return;
		if (n == PROBE_BYTES && sw_probe_is(in, (uint32_t)n) && in[2] == SW_PROBE_ANSWER &&
			!memcmp(in + 4, probe->request + 4, PROBE_BYTES - 4))
			answered(probe, now_ns - probe->sent_ns, in[3]);
	}
}

bool swc_probe_service(struct swc_probe *probe, uint64_t now_ns)
{
	receive(probe, now_ns);
	if (probe->waits && now_ns - probe->sent_ns >= WAIT_NS) {
		probe->waits = false;
		if (probe->tries == TRIES) {
			probe->probes++;
			probe->tries = 0;
		}
	}
	if (!probe->waits && probe->probes < SWC_PROBES) {
		probe->tries++;
		probe->waits = true;
		probe->sent_ns = now_ns;
		/* What cannot be sent now counts as lost. */
		if (!draw(probe) && send(probe->fd, probe->request, PROBE_BYTES, 0) < 0)
			errno = 0;
	}
	return probe->probes == SWC_PROBES;
}

int swc_probe_fd(const struct swc_probe *probe)
{
	return probe->fd;
}

uint64_t swc_probe_due_ns(const struct swc_probe *probe)
{
	if (probe->probes == SWC_PROBES)
		return UINT64_MAX;
	return probe->waits ? probe->sent_ns + WAIT_NS : 0;
}

const struct swc_probe_result *swc_probe_result(const struct swc_probe *probe)
{
	return &probe->result;
}

const char *swc_node_state_text(enum swc_node_state state)
{
#define STATE_TEXT(name, value, text)                                                              \
	case value:                                                                                \
		return text;
	switch ((int)state) {
		SW_NODE_STATES(STATE_TEXT)
	}
	return "does not answer";
}
