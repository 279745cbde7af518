#include "control/world/pg_link.h"

#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "common/check.h"
#include "common/mono.h"

#define REQUEST_GRACE_MS 1000u
#define PAUSE_MIN_NS     (100 * NS_PER_MS)
#define PAUSE_MAX_NS     (5 * NS_PER_S)
#define RESULTS_MAX      32u /* of one request; preparing has the most */

enum link_state { LINK_PAUSE, LINK_CONNECTING, LINK_PREPARING, LINK_READY };

struct request {
	uint64_t tag, sent_ns;
};

struct pg_link {
	struct pg_link_config config;
	uv_loop_t *loop;
	enum link_state state;
	PGconn *conn;
	uv_poll_t *poll; /* of the connection's present socket; NULL for none */
	int poll_events;
	uint64_t deadline_ns; /* pause: next attempt; connecting, preparing: given up */
	uint64_t pause_ns, random;
	uint32_t attempt, failures; /* failures: in a row */
	bool broken;                /* a send failed: ended by the next tick or read */
	uint64_t finished_ns;       /* the last request did */
	struct request *requests;   /* ring [requests_max + 1]: one more for preparing */
	uint32_t head, count;
	PGresult *results[RESULTS_MAX]; /* of the request at head */
	char refusal[160];              /* why statements could not be prepared */
	uint32_t result_count;
};

const char *pg_fault_text(enum pg_fault fault)
{
	static const char *const TEXT[] = {
#define PG_FAULT_TEXT(name, text) text,
		PG_FAULTS(PG_FAULT_TEXT)
#undef PG_FAULT_TEXT
	};

	return fault < PG_FAULT_COUNT ? TEXT[fault] : "?";
}

const char *pg_sqlstate(const PGresult *result)
{
	const char *state = PQresultErrorField(result, PG_DIAG_SQLSTATE);

	return state ? state : "";
}

struct pg_link *pg_link_new(uv_loop_t *loop, const struct pg_link_config *config)
{
	struct pg_link *link = calloc(1, sizeof(*link));

	CHECK(config->prepared_count + 1 < RESULTS_MAX && config->requests_max > 0);
	if (!link)
		return NULL;
	link->requests = calloc(config->requests_max + 1, sizeof(*link->requests));
	if (!link->requests) {
		free(link);
		return NULL;
	}
	link->config = *config;
	link->loop = loop;
	link->pause_ns = PAUSE_MIN_NS;
	link->random = config->seed | 1;
	link->attempt = config->target->first;
	return link;
}

static void poll_free(uv_handle_t *handle)
{
	free(handle);
}

/* The handle is taken off the loop while its socket is still open: libpq may close a socket and get
 * the same number for the next, which epoll would then not know. So a handle never outlives one
 * step of connecting, and is gone before PQfinish. */
static void poll_stop(struct pg_link *link)
{
	if (!link->poll)
		return;
	uv_poll_stop(link->poll);
	uv_close((uv_handle_t *)link->poll, poll_free);
	link->poll = NULL;
}

static void on_poll(uv_poll_t *poll, int status, int events);

static bool poll_start(struct pg_link *link, int events)
{
	if (!link->poll) {
		int fd = PQsocket(link->conn);

		if (fd < 0)
			return false;
		link->poll = calloc(1, sizeof(*link->poll));
		if (!link->poll)
			return false;
		if (uv_poll_init(link->loop, link->poll, fd) != 0) {
			free(link->poll);
			link->poll = NULL;
			return false;
		}
		link->poll->data = link;
		link->poll_events = 0;
	}
	if (link->poll_events == events)
		return true;
	link->poll_events = events;
	return uv_poll_start(link->poll, events, on_poll) == 0;
}

static void results_clear(struct pg_link *link)
{
	for (uint32_t i = 0; i < link->result_count; i++)
		PQclear(link->results[i]);
	link->result_count = 0;
}

static uint64_t random_next(struct pg_link *link)
{
	link->random ^= link->random << 13;
	link->random ^= link->random >> 7;
	link->random ^= link->random << 17;
	return link->random;
}

static void link_end(struct pg_link *link, enum pg_fault fault)
{
	bool was_ready = link->state == LINK_READY;
	uint32_t under_way = link->state == LINK_PREPARING ? 0 : link->count;
	char message[256];

	snprintf(message, sizeof(message), "%s",
		*link->refusal ? link->refusal
		: link->conn   ? PQerrorMessage(link->conn)
			       : "no memory");
	link->refusal[0] = 0;
	message[strcspn(message, "\n")] = 0;
	poll_stop(link);
	results_clear(link);
	PQfinish(link->conn);
	link->conn = NULL;
	link->broken = false;
	link->state = LINK_PAUSE;
	if (was_ready) {
		link->failures = 0;
		link->pause_ns = PAUSE_MIN_NS;
	} else {
		link->failures++;
	}
	if (fault == PG_FAULT_CONNECT_TIMEOUT)
		link->attempt++; /* the next host of the list first */
	link->deadline_ns = mono_ns() + link->pause_ns / 2 + random_next(link) % link->pause_ns;
	link->pause_ns = link->pause_ns * 2 < PAUSE_MAX_NS ? link->pause_ns * 2 : PAUSE_MAX_NS;
	link->count = 0;
	for (uint32_t i = 0; i < under_way; i++) {
		const struct request *r =
			&link->requests[(link->head + i) % (link->config.requests_max + 1)];

		link->config.on_result(link->config.context, r->tag, PG_UNKNOWN, NULL, 0);
	}
	link->config.on_down(link->config.context, fault, message);
}

