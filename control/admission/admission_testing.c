#include "control/admission/admission_testing.h"

#include <stdio.h>
#include <string.h>

#include <sodium.h>

#include "proto/client.pb-c.h"

/* ---- the world around admission ---- */

struct sw_config config;
struct ticket_key key;
struct adm *adm;
struct director *director;
#define ORDERED_MAX 64u
static uint32_t ordered[ORDERED_MAX], ordered_count;
struct sent sent[LOG_MAX];
uint32_t sent_count;
int claim_rc, seek_rc, queue_rc;
bool seek_auto, sought_in_any_case, vacated_played;
struct gate_newcomer newcomer;
#define WAITING_MAX 512u
static uint64_t waiting[WAITING_MAX];
static uint32_t waiting_count;
uint64_t now_ns;
uint8_t shown_place[PASS_BYTES_MAX];
uint32_t shown_place_bytes;
const struct adm_secrets secrets = {.pass_keys = {1, {{7, {1, 2, 3}}}}, .challenge_key = {4, 5, 6}};
struct asked asked[ADM_VERIFY_WINDOW];
uint32_t asked_count;
bool verify_held;
static uint64_t seeks[64];
static uint32_t seek_count;

static void note(char to, uint32_t index, uint64_t session, const struct msg *message)
{
	struct sent *entry = &sent[sent_count++];

	assert_true(sent_count < LOG_MAX);
	*entry = (struct sent){.to = to, .index = index, .session = session};
	if (message) {
		assert_int_equal(message->slots, msg_slots(message->payload_bytes));
		memcpy(entry->message, message, message->slots * sizeof(*message));
	}
}

static void to_dataplane(void *ctx, uint32_t worker, const struct msg *message)
{
	(void)ctx;
	assert_int_equal(worker, handle_owner(message->peer));
	note('d', worker, 0, message);
}

static void to_shard(void *ctx, uint32_t shard, const struct msg *message)
{
	(void)ctx;
	note('s', shard, message->subject, message);
}

static void to_world(void *ctx, const struct msg *message)
{
	(void)ctx;
	note('w', 0, message->subject, message);
}

static int claim(void *ctx, uint64_t session, const uint8_t *nonce, uint64_t expire_s)
{
	(void)ctx;
	assert_true(expire_s > 0 && expire_s <= TICKET_LIFETIME_MAX_S + 2 * TICKET_SKEW_S + 1);
	if (!claim_rc) {
		note('c', 0, session, NULL);
		memcpy(sent[sent_count - 1].nonce, nonce, TICKET_NONCE_BYTES);
	}
	return claim_rc;
}

static void release(void *ctx, uint64_t session, const uint8_t *nonce)
{
	(void)ctx;
	(void)nonce;
	note('r', 0, session, NULL);
}

static void spend(void *ctx, const uint8_t *nonce, uint64_t expire_s)
{
	(void)ctx;
	(void)nonce;
	assert_true(expire_s > 0);
	note('x', 0, 0, NULL);
}

static void verify(
	void *ctx, uint64_t session, const uint8_t *ticket, uint32_t bytes, uint64_t wall_s)
{
	struct asked *one = &asked[asked_count++];

	(void)ctx;
	assert_true(asked_count <= ADM_VERIFY_WINDOW && bytes <= TICKET_BYTES_MAX);
	assert_int_equal(wall_s, WALL);
	one->session = session;
	one->bytes = bytes;
	memcpy(one->ticket, ticket, bytes);
}

bool verify_one(void)
{
	struct ticket ticket;
	enum ticket_fault fault;
	struct asked one;

	if (!asked_count)
		return false;
	one = asked[0];
	memmove(asked, asked + 1, --asked_count * sizeof(asked[0]));
	fault = ticket_check(&ticket, one.ticket, one.bytes, config.admission.ticket_keys,
		config.admission.ticket_key_count, config.node.realm_id, WALL);
	adm_verified(adm, one.session, fault, &ticket, PRESSURE_TICKET_NS, now_ns, WALL);
	return true;
}

