/* stormweir-bench-commits COMMIT FOLDER [ROUNDS]: W8, commits a second through the world thread, as
 * a shard asks for them over its ring, against pgbench's prepared single-row inserts on the same
 * PostgreSQL (16 clients, unix socket), in turns. Run by perf/bench_W8.sh, which starts the server.
 *
 * A commit grants an item to one of 1,000 characters: epoch checked under the row's lock, item
 * upsert, ledger row, and the record that makes it idempotent. One in 20 is refused by the
 * database, half of them for a stale epoch, half because something else lies in the slot. WINDOW
 * are under way.
 *
 * No turn is set aside for waiting for a CPU: on either side more processes than CPUs want to run,
 * all the time. At the end the ledger is audited, and every answer is held against it. */
#include <inttypes.h>
#include <libpq-fe.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <time.h>
#include <unistd.h>

#include "common/commit.h"
#include "common/handle.h"
#include "common/mono.h"
#include "control/world/audit.h"
#include "control/world/world.h"
#include "perf/engine/samples.h"

#define CHARACTERS 1000u
#define SLOTS      8u /* of a bag, that grants go to */
#define ITEM_FIRST 100u
#define REFUSE     20u   /* one in so many */
#define WINDOW     4096u /* commits under way */
#define RING_SLOTS 32768u
#define WARM_MS    60u
#define TURN_MS    300u
#define ROUNDS     40u
#define CLIENTS    16u
#define HANG_S     30u

static struct samples samples;
static struct sw_config config;
static struct world_links links;
static struct world *world;
static uint64_t epochs[CHARACTERS + 1], counter, random_state = 88172645463325252ull;
static uint64_t asked, answered, done, refused, unexpected;
static bool expect_refusal[1u << 16]; /* by the request's counter; more than WINDOW */
static char conninfo[256];

static uint32_t chance(uint32_t below)
{
	random_state ^= random_state << 13;
	random_state ^= random_state >> 7;
	random_state ^= random_state << 17;
	return (uint32_t)((random_state >> 32) * below >> 32);
}

static void die(const char *what)
{
	fprintf(stderr, "W8: %s\n", what);
	exit(1);
}

static void sleep_us(uint32_t us)
{
	struct timespec pause = {0, (long)us * 1000};

	nanosleep(&pause, NULL);
}

/* ---- ours ---- */

static void ask(uint64_t character, uint32_t slot, uint32_t item, uint64_t epoch)
{
	struct msg message[MSG_SLOTS_MAX];
	/* As a shard's: the number of its start, and a counter. */
	struct msg_commit head = {.request = {0x9e3779b97f4a7c15ull, ++counter},
		.character_id = {character},
		.epoch = {epoch},
		.realm_id = 1,
		.expires_ms = 60000,
		.reason = COMMIT_REASON_LOOT,
		.ops = 1};
	struct commit_op op = {
		.kind = COMMIT_SLOT, .slot = (uint16_t)slot, .item = item, .amount = 1};
	uint8_t *at = msg_begin(message, MSG_COMMIT, HANDLE_NONE, sizeof(head) + sizeof(op));

	expect_refusal[counter % (1u << 16)] =
		epoch != epochs[character] || item != ITEM_FIRST + slot;
	memcpy(at, &head, sizeof(head));
	memcpy(at + sizeof(head), &op, sizeof(op));
	if (!msg_ring_push(links.from_shard[0], message))
		die("the ring to the world is full");
	asked++;
}

static void ask_any(void)
{
	uint64_t character = 1 + chance(CHARACTERS);
	uint32_t slot = chance(SLOTS), kind = chance(2 * REFUSE);

	ask(character, slot, kind == 0 ? ITEM_FIRST + SLOTS : ITEM_FIRST + slot,
		kind == 1 ? epochs[character] - 1 : epochs[character]);
}

static uint32_t take_answers(void)
{
	struct msg buffer[4 * MSG_SLOTS_MAX];
	uint32_t slots = msg_ring_pop(links.to_shard[0], buffer, 4 * MSG_SLOTS_MAX), count = 0;

	for (const struct msg *m = buffer; m < buffer + slots; m = msg_next(m)) {
		const struct msg_commit_result *result = (const void *)msg_payload(m);
		bool ok = result->result == COMMIT_RESULT_OK;

		if (m->type != MSG_COMMIT_RESULT)
			continue;
		count++;
		done += ok;
		refused += !ok;
		unexpected += ok == expect_refusal[result->request[1] % (1u << 16)] ||
			      (!ok && result->result != COMMIT_RESULT_STALE &&
				      result->result != COMMIT_RESULT_SLOT_TAKEN);
	}
	answered += count;
	return count;
}

static void settle(void)
{
	uint64_t since_ns = mono_ns();

	while (answered < asked) {
		if (!take_answers())
			sleep_us(100);
		if (mono_ns() - since_ns > HANG_S * NS_PER_S)
			die("commits are not answered");
	}
}

