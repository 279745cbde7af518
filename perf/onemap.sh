# onemap.sh: what W3, W4 and W5 share: a real server with private Redis and PostgreSQL on one CPU's lcore, over memif, and
# players with signed tickets from a generator. Sourced by bash scripts after `set -euo pipefail` and `name=…`:
#   onemap_options NUMBERS ARGUMENTS...  what the script was called with
#   onemap_begin BUILD_FOLDER   services, key, memory; all is removed when the script ends
#   onemap_tickets COUNT        makes the login tickets (once; a ticket is good for one login, so each run makes its own)
#   onemap_run PLAYERS SECONDS uniform|crowd|game  one server, one generator; 1 when not all came in or were heard to
#                               the end, 2 when the run could not be made (no server, a crash); says why
#                               Leaves $dir/figures (the generator's) and $dir/before, $dir/after (/metrics), for figures.sh
#   onemap_look SECOND          a function of the caller's, if there is one: called every $every seconds of a run, with
#                               $dir/then and $dir/now, /metrics at both ends of that time
# shellcheck shell=bash
# shellcheck disable=SC2034,SC2154 # tools/ and who sources this

here=$(cd "$(dirname "${BASH_SOURCE[0]}")/.." && pwd)
# shellcheck source=perf/figures.sh
. "$here/perf/figures.sh"
# shellcheck source=tests/lib/services.sh
. "$here/tests/lib/services.sh"
# shellcheck source=tools/wire.sh
. "$here/tools/wire.sh"

say() { echo "$name: $*" >&2; }
# What goes on, with minutes and seconds since the script began.
progress() { printf '%s: %02d:%02d %s\n' "$name" $((SECONDS / 60)) $((SECONDS % 60)) "$*" >&2; }
every=15

