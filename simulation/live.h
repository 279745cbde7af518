// clang-format off
/* live: what of a player lives in the shard's memory alone, and what becomes of it when the player goes.
 * Private to simulation; the shard's thread.
 *
 * The shard that has the player is its authority. When it goes, what has to outlast that is written down (struct
 * msg_live) and goes by control's hand to whichever shard has it next; control keeps the last of each character
 * that left the node (a ring as large as the node has sessions, 65,536 at most). The stamp is the node's monotonic
 * clock: time goes on meanwhile. Another node, or one that was restarted, knows nothing, and the player comes
 * whole: it would have mended within a minute.
 *
 *   what               to a map by portal,   into a room        home from it       again: takeover,     another node,
 *                      script or operator                                          reconnect            restart
 *   position           the portal's spawn    the room's         as it went         as it left           last saved
 *   health             as it was, mended     whole; the old     as it went,        as it left, mended   whole
 *                                            waits outside      mended
 *   death              as long as it had to  none; the old      what is left of    what is left of it,  none: whole
 *                                            waits outside      it, then a spawn   then a spawn
 *   cooldown           goes on               none; waits        goes on            goes on              none
 *   rest (mending)     goes on               none               goes on            goes on              from the start
 *   input credit       goes on               goes on            goes on            goes on              full
 *   malformed count    goes on               goes on            goes on            0: a new connection  0
 *   boosts, speed      end                   the rule's         end                end; in a room it    none
 *                                                                                  has fallen
 *   place, cards of    -                     the rule's         kept as a result   it has fallen        lost: no result
 *   a battle
 *   gold, experience   committed before it   likewise           likewise           likewise             lost, if not
 *   that are due       goes, or given up                                                                asked for yet
 *                      (SIM_COMMIT_WAIT_S)
 *   open trade         ends (END_LEFT)       likewise           likewise           likewise             ends
 *   commits under way  waited for so long    likewise           likewise           likewise             the database's
 *   hunters, prey      let go                likewise           likewise           likewise             gone
 *   loot set aside     anybody's after its   likewise           likewise           likewise             gone
 *                      time
 *   queued inputs      refused by their      likewise           likewise           a new connection     a new connection
 *   and actions        stay: LEFT_MAP
 *   a portal's refusal ends                  ends               ends               ends                 ends
 *   details            asked for again each time; what they change is sim_live_remake's
 *
 * Into a room means one that takes it newly: whoever comes back into the very room that it was in is as it left. */
// clang-format on
#ifndef SW_SIMULATION_LIVE_H
#define SW_SIMULATION_LIVE_H

#include "simulation/state.h"

/* As it is now; what another map needs of it. */
struct msg_live sim_live_take(const struct sim_map *m, uint32_t slot);

/* What it goes home with from here: as it is, or, in a room, as it was before. */
struct msg_live sim_live_home(const struct sim_map *m, uint32_t slot);

/* Ring drain: inputs that it may make up for when it comes. */
uint8_t sim_live_credit(
	const struct sim_shard *s, const struct sim_map *m, const struct msg_live *live);

/* Stage 1, before its body is made. Whether p->live says that it fell and has stood up since: then
 * it stands at a spawn of the map, whole. */
bool sim_live_stood_up(const struct sim_map *m, uint32_t slot);

/* Stage 1: makes its body, by p->live where that is known. */
void sim_live_body(struct sim_map *m, uint32_t slot);

/* What it may have at most has changed, by its details (maybe in the middle of a fight) or a level:
 * what it lacks of that stays, and who is dead stays dead. */
void sim_live_remake(struct sim_map *m, uint32_t slot);

#endif
