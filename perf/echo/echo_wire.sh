# echo_wire.sh: stormweir-echo at the end of a wire of its own, for tests. Sourced by bash scripts whose $1 is the
# folder of the programs, after `set -euo pipefail`:
#   echo_wire_begin PREFIX   a veth pair into a namespace (tools/wire.sh); exits with 77 where that cannot be.
#                            All is removed when the script ends, however it ends.
#   echo_start VDEV OPTIONS  starts the server; echo_ready waits until it answers, echo_stop SIGNAL until it ended
#   in_ns COMMAND            in the clients' namespace
#   counter GROUP NAME       of the figures that the server prints when it stops; empty: 0
#   fail TEXT                ends the test with the server's log
# shellcheck shell=bash
# shellcheck disable=SC2034,SC2154 # wire.sh and who sources this
# shellcheck source=tools/wire.sh
. "$(dirname "${BASH_SOURCE[0]}")/../../tools/wire.sh"

bin=$1
server=

echo_wire_begin() {
	((EUID == 0)) || {
		echo "needs root: makes a network namespace"
		exit 77
	}
	id=$1$$
	ns=$id-ns
	dir=$(mktemp -d)
	trap echo_wire_end EXIT
	trap 'exit 1' INT TERM
	wire_up "$ns" "$id" x || exit 77
}

echo_wire_end() {
	[[ -z $server ]] || kill -KILL "$server" 2>/dev/null || true
	wire_down "$ns" "$id" || true
	rm -rf "$dir" "/var/run/dpdk/$id"
}

in_ns() { wire_in "$ns" "$@"; }

fail() {
	echo "${0##*/}: $*"
	cat "$dir/log"
	exit 1
}

# echo_start VDEV OPTIONS. VDEV may be "net_tap…": then it runs in the clients' namespace, where the tap's kernel
# end is to be.
echo_start() {
	local vdev=$1 where=()
	shift
	[[ $vdev != net_tap* ]] || where=(nsenter --net="/run/netns/$ns")
	: >"$dir/log" # now, not when the server's shell gets to it: the last run's "ready" is in it
	"${where[@]}" "$bin/stormweir-echo" --no-huge --no-pci -m 128 -l 0 --file-prefix="$id" --log-level=error \
		--vdev="$vdev" -- --port "${vdev%%,*}" --udp-port 7777 --packet-max 32768 --idle adaptive "$@" \
		>"$dir/log" 2>&1 &
	server=$!
}

echo_ready() {
	local tries
	for ((tries = 0; tries < 200; tries++)); do
		! grep -qs ready "$dir/log" || return 0
		kill -0 "$server" 2>/dev/null || fail "ended at start"
		sleep 0.05
	done
	fail "did not start"
}

echo_stop() {
	kill "-$1" "$server"
	wait "$server" || fail "SIG$1: exit $?"
	server=
}

counter() { sed -n "s/^$1 0 $2 //p" "$dir/log"; }
