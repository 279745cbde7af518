/* stormweir-bench-handshakes COMMIT FOLDER: W11, transport only: connects a second of one core, by
 * the server's CPU time. Ours: the engine from memory, without a port, and the client's reading of
 * VERIFY_CONNECT counts against us. Stock: libenet on a kernel socket over loopback; the client is
 * another socket of this thread, and its calls are not counted. With a ticket: a handshake, and
 * what admission does until it knows who it is, for each and in one thread: the Hello is read; a
 * signed ticket waits for its turn and is verified, against the bare verification of a signature; a
 * pass (the ticket with a keyed hash) is opened. The rings between the threads, and Redis, are not
 * in it. */
#include <arpa/inet.h>
#include <enet/enet.h>
#include <sodium.h>
#include <stdio.h>
#include <stdlib.h>
#include <sys/socket.h>
#include <unistd.h>

#include "control/admission/hello.h"
#include "control/admission/pass_key.h"
#include "control/admission/verify_queue.h"
#include "dataplane/enet/crowd.h"
#include "perf/engine/samples.h"
#include "proto/client.pb-c.h"

#define OURS   19200u
#define STOCK  3840u /* of libenet's 4,095 */
#define BATCH  96u   /* under way at once: a socket's buffer holds so many */
#define BURST  32u
#define ROUNDS 40u
#define SIGNED 960u
#define SEALED 9600u
#define NOW_S  1700000000u /* tickets are checked against a time that is given */

static struct samples samples;
static struct {
	struct config_ticket_key key;
	uint8_t secret[TICKET_SECRET_KEY_BYTES], data[TICKET_BYTES_MAX];
	uint8_t signature[crypto_sign_BYTES];
	size_t bytes;
	struct pass_keys pass_keys;
	/* The Hellos with the one and the other, as they come out of a ring. */
	uint8_t hello[HELLO_BYTES_MAX], pass_hello[HELLO_BYTES_MAX];
	size_t hello_bytes, pass_hello_bytes;
	struct verify_queue queue;
} ticket;
static struct crowd crowd;
static struct {
	ENetHost *host;
	int socket;
	struct lean_client clients[STOCK];
} stock;

/* count clients connect, and leave outside of the clock. */
static void handshakes(uint32_t count, struct samples_clock *clock)
{
	static uint8_t frames[BATCH][LEAN_CONNECT_BYTES];
	struct sw_enet_datagram connects[BATCH];

	for (uint32_t base = 0; base < count; base += BATCH) {
		for (uint32_t i = 0; i < BATCH; i++)
			connects[i] =
				(struct sw_enet_datagram){.from = crowd_address(&crowd, base + i),
					.bytes = crowd_connect_bytes(&crowd, base + i, frames[i]),
					.data = frames[i]};
		samples_start(clock);
		for (uint32_t i = 0; i < BATCH; i += BURST) {
			sw_enet_rx(crowd.engine, connects + i, BURST, NULL, crowd.now_ms);
			sw_enet_service(crowd.engine, crowd.now_ms);
		}
		crowd_pump(&crowd);
		sw_enet_service(crowd.engine, crowd.now_ms);
		samples_stop(clock);
	}
	if (sw_enet_peers(crowd.engine) != count) {
		fprintf(stderr, "W11: %u of %u connected\n", sw_enet_peers(crowd.engine), count);
		exit(1);
	}
	for (uint32_t i = 0; i < count; i++)
		crowd_leave(&crowd, i);
	crowd_pump(&crowd);
	crowd_run(&crowd, 20, 10);
}

static void put(uint32_t side, uint32_t round, uint32_t count, const struct samples_clock *clock)
{
	samples.value[side][round] = count * 1e9 / (double)clock->cpu_ns;
	samples.kept[side][round] = samples_quiet(clock);
}

static void ours(uint32_t round)
{
	struct samples_clock clock = {0};

	handshakes(OURS, &clock);
	put(0, round, OURS, &clock);
}

static void ticket_make(void)
{
	struct ticket content = {.account_id = 1,
		.character_id = 2,
		.issued_unix_s = NOW_S,
		.expires_unix_s = NOW_S + 600,
		.realm_id = 1,
		.name = "Benchmark"};

	crypto_sign_keypair(ticket.key.public_key, ticket.secret);
	ticket.key.id = 1;
	ticket.bytes = ticket_sign(ticket.data, &content, ticket.key.id, ticket.secret);
	crypto_sign_detached(ticket.signature, NULL, ticket.data, ticket.bytes, ticket.secret);
}

