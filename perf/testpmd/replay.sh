#!/usr/bin/env bash
# replay.sh EAL-OPTIONS -- CAPTURE ANSWERS
# testpmd forwards a capture (stormweir-pcap makes them) to the server's port, each frame once and none
# lost, and writes what the server answers into the capture ANSWERS. The EAL options name one port and
# two lcores (the second one works):
#   replay.sh --lcores 0@2,1@3 -a 0000:3b:02.0 -- malformed.pcap answers.pcap </dev/null
# Figures of both ports follow on stdout: port 0 is the wire, port 1 the captures. Over memif stop the
# server first, then end the input.
# shellcheck disable=SC2154 # common.sh sets them
set -euo pipefail
# shellcheck source=perf/testpmd/common.sh disable=SC1091,SC2154
. "$(dirname "$0")/common.sh"
split_arguments "$@"
((${#own[@]} == 2)) || usage
capture=${own[0]} answers=${own[1]}
[[ -r $capture ]] || {
	say "$capture: cannot read it"
	exit 2
}
dir=$(mktemp -d)
log=$dir/log
touch "$log"
trap 'rm -rf "$dir"' EXIT

# The number behind NAME in port 1's last figures.
figure() {
	sed -n "/statistics for port 1 /,/#####*\$/s/.*$1: *\([0-9]*\).*/\1/p" "$log" | tail -n 1
}

# Without --no-flush-rx testpmd throws away what is there at the start: the capture.
{
	echo "set fwd io retry"
	echo "set burst tx delay 10 retry 10000"
	wait_for_link
	echo start
	# The capture is over when a while passes without a frame of it, its answers likewise.
	last=
	for ((i = 0; i < 120; i++)); do
		sleep 0.5
		echo "show port stats all"
		sleep 0.1
		now="$(figure RX-packets) $(figure TX-packets)"
		[[ $now != "$last" || $now == 0\ * || $now == " " ]] || break
		last=$now
	done
	echo stop
	echo "show port stats all"
	hold
	echo quit
} | dpdk-testpmd "${eal[@]}" --vdev="net_pcap0,rx_pcap=$capture,tx_pcap=$answers" -- --interactive \
	--nb-cores=1 --rxq=1 --txq=1 --total-num-mbufs=8192 --disable-link-check --no-flush-rx |
	tee "$log"
