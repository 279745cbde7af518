/* Proves that stormweir-bot's exit code can be believed: 0 when all went well against a small
 * libenet server, not 0 when a position differs, a reliable message is lost, a refusal has another
 * reason, or the server goes away. argv[1] is the program. */
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <errno.h>
#include <fcntl.h>
#include <signal.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/wait.h>
#include <unistd.h>
#include <cmocka.h>

#include <sodium.h>

#include "client/fake_server.h"
#include "common/mono.h"
#include "proto/message_types.h"

static const char *program;
static char folder[] = "/tmp/stormweir-bot-test.XXXXXX";
static char tickets[64], report[64];
static struct fake_server server;
static uint32_t stop_at_tick, stop_reason, still_at_tick, inputs_after_still;

/* One ticket a line; %u in the format is the character. */
static void write_tickets(const char *format, uint32_t count)
{
	FILE *file = fopen(tickets, "w");

	assert_non_null(file);
	fputs("# made for a test\n\n", file);
	for (uint32_t i = 0; i < count; i++) {
		char plain[64], base64[128];

		snprintf(plain, sizeof(plain), "%s%u", format, i);
		sodium_bin2base64(base64, sizeof(base64), (const uint8_t *)plain, strlen(plain),
			sodium_base64_VARIANT_ORIGINAL);
		fprintf(file, "%s\n", base64);
	}
	fclose(file);
}

/* Runs the bot with "--server 127.0.0.1 --port P --tickets FILE" and these arguments, and serves it
 * meanwhile. Returns its exit code. */
static int run_bot(const char *arguments)
{
	char line[512], *argv[40] = {(char *)program}, *save = NULL;
	uint64_t tick_ns = mono_ns(), give_up_ns = tick_ns + 30 * NS_PER_S;
	int argc = 1, status;
	pid_t child;

	snprintf(line, sizeof(line), "--server 127.0.0.1 --port %u --tickets %s %s", server.port,
		tickets, arguments);
	for (char *word = strtok_r(line, " ", &save); word; word = strtok_r(NULL, " ", &save))
		argv[argc++] = word;
	child = fork();
	if (!child) {
		int null = open("/dev/null", O_WRONLY);

		dup2(null, STDOUT_FILENO);
		dup2(null, STDERR_FILENO);
		execv(program, argv);
		_exit(127);
	}
	while (!waitpid(child, &status, WNOHANG)) {
		uint64_t now_ns = mono_ns();

		if (now_ns > give_up_ns) {
			kill(child, SIGKILL);
			waitpid(child, &status, 0);
			fail_msg("the bot did not end: %s", arguments);
		}
		fake_service(&server);
		if (now_ns >= tick_ns) {
			tick_ns += NS_PER_S / FAKE_TICK_HZ;
			fake_tick(&server);
			if (server.tick == stop_at_tick)
				fake_stop(&server, stop_reason);
			if (still_at_tick && server.tick == still_at_tick)
				kill(child, SIGUSR1);
			if (still_at_tick && server.tick == still_at_tick + 8)
				inputs_after_still = server.inputs;
		}
		usleep(500);
	}
	for (int i = 0; i < 100; i++) { /* what it said last */
		fake_service(&server);
		usleep(100);
	}
	assert_true(WIFEXITED(status));
	return WEXITSTATUS(status);
}

static int set_up(void **state)
{
	(void)state;
	stop_at_tick = still_at_tick = 0;
	return fake_open(&server) ? 0 : -1;
}

static int tear_down(void **state)
{
	(void)state;
	fake_close(&server);
	unlink(tickets);
	unlink(report);
	return 0;
}

static void positions_are_kept_and_compared(void **state)
{
	char arguments[256];
	int moved = 0;

	(void)state;
	write_tickets("", 30);
	snprintf(arguments, sizeof(arguments),
		"--bots 30 --connects-per-s 1000 --seconds 1.8 --stand-still-last 0.8 --leave-over "
		"0.4 "
		"--seed 5 --expect-enters 1 --expect-leaves 29 --report %s",
		report);
	assert_int_equal(run_bot(arguments), 0);
	assert_int_equal(server.leaves, 30);
	for (int i = 0; i < 30; i++)
		moved += server.saved[i].x_mm != 50000 || server.saved[i].y_mm != 50000;
	assert_true(moved > 20);

	snprintf(arguments, sizeof(arguments),
		"--bots 30 --connects-per-s 1000 --seconds 0.5 --walk still --expect-positions %s",
		report);
	assert_int_equal(run_bot(arguments), 0);
	server.saved[17].x_mm++;
	assert_int_equal(run_bot(arguments), 1);
}

