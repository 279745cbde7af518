#include "simulation/replay/show.h"

#include <inttypes.h>
#include <string.h>

#include "proto/message_types.h"
#include "simulation/life.h"
#include "simulation/state.h"

static const struct sim_map *map_of(const struct show *show, uint32_t instance)
{
	const struct sim_shard *s = show->view->shard;

	for (uint32_t i = 0; i < s->map_count; i++)
		if (s->maps[i]->id == instance)
			return s->maps[i];
	return NULL;
}

const char *show_map_name(const struct show *show, uint32_t instance)
{
	const struct sim_map *m = map_of(show, instance);

	return m ? m->config.name : "?";
}

bool show_wants(const struct show *show, uint32_t instance)
{
	return !show->map[0] || !strcmp(show->map, show_map_name(show, instance));
}

void show_players(const struct show *show, uint32_t instance)
{
	static const char *const states[] = {"free", "joining", "present", "leaving", "gone"};
	const struct sim_map *m = map_of(show, instance);

	for (uint32_t slot = 0; m && slot < m->player_slots; slot++) {
		const struct sim_player *p = &m->players_table[slot];
		const struct sim_entity *e = &m->entities[slot];

		if (p->state == SIM_PLAYER_FREE ||
			(show->character && p->character_id != show->character))
			continue;
		fprintf(show->out,
			"%s tick %u player %" PRIu64 " \"%.*s\" %s actor %u at %d %d heading %u "
			"speed %u input %u/%u queued %u credit %u sees %u\n",
			m->config.name, m->tick, p->character_id, (int)p->name_bytes, p->name,
			states[p->state], e->wire_id, e->x_mm, e->y_mm, e->heading,
			e->moving_mm_per_s, p->applied_sequence, p->received_sequence,
			p->input_count, p->input_credit, p->known_count);
	}
}

static const char *type_name(uint32_t type)
{
	static const char *const names[MSG_TYPES] = {
		[MSG_PEER_PACKET] = "packet",
		[MSG_PEER_GONE] = "peer-gone",
		[MSG_ROUTE_END] = "route-end",
		[MSG_PEER_SEND] = "send",
		[MSG_PEER_DISCONNECT] = "disconnect",
		[MSG_PEER_ROUTE] = "route",
		[MSG_PLAYER_JOIN] = "join",
		[MSG_PLAYER_REMOVE] = "remove",
		[MSG_PLAYER_RELOAD] = "reload",
		[MSG_PLAYER_JOINED] = "joined",
		[MSG_PLAYER_REFUSED] = "refused",
		[MSG_PLAYER_LEFT] = "left",
		[MSG_PLAYER_TRANSFER] = "transfer",
		[MSG_INSTANCE_OPEN] = "instance-open",
		[MSG_INSTANCE_STATE] = "instance-state",
		[MSG_SCRIPT_ORDER] = "script-order",
		[MSG_SCRIPT_STATE] = "script-state",
		[MSG_SHARD_STOP] = "stop",
		[MSG_SHARD_STOPPED] = "stopped",
		[MSG_DETAIL_QUERY] = "detail-query",
		[MSG_DETAIL_RESULT] = "detail-result",
		[MSG_POSITION_SAVE] = "save",
		[MSG_COMMIT] = "commit",
		[MSG_COMMIT_RESULT] = "commit-result",
	};

	return type < MSG_TYPES && names[type] ? names[type] : "?";
}

/* Whose message it is, 0 if nobody's that plays now. */
static uint64_t character_of(const struct show *show, const struct msg *message)
{
	/* Looking for a seat changes nothing. */
	struct sim_shard *s = (struct sim_shard *)show->view->shard;
	struct msg_player_join join;
	uint32_t slot;
	struct sim_map *m;

	if (message->type == MSG_PLAYER_JOIN && message->payload_bytes == sizeof(join)) {
		memcpy(&join, msg_payload(message), sizeof(join));
		return join.character_id;
	}
	if (message->type == MSG_POSITION_SAVE)
		return message->subject;
	m = sim_seat_find(s, message->peer, &slot);
	return m ? sim_player(m, slot)->character_id : 0;
}

static void show_message(
	const struct show *show, const char *arrow, uint32_t end, const struct msg *m)
{
	static const char *const ends[] = {"control", "world", "worker"};
	uint64_t character = character_of(show, m);
	bool client = m->type == MSG_PEER_PACKET || m->type == MSG_PEER_SEND;

	if (!show->open || (show->character && character != show->character))
		return;
	fprintf(show->out, "%s %s", arrow, ends[end < RECORDING_WORKER ? end : RECORDING_WORKER]);
	if (end >= RECORDING_WORKER)
		fprintf(show->out, " %u", end - RECORDING_WORKER);
	fprintf(show->out, " %s %u bytes", type_name(m->type), m->payload_bytes);
	if (client && m->payload_bytes)
		fprintf(show->out, " type %u channel %u", msg_payload(m)[0], m->channel);
	if (character)
		fprintf(show->out, " player %" PRIu64, character);
	if (m->peer != HANDLE_NONE)
		fprintf(show->out, " peer %" PRIx64, m->peer);
	if (m->type == MSG_PEER_PACKET) { /* a client's words, whole: they are short */
		fputs(" hex ", show->out);
		for (uint32_t i = 0; i < m->payload_bytes && i < 128; i++)
			fprintf(show->out, "%02x", msg_payload(m)[i]);
	}
	fputc('\n', show->out);
}

void show_in(void *ctx, uint32_t source, const struct msg *message)
{
	const struct show *show = ctx;

	if (show->in)
		show_message(show, "<-", source, message);
}

void show_out(void *ctx, uint32_t to, const struct msg *message)
{
	const struct show *show = ctx;

	if (show->sent)
		show_message(show, "->", to, message);
}
