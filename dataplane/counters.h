/* counters.h: what a dataplane worker counts, group "dataplane". X(id, name, kind, help)
 *
 * The list begins with packet.h's refusals, so that a packet_drop is also the number of its
 * counter. The worker that owns the set is its only writer. */
#ifndef SW_DATAPLANE_COUNTERS_H
#define SW_DATAPLANE_COUNTERS_H

#include "common/counter.h"
#include "dataplane/packet.h"

/* The stages of cycles.h stand in its order. */
/* clang-format off */
#define DP_COUNTERS(X) \
	PACKET_DROPS(X) \
	X(RX_PACKETS, "rx_packets", COUNTER_SUM, "frames received from the ports") \
	X(RX_BYTES, "rx_bytes", COUNTER_SUM, "bytes of them, without frame check sequence") \
	X(RX_SEGMENTED, "drop_rx_segmented", COUNTER_SUM, "frames that came in several buffers: larger than the port's MTU allows") \
	X(TX_PACKETS, "tx_packets", COUNTER_SUM, "frames given to the ports") \
	X(TX_BYTES, "tx_bytes", COUNTER_SUM, "bytes of them, without frame check sequence") \
	X(TX_NO_MBUF, "tx_no_mbuf", COUNTER_SUM, "sends put off because the queue's pool was empty: raise dataplane.mbufs") \
	X(TX_FULL, "tx_full", COUNTER_SUM, "sends put off because the transmit ring was full: the link is slower than what is sent") \
	X(TX_DROPPED, "drop_tx", COUNTER_SUM, "frames dropped at transmit: an answer to ARP, neighbour discovery, ping or probe without room, a frame that the port refused, or a port being reset") \
	X(HANDOFF_OVER, "handoff_over", COUNTER_SUM, "frames handed to the worker that has their flow") \
	X(HANDOFF_OVER_FULL, "drop_handoff_over_full", COUNTER_SUM, "frames dropped because the ring to the worker that has their flow was full: it is overloaded, or waits for its CPU") \
	X(HANDOFF_STRAYS, "handoff_strays", COUNTER_SUM, "of the frames handed on: those of flows that RSS has moved to another queue") \
	X(HANDOFF_TAKEN, "handoff_taken", COUNTER_SUM, "frames taken from other workers") \
	X(HANDOFF_BACK, "handoff_back", COUNTER_SUM, "frames given to the queue's owner to be sent") \
	X(HANDOFF_BACK_FULL, "handoff_back_full", COUNTER_SUM, "sends put off because the ring to the queue's owner was full") \
	X(HANDOFF_NO_WAY, "drop_handoff_no_way", COUNTER_SUM, "frames handed to this worker by mistake, of a port where it has no queue: a stranger's flow that looks like a peer's") \
	X(HANDOFF_UNKNOWN, "handoff_flow_not_entered", COUNTER_SUM, "peers whose flow found no place in the table of flows: they do not survive a change of RSS") \
	X(ARP_REPLIES, "arp_replies", COUNTER_SUM, "ARP requests answered") \
	X(ND_REPLIES, "nd_replies", COUNTER_SUM, "IPv6 neighbour solicitations answered") \
	X(ICMP_ECHO_REPLIES, "icmp_echo_replies", COUNTER_SUM, "pings answered") \
	X(ICMPV6_ECHO_REPLIES, "icmpv6_echo_replies", COUNTER_SUM, "pings over IPv6 answered") \
	X(PING_LIMITED, "drop_ping_rate", COUNTER_SUM, "pings above 10,000 a second, over IPv4 and IPv6 together") \
	X(PROBE_REPLIES, "probe_replies", COUNTER_SUM, "probes answered") \
	X(PROBE_MALFORMED, "drop_probe_malformed", COUNTER_SUM, "probes that are short, answers, or of an unknown kind") \
	X(PROBE_LIMITED, "drop_probe_rate", COUNTER_SUM, "probes above dataplane.probes_per_s") \
	X(TO_CONTROL, "to_control_messages", COUNTER_SUM, "client messages handed to control") \
	X(TO_SHARD, "to_shard_messages", COUNTER_SUM, "client messages handed to shards") \
	X(TO_CHAT, "to_chat_messages", COUNTER_SUM, "client messages handed to chat") \
	X(RELIABLE_HELD, "ring_full_reliable_held", COUNTER_SUM, "runs with a reliable message that were not taken, and so not acknowledged, because a ring was full: the client repeats them") \
	X(UNRELIABLE_DROPPED, "drop_ring_full_unreliable", COUNTER_SUM, "unreliable client messages dropped because a ring was full") \
	X(RING_SHARE, "ring_crowded_messages", COUNTER_SUM, "client messages dropped (unreliable) or not acknowledged (reliable) because a ring was more than half full and their peer had had its share of the rest") \
	X(MESSAGE_EMPTY, "drop_message_empty", COUNTER_SUM, "client messages without a type byte") \
	X(MESSAGE_UNKNOWN, "drop_message_unknown_range", COUNTER_SUM, "client messages whose type lies in no range") \
	X(MESSAGE_CHAT, "drop_message_chat", COUNTER_SUM, "client chat messages: this node has no chat destination") \
	X(MESSAGE_NO_ROUTE, "drop_message_no_route", COUNTER_SUM, "client messages for a map while the client is on none, or chat before it was on any") \
	X(MESSAGE_OVERSIZE, "drop_message_oversize", COUNTER_SUM, "client messages larger than a ring message") \
	X(EVENTS_PUT_OFF, "ring_full_events_put_off", COUNTER_SUM, "tries to hand on a connect, leave or route event that found the ring full; tried again") \
	X(RING_SENDS, "ring_sends", COUNTER_SUM, "messages that control, shards and chat asked to send") \
	X(SEND_STALE, "drop_send_stale", COUNTER_SUM, "sends and disconnects for a peer that is gone") \
	X(SEND_INVALID, "drop_send_invalid", COUNTER_SUM, "sends on a channel the client does not have, empty, or too large") \
	X(SEND_NO_MEMORY, "drop_send_no_memory", COUNTER_SUM, "sends dropped because the peer's queue or the engine's memory is full") \
	X(CHAT_LINES, "chat_lines", COUNTER_SUM, "fan-outs begun: packets of chat for many") \
	X(CHAT_DELIVERIES, "chat_deliveries", COUNTER_SUM, "of them: copies queued to peers") \
	X(CHAT_STALE, "drop_chat_stale", COUNTER_SUM, "chat for a peer that is gone, or that has another session by now") \
	X(CHAT_SLOW, "drop_chat_slow_peer", COUNTER_SUM, "chat that a peer missed because half of its queue was taken: it takes less than it is sent") \
	X(CHAT_MEMORY, "drop_chat_memory", COUNTER_SUM, "chat dropped because half of the memory behind queues was taken for longer than a delivery waits: raise enet.pool") \
	X(CHAT_INVALID, "drop_chat_invalid", COUNTER_SUM, "chat for a client that has no channel 2, or too large for it") \
	X(ROUTES_SET, "routes_set", COUNTER_SUM, "routes set by shards") \
	X(ROUTES_STALE, "routes_stale", COUNTER_SUM, "routes asked for a peer that was gone; answered with its leave") \
	X(RING_UNKNOWN, "drop_ring_unknown", COUNTER_SUM, "ring messages of a type or size that the dataplane does not take: our own bug") \
	X(PORT_RESETS, "port_resets", COUNTER_SUM, "times a queue was let go because its port asked for a reset (the PF reset the VF)") \
	X(CYCLES_RING, "cycles_ring", COUNTER_SUM, "TSC cycles of turns with work, taking messages from control's and shards' rings and queueing them to peers") \
	X(CYCLES_RECEIVE, "cycles_receive", COUNTER_SUM, "TSC cycles of turns with work, in the ports' receive bursts") \
	X(CYCLES_PARSE, "cycles_parse", COUNTER_SUM, "TSC cycles of turns with work, reading headers and handing frames to other workers") \
	X(CYCLES_ENGINE, "cycles_engine", COUNTER_SUM, "TSC cycles of turns with work, in the ENet engine with received datagrams; cycles_route is a part of it") \
	X(CYCLES_FRAME, "cycles_frame", COUNTER_SUM, "TSC cycles of turns with work, in the ENet engine's timers and framing") \
	X(CYCLES_TRANSMIT, "cycles_transmit", COUNTER_SUM, "TSC cycles of turns with work, in the ports' transmit bursts") \
	X(CYCLES_ROUTE, "cycles_route", COUNTER_SUM, "TSC cycles putting client messages into rings: the part of cycles_engine, timed in one turn of 64") \
	X(CYCLES_IDLE, "cycles_idle", COUNTER_SUM, "TSC cycles of turns that found no work") \
	X(POLLS, "polls", COUNTER_SUM, "turns of the poll loop") \
	X(POLLS_BUSY, "polls_busy", COUNTER_SUM, "turns that found work")
/* clang-format on */

#define DP_COUNTER_ENUM(id, name, kind, help) DP_C_##id,
enum dp_counter { DP_COUNTERS(DP_COUNTER_ENUM) DP_COUNTER_COUNT };

_Static_assert((int)DP_C_ETH_SHORT == (int)PACKET_DROP_ETH_SHORT &&
		       (int)DP_C_UDP_OTHER_PORT == (int)PACKET_DROP_UDP_OTHER_PORT,
	"a packet_drop is the number of its counter");

extern const struct counter_desc dp_counter_desc[DP_COUNTER_COUNT];

#endif
