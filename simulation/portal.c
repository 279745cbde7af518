#include "simulation/portal.h"

#include <stdlib.h>

#include "proto/client.pb-c.h"
#include "simulation/random.h"
#include "simulation/send.h"
#include "simulation/transfer.h"

/* ---- set-up ---- */

static void list_maps(const struct sw_config *config, FILE *errors)
{
	for (uint32_t i = 0; i < config->map_count; i++)
		fprintf(errors, "%s%s", i ? ", " : "", config->maps[i].name);
	fputc('\n', errors);
}

static void list_spawns(const struct sw_ground *ground, FILE *errors)
{
	for (uint32_t i = 0; ground && i < ground->spawn_count; i++)
		fprintf(errors, "%s%s", i ? ", " : "", ground->spawns[i].name);
	fputs(!ground ? "none: it has no file\n" : ground->spawn_count ? "\n" : "none\n", errors);
}

static bool portal_find(const struct sw_config *config, struct sw_ground *const *grounds,
	const struct config_map *map, const struct sw_ground_portal *portal, FILE *errors,
	struct sim_portal *out)
{
	uint32_t target = 0;

	while (target < config->map_count && strcmp(config->maps[target].name, portal->target_map))
		target++;
	if (target == config->map_count) {
		fprintf(errors,
			"map %s: %s: portal \"%s\": target_map is \"%s\", allowed are the node's "
			"maps: ",
			map->name, map->file, portal->name, portal->target_map);
		list_maps(config, errors);
		return false;
	}
	out->map = config->maps[target].name;
	out->spawn = NULL;
	if (!portal->target_spawn[0])
		return true;
	if (grounds[target])
		out->spawn = sw_ground_spawn_find(grounds[target], portal->target_spawn);
	if (!out->spawn) {
		fprintf(errors,
			"map %s: %s: portal \"%s\": target_spawn is \"%s\", allowed are the spawns "
			"of %s: ",
			map->name, map->file, portal->name, portal->target_spawn, out->map);
		list_spawns(grounds[target], errors);
	}
	return out->spawn != NULL;
}

bool sim_portals_new(const struct sw_config *config, struct sw_ground *const *grounds,
	uint32_t index, FILE *errors, struct sim_portal **out)
{
	const struct sw_ground *ground = grounds[index];
	bool good = true;

	*out = NULL;
	if (!ground || !ground->portal_count)
		return true;
	*out = calloc(ground->portal_count, sizeof(**out));
	if (!*out) {
		fprintf(errors, "map %s: no memory for its portals\n", config->maps[index].name);
		return false;
	}
	for (uint32_t i = 0; i < ground->portal_count; i++)
		good &= portal_find(config, grounds, &config->maps[index], &ground->portals[i],
			errors, &(*out)[i]);
	return good;
}

/* ---- on a shard ---- */

/* Its number + 1, 0 for none. */
static uint8_t portal_at(const struct sim_map *m, uint32_t slot)
{
	const struct sw_ground *ground = m->rules.ground;
	uint32_t tile;

	if (!ground || !ground->portal_of ||
		!sw_ground_tile_at(ground, m->entities[slot].x_mm, m->entities[slot].y_mm, &tile))
		return 0;
	return ground->portal_of[tile];
}

void sim_portal_arrive(struct sim_map *m, uint32_t slot)
{
	sim_player(m, slot)->portal = portal_at(m, slot);
}

static int32_t draw(struct sim_map *m, int32_t low, int32_t high)
{
	return low + (int32_t)sim_random_below(&m->random, (uint32_t)(high - low) + 1);
}

static bool go(struct sim_map *m, uint32_t slot, const struct sim_portal *portal)
{
	struct sim_spawn spawn = {.heading = m->entities[slot].heading};

	if (portal->spawn) {
		/* In a wall, the other shard puts it beside that. */
		spawn.has_position = true;
		spawn.x_mm = draw(m, portal->spawn->x0_mm, portal->spawn->x1_mm);
		spawn.y_mm = draw(m, portal->spawn->y0_mm, portal->spawn->y1_mm);
	}
	return sim_player_transfer(m, slot, portal->map, &spawn);
}

bool sim_portal_step(struct sim_shard *s, struct sim_map *m, uint32_t slot)
{
	struct sim_player *p = sim_player(m, slot);
	uint8_t portal = portal_at(m, slot);

	if (portal == p->portal)
		return false;
	p->portal = portal;
	if (!portal)
		return false;
	if (p->turned_back && (int32_t)(m->beat - p->portal_beat) < 0) {
		sim_send_refused(s, m, slot, SW_MSG_JOINED, SW__ACTION_REFUSAL__TOO_OFTEN);
		return false;
	}
	p->turned_back = false;
	if (!go(m, slot, &m->portals[portal - 1]))
		return false;
	sim_count(s, SIM_PORTALS, 1);
	return true;
}

void sim_portal_turned_back(struct sim_shard *s, struct sim_map *m, uint32_t slot, uint32_t reason)
{
	struct sim_player *p = sim_player(m, slot);

	p->turned_back = true;
	p->portal_beat = m->beat + SIM_PORTAL_WAIT_S * m->config.tick_hz;
	sim_send_refused(s, m, slot, SW_MSG_JOINED,
		reason == SW_REASON_MAP_CLOSING ? SW__ACTION_REFUSAL__MAP_CLOSED
						: SW__ACTION_REFUSAL__MAP_FULL);
}
