/* What the control thread tells others: the heartbeat in Redis, health, readiness and counters. */
#include <inttypes.h>
#include <stdarg.h>
#include <string.h>

#include "common/log.h"
#include "common/mono.h"
#include "control/control_internal.h"
#include "control/ops/ops.h"

/* A shard that has not ticked for so long does not do what it is for. */
#define TICK_LATE_MS 1000u

static const struct counter_desc counter_descs[CTL_COUNTER_COUNT] = {
#define DESC(id, name, kind, help) {name, help, kind},
	CTL_COUNTERS(DESC)
#undef DESC
};

void ctl_counters_init(struct ctl *ctl)
{
	ctl->set =
		(struct counter_set){"control", 0, CTL_COUNTER_COUNT, counter_descs, ctl->counters};
}

const char *ctl_state_name(enum ctl_state state)
{
	static const char *const names[CTL_STATE_COUNT] = {
#define NAME(id, name) name,
		CTL_STATES(NAME)
#undef NAME
	};

	return names[state];
}

enum ctl_state ctl_state(const struct ctl *ctl)
{
	return (enum ctl_state)atomic_load(&ctl->state);
}

void ctl_set_state(struct ctl *ctl, enum ctl_state state)
{
	atomic_store(&ctl->state, state);
	counter_put(&ctl->counters[CTL_C_STATE], state);
	sw_log(SW_LOG_INFO, "control", "%s", ctl_state_name(state));
}

/* UINT64_MAX when it is not known, or has not ticked yet. */
static uint64_t tick_age_ms(const struct ctl *ctl, uint32_t shard, uint64_t now_ns)
{
	const _Atomic uint64_t *last = ctl->links.shard_last_tick_ns[shard];
	uint64_t last_ns = last ? counter_get(last) : 0;

	if (!last_ns)
		return UINT64_MAX;
	return last_ns < now_ns ? (now_ns - last_ns) / NS_PER_MS : 0;
}

static uint64_t adm_count(const struct ctl *ctl, enum adm_counter counter)
{
	return counter_get(&adm_counters(ctl->adm)->values[counter]);
}

/* Appends "name=number" or "number", after a comma unless it is the first. */
__attribute__((format(printf, 4, 5))) static void list_add(
	char *list, size_t bytes, size_t *at, const char *format, ...)
{
	va_list args;
	int n;

	if (*at && *at + 1 < bytes)
		list[(*at)++] = ',';
	va_start(args, format);
	n = vsnprintf(list + *at, bytes - *at, format, args);
	va_end(args);
	*at += n > 0 && (size_t)n < bytes - *at ? (size_t)n : 0;
	list[*at] = 0;
}

/* Players that the instances of a definition could take, those that could still be opened
 * included. */
static uint64_t definition_room(const struct ctl *ctl, uint32_t definition)
{
	uint32_t first = instance_first(ctl->config, definition);
	uint64_t max = ctl->config->maps[definition].players_max, room = 0;

	for (uint32_t i = 0; i < instance_max(&ctl->config->maps[definition]); i++) {
		struct director_status status;

		director_status(ctl->director, first + i, &status);
		if (!status.running || (status.state == INSTANCE_OPEN && status.players <= max))
			room += max - (status.running ? status.players : 0);
	}
	return room;
}

