/* The loop of the control thread: what goes out, what comes in, the order of a stop. */
#include <string.h>
#include <time.h>

#include "common/check.h"
#include "common/handle.h"
#include "common/lanes.h"
#include "common/log.h"
#include "common/mono.h"
#include "control/control_internal.h"
#include "proto/probe.h"

/* Longest time of one ring's turn, in bursts; the others wait for theirs. */
#define BURSTS_MAX 8u
/* Rounds without a message until the timer slows down. */
#define IDLE_ROUNDS 200u
/* Presences said at once. Those that are due in a second are fewer, by far; after Redis was away,
 * all of them are due: 100,000 fit. */
#define PRESENCE_BATCHES 1600u
/* Longest wait, at the very end, for a full ring to take the last goodbyes. */
#define FINISH_MS 200u
/* How often the world is asked for the nodes while Redis is put together again. */
#define NODES_ASK_MS 500u

/* ---- out: through the outboxes ---- */

void ctl_push(struct ctl *ctl, struct outbox *outbox, const struct msg *message)
{
	DCHECK(outbox != ctl_world_outbox(ctl) ||
		lane_of(message->type, LANE_CONTROL) != LANE_NONE);
	if (outbox_push(outbox, message))
		return;
	if (outbox->lost == 1)
		sw_log(SW_LOG_ERROR, "control",
			"ring %s takes nothing and %u slots wait: messages are lost",
			msg_ring_name(outbox->ring), outbox->max);
	counter_add(&ctl->counters[CTL_C_LOST], 1);
}

bool ctl_fits(struct ctl *ctl, const struct msg *message, size_t bytes)
{
	if (message->payload_bytes == bytes)
		return true;
	counter_add(&ctl->counters[CTL_C_MISFITS], 1);
	return false;
}

struct outbox *ctl_shard_outbox(struct ctl *ctl, uint32_t shard)
{
	return &ctl->outboxes[ctl->links.workers + shard];
}

struct outbox *ctl_world_outbox(struct ctl *ctl)
{
	return &ctl->outboxes[ctl->links.workers + ctl->links.shards];
}

struct outbox *ctl_chat_outbox(struct ctl *ctl)
{
	return &ctl->outboxes[ctl->links.workers + ctl->links.shards + 1];
}

void ctl_to_chat(void *ctx, const struct msg *message)
{
	ctl_push(ctx, ctl_chat_outbox(ctx), message);
}

static void to_dataplane(void *ctx, uint32_t worker, const struct msg *message)
{
	struct ctl *ctl = ctx;

	ctl_push(ctl, &ctl->outboxes[worker], message);
}

static void to_shard(void *ctx, uint32_t shard, const struct msg *message)
{
	struct ctl *ctl = ctx;

	if (ctl->chat)
		chat_feed_to_shard(ctl->chat, message);
	ctl_push(ctl, ctl_shard_outbox(ctl, shard), message);
}

static void to_world(void *ctx, const struct msg *message)
{
	ctl_push(ctx, ctl_world_outbox(ctx), message);
}

static int claim(
	void *ctx, uint64_t session, const uint8_t nonce[TICKET_NONCE_BYTES], uint64_t expire_s)
{
	return redis_keys_claim(((struct ctl *)ctx)->keys, session, nonce, expire_s);
}

static void release(void *ctx, uint64_t session, const uint8_t nonce[TICKET_NONCE_BYTES])
{
	redis_keys_release(((struct ctl *)ctx)->keys, session, nonce);
}

static void spend(void *ctx, const uint8_t nonce[PASS_NONCE_BYTES], uint64_t expire_s)
{
	redis_keys_spend(((struct ctl *)ctx)->keys, nonce, expire_s);
}

static void verify(
	void *ctx, uint64_t session, const uint8_t *ticket, uint32_t bytes, uint64_t wall_s)
{
	verifier_ask(((struct ctl *)ctx)->verifier, session, ticket, bytes, wall_s);
}

static int seek(
	void *ctx, uint64_t session, uint64_t character_id, uint64_t epoch_max, bool in_any_case)
{
	return presence_seek(
		((struct ctl *)ctx)->presence, session, character_id, epoch_max, in_any_case);
}

