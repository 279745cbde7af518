#include "control/chat/chat_pg.h"

#include <endian.h>
#include <stdlib.h>
#include <string.h>

#include "common/log.h"
#include "common/mono.h"
#include "control/chat/chat_internal.h"
#include "control/chat/chat_orders.h"
#include "control/chat/chat_redis.h"
#include "control/chat/packet.h"
#include "control/world/pg_binary.h"
#include "control/world/pg_link.h"

/* Requests under way; a player's that finds none free is refused. Some are the thread's own:
 * players never keep the lease from being renewed, nor the log from being written. */
#define CALLS_MAX     128u
#define CALLS_OWN     8u
#define LOG_BATCH     256u
#define LOG_COLUMNS   12u
#define PRUNE_NS      (60 * NS_PER_S)
#define LOG_RETRY_NS  (250 * NS_PER_MS)
#define FETCH_MAX     20
#define REPORTS_SHOWN 8

#define KINDS(X)                                                                                   \
	X(BEAT, chat_beat,                                                                         \
		"SELECT * FROM chat_beat_1($1::int4, $2::text, $3::int8, $4::int4, $5::int8, "     \
		"$6::int8)")                                                                       \
	X(CLAIM, chat_claim,                                                                       \
		"SELECT * FROM chat_claim_1($1::int4, $2::text, $3::int8, $4::int4, $5::int4[], "  \
		"$6::int4[])")                                                                     \
	X(BYE, chat_bye,                                                                           \
		"DELETE FROM chat_shard WHERE realm_id = $1::int4 AND node = $2::text "            \
		"AND boot = $3::int8")                                                             \
	X(LOG, chat_log,                                                                           \
		"INSERT INTO chat_log (realm_id, at, writer, number, channel, kind, token, "       \
		"sequence, sender_id, target_id, verdict, sender, body) SELECT $1::int4, "         \
		"to_timestamp(u.at / 1000.0), u.writer, u.number, u.channel, u.kind, u.token, "    \
		"u.sequence, u.sender_id, u.target_id, u.verdict, u.sender, u.body FROM "          \
		"unnest($2::int8[], $3::int8[], $4::int8[], $5::int8[], $6::int4[], $7::int8[], "  \
		"$8::int8[], $9::int8[], $10::int8[], $11::int4[], $12::text[], $13::text[]) "     \
		"AS u (at, writer, number, channel, kind, token, sequence, sender_id, target_id, " \
		"verdict, sender, body) ON CONFLICT DO NOTHING")                                   \
	X(PRUNE, chat_prune,                                                                       \
		"WITH old AS (SELECT ctid FROM chat_log WHERE realm_id = $1::int4 AND at < "       \
		"now() - $2::int4 * interval '1 day' ORDER BY at LIMIT 10000) DELETE FROM "        \
		"chat_log WHERE realm_id = $1::int4 AND ctid IN (SELECT ctid FROM old)")           \
	X(SANCTION, chat_sanction,                                                                 \
		"INSERT INTO chat_sanction (realm_id, character_id, channel, until_at, version, "  \
		"author, why) VALUES ($1::int4, $2::int8, $3::int8, to_timestamp($4::int8 / "      \
		"1000.0), chat_token_1($1::int4), $5::text, $6::text) ON CONFLICT (realm_id, "     \
		"character_id, channel) DO UPDATE SET until_at = excluded.until_at, version = "    \
		"excluded.version, author = excluded.author, why = excluded.why")                  \
	X(ANNOUNCE, chat_announce,                                                                 \
		"INSERT INTO chat_announcement (realm_id, number, at, author, body) VALUES "       \
		"($1::int4, chat_token_1($1::int4), clock_timestamp(), $2::text, $3::text) "       \
		"RETURNING number")                                                                \
	X(FETCH, chat_fetch,                                                                       \
		"SELECT number, body, (extract(epoch FROM at) * 1000)::int8 FROM (SELECT * FROM "  \
		"chat_announcement WHERE realm_id = $1::int4 AND number > $2::int8 ORDER BY "      \
		"number DESC LIMIT $3::int4) AS newest ORDER BY number")                           \
	X(BLOCKS, chat_blocks,                                                                     \
		"SELECT blocked_id FROM chat_block WHERE realm_id = $1::int4 AND character_id = "  \
		"$2::int8 LIMIT $3::int4")                                                         \
	X(BLOCK, chat_block,                                                                       \
		"INSERT INTO chat_block (realm_id, character_id, blocked_id) VALUES ($1::int4, "   \
		"$2::int8, $3::int8) ON CONFLICT DO NOTHING")                                      \
	X(UNBLOCK, chat_unblock,                                                                   \
		"DELETE FROM chat_block WHERE realm_id = $1::int4 AND character_id = $2::int8 "    \
		"AND blocked_id = $3::int8")                                                       \
	X(REPORT, chat_report,                                                                     \
		"WITH report AS (INSERT INTO chat_report (realm_id, number, at, reporter_id, "     \
		"channel, token, sequence, why) VALUES ($1::int4, chat_token_1($1::int4), now(), " \
		"$2::int8, $3::int8, $4::int8, $5::int8, $6::text) RETURNING number) INSERT INTO " \
		"chat_report_line (realm_id, number, line, sequence, sender_id, sender, body) "    \
		"SELECT $1::int4, report.number, u.line::int4, u.sequence, u.sender_id, "          \
		"u.sender, "                                                                       \
		"u.body FROM report, unnest($7::int8[], $8::int8[], $9::text[], $10::text[]) "     \
		"WITH ORDINALITY AS u (sequence, sender_id, sender, body, line)")                  \
	X(REPORTS, chat_reports,                                                                   \
		"SELECT format(E'report %s, %s UTC, by %s, channel %s, line %s of %s: %s\\n', "    \
		"r.number, to_char(r.at AT TIME ZONE 'UTC', 'YYYY-MM-DD HH24:MI'), "               \
		"r.reporter_id, "                                                                  \
		"to_hex(r.channel), r.sequence, r.token, r.why) || coalesce((SELECT "              \
		"string_agg(format(E'  %s %s (%s): %s\\n', l.sequence, l.sender, l.sender_id, "    \
		"l.body), '' ORDER BY l.line) FROM chat_report_line l WHERE l.realm_id = "         \
		"$1::int4 AND l.number = r.number), '') FROM chat_report r WHERE r.realm_id = "    \
		"$1::int4 AND NOT r.closed ORDER BY r.number LIMIT $2::int4")                      \
	X(CLOSE, chat_close,                                                                       \
		"UPDATE chat_report SET closed = true WHERE realm_id = $1::int4 AND number = "     \
		"$2::int8 RETURNING number")                                                       \
	X(ERASE, chat_erase,                                                                       \
		"WITH said AS (UPDATE chat_log SET body = '', sender = '' WHERE realm_id = "       \
		"$1::int4 AND sender_id = $2::int8 RETURNING 1), shown AS (UPDATE "                \
		"chat_report_line SET body = '', sender = '' WHERE realm_id = $1::int4 AND "       \
		"sender_id = $2::int8 RETURNING 1) SELECT (SELECT count(*) FROM said), (SELECT "   \
		"count(*) FROM shown)")

