/* Proves that connections cut at any byte, in either direction, lose and undo nothing: behind a
 * proxy that cuts each one after a random number of bytes, characters log in, save, leave and log
 * in again, and each login finds exactly what the stay before left, at a higher epoch, without one
 * save refused. */
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>
#include <poll.h>
#include <pthread.h>
#include <stdatomic.h>
#include <stdlib.h>
#include <string.h>
#include <sys/socket.h>
#include <sys/un.h>
#include <unistd.h>
#include <cmocka.h>

#include "common/check.h"
#include "control/world/world_fixture.h"

#define PAIRS_MAX 16

/* One connection: [0] the client's socket, [1] the server's. */
struct pair {
	int fd[2];
	int64_t left; /* bytes, both directions, until it is cut */
};

struct proxy {
	char folder[64];
	struct sockaddr_un server;
	int listener;
	unsigned seed;
	_Atomic bool cuts, stop;
	_Atomic uint32_t cut_count;
	struct pair pairs[PAIRS_MAX];
	uint32_t pair_count;
	pthread_t thread;
};

static void pair_close(struct proxy *proxy, uint32_t i)
{
	close(proxy->pairs[i].fd[0]);
	close(proxy->pairs[i].fd[1]);
	proxy->pairs[i] = proxy->pairs[--proxy->pair_count];
}

static void proxy_accept(struct proxy *proxy)
{
	struct pair *pair = &proxy->pairs[proxy->pair_count];

	CHECK(proxy->pair_count < PAIRS_MAX);
	pair->fd[0] = accept(proxy->listener, NULL, NULL);
	pair->fd[1] = socket(AF_UNIX, SOCK_STREAM, 0);
	CHECK(pair->fd[0] >= 0);
	CHECK(connect(pair->fd[1], (struct sockaddr *)&proxy->server, sizeof(proxy->server)) == 0);
	/* Connecting takes about 1,500 bytes, a round trip of a load 400, a batch 4,000. */
	pair->left = atomic_load(&proxy->cuts) ? 1 + rand_r(&proxy->seed) % 40000 : INT64_MAX;
	proxy->pair_count++;
}

/* Moves what there is from one side to the other. Returns false when the pair is over. */
static bool pair_move(struct proxy *proxy, struct pair *pair, int from)
{
	char buffer[65536];
	ssize_t got = recv(pair->fd[from], buffer, sizeof(buffer), MSG_DONTWAIT);
	bool cut = got > 0 && got >= pair->left;

	if (got <= 0)
		return false;
	if (cut)
		got = (ssize_t)pair->left;
	pair->left -= got;
	for (ssize_t at = 0, sent; at < got; at += sent) {
		sent = send(pair->fd[!from], buffer + at, (size_t)(got - at), MSG_NOSIGNAL);
		if (sent <= 0)
			return false;
	}
	if (cut)
		atomic_fetch_add(&proxy->cut_count, 1);
	return !cut;
}

static void *proxy_main(void *arg)
{
	struct proxy *proxy = arg;

	while (!atomic_load(&proxy->stop)) {
		struct pollfd fds[1 + 2 * PAIRS_MAX] = {{proxy->listener, POLLIN, 0}};
		uint32_t count = proxy->pair_count;

		for (uint32_t i = 0; i < 2 * count; i++)
			fds[1 + i] = (struct pollfd){proxy->pairs[i / 2].fd[i % 2], POLLIN, 0};
		poll(fds, 1 + 2 * count, 20);
		/* From the last one down: closing moves the last into the gap. */
		for (uint32_t i = count; i-- > 0;) {
			for (int from = 0; from < 2; from++) {
				if (fds[1 + 2 * i + (uint32_t)from].revents &&
					!pair_move(proxy, &proxy->pairs[i], from)) {
					pair_close(proxy, i);
					break;
				}
			}
		}
		if (fds[0].revents)
			proxy_accept(proxy);
	}
	while (proxy->pair_count > 0)
		pair_close(proxy, 0);
	return NULL;
}

