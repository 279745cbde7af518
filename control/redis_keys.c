#include "control/redis_keys.h"

#include <inttypes.h>
#include <stdatomic.h>
#include <stdbool.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include <hiredis/hiredis.h>

#include "common/log.h"
#include "control/redis/redis_link.h"

#define BATCH     128u
#define KEY_BYTES 128u

struct redis_keys {
	const struct sw_config *config;
	struct redis_link *link;
	uint64_t boot_id;
	char boot_text[17];
	bool (*claimed)(void *ctx, uint64_t session, enum adm_claim claim);
	void *ctx;
	struct adm_presence puts[BATCH], drops[BATCH];
	uint32_t put_count, drop_count;
	bool name_warned, server_warned;
	_Atomic bool refused; /* the last heartbeat; control writes, operations reads */
};

struct claim {
	struct redis_keys *keys;
	uint64_t session;
	uint8_t nonce[TICKET_NONCE_BYTES];
};

struct redis_keys *redis_keys_new(const struct sw_config *config, struct redis_link *link,
	uint64_t boot_id, bool (*claimed)(void *ctx, uint64_t session, enum adm_claim claim),
	void *ctx)
{
	struct redis_keys *keys = calloc(1, sizeof(*keys));

	if (!keys)
		return NULL;
	keys->config = config;
	keys->link = link;
	keys->boot_id = boot_id;
	snprintf(keys->boot_text, sizeof(keys->boot_text), "%016" PRIx64, boot_id);
	keys->claimed = claimed;
	keys->ctx = ctx;
	return keys;
}

void redis_keys_free(struct redis_keys *keys)
{
	free(keys);
}

/* ---- tickets ---- */

static void ticket_key(const struct redis_keys *keys, const uint8_t *nonce, char key[KEY_BYTES])
{
	char hex[2 * TICKET_NONCE_BYTES + 1];

	for (uint32_t i = 0; i < TICKET_NONCE_BYTES; i++)
		snprintf(hex + 2 * i, 3, "%02x", nonce[i]);
	snprintf(key, KEY_BYTES, "%s{ticket}:%s", keys->config->redis.prefix, hex);
}

static void ticket_claim(const struct redis_keys *keys, uint64_t session, char value[48])
{
	snprintf(value, 48, "%s:%" PRIx64, keys->boot_text, session);
}

static void on_claim(void *ctx, enum redis_result result, const struct redisReply *reply)
{
	struct claim *claim = ctx;
	enum adm_claim said = ADM_CLAIM_UNKNOWN;

	if (result == REDIS_RESULT_OK && reply->type == REDIS_REPLY_STATUS)
		said = ADM_CLAIM_OURS;
	else if (result == REDIS_RESULT_OK && reply->type == REDIS_REPLY_NIL)
		said = ADM_CLAIM_USED;
	if (result == REDIS_RESULT_ERROR)
		sw_log(SW_LOG_WARN, "control", "Redis refuses to note a ticket as used: %s",
			reply->str);
	if (result == REDIS_RESULT_CLOSED)
		; /* the control thread has ended */
	else if (!claim->keys->claimed(claim->keys->ctx, claim->session, said) &&
		 said == ADM_CLAIM_OURS)
		redis_keys_release(claim->keys, claim->session, claim->nonce);
	free(claim);
}

int redis_keys_claim(struct redis_keys *keys, uint64_t session,
	const uint8_t nonce[TICKET_NONCE_BYTES], uint64_t expire_s)
{
	char key[KEY_BYTES], value[48], seconds[24];
	struct claim *claim = malloc(sizeof(*claim));
	int rc;

	if (!claim)
		return -ENOMEM;
	*claim = (struct claim){.keys = keys, .session = session};
	memcpy(claim->nonce, nonce, sizeof(claim->nonce));
	ticket_key(keys, nonce, key);
	ticket_claim(keys, session, value);
	snprintf(seconds, sizeof(seconds), "%" PRIu64, expire_s);
	rc = redis_link_command(keys->link, on_claim, claim, 6,
		(const char *[]){"SET", key, value, "NX", "EX", seconds}, NULL);
	if (rc)
		free(claim);
	return rc;
}

/* An answer that nobody waits for; failures are in the link's counters. */
static void on_nothing(void *ctx, enum redis_result result, const struct redisReply *reply)
{
	(void)ctx;
	if (result == REDIS_RESULT_ERROR)
		sw_log(SW_LOG_WARN, "control", "Redis: %s", reply->str);
}

void redis_keys_release(
	struct redis_keys *keys, uint64_t session, const uint8_t nonce[TICKET_NONCE_BYTES])
{
	char key[KEY_BYTES], value[48];

	ticket_key(keys, nonce, key);
	ticket_claim(keys, session, value);
	redis_link_script(keys->link, REDIS_SCRIPT_TICKET_RELEASE, on_nothing, NULL, 1, 2,
		(const char *[]){key, value}, NULL);
}

void redis_keys_spend(
	struct redis_keys *keys, const uint8_t nonce[PASS_NONCE_BYTES], uint64_t expire_s)
{
	char key[KEY_BYTES], seconds[24];

	_Static_assert(PASS_NONCE_BYTES == TICKET_NONCE_BYTES, "one kind of key for both");
	ticket_key(keys, nonce, key);
	snprintf(seconds, sizeof(seconds), "%" PRIu64, expire_s);
	redis_link_command(keys->link, on_nothing, NULL, 5,
		(const char *[]){"SET", key, "spent", "EX", seconds}, NULL);
}

/* ---- presence ---- */

