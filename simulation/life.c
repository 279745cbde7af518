#include "simulation/life.h"

#include "common/check.h"
#include "common/log_events.h"
#include "proto/client.pb-c.h"
#include "simulation/combat.h"
#include "simulation/commit.h"
#include "simulation/dialogue.h"
#include "simulation/entity.h"
#include "simulation/happening.h"
#include "simulation/interest.h"
#include "simulation/list.h"
#include "simulation/live.h"
#include "simulation/match/match.h"
#include "simulation/party.h"
#include "simulation/portal.h"
#include "simulation/quest.h"
#include "simulation/send.h"
#include "simulation/trading.h"
#include "simulation/transfer.h"
#include "simulation/view.h"

#define PAYLOAD_BYTES_MIN 256u /* ENet's least MTU leaves more than 500 */

static uint32_t *seat_of(struct sim_shard *s, uint64_t peer)
{
	uint32_t worker = handle_owner(peer), index = handle_index(peer);

	if (peer == HANDLE_NONE || worker >= s->links.workers || index >= s->peers_max)
		return NULL;
	return &s->seats[worker * s->peers_max + index];
}

struct sim_map *sim_seat_find(struct sim_shard *s, uint64_t peer, uint32_t *slot)
{
	const uint32_t *seat = seat_of(s, peer);
	struct sim_map *m;

	if (!seat || *seat == SIM_NONE)
		return NULL;
	m = s->by_number[*seat >> SIM_SEAT_BITS];
	*slot = *seat & ((1u << SIM_SEAT_BITS) - 1);
	return sim_player(m, *slot)->peer == peer ? m : NULL;
}

void sim_seat_prefetch(struct sim_shard *s, uint64_t peer)
{
	const uint32_t *seat = seat_of(s, peer);

	if (seat && *seat != SIM_NONE)
		sim_fetch_player(s->by_number[*seat >> SIM_SEAT_BITS],
			*seat & ((1u << SIM_SEAT_BITS) - 1));
}

/* The instance that the join names, or any of that map where it names none. */
static struct sim_map *map_of(struct sim_shard *s, const struct msg_player_join *join)
{
	struct sim_map *m = s->by_number[instance_slot(join->instance)];

	if (join->instance != INSTANCE_NONE)
		return m && m->id == join->instance ? m : NULL;
	for (uint32_t i = 0; i < s->map_count; i++)
		if (!strncmp(s->maps[i]->config.name, join->map, MAP_NAME_BYTES))
			return s->maps[i];
	return NULL;
}

uint32_t sim_join_begin(struct sim_shard *s, uint64_t peer, const struct msg_player_join *join)
{
	struct sim_map *m = map_of(s, join);
	uint32_t *seat = seat_of(s, peer), slot;
	struct sim_player *p;

	if (s->stopping)
		return SW_REASON_SERVER_STOPPING;
	if (m && sim_match_refuses(m, join->returning))
		return sim_match_refuses(m, join->returning);
	if (!m || !seat || m->players >= m->config.players_max || s->players >= s->players_max ||
		!m->free_count)
		return SW_REASON_MAP_UNAVAILABLE;
	if (*seat != SIM_NONE) {
		uint32_t at;
		struct sim_map *other = s->by_number[*seat >> SIM_SEAT_BITS];

		at = *seat & ((1u << SIM_SEAT_BITS) - 1);
		/* The same peer twice is refused. An older one in the same place is gone, though
		 * the word of it has not come yet. */
		if (sim_player(other, at)->peer == peer)
			return SW_REASON_MAP_UNAVAILABLE;
		sim_player(other, at)->peer_gone = true;
		sim_leave_want(other, at, SW_REASON_NONE, MSG_DISCONNECT);
	}
	slot = m->free_slots[m->free_head];
	m->free_head = (m->free_head + 1) % m->player_slots;
	m->free_count--;
	p = sim_player(m, slot);
	*p = (struct sim_player){
		.peer = peer,
		.session = join->session,
		.character_id = join->character_id,
		.epoch = join->epoch,
		.realm_id = join->realm_id,
		.payload_bytes_max = join->payload_bytes_max < PAYLOAD_BYTES_MIN
					     ? PAYLOAD_BYTES_MIN
					     : join->payload_bytes_max,
		.state = SIM_PLAYER_JOINING,
		.join_x_mm = join->x_mm,
		.join_y_mm = join->y_mm,
		.join_heading = join->heading,
		.join_has_position = join->has_position != 0,
		.returning = join->returning != 0,
		.stay = join->stay,
		.received_sequence = join->input_sequence,
		.applied_sequence = join->input_sequence,
		.return_x_mm = join->return_x_mm,
		.return_y_mm = join->return_y_mm,
		.return_heading = join->return_heading,
		.back_reason = join->back_reason,
		.live = join->live,
		.return_live = join->return_live,
		.malformed = join->live.malformed,
		.speed_mm_per_s = SIM_WALK_MM_PER_S,
		.rescan = true,
		.input_credit = SIM_INPUT_BANK,
	};
	if (m->config.kind == CONFIG_MAP_ROOM && !p->returning) {
		/* A room is a world of its own. What it came with waits outside. */
		p->return_live = join->live;
		p->live = (struct msg_live){0};
	}
	p->input_credit = sim_live_credit(s, m, &join->live);
	sim_party_came(m, slot);
	p->view_max = sim_view_max(s, m, p);
	memcpy(p->return_map, join->return_map, MAP_NAME_BYTES);
	memcpy(p->name, join->name, CHARACTER_NAME_BYTES);
	p->name_bytes = (uint8_t)strnlen(p->name, CHARACTER_NAME_BYTES - 1);
	*seat = m->number << SIM_SEAT_BITS | slot;
	m->players++;
	s->players++;
	sim_life_push(m, slot);
	return 0;
}