static int seek(void *ctx, uint64_t session, uint64_t character_id, uint64_t epoch_max,
	bool in_any_case)
{
	(void)epoch_max;
	(void)ctx;
	assert_true(character_id > 0);
	if (seek_rc)
		return seek_rc;
	sought_in_any_case = in_any_case;
	note('k', 0, session, NULL);
	if (seek_auto) {
		assert_true(seek_count < 64);
		seeks[seek_count++] = session;
	}
	return 0;
}

void sought_all(enum adm_sought said)
{
	while (seek_count)
		adm_sought(adm, seeks[--seek_count], said, now_ns);
}

bool in_queue(uint64_t session)
{
	for (uint32_t i = 0; i < waiting_count; i++)
		if (waiting[i] == session)
			return true;
	return false;
}

static void waits_no_more(uint64_t session)
{
	for (uint32_t i = 0; i < waiting_count; i++)
		if (waiting[i] == session)
			memmove(&waiting[i], &waiting[i + 1],
				(--waiting_count - i) * sizeof(waiting[0]));
}

/* The newest of a type to the peer. */
static const struct msg *told(uint64_t peer, uint8_t type)
{
	for (uint32_t i = sent_count; i-- > 0;)
		if (sent[i].to == 'd' && sent[i].message[0].peer == peer &&
			sent[i].message[0].type == MSG_PEER_SEND &&
			msg_payload(sent[i].message)[0] == type)
			return sent[i].message;
	return NULL;
}

static int queue(void *ctx, const struct gate_newcomer *who, uint64_t at_ns)
{
	(void)ctx;
	assert_int_equal(at_ns, now_ns);
	assert_false(in_queue(who->session));
	assert_true(waiting_count < WAITING_MAX);
	newcomer = *who;
	note('q', 0, who->session, NULL);
	if (!queue_rc)
		waiting[waiting_count++] = who->session;
	return queue_rc;
}

static void unqueue(void *ctx, uint64_t session, bool away)
{
	(void)ctx;
	waits_no_more(session);
	note('u', away, session, NULL);
}

static void requeue(void *ctx, uint64_t session)
{
	(void)ctx;
	assert_true(waiting_count < WAITING_MAX);
	waiting[waiting_count++] = session;
	note('q', 0, session, NULL);
}

bool move_to(uint64_t session, const char *node)
{
	const struct gate_move to = {node, "10.0.0.2:7777", GATE_LANE_NORMAL, 17};

	if (!adm_move(adm, session, &to, now_ns))
		return false;
	waits_no_more(session);
	return true;
}

void move_lost(uint64_t session)
{
	uint64_t stale = counted(ADM_C_STALE);

	adm_back(adm, session, now_ns);
	if (counted(ADM_C_STALE) == stale) /* it was still there */
		requeue(NULL, session);
}

bool redirect_of(uint64_t peer, uint8_t pass[PASS_BYTES_MAX], uint32_t *bytes)
{
	const struct msg *said = told(peer, SW_MSG_REDIRECT);
	Sw__Redirect *message;

	if (!said)
		return false;
	message = sw__redirect__unpack(NULL, said->payload_bytes - 1, msg_payload(said) + 1);
	assert_non_null(message);
	assert_string_equal(message->address, "10.0.0.2:7777");
	assert_true(message->pass.len && message->pass.len <= PASS_BYTES_MAX);
	memcpy(pass, message->pass.data, message->pass.len);
	*bytes = (uint32_t)message->pass.len;
	sw__redirect__free_unpacked(message, NULL);
	return true;
}

void redirect_failed(uint64_t peer, uint32_t reason)
{
	Sw__RedirectFailed message = SW__REDIRECT_FAILED__INIT;
	uint8_t data[16] = {SW_MSG_REDIRECT_FAILED};

	message.reason = reason;
	dataplane(MSG_PEER_PACKET, peer, data,
		(uint32_t)(1 + sw__redirect_failed__pack(&message, data + 1)), SW_CHANNEL_SESSION);
}

