/* instance_internal: the table of instances, as instance.c (memory, building) and instance_script.c
 * (their scripts, and other versions of them) share it. */
#ifndef SW_SIMULATION_INSTANCE_INTERNAL_H
#define SW_SIMULATION_INSTANCE_INTERNAL_H

#include <pthread.h>

#include "simulation/instance.h"
#include "simulation/state.h"

struct script_source {
	char *text; /* NULL: none */
	size_t bytes;
	uint64_t hash; /* of the text */
	uint32_t version;
};

struct definition {
	/* The script: all instances run the same. before: what it may return to; next: what is
	 * prepared, and not run yet. */
	struct script_source now, before, next;
	_Atomic uint32_t version; /* of now; shards take an instance over with it */
	_Atomic uint32_t version_before, version_next; /* of before and next, for sim_scripts_view */
	_Atomic uint64_t hash;                         /* of now */
	uint32_t last_version;    /* numbers are not used again */
	char path[2 * CONFIG_PATH_BYTES];
	size_t map_bytes; /* of one instance's tables; 0: none was built yet */
};

struct sim_instance {
	struct sim_map map;
	uint32_t built; /* the id that was built and is in map; INSTANCE_NONE: nothing */
	void *memory;
	size_t memory_bytes;
	void *region[2];         /* of the script's VMs; by side */
	struct script_vm *vm[2]; /* NULL: none */
	uint32_t vms_made;       /* since it was built */
	uint32_t *to_next;       /* [SCRIPT_NPCS_MAX] of the VM that is prepared; see sim_map */
	struct counter_set script_set;
	_Atomic uint64_t script_counters[SCRIPT_COUNTER_COUNT];
	pthread_mutex_t text_lock; /* of vm: builder and reader of texts, never a shard */
};

struct sim_instances {
	pthread_mutex_t build_lock; /* threads of libuv's pool, and set-up; never a shard */
	const struct sw_config *config;
	struct script_watchdog *watchdog;
	uint64_t seed;
	uint32_t count;
	struct definition definitions[CONFIG_MAPS_MAX];
	struct sim_grounds *grounds;    /* all instances of a map walk on the same */
	struct sim_game *game;          /* all maps play by the same */
	struct instance_gauges *gauges; /* [count] */
	struct histogram *tick_times;   /* [count] */
	struct sim_instance *instances; /* [count] */
};

int sim_instance_no_memory(
	const struct sim_map *m, size_t bytes, char *error, size_t error_bytes);

/* ---- instance_script.c ---- */

/* Reads the definition's file. Returns 0, or -errno. */
int sim_script_read(const char *path, struct script_source *source);

/* The builder: the instance's VM, its script loaded, and the version that is being prepared, if one
 * is. The map's tables are not there yet. Returns 0, or -errno with one line in error. */
int sim_instance_load_script(struct sim_instances *table, struct sim_instance *instance, char *error,
	size_t error_bytes);
void sim_instance_scripts_free(struct sim_instance *instance);
/* What other threads may read of it. */
void sim_definition_publish(struct definition *definition);
void sim_definition_free(struct definition *definition);

#endif
