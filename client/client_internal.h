/* client_internal: a client on its sockets, and what its parts use of each other: stormweir.c (the
 * connection) and redirect.c (from one node to another). Thread: the client's. */
#ifndef SW_CLIENT_CLIENT_INTERNAL_H
#define SW_CLIENT_CLIENT_INTERNAL_H

#include <enet/enet.h>

#include "client/session.h"

#define NS_PER_MS 1000000ull

struct swc_client {
	struct swc_session session;
	ENetHost *host;
	ENetPeer *peer; /* NULL once closed */
	/* A redirect (redirect.c): to the node where it is sent, until that is connected; and to the
	 * one that sent it, which it can go back to as long as it is not let in, and then leaves. */
	ENetPeer *next, *back;
	uint32_t redirects;
	uint64_t redirect_deadline_ns; /* of the first answer there */
	swc_event_fn *on_event;
	void *ctx;
	uint64_t service_ns; /* of the last swc_service; 0 before the first */
	uint64_t tick_ns;    /* when the next input is due, while PLAYING */
	uint64_t connect_deadline_ns, leave_deadline_ns;
	uint64_t proof_deadline_ns; /* 0: no work was asked for yet */
	uint32_t connect_timeout_ms;
	struct swc_hello hello; /* into the bytes below */
	bool sent;
	uint8_t ticket[SWC_TICKET_BYTES_MAX], pass[SWC_PASS_BYTES_MAX];
	char client_build[64];
};

/* stormweir.c */
void swc_client_closed(struct swc_client *client, uint32_t reason, bool timed_out);

/* redirect.c. Goes where the session was sent, and back if it is not let in there. */
void swc_redirect_tick(struct swc_client *client, uint64_t now_ns);
/* A peer is connected: client->peer is that one from now on. */
void swc_redirect_connected(struct swc_client *client, const ENetPeer *peer);
/* Whether the session is to read what this peer sends. */
bool swc_redirect_hears(struct swc_client *client, const ENetPeer *peer);
/* False: it was the end of the client. */
bool swc_redirect_disconnected(struct swc_client *client, const ENetPeer *peer, uint32_t reason);
/* All but client->peer are let go. */
void swc_redirect_end(struct swc_client *client);

#endif
