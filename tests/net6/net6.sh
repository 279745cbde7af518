#!/bin/sh
# Proves IPv6 over a real wire: net_af_xdp on a veth pair, Linux as the neighbour at the far end. Its
# neighbour discovery finds us, ping -6 of the global and the link-local address is answered, an ENet
# client talks over both, IPv4 goes on beside it; duplicate address detection at the far end hears of
# us; fragments, extension headers and foreign ports are counted by name; the MTU check counts
# IPv6's 48 bytes; the interface's groups are joined and left.
#   net6.sh FOLDER_OF_THE_PROGRAMS.  Exit 77: needs root, and IPv6 in the kernel.
set -eu

bin=$1
id=swn$$
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
[ -e /proc/sys/net/ipv6 ] || { echo "this kernel has no IPv6"; exit 77; }
ip netns add "$ns" || exit 77

in_ns() { nsenter --net="/run/netns/$ns" "$@"; }

ip link add "$id" type veth peer name x netns "$ns"
# The server's end is DPDK's alone; the far end is an ordinary IPv6 host.
echo 1 >"/proc/sys/net/ipv6/conf/$id/disable_ipv6"
ip link set "$id" up
in_ns ip link set lo up
in_ns ethtool -K x tx off >/dev/null
in_ns ip addr add 10.202.1.2/24 dev x
in_ns ip link set x up
in_ns ip addr add 2001:db8:77::2/64 dev x nodad
link=$(sed 's/^\(..\):\(..\):\(..\):\(..\):\(..\):\(..\)$/\1 \2 \3 \4 \5 \6/' "/sys/class/net/$id/address")

fail() {
	echo "net6: $*"
	cat "$dir/log"
	exit 1
}

# start OPTIONS...
start() {
	"$bin/stormweir-echo" --no-huge --no-pci -m 128 -l 0 --file-prefix="$id" --log-level=error \
		--vdev="net_af_xdp0,iface=$id,busy_budget=0" -- --port net_af_xdp0 \
		--address 10.202.1.1/24 --address6 2001:db8:77::1/64 --udp-port 7777 --peers 64 --packet-max 32768 \
		--idle adaptive "$@" >"$dir/log" 2>&1 &
	server=$!
}

ready() {
	i=0
	until grep -qs ready "$dir/log"; do
		i=$((i + 1))
		[ $i -lt 200 ] || fail "did not start"
		kill -0 "$server" 2>/dev/null || fail "ended at start"
		sleep 0.05
	done
}

counter() { sed -n "s/^dataplane 0 $1 //p" "$dir/log"; }
at_least() { [ "$(counter "$1")" -ge "$2" ] 2>/dev/null || fail "$1 is \"$(counter "$1")\", not $2 or more"; }
groups() { ip maddress show dev "$id" | grep -c 33:33: || true; }

# 1,452 bytes and 48 of headers fill an MTU of 1,500; over IPv4 it would have been 1,472.
start --mtu 1453
wait "$server" && fail "an ENet MTU that does not fit was taken"
grep -q "needs 1501.*lower enet.mtu to 1452" "$dir/log" || fail "the MTU is not explained"

before=$(groups)
start --mtu 1452
ready
[ "$(groups)" -gt "$before" ] || fail "the interface has not joined the groups"

# The link-local address that follows from the port's MAC (RFC 4291, appendix A).
# shellcheck disable=SC2086 # six words
set -- $link
link=$(printf 'fe80::%02x%s:%sff:fe%s:%s%s' $((0x$1 ^ 2)) "$2" "$3" "$4" "$5" "$6")

in_ns ping -6 -q -c 3 -i 0.2 -W 5 2001:db8:77::1 >/dev/null || fail "ping -6 of the global address"
in_ns ping -6 -q -c 3 -i 0.2 -W 5 -s 1400 2001:db8:77::1 >/dev/null || fail "large ping -6"
in_ns ping -6 -q -c 2 -i 0.2 -W 5 "$link%x" >/dev/null || fail "ping -6 of $link"
in_ns ip -6 neigh show | grep -q "2001:db8:77::1 .*$(cat "/sys/class/net/$id/address")" ||
	fail "the neighbour has another MAC"
in_ns ping -q -c 1 -W 5 10.202.1.1 >/dev/null || fail "ping over IPv4"
in_ns "$bin/stormweir-lean6" 2001:db8:77::1 7777 || fail "ENet to the global address"
in_ns "$bin/stormweir-lean6" "$link%x" 7777 || fail "ENet to the link-local address"
in_ns "$bin/stormweir-echo-client" 10.202.1.1 7777 || fail "ENet over IPv4"

# Who wants our address hears that it is taken: the kernel's duplicate address detection.
in_ns ip addr add 2001:db8:77::1/64 dev x
i=0
until in_ns ip -6 addr show dev x | grep -q "2001:db8:77::1.*dadfailed"; do
	i=$((i + 1))
	[ $i -lt 100 ] || fail "duplicate address detection did not hear of us"
	sleep 0.1
done
in_ns ip addr del 2001:db8:77::1/64 dev x

# An empty neighbour table finds us again, by multicast.
in_ns ip neigh flush dev x
in_ns ping -6 -q -c 1 -W 5 2001:db8:77::1 >/dev/null || fail "ping after the flush"

in_ns ping -6 -q -c 1 -W 1 -s 3000 2001:db8:77::1 >/dev/null && fail "a ping in fragments was answered"
in_ns bash -c 'echo hello >/dev/udp/2001:db8:77::1/53'

kill -INT "$server"
wait "$server" || fail "SIGINT: exit $?"
server=
at_least icmpv6_echo_replies 9
at_least nd_replies 3
at_least drop_ipv6_fragment 2
at_least drop_udp_other_port 1
[ -z "$(counter drop_udp_checksum)$(counter drop_icmpv6_checksum)$(counter drop_ipv6)" ] ||
	fail "good packets were refused"
[ "$(groups)" = "$before" ] || fail "the groups were not left"

# net_tap makes the UDP checksum by offload, over IPv6 as over IPv4.
nsenter --net="/run/netns/$ns" "$bin/stormweir-echo" --no-huge --no-pci -m 128 -l 0 --file-prefix="$id" --log-level=error \
	--vdev=net_tap0,iface=tap -- --port net_tap0 --address 10.202.2.1/24 \
	--address6 2001:db8:78::1/64 --idle adaptive >"$dir/log" 2>&1 &
server=$!
ready
in_ns ip addr add 2001:db8:78::2/64 dev tap nodad
in_ns ip link set tap up
in_ns ping -6 -q -c 1 -W 5 2001:db8:78::1 >/dev/null || fail "ping -6 over net_tap"
in_ns "$bin/stormweir-lean6" 2001:db8:78::1 7777 || fail "ENet over net_tap"
kill -INT "$server"
wait "$server" || fail "SIGINT on net_tap: exit $?"
server=
echo "IPv6 over AF_XDP holds"
