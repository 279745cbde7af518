/* statements: the SQL of the world thread, and how messages become its parameters and its results
 * become messages. Pure but for libpq's result accessors. */
#ifndef SW_CONTROL_WORLD_STATEMENTS_H
#define SW_CONTROL_WORLD_STATEMENTS_H

#include <stdbool.h>
#include <stdint.h>
#include <libpq-fe.h>

#include "common/commit.h"
#include "common/msg.h"
#include "control/world/pg_link.h"
#include "control/world/save_table.h"

/* Of the requests link, and of the saves link. */
#define STATEMENTS_REQUESTS 16u
#define STATEMENTS_SAVES    1u
#define PRUNE_PAGE          1000u /* records, or rows of the ledger, that are looked at */
extern const struct pg_prepared statements_requests[STATEMENTS_REQUESTS];
extern const struct pg_prepared statements_saves[STATEMENTS_SAVES];

/* Parameters in network order, for one request; pg_link_send copies them. */
struct load_params {
	uint32_t realm_id, appearance;
	uint64_t character_id, account_id, epoch_max;
	char plain[CHARACTER_NAME_BYTES], suffixed[CHARACTER_NAME_BYTES];
};
#define LOAD_CALLS 3u
void statements_load(const struct msg_character_load *load, struct load_params *params,
	struct pg_call calls[LOAD_CALLS]);
void statements_detail(
	const struct msg_detail_query *query, struct load_params *params, struct pg_call *call);

/* Fills the answer from the results of statements_load; all but session and character_id. Sets
 * *created when the character is new, *renamed when it is and has not the ticket's name. Returns
 * false when the results are not what the statements give. */
bool statements_loaded(PGresult *const *results, uint32_t count, const char *wanted,
	struct msg_character_loaded *answer, bool *created, bool *renamed);
/* The same for statements_detail; all but request and character_id of the head. False also when
 * there is no such character (*unknown). */
struct detail_answer {
	struct msg_detail_result head;
	struct msg_slot slots[COMMIT_SLOTS_MAX];
	struct msg_quest quests[COMMIT_QUESTS_MAX];
};
bool statements_detailed(
	PGresult *const *results, uint32_t count, struct detail_answer *answer, bool *unknown);

/* The arrays of a batch, built in memory of its own, enough for batch_max saves. */
struct save_encoder;
struct save_encoder *save_encoder_new(uint32_t batch_max);
void save_encoder_free(struct save_encoder *encoder);
/* *call points into the encoder and at saves, which are of one realm. */
void save_encoder_fill(struct save_encoder *encoder, const struct save *saves, uint32_t count,
	struct pg_call *call);
/* How many rows of the batch were written; the rest were refused. */
uint32_t statements_saved(PGresult *const *results, uint32_t count);

#endif
