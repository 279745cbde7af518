#include "common/config_check.h"

#include <arpa/inet.h>
#include <inttypes.h>
#include <string.h>

#include "common/check.h"
#include "common/config_value.h"
#include "common/instance.h"

struct check {
	const struct sw_config *config;
	const struct config_lines *lines;
	struct config_faults *faults;
};

static size_t index_of(const char *path)
{
	const struct config_key *key = config_key_find(path);

	CHECK(key);
	return (size_t)(key - config_keys);
}

static bool good(const struct check *c, const char *path, uint32_t element)
{
	return !c->lines->bad[index_of(path)][element];
}

/* The line where the key stands, else the first line: a default took part. */
static uint32_t line_of(const struct check *c, const char *path, uint32_t element)
{
	uint32_t line = c->lines->key[index_of(path)][element];

	return line ? line : 1;
}

static uint64_t value_of(const struct check *c, const char *path)
{
	const struct config_key *key = config_key_find(path);
	const uint8_t *member = (const uint8_t *)c->config + key->offset;
	uint64_t wide;
	uint32_t narrow;

	if (key->bytes == sizeof(wide)) {
		memcpy(&wide, member, sizeof(wide));
		return wide;
	}
	memcpy(&narrow, member, sizeof(narrow));
	return narrow;
}

/* less must not be more than more / share. The fault names the one that the file gives. */
static void at_most(
	const struct check *c, const char *less, const char *more, uint64_t share, const char *why)
{
	uint64_t low = value_of(c, less), high = value_of(c, more);
	const struct config_key *less_key = config_key_find(less);
	char low_text[CONFIG_FIGURE_BYTES], high_text[CONFIG_FIGURE_BYTES];
	bool named_less = c->lines->key[index_of(less)][0] || !c->lines->key[index_of(more)][0];

	if (!good(c, less, 0) || !good(c, more, 0) || low * share <= high)
		return;
	config_figure(less_key->kind, low, low_text);
	config_figure(less_key->kind, high, high_text);
	if (named_less)
		config_fault_add(c->faults, line_of(c, less, 0),
			"%s: %s is too much beside %s of %s, allowed is %s", less, low_text, more,
			high_text, why);
	else
		config_fault_add(c->faults, line_of(c, more, 0),
			"%s: %s is too little beside %s of %s, allowed is %s", more, high_text,
			less, low_text, why);
}

/* What the two leave is everybody's, and is never nothing. */
static void check_shares(const struct check *c)
{
	const struct sw_config *config = c->config;
	uint32_t sum = config->admission.operator_share + config->admission.returning_share;

	if (good(c, "admission.operator_share", 0) && good(c, "admission.returning_share", 0) &&
		sum > 99)
		config_fault_add(c->faults, line_of(c, "admission.returning_share", 0),
			"admission.returning_share: %u beside operator_share of %u leaves nothing "
			"to "
			"the others, allowed are 99 together",
			config->admission.returning_share, config->admission.operator_share);
}

/* What an instance costs is known when its script is loaded; here only that the numbers agree. */
static void check_instances(const struct check *c)
{
	const struct sw_config *config = c->config;
	uint64_t all = 0;

	for (uint32_t i = 0; i < config->map_count; i++) {
		const struct config_map *map = &config->maps[i];
		uint64_t needed = (uint64_t)instance_at_start(map) + map->warm;

		if (!good(c, "maps[].instances_max", i) || !good(c, "maps[].instances", i) ||
			!good(c, "maps[].warm", i) || !good(c, "maps[].kind", i))
			return;
		if (map->instances_max && map->instances_max < needed)
			config_fault_add(c->faults, line_of(c, "maps[].instances_max", i),
				"maps[%u].instances_max: %u is less than instances and warm "
				"together, allowed is at least %" PRIu64,
				i, map->instances_max, needed);
		all += instance_max(map);
	}
	if (all > CONFIG_INSTANCES_MAX)
		config_fault_add(c->faults, line_of(c, "maps[].instances_max", 0),
			"maps: %" PRIu64 " instances of all maps together, allowed are at most %u",
			all, CONFIG_INSTANCES_MAX);
}

