/* Proves, against a private PostgreSQL, that a node is known to live by its own word until it stops
 * in good order or has been silent for long; and that a character is settled when what it did is in
 * PostgreSQL, not before, and not at all while that is away. */
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <string.h>

#include <cmocka.h>

#include "common/handle.h"
#include "control/world/world_fixture.h"

#define DATABASE "node"

static const struct msg *next(struct fixture *f, enum msg_type type)
{
	static struct msg popped[2 * MSG_SLOTS_MAX];

	for (int i = 0; i < FIXTURE_WAIT_S * 1000; i++) {
		uint32_t slots = msg_ring_pop(f->links.to_control, popped, 2 * MSG_SLOTS_MAX);

		if (slots) {
			assert_int_equal(slots, popped[0].slots); /* one at a time in this test */
			assert_int_equal(popped[0].type, type);
			return popped;
		}
		fixture_sleep_ms(1);
	}
	fail_msg("no answer");
	return NULL;
}

static void start(struct fixture *f, const char *name)
{
	fixture_init(f, 4096);
	server_conninfo(f->config.postgres.conninfo, sizeof(f->config.postgres.conninfo), DATABASE);
	strcpy(f->config.node.name, name);
	strcpy(f->config.ports[0].address, "10.9.8.7/24");
	f->config.dataplane.udp_port = 7700;
	fixture_start(f);
	assert_non_null(f->world);
}

/* The names, each after a blank. */
static const char *nodes(struct fixture *f)
{
	static char text[256];
	const uint8_t *at;
	struct msg_nodes head;
	struct msg message;

	msg_begin(&message, MSG_NODES_QUERY, HANDLE_NONE, 0);
	assert_true(msg_ring_push(f->links.from_control, &message));
	at = msg_payload(next(f, MSG_NODES));
	memcpy(&head, at, sizeof(head));
	text[0] = 0;
	if (!head.known)
		return "unknown";
	for (uint32_t i = 0; i < head.count; i++) {
		strcat(text, " ");
		strcat(text, (const char *)at + sizeof(head) + i * NODE_NAME_BYTES);
	}
	return text;
}

static void nodes_are_known_by_their_own_word(void **state)
{
	struct fixture a, b;
	PGconn *conn;

	(void)state;
	server_new_database(DATABASE);
	conn = server_connect(DATABASE);
	start(&a, "node-a");
	start(&b, "node-b");
	server_wait_for(conn, "SELECT (count(*) = 2)::int FROM node WHERE NOT stopped AND "
			      "address = '10.9.8.7:7700'");
	assert_string_equal(nodes(&a), " node-a node-b");
	/* One stops in good order, and has said so when its flush is answered. */
	assert_int_equal(fixture_flush(&b), 0);
	assert_string_equal(nodes(&a), " node-a");
	fixture_stop(&b);
	fixture_fini(&b);
	/* One that is killed is expected for a time, and then not any more. */
	server_sql(conn, "INSERT INTO node VALUES (2, 'dead', '10.0.0.1:1', 1, false, now())");
	assert_string_equal(nodes(&a), " dead node-a");
	server_sql(conn, "UPDATE node SET seen_at = now() - interval '31 s' WHERE name = 'dead'");
	assert_string_equal(nodes(&a), " node-a");
	/* It starts again. */
	start(&b, "node-b");
	server_wait_for(conn, "SELECT count(*)::int FROM node WHERE name = 'node-b' AND NOT stopped");
	fixture_stop(&b);
	fixture_fini(&b);
	fixture_stop(&a);
	fixture_fini(&a);
	PQfinish(conn);
}

static void ask_settled(struct fixture *f, uint64_t session, uint64_t character)
{
	const struct msg_character_settle body = {
		.session = session, .character_id = character, .realm_id = 1};
	struct msg message;

	memcpy(msg_begin(&message, MSG_CHARACTER_SETTLE, HANDLE_NONE, sizeof(body)), &body,
		sizeof(body));
	assert_true(msg_ring_push(f->links.from_control, &message));
}

static bool settled(struct fixture *f, uint64_t session, uint64_t character)
{
	struct msg_character_settled body;

	memcpy(&body, msg_payload(next(f, MSG_CHARACTER_SETTLED)), sizeof(body));
	assert_int_equal(body.session, session);
	assert_int_equal(body.character_id, character);
	return body.settled;
}

static void a_character_is_settled_when_all_is_kept(void **state)
{
	struct msg_character_loaded loaded;
	struct fixture f;
	PGconn *conn;

	(void)state;
	server_new_database(DATABASE);
	conn = server_connect(DATABASE);
	start(&f, "node-a");
	loaded = fixture_login(&f, 1, 7, "Ada");
	/* Nobody holds anything up. */
	ask_settled(&f, 99, 7);
	assert_true(settled(&f, 99, 7));
	for (int32_t x = 1; x <= 20; x++) {
		fixture_save(&f, FIXTURE_MAIN, 7, loaded.epoch, x, true);
		ask_settled(&f, (uint64_t)x, 7);
		assert_true(settled(&f, (uint64_t)x, 7));
		assert_int_equal(server_sql(conn, "SELECT x_mm FROM character_position"), x);
	}
	/* The row is held: not settled, and told so. */
	f.config.postgres.statement_timeout_ms = 500;
	assert_int_equal(server_sql(conn, "BEGIN; SELECT 1 FROM character FOR UPDATE"), 1);
	fixture_save(&f, FIXTURE_MAIN, 7, loaded.epoch, 21, true);
	ask_settled(&f, 21, 7);
	ask_settled(&f, 8, 8); /* another one does not wait for it */
	assert_true(settled(&f, 8, 8));
	assert_false(settled(&f, 21, 7));
	assert_int_equal(fixture_counter(&f, WORLD_SETTLES_LATE), 1);
	server_sql(conn, "ROLLBACK");
	assert_int_equal(fixture_flush(&f), 0);
	/* PostgreSQL is away. */
	server_do("kill");
	fixture_wait_health(&f, false);
	ask_settled(&f, 29, 7); /* nothing of it waits */
	assert_true(settled(&f, 29, 7));
	fixture_save(&f, FIXTURE_MAIN, 7, loaded.epoch, 22, true);
	ask_settled(&f, 30, 7);
	assert_false(settled(&f, 30, 7));
	assert_string_equal(nodes(&f), "unknown");
	server_do("start");
	PQfinish(conn);
	fixture_wait_health(&f, true);
	ask_settled(&f, 31, 7);
	assert_true(settled(&f, 31, 7));
	conn = server_connect(DATABASE);
	assert_int_equal(server_sql(conn, "SELECT x_mm FROM character_position"), 22);
	PQfinish(conn);
	fixture_stop(&f);
	fixture_fini(&f);
}

int main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test(nodes_are_known_by_their_own_word),
		cmocka_unit_test(a_character_is_settled_when_all_is_kept),
	};

	return cmocka_run_group_tests(tests, NULL, NULL);
}
