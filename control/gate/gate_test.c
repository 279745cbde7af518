/* Proves the node's side of the queue without a Redis, with time as an argument: what each turn
 * says and in which order, what it makes of answers, lost ones included, what those who wait are
 * told and how often, and that after the data has begun anew everybody's place is said again before
 * anything else. */
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <time.h>

#include <cmocka.h>

#include "common/handle.h"
#include "control/gate/gate.h"

#define SESSIONS 4096u

static struct sw_config config;
static struct gate *gate;
static uint64_t now_ns;
static struct gate_answer answer;
static struct gate_here here = {.room = 100, .places = 0};

/* What the gate did, newest last. */
static struct {
	char what; /* t: tell, a: admit, m: move, b: back, r: replaced */
	uint64_t session;
	struct gate_standing standing;
} did[8192];
static uint32_t did_count;
static bool admit_says = true;
static uint64_t leaves_in_admit; /* this session is refused while it is let in */

static void note(char what, uint64_t session)
{
	assert_true(did_count < sizeof(did) / sizeof(did[0]));
	did[did_count].what = what;
	did[did_count++].session = session;
}

static void tell(void *ctx, uint64_t session, const struct gate_standing *standing)
{
	(void)ctx;
	note('t', session);
	did[did_count - 1].standing = *standing;
}

static bool admit(void *ctx, uint64_t session, uint64_t at_ns)
{
	(void)ctx;
	assert_int_equal(at_ns, now_ns);
	note('a', session);
	if (session != leaves_in_admit)
		return admit_says;
	gate_leave(gate, session, false);
	return false;
}

static bool move(void *ctx, uint64_t session, const struct gate_move *to, uint64_t at_ns)
{
	(void)ctx;
	(void)at_ns;
	assert_string_equal(to->node, "node-2");
	assert_string_equal(to->address, "10.0.0.2:7777");
	note('m', session);
	did[did_count - 1].standing.lane = to->lane;
	did[did_count - 1].standing.seq = to->seq;
	return admit_says;
}

static void back(void *ctx, uint64_t session, uint64_t at_ns)
{
	(void)ctx;
	assert_int_equal(at_ns, now_ns);
	note('b', session);
}

static void replaced(void *ctx, uint64_t session, uint64_t at_ns)
{
	(void)ctx;
	(void)at_ns;
	note('r', session);
}

static uint64_t session_of(uint32_t n)
{
	return handle_make(0, 1, n);
}

static void begin(void)
{
	const struct gate_ops ops = {NULL, tell, admit, move, back, replaced};

	gate_free(gate);
	memset(&config, 0, sizeof(config));
	config.admission.players_max = 100;
	config.admission.grace_s = 40;
	config.admission.lease_ms = 15000;
	config.admission.operator_share = 20;
	config.admission.returning_share = 30;
	gate = gate_new(&config, SESSIONS, &ops);
	assert_non_null(gate);
	memset(&answer, 0, sizeof(answer));
	answer.epoch = 7;
	answer.order.state = GATE_OPEN;
	answer.rate = 100;
	answer.room = 50;
	now_ns = 5 * NS_PER_S;
	did_count = 0;
	admit_says = true;
	leaves_in_admit = 0;
}

static void wait_as(uint32_t n, enum gate_lane lane, uint64_t seq, uint64_t epoch)
{
	const struct gate_newcomer newcomer = {.session = session_of(n),
		.character_id = 1000 + n,
		.realm_id = 1,
		.lane = lane,
		.seq = seq,
		.epoch = epoch,
		.place_lane = GATE_LANE_RETURNING};

	assert_int_equal(gate_wait(gate, &newcomer, now_ns), 0);
}

/* The turn that is due after this time; NULL: none is. */
static const struct gate_turn *turn_after(uint64_t ms)
{
	const struct gate_turn *turn;

	now_ns += ms * NS_PER_MS;
	return gate_turn_due(gate, &here, now_ns, &turn) ? turn : NULL;
}

static const struct gate_turn *turn(void)
{
	const struct gate_turn *due = turn_after(GATE_TURN_MS);

	assert_non_null(due);
	return due;
}

static const struct gate_word *words(const struct gate_turn *t, enum gate_word_kind kind)
{
	const struct gate_word *word = t->words;

	for (int k = 0; k < (int)kind; k++)
		word += t->counts[k];
	return word;
}

