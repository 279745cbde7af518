#!/usr/bin/env bash
# take_turns.sh: our echo over memif against stock libenet on kernel sockets, and where asked for
# testpmd's macswap on the same memif, in one run.
#   take_turns.sh NAME MODE TARGET-STOCK TARGET-TESTPMD|- [BUILD_FOLDER] [options of stormweir-bench]
# MODE is unreliable or reliable. Results go to BUILD_FOLDER/bench/NAME; the last line is one JSON
# object. Needs root: a network namespace, priorities. Removes everything else that it made.
set -euo pipefail

name=$1 mode=$2 stock_target=$3 testpmd_target=$4
# shellcheck source=perf/turns.sh
. "$(dirname "${BASH_SOURCE[0]}")/turns.sh"
build=$(realpath "${5:-$here/build/release}")
shift $(($# < 5 ? $# : 5))

turns_undo() {
	wire_down "$id" "$id" || true
	buffers_restore "$dir"
}

((EUID == 0)) || {
	say "run as root: it makes a network namespace"
	exit 1
}
[[ $testpmd_target == - ]] || command -v dpdk-testpmd >/dev/null || {
	say "dpdk-testpmd is missing: ./dev setup"
	exit 1
}
turns_begin "$build" $(($(test "$testpmd_target" = - && echo 2 || echo 4))) \
	stormweir-echo stormweir-stock-echo stormweir-gen stormweir-gen-kernel stormweir-bench

# Stock's wire: a veth pair into a namespace. Its sockets get buffers as large as it asks for, or they
# drop what the generator has on its way.
wire_up "$id" "$id" "${id}c"
# shellcheck disable=SC2154 # wire.sh has it
ip address add "$wire_server_ip/24" dev "$id"
buffers_raise "$dir"

options="--clients 1000 --bytes 40 --window 1000 --interactive"

sides() {
	side --side ours --ready "echo: ready" \
		--server "$bin/stormweir-echo $(eal echo 0@0 ours server) -- --port net_memif0
			--address 10.78.1.1/24 --peers 4000 --half-open 4096 --rxd 2048 --txd 2048" \
		--generator "$bin/stormweir-gen $(eal gen 0@1 ours client) -- --port net_memif0
			--tx-ip 10.78.1.2,10.78.1.1 --rxd 2048 --txd 2048 --forward-mode $mode $options"
	side --side "stock=$stock_target" --ready "stock-echo: ready" \
		--server "$bin/stormweir-stock-echo $wire_server_ip 7777 4000" \
		--generator "nsenter --net=/run/netns/$id $bin/stormweir-gen-kernel
			--tx-ip $wire_server_ip --tx-udp 7777 --forward-mode $mode $options"
	[[ $testpmd_target != - ]] || return 0
	side --side "testpmd=$testpmd_target" --ready "Press enter to exit" \
		--server "stdbuf -oL dpdk-testpmd $(eal testpmd 0@0,1@0 raw server) -- --forward-mode=macswap
			--auto-start --nb-cores=1 --rxq=1 --txq=1 --rxd=2048 --txd=2048
			--total-num-mbufs=16384 --disable-link-check" \
		--generator "$bin/stormweir-gen $(eal raw 0@1 raw client) -- --port net_memif0
			--tx-ip 10.78.2.2,10.78.2.1 --rxd 2048 --txd 2048 --forward-mode raw $options"
}

turns_head ", stock libenet on veth"
turns_run "$@"
