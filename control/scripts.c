#include "control/scripts.h"

#include <inttypes.h>
#include <stdio.h>
#include <string.h>

#include "common/check.h"
#include "common/handle.h"
#include "common/log.h"
#include "common/mono.h"
#include "control/orders_internal.h"

static void versions(const struct ctl *ctl, uint32_t definition, struct ctl_script_versions *out)
{
	ctl->links.scripts->versions(ctl->links.script_ctx, definition, out);
}

uint64_t scripts_hash(const struct ctl *ctl)
{
	uint64_t hash = 0;

	for (uint32_t d = 0; ctl->links.scripts && d < ctl->config->map_count; d++) {
		struct ctl_script_versions v;

		versions(ctl, d, &v);
		hash = (hash ^ v.hash) * 0x100000001b3ull;
	}
	return hash;
}

static void begin_step(struct ctl *ctl, enum scripts_step step, uint64_t now_ns);

/* ---- on the pool's thread ---- */

static void work(uv_work_t *work)
{
	struct ctl *ctl = work->data;
	struct scripts *s = &ctl->scripts;
	const struct ctl_script_ops *ops = ctl->links.scripts;
	char error[sizeof(s->error)] = "";

	s->rc = 0;
	if (s->step == SCRIPTS_PREPARE)
		s->rc = ops->prepare(ctl->links.script_ctx, s->wanted, error, sizeof(error));
	else if (s->step == SCRIPTS_REVERT)
		s->rc = ops->revert(ctl->links.script_ctx, s->wanted, error, sizeof(error));
	else if (s->step == SCRIPTS_COMMIT)
		ops->commit(ctl->links.script_ctx, s->wanted);
	else
		ops->discard(ctl->links.script_ctx, s->wanted);
	if (s->rc)
		memcpy(s->error, error, sizeof(error));
}

/* ---- the end ---- */

static void tell(const struct ctl *ctl, char *text, size_t bytes)
{
	const struct scripts *s = &ctl->scripts;
	size_t used = 0;

	for (uint32_t d = 0; d < ctl->config->map_count; d++) {
		struct ctl_script_versions v;

		if (!s->wanted[d])
			continue;
		versions(ctl, d, &v);
		used += (size_t)snprintf(text + used, bytes - used, "%smap %s runs version %u (%016" PRIx64 ")",
			used ? ", " : "", ctl->config->maps[d].name, v.now, v.hash);
		if (used >= bytes)
			return;
	}
	if (s->step == SCRIPTS_RELEASE)
		snprintf(text + used, bytes - used, "; %u handlers were released", s->count);
	else
		snprintf(text + used, bytes - used, "; %u instances took it", s->done);
}

static void finish(struct ctl *ctl, bool good)
{
	struct scripts *s = &ctl->scripts;
	struct kept_order *kept = order_kept(ctl, s->order);
	char text[2048];

	if (good)
		tell(ctl, text, sizeof(text));
	else
		snprintf(text, sizeof(text), "%s", s->error);
	if (kept)
		order_kept_end(ctl, kept, good ? ORDER_DONE : ORDER_REFUSED, text);
	else
		sw_log(good ? SW_LOG_INFO : SW_LOG_WARN, "control", "scripts: %s%s",
			good ? "" : "not changed: ", text);
	s->step = SCRIPTS_IDLE;
	s->order = 0;
}

/* ---- step after step ---- */

static void done(uv_work_t *request, int status)
{
	struct ctl *ctl = request->data;
	struct scripts *s = &ctl->scripts;
	uint64_t now_ns = mono_ns();

	CHECK(!status); /* nobody cancels */
	if (ctl->state != CTL_READY) {
		s->step = SCRIPTS_IDLE;
		return;
	}
	switch (s->step) {
	case SCRIPTS_PREPARE:
		if (s->rc)
			finish(ctl, false);
		else
			begin_step(ctl, SCRIPTS_SWAP, now_ns);
		break;
	case SCRIPTS_REVERT:
		if (s->rc)
			finish(ctl, false);
		else
			begin_step(ctl, SCRIPTS_SWEEP, now_ns);
		break;
	case SCRIPTS_COMMIT:
		begin_step(ctl, SCRIPTS_SWEEP, now_ns);
		break;
	default: /* DISCARD */
		finish(ctl, false);
	}
}

