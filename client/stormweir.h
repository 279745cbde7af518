/* stormweir.h: connect to a Stormweir server, walk, and see who else is there.
 *
 *	struct swc_config config = { .address = "10.0.0.1", .port = 7777, .ticket = ticket,
 *		.ticket_bytes = bytes, .on_event = see, .ctx = mine };
 *	struct swc_client *client;
 *	int error = swc_open(&config, &client);
 *	while (swc_state(client) != SWC_CLOSED) {
 *		poll(...swc_fd(client)..., 5);
 *		swc_service(client, now_ns);    // calls see() for what happened
 *	}
 *	swc_close(client);
 *
 * It speaks docs/protocol.md over stock libenet 1.3.x, and predicts its own character's movement
 * with the rules that the server uses (simulation/rules), so a step is seen at once and corrected
 * only when the server disagrees. Give it the maps' files (swc_use_ground), and it stops at walls.
 *
 * A client belongs to one thread; different clients may live in different threads. Nothing here
 * blocks, sleeps, logs or starts a thread. Everything that comes from the server is checked; what
 * cannot be read is counted under its name (SWC_REFUSALS) and otherwise ignored.
 * Lengths are millimetres, headings 1/65536 turn (0 is +x, counter-clockwise), times nanoseconds of
 * any monotonic clock. Functions that fail return a negative errno. */
#ifndef SWC_STORMWEIR_H
#define SWC_STORMWEIR_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

struct swc_client;
struct swc_ground;

#define SWC_NAME_BYTES       32   /* an actor's or map's name with its final NUL */
#define SWC_TEXT_BYTES_MAX   4096 /* the longest text the library passes on */
#define SWC_TICKET_BYTES_MAX 1024
#define SWC_PASS_BYTES_MAX   192
#define SWC_GROUNDS_MAX      64 /* of one client */

/* Where a client stands. It only ever moves down this list (a change of map is JOINED again), but
 * that a redirect to another node has it in ADMITTING once more. */
enum swc_state {
	SWC_CONNECTING, /* ENet handshake */
	SWC_ADMITTING,  /* Hello sent, no answer yet */
	SWC_QUEUED,     /* the ticket was good; it waits for a place in the game */
	SWC_LOADING,    /* the ticket was good; the character is being loaded */
	SWC_PLAYING,    /* on the map */
	SWC_LEAVING,    /* swc_leave was called, its acknowledgement is awaited */
	SWC_CLOSED,
};

enum swc_actor_kind { SWC_KIND_NONE, SWC_PLAYER, SWC_NPC, SWC_MONSTER, SWC_LOOT };

/* What the client knows of the walls of the map it is on. */
enum swc_walls {
	SWC_WALLS_NONE,    /* the map has none */
	SWC_WALLS_KNOWN,   /* prediction stops where the server does */
	SWC_WALLS_UNKNOWN, /* no ground that was given has the map's walls: prediction walks on open
			    * ground, and where a wall stops one the server corrects it */
};

/* Someone in view, as the server said last. */
struct swc_actor {
	uint32_t actor_id;
	int32_t x_mm, y_mm;
	uint16_t heading;
	uint32_t speed_mm_per_s; /* along heading; 0 at rest */
	uint32_t tick;           /* of this position */
	uint32_t enter_tick;
	uint32_t appearance;         /* 0xRRGGBB */
	uint32_t health, health_max; /* of players and monsters; health 0 with health_max: dead */
	uint32_t item, count;        /* of loot: the item's number, and how many */
	enum swc_actor_kind kind;
	char name[SWC_NAME_BYTES];
};

/* What lies in a slot: 0 to 63 are the bag, 100 to 115 what is worn. */
struct swc_stack {
	uint32_t slot, item, count;
};

#define SWC_STACKS_MAX 80u
#define SWC_TRADE_DONE 1u /* the one TradeEndReason with which something has changed hands */

/* What one of two who trade offers. */
struct swc_trade_side {
	int64_t gold;
	const struct swc_stack *stacks; /* [count]; slots of its own bag */
	uint32_t count;
	bool confirmed;
};

enum swc_trade_phase {
	SWC_TRADE_NONE,      /* a phase that this library does not know */
	SWC_TRADE_ASKED,     /* one has asked; the other may ask back, which accepts, or cancel */
	SWC_TRADE_OPEN,      /* both offer, and confirm what they see */
	SWC_TRADE_UNDER_WAY, /* both have confirmed: it is being carried out */
};

