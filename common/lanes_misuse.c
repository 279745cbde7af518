/* Compiled by a test, in vain: what a shard may ask the world for, and with SYNC or UNLISTED defined
 * what it may not. */
#include "common/lanes.h"

uint8_t *ask(struct msg *message);

uint8_t *ask(struct msg *message)
{
#if defined(SYNC)
	return lane_shard_begin(message, MSG_CHARACTER_LOAD, 0, 0);
#elif defined(UNLISTED)
	return lane_shard_begin(message, MSG_PEER_SEND, 0, 0);
#else
	return lane_shard_begin(message, MSG_COMMIT, 0, 0);
#endif
}
