#include "simulation/testing.h"

#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include <cmocka.h>

#include "simulation/counters.h"
#include "simulation/instance.h"
#include "simulation/state.h"

static uint32_t workers = 1; /* of the shard under test */

void test_init(struct test_shard *t, uint32_t width_m, uint32_t players_max)
{
	memset(t, 0, sizeof(*t));
	sw_config_defaults(&t->config);
	t->config.map_count = 1;
	strcpy(t->config.maps[0].name, "meadow");
	t->config.maps[0].shard = 0;
	t->config.maps[0].width_m = t->config.maps[0].height_m = width_m;
	t->config.maps[0].tick_hz = 20;
	t->config.maps[0].view_m = 40;
	t->config.maps[0].players_max = players_max;
	t->config.maps[0].monsters = 0;
	t->config.maps[0].script[0] = '\0';
	t->config.simulation.lazy_joins_per_tick = 200;
	t->config.rings.slots = 32768;
	t->answer_details = true;
	for (uint32_t i = 0; i < TEST_OWNED_MAX; i++)
		t->owned[i].gold = 50;
	t->workers = 1;
	t->now_ns = 1000 * NS_PER_MS;
}

void test_start(struct test_shard *t, uint64_t seed)
{
	uint32_t slots = t->config.rings.slots;
	char error[256] = "";

	t->links.workers = workers = t->workers;
	for (uint32_t w = 0; w < workers; w++) {
		t->links.from_dataplane[w] = msg_ring_new("from_dataplane", 32768);
		t->links.to_dataplane[w] = msg_ring_new("to_dataplane", slots);
	}
	t->links.from_control = msg_ring_new("from_control", 32768);
	t->links.to_control = msg_ring_new("to_control", slots);
	t->links.from_world = msg_ring_new("from_world", 32768);
	t->links.to_world = msg_ring_new("to_world", slots);
	t->links.log = msg_ring_new("log", 256);
	t->clients = calloc(TEST_CLIENTS_MAX, sizeof(*t->clients));
	t->shard = sim_shard_new(&t->config, 0, &t->links, seed, t->now_ns, error, sizeof(error));
	if (!t->shard)
		fail_msg("sim_shard_new: %s", error);
}

void test_end(struct test_shard *t)
{
	sim_shard_free(t->shard);
	for (uint32_t w = 0; w < t->workers; w++) {
		msg_ring_free(t->links.from_dataplane[w]);
		msg_ring_free(t->links.to_dataplane[w]);
	}
	msg_ring_free(t->links.from_control);
	msg_ring_free(t->links.to_control);
	msg_ring_free(t->links.from_world);
	msg_ring_free(t->links.to_world);
	msg_ring_free(t->links.log);
	for (uint32_t i = 0; t->clients && i < TEST_CLIENTS_MAX; i++) {
		free(t->clients[i].knows);
		free(t->clients[i].looks);
		free(t->clients[i].heard_tick);
		free(t->clients[i].seen_x_mm);
		free(t->clients[i].seen_y_mm);
		free(t->clients[i].seen_health);
		free(t->clients[i].seen_item);
	}
	free(t->clients);
}

void test_note(struct test_shard *t, char what)
{
	if (t->order_count + 1 < sizeof(t->order))
		t->order[t->order_count++] = what;
}

void test_run_holding(struct test_shard *t, uint32_t ms)
{
	for (uint32_t i = 0; i < ms; i++) {
		t->now_ns += NS_PER_MS;
		while (sim_shard_step(t->shard, t->now_ns))
			;
	}
}

void test_run(struct test_shard *t, uint32_t ms)
{
	for (uint32_t i = 0; i < ms; i++) {
		test_run_holding(t, 1);
		test_read_world(t);
		test_read_dataplane(t);
		test_read_control(t);
	}
}

uint64_t test_peer(uint32_t client)
{
	return handle_make(client % workers, 7, client);
}

void test_join(struct test_shard *t, uint32_t client, bool has_position, int32_t x_mm, int32_t y_mm)
{
	const struct msg_player_join join = {
		.x_mm = x_mm, .y_mm = y_mm, .has_position = has_position, .map = "meadow"};

	test_join_as(t, client, &join);
}

