#!/usr/bin/env bash
# bench_echo.sh [BUILD_FOLDER] [options of stormweir-bench]: stormweir-echo on net_af_xdp against stock libenet on a kernel
# socket, each behind a veth pair of its own, servers on CPU 0, the load generator in a network namespace on CPU 1, in turns
# of one run. Results go to BUILD_FOLDER/bench/echo; the last line is one JSON object.
# Needs root: a network namespace, priorities. Removes everything else that it made.
set -euo pipefail

name='echo'
# shellcheck source=perf/turns.sh
. "$(dirname "${BASH_SOURCE[0]}")/turns.sh"
build=$(realpath "${1:-$here/build/release}")
shift $(($# < 1 ? $# : 1))
turns_mb=256

turns_undo() {
	ip link delete "${id}k" 2>/dev/null || true
	wire_down "$id" "$id" || true
	buffers_restore "$dir"
}

((EUID == 0)) || {
	say "run as root: it makes a network namespace"
	exit 1
}
turns_begin "$build" 1 stormweir-echo stormweir-stock-echo stormweir-gen-kernel stormweir-bench

# The wire of AF_XDP, and one for stock's kernel socket, whose buffers are as large as it asks for: else it drops what
# the generator has on its way.
wire_up "$id" "$id" "${id}c"
ip link add "${id}k" type veth peer name k netns "$id"
ip address add 10.78.3.1/24 dev "${id}k"
ip link set "${id}k" up
wire_in "$id" ip address add 10.78.3.2/24 dev k
wire_in "$id" ip link set k up
buffers_raise "$dir"

# one NAME ADDRESS READY SERVER: a generator for it, too
one() {
	side --side "$1" --ready "$3" --server "$4" \
		--generator "nsenter --net=/run/netns/$id $bin/stormweir-gen-kernel --tx-ip $2 --tx-udp 7777
			--clients 1000 --bytes 40 --window 512 --interactive"
}
sides() {
	# shellcheck disable=SC2154 # wire.sh has the address
	one ours "$wire_server_ip" "echo: ready" "$bin/stormweir-echo --lcores 0@0 --no-pci $memory --file-prefix $id-echo
		--log-level=error --vdev=net_af_xdp0,iface=$id,busy_budget=0 -- --port net_af_xdp0 --address $wire_server_ip/24
		--udp-port 7777 --peers 4000 --half-open 4096 --rxd 2048 --txd 2048"
	one stock 10.78.3.1 "stock-echo: ready" "$bin/stormweir-stock-echo 10.78.3.1 7777 4000"
}

turns_head ", AF_XDP and stock libenet on veth"
turns_run "$@"
