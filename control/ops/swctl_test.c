/* Proves swctl as a user meets it: tickets in bulk that admission takes, the key file that only its
 * owner reads, status against a running endpoint, and exit codes. argv[1] is the program. */
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/stat.h>
#include <sys/wait.h>
#include <time.h>
#include <unistd.h>

#include <cmocka.h>
#include <sodium.h>

#include "control/admission/ticket_key.h"
#include "control/ops/ops.h"

static const char *swctl;
static char dir[] = "/tmp/sw-swctl-XXXXXX";
static char output[65536];

/* Runs swctl with arguments (printf); what it prints on both streams is in output. */
__attribute__((format(printf, 1, 2))) static int run(const char *format, ...)
{
	char command[1024];
	size_t bytes = 0, got;
	va_list args;
	FILE *pipe;
	int at, status;

	at = snprintf(command, sizeof(command), "%s ", swctl);
	va_start(args, format);
	vsnprintf(command + at, sizeof(command) - (size_t)at, format, args);
	va_end(args);
	strcat(command, " 2>&1");
	pipe = popen(command, "r");
	assert_non_null(pipe);
	while ((got = fread(output + bytes, 1, sizeof(output) - 1 - bytes, pipe)))
		bytes += got;
	output[bytes] = 0;
	status = pclose(pipe);
	assert_true(WIFEXITED(status));
	return WEXITSTATUS(status);
}

static void test_tickets(void **state)
{
	char path[128], hex[65], *line, *rest = NULL;
	struct config_ticket_key key;
	struct stat status;
	uint64_t character = 500;

	(void)state;
	assert_int_equal(run("ticket-key --out-dir %s --id 9", dir), 0);
	assert_int_equal(sscanf(strstr(output, "- id:"), "- id: %u public_key: \"%64[0-9a-f]\"",
				 &key.id, hex),
		2);
	assert_int_equal(key.id, 9);
	sodium_hex2bin(key.public_key, 32, hex, 64, NULL, NULL, NULL);
	snprintf(path, sizeof(path), "%s/ticket-9.key", dir);
	assert_int_equal(stat(path, &status), 0);
	assert_int_equal(status.st_mode & 0777, 0600);
	assert_int_equal(run("ticket-key --out-dir %s --id 9", dir), 1);
	assert_non_null(strstr(output, "exists"));

	assert_int_equal(run("ticket --key %s --first-character 500 --name bot --count 25 "
			     "--realm 3 --account 4",
				 path),
		0);
	for (line = strtok_r(output, "\n", &rest); line; line = strtok_r(NULL, "\n", &rest)) {
		uint8_t data[TICKET_BYTES_MAX];
		struct ticket ticket;
		char name[32];
		size_t bytes;

		assert_int_equal(sodium_base642bin(data, sizeof(data), line, strlen(line), NULL,
					 &bytes, NULL, sodium_base64_VARIANT_ORIGINAL),
			0);
		assert_int_equal(
			ticket_check(&ticket, data, bytes, &key, 1, 3, (uint64_t)time(NULL)),
			TICKET_FAULT_NONE);
		assert_int_equal(ticket.character_id, character);
		assert_int_equal(ticket.account_id, 4);
		snprintf(name, sizeof(name), "bot%u", (unsigned)(character - 499));
		assert_string_equal(ticket.name, name);
		character++;
	}
	assert_int_equal(character, 525);
	unlink(path);
}

static void test_exit_codes(void **state)
{
	static const struct {
		const char *args;
		int code;
	} rows[] = {
		{"", 2},
		{"help", 0},
		{"--help", 0},
		{"ticket --help", 0},
		{"ticket-key -h", 0},
		{"status --help", 0},
		{"nonsense", 2},
		{"ticket", 2},
		{"ticket --key /nonexistent --character 1 --name a", 1},
		{"ticket --key /etc/passwd --character 1 --name a", 1},
		{"ticket --key x --character -1 --name a", 2},
		{"ticket --key x --character 1 --name a --ttl 99999999", 2},
		{"ticket --key x --character 1 --name a --raw", 2},
		{"ticket-key", 2},
		{"ticket-key --out-dir /nonexistent", 1},
		{"status extra", 2},
		{"status --http nowhere", 1},
		{"status --http 127.0.0.1:1", 1},
		{"instance list extra", 2},
		{"instance show", 2},
		{"instance list --http 127.0.0.1:1", 1},
		{"instance open meadow --http 127.0.0.1:1", 1},
		{"kick Ulla --token /nonexistent --http 127.0.0.1:1", 1},
		{"kick Ulla --token /etc/passwd --http 127.0.0.1:1", 1},
		{"kick '' --http 127.0.0.1:1", 2},
		{"kick --nonsense", 2},
		{"ledger", 2},
		{"ledger grant 1 gold 5", 2},
		{"ledger grant 1 gold --reason x", 2},
		{"ledger grant 1 gold 5 --reason x --http 127.0.0.1:1", 1},
		{"ledger reverse x --reason y --request z", 2},
		{"ledger reverse x --reason y --http 127.0.0.1:1", 1},
		{"token", 2},
		{"token anna", 2},
		{"token '#anna' read", 2},
		{"token 'two words' read", 2},
		{"token a_name_of_more_than_thirty_one_bytes read", 2},
		{"token anna owner", 2},
		{"token anna read more", 2},
		{"token anna read", 0},
		{"token anna operate", 0},
		{"token anna admin", 0},
	};

	(void)state;
	for (size_t i = 0; i < sizeof(rows) / sizeof(rows[0]); i++) {
		int code = run("%s", rows[i].args);

		if (code != rows[i].code)
			fail_msg("swctl %s: exit code %d: %s", rows[i].args, code, output);
		assert_true(strlen(output) > 10);
	}
}

