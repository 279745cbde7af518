/* Stage 4: party events. What control has said of the parties of this map's players was put into
 * the map's inbox when the ring was drained; here it takes effect, in the order in which it came,
 * and those whom it concerns are told. Before that the parties of players that have come, or whose
 * party is to be asked for again, are asked for; after it each party with two or more on the map
 * is told once a second how its members are, by hash bucket of its place in the table: written
 * once, sent to each, and only if something has changed (R14). */
#include "proto/client.pb-c.h"
#include "simulation/life.h"
#include "simulation/party.h"
#include "simulation/send.h"
#include "simulation/wire.h"

/* ---- what clients are told ---- */

static uint8_t *wire_u64(uint8_t *at, uint32_t field, uint64_t value)
{
	if (!value)
		return at;
	*at++ = (uint8_t)(field << 3);
	for (; value >= 0x80; value >>= 7)
		*at++ = (uint8_t)(value | 0x80);
	*at++ = (uint8_t)value;
	return at;
}

/* PartyState; written into the shard's scratch, from which it can be sent more than once. */
static uint32_t write_state(struct sim_map *m, uint32_t party, uint32_t change, uint64_t subject_id)
{
	const struct sim_party *p = &m->parties.table.parties[party];
	const struct sim_party_member *members = sim_party_members(&m->parties.table, party);
	uint8_t *start = sim_send_begin(m->shard, SW_MSG_PARTY_STATE), *at = start;

	_Static_assert(PARTY_MEMBERS_MAX * 96 + 64 < MSG_PAYLOAD_MAX, "a state fits one message");
	at = wire_u64(at, 1, p->id);
	at = wire_u64(at, 2, p->version);
	at = wire_u64(at, 3, p->leader_id);
	for (uint32_t i = 0; i < p->member_count; i++) {
		uint8_t body[96], *end = wire_u64(body, 1, members[i].character_id);

		end = wire_bytes(end, 2, members[i].name, members[i].name_bytes);
		end = wire_u32(end, 3, members[i].online);
		if (members[i].map_bytes)
			end = wire_bytes(end, 4, members[i].map, members[i].map_bytes);
		at = wire_bytes(at, 4, body, (uint32_t)(end - body));
	}
	at = wire_u32(at, 5, change);
	at = wire_u64(at, 6, subject_id);
	return (uint32_t)(at - start);
}

static void tell_none(
	struct sim_map *m, uint32_t slot, uint64_t version, uint32_t change, uint64_t subject_id)
{
	uint8_t *start = sim_send_begin(m->shard, SW_MSG_PARTY_STATE), *at = start;

	at = wire_u64(at, 2, version);
	at = wire_u32(at, 5, change);
	at = wire_u64(at, 6, subject_id);
	sim_send_reliable(m->shard, m, slot, SW_CHANNEL_SESSION, (uint32_t)(at - start));
}

/* ---- what control says ---- */

/* version: of the newest word on its membership. */
static void lost(
	struct sim_map *m, uint32_t slot, uint64_t version, uint32_t change, uint64_t subject_id)
{
	m->parties.table.seats[slot].version = version;
	if (m->parties.table.seats[slot].party == SIM_PARTY_NONE)
		return;
	sim_party_detach(&m->parties.table, slot);
	tell_none(m, slot, version, change, subject_id);
}

static const struct msg_party_member *in_news(
	const struct sim_party_news *news, uint64_t character_id)
{
	for (uint32_t i = 0; i < news->head.member_count; i++)
		if (news->members[i].character_id == character_id)
			return &news->members[i];
	return NULL;
}

static bool is_target(const struct sim_map *m, uint32_t slot, const struct sim_party_news *news)
{
	for (uint32_t i = 0; i < news->head.target_count; i++)
		if (news->targets[i].character_id == m->parties.table.seats[slot].character_id)
			return true;
	return false;
}

