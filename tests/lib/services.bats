# Proves: the private services start on unix sockets alone, survive a kill -9 with what was committed,
# are stopped whole, and a pid that belongs to a stranger by now is never signalled.

setup() {
	root=$(cd "$BATS_TEST_DIRNAME/../.." && pwd)
	. "$root/tests/lib/services.sh"
	dir=$(services_folder)
}

# kill -9, and wait: the kernel ends a process some time after the signal.
slay() {
	kill -9 "$(process_pid "$1")"
	for _ in $(seq 200); do
		[ -n "$(process_pid "$1")" ] || return 0
		sleep 0.05
	done
	return 1
}

teardown() {
	services_postgres_stop "$dir" || true
	services_redis_stop "$dir" || true
	rm -rf "$dir"
}

@test "PostgreSQL keeps what was committed over a kill -9" {
	services_postgres_start "$dir" on
	services_postgres_start "$dir" on # the second start finds it running
	services_sql "$dir" stormweir 'CREATE TABLE t(a int); INSERT INTO t VALUES (7)'
	slay "$dir/postgres.pid"
	services_postgres_start "$dir" on
	[ "$(services_sql "$dir" stormweir 'SELECT a FROM t')" = 7 ]
	[ "$(services_sql "$dir" stormweir 'SHOW listen_addresses')" = "" ]
	pid=$(process_pid "$dir/postgres.pid")
	services_postgres_stop "$dir"
	[ ! -d "/proc/$pid" ]
}

@test "a half-made cluster is made anew" {
	mkdir "$dir/pgdata" && echo 15 >"$dir/pgdata/PG_VERSION"
	services_postgres_start "$dir" off
	[ "$(services_sql "$dir" stormweir 'SELECT 1')" = 1 ]
}

@test "Redis starts again over a stale socket" {
	services_redis_start "$dir"
	slay "$dir/redis/redis.pid"
	services_redis_start "$dir"
	[ "$(redis-cli -s "$dir/redis/redis.sock" config get port | tail -n 1)" = 0 ]
	services_redis_stop "$dir"
	[ ! -e "$dir/redis/redis.pid" ]
}

@test "a stranger that has the pid now is left alone" {
	sleep 60 &
	stranger=$!
	echo "$stranger 1" >"$dir/x.pid"
	[ -z "$(process_pid "$dir/x.pid")" ]
	process_stop "$dir/x.pid" KILL 1
	kill -0 "$stranger"
	[ ! -e "$dir/x.pid" ]
	kill "$stranger"
}

@test "a process that ignores TERM is killed in the end, and that is said" {
	process_spawn "$dir/x.pid" /dev/null sh -c 'trap "" TERM; while :; do sleep 0.1; done'
	sleep 0.2
	pid=$(process_pid "$dir/x.pid")
	run process_stop "$dir/x.pid" TERM 1
	[ "$status" -eq 1 ]
	[ ! -d "/proc/$pid" ]
}

@test "with_services passes the exit code on and leaves nothing" {
	run "$root/tests/lib/with_services" redis -- sh -c 'echo "$SW_TEST_REDIS"; exit 7'
	[ "$status" -eq 7 ]
	[[ "$output" == unix:/tmp/sw-services-* ]]
	[ ! -e "$(dirname "$(dirname "${output#unix:}")")" ]
	run "$root/tests/lib/with_services" mysql -- true
	[ "$status" -eq 2 ]
	run "$root/tests/lib/with_services" redis
	[ "$status" -eq 2 ]
}
