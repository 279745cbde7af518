/* Proves, without a socket, that a session goes from map to map whatever order its channels come
 * in: what is said of a map that was left, or of one whose Joined is still on its way, never mixes
 * with what is said of this one, though actor ids are the same on all of them. */
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <string.h>
#include <cmocka.h>

#include "client/seen.h"

static void give_joined(struct seen *seen, uint32_t stay)
{
	Sw__Joined message = seen_joined();

	message.stay = stay;
	seen_give(seen, SW_CHANNEL_SESSION, SW_MSG_JOINED, &message);
}

/* enter and leave: ids, 0 for none */
static void give_view(
	struct seen *seen, uint32_t stay, uint32_t sequence, uint32_t enter, uint32_t leave)
{
	Sw__ViewChange message = SW__VIEW_CHANGE__INIT;
	Sw__ActorEnter actor = SW__ACTOR_ENTER__INIT;
	Sw__EntityState state = SW__ENTITY_STATE__INIT;
	Sw__ActorEnter *actors[] = {&actor};

	state.actor_id = enter;
	actor.state = &state;
	actor.kind = SW__ACTOR_KIND__PLAYER;
	actor.name = "someone";
	actor.health = actor.health_max = 100;
	message.tick = 1000 + sequence;
	message.sequence = sequence;
	message.stay = stay;
	message.n_enter = enter != 0;
	message.enter = actors;
	message.n_leave = leave != 0;
	message.leave = &leave;
	seen_give(seen, SW_CHANNEL_EVENTS, SW_MSG_VIEW_CHANGE, &message);
}

static void give_blow(struct seen *seen, uint32_t stay, uint32_t target, uint32_t health)
{
	Sw__CombatEvents message = SW__COMBAT_EVENTS__INIT;
	Sw__CombatEvent blow = SW__COMBAT_EVENT__INIT;
	Sw__CombatEvent *blows[] = {&blow};

	blow.target = target;
	blow.health = health;
	message.n_events = 1;
	message.events = blows;
	message.stay = stay;
	seen_give(seen, SW_CHANNEL_EVENTS, SW_MSG_COMBAT, &message);
}

static void start(struct seen *seen)
{
	seen_start(seen);
	seen_admit(seen);
}

/* Nothing was refused, lost, or told of whom nobody knows. */
static void stop(struct seen *seen)
{
	assert_int_equal(seen_refused(seen), 0);
	assert_int_equal(seen->session.stats.leaves_unknown, 0);
	assert_int_equal(seen->session.stats.reliable_lost, 0);
	seen_stop(seen);
}

/* Each row is a course of maps, in one order in which channels 0 and 3 may come: "J0" is the Joined
 * of stay 0, "V12" its second ViewChange of stay 1. Each ViewChange brings actor 10 * stay +
 * sequence. In the end those of the last stay are in view, and nobody else. */
static void views_come_in_any_order(void **state)
{
	static const struct {
		const char *course;
		uint32_t stay, changes, late;
	} rows[] = {
		{"J0 V01 V02", 0, 2, 0}, {"V01 J0 V02", 0, 2, 0}, /* the view first */
		{"J0 V01 J1 V11", 1, 1, 0}, {"J0 V01 V11 J1 V12", 1, 2, 0},
		{"J0 V01 J1 V02 V03 V11", 1, 1, 2}, /* the last of the map that was left */
		{"J0 V01 J1 V02", 1, 0, 1}, {"J0 J1 V01 V02 V11", 1, 1, 2}, /* all of it */
		{"J0 J1 V01", 1, 0, 1},
		{"J0 J1 V01 V11 J2", 2, 0, 1},         /* and nobody on the next one */
		{"J0 V01 V11 V21 J1 J2 V22", 2, 2, 0}, /* two Joined behind */
		{"V01 V11 V21 J0 J1 J2", 2, 1, 0},
		{"J0 V01 V21 J2", 2, 1, 0}, /* a stay of which one heard nothing */
	};

	(void)state;
	for (size_t i = 0; i < sizeof(rows) / sizeof(rows[0]); i++) {
		struct seen seen;

		start(&seen);
		for (const char *at = rows[i].course; *at; at += *at == ' ') {
			uint32_t stay = (uint32_t)(at[1] - '0');

			if (*at == 'J') {
				give_joined(&seen, stay);
				at += 2;
			} else {
				uint32_t sequence = (uint32_t)(at[2] - '0');

				give_view(&seen, stay, sequence, 10 * (stay + 1) + sequence, 0);
				at += 3;
			}
		}
		if (seen.session.view.count != rows[i].changes ||
			seen.session.stats.view_changes_late != rows[i].late)
			fail_msg("%s: %u in view, %u late", rows[i].course,
				(unsigned)seen.session.view.count,
				(unsigned)seen.session.stats.view_changes_late);
		for (uint32_t n = 1; n <= rows[i].changes; n++)
			assert_non_null(
				swc_view_find(&seen.session.view, 10 * (rows[i].stay + 1) + n));
		stop(&seen);
	}
}

