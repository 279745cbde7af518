#include "simulation/replay/replay.h"

#include <inttypes.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "simulation/instance.h"
#include "simulation/record.h"
#include "simulation/script/script.h"
#include "simulation/state.h"

/* Holds what one step takes and sends: a slice's worth each way. */
#define RING_SLOTS 131072u

/* Handlers get half a second here: this machine's pace is not the recorded one's. */
#define WATCHDOG_US 500000u

/* Refused pushes of one step. */
#define REFUSALS_MAX 65536u

struct sim_replay {
	const struct sim_replay_ops *ops;
	struct sim_replay_view view;
	struct recording_reader reader;
	struct recording_entry next; /* the step to make; its entry has been read */
	bool has_next;
	struct script_watchdog *watchdog;
	struct sim_instances *instances;
	struct sim_links links;
	struct sim_shard *shard;
	struct sim_record record;
	uint32_t *refusals; /* [REFUSALS_MAX] */
	struct msg_buffer batch[2];
};

static void say(struct sim_replay *r, const char *text)
{
	snprintf(r->view.text, sizeof(r->view.text), "%s", text);
}

static bool make_rings(struct sim_replay *r)
{
	struct sim_links *l = &r->links;
	bool ok = true;

	l->workers = r->view.header.workers;
	for (uint32_t w = 0; w < l->workers; w++) {
		ok &= (l->from_dataplane[w] = msg_ring_new("from-worker", RING_SLOTS)) != NULL;
		ok &= (l->to_dataplane[w] = msg_ring_new("to-worker", RING_SLOTS)) != NULL;
	}
	ok &= (l->from_control = msg_ring_new("from-control", RING_SLOTS)) != NULL;
	ok &= (l->to_control = msg_ring_new("to-control", RING_SLOTS)) != NULL;
	ok &= (l->from_world = msg_ring_new("from-world", RING_SLOTS)) != NULL;
	ok &= (l->to_world = msg_ring_new("to-world", RING_SLOTS)) != NULL;
	return ok;
}

/* What the recording was made with and this is not, in one line. Returns whether all is alike. */
static bool alike(const struct recording_header *h, const struct sw_config *config, char *error,
	size_t error_bytes)
{
	struct recording_header own = {0};
	size_t used = 0;

	error[0] = '\0';
	sim_record_header(config, &own);
#define SAY(...)                                                                                   \
	(used += (size_t)snprintf(                                                                 \
		 error + used, used < error_bytes ? error_bytes - used : 0, __VA_ARGS__))
	if (strcmp(h->build, own.build))
		SAY("made by other sources (%.12s, these are %.12s); ", h->build, own.build);
	if (h->config_hash != own.config_hash || h->map_count != own.map_count)
		SAY("made with another configuration; ");
	for (uint32_t i = 0; i < own.map_count && i < h->map_count && used < error_bytes; i++)
		if (h->content_hash[i] != own.content_hash[i])
			SAY("map %s had another file, script or game data; ", config->maps[i].name);
#undef SAY
	if (used && used < error_bytes)
		error[used - 2] = '\0';
	return !used;
}

struct sim_replay *sim_replay_new(const uint8_t *bytes, size_t count,
	const struct sw_config *config, const struct sim_replay_ops *ops, bool anyway, char *error,
	size_t error_bytes)
{
	struct sim_replay *r = aligned_alloc(64, (sizeof(*r) + 63) & ~(size_t)63);
	enum recording_fault fault;
	char why[512] = "";

	error[0] = '\0';
	if (!r)
		goto no_memory;
	memset(r, 0, sizeof(*r));
	r->ops = ops;
	fault = recording_open(&r->reader, bytes, count, &r->view.header);
	if (fault) {
		snprintf(error, error_bytes, "%s", recording_fault_text(fault));
		goto fail;
	}
	if (!alike(&r->view.header, config, error, error_bytes) && !anyway)
		goto fail;
	r->refusals = malloc(REFUSALS_MAX * sizeof(*r->refusals));
	if (!r->refusals || !make_rings(r))
		goto no_memory;
	if (script_watchdog_start(&r->watchdog, WATCHDOG_US)) {
		snprintf(error, error_bytes, "the watchdog of the scripts did not start");
		goto fail;
	}
	r->instances =
		sim_instances_new(config, r->watchdog, r->view.header.node_seed, why, sizeof(why));
	if (r->instances) {
		r->links.watchdog = r->watchdog;
		r->links.instances = r->instances;
		r->links.record = &r->record;
		r->links.commit_start = r->view.header.commit_start;
		r->shard = sim_shard_new(config, r->view.header.shard, &r->links,
			r->view.header.seed, r->view.header.start_ns, why, sizeof(why));
	}
	if (!r->shard) {
		snprintf(error, error_bytes, "%s", why);
		goto fail;
	}
	r->view.shard = r->shard;
	return r;
no_memory:
	snprintf(error, error_bytes, "no memory");
fail:
	if (r)
		sim_replay_free(r);
	return NULL;
}

