/* benchmark.h: the numbers of benchmark sessions, which stormweir-echo makes without a handshake
 * and packet generators use: one rule, for the server, the captures and whoever writes a
 * generator's script (docs/packet-generators.md, where it stands in words).
 *
 * Session i, from 0: IPv4 address BENCHMARK_IP + i, UDP port BENCHMARK_UDP; in all other numbers
 * all sessions are alike, so that one payload serves them all. No byte of what a client sends first
 * is 0: Pktgen's user pattern is a C string. */
#ifndef SW_PERF_ECHO_BENCHMARK_H
#define SW_PERF_ECHO_BENCHMARK_H

#include <stdint.h>

#define BENCHMARK_IP           0x0a800001u /* 10.128.0.1, unless told otherwise */
#define BENCHMARK_UDP          20000u      /* likewise */
#define BENCHMARK_PEER_ID      0x101u      /* in both directions */
#define BENCHMARK_SESSION      1u          /* likewise: a client's datagram begins with 11 01 */
#define BENCHMARK_CHANNELS     4u
#define BENCHMARK_CONNECT_ID   0u /* nothing depends on it: there is no checksum */
#define BENCHMARK_SESSIONS_MAX 1000000u

struct echo_benchmark {
	uint32_t sessions; /* 0: none */
	uint32_t ip;       /* of session 0, host order */
	uint32_t udp_port;
};

/* The last address, host order. */
static inline uint32_t benchmark_last_ip(const struct echo_benchmark *benchmark)
{
	return benchmark->ip + (benchmark->sessions ? benchmark->sessions - 1 : 0);
}

#endif
