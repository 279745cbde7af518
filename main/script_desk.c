#include "main/script_desk.h"

#include <errno.h>
#include <inttypes.h>
#include <pthread.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "main/script_tests.h"
#include "simulation/script/api.h"

#define SHOWN_BYTES   420u
#define HANDLERS_MAX  1024u
#define HANDLERS_SHOWN 24u

struct error {
	uint32_t slot, tick;
	char text[SHOWN_BYTES];
};

struct script_desk {
	struct sim_instances *instances;
	const struct sw_config *config;
	bool (*recording)(void *ctx);
	void *recording_ctx;
	pthread_mutex_t lock; /* of the errors; ordinary threads */
	struct {
		struct error error[SCRIPT_DESK_ERRORS];
		uint64_t count; /* ever */
	} map[CONFIG_MAPS_MAX];
};

struct script_desk *script_desk_new(struct sim_instances *instances, const struct sw_config *config,
	bool (*recording)(void *ctx), void *recording_ctx)
{
	struct script_desk *desk = calloc(1, sizeof(*desk));

	if (!desk)
		return NULL;
	desk->instances = instances;
	desk->config = config;
	desk->recording = recording;
	desk->recording_ctx = recording_ctx;
	pthread_mutex_init(&desk->lock, NULL);
	return desk;
}

void script_desk_free(struct script_desk *desk)
{
	if (!desk)
		return;
	pthread_mutex_destroy(&desk->lock);
	free(desk);
}

void script_desk_note(struct script_desk *desk, uint32_t slot, const struct script_text *text,
	const char *title)
{
	uint32_t definition = instance_definition(desk->config, slot);
	struct error *error;

	if (text->kind != SCRIPT_TEXT_ERROR)
		return;
	pthread_mutex_lock(&desk->lock);
	error = &desk->map[definition].error[desk->map[definition].count++ % SCRIPT_DESK_ERRORS];
	error->slot = slot;
	error->tick = text->tick;
	snprintf(error->text, sizeof(error->text), "%.200s: %.200s", title, text->text);
	pthread_mutex_unlock(&desk->lock);
}

/* ---- for control ---- */

static int refuse_recording(const struct script_desk *desk, char *error, size_t error_bytes)
{
	if (!desk->recording(desk->recording_ctx))
		return 0;
	snprintf(error, error_bytes,
		"the shards are being recorded, and a replay could not repeat it: end that first "
		"(record stop)");
	return -EBUSY;
}

static int prepare(void *ctx, const bool *wanted, char *error, size_t error_bytes)
{
	struct script_desk *desk = ctx;
	int rc = refuse_recording(desk, error, error_bytes);

	for (uint32_t d = 0; d < desk->config->map_count && !rc; d++)
		if (wanted[d])
			rc = script_tests_run(desk->config->simulation.content,
				desk->config->maps[d].script, error, error_bytes);
	return rc ? rc : sim_scripts_prepare(desk->instances, wanted, error, error_bytes);
}

static void commit(void *ctx, const bool *wanted)
{
	sim_scripts_commit(((struct script_desk *)ctx)->instances, wanted);
}

static void discard(void *ctx, const bool *wanted)
{
	sim_scripts_discard(((struct script_desk *)ctx)->instances, wanted);
}

static int revert(void *ctx, const bool *wanted, char *error, size_t error_bytes)
{
	return sim_scripts_revert(((struct script_desk *)ctx)->instances, wanted, error, error_bytes);
}

static void versions(void *ctx, uint32_t definition, struct ctl_script_versions *out)
{
	struct sim_script_view view;

	sim_scripts_view(((struct script_desk *)ctx)->instances, definition, &view);
	*out = (struct ctl_script_versions){view.version, view.before, view.next, view.hash};
}

/* ---- texts ---- */

struct handler {
	uint32_t slot, version;
	char of[SCRIPT_NAME_BYTES], handler[32];
	enum script_context context;
	struct script_handler_view view;
};

struct handlers {
	uint32_t slot, count;
	uint64_t ran_us, calls, failed, barred;
	struct handler handler[HANDLERS_MAX];
};

static void add_handler(void *ctx, uint32_t version, const char *of, const char *handler,
	enum script_context context, const struct script_handler_view *view)
{
	struct handlers *all = ctx;
	struct handler *h;

	all->ran_us += view->ran_us;
	all->calls += view->calls;
	all->failed += view->failed;
	all->barred += view->barred;
	if (all->count == HANDLERS_MAX)
		return;
	h = &all->handler[all->count++];
	*h = (struct handler){
		.slot = all->slot, .version = version, .context = context, .view = *view};
	snprintf(h->of, sizeof(h->of), "%s", of);
	snprintf(h->handler, sizeof(h->handler), "%s", handler);
}

