#!/usr/bin/env bash
# Proves IPv6 over a real wire: net_af_xdp on a veth pair, Linux as the neighbour at the far end. Its
# neighbour discovery finds us, ping -6 of the global and the link-local address is answered, an ENet
# client talks over both, IPv4 goes on beside it; duplicate address detection at the far end hears of
# us; fragments, extension headers and foreign ports are counted by name; the MTU check counts
# IPv6's 48 bytes; the interface's groups are joined and left.
#   net6.sh FOLDER_OF_THE_PROGRAMS.  Exit 77: needs root, and IPv6 in the kernel.
set -euo pipefail
# shellcheck source=perf/echo/echo_wire.sh
. "$(dirname "$0")/../../perf/echo/echo_wire.sh"
[[ -e /proc/sys/net/ipv6 ]] || {
	echo "this kernel has no IPv6"
	exit 77
}
# shellcheck disable=SC2154 # of echo_wire.sh and tools/wire.sh
echo_wire_begin swn
# The server's end is DPDK's alone; the far end is an ordinary IPv6 host.
in_ns sh -c 'echo 0 >/proc/sys/net/ipv6/conf/x/disable_ipv6'
in_ns ip addr add 2001:db8:77::2/64 dev x nodad

start() {
	echo_start "net_af_xdp0,iface=$id,busy_budget=0" --address "$wire_server_ip/24" \
		--address6 2001:db8:77::1/64 --peers 64 "$@"
}

value() { counter dataplane "$1"; }
at_least() { (($(value "$1") + 0 >= $2)) || fail "$1 is \"$(value "$1")\", not $2 or more"; }
groups() { ip maddress show dev "$id" | grep -c 33:33: || true; }

# 1,452 bytes and 48 of headers fill an MTU of 1,500; over IPv4 it would have been 1,472.
start --mtu 1453
! wait "$server" || fail "an ENet MTU that does not fit was taken"
grep -q "needs 1501.*lower enet.mtu to 1452" "$dir/log" || fail "the MTU is not explained"

before=$(groups)
start --mtu 1452
echo_ready
(($(groups) > before)) || fail "the interface has not joined the groups"

# The link-local address that follows from the port's MAC (RFC 4291, appendix A).
IFS=: read -r -a mac <"/sys/class/net/$id/address"
link=$(printf 'fe80::%02x%s:%sff:fe%s:%s%s' $((0x${mac[0]} ^ 2)) "${mac[@]:1}")

in_ns ping -6 -q -c 3 -i 0.2 -W 5 2001:db8:77::1 >/dev/null || fail "ping -6 of the global address"
in_ns ping -6 -q -c 3 -i 0.2 -W 5 -s 1400 2001:db8:77::1 >/dev/null || fail "large ping -6"
in_ns ping -6 -q -c 2 -i 0.2 -W 5 "$link%x" >/dev/null || fail "ping -6 of $link"
in_ns ip -6 neigh show | grep -q "2001:db8:77::1 .*$(cat "/sys/class/net/$id/address")" ||
	fail "the neighbour has another MAC"
in_ns ping -q -c 1 -W 5 "$wire_server_ip" >/dev/null || fail "ping over IPv4"
in_ns "$bin/stormweir-lean6" 2001:db8:77::1 7777 || fail "ENet to the global address"
in_ns "$bin/stormweir-lean6" "$link%x" 7777 || fail "ENet to the link-local address"
in_ns "$bin/stormweir-echo-client" "$wire_server_ip" 7777 || fail "ENet over IPv4"

# Who wants our address hears that it is taken: the kernel's duplicate address detection.
in_ns ip addr add 2001:db8:77::1/64 dev x
for ((i = 0; ; i++)); do
	! in_ns ip -6 addr show dev x | grep -q "2001:db8:77::1.*dadfailed" || break
	((i < 100)) || fail "duplicate address detection did not hear of us"
	sleep 0.1
done
in_ns ip addr del 2001:db8:77::1/64 dev x

# An empty neighbour table finds us again, by multicast.
in_ns ip neigh flush dev x
in_ns ping -6 -q -c 1 -W 5 2001:db8:77::1 >/dev/null || fail "ping after the flush"

! in_ns ping -6 -q -c 1 -W 1 -s 3000 2001:db8:77::1 >/dev/null || fail "a ping in fragments was answered"
in_ns bash -c 'echo hello >/dev/udp/2001:db8:77::1/53'

echo_stop INT
at_least icmpv6_echo_replies 9
at_least nd_replies 3
at_least drop_ipv6_fragment 2
at_least drop_udp_other_port 1
[[ -z $(value drop_udp_checksum)$(value drop_icmpv6_checksum)$(value drop_ipv6) ]] ||
	fail "good packets were refused"
[[ $(groups) == "$before" ]] || fail "the groups were not left"

# net_tap makes the UDP checksum by offload, over IPv6 as over IPv4.
echo_start net_tap0,iface=tap --address 10.202.2.1/24 --address6 2001:db8:78::1/64
echo_ready
in_ns ip addr add 2001:db8:78::2/64 dev tap nodad
in_ns ip link set tap up
in_ns ping -6 -q -c 1 -W 5 2001:db8:78::1 >/dev/null || fail "ping -6 over net_tap"
in_ns "$bin/stormweir-lean6" 2001:db8:78::1 7777 || fail "ENet over net_tap"
echo_stop INT
echo "IPv6 over AF_XDP holds"
