/* Proves the library over real sockets against a stock libenet server: connect, walk, see, talk, be
 * refused, be thrown out, come back; and that bytes of any kind from the server end in a named
 * count. Both sides run in this thread and take turns, on loopback and an ephemeral port. Clock
 * time only bounds how long a test may wait; the client's ticks get a time of our own. */
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <errno.h>
#include <stdio.h>
#include <string.h>
#include <unistd.h>
#include <cmocka.h>

#include "client/fake_server.h"
#include "client/stormweir.h"
#include "proto/message_types.h"

#define TURNS 20000 /* of 200 µs at least: 4 s, then the test gives up */

static struct fake_server server;
static uint64_t clock_ns = 1;

struct seen {
	struct swc_client *client;
	uint32_t events[SWC_EVENT_DISCONNECTED + 1];
	uint32_t reason;
	bool timed_out, by_us;
	char text[256];
	uint32_t npc;
	bool leave_in_callback;
};

static void on_event(void *ctx, struct swc_client *client, const struct swc_event *event)
{
	struct seen *seen = ctx;

	seen->events[event->type]++;
	switch (event->type) {
	case SWC_EVENT_DISCONNECTED:
		seen->reason = event->disconnected.reason;
		seen->timed_out = event->disconnected.timed_out;
		seen->by_us = event->disconnected.by_us;
		snprintf(seen->text, sizeof(seen->text), "%s", event->disconnected.text);
		break;
	case SWC_EVENT_DIALOGUE:
		snprintf(seen->text, sizeof(seen->text), "%s", event->dialogue.text);
		break;
	case SWC_EVENT_ENTER:
		if (event->actor->kind == SWC_NPC)
			seen->npc = event->actor->actor_id;
		break;
	case SWC_EVENT_JOINED:
		if (seen->leave_in_callback)
			swc_leave(client);
		break;
	default:
		break;
	}
}

static void open_client(struct seen *seen, const char *ticket)
{
	struct swc_config config = {.address = "127.0.0.1",
		.port = server.port,
		.ticket = (const uint8_t *)ticket,
		.ticket_bytes = (uint32_t)strlen(ticket),
		.on_event = on_event,
		.ctx = seen};

	memset(seen, 0, sizeof(*seen));
	assert_int_equal(swc_open(&config, &seen->client), 0);
}

static void turn(struct seen **all, int count)
{
	for (int i = 0; i < count; i++)
		swc_service(all[i]->client, clock_ns);
	fake_service(&server);
	usleep(200);
}

/* One tick of both worlds, with a few turns so that datagrams arrive. */
static void step(struct seen **all, int count)
{
	clock_ns += 1000000000u / FAKE_TICK_HZ;
	for (int i = 0; i < 4; i++)
		turn(all, count);
	fake_tick(&server);
	for (int i = 0; i < 4; i++)
		turn(all, count);
}

