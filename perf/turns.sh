# turns.sh: what the benchmarks share whose sides take turns under stormweir-bench: their programs, memory and
# results. Sourced by bash scripts after `set -euo pipefail` and `name=…`:
#   turns_begin BUILD_FOLDER PROCESSES PROGRAM...  sets bin, out, id, dir, memory: hugepages on loan for that many
#                                                  DPDK processes of turns_mb MiB, or none
#   eal NAME LCORES SOCKET ROLE                    EAL's options of one process with one end of a memif
#   side WORDS...                                  more words of stormweir-bench's command
#   turns_head TEXT                                says what is measured where
#   turns_run OPTIONS                              runs sides (a function of the script, which calls side) in turns;
#                                                  once more without hugepages when a side did not start with them
# All is removed when the script ends; turns_undo (of the script, if it has one) is called first.
# shellcheck shell=bash
# shellcheck disable=SC2034,SC2154 # wire.sh and who sources this

here=$(cd "$(dirname "${BASH_SOURCE[0]}")/.." && pwd)
# shellcheck source=tools/wire.sh
. "$here/tools/wire.sh"
turns_mb=128
turns_driver=

say() { echo "$name: $*" >&2; }

turns_end() {
	if [[ -n $turns_driver ]]; then
		kill -INT "$turns_driver" 2>/dev/null || true
		wait "$turns_driver" 2>/dev/null || true
	fi
	! declare -F turns_undo >/dev/null || turns_undo
	huge_return "$dir"
	rm -rf "$dir" "/run/dpdk/$id"-*
}

turns_begin() {
	local processes=$2 program
	bin=$1/bin
	out=$1/bench/$name
	id=swb$$
	dir=$(mktemp -d)
	trap turns_end EXIT
	trap 'exit 1' INT TERM
	for program in "${@:3}"; do
		[[ -x $bin/$program ]] || {
			say "$bin/$program is missing: ./dev build release"
			exit 1
		}
	done
	mkdir -p "$out"
	memory="--no-huge -m $turns_mb"
	if [[ ${STORMWEIR_NO_HUGE:-} != 1 ]] && huge_borrow "$dir" $((processes * turns_mb / 2)); then
		memory="--huge-dir $dir/huge -m $turns_mb"
	fi
}

# Rings of 2,048, so that 1,000 messages are on their way without a full ring.
eal() {
	echo "--lcores $2 --no-pci $memory --file-prefix $id-$1 --log-level=error" \
		"--vdev=net_memif0,role=$4,id=0,rsize=11,bsize=2048,socket=$dir/$3,socket-abstract=no"
}

# stormweir-bench cuts commands at blanks alone.
side() {
	local word
	for word in "$@"; do
		word=$(tr -s '\n\t' '  ' <<<"$word")
		turns_sides+=("${word% }")
	done
}

turns_head() {
	commit=$(git -C "$here" rev-parse --short HEAD 2>/dev/null || echo unknown)
	[[ -z $(git -C "$here" status --porcelain 2>/dev/null) ]] || commit+=-changed
	echo "$name: $(nproc) CPUs, $(sed -n 's/^model name[^:]*: //p' /proc/cpuinfo | head -1), Linux $(uname -r)," \
		"load $(cut -d' ' -f1-3 /proc/loadavg)"
	echo "$name: commit $commit, DPDK memory: ${memory%% *}$1; results in $out"
}

turns_once() {
	local status=0
	turns_sides=()
	sides
	"$bin/stormweir-bench" --bench "$name" --commit "$commit" --out "$out" "${turns_sides[@]}" "$@" &
	turns_driver=$!
	wait "$turns_driver" || status=$?
	turns_driver=
	return $status
}

turns_run() {
	local status=0
	turns_once "$@" || status=$?
	if ((status == 3)) && [[ $memory != --no-huge* ]]; then
		# Free pages belong to whoever takes them first, and someone may have been quicker.
		say "a side did not start; once more without hugepages"
		memory="--no-huge -m $turns_mb"
		find "$dir" -maxdepth 1 -type s -delete
		rm -rf "/run/dpdk/$id"-*
		status=0
		turns_once "$@" || status=$?
	fi
	return $status
}
