/* Proves with seeded random traffic, with a shard, a world and a Redis that answer rightly but when
 * they please, that a character is never on two sessions at once and that nothing is left of anyone
 * in the end. SW_SEED=n repeats a run. */
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <time.h>

#include "control/admission/admission_testing.h"

#define PEERS      12
#define CHARACTERS 4

static uint64_t random_state;

static uint32_t chance(uint32_t n)
{
	random_state ^= random_state << 13;
	random_state ^= random_state >> 7;
	random_state ^= random_state << 17;
	return (uint32_t)(random_state >> 11) % n;
}

struct model {
	uint64_t peers[PEERS]; /* 0: not connected */
	uint32_t generation[PEERS];
	struct sent queue[512]; /* what admission sent and nobody has worked on yet */
	uint32_t queued;
	uint64_t on_shard[CHARACTERS + 1]; /* the session that has the character, 0: none */
	uint32_t shard[CHARACTERS + 1], instance[CHARACTERS + 1], stay[CHARACTERS + 1];
	uint32_t moves, rooms_ended;
	uint64_t sent[64]; /* to the other node */
	uint32_t sent_count;
	uint64_t present[CHARACTERS + 1];
};

static struct model model;

static bool runs(uint32_t instance, uint32_t shard)
{
	struct director_status status;

	director_status(director, instance_slot(instance), &status);
	return status.id == instance && status.running && status.shard == shard;
}

static void says_left(int character, uint64_t session)
{
	const struct msg_player_left left = {.session = session,
		.character_id = (uint64_t)character,
		.instance = model.instance[character]};
	struct msg message[3];

	memcpy(msg_begin(message, MSG_PLAYER_LEFT, 0, sizeof(left)), &left, sizeof(left));
	adm_from_shard(adm, model.shard[character], message, now_ns);
}

/* Somebody goes through a portal, to a map that may be full, closing or unknown. */
static void model_move(void)
{
	static const char *const maps[] = {"meadow", "caves", "arena", "nowhere", ""};
	int c = 1 + (int)chance(CHARACTERS);
	struct msg_player_transfer body = {.session = model.on_shard[c],
		.character_id = (uint64_t)c,
		.instance = model.instance[c],
		.return_map = "meadow"};
	struct msg message[4];

	if (!model.on_shard[c] || !runs(model.instance[c], model.shard[c]))
		return;
	strcpy(body.map, maps[chance(5)]);
	model.on_shard[c] = 0;
	model.moves++;
	memcpy(msg_begin(message, MSG_PLAYER_TRANSFER, 0, sizeof(body)), &body, sizeof(body));
	adm_from_shard(adm, model.shard[c], message, now_ns);
}

/* Another node has a character, or wants it. */
static void model_oust(void)
{
	int c = 1 + (int)chance(CHARACTERS);

	if (model.on_shard[c])
		adm_oust(adm, model.on_shard[c], (uint64_t)c, now_ns);
}

/* A room closes, and ends once nobody is in it. */
static void model_room(void)
{
	uint32_t slot = chance(director_slots(director));
	struct director_status status;
	struct msg message;
	struct msg_instance body;
	bool empty = true;

	director_status(director, slot, &status);
	if (config.maps[status.definition].kind != CONFIG_MAP_ROOM || !status.running)
		return;
	for (int c = 1; c <= CHARACTERS; c++)
		empty &= !model.on_shard[c] || model.instance[c] != status.id;
	body = (struct msg_instance){status.id, empty       ? INSTANCE_ENDED
						: chance(2) ? INSTANCE_LOCKED
							    : INSTANCE_CLOSING};
	model.rooms_ended += empty;
	memcpy(msg_begin(&message, MSG_INSTANCE_STATE, 0, sizeof(body)), &body, sizeof(body));
	adm_from_shard(adm, status.shard, &message, now_ns);
}