#define SWC_PARTY_MEMBERS_MAX 40u

/* A member of one's party, docs/protocol.md: PartyMember, PartyMemberLive. */
struct swc_party_member {
	uint64_t character_id;
	bool online;
	char name[SWC_NAME_BYTES], map[SWC_NAME_BYTES];
};

struct swc_party_live {
	uint64_t character_id;
	uint32_t actor_id;
	int32_t x_mm, y_mm;
	uint32_t health, health_max, level; /* health_max 0: not known yet */
};

/* What one asks for. */
enum swc_party_act {
	SWC_PARTY_INVITE = 1, /* somebody, by character id or name */
	SWC_PARTY_ACCEPT,     /* the invitation of somebody */
	SWC_PARTY_DECLINE,
	SWC_PARTY_LEAVE,
	SWC_PARTY_KICK,    /* somebody; the leader */
	SWC_PARTY_PROMOTE, /* likewise */
	SWC_PARTY_DISBAND, /* the leader */
};

#define SWC_CHANNELS_MAX  64u   /* of chat, that one is in */
#define SWC_SAY_BYTES_MAX 1024u /* the longest text that one may say; a server may take less */
#define SWC_HISTORY_MAX   256u

/* What kind of channel, docs/protocol.md: ChatKind. */
enum swc_channel_kind {
	SWC_CHANNEL_NONE, /* a kind that this library does not know */
	SWC_CHANNEL_GLOBAL,
	SWC_CHANNEL_LANGUAGE,
	SWC_CHANNEL_MAP,
	SWC_CHANNEL_GUILD,
	SWC_CHANNEL_PARTY,
	SWC_CHANNEL_GM,
};

/* Something that somebody has said. token and sequence name it, with its channel. */
struct swc_line {
	uint64_t token, sequence;
	uint64_t sender_id; /* character id */
	uint64_t unix_ms;
	const char *sender, *text;
};

/* One's own character. */
struct swc_self {
	uint64_t character_id; /* known from ADMITTED on */
	uint32_t actor_id;     /* known from JOINED on, like all below */
	char map[SWC_NAME_BYTES];
	uint32_t width_mm, height_mm;
	uint32_t tick_hz, speed_mm_per_s;
	uint64_t ground_hash; /* of the map's walls, 0 without */
	uint32_t radius_mm;   /* of an actor, where there are walls */
	enum swc_walls walls;
	int32_t x_mm, y_mm; /* predicted: where to draw it */
	uint16_t heading;
	int32_t join_x_mm, join_y_mm;
	int32_t server_x_mm, server_y_mm; /* the last position that the server sent */
	uint32_t server_tick;
	uint32_t input_sequence;     /* of the newest input made */
	uint32_t input_applied;      /* the last one the server is known to have applied */
	uint32_t health, health_max; /* known from DETAIL on; health 0: dead, until the server sends
				      * another */
};

/* What cannot be read or may not be. X(name, text) */
#define SWC_REFUSALS(X)                                                                            \
	X(EMPTY, "a packet without a type byte")                                                   \
	X(TOO_LARGE, "a packet longer than any message may be")                                    \
	X(UNKNOWN_TYPE, "a message type that no server sends")                                     \
	X(WRONG_CHANNEL, "a known message on another channel than its own")                        \
	X(PROTOBUF, "bytes that are not the type's protobuf")                                      \
	X(OUT_OF_RANGE, "a field outside its range")                                               \
	X(OUT_OF_ORDER, "a message that may not come at this point of a session")                  \
	X(VIEW_FULL, "an actor beyond actors_max")                                                 \
	X(NO_MEMORY, "an actor for whom no memory was left")

#define SWC_REFUSAL_ENUM(name, text) SWC_REFUSAL_##name,
enum swc_refusal { SWC_REFUSALS(SWC_REFUSAL_ENUM) SWC_REFUSAL_COUNT };
const char *swc_refusal_text(enum swc_refusal refusal);

