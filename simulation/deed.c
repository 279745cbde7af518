#include "simulation/deed.h"

#include "common/check.h"
#include "proto/client.pb-c.h"
#include "simulation/combat.h"
#include "simulation/events.h"
#include "simulation/loot.h"
#include "simulation/monster.h"
#include "simulation/send.h"

#define ANNOUNCED_PER_TICK 256u /* players: each gets a reliable message of its own */

static bool tell(
	struct sim_map *m, uint32_t player, uint32_t actor_id, const char *text, uint32_t bytes)
{
	Sw__Dialogue dialogue = SW__DIALOGUE__INIT;
	char copy[SCRIPT_SAY_BYTES + 1];

	DCHECK(bytes <= SCRIPT_SAY_BYTES);
	memcpy(copy, text, bytes);
	copy[bytes] = '\0';
	dialogue.actor_id = actor_id;
	dialogue.text = copy;
	sim_work(m, SIM_COST_SEND);
	return sim_send_reliable(m->shard, m, player, SW_CHANNEL_SESSION,
		(uint32_t)sw__dialogue__pack(&dialogue, sim_send_begin(m->shard, SW_MSG_DIALOGUE)));
}

/* ---- who is near ---- */

/* The cells whose places are within mm of a place. */
struct square {
	uint32_t column0, column1, row0, row1;
};

static struct square square_around(const struct sim_map *m, int32_t x_mm, int32_t y_mm, uint32_t mm)
{
	uint32_t x0 = (uint32_t)x_mm > mm ? (uint32_t)x_mm - mm : 0;
	uint32_t y0 = (uint32_t)y_mm > mm ? (uint32_t)y_mm - mm : 0;
	uint32_t x1 = ((uint32_t)x_mm + mm) / m->cell_mm, y1 = ((uint32_t)y_mm + mm) / m->cell_mm;

	return (struct square){.column0 = x0 / m->cell_mm,
		.column1 = x1 < m->columns ? x1 : m->columns - 1,
		.row0 = y0 / m->cell_mm,
		.row1 = y1 < m->rows ? y1 : m->rows - 1};
}

static bool within(const struct sim_entity *a, const struct sim_entity *b, uint32_t mm)
{
	int64_t dx = (int64_t)a->x_mm - b->x_mm, dy = (int64_t)a->y_mm - b->y_mm;

	return (uint64_t)(dx * dx + dy * dy) <= (uint64_t)mm * mm;
}

/* Actors looked at in one call, so that a crowd of monsters is no long call. */
#define LOOKS_MAX 4096u

uint32_t sim_deed_near(void *ctx, uint64_t actor, uint32_t mm, uint64_t players[SCRIPT_NEAR_MAX])
{
	struct sim_map *m = ctx;
	uint32_t slot = sim_slot_of_handle(m, actor), count = 0, looks = LOOKS_MAX;
	struct square square;

	if (slot == SIM_NONE)
		return 0;
	square = square_around(m, m->entities[slot].x_mm, m->entities[slot].y_mm, mm);
	for (uint32_t row = square.row0; row <= square.row1; row++)
		for (uint32_t column = square.column0; column <= square.column1; column++) {
			uint32_t other = m->cells[row * m->columns + column].head;

			sim_work(m, SIM_COST_CELL);
			for (; other != SIM_NONE && looks && count < SCRIPT_NEAR_MAX;
				other = m->entities[other].cell_next, looks--) {
				sim_work(m, SIM_COST_CANDIDATE);
				if (other != slot && other < m->player_slots &&
					sim_is_present(m, other) && sim_is_alive(m, other) &&
					within(&m->entities[slot], &m->entities[other], mm))
					players[count++] = sim_handle(m, other);
			}
		}
	return count;
}

