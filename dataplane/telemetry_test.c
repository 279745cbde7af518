/* Proves that DPDK's telemetry socket answers for us: the counters of a worker by name, its cycles per
 * stage and frames per burst, one peer of a worker that is polling meanwhile, and named errors for a slot without a peer, a worker that
 * does not exist and parameters that cannot be read. */
#include <errno.h>
#include <pthread.h>
#include <stdatomic.h>
#include <sys/socket.h>
#include <sys/un.h>

#include "dataplane/worker_fixture.h"

static struct world world;
static _Atomic bool stop;

static int eal_with_telemetry(void **state)
{
	char prefix[64];
	char *argv[] = {"test", "--no-huge", "--no-shconf", "--no-pci", "-m", "64", "-l", "0",
		"--log-level", "error", prefix, NULL};

	(void)state;
	snprintf(prefix, sizeof(prefix), "--file-prefix=sw_test_%d", (int)getpid());
	return dp_eal_init((int)(sizeof(argv) / sizeof(argv[0])) - 1, argv, stderr) < 0;
}

static void *poll_loop(void *unused)
{
	while (!atomic_load(&stop))
		step(&world, 0);
	return unused;
}

static void ask(int fd, const char *command, char *answer, size_t bytes)
{
	ssize_t n;

	assert_int_equal(send(fd, command, strlen(command), 0), strlen(command));
	n = recv(fd, answer, bytes - 1, 0);
	assert_true(n > 0);
	answer[n] = 0;
}

static void expect(int fd, const char *command, const char *words)
{
	static char answer[1 << 16];

	ask(fd, command, answer, sizeof(answer));
	if (!strstr(answer, words))
		fail_msg("%s answered %s, without %s", command, answer, words);
}

static void commands_answer(void **state)
{
	struct sockaddr_un address = {.sun_family = AF_UNIX};
	struct client client;
	static char answer[1 << 16];
	pthread_t thread;
	int fd;

	(void)state;
	world_make(&world, "telemetry");
	client_make(&client, &world, 2);
	client_connect(&client);
	assert_int_equal(dp_telemetry_start(&world.worker, 1, &world.port, 1), 0);
	assert_int_equal(pthread_create(&thread, NULL, poll_loop, NULL), 0);

	snprintf(address.sun_path, sizeof(address.sun_path), "%s/dpdk_telemetry.v2",
		rte_eal_get_runtime_dir());
	fd = socket(AF_UNIX, SOCK_SEQPACKET, 0);
	assert_true(fd >= 0);
	assert_int_equal(connect(fd, (struct sockaddr *)&address, sizeof(address)), 0);
	assert_true(recv(fd, answer, sizeof(answer), 0) > 0); /* greeting */

	expect(fd, "/stormweir/counters", "\"enet0_peers\":1");
	expect(fd, "/stormweir/counters", "\"dataplane0_rx_packets\":2");
	expect(fd, "/stormweir/cycles", "\"rx_frames\":2");
	expect(fd, "/stormweir/cycles", "\"tsc_hz\":");
	expect(fd, "/stormweir/cycles,0", "\"rx_burst_frames_1_to_1\":2");
	expect(fd, "/stormweir/cycles,1", "null");
	expect(fd, "/stormweir/cycles,x", "null");
	expect(fd, "/stormweir/peer,0", "\"address\":\"10.0.1.2:40002\"");
	expect(fd, "/stormweir/peer,0,0", "\"mtu\":1400");
	expect(fd, "/stormweir/peer,1", "null");
	expect(fd, "/stormweir/peer,99999", "null");
	expect(fd, "/stormweir/peer,0,7", "null");
	expect(fd, "/stormweir/peer", "null");
	expect(fd, "/stormweir/peer,x", "null");

	atomic_store(&stop, true);
	pthread_join(thread, NULL);
	/* Nobody polls: the question is given up, and so is not answered later by mistake. */
	expect(fd, "/stormweir/peer,0", "null");
	step(&world, 1);
	close(fd);
	assert_int_equal(dp_telemetry_start(NULL, 0, NULL, 0), 0);
	world_free(&world);
}

int main(void)
{
	const struct CMUnitTest tests[] = {cmocka_unit_test(commands_answer)};

	return cmocka_run_group_tests_name(
		"telemetry", tests, eal_with_telemetry, ring_port_eal_end);
}