static int queue(void *ctx, const struct gate_newcomer *newcomer, uint64_t now_ns)
{
	return gate_wait(((struct ctl *)ctx)->gate, newcomer, now_ns);
}

static void unqueue(void *ctx, uint64_t session, bool away)
{
	gate_leave(((struct ctl *)ctx)->gate, session, away);
}

static void requeue(void *ctx, uint64_t session)
{
	gate_back(((struct ctl *)ctx)->gate, session);
}

static void gate_told(void *ctx, uint64_t session, const struct gate_standing *standing)
{
	adm_tell(((struct ctl *)ctx)->adm, session, standing);
}

static bool gate_admit(void *ctx, uint64_t session, uint64_t now_ns)
{
	return adm_let_in(((struct ctl *)ctx)->adm, session, now_ns);
}

static bool gate_move_to(void *ctx, uint64_t session, const struct gate_move *to, uint64_t now_ns)
{
	return adm_move(((struct ctl *)ctx)->adm, session, to, now_ns);
}

static void gate_came_back(void *ctx, uint64_t session, uint64_t now_ns)
{
	adm_back(((struct ctl *)ctx)->adm, session, now_ns);
}

static void gate_replaced(void *ctx, uint64_t session, uint64_t now_ns)
{
	adm_replaced(((struct ctl *)ctx)->adm, session, now_ns);
}

static void arrived(void *ctx, const struct adm_presence *presence)
{
	struct ctl *ctl = ctx;

	presence_put(ctl->presence, presence);
	party_here(ctl->party, presence->character_id);
}

static void departed(void *ctx, const struct adm_presence *presence)
{
	struct ctl *ctl = ctx;

	if (ctl->chat)
		chat_feed_gone(ctl->chat, presence->session);
	party_away(ctl->party, presence->character_id, presence->generation);
	gate_left(ctl->gate, ctl->config->node.realm_id, presence->character_id);
}

/* The world answers when what the character did here is in PostgreSQL. */
static void settle(struct ctl *ctl, uint64_t session, uint64_t character_id)
{
	const struct msg_character_settle body = {.session = session,
		.character_id = character_id,
		.realm_id = ctl->config->node.realm_id};
	struct msg message;

	memset(&message, 0, sizeof(message));
	memcpy(msg_begin(&message, MSG_CHARACTER_SETTLE, HANDLE_NONE, sizeof(body)), &body,
		sizeof(body));
	message.subject = session;
	ctl_push(ctl, ctl_world_outbox(ctl), &message);
}

static void vacated(void *ctx, const struct adm_presence *presence, bool played)
{
	struct ctl *ctl = ctx;

	if (ctl->chat)
		chat_feed_gone(ctl->chat, presence->session);
	if (played)
		settle(ctl, presence->session, presence->character_id);
	else
		presence_drop(ctl->presence, presence);
}

/* Not settled in time: it stays reserved until it expires, or another node asks for it. */
static void on_settled(struct ctl *ctl, const struct msg *message)
{
	struct msg_character_settled body;

	if (!ctl_fits(ctl, message, sizeof(body)))
		return;
	memcpy(&body, msg_payload(message), sizeof(body));
	if (body.settled)
		presence_drop(ctl->presence, &(struct adm_presence){.session = body.session,
						     .character_id = body.character_id});
}

static bool sought(void *ctx, uint64_t session, enum adm_sought said)
{
	return adm_sought(((struct ctl *)ctx)->adm, session, said, mono_ns());
}

static void oust(void *ctx, uint64_t session, uint64_t character_id)
{
	struct ctl *ctl = ctx;

	if (!adm_oust(ctl->adm, session, character_id, mono_ns()))
		settle(ctl, session, character_id);
}

static bool find_player(void *ctx, uint64_t character_id, struct party_seat *out)
{
	struct adm_seat seat;

	if (!adm_seat_of(((struct ctl *)ctx)->adm, character_id, &seat))
		return false;
	*out = (struct party_seat){
		seat.session, seat.peer, seat.generation, seat.shard, .name = {0}};
	memcpy(out->name, seat.name, sizeof(out->name));
	return true;
}

static void build(void *ctx, uint32_t id)
{
	builder_start(&((struct ctl *)ctx)->builder, id);
}

