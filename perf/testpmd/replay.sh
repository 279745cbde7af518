#!/usr/bin/env bash
# replay.sh EAL-OPTIONS -- CAPTURE ANSWERS
# testpmd forwards a capture (stormweir-pcap makes them) to the server's port, each frame once and none
# lost, and writes what the server answers into the capture ANSWERS. The EAL options name one port and
# two lcores (the second one works):
#   replay.sh --lcores 0@2,1@3 -a 0000:3b:02.0 -- malformed.pcap answers.pcap </dev/null
# It ends when the whole capture has been sent and no answer has come for 0.3 s. Figures of both ports
# follow on stdout: port 0 is the wire, port 1 the captures. Over memif stop the server first, then end
# the input.
# shellcheck disable=SC2154 # common.sh sets them
set -euo pipefail
# shellcheck source=perf/testpmd/common.sh disable=SC1091,SC2154
. "$(dirname "$0")/common.sh"
split_arguments "$@"
((${#own[@]} == 2)) || usage
capture=${own[0]} answers=${own[1]}
readable "$capture"
log_begin

# Without --no-flush-rx testpmd throws away what is there at the start: the capture.
{
	echo "set fwd io retry"
	echo "set burst tx delay 10 retry 10000"
	wait_for_link
	echo start
	# Until all that the capture has is on the wire, and then until no answer comes any more. testpmd
	# does not say how many frames a capture has: what was read and sent has not grown is its end, too.
	last='' quiet=0
	for ((i = 0; i < 600 && quiet < 3; i++)); do
		echo "show port stats all"
		sleep 0.1
		now="$(figure 1 RX-packets) $(figure 0 TX-packets) $(figure 1 TX-packets)"
		if [[ $now == "$last" && $now == [1-9]* ]]; then
			quiet=$((quiet + 1))
		else
			quiet=0
		fi
		last=$now
	done
	echo stop
	echo "show port stats all"
	hold
	echo quit
} | dpdk-testpmd "${eal[@]}" --vdev="net_pcap0,rx_pcap=$capture,tx_pcap=$answers" -- --interactive \
	--nb-cores=1 --rxq=1 --txq=1 --total-num-mbufs=8192 --disable-link-check --no-flush-rx |
	tee "$log"
