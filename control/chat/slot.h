/* slot: which channel a name means, and which chat shard owns it.
 *
 * A channel's number is a hash of its realm, kind and key, the same on every node. Its slot is a
 * part of the number; a slot's owner is, of the shards that live, the one with the greatest hash of
 * slot and name (rendezvous hashing: Thaler and Ravishankar, 1998): who comes or goes moves its own
 * slots alone. Who owns a slot in fact is the lease's to say (lease.h). Pure; any thread. */
#ifndef SW_CONTROL_CHAT_SLOT_H
#define SW_CONTROL_CHAT_SLOT_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

#define CHAT_SLOTS     1024u
#define CHAT_KEY_BYTES 32u /* longest key of a channel, with the ending NUL */

/* Of the key's bytes; never 0. kind: enum chat_kind. */
uint64_t chat_channel_number(uint32_t realm_id, uint32_t kind, const char *key);

static inline uint32_t chat_slot(uint64_t channel)
{
	return (uint32_t)(channel >> 32) % CHAT_SLOTS;
}

/* The index of the owner in names[count], UINT32_MAX if there are none. The order of names does not
 * matter. */
uint32_t chat_slot_owner(uint32_t slot, const char *const *names, uint32_t count);

/* Whether a client may ask for a channel of this name: a language by BCP 47, in lower case, such as
 * "de" or "pt-br". bytes may be anything. */
bool chat_language_valid(const char *name, size_t bytes);

#endif
