/* The rule script: the match is what the map's script says (rule { } in docs/content.md). Its
 * handlers run as other handlers do (happening.h), on_tick here. Whatever it says, the room ends
 * after maps[].match_time, or when it has been empty for maps[].empty_time. */
#include "simulation/match/script.h"

#include "common/check.h"
#include "proto/client.pb-c.h"
#include "simulation/combat.h"
#include "simulation/happening.h"
#include "simulation/match/cards.h"
#include "simulation/match/match.h"
#include "simulation/npc.h"
#include "simulation/send.h"

#define PLAYERS_MAX 64u
#define NO_SLOT     SIM_NONE

_Static_assert(SCRIPT_OFFER_MAX == SIM_CARDS_OFFERED, "an offer fits either way");

/* What is offered to one player. */
struct offered {
	uint32_t slot, generation; /* NO_SLOT: the place is free */
	uint32_t number;           /* of the offer; 0: none is open */
	uint32_t count;
	uint64_t until_ms;
	uint32_t cards[SCRIPT_OFFER_MAX], pad;
};

struct scripted {
	uint64_t empty_since; /* sim_match_ms */
	uint32_t here;        /* players in the room */
	uint32_t offers;      /* made: the last one's number */
	uint32_t results;
	uint32_t tell;              /* everybody is to be told how it stands */
	uint64_t kept[PLAYERS_MAX]; /* [results]: characters whose result is kept */
	struct offered offered[PLAYERS_MAX];
};
_Static_assert(
	sizeof(struct offered) == 40 && sizeof(struct scripted) == 8 + 16 + PLAYERS_MAX * (8 + 40),
	"hashed as it lies: no padding");

static void opened(struct sim_map *m, void *state)
{
	struct scripted *scripted = state;

	scripted->empty_since = sim_match_ms(m);
	for (uint32_t i = 0; i < PLAYERS_MAX; i++)
		scripted->offered[i].slot = NO_SLOT;
	sim_happens_rule(m, SCRIPT_HANDLER_RULE_OPEN, SIM_NONE, 0);
}

static void joined(struct sim_map *m, void *state, uint32_t slot, bool returning)
{
	struct scripted *scripted = state;

	scripted->here++;
	scripted->tell = 1;
	sim_happens_rule(m, SCRIPT_HANDLER_RULE_JOIN, slot, returning);
}

static struct offered *offered_to(struct scripted *scripted, uint32_t slot)
{
	for (uint32_t i = 0; i < PLAYERS_MAX; i++)
		if (scripted->offered[i].slot == slot)
			return &scripted->offered[i];
	return NULL;
}

/* At once, and not when the others' turn is: the player can still be read. */
static void left(struct sim_map *m, void *state, uint32_t slot)
{
	struct scripted *scripted = state;
	struct offered *offered = offered_to(scripted, slot);

	if (!--scripted->here)
		scripted->empty_since = sim_match_ms(m);
	if (!m->match.ending)
		sim_rule_run(m, SCRIPT_HANDLER_RULE_LEAVE, slot, 0);
	if (offered)
		*offered = (struct offered){.slot = NO_SLOT};
}

static void choose(struct sim_map *m, struct offered *offered, uint32_t choice)
{
	offered->number = 0;
	sim_happens_rule(m, SCRIPT_HANDLER_RULE_PICK, offered->slot, choice);
}

/* Who has not chosen in time has the first. */
static void choose_for_the_late(struct sim_map *m, struct scripted *scripted)
{
	uint64_t now_ms = sim_match_ms(m);

	for (uint32_t i = 0; i < PLAYERS_MAX; i++) {
		struct offered *offered = &scripted->offered[i];

		if (offered->number && now_ms >= offered->until_ms)
			choose(m, offered, 1);
	}
}

/* MatchState to all who have heard Joined; a later tick tells the others. */
static uint32_t tell_state(struct sim_map *m, struct scripted *scripted)
{
	Sw__MatchState state = SW__MATCH_STATE__INIT;
	uint64_t now_ms = sim_match_ms(m), most_ms = m->config.match_s * 1000ull;
	uint32_t cost = 0;

	scripted->tell = 0;
	state.phase = m->match.hold  ? SW__MATCH_PHASE__COUNTDOWN
		      : m->match.pvp ? SW__MATCH_PHASE__FIGHT
				     : SW__MATCH_PHASE__WAITING;
	state.left_ms = most_ms > now_ms ? (uint32_t)(most_ms - now_ms) : 0;
	state.players = scripted->here;
	for (uint32_t slot = 0; slot < m->player_slots; slot++) {
		const struct sim_player *p = sim_player(m, slot);

		cost += SIM_COST_SLOT;
		if (!sim_is_present(m, slot))
			continue;
		if (p->owed & SIM_OWE_JOINED) {
			scripted->tell = 1;
			continue;
		}
		state.speed_mm_per_s = m->match.hold ? 0 : p->speed_mm_per_s;
		sim_send_reliable(m->shard, m, slot, SW_CHANNEL_SESSION,
			(uint32_t)sw__match_state__pack(
				&state, sim_send_begin(m->shard, SW_MSG_MATCH_STATE)));
		cost += SIM_COST_SEND;
	}
	return cost;
}

static uint32_t tick(struct sim_map *m, void *state)
{
	struct scripted *scripted = state;
	uint64_t now_ms = sim_match_ms(m);
	uint32_t cost = scripted->tell ? tell_state(m, scripted) : 0;

	choose_for_the_late(m, scripted);
	if (now_ms >= m->config.match_s * 1000ull ||
		(!scripted->here && now_ms - scripted->empty_since >= m->config.empty_s * 1000ull))
		sim_match_end(m);
	else
		sim_rule_run(m, SCRIPT_HANDLER_RULE_TICK, SIM_NONE, 0);
	return cost + SIM_COST_SCRIPT + PLAYERS_MAX * SIM_COST_SLOT;
}

