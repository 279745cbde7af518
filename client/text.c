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

_Static_assert((int)SWC_QUEUE_REBUILDING == (int)SW__QUEUE_STATE__QUEUE_REBUILDING, "the same");

const char *swc_queue_text(uint32_t state)
{
	switch (state) {
	case SWC_QUEUE_OPEN:
		return "the queue moves";
	case SWC_QUEUE_THROTTLED:
		return "the queue moves slowly now";
	case SWC_QUEUE_CLOSED:
		return "the game lets nobody in now";
	case SWC_QUEUE_FULL:
		return "the servers are full";
	case SWC_QUEUE_AWAY:
		return "the queue cannot be reached now; no place is lost";
	case SWC_QUEUE_REBUILDING:
		return "the queue is being put together again";
	default:
		return "waiting";
	}
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
	case SW__ACTION_REFUSAL__TRADE_NOT_A_PLAYER:
		return "one trades with players only";
	case SW__ACTION_REFUSAL__TRADE_ONESELF:
		return "one does not trade with oneself";
	case SW__ACTION_REFUSAL__TRADE_BUSY:
		return "you trade already";
	case SW__ACTION_REFUSAL__TRADE_PARTNER_BUSY:
		return "the other one trades already";
	case SW__ACTION_REFUSAL__TRADE_PARTNER_AWAY:
		return "the other one cannot trade now";
	case SW__ACTION_REFUSAL__TRADE_OUT_OF_REACH:
		return "the other one is too far away";
	case SW__ACTION_REFUSAL__TRADE_ENDED:
		return "that trade has ended, or is not yours";
	case SW__ACTION_REFUSAL__TRADE_NOT_ACCEPTED:
		return "the other one has not accepted yet";
	case SW__ACTION_REFUSAL__TRADE_UNDER_WAY:
		return "the trade is being carried out";
	case SW__ACTION_REFUSAL__TRADE_NO_SUCH_KIND:
		return "there is no such kind of offer";
	case SW__ACTION_REFUSAL__TRADE_AMOUNT:
		return "the amount has to be above zero";
	case SW__ACTION_REFUSAL__TRADE_NOT_OWNED:
		return "nothing lies in that slot";
	case SW__ACTION_REFUSAL__TRADE_RESERVED:
		return "a change of that slot is under way";
	case SW__ACTION_REFUSAL__TRADE_NOT_ENOUGH:
		return "you have less";
	case SW__ACTION_REFUSAL__TRADE_NOT_TRADABLE:
		return "that does not change hands";
	case SW__ACTION_REFUSAL__TRADE_OFFER_FULL:
		return "the offer holds no more";
	case SW__ACTION_REFUSAL__TRADE_NOT_OFFERED:
		return "that was not offered";
	case SW__ACTION_REFUSAL__TRADE_OLD_VERSION:
		return "the offers have changed";
	case SW__ACTION_REFUSAL__TRADE_NOTHING:
		return "nothing was offered";
	case SW__ACTION_REFUSAL__TRADE_NO_ROOM:
		return "a bag has no room for it";
	case SW__ACTION_REFUSAL__TRADE_TOO_MUCH_GOLD:
		return "nobody can own so much gold";
	case SW__ACTION_REFUSAL__NOT_BEGUN:
		return "the match has not begun, or is over";
	case SW__ACTION_REFUSAL__NO_OFFER:
		return "no card is offered now";
	case SW__ACTION_REFUSAL__NO_SUCH_CARD:
		return "that card was not offered";
	case SW__ACTION_REFUSAL__IN_MATCH:
		return "nobody trades while a match is fought";
	case SW__ACTION_REFUSAL__NO_QUESTION:
		return "that is not asked any more";
	case SW__ACTION_REFUSAL__QUEST_UNKNOWN:
		return "there is no such quest";
	case SW__ACTION_REFUSAL__QUEST_NOT_OPEN:
		return "that quest is not begun, or done";
	case SW__ACTION_REFUSAL__ACTION_REFUSAL_NONE:
	default:
		return "a reason that this client does not know";
	}
}

