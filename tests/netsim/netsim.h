/* netsim.h: a network that loses, delays, reorders and repeats datagrams, on a clock of its own.
 *
 * For tests of anything that talks UDP: nothing here reads a clock, opens a socket or draws a
 * random number that the seed does not fix, so a failure repeats from its seed. One thread.
 *
 * stock_enet.h puts unmodified libenet onto it. */
#ifndef SW_TESTS_NETSIM_NETSIM_H
#define SW_TESTS_NETSIM_NETSIM_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

struct netsim;

/* libenet subtracts a header's length from that of what came, and reads beyond it when that was
 * shorter. */
#define NETSIM_TRUNCATE_BYTES 12u

struct netsim_config {
	uint64_t seed;
	double loss;    /* 0..1: a datagram is lost */
	double repeat;  /* 0..1: it arrives twice */
	double corrupt; /* 0..1: one of its bytes changes */
	double truncate; /* 0..1: its end is cut off; NETSIM_TRUNCATE_BYTES at least stay */
	uint32_t delay_min_ms,
		delay_max_ms; /* one way, drawn for each datagram: so they overtake */
};

struct netsim_address { /* host order */
	uint32_t ip;
	uint16_t port;
};

/* Sees every datagram as it is sent; false: it is lost. */
typedef bool (*netsim_filter)(void *ctx, struct netsim_address from, struct netsim_address to,
	const uint8_t *data, size_t bytes);

/* start_ms: the clock's first value. Never returns NULL (a test cannot go on without memory). */
struct netsim *netsim_new(const struct netsim_config *config, uint64_t start_ms);
void netsim_free(struct netsim *sim);

/* Changes loss, repetition and delays from here on; the seed stays. */
void netsim_configure(struct netsim *sim, const struct netsim_config *config);
void netsim_filter_set(struct netsim *sim, netsim_filter filter, void *ctx);

uint64_t netsim_now_ms(const struct netsim *sim);
void netsim_advance(struct netsim *sim, uint64_t ms);

/* A draw in [0, below); the simulator's own generator. */
uint32_t netsim_random(struct netsim *sim, uint32_t below);

void netsim_send(struct netsim *sim, struct netsim_address from, struct netsim_address to,
	const void *data, size_t bytes);

/* The next datagram that has arrived at an address, in order of arrival. Returns its bytes (cut to
 * capacity), or -1 when there is none yet. */
int netsim_receive(struct netsim *sim, struct netsim_address at, struct netsim_address *from,
	void *data, size_t capacity);

/* When the next datagram arrives anywhere; UINT64_MAX if none is under way. */
uint64_t netsim_next_ms(const struct netsim *sim);

struct netsim_counts {
	uint64_t sent, lost, repeated, delivered, bytes;
};
struct netsim_counts netsim_counts(const struct netsim *sim);

#endif