#define KIND_ENUM(id, name, sql) CALL_##id,
enum call_kind { KINDS(KIND_ENUM) CALL_KINDS };
static const struct pg_prepared prepared[CALL_KINDS] = {
#define PREPARED(id, name, sql) {#name, sql},
	KINDS(PREPARED)
#undef PREPARED
};

struct call {
	bool used;
	enum call_kind kind;
	uint64_t id; /* of an operator's order, or 0 */
	uint64_t session, request;
	uint64_t subject, channel, until_ms;
	uint64_t sent_ns;
	char text[CHAT_TEXT_MAX + 1]; /* of an announcement */
};

struct row {
	uint64_t at_ms, number, channel, token, sequence, sender_id, target_id;
	uint32_t kind, verdict, text_bytes;
	char sender[CHARACTER_NAME_BYTES];
	char text[]; /* [chat.text_max] */
};

struct chat_pg {
	struct chat *chat;
	struct pg_target target;
	struct pg_link *link;
	struct call calls[CALLS_MAX];
	uint64_t tick_ns;
	/* leases */
	uint64_t beat_ns; /* when the next is due */
	bool beating, claiming, leaving, left;
	uint64_t token; /* of this start; 0: not registered yet */
	uint64_t known, known_announcement;
	char live[CHAT_NODES_MAX][NODE_NAME_BYTES];
	uint32_t live_count;
	/* the log */
	uint8_t *rows; /* [log_pending_max] of row_bytes, a ring */
	size_t row_bytes;
	uint32_t row_head, row_count, rows_sent;
	uint64_t row_number, log_retry_ns, prune_ns, lost_said_ns;
	_Atomic uint64_t lost_ns; /* when a row was lost last; 0: none was */
	uint32_t log_limit;
	uint8_t *columns;
	_Atomic bool up;
};

/* ---- sending ---- */

struct args {
	struct pg_call call;
	uint64_t values[PG_PARAMS_MAX];
};

static void arg_32(struct args *a, uint32_t value)
{
	uint32_t *at = (uint32_t *)&a->values[a->call.count];

	*at = htobe32(value);
	pg_call_add(&a->call, at, sizeof(*at));
}

