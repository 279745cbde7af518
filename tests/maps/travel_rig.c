#include "tests/maps/travel_rig.h"

#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <time.h>
#include <unistd.h>

#include <cmocka.h>

#include "common/mono.h"
#include "proto/client.pb-c.h"
#include "simulation/transfer.h"

#define WALL  1800000000ull
#define SLOTS 16384u

uint32_t rig_chance(uint64_t *random, uint32_t below)
{
	*random ^= *random << 13;
	*random ^= *random >> 7;
	*random ^= *random << 17;
	return (uint32_t)(*random >> 11) % below;
}

static void fault(struct rig *rig, const char *what, uint32_t client)
{
	if (!rig->lost++)
		snprintf(rig->fault, sizeof(rig->fault), "%s (client %u)", what, client);
}

static struct rig_client *of_peer(struct rig *rig, uint64_t peer)
{
	struct rig_client *client = &rig->client[handle_index(peer)];

	return handle_index(peer) < RIG_CLIENTS && client->peer == peer ? client : NULL;
}

static void push(
	struct msg_ring *ring, enum msg_type type, uint64_t peer, const void *body, uint32_t bytes)
{
	struct msg message[5];

	if (bytes)
		memcpy(msg_begin(message, type, peer, bytes), body, bytes);
	else
		msg_begin(message, type, peer, 0);
	assert_true(msg_ring_push(ring, message));
}

/* ---- the dataplane ---- */

static void gone(struct rig *rig, uint32_t index)
{
	static const struct msg_peer_gone body;
	struct rig_client *client = &rig->client[index];
	struct msg message;
	uint64_t peer = client->peer;

	client->peer = 0;
	client->joined = false;
	if (client->route)
		push(rig->links[client->route - 1].from_dataplane[0], MSG_PEER_GONE, peer, &body,
			sizeof(body));
	client->route = 0;
	memcpy(msg_begin(&message, MSG_PEER_GONE, peer, sizeof(body)), &body, sizeof(body));
	adm_from_dataplane(rig->adm, &message, rig->now_ns, WALL);
}

/* As dp_route_set. */
static void route(struct rig *rig, uint32_t shard, const struct msg *message)
{
	static const struct msg_peer_gone nobody;
	struct rig_client *client = of_peer(rig, message->peer);
	struct msg_peer_route body;

	memcpy(&body, msg_payload(message), sizeof(body));
	if (!client) {
		push(rig->links[shard].from_dataplane[0], MSG_PEER_GONE, message->peer, &nobody,
			sizeof(nobody));
		return;
	}
	if (!body.route && client->route != shard + 1) {
		push(rig->links[shard].from_dataplane[0], MSG_ROUTE_END, message->peer, NULL, 0);
		return;
	}
	if (client->route && client->route != body.route)
		push(rig->links[client->route - 1].from_dataplane[0], MSG_ROUTE_END, message->peer,
			NULL, 0);
	client->route = body.route;
}

/* What a client sees must be one map after the other, each whole. */
static void to_client(struct rig *rig, const struct msg *message)
{
	struct rig_client *client = of_peer(rig, message->peer);
	const uint8_t *bytes = msg_payload(message) + 1;
	uint32_t count = message->payload_bytes - 1, index = handle_index(message->peer);

	if (!client)
		return;
	switch (msg_payload(message)[0]) {
	case SW_MSG_JOINED: {
		Sw__Joined *joined = sw__joined__unpack(NULL, count, bytes);

		if (client->joined ? joined->stay <= client->stay : joined->stay != client->stay)
			fault(rig, "a stay that does not follow", index);
		client->stay = joined->stay;
		client->joined = true;
		client->joins++;
		client->view_sequence = 0;
		sw__joined__free_unpacked(joined, NULL);
		break;
	}
	case SW_MSG_VIEW_CHANGE: {
		Sw__ViewChange *change = sw__view_change__unpack(NULL, count, bytes);

		if (change->stay != client->stay || change->sequence != client->view_sequence + 1)
			fault(rig, "a view change of another map, or a gap", index);
		client->view_sequence = change->sequence;
		sw__view_change__free_unpacked(change, NULL);
		break;
	}
	case SW_MSG_WORLD_UPDATE: {
		Sw__WorldUpdate *update = sw__world_update__unpack(NULL, count, bytes);

		if (!client->joined || update->stay != client->stay)
			fault(rig, "an update of another map", index);
		sw__world_update__free_unpacked(update, NULL);
		break;
	}
	case SW_MSG_REFUSED:
		client->refused = true;
		break;
	default:
		break;
	}
}

