/* server_check: is the PostgreSQL there one that this server can use? Set-up thread. */
#ifndef SW_CONTROL_WORLD_SERVER_CHECK_H
#define SW_CONTROL_WORLD_SERVER_CHECK_H

#include <stdio.h>

#include "common/config.h"
#include "control/world/pg_target.h"

/* Sessions that a node holds: the links of world.h, and chat's one (control/chat). */
#define WORLD_SESSIONS(config) (3 + (config)->postgres.commit_links)
/* Share of max_connections that all nodes together may hold; the rest is for people, backups,
 * replication and tools. */
#define WORLD_SHARE_PERCENT 70

/* Connects; checks version, encoding and the share of max_connections (sessions of all nodes, known
 * by their application_name, and ours); warns where a commit is not durable; runs the migrations;
 * disconnects. Returns 0 or a negative errno with the reason in errors. */
int server_check(struct pg_target *target, const struct sw_config *config, FILE *errors);

#endif
