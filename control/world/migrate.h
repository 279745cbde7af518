/* migrate: brings the database to the schema that this server was built with. Set-up thread.
 *
 * Migrations are numbered from 1 without gaps (migrations/0001_what.sql), built into the binary,
 * and each runs once, in a transaction of its own together with its line in the table
 * schema_migration (version, name, sha256 of the file, when). One advisory lock of the database is
 * held all the while, so nodes that start at once wait for each other, and the second finds nothing
 * to do.
 *
 * Where the database has Citus, the tables are distributed under the same lock (distribute.h). There
 * no table can be made with a foreign key to a distributed one: a migration makes the table, and the
 * one after it adds the key. */
#ifndef SW_CONTROL_WORLD_MIGRATE_H
#define SW_CONTROL_WORLD_MIGRATE_H

#include <stdint.h>
#include <stdio.h>
#include <libpq-fe.h>

struct migration {
	uint32_t version;
	const char *name;   /* 0001_character */
	const char *sha256; /* 64 hex digits */
	const char *sql;    /* no BEGIN or COMMIT in it */
};

/* What this server was built with. */
extern const struct migration world_migrations[];
extern const uint32_t world_migration_count;

/* The key of the advisory lock ("stormwei" in ASCII). */
#define MIGRATE_LOCK 0x73746f726d776569ll

/* Returns how many were run, or, with the reason in errors and nothing half done:
 * -EBUSY   another session held the lock for lock_wait_ms
 * -EEXIST  the database has a migration that this server does not know: its schema is newer
 * -EILSEQ  a migration was changed after it had run, or one is missing in the row
 * -EIO     a statement failed, or the connection was lost
 * The lock is released before it returns. */
int migrate_run(PGconn *conn, const struct migration *list, uint32_t count, uint32_t lock_wait_ms,
	FILE *errors);

#endif
