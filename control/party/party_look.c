/* What an operator asks of a party: a look at what Redis has, which others may have written. */
#include <string.h>

#include "control/admission/utf8.h"
#include "control/party/party_internal.h"

const char *party_look_text(enum party_look look)
{
	static const char *const texts[PARTY_LOOK_COUNT] = {
#define TEXT(id, sentence) sentence,
		PARTY_LOOKS(TEXT)
#undef TEXT
	};

	return texts[look];
}

static void text_copy(char *to, size_t bytes, const json_t *object, const char *name)
{
	const char *text = json_string_value(json_object_get(object, name));

	party_name_copy(to, bytes, text ? text : "");
	if (to[0] && !utf8_is_text(to, strlen(to)))
		party_name_copy(to, bytes, "?");
}

/* Times in JSON are numbers, in ms of Redis' clock; 0: none. */
static uint64_t ago_ms(const json_t *object, const char *name, uint64_t now_ms)
{
	double at_ms = json_number_value(json_object_get(object, name));

	return at_ms > 0 && at_ms < (double)now_ms ? now_ms - (uint64_t)at_ms : 0;
}

static bool view_read(struct party_view *view, const char *text, uint64_t now_ms)
{
	json_t *root = json_loads(text, 0, NULL), *members = json_object_get(root, "m"), *from;
	bool good = json_array_size(members) <= PARTY_MEMBERS_MAX;
	size_t i;

	*view = (struct party_view){.party_id = party_json_number(root, "id"),
		.version = party_json_number(root, "v"),
		.leader_id = party_json_number(root, "leader")};
	json_array_foreach(members, i, from)
	{
		struct party_view_member *member = &view->members[i];

		if (!good)
			break;
		member->character_id = party_json_number(from, "c");
		member->seen_ms = ago_ms(from, "s", now_ms);
		if (json_number_value(json_object_get(from, "a")) != 0) {
			member->away_ms = ago_ms(from, "a", now_ms);
			member->away_ms += !member->away_ms;
		}
		text_copy(member->name, sizeof(member->name), from, "n");
		text_copy(member->map, sizeof(member->map), from, "map");
		good &= member->character_id != 0;
		view->member_count++;
	}
	json_decref(root);
	return good && view->party_id && view->member_count;
}

static void on_looked(struct party *party, struct party_call *call, const redisReply *reply)
{
	struct party_view view;
	enum party_look look = PARTY_LOOK_UNAVAILABLE;

	if (reply && !strcmp(party_text(reply, 0), "NONE")) {
		look = PARTY_LOOK_NONE;
	} else if (reply) {
		look = PARTY_LOOK_FOUND;
		if (!view_read(&view, party_text(reply, 2), party_number(party_text(reply, 3)))) {
			party_count(party, PARTY_C_MALFORMED, 1);
			look = PARTY_LOOK_UNAVAILABLE;
		}
	}
	party->ops.looked(
		party->ops.ctx, call->look_request, look, look == PARTY_LOOK_FOUND ? &view : NULL);
}

void party_look(struct party *party, const char *who, uint64_t request, uint64_t now_ns)
{
	party->now_ns = now_ns;
	if (!party_call(party, on_looked, &(struct party_call){.look_request = request}, "look", 1,
		    (const char *[]){who}))
		party->ops.looked(party->ops.ctx, request, PARTY_LOOK_UNAVAILABLE, NULL);
}