/* The players here whom the newer members leave out. */
static void leave_out(struct sim_map *m, uint32_t party, const struct sim_party_news *news)
{
	struct sim_party_table *table = &m->parties.table;
	uint32_t slots[PARTY_MEMBERS_MAX], count = 0;

	for (uint32_t i = 0; i < table->parties[party].member_count; i++) {
		const struct sim_party_member *member = &sim_party_members(table, party)[i];

		if (member->slot != SIM_PARTY_NONE && !in_news(news, member->character_id))
			slots[count++] = member->slot;
	}
	/* Whom it is not said to has left before this version, maybe for another party: the word on
	 * that is of an older version, and still to come or missed, so it is asked for. Until then
	 * what was said last of it stays the newest word, for its client, too. */
	for (uint32_t i = 0; i < count; i++) {
		if (is_target(m, slots[i], news)) {
			lost(m, slots[i], news->head.version, news->head.change,
				news->head.subject_id);
			continue;
		}
		lost(m, slots[i], table->seats[slots[i]].version, PARTY_CHANGE_NONE, 0);
		sim_party_ask(m, slots[i]);
	}
}

/* The player that a target names. SIM_NONE: it is not here, or not any more. */
static uint32_t target_slot(struct sim_map *m, const struct msg_party_target *target)
{
	uint32_t slot;
	const struct sim_map *at = sim_seat_find(m->shard, target->peer, &slot);

	if (!at)
		return SIM_NONE; /* counted at the drain */
	if (at != m)
		return SIM_NONE; /* another map's inbox has it, too */
	if (sim_player(m, slot)->session == target->session &&
		sim_player(m, slot)->character_id == target->character_id &&
		sim_is_present(m, slot) && !sim_player(m, slot)->leave_wanted)
		return slot;
	sim_count(m->shard, SIM_PARTY_WRONG_TARGET, 1);
	return SIM_NONE;
}

static uint32_t tell_here(struct sim_map *m, uint32_t party, const struct msg_party_state *head)
{
	const struct sim_party *p = &m->parties.table.parties[party];
	const struct sim_party_member *members = sim_party_members(&m->parties.table, party);
	uint32_t bytes = write_state(m, party, head->change, head->subject_id), told = 0;

	for (uint32_t i = 0; i < p->member_count; i++) {
		if (members[i].slot == SIM_PARTY_NONE)
			continue;
		m->parties.table.seats[members[i].slot].version = p->version;
		sim_send_reliable(m->shard, m, members[i].slot, SW_CHANNEL_SESSION, bytes);
		told++;
	}
	return told;
}

static uint32_t on_target(struct sim_map *m, uint32_t slot, uint32_t party, bool fresh,
	const struct sim_party_news *news)
{
	struct sim_party_table *table = &m->parties.table;
	struct sim_party_seat *seat = &table->seats[slot];
	uint64_t version = news->head.version;
	bool member = party != SIM_PARTY_NONE &&
		      sim_party_member_of(table, party, seat->character_id) != NULL;

	/* A newer word of the same party is here. That one is a member of it is the newest word on
	 * that; that one is not says nothing of other parties. */
	if (member && table->parties[party].version > version)
		version = table->parties[party].version;
	if (version < seat->version) {
		sim_count(m->shard, SIM_PARTY_OLD, 1);
		return 0;
	}
	if (!member) {
		if (version == seat->version)
			sim_count(m->shard, SIM_PARTY_REPEATED, 1);
		lost(m, slot, version, news->head.change, news->head.subject_id);
		return 1;
	}
	if (seat->party == party) {
		if (!fresh)
			sim_count(m->shard, SIM_PARTY_REPEATED, 1);
		return 0; /* has been told, if there was anything to tell */
	}
	sim_party_attach(table, party, slot);
	seat->version = version;
	if (!fresh)
		sim_send_reliable(m->shard, m, slot, SW_CHANNEL_SESSION,
			write_state(m, party, PARTY_CHANGE_NONE, 0));
	return 1;
}

