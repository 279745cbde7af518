/* Scripts of instances, and other versions of them. What the builder does here touches nothing that a
 * running shard reads, but for what is handed over by a message (reload.h). */
#include <errno.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "common/recording.h"
#include "common/tables.h"
#include "simulation/instance_internal.h"
#include "simulation/npc.h"

int sim_script_read(const char *path, struct script_source *source)
{
	FILE *file = fopen(path, "rb");
	char *text = malloc(SCRIPT_SOURCE_MAX + 1);
	int status = -ENOMEM;

	if (!file)
		status = -errno;
	if (!file || !text)
		goto fail;
	source->bytes = fread(text, 1, SCRIPT_SOURCE_MAX + 1, file);
	status = ferror(file) ? -EIO : source->bytes > SCRIPT_SOURCE_MAX ? -EFBIG : 0;
	if (status)
		goto fail;
	fclose(file);
	source->text = text;
	source->hash = recording_hash(RECORDING_HASH, text, source->bytes);
	return 0;
fail:
	if (file)
		fclose(file);
	free(text);
	return status;
}

static void source_free(struct script_source *source)
{
	free(source->text);
	*source = (struct script_source){0};
}

void sim_definition_publish(struct definition *definition)
{
	atomic_store(&definition->hash, definition->now.hash);
	atomic_store(&definition->version, definition->now.version);
	atomic_store(&definition->version_before, definition->before.version);
	atomic_store(&definition->version_next, definition->next.version);
}

void sim_definition_free(struct definition *definition)
{
	source_free(&definition->now);
	source_free(&definition->before);
	source_free(&definition->next);
}

/* ---- one instance ---- */

static void set_vm(struct sim_instance *instance, uint32_t side, struct script_vm *vm)
{
	struct script_vm *last = instance->vm[side];

	pthread_mutex_lock(&instance->text_lock);
	instance->vm[side] = vm;
	pthread_mutex_unlock(&instance->text_lock);
	script_vm_free(last);
}

static int make(struct sim_instances *table, struct sim_instance *instance, uint32_t side,
	const struct script_source *source, char *error, size_t error_bytes)
{
	struct sim_map *m = &instance->map;
	size_t bytes = (table->config->simulation.script_memory_bytes + 63) & ~63ull;
	struct sim_npc_script script = {.path = table->definitions[m->index].path,
		.text = source->text,
		.bytes = source->bytes,
		.version = source->version,
		.side = side,
		.vms_before = instance->vms_made++,
		.memory_bytes = table->config->simulation.script_memory_bytes,
		.watchdog = table->watchdog,
		.counters = instance->script_counters};
	struct script_vm *vm = NULL;
	int rc;

	set_vm(instance, side, NULL);
	if (!instance->region[side])
		instance->region[side] = tables_new(bytes);
	if (!instance->region[side])
		return sim_instance_no_memory(m, bytes, error, error_bytes);
	script.region = instance->region[side];
	rc = sim_npc_load(m, &script, &vm, error, error_bytes);
	if (rc) {
		script_vm_free(vm);
		return rc;
	}
	set_vm(instance, side, vm);
	return 0;
}

/* Which NPC of the next version is which of the running one: by name, and of one name in their
 * order. Then those that are new. */
static bool map_npcs(struct sim_instance *instance, const struct script_vm *now,
	const struct script_vm *next)
{
	uint32_t old = script_vm_npc_count(now), count = script_vm_npc_count(next), fresh = old;
	bool taken[SCRIPT_NPCS_MAX] = {false};

	if (!instance->to_next)
		instance->to_next = malloc(2 * SCRIPT_NPCS_MAX * sizeof(*instance->to_next));
	if (!instance->to_next)
		return false;
	for (uint32_t i = 0; i < old; i++) {
		instance->to_next[i] = SIM_NONE;
		for (uint32_t n = 0; n < count && instance->to_next[i] == SIM_NONE; n++) {
			if (taken[n] ||
				strcmp(script_vm_npc(now, i)->name, script_vm_npc(next, n)->name))
				continue;
			taken[n] = true;
			instance->to_next[i] = n;
		}
	}
	for (uint32_t n = 0; n < count; n++)
		if (!taken[n])
			instance->to_next[fresh++] = n;
	return true;
}

/* Beside the VM that runs. A version that is there already is left as it is; one that the shard has let
 * go of (MSG_SCRIPT_CLEAR) is not there any more, and is made again. */
