#include "control/presence.h"

#include <inttypes.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include <hiredis/hiredis.h>

#include "common/log.h"
#include "common/mono.h"
#include "control/redis/redis_link.h"

#define BATCH      128u
#define MAIL_MAX   64u
#define BASE_BYTES 64u
#define WHO_BYTES  32u /* 65535:18446744073709551615 */
#define HEX_BYTES  17u

static const struct counter_desc counter_descs[PRESENCE_COUNTER_COUNT] = {
#define DESC(id, name, kind, help) {name, help, kind},
	PRESENCE_COUNTERS(DESC)
#undef DESC
};

struct presence {
	const struct sw_config *config;
	struct redis_link *link;
	struct presence_ops ops;
	char base[BASE_BYTES], boot[HEX_BYTES];
	struct adm_presence puts[BATCH], drops[BATCH];
	uint32_t put_count, drop_count;
	uint64_t mail_ns;
	bool mail_asked;
	_Atomic uint64_t counters[PRESENCE_COUNTER_COUNT];
	struct counter_set set;
};

/* What a call is about, until its answer. */
struct call {
	struct presence *presence;
	uint32_t count;
	struct adm_presence who[];
};

struct presence *presence_new(const struct sw_config *config, struct redis_link *link,
	uint64_t boot_id, const struct presence_ops *ops)
{
	struct presence *presence = calloc(1, sizeof(*presence));

	if (!presence)
		return NULL;
	presence->config = config;
	presence->link = link;
	presence->ops = *ops;
	snprintf(presence->base, sizeof(presence->base), "%s{presence}", config->redis.prefix);
	snprintf(presence->boot, sizeof(presence->boot), "%016" PRIx64, boot_id);
	presence->set = (struct counter_set){
		"presence", 0, PRESENCE_COUNTER_COUNT, counter_descs, presence->counters};
	return presence;
}

void presence_free(struct presence *presence)
{
	free(presence);
}

const struct counter_set *presence_counters(const struct presence *presence)
{
	return &presence->set;
}

static void count(struct presence *presence, enum presence_counter counter, uint64_t n)
{
	counter_add(&presence->counters[counter], n);
}

static void who_text(const struct presence *presence, uint64_t character_id, char text[WHO_BYTES])
{
	snprintf(text, WHO_BYTES, "%u:%" PRIu64, presence->config->node.realm_id, character_id);
}

static struct call *call_new(
	struct presence *presence, const struct adm_presence *who, uint32_t entries)
{
	struct call *call = malloc(sizeof(*call) + entries * sizeof(*who));

	if (!call)
		return NULL;
	call->presence = presence;
	call->count = entries;
	memcpy(call->who, who, entries * sizeof(*who));
	return call;
}

static void said_error(const struct redisReply *reply)
{
	sw_log(SW_LOG_WARN, "control", "Redis refuses a word of presence: %s", reply->str);
}

static void alive_text(const struct presence *presence, char text[16])
{
	snprintf(text, 16, "%u", presence->config->redis.heartbeat_expire_ms);
}

/* ---- seek ---- */

static void on_sought(void *ctx, enum redis_result result, const struct redisReply *reply)
{
	struct call *call = ctx;
	struct presence *presence = call->presence;
	enum adm_sought said = ADM_SOUGHT_UNKNOWN;

	if (result == REDIS_RESULT_ERROR)
		said_error(reply);
	if (result == REDIS_RESULT_OK && reply->type == REDIS_REPLY_ARRAY && reply->elements &&
		reply->element[0]->type == REDIS_REPLY_STRING) {
		if (!strcmp(reply->element[0]->str, "OURS"))
			said = ADM_SOUGHT_OURS;
		else if (!strcmp(reply->element[0]->str, "HELD"))
			said = ADM_SOUGHT_HELD;
		else if (!strcmp(reply->element[0]->str, "NEWER"))
			said = ADM_SOUGHT_NEWER;
		else
			count(presence, PRESENCE_C_MALFORMED, 1);
	}
	count(presence, PRESENCE_C_HELD, said == ADM_SOUGHT_HELD);
	if (result == REDIS_RESULT_CLOSED)
		; /* the control thread has ended */
	else if (!presence->ops.sought(presence->ops.ctx, call->who[0].session, said) &&
		 said != ADM_SOUGHT_HELD && said != ADM_SOUGHT_NEWER)
		presence_drop(presence, &call->who[0]);
	free(call);
}

