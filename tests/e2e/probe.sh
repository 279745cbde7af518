#!/usr/bin/env bash
# probe.sh BIN: the stateless probe on the whole machine, over AF_XDP: the server says that it is ready, full,
# closed while Redis is away, ready again, and draining while it stops; over IPv4 and IPv6. Then the counters say how
# many were answered, and that the engine was asked for none.
#
# Leaves nothing behind: no process, namespace, interface or file.
set -uo pipefail
# shellcheck source=tests/e2e/e2e.sh
. "$(dirname "$0")/e2e.sh"
e2e_begin "$@"

probe() {
	stage_client "$stage_bin/stormweir-probe" "${1:-$wire_server_ip}" 7777
}

# probe_until WORDS [ADDRESS]
probe_until() {
	local turns=20 said
	until said=$(probe "${2:-}"); [[ $said == *"$1"* ]]; do
		((turns-- > 0)) || die "the probe never said \"$1\", but \"$said\""
		sleep 0.1
	done
	step "$said"
}


# One player fits, and the port has an IPv6 address.
sed -i -e 's/^  players_max: 2000$/  players_max: 1/' \
	-e 's|^    address: .*|&\n    address6: 2001:db8:77::1/64|' "$stage_dir/node.yaml"
six=0
if [[ -e /proc/sys/net/ipv6 ]]; then
	six=1
	stage_client sh -c "echo 0 >/proc/sys/net/ipv6/conf/$stage_client_end/disable_ipv6"
	stage_client ip address add 2001:db8:77::2/64 dev "$stage_client_end" nodad
fi

step "ready"
stage_server_start || die "the server did not start"
probe_until "takes players"
((!six)) || probe_until "takes players" 2001:db8:77::1

step "full, and ready again"
bots_start one 7001 1
probe_until "is full"
until_is 1 admission_players # the place is taken at the login; on the map is a little later
bots_leave one
probe_until "takes players"

step "closed while Redis is away"
kill_hard "$stage_dir/redis/redis.pid"
probe_until "lets nobody in now"
services_redis_start "$stage_dir" || die "Redis did not start again"
probe_until "takes players"
answered=$(metric dataplane_probe_replies_total)
((answered >= 12)) || die "probe_replies is \"$answered\""
is 0 dataplane_drop_probe_malformed_total

step "draining"
# The last save cannot be committed while the database stands still, so the stop waits.
bots_start last 7002 1 --expect-disconnect SERVER_STOPPING
probe_until "is full"
until_is 1 admission_players
mapfile -t backends < <(pgrep -P "$(process_pid "$stage_dir/postgres.pid")")
kill -STOP "${backends[@]}"
kill -TERM "$(process_pid "$stage_dir/stormweir.pid")"
probe_until "takes nobody new"
kill -CONT "${backends[@]}"
bots_wait last
stage_server_stop || die "the server did not stop in order"
e2e_passed
