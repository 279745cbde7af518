/* state.h: what a shard is made of. Private to simulation; the shard's thread alone touches it,
 * except the atomics of its metrics.
 *
 * A map has one table of entities (what is seen: place, heading, cell) whose slots are players
 * first, then NPCs, then monsters, then loot. What only players have sits in a table of their own
 * with the same slot numbers. Joins, leaves and placements happen in stage 1 alone, so nothing
 * appears or vanishes under a stage that pauses between slices; ring drains only mark players and
 * fill input slots. */
#ifndef SW_SIMULATION_STATE_H
#define SW_SIMULATION_STATE_H

#include <stdbool.h>
#include <stdint.h>

#include "common/commit.h"
#include "common/config.h"
#include "common/counter.h"
#include "common/handle.h"
#include "common/check.h"
#include "common/instance.h"
#include "common/lanes.h"
#include "common/mono.h"
#include "common/msg.h"
#include "common/msg_ring.h"
#include "proto/message_types.h"
#include "simulation/client_message.h"
#include "simulation/counters.h"
#include "simulation/costs.h"
#include "simulation/game/game.h"
#include "simulation/grounds.h"
#include "simulation/outbox.h"
#include "simulation/party/table.h"
#include "simulation/record.h"
#include "simulation/rules/move.h"
#include "simulation/script/script.h"
#include "simulation/shard.h"
#include "simulation/trade/trade.h"

#define SIM_NONE UINT32_MAX

#define SIM_SLOT_BITS 24u /* no map has more slots */

#define SIM_INPUT_QUEUE        8u   /* inputs that wait for a tick; a batch holds as many */
#define SIM_INPUT_BANK         4u   /* inputs a player may be ahead of real time, after a pause */
#define SIM_INPUT_SILENCE_MS   250u /* without input for so long a player counts as standing */
#define SIM_MALFORMED_MAX      8u   /* unreadable messages of one stay; then out */
#define SIM_ACTIONS_QUEUED     4u   /* actions of one player that wait for stage 5 */
#define SIM_REFUSALS_PER_TICK  4u   /* ActionRefused of one player; beyond, counted in silence */
#define SIM_WALK_MM_PER_S      5000u
#define SIM_NPC_MM_PER_S       4000u
#define SIM_MONSTER_MM_PER_S   2000u
#define SIM_CLICK_RANGE_MM     10000
#define SIM_FIST_RANGE_MM      2000u /* of a player without a weapon */
#define SIM_FIST_COOLDOWN_MS   1000u
#define SIM_PLAYER_BACK_S      5u    /* a dead player stands up again after this time */
#define SIM_MONSTER_BACK_S     30u   /* a monster of no herd */
#define SIM_REST_S             5u    /* unhurt for so long, a player mends */
#define SIM_EVENTS_MAX         2048u /* blows of one tick on a map */
#define SIM_EVENTS_TOLD        32u   /* to one observer in one tick */
#define SIM_EVENTS_LOOKED      256u  /* at by one observer in one tick */
#define SIM_ROUTE_CHECK_S      30u   /* each player's route is told again so often (stage 1) */
#define SIM_DETAIL_RETRY_S     2u
#define SIM_CELL_RADIUS        2 /* cells seen in each direction, so 5 x 5 */
#define SIM_CELLS_MAX          65536u
#define SIM_REPEAT_TICKS       4u  /* an entity is sent for so many ticks after its last change */
#define SIM_RECORD_MAX         31u /* bytes: tag and length 2, id 6, x 6, y 6, heading 4, moving 6 */
#define SIM_RECORD_STRIDE      (SIM_RECORD_MAX + 1) /* copied at once, with its length */
#define SIM_RECORD_USUAL       23u   /* bytes: guesses are made by it, nothing depends on it */
#define SIM_VIEW_MAX           1000u /* most actors in one player's view */
#define SIM_GRAIN_MIN          32u   /* entities of a cell that gets a grain, grain.h */
#define SIM_PENDING_MAX        24u
#define SIM_VIEW_CHANGE_MAX    4000u /* bytes of one ViewChange */
#define SIM_RELIABLE_SLOTS_MAX 256u  /* slots (16 KiB) of one player in the shard's queue */
#define SIM_FLUSH_UNPACED      256u  /* a map of so few players is flushed without pauses */
#define SIM_SCRATCH_SLOTS      (2 * MSG_SLOTS_MAX)

enum sim_kind {
	SIM_GHOST,
	SIM_PLAYER,
	SIM_NPC,
	SIM_MONSTER,
	SIM_LOOT
}; /* ActorKind of client.proto */

/* The record first, and beside it what is asked of an entity many times a tick: one or two cache
 * lines. */
