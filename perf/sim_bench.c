/* sim_bench: what a shard costs. Random walkers on one map at 20 Hz, each with an InputBatch of 8 a
 * tick, about 50 others in view; the rings' other ends are read and thrown away. Only the time
 * inside sim_shard_step is counted, as CPU time of the thread (so other work on the machine does
 * not count, though it takes its share of the caches), against the 50 ms of a tick. Game time is
 * virtual.
 *
 *   bench-simulation [--record] [--costs] [players] [seconds of game time] [in view] [map file]
 *
 * --costs: with as many monsters; what single units of work cost is printed behind (sim_costs.h).
 * --record: its inputs are recorded as simulation.record does; what is recorded is thrown away too.
 * A map file (Tiled's JSON) brings walls and its own size; then "in view" counts for nothing. */
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "common/byte_ring.h"
#include "common/config.h"
#include "common/handle.h"
#include "common/mono.h"
#include "common/msg_ring.h"
#include "proto/client.pb-c.h"
#include "proto/message_types.h"
#include "simulation/ground/ground_load.h"
#include "simulation/record.h"
#include "simulation/shard.h"
#include "sim_costs.h"

#define HZ           20u
#define INPUTS       8u
#define VIEW_M       40u
#define WINDOW_CELLS 5u
#define STEPS_MAX    (1u << 20)

struct walker {
	int8_t dx[INPUTS], dy[INPUTS]; /* oldest first */
	uint32_t turn_tick;
};

static struct sim_links links;
static struct sim_shard *shard;
static uint64_t random_state = 1;
static struct msg_buffer batch[8];
static uint64_t sent_bytes, sent_messages;

static uint64_t cpu_ns(void)
{
	struct timespec ts;

	clock_gettime(CLOCK_THREAD_CPUTIME_ID, &ts);
	return (uint64_t)ts.tv_sec * NS_PER_S + (uint64_t)ts.tv_nsec;
}

static uint32_t random_below(uint32_t below)
{
	random_state ^= random_state << 13;
	random_state ^= random_state >> 7;
	random_state ^= random_state << 17;
	return (uint32_t)((random_state >> 32) * below >> 32);
}

static void discard(struct msg_ring *ring)
{
	uint32_t slots;

	while ((slots = msg_ring_pop(ring, batch[0].slot, 8 * MSG_SLOTS_MAX))) {
		const struct msg *end = batch[0].slot + slots;

		for (const struct msg *m = batch[0].slot; m < end; m = msg_next(m)) {
			sent_bytes += m->payload_bytes;
			sent_messages++;
		}
	}
}

/* The world thread's part: details for everyone. */
static void answer(void)
{
	uint32_t slots;

	while ((slots = msg_ring_pop(links.to_world, batch[0].slot, 8 * MSG_SLOTS_MAX))) {
		const struct msg *end = batch[0].slot + slots;

		for (const struct msg *m = batch[0].slot; m < end; m = msg_next(m)) {
			struct msg_detail_query query;
			struct msg_detail_result result = {.level = 1, .appearance = 0x808080};
			struct msg reply[2];

			if (m->type != MSG_DETAIL_QUERY)
				continue;
			memcpy(&query, msg_payload(m), sizeof(query));
			result.request = query.request;
			memcpy(msg_begin(reply, MSG_DETAIL_RESULT, 0, sizeof(result)), &result,
				sizeof(result));
			msg_ring_push(links.from_world, reply);
		}
	}
}

static void join(uint32_t i, uint32_t width_mm)
{
	struct msg_player_join join = {.session = i + 1,
		.character_id = i + 1,
		.x_mm = (int32_t)random_below(width_mm),
		.y_mm = (int32_t)random_below(width_mm),
		.has_position = 1,
		.payload_bytes_max = 1350,
		.map = "bench",
		.name = "Walker"};
	struct msg message[5];

	memcpy(msg_begin(message, MSG_PLAYER_JOIN, handle_make(0, 1, i), sizeof(join)), &join,
		sizeof(join));
	msg_ring_push(links.from_control, message);
}