static void proxy_start(struct proxy *proxy)
{
	struct sockaddr_un own = {.sun_family = AF_UNIX};

	memset(proxy, 0, sizeof(*proxy));
	proxy->seed = getenv("SW_SEED") ? (unsigned)atoi(getenv("SW_SEED")) : (unsigned)getpid();
	print_message("seed %u (SW_SEED repeats the cuts, not the timing)\n", proxy->seed);
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

static void proxy_stop(struct proxy *proxy)
{
	char path[128];

	atomic_store(&proxy->stop, true);
	pthread_join(proxy->thread, NULL);
	close(proxy->listener);
	snprintf(path, sizeof(path), "%s/.s.PGSQL.5432", proxy->folder);
	unlink(path);
	rmdir(proxy->folder);
}

#define CHARACTERS 40
#define ROUNDS     12

static void cut_anywhere(void **state)
{
	static uint64_t epochs[CHARACTERS + 1];
	struct proxy proxy;
	struct fixture f;

	(void)state;
	proxy_start(&proxy);
	fixture_init(&f, 1024);
	snprintf(f.config.postgres.conninfo, sizeof(f.config.postgres.conninfo),
		"host=%s user=stormweir dbname=stormweir", proxy.folder);
	fixture_start(&f);
	assert_non_null(f.world);
	atomic_store(&proxy.cuts, true);
	/* The connections that were made at start get no budget: end them. */
	{
		PGconn *sql = server_connect("stormweir");

		server_sql(sql, "SELECT count(pg_terminate_backend(pid)) FROM pg_stat_activity "
				"WHERE application_name = 'stormweir/test'");
		PQfinish(sql);
	}
	for (int32_t round = 0; round < ROUNDS; round++) {
		uint32_t left = CHARACTERS;

		for (uint64_t id = 1; id <= CHARACTERS; id++)
			fixture_load(&f, id, 7, id, "cut");
		while (left > 0) {
			struct msg_character_loaded l = fixture_loaded(&f);

			if (l.result == MSG_LOAD_UNAVAILABLE) {
				fixture_sleep_ms(2);
				fixture_load(&f, l.session, 7, l.session, "cut");
				continue;
			}
			assert_int_equal(l.result, MSG_LOAD_OK);
			assert_true(l.epoch > epochs[l.character_id]);
			epochs[l.character_id] = l.epoch;
			assert_int_equal(l.has_position, round > 0);
			if (round > 0)
				assert_int_equal(l.x_mm, round * 1000 + (int32_t)l.session);
			for (int32_t step = 1; step <= 3; step++)
				fixture_save(&f, (uint32_t)(l.session % 2), l.character_id, l.epoch,
					step < 3 ? -step : (round + 1) * 1000 + (int32_t)l.session,
					step == 3);
			left--;
		}
	}
	atomic_store(&proxy.cuts, false);
	assert_int_equal(fixture_flush(&f), 0);
	assert_true(fixture_counter(&f, WORLD_SAVES_REFUSED) == 0);
	assert_true(fixture_counter(&f, WORLD_MESSAGES_UNKNOWN) == 0);
	assert_true(atomic_load(&proxy.cut_count) > 5);
	print_message("%u cuts, %llu batches sent again, %llu loads refused of %llu\n",
		atomic_load(&proxy.cut_count),
		(unsigned long long)fixture_counter(&f, WORLD_BATCHES_UNKNOWN),
		(unsigned long long)fixture_counter(&f, WORLD_LOADS_UNAVAILABLE),
		(unsigned long long)fixture_counter(&f, WORLD_LOADS));
	assert_int_equal(fixture_stop(&f), 0);
	proxy_stop(&proxy);
	fixture_fini(&f);
}

int main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test(cut_anywhere),
	};

	return cmocka_run_group_tests(tests, NULL, NULL);
}
