/* stock_life.h: what the tests of a connection's life share; include after cmocka.h. */
#ifndef SW_DATAPLANE_ENET_STOCK_LIFE_H
#define SW_DATAPLANE_ENET_STOCK_LIFE_H

#include "dataplane/enet/stock_world.h"

#define RELIABLE ENET_PACKET_FLAG_RELIABLE

/* Clients that have begun to connect, over 10 ms each way if config.net says nothing. */
static inline struct world *world_with(struct world_config config, uint32_t clients)
{
	struct world *world;

	if (!config.net.seed)
		config.net.seed = world_seed();
	if (!config.net.delay_max_ms)
		config.net.delay_min_ms = config.net.delay_max_ms = 10;
	world = world_new(&config);
	for (uint32_t i = 0; i < clients; i++)
		world_connect(world, world_host(world, 1, false), 4);
	return world;
}

static inline struct world *world_connected(struct world_config config, uint32_t clients)
{
	struct world *world = world_with(config, clients);

	assert_true(world_until(world, world_all_connected, 40000));
	assert_int_equal(sw_enet_peers(world->engine), clients);
	return world;
}

/* Nobody is left, and no memory is kept. */
static inline void end(struct world *world)
{
	world_run(world, 200);
	assert_int_equal(sw_enet_peers(world->engine), 0);
	assert_int_equal(world_count(world, SW_ENET_C_HOLD_BYTES), 0);
	assert_int_equal(world_count(world, SW_ENET_C_QUEUE_BYTES), 0);
	world_free(world);
}

static inline void leave_all(struct world *world)
{
	for (uint32_t i = 0; i < world->clients; i++) {
		if (world->client[i].peer->state == ENET_PEER_STATE_CONNECTED)
			enet_peer_disconnect(world->client[i].peer, 0);
	}
	assert_true(world_until(world, world_all_gone, 60000));
	end(world);
}

#endif