/* Commits answered a second, WINDOW under way throughout. */
static double ours(uint32_t ms)
{
	uint64_t begin_ns = mono_ns(), from_ns = 0, from = 0, now_ns;

	for (;;) {
		while (asked - answered < WINDOW)
			ask_any();
		if (!take_answers())
			sleep_us(200); /* as long as half a drain of the world thread */
		now_ns = mono_ns();
		if (!from_ns && now_ns - begin_ns >= WARM_MS * NS_PER_MS) {
			from_ns = now_ns;
			from = answered;
		}
		if (from_ns && now_ns - from_ns >= ms * NS_PER_MS)
			break;
	}
	double rate = (double)(answered - from) * 1e9 / (double)(now_ns - from_ns);

	settle();
	return rate;
}

static void login(uint64_t character)
{
	struct msg message[2];
	struct msg_character_load load = {
		.session = character, .account_id = 1, .character_id = character, .realm_id = 1};

	snprintf(load.name, sizeof(load.name), "bench%" PRIu64, character);
	memcpy(msg_begin(message, MSG_CHARACTER_LOAD, HANDLE_NONE, sizeof(load)), &load,
		sizeof(load));
	if (!msg_ring_push(links.from_control, message))
		die("the ring to the world is full");
}

static void logins(void)
{
	struct msg buffer[2 * MSG_SLOTS_MAX];
	uint64_t since_ns = mono_ns();
	uint32_t loaded = 0, sent = 0;

	while (loaded < CHARACTERS) {
		uint32_t slots;

		while (sent < CHARACTERS && sent - loaded < 256)
			login(++sent);
		slots = msg_ring_pop(links.to_control, buffer, 2 * MSG_SLOTS_MAX);
		if (!slots)
			sleep_us(500);
		for (const struct msg *m = buffer; m < buffer + slots; m = msg_next(m)) {
			const struct msg_character_loaded *answer = (const void *)msg_payload(m);

			if (answer->result != MSG_LOAD_OK)
				die("a character was not loaded");
			epochs[answer->character_id] = answer->epoch;
			loaded++;
		}
		if (mono_ns() - since_ns > HANG_S * NS_PER_S)
			die("characters are not loaded");
	}
}

/* Something lies in each slot, so that a grant of something else is refused. */
static void fill(void)
{
	for (uint64_t character = 1; character <= CHARACTERS; character++) {
		for (uint32_t slot = 0; slot < SLOTS; slot++)
			ask(character, slot, ITEM_FIRST + slot, epochs[character]);
		settle();
	}
	if (refused)
		die("a slot could not be filled");
}

static uint32_t number(const char *variable, uint32_t otherwise)
{
	const char *text = getenv(variable);

	return text ? (uint32_t)strtoul(text, NULL, 10) : otherwise;
}

static void world_up(void)
{
	config =
		(struct sw_config){.node = {.name = "W8", .realm_id = 1, .stop_deadline_ms = 15000},
			.postgres = {.connect_timeout_ms = 5000,
				.statement_timeout_ms = 5000,
				.saves_pending_max = 1024,
				.saves_per_batch = 250}};
	snprintf(config.postgres.conninfo, sizeof(config.postgres.conninfo), "%s", conninfo);
	config.postgres.commits_pending_max = 8192;
	config.postgres.commits_per_batch = number("SW_W8_BATCH", 250);
	config.postgres.commit_links = number("SW_W8_LINKS", 3);
	config.postgres.record_hours = 168;
	links.shards = 1;
	links.from_control = msg_ring_new("control_world", 1024);
	links.to_control = msg_ring_new("world_control", 1024);
	links.from_shard[0] = msg_ring_new("shard_world", RING_SLOTS);
	links.to_shard[0] = msg_ring_new("world_shard", RING_SLOTS);
	world = world_start(&config, &links, stderr);
	if (!world)
		exit(1);
}

/* ---- pgbench ---- */

static const char *server_folder(void)
{
	const char *folder = getenv("SW_PG_DIR");

	if (!folder)
		die("run perf/bench_W8.sh");
	return folder;
}

static void sql(PGconn *conn, const char *text)
{
	PGresult *result = PQexec(conn, text);

	if (PQresultStatus(result) != PGRES_COMMAND_OK && PQresultStatus(result) != PGRES_TUPLES_OK)
		die(PQerrorMessage(conn));
	PQclear(result);
}

static void reference_make(PGconn *conn)
{
	char path[512];
	FILE *script;

	sql(conn, "CREATE TABLE bench_insert (id bigserial PRIMARY KEY, a bigint NOT NULL, "
		  "b integer NOT NULL, at timestamptz NOT NULL DEFAULT now())");
	snprintf(path, sizeof(path), "%s/w8.sql", samples.folder);
	script = fopen(path, "w");
	if (!script)
		die("the script for pgbench cannot be written");
	fprintf(script, "\\set a random(1, 1000000)\n"
			"INSERT INTO bench_insert (a, b) VALUES (:a, 7);\n");
	fclose(script);
}

