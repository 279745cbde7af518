/* msg.h: what the threads say to each other. Messages are values: a 32-byte head and a payload,
 * laid over one or more consecutive 64-byte slots of a msg_ring. No pointer is ever in a message.
 *
 * Which thread sends what to whom stands beside each type. Payloads are the structs below, or bytes
 * of the client protocol (proto/): the dataplane moves those without reading more than the first.
 */
#ifndef SW_COMMON_MSG_H
#define SW_COMMON_MSG_H

#include <stdbool.h>
#include <stdint.h>
#include <string.h>

#define MSG_SLOT_BYTES 64u
#define MSG_HEAD_BYTES 32u
#define MSG_SLOTS_MAX  128u
/* Largest payload of one message: 128 slots less the head. */
#define MSG_PAYLOAD_MAX (MSG_SLOTS_MAX * MSG_SLOT_BYTES - MSG_HEAD_BYTES)

enum msg_type {
	MSG_NONE = 0,

	/* dataplane to control: a client finished the ENet handshake. payload: msg_peer_connected
	 */
	MSG_PEER_CONNECTED,
	/* dataplane to control, shard or chat, by the type's range and the peer's route. payload:
	 * the client's bytes; channel and flags as ENet delivered them */
	MSG_PEER_PACKET,
	/* dataplane to control always, and to the shard that has the peer's route: the peer is
	 * gone. Owed until the ring takes it; may come late or twice. payload: msg_peer_gone */
	MSG_PEER_GONE,
	/* dataplane to a shard: the route was taken from it, by another shard or because it asked
	 * for that; nothing of this peer follows */
	MSG_ROUTE_END,

	/* control, shard or chat to dataplane: send bytes to a peer. channel, flags (MSG_SEND_*), payload
	 */
	MSG_PEER_SEND,
	/* control or shard to dataplane: end a peer. payload: msg_peer_disconnect */
	MSG_PEER_DISCONNECT,
	/* shard to dataplane: types of the simulation's range now go to route - 1 (0: nowhere). A
	 * peer that no longer exists is answered with MSG_PEER_GONE. payload: msg_peer_route */
	MSG_PEER_ROUTE,
	/* control to dataplane, each worker, at every change: what probes are told. payload:
	 * msg_node_state */
	MSG_NODE_STATE,

	/* control to shard: an admitted player enters a map. payload: msg_player_join */
	MSG_PLAYER_JOIN,
	/* control to shard: the player must go (takeover, operator); saved, then MSG_PLAYER_LEFT.
	 * payload: msg_player_remove */
	MSG_PLAYER_REMOVE,
	/* shard to control: the actor stands on the map. payload: msg_player_joined */
	MSG_PLAYER_JOINED,
	/* shard to control: refused (map full, unknown, closing). payload: msg_player_refused */
	MSG_PLAYER_REFUSED,
	/* shard to control: the player is off the map and its save is in the world ring.
	 * payload: msg_player_left */
	MSG_PLAYER_LEFT,
	/* shard to control, instead of MSG_PLAYER_LEFT: the player is off the map and saved,
	 * nothing of its peer is under way to or from the shard, and it wants to go on elsewhere on
	 * this node. payload: msg_player_transfer */
	MSG_PLAYER_TRANSFER,
	/* control to shard: this instance is yours (common/instance.h: a slot of the table that is
	 * shared from the start, handed over with this message). payload: msg_instance */
	MSG_INSTANCE_OPEN,
	/* shard to control: it is locked, closing, or ended; with ENDED it is handed back.
	 * payload: msg_instance */
	MSG_INSTANCE_STATE,
	/* control to shard: save and disconnect everyone, take no more. No payload */
	MSG_SHARD_STOP,
	/* shard to control: nobody is left. No payload */
	MSG_SHARD_STOPPED,

