/* cut_proxy: for tests of the world thread: stands between it and the private PostgreSQL and, while
 * cuts is set, cuts each new connection after a random number of bytes, at any byte, in either
 * direction. A thread of its own. */
#ifndef SW_CONTROL_WORLD_CUT_PROXY_H
#define SW_CONTROL_WORLD_CUT_PROXY_H

#include <pthread.h>
#include <stdatomic.h>
#include <stdbool.h>
#include <stdint.h>
#include <sys/un.h>

#define CUT_PAIRS_MAX 16

/* One connection: [0] the client's socket, [1] the server's. */
struct cut_pair {
	int fd[2];
	int64_t left; /* bytes, both directions, until it is cut */
};

struct cut_proxy {
	char folder[64]; /* host= of conninfo */
	struct sockaddr_un server;
	int listener;
	unsigned seed;
	int32_t cut_within; /* bytes; the test may change it before it sets cuts */
	_Atomic bool cuts, stop;
	_Atomic uint32_t cut_count;
	struct cut_pair pairs[CUT_PAIRS_MAX];
	uint32_t pair_count;
	pthread_t thread;
};

/* SW_SEED in the environment repeats the cuts, not the timing. */
void cut_proxy_start(struct cut_proxy *proxy);
void cut_proxy_stop(struct cut_proxy *proxy);

#endif