static void next_step(struct ctl *ctl, uint64_t now_ns)
{
	struct scripts *s = &ctl->scripts;

	switch (s->step) {
	case SCRIPTS_CLEAR: /* who has not let go may still run what prepare takes the memory of */
		if (s->good)
			begin_step(ctl, SCRIPTS_PREPARE, now_ns);
		else
			finish(ctl, false);
		break;
	case SCRIPTS_SWAP:
		begin_step(ctl, s->good ? SCRIPTS_COMMIT : SCRIPTS_UNDO, now_ns);
		break;
	case SCRIPTS_UNDO: /* ... or discard: it waits for the next reload */
		if (s->good)
			begin_step(ctl, SCRIPTS_DISCARD, now_ns);
		else
			finish(ctl, false);
		break;
	case SCRIPTS_BACK: /* who has it no more takes it in the sweep */
		begin_step(ctl, SCRIPTS_REVERT, now_ns);
		break;
	case SCRIPTS_RELEASE:
		finish(ctl, true);
		break;
	default: /* SWEEP */
		if (!s->good)
			sw_log(SW_LOG_WARN, "control",
				"scripts: an instance stays with another version: %s", s->error);
		finish(ctl, true);
	}
}

static bool order_shard(
	struct ctl *ctl, uint32_t definition, uint32_t id, enum msg_script_act act)
{
	struct msg_script body = {.instance = id, .act = act};
	struct ctl_script_versions v;
	struct msg_buffer message;
	uint32_t shard;

	if (!director_runs(ctl->director, id, &shard))
		return false;
	versions(ctl, definition, &v);
	switch (ctl->scripts.step) {
	case SCRIPTS_SWAP:
		body.version = v.next;
		break;
	case SCRIPTS_BACK:
		body.version = v.before;
		break;
	default:
		body.version = v.now;
	}
	if (act == MSG_SCRIPT_RELEASE)
		snprintf(body.text, sizeof(body.text), "%s", ctl->scripts.name);
	memcpy(msg_begin(message.slot, MSG_SCRIPT_ORDER, HANDLE_NONE, sizeof(body)), &body,
		sizeof(body));
	ctl_push(ctl, ctl_shard_outbox(ctl, shard), message.slot);
	return true;
}

static void order_all(struct ctl *ctl, enum msg_script_act act, uint64_t now_ns)
{
	struct scripts *s = &ctl->scripts;

	s->good = true;
	s->act = act;
	s->done = s->count = 0;
	s->deadline_ns = now_ns + SCRIPTS_ANSWER_MS * NS_PER_MS;
	for (uint32_t slot = 0; slot < director_slots(ctl->director); slot++) {
		struct director_status status;

		s->pending[slot] = INSTANCE_NONE;
		director_status(ctl->director, slot, &status);
		if (status.running && s->wanted[status.definition] &&
			order_shard(ctl, status.definition, status.id, act))
			s->pending[slot] = status.id;
	}
}

static void begin_step(struct ctl *ctl, enum scripts_step step, uint64_t now_ns)
{
	struct scripts *s = &ctl->scripts;

	s->step = step;
	switch (step) {
	case SCRIPTS_CLEAR:
		order_all(ctl, MSG_SCRIPT_CLEAR, now_ns);
		break;
	case SCRIPTS_SWAP:
	case SCRIPTS_SWEEP:
		order_all(ctl, MSG_SCRIPT_SWAP, now_ns);
		break;
	case SCRIPTS_RELEASE:
		order_all(ctl, MSG_SCRIPT_RELEASE, now_ns);
		break;
	case SCRIPTS_UNDO:
	case SCRIPTS_BACK:
		order_all(ctl, MSG_SCRIPT_BACK, now_ns);
		break;
	default:
		s->work.data = ctl;
		CHECK(!uv_queue_work(&ctl->loop, &s->work, work, done));
	}
}

