/* Fuzz target: what a client may send to a map. Input: records of [control byte][length][bytes],
 * each a message on the channel that the control byte names, given to a live shard with two
 * players; between them ticks pass.
 *
 * Checks, beside what the sanitizers see: the quick reading of an input batch agrees with
 * protobuf-c; everything that is sent back can be read by protobuf-c; a player never walks faster
 * than the rules allow, nor off the map; unreadable messages end the stay and never touch the other
 * player. */
#include <stdint.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "common/check.h"
#include "common/commit.h"
#include "common/mono.h"
#include "proto/client.pb-c.h"
#include "proto/message_types.h"
#include "simulation/client_message.h"
#include "simulation/shard.h"
#include "simulation/state.h"

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size);

static struct sim_links links;
static struct sim_shard *shard;
static uint64_t now_ns;
static uint32_t generation;
static struct msg_buffer batch[2];

static void start(void)
{
	static struct sw_config config;
	char error[256];

	sw_config_defaults(&config);
	config.map_count = 1;
	strcpy(config.maps[0].name, "fuzz");
	config.maps[0].width_m = config.maps[0].height_m = 64;
	config.maps[0].tick_hz = 20;
	config.maps[0].view_m = 40;
	config.maps[0].players_max = 4;
	config.maps[0].monsters = 3;
	config.enet.peers_max = 4;
	config.rings.slots = 1024;
	links.workers = 1;
	links.from_dataplane[0] = msg_ring_new("a", 1024);
	links.to_dataplane[0] = msg_ring_new("b", 1024);
	links.from_control = msg_ring_new("c", 1024);
	links.to_control = msg_ring_new("d", 1024);
	links.from_world = msg_ring_new("e", 1024);
	links.to_world = msg_ring_new("f", 1024);
	shard = sim_shard_new(&config, 0, &links, 1, now_ns, error, sizeof(error));
	CHECK(shard);
}

static void check_sent(const struct msg *m)
{
	const uint8_t *bytes = msg_payload(m) + 1;
	uint32_t count = m->payload_bytes - 1;
	void *message = NULL;

	if (m->type != MSG_PEER_SEND)
		return;
	switch (msg_payload(m)[0]) {
	case SW_MSG_JOINED:
		message = sw__joined__unpack(NULL, count, bytes);
		break;
	case SW_MSG_WORLD_UPDATE:
		message = sw__world_update__unpack(NULL, count, bytes);
		break;
	case SW_MSG_VIEW_CHANGE:
		message = sw__view_change__unpack(NULL, count, bytes);
		break;
	case SW_MSG_CHARACTER_DETAIL:
		message = sw__character_detail__unpack(NULL, count, bytes);
		break;
	case SW_MSG_INVENTORY:
		message = sw__inventory__unpack(NULL, count, bytes);
		break;
	case SW_MSG_COMBAT:
		message = sw__combat_events__unpack(NULL, count, bytes);
		break;
	case SW_MSG_TRADE_STATE:
		message = sw__trade_state__unpack(NULL, count, bytes);
		break;
	case SW_MSG_TRADE_ENDED:
		message = sw__trade_ended__unpack(NULL, count, bytes);
		break;
	case SW_MSG_PARTY_ANSWER:
		message = sw__party_answer__unpack(NULL, count, bytes);
		break;
	case SW_MSG_PARTY_STATE:
		message = sw__party_state__unpack(NULL, count, bytes);
		break;
	case SW_MSG_ACTION_REFUSED:
		message = sw__action_refused__unpack(NULL, count, bytes);
		break;
	}
	CHECK(message);
	protobuf_c_message_free_unpacked(message, NULL);
}

static void discard(struct msg_ring *ring)
{
	uint32_t slots;

	while ((slots = msg_ring_pop(ring, batch[0].slot, 2 * MSG_SLOTS_MAX)))
		for (const struct msg *m = batch[0].slot; m < batch[0].slot + slots;
			m = msg_next(m))
			check_sent(m);
}

static void tell(enum msg_type type, struct msg_ring *ring, uint64_t peer, uint8_t channel,
	const void *bytes, uint32_t count)
{
	static struct msg_buffer message;

	memcpy(msg_begin(message.slot, type, peer, count), bytes, count);
	message.slot->channel = channel;
	CHECK(msg_ring_push(ring, message.slot));
}

/* The world thread's side: everybody owns two stacks, and every change is kept. */
static void answer_world(void)
{
	static const struct msg_slot slots[2] = {{.slot = 0, .item = 1, .count = 5},
		{.slot = 3, .item = 2, .count = 1, .serial = 77}};
	uint32_t popped;

	while ((popped = msg_ring_pop(links.to_world, batch[0].slot, 2 * MSG_SLOTS_MAX))) {
		for (const struct msg *m = batch[0].slot; m < batch[0].slot + popped;
			m = msg_next(m)) {
			struct msg_detail_query query;
			struct msg_commit commit;
			struct msg_detail_result detail = {.level = 1, .slots = 2};
			struct msg_commit_result done = {.result = COMMIT_RESULT_OK};
			uint8_t bytes[sizeof(detail) + sizeof(slots)];

			if (m->type == MSG_DETAIL_QUERY) {
				memcpy(&query, msg_payload(m), sizeof(query));
				detail.request = query.request;
				detail.character_id = query.character_id;
				memcpy(bytes, &detail, sizeof(detail));
				memcpy(bytes + sizeof(detail), slots, sizeof(slots));
				tell(MSG_DETAIL_RESULT, links.from_world, 0, 0, bytes,
					sizeof(bytes));
			} else if (m->type == MSG_COMMIT) {
				memcpy(&commit, msg_payload(m), sizeof(commit));
				memcpy(done.request, commit.request, sizeof(done.request));
				tell(MSG_COMMIT_RESULT, links.from_world, 0, 0, &done,
					sizeof(done));
			}
		}
	}
}