int presence_seek(struct presence *presence, uint64_t session, uint64_t character_id,
	uint64_t epoch_max, bool in_any_case)
{
	const struct adm_presence who = {.session = session, .character_id = character_id};
	struct call *call = call_new(presence, &who, 1);
	char character[WHO_BYTES], hex[HEX_BYTES], expire_ms[16], alive_ms[16], epoch[24];
	int rc;

	if (!call)
		return -ENOMEM;
	snprintf(epoch, sizeof(epoch), "%" PRIu64, epoch_max);
	who_text(presence, character_id, character);
	snprintf(hex, sizeof(hex), "%" PRIx64, session);
	snprintf(expire_ms, sizeof(expire_ms), "%u", PRESENCE_SEEK_MS);
	alive_text(presence, alive_ms);
	rc = redis_link_script(presence->link, REDIS_SCRIPT_PRESENCE_SEEK, on_sought, call, 1, 9,
		(const char *[]){presence->base, character, presence->config->node.name,
			presence->boot, hex, expire_ms, in_any_case ? "1" : "0", alive_ms, epoch},
		NULL);
	if (rc)
		free(call);
	else
		count(presence, PRESENCE_C_SEEKS, 1);
	return rc;
}

/* ---- put and drop ---- */

static void on_put(void *ctx, enum redis_result result, const struct redisReply *reply)
{
	struct call *call = ctx;
	struct presence *presence = call->presence;

	if (result == REDIS_RESULT_ERROR)
		said_error(reply);
	for (size_t i = 0; result == REDIS_RESULT_OK && i < reply->elements; i++) {
		long long index = reply->element[i]->integer;

		if (index < 1 || index > call->count) {
			count(presence, PRESENCE_C_MALFORMED, 1);
			continue;
		}
		count(presence, PRESENCE_C_LOST, 1);
		presence->ops.oust(presence->ops.ctx, call->who[index - 1].session,
			call->who[index - 1].character_id);
	}
	free(call);
}

static void on_drop(void *ctx, enum redis_result result, const struct redisReply *reply)
{
	struct presence *presence = ctx;

	if (result == REDIS_RESULT_ERROR)
		said_error(reply);
	if (result == REDIS_RESULT_OK && reply->type == REDIS_REPLY_INTEGER && reply->integer > 0)
		count(presence, PRESENCE_C_DROPS, (uint64_t)reply->integer);
}

struct texts {
	char who[WHO_BYTES], session[HEX_BYTES], generation[24];
};

static void entry_texts(
	const struct presence *presence, const struct adm_presence *entry, struct texts *texts)
{
	who_text(presence, entry->character_id, texts->who);
	snprintf(texts->session, sizeof(texts->session), "%" PRIx64, entry->session);
	snprintf(texts->generation, sizeof(texts->generation), "%" PRIu64, entry->generation);
}

static void send_puts(struct presence *presence)
{
	static _Thread_local struct texts texts[BATCH];
	struct call *call = call_new(presence, presence->puts, presence->put_count);
	const char *argv[5 + 3 * BATCH];
	char expire_ms[16], alive_ms[16];
	int n = 0;

	if (!call)
		return; /* said again by the refresh */
	snprintf(expire_ms, sizeof(expire_ms), "%u", PRESENCE_MS);
	argv[n++] = presence->base;
	argv[n++] = presence->config->node.name;
	argv[n++] = presence->boot;
	argv[n++] = expire_ms;
	alive_text(presence, alive_ms);
	argv[n++] = alive_ms;
	for (uint32_t i = 0; i < presence->put_count; i++) {
		entry_texts(presence, &presence->puts[i], &texts[i]);
		argv[n++] = texts[i].who;
		argv[n++] = texts[i].session;
		argv[n++] = texts[i].generation;
	}
	if (redis_link_script(
		    presence->link, REDIS_SCRIPT_PRESENCE_PUT, on_put, call, 1, n, argv, NULL))
		free(call);
}

static void send_drops(struct presence *presence)
{
	static _Thread_local struct texts texts[BATCH];
	const char *argv[3 + 2 * BATCH];
	int n = 0;

	argv[n++] = presence->base;
	argv[n++] = presence->config->node.name;
	argv[n++] = presence->boot;
	for (uint32_t i = 0; i < presence->drop_count; i++) {
		entry_texts(presence, &presence->drops[i], &texts[i]);
		argv[n++] = texts[i].who;
		argv[n++] = texts[i].session;
	}
	redis_link_script(
		presence->link, REDIS_SCRIPT_PRESENCE_DROP, on_drop, presence, 1, n, argv, NULL);
}