void sim_leave_want(struct sim_map *m, uint32_t slot, uint32_t reason, uint32_t mode)
{
	struct sim_player *p = sim_player(m, slot);

	if (p->leave_wanted || (p->state != SIM_PLAYER_JOINING && p->state != SIM_PLAYER_PRESENT))
		return;
	p->leave_wanted = true;
	p->leave_reason = reason;
	p->disconnect_mode = mode;
	sim_life_push(m, slot);
}

static void place(struct sim_shard *s, struct sim_map *m, uint32_t slot)
{
	struct sim_player *p = sim_player(m, slot);
	int32_t x_mm = p->join_x_mm, y_mm = p->join_y_mm;
	bool inside = p->join_has_position && sim_position_inside(m, x_mm, y_mm) &&
		      !sim_live_stood_up(m, slot);

	if (inside && sim_position_legal(m, x_mm, y_mm)) {
		p->saved_x_mm = x_mm;
		p->saved_y_mm = y_mm;
		p->saved_heading = p->join_heading;
	} else {
		/* A wall may have been built where it stood. */
		if (!inside || !sim_position_clamp(m, &x_mm, &y_mm)) {
			sim_spawn_place(m, &x_mm, &y_mm);
			p->join_heading = 0;
		}
		p->saved_x_mm = -1; /* what was saved is not where it stands */
	}
	p->state = SIM_PLAYER_PRESENT;
	m->purses[slot] = (struct sim_purse){0};
	m->bags[slot] = (struct sim_bag){0};
	sim_quests_clear(m, slot);
	sim_live_body(m, slot);
	sim_entity_appear(m, slot, SIM_PLAYER, x_mm, y_mm, p->join_heading);
	sim_portal_arrive(m, slot);
	p->owed |= SIM_OWE_ROUTE | SIM_OWE_JOINED | SIM_OWE_ANNOUNCE;
	sim_lazy_push(m, &m->lazy, slot);
	sim_count(s, SIM_JOINS, 1);
	sim_happens_enter(m, slot);
	if (m->match.rule)
		m->match.rule->joined(m, m->match.state, slot, p->returning);
}

static void seat_give(struct sim_shard *s, const struct sim_map *m, uint32_t slot)
{
	uint32_t *seat = seat_of(s, m->players_table[slot].peer);

	if (*seat == (m->number << SIM_SEAT_BITS | slot))
		*seat = SIM_NONE;
}

/* It goes nowhere from here: it comes again as it is, by another connection. */
static void live_ends_here(const struct sim_map *m, uint32_t slot, struct sim_player *p)
{
	p->live = sim_live_take(m, slot);
	p->live.malformed = p->return_live.malformed = 0;
}

/* Its peer is gone, so it goes nowhere: what was to be a transfer ends as a leave. */
static void transfer_drop(struct sim_shard *s, struct sim_map *m, uint32_t slot)
{
	struct sim_player *p = sim_player(m, slot);

	p->transferring = false;
	live_ends_here(m, slot, p);
	p->owed &= (uint16_t) ~(SIM_OWE_UNROUTE | SIM_OWE_TRANSFER);
	p->owed |= SIM_OWE_LEFT;
	seat_give(s, m, slot);
}