static void load(void *ctx, uint32_t shard, struct placement_load *out)
{
	const struct shard_gauges *gauges = ((struct ctl *)ctx)->links.shard_gauges[shard];

	if (!gauges)
		return;
	out->load_permille = counter_get(&gauges->load_permille);
	out->players = counter_get(&gauges->players);
}

void ctl_built(void *ctx, uint32_t id, bool good)
{
	director_built(((struct ctl *)ctx)->director, id, good, mono_ns());
}

bool ctl_claimed(void *ctx, uint64_t session, enum adm_claim said)
{
	return adm_claimed(((struct ctl *)ctx)->adm, session, said, mono_ns());
}

static void say_presence(struct ctl *ctl, uint64_t now_ns)
{
	uint64_t before_ns = now_ns - PRESENCE_REFRESH_MS * NS_PER_MS;
	struct adm_presence due[64];
	uint32_t count;

	/* Redis may have come back empty: then what was said before counts as not said. */
	if (now_ns < PRESENCE_REFRESH_MS * NS_PER_MS || before_ns < ctl->redis_up_ns)
		before_ns = ctl->redis_up_ns;
	for (uint32_t batch = 0; batch < PRESENCE_BATCHES; batch++) {
		count = adm_presence_due(
			ctl->adm, now_ns, before_ns, due, sizeof(due) / sizeof(due[0]));
		for (uint32_t i = 0; i < count; i++) {
			presence_put(ctl->presence, &due[i]);
			party_here(ctl->party, due[i].character_id);
			if (ctl->chat)
				chat_feed_again(ctl->chat, due[i].session);
		}
		if (count < sizeof(due) / sizeof(due[0]))
			break;
	}
	presence_flush(ctl->presence);
}

void ctl_redis_changed(void *ctx, enum redis_link_state state, const char *sentence)
{
	struct ctl *ctl = ctx;

	if (state == REDIS_LINK_CONNECTING)
		return;
	/* While it is away, the same sentence comes with every attempt: say it once. */
	if (state == REDIS_LINK_UP || ctl->redis_up_ns)
		sw_log(state == REDIS_LINK_UP ? SW_LOG_INFO : SW_LOG_WARN, "control", "%s",
			sentence);
	ctl->redis_up_ns = state == REDIS_LINK_UP ? mono_ns() : 0;
	if (state != REDIS_LINK_UP) {
		if (ctl->party)
			party_link_down(ctl->party);
		return;
	}
	party_link_up(ctl->party, mono_ns());
	pthread_mutex_lock(&ctl->lock);
	ctl->redis_was_up = true;
	pthread_cond_broadcast(&ctl->changed);
	pthread_mutex_unlock(&ctl->lock);
	/* Whoever finds this node's beat finds its players too, also where Redis was emptied. */
	say_presence(ctl, mono_ns());
	ctl_beat(ctl, mono_ns());
	redis_keys_check_server(ctl->keys);
}

/* ---- the stop: shards, then the world ---- */

/* All is said; on_drain ends the loop once it has also been handed over. */
static void finish(struct ctl *ctl)
{
	ctl_set_state(ctl, CTL_STOPPED);
	ctl_beat(ctl, mono_ns());
	ctl->finish_by_ns = mono_ns() + FINISH_MS * NS_PER_MS;
}

static void send_simple(struct ctl *ctl, struct outbox *outbox, enum msg_type type)
{
	struct msg message;

	memset(&message, 0, sizeof(message));
	msg_begin(&message, type, HANDLE_NONE, 0);
	ctl_push(ctl, outbox, &message);
}

static void on_deadline(uv_timer_t *timer);

static void flush_world(struct ctl *ctl)
{
	ctl_set_state(ctl, CTL_STOPPING_WORLD);
	send_simple(ctl, ctl_world_outbox(ctl), MSG_WORLD_FLUSH);
	/* A second more than the world takes for itself: its count is better than our guess. */
	uv_timer_start(
		&ctl->deadline_timer, on_deadline, ctl->config->node.stop_deadline_ms + 1000, 0);
}

