/* quest: the quests of a map's players (game/quests.h says what a quest is and how its state is
 * stored). Private to simulation; the shard's thread.
 *
 * The state of a quest lies in the database; m->quests is the shard's copy, of the quests that the
 * game's data has. It comes with the details, and changes when a commit of it says OK, as
 * everything does that a player owns (commit.h). What the database has of other quests is not
 * looked at.
 *
 * Progress. Kills, and places and items that were seen, are counted as due and kept by the commit
 * of gains, once a second, together with the gold and experience of the same kills: all or nothing.
 * The client is told of them as pending until then; what it was told of as count is never lost. A
 * due count goes with the step it was counted for: where the database turns out to stand elsewhere,
 * it is dropped. While a commit of a quest is under way the quest is busy, and neither a script nor
 * the next commit of gains touches it.
 *
 * Only the first SIM_QUESTS_OPEN open quests (by number) count; more cannot be begun. */
#ifndef SW_SIMULATION_QUEST_H
#define SW_SIMULATION_QUEST_H

#include "common/commit.h"
#include "simulation/state.h"

/* One quest of a player. */
static inline struct sim_quest_now *sim_quest_now(
	const struct sim_map *m, uint32_t player, uint32_t quest)
{
	return &m->quests[(size_t)player * m->game->quest_count + quest];
}

/* The ring's drain: the details say how the player's quests stand. */
void sim_quests_load(
	struct sim_map *m, uint32_t player, const struct msg_quest *quests, uint32_t count);

/* A join: nothing is known. */
void sim_quests_clear(struct sim_map *m, uint32_t player);

/* A monster of that kind was killed, by this player or by somebody of its party near it. */
void sim_quests_killed(struct sim_map *m, uint32_t player, uint32_t monster_kind);

/* Stage 1, once a second: looks for what one has and where one stands. Returns its cost. */
uint32_t sim_quests_second(struct sim_map *m, uint32_t player);

/* Operations for all that is due, at most SIM_QUESTS_OPEN; *busy: a quest with something due is, so
 * nothing may be asked now. Returns how many. */
uint32_t sim_quests_due(struct sim_map *m, uint32_t player, struct commit_op *op, bool *busy);
/* They were asked for. */
void sim_quests_asked(struct sim_map *m, uint32_t player, const struct commit_op *op);
/* An operation of those was answered; done: what was due is not any more. */
void sim_quests_gained(struct sim_map *m, uint32_t player, const struct commit_op *op, bool done);

/* An operation of a quest begins (busy) or was answered. */
void sim_quest_mark(struct sim_map *m, uint32_t player, const struct commit_op *op, bool busy);

/* The database has carried the operation out. */
void sim_quest_apply(struct sim_map *m, uint32_t player, const struct commit_op *op);

/* Something of the bag has changed. */
void sim_quests_look(struct sim_map *m, uint32_t player);

/* Seconds until a quest that is done may be begun again: 0 now, UINT32_MAX never. */
uint32_t sim_quest_wait_s(const struct sim_map *m, uint32_t player, uint32_t quest);

/* Whether it is not begun, or done and to be begun again: as far as it goes, it may be. */
bool sim_quest_is_new(const struct sim_map *m, uint32_t player, uint32_t quest);

/* Whether level and other quests allow to begin it. */
bool sim_quest_may_begin(const struct sim_map *m, uint32_t player, const struct sim_quest *quest);

/* Gives a quest up, by its number. Returns an ActionRefusal. */
uint32_t sim_quest_abandon(struct sim_map *m, uint32_t player, uint32_t number);

/* quest_tell.c: sends a QuestLog, or a QuestUpdate of what has changed. */
void sim_quests_tell_all(struct sim_map *m, uint32_t player);
void sim_quests_tell(struct sim_map *m, uint32_t player);

#endif
