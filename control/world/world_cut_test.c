/* Proves that connections cut at any byte, in either direction, lose and undo nothing: behind a
 * proxy that cuts each one after a random number of bytes, characters log in, save, leave and log
 * in again, and each login finds exactly what the stay before left, at a higher epoch, without one
 * save refused. */
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>
#include <cmocka.h>

#include "control/world/cut_proxy.h"
#include "control/world/world_fixture.h"

#define CHARACTERS 40
#define ROUNDS     12

static void cut_anywhere(void **state)
{
	static uint64_t epochs[CHARACTERS + 1];
	struct cut_proxy proxy;
	struct fixture f;

	(void)state;
	cut_proxy_start(&proxy);
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
	cut_proxy_stop(&proxy);
	fixture_fini(&f);
}

int main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test(cut_anywhere),
	};

	return cmocka_run_group_tests(tests, NULL, NULL);
}
