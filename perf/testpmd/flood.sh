#!/usr/bin/env bash
# flood.sh EAL-OPTIONS -- SERVER-MAC SERVER-IP UDP-PORT SECONDS [FRAME-BYTES]
# testpmd's txonly with --txonly-multi-flow: datagrams of zeros from 256 sources to a server's port, as
# fast as the wire takes them. The EAL options name one port and two lcores (the second one sends):
#   flood.sh --lcores 0@2,1@3 -a 0000:3b:02.0 -- 02:00:00:00:00:01 10.0.0.1 7777 10 </dev/null
# Figures of the port follow on stdout. Over memif stop the server first, then end the input.
# shellcheck disable=SC2154 # common.sh sets them
set -euo pipefail
# shellcheck source=perf/testpmd/common.sh disable=SC1091,SC2154
. "$(dirname "$0")/common.sh"
split_arguments "$@"
((${#own[@]} == 4 || ${#own[@]} == 5)) || usage
mac=${own[0]} ip=${own[1]} port=${own[2]} seconds=${own[3]} bytes=${own[4]:-64}
whole UDP-PORT "$port" 1 65535
whole SECONDS "$seconds" 1 3600
whole FRAME-BYTES "$bytes" 60 1514
log_begin

{
	wait_for_link
	echo start
	say "sends for $seconds s"
	sleep "$seconds"
	echo stop
	echo "show port stats 0"
	hold
	echo quit
} | dpdk-testpmd "${eal[@]}" -- --interactive --nb-cores=1 --rxq=1 --txq=1 --total-num-mbufs=4096 \
	--disable-link-check --forward-mode=txonly --txonly-multi-flow --txpkts="$bytes" \
	--tx-ip="${ip%.*}.250,$ip" --tx-udp="40000,$port" --eth-peer="0,$mac" |
	tee "$log"
