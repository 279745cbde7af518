/* Where a player goes: from "the character is loaded" or "it has left that map for another" to
 * MSG_PLAYER_JOIN. What is needed for that stands in a journey, from a pool: only those under way
 * have one. */
#include <stdlib.h>
#include <string.h>

#include "common/check.h"
#include "common/handle.h"
#include "common/mono.h"
#include "control/admission/admission_internal.h"

/* Instances that one journey tries. Each refusal tells the director something it did not know. */
#define TRIES_MAX 4u

/* ---- journeys and places that were left: fixed pools ---- */

bool adm_places_init(struct adm *adm, uint32_t sessions)
{
	uint32_t max = sessions < ADM_JOURNEYS_MAX ? sessions : ADM_JOURNEYS_MAX;

	adm->journeys = calloc(max, sizeof(*adm->journeys));
	adm->lefts = calloc(max, sizeof(*adm->lefts));
	adm->pool_max = max;
	if (!adm->journeys || !adm->lefts || !map64_init(&adm->left_by_character, max))
		return false;
	for (uint32_t i = 0; i < max; i++)
		adm->journeys[i].next_free = i + 1 < max ? i + 1 : SESSION_NONE;
	return true;
}

void adm_places_fini(struct adm *adm)
{
	free(adm->journeys);
	free(adm->lefts);
	map64_fini(&adm->left_by_character);
}

static struct journey *journey_of(struct adm *adm, const struct session *session)
{
	return session->journey == SESSION_NONE ? NULL : &adm->journeys[session->journey];
}

struct journey *adm_journey_new(struct adm *adm, struct session *session)
{
	uint32_t index = adm->journey_free, next;

	CHECK(session->journey == SESSION_NONE);
	if (index == SESSION_NONE)
		return NULL;
	next = adm->journeys[index].next_free;
	adm->journeys[index] = (struct journey){.next_free = SESSION_NONE};
	adm->journey_free = next;
	session->journey = index;
	return &adm->journeys[index];
}

void adm_journey_end(struct adm *adm, struct session *session)
{
	struct journey *journey = journey_of(adm, session);

	if (!journey)
		return;
	journey->next_free = adm->journey_free;
	adm->journey_free = session->journey;
	session->journey = SESSION_NONE;
}

/* The oldest entry makes room: it is a kindness, not a promise. */
void adm_left_remember(struct adm *adm, const struct msg_player_left *body)
{
	uint32_t index = map64_get(&adm->left_by_character, body->character_id);

	if (index == MAP64_NONE) {
		index = adm->left_next;
		adm->left_next = (adm->left_next + 1) % adm->pool_max;
		if (adm->lefts[index].character_id)
			map64_remove(&adm->left_by_character, adm->lefts[index].character_id);
		if (!map64_put(&adm->left_by_character, body->character_id, index)) {
			adm->lefts[index].character_id = 0;
			return;
		}
	}
	adm->lefts[index] = *body;
}

static const struct msg_player_left *left_by(const struct adm *adm, uint64_t character_id)
{
	uint32_t index = map64_get(&adm->left_by_character, character_id);

	return index == MAP64_NONE ? NULL : &adm->lefts[index];
}

/* ---- which instance ---- */

void adm_instance_leave(struct adm *adm, struct session *session)
{
	if (session->instance != INSTANCE_NONE)
		director_leave(adm->director, session->instance);
	session->instance = INSTANCE_NONE;
}

static void send_join(
	struct adm *adm, struct session *session, struct journey *journey, uint64_t now_ns)
{
	struct msg_player_join *body = &journey->join;
	struct msg message[BODY_SLOTS];

	body->instance = session->instance;
	body->stay = session->stay;
	body->returning = journey->left != INSTANCE_NONE && journey->left == session->instance;
	session_move(&adm->table, session, SESSION_JOINING, now_ns);
	memcpy(msg_begin(message, MSG_PLAYER_JOIN, session->peer, sizeof(*body)), body,
		sizeof(*body));
	message->subject = body->session;
	adm->ops.to_shard(adm->ops.ctx, session->shard, message);
}

/* Before the first join, so that it is usually the first that the client hears. Its login has made
 * its old pass, if it came with one, too old: it has the new one by the time it hears of that. */
static void say_admitted(
	struct adm *adm, struct session *session, const struct journey *journey, uint64_t now_ns)
{
	uint8_t data[REPLY_BYTES_MAX];

	if (session->admitted)
		return;
	session->admitted = true;
	adm_count(adm, ADM_C_ADMITTED);
	adm_pass_give(adm, session, now_ns);
	adm_send_bytes(adm, session->peer, data,
		reply_admitted(data, journey->join.character_id, journey->join.map,
			adm->config->node.name));
}

