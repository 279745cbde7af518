/* list.h: queues of player slots, linked through life_next or lazy_next. A slot is in a queue at
 * most once; in_life and in_lazy say so. Private to simulation. */
#ifndef SW_SIMULATION_LIST_H
#define SW_SIMULATION_LIST_H

#include "simulation/state.h"

/* Puts a player where stage 1 looks: it joins, leaves, or owes a message. */
static inline void sim_life_push(struct sim_map *m, uint32_t slot)
{
	struct sim_player *p = sim_player(m, slot);

	if (p->in_life)
		return;
	p->in_life = true;
	p->life_next = SIM_NONE;
	if (m->life.count++)
		sim_player(m, m->life.tail)->life_next = slot;
	else
		m->life.head = slot;
	m->life.tail = slot;
}

static inline uint32_t sim_life_pop(struct sim_map *m)
{
	uint32_t slot = m->life.head;

	m->life.head = sim_player(m, slot)->life_next;
	m->life.count--;
	sim_player(m, slot)->in_life = false;
	return slot;
}

/* The lists of the lazy join: m->lazy (to be asked) and m->arrived (answered). */
static inline void sim_lazy_push(struct sim_map *m, struct sim_list *list, uint32_t slot)
{
	struct sim_player *p = sim_player(m, slot);

	if (p->in_lazy)
		return;
	p->in_lazy = true;
	p->lazy_next = SIM_NONE;
	if (list->count++)
		sim_player(m, list->tail)->lazy_next = slot;
	else
		list->head = slot;
	list->tail = slot;
}

static inline uint32_t sim_lazy_pop(struct sim_map *m, struct sim_list *list)
{
	uint32_t slot = list->head;

	list->head = sim_player(m, slot)->lazy_next;
	list->count--;
	sim_player(m, slot)->in_lazy = false;
	return slot;
}

#endif
