/* Proves that an attack pays, and players do not: forged tickets, replayed ones, wrong passes and
 * wrong answers to challenges come from 20,000 sources, far more than the verifying thread can
 * take, and some of the attackers do the work that they are asked for; players get in at the rate
 * at which they come. Everything is counted in turns of 10 virtual ms: the test is as fast as the
 * machine, its result is the same on each. With the proof of work switched off the same attack does
 * keep players out: so it is one. */
#include <string.h>

#include "control/admission/admission_testing.h"
#include "control/admission/map64.h"
#include "proto/client.pb-c.h"

#define TURN_NS  (10 * NS_PER_MS)
#define VERIFIES 150u /* in a turn: 65 us each */
#define SOURCES  20000u
#define PEERS    12000u

/* Turns: quiet, attacked, quiet again. */
#define ATTACK_FROM 50u
#define ATTACK_TO   250u
#define TURNS       450u
/* The first turns of an attack are its surprise: the queue has filled before work is asked for. */
#define SURPRISE 60u

/* A second. */
#define QUICK 100u

#define PLAYERS_PER_TURN 2u
#define PLAYERS          (PLAYERS_PER_TURN * TURNS)
/* Hashes in a turn: a slow phone; all attackers together, who are a fast machine. */
#define PLAYER_HASHES   4096u
#define ATTACKER_HASHES 10000u

/* X(kind, how many come in a turn) */
#define KINDS(X)                                                                                   \
	X(PLAYER, PLAYERS_PER_TURN)                                                                \
	X(FORGED, 400)      /* signed by nobody; does not work */                                  \
	X(REPLAYED, 400)    /* a good ticket that was used; does not work */                       \
	X(WRONG_ANSWER, 60) /* answers the challenge with any number */                            \
	X(WRONG_PASS, 60)                                                                          \
	X(WORKER, 20) /* a forged ticket, and the work, as far as the hashes go */

#define KIND_ENUM(kind, n) kind,
enum kind { KINDS(KIND_ENUM) KIND_COUNT };
static const uint32_t per_turn[KIND_COUNT] = {
#define KIND_N(kind, n) n,
	KINDS(KIND_N)
#undef KIND_N
};

struct client {
	enum kind kind;
	bool connected, challenged;
	uint32_t generation, player;
	uint32_t bits;
	uint64_t number;
	uint8_t challenge[SW_PROOF_CHALLENGE_BYTES];
};

struct player {
	uint32_t came, in; /* turns; 0: not */
	uint32_t again;    /* the turn in which it tries again; 0: it does not wait for that */
	bool refused;      /* for good */
};

static struct client clients[PEERS];
static uint32_t free_clients[PEERS], free_count;
static struct player players[PLAYERS];
static struct map64 used; /* nonces that Redis has noted */
static uint8_t replayed[TICKET_BYTES_MAX], forged[TICKET_BYTES_MAX], wrong_pass[PASS_BYTES_MAX];
static uint32_t replayed_bytes, forged_bytes, wrong_pass_bytes;
static uint32_t turn, hashes_left, came[KIND_COUNT], without_client;
static uint64_t random_state;

static uint32_t below(uint32_t n)
{
	random_state = random_state * 6364136223846793005ull + 1442695040888963407ull;
	return (uint32_t)(random_state >> 33) % n;
}

static uint64_t peer_handle(const struct client *client)
{
	uint32_t index = (uint32_t)(client - clients);

	return handle_make(index % 2, client->generation, index);
}

static struct ticket player_ticket(uint32_t player)
{
	struct ticket ticket = ticket_for(1 + player, 1 + player);

	memcpy(ticket.nonce, &player, sizeof(player));
	return ticket;
}

static void say_hello(struct client *client)
{
	struct ticket ticket = player_ticket(client->player);
	struct brings brings = {.bytes = forged, .count = forged_bytes};

	if (client->challenged) {
		brings.challenge = client->challenge;
		brings.number = client->number;
	}
	if (client->kind == PLAYER) {
		brings.ticket = &ticket;
	} else if (client->kind == REPLAYED) {
		brings.bytes = replayed;
		brings.count = replayed_bytes;
	} else if (client->kind == WRONG_PASS) {
		brings.count = 0;
		brings.pass = wrong_pass;
		brings.pass_bytes = wrong_pass_bytes;
	}
	hello_with(peer_handle(client), &brings);
}

static void come(enum kind kind, uint32_t player)
{
	struct client *client;

	came[kind]++;
	if (!free_count) { /* the dataplane's own cap, which is not what is tested here */
		without_client++;
		return;
	}
	client = &clients[free_clients[--free_count]];
	*client = (struct client){.kind = kind,
		.connected = true,
		.generation = client->generation + 1,
		.player = player};
	connected_from(peer_handle(client),
		kind == PLAYER ? 0x0b000000 + player : 0x0a000000 + below(SOURCES));
	say_hello(client);
}