static void one_to_dataplane(struct rig *rig, uint32_t shard, const struct msg *message)
{
	struct rig_client *client = of_peer(rig, message->peer);

	if (message->type == MSG_PEER_ROUTE)
		route(rig, shard, message);
	else if (message->type == MSG_PEER_SEND)
		to_client(rig, message);
	else if (message->type == MSG_PEER_DISCONNECT && client)
		gone(rig, handle_index(message->peer));
}

/* ---- world, Redis, builder ---- */

static void one_to_world(struct rig *rig, uint32_t shard, const struct msg *message)
{
	struct msg_detail_result result = {.level = 1};
	struct msg_detail_query query;
	struct msg_position_save save, *saved;

	if (message->type == MSG_DETAIL_QUERY) {
		memcpy(&query, msg_payload(message), sizeof(query));
		result.request = query.request;
		result.character_id = query.character_id;
		push(rig->links[shard].from_world, MSG_DETAIL_RESULT, 0, &result, sizeof(result));
		return;
	}
	memcpy(&save, msg_payload(message), sizeof(save));
	saved = &rig->client[save.character_id - 1].saved;
	/* As save_table does. */
	if (save.epoch > saved->epoch || (save.epoch == saved->epoch && save.stay >= saved->stay))
		*saved = save;
	if (!strcmp(save.map, "arena"))
		fault(rig, "a room was saved", (uint32_t)save.character_id - 1);
}

static void to_world(void *ctx, const struct msg *message)
{
	struct rig *rig = ctx;
	struct msg_character_load body;

	memcpy(&body, msg_payload(message), sizeof(body));
	assert_true(rig->load_count < 256);
	rig->load_character[rig->load_count] = body.character_id;
	rig->loads[rig->load_count++] = body.session;
}

static void answer_load(struct rig *rig)
{
	uint32_t at = --rig->load_count;
	struct rig_client *client = &rig->client[rig->load_character[at] - 1];
	struct msg_character_loaded body = {.session = rig->loads[at],
		.character_id = rig->load_character[at],
		.epoch = ++client->epoch,
		.x_mm = client->saved.x_mm,
		.y_mm = client->saved.y_mm,
		.has_position = client->saved.map[0] != 0,
		.name = "n"};
	struct msg message[4];

	memcpy(body.map, client->saved.map, sizeof(body.map));
	memcpy(msg_begin(message, MSG_CHARACTER_LOADED, 0, sizeof(body)), &body, sizeof(body));
	adm_from_world(rig->adm, message, rig->now_ns);
}

static void to_dataplane(void *ctx, uint32_t worker, const struct msg *message)
{
	(void)worker;
	/* A disconnect ends the peer later: admission must not be called back. */
	push(((struct rig *)ctx)->links[0].log, (enum msg_type)message->type, message->peer,
		msg_payload(message), message->payload_bytes);
}

static void to_shard(void *ctx, uint32_t shard, const struct msg *message)
{
	assert_true(msg_ring_push(((struct rig *)ctx)->links[shard].from_control, message));
}

static int seek(void *ctx, uint64_t session, uint64_t character_id, uint64_t epoch_max,
	bool in_any_case)
{
	struct rig *rig = ctx;

	(void)epoch_max;
	(void)character_id;
	(void)in_any_case;
	assert_true(rig->seek_count < 64);
	rig->seeks[rig->seek_count++] = session;
	return 0;
}

static void vacated(void *ctx, const struct adm_presence *who, bool played)
{
	(void)ctx;
	(void)who;
	(void)played;
}

static int claim(void *ctx, uint64_t session, const uint8_t *nonce, uint64_t expire_s)
{
	struct rig *rig = ctx;

	(void)nonce;
	(void)expire_s;
	assert_true(rig->claim_count < 64);
	rig->claims[rig->claim_count++] = session;
	return 0;
}

static void spend(void *ctx, const uint8_t *nonce, uint64_t expire_s)
{
	(void)ctx;
	(void)nonce;
	(void)expire_s;
}

static void verify(
	void *ctx, uint64_t session, const uint8_t *ticket, uint32_t bytes, uint64_t wall_s)
{
	struct rig *rig = ctx;
	struct rig_verified *one = &rig->verified[rig->verified_count++];

	assert_true(rig->verified_count <= ADM_VERIFY_WINDOW);
	one->session = session;
	one->fault = ticket_check(&one->ticket, ticket, bytes, rig->config.admission.ticket_keys,
		rig->config.admission.ticket_key_count, rig->config.node.realm_id, wall_s);
}