static void arg_64(struct args *a, uint64_t value)
{
	uint64_t *at = &a->values[a->call.count];

	*at = htobe64(value);
	pg_call_add(&a->call, at, sizeof(*at));
}

static void arg_text(struct args *a, const char *text, size_t bytes)
{
	pg_call_add(&a->call, text, bytes);
}

static void args_begin(struct args *a, const struct chat_pg *pg, enum call_kind kind)
{
	a->call = (struct pg_call){.name = prepared[kind].name};
	arg_32(a, pg->chat->config->node.realm_id);
}

static bool own(enum call_kind kind)
{
	return kind == CALL_BEAT || kind == CALL_CLAIM || kind == CALL_BYE || kind == CALL_LOG ||
	       kind == CALL_PRUNE;
}

/* NULL: not sent. */
static struct call *call_send(struct chat_pg *pg, enum call_kind kind, struct args *a)
{
	for (uint32_t i = own(kind) ? 0 : CALLS_OWN; i < CALLS_MAX; i++) {
		struct call *call = &pg->calls[i];

		if (call->used)
			continue;
		if (!pg_link_send(pg->link, i, &a->call, 1, mono_ns()))
			return NULL;
		*call = (struct call){.used = true, .kind = kind, .sent_ns = mono_ns()};
		return call;
	}
	return NULL;
}

/* ---- leases ---- */

static uint64_t beat_every_ns(const struct chat_pg *pg)
{
	return pg->chat->config->chat.lease_ms * NS_PER_MS / 4;
}

static void beat(struct chat_pg *pg, uint64_t now_ns)
{
	const char *name = pg->chat->config->node.name;
	struct call *call;
	struct args a;

	args_begin(&a, pg, CALL_BEAT);
	arg_text(&a, name, strlen(name));
	arg_64(&a, pg->chat->boot);
	arg_32(&a, pg->chat->config->chat.lease_ms);
	arg_64(&a, pg->known);
	arg_64(&a, pg->known_announcement);
	call = call_send(pg, CALL_BEAT, &a);
	if (!call)
		return;
	call->sent_ns = now_ns; /* before it was sent */
	pg->beating = true;
	pg->beat_ns = now_ns + beat_every_ns(pg);
}

static bool lives(const struct chat_pg *pg, const char *name)
{
	for (uint32_t i = 0; i < pg->live_count; i++)
		if (!strcmp(pg->live[i], name))
			return true;
	return false;
}

/* What rendezvous hashing says against what is: given back, or taken. */
static void claim(struct chat_pg *pg)
{
	struct chat *chat = pg->chat;
	const char *names[CHAT_NODES_MAX], *self = chat->config->node.name;
	uint8_t give[PG_ARRAY_HEAD_BYTES + 8 * CHAT_SLOTS],
		take[PG_ARRAY_HEAD_BYTES + 8 * CHAT_SLOTS];
	uint8_t *give_at, *take_at;
	uint32_t list[2][CHAT_SLOTS], count[2] = {0, 0};
	struct args a;

	for (uint32_t i = 0; i < pg->live_count; i++)
		names[i] = pg->live[i];
	for (uint32_t slot = 0; slot < CHAT_SLOTS; slot++) {
		uint32_t owner = chat_slot_owner(slot, names, pg->live_count);
		bool ours = chat->slot_node[slot] == CHAT_NODE_SELF;
		bool wanted = !pg->leaving && owner != UINT32_MAX && !strcmp(names[owner], self);

		if (ours && !wanted && (pg->leaving || owner != UINT32_MAX)) {
			/* At once here: nothing is published that another could publish, too. */
			chat_slot_is(chat, slot, CHAT_NODE_NONE, 0);
			list[0][count[0]++] = slot;
		} else if (!ours && wanted &&
			   (chat->slot_node[slot] == CHAT_NODE_NONE ||
				   !lives(pg, chat->nodes[chat->slot_node[slot]]))) {
			list[1][count[1]++] = slot;
		}
	}
	if (!count[0] && !count[1]) {
		pg->left = pg->leaving;
		return;
	}
	give_at = pg_array_begin(give, PG_OID_INT4, count[0]);
	for (uint32_t i = 0; i < count[0]; i++)
		give_at = pg_array_32(give_at, list[0][i]);
	take_at = pg_array_begin(take, PG_OID_INT4, count[1]);
	for (uint32_t i = 0; i < count[1]; i++)
		take_at = pg_array_32(take_at, list[1][i]);
	args_begin(&a, pg, CALL_CLAIM);
	arg_text(&a, self, strlen(self));
	arg_64(&a, chat->boot);
	arg_32(&a, chat->config->chat.lease_ms);
	pg_call_add(&a.call, give, (size_t)(give_at - give));
	pg_call_add(&a.call, take, (size_t)(take_at - take));
	pg->claiming = call_send(pg, CALL_CLAIM, &a) != NULL;
}

