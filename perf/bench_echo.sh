#!/bin/sh
# bench_echo: stormweir-echo against a stock libenet echo server on kernel sockets, in one run.
#   perf/bench_echo.sh [BUILD_FOLDER] [options of stormweir-bench]
# Makes two veth pairs into a network namespace, starts both servers at the root end (ours on
# net_af_xdp, stock on a kernel socket) on CPU 0, and the load generator in the namespace on CPU 1;
# the two take turns. The last line is one JSON object. Removes everything it made.
set -eu

here=$(cd "$(dirname "$0")/.." && pwd)
build=${1:-$here/build/release}
[ $# -gt 0 ] && shift
bin=$build/bin
id=swb$$
ns=$id-ns
driver=

say() { echo "bench_echo: $*" >&2; }

finish() {
	if [ -n "$driver" ]; then
		kill -INT "$driver" 2>/dev/null || true
		wait "$driver" 2>/dev/null || true
	fi
	ip netns del "$ns" 2>/dev/null || true
	ip link del "$id-x" 2>/dev/null || true
	ip link del "$id-k" 2>/dev/null || true
}
trap finish EXIT
trap 'exit 1' INT TERM

[ "$(id -u)" = 0 ] || { say "run as root: it makes a network namespace"; exit 1; }
for program in stormweir-echo stormweir-stock-echo stormweir-bench stormweir-gen-kernel; do
	[ -x "$bin/$program" ] || { say "$bin/$program is missing: cmake --build $build"; exit 1; }
done

ip netns add "$ns"
# One wire for each server: x to AF_XDP, k to the kernel.
for wire in x k; do
	ip link add "$id-$wire" type veth peer name "$wire" netns "$ns"
	sysctl -qw "net.ipv6.conf.$id-$wire.disable_ipv6=1"
	nsenter --net="/run/netns/$ns" sysctl -qw "net.ipv6.conf.$wire.disable_ipv6=1"
	ip link set "$id-$wire" up
	nsenter --net="/run/netns/$ns" ip link set "$wire" up
done
nsenter --net="/run/netns/$ns" ip link set lo up
nsenter --net="/run/netns/$ns" ip addr add 10.200.1.2/24 dev x
ip addr add 10.200.2.1/24 dev "$id-k"
nsenter --net="/run/netns/$ns" ip addr add 10.200.2.2/24 dev k
# A veth leaves transmit checksums to hardware that is not there; AF_XDP would see them unfinished.
nsenter --net="/run/netns/$ns" ethtool -K x tx off >/dev/null
# Buffers as large as ours, or stock's socket drops what the generator has in flight.
sysctl -qw net.core.rmem_max=16777216 net.core.wmem_max=16777216

out=$build/bench/echo
mkdir -p "$out"
common="--clients 1000 --bytes 40 --window 512 --interactive"
commit=$(git -C "$here" rev-parse --short HEAD 2>/dev/null || echo unknown)
echo "machine: $(nproc) CPUs, $(sed -n 's/^model name[^:]*: //p' /proc/cpuinfo | head -1)"
echo "build: $build, commit $commit"
"$bin/stormweir-bench" --bench echo --commit "$commit" --out "$out" \
	--side ours --ready "echo: ready" \
	--server "$bin/stormweir-echo --no-huge --no-pci -m 256 -l 0 --file-prefix=$id --log-level=error --vdev=net_af_xdp0,iface=$id-x,busy_budget=0 -- --port net_af_xdp0 --address 10.200.1.1/24 --udp-port 7777 --peers 4000 --half-open 4096 --rxd 2048 --txd 2048" \
	--generator "nsenter --net=/run/netns/$ns $bin/stormweir-gen-kernel --tx-ip 10.200.1.1 --tx-udp 7777 $common" \
	--side stock --ready "stock-echo: ready" \
	--server "$bin/stormweir-stock-echo 10.200.2.1 7777 4000" \
	--generator "nsenter --net=/run/netns/$ns $bin/stormweir-gen-kernel --tx-ip 10.200.2.1 --tx-udp 7777 $common" \
	"$@" &
driver=$!
status=0
wait "$driver" || status=$?
driver=
exit $status
