/* Proves: a good file fills the struct in the right units; every kind of mistake is refused with
 * its line, its key and what is allowed, all mistakes of a file at once; every default of the table
 * is a value that the table allows; and no bytes whatever make the loader crash. */
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>
#include <errno.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

#include <cmocka.h>

#include "common/config_table.h"
#include "common/instance.h"
#include "common/config_value.h"

#define KEY64 "00112233445566778899aabbccddeeff00112233445566778899AABBCCDDEEFF"

/* Loads text as a file; returns what sw_config_load returns. The caller frees *errors, which names
 * the file "F". */
static int load(struct sw_config *config, const char *text, size_t bytes, char **errors)
{
	char path[] = "/tmp/sw-config-test-XXXXXX", *found, *said = NULL;
	size_t said_bytes;
	FILE *out = open_memstream(&said, &said_bytes);
	int file = mkstemp(path), result;

	assert_true(file >= 0);
	assert_int_equal(write(file, text, bytes), bytes);
	close(file);
	result = sw_config_load(config, path, out);
	fclose(out);
	unlink(path);
	while ((found = strstr(said, path))) {
		*found = 'F';
		memmove(found + 1, found + strlen(path), strlen(found + strlen(path)) + 1);
	}
	*errors = said;
	return result;
}

/* Twelve lines that make a file valid; what a case adds begins on line 13. */
#define GOOD                                                                                       \
	"ports:\n"                                                                                 \
	"  - device: net_af_xdp0\n"                                                                \
	"    address: 10.77.0.1/24\n"                                                              \
	"maps:\n"                                                                                  \
	"  - name: meadow\n"                                                                       \
	"  - name: cave\n"                                                                         \
	"    width: 2km\n"                                                                         \
	"admission:\n"                                                                             \
	"  first_map: meadow\n"                                                                    \
	"  ticket_keys:\n"                                                                         \
	"    - id: 7\n"                                                                            \
	"      public_key: " KEY64 "\n"

/* What the configuration leaves out, the map's file says. */
static void the_file_of_a_map_says_its_extent(void **state)
{
	static const struct {
		const char *more;
		uint32_t width_m, height_m;
	} table[] = {
		{"", 500, 500},
		{", file: a.tmj", 0, 0},
		{", file: a.tmj, width: 40m", 40, 0},
		{", height: 1km, file: maps/a.tmj", 0, 1000},
		{", file: ''", 500, 500},
	};
	static struct sw_config config;

	(void)state;
	for (size_t i = 0; i < sizeof(table) / sizeof(table[0]); i++) {
		char text[1024], *errors;

		snprintf(text, sizeof(text),
			"ports: [{device: a, address: 10.77.0.1/24}]\n"
			"maps: [{name: m%s}]\n"
			"admission: {first_map: m, ticket_keys: [{id: 7, public_key: " KEY64
			"}]}\n",
			table[i].more);
		if (load(&config, text, strlen(text), &errors))
			fail_msg("row %zu: %s", i, errors);
		free(errors);
		assert_int_equal(config.maps[0].width_m, table[i].width_m);
		assert_int_equal(config.maps[0].height_m, table[i].height_m);
	}
}