static uint32_t on_state(struct sim_map *m, const struct msg *message)
{
	struct sim_party_table *table = &m->parties.table;
	struct sim_party_news news;
	uint32_t party, sent = 0;
	bool fresh = false;

	if (!sim_party_news_read(message, &news) || news.head.member_count > table->members_max ||
		!news.head.member_count != !news.head.leader_id) {
		sim_count(m->shard, SIM_PARTY_ODD, 1);
		return SIM_COST_MESSAGE;
	}
	sim_count(m->shard, SIM_PARTY_STATES, 1);
	party = news.head.party_id ? sim_party_find(table, news.head.party_id) : SIM_PARTY_NONE;
	if (party != SIM_PARTY_NONE && news.head.version > table->parties[party].version)
		leave_out(m, party, &news);
	party = SIM_PARTY_NONE;
	if (news.head.member_count)
		party = sim_party_put(table, &news.head, news.members, &fresh);
	for (uint32_t i = 0; i < news.head.target_count; i++) {
		uint32_t slot = target_slot(m, &news.targets[i]);

		if (slot != SIM_NONE)
			sent += on_target(m, slot, party, fresh, &news);
	}
	if (party == SIM_PARTY_NONE)
		return SIM_COST_MESSAGE + sent * SIM_COST_SEND;
	if (fresh)
		sent += tell_here(m, party, &news.head);
	sim_party_drop_empty(table, party);
	return SIM_COST_MESSAGE + (sent + 1) * SIM_COST_SEND;
}

/* The player of an answer or an invitation. */
static uint32_t own_slot(struct sim_map *m, const struct msg *message, uint64_t character_id)
{
	return target_slot(
		m, &(struct msg_party_target){message->peer, message->subject, character_id});
}

static void on_answer(struct sim_map *m, const struct msg *message)
{
	struct msg_party_answer body;
	Sw__PartyAnswer words = SW__PARTY_ANSWER__INIT;
	uint32_t slot;

	memcpy(&body, msg_payload(message), sizeof(body));
	slot = own_slot(m, message, body.character_id);
	if (slot == SIM_NONE)
		return;
	words.request = body.request;
	words.act = (Sw__PartyAct)body.act;
	words.result = (Sw__PartyResult)body.result;
	sim_send_reliable(m->shard, m, slot, SW_CHANNEL_SESSION,
		(uint32_t)sw__party_answer__pack(
			&words, sim_send_begin(m->shard, SW_MSG_PARTY_ANSWER)));
}

static void on_invite(struct sim_map *m, const struct msg *message)
{
	struct msg_party_invite body;
	Sw__PartyInvite words = SW__PARTY_INVITE__INIT;
	uint32_t slot;

	memcpy(&body, msg_payload(message), sizeof(body));
	slot = own_slot(m, message, body.character_id);
	if (slot == SIM_NONE)
		return;
	body.name[CHARACTER_NAME_BYTES - 1] = 0;
	words.character_id = body.other_id;
	words.name = body.name;
	words.left_ms = body.left_ms;
	words.declined = body.declined != 0;
	sim_send_reliable(m->shard, m, slot, SW_CHANNEL_SESSION,
		(uint32_t)sw__party_invite__pack(
			&words, sim_send_begin(m->shard, SW_MSG_PARTY_INVITE)));
	sim_count(m->shard, SIM_PARTY_INVITES, 1);
}

static uint32_t on_message(struct sim_map *m, const struct msg *message)
{
	if (message->type == MSG_PARTY_STATE)
		return on_state(m, message);
	if (message->type == MSG_PARTY_ANSWER &&
		message->payload_bytes == sizeof(struct msg_party_answer))
		on_answer(m, message);
	else if (message->type == MSG_PARTY_INVITE &&
		 message->payload_bytes == sizeof(struct msg_party_invite))
		on_invite(m, message);
	else
		sim_count(m->shard, SIM_PARTY_ODD, 1);
	return SIM_COST_MESSAGE + SIM_COST_SEND;
}

/* ---- how the members are ---- */