static void refusals_are_judged_by_their_reason(void **state)
{
	(void)state;
	write_tickets("refuse ", 8); /* bot i is refused with reason i; 7 is TICKET_USED */
	assert_int_equal(run_bot("--first-ticket 7 --expect-refused TICKET_USED --seconds 5"), 0);
	assert_int_equal(run_bot("--first-ticket 6 --expect-refused TICKET_USED --seconds 5"), 1);
	assert_int_equal(run_bot("--first-ticket 6 --seconds 5"), 1);
	write_tickets("", 1);
	assert_int_equal(run_bot("--expect-refused TICKET_USED --seconds 0.5"), 1); /* it joined */
	write_tickets("used ", 1);
	assert_int_equal(run_bot("--seconds 0.5"), 0);
	assert_int_equal(run_bot("--expect-refused TICKET_USED --seconds 5"), 0);
}

static void the_servers_end_is_judged_by_its_reason(void **state)
{
	static const struct {
		uint32_t reason;
		const char *arguments;
		int exit_code;
	} cases[] = {
		{SW_REASON_SERVER_STOPPING, "--bots 3 --expect-disconnect SERVER_STOPPING", 0},
		{SW_REASON_KICKED, "--bots 3 --expect-disconnect SERVER_STOPPING", 1},
		{SW_REASON_SERVER_STOPPING, "--bots 3", 1},
		{SW_REASON_NONE, "--bots 3 --seconds 0.5 --expect-disconnect SERVER_STOPPING", 1},
	};

	(void)state;
	write_tickets("", 3);
	for (size_t i = 0; i < sizeof(cases) / sizeof(cases[0]); i++) {
		stop_reason = cases[i].reason;
		stop_at_tick = cases[i].reason ? server.tick + 12 : 0;
		assert_int_equal(run_bot(cases[i].arguments), cases[i].exit_code);
	}
}

static void a_lost_reliable_message_is_not_well(void **state)
{
	(void)state;
	write_tickets("", 4);
	server.skip_view_changes = 1;
	assert_int_equal(run_bot("--bots 4 --seconds 0.5"), 1);
}

static void an_npc_is_clicked_by_name(void **state)
{
	(void)state;
	write_tickets("", 2);
	assert_int_equal(run_bot("--bots 2 --seconds 0.5 --click Mira"), 0);
	assert_true(server.clicks >= 1);
	assert_int_equal(run_bot("--bots 2 --seconds 0.4 --click Nobody"), 1);
}

static void a_signal_makes_all_stand_still(void **state)
{
	(void)state;
	write_tickets("", 5);
	still_at_tick = server.tick + 16;
	assert_int_equal(run_bot("--bots 5 --connects-per-s 1000 --seconds 1.5"), 0);
	assert_true(inputs_after_still > 0);
	assert_int_equal(server.inputs, inputs_after_still);
}

/* The tickets are good once: who comes again does so with its pass. */
static void passes_bring_bots_back(void **state)
{
	(void)state;
	write_tickets("used ", 3);
	assert_int_equal(run_bot("--bots 3 --pass --vanish 0.3 --seconds 3 --stand-still-last 1.5 "
				 "--connects-per-s 1000"),
		0);
	assert_true(server.passes >= 3);
	assert_int_equal(server.hellos, server.passes + 3);
	assert_int_equal(run_bot("--bots 3 --vanish 0.2 --seconds 1"), 1); /* and not without */
}

static void wrong_usage_is_2(void **state)
{
	static const char *const lines[] = {"--bots 0", "--bots x", "--bots -1", "--walk backwards",
		"--no-such-option", "--seconds -1", "--seconds nan",
		"--expect-refused NO_SUCH_REASON", "--bots 2", "extra"};

	(void)state;
	write_tickets("", 1);
	for (size_t i = 0; i < sizeof(lines) / sizeof(lines[0]); i++)
		assert_int_equal(run_bot(lines[i]), 2);
	assert_int_equal(run_bot("--help"), 0);
}

int main(int argc, char **argv)
{
	const struct CMUnitTest tests[] = {
#define TEST(name) cmocka_unit_test_setup_teardown(name, set_up, tear_down)
		TEST(positions_are_kept_and_compared),
		TEST(refusals_are_judged_by_their_reason),
		TEST(the_servers_end_is_judged_by_its_reason),
		TEST(a_lost_reliable_message_is_not_well),
		TEST(an_npc_is_clicked_by_name),
		TEST(a_signal_makes_all_stand_still),
		TEST(passes_bring_bots_back),
		TEST(wrong_usage_is_2),
	};
	int failed;

	if (argc != 2 || sodium_init() < 0 || !mkdtemp(folder))
		return 2;
	program = argv[1];
	snprintf(tickets, sizeof(tickets), "%s/tickets", folder);
	snprintf(report, sizeof(report), "%s/report.json", folder);
	failed = cmocka_run_group_tests(tests, NULL, NULL);
	rmdir(folder);
	return failed;
}