#define WAIT(all, count, condition)                                                                \
	do {                                                                                       \
		int turns = 0;                                                                     \
		while (!(condition)) {                                                             \
			if (turns++ == TURNS)                                                      \
				fail_msg("waited in vain for %s", #condition);                     \
			turn(all, count);                                                          \
		}                                                                                  \
	} while (0)

static int set_up(void **state)
{
	(void)state;
	return fake_open(&server) ? 0 : -1;
}

static int tear_down(void **state)
{
	(void)state;
	fake_close(&server);
	return 0;
}

static void two_walk_and_see_each_other_come_and_go(void **state)
{
	struct seen a, b, *both[] = {&a, &b};
	const struct swc_actor *other;

	(void)state;
	open_client(&a, "1");
	WAIT(both, 1, a.events[SWC_EVENT_DETAIL]);
	assert_int_equal(server.connect_data, SW_PROTOCOL_VERSION);
	assert_int_equal(swc_self(a.client)->character_id, 1);
	open_client(&b, "2");
	WAIT(both, 2, swc_actors(a.client) == 2 && swc_actors(b.client) == 2);

	swc_walk(a.client, 127, 0);
	for (int i = 0; i < 20; i++)
		step(both, 2);
	swc_walk(a.client, 0, 0);
	for (int i = 0; i < 5; i++)
		step(both, 2);
	other = swc_actor_find(b.client, swc_self(a.client)->actor_id);
	assert_non_null(other);
	assert_string_equal(other->name, "bot1");
	assert_int_equal(swc_self(a.client)->x_mm, 50000 + 20 * 250);
	assert_int_equal(other->x_mm, 50000 + 20 * 250);
	assert_int_equal(swc_self(a.client)->server_x_mm, other->x_mm);
	assert_int_equal(swc_self(a.client)->input_applied, 21);
	assert_int_equal(swc_stats(a.client)->corrections, 0);
	assert_int_equal(swc_stats(a.client)->reliable_lost, 0);

	swc_leave(a.client);
	WAIT(both, 2, swc_state(a.client) == SWC_CLOSED && swc_actors(b.client) == 1);
	assert_true(a.by_us);
	assert_false(a.timed_out);
	assert_int_equal(b.events[SWC_EVENT_LEAVE], 1);
	swc_close(a.client);

	open_client(&a, "1"); /* back where it was */
	WAIT(both, 2, swc_state(a.client) == SWC_PLAYING && swc_actors(b.client) == 2);
	assert_int_equal(swc_self(a.client)->join_x_mm, 50000 + 20 * 250);
	swc_close(a.client);
	swc_close(b.client);
	for (int i = 0; i < 20 && server.leaves < 3; i++) /* a closed client is missed at once */
		turn(both, 0);
	assert_int_equal(server.leaves, 3);
}

static void a_refusal_is_told_with_reason_and_text(void **state)
{
	static const struct {
		const char *ticket;
		uint32_t version, reason;
	} cases[] = {
		{"refuse 5", 0, SW_REASON_TICKET_FORGED},
		{"refuse 6", 0, SW_REASON_TICKET_EXPIRED},
		{"nonsense", 0, SW_REASON_TICKET_MALFORMED},
		{"1", 99, SW_REASON_WRONG_VERSION},
	};

	(void)state;
	for (size_t i = 0; i < sizeof(cases) / sizeof(cases[0]); i++) {
		struct seen seen = {0}, *one[] = {&seen};
		struct swc_config config = {.address = "127.0.0.1",
			.port = server.port,
			.ticket = (const uint8_t *)cases[i].ticket,
			.ticket_bytes = (uint32_t)strlen(cases[i].ticket),
			.protocol_version = cases[i].version,
			.on_event = on_event,
			.ctx = &seen};

		assert_int_equal(swc_open(&config, &seen.client), 0);
		WAIT(one, 1, swc_state(seen.client) == SWC_CLOSED);
		assert_int_equal(seen.events[SWC_EVENT_REFUSED], 1);
		assert_int_equal(seen.events[SWC_EVENT_DISCONNECTED], 1);
		assert_int_equal(seen.events[SWC_EVENT_JOINED], 0);
		assert_int_equal(seen.reason, cases[i].reason);
		assert_string_equal(seen.text, "refused by the fake server");
		swc_close(seen.client);
	}
}

static void the_server_says_why_it_closes(void **state)
{
	struct seen seen, *one[] = {&seen};

	(void)state;
	open_client(&seen, "1");
	WAIT(one, 1, swc_state(seen.client) == SWC_PLAYING);
	fake_stop(&server, SW_REASON_SERVER_STOPPING);
	WAIT(one, 1, swc_state(seen.client) == SWC_CLOSED);
	assert_int_equal(seen.reason, SW_REASON_SERVER_STOPPING);
	assert_string_equal(seen.text, swc_reason_text(SW_REASON_SERVER_STOPPING));
	assert_false(seen.timed_out);
	assert_false(seen.by_us);
	assert_int_equal(swc_click(seen.client, 1), -ENOTCONN);
	swc_leave(seen.client); /* nothing is left to leave */
	assert_int_equal(swc_service(seen.client, clock_ns), SWC_CLOSED);
	assert_int_equal(seen.events[SWC_EVENT_DISCONNECTED], 1);
	swc_close(seen.client);
}

static void a_server_that_does_not_answer_is_given_up(void **state)
{
	struct seen seen, *one[] = {&seen};

	(void)state;
	open_client(&seen, "silent");
	WAIT(one, 1, server.hellos == 1);
	clock_ns += 16000000000u; /* past connect_timeout_ms */
	WAIT(one, 1, swc_state(seen.client) == SWC_CLOSED);
	assert_true(seen.timed_out);
	swc_close(seen.client);

	open_client(&seen, "1"); /* leave before there is a connection */
	swc_leave(seen.client);
	assert_int_equal(swc_state(seen.client), SWC_CLOSED);
	assert_true(seen.by_us);
	swc_close(seen.client);
}

static void leaving_inside_an_event_is_allowed(void **state)
{
	struct seen seen, *one[] = {&seen};

	(void)state;
	open_client(&seen, "1");
	seen.leave_in_callback = true;
	WAIT(one, 1, swc_state(seen.client) == SWC_CLOSED);
	assert_true(seen.by_us);
	WAIT(one, 1, server.leaves == 1);
	swc_close(seen.client);
}

static void a_click_is_answered(void **state)
{
	struct seen seen, *one[] = {&seen};

	(void)state;
	open_client(&seen, "1");
	WAIT(one, 1, seen.npc);
	assert_int_equal(swc_click(seen.client, seen.npc), 0);
	WAIT(one, 1, seen.events[SWC_EVENT_DIALOGUE]);
	assert_string_equal(seen.text, "Good day.");
	assert_int_equal(swc_click(seen.client, 4711), 0);
	WAIT(one, 1, seen.events[SWC_EVENT_ACTION_DENIED]);
	swc_close(seen.client);
}

static void malformed_bytes_from_the_server_are_counted_and_play_goes_on(void **state)
{
	static const uint8_t update[] = {SW_MSG_WORLD_UPDATE, 0x1a, 0x7f, 1, 2};
	static const uint8_t unknown[] = {0xee, 1, 2, 3};
	struct seen seen, *one[] = {&seen};
	const struct swc_stats *stats;

	(void)state;
	open_client(&seen, "1");
	WAIT(one, 1, swc_state(seen.client) == SWC_PLAYING);
	fake_send_all(&server, SW_CHANNEL_WORLD, true, update, sizeof(update));
	fake_send_all(&server, SW_CHANNEL_SESSION, true, unknown, sizeof(unknown));
	fake_send_all(&server, SW_CHANNEL_CHAT, true, update, sizeof(update));
	stats = swc_stats(seen.client);
	WAIT(one, 1,
		stats->refused[SWC_REFUSAL_PROTOBUF] == 1 &&
			stats->refused[SWC_REFUSAL_UNKNOWN_TYPE] == 1 &&
			stats->refused[SWC_REFUSAL_WRONG_CHANNEL] == 1);
	assert_int_equal(swc_state(seen.client), SWC_PLAYING);
	server.skip_view_changes = 1; /* and a lost reliable message is noticed */
	struct seen other, *both[] = {&seen, &other};
	open_client(&other, "2");
	WAIT(both, 2,
		swc_state(other.client) == SWC_PLAYING &&
			stats->reliable_lost + swc_stats(other.client)->reliable_lost == 1);
	swc_close(other.client);
	swc_close(seen.client);
}

static void a_disagreement_is_corrected(void **state)
{
	struct seen seen, *one[] = {&seen};

	(void)state;
	open_client(&seen, "1");
	WAIT(one, 1, swc_state(seen.client) == SWC_PLAYING);
	swc_walk(seen.client, 0, 127);
	for (int i = 0; i < 5; i++)
		step(one, 1);
	server.push_mm = 3000;
	for (int i = 0; i < 5; i++)
		step(one, 1);
	swc_walk(seen.client, 0, 0);
	for (int i = 0; i < 5; i++)
		step(one, 1);
	assert_true(swc_stats(seen.client)->corrections >= 1);
	assert_int_equal(swc_stats(seen.client)->corrections, seen.events[SWC_EVENT_CORRECTED]);
	assert_int_equal(swc_self(seen.client)->x_mm, 53000);
	assert_int_equal(swc_self(seen.client)->y_mm, 50000 + 10 * 250);
	swc_close(seen.client);
}

static void work_is_done_when_asked_for(void **state)
{
	struct seen seen, *one[] = {&seen};

	(void)state;
	open_client(&seen, "work 14 5");
	WAIT(one, 1, swc_state(seen.client) == SWC_PLAYING);
	assert_int_equal(seen.events[SWC_EVENT_CHALLENGED], 1);
	assert_int_equal(server.works, 1);
	assert_int_equal(server.hellos, 2);
	swc_close(seen.client);
}

/* It is not worth more than that to this client: it stays at the door, until it is told why. */
static void work_is_refused_when_it_is_too_much(void **state)
{
	struct seen seen = {0}, *one[] = {&seen};
	struct swc_config config = {.address = "127.0.0.1",
		.port = server.port,
		.ticket = (const uint8_t *)"work 1 5",
		.ticket_bytes = 8,
		.proof_bits_max = UINT32_MAX,
		.on_event = on_event,
		.ctx = &seen};

	(void)state;
	assert_int_equal(swc_open(&config, &seen.client), 0);
	WAIT(one, 1, seen.events[SWC_EVENT_CHALLENGED] == 1);
	step(one, 1);
	assert_int_equal(server.hellos, 1);
	fake_stop(&server, SW_REASON_PROOF_MISSING);
	WAIT(one, 1, swc_state(seen.client) == SWC_CLOSED);
	assert_int_equal(seen.reason, SW_REASON_PROOF_MISSING);
	swc_close(seen.client);
}

static void a_redirect_is_followed(void **state)
{
	struct fake_server first;
	struct seen seen, *one[] = {&seen};
	char ticket[32];
	uint16_t port = server.port;

	(void)state;
	/* Two servers: the test's turns serve one, this one is served beside. */
	assert_true(fake_open(&first));
	server.joined[9] = true;
	snprintf(ticket, sizeof(ticket), "redirect %u 9", port);
	server.port = first.port;
	open_client(&seen, ticket);
	server.port = port;
	for (int turns = 0; swc_state(seen.client) != SWC_PLAYING; turns++) {
		assert_true(turns < TURNS);
		fake_service(&first);
		turn(one, 1);
	}
	assert_int_equal(seen.events[SWC_EVENT_REDIRECTED], 1);
	assert_int_equal(seen.events[SWC_EVENT_CONNECTED], 2);
	assert_int_equal(seen.events[SWC_EVENT_DISCONNECTED], 0);
	assert_int_equal(swc_self(seen.client)->character_id, 9);
	/* The first one is left in good order, and what becomes of it is of no concern. */
	for (int turns = 0; first.host->connectedPeers; turns++) {
		assert_true(turns < TURNS);
		fake_service(&first);
		turn(one, 1);
	}
	assert_int_equal(swc_state(seen.client), SWC_PLAYING);
	swc_leave(seen.client);
	WAIT(one, 1, swc_state(seen.client) == SWC_CLOSED);
	assert_true(seen.by_us && !seen.timed_out);
	swc_close(seen.client);

	fake_close(&first);
}

/* Opens a client at first that is sent to that port, as 9. */
static void open_sent(struct seen *seen, const struct fake_server *first, uint16_t port)
{
	static char ticket[32];
	struct swc_config config = {.address = "127.0.0.1",
		.port = first->port,
		.ticket = (const uint8_t *)ticket,
		.connect_timeout_ms = 100,
		.on_event = on_event,
		.ctx = seen};

	memset(seen, 0, sizeof(*seen));
	snprintf(ticket, sizeof(ticket), "redirect %u 9", port);
	config.ticket_bytes = (uint32_t)strlen(ticket);
	assert_int_equal(swc_open(&config, &seen->client), 0);
}

static void until_it_plays(struct seen *seen, struct fake_server *first)
{
	struct seen *one[] = {seen};

	for (int turns = 0; swc_state(seen->client) != SWC_PLAYING; turns++) {
		assert_true(turns < TURNS);
		clock_ns += 1000000;
		fake_service(first);
		turn(one, 1);
	}
	assert_int_equal(seen->events[SWC_EVENT_DISCONNECTED], 0);
	assert_int_equal(seen->events[SWC_EVENT_REFUSED], 0);
	assert_int_equal(swc_self(seen->client)->character_id, 9);
}

/* Where it was sent nobody answers, or all that does is a socket, or it refuses, or sends in a
 * circle, or is too slow for the one that sent it: it plays where it was. */
static void a_redirect_that_fails_leads_back(void **state)
{
	enum { NOBODY, SILENT, REFUSED, CIRCLE, TAKEN_BACK, CASES };
	struct fake_server first;
	struct seen seen;

	(void)state;
	assert_true(fake_open(&first));
	for (int i = 0; i < CASES; i++) {
		uint32_t failed = first.redirects_failed;

		server.joined[9] = false;
		server.mute = i == SILENT;
		first.circle = i == CIRCLE;
		open_sent(&seen, &first,
			i == NOBODY       ? 9
			: i == CIRCLE     ? first.port
			: i == TAKEN_BACK ? 9
					  : server.port);
		if (i == TAKEN_BACK) {
			struct seen *one[] = {&seen};

			for (int turns = 0; !seen.events[SWC_EVENT_REDIRECTED]; turns++) {
				assert_true(turns < TURNS);
				fake_service(&first);
				turn(one, 1);
			}
			fake_take_back(&first);
		}
		until_it_plays(&seen, &first);
		assert_int_equal(seen.events[SWC_EVENT_REDIRECTED], i == CIRCLE ? 5 : 1);
		assert_int_equal(seen.events[SWC_EVENT_CAME_BACK], 1);
		assert_int_equal(first.redirects_failed - failed, i != TAKEN_BACK);
		if (i != TAKEN_BACK)
			assert_int_equal(first.redirect_reason,
				i == REFUSED ? SW_REASON_PASS_REFUSED : SW_REASON_NONE);
		swc_close(seen.client);
		while (first.host->connectedPeers)
			fake_service(&first);
	}
	server.mute = false;
	/* Both are gone: it ends, in time. */
	open_sent(&seen, &first, 9);
	{
		struct seen *one[] = {&seen};

		for (int turns = 0; !seen.events[SWC_EVENT_REDIRECTED]; turns++) {
			assert_true(turns < TURNS);
			fake_service(&first);
			turn(one, 1);
		}
		enet_peer_disconnect_now(first.redirected, SW_REASON_SERVER_STOPPING);
		for (int turns = 0; swc_state(seen.client) != SWC_CLOSED; turns++) {
			assert_true(turns < TURNS);
			clock_ns += 1000000;
			turn(one, 1);
		}
	}
	assert_int_equal(seen.events[SWC_EVENT_DISCONNECTED], 1);
	swc_close(seen.client);
	fake_close(&first);
}

static void a_pass_lets_in_again(void **state)
{
	struct seen first, second = {0}, *one[] = {&first}, *two[] = {&second};
	struct swc_config config = {
		.address = "127.0.0.1", .port = server.port, .on_event = on_event, .ctx = &second};

	(void)state;
	open_client(&first, "7");
	assert_null(swc_pass(first.client, &config.pass_bytes));
	WAIT(one, 1, first.events[SWC_EVENT_PASS] == 1);
	swc_leave(first.client);
	WAIT(one, 1, swc_state(first.client) == SWC_CLOSED);
	config.pass = swc_pass(first.client, &config.pass_bytes); /* also after the end */
	assert_non_null(config.pass);
	assert_int_equal(swc_open(&config, &second.client), 0);
	swc_close(first.client);
	WAIT(two, 1, swc_state(second.client) == SWC_PLAYING);
	assert_int_equal(swc_self(second.client)->character_id, 7);
	swc_close(second.client);
}

static void wrong_configurations_are_refused(void **state)
{
	struct swc_config good = {.address = "127.0.0.1",
		.port = 7,
		.ticket = (const uint8_t *)"x",
		.ticket_bytes = 1};
	struct swc_config bad[8];
	struct swc_client *client;

	(void)state;
	for (int i = 0; i < 8; i++)
		bad[i] = good;
	bad[0].address = NULL;
	bad[1].port = 0;
	bad[2].ticket_bytes = 0;
	bad[3].ticket_bytes = SWC_TICKET_BYTES_MAX + 1;
	bad[4].ticket = NULL;
	bad[5].client_build =
		"a build name of more than 63 bytes is a sign that something is wrong";
	bad[6].pass = (const uint8_t *)"y";
	bad[7].pass = (const uint8_t *)"y";
	bad[7].pass_bytes = SWC_PASS_BYTES_MAX + 1;
	for (int i = 0; i < 8; i++) {
		assert_int_equal(swc_open(&bad[i], &client), -EINVAL);
		assert_null(client);
	}
	swc_close(NULL);
}

int main(void)
{
	const struct CMUnitTest tests[] = {
#define TEST(name) cmocka_unit_test_setup_teardown(name, set_up, tear_down)
		TEST(two_walk_and_see_each_other_come_and_go),
		TEST(a_refusal_is_told_with_reason_and_text),
		TEST(the_server_says_why_it_closes),
		TEST(a_server_that_does_not_answer_is_given_up),
		TEST(leaving_inside_an_event_is_allowed),
		TEST(a_click_is_answered),
		TEST(malformed_bytes_from_the_server_are_counted_and_play_goes_on),
		TEST(a_disagreement_is_corrected),
		TEST(work_is_done_when_asked_for),
		TEST(work_is_refused_when_it_is_too_much),
		TEST(a_redirect_is_followed),
		TEST(a_redirect_that_fails_leads_back),
		TEST(a_pass_lets_in_again),
		TEST(wrong_configurations_are_refused),
	};

	return cmocka_run_group_tests(tests, NULL, NULL);
}
