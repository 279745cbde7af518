#include "control/world/cut_proxy.h"

#include <poll.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/socket.h>
#include <unistd.h>

#include "common/check.h"
#include "common/mono.h"

static void late_drop(struct cut_pair *pair)
{
	struct cut_late *first = pair->late;

	pair->late = first->next;
	free(first);
}

static void pair_close(struct cut_proxy *proxy, uint32_t i)
{
	while (proxy->pairs[i].late)
		late_drop(&proxy->pairs[i]);
	close(proxy->pairs[i].fd[0]);
	close(proxy->pairs[i].fd[1]);
	proxy->pairs[i] = proxy->pairs[--proxy->pair_count];
}

static void proxy_accept(struct cut_proxy *proxy)
{
	struct cut_pair *pair = &proxy->pairs[proxy->pair_count];

	CHECK(proxy->pair_count < CUT_PAIRS_MAX);
	*pair = (struct cut_pair){.late = NULL};
	pair->fd[0] = accept(proxy->listener, NULL, NULL);
	pair->fd[1] = socket(AF_UNIX, SOCK_STREAM, 0);
	CHECK(pair->fd[0] >= 0);
	if (connect(pair->fd[1], (struct sockaddr *)&proxy->server, sizeof(proxy->server)) != 0) {
		close(pair->fd[0]); /* the server is away, too */
		close(pair->fd[1]);
		return;
	}
	pair->left = atomic_load(&proxy->cuts) ? 1 + rand_r(&proxy->seed) % proxy->cut_within
					       : INT64_MAX;
	proxy->pair_count++;
}

static bool send_all(int fd, const char *bytes, size_t count)
{
	ssize_t sent;

	for (; count > 0; bytes += sent, count -= (size_t)sent) {
		sent = send(fd, bytes, count, MSG_NOSIGNAL);
		if (sent <= 0)
			return false;
	}
	return true;
}

static bool holds(const char *bytes, size_t count, const char *text)
{
	return memmem(bytes, count, text, strlen(text)) != NULL;
}

/* Whether the server's bytes are for nobody. An answer to calls begins with BindComplete (that to
 * preparing them does not), and each ends with ReadyForQuery: then all that was asked for is done.
 */
static bool swallows(
	struct cut_proxy *proxy, struct cut_pair *pair, const char *bytes, size_t count, bool *done)
{
	static const char ready[] = {'Z', 0, 0, 0, 5, 'I'};

	*done = false;
	if (!pair->swallowing) {
		if (!atomic_load(&proxy->swallow) || !pair->asked || bytes[0] != '2' ||
			!holds(bytes, count, proxy->said))
			return false;
		atomic_fetch_sub(&proxy->swallow, 1);
		pair->swallowing = true;
	}
	*done = count >= sizeof(ready) &&
		memcmp(bytes + count - sizeof(ready), ready, sizeof(ready)) == 0;
	return true;
}

static void deliver_later(struct cut_pair *pair, const char *bytes, size_t count, uint32_t late_ms)
{
	struct cut_late *late = malloc(sizeof(*late) + count);

	CHECK(late);
	*late = (struct cut_late){.due_ns = mono_ns() + late_ms * NS_PER_MS, .count = count};
	memcpy(late->bytes, bytes, count);
	*(pair->late ? &pair->late_last->next : &pair->late) = late;
	pair->late_last = late;
}

/* Returns false when the pair is over. */
static bool pair_deliver_late(struct cut_pair *pair)
{
	while (pair->late && mono_ns() >= pair->late->due_ns) {
		if (!send_all(pair->fd[0], pair->late->bytes, pair->late->count))
			return false;
		late_drop(pair);
	}
	return true;
}