/* Keys first, then common[common_count], then session and generation of each. */
static void presence_send(struct redis_keys *keys, enum redis_script script,
	const struct adm_presence *entries, uint32_t count, const char *const *common,
	uint32_t common_count)
{
	static _Thread_local char key[BATCH][KEY_BYTES], session[BATCH][24], generation[BATCH][24];
	const char *argv[BATCH * 3 + 2];
	uint32_t n = 0;

	for (uint32_t i = 0; i < count; i++) {
		snprintf(key[i], KEY_BYTES, "%s{presence}:%u:%" PRIu64, keys->config->redis.prefix,
			keys->config->node.realm_id, entries[i].character_id);
		snprintf(session[i], sizeof(session[i]), "%" PRIx64, entries[i].session);
		snprintf(generation[i], sizeof(generation[i]), "%" PRIu64, entries[i].generation);
		argv[n++] = key[i];
	}
	for (uint32_t i = 0; i < common_count; i++)
		argv[n++] = common[i];
	for (uint32_t i = 0; i < count; i++) {
		argv[n++] = session[i];
		argv[n++] = generation[i];
	}
	redis_link_script(keys->link, script, on_nothing, NULL, (int)count, (int)n, argv, NULL);
}

void redis_keys_flush(struct redis_keys *keys)
{
	char expire_ms[16];

	snprintf(expire_ms, sizeof(expire_ms), "%u", KEYS_PRESENCE_MS);
	if (keys->put_count && redis_link_up(keys->link))
		presence_send(keys, REDIS_SCRIPT_PRESENCE_PUT, keys->puts, keys->put_count,
			(const char *[]){keys->config->node.name, expire_ms}, 2);
	if (keys->drop_count && redis_link_up(keys->link))
		presence_send(keys, REDIS_SCRIPT_PRESENCE_DROP, keys->drops, keys->drop_count,
			(const char *[]){keys->config->node.name}, 1);
	keys->put_count = keys->drop_count = 0;
}

void redis_keys_presence_put(struct redis_keys *keys, const struct adm_presence *presence)
{
	if (keys->put_count == BATCH)
		redis_keys_flush(keys);
	keys->puts[keys->put_count++] = *presence;
}

void redis_keys_presence_drop(struct redis_keys *keys, const struct adm_presence *presence)
{
	if (keys->drop_count == BATCH)
		redis_keys_flush(keys);
	keys->drops[keys->drop_count++] = *presence;
}

/* ---- the server's own settings ---- */

/* Whether the line "name:value" of INFO has that value. */
static bool info_is(const char *info, const char *name, const char *value)
{
	const char *at = strstr(info, name);
	size_t bytes = strlen(value);

	return at && !strncmp(at + strlen(name), value, bytes) && at[strlen(name) + bytes] == '\r';
}

static void on_info(void *ctx, enum redis_result result, const struct redisReply *reply)
{
	struct redis_keys *keys = ctx;

	if (result != REDIS_RESULT_OK || reply->type != REDIS_REPLY_STRING || keys->server_warned)
		return;
	if (info_is(reply->str, "\naof_enabled:", "0"))
		sw_log(SW_LOG_WARN, "control",
			"Redis forgets used tickets when it restarts: set appendonly yes");
	if (!info_is(reply->str, "\nmaxmemory:", "0") &&
		!info_is(reply->str, "\nmaxmemory_policy:", "noeviction"))
		sw_log(SW_LOG_WARN, "control",
			"Redis forgets used tickets when its memory is short: set maxmemory-policy "
			"noeviction");
	keys->server_warned = true; /* once a process is enough */
}

void redis_keys_check_server(struct redis_keys *keys)
{
	redis_link_command(keys->link, on_info, keys, 1, (const char *[]){"INFO"}, NULL);
}

/* ---- heartbeat ---- */

/* The reply is the beat before this one. */
static void on_heartbeat(void *ctx, enum redis_result result, const struct redisReply *reply)
{
	struct redis_keys *keys = ctx;
	const char *before;
	bool other;

	if (result == REDIS_RESULT_ERROR && !atomic_exchange(&keys->refused, true))
		sw_log(SW_LOG_ERROR, "control",
			"Redis refuses this node's heartbeat: %s; nobody can be let in until it "
			"takes writes again",
			reply->str);
	if (result != REDIS_RESULT_OK)
		return;
	if (atomic_exchange(&keys->refused, false))
		sw_log(SW_LOG_INFO, "control", "Redis takes writes again");
	before = reply->type == REDIS_REPLY_STRING ? reply->str : keys->boot_text;
	/* The last beat of a clean stop is still there when a node is restarted at once. */
	other = !strstr(before, keys->boot_text) && !strstr(before, KEYS_STATE_STOPPED);
	if (other && !keys->name_warned)
		sw_log(SW_LOG_WARN, "control",
			"another process reports as node \"%s\": one that was killed a moment ago, "
			"or "
			"a second one; node.name must be unique",
			keys->config->node.name);
	keys->name_warned = other;
}

bool redis_keys_refused(const struct redis_keys *keys)
{
	return atomic_load(&keys->refused);
}

void redis_keys_heartbeat(struct redis_keys *keys, const char *json)
{
	char key[KEY_BYTES], expire_ms[16];

	snprintf(key, sizeof(key), "%s{node}:%s", keys->config->redis.prefix,
		keys->config->node.name);
	snprintf(expire_ms, sizeof(expire_ms), "%u", keys->config->redis.heartbeat_expire_ms);
	redis_link_command(keys->link, on_heartbeat, keys, 6,
		(const char *[]){"SET", key, json, "PX", expire_ms, "GET"}, NULL);
}
