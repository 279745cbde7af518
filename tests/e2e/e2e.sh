# e2e.sh: what end-to-end tests share, on top of tools/stage.sh. A test sources it and begins with
# e2e_begin FOLDER-OF-PROGRAMS, which is `bin` from then on.
# shellcheck shell=bash
# shellcheck disable=SC2154 # stage_* and wire_* are of tools/stage.sh

# shellcheck source=tools/stage.sh
. "$(cd "$(dirname "${BASH_SOURCE[0]}")/../.." && pwd)/tools/stage.sh"

e2e_start=$SECONDS
# Other tests may borrow hugepages at the same moment; this one does not depend on who is first.
export STORMWEIR_NO_HUGE=${STORMWEIR_NO_HUGE:-1}

step() {
	printf '%3d s  %s\n' $((SECONDS - e2e_start)) "$*"
}

die() {
	printf '%3d s  FAILED: %s\n' $((SECONDS - e2e_start)) "$*" >&2
	exit 1
}

e2e_begin() {
	local dir
	[[ $# == 1 && -d $1 ]] || {
		echo "usage: $0 FOLDER-OF-PROGRAMS" >&2
		exit 2
	}
	((EUID == 0)) || {
		echo "skipped: a network namespace needs root"
		exit 77
	}
	bin=$(cd "$1" && pwd)
	dir=$(mktemp -d /tmp/sw-e2e-XXXXXX) || exit 1
	stage_init "$dir" "e$((RANDOM % 10000))" dev "$(stage_free_port)" off
	stage_bin=$bin
	e2e_ok=0
	trap e2e_end EXIT
	trap 'exit 130' INT TERM HUP
	stage_up || die "the stage could not be set up"
}

e2e_passed() {
	e2e_ok=1
	step "passed"
}

# Always, however the test ended; e2e_undo, if the test has one, comes first. Shows what is needed to see why it failed.
e2e_end() {
	local code=$? file
	trap '' INT TERM HUP
	trap - EXIT
	! declare -F e2e_undo >/dev/null || e2e_undo
	for file in "$stage_run"/*.pid; do
		[[ -e $file ]] && process_stop "$file" INT 10
	done
	if ((!e2e_ok)); then
		for file in "$stage_log"/*.log "$stage_run"/*.log; do
			[[ -s $file ]] && echo "---- ${file##*/}" >&2 && tail -n 15 "$file" >&2
		done
	fi
	stage_down || {
		echo "something could not be cleaned up" >&2
		e2e_ok=0
	}
	rm -rf "$stage_dir"
	((code == 77)) && exit 77 # skipped
	exit $((!e2e_ok))
}

# content_own: from now on the server reads $content, a copy of the sample content, which the test may change.
content_own() {
	content=$stage_run/content
	cp -r "$stage_root/lua/content" "$content" &&
		sed -i "s|^  content: .*|  content: $content|" "$stage_dir/node.yaml" || die "no content of our own"
}

# must_not_start SERVICE: the server ends by itself, with a non-zero exit code and a line that names the service.
must_not_start() {
	local code
	if stage_server_start 2>"$stage_run/start.log"; then
		die "the server started without $1"
	fi
	wait $! # the server: process_spawn ran it as our child
	code=$?
	stage_server_stop || die "without $1 the server did not end by itself"
	((code != 0 && code < 128)) || die "without $1 the exit code was $code"
	grep -qi "$1" "$stage_log/stormweir.log" || die "without $1 the log does not name it"
}

# bots_start NAME FIRST-CHARACTER COUNT OPTIONS: in the background, until bots_wait.
bots_start() {
	local name=$1 first=$2 count=$3
	shift 3
	stage_tickets "$first" "$count" "$name" "$stage_run/$name.tickets" || die "no tickets for $name"
	process_spawn "$stage_run/$name.pid" "$stage_run/$name.log" nsenter --net="/run/netns/$stage_ns" \
		"$stage_bin/stormweir-bot" --server "$wire_server_ip" --port 7777 \
		--tickets "$stage_run/$name.tickets" --bots "$count" \
		--maps "$stage_root/lua/content/maps" "$@"
	declare -g "e2e_pid_$name=$!"
}

# bots_run NAME FIRST-CHARACTER COUNT OPTIONS: to the end; returns the bots' verdict.
bots_run() {
	local pid
	bots_start "$@"
	pid=e2e_pid_$1
	wait "${!pid}" && rm -f "$stage_run/$1.pid"
}