void sim_replay_free(struct sim_replay *r)
{
	struct sim_links *l = &r->links;

	sim_shard_free(r->shard);
	sim_instances_free(r->instances);
	if (r->watchdog)
		script_watchdog_stop(r->watchdog);
	for (uint32_t w = 0; w < l->workers; w++) {
		msg_ring_free(l->from_dataplane[w]);
		msg_ring_free(l->to_dataplane[w]);
	}
	msg_ring_free(l->from_control);
	msg_ring_free(l->to_control);
	msg_ring_free(l->from_world);
	msg_ring_free(l->to_world);
	free(r->refusals);
	free(r);
}

const struct sim_replay_view *sim_replay_view(const struct sim_replay *r)
{
	return &r->view;
}

/* ---- a step ---- */

static void drain(struct sim_replay *r, struct msg_ring *ring, uint32_t to)
{
	uint32_t slots;

	while ((slots = msg_ring_pop(ring, r->batch[0].slot, 2 * MSG_SLOTS_MAX))) {
		const struct msg *end = r->batch[0].slot + slots;

		for (const struct msg *m = r->batch[0].slot; m < end; m = msg_next(m))
			if (r->ops && r->ops->out)
				r->ops->out(r->ops->ctx, to, m);
	}
}

/* An instance that is handed over is built first, as control's builder did. */
static bool build(struct sim_replay *r, const struct msg *message)
{
	struct msg_instance body;
	char error[256] = "";

	memcpy(&body, msg_payload(message), sizeof(body));
	if (message->payload_bytes != sizeof(body) || !instance_generation(body.id) ||
		instance_slot(body.id) >= sim_instances_count(r->instances)) {
		say(r, "an instance that the configuration has no place for");
		return false;
	}
	for (uint32_t i = 0; i < r->shard->map_count; i++)
		if (instance_slot(r->shard->maps[i]->id) == instance_slot(body.id)) {
			say(r, "an instance is handed over whose place is in use");
			return false;
		}
	if (!sim_instance_build(r->instances, body.id, error, sizeof(error)))
		return true;
	say(r, error);
	return false;
}

static bool feed(struct sim_replay *r, const struct recording_entry *e)
{
	struct msg *message = r->batch[0].slot;
	struct msg_ring *ring =
		e->message.source == RECORDING_CONTROL ? r->links.from_control
		: e->message.source == RECORDING_WORLD
			? r->links.from_world
			: r->links.from_dataplane[e->message.source - RECORDING_WORKER];
	uint8_t *payload = msg_begin(
		message, (enum msg_type)e->message.type, e->message.peer, e->message.payload_bytes);

	message->flags = e->message.flags;
	message->channel = e->message.channel;
	message->subject = e->message.subject;
	/* The shard reads a message's struct whole, and its sender sent it whole. */
	memset(payload, 0, (size_t)message->slots * MSG_SLOT_BYTES - MSG_HEAD_BYTES);
	memcpy(payload, e->message.payload, e->message.payload_bytes);
	if (e->message.source == RECORDING_CONTROL && e->message.type == MSG_INSTANCE_OPEN &&
		!build(r, message))
		return false;
	if (r->ops && r->ops->in)
		r->ops->in(r->ops->ctx, e->message.source, message);
	if (msg_ring_push(ring, message))
		return true;
	say(r, "a step has more messages than a step can take");
	return false;
}

static void note_over_time(struct sim_replay *r, uint32_t tick)
{
	if (!r->view.over_time_tick)
		r->view.over_time_tick = tick;
}

/* Reads a step's entries, feeds its messages. The reader stands behind the next STEP or at the end,
 * which *last says. A step that nothing follows may be cut: it is not made. */