static void heard(void)
{
	gate_turn_heard(gate, &answer, now_ns);
	answer.news = answer.beats = answer.calls = 0;
}

/* Each newcomer of the turn gets a place, from this seq on. */
static void places(const struct gate_turn *t, uint64_t seq)
{
	answer.news = t->counts[GATE_WORD_NEW];
	for (uint32_t i = 0; i < answer.news; i++) {
		const struct gate_word *word = &words(t, GATE_WORD_NEW)[i];

		answer.new_said[i] = (struct gate_verdict_new){
			GATE_PLACE, word->lane, word->seq ? word->seq : seq++};
	}
	heard();
}

static void call(enum gate_verdict verdict, uint32_t n)
{
	answer.call[answer.calls++] = (struct gate_call){.verdict = verdict,
		.session = session_of(n),
		.node = "node-2",
		.address = "10.0.0.2:7777"};
}

static uint64_t counted(enum gate_counter counter)
{
	return counter_get(&gate_counters(gate)->values[counter]);
}

/* The first turn: the data is there. */
static void first_turn(void)
{
	const struct gate_turn *t = turn();

	assert_int_equal(t->epoch, 0);
	assert_true(t->restored);
	assert_int_equal(gate_state(gate), GATE_AWAY);
	heard();
	assert_int_equal(gate_state(gate), GATE_OPEN);
}

static void test_at_once(void **state)
{
	const struct gate_turn *t;

	(void)state;
	begin();
	first_turn();
	assert_null(turn_after(GATE_IDLE_MS - GATE_TURN_MS - 1)); /* nothing to say */
	wait_as(1, GATE_LANE_NORMAL, 0, 0);
	t = turn_after(0); /* the last one is long enough ago */
	assert_non_null(t);
	assert_int_equal(t->counts[GATE_WORD_NEW], 1);
	assert_int_equal(words(t, GATE_WORD_NEW)->character_id, 1001);
	assert_false(words(t, GATE_WORD_NEW)->again);
	assert_null(turn_after(1000)); /* until it is answered */
	call(GATE_ADMIT, 1);
	places(t, 1);
	assert_int_equal(did_count, 1); /* never told to wait */
	assert_int_equal(did[0].what, 'a');
	t = turn();
	assert_int_equal(t->counts[GATE_WORD_TAKEN], 1);
	assert_int_equal(t->admitted, 1);
	assert_int_equal(gate_admitted(gate), 1);
	heard();
	assert_int_equal(counted(GATE_C_WAITING), 0);
}

static void test_told(void **state)
{
	uint32_t before;

	(void)state;
	begin();
	first_turn();
	for (uint32_t n = 1; n <= 10; n++)
		wait_as(n, GATE_LANE_NORMAL, 0, 0);
	answer.lanes[GATE_LANE_NORMAL].waiting = 90;
	answer.lanes[GATE_LANE_NORMAL].head = 80;
	places(turn(), 161);
	assert_int_equal(did_count, 10);
	assert_int_equal(did[0].session, session_of(1));
	assert_int_equal(did[0].standing.position, 81);
	assert_int_equal(did[0].standing.wait_ms, 810); /* it has the lanes for itself */
	assert_int_equal(did[0].standing.state, GATE_OPEN);
	assert_int_equal(did[0].standing.seq, 161);
	assert_int_equal(did[0].standing.epoch, 7);
	/* Others wait, too: half of the rate. */
	answer.lanes[GATE_LANE_OPERATOR].waiting = answer.lanes[GATE_LANE_RETURNING].waiting = 5;
	answer.lanes[GATE_LANE_NORMAL].head = 90;
	turn();
	heard();
	gate_tick(gate, now_ns);
	assert_int_equal(did_count, 10); /* not twice in a second */
	now_ns += GATE_TELL_MS * NS_PER_MS;
	gate_tick(gate, now_ns);
	assert_int_equal(did_count, 20);
	assert_int_equal(did[10].standing.position, 71);
	assert_int_equal(did[10].standing.wait_ms, 1420);
	now_ns += GATE_TELL_MS * NS_PER_MS;
	gate_tick(gate, now_ns);
	assert_int_equal(did_count, 20); /* nothing has changed */
	/* Closed, full, away, rebuilding: each is told once, without an estimate. */
	for (enum gate_state s = GATE_CLOSED; s <= GATE_REBUILDING; s++) {
		const struct gate_turn *t = turn();

		(void)t;
		before = did_count;
		answer.order.state = s == GATE_CLOSED ? GATE_CLOSED : GATE_OPEN;
		answer.order.at_us++;
		answer.room = s == GATE_FULL ? 0 : 50;
		answer.rebuilding = s == GATE_REBUILDING;
		if (s == GATE_AWAY)
			gate_turn_lost(gate, now_ns);
		else
			heard();
		assert_int_equal(gate_state(gate), s);
		assert_int_equal(counted(GATE_C_STATE), s);
		now_ns += GATE_TELL_MS * NS_PER_MS;
		gate_tick(gate, now_ns);
		assert_int_equal(did_count, before + 10);
		assert_int_equal(did[before].standing.state, s);
		assert_int_equal(did[before].standing.wait_ms, 0);
		assert_int_equal(did[before].standing.position, 71);
		assert_int_equal(did[before].standing.seq, s == GATE_REBUILDING ? 0 : 161);
	}
}