static void good_file_fills_the_struct(void **state)
{
	static struct sw_config config;
	const char *text = GOOD "simulation:\n"
				"  lcores: [2, 3]\n"
				"  autosave: 15 s\n"
				"  script_memory: 8MiB\n"
				"  seed: 18446744073709551615\n"
				"dataplane: {idle: poll, stats_period: 2min, lcores: [2], "
				"record_cycles: off}\n"
				"enet: {checksum: \"on\", mtu: 1200B}\n"
				"redis: {address: 'unix:/run/x.sock'}\n"
				"http:\n";
	char *errors;

	(void)state;
	assert_int_equal(load(&config, text, strlen(text), &errors), 0);
	assert_string_equal(errors, "");
	free(errors);
	assert_string_equal(config.ports[0].device, "net_af_xdp0");
	assert_int_equal(config.port_count, 1);
	assert_int_equal(config.ports[0].rxd, 1024);
	assert_int_equal(config.map_count, 2);
	assert_int_equal(config.maps[0].width_m, 500);
	assert_int_equal(config.maps[1].width_m, 2000);
	assert_int_equal(config.maps[1].tick_hz, 20);
	assert_string_equal(config.maps[0].file, "");
	assert_int_equal(config.admission.ticket_keys[0].id, 7);
	assert_int_equal(config.admission.ticket_keys[0].public_key[1], 0x11);
	assert_int_equal(config.admission.ticket_keys[0].public_key[31], 0xff);
	assert_int_equal(config.simulation.lcore_count, 2);
	assert_int_equal(config.simulation.lcores[1], 3);
	assert_int_equal(config.simulation.autosave_ms, 15000);
	assert_int_equal(config.simulation.slice_us, 50);
	assert_int_equal(config.simulation.script_memory_bytes, 8 << 20);
	assert_true(config.simulation.seed == UINT64_MAX);
	assert_int_equal(config.dataplane.idle, CONFIG_IDLE_POLL);
	assert_int_equal(config.dataplane.stats_period_s, 120);
	assert_int_equal(config.dataplane.record_cycles, 0);
	assert_int_equal(config.ports[0].steering, CONFIG_STEERING_AUTO);
	assert_int_equal(config.enet.checksum, CONFIG_USE_ON);
	assert_int_equal(config.enet.mtu, 1200);
	assert_int_equal(config.enet.packet_bytes_max, 4096);
	assert_string_equal(config.redis.address, "unix:/run/x.sock");
	assert_string_equal(config.log.level, "info");
}

struct refusal {
	const char *text;
	const char *fault; /* stands in the output */
};