static enum ops_level level;

static enum ops_level health(void *ctx, char *sentence, size_t bytes)
{
	(void)ctx;
	snprintf(sentence, bytes, "said by a server: \033[31m");
	return level;
}

static struct histogram ticks = {.quarters_from = 13};

static bool instance(void *ctx, uint32_t slot, uint64_t now_ns, struct ops_instance *out)
{
	(void)ctx;
	(void)now_ns;
	*out = (struct ops_instance){.map = slot ? "arena" : "meadow",
		.kind = slot ? "room" : "map",
		.state = slot ? "warm" : "full",
		.slot = slot,
		.generation = 4,
		.used = true,
		.running = !slot,
		.shard = 1,
		.players = 9,
		.players_max = 9,
		.tick_ns = 1500000,
		.tick_time = &ticks,
		.heat_permille = 1030,
		.overruns = 3,
		.skipped = 2,
		.overrun_stage = "interest"};
	return slot < 2;
}

static void test_status(void **state)
{
	static const struct counter_desc descs[] = {{"players", "", COUNTER_GAUGE},
		{"ticks", "", COUNTER_SUM}, {"ticks_skipped", "", COUNTER_SUM}};
	static _Atomic uint64_t values[3] = {12, 3456, 1};
	static struct histogram tick, stage;
	const struct counter_set shard = {"simulation", 0, 3, descs, values};
	const struct counter_set admission = {"admission", 0, 1, descs, values};
	const struct histogram_ref refs[] = {{"simulation", "tick_ns", "", 0, &tick},
		{"simulation", "stage_interest_ns", "", 0, &stage}};
	struct sw_config config = {.node.name = "node-1", .http.address = "127.0.0.1:0"};
	struct ops *ops;

	(void)state;
	histogram_add(&tick, 100000);
	histogram_add(&ticks, 1500000);
	histogram_add(&stage, 90000);
	for (level = OPS_GREEN; level <= OPS_RED; level++) {
		ops = ops_new();
		ops_register_health(ops, "redis", health, NULL);
		ops_register_instances(ops, instance, NULL);
		ops_register_counters(ops, &shard);
		ops_register_counters(ops, &admission);
		ops_register_histogram(ops, &refs[0]);
		ops_register_histogram(ops, &refs[1]);
		assert_int_equal(ops_start(ops, &config, stderr), 0);
		assert_int_equal(
			run("status --http 127.0.0.1:%u", ops_port(ops)), level == OPS_RED ? 3 : 0);
		assert_non_null(strstr(output, "node node-1"));
		assert_non_null(strstr(output, "players 12,"));
		assert_non_null(strstr(output, "3456"));
		assert_non_null(strstr(output, "<131 us"));
		assert_non_null(strstr(output, "  interest\n"));
		assert_non_null(strstr(output, "meadow           0.4      full      1"));
		assert_non_null(
			strstr(output, "9 of 9       <1.6 ms    <1.6 ms  1030         3  "
				       "       2  0 ms ago; last overrun by stage interest\n"));
		assert_non_null(strstr(output, "arena            1.4      warm      -\n"));
		assert_null(strchr(output, '\033')); /* not a terminal, and no smuggling */
		assert_int_equal(run("instance list --http 127.0.0.1:%u", ops_port(ops)), 0);
		assert_non_null(strstr(output, "meadow           0.4      full      1"));
		assert_null(strstr(output, "node-1"));
		assert_int_equal(run("instance show 1.4 --http 127.0.0.1:%u", ops_port(ops)), 0);
		assert_non_null(strstr(output, "map              arena\n"));
		assert_int_equal(run("instance show 1.5 --http 127.0.0.1:%u", ops_port(ops)), 1);
		assert_non_null(strstr(output, "no instance 1.5"));
		/* This node takes no orders. */
		assert_int_equal(run("kick Ulla --http 127.0.0.1:%u", ops_port(ops)), 1);
		assert_non_null(strstr(output, "takes no orders"));
		run("status --json --http 127.0.0.1:%u", ops_port(ops));
		assert_int_equal(output[0], '{');
		ops_stop(ops);
		ops_free(ops);
	}
}

int main(int argc, char **argv)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test(test_tickets),
		cmocka_unit_test(test_exit_codes),
		cmocka_unit_test(test_status),
	};
	int failed;

	if (argc < 2 || ticket_init() || !mkdtemp(dir))
		return 1;
	swctl = argv[1];
	failed = cmocka_run_group_tests(tests, NULL, NULL);
	rmdir(dir);
	return failed;
}
