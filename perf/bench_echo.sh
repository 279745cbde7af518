#!/bin/sh
# bench_echo: stormweir-echo against a stock libenet echo server on kernel sockets, in one run.
#   perf/bench_echo.sh [BUILD_FOLDER] [more options of stormweir-load]
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
dir=$(mktemp -d)
pids=

say() { echo "bench_echo: $*" >&2; }

finish() {
	for pid in $pids; do
		kill -CONT "$pid" 2>/dev/null || true
		kill -INT "$pid" 2>/dev/null || true
	done
	for pid in $pids; do
		wait "$pid" 2>/dev/null || true
	done
	ip netns del "$ns" 2>/dev/null || true
	ip link del "$id-x" 2>/dev/null || true
	ip link del "$id-k" 2>/dev/null || true
	rm -rf "$dir"
}
trap finish EXIT
trap 'exit 1' INT TERM

[ "$(id -u)" = 0 ] || { say "run as root: it makes a network namespace"; exit 1; }
for program in stormweir-echo stormweir-stock-echo stormweir-load; do
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

taskset -c 0 "$bin/stormweir-echo" --no-huge --no-pci -m 256 -l 0 --file-prefix="$id" \
	--log-level=error --vdev="net_af_xdp0,iface=$id-x,busy_budget=0" -- \
	--port net_af_xdp0 --address 10.200.1.1/24 --udp-port 7777 --peers 4000 \
	--half-open 4096 --rxd 2048 --txd 2048 >"$dir/ours" 2>&1 &
ours=$!
taskset -c 0 "$bin/stormweir-stock-echo" 10.200.2.1 7777 4000 >"$dir/stock" 2>&1 &
stock=$!
pids="$ours $stock"
for log in ours stock; do
	i=0
	until grep -qs ready "$dir/$log"; do
		i=$((i + 1))
		[ $i -lt 100 ] || { say "$log did not start:"; cat "$dir/$log" >&2; exit 1; }
		sleep 0.1
	done
done

commit=$(git -C "$here" rev-parse --short HEAD 2>/dev/null || echo unknown)
echo "machine: $(nproc) CPUs, $(sed -n 's/^model name[^:]*: //p' /proc/cpuinfo | head -1)"
echo "build: $build, commit $commit"
nsenter --net="/run/netns/$ns" taskset -c 1 "$bin/stormweir-load" --server "ours=10.200.1.1:7777=$ours" \
	--server "stock=10.200.2.1:7777=$stock" --bench echo-first --commit "$commit" "$@" \
	>"$dir/result" || { cat "$dir/result" "$dir/ours" "$dir/stock" >&2; exit 1; }
sed '$d' "$dir/result"
kill -INT "$ours"
if wait "$ours"; then
	echo "ours: exit 0"
else
	say "ours ended badly: $(cat "$dir/ours")"
fi
pids=$stock
grep -E "drop_|no_mbuf|tx_full|lost|busy" "$dir/ours" || true
busy=$(sed -n 's/^worker 0: .*, \([0-9]*\) ns a received frame$/\1/p' "$dir/ours")
tail -1 "$dir/result" |
	sed "/vs_stock/s/}}\$/, \"busy_ns_per_frame\": {\"median\": ${busy:-0}, \"better\": \"lower\"}}}/"
