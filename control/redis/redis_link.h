/* redis_link: one connection to one Redis, kept up for ever.
 *
 * hiredis on libuv (redis_uv). The link connects, checks with AUTH, SELECT and ROLE that it talks
 * to a master that takes it, loads the scripts, and only then takes commands. When it breaks for
 * any reason, each command that waits is called back with a named result, and the link connects
 * again, with a pause that doubles from backoff_min_ms to backoff_max_ms, for as long as it lives.
 * A deadline on the connect and on every command turns silence into a break; an idle link pings.
 * Where Sentinels are named, they say who the master is (redis_sentinel.h): the link leaves a
 * server at once that is it no more. */
#ifndef SW_CONTROL_REDIS_REDIS_LINK_H
#define SW_CONTROL_REDIS_REDIS_LINK_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

#include <uv.h>

#include "common/counter.h"
#include "control/redis/scripts.h"

struct redisReply; /* <hiredis/hiredis.h> */
struct redis_link;

/* What a command's callback is told. X(id, name, meaning) */
#define REDIS_RESULTS(X)                                                                           \
	X(OK, "ok", "the reply is there, and is not an error")                                     \
	X(ERROR, "error", "Redis answered with an error; reply->str says which")                   \
	X(TIMEOUT, "timeout", "no answer within command_timeout_ms: the command may have run")     \
	X(LOST, "lost", "the connection broke before the answer: the command may have run")        \
	X(CLOSED, "closed", "the link was freed: the command may have run")

#define REDIS_RESULT_ENUM(id, name, meaning) REDIS_RESULT_##id,
enum redis_result { REDIS_RESULTS(REDIS_RESULT_ENUM) REDIS_RESULT_COUNT };

/* "timeout". Any thread. */
const char *redis_result_name(enum redis_result result);

enum redis_link_state {
	REDIS_LINK_DOWN,       /* waits for the next attempt */
	REDIS_LINK_CONNECTING, /* connect, AUTH, SELECT, ROLE, SCRIPT LOAD */
	REDIS_LINK_UP
};

/* What the link counts; the breaks of a connection are named by their cause. X(id, name, kind,
 * help) */
// clang-format off
#define REDIS_COUNTERS(X)                                                                          \
	X(UP, "up", COUNTER_GAUGE, "1 while the link takes commands")                              \
	X(CONNECTS, "connects", COUNTER_SUM, "times the link came up")                             \
	X(COMMANDS, "commands", COUNTER_SUM, "commands sent, without the link's own")              \
	X(NOT_CONNECTED, "commands_not_connected", COUNTER_SUM,                                    \
		"commands refused at once because the link was down")                              \
	X(REPLY_ERRORS, "reply_errors", COUNTER_SUM, "commands that Redis answered with an error") \
	X(SCRIPT_RELOADS, "script_reloads", COUNTER_SUM,                                           \
		"scripts sent again after NOSCRIPT: Redis was restarted or flushed its scripts")   \
	X(CONNECT_REFUSED, "breaks_connect", COUNTER_SUM,                                          \
		"connects that failed: Redis is not running, or the address is wrong")             \
	X(CONNECT_TIMEOUT, "breaks_connect_timeout", COUNTER_SUM,                                  \
		"connects or checks that got no answer within connect_timeout_ms")                 \
	X(AUTH, "breaks_auth", COUNTER_SUM, "AUTH or SELECT was refused: password or database")    \
	X(REPLICA, "breaks_replica", COUNTER_SUM, "the server is a replica, not the master")       \
	X(SETUP, "breaks_setup", COUNTER_SUM, "ROLE or SCRIPT LOAD was refused, such as while loading") \
	X(COMMAND_TIMEOUT, "breaks_command_timeout", COUNTER_SUM,                                  \
		"a command got no answer within command_timeout_ms")                               \
	X(PROTOCOL, "breaks_protocol", COUNTER_SUM,                                                \
		"the server sent replies that no command asked for")                               \
	X(LOST, "breaks_lost", COUNTER_SUM, "the server closed or reset the connection")           \
	X(SWITCHED, "breaks_switched", COUNTER_SUM,                                                \
		"the Sentinels named another server as the master")
// clang-format on

#define REDIS_COUNTER_ENUM(id, name, kind, help) REDIS_C_##id,
enum redis_counter { REDIS_COUNTERS(REDIS_COUNTER_ENUM) REDIS_COUNTER_COUNT };

struct redis_link_config {
	const char *address;  /* see redis_address.h; copied, like the other texts */
	/* Instead of address, if sentinel_count is not 0: see redis_sentinel.h. */
	const char *const *sentinels;
	uint32_t sentinel_count;
	const char *master_name, *sentinel_password;
	const char *password; /* "" or NULL: no AUTH */
	uint32_t database;    /* 0: no SELECT */
	uint32_t connect_timeout_ms, command_timeout_ms;
	uint32_t backoff_min_ms, backoff_max_ms; /* 0: 100 and 5000 */
	uint32_t ping_ms;                        /* an idle link sends PING so often; 0: 1000 */
	/* Called at each change of state, with a sentence for a person; may be NULL. Do not free
	 * the link inside. */
	void (*changed)(void *ctx, enum redis_link_state state, const char *sentence);
	void *ctx;
};

/* Thread: the loop's. Starts to connect at once; the outcome comes through changed and _health.
 * Blocks SIGPIPE in the calling thread, because hiredis writes with write(2). Returns NULL when
 * memory is short or the address is not valid (redis_address_parse says why). */
struct redis_link *redis_link_new(uv_loop_t *loop, const struct redis_link_config *config);

/* Thread: the loop's; also inside a command's callback. Commands that wait are called back with
 * REDIS_RESULT_CLOSED before it returns (or, inside a callback, right after that one). The memory
 * goes when the loop has run its close callbacks. */
void redis_link_free(struct redis_link *link);

/* reply: valid during the call, NULL unless result is REDIS_RESULT_OK or _ERROR. */
typedef void redis_link_fn(void *ctx, enum redis_result result, const struct redisReply *reply);

/* Thread: the loop's. Sends argv[argc]; lengths may be NULL where all are C strings. Returns 0: fn
 * is called exactly once, later, never from inside this call. Or, and then fn is never called:
 * -ENOTCONN the link is not up, -ENOMEM. */
int redis_link_command(struct redis_link *link, redis_link_fn *fn, void *ctx, int argc,
	const char *const *argv, const size_t *lengths);

/* The same for a script by its SHA, with the keys first among args. A server that has forgotten the
 * script (NOSCRIPT) is sent its text, unseen by the caller. */
int redis_link_script(struct redis_link *link, enum redis_script script, redis_link_fn *fn,
	void *ctx, int keys, int argc, const char *const *argv, const size_t *lengths);

/* Thread: the loop's. */
bool redis_link_up(const struct redis_link *link);

/* Any thread while the link lives. False when there are Sentinels, and none of them knows the master
 * now: a failover would not be noticed. text as of redis_sentinel_text, "" without Sentinels. */
bool redis_link_watched(struct redis_link *link, char *text, size_t text_bytes);

/* Any thread while the link lives. Writes a sentence such as "connected to 127.0.0.1:6379" or
 * "connect to unix:/x failed: No such file or directory; trying again" and returns the state. */
enum redis_link_state redis_link_health(struct redis_link *link, char *text, size_t text_bytes);

/* Any thread while the link lives: group "redis". */
const struct counter_set *redis_link_counters(const struct redis_link *link);

#endif
