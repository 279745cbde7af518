/* Proves that a virtual port opens from the configuration with all its queues, that what cannot
 * work is refused with a sentence that names the limit and what to do, that a reset is waited for
 * and survived, and that closing gives everything back. */
#include <errno.h>
#include <fcntl.h>
#include <sys/stat.h>
#include <sys/wait.h>

#include "dataplane/port.h"
#include "dataplane/ring_port.h"

static struct sw_config config;

static int open_and_read(struct dp_port **port, char *said, size_t said_bytes)
{
	FILE *log = fmemopen(said, said_bytes, "w");
	int ret;

	assert_non_null(log);
	*port = NULL;
	ret = dp_port_open(&config, 0, log, port);
	fclose(log);
	return ret;
}

static void opens_with_two_queues(void **state)
{
	struct ring_port wire = {0};
	char said[1024] = "";
	struct dp_port *port;

	(void)state;
	ring_port_make(&wire, "two", 2);
	ring_port_config(&config, "two", 2);
	config.ports[0].vlan = 7;
	assert_int_equal(open_and_read(&port, said, sizeof(said)), 0);
	assert_int_equal(port->queues, 2);
	assert_int_equal(port->local.ip, 0x0a000001);
	assert_int_equal(port->local.vlan, 7);
	assert_int_equal(port->local.udp_port, config.dataplane.udp_port);
	assert_non_null(port->pool[0]);
	assert_ptr_not_equal(port->pool[0], port->pool[1]);
	assert_false(port->tx_checksum_offload); /* net_ring has none */
	assert_non_null(strstr(said, "no RSS of its own"));
	dp_port_close(port);
	ring_port_free(&wire);
}

/* What is changed in a good configuration, what comes back, and words of the sentence. */
struct refusal {
	const char *name;
	void (*change)(struct sw_config *config);
	int ret;
	const char *says[3];
};

static void no_such_port(struct sw_config *c)
{
	strcpy(c->ports[0].device, "net_memif9");
}

static void no_such_pci(struct sw_config *c)
{
	strcpy(c->ports[0].device, "ffff:ff:1f.7");
}

static void too_many_queues(struct sw_config *c)
{
	c->ports[0].queues = 3;
}

static void bad_address(struct sw_config *c)
{
	strcpy(c->ports[0].address, "10.0.0.300/24");
}

static void multicast_address(struct sw_config *c)
{
	strcpy(c->ports[0].address, "224.0.0.1/24");
}

static void bad_address6(struct sw_config *c)
{
	strcpy(c->ports[0].address6, "2001:db8::1::/64");
}

static void mapped_address6(struct sw_config *c)
{
	strcpy(c->ports[0].address6, "::ffff:10.0.0.1");
}

static void bad_vlan(struct sw_config *c)
{
	c->ports[0].vlan = 4095;
}

static void bad_burst(struct sw_config *c)
{
	c->dataplane.burst = 1000;
}

static void too_many_mbufs(struct sw_config *c)
{
	c->dataplane.mbufs = 1u << 20;
}

static const struct refusal refusals[] = {
	{"no such port", no_such_port, -ENODEV,
		{"net_memif9", "net_ring_bad", "--vdev=net_memif9"}},
	{"no such PCI function", no_such_pci, -ENODEV, {"no PCI function", "sriov_numvfs"}},
	{"too many queues", too_many_queues, -EINVAL, {"3 queue pairs", "2 at most"}},
	{"bad address", bad_address, -EINVAL, {"10.0.0.300/24"}},
	{"multicast address", multicast_address, -EINVAL, {"224.0.0.1/24"}},
	{"bad address6", bad_address6, -EINVAL, {"address6", "2001:db8::1::/64"}},
	{"mapped address6", mapped_address6, -EINVAL, {"::ffff:10.0.0.1"}},
	{"bad VLAN", bad_vlan, -EINVAL, {"4095", "4094"}},
	{"bad burst", bad_burst, -EINVAL, {"1000", "256"}},
	{"no memory", too_many_mbufs, -ENOMEM, {"1048576 buffers", "more hugepages"}},
};

static void refusals_say_what_to_do(void **state)
{
	(void)state;
	for (size_t i = 0; i < sizeof(refusals) / sizeof(refusals[0]); i++) {
		struct ring_port wire = {0};
		char said[2048] = "", name[16];
		struct dp_port *port;
		int ret;

		snprintf(name, sizeof(name), "bad%zu", i);
		ring_port_make(&wire, name, 2);
		ring_port_config(&config, name, 1);
		refusals[i].change(&config);
		ret = open_and_read(&port, said, sizeof(said));
		if (ret != refusals[i].ret || port)
			fail_msg("%s: returned %d, said: %s", refusals[i].name, ret, said);
		for (int w = 0; w < 3 && refusals[i].says[w]; w++)
			if (!strstr(said, refusals[i].says[w]))
				fail_msg("%s: \"%s\" is missing in: %s", refusals[i].name,
					refusals[i].says[w], said);
		ring_port_free(&wire);
	}
}