/* A position means something on its own map only. */
static void aim(const struct adm *adm, struct journey *journey, uint32_t definition)
{
	const struct config_map *map = &adm->config->maps[definition];

	if (strncmp(journey->join.map, map->name, MAP_NAME_BYTES))
		journey->join.has_position = 0;
	memset(journey->join.map, 0, sizeof(journey->join.map));
	memcpy(journey->join.map, map->name, strnlen(map->name, MAP_NAME_BYTES - 1));
	journey->definition = definition;
}

/* A transfer that came to nothing: back to where it came from, and if that is no more either, to
 * the first map. Returns false when there is nowhere else. */
static bool turn_back(struct adm *adm, struct journey *journey)
{
	struct msg_player_join *body = &journey->join;
	uint32_t definition = DIRECTOR_NO_DEFINITION;

	if (!journey->transfer || journey->turned >= 2)
		return false;
	adm_count(adm, ADM_C_TURNED_BACK);
	if (journey->from != INSTANCE_NONE)
		body->back_reason = journey->reason ? journey->reason : SW_REASON_MAP_UNAVAILABLE;
	journey->avoid = INSTANCE_NONE;
	body->live = body->return_live; /* of no room any more */
	if (!journey->turned++ && body->return_map[0])
		definition = director_definition(adm->director, body->return_map);
	if (definition != DIRECTOR_NO_DEFINITION) {
		memcpy(body->map, body->return_map, sizeof(body->map));
		body->has_position = 1;
		body->x_mm = body->return_x_mm;
		body->y_mm = body->return_y_mm;
		body->heading = body->return_heading;
		journey->left = journey->from;
		aim(adm, journey, definition);
		return true;
	}
	journey->turned = 2;
	definition = director_definition(adm->director, adm->config->admission.first_map);
	if (definition == DIRECTOR_NO_DEFINITION)
		return false;
	aim(adm, journey, definition);
	return true;
}

void adm_place(struct adm *adm, struct session *session, uint64_t now_ns)
{
	struct journey *journey = journey_of(adm, session);
	enum director_choice choice;
	uint32_t id = INSTANCE_NONE;

	/* Whoever was in a room goes back into that one, or none of them. */
	if (journey->strict &&
		(journey->left == journey->avoid ||
			!director_takes_back(adm->director, journey->left, now_ns))) {
		journey->strict = false;
		if (!turn_back(adm, journey)) {
			adm_refuse(adm, session, ADM_C_REFUSED_NO_MAP, ADM_RETRY_MS, now_ns);
			return;
		}
	}
	do {
		choice = director_choose(adm->director, journey->definition, journey->left,
			journey->avoid, now_ns, &id);
	} while (choice == DIRECTOR_NONE && turn_back(adm, journey));
	if (choice == DIRECTOR_NONE) {
		if (journey->reason)
			adm_refuse_as(adm, session, ADM_C_REFUSED_MAP_REFUSED, journey->reason,
				ADM_RETRY_MS, now_ns);
		else
			adm_refuse(adm, session, ADM_C_REFUSED_NO_ROOM, ADM_RETRY_MS, now_ns);
		return;
	}
	if (choice == DIRECTOR_WAIT) {
		if (session->state != SESSION_PLACING)
			session_move(&adm->table, session, SESSION_PLACING, now_ns);
		return;
	}
	session->instance = id;
	CHECK(director_runs(adm->director, id, &session->shard));
	director_enter(adm->director, id);
	journey->tries++;
	say_admitted(adm, session, journey, now_ns);
	send_join(adm, session, journey, now_ns);
}

bool adm_place_again(struct adm *adm, struct session *session, uint32_t reason, uint64_t now_ns)
{
	struct journey *journey = journey_of(adm, session);
	uint32_t refused = session->instance;

	if (!journey || reason == SW_REASON_SERVER_STOPPING)
		return false;
	adm_instance_leave(adm, session);
	director_refused(adm->director, refused, now_ns);
	journey->avoid = refused;
	journey->reason = reason;
	if (journey->tries >= TRIES_MAX && !turn_back(adm, journey))
		return false;
	adm_place(adm, session, now_ns);
	return true;
}

void adm_place_waiting(struct adm *adm, uint64_t now_ns)
{
	struct session *session, *next;

	if (adm->changes_seen == director_changes(adm->director))
		return;
	adm->changes_seen = director_changes(adm->director);
	for (session = session_oldest(&adm->table, SESSION_PLACING); session; session = next) {
		next = session_at(&adm->table, session->next);
		adm_place(adm, session, now_ns);
	}
}

/* ---- the two ways in ---- */

static void name_copy(char to[CHARACTER_NAME_BYTES], const char *from)
{
	memcpy(to, from, CHARACTER_NAME_BYTES);
	to[CHARACTER_NAME_BYTES - 1] = 0;
}