static uint32_t tell_live(struct sim_map *m, uint32_t party)
{
	struct sim_party *p = &m->parties.table.parties[party];
	const struct sim_party_member *members = sim_party_members(&m->parties.table, party);
	uint8_t *known = sim_party_live_of(m, party);
	uint8_t *start = sim_send_begin(m->shard, SW_MSG_PARTY_LIVE),
		*at = wire_u64(start, 1, p->id);
	uint32_t bytes;

	for (uint32_t i = 0; i < p->member_count; i++) {
		uint32_t slot = members[i].slot;
		uint8_t body[SIM_PARTY_LIVE_BYTES], *end;

		if (slot == SIM_PARTY_NONE || !sim_is_present(m, slot))
			continue;
		end = wire_u64(body, 1, members[i].character_id);
		end = wire_u32(end, 2, m->entities[slot].wire_id);
		end = wire_s32(end, 3, m->entities[slot].x_mm);
		end = wire_s32(end, 4, m->entities[slot].y_mm);
		if (sim_player(m, slot)->detail == SIM_DETAIL_READY) {
			end = wire_u32(end, 5, m->bodies[slot].health);
			end = wire_u32(end, 6, m->bodies[slot].health_max);
			end = wire_u32(end, 7, sim_player(m, slot)->level);
		}
		at = wire_bytes(at, 2, body, (uint32_t)(end - body));
	}
	bytes = (uint32_t)(at - start);
	if (bytes == p->live_bytes && !memcmp(known, start, bytes))
		return p->here * SIM_COST_RECORD;
	memcpy(known, start, bytes);
	p->live_bytes = bytes;
	for (uint32_t i = 0; i < p->member_count; i++)
		if (members[i].slot != SIM_PARTY_NONE && sim_is_present(m, members[i].slot))
			sim_send_reliable(m->shard, m, members[i].slot, SW_CHANNEL_SESSION, bytes);
	sim_count(m->shard, SIM_PARTY_LIVES, 1);
	return p->here * (SIM_COST_RECORD + SIM_COST_SEND);
}

/* ---- the stage ---- */

static bool ask(struct sim_map *m, uint32_t slot)
{
	const struct sim_player *p = sim_player(m, slot);
	struct msg message[3];
	struct msg_party_request body = {.character_id = p->character_id, .act = PARTY_ACT_ARRIVE};

	if (p->state != SIM_PLAYER_PRESENT || p->leave_wanted)
		return true; /* nobody to ask for any more */
	memcpy(body.map, m->config.name, sizeof(body.map));
	memcpy(msg_begin(message, MSG_PARTY_REQUEST, p->peer, sizeof(body)), &body, sizeof(body));
	message->subject = p->session;
	if (!sim_push(m->shard, m->shard->links.to_control, message))
		return false;
	sim_count(m->shard, SIM_PARTY_ASKS, 1);
	return true;
}

/* A resync's share of this tick. */
static void resync_some(struct sim_map *m)
{
	uint32_t share = m->player_slots / (SIM_PARTY_RESYNC_S * m->config.tick_hz) + 1;

	for (; share && m->parties.resync_next < m->player_slots; share--, m->parties.resync_next++)
		if (sim_is_present(m, m->parties.resync_next) &&
			sim_player(m, m->parties.resync_next)->detail == SIM_DETAIL_READY)
			sim_party_ask(m, m->parties.resync_next);
}

enum { START, ASK, NEWS, LIVE };

bool sim_stage_party(struct sim_shard *s, struct sim_map *m, struct sim_slice *slice)
{
	struct sim_parties *parties = &m->parties;
	const struct msg *message;

	if (m->step == START) {
		resync_some(m);
		m->quota = parties->ask_count;
		m->step = ASK;
	}
	while (m->step == ASK && m->quota) {
		uint32_t slot = parties->asks[parties->ask_head];

		if (slice->left <= 0)
			return false;
		if (!ask(m, slot))
			break; /* the ring is full: next tick */
		parties->table.seats[slot].ask = false;
		parties->ask_head = (parties->ask_head + 1) % m->player_slots;
		parties->ask_count--;
		m->quota--;
		slice->left -= SIM_COST_SEND;
	}
	if (m->step == ASK) {
		m->quota =
			parties->inbox.messages; /* what comes meanwhile waits for the next tick */
		m->step = NEWS;
	}
	while (m->step == NEWS && m->quota) {
		if (slice->left <= 0)
			return false;
		message = sim_outbox_peek(&parties->inbox);
		slice->left -= on_message(m, message);
		sim_outbox_drop(&parties->inbox);
		m->quota--;
	}
	if (m->step == NEWS) {
		m->step = LIVE;
		m->cursor = m->beat % m->config.tick_hz;
	}
	for (; parties->table.count && m->cursor < m->player_slots;
		m->cursor += m->config.tick_hz) {
		if (slice->left <= 0)
			return false;
		slice->left -= SIM_COST_SLOT;
		if (parties->table.parties[m->cursor].id &&
			parties->table.parties[m->cursor].here > 1)
			slice->left -= tell_live(m, m->cursor);
	}
	counter_put(&s->counters[SIM_PARTIES], parties->table.count);
	return true;
}
