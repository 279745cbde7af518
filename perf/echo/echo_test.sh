#!/bin/sh
# Proves stormweir-echo over a real wire: net_af_xdp on a veth pair, a stock libenet client at the far
# end, with and without CRC32; ping is answered; foreign traffic is counted; SIGINT drains and exits 0;
# after a kill -9 it starts again; nothing is left behind. The same over net_tap.
#   echo_test.sh FOLDER_OF_THE_PROGRAMS.  Exit 77: needs root.
set -eu

bin=$1
id=swe$$
ns=$id-ns
dir=$(mktemp -d)
server=

finish() {
	[ -z "$server" ] || kill -KILL "$server" 2>/dev/null || true
	ip netns del "$ns" 2>/dev/null || true
	ip link del "$id" 2>/dev/null || true
	rm -rf "$dir" "/var/run/dpdk/$id"
}
trap finish EXIT
trap 'exit 1' INT TERM

[ "$(id -u)" = 0 ] || { echo "needs root: makes a network namespace"; exit 77; }
ip netns add "$ns" || exit 77
ip link add "$id" type veth peer name x netns "$ns"
sysctl -qw "net.ipv6.conf.$id.disable_ipv6=1"
nsenter --net="/run/netns/$ns" sysctl -qw net.ipv6.conf.x.disable_ipv6=1
ip link set "$id" up
nsenter --net="/run/netns/$ns" ip link set x up
nsenter --net="/run/netns/$ns" ip addr add 10.201.1.2/24 dev x
nsenter --net="/run/netns/$ns" ethtool -K x tx off >/dev/null

fail() {
	echo "echo_test: $*"
	cat "$dir/log"
	exit 1
}

start() {
	: >"$dir/log" # now, not when the server's shell gets to it: the last run's "ready" is in it
	"$bin/stormweir-echo" --no-huge --no-pci -m 128 -l 0 --file-prefix="$id" --log-level=error \
		--vdev="net_af_xdp0,iface=$id,busy_budget=0" -- --port net_af_xdp0 \
		--address 10.201.1.1/24 --udp-port 7777 --peers 64 --packet-max 32768 \
		--idle adaptive --checksum any >"$dir/log" 2>&1 &
	server=$!
	i=0
	until grep -qs ready "$dir/log"; do
		i=$((i + 1))
		[ $i -lt 200 ] || fail "did not start"
		kill -0 "$server" 2>/dev/null || fail "ended at start"
		sleep 0.05
	done
}

counter() { sed -n "s/^$1 0 $2 //p" "$dir/log"; }

start
nsenter --net="/run/netns/$ns" ping -q -c 3 -i 0.2 10.201.1.1 >/dev/null || fail "ping is not answered"
nsenter --net="/run/netns/$ns" "$bin/stormweir-echo-client" 10.201.1.1 7777 || fail "plain client"
nsenter --net="/run/netns/$ns" "$bin/stormweir-echo-client" 10.201.1.1 7777 crc || fail "client with CRC32"
nsenter --net="/run/netns/$ns" bash -c 'echo hello >/dev/udp/10.201.1.1/53; echo hello >/dev/udp/10.201.1.1/7777'
nsenter --net="/run/netns/$ns" ping -q -c 1 10.201.1.1 >/dev/null || fail "ping at the end"
kill -INT "$server"
wait "$server" || fail "SIGINT: exit $?"
[ "$(counter dataplane icmp_echo_replies)" = 4 ] || fail "pings counted"
[ "$(counter dataplane drop_udp_other_port)" = 1 ] || fail "the other port counted"
grep -q '^enet 0 refused_' "$dir/log" || fail "rubbish to our port counted"
[ -z "$(counter dataplane drop_udp_checksum)" ] || fail "bad checksums"

start
kill -KILL "$server"
wait "$server" 2>/dev/null || true
start
nsenter --net="/run/netns/$ns" "$bin/stormweir-echo-client" 10.201.1.1 7777 || fail "after kill -9"
kill -TERM "$server"
wait "$server" || fail "SIGTERM: exit $?"
server=

# net_tap makes transmit checksums by offload, and its kernel end has the port's own MAC.
nsenter --net="/run/netns/$ns" "$bin/stormweir-echo" --no-huge --no-pci -m 128 -l 0 --file-prefix="$id" \
	--log-level=error --vdev=net_tap0,iface=tap -- --port net_tap0 --address 10.201.2.1/24 \
	--packet-max 32768 --idle adaptive >"$dir/log" 2>&1 &
server=$!
i=0
until grep -qs ready "$dir/log"; do
	i=$((i + 1))
	[ $i -lt 200 ] || fail "did not start on net_tap"
	sleep 0.05
done
nsenter --net="/run/netns/$ns" ip addr add 10.201.2.2/24 dev tap
nsenter --net="/run/netns/$ns" ip link set tap up
nsenter --net="/run/netns/$ns" ping -q -c 1 10.201.2.1 >/dev/null || fail "ping over net_tap"
nsenter --net="/run/netns/$ns" "$bin/stormweir-echo-client" 10.201.2.1 7777 || fail "over net_tap"
kill -INT "$server"
wait "$server" || fail "SIGINT on net_tap: exit $?"
server=
echo "echo over AF_XDP holds"
