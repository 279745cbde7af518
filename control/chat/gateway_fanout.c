/* Lines for many: pieces of at most CHAT_TO_MAX members of one worker, channels in turn. */
#include <stdlib.h>
#include <string.h>

#include "common/handle.h"
#include "common/mono.h"
#include "control/chat/gateway_internal.h"

/* Members at one look: the rings of who speaks are looked at in between. */
#define MEMBERS_PER_TICK 65536u
/* Fan-outs of one channel that may wait; its owner keeps what comes behind (chat_gateway_may). */
#define CHANNEL_JOBS 4u

static struct fanout *job_at(const struct chat_gateway *gateway, uint32_t index)
{
	return (struct fanout *)(gateway->jobs + index * gateway->job_bytes);
}

bool chat_fanout_init(struct chat_gateway *gateway)
{
	uint32_t max = gateway->config->chat.fanouts_max;

	gateway->packet_max = gateway->config->chat.text_bytes_max + 160;
	gateway->job_bytes = (sizeof(struct fanout) + gateway->packet_max + 7) & ~(size_t)7;
	gateway->jobs = calloc(max, gateway->job_bytes);
	if (!gateway->jobs)
		return false;
	for (uint32_t i = 0; i < max; i++)
		job_at(gateway, i)->next = i + 1 < max ? i + 1 : NONE;
	gateway->busy_head = gateway->busy_tail = NONE;
	return true;
}

static void busy_append(struct chat_gateway *gateway, struct room *room)
{
	uint32_t index = (uint32_t)(room - gateway->rooms);

	room->next = NONE;
	room->prev = gateway->busy_tail;
	*(room->prev == NONE ? &gateway->busy_head : &gateway->rooms[room->prev].next) = index;
	gateway->busy_tail = index;
}

static void busy_unlink(struct chat_gateway *gateway, struct room *room)
{
	*(room->prev == NONE ? &gateway->busy_head : &gateway->rooms[room->prev].next) = room->next;
	*(room->next == NONE ? &gateway->busy_tail : &gateway->rooms[room->next].prev) = room->prev;
}

bool chat_fanout_add(struct chat_gateway *gateway, struct room *room, const uint8_t *packet,
	size_t bytes, uint64_t now_ns)
{
	uint32_t index = gateway->job_free;
	struct fanout *job;

	if (!bytes || bytes > gateway->packet_max ||
		gateway->job_count == gateway->config->chat.fanouts_max)
		return false;
	job = job_at(gateway, index);
	gateway->job_free = job->next;
	gateway->job_count++;
	job->next = NONE;
	job->bytes = (uint32_t)bytes;
	job->taken_ns = now_ns;
	memcpy(job->packet, packet, bytes);
	if (!room->jobs++) {
		room->job_head = index;
		room->begun = false;
		busy_append(gateway, room);
	} else {
		job_at(gateway, room->job_tail)->next = index;
	}
	room->job_tail = index;
	return true;
}

static uint32_t *cursors_of(const struct chat_gateway *gateway, const struct room *room)
{
	return gateway->cursors + (size_t)(room - gateway->rooms) * gateway->workers;
}

void chat_fanout_unlist(struct chat_gateway *gateway, struct room *room, uint32_t worker,
	uint32_t number, uint32_t next)
{
	uint32_t *cursor = cursors_of(gateway, room) + worker;

	if (*cursor == number)
		*cursor = next;
}

static void job_end(struct chat_gateway *gateway, struct room *room)
{
	uint32_t index = room->job_head;
	struct fanout *job = job_at(gateway, index);

	room->job_head = job->next;
	room->begun = false;
	job->next = gateway->job_free;
	gateway->job_free = index;
	gateway->job_count--;
	if (!--room->jobs)
		busy_unlink(gateway, room);
}

void chat_fanout_drop(struct chat_gateway *gateway, struct room *room)
{
	while (room->jobs)
		job_end(gateway, room);
}

bool chat_gateway_may(const struct chat_gateway *gateway, uint64_t channel)
{
	const struct room *room = chat_room_of(gateway, channel);

	return (!room || room->jobs < CHANNEL_JOBS) &&
	       gateway->job_count < gateway->config->chat.fanouts_max;
}