/* It is tried again until there is a place, or it waits no more. */
static void let_in_one(struct sent *entry)
{
	let_in();
	if (!in_queue(entry->session))
		return;
	assert_true(counted(ADM_C_PLACES) >= config.admission.players_max);
	assert_true(model.queued < 512);
	model.queue[model.queued++] = *entry;
}

/* Let in at another node: what becomes of it there, or does not, is heard at any time. */
static void model_sent(const struct sent *entry)
{
	if (!move_to(entry->session, "node-2"))
		return;
	assert_true(model.sent_count < 64);
	model.sent[model.sent_count++] = entry->session;
}

static void model_sent_end(void)
{
	uint32_t i = chance(model.sent_count);
	uint64_t session = model.sent[i];

	model.sent[i] = model.sent[--model.sent_count];
	if (in_queue(session)) /* it has said so itself */
		return;
	if (chance(2))
		adm_replaced(adm, session, now_ns);
	else
		move_lost(session);
}

static void model_answer(struct sent *entry)
{
	struct msg_player_join join;

	if (entry->to == 'c') {
		adm_claimed(adm, entry->session,
			chance(8)   ? ADM_CLAIM_OURS
			: chance(2) ? ADM_CLAIM_USED
				    : ADM_CLAIM_UNKNOWN,
			now_ns);
	} else if (entry->to == 'k') {
		adm_sought(adm, entry->session,
			chance(6)   ? ADM_SOUGHT_OURS
			: chance(3) ? ADM_SOUGHT_HELD
				    : ADM_SOUGHT_UNKNOWN,
			now_ns);
	} else if (entry->to == 'q') {
		bool waits = in_queue(entry->session);

		if (waits && !chance(4))
			model_sent(entry);
		else if (chance(9) || !waits)
			let_in_one(entry);
		else
			adm_replaced(adm, entry->session, now_ns);
	} else if (entry->to == 'w') {
		loaded_as(entry->session,
			chance(8)   ? MSG_LOAD_OK
			: chance(2) ? MSG_LOAD_UNAVAILABLE
				    : MSG_LOAD_WRONG_ACCOUNT,
			"meadow");
	} else if (entry->to == 's' && entry->message[0].type == MSG_PLAYER_JOIN) {
		memcpy(&join, msg_payload(entry->message), sizeof(join));
		/* What all this is for. */
		assert_int_equal(model.on_shard[join.character_id], 0);
		/* An instance that has ended meanwhile is refused like a full one. */
		if (!chance(6) || !runs(join.instance, entry->index)) {
			shard_says(entry->index, MSG_PLAYER_REFUSED, join.session, 0);
			return;
		}
		model.on_shard[join.character_id] = join.session;
		model.shard[join.character_id] = entry->index;
		model.instance[join.character_id] = join.instance;
		model.stay[join.character_id] = join.stay;
		shard_says(entry->index, MSG_PLAYER_JOINED, join.session, 1);
	} else if (entry->to == 's') {
		for (int c = 1; c <= CHARACTERS; c++)
			if (model.on_shard[c] == entry->session) {
				uint32_t repeats = 1 + chance(2);

				assert_int_equal(model.shard[c], entry->index);
				model.on_shard[c] = 0;
				while (repeats--)
					says_left(c, entry->session);
			}
	} else if (entry->to == 'd' && entry->message[0].type == MSG_PEER_DISCONNECT) {
		uint32_t i = handle_index(entry->message[0].peer);

		if (model.peers[i] == entry->message[0].peer) {
			gone(model.peers[i]);
			model.peers[i] = 0;
		}
	}
}

static void model_take_sent(void)
{
	for (uint32_t i = 0; i < sent_count; i++) {
		if (strchr("aprouv", sent[i].to))
			continue;
		assert_true(model.queued < 512);
		model.queue[model.queued++] = sent[i];
	}
	sent_count = 0;
}

/* Works on the oldest entry for one of the receivers: each ring keeps its order. */
static void model_work(void)
{
	char to = "cwsdkq"[chance(6)];

	for (uint32_t i = 0; i < model.queued; i++) {
		struct sent entry = model.queue[i];

		if (entry.to != to)
			continue;
		memmove(&model.queue[i], &model.queue[i + 1],
			(--model.queued - i) * sizeof(model.queue[0]));
		model_answer(&entry);
		return;
	}
}