# onemap_options NUMBERS ARGUMENTS...: the build's folder, if it comes first, into $build; --NAME N into $NAME, for each NAME
# of the words NUMBERS; --walk HOW into $walk; --help prints the script's head. What else there is, onemap_option takes:
# a function of the script, if it has more, which gets the words that are left and sets $taken to how many were its.
onemap_options() {
	local numbers=" $1 " taken
	shift
	build=$here/build/release
	[[ ${1:--} == -* ]] || {
		build=$1
		shift
	}
	while (($#)); do
		taken=0
		! declare -F onemap_option >/dev/null || onemap_option "$@"
		if ((taken)); then
			shift $taken
		elif [[ $1 == --help ]]; then
			sed -n '2,/^set /s/^# \{0,1\}//p' "$0"
			exit 0
		elif [[ $1 == --walk ]]; then
			[[ ${2:-} =~ ^(uniform|crowd|game)$ ]] || onemap_usage "--walk takes uniform, crowd or game"
			walk=$2
			shift 2
		elif [[ $1 == --* && $numbers == *" ${1#--} "* ]]; then
			[[ ${2:-} =~ ^[0-9]{1,6}$ ]] || onemap_usage "$1 takes a number"
			printf -v "${1#--}" %s "$2"
			shift 2
		else
			onemap_usage "there is no option $1; see --help"
		fi
	done
	build=$(realpath "$build")
}
onemap_usage() {
	say "$*"
	exit 2
}

# CPUs: the server's lcores first, the last for the generator. With two there is one for all of the server's hot
# work, and the other is the generator's, which shares it with control threads and databases; with more they are apart.
onemap_cpus() {
	local list part cpus=()
	list=$(sed -n 's/^Cpus_allowed_list:\s*//p' /proc/self/status)
	for part in ${list//,/ }; do
		mapfile -t -O ${#cpus[@]} cpus < <(seq "${part%-*}" "${part#*-}")
	done
	cpu_worker=${cpus[0]}
	cpu_generator=${cpus[1]:-${cpus[0]}}
	cpu_rest=$cpu_generator
	cpu_shard=$cpu_worker
	if ((${#cpus[@]} >= 4)); then
		cpu_shard=${cpus[1]}
		cpu_generator=${cpus[2]}
		cpu_rest=${cpus[3]}
	fi
	lcores="0@$cpu_rest,1@$cpu_worker"
	shard_lcore=1
	if [[ $cpu_shard != "$cpu_worker" ]]; then
		lcores+=",2@$cpu_shard"
		shard_lcore=2
	fi
}

onemap_end() {
	local file
	! declare -F onemap_undo >/dev/null || onemap_undo
	for file in "$dir"/server.pid "$dir"/generator.pid; do
		process_stop "$file" KILL 5 || true
	done
	services_redis_stop "$dir" || true
	services_postgres_stop "$dir" || true
	huge_return "$dir"
	rm -rf "$dir" "/run/dpdk/$id"-*
}

onemap_begin() {
	local program
	bin=$1/bin
	out=$1/bench/$name
	id=swm$$
	dir=$(services_folder)
	trap onemap_end EXIT
	trap 'exit 1' INT TERM
	for program in stormweir swctl stormweir-gen; do
		[[ -x $bin/$program ]] || {
			say "$bin/$program is missing: ./dev build release"
			exit 1
		}
	done
	mkdir -p "$out" "$dir/keys"
	onemap_cpus
	mb_server=640
	mb_generator=384
	memory=--no-huge
	if [[ ${STORMWEIR_NO_HUGE:-} != 1 ]] && huge_borrow "$dir" $(((mb_server + mb_generator) / 2)); then
		memory="--huge-dir $dir/huge"
	fi
	# Databases stay off the CPU that polls; the same for all that this shell starts later.
	taskset -pc "$cpu_rest" $$ >/dev/null
	services_redis_start "$dir" || exit 1
	services_postgres_start "$dir" on || exit 1
	"$bin/swctl" ticket-key --out-dir "$dir/keys" --id 1 >"$dir/keys/ticket-1.yaml"
	public=$(sed -n 's/.*public_key: *"\?\([0-9a-f]\{64\}\).*/\1/p' "$dir/keys/ticket-1.yaml")
}

# 50 in the window of five cells of 4/7 of the view: the same field as bench-simulation's.
onemap_width() { awk -v n="$1" 'BEGIN { w = sqrt(n / 50) * 5 * 40 * 4 / 7; print int(w < 16 ? 16 : w + 1) }'; }

# Of --walk game: the game's data, and a field with walls, monsters (one for each eight players), and spawns.
onemap_ground() {
	local players=$1 width=$2 monsters
	monsters=${MONSTERS:-$((players / 8 + 1))}
	content=$dir/content
	mkdir -p "$content"
	cp "$here"/lua/content/*.yaml "$content"
	"$here/perf/field.py" "$width" "$monsters" "$content/field.tmj" || return 1
	ground="file: field.tmj"
}

# onemap_config PLAYERS WIDTH WALK
onemap_config() {
	local players=$1 width=$2 peers content=$here/lua/content ground="width: ${2}m, height: ${2}m"
	[[ $3 != game ]] || onemap_ground "$players" "$width" || return 1
	peers=$((players + players / 8 + 64 + ${queue:-0}))
	http_port=$((20000 + RANDOM % 10000))
	cat >"$dir/node.yaml" <<YAML
node: { name: onemap, stop_deadline: 60s }
dataplane: { lcores: [1], idle: poll, burst: ${BURST:-64} }
ports:
  - { device: net_memif0, address: 10.78.1.1/24, rxd: 16384, txd: 16384 }
enet:
  peers_max: $peers
  half_open_max: 16384
  connects_per_s: 100000
  connects_burst: 100000
  source_connects_per_s: 100000
  source_connects_burst: 100000
  peer_hold: 256KiB
  pool: 512MiB
simulation: { lcores: [$shard_lcore], players_max: $players, autosave: 30s, update_max: ${UPDATE_MAX:-1350B}, content: $content, seed: 1 }
maps:
  - { name: field, shard: 0, $ground, view: 40m, players_max: $players }
admission:
  players_max: $players
  rate: ${rate:-100000} # the gates are W5's
  burst: ${burst:-100000}
  batch: ${batch:-1000}
  queue_max: ${queue:-0}
  first_map: field
  proof_bits_max: 0 # the generator holds the CPU that verifies, and does no work for it
  ticket_keys: [{ id: 1, public_key: $public }]
redis: { address: "unix:$dir/redis/redis.sock" }
postgres: { conninfo: "$(services_conninfo "$dir")" }
http: { address: "127.0.0.1:$http_port" }
rings: { slots: ${RING_SLOTS:-8192} }
log: { level: info }
YAML
	"$bin/stormweir-config" --check "$dir/node.yaml" >"$dir/config.log" || {
		cat "$dir/config.log" >&2
		return 1
	}
}

# Not /health: a memif has no link before its far end is there.
onemap_answers() { curl -fsS --max-time 2 "http://127.0.0.1:$http_port/metrics"; }
onemap_metrics() { curl -fsS --max-time 10 "http://127.0.0.1:$http_port/metrics" >"$dir/$1"; }

onemap_tickets() {
	"$bin/swctl" ticket --key "$dir/keys/ticket-1.key" --first-character 1 --account 1 --count "$1" \
		--name walker --ttl 7200 --out "$dir/tickets"
}

# Characters that were here before, each where it stands: anywhere on the map, or in a square around its middle.
onemap_characters() {
	local players=$1 width=$2 walk=$3 side=$2
	[[ $walk != crowd ]] || side=$(awk -v n="$players" -v per="${CROWD_PER_M2:-0.2}" \
		'BEGIN { s = sqrt(n / per); print int(s < 8 ? 8 : s) }')
	((side <= width)) || side=$width
	services_sql "$dir" stormweir "
		SET client_min_messages = warning;
		SELECT setseed(0.5);
		TRUNCATE character_position, character CASCADE;
		INSERT INTO character (realm_id, character_id, account_id, name, appearance)
			SELECT 1, i, 1, 'walker' || i, 8421504 FROM generate_series(1, $players) i;
		INSERT INTO character_position (realm_id, character_id, map, x_mm, y_mm, heading, epoch, save_sequence)
			SELECT 1, i, 'field', ($width - $side) * 500 + random() * ($side * 1000 - 1),
				($width - $side) * 500 + random() * ($side * 1000 - 1), 0, 0, 0
			FROM generate_series(1, $players) i;
		ANALYZE character; ANALYZE character_position" >/dev/null
}

# EAL's words for one end of the memif.
onemap_eal() {
	echo "--no-pci $memory --file-prefix $id-$1 --log-level=error" \
		"--vdev=net_memif0,role=$2,id=0,rsize=14,bsize=2048,socket=$dir/memif.sock,socket-abstract=no"
}

# Other work on the machine stays out of the way as far as the scheduler can do that: a session has an autogroup of
# its own, and only that one's weight counts.
onemap_first() {
	local pid child
	pid=$(process_pid "$1")
	[[ -n $pid ]] || return 0
	for child in $pid $(ps -o pid= --ppid "$pid"); do # PostgreSQL's backends are sessions too
		{ echo -20 >"/proc/$child/autogroup"; } 2>/dev/null || true
	done
}

onemap_server_start() {
	: >"$dir/server.log"
	rm -f "$dir/memif.sock"
	# shellcheck disable=SC2046 # words
	process_spawn "$dir/server.pid" "$dir/server.log" nice -n -15 "$bin/stormweir" --lcores "$lcores" \
		-m "$mb_server" $(onemap_eal server server) -- --config "$dir/node.yaml"
	onemap_first "$dir/server.pid"
	process_wait_for 60 "$dir/server.pid" onemap_answers || {
		tail -n 20 "$dir/server.log" >&2
		say "the server did not start"
		return 1
	}
}

# The generator's players leave; it lives on and waits.
onemap_leave() {
	local pid
	pid=$(process_pid "$dir/generator.pid")
	[[ -n $pid ]] || return 0
	kill -INT "$pid"
	onemap_wait 'gen: left' 10 || say "the generator did not leave in order"
}

onemap_server_stop() {
	onemap_leave
	process_stop "$dir/server.pid" TERM 90 || say "the server did not end in time"
	process_stop "$dir/generator.pid" TERM 5 || say "the generator did not end in time"
	rm -f "$dir"/huge/* # EAL leaves its pages to whoever comes next under its name
}

# onemap_wait LINE SECONDS [LOG|quietly]: until a line of the generator's log, or of LOG, begins so. 1: it did not come, or not
# all players came in; 2: server or generator has ended. Says which.
onemap_wait() {
	local line=$1 seconds=$2 log=${3:-$dir/figures} end=$((SECONDS + $2)) one quiet=0
	[[ $log != quietly ]] || quiet=1 log=$dir/figures
	until grep -q "^$line" "$log"; do
		for one in server generator; do
			[[ -n $(process_pid "$dir/$one.pid") ]] || {
				say "the $one has ended before \"$line\""
				return 2
			}
		done
		[[ $line == 'gen: left' ]] || ! grep 'players came in' "$dir/figures" >&2 || return 1
		((SECONDS < end)) || {
			((quiet)) || say "no \"$line\" in $seconds s"
			return 1
		}
		sleep "${pace:-0.1}"
	done
}

# To the end of the seconds that are measured, with a look every so often.
onemap_watch() {
	local seconds=$1 start=$SECONDS next=$every status pace=0.5
	cp "$dir/before" "$dir/now"
	for (( ; next < seconds; next += every)); do
		status=0
		onemap_wait 'gen: done' $((start + next - SECONDS)) quietly || status=$?
		((status == 1)) || return $status
		mv "$dir/now" "$dir/then"
		onemap_metrics now || return 2
		! declare -F onemap_look >/dev/null || onemap_look $((SECONDS - start))
	done
	onemap_wait 'gen: done' $((start + seconds - SECONDS + 30))
}

# onemap_generator PLAYERS OPTIONS...: starts it.
onemap_generator() {
	local players=$1
	shift
	: >"$dir/figures"
	# shellcheck disable=SC2046 # words
	process_spawn "$dir/generator.pid" "$dir/figures" nice -n -15 "$bin/stormweir-gen" \
		--lcores "0@$cpu_generator" -m "$mb_generator" $(onemap_eal gen client) -- --port net_memif0 \
		--tx-ip 10.78.1.2,10.78.1.1 --rxd 16384 --txd 16384 --burst 64 --forward-mode game \
		--clients "$players" --tickets "$dir/tickets" "$@"
	onemap_first "$dir/postgres.pid"
	onemap_first "$dir/redis/redis.pid"
	onemap_first "$dir/generator.pid"
}

onemap_play() {
	local players=$1 seconds=$2 walk=$3 status rate=${LOGIN_RATE:-1500}
	# Who is in already fights, and PostgreSQL shares its CPU with the generator.
	[[ $walk != game ]] || rate=${LOGIN_RATE:-800}
	onemap_generator "$players" --login-rate "$rate" --settle "${SETTLE:-5}" --seconds "$seconds" --walk "$walk"
	progress "$players players ($walk) log in"
	onemap_wait 'gen: playing' $((60 + players / 500)) || {
		status=$?
		onemap_metrics failed && cp "$dir/failed" "$out/metrics.failed"
		return $status
	}
	onemap_metrics before || return 2
	progress "they play for $seconds s"
	onemap_watch "$seconds" || return $?
	onemap_metrics after || return 2
	if [[ -n ${PERF:-} ]]; then
		perf record -q -e cpu-clock -F 2000 -C "$cpu_worker" -o "$out/perf.data" -- sleep 5 || say "perf record failed: there is no profile"
	fi
}

# Free pages belong to whoever takes them first, and someone may have been quicker.
onemap_memory_gone() {
	[[ $memory != --no-huge ]] && grep -qsE 'EAL: .*Cannot init memory|hugepages are taken' "$dir/server.log" "$dir/figures"
}

onemap_run() {
	local status=0
	onemap_run_once "$@" || status=$?
	if ((status)) && onemap_memory_gone; then
		say "no memory; once more without hugepages"
		memory=--no-huge
		status=0
		onemap_run_once "$@" || status=$?
	fi
	return $status
}

onemap_run_once() {
	local players=$1 seconds=$2 walk=$3 width status=0
	rm -f "$dir/before" "$dir/after"
	: >"$dir/figures"
	width=$(onemap_width "$players")
	onemap_config "$players" "$width" "$walk" || return 2
	onemap_tickets "$players" || return 2
	if onemap_server_start && onemap_characters "$players" "$width" "$walk"; then
		onemap_play "$players" "$seconds" "$walk" || status=$?
	else
		status=2
	fi
	onemap_server_stop
	cp "$dir/server.log" "$out/server.$walk.$players.log"
	cp "$dir/figures" "$out/generator.$walk.$players"
	[[ ! -s $dir/after ]] || cp "$dir/after" "$out/metrics.$walk.$players"
	return $status
}

onemap_head() {
	commit=$(git -C "$here" rev-parse --short HEAD 2>/dev/null || echo unknown)
	[[ -z $(git -C "$here" status --porcelain 2>/dev/null) ]] || commit+=-changed
	echo "$name: $(nproc --all) CPUs, $(sed -n 's/^model name[^:]*: //p' /proc/cpuinfo | head -1), Linux $(uname -r)," \
		"load $(cut -d' ' -f1-3 /proc/loadavg)"
	echo "$name: commit $commit, DPDK memory: ${memory%% *}; results in $out"
}
