#include "control/redis/redis_fixture.h"

#include <errno.h>
#include <signal.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/prctl.h>
#include <sys/socket.h>
#include <sys/un.h>
#include <sys/wait.h>
#include <time.h>
#include <unistd.h>

static _Noreturn void fail(const char *what)
{
	fprintf(stderr, "redis_fixture: %s: %s\n", what, strerror(errno));
	abort();
}

void redis_fixture_init(struct redis_fixture *fixture)
{
	memset(fixture, 0, sizeof(*fixture));
	strcpy(fixture->dir, "/tmp/sw-redis-XXXXXX");
	if (!mkdtemp(fixture->dir))
		fail("mkdtemp");
	snprintf(fixture->address, sizeof(fixture->address), "unix:%s/redis.sock", fixture->dir);
}

static int try_connect(const struct redis_fixture *fixture)
{
	struct sockaddr_un name = {.sun_family = AF_UNIX};
	int fd = socket(AF_UNIX, SOCK_STREAM | SOCK_CLOEXEC, 0), rc;

	snprintf(name.sun_path, sizeof(name.sun_path), "%s", fixture->address + strlen("unix:"));
	rc = connect(fd, (struct sockaddr *)&name, sizeof(name));
	close(fd);
	return rc;
}

void redis_fixture_start(struct redis_fixture *fixture, const char *option, const char *value)
{
	const struct timespec pause = {.tv_nsec = 5000000};
	char log_file[96];

	snprintf(log_file, sizeof(log_file), "%s/redis.log", fixture->dir);
	unlink(fixture->address + strlen("unix:"));
	fixture->pid = fork();
	if (fixture->pid < 0)
		fail("fork");
	if (!fixture->pid) {
		sigset_t none;

		/* Does not outlive a test that crashes; a blocked SIGPIPE is not inherited. */
		prctl(PR_SET_PDEATHSIG, SIGKILL);
		sigemptyset(&none);
		sigprocmask(SIG_SETMASK, &none, NULL);
		execlp("redis-server", "redis-server", "--port", "0", "--unixsocket",
			fixture->address + strlen("unix:"), "--dir", fixture->dir, "--save", "",
			"--appendonly", "no", "--logfile", log_file, option ? option : NULL, value,
			NULL);
		_exit(127);
	}
	for (int i = 0; i < 2000; i++) {
		if (!try_connect(fixture))
			return;
		if (waitpid(fixture->pid, NULL, WNOHANG) == fixture->pid)
			break;
		nanosleep(&pause, NULL);
	}
	errno = 0;
	fail("redis-server does not start; is it installed?");
}

void redis_fixture_kill(struct redis_fixture *fixture)
{
	if (!fixture->pid)
		return;
	kill(fixture->pid, SIGKILL);
	waitpid(fixture->pid, NULL, 0);
	fixture->pid = 0;
}

void redis_fixture_fini(struct redis_fixture *fixture)
{
	char path[128];

	redis_fixture_kill(fixture);
	unlink(fixture->address + strlen("unix:"));
	snprintf(path, sizeof(path), "%s/redis.log", fixture->dir);
	unlink(path);
	rmdir(fixture->dir);
}