uint32_t let_in(void)
{
	uint64_t all[WAITING_MAX];
	uint32_t count = waiting_count, in = 0;

	memcpy(all, waiting, sizeof(all));
	for (uint32_t i = 0; i < count; i++) {
		bool good = adm_let_in(adm, all[i], now_ns);

		in += good;
		if (good)
			waits_no_more(all[i]);
	}
	return in;
}

bool claimed(uint64_t session, enum adm_claim claim)
{
	bool wanted = adm_claimed(adm, session, claim, now_ns);

	let_in();
	sought_all(ADM_SOUGHT_OURS);
	return wanted;
}

static void arrived(void *ctx, const struct adm_presence *presence)
{
	(void)ctx;
	assert_true(presence->generation > 0);
	note('a', 0, presence->session, NULL);
}

static void departed(void *ctx, const struct adm_presence *presence)
{
	(void)ctx;
	note('p', 0, presence->session, NULL);
}

static void vacated(void *ctx, const struct adm_presence *presence, bool played)
{
	(void)ctx;
	vacated_played = played;
	note('v', 0, presence->session, NULL);
}

static void build(void *ctx, uint32_t id)
{
	(void)ctx;
	assert_true(ordered_count < ORDERED_MAX);
	ordered[ordered_count++] = id;
}

static void instance_to_shard(void *ctx, uint32_t shard, const struct msg *message)
{
	(void)ctx;
	note('o', shard, message->subject, message);
}

static void load(void *ctx, uint32_t shard, struct placement_load *out)
{
	(void)ctx;
	(void)shard;
	(void)out;
}

uint32_t builds_done(bool good)
{
	uint32_t done = 0;

	while (ordered_count) {
		director_built(director, ordered[--ordered_count], good, now_ns);
		done++;
		if (!good)
			break; /* it is ordered again */
	}
	return done;
}

/* With whatever the test has changed of config since begin. */
void begin_again(void)
{
	const struct adm_ops ops = {.to_dataplane = to_dataplane,
		.to_shard = to_shard,
		.to_world = to_world,
		.claim = claim,
		.release = release,
		.spend = spend,
		.verify = verify,
		.seek = seek,
		.queue = queue,
		.unqueue = unqueue,
		.requeue = requeue,
		.arrived = arrived,
		.departed = departed,
		.vacated = vacated};
	const struct director_ops director_ops = {NULL, build, instance_to_shard, load, NULL};

	if (adm) {
		adm_free(adm);
		director_free(director);
	}
	ordered_count = 0;
	sent_count = 0;
	asked_count = 0;
	verify_held = false;
	seek_count = 0;
	waiting_count = 0;
	director = director_new(&config, 2, &director_ops);
	assert_non_null(director);
	adm = adm_new(&config, &secrets, 2, 2, director, &ops);
	assert_non_null(adm);
	director_start(director, now_ns);
	builds_done(true);
}

void begin(uint32_t players_max)
{
	memset(&config, 0, sizeof(config));
	strcpy(config.node.name, "node-1");
	config.node.realm_id = 1;
	config.enet.peers_max = 64;
	config.admission.players_max = players_max;
	config.admission.hello_deadline_ms = 5000;
	config.admission.grace_s = 120;
	config.admission.verify_waiting_max = 256;
	strcpy(config.admission.first_map, "meadow");
	config.admission.ticket_key_count = 1;
	config.admission.ticket_keys[0].id = key.id;
	memcpy(config.admission.ticket_keys[0].public_key, key.public_key, 32);
	config.map_count = 3;
	strcpy(config.maps[0].name, "meadow");
	strcpy(config.maps[1].name, "caves");
	config.maps[1].shard = 1;
	strcpy(config.maps[2].name, "elsewhere");
	config.maps[2].shard = 2; /* a shard that does not exist */
	claim_rc = seek_rc = queue_rc = 0;
	seek_auto = true;
	sent_count = 0;
	now_ns = NS_PER_S;
	for (uint32_t i = 0; i < config.map_count; i++) {
		config.maps[i].players_max = 1000;
		config.maps[i].instances = 1;
	}
	begin_again();
}

