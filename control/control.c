#include "control/control.h"

#include <errno.h>
#include <stdlib.h>
#include <string.h>
#include <time.h>

#include <sodium.h>

#include "common/check.h"
#include "common/handle.h"
#include "common/log.h"
#include "common/mono.h"
#include "control/control_internal.h"
#include "control/redis/redis_address.h"

/* Longest time of one ring's turn, in bursts; the others wait for theirs. */
#define BURSTS_MAX 8u
/* Rounds without a message until the timer slows down. */
#define IDLE_ROUNDS 200u
/* Slots that may wait for one ring. A session is at most about a dozen slots in all (admitted 3,
 * refused 3, disconnect 1, join 3, remove 1, load 2); the dataplane is held long before. */
#define OUTBOX_SLOTS_MAX (1u << 20)
#define PRESENCE_BATCHES 16u

/* ---- out: through the outboxes ---- */

static void push(struct ctl *ctl, struct outbox *outbox, const struct msg *message)
{
	if (outbox_push(outbox, message))
		return;
	if (outbox->lost == 1)
		sw_log(SW_LOG_ERROR, "control",
			"ring %s takes nothing and %u slots wait: messages are lost",
			msg_ring_name(outbox->ring), outbox->max);
	counter_add(&ctl->counters[CTL_C_LOST], 1);
}

static struct outbox *shard_outbox(struct ctl *ctl, uint32_t shard)
{
	return &ctl->outboxes[ctl->links.workers + shard];
}

static struct outbox *world_outbox(struct ctl *ctl)
{
	return &ctl->outboxes[ctl->outbox_count - 1];
}

static void to_dataplane(void *ctx, uint32_t worker, const struct msg *message)
{
	struct ctl *ctl = ctx;

	push(ctl, &ctl->outboxes[worker], message);
}

static void to_shard(void *ctx, uint32_t shard, const struct msg *message)
{
	push(ctx, shard_outbox(ctx, shard), message);
}

static void to_world(void *ctx, const struct msg *message)
{
	push(ctx, world_outbox(ctx), message);
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

static void arrived(void *ctx, const struct adm_presence *presence)
{
	redis_keys_presence_put(((struct ctl *)ctx)->keys, presence);
}

static void departed(void *ctx, const struct adm_presence *presence)
{
	redis_keys_presence_drop(((struct ctl *)ctx)->keys, presence);
}

static bool claimed(void *ctx, uint64_t session, enum adm_claim said)
{
	return adm_claimed(((struct ctl *)ctx)->adm, session, said, mono_ns());
}

static void on_redis_changed(void *ctx, enum redis_link_state state, const char *sentence)
{
	struct ctl *ctl = ctx;

	if (state == REDIS_LINK_CONNECTING)
		return;
	/* While it is away, the same sentence comes with every attempt: say it once. */
	if (state == REDIS_LINK_UP || ctl->redis_up_ns)
		sw_log(state == REDIS_LINK_UP ? SW_LOG_INFO : SW_LOG_WARN, "control", "%s",
			sentence);
	ctl->redis_up_ns = state == REDIS_LINK_UP ? mono_ns() : 0;
	if (state != REDIS_LINK_UP)
		return;
	pthread_mutex_lock(&ctl->lock);
	ctl->redis_was_up = true;
	pthread_cond_broadcast(&ctl->changed);
	pthread_mutex_unlock(&ctl->lock);
	ctl_beat(ctl, mono_ns());
}

/* ---- the stop: shards, then the world ---- */

static void finish(struct ctl *ctl)
{
	ctl_set_state(ctl, CTL_STOPPED);
	ctl_beat(ctl, mono_ns());
	uv_stop(&ctl->loop);
}

static void send_simple(struct ctl *ctl, struct outbox *outbox, enum msg_type type)
{
	struct msg message;

	memset(&message, 0, sizeof(message));
	msg_begin(&message, type, HANDLE_NONE, 0);
	push(ctl, outbox, &message);
}

static void on_deadline(uv_timer_t *timer);

static void flush_world(struct ctl *ctl)
{
	ctl_set_state(ctl, CTL_STOPPING_WORLD);
	send_simple(ctl, world_outbox(ctl), MSG_WORLD_FLUSH);
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
	} else {
		sw_log(SW_LOG_ERROR, "control", "the world did not say that all is saved, in time");
		ctl->unsaved = UINT32_MAX;
		finish(ctl);
	}
}

