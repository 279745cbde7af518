/* Proves the way of an operator's order over real HTTP: only a token of the file is taken, with
 * each fault of it by its sentence, and the file is read anew each time; the words, the name and
 * the role come to the control thread as they were sent, and nothing that is no list of words does;
 * answers go to whoever asked, in any order; more than there is room for is refused; and who waits
 * when the server stops is told so. */
#include <arpa/inet.h>
#include <pthread.h>
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/socket.h>
#include <sys/stat.h>
#include <unistd.h>

#include <cmocka.h>

#include "common/mono.h"
#include "control/ops/http_get.h"
#include "control/ops/ops.h"
#include "control/ops/orders.h"

#define TOKEN_A "0123456789abcdef0123456789abcdef"
#define TOKEN_B "fedcba9876543210fedcba9876543210"
#define TOKEN_C "ffffffffffffffffffffffffffffffff"

static char folder[] = "/tmp/orders-XXXXXX";
static char tokens[64];

struct rig {
	struct sw_config config;
	struct ops *ops;
	struct msg_ring *to_control, *from_control;
	char address[32];
	struct msg popped[2 * MSG_SLOTS_MAX]; /* the last order */
};

static void write_bytes(const char *text, size_t bytes, mode_t mode)
{
	FILE *file;

	unlink(tokens);
	file = fopen(tokens, "w");
	assert_non_null(file);
	assert_int_equal(fwrite(text, 1, bytes, file), bytes);
	fclose(file);
	assert_int_equal(chmod(tokens, mode), 0);
}

static void write_tokens(const char *text, mode_t mode)
{
	write_bytes(text, strlen(text), mode);
}

static void start(struct rig *rig)
{
	memset(rig, 0, sizeof(*rig));
	strcpy(rig->config.http.address, "127.0.0.1:0");
	strcpy(rig->config.ops.tokens, tokens);
	rig->to_control = msg_ring_new("ops-control", OPS_ORDER_SLOTS);
	rig->from_control = msg_ring_new("control-ops", OPS_ORDER_SLOTS);
	rig->ops = ops_new();
	ops_register_orders(rig->ops, rig->to_control, rig->from_control);
	assert_int_equal(ops_start(rig->ops, &rig->config, stderr), 0);
	snprintf(rig->address, sizeof(rig->address), "127.0.0.1:%u", ops_port(rig->ops));
}

static void end(struct rig *rig)
{
	ops_stop(rig->ops);
	ops_free(rig->ops);
	msg_ring_free(rig->to_control);
	msg_ring_free(rig->from_control);
}

/* An order, sent from a thread of its own. */
struct client {
	const struct rig *rig;
	const char *token, *text;
	size_t bytes;
	pthread_t thread;
	int status;
	char *body;
};

static void *client_run(void *arg)
{
	struct client *c = arg;
	size_t bytes;

	c->status =
		http_post(c->rig->address, "/order", c->token, c->text, c->bytes, &c->body, &bytes);
	return NULL;
}

static void client_start(
	struct client *c, const struct rig *rig, const char *token, const char *text)
{
	*c = (struct client){.rig = rig, .token = token, .text = text, .bytes = strlen(text)};
	assert_int_equal(pthread_create(&c->thread, NULL, client_run, c), 0);
}

static void expect(struct client *c, int status, const char *says)
{
	pthread_join(c->thread, NULL);
	if (c->status != status || !c->body || !strstr(c->body, says))
		fail_msg("status %d: %s", c->status, c->body ? c->body : "no answer");
	free(c->body);
}

/* The next order that comes to control. Returns its subject. */
static uint64_t next_order(struct rig *rig, struct msg_order *order, const char **words)
{
	for (uint32_t turn = 0; turn < 10000; turn++) {
		/* One at a time, as this test sends them. */
		if (msg_ring_pop(rig->to_control, rig->popped, MSG_SLOTS_MAX + 1)) {
			assert_int_equal(rig->popped->type, MSG_ORDER);
			memcpy(order, msg_payload(rig->popped), sizeof(*order));
			assert_int_equal(
				rig->popped->payload_bytes, sizeof(*order) + order->words_bytes);
			*words = (const char *)msg_payload(rig->popped) + sizeof(*order);
			return rig->popped->subject;
		}
		usleep(1000);
	}
	fail_msg("no order came");
	return 0;
}

