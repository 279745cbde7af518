/* Proves the operations endpoint over real HTTP: every registered figure is in /metrics, once and
 * in Prometheus' format; /health and /ready turn with the components; /status is JSON with the same
 * figures; a taken port, an address that is not loopback and wrong requests are refused; idle
 * connections keep nobody out. */
#include <arpa/inet.h>
#include <errno.h>
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
#include <jansson.h>

#include "control/ops/http_get.h"
#include "control/ops/ops.h"
#include "control/ops/ops_internal.h"

static const struct counter_desc descs[] = {
	{"packets", "packets received", COUNTER_SUM},
	{"peers", "peers\\now\nhere", COUNTER_GAUGE},
};

static _Atomic uint64_t values[2][2];
static const struct counter_set sets[2] = {
	{"test", 0, 2, descs, values[0]},
	{"test", 1, 2, descs, values[1]},
};
static struct histogram tick, save, burst = {.plain_buckets = 4};
static const struct histogram_ref refs[] = {
	{"test", "tick_ns", "time of a tick", 0, &tick},
	{"test", "save_seconds", "time of a save", 0, &save},
	{"test", "burst_frames", "frames of a burst", 0, &burst},
};
static _Atomic int levels[3]; /* two components and readiness */

static enum ops_level health(void *ctx, char *sentence, size_t bytes)
{
	enum ops_level level = (enum ops_level)atomic_load((_Atomic int *)ctx);

	/* Quotes, and a byte that is not UTF-8. */
	snprintf(sentence, bytes, "is \"%s\" \xff", ops_level_name(level));
	return level;
}

static bool instance(void *ctx, uint32_t slot, uint64_t now_ns, struct ops_instance *out)
{
	(void)ctx;
	(void)now_ns;
	*out = (struct ops_instance){.map = slot ? "arena" : "meadow",
		.kind = slot ? "room" : "map",
		.state = slot == 2 ? "empty"
			 : slot    ? "warm"
				   : "open",
		.slot = slot,
		.generation = 4,
		.used = slot < 2,
		.running = slot == 0,
		.shard = 1,
		.players = 7,
		.players_max = 9,
		.ticks = 100,
		.skipped = 2,
		.overruns = 3,
		.tick_ns = 1500000,
		.tick_age_ns = 20000000,
		.tick_hz = 15,
		.tick_time = &tick,
		.load_permille = 30,
		.heat_permille = 807,
		.shard_heat = 4,
		.overrun_stage = slot ? NULL : "interest"};
	return slot < 3;
}

struct rig {
	struct sw_config config;
	struct ops *ops;
	char address[32];
};

static void rig_start(struct rig *rig)
{
	memset(rig, 0, sizeof(*rig));
	memset(&tick, 0, sizeof(tick));
	for (int i = 0; i < 3; i++)
		atomic_store(&levels[i], OPS_GREEN);
	strcpy(rig->config.node.name, "node-1");
	strcpy(rig->config.http.address, "127.0.0.1:0");
	rig->ops = ops_new();
	ops_register_counters(rig->ops, &sets[0]);
	ops_register_counters(rig->ops, &sets[1]);
	ops_register_histogram(rig->ops, &refs[0]);
	ops_register_histogram(rig->ops, &refs[1]);
	ops_register_histogram(rig->ops, &refs[2]);
	ops_register_health(rig->ops, "redis", health, &levels[0]);
	ops_register_health(rig->ops, "postgres", health, &levels[1]);
	ops_register_ready(rig->ops, health, &levels[2]);
	ops_register_instances(rig->ops, instance, NULL);
	assert_int_equal(ops_start(rig->ops, &rig->config, stderr), 0);
	snprintf(rig->address, sizeof(rig->address), "127.0.0.1:%u", ops_port(rig->ops));
}

static void rig_stop(struct rig *rig)
{
	ops_stop(rig->ops);
	ops_free(rig->ops);
}

static char *get(struct rig *rig, const char *path, int status)
{
	size_t bytes;
	char *body;

	assert_int_equal(http_get(rig->address, path, &body, &bytes), status);
	assert_int_equal(strlen(body), bytes);
	return body;
}

static int occurrences(const char *text, const char *what)
{
	int n = 0;

	for (; (text = strstr(text, what)); text++)
		n++;
	return n;
}