static void begin_stop(struct ctl *ctl)
{
	if (ctl->state != CTL_READY && ctl->state != CTL_STARTING)
		return;
	sw_log(SW_LOG_INFO, "control", "stopping: nobody is let in any more");
	ctl_set_state(ctl, CTL_STOPPING_SHARDS);
	adm_stop(ctl->adm, mono_ns());
	for (uint32_t s = 0; s < ctl->links.shards; s++)
		send_simple(ctl, shard_outbox(ctl, s), MSG_SHARD_STOP);
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

	if (ctl->state != CTL_STOPPING_WORLD || message->payload_bytes != sizeof(body))
		return;
	memcpy(&body, msg_payload(message), sizeof(body));
	/* What a silent shard kept is not in the world's count. */
	ctl->unsaved = ctl->shards_left ? UINT32_MAX : body.unsaved;
	if (body.unsaved)
		sw_log(SW_LOG_ERROR, "control", "%u characters could not be saved", body.unsaved);
	finish(ctl);
}

/* ---- in: the rings ---- */

enum source { FROM_DATAPLANE, FROM_SHARD, FROM_WORLD };

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
			else if (source == FROM_SHARD && message->type == MSG_SHARD_STOPPED)
				on_shard_stopped(ctl, index);
			else if (source == FROM_SHARD)
				adm_from_shard(ctl->adm, index, message, now_ns);
			else if (message->type == MSG_WORLD_FLUSHED)
				on_world_flushed(ctl, message);
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

static void on_drain(uv_timer_t *timer)
{
	struct ctl *ctl = timer->data;
	uint64_t now_ns = mono_ns(), wall_s = (uint64_t)time(NULL);
	uint32_t messages = 0;
	bool crowded, busy;

	flush_outboxes(ctl, &crowded);
	/* Answers first: they end what new connections would add to. */
	messages += drain(ctl, ctl->links.from_world, FROM_WORLD, 0, now_ns, wall_s);
	for (uint32_t s = 0; s < ctl->links.shards; s++)
		messages += drain(ctl, ctl->links.from_shard[s], FROM_SHARD, s, now_ns, wall_s);
	for (uint32_t w = 0; w < ctl->links.workers && !crowded; w++)
		messages +=
			drain(ctl, ctl->links.from_dataplane[w], FROM_DATAPLANE, w, now_ns, wall_s);
	if (crowded)
		counter_add(&ctl->counters[CTL_C_HELD], 1);
	if (now_ns - ctl->ticked_ns >= 10 * NS_PER_MS) {
		adm_tick(ctl->adm, now_ns);
		ctl->ticked_ns = now_ns;
	}
	redis_keys_flush(ctl->keys);
	busy = flush_outboxes(ctl, &crowded) || messages;
	counter_add(&ctl->counters[CTL_C_ROUNDS], 1);
	counter_add(&ctl->counters[CTL_C_MESSAGES], messages);
	ctl->idle_rounds = busy ? 0 : ctl->idle_rounds + 1;
	uv_timer_start(
		timer, on_drain, ctl->idle_rounds < IDLE_ROUNDS ? CTL_BUSY_MS : CTL_IDLE_MS, 0);
}

/* ---- each second ---- */

static void on_heartbeat(uv_timer_t *timer)
{
	struct ctl *ctl = timer->data;
	uint64_t now_ns = mono_ns(), before_ns = now_ns - KEYS_PRESENCE_REFRESH_MS * NS_PER_MS;
	struct adm_presence due[64];
	uint32_t count;

	ctl_beat(ctl, now_ns);
	if (!ctl->redis_up_ns)
		return;
	/* Redis may have come back empty: then what was said before counts as not said. */
	if (now_ns < KEYS_PRESENCE_REFRESH_MS * NS_PER_MS || before_ns < ctl->redis_up_ns)
		before_ns = ctl->redis_up_ns;
	for (uint32_t batch = 0; batch < PRESENCE_BATCHES; batch++) {
		count = adm_presence_due(
			ctl->adm, now_ns, before_ns, due, sizeof(due) / sizeof(due[0]));
		for (uint32_t i = 0; i < count; i++)
			redis_keys_presence_put(ctl->keys, &due[i]);
		if (count < sizeof(due) / sizeof(due[0]))
			break;
	}
	redis_keys_flush(ctl->keys);
}