static void a_reset_waits_for_the_workers(void **state)
{
	struct ring_port wire = {0};
	char said[1024] = "";
	struct dp_port *port;
	FILE *log;

	(void)state;
	ring_port_make(&wire, "reset", 1);
	ring_port_config(&config, "reset", 1);
	assert_int_equal(open_and_read(&port, said, sizeof(said)), 0);
	log = fopen("/dev/null", "w");
	dp_port_maintain(port, log);
	assert_true(dp_port_running(port));
	for (uint32_t turn = 1; turn <= 2; turn++) {
		dp_port_ask_reset(port);
		dp_port_ask_reset(port); /* twice is once */
		dp_port_maintain(port, log);
		assert_false(dp_port_running(port)); /* queue 0's worker still has it */
		assert_int_equal(port->resets_wanted, turn);
		atomic_store(&port->let_go[0], port->resets_wanted);
		dp_port_maintain(port, log);
		assert_true(dp_port_running(port));
	}
	fclose(log);
	dp_port_close(port);
	ring_port_free(&wire);
}

static void queues_are_dealt_to_workers(void **state)
{
	(void)state;
	ring_port_config(&config, "none", 3);
	config.port_count = 2;
	config.ports[1].queues = 2;
	config.dataplane.lcore_count = 2;
	/* port 0: 0 1 0, port 1: 1 0 */
	assert_int_equal(dp_port_queue_worker(&config, 0, 0), 0);
	assert_int_equal(dp_port_queue_worker(&config, 0, 1), 1);
	assert_int_equal(dp_port_queue_worker(&config, 0, 2), 0);
	assert_int_equal(dp_port_queue_worker(&config, 1, 0), 1);
	assert_int_equal(dp_port_queue_worker(&config, 1, 1), 0);
}

/* One port with these queues; a second, if it has any. */
static const struct {
	uint32_t workers, queues, second_queues;
	bool rss;
	enum config_steering steering;
	enum dp_steer wants;
} steers[] = {
	{1, 4, 0, true, CONFIG_STEERING_AUTO, DP_STEER_QUEUE},
	{1, 1, 0, false, CONFIG_STEERING_SOFTWARE, DP_STEER_QUEUE},
	{2, 1, 0, false, CONFIG_STEERING_AUTO, DP_STEER_HASH},
	{2, 2, 0, false, CONFIG_STEERING_AUTO, DP_STEER_HASH},
	{2, 2, 0, false, CONFIG_STEERING_PORT, DP_STEER_STRAYS},
	{2, 2, 0, true, CONFIG_STEERING_AUTO, DP_STEER_STRAYS},
	{2, 2, 0, true, CONFIG_STEERING_SOFTWARE, DP_STEER_HASH},
	{3, 2, 0, true, CONFIG_STEERING_AUTO, DP_STEER_HASH},   /* one has no queue */
	{2, 1, 1, false, CONFIG_STEERING_AUTO, DP_STEER_QUEUE}, /* a port each */
	{3, 1, 1, false, CONFIG_STEERING_AUTO, DP_STEER_HASH},
	{3, 2, 1, true, CONFIG_STEERING_AUTO, DP_STEER_STRAYS},
};

static void who_steers(void **state)
{
	uint32_t alone, strays, hash;

	(void)state;
	for (size_t i = 0; i < sizeof(steers) / sizeof(steers[0]); i++) {
		ring_port_config(&config, "none", steers[i].queues);
		config.dataplane.lcore_count = steers[i].workers;
		config.ports[0].steering = steers[i].steering;
		config.port_count = steers[i].second_queues ? 2 : 1;
		config.ports[1].queues = steers[i].second_queues;
		if (dp_port_steer(&config, 0, steers[i].rss) != steers[i].wants)
			fail_msg("row %zu of steers", i);
	}
	config.dataplane.mbufs = 0;
	config.dataplane.lcore_count = 3;
	alone = dp_port_mbufs(&config, 64, 64, DP_STEER_QUEUE);
	strays = dp_port_mbufs(&config, 64, 64, DP_STEER_STRAYS);
	hash = dp_port_mbufs(&config, 64, 64, DP_STEER_HASH);
	/* Two other workers: rings, bursts and caches. */
	assert_int_equal(strays, alone + 2 * (256 + 64 + 512));
	assert_int_equal(hash, alone + 2 * (64 + 64 + 512 + 64));
}

static void addresses(void **state)
{
	uint32_t ip;

	(void)state;
	assert_true(dp_port_address("10.77.0.1/24", &ip));
	assert_int_equal(ip, 0x0a4d0001);
	assert_true(dp_port_address("192.168.1.2", &ip));
	for (const char *const *bad = (const char *const[]){"", "10.0.0.1/", "10.0.0.1/33",
		     "10.0.0.1/x", "10.0.0", "0.0.0.0/8", "127.0.0.1/8", "255.255.255.255", "::1",
		     NULL};
		*bad; bad++)
		assert_false(dp_port_address(*bad, &ip));
}

