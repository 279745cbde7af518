/* stormweir-bench-handshakes COMMIT FOLDER: W11, transport only: connects a second of one core, by
 * the server's CPU time. Ours: the engine from memory, without a port, and the client's reading of
 * VERIFY_CONNECT counts against us. Stock: libenet on a kernel socket over loopback; the client is
 * another socket of this thread, and its calls are not counted. */
#include <arpa/inet.h>
#include <enet/enet.h>
#include <stdio.h>
#include <stdlib.h>
#include <sys/socket.h>
#include <unistd.h>

#include "dataplane/enet/crowd.h"
#include "perf/engine/samples.h"

#define OURS   19200u
#define STOCK  3840u /* of libenet's 4,095 */
#define BATCH  96u   /* under way at once: a socket's buffer holds so many */
#define BURST  32u
#define ROUNDS 40u

static struct samples samples;
static struct crowd crowd;
static struct {
	ENetHost *host;
	int socket;
	struct lean_client clients[STOCK];
} stock;

static void ours(uint32_t round)
{
	static uint8_t frames[BATCH][LEAN_CONNECT_BYTES];
	struct sw_enet_datagram connects[BATCH];
	struct samples_clock clock = {0};

	for (uint32_t base = 0; base < OURS; base += BATCH) {
		for (uint32_t i = 0; i < BATCH; i++)
			connects[i] =
				(struct sw_enet_datagram){.from = crowd_address(&crowd, base + i),
					.bytes = crowd_connect_bytes(&crowd, base + i, frames[i]),
					.data = frames[i]};
		samples_start(&clock);
		for (uint32_t i = 0; i < BATCH; i += BURST) {
			sw_enet_rx(crowd.engine, connects + i, BURST, NULL, crowd.now_ms);
			sw_enet_service(crowd.engine, crowd.now_ms);
		}
		crowd_pump(&crowd);
		sw_enet_service(crowd.engine, crowd.now_ms);
		samples_stop(&clock);
	}
	if (sw_enet_peers(crowd.engine) != OURS) {
		fprintf(stderr, "W11: %u of %u connected\n", sw_enet_peers(crowd.engine), OURS);
		exit(1);
	}
	samples.value[0][round] = OURS * 1e9 / (double)clock.cpu_ns;
	samples.kept[0][round] = samples_quiet(&clock);
	for (uint32_t i = 0; i < OURS; i++)
		crowd_leave(&crowd, i);
	crowd_pump(&crowd);
	crowd_run(&crowd, 20, 10);
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
	samples.sides = 2;
	samples.side[0] = "engine";
	samples.side[1] = "stock, sockets";
	if (enet_initialize() || !crowd_new(&crowd, &(struct sw_enet_config){0}, OURS, 1)) {
		fprintf(stderr, "W11: no memory\n");
		return 1;
	}
	for (uint32_t round = 0; round < ROUNDS; round++) {
		ours(round);
		reference(round);
		samples.rounds++;
	}
	samples_value(&samples, "connects_per_s", 0, 500000, "higher");
	samples_ratio(&samples, "vs_stock", 0, 1, 1, "higher");
	return samples_report(&samples) ? 0 : 1;
}