/* Inserts a second, without the time to connect; transactions: of each client. */
static double reference(uint32_t transactions)
{
	char command[1024], line[256];
	double rate = 0;
	FILE *output;

	snprintf(command, sizeof(command),
		"%s -n -M prepared -c %u -j 2 -t %u -f %s/w8.sql -h %s/pgrun -U stormweir "
		"stormweir "
		"2>&1",
		getenv("SW_PGBENCH") ? getenv("SW_PGBENCH") : "pgbench", CLIENTS, transactions,
		samples.folder, server_folder());
	output = popen(command, "r");
	if (!output)
		die("pgbench cannot be started");
	while (fgets(line, sizeof(line), output))
		sscanf(line, "tps = %lf", &rate);
	if (pclose(output) != 0 || rate <= 0) {
		fprintf(stderr, "W8: %s\n", command);
		die("pgbench failed");
	}
	return rate;
}

/* Time that PostgreSQL's sessions of the world thread have had on a CPU, in seconds. */
static double sessions_cpu(PGconn *conn)
{
	PGresult *rows = PQexec(conn, "SELECT pid FROM pg_stat_activity WHERE "
				      "starts_with(application_name, 'stormweir/')");
	unsigned long user, kernel, ticks = 0;
	char path[64], text[512];

	for (int i = 0; i < PQntuples(rows); i++) {
		const char *at;
		FILE *stat;

		snprintf(path, sizeof(path), "/proc/%s/stat", PQgetvalue(rows, i, 0));
		stat = fopen(path, "r");
		if (!stat || !fgets(text, sizeof(text), stat))
			die("the time of a session cannot be read");
		fclose(stat);
		at = strrchr(text, ')'); /* the name may have anything in it */
		if (!at || sscanf(at + 1, " %*c %*d %*d %*d %*d %*d %*u %*u %*u %*u %*u %lu %lu",
				   &user, &kernel) != 2)
			die("the time of a session cannot be read");
		ticks += user + kernel;
	}
	PQclear(rows);
	return (double)ticks / (double)sysconf(_SC_CLK_TCK);
}

/* What was said to be done is there, what was refused is not. */
static void audit(PGconn *conn)
{
	char text[128];
	PGresult *result;

	if (audit_ledger(conn, 0, stdout) != 0)
		die("the ledger does not agree with what characters own");
	snprintf(text, sizeof(text), "SELECT count(*) = %" PRIu64 " FROM ledger", done);
	result = PQexec(conn, text);
	if (PQntuples(result) != 1 || strcmp(PQgetvalue(result, 0, 0), "t") != 0)
		die("the ledger has other rows than there were answers");
	PQclear(result);
}

int main(int argc, char **argv)
{
	uint32_t rounds = argc > 3 ? (uint32_t)strtoul(argv[3], NULL, 10) : ROUNDS, transactions;
	PGconn *conn;
	double rate, cpu_s;
	uint64_t commits;

	samples.bench = "W8";
	samples.unit = "a second";
	samples.commit = argc > 1 ? argv[1] : "unknown";
	samples.folder = argc > 2 ? argv[2] : ".";
	samples.sides = 2;
	samples.side[0] = "commits";
	samples.side[1] = "pgbench";
	if (rounds < 1 || rounds > SAMPLES_ROUNDS_MAX)
		die("1 to 200 rounds");
	snprintf(conninfo, sizeof(conninfo), "host=%s/pgrun user=stormweir dbname=stormweir",
		server_folder());
	conn = PQconnectdb(conninfo);
	if (PQstatus(conn) != CONNECTION_OK)
		die(PQerrorMessage(conn));
	reference_make(conn);
	world_up();
	logins();
	fill();
	sql(conn, "VACUUM ANALYZE");
	sql(conn, "CHECKPOINT");
	cpu_s = -sessions_cpu(conn);
	commits = answered;
	rate = reference(50); /* only to know how long a turn is */
	for (; samples.rounds < rounds; samples.rounds++) {
		uint32_t r = samples.rounds;

		samples.value[0][r] = ours(TURN_MS);
		transactions = (uint32_t)(rate * TURN_MS / 1000 / CLIENTS) + 1;
		rate = samples.value[1][r] = reference(transactions);
		samples.kept[0][r] = samples.kept[1][r] = true;
	}
	cpu_s += sessions_cpu(conn);
	commits = answered - commits;
	world_stop(world);
	audit(conn);
	PQfinish(conn);
	printf("%" PRIu64 " commits done, %" PRIu64 " refused (%.1f %%), %" PRIu64
	       " not as expected; the ledger agrees\n",
		done, refused, 100.0 * (double)refused / (double)answered, unexpected);
	printf("%.1f us of CPU time of PostgreSQL's sessions a commit\n",
		cpu_s * 1e6 / (double)commits);
	if (unexpected)
		die("answers that were not expected");
	samples_ratio(&samples, "vs_pgbench", 0, 1, 5, "higher");
	return samples_report(&samples) ? 0 : 1;
}