/* ---- life ---- */

static void on_stop(uv_async_t *async)
{
	struct ctl *ctl = async->data;

	if (ctl->abort_start)
		uv_stop(&ctl->loop);
	else
		begin_stop(ctl);
}

static void *thread_main(void *arg)
{
	struct ctl *ctl = arg;
	const struct redis_link_config config = {
		.address = ctl->config->redis.address,
		.password = ctl->config->redis.password,
		.database = ctl->config->redis.database,
		.connect_timeout_ms = ctl->config->redis.connect_timeout_ms,
		.command_timeout_ms = ctl->config->redis.command_timeout_ms,
		.changed = on_redis_changed,
		.ctx = ctl,
	};

	pthread_setname_np(pthread_self(), "control");
	ctl->redis = redis_link_new(&ctl->loop, &config);
	ctl->keys = ctl->redis ? redis_keys_new(ctl->config, ctl->redis, ctl->boot_id, claimed, ctl)
			       : NULL;
	if (ctl->keys) {
		uv_timer_start(&ctl->drain_timer, on_drain, CTL_BUSY_MS, 0);
		uv_timer_start(&ctl->heartbeat_timer, on_heartbeat, ctl->config->redis.heartbeat_ms,
			ctl->config->redis.heartbeat_ms);
		uv_run(&ctl->loop, UV_RUN_DEFAULT);
		/* What the last answers caused; and hiredis writes on the loop. */
		uv_run(&ctl->loop, UV_RUN_NOWAIT);
	}
	pthread_mutex_lock(&ctl->lock);
	ctl->done = true;
	pthread_cond_broadcast(&ctl->changed);
	pthread_mutex_unlock(&ctl->lock);
	return NULL;
}

/* Waits for *flag, or the end of the thread. */
static bool wait_for(struct ctl *ctl, const bool *flag, uint32_t timeout_ms)
{
	struct timespec until;
	bool result;

	clock_gettime(CLOCK_MONOTONIC, &until);
	until.tv_sec += timeout_ms / 1000;
	until.tv_nsec += (long)(timeout_ms % 1000) * 1000000;
	if (until.tv_nsec >= 1000000000) {
		until.tv_nsec -= 1000000000;
		until.tv_sec++;
	}
	pthread_mutex_lock(&ctl->lock);
	while (!*flag && !ctl->done &&
		pthread_cond_timedwait(&ctl->changed, &ctl->lock, &until) != ETIMEDOUT)
		;
	result = *flag;
	pthread_mutex_unlock(&ctl->lock);
	return result;
}

static bool build(struct ctl *ctl)
{
	const struct adm_ops ops = {
		ctl, to_dataplane, to_shard, to_world, claim, release, arrived, departed};
	const struct ctl_links *links = &ctl->links;
	pthread_condattr_t attr;

	pthread_mutex_init(&ctl->lock, NULL);
	pthread_condattr_init(&attr);
	pthread_condattr_setclock(&attr, CLOCK_MONOTONIC);
	pthread_cond_init(&ctl->changed, &attr);
	pthread_condattr_destroy(&attr);
	randombytes_buf(&ctl->boot_id, sizeof(ctl->boot_id));
	ctl->started_ns = mono_ns();
	ctl->shards_left = links->shards;
	ctl_counters_init(ctl);
	CHECK(!uv_loop_init(&ctl->loop));
	CHECK(!uv_async_init(&ctl->loop, &ctl->stop_async, on_stop));
	uv_timer_init(&ctl->loop, &ctl->drain_timer);
	uv_timer_init(&ctl->loop, &ctl->heartbeat_timer);
	uv_timer_init(&ctl->loop, &ctl->deadline_timer);
	ctl->stop_async.data = ctl->drain_timer.data = ctl;
	ctl->heartbeat_timer.data = ctl->deadline_timer.data = ctl;
	ctl->outbox_count = links->workers + links->shards + 1;
	ctl->outboxes = calloc(ctl->outbox_count, sizeof(*ctl->outboxes));
	ctl->adm = adm_new(ctl->config, links->workers, links->shards, &ops);
	if (!ctl->outboxes || !ctl->adm)
		return false;
	for (uint32_t w = 0; w < links->workers; w++)
		outbox_init(&ctl->outboxes[w], links->to_dataplane[w], OUTBOX_SLOTS_MAX);
	for (uint32_t s = 0; s < links->shards; s++)
		outbox_init(shard_outbox(ctl, s), links->to_shard[s], OUTBOX_SLOTS_MAX);
	outbox_init(world_outbox(ctl), links->to_world, OUTBOX_SLOTS_MAX);
	return true;
}

