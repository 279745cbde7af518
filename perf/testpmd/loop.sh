#!/usr/bin/env bash
# loop.sh EAL-OPTIONS -- CAPTURE SECONDS
# testpmd sends a capture over and over, as fast as the wire takes it: floods, and messages of benchmark
# sessions. The EAL options name one port and two lcores (the second one works):
#   loop.sh --lcores 0@2,1@3 -a 0000:3b:02.0 -- unsequenced.pcap 10 </dev/null
# The capture is kept in memory, 4,096 frames of it at most. Figures of both ports follow on stdout:
# port 0 is the wire (TX-packets went, RX-packets came back), port 1 the capture. Over memif stop the
# server first, then end the input.
# shellcheck disable=SC2154 # common.sh sets them
set -euo pipefail
# shellcheck source=perf/testpmd/common.sh disable=SC1091,SC2154
. "$(dirname "$0")/common.sh"
split_arguments "$@"
((${#own[@]} == 2)) || usage
capture=${own[0]} seconds=${own[1]}
readable "$capture"
whole SECONDS "$seconds" 1 3600
log_begin

# net_pcap fills a ring from the capture at the start and hands out copies of it; what comes back is
# thrown away by its transmit side.
{
	wait_for_link
	echo start
	say "sends for $seconds s"
	sleep "$seconds"
	echo stop
	echo "show port stats all"
	hold
	echo quit
} | dpdk-testpmd "${eal[@]}" --vdev="net_pcap0,rx_pcap=$capture,infinite_rx=1" -- --interactive \
	--nb-cores=1 --rxq=1 --txq=1 --total-num-mbufs=16384 --disable-link-check --no-flush-rx |
	tee "$log"