void ctl_beat(struct ctl *ctl, uint64_t now_ns)
{
	char ages[CONFIG_LCORES_MAX * 12] = "", maps[CONFIG_MAPS_MAX * (MAP_NAME_BYTES + 12)] = "";
	char address[CONFIG_ADDRESS_BYTES];
	uint64_t places = adm_count(ctl, ADM_C_PLACES), max = ctl->config->admission.players_max;
	struct keys_beat beat = {.address = sw_config_address(ctl->config, address),
		.state = ctl_state_name(ctl_state(ctl)),
		.stopped = ctl_state(ctl) == CTL_STOPPED,
		.uptime_s = (now_ns - ctl->started_ns) / NS_PER_S,
		.sessions = adm_count(ctl, ADM_C_SESSIONS),
		.players = adm_count(ctl, ADM_C_PLAYERS),
		.places = places,
		.players_max = (uint32_t)max,
		.room = places < max ? max - places : 0,
		.maps = maps,
		.shard_age_ms = ages,
		.admitted = gate_admitted(ctl->gate),
		.scripts = scripts_hash(ctl)};
	size_t at = 0;

	if (!ctl->presence || !redis_link_up(ctl->redis))
		return;
	for (uint32_t s = 0; s < ctl->links.shards; s++) {
		uint64_t age_ms = tick_age_ms(ctl, s, now_ns);

		/* Not known, which nobody may read as "just now". */
		if (age_ms == UINT64_MAX)
			list_add(ages, sizeof(ages), &at, "-");
		else
			list_add(ages, sizeof(ages), &at, "%" PRIu64, age_ms);
		if (age_ms > TICK_LATE_MS && ctl->links.shard_last_tick_ns[s])
			beat.room = 0; /* a shard that stands still takes nobody */
	}
	at = 0;
	for (uint32_t d = 0; d < ctl->config->map_count; d++)
		if (director_definition(ctl->director, ctl->config->maps[d].name) == d)
			list_add(maps, sizeof(maps), &at, "%s=%" PRIu64, ctl->config->maps[d].name,
				definition_room(ctl, d));
	if (ctl_state(ctl) != CTL_READY)
		beat.room = 0;
	presence_beat(ctl->presence, beat.stopped);
	redis_keys_heartbeat(ctl->keys, &beat);
	counter_add(&ctl->counters[CTL_C_HEARTBEATS], 1);
}

/* ---- for the operations endpoint; its thread ---- */

static enum ops_level redis_health(void *ctx, char *sentence, size_t bytes)
{
	struct ctl *ctl = ctx;
	char watch[160];
	bool watched = redis_link_watched(ctl->redis, watch, sizeof(watch));
	size_t at;

	if (redis_link_health(ctl->redis, sentence, bytes) != REDIS_LINK_UP) {
		at = strlen(sentence);
		snprintf(sentence + at, bytes - at, "%s%s", *watch ? "; " : "", watch);
		return OPS_RED;
	}
	at = strlen(sentence);
	if (redis_keys_refused(ctl->keys)) {
		snprintf(sentence + at, bytes - at,
			", but it refuses writes; the log says why (no memory left under "
			"maxmemory, no disk?)");
		return OPS_RED;
	}
	if (watched)
		return OPS_GREEN;
	snprintf(sentence + at, bytes - at, "; a failover would not be noticed: %s", watch);
	return OPS_YELLOW;
}

static enum ops_level shards_health(void *ctx, char *sentence, size_t bytes)
{
	const struct ctl *ctl = ctx;
	uint64_t now_ns = mono_ns(), oldest_ms = 0;
	uint32_t late = 0, known = 0;

	for (uint32_t s = 0; s < ctl->links.shards; s++) {
		uint64_t age_ms = tick_age_ms(ctl, s, now_ns);

		if (!ctl->links.shard_last_tick_ns[s])
			continue;
		known++;
		late += age_ms > TICK_LATE_MS;
		oldest_ms = age_ms > oldest_ms ? age_ms : oldest_ms;
	}
	if (late && oldest_ms == UINT64_MAX)
		snprintf(sentence, bytes, "%u of %u shards have not ticked yet or are late", late,
			known);
	else
		snprintf(sentence, bytes,
			"%u of %u shards tick; the oldest last tick is %" PRIu64 " ms ago",
			known - late, known, oldest_ms);
	return late ? OPS_RED : OPS_GREEN;
}

static enum ops_level gate_health(void *ctx, char *sentence, size_t bytes)
{
	enum gate_state state = gate_link_health(((struct ctl *)ctx)->gate_link, sentence, bytes);

	return state == GATE_OPEN || state == GATE_FULL ? OPS_GREEN : OPS_YELLOW;
}

static enum ops_level admission_health(void *ctx, char *sentence, size_t bytes)
{
	const struct ctl *ctl = ctx;
	uint64_t places = adm_count(ctl, ADM_C_PLACES);
	uint32_t max = ctl->config->admission.players_max;

	snprintf(sentence, bytes, "%s; %" PRIu64 " of %u places taken",
		ctl_state_name(ctl_state(ctl)), places, max);
	return ctl_state(ctl) == CTL_READY ? OPS_GREEN : OPS_YELLOW;
}

/* Yellow, not red: parties go on as the shards know them, and only a change has to wait. */
static enum ops_level parties_health(void *ctx, char *sentence, size_t bytes)
{
	const struct ctl *ctl = ctx;
	const _Atomic uint64_t *count = party_counters(ctl->party)->values;
	bool attached = counter_get(&count[PARTY_C_ATTACHED]);