static const struct refusal added[] = {
	{"nodes: {}\n",
		"F:13: nodes: is not a key, allowed are those of docs/configuration.md (did "
		"you mean node?)\n"},
	{"redis:\n  heartbeat_ms: 1s\n",
		"F:14: redis.heartbeat_ms: is not a key, allowed are those "
		"of docs/configuration.md (did you mean heartbeat?)\n"},
	{"xyzzy: 1\n", "F:13: xyzzy: is not a key, allowed are those of docs/configuration.md\n"},
	{"benchmark: {sessions: 9, acknowledged: yes}\n",
		"F:13: benchmark: a game server has none: a session without a handshake is a "
		"player without a login; allowed is stormweir-echo --benchmark-sessions "
		"(docs/packet-generators.md)\n"},
	{"redis.heartbeat: 1s\n", "\"redis.heartbeat\": is not a key"},
	{"? [a]\n: 1\n", "F:13: (root): a list stands where a key must be\n"},
	{"maps: []\n", "F:13: maps: is given twice, first on line 4, allowed is once\n"},
	{"redis:\n  database: 1\n  database: 1\n",
		"F:15: redis.database: is given twice, first on line 14, allowed is once\n"},
	{"redis: {}\nredis: {}\n", "F:14: redis: is given twice, allowed is once\n"},
	{"redis: [1]\n", "F:13: redis: is a list, allowed is a mapping\n"},
	{"redis: yes\n", "F:13: redis: is a single value, allowed is a mapping\n"},
	{"redis: {heartbeat: [1s]}\n",
		"F:13: redis.heartbeat: is a list, allowed is a duration with its unit: ms, s, "
		"min, h\n"},
	{"redis: {heartbeat: 20}\n", "F:13: redis.heartbeat: \"20\" lacks its unit, allowed is"},
	{"redis: {heartbeat: 20us}\n",
		"redis.heartbeat: \"20us\" has a unit that is not used here"},
	{"redis: {heartbeat: 1m}\n", "redis.heartbeat: \"1m\" has a unit that is not used here"},
	{"redis: {heartbeat: 1 s x}\n", "has a unit that is not used here"},
	{"redis: {heartbeat: 1.5s}\n", "has a unit that is not used here"},
	{"redis: {heartbeat: -1s}\n", "\"-1s\" is not a figure"},
	{"redis: {heartbeat: soon}\n", "\"soon\" is not a figure"},
	{"redis: {heartbeat: }\n", "\"\" is not a figure"},
	{"redis: {heartbeat: 11s}\n",
		"redis.heartbeat: \"11s\" is out of range, allowed is from 100ms to 10s\n"},
	{"redis: {heartbeat: 18446744073709551615h}\n", "is out of range"},
	{"redis: {database: 18446744073709551616}\n", "is far too large"},
	{"redis: {database: 1s}\n", "\"1s\" is not a whole number"},
	{"redis: {database: 0x10}\n", "\"0x10\" is not a whole number"},
	{"redis: {database: 1024}\n", "is out of range, allowed is from 0 to 1023\n"},
	{"enet: {mtu: 1400}\n", "enet.mtu: \"1400\" lacks its unit"},
	{"enet: {mtu: 1KB}\n", "has a unit that is not used here"},
	{"enet: {mtu: 400B}\n", "is out of range, allowed is from 576B to 4KiB\n"},
	{"enet: {checksum: maybe}\n", "\"maybe\" is none of them, allowed is off, on or any\n"},
	{"dataplane: {idle: Poll}\n", "\"Poll\" is none of them, allowed is poll or adaptive\n"},
	{"log: {level: loud}\n",
		"\"loud\" is none of them, allowed is debug, info, warn or error\n"},
	{"log: {level: a-very-long-level-name}\n", "is 22 bytes long, allowed are at most 15\n"},
	{"rings: {slots: 1000}\n", "\"1000\" is not a power of two"},
	{"dataplane: {lcores: 1}\n", "dataplane.lcores: is a single value, allowed is a list of"},
	{"dataplane: {lcores: []}\n",
		"dataplane.lcores: has 0 entries, allowed are from 1 to 64\n"},
	{"dataplane: {lcores: [1, 2, 1]}\n", "dataplane.lcores: lcore 1 is in the list twice"},
	{"dataplane: {lcores: [1, 128]}\n", "dataplane.lcores: entry 1: \"128\" is out of range"},
	{"dataplane: {lcores: [a]}\n", "dataplane.lcores: entry 0: \"a\" is not a figure"},
	{"dataplane: {lcores: [[1]]}\n", "dataplane.lcores: entry 0 is a list"},
	{"http: {address: localhost:9100}\n", "\"localhost:9100\" is not one, allowed is an IPv4"},
	{"http: {address: '127.0.0.1:65536'}\n", "is not one, allowed is an IPv4"},
	{"http: {address: '127.0.0.1'}\n", "is not one, allowed is an IPv4"},
	{"redis: {address: 'unix:relative'}\n",
		"is not one, allowed is an IPv4 address and port, or"},
	{"node: {name: 'a b'}\n", "\"a b\" has characters that a name may not have"},
	{"node: {name: ''}\n", "node.name: is empty"},
	{"node: {name: \"a\\0b\"}\n", "node.name: holds a control character"},
	{"log: {file: \"/tmp/\\x1b[31m\"}\n", "log.file: holds a control character"},
	{"redis: {heartbeat: 2s}\n", "F:13: redis.heartbeat: 2s is too much beside "
				     "redis.heartbeat_expire of 3s"},
	{"enet: {packet_max: 8KiB, peer_hold: 4KiB}\n", "is out of range"},
	{"enet: {packet_max: 8000B, peer_hold: 4KiB}\n",
		"F:13: enet.packet_max: 8000B is too much beside enet.peer_hold of 4KiB"},
	{"enet: {peer_queue: 2KiB}\n",
		"F:13: enet.peer_queue: 2KiB is too little beside enet.packet_max of 4KiB"},
	{"enet: {peer_hold: 64MiB}\n",
		"F:13: enet.peer_hold: 64MiB is too much beside enet.pool of 32MiB"},
	{"enet: {peers_max: 100}\n",
		"F:1: admission.players_max: 4000 players do not fit 100 peers"},
	{"simulation: {script_tick: 60ms}\n", "maps[0].tick_hz: a tick of 50000 us is shorter"},
	{"---\na: 1\n", "F:14: (file): holds a second document, allowed is one\n"},
	{"log: {file: 'a}\n", "(syntax): while scanning a quoted scalar: found unexpected end of "
			      "stream, allowed is YAML 1.1\n"},
	{"\tlog: 1\n", "F:13: (syntax): "},
	{"log: *nowhere\n", "F:13: (syntax): found undefined alias"},
	{"log: \xff\n", "F:13: (syntax): invalid leading UTF-8 octet"},
	{"\x1b[31m: 1\n", "F:13: (syntax): control characters are not allowed"},
	{"\"\\e[31m\": 1\n", "F:13: \"?[31m\": is not a key"},
	{"node: &a\n  name: *a\n", "node.name: is a mapping, allowed is a name"},
};