bots_live() {
	[[ -n $(process_pid "$stage_run/$1.pid") ]] || die "the bots called $1 have ended by themselves"
}

bots_wait() {
	local pid=e2e_pid_$1
	wait "${!pid}" || die "the bots called $1 were not well"
	rm -f "$stage_run/$1.pid"
	tail -n 1 "$stage_run/$1.log"
}

# bots_leave NAME: in good order, all at once.
bots_leave() {
	bots_live "$1"
	kill -INT "$(process_pid "$stage_run/$1.pid")"
	bots_wait "$1"
}

# bots_again_start NAME FIRST-CHARACTER COUNT RETURNS OPTIONS: bots that come again up to RETURNS times when they are
# cut off: tickets of the same characters, a block of all for each time.
bots_again_start() {
	local name=$1 first=$2 count=$3 returns=$4 i
	shift 4
	: >"$stage_run/$name.tickets"
	for ((i = 0; i <= returns; i++)); do
		stage_tickets "$first" "$count" "$name" "$stage_run/some.tickets" || die "no tickets for $name"
		cat "$stage_run/some.tickets" >>"$stage_run/$name.tickets"
	done
	process_spawn "$stage_run/$name.pid" "$stage_run/$name.log" nsenter --net="/run/netns/$stage_ns" \
		"$stage_bin/stormweir-bot" --server "$wire_server_ip" --port 7777 \
		--tickets "$stage_run/$name.tickets" --bots "$count" --returns "$returns" --connects-per-s 200 "$@"
	declare -g "e2e_pid_$name=$!"
}

# kill_hard PIDFILE [PID...]: kill -9, these too; bash is not to report it. When it returns they are gone: a start right
# after it would else find them running.
kill_hard() {
	local pid turns=200
	pid=$(process_pid "$1")
	[[ -n $pid ]] || die "${1##*/} does not run"
	disown "$pid" 2>/dev/null
	kill -KILL "$pid" "${@:2}" 2>/dev/null
	while [[ -n $(process_pid "$1") ]]; do
		((turns-- > 0)) || die "${1##*/} was killed and runs on"
		sleep 0.05
	done
}

# postgres_all SIGNAL: PostgreSQL and its children. What is sent to them while they stand still waits in their sockets.
postgres_all() {
	local pid
	pid=$(process_pid "$stage_dir/postgres.pid")
	[[ -n $pid ]] || die "PostgreSQL does not run"
	mapfile -t postgres_pids < <(pgrep -P "$pid")
	kill "-$1" "$pid" "${postgres_pids[@]}" 2>/dev/null
}

# Those that stand still do not notice that their parent is gone.
postgres_kill() {
	mapfile -t postgres_pids < <(pgrep -P "$(process_pid "$stage_dir/postgres.pid")")
	kill_hard "$stage_dir/postgres.pid" "${postgres_pids[@]}"
}

postgres_again() {
	services_postgres_start "$stage_dir" "$stage_fsync" || die "PostgreSQL did not start again"
}

# sql STATEMENT: its rows, bare.
sql() {
	services_sql "$stage_dir" stormweir "$1" || die "the database was not asked: $1"
}

# sql_until WANT QUERY WHAT: waits up to 30 s.
sql_until() {
	local turns=150 got
	until got=$(sql "$2") && [[ $got == "$1" ]]; do
		((turns-- > 0)) || die "$3: $got, expected $1"
		sleep 0.2
	done
}

stand_still() {
	bots_live "$1"
	kill -USR1 "$(process_pid "$stage_run/$1.pid")"
}

rude() {
	stage_client "$stage_bin/stormweir-rude" "$wire_server_ip" 7777 "$@"
}

# refused REASON TICKETS [OPTIONS]: one bot with the first ticket of the file is refused with this reason.
refused() {
	local reason=$1 tickets=$2
	shift 2
	stage_client "$stage_bin/stormweir-bot" --server "$wire_server_ip" --port 7777 \
		--tickets "$tickets" --seconds 8 --expect-refused "$reason" "$@" \
		>"$stage_run/refused.log" 2>&1 || die "not refused with $reason"
}

# joins TICKETS: one bot with the first ticket of the file is let in.
joins() {
	stage_client "$stage_bin/stormweir-bot" --server "$wire_server_ip" --port 7777 \
		--tickets "$1" --seconds 1 >"$stage_run/joins.log" 2>&1 || die "$1 was not let in"
}

# closed NUMBER RUDE-ARGUMENTS: the server closes this rude client with this reason.
closed() {
	local reason=$1 got
	shift
	got=$(rude "$@") || die "rude $* could not connect"
	[[ $got == "$reason" ]] || die "rude $*: the server closed with $got, not $reason"
}

