/* timers.c: the engine's clock, and the wheel of peer timers.
 *
 * The clock follows the caller's, but stands still over our own stalls: when a call comes more than
 * STALL_MS later than anything was due, the rest of the gap did not happen. So a debugger's pause
 * or a suspended machine times nobody out.
 *
 * Each peer has one timer: the earliest of repetition, ping, and the ends of its assemblies. It
 * moves only forward in the wheel: set later than it stands, it fires early, finds nothing due and
 * is armed again. An idle peer costs one look per ping interval. */
#include "dataplane/enet/engine.h"

/* The first wheel slot in use after wheel_ms, as a time; UINT64_MAX if none. */
static uint64_t wheel_next_ms(const struct sw_enet *e)
{
	uint32_t start = (uint32_t)(e->wheel_ms + 1) % WHEEL_SLOTS;

	for (uint32_t step = 0; step <= WHEEL_SLOTS / 64; step++) {
		uint32_t word = (start / 64 + step) % (WHEEL_SLOTS / 64), slot;
		uint64_t used = e->wheel_used[word];

		if (step == 0)
			used &= UINT64_MAX << start % 64;
		else if (step == WHEEL_SLOTS / 64)
			used &= ~(UINT64_MAX << start % 64);
		if (!used)
			continue;
		slot = word * 64 + (uint32_t)__builtin_ctzll(used);
		return e->wheel_ms + 1 + (slot - start) % WHEEL_SLOTS;
	}
	return UINT64_MAX;
}

void clock_advance(struct sw_enet *e, uint64_t caller_ms)
{
	uint64_t gap = caller_ms > e->caller_ms ? caller_ms - e->caller_ms : 0;

	e->caller_ms += gap;
	if (gap > STALL_MS && e->peers_used) {
		uint64_t due = wheel_next_ms(e), most = STALL_MS;

		if (due != UINT64_MAX && due > e->now_ms)
			most += due - e->now_ms;
		if (gap > most) {
			count(e, SW_ENET_C_STALLS, 1);
			count(e, SW_ENET_C_STALL_MS, gap - most);
			gap = most;
		}
	}
	e->now_ms += gap;
}

void timer_clear(struct sw_enet *e, uint32_t index)
{
	struct peer *peer = &e->peers[index];

	if (peer->timer_slot == NIL)
		return;
	if (peer->timer_prev == NIL)
		e->wheel[peer->timer_slot] = peer->timer_next;
	else
		e->peers[peer->timer_prev].timer_next = peer->timer_next;
	if (peer->timer_next != NIL)
		e->peers[peer->timer_next].timer_prev = peer->timer_prev;
	if (e->wheel[peer->timer_slot] == NIL)
		e->wheel_used[peer->timer_slot / 64] &= ~(1ull << peer->timer_slot % 64);
	peer->timer_slot = NIL;
}

/* The timer fires at due_ms or before. */
void timer_set(struct sw_enet *e, uint32_t index, uint64_t due_ms)
{
	struct peer *peer = &e->peers[index];
	uint32_t slot;

	if (due_ms <= e->wheel_ms)
		due_ms = e->wheel_ms + 1;
	if (due_ms >= e->wheel_ms + WHEEL_SLOTS)
		due_ms = e->wheel_ms + WHEEL_SLOTS - 1;
	if (peer->timer_slot != NIL && peer->timer_ms <= due_ms)
		return;
	timer_clear(e, index);
	slot = (uint32_t)due_ms % WHEEL_SLOTS;
	peer->timer_ms = due_ms;
	peer->timer_slot = slot;
	peer->timer_prev = NIL;
	peer->timer_next = e->wheel[slot];
	if (peer->timer_next != NIL)
		e->peers[peer->timer_next].timer_prev = index;
	e->wheel[slot] = index;
	e->wheel_used[slot / 64] |= 1ull << slot % 64;
}

/* When the oldest sent command is repeated; sent is not empty. */
static uint64_t repeat_ms(struct sw_enet *e, const struct peer *peer)
{
	const struct block *block = block_at(e, peer->sent.head);
	uint32_t since = (uint32_t)e->now_ms - block->out.sent_ms;

	return e->now_ms - since + block->out.rto_ms;
}

void timer_rearm(struct sw_enet *e, uint32_t index)
{
	struct peer *peer = &e->peers[index];
	uint64_t due_ms = UINT64_MAX;

	if (peer->sent.head != NIL)
		due_ms = repeat_ms(e, peer);
	else if (peer->state == PEER_CONNECTED && !(peer->flags & PEER_PRESET))
		due_ms = peer->ack_ms + PING_INTERVAL_MS > e->now_ms
				 ? peer->ack_ms + PING_INTERVAL_MS
				 : e->now_ms + PING_INTERVAL_MS;
	/* assemblies and pending packets are counted in seconds: the wheel's 4 s are fine */
	if (due_ms == UINT64_MAX && (peer->held.head != NIL || peer->pending_count))
		due_ms = e->now_ms + WHEEL_SLOTS;
	if (due_ms != UINT64_MAX)
		timer_set(e, index, due_ms);
}

/* ENet's verdict, but for one thing: who was heard in the last TIMEOUT_MIN_MS gets twice the time.
 */
