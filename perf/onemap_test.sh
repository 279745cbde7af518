#!/usr/bin/env bash
# onemap_test.sh BIN: proves that the benchmarks of one map work as tools: players with signed tickets come onto the
# map of a real server over memif, in a crowd too, play, fight, lose nothing, and the figures are there, stock's
# too; that a run that cannot be made ends with a sentence and not with figures. It judges no time.
set -euo pipefail

((EUID == 0)) || {
	echo "needs root: databases run as another user"
	exit 77
}
here=$(cd "$(dirname "$0")" && pwd)
log=$(mktemp)
trap 'rm -f "$log"' EXIT
export STORMWEIR_NO_HUGE=1 SETTLE=1

"$here/bench_W3.sh" "$(dirname "$1")" --smoke --players 200 --seconds 2 --probe 2 --game 150 --crowd 100 --stock 50 --limit 50 >"$log" 2>&1 || {
	cat "$log"
	exit 1
}
tail -n 1 "$log" | grep -q '"bench": "W3".*"reliable_lost": {"median": 0,.*"disconnects": {"median": 0,.*"stock_players": {"median": [05]' || {
	cat "$log"
	exit 1
}
grep -qE '^from receive burst to input slot: p50 0\.[0-9]*[1-9]' "$log" || {
	echo "no input was timed"
	cat "$log"
	exit 1
}
grep -qE '^  asked by the bots: [1-9][0-9]* blows' "$log" || {
	echo "nobody fought"
	cat "$log"
	exit 1
}
for walk in uniform game crowd stock; do
	grep -qE "^$walk +[0-9]+ +(yes|no) +[0-9]+\.[0-9]+ " "$log" || {
		echo "$walk has no figures"
		cat "$log"
		exit 1
	}
done
grep -qE '^  flush +[0-9.]+ +[0-9.]+% +0\.[0-9]*[1-9]' "$log" || {
	echo "the stages have no figures"
	cat "$log"
	exit 1
}

if RING_SLOTS=7 "$here/bench_W3.sh" "$(dirname "$1")" --smoke --players 200 --seconds 2 --game 0 --crowd 0 --stock 0 >"$log" 2>&1; then
	echo "a configuration that is refused was measured"
	cat "$log"
	exit 1
fi
if ! grep -q '^W3: the run of 200 players (uniform) could not be made' "$log" || grep -q '"bench"' "$log"; then
	echo "the run that could not be made does not say so"
	cat "$log"
	exit 1
fi