static void on_deadline(uv_timer_t *timer)
{
	struct ctl *ctl = timer->data;

	if (ctl->state == CTL_STOPPING_SHARDS) {
		sw_log(SW_LOG_ERROR, "control",
			"%u of %u shards did not stop in time: their players may not be saved",
			ctl->shards_left, ctl->links.shards);
		flush_world(ctl); /* what did reach the world is to be kept */
	} else if (ctl->state == CTL_STOPPING_WORLD) {
		sw_log(SW_LOG_ERROR, "control", "the world did not say that all is saved, in time");
		ctl->unsaved = UINT32_MAX;
		finish(ctl);
	}
}

void ctl_begin_stop(struct ctl *ctl)
{
	if (ctl->state != CTL_READY && ctl->state != CTL_STARTING)
		return;
	sw_log(SW_LOG_INFO, "control", "stopping: nobody is let in any more");
	ctl_set_state(ctl, CTL_STOPPING_SHARDS);
	adm_stop(ctl->adm, mono_ns());
	for (uint32_t s = 0; s < ctl->links.shards; s++)
		send_simple(ctl, ctl_shard_outbox(ctl, s), MSG_SHARD_STOP);
	uv_timer_start(
		&ctl->deadline_timer, on_deadline, ctl->config->node.stop_deadline_ms / 2, 0);
	ctl_beat(ctl, mono_ns());
}

static void on_shard_stopped(struct ctl *ctl, uint32_t shard)
{
	if (ctl->shard_stopped[shard])
		return;
	ctl->shard_stopped[shard] = true;
	ctl->shards_left--;
	if (!ctl->shards_left && ctl->state == CTL_STOPPING_SHARDS)
		flush_world(ctl);
}

static void on_world_flushed(struct ctl *ctl, const struct msg *message)
{
	struct msg_world_flushed body;

	if (!ctl_fits(ctl, message, sizeof(body)) || ctl->state != CTL_STOPPING_WORLD)
		return;
	memcpy(&body, msg_payload(message), sizeof(body));
	/* What a silent shard kept is not in the world's count. */
	ctl->unsaved = ctl->shards_left ? UINT32_MAX : body.unsaved;
	if (body.unsaved)
		sw_log(SW_LOG_ERROR, "control", "%u saves and commits are not in PostgreSQL",
			body.unsaved);
	finish(ctl);
}

static void on_verified(
	struct ctl *ctl, const struct msg *message, uint64_t now_ns, uint64_t wall_s)
{
	struct verifier_answer body;

	memcpy(&body, msg_payload(message), sizeof(body));
	adm_verified(ctl->adm, body.session, (enum ticket_fault)body.fault, &body.ticket,
		body.took_ns, now_ns, wall_s);
}

/* ---- what probes are told ---- */

static uint64_t places(const struct ctl *ctl)
{
	return counter_get(&adm_counters(ctl->adm)->values[ADM_C_PLACES]);
}

/* For players that the queue lets in. */
static int64_t room(const struct ctl *ctl)
{
	return ctl->state == CTL_READY
		       ? (int64_t)ctl->config->admission.players_max - (int64_t)places(ctl)
		       : 0;
}

static enum sw_node_state node_state(const struct ctl *ctl)
{
	if (ctl->state == CTL_STARTING)
		return SW_NODE_CLOSED;
	if (ctl->state != CTL_READY)
		return SW_NODE_DRAINING;
	if (!ctl->redis_up_ns) /* everyone new would be told to try later */
		return SW_NODE_CLOSED;
	if (gate_order(ctl->gate)->state == GATE_CLOSED)
		return SW_NODE_CLOSED;
	return places(ctl) >= ctl->config->admission.players_max ? SW_NODE_FULL : SW_NODE_READY;
}

static void tell_node_state(struct ctl *ctl)
{
	const struct msg_node_state body = {.state = node_state(ctl)};
	struct msg message;

	if (ctl->told_state == body.state)
		return;
	ctl->told_state = body.state;
	memset(&message, 0, sizeof(message));
	memcpy(msg_begin(&message, MSG_NODE_STATE, HANDLE_NONE, sizeof(body)), &body, sizeof(body));
	for (uint32_t w = 0; w < ctl->links.workers; w++)
		to_dataplane(ctl, w, &message);
}

/* ---- the nodes that an emptied Redis has to hear of ---- */

