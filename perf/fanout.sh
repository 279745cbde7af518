#!/usr/bin/env bash
# fanout.sh [BUILD_FOLDER] [options of stormweir-bench]: the first half of W7: one line to MEMBERS (100,000) members, again
# and again, by stormweir-echo --lines (dataplane/lines, the engine, and a ring with the lists between them), against W2's
# reliable echo of 1,000 clients, both over memif with one server core and one generator core, in turns of one run. A
# delivery counts when the generator has it, once. Results go to BUILD_FOLDER/bench/W7; the last line is one JSON object.
# Needs root: priorities. Removes everything else that it made.
set -euo pipefail

name=W7
# shellcheck source=perf/turns.sh
. "$(dirname "${BASH_SOURCE[0]}")/turns.sh"
build=$(realpath "${1:-$here/build/release}")
shift $(($# < 1 ? $# : 1))
members=${MEMBERS:-100000}
turns_mb=384

turns_begin "$build" 4 stormweir-echo stormweir-gen stormweir-bench

# 16,384 frames on their way: two lines to everybody are more than any ring takes.
wide() { eal "$@" | sed 's/rsize=11/rsize=14/'; }

sides() {
	side --side lines --ready "echo: ready" \
		--server "$bin/stormweir-echo $(wide lines 0@0 lines server) -- --port net_memif0
			--address 10.78.1.1/24 --peers $((members + members / 8 + 64)) --half-open 16384 --rxd 16384 --txd 16384
			--burst 64 --pool $((512 << 20)) --lines 100000000" \
		--generator "$bin/stormweir-gen $(wide linesgen 0@1 lines client) -- --port net_memif0
			--tx-ip 10.78.1.2,10.78.1.1 --rxd 16384 --txd 16384 --burst 64 --forward-mode lines
			--clients $members --bytes 120 --interactive"
	side --side "w2=0.6" --ready "echo: ready" \
		--server "$bin/stormweir-echo $(eal echo 0@0 echo server) -- --port net_memif0
			--address 10.78.1.1/24 --peers 4000 --half-open 4096 --rxd 2048 --txd 2048" \
		--generator "$bin/stormweir-gen $(eal gen 0@1 echo client) -- --port net_memif0
			--tx-ip 10.78.1.2,10.78.1.1 --rxd 2048 --txd 2048 --forward-mode reliable
			--clients 1000 --bytes 40 --window 1000 --interactive"
}

turns_head ", a line to $members members"
# Lines that were stopped in the middle go on first.
turns_run --turn-ms 600 --warm-ms 300 --pairs 12 "$@"