static void mistakes_are_named(void **state)
{
	static struct sw_config config;

	(void)state;
	for (size_t i = 0; i < sizeof(added) / sizeof(added[0]); i++) {
		char text[2048], *errors;
		int n = snprintf(text, sizeof(text), "%s%s", GOOD, added[i].text);

		assert_int_equal(load(&config, text, (size_t)n, &errors), -EINVAL);
		if (!strstr(errors, added[i].fault))
			fail_msg("case %zu, %s: \"%s\" is not in \"%s\"", i, added[i].text,
				added[i].fault, errors);
		free(errors);
	}
}

/* Whole files, with all that must be said about them: nothing less and nothing more. */
static const struct refusal whole[] = {
	{"", "F:1: (file): is empty, allowed is a mapping\n"},
	{"42\n", "F:1: (root): is a single value, allowed is a mapping\n"
		 "F:1: ports: is missing, allowed are from 1 to 8 entries\n"
		 "F:1: maps: is missing, allowed are from 1 to 64 entries\n"
		 "F:1: admission.ticket_keys: is missing, allowed are from 1 to 4 entries\n"},
	{"node: {name: x}\n",
		"F:1: admission.first_map: is missing, it has no default\n"
		"F:1: ports: is missing, allowed are from 1 to 8 entries\n"
		"F:1: maps: is missing, allowed are from 1 to 64 entries\n"
		"F:1: admission.ticket_keys: is missing, allowed are from 1 to 4 entries\n"},
	{"ports: [{device: a, address: 10.0.0.1/24}, {device: a, address: 10.0.0.1/8},\n"
	 "  {address: 127.0.0.1/8}]\n"
	 "maps:\n"
	 "  - name: a\n"
	 "    shard: 1\n"
	 "  - {name: a, colour: red}\n"
	 "admission:\n"
	 "  first_map: b\n"
	 "  ticket_keys:\n"
	 "    - {id: 1, public_key: " KEY64 "}\n"
	 "    - {id: 1, public_key: 00}\n"
	 "    - id: 2\n",
		"F:1: ports[1].device: \"a\" is also the device of ports[0], allowed is each "
		"device "
		"once\n"
		"F:1: ports[1].address: \"10.0.0.1/8\" is also the address of ports[0], allowed is "
		"each address once\n"
		"F:2: ports[2].address: \"127.0.0.1/8\" is not one, allowed is an IPv4 address "
		"with "
		"its prefix length, such as 10.77.0.1/24\n"
		"F:2: ports[2].device: is missing, it has no default\n"
		"F:5: maps[0].shard: there is no shard 1, allowed is from 0 to 0, one for each of "
		"simulation.lcores\n"
		"F:6: maps[1].colour: is not a key, allowed are those of docs/configuration.md\n"
		"F:6: maps[1].name: \"a\" is also the name of maps[0] on line 4, allowed is each "
		"name once\n"
		"F:8: admission.first_map: there is no map \"b\", allowed is the name of one of "
		"maps, such as \"a\"\n"
		"F:11: admission.ticket_keys[1].public_key: has 2 characters, allowed are exactly "
		"64 hexadecimal digits\n"
		"F:11: admission.ticket_keys[1].id: 1 is also the id of ticket_keys[0], allowed is "
		"each id once\n"
		"F:12: admission.ticket_keys[2].public_key: is missing, it has no default\n"},
	{"ports:\n"
	 "  - {device: a, address: 10.0.0.1/24, address6: '2001:db8::1/64'}\n"
	 "  - {device: b, address: 10.0.0.2/24, address6: '2001:DB8:0::1/48'}\n"
	 "  - {device: c, address: 10.0.0.3/24, address6: 'fe80::1/64'}\n"
	 "  - {device: d, address: 10.0.0.4/24, address6: 'fe80::1/64'}\n"
	 "  - {device: f, address: 10.0.0.6/24, address6: '2001:db8::6'}\n"
	 "  - {device: g, address: 10.0.0.7/24, address6: '::ffff:10.0.0.7/120'}\n"
	 "  - {device: h, address: 10.0.0.8/24, address6: 'ff02::1/64'}\n"
	 "  - {device: i, address: 10.0.0.9/24, address6: '2001:db8:1::/64'}\n"
	 "maps: [{name: a}]\n"
	 "admission: {first_map: a, ticket_keys: [{id: 1, public_key: " KEY64 "}]}\n",
		"F:3: ports[1].address6: \"2001:DB8:0::1/48\" is also the address6 of ports[0], "
		"allowed is each address once\n"
		"F:6: ports[4].address6: \"2001:db8::6\" is not one, allowed is an IPv6 address "
		"with its prefix length, such as 2001:db8::1/64\n"
		"F:7: ports[5].address6: \"::ffff:10.0.0.7/120\" is not one, allowed is an IPv6 "
		"address with its prefix length, such as 2001:db8::1/64\n"
		"F:8: ports[6].address6: \"ff02::1/64\" is not one, allowed is an IPv6 address "
		"with its prefix length, such as 2001:db8::1/64\n"
		"F:9: ports[7].address6: \"2001:db8:1::/64\" is not one, allowed is an IPv6 "
		"address with its prefix length, such as 2001:db8::1/64\n"},
};

