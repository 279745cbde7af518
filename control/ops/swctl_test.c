/* Proves swctl as a user meets it: tickets in bulk that admission takes, the key file that only its
 * owner reads, status against a running endpoint, corrections of the ledger as a node gets them,
 * and exit codes. argv[1] is the program. */
#include <pthread.h>
#include <setjmp.h>
#include <stdarg.h>
#include <stdatomic.h>
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
#include "control/ops/orders.h"

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

/* ---- a node that takes orders ---- */

#define REQUEST "00112233-4455-6677-8899-aabbccddeeff"
#define TOKEN   "0123456789abcdef0123456789abcdef"

/* The control thread's part: answers each order, and keeps its words, with blanks between. */
struct node {
	struct sw_config config;
	struct ops *ops;
	struct msg_ring *to_control, *from_control;
	_Atomic bool stop;
	enum order_result result;
	const char *answer;
	char words[512];
	pthread_t thread;
};

static void node_answer(struct node *node, const struct msg *message)
{
	struct msg_order_answer body = {
		.result = node->result, .text_bytes = (uint32_t)strlen(node->answer)};
	struct msg_order order;
	struct msg_buffer buffer;
	uint8_t *at = msg_begin(
		buffer.slot, MSG_ORDER_ANSWER, 0, (uint32_t)sizeof(body) + body.text_bytes);

	memcpy(&order, msg_payload(message), sizeof(order));
	snprintf(node->words, sizeof(node->words), "%s:", order.author);
	for (uint32_t i = 0; i < order.words_bytes;) {
		const char *word = (const char *)msg_payload(message) + sizeof(order) + i;

		strcat(strcat(node->words, " "), word);
		i += (uint32_t)strlen(word) + 1;
	}
	memcpy(at, &body, sizeof(body));
	memcpy(at + sizeof(body), node->answer, body.text_bytes);
	buffer.slot->subject = message->subject;
	msg_ring_push(node->from_control, buffer.slot);
	ops_order_answered(node->ops, message->subject);
}

static void *node_run(void *arg)
{
	struct node *node = arg;
	struct msg popped[MSG_SLOTS_MAX + 1];

	while (!atomic_load(&node->stop)) {
		/* One at a time, as this test sends them. */
		if (msg_ring_pop(node->to_control, popped, MSG_SLOTS_MAX + 1))
			node_answer(node, popped);
		else
			usleep(1000);
	}
	return NULL;
}

static void node_start(struct node *node, const char *tokens)
{
	FILE *file = fopen(tokens, "w");

	assert_non_null(file);
	assert_int_equal(fchmod(fileno(file), 0600), 0);
	fputs("anna admin " TOKEN "\n", file);
	fclose(file);
	*node = (struct node){.config = {.node.name = "node-1", .http.address = "127.0.0.1:0"},
		.ops = ops_new(),
		.to_control = msg_ring_new("ops-control", OPS_ORDER_SLOTS),
		.from_control = msg_ring_new("control-ops", OPS_ORDER_SLOTS)};
	strcpy(node->config.ops.tokens, tokens);
	ops_register_orders(node->ops, node->to_control, node->from_control);
	assert_int_equal(ops_start(node->ops, &node->config, stderr), 0);
	assert_int_equal(pthread_create(&node->thread, NULL, node_run, node), 0);
}

static void node_end(struct node *node)
{
	atomic_store(&node->stop, true);
	pthread_join(node->thread, NULL);
	ops_stop(node->ops);
	ops_free(node->ops);
	msg_ring_free(node->to_control);
	msg_ring_free(node->from_control);
}

/* The words that come to a node, and what is made of its answer. */
static void test_ledger(void **state)
{
	static const struct {
		const char *args, *words;
		enum order_result result;
		int code;
		const char *prints;
	} rows[] = {
		{"grant 4711 gold 50 --request " REQUEST " --reason 'lost in a bug'",
			"anna: ledger grant 4711 gold 50 " REQUEST " lost in a bug", ORDER_DONE, 0,
			"said by a node\n"},
		{"take 4711 single:40 2 --reason x --request " REQUEST,
			"anna: ledger take 4711 single:40 2 " REQUEST " x", ORDER_DONE, 0,
			"said by a node\n"},
		{"reverse " REQUEST " --reason 'a dupe'", "anna: ledger reverse " REQUEST " a dupe",
			ORDER_DONE, 0, "said by a node\n"},
		{"reverse " REQUEST " --reason x", "anna: ledger reverse " REQUEST " x",
			ORDER_REFUSED, 1, "swctl: refused: said by a node\n"},
		{"take 1 gold 5 --request " REQUEST " --reason x",
			"anna: ledger take 1 gold 5 " REQUEST " x", ORDER_UNAVAILABLE, 1,
			"swctl: not done: said by a node\n"},
		{"grant 1 silver 5 --request " REQUEST " --reason x",
			"anna: ledger grant 1 silver 5 " REQUEST " x", ORDER_USAGE, 2,
			"swctl: not done: said by a node\n"},
	};
	static const char drawn[] = "anna: ledger grant 7 gold 5 ";
	static struct node node;
	char tokens[128], request[2][37], say[128];

	(void)state;
	snprintf(tokens, sizeof(tokens), "%s/tokens", dir);
	node_start(&node, tokens);
	node.answer = "said by a node";
	for (size_t i = 0; i < sizeof(rows) / sizeof(rows[0]); i++) {
		node.result = rows[i].result;
		assert_int_equal(run("ledger %s --token %s --http 127.0.0.1:%u", rows[i].args,
					 tokens, ops_port(node.ops)),
			rows[i].code);
		assert_string_equal(node.words, rows[i].words);
		assert_string_equal(output, rows[i].prints);
	}
	/* A request of its own for each intent, which is told when it may have to be repeated. */
	for (uint32_t i = 0; i < 2; i++) {
		node.result = i ? ORDER_UNAVAILABLE : ORDER_DONE;
		assert_int_equal(run("ledger grant 7 gold 5 --reason x --token %s --http "
				     "127.0.0.1:%u",
					 tokens, ops_port(node.ops)),
			(int)i);
		assert_memory_equal(node.words, drawn, sizeof(drawn) - 1);
		assert_int_equal(
			sscanf(node.words + sizeof(drawn) - 1, "%36[-0-9a-f] x", request[i]), 1);
		assert_int_equal(strlen(request[i]), 36);
		snprintf(say, sizeof(say), "its request was %s: with --request", request[i]);
		assert_int_equal(strstr(output, say) != NULL, i);
	}
	assert_string_not_equal(request[0], request[1]);
	node_end(&node);
	unlink(tokens);
}

int main(int argc, char **argv)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test(test_tickets),
		cmocka_unit_test(test_exit_codes),
		cmocka_unit_test(test_status),
		cmocka_unit_test(test_ledger),
	};
	int failed;

	if (argc < 2 || ticket_init() || !mkdtemp(dir))
		return 1;
	swctl = argv[1];
	failed = cmocka_run_group_tests(tests, NULL, NULL);
	rmdir(dir);
	return failed;
}
