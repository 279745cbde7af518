/* counters.h: what the engine counts; see enet.h. X(id, name, kind, help)
 *
 * Two lists: refusals, each the fate of one datagram or command from the wire, and the rest. */
#ifndef SW_DATAPLANE_ENET_COUNTERS_H
#define SW_DATAPLANE_ENET_COUNTERS_H

#define SW_ENET_COUNTER_ENUM(id, name, kind, help) SW_ENET_C_##id,

// clang-format off
#define SW_ENET_REFUSALS(X)                                                                                \
	X(SHORT_HEADER, "refused_short_header", COUNTER_SUM, "datagrams shorter than their header")        \
	X(OVERSIZE_DATAGRAM, "refused_oversize_datagram", COUNTER_SUM, "datagrams longer than 4,096 bytes") \
	X(COMPRESSED, "refused_compressed", COUNTER_SUM, "compressed datagrams: the client's compressor is on, ours is not") \
	X(BAD_COMPRESSION, "refused_bad_compression", COUNTER_SUM, "compressed datagrams that no encoder wrote, or of more than 4,096 bytes") \
	X(EXPAND_RATE, "refused_expand_rate", COUNTER_SUM, "compressed datagrams of a peer beyond the rate at which they are decompressed") \
	X(PEER_RATE, "refused_peer_rate", COUNTER_SUM, "datagrams of a peer beyond its rate; what of them is reliable comes again") \
	X(BAD_CHECKSUM, "refused_bad_checksum", COUNTER_SUM, "datagrams whose CRC32 is wrong or missing")  \
	X(UNKNOWN_PEER, "refused_unknown_peer", COUNTER_SUM, "datagrams for a peer id that this source does not have") \
	X(WRONG_SESSION, "refused_wrong_session", COUNTER_SUM, "datagrams of an earlier session of the peer id") \
	X(LEAVING, "refused_leaving", COUNTER_SUM, "datagrams and commands for a peer that has left")      \
	X(NOT_CONNECT, "refused_not_connect", COUNTER_SUM, "datagrams without peer id that are no CONNECT") \
	X(CONNECT_MALFORMED, "refused_connect_malformed", COUNTER_SUM, "CONNECT with values that no client sends") \
	X(CONNECT_RATE, "refused_connect_rate", COUNTER_SUM, "CONNECT over the global rate, and over the share of who returns") \
	X(CONNECT_SOURCE_RATE, "refused_connect_source_rate", COUNTER_SUM, "CONNECT over the source's rate") \
	X(CONNECT_CHECKSUM, "refused_connect_checksum", COUNTER_SUM, "CONNECT whose checksum setting is not ours; told so") \
	X(CONNECT_COMPRESSION, "refused_connect_compression", COUNTER_SUM, "CONNECT whose compression setting is not ours; told so") \
	X(CONNECT_SMALL, "refused_connect_small", COUNTER_SUM, "CONNECT compressed so far that the answer, which is larger, waits for its repetition") \
	X(CONNECT_CLOSED, "refused_connect_closed", COUNTER_SUM, "CONNECT while new connects are refused; told so") \
	X(CONNECT_FULL, "refused_connect_full", COUNTER_SUM, "CONNECT, or the end of a handshake, with no peer slot free; told so") \
	X(CONNECT_TABLE, "refused_connect_table", COUNTER_SUM, "CONNECT while the half-open table holds only young entries") \
	X(CONNECT_IDS, "refused_connect_ids", COUNTER_SUM, "CONNECT from a source whose peer ids collide") \
	X(CONNECT_REPEATED, "refused_connect_repeated", COUNTER_SUM, "CONNECT of a connection that stands") \
	X(CONNECT_NO_BUFFER, "refused_connect_no_buffer", COUNTER_SUM, "CONNECT that no datagram was free to answer") \
	X(NOT_VERIFIED, "refused_not_verified", COUNTER_SUM, "datagrams of a half-open client without the acknowledgement") \
	X(SHORT_COMMAND, "refused_short_command", COUNTER_SUM, "commands cut off by the end of the datagram") \
	X(UNKNOWN_COMMAND, "refused_unknown_command", COUNTER_SUM, "commands with a number that ENet does not have") \
	X(UNEXPECTED_COMMAND, "refused_unexpected_command", COUNTER_SUM, "commands that only a server sends, or CONNECT inside a connection") \
	X(BAD_CHANNEL, "refused_bad_channel", COUNTER_SUM, "commands for a channel that was not negotiated") \
	X(BAD_LENGTH, "refused_bad_length", COUNTER_SUM, "commands whose data goes past the datagram")     \
	X(BAD_FRAGMENT, "refused_bad_fragment", COUNTER_SUM, "fragments with impossible numbers, or unlike those before") \
	X(OVERSIZE, "refused_oversize", COUNTER_SUM, "packets larger than packet_bytes_max; the peer is ended") \
	X(FUTURE_ACKNOWLEDGE, "refused_future_acknowledge", COUNTER_SUM, "acknowledgements of a time to come") \
	X(NO_SENT_TIME, "refused_no_sent_time", COUNTER_SUM, "commands that want an acknowledgement in a datagram without sent time") \
	X(FAR_AHEAD, "refused_far_ahead", COUNTER_SUM, "commands seven reliable windows ahead or more; not acknowledged")

