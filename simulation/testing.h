/* testing.h: a shard under test: its configuration, rings and clock, and clients that read what the
 * dataplane would send them. Test programs only; one thread. */
#ifndef SW_SIMULATION_TESTING_H
#define SW_SIMULATION_TESTING_H

#include <stdbool.h>
#include <stdint.h>

#include "common/commit.h"
#include "common/config.h"
#include "common/party.h"
#include "common/handle.h"
#include "common/mono.h"
#include "common/msg_ring.h"
#include "proto/client.pb-c.h"
#include "proto/message_types.h"
#include "simulation/shard.h"

struct sim_map;

#define TEST_CLIENTS_MAX 4096u
#define TEST_ACTORS_MAX  8192u /* wire ids below this are tracked */
#define TEST_REASONS     32u
#define TEST_QUESTS      10u /* quest numbers below this are tracked */

/* What a client knows, from its messages alone. */
struct test_client {
	uint64_t peer, session;
	bool here; /* between the join and its last message */
	bool idle; /* updates are not read: to save time in crowds */
	uint32_t actor_id, joined_tick, stay, joins, radius_mm;
	uint32_t routes; /* told of its peer */
	uint64_t ground_hash;
	char map[MAP_NAME_BYTES];
	bool detail;
	uint32_t match_phase, match_states, speed_mm_per_s, zone_radius_mm, offer, offers;
	uint32_t cards[8], card_count, card_taken, cards_taken, cards_given;
	uint32_t results, place, winners, ranked; /* of MatchResult; place is one's own */
	bool draw;
	uint32_t refused_action, refused_reason, refusals;
	int32_t x_mm, y_mm; /* own, by the last update */
	uint32_t heading;
	uint32_t input_sequence, input_waiting, updates, update_bytes_largest, view_bytes_largest;
	uint32_t view_sequence, view_count, view_tick;
	uint32_t gaps;  /* of ViewChange.sequence; must stay 0 */
	uint32_t early; /* ViewChanges before Joined, since the join was asked for */
	uint32_t wrong; /* enters of known ids without looks, leaves of unknown ones */
	uint32_t dialogues;
	uint32_t blows;   /* CombatEvent, in view or of oneself */
	uint32_t deaths;  /* ... that left no health */
	uint32_t combats; /* CombatEvents */
	uint32_t blow_attacker, blow_target, blow_damage, blow_health; /* the last one */
	uint32_t combat_tick;
	uint32_t details;
	uint32_t inventories;
	uint32_t stack_item[128], stack_count[128]; /* by slot, by the last Inventory */
	uint32_t level, health, health_max;         /* own, by the last CharacterDetail */
	int64_t gold, experience, gold_pending, experience_pending;
	uint32_t trade, trade_version, trade_partner, trade_phase; /* by the last TradeState */
	bool trade_asked, trade_confirmed;                         /* ... its own word */
	uint32_t trade_items[2], trade_states;                     /* piles: own, the other's */
	int64_t trade_gold[2];
	uint32_t trade_ends, trade_end, trade_ended; /* reason and id of the last TradeEnded */
	uint64_t party, party_version, party_leader; /* by the last PartyState */
	uint32_t party_states, party_members, party_change, party_asks;
	uint64_t party_request, party_inviter;
	uint32_t party_answers, party_result, party_invites;
	uint32_t party_lives, party_live_members, party_live_health; /* by the last PartyLive */
	int32_t party_live_x_mm;
	char dialogue[600];
	uint32_t question, choices; /* of the last Dialogue */
	uint32_t quest_logs, quest_updates;
	uint32_t quest_phase[TEST_QUESTS], quest_step[TEST_QUESTS]; /* by number */
	uint32_t quest_count[TEST_QUESTS], quest_pending[TEST_QUESTS], quest_need[TEST_QUESTS];
	uint32_t quest_again_s[TEST_QUESTS];
	uint32_t disconnect_reason, disconnect_mode;
	bool disconnected;
	bool *knows;                    /* [TEST_ACTORS_MAX] */
	bool *looks;                    /* [TEST_ACTORS_MAX]: told with an appearance */
	uint32_t *heard_tick;           /* [TEST_ACTORS_MAX]: tick of the last record or enter */
	int32_t *seen_x_mm, *seen_y_mm; /* [TEST_ACTORS_MAX] */
	uint32_t *seen_health;          /* [TEST_ACTORS_MAX]: by enters and blows */
	uint32_t *seen_item;            /* [TEST_ACTORS_MAX]: of loot, by enters */
	uint32_t loot_seen;             /* the actor id of the loot that came into view last */
};