static void release(void *ctx, uint64_t session, const uint8_t *nonce)
{
	(void)ctx;
	(void)session;
	(void)nonce;
}

static int queue(void *ctx, const struct gate_newcomer *newcomer, uint64_t now_ns)
{
	struct rig *rig = ctx;

	(void)now_ns;
	assert_true(rig->queue_count < 64);
	rig->queue[rig->queue_count++] = newcomer->session;
	return 0;
}

static void unqueue(void *ctx, uint64_t session, bool away)
{
	struct rig *rig = ctx;

	(void)away;
	for (uint32_t i = 0; i < rig->queue_count; i++)
		if (rig->queue[i] == session)
			rig->queue[i] = rig->queue[--rig->queue_count];
}

static void presence(void *ctx, const struct adm_presence *said)
{
	(void)ctx;
	(void)said;
}

static void build(void *ctx, uint32_t id)
{
	struct rig *rig = ctx;

	rig->ordered = id;
	if (rig->threads)
		atomic_store(&rig->order, id);
}

static void load(void *ctx, uint32_t shard, struct placement_load *out)
{
	const struct shard_gauges *gauges = sim_shard_gauges(((struct rig *)ctx)->shard[shard]);

	out->load_permille = counter_get(&gauges->load_permille);
	out->players = counter_get(&gauges->players);
}

static void *builder(void *context)
{
	struct rig *rig = context;
	uint32_t id;
	char error[256];

	while ((id = atomic_load(&rig->order)) != UINT32_MAX) {
		if (id != atomic_load(&rig->built)) {
			if (sim_instance_build(rig->instances, id, error, sizeof(error)))
				abort();
			atomic_store(&rig->built, id);
		}
		nanosleep(&(struct timespec){.tv_nsec = 200000}, NULL);
	}
	return NULL;
}

static void finish_build(struct rig *rig)
{
	uint32_t id = rig->ordered;
	char error[256] = "";

	if (id == INSTANCE_NONE || (rig->threads && atomic_load(&rig->built) != id))
		return;
	rig->ordered = INSTANCE_NONE;
	if (!rig->threads && sim_instance_build(rig->instances, id, error, sizeof(error)))
		fail_msg("%s", error);
	director_built(rig->director, id, true, rig->now_ns);
}

/* ---- turns ---- */

static void drain(struct rig *rig, struct msg_ring *ring, uint32_t shard,
	void (*one)(struct rig *rig, uint32_t shard, const struct msg *message))
{
	static struct msg batch[2 * MSG_SLOTS_MAX];
	uint32_t filled;

	while ((filled = msg_ring_pop(ring, batch, 2 * MSG_SLOTS_MAX)))
		for (const struct msg *m = batch; m < batch + filled; m = msg_next(m))
			one(rig, shard, m);
}

static void one_to_control(struct rig *rig, uint32_t shard, const struct msg *message)
{
	adm_from_shard(rig->adm, shard, message, rig->now_ns);
}

void rig_turn(struct rig *rig, bool late)
{
	for (uint32_t s = 0; s < RIG_SHARDS; s++) {
		/* Now and then a worker looks at one of its rings for a while no more: longer than
		 * it takes another shard to tick. */
		if (late && !rig_chance(&rig->random, 150))
			rig->stuck[s] = rig_chance(&rig->random, 200);
		if (!late || !rig->stuck[s] || !--rig->stuck[s])
			drain(rig, rig->links[s].to_dataplane[0], s, one_to_dataplane);
		/* Control has a save read before it hears of the leave: the world's promise. */
		if (!late || rig_chance(&rig->random, 3)) {
			drain(rig, rig->links[s].to_world, s, one_to_world);
			drain(rig, rig->links[s].to_control, s, one_to_control);
		}
	}
	drain(rig, rig->links[0].log, 0, one_to_dataplane); /* control's own */
	while (rig->verified_count && (!late || rig_chance(&rig->random, 2))) {
		struct rig_verified one = rig->verified[--rig->verified_count];

		adm_verified(rig->adm, one.session, one.fault, &one.ticket, NS_PER_MS, rig->now_ns,
			WALL);
	}
	if (rig->claim_count && (!late || rig_chance(&rig->random, 2)))
		adm_claimed(rig->adm, rig->claims[--rig->claim_count], ADM_CLAIM_OURS, rig->now_ns);
	if (rig->seek_count && (!late || rig_chance(&rig->random, 2)))
		adm_sought(rig->adm, rig->seeks[--rig->seek_count], ADM_SOUGHT_OURS, rig->now_ns);
	if (rig->queue_count) {
		uint64_t next = rig->queue[rig->queue_count - 1];

		if (adm_let_in(rig->adm, next, rig->now_ns))
			unqueue(rig, next, false);
	}
	if (rig->load_count && (!late || rig_chance(&rig->random, 2))) {
		for (uint32_t s = 0; s < RIG_SHARDS; s++) /* saves before loads */
			drain(rig, rig->links[s].to_world, s, one_to_world);
		answer_load(rig);
	}
	if (!late || !rig_chance(&rig->random, 8))
		finish_build(rig);
	director_tick(rig->director, rig->now_ns);
	adm_tick(rig->adm, rig->now_ns);
}

