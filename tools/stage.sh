# stage.sh: everything that one running server needs, in one folder and under one name: private
# Redis and PostgreSQL, ticket key, wire, configuration, the server itself and bots. ./dev run and the
# end-to-end tests stand on it. Needs root.
#
#   stage_init FOLDER NAME PRESET HTTP-PORT [on|off]  names only, no effect. NAME: at most 8 letters
#                                                     or digits. The last is PostgreSQL's fsync
#   stage_up        services, key, wire, configuration; cleans up after a killed run first
#   stage_server_start / stage_server_stop
#   stage_tickets FIRST-CHARACTER COUNT NAME FILE
#   stage_client COMMAND...                           runs a client in the namespace
#   stage_bots_start COUNT [bot options]
#   stage_down      stops all, in order; what players have done stays in FOLDER
#
# Each says on standard error what failed, and returns non-zero.
# shellcheck shell=bash

stage_root=$(cd "$(dirname "${BASH_SOURCE[0]}")/.." && pwd)
# shellcheck source=tests/lib/services.sh
. "$stage_root/tests/lib/services.sh"
# shellcheck source=tools/wire.sh
. "$stage_root/tools/wire.sh"

stage_fail() {
	echo "stage: $*" >&2
	return 1
}

stage_init() {
	stage_dir=$1
	stage_name=$2
	stage_bin=$stage_root/build/$3/bin
	stage_http_port=$4
	stage_fsync=${5:-on}
	stage_run=$stage_dir/run
	stage_log=$stage_dir/log
	stage_key=$stage_dir/keys/ticket-1.key
	stage_ns=sw-$stage_name
	stage_server_end=sw${stage_name}s
	stage_client_end=sw${stage_name}c
	stage_prefix=stormweir-$stage_name
}

# True when something listens on 127.0.0.1:PORT.
stage_port_taken() {
	(exec 3<>"/dev/tcp/127.0.0.1/$1") 2>/dev/null
}

# A port for /metrics that nothing listens on now.
stage_free_port() {
	local port
	while :; do
		port=$((20000 + RANDOM % 10000))
		stage_port_taken $port || break
	done
	echo $port
}

