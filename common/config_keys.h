/* config_keys.h: the one table of configuration keys. The loader, the defaults, the reference page
 * (docs/configuration.md) and the tests grow from it; to add a key, add its member to struct
 * sw_config (config.h) and its line here.
 *
 * A value with a dimension carries its unit in the file (20s, 4KiB, 500m), so a bare number is
 * refused where a unit is meant; min, max and the member are in the kind's own unit. */
#ifndef SW_COMMON_CONFIG_KEYS_H
#define SW_COMMON_CONFIG_KEYS_H

/* X(id, what a person may write) */
#define CONFIG_KINDS(X)                                                                            \
	X(INTEGER, "a whole number")                                                               \
	X(POWER_OF_TWO, "a power of two")                                                          \
	X(DURATION_US, "a duration with its unit: us, ms, s, min, h")                              \
	X(DURATION_MS, "a duration with its unit: ms, s, min, h")                                  \
	X(DURATION_S, "a duration with its unit: s, min, h")                                       \
	X(BYTES, "an amount of memory with its unit: B, KiB, MiB, GiB")                            \
	X(LENGTH, "a length with its unit: m, km")                                                 \
	X(TEXT, "text")                                                                            \
	X(NAME, "a name of letters, digits, _, - and .")                                           \
	X(PATH, "a path")                                                                          \
	X(PATH_INSIDE, "a path that stays in its folder: relative, without ..")                    \
	X(PREFIX, "an IPv4 address with its prefix length, such as 10.77.0.1/24")                  \
	X(PREFIX6, "an IPv6 address with its prefix length, such as 2001:db8::1/64")               \
	X(ENDPOINT, "an IPv4 address and port, such as 127.0.0.1:9100")                            \
	X(ENDPOINT_OR_NONE, "an IPv4 address and port, such as 10.0.0.1:7777, or nothing")         \
	X(ENDPOINT_OR_UNIX, "an IPv4 address and port, or unix:/path of a socket")                 \
	X(HEX, "hexadecimal digits")                                                               \
	X(LCORES, "a list of lcore numbers, such as [1, 2]")                                       \
	X(IDLE, "poll or adaptive")                                                                \
	X(USE, "off, on or any")                                                                   \
	X(MAP_KIND, "map or room")                                                                 \
	X(SHARD, "a position in simulation.lcores, from 0, or any")                                \
	X(STEERING, "auto, port or software")                                                      \
	X(SWITCH, "on or off")                                                                     \
	X(LEVEL, "debug, info, warn or error")

/* Sections. X(path, meaning) */
#define CONFIG_SECTIONS(X)                                                                         \
	X("node", "Who this node is.")                                                             \
	X("dataplane", "The polling workers between the ports and the shards.")                    \
	X("enet", "The ENet engine; one per dataplane lcore.")                                     \
	X("simulation", "The shards, which run the maps.")                                         \
	X("admission", "Who may come in, and where a new character starts.")                       \
	X("party", "Parties: players of the realm, on any of its nodes, who play together.")       \
	X("chat", "Channels and whispers. All nodes of a realm have the same.")                    \
	X("redis", "Heartbeat, presence and the queue.")                                           \
	X("postgres", "Everything that must last.")                                                \
	X("http", "Metrics, health and status for operators.")                                     \
	X("ops", "Operators' orders.")                                                             \
	X("log", "Log lines: one each, in logfmt.")                                                \
	X("rings", "The message rings between threads.")

/* Lists of mappings. X(path, array member, count member, fewest, most, meaning) */
#define CONFIG_LISTS(X)                                                                            \
	X("ports", ports, port_count, 1, CONFIG_PORTS_MAX,                                         \
		"DPDK Ethernet ports that the server answers on.")                                 \
	X("maps", maps, map_count, 1, CONFIG_MAPS_MAX, "The maps of this node.")                   \
	X("admission.ticket_keys", admission.ticket_keys, admission.ticket_key_count, 1,           \
		CONFIG_KEYS_MAX,                                                                   \
		"Public keys of the login service; several are valid at once, so that keys can "   \
		"rotate.")                                                                         \
	X("redis.sentinels", redis.sentinels, redis.sentinel_count, 0, CONFIG_SENTINELS_MAX,       \
		"Redis Sentinels, which say who the master is and are followed at a failover; "    \
		"with any of them redis.address is not used.")