bool chat_gateway_broadcast(struct chat_gateway *gateway, uint64_t channel, const uint8_t *packet,
	size_t bytes, uint64_t now_ns)
{
	struct room *room = chat_room_of(gateway, channel);

	return !room || chat_fanout_add(gateway, room, packet, bytes, now_ns);
}

static void begin(struct chat_gateway *gateway, struct room *room, uint64_t now_ns)
{
	memcpy(cursors_of(gateway, room),
		gateway->heads + (size_t)(room - gateway->rooms) * gateway->workers,
		gateway->workers * sizeof(uint32_t));
	job_at(gateway, room->job_head)->began_ns = now_ns;
	room->begun = true;
	if (room->members > counter_get(&gateway->counters[CHAT_C_MEMBERS_MOST]))
		counter_put(&gateway->counters[CHAT_C_MEMBERS_MOST], room->members);
}

/* One piece for one worker. Returns the members of it; 0: there are none, or no room. */
static uint32_t piece(
	struct chat_gateway *gateway, const struct fanout *job, uint32_t *cursor, uint32_t worker)
{
	const uint32_t most = CHAT_TO_MAX;
	struct msg *line = gateway->line.slot, *to = gateway->to.slot;
	uint8_t *at = (uint8_t *)to + MSG_HEAD_BYTES;
	uint32_t count = 0;

	if (*cursor == NONE ||
		gateway->ops.room(gateway->ops.ctx, worker) < msg_slots(job->bytes) + MSG_SLOTS_MAX)
		return 0;
	for (; *cursor != NONE && count < most; count++) {
		const struct membership *m = membership_at(gateway, *cursor);

		memcpy(at + count * sizeof(m->peer), &m->peer, sizeof(m->peer));
		*cursor = m->next;
	}
	memcpy(msg_begin(line, MSG_CHAT_LINE, HANDLE_NONE, job->bytes), job->packet, job->bytes);
	line->subject = job->taken_ns;
	msg_begin(to, MSG_CHAT_TO, HANDLE_NONE, count * (uint32_t)sizeof(uint64_t));
	gateway->ops.push(gateway->ops.ctx, worker, line);
	gateway->ops.push(gateway->ops.ctx, worker, to);
	chat_count(gateway->counters, CHAT_C_RECIPIENTS, count);
	chat_count(gateway->counters, CHAT_C_BYTES, (uint64_t)count * job->bytes);
	return count;
}

/* A piece for each worker of the channel's first fan-out. Returns the members of them. */
static uint32_t turn(struct chat_gateway *gateway, struct room *room, uint64_t now_ns)
{
	const struct fanout *job = job_at(gateway, room->job_head);
	uint32_t *cursors = cursors_of(gateway, room), members = 0;
	bool left = false;

	if (!room->begun)
		begin(gateway, room, now_ns);
	for (uint32_t w = 0; w < gateway->workers; w++) {
		members += piece(gateway, job, &cursors[w], w);
		left |= cursors[w] != NONE;
	}
	if (left && now_ns - job->began_ns >= CHAT_FANOUT_MS * NS_PER_MS) {
		memset(cursors, 0xff, gateway->workers * sizeof(*cursors));
		chat_count(gateway->counters, CHAT_C_DROPPED_FANOUT, 1);
		left = false;
	}
	if (!left) {
		chat_count(gateway->counters, CHAT_C_FANNED_OUT, 1);
		job_end(gateway, room);
	}
	return members;
}

uint32_t chat_fanout_tick(struct chat_gateway *gateway, uint64_t now_ns)
{
	uint32_t members = 0, last, round = 1;

	while (round && gateway->busy_head != NONE && members < MEMBERS_PER_TICK) {
		round = 0;
		last = gateway->busy_tail;
		for (;;) {
			struct room *room = &gateway->rooms[gateway->busy_head];
			bool end = gateway->busy_head == last;
			uint32_t jobs = room->jobs, did;

			busy_unlink(gateway, room);
			busy_append(gateway, room);
			did = turn(gateway, room, now_ns);
			members += did;
			round += did || room->jobs < jobs;
			if (end || members >= MEMBERS_PER_TICK)
				break;
		}
	}
	counter_put(&gateway->counters[CHAT_C_FANOUTS], gateway->job_count);
	return gateway->job_count;
}
