/* message_types.h: the first byte of every message, the channels, and the reasons a client is
 * given. The rest of a message is the protobuf of proto/client.proto named beside its type. See
 * docs/protocol.md. Shared by server, client library and tests; no dependencies. */
#ifndef SW_PROTO_MESSAGE_TYPES_H
#define SW_PROTO_MESSAGE_TYPES_H

#define SW_PROTOCOL_VERSION 1u

/* ENet channels. */
enum sw_channel {
	SW_CHANNEL_SESSION = 0, /* reliable: session, admission, join, inventory, trade, quest */
	SW_CHANNEL_WORLD = 1,   /* unreliable sequenced: input up, world updates down */
	SW_CHANNEL_CHAT = 2,    /* reliable */
	SW_CHANNEL_EVENTS = 3,  /* reliable: enter and leave, combat */
	SW_CHANNELS = 4
};

/* The dataplane routes by range and reads nothing else. X(name, value, protobuf message, who) */
#define SW_CONTROL_FIRST    0x01
#define SW_CONTROL_LAST     0x3f
#define SW_SIMULATION_FIRST 0x40
#define SW_SIMULATION_LAST  0x7f
#define SW_CHAT_FIRST       0x80
#define SW_CHAT_LAST        0xbf

#define SW_MESSAGE_TYPES(X)                                                                        \
	X(HELLO, 0x01, Hello, CLIENT)                                                              \
	X(ADMITTED, 0x02, Admitted, SERVER)                                                        \
	X(REFUSED, 0x03, Refused, SERVER)                                                          \
	X(CHALLENGE, 0x04, Challenge, SERVER)                                                      \
	X(RETURN_PASS, 0x05, ReturnPass, SERVER)                                                   \
	X(QUEUED, 0x06, Queued, SERVER)                                                            \
	X(REDIRECT, 0x07, Redirect, SERVER)                                                        \
	X(REDIRECT_FAILED, 0x08, RedirectFailed, CLIENT)                                           \
	X(JOINED, 0x40, Joined, SERVER)                                                            \
	X(INPUT, 0x41, InputBatch, CLIENT)                                                         \
	X(WORLD_UPDATE, 0x42, WorldUpdate, SERVER)                                                 \
	X(VIEW_CHANGE, 0x43, ViewChange, SERVER)                                                   \
	X(CHARACTER_DETAIL, 0x44, CharacterDetail, SERVER)                                         \
	X(CLICK, 0x45, Click, CLIENT)                                                              \
	X(DIALOGUE, 0x46, Dialogue, SERVER)                                                        \
	X(ACTION_REFUSED, 0x47, ActionRefused, SERVER)                                             \
	X(ATTACK, 0x48, Attack, CLIENT)                                                            \
	X(COMBAT, 0x49, CombatEvents, SERVER)                                                      \
	X(PICK_UP, 0x4a, PickUp, CLIENT)                                                           \
	X(INVENTORY, 0x4b, Inventory, SERVER)                                                      \
	X(MOVE_ITEM, 0x4c, MoveItem, CLIENT)                                                       \
	X(DROP_ITEM, 0x4d, DropItem, CLIENT)                                                       \
	X(TRADE_REQUEST, 0x50, TradeRequest, CLIENT)                                               \
	X(TRADE_OFFER, 0x51, TradeOffer, CLIENT)                                                   \
	X(TRADE_CONFIRM, 0x52, TradeConfirm, CLIENT)                                               \
	X(TRADE_CANCEL, 0x53, TradeCancel, CLIENT)                                                 \
	X(TRADE_STATE, 0x54, TradeState, SERVER)                                                   \
	X(TRADE_ENDED, 0x55, TradeEnded, SERVER)                                                   \
	X(PARTY_REQUEST, 0x58, PartyRequest, CLIENT)                                               \
	X(PARTY_ANSWER, 0x59, PartyAnswer, SERVER)                                                 \
	X(PARTY_STATE, 0x5a, PartyState, SERVER)                                                   \
	X(PARTY_INVITE, 0x5b, PartyInvite, SERVER)                                                 \
	X(PARTY_LIVE, 0x5c, PartyLive, SERVER)                                                     \
	X(MATCH_STATE, 0x60, MatchState, SERVER)                                                   \
	X(CARD_OFFER, 0x61, CardOffer, SERVER)                                                     \
	X(CARD_PICK, 0x62, CardPick, CLIENT)                                                       \
	X(CARD_TAKEN, 0x63, CardTaken, SERVER)                                                     \
	X(MATCH_RESULT, 0x64, MatchResult, SERVER)                                                 \
	X(DIALOGUE_ANSWER, 0x70, DialogueAnswer, CLIENT)                                           \
	X(QUEST_LOG, 0x71, QuestLog, SERVER)                                                       \
	X(QUEST_UPDATE, 0x72, QuestUpdate, SERVER)                                                 \
	X(QUEST_ABANDON, 0x73, QuestAbandon, CLIENT)                                               \
	X(CHAT_SAY, 0x80, ChatSay, CLIENT)                                                         \
	X(CHAT_WHISPER, 0x81, ChatWhisper, CLIENT)                                                 \
	X(CHAT_JOIN, 0x82, ChatJoin, CLIENT)                                                       \
	X(CHAT_PART, 0x83, ChatPart, CLIENT)                                                       \
	X(CHAT_BLOCK, 0x84, ChatBlock, CLIENT)                                                     \
	X(CHAT_REPORT, 0x85, ChatReport, CLIENT)                                                   \
	X(CHAT_FETCH, 0x86, ChatFetch, CLIENT)                                                     \
	X(CHAT_LINE, 0x90, ChatLine, SERVER)                                                       \
	X(CHAT_WHISPERED, 0x91, ChatWhispered, SERVER)                                             \
	X(CHAT_DONE, 0x92, ChatDone, SERVER)                                                       \
	X(CHAT_REFUSED, 0x93, ChatRefused, SERVER)                                                 \
	X(CHAT_CHANNEL, 0x94, ChatChannel, SERVER)                                                 \
	X(CHAT_ANNOUNCEMENT, 0x95, ChatAnnouncement, SERVER)

