/* commit_statement: how a batch of commits becomes one call of commit_batch_1, commit_set_1 or
 * commit_slots_1, by its kind (migrations/0002, 0004 and 0009 have them, and why they are safe),
 * and what comes back becomes results. Pure but for libpq's result accessors. */
#ifndef SW_CONTROL_WORLD_COMMIT_STATEMENT_H
#define SW_CONTROL_WORLD_COMMIT_STATEMENT_H

#include "control/world/commit_table.h"
#include "control/world/pg_link.h"

#define STATEMENTS_COMMITS COMMIT_KINDS
extern const struct pg_prepared statements_commits[STATEMENTS_COMMITS];

/* The arrays of a batch, built in memory of its own. */
struct commit_encoder;
struct commit_encoder *commit_encoder_new(uint32_t batch_max, uint32_t batch_ops_max);
void commit_encoder_free(struct commit_encoder *encoder);
size_t commit_encoder_bytes(uint32_t batch_max, uint32_t batch_ops_max);
/* *call points into the encoder. commits: of one realm, within the encoder's limits. */
void commit_encoder_fill(struct commit_encoder *encoder, struct commit *const *commits,
	uint32_t count, enum commit_kind kind, struct pg_call *call);

/* Fills the result of each commit of the batch, all of it; *repeated: how many had one from an
 * earlier time. False, with nothing to rely on, when it is not what the statement gives. */
bool commit_results_read(PGresult *const *results, uint32_t result_count,
	struct commit *const *commits, uint32_t count, enum commit_kind kind, uint32_t *repeated);

#endif