static void count_slots(struct chat *chat)
{
	uint32_t ours = 0;

	for (uint32_t slot = 0; slot < CHAT_SLOTS; slot++)
		ours += chat->slot_node[slot] == CHAT_NODE_SELF;
	counter_put(&chat->counters[CHAT_C_OWNED_SLOTS], ours);
}

static void copy_name(char out[NODE_NAME_BYTES], const PGresult *result, int row)
{
	snprintf(out, NODE_NAME_BYTES, "%.*s", PQgetlength(result, row, 3),
		PQgetvalue(result, row, 3));
}

static void slot_row(struct chat_pg *pg, const PGresult *result, int row)
{
	struct chat *chat = pg->chat;
	uint64_t slot = pg_column_64(result, row, 1), token = pg_column_64(result, row, 2);
	char name[NODE_NAME_BYTES];
	uint32_t node;

	if (slot >= CHAT_SLOTS)
		return;
	copy_name(name, result, row);
	if (!name[0])
		node = CHAT_NODE_NONE;
	else if (strcmp(name, chat->config->node.name) != 0)
		node = chat_node(chat, name);
	else /* of an earlier start: it runs out */
		node = pg_column_64(result, row, 4) == chat->boot && !pg->leaving ? CHAT_NODE_SELF
										  : CHAT_NODE_NONE;
	chat_slot_is(chat, (uint32_t)slot, node, token);
}

static void sanction_row(struct chat_pg *pg, const PGresult *result, int row)
{
	struct chat *chat = pg->chat;
	uint64_t character_id = pg_column_64(result, row, 1);
	uint64_t channel = pg_column_64(result, row, 2), until_ms = pg_column_64(result, row, 4);

	if (!chat_sanctions_set(chat->sanctions, character_id, channel, until_ms, chat->unix_ms))
		sw_log(SW_LOG_ERROR, "chat", "more than %u mutes and bans: one does not bind",
			CHAT_SANCTIONS_MAX);
	else if (channel && until_ms > chat->unix_ms)
		chat_gateway_expel(chat->gateway, character_id, channel);
}

static void beaten(struct chat_pg *pg, const PGresult *result, uint64_t sent_ns)
{
	struct chat *chat = pg->chat;
	bool first = !pg->token;

	pg->live_count = 0;
	for (int row = 0; row < PQntuples(result); row++)
		switch (pg_column_32(result, row, 0)) {
		case 0:
			if (pg->token != pg_column_64(result, row, 2)) {
				pg->token = pg_column_64(result, row, 2);
				chat_gateway_token(chat->gateway, pg->token);
			}
			pg->known = pg_column_64(result, row, 1);
			if (first) /* those before are fetched by who wants them */
				pg->known_announcement = pg->known;
			break;
		case 1:
			if (pg->live_count < CHAT_NODES_MAX)
				copy_name(pg->live[pg->live_count++], result, row);
			break;
		case 2:
			slot_row(pg, result, row);
			break;
		case 3:
			sanction_row(pg, result, row);
			break;
		case 4:
			if (pg_column_64(result, row, 1) <= pg->known_announcement)
				break;
			pg->known_announcement = pg_column_64(result, row, 1);
			chat_announce(chat, pg->known_announcement, PQgetvalue(result, row, 5),
				(uint32_t)PQgetlength(result, row, 5),
				pg_column_64(result, row, 4));
			break;
		default:
			break;
		}
	for (uint32_t i = 1; i < CHAT_NODES_MAX; i++)
		if (chat->nodes[i][0] && !lives(pg, chat->nodes[i]))
			chat_node_gone(chat, i);
	for (uint32_t i = 0; i < pg->live_count; i++)
		chat_node(chat, pg->live[i]);
	chat_owner_until(chat->owner, sent_ns + chat->config->chat.lease_ms * NS_PER_MS / 10 * 9);
	claim(pg);
	count_slots(chat);
}

static void claimed(struct chat_pg *pg, const PGresult *result)
{
	for (int row = 0; row < PQntuples(result); row++) {
		uint32_t slot = pg_column_32(result, row, 0);

		if (slot < CHAT_SLOTS && !pg->leaving)
			chat_slot_is(pg->chat, slot, CHAT_NODE_SELF, pg_column_64(result, row, 1));
	}
	count_slots(pg->chat);
	pg->left = pg->leaving;
	if (PQntuples(result))
		chat_redis_nudge(pg->chat->redis);
}

/* ---- the log ---- */

static struct row *row_at(const struct chat_pg *pg, uint32_t i)
{
	uint32_t at = (pg->row_head + i) % pg->chat->config->chat.log_pending_max;