/* ---- what shards say ---- */

static void returned(struct ctl *ctl, const struct msg_script *body)
{
	uint32_t definition = instance_definition(ctl->config, instance_slot(body->instance));

	if (definition == ctl->config->map_count)
		return;
	sw_log(SW_LOG_WARN, "control",
		"map %s, instance %u.%u: version %u of its script failed, and the one before is "
		"back: %s",
		ctl->config->maps[definition].name, instance_slot(body->instance),
		instance_generation(body->instance), body->version, body->text);
	ctl->scripts.returned[definition] = body->version;
}

void scripts_from_shard(struct ctl *ctl, const struct msg *message, uint64_t now_ns)
{
	struct scripts *s = &ctl->scripts;
	struct msg_script body;
	uint32_t slot;

	(void)now_ns;
	if (!ctl_fits(ctl, message, sizeof(body)))
		return;
	memcpy(&body, msg_payload(message), sizeof(body));
	body.text[sizeof(body.text) - 1] = '\0';
	slot = instance_slot(body.instance);
	if (body.act == MSG_SCRIPT_RETURN) {
		returned(ctl, &body);
		return;
	}
	if (slot >= director_slots(ctl->director) || s->pending[slot] != body.instance ||
		body.act != s->act)
		return;
	s->pending[slot] = INSTANCE_NONE;
	s->done += body.good;
	s->count += body.count;
	if (!body.good && s->step != SCRIPTS_UNDO && s->good) {
		s->good = false;
		snprintf(s->error, sizeof(s->error), "instance %u.%u: %s", slot,
			instance_generation(body.instance), body.text);
	}
}

static bool all_answered(struct ctl *ctl, uint64_t now_ns)
{
	struct scripts *s = &ctl->scripts;
	bool all = true;

	for (uint32_t slot = 0; slot < director_slots(ctl->director); slot++) {
		uint32_t shard;

		if (!s->pending[slot])
			continue;
		if (!director_runs(ctl->director, s->pending[slot], &shard)) {
			s->pending[slot] = INSTANCE_NONE; /* it has ended */
		} else if (now_ns >= s->deadline_ns) {
			snprintf(s->error, sizeof(s->error), "instance %u.%u does not answer", slot,
				instance_generation(s->pending[slot]));
			s->pending[slot] = INSTANCE_NONE;
			s->good = false;
		} else {
			all = false;
		}
	}
	return all;
}

/* Others follow a shard that returned by itself; nobody asked for it. */
static void follow(struct ctl *ctl, uint64_t now_ns)
{
	struct scripts *s = &ctl->scripts;
	bool any = false;

	for (uint32_t d = 0; d < ctl->config->map_count; d++) {
		struct ctl_script_versions v;

		versions(ctl, d, &v);
		/* What failed may have been replaced meanwhile. */
		s->wanted[d] = s->returned[d] && s->returned[d] == v.now && v.before;
		s->returned[d] = 0;
		any |= s->wanted[d];
	}
	if (any)
		begin_step(ctl, SCRIPTS_BACK, now_ns);
}

void scripts_tick(struct ctl *ctl, uint64_t now_ns)
{
	struct scripts *s = &ctl->scripts;

	if (!ctl->links.scripts)
		return;
	switch (s->step) {
	case SCRIPTS_IDLE:
		if (ctl->state == CTL_READY)
			follow(ctl, now_ns);
		break;
	case SCRIPTS_PREPARE:
	case SCRIPTS_COMMIT:
	case SCRIPTS_DISCARD:
	case SCRIPTS_REVERT:
		break; /* done() goes on */
	default:
		if (all_answered(ctl, now_ns))
			next_step(ctl, now_ns);
	}
}

/* ---- orders ---- */