struct swc_stats {
	uint64_t updates;            /* WorldUpdates read */
	uint64_t updates_other_stay; /* ... of a map that was left, or not yet joined: ignored */
	uint64_t entity_states;      /* entity states in them */
	uint64_t states_unknown; /* ... of actors not in view: ignored (normal, see protocol.md) */
	uint64_t states_old;     /* ... older than what is known: ignored */
	uint64_t view_changes;   /* ViewChanges read */
	uint64_t view_changes_late; /* ... of a map that was left: ignored (normal) */
	uint64_t enters, leaves;    /* actors that came and went in them */
	uint64_t changes;           /* actors told anew while in view */
	uint64_t
		reliable_lost; /* numbers missing in ViewChange.sequence: always 0 if all is well */
	uint64_t leaves_unknown; /* leaves of actors not in view: 0 if all is well */
	uint64_t inputs;         /* inputs made */
	uint64_t batches;        /* InputBatches sent */
	uint64_t corrections;    /* the server placed the character elsewhere than predicted */
	uint64_t correction_mm_max;
	uint64_t
		inputs_forgotten; /* too many inputs unconfirmed: prediction let go of the oldest */
	uint64_t dialogues;
	uint64_t blows;            /* told of */
	uint64_t blows_other_stay; /* on a map that was left: ignored (normal) */
	uint64_t chat_lines, whispers;
	uint64_t chat_missed;  /* lines that did not come, by their numbers */
	uint64_t chat_repeats; /* lines, whispers and announcements that came again: ignored */
	uint64_t chat_old;     /* lines of an owner that is none any more: ignored */
	uint64_t chat_unknown; /* lines of a channel that one is not in: ignored */
	uint64_t chat_refused; /* what one asked for */
	uint64_t refused[SWC_REFUSAL_COUNT];
	uint32_t rtt_ms, rtt_variance_ms; /* ENet's estimate */
};

enum swc_event_type {
	SWC_EVENT_CONNECTED,  /* ENet is connected and Hello is on its way */
	SWC_EVENT_QUEUED,     /* .queued: how one stands in the queue; comes again with a change */
	SWC_EVENT_ADMITTED,   /* .admitted */
	SWC_EVENT_REDIRECTED, /* .redirected: the library connects to another node by itself */
	SWC_EVENT_CAME_BACK,  /* .came_back: that did not let it in; it waits where it waited */
	SWC_EVENT_REFUSED,    /* .refused; a DISCONNECTED follows */
	SWC_EVENT_CHALLENGED, /* .challenged: the server is under pressure and wants work first */
	SWC_EVENT_PASS,       /* .pass: what to come again with; a newer one comes in time */
	SWC_EVENT_JOINED,     /* swc_self() is complete */
	SWC_EVENT_WALLS_UNKNOWN, /* after JOINED: swc_self()->walls is SWC_WALLS_UNKNOWN */
	SWC_EVENT_DETAIL,        /* .detail; comes again when something of it has changed */
	SWC_EVENT_ENTER,         /* .actor came into view */
	SWC_EVENT_CHANGED,       /* .actor, in view already, was told anew: its looks have come */
	SWC_EVENT_LEAVE,         /* .actor is leaving view (last known state) */
	SWC_EVENT_TRADE,         /* .trade: how one's trade stands */
	SWC_EVENT_TRADE_ENDED, /* .trade_ended; what has changed hands comes as INVENTORY, DETAIL */
	SWC_EVENT_PARTY,       /* .party: one's party, anew; party 0: one is in none any more */
	SWC_EVENT_PARTY_ANSWER, /* .party_answer: what came of a swc_party */
	SWC_EVENT_PARTY_INVITE, /* .party_invite: somebody invites one, or has declined */
	SWC_EVENT_PARTY_LIVE,   /* .party_live: how the members on one's map are */
	SWC_EVENT_UPDATE,       /* .update: positions have been brought up to this tick */
	SWC_EVENT_CORRECTED,    /* .corrected: the own character was moved */
	SWC_EVENT_DIALOGUE,     /* .dialogue; with a question: answer it with swc_answer */
	SWC_EVENT_QUESTS,       /* .quests: all that are open or done, or those that have changed */
	SWC_EVENT_ACTION_DENIED, /* .denied */
	SWC_EVENT_COMBAT,        /* .combat: a blow that one sees */
	SWC_EVENT_INVENTORY,     /* .inventory: all that the character has, anew */
	SWC_EVENT_MATCH,         /* .match: how the room's match stands */
	SWC_EVENT_CARDS,         /* .cards: choose one with swc_pick */
	SWC_EVENT_CARD_TAKEN,    /* .card_taken */
	SWC_EVENT_RESULT,        /* .result: the match is over */
	SWC_EVENT_CHAT_CHANNEL,  /* .chat_channel: one is in a channel, or has left it */
	SWC_EVENT_CHAT_LINE,     /* .chat_line: somebody has said something there, once */
	SWC_EVENT_CHAT_WHISPER,  /* .whisper: somebody whispers to one, once */
	SWC_EVENT_CHAT_DONE,     /* .chat_done: what one asked for was done */
	SWC_EVENT_CHAT_REFUSED,  /* .chat_refused: it was not */
	SWC_EVENT_ANNOUNCEMENT,  /* .announcement: the server's owners say something to all */
	SWC_EVENT_DISCONNECTED,  /* .disconnected; the last event */
};