	/* control to world: load a character, create it at its first login, take it over (raises
	 * its epoch). payload: msg_character_load */
	MSG_CHARACTER_LOAD,
	/* world to control: the answer. payload: msg_character_loaded */
	MSG_CHARACTER_LOADED,
	/* shard to world: what the lazy join needs. payload: msg_detail_query */
	MSG_DETAIL_QUERY,
	/* world to shard: the answer. payload: msg_detail_result, its slots and its quests */
	MSG_DETAIL_RESULT,
	/* shard to world: save a position; the newest of a character wins. payload:
	   msg_position_save */
	MSG_POSITION_SAVE,
	/* shard to world: change what characters own, durably; answered exactly once. payload:
	 * msg_commit of common/commit.h with its operations */
	MSG_COMMIT,
	/* world to shard. payload: msg_commit_result */
	MSG_COMMIT_RESULT,
	/* control to world: answer when every save and commit taken so far is in PostgreSQL, or
	 * certainly not. No payload */
	MSG_WORLD_FLUSH,
	/* world to control. payload: msg_world_flushed */
	MSG_WORLD_FLUSHED,

	/* control to shard: take nobody more into this instance; a room plays to its end, a map
	 * sends its players to the other instances of it, and ends. payload: msg_instance */
	MSG_INSTANCE_CLOSE,
	/* the HTTP thread to control: an operator's order. payload: msg_order and its words */
	MSG_ORDER,
	/* control to the HTTP thread: what became of it; subject as the order's. payload:
	 * msg_order_answer and its text */
	MSG_ORDER_ANSWER,
	/* control to world: for the table ops_audit_log. payload: msg_audit and its texts */
	MSG_AUDIT,
	/* control to world: what of a character is not in PostgreSQL yet. payload:
	 * msg_writes_query */
	MSG_WRITES_QUERY,
	/* world to control. payload: msg_writes_result */
	MSG_WRITES_RESULT,

	/* control to world: answer when every save and commit of the character that this node took
	 * is in PostgreSQL. payload: msg_character_settle */
	MSG_CHARACTER_SETTLE,
	/* world to control. payload: msg_character_settled */
	MSG_CHARACTER_SETTLED,
	/* control to world: which nodes have written down that they live, of late. No payload */
	MSG_NODES_QUERY,
	/* world to control. payload: msg_nodes and its names */
	MSG_NODES,
	/* control to world: what an operator gives, takes or reverses. payload: msg_correction of
	 * common/correction.h */
	MSG_CORRECTION,
	/* world to control. payload: msg_correction_result */
	MSG_CORRECTION_RESULT,
	/* control to shard: the database has something else of this player than its shard: ask
	 * again. payload: msg_player_reload */
	MSG_PLAYER_RELOAD,

	/* any hot thread to the log thread. payload: msg_log_event */
	MSG_LOG_EVENT,

	/* Parties: bodies in common/party.h. Shard to control: */
	MSG_PARTY_REQUEST,
	/* control to shard: */
	MSG_PARTY_ANSWER,
	MSG_PARTY_INVITE,
	MSG_PARTY_STATE,
	MSG_PARTY_RESYNC,
	/* control to world: */
	MSG_PARTY_SAVE,
	MSG_PARTY_RESTORE,
	/* world to control: */
	MSG_PARTY_RESTORED,

	/* chat to dataplane, common/chat.h: a packet for many, and to whom. payload: the packet;
	 * peers as uint64_t. Beside them chat gets MSG_PEER_PACKET from the dataplane, and sends it
	 * MSG_PEER_SEND */
	MSG_CHAT_LINE,
	MSG_CHAT_TO,
	/* Bodies in common/chat_player.h. Control to chat: */
	MSG_CHAT_PLAYER,
	MSG_CHAT_ORDER,
	/* chat to control: */
	MSG_CHAT_ORDER_ANSWER,

	/* control to the verifying thread, and back. payload: control/verifier.h */
	MSG_TICKET_VERIFY,
	MSG_TICKET_VERIFIED,

