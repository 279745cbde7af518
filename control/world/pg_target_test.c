/* Proves: each way in which PostgreSQL 15 turns a connection away is explained by its own cause,
 * also where two messages share words, and a message that says all there is gets none. */
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>
#include <string.h>

#include <cmocka.h>

#include "control/world/pg_target.h"

static void causes_fit_their_messages(void **state)
{
	static const struct {
		const char *message, *cause; /* cause: words of it; "" for none */
	} rows[] = {
		{"connection to server on socket \"/run/x/.s.PGSQL.5432\" failed: No such file or "
		 "directory",
			"is PostgreSQL running"},
		{"failed: Connection refused", "nothing listens there"},
		{"failed: Permission denied", "the folder's rights"},
		{"FATAL:  password authentication failed for user \"u\"", "wrong password"},
		{"fe_sendauth: no password supplied", "passfile"},
		{"FATAL:  Peer authentication failed for user \"u\"", "maps no such user"},
		{"FATAL:  no pg_hba.conf entry for host \"10.0.0.1\", user \"u\", database \"d\", "
		 "no encryption",
			"has no line for this user"},
		{"FATAL:  role \"u\" does not exist", "no such user"},
		{"FATAL:  database \"d\" does not exist", "no such database"},
		{"FATAL:  role \"u\" is not permitted to log in", "LOGIN"},
		{"FATAL:  permission denied for database \"d\"", "GRANT CONNECT"},
		{"FATAL:  database \"d\" is not currently accepting connections", "is closed"},
		{"FATAL:  too many connections for role \"u\"", "CONNECTION LIMIT"},
		{"FATAL:  too many connections for database \"d\"", "CONNECTION LIMIT"},
		{"FATAL:  sorry, too many clients already", "max_connections"},
		{"FATAL:  remaining connection slots are reserved for non-replication superuser "
		 "connections",
			"max_connections"},
		{"session is read-only", "standby"},
		{"server is in hot standby mode", "standby"},
		{"FATAL:  the database system is starting up", "still starting"},
		{"FATAL:  the database system is shutting down", "stopping"},
		{"expected authentication request from server, but received S", ""},
	};

	(void)state;
	for (size_t i = 0; i < sizeof(rows) / sizeof(rows[0]); i++) {
		const char *cause = pg_target_cause(rows[i].message);

		if (rows[i].cause[0] ? !strstr(cause, rows[i].cause) : cause[0] != 0)
			fail_msg("\"%s\" is explained by \"%s\"", rows[i].message, cause);
	}
}

int main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test(causes_fit_their_messages),
	};

	return cmocka_run_group_tests(tests, NULL, NULL);
}