static void test_metrics(void **state)
{
	static const char *const once[] = {
		"# HELP stormweir_test_packets_total packets received\n"
		"# TYPE stormweir_test_packets_total counter\n"
		"stormweir_test_packets_total{thread=\"0\"} 18446744073709551615\n"
		"stormweir_test_packets_total{thread=\"1\"} 7\n",
		"# HELP stormweir_test_peers peers\\\\now\\nhere\n"
		"# TYPE stormweir_test_peers gauge\n"
		"stormweir_test_peers{thread=\"0\"} 2\n"
		"stormweir_test_peers{thread=\"1\"} 3\n",
		"# TYPE stormweir_test_tick_seconds histogram\n",
		/* 1000 ns lie below 1024 ns, and are counted in all buckets from there */
		"stormweir_test_tick_seconds_bucket{thread=\"0\",le=\"5.12e-07\"} 1\n",
		"stormweir_test_tick_seconds_bucket{thread=\"0\",le=\"1.024e-06\"} 3\n",
		"stormweir_test_tick_seconds_bucket{thread=\"0\",le=\"+Inf\"} 4\n"
		"stormweir_test_tick_seconds_sum{thread=\"0\"} 4000000.000002000\n"
		"stormweir_test_tick_seconds_count{thread=\"0\"} 4\n",
		"# TYPE stormweir_test_save_seconds histogram\n",
		/* plain numbers: as they are, and their greatest as the bound */
		"# HELP stormweir_test_burst_frames frames of a burst\n"
		"# TYPE stormweir_test_burst_frames histogram\n"
		"stormweir_test_burst_frames_bucket{thread=\"0\",le=\"0\"} 0\n"
		"stormweir_test_burst_frames_bucket{thread=\"0\",le=\"1\"} 1\n"
		"stormweir_test_burst_frames_bucket{thread=\"0\",le=\"3\"} 2\n"
		"stormweir_test_burst_frames_bucket{thread=\"0\",le=\"+Inf\"} 4\n"
		"stormweir_test_burst_frames_sum{thread=\"0\"} 40\n"
		"stormweir_test_burst_frames_count{thread=\"0\"} 4\n",
		"stormweir_health{component=\"redis\"} 0\n",
		"stormweir_health{component=\"postgres\"} 2\n",
		"# TYPE stormweir_instance_players gauge\n"
		"stormweir_instance_players{map=\"meadow\",slot=\"0\",shard=\"1\"} 7\n"
		"# HELP",
		"stormweir_instance_tick_seconds{map=\"meadow\",slot=\"0\",shard=\"1\"} "
		"0.001500000\n",
		"# TYPE stormweir_instance_tick_overruns_total counter\n"
		"stormweir_instance_tick_overruns_total{map=\"meadow\",slot=\"0\",shard=\"1\"} 3\n",
		"stormweir_instances_by_state{map=\"meadow\",slot=\"0\",state=\"open\"} 1\n"
		"stormweir_instances_by_state{map=\"arena\",slot=\"1\",state=\"warm\"} 1\n"
		"stormweir_instances_by_state{map=\"arena\",slot=\"2\",state=\"empty\"} 1\n",
	};
	struct rig rig;
	char *body;

	(void)state;
	rig_start(&rig);
	counter_put(&values[0][0], UINT64_MAX);
	counter_put(&values[1][0], 7);
	counter_put(&values[0][1], 2);
	counter_put(&values[1][1], 3);
	histogram_add(&tick, 0);
	histogram_add(&tick, 1000);
	histogram_add(&tick, 1000);
	histogram_add(&tick, 4000000ull * 1000000000ull); /* far above the last bound */
	for (size_t i = 0; i < 4; i++)
		histogram_add(&burst, (const uint64_t[]){1, 3, 4, 32}[i]);
	atomic_store(&levels[1], OPS_RED);
	body = get(&rig, "/metrics", 200);
	for (size_t i = 0; i < sizeof(once) / sizeof(once[0]); i++)
		if (occurrences(body, once[i]) != 1)
			fail_msg("not once: %s\nin:\n%s", once[i], body);
	free(body);
	rig_stop(&rig);
}

