/* swctl audit ledger: whether what characters own is what the ledger says (control/world/audit.h).
 */
#include "control/ops/swctl.h"

#include <errno.h>
#include <getopt.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "common/config.h"
#include "control/world/audit.h"

struct audit_args {
	const char *config, *conninfo;
	unsigned long realm;
};

static int args_parse(struct audit_args *args, int argc, char **argv)
{
	static const struct option options[] = {
		{"config", required_argument, NULL, 'c'},
		{"conninfo", required_argument, NULL, 'i'},
		{"realm", required_argument, NULL, 'r'},
		{NULL, 0, NULL, 0},
	};
	char *end;
	int option;

	*args = (struct audit_args){0};
	while ((option = getopt_long(argc, argv, "", options, NULL)) != -1) {
		if (option == 'c') {
			args->config = optarg;
		} else if (option == 'i') {
			args->conninfo = optarg;
		} else if (option == 'r') {
			errno = 0;
			args->realm = strtoul(optarg, &end, 10);
			if (errno || *end || optarg[0] < '0' || optarg[0] > '9' ||
				args->realm > UINT32_MAX) {
				fprintf(stderr, "swctl: --realm takes a number, not \"%s\"\n",
					optarg);
				return -1;
			}
		} else {
			return -1;
		}
	}
	if (optind != argc - 1 || strcmp(argv[optind], "ledger") != 0 ||
		!args->config == !args->conninfo) {
		fprintf(stderr,
			"swctl: audit ledger needs --config or --conninfo; see swctl help\n");
		return -1;
	}
	return 0;
}

/* Not named as a node's session: it is none, and the nodes' share is counted by that. */
static PGconn *connect_to(const char *conninfo)
{
	const char *keywords[] = {"connect_timeout", "dbname", "application_name", NULL};
	const char *values[] = {"10", conninfo, "swctl audit", NULL};

	return PQconnectdbParams(keywords, values, 1);
}

int swctl_audit(int argc, char **argv)
{
	static struct sw_config config; /* large */
	struct audit_args args;
	PGconn *conn;
	int differences;

	if (args_parse(&args, argc, argv))
		return 2;
	if (args.config) {
		if (sw_config_load(&config, args.config, stderr))
			return 1;
		args.conninfo = config.postgres.conninfo;
	}
	conn = connect_to(args.conninfo);
	if (PQstatus(conn) != CONNECTION_OK) {
		fprintf(stderr, "swctl: %s", PQerrorMessage(conn));
		PQfinish(conn);
		return 1;
	}
	differences = audit_ledger(conn, (uint32_t)args.realm, stdout);
	PQfinish(conn);
	if (differences < 0)
		return 1;
	if (differences)
		printf("%d differences\n", differences);
	else
		printf("the ledger balances\n");
	return differences ? 3 : 0;
}
