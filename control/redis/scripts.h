/* scripts: the atomic steps that run inside Redis, from lua/redis/, compiled into the program so
 * that a server and its scripts are never of two versions. X(id, file)
 *
 * Keys and arguments are documented at the head of each file. */
#ifndef SW_CONTROL_REDIS_SCRIPTS_H
#define SW_CONTROL_REDIS_SCRIPTS_H

#include <stddef.h>

#define REDIS_SCRIPTS(X)                                                                           \
	X(TICKET_RELEASE, ticket_release)                                                          \
	X(NODE_BEAT, node_beat)                                                                    \
	X(PRESENCE_SEEK, presence_seek)                                                            \
	X(PRESENCE_PUT, presence_put)                                                              \
	X(PRESENCE_DROP, presence_drop)                                                            \
	X(PRESENCE_TELL, presence_tell)                                                            \
	X(PARTY_STEP, party_step)                                                                  \
	X(GATE_TURN, gate_turn)                                                                    \
	X(GATE_STATE, gate_state)                                                                  \
	X(CHAT_WHO, chat_who)

#define REDIS_SCRIPT_ENUM(id, file) REDIS_SCRIPT_##id,
enum redis_script { REDIS_SCRIPTS(REDIS_SCRIPT_ENUM) REDIS_SCRIPT_COUNT };

struct redis_script_text {
	const char *name;
	const char *text; /* NUL-terminated */
	size_t bytes;
};

/* Any thread. */
extern const struct redis_script_text redis_script_texts[REDIS_SCRIPT_COUNT];

#endif