struct sim_entity {
	_Alignas(32) uint8_t record[SIM_RECORD_MAX]; /* as WorldUpdate.entities, encoded when it
							changed */
	uint8_t record_bytes;
	int32_t x_mm, y_mm;
	uint32_t cell; /* SIM_NONE: not on the map */
	uint32_t cell_next;
	uint32_t changed_beat; /* the map's beat of the last change */
	uint32_t wire_id;      /* generation * slots + slot + 1: never the same within days */
	uint32_t moving_mm_per_s;
	uint16_t heading;
	uint8_t kind; /* enum sim_kind */
	bool moved;   /* it is in the map's moved list */
	uint32_t cell_prev;
	uint32_t known_by; /* players whose known set has it; the slot is not free before 0 */
	uint32_t generation;
	uint32_t looks_beat; /* when its looks arrived; 0: it has had them from the start */
};
_Static_assert(sizeof(struct sim_entity) == 96, "a record lies within one cache line");

enum sim_player_state {
	SIM_PLAYER_FREE,
	SIM_PLAYER_JOINING, /* slot taken, placed by the next stage 1 */
	SIM_PLAYER_PRESENT,
	SIM_PLAYER_LEAVING, /* off the map, something is owed */
	SIM_PLAYER_GONE,    /* nothing owed; waits until nobody knows the entity */
};

/* Messages a player's state change owes; tried in this order until the rings take them. */
enum {
	SIM_OWE_ROUTE = 1 << 0,      /* dataplane: types of the simulation come here */
	SIM_OWE_JOINED = 1 << 1,     /* client: Joined */
	SIM_OWE_ANNOUNCE = 1 << 2,   /* control: MSG_PLAYER_JOINED */
	SIM_OWE_SAVE = 1 << 3,       /* world: MSG_POSITION_SAVE, leaving as the state says */
	SIM_OWE_LEFT = 1 << 4,       /* control: MSG_PLAYER_LEFT, only after the save */
	SIM_OWE_DISCONNECT = 1 << 5, /* dataplane */
	SIM_OWE_UNROUTE = 1 << 6,    /* dataplane: nothing more here; answered with MSG_ROUTE_END */
	SIM_OWE_TRANSFER =
		1 << 7,           /* control: MSG_PLAYER_TRANSFER, after the save and that answer */
	SIM_OWE_COMMITS = 1 << 8, /* what is under way is waited for, before LEFT or TRANSFER */
};

enum sim_detail { SIM_DETAIL_WANTED, SIM_DETAIL_ASKED, SIM_DETAIL_ARRIVED, SIM_DETAIL_READY };

/* What a match adds to its players. */
struct sim_boost {
	uint32_t attack, defence, health, speed_permille;
};

struct sim_player {
	uint64_t peer;
	uint64_t session;
	uint32_t stay; /* of the session on maps, from 0; clients name it in what they send */
	uint32_t received_sequence; /* newest input taken */
	uint32_t applied_sequence;
	uint32_t input_sequence[SIM_INPUT_QUEUE];
	int8_t input_dx[SIM_INPUT_QUEUE], input_dy[SIM_INPUT_QUEUE];
	uint8_t input_head, input_count, input_credit;
	uint8_t input_waiting; /* left over when this tick had taken its share: told to the client
				*/
	uint8_t state;         /* enum sim_player_state */
	uint8_t detail;        /* enum sim_detail */
	uint16_t owed;         /* SIM_OWE_* */
	uint8_t malformed;
	uint8_t actions;  /* in the map's queue */
	uint8_t refusals; /* sent since the last tick */
	bool leave_wanted, peer_gone, in_life, in_lazy;
	bool returning;    /* it was in this instance before */
	bool transferring; /* leaves for another map of this node */
	bool route_ended;  /* ... and the dataplane has said that nothing of its peer follows */
	bool rescan;       /* compare the whole view, not only the pending entities */
	bool crowded;      /* more is near than may be in view */
	bool behind;       /* the last update had no room for all that were to be told again */
	uint8_t within;    /* buckets of distance that are in view whole, of the last comparison */
	uint8_t near;      /* ... that the last update was picked from; 0: none yet */
	uint8_t tell;      /* SIM_TELL_*: goes out at the end of the tick */
	uint16_t payload_bytes_max;
	uint16_t queued_slots; /* of reliable messages in the shard's queue */
	uint32_t silent_ticks;
	uint32_t life_next, lazy_next;
	uint32_t leave_reason, disconnect_mode;
	uint32_t told_sequence; /* applied_sequence of the last update sent */
	uint32_t view_sequence, view_max, known_count, rotate; /* bit of the known set: update.c */
	/* Who is known and got looks since renew_floor is told again, from slot renew_cursor on;
	 * more came since renew_next. 0: nothing to do. */
	uint32_t renew_floor, renew_cursor, renew_next;
	uint32_t compared_beat; /* when it compared last while it was crowded */
	uint32_t pending_count;
	uint32_t pending[SIM_PENDING_MAX]; /* slots that may have come into view or left it */
	uint64_t character_id, epoch;
	int64_t gold;
	uint32_t level, appearance, detail_result, detail_beat;
	uint32_t realm_id;
	int32_t saved_x_mm, saved_y_mm;
	uint16_t saved_heading;
	uint8_t name_bytes;
	char name[CHARACTER_NAME_BYTES];
	int32_t join_x_mm, join_y_mm; /* where to be placed; when transferring, on the next map */
	uint16_t join_heading;
	bool join_has_position;
	uint32_t speed_mm_per_s;
	struct sim_boost boost;
	uint8_t portal;   /* it stands in: number + 1; 0: in none */
	bool turned_back; /* no portal takes it before portal_beat */
	uint32_t portal_beat;
	uint32_t back_reason;   /* why the map it was going to did not take it; 0: it was going to
				   this one */
	uint32_t job;           /* of its click's handler that waits (dialogue.h); 0: none does */
	uint32_t question;      /* that it waits for; 0: for none */
	uint32_t question_beat; /* ... until then */
	uint8_t choices;
	bool waits;          /* the job does, until question_beat */
	bool keeping;        /* a handler's commit is under way */
	uint32_t lacks_more; /* health that it lacks beyond what its body shows, until the details
				are there */
	struct msg_live live, return_live; /* as it came; as it goes home from a room */
	/* Where it goes when its room ends, and what is saved meanwhile. */
	int32_t return_x_mm, return_y_mm;
	uint16_t return_heading;
	char return_map[MAP_NAME_BYTES];
	char next_map[MAP_NAME_BYTES]; /* when transferring */
};

