#!/usr/bin/env bash
# Proves that testpmd's floods do not harm the server, by the scripts that users run: captures of every
# malformed frame are counted by the foretold reasons, one for one; each probe comes back but for two
# bytes; a connect flood is never answered with more bytes than it has; through all of it, and through a
# flood at the wire's rate, established clients play on, and a stock libenet client connects.
# testpmd's 5tswap answers the same probes.
#   testpmd_test.sh FOLDER_OF_THE_PROGRAMS.  Exit 77: needs root, and dpdk-testpmd.
set -euo pipefail
here=$(cd "$(dirname "$0")" && pwd)
bin=$1
id=swp$$
ns=$id-ns
dir=$(mktemp -d)
server='' player='' tool='' fed=''

finish() {
	local pid
	# The scripts' testpmd goes with the end of its input.
	[[ -z $fed ]] || exec 9>&-
	for pid in $server $player; do
		kill -KILL "$pid" 2>/dev/null || true
	done
	[[ -z $tool ]] || wait "$tool" 2>/dev/null || true
	ip netns del "$ns" 2>/dev/null || true
	rm -rf "$dir" "/var/run/dpdk/$id"*
}
trap finish EXIT
trap 'exit 1' INT TERM

((EUID == 0)) || { echo "needs root: makes a network namespace"; exit 77; }
command -v dpdk-testpmd >/dev/null || { echo "needs dpdk-testpmd, of Debian's package dpdk"; exit 77; }
ip netns add "$ns" || exit 77
enter="nsenter --net=/run/netns/$ns"
in_ns() { $enter "$@"; }
# What the server counts is to be the generator's alone.
in_ns sh -c '[ ! -e /proc/sys/net/ipv6 ] || echo 1 >/proc/sys/net/ipv6/conf/default/disable_ipv6'
in_ns ip link set lo up

fail() {
	echo "testpmd_test: $stage: $*"
	tail -n 40 "$dir/server.log"
	echo "--- testpmd:"
	tail -n 40 "$dir/tool.log"
	exit 1
}

# soon SECONDS COMMAND...: tries until it is true.
soon() {
	local tries=$(($1 * 10))
	shift
	until "$@"; do
		((tries-- > 0)) || return 1
		sleep 0.1
	done
}

eal() { echo "--no-huge --no-pci --no-telemetry --log-level=error -m 192 --file-prefix $id-$1"; }
memif() { echo "--vdev=net_memif0,role=$1,id=0,rsize=11,socket=$dir/memif,socket-abstract=no${2:-}"; }