static bool gather(struct sim_replay *r, bool *last)
{
	enum recording_fault fault;
	struct recording_entry e;

	r->record.refusal_count = 0;
	r->record.refusals = r->refusals;
	r->view.recorded.instance = 0;
	*last = false;
	while (recording_next(&r->reader, &e, &fault)) {
		switch (e.kind) {
		case RECORDING_STEP:
			r->next = e;
			return true;
		case RECORDING_MESSAGE:
			if (!feed(r, &e))
				return false;
			break;
		case RECORDING_REFUSED:
			if (r->record.refusal_count == REFUSALS_MAX) {
				say(r, "a step with more refused pushes than a step can try");
				return false;
			}
			r->refusals[r->record.refusal_count++] = e.attempt;
			break;
		case RECORDING_TICK:
			r->view.recorded.instance = e.tick.instance;
			r->view.recorded.tick = e.tick.tick;
			r->view.recorded.hash = e.tick.hash;
			break;
		case RECORDING_OVER_TIME:
			r->view.over_time_recorded++;
			note_over_time(r, e.tick.tick);
			break;
		case RECORDING_ENDED:
			r->view.has_end = true;
			r->view.end = e.end;
			r->view.whole =
				e.end == RECORDING_END_STOPPED || e.end == RECORDING_END_ORDERED;
			*last = true;
			return true;
		}
	}
	if (fault && fault != RECORDING_FAULT_CUT) {
		say(r, recording_fault_text(fault));
		return false;
	}
	*last = true;
	return true;
}

static enum sim_replay_result ended(struct sim_replay *r)
{
	if (r->view.has_end)
		snprintf(r->view.text, sizeof(r->view.text), "the recording has ended (%s)",
			recording_end_name(r->view.end));
	else
		say(r, "the recording breaks off: the server did not end in order");
	return SIM_REPLAY_ENDED;
}

static bool same(struct sim_replay *r)
{
	struct sim_replay_view *v = &r->view;

	v->own.instance = r->record.ended.instance;
	v->own.tick = r->record.ended.tick;
	v->own.hash = r->record.ended.hash;
	if (!v->own.instance && !v->recorded.instance)
		return true;
	if (v->own.instance == v->recorded.instance && v->own.tick == v->recorded.tick &&
		v->own.hash == v->recorded.hash)
		return true;
	if (!v->recorded.instance)
		snprintf(v->text, sizeof(v->text), "tick %u ends a step earlier than recorded",
			v->own.tick);
	else if (!v->own.instance)
		snprintf(v->text, sizeof(v->text),
			"tick %u was recorded to end in a step in which "
			"none ends here",
			v->recorded.tick);
	else if (v->own.tick != v->recorded.tick)
		snprintf(v->text, sizeof(v->text), "tick %u was recorded, here it is %u",
			v->recorded.tick, v->own.tick);
	else
		snprintf(v->text, sizeof(v->text),
			"hash %016" PRIx64 " was recorded, here it is "
			"%016" PRIx64,
			v->recorded.hash, v->own.hash);
	return false;
}

enum sim_replay_result sim_replay_step(struct sim_replay *r)
{
	struct recording_entry e;
	enum recording_fault fault;
	uint64_t now_ns;
	uint32_t over_time = r->record.over_time;
	bool last;

	if (!r->has_next) { /* the first step, or none is left */
		if (r->view.steps || !recording_next(&r->reader, &e, &fault))
			return ended(r);
		if (e.kind == RECORDING_ENDED) {
			r->view.has_end = true;
			r->view.end = e.end;
			r->view.whole =
				e.end == RECORDING_END_STOPPED || e.end == RECORDING_END_ORDERED;
			return ended(r);
		}
		r->next = e;
		r->has_next = true;
	}
	now_ns = r->next.now_ns;
	if (now_ns < r->view.now_ns) {
		say(r, "time goes back: it is damaged");
		return SIM_REPLAY_BROKEN;
	}
	if (!gather(r, &last))
		return SIM_REPLAY_BROKEN;
	r->has_next = !last;
	if (last && !r->view.whole)
		return ended(r);
	r->view.now_ns = now_ns;
	r->view.steps++;
	sim_shard_step(r->shard, now_ns);
	r->view.over_time_own += r->record.over_time - over_time;
	if (r->record.over_time > over_time)
		note_over_time(r, r->record.ended.tick);
	drain(r, r->links.to_control, RECORDING_CONTROL);
	drain(r, r->links.to_world, RECORDING_WORLD);
	for (uint32_t w = 0; w < r->links.workers; w++)
		drain(r, r->links.to_dataplane[w], RECORDING_WORKER + w);
	if (!same(r))
		return SIM_REPLAY_DIFFERS;
	if (r->record.short_of_room) {
		say(r, "the replay's own rings are too small for a step");
		return SIM_REPLAY_BROKEN;
	}
	if (!r->view.own.instance)
		return SIM_REPLAY_STEPPED;
	r->view.ticks++;
	return SIM_REPLAY_TICKED;
}
