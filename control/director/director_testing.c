#include "control/director/director_testing.h"

#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <string.h>

#include <cmocka.h>

struct sw_config config;
struct director *director;
uint64_t now_ns;
uint32_t ordered, orders;
uint32_t opened[1024], opened_on[1024], opens;
uint32_t closed[1024], closes;
uint32_t asked_ids[64], asked_definitions[64], asks;
struct placement_load loads[SHARDS];

static void build(void *ctx, uint32_t id)
{
	(void)ctx;
	assert_int_equal(ordered, INSTANCE_NONE); /* one at a time */
	ordered = id;
	orders++;
}

static void to_shard(void *ctx, uint32_t shard, const struct msg *message)
{
	struct msg_instance body;

	(void)ctx;
	memcpy(&body, msg_payload(message), sizeof(body));
	if (message->type == MSG_INSTANCE_CLOSE) {
		uint32_t on;

		assert_true(closes < 1024 && director_runs(director, body.id, &on));
		assert_int_equal(on, shard);
		closed[closes++] = body.id;
		return;
	}
	assert_int_equal(message->type, MSG_INSTANCE_OPEN);
	assert_true(opens < 1024);
	opened[opens] = body.id;
	opened_on[opens++] = shard;
}

static void load(void *ctx, uint32_t shard, struct placement_load *out)
{
	(void)ctx;
	*out = loads[shard];
}

static void asked(void *ctx, uint32_t definition, uint32_t id)
{
	(void)ctx;
	assert_true(asks < 64);
	asked_definitions[asks] = definition;
	asked_ids[asks++] = id;
}

const struct director_ops director_testing_ops = {NULL, build, to_shard, load, asked};

bool built(bool good)
{
	uint32_t id = ordered;

	if (id == INSTANCE_NONE)
		return false;
	ordered = INSTANCE_NONE;
	director_built(director, id, good, now_ns);
	return true;
}

void all_built(void)
{
	while (built(true))
		;
}

void begin(void)
{
	memset(&config, 0, sizeof(config));
	config.simulation.players_max = 1000;
	config.map_count = 3;
	config.maps[0] = (struct config_map){.name = "meadow",
		.shard = CONFIG_SHARD_ANY,
		.instances = 2,
		.instances_max = 3,
		.players_max = 3};
	config.maps[1] = (struct config_map){.name = "arena",
		.kind = CONFIG_MAP_ROOM,
		.shard = CONFIG_SHARD_ANY,
		.warm = 1,
		.instances_max = 3,
		.players_max = 2};
	config.maps[2] = (struct config_map){.name = "cave", .shard = 2, .players_max = 1};
	memset(loads, 0, sizeof(loads));
	now_ns = NS_PER_S;
	ordered = INSTANCE_NONE;
	orders = opens = closes = asks = 0;
	director = director_new(&config, SHARDS, &director_testing_ops);
	assert_non_null(director);
	director_start(director, now_ns);
}

struct director_status status_of(uint32_t id)
{
	struct director_status status;

	director_status(director, instance_slot(id), &status);
	return status;
}

void says(uint32_t id, enum instance_state state)
{
	const struct msg_instance body = {id, state};
	struct msg message;
	uint32_t shard = 0;

	if (!director_runs(director, id, &shard))
		shard = status_of(id).shard;
	memcpy(msg_begin(&message, MSG_INSTANCE_STATE, 0, sizeof(body)), &body, sizeof(body));
	director_from_shard(director, shard, &message, now_ns);
}

uint64_t counted(enum director_counter counter)
{
	return counter_get(&director_counters(director)->values[counter]);
}

enum director_choice choose(uint32_t definition, uint32_t left, uint32_t avoid, uint32_t *id)
{
	*id = INSTANCE_NONE;
	return director_choose(director, definition, left, avoid, now_ns, id);
}