/* What a queue does, docs/protocol.md: Queued. */
enum swc_queue_state {
	SWC_QUEUE_NONE,
	SWC_QUEUE_OPEN,       /* it moves */
	SWC_QUEUE_THROTTLED,  /* it moves, more slowly than it could */
	SWC_QUEUE_CLOSED,     /* nobody is let in now */
	SWC_QUEUE_FULL,       /* no server has room */
	SWC_QUEUE_AWAY,       /* it cannot be reached; no place is lost */
	SWC_QUEUE_REBUILDING, /* it is being put together again */
};
/* "the servers are full"; for a newer server's state "waiting". */
const char *swc_queue_text(uint32_t state);

#define SWC_PLACE_BYTES_MAX 192u

/* How a match stands, docs/protocol.md: MatchState. */
struct swc_match {
	uint32_t phase; /* enum swc_match_phase, or a newer server's */
	uint32_t left_ms, players;
	int32_t zone_x_mm, zone_y_mm;
	uint32_t zone_radius_mm, next_radius_mm, shrink_ms, damage_per_s;
};

enum swc_match_phase {
	SWC_MATCH_NONE,
	SWC_MATCH_WAITING,
	SWC_MATCH_COUNTDOWN,
	SWC_MATCH_FIGHT,
	SWC_MATCH_OVER
};

struct swc_card {
	uint32_t number;
	uint32_t attack, defence, health, speed_permille;
	char name[SWC_NAME_BYTES];
};

struct swc_rank {
	uint32_t place, actor_id;
	char name[SWC_NAME_BYTES];
};

enum swc_quest_phase { SWC_QUEST_NONE, SWC_QUEST_OPEN, SWC_QUEST_DONE };

/* How a quest stands, docs/protocol.md: Quest. */
struct swc_quest {
	uint32_t quest; /* its number */
	uint32_t phase; /* enum swc_quest_phase, or a newer server's */
	uint32_t step;
	uint32_t count;   /* kept */
	uint32_t pending; /* not kept yet */
	uint32_t need, item;
	uint32_t again_s; /* of one that is done: then it counts as NONE again; 0: never */
	const char *title, *text;
};

#define SWC_QUESTS_MAX  1024u
#define SWC_CHOICES_MAX 16u

#define SWC_CARDS_MAX 8u
#define SWC_RANKS_MAX 256u

/* Pointers are valid during the call only. Strings are UTF-8 with a final NUL; control characters
 * are left in, so filter before a terminal sees them. */
