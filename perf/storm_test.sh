#!/usr/bin/env bash
# storm_test.sh BIN: proves that W5's bench works as a tool: a storm of players comes onto a real server's map, with the
# gates at their rate and without, nothing is lost, and the figures and the plot are there. It judges no time.
set -euo pipefail

((EUID == 0)) || {
	echo "needs root: databases run as another user"
	exit 77
}
here=$(cd "$(dirname "$0")" && pwd)
log=$(mktemp)
trap 'rm -f "$log"' EXIT
export STORMWEIR_NO_HUGE=1 SETTLE=1

fail() {
	echo "$*"
	cat "$log"
	exit 1
}

"$here/bench_W5.sh" "$(dirname "$1")" --smoke --playing 60 --storm 200 --within 4 --seconds 1 --limit 60 >"$log" 2>&1 || fail "it failed"
tail -n 1 "$log" | grep -q '"bench": "W5".*"p99_ratio": {"median": [0-9]*\.[0-9]*[1-9].*"errors": {"median": 0,' || fail "there are no figures"
for gates in on off; do
	grep -qE "^$gates +before +60 +0\.[0-9]*[1-9]" "$log" || fail "gates $gates: no figures of before the storm"
	grep -qE "^$gates +after +260 " "$log" || fail "gates $gates: not all were in"
	awk -F'\t' -v gates="$gates" '$1 == gates { n++ } END { exit n < 2 }' "$(dirname "$1")/bench/W5/series.tsv" || fail "gates $gates: no series"
done
# With the gates those who come wait, and come in at 50 a second; without, nobody waits for a turn.
awk -F'\t' '$1 == "on" && $4 > 0 { n++ } END { exit !n }' "$(dirname "$1")/bench/W5/series.tsv" || fail "nobody waited at the gates"
grep -q "<circle" "$(dirname "$1")/bench/W5/plot.svg" || fail "there is no plot"