/* One port, one map: what their addresses and scripts may be. */
static void addresses_and_scripts_are_checked(void **state)
{
	static const struct {
		const char *address, *script, *fault; /* NULL: none */
	} rows[] = {
		{"10.77.0.1/24", "meadow.lua", NULL},
		{"10.77.0.0/24", "", "\"10.77.0.0/24\" is the network itself or its broadcast"},
		{"10.77.0.255/24", "", "is the network itself or its broadcast address, allowed"},
		{"10.77.0.255/16", "", NULL},
		{"10.77.0.0/31", "", NULL},
		{"10.77.0.1/31", "", NULL},
		{"10.77.0.0/32", "", NULL},
		{"10.128.0.0/1", "", NULL},
		{"128.0.0.0/1", "", "is the network itself"},
		{"10.77.0.1/24", "a/..b/c...lua", NULL},
		{"10.77.0.1/24", "/meadow.lua", "maps[0].script: \"/meadow.lua\" leads out of"},
		{"10.77.0.1/24", "../meadow.lua",
			"leads out of its folder, allowed is a path that"},
		{"10.77.0.1/24", "a/../../meadow.lua", "leads out of its folder"},
		{"10.77.0.1/24", "a//..", "leads out of its folder"},
	};
	static struct sw_config config;

	(void)state;
	for (size_t i = 0; i < sizeof(rows) / sizeof(rows[0]); i++) {
		char text[1024], *errors;
		int n = snprintf(text, sizeof(text),
			"ports: [{device: a, address: %s}]\n"
			"maps: [{name: m, script: '%s'}]\n"
			"admission: {first_map: m, ticket_keys: [{id: 1, public_key: " KEY64
			"}]}\n",
			rows[i].address, rows[i].script);
		int rc = load(&config, text, (size_t)n, &errors);

		if ((rc != 0) != (rows[i].fault != NULL) ||
			(rows[i].fault && !strstr(errors, rows[i].fault)))
			fail_msg("row %zu, %s, '%s': %d, \"%s\"", i, rows[i].address,
				rows[i].script, rc, errors);
		free(errors);
	}
}

