/* From a node that is full to one that has room. The connection to the first stays until the second
 * has let the client in: if that does not answer, or refuses, the client waits at the first again,
 * where it stood, and says so. */
#include <string.h>

#include "client/client_internal.h"
#include "proto/client.pb-c.h"
#include "proto/message_types.h"

#define REDIRECTS_MAX 4u    /* nodes may send one in a circle */
#define ANSWER_MS     5000u /* a node that lives answers at once; the place is kept for longer */

static void let_go(ENetPeer **peer)
{
	if (*peer)
		enet_peer_disconnect_now(*peer, SW_REASON_NONE);
	*peer = NULL;
}

void swc_redirect_end(struct swc_client *client)
{
	let_go(&client->next);
	let_go(&client->back);
	client->session.redirect.wanted = false;
	client->session.trial = false;
}

/* It waits where it was sent from; silent: that one knows it already. */
static void go_back(struct swc_client *client, uint32_t reason, bool silent)
{
	struct swc_event event = {.type = SWC_EVENT_CAME_BACK};

	let_go(&client->next);
	if (client->back) {
		let_go(&client->peer);
		client->peer = client->back;
		client->back = NULL;
	}
	client->session.trial = false;
	client->session.trial_refused = SW_REASON_NONE;
	client->session.state = SWC_QUEUED;
	client->connect_deadline_ns =
		client->service_ns + client->connect_timeout_ms * NS_PER_MS;
	if (!silent)
		swc_session_redirect_failed(&client->session, reason);
	event.came_back.reason = reason;
	event.came_back.text =
		reason ? swc_reason_text(reason) : "no answer from the other server";
	client->session.ops.event(client->session.ops.ctx, &event);
}

static void begin(struct swc_client *client, uint64_t now_ns)
{
	struct swc_session *session = &client->session;
	ENetAddress address = {.port = session->redirect.port};
	uint32_t wait_ms =
		client->connect_timeout_ms < ANSWER_MS ? client->connect_timeout_ms : ANSWER_MS;

	session->redirect.wanted = false;
	if (session->trial) /* the first one is not asked for anything any more */
		let_go(&client->back);
	session->trial = false;
	if (client->redirects++ < REDIRECTS_MAX &&
		!enet_address_set_host_ip(&address, session->redirect.host))
		client->next = enet_host_connect(
			client->host, &address, SW_CHANNELS, client->hello.protocol_version);
	if (!client->next) {
		go_back(client, SW_REASON_NONE, false);
		return;
	}
	client->redirect_deadline_ns = now_ns + wait_ms * NS_PER_MS;
	client->connect_deadline_ns = now_ns + client->connect_timeout_ms * NS_PER_MS;
	client->hello.ticket_bytes = 0;
	client->hello.pass_bytes = session->redirect.pass_bytes;
	memcpy(client->pass, session->redirect.pass, session->redirect.pass_bytes);
	client->sent = true;
}

void swc_redirect_connected(struct swc_client *client, const ENetPeer *peer)
{
	if (peer != client->next)
		return;
	client->back = client->peer;
	client->peer = client->next;
	client->next = NULL;
	client->session.trial = client->back != NULL;
}

bool swc_redirect_hears(struct swc_client *client, const ENetPeer *peer)
{
	if (peer == client->peer && client->next) {
		go_back(client, SW_REASON_NONE, true); /* it has us in its queue again */
		return true;
	}
	if (peer == client->back && client->session.trial &&
		client->session.state == SWC_ADMITTING) {
		go_back(client, SW_REASON_NONE, true);
		return true;
	}
	return peer == client->peer;
}

bool swc_redirect_disconnected(struct swc_client *client, const ENetPeer *peer, uint32_t reason)
{
	if (peer == client->back) {
		client->back = NULL;
		client->session.trial = false;
		return true;
	}
	if (peer == client->next) {
		client->next = NULL;
		if (client->peer)
			go_back(client, reason, false);
		return client->peer != NULL;
	}
	if (client->next) { /* it may have its place at the other one */
		client->peer = client->next;
		client->next = NULL;
		return true;
	}
	if (!client->session.trial)
		return false;
	client->peer = NULL;
	go_back(client, reason, false);
	return true;
}

void swc_redirect_tick(struct swc_client *client, uint64_t now_ns)
{
	struct swc_session *session = &client->session;

	if (session->trial && session->trial_refused)
		go_back(client, session->trial_refused, false);
	else if (session->trial && session->state >= SWC_LOADING && session->state <= SWC_PLAYING) {
		session->trial = false;
		enet_peer_disconnect_later(client->back, SW_REASON_NONE);
		client->sent = true;
	} else if ((client->next || (session->trial && session->state == SWC_ADMITTING)) &&
		   now_ns >= client->redirect_deadline_ns) {
		go_back(client, SW_REASON_NONE, false);
	}
	if (session->redirect.wanted && client->peer && !client->next)
		begin(client, now_ns);
}