	/* control to shard: another version of an instance's script. payload: msg_script */
	MSG_SCRIPT_ORDER,
	/* shard to control: what became of the order, or what the shard did by itself. payload:
	 * msg_script */
	MSG_SCRIPT_STATE,

	MSG_TYPES
};

/* Bits of msg.flags for MSG_PEER_SEND and MSG_PEER_PACKET: ENet's packet flags, same values. */
#define MSG_SEND_RELIABLE    0x01u
#define MSG_SEND_UNSEQUENCED 0x02u

struct msg {
	uint16_t type;   /* enum msg_type */
	uint8_t slots;   /* 1..MSG_SLOTS_MAX, from msg_slots(payload_bytes) */
	uint8_t channel; /* ENet channel, for PEER_PACKET and PEER_SEND */
	uint16_t flags;  /* MSG_SEND_* */
	uint16_t reserved;
	uint64_t peer;    /* the dataplane's peer handle, HANDLE_NONE where there is none */
	uint64_t subject; /* session, character id or request, as the type says; 0 if unused */
	uint32_t payload_bytes;
	/* PEER_PACKET: low half of the CPU's cycle counter when the datagram was received, for
	 * metrics; 0 in all but one of some */
	uint32_t received;
	uint8_t payload[MSG_SLOT_BYTES - MSG_HEAD_BYTES]; /* goes on in the slots that follow */
};
_Static_assert(sizeof(struct msg) == MSG_SLOT_BYTES, "one slot, one cache line");
_Static_assert(__builtin_offsetof(struct msg, payload) == MSG_HEAD_BYTES, "payload follows head");

/* A message of the largest size, for building and popping on a thread's own memory. */
struct msg_buffer {
	struct msg slot[MSG_SLOTS_MAX];
} __attribute__((aligned(64)));

static inline uint8_t msg_slots(uint32_t payload_bytes)
{
	return (uint8_t)((MSG_HEAD_BYTES + payload_bytes + MSG_SLOT_BYTES - 1) / MSG_SLOT_BYTES);
}

/* The payload, contiguous over all slots of the message. */
static inline const uint8_t *msg_payload(const struct msg *message)
{
	return (const uint8_t *)message + MSG_HEAD_BYTES;
}

/* The next message in what msg_ring_pop filled. */
static inline const struct msg *msg_next(const struct msg *message)
{
	return message + message->slots;
}

/* Starts a message in memory that has room for payload_bytes; returns where the payload goes.
 * payload_bytes is at most MSG_PAYLOAD_MAX. */
static inline uint8_t *msg_begin(
	struct msg *message, enum msg_type type, uint64_t peer, uint32_t payload_bytes)
{
	memset(message, 0, MSG_HEAD_BYTES);
	message->type = (uint16_t)type;
	message->slots = msg_slots(payload_bytes);
	message->peer = peer;
	message->payload_bytes = payload_bytes;
	return (uint8_t *)message + MSG_HEAD_BYTES;
}

#define MAP_NAME_BYTES       32u /* with the ending NUL */
#define CHARACTER_NAME_BYTES 32u /* with the ending NUL; UTF-8 */

struct msg_peer_connected {
	uint8_t ip[16];             /* IPv4 as ::ffff:a.b.c.d */
	uint16_t port;              /* host order */
	uint16_t payload_bytes_max; /* largest unreliable payload that fits one datagram */
	uint32_t connect_data;      /* what the client passed to enet_host_connect */
	uint8_t channels;
	uint8_t pad[7];
};

struct msg_peer_gone {
	uint32_t data;   /* the client's disconnect data */
	uint32_t reason; /* enum sw_enet_gone of dataplane/enet/enet.h, for counters and logs */
};

/* How a peer ends: what libenet calls disconnect, disconnect_later, disconnect_now. */
enum msg_disconnect_mode { MSG_DISCONNECT, MSG_DISCONNECT_LATER, MSG_DISCONNECT_NOW };