/* Moves what there is from one side to the other. Returns false when the pair is over. */
static bool pair_move(struct cut_proxy *proxy, struct cut_pair *pair, int from)
{
	char buffer[65536];
	ssize_t got = recv(pair->fd[from], buffer, sizeof(buffer), MSG_DONTWAIT);
	bool cut = got > 0 && got >= pair->left, moved = true, done;
	uint32_t late_ms = atomic_load(&proxy->late_ms);

	if (got <= 0)
		return false;
	if (from == 0 && atomic_load(&proxy->swallow))
		pair->asked |= holds(buffer, (size_t)got, proxy->asked);
	if (from == 1 && swallows(proxy, pair, buffer, (size_t)got, &done)) {
		atomic_fetch_add(&proxy->cut_count, done);
		return !done;
	}
	if (cut)
		got = (ssize_t)pair->left;
	pair->left -= got;
	if (from == 1 && (late_ms || pair->late))
		deliver_later(pair, buffer, (size_t)got, late_ms);
	else
		moved = send_all(pair->fd[!from], buffer, (size_t)got);
	if (cut)
		atomic_fetch_add(&proxy->cut_count, 1);
	return moved && !cut;
}

static void *proxy_main(void *arg)
{
	struct cut_proxy *proxy = arg;

	while (!atomic_load(&proxy->stop)) {
		struct pollfd fds[1 + 2 * CUT_PAIRS_MAX] = {{proxy->listener, POLLIN, 0}};
		uint32_t count = proxy->pair_count;
		int wait_ms = 20;

		for (uint32_t i = 0; i < 2 * count; i++) {
			fds[1 + i] = (struct pollfd){proxy->pairs[i / 2].fd[i % 2], POLLIN, 0};
			wait_ms = proxy->pairs[i / 2].late ? 1 : wait_ms;
		}
		poll(fds, 1 + 2 * count, wait_ms);
		/* From the last one down: closing moves the last into the gap. */
		for (uint32_t i = count; i-- > 0;) {
			struct cut_pair *pair = &proxy->pairs[i];

			if (!pair_deliver_late(pair) ||
				(fds[1 + 2 * i].revents && !pair_move(proxy, pair, 0)) ||
				(fds[2 + 2 * i].revents && !pair_move(proxy, pair, 1)))
				pair_close(proxy, i);
		}
		if (fds[0].revents)
			proxy_accept(proxy);
	}
	while (proxy->pair_count > 0)
		pair_close(proxy, 0);
	return NULL;
}

void cut_proxy_start(struct cut_proxy *proxy)
{
	struct sockaddr_un own = {.sun_family = AF_UNIX};

	memset(proxy, 0, sizeof(*proxy));
	/* Connecting takes about 1,500 bytes, a round trip of a load 400, a batch 4,000. */
	proxy->cut_within = 40000;
	proxy->seed = getenv("SW_SEED") ? (unsigned)atoi(getenv("SW_SEED")) : (unsigned)getpid();
	printf("seed %u (SW_SEED repeats the cuts, not the timing)\n", proxy->seed);
	snprintf(proxy->folder, sizeof(proxy->folder), "/tmp/sw-cut.XXXXXX");
	CHECK(mkdtemp(proxy->folder));
	snprintf(own.sun_path, sizeof(own.sun_path), "%s/.s.PGSQL.5432", proxy->folder);
	proxy->server.sun_family = AF_UNIX;
	snprintf(proxy->server.sun_path, sizeof(proxy->server.sun_path), "%s/pgrun/.s.PGSQL.5432",
		getenv("SW_PG_DIR"));
	proxy->listener = socket(AF_UNIX, SOCK_STREAM, 0);
	CHECK(bind(proxy->listener, (struct sockaddr *)&own, sizeof(own)) == 0);
	CHECK(listen(proxy->listener, 8) == 0);
	pthread_create(&proxy->thread, NULL, proxy_main, proxy);
}

void cut_proxy_stop(struct cut_proxy *proxy)
{
	char path[128];

	atomic_store(&proxy->stop, true);
	pthread_join(proxy->thread, NULL);
	close(proxy->listener);
	snprintf(path, sizeof(path), "%s/.s.PGSQL.5432", proxy->folder);
	unlink(path);
	rmdir(proxy->folder);
}
