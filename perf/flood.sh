#!/usr/bin/env bash
# flood.sh [BUILD_FOLDER] [options of stormweir-bench]: W6: 1,000 clients who play (20 reliable messages a
# second each, echoed) over memif, alone and beside a flood of CONNECTs from invented sources, in turns of
# one run. The flood is what 10 Gbit/s Ethernet carries of such frames; FLOOD=N sends N a second instead,
# and one that is beyond any wire keeps memif's ring full: all that is in it then waits a ring's length.
# ATTACKS=1: the flood is of every kind (perf/gen/attack.h), half of it from an attacker with a peer, at a server that
# reads 2,000 datagrams of a peer a second, and, third side, at one that reads all.
# Latency is from when a message was due to its echo. Turns are short, because a thread that waits for its
# CPU once is seen in the p99 of a long one. Results go to BUILD_FOLDER/bench/W6; the last line is one JSON
# object.
# Needs root: priorities, hugepages. Removes everything else that it made.
set -euo pipefail

name=W6
# shellcheck source=perf/turns.sh
. "$(dirname "${BASH_SOURCE[0]}")/turns.sh"
build=$(realpath "${1:-$here/build/release}")
shift $(($# < 1 ? $# : 1))
flood=${FLOOD:-10590000} # 98 bytes each, and 20 between two
turns_begin "$build" $((${ATTACKS:-0} ? 6 : 4)) stormweir-echo stormweir-gen stormweir-bench

# one NAME[=TARGET] SOCKET GENERATOR-OPTIONS [SERVER-OPTIONS]
one() {
	side --side "$1" --ready "echo: ready" \
		--server "$bin/stormweir-echo $(eal "echo-$2" 0@0 "$2" server) -- --port net_memif0
			--address 10.78.1.1/24 --peers 4000 --half-open 4096 --connects 2000
			--source-connects 100 --rxd 2048 --txd 2048 ${4:-}" \
		--generator "$bin/stormweir-gen $(eal "gen-$2" 0@1 "$2" client) -- --port net_memif0
			--tx-ip 10.78.1.2,10.78.1.1 --rxd 2048 --txd 2048 --forward-mode reliable
			--clients 1000 --bytes 40 --rate 20000 --interactive $3"
}
sides() {
	local limit=()
	((${ATTACKS:-0} == 0)) || limit=("--peer-datagrams 2000")
	one flood flood "--flood $flood --flood-attacks ${ATTACKS:-0}" "${limit[@]}"
	((${ATTACKS:-0} == 0)) || one unlimited unlimited "--flood $flood --flood-attacks 1"
	one calm=1 calm ""
}

turns_head ""
turns_run --turn-ms 20 --wait-max 1 --rounds-max 600 "$@" >"$out/table"
grep -v '^{' "$out/table" # the JSON there compares rates, which are given here

# figure NAME: of the flooding generator's report, 0 if it did not happen.
figure() { awk -v name="$1" '$1 == name { n = $2 } END { print n + 0 }' "$out/flood.generator"; }
(($(figure flood_frames))) || {
	say "the generator reports no flood; its log is $out/flood.generator"
	exit 1
}

echo "flood: $(figure flood_frames) CONNECTs, $(figure flood_replies) answered; refused and told:"
grep -E ' (refused_|verifies|refusals)' "$out/flood.server" || {
	say "the server saw no flood; its log is $out/flood.server"
	exit 1
}
awk -v commit="$commit" -v gone="$(figure gone)" -v silent="$(figure unanswered)" \
	-v asked="$(figure flood_bytes)" -v answered="$(figure flood_reply_bytes)" '
	function at(q) { return n ? ratio[int((n - 1) * q + 0.5)] : 0 }
	NR > 1 && $3 == 1 { p99[$2, $1] = $10; kept[$2, $1] = 1; if ($1 > last) last = $1 }
	END {
		for (i = 0; i <= last; i++)
			if (kept["flood", i] && kept["calm", i])
				ratio[n++] = p99["flood", i] / p99["calm", i]
		for (i = 1; i < n; i++)
			for (j = i; j > 0 && ratio[j - 1] > ratio[j]; j--) {
				t = ratio[j]; ratio[j] = ratio[j - 1]; ratio[j - 1] = t
			}
		if (!n) {
			print "W6: no round was quiet enough for both sides; there are no figures" >"/dev/stderr"
			exit 1
		}
		bytes = asked ? answered / asked : 0
		printf "{\"bench\": \"W6\", \"commit\": \"%s\", \"metrics\": {", commit
		printf "\"p99_ratio\": {\"median\": %.3f, \"low\": %.3f, \"high\": %.3f, \"target\": 1.2, \"better\": \"lower\"}, ", at(0.5), at(0.25), at(0.75)
		printf "\"slots_lost\": {\"median\": %d, \"low\": %d, \"high\": %d, \"target\": 0, \"better\": \"lower\"}, ", gone + silent, gone + silent, gone + silent
		printf "\"reply_bytes_ratio\": {\"median\": %.4f, \"low\": %.4f, \"high\": %.4f, \"target\": 1, \"better\": \"lower\"}}}\n", bytes, bytes, bytes
	}' "$out/turns.tsv"
