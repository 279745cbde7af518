/* gateway_internal: what the parts of the gateway share: gateway.c (players, channels, words),
 * gateway_client.c (what clients say), gateway_fanout.c (lines for many). */
#ifndef SW_CONTROL_CHAT_GATEWAY_INTERNAL_H
#define SW_CONTROL_CHAT_GATEWAY_INTERNAL_H

#include "control/admission/map64.h"
#include "control/chat/bucket.h"
#include "control/chat/gateway.h"
#include "control/chat/slot.h"

#define NONE UINT32_MAX

/* One player in one channel. Its number is player * CHAT_MEMBERSHIPS_MAX + its place there. */
struct membership {
	uint64_t peer;
	uint64_t said_ns;    /* its last line */
	uint32_t channel;    /* NONE: free */
	uint32_t prev, next; /* in the channel's list of the peer's worker */
	bool listed;         /* it is in that list, and the client knows */
};

struct player {
	struct msg_chat_player is; /* here 0: free, of old only the version counts */
	uint64_t name_key;
	struct chat_bucket bucket;
	uint32_t block_count;
	bool blocks_known; /* PostgreSQL has said whom it blocks */
	uint64_t blocked[CHAT_BLOCKS_MAX];
	struct membership in[CHAT_MEMBERSHIPS_MAX];
};

struct fanout {
	uint32_t next; /* of its channel, or free */
	uint32_t bytes;
	uint64_t began_ns;
	uint64_t taken_ns;
	uint8_t packet[]; /* [packet_max] */
};

struct room {            /* a channel with members here */
	uint64_t number; /* 0: free */
	uint64_t token;  /* that its members have been told; 0: none */
	uint32_t kind;
	uint32_t members, listed;
	uint32_t slow_ms;
	uint32_t next, prev; /* of those with fan-outs, or free */
	bool known;          /* the owner has answered */
	uint64_t asked_ns;
	uint64_t late_ns; /* when all members were looked at for who has not been told */
	uint32_t job_head, job_tail, jobs;
	bool begun;                      /* the first job's cursors are set */
	char name[CHARACTER_NAME_BYTES]; /* for a person */
};

struct chat_gateway {
	const struct sw_config *config;
	struct chat_gateway_ops ops;
	_Atomic uint64_t *counters;
	const struct chat_sanctions *sanctions;
	const struct chat_filter *filter;
	uint64_t node_token, whispers;
	uint64_t global;
	uint32_t workers, sessions, player_count;
	struct player *players; /* [sessions] */
	struct map64 by_peer, by_character, by_name;
	struct room *rooms; /* [rooms_max] */
	uint32_t rooms_max, room_free, room_count;
	struct map64 by_number;
	uint32_t *heads;             /* [rooms_max][workers] first member; NONE */
	uint32_t *cursors;           /* likewise: next member of the fan-out that is under way */
	uint64_t tokens[CHAT_SLOTS]; /* the greatest seen of each slot */
	uint8_t *jobs;               /* [chat.fanouts_max] of job_bytes */
	size_t job_bytes;
	uint32_t packet_max, job_free, job_count;
	uint32_t busy_head, busy_tail; /* rooms with fan-outs */
	uint32_t ask_next;             /* the room that is looked at next */
	uint8_t packet[CHAT_BODY_MAX + 256];
	struct msg_buffer line, to;
};

static inline struct membership *membership_at(const struct chat_gateway *gateway, uint32_t number)
{
	return &gateway->players[number / CHAT_MEMBERSHIPS_MAX].in[number % CHAT_MEMBERSHIPS_MAX];
}

/* gateway.c */
struct player *chat_player_of_session(const struct chat_gateway *gateway, uint64_t session);
struct player *chat_player_of_character(const struct chat_gateway *gateway, uint64_t character_id);
struct player *chat_player_of_name(const struct chat_gateway *gateway, const char *name);
struct room *chat_room_of(const struct chat_gateway *gateway, uint64_t number);
struct membership *chat_membership(
	const struct chat_gateway *gateway, struct player *player, uint64_t number);
/* Into a channel; the owner is asked. CHAT_REFUSED_NONE, or why not. */
enum chat_refusal chat_enter(struct chat_gateway *gateway, struct player *player, uint64_t number,
	uint32_t kind, const char *name, uint64_t request, uint64_t now_ns);
void chat_leave(struct chat_gateway *gateway, struct player *player, struct membership *membership,
	bool tell);
void chat_send_player(struct chat_gateway *gateway, const struct player *player,
	const uint8_t *packet, size_t bytes);
void chat_send_refused(struct chat_gateway *gateway, const struct player *player, uint64_t request,
	enum chat_refusal reason, uint32_t retry_ms);
void chat_send_done(struct chat_gateway *gateway, const struct player *player, uint64_t request,
	uint64_t token, uint64_t sequence);
bool chat_blocks(const struct player *player, uint64_t character_id);
/* WHISPER to a player of this node. */
enum chat_refusal chat_whisper(
	struct chat_gateway *gateway, struct player *target, const struct chat_word *word);

/* gateway_fanout.c */
bool chat_fanout_init(struct chat_gateway *gateway);
/* False: no room. */
bool chat_fanout_add(struct chat_gateway *gateway, struct room *room, const uint8_t *packet,
	size_t bytes, uint64_t now_ns);
/* The member is taken out of its channel's lists: no cursor may stand on it. */
void chat_fanout_unlist(struct chat_gateway *gateway, struct room *room, uint32_t worker,
	uint32_t number, uint32_t next);
/* Returns the fan-outs that wait. */
uint32_t chat_fanout_tick(struct chat_gateway *gateway, uint64_t now_ns);
/* The channel has no members any more. */
void chat_fanout_drop(struct chat_gateway *gateway, struct room *room);

#endif