static void test_health_and_ready(void **state)
{
	static const struct {
		int redis, postgres, ready, health_status, ready_status;
		const char *level;
	} rows[] = {
		{OPS_GREEN, OPS_GREEN, OPS_GREEN, 200, 200, "green"},
		{OPS_GREEN, OPS_YELLOW, OPS_GREEN, 200, 200, "yellow"},
		{OPS_RED, OPS_YELLOW, OPS_GREEN, 503, 503, "red"},
		{OPS_GREEN, OPS_GREEN, OPS_YELLOW, 200, 503, "green"},
	};
	struct rig rig;

	(void)state;
	rig_start(&rig);
	for (size_t i = 0; i < sizeof(rows) / sizeof(rows[0]); i++) {
		json_t *root;
		char *body;

		atomic_store(&levels[0], rows[i].redis);
		atomic_store(&levels[1], rows[i].postgres);
		atomic_store(&levels[2], rows[i].ready);
		body = get(&rig, "/health", rows[i].health_status);
		root = json_loads(body, 0, NULL);
		free(body);
		assert_string_equal(
			json_string_value(json_object_get(root, "level")), rows[i].level);
		assert_int_equal(json_array_size(json_object_get(root, "components")), 2);
		assert_non_null(strstr(
			json_string_value(json_object_get(
				json_array_get(json_object_get(root, "components"), 0), "text")),
			"\" ?"));
		json_decref(root);
		body = get(&rig, "/ready", rows[i].ready_status);
		assert_int_equal(!strcmp(body, "ready\n"), rows[i].ready_status == 200);
		free(body);
	}
	rig_stop(&rig);
}

static void test_status(void **state)
{
	json_t *root, *thread, *histogram;
	struct rig rig;
	char *body;

	(void)state;
	rig_start(&rig);
	counter_put(&values[1][1], 33);
	for (int i = 0; i < 99; i++)
		histogram_add(&tick, 1000);
	histogram_add(&tick, 1000000);
	body = get(&rig, "/status", 200);
	root = json_loads(body, 0, NULL);
	free(body);
	assert_non_null(root);
	assert_string_equal(json_string_value(json_object_get(root, "node")), "node-1");
	thread = json_array_get(json_object_get(json_object_get(root, "counters"), "test"), 1);
	assert_int_equal(json_integer_value(json_object_get(thread, "peers")), 33);
	thread = json_array_get(json_object_get(json_object_get(root, "histograms"), "test"), 0);
	histogram = json_object_get(thread, "tick_ns");
	assert_int_equal(json_integer_value(json_object_get(histogram, "count")), 100);
	assert_int_equal(json_integer_value(json_object_get(histogram, "p50_below_ns")), 1024);
	assert_int_equal(json_integer_value(json_object_get(histogram, "p99_below_ns")), 1024);
	assert_int_equal(json_integer_value(json_object_get(histogram, "max_below_ns")), 1 << 20);
	assert_int_equal(json_array_size(json_object_get(root, "instances")), 2);
	thread = json_array_get(json_object_get(root, "instances"), 0);
	assert_string_equal(json_string_value(json_object_get(thread, "map")), "meadow");
	assert_int_equal(json_integer_value(json_object_get(thread, "tick_overruns")), 3);
	assert_int_equal(json_integer_value(json_object_get(thread, "tick_age_ms")), 20);
	assert_int_equal(json_integer_value(json_object_get(thread, "tick_hz")), 15);
	assert_int_equal(json_integer_value(json_object_get(thread, "load_permille")), 30);
	assert_int_equal(json_integer_value(json_object_get(thread, "heat_permille")), 807);
	assert_int_equal(json_integer_value(json_object_get(thread, "shard_heat")), 4);
	assert_string_equal(
		json_string_value(json_object_get(thread, "overrun_stage")), "interest");
	assert_true(json_integer_value(json_object_get(thread, "tick_p50_below_ns")) > 0);
	assert_true(json_integer_value(json_object_get(thread, "tick_p99_below_ns")) >=
		    json_integer_value(json_object_get(thread, "tick_p50_below_ns")));
	thread = json_array_get(json_object_get(root, "instances"), 1);
	assert_string_equal(json_string_value(json_object_get(thread, "state")), "warm");
	assert_null(json_object_get(thread, "shard"));
	json_decref(root);
	rig_stop(&rig);
}

static int dial(struct rig *rig)
{
	struct sockaddr_in name = {.sin_family = AF_INET, .sin_port = htons(ops_port(rig->ops))};
	int fd = socket(AF_INET, SOCK_STREAM, 0);

	name.sin_addr.s_addr = htonl(INADDR_LOOPBACK);
	assert_int_equal(connect(fd, (struct sockaddr *)&name, sizeof(name)), 0);
	return fd;
}

/* Sends bytes as they are; returns the HTTP status, or 0 for a closed connection. */
static int raw(struct rig *rig, const char *text)
{
	int fd = dial(rig), status = 0;
	char answer[512] = "";

	send(fd, text, strlen(text), MSG_NOSIGNAL);
	shutdown(fd, SHUT_WR);
	recv(fd, answer, sizeof(answer) - 1, 0);
	sscanf(answer, "HTTP/1.%*d %d", &status);
	close(fd);
	return status;
}

/* The page for browsers is whole, and asks nobody but this node. That every field that it reads is
 * in /status looks tests/e2e/orders.sh. */