/* What the test's database has of a client's character. */
struct test_owned {
	int64_t gold, experience;
	struct msg_slot slot[COMMIT_SLOTS_MAX]; /* [slots] ascending */
	uint32_t slots;
	uint32_t quest[TEST_QUESTS];    /* states by number; 0: not begun */
	uint64_t quest_ns[TEST_QUESTS]; /* when it came from 0 */
};

#define TEST_OWNED_MAX 64u /* clients that own something */
#define TEST_HELD_MAX  64u

struct test_held {
	struct msg_commit commit;
	struct commit_op op[COMMIT_OPS_MAX];
};

struct test_shard {
	struct sw_config config;
	struct sim_links links;
	struct sim_shard *shard;
	uint64_t now_ns;
	uint32_t workers;            /* 1; client c is worker c % workers's */
	uint32_t tick;               /* of the newest update that any client got */
	struct test_client *clients; /* [TEST_CLIENTS_MAX], by the index of the peer handle */
	bool answer_details;         /* play the world thread */
	bool refuse_details;         /* ... which cannot say any now */
	uint32_t lose_permille;      /* of WorldUpdates: only that they were sent is noted */
	uint64_t lose_dice;          /* its generator, with a seed */
	bool hold_commits;           /* keep them for test_answer_commits */
	struct test_owned owned[TEST_OWNED_MAX];
	struct test_held held[TEST_HELD_MAX];
	uint32_t held_count, commits;
	struct test_held last_commit;
	uint32_t routes, joined, left, refused, refused_reason, stopped;
	uint64_t left_session;
	struct msg_player_left last_left;
	uint32_t party_asks, party_requests;
	struct msg_party_request party_request; /* the last one, of both kinds */
	uint32_t transfers;
	struct msg_player_transfer transfer;   /* the last one */
	struct msg_instance instance;          /* the last state of an instance */
	struct msg_script script;              /* the last one, and how many of each act */
	uint32_t scripts[MSG_SCRIPT_ACT_COUNT], scripts_bad;
	uint32_t results_asked, result_answer; /* enum commit_result; COMMIT_RESULT_COUNT: none */
	struct msg_commit result_commit;       /* the last one, and its operation */
	struct commit_op result_op;
	uint32_t places[64], place_count; /* of all that were answered with OK */
	uint32_t saves, leaving_saves, detail_queries;
	struct msg_position_save last_save;
	/* The order of what leaves the shard, as letters: R route, J Joined, j to control, S save,
	 * L leaving save, l left, D disconnect, U route given up, t transfer, i instance state.
	 * Kept up to its size. */
	char order[256];
	uint32_t order_count;
};

/* One map "meadow" of width_m x width_m at 20 Hz; change config before test_start. */
void test_init(struct test_shard *t, uint32_t width_m, uint32_t players_max);
void test_start(struct test_shard *t, uint64_t seed);
void test_end(struct test_shard *t);

/* Lets ms milliseconds pass, one at a time, the shard stepped until it has no work in each; reads
 * all rings after each unless hold is set. */
void test_run(struct test_shard *t, uint32_t ms);
void test_run_holding(struct test_shard *t, uint32_t ms);
/* Reads what left the shard. */
void test_read_dataplane(struct test_shard *t);
void test_read_control(struct test_shard *t);
void test_read_world(struct test_shard *t);
/* Answers what was held, the last first if last_first; with OK they are carried out, unless what is
 * stored does not allow it. */