/* What stage 8 tells a player of itself. */
enum { SIM_TELL_STATUS = 1 << 0, SIM_TELL_BAG = 1 << 1, SIM_TELL_QUESTS = 1 << 2 };

/* Who can be hurt, by entity slot; players and monsters have health_max. */
struct sim_body {
	uint32_t health, health_max; /* health 0: dead */
	uint32_t ready_beat;         /* may strike again from here on */
	uint32_t back_beat;          /* dead: comes back then */
	uint32_t hurt_beat;          /* the last time */
	uint32_t range_mm;
	uint16_t attack, defence;
	uint16_t cooldown_beats, pad;
};
_Static_assert(sizeof(struct sim_body) == 32, "two a cache line");

/* What only some see: how much a player has earned and owns. */
struct sim_purse {
	int64_t experience;               /* as the database has it */
	int64_t gold_due, experience_due; /* earned; no commit has been answered with OK yet */
	bool gains_asked;                 /* a commit of those is under way */
};

struct sim_stack {
	uint32_t item, count; /* count 0: empty */
	uint64_t serial;      /* 0: it stacks */
};

/* What a player owns, as the database has it (commit.h). */
struct sim_bag {
	struct sim_stack stack[COMMIT_SLOTS_MAX]; /* the bag, then what is worn */
	uint64_t busy[2];                         /* a bit a stack: a commit of it is under way */
	uint32_t commits;                         /* under way */
	uint32_t loads;                           /* how often the details came */
	uint32_t wait_beat;                       /* who leaves waits until then; 0: not yet */
	uint64_t balance_number;                  /* of the commit that the balances are from */
	int64_t gold_bound;                       /* that commits under way spend */
	bool balance_known;
};

/* A kill's gold and experience with the progress of all open quests; a reward with what is brought
 * for it. */
#define SIM_COMMIT_OPS_MAX 16u
#define SIM_QUESTS_OPEN    10u

/* Who asked for a commit, and so who is told. */
enum sim_commit_purpose {
	SIM_COMMIT_ACTION,
	SIM_COMMIT_GAINS,
	SIM_COMMIT_SCRIPT,
	SIM_COMMIT_INTENT
};

/* A commit under way. */
struct sim_commit {
	uint64_t request[2]; /* commit.c; [0] 0: free */
	uint32_t player, generation;
	uint32_t loot;   /* that it is about, SIM_NONE */
	uint32_t loads;  /* of the player, when it was asked */
	uint32_t job;    /* SCRIPT: the handler that waits for it; 0: none. INTENT: its number */
	uint8_t purpose; /* enum sim_commit_purpose */
	uint8_t action;  /* the client's message type; 0: none */
	uint8_t op_count;
	uint8_t result; /* enum commit_result, when answered */
	bool answered;
	int64_t gold, experience; /* balances of the answer */
	struct commit_op op[SIM_COMMIT_OPS_MAX];
};

