/* distribute: hands the tables of a realm to Citus, where the database has that extension; else
 * nothing. Set-up thread, under the lock of migrate.h.
 *
 * Every table with a column realm_id is distributed by it, and lies with `character`: a realm is on
 * one node, and each statement of the server, having the realm, goes to that node alone
 * (world_citus_test). What is distributed already is left as it is, so it can be done again, after
 * a crash in the middle too, and when the extension comes later than the tables. */
#ifndef SW_CONTROL_WORLD_DISTRIBUTE_H
#define SW_CONTROL_WORLD_DISTRIBUTE_H

#include <stdbool.h>
#include <stdio.h>
#include <libpq-fe.h>

/* Whether `character` is distributed. */
bool distribute_begun(PGconn *conn);

/* Returns how many tables were distributed, 0 where there is no Citus, or -EIO with the reason in
 * errors: what was done before stays. */
int distribute_run(PGconn *conn, FILE *errors);

#endif
