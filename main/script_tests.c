#include "main/script_tests.h"

#include <errno.h>
#include <fcntl.h>
#include <spawn.h>
#include <stdbool.h>
#include <stdio.h>
#include <string.h>
#include <sys/wait.h>
#include <unistd.h>

#include "common/config.h"
#include "common/log.h"

#define PATH_BYTES (2 * CONFIG_PATH_BYTES)

/* Beside this program. */
static bool find_swscript(char path[PATH_BYTES])
{
	ssize_t bytes = readlink("/proc/self/exe", path, PATH_BYTES - 16);
	char *slash;

	if (bytes <= 0)
		return false;
	path[bytes] = '\0';
	slash = strrchr(path, '/');
	if (!slash)
		return false;
	strcpy(slash + 1, "swscript");
	return access(path, X_OK) == 0;
}

/* The lines that tell a failure; all where none does. */
static void tell(const char *said, char *error, size_t error_bytes)
{
	const char *from = strstr(said, "not ok");

	snprintf(error, error_bytes, "%.900s", from ? from : said);
	for (size_t end = strlen(error); end && error[end - 1] == '\n'; end--)
		error[end - 1] = '\0';
}

static int spawn(char *const argv[], pid_t *pid, int *from)
{
	posix_spawn_file_actions_t actions;
	char *const environment[] = {"PATH=/usr/bin:/bin", "LC_ALL=C.UTF-8", NULL};
	int ends[2], rc;

	if (pipe2(ends, O_CLOEXEC))
		return -errno;
	posix_spawn_file_actions_init(&actions);
	posix_spawn_file_actions_addopen(&actions, 0, "/dev/null", O_RDONLY, 0);
	posix_spawn_file_actions_adddup2(&actions, ends[1], 1);
	posix_spawn_file_actions_adddup2(&actions, ends[1], 2);
	posix_spawn_file_actions_addclosefrom_np(&actions, 3);
	rc = posix_spawn(pid, "/usr/bin/timeout", &actions, NULL, argv, environment);
	posix_spawn_file_actions_destroy(&actions);
	close(ends[1]);
	if (rc) {
		close(ends[0]);
		return -rc;
	}
	*from = ends[0];
	return 0;
}

static int run(char *swscript, const char *verb, const char *content, const char *file, char *error,
	size_t error_bytes)
{
	char *argv[] = {"timeout", "-s", "KILL", SCRIPT_TESTS_S, swscript, (char *)(uintptr_t)verb,
		"--data", (char *)(uintptr_t)content, (char *)(uintptr_t)file, NULL};
	char said[8192], rest[1024];
	size_t used = 0;
	ssize_t got;
	int from = -1, status, rc;
	pid_t pid;

	rc = spawn(argv, &pid, &from);
	if (rc) {
		snprintf(error, error_bytes, "swscript %s: %s", verb, strerror(-rc));
		return rc;
	}
	for (;;) {
		bool full = used == sizeof(said) - 1;

		got = full ? read(from, rest, sizeof(rest))
			   : read(from, said + used, sizeof(said) - 1 - used);
		if (got < 0 && errno == EINTR)
			continue;
		if (got <= 0)
			break;
		used += full ? 0 : (size_t)got;
	}
	said[used] = '\0';
	close(from);
	while (waitpid(pid, &status, 0) < 0 && errno == EINTR)
		;
	if (WIFEXITED(status) && WEXITSTATUS(status) == 0)
		return 0;
	tell(said, error, error_bytes);
	if (!error[0])
		snprintf(error, error_bytes, "swscript %s %s did not end by itself", verb, file);
	return -EINVAL;
}

int script_tests_run(const char *content, const char *script, char *error, size_t error_bytes)
{
	char swscript[PATH_BYTES], file[PATH_BYTES];
	size_t stem = strlen(script);
	int rc;

	if (!find_swscript(swscript)) {
		sw_log(SW_LOG_WARN, "script",
			"%s is reloaded without its tests: there is no swscript beside the server",
			script);
		return 0;
	}
	snprintf(file, sizeof(file), "%s/%s", content, script);
	rc = run(swscript, "check", content, file, error, error_bytes);
	if (rc)
		return rc;
	if (stem > 4 && !strcmp(script + stem - 4, ".lua"))
		stem -= 4;
	snprintf(file, sizeof(file), "%s/%.*s_test.lua", content, (int)stem, script);
	if (access(file, F_OK))
		return 0;
	return run(swscript, "test", content, file, error, error_bytes);
}
