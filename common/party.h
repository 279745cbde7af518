/* party.h: what a request about a party comes to, what changed in a party, and what control and
 * shards say to each other of parties. Authority for all of it is Redis (control/party); a shard
 * has copies for the players on its maps (simulation/party).
 *
 * A version is a number of the whole realm: it only grows, and each change of any party has the
 * next one. So of two things that were said of a party, or of a character's membership, the one
 * with the greater version is the newer, in whatever order they come, and as often as they come.
 * Each says all of the party, so that one that is missed does no harm once a later one has come. */
#ifndef SW_COMMON_PARTY_H
#define SW_COMMON_PARTY_H

#include <stdint.h>

#include "common/msg.h"

#define PARTY_MEMBERS_MAX 40u /* that party.members_max may allow */
#define PARTY_INVITES_MAX 8u  /* that wait for one character's answer */

/* What a client asks for: PartyAct of client.proto. X(id, value, name) */
#define PARTY_ACTS(X)                                                                              \
	X(INVITE, 1, "invite")                                                                     \
	X(ACCEPT, 2, "accept")                                                                     \
	X(DECLINE, 3, "decline")                                                                   \
	X(LEAVE, 4, "leave")                                                                       \
	X(KICK, 5, "kick")                                                                         \
	X(PROMOTE, 6, "promote")                                                                   \
	X(DISBAND, 7, "disband")

#define PARTY_ACT_ENUM(id, value, name) PARTY_ACT_##id = value,
/* ARRIVE: no client's word, but a shard's: the player stands on a map, and how is its party? */
enum party_act {
	PARTY_ACT_NONE,
	PARTY_ACTS(PARTY_ACT_ENUM) PARTY_ACT_COUNT,
	PARTY_ACT_ARRIVE = 15
};

/* What came of it: PartyResult of client.proto. X(id, value, name, meaning) */
#define PARTY_RESULTS(X)                                                                           \
	X(DONE, 0, "done", "it was done")                                                          \
	X(ALREADY_IN_PARTY, 1, "already_in_party", "one is in a party already")                    \
	X(FULL, 2, "full", "the party takes no more members")                                      \
	X(NOT_LEADER, 3, "not_leader", "only the leader may do that")                              \
	X(NOT_IN_PARTY, 4, "not_in_party", "one is in no party")                                   \
	X(NO_INVITE, 5, "no_invite", "there is no such invitation, or not any more")               \
	X(TARGET_OFFLINE, 6, "target_offline", "nobody of that name or number is in the game")     \
	X(TARGET_ONESELF, 7, "target_oneself", "that is oneself")                                  \
	X(TARGET_NOT_MEMBER, 8, "target_not_member", "the other one is not in one's party")        \
	X(TARGET_IN_PARTY, 9, "target_in_party", "the other one is in a party already")            \
	X(ALREADY_INVITED, 10, "already_invited", "one's invitation waits for an answer already")  \
	X(TOO_MANY_INVITES, 11, "too_many_invites", "too many invitations wait for an answer")     \
	X(TOO_OFTEN, 12, "too_often", "too many requests in a short time")                         \
	X(UNAVAILABLE, 13, "unavailable", "it cannot be said now; ask again with the same number") \
	X(NO_SUCH_ACT, 14, "no_such_act", "there is no such act, or something is missing for it")

#define PARTY_RESULT_ENUM(id, value, name, meaning) PARTY_##id = value,
enum party_result { PARTY_RESULTS(PARTY_RESULT_ENUM) PARTY_RESULT_COUNT };

/* What has changed: PartyChange of client.proto. X(id, value, name) */
#define PARTY_CHANGES(X)                                                                           \
	X(NONE, 0, "none")                                                                         \
	X(JOINED, 1, "joined")                                                                     \
	X(LEFT, 2, "left")                                                                         \
	X(KICKED, 3, "kicked")                                                                     \
	X(PROMOTED, 4, "promoted")                                                                 \
	X(DISBANDED, 5, "disbanded")                                                               \
	X(AWAY, 6, "away")                                                                         \
	X(BACK, 7, "back")                                                                         \
	X(MOVED, 8, "moved")                                                                       \
	X(FORGOTTEN, 9, "forgotten")                                                               \
	X(RESTORED, 10, "restored")

