/* machine.h: the whole machine: ports, workers, shards, rings and lcores, and how they are joined.
 * Built and taken apart by the main thread; see machine.c for every ring and who is at its two
 * ends. */
#ifndef SW_MAIN_MACHINE_H
#define SW_MAIN_MACHINE_H

#include <stdatomic.h>
#include <stdbool.h>
#include <stdint.h>

#include "common/config.h"
#include "control/chat/chat.h"
#include "control/control.h"
#include "control/world/world.h"
#include "dataplane/node.h"
#include "main/lcore.h"

struct msg_ring;
struct script_watchdog;
struct sim_instances;
struct sim_record;
struct recorder;
struct script_desk;

struct machine {
	const struct sw_config *config;
	uint32_t workers, shards, ports, lcores;
	struct dp_port *port[CONFIG_PORTS_MAX];
	struct dp_handoff *handoff; /* between the workers; NULL where nothing crosses */
	struct dp_node node;        /* what the workers share */
	struct dp_worker *worker[CONFIG_LCORES_MAX];
	struct sim_shard *shard[CONFIG_LCORES_MAX];
	struct sim_instances *instances; /* prepared by control's builder, run by the shards */
	struct script_watchdog *watchdog;
	struct script_desk *scripts;
	struct sim_record *record[CONFIG_LCORES_MAX]; /* of the shards; NULL: not recorded */
	struct recorder *recorder;
	struct lcore lcore[2 * CONFIG_LCORES_MAX];
	_Atomic bool stop; /* main writes, lcores read */
	bool running;

	/* [workers][shards] and so on; named from the dataplane's or shard's point of view */
	struct msg_ring *worker_to_shard[CONFIG_LCORES_MAX][CONFIG_LCORES_MAX];
	struct msg_ring *shard_to_worker[CONFIG_LCORES_MAX][CONFIG_LCORES_MAX];
	struct msg_ring *worker_to_control[CONFIG_LCORES_MAX],
		*control_to_worker[CONFIG_LCORES_MAX];
	struct msg_ring *shard_to_control[CONFIG_LCORES_MAX], *control_to_shard[CONFIG_LCORES_MAX];
	struct msg_ring *shard_to_world[CONFIG_LCORES_MAX], *world_to_shard[CONFIG_LCORES_MAX];
	struct msg_ring *worker_log[CONFIG_LCORES_MAX], *shard_log[CONFIG_LCORES_MAX];
	struct msg_ring *worker_to_chat[CONFIG_LCORES_MAX], *chat_to_worker[CONFIG_LCORES_MAX],
		*chat_lines[CONFIG_LCORES_MAX];
	struct msg_ring *control_to_world, *world_to_control, *ops_to_control, *control_to_ops;
	struct msg_ring *control_to_chat, *chat_to_control;
};

/* After EAL is up. Opens ports, reserves rings, workers and shards. config_path is what config was
 * read from, for recordings. Returns 0, or -errno after it
 * has said what is wrong on standard error; then machine_free is still to be called. */
int machine_build(struct machine *machine, const struct sw_config *config, const char *config_path);

/* The rings, as the control threads and the log thread see them. */
void machine_control_links(const struct machine *machine, struct ctl_links *links);
void machine_world_links(const struct machine *machine, struct world_links *links);
void machine_chat_links(const struct machine *machine, struct chat_links *links);
uint32_t machine_log_rings(const struct machine *machine, struct msg_ring **rings);

/* Counters, histograms and health of ports, workers, shards and scripts, for the operations
 * endpoint; before it starts. */
void machine_register(struct machine *machine, struct ops *ops);

/* Launches the lcores. Returns 0 or -errno, said on standard error. */
int machine_start(struct machine *machine);

/* About ten times a second, from the main thread: script errors to the log, port resets. */
void machine_tend(struct machine *machine);

/* Waits until the clients have acknowledged their disconnect (a second at most), then ends the
 * lcores. */
void machine_stop(struct machine *machine);

void machine_free(struct machine *machine);

#endif
