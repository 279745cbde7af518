#include "simulation/match/cards.h"

#include "common/check.h"
#include "proto/client.pb-c.h"
#include "simulation/combat.h"
#include "simulation/send.h"
#include "simulation/view.h"

/* Together, whatever was drawn: a body's fields are 16 bits, and steps stay below a tile. */
#define ATTACK_MAX         10000u
#define HEALTH_MAX         100000u
#define SPEED_PERMILLE_MAX 1000u

static uint32_t add(uint32_t *sum, uint32_t more, uint32_t most)
{
	uint32_t room = most - *sum;

	*sum += more < room ? more : room;
	return more < room ? more : room;
}

uint32_t sim_cards_take(
	struct sim_map *m, uint32_t slot, uint32_t offer, uint32_t card, bool by_default)
{
	const struct sim_card *row = &m->game->cards[card];
	struct sim_player *p = sim_player(m, slot);
	Sw__CardTaken taken = SW__CARD_TAKEN__INIT;
	uint32_t health;

	add(&p->boost.attack, row->attack, ATTACK_MAX);
	add(&p->boost.defence, row->defence, ATTACK_MAX);
	add(&p->boost.speed_permille, row->speed_permille, SPEED_PERMILLE_MAX);
	health = add(&p->boost.health, row->health, HEALTH_MAX);
	p->speed_mm_per_s = SIM_WALK_MM_PER_S * (1000 + p->boost.speed_permille) / 1000;
	sim_body_player(m, slot, false);
	m->bodies[slot].health += health;
	p->tell |= SIM_TELL_STATUS;
	if (health)
		sim_view_renew(m, slot);
	sim_count(m->shard, by_default ? SIM_CARDS_GIVEN : SIM_CARDS_PICKED, 1);
	taken.offer = offer;
	taken.card = row->number;
	taken.speed_mm_per_s = p->speed_mm_per_s;
	taken.by_default = by_default;
	sim_send_reliable(m->shard, m, slot, SW_CHANNEL_SESSION,
		(uint32_t)sw__card_taken__pack(
			&taken, sim_send_begin(m->shard, SW_MSG_CARD_TAKEN)));
	return 2 * SIM_COST_SEND;
}

uint32_t sim_cards_offer(struct sim_map *m, uint32_t slot, uint32_t number, const uint32_t *cards,
	uint32_t count, uint32_t left_ms)
{
	Sw__CardOffer offer = SW__CARD_OFFER__INIT;
	Sw__MatchCard rows[SIM_CARDS_OFFERED], *list[SIM_CARDS_OFFERED];

	DCHECK(count <= SIM_CARDS_OFFERED);
	for (uint32_t i = 0; i < count; i++) {
		const struct sim_card *card = &m->game->cards[cards[i]];

		rows[i] = (Sw__MatchCard)SW__MATCH_CARD__INIT;
		rows[i].number = card->number;
		rows[i].name = (char *)(uintptr_t)card->name;
		rows[i].attack = card->attack;
		rows[i].defence = card->defence;
		rows[i].health = card->health;
		rows[i].speed_permille = card->speed_permille;
		list[i] = &rows[i];
	}
	offer.offer = number;
	offer.left_ms = left_ms;
	offer.n_cards = count;
	offer.cards = list;
	sim_send_reliable(m->shard, m, slot, SW_CHANNEL_SESSION,
		(uint32_t)sw__card_offer__pack(
			&offer, sim_send_begin(m->shard, SW_MSG_CARD_OFFER)));
	return SIM_COST_SEND;
}
