#include "simulation/transfer.h"

#include "simulation/life.h"
#include "simulation/list.h"
#include "simulation/send.h"

static void copy_name(char to[MAP_NAME_BYTES], const char *from)
{
	size_t bytes = strnlen(from, MAP_NAME_BYTES - 1);

	memset(to, 0, MAP_NAME_BYTES);
	memcpy(to, from, bytes);
}

bool sim_player_transfer(
	struct sim_map *m, uint32_t slot, const char *map, const struct sim_spawn *spawn)
{
	struct sim_player *p = sim_player(m, slot);
	bool home = !map[0];

	if (p->state != SIM_PLAYER_PRESENT || p->leave_wanted)
		return false;
	if (home && m->config.kind != CONFIG_MAP_ROOM)
		return false; /* it is there */
	p->transferring = true;
	p->route_ended = false;
	copy_name(p->next_map, home ? p->return_map : map);
	p->join_has_position = home ? p->return_map[0] != '\0' : spawn->has_position;
	p->join_x_mm = home ? p->return_x_mm : spawn->x_mm;
	p->join_y_mm = home ? p->return_y_mm : spawn->y_mm;
	p->join_heading = home ? p->return_heading : spawn->heading;
	sim_leave_want(m, slot, SW_REASON_NONE, MSG_DISCONNECT);
	return true;
}

void sim_transfer_route_ended(struct sim_shard *s, uint64_t peer)
{
	uint32_t slot;
	struct sim_map *m = sim_seat_find(s, peer, &slot);

	/* Else: another shard has taken a present player's route, which only a peer handle that
	 * came around could explain; the check of routes takes it back. */
	if (m && sim_player(m, slot)->transferring &&
		sim_player(m, slot)->state == SIM_PLAYER_LEAVING &&
		!(sim_player(m, slot)->owed & SIM_OWE_UNROUTE))
		sim_player(m, slot)->route_ended = true;
}

bool sim_transfer_unroute(struct sim_shard *s, const struct sim_player *p)
{
	struct msg message;
	struct msg_peer_route route = {.route = 0};

	memcpy(msg_begin(&message, MSG_PEER_ROUTE, p->peer, sizeof(route)), &route, sizeof(route));
	return sim_send_order(s, &message);
}

bool sim_transfer_tell(struct sim_shard *s, const struct sim_map *m, uint32_t slot)
{
	const struct sim_player *p = &m->players_table[slot];
	const struct sim_entity *e = &m->entities[slot];
	bool room = m->config.kind == CONFIG_MAP_ROOM;
	struct msg message[4];
	struct msg_player_transfer body = {.session = p->session,
		.character_id = p->character_id,
		.instance = m->id,
		.input_sequence = p->received_sequence,
		.x_mm = p->join_x_mm,
		.y_mm = p->join_y_mm,
		.heading = p->join_heading,
		.has_position = p->join_has_position,
		.return_x_mm = room ? p->return_x_mm : e->x_mm,
		.return_y_mm = room ? p->return_y_mm : e->y_mm,
		.return_heading = room ? p->return_heading : e->heading,
		.live = p->live,
		.return_live = p->return_live};
	uint8_t *payload = msg_begin(message, MSG_PLAYER_TRANSFER, p->peer, sizeof(body));

	_Static_assert(MSG_HEAD_BYTES + sizeof(body) <= sizeof(message), "four slots");
	memcpy(body.map, p->next_map, MAP_NAME_BYTES);
	memcpy(body.return_map, room ? p->return_map : m->config.name, MAP_NAME_BYTES);
	memcpy(body.name, p->name, CHARACTER_NAME_BYTES);
	message->subject = p->session;
	memcpy(payload, &body, sizeof(body));
	return sim_push(s, s->links.to_control, message);
}
