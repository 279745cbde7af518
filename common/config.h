/* config.h: the configuration, read once at start and read-only afterwards; any thread may read it.
 *
 * One table (config_keys.h) names every key with its kind, unit, range, default and meaning; the
 * loader, the reference page (docs/configuration.md) and the tests grow from it. The file is YAML,
 * read with libyaml. */
#ifndef SW_COMMON_CONFIG_H
#define SW_COMMON_CONFIG_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>
#include <stdio.h>

#include "common/msg.h"
#include "common/party.h"

#define CONFIG_PORTS_MAX        8u
#define CONFIG_LCORES_MAX       64u
#define CONFIG_MAPS_MAX         64u
#define CONFIG_INSTANCES_MAX    256u /* of all maps together */
#define CONFIG_SHARD_ANY        UINT32_MAX
#define CONFIG_KEYS_MAX         4u /* ticket keys that are valid at once */
#define CONFIG_COMMIT_LINKS_MAX 16u
#define CONFIG_SENTINELS_MAX    8u
#define CONFIG_TEXT_BYTES       128u
#define CONFIG_PATH_BYTES       256u

enum config_idle { CONFIG_IDLE_POLL, CONFIG_IDLE_ADAPTIVE };
enum config_use { CONFIG_USE_OFF, CONFIG_USE_ON, CONFIG_USE_ANY };
enum config_map_kind { CONFIG_MAP_PERSISTENT, CONFIG_MAP_ROOM };
enum config_steering { CONFIG_STEERING_AUTO, CONFIG_STEERING_PORT, CONFIG_STEERING_SOFTWARE };

struct config_port {
	char device[CONFIG_TEXT_BYTES]; /* DPDK port name: net_af_xdp0, 0000:3b:02.0 */
	char address[64];               /* IPv4 address/prefix that the port answers for */
	char address6[64];              /* IPv6 address/prefix; empty: no IPv6 */
	uint32_t vlan;                  /* 802.1Q id, 0 for untagged */
	uint32_t queues;                /* RX/TX queue pairs, spread over the dataplane lcores */
	enum config_steering steering;  /* who decides which worker has a flow */
	uint32_t rxd, txd;              /* descriptors per queue */
};

struct config_map {
	char name[MAP_NAME_BYTES];
	enum config_map_kind kind;
	uint32_t shard;         /* CONFIG_SHARD_ANY: each instance is placed by heat */
	uint32_t instances;     /* of a map: how many run from the start */
	uint32_t instances_max; /* 0: see instance_max */
	uint32_t warm;          /* instances kept ready */
	uint32_t close_after_s; /* of a map: an instance too many is closed after so long; 0: never
				 */
	uint32_t width_m, height_m; /* 0 where there is a file that says it */
	uint32_t tick_hz;
	uint32_t players_max;
	uint32_t view_m; /* interest radius */
	uint32_t monsters;
	char rule[MAP_NAME_BYTES]; /* of a room: its match rule */
	uint32_t match_s, empty_s; /* for the rule: how long a match lasts, or an empty room */
	uint32_t start_players, start_wait_s, countdown_s; /* for the rule battle */
	uint32_t friendly_fire;       /* 0: members of one party cannot hurt each other */
	char file[CONFIG_PATH_BYTES]; /* Tiled map, relative to the content folder; may be empty */
	char script[CONFIG_PATH_BYTES]; /* Lua file, relative to the content folder; may be empty */
};

struct config_ticket_key {
	uint32_t id;
	uint8_t public_key[32]; /* Ed25519, 64 hex digits in the file */
};

struct config_sentinel {
	char address[64]; /* ip:port */
};

