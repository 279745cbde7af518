#!/usr/bin/env bash
# hostile.sh BIN [ATTACK...]: clients that break every rule of the protocol (hostile.py), beside 30 stock bots that are
# not to notice: none is disconnected, loses a reliable message or is corrected. Each refusal is in /metrics by name.
# With the programs of an asan build this is the same under sanitizers.
set -uo pipefail
here=$(cd "$(dirname "$0")" && pwd)
# shellcheck source=tests/e2e/e2e.sh
. "$here/../e2e/e2e.sh"
e2e_begin "$1"
shift
export PYTHONDONTWRITEBYTECODE=1

# One address must not keep others out. The attackers that play come from one, several hundred of them within
# seconds; the flood, from another, is far above the rate.
sed -i 's/source_connects_per_s: .*/source_connects_per_s: 50/; s/source_connects_burst: .*/source_connects_burst: 800/' \
	"$stage_dir/node.yaml"
wire_in "$stage_ns" ip address add 10.77.0.9/24 dev "$stage_client_end" || die "no second address"
stage_server_start || die "the server did not start"
bots_start good 3001 30 --connects-per-s 20 --expect-enters 1 --report "$stage_run/good.json"
for ((turns = 0; $(metric simulation_players) < 30; turns++)); do
	((turns < 200)) || die "the bots do not join"
	sleep 0.1
done

# Tickets of many characters, and several of one character, as hostile.py says.
tickets=$stage_run/hostile
stage_tickets 5001 400 evil "$tickets" || die "no tickets"
for character in 1 1 2 2 3 3 3 3 3 3 3 3 4 4 4 4 4 4 $(yes 5 | head -n 12) $(yes 6 | head -n 50); do
	"$bin/swctl" ticket --key "$stage_key" --character $((9000 + character)) --name "same$character" --ttl 3600 ||
		die "no ticket"
done >"$tickets.same"
python3 "$here/hostile.py" "$(process_pid "$stage_dir/stormweir.pid")" "$stage_ns" "$wire_server_ip" 7777 \
	"http://127.0.0.1:$stage_http_port/metrics" "$tickets" "$@"
case $? in
0) ;;
77)
	step "skipped: not all was as it has to be, but the machine kept the server from running, which says nothing of it"
	exit 77
	;;
*) die "not all was refused as it has to be" ;;
esac

step "the bots beside"
bots_leave good
# Corrections are shown only: a machine that stands still for half a second makes them without any attacker.
jq -e '.totals | .reliable_lost == 0 and .unreadable == 0 and .well == .bots' \
	"$stage_run/good.json" >/dev/null || die "the bots were disturbed: $(jq -c .totals "$stage_run/good.json")"
stage_server_stop || die "the server did not stop in order"
! grep -E 'ERROR: AddressSanitizer|runtime error:|CHECK|^level=error forged' "$stage_log/stormweir.log" || die "the server's log has a fault"
e2e_passed
