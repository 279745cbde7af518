/* audit: whether what characters own is what the ledger says. Set-up thread or a tool; waits.
 *
 * Everything is summed up from the ledger, and from what old rows of it came to when they were taken
 * away (prune.c), and compared with the tables: gold, experience, each slot
 * with its item and serial, each quest, each match result; that each row's balance is the sum up to
 * it cannot be seen from the rows alone, as they have no order, but each last balance is a sum.
 * Each finished commit has to have its rows, and each row a finished commit (or be an opening one,
 * from migration 0002), unless they are older than the checkpoint; the sums of old rows have to come
 * to what the checkpoint says of the realm. One snapshot, so a running server does not disturb it. */
#ifndef SW_CONTROL_WORLD_AUDIT_H
#define SW_CONTROL_WORLD_AUDIT_H

#include <stdint.h>
#include <stdio.h>
#include <libpq-fe.h>

/* realm_id: 0 for all. Writes a line for each difference to out. Returns how many there are, or
 * -EIO with the reason in out. */
int audit_ledger(PGconn *conn, uint32_t realm_id, FILE *out);

#endif
