#include "control/verifier.h"

#include <pthread.h>
#include <semaphore.h>
#include <signal.h>
#include <stdatomic.h>
#include <stdbool.h>
#include <stdlib.h>
#include <string.h>
#include <sys/resource.h>
#include <unistd.h>

#include "common/check.h"
#include "common/handle.h"
#include "common/mono.h"
#include "control/admission/admission.h"

struct ask {
	uint64_t session, wall_s;
	uint32_t bytes, pad;
	/* the ticket follows */
};

#define ASK_SLOTS    ((MSG_HEAD_BYTES + sizeof(struct ask) + TICKET_BYTES_MAX) / MSG_SLOT_BYTES + 1)
#define ANSWER_SLOTS ((MSG_HEAD_BYTES + sizeof(struct verifier_answer)) / MSG_SLOT_BYTES + 1)
/* 64 tickets of 9 slots at most: 576. */
#define RING_SLOTS 1024u
_Static_assert(ADM_VERIFY_WINDOW *ASK_SLOTS < RING_SLOTS, "all that may be under way fit");
_Static_assert(ANSWER_SLOTS <= ASK_SLOTS, "and so do their answers");

static const struct counter_desc counter_descs[VERIFIER_COUNTER_COUNT] = {
#define DESC(id, name, kind, help) {name, help, kind},
	VERIFIER_COUNTERS(DESC)
#undef DESC
};

struct verifier {
	const struct sw_config *config;
	struct msg_ring *asks, *answers;
	sem_t wake; /* posted after each ask */
	_Atomic bool ends;
	pthread_t thread;
	_Atomic uint64_t counters[VERIFIER_COUNTER_COUNT]; /* the thread writes */
	struct counter_set set;
	struct msg burst[2 * MSG_SLOTS_MAX];
};

static void verify(struct verifier *verifier, const struct msg *message)
{
	const struct sw_config *config = verifier->config;
	const uint8_t *payload = msg_payload(message);
	struct verifier_answer answer = {.pad = 0};
	struct msg out[ANSWER_SLOTS];
	uint64_t began_ns = mono_ns();
	struct ask ask;

	memcpy(&ask, payload, sizeof(ask));
	answer.session = ask.session;
	answer.fault = ticket_check(&answer.ticket, payload + sizeof(ask), ask.bytes,
		config->admission.ticket_keys, config->admission.ticket_key_count,
		config->node.realm_id, ask.wall_s);
	answer.took_ns = mono_ns() - began_ns;
	counter_add(&verifier->counters[VERIFIER_C_VERIFIED], 1);
	counter_add(&verifier->counters[VERIFIER_C_BAD], answer.fault != TICKET_FAULT_NONE);
	counter_add(&verifier->counters[VERIFIER_C_BUSY], answer.took_ns);
	memcpy(msg_begin(out, MSG_TICKET_VERIFIED, HANDLE_NONE, sizeof(answer)), &answer,
		sizeof(answer));
	out->subject = ask.session;
	CHECK(msg_ring_push(verifier->answers, out));
}

static void *thread_main(void *arg)
{
	struct verifier *verifier = arg;
	uint32_t filled;

	pthread_setname_np(pthread_self(), "verifier");
	/* Linux has a priority per thread. Without it a flood only competes harder. */
	setpriority(PRIO_PROCESS, (id_t)gettid(), VERIFIER_NICE);
	while (!atomic_load(&verifier->ends)) {
		filled = msg_ring_pop(verifier->asks, verifier->burst,
			sizeof(verifier->burst) / sizeof(verifier->burst[0]));
		for (const struct msg *message = verifier->burst;
			message < verifier->burst + filled && !atomic_load(&verifier->ends);
			message = msg_next(message))
			verify(verifier, message);
		if (filled)
			continue;
		/* Each ask posts, also those that were taken with another one: then the next look
		 * finds nothing, and it waits again. */
		counter_add(&verifier->counters[VERIFIER_C_WAITS], 1);
		sem_wait(&verifier->wake);
	}
	return NULL;
}

static void verifier_free(struct verifier *verifier)
{
	msg_ring_free(verifier->asks);
	msg_ring_free(verifier->answers);
	sem_destroy(&verifier->wake);
	free(verifier);
}

struct verifier *verifier_start(const struct sw_config *config)
{
	struct verifier *verifier = aligned_alloc(64, (sizeof(*verifier) + 63) & ~(size_t)63);
	sigset_t all, before;
	int rc;

	if (!verifier)
		return NULL;
	memset(verifier, 0, sizeof(*verifier));
	verifier->config = config;
	verifier->set = (struct counter_set){
		"verifier", 0, VERIFIER_COUNTER_COUNT, counter_descs, verifier->counters};
	CHECK(!sem_init(&verifier->wake, 0, 0));
	verifier->asks = msg_ring_new("control-verifier", RING_SLOTS);
	verifier->answers = msg_ring_new("verifier-control", RING_SLOTS);
	if (!verifier->asks || !verifier->answers) {
		verifier_free(verifier);
		return NULL;
	}
	/* Signals are for the main thread. */
	sigfillset(&all);
	pthread_sigmask(SIG_SETMASK, &all, &before);
	rc = pthread_create(&verifier->thread, NULL, thread_main, verifier);
	pthread_sigmask(SIG_SETMASK, &before, NULL);
	if (rc) {
		verifier_free(verifier);
		return NULL;
	}
	return verifier;
}

void verifier_stop(struct verifier *verifier)
{
	if (!verifier)
		return;
	atomic_store(&verifier->ends, true);
	sem_post(&verifier->wake);
	pthread_join(verifier->thread, NULL);
	verifier_free(verifier);
}

void verifier_ask(struct verifier *verifier, uint64_t session, const uint8_t *ticket,
	uint32_t bytes, uint64_t wall_s)
{
	const struct ask ask = {.session = session, .wall_s = wall_s, .bytes = bytes};
	struct msg message[ASK_SLOTS];
	uint8_t *payload;

	CHECK(bytes <= TICKET_BYTES_MAX);
	payload = msg_begin(message, MSG_TICKET_VERIFY, HANDLE_NONE, sizeof(ask) + bytes);
	message->subject = session;
	memcpy(payload, &ask, sizeof(ask));
	memcpy(payload + sizeof(ask), ticket, bytes);
	CHECK(msg_ring_push(verifier->asks, message));
	sem_post(&verifier->wake);
}

struct msg_ring *verifier_answers(struct verifier *verifier)
{
	return verifier->answers;
}

const struct counter_set *verifier_counters(const struct verifier *verifier)
{
	return &verifier->set;
}
