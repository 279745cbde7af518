/* Proves that workers on threads of their own lose nothing, whatever their number against that of
 * queues and ports: every message comes once and is answered, over IPv4 and IPv6, also while RSS is
 * never at rest; in the end no frame is left. */
#include <pthread.h>
#include <sched.h>

#include "dataplane/node_fixture.h"

static void *worker_run(void *arg)
{
	struct dp_worker *worker = arg;

	while (!atomic_load_explicit(&node.stop, memory_order_relaxed)) {
		dp_worker_step(worker, mono_ns());
		sched_yield(); /* more threads than CPUs */
	}
	return NULL;
}

struct threads_case {
	const char *name;
	uint32_t workers, ports, queues;
	enum config_steering steering;
};

static const struct threads_case threads_cases[] = {
	{"t21", 2, 1, 1, CONFIG_STEERING_AUTO}, {"t31", 3, 1, 1, CONFIG_STEERING_AUTO},
	{"t32", 3, 2, 1, CONFIG_STEERING_AUTO}, {"t22", 2, 1, 2, CONFIG_STEERING_SOFTWARE},
	{"t2s", 2, 2, 2, CONFIG_STEERING_PORT},
	{"t23", 2, 1, 3, CONFIG_STEERING_PORT},     /* more queues than workers */
	{"t43", 4, 1, 3, CONFIG_STEERING_SOFTWARE}, /* and less */
};

#define ROUNDS 500u

/* Waits for all to be done, at most 20 s; the clients take and answer meanwhile. */
static bool until(bool (*done)(uint32_t), uint32_t arg)
{
	uint64_t end_ns = mono_ns() + 20ull * NS_PER_S;

	for (;;) {
		node.now_ns = mono_ns();
		control_turn();
		clients_read();
		if (done(arg))
			return true;
		if (node.now_ns > end_ns)
			return false;
		sched_yield();
	}
}

static bool all_connected(uint32_t unused)
{
	(void)unused;
	for (uint32_t c = 0; c < CLIENTS; c++)
		if (node.client[c].enet.state != LEAN_CONNECTED || !node.peer[c])
			return false;
	return true;
}

static bool all_answered(uint32_t messages)
{
	for (uint32_t c = 0; c < CLIENTS; c++)
		if (node.client[c].echoes < messages || node.messages[c] < messages)
			return false;
	return true;
}

static void on_threads(void **state)
{
	(void)state;
	for (uint32_t i = 0; i < sizeof(threads_cases) / sizeof(threads_cases[0]); i++) {
		const struct threads_case *c = &threads_cases[i];
		pthread_t threads[WORKERS_MAX];
		bool ok;

		node_make(c->name, c->workers, c->ports, c->queues, c->steering);
		for (uint32_t n = 0; n < CLIENTS; n++) {
			if (n % 5 == 4)
				client_make6(n, n % c->ports, n / c->ports % c->queues, false);
			else
				client_make(n, n % c->ports, n / c->ports % c->queues);
		}
		for (uint32_t w = 0; w < c->workers; w++)
			assert_int_equal(
				pthread_create(&threads[w], NULL, worker_run, node.worker[w]), 0);
		for (uint32_t n = 0; n < CLIENTS; n++)
			client_connect(&node.client[n]);
		ok = until(all_connected, 0);
		for (uint32_t round = 1; ok && round <= ROUNDS; round++) {
			for (uint32_t n = 0; n < CLIENTS; n++) {
				struct client *client = &node.client[n];

				/* RSS that is never at rest. */
				if (c->steering == CONFIG_STEERING_PORT)
					client->queue = (client->queue + n + round) % c->queues;
				client_say(client);
			}
			ok = until(all_answered, round);
		}
		atomic_store(&node.stop, true);
		for (uint32_t w = 0; w < c->workers; w++)
			pthread_join(threads[w], NULL);
		if (!ok)
			fail_msg("%s: not everyone was answered", c->name);
		assert_int_equal(node.gone, 0);
		assert_int_equal(counted_by_all(DP_C_HANDOFF_OVER_FULL), 0);
		assert_true(counted_by_all(DP_C_HANDOFF_OVER) > 0);
		for (uint32_t n = 0; n < CLIENTS; n++) {
			assert_int_equal(node.messages[n], ROUNDS); /* each exactly once */
			if (c->steering != CONFIG_STEERING_PORT)
				assert_int_equal(handle_owner(node.peer[n]), owner_of(n));
		}
		node_free();
	}
}
int main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test(on_threads),
	};

	return cmocka_run_group_tests_name("workers", tests, ring_port_eal, ring_port_eal_end);
}