static void leave(struct sim_shard *s, struct sim_map *m, uint32_t slot)
{
	struct sim_player *p = sim_player(m, slot);

	sim_happens_leave(m, slot);
	if (m->match.rule)
		m->match.rule->left(m, m->match.state, slot);
	p->state = SIM_PLAYER_LEAVING;
	p->return_live = sim_live_home(m, slot);
	p->live = p->return_live;
	p->owed &= (uint16_t) ~(SIM_OWE_ROUTE | SIM_OWE_JOINED);
	/* A shard that stops sends nobody on: there is no place left to go to. */
	if (p->transferring && !s->stopping) {
		/* It keeps its seat, where MSG_ROUTE_END finds it. */
		p->owed |= SIM_OWE_SAVE | SIM_OWE_COMMITS | SIM_OWE_UNROUTE | SIM_OWE_TRANSFER;
		sim_count(s, SIM_TRANSFERS, 1);
	} else {
		if (p->transferring) {
			p->leave_reason = SW_REASON_SERVER_STOPPING;
			p->disconnect_mode = MSG_DISCONNECT_LATER;
		}
		p->transferring = false;
		live_ends_here(m, slot, p);
		seat_give(s, m, slot);
		p->owed |= SIM_OWE_SAVE | SIM_OWE_COMMITS | SIM_OWE_LEFT;
		if (!p->peer_gone)
			p->owed |= SIM_OWE_DISCONNECT;
	}
	sim_trade_left(m, slot, false);
	sim_dialogue_end(m, slot);
	sim_party_left(m, slot);
	sim_view_forget(m, slot);
	sim_entity_vanish(m, slot);
	sim_count(s, SIM_LEAVES, 1);
}

/* ---- what is owed ---- */

static bool tell_route(struct sim_shard *s, const struct sim_player *p)
{
	struct msg message;
	struct msg_peer_route route = {.route = s->index + 1};

	memcpy(msg_begin(&message, MSG_PEER_ROUTE, p->peer, sizeof(route)), &route, sizeof(route));
	return sim_send_order(s, &message);
}

static bool tell_disconnect(struct sim_shard *s, const struct sim_player *p)
{
	struct msg message;
	struct msg_peer_disconnect end = {.mode = p->disconnect_mode, .data = p->leave_reason};

	memcpy(msg_begin(&message, MSG_PEER_DISCONNECT, p->peer, sizeof(end)), &end, sizeof(end));
	return sim_send_order(s, &message);
}

static bool tell_joined(struct sim_shard *s, struct sim_map *m, uint32_t slot)
{
	const struct sim_entity *e = &m->entities[slot];
	Sw__Joined joined = SW__JOINED__INIT;

	joined.actor_id = e->wire_id;
	joined.map = m->config.name;
	joined.width_mm = m->rules.width_mm;
	joined.height_mm = m->rules.height_mm;
	joined.x_mm = e->x_mm;
	joined.y_mm = e->y_mm;
	joined.heading = e->heading;
	joined.tick = m->tick;
	joined.tick_hz = m->config.tick_hz;
	joined.speed_mm_per_s = sim_player(m, slot)->speed_mm_per_s;
	joined.stay = sim_player(m, slot)->stay;
	joined.ground_hash = m->rules.ground ? m->rules.ground->hash : 0;
	joined.radius_mm = m->rules.radius_mm;
	return sim_send_reliable(s, m, slot, SW_CHANNEL_SESSION,
		(uint32_t)sw__joined__pack(&joined, sim_send_begin(s, SW_MSG_JOINED)));
}

static bool tell_control_joined(struct sim_shard *s, struct sim_map *m, uint32_t slot)
{
	const struct sim_player *p = sim_player(m, slot);
	struct msg message;
	struct msg_player_joined joined = {.session = p->session,
		.actor_id = m->entities[slot].wire_id,
		.map_index = m->index};
	uint8_t *payload = msg_begin(&message, MSG_PLAYER_JOINED, p->peer, sizeof(joined));

	message.subject = p->session;
	memcpy(payload, &joined, sizeof(joined));
	return sim_push(s, s->links.to_control, &message);
}

static bool tell_control_left(struct sim_shard *s, const struct sim_map *m, uint32_t slot)
{
	const struct sim_player *p = &m->players_table[slot];
	const struct sim_entity *e = &m->entities[slot];
	struct msg message[3];
	struct msg_player_left left = {.session = p->session,
		.character_id = p->character_id,
		.instance = m->id,
		.x_mm = e->x_mm,
		.y_mm = e->y_mm,
		.heading = e->heading,
		.live = p->live,
		.return_live = p->return_live};
	uint8_t *payload = msg_begin(message, MSG_PLAYER_LEFT, p->peer, sizeof(left));

	_Static_assert(MSG_HEAD_BYTES + sizeof(left) <= sizeof(message), "three slots");
	message->subject = p->session;
	memcpy(payload, &left, sizeof(left));
	return sim_push(s, s->links.to_control, message);
}

