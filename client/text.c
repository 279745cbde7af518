/* The texts of reasons and refusals, for a person. */
#include "client/stormweir.h"
#include "proto/client.pb-c.h"
#include "proto/message_types.h"

const char *swc_reason_text(uint32_t reason)
{
#define REASON_TEXT(name, value, text)                                                             \
	case value:                                                                                \
		return text;
	switch (reason) {
		SW_DISCONNECT_REASONS(REASON_TEXT)
	}
	return "a reason that this client does not know";
}

const char *swc_reason_name(uint32_t reason)
{
#define REASON_NAME(name, value, text)                                                             \
	case value:                                                                                \
		return #name;
	switch (reason) {
		SW_DISCONNECT_REASONS(REASON_NAME)
	}
	return "UNKNOWN";
}

const char *swc_denied_text(uint32_t reason)
{
	switch ((Sw__ActionRefusal)reason) {
	case SW__ACTION_REFUSAL__NOT_READY:
		return "the character's details are still loading";
	case SW__ACTION_REFUSAL__NO_SUCH_ACTOR:
		return "no such actor in view";
	case SW__ACTION_REFUSAL__TOO_FAR:
		return "too far away";
	case SW__ACTION_REFUSAL__NOT_AN_NPC:
		return "that is not an NPC";
	case SW__ACTION_REFUSAL__TOO_OFTEN:
		return "too often";
	case SW__ACTION_REFUSAL__SCRIPT_FAILED:
		return "the NPC's script failed";
	case SW__ACTION_REFUSAL__LEFT_MAP:
		return "meant for a map that was left";
	case SW__ACTION_REFUSAL__DEAD:
		return "who is dead does nothing";
	case SW__ACTION_REFUSAL__TARGET_DEAD:
		return "the target is dead";
	case SW__ACTION_REFUSAL__WRONG_TARGET:
		return "that cannot be attacked";
	case SW__ACTION_REFUSAL__COOLING_DOWN:
		return "too short a time after the last strike";
	case SW__ACTION_REFUSAL__NO_SIGHT:
		return "a wall is between";
	case SW__ACTION_REFUSAL__SAFE_ZONE:
		return "nobody is attacked in a safe zone, nor from one";
	case SW__ACTION_REFUSAL__MAP_FULL:
		return "the map that was the way is full or not served here";
	case SW__ACTION_REFUSAL__MAP_CLOSED:
		return "the room that was the way takes nobody any more";
	case SW__ACTION_REFUSAL__NOT_YOURS:
		return "somebody else may take it first";
	case SW__ACTION_REFUSAL__TAKEN:
		return "somebody is taking it";
	case SW__ACTION_REFUSAL__BAG_FULL:
		return "the bag is full";
	case SW__ACTION_REFUSAL__NO_SUCH_SLOT:
		return "there is no such slot";
	case SW__ACTION_REFUSAL__EMPTY_SLOT:
		return "nothing lies there";
	case SW__ACTION_REFUSAL__WRONG_SLOT:
		return "it does not fit there";
	case SW__ACTION_REFUSAL__NOT_ENOUGH:
		return "there is less";
	case SW__ACTION_REFUSAL__BUSY:
		return "a change is under way";
	case SW__ACTION_REFUSAL__GROUND_FULL:
		return "there is no room on the ground";
	case SW__ACTION_REFUSAL__NOT_KEPT:
		return "it could not be kept; nothing was changed";
	case SW__ACTION_REFUSAL__ACTION_REFUSAL_NONE:
	default:
		return "a reason that this client does not know";
	}
}

const char *swc_refusal_text(enum swc_refusal refusal)
{
#define REFUSAL_TEXT(name, text) [SWC_REFUSAL_##name] = text,
	static const char *const texts[SWC_REFUSAL_COUNT] = {SWC_REFUSALS(REFUSAL_TEXT)};

	return texts[refusal];
}
