/* The shard's loop body: drain, retry, one slice of one map's tick. */
#include "common/log_events.h"
#include "simulation/cycles.h"
#include "simulation/inlet.h"
#include "simulation/match/match.h"
#include "simulation/script/script.h"
#include "simulation/send.h"
#include "simulation/state.h"

static bool (*const stages[SIM_STAGES])(
	struct sim_shard *, struct sim_map *, struct sim_slice *) = {
	[SIM_STAGE_RESET] = sim_stage_reset,
	[SIM_STAGE_LAZY_JOIN] = sim_stage_lazy_join,
	[SIM_STAGE_DEFERRED] = sim_stage_deferred,
	[SIM_STAGE_PARTY] = sim_stage_party,
	[SIM_STAGE_MESSAGES] = sim_stage_messages,
	[SIM_STAGE_ACTORS] = sim_stage_actors,
	[SIM_STAGE_INTEREST] = sim_stage_interest,
	[SIM_STAGE_FLUSH] = sim_stage_flush,
};

void sim_log(struct sim_shard *s, uint32_t event, uint64_t a, uint64_t b, uint64_t c, uint64_t d)
{
	if (!s->links.log || !log_event_push(s->links.log, (enum log_event)event, s->index,
				     s->now_ns, a, b, c, d))
		sim_count(s, SIM_LOG_LOST, 1);
}

static void tick_begin(struct sim_shard *s, struct sim_map *m)
{
	uint64_t late_ns = s->now_ns - m->due_ns;

	m->skipped = 0;
	if (late_ns >= m->period_ns) {
		m->skipped = (uint32_t)(late_ns / m->period_ns);
		m->due_ns += m->skipped * m->period_ns;
		sim_count(s, SIM_TICKS_SKIPPED, m->skipped);
		if (counter_get(&m->gauges->tick_ns) <= m->period_ns)
			sim_count(s, SIM_TICKS_SKIPPED_OTHERS, m->skipped);
		counter_add(&m->gauges->skipped, m->skipped);
	}
	m->tick += 1 + m->skipped;
	m->beat++;
	m->running = true;
	m->stage = m->step = m->cursor = 0;
	m->wait_ns = 0;
	memset(m->stage_cycles, 0, sizeof(m->stage_cycles));
}

enum sim_stage sim_stage_to_blame(const uint64_t stage_ns[SIM_STAGES])
{
	uint32_t worst = 0;

	for (uint32_t i = 1; i < SIM_STAGES; i++)
		if (stage_ns[i] > stage_ns[worst])
			worst = i;
	return (enum sim_stage)worst;
}

/* Which stage was to blame is in the metrics, and for the last one in /status. */
static void overrun(struct sim_shard *s, struct sim_map *m, const uint64_t stage_ns[SIM_STAGES],
	uint64_t total_ns)
{
	enum sim_stage stage = sim_stage_to_blame(stage_ns);

	sim_count(s, SIM_OVERRUNS, 1);
	sim_count(s, SIM_OVERRUN_NS, total_ns - m->period_ns);
	sim_count(s, (enum sim_counter)(SIM_OVERRUNS_RESET + (uint32_t)stage), 1);
	counter_add(&m->gauges->overruns, 1);
	counter_put(&m->gauges->overrun_stage, 1 + (uint64_t)stage);
	sim_log(s, LOG_EVENT_TICK_LATE, m->index, m->tick, total_ns, 1 + (uint64_t)stage);
}

static void tick_end(struct sim_shard *s, struct sim_map *m)
{
	uint64_t stage_ns[SIM_STAGES], total_ns = 0, cycles = sim_cycles() - s->start_cycles;

	/* What a cycle takes is known the better the longer the shard runs. */
	if (cycles)
		s->ns_per_cycle = (double)(s->now_ns - s->start_ns) / (double)cycles;
	for (uint32_t i = 0; i < SIM_STAGES; i++) {
		stage_ns[i] = (uint64_t)((double)m->stage_cycles[i] * s->ns_per_cycle);
		histogram_add(&s->stage_time[i], stage_ns[i]);
		total_ns += stage_ns[i];
	}
	histogram_add(&s->tick_time, total_ns);
	counter_put(&s->last_tick_ns, total_ns);
	counter_put(&s->last_tick_end_ns, s->now_ns);
	s->busy_ns += total_ns;
	counter_put(&m->gauges->players, m->players);
	counter_add(&m->gauges->ticks, 1);
	counter_put(&m->gauges->tick_ns, total_ns);
	counter_put(&m->gauges->tick_end_ns, s->now_ns);
	histogram_add(m->tick_time, total_ns);
	counter_put(&m->gauges->load_permille,
		(15 * counter_get(&m->gauges->load_permille) + total_ns * 1000 / m->period_ns + 8) /
			16);
	if (total_ns > m->period_ns)
		overrun(s, m, stage_ns, total_ns);
	else if (s->now_ns - m->due_ns >= m->period_ns)
		sim_count(s, SIM_TICKS_WAITED, 1);
	sim_count(s, SIM_TICKS, 1);
	m->running = false;
	m->due_ns += m->period_ns;
	m->match.over = sim_match_report(s, m);
	if (s->record)
		sim_record_tick(s->record, m);
}