/* Everybody is heard of four times in the grace, and no turn says more than it may. */
static void test_beats(void **state)
{
	static uint64_t beaten[SESSIONS / 2];
	uint64_t start_ns;

	(void)state;
	begin();
	first_turn();
	for (uint32_t n = 0; n < 1900; n++)
		wait_as(n, GATE_LANE_NORMAL, 0, 0);
	for (int i = 0; i < 4; i++)
		places(turn(), 1 + (uint64_t)i * GATE_WORDS_MAX);
	start_ns = now_ns;
	for (uint32_t n = 0; n < 1900; n++)
		beaten[n] = now_ns;
	while (now_ns < start_ns + 60 * NS_PER_S) {
		const struct gate_turn *t = turn();

		assert_true(t->counts[GATE_WORD_BEAT] <= GATE_BEATS_MAX);
		for (uint32_t i = 0; i < t->counts[GATE_WORD_BEAT]; i++) {
			uint64_t *last = &beaten[handle_index(words(t, GATE_WORD_BEAT)[i].session)];

			assert_true(now_ns - *last >= 9 * NS_PER_S);
			*last = now_ns;
		}
		heard();
	}
	for (uint32_t n = 0; n < 1900; n++)
		assert_true(now_ns - beaten[n] < 12 * NS_PER_S);
}

/* A turn without an answer: all that it said is said again, the newcomers in their order and as
 * said before. */
static void test_lost(void **state)
{
	const struct gate_turn *t;

	(void)state;
	begin();
	first_turn();
	wait_as(1, GATE_LANE_NORMAL, 0, 0);
	call(GATE_ADMIT, 1);
	places(turn(), 1);
	for (uint32_t n = 2; n <= 5; n++)
		wait_as(n, GATE_LANE_NORMAL, 0, 0);
	gate_left(gate, 1, 500);
	t = turn();
	assert_int_equal(t->counts[GATE_WORD_TAKEN], 1);
	assert_int_equal(t->counts[GATE_WORD_LEFT], 1);
	assert_int_equal(t->counts[GATE_WORD_NEW], 4);
	gate_leave(gate, session_of(3), true); /* while it is asked about */
	gate_turn_lost(gate, now_ns);
	assert_int_equal(gate_state(gate), GATE_AWAY);
	wait_as(6, GATE_LANE_NORMAL, 0, 0);
	t = turn();
	assert_int_equal(t->counts[GATE_WORD_TAKEN], 1);
	assert_int_equal(t->counts[GATE_WORD_LEFT], 1);
	assert_int_equal(t->counts[GATE_WORD_AWAY], 1);
	assert_int_equal(t->admitted, 1);
	assert_int_equal(t->counts[GATE_WORD_NEW], 4);
	for (int i = 0; i < 4; i++) {
		static const uint32_t order[] = {2, 4, 5, 6};

		assert_int_equal(words(t, GATE_WORD_NEW)[i].session, session_of(order[i]));
		assert_int_equal(words(t, GATE_WORD_NEW)[i].again, i < 3);
	}
	places(t, 2);
	t = turn();
	for (int kind = 0; kind < GATE_WORD_KINDS; kind++)
		assert_int_equal(t->counts[kind], 0);
	heard();
	/* A beat that was lost comes with the next turn. */
	now_ns += 10 * NS_PER_S;
	assert_int_equal(turn()->counts[GATE_WORD_BEAT], 4);
	gate_turn_lost(gate, now_ns);
	assert_int_equal(turn()->counts[GATE_WORD_BEAT], 4);
	heard();
	assert_int_equal(turn()->counts[GATE_WORD_BEAT], 0);
	heard();
}