void rig_shard(struct sim_shard *shard, uint64_t now_ns, uint64_t *random, bool portals)
{
	static const char *const maps[] = {"meadow", "cave", "arena", "arena", "nowhere", ""};
	static const struct sim_spawn spawn = {.has_position = true, .x_mm = 4000, .y_mm = 4000};
	struct sim_map *m;
	uint32_t budget = 200;

	while (sim_shard_step(shard, now_ns) && budget--)
		;
	if (!portals || !shard->map_count)
		return;
	m = shard->maps[rig_chance(random, shard->map_count)];
	if (!m->running) /* else in the middle of a tick's stages */
		sim_player_transfer(m,
			rig_chance(random, m->player_slots < 40 ? m->player_slots : 40),
			maps[rig_chance(random, 6)], &spawn);
}

void rig_connect(struct rig *rig, uint32_t index)
{
	const struct msg_peer_connected connected = {.payload_bytes_max = 1300, .channels = 4};
	struct rig_client *client = &rig->client[index];
	struct ticket ticket = {.realm_id = 1,
		.account_id = 1,
		.character_id = index + 1,
		.issued_unix_s = WALL,
		.expires_unix_s = WALL + 60,
		.name = "n"};
	uint8_t signed_ticket[TICKET_BYTES_MAX], data[1024] = {SW_MSG_HELLO};
	Sw__Hello hello = SW__HELLO__INIT;
	static struct msg_buffer buffer;
	uint32_t bytes;

	client->peer = handle_make(0, ++client->generation, index);
	client->joined = client->refused = false;
	client->stay = client->route = client->view_sequence = 0;
	memcpy(msg_begin(buffer.slot, MSG_PEER_CONNECTED, client->peer, sizeof(connected)),
		&connected, sizeof(connected));
	adm_from_dataplane(rig->adm, buffer.slot, rig->now_ns, WALL);
	memcpy(ticket.nonce, &client->generation, sizeof(client->generation));
	hello.protocol_version = SW_PROTOCOL_VERSION;
	hello.ticket.len = ticket_sign(signed_ticket, &ticket, rig->key.id, rig->key.secret_key);
	hello.ticket.data = signed_ticket;
	bytes = 1 + (uint32_t)sw__hello__pack(&hello, data + 1);
	memcpy(msg_begin(buffer.slot, MSG_PEER_PACKET, client->peer, bytes), data, bytes);
	buffer.slot->flags = MSG_SEND_RELIABLE;
	adm_from_dataplane(rig->adm, buffer.slot, rig->now_ns, WALL);
}

void rig_leave(struct rig *rig, uint32_t index)
{
	if (rig->client[index].peer)
		gone(rig, index);
}

/* ---- life ---- */

static void configure(struct rig *rig)
{
	struct sw_config *config = &rig->config;

	sw_config_defaults(config);
	strcpy(config->node.name, "node");
	config->enet.peers_max = RIG_CLIENTS;
	config->admission.players_max = RIG_CLIENTS;
	strcpy(config->admission.first_map, "meadow");
	config->admission.ticket_key_count = 1;
	config->admission.grace_s = 120;
	config->admission.verify_waiting_max = 64;
	config->admission.ticket_keys[0].id = rig->key.id;
	memcpy(config->admission.ticket_keys[0].public_key, rig->key.public_key, 32);
	config->map_count = 3;
	config->maps[0] = (struct config_map){
		.name = "meadow", .instances = 1, .tick_hz = 20, .players_max = RIG_CLIENTS};
	config->maps[1] = (struct config_map){.name = "cave",
		.shard = CONFIG_SHARD_ANY,
		.instances = 1,
		.instances_max = 2,
		.tick_hz = 30,
		.players_max = 8};
	config->maps[2] = (struct config_map){.name = "arena",
		.kind = CONFIG_MAP_ROOM,
		.shard = CONFIG_SHARD_ANY,
		.warm = 1,
		.instances_max = 4,
		.tick_hz = 15,
		.players_max = 5,
		.rule = "timed",
		.match_s = 1,
		.empty_s = 1};
	for (uint32_t i = 0; i < config->map_count; i++) {
		config->maps[i].width_m = config->maps[i].height_m = 32;
		config->maps[i].view_m = 40;
		config->maps[i].monsters = 2;
	}
}