	return (struct row *)(pg->rows + at * pg->row_bytes);
}

void chat_pg_log(struct chat_pg *pg, const struct chat_said *said, uint64_t target_id,
	enum chat_refusal reason)
{
	const struct sw_config *config = pg->chat->config;
	struct row *row;

	if (!config->chat.log_days)
		return;
	if (pg->row_count == config->chat.log_pending_max) {
		chat_count(pg->chat->counters, CHAT_C_LOG_LOST, 1);
		counter_put(&pg->lost_ns, pg->chat->now_ns);
		if (pg->chat->now_ns - pg->lost_said_ns >= 60 * NS_PER_S) {
			pg->lost_said_ns = pg->chat->now_ns;
			sw_log(SW_LOG_WARN, "chat",
				"the log of what is said does not keep up (chat.log_pending_max): "
				"lines are delivered and not written down");
		}
		return;
	}
	row = row_at(pg, pg->row_count++);
	*row = (struct row){.at_ms = said->unix_ms,
		.number = ++pg->row_number,
		.channel = said->channel,
		.token = said->token,
		.sequence = said->sequence,
		.sender_id = said->sender_id,
		.target_id = target_id,
		.kind = said->kind,
		.verdict = reason};
	snprintf(row->sender, sizeof(row->sender), "%s", said->sender);
	row->text_bytes = said->text_bytes < config->chat.text_bytes_max
				  ? said->text_bytes
				  : config->chat.text_bytes_max;
	memcpy(row->text, said->text, row->text_bytes);
}

static uint8_t *column(const struct chat_pg *pg, uint8_t *at, uint32_t c, uint32_t count)
{
	static const uint32_t types[LOG_COLUMNS] = {PG_OID_INT8, PG_OID_INT8, PG_OID_INT8,
		PG_OID_INT8, PG_OID_INT4, PG_OID_INT8, PG_OID_INT8, PG_OID_INT8, PG_OID_INT8,
		PG_OID_INT4, PG_OID_TEXT, PG_OID_TEXT};

	at = pg_array_begin(at, types[c], count);
	for (uint32_t i = 0; i < count; i++) {
		const struct row *row = row_at(pg, i);
		const uint64_t wide[] = {row->at_ms, pg->chat->boot, row->number, row->channel, 0,
			row->token, row->sequence, row->sender_id, row->target_id};

		if (c == 4)
			at = pg_array_32(at, row->kind);
		else if (c == 9)
			at = pg_array_32(at, row->verdict);
		else if (c == 10)
			at = pg_array_bytes(at, row->sender, (uint32_t)strlen(row->sender));
		else if (c == 11)
			at = pg_array_bytes(at, row->text, row->text_bytes);
		else
			at = pg_array_64(at, wide[c]);
	}
	return at;
}

static void log_send(struct chat_pg *pg)
{
	uint32_t count = pg->row_count < pg->log_limit ? pg->row_count : pg->log_limit;
	uint8_t *at = pg->columns;
	struct args a;

	args_begin(&a, pg, CALL_LOG);
	for (uint32_t c = 0; c < LOG_COLUMNS; c++) {
		uint8_t *start = at;

		at = column(pg, at, c, count);
		pg_call_add(&a.call, start, (size_t)(at - start));
	}
	if (call_send(pg, CALL_LOG, &a))
		pg->rows_sent = count;
}

static void log_sent(struct chat_pg *pg, enum pg_outcome outcome)
{
	uint32_t done = 0;

	if (outcome == PG_DONE) {
		done = pg->rows_sent;
		pg->log_limit = LOG_BATCH;
		chat_count(pg->chat->counters, CHAT_C_LOG_WRITTEN, done);
	} else if (outcome == PG_ERROR && pg->rows_sent == 1) { /* one row is to blame */
		done = 1;
		chat_count(pg->chat->counters, CHAT_C_LOG_LOST, 1);
	} else if (outcome == PG_ERROR) {
		pg->log_limit = pg->rows_sent / 2;
		pg->log_retry_ns = mono_ns() + LOG_RETRY_NS;
	}
	pg->row_head = (pg->row_head + done) % pg->chat->config->chat.log_pending_max;
	pg->row_count -= done;
	pg->rows_sent = 0;
}

/* ---- what is asked for others ---- */

bool chat_pg_fetch(struct chat_pg *pg, uint64_t session, uint64_t request, uint64_t after)
{
	struct call *call;
	struct args a;

	args_begin(&a, pg, CALL_FETCH);
	arg_64(&a, after > INT64_MAX ? INT64_MAX : after);
	arg_32(&a, FETCH_MAX);
	call = call_send(pg, CALL_FETCH, &a);
	if (!call)
		return false;
	call->session = session;
	call->request = request;
	return true;
}