static int prepare(struct sim_instances *table, struct sim_instance *instance,
	const struct script_source *source, char *error, size_t error_bytes)
{
	struct sim_map *m = &instance->map;
	uint32_t side = m->script == instance->vm[0] ? 1 : 0, count;
	int rc;

	for (uint32_t i = 0; i < 2; i++)
		if (instance->vm[i] && script_vm_version(instance->vm[i]) == source->version &&
			(m->reload.vm[i] == instance->vm[i] || m->reload.next == instance->vm[i]))
			return 0;
	atomic_store(&m->reload.next, NULL);
	rc = make(table, instance, side, source, error, error_bytes);
	if (!rc && instance->built) /* else the map's size is not known yet */
		rc = sim_npc_check(m, instance->vm[side], error, error_bytes);
	if (rc)
		return rc;
	count = script_vm_npc_count(instance->vm[side]);
	if (count > m->npc_slots && instance->built) {
		snprintf(error, error_bytes,
			"map %s: it declares %u NPCs, and its instance %u has places for %u: "
			"more come with a restart",
			m->config.name, count, m->number, m->npc_slots);
		return -ENOSPC;
	}
	if (!map_npcs(instance, m->script, instance->vm[side]))
		return sim_instance_no_memory(
			m, 2 * SCRIPT_NPCS_MAX * sizeof(uint32_t), error, error_bytes);
	m->reload.to_next = instance->to_next;
	atomic_store(&m->reload.next, instance->vm[side]);
	return 0;
}

/* What was prepared for it and not taken. */
static void discard(struct sim_instance *instance, uint32_t version)
{
	struct sim_map *m = &instance->map;

	for (uint32_t side = 0; side < 2; side++)
		if (instance->vm[side] && instance->vm[side] == m->reload.next &&
			script_vm_version(instance->vm[side]) == version) {
			atomic_store(&m->reload.next, NULL);
			set_vm(instance, side, NULL);
		}
}

int sim_instance_load_script(
	struct sim_instances *table, struct sim_instance *instance, char *error, size_t error_bytes)
{
	struct sim_map *m = &instance->map;
	const struct definition *definition = &table->definitions[m->index];
	uint32_t count;
	int rc;

	if (!definition->now.text)
		return 0;
	instance->vms_made = 0; /* a replay has the same numbers */
	rc = make(table, instance, 0, &definition->now, error, error_bytes);
	if (rc)
		return rc;
	m->script = m->reload.vm[0] = instance->vm[0];
	count = script_vm_npc_count(m->script);
	if (definition->next.text) {
		rc = prepare(table, instance, &definition->next, error, error_bytes);
		if (!rc && script_vm_npc_count(m->reload.next) > count)
			count = script_vm_npc_count(m->reload.next);
	}
	m->npc_slots = sim_npc_slots(count);
	return rc;
}

void sim_instance_scripts_free(struct sim_instance *instance)
{
	for (uint32_t side = 0; side < 2; side++)
		set_vm(instance, side, NULL);
}

/* ---- all of them ---- */

static bool in(const struct sim_instances *table, const bool *wanted, uint32_t slot)
{
	return table->instances[slot].built != INSTANCE_NONE &&
	       wanted[instance_definition(table->config, slot)];
}

static void discard_all(struct sim_instances *table, const bool *wanted)
{
	for (uint32_t slot = 0; slot < table->count; slot++)
		if (in(table, wanted, slot))
			discard(&table->instances[slot],
				table->definitions[table->instances[slot].map.index].next.version);
	for (uint32_t d = 0; d < table->config->map_count; d++)
		if (wanted[d]) {
			source_free(&table->definitions[d].next);
			sim_definition_publish(&table->definitions[d]);
		}
}

static int read_next(
	struct sim_instances *table, uint32_t index, char *error, size_t error_bytes)
{
	struct definition *definition = &table->definitions[index];
	int rc;

	if (!definition->now.text) {
		snprintf(error, error_bytes, "map %s has no script (maps[].script)",
			table->config->maps[index].name);
		return -EINVAL;
	}
	source_free(&definition->next);
	rc = sim_script_read(definition->path, &definition->next);
	if (rc) {
		snprintf(error, error_bytes, "map %s: %s: %s", table->config->maps[index].name,
			definition->path, strerror(-rc));
		return rc;
	}
	definition->next.version = ++definition->last_version;
	sim_definition_publish(definition);
	return 0;
}

