#include "simulation/party.h"

#include "proto/client.pb-c.h"
#include "simulation/combat.h"
#include "simulation/life.h"
#include "simulation/send.h"

#define SAME_ACT(id, value, name)                                                                  \
	_Static_assert((int)PARTY_ACT_##id == (int)SW__PARTY_ACT__ACT_##id, "the wire's value");
PARTY_ACTS(SAME_ACT)
#define SAME_RESULT(id, value, name, meaning)                                                      \
	_Static_assert((int)PARTY_##id == (int)SW__PARTY_RESULT__PARTY_##id, "the wire's value");
PARTY_RESULTS(SAME_RESULT)

size_t sim_parties_bytes(uint32_t player_slots, uint32_t members_max)
{
	return sim_party_table_bytes(player_slots, members_max) +
	       sim_party_inbox_slots(player_slots) * MSG_SLOT_BYTES +
	       (size_t)player_slots * sizeof(uint32_t) +
	       (size_t)player_slots * members_max * SIM_PARTY_LIVE_BYTES;
}

void sim_parties_init(struct sim_map *m, void *memory)
{
	uint8_t *at = memory;
	uint32_t members_max = m->parties.members_max;

	sim_party_table_init(&m->parties.table, at, m->player_slots, members_max);
	at += sim_party_table_bytes(m->player_slots, members_max);
	m->parties.inbox = (struct sim_outbox){
		.slots = (void *)at, .size = sim_party_inbox_slots(m->player_slots)};
	at += (size_t)m->parties.inbox.size * MSG_SLOT_BYTES;
	m->parties.live = at;
	at += (size_t)m->player_slots * members_max * SIM_PARTY_LIVE_BYTES;
	m->parties.asks = (void *)at;
	m->parties.resync_next = m->player_slots;
}

void sim_party_came(struct sim_map *m, uint32_t slot)
{
	struct sim_party_seat *seat = &m->parties.table.seats[slot];
	bool ask = seat->ask; /* the slot's last player may have left it in the queue */

	*seat = (struct sim_party_seat){.character_id = sim_player(m, slot)->character_id,
		.party = SIM_PARTY_NONE,
		.token_beat = m->beat,
		.tokens = SIM_PARTY_TOKENS,
		.ask = ask};
}

void sim_party_left(struct sim_map *m, uint32_t slot)
{
	sim_party_detach(&m->parties.table, slot);
}

void sim_party_ask(struct sim_map *m, uint32_t slot)
{
	struct sim_party_seat *seat = &m->parties.table.seats[slot];

	if (seat->ask)
		return;
	seat->ask = true;
	m->parties.asks[(m->parties.ask_head + m->parties.ask_count++) % m->player_slots] = slot;
}

/* ---- what players ask ---- */

static void answer(struct sim_shard *s, struct sim_map *m, uint32_t slot, uint64_t request,
	uint32_t act, enum party_result result)
{
	Sw__PartyAnswer words = SW__PARTY_ANSWER__INIT;

	words.request = request;
	words.act = (Sw__PartyAct)act;
	words.result = (Sw__PartyResult)result;
	sim_send_reliable(s, m, slot, SW_CHANNEL_SESSION,
		(uint32_t)sw__party_answer__pack(&words, sim_send_begin(s, SW_MSG_PARTY_ANSWER)));
}

/* As many as were saved up, and one more each second. */
static bool take_token(struct sim_map *m, struct sim_party_seat *seat)
{
	uint32_t more = (m->beat - seat->token_beat) / m->config.tick_hz;

	seat->token_beat += more * m->config.tick_hz;
	seat->tokens = (uint8_t)(more < SIM_PARTY_TOKENS - seat->tokens ? seat->tokens + more
									: SIM_PARTY_TOKENS);
	if (!seat->tokens)
		return false;
	seat->tokens--;
	return true;
}

static bool push_request(struct sim_shard *s, const struct sim_player *p, uint32_t act,
	const struct sim_party_words *words, const char *map)
{
	struct msg message[3];
	struct msg_party_request body = {.character_id = p->character_id, .act = act};

	_Static_assert(sizeof(body) + MSG_HEAD_BYTES <= sizeof(message), "three slots");
	if (words) {
		body.request = words->request;
		body.target_id = words->character_id;
		memcpy(body.name, words->name, sizeof(body.name));
	}
	if (map)
		memcpy(body.map, map, sizeof(body.map));
	memcpy(msg_begin(message, MSG_PARTY_REQUEST, p->peer, sizeof(body)), &body, sizeof(body));
	message->subject = p->session;
	return sim_push(s, s->links.to_control, message);
}

void sim_party_request(struct sim_shard *s, struct sim_map *m, uint32_t slot,
	const struct sim_client_message *message)
{
	const struct sim_party_words *words = &message->party;
	struct sim_player *p = sim_player(m, slot);
	enum party_result result = PARTY_DONE;

	if (!take_token(m, &m->parties.table.seats[slot]))
		result = PARTY_TOO_OFTEN;
	else if (!words->request || !words->act || words->act >= PARTY_ACT_COUNT)
		result = PARTY_NO_SUCH_ACT;
	else if (!push_request(s, p, words->act, words, NULL))
		result = PARTY_UNAVAILABLE; /* the ring is full; the same number will do again */
	if (result == PARTY_DONE) {
		sim_count(s, SIM_PARTY_REQUESTS, 1);
		return;
	}
	sim_count(s,
		result == PARTY_TOO_OFTEN     ? SIM_PARTY_TOO_OFTEN
		: result == PARTY_UNAVAILABLE ? SIM_PARTY_HELD
					      : SIM_PARTY_NO_SUCH_ACT,
		1);
	if (p->refusals >= SIM_REFUSALS_PER_TICK) {
		sim_count(s, SIM_ACTIONS_DROPPED, 1);
		return;
	}
	p->refusals++;
	answer(s, m, slot, words->request, words->act, result);
}

/* ---- from control, at the drain ---- */

/* False: the inbox is full. */
static bool keep(struct sim_map *m, const struct msg *message)
{
	if (sim_outbox_put(&m->parties.inbox, message))
		return true;
	sim_count(m->shard, SIM_PARTY_LOST, 1);
	return false;
}

static void resync(struct sim_shard *s)
{
	for (uint32_t i = 0; i < s->map_count; i++)
		s->maps[i]->parties.resync_next = 0;
	sim_count(s, SIM_PARTY_RESYNCS, 1);
}

/* Once into the inbox of each map that has somebody whom it concerns; where that is full, the party
 * of each of those is asked for. */
static uint32_t state_came(struct sim_shard *s, const struct msg *message)
{
	struct sim_party_news news;
	const struct sim_map *given[PARTY_MEMBERS_MAX];
	bool kept[PARTY_MEMBERS_MAX];
	uint32_t count = 0;

	if (!sim_party_news_read(message, &news)) {
		sim_count(s, SIM_MESSAGES_UNKNOWN, 1);
		return SIM_COST_MESSAGE;
	}
	for (uint32_t i = 0; i < news.head.target_count; i++) {
		uint32_t slot, k = 0;
		struct sim_map *m = sim_seat_find(s, news.targets[i].peer, &slot);

		if (!m) {
			sim_count(s, SIM_PARTY_WRONG_TARGET, 1);
			continue;
		}
		while (k < count && given[k] != m)
			k++;
		if (k == count) {
			given[count] = m;
			kept[count++] = keep(m, message);
		}
		if (!kept[k])
			sim_party_ask(m, slot);
	}
	return SIM_COST_MESSAGE + (news.head.target_count + message->slots) * SIM_COST_CELL;
}

uint32_t sim_party_from_control(struct sim_shard *s, const struct msg *message)
{
	uint32_t slot;
	struct sim_map *m;

	if (message->type == MSG_PARTY_STATE)
		return state_came(s, message);
	if (message->type == MSG_PARTY_RESYNC) {
		resync(s);
		return SIM_COST_MESSAGE;
	}
	m = sim_seat_find(s, message->peer, &slot);
	if (m)
		keep(m, message); /* else its player asks again with the same number */
	else
		sim_count(s, SIM_PARTY_WRONG_TARGET, 1);
	return SIM_COST_MESSAGE;
}

bool sim_party_news_read(const struct msg *message, struct sim_party_news *news)
{
	const uint8_t *at = msg_payload(message);
	uint64_t bytes;

	if (message->payload_bytes < sizeof(news->head))
		return false;
	memcpy(&news->head, at, sizeof(news->head));
	if (news->head.member_count > PARTY_MEMBERS_MAX ||
		news->head.target_count > PARTY_MEMBERS_MAX)
		return false;
	bytes = sizeof(news->head) + news->head.member_count * sizeof(*news->members) +
		news->head.target_count * sizeof(*news->targets);
	/* Slots are aligned, and so are the bodies, whose sizes are multiples of 8. */
	news->members = (const void *)(at + sizeof(news->head));
	news->targets = (const void *)(news->members + news->head.member_count);
	return message->payload_bytes == bytes;
}

/* ---- what a party means on a map ---- */

bool sim_party_same(const struct sim_map *m, uint32_t a, uint32_t b)
{
	const struct sim_party_seat *seats = m->parties.table.seats;

	return seats[a].party != SIM_PARTY_NONE && seats[a].party == seats[b].party;
}

static bool is_near(struct sim_map *m, uint32_t slot, int32_t x_mm, int32_t y_mm)
{
	const struct sim_entity *e = &m->entities[slot];
	int64_t dx = (int64_t)e->x_mm - x_mm, dy = (int64_t)e->y_mm - y_mm;
	int64_t reach = m->parties.share_range_mm;

	return sim_is_present(m, slot) && !sim_player(m, slot)->leave_wanted &&
	       sim_player(m, slot)->detail == SIM_DETAIL_READY && m->bodies[slot].health &&
	       dx * dx + dy * dy <= reach * reach;
}

void sim_party_near(struct sim_map *m, uint32_t owner, int32_t x_mm, int32_t y_mm,
	struct sim_party_group *group)
{
	const struct sim_party_table *table = &m->parties.table;
	uint32_t party = table->seats[owner].party;
	const struct sim_party_member *members;

	*group = (struct sim_party_group){.count = 1, .slot = {owner}};
	if (party == SIM_PARTY_NONE)
		return;
	members = sim_party_members(table, party);
	sim_work(m, table->parties[party].member_count * SIM_COST_CANDIDATE);
	for (uint32_t i = 0; i < table->parties[party].member_count; i++)
		if (members[i].slot != SIM_PARTY_NONE && members[i].slot != owner &&
			is_near(m, members[i].slot, x_mm, y_mm))
			group->slot[group->count++] = members[i].slot;
}

static void earn(struct sim_map *m, uint32_t slot, uint32_t experience)
{
	m->purses[slot].experience_due += experience;
	sim_player(m, slot)->tell |= SIM_TELL_STATUS;
}

void sim_party_share(struct sim_map *m, const struct sim_party_group *group, uint32_t experience)
{
	uint32_t part = m->parties.share ? experience / group->count : 0;

	for (uint32_t i = 1; i < group->count && part; i++) {
		earn(m, group->slot[i], part);
		sim_count(m->shard, SIM_PARTY_SHARES, 1);
	}
	earn(m, group->slot[0], experience - (group->count - 1) * part);
}
