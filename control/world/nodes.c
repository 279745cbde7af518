/* The table node: that this node lives, written every NODES_SAY_S, and which nodes have done so of
 * late. On the requests link, by tags of their own. */
#include <endian.h>
#include <stdio.h>
#include <string.h>
#include <sys/random.h>

#include "common/handle.h"
#include "common/mono.h"
#include "control/world/pg_binary.h"
#include "control/world/world_internal.h"

#define RETRY_NS     NS_PER_S
#define ASK_WAIT_NS  (2 * NS_PER_S)
#define BELIEVED_S   (3 * NODES_SAY_S)

void nodes_init(struct world *world)
{
	/* Which process said it: for people who look. */
	if (getrandom(&world->nodes.boot, sizeof(world->nodes.boot), GRND_NONBLOCK) < 0)
		world->nodes.boot = mono_ns();
}

static void say(struct world *world, uint64_t now_ns)
{
	const struct sw_config *config = world->config;
	const uint32_t realm_id = htobe32(config->node.realm_id);
	const uint64_t boot = htobe64(world->nodes.boot);
	const uint8_t stopped = world->nodes.stopping;
	struct pg_call call = {.name = "node_say"};
	char address[CONFIG_ADDRESS_BYTES];

	sw_config_address(config, address);
	pg_call_add(&call, &realm_id, sizeof(realm_id));
	pg_call_add(&call, config->node.name, strlen(config->node.name));
	pg_call_add(&call, address, strlen(address));
	pg_call_add(&call, &boot, sizeof(boot));
	pg_call_add(&call, &stopped, sizeof(stopped));
	world->nodes.saying = pg_link_send(
		world->links[LINK_REQUESTS_INDEX], NODES_SAY_TAG, &call, 1, now_ns);
	world->nodes.stop_sent = world->nodes.saying && stopped;
}

static void ask(struct world *world, uint64_t now_ns)
{
	const uint32_t seconds = htobe32(BELIEVED_S);
	struct pg_call call = {.name = "node_ask"};

	pg_call_add(&call, &seconds, sizeof(seconds));
	world->nodes.asking = pg_link_send(
		world->links[LINK_REQUESTS_INDEX], NODES_ASK_TAG, &call, 1, now_ns);
}

/* A full ring: control asks again. */
static void answer(struct world *world, const PGresult *rows)
{
	struct msg_nodes head = {.known = rows != NULL,
		.count = rows ? (uint32_t)PQntuples(rows) : 0};
	uint8_t *at;

	world->nodes.asked = false;
	if (head.count > NODES_MAX)
		head.count = NODES_MAX;
	at = msg_begin(world->scratch.slot, MSG_NODES, HANDLE_NONE,
		(uint32_t)sizeof(head) + head.count * NODE_NAME_BYTES);
	memcpy(at, &head, sizeof(head));
	at += sizeof(head);
	for (uint32_t i = 0; i < head.count; i++, at += NODE_NAME_BYTES) {
		memset(at, 0, NODE_NAME_BYTES);
		snprintf((char *)at, NODE_NAME_BYTES, "%.*s", PQgetlength(rows, (int)i, 0),
			PQgetvalue(rows, (int)i, 0));
	}
	msg_ring_push(world->sources[SOURCE_CONTROL].out, world->scratch.slot);
}

void nodes_pump(struct world *world, uint64_t now_ns)
{
	struct nodes *nodes = &world->nodes;
	bool ready = pg_link_ready(world->links[LINK_REQUESTS_INDEX]);

	if (ready && !nodes->saying && now_ns >= nodes->say_ns && !nodes->stop_sent)
		say(world, now_ns);
	if (ready && nodes->asked && !nodes->asking)
		ask(world, now_ns);
	if (nodes->asked && now_ns >= nodes->ask_by_ns)
		answer(world, NULL);
}

void nodes_query(struct world *world, uint64_t now_ns)
{
	if (world->nodes.asked)
		return; /* one answer serves both */
	world->nodes.asked = true;
	world->nodes.ask_by_ns = now_ns + ASK_WAIT_NS;
	nodes_pump(world, now_ns);
}

void nodes_stop(struct world *world, uint64_t now_ns)
{
	world->nodes.stopping = true;
	world->nodes.say_ns = 0;
	nodes_pump(world, now_ns);
}

void nodes_on_result(struct world *world, uint64_t tag, enum pg_outcome outcome,
	PGresult *const *results, uint32_t count)
{
	struct nodes *nodes = &world->nodes;
	uint64_t now_ns = mono_ns();

	if (tag == NODES_ASK_TAG) {
		nodes->asking = false;
		if (nodes->asked && outcome == PG_DONE && count == 1)
			answer(world, results[0]);
		return;
	}
	nodes->saying = false;
	nodes->say_ns = now_ns + (outcome == PG_DONE ? NODES_SAY_S * NS_PER_S : RETRY_NS);
	if (nodes->stopping)
		nodes_stop(world, now_ns); /* it came while that word was under way */
}