static void fetched(struct chat_pg *pg, const struct call *call, const PGresult *result)
{
	uint8_t packet[CHAT_TEXT_MAX + 64];

	for (int row = 0; row < PQntuples(result); row++)
		chat_gateway_send(pg->chat->gateway, call->session, packet,
			chat_packet_announcement(pg_column_64(result, row, 0),
				PQgetvalue(result, row, 1), (uint32_t)PQgetlength(result, row, 1),
				pg_column_64(result, row, 2), packet, sizeof(packet)));
}

void chat_pg_blocks(struct chat_pg *pg, uint64_t character_id)
{
	struct call *call;
	struct args a;

	args_begin(&a, pg, CALL_BLOCKS);
	arg_64(&a, character_id);
	arg_32(&a, CHAT_BLOCKS_MAX);
	call = call_send(pg, CALL_BLOCKS, &a);
	if (call)
		call->subject = character_id;
}

static void blocks(struct chat_pg *pg, const struct call *call, const PGresult *result)
{
	uint64_t blocked[CHAT_BLOCKS_MAX];
	uint32_t count = 0;

	for (int row = 0; row < PQntuples(result) && count < CHAT_BLOCKS_MAX; row++)
		blocked[count++] = pg_column_64(result, row, 0);
	chat_gateway_blocks(pg->chat->gateway, call->subject, blocked, count);
}

void chat_pg_block(struct chat_pg *pg, uint64_t character_id, uint64_t blocked_id, bool blocked)
{
	enum call_kind kind = blocked ? CALL_BLOCK : CALL_UNBLOCK;
	struct args a;

	args_begin(&a, pg, kind);
	arg_64(&a, character_id);
	arg_64(&a, blocked_id);
	if (!call_send(pg, kind, &a))
		sw_log(SW_LOG_WARN, "chat",
			"PostgreSQL is away: a block of character %llu is good for this session",
			(unsigned long long)character_id);
}

bool chat_pg_report(struct chat_pg *pg, uint64_t session, uint64_t request, uint64_t reporter_id,
	uint64_t channel, uint64_t token, uint64_t sequence, const uint8_t *why, uint32_t why_bytes,
	const struct chat_said *lines, uint32_t count)
{
	uint8_t *at = pg->columns, *start; /* a batch of the log may be under way: it was copied */
	struct call *call;
	struct args a;

	args_begin(&a, pg, CALL_REPORT);
	arg_64(&a, reporter_id);
	arg_64(&a, channel);
	arg_64(&a, token);
	arg_64(&a, sequence);
	arg_text(&a, (const char *)why, why_bytes);
	for (uint32_t c = 0; c < 4; c++) {
		start = at;
		at = pg_array_begin(at, c < 2 ? PG_OID_INT8 : PG_OID_TEXT, count);
		for (uint32_t i = 0; i < count; i++)
			at = c == 0   ? pg_array_64(at, lines[i].sequence)
			     : c == 1 ? pg_array_64(at, lines[i].sender_id)
			     : c == 2 ? pg_array_bytes(at, lines[i].sender,
						(uint32_t)strlen(lines[i].sender))
				      : pg_array_bytes(at, lines[i].text, lines[i].text_bytes);
		pg_call_add(&a.call, start, (size_t)(at - start));
	}
	call = call_send(pg, CALL_REPORT, &a);
	if (!call)
		return false;
	call->session = session;
	call->request = request;
	return true;
}

/* ---- operators ---- */

bool chat_pg_sanction(struct chat_pg *pg, uint64_t id, uint64_t character_id, uint64_t channel,
	uint64_t until_ms, const char *author, const char *why)
{
	struct call *call;
	struct args a;

	args_begin(&a, pg, CALL_SANCTION);
	arg_64(&a, character_id);
	arg_64(&a, channel);
	arg_64(&a, until_ms);
	arg_text(&a, author, strlen(author));
	arg_text(&a, why, strlen(why));
	call = call_send(pg, CALL_SANCTION, &a);
	if (!call)
		return false;
	call->id = id;
	call->subject = character_id;
	call->channel = channel;
	call->until_ms = until_ms;
	return true;
}

bool chat_pg_announce(struct chat_pg *pg, uint64_t id, const char *author, const char *text)
{
	struct call *call;
	struct args a;

	args_begin(&a, pg, CALL_ANNOUNCE);
	arg_text(&a, author, strlen(author));
	arg_text(&a, text, strlen(text));
	call = call_send(pg, CALL_ANNOUNCE, &a);
	if (!call)
		return false;
	call->id = id;
	return true;
}

bool chat_pg_reports(struct chat_pg *pg, uint64_t id)
{
	struct call *call;
	struct args a;

	args_begin(&a, pg, CALL_REPORTS);
	arg_32(&a, REPORTS_SHOWN);
	call = call_send(pg, CALL_REPORTS, &a);
	if (call)
		call->id = id;
	return call != NULL;
}