static void model_client(void)
{
	uint32_t i = chance(PEERS);

	if (!model.peers[i]) {
		model.peers[i] = handle_make(i % 2, ++model.generation[i], i);
		connected(model.peers[i]);
	} else if (!chance(9)) {
		redirect_failed(model.peers[i], 0);
	} else if (chance(3)) {
		hello(model.peers[i], 1, 1 + chance(CHARACTERS));
	} else {
		gone(model.peers[i]);
		model.peers[i] = 0;
	}
}

static void test_random(void **state)
{
	uint64_t seed = (uint64_t)time(NULL), elsewhere = 0, ousted = 0, rooms_ended = 0, lost = 0,
		 unreached = 0, joined = 0, takeovers = 0, moves = 0;

	(void)state;
	if (getenv("SW_SEED"))
		seed = strtoull(getenv("SW_SEED"), NULL, 10);
	print_message("SW_SEED=%llu\n", (unsigned long long)seed);
	for (uint32_t round = 0; round < 40; round++) {
		random_state = (seed + round) * 0x9e3779b97f4a7c15ull + 1;
		memset(&model, 0, sizeof(model));
		begin(3);
		strcpy(config.maps[2].name, "arena");
		config.maps[2].kind = CONFIG_MAP_ROOM;
		config.maps[2].shard = CONFIG_SHARD_ANY;
		config.maps[2].players_max = 2;
		config.maps[2].warm = round % 2;
		config.maps[2].instances_max = 2;
		begin_again();
		seek_auto = false;
		for (int step = 0; step < 3000; step++) {
			if (chance(3))
				model_work();
			else
				model_client();
			if (!chance(4))
				model_move();
			if (!chance(30))
				model_room();
			if (!chance(60))
				model_oust();
			if (!chance(5) && model.sent_count)
				model_sent_end();
			if (!chance(5))
				builds_done(true);
			model_take_sent();
			now_ns += chance(20) * NS_PER_MS;
			if (!chance(200))
				now_ns += 31 * NS_PER_S;
			adm_tick(adm, now_ns);
			model_take_sent();
		}
		for (uint32_t i = 0; i < PEERS; i++)
			if (model.peers[i])
				gone(model.peers[i]);
		model_take_sent();
		memset(model.peers, 0, sizeof(model.peers));
		while (model.queued || model.sent_count || adm_counters(adm)->values[ADM_C_PLACES]) {
			if (model.sent_count)
				model_sent_end();
			model_work();
			builds_done(true);
			now_ns += NS_PER_MS;
			adm_tick(adm, now_ns);
			model_take_sent();
		}
		joined += counted(ADM_C_JOINED);
		takeovers += counted(ADM_C_TAKEOVERS);
		moves += model.moves;
		elsewhere += counted(ADM_C_ELSEWHERE);
		ousted += counted(ADM_C_OUSTED);
		lost += counted(ADM_C_MOVES_FAILED);
		unreached += counted(ADM_C_MOVES_UNREACHED);
		rooms_ended += model.rooms_ended;
		/* A player that is to leave before it joined is counted as left only. */
		assert_true(
			counted(ADM_C_JOINED) <= counted(ADM_C_LEFT) + counted(ADM_C_TRANSFERS));
		finish();
	}
	/* Of all rounds together: one may have little of each. */
	assert_true(joined > 200 && takeovers > 200 && moves > 200);
	assert_true(lost > 40 && unreached > 0);
	assert_true(elsewhere > 40);
	assert_true(ousted > 40);
	assert_true(rooms_ended > 40);
}

static int setup(void **state)
{
	(void)state;
	assert_int_equal(ticket_init(), 0);
	ticket_key_new(&key, 1);
	return 0;
}

int main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test(test_random),
	};

	return cmocka_run_group_tests(tests, setup, NULL);
}
