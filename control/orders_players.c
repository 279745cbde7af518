/* Orders about players and their parties. */
#include <inttypes.h>
#include <stdio.h>
#include <string.h>

#include "common/handle.h"
#include "common/mono.h"
#include "control/orders_internal.h"

static bool player_of(
	struct ctl *ctl, const struct order *order, uint64_t now_ns, struct adm_player *player)
{
	if (adm_player(ctl->adm, order->word[1], now_ns, player))
		return true;
	order_answer(ctl, order, ORDER_REFUSED, "no player %s is on this node", order->word[1]);
	return false;
}

void order_kick(struct ctl *ctl, const struct order *order, uint64_t now_ns)
{
	struct adm_player player;

	if (!player_of(ctl, order, now_ns, &player))
		return;
	if (adm_kick(ctl->adm, player.session, now_ns))
		order_answer(ctl, order, ORDER_DONE,
			"%s (character %" PRIu64 ") is saved and disconnected", player.name,
			player.character_id);
	else
		order_answer(ctl, order, ORDER_REFUSED, "%s is leaving already (session %s)",
			player.name, player.state);
}

static void place_text(
	const struct ctl *ctl, const struct adm_player *player, char *text, size_t bytes)
{
	uint32_t definition = instance_definition(ctl->config, instance_slot(player->instance));

	if (player->instance == INSTANCE_NONE || definition >= ctl->config->map_count)
		snprintf(text, bytes, "on no map");
	else
		snprintf(text, bytes, "%s, instance %u.%u, shard %u",
			ctl->config->maps[definition].name, instance_slot(player->instance),
			instance_generation(player->instance), player->shard);
}

void order_player(struct ctl *ctl, const struct order *order, uint64_t now_ns)
{
	struct msg_writes_query query = {.request = order->id};
	struct kept_order *kept;
	struct adm_player who;
	struct msg message;
	char place[128];

	if (!player_of(ctl, order, now_ns, &who))
		return;
	kept = order_keep(
		ctl, order, now_ns, "not saved     not known: the world thread did not say", true);
	if (!kept)
		return;
	place_text(ctl, &who, place, sizeof(place));
	snprintf(kept->text, sizeof(kept->text),
		"character     %" PRIu64 " %s, account %" PRIu64 ", realm %u\n"
		"session       %s for %" PRIu64 " s, %s, handle %016" PRIx64 ", peer %016" PRIx64
		"\n"
		"place         %s, %u maps before it\n"
		"epoch         %" PRIu64 "\n",
		who.character_id, who.name, who.account_id, who.realm_id, who.state,
		(uint64_t)(who.since_ns / NS_PER_S), who.connected ? "connected" : "peer gone",
		who.session, who.peer, place, who.stay, who.epoch);
	query.character_id = who.character_id;
	query.realm_id = who.realm_id;
	memcpy(msg_begin(&message, MSG_WRITES_QUERY, HANDLE_NONE, sizeof(query)), &query,
		sizeof(query));
	ctl_push(ctl, ctl_world_outbox(ctl), &message);
}

void orders_writes(struct ctl *ctl, const struct msg *message)
{
	struct msg_writes_result body;
	struct kept_order *kept;
	char text[256];

	if (!ctl_fits(ctl, message, sizeof(body)))
		return;
	memcpy(&body, msg_payload(message), sizeof(body));
	snprintf(text, sizeof(text), "not saved     %u commits, %s%s%s", body.commits,
		body.saves ? "a position" : "no position",
		body.links < body.links_max ? "; PostgreSQL is away, see /health" : "",
		!body.commits && !body.saves ? " (what its shard still keeps is not counted)" : "");
	kept = order_kept(ctl, body.request);
	if (kept)
		order_kept_end(ctl, kept, ORDER_DONE, text);
}

/* ---- party ---- */

void order_party(struct ctl *ctl, const struct order *order, uint64_t now_ns)
{
	if (order_keep(ctl, order, now_ns, "Redis did not answer in time", false))
		party_look(ctl->party, order->word[1], order->id, now_ns);
}

/* Where a member is: what its party knows of it, and more if it plays on this node. */
static void member_text(
	struct ctl *ctl, const struct party_view_member *member, char *text, size_t bytes)
{
	struct adm_player here;
	char id[24], place[128], map[MAP_NAME_BYTES + 4] = "";

	if (member->map[0])
		snprintf(map, sizeof(map), " on %s", member->map);
	snprintf(id, sizeof(id), "%" PRIu64, member->character_id);
	if (member->away_ms) {
		snprintf(text, bytes, "away for %" PRIu64 " s, was%s", member->away_ms / 1000,
			map[0] ? map : " nowhere yet");
	} else if (adm_player(ctl->adm, id, mono_ns(), &here) &&
		   here.character_id == member->character_id) {
		place_text(ctl, &here, place, sizeof(place));
		snprintf(text, bytes, "%s", place);
	} else {
		snprintf(text, bytes, "on another node%s, last said %" PRIu64 " s ago", map,
			member->seen_ms / 1000);
	}
}

void orders_looked(void *ctx, uint64_t request, enum party_look look, const struct party_view *view)
{
	struct ctl *ctl = ctx;
	struct kept_order *kept = order_kept(ctl, request);
	char place[192], line[288];
	size_t at, bytes;

	if (!kept)
		return; /* answered at its deadline */
	if (look != PARTY_LOOK_FOUND) {
		order_kept_end(ctl, kept,
			look == PARTY_LOOK_NONE ? ORDER_REFUSED : ORDER_UNAVAILABLE,
			party_look_text(look));
		return;
	}
	at = (size_t)snprintf(kept->text, sizeof(kept->text),
		"party         %" PRIu64 ", version %" PRIu64 ", %u members\n", view->party_id,
		view->version, view->member_count);
	for (uint32_t i = 0; i < view->member_count; i++) {
		const struct party_view_member *m = &view->members[i];

		member_text(ctl, m, place, sizeof(place));
		bytes = (size_t)snprintf(line, sizeof(line), "%-13s %" PRIu64 " %s, %s\n",
			m->character_id == view->leader_id ? "leader" : "member", m->character_id,
			m->name, place);
		if (at + bytes + sizeof("and 40 more\n") > sizeof(kept->text)) {
			snprintf(kept->text + at, sizeof(kept->text) - at, "and %u more\n",
				view->member_count - i);
			break;
		}
		memcpy(kept->text + at, line, bytes + 1);
		at += bytes;
	}
	order_kept_end(ctl, kept, ORDER_DONE, "");
}