static void on_nodes(struct ctl *ctl, const struct msg *message)
{
	const uint8_t *at = msg_payload(message);
	char names[NODES_MAX * NODE_NAME_BYTES] = "";
	struct msg_nodes head;
	size_t used = 0;

	/* What is not known, or cannot be, is asked again, as long as it matters. */
	memset(&head, 0, sizeof(head));
	memcpy(&head, at, message->payload_bytes < sizeof(head) ? 0 : sizeof(head));
	if (!ctl_fits(ctl, message, sizeof(head) + (size_t)head.count * NODE_NAME_BYTES) ||
		!head.known || head.count > NODES_MAX)
		return;
	at += sizeof(head);
	for (uint32_t i = 0; i < head.count; i++, at += NODE_NAME_BYTES)
		used += (size_t)snprintf(names + used, sizeof(names) - used, "%.*s ",
			(int)NODE_NAME_BYTES - 1, (const char *)at);
	ctl->nodes_known = true;
	gate_link_expect(ctl->gate_link, names);
}

static void tick_gate(struct ctl *ctl, uint64_t now_ns)
{
	if (gate_state(ctl->gate) == GATE_REBUILDING) {
		if (now_ns - ctl->nodes_asked_ns >= NODES_ASK_MS * NS_PER_MS) {
			ctl->nodes_asked_ns = now_ns;
			send_simple(ctl, ctl_world_outbox(ctl), MSG_NODES_QUERY);
		}
	} else if (ctl->nodes_known) { /* for the next time it is old */
		ctl->nodes_known = false;
		gate_link_expect(ctl->gate_link, NULL);
	}
	gate_link_tick(ctl->gate_link, &(struct gate_here){room(ctl), places(ctl)}, now_ns);
}

/* ---- in: the rings ---- */

enum source { FROM_DATAPLANE, FROM_SHARD, FROM_WORLD, FROM_OPS, FROM_VERIFIER, FROM_CHAT };

static uint32_t drain(struct ctl *ctl, struct msg_ring *ring, enum source source, uint32_t index,
	uint64_t now_ns, uint64_t wall_s)
{
	uint32_t messages = 0, filled;

	for (uint32_t burst = 0; burst < BURSTS_MAX; burst++) {
		filled = msg_ring_pop(ring, ctl->burst, CTL_BURST_SLOTS);
		for (const struct msg *message = ctl->burst; message < ctl->burst + filled;
			message = msg_next(message)) {
			messages++;
			if (source == FROM_DATAPLANE)
				adm_from_dataplane(ctl->adm, message, now_ns, wall_s);
			else if (source == FROM_VERIFIER)
				on_verified(ctl, message, now_ns, wall_s);
			else if (source == FROM_CHAT)
				orders_chat_answered(ctl, message);
			else if (source == FROM_OPS)
				orders_take(ctl, message, now_ns);
			else if (source == FROM_SHARD && message->type == MSG_SHARD_STOPPED)
				on_shard_stopped(ctl, index);
			else if (source == FROM_SHARD && message->type == MSG_PARTY_REQUEST)
				party_from_shard(ctl->party, index, message, now_ns);
			else if (source == FROM_SHARD && message->type == MSG_SCRIPT_STATE)
				scripts_from_shard(ctl, message, now_ns);
			else if (source == FROM_SHARD)
				adm_from_shard(ctl->adm, index, message, now_ns);
			else if (message->type == MSG_WORLD_FLUSHED)
				on_world_flushed(ctl, message);
			else if (message->type == MSG_WRITES_RESULT)
				orders_writes(ctl, message);
			else if (message->type == MSG_CHARACTER_SETTLED)
				on_settled(ctl, message);
			else if (message->type == MSG_NODES)
				on_nodes(ctl, message);
			else if (message->type == MSG_CORRECTION_RESULT)
				orders_corrected(ctl, message);
			else if (message->type == MSG_PARTY_RESTORED)
				party_from_world(ctl->party, message, now_ns);
			else
				adm_from_world(ctl->adm, message, now_ns);
		}
		if (!filled)
			break;
	}
	return messages;
}