/* A quest of a player (quest.h). */
struct sim_quest_now {
	uint16_t state;      /* as the database has it; 0: not begun */
	uint16_t due;        /* done since, and not kept yet */
	uint16_t asked;      /* ... of that a commit is under way */
	uint8_t due_step;    /* the step that it was done for */
	bool busy;           /* a commit of the quest is under way */
	uint32_t again_beat; /* of one that is done: not begun again until then; 0: it may be */
};
_Static_assert(sizeof(struct sim_quest_now) == 12, "players times quests of them");

/* Which quests of a player are to be looked at; indexes in game->quests. */
struct sim_quest_log {
	uint16_t open[SIM_QUESTS_OPEN]; /* [count] ascending */
	uint16_t changed[SIM_QUESTS_OPEN];
	uint8_t count, changed_count;
	bool all;  /* the client is to be told all */
	bool look; /* the bag or a step has changed: what one has is looked at */
};

/* A click's handler whose commit was answered (dialogue.h). */
struct sim_wake {
	uint32_t player, generation, job;
	uint8_t kept; /* enum script_kept */
};

#define SIM_HAPPENINGS_MAX 1024u /* that wait for their handlers on one map */
#define SIM_INTENTS_MAX    256u
#define SIM_ANNOUNCEMENTS  2u
#define SIM_NOT_HANDLED    UINT16_MAX

/* Something that the map's script has a handler for (happening.h). */
struct sim_happening {
	struct script_event event;
	uint32_t beat; /* it happened in */
};

/* Which declarations of the script have handlers: their numbers, or SIM_NOT_HANDLED. */
struct sim_handled_kind {
	uint16_t hurt, fight, death;
};
struct sim_handled_quest {
	uint16_t begin, complete;
};
struct sim_handled {
	struct sim_handled_kind *kinds;   /* [game->kind_count] */
	struct sim_handled_quest *quests; /* [game->quest_count] */
	uint16_t enter, leave;
};

/* What a script wants kept (intent.h). */
struct sim_intent {
	struct script_change change[SCRIPT_CHANGES_MAX];
	char key[SCRIPT_KEY_BYTES];
	uint32_t hash; /* of the key; 0: it has none */
	uint32_t player, player_generation;
	uint32_t generation; /* how often the place was used */
	uint32_t next_beat, until_beat;
	uint8_t state, change_count;
};

struct sim_intents {
	struct sim_intent of[SIM_INTENTS_MAX];
	uint32_t waiting; /* of those, not asked for yet */
	uint32_t cursor;
	uint32_t tokens, token_beat;
};

struct sim_announcement {
	uint32_t bytes;
	char text[SCRIPT_SAY_BYTES];
};

enum sim_loot_state {
	SIM_LOOT_FREE,
	SIM_LOOT_PROMISED, /* a player's drop is under way */
	SIM_LOOT_COMING,   /* appears in the next stage 1 */
	SIM_LOOT_LIES,
	SIM_LOOT_RESERVED, /* somebody's pick-up is under way */
};

struct sim_loot {
	uint32_t item, count;
	uint64_t serial;
	uint32_t owner, owner_generation; /* player slot; SIM_NONE: anybody's */
	uint32_t owner_beat;              /* anybody's from then on */
	uint32_t expires_beat;
	int32_t x_mm, y_mm;
	uint8_t state; /* enum sim_loot_state */
};

enum sim_mood { SIM_WANDERS, SIM_CHASES, SIM_RETURNS, SIM_DEAD };

struct sim_monster {
	uint32_t until_beat; /* walks or rests until then */
	int8_t dx, dy;
	uint16_t herd;   /* of the ground: it keeps near its place; SIM_NO_HERD: anywhere */
	uint32_t target; /* slot of the player it chases */
	uint16_t kind;   /* of the game's kinds */
	uint8_t mood;    /* enum sim_mood */
	uint8_t around;  /* ticks in which it follows a path, seen or not: a wall stopped it */
};
_Static_assert(sizeof(struct sim_monster) == 16, "all are walked through each tick");

/* What a monster knows besides: looked at when something happens to it. */
struct sim_lair {
	int32_t x_mm, y_mm; /* where it was when it began to chase, and goes back to */
	uint32_t target_generation;
	uint32_t owner, owner_generation; /* who hurt it first has what it leaves; SIM_NONE */
};

struct sim_event {
	uint32_t attacker, target; /* slots; attacker SIM_NONE: nobody */
	uint32_t damage, health;
	uint32_t next; /* of the same cell */
};

struct sim_cell_events {
	uint32_t head, count;
};

struct sim_npc {
	char name[CHARACTER_NAME_BYTES];
	uint8_t name_bytes;
	int8_t dx, dy; /* this tick's intent */
	bool has_tick;
	uint32_t appearance;
	uint32_t rests_until; /* beat */
	uint32_t index[2];    /* in the VM of each side; SIM_NONE: it does not declare it */
	bool coming;          /* it appears when nobody knows the slot's last one any more */
};

