/* redis_fixture: a private redis-server for tests: a folder and a unix socket of its own, no TCP
 * port, nothing written to disk. Thread: one. Failures print why and abort: it is test code. */
#ifndef SW_CONTROL_REDIS_REDIS_FIXTURE_H
#define SW_CONTROL_REDIS_REDIS_FIXTURE_H

#include <sys/types.h>

struct redis_fixture {
	char dir[64];
	char address[96]; /* unix:/... for redis_link */
	pid_t pid;        /* 0 while stopped */
};

/* Makes the folder; does not start the server. */
void redis_fixture_init(struct redis_fixture *fixture);
/* Starts the server and waits until it takes connections. extra: one more option and its value,
 * such as "--requirepass", "x"; NULL for none. */
void redis_fixture_start(struct redis_fixture *fixture, const char *option, const char *value);
/* SIGKILL, and waits: what it held in memory is lost. */
void redis_fixture_kill(struct redis_fixture *fixture);
/* Stops it if it runs and removes the folder. */
void redis_fixture_fini(struct redis_fixture *fixture);

#endif
