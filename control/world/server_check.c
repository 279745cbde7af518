#include "control/world/server_check.h"

#include <errno.h>
#include <string.h>

#include "control/world/migrate.h"
#include "control/world/pg_setup.h"

#define VERSION_MIN 120000 /* MATERIALIZED */
/* Longer than a migration should take: a node that starts beside the one that migrates waits. */
#define MIGRATE_WAIT_MS 60000u

static int check_version(PGconn *conn, FILE *errors)
{
	const char *encoding = PQparameterStatus(conn, "server_encoding");
	int version = PQserverVersion(conn);

	if (version < VERSION_MIN) {
		fprintf(errors, "postgres: the server is version %d, at least %d is needed\n",
			version / 10000, VERSION_MIN / 10000);
		return -ENOTSUP;
	}
	if (!encoding || strcmp(encoding, "UTF8") != 0) {
		fprintf(errors,
			"postgres: the database's encoding is %s, names need UTF8: create it with "
			"createdb -E UTF8 -T template0\n",
			encoding ? encoding : "unknown");
		return -ENOTSUP;
	}
	return 0;
}

static int check_share(PGconn *conn, const struct sw_config *config, FILE *errors)
{
	uint32_t timeout_ms = config->postgres.statement_timeout_ms;
	int64_t sessions = WORLD_SESSIONS(config);
	int64_t max = pg_setup_number(
		conn, "SELECT current_setting('max_connections')::int", timeout_ms, -1);
	int64_t held = pg_setup_number(conn,
		"SELECT count(*) FROM pg_stat_activity WHERE starts_with(application_name, "
		"'" PG_APPLICATION_PREFIX "') AND pid <> pg_backend_pid()",
		timeout_ms, -1);
	int64_t share = max * WORLD_SHARE_PERCENT / 100;

	if (max < 0 || held < 0) {
		pg_setup_complain(errors, "max_connections cannot be read", conn, NULL);
		return -EIO;
	}
	if (held + sessions <= share)
		return 0;
	fprintf(errors,
		"postgres: this node needs %lld sessions, the other nodes hold %lld, and together "
		"they may "
		"hold %d %% of max_connections (%lld): %lld; raise max_connections, run fewer "
		"nodes, or lower postgres.commit_links\n",
		(long long)sessions, (long long)held, WORLD_SHARE_PERCENT, (long long)max,
		(long long)share);
	return -EUSERS;
}

/* Allowed, but said: what a "committed" here survives, where that is less than one thinks. The
 * table of what each setting gives stands in docs/decisions.md ("PostgreSQL: what a confirmed
 * commit survives"). */
static const struct {
	const char *when, *means; /* SQL; what it means for what was confirmed */
} LOSSES[] = {
	{"current_setting('fsync') = 'off'",
		"fsync is off: saves and commits that were confirmed can be lost, and the database "
		"damaged, when its machine crashes"},
	{"current_setting('full_page_writes') = 'off'",
		"full_page_writes is off: the database can be damaged when its machine crashes"},
	{"current_setting('synchronous_commit') = 'off'",
		"synchronous_commit is off: saves and commits that were confirmed can be lost when "
		"PostgreSQL or its machine crashes"},
	{"current_setting('synchronous_commit') = 'local' AND "
	 "current_setting('synchronous_standby_names') <> ''",
		"synchronous_commit is local: a standby that is promoted may not have what was "
		"confirmed, though synchronous_standby_names names one"},
	{"current_setting('synchronous_standby_names') = '' AND "
	 "EXISTS (SELECT FROM pg_stat_replication WHERE application_name <> 'pg_basebackup')",
		"there are standbys, but synchronous_standby_names is empty: one that is promoted "
		"may not have what was confirmed last"},
	{"current_setting('synchronous_standby_names') <> '' AND NOT EXISTS (SELECT FROM "
	 "pg_stat_replication WHERE sync_state IS NULL OR sync_state IN ('sync', 'quorum'))",
		"synchronous_standby_names is set, but no synchronous standby is connected: saves "
		"and commits wait until one is"},
};

static void warn_durability(PGconn *conn, uint32_t timeout_ms, FILE *errors)
{
	char sql[300];

	for (size_t i = 0; i < sizeof(LOSSES) / sizeof(LOSSES[0]); i++) {
		snprintf(sql, sizeof(sql), "SELECT (%s)::int", LOSSES[i].when);
		if (pg_setup_number(conn, sql, timeout_ms, 0) == 1)
			fprintf(errors, "postgres: warning: %s\n", LOSSES[i].means);
	}
}

int server_check(struct pg_target *target, const struct sw_config *config, FILE *errors)
{
	PGconn *conn = pg_setup_connect(target, config->postgres.connect_timeout_ms, errors);
	uint32_t timeout_ms = config->postgres.statement_timeout_ms;
	int rc;

	if (!conn)
		return -ENOTCONN;
	rc = check_version(conn, errors);
	if (rc == 0)
		rc = check_share(conn, config, errors);
	if (rc == 0) {
		warn_durability(conn, timeout_ms, errors);
		rc = migrate_run(
			conn, world_migrations, world_migration_count, MIGRATE_WAIT_MS, errors);
	}
	PQfinish(conn);
	return rc < 0 ? rc : 0;
}