# Tickets that must age: they expire after a second, and 30 s are allowed for clocks.
tickets_early() {
	"$stage_bin/swctl" ticket --key "$stage_key" --character 9001 --name old --ttl 1 \
		--out "$stage_run/expired" >/dev/null || die "no expired ticket"
	e2e_expired=$((SECONDS + 33))
}

# They have aged meanwhile, or nearly.
tickets_late() {
	while ((SECONDS < e2e_expired)); do sleep 0.2; done
	refused TICKET_EXPIRED "$stage_run/expired"
}

bad_clients() {
	local tickets=$stage_run/bad base64
	stage_tickets 9101 1 realm "$tickets.one" || die "no tickets"

	# A signature with one bit changed. It ends 3 bytes before the ticket's end, if key_id is 1.
	base64=$(head -n 1 "$tickets.one")
	base64 -d <<<"$base64" >"$tickets.raw"
	flip_byte "$tickets.raw" $(($(stat -c %s "$tickets.raw") - 10))
	base64 -w 0 "$tickets.raw" >"$tickets.forged" && echo >>"$tickets.forged"
	refused TICKET_FORGED "$tickets.forged"

	head -c 20 "$tickets.raw" | base64 -w 0 >"$tickets.short" && echo >>"$tickets.short"
	refused TICKET_MALFORMED "$tickets.short"
	refused WRONG_VERSION "$tickets.one" --protocol-version 77

	"$stage_bin/swctl" ticket --key "$stage_key" --character 9102 --name realm --realm 2 \
		--out "$tickets.realm" >/dev/null || die "no ticket of another realm"
	refused TICKET_WRONG_REALM "$tickets.realm"

	bots_run once 9103 1 --seconds 1 || die "a good ticket was not taken"
	refused TICKET_USED "$stage_run/once.tickets"

	"$stage_bin/swctl" ticket --key "$stage_key" --character 9104 --name rude --raw \
		--out "$tickets.rude" >/dev/null || die "no raw ticket"
	closed 11 hello
	closed 11 play "$tickets.rude"
	closed 16 large 20000
	rude noise 5000
	bots_live good
}

# flip_byte FILE OFFSET
flip_byte() {
	local old
	old=$(od -An -tu1 -j "$2" -N 1 "$1")
	# shellcheck disable=SC2059 # the format is the octal escape
	printf "\\$(printf %o $((old ^ 1)))" | dd of="$1" bs=1 seek="$2" conv=notrunc status=none
}

health_body() {
	curl -sS --max-time 2 "http://127.0.0.1:$stage_http_port/health"
}

# Whether /health is red, and names this component as the cause.
says_red() {
	! stage_healthy && health_body | tr -d ' \n' | grep -q "\"level\":\"red\",\"name\":\"$1\""
}

# health_until WHAT COMMAND...: waits up to 60 s.
health_until() {
	local turns=300 what=$1
	shift
	until "$@" >/dev/null 2>&1; do
		((turns-- > 0)) || die "/health never $what: $(health_body 2>&1)"
		[[ -n $(process_pid "$stage_dir/stormweir.pid") ]] || die "the server has ended"
		sleep 0.2
	done
}

# metric NAME [THREAD]: a counter of the server now, all threads together or of one; nothing when there is none so named.
# NAME is a regular expression; what it fits is added.
metric() {
	curl -sS --max-time 2 "http://127.0.0.1:$stage_http_port/metrics" | awk -v name="stormweir_$1" -v thread="${2:-}" '
		$1 ~ "^" name "[{]" && (thread == "" || index($1, "thread=\"" thread "\"")) { sum += $NF; any = 1 }
		END { if (any) print sum }'
}

# is WANT NAME [THREAD]
is() {
	local value
	value=$(metric "${@:2}")
	[[ $value == "$1" ]] || die "${*:2} is \"$value\", expected $1"
}

# until_is WANT NAME [THREAD]: waits up to 60 s.
until_is() {
	local turns=600
	until [[ $(metric "${@:2}") == "$1" ]]; do
		((turns-- > 0)) || is "$@"
		sleep 0.1
	done
}

# until_over LEAST NAME [THREAD]: waits up to 60 s until it is more.
until_over() {
	local turns=600 value
	until value=$(metric "${@:2}") && ((${value:-0} > $1)); do
		((turns-- > 0)) || die "${*:2} is \"$value\", expected more than $1"
		sleep 0.1
	done
}
