/* pg_target: where PostgreSQL is, for both the set-up connection and the loop's links: conninfo
 * with this server's own settings around it.
 *
 * Before conninfo, so that it may override them: gssencmode=disable (its negotiation blocks) and
 * target_session_attrs=read-write (writes go to the primary alone). After it, not to be overridden:
 * application_name (the connection budget counts by it) and client_encoding=UTF8.
 *
 * Several hosts (failover): libpq tries them in order, but gives each its connect_timeout only in
 * its blocking calls; asynchronously one silent host would use up our timer each time and the ones
 * behind it would never be asked. So each attempt that times out is followed by one whose list is
 * rotated by one more. */
#ifndef SW_CONTROL_WORLD_PG_TARGET_H
#define SW_CONTROL_WORLD_PG_TARGET_H

#include <stdint.h>
#include <stdio.h>
#include <libpq-fe.h>

#define PG_APPLICATION_PREFIX "stormweir/"

struct pg_target {
	const char *conninfo; /* kept, not copied */
	char application[64]; /* "stormweir/<node>" */
	/* From pg_target_init: the comma lists to rotate, NULL where conninfo does not name them.
	 */
	char *host, *hostaddr, *port;
	uint32_t hosts; /* at least 1 */
	uint32_t first; /* attempt that reached a server at start: links begin with it */
};

/* Set-up. Checks conninfo: its syntax, and that each host is a socket folder, an IP address,
 * localhost or has a hostaddr (looking a name up would block the loop at each reconnect). Returns
 * 0, or -EINVAL / -ENOMEM with one line in errors. */
int pg_target_init(
	struct pg_target *target, const char *conninfo, const char *node_name, FILE *errors);
void pg_target_fini(struct pg_target *target);

/* Starts connecting with the host list rotated by attempt; never NULL unless memory is short. The
 * caller drives PQconnectPoll and ends with PQfinish. Does not block. */
PGconn *pg_target_connect(const struct pg_target *target, uint32_t attempt);

/* The likely cause of a failed connection, from libpq's message; "" when it says all there is. */
const char *pg_target_cause(const char *message);

/* Writes "host 'x' port 5432 database 'd' user 'u'" of a connection, without its password. */
void pg_target_describe(PGconn *conn, char *text, size_t bytes);

#endif
