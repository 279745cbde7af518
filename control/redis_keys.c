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

#define SPENDS    64u
#define KEY_BYTES 128u

struct redis_keys {
	const struct sw_config *config;
	struct redis_link *link;
	uint64_t boot_id;
	char boot_text[17];
	bool (*claimed)(void *ctx, uint64_t session, enum adm_claim claim);
	void *ctx;
	struct spend {
		uint8_t nonce[PASS_NONCE_BYTES];
		uint64_t expire_s;
	} spends[SPENDS]; /* that wait for the flush, and for Redis; the oldest make room */
	uint32_t spend_count;
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
	struct spend *spend = &keys->spends[keys->spend_count % SPENDS];

	_Static_assert(PASS_NONCE_BYTES == TICKET_NONCE_BYTES, "one kind of key for both");
	memcpy(spend->nonce, nonce, sizeof(spend->nonce));
	spend->expire_s = expire_s;
	keys->spend_count++;
}

void redis_keys_flush(struct redis_keys *keys)
{
	uint32_t count = keys->spend_count < SPENDS ? keys->spend_count : SPENDS;

	if (!count || !redis_link_up(keys->link))
		return;
	for (uint32_t i = 0; i < count; i++) {
		char key[KEY_BYTES], seconds[24];

		ticket_key(keys, keys->spends[i].nonce, key);
		snprintf(seconds, sizeof(seconds), "%" PRIu64, keys->spends[i].expire_s);
		redis_link_command(keys->link, on_nothing, NULL, 5,
			(const char *[]){"SET", key, "spent", "EX", seconds}, NULL);
	}
	keys->spend_count = 0;
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
	if (keys->config->redis.sentinel_count && !strstr(reply->str, "\nmin_slaves_good_slaves:"))
		sw_log(SW_LOG_WARN, "control",
			"a Redis master that its Sentinels have given up takes writes that are "
			"lost: set min-replicas-to-write 1");
	keys->server_warned = true; /* once a process is enough */
}

void redis_keys_check_server(struct redis_keys *keys)
{
	redis_link_command(keys->link, on_info, keys, 1, (const char *[]){"INFO"}, NULL);
}

/* ---- heartbeat ---- */

static const char *text_at(const struct redisReply *reply, size_t i)
{
	if (reply->type != REDIS_REPLY_ARRAY || i >= reply->elements ||
		reply->element[i]->type != REDIS_REPLY_STRING)
		return "";
	return reply->element[i]->str;
}

/* The reply is of the beat before this one: boot and state. */
static void on_heartbeat(void *ctx, enum redis_result result, const struct redisReply *reply)
{
	struct redis_keys *keys = ctx;
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
	/* The last beat of a clean stop is still there when a node is restarted at once. */
	other = *text_at(reply, 0) && strcmp(text_at(reply, 0), keys->boot_text) != 0 &&
		strcmp(text_at(reply, 1), "stopped") != 0;
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

void redis_keys_heartbeat(struct redis_keys *keys, const struct keys_beat *beat)
{
	const char *prefix = keys->config->redis.prefix, *name = keys->config->node.name;
	char key[KEY_BYTES], nodes[KEY_BYTES], epoch[KEY_BYTES], expire_ms[16];
	char uptime[24], sessions[24], players[24], places[24], most[16], room[24], admitted[24], scripts[24];

	snprintf(key, sizeof(key), "%s{gate}:n:%s", prefix, name);
	snprintf(nodes, sizeof(nodes), "%s{gate}:nodes", prefix);
	snprintf(epoch, sizeof(epoch), "%s{gate}:epoch", prefix);
	snprintf(expire_ms, sizeof(expire_ms), "%u", keys->config->redis.heartbeat_expire_ms);
	snprintf(uptime, sizeof(uptime), "%" PRIu64, beat->uptime_s);
	snprintf(sessions, sizeof(sessions), "%" PRIu64, beat->sessions);
	snprintf(players, sizeof(players), "%" PRIu64, beat->players);
	snprintf(places, sizeof(places), "%" PRIu64, beat->places);
	snprintf(most, sizeof(most), "%u", beat->players_max);
	snprintf(room, sizeof(room), "%" PRIu64, beat->room);
	snprintf(admitted, sizeof(admitted), "%" PRIu64, beat->admitted);
	snprintf(scripts, sizeof(scripts), "%016" PRIx64, beat->scripts);
	const char *const argv[] = {key, nodes, epoch, name, expire_ms, "boot", keys->boot_text,
		"address", beat->address, "state", beat->stopped ? "stopped" : beat->state,
		"uptime_s", uptime, "sessions", sessions, "players", players, "places", places,
		"players_max", most, "room", room, "maps", beat->maps, "shard_age_ms",
		beat->shard_age_ms, "admitted", admitted, "scripts", scripts};

	redis_link_script(keys->link, REDIS_SCRIPT_NODE_BEAT, on_heartbeat, keys, 3,
		(int)(sizeof(argv) / sizeof(argv[0])), argv, NULL);
}