/* Versions of the map's script; see reload.h. */
struct sim_reload {
	struct script_vm *vm[2];        /* by side; m->script is vm[side] */
	uint32_t side;
	const _Atomic uint32_t *version; /* which the map's definition has */
	/* The builder writes, before the order that names it: the VM of the other side, and for each
	 * NPC of the running one its index there, SIM_NONE; then the indices of those that are new. */
	_Atomic(struct script_vm *) next;
	const uint32_t *to_next;
	struct msg_script order; /* for the next tick; instance 0: nobody is told */
	struct msg_script answer; /* to be told while it is owed */
	bool ordered, owed, watched;
	uint32_t watched_until; /* beat: too many failures, and the one before comes back */
	uint32_t coming;        /* NPCs that are to appear */
};

/* The next one's begin is the end of this one's: there is one more cell than there are. */
struct sim_cell {
	uint32_t head; /* first slot, SIM_NONE */
	uint32_t count;
	/* Of the running tick, from stage 7 on: */
	uint32_t offset;      /* where its records begin in map->cell_bytes */
	uint32_t laid, fresh; /* ... and its entities in map->laid and map->fresh */
	uint32_t grain;       /* its place in map->grains + 1, 0: it holds few */
};

/* What is asked of an entity by those who look around. */
struct sim_laid {
	int32_t x_mm, y_mm;
	uint32_t slot : SIM_SLOT_BITS;
	uint32_t record_bytes : 32 - SIM_SLOT_BITS;
	uint32_t known_bit;
};
_Static_assert(sizeof(struct sim_laid) == 16, "four to a cache line");

struct sim_action {
	uint32_t slot, generation;
	uint32_t type; /* enum sw_message_type */
	uint32_t actor_id;
	uint32_t from, to, count; /* of slots */
	struct sim_trade_words trade;
	uint32_t offer, card; /* CARD_PICK; question and choice of DIALOGUE_ANSWER; quest */
};

/* A first-in first-out list of player slots, linked through a field of the player. */
struct sim_list {
	uint32_t head, tail, count;
};

struct sim_match_rule;
struct sim_paths;
struct sim_portal;

/* A player's place in a match, on its way to the database. */
struct sim_result {
	uint64_t character_id, epoch;
	uint32_t realm_id, place;
	uint32_t next_beat, give_up_beat;
	uint8_t state; /* match/results.c */
};

/* A room's match (match/match.h). */
struct sim_match {
	const struct sim_match_rule *rule; /* NULL: a persistent map */
	void *state;                       /* [rule->state_bytes], zero when the room opens */
	bool locked, closing, ending;
	bool over;                  /* ended, and nobody is left: to be retired */
	bool pvp;                   /* the rule's: players may attack players, and none trades */
	bool alone;                 /* the rule's: each for itself, a party protects nobody */
	bool hold;                  /* the rule's: nobody moves, strikes or trades */
	bool mortal;                /* the rule's: the dead stay dead, and nobody mends */
	struct sim_result *results; /* [rule->players_max] */
	uint32_t result_count;
	uint64_t serial; /* of the match, in the database */
	uint8_t told;    /* enum instance_state that control knows */
	uint32_t cursor; /* players are sent home from this slot on */
};

/* Where the lay-out of cells is (stage_interest.c, grain.h). */
struct sim_lay {
	bool within;             /* a cell */
	uint32_t phase;          /* of sorting it: grain.c */
	uint32_t slot;           /* the entity to go on with; SIM_NONE: from the start, or none */
	uint32_t at, sub;        /* in map->laid, and which sub-cell */
	uint32_t used, fresh;    /* of map->laid, map->fresh */
	uint32_t grains, starts; /* of map->grains, map->grain_starts */
};

/* The longest PartyMemberLive: ids 11 and 6, place 12, health 12, level 6, its own head 2; and its
 * share of the party's id. */
#define SIM_PARTY_LIVE_BYTES 64u

/* The map's parties (party.h). */
struct sim_parties {
	struct sim_party_table table;
	struct sim_outbox inbox; /* messages of control, for stage 4 */
	uint8_t *live;           /* [player_slots * members_max * SIM_PARTY_LIVE_BYTES] */
	uint32_t *asks; /* [player_slots]: a queue of those whose party is to be asked for */
	uint32_t ask_head, ask_count;
	uint32_t resync_next; /* of a resync: the next slot; player_slots: it is over */
	uint32_t members_max, share_range_mm;
	bool share;
};