struct swc_event {
	enum swc_event_type type;
	union {
		struct {
			uint32_t state;    /* enum swc_queue_state, or a newer server's */
			uint32_t position; /* 1: next; 0: not known yet */
			uint32_t wait_ms;  /* estimated; 0: not known */
		} queued;
		struct {
			uint64_t character_id;
			const char *map, *node;
		} admitted;
		struct {
			const char *address; /* ip:port */
		} redirected;
		struct {
			uint32_t reason; /* enum sw_disconnect_reason; 0: no answer */
			const char *text;
		} came_back;
		struct {
			uint32_t reason; /* enum sw_disconnect_reason, or a newer server's */
			const char *text;
			uint32_t retry_after_ms; /* 0: not with this ticket */
		} refused;
		struct {
			uint32_t bits;        /* 2^bits hashes, on average */
			uint32_t good_for_ms; /* the answer is late after that */
			bool accepted;        /* false: more than proof_bits_max, so not done */
		} challenged;
		struct {
			const uint8_t *bytes;
			uint32_t count, good_for_s;
		} pass;
		struct {
			uint32_t level;
			int64_t gold, experience; /* kept: they survive whatever happens */
			int64_t gold_pending, experience_pending; /* earned, not kept yet */
			uint32_t appearance;
			uint32_t health, health_max;
		} detail;
		struct {
			uint32_t attacker; /* 0: nobody */
			uint32_t target;
			uint32_t damage;
			uint32_t health; /* that the target has left; 0: this killed it */
		} combat;
		struct {
			const struct swc_stack *stacks; /* [count] */
			uint32_t count;
		} inventory;
		struct {
			uint32_t trade;   /* its number: for what one says to it */
			uint32_t version; /* for swc_trade_confirm */
			uint32_t partner; /* actor id */
			enum swc_trade_phase phase;
			bool asked; /* SWC_TRADE_ASKED: the other one asked */
			struct swc_trade_side own, other;
		} trade;
		struct {
			uint32_t trade;
			uint32_t reason; /* TradeEndReason of client.proto; SWC_TRADE_DONE: carried
					    out */
			uint32_t partner;
			const char *text;
		} trade_ended;
		struct {
			uint64_t party, version, leader_id;
			const struct swc_party_member
				*members; /* [count]: who joined first first */
			uint32_t count;
			uint32_t change;     /* PartyChange of client.proto */
			uint64_t subject_id; /* whom it is about */
		} party;
		struct {
			uint64_t request;
			uint32_t act, result; /* PartyResult of client.proto; 0: it was done */
			const char *text;
		} party_answer;
		struct {
			uint64_t character_id; /* who invites; with declined: who was invited */
			const char *name;
			uint32_t left_ms; /* 0: the invitation is over */
			bool declined;
		} party_invite;
		struct {
			uint64_t party;
			const struct swc_party_live *members; /* [count] */
			uint32_t count;
		} party_live;
		const struct swc_actor *actor;
		struct {
			uint32_t tick, entities;
		} update;
		struct {
			int32_t from_x_mm, from_y_mm, to_x_mm, to_y_mm;
		} corrected;
		struct {
			uint32_t actor_id;
			const char *text;
			uint32_t question; /* 0: no answer is waited for */
			uint32_t choices;
			const char *const *choice; /* [choices]; numbered from 1 */
		} dialogue;
		struct {
			bool all; /* these are all; else those that have changed */
			uint32_t count;
			const struct swc_quest *quest; /* [count] */
		} quests;
		struct {
			uint32_t action; /* message type, proto/message_types.h */
			uint32_t reason; /* ActionRefusal of client.proto */
			const char *text;
		} denied;
		struct swc_match match;
		struct {
			uint32_t offer, left_ms, count;
			const struct swc_card *card; /* [count] */
		} cards;
		struct {
			uint32_t offer, card; /* its number */
			bool by_default;
		} card_taken;
		struct {
			bool draw;
			uint32_t count;
			const struct swc_rank *rank; /* [count], the first place first */
		} result;
		struct {
			uint64_t channel; /* its number, for what one says in it */
			uint32_t kind;    /* enum swc_channel_kind, or a newer server's */
			bool left;
			bool owner_changed; /* what was said last may be missing */
			const char *name;   /* for a person; may be empty */
			uint32_t slow_ms;   /* each may say one line in this time; 0: at will */
			uint32_t count;
			const struct swc_line *history; /* [count]: what was said last, oldest
							 * first; may be known already */
		} chat_channel;
		struct {
			uint64_t channel;
			uint64_t missed; /* lines before this one that did not come */
			bool owner_changed;
			struct swc_line line;
		} chat_line;
		struct swc_line whisper;
		struct {
			uint64_t request;
			uint64_t token, sequence; /* of what one said; otherwise 0 */
		} chat_done;
		struct {
			uint64_t request;
			uint32_t reason; /* ChatRefusal of client.proto */
			const char *text;
			uint32_t retry_after_ms; /* 0: not known */
		} chat_refused;
		struct {
			uint64_t number, unix_ms;
			const char *text;
		} announcement;
		struct {
			uint32_t reason; /* enum sw_disconnect_reason; 0 if timed_out or we left */
			const char *text;
			bool timed_out; /* no answer, or the server fell silent */
			bool by_us;     /* with timed_out: the server did not confirm our leave */
		} disconnected;
	};
};

/* Called inside swc_service, on its thread. It may call anything here but swc_service and
 * swc_close of the same client. */
typedef void swc_event_fn(void *ctx, struct swc_client *client, const struct swc_event *event);