/* Let in and no place here; let in and refused at that moment; let in elsewhere; taken over. */
static void test_verdicts(void **state)
{
	const struct gate_turn *t;

	(void)state;
	begin();
	first_turn();
	for (uint32_t n = 1; n <= 6; n++)
		wait_as(n, GATE_LANE_NORMAL, 0, 0);
	places(turn(), 1);
	did_count = 0;
	admit_says = false;
	leaves_in_admit = session_of(2);
	turn();
	call(GATE_ADMIT, 1);
	call(GATE_ADMIT, 2);
	call(GATE_MOVE, 3);
	call(GATE_REPLACED, 4);
	call(GATE_ADMIT, 99); /* nobody */
	heard();
	assert_int_equal(did_count, 4);
	t = turn();
	assert_int_equal(t->counts[GATE_WORD_BACK], 2);
	assert_int_equal(words(t, GATE_WORD_BACK)[0].session, session_of(1));
	assert_int_equal(words(t, GATE_WORD_BACK)[1].session, session_of(3));
	assert_int_equal(t->counts[GATE_WORD_GONE], 1);
	assert_int_equal(words(t, GATE_WORD_GONE)->session, session_of(2));
	assert_int_equal(t->counts[GATE_WORD_TAKEN], 0);
	assert_int_equal(counted(GATE_C_WAITING), 4); /* 1, 3, 5, 6 */
	admit_says = true;
	call(GATE_MOVE, 3);
	call(GATE_ADMIT, 1);
	heard();
	assert_int_equal(counted(GATE_C_WAITING), 3); /* 3 too, until it is there */
	assert_int_equal(counted(GATE_C_MOVED), 1);
	gate_leave(gate, session_of(3), true);
	assert_int_equal(turn()->counts[GATE_WORD_AWAY], 1); /* which ends no lease */
	heard();
	/* What is answered to beats. */
	now_ns += 10 * NS_PER_S;
	t = turn();
	assert_int_equal(t->counts[GATE_WORD_BEAT], 2);
	answer.beat_said[0] = (struct gate_verdict_beat){0, GATE_LOST};
	answer.beat_said[1] = (struct gate_verdict_beat){1, GATE_ADMIT};
	answer.beats = 2;
	heard();
	assert_int_equal(counted(GATE_C_WAITING), 1);
	t = turn();
	assert_int_equal(t->counts[GATE_WORD_NEW], 1);
	assert_int_equal(words(t, GATE_WORD_NEW)->session, session_of(5));
	assert_int_equal(words(t, GATE_WORD_NEW)->seq, 5); /* where it was */
	places(t, 0);
	gate_leave(gate, session_of(5), false);
	assert_int_equal(counted(GATE_C_WAITING), 0);
	t = turn();
	assert_int_equal(t->counts[GATE_WORD_GONE], 1);
	heard();
}

/* Brings n so far that it is sent to node-2. */
static void send_away(uint32_t n, uint64_t seq)
{
	wait_as(n, GATE_LANE_NORMAL, 0, 0);
	places(turn(), seq);
	did_count = 0;
	turn();
	call(GATE_MOVE, n);
	heard();
	assert_int_equal(did_count, 1);
	assert_int_equal(did[0].what, 'm');
	assert_int_equal(did[0].standing.lane, GATE_LANE_NORMAL);
	assert_int_equal(did[0].standing.seq, seq);
	did_count = 0;
}

/* Its place again, as the newest words say it. */
static void back_at(uint32_t n, uint64_t seq, bool stays)
{
	const struct gate_turn *t = turn();
	const struct gate_word *word = words(t, GATE_WORD_NEW);

	assert_int_equal(t->counts[GATE_WORD_NEW], 1);
	assert_int_equal(word->session, session_of(n));
	assert_int_equal(word->seq, seq);
	assert_true(word->back && !word->shown && word->stays == stays);
	places(t, 0);
	/* It is told anew that it waits. */
	assert_int_equal(did[did_count - 1].what, 't');
	assert_int_equal(did[did_count - 1].session, session_of(n));
	assert_int_equal(did[did_count - 1].standing.seq, seq);
}