static void answer(struct rig *rig, uint64_t subject, enum order_result result, const char *text)
{
	struct msg_order_answer body = {.result = result, .text_bytes = (uint32_t)strlen(text)};
	struct msg_buffer buffer;
	uint8_t *at = msg_begin(
		buffer.slot, MSG_ORDER_ANSWER, 0, (uint32_t)sizeof(body) + body.text_bytes);

	memcpy(at, &body, sizeof(body));
	memcpy(at + sizeof(body), text, body.text_bytes);
	buffer.slot->subject = subject;
	assert_true(msg_ring_push(rig->from_control, buffer.slot));
	ops_order_answered(rig->ops, subject);
}

/* Nothing reaches control. */
static void refused(
	struct rig *rig, const char *token, const char *text, int status, const char *says)
{
	struct client c;

	client_start(&c, rig, token, text);
	expect(&c, status, says);
	assert_int_equal(msg_ring_used(rig->to_control), 0);
}

static void only_tokens_of_the_file(void **state)
{
	static const char cut[] = "anna read " TOKEN_A "\n\0bob read short\n";
	static const char *const bad_lines[] = {"anna\n", "anna read\n", "anna read short\n",
		"anna " TOKEN_A "\n", "anna " TOKEN_A " read\n", "anna owner " TOKEN_A "\n",
		"anna Read " TOKEN_A "\n", "anna read " TOKEN_A " more\n",
		"anna read " TOKEN_A TOKEN_A TOKEN_A TOKEN_A TOKEN_A "\n",
		"anna_has_a_name_of_more_than_31_bytes read " TOKEN_A "\n",
		"\xc3\xa4 read " TOKEN_A "\n"};
	struct msg_order order;
	const char *words;
	struct rig rig;
	struct client c;

	(void)state;
	start(&rig);
	unlink(tokens);
	refused(&rig, TOKEN_A, "player\n1\n", 401, "cannot read the file");
	write_tokens("anna read " TOKEN_A "\n", 0640);
	refused(&rig, TOKEN_A, "player\n1\n", 401, "chmod 600");
	write_tokens("anna read " TOKEN_A "\n", 0604);
	refused(&rig, TOKEN_A, "player\n1\n", 401, "chmod 600");
	for (size_t i = 0; i < sizeof(bad_lines) / sizeof(bad_lines[0]); i++) {
		char text[512];

		write_tokens(bad_lines[i], 0600);
		refused(&rig, TOKEN_A, "player\n1\n", 401, "not NAME ROLE TOKEN");
		/* Nor one that stands before the bad line. */
		snprintf(text, sizeof(text), "bob admin " TOKEN_B "\n%s", bad_lines[i]);
		write_tokens(text, 0600);
		refused(&rig, TOKEN_B, "player\n1\n", 401, "not NAME ROLE TOKEN");
	}
	write_bytes(cut, sizeof(cut) - 1, 0600); /* what stands behind would not be read */
	refused(&rig, TOKEN_A, "player\n1\n", 401, "not NAME ROLE TOKEN");
	write_tokens("# operators\n\nanna read " TOKEN_A "\n bob\toperate " TOKEN_B
		     " \r\nanna admin " TOKEN_C,
		0600);
	refused(&rig, "", "player\n1\n", 401, "no token came");
	refused(&rig, "0123456789abcdef0123456789abcdee", "player\n1\n", 401, "no operator has");
	refused(&rig, "0123456789abcdef0123456789abcdef0", "player\n1\n", 401, "no operator has");
	refused(&rig, "anna", "player\n1\n", 401, "no operator has");
	refused(&rig, "operators", "player\n1\n", 401, "no operator has");
	for (uint32_t i = 0; i < 3; i++) {
		static const char *const shown[] = {TOKEN_A, TOKEN_B, TOKEN_C};
		uint64_t id;

		client_start(&c, &rig, shown[i], "player\n1\n");
		id = next_order(&rig, &order, &words);
		assert_string_equal(order.author, i == 1 ? "bob" : "anna");
		assert_int_equal(order.role, i); /* read, operate, admin */
		answer(&rig, id, ORDER_DONE, "fine");
		expect(&c, 200, "fine");
	}
	/* In two lines: as whom, and with which rights? */
	write_tokens("anna admin " TOKEN_A "\nbob read " TOKEN_B "\nanna read " TOKEN_A "\n", 0600);
	refused(&rig, TOKEN_A, "player\n1\n", 401, "in two lines");
	/* Taken away: from the next order on. */
	write_tokens("anna read " TOKEN_C "\n", 0600);
	refused(&rig, TOKEN_A, "player\n1\n", 401, "no operator has");
	rig.config.ops.tokens[0] = 0;
	refused(&rig, TOKEN_C, "player\n1\n", 401, "takes no orders");
	end(&rig);
}