static void instances_are_checked(void **state)
{
	static const struct {
		const char *maps;
		const char *fault; /* NULL: good */
		uint32_t shard, slots;
	} rows[] = {
		{"{name: m}", NULL, CONFIG_SHARD_ANY, 1},
		{"{name: m, shard: any, instances: 3, warm: 2}", NULL, CONFIG_SHARD_ANY, 5},
		{"{name: m, shard: 0, kind: map, instances: 0}", NULL, 0, 1},
		{"{name: m}, {name: r, kind: room, warm: 2, rule: timed, match_time: 5min}", NULL,
			CONFIG_SHARD_ANY, 9},
		{"{name: m, shard: some}", "maps[0].shard: \"some\" is not a figure", 0, 0},
		{"{name: m, shard: 64}", "maps[0].shard: \"64\" is out of range", 0, 0},
		{"{name: m, kind: dungeon}", "maps[0].kind: \"dungeon\" is none of them", 0, 0},
		{"{name: m, instances: 2, warm: 1, instances_max: 2}",
			"maps[0].instances_max: 2 is less than instances and warm together, "
			"allowed is at least 3", 0, 0},
		{"{name: m, instances: 200}, {name: n, instances: 57}",
			"257 instances of all maps together, allowed are at most 256", 0, 0},
		{"{name: m, kind: room}", "\"m\" is a room, allowed is a map of kind map", 0, 0},
	};
	static struct sw_config config;

	(void)state;
	for (size_t i = 0; i < sizeof(rows) / sizeof(rows[0]); i++) {
		char text[1024], *errors;
		int n = snprintf(text, sizeof(text),
			"ports: [{device: a, address: 10.77.0.1/24}]\n"
			"maps: [%s]\n"
			"admission: {first_map: m, ticket_keys: [{id: 1, public_key: " KEY64
			"}]}\n",
			rows[i].maps);
		int rc = load(&config, text, (size_t)n, &errors);

		if ((rc != 0) != (rows[i].fault != NULL) ||
			(rows[i].fault && !strstr(errors, rows[i].fault)))
			fail_msg("row %zu, %s: %d, \"%s\"", i, rows[i].maps, rc, errors);
		free(errors);
		if (rc)
			continue;
		assert_int_equal(config.maps[0].shard, rows[i].shard);
		assert_int_equal(instance_first(&config, config.map_count), rows[i].slots);
	}
}

static void all_mistakes_at_once(void **state)
{
	static struct sw_config config;

	(void)state;
	for (size_t i = 0; i < sizeof(whole) / sizeof(whole[0]); i++) {
		char *errors;

		assert_int_equal(
			load(&config, whole[i].text, strlen(whole[i].text), &errors), -EINVAL);
		assert_string_equal(errors, whole[i].fault);
		free(errors);
	}
}

static void missing_file_is_said(void **state)
{
	static struct sw_config config;
	char *said = NULL;
	size_t bytes;
	FILE *out = open_memstream(&said, &bytes);

	(void)state;
	assert_int_equal(sw_config_load(&config, "/nonexistent/a.yaml", out), -ENOENT);
	assert_int_equal(sw_config_load(&config, "/tmp", out), -EISDIR);
	fclose(out);
	assert_string_equal(said, "/nonexistent/a.yaml:0: (file): No such file or directory\n"
				  "/tmp:0: (file): Is a directory\n");
	free(said);
}

static void table_agrees_with_itself(void **state)
{
	static struct sw_config config;
	char *page = NULL;
	size_t bytes;
	FILE *out = open_memstream(&page, &bytes);

	(void)state;
	sw_config_defaults(&config); /* CHECKs each default against its range */
	assert_int_equal(config.enet.mtu, 1400);
	assert_int_equal(config.dataplane.lcore_count, 1);
	sw_config_reference(out);
	fclose(out);
	for (size_t i = 0; i < CONFIG_KEY_COUNT; i++) {
		const struct config_key *key = &config_keys[i];
		char row[96];

		assert_true(key->min <= key->max);
		assert_true(key->offset + key->bytes <= sizeof(config));
		if (key->kind <= CONFIG_LENGTH) /* the figures come first */
			assert_true(key->bytes == 8 || (key->bytes == 4 && key->max <= UINT32_MAX));
		if (key->kind >= CONFIG_TEXT && key->kind <= CONFIG_PATH_INSIDE)
			assert_true(key->max < key->bytes);
		assert_ptr_equal(config_key_find(key->path), key);
		snprintf(row, sizeof(row), "\n| `%s` |", strrchr(key->path, '.') + 1);
		if (!strstr(page, row))
			fail_msg("%s is not on the reference page", key->path);
	}
	free(page);
}