bool sim_save_push(struct sim_shard *s, struct sim_map *m, uint32_t slot, bool leaving)
{
	struct sim_player *p = sim_player(m, slot);
	const struct sim_entity *e = &m->entities[slot];
	struct msg message[2];
	bool room = m->config.kind == CONFIG_MAP_ROOM;
	struct msg_position_save save = {.character_id = p->character_id,
		.epoch = p->epoch,
		.realm_id = p->realm_id,
		.x_mm = room ? p->return_x_mm : e->x_mm,
		.y_mm = room ? p->return_y_mm : e->y_mm,
		.heading = room ? p->return_heading : e->heading,
		.leaving = leaving,
		.stay = p->stay};
	uint8_t *payload = lane_shard_begin(message, MSG_POSITION_SAVE, p->peer, sizeof(save));

	_Static_assert(MSG_HEAD_BYTES + sizeof(save) <= sizeof(message), "two slots");
	memcpy(save.map, room ? p->return_map : m->config.name, MAP_NAME_BYTES);
	message->subject = p->character_id;
	memcpy(payload, &save, sizeof(save));
	if (!sim_push(s, s->links.to_world, message)) {
		sim_count(s, SIM_SAVES_WAITED, 1);
		if (!s->saves_held)
			sim_log(s, LOG_EVENT_SAVES_HELD, s->index, m->life.count + 1, 0, 0);
		s->saves_held = true;
		return false;
	}
	s->saves_held = false;
	p->saved_x_mm = e->x_mm;
	p->saved_y_mm = e->y_mm;
	p->saved_heading = e->heading;
	sim_count(s, SIM_SAVES, 1);
	return true;
}

static void pay(struct sim_shard *s, struct sim_map *m, uint32_t slot)
{
	struct sim_player *p = sim_player(m, slot);

	if (p->owed & SIM_OWE_ROUTE && tell_route(s, p))
		p->owed &= (uint16_t)~SIM_OWE_ROUTE;
	if ((p->owed & (SIM_OWE_ROUTE | SIM_OWE_JOINED)) == SIM_OWE_JOINED) {
		/* A refusal here means SLOW: the player leaves, and nothing is owed to it. */
		tell_joined(s, m, slot);
		p->owed &= (uint16_t)~SIM_OWE_JOINED;
		if (p->back_reason)
			sim_portal_turned_back(s, m, slot, p->back_reason);
	}
	if (p->owed & SIM_OWE_ANNOUNCE && tell_control_joined(s, m, slot))
		p->owed &= (uint16_t)~SIM_OWE_ANNOUNCE;
	if (p->owed & SIM_OWE_SAVE && sim_save_push(s, m, slot, p->state == SIM_PLAYER_LEAVING))
		p->owed &= (uint16_t)~SIM_OWE_SAVE;
	if (p->owed & SIM_OWE_COMMITS && sim_commit_settled(m, slot))
		p->owed &= (uint16_t)~SIM_OWE_COMMITS;
	if ((p->owed & (SIM_OWE_ANNOUNCE | SIM_OWE_SAVE | SIM_OWE_COMMITS | SIM_OWE_LEFT)) ==
			SIM_OWE_LEFT &&
		tell_control_left(s, m, slot))
		p->owed &= (uint16_t)~SIM_OWE_LEFT;
	if (p->owed & SIM_OWE_UNROUTE && sim_transfer_unroute(s, p))
		p->owed &= (uint16_t)~SIM_OWE_UNROUTE;
	if ((p->owed & (SIM_OWE_ANNOUNCE | SIM_OWE_SAVE | SIM_OWE_COMMITS | SIM_OWE_TRANSFER)) ==
			SIM_OWE_TRANSFER &&
		p->route_ended && sim_transfer_tell(s, m, slot)) {
		p->owed &= (uint16_t)~SIM_OWE_TRANSFER;
		seat_give(s, m, slot);
	}
	if (p->owed & SIM_OWE_DISCONNECT && tell_disconnect(s, p))
		p->owed &= (uint16_t)~SIM_OWE_DISCONNECT;
}

bool sim_life_step(struct sim_shard *s, struct sim_map *m, uint32_t slot)
{
	struct sim_player *p = sim_player(m, slot);

	if (p->state == SIM_PLAYER_JOINING)
		place(s, m, slot);
	if (p->leave_wanted && p->state == SIM_PLAYER_PRESENT)
		leave(s, m, slot);
	if (p->transferring && p->peer_gone && p->owed & SIM_OWE_TRANSFER)
		transfer_drop(s, m, slot);
	if (p->owed)
		pay(s, m, slot);
	if (p->state == SIM_PLAYER_LEAVING && !p->owed) {
		p->state = SIM_PLAYER_GONE;
		sim_trade_left(m, slot, true);
		m->players--;
		s->players--;
	}
	if (p->state == SIM_PLAYER_GONE && !m->entities[slot].known_by && !p->in_lazy) {
		p->state = SIM_PLAYER_FREE;
		m->free_slots[(m->free_head + m->free_count++) % m->player_slots] = slot;
	}
	return p->state == SIM_PLAYER_FREE ||
	       (p->state == SIM_PLAYER_PRESENT && !p->owed && !p->leave_wanted);
}