# server_up OPTIONS: the generator's memif has the address that the captures are for, a tap is for clients.
server_up() {
	rm -f "$dir/memif" "$dir/server.log" "$dir/player.log"
	# shellcheck disable=SC2046 # words
	$enter "$bin/stormweir-echo" $(eal echo) --lcores 0@0 "$(memif server ,mac=02:00:00:00:00:01)" \
		--vdev=net_tap0,iface=tap -- --port net_memif0 --address 10.0.0.1/8 "$@" \
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
played() { (($(grep -c '^[1-9][0-9]* messages/s' "$dir/player.log" || true) >= $1)); }

# tool_up SCRIPT ARGUMENTS: testpmd by a script of this folder; it stays until tool_down.
tool_up() {
	local script=$1
	shift
	rm -f "$dir/feed" "$dir/tool.log"
	mkfifo "$dir/feed"
	"$here/$script" "$@" <"$dir/feed" >"$dir/tool.log" 2>&1 &
	tool=$!
	exec 9>"$dir/feed"
	fed=1
}
tool_done() { grep -qs "\.sh: done" "$dir/tool.log" || ! kill -0 "$tool" 2>/dev/null; }
tool_down() {
	exec 9>&-
	fed=''
	wait "$tool" || fail "testpmd: exit $?"
	tool=''
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
	tool_down
	[[ -z $(counter enet timeouts) ]] || fail "a client timed out"
}
played_after() { tail -n +$(($1 + 1)) "$dir/player.log" | grep -q '^[1-9][0-9]* messages/s'; }

counter() { sed -n "s/^$1 0 $2 //p" "$dir/server.log"; }
refused() { awk '$1 == "enet" && $3 ~ /^refused_/ {n += $4} END {print n + 0}' "$dir/server.log"; }

# captured NAME COUNT: makes it; what the server must count is added to $dir/foretold.
captured() { "$bin/stormweir-pcap" "$1" "$dir/$1.pcap" --count "$2" >>"$dir/foretold"; }
# joined NAMES: one capture of several, behind one file header.
joined() {
	local name
	head -c 24 "$dir/$1.pcap" >"$dir/all.pcap"
	for name in "$@"; do tail -c +25 "$dir/$name.pcap" >>"$dir/all.pcap"; done
}
stock_client() {
	in_ns "$bin/stormweir-echo-client" 10.203.1.1 7777 >>"$dir/tool.log" 2>&1 || fail "the stock client: $1"
}
replayed() {
	# shellcheck disable=SC2046 # words
	tool_up replay.sh $(eal replay) --lcores 0@1,1@1 "$(memif client)" -- "$dir/all.pcap" "$dir/answers.pcap"
	stock_client "beside the replay"
	soon 60 tool_done || fail "the replay does not end"
}
as_foretold() {
	local group name count
	while read -r group name count; do
		[[ $(counter "$group" "$name") == "$count" ]] ||
			fail "$group $name: \"$(counter "$group" "$name")\", not $count"
	done <"$dir/foretold"
}

stage="malformed frames, datagrams and probes"
: >"$dir/foretold"
: >"$dir/tool.log"
captured malformed 4000
captured enet 1000
captured probe-bad 500
captured probe 3000
joined malformed enet probe-bad probe
server_up
replayed
all_down
as_foretold
python3 "$here/answers.py" probes "$dir/probe.pcap" "$dir/answers.pcap" || fail "answers to probes"

stage="IPv6, random bytes and connects"
: >"$dir/foretold"
captured malformed6 4000
cp "$dir/foretold" "$dir/foretold6"
captured random 2000
captured connect 20000
joined malformed6 random connect
server_up --address6 2001:db8::1/64
replayed
all_down
cp "$dir/foretold6" "$dir/foretold"
as_foretold
(($(refused) >= 1900)) || fail "random bytes: only $(refused) refusals"
verified=$(counter enet verifies_out)
((verified >= 1024)) || fail "only ${verified:-0} connects answered"
decided=$(awk '$3 ~ /^(verifies_out|refused_connect_.*)$/ {n += $4} END {print n + 0}' "$dir/server.log")
((decided >= 20000)) || fail "of 20000 connects only $decided are accounted for"
python3 "$here/answers.py" smaller "$dir/connect.pcap" "$dir/answers.pcap" || fail "answers to connects"

stage="txonly at the wire's rate"
server_up
# shellcheck disable=SC2046 # words
tool_up flood.sh $(eal flood) --lcores 0@1,1@1 "$(memif client)" -- 02:00:00:00:00:01 10.0.0.1 7777 3
stock_client "while the flood comes"
stock_client "again"
soon 60 tool_done || fail "the flood does not end"
all_down
sent=$(sed -n 's/.*TX-packets: *\([0-9]*\) .*/\1/p' "$dir/tool.log" | tail -n 1)
((sent > 10000)) || fail "only ${sent:-0} frames flooded"
named=$(awk '$3 ~ /^(drop|refused)_/ && $1 != "worker" {n += $4} END {print n + 0}' "$dir/server.log")
((named > 10000)) || fail "$sent frames flooded, $named refused by name"

stage="5tswap"
rm -f "$dir/memif"
mkfifo "$dir/swap"
# shellcheck disable=SC2046 # words
"$here/5tswap.sh" $(eal swap) --lcores 0@0,1@0 "$(memif server)" -- 60 <"$dir/swap" >"$dir/server.log" 2>&1 &
swap=$!
exec 8>"$dir/swap"
soon 20 test -S "$dir/memif" || fail "no socket"
cp "$dir/probe.pcap" "$dir/all.pcap"
# shellcheck disable=SC2046 # words
tool_up replay.sh $(eal replay) --lcores 0@1,1@1 "$(memif client)" -- "$dir/all.pcap" "$dir/answers.pcap"
soon 60 tool_done || fail "the replay does not end"
exec 8>&-
wait "$swap" || fail "5tswap: exit $?"
tool_down
python3 "$here/answers.py" swapped "$dir/probe.pcap" "$dir/answers.pcap" || fail "answers of 5tswap"
echo "testpmd and the server get on"