/* One's own id on this map is somebody else's on the others. */
static void ids_mean_something_on_their_own_map(void **state)
{
	Sw__Joined joined = seen_joined();
	struct seen seen;

	(void)state;
	start(&seen);
	give_view(&seen, 0, 1, SEEN_ACTOR, 0); /* ourselves: nobody could know yet */
	give_view(&seen, 0, 2, 9, 0);
	give_joined(&seen, 0);
	assert_int_equal(seen.session.view.count, 1);
	give_blow(&seen, 0, SEEN_ACTOR, 60);
	give_blow(&seen, 0, 9, 50);
	assert_int_equal(seen.session.self.health, 60);
	assert_int_equal(swc_view_find(&seen.session.view, 9)->health, 50);
	assert_int_equal(seen.session.stats.blows, 2);

	give_joined(&seen, 1);
	give_blow(&seen, 0, SEEN_ACTOR, 0); /* who died there is not we */
	assert_int_equal(seen.session.self.health, 60);
	assert_int_equal(seen.session.stats.blows_other_stay, 1);
	give_view(&seen, 1, 1, 9, 0);
	give_blow(&seen, 1, SEEN_ACTOR, 55);
	assert_int_equal(seen.session.self.health, 55);

	give_view(&seen, 2, 1, 9, 0);
	give_blow(&seen, 2, SEEN_ACTOR, 0); /* nor who dies where we are not yet */
	assert_int_equal(seen.session.self.health, 55);
	assert_int_equal(swc_view_find(&seen.session.view, 9)->health, 100);
	give_blow(&seen, 2, 9, 70);
	assert_int_equal(swc_view_find(&seen.session.view, 9)->health, 70);
	give_blow(&seen, 3, 9, 10); /* of a map further still */
	assert_int_equal(swc_view_find(&seen.session.view, 9)->health, 70);
	give_joined(&seen, 2);
	assert_int_equal(seen.session.view.count, 1);

	give_view(&seen, 3, 1, SEEN_ACTOR, 0); /* we are another one there */
	joined.stay = 3;
	joined.actor_id = 9;
	seen_give(&seen, SW_CHANNEL_SESSION, SW_MSG_JOINED, &joined);
	assert_int_equal(seen.session.view.count, 1);
	assert_non_null(swc_view_find(&seen.session.view, SEEN_ACTOR));
	stop(&seen);
}

/* Channels 0 and 1 are not ordered: updates of the next map may come before its Joined, those of
 * the last one after it. */
static void updates_of_another_stay_are_ignored(void **state)
{
	static const struct {
		uint32_t joined_stay; /* UINT32_MAX: no Joined comes */
		uint32_t update_stay;
		int32_t x_mm; /* of the update */
		int32_t want_mm;
	} rows[] = {
		{UINT32_MAX, 0, 90000, 90000},
		{UINT32_MAX, 1, 80000, 90000},
		{1, 1, 70000, 70000},
		{UINT32_MAX, 0, 60000, 70000},
		{2, 1, 50000, 100000}, /* where Joined says */
		{UINT32_MAX, 2, 40000, 40000},
	};
	Sw__WorldUpdate update = SW__WORLD_UPDATE__INIT;
	Sw__EntityState own = SW__ENTITY_STATE__INIT;
	Sw__EntityState *states[] = {&own};
	struct seen seen;
	Sw__InputBatch *sent;
	Sw__Click *click;

	(void)state;
	start(&seen);
	give_joined(&seen, 0);
	update.n_entities = 1;
	update.entities = states;
	own.actor_id = SEEN_ACTOR;
	own.y_mm = 100000;
	for (size_t i = 0; i < sizeof(rows) / sizeof(rows[0]); i++) {
		if (rows[i].joined_stay != UINT32_MAX)
			give_joined(&seen, rows[i].joined_stay);
		update.tick = 2000 + (uint32_t)i;
		update.stay = rows[i].update_stay;
		own.x_mm = rows[i].x_mm;
		seen_give(&seen, SW_CHANNEL_WORLD, SW_MSG_WORLD_UPDATE, &update);
		if (seen.session.self.x_mm != rows[i].want_mm)
			fail_msg("row %zu: at %d", i, seen.session.self.x_mm);
	}
	assert_int_equal(seen.session.stats.updates_other_stay, 3);
	/* What is sent names the map that it is meant for. */
	swc_session_walk(&seen.session, 127, 0);
	swc_session_tick(&seen.session);
	assert_int_equal(seen.packet[0], SW_MSG_INPUT);
	sent = sw__input_batch__unpack(NULL, seen.packet_bytes - 1, seen.packet + 1);
	assert_int_equal(sent->stay, 2);
	sw__input_batch__free_unpacked(sent, NULL);
	swc_session_click(&seen.session, 31);
	click = sw__click__unpack(NULL, seen.packet_bytes - 1, seen.packet + 1);
	assert_int_equal(click->stay, 2);
	sw__click__free_unpacked(click, NULL);
	stop(&seen);
}

int main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test(views_come_in_any_order),
		cmocka_unit_test(ids_mean_something_on_their_own_map),
		cmocka_unit_test(updates_of_another_stay_are_ignored),
	};

	return cmocka_run_group_tests_name("stay", tests, NULL, NULL);
}
