/* What those who wait are told: how the gate stands, their position, and an estimate. */
#include "control/gate/gate_internal.h"

enum gate_state gate_state(const struct gate *gate)
{
	if (gate->away || !gate->spoken)
		return GATE_AWAY;
	if (gate->rebuilding || !gate->epoch)
		return GATE_REBUILDING;
	if (gate->order.state == GATE_CLOSED)
		return GATE_CLOSED;
	if (!gate->room)
		return GATE_FULL;
	return gate->order.state == GATE_THROTTLED ? GATE_THROTTLED : GATE_OPEN;
}

static uint32_t share_of(const struct gate *gate, uint32_t lane)
{
	const uint32_t operators = gate->config->admission.operator_share;
	const uint32_t returning = gate->config->admission.returning_share;

	return lane == GATE_LANE_OPERATOR    ? operators
	       : lane == GATE_LANE_RETURNING ? returning
					     : 100 - operators - returning;
}

/* In a thousandth of a player a second: what the lane has beside those that have somebody now. */
static uint64_t lane_rate(const struct gate *gate, uint32_t lane)
{
	uint32_t shares = 0;

	for (uint32_t i = 1; i <= GATE_LANE_COUNT; i++)
		if (i == lane || gate->lanes[i].waiting)
			shares += share_of(gate, i);
	return gate->rate * 1000 * share_of(gate, lane) / shares;
}

void gate_tell(struct gate *gate, struct entry *entry, uint64_t now_ns)
{
	struct gate_standing standing = {.state = gate_state(gate)};
	uint64_t ahead, rate;

	entry->told_ns = now_ns;
	gate_list_to_end(gate, &gate->tell, LINK_TELL, gate_index_of(gate, entry));
	if (entry->state == ENTRY_SENT)
		return;
	if (entry->stays && gate->turn.here.room <= 0 &&
		(standing.state == GATE_OPEN || standing.state == GATE_THROTTLED))
		standing.state = GATE_FULL; /* as far as it goes */
	if (entry->seq) {
		ahead = entry->seq > gate->lanes[entry->lane].head
				? entry->seq - gate->lanes[entry->lane].head
				: 1;
		rate = lane_rate(gate, entry->lane);
		standing.position = ahead > UINT32_MAX ? UINT32_MAX : (uint32_t)ahead;
		if (rate && (standing.state == GATE_OPEN || standing.state == GATE_THROTTLED)) {
			uint64_t wait_ms = ahead * 1000000 / rate;

			standing.wait_ms = wait_ms > UINT32_MAX ? UINT32_MAX
					   : wait_ms            ? (uint32_t)wait_ms
								: 1;
		}
	}
	/* Its place pass is of the life of the data that gave it. */
	if (entry->state == ENTRY_WAITING && gate->epoch) {
		standing.lane = (enum gate_lane)entry->lane;
		standing.seq = entry->seq;
		standing.epoch = gate->epoch;
	}
	if (standing.state == entry->told_state && standing.position == entry->told_position &&
		standing.wait_ms == entry->told_wait_ms)
		return;
	entry->told_state = (uint8_t)standing.state;
	entry->told_position = standing.position;
	entry->told_wait_ms = standing.wait_ms;
	gate_add(gate, GATE_C_TOLD, 1);
	gate->ops.tell(gate->ops.ctx, entry->session, &standing);
}

/* Nobody has heard of them where they were sent: their clients do not follow, it seems. */
static void tick_sent(struct gate *gate, uint64_t now_ns)
{
	while (gate->sent.head != GATE_NONE) {
		struct entry *entry = &gate->entries[gate->sent.head];
		uint64_t session = entry->session;

		if (now_ns - entry->beat_ns < gate->config->admission.lease_ms * NS_PER_MS)
			break;
		if (entry->there) {
			gate_entry_free(gate, entry);
			gate->ops.replaced(gate->ops.ctx, session, now_ns);
		} else {
			entry->stays = true;
			gate_entry_back(gate, entry);
			gate->ops.back(gate->ops.ctx, session, now_ns);
		}
	}
}

void gate_tick(struct gate *gate, uint64_t now_ns)
{
	tick_sent(gate, now_ns);
	/* Each at most once: whoever was looked at stands at the end, with a later time. */
	for (uint32_t left = gate->count; left && gate->tell.head != GATE_NONE; left--) {
		struct entry *entry = &gate->entries[gate->tell.head];

		if (now_ns - entry->told_ns < GATE_TELL_MS * NS_PER_MS)
			break;
		/* A newcomer is told when there is something to say. */
		if (!entry->seq && gate_state(gate) != GATE_AWAY &&
			gate_state(gate) != GATE_REBUILDING) {
			entry->told_ns = now_ns;
			gate_list_to_end(gate, &gate->tell, LINK_TELL, gate->tell.head);
			continue;
		}
		gate_tell(gate, entry, now_ns);
	}
}
