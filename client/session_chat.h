/* session_chat.h: the session's side of chat: what the server says of it, for the table of
 * session_receive.c, and what one says oneself. */
#ifndef SWC_SESSION_CHAT_H
#define SWC_SESSION_CHAT_H

#include "client/session.h"

/* message: the unpacked protobuf. They return SWC_REFUSAL_COUNT, or why it is refused. */
enum swc_refusal swc_session_on_chat_line(struct swc_session *session, const void *message);
enum swc_refusal swc_session_on_chat_whispered(struct swc_session *session, const void *message);
enum swc_refusal swc_session_on_chat_done(struct swc_session *session, const void *message);
enum swc_refusal swc_session_on_chat_refused(struct swc_session *session, const void *message);
enum swc_refusal swc_session_on_chat_channel(struct swc_session *session, const void *message);
enum swc_refusal swc_session_on_chat_announcement(struct swc_session *session, const void *message);

/* Texts are at most SWC_SAY_BYTES_MAX, names below SWC_NAME_BYTES. */
void swc_session_say(
	struct swc_session *session, uint64_t request, uint64_t channel, const char *text);
void swc_session_whisper(struct swc_session *session, uint64_t request, uint64_t character_id,
	const char *name, const char *text);
/* kind: ChatKind */
void swc_session_channel_join(
	struct swc_session *session, uint64_t request, int kind, const char *name);
void swc_session_channel_part(struct swc_session *session, uint64_t request, uint64_t channel);
void swc_session_block(
	struct swc_session *session, uint64_t request, uint64_t character_id, bool unblock);
void swc_session_chat_report(struct swc_session *session, uint64_t request, uint64_t channel,
	uint64_t token, uint64_t sequence, const char *why);
void swc_session_announcements(struct swc_session *session, uint64_t request, uint64_t after);

#endif
