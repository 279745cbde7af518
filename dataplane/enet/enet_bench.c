/* enet_bench.c: what the engine alone costs: receive, deliver, send back, frame, for 1,000 peers
 * and 40-byte messages, one message a datagram both ways, in one thread and from memory. No
 * network, and nothing to compare with: for a look at the engine between changes, not for a report.
 *
 * usage: enet_engine_bench [seconds] [reliable] */
#include <stdlib.h>
#include <time.h>

#include "common/mono.h"
#include "dataplane/enet/raw_engine.h"

#define PEERS   1000u
#define BURST   32u
#define PAYLOAD 40u

static struct raw_engine raw;
static struct raw_client clients[PEERS];
static uint8_t frames[PEERS][96];

int main(int argc, char **argv)
{
	double seconds = argc > 1 ? atof(argv[1]) : 2;
	bool reliable = argc > 2;
	static uint8_t payload[PAYLOAD];
	struct sw_enet_datagram burst[BURST];
	struct sw_enet_config config = {.peers_max = PEERS, .pool_bytes = 64 << 20};
	uint64_t start, messages = 0, elapsed;
	uint16_t number = 0;
	uint32_t at = 0;

	raw_new(&raw, &config);
	raw.quiet = raw.echo = true;
	for (uint32_t i = 0; i < PEERS; i++) {
		if (!raw_connect(&raw, &clients[i], i, 2))
			return 1;
		sw_enet_service(raw.engine, raw.now_ms);
	}
	start = mono_ns();
	do {
		for (uint32_t i = 0; i < BURST; i++, at++) {
			const struct raw_client *client = &clients[at % PEERS];
			uint8_t *p;

			if (at % PEERS == 0)
				number++;
			p = raw_header(client, frames[at % PEERS], (uint16_t)raw.now_ms);
			/* one acknowledges the answer to the one before: the engine's clock, which
			 * stands still here, is one ahead of ours */
			if (reliable && number > 1) {
				p = wire_put_command(p, WIRE_ACKNOWLEDGE, 0, number - 1u);
				wire_put16(p, number - 1u);
				wire_put16(p + 2, (uint32_t)(raw.now_ms + 1) & 0xffff);
				p += 4;
			}
			p = reliable ? raw_put_reliable(p, 0, number, payload, PAYLOAD)
				     : raw_put_unreliable(p, 0, 0, number, payload, PAYLOAD);
			burst[i] = (struct sw_enet_datagram){.from = client->address,
				.data = frames[at % PEERS],
				.bytes = (uint32_t)(p - frames[at % PEERS])};
		}
		sw_enet_rx(raw.engine, burst, BURST, NULL, raw.now_ms);
		sw_enet_service(raw.engine, raw.now_ms);
		messages += BURST;
		elapsed = mono_ns() - start;
	} while (elapsed < seconds * 1e9 && number < 65000);
	printf("%s: %.0f messages/s, %.0f ns each (delivered %.3f of them, datagrams out %.3f)\n",
		reliable ? "reliable" : "unreliable", (double)messages * 1e9 / (double)elapsed,
		(double)elapsed / (double)messages, (double)raw.delivered_total / (double)messages,
		(double)raw_count(&raw, SW_ENET_C_DATAGRAMS_OUT) / (double)messages);
	raw_free(&raw);
	return 0;
}