static size_t hello_make(uint8_t *out, const uint8_t *data, size_t bytes, bool is_pass)
{
	Sw__Hello hello = SW__HELLO__INIT;

	hello.protocol_version = SW_PROTOCOL_VERSION;
	*(is_pass ? &hello.pass : &hello.ticket) =
		(ProtobufCBinaryData){bytes, (uint8_t *)(uintptr_t)data};
	out[0] = SW_MSG_HELLO;
	return 1 + sw__hello__pack(&hello, out + 1);
}

static bool hellos_make(void)
{
	struct pass pass = {.purpose = PASS_RETURN,
		.realm_id = 1,
		.account_id = 1,
		.character_id = 2,
		.generation = 3,
		.expires_unix_s = NOW_S + 600,
		.name = "Benchmark",
		.node = "node-1"};
	uint8_t sealed[PASS_BYTES_MAX];

	pass_keys_draw(&ticket.pass_keys);
	pass_keys_rotate(&ticket.pass_keys);
	ticket.hello_bytes = hello_make(ticket.hello, ticket.data, ticket.bytes, false);
	ticket.pass_hello_bytes = hello_make(
		ticket.pass_hello, sealed, pass_seal(sealed, &pass, &ticket.pass_keys), true);
	return verify_queue_init(&ticket.queue, 4096);
}

static void check_all(uint32_t good, uint32_t wanted)
{
	if (good == wanted)
		return;
	fprintf(stderr, "W11: a good ticket or pass was refused\n");
	exit(1);
}

/* A Hello whose ticket waits in the queue; an address of its own. */
static bool hello_waits(uint32_t i)
{
	const uint8_t ip[16] = {
		[10] = 0xff, [11] = 0xff, 10, (uint8_t)(i >> 16), (uint8_t)(i >> 8), (uint8_t)i};
	struct pb_arena arena;
	struct hello hello;
	uint64_t evicted;
	uint32_t at;

	return hello_read(&hello, &arena, ticket.hello, ticket.hello_bytes, SW_CHANNEL_SESSION,
		       MSG_SEND_RELIABLE) == HELLO_FAULT_NONE &&
	       ticket_outline(hello.ticket, hello.ticket_bytes, &ticket.key, 1) ==
		       TICKET_FAULT_NONE &&
	       verify_queue_push(&ticket.queue, verify_source_key(ip), 1 + i, hello.ticket,
		       hello.ticket_bytes, 1, &at, &evicted) == VERIFY_TAKEN;
}

/* A handshake and the check of a pass for each. */
static void with_passes(uint32_t round)
{
	const struct pass_wanted wanted = {PASS_RETURN, 1, "node-1", NOW_S};
	struct samples_clock clock = {0};
	uint32_t good = 0;

	handshakes(SEALED, &clock);
	samples_start(&clock);
	for (uint32_t i = 0; i < SEALED; i++) {
		struct pb_arena arena;
		struct hello hello;
		struct pass pass;

		good += hello_read(&hello, &arena, ticket.pass_hello, ticket.pass_hello_bytes,
				SW_CHANNEL_SESSION, MSG_SEND_RELIABLE) == HELLO_FAULT_NONE &&
			pass_open(&pass, hello.pass, hello.pass_bytes, &ticket.pass_keys,
				&wanted) == PASS_FAULT_NONE;
	}
	samples_stop(&clock);
	put(4, round, SEALED, &clock);
	check_all(good, SEALED);
}

/* A handshake, the wait for its turn, and the check of a signed ticket for each; and the bare
 * verification of a signature over as many bytes. */
static void with_tickets(uint32_t round)
{
	struct samples_clock clock = {0}, bare = {0};
	const struct verify_entry *entry;
	struct ticket content;
	uint64_t session;
	uint32_t good = 0;

	handshakes(SIGNED, &clock);
	samples_start(&clock);
	for (uint32_t i = 0; i < SIGNED; i++)
		good += hello_waits(i);
	while ((entry = verify_queue_pop(&ticket.queue, &session)))
		good += ticket_check(&content, entry->ticket, entry->bytes, &ticket.key, 1, 1,
				NOW_S) == TICKET_FAULT_NONE;
	samples_stop(&clock);
	put(2, round, SIGNED, &clock);
	samples_start(&bare);
	for (uint32_t i = 0; i < SIGNED; i++)
		good += crypto_sign_verify_detached(ticket.signature, ticket.data, ticket.bytes,
				ticket.key.public_key) == 0;
	samples_stop(&bare);
	put(3, round, SIGNED, &bare);
	check_all(good, 3 * SIGNED);
}

static uint32_t stock_serve(struct samples_clock *clock)
{
	uint32_t connected = 0;
	ENetEvent event;

	samples_start(clock);
	while (enet_host_service(stock.host, &event, 0) > 0)
		connected += event.type == ENET_EVENT_TYPE_CONNECT;
	samples_stop(clock);
	return connected;
}

