# cluster_stage.sh: a second node beside that of the stage, on the same PostgreSQL and one Redis, with a replica and three
# Sentinels. Sourced after tests/e2e/e2e.sh and e2e_begin; what it starts, e2e_end stops.
#
#   cluster_up          Redis, replica, Sentinels, the second wire, and both configurations; nodes are called a and b
#   cluster_start a|b   cluster_stop a|b   cluster_kill a|b
#   on a|b COMMAND      a command of e2e.sh or stage.sh at that node: on b metric simulation_players
#   redis COMMAND       at whoever is the master now
# shellcheck shell=bash
# shellcheck disable=SC2034,SC2154 # stage_* and wire_* are of tools/, and used there

cluster_sentinels=3

on() {
	local node=$1
	shift
	if [[ $node == b ]]; then
		local stage_dir=$cluster_b stage_log=$cluster_b/log stage_http_port=$cluster_b_port
		local stage_prefix=$stage_prefix-b stage_server_end=${stage_server_end}b wire_server_ip=10.77.1.1
	fi
	"$@"
}

# cluster_redis NAME OPTION...: a redis-server on 127.0.0.1, on a port that it keeps when it is started again.
cluster_redis() {
	local name=$1 port_file=$cluster_redis/$1.port
	shift
	[[ -s $port_file ]] || stage_free_port >"$port_file"
	process_spawn "$stage_run/redis-$name.pid" "$stage_log/redis-$name.log" redis-server --bind 127.0.0.1 \
		--port "$(cat "$port_file")" --dir "$cluster_redis" --save '' --appendonly no --daemonize no \
		--repl-diskless-sync-delay 0 "$@"
	process_wait_for 15 "$stage_run/redis-$name.pid" redis-cli -p "$(cat "$port_file")" ping
}

cluster_port() { cat "$cluster_redis/$1.port"; }

cluster_sentinel() {
	local n=$1 port
	port=$(stage_free_port)
	echo "$port" >"$cluster_redis/sentinel-$n.port"
	cat >"$cluster_redis/sentinel-$n.conf" <<-CONF
		bind 127.0.0.1
		port $port
		dir $cluster_redis
		sentinel monitor game 127.0.0.1 $(cluster_port first) 2
		sentinel down-after-milliseconds game 1000
		sentinel failover-timeout game 6000
	CONF
	process_spawn "$stage_run/sentinel-$n.pid" "$stage_log/sentinel-$n.log" redis-sentinel \
		"$cluster_redis/sentinel-$n.conf"
	process_wait_for 15 "$stage_run/sentinel-$n.pid" redis-cli -p "$port" ping
}

# cluster_sentinel_says FIELD VALUE
cluster_sentinel_says() {
	redis-cli -p "$(cat "$cluster_redis/sentinel-1.port")" sentinel master game | grep -A1 -x "$1" | tail -n 1 | grep -qx "$2"
}

cluster_master() {
	redis-cli -p "$(cat "$cluster_redis/sentinel-1.port")" sentinel get-master-addr-by-name game | tail -n 1
}

redis() { redis-cli -p "$(cluster_master)" "$@"; }

# waits_until WHAT COMMAND...: up to 60 s.
waits_until() {
	local turns=600 what=$1
	shift
	until "$@" >/dev/null 2>&1; do
		((turns-- > 0)) || die "never: $what"
		sleep 0.1
	done
}

# cluster_config NAME FILE: the stage's configuration for a node.
cluster_config() {
	local n list=''
	for ((n = 1; n <= cluster_sentinels; n++)); do
		list+="{address: \"127.0.0.1:$(cat "$cluster_redis/sentinel-$n.port")\"}, "
	done
	sed -e "s|^  name: dev|  name: $1|" -e "s|^  address: unix:.*redis.sock|  sentinels: [$list]\n  master_name: game|" \
		-e "s|peers_max: 2048|peers_max: 256|" -e "s|players_max: 2048|players_max: 256|" \
		-e "s|players_max: 2000|players_max: 200|" "$stage_dir/node.yaml"
}

cluster_up() {
	local n
	cluster_redis=$stage_dir/cluster-redis
	cluster_b=$stage_dir/b
	cluster_b_port=$(stage_free_port)
	mkdir -p "$cluster_redis" "$cluster_b/log" || return 1
	services_redis_stop "$stage_dir"
	cluster_redis first && cluster_redis second --replicaof 127.0.0.1 "$(cluster_port first)" || return 1
	for ((n = 1; n <= cluster_sentinels; n++)); do
		cluster_sentinel "$n" || return 1
	done
	waits_until "the Sentinels know each other" cluster_sentinel_says num-other-sentinels 2
	waits_until "the Sentinels know the replica" cluster_sentinel_says num-slaves 1
	cluster_config b >"$cluster_b/node.yaml"
	sed -i -e "s|10.77.0.1/24|10.77.1.1/24|" -e "s|127.0.0.1:$stage_http_port|127.0.0.1:$cluster_b_port|" \
		-e "s|orders.journal|orders-b.journal|" "$cluster_b/node.yaml"
	cluster_config a >"$stage_dir/node.yaml.new" && mv "$stage_dir/node.yaml.new" "$stage_dir/node.yaml"
	"$stage_bin/stormweir-config" --check "$stage_dir/node.yaml" >/dev/null &&
		"$stage_bin/stormweir-config" --check "$cluster_b/node.yaml" >/dev/null || return 1
	wire_add "$stage_ns" "${stage_server_end}b" "${stage_client_end}b" 10.77.1.2
}

# Beside e2e_end, which knows of one server.
cluster_down() {
	on b stage_server_stop
	[[ ! -e /sys/class/net/${stage_server_end}b ]] || ip link delete "${stage_server_end}b"
}

cluster_start() { on "$1" stage_server_start || die "node $1 did not start"; }
cluster_stop() { on "$1" stage_server_stop || die "node $1 did not stop in good order"; }
cluster_kill() {
	on "$1" kill_node
}
kill_node() {
	kill_hard "$stage_dir/stormweir.pid"
	rm -rf "/run/dpdk/$stage_prefix"
}
