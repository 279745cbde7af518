/* What operators ask and order about one player. */
#include <errno.h>
#include <stdlib.h>
#include <string.h>

#include "common/handle.h"
#include "control/admission/admission_internal.h"

static const char *state_name(enum session_state state)
{
	static const char *const names[SESSION_STATE_COUNT] = {
#define NAME(id, name, ends) name,
		SESSION_STATES(NAME)
#undef NAME
	};

	return names[state];
}

/* A character's holder, else, of a character without one, a session that waits for it or in the
 * queue. id 0: by name. */
static struct session *find(struct adm *adm, uint64_t id, const char *name)
{
	static const enum session_state states[] = {SESSION_IN, SESSION_JOINING, SESSION_LEAVING,
		SESSION_PLACING, SESSION_LOADING, SESSION_SEEKING, SESSION_WAITING, SESSION_QUEUED,
		SESSION_SENT};
	struct session *session;

	for (size_t i = 0; i < sizeof(states) / sizeof(states[0]); i++)
		for (session = session_oldest(&adm->table, states[i]); session;
			session = session_at(&adm->table, session->next))
			if (id ? session->ticket.character_id == id
			       : !strncmp(session->name, name, sizeof(session->name)))
				return session;
	return NULL;
}

static struct session *player_find(struct adm *adm, const char *word)
{
	uint64_t id;
	char *end;

	errno = 0;
	id = strtoull(word, &end, 10);
	if (word[0] >= '0' && word[0] <= '9' && !*end && !errno) {
		struct session *session = id ? find(adm, id, NULL) : NULL;

		/* A name may be a number, too. */
		return session ? session : find(adm, 0, word);
	}
	return find(adm, 0, word);
}

bool adm_player(struct adm *adm, const char *word, uint64_t now_ns, struct adm_player *out)
{
	const struct session *session = player_find(adm, word);

	if (!session)
		return false;
	*out = (struct adm_player){.session = session_handle(session),
		.peer = session->peer,
		.character_id = session->ticket.character_id,
		.account_id = session->ticket.account_id,
		.realm_id = session->ticket.realm_id,
		.epoch = session->epoch,
		.state = state_name(session->state),
		.connected = !session->peer_gone,
		.instance = session->instance,
		.shard = session->shard,
		.stay = session->stay,
		.since_ns = now_ns > session->began_ns ? now_ns - session->began_ns : 0};
	memcpy(out->name, session->name, sizeof(out->name));
	return true;
}

bool adm_kick(struct adm *adm, uint64_t session_handle_of, uint64_t now_ns)
{
	struct session *session = session_by_handle(&adm->table, session_handle_of);

	if (!session)
		return false;
	switch (session->state) {
	case SESSION_QUEUED:
	case SESSION_SENT:
	case SESSION_WAITING:
	case SESSION_SEEKING:
	case SESSION_LOADING:
	case SESSION_PLACING: /* on its way to another map, it has a pass */
		adm_pass_spend(adm, session);
		adm_refuse(adm, session, ADM_C_REFUSED_KICKED, 0, now_ns);
		break;
	case SESSION_JOINING:
	case SESSION_IN:
		adm_pass_spend(adm, session);
		adm_count(adm, ADM_C_REFUSED_KICKED);
		adm_leave(adm, session, SW_REASON_KICKED, now_ns);
		break;
	default: /* it goes already */
		return false;
	}
	adm_gauges(adm);
	return true;
}