#define SW_ENET_OTHER_COUNTERS(X)                                                                          \
	X(PEERS, "peers", COUNTER_GAUGE, "connected peers")                                                \
	X(PRESET_PEERS, "preset_peers", COUNTER_GAUGE, "of these, sessions without a handshake for packet generators: not 0 means that this is a benchmark") \
	X(HALF_OPEN, "half_open", COUNTER_GAUGE, "clients that were sent VERIFY_CONNECT and have not acknowledged it") \
	X(HOLD_BYTES, "hold_bytes", COUNTER_GAUGE, "memory taken by out-of-order packets and assemblies")  \
	X(QUEUE_BYTES, "queue_bytes", COUNTER_GAUGE, "memory taken by packets waiting or in flight")       \
	X(DATAGRAMS_IN, "datagrams_in", COUNTER_SUM, "datagrams given to the engine")                      \
	X(DATAGRAMS_OUT, "datagrams_out", COUNTER_SUM, "datagrams sent")                                   \
	X(BYTES_IN, "received_bytes", COUNTER_SUM, "bytes of datagrams given to the engine")               \
	X(BYTES_OUT, "sent_bytes", COUNTER_SUM, "bytes of datagrams sent")                                 \
	X(COMMANDS_IN, "commands_in", COUNTER_SUM, "commands taken from peers")                            \
	X(DELIVERED, "delivered", COUNTER_SUM, "packets that deliver() took")                              \
	X(DUPLICATES, "duplicates", COUNTER_SUM, "reliable commands received again")                       \
	X(STALE_UNRELIABLE, "stale_unreliable", COUNTER_SUM, "unreliable packets older than one delivered, or received again") \
	X(HELD, "held", COUNTER_SUM, "reliable packets and fragments kept until their predecessors come")  \
	X(WITHHELD_RING, "withheld_ring", COUNTER_SUM, "reliable commands not acknowledged: the destination was full") \
	X(WITHHELD_MEMORY, "withheld_memory", COUNTER_SUM, "reliable commands not acknowledged: the hold was full") \
	X(DROPPED_RING, "dropped_ring", COUNTER_SUM, "received unreliable packets dropped: the destination was full") \
	X(DROPPED_MEMORY, "dropped_memory", COUNTER_SUM, "received unreliable packets dropped: no memory to wait or assemble in") \
	X(ASSEMBLIES_DROPPED, "assemblies_dropped", COUNTER_SUM, "unreliable fragmented packets that stayed incomplete") \
	X(QUEUED, "queued", COUNTER_SUM, "packets queued to peers")                                        \
	X(DROPPED_QUEUE, "dropped_queue", COUNTER_SUM, "unreliable packets not queued: memory or the peer's queue was full") \
	X(YIELDED, "yielded", COUNTER_SUM, "reliable packets that give way (chat) and were dropped: the peer's queue or the memory behind queues was half full") \
	X(THROTTLED, "throttled", COUNTER_SUM, "unreliable packets dropped by a peer's throttle")          \
	X(RETRANSMITTED, "retransmitted", COUNTER_SUM, "reliable commands sent again")                     \
	X(PINGS_OUT, "pings_out", COUNTER_SUM, "pings sent")                                               \
	X(NO_BUFFER, "no_buffer", COUNTER_SUM, "times a peer's datagram waited because tx_begin had no buffer") \
	X(VERIFIES_OUT, "verifies_out", COUNTER_SUM, "VERIFY_CONNECT sent")                                \
	X(REFUSALS_OUT, "refusals_out", COUNTER_SUM, "clients told that they are refused")                 \
	X(CONNECTS_RETURNING, "connects_returning", COUNTER_SUM, "CONNECT over the global rate, let in by the share of addresses that proved themselves of late") \
	X(DISCONNECTS_REPEATED, "disconnects_repeated", COUNTER_SUM, "DISCONNECT of a client that has left, or was half-open, acknowledged") \
	X(ENDS_TOLD_AGAIN, "ends_told_again", COUNTER_SUM, "clients that were ended, still sent, and were told again") \
	X(HALF_OPEN_EXPIRED, "half_open_expired", COUNTER_SUM, "half-open entries evicted or expired")     \
	X(CONNECTED, "connected", COUNTER_SUM, "connects completed")                                       \
	X(DISCONNECTED, "disconnected", COUNTER_SUM, "peers that left, for any reason")                    \
	X(TIMEOUTS, "timeouts", COUNTER_SUM, "peers that stopped acknowledging")                           \
	X(SLOW_PEERS, "slow_peers", COUNTER_SUM, "peers ended because their send queue ran full")          \
	X(STALLS, "stalls", COUNTER_SUM, "own stalls: gaps between calls that the engine's time left out") \
	X(STALL_MS, "stall_ms", COUNTER_SUM, "milliseconds left out")
// clang-format on

#define SW_ENET_COUNTERS(X)                                                                        \
	X(NONE, "none", COUNTER_SUM, "always 0: nothing was refused")                              \
	SW_ENET_REFUSALS(X)                                                                        \
	SW_ENET_OTHER_COUNTERS(X)

#endif