const char *swc_trade_end_text(uint32_t reason)
{
	switch ((Sw__TradeEndReason)reason) {
	case SW__TRADE_END_REASON__END_DONE:
		return "carried out";
	case SW__TRADE_END_REASON__END_DECLINED:
		return "the one who was asked did not want to";
	case SW__TRADE_END_REASON__END_CANCELLED:
		return "called off";
	case SW__TRADE_END_REASON__END_LEFT:
		return "the other one has left";
	case SW__TRADE_END_REASON__END_AWAY:
		return "one of the two has died";
	case SW__TRADE_END_REASON__END_APART:
		return "too far apart";
	case SW__TRADE_END_REASON__END_IDLE:
		return "one of the two did nothing for too long";
	case SW__TRADE_END_REASON__END_CHANGED:
		return "what was offered, or the room for it, is not there any more";
	case SW__TRADE_END_REASON__END_UNAVAILABLE:
		return "it could not be kept now; nothing was changed";
	case SW__TRADE_END_REASON__END_REFUSED:
		return "the database refused it; nothing was changed";
	case SW__TRADE_END_REASON__TRADE_END_NONE:
	default:
		return "a reason that this client does not know";
	}
}

static const char *name_of(const ProtobufCEnumDescriptor *names, uint32_t value)
{
	const ProtobufCEnumValue *found =
		value <= INT32_MAX ? protobuf_c_enum_descriptor_get_value(names, (int)value) : NULL;

	return found ? found->name : "UNKNOWN";
}

const char *swc_denied_name(uint32_t reason)
{
	return name_of(&sw__action_refusal__descriptor, reason);
}

const char *swc_trade_end_name(uint32_t reason)
{
	return name_of(&sw__trade_end_reason__descriptor, reason);
}

const char *swc_chat_refusal_name(uint32_t reason)
{
	return name_of(&sw__chat_refusal__descriptor, reason);
}

const char *swc_chat_refusal_text(uint32_t reason)
{
	switch ((Sw__ChatRefusal)reason) {
	case SW__CHAT_REFUSAL__CHAT_MALFORMED:
		return "the message could not be read";
	case SW__CHAT_REFUSAL__CHAT_EMPTY:
		return "there is no text";
	case SW__CHAT_REFUSAL__CHAT_TOO_LONG:
		return "that is too long";
	case SW__CHAT_REFUSAL__CHAT_NOT_UTF8:
		return "that is not UTF-8";
	case SW__CHAT_REFUSAL__CHAT_CONTROL_CHARACTER:
		return "there is a control character in it";
	case SW__CHAT_REFUSAL__CHAT_FILTERED:
		return "there is a word in it that is not said here";
	case SW__CHAT_REFUSAL__CHAT_MUTED:
		return "you may say nothing for now";
	case SW__CHAT_REFUSAL__CHAT_BANNED:
		return "you may not be in this channel";
	case SW__CHAT_REFUSAL__CHAT_BLOCKED:
		return "that one takes no whispers from you";
	case SW__CHAT_REFUSAL__CHAT_NO_CHANNEL:
		return "there is no such channel";
	case SW__CHAT_REFUSAL__CHAT_BAD_NAME:
		return "no channel can have this name";
	case SW__CHAT_REFUSAL__CHAT_NOT_MEMBER:
		return "you are not in this channel";
	case SW__CHAT_REFUSAL__CHAT_NO_RIGHT:
		return "you may not do that here";
	case SW__CHAT_REFUSAL__CHAT_TOO_MANY_CHANNELS:
		return "you are in as many channels as you may be";
	case SW__CHAT_REFUSAL__CHAT_TOO_OFTEN:
		return "you have said too much in a short time";
	case SW__CHAT_REFUSAL__CHAT_SLOW_MODE:
		return "the channel is slow: not so soon after your last line";
	case SW__CHAT_REFUSAL__CHAT_BUSY:
		return "too much is said in this channel just now";
	case SW__CHAT_REFUSAL__CHAT_OFFLINE:
		return "that one is not in the game";
	case SW__CHAT_REFUSAL__CHAT_UNAVAILABLE:
		return "chat is not available now";
	case SW__CHAT_REFUSAL__CHAT_TARGET_ONESELF:
		return "that is you";
	case SW__CHAT_REFUSAL__CHAT_REFUSAL_NONE:
	default:
		return "a reason that this client does not know";
	}
}

