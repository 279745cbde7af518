#!/usr/bin/env bash
# Proves that testpmd's floods do not harm the server, by the scripts that users run: captures of every
# malformed frame are counted by the foretold reasons, one for one; each probe comes back but for two
# bytes; each message of a benchmark session comes back, the reliable ones in order and acknowledged; a
# connect flood is never answered with more bytes than it has; through all of it, and through floods at
# the wire's rate, established clients play on, and a stock libenet client connects.
# testpmd's 5tswap answers the same probes.
#   testpmd_test.sh FOLDER_OF_THE_PROGRAMS.  Exit 77: needs root, and dpdk-testpmd.
set -euo pipefail
here=$(cd "$(dirname "$0")" && pwd)
bin=$1
id=swp$$
ns=$id-ns
dir=$(mktemp -d)
server='' player=''
# One testpmd for each memif of the server; they stay until it has gone. feed: their inputs.
tools=() feeds=()

finish() {
	local one
	# The scripts' testpmd goes with the end of its input.
	for one in "${feeds[@]}"; do exec {one}>&-; done
	for one in $server $player; do
		kill -KILL "$one" 2>/dev/null || true
	done
	for one in "${tools[@]}"; do wait "$one" 2>/dev/null || true; done
	ip netns del "$ns" 2>/dev/null || true
	rm -rf "$dir" "/var/run/dpdk/$id"*
}
trap finish EXIT
trap 'exit 1' INT TERM

((EUID == 0)) || { echo "needs root: makes a network namespace"; exit 77; }
command -v dpdk-testpmd >/dev/null || { echo "needs dpdk-testpmd, of Debian's package dpdk-dev"; exit 77; }
ip netns add "$ns" || exit 77
enter="nsenter --net=/run/netns/$ns"
in_ns() { $enter "$@"; }
# What the server counts is to be the generator's alone.
in_ns sh -c '[ ! -e /proc/sys/net/ipv6 ] || echo 1 >/proc/sys/net/ipv6/conf/default/disable_ipv6'
in_ns ip link set lo up

fail() {
	echo "testpmd_test: $stage: $*"
	tail -n 40 "$dir/server.log"
	for log in "$dir"/tool*.log; do
		echo "--- ${log##*/}:"
		tail -n 40 "$log"
	done
	exit 1
}

# soon SECONDS COMMAND...: tries until it is true.
soon() {
	local tries=$(($1 * 20))
	shift
	until "$@"; do
		((tries-- > 0)) || return 1
		sleep 0.05
	done
}

eal() { echo "--no-huge --no-pci --no-telemetry --log-level=error -m ${2:-96} --file-prefix $id-$1"; }
# memif ROLE NUMBER [MORE]
memif() { echo "--vdev=net_memif$2,role=$1,id=$2,rsize=11,socket=$dir/memif,socket-abstract=no${3:-}"; }

# server_up OPTIONS: a memif for each of two generators, with the address that the captures are for; a tap
# is for clients.
server_up() {
	rm -f "$dir/memif" "$dir/server.log" "$dir/player.log"
	# shellcheck disable=SC2046 # words
	$enter "$bin/stormweir-echo" $(eal echo 256) --lcores 0@0 "$(memif server 0 ,mac=02:00:00:00:00:01)" \
		"$(memif server 1 ,mac=02:00:00:00:00:01)" --vdev=net_tap0,iface=tap -- \
		--port net_memif0 --address 10.0.0.1/8 "$@" --port net_memif1 --address 10.0.0.1/8 "$@" \
		--port net_tap0 --address 10.203.1.1/24 --peers 4000 --half-open 1024 --idle adaptive \
		--rxd 2048 --txd 2048 --packet-max 32768 >"$dir/server.log" 2>&1 &
	server=$!
	soon 20 grep -qs "echo: ready" "$dir/server.log" || fail "the server did not start"
	in_ns ip address add 10.203.1.2/24 dev tap
	in_ns ip link set tap up
	# Established before the flood, and there until after it.
	$enter "$bin/stormweir-gen-kernel" --tx-ip 10.203.1.1 --tx-udp 7777 --clients 16 --rate 400 \
		--forward-mode unreliable --seconds 60 --stats-period 1 >"$dir/player.log" 2>&1 &
	player=$!
	soon 20 played 1 || fail "the players do not play"
}