void presence_flush(struct presence *presence)
{
	if (presence->put_count && redis_link_up(presence->link))
		send_puts(presence);
	if (presence->drop_count && redis_link_up(presence->link))
		send_drops(presence);
	presence->put_count = presence->drop_count = 0;
}

void presence_put(struct presence *presence, const struct adm_presence *who)
{
	if (presence->put_count == BATCH)
		presence_flush(presence);
	presence->puts[presence->put_count++] = *who;
}

void presence_drop(struct presence *presence, const struct adm_presence *who)
{
	if (presence->drop_count == BATCH)
		presence_flush(presence);
	presence->drops[presence->drop_count++] = *who;
}

/* ---- this node, and its mail ---- */

static void on_nothing(void *ctx, enum redis_result result, const struct redisReply *reply)
{
	(void)ctx;
	(void)result;
	(void)reply; /* the heartbeat beside it says what is wrong */
}

void presence_corrected(struct presence *presence, uint64_t character_id)
{
	char character[WHO_BYTES];

	who_text(presence, character_id, character);
	redis_link_script(presence->link, REDIS_SCRIPT_PRESENCE_TELL, on_nothing, NULL, 1, 3,
		(const char *[]){presence->base, character, presence->config->node.name,
			presence->boot},
		NULL);
}

void presence_beat(struct presence *presence, bool stopped)
{
	char key[BASE_BYTES + 80], expire_ms[16];

	snprintf(key, sizeof(key), "%s:alive:%s", presence->base, presence->config->node.name);
	alive_text(presence, expire_ms);
	if (stopped)
		redis_link_command(
			presence->link, on_nothing, NULL, 2, (const char *[]){"DEL", key}, NULL);
	else
		redis_link_command(presence->link, on_nothing, NULL, 5,
			(const char *[]){"SET", key, presence->boot, "PX", expire_ms}, NULL);
}

/* "boot session realm:character", a stay to end; with "reload" before it: to be read again. */
static void on_letter(struct presence *presence, const char *text)
{
	static const char reload[] = "reload ";
	bool corrected = !strncmp(text, reload, sizeof(reload) - 1);
	uint64_t session, character_id;
	char boot[HEX_BYTES];
	unsigned realm_id;

	text += corrected ? sizeof(reload) - 1 : 0;
	if (sscanf(text, "%16[0-9a-f] %" SCNx64 " %u:%" SCNu64, boot, &session, &realm_id,
		    &character_id) != 4) {
		count(presence, PRESENCE_C_MALFORMED, 1);
		return;
	}
	/* Else it was meant for who had this name before. */
	if (strcmp(boot, presence->boot) || realm_id != presence->config->node.realm_id)
		return;
	if (corrected) {
		count(presence, PRESENCE_C_CORRECTED, 1);
		presence->ops.corrected(presence->ops.ctx, session, character_id);
		return;
	}
	count(presence, PRESENCE_C_MAILS, 1);
	presence->ops.oust(presence->ops.ctx, session, character_id);
}

static void on_mail(void *ctx, enum redis_result result, const struct redisReply *reply)
{
	struct presence *presence = ctx;

	if (result == REDIS_RESULT_CLOSED)
		return;
	presence->mail_asked = false;
	if (result != REDIS_RESULT_OK || reply->type != REDIS_REPLY_ARRAY)
		return;
	for (size_t i = 0; i < reply->elements; i++) {
		if (reply->element[i]->type == REDIS_REPLY_STRING)
			on_letter(presence, reply->element[i]->str);
	}
	if (reply->elements == MAIL_MAX)
		presence->mail_ns = 0; /* there may be more */
}

void presence_tick(struct presence *presence, uint64_t now_ns)
{
	char key[BASE_BYTES + 80], most[12];

	if (presence->mail_asked || now_ns - presence->mail_ns < PRESENCE_MAIL_MS * NS_PER_MS)
		return;
	presence->mail_ns = now_ns;
	snprintf(key, sizeof(key), "%s:mail:%s", presence->base, presence->config->node.name);
	snprintf(most, sizeof(most), "%u", MAIL_MAX);
	presence->mail_asked = !redis_link_command(
		presence->link, on_mail, presence, 3, (const char *[]){"LPOP", key, most}, NULL);
}