/* What lies on the ground and in the hostile one's slots is what it came with. */
static void check_things(const struct sim_player *hostile)
{
	struct sim_map *m = shard->maps[0];
	uint32_t slot = (uint32_t)(hostile - m->players_table);
	uint64_t first = 0, second = 0;

	for (uint32_t i = 0; i < COMMIT_SLOTS_MAX; i++) {
		first += m->bags[slot].stack[i].item == 1 ? m->bags[slot].stack[i].count : 0;
		second += m->bags[slot].stack[i].item == 2 ? m->bags[slot].stack[i].count : 0;
	}
	for (uint32_t i = 0; i < m->loot_slots; i++) {
		if (m->loot[i].state != SIM_LOOT_LIES || m->loot[i].expires_beat <= m->beat)
			continue;
		first += m->loot[i].item == 1 ? m->loot[i].count : 0;
		second += m->loot[i].item == 2 ? m->loot[i].count : 0;
	}
	CHECK(first >= 5 && second >= 1); /* more: others before it have left things */
}

static void pass(uint32_t ms)
{
	for (; ms; ms--) {
		now_ns += NS_PER_MS;
		while (sim_shard_step(shard, now_ns))
			;
		discard(links.to_dataplane[0]);
		discard(links.to_control);
		answer_world();
	}
}

static void join(uint64_t peer)
{
	struct msg_player_join join = {.session = peer,
		.character_id = peer,
		.x_mm = 32000,
		.y_mm = 32000,
		.has_position = 1,
		.payload_bytes_max = 1300,
		.map = "fuzz",
		.name = "F"};

	tell(MSG_PLAYER_JOIN, links.from_control, peer, 0, &join, sizeof(join));
}

static struct sim_player *player(uint64_t peer, const struct sim_entity **entity)
{
	struct sim_map *m = shard->maps[0];

	for (uint32_t slot = 0; slot < m->player_slots; slot++) {
		if (m->players_table[slot].peer == peer &&
			m->players_table[slot].state == SIM_PLAYER_PRESENT) {
			*entity = &m->entities[slot];
			return &m->players_table[slot];
		}
	}
	return NULL;
}

static void compare_readings(const uint8_t *bytes, uint32_t count)
{
	_Alignas(16) static uint8_t memory[SIM_PARSE_MEMORY];
	struct sim_client_message quick, reference;
	enum sim_parse a, b;

	if (!count || bytes[0] != SW_MSG_INPUT || count > SIM_INPUT_BYTES_MAX)
		return;
	a = sim_client_message_parse(memory, SW_CHANNEL_WORLD, bytes, count, &quick);
	b = sim_client_input_reference(memory, bytes + 1, count - 1, &reference);
	CHECK(a == b);
	if (a != SIM_PARSE_OK)
		return;
	CHECK(quick.first_sequence == reference.first_sequence && quick.count == reference.count);
	CHECK(quick.stay == reference.stay);
	CHECK(!memcmp(quick.dx, reference.dx, quick.count));
	CHECK(!memcmp(quick.dy, reference.dy, quick.count));
}

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size)
{
	const uint32_t step_mm = sw_move_step_mm(SIM_WALK_MM_PER_S, 20);
	const struct sim_entity *e;
	uint64_t hostile, quiet;
	uint32_t beats;

	if (!shard)
		start();
	generation = handle_generation_next(generation);
	hostile = handle_make(0, generation, 0);
	quiet = handle_make(0, generation, 1);
	join(hostile);
	join(quiet);
	pass(60);
	CHECK(player(hostile, &e) && player(quiet, &e));
	beats = shard->maps[0]->beat;
	while (size >= 2) {
		uint8_t control = data[0];
		uint32_t count = data[1] < size - 2 ? data[1] : (uint32_t)size - 2;

		compare_readings(data + 2, count);
		tell(MSG_PEER_PACKET, links.from_dataplane[0], hostile, control & 3, data + 2,
			count);
		pass(control & 4 ? 50 : 1);
		data += 2 + count;
		size -= 2 + count;
	}
	pass(50);
	beats = shard->maps[0]->beat - beats + SIM_INPUT_BANK + 1;
	if (player(hostile, &e)) {
		CHECK(e->x_mm >= 0 && e->x_mm < 64000 && e->y_mm >= 0 && e->y_mm < 64000);
		CHECK((uint32_t)abs(e->x_mm - 32000) <= beats * step_mm);
		CHECK((uint32_t)abs(e->y_mm - 32000) <= beats * step_mm);
	}
	pass(150); /* what it asked for last is done */
	if (player(hostile, &e))
		check_things(player(hostile, &e));
	CHECK(player(quiet, &e) && e->x_mm == 32000 && e->y_mm == 32000);
	CHECK(player(quiet, &e)->malformed == 0);
	CHECK(shard->maps[0]->commit_free_count == shard->maps[0]->commits_max);
	tell(MSG_PEER_GONE, links.from_dataplane[0], hostile, 0, "\0\0\0\0\0\0\0", 8);
	tell(MSG_PEER_GONE, links.from_dataplane[0], quiet, 0, "\0\0\0\0\0\0\0", 8);
	pass(150);
	CHECK(shard->players == 0);
	return 0;
}
