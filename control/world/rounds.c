/* Rings in, answers out. */
#include <stdlib.h>

#include "common/handle.h"
#include "common/lanes.h"
#include "common/mono.h"
#include "control/world/world_internal.h"

/* Without traffic the rings are looked at less often: each step, from so many rounds on. */
static const struct {
	uint32_t rounds, period_ms;
} PACE[] = {{0, 1}, {200, 4}, {500, 10}};

static bool takes(const struct msg *message, uint16_t type, uint32_t bytes)
{
	return message->type == type && message->payload_bytes == bytes;
}

static void handle(struct world *world, uint32_t source, const struct msg *message, uint64_t now_ns)
{
	if (lane_of(message->type, source == SOURCE_CONTROL ? LANE_CONTROL : LANE_SHARD) ==
		LANE_NONE)
		world_count(world, WORLD_MESSAGES_UNKNOWN, 1);
	else if (takes(message, MSG_POSITION_SAVE, sizeof(struct msg_position_save)))
		saves_take(world, message, now_ns);
	else if (message->type == MSG_COMMIT && message->payload_bytes >= sizeof(struct msg_commit))
		commits_take(world, source, message, now_ns);
	else if (takes(message, MSG_DETAIL_QUERY, sizeof(struct msg_detail_query)))
		requests_take(world, source, message, now_ns);
	else if (takes(message, MSG_CHARACTER_LOAD, sizeof(struct msg_character_load)))
		requests_take(world, source, message, now_ns);
	else if (takes(message, MSG_CHARACTER_SETTLE, sizeof(struct msg_character_settle)))
		requests_take(world, source, message, now_ns);
	else if (takes(message, MSG_NODES_QUERY, 0))
		nodes_query(world, now_ns);
	else if (message->type == MSG_PARTY_SAVE &&
		 message->payload_bytes >= sizeof(struct msg_party_save))
		parties_take(world, message);
	else if (takes(message, MSG_PARTY_RESTORE, sizeof(struct msg_party_restore)))
		parties_restore(world, message, now_ns);
	else if (takes(message, MSG_WORLD_FLUSH, 0))
		flush_take(world, now_ns);
	else if (message->type == MSG_AUDIT)
		audits_take(world, message);
	else if (takes(message, MSG_CORRECTION, sizeof(struct msg_correction)))
		corrections_take(world, message, now_ns);
	else if (takes(message, MSG_WRITES_QUERY, sizeof(struct msg_writes_query)))
		audits_writes_query(world, message);
	else
		world_count(world, WORLD_MESSAGES_UNKNOWN, 1);
}

static void handle_all(struct world *world, uint32_t source, const struct msg *messages,
	uint32_t slots, uint64_t now_ns)
{
	for (const struct msg *m = messages; m < messages + slots; m = msg_next(m))
		handle(world, source, m, now_ns);
}

/* Takes what stood in a shard's ring when the round began; what comes meanwhile is the next
 * round's. Returns false when it has to be left standing. */
static bool drain_shard(struct world *world, uint32_t source_index, bool *traffic, uint64_t now_ns)
{
	struct msg buffer[POP_SLOTS];
	struct source *source = &world->sources[source_index];
	uint32_t left = msg_ring_used(source->in), slots;

	while (left > 0) {
		if (source->free_count < POP_SLOTS || !saves_room(world) || !commits_room(source))
			return false;
		slots = msg_ring_pop(source->in, buffer, POP_SLOTS);
		if (slots == 0)
			break;
		*traffic = true;
		handle_all(world, source_index, buffer, slots, now_ns);
		left -= slots < left ? slots : left;
	}
	return true;
}

static void set_pace(struct world *world, bool traffic)
{
	uint32_t period = 1;

	world->idle_rounds = traffic ? 0 : world->idle_rounds + 1;
	for (size_t i = 0; i < sizeof(PACE) / sizeof(PACE[0]); i++) {
		if (world->idle_rounds >= PACE[i].rounds)
			period = PACE[i].period_ms;
	}
	if (period == world->drain_ms)
		return;
	world->drain_ms = period;
	uv_timer_start(&world->drain_timer, rounds_on_timer, period, period);
}

void rounds_start(struct world *world)
{
	world->drain_ms = 0;
	set_pace(world, true);
}

void rounds_on_timer(uv_timer_t *timer)
{
	struct world *world = timer->data;
	struct source *control = &world->sources[SOURCE_CONTROL];
	struct msg buffer[POP_SLOTS];
	uint64_t now_ns = mono_ns();
	uint32_t slots = 0;
	bool traffic, stalled = false;

	rounds_owed(world);
	/* Control's first out, last handled: see world.h, "order between rings". */
	if (control->free_count >= POP_SLOTS)
		slots = msg_ring_pop(control->in, buffer, POP_SLOTS);
	else
		world_count(world, WORLD_ROUNDS_STALLED, 1);
	traffic = slots > 0;
	for (uint32_t s = 1; s < world->source_count; s++)
		stalled |= !drain_shard(world, s, &traffic, now_ns);
	world->stalled = stalled;
	world_count(world, WORLD_ROUNDS_STALLED, stalled);
	requests_round(world, now_ns);
	handle_all(world, SOURCE_CONTROL, buffer, slots, now_ns);
	saves_pump(world, now_ns);
	commits_pump(world, now_ns);
	audits_pump(world, now_ns);
	parties_pump(world, now_ns);
	set_pace(world, traffic || stalled);
}

/* False: no memory for it. */
static bool keep_answer(struct request *r, const struct msg *message)
{
	size_t bytes = (size_t)message->slots * sizeof(*message);

	if (message == r->answer)
		return true;
	if (message->slots <= ANSWER_SLOTS) {
		memcpy(r->answer, message, bytes);
		return true;
	}
	r->large = malloc(bytes);
	if (r->large)
		memcpy(r->large, message, bytes);
	return r->large != NULL;
}

void rounds_answer(struct world *world, struct request *r, const struct msg *message)
{
	struct source *source = &world->sources[r->source];

	if (!TAILQ_EMPTY(&source->owed) || !msg_ring_push(source->out, message)) {
		if (!keep_answer(r, message)) {
			requests_refuse(world, r);
			return;
		}
		r->owed = true;
		TAILQ_INSERT_TAIL(&source->owed, r, owed_line);
		world_count(world, WORLD_ANSWERS_DELAYED, 1);
	}
	r->answered = true;
	requests_release(world, r);
}

void rounds_owed(struct world *world)
{
	struct source *control = &world->sources[SOURCE_CONTROL];
	struct msg message;
	struct msg_world_flushed *flushed = (void *)msg_begin(
		&message, MSG_WORLD_FLUSHED, HANDLE_NONE, sizeof(struct msg_world_flushed));

	for (uint32_t s = 0; s < world->source_count; s++) {
		struct source *source = &world->sources[s];
		struct request *r;

		while ((r = TAILQ_FIRST(&source->owed)) &&
			msg_ring_push(source->out, r->large ? r->large : r->answer)) {
			TAILQ_REMOVE(&source->owed, r, owed_line);
			r->owed = false;
			free(r->large);
			r->large = NULL;
			requests_release(world, r);
		}
		commits_owed(world, source);
	}
	*flushed = (struct msg_world_flushed){.unsaved = world->flushed_unsaved};
	while (world->flushed_owed > 0 && TAILQ_EMPTY(&control->owed) &&
		msg_ring_push(control->out, &message))
		world->flushed_owed--;
}