struct sim_map {
	struct sim_shard *shard;
	struct config_map config;
	uint32_t index;  /* in sw_config.maps; goes into MSG_PLAYER_JOINED */
	uint32_t number; /* its slot in the table of instances, and in shard->by_number */
	uint32_t id;     /* common/instance.h */
	struct instance_gauges *gauges;
	struct histogram *tick_time; /* of the running instance's ticks */
	struct sim_match match;
	struct sw_move_map rules;
	uint32_t cell_mm, margin_mm, columns, rows;
	uint32_t bucket_scale; /* of sim_distance_bucket: 2^32 * SIM_BUCKETS / reach */
	uint32_t grain_scale;  /* 2^32 / cell_mm */
	uint32_t player_slots, npc_slots, monster_slots, loot_slots, slots;
	uint32_t classes, class_words; /* of a known set: as many words for each class */
	uint64_t class_scale;          /* 2^40 / classes, rounded up: a division without one */
	uint32_t known_words;          /* 64-bit words of one known set: classes * class_words */
	uint32_t players;              /* joining, present */
	uint64_t random;
	uint64_t period_ns, due_ns;
	uint32_t tick;       /* the client's tick number: counts skipped ones too */
	uint32_t beat;       /* ticks run */
	uint32_t looks_beat; /* when somebody's looks arrived last */
	uint32_t skipped;    /* before the running tick */

	/* the running tick */
	bool running;
	uint32_t stage;    /* enum sim_stage */
	uint32_t step;     /* within the stage */
	uint32_t cursor;   /* within the step */
	uint64_t flush_ns; /* when stage 8 began */
	uint64_t wait_ns;  /* a paced stage goes on then */
	uint64_t stage_cycles[SIM_STAGES];
	uint32_t quota;     /* of the running stage */
	uint32_t cell_used; /* bytes of cell_bytes */
	struct sim_lay lay;
	struct sim_reload reload;
	int64_t script_left_ns; /* of the tick's budget for scripts; below 0: the next tick's */
	uint32_t npc_ticks;     /* NPCs with on_tick */
	uint32_t work_ns; /* of the unit of work under way, beyond its fixed cost; see sim_work */

	const struct sim_portal *portals;    /* [rules.ground->portal_count]: where they lead */
	struct sim_entity *entities;         /* [slots] */
	struct sim_player *players_table;    /* [player_slots] */
	uint64_t *known;                     /* [player_slots][known_words]: who is in whose view */
	struct sim_npc *npcs;                /* [npc_slots] */
	struct sim_monster *monsters;        /* [monster_slots] */
	struct sim_lair *lairs;              /* [monster_slots] */
	struct sim_paths *paths;             /* around walls; NULL: there are none, or no monster */
	const struct sim_game *game;         /* of the node */
	struct sim_body *bodies;             /* [slots] */
	struct sim_purse *purses;            /* [player_slots] */
	struct sim_event *events;            /* [SIM_EVENTS_MAX]: this tick's, in order */
	struct sim_cell_events *cell_events; /* [columns * rows] */
	uint32_t event_count;
	struct sim_bag *bags;       /* [player_slots] */
	struct sim_commit *commits; /* [commits_max] */
	uint32_t commits_max;
	uint32_t *commit_free; /* [commits_max]: places, the last is taken first */
	uint32_t commit_free_count;
	uint32_t *answered; /* [commits_max]: a queue of places, for stage 3 */
	uint32_t answered_head, answered_count;
	struct sim_quest_now *quests;     /* [player_slots][game->quest_count] */
	struct sim_quest_log *quest_logs; /* [player_slots] */
	struct sim_wake *wakes;           /* [commits_max]: a queue */
	uint32_t wake_head, wake_count;
	uint32_t questions; /* asked: the last one's number */
	struct trade_table trades;
	void *trades_memory;
	struct sim_parties parties;
	void *parties_memory;
	struct sim_loot *loot; /* [loot_slots] */
	uint32_t loot_next;    /* where a free place is looked for */
	uint32_t *coming;      /* [loot_slots]: what appears in the next stage 1 */
	uint32_t coming_count;
	uint32_t *fallen; /* [slots]: monsters and loot that are to vanish in the next stage 1 */
	uint32_t fallen_count;
	struct sim_cell *cells; /* [columns * rows + 1] */
	uint8_t *cell_bytes;    /* [(slots + 1) * SIM_RECORD_STRIDE] */
	uint32_t *moved;        /* [slots]: entities that changed this tick */
	uint32_t moved_count;
	uint32_t *free_slots; /* [player_slots]: a queue, so that a slot rests as long as it can */
	uint32_t free_head, free_count;
	uint32_t
		*order; /* [player_slots]: players by cell, this tick; neighbours share the cache */
	uint32_t order_count;
	uint32_t *open_cells;       /* [columns * rows]: players in it who are not crowded */
	struct sim_grain *grains;   /* [slots / SIM_GRAIN_MIN + 1] */
	uint32_t *grain_starts;     /* [sim_grain_starts_max] */
	uint64_t *marks;            /* [known_words]: scratch of a comparison */
	struct sim_laid *laid;      /* [slots]: who is on the map, by cell and sub-cell */
	struct sim_laid *fresh;     /* [slots]: of those the ones that changed lately */
	struct sim_action *actions; /* [actions_max] */
	uint32_t actions_max, action_head, action_count;
	struct sim_list life, lazy, arrived;
	struct sim_happening *happenings; /* [SIM_HAPPENINGS_MAX]: a queue */
	uint32_t happening_head, happening_count;
	struct sim_handled handled;
	struct sim_intents *intents;
	struct sim_announcement *announcements; /* [announcement_count], the first is being told */
	uint32_t announcement_count, announcement_next; /* the next player's slot */
	uint32_t npc_next; /* who ticks first when the script budget ran out */
	struct script_vm *script;
};

