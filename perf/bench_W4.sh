#!/usr/bin/env bash
# bench_W4.sh [BUILD_FOLDER] [PLAYERS] [SECONDS]: how long an input takes from the receive burst that brings it to its
# player's slot in the shard, as the server itself counts it (one in 17, always: stormweir_simulation_input_wait),
# with 3,000 players on one map, everything else as in W3. The last line is one JSON object.
# Needs root: hugepages, priorities.
set -euo pipefail

name=W4
# shellcheck source=perf/onemap.sh
. "$(dirname "${BASH_SOURCE[0]}")/onemap.sh"
build=$(realpath "${1:-$here/build/release}")
players=${2:-3000} seconds=${3:-30}

onemap_begin "$build"
onemap_head
onemap_run "$players" "$seconds" uniform || {
	say "the run failed; see $out"
	exit 1
}
(($(metric simulation_input_wait_seconds_count))) || {
	say "no input was timed"
	exit 1
}
us() { quantile simulation_input_wait_seconds "$1" | awk '{ printf "%.1f\n", $1 * 1e6 }'; }
p50=$(us 0.5) p95=$(us 0.95) p99=$(us 0.99)
echo "$players players, $seconds s, $(metric simulation_input_wait_seconds_count) inputs timed:" \
	"p50 $p50 us, p95 $p95 us, p99 $p99 us; tick p99 $(quantile simulation_tick_seconds 0.99) s"
echo "from when an input was due at the client to the update that tells it: p50 $(figure heard_p50_ms) ms," \
	"p99 $(figure heard_p99_ms) ms (a tick is 50)"
awk -v commit="$commit" -v p50="$p50" -v p95="$p95" -v p99="$p99" '
	function one(name, value, target) {
		return sprintf("\"%s\": {\"median\": %s, \"low\": %s, \"high\": %s, \"target\": %s, \"better\": \"lower\"}",
			name, value, value, value, target)
	}
	BEGIN {
		printf "{\"bench\": \"W4\", \"commit\": \"%s\", \"metrics\": {%s, %s, %s}}\n", commit,
			one("p50_us", p50, 5), one("p95_us", p95, 20), one("p99_us", p99, 100)
	}'
