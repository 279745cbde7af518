/* party_internal: what the parts of party share: party.c (what comes in, presence, the tick),
 * party_calls.c (calls of the script, their replies), party_events.c (the stream, what shards are
 * told), party_look.c (what an operator asks), party_restore.c (an emptied Redis). Control thread.
 */
#ifndef SW_CONTROL_PARTY_PARTY_INTERNAL_H
#define SW_CONTROL_PARTY_PARTY_INTERNAL_H

#include <hiredis/hiredis.h>
#include <jansson.h>

#include "control/party/party.h"
#include "control/redis/redis_link.h"

#define NUMBER_BYTES 24u /* decimal text of 64 bits */

enum restore_step { RESTORE_IDLE, RESTORE_BEGINNING, RESTORE_READING, RESTORE_WAITING };

struct here_entry {
	uint64_t character_id;
};

struct away_entry {
	uint64_t character_id, generation;
};

struct party {
	const struct sw_config *config;
	struct redis_link *link;
	uint32_t shards;
	struct party_ops ops;
	char base[64];
	uint64_t now_ns; /* of the last call that brought it */

	struct here_entry here[PARTY_BATCH];
	struct away_entry away[PARTY_BATCH];
	uint32_t here_count, away_count;
	uint32_t calls;

	/* The stream. */
	bool up, attached, attaching, reading, read_again;
	char last_event[48];
	uint64_t last_version, read_ns;
	uint64_t newest_version; /* of those that came one after the other; outlives connections */

	/* An emptied Redis. */
	enum restore_step restore;
	uint64_t restore_token, restore_request, restore_ns; /* when it is to go on, or given up */
	uint32_t restore_rows;                               /* sent to Redis, not answered */
	bool restore_ended;                                  /* the page's last row has come */
	uint64_t restore_epoch, restore_next;                /* of END */

	struct msg_buffer scratch;
	_Atomic uint64_t counters[PARTY_COUNTER_COUNT];
	struct counter_set set;
};

static inline void party_count(struct party *party, enum party_counter counter, uint64_t n)
{
	counter_add(&party->counters[counter], n);
}

/* ---- party_calls.c ---- */

struct party_call;
/* reply: NULL where the call failed, whatever came of it; else an array of strings. from: the first
 * that belongs to no changed party's text. */
typedef void party_reply_fn(struct party *party, struct party_call *call, const redisReply *reply);

struct party_call {
	struct party *party;
	party_reply_fn *fn;
	/* of a shard's request */
	uint64_t peer, session;
	uint32_t shard;
	struct msg_party_request request;
	uint64_t restore_request;
	uint64_t look_request;
};

/* Runs operation op with argc arguments. what says what the reply is for; it is copied. False:
 * Redis is away, or too much is under way; fn is not called. */
bool party_call(struct party *party, party_reply_fn *fn, const struct party_call *what,
	const char *op, int argc, const char *const *argv);

/* The text at i, "" if there is none. */
const char *party_text(const redisReply *reply, size_t i);
/* Decimal; 0 for anything else. */
uint64_t party_number(const char *text);
void party_number_text(uint64_t number, char text[NUMBER_BYTES]);
/* A field of the JSON that the script keeps, which has numbers of 64 bits as text. */
uint64_t party_json_number(const json_t *object, const char *name);
/* At most bytes - 1 of it, and zeros. */
void party_name_copy(char *to, size_t bytes, const char *from);

/* ---- party_events.c ---- */

void party_attach(struct party *party);
void party_read(struct party *party);
void party_tell_answer(
	struct party *party, const struct party_call *call, enum party_result result);
/* The reply to arrive. */
void party_tell_arrived(
	struct party *party, const struct party_call *call, const redisReply *reply);

/* ---- party_restore.c ---- */

/* The script says that Redis knows nothing. */
void party_restore_begin(struct party *party);
void party_restore_tick(struct party *party);
/* The link has broken. */
void party_restore_reset(struct party *party);

#endif
