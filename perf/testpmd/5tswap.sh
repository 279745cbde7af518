#!/usr/bin/env bash
# 5tswap.sh EAL-OPTIONS -- SECONDS
# testpmd as the reference responder: each frame goes back with MACs, addresses and ports swapped and
# nothing else touched; a probe measured against it has the cost of the wire alone. The EAL options
# name one port and two lcores (the second one works):
#   5tswap.sh --lcores 0@2,1@3 -a 0000:3b:02.0 -- 60
# It ends after SECONDS, or with the end of the input (Ctrl-D). Over memif let the generator stop polling
# first.
# shellcheck disable=SC2154 # common.sh sets them
set -euo pipefail
# shellcheck source=perf/testpmd/common.sh disable=SC1091,SC2154
. "$(dirname "$0")/common.sh"
split_arguments "$@"
((${#own[@]} == 1)) || usage
whole SECONDS "${own[0]}" 1 86400

{
	# Ends with the time, or with the end of the input.
	timeout "${own[0]}" cat >/dev/null || true
	echo stop
	echo "show port stats 0"
	echo quit
} | dpdk-testpmd "${eal[@]}" -- --interactive --auto-start --nb-cores=1 --rxq=1 --txq=1 \
	--total-num-mbufs=8192 --disable-link-check --forward-mode=5tswap