struct swc_config {
	const char *address; /* IPv4 in dots, or a name (then swc_open may block on DNS) */
	uint16_t port;
	const uint8_t *ticket;       /* a SignedTicket; copied */
	uint32_t ticket_bytes;       /* up to SWC_TICKET_BYTES_MAX; 0: none, there is a pass */
	const uint8_t *pass;         /* of an earlier connection (PASS); copied; or NULL */
	uint32_t pass_bytes;         /* up to SWC_PASS_BYTES_MAX. It is looked at first; a ticket
				      * beside it serves if it is not good any more */
	uint32_t proof_bits_max;     /* most work it does when asked (2^n hashes); 0: 22, about two
				      * seconds. UINT32_MAX: none */
	const uint8_t *place; /* swc_place of a connection that broke in the queue; copied; or NULL */
	uint32_t place_bytes; /* at most SWC_PLACE_BYTES_MAX */
	const char *client_build;    /* free text for the server's log, at most 63 bytes; or NULL */
	uint32_t protocol_version;   /* 0: the one this library speaks */
	uint32_t connect_timeout_ms; /* until JOINED, without the time in the queue; 0: 15,000 */
	uint32_t actors_max;         /* most in view; 0: 16,384 */
	bool checksum;               /* ENet's CRC-32, if the server has it on */
	bool stays;                  /* follows no redirect: it waits for room where it is */
	swc_event_fn *on_event;      /* may be NULL */
	void *ctx;
};

/* Begins to connect. On success *client is to be closed with swc_close. Returns
 *   -EINVAL        a field outside the ranges above
 *   -ENOMEM        no memory, or no socket
 *   -EHOSTUNREACH  address is not known */
int swc_open(const struct swc_config *config, struct swc_client **client);

/* Frees it. Whoever is still connected vanishes at once, with one unreliable word to the server;
 * call swc_leave first and wait for SWC_CLOSED to leave in good order. NULL is fine. */
void swc_close(struct swc_client *client);

/* Receives, makes the inputs that are due (tick_hz a second), sends. Call it when swc_fd is
 * readable and at the latest at swc_due_ns. now_ns is monotonic. Never blocks. Returns the state.
 */
enum swc_state swc_service(struct swc_client *client, uint64_t now_ns);

/* The newest pass that the server gave, also after the end, until swc_close; NULL: none. It lets
 * the character in again once, on any node, as long as PASS said: keep it to oneself like a
 * password. */
const uint8_t *swc_pass(const struct swc_client *client, uint32_t *bytes);

/* The UDP socket, for poll and epoll: readable when swc_service has something to receive. */
int swc_fd(const struct swc_client *client);

/* When swc_service should run even if nothing arrives. */
uint64_t swc_due_ns(const struct swc_client *client);

/* --- walls: a map's file, so that prediction stops where the server does ---
 *
 * A ground is read from the map's file in Tiled's JSON format, the same that the server has. It is
 * immutable: clients and threads may share one. */

/* Returns 0, -EINVAL where the file is refused, -ENOMEM or -errno where it cannot be read; why, a
 * line each fault, is in error, which may be NULL. */
int swc_ground_load(const char *path, struct swc_ground **ground, char *error, size_t error_bytes);

/* The same from memory; name stands for the file in faults. Its tilesets are all in it. */
int swc_ground_parse(const void *bytes, size_t count, const char *name, struct swc_ground **ground,
	char *error, size_t error_bytes);

/* After the last client that uses it is closed. NULL is fine. */
void swc_ground_free(struct swc_ground *ground);

uint64_t swc_ground_hash(const struct swc_ground *ground);
bool swc_ground_solid_at(const struct swc_ground *ground, int32_t x_mm, int32_t y_mm);

/* A portal of a map: it takes whoever walks into its rectangle, ends included. */
struct swc_portal {
	char name[SWC_NAME_BYTES], target_map[SWC_NAME_BYTES];
	int32_t x0_mm, y0_mm, x1_mm, y1_mm;
};

/* index < swc_ground_portals(); false beyond. */
uint32_t swc_ground_portals(const struct swc_ground *ground);
bool swc_ground_portal(const struct swc_ground *ground, uint32_t index, struct swc_portal *portal);

/* Whether nothing solid lies on the straight line between two positions, as the server sees it. */
bool swc_ground_sight(const struct swc_ground *ground, int32_t x0_mm, int32_t y0_mm, int32_t x1_mm,
	int32_t y1_mm);

/* Gives the client a ground that it may come to. On each map it uses the one that has the map's
 * hash, also at once on the map that it is on. The ground is kept until swc_close, not copied.
 * Returns -ENOSPC after SWC_GROUNDS_MAX. */
int swc_use_ground(struct swc_client *client, const struct swc_ground *ground);

/* The ground of the map that the client is on; NULL without walls, or where they are not known. */
const struct swc_ground *swc_ground(const struct swc_client *client);

/* Walk in this direction from the next tick on, until told otherwise; (0, 0) stands still. Each
 * axis -127..127; a length over 127 is shortened. Full speed is length 127. */