struct msg_peer_disconnect {
	uint32_t mode; /* enum msg_disconnect_mode */
	uint32_t data; /* sw_disconnect_reason of proto/message_types.h, as the client sees it */
};

struct msg_peer_route {
	uint32_t route; /* shard number + 1, 0 for none */
	uint32_t pad;
};

struct msg_node_state {
	uint32_t state; /* enum sw_node_state of proto/probe.h */
	uint32_t pad;
};

/* What a player takes along that no database keeps: from map to map, and when it comes again. A
 * shard writes it when the player goes and reads it when it comes (simulation/live.h says what
 * becomes of each); in between control keeps it unread. All 0: nothing is known, it comes whole.
 * Times are those that were left at at_ns. */
struct msg_live {
	uint64_t at_ns;     /* mono_ns when it went */
	uint32_t missing;   /* health that it lacks */
	uint32_t back_ms;   /* it is dead, and stands up then, at least 1; 0: alive */
	uint32_t ready_ms;  /* it strikes again then */
	uint32_t rested_ms; /* since it was hurt last */
	uint8_t credit;     /* inputs that it may make up for */
	uint8_t malformed;  /* unreadable messages of this connection */
	uint8_t pad[6];
};
_Static_assert(sizeof(struct msg_live) == 32, "no holes: it is compared and hashed as bytes");

/* Positions are millimetres; see simulation/rules/. */
struct msg_player_join {
	uint64_t session; /* control's session handle */
	uint64_t character_id;
	uint64_t epoch; /* writer epoch (fencing), goes with each save */
	int32_t x_mm, y_mm;
	uint32_t has_position; /* 0: use the map's spawn point */
	uint32_t realm_id;
	uint16_t payload_bytes_max; /* of the peer */
	uint16_t heading;           /* 1/65536 turn */
	uint32_t instance;          /* common/instance.h; 0: whichever the shard has of the map */
	char map[MAP_NAME_BYTES];   /* the instance's definition */
	char name[CHARACTER_NAME_BYTES];
	/* Where the player goes when its room ends, and what is saved while it is in one. "": to
	 * the node's first map. */
	char return_map[MAP_NAME_BYTES];
	int32_t return_x_mm, return_y_mm;
	uint16_t return_heading;
	uint16_t returning;          /* 1: it was in this very instance before */
	uint32_t stay;               /* the session's stays on maps before this one */
	uint32_t input_sequence;     /* the last input applied there */
	uint32_t back_reason;        /* it was going elsewhere, and was not taken for this
				      * sw_disconnect_reason; 0: it was going here */
	struct msg_live live;        /* as it left the last map, or this room if returning */
	struct msg_live return_live; /* as it was when it went into a room: it goes home so */
};

struct msg_player_remove {
	uint64_t session;
	uint32_t reason; /* sw_disconnect_reason for the client */
	uint32_t pad;
};

struct msg_player_reload {
	uint64_t session;
};

/* What a shard is to do with an instance's script, at the beginning of a tick; each is answered once.
 * X(id, name, meaning) */
#define MSG_SCRIPT_ACTS(X)                                                                         \
	X(CLEAR, "clear", "end what still runs on the version before this one, and let go of it")  \
	X(SWAP, "swap", "take the version that was prepared")                                      \
	X(BACK, "back", "return to the version before this one, with what it handed over")         \
	X(RETURN, "return", "the shard's own: back, without that, since too many handlers failed") \
	X(RELEASE, "release", "let handlers that were suspended for their failures run again")
#define MSG_SCRIPT_ACT_ENUM(id, name, meaning) MSG_SCRIPT_##id,
enum msg_script_act { MSG_SCRIPT_ACTS(MSG_SCRIPT_ACT_ENUM) MSG_SCRIPT_ACT_COUNT };