void test_join_as(struct test_shard *t, uint32_t client, const struct msg_player_join *as)
{
	struct test_client *c = &t->clients[client];
	struct msg_player_join join = *as;
	struct msg message[5];
	uint8_t *payload;

	join.session = 1000 + client;
	join.character_id = 5000 + client;
	join.epoch = 3;
	join.realm_id = 1;
	join.payload_bytes_max = 1300;
	strcpy(join.name, "Ann");

	if (!c->knows) {
		c->knows = malloc(TEST_ACTORS_MAX * sizeof(*c->knows));
		c->looks = malloc(TEST_ACTORS_MAX * sizeof(*c->looks));
		c->heard_tick = malloc(TEST_ACTORS_MAX * sizeof(*c->heard_tick));
		c->seen_x_mm = malloc(TEST_ACTORS_MAX * sizeof(*c->seen_x_mm));
		c->seen_y_mm = malloc(TEST_ACTORS_MAX * sizeof(*c->seen_y_mm));
		c->seen_health = malloc(TEST_ACTORS_MAX * sizeof(*c->seen_health));
		c->seen_item = malloc(TEST_ACTORS_MAX * sizeof(*c->seen_item));
	}
	memset(c->knows, 0, TEST_ACTORS_MAX * sizeof(*c->knows));
	memset(c->heard_tick, 0, TEST_ACTORS_MAX * sizeof(*c->heard_tick));
	*c = (struct test_client){.knows = c->knows,
		.looks = c->looks,
		.heard_tick = c->heard_tick,
		.seen_x_mm = c->seen_x_mm,
		.seen_y_mm = c->seen_y_mm,
		.seen_health = c->seen_health,
		.seen_item = c->seen_item};
	c->here = true;
	c->peer = test_peer(client);
	c->session = join.session;
	payload = msg_begin(message, MSG_PLAYER_JOIN, c->peer, sizeof(join));
	memcpy(payload, &join, sizeof(join));
	assert_true(msg_ring_push(t->links.from_control, message));
}

void test_gone(struct test_shard *t, uint32_t client)
{
	struct msg message;
	struct msg_peer_gone gone = {0};

	t->clients[client].here = false;
	memcpy(msg_begin(&message, MSG_PEER_GONE, test_peer(client), sizeof(gone)), &gone,
		sizeof(gone));
	assert_true(msg_ring_push(t->links.from_dataplane[client % t->workers], &message));
}

void test_remove(struct test_shard *t, uint32_t client, uint32_t reason)
{
	struct msg message;
	struct msg_player_remove gone = {.session = 1000 + client, .reason = reason};

	memcpy(msg_begin(&message, MSG_PLAYER_REMOVE, test_peer(client), sizeof(gone)), &gone,
		sizeof(gone));
	assert_true(msg_ring_push(t->links.from_control, &message));
}

void test_stop(struct test_shard *t)
{
	struct msg message;

	msg_begin(&message, MSG_SHARD_STOP, HANDLE_NONE, 0);
	assert_true(msg_ring_push(t->links.from_control, &message));
}

void test_write(const char *folder, const char *name, const char *text)
{
	char path[128];
	FILE *file;

	snprintf(path, sizeof(path), "%s/%s", folder, name);
	file = fopen(path, "w");
	assert_non_null(file);
	fputs(text, file);
	fclose(file);
}

void test_write_map(const char *folder, const char *name, int columns, int rows,
	bool (*solid)(int column, int row), const char *objects)
{
	char path[128];
	FILE *file;

	snprintf(path, sizeof(path), "%s/%s", folder, name);
	file = fopen(path, "w");
	assert_non_null(file);
	fprintf(file,
		"{\"type\":\"map\",\"orientation\":\"orthogonal\",\"width\":%d,\"height\":%d,"
		"\"tilewidth\":10,\"tileheight\":10,\"tilesets\":[{\"firstgid\":1,\"tilecount\":1}]"
		","
		"\"layers\":[{\"type\":\"tilelayer\",\"width\":%d,\"height\":%d,\"properties\":[{"
		"\"name\":\"solid\",\"type\":\"bool\",\"value\":true}],\"data\":[",
		columns, rows, columns, rows);
	for (int row = rows; row--;)
		for (int column = 0; column < columns; column++)
			fprintf(file, "%s%d", row == rows - 1 && !column ? "" : ",",
				solid && solid(column, row));
	fprintf(file, "]},{\"type\":\"objectgroup\",\"objects\":[%s]}]}", objects);
	fclose(file);
}

uint32_t test_slot_of(const struct sim_map *m, uint32_t client)
{
	for (uint32_t slot = 0; slot < m->player_slots; slot++)
		if (sim_is_present(m, slot) && m->players_table[slot].peer == test_peer(client))
			return slot;
	fail_msg("client %u is not there", client);
	return 0;
}

void test_open_instance(struct test_shard *t, uint32_t id)
{
	const struct msg_instance body = {id, INSTANCE_OPEN};
	char error[256] = "";
	struct msg message;

	if (sim_instance_build(t->links.instances, id, error, sizeof(error)))
		fail_msg("%s", error);
	memcpy(msg_begin(&message, MSG_INSTANCE_OPEN, HANDLE_NONE, sizeof(body)), &body,
		sizeof(body));
	assert_true(msg_ring_push(t->links.from_control, &message));
}

void test_fill(struct msg_ring *ring)
{
	struct msg filler;

	msg_begin(&filler, MSG_DETAIL_QUERY, HANDLE_NONE, 0);
	while (msg_ring_push(ring, &filler))
		;
}

void test_empty(struct msg_ring *ring)
{
	static struct msg_buffer rest[2];

	while (msg_ring_pop(ring, rest[0].slot, 2 * MSG_SLOTS_MAX))
		;
}

uint64_t test_counter(const struct test_shard *t, uint32_t counter)
{
	return counter_get(&sim_shard_counters(t->shard)->values[counter]);
}