/* Where a peer plays: map number << 24 | slot, or SIM_NONE, which no map is large enough for. */
#define SIM_SEAT_BITS SIM_SLOT_BITS
_Static_assert(CONFIG_INSTANCES_MAX <= 1u << (32 - SIM_SEAT_BITS), "a map's number fits a seat");

struct sim_inlet {
	struct msg_ring *ring;
	uint32_t source;   /* for the recording: RECORDING_CONTROL and so on */
	struct msg *batch; /* [SIM_SCRATCH_SLOTS] popped, not all handled yet */
	const struct msg *at, *end;
	uint32_t filled;  /* slots of the batch */
	uint32_t fetched; /* the slot from which on no player is fetched; past filled: in the ring */
	uint32_t ahead;   /* messages from at to there */
};

/* Nominal nanoseconds left in the slice. */
struct sim_slice {
	int64_t left;
	uint64_t now_ns;
};

struct sim_shard {
	uint32_t index;
	struct sim_links links;
	uint32_t slice_ns;
	int64_t slice_over_ns; /* the most that a slice went beyond it */
	uint32_t autosave_ms, lazy_joins_per_tick, update_bytes_max, packet_bytes_max;
	uint32_t players_max, players;
	uint32_t realm_id, stop_ms;
	uint32_t script_tick_us;
	uint32_t script_failures; /* percent */
	uint32_t peers_max; /* of one worker */
	uint64_t seed;
	uint64_t commit_start; /* in the names of its commits: nobody else's, not its last start's */
	uint64_t serials;      /* a generator of items' serials, begun with that */
	uint64_t commit_counter; /* of commits asked for */
	uint64_t now_ns;
	bool stopping, stop_owed, stopped;
	bool owner_known;
	struct script_owner owner; /* this thread, for the watchdog of its maps' scripts */
	bool saves_held;           /* the last save found the world ring full */
	struct sim_instances *instances, *own_instances;
	struct sim_map *maps[CONFIG_INSTANCES_MAX]; /* [map_count], in the order they came */
	struct sim_map *by_number[CONFIG_INSTANCES_MAX];
	uint32_t map_count, map_next;
	uint32_t *seats; /* [workers * peers_max], see SIM_SEAT_BITS */
	struct sim_inlet dataplane[CONFIG_LCORES_MAX], control, world;
	uint32_t worker_next;
	struct sim_record *record; /* NULL: nothing is recorded */
	struct sim_outbox outbox[CONFIG_LCORES_MAX];
	struct msg_buffer *scratch;
	uint8_t *parse_memory;

	/* shard writes, all read */
	struct counter_set counter_set;
	_Atomic uint64_t counters[SIM_COUNTER_COUNT];
	struct histogram tick_time, stage_time[SIM_STAGES];
	struct histogram input_time; /* from receive burst to input slot, of those that say when */
	_Atomic uint64_t last_tick_ns, last_tick_end_ns;
	struct shard_gauges gauges;
	uint64_t window_ns, busy_ns; /* of the load: since when, and work since then */
	double ns_per_cycle;
	uint64_t start_cycles, start_ns;

	void *memory;
	size_t memory_bytes;
};

static inline void sim_count(struct sim_shard *s, enum sim_counter counter, uint64_t n)
{
	counter_add(&s->counters[counter], n);
}

/* Work whose amount only those deep inside a unit know (places searched, observers visited) is
 * added to the map; whoever holds the slice takes it off after each unit, so that no unit counts as
 * less than it did. Between units it is 0. */
static inline void sim_work(struct sim_map *m, uint32_t ns)
{
	m->work_ns += ns;
}

static inline uint32_t sim_work_taken(struct sim_map *m)
{
	uint32_t ns = m->work_ns;

	m->work_ns = 0;
	return ns;
}

/* All pushes but those to the log go through here: whether a ring had room is an input, too. */
static inline bool sim_push(struct sim_shard *s, struct msg_ring *ring, const struct msg *message)
{
	DCHECK(ring != s->links.to_world || lane_of(message->type, LANE_SHARD) != LANE_NONE);
	return s->record ? sim_record_push(s->record, ring, message) : msg_ring_push(ring, message);
}