static void words_come_as_they_were_sent(void **state)
{
	static const struct {
		const char *text;
		size_t bytes;
	} bad[] = {{"", 0}, {"\n", 1}, {"kick\n\n", 6}, {"kick\0me\n", 8}, {"kick\tme\n", 8},
		{"kick\n\x1b[31m\n", 11}, {"kick\n\xff\n", 7}, {"kick\n\x7f\n", 7},
		{"kick\n\xed\xa0\x80\n", 9}};
	static const struct {
		const char *text, *words;
		uint32_t count;
	} good[] = {{"player\n1\n", "player\0001", 2}, {"a", "a", 1},
		{"kick\nAnn\xc3\xa4\nwas rude \xe2\x9c\x93",
			"kick\0Ann\xc3\xa4\0was rude \xe2\x9c\x93", 3}};
	static char long_text[1100];
	struct msg_order order;
	const char *words;
	struct rig rig;
	struct client c;

	(void)state;
	start(&rig);
	write_tokens("anna read " TOKEN_A "\n", 0600);
	for (size_t i = 0; i < sizeof(bad) / sizeof(bad[0]); i++) {
		c = (struct client){&rig, TOKEN_A, bad[i].text, bad[i].bytes, 0, 0, NULL};
		assert_int_equal(pthread_create(&c.thread, NULL, client_run, &c), 0);
		expect(&c, 400, "list of words");
	}
	memset(long_text, 'x', 1025);
	refused(&rig, TOKEN_A, long_text, 400, "list of words");
	long_text[1024] = 0; /* with its end one too many */
	refused(&rig, TOKEN_A, long_text, 400, "list of words");
	for (size_t i = 0; i < sizeof(good) / sizeof(good[0]); i++) {
		uint64_t id;

		client_start(&c, &rig, TOKEN_A, good[i].text);
		id = next_order(&rig, &order, &words);
		assert_int_equal(order.words, good[i].count);
		assert_int_equal(order.words_bytes,
			strlen(good[i].text) + (good[i].text[strlen(good[i].text) - 1] != '\n'));
		assert_memory_equal(words, good[i].words, order.words_bytes);
		answer(&rig, id, ORDER_REFUSED, "no");
		expect(&c, 409, "no");
	}
	long_text[1023] = 0;
	client_start(&c, &rig, TOKEN_A, long_text);
	answer(&rig, next_order(&rig, &order, &words), ORDER_USAGE, "what?");
	expect(&c, 400, "what?");
	end(&rig);
}

static void answers_find_who_asked(void **state)
{
	struct client clients[ORDERS_MAX], late;
	uint64_t ids[ORDERS_MAX];
	struct msg_order order;
	const char *words;
	char text[ORDERS_MAX][32], *body;
	struct rig rig;
	size_t bytes;

	(void)state;
	start(&rig);
	write_tokens("anna read " TOKEN_A "\n", 0600);
	for (uint32_t i = 0; i < ORDERS_MAX; i++) {
		snprintf(text[i], sizeof(text[i]), "player\n%u\n", i);
		client_start(&clients[i], &rig, TOKEN_A, text[i]);
		ids[i] = next_order(&rig, &order, &words);
		assert_int_equal(strtoul(words + sizeof("player"), NULL, 10), i);
	}
	/* No more at once; and who waits keeps nobody else from looking. */
	refused(&rig, TOKEN_A, "player\n1\n", 503, "too many orders");
	assert_int_equal(http_get(rig.address, "/health", &body, &bytes), 200);
	free(body);
	for (uint32_t n = 0; n < ORDERS_MAX; n++) {
		uint32_t i = (n * 7 + 3) % ORDERS_MAX;
		char said[16];

		snprintf(said, sizeof(said), "it is %u.", i);
		answer(&rig, ids[i], ORDER_DONE, said);
		answer(&rig, ids[i], ORDER_DONE, "twice");
		answer(&rig, 12345, ORDER_DONE, "to nobody");
		expect(&clients[i], 200, said);
	}
	client_start(&late, &rig, TOKEN_A, "player\n1\n");
	answer(&rig, next_order(&rig, &order, &words), (enum order_result)99, "?");
	expect(&late, 503, "?");
	client_start(&late, &rig, TOKEN_A, "player\n1\n");
	answer(&rig, next_order(&rig, &order, &words), ORDER_FORBIDDEN, "the role");
	expect(&late, 403, "the role");
	end(&rig);
}