static void client_gone(struct client *client)
{
	client->connected = false;
	gone(peer_handle(client));
	free_clients[free_count++] = (uint32_t)(client - clients);
}

/* A client that works, as far as its hashes go. */
static void work(struct client *client)
{
	uint64_t tries = client->kind == PLAYER ? PLAYER_HASHES : hashes_left;
	uint64_t from = client->number;
	bool good = solve(client->challenge, client->bits, tries, &client->number);

	if (client->kind == WORKER)
		hashes_left -= (uint32_t)(client->number - from);
	if (!good)
		return;
	say_hello(client);
	client->challenged = false;
}

/* ---- what admission says ---- */

static void on_told(struct client *client, const struct msg *said)
{
	const uint8_t *data = msg_payload(said);
	Sw__Challenge *message;

	if (data[0] != SW_MSG_CHALLENGE)
		return;
	message = sw__challenge__unpack(NULL, said->payload_bytes - 1, data + 1);
	assert_non_null(message);
	client->challenged = true;
	client->bits = message->bits;
	memcpy(client->challenge, message->challenge.data, SW_PROOF_CHALLENGE_BYTES);
	sw__challenge__free_unpacked(message, NULL);
	if (client->kind == WRONG_ANSWER)
		say_hello(client);
	else if (client->kind == FORGED || client->kind == REPLAYED)
		client_gone(client); /* rather comes again from elsewhere */
}

static void on_disconnect(struct client *client, const struct msg *message)
{
	struct msg_peer_disconnect body;

	memcpy(&body, msg_payload(message), sizeof(body));
	if (client->kind == PLAYER && body.data == SW_REASON_TRY_LATER)
		players[client->player].again = turn + ADM_RETRY_MS * NS_PER_MS / TURN_NS;
	else if (client->kind == PLAYER)
		players[client->player].refused = true;
	client_gone(client);
}

static void on_claim(uint64_t session, const uint8_t *nonce)
{
	uint64_t short_nonce = 1;

	memcpy(&short_nonce, nonce, 4);
	short_nonce += 1ull << 40;
	if (map64_get(&used, short_nonce) != MAP64_NONE) {
		claimed(session, ADM_CLAIM_USED);
		return;
	}
	assert_true(map64_put(&used, short_nonce, 1));
	claimed(session, ADM_CLAIM_OURS);
}

/* It is in, and leaves at once: the places are not what is tested. */
static void on_join(struct client *client, uint64_t session)
{
	assert_int_equal(client->kind, PLAYER);
	assert_int_equal(players[client->player].in, 0);
	players[client->player].in = turn;
	shard_says(0, MSG_PLAYER_JOINED, session, 9);
	client_gone(client);
	shard_says(0, MSG_PLAYER_LEFT, session, 0);
}

/* All that has been sent, and what follows from it. */
static void answer_all(void)
{
	for (uint32_t i = 0; i < sent_count; i++) {
		const struct sent *one = &sent[i];
		struct client *client = &clients[handle_index(one->message[0].peer)];

		if (one->to == 'c') {
			on_claim(one->session, one->nonce);
			continue;
		}
		if (one->to == 'w') {
			loaded_as(one->session, MSG_LOAD_OK, "meadow");
			continue;
		}
		if ((one->to != 'd' && one->to != 's') || !client->connected ||
			peer_handle(client) != one->message[0].peer)
			continue;
		if (one->message[0].type == MSG_PEER_SEND)
			on_told(client, one->message);
		else if (one->message[0].type == MSG_PEER_DISCONNECT)
			on_disconnect(client, one->message);
		else if (one->message[0].type == MSG_PLAYER_JOIN)
			on_join(client, one->session);
	}
	sent_count = 0;
}

/* ---- a run ---- */

static void prepare(uint32_t proof_bits_max)
{
	struct ticket ticket = player_ticket(UINT32_MAX);
	struct pass pass = {.purpose = PASS_RETURN,
		.realm_id = 1,
		.account_id = 1,
		.character_id = 1,
		.generation = 9,
		.expires_unix_s = WALL + 60,
		.name = "a"};

	begin(1000);
	config.enet.peers_max = PEERS / 2;
	config.admission.verify_waiting_max = 4096;
	config.admission.proof_wait_ms = 100;
	config.admission.proof_bits_max = proof_bits_max;
	begin_again();
	verify_held = true;
	random_state = 1;
	memset(clients, 0, sizeof(clients));
	memset(players, 0, sizeof(players));
	memset(came, 0, sizeof(came));
	for (free_count = 0; free_count < PEERS; free_count++)
		free_clients[free_count] = free_count;
	without_client = 0;
	map64_fini(&used);
	assert_true(map64_init(&used, 2 * PLAYERS));
	replayed_bytes = (uint32_t)ticket_sign(replayed, &ticket, key.id, key.secret_key);
	assert_true(map64_put(&used, UINT32_MAX + (1ull << 40), 1));
	memcpy(forged, replayed, replayed_bytes);
	forged_bytes = replayed_bytes;
	forged[30] ^= 1;
	wrong_pass_bytes = (uint32_t)pass_seal(wrong_pass, &pass, &secrets.pass_keys);
	wrong_pass[20] ^= 1;
}

