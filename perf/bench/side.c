#include <dirent.h>
#include <errno.h>
#include <fcntl.h>
#include <inttypes.h>
#include <sched.h>
#include <signal.h>
#include <stdlib.h>
#include <string.h>
#include <sys/prctl.h>
#include <sys/wait.h>
#include <unistd.h>

#include "common/mono.h"
#include "perf/bench/side.h"

#define ARGUMENTS_MAX 64
#define THREADS_MAX   64u
#define READY_NS      (20 * NS_PER_S)
#define END_NS        (5 * NS_PER_S)

/* --- children --- */

static void run(const char *command, int cpu)
{
	char *words = strdup(command), *argument[ARGUMENTS_MAX + 1], *save = NULL;
	int count = 0;
	cpu_set_t set;

	for (char *word = strtok_r(words, " ", &save); word && count < ARGUMENTS_MAX;
		word = strtok_r(NULL, " ", &save))
		argument[count++] = word;
	argument[count] = NULL;
	CPU_ZERO(&set);
	CPU_SET((size_t)cpu, &set);
	sched_setaffinity(0, sizeof(set), &set);
	if (count)
		execvp(argument[0], argument);
	fprintf(stderr, "bench: %s: %s\n", count ? argument[0] : "no command", strerror(errno));
	_exit(127);
}

static int log_file(const char *folder, const char *name, const char *kind)
{
	char path[512];

	snprintf(path, sizeof(path), "%s/%s.%s", folder, name, kind);
	return open(path, O_WRONLY | O_CREAT | O_TRUNC | O_CLOEXEC, 0644);
}

/* in and out become its standard input and output; errors go to log. Closes in and out. */
static pid_t spawn(const char *command, int cpu, int in, int out, int log)
{
	pid_t pid = fork();

	if (pid == 0) {
		prctl(PR_SET_PDEATHSIG, SIGKILL);
		dup2(in, STDIN_FILENO);
		dup2(out, STDOUT_FILENO);
		dup2(log, STDERR_FILENO);
		run(command, cpu);
	}
	close(in);
	if (out != log)
		close(out);
	close(log);
	return pid;
}

static bool ended(pid_t *pid, int *status)
{
	if (*pid <= 0 || waitpid(*pid, status, WNOHANG) != *pid)
		return *pid <= 0;
	*pid = 0;
	return true;
}

/* Whether the log holds the text. */
static bool says(const char *folder, const char *name, const char *text)
{
	char path[512], line[1024];
	bool found = false;
	FILE *file;

	snprintf(path, sizeof(path), "%s/%s.server", folder, name);
	file = fopen(path, "r");
	while (file && !found && fgets(line, sizeof(line), file))
		found = strstr(line, text) != NULL;
	if (file)
		fclose(file);
	return found;
}

/* --- conversation with the generator --- */

static bool ask(struct side *side, const char *command, const char *wanted, char *line, int bytes)
{
	fprintf(side->to, "%s\n", command);
	fflush(side->to);
	if (fgets(line, bytes, side->from) && !strncmp(line, wanted, strlen(wanted)))
		return true;
	fprintf(stderr, "bench: %s: the generator did not answer \"%s\" to \"%s\"\n", side->name,
		wanted, command);
	return false;
}

static bool start_server(struct side *side, const char *folder, int cpu)
{
	uint64_t end_ns = mono_ns() + READY_NS;
	int log = log_file(folder, side->name, "server"), in[2], status;

	if (log < 0 || pipe2(in, O_CLOEXEC)) {
		perror("bench: server");
		return false;
	}
	side->server_pid = spawn(side->server, cpu, in[0], log, log);
	side->server_in = in[1];
	while (!says(folder, side->name, side->ready)) {
		if (ended(&side->server_pid, &status) || mono_ns() > end_ns) {
			fprintf(stderr,
				"bench: %s: the server did not get ready: see %s/%s.server\n",
				side->name, folder, side->name);
			return false;
		}
		usleep(20000);
	}
	return true;
}

static bool start_generator(struct side *side, const char *folder, int cpu)
{
	int log = log_file(folder, side->name, "generator"), in[2], out[2];
	char line[256];

	if (log < 0 || pipe2(in, O_CLOEXEC) || pipe2(out, O_CLOEXEC)) {
		perror("bench: generator");
		return false;
	}
	side->generator_pid = spawn(side->generator, cpu, in[0], out[1], log);
	side->to = fdopen(in[1], "w");
	side->from = fdopen(out[0], "r");
	while (fgets(line, sizeof(line), side->from))
		if (!strcmp(line, "gen: ready\n"))
			return ask(side, "connect", "connected", line, sizeof(line));
	fprintf(stderr, "bench: %s: the generator did not get ready: see %s/%s.generator\n",
		side->name, folder, side->name);
	return false;
}

bool side_start(struct side *side, const char *folder, struct side_cpus cpus)
{
	if (!start_server(side, folder, cpus.server) ||
		!start_generator(side, folder, cpus.generator))
		return false;
	kill(side->server_pid, SIGSTOP);
	return true;
}

/* --- a turn --- */

struct thread {
	long id;
	uint64_t run_ns, wait_ns;
};

