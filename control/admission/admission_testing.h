/* admission_testing: admission between a dataplane, a shard, a world and a Redis that the test
 * plays. What admission does is in sent[], in order; what is said to it are the functions below.
 * Test code: one admission at a time, at file scope, failures by cmocka. */
#ifndef SW_CONTROL_ADMISSION_ADMISSION_TESTING_H
#define SW_CONTROL_ADMISSION_ADMISSION_TESTING_H

#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>

#include <cmocka.h>

#include "common/handle.h"
#include "common/mono.h"
#include "control/admission/admission.h"
#include "control/admission/ticket_key.h"

#define WALL    1800000000ull /* the wall clock of all tests */
#define LOG_MAX 4096

struct sent {
	char to; /* d, s, w: the ring; o: of an instance to a shard; c, r: claim, release; a, p:
		    arrived, departed */
	uint32_t index;
	uint64_t session;
	struct msg message[16];
};

extern struct sw_config config;
extern struct ticket_key key; /* signs the tickets; the test draws it */
extern struct adm *adm;
extern struct director *director;
extern struct sent sent[LOG_MAX];
extern uint32_t sent_count;
extern int claim_rc;    /* what Redis answers to a claim: 0, or a negative errno */
extern uint64_t now_ns; /* the clock of all tests */

enum step { AT_CONNECTED, AT_CLAIMING, AT_LOADING, AT_JOINING, AT_IN };

/* A new admission with 2 workers of 64 peers, 2 shards, and the maps meadow and caves. */
void begin(uint32_t players_max);
/* The same with what the test has changed of config. */
void begin_again(void);
/* Answers what the director has ordered so far. Returns how many. */
uint32_t builds_done(bool good);
uint64_t counted(enum adm_counter counter);
/* Nothing is left of anyone. */
void finish(void);

/* ---- what comes in: with channel 0 and the reliable flag where the test does not say ---- */

void dataplane(
	enum msg_type type, uint64_t peer, const void *payload, uint32_t bytes, uint8_t channel);
void connected(uint64_t peer);
void gone(uint64_t peer);
void hello_as(uint64_t peer, uint32_t version, const struct ticket *ticket);
struct ticket ticket_for(uint64_t account, uint64_t character);
void hello(uint64_t peer, uint64_t account, uint64_t character);
void loaded_as(uint64_t session, enum msg_load_result result, const char *map);
void shard_says(uint32_t shard, enum msg_type type, uint64_t session, uint32_t second);

/* ---- what went out ---- */

/* The newest entry to a ring, of a type (0: any); NULL if there is none. */
struct sent *last(char to, enum msg_type type);
uint32_t how_many(char to, enum msg_type type);
/* The newest two messages to the peer: Refused and the disconnect, for the same reason. */
void expect_refused(uint64_t peer, uint32_t reason, bool retry);
bool was_refused(uint64_t peer);
uint64_t peer_of(uint32_t n);
/* The session that the newest message to a shard about the peer named; 0: none, or it is gone. */
uint64_t session_of(uint64_t peer);
/* Brings a peer so far; returns its session (0 while it is not known). */
uint64_t bring(uint64_t peer, uint64_t account, uint64_t character, enum step step);
void leave_all(uint64_t peer, uint64_t session);

#endif
