/* fake_server.h: for tests only. A little server on stock libenet that speaks docs/protocol.md, so
 *that the client library and the bot can be tried without DPDK, Redis or PostgreSQL.
 *
 * Everyone sees everyone. A ticket is plain text and decides what happens:
 *	"N"         admitted as character N, joins where N was last (or the middle)
 *	"refuse R"  Refused with reason R, then disconnected with it
 *	"silent"    never answered
 *	"used N"    as N, but only once per fake server
 *	"redirect P N"  is sent to port P of this host, with the pass of N; when that fails, it
 *		joins as N here
 *	"work B N"  as N, after a proof of work of B bits
 * A pass is plain text, too: "pass N" after N has joined once; another one is refused.
 * One thread. Loopback only, an ephemeral port. */
#ifndef SWC_FAKE_SERVER_H
#define SWC_FAKE_SERVER_H

#include <stdbool.h>
#include <stdint.h>

#include <enet/enet.h>

#include "simulation/rules/move.h"

#define FAKE_PEERS      64
#define FAKE_CHARACTERS 256
#define FAKE_NPC        9000u /* an actor that answers clicks; stands at the middle */
#define FAKE_TICK_HZ    20u

struct fake_player {
	bool playing;
	uint32_t character, actor_id, input_applied, view_sequence;
	struct sw_move_state at;
};

struct fake_server {
	ENetHost *host;
	uint16_t port;
	uint32_t tick, actor_next;
	struct sw_move_map map;
	struct fake_player players[FAKE_PEERS]; /* by ENet peer slot */
	struct sw_move_state saved[FAKE_CHARACTERS];
	bool known[FAKE_CHARACTERS], used[FAKE_CHARACTERS], joined[FAKE_CHARACTERS];
	uint32_t hellos, inputs, clicks, leaves, connect_data, works, passes;
	bool circle; /* every pass is answered with a redirect to this server */
	bool mute;   /* no Hello is answered */
	ENetPeer *redirected; /* who was sent away last, as which character, and how it came back */
	unsigned redirected_as;
	uint32_t redirects_failed, redirect_reason;
	uint32_t skip_view_changes; /* so many are numbered but not sent: lost reliable messages */
	int32_t push_mm;            /* added to everyone's x at the next tick: a disagreement */
};

bool fake_open(struct fake_server *server);
void fake_close(struct fake_server *server);

/* Takes in and answers what has come. */
/* Who was sent away last joins here, unasked. */
void fake_take_back(struct fake_server *server);
void fake_service(struct fake_server *server);
/* One tick: a WorldUpdate to everyone. */
void fake_tick(struct fake_server *server);
/* Raw bytes to everyone. */
void fake_send_all(struct fake_server *server, uint8_t channel, bool reliable, const void *bytes,
	size_t count);
/* Everyone out, with this reason. */
void fake_stop(struct fake_server *server, uint32_t reason);

#endif