	if (attached)
		snprintf(sentence, bytes,
			"the realm's parties are read, up to version %" PRIu64 "; %" PRIu64
			" questions to Redis are under way",
			counter_get(&count[PARTY_C_VERSION]), counter_get(&count[PARTY_C_CALLS]));
	else
		snprintf(sentence, bytes,
			"parties cannot be changed now: Redis is away, or is being filled with "
			"them "
			"(%" PRIu64 " tries have failed)",
			counter_get(&count[PARTY_C_RESTORES_FAILED]));
	return attached ? OPS_GREEN : OPS_YELLOW;
}

static bool instance(void *ctx, uint32_t slot, uint64_t now_ns, struct ops_instance *out)
{
	const struct ctl *ctl = ctx;
	const struct instance_gauges *gauges = ctl->links.instance_gauges;
	const struct histogram *times = ctl->links.instance_tick_times;
	struct placement_load load = {0};
	struct director_status status;
	const struct config_map *map;
	uint64_t end_ns, stage;

	if (slot >= director_slots(ctl->director))
		return false;
	director_status(ctl->director, slot, &status);
	map = &ctl->config->maps[status.definition];
	*out = (struct ops_instance){.map = map->name,
		.kind = map->kind == CONFIG_MAP_ROOM ? "room" : "map",
		.state = instance_state_name(status.state),
		.slot = slot,
		.generation = instance_generation(status.id),
		.used = status.state != INSTANCE_EMPTY,
		.running = status.running,
		.shard = status.shard,
		.players = status.players,
		.players_max = map->players_max,
		.tick_hz = map->tick_hz,
		.tick_time = times ? &times[slot] : NULL};
	if (status.state == INSTANCE_OPEN && status.players >= map->players_max)
		out->state = "full";
	if (!gauges)
		return true;
	end_ns = counter_get(&gauges[slot].tick_end_ns);
	out->ticks = counter_get(&gauges[slot].ticks);
	out->skipped = counter_get(&gauges[slot].skipped);
	out->overruns = counter_get(&gauges[slot].overruns);
	out->tick_ns = counter_get(&gauges[slot].tick_ns);
	out->tick_age_ns = end_ns && end_ns < now_ns ? now_ns - end_ns : 0;
	out->load_permille = counter_get(&gauges[slot].load_permille);
	out->heat_permille = out->load_permille + 1000ull * status.players / map->players_max;
	ctl_director_ops.load((void *)(uintptr_t)ctx, status.shard, &load);
	out->shard_heat = placement_heat(&load, ctl->config->simulation.players_max);
	stage = counter_get(&gauges[slot].overrun_stage);
	if (stage && ctl->links.stage_names)
		out->overrun_stage = ctl->links.stage_names[stage - 1];
	return true;
}

static enum ops_level ready(void *ctx, char *sentence, size_t bytes)
{
	return admission_health(ctx, sentence, bytes);
}

void ctl_register(struct ctl *ctl, struct ops *ops)
{
	bool known = false;

	ops_register_counters(ops, &ctl->set);
	ops_register_counters(ops, adm_counters(ctl->adm));
	ops_register_counters(ops, director_counters(ctl->director));
	ops_register_counters(ops, redis_link_counters(ctl->redis));
	ops_register_counters(ops, presence_counters(ctl->presence));
	ops_register_counters(ops, party_counters(ctl->party));
	ops_register_counters(ops, verifier_counters(ctl->verifier));
	ops_register_histogram(
		ops, &(struct histogram_ref){.group = "admission",
			     .name = "verify_time",
			     .help = "how long a ticket waited until its verification was answered",
			     .histogram = adm_verify_time(ctl->adm)});
	ops_register_counters(ops, gate_counters(ctl->gate));
	ops_register_health(ops, "redis", redis_health, ctl);
	ops_register_health(ops, "admission", admission_health, ctl);
	ops_register_health(ops, "parties", parties_health, ctl);
	ops_register_health(ops, "gate", gate_health, ctl);
	for (uint32_t s = 0; s < ctl->links.shards; s++)
		known |= ctl->links.shard_last_tick_ns[s] != NULL;
	if (known)
		ops_register_health(ops, "shards", shards_health, ctl);
	ops_register_instances(ops, instance, ctl);
	ops_register_ready(ops, ready, ctl);
}