#define SW_MESSAGE_ENUM(name, value, message, who) SW_MSG_##name = value,
enum sw_message_type { SW_MESSAGE_TYPES(SW_MESSAGE_ENUM) };

/* Why a client is disconnected or refused: the u32 that ENet's disconnect carries, and
 * Refused.reason. X(name, value, text for a person) */
#define SW_DISCONNECT_REASONS(X)                                                                   \
	X(NONE, 0, "closed")                                                                       \
	X(SERVER_FULL, 1, "the server is full")                                                    \
	X(SERVER_STOPPING, 2, "the server is stopping")                                            \
	X(WRONG_VERSION, 3, "this client speaks another protocol version")                         \
	X(TICKET_MALFORMED, 4, "the login ticket cannot be read")                                  \
	X(TICKET_FORGED, 5, "the login ticket's signature does not match a known key")             \
	X(TICKET_EXPIRED, 6, "the login ticket has expired")                                       \
	X(TICKET_USED, 7, "the login ticket was used before")                                      \
	X(TICKET_WRONG_REALM, 8, "the login ticket is for another realm")                          \
	X(TRY_LATER, 9, "the login service cannot answer now; try again later")                    \
	X(HELLO_TIMEOUT, 10, "no valid Hello came in time")                                        \
	X(MALFORMED, 11, "a message that cannot be read")                                          \
	X(REPLACED, 12, "this character has connected again from elsewhere")                       \
	X(MAP_UNAVAILABLE, 13, "the map is full or not served here")                               \
	X(WRONG_ACCOUNT, 14, "the character belongs to another account")                           \
	X(SLOW, 15, "this connection does not take what is sent to it")                            \
	X(OVERSIZE, 16, "a packet larger than the server takes")                                   \
	X(KICKED, 17, "removed by an operator")                                                    \
	X(CHECKSUM, 18, "the server's checksum setting differs from the client's")                 \
	X(COMPRESSION, 19, "the server's compression setting differs from the client's")           \
	X(MAP_CLOSING, 20, "the room takes nobody any more")                                       \
	X(PASS_REFUSED, 21, "this pass is not good, or not any more; log in with a ticket")        \
	X(PROOF_MISSING, 22, "the server is under pressure and wants a proof of work")             \
	X(PROOF_WRONG, 23, "the proof of work is wrong, or too old")

#define SW_REASON_ENUM(name, value, text) SW_REASON_##name = value,
enum sw_disconnect_reason { SW_DISCONNECT_REASONS(SW_REASON_ENUM) };

#endif
