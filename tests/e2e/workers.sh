#!/usr/bin/env bash
# workers.sh BIN: several dataplane workers and several shards on real input: one AF_XDP queue, two workers and two
# shards with a map each, on lcores that share the CPUs. Stock libenet clients in a network namespace.
#
#   1. 40 bots are new and start on the meadow (shard 0);
#   2. with another admission.first_map, 40 others start in the cave (shard 1);
#   3. all 80 play at once, each on the map and at the place that was saved. The worker that owns the queue hands the
#      other's frames on and sends its answers; both have players, nobody is lost, nothing is dropped;
#   4. the same with each worker on one lcore with a shard (fused).
#
# Leaves nothing behind: no process, namespace, interface or file.
set -uo pipefail
# shellcheck source=tests/e2e/e2e.sh
. "$(dirname "$0")/e2e.sh"
e2e_begin "$@"
# shellcheck disable=SC2034 # tools/stage.sh uses it
stage_lcores=4

# The maps without what takes a bot away: portals, and monsters that bite.
content_own
for map in "$content"/maps/*.tmj; do
	jq '(.layers[] | select(.objects) | .objects) |= map(select(.type != "portal" and .type != "monster"))' \
		"$map" >"$stage_run/map" && mv "$stage_run/map" "$map"
done

# configure SIMULATION-LCORES FIRST-MAP
configure() {
	sed -i -e "/^dataplane:/,/^[a-z]*:\$/s/^  lcores: .*/  lcores: [1, 2]/" \
		-e "/^simulation:/,/^[a-z]*:\$/s/^  lcores: .*/  lcores: $1/" \
		-e '/name: cave/,/shard:/s/shard: .*/shard: 1/' \
		-e "s/^  first_map: .*/  first_map: $2/" "$stage_dir/node.yaml"
	"$stage_bin/stormweir-config" --check "$stage_dir/node.yaml" >/dev/null || die "the configuration is not good"
}

# more_than LEAST NAME THREAD: waits up to 20 s.
more_than() {
	local value turns=100
	until value=$(metric "$2" "$3") && ((value > $1)); do
		((turns-- > 0)) || die "$2 of thread $3 is $value, expected more than $1"
		sleep 0.2
	done
}

# waited_ms: the longest that a hot thread of the server has waited for a CPU until now (sched-stats.rst).
waited_ms() {
	local pid task ns most=0
	pid=$(process_pid "$stage_dir/stormweir.pid")
	for task in /proc/"${pid:-none}"/task/*; do
		grep -qs -- '-worker' "$task/comm" || continue
		read -r _ ns _ <"$task/schedstat"
		((ns > most)) && most=$ns
	done
	echo $((most / 1000000))
}

# A worker that the machine keeps from its CPU for seconds loses its clients by no fault of its own: such a failure
# says nothing. Four hot threads share two CPUs here, so they wait a little in any case.
waited_before=0
sent_before=0
die() {
	local waited=$(($(waited_ms) - waited_before))
	printf '%3d s  FAILED: %s; a hot thread waited %d ms for its CPU\n' $((SECONDS - e2e_start)) "$*" $waited >&2
	((waited < 2000)) || exit 77
	exit 1
}

start_server() {
	sent_before=$(<"/sys/class/net/$stage_server_end/statistics/tx_packets")
	stage_server_start || die "the server did not start"
}

# What the worker gave to the port has left by it: AF_XDP drops without a word what it cannot find in its memory.
nothing_vanished() {
	local sent given
	given=$(metric dataplane_tx_packets_total 0)
	sent=$(($(<"/sys/class/net/$stage_server_end/statistics/tx_packets") - sent_before))
	((sent >= given)) || die "the port was given $given frames, $sent have left"
}

# on_map MAP REPORT: all 40.
on_map() {
	local count
	count=$(grep -c "\"map\": \"$1\"" "$2")
	((count == 40)) || die "$count of 40 were on $1"
}

all_play() {
	waited_before=$(waited_ms)
	bots_start meadow 1001 40 --expect-enters 5 --expect-positions "$stage_run/meadow.json" \
		--report "$stage_run/meadow2.json"
	bots_start cave 2001 40 --expect-enters 5 --expect-positions "$stage_run/cave.json" \
		--report "$stage_run/cave2.json"
	until_is 80 simulation_players
	more_than 10 enet_peers 0
	more_than 10 enet_peers 1
	more_than 1000 dataplane_handoff_over_total 0
	more_than 1000 dataplane_handoff_taken_total 1
	more_than 1000 dataplane_handoff_back_total 1
	for worker in 0 1; do
		is 0 dataplane_drop_handoff_over_full_total $worker
		is 0 dataplane_drop_tx_total $worker
	done
	stand_still meadow
	stand_still cave
	sleep 2
	bots_leave meadow
	bots_leave cave
	nothing_vanished
	on_map meadow "$stage_run/meadow2.json"
	on_map cave "$stage_run/cave2.json"
	step "a hot thread waited at most $(($(waited_ms) - waited_before)) ms for its CPU"
	mv "$stage_run/meadow2.json" "$stage_run/meadow.json"
	mv "$stage_run/cave2.json" "$stage_run/cave.json"
}

step "new players start on the meadow"
configure '[3, 4]' meadow
start_server
bots_run meadow 1001 40 --seconds 5 --stand-still-last 2 --report "$stage_run/meadow.json" ||
	die "the bots on the meadow were not well"
on_map meadow "$stage_run/meadow.json"
stage_server_stop || die "the server did not stop in order"

step "others start in the cave"
configure '[3, 4]' cave
start_server
bots_run cave 2001 40 --seconds 5 --stand-still-last 2 --report "$stage_run/cave.json" ||
	die "the bots in the cave were not well"
on_map cave "$stage_run/cave.json"

step "all play at once, on both shards, over both workers"
all_play
stage_server_stop || die "the server did not stop in order"

step "the same, each worker fused with a shard"
configure '[1, 2]' meadow
start_server
all_play
stage_server_stop || die "the server did not stop in order"
e2e_passed
