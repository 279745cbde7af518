/* commit: durable changes of what the map's players own (common/commit.h), from the shard's side.
 * Private to simulation; the shard's thread.
 *
 * What a player owns lies in the database; m->bags is the shard's copy, filled by the lazy join. A
 * change is asked of the world thread and takes effect here, in stage 3, when it says OK; then the
 * client is told. So what a client was told of is never lost. Until then the slots that it touches
 * are busy: nothing else may touch them, and a player has at most SIM_COMMITS_PLAYER under way.
 * Balances are those of the newest commit that was answered (answers have no order).
 *
 * Gains. Gold and experience of kills, and what a player has done for its quests (quest.h), are
 * gathered and asked for once a second, in one commit, so that a kill's gold, experience and count
 * are kept together or not at all. Where the database says that a quest stands elsewhere
 * (QUEST_STATE), gold and experience stay due, and are asked for again after the reload.
 *
 * Refused. UNAVAILABLE and EXPIRED change nothing. Anything else means that this copy is not what
 * the database has: the details are asked for again, and until they are there the player's actions
 * are refused with NOT_READY. Answers to what was asked before such a reload are in the details
 * already.
 *
 * Leaving. Who leaves the map waits, off the map, for what is under way, SIM_COMMIT_WAIT_S at most;
 * what was earned is asked for first. Then it is given up: the database may still do it, and the
 * next join loads what it did. An answer for a player who is gone is dropped; loot that was to be
 * picked up lies on the ground again if the database refused. */
#ifndef SW_SIMULATION_COMMIT_H
#define SW_SIMULATION_COMMIT_H

#include "common/commit.h"
#include "simulation/state.h"

#define SIM_COMMITS_PLAYER    4u
#define SIM_COMMIT_WAIT_S     3u
#define SIM_COMMIT_EXPIRES_MS 5000u

/* The stack of a slot as the protocol and the database number it; NULL: there is no such slot. */
struct sim_stack *sim_bag_at(struct sim_map *m, uint32_t player, uint32_t number);
bool sim_bag_busy(const struct sim_map *m, uint32_t player, uint32_t number);

/* Whether the player may begin another commit. */
bool sim_commit_room(const struct sim_map *m, uint32_t player);

/* Asks for count operations on the player's things, SIM_COMMIT_OPS_MAX at most; the slots and
 * quests among them become busy. loot is the ground slot it is about, or SIM_NONE; action the type
 * of the client's message, for a refusal, or 0. False: no room, here or in the ring; nothing has
 * changed.
 */
bool sim_commit_ask(struct sim_map *m, uint32_t player, enum commit_reason reason, uint32_t action,
	uint32_t loot, const struct commit_op *ops, uint32_t count);

/* The same for a click's handler, whose job is told of the answer (dialogue.h). */
bool sim_commit_script(struct sim_map *m, uint32_t player, enum commit_reason reason, uint32_t job,
	const struct commit_op *ops, uint32_t count);

/* The same for an intent (intent.h). */
bool sim_commit_intent(struct sim_map *m, uint32_t player, enum commit_reason reason,
	uint32_t number, const struct commit_op *ops, uint32_t count);

/* ---- a commit of two players (trading.c) ----
 * What the next one is called; places from m->commits_max on are trades'. Who has pushed it raises
 * s->commit_counter. */
void sim_commit_request(const struct sim_map *m, uint32_t place, uint64_t request[2]);

/* Which of the shard's commits that is, counted from 1. */
uint64_t sim_commit_number(const struct sim_map *m, const uint64_t request[2]);

/* The slots of character who become busy; returns what share.loads is to be. */
uint32_t sim_commit_bind(struct sim_map *m, uint32_t player, uint32_t who,
	const struct commit_op *op, uint32_t count);

/* One player's share of a commit that was answered. */
struct sim_commit_share {
	uint32_t player;
	uint32_t who; /* its place in the commit */
	uint32_t loads;
	uint64_t number; /* of the commit */
	uint32_t result; /* enum commit_result */
	uint32_t op_count;
	int64_t gold, experience; /* its balances */
	const struct commit_op *op;
};

/* Its slots are free again, and the result takes effect. */
void sim_commit_settle(struct sim_map *m, const struct sim_commit_share *share);

/* Stage 1, once a second: asks for what was earned, unless that is under way. Returns whether
 * nothing is earned that is not asked for. */
bool sim_commit_gains(struct sim_map *m, uint32_t player);

/* Stage 1, for one that is off the map: whether it need not wait any more. */
bool sim_commit_settled(struct sim_map *m, uint32_t player);

/* The ring's drain: an answer, which takes effect in stage 3. */
void sim_commit_answered(struct sim_shard *s, const struct msg_commit_result *result);

/* The copy here is not what the database has: it is loaded again. Not where details are under way:
 * they have it, or the next commit's balances or refusal puts it right. */
void sim_commit_reload(struct sim_map *m, uint32_t player);

/* The ring's drain: the details say what the player owns. */
void sim_bag_load(struct sim_map *m, uint32_t player, const struct msg_slot *slots, uint32_t count);

/* Stage 3. Resumable. */
bool sim_commit_results(struct sim_map *m, struct sim_slice *slice);

#endif