struct ctl *ctl_start(const struct sw_config *config, const struct ctl_links *links, FILE *errors)
{
	struct redis_address address;
	const char *why = redis_address_parse(&address, config->redis.address);
	sigset_t all, before;
	struct ctl *ctl;
	char text[256];
	int rc;

	if (why) {
		fprintf(errors, "redis.address: \"%s\": %s\n", config->redis.address, why);
		return NULL;
	}
	if (ticket_init()) {
		fprintf(errors, "control: no source of randomness\n");
		return NULL;
	}
	ctl = aligned_alloc(64, (sizeof(*ctl) + 63) & ~(size_t)63);
	if (!ctl) {
		fprintf(errors, "control: out of memory\n");
		return NULL;
	}
	memset(ctl, 0, sizeof(*ctl));
	ctl->config = config;
	ctl->links = *links;
	if (!build(ctl)) {
		fprintf(errors, "control: no memory for %u sessions (enet.peers_max)\n",
			2 * links->workers * config->enet.peers_max);
		ctl->joined = true;
		ctl_free(ctl);
		return NULL;
	}
	/* Signals are for the main thread. */
	sigfillset(&all);
	pthread_sigmask(SIG_SETMASK, &all, &before);
	rc = pthread_create(&ctl->thread, NULL, thread_main, ctl);
	pthread_sigmask(SIG_SETMASK, &before, NULL);
	if (rc) {
		fprintf(errors, "control: cannot start a thread: %s\n", strerror(rc));
		ctl->joined = true;
		ctl_free(ctl);
		return NULL;
	}
	if (wait_for(ctl, &ctl->redis_was_up, config->redis.connect_timeout_ms)) {
		int expected = CTL_STARTING;

		/* Unless a stop was asked for already. */
		if (atomic_compare_exchange_strong(&ctl->state, &expected, CTL_READY))
			counter_put(&ctl->counters[CTL_C_STATE], CTL_READY);
		return ctl;
	}
	ctl->abort_start = true;
	uv_async_send(&ctl->stop_async);
	pthread_join(ctl->thread, NULL);
	ctl->joined = true;
	if (ctl->redis)
		redis_link_health(ctl->redis, text, sizeof(text));
	else
		snprintf(text, sizeof(text), "out of memory");
	fprintf(errors,
		"control: %s\n"
		"  Redis did not answer within %u ms (redis.connect_timeout). Check that it runs "
		"and\n"
		"  that redis.address, redis.password and redis.database are right.\n",
		text, config->redis.connect_timeout_ms);
	ctl_free(ctl);
	return NULL;
}

void ctl_request_stop(struct ctl *ctl)
{
	uv_async_send(&ctl->stop_async);
}

bool ctl_wait(struct ctl *ctl, uint32_t timeout_ms)
{
	return wait_for(ctl, &ctl->done, timeout_ms);
}

uint32_t ctl_join(struct ctl *ctl)
{
	if (!ctl->joined)
		pthread_join(ctl->thread, NULL);
	ctl->joined = true;
	return ctl->unsaved;
}

void ctl_free(struct ctl *ctl)
{
	if (!ctl)
		return;
	CHECK(ctl->joined);
	/* The loop is this thread's now. */
	if (ctl->redis)
		redis_link_free(ctl->redis);
	uv_close((uv_handle_t *)&ctl->stop_async, NULL);
	uv_close((uv_handle_t *)&ctl->drain_timer, NULL);
	uv_close((uv_handle_t *)&ctl->heartbeat_timer, NULL);
	uv_close((uv_handle_t *)&ctl->deadline_timer, NULL);
	uv_run(&ctl->loop, UV_RUN_DEFAULT);
	CHECK(!uv_loop_close(&ctl->loop));
	redis_keys_free(ctl->keys);
	adm_free(ctl->adm);
	for (uint32_t i = 0; ctl->outboxes && i < ctl->outbox_count; i++)
		outbox_fini(&ctl->outboxes[i]);
	free(ctl->outboxes);
	pthread_cond_destroy(&ctl->changed);
	pthread_mutex_destroy(&ctl->lock);
	free(ctl);
}