static int more_time(const void *a, const void *b)
{
	const struct handler *x = a, *y = b;

	if (x->view.ran_us != y->view.ran_us)
		return x->view.ran_us < y->view.ran_us ? 1 : -1;
	return x->view.calls < y->view.calls ? 1 : x->view.calls > y->view.calls ? -1 : 0;
}

static struct handlers *handlers_of(struct script_desk *desk, uint32_t definition)
{
	uint32_t first = instance_first(desk->config, definition);
	struct handlers *all = calloc(1, sizeof(*all));

	for (uint32_t i = 0; all && i < instance_max(&desk->config->maps[definition]); i++) {
		all->slot = first + i;
		sim_instance_handlers(desk->instances, first + i, add_handler, all);
	}
	return all;
}

static void profile(struct script_desk *desk, uint32_t definition, FILE *out)
{
	struct handlers *all = handlers_of(desk, definition);

	if (!all)
		return;
	qsort(all->handler, all->count, sizeof(all->handler[0]), more_time);
	fprintf(out, "map %s: %" PRIu64 " ms in handlers, by samples of a millisecond\n",
		desk->config->maps[definition].name, all->ran_us / 1000);
	for (uint32_t i = 0; i < all->count && i < HANDLERS_SHOWN; i++) {
		const struct handler *h = &all->handler[i];

		fprintf(out, "  %5.1f %%  %8" PRIu64 " ms  %s (%s)%s%s  slot %u  version %u  calls %"
			     PRIu64 "  failed %" PRIu64 "%s\n",
			all->ran_us ? 100.0 * (double)h->view.ran_us / (double)all->ran_us : 0,
			h->view.ran_us / 1000, h->handler, script_context_name(h->context),
			h->of[0] ? " of " : "", h->of, h->slot, h->version, h->view.calls,
			h->view.failed, h->view.barred ? "  barred" : "");
	}
	free(all);
}

static void list(struct script_desk *desk, uint32_t definition, FILE *out)
{
	struct handlers *all = handlers_of(desk, definition);
	struct sim_script_view view;

	sim_scripts_view(desk->instances, definition, &view);
	fprintf(out, "map %s  version %u  %016" PRIx64 "  %s", desk->config->maps[definition].name,
		view.version, view.hash, view.path);
	if (view.before)
		fprintf(out, "  before it %u", view.before);
	if (view.next)
		fprintf(out, "  being prepared %u", view.next);
	if (all)
		fprintf(out, "  calls %" PRIu64 "  failed %" PRIu64, all->calls, all->failed);
	fprintf(out, "\n");
	for (uint32_t i = 0; all && i < all->count; i++)
		if (all->handler[i].view.barred)
			fprintf(out, "  barred: %s (%s)%s%s  slot %u  version %u\n",
				all->handler[i].handler,
				script_context_name(all->handler[i].context),
				all->handler[i].of[0] ? " of " : "", all->handler[i].of,
				all->handler[i].slot, all->handler[i].version);
	free(all);
}

static void errors(struct script_desk *desk, uint32_t definition, FILE *out)
{
	pthread_mutex_lock(&desk->lock);
	fprintf(out, "map %s: %" PRIu64 " errors since the start\n",
		desk->config->maps[definition].name, desk->map[definition].count);
	for (uint32_t i = 0; i < SCRIPT_DESK_ERRORS && i < desk->map[definition].count; i++) {
		const struct error *error =
			&desk->map[definition].error[(desk->map[definition].count - 1 - i) %
						     SCRIPT_DESK_ERRORS];

		fprintf(out, "slot %u, tick %u, %s\n", error->slot, error->tick, error->text);
	}
	pthread_mutex_unlock(&desk->lock);
}

static void text(void *ctx, enum ctl_script_text what, uint32_t definition, char *to, size_t bytes)
{
	FILE *out = bytes > 1 ? fmemopen(to, bytes, "w") : NULL;

	if (!out)
		return;
	if (what == CTL_SCRIPT_LIST)
		list(ctx, definition, out);
	else if (what == CTL_SCRIPT_ERRORS)
		errors(ctx, definition, out);
	else
		profile(ctx, definition, out);
	fclose(out);
	to[bytes - 1] = '\0';
}

const struct ctl_script_ops script_desk_ops = {prepare, commit, discard, revert, versions, text};
