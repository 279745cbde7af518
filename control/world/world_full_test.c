/* Proves what a full disk costs: commits wait or expire and none is half done, saves wait, loads go
 * on; when there is room again all goes on by itself, and each commit is there once. The disk is a
 * small tmpfs under a tablespace; where none can be mounted there is nothing to prove it on. And
 * that a message in the wrong lane has no effect. */
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>
#include <stdlib.h>
#include <string.h>
#include <sys/mount.h>
#include <sys/stat.h>
#include <cmocka.h>

#include "common/handle.h"
#include "common/lanes.h"
#include "control/world/audit.h"
#include "control/world/world_fixture.h"

#define MANY 40u

static struct fixture f;
static PGconn *sql;
static char disk[300];
static uint64_t epochs[MANY + 1];

static void give(uint64_t number, uint64_t character, uint32_t expires_ms)
{
	struct {
		struct msg_commit head;
		struct commit_op op;
	} c = {.head = {.request = {0xd15c, number},
		       .character_id = {character},
		       .epoch = {epochs[character]},
		       .realm_id = 1,
		       .expires_ms = expires_ms,
		       .reason = COMMIT_REASON_LOOT,
		       .ops = 1},
		.op = {.kind = COMMIT_GOLD, .amount = 5}};

	fixture_commit(&f, FIXTURE_MAIN, &c.head);
}

/* $DISK is the folder. */
static void shell(const char *command)
{
	assert_int_equal(system(command), 0);
}

static void full_and_room_again(void **state)
{
	char text[500];

	(void)state;
	snprintf(disk, sizeof(disk), "%s/disk", getenv("SW_PG_DIR"));
	mkdir(disk, 0755);
	setenv("DISK", disk, 1);
	if (mount("tmpfs", disk, "tmpfs", 0, "size=1m,mode=0777") != 0) {
		print_message("no tmpfs can be mounted here\n");
		skip();
	}
	shell("mkdir $DISK/space && chown postgres: $DISK/space");
	snprintf(text, sizeof(text), "CREATE TABLESPACE small LOCATION '%s/space'", disk);
	server_sql(sql, text);
	server_sql(sql, "ALTER TABLE ledger SET TABLESPACE small");
	server_sql(sql, "ALTER INDEX ledger_pkey SET TABLESPACE small");
	shell("dd if=/dev/zero of=$DISK/ballast bs=4096 2>/dev/null; true");
	for (uint64_t i = 1; i <= MANY; i++)
		give(i, i, i % 2 ? 60000 : 1);
	fixture_wait_counter(&f, WORLD_COMMIT_BATCHES_FAILED, 3);
	for (uint64_t i = 1; i <= MANY / 2; i++)
		assert_int_equal(fixture_committed(&f, FIXTURE_MAIN).result, COMMIT_RESULT_EXPIRED);
	assert_int_equal(server_sql(sql, "SELECT count(*) FROM commit_record"), 0);
	assert_int_equal(fixture_login(&f, 1, 999, "").result, MSG_LOAD_OK);
	shell("rm $DISK/ballast");
	for (uint64_t i = 1; i <= MANY / 2; i++) {
		struct msg_commit_result r = fixture_committed(&f, FIXTURE_MAIN);

		assert_int_equal(r.result, COMMIT_RESULT_OK);
		assert_int_equal(r.request[1] % 2, 1);
	}
	fixture_wait_health(&f, true);
	assert_int_equal(server_sql(sql, "SELECT sum(gold) FROM character"), MANY / 2 * 5);
	assert_int_equal(audit_ledger(sql, 0, stdout), 0);
	server_sql(sql, "ALTER TABLE ledger SET TABLESPACE pg_default");
	server_sql(sql, "ALTER INDEX ledger_pkey SET TABLESPACE pg_default");
	server_sql(sql, "DROP TABLESPACE small");
	umount(disk);
}

/* A shard cannot load a character (which waits, and takes it over), nor control commit. */
static void wrong_lanes(void **state)
{
	uint64_t before = fixture_counter(&f, WORLD_MESSAGES_UNKNOWN);
	struct msg_character_load load = {.account_id = 1, .character_id = 1, .realm_id = 1};
	struct msg_commit commit = {.character_id = {1}, .realm_id = 1};
	struct msg message[4];

	(void)state;
	assert_int_equal(lane_of(MSG_CHARACTER_LOAD, LANE_SHARD), LANE_NONE);
	assert_int_equal(lane_of(MSG_CHARACTER_LOAD, LANE_CONTROL), LANE_SYNC);
	assert_int_equal(lane_of(MSG_COMMIT, LANE_SHARD), LANE_COMMIT);
	assert_int_equal(lane_of(MSG_PLAYER_JOIN, LANE_CONTROL), LANE_NONE);
	memcpy(msg_begin(message, MSG_CHARACTER_LOAD, HANDLE_NONE, sizeof(load)), &load,
		sizeof(load));
	assert_true(msg_ring_push(f.links.from_shard[FIXTURE_MAIN], message));
	memcpy(msg_begin(message, MSG_COMMIT, HANDLE_NONE, sizeof(commit)), &commit,
		sizeof(commit));
	assert_true(msg_ring_push(f.links.from_control, message));
	fixture_wait_counter(&f, WORLD_MESSAGES_UNKNOWN, before + 2);
	assert_int_equal(
		server_sql(sql, "SELECT epoch FROM character WHERE character_id = 1"), epochs[1]);
}

static int start(void **state)
{
	(void)state;
	fixture_init(&f, 1024);
	f.config.postgres.commits_per_batch = 16;
	fixture_start(&f);
	assert_non_null(f.world);
	sql = server_connect("stormweir");
	for (uint64_t c = 1; c <= MANY; c++)
		epochs[c] = fixture_login(&f, 1, c, "").epoch;
	return 0;
}

static int end(void **state)
{
	(void)state;
	PQfinish(sql);
	fixture_stop(&f);
	fixture_fini(&f);
	umount(disk);
	return 0;
}

int main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test(full_and_room_again),
		cmocka_unit_test(wrong_lanes),
	};

	return cmocka_run_group_tests(tests, start, end);
}