static bool send_number(struct chat_pg *pg, enum call_kind kind, uint64_t id, uint64_t number)
{
	struct call *call;
	struct args a;

	args_begin(&a, pg, kind);
	arg_64(&a, number);
	call = call_send(pg, kind, &a);
	if (!call)
		return false;
	call->id = id;
	call->subject = number;
	return true;
}

bool chat_pg_close(struct chat_pg *pg, uint64_t id, uint64_t number)
{
	return send_number(pg, CALL_CLOSE, id, number);
}

bool chat_pg_erase(struct chat_pg *pg, uint64_t id, uint64_t character_id)
{
	return send_number(pg, CALL_ERASE, id, character_id);
}

static void reports(struct chat_pg *pg, const struct call *call, const PGresult *result)
{
	char text[ORDER_TEXT_BYTES] = "";
	size_t used = 0;

	for (int row = 0; row < PQntuples(result) && used < sizeof(text) - 1; row++)
		used += (size_t)snprintf(text + used, sizeof(text) - used, "%.*s",
			PQgetlength(result, row, 0), PQgetvalue(result, row, 0));
	chat_order_answer(
		pg->chat, call->id, ORDER_DONE, "%s", used ? text : "nothing is reported");
}

static void order_done(struct chat_pg *pg, const struct call *call, const PGresult *result)
{
	struct chat *chat = pg->chat;
	unsigned long long subject = call->subject;

	switch (call->kind) {
	case CALL_SANCTION:
		chat_sanctions_set(chat->sanctions, call->subject, call->channel, call->until_ms,
			chat->unix_ms);
		if (call->channel && call->until_ms)
			chat_gateway_expel(chat->gateway, call->subject, call->channel);
		chat_redis_nudge(chat->redis);
		chat_order_answer(chat, call->id, ORDER_DONE, "character %llu %s%s", subject,
			call->until_ms > chat->unix_ms ? "is " : "is no longer ",
			call->channel ? "banned from the channel" : "muted");
		break;
	case CALL_ANNOUNCE:
		chat_pg_hurry(pg);
		chat_redis_nudge(chat->redis);
		chat_order_answer(chat, call->id, ORDER_DONE, "announcement %llu",
			(unsigned long long)pg_column_64(result, 0, 0));
		break;
	case CALL_REPORTS:
		reports(pg, call, result);
		break;
	case CALL_CLOSE:
		chat_order_answer(chat, call->id, PQntuples(result) ? ORDER_DONE : ORDER_REFUSED,
			PQntuples(result) ? "report %llu is closed" : "there is no report %llu",
			subject);
		break;
	default:
		chat_order_answer(chat, call->id, ORDER_DONE,
			"of character %llu, %llu lines of the log and %llu of reports are erased",
			subject, (unsigned long long)pg_column_64(result, 0, 0),
			(unsigned long long)pg_column_64(result, 0, 1));
	}
}

/* ---- results ---- */

static void failed(struct chat_pg *pg, const struct call *call, const PGresult *result)
{
	const char *why =
		result ? PQresultErrorField(result, PG_DIAG_MESSAGE_PRIMARY) : "no connection";

	if (result)
		sw_log(SW_LOG_WARN, "chat", "%s: %s", prepared[call->kind].name, why);
	if (call->id)
		chat_order_answer(pg->chat, call->id, ORDER_UNAVAILABLE,
			"PostgreSQL: %s; it may have been done", why);
	else if (call->session)
		chat_gateway_answer(
			pg->chat->gateway, call->session, call->request, CHAT_REFUSED_UNAVAILABLE);
}

static void on_result(void *context, uint64_t tag, enum pg_outcome outcome,
	PGresult *const *results, uint32_t count)
{
	struct chat_pg *pg = context;
	struct call *call = &pg->calls[tag];
	const PGresult *result = count ? results[count - 1] : NULL;

	pg->chat->now_ns = mono_ns();
	pg->beating &= call->kind != CALL_BEAT;
	pg->claiming &= call->kind != CALL_CLAIM;
	if (call->kind == CALL_LOG)
		log_sent(pg, outcome);
	if (outcome != PG_DONE) {
		failed(pg, call, result);
	} else if (call->kind == CALL_BEAT) {
		beaten(pg, result, call->sent_ns);
	} else if (call->kind == CALL_CLAIM) {
		claimed(pg, result);
	} else if (call->kind == CALL_BLOCKS) {
		blocks(pg, call, result);
	} else if (call->id) {
		order_done(pg, call, result);
	} else if (call->session) {
		if (call->kind == CALL_FETCH)
			fetched(pg, call, result);
		chat_gateway_answer(
			pg->chat->gateway, call->session, call->request, CHAT_REFUSED_NONE);
	}
	call->used = false;
}