static void send_inputs(struct walker *w, uint32_t i, uint32_t tick)
{
	Sw__InputBatch message = SW__INPUT_BATCH__INIT;
	Sw__Input inputs[INPUTS], *pointers[INPUTS];
	static struct msg_buffer buffer;
	uint8_t *payload = msg_begin(buffer.slot, MSG_PEER_PACKET, handle_make(0, 1, i), 0);
	uint32_t bytes;

	memmove(w->dx, w->dx + 1, INPUTS - 1);
	memmove(w->dy, w->dy + 1, INPUTS - 1);
	if (tick >= w->turn_tick) {
		w->turn_tick = tick + 20 + random_below(40);
		w->dx[INPUTS - 1] = (int8_t)((int32_t)random_below(255) - 127);
		w->dy[INPUTS - 1] = (int8_t)((int32_t)random_below(255) - 127);
	}
	for (uint32_t n = 0; n < INPUTS; n++) {
		sw__input__init(&inputs[n]);
		inputs[n].dx = w->dx[n];
		inputs[n].dy = w->dy[n];
		pointers[n] = &inputs[n];
	}
	message.first_sequence = tick;
	message.n_inputs = INPUTS;
	message.inputs = pointers;
	payload[0] = SW_MSG_INPUT;
	bytes = 1 + (uint32_t)sw__input_batch__pack(&message, payload + 1);
	buffer.slot->payload_bytes = bytes;
	buffer.slot->slots = msg_slots(bytes);
	buffer.slot->channel = SW_CHANNEL_WORLD;
	msg_ring_push(links.from_dataplane[0], buffer.slot);
}

static int by_value(const void *a, const void *b)
{
	uint64_t x = *(const uint64_t *)a, y = *(const uint64_t *)b;

	return x < y ? -1 : x > y;
}

static uint64_t stage_sum(const struct histogram_ref *ref)
{
	return counter_get(&ref->histogram->sum_ns);
}

/* The other end of the recording's ring. Returns how many bytes there were. */
static uint64_t discard_recording(void)
{
	static uint8_t bytes[1u << 16];
	uint64_t all = 0;
	uint32_t got;

	while (links.record && (got = byte_ring_pop(links.record->out, bytes, sizeof(bytes))))
		all += got;
	return all;
}

static bool take_word(int *argc, char ***argv, const char *word)
{
	if (*argc < 2 || strcmp((*argv)[1], word) != 0)
		return false;
	(*argc)--;
	(*argv)++;
	return true;
}