int sim_scripts_prepare(
	struct sim_instances *table, const bool *wanted, char *error, size_t error_bytes)
{
	int rc = 0;

	pthread_mutex_lock(&table->build_lock);
	for (uint32_t d = 0; d < table->config->map_count && !rc; d++)
		if (wanted[d])
			rc = read_next(table, d, error, error_bytes);
	for (uint32_t slot = 0; slot < table->count && !rc; slot++)
		if (in(table, wanted, slot))
			rc = prepare(table, &table->instances[slot],
				&table->definitions[table->instances[slot].map.index].next, error,
				error_bytes);
	if (rc)
		discard_all(table, wanted);
	pthread_mutex_unlock(&table->build_lock);
	return rc;
}

void sim_scripts_commit(struct sim_instances *table, const bool *wanted)
{
	pthread_mutex_lock(&table->build_lock);
	for (uint32_t d = 0; d < table->config->map_count; d++) {
		struct definition *definition = &table->definitions[d];

		if (!wanted[d] || !definition->next.text)
			continue;
		source_free(&definition->before);
		definition->before = definition->now;
		definition->now = definition->next;
		definition->next = (struct script_source){0};
		sim_definition_publish(definition);
	}
	pthread_mutex_unlock(&table->build_lock);
}

void sim_scripts_discard(struct sim_instances *table, const bool *wanted)
{
	pthread_mutex_lock(&table->build_lock);
	discard_all(table, wanted);
	pthread_mutex_unlock(&table->build_lock);
}

int sim_scripts_revert(
	struct sim_instances *table, const bool *wanted, char *error, size_t error_bytes)
{
	int rc = 0;

	pthread_mutex_lock(&table->build_lock);
	for (uint32_t d = 0; d < table->config->map_count; d++) {
		struct definition *definition = &table->definitions[d];

		if (!wanted[d])
			continue;
		if (!definition->before.text) {
			rc = -ENOENT;
			continue;
		}
		source_free(&definition->now);
		definition->now = definition->before;
		definition->before = (struct script_source){0};
		sim_definition_publish(definition);
	}
	/* Those that are kept ready take it when they open. */
	for (uint32_t slot = 0; slot < table->count && !rc; slot++)
		if (in(table, wanted, slot))
			rc = prepare(table, &table->instances[slot],
				&table->definitions[table->instances[slot].map.index].now, error,
				error_bytes);
	pthread_mutex_unlock(&table->build_lock);
	return rc;
}

void sim_scripts_view(
	struct sim_instances *table, uint32_t definition, struct sim_script_view *out)
{
	const struct definition *d = &table->definitions[definition];
	uint32_t version = atomic_load(&d->version);

	*out = (struct sim_script_view){version ? d->path : NULL, version,
		atomic_load(&d->version_before), atomic_load(&d->version_next),
		atomic_load(&d->hash)};
}

/* ---- what they say and do ---- */

bool sim_instance_text_pop(struct sim_instances *table, uint32_t slot, struct script_text *text)
{
	struct sim_instance *instance = &table->instances[slot];
	bool popped = false;

	pthread_mutex_lock(&instance->text_lock);
	for (uint32_t side = 0; side < 2 && !popped; side++)
		if (instance->vm[side])
			popped = script_vm_text_pop(instance->vm[side], text);
	pthread_mutex_unlock(&instance->text_lock);
	return popped;
}

struct each {
	sim_script_handler_fn *fn;
	void *ctx;
	uint32_t version;
};

static void one_handler(void *ctx, const char *of, const char *handler, enum script_context context,
	const struct script_handler_view *view)
{
	const struct each *each = ctx;

	each->fn(each->ctx, each->version, of, handler, context, view);
}

void sim_instance_handlers(
	struct sim_instances *table, uint32_t slot, sim_script_handler_fn *fn, void *ctx)
{
	struct sim_instance *instance = &table->instances[slot];

	pthread_mutex_lock(&instance->text_lock);
	for (uint32_t side = 0; side < 2; side++) {
		struct each each = {fn, ctx, 0};

		if (!instance->vm[side])
			continue;
		each.version = script_vm_version(instance->vm[side]);
		script_vm_each_handler(instance->vm[side], one_handler, &each);
	}
	pthread_mutex_unlock(&instance->text_lock);
}
