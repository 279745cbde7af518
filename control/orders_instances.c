/* Orders about the running copies of maps. */
#include <stdio.h>
#include <string.h>

#include "control/orders_internal.h"

static void tell_opened(struct ctl *ctl, uint32_t id, char *text, size_t bytes)
{
	const struct config_map *map =
		&ctl->config->maps[instance_definition(ctl->config, instance_slot(id))];
	uint32_t shard = 0;

	director_runs(ctl->director, id, &shard);
	snprintf(text, bytes, "instance %u.%u of %s is open on shard %u", instance_slot(id),
		instance_generation(id), map->name, shard);
	if (map->kind != CONFIG_MAP_ROOM && map->close_after_s)
		snprintf(text + strlen(text), bytes - strlen(text),
			"; it closes by itself when it was empty for %u s and is one too many",
			map->close_after_s);
	else if (map->kind == CONFIG_MAP_ROOM)
		snprintf(text + strlen(text), bytes - strlen(text), "; it ends by its rule, %s",
			map->rule);
}

void orders_opened(void *ctx, uint32_t definition, uint32_t id)
{
	struct ctl *ctl = ctx;
	struct kept_order *first = NULL;
	char text[256];

	for (struct kept_order *k = ctl->orders.kept; k < ctl->orders.kept + ORDERS_KEPT_MAX; k++)
		if (k->id && k->definition == definition && (!first || k->id < first->id))
			first = k;
	if (!first)
		return; /* answered at its deadline */
	if (id == INSTANCE_NONE) {
		order_kept_end(ctl, first, ORDER_REFUSED,
			"no instance could be prepared (then the log says why), or players took "
			"the last one that may run");
		return;
	}
	tell_opened(ctl, id, text, sizeof(text));
	order_kept_end(ctl, first, ORDER_DONE, text);
}

void order_instance_open(struct ctl *ctl, const struct order *order, uint64_t now_ns)
{
	const char *name = order->word[2];
	uint32_t definition = 0, id;
	enum director_refusal refusal;
	struct kept_order *kept;
	char text[256];

	while (definition < ctl->config->map_count &&
		strcmp(ctl->config->maps[definition].name, name) != 0)
		definition++;
	if (definition == ctl->config->map_count) {
		order_answer(ctl, order, ORDER_REFUSED, "there is no map %s", name);
		return;
	}
	kept = order_keep(
		ctl, order, now_ns, "it is being prepared and takes longer than usual", false);
	if (!kept)
		return;
	kept->definition = definition;
	refusal = director_open(ctl->director, definition, now_ns, &id);
	if (refusal != DIRECTOR_REFUSED_NONE) {
		order_kept_end(ctl, kept, ORDER_REFUSED, director_refusal_text(refusal));
	} else if (id != INSTANCE_NONE) {
		tell_opened(ctl, id, text, sizeof(text));
		order_kept_end(ctl, kept, ORDER_DONE, text);
	}
}

static bool id_read(const char *word, uint32_t *id)
{
	unsigned slot, generation;
	int used = 0;

	if (sscanf(word, "%3u.%8u%n", &slot, &generation, &used) != 2 || word[used] ||
		slot >= CONFIG_INSTANCES_MAX || !generation || generation > UINT32_MAX >> 8)
		return false;
	*id = instance_id(slot, generation);
	return true;
}

void order_instance_close(struct ctl *ctl, const struct order *order, uint64_t now_ns)
{
	enum director_refusal refusal;
	uint32_t id;

	(void)now_ns;
	if (!id_read(order->word[2], &id)) {
		order_answer(ctl, order, ORDER_USAGE,
			"\"%s\" is no instance: its slot and generation are meant, as in 3.1",
			order->word[2]);
		return;
	}
	refusal = director_close(ctl->director, id);
	if (refusal != DIRECTOR_REFUSED_NONE) {
		order_answer(ctl, order, ORDER_REFUSED, "%s", director_refusal_text(refusal));
		return;
	}
	order_answer(ctl, order, ORDER_DONE, "instance %u.%u takes nobody more; %s",
		instance_slot(id), instance_generation(id),
		ctl->config->maps[instance_definition(ctl->config, instance_slot(id))].kind ==
				CONFIG_MAP_ROOM
			? "its match plays to its end"
			: "its players go to other instances of its map, and it ends");
}
