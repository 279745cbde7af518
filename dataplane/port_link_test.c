/* Proves that a port over a kernel interface says what became of it: the other
 * end set down and up again, the interface deleted, and another one under the old name; each change
 * is logged once. Over net_af_xdp, net_af_packet and net_tap, in a network namespace of its own.
 * Needs root and ip, else it is skipped (exit code 77); a driver that cannot start here is left
 * out. */
#include <linux/netlink.h>
#include <linux/rtnetlink.h>
#include <poll.h>
#include <sched.h>
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/socket.h>
#include <unistd.h>

#include <cmocka.h>
#include <rte_dev.h>

#include "dataplane/eal.h"
#include "dataplane/port.h"

#define SKIPPED 77

/* libxdp 1.3 keeps 80 bytes of a socket whose interface was deleted. */
const char *__lsan_default_suppressions(void);
const char *__lsan_default_suppressions(void)
{
	return "leak:xsk_umem__create";
}

static struct sw_config config;
static char *said;
static size_t said_bytes;
static FILE *log_file;
static int news; /* netdev_news */

static void shell(const char *command)
{
	if (system(command))
		fail_msg("failed: %s", command);
}

static int log_lines(const char *text)
{
	int lines = 0;

	fflush(log_file);
	for (const char *at = said; at && (at = strstr(at, text)); at++)
		lines++;
	return lines;
}

/* What the kernel tells of interfaces: a carrier's change is seen a moment after its cause. */
static int netdev_news(void)
{
	struct sockaddr_nl address = {.nl_family = AF_NETLINK, .nl_groups = RTMGRP_LINK};
	int fd = socket(AF_NETLINK, SOCK_RAW | SOCK_CLOEXEC | SOCK_NONBLOCK, NETLINK_ROUTE);

	assert_true(fd >= 0);
	assert_int_equal(bind(fd, (struct sockaddr *)&address, sizeof(address)), 0);
	return fd;
}

/* Maintains until the link is so, once more after each piece of news. */
static void until_link(struct dp_port *port, enum dp_link link, const char *sentence)
{
	char text[256] = "", heard[1];

	do {
		/* before the look, so that what comes after it is not missed */
		while (recv(news, heard, sizeof(heard), 0) >= 0)
			;
		for (uint32_t turn = 0; turn < DP_PORT_LINK_TURNS; turn++)
			dp_port_maintain(port, log_file);
		if (dp_port_link(port, text, sizeof(text)) == link) {
			assert_string_equal(text, sentence);
			return;
		}
	} while (poll(&(struct pollfd){.fd = news, .events = POLLIN}, 1, 5000) == 1);
	fail_msg("never \"%s\", but \"%s\"", sentence, text);
}

/* A driver, the interface behind it, and what makes, cuts and mends its wire. */
static const struct wire {
	const char *device, *arguments, *netdev, *make, *cut, *mend;
} wires[] = {
	{"net_af_xdp0", "iface=link_xdp", "link_xdp",
		"ip link add link_xdp type veth peer name far_xdp && "
		"ip link set link_xdp up && ip link set far_xdp up",
		"ip link set far_xdp down", "ip link set far_xdp up"},
	{"net_af_packet0", "iface=link_packet", "link_packet",
		"ip link add link_packet type veth peer name far_packet && "
		"ip link set link_packet up && ip link set far_packet up",
		"ip link set link_packet down", "ip link set link_packet up"},
	{"net_tap0", "iface=link_tap", "link_tap", "true", "ip link set link_tap down",
		"ip link set link_tap up"},
};

static void a_netdev_is_watched(void **state)
{
	const struct wire *wire = *state;
	char up[128], down[128], gone[128], command[512];
	struct dp_port *port = NULL;

	snprintf(up, sizeof(up), "port %s: interface %s has a link", wire->device, wire->netdev);
	snprintf(down, sizeof(down), "port %s: interface %s has no link", wire->device,
		wire->netdev);
	snprintf(gone, sizeof(gone), "port %s: interface %s is gone", wire->device, wire->netdev);
	shell(wire->make);
	if (rte_eal_hotplug_add("vdev", wire->device, wire->arguments)) {
		print_message("%s does not start on this machine\n", wire->device);
		skip();
	}
	sw_config_defaults(&config);
	config.dataplane.lcore_count = config.port_count = config.ports[0].queues = 1;
	config.ports[0].rxd = config.ports[0].txd = 1024;
	strcpy(config.ports[0].device, wire->device);
	strcpy(config.ports[0].address, "10.0.0.1/24");
	news = netdev_news();
	log_file = open_memstream(&said, &said_bytes);
	if (dp_port_open(&config, 0, log_file, &port)) {
		fflush(log_file);
		fail_msg("%s", said);
	}
	until_link(port, DP_LINK_UP, up);
	for (int turn = 0; turn < 2; turn++) {
		int before = log_lines(down);

		shell(wire->cut);
		until_link(port, DP_LINK_DOWN, down);
		until_link(port, DP_LINK_DOWN, down); /* looked at twice, said once */
		assert_int_equal(log_lines(down), before + 1);
		shell(wire->mend);
		until_link(port, DP_LINK_UP, up);
	}
	/* One of the same name is not the one that the port holds. */
	snprintf(command, sizeof(command),
		"ip link del %s && ip link add %s type veth && ip link set %s up", wire->netdev,
		wire->netdev, wire->netdev);
	shell(command);
	until_link(port, DP_LINK_GONE, gone);
	until_link(port, DP_LINK_GONE, gone);
	assert_int_equal(log_lines(gone), 1);
	dp_port_close(port);
	fclose(log_file);
	free(said);
	close(news);
}

static int eal(void **state)
{
	char prefix[64];
	char *argv[] = {"test", "--no-huge", "--no-shconf", "--no-pci", "-m", "64", "-l", "0",
		"--log-level", "error", "--no-telemetry", prefix, NULL};

	(void)state;
	snprintf(prefix, sizeof(prefix), "--file-prefix=sw_test_%d", (int)getpid());
	return dp_eal_init((int)(sizeof(argv) / sizeof(argv[0])) - 1, argv, stderr) < 0;
}

static int eal_end(void **state)
{
	(void)state;
	dp_eal_cleanup();
	return 0;
}

int main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test_prestate(a_netdev_is_watched, (void *)&wires[0]),
		cmocka_unit_test_prestate(a_netdev_is_watched, (void *)&wires[1]),
		cmocka_unit_test_prestate(a_netdev_is_watched, (void *)&wires[2]),
	};

	/* Before EAL: its threads are to be in there too. */
	if (geteuid() || unshare(CLONE_NEWNET) || system("ip link set lo up"))
		return SKIPPED;
	return cmocka_run_group_tests(tests, eal, eal_end);
}