/* Time on a CPU and waiting for one, of every thread of a process. */
static uint32_t threads(pid_t pid, struct thread *out)
{
	char path[64];
	struct dirent *entry;
	uint32_t count = 0;
	DIR *folder;

	snprintf(path, sizeof(path), "/proc/%d/task", (int)pid);
	folder = opendir(path);
	while (folder && count < THREADS_MAX && (entry = readdir(folder))) {
		struct thread *thread = &out[count];
		char file_path[512];
		FILE *file;

		thread->id = atol(entry->d_name);
		if (thread->id <= 0)
			continue;
		snprintf(file_path, sizeof(file_path), "%s/%ld/schedstat", path, thread->id);
		file = fopen(file_path, "r");
		if (!file)
			continue;
		count += fscanf(file, "%" SCNu64 " %" SCNu64, &thread->run_ns, &thread->wait_ns) ==
			 2;
		fclose(file);
	}
	if (folder)
		closedir(folder);
	return count;
}

/* The CPU time of all, and the longest wait of one, between two looks. */
static void between(const struct thread *before, uint32_t before_count, const struct thread *after,
	uint32_t after_count, uint64_t *run_ns, uint64_t *wait_ns)
{
	*run_ns = *wait_ns = 0;
	for (uint32_t a = 0; a < after_count; a++) {
		for (uint32_t b = 0; b < before_count; b++) {
			uint64_t waited_ns;

			if (after[a].id != before[b].id)
				continue;
			*run_ns += after[a].run_ns - before[b].run_ns;
			waited_ns = after[a].wait_ns - before[b].wait_ns;
			*wait_ns = waited_ns > *wait_ns ? waited_ns : *wait_ns;
		}
	}
}

bool side_turn(struct side *side, uint32_t warm_ms, uint32_t ms, double wait_max, struct turn *turn)
{
	static struct thread server0[THREADS_MAX], server1[THREADS_MAX], own0[THREADS_MAX],
		own1[THREADS_MAX];
	uint64_t wall, sent, received, lost, all, idle, p50, p99, run_ns, server_wait_ns, unused,
		own_wait_ns, start_ns, took_ns;
	uint32_t server_count, own_count;
	char line[512], command[64];
	int status;

	snprintf(command, sizeof(command), "run %u %u", warm_ms, ms);
	kill(side->server_pid, SIGCONT);
	server_count = threads(side->server_pid, server0);
	own_count = threads(side->generator_pid, own0);
	start_ns = mono_ns();
	if (!ask(side, command, "turn", line, sizeof(line)))
		return false;
	took_ns = mono_ns() - start_ns;
	between(server0, server_count, server1, threads(side->server_pid, server1), &run_ns,
		&server_wait_ns);
	between(own0, own_count, own1, threads(side->generator_pid, own1), &unused, &own_wait_ns);
	if (ended(&side->server_pid, &status)) {
		fprintf(stderr, "bench: %s: the server ended\n", side->name);
		return false;
	}
	kill(side->server_pid, SIGSTOP);
	if (sscanf(line,
		    "turn wall_ns %" SCNu64 " sent %" SCNu64 " received %" SCNu64 " lost %" SCNu64
		    " all %" SCNu64 " idle_ns %" SCNu64 " p50_ns %" SCNu64 " p99_ns %" SCNu64,
		    &wall, &sent, &received, &lost, &all, &idle, &p50, &p99) != 8 ||
		!wall)
		return false;
	turn->rate = (double)received * 1e9 / (double)wall;
	turn->cpu_ns = all ? (double)run_ns / (double)all : 0;
	turn->idle = (double)idle / (double)wall;
	turn->lost = sent ? (double)lost / (double)sent : 0;
	turn->waited = (double)(server_wait_ns > own_wait_ns ? server_wait_ns : own_wait_ns) /
		       (double)took_ns;
	turn->p50_ns = (double)p50;
	turn->p99_ns = (double)p99;
	turn->kept = received && turn->waited <= wait_max;
	return true;
}

/* --- the end --- */

static bool await(pid_t *pid, const char *name, const char *what)
{
	uint64_t end_ns = mono_ns() + END_NS;
	int status = 0;

	if (*pid <= 0)
		return true;
	while (!ended(pid, &status)) {
		if (mono_ns() > end_ns) {
			kill(*pid, SIGKILL);
			waitpid(*pid, &status, 0);
			*pid = 0;
			break;
		}
		usleep(10000);
	}
	if (WIFEXITED(status) && !WEXITSTATUS(status))
		return true;
	fprintf(stderr, "bench: %s: the %s ended with %s %d\n", name, what,
		WIFEXITED(status) ? "status" : "signal",
		WIFEXITED(status) ? WEXITSTATUS(status) : WTERMSIG(status));
	return false;
}

bool side_end(struct side *side)
{
	bool good = true;
	char line[256];

	if (side->server_pid > 0) {
		kill(side->server_pid, SIGCONT);
		if (side->to && side->from)
			good = ask(side, "leave", "left", line, sizeof(line));
		kill(side->server_pid, SIGINT);
	}
	/* testpmd may be told by a signal alone, or wait for its input's end. */
	if (side->server_in)
		close(side->server_in);
	good &= await(&side->server_pid, side->name, "server");
	if (side->to)
		fclose(side->to);
	good &= await(&side->generator_pid, side->name, "generator");
	if (side->from)
		fclose(side->from);
	return good;
}
