# common.sh: what the testpmd scripts share: their arguments, and a testpmd that is told when to go.
# shellcheck shell=bash disable=SC2034,SC2154

say() { echo "${0##*/}: $*" >&2; }

# usage: prints the script's own head.
usage() {
	sed -n '2,/^[^#]/{/^#/s/^# \{0,1\}//p}' "$0" >&2
	exit 2
}

# split_arguments ARGUMENTS: those before "--" to eal, those after to own.
split_arguments() {

	eal=() own=()
	while (($#)) && [[ $1 != -- ]]; do
		eal+=("$1")
		shift
	done
	(($#)) || usage
	shift
	own=("$@")
	command -v dpdk-testpmd >/dev/null || {
		say "dpdk-testpmd is missing: it is in Debian's package dpdk-dev"
		exit 1
	}
}

# whole NAME VALUE LOW HIGH
whole() {
	[[ $2 =~ ^[0-9]{1,9}$ ]] && (($2 >= $3 && $2 <= $4)) && return
	say "$1 $2: allowed are $3 to $4"
	exit 2
}

readable() {
	[[ -r $1 ]] && return
	say "$1: cannot read it"
	exit 2
}

# log_begin: a folder of our own; testpmd's answers go to $log in it.
log_begin() {
	dir=$(mktemp -d)
	log=$dir/log
	touch "$log"
	trap 'rm -rf "$dir"' EXIT
}

# Says on the terminal that the work is done, then waits for the end of our input. DPDK's memif driver
# of 22.11 can crash a process that polls while its far end leaves, so over memif the far end leaves
# first: stop the server, then Ctrl-D here. With </dev/null nothing is waited for.
hold() {
	say "done; end of input (Ctrl-D) ends testpmd"
	cat >/dev/null
}

# Asks until port 0 has a link; a memif takes a moment. Commands go to stdout, testpmd's answers are
# in $log.
wait_for_link() {
	local i
	for ((i = 0; i < 200; i++)); do
		echo "show port info 0"
		sleep 0.1
		! grep -q "Link status: up" "$log" || return 0
	done
	say "port 0 has no link after 20 s"
	echo quit
	exit 1
}

# figure PORT NAME: the number behind NAME in the port's last figures.
figure() {
	sed -n "/NIC statistics for port $1 /,/#####*\$/s/.*$2: *\([0-9]*\).*/\1/p" "$log" | tail -n 1
}