# The first two CPUs that this process may use; twice the same on a machine with one.
stage_cpus() {
	local list part cpus=()
	list=$(sed -n 's/^Cpus_allowed_list:\s*//p' /proc/self/status)
	for part in ${list//,/ }; do
		mapfile -t -O ${#cpus[@]} cpus < <(seq "${part%-*}" "${part#*-}")
	done
	echo "${cpus[0]} ${cpus[1]:-${cpus[0]}}"
}

stage_up() {
	stage_down || return 1
	if stage_port_taken "$stage_http_port"; then
		stage_fail "port $stage_http_port of 127.0.0.1, for /metrics and /health, is taken;" \
			"choose another with STORMWEIR_HTTP_PORT=9101 ./dev run"
		return 1
	fi
	# The postgres user passes through this folder.
	mkdir -p "$stage_dir" "$stage_run" "$stage_log" "$(dirname "$stage_key")" &&
		chmod 711 "$stage_dir" && chmod 700 "$stage_run" "$(dirname "$stage_key")" || return 1
	services_redis_start "$stage_dir" && services_postgres_start "$stage_dir" "$stage_fsync" &&
		stage_ticket_key && stage_operator && stage_pass_keys && stage_config &&
		wire_up "$stage_ns" "$stage_server_end" "$stage_client_end"
}

# The key pair stays with the player data: tickets that were given out go on working.
stage_ticket_key() {
	local yaml=$stage_dir/keys/ticket-1.yaml
	[[ -s $stage_key && -s $yaml ]] && return 0
	rm -f "$stage_key" "$yaml"
	"$stage_bin/swctl" ticket-key --out-dir "$(dirname "$stage_key")" --id 1 >"$yaml.new" &&
		mv "$yaml.new" "$yaml"
}

# The one operator of a stage; its token is the server's list and the operator's own file in one.
stage_operator() {
	stage_token=$(dirname "$stage_key")/operator.token
	grep -qs ' admin ' "$stage_token" && return 0
	(umask 077 && "$stage_bin/swctl" token "${SUDO_USER:-${USER:-operator}}" admin >"$stage_token.new") &&
		mv "$stage_token.new" "$stage_token"
}

# What passes are sealed with stays, too: players come back after a restart.
stage_pass_keys() {
	local file
	file=$(dirname "$stage_key")/pass.keys
	[[ -s $file ]] || "$stage_bin/swctl" pass-key new "$file"
}

stage_config() {
	local public
	public=$(sed -n 's/.*public_key: *"\?\([0-9a-f]\{64\}\).*/\1/p' "$stage_dir/keys/ticket-1.yaml")
	sed -e "s|@CONTENT@|$stage_root/lua/content|" -e "s|@TICKET_KEY@|$public|" \
		-e "s|@REDIS_SOCKET@|$stage_dir/redis/redis.sock|" \
		-e "s|@POSTGRES_SOCKETS@|$stage_dir/pgrun|" -e 's|@POSTGRES_USER@|stormweir|' \
		-e "s|@HTTP_PORT@|$stage_http_port|" -e "s|@OPERATORS@|$(dirname "$stage_key")|" \
		"$stage_root/configs/dev.yaml" >"$stage_dir/node.yaml" &&
		"$stage_bin/stormweir-config" --check "$stage_dir/node.yaml" >/dev/null
}

stage_healthy() {
	curl -fsS --max-time 2 "http://127.0.0.1:$stage_http_port/health"
}

# A test may put words before the server: stage_wrap=(env LD_PRELOAD=...). They must exec it.
stage_wrap=()

# EAL lcores besides the main one, dealt to the two CPUs in turn: 1 to this number.
stage_lcores=1

# Megabytes for DPDK: packet buffers of the port, rings and engine tables of configs/dev.yaml.
stage_memory_mb=512

# stage_spawn EAL-OPTION...: starts the server; fails when it does not become healthy. stage_memory says
# which memory it got: --huge-dir or --no-huge.
stage_spawn() {
	local cpus lcores i
	read -ra cpus <<<"$(stage_cpus)"
	lcores=0@${cpus[0]}
	for ((i = 1; i <= stage_lcores; i++)); do
		lcores+=,$i@${cpus[i % 2]}
	done
	: >"$stage_log/stormweir.log"
	process_spawn "$stage_dir/stormweir.pid" "$stage_log/stormweir.log" \
		"${stage_wrap[@]}" "$stage_bin/stormweir" \
		--lcores "$lcores" --no-pci --file-prefix "$stage_prefix" \
		"$@" --vdev "net_af_xdp0,iface=$stage_server_end,busy_budget=0" \
		-- --config "$stage_dir/node.yaml"
	# shellcheck disable=SC2034 # for who sources this
	stage_memory=$1
	process_wait_for 60 "$stage_dir/stormweir.pid" stage_healthy
}

stage_server_start() {
	ulimit -l unlimited 2>/dev/null # AF_XDP's packet memory is locked
	if [[ ${STORMWEIR_NO_HUGE:-} != 1 ]] && huge_borrow "$stage_dir" $((stage_memory_mb / 2)); then
		stage_spawn --huge-dir "$stage_dir/huge" -m "$stage_memory_mb" && return 0
		# Free pages belong to whoever takes them first, and someone may have been quicker.
		if grep -q 'EAL: .*Cannot init memory' "$stage_log/stormweir.log"; then
			stage_server_stop && stage_spawn --no-huge -m "$stage_memory_mb" && return 0
		fi
	else
		stage_spawn --no-huge -m "$stage_memory_mb" && return 0
	fi
	tail -n 20 "$stage_log/stormweir.log" >&2
	stage_fail "stormweir did not become healthy; its log is $stage_log/stormweir.log"
}

# Gives the last saves the time they may take (node.stop_deadline and some more).
stage_server_stop() {
	local killed=0
	process_stop "$stage_dir/stormweir.pid" TERM 40 || {
		killed=1
		stage_fail "stormweir did not end in time and was killed"
	}
	huge_return "$stage_dir"
	rm -rf "/run/dpdk/$stage_prefix" /dev/hugepages/"$stage_prefix"map_*
	return $killed
}

stage_tickets() {
	"$stage_bin/swctl" ticket --key "$stage_key" --first-character "$1" --account 1 --count "$2" \
		--name "$3" --ttl 3600 --out "$4"
}

stage_client() {
	wire_in "$stage_ns" "$@"
}

# stage_bots_start COUNT [options]: each start takes fresh tickets for the same characters.
stage_bots_start() {
	local count=$1
	shift
	: >"$stage_log/bots.log"
	stage_tickets 1000001 "$count" bot "$stage_run/bots.tickets" || return 1
	process_spawn "$stage_dir/bots.pid" "$stage_log/bots.log" nsenter --net="/run/netns/$stage_ns" \
		"$stage_bin/stormweir-bot" --server "$wire_server_ip" --port 7777 \
		--tickets "$stage_run/bots.tickets" --bots "$count" \
		--maps "$stage_root/lua/content/maps" "$@"
}

stage_down() {
	local failed=0
	[[ -d $stage_dir ]] || return 0
	process_stop "$stage_dir/bots.pid" INT 15 || failed=1
	stage_server_stop || failed=1
	services_redis_stop "$stage_dir" || failed=1
	services_postgres_stop "$stage_dir" || failed=1
	wire_down "$stage_ns" "$stage_server_end" || failed=1
	rm -rf "$stage_run" "$stage_dir/node.yaml" "$stage_dir/redis" "$stage_dir/huge" || failed=1
	return $failed
}