#define CONFIG_U32_MAX 4294967295u
#define CONFIG_U64_MAX 18446744073709551615ull
#define CONFIG_GIB     (1ull << 30)

/* Keys. X(path, member, kind, min, max, default (NULL: must be given), meaning). min and max are
 * the length in bytes for text, the number of entries for lists, digits for HEX. clang-format
 * would fold each line into three. */
// clang-format off
#define CONFIG_KEYS(X) \
	X("node.name", node.name, NAME, 1, 63, "stormweir", "Name of the node in Redis, metrics and logs; unique in its cluster.") \
	X("node.address", node.address, ENDPOINT_OR_NONE, 0, 63, "", "Where clients reach this node, which other nodes send them to; empty: the address of the first port, and dataplane.udp_port.") \
	X("node.realm_id", node.realm_id, INTEGER, 1, 65535, "1", "Realm that this node serves; tickets for other realms are refused.") \
	X("node.stop_deadline", node.stop_deadline_ms, DURATION_MS, 1000, 600000, "20s", "Longest time that a stop waits for the last saves.") \
	\
	X("dataplane.lcores", dataplane.lcores, LCORES, 1, CONFIG_LCORES_MAX, "[1]", "EAL lcores that poll the ports, one worker each.") \
	X("dataplane.idle", dataplane.idle, IDLE, 0, 0, "adaptive", "What an idle worker does: poll spins always, adaptive yields and sleeps shortly.") \
	X("dataplane.udp_port", dataplane.udp_port, INTEGER, 1, 65535, "7777", "UDP port that clients connect to.") \
	X("dataplane.burst", dataplane.burst, INTEGER, 1, 256, "32", "Most frames taken from, or given to, a queue at once.") \
	X("dataplane.mbufs", dataplane.mbufs, INTEGER, 0, 4194304, "0", "Packet buffers per port and queue; 0 computes them from descriptors and bursts.") \
	X("dataplane.stats_period", dataplane.stats_period_s, DURATION_S, 0, 86400, "0s", "How often a line of traffic figures is logged; 0s is never.") \
	X("dataplane.probes_per_s", dataplane.probes_per_s, INTEGER, 0, 10000000, "50000", "Probes answered per second by the node, all sources together; 0 answers none. Raise it where a traffic generator measures latency with them.") \
	X("dataplane.probes_burst", dataplane.probes_burst, INTEGER, 1, 10000000, "50000", "Burst of the above.") \
	X("dataplane.chat_per_s", dataplane.chat_per_s, INTEGER, 1000, 100000000, "1000000", "Most deliveries of chat lines a second, per dataplane lcore: one line to 1,000 members is 1,000. At 150 bytes each a million is 1.2 Gbit/s; a lower rate leaves more of the link to the game, and a large channel's lines take longer.") \
	X("dataplane.record_cycles", dataplane.record_cycles, SWITCH, 0, 0, "on", "Count cycles per stage and packets per burst; costs under 2 %.") \
	\
	X("ports[].device", ports[0].device, TEXT, 1, CONFIG_TEXT_BYTES - 1, NULL, "DPDK name of the port: net_af_xdp0, 0000:3b:02.0.") \
	X("ports[].address", ports[0].address, PREFIX, 0, 0, NULL, "IPv4 address and prefix length that the port answers for.") \
	X("ports[].address6", ports[0].address6, PREFIX6, 0, 63, "", "IPv6 address and prefix length, next to the IPv4 one; empty for none. With it the port also answers at the link-local address that follows from its MAC.") \
	X("ports[].vlan", ports[0].vlan, INTEGER, 0, 4094, "0", "802.1Q id; 0 is untagged.") \
	X("ports[].queues", ports[0].queues, INTEGER, 1, 64, "1", "RX/TX queue pairs, spread over the dataplane lcores.") \
	X("ports[].steering", ports[0].steering, STEERING, 0, 0, "auto", "Which dataplane lcore has a client: port, the one whose queue the NIC's RSS chose; software, one by hash of the client's address and port, frames handed on between lcores; auto, port where the NIC has RSS or one queue serves, software where not or an lcore has no queue.") \
	X("ports[].rxd", ports[0].rxd, POWER_OF_TWO, 64, 32768, "1024", "Receive descriptors per queue.") \
	X("ports[].txd", ports[0].txd, POWER_OF_TWO, 64, 32768, "1024", "Transmit descriptors per queue.") \
	\
	X("enet.peers_max", enet.peers_max, INTEGER, 1, 2097152, "4096", "Peers per dataplane lcore.") \
	X("enet.half_open_max", enet.half_open_max, INTEGER, 0, 1048576, "0", "Handshakes under way at once, per dataplane lcore, about 150 bytes each. 0 computes it: connects_burst and 3 s of connects_per_s (as long as an unanswered handshake keeps its place), rounded up to a power of two: 16,384, or 2.4 MiB, with the defaults. With less, a flood of invented sources fills the table before it meets the rate.") \
	X("enet.channels_max", enet.channels_max, INTEGER, 4, 255, "4", "Channels that a client may ask for; the protocol uses 4.") \
	X("enet.mtu", enet.mtu, BYTES, 576, 4096, "1400B", "Largest ENet datagram, without UDP and IP headers.") \
	X("enet.packet_max", enet.packet_bytes_max, BYTES, 576, MSG_PAYLOAD_MAX, "4KiB", "Largest packet either way, its fragments joined.") \
	X("enet.checksum", enet.checksum, USE, 0, 0, "any", "Whether clients use ENet's CRC32: any recognises it from each CONNECT.") \
	X("enet.compression", enet.compression, USE, 0, 0, "any", "Whether clients use ENet's range coder: any recognises it from each CONNECT.") \
	X("enet.connects_per_s", enet.connects_per_s, INTEGER, 1, 10000000, "2000", "New handshakes per second of the node, all sources together.") \
	X("enet.connects_burst", enet.connects_burst, INTEGER, 1, 10000000, "4000", "Burst of the above.") \
	X("enet.source_connects_per_s", enet.source_connects_per_s, INTEGER, 1, 10000000, "50", "New handshakes per second from one source address. Where its flows go to several dataplane lcores, each has its part of this.") \
	X("enet.source_connects_burst", enet.source_connects_burst, INTEGER, 1, 10000000, "200", "Burst of the above.") \
	X("enet.returning_percent", enet.returning_percent, INTEGER, 0, 90, "25", "Part of connects_per_s, connects_burst and the places for handshakes that is kept for addresses that completed a handshake, or whose connection ended, in the last 10 minutes: so players who drop during a flood of invented sources get back in. What they do not need of the rate is everyone's.") \
	X("enet.returning_max", enet.returning_max, INTEGER, 0, 4194304, "0", "Such addresses that are remembered, per dataplane lcore, 16 bytes each; 0 is twice peers_max, from 1,024 to 262,144.") \
	X("enet.expand_per_s", enet.expand_bytes_per_s, BYTES, 16384, CONFIG_GIB, "2MiB", "What one peer may make the server decompress in a second, at 10 to 40 ns a byte; its compressed datagrams beyond that count as lost. The default is a full window of 64 KiB every 32 ms.") \
	X("enet.peer_datagrams_per_s", enet.peer_datagrams_per_s, INTEGER, 0, 100000, "2000", "Datagrams of one peer that are read in a second, a second's worth at once; those beyond it are dropped unread, before decompression and checksum, and what of them is reliable comes again. A game's client sends some hundred at most; raise it for clients that upload much at once. 0 is no limit.") \
	X("enet.peer_hold", enet.peer_hold_bytes, BYTES, 1024, CONFIG_GIB, "1MiB", "Most memory for what one peer sent out of order or in fragments. ENet senders know no receiver's limit: a small hold stalls clients that send much over a lossy path.") \
	X("enet.peer_queue", enet.peer_queue_bytes, BYTES, 1024, CONFIG_GIB, "64KiB", "Memory for what waits to be sent to one peer, or to be acknowledged by it; a peer that needs more is disconnected as slow.") \
	X("enet.pool", enet.pool_bytes, BYTES, 65536, 4095ull << 20, "32MiB", "Memory behind holds and queues of all peers, per dataplane lcore.") \
	\
	X("simulation.lcores", simulation.lcores, LCORES, 1, CONFIG_LCORES_MAX, "[1]", "EAL lcores that run a shard each; one that is also a dataplane lcore runs both (fused).") \
	X("simulation.players_max", simulation.players_max, INTEGER, 1, 1000000, "4096", "Players per shard.") \
	X("simulation.autosave", simulation.autosave_ms, DURATION_MS, 1000, 30000, "20s", "How often a player's position is saved, spread over the ticks.") \
	X("simulation.lazy_joins_per_tick", simulation.lazy_joins_per_tick, INTEGER, 1, 200, "200", "Players per tick whose details are fetched after they appeared.") \
	X("simulation.trade_idle", simulation.trade_idle_s, DURATION_S, 5, 3600, "60s", "After so long without a word from one of two who trade, their trade ends.") \
	X("simulation.slice", simulation.slice_us, DURATION_US, 10, 1000, "50us", "Longest work between two looks at the rings.") \
	X("simulation.update_max", simulation.update_bytes_max, BYTES, 256, MSG_PAYLOAD_MAX, "1200B", "World update per observer and tick.") \
	X("simulation.content", simulation.content, PATH, 1, CONFIG_PATH_BYTES - 1, "lua/content", "Folder of the Lua content; a relative path starts at the working folder.") \
	X("simulation.script_memory", simulation.script_memory_bytes, BYTES, 1048576, CONFIG_GIB, "16MiB", "Memory of one map's Lua VM.") \
	X("simulation.script_tick", simulation.script_tick_us, DURATION_US, 100, 100000, "5ms", "Lua time of one map and tick.") \
	X("simulation.script_failures", simulation.script_failures, INTEGER, 0, 100, "10", "Percent of a reloaded script's handlers that may fail within its first minute; at more, five or more, the version before comes back by itself. 0: never.") \
	X("simulation.seed", simulation.seed, INTEGER, 0, CONFIG_U64_MAX, "0", "Seed of the simulation's generators; 0 draws one at start and logs it.") \
	X("simulation.record", simulation.record, PATH, 0, CONFIG_PATH_BYTES - 1, "", "Folder that each shard's inputs are recorded in, in a file of each start, for swreplay; empty records nothing. Costs a shard about 20 ns a message and a sixteenth of its maps' state hashed each tick.") \
	X("simulation.record_buffer", simulation.record_buffer_bytes, POWER_OF_TWO, 65536, CONFIG_GIB, "8388608", "Bytes that wait for the file's writer, per shard; when they do not suffice, the recording ends.") \
	X("simulation.record_max", simulation.record_max_bytes, BYTES, 1048576, 4095ull << 20, "1GiB", "Size at which a recording ends. 1,000 players at 20 Hz come to about 1 MiB a second.") \
	\
	X("maps[].name", maps[0].name, NAME, 1, MAP_NAME_BYTES - 1, NULL, "Name of the map; saved with each character.") \
	X("maps[].kind", maps[0].kind, MAP_KIND, 0, 0, "map", "map outlives its players; room lives for one match, ruled by maps[].rule, and ends.") \
	X("maps[].shard", maps[0].shard, SHARD, 0, CONFIG_LCORES_MAX - 1, "any", "Shard that runs its instances; any puts each on the shard that is least busy when it starts.") \
	X("maps[].instances", maps[0].instances, INTEGER, 0, CONFIG_INSTANCES_MAX, "1", "Instances of a map that run from the start; with 0 the first player starts one. Rooms start when they are needed.") \
	X("maps[].instances_max", maps[0].instances_max, INTEGER, 0, CONFIG_INSTANCES_MAX, "0", "Most instances at once, warm ones counted; their memory is what the node may need. 0: what instances and warm come to, and at least 1, for a room 8.") \
	X("maps[].warm", maps[0].warm, INTEGER, 0, CONFIG_INSTANCES_MAX, "0", "Instances that are kept ready, so that a player need not wait for one.") \
	X("maps[].close_after", maps[0].close_after_s, DURATION_S, 0, 86400, "5min", "An instance of a map beyond maps[].instances, and never the last, is closed when it was empty for so long and the others have room; 0s closes none.") \
	X("maps[].file", maps[0].file, PATH_INSIDE, 0, CONFIG_PATH_BYTES - 1, "", "Map with walls and places, in Tiled's JSON format (.tmj), inside simulation.content; empty for open ground.") \
	X("maps[].width", maps[0].width_m, LENGTH, 16, 16384, "500m", "Extent to the east; with a file, the file's, and another is refused.") \
	X("maps[].height", maps[0].height_m, LENGTH, 16, 16384, "500m", "Extent to the north; with a file, the file's, and another is refused.") \
	X("maps[].tick_hz", maps[0].tick_hz, INTEGER, 1, 60, "20", "Ticks per second.") \
	X("maps[].players_max", maps[0].players_max, INTEGER, 1, 1000000, "1000", "Players on one instance; more are refused.") \
	X("maps[].view", maps[0].view_m, LENGTH, 4, 1024, "40m", "How far a player sees.") \
	X("maps[].monsters", maps[0].monsters, INTEGER, 0, 100000, "0", "Monsters anywhere on the map, besides those of its file.") \
	X("maps[].rule", maps[0].rule, NAME, 1, MAP_NAME_BYTES - 1, "timed", "Match rule of a room. timed: ends after match_time, or when it was empty for empty_time; everybody goes back to where they came from. battle: the last one standing wins, docs/content.md. script: what the map's script says, until match_time or empty_time.") \
	X("maps[].match_time", maps[0].match_s, DURATION_S, 1, 86400, "10min", "Longest match of a room.") \
	X("maps[].empty_time", maps[0].empty_s, DURATION_S, 1, 3600, "30s", "How long a room waits for players: the first, or after the last.") \
	X("maps[].start_players", maps[0].start_players, INTEGER, 2, 64, "10", "battle: how many players begin at once.") \
	X("maps[].start_wait", maps[0].start_wait_s, DURATION_S, 1, 3600, "60s", "battle: fewer, but two at least, begin after this time.") \
	X("maps[].countdown", maps[0].countdown_s, DURATION_S, 1, 60, "5s", "battle: how long all stand still before the fight.") \
	X("maps[].friendly_fire", maps[0].friendly_fire, SWITCH, 0, 0, "off", "Where players may attack players: whether members of one party may, too. In a battle they may in any case.") \
	X("maps[].script", maps[0].script, PATH_INSIDE, 0, CONFIG_PATH_BYTES - 1, "", "Lua file of the map, inside simulation.content; empty for none.") \
	\
	X("admission.players_max", admission.players_max, INTEGER, 1, 1000000, "4000", "Players on this node.") \
	X("admission.first_map", admission.first_map, NAME, 1, MAP_NAME_BYTES - 1, NULL, "Map where a new character starts.") \
	X("admission.hello_deadline", admission.hello_deadline_ms, DURATION_MS, 500, 60000, "10s", "A connection without a valid ticket by then is closed.") \
	X("admission.grace", admission.grace_s, DURATION_S, 10, 3600, "2min", "How long a player whose connection broke may come back with the pass it was given, without a new ticket, and counts as returning in the queue; and how long a client that has gone finds its place in the queue again.") \
	X("admission.pass_keys", admission.pass_keys, PATH, 0, CONFIG_PATH_BYTES - 1, "", "File of the keys that passes are sealed with, as swctl pass-key makes it, mode 0600; the same on all nodes of a cluster. Empty: a key is drawn at start, so that no other node takes this one's passes, no restart of it does, and nobody who waits here is let in at another node.") \
	X("admission.verify_waiting_max", admission.verify_waiting_max, INTEGER, 64, 65536, "4096", "Tickets that may wait for the verification of their signature, 0.6 KiB each; more are told to try later. A thread verifies about 15,000 a second.") \
	X("admission.proof_wait", admission.proof_wait_ms, DURATION_MS, 10, 10000, "100ms", "When a ticket has waited so long for its verification, new clients are asked for a proof of work, the more the longer it lasts.") \
	X("admission.proof_bits_max", admission.proof_bits_max, INTEGER, 0, 24, "20", "Most work that a client is asked for: a number whose SHA-256 begins with so many 0 bits. 20 are a million hashes, a third of a second; 0 asks nobody.") \
	X("admission.rate", admission.rate, INTEGER, 1, 1000000, "100", "Players let in a second, by all nodes of the cluster together. Each turn of a node lets in up to batch, so it takes rate / (10 x batch) nodes. swctl gate throttle sets a lower one for a time. All nodes have the same of these.") \
	X("admission.burst", admission.burst, INTEGER, 1, 1000000, "20", "Burst of the above; never more than a second's worth.") \
	X("admission.batch", admission.batch, INTEGER, 1, 1000, "10", "Players let in by one turn of a node; a node takes a turn each 100 ms.") \
	X("admission.lease", admission.lease_ms, DURATION_MS, 1000, 600000, "15s", "How long a place is reserved for a player that was let in and has not arrived, here or at the node where it was sent.") \
	X("admission.rebuild", admission.rebuild_ms, DURATION_MS, 100, 600000, "10s", "After Redis was emptied: the longest wait for nodes that have not said their places again, before anybody is let in.") \
	X("admission.operator_share", admission.operator_share, INTEGER, 1, 98, "20", "Percent of the rate that operators' tickets have while any of them waits. What a lane does not need is the others'.") \
	X("admission.returning_share", admission.returning_share, INTEGER, 1, 98, "40", "Percent of the rate for players that were in the game within the grace. What these two leave of 100 is everybody's, always.") \
	X("admission.queue_max", admission.queue_max, INTEGER, 0, 2097152, "0", "Sessions that may wait at this node; more are refused with SERVER_FULL. 0 computes it: the peers of all dataplane lcores that players_max does not need, at least an eighth of them.") \
	X("admission.ticket_keys[].id", admission.ticket_keys[0].id, INTEGER, 0, CONFIG_U32_MAX, NULL, "Number of the key; tickets name it.") \
	X("admission.ticket_keys[].public_key", admission.ticket_keys[0].public_key, HEX, 64, 64, NULL, "Ed25519 public key, as swctl ticket-key prints it.") \
	\
	X("party.members_max", party.members_max, INTEGER, 2, PARTY_MEMBERS_MAX, "5", "Most members of a party. All nodes of a realm have the same party settings.") \
	X("party.everyone_invites", party.everyone_invites, SWITCH, 0, 0, "off", "Whether every member may invite, or the leader alone.") \
	X("party.invite_time", party.invite_s, DURATION_S, 5, 3600, "60s", "How long an invitation stands.") \
	X("party.leader_grace", party.leader_grace_s, DURATION_S, 0, 86400, "2min", "When the leader has been away for so long, the member in the game who joined first leads. Looked at each 30 s.") \
	X("party.member_grace", party.member_grace_s, DURATION_S, 10, 604800, "30min", "How long a member who is away keeps its place.") \
	X("party.share_experience", party.share_experience, SWITCH, 0, 0, "on", "Whether a kill's experience is shared evenly among the members of the party who are near: on the same map instance, alive, within party.share_range of what was killed. What is left over by the division has the one whose kill it was, and so is the gold.") \
	X("party.share_range", party.share_range_m, LENGTH, 1, 1024, "40m", "Who is near. A kill counts for the quests of those members, too, whether its experience is shared or not.") \
	\
	X("chat.channels_max", chat.channels_max, INTEGER, 64, 1048576, "4096", "Channels that this node may own, and channels that its players may be in; about 230 bytes and 100 bytes each.") \
	X("chat.lines_max", chat.lines_max, INTEGER, 256, 4194304, "16384", "Lines that are kept for histories and wait in queues, of all channels together; text_max and about 150 bytes each. When there are no more, the oldest line of any history goes.") \
	X("chat.history", chat.history, INTEGER, 0, 64, "20", "Lines of a channel that a player who comes into it is shown.") \
	X("chat.queue", chat.queue, INTEGER, 1, 4096, "64", "Lines of a channel that may wait; then the oldest is dropped, and the channel is slow for 30 s. So it is when a line has waited for 2 s.") \
	X("chat.text_max", chat.text_bytes_max, BYTES, 16, 1024, "255B", "Longest text of a line or whisper, in UTF-8.") \
	X("chat.sender_every", chat.sender_every_ms, DURATION_MS, 10, 60000, "1s", "A player may say something so often, lines and whispers together.") \
	X("chat.sender_burst", chat.sender_burst, INTEGER, 1, 1000, "5", "Burst of the above.") \
	X("chat.channel_rate", chat.channel_rate, INTEGER, 1, 1000, "20", "Lines a second of a channel; a second's worth at once.") \
	X("chat.slow", chat.slow_ms, DURATION_MS, 100, 600000, "10s", "In a channel that has become slow by itself, a player may say one line in this time.") \
	X("chat.fanouts_max", chat.fanouts_max, INTEGER, 16, 65536, "1024", "Lines that may be on their way to this node's members at once; text_max and about 200 bytes each.") \
	X("chat.languages", chat.languages, TEXT, 0, CONFIG_TEXT_BYTES - 1, "de,en,es,fr", "Languages that have a channel, by commas; in lower case, such as pt-br.") \
	X("chat.words", chat.words, PATH, 0, CONFIG_PATH_BYTES - 1, "", "File of words that are not said, one a line: word as a whole word, *word* anywhere in one, # begins a comment. Read again when it changes. Empty: none.") \
	X("chat.lease", chat.lease_ms, DURATION_MS, 1000, 120000, "10s", "How long a chat shard has its channels without saying so again; so long they stand still when it dies.") \
	X("chat.log_pending_max", chat.log_pending_max, INTEGER, 64, 1048576, "8192", "Lines that may wait to be written to PostgreSQL, text_max and about 150 bytes each; more are delivered all the same, and counted as lost to the log.") \
	X("chat.log_days", chat.log_days, INTEGER, 0, 36500, "30", "Days for which what was said is kept; 0: nothing is written down.") \
	\
	X("redis.address", redis.address, ENDPOINT_OR_UNIX, 0, CONFIG_PATH_BYTES - 1, "127.0.0.1:6379", "Where Redis listens; an address, never a host name.") \
	X("redis.sentinels[].address", redis.sentinels[0].address, ENDPOINT, 0, 63, NULL, "Where the Sentinel listens.") \
	X("redis.master_name", redis.master_name, NAME, 0, 63, "", "Name of the master with the Sentinels; must be given with redis.sentinels.") \
	X("redis.sentinel_password", redis.sentinel_password, TEXT, 0, CONFIG_TEXT_BYTES - 1, "", "Password for AUTH with the Sentinels; empty for none.") \
	X("redis.password", redis.password, TEXT, 0, CONFIG_TEXT_BYTES - 1, "", "Password for AUTH; empty for none.") \
	X("redis.database", redis.database, INTEGER, 0, 1023, "0", "Database number.") \
	X("redis.prefix", redis.prefix, NAME, 0, 31, "sw", "First part of every key.") \
	X("redis.connect_timeout", redis.connect_timeout_ms, DURATION_MS, 50, 60000, "2s", "Longest time to connect.") \
	X("redis.command_timeout", redis.command_timeout_ms, DURATION_MS, 50, 60000, "1s", "Longest wait for an answer; after it the connection counts as silent.") \
	X("redis.heartbeat", redis.heartbeat_ms, DURATION_MS, 100, 10000, "1s", "How often the node reports its sessions.") \
	X("redis.heartbeat_expire", redis.heartbeat_expire_ms, DURATION_MS, 200, 60000, "3s", "When a report that is not renewed vanishes.") \
	\
	X("postgres.conninfo", postgres.conninfo, TEXT, 1, CONFIG_PATH_BYTES - 1, "host=/var/run/postgresql dbname=stormweir", "libpq connection string; several hosts for failover.") \
	X("postgres.connect_timeout", postgres.connect_timeout_ms, DURATION_MS, 100, 60000, "5s", "Longest time to connect.") \
	X("postgres.statement_timeout", postgres.statement_timeout_ms, DURATION_MS, 100, 600000, "5s", "Longest time of a statement.") \
	X("postgres.saves_pending_max", postgres.saves_pending_max, INTEGER, 64, 4194304, "65536", "Characters whose save may wait while PostgreSQL is away.") \
	X("postgres.saves_per_batch", postgres.saves_per_batch, INTEGER, 1, 4096, "250", "Saves per transaction.") \
	X("postgres.commits_pending_max", postgres.commits_pending_max, INTEGER, 64, 1048576, "8192", "Commits (changes of what characters own) that may wait for PostgreSQL, 1.8 KiB each; more are refused at once.") \
	X("postgres.commits_per_batch", postgres.commits_per_batch, INTEGER, 1, 4096, "250", "Commits per transaction.") \
	X("postgres.commit_links", postgres.commit_links, INTEGER, 1, CONFIG_COMMIT_LINKS_MAX, "3", "Connections for commits, one transaction at a time each. A node holds three more, for loads, saves and chat.") \
	X("postgres.record_hours", postgres.record_hours, INTEGER, 24, 87600, "168", "Hours for which the record of a finished commit is kept at least; it stays until the next login of its character.") \
	X("postgres.ledger_days", postgres.ledger_days, INTEGER, 0, 36500, "0", "Days for which rows of the ledger are kept; older ones are summed up (table ledger_sum) and removed, and swctl audit ledger still proves every balance. 0: for ever. All nodes of a realm have the same.") \
	\
	X("http.address", http.address, ENDPOINT, 0, 63, "127.0.0.1:9100", "Where /metrics, /health and /status are served; a loopback address, 127.x.x.x: all but orders is open to whoever is on this machine.") \
	\
	X("ops.tokens", ops.tokens, PATH, 0, CONFIG_PATH_BYTES - 1, "", "File of operators who may give orders (swctl): a line of name, role (read, operate, admin) and token each, as swctl token makes them, mode 0600. Read at each order, so a change needs no restart. Empty: no orders are taken.") \
	X("ops.journal", ops.journal, PATH, 0, CONFIG_PATH_BYTES - 1, "", "File that each order is written to before it is in PostgreSQL (table ops_audit_log); must be given with ops.tokens.") \
	\
	X("log.file", log.file, PATH, 0, CONFIG_PATH_BYTES - 1, "", "File that lines are appended to; empty is standard error.") \
	X("log.level", log.level, LEVEL, 0, 15, "info", "Least serious level that is written.") \
	\
	X("rings.slots", rings.slots, POWER_OF_TWO, 256, 4194304, "32768", "64-byte slots of each ring: 25 ms of 500,000 inputs a second are 12,500.")
// clang-format on

#endif
