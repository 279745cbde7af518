#!/usr/bin/env bash
# take_turns.sh: our echo over memif against stock libenet on kernel sockets, and where asked for
# testpmd's macswap on the same memif, in one run.
#   take_turns.sh NAME MODE TARGET-STOCK TARGET-TESTPMD|- [BUILD_FOLDER] [options of stormweir-bench]
# MODE is unreliable or reliable. Results go to BUILD_FOLDER/bench/NAME; the last line is one JSON
# object. Needs root: a network namespace, priorities. Removes everything else that it made.
set -euo pipefail

here=$(cd "$(dirname "${BASH_SOURCE[0]}")/.." && pwd)
# shellcheck source=tools/wire.sh disable=SC1091
. "$here/tools/wire.sh"
name=$1 mode=$2 stock_target=$3 testpmd_target=$4
build=$(realpath "${5:-$here/build/release}")
shift $(($# < 5 ? $# : 5))
bin=$build/bin
out=$build/bench/$name
id=swb$$
dir=$(mktemp -d)
driver=
declare -A limits=() # of the kernel, as they were

say() { echo "$name: $*" >&2; }

finish() {
	if [[ -n $driver ]]; then
		kill -INT "$driver" 2>/dev/null || true
		wait "$driver" 2>/dev/null || true
	fi
	wire_down "$id" "$id" || true
	for limit in "${!limits[@]}"; do
		echo "${limits[$limit]}" >"/proc/sys/net/core/$limit"
	done
	huge_return "$dir"
	rm -rf "$dir" "/run/dpdk/$id"-*
}
trap finish EXIT
trap 'exit 1' INT TERM

((EUID == 0)) || {
	say "run as root: it makes a network namespace"
	exit 1
}
for program in stormweir-echo stormweir-stock-echo stormweir-gen stormweir-gen-kernel stormweir-bench; do
	[[ -x $bin/$program ]] || {
		say "$bin/$program is missing: ./dev build release"
		exit 1
	}
done
[[ $testpmd_target == - ]] || command -v dpdk-testpmd >/dev/null || {
	say "dpdk-testpmd is missing: ./dev setup"
	exit 1
}
mkdir -p "$out"

# Each DPDK process takes mb MiB: hugepages on loan, or none.
mb=128
processes=$(($(test "$testpmd_target" = - && echo 2 || echo 4)))
memory="--no-huge -m $mb"
if [[ ${STORMWEIR_NO_HUGE:-} != 1 ]] && huge_borrow "$dir" $((processes * mb / 2)); then
	memory="--huge-dir $dir/huge -m $mb"
fi

# eal NAME LCORES SOCKET ROLE: EAL's options of one process; rings of 2,048 so that 1,000 messages
# are on their way without a full ring.
eal() {
	echo "--lcores $2 --no-pci $memory --file-prefix $id-$1 --log-level=error" \
		"--vdev=net_memif0,role=$4,id=0,rsize=11,bsize=2048,socket=$dir/$3,socket-abstract=no"
}

# Stock's wire: a veth pair into a namespace. Its sockets get buffers as large as it asks for, or they
# drop what the generator has on its way.
wire_up "$id" "$id" "${id}c"
# shellcheck disable=SC2154 # wire.sh has it
ip address add "$wire_server_ip/24" dev "$id"
for limit in rmem_max wmem_max; do
	file=/proc/sys/net/core/$limit
	was=$(cat $file)
	((was >= 16777216)) && continue
	limits[$limit]=$was
	echo 16777216 >$file
done

options="--clients 1000 --bytes 40 --window 1000 --interactive"

# What stormweir-bench is told of the sides, with the memory that there is.
sides() {
	sides=(
		--side ours
		--server "$bin/stormweir-echo $(eal echo 0@0 ours server) -- --port net_memif0
			--address 10.78.1.1/24 --peers 4000 --half-open 4096 --rxd 2048 --txd 2048"
		--ready "echo: ready"
		--generator "$bin/stormweir-gen $(eal gen 0@1 ours client) -- --port net_memif0
			--tx-ip 10.78.1.2,10.78.1.1 --rxd 2048 --txd 2048 --forward-mode $mode $options"
		--side "stock=$stock_target"
		--server "$bin/stormweir-stock-echo $wire_server_ip 7777 4000"
		--ready "stock-echo: ready"
		--generator "nsenter --net=/run/netns/$id $bin/stormweir-gen-kernel
			--tx-ip $wire_server_ip --tx-udp 7777 --forward-mode $mode $options"
	)
	if [[ $testpmd_target != - ]]; then
		sides+=(
			--side "testpmd=$testpmd_target"
			--server "stdbuf -oL dpdk-testpmd $(eal testpmd 0@0,1@0 raw server) -- --forward-mode=macswap
				--auto-start --nb-cores=1 --rxq=1 --txq=1 --rxd=2048 --txd=2048
				--total-num-mbufs=16384 --disable-link-check"
			--ready "Press enter to exit"
			--generator "$bin/stormweir-gen $(eal raw 0@1 raw client) -- --port net_memif0
				--tx-ip 10.78.2.2,10.78.2.1 --rxd 2048 --txd 2048 --forward-mode raw $options"
		)
	fi
	# Commands are cut at blanks alone.
	for i in "${!sides[@]}"; do
		sides[i]=$(tr -s '\n\t' '  ' <<<"${sides[i]}")
		sides[i]=${sides[i]% }
	done
}

commit=$(git -C "$here" rev-parse --short HEAD 2>/dev/null || echo unknown)
[[ -z $(git -C "$here" status --porcelain 2>/dev/null) ]] || commit+=-changed
echo "$name: $(nproc) CPUs, $(sed -n 's/^model name[^:]*: //p' /proc/cpuinfo | head -1), Linux $(uname -r)," \
	"load $(cut -d' ' -f1-3 /proc/loadavg)"
echo "$name: commit $commit, DPDK memory: ${memory%% *}, stock libenet on veth; results in $out"
# bench [options]: returns its exit status.
bench() {
	local status=0
	sides
	"$bin/stormweir-bench" --bench "$name" --commit "$commit" --out "$out" "${sides[@]}" "$@" &
	driver=$!
	wait "$driver" || status=$?
	driver=
	return $status
}

status=0
bench "$@" || status=$?
if ((status == 3)) && [[ $memory != --no-huge* ]]; then
	# Free pages belong to whoever takes them first, and someone may have been quicker.
	say "a side did not start; once more without hugepages"
	memory="--no-huge -m $mb"
	rm -rf "$dir"/ours "$dir"/raw "/run/dpdk/$id"-*
	status=0
	bench "$@" || status=$?
fi
exit $status
