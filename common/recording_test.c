/* Proves: what is written into a recording is read back; a file that is no recording, of another
 * version, cut anywhere or damaged is refused by name and never read beyond its end; the hash of
 * the configuration changes with what decides how a shard goes on, and with nothing else. */
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>
#include <stdlib.h>
#include <string.h>

#include <cmocka.h>

#include "common/recording.h"

static const uint8_t payload[5] = {1, 2, 3, 4, 5};
static const struct recording_entry entries[] = {
	{.kind = RECORDING_STEP, .now_ns = 0x0102030405060708},
	{.kind = RECORDING_MESSAGE,
		.message = {.source = RECORDING_WORKER + 1,
			.type = MSG_PEER_PACKET,
			.flags = MSG_SEND_RELIABLE,
			.channel = 3,
			.payload_bytes = sizeof(payload),
			.peer = 0xfedcba9876543210,
			.subject = 99}},
	{.kind = RECORDING_REFUSED, .attempt = 70000},
	{.kind = RECORDING_OVER_TIME, .tick = {.instance = 0x101, .tick = 8}},
	{.kind = RECORDING_TICK, .tick = {.instance = 0x101, .tick = 9, .hash = UINT64_MAX - 1}},
	{.kind = RECORDING_ENDED, .end = RECORDING_END_LOST},
};
#define ENTRIES (sizeof(entries) / sizeof(entries[0]))

static size_t make(uint8_t *out)
{
	struct recording_header header = {.shard = 2,
		.workers = 2,
		.node_seed = 5,
		.seed = 7,
		.commit_start = 0x1122334455667788,
		.start_ns = 1000,
		.config_hash = 0xabc,
		.map_count = 3,
		.content_hash = {1, 2, UINT64_MAX},
		.build = "build",
		.config_path = "/etc/node.yaml"};
	size_t count = recording_header_write(out, &header);

	for (size_t i = 0; i < ENTRIES; i++) {
		count += recording_entry_write(out + count, &entries[i]);
		if (entries[i].kind == RECORDING_MESSAGE) {
			memcpy(out + count, payload, sizeof(payload));
			count += sizeof(payload);
		}
	}
	return count;
}

static void what_is_written_is_read(void **state)
{
	uint8_t bytes[2048];
	size_t count = make(bytes);
	struct recording_reader reader;
	struct recording_header h;
	struct recording_entry e;
	enum recording_fault fault;

	(void)state;
	assert_int_equal(recording_open(&reader, bytes, count, &h), RECORDING_FAULT_NONE);
	assert_int_equal(h.version, RECORDING_VERSION);
	assert_int_equal(h.shard, 2);
	assert_int_equal(h.workers, 2);
	assert_int_equal(h.node_seed, 5);
	assert_int_equal(h.seed, 7);
	assert_true(h.commit_start == 0x1122334455667788);
	assert_int_equal(h.start_ns, 1000);
	assert_int_equal(h.config_hash, 0xabc);
	assert_int_equal(h.map_count, 3);
	assert_true(h.content_hash[2] == UINT64_MAX);
	assert_string_equal(h.build, "build");
	assert_string_equal(h.config_path, "/etc/node.yaml");
	for (size_t i = 0; i < ENTRIES; i++) {
		const struct recording_entry *want = &entries[i];

		assert_true(recording_next(&reader, &e, &fault));
		assert_int_equal(e.kind, want->kind);
		switch (e.kind) {
		case RECORDING_STEP:
			assert_true(e.now_ns == want->now_ns);
			break;
		case RECORDING_MESSAGE:
			assert_int_equal(e.message.source, want->message.source);
			assert_int_equal(e.message.type, want->message.type);
			assert_int_equal(e.message.flags, want->message.flags);
			assert_int_equal(e.message.channel, want->message.channel);
			assert_int_equal(e.message.payload_bytes, sizeof(payload));
			assert_memory_equal(e.message.payload, payload, sizeof(payload));
			assert_true(e.message.peer == want->message.peer);
			assert_int_equal(e.message.subject, want->message.subject);
			break;
		case RECORDING_REFUSED:
			assert_int_equal(e.attempt, want->attempt);
			break;
		case RECORDING_OVER_TIME:
		case RECORDING_TICK:
			assert_int_equal(e.tick.instance, want->tick.instance);
			assert_int_equal(e.tick.tick, want->tick.tick);
			assert_true(e.tick.hash == want->tick.hash);
			break;
		case RECORDING_ENDED:
			assert_int_equal(e.end, want->end);
			break;
		}
	}
	assert_false(recording_next(&reader, &e, &fault));
	assert_int_equal(fault, RECORDING_FAULT_NONE);
}

/* Reads to the end or a fault; the bytes are copied to memory of just that size, so that asan sees
 * what is read beyond. */
