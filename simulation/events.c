#include "simulation/events.h"

#include "simulation/interest.h"
#include "simulation/send.h"
#include "simulation/wire.h"

#define EVENT_BYTES_MAX 26u /* tag, length, four numbers of a tag and five bytes */

/* A CombatEvents being written. */
struct telling {
	uint8_t *at;
	uint32_t told;
	uint32_t left_out; /* he sees them, but there was no more room */
	uint32_t looked;
};

void sim_event(struct sim_map *m, uint32_t attacker, uint32_t target, uint32_t damage)
{
	if (m->event_count == SIM_EVENTS_MAX) {
		sim_count(m->shard, SIM_COMBAT_EVENTS_CUT, 1);
		return;
	}
	m->events[m->event_count++] = (struct sim_event){.attacker = attacker,
		.target = target,
		.damage = damage,
		.health = m->bodies[target].health,
		.next = SIM_NONE};
}

void sim_events_sort(struct sim_map *m)
{
	/* From the last, so that each cell's list begins with the oldest. */
	for (uint32_t i = m->event_count; i--;) {
		struct sim_event *event = &m->events[i];
		uint32_t at = m->entities[event->target].cell;
		struct sim_cell_events *cell;

		if (at == SIM_NONE)
			continue;
		cell = &m->cell_events[at];
		event->next = cell->count ? cell->head : SIM_NONE;
		cell->head = i;
		cell->count++;
	}
}

void sim_events_clear(struct sim_map *m)
{
	for (uint32_t i = 0; i < m->event_count; i++) {
		uint32_t at = m->entities[m->events[i].target].cell;

		if (at != SIM_NONE)
			m->cell_events[at].count = 0;
	}
	m->event_count = 0;
}

static void write_event(const struct sim_map *m, const struct sim_event *event, struct telling *t)
{
	uint8_t body[EVENT_BYTES_MAX], *at = body;

	if (t->told == SIM_EVENTS_TOLD) {
		t->left_out++;
		return;
	}
	if (event->attacker != SIM_NONE)
		at = wire_u32(at, 1, m->entities[event->attacker].wire_id);
	at = wire_u32(at, 2, m->entities[event->target].wire_id);
	at = wire_u32(at, 3, event->damage);
	at = wire_u32(at, 4, event->health);
	t->at = wire_bytes(t->at, 2, body, (uint32_t)(at - body));
	t->told++;
}

/* own: those that the observer takes part in, else those that he only sees. */
static void write_cells(const struct sim_map *m, uint32_t observer, const struct sim_window *window,
	bool own, struct telling *t)
{
	for (uint32_t row = window->row0; row <= window->row1; row++) {
		for (uint32_t column = window->column0; column <= window->column1; column++) {
			const struct sim_cell_events *cell =
				&m->cell_events[row * m->columns + column];
			uint32_t i = cell->count ? cell->head : SIM_NONE;

			for (; i != SIM_NONE; i = m->events[i].next) {
				const struct sim_event *event = &m->events[i];
				bool mine =
					event->attacker == observer || event->target == observer;

				if (t->looked == SIM_EVENTS_LOOKED)
					return;
				t->looked++;
				if (mine != own)
					continue;
				if (mine || sim_knows(m, observer, event->target) ||
					(event->attacker != SIM_NONE &&
						sim_knows(m, observer, event->attacker)))
					write_event(m, event, t);
			}
		}
	}
}

static uint32_t count_near(const struct sim_map *m, const struct sim_window *window)
{
	uint32_t count = 0;

	for (uint32_t row = window->row0; row <= window->row1; row++)
		for (uint32_t column = window->column0; column <= window->column1; column++)
			count += m->cell_events[row * m->columns + column].count;
	return count;
}

uint32_t sim_events_tell(struct sim_shard *s, struct sim_map *m, uint32_t observer)
{
	const struct sim_player *p = sim_player(m, observer);
	struct sim_window window = sim_window_of(m, m->entities[observer].cell);
	uint32_t near = count_near(m, &window), looked;
	struct telling t = {0};
	uint8_t *start;

	/* A route that is only being checked is no reason to hold back what is told once. */
	if (!near || p->owed & SIM_OWE_JOINED)
		return SIM_COST_CELL;
	start = sim_send_begin(s, SW_MSG_COMBAT);
	t.at = wire_u32(start, 1, m->tick);
	t.at = wire_u32(t.at, 3, p->stay);
	write_cells(m, observer, &window, true, &t);
	looked = t.looked;
	/* While messages wait for room in a ring only his own are worth a place in the queue. */
	t.looked = 0;
	if (!sim_send_blocked(s, p))
		write_cells(m, observer, &window, false, &t);
	if (t.looked < near)
		t.left_out += near - t.looked;
	sim_count(s, SIM_COMBAT_EVENTS, t.told);
	sim_count(s, SIM_COMBAT_EVENTS_CUT, t.left_out);
	if (t.told)
		sim_send_reliable(s, m, observer, SW_CHANNEL_EVENTS, (uint32_t)(t.at - start));
	return SIM_COST_VIEW + (looked + t.looked) * SIM_COST_EVENT;
}