/* Runs one slice of the map's tick. A stage that returns false with budget left is pacing itself.
 */
static void run_slice(struct sim_shard *s, struct sim_map *m)
{
	struct sim_slice slice = {.left = s->slice_ns, .now_ns = s->now_ns};

	if (!m->running)
		tick_begin(s, m);
	sim_count(s, SIM_SLICES, 1);
	while (slice.left > 0) {
		uint64_t start = sim_cycles();
		bool done = stages[m->stage](s, m, &slice);

		m->stage_cycles[m->stage] += sim_cycles() - start;
		slice.left -= sim_work_taken(m);
		if (slice.left < -s->slice_over_ns) {
			s->slice_over_ns = -slice.left;
			counter_put(&s->counters[SIM_SLICE_OVER_NS], (uint64_t)-slice.left);
		}
		if (!done)
			return;
		m->step = m->cursor = 0;
		if (++m->stage == SIM_STAGES) {
			tick_end(s, m);
			return;
		}
	}
}

static uint64_t map_next_ns(const struct sim_map *m)
{
	return m->running ? m->wait_ns : m->due_ns;
}

/* MSG_SHARD_STOPPED, once nobody is left and nothing is owed. */
static void stop_when_empty(struct sim_shard *s)
{
	struct msg message;

	if (!s->stopping || s->stopped || s->players)
		return;
	msg_begin(&message, MSG_SHARD_STOPPED, HANDLE_NONE, 0);
	message.subject = s->index;
	s->stopped = sim_push(s, s->links.to_control, &message);
	if (s->record && s->stopped)
		sim_record_touch(s->record);
}

/* The watchdog signals the thread that runs a VM: it must know this one. */
static void own_scripts(struct sim_shard *s)
{
	if (!s->links.watchdog)
		return;
	script_owner_here(&s->owner);
	for (uint32_t i = 0; i < s->map_count; i++)
		if (s->maps[i]->script)
			script_vm_own_as(s->maps[i]->script, &s->owner);
}

/* The load that placement goes by: the share of each quarter of a second that went into ticks, new
 * ones counted for a quarter of it. */
static void measure_load(struct sim_shard *s)
{
	uint64_t passed_ns = s->now_ns - s->window_ns, permille;

	if (passed_ns < NS_PER_S / 4)
		return;
	permille = s->busy_ns * 1000 / passed_ns;
	permille = (3 * counter_get(&s->gauges.load_permille) + permille + 2) / 4;
	counter_put(&s->gauges.load_permille, permille);
	counter_put(&s->gauges.players, s->players);
	s->window_ns = s->now_ns;
	s->busy_ns = 0;
	if (!s->map_count) /* nothing to tick is no sign of death */
		counter_put(&s->last_tick_end_ns, s->now_ns);
}

bool sim_shard_step(struct sim_shard *s, uint64_t now_ns)
{
	struct sim_slice drain = {.left = s->slice_ns, .now_ns = now_ns};
	bool work;

	s->now_ns = now_ns;
	if (!s->owner_known)
		own_scripts(s);
	s->owner_known = true;
	measure_load(s);
	if (s->record)
		sim_record_step(s->record, now_ns);
	work = sim_inlets_drain(s, &drain);
	work |= sim_send_retry(s);
	if (s->record && work)
		sim_record_touch(s->record);
	stop_when_empty(s);
	/* Maps take turns, so that one in overload costs the others no more than its slices. */
	for (uint32_t i = 0; i < s->map_count; i++) {
		uint32_t at = (s->map_next + i) % s->map_count;
		struct sim_map *m = s->maps[at];

		if (map_next_ns(m) > now_ns)
			continue;
		s->map_next = (at + 1) % s->map_count;
		if (s->record)
			sim_record_touch(s->record);
		run_slice(s, m);
		if (m->match.over)
			sim_map_retire(s, m);
		return true;
	}
	return work;
}

uint64_t sim_shard_next_ns(const struct sim_shard *s)
{
	/* Without a map the load is still to be told. */
	uint64_t next = s->map_count ? UINT64_MAX : s->window_ns + NS_PER_S / 4;

	for (uint32_t i = 0; i < s->map_count; i++)
		if (map_next_ns(s->maps[i]) < next)
			next = map_next_ns(s->maps[i]);
	/* What waits for a full ring is tried again soon: no message tells when there is room. */
	for (uint32_t w = 0; w < s->links.workers; w++)
		if (s->outbox[w].messages && s->now_ns + NS_PER_MS < next)
			next = s->now_ns + NS_PER_MS;
	return next;
}