static void figures_are_written_as_read(void **state)
{
	static const struct {
		enum config_kind kind;
		uint64_t value;
		const char *text;
	} rows[] = {{CONFIG_DURATION_MS, 20000, "20s"}, {CONFIG_DURATION_MS, 1500, "1500ms"},
		{CONFIG_DURATION_US, 0, "0us"}, {CONFIG_DURATION_S, 3600, "1h"},
		{CONFIG_BYTES, 4096, "4KiB"}, {CONFIG_BYTES, 1400, "1400B"},
		{CONFIG_LENGTH, 2000, "2km"}, {CONFIG_INTEGER, 7, "7"}};

	(void)state;
	for (size_t i = 0; i < sizeof(rows) / sizeof(rows[0]); i++) {
		struct config_key key = {.kind = rows[i].kind, .bytes = 8, .max = UINT64_MAX};
		char text[CONFIG_FIGURE_BYTES], why[CONFIG_WHY_BYTES];
		uint64_t back;

		assert_string_equal(config_figure(rows[i].kind, rows[i].value, text), rows[i].text);
		assert_true(config_value_parse(&key, text, strlen(text), &back, why));
		assert_int_equal(back, rows[i].value);
	}
}

/* Every file of the tables above with bytes cut, changed and repeated. */
static void garbage_never_crashes(void **state)
{
	static struct sw_config config;
	uint64_t seed = 0x5eed;
	size_t cases = sizeof(added) / sizeof(added[0]);

	(void)state;
	for (uint32_t round = 0; round < 4000; round++) {
		char text[4096], *errors;
		const struct refusal *base = &added[round % cases];
		size_t bytes = (size_t)snprintf(text, sizeof(text), "%s%s", GOOD, base->text);

		for (uint32_t edit = 0; edit < 1 + round % 5; edit++) {
			static const char spice[] = ":-[]{}&*!|>'\"%@`#,? \n\t\\0\xff";
			size_t at;

			seed = seed * 6364136223846793005ull + 1442695040888963407ull;
			at = (seed >> 33) % bytes;
			if (seed >> 62 == 0)
				bytes = at + 1;
			else if (seed >> 62 == 1)
				text[at] = (char)(seed >> 24);
			else if (seed >> 62 == 2)
				text[at] = spice[(seed >> 24) % (sizeof(spice) - 1)];
			else if (bytes < sizeof(text) / 2) {
				memmove(text + bytes, text + at, bytes - at);
				bytes += bytes - at;
			}
		}
		load(&config, text, bytes, &errors);
		free(errors);
	}
}

/* 100,000 brackets once kept libyaml busy for minutes. */
static void deep_and_wide_files_end(void **state)
{
	static struct sw_config config;
	static char text[(1u << 20) + 2];
	const char *nest[] = {"[", "{a: ", "- ", "? "};
	char *errors;

	(void)state;
	for (size_t i = 0; i < 4; i++) {
		size_t bytes = 0, one = strlen(nest[i]);

		for (; bytes + one <= 500000; bytes += one)
			memcpy(text + bytes, nest[i], one);
		assert_int_equal(load(&config, text, bytes, &errors), -EINVAL);
		assert_string_equal(errors, "F:1: (file): nests deeper than 16 levels\n");
		free(errors);
	}
	memset(text, 'x', sizeof(text));
	assert_int_equal(load(&config, text, sizeof(text), &errors), -EFBIG);
	free(errors);
	for (size_t i = 0; i < 100000; i++)
		memcpy(text + 5 * i, "a: 1\n", 5);
	assert_int_equal(load(&config, text, 500000, &errors), -EINVAL);
	assert_non_null(strstr(errors, "faults more\n"));
	free(errors);
}

int main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test(good_file_fills_the_struct),
		cmocka_unit_test(the_file_of_a_map_says_its_extent),
		cmocka_unit_test(mistakes_are_named),
		cmocka_unit_test(addresses_and_scripts_are_checked),
		cmocka_unit_test(instances_are_checked),
		cmocka_unit_test(all_mistakes_at_once),
		cmocka_unit_test(missing_file_is_said),
		cmocka_unit_test(table_agrees_with_itself),
		cmocka_unit_test(figures_are_written_as_read),
		cmocka_unit_test(garbage_never_crashes),
		cmocka_unit_test(deep_and_wide_files_end),
	};

	return cmocka_run_group_tests_name("config", tests, NULL, NULL);
}