#define PARTY_CHANGE_ENUM(id, value, name) PARTY_CHANGE_##id = value,
enum party_change { PARTY_CHANGES(PARTY_CHANGE_ENUM) PARTY_CHANGE_COUNT };

/* MSG_PARTY_REQUEST, shard to control; subject is the session. Answered with MSG_PARTY_ANSWER,
 * once, unless act is ARRIVE: that is answered with MSG_PARTY_STATE (party 0: it is in none), as
 * often as needed, or not at all while Redis is away. */
struct msg_party_request {
	uint64_t request; /* the client's; a repeat of it has no second effect */
	uint64_t character_id, target_id;
	uint32_t act; /* enum party_act */
	uint32_t pad;
	char name[CHARACTER_NAME_BYTES]; /* INVITE: whom, where target_id is 0 */
	char map[MAP_NAME_BYTES];        /* ARRIVE: where */
};

/* MSG_PARTY_ANSWER, control to shard; peer and subject (the session) say whose. */
struct msg_party_answer {
	uint64_t request;
	uint64_t character_id;
	uint32_t act;    /* enum party_act */
	uint32_t result; /* enum party_result */
};

/* MSG_PARTY_INVITE, control to shard; peer and subject say whose. */
struct msg_party_invite {
	uint64_t character_id;
	uint64_t other_id; /* who invites; with declined: who was invited and does not want to */
	uint32_t left_ms;  /* that it stands; 0: it is over */
	uint32_t declined;
	char name[CHARACTER_NAME_BYTES]; /* of the other */
};

struct msg_party_member {
	uint64_t character_id;
	uint32_t online, pad;
	char name[CHARACTER_NAME_BYTES];
	char map[MAP_NAME_BYTES]; /* "": not known */
};

/* Somebody of the shard whom a MSG_PARTY_STATE is for: a member, or one who is not any more. */
struct msg_party_target {
	uint64_t peer, session, character_id;
};

/* MSG_PARTY_STATE, control to shard: all of a party as of a version. member_count of struct
 * msg_party_member, the one who joined first first, then target_count of struct msg_party_target
 * follow. No members: the party is no more, or (party_id 0) the target is in none. */
struct msg_party_state {
	uint64_t party_id, version, leader_id;
	uint64_t subject_id; /* whom the change is about */
	uint32_t change;     /* enum party_change */
	uint32_t member_count, target_count;
	uint32_t pad;
};
_Static_assert(sizeof(struct msg_party_state) +
			       PARTY_MEMBERS_MAX * (sizeof(struct msg_party_member) +
							   sizeof(struct msg_party_target)) <=
		       MSG_PAYLOAD_MAX,
	"the largest party fits one message");

/* MSG_PARTY_RESYNC, control to shard, no payload: something may have been missed; every player's
 * ARRIVE is to be said again, spread over some seconds. */

/* MSG_PARTY_SAVE, control to world: a party as it is to be found again when Redis has lost
 * everything. The text (text_bytes of JSON, made and read by the scripts alone) follows; none: the
 * party is no more. The greatest version wins. */
struct msg_party_save {
	uint64_t party_id, version;
	uint32_t realm_id, keep_s; /* if nothing is said of it for so long, it may be forgotten */
	uint32_t text_bytes, pad;
};

#define PARTY_PAGE_ROWS 256u

/* MSG_PARTY_RESTORE, control to world: say the parties that are written down, those with the
 * greatest versions first, PARTY_PAGE_ROWS at a time.
 * MSG_PARTY_RESTORED, world to control: a piece of the answer, in order: rows, each with its text,
 * as above, then END; or UNAVAILABLE. */
struct msg_party_restore {
	uint64_t request;
	uint64_t epoch;  /* 0: begin a new one; else the one that END told of */
	uint64_t before; /* those of smaller versions; 0: from the greatest on */
	uint32_t realm_id, pad;
};

enum party_restored { PARTY_RESTORED_ROW, PARTY_RESTORED_END, PARTY_RESTORED_UNAVAILABLE };

struct msg_party_restored {
	uint64_t request;
	uint64_t party_id;
	uint64_t version; /* of END: where the next page begins; 0: there is none */
	uint64_t epoch;
	uint32_t what; /* enum party_restored */
	uint32_t text_bytes;
};

#endif