static uint32_t flush_outboxes(struct ctl *ctl, bool *crowded)
{
	uint64_t waiting = 0, delayed = 0;

	*crowded = false;
	for (uint32_t i = 0; i < ctl->outbox_count; i++) {
		waiting += outbox_flush(&ctl->outboxes[i]);
		delayed += ctl->outboxes[i].delayed;
		*crowded |= outbox_crowded(&ctl->outboxes[i]);
	}
	counter_put(&ctl->counters[CTL_C_WAITING], waiting);
	counter_put(&ctl->counters[CTL_C_DELAYED], delayed);
	return waiting > 0;
}

void ctl_on_drain(uv_timer_t *timer)
{
	struct ctl *ctl = timer->data;
	uint64_t now_ns = mono_ns(), wall_s = (uint64_t)time(NULL);
	uint32_t messages = 0;
	bool crowded, busy;

	adm_wall(ctl->adm, wall_s);
	flush_outboxes(ctl, &crowded);
	/* Before Redis has answered for the first time everyone would be refused: let them wait. */
	crowded |= ctl->state == CTL_STARTING && !ctl->redis_up_ns;
	/* Answers first: they end what new connections would add to. */
	messages += drain(ctl, ctl->links.from_world, FROM_WORLD, 0, now_ns, wall_s);
	for (uint32_t s = 0; s < ctl->links.shards; s++)
		messages += drain(ctl, ctl->links.from_shard[s], FROM_SHARD, s, now_ns, wall_s);
	messages += drain(ctl, verifier_answers(ctl->verifier), FROM_VERIFIER, 0, now_ns, wall_s);
	for (uint32_t w = 0; w < ctl->links.workers && !crowded; w++)
		messages +=
			drain(ctl, ctl->links.from_dataplane[w], FROM_DATAPLANE, w, now_ns, wall_s);
	if (ctl->links.from_chat)
		messages += drain(ctl, ctl->links.from_chat, FROM_CHAT, 0, now_ns, wall_s);
	if (ctl->links.from_ops)
		messages += drain(ctl, ctl->links.from_ops, FROM_OPS, 0, now_ns, wall_s);
	if (crowded)
		counter_add(&ctl->counters[CTL_C_HELD], 1);
	if (now_ns - ctl->ticked_ns >= 10 * NS_PER_MS) {
		director_tick(ctl->director, now_ns);
		adm_tick(ctl->adm, now_ns);
		orders_tick(ctl, now_ns);
		scripts_tick(ctl, now_ns);
		tell_node_state(ctl);
		ctl->ticked_ns = now_ns;
	}
	presence_tick(ctl->presence, now_ns);
	presence_flush(ctl->presence);
	redis_keys_flush(ctl->keys);
	party_tick(ctl->party, now_ns);
	tick_gate(ctl, now_ns);
	busy = flush_outboxes(ctl, &crowded) || messages;
	counter_add(&ctl->counters[CTL_C_ROUNDS], 1);
	counter_add(&ctl->counters[CTL_C_MESSAGES], messages);
	if (ctl->state == CTL_STOPPED && (!busy || now_ns >= ctl->finish_by_ns)) {
		uv_stop(&ctl->loop);
		return;
	}
	ctl->idle_rounds = busy ? 0 : ctl->idle_rounds + 1;
	uv_timer_start(
		timer, ctl_on_drain, ctl->idle_rounds < IDLE_ROUNDS ? CTL_BUSY_MS : CTL_IDLE_MS, 0);
}

/* ---- each second ---- */

void ctl_on_heartbeat(uv_timer_t *timer)
{
	struct ctl *ctl = timer->data;
	uint64_t now_ns = mono_ns();

	if (ctl->redis_up_ns)
		say_presence(ctl, now_ns);
	ctl_beat(ctl, now_ns);
}

const struct adm_ops ctl_adm_ops = {.to_dataplane = to_dataplane,
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

const struct director_ops ctl_director_ops = {NULL, build, to_shard, load, orders_opened};

const struct party_ops ctl_party_ops = {NULL, to_shard, to_world, find_player, orders_looked};

const struct presence_ops ctl_presence_ops = {NULL, sought, oust, ctl_corrected};
const struct gate_ops ctl_gate_ops = {.tell = gate_told,
	.admit = gate_admit,
	.move = gate_move_to,
	.back = gate_came_back,
	.replaced = gate_replaced};