uint64_t counted(enum adm_counter counter)
{
	return counter_get(&adm_counters(adm)->values[counter]);
}

void finish(void)
{
	struct director_status status;

	assert_int_equal(counted(ADM_C_SESSIONS), 0);
	assert_int_equal(counted(ADM_C_PLACES), 0);
	assert_int_equal(counted(ADM_C_PLAYERS), 0);
	assert_int_equal(asked_count, 0);
	for (uint32_t i = 0; i < director_slots(director); i++) {
		director_status(director, i, &status);
		assert_int_equal(status.players, 0);
	}
	adm_free(adm);
	director_free(director);
	adm = NULL;
}

void dataplane(
	enum msg_type type, uint64_t peer, const void *payload, uint32_t bytes, uint8_t channel)
{
	static struct msg_buffer buffer;

	if (bytes)
		memcpy(msg_begin(buffer.slot, type, peer, bytes), payload, bytes);
	else
		msg_begin(buffer.slot, type, peer, 0);
	buffer.slot[0].channel = channel;
	buffer.slot[0].flags = MSG_SEND_RELIABLE;
	adm_from_dataplane(adm, buffer.slot, now_ns, WALL);
	while (!verify_held && verify_one())
		;
	sought_all(ADM_SOUGHT_OURS);
}

void connected(uint64_t peer)
{
	connected_from(peer, 0);
}

void connected_from(uint64_t peer, uint32_t ipv4)
{
	const struct msg_peer_connected body = {.ip = {[10] = 0xff,
							[11] = 0xff,
							(uint8_t)(ipv4 >> 24),
							(uint8_t)(ipv4 >> 16),
							(uint8_t)(ipv4 >> 8),
							(uint8_t)ipv4},
		.port = 1,
		.payload_bytes_max = 1300,
		.channels = 4};

	dataplane(MSG_PEER_CONNECTED, peer, &body, sizeof(body), 0);
}

void gone(uint64_t peer)
{
	const struct msg_peer_gone body = {0};

	dataplane(MSG_PEER_GONE, peer, &body, sizeof(body), 0);
}

void hello_as(uint64_t peer, uint32_t version, const struct ticket *ticket)
{
	uint8_t signed_ticket[TICKET_BYTES_MAX], data[1024] = {SW_MSG_HELLO};
	Sw__Hello message = SW__HELLO__INIT;

	message.protocol_version = version;
	message.redirects = true;
	message.ticket.len = ticket_sign(signed_ticket, ticket, key.id, key.secret_key);
	message.place.data = shown_place;
	message.place.len = shown_place_bytes;
	message.ticket.data = signed_ticket;
	dataplane(MSG_PEER_PACKET, peer, data, (uint32_t)(1 + sw__hello__pack(&message, data + 1)),
		SW_CHANNEL_SESSION);
}

void hello_with(uint64_t peer, const struct brings *brings)
{
	uint8_t signed_ticket[TICKET_BYTES_MAX], data[1024] = {SW_MSG_HELLO};
	Sw__Solution solution = SW__SOLUTION__INIT;
	Sw__Hello message = SW__HELLO__INIT;

	message.protocol_version = SW_PROTOCOL_VERSION;
	message.redirects = !brings->stays;
	message.ticket = (ProtobufCBinaryData){brings->count, (uint8_t *)(uintptr_t)brings->bytes};
	if (brings->ticket)
		message.ticket = (ProtobufCBinaryData){
			ticket_sign(signed_ticket, brings->ticket, key.id, key.secret_key),
			signed_ticket};
	message.pass =
		(ProtobufCBinaryData){brings->pass_bytes, (uint8_t *)(uintptr_t)brings->pass};
	if (brings->challenge) {
		message.solution = &solution;
		solution.challenge = (ProtobufCBinaryData){
			SW_PROOF_CHALLENGE_BYTES, (uint8_t *)(uintptr_t)brings->challenge};
		solution.number = brings->number;
	}
	assert_true(sw__hello__get_packed_size(&message) < sizeof(data));
	dataplane(MSG_PEER_PACKET, peer, data, (uint32_t)(1 + sw__hello__pack(&message, data + 1)),
		SW_CHANNEL_SESSION);
}

