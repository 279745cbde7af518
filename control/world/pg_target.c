#include "control/world/pg_target.h"

#include <arpa/inet.h>
#include <errno.h>
#include <stdbool.h>
#include <stdlib.h>
#include <string.h>

static uint32_t list_count(const char *csv)
{
	uint32_t n = 1;

	for (; csv && *csv; csv++)
		n += *csv == ',';
	return n;
}

static bool address_needs_no_lookup(const char *host, size_t bytes)
{
	char text[INET6_ADDRSTRLEN + 1] = "";
	unsigned char ignored[16];

	if (bytes == 0 || host[0] == '/' || host[0] == '@')
		return true;
	if (bytes > INET6_ADDRSTRLEN)
		return false;
	memcpy(text, host, bytes);
	return strcmp(text, "localhost") == 0 || inet_pton(AF_INET, text, ignored) == 1 ||
	       inet_pton(AF_INET6, text, ignored) == 1;
}

static int check_hosts(const struct pg_target *target, FILE *errors)
{
	const char *at = target->host;

	if (!at || target->hostaddr)
		return 0;
	for (;;) {
		size_t bytes = strcspn(at, ",");

		if (!address_needs_no_lookup(at, bytes)) {
			fprintf(errors,
				"postgres.conninfo: host '%.*s' is a name; give a socket folder, "
				"an IP "
				"address, or hostaddr= beside it (a name server that does not "
				"answer "
				"would hold up all saves)\n",
				(int)bytes, at);
			return -EINVAL;
		}
		if (!at[bytes])
			return 0;
		at += bytes + 1;
	}
}

int pg_target_init(
	struct pg_target *target, const char *conninfo, const char *node_name, FILE *errors)
{
	char *message = NULL;
	PQconninfoOption *options = PQconninfoParse(conninfo, &message);
	int rc = 0;

	memset(target, 0, sizeof(*target));
	target->conninfo = conninfo;
	snprintf(target->application, sizeof(target->application), PG_APPLICATION_PREFIX "%.50s",
		node_name);
	if (!options) {
		fprintf(errors, "postgres.conninfo: %s", message ? message : "no memory\n");
		PQfreemem(message);
		return -EINVAL;
	}
	for (PQconninfoOption *o = options; o->keyword; o++) {
		char **copy = strcmp(o->keyword, "host") == 0       ? &target->host
			      : strcmp(o->keyword, "hostaddr") == 0 ? &target->hostaddr
			      : strcmp(o->keyword, "port") == 0     ? &target->port
								    : NULL;
		if (!copy || !o->val || !*o->val)
			continue;
		*copy = strdup(o->val);
		if (!*copy)
			rc = -ENOMEM;
	}
	PQconninfoFree(options);
	target->hosts = list_count(target->hostaddr ? target->hostaddr : target->host);
	if (rc == 0)
		rc = check_hosts(target, errors);
	if (rc != 0)
		pg_target_fini(target);
	return rc;
}

void pg_target_fini(struct pg_target *target)
{
	free(target->host);
	free(target->hostaddr);
	free(target->port);
	target->host = target->hostaddr = target->port = NULL;
}

/* "a,b,c" by 1 is "b,c,a". A list of one (a port for all hosts) stays as it is. NULL: no memory. */
static char *rotated(const char *csv, uint32_t by)
{
	size_t bytes = strlen(csv);
	char *out = malloc(bytes + 1);
	const char *cut = csv;

	if (!out)
		return NULL;
	for (by %= list_count(csv); by > 0; by--)
		cut = strchr(cut, ',') + 1;
	if (cut == csv)
		memcpy(out, csv, bytes + 1);
	else
		snprintf(out, bytes + 1, "%s,%.*s", cut, (int)(cut - csv - 1), csv);
	return out;
}

PGconn *pg_target_connect(const struct pg_target *target, uint32_t attempt)
{
	const char *keys[9] = {"gssencmode", "target_session_attrs", "dbname", "application_name",
		"client_encoding"};
	const char *values[9] = {
		"disable", "read-write", target->conninfo, target->application, "UTF8"};
	const char *lists[3] = {target->host, target->hostaddr, target->port};
	static const char *const LIST_KEYS[3] = {"host", "hostaddr", "port"};
	char *owned[3] = {NULL, NULL, NULL};
	PGconn *conn = NULL;
	bool complete = true;
	int n = 5;

	for (int i = 0; i < 3; i++) {
		if (!lists[i])
			continue;
		owned[i] = rotated(lists[i], attempt % target->hosts);
		complete = complete && owned[i];
		keys[n] = LIST_KEYS[i];
		values[n++] = owned[i];
	}
	if (complete)
		conn = PQconnectStartParams(keys, values, 1);
	for (int i = 0; i < 3; i++)
		free(owned[i]);
	return conn;
}

/* What an operator finds in libpq's messages, and where to look. Servers may translate their part,
 * which is why the message itself is always printed too. The first row whose words are in the
 * message counts. */
static const struct {
	const char *has, *cause;
} CAUSES[] = {
	{"No such file or directory",
		"no socket there: is PostgreSQL running, and is host= the folder of its socket "
		"(unix_socket_directories)?"},
	{"Connection refused",
		"nothing listens there: is PostgreSQL running, and is that its port?"},
	{"Permission denied", "this user may not open the socket: check the folder's rights"},
	{"password authentication failed", "authentication: wrong password for this user"},
	{"no password supplied", "authentication: give password= or a passfile"},
	{"authentication failed", "authentication: pg_hba.conf maps no such user"},
	{"pg_hba.conf", "authentication: pg_hba.conf has no line for this user, database and host"},
	{"is not permitted to log in", "the user is a role without LOGIN: ALTER ROLE ... LOGIN"},
	{"permission denied for database",
		"the user may not connect to it: GRANT CONNECT ON DATABASE"},
	{"not currently accepting connections",
		"the database is closed: ALTER DATABASE ... ALLOW_CONNECTIONS true"},
	{"too many connections for",
		"the CONNECTION LIMIT of this user or database is used up: raise it"},
	/* Behind all rows that are about a user or database that does exist. */
	{"role \"", "no such user: create it (createuser)"},
	{"database \"", "no such database: create it (createdb)"},
	{"too many clients", "max_connections is used up: raise it, or end other clients"},
	{"remaining connection slots",
		"max_connections is used up: raise it, or end other clients"},
	{"read-only", "only a standby answered: saves need the primary"},
	{"hot standby", "only a standby answered: saves need the primary"},
	{"starting up", "the server is still starting: try again"},
	{"shutting down", "the server is stopping"},
};

const char *pg_target_cause(const char *message)
{
	for (size_t i = 0; i < sizeof(CAUSES) / sizeof(CAUSES[0]); i++) {
		if (strstr(message, CAUSES[i].has))
			return CAUSES[i].cause;
	}
	return "";
}

void pg_target_describe(PGconn *conn, char *text, size_t bytes)
{
	const char *host = PQhost(conn), *port = PQport(conn), *db = PQdb(conn),
		   *user = PQuser(conn);

	snprintf(text, bytes, "host '%s' port %s database '%s' user '%s'", host ? host : "",
		port ? port : "", db ? db : "", user ? user : "");
}
