/* seen: a session without a socket, and what it has sent and said. Test programs only; one
 * thread. */
#ifndef SWC_SEEN_H
#define SWC_SEEN_H

#include "client/session.h"
#include "proto/client.pb-c.h"
#include "proto/message_types.h"

#define SEEN_CHARACTER 77u
#define SEEN_ACTOR     5u /* of the character, on every map */

struct seen {
	struct swc_session session;
	uint32_t events[SWC_EVENT_DISCONNECTED + 1];
	uint32_t sent;
	uint8_t packet[1024]; /* the last one sent */
	uint32_t packet_bytes;
	uint8_t channel;
	bool reliable;
	void (*look)(const struct swc_event *event); /* told of each event; or NULL */
};

/* Connected; it has said Hello. */
void seen_start(struct seen *seen);
/* And admitted; and on a map. */
void seen_admit(struct seen *seen);
void seen_start_playing(struct seen *seen);
void seen_stop(struct seen *seen);

/* A message of the server's. */
void seen_give(struct seen *seen, uint8_t channel, uint8_t type, const void *message);
/* A map of 200 m, the character in the middle, stay 0. */
Sw__Joined seen_joined(void);
void seen_join(struct seen *seen);

/* Packets that were refused, for any reason. */
uint64_t seen_refused(const struct seen *seen);

#endif
