# run.sh: ./dev run and ./dev clean. Sourced by ./dev.
# shellcheck shell=bash
# shellcheck disable=SC2154 # dev_name, dev_state and their like are ./dev's

run_arguments() {
	run_bots=100
	run_seconds=0
	run_preset=dev
	while (($#)); do
		case $1 in
		--bots | --seconds)
			[[ ${2:-} =~ ^[0-9]{1,6}$ ]] || usage "$1 takes a number"
			;;
		--preset)
			preset_check "${2:-}"
			;;
		*)
			usage "run does not know $1"
			;;
		esac
		case $1 in
		--bots) run_bots=$2 ;;
		--seconds) run_seconds=$2 ;;
		--preset) run_preset=$2 ;;
		esac
		shift 2
	done
	if [[ ! $dev_http_port =~ ^[1-9][0-9]{0,4}$ ]] || ((dev_http_port > 65535)); then
		usage "STORMWEIR_HTTP_PORT is a port number, not \"$dev_http_port\""
	fi
}

# One at a time in a checkout. fd 9 closes with this process, however it ends.
run_lock() {
	mkdir -p "$dev_state" || die "$dev_state cannot be made"
	exec 9>"$dev_state/lock"
	flock -n 9 || die "./dev run is active in this checkout already; stop it with Ctrl-C there"
}

run_stop() {
	trap '' INT TERM HUP # a second Ctrl-C does not interrupt the last saves
	trap - EXIT
	echo "dev: stopping: bots, server (it saves everyone), Redis, PostgreSQL, wire"
	stage_down || run_failed=1
	echo "dev: stopped; players' data stays in $dev_state until ./dev clean"
	exit "${run_failed:-0}"
}

run() {
	run_arguments "$@"
	# Built is built as the user, so that nothing in the checkout belongs to root.
	if [[ ${STORMWEIR_BUILT:-} != 1 ]]; then
		setup
		build "$run_preset"
	fi
	if ((EUID != 0)); then
		command -v sudo >/dev/null || die "run needs root for its wire, or sudo"
		exec sudo STORMWEIR_HTTP_PORT="$dev_http_port" STORMWEIR_NO_HUGE="${STORMWEIR_NO_HUGE:-}" \
			STORMWEIR_BUILT=1 "$root/dev" run "$@"
	fi
	# shellcheck source=tools/stage.sh
	. "$root/tools/stage.sh"
	run_lock
	stage_init "$dev_state" "$dev_name" "$run_preset" "$dev_http_port"
	run_failed=1
	trap run_stop EXIT
	trap 'run_failed=0; exit' INT TERM HUP
	stage_up && stage_server_start || exit
	if ((run_bots)); then
		stage_bots_start "$run_bots" || exit
	fi
	run_say
	run_watch
}

run_say() {
	local memory=hugepages sudo=${SUDO_USER:+sudo }
	[[ $stage_memory == --huge-dir ]] || memory='ordinary pages'
	cat <<TEXT

Stormweir is up on $wire_server_ip:7777 (AF_XDP on $stage_server_end, $memory), with $run_bots bots in namespace $stage_ns.

  watch     watch -n 1 ./dev swctl status --http 127.0.0.1:$dev_http_port
            curl -s http://127.0.0.1:$dev_http_port/metrics     and /health, /status
            ${sudo}tail -f $stage_log/stormweir.log
            a browser at http://127.0.0.1:$dev_http_port/
  order     ${sudo}$stage_bin/swctl player bot7 --http 127.0.0.1:$dev_http_port --token $stage_token
            and kick, instance open, instance close; swctl help lists them
  play      ${sudo}$stage_bin/swctl ticket --key $stage_key \\
                --character 1 --name you --raw --out /tmp/you.ticket
            ${sudo}nsenter --net=/run/netns/$stage_ns $stage_bin/stormweir-walk $wire_server_ip 7777 /tmp/you.ticket \\
                $stage_root/lua/content/maps/*.tmj
            or your own client in that namespace; a ticket is good once, for 5 minutes
  stop      Ctrl-C

TEXT
}

# Until the time is over or the server ends by itself.
run_watch() {
	local end=$((SECONDS + run_seconds))
	while [[ -n $(process_pid "$stage_dir/stormweir.pid") ]]; do
		if ((run_seconds && SECONDS >= end)); then
			run_failed=0
			exit
		fi
		sleep 0.5 &
		wait $! # a signal ends wait at once, not sleep
	done
	tail -n 20 "$stage_log/stormweir.log" >&2
	echo "dev: stormweir has ended by itself; its log is $stage_log/stormweir.log" >&2
	exit 1
}

clean() {
	[[ -e $dev_state ]] || return 0
	if ((EUID != 0)); then
		command -v sudo >/dev/null || die "clean needs root, or sudo"
		exec sudo "$root/dev" clean
	fi
	# shellcheck source=tools/stage.sh
	. "$root/tools/stage.sh"
	run_lock
	stage_init "$dev_state" "$dev_name" dev "$dev_http_port"
	stage_down || die "something of a killed run could not be stopped"
	rm -rf "$dev_state"
	rmdir --ignore-fail-on-non-empty "$(dirname "$dev_state")"
	echo "dev: removed $dev_state"
}