/* Sent to another node: kept, silent, until it is heard of there, or is back. */
static void test_sent(void **state)
{
	const struct gate_turn *t;

	(void)state;
	begin();
	first_turn();
	/* Heard of there: it ends here when its time is over, and is not said any more. */
	send_away(1, 5);
	turn();
	call(GATE_REPLACED, 1);
	call(GATE_ADMIT, 1); /* not here */
	heard();
	now_ns += config.admission.lease_ms * NS_PER_MS;
	assert_int_equal(turn()->counts[GATE_WORD_BEAT], 0);
	heard();
	assert_int_equal(did_count, 0);
	gate_tick(gate, now_ns);
	assert_int_equal(did_count, 1);
	assert_int_equal(did[0].what, 'r');
	assert_int_equal(counted(GATE_C_WAITING), 0);
	assert_int_equal(counted(GATE_C_REPLACED), 0);

	/* Not heard of: it knows no redirect, it seems, and stays from now on. */
	send_away(2, 6);
	now_ns += config.admission.lease_ms * NS_PER_MS - 1;
	gate_tick(gate, now_ns);
	assert_int_equal(did_count, 0);
	now_ns++;
	gate_tick(gate, now_ns);
	assert_int_equal(did_count, 1);
	assert_int_equal(did[0].what, 'b');
	back_at(2, 6, true);
	did_count = 0;
	turn();
	call(GATE_MOVE, 2);
	heard();
	assert_int_equal(did_count, 0);
	t = turn();
	assert_int_equal(t->counts[GATE_WORD_BACK], 1);
	heard();
	gate_leave(gate, session_of(2), false);

	/* It says so itself: at once, as often as it is sent, until it stays. */
	turn();
	heard();
	send_away(3, 7);
	for (uint32_t i = 1;; i++) {
		gate_back(gate, session_of(3));
		gate_back(gate, session_of(3));
		back_at(3, 7, i == GATE_MOVES_MAX);
		if (i == GATE_MOVES_MAX)
			break;
		turn();
		call(GATE_MOVE, 3);
		heard();
	}
	assert_int_equal(counted(GATE_C_CAME_BACK), 1 + GATE_MOVES_MAX);
	gate_leave(gate, session_of(3), false);

	/* The other node has taken its place just before it went wrong there: that word is old when
	 * it comes. */
	turn();
	heard();
	send_away(4, 8);
	t = turn();
	gate_back(gate, session_of(4));
	call(GATE_REPLACED, 4);
	heard();
	t = turn();
	assert_true(words(t, GATE_WORD_NEW)->back);
	call(GATE_REPLACED, 4);
	places(t, 0);
	t = turn();
	assert_int_equal(counted(GATE_C_WAITING), 1);
	call(GATE_REPLACED, 4);
	heard();
	assert_int_equal(counted(GATE_C_WAITING), 0);
	/* A newcomer with a handover has its place, though the queue is full and its data the same. */
	for (uint32_t n = 100; n < 100 + SESSIONS / 2 - 100; n++)
		wait_as(n, GATE_LANE_NORMAL, 0, 0);
	{
		const struct gate_newcomer newcomer = {.session = session_of(5),
			.character_id = 5,
			.realm_id = 1,
			.lane = GATE_LANE_NORMAL,
			.stays = true,
			.sent = true,
			.seq = 9,
			.epoch = 7,
			.place_lane = GATE_LANE_OPERATOR};

		assert_int_equal(gate_wait(gate, &newcomer, now_ns), 0);
	}
	t = turn();
	assert_int_equal(words(t, GATE_WORD_NEW)->session, session_of(5));
	assert_int_equal(words(t, GATE_WORD_NEW)->seq, 9);
	assert_int_equal(words(t, GATE_WORD_NEW)->lane, GATE_LANE_OPERATOR);
	assert_true(words(t, GATE_WORD_NEW)->stays && !words(t, GATE_WORD_NEW)->shown);
	heard();
}

/* Redis was emptied: those that had a place say it, before it is said that all have; newcomers
 * wait; a place that a client shows counts only for data that is lost. */