static void check_maps(const struct check *c)
{
	const struct sw_config *config = c->config;
	bool first_found = false, names_good = true;

	for (uint32_t i = 0; i < config->map_count; i++) {
		const struct config_map *map = &config->maps[i];
		uint64_t tick_us = map->tick_hz ? 1000000u / map->tick_hz : 0;

		if (good(c, "maps[].shard", i) && good(c, "simulation.lcores", 0) &&
			map->shard != CONFIG_SHARD_ANY &&
			map->shard >= config->simulation.lcore_count)
			config_fault_add(c->faults, line_of(c, "maps[].shard", i),
				"maps[%u].shard: there is no shard %u, allowed is from 0 to %u, "
				"one for each of simulation.lcores",
				i, map->shard, config->simulation.lcore_count - 1);
		if (good(c, "maps[].tick_hz", i) && good(c, "simulation.script_tick", 0) &&
			config->simulation.script_tick_us > tick_us)
			config_fault_add(c->faults, line_of(c, "maps[].tick_hz", i),
				"maps[%u].tick_hz: a tick of %" PRIu64
				" us is shorter than simulation.script_tick of %u us, allowed is "
				"a script_tick that fits the tick",
				i, tick_us, config->simulation.script_tick_us);
		if (!map->name[0]) {
			names_good = false; /* first_map may mean this one */
			continue;
		}
		first_found |= !strcmp(map->name, config->admission.first_map);
		if (map->kind == CONFIG_MAP_ROOM && good(c, "maps[].kind", i) &&
			!strcmp(map->name, config->admission.first_map))
			config_fault_add(c->faults, line_of(c, "admission.first_map", 0),
				"admission.first_map: \"%s\" is a room, allowed is a map of kind "
				"map",
				map->name);
		for (uint32_t j = 0; j < i; j++)
			if (!strcmp(map->name, config->maps[j].name)) {
				config_fault_add(c->faults, line_of(c, "maps[].name", i),
					"maps[%u].name: \"%s\" is also the name of maps[%u] on "
					"line %u, allowed is each name once",
					i, map->name, j, line_of(c, "maps[].name", j));
				break;
			}
	}
	if (config->map_count && config->admission.first_map[0] && names_good && !first_found)
		config_fault_add(c->faults, line_of(c, "admission.first_map", 0),
			"admission.first_map: there is no map \"%s\", allowed is the name of one "
			"of maps, such as \"%s\"",
			config->admission.first_map, config->maps[0].name);
}

/* IPv6 has many spellings. Link-local ones may repeat: each means its own link. */
static bool same_ip6(const char *a, const char *b)
{
	struct in6_addr one, other;
	char host[INET6_ADDRSTRLEN + 1];

	snprintf(host, sizeof(host), "%.*s", (int)strcspn(a, "/"), a);
	if (inet_pton(AF_INET6, host, &one) != 1 || IN6_IS_ADDR_LINKLOCAL(&one))
		return false;
	snprintf(host, sizeof(host), "%.*s", (int)strcspn(b, "/"), b);
	return inet_pton(AF_INET6, host, &other) == 1 && !memcmp(&one, &other, sizeof(one));
}

static void check_ports(const struct check *c)
{
	const struct sw_config *config = c->config;

	for (uint32_t i = 0; i < config->port_count; i++)
		for (uint32_t j = 0; j < i; j++) {
			const struct config_port *a = &config->ports[i], *b = &config->ports[j];
			size_t host = strcspn(a->address, "/");

			if (a->device[0] && !strcmp(a->device, b->device))
				config_fault_add(c->faults, line_of(c, "ports[].device", i),
					"ports[%u].device: \"%s\" is also the device of ports[%u], "
					"allowed is each device once",
					i, a->device, j);
			if (a->address[0] && host == strcspn(b->address, "/") &&
				!strncmp(a->address, b->address, host))
				config_fault_add(c->faults, line_of(c, "ports[].address", i),
					"ports[%u].address: \"%s\" is also the address of "
					"ports[%u], allowed is each address once",
					i, a->address, j);
			if (same_ip6(a->address6, b->address6))
				config_fault_add(c->faults, line_of(c, "ports[].address6", i),
					"ports[%u].address6: \"%s\" is also the address6 of "
					"ports[%u], allowed is each address once",
					i, a->address6, j);
		}
}