int main(int argc, char **argv)
{
	const bool record = take_word(&argc, &argv, "--record");
	const bool costs = take_word(&argc, &argv, "--costs");
	uint32_t players = argc > 1 ? (uint32_t)atoi(argv[1]) : 5000;
	uint32_t ticks = (argc > 2 ? (uint32_t)atoi(argv[2]) : 10) * HZ;
	double in_view = argc > 3 ? atof(argv[3]) : 50;
	const double window_m = WINDOW_CELLS * VIEW_M * 4.0 / 7;
	uint32_t width_m = 16;
	struct sw_config *config = malloc(sizeof(*config));
	struct walker *walkers = calloc(players, sizeof(*walkers));
	uint64_t *tick_ns = calloc(ticks, sizeof(*tick_ns)), total = 0, now_ns = 0;
	uint64_t *step_ns = calloc(STEPS_MAX, sizeof(*step_ns)), steps = 0;
	uint64_t before[9], bytes_before = 0, messages_before = 0, recorded = 0;
	struct histogram_ref refs[9];
	char error[256];

	while ((double)width_m * width_m < players / in_view * window_m * window_m)
		width_m++;
	sw_config_defaults(config);
	config->map_count = 1;
	snprintf(config->maps[0].name, MAP_NAME_BYTES, "bench");
	config->maps[0].width_m = config->maps[0].height_m = width_m;
	if (argc > 4) {
		struct sw_ground *ground;
		const char *slash;

		if (sw_ground_load(NULL, argv[4], stderr, &ground))
			return 1;
		width_m = ground->width_mm / 1000;
		config->maps[0].width_m = config->maps[0].height_m = 0;
		sw_ground_free(ground);
		slash = strrchr(argv[4], '/');
		snprintf(config->maps[0].file, sizeof(config->maps[0].file), "%s",
			slash ? slash + 1 : argv[4]);
		snprintf(config->simulation.content, sizeof(config->simulation.content), "%.*s",
			slash ? (int)(slash - argv[4]) + 1 : 1, slash ? argv[4] : ".");
	}
	config->maps[0].tick_hz = HZ;
	config->maps[0].view_m = VIEW_M;
	config->maps[0].players_max = config->simulation.players_max = config->enet.peers_max =
		players;
	config->maps[0].monsters = costs ? players : 0;
	config->maps[0].script[0] = '\0';
	config->maps[0].shard = 0;
	config->simulation.lazy_joins_per_tick = 1000;
	config->rings.slots = 1u << 15;
	links.workers = 1;
	links.from_dataplane[0] = msg_ring_new("a", 1u << 15);
	links.to_dataplane[0] = msg_ring_new("b", 1u << 15);
	links.from_control = msg_ring_new("c", 1u << 18);
	links.to_control = msg_ring_new("d", 1u << 18);
	links.from_world = msg_ring_new("e", 1u << 18);
	links.to_world = msg_ring_new("f", 1u << 18);
	links.record = record ? sim_record_new(1u << 26) : NULL;
	shard = sim_shard_new(config, 0, &links, 1, now_ns, error, sizeof(error));
	if (!shard) {
		fprintf(stderr, "%s\n", error);
		return 1;
	}
	for (uint32_t i = 0; i < players; i++) {
		join(i, width_m * 1000);
		if (i % 2000 == 1999)
			while (sim_shard_step(shard, now_ns))
				discard_recording();
	}
	/* The first two seconds belong to the joins and their views. */
	for (uint32_t tick = 1; tick <= ticks + 2 * HZ; tick++) {
		uint64_t spent = 0;

		if (tick == 2 * HZ + 1) {
			sim_shard_histograms(shard, refs, 9);
			for (uint32_t i = 0; i < 9; i++)
				before[i] = stage_sum(&refs[i]);
			bytes_before = sent_bytes;
			messages_before = sent_messages;
		}
		for (uint32_t ms = 0; ms < 1000 / HZ; ms++) {
			bool work = true;

			/* Inputs come spread over the tick, as clients' clocks are. */
			for (uint32_t i = ms; i < players; i += 1000 / HZ)
				send_inputs(&walkers[i], i, tick);
			now_ns += NS_PER_MS;
			while (work) {
				uint64_t start = cpu_ns(), slice;

				work = sim_shard_step(shard, now_ns);
				slice = cpu_ns() - start;
				spent += slice;
				if (tick > 2 * HZ && work && steps < STEPS_MAX)
					step_ns[steps++] = slice;
				discard(links.to_dataplane[0]);
				recorded += discard_recording();
			}
			discard(links.to_control);
			answer();
		}
		if (tick > 2 * HZ) {
			tick_ns[tick - 2 * HZ - 1] = spent;
			total += spent;
		}
	}
	qsort(tick_ns, ticks, sizeof(*tick_ns), by_value);
	printf("%u walkers on %u m x %u m, %u ticks of %u Hz; memory %zu MiB\n", players, width_m,
		width_m, ticks, HZ, sim_shard_bytes(shard) >> 20);
	printf("tick: mean %.2f ms, p50 %.2f, p99 %.2f, worst %.2f ms\n",
		(double)total / ticks / 1e6, (double)tick_ns[ticks / 2] / 1e6,
		(double)tick_ns[ticks * 99 / 100] / 1e6, (double)tick_ns[ticks - 1] / 1e6);
	qsort(step_ns, steps, sizeof(*step_ns), by_value);
	printf("step with work: p50 %.1f us, p99 %.1f, p99.9 %.1f, worst %.1f us (a drain and a "
	       "slice)\n",
		(double)step_ns[steps / 2] / 1e3, (double)step_ns[steps * 99 / 100] / 1e3,
		(double)step_ns[steps * 999 / 1000] / 1e3, (double)step_ns[steps - 1] / 1e3);
	printf("per player and tick: %.0f ns; messages %.2f, bytes %.0f\n",
		(double)total / ticks / players,
		(double)(sent_messages - messages_before) / ticks / players,
		(double)(sent_bytes - bytes_before) / ticks / players);
	if (record)
		printf("recorded: %.0f bytes a tick%s\n", (double)recorded / (ticks + 2 * HZ),
			byte_ring_closed(links.record->out) ? ", and the ring ran full" : "");
	printf("players at half the budget: %.0f\n",
		players * (NS_PER_S / HZ / 2) / ((double)total / ticks));
	printf("shares of the stages:");
	for (uint32_t i = 1; i < 9; i++)
		printf(" %s %.0f %%", refs[i].name,
			100.0 * (double)(stage_sum(&refs[i]) - before[i]) /
				(double)(stage_sum(&refs[0]) - before[0] + 1));
	printf("; drains come on top\n");
	if (costs)
		sim_costs_print(shard);
	return 0;
}
