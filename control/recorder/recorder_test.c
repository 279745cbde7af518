/* Proves: what a shard pushes while the recorder runs is in the file, whole and in order; a
 * recording ends once, with its reason in the file and in a counter: stopped, the ring ran full,
 * the file is as large as allowed or cannot be written any further, which leaves whole entries and
 * the process alive; a folder that cannot be used is refused at the start. */
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>
#include <stdlib.h>
#include <string.h>
#include <dirent.h>
#include <pthread.h>
#include <sched.h>
#include <signal.h>
#include <sys/resource.h>
#include <unistd.h>

#include <cmocka.h>

#include "control/recorder/recorder.h"

static char folder[] = "/tmp/sw-recorder-XXXXXX";
static struct sw_config config;
static struct byte_ring *ring;
static uint8_t *bytes;
static size_t count;

static struct recorder *start(uint32_t ring_bytes)
{
	const struct recording_header header = {.shard = 3, .workers = 1, .seed = 8};
	const struct recorder_source source = {.header = &header, .ring = ring};
	struct recorder *recorder;

	config.simulation.record_buffer_bytes = ring_bytes;
	recorder = recorder_start(&config, &source, 1, stderr);
	assert_non_null(recorder);
	return recorder;
}

static void step(uint64_t i)
{
	uint8_t entry[RECORDING_ENTRY_MAX];
	uint32_t size = recording_entry_write(
		entry, &(struct recording_entry){.kind = RECORDING_STEP, .now_ns = i});

	byte_ring_push(ring, entry, size, NULL, 0);
}

/* Reads the one file of the folder and removes it. */
static void load(void)
{
	DIR *dir = opendir(folder);
	struct dirent *entry;
	char path[512] = "";
	FILE *file;

	while ((entry = readdir(dir)))
		if (strstr(entry->d_name, ".swrec"))
			snprintf(path, sizeof(path), "%s/%s", folder, entry->d_name);
	closedir(dir);
	assert_non_null(strstr(path, "/shard-3-"));
	free(bytes);
	bytes = malloc(64u << 20);
	file = fopen(path, "rb");
	assert_non_null(file);
	count = fread(bytes, 1, 64u << 20, file);
	fclose(file);
	unlink(path);
}

/* Checks the file: steps 0, 1, ..., then this end. Returns how many steps. */
static uint64_t expect(enum recording_end end)
{
	struct recording_reader reader;
	struct recording_header header;
	struct recording_entry e;
	enum recording_fault fault;
	uint64_t steps = 0;

	load();
	assert_int_equal(recording_open(&reader, bytes, count, &header), RECORDING_FAULT_NONE);
	assert_int_equal(header.shard, 3);
	assert_int_equal(header.seed, 8);
	while (recording_next(&reader, &e, &fault) && e.kind == RECORDING_STEP)
		assert_int_equal(e.now_ns, steps++);
	assert_int_equal(fault, RECORDING_FAULT_NONE);
	assert_int_equal(e.kind, RECORDING_ENDED);
	assert_int_equal(e.end, end);
	assert_int_equal(reader.at, count);
	return steps;
}

static void all_that_was_pushed_is_written(void **state)
{
	enum { STEPS = 20000 };
	struct recorder *recorder;

	(void)state;
	ring = byte_ring_new(1u << 20); /* holds all of it, however slow the writer is */
	config.simulation.record_max_bytes = 10u << 20;
	recorder = start(1u << 20);
	for (uint32_t i = 0; i < STEPS; i++)
		step(i);
	recorder_stop(recorder);
	assert_int_equal(expect(RECORDING_END_STOPPED), STEPS);
	byte_ring_free(ring);
}

/* What was pushed before the order is in the file; what comes after it costs nobody anything. */
static void an_operator_ends_it(void **state)
{
	enum { STEPS = 5000 };
	struct recorder *recorder;

	(void)state;
	ring = byte_ring_new(1u << 20);
	config.simulation.record_max_bytes = 10u << 20;
	recorder = start(1u << 20);
	for (uint32_t i = 0; i < STEPS; i++)
		step(i);
	assert_int_equal(recorder_end(recorder), 1);
	while (!counter_get(&recorder_counters(recorder, 0)->values[RECORDER_ENDED_ORDERED]))
		sched_yield();
	for (uint32_t i = 0; i < STEPS; i++)
		step(STEPS + i);
	assert_int_equal(recorder_end(recorder), 0);
	recorder_stop(recorder);
	assert_int_equal(expect(RECORDING_END_ORDERED), STEPS);
	byte_ring_free(ring);
}