void test_answer_commits(struct test_shard *t, enum commit_result result, bool last_first);
/* The same for one of them. */
void test_answer_commit(struct test_shard *t, uint32_t index, enum commit_result result);
/* Count of an item that the test's database has of a client, in all slots. */
int64_t test_owns(const struct test_shard *t, uint32_t client, uint32_t item);
void test_give(struct test_shard *t, uint32_t client, uint32_t slot, uint32_t item, int64_t count,
	uint64_t serial);

uint64_t test_peer(uint32_t client);
/* Client joins with a position (has_position) or at the spawn point. */
void test_join(
	struct test_shard *t, uint32_t client, bool has_position, int32_t x_mm, int32_t y_mm);
/* The same with what *as says of map, instance, place, stay and way back. */
void test_join_as(struct test_shard *t, uint32_t client, const struct msg_player_join *as);
void test_gone(struct test_shard *t, uint32_t client);
void test_remove(struct test_shard *t, uint32_t client, uint32_t reason);
void test_stop(struct test_shard *t);
void test_packet(
	struct test_shard *t, uint32_t client, uint8_t channel, const void *bytes, uint32_t count);
/* An InputBatch of count equal inputs, sequences first.. */
void test_input(struct test_shard *t, uint32_t client, uint32_t first, uint32_t count, int32_t dx,
	int32_t dy);
void test_pick(struct test_shard *t, uint32_t client, uint32_t offer, uint32_t card);
void test_click(struct test_shard *t, uint32_t client, uint32_t actor_id);
/* To the last question that the client was asked. */
void test_answer(struct test_shard *t, uint32_t client, uint32_t choice);
void test_abandon(struct test_shard *t, uint32_t client, uint32_t quest);
void test_pick_up(struct test_shard *t, uint32_t client, uint32_t actor_id);
void test_move_item(
	struct test_shard *t, uint32_t client, uint32_t from, uint32_t to, uint32_t count);
void test_drop_item(struct test_shard *t, uint32_t client, uint32_t slot, uint32_t count);
void test_attack(struct test_shard *t, uint32_t client, uint32_t actor_id);
void test_trade_ask(struct test_shard *t, uint32_t client, uint32_t actor_id);
/* Of the trade that the client was told of last. */
void test_trade_offer(
	struct test_shard *t, uint32_t client, uint32_t kind, uint32_t slot, int64_t amount);
void test_trade_confirm(struct test_shard *t, uint32_t client, uint32_t version);
void test_trade_cancel(struct test_shard *t, uint32_t client);

/* A party as control says it. Members, the leader among them, and targets are clients; no members:
 * it is no more, or the targets are in none. */
struct test_party {
	uint64_t party, version;
	uint32_t leader, change;
	uint32_t members[10], member_count;
	uint32_t targets[10], target_count;
};
void test_party_say(struct test_shard *t, const struct test_party *said);
/* A client's PartyRequest; name may be "". */
void test_party_request(struct test_shard *t, uint32_t client, uint64_t number, uint32_t act,
	uint64_t character_id, const char *name);

/* A file of a folder that the test has made. */
void test_write(const char *folder, const char *name, const char *text);
/* A Tiled map of such tiles of a metre, ten pixels each; solid(column, row) says where walls are,
 * row 0 being the south; NULL: nowhere. objects are JSON, in pixels from the north. */
void test_write_map(const char *folder, const char *name, int columns, int rows,
	bool (*solid)(int column, int row), const char *objects);
/* The player's slot on that map; fails if it is not there. */
uint32_t test_slot_of(const struct sim_map *m, uint32_t client);

/* Builds an instance of t->links.instances, and hands it over. */
void test_open_instance(struct test_shard *t, uint32_t id);

/* So that a ring takes nothing more; so that it is empty again. */
void test_fill(struct msg_ring *ring);
void test_empty(struct msg_ring *ring);

/* For testing*.c: a letter of t->order. */
void test_note(struct test_shard *t, char what);

uint64_t test_counter(const struct test_shard *t, uint32_t counter);

#endif