struct msg_script {
	uint32_t instance;
	uint32_t act;     /* enum msg_script_act */
	uint32_t version; /* SWAP, BACK: to which. STATE: that runs now; RETURN: that failed */
	uint32_t good;    /* STATE: done; else text says why not */
	uint32_t count;   /* STATE: handlers under way on the version before; RELEASE: released */
	char text[172];   /* STATE: one line; RELEASE: an NPC's name, "": all */
};
_Static_assert(sizeof(struct msg_script) == 192, "no holes");

struct msg_player_joined {
	uint64_t session;
	uint32_t actor_id;
	uint32_t map_index;
};

struct msg_player_refused {
	uint64_t session;
	uint32_t reason; /* sw_disconnect_reason */
	uint32_t pad;
};

struct msg_player_left {
	uint64_t session;
	uint64_t character_id;
	uint32_t instance;
	int32_t x_mm, y_mm;
	uint16_t heading, pad;
	struct msg_live live, return_live; /* as msg_player_join */
};

struct msg_player_transfer {
	uint64_t session;
	uint64_t character_id;
	uint32_t instance; /* that it leaves */
	uint32_t input_sequence;
	int32_t x_mm, y_mm; /* on the map it goes to, if has_position */
	uint16_t heading, has_position;
	uint16_t return_heading, pad;
	int32_t return_x_mm, return_y_mm;
	char map[MAP_NAME_BYTES]; /* "": the first map */
	char return_map[MAP_NAME_BYTES];
	char name[CHARACTER_NAME_BYTES];
	struct msg_live live, return_live; /* where it goes, and if it is sent back */
};

struct msg_instance {
	uint32_t id;
	uint32_t state; /* enum instance_state */
};

struct msg_character_load {
	uint64_t session; /* comes back in the answer */
	uint64_t account_id, character_id;
	uint64_t epoch_max; /* 0, or: only if its epoch is not above this; else NEWER */
	uint32_t realm_id;
	uint32_t pad;
	char name[CHARACTER_NAME_BYTES];
};

enum msg_load_result {
	MSG_LOAD_OK,
	MSG_LOAD_UNAVAILABLE,   /* PostgreSQL is away or the queue is full: try again later */
	MSG_LOAD_WRONG_ACCOUNT, /* the character belongs to another account */
	MSG_LOAD_NEWER          /* it has logged in since epoch_max; nothing was changed */
};

struct msg_character_loaded {
	uint64_t session;
	uint64_t character_id;
	uint64_t epoch;
	uint32_t result; /* enum msg_load_result */
	uint32_t has_position;
	int32_t x_mm, y_mm;
	uint16_t heading;
	uint16_t pad[3];
	char map[MAP_NAME_BYTES]; /* "" where nothing was saved yet */
	char name[CHARACTER_NAME_BYTES];
};

struct msg_detail_query {
	uint64_t request; /* comes back in the answer */
	uint64_t character_id;
	uint32_t realm_id;
	uint32_t pad;
};

/* slots of struct msg_slot, then quests of struct msg_quest (common/commit.h) follow; none unless
 * result is MSG_LOAD_OK. They are what PostgreSQL held when every commit that this node took before
 * the query was settled. */
struct msg_detail_result {
	uint64_t request;
	uint64_t character_id;
	int64_t gold, experience;
	uint32_t result; /* enum msg_load_result */
	uint32_t level;
	uint32_t appearance; /* 0xRRGGBB, until looks are data */
	uint32_t slots, quests;
	uint32_t pad;
};

struct msg_position_save {
	uint64_t character_id;
	uint64_t epoch;
	uint32_t realm_id;
	int32_t x_mm, y_mm;
	uint16_t heading;
	uint16_t leaving; /* 1: the last save of this stay */
	char map[MAP_NAME_BYTES];
	uint32_t
		stay; /* as msg_player_join: a later stay's save wins, though rings have no order */
	uint32_t pad;
};

struct msg_world_flushed {
	uint32_t unsaved; /* saves and commits that are not in PostgreSQL; 0 is what we want */
	uint32_t pad;
};