static void addresses6(void **state)
{
	static const uint8_t one[16] = {0x20, 1, 0xd, 0xb8, [15] = 1};
	uint8_t ip6[16];

	(void)state;
	assert_true(dp_port_address6("2001:db8::1/64", ip6));
	assert_memory_equal(ip6, one, 16);
	assert_true(dp_port_address6("2001:DB8:0:0::1", ip6));
	assert_memory_equal(ip6, one, 16);
	assert_true(dp_port_address6("fe80::1/64", ip6));
	assert_true(dp_port_address6("fd00::1/48", ip6));
	for (const char *const *bad = (const char *const[]){"", "2001:db8::1/", "2001:db8::1/0",
		     "2001:db8::1/129", "2001:db8::1/x", "10.0.0.1", "::", "::1", "::10.0.0.1",
		     "::ffff:10.0.0.1", "ff02::1", "2001:db8", "fe80::1%eth0", NULL};
		*bad; bad++)
		assert_false(dp_port_address6(*bad, ip6));
}

static void opens_with_ipv6(void **state)
{
	struct ring_port wire = {0};
	char said[1024] = "";
	struct dp_port *port;
	uint8_t link[16];

	(void)state;
	ring_port_make(&wire, "six", 1);
	ring_port_config(&config, "six", 1);
	strcpy(config.ports[0].address6, "2001:db8::1/64");
	assert_int_equal(open_and_read(&port, said, sizeof(said)), 0);
	assert_true(port->local.has_ip6);
	assert_int_equal(port->local.ip6[15], 1);
	packet_link_local(port->local.mac, link);
	assert_memory_equal(port->local.link_ip6, link, 16);
	/* net_ring takes all multicast; a port that could not would have said so. */
	assert_null(strstr(said, "multicast"));
	dp_port_close(port);
	ring_port_free(&wire);

	memset(said, 0, sizeof(said));
	ring_port_make(&wire, "four", 1);
	ring_port_config(&config, "four", 1);
	assert_int_equal(open_and_read(&port, said, sizeof(said)), 0);
	assert_false(port->local.has_ip6);
	dp_port_close(port);
	ring_port_free(&wire);
}

/* In a process of its own: EAL starts once in each. */
static void a_prefix_in_use_is_named(void **state)
{
	char prefix[64], said[1024] = "", pid[16];
	char *argv[] = {"test", "--no-huge", "--file-prefix", prefix, NULL};
	char path[128];
	FILE *log = fmemopen(said, sizeof(said), "w");
	struct flock lock = {.l_type = F_WRLCK, .l_whence = SEEK_SET, .l_len = 1};
	int fd, ready[2], done[2];
	pid_t child;

	(void)state;
	snprintf(prefix, sizeof(prefix), "sw_lock_%d", (int)getpid());
	snprintf(path, sizeof(path), "/var/run/dpdk/%s", prefix);
	if (mkdir("/var/run/dpdk", 0700) && errno != EEXIST)
		skip(); /* not root: EAL keeps its files elsewhere */
	assert_int_equal(mkdir(path, 0700), 0);
	strcat(path, "/config");
	assert_int_equal(pipe(ready) | pipe(done), 0);
	child = fork();
	if (child == 0) {
		char byte = 0;

		fd = open(path, O_RDWR | O_CREAT, 0600);
		if (fcntl(fd, F_SETLK, &lock) || write(ready[1], &byte, 1) != 1)
			_exit(1);
		close(done[1]);
		_exit(read(done[0], &byte, 1) != 0);
	}
	close(done[0]);
	assert_int_equal(read(ready[0], pid, 1), 1);
	assert_int_equal(dp_eal_init(4, argv, log), -EAGAIN);
	fclose(log);
	snprintf(pid, sizeof(pid), "%d", (int)child);
	assert_non_null(strstr(said, pid));
	assert_non_null(strstr(said, prefix));
	close(done[1]);
	waitpid(child, NULL, 0);
	close(ready[0]);
	close(ready[1]);
	unlink(path);
	*strrchr(path, '/') = 0;
	rmdir(path);
}

static void losses_can_be_read(void **state)
{
	struct ring_port wire = {0};
	char said[1024] = "";
	struct dp_port_losses losses;
	struct dp_port *port;

	(void)state;
	ring_port_make(&wire, "loss", 1);
	ring_port_config(&config, "loss", 1);
	assert_int_equal(open_and_read(&port, said, sizeof(said)), 0);
	dp_port_losses(port, &losses);
	assert_int_equal(losses.no_mbuf, 0);
	dp_port_close(port);
	ring_port_free(&wire);
}

int main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test(opens_with_two_queues),
		cmocka_unit_test(refusals_say_what_to_do),
		cmocka_unit_test(a_reset_waits_for_the_workers),
		cmocka_unit_test(queues_are_dealt_to_workers),
		cmocka_unit_test(who_steers),
		cmocka_unit_test(addresses),
		cmocka_unit_test(addresses6),
		cmocka_unit_test(opens_with_ipv6),
		cmocka_unit_test(losses_can_be_read),
		cmocka_unit_test(a_prefix_in_use_is_named),
	};

	return cmocka_run_group_tests_name("port", tests, ring_port_eal, ring_port_eal_end);
}