static void test_rebuild(void **state)
{
	const struct gate_turn *t;
	uint32_t said = 0;

	(void)state;
	begin();
	first_turn();
	for (uint32_t n = 1; n <= 800; n++)
		wait_as(n, GATE_LANE_NORMAL, 0, 0);
	places(turn(), 1);
	places(turn(), 1 + GATE_WORDS_MAX);
	t = turn();
	assert_false(t->restored);
	answer.rebuilding = true;
	answer.epoch = 0;
	heard();
	assert_int_equal(counted(GATE_C_RESTORED), 800);
	wait_as(801, GATE_LANE_NORMAL, 0, 0);
	wait_as(802, GATE_LANE_NORMAL, 33, 7); /* shows a place of the data that is lost */
	for (int i = 0; i < 2; i++) {
		t = turn();
		said += t->counts[GATE_WORD_NEW];
		assert_int_equal(t->restored, i == 1);
		for (uint32_t w = 0; w < t->counts[GATE_WORD_NEW]; w++)
			assert_true(words(t, GATE_WORD_NEW)[w].seq > 0);
		places(t, 0);
	}
	assert_int_equal(said, 801);
	answer.rebuilding = false;
	answer.epoch = 8;
	t = turn();
	assert_int_equal(t->counts[GATE_WORD_NEW], 0);
	heard();
	t = turn();
	assert_int_equal(t->epoch, 8);
	assert_int_equal(t->counts[GATE_WORD_NEW], 1); /* now the newcomer */
	assert_int_equal(words(t, GATE_WORD_NEW)->session, session_of(801));
	places(t, 900);
	wait_as(803, GATE_LANE_NORMAL, 34, 8); /* of this data: Redis knows */
	wait_as(804, GATE_LANE_NORMAL, 35, 7);
	t = turn();
	assert_int_equal(words(t, GATE_WORD_NEW)[0].session, session_of(804));
	assert_int_equal(words(t, GATE_WORD_NEW)[0].seq, 35);
	assert_int_equal(words(t, GATE_WORD_NEW)[0].lane, GATE_LANE_RETURNING);
	assert_int_equal(words(t, GATE_WORD_NEW)[1].seq, 0);
	places(t, 901);
	assert_int_equal(counted(GATE_C_EPOCHS), 2);

	/* Others have done it without this node: it says its places all the same. */
	answer.epoch = 9;
	turn();
	heard();
	t = turn();
	assert_int_equal(t->counts[GATE_WORD_NEW], GATE_WORDS_MAX);
	assert_true(words(t, GATE_WORD_NEW)[0].seq > 0);
	places(t, 0);
}

/* No more than may wait. */
static void test_queue_max(void **state)
{
	struct gate_newcomer newcomer = {
		.lane = GATE_LANE_NORMAL, .character_id = 1, .realm_id = 1};
	uint32_t most = SESSIONS / 2 - 100;

	(void)state;
	begin();
	for (uint32_t n = 0; n < most; n++)
		wait_as(n, GATE_LANE_NORMAL, 0, 0);
	newcomer.session = session_of(most);
	assert_int_equal(gate_wait(gate, &newcomer, now_ns), -28);
	assert_int_equal(counted(GATE_C_FULL), 1);
	gate_leave(gate, session_of(5), true);
	assert_int_equal(gate_wait(gate, &newcomer, now_ns), 0);
	/* Who was never said leaves nothing to say. */
	assert_int_equal(turn()->counts[GATE_WORD_AWAY], 0);
	heard();
}

/* Random comings, goings, answers and losses: an entry is never said twice in a turn, and in the
 * end nothing is left. SW_SEED=n repeats it. */
static uint64_t random_state;

static uint32_t chance(uint32_t n)
{
	random_state = random_state * 6364136223846793005ull + 1442695040888963407ull;
	return (uint32_t)(random_state >> 33) % n;
}

