#!/usr/bin/env bash
# storm.sh BIN: hundreds of players come at once through two nodes on one Redis, most of them to one, at a rate that the
# gate holds:
#
#   by Redis's own clock (its stream of who was let in) never more come in than rate x time and the burst, over any
#   stretch; in every lane in the order of their places; and nobody is in two places;
#   the room decides who plays where: many who come to the crowded node are sent to the other;
#   while Redis's master dies and the Sentinels make the replica one, a Redis is killed and comes back empty, and a
#   node is killed with those who wait and play there.
#
# Leaves nothing behind: no process, namespace, interface or file.
set -uo pipefail
# shellcheck source=tests/e2e/e2e.sh
. "$(dirname "$0")/e2e.sh"
# shellcheck source=tests/e2e/cluster_stage.sh
. "$(dirname "$0")/cluster_stage.sh"
rate=40 burst=8 at_a=100 at_b=300 late=40
e2e_begin "$@"
e2e_undo() { cluster_down; }

seen=$stage_run/let_in
outages=()
# Adds what Redis has now; what is there already falls out by its id.
look() {
	redis --raw xrange 'sw{gate}:let_in' - + 2>/dev/null | paste - - - - - - - - - - - | grep -E '^[0-9]+-[0-9]+' >>"$seen"
	sort -u -o "$seen" "$seen"
}
let_in_over() {
	look
	(($(wc -l <"$seen") > $1))
}
# redis_dies NAME: what it has let in until now is known.
redis_dies() {
	look
	kill_hard "$stage_run/redis-$1.pid"
	outages+=("$(date +%s%3N)")
}
both_beat() { [[ $(redis scard 'sw{gate}:nodes') == 2 && $(redis exists 'sw{gate}:n:a' 'sw{gate}:n:b') == 2 ]]; }
is_master() { [[ $(cluster_master) == "$1" ]]; }
nobody_twice() {
	on "$1" is 0 admission_takeovers_forced_total
	on "$1" is 0 presence_lost_total
}
# Fields of a line: id who W lane L seq S at N node N.
check() {
	python3 - "$rate" "$burst" "$seen" "${outages[@]}" <<-'PYTHON' || die "who was let in, and when, is not right"
		import sys
		rate, burst = map(float, sys.argv[1:3])
		outages = list(map(int, sys.argv[4:]))
		rows = [line.rstrip("\n").split("\t") for line in open(sys.argv[3])]
		rows.sort(key=lambda r: tuple(map(int, r[0].split("-"))))
		times = [int(row[0].split("-")[0]) for row in rows]
		for i, begin in enumerate(times):
		    for j in range(i, len(times)):
		        # The ids are whole milliseconds.
		        if j - i + 1 > rate * (times[j] - begin + 1) / 1000 + burst:
		            sys.exit(f"{j - i + 1} in {times[j] - begin} ms, from {rows[i]} to {rows[j]}")
		# In order and each once. Who was on the way in when Redis went away stands where it stood, and may be let
		# in again when it is back: each once, and with no other place than the one that it had.
		places, last, people, life = {}, {}, set(), 0
		again = 0
		for time, row in zip(times, rows):
		    who, lane, seq = row[2], row[4], int(row[6])
		    if life != sum(time > outage for outage in outages):
		        life, people = life + 1, set()
		    if who in people:
		        sys.exit(f"let in twice: {row}")
		    people.add(who)
		    if who in places:
		        again += 1
		        if places[who] != (lane, seq):
		            sys.exit(f"had place {places[who]}: {row}")
		        continue
		    if seq <= last.get(lane, 0):
		        sys.exit(f"place {seq} of lane {lane} behind {last[lane]}: {row}")
		    last[lane], places[who] = seq, (lane, seq)
		if life != len(outages) or again > len(rows) / 2:
		    sys.exit(f"{life} outages, {again} of {len(rows)} were let in again")
		moved = sum(row[8] != row[10] for row in rows)
		if not moved or moved == len(rows):
		    sys.exit(f"{moved} of {len(rows)} were sent to the other node")
		print(f"      {len(places)} let in over {(times[-1] - times[0]) / 1000:.1f} s: at most {rate:g} a second and {burst:g}; in order; "
		      f"{moved} at the other node; {again} again, as Redis went away when they were on the way")
	PYTHON
}

step "two nodes, $rate a second"
cluster_up || die "the cluster could not be set up"
for file in "$stage_dir/node.yaml" "$cluster_b/node.yaml"; do
	sed -i -e "s/^admission:/&\n  rate: $rate\n  burst: $burst\n  queue_max: 400/" -e "s/\(peers\|players\)_max: 256/\1_max: 512/" "$file"
done
# a has always more room than b, so that nobody of a is sent to b and dies with it.
sed -i "s/players_max: 200/players_max: 300/" "$stage_dir/node.yaml"
sed -i "s/players_max: 200/players_max: 120/" "$cluster_b/node.yaml"
cluster_start a &
started=$!
cluster_start b
wait $started || exit 1
waits_until "both nodes beat" both_beat

step "$at_a come at once to a, $at_b to b, $late more to a"
still=(--walk still --connects-per-s 1000 --connect-timeout 150)
on a bots_start ann 5001 $at_a "${still[@]}"
on a until_is $at_a gate_newcomers_total
on b bots_start ben 6001 $at_b "${still[@]}"
on b until_is $at_b gate_newcomers_total
on a bots_start late 7001 $late "${still[@]}" --until-well
waits_until "110 are in" let_in_over 110

step "the master dies, and the Sentinels make the replica one"
redis_dies first
waits_until "another master" is_master "$(cluster_port second)"
waits_until "150 are in" let_in_over 150
nobody_twice a
nobody_twice b

step "Redis is killed, and comes back empty"
redis_dies second
cluster_redis second || die "Redis did not start again"
waits_until "190 are in" let_in_over 190
nobody_twice a
nobody_twice b

step "b dies, with those who wait and play there; who waits at a behind them comes in"
look
cluster_kill b
kill_hard "$stage_run/ben.pid"
rm -f "$stage_run/ben.pid"
bots_wait late
look
check
nobody_twice a
bots_leave ann
cluster_stop a
e2e_passed