static enum recording_fault fault_of(const uint8_t *bytes, size_t count)
{
	uint8_t *exact = malloc(count ? count : 1);
	struct recording_reader reader;
	struct recording_header h;
	struct recording_entry e;
	enum recording_fault fault;

	memcpy(exact, bytes, count);
	fault = recording_open(&reader, exact, count, &h);
	while (!fault && recording_next(&reader, &e, &fault))
		for (uint32_t i = 0; e.kind == RECORDING_MESSAGE && i < e.message.payload_bytes;
			i++)
			((volatile const uint8_t *)e.message.payload)[i];
	free(exact);
	return fault;
}

static void damage_is_refused_by_name(void **state)
{
	uint8_t bytes[2048], bad[2048];
	size_t count = make(bytes), header = count;
	uint32_t clean = 0, random = 1;
	struct recording_reader reader;
	struct recording_header h;

	(void)state;
	assert_int_equal(recording_open(&reader, bytes, count, &h), RECORDING_FAULT_NONE);
	header = reader.at;
	assert_int_equal(fault_of(bytes, count), RECORDING_FAULT_NONE);
	for (size_t cut = 0; cut < count; cut++) {
		enum recording_fault fault = fault_of(bytes, cut);

		if (cut < 12)
			assert_int_equal(fault, RECORDING_FAULT_FOREIGN);
		else if (cut < header)
			assert_int_equal(fault, RECORDING_FAULT_HEADER);
		else
			assert_true(!fault || fault == RECORDING_FAULT_CUT);
		clean += !fault;
	}
	assert_int_equal(clean, ENTRIES); /* between two entries */

	const struct {
		size_t at;
		uint8_t value;
		enum recording_fault fault;
	} table[] = {
		{0, 'X', RECORDING_FAULT_FOREIGN},
		{8, RECORDING_VERSION + 1, RECORDING_FAULT_VERSION},
		{12, 64, RECORDING_FAULT_HEADER},                /* shard */
		{16, 0, RECORDING_FAULT_HEADER},                 /* workers */
		{20, 65, RECORDING_FAULT_HEADER},                /* maps */
		{header, RECORDING_TICK, RECORDING_FAULT_ORDER}, /* before any step */
		{header, 0, RECORDING_FAULT_KIND},
		{header, RECORDING_ENDED + 1, RECORDING_FAULT_KIND},
		{header + 9 + 1, RECORDING_WORKER + 2, RECORDING_FAULT_MESSAGE},
		{header + 9 + 8, 0xff, RECORDING_FAULT_MESSAGE}, /* payload: 65,285 bytes */
		{count - 1, RECORDING_END_COUNT, RECORDING_FAULT_KIND},
	};
	for (size_t i = 0; i < sizeof(table) / sizeof(table[0]); i++) {
		memcpy(bad, bytes, count);
		bad[table[i].at] = table[i].value;
		if (fault_of(bad, count) != table[i].fault)
			fail_msg("damage %zu: %s", i, recording_fault_text(fault_of(bad, count)));
	}
	for (uint32_t i = 0; i < 20000; i++) { /* anything, anywhere: an answer, under asan */
		memcpy(bad, bytes, count);
		for (uint32_t n = 0; n < 4; n++) {
			random = random * 1664525u + 1013904223u;
			bad[random % count] = (uint8_t)(random >> 24);
		}
		assert_true(fault_of(bad, count) < RECORDING_FAULT_COUNT);
	}
}

static void the_configuration_is_told_apart(void **state)
{
	static struct sw_config a, b;
	uint64_t hash;

	(void)state;
	sw_config_defaults(&a);
	a.map_count = 1;
	strcpy(a.maps[0].name, "meadow");
	hash = recording_config_hash(&a);
#define CHANGES(field, value, changes)                                                             \
	do {                                                                                       \
		b = a;                                                                             \
		b.field = value;                                                                   \
		assert_int_equal(recording_config_hash(&b) != hash, changes);                      \
	} while (0)
	CHANGES(maps[0].tick_hz, 33, true);
	CHANGES(maps[0].script[0], 'x', true);
	CHANGES(simulation.slice_us, 77, true);
	CHANGES(enet.peers_max, 9, true);
	CHANGES(simulation.lcores[0], 7, false);
	CHANGES(simulation.content[0], 'x', false);
	CHANGES(simulation.record[0], 'x', false);
	CHANGES(simulation.seed, 8, false);
	CHANGES(dataplane.udp_port, 8, false);
}

int main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test(what_is_written_is_read),
		cmocka_unit_test(damage_is_refused_by_name),
		cmocka_unit_test(the_configuration_is_told_apart),
	};

	return cmocka_run_group_tests(tests, NULL, NULL);
}
