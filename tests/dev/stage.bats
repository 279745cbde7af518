# Proves: what ./dev run stands on leaves nothing behind, neither after an orderly stop, nor after a
# failed start, nor after a kill -9 of everything and a second start; players' data and the ticket key
# stay; two names do not meet. The server and the bot are stand-ins; Redis, PostgreSQL, the wire and
# swctl are real. Needs root and network namespaces.

setup() {
	root=$(cd "$BATS_TEST_DIRNAME/../.." && pwd)
	((EUID == 0)) || skip "needs root"
	unshare --net true 2>/dev/null || skip "needs network namespaces"
	[ -x "$root/build/dev/bin/swctl" ] || skip "needs build/dev/bin/swctl"
	. "$root/tools/stage.sh"
	folder=$(mktemp -d /tmp/sw-stage-XXXXXX)
	use "$folder" "t${folder: -6}"
}

# use FOLDER NAME: a stage whose programs are the stand-ins.
use() {
	stage_init "$1" "$(tr -dc 'a-zA-Z0-9' <<<"$2")" dev "$(stage_free_port)" off
	stage_bin=$1/bin
	mkdir -p "$stage_bin"
	ln -sf "$BATS_TEST_DIRNAME"/fake/* "$root"/build/dev/bin/{swctl,stormweir-config} "$stage_bin/"
}

teardown() {
	[ -n "${folder:-}" ] || return 0
	stage_down || true
	rm -rf "$folder"
}

# Nothing of the stage is left: no process, namespace, interface, mount, runtime file.
assert_clean() {
	local pid
	[ ! -e "/run/netns/$stage_ns" ]
	[ ! -e "/sys/class/net/$stage_server_end" ]
	[ ! -e "/run/dpdk/$stage_prefix" ]
	if mountpoint -q "$stage_dir/huge"; then return 1; fi
	[ ! -e "$stage_run" ]
	for pid in /proc/[0-9]*; do
		if tr '\0' ' ' <"$pid/cmdline" 2>/dev/null | grep -qF "$stage_dir/"; then
			echo "left: $pid $(tr '\0' ' ' <"$pid/cmdline")"
			return 1
		fi
	done
}

# kill -9 of all that runs, as a crash of the terminal would leave it.
slay_all() {
	local file pid
	for file in "$stage_dir"/{bots,stormweir,postgres}.pid "$stage_dir/redis/redis.pid"; do
		pid=$(process_pid "$file")
		kill -9 "$pid"
		while [ -n "$(process_pid "$file")" ]; do sleep 0.05; done
	done
}

start_all() {
	stage_up && stage_server_start && stage_bots_start 3
}

@test "an orderly stop leaves nothing but data, which the next start finds" {
	start_all
	[ -n "$(process_pid "$stage_dir/bots.pid")" ]
	grep -q 10.77.0.2/24 "$stage_log/bots.log"
	[ "$(wc -l <"$stage_run/bots.tickets")" -eq 3 ]
	[ "$(cat "/proc/sys/net/ipv6/conf/$stage_server_end/disable_ipv6" || echo 1)" = 1 ]
	[ -z "$(ip -br address show dev "$stage_server_end" | awk '{print $3}')" ]
	services_sql "$stage_dir" stormweir 'CREATE TABLE t(a int); INSERT INTO t VALUES (7)'
	key=$(cat "$stage_key")
	stage_down
	grep -q '^saved$' "$stage_log/stormweir.log"
	assert_clean
	start_all
	[ "$(services_sql "$stage_dir" stormweir 'SELECT a FROM t')" = 7 ]
	[ "$(cat "$stage_key")" = "$key" ]
}

@test "a start after kill -9 of everything works" {
	start_all
	services_sql "$stage_dir" stormweir 'CREATE TABLE t(a int); INSERT INTO t VALUES (7)'
	slay_all
	[ -e "/run/netns/$stage_ns" ]
	start_all
	[ "$(services_sql "$stage_dir" stormweir 'SELECT a FROM t')" = 7 ]
	stage_down
	assert_clean
}

@test "a client that a person left in the namespace is ended with it" {
	stage_up
	stage_client sleep 300 &
	sleep 0.3
	stage_down
	assert_clean
	wait $! || [ $? -eq 143 ]
}

@test "a server that fails to start is said, with its log, and leaves nothing" {
	stage_up
	FAKE_FAILS=1 run stage_server_start
	[ "$status" -ne 0 ]
	[[ "$output" == *"told to fail"* ]]
	stage_down
	assert_clean
}

@test "a taken port is said at once, with the way out" {
	perl -MIO::Socket::INET -e '$s = IO::Socket::INET->new(LocalAddr => "127.0.0.1",
		LocalPort => $ARGV[0], Listen => 1) or die; sleep 60' "$stage_http_port" &
	holder=$!
	for _ in $(seq 100); do
		stage_port_taken "$stage_http_port" && break
		sleep 0.05
	done
	run stage_up
	kill "$holder"
	[ "$status" -ne 0 ]
	[[ "$output" == *"$stage_http_port"*STORMWEIR_HTTP_PORT* ]]
	assert_clean
}

@test "two stages side by side do not meet" {
	start_all
	first=$(process_pid "$stage_dir/stormweir.pid")
	(
		other=$(mktemp -d /tmp/sw-stage-XXXXXX)
		use "$other" "u${other: -6}"
		start_all
		stage_down
		assert_clean
		rm -rf "$other"
	)
	[ "$(process_pid "$stage_dir/stormweir.pid")" = "$first" ]
	stage_healthy
	[ -n "$(process_pid "$stage_dir/bots.pid")" ]
}

@test "hugepages: what was borrowed goes back, and no page of the machine's own" {
	mkdir -p "$stage_dir" "$folder/pages"
	huge_pages=$folder/pages
	# A machine with 30 pages, 20 of them free, that can have 100 at most.
	echo 30 >"$huge_pages/nr_hugepages"
	echo 0 >"$huge_pages/resv_hugepages"
	echo 20 >"$huge_pages/free_hugepages"
	huge_set() {
		echo $(($1 < 100 ? $1 : 100)) >"$huge_pages/nr_hugepages"
		echo $(($(cat "$huge_pages/nr_hugepages") - 10)) >"$huge_pages/free_hugepages"
	}
	if huge_borrow "$stage_dir" 150; then return 1; fi
	[ "$(cat "$huge_pages/nr_hugepages")" = 30 ]
	mount() { :; }
	huge_borrow "$stage_dir" 50
	[ "$(cat "$huge_pages/nr_hugepages")" = 60 ]
	huge_return "$stage_dir"
	[ "$(cat "$huge_pages/nr_hugepages")" = 30 ]
	[ ! -e "$stage_dir/huge.added" ]
}