static void a_full_ring_ends_it(void **state)
{
	struct recorder *recorder;

	(void)state;
	ring = byte_ring_new(4096);
	for (uint32_t i = 0; !byte_ring_closed(ring); i++)
		step(i);
	recorder = start(4096);
	while (!counter_get(&recorder_counters(recorder, 0)->values[RECORDER_ENDED_LOST]))
		sched_yield();
	step(1); /* to nobody */
	recorder_stop(recorder);
	assert_int_equal(expect(RECORDING_END_LOST), 4096 / 9);
	byte_ring_free(ring);
}

static void a_full_file_ends_it(void **state)
{
	struct recorder *recorder;
	uint64_t i = 0, steps;

	(void)state;
	ring = byte_ring_new(4096);
	config.simulation.record_max_bytes = 100000;
	recorder = start(4096);
	/* At the ring's pace: its room is not known here, so a step is pushed when the last has
	 * been written. */
	while (!counter_get(&recorder_counters(recorder, 0)->values[RECORDER_ENDED_FULL])) {
		uint64_t before =
			counter_get(&recorder_counters(recorder, 0)->values[RECORDER_BYTES]);

		for (uint32_t n = 0; n < 400; n++)
			step(i++);
		while (counter_get(&recorder_counters(recorder, 0)->values[RECORDER_BYTES]) <
				before + 400 * 9 &&
			!counter_get(&recorder_counters(recorder, 0)->values[RECORDER_ENDED_FULL]))
			sched_yield();
	}
	recorder_stop(recorder);
	steps = expect(RECORDING_END_FULL);
	assert_true(count <= 100000 + 2);
	assert_true(steps > 10000);
	byte_ring_free(ring);
}

/* The limit stands for a full disk: a write takes a part of the bytes, the next one none. */
static void a_file_that_cannot_be_written_ends_it(void **state)
{
	enum { LIMIT = 30000, STEPS = 20000 };
	struct rlimit before, limit;
	struct recorder *recorder;
	uint64_t steps, bytes_written;
	sigset_t mine, was;

	(void)state;
	ring = byte_ring_new(1u << 20);
	config.simulation.record_max_bytes = 10u << 20;
	assert_int_equal(getrlimit(RLIMIT_FSIZE, &before), 0);
	limit = (struct rlimit){.rlim_cur = LIMIT, .rlim_max = before.rlim_max};
	recorder = start(1u << 20);
	/* This thread may write a log that is longer than that. */
	sigemptyset(&mine);
	sigaddset(&mine, SIGXFSZ);
	pthread_sigmask(SIG_BLOCK, &mine, &was);
	assert_int_equal(setrlimit(RLIMIT_FSIZE, &limit), 0);
	for (uint32_t i = 0; i < STEPS; i++)
		step(i);
	while (!counter_get(&recorder_counters(recorder, 0)->values[RECORDER_ENDED_WRITE]))
		sched_yield();
	assert_int_equal(setrlimit(RLIMIT_FSIZE, &before), 0);
	pthread_sigmask(SIG_SETMASK, &was, NULL);
	bytes_written = counter_get(&recorder_counters(recorder, 0)->values[RECORDER_BYTES]);
	step(STEPS); /* to nobody */
	assert_true(byte_ring_closed(ring));
	recorder_stop(recorder);
	steps = expect(RECORDING_END_WRITE);
	assert_true(steps < LIMIT / 9);
	assert_int_equal(count, bytes_written);
	byte_ring_free(ring);
}

static void a_folder_that_cannot_be_used(void **state)
{
	const struct recording_header header = {.shard = 3, .workers = 1};
	struct recorder_source source = {.header = &header};
	char text[512] = "";
	FILE *errors = fmemopen(text, sizeof(text), "w");
	struct sw_config bad = config;

	(void)state;
	source.ring = byte_ring_new(4096);
	snprintf(bad.simulation.record, sizeof(bad.simulation.record), "%s/none/such", folder);
	assert_null(recorder_start(&bad, &source, 1, errors));
	fclose(errors);
	assert_non_null(strstr(text, "simulation.record: "));
	assert_non_null(strstr(text, "No such file"));
	byte_ring_free(source.ring);
}

int main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test(all_that_was_pushed_is_written),
		cmocka_unit_test(an_operator_ends_it),
		cmocka_unit_test(a_full_ring_ends_it),
		cmocka_unit_test(a_full_file_ends_it),
		cmocka_unit_test(a_file_that_cannot_be_written_ends_it),
		cmocka_unit_test(a_folder_that_cannot_be_used),
	};
	int failed;

	sw_config_defaults(&config);
	if (!mkdtemp(folder))
		return 1;
	snprintf(config.simulation.record, sizeof(config.simulation.record), "%s", folder);
	failed = cmocka_run_group_tests(tests, NULL, NULL);
	free(bytes);
	rmdir(folder);
	return failed;
}