static uint32_t pick(struct sim_map *m, void *state, uint32_t slot, uint32_t offer, uint32_t card)
{
	struct offered *offered = offered_to(state, slot);

	if (!offered || !offered->number || offered->number != offer ||
		offered->generation != m->entities[slot].generation || !sim_is_alive(m, slot))
		return SW__ACTION_REFUSAL__NO_OFFER;
	for (uint32_t i = 0; i < offered->count; i++) {
		if (m->game->cards[offered->cards[i]].number != card)
			continue;
		choose(m, offered, i + 1);
		return SW__ACTION_REFUSAL__ACTION_REFUSAL_NONE;
	}
	return SW__ACTION_REFUSAL__NO_SUCH_CARD;
}

static void ended(struct sim_map *m, void *state)
{
	(void)state;
	m->match.pvp = m->match.alone = m->match.hold = false;
}

const struct sim_match_rule sim_match_script = {
	.name = "script",
	.number = 3,
	.players_max = PLAYERS_MAX,
	.state_bytes = sizeof(struct scripted),
	.opened = opened,
	.joined = joined,
	.left = left,
	.tick = tick,
	.pick = pick,
	.ended = ended,
};

/* ---- what the script does ---- */

/* The state, where the room's rule is this one. */
static struct scripted *scripted_of(struct sim_map *m)
{
	return m->match.rule == &sim_match_script ? m->match.state : NULL;
}

static uint32_t living(struct sim_map *m, uint64_t player)
{
	uint32_t slot = sim_slot_of_handle(m, player);

	return slot < m->player_slots && sim_is_present(m, slot) && sim_is_alive(m, slot)
		       ? slot
		       : SIM_NONE;
}

uint64_t sim_match_script_ms(void *ctx)
{
	return sim_match_ms(ctx);
}

uint32_t sim_match_script_players(void *ctx, uint64_t players[SCRIPT_NEAR_MAX])
{
	struct sim_map *m = ctx;
	uint32_t count = 0;

	sim_work(m, m->player_slots * SIM_COST_SLOT);
	for (uint32_t slot = 0; slot < m->player_slots && count < SCRIPT_NEAR_MAX; slot++)
		if (sim_is_present(m, slot) && sim_is_alive(m, slot))
			players[count++] = sim_handle(m, slot);
	return count;
}

static bool keep_result(struct sim_map *m, uint64_t player, int64_t place)
{
	struct scripted *scripted = scripted_of(m);
	uint32_t slot = sim_slot_of_handle(m, player);
	struct sim_match_who who;

	if (!scripted || slot >= m->player_slots || scripted->results == PLAYERS_MAX || place < 1 ||
		place > PLAYERS_MAX)
		return false;
	who = sim_match_who(m, slot);
	for (uint32_t i = 0; i < scripted->results; i++)
		if (scripted->kept[i] == who.character_id)
			return false;
	scripted->kept[scripted->results++] = who.character_id;
	sim_match_result(m, &who, (uint32_t)place);
	return true;
}

bool sim_match_script_move(
	void *ctx, enum script_move move, uint64_t player, uint32_t what, int64_t amount)
{
	struct sim_map *m = ctx;
	struct scripted *scripted = scripted_of(m);
	struct offered *offered;
	uint32_t slot;

	if (!scripted || m->match.ending)
		return false;
	switch (move) {
	case SCRIPT_MATCH_LOCK:
		sim_match_lock(m, amount != 0);
		return true;
	case SCRIPT_MATCH_HOLD:
		m->match.hold = amount != 0;
		scripted->tell = 1;
		return true;
	case SCRIPT_MATCH_FIGHT:
		m->match.pvp = m->match.alone = m->match.mortal = amount != 0;
		scripted->tell = 1;
		return true;
	case SCRIPT_MATCH_RESULT:
		return keep_result(m, player, amount);
	case SCRIPT_MATCH_FINISH:
		sim_match_end(m);
		return true;
	default:
		break;
	}
	slot = living(m, player);
	if (slot == SIM_NONE || sim_player(m, slot)->detail != SIM_DETAIL_READY)
		return false;
	if (move == SCRIPT_MATCH_HURT) {
		sim_hurt(m, SIM_NONE, slot, (uint32_t)amount);
		return true;
	}
	offered = offered_to(scripted, slot);
	sim_work(m, sim_cards_take(m, slot, scripted->offers, what, !offered));
	return true;
}

bool sim_match_script_offer(void *ctx, uint64_t player, const uint32_t cards[SCRIPT_OFFER_MAX],
	uint32_t count, uint32_t seconds)
{
	struct sim_map *m = ctx;
	struct scripted *scripted = scripted_of(m);
	uint32_t slot = living(m, player);
	struct offered *offered;

	if (!scripted || m->match.ending || slot == SIM_NONE)
		return false;
	offered = offered_to(scripted, slot);
	if (!offered)
		offered = offered_to(scripted, NO_SLOT);
	if (!offered)
		return false;
	*offered = (struct offered){.slot = slot,
		.generation = m->entities[slot].generation,
		.number = ++scripted->offers,
		.count = count,
		.until_ms = sim_match_ms(m) + seconds * 1000ull};
	memcpy(offered->cards, cards, count * sizeof(*cards));
	sim_work(m, sim_cards_offer(m, slot, offered->number, cards, count, seconds * 1000));
	return true;
}