static void test_page(void **state)
{
	struct rig rig;
	char *page;

	(void)state;
	rig_start(&rig);
	page = get(&rig, "/", 200);
	assert_non_null(strstr(page, "<!DOCTYPE html>"));
	assert_non_null(strstr(page, "fetch(\"/status\""));
	assert_non_null(strstr(page, "</html>\n"));
	assert_null(strstr(page, "http:"));
	assert_null(strstr(page, "https:"));
	assert_null(strstr(page, "innerHTML"));
	free(page);
	rig_stop(&rig);
}

static void test_wrong_requests(void **state)
{
	struct rig rig;

	(void)state;
	rig_start(&rig);
	free(get(&rig, "/index.html", 404));
	free(get(&rig, "/metrics/", 404));
	free(get(&rig, "/../etc/passwd", 404));
	assert_int_equal(raw(&rig, "POST /status HTTP/1.0\r\nContent-Length: 4\r\n\r\nbody"), 405);
	assert_int_equal(raw(&rig, "DELETE /status HTTP/1.0\r\n\r\n"), 405);
	assert_int_equal(raw(&rig, "HEAD /status HTTP/1.0\r\n\r\n"), 200);
	raw(&rig, "\x01\x02\x03\r\n\r\n");
	raw(&rig, "GET /status");
	free(get(&rig, "/status", 200));
	rig_stop(&rig);
}

/* Whoever connects and says nothing, or half a request, keeps nobody out, and is closed. */
static void test_idle_connections(void **state)
{
	enum { IDLE = 300 };
	int fds[IDLE];
	struct rig rig;
	char byte;

	(void)state;
	rig_start(&rig);
	for (int i = 0; i < IDLE; i++) {
		fds[i] = dial(&rig);
		if (i % 2)
			assert_int_equal(send(fds[i], "GET /he", 7, MSG_NOSIGNAL), 7);
	}
	free(get(&rig, "/health", 200));
	free(get(&rig, "/ready", 200));
	for (int i = 0; i < IDLE; i++) {
		assert_true(recv(fds[i], &byte, 1, 0) <= 0); /* until the server closes */
		close(fds[i]);
	}
	free(get(&rig, "/health", 200));
	rig_stop(&rig);
}

static void test_long_request(void **state)
{
	static char text[64 * 1024];
	struct rig rig;
	int at, status;

	(void)state;
	rig_start(&rig);
	at = sprintf(text, "GET /health HTTP/1.0\r\nX-Long: ");
	memset(text + at, 'x', sizeof(text) - 1 - (size_t)at);
	memcpy(text + sizeof(text) - 5, "\r\n\r\n", 5);
	status = raw(&rig, text);
	assert_true(status == 431 || status == 0); /* closed before all was read */
	free(get(&rig, "/health", 200));
	rig_stop(&rig);
}

static void test_start_refused(void **state)
{
	static const struct {
		const char *address;
		int rc;
		const char *says;
	} rows[] = {
		{NULL, -EADDRINUSE, "another stormweir"},
		{"0.0.0.0:0", -EPERM, "not a loopback address"},
		{"10.0.0.1:9100", -EPERM, "not a loopback address"},
		{"localhost:9100", -EINVAL, "http.address"},
		{"127.0.0.1", -EINVAL, "http.address"},
		{"127.0.0.1:x", -EINVAL, "http.address"},
	};
	struct rig rig;

	(void)state;
	rig_start(&rig);
	for (size_t i = 0; i < sizeof(rows) / sizeof(rows[0]); i++) {
		struct sw_config config = {0};
		struct ops *ops = ops_new();
		char *text = NULL;
		size_t bytes;
		FILE *errors = open_memstream(&text, &bytes);

		strcpy(config.http.address, rows[i].address ? rows[i].address : rig.address);
		assert_int_equal(ops_start(ops, &config, errors), rows[i].rc);
		fclose(errors);
		if (!strstr(text, rows[i].says))
			fail_msg("%s: says \"%s\"", config.http.address, text);
		free(text);
		ops_stop(ops);
		ops_free(ops);
	}
	rig_stop(&rig);
}

int main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test(test_metrics),
		cmocka_unit_test(test_health_and_ready),
		cmocka_unit_test(test_status),
		cmocka_unit_test(test_page),
		cmocka_unit_test(test_wrong_requests),
		cmocka_unit_test(test_idle_connections),
		cmocka_unit_test(test_long_request),
		cmocka_unit_test(test_start_refused),
	};

	return cmocka_run_group_tests(tests, NULL, NULL);
}