struct sw_config {
	struct {
		char name[64];
		char address[64]; /* ip:port for clients; "": see sw_config_address */
		uint32_t realm_id;
		uint32_t stop_deadline_ms;
	} node;
	struct {
		uint32_t lcores[CONFIG_LCORES_MAX]; /* EAL lcore ids, one worker each */
		uint32_t lcore_count;
		enum config_idle idle;
		uint32_t udp_port;
		uint32_t burst;
		uint32_t mbufs;          /* per port and queue; 0: computed from rings and bursts */
		uint32_t stats_period_s; /* 0: off */
		uint32_t probes_per_s, probes_burst; /* of the node */
		uint32_t chat_per_s;                 /* of a worker */
		uint32_t record_cycles;              /* 0: off */
	} dataplane;
	struct config_port ports[CONFIG_PORTS_MAX];
	uint32_t port_count;
	struct {
		uint32_t peers_max;     /* per dataplane lcore */
		uint32_t half_open_max; /* per dataplane lcore; 0: computed from the rates */
		uint32_t channels_max;
		uint32_t mtu;
		uint32_t packet_bytes_max;
		enum config_use checksum, compression;
		uint32_t connects_per_s, connects_burst;               /* global bucket */
		uint32_t source_connects_per_s, source_connects_burst; /* per source address */
		uint32_t returning_percent, returning_max; /* of both, for who was here of late */
		uint32_t expand_bytes_per_s;               /* decompressed, per peer */
		uint32_t peer_datagrams_per_s;             /* read, per peer; 0: all */
		uint32_t peer_hold_bytes;  /* out-of-order and assembly memory, per peer */
		uint32_t peer_queue_bytes; /* sends waiting, per peer */
		uint32_t pool_bytes;       /* memory behind both, per dataplane lcore */
	} enet;
	struct {
		uint32_t lcores[CONFIG_LCORES_MAX]; /* one shard each; the same lcore as a dataplane
						     * worker: fused mode */
		uint32_t lcore_count;
		uint32_t players_max; /* per shard */
		uint32_t autosave_ms;
		uint32_t lazy_joins_per_tick;
		uint32_t trade_idle_s;
		uint32_t slice_us;
		uint32_t update_bytes_max;       /* per observer and tick */
		char content[CONFIG_PATH_BYTES]; /* folder of the Lua content */
		uint32_t script_memory_bytes;
		uint32_t script_tick_us;        /* Lua budget of one map and tick */
		uint32_t script_failures;       /* percent, at which a new version gives way; 0: never */
		uint64_t seed;                  /* 0: drawn at start and logged */
		char record[CONFIG_PATH_BYTES]; /* folder of the recordings; empty: none */
		uint32_t record_buffer_bytes, record_max_bytes; /* of one shard */
	} simulation;
	struct config_map maps[CONFIG_MAPS_MAX];
	uint32_t map_count;
	struct {
		uint32_t players_max;           /* this node's own cap */
		char first_map[MAP_NAME_BYTES]; /* where a new character starts */
		uint32_t hello_deadline_ms;     /* connected, but no valid ticket by then: out */
		char pass_keys[CONFIG_PATH_BYTES]; /* "": drawn at start */
		uint32_t verify_waiting_max, proof_wait_ms, proof_bits_max;
		uint32_t rate, burst; /* let in a second by the cluster */
		uint32_t batch;       /* let in by one turn of a node */
		uint32_t grace_s;     /* who has gone comes back within it */
		uint32_t lease_ms;    /* a reserved place */
		uint32_t rebuild_ms;  /* longest wait for the nodes after Redis was emptied */
		uint32_t operator_share, returning_share; /* of the rate, in percent */
		uint32_t queue_max;   /* that wait here; 0: computed */
		struct config_ticket_key ticket_keys[CONFIG_KEYS_MAX];
		uint32_t ticket_key_count;
	} admission;
	struct {
		uint32_t members_max;
		uint32_t everyone_invites, share_experience; /* 0: off */
		uint32_t invite_s, leader_grace_s, member_grace_s;
		uint32_t share_range_m;
	} party;
	struct {
		uint32_t channels_max, lines_max;
		uint32_t history;        /* lines of a channel that who comes is shown */
		uint32_t queue;          /* lines of a channel that wait */
		uint32_t text_bytes_max; /* of a line or whisper */
		uint32_t sender_every_ms, sender_burst;
		uint32_t channel_rate; /* lines a second of a channel */
		uint32_t slow_ms;      /* a line of each in this time, in a channel that is slow */
		uint32_t fanouts_max;
		char languages[CONFIG_TEXT_BYTES]; /* names, by commas */
		char words[CONFIG_PATH_BYTES];     /* file of the filter; "": none */
		uint32_t lease_ms;
		uint32_t log_pending_max, log_days;
	} chat;
	struct {
		char address[CONFIG_PATH_BYTES]; /* ip:port or unix:/path */
		struct config_sentinel sentinels[CONFIG_SENTINELS_MAX];
		uint32_t sentinel_count; /* 0: there is only address */
		char master_name[64], sentinel_password[CONFIG_TEXT_BYTES];
		char password[CONFIG_TEXT_BYTES];
		uint32_t database;
		char prefix[32];
		uint32_t connect_timeout_ms, command_timeout_ms;
		uint32_t heartbeat_ms, heartbeat_expire_ms;
	} redis;
	struct {
		char conninfo[CONFIG_PATH_BYTES];
		uint32_t connect_timeout_ms, statement_timeout_ms;
		uint32_t saves_pending_max; /* characters whose save waits */
		uint32_t saves_per_batch;
		uint32_t commits_pending_max; /* commits without a result */
		uint32_t commits_per_batch;
		uint32_t commit_links;
		uint32_t record_hours; /* that a repeated commit gets its first result */
		uint32_t ledger_days;  /* 0: rows of the ledger stay */
	} postgres;
	struct {
		char address[64]; /* ip:port of /metrics, /health, /status */
	} http;
	struct {
		char tokens[CONFIG_PATH_BYTES];  /* file of operators' names and tokens; "": none */
		char journal[CONFIG_PATH_BYTES]; /* file of what they did and is not in PostgreSQL
						  */
	} ops;
	struct {
		char file[CONFIG_PATH_BYTES]; /* "" : stderr */
		char level[16];
	} log;
	struct {
		uint32_t slots; /* of each ring between two threads */
	} rings;
};

/* Set-up thread. Reads path into *config, with the defaults of the table for what it leaves out.
 * Writes one line per fault to errors, all faults of the file at once, each as
 * "path:line: key: what is wrong, what is allowed". Returns 0, or -EINVAL when there was any fault,
 * or -errno when the file cannot be read (also said in errors). */
int sw_config_load(struct sw_config *config, const char *path, FILE *errors);

/* The defaults alone, without a file: for tests and tools. */
void sw_config_defaults(struct sw_config *config);

/* Where clients reach this node, as ip:port: node.address, or what follows from the first port.
 * Returns text. */
#define CONFIG_ADDRESS_BYTES 80u
const char *sw_config_address(const struct sw_config *config, char text[CONFIG_ADDRESS_BYTES]);

/* Writes the reference page (Markdown) from the table. */
void sw_config_reference(FILE *out);

#endif