void adm_place_loaded(struct adm *adm, struct session *session,
	const struct msg_character_loaded *loaded, uint64_t now_ns)
{
	const struct msg_player_left *left = left_by(adm, session->ticket.character_id);
	uint32_t saved = DIRECTOR_NO_DEFINITION, definition, shard;
	struct journey *journey;
	struct msg_player_join *body;

	if (loaded->map[0])
		saved = director_definition(adm->director, loaded->map);
	definition = saved != DIRECTOR_NO_DEFINITION
			     ? saved
			     : director_definition(adm->director, adm->config->admission.first_map);
	if (definition == DIRECTOR_NO_DEFINITION) {
		adm_refuse(adm, session, ADM_C_REFUSED_NO_MAP, ADM_RETRY_MS, now_ns);
		return;
	}
	journey = adm_journey_new(adm, session);
	if (!journey) {
		adm_refuse(adm, session, ADM_C_REFUSED_TABLE_FULL, ADM_RETRY_MS, now_ns);
		return;
	}
	session->epoch = loaded->epoch;
	body = &journey->join;
	*body = (struct msg_player_join){.session = session_handle(session),
		.character_id = session->ticket.character_id,
		.epoch = loaded->epoch,
		.realm_id = session->ticket.realm_id,
		.payload_bytes_max = session->payload_bytes_max};
	name_copy(body->name, loaded->name[0] ? loaded->name : session->ticket.name);
	name_copy(session->name, body->name);
	memcpy(body->map, adm->config->maps[definition].name, sizeof(body->map));
	if (saved != DIRECTOR_NO_DEFINITION && loaded->has_position) {
		body->has_position = 1;
		body->x_mm = loaded->x_mm;
		body->y_mm = loaded->y_mm;
		body->heading = loaded->heading;
		memcpy(body->return_map, body->map, sizeof(body->return_map));
		body->return_x_mm = loaded->x_mm;
		body->return_y_mm = loaded->y_mm;
		body->return_heading = loaded->heading;
	}
	journey->definition = definition;
	if (left) {
		body->live = left->return_live;
		body->return_live = left->return_live;
	}
	if (left && director_runs(adm->director, left->instance, &shard)) {
		uint32_t was = instance_definition(adm->config, instance_slot(left->instance));

		journey->left = left->instance;
		/* What is saved of someone in a room is where it came from; the room itself, if it
		 * still runs, is known here alone. */
		if (adm->config->maps[was].kind == CONFIG_MAP_ROOM) {
			journey->transfer = true; /* there is somewhere else to go */
			journey->strict = true;
			aim(adm, journey, was);
			body->has_position = 1;
			body->x_mm = left->x_mm;
			body->y_mm = left->y_mm;
			body->heading = left->heading;
			body->live = left->live;
		}
	}
	adm_place(adm, session, now_ns);
}

void adm_place_transfer(struct adm *adm, struct session *session,
	const struct msg_player_transfer *transfer, uint64_t now_ns)
{
	const char *to = transfer->map[0] ? transfer->map : adm->config->admission.first_map;
	struct journey *journey = adm_journey_new(adm, session);
	struct msg_player_join *body;

	adm_instance_leave(adm, session);
	session->stay++;
	if (!journey) {
		adm_refuse(adm, session, ADM_C_REFUSED_TABLE_FULL, 0, now_ns);
		return;
	}
	body = &journey->join;
	*body = (struct msg_player_join){.session = session_handle(session),
		.character_id = session->ticket.character_id,
		.epoch = session->epoch,
		.x_mm = transfer->x_mm,
		.y_mm = transfer->y_mm,
		.has_position = transfer->has_position,
		.realm_id = session->ticket.realm_id,
		.payload_bytes_max = session->payload_bytes_max,
		.heading = transfer->heading,
		.return_x_mm = transfer->return_x_mm,
		.return_y_mm = transfer->return_y_mm,
		.return_heading = transfer->return_heading,
		.input_sequence = transfer->input_sequence,
		.live = transfer->live,
		.return_live = transfer->return_live};
	memcpy(body->map, to, strnlen(to, MAP_NAME_BYTES - 1));
	memcpy(body->return_map, transfer->return_map, sizeof(body->return_map));
	name_copy(body->name, transfer->name);
	journey->transfer = true;
	journey->from = transfer->instance;
	if (adm->config->maps[instance_definition(adm->config, instance_slot(transfer->instance))]
			.kind == CONFIG_MAP_ROOM) {
		/* Home, if that is where it goes. */
		const struct msg_player_left *left = left_by(adm, body->character_id);

		journey->left = left ? left->instance : INSTANCE_NONE;
	} else {
		const struct msg_player_left here = {.session = body->session,
			.character_id = body->character_id,
			.instance = transfer->instance,
			.live = transfer->live,
			.return_live = transfer->return_live};

		adm_left_remember(adm, &here);
	}
	journey->definition = director_definition(adm->director, to);
	if (journey->definition == DIRECTOR_NO_DEFINITION && !turn_back(adm, journey)) {
		adm_refuse(adm, session, ADM_C_REFUSED_NO_MAP, 0, now_ns);
		return;
	}
	adm_place(adm, session, now_ns);
}