/* Sends an order over a connection of its own, which is returned. */
static int ask_and_stay(const struct rig *rig)
{
	static const char request[] =
		"POST /order HTTP/1.1\r\nHost: x\r\nAuthorization: Bearer " TOKEN_A
		"\r\nContent-Length: 9\r\n\r\nplayer\n1\n";
	struct sockaddr_in name = {.sin_family = AF_INET, .sin_port = htons(ops_port(rig->ops))};
	int fd = socket(AF_INET, SOCK_STREAM, 0);

	name.sin_addr.s_addr = htonl(INADDR_LOOPBACK);
	assert_int_equal(connect(fd, (struct sockaddr *)&name, sizeof(name)), 0);
	assert_int_equal(send(fd, request, sizeof(request) - 1, 0), sizeof(request) - 1);
	return fd;
}

/* Answers that nobody waits for any more do not fill the ring. */
static void who_leaves_takes_nothing_along(void **state)
{
	static char text[ORDER_TEXT_BYTES];
	struct msg_order order;
	const char *words;
	struct client c;
	struct rig rig;

	(void)state;
	start(&rig);
	write_tokens("anna read " TOKEN_A "\n", 0600);
	memset(text, 'x', sizeof(text) - 1);
	for (uint32_t i = 0; i < 3 * OPS_ORDER_SLOTS * MSG_SLOT_BYTES / ORDER_TEXT_BYTES; i++) {
		int fd = ask_and_stay(&rig);
		uint64_t id = next_order(&rig, &order, &words);

		close(fd);
		answer(&rig, id, ORDER_DONE, text);
	}
	client_start(&c, &rig, TOKEN_A, "player\n1\n");
	answer(&rig, next_order(&rig, &order, &words), ORDER_DONE, "fine");
	expect(&c, 200, "fine");
	end(&rig);
}

static void a_stop_tells_who_waits(void **state)
{
	struct client clients[3];
	struct msg_order order;
	const char *words;
	struct rig rig;

	(void)state;
	start(&rig);
	write_tokens("anna read " TOKEN_A "\n", 0600);
	for (uint32_t i = 0; i < 3; i++) {
		client_start(&clients[i], &rig, TOKEN_A, "player\n1\n");
		next_order(&rig, &order, &words);
	}
	ops_stop(rig.ops);
	for (uint32_t i = 0; i < 3; i++) {
		pthread_join(clients[i].thread, NULL);
		/* Told, or cut off: never left to wait. */
		assert_true(clients[i].status == 503 || clients[i].status < 0);
		free(clients[i].body);
	}
	end(&rig);
}

static void the_wrong_way_is_said(void **state)
{
	struct rig rig;
	char *body;
	size_t bytes;

	(void)state;
	start(&rig);
	assert_int_equal(http_get(rig.address, "/order", &body, &bytes), 405);
	assert_non_null(strstr(body, "only POST"));
	free(body);
	assert_int_equal(http_post(rig.address, "/status", TOKEN_A, "x", 1, &body, &bytes), 405);
	assert_non_null(strstr(body, "only GET"));
	free(body);
	assert_int_equal(http_post(rig.address, "/nowhere", TOKEN_A, "x", 1, &body, &bytes), 405);
	free(body);
	end(&rig);
}

int main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test(only_tokens_of_the_file),
		cmocka_unit_test(words_come_as_they_were_sent),
		cmocka_unit_test(answers_find_who_asked),
		cmocka_unit_test(who_leaves_takes_nothing_along),
		cmocka_unit_test(a_stop_tells_who_waits),
		cmocka_unit_test(the_wrong_way_is_said),
	};
	int failed;

	if (!mkdtemp(folder))
		return 1;
	snprintf(tokens, sizeof(tokens), "%s/tokens", folder);
	failed = cmocka_run_group_tests_name("orders", tests, NULL, NULL);
	unlink(tokens);
	rmdir(folder);
	return failed;
}