const char *swc_party_result_text(uint32_t result)
{
	switch ((Sw__PartyResult)result) {
	case SW__PARTY_RESULT__PARTY_DONE:
		return "it was done";
	case SW__PARTY_RESULT__PARTY_ALREADY_IN_PARTY:
		return "you are in a party already";
	case SW__PARTY_RESULT__PARTY_FULL:
		return "the party is full";
	case SW__PARTY_RESULT__PARTY_NOT_LEADER:
		return "only the leader may do that";
	case SW__PARTY_RESULT__PARTY_NOT_IN_PARTY:
		return "you are in no party";
	case SW__PARTY_RESULT__PARTY_NO_INVITE:
		return "there is no such invitation any more";
	case SW__PARTY_RESULT__PARTY_TARGET_OFFLINE:
		return "nobody of that name is in the game";
	case SW__PARTY_RESULT__PARTY_TARGET_ONESELF:
		return "that is you";
	case SW__PARTY_RESULT__PARTY_TARGET_NOT_MEMBER:
		return "that one is not in your party";
	case SW__PARTY_RESULT__PARTY_TARGET_IN_PARTY:
		return "that one is in a party already";
	case SW__PARTY_RESULT__PARTY_ALREADY_INVITED:
		return "your invitation waits for an answer already";
	case SW__PARTY_RESULT__PARTY_TOO_MANY_INVITES:
		return "too many invitations wait for that one's answer";
	case SW__PARTY_RESULT__PARTY_TOO_OFTEN:
		return "too many requests in a short time";
	case SW__PARTY_RESULT__PARTY_UNAVAILABLE:
		return "it cannot be said now; ask again";
	case SW__PARTY_RESULT__PARTY_NO_SUCH_ACT:
		return "there is no such act, or something is missing for it";
	default:
		return "a reason that this client does not know";
	}
}

const char *swc_party_change_text(uint32_t change)
{
	switch ((Sw__PartyChange)change) {
	case SW__PARTY_CHANGE__CHANGE_JOINED:
		return "has joined";
	case SW__PARTY_CHANGE__CHANGE_LEFT:
		return "has left";
	case SW__PARTY_CHANGE__CHANGE_KICKED:
		return "was removed";
	case SW__PARTY_CHANGE__CHANGE_PROMOTED:
		return "leads now";
	case SW__PARTY_CHANGE__CHANGE_DISBANDED:
		return "has ended the party";
	case SW__PARTY_CHANGE__CHANGE_AWAY:
		return "is away";
	case SW__PARTY_CHANGE__CHANGE_BACK:
		return "is back";
	case SW__PARTY_CHANGE__CHANGE_MOVED:
		return "is on another map";
	case SW__PARTY_CHANGE__CHANGE_FORGOTTEN:
		return "was away for too long";
	case SW__PARTY_CHANGE__CHANGE_RESTORED:
		return "leads, as it was written down";
	case SW__PARTY_CHANGE__PARTY_CHANGE_NONE:
	default:
		return "is as before";
	}
}

const char *swc_refusal_text(enum swc_refusal refusal)
{
#define REFUSAL_TEXT(name, text) [SWC_REFUSAL_##name] = text,
	static const char *const texts[SWC_REFUSAL_COUNT] = {SWC_REFUSALS(REFUSAL_TEXT)};

	return texts[refusal];
}