static void check_ticket_keys(const struct check *c)
{
	const struct sw_config *config = c->config;

	for (uint32_t i = 0; i < config->admission.ticket_key_count; i++)
		for (uint32_t j = 0; j < i; j++)
			if (c->lines->key[index_of("admission.ticket_keys[].id")][i] &&
				good(c, "admission.ticket_keys[].id", i) &&
				good(c, "admission.ticket_keys[].id", j) &&
				config->admission.ticket_keys[i].id ==
					config->admission.ticket_keys[j].id)
				config_fault_add(c->faults,
					line_of(c, "admission.ticket_keys[].id", i),
					"admission.ticket_keys[%u].id: %u is also the id of "
					"ticket_keys[%u], allowed is each id once",
					i, config->admission.ticket_keys[i].id, j);
}

static void check_capacity(const struct check *c)
{
	const struct sw_config *config = c->config;
	uint64_t peers = (uint64_t)config->enet.peers_max * config->dataplane.lcore_count;

	if (good(c, "admission.players_max", 0) && good(c, "enet.peers_max", 0) &&
		good(c, "dataplane.lcores", 0) && config->admission.players_max > peers)
		config_fault_add(c->faults, line_of(c, "admission.players_max", 0),
			"admission.players_max: %u players do not fit %" PRIu64
			" peers, allowed is at most enet.peers_max for each of dataplane.lcores",
			config->admission.players_max, peers);
}

static void check_sentinels(const struct check *c)
{
	const struct sw_config *config = c->config;

	if (config->redis.sentinel_count && !config->redis.master_name[0] &&
		good(c, "redis.master_name", 0))
		config_fault_add(c->faults, line_of(c, "redis.sentinels[].address", 0),
			"redis.master_name: missing, but there are redis.sentinels, allowed is the "
			"name that they watch the master under");
}

static void check_ops(const struct check *c)
{
	const struct sw_config *config = c->config;

	if (config->ops.tokens[0] && !config->ops.journal[0])
		config_fault_add(c->faults, line_of(c, "ops.tokens", 0),
			"ops.journal: missing, but orders are taken (ops.tokens), allowed is the "
			"path of a file that each order is written to");
}

void config_check(const struct sw_config *config, const struct config_lines *lines,
	struct config_faults *faults)
{
	struct check c = {config, lines, faults};

	check_ports(&c);
	check_maps(&c);
	check_instances(&c);
	check_ticket_keys(&c);
	check_shares(&c);
	check_capacity(&c);
	check_sentinels(&c);
	check_ops(&c);
	/* A packet in fragments is held until it is whole; its answer is queued until it is
	 * acknowledged. */
	at_most(&c, "enet.packet_max", "enet.peer_hold", 1,
		"a peer_hold that takes the largest packet");
	at_most(&c, "enet.packet_max", "enet.peer_queue", 1,
		"a peer_queue that takes the largest packet");
	at_most(&c, "enet.peer_hold", "enet.pool", 1, "a pool that takes one peer's hold");
	at_most(&c, "enet.peer_queue", "enet.pool", 1, "a pool that takes one peer's queue");
	at_most(&c, "simulation.update_max", "enet.packet_max", 1,
		"an update that fits the largest packet");
	at_most(&c, "redis.heartbeat", "redis.heartbeat_expire", 2,
		"a heartbeat_expire of at least two heartbeats");
	at_most(&c, "postgres.saves_per_batch", "postgres.saves_pending_max", 1,
		"a batch that fits saves_pending_max");
	at_most(&c, "postgres.commits_per_batch", "postgres.commits_pending_max", 1,
		"a batch that fits commits_pending_max");
}