static void run(uint32_t proof_bits_max)
{
	uint32_t next_player = 0;

	prepare(proof_bits_max);
	for (turn = 1; turn <= TURNS; turn++) {
		bool attack = turn >= ATTACK_FROM && turn < ATTACK_TO;

		now_ns += TURN_NS;
		hashes_left = ATTACKER_HASHES;
		for (enum kind kind = PLAYER + 1; attack && kind < KIND_COUNT; kind++)
			for (uint32_t i = 0; i < per_turn[kind]; i++)
				come(kind, 0);
		/* Behind all that. */
		for (uint32_t i = 0; i < PLAYERS_PER_TURN; i++) {
			players[next_player].came = turn;
			come(PLAYER, next_player++);
		}
		for (uint32_t p = 0; p < next_player; p++)
			if (players[p].again == turn)
				come(PLAYER, p);
		for (uint32_t i = 0; i < PEERS; i++)
			if (clients[i].connected && clients[i].challenged &&
				(clients[i].kind == PLAYER ||
					(clients[i].kind == WORKER && hashes_left)))
				work(&clients[i]);
		for (uint32_t i = 0; i < VERIFIES && verify_one(); i++)
			;
		answer_all();
		adm_tick(adm, now_ns);
		answer_all();
	}
}

/* Players that came in these turns and were in after so many more. */
static uint32_t in_within(uint32_t from, uint32_t to, uint32_t turns)
{
	uint32_t n = 0;

	for (uint32_t p = 0; p < PLAYERS; p++)
		n += players[p].came >= from && players[p].came < to && players[p].in &&
		     players[p].in - players[p].came <= turns;
	return n;
}

static void end_all(void)
{
	verify_held = false;
	while (verify_one())
		;
	for (uint32_t i = 0; i < PEERS; i++)
		if (clients[i].connected)
			client_gone(&clients[i]);
	finish();
}

static void test_players_get_in(void **state)
{
	const uint32_t settled = ATTACK_FROM + SURPRISE;
	uint32_t slow = 0;

	(void)state;
	run(20);
	for (uint32_t p = 0; p < PLAYERS; p++) {
		assert_false(players[p].refused);
		slow += !players[p].in && players[p].came + 250 <= TURNS;
	}
	assert_int_equal(slow, 0); /* also those who were surprised, and came again */
	assert_int_equal(in_within(1, ATTACK_FROM, 1), PLAYERS_PER_TURN * (ATTACK_FROM - 1));
	assert_int_equal(
		in_within(settled, ATTACK_TO, QUICK), PLAYERS_PER_TURN * (ATTACK_TO - settled));
	print_message("attacked: %u of %u players were in within 10 turns\n",
		in_within(settled, ATTACK_TO, 10), PLAYERS_PER_TURN * (ATTACK_TO - settled));
	/* The thread was spared what nobody had worked for. */
	assert_true(counted(ADM_C_TICKET_FORGED) < (came[FORGED] + came[WORKER]) / 3);
	assert_true(counted(ADM_C_REFUSED_USED) < came[REPLAYED] / 3);
	/* Each was told why. */
	assert_int_equal(counted(ADM_C_PASS_FORGED), came[WRONG_PASS]);
	assert_true(counted(ADM_C_PROOF_WRONG) > came[WRONG_ANSWER] / 2);
	assert_true(counted(ADM_C_PROOFS_GOOD) >= PLAYERS_PER_TURN * (ATTACK_TO - settled));
	/* It is over, and nobody is asked for anything any more. */
	assert_int_equal(counted(ADM_C_PROOF_BITS), 0);
	assert_int_equal(in_within(TURNS - 50, TURNS, 1), PLAYERS_PER_TURN * 50);
	assert_int_equal(without_client, 0);
	end_all();
}

static void test_it_is_an_attack(void **state)
{
	const uint32_t settled = ATTACK_FROM + SURPRISE;
	uint32_t all = PLAYERS_PER_TURN * (ATTACK_TO - settled);

	(void)state;
	run(0);
	assert_int_equal(counted(ADM_C_CHALLENGED), 0);
	print_message("without the proof of work: %u of %u were in within %u turns\n",
		in_within(settled, ATTACK_TO, QUICK), all, QUICK);
	assert_true(in_within(settled, ATTACK_TO, QUICK) < all / 2);
	end_all();
}

static int setup(void **state)
{
	(void)state;
	assert_int_equal(ticket_init(), 0);
	ticket_key_new(&key, 1);
	return 0;
}

int main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test(test_players_get_in),
		cmocka_unit_test(test_it_is_an_attack),
	};

	return cmocka_run_group_tests(tests, setup, NULL);
}
