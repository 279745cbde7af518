#!/usr/bin/env bash
# flood.sh [BUILD_FOLDER] [options of stormweir-bench]: W6: 1,000 clients who play (20 reliable messages a
# second each, echoed) over memif, alone and beside a flood of CONNECTs from invented sources, in turns of
# one run. The flood is what 10 Gbit/s Ethernet carries of such frames; FLOOD=N sends N a second instead,
# and one that is beyond any wire keeps memif's ring full: all that is in it then waits a ring's length.
# Latency is from when a message was due to its echo. Turns are short, because a thread that waits for its
# CPU once is seen in the p99 of a long one. Results go to BUILD_FOLDER/bench/W6; the last line is one JSON
# object.
# Needs root: priorities, hugepages. Removes everything else that it made.
set -euo pipefail

here=$(cd "$(dirname "${BASH_SOURCE[0]}")/.." && pwd)
# shellcheck source=tools/wire.sh disable=SC1091
. "$here/tools/wire.sh"
name=W6
build=$(realpath "${1:-$here/build/release}")
shift $(($# < 1 ? $# : 1))
bin=$build/bin
out=$build/bench/$name
id=swb$$
dir=$(mktemp -d)
flood=${FLOOD:-10590000} # 98 bytes each, and 20 between two
driver=

say() { echo "$name: $*" >&2; }

finish() {
	if [[ -n $driver ]]; then
		kill -INT "$driver" 2>/dev/null || true
		wait "$driver" 2>/dev/null || true
	fi
	huge_return "$dir"
	rm -rf "$dir" "/run/dpdk/$id"-*
}
trap finish EXIT
trap 'exit 1' INT TERM

for program in stormweir-echo stormweir-gen stormweir-bench; do
	[[ -x $bin/$program ]] || {
		say "$bin/$program is missing: ./dev build release"
		exit 1
	}
done
mkdir -p "$out"

mb=128
memory="--no-huge -m $mb"
if [[ ${STORMWEIR_NO_HUGE:-} != 1 ]] && huge_borrow "$dir" $((4 * mb / 2)); then
	memory="--huge-dir $dir/huge -m $mb"
fi

eal() { # NAME LCORES SOCKET ROLE
	echo "--lcores $2 --no-pci $memory --file-prefix $id-$1 --log-level=error" \
		"--vdev=net_memif0,role=$4,id=0,rsize=11,bsize=2048,socket=$dir/$3,socket-abstract=no"
}

# side NAME[=TARGET] SOCKET GENERATOR-OPTIONS
side() {
	local words=(
		--server "$bin/stormweir-echo $(eal "echo-$2" 0@0 "$2" server) -- --port net_memif0
			--address 10.78.1.1/24 --peers 4000 --half-open 4096 --connects 2000
			--source-connects 100 --rxd 2048 --txd 2048"
		--generator "$bin/stormweir-gen $(eal "gen-$2" 0@1 "$2" client) -- --port net_memif0
			--tx-ip 10.78.1.2,10.78.1.1 --rxd 2048 --txd 2048 --forward-mode reliable
			--clients 1000 --bytes 40 --rate 20000 --interactive $3"
	)
	sides+=(--side "$1" --ready "echo: ready")
	for word in "${words[@]}"; do
		word=$(tr -s '\n\t' '  ' <<<"$word")
		sides+=("${word% }")
	done
}

commit=$(git -C "$here" rev-parse --short HEAD 2>/dev/null || echo unknown)
[[ -z $(git -C "$here" status --porcelain 2>/dev/null) ]] || commit+=-changed
echo "$name: $(nproc) CPUs, $(sed -n 's/^model name[^:]*: //p' /proc/cpuinfo | head -1), Linux $(uname -r)," \
	"load $(cut -d' ' -f1-3 /proc/loadavg)"
echo "$name: commit $commit, DPDK memory: ${memory%% *}; results in $out"

bench() {
	local status=0
	sides=()
	side flood flood "--flood $flood"
	side calm=1 calm ""
	"$bin/stormweir-bench" --bench "$name" --commit "$commit" --out "$out" \
		--turn-ms 20 --wait-max 1 --rounds-max 600 "${sides[@]}" "$@" \
		>"$out/table" &
	driver=$!
	wait "$driver" || status=$?
	driver=
	return $status
}

status=0
bench "$@" || status=$?
if ((status == 3)) && [[ $memory != --no-huge* ]]; then
	say "a side did not start; once more without hugepages"
	memory="--no-huge -m $mb"
	rm -rf "$dir"/flood "$dir"/calm "/run/dpdk/$id"-*
	status=0
	bench "$@" || status=$?
fi
((status == 0)) || exit $status
grep -v '^{' "$out/table" # the JSON there compares rates, which are given here

# figure NAME: of the flooding generator's report, 0 if it did not happen.
figure() { awk -v name="$1" '$1 == name { n = $2 } END { print n + 0 }' "$out/flood.generator"; }

echo "flood: $(figure flood_frames) CONNECTs, $(figure flood_replies) answered; refused and told:"
grep -E ' (refused_|verifies|refusals)' "$out/flood.server" || true
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
		bytes = asked ? answered / asked : 0
		printf "{\"bench\": \"W6\", \"commit\": \"%s\", \"metrics\": {", commit
		printf "\"p99_ratio\": {\"median\": %.3f, \"low\": %.3f, \"high\": %.3f, \"target\": 1.2, \"better\": \"lower\"}, ", at(0.5), at(0.25), at(0.75)
		printf "\"slots_lost\": {\"median\": %d, \"low\": %d, \"high\": %d, \"target\": 0, \"better\": \"lower\"}, ", gone + silent, gone + silent, gone + silent
		printf "\"reply_bytes_ratio\": {\"median\": %.4f, \"low\": %.4f, \"high\": %.4f, \"target\": 1, \"better\": \"lower\"}}}\n", bytes, bytes, bytes
	}' "$out/turns.tsv"
