/* sanctions: who may say nothing, and who may not be in a channel, until when. They bind at once,
 * at ingress, on every node: PostgreSQL has them (table chat_sanction), each node all of its realm.
 *
 * Pure: time (Unix, ms) is an argument. One thread. */
#ifndef SW_CONTROL_CHAT_SANCTIONS_H
#define SW_CONTROL_CHAT_SANCTIONS_H

#include <stdbool.h>
#include <stdint.h>

#define CHAT_SANCTIONS_MAX 65536u /* 40 bytes each */

struct chat_sanctions;

struct chat_sanctions *chat_sanctions_new(void);
void chat_sanctions_free(struct chat_sanctions *sanctions);

/* channel 0: a mute. until_ms 0: no longer. False: there are too many. */
bool chat_sanctions_set(struct chat_sanctions *sanctions, uint64_t character_id, uint64_t channel,
	uint64_t until_ms, uint64_t unix_ms);

/* How long it lasts still, in ms; 0: there is none. */
uint64_t chat_sanctions_left(const struct chat_sanctions *sanctions, uint64_t character_id,
	uint64_t channel, uint64_t unix_ms);

#endif
