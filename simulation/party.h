/* party: the shard's side of parties: what its players ask of control, what control says of their
 * parties (stage 4), what members are told, and what being in one means on a map: a kill is of all
 * who are near, and no harm is done to each other. Private to simulation; the shard's thread.
 *
 * Authority is Redis, behind control. What comes is whole and has a version of the realm
 * (common/party.h): an older word than one that is known, of a party or of a player, is counted and
 * changes nothing; one that is missed is made good by the next, and where control or this inbox had
 * to let one go, the player's party is asked for again. Nothing of it is saved here or handed on:
 * who comes to a map, from another one or by a takeover, asks when its details are there. */
#ifndef SW_SIMULATION_PARTY_H
#define SW_SIMULATION_PARTY_H

#include "simulation/state.h"

#define SIM_PARTY_TOKENS   5u /* requests of one player at once; and one more each second */
#define SIM_PARTY_RESYNC_S 5u /* a resync's questions are spread over so long */

/* Set-up: what a map's parties take, and the memory for it. */
size_t sim_parties_bytes(uint32_t player_slots, uint32_t members_max);
void sim_parties_init(struct sim_map *m, void *memory);

/* A slot a player, and some messages of the largest size. */
static inline uint32_t sim_party_inbox_slots(uint32_t player_slots)
{
	return 2 * player_slots + 4 * MSG_SLOTS_MAX;
}

static inline uint8_t *sim_party_live_of(const struct sim_map *m, uint32_t party)
{
	return m->parties.live + (size_t)party * m->parties.members_max * SIM_PARTY_LIVE_BYTES;
}

/* MSG_PARTY_STATE, where its pieces lie. False: it is none. */
struct sim_party_news {
	struct msg_party_state head;
	const struct msg_party_member *members;
	const struct msg_party_target *targets;
};
bool sim_party_news_read(const struct msg *message, struct sim_party_news *news);

/* A player takes the slot; has left it. */
void sim_party_came(struct sim_map *m, uint32_t slot);
void sim_party_left(struct sim_map *m, uint32_t slot);

/* Stage 3: its details are there: its party is asked for. */
void sim_party_ask(struct sim_map *m, uint32_t slot);

/* The ring's drain: a PartyRequest; goes on to control, or is answered at once. */
void sim_party_request(struct sim_shard *s, struct sim_map *m, uint32_t slot,
	const struct sim_client_message *words);

/* The ring's drain: a message of control about parties; waits for stage 4 of the maps that it
 * concerns. Returns the cost. */
uint32_t sim_party_from_control(struct sim_shard *s, const struct msg *message);

/* Whether two players are members of one party. */
bool sim_party_same(const struct sim_map *m, uint32_t a, uint32_t b);

/* Who has part in what owner kills at a place: owner first, then those of its party who are near,
 * alive, and known. */
struct sim_party_group {
	uint32_t count;
	uint32_t slot[1 + PARTY_MEMBERS_MAX];
};
void sim_party_near(struct sim_map *m, uint32_t owner, int32_t x_mm, int32_t y_mm,
	struct sim_party_group *group);

/* A kill's experience, among all of the group or, where the configuration does not share it, for
 * the first. What the division leaves is the first's. */
void sim_party_share(struct sim_map *m, const struct sim_party_group *group, uint32_t experience);

#endif