static void write_script(struct rig *rig)
{
	char path[64];
	FILE *file;

	strcpy(rig->folder, "/tmp/sw-travel-XXXXXX");
	assert_non_null(mkdtemp(rig->folder));
	snprintf(path, sizeof(path), "%s/arena.lua", rig->folder);
	file = fopen(path, "w");
	assert_non_null(file);
	fputs("npc { name = 'Guard', x = 8, y = 8, on_tick = function(n) n:walk(1, 0) end }\n",
		file);
	fclose(file);
	strcpy(rig->config.simulation.content, rig->folder);
	strcpy(rig->config.maps[2].script, "arena.lua");
	rig->config.simulation.script_memory_bytes = 1 << 20;
	assert_int_equal(script_watchdog_start(&rig->watchdog, SCRIPT_WATCHDOG_PERIOD_US), 0);
}

void rig_start(struct rig *rig, uint64_t seed, bool threads)
{
	const struct adm_ops ops = {.ctx = rig,
		.to_dataplane = to_dataplane,
		.to_shard = to_shard,
		.to_world = to_world,
		.claim = claim,
		.release = release,
		.spend = spend,
		.verify = verify,
		.seek = seek,
		.queue = queue,
		.unqueue = unqueue,
		.arrived = presence,
		.departed = presence,
		.vacated = vacated};
	const struct adm_secrets secrets = {.pass_keys = {1, {{1, {1}}}}};
	const struct director_ops director_ops = {rig, build, to_shard, load, NULL};
	char error[256] = "";

	memset(rig, 0, sizeof(*rig));
	rig->random = seed * 0x9e3779b97f4a7c15ull + 1;
	rig->now_ns = mono_ns();
	ticket_key_new(&rig->key, 1);
	configure(rig);
	write_script(rig);
	rig->threads = threads;
	rig->instances = sim_instances_new(&rig->config, rig->watchdog, seed, error, sizeof(error));
	assert_non_null(rig->instances);
	for (uint32_t s = 0; s < RIG_SHARDS; s++) {
		struct sim_links *links = &rig->links[s];

		*links = (struct sim_links){.workers = 1,
			.from_dataplane = {msg_ring_new("d-s", SLOTS)},
			.to_dataplane = {msg_ring_new("s-d", SLOTS)},
			.from_control = msg_ring_new("c-s", SLOTS),
			.to_control = msg_ring_new("s-c", SLOTS),
			.from_world = msg_ring_new("w-s", SLOTS),
			.to_world = msg_ring_new("s-w", SLOTS),
			.instances = rig->instances,
			.watchdog = rig->watchdog};
		rig->shard[s] = sim_shard_new(
			&rig->config, s, links, seed + s, rig->now_ns, error, sizeof(error));
		assert_non_null(rig->shard[s]);
	}
	rig->links[0].log =
		msg_ring_new("c-d", SLOTS); /* the shard has its copy of links, without */
	rig->director = director_new(&rig->config, RIG_SHARDS, &director_ops);
	rig->adm = adm_new(&rig->config, &secrets, 1, RIG_SHARDS, rig->director, &ops);
	assert_non_null(rig->adm);
	if (threads)
		assert_int_equal(pthread_create(&rig->builder, NULL, builder, rig), 0);
	director_start(rig->director, rig->now_ns);
}

void rig_end(struct rig *rig)
{
	char path[64];

	atomic_store(&rig->order, UINT32_MAX);
	if (rig->threads)
		pthread_join(rig->builder, NULL);
	snprintf(path, sizeof(path), "%s/arena.lua", rig->folder);
	unlink(path);
	rmdir(rig->folder);
	adm_free(rig->adm);
	director_free(rig->director);
	for (uint32_t s = 0; s < RIG_SHARDS; s++) {
		sim_shard_free(rig->shard[s]);
		msg_ring_free(rig->links[s].from_dataplane[0]);
		msg_ring_free(rig->links[s].to_dataplane[0]);
		msg_ring_free(rig->links[s].from_control);
		msg_ring_free(rig->links[s].to_control);
		msg_ring_free(rig->links[s].from_world);
		msg_ring_free(rig->links[s].to_world);
	}
	msg_ring_free(rig->links[0].log);
	sim_instances_free(rig->instances);
	script_watchdog_stop(rig->watchdog);
}
