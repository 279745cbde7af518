#!/usr/bin/env bash
# Proves stormweir-echo over a real wire: net_af_xdp on a veth pair, a stock libenet client at the far
# end, with and without CRC32; ping is answered; foreign traffic is counted; SIGINT drains and exits 0;
# after a kill -9 it starts again; nothing is left behind. The same over net_tap. Benchmark sessions must be
# asked for twice.
#   echo_test.sh FOLDER_OF_THE_PROGRAMS.  Exit 77: needs root.
set -euo pipefail
# shellcheck source=perf/echo/echo_wire.sh
. "$(dirname "$0")/echo_wire.sh"
# shellcheck disable=SC2154 # of echo_wire.sh and tools/wire.sh
echo_wire_begin swe

start() {
	echo_start "net_af_xdp0,iface=$id,busy_budget=0" --address "$wire_server_ip/24" --peers 64 --checksum any "$@"
}

start
echo_ready
in_ns ping -q -c 3 -i 0.2 "$wire_server_ip" >/dev/null || fail "ping is not answered"
in_ns "$bin/stormweir-echo-client" "$wire_server_ip" 7777 || fail "plain client"
in_ns "$bin/stormweir-echo-client" "$wire_server_ip" 7777 crc || fail "client with CRC32"
in_ns bash -c "echo hello >/dev/udp/$wire_server_ip/53; echo hello >/dev/udp/$wire_server_ip/7777"
in_ns ping -q -c 1 "$wire_server_ip" >/dev/null || fail "ping at the end"
echo_stop INT
[[ $(counter dataplane icmp_echo_replies) == 4 ]] || fail "pings counted"
[[ $(counter dataplane drop_udp_other_port) == 1 ]] || fail "the other port counted"
grep -q '^enet 0 refused_' "$dir/log" || fail "rubbish to our port counted"
[[ -z $(counter dataplane drop_udp_checksum) ]] || fail "bad checksums"
! grep -q benchmark "$dir/log" || fail "benchmark sessions that nobody asked for"

start
kill -KILL "$server"
wait "$server" 2>/dev/null || true
start
echo_ready
in_ns "$bin/stormweir-echo-client" "$wire_server_ip" 7777 || fail "after kill -9"
echo_stop TERM

# Said once, or what cannot be: refused by name. The words after the first "|" stand in the refusal.
while IFS='|' read -r options words; do
	# shellcheck disable=SC2086 # words
	start $options
	! wait "$server" || fail "$options: taken"
	server=
	grep -qF -- "$words" "$dir/log" || fail "$options: not refused with: $words"
done <<'END'
--benchmark-sessions 9|give both
--benchmark-acknowledged yes|give both
--benchmark-udp-port 9|give both
--benchmark-sessions 9 --benchmark-acknowledged no|allowed is yes
--benchmark-sessions 65 --benchmark-acknowledged yes|more than --peers 64
--benchmark-sessions 9 --benchmark-acknowledged yes --benchmark-address 223.255.255.250|where no host has one
--benchmark-sessions 9 --benchmark-acknowledged yes --benchmark-address a|not an IPv4 address
--benchmark-sessions 9 --benchmark-acknowledged yes --checksum on|they have no checksum
END

# net_tap makes transmit checksums by offload, and its kernel end has the port's own MAC.
echo_start net_tap0,iface=tap --address 10.201.2.1/24
echo_ready
in_ns ip addr add 10.201.2.2/24 dev tap
in_ns ip link set tap up
in_ns ping -q -c 1 10.201.2.1 >/dev/null || fail "ping over net_tap"
in_ns "$bin/stormweir-echo-client" 10.201.2.1 7777 || fail "over net_tap"
echo_stop INT
echo "echo over AF_XDP holds"