bool challenge_of(uint64_t peer, uint8_t challenge[SW_PROOF_CHALLENGE_BYTES], uint32_t *bits)
{
	const struct msg *said = told(peer, SW_MSG_CHALLENGE);
	Sw__Challenge *message;

	if (!said)
		return false;
	message = sw__challenge__unpack(NULL, said->payload_bytes - 1, msg_payload(said) + 1);
	assert_non_null(message);
	assert_int_equal(message->challenge.len, SW_PROOF_CHALLENGE_BYTES);
	assert_int_equal(message->good_for_ms, PROOF_SLOT_MS);
	memcpy(challenge, message->challenge.data, SW_PROOF_CHALLENGE_BYTES);
	if (bits)
		*bits = message->bits;
	sw__challenge__free_unpacked(message, NULL);
	return true;
}

bool pass_of(uint64_t peer, uint8_t pass[PASS_BYTES_MAX], uint32_t *bytes)
{
	const struct msg *said = told(peer, SW_MSG_RETURN_PASS);
	Sw__ReturnPass *message;

	if (!said)
		return false;
	message = sw__return_pass__unpack(NULL, said->payload_bytes - 1, msg_payload(said) + 1);
	assert_non_null(message);
	assert_true(message->pass.len && message->pass.len <= PASS_BYTES_MAX);
	assert_int_equal(message->good_for_s, 120 * 3 / 2 + ADM_PASS_MARGIN_S);
	memcpy(pass, message->pass.data, message->pass.len);
	*bytes = (uint32_t)message->pass.len;
	sw__return_pass__free_unpacked(message, NULL);
	return true;
}

bool solve(const uint8_t challenge[SW_PROOF_CHALLENGE_BYTES], uint32_t bits, uint64_t tries,
	uint64_t *number)
{
	uint8_t input[SW_PROOF_INPUT_BYTES], hash[SW_PROOF_HASH_BYTES];

	for (; tries; tries--, ++*number) {
		sw_proof_input(input, challenge, *number);
		crypto_hash_sha256(hash, input, sizeof(input));
		if (sw_proof_good(hash, bits))
			return true;
	}
	return false;
}

struct ticket ticket_for(uint64_t account, uint64_t character)
{
	struct ticket ticket = {.realm_id = 1,
		.account_id = account,
		.character_id = character,
		.issued_unix_s = WALL,
		.expires_unix_s = WALL + 60};

	snprintf(ticket.name, sizeof(ticket.name), "name%u", (unsigned)character);
	return ticket;
}

void hello(uint64_t peer, uint64_t account, uint64_t character)
{
	struct ticket ticket = ticket_for(account, character);

	hello_as(peer, SW_PROTOCOL_VERSION, &ticket);
}

void loaded_as(uint64_t session, enum msg_load_result result, const char *map)
{
	struct msg_character_loaded body = {
		.session = session, .epoch = 5, .result = result, .has_position = 1, .x_mm = 7};
	struct msg message[5];

	snprintf(body.map, sizeof(body.map), "%s", map);
	memcpy(msg_begin(message, MSG_CHARACTER_LOADED, 0, sizeof(body)), &body, sizeof(body));
	adm_from_world(adm, message, now_ns);
	sought_all(ADM_SOUGHT_OURS);
}

