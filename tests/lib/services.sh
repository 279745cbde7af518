# services.sh: a private Redis and a private PostgreSQL 15 in a folder, on unix sockets, no TCP. What
# runs on the machine already is not touched. Sourced by ./dev run and by tests.
#
#   . tests/lib/services.sh
#   dir=$(services_folder)                 # a new temporary folder that both can use
#   services_redis_start "$dir"            # $dir/redis/redis.sock
#   services_postgres_start "$dir" off     # fsync: on or off; host=$dir/pgrun user=stormweir dbname=stormweir
#   services_postgres_stop "$dir"; services_redis_stop "$dir"; rm -rf "$dir"
#
# A start is idempotent: what runs already is left running. A start after a kill -9 works.
# shellcheck shell=bash

services_root=$(cd "$(dirname "${BASH_SOURCE[0]}")/../.." && pwd)
# shellcheck source=tools/process.sh
. "$services_root/tools/process.sh"

services_fail() {
	echo "services: $*" >&2
	return 1
}

# Socket paths end at 107 bytes (sun_path), so the folder must be short.
services_folder() {
	local dir
	dir=$(mktemp -d "/tmp/sw-services-XXXXXX") && chmod 711 "$dir" && echo "$dir"
}

services_postgres_bin() {
	local bin=/usr/lib/postgresql/15/bin
	[[ -x $bin/postgres ]] || {
		services_fail "PostgreSQL 15 is not installed in $bin; ./dev setup installs it"
		return 1
	}
	echo "$bin"
}

services_redis_start() {
	local dir=$1/redis
	[[ -n $(process_pid "$dir/redis.pid") ]] && return 0
	command -v redis-server >/dev/null ||
		services_fail "redis-server is not installed; ./dev setup installs it" || return 1
	mkdir -p "$dir" && chmod 700 "$dir" && rm -f "$dir/redis.sock" || return 1
	process_spawn "$dir/redis.pid" "$dir/redis.log" redis-server --port 0 \
		--unixsocket "$dir/redis.sock" --unixsocketperm 700 --dir "$dir" \
		--save '' --appendonly no --daemonize no
	process_wait_for 15 "$dir/redis.pid" redis-cli -s "$dir/redis.sock" ping && return 0
	tail -n 5 "$dir/redis.log" >&2
	services_redis_stop "$1"
	services_fail "Redis did not start; its log is $dir/redis.log"
}

services_redis_stop() {
	process_stop "$1/redis/redis.pid" TERM 10
}

# services_postgres_start DIR [on|off]: makes the cluster and the database at the first start. Data in
# DIR/pgdata, the socket in DIR/pgrun (its folder is closed to other users, so trust is enough).
services_postgres_start() {
	local dir=$1 fsync=${2:-on} bin data=$1/pgdata run=$1/pgrun attempt
	[[ -n $(process_pid "$dir/postgres.pid") ]] && return 0
	bin=$(services_postgres_bin) || return 1
	mkdir -p "$data" "$run" && chmod 700 "$data" "$run" || return 1
	((EUID != 0)) || chown postgres: "$data" "$run" || return 1
	# initdb is not atomic: a folder without our mark is what a killed initdb left.
	if [[ ! -e $data/stormweir-ready ]]; then
		find "$data" -mindepth 1 -delete
		"$services_root/tests/lib/as_postgres" "$bin/initdb" --pgdata="$data" --username=stormweir \
			--auth=trust --encoding=UTF8 --locale=C.UTF-8 --no-instructions \
			>"$dir/initdb.log" 2>&1 || {
			tail -n 5 "$dir/initdb.log" >&2
			services_fail "initdb failed"
			return 1
		}
		"$services_root/tests/lib/as_postgres" touch "$data/stormweir-ready"
	fi
	# The children of a server that was killed need a moment to end; until then a start is refused.
	for attempt in 1 2 3; do
		rm -f "$run"/.s.PGSQL.5432*
		process_spawn "$dir/postgres.pid" "$dir/postgres.log" \
			"$services_root/tests/lib/as_postgres" "$bin/postgres" -D "$data" \
			-c listen_addresses= -c "unix_socket_directories=$run" -c "fsync=$fsync" \
			-c max_connections=40 -c shared_buffers=64MB -c huge_pages=off -c jit=off \
			-c dynamic_shared_memory_type=mmap -c log_checkpoints=off
		if process_wait_for 60 "$dir/postgres.pid" services_sql "$dir" postgres 'SELECT 1'; then
			services_database "$dir" && return 0
		fi
		((attempt < 3)) && sleep 1
	done
	tail -n 5 "$dir/postgres.log" >&2
	services_postgres_stop "$dir"
	services_fail "PostgreSQL did not start; its log is $dir/postgres.log"
}

services_database() {
	local found
	found=$(services_sql "$1" postgres \
		"SELECT count(*) FROM pg_database WHERE datname = 'stormweir'") || return 1
	[[ $found == 1 ]] || services_sql "$1" postgres 'CREATE DATABASE stormweir' >/dev/null
}

# Fast shutdown: sessions are ended, nothing committed is lost.
services_postgres_stop() {
	process_stop "$1/postgres.pid" INT 30
}

# services_sql DIR DATABASE STATEMENT: runs it, prints the rows bare.
services_sql() {
	"$(services_postgres_bin)/psql" -XAtq -v ON_ERROR_STOP=1 -h "$1/pgrun" -U stormweir -d "$2" -c "$3"
}

services_conninfo() {
	echo "host=$1/pgrun user=stormweir dbname=stormweir"
}
