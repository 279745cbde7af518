/* stormweir-bench-idle COMMIT FOLDER: W10 on the engine alone: what a packet of 1,000 active peers
 * costs beside nobody, 100,000 and 1,000,000 silent ones, spread evenly among them. A turn is
 * 307,200 unreliable packets of 40 bytes, received, delivered, echoed and framed, in bursts of 32
 * from memory, in 300 ms of the engine's clock; the three take turns in one thread.
 *
 * Between turns everyone is pinged and answers, outside of what is measured: a ping is a packet of
 * its own, and its cost is printed by itself, the client's side included. */
#include <stdio.h>
#include <stdlib.h>

#include "dataplane/enet/crowd.h"
#include "perf/engine/samples.h"

#define ACTIVE  1000u
#define TURN_MS 300u
#define PER_MS  1024u
#define BURST   32u
#define ROUNDS  40u
#define SIDES   3u

static const uint32_t silent[SIDES] = {0, 100000, 1000000};
static const char *const names[SIDES] = {"alone", "beside 100,000", "beside 1,000,000"};
static struct crowd crowds[SIDES];
static struct samples samples;
static double ping_ns[SIDES];

/* What the active ones send with, side by side: the clients' pages must not take the engine's place
 * in caches. */
static struct lean_client active[SIDES][ACTIVE];

static bool set_up(uint32_t side)
{
	struct crowd *crowd = &crowds[side];
	struct sw_enet_config config = {.pool_bytes = (size_t)512 << 20};
	uint32_t count = ACTIVE + silent[side];

	if (!crowd_new(crowd, &config, count, 1))
		return false;
	crowd_connect_all(crowd, 0, count);
	for (uint32_t i = 0; i < ACTIVE; i++)
		active[side][i] = crowd->clients[i * (count / ACTIVE)].lean;
	return sw_enet_peers(crowd->engine) == count;
}

/* Everyone is pinged in one service. Returns the CPU time of a ping and its answer. */
static double keep_alive(struct crowd *crowd)
{
	uint64_t before = crowd_counter(crowd, SW_ENET_C_PINGS_OUT);
	struct samples_clock clock = {0};

	samples_start(&clock);
	crowd_run(crowd, 500, 500);
	crowd_run(crowd, 100, 10); /* the timers of the repeats that were not needed */
	samples_stop(&clock);
	before = crowd_counter(crowd, SW_ENET_C_PINGS_OUT) - before;
	return before == crowd->count ? (double)clock.cpu_ns / (double)before : 0;
}

static void turn(uint32_t side, uint32_t round)
{
	static uint8_t frames[PER_MS][64];
	static struct sw_enet_datagram datagrams[PER_MS];
	static const uint8_t payload[CROWD_PAYLOAD];
	struct crowd *crowd = &crowds[side];
	uint32_t stride = crowd->count / ACTIVE, at = 0;
	struct samples_clock clock = {0};
	uint64_t out = crowd->out;

	crowd->mute = true;
	for (uint32_t ms = 0; ms < TURN_MS; ms++) {
		for (uint32_t i = 0; i < PER_MS; i++, at = (at + 1) % ACTIVE)
			datagrams[i] =
				(struct sw_enet_datagram){.from = crowd_address(crowd, at * stride),
					.bytes = lean_send_unreliable(&active[side][at], 0, payload,
						sizeof payload, frames[i]),
					.data = frames[i]};
		crowd->now_ms++;
		samples_start(&clock);
		for (uint32_t i = 0; i < PER_MS; i += BURST) {
			sw_enet_rx(crowd->engine, datagrams + i, BURST, NULL, crowd->now_ms);
			sw_enet_service(crowd->engine, crowd->now_ms);
		}
		samples_stop(&clock);
	}
	crowd->mute = false;
	if (crowd->out - out != (uint64_t)TURN_MS * PER_MS || crowd->disorder) {
		fprintf(stderr, "W10: %llu echoes, %llu out of order\n",
			(unsigned long long)(crowd->out - out),
			(unsigned long long)crowd->disorder);
		exit(1);
	}
	samples.value[side][round] = (double)clock.cpu_ns / (TURN_MS * PER_MS);
	samples.kept[side][round] = samples_quiet(&clock);
}

int main(int argc, char **argv)
{
	struct sw_enet_config one;

	samples_init(&samples, "W10", "ns of CPU a packet", argc, argv);
	samples.sides = SIDES;
	for (uint32_t s = 0; s < SIDES; s++) {
		samples.side[s] = names[s];
		if (!set_up(s)) {
			fprintf(stderr, "W10: no memory for %u peers\n", silent[s]);
			return 1;
		}
		fprintf(stderr, "W10: %u peers connected\n", crowds[s].count);
	}
	for (uint32_t round = 0; round < ROUNDS; round++) {
		for (uint32_t s = 0; s < SIDES; s++) {
			ping_ns[s] = keep_alive(&crowds[s]);
			turn(s, round);
		}
		samples.rounds++;
	}
	for (uint32_t s = 0; s < SIDES; s++) {
		if (sw_enet_peers(crowds[s].engine) != crowds[s].count) {
			fprintf(stderr, "W10: peers were lost\n");
			return 1;
		}
		printf("%s: a ping and its answer %.0f ns, client's side included\n", names[s],
			ping_ns[s]);
	}
	one = crowds[2].config;
	one.peers_max = 1;
	samples_ratio(&samples, "cost_ratio_100k", 1, 0, 1.3, "lower");
	samples_ratio(&samples, "cost_ratio_1m", 2, 0, 1.3, "lower");
	samples_constant(&samples, "bytes_per_peer",
		(double)(crowds[2].memory_bytes - sw_enet_bytes(&one)) / (crowds[2].count - 1),
		1024, "lower");
	return samples_report(&samples) ? 0 : 1;
}