/* The maps of an order's word: one, or "all" that have a script. false: it is answered. */
static bool choose(struct ctl *ctl, const struct order *order, const char *word, bool *wanted)
{
	bool all = !strcmp(word, "all"), any = false;

	memset(wanted, 0, CONFIG_MAPS_MAX * sizeof(*wanted));
	if (!ctl->links.scripts) {
		order_answer(ctl, order, ORDER_UNAVAILABLE, "this node runs no scripts");
		return false;
	}
	for (uint32_t d = 0; d < ctl->config->map_count; d++) {
		struct ctl_script_versions v;

		versions(ctl, d, &v);
		wanted[d] = v.now && (all || !strcmp(ctl->config->maps[d].name, word));
		any |= wanted[d];
	}
	if (!any)
		order_answer(ctl, order, ORDER_REFUSED, "there is no map %s with a script", word);
	return any;
}

static void change(
	struct ctl *ctl, const struct order *order, enum scripts_step first, uint64_t now_ns)
{
	struct scripts *s = &ctl->scripts;
	bool wanted[CONFIG_MAPS_MAX];
	struct kept_order *kept;

	if (!choose(ctl, order, order->word[2], wanted))
		return;
	if (s->step != SCRIPTS_IDLE) {
		order_answer(ctl, order, ORDER_REFUSED, "another change of scripts is under way");
		return;
	}
	for (uint32_t d = 0; d < ctl->config->map_count && first == SCRIPTS_BACK; d++) {
		struct ctl_script_versions v;

		versions(ctl, d, &v);
		if (wanted[d] && !v.before) {
			order_answer(ctl, order, ORDER_REFUSED,
				"map %s has no version before this one: that is known from one "
				"reload to the next, and while the server runs",
				ctl->config->maps[d].name);
			return;
		}
	}
	kept = order_keep(ctl, order, now_ns,
		"it takes longer than usual; script list, and the log, say how it ends", false);
	if (!kept)
		return;
	memcpy(s->wanted, wanted, sizeof(s->wanted));
	s->order = order->id;
	s->error[0] = '\0';
	begin_step(ctl, first, now_ns);
}

void order_script_reload(struct ctl *ctl, const struct order *order, uint64_t now_ns)
{
	change(ctl, order, SCRIPTS_CLEAR, now_ns);
}

void order_script_release(struct ctl *ctl, const struct order *order, uint64_t now_ns)
{
	struct scripts *s = &ctl->scripts;

	if (s->step == SCRIPTS_IDLE)
		snprintf(s->name, sizeof(s->name), "%s", order->words > 3 ? order->word[3] : "");
	change(ctl, order, SCRIPTS_RELEASE, now_ns);
}

void order_script_rollback(struct ctl *ctl, const struct order *order, uint64_t now_ns)
{
	change(ctl, order, SCRIPTS_BACK, now_ns);
}

static void ask(struct ctl *ctl, const struct order *order, const char *map,
	enum ctl_script_text what)
{
	char text[ORDER_TEXT_BYTES] = "";
	bool wanted[CONFIG_MAPS_MAX];

	if (!choose(ctl, order, map, wanted))
		return;
	for (uint32_t d = 0; d < ctl->config->map_count; d++) {
		size_t used = strlen(text);

		if (wanted[d])
			ctl->links.scripts->text(ctl->links.script_ctx, what, d, text + used,
				sizeof(text) - used);
	}
	order_answer(ctl, order, ORDER_DONE, "%s", text);
}

void order_script_list(struct ctl *ctl, const struct order *order, uint64_t now_ns)
{
	(void)now_ns;
	ask(ctl, order, "all", CTL_SCRIPT_LIST);
}

void order_script_errors(struct ctl *ctl, const struct order *order, uint64_t now_ns)
{
	(void)now_ns;
	ask(ctl, order, order->word[2], CTL_SCRIPT_ERRORS);
}

void order_script_profile(struct ctl *ctl, const struct order *order, uint64_t now_ns)
{
	(void)now_ns;
	ask(ctl, order, order->word[2], CTL_SCRIPT_PROFILE);
}