void swc_walk(struct swc_client *client, int dx, int dy);

/* Click an actor (an NPC). The answer is a DIALOGUE or an ACTION_DENIED event. Returns -ENOTCONN
 * before JOINED and after the end. */
int swc_click(struct swc_client *client, uint32_t actor_id);

/* Answer a question that a DIALOGUE event brought: choice from 1, 0 for none of them. -ENOTCONN
 * likewise. */
int swc_answer(struct swc_client *client, uint32_t question, uint32_t choice);

/* Give a quest up, by its number. The answer is a QUESTS event or an ACTION_DENIED. -ENOTCONN
 * likewise. */
int swc_abandon(struct swc_client *client, uint32_t quest);

/* Strike an actor (a monster) once. Others see it as a COMBAT event; or an ACTION_DENIED comes.
 * Returns -ENOTCONN before JOINED and after the end. */
int swc_attack(struct swc_client *client, uint32_t actor_id);

/* Take loot from the ground; move count (0: all) things between slots; put count things on the
 * ground. What has changed comes as an INVENTORY event, else an ACTION_DENIED. -ENOTCONN likewise.
 */
int swc_pick_up(struct swc_client *client, uint32_t actor_id);
int swc_move_item(struct swc_client *client, uint32_t from, uint32_t to, uint32_t count);
int swc_drop_item(struct swc_client *client, uint32_t slot, uint32_t count);

/* Trade with a player: ask (or accept, when it has asked), offer count of what lies in a slot of
 * the bag (0: take it back) and gold, and confirm the version of the offers that one has seen; each
 * change clears both confirmations. What comes of it are TRADE events and in the end a TRADE_ENDED,
 * or an ACTION_DENIED. -ENOTCONN likewise. */
int swc_trade_ask(struct swc_client *client, uint32_t actor_id);
int swc_trade_offer(struct swc_client *client, uint32_t trade, uint32_t slot, uint32_t count);
int swc_trade_offer_gold(struct swc_client *client, uint32_t trade, int64_t gold);
int swc_trade_confirm(struct swc_client *client, uint32_t trade, uint32_t version);
int swc_trade_cancel(struct swc_client *client, uint32_t trade); /* or decline */

/* Change one's party: docs/protocol.md, PartyRequest. character_id or name (INVITE only; else NULL)
 * say whom it is about. request is a number never used before, drawn at random; whoever asks again
 * with the same one, after a break of the connection or the answer UNAVAILABLE (13), does it at
 * most once. A PARTY_ANSWER follows, and PARTY when something has changed. Returns -EINVAL for
 * request 0 or a name of more than 31 bytes, -ENOTCONN likewise. */
int swc_party(struct swc_client *client, uint64_t request, enum swc_party_act act,
	uint64_t character_id, const char *name);

/* Chat: docs/protocol.md. request is a number of one's own, which CHAT_DONE or CHAT_REFUSED gives
 * back; 0: only a refusal is told. Channels are named by the number that a CHAT_CHANNEL event gave.
 * All return -ENOTCONN before JOINED and after the end, -EINVAL for a text of more than
 * SWC_SAY_BYTES_MAX or a name of more than 31 bytes. */
int swc_say(struct swc_client *client, uint64_t request, uint64_t channel, const char *text);
/* To one: by character_id or, where that is 0, by name. */
int swc_whisper(struct swc_client *client, uint64_t request, uint64_t character_id,
	const char *name, const char *text);
int swc_channel_join(struct swc_client *client, uint64_t request, enum swc_channel_kind kind,
	const char *name);
int swc_channel_part(struct swc_client *client, uint64_t request, uint64_t channel);
/* Take no more whispers from somebody, or again. */
int swc_block(struct swc_client *client, uint64_t request, uint64_t character_id, bool unblock);
/* Show a line (channel 0: a whisper) to the moderators. */
int swc_chat_report(struct swc_client *client, uint64_t request, uint64_t channel, uint64_t token,
	uint64_t sequence, const char *why);
/* Ask for what was announced after this number. */
int swc_announcements(struct swc_client *client, uint64_t request, uint64_t after);

/* Choose a card of the offer that a CARDS event brought. The answer is CARD_TAKEN or ACTION_DENIED.
 * Returns -ENOTCONN before JOINED and after the end. */
int swc_pick(struct swc_client *client, uint32_t offer, uint32_t card);

