#!/usr/bin/env bash
# storm.sh BIN: hundreds of players come at once through two nodes on one Redis, at a rate that the gate holds:
#
#   by Redis's own clock (its stream of who was let in) never more come in than rate x time and the burst, over any
#   stretch; in every lane in the order of their places; and nobody is in two places;
#   while Redis's master dies and the Sentinels make the replica one, a Redis is killed and comes back empty, and a
#   node is killed with those who wait and play there. Nobody is sent from one node to the other: cluster.sh does that.
#
# Leaves nothing behind: no process, namespace, interface or file.
set -uo pipefail
# shellcheck source=tests/e2e/e2e.sh
. "$(dirname "$0")/e2e.sh"
# shellcheck source=tests/e2e/cluster_stage.sh
. "$(dirname "$0")/cluster_stage.sh"
rate=20 burst=4 each=110 # at each node
e2e_begin "$@"
e2e_undo() { cluster_down; }

seen=$stage_run/let_in
# Adds what Redis has now; what is there already falls out by its id.
look() {
	redis --raw xrange 'sw{gate}:let_in' - + 2>/dev/null | paste - - - - - - - - - - - | grep -E '^[0-9]+-[0-9]+' >>"$seen"
	sort -u -o "$seen" "$seen"
}
let_in() {
	look
	wc -l <"$seen"
}
let_in_over() { (($(let_in) > $1)); }
both_beat() { [[ $(redis scard 'sw{gate}:nodes') == 2 && $(redis exists 'sw{gate}:n:a' 'sw{gate}:n:b') == 2 ]]; }
is_master() { [[ $(cluster_master) == "$1" ]]; }
all_of_a_are_in() { [[ $(on a metric simulation_players) == "$each" ]]; }
# Fields of a line: id who W lane L seq S at N node N.
check() {
	python3 - "$seen" "$rate" "$burst" <<-'PYTHON' || die "$1: who was let in, and when, is not right"
		import sys
		rows = [line.split("\t") for line in open(sys.argv[1])]
		rate, burst = float(sys.argv[2]), float(sys.argv[3])
		rows.sort(key=lambda r: tuple(map(int, r[0].split("-"))))
		times = [int(r[0].split("-")[0]) for r in rows]
		for i, begin in enumerate(times):
		    for j in range(i, len(times)):
		        # The ids are whole milliseconds.
		        if j - i + 1 > rate * (times[j] - begin + 1) / 1000 + burst:
		            sys.exit(f"{j - i + 1} in {times[j] - begin} ms, from {rows[i]} to {rows[j]}")
		last = {}
		for row in rows:
		    who, lane, seq = row[2], row[4], int(row[6])
		    if seq <= last.get(lane, 0):
		        sys.exit(f"place {seq} of lane {lane} behind {last[lane]}: {row}")
		    last[lane] = seq
		people = [r[2] for r in rows]
		if len(set(people)) != len(people):
		    sys.exit("let in twice: " + ", ".join(sorted({p for p in people if people.count(p) > 1})))
		print(f"      {len(rows)} let in over {(times[-1] - times[0]) / 1000:.1f} s: at most {rate:g} a second and {burst:g}; in order; each once")
	PYTHON
	on a is 0 admission_takeovers_forced_total
	on a is 0 presence_lost_total
}

step "two nodes, $rate a second"
cluster_up || die "the cluster could not be set up"
for file in "$stage_dir/node.yaml" "$cluster_b/node.yaml"; do
	sed -i -e "s/^admission:/&\n  rate: $rate\n  burst: $burst\n  queue_max: 200/" -e "s/peers_max: 256/peers_max: 512/" -e "/pass_keys:/d" "$file"
done
cluster_start a &
started=$!
cluster_start b
wait $started || exit 1
waits_until "both nodes beat" both_beat

step "$((2 * each)) come at once"
on a bots_start ann 5001 $each --walk still --connects-per-s 1000 --connect-timeout 120
on b bots_start ben 6001 $each --walk still --connects-per-s 1000 --connect-timeout 120
waits_until "most of them wait" eval '(($(on a metric gate_waiting_all) > each))'
waits_until "thirty are in" let_in_over 30

step "the master dies, and the Sentinels make the replica one"
look
kill_hard "$stage_run/redis-first.pid"
waits_until "another master" is_master "$(cluster_port second)"
waits_until "seventy are in" let_in_over 70
on b is 0 admission_takeovers_forced_total
on b is 0 presence_lost_total

step "Redis is killed, and comes back empty"
look
kill_hard "$stage_run/redis-second.pid"
cluster_redis second || die "Redis did not start again"
waits_until "a hundred and twenty are in" let_in_over 120
on b is 0 admission_takeovers_forced_total
on b is 0 presence_lost_total

step "a node dies, with those who wait and play there"
look
cluster_kill b
kill_hard "$stage_run/ben.pid"
rm -f "$stage_run/ben.pid"
waits_until "who waits at the other node is in" all_of_a_are_in
look
check "the storm"
bots_live ann
bots_leave ann
cluster_stop a
e2e_passed
