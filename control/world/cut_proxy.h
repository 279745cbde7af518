/* cut_proxy: for tests of the world thread: stands between it and the private PostgreSQL, on a
 * thread of its own, and does what the test sets, also while connections stand:
 *
 *   cuts     cuts each new connection after a random number of bytes, in either direction
 *   swallow  so many answers are not delivered, of those that hold the text `said` and come where
 *            a statement named with `asked` was called; in place of each its connection is cut: the
 *            server has done all of it, and nobody was told
 *   late_ms  what the server says arrives so much later; what is on its way keeps its time */
#ifndef SW_CONTROL_WORLD_CUT_PROXY_H
#define SW_CONTROL_WORLD_CUT_PROXY_H

#include <pthread.h>
#include <stdatomic.h>
#include <stdbool.h>
#include <stdint.h>
#include <sys/un.h>

#define CUT_PAIRS_MAX 16

/* What the server said, until it is to arrive. */
struct cut_late {
	struct cut_late *next;
	uint64_t due_ns;
	size_t count;
	char bytes[];
};

/* One connection: [0] the client's socket, [1] the server's. */
struct cut_pair {
	int fd[2];
	int64_t left;    /* bytes, both directions, until it is cut */
	bool asked;      /* a statement named with proxy->asked was called */
	bool swallowing; /* an answer has begun that nobody gets */
	struct cut_late *late, *late_last;
};

struct cut_proxy {
	char folder[64]; /* host= of conninfo */
	struct sockaddr_un server;
	int listener;
	unsigned seed;
	int32_t cut_within; /* bytes; the test may change it before it sets cuts */
	_Atomic bool cuts, stop;
	_Atomic uint32_t swallow, late_ms;
	const char *asked, *said;   /* set before swallow */
	_Atomic uint32_t cut_count; /* also of those instead of an answer */
	struct cut_pair pairs[CUT_PAIRS_MAX];
	uint32_t pair_count;
	pthread_t thread;
};

/* SW_SEED in the environment repeats the cuts, not the timing. */
void cut_proxy_start(struct cut_proxy *proxy);
void cut_proxy_stop(struct cut_proxy *proxy);

#endif
