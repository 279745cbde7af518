/* dialogue: click handlers that wait, from the shard's side. Private to simulation; the shard's
 * thread.
 *
 * A player has at most one: it waits for an answer (a question of the player's), or for a commit.
 * Another click ends one that waits for an answer; while a commit is under way clicks are refused
 * with BUSY. Who leaves the map, or is sent on, ends it; the commit goes on without it. A question
 * that nobody answers within SIM_QUESTION_S is answered with none. What was waited for is live
 * state: after a crash the commit is done or not, and the player clicks again. */
#ifndef SW_SIMULATION_DIALOGUE_H
#define SW_SIMULATION_DIALOGUE_H

#include "simulation/state.h"

#define SIM_QUESTION_S 60u

/* Asks; npc and player are slots. false: it could not be sent. */
bool sim_dialogue_ask(struct sim_map *m, uint32_t npc, uint32_t player,
	const struct script_question *question, uint32_t job);

/* The job goes on after so many seconds. false: the player has one that waits, or is gone. */
bool sim_dialogue_wait(struct sim_map *m, uint32_t player, uint32_t seconds, uint32_t job);

/* A client's answer. Returns an ActionRefusal; adds to *cost. */
uint32_t sim_dialogue_answer(
	struct sim_map *m, uint32_t player, uint32_t question, uint32_t choice, uint32_t *cost);

/* Ends what waits, if anything does. */
void sim_dialogue_end(struct sim_map *m, uint32_t player);

/* Stage 1, once a second: a question that waited too long. */
uint32_t sim_dialogue_second(struct sim_map *m, uint32_t player);

/* A handler's commit was answered; job 0: it does not wait for that. */
void sim_dialogue_kept(struct sim_map *m, uint32_t player, uint32_t job, enum commit_result result);

/* Stage 3: handlers whose commit was answered go on, as far as the tick's script budget allows.
 * Resumable. */
bool sim_dialogue_wake(struct sim_map *m, struct sim_slice *slice);

#endif