# Whole seconds in which echoes came.
played() { (($(grep -cs '^[1-9][0-9]* messages/s' "$dir/player.log" || true) >= $1)); }

# tool_up SCRIPT ARGUMENTS: testpmd by a script of this folder, at the server's next memif; it stays until
# all_down. What this shell keeps open must not stay open in it.
tool_up() {
	local script=$1 number=${#tools[@]} fed
	shift
	mkfifo "$dir/feed$number"
	(
		for fed in "${feeds[@]}"; do exec {fed}>&-; done
		# shellcheck disable=SC2046 # words
		exec "$here/$script" $(eal "tool$number") --lcores 0@1,1@1 "$(memif client "$number")" -- "$@" \
			<"$dir/feed$number" >"$dir/tool$number.log" 2>&1
	) &
	tools+=($!)
	exec {fed}>"$dir/feed$number"
	feeds+=("$fed")
}
tool_ended() { grep -qs "\.sh: done" "$dir/tool$1.log" || ! kill -0 "${tools[$1]}" 2>/dev/null; }
tool_begun() { grep -qs "\.sh: sends" "$dir/tool$1.log" || ! kill -0 "${tools[$1]}" 2>/dev/null; }
tool_started() { soon 60 tool_begun "$((${#tools[@]} - 1))" || fail "the $1 does not begin"; }
tool_done() { soon 60 tool_ended "$((${#tools[@]} - 1))" || fail "the $1 does not end"; }
tools_down() {
	local one
	for one in "${feeds[@]}"; do exec {one}>&-; done
	feeds=()
	for one in "${tools[@]}"; do wait "$one" || fail "testpmd: exit $?"; done
	tools=()
	rm -f "$dir"/feed*
}

# The players leave, the server stops, and testpmd after it.
all_down() {
	local seconds
	seconds=$(grep -c 'messages/s' "$dir/player.log" || true)
	soon 10 played_after "$seconds" || fail "the players do not play any more"
	kill -INT "$player"
	wait "$player" || fail "the players: exit $?: $(cat "$dir/player.log")"
	player=''
	grep -q '^failed 0$' "$dir/player.log" || fail "a player failed: $(cat "$dir/player.log")"
	kill -0 "$server" 2>/dev/null || fail "the server is gone"
	kill -INT "$server"
	wait "$server" || fail "the server: exit $?"
	server=''
	tools_down
	[[ -z $(counter enet timeouts) ]] || fail "a client timed out"
}
played_after() { tail -n +$(($1 + 1)) "$dir/player.log" | grep -q '^[1-9][0-9]* messages/s'; }

counter() { sed -n "s/^$1 0 $2 //p" "$dir/server.log"; }
refused() { awk '$1 == "enet" && $3 ~ /^refused_/ {n += $4} END {print n + 0}' "$dir/server.log"; }
# sent NUMBER: frames that a tool's testpmd put on the wire; came: that it had from there.
sent() { sed -n '/NIC statistics for port 0 /,/####*$/s/.*TX-packets: *\([0-9]*\) .*/\1/p' "$dir/tool$1.log" | tail -n 1; }
came() { sed -n '/NIC statistics for port 0 /,/####*$/s/.*RX-packets: *\([0-9]*\) .*/\1/p' "$dir/tool$1.log" | tail -n 1; }

# captured NAME COUNT [OPTIONS]: makes it; what the server must count is added to $dir/foretold.
captured() { "$bin/stormweir-pcap" "$1" "$dir/$1.pcap" --count "${@:2}" >>"$dir/foretold"; }
# joined NAMES: one capture of several, behind one file header.
joined() {
	local name
	head -c 24 "$dir/$1.pcap" >"$dir/all.pcap"
	for name in "$@"; do tail -c +25 "$dir/$name.pcap" >>"$dir/all.pcap"; done
}
stock_client() {
	in_ns "$bin/stormweir-echo-client" 10.203.1.1 7777 >"$dir/stock.log" 2>&1 ||
		fail "the stock client: $1: $(cat "$dir/stock.log")"
}
replayed() {
	tool_up replay.sh "$dir/all.pcap" "$dir/answers.pcap"
	stock_client "beside the replay"
	tool_done replay
}
as_foretold() {
	local group name count
	while read -r group name count; do
		[[ $(counter "$group" "$name") == "$count" ]] ||
			fail "$group $name: \"$(counter "$group" "$name")\", not $count"
	done <"$dir/foretold"
}
# answered KIND CAPTURE: what came back holds against it.
answered() { python3 "$here/answers.py" "$1" "$dir/$2.pcap" "$dir/answers.pcap" || fail "answers: $1 of $2"; }

stage="malformed frames, datagrams and probes; benchmark sessions"
: >"$dir/foretold"
captured malformed 4000
captured enet 1000
captured probe-bad 500
# Fewer than the wire's ring holds: should the generator be kept from running, no answer finds it full.
captured probe 1500
cp "$dir/foretold" "$dir/foretold4"
# Each kind has sessions of its own: numbers run over all that a session sends reliably.
captured unsequenced 2000 --sessions 100
captured unreliable 2000 --sessions 100 --client-ip 10.128.1.1
captured reliable 2000 --sessions 100 --client-ip 10.128.2.1
joined malformed enet probe-bad probe unsequenced unreliable reliable
"$bin/stormweir-pcap" unsequenced "$dir/loop.pcap" --count 4000 --sessions 1000 >/dev/null
server_up --benchmark-sessions 1000 --benchmark-acknowledged yes
grep -q "WARNING: benchmark: 1000 sessions without a handshake" "$dir/server.log" || fail "no warning"
replayed
tool_up loop.sh "$dir/loop.pcap" 1
tool_started loop
stock_client "while sessions speak at the wire's rate"
tool_done loop
all_down
cp "$dir/foretold4" "$dir/foretold"
as_foretold
answered probes probe
for kind in unsequenced unreliable reliable; do answered sessions "$kind"; done
(($(sent 1) > 10000 && $(came 1) > 10000)) || fail "$(sent 1) messages sent, $(came 1) datagrams back"
(($(counter enet delivered) >= $(sent 1))) || fail "$(sent 1) sent, $(counter enet delivered) delivered"

stage="txonly at the wire's rate, then IPv6, random bytes and connects"
: >"$dir/foretold"
captured malformed6 4000
cp "$dir/foretold" "$dir/foretold6"
captured random 2000
captured connect 20000
joined malformed6 random connect
server_up --address6 2001:db8::1/64
tool_up flood.sh 02:00:00:00:00:01 10.0.0.1 7777 1
tool_started flood
stock_client "while the flood comes"
stock_client "again"
tool_done flood
# Last: the connects leave a table full of handshakes, which stay for some seconds.
replayed
all_down
cp "$dir/foretold6" "$dir/foretold"
as_foretold
(($(refused) >= 1900)) || fail "random bytes: only $(refused) refusals"
verified=$(counter enet verifies_out)
# Of 1,024 places a quarter is kept for addresses that have played.
((verified >= 768)) || fail "only ${verified:-0} connects answered"
decided=$(awk '$3 ~ /^(verifies_out|refused_connect_.*)$/ {n += $4} END {print n + 0}' "$dir/server.log")
((decided >= 20000)) || fail "of 20000 connects only $decided are accounted for"
answered smaller connect
(($(sent 0) > 10000)) || fail "only $(sent 0) frames flooded"
named=$(awk '$3 ~ /^(drop|refused)_/ && $1 != "worker" {n += $4} END {print n + 0}' "$dir/server.log")
((named > 40000)) || fail "$(sent 0) frames flooded, $named refused by name"

stage="5tswap"
rm -f "$dir/memif"
mkfifo "$dir/swap"
# shellcheck disable=SC2046 # words
"$here/5tswap.sh" $(eal swap) --lcores 0@0,1@0 "$(memif server 0)" -- 60 <"$dir/swap" >"$dir/server.log" 2>&1 &
swap=$!
exec {fd}>"$dir/swap"
feeds+=("$fd")
soon 20 test -S "$dir/memif" || fail "no socket"
cp "$dir/probe.pcap" "$dir/all.pcap"
tool_up replay.sh "$dir/all.pcap" "$dir/answers.pcap"
tool_done replay
exec {fd}>&-
unset 'feeds[0]'
wait "$swap" || fail "5tswap: exit $?"
tools_down
answered swapped probe
echo "testpmd and the server get on"