void shard_says(uint32_t shard, enum msg_type type, uint64_t session, uint32_t second)
{
	const struct msg_player_refused body = {.session = session, .reason = second};
	const struct msg_player_left left = {.session = session};
	struct msg message[3];

	_Static_assert(sizeof(body) == sizeof(struct msg_player_joined), "both of one shape");
	if (type == MSG_PLAYER_LEFT)
		memcpy(msg_begin(message, type, 0, sizeof(left)), &left, sizeof(left));
	else
		memcpy(msg_begin(message, type, 0, sizeof(body)), &body, sizeof(body));
	adm_from_shard(adm, shard, message, now_ns);
	sought_all(ADM_SOUGHT_OURS);
}

/* ---- what went out ---- */

struct sent *last(char to, enum msg_type type)
{
	for (uint32_t i = sent_count; i-- > 0;)
		if (sent[i].to == to && (!type || sent[i].message[0].type == type))
			return &sent[i];
	return NULL;
}

uint32_t how_many(char to, enum msg_type type)
{
	uint32_t n = 0;

	for (uint32_t i = 0; i < sent_count; i++)
		n += sent[i].to == to && (!type || sent[i].message[0].type == type);
	return n;
}

void expect_refused(uint64_t peer, uint32_t reason, bool retry)
{
	struct msg_peer_disconnect body;
	struct sent *bytes = NULL, *end = NULL;
	Sw__Refused *refused;

	for (uint32_t i = 0; i < sent_count; i++)
		if (sent[i].to == 'd' && sent[i].message[0].peer == peer) {
			if (sent[i].message[0].type == MSG_PEER_SEND)
				bytes = &sent[i];
			else
				end = &sent[i];
		}
	if (!bytes || !end)
		fail_msg("peer %llx was not refused", (unsigned long long)peer);
	assert_true(bytes < end);
	assert_int_equal(bytes->message[0].channel, SW_CHANNEL_SESSION);
	assert_true(bytes->message[0].flags & MSG_SEND_RELIABLE);
	assert_int_equal(msg_payload(bytes->message)[0], SW_MSG_REFUSED);
	refused = sw__refused__unpack(
		NULL, bytes->message[0].payload_bytes - 1, msg_payload(bytes->message) + 1);
	assert_non_null(refused);
	assert_int_equal(refused->reason, reason);
	assert_int_equal(refused->retry_after_ms > 0, retry);
	assert_string_equal(refused->text, reason_text(reason));
	sw__refused__free_unpacked(refused, NULL);
	memcpy(&body, msg_payload(end->message), sizeof(body));
	assert_int_equal(body.mode, MSG_DISCONNECT_LATER);
	assert_int_equal(body.data, reason);
}

bool was_refused(uint64_t peer)
{
	for (uint32_t i = 0; i < sent_count; i++)
		if (sent[i].to == 'd' && sent[i].message[0].peer == peer &&
			sent[i].message[0].type == MSG_PEER_DISCONNECT)
			return true;
	return false;
}

uint64_t peer_of(uint32_t n)
{
	return handle_make(n % 2, 1, n);
}

uint64_t session_of(uint64_t peer)
{
	for (uint32_t i = sent_count; i-- > 0;)
		if (sent[i].to == 's' && sent[i].message[0].peer == peer)
			return sent[i].message[0].type == MSG_PLAYER_REMOVE ? 0 : sent[i].session;
	return 0;
}

uint64_t bring(uint64_t peer, uint64_t account, uint64_t character, enum step step)
{
	uint64_t session;

	connected(peer);
	if (step == AT_CONNECTED)
		return 0;
	hello(peer, account, character);
	session = last('c', 0)->session;
	if (step >= AT_LOADING)
		assert_true(claimed(session, ADM_CLAIM_OURS));
	if (step >= AT_JOINING)
		loaded_as(session, MSG_LOAD_OK, "meadow");
	if (step >= AT_IN)
		shard_says(0, MSG_PLAYER_JOINED, session, 9);
	return session;
}

void leave_all(uint64_t peer, uint64_t session)
{
	gone(peer);
	shard_says(0, MSG_PLAYER_LEFT, session, 0);
}