/* PQflush until nothing is left, waiting for writability in between. */
static void flush(struct pg_link *link)
{
	int left = PQflush(link->conn);

	if (left < 0 || !poll_start(link, left > 0 ? UV_READABLE | UV_WRITABLE : UV_READABLE))
		link->broken = true;
}

static void request_add(struct pg_link *link, uint64_t tag, uint64_t now_ns)
{
	uint32_t at = (link->head + link->count++) % (link->config.requests_max + 1);

	link->requests[at] = (struct request){tag, now_ns};
}

static void prepare(struct pg_link *link)
{
	char timeout[16];
	const char *values[1] = {timeout};
	/* Both in one: waiting for a lock is part of a statement's time. */
	int good = PQsetnonblocking(link->conn, 1) == 0 && PQenterPipelineMode(link->conn) == 1;

	snprintf(timeout, sizeof(timeout), "%u", link->config.statement_timeout_ms);
	good = good &&
	       PQsendQueryParams(link->conn, "SELECT set_config('statement_timeout', $1, false)", 1,
		       NULL, values, NULL, NULL, 0);
	for (uint32_t i = 0; good && i < link->config.prepared_count; i++)
		good = PQsendPrepare(link->conn, link->config.prepared[i].name,
			link->config.prepared[i].sql, 0, NULL);
	good = good && PQpipelineSync(link->conn);
	if (!good) {
		link_end(link, PG_FAULT_PREPARE);
		return;
	}
	link->state = LINK_PREPARING;
	link->head = link->count = 0;
	request_add(link, 0, mono_ns());
	flush(link);
}

static void ignore_notice(void *arg, const PGresult *result)
{
	(void)arg;
	(void)result;
}

static void connect_step(struct pg_link *link, PostgresPollingStatusType step)
{
	if (step == PGRES_POLLING_OK) {
		PQsetNoticeReceiver(link->conn, ignore_notice, NULL);
		prepare(link);
		return;
	}
	if (step == PGRES_POLLING_FAILED ||
		!poll_start(link, step == PGRES_POLLING_READING ? UV_READABLE : UV_WRITABLE))
		link_end(link, PG_FAULT_CONNECT);
}

static void connect_start(struct pg_link *link, uint64_t now_ns)
{
	link->state = LINK_CONNECTING;
	link->deadline_ns = now_ns + link->config.connect_timeout_ms * NS_PER_MS;
	link->conn = pg_target_connect(link->config.target, link->attempt);
	if (!link->conn || PQstatus(link->conn) == CONNECTION_BAD)
		link_end(link, PG_FAULT_CONNECT);
	else
		connect_step(link, PGRES_POLLING_WRITING);
}

/* Errors after which the session is of no use: shutdown (57P..), connection (08..), read-only
 * transaction (the primary became a standby), statement name unknown, cached plan outdated. */
static bool session_is_spent(const char *sqlstate)
{
	return strncmp(sqlstate, "57P", 3) == 0 || strncmp(sqlstate, "08", 2) == 0 ||
	       strcmp(sqlstate, "25006") == 0 || strcmp(sqlstate, "26000") == 0 ||
	       strcmp(sqlstate, "0A000") == 0;
}

static bool failed(const PGresult *result)
{
	ExecStatusType status = PQresultStatus(result);

	return status != PGRES_COMMAND_OK && status != PGRES_TUPLES_OK;
}

/* The request at head is complete. Returns whether the link goes on. */
static bool request_finish(struct pg_link *link)
{
	uint64_t tag = link->requests[link->head].tag;
	enum pg_outcome outcome = PG_DONE;
	const char *text;
	bool spent = false;

	link->finished_ns = mono_ns();
	link->head = (link->head + 1) % (link->config.requests_max + 1);
	link->count--;
	for (uint32_t i = 0; i < link->result_count && outcome == PG_DONE; i++) {
		if (!failed(link->results[i]))
			continue;
		outcome = PG_ERROR;
		spent = session_is_spent(pg_sqlstate(link->results[i]));
		/* The statements behind it only say that they were skipped. */
		while (link->result_count > i + 1)
			PQclear(link->results[--link->result_count]);
	}
	if (link->state == LINK_PREPARING) {
		if (outcome == PG_DONE) {
			link->state = LINK_READY;
			link->failures = 0;
			link->pause_ns = PAUSE_MIN_NS;
			results_clear(link);
			link->config.on_up(link->config.context);
			return true;
		}
		text = PQresultErrorField(
			link->results[link->result_count - 1], PG_DIAG_MESSAGE_PRIMARY);
		snprintf(link->refusal, sizeof(link->refusal), "%s", text ? text : "");
		link_end(link, PG_FAULT_PREPARE);
		return false;
	}
	link->config.on_result(
		link->config.context, tag, outcome, link->results, link->result_count);
	results_clear(link);
	if (spent)
		link_end(link, PG_FAULT_SESSION);
	return !spent;
}

