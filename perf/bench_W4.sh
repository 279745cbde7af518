#!/usr/bin/env bash
# bench_W4.sh [BUILD_FOLDER] [options]: how long an input takes from the receive burst that brings it to its player's
# slot in the shard, as the server itself counts it (one in 17, always: stormweir_simulation_input_wait_seconds), with
# 3,000 players on one map, everything else as in W3. Each tenth of the time is a measurement of its own; the last line,
# one JSON object, has their median, lowest and highest. About a minute and a half.
#   --players N (3000)   --seconds S (60)   --walk HOW: uniform (default), crowd, game   --help: this text
# Needs root: hugepages, priorities. Leaves parts.tsv and logs in BUILD_FOLDER/bench/W4.
set -euo pipefail

name=W4
# shellcheck source=perf/onemap.sh
. "$(dirname "${BASH_SOURCE[0]}")/onemap.sh"
players=3000 seconds=60 walk=uniform
onemap_options "players seconds" "$@"
((players && seconds)) || onemap_usage "no players, or no seconds"

us() { quantile simulation_input_wait_seconds "$@" | awk '{ printf "%.1f\n", $1 * 1e6 }'; }
part() {
	[[ $(metric simulation_input_wait_seconds_count "$1" "$2") == 0 ]] ||
		printf '%s\t%s\t%s\n' "$(us 0.5 "$1" "$2")" "$(us 0.95 "$1" "$2")" "$(us 0.99 "$1" "$2")" >>"$out/parts.tsv"
}
onemap_look() { part "$dir/then" "$dir/now"; }

onemap_begin "$build"
onemap_head
rm -f "$out/parts.tsv"
every=$(((seconds + 9) / 10))
onemap_run "$players" "$seconds" "$walk" || {
	say "the run failed; see $out"
	exit 1
}
part "$dir/now" "$dir/after"
[[ $(metric simulation_input_wait_seconds_count) != 0 && -s $out/parts.tsv ]] || {
	say "no input was timed"
	exit 1
}
echo "$players players ($walk), $seconds s, $(metric simulation_input_wait_seconds_count) inputs timed;" \
	"$(figure disconnects) disconnected, $(figure reliable_lost) reliable lost, tick p99 $(tick_ms 0.99) ms"
# The seed system's figures are those of the workload's description: another machine, 3,000 players.
awk -v p50="$(us 0.5)" -v p95="$(us 0.95)" -v p99="$(us 0.99)" 'BEGIN {
	printf "%-14s %10s %10s %10s\n", "us", "p50", "p95", "p99"
	printf "%-14s %10s %10s %10s\n", "measured", p50, p95, p99
	printf "%-14s %10s %10s %10s\n", "target", 5, 20, 100
	printf "%-14s %10s %10s %10s\n", "seed system", 19, 407, 1830
	printf "%-14s %10.0f %10.0f %10.0f\n", "times faster", 19 / (p50 + 1e-9), 407 / (p95 + 1e-9), 1830 / (p99 + 1e-9)
}'
echo "from when an input was due at the client to the update that tells it: p50 $(figure heard_p50_ms) ms," \
	"p99 $(figure heard_p99_ms) ms (a tick is 50)"
# spread COLUMN NAME TARGET: the parts' median, lowest and highest.
spread() {
	local sorted
	mapfile -t sorted < <(cut -f "$1" "$out/parts.tsv" | sort -n)
	metric_json "$2" "${sorted[${#sorted[@]} / 2]}" "${sorted[0]}" "${sorted[-1]}" lower "$3"
}
bench_json W4 "$commit" "$(spread 1 p50_us 5)" "$(spread 2 p95_us 20)" "$(spread 3 p99_us 100)"