/* Whether a message of one slot fits. */
static inline bool sim_has_room(struct sim_shard *s, const struct msg_ring *ring)
{
	return s->record ? sim_record_room(s->record, ring) : msg_ring_room(ring) >= 1;
}

static inline struct sim_player *sim_player(struct sim_map *m, uint32_t slot)
{
	return &m->players_table[slot];
}

static inline bool sim_is_present(const struct sim_map *m, uint32_t slot)
{
	return m->players_table[slot].state == SIM_PLAYER_PRESENT;
}

static inline uint64_t *sim_known(const struct sim_map *m, uint32_t observer)
{
	return m->known + (size_t)observer * m->known_words;
}

/* A known set has a bit an entity, in classes of those that are told again in the same tick
 * (update.h): entity slot is bit slot / classes of class slot % classes. */
static inline uint32_t sim_known_bit(const struct sim_map *m, uint32_t slot)
{
	uint32_t at = (uint32_t)(slot * m->class_scale >> 40);

	return (slot - at * m->classes) * m->class_words * 64 + at;
}

/* The slot of a word's bit 0; those of the next bits follow in steps of m->classes. */
static inline uint32_t sim_known_first(const struct sim_map *m, uint32_t word)
{
	return word % m->class_words * 64 * m->classes + word / m->class_words;
}

static inline bool sim_knows(const struct sim_map *m, uint32_t observer, uint32_t slot)
{
	uint32_t bit = sim_known_bit(m, slot);

	return sim_known(m, observer)[bit / 64] >> (bit % 64) & 1;
}

/* What each tick and each input reads of a player stands in its first three lines. */
static inline void sim_fetch_player(const struct sim_map *m, uint32_t slot)
{
	const char *p = (const char *)&m->players_table[slot];

	__builtin_prefetch(p);
	__builtin_prefetch(p + 64);
	__builtin_prefetch(p + 128);
	__builtin_prefetch(&m->entities[slot]);
}

/* Players are walked in cell order, so their records come from anywhere: fetch one a few ahead. */
static inline uint32_t sim_ahead(const struct sim_map *m, uint32_t at)
{
	return m->order[at + 4 < m->order_count ? at + 4 : at];
}

static inline void sim_prefetch_player(const struct sim_map *m, uint32_t at)
{
	sim_fetch_player(m, sim_ahead(m, at));
}

/* The handle of an entity, for scripts and for world requests; the owner bits are the map's number.
 */
static inline uint64_t sim_handle(const struct sim_map *m, uint32_t slot)
{
	return handle_make(m->number, m->entities[slot].generation, slot);
}

/* The slot of a handle, SIM_NONE if it is not that entity any more. */
uint32_t sim_slot_of_handle(const struct sim_map *m, uint64_t handle);

/* The slot of a wire id, SIM_NONE if no such actor is on the map. */
static inline uint32_t sim_slot_of_wire_id(const struct sim_map *m, uint32_t wire_id)
{
	uint32_t slot = wire_id ? (wire_id - 1) % m->slots : SIM_NONE;

	return slot != SIM_NONE && m->entities[slot].wire_id == wire_id &&
			       m->entities[slot].cell != SIM_NONE
		       ? slot
		       : SIM_NONE;
}

/* instance.c: a map that was handed over begins to run; one that has ended stops and goes back to
 * control, so that the caller may not touch it any more. Both between ticks. */
void sim_map_open(struct sim_shard *s, struct sim_map *m);
void sim_map_retire(struct sim_shard *s, struct sim_map *m);

/* step.c: the stage that took most of a tick. */
enum sim_stage sim_stage_to_blame(const uint64_t stage_ns[SIM_STAGES]);

/* The stages (stage_*.c). Each works until it is done (returns true) or the slice is spent (false),
 * and goes on at m->step and m->cursor, both 0 at its first call of a tick. */
bool sim_stage_reset(struct sim_shard *s, struct sim_map *m, struct sim_slice *slice);
bool sim_stage_lazy_join(struct sim_shard *s, struct sim_map *m, struct sim_slice *slice);
bool sim_stage_deferred(struct sim_shard *s, struct sim_map *m, struct sim_slice *slice);
bool sim_stage_party(struct sim_shard *s, struct sim_map *m, struct sim_slice *slice);
bool sim_stage_messages(struct sim_shard *s, struct sim_map *m, struct sim_slice *slice);
bool sim_stage_actors(struct sim_shard *s, struct sim_map *m, struct sim_slice *slice);
bool sim_stage_interest(struct sim_shard *s, struct sim_map *m, struct sim_slice *slice);
bool sim_stage_flush(struct sim_shard *s, struct sim_map *m, struct sim_slice *slice);

#endif
