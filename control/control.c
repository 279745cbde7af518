#include "control/control.h"

#include <errno.h>
#include <stdlib.h>
#include <string.h>
#include <time.h>

#include <sodium.h>

#include "common/check.h"
#include "common/log.h"
#include "common/mono.h"
#include "control/admission/pass_key.h"
#include "control/control_internal.h"
#include "control/redis/redis_address.h"

/* Slots that may wait for one ring. A session is at most about a dozen slots in all (admitted 3,
 * refused 3, disconnect 1, join 4, remove 1, load 2); the dataplane is held long before. */
#define OUTBOX_SLOTS_MAX (1u << 20)

static void on_stop(uv_async_t *async)
{
	struct ctl *ctl = async->data;

	if (ctl->abort_start)
		uv_stop(&ctl->loop);
	else
		ctl_begin_stop(ctl);
}

static void *thread_main(void *arg)
{
	struct ctl *ctl = arg;
	const char *sentinels[CONFIG_SENTINELS_MAX];
	const struct redis_link_config config = {
		.address = ctl->config->redis.address,
		.sentinels = sentinels,
		.sentinel_count = ctl->config->redis.sentinel_count,
		.sentinel_password = ctl->config->redis.sentinel_password,
		.master_name = ctl->config->redis.master_name,
		.password = ctl->config->redis.password,
		.database = ctl->config->redis.database,
		.connect_timeout_ms = ctl->config->redis.connect_timeout_ms,
		.command_timeout_ms = ctl->config->redis.command_timeout_ms,
		.changed = ctl_redis_changed,
		.ctx = ctl,
	};

	pthread_setname_np(pthread_self(), "control");
	for (uint32_t i = 0; i < config.sentinel_count; i++)
		sentinels[i] = ctl->config->redis.sentinels[i].address;
	ctl->redis = redis_link_new(&ctl->loop, &config);
	ctl->keys =
		ctl->redis ? redis_keys_new(ctl->config, ctl->redis, ctl->boot_id, ctl_claimed, ctl)
			   : NULL;
	if (ctl->keys) {
		struct presence_ops ops = ctl_presence_ops;

		ops.ctx = ctl;
		ctl->presence = presence_new(ctl->config, ctl->redis, ctl->boot_id, &ops);
	}
	if (ctl->presence) {
		struct party_ops ops = ctl_party_ops;

		ops.ctx = ctl;
		ctl->party = party_new(ctl->config, ctl->redis, ctl->links.shards, &ops);
		ctl->gate_link = gate_link_new(
			ctl->config, ctl->redis, ctl->boot_id, ctl->gate, orders_gate, ctl);
	}
	if (ctl->party && ctl->gate_link) {
		director_start(ctl->director, mono_ns());
		uv_timer_start(&ctl->drain_timer, ctl_on_drain, CTL_BUSY_MS, 0);
		uv_timer_start(&ctl->heartbeat_timer, ctl_on_heartbeat,
			ctl->config->redis.heartbeat_ms, ctl->config->redis.heartbeat_ms);
		uv_run(&ctl->loop, UV_RUN_DEFAULT);
		/* What the last answers caused; and hiredis writes on the loop. */
		uv_run(&ctl->loop, UV_RUN_NOWAIT);
		while (ctl->builder.id) /* a build under way: the table is main's to free */
			uv_run(&ctl->loop, UV_RUN_ONCE);
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

/* What passes and challenges are sealed with. */
static bool secrets_fill(struct adm_secrets *secrets, const struct sw_config *config, FILE *errors)
{
	const char *path = config->admission.pass_keys, *why;
	int rc;

	randombytes_buf(secrets->challenge_key, sizeof(secrets->challenge_key));
	if (!path[0]) {
		pass_keys_draw(&secrets->pass_keys);
		return true;
	}
	rc = pass_keys_load(&secrets->pass_keys, path, &why);
	if (rc)
		fprintf(errors, "admission.pass_keys: %s: %s\n", path, why ? why : strerror(-rc));
	return !rc;
}

static bool build(struct ctl *ctl, const struct adm_secrets *secrets)
{
	struct adm_ops ops = ctl_adm_ops;
	struct director_ops director_ops = ctl_director_ops;
	struct gate_ops gate_ops = ctl_gate_ops;
	const struct ctl_links *links = &ctl->links;
	pthread_condattr_t attr;

	ops.ctx = director_ops.ctx = gate_ops.ctx = ctl;
	if (!ctl->config->admission.pass_keys[0])
		gate_ops.move = NULL; /* no other node could open the pass */
	pthread_mutex_init(&ctl->lock, NULL);
	pthread_condattr_init(&attr);
	pthread_condattr_setclock(&attr, CLOCK_MONOTONIC);
	pthread_cond_init(&ctl->changed, &attr);
	pthread_condattr_destroy(&attr);
	randombytes_buf(&ctl->boot_id, sizeof(ctl->boot_id));
	ctl->started_ns = mono_ns();
	ctl->shards_left = links->shards;
	ctl->told_state = UINT32_MAX;
	ctl_counters_init(ctl);
	CHECK(!uv_loop_init(&ctl->loop));
	CHECK(!uv_async_init(&ctl->loop, &ctl->stop_async, on_stop));
	uv_timer_init(&ctl->loop, &ctl->drain_timer);
	uv_timer_init(&ctl->loop, &ctl->heartbeat_timer);
	uv_timer_init(&ctl->loop, &ctl->deadline_timer);
	ctl->stop_async.data = ctl->drain_timer.data = ctl;
	ctl->heartbeat_timer.data = ctl->deadline_timer.data = ctl;
	ctl->outbox_count = links->workers + links->shards + 1 + (links->to_chat != NULL);
	ctl->outboxes = calloc(ctl->outbox_count, sizeof(*ctl->outboxes));
	ctl->builder = (struct builder){.loop = &ctl->loop,
		.prepare = links->build,
		.prepare_ctx = links->build_ctx,
		.done = ctl_built,
		.done_ctx = ctl};
	ctl->director = director_new(ctl->config, links->shards, &director_ops);
	if (ctl->director)
		ctl->adm = adm_new(
			ctl->config, secrets, links->workers, links->shards, ctl->director, &ops);
	ctl->gate = gate_new(
		ctl->config, (uint32_t)adm_sessions(ctl->config, links->workers), &gate_ops);
	if (links->to_chat)
		ctl->chat = chat_feed_new(
			(uint32_t)adm_sessions(ctl->config, links->workers), ctl_to_chat, ctl);
	if (!ctl->outboxes || !ctl->adm || !ctl->gate || (links->to_chat && !ctl->chat))
		return false;
	ctl->verifier = verifier_start(ctl->config);
	if (!ctl->verifier)
		return false;
	for (uint32_t w = 0; w < links->workers; w++)
		outbox_init(&ctl->outboxes[w], links->to_dataplane[w], OUTBOX_SLOTS_MAX);
	for (uint32_t s = 0; s < links->shards; s++)
		outbox_init(ctl_shard_outbox(ctl, s), links->to_shard[s], OUTBOX_SLOTS_MAX);
	outbox_init(ctl_world_outbox(ctl), links->to_world, OUTBOX_SLOTS_MAX);
	if (links->to_chat)
		outbox_init(ctl_chat_outbox(ctl), links->to_chat, OUTBOX_SLOTS_MAX);
	return true;
}

/* A key that is no point of the curve, or one of small order, verifies nothing: every ticket would
 * be called forged. */
static bool ticket_keys_good(const struct sw_config *config, FILE *errors)
{
	bool good = true;

	for (uint32_t i = 0; i < config->admission.ticket_key_count; i++) {
		if (crypto_core_ed25519_is_valid_point(
			    config->admission.ticket_keys[i].public_key) == 1)
			continue;
		fprintf(errors,
			"admission.ticket_keys[%u].public_key: is not an Ed25519 public key; swctl "
			"ticket-key prints one\n",
			i);
		good = false;
	}
	return good;
}

struct ctl *ctl_start(const struct sw_config *config, const struct ctl_links *links, FILE *errors)
{
	struct redis_address address;
	const char *why = redis_address_parse(&address, config->redis.address);
	sigset_t all, before;
	struct adm_secrets secrets;
	struct ctl *ctl;
	char text[256], watch[256] = "";
	bool built;
	int rc;

	if (why) {
		fprintf(errors, "redis.address: \"%s\": %s\n", config->redis.address, why);
		return NULL;
	}
	if (ticket_init()) {
		fprintf(errors, "control: no source of randomness\n");
		return NULL;
	}
	if (!ticket_keys_good(config, errors) || !secrets_fill(&secrets, config, errors))
		return NULL;
	ctl = aligned_alloc(64, (sizeof(*ctl) + 63) & ~(size_t)63);
	if (!ctl) {
		fprintf(errors, "control: out of memory\n");
		return NULL;
	}
	memset(ctl, 0, sizeof(*ctl));
	ctl->config = config;
	ctl->links = *links;
	built = build(ctl, &secrets);
	sodium_memzero(&secrets, sizeof(secrets));
	if (!built) {
		fprintf(errors,
			"control: no memory for %u sessions (enet.peers_max), or no thread\n",
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
	snprintf(text, sizeof(text), "out of memory");
	if (ctl->redis) {
		redis_link_health(ctl->redis, text, sizeof(text));
		redis_link_watched(ctl->redis, watch, sizeof(watch));
	}
	fprintf(errors,
		"control: %s%s%s\n"
		"  Redis did not answer within %u ms (redis.connect_timeout). Check that it runs "
		"and\n"
		"  that redis.address (or redis.sentinels and redis.master_name), redis.password "
		"and\n"
		"  redis.database are right.\n",
		text, *watch ? "; " : "", watch, config->redis.connect_timeout_ms);
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
	verifier_stop(ctl->verifier);
	/* The loop is this thread's now. */
	if (ctl->redis)
		redis_link_free(ctl->redis);
	uv_close((uv_handle_t *)&ctl->stop_async, NULL);
	uv_close((uv_handle_t *)&ctl->drain_timer, NULL);
	uv_close((uv_handle_t *)&ctl->heartbeat_timer, NULL);
	uv_close((uv_handle_t *)&ctl->deadline_timer, NULL);
	uv_run(&ctl->loop, UV_RUN_DEFAULT);
	CHECK(!uv_loop_close(&ctl->loop));
	party_free(ctl->party);
	presence_free(ctl->presence);
	gate_link_free(ctl->gate_link);
	redis_keys_free(ctl->keys);
	adm_free(ctl->adm);
	chat_feed_free(ctl->chat);
	gate_free(ctl->gate);
	director_free(ctl->director);
	for (uint32_t i = 0; ctl->outboxes && i < ctl->outbox_count; i++)
		outbox_fini(&ctl->outboxes[i]);
	free(ctl->outboxes);
	pthread_cond_destroy(&ctl->changed);
	pthread_mutex_destroy(&ctl->lock);
	free(ctl);
}