static bool timed_out(const struct sw_enet *e, const struct peer *peer, const struct block *block)
{
	uint64_t since = e->now_ms - peer->earliest_timeout_ms;
	uint32_t doublings = block->attempts > 31 ? 31 : block->attempts - 1u;

	if (e->now_ms - peer->heard_ms < TIMEOUT_MIN_MS)
		return since >= 2 * (uint64_t)TIMEOUT_MAX_MS;
	return since >= TIMEOUT_MAX_MS ||
	       (1u << doublings >= TIMEOUT_ATTEMPTS && since >= TIMEOUT_MIN_MS);
}

/* Moves what is overdue from sent to the front of reliable, in order. */
static void repeat(struct sw_enet *e, uint32_t index)
{
	struct peer *peer = &e->peers[index];

	for (uint32_t at = peer->sent.tail, before; at != NIL; at = before) {
		struct block *block = block_at(e, at);
		uint32_t since = (uint32_t)e->now_ms - block->out.sent_ms;
		uint64_t sent_ms = e->now_ms - since;

		before = block->prev;
		if (since < block->out.rto_ms)
			continue;
		if (peer->earliest_timeout_ms == 0 || sent_ms < peer->earliest_timeout_ms)
			peer->earliest_timeout_ms = sent_ms;
		if (timed_out(e, peer, block)) {
			const struct peer_cold *cold = &e->cold[index];

			count(e, SW_ENET_C_TIMEOUTS, 1);
			if (peer->state == PEER_DISCONNECTING) /* it was told, and why */
				leave(e, index, cold->leave_reason, cold->leave_data, false);
			else
				leave(e, index, SW_ENET_GONE_TIMEOUT, 0, false);
			return;
		}
		e->cold[index].packets_lost++;
		block->out.rto_ms *= 2;
		if (block->out.rto_ms > TIMEOUT_MAX_MS)
			block->out.rto_ms = TIMEOUT_MAX_MS;
		block->aux = 0;
		peer->in_flight_bytes -= block->payload_bytes;
		list_remove(e, &peer->sent, at);
		list_push_front(e, &peer->reliable, at);
		peer_dirty(e, index);
	}
}

static bool past(const struct sw_enet *e, uint32_t due_ms)
{
	return (int32_t)((uint32_t)e->now_ms - due_ms) >= 0;
}

/* Ends a peer with an assembly, or a gap before what it sent, past its time; drops unreliable
 * packets that waited in vain. */
static void expire(struct sw_enet *e, uint32_t index)
{
	const struct peer_cold *cold = &e->cold[index];
	struct peer *peer = &e->peers[index];

	for (uint32_t at = peer->pending.head, next; at != NIL; at = next) {
		next = block_at(e, at)->next;
		if (!past(e, block_at(e, at)->in.due_ms))
			break;
		count(e, SW_ENET_C_ASSEMBLIES_DROPPED, 1);
		pending_free(e, index, at);
	}
	for (uint32_t at = peer->held.head; at != NIL; at = block_at(e, at)->next) {
		if (!past(e, block_at(e, at)->in.due_ms))
			continue;
		/* nobody is ended for what we ourselves put off, however long: the client repeats
		 * it more and more seldom */
		if (cold->put_off_ms && e->now_ms - cold->put_off_ms < 2 * GAP_MS)
			return;
		leave(e, index, SW_ENET_GONE_ASSEMBLY, e->config.told.malformed, true);
		return;
	}
}

static void timer_fire(struct sw_enet *e, uint32_t index)
{
	struct peer *peer = &e->peers[index];

	if (peer->state == PEER_GONE || peer->state == PEER_ACKNOWLEDGING)
		return; /* on the dirty list */
	if (peer->sent.head != NIL && e->now_ms >= repeat_ms(e, peer))
		repeat(e, index);
	if ((peer->pending_count || peer->held.head != NIL) &&
		e->now_ms >= e->cold[index].expire_ms) {
		e->cold[index].expire_ms = e->now_ms + EXPIRE_EVERY_MS;
		expire(e, index);
	}
	if (peer->state == PEER_CONNECTED && !(peer->flags & PEER_PRESET) &&
		peer->sent.head == NIL && peer->reliable.head == NIL &&
		e->now_ms - peer->ack_ms >= PING_INTERVAL_MS &&
		tx_control(e, index, WIRE_PING | WIRE_ACK_FLAG, NULL, 0))
		count(e, SW_ENET_C_PINGS_OUT, 1);
	timer_rearm(e, index);
}

void timers_run(struct sw_enet *e)
{
	uint32_t due = NIL, index;
	uint64_t at;

	if (e->wheel_ms == e->now_ms)
		return; /* nothing is ever armed for the current ms */
	/* first take all that is due off the wheel, then work: firing arms timers */
	while ((at = wheel_next_ms(e)) <= e->now_ms) {
		uint32_t slot = (uint32_t)at % WHEEL_SLOTS;

		while ((index = e->wheel[slot]) != NIL) {
			timer_clear(e, index);
			e->peers[index].timer_next = due;
			due = index;
		}
	}
	e->wheel_ms = e->now_ms;
	while (due != NIL) {
		index = due;
		due = e->peers[index].timer_next;
		timer_fire(e, index);
	}
}

uint64_t sw_enet_next_ms(const struct sw_enet *e)
{
	uint64_t due = e->dirty != NIL || e->owing != NIL || e->open_count ? e->now_ms + 1
									   : wheel_next_ms(e);

	if (due == UINT64_MAX)
		return UINT64_MAX;
	return e->caller_ms + (due > e->now_ms ? due - e->now_ms : 0);
}