static void test_random(void **state)
{
	static uint32_t generation[64];
	uint64_t seed = (uint64_t)time(NULL), seq = 1;
	bool here_now[64] = {false};

	(void)state;
	if (getenv("SW_SEED"))
		seed = strtoull(getenv("SW_SEED"), NULL, 10);
	print_message("SW_SEED=%llu\n", (unsigned long long)seed);
	random_state = seed;
	begin();
	for (int step = 0; step < 50000; step++) {
		uint32_t n = chance(64);
		const struct gate_turn *t;

		did_count = 0;
		now_ns += chance(60) * NS_PER_MS;
		if (chance(3) && !here_now[n]) {
			const struct gate_newcomer newcomer = {
				.session = handle_make(0, ++generation[n] & 0xffff, n),
				.character_id = n + 1,
				.realm_id = 1,
				.lane = (enum gate_lane)(1 + chance(3)),
				.seq = chance(2) ? 0 : 1 + chance(50),
				.epoch = chance(4),
				.place_lane = GATE_LANE_NORMAL};

			here_now[n] = !gate_wait(gate, &newcomer, now_ns);
		} else if (here_now[n] && !chance(3)) {
			gate_leave(gate, handle_make(0, generation[n] & 0xffff, n), chance(2));
			here_now[n] = false;
		} else if (here_now[n] && !chance(3)) {
			gate_back(gate, handle_make(0, generation[n] & 0xffff, n));
		}
		gate_tick(gate, now_ns);
		for (uint32_t i = 0; i < did_count; i++)
			if (did[i].what == 'r') {
				assert_true(here_now[handle_index(did[i].session)]);
				here_now[handle_index(did[i].session)] = false;
			}
		did_count = 0;
		if (!gate_turn_due(gate, &here, now_ns, &t))
			continue;
		for (uint32_t i = 0; i < t->counts[GATE_WORD_NEW]; i++)
			for (uint32_t j = 0; j < i; j++)
				assert_int_not_equal(words(t, GATE_WORD_NEW)[i].session,
					words(t, GATE_WORD_NEW)[j].session);
		if (!chance(6)) {
			gate_turn_lost(gate, now_ns);
			continue;
		}
		answer.rebuilding = !chance(10);
		answer.epoch = answer.rebuilding ? 0 : 1 + chance(50) / 49;
		answer.room = chance(3);
		answer.news = t->counts[GATE_WORD_NEW] - (t->counts[GATE_WORD_NEW] && !chance(9));
		for (uint32_t i = 0; i < answer.news; i++)
			answer.new_said[i] = (struct gate_verdict_new){
				(enum gate_verdict)(chance(3) ? GATE_PLACE : chance(5)),
				1 + chance(3), seq++};
		for (uint32_t i = 0; i < t->counts[GATE_WORD_BEAT] && chance(3); i++)
			answer.beat_said[answer.beats++] =
				(struct gate_verdict_beat){i, (enum gate_verdict)(1 + chance(5))};
		for (uint32_t i = chance(4); i > 0; i--) {
			n = chance(64);
			answer.call[answer.calls++] = (struct gate_call){
				.verdict = (enum gate_verdict)(chance(2)   ? GATE_ADMIT
							       : chance(2) ? GATE_MOVE
									   : GATE_REPLACED),
				.session = handle_make(0, generation[n] & 0xffff, n),
				.node = "node-2",
				.address = "10.0.0.2:7777"};
		}
		admit_says = chance(3);
		heard();
		for (uint32_t i = 0; i < did_count; i++)
			if (did[i].what == 'r' || (did[i].what == 'a' && admit_says)) {
				assert_true(here_now[handle_index(did[i].session)]);
				here_now[handle_index(did[i].session)] = false;
			}
	}
	assert_true(counted(GATE_C_ADMITTED) > 100 && counted(GATE_C_PUT_BACK) > 100 &&
		    counted(GATE_C_RESTORED) > 100 && counted(GATE_C_CAME_BACK) > 100 && counted(GATE_C_REPLACED) > 100);
	for (uint32_t n = 0; n < 64; n++)
		if (here_now[n])
			gate_leave(gate, handle_make(0, generation[n] & 0xffff, n), false);
	assert_int_equal(counted(GATE_C_WAITING), 0);
}

static int teardown(void **state)
{
	(void)state;
	gate_free(gate);
	return 0;
}

int main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test(test_at_once),
		cmocka_unit_test(test_told),
		cmocka_unit_test(test_beats),
		cmocka_unit_test(test_lost),
		cmocka_unit_test(test_verdicts),
		cmocka_unit_test(test_sent),
		cmocka_unit_test(test_rebuild),
		cmocka_unit_test(test_queue_max),
		cmocka_unit_test(test_random),
	};

	return cmocka_run_group_tests(tests, NULL, teardown);
}