uint32_t sim_deed_shout(void *ctx, uint64_t actor, const char *text, uint32_t bytes)
{
	struct sim_map *m = ctx;
	uint32_t slot = sim_slot_of_handle(m, actor), heard = 0, looks = LOOKS_MAX;
	struct square square;

	if (slot == SIM_NONE || slot < m->player_slots)
		return 0;
	square = square_around(
		m, m->entities[slot].x_mm, m->entities[slot].y_mm, SIM_CELL_RADIUS * m->cell_mm);
	for (uint32_t row = square.row0; row <= square.row1; row++)
		for (uint32_t column = square.column0; column <= square.column1; column++) {
			uint32_t other = m->cells[row * m->columns + column].head;

			sim_work(m, SIM_COST_CELL);
			for (; other != SIM_NONE && looks && heard < SCRIPT_NEAR_MAX;
				other = m->entities[other].cell_next, looks--) {
				sim_work(m, SIM_COST_CANDIDATE);
				if (other < m->player_slots && sim_is_present(m, other) &&
					sim_knows(m, other, slot))
					heard += tell(
						m, other, m->entities[slot].wire_id, text, bytes);
			}
		}
	return heard;
}

/* ---- fights ---- */

bool sim_deed_do(void *ctx, enum script_deed deed, uint64_t monster, uint64_t player, uint32_t what,
	int64_t amount)
{
	struct sim_map *m = ctx;
	uint32_t slot = sim_slot_of_monster(m, monster), to = sim_slot_of_handle(m, player);
	struct sim_body *body;

	if (slot == SIM_NONE)
		return false;
	body = &m->bodies[slot];
	if (deed == SCRIPT_DROP) /* the dead leave things, too */
		return sim_loot_leave(
			m, slot, what, (uint32_t)amount, to < m->player_slots ? to : SIM_NONE);
	if (!body->health)
		return false;
	switch (deed) {
	case SCRIPT_HEAL:
		body->health = amount < body->health_max - body->health
				       ? body->health + (uint32_t)amount
				       : body->health_max;
		/* Health is in blows: of nobody, and of nothing. */
		sim_event(m, SIM_NONE, slot, 0);
		return true;
	case SCRIPT_SET_ATTACK:
		body->attack = (uint16_t)amount;
		return true;
	default:
		break;
	}
	if (to >= m->player_slots || !sim_is_present(m, to) || !sim_is_alive(m, to) ||
		sim_player(m, to)->detail != SIM_DETAIL_READY)
		return false;
	if (deed == SCRIPT_STRIKE)
		sim_hurt(m, slot, to, (uint32_t)amount);
	return deed == SCRIPT_STRIKE || sim_monster_chase(m, sim_monster_of(m, slot), to);
}

/* ---- announcements ---- */

bool sim_deed_announce(void *ctx, const char *text, uint32_t bytes)
{
	struct sim_map *m = ctx;
	struct sim_announcement *announcement;

	if (m->announcement_count == SIM_ANNOUNCEMENTS)
		return false;
	announcement = &m->announcements[m->announcement_count++];
	announcement->bytes = bytes;
	memcpy(announcement->text, text, bytes);
	if (m->announcement_count == 1)
		m->announcement_next = 0;
	return true;
}

bool sim_announcements_tell(struct sim_map *m, struct sim_slice *slice)
{
	if (!m->script || !m->announcement_count)
		return true;
	for (; m->cursor < ANNOUNCED_PER_TICK && m->announcement_next < m->player_slots;
		m->announcement_next++) {
		if (slice->left <= 0)
			return false;
		slice->left -= SIM_COST_SLOT;
		if (!sim_is_present(m, m->announcement_next) ||
			sim_player(m, m->announcement_next)->owed & SIM_OWE_JOINED)
			continue;
		tell(m, m->announcement_next, 0, m->announcements[0].text,
			m->announcements[0].bytes);
		m->cursor++;
		slice->left -= sim_work_taken(m);
	}
	if (m->announcement_next < m->player_slots)
		return true;
	m->announcement_next = 0;
	m->announcement_count--;
	memmove(&m->announcements[0], &m->announcements[1],
		m->announcement_count * sizeof(m->announcements[0]));
	return true;
}