/* Takes what has arrived. Returns whether the link goes on. */
static bool receive(struct pg_link *link)
{
	int nothing = 0;

	while (link->count > 0 && nothing < 2 && !PQisBusy(link->conn)) {
		PGresult *result = PQgetResult(link->conn);

		/* One NULL separates two statements; two in a row: the connection is over. */
		if (!result) {
			nothing++;
			continue;
		}
		nothing = 0;
		if (PQresultStatus(result) == PGRES_PIPELINE_SYNC) {
			PQclear(result);
			if (!request_finish(link))
				return false;
		} else if (link->result_count < RESULTS_MAX) {
			link->results[link->result_count++] = result;
		} else {
			PQclear(result);
		}
	}
	return true;
}

static void on_poll(uv_poll_t *poll, int status, int events)
{
	struct pg_link *link = poll->data;
	bool alive = true;

	if (link->state == LINK_CONNECTING) {
		poll_stop(link);
		connect_step(link, PQconnectPoll(link->conn));
		return;
	}
	/* On an error status too: PQconsumeInput then finds out what is wrong. */
	if (status < 0 || events & UV_READABLE) {
		alive = PQconsumeInput(link->conn) == 1;
		/* What came before the end still counts. */
		if (!receive(link))
			return;
	}
	if (!alive || PQstatus(link->conn) == CONNECTION_BAD || link->broken)
		link_end(link, PG_FAULT_LOST);
	else
		flush(link);
}

void pg_link_tick(struct pg_link *link, uint64_t now_ns)
{
	uint64_t limit_ns = (link->config.statement_timeout_ms + REQUEST_GRACE_MS) * NS_PER_MS;
	uint64_t begun_ns;

	switch (link->state) {
	case LINK_PAUSE:
		if (now_ns >= link->deadline_ns)
			connect_start(link, now_ns);
		break;
	case LINK_CONNECTING:
	case LINK_PREPARING:
		if (now_ns >= link->deadline_ns)
			link_end(link, PG_FAULT_CONNECT_TIMEOUT);
		else if (link->broken)
			link_end(link, PG_FAULT_LOST);
		break;
	case LINK_READY:
		/* The server works on it since it was sent, or the one before it was done. */
		begun_ns = link->requests[link->head].sent_ns;
		if (begun_ns < link->finished_ns)
			begun_ns = link->finished_ns;
		if (link->broken)
			link_end(link, PG_FAULT_LOST);
		else if (link->count > 0 && now_ns > begun_ns + limit_ns)
			link_end(link, PG_FAULT_STATEMENT_TIMEOUT);
		break;
	}
}

void pg_link_hurry(struct pg_link *link)
{
	if (link->state != LINK_PAUSE)
		return;
	link->deadline_ns = 0;
	link->pause_ns = PAUSE_MIN_NS;
}

bool pg_link_ready(const struct pg_link *link)
{
	return link->state == LINK_READY && !link->broken;
}

bool pg_link_away(const struct pg_link *link)
{
	return link->state != LINK_READY && link->failures > 0;
}

bool pg_link_send(struct pg_link *link, uint64_t tag, const struct pg_call *calls, uint32_t count,
	uint64_t now_ns)
{
	static const int BINARY[PG_PARAMS_MAX] = {1, 1, 1, 1, 1, 1, 1, 1, 1, 1, 1, 1, 1, 1, 1, 1};
	int good = 1;

	CHECK(count <= PG_STATEMENTS_MAX);
	if (!pg_link_ready(link) || link->count >= link->config.requests_max)
		return false;
	for (uint32_t i = 0; good && i < count; i++)
		good = PQsendQueryPrepared(link->conn, calls[i].name, calls[i].count,
			calls[i].values, calls[i].bytes, BINARY, 1);
	good = good && PQpipelineSync(link->conn);
	if (!good) {
		/* Without its sync nothing of it can commit. */
		link->broken = true;
		return false;
	}
	request_add(link, tag, now_ns);
	flush(link);
	return true;
}

void pg_link_close(struct pg_link *link)
{
	if (!link)
		return;
	poll_stop(link);
	results_clear(link);
	PQfinish(link->conn);
	free(link->requests);
	free(link);
}