/* Leave in good order: what was sent before is delivered, then ENet disconnects. DISCONNECTED
 * follows. Calling it again does nothing. */
void swc_leave(struct swc_client *client);

/* The place in the queue that the server gave: to be shown with the next connection, should this one
 * break before ADMITTED, also to another server of the game. NULL: none. Valid until swc_close. */
const uint8_t *swc_place(const struct swc_client *client, uint32_t *bytes);

enum swc_state swc_state(const struct swc_client *client);
const struct swc_self *swc_self(const struct swc_client *client);

/* rtt is brought up to date by the call. Valid until swc_close. */
const struct swc_stats *swc_stats(struct swc_client *client);

/* Actors in view, without oneself, in no order: 0 ≤ index < swc_actors(). The pointers are valid
 * until the next swc_service. find: NULL if not in view. */
uint32_t swc_actors(const struct swc_client *client);
const struct swc_actor *swc_actor_at(const struct swc_client *client, uint32_t index);
const struct swc_actor *swc_actor_find(const struct swc_client *client, uint32_t actor_id);

/* For a person: the text of an enum sw_disconnect_reason or an ActionRefusal; never NULL. */
const char *swc_reason_text(uint32_t reason);
const char *swc_denied_text(uint32_t reason);
const char *swc_trade_end_text(uint32_t reason);
/* The same of a PartyResult, and what a PartyChange says of its subject ("has joined"). */
const char *swc_party_result_text(uint32_t result);
const char *swc_party_change_text(uint32_t change);
/* The same of a ChatRefusal. */
const char *swc_chat_refusal_text(uint32_t reason);
/* The short name of a reason ("TICKET_USED"); never NULL. */
const char *swc_reason_name(uint32_t reason);
/* ... of an ActionRefusal and of a TradeEndReason, as client.proto has them: "TOO_FAR", "END_DONE".
 */
const char *swc_denied_name(uint32_t reason);
const char *swc_trade_end_name(uint32_t reason);
/* ... of a ChatRefusal: "CHAT_MUTED". */
const char *swc_chat_refusal_name(uint32_t reason);

/* --- before one connects: is the node there, does it take players, how far is it? ---
 *
 *	struct swc_probe *probe;
 *	int error = swc_probe_open("10.0.0.1", 7777, &probe);
 *	while (!swc_probe_service(probe, now_ns))
 *		poll(...swc_probe_fd(probe)..., until swc_probe_due_ns(probe));
 *	if (swc_probe_result(probe)->state == SWC_NODE_READY)
 *		...swc_probe_result(probe)->rtt_ns...
 *	swc_probe_close(probe);
 *
 * SWC_PROBES probes one after the other, each waited for half a second and repeated once; the
 * result is the median of those answered. Over IPv4 or IPv6. Many may run side by side, one for
 * each node to choose from. Nothing of it is a login, and no answer is proof of who sent it. */
#define SWC_PROBES 3u

/* The first four as the node says (docs/protocol.md). */
enum swc_node_state {
	SWC_NODE_CLOSED, /* lets nobody in now; also a state this library does not know */
	SWC_NODE_READY,
	SWC_NODE_DRAINING,
	SWC_NODE_FULL,
	SWC_NODE_SILENT, /* no answer to any probe */
};

struct swc_probe_result {
	enum swc_node_state state; /* by the last answer */
	uint32_t answers;          /* 0..SWC_PROBES */
	uint64_t rtt_ns;           /* their median; of two, the shorter */
};

struct swc_probe;

/* address: IPv4, IPv6 or a name (then it may block on DNS). Returns -EINVAL (empty address, port
 * 0), -ENOMEM, or -EHOSTUNREACH (not known, or no route). */
int swc_probe_open(const char *address, uint16_t port, struct swc_probe **probe);
void swc_probe_close(struct swc_probe *probe); /* NULL is fine */

/* Call it when swc_probe_fd is readable and at swc_probe_due_ns. now_ns is monotonic; the round
 * trip ends with the call that finds the answer. Never blocks. True: it is done. */
bool swc_probe_service(struct swc_probe *probe, uint64_t now_ns);
int swc_probe_fd(const struct swc_probe *probe);
uint64_t swc_probe_due_ns(const struct swc_probe *probe); /* UINT64_MAX: done */

/* So far; valid until swc_probe_close. */
const struct swc_probe_result *swc_probe_result(const struct swc_probe *probe);

/* For a person: "takes players", "is full"; never NULL. */
const char *swc_node_state_text(enum swc_node_state state);

#endif
