/* session.h: one client's side of docs/protocol.md without a socket.
 *
 * Packets go in (swc_session_receive), ticks go in (swc_session_tick), events and packets come out
 * through two calls. Pure: no clock, no ENet. swc_client (stormweir.c) puts ENet and time under it;
 * tests feed it bytes. One thread. */
#ifndef SWC_SESSION_H
#define SWC_SESSION_H

#include "client/ground.h"
#include "client/chat.h"
#include "client/pace.h"
#include "client/prediction.h"
#include "client/proof.h"
#include "client/stormweir.h"
#include "client/view.h"

struct swc_session_ops {
	void *ctx;
	/* Takes one packet to the server; bytes are copied by the callee. */
	void (*send)(
		void *ctx, uint8_t channel, bool reliable, const uint8_t *packet, uint32_t bytes);
	void (*event)(void *ctx, const struct swc_event *event);
};

/* What the client shows at the door; borrowed until the session is admitted or ends. */
struct swc_hello {
	uint32_t protocol_version;
	const uint8_t *ticket, *pass; /* one of them may be NULL */
	uint32_t ticket_bytes, pass_bytes;
	const char *client_build;
	bool stays; /* follows no Redirect */
};

struct swc_session {
	enum swc_state state;
	struct swc_hello hello;
	struct swc_proof proof;
	uint32_t proof_bits_max; /* most work that it does; set by who owns the session */
	uint32_t proof_ms;       /* how long the answer is good for, from when it was asked */
	bool challenged;
	uint8_t pass[SWC_PASS_BYTES_MAX]; /* the newest that it was given */
	uint32_t pass_bytes;
	/* trial: it was sent here by another node, which it can go back to; then a refusal is not the
	 * end of it, and stands in trial_refused. */
	bool trial;
	uint32_t trial_refused;
	/* Another node waits for it, until who owns the session has gone there. */
	struct {
		bool wanted;
		char host[16]; /* IPv4 */
		uint16_t port;
		uint8_t pass[SWC_PASS_BYTES_MAX];
		uint32_t pass_bytes;
	} redirect;
	struct swc_self self;
	struct swc_view view;
	struct swc_prediction prediction;
	struct swc_pace pace;
	struct swc_stats stats;
	struct swc_session_ops ops;
	int8_t walk_dx, walk_dy;
	bool joined;
	uint32_t stay;                                     /* Joined.stay, for what is sent */
	const struct swc_ground *grounds[SWC_GROUNDS_MAX]; /* that it may come to */
	uint32_t ground_count;
	const struct swc_ground *ground; /* of the map that it is on; NULL: none, or unknown */
	uint32_t input_tries;            /* batches sent since the last new input */
	uint32_t view_sequence;          /* of the last ViewChange of this stay */
	uint32_t view_stay;              /* the stay that the view belongs to; maybe the next one */
	struct swc_chat chat;
	uint64_t party_version;          /* of the last PartyState taken */
	uint8_t place[SWC_PLACE_BYTES_MAX]; /* of the last Queued that had one */
	uint32_t place_bytes;
	uint32_t refused_reason;
	char refused_text[256]; /* empty: none came */
};

/* ops is copied. */
void swc_session_init(
	struct swc_session *session, const struct swc_session_ops *ops, uint32_t actors_max);
void swc_session_free(struct swc_session *session);

/* ENet is connected: sends Hello, state ADMITTING. A place of an earlier connection may stand in
 * session->place. */
void swc_session_connected(struct swc_session *session, const struct swc_hello *hello);

/* It is back from where it was sent (redirect), which has refused it for that reason; 0: or has not
 * answered. */
void swc_session_redirect_failed(struct swc_session *session, uint32_t reason);

/* Works at what the server has asked for (proof.wanted), so many hashes; sends the answer. */
void swc_session_work(struct swc_session *session, uint32_t hashes);

/* A message to the server: at most 2 KiB of it. */
struct ProtobufCMessage;
void swc_session_send(struct swc_session *session, uint8_t channel, bool reliable, uint8_t type,
	const struct ProtobufCMessage *message);

/* A packet came. Malformed ones are counted in stats.refused. */
void swc_session_receive(
	struct swc_session *session, uint8_t channel, const uint8_t *packet, size_t bytes);

/* One client tick while PLAYING: makes and sends what input there is. The next one is due after the
 * interval, which is 1/self.tick_hz or a little more (pace.h). */
void swc_session_tick(struct swc_session *session);
uint64_t swc_session_interval_ns(const struct swc_session *session);

/* Copies the predicted position into self; session.c and session_receive.c use it. */
void swc_session_self_predicted(struct swc_session *session);

/* False: it has SWC_GROUNDS_MAX. */
bool swc_session_use_ground(struct swc_session *session, const struct swc_ground *ground);

/* Looks for the ground that self.ground_hash names, and sets walls, ground and prediction. */
void swc_session_find_ground(struct swc_session *session);

void swc_session_walk(struct swc_session *session, int dx, int dy);
void swc_session_click(struct swc_session *session, uint32_t actor_id);
void swc_session_answer(struct swc_session *session, uint32_t question, uint32_t choice);
void swc_session_abandon(struct swc_session *session, uint32_t quest);
void swc_session_pick(struct swc_session *session, uint32_t offer, uint32_t card);
void swc_session_attack(struct swc_session *session, uint32_t actor_id);
void swc_session_pick_up(struct swc_session *session, uint32_t actor_id);
void swc_session_move_item(struct swc_session *session, uint32_t from, uint32_t to, uint32_t count);
void swc_session_drop_item(struct swc_session *session, uint32_t slot, uint32_t count);
void swc_session_trade_ask(struct swc_session *session, uint32_t actor_id);
/* kind: TradeOfferKind */
void swc_session_trade_offer(
	struct swc_session *session, uint32_t trade, int kind, uint32_t slot, int64_t amount);
void swc_session_trade_confirm(struct swc_session *session, uint32_t trade, uint32_t version);
void swc_session_trade_cancel(struct swc_session *session, uint32_t trade);
/* act: PartyAct; name may be NULL */
void swc_session_party(struct swc_session *session, uint64_t request, int act,
	uint64_t character_id, const char *name);

#endif
