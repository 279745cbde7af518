#include "simulation/status.h"

#include "proto/client.pb-c.h"
#include "simulation/bag.h"
#include "simulation/combat.h"
#include "simulation/live.h"
#include "simulation/party.h"
#include "simulation/quest.h"
#include "simulation/send.h"
#include "simulation/view.h"

static void tell_status(struct sim_shard *s, struct sim_map *m, uint32_t slot)
{
	const struct sim_player *p = sim_player(m, slot);
	const struct sim_purse *purse = &m->purses[slot];
	Sw__CharacterDetail detail = SW__CHARACTER_DETAIL__INIT;

	detail.level = p->level;
	detail.gold = p->gold;
	detail.appearance = p->appearance;
	detail.experience = purse->experience;
	detail.gold_pending = purse->gold_due;
	detail.experience_pending = purse->experience_due;
	detail.health = m->bodies[slot].health;
	detail.health_max = m->bodies[slot].health_max;
	sim_send_reliable(s, m, slot, SW_CHANNEL_SESSION,
		(uint32_t)sw__character_detail__pack(
			&detail, sim_send_begin(s, SW_MSG_CHARACTER_DETAIL)));
}

/* Written when something has changed, once a tick at most; nobody else ever needs it. */
static void tell_bag(struct sim_shard *s, struct sim_map *m, uint32_t slot)
{
	uint8_t *start = sim_send_begin(s, SW_MSG_INVENTORY);
	const uint8_t *end = sim_bag_write(m, slot, start);

	sim_work(m, SIM_COST_SEND + COMMIT_SLOTS_MAX * 2 * SIM_COST_SLOT); /* all of it, written */

	_Static_assert(SIM_INVENTORY_BYTES_MAX < MSG_PAYLOAD_MAX, "an inventory fits one message");
	sim_send_reliable(s, m, slot, SW_CHANNEL_SESSION, (uint32_t)(end - start));
}

void sim_status_arrived(struct sim_shard *s, struct sim_map *m, uint32_t slot)
{
	struct sim_player *p = sim_player(m, slot);
	uint32_t looked_like = m->bodies[slot].health_max;

	p->detail = SIM_DETAIL_READY;
	sim_live_remake(m, slot);
	p->tell = 0;
	tell_status(s, m, slot);
	tell_bag(s, m, slot);
	sim_quests_tell_all(m, slot);
	if (p->appearance || m->bodies[slot].health_max != looked_like)
		sim_view_renew(m, slot);
	if (m->bags[slot].loads == 1)
		sim_party_ask(m, slot);
	sim_count(s, SIM_DETAIL_RESULTS, 1);
}

uint32_t sim_status_tell(struct sim_shard *s, struct sim_map *m, uint32_t slot)
{
	struct sim_player *p = sim_player(m, slot);

	/* Before the details nothing is known to tell; then all is. */
	if (p->tell & SIM_TELL_STATUS && p->detail == SIM_DETAIL_READY)
		tell_status(s, m, slot);
	if (p->tell & SIM_TELL_BAG && p->detail == SIM_DETAIL_READY)
		tell_bag(s, m, slot);
	if (p->tell & SIM_TELL_QUESTS && p->detail == SIM_DETAIL_READY)
		sim_quests_tell(m, slot);
	p->tell = 0;
	return SIM_COST_SEND;
}