static void on_up(void *context)
{
	struct chat_pg *pg = context;

	pg->up = true;
	pg->beat_ns = 0;
	if (pg->token)
		sw_log(SW_LOG_INFO, "chat", "PostgreSQL is back");
}

static void on_down(void *context, enum pg_fault fault, const char *message)
{
	struct chat_pg *pg = context;

	if (pg->up)
		sw_log(SW_LOG_WARN, "chat", "PostgreSQL: %s: %s", pg_fault_text(fault), message);
	pg->up = false;
}

/* ---- life ---- */

struct chat_pg *chat_pg_new(struct chat *chat, FILE *errors)
{
	const struct sw_config *config = chat->config;
	struct chat_pg *pg = calloc(1, sizeof(*pg));
	const struct pg_link_config link = {.target = pg ? &pg->target : NULL,
		.prepared = prepared,
		.prepared_count = CALL_KINDS,
		.connect_timeout_ms = config->postgres.connect_timeout_ms,
		.statement_timeout_ms = config->postgres.statement_timeout_ms,
		.requests_max = CALLS_MAX,
		.seed = chat->boot,
		.context = pg,
		.on_result = on_result,
		.on_up = on_up,
		.on_down = on_down};

	if (!pg)
		return NULL;
	pg->chat = chat;
	pg->log_limit = LOG_BATCH;
	if (pg_target_init(&pg->target, config->postgres.conninfo, config->node.name, errors)) {
		free(pg);
		return NULL;
	}
	pg->row_bytes = (sizeof(struct row) + config->chat.text_bytes_max + 7) & ~(size_t)7;
	pg->rows = calloc(config->chat.log_pending_max, pg->row_bytes);
	pg->columns = malloc(LOG_COLUMNS * PG_ARRAY_HEAD_BYTES +
			     LOG_BATCH * (LOG_COLUMNS * 12 + CHARACTER_NAME_BYTES +
						 config->chat.text_bytes_max));
	pg->link = pg_link_new(&chat->loop, &link);
	if (!pg->rows || !pg->columns || !pg->link) {
		chat_pg_free(pg);
		return NULL;
	}
	return pg;
}

void chat_pg_free(struct chat_pg *pg)
{
	if (!pg)
		return;
	pg_link_close(pg->link);
	pg_target_fini(&pg->target);
	free(pg->rows);
	free(pg->columns);
	free(pg);
}

static void prune(struct chat_pg *pg, uint64_t now_ns)
{
	struct args a;

	args_begin(&a, pg, CALL_PRUNE);
	arg_32(&a, pg->chat->config->chat.log_days);
	if (call_send(pg, CALL_PRUNE, &a))
		pg->prune_ns = now_ns + PRUNE_NS;
}

void chat_pg_tick(struct chat_pg *pg, uint64_t now_ns)
{
	if (now_ns - pg->tick_ns >= PG_LINK_TICK_MS * NS_PER_MS) {
		pg->tick_ns = now_ns;
		pg_link_tick(pg->link, now_ns);
	}
	counter_put(&pg->chat->counters[CHAT_C_LOG_WAITING], pg->row_count);
	if (!pg_link_ready(pg->link))
		return;
	if (!pg->beating && !pg->claiming && !pg->leaving && now_ns >= pg->beat_ns)
		beat(pg, now_ns);
	if (pg->row_count && !pg->rows_sent && now_ns >= pg->log_retry_ns)
		log_send(pg);
	if (pg->chat->config->chat.log_days && now_ns >= pg->prune_ns)
		prune(pg, now_ns);
}

void chat_pg_hurry(struct chat_pg *pg)
{
	pg->beat_ns = 0;
}

bool chat_pg_finish(struct chat_pg *pg, uint64_t now_ns)
{
	const char *name = pg->chat->config->node.name;
	struct args a;

	if (!pg_link_ready(pg->link))
		return true;
	if (!pg->leaving && !pg->beating && !pg->claiming) {
		pg->leaving = true;
		claim(pg);
		args_begin(&a, pg, CALL_BYE);
		arg_text(&a, name, strlen(name));
		arg_64(&a, pg->chat->boot);
		call_send(pg, CALL_BYE, &a);
	}
	(void)now_ns;
	return pg->left && !pg->row_count;
}

bool chat_pg_up(const struct chat_pg *pg)
{
	return pg->up;
}

bool chat_pg_log_lost(const struct chat_pg *pg, uint64_t now_ns)
{
	uint64_t lost_ns = counter_get(&pg->lost_ns);

	return lost_ns && now_ns < lost_ns + 60 * NS_PER_S;
}