#define ORDER_AUTHOR_BYTES 32u   /* with the ending NUL */
#define ORDER_WORDS_BYTES  1024u /* most of an order's words, each with an ending NUL */
#define ORDER_TEXT_BYTES   4096u /* most of an answer's text */

/* What an operator may order. X(id, name, meaning). A role may also what those before it may. */
#define OPERATOR_ROLES(X)                                                                          \
	X(READ, "read", "ask what /status does not show: players, parties")                        \
	X(OPERATE, "operate", "what changes who plays where: instances, kicks")                    \
	X(ADMIN, "admin", "all; what ends evidence or is kept for the server's owner, too")
#define OPERATOR_ROLE_ENUM(id, name, meaning) OPERATOR_##id,
enum operator_role { OPERATOR_ROLES(OPERATOR_ROLE_ENUM) OPERATOR_ROLE_COUNT };

/* An order is a list of words, as typed: "instance", "close", "3.1". */
struct msg_order {
	char author[ORDER_AUTHOR_BYTES];
	uint32_t role;        /* enum operator_role, of the author's token */
	uint32_t words;       /* how many follow */
	uint32_t words_bytes; /* in all, each with an ending NUL; at most ORDER_WORDS_BYTES */
	uint32_t pad;
};

/* X(id, status of HTTP, meaning) */
#define ORDER_RESULTS(X)                                                                           \
	X(DONE, 200, "carried out, or the question answered")                                      \
	X(USAGE, 400, "not an order, or its words are wrong")                                      \
	X(FORBIDDEN, 403, "the author's role does not have this right")                            \
	X(REFUSED, 409, "understood, and not carried out")                                         \
	X(UNAVAILABLE, 503, "nobody could answer")
#define ORDER_RESULT_ENUM(id, status, meaning) ORDER_##id,
enum order_result { ORDER_RESULTS(ORDER_RESULT_ENUM) ORDER_RESULT_COUNT };

struct msg_order_answer {
	uint32_t result;     /* enum order_result */
	uint32_t text_bytes; /* that follow, without a NUL; at most ORDER_TEXT_BYTES */
};

/* what_bytes and outcome_bytes of text follow, without NULs. */
struct msg_audit {
	uint64_t id[2];                     /* random */
	int64_t at_ms;                      /* Unix time */
	uint32_t good;                      /* 1: carried out */
	uint16_t what_bytes, outcome_bytes; /* at most AUDIT_TEXT_BYTES each */
	char author[ORDER_AUTHOR_BYTES];
	char kind[16]; /* "command" */
};
#define AUDIT_TEXT_BYTES 1024u

struct msg_character_settle {
	uint64_t session, character_id; /* come back in the answer */
	uint32_t realm_id, pad;
};

struct msg_character_settled {
	uint64_t session, character_id;
	uint32_t settled; /* 0: not, in good time */
	uint32_t pad;
};

#define NODE_NAME_BYTES 64u /* with the ending NUL */
#define NODES_MAX       120u

/* count names of NODE_NAME_BYTES follow. */
struct msg_nodes {
	uint32_t known; /* 0: PostgreSQL did not answer */
	uint32_t count;
};
_Static_assert(sizeof(struct msg_nodes) + NODES_MAX * NODE_NAME_BYTES <= MSG_PAYLOAD_MAX, "fits");

struct msg_writes_query {
	uint64_t request; /* comes back in the answer */
	uint64_t character_id;
	uint32_t realm_id, pad;
};

struct msg_writes_result {
	uint64_t request, character_id;
	uint32_t commits; /* without a result */
	uint32_t saves;   /* 1: a position waits */
	uint32_t links;   /* connections to PostgreSQL that are ready */
	uint32_t links_max;
};

/* A rare event of a hot thread: the id names a line of the table in common/log_events.h, the
 * arguments fill its format on the log thread. */
struct msg_log_event {
	uint64_t time_ns; /* mono_ns */
	uint32_t event;   /* enum log_event */
	uint32_t thread;  /* worker or shard number */
	uint64_t arg[4];
};

#endif