static void stock_say(const uint8_t *data, uint32_t bytes)
{
	if (send(stock.socket, data, bytes, 0) != (ssize_t)bytes) {
		perror("W11: send");
		exit(1);
	}
}

/* Answers what the server has said. */
static void stock_hear(void)
{
	uint8_t in[4096], out[LEAN_OUT_BYTES];
	ssize_t bytes;

	while ((bytes = recv(stock.socket, in, sizeof in, MSG_DONTWAIT)) > 0) {
		uint32_t id = lean_get16(in) & 0xfff, said;

		if (id >= STOCK)
			continue;
		said = lean_read(&stock.clients[id], in, (uint32_t)bytes, NULL, 1, out);
		if (said)
			stock_say(out, said);
	}
}

/* A host and a socket of each round: all slots are free. */
static void stock_free(void)
{
	if (stock.host)
		enet_host_destroy(stock.host);
	if (stock.socket > 0)
		close(stock.socket);
	stock.host = NULL;
	stock.socket = 0;
}

static bool stock_new(void)
{
	struct sockaddr_in to = {.sin_family = AF_INET, .sin_addr.s_addr = htonl(INADDR_LOOPBACK)};
	ENetAddress address = {.host = htonl(INADDR_LOOPBACK)};

	stock.host = enet_host_create(&address, 4095, 4, 0, 0);
	stock.socket = socket(AF_INET, SOCK_DGRAM, 0);
	if (!stock.host || stock.socket < 0)
		return false;
	to.sin_port = htons(stock.host->address.port);
	return connect(stock.socket, (struct sockaddr *)&to, sizeof to) == 0;
}

static void reference(uint32_t round)
{
	struct samples_clock clock = {0};
	uint32_t connected = 0;
	bool lost = false;

	if (!stock_new()) {
		fprintf(stderr, "W11: no host or socket\n");
		exit(1);
	}
	for (uint32_t base = 0; base < STOCK; base += BATCH) {
		for (uint32_t i = base; i < base + BATCH; i++) {
			uint8_t out[LEAN_OUT_BYTES];

			stock_say(out, lean_connect(&stock.clients[i], round * STOCK + i + 1,
					       (uint16_t)i, 0, 1, out));
		}
		connected += stock_serve(&clock);
		stock_hear();
		connected += stock_serve(&clock);
	}
	for (uint32_t more = 0; connected < STOCK && more < 100; more++) {
		/* the kernel lost some: again, but the turn does not count */
		lost = true;
		for (uint32_t i = 0; i < STOCK; i++) {
			uint8_t out[LEAN_OUT_BYTES];

			if (stock.clients[i].state == LEAN_CONNECTING)
				stock_say(
					out, lean_connect(&stock.clients[i], round * STOCK + i + 1,
						     (uint16_t)i, 0, 1, out));
			if (i % BATCH == BATCH - 1)
				connected += stock_serve(&clock);
		}
		usleep(10000);
		stock_hear();
		connected += stock_serve(&clock);
	}
	if (connected != STOCK) {
		fprintf(stderr, "W11: stock: %u of %u connected in round %u\n", connected, STOCK,
			round);
		exit(1);
	}
	samples.value[1][round] = STOCK * 1e9 / (double)clock.cpu_ns;
	samples.kept[1][round] = samples_quiet(&clock) && !lost;
	stock_free();
}

int main(int argc, char **argv)
{
	samples_init(&samples, "W11", "connects a second of CPU", argc, argv);
	samples.sides = 5;
	samples.side[0] = "engine";
	samples.side[1] = "stock, sockets";
	samples.side[2] = "signed ticket";
	samples.side[3] = "bare verify";
	samples.side[4] = "pass";
	if (enet_initialize() || ticket_init() ||
		!crowd_new(&crowd, &(struct sw_enet_config){0}, OURS, 1)) {
		fprintf(stderr, "W11: no memory\n");
		return 1;
	}
	ticket_make();
	if (!hellos_make()) {
		fprintf(stderr, "W11: no memory\n");
		return 1;
	}
	for (uint32_t round = 0; round < ROUNDS; round++) {
		ours(round);
		reference(round);
		with_tickets(round);
		with_passes(round);
		samples.rounds++;
	}
	samples_value(&samples, "connects_per_s", 0, 500000, "higher");
	samples_value(&samples, "mac_ticket_per_s", 4, 100000, "higher");
	samples_ratio(&samples, "signed_vs_bare", 2, 3, 0.8, "higher");
	samples_ratio(&samples, "vs_stock", 0, 1, 1, "higher");
	return samples_report(&samples) ? 0 : 1;
}
