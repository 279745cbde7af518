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
#include "control/admission/pressure.h"
#include "control/admission/ticket_key.h"

#define WALL    1800000000ull /* the wall clock of all tests */
#define LOG_MAX 4096

struct sent {
	char to; /* d, s, w: the ring; o: of an instance to a shard; c, r, x: claim, release, spend;
		    q, u: queue, unqueue (index: away); k: seek; a, p, v: arrived, departed,
		    vacated */
	uint32_t index;
	uint64_t session;
	uint8_t nonce[TICKET_NONCE_BYTES]; /* of a claim */
	struct msg message[16];
};

extern struct sw_config config;
extern struct ticket_key key; /* signs the tickets; the test draws it */
extern struct adm *adm;
extern struct director *director;
extern struct sent sent[LOG_MAX];
extern uint32_t sent_count;
extern const struct adm_secrets secrets;
/* What waits at the verifying thread, which the test plays: at once, unless verify_held. */
struct asked {
	uint64_t session;
	uint32_t bytes;
	uint8_t ticket[TICKET_BYTES_MAX];
};
extern struct asked asked[ADM_VERIFY_WINDOW];
extern uint32_t asked_count;
extern bool verify_held;
extern int claim_rc;   /* what Redis answers to a claim: 0, or a negative errno */
extern int seek_rc;    /* the same to a seek */
extern bool seek_auto; /* seeks are answered OURS after each thing that comes in */
extern bool sought_in_any_case, vacated_played; /* of the last ones */
extern int queue_rc;                            /* what the gate does */
extern struct gate_newcomer newcomer;           /* the last one that it was given */
extern uint64_t now_ns;                         /* the clock of all tests */

enum step { AT_CONNECTED, AT_CLAIMING, AT_LOADING, AT_JOINING, AT_IN };

/* A new admission with 2 workers of 64 peers, 2 shards, and the maps meadow and caves. */
void begin(uint32_t players_max);
/* The same with what the test has changed of config. */
void begin_again(void);
/* Answers all seeks that wait. */
void sought_all(enum adm_sought said);
/* Answers what the director has ordered so far. Returns how many. */
uint32_t builds_done(bool good);
uint64_t counted(enum adm_counter counter);
/* Verifies the oldest that was asked for. False: none was. */
bool verify_one(void);
/* Nothing is left of anyone. */
void finish(void);

/* ---- what comes in: with channel 0 and the reliable flag where the test does not say ---- */

void dataplane(
	enum msg_type type, uint64_t peer, const void *payload, uint32_t bytes, uint8_t channel);
void connected(uint64_t peer);
void connected_from(uint64_t peer, uint32_t ipv4); /* connected: from 0 */
void gone(uint64_t peer);
void hello_as(uint64_t peer, uint32_t version, const struct ticket *ticket);
/* What a Hello may bring; all of it may be left out. */
struct brings {
	const struct ticket *ticket; /* it is signed */
	const uint8_t *bytes;        /* or these, as a ticket */
	const uint8_t *pass;
	uint32_t count, pass_bytes;
	const uint8_t *challenge; /* [SW_PROOF_CHALLENGE_BYTES], with number */
	uint64_t number;
	bool stays; /* it follows no Redirect */
};
void hello_with(uint64_t peer, const struct brings *brings);
/* The newest Challenge or ReturnPass to the peer; false: none. bits, bytes may be NULL. */
bool challenge_of(uint64_t peer, uint8_t challenge[SW_PROOF_CHALLENGE_BYTES], uint32_t *bits);
bool pass_of(uint64_t peer, uint8_t pass[PASS_BYTES_MAX], uint32_t *bytes);
/* A number that solves it, after trying at most tries; false: none of them does. *number: where to
 * begin, and where it ended. */
bool solve(const uint8_t challenge[SW_PROOF_CHALLENGE_BYTES], uint32_t bits, uint64_t tries,
	uint64_t *number);
struct ticket ticket_for(uint64_t account, uint64_t character);
void hello(uint64_t peer, uint64_t account, uint64_t character);
/* Shown with each Hello from now on; 0 bytes: none. */
extern uint8_t shown_place[PASS_BYTES_MAX];
extern uint32_t shown_place_bytes;
void loaded_as(uint64_t session, enum msg_load_result result, const char *map);
void shard_says(uint32_t shard, enum msg_type type, uint64_t session, uint32_t second);

/* Redis says so, and who is in the queue then is let in. Returns what adm_claimed did. */
bool claimed(uint64_t session, enum adm_claim claim);
/* The gate lets all in that wait, if there is a place for them. Returns how many. */
uint32_t let_in(void);
/* The gate lets it in at another node; nobody has heard of it there. */
bool move_to(uint64_t session, const char *node);
void move_lost(uint64_t session);
void redirect_failed(uint64_t peer, uint32_t reason);
/* The pass of the newest Redirect to the peer; false: none. */
bool redirect_of(uint64_t peer, uint8_t pass[PASS_BYTES_MAX], uint32_t *bytes);
bool in_queue(uint64_t session);

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
