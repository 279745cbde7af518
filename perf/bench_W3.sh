#!/usr/bin/env bash
# bench_W3.sh [BUILD_FOLDER] [options]: how many players one map holds: one shard, one dataplane worker (on one lcore
# where the machine has fewer than four CPUs), over memif, with real Redis, PostgreSQL and signed tickets; a crowd;
# and stock libenet doing the same work on a kernel socket, one thread.
#   --players N    where the search begins (25000)         --seconds N    of the run that is reported (20)
#   --probe N      seconds of each step of the search (8)   --no-search    that many players, held or not
#   --crowd N      players in the crowd (5000; 0: none)     --stock N      where stock's search begins (4095, the most that
#                  an ENet host can have; 0: none)         --limit N      the searches go no higher (60000)
#   --smoke        judge nothing, but fail when players do not come in, or something is lost
# A number is held when all came in, nobody was disconnected, nothing reliable was lost, the p99 of a tick is at most
# half its 50 ms, no tick was left out, and 99 % of the updates arrived. The last line is one JSON object. Exit status 0:
# it was measured, whatever the figures are; else a sentence says what went wrong, and there are no figures.
# Needs root: hugepages, priorities. PERF=1: perf record of the server's CPU behind each run.
set -euo pipefail

name=W3
# shellcheck source=perf/onemap.sh
. "$(dirname "${BASH_SOURCE[0]}")/onemap.sh"
players=25000 seconds=20 probe=8 search=1 crowd=5000 stock=4095 limit=60000 smoke=0
build=$here/build/release
[[ ${1:--} == -* ]] || {
	build=$1
	shift
}
build=$(realpath "$build")
while (($#)); do
	case $1 in
	--players | --seconds | --probe | --crowd | --stock | --limit)
		[[ ${2:-} =~ ^[0-9]{1,6}$ ]] || {
			say "$1 takes a number"
			exit 2
		}
		printf -v "${1#--}" %s "$2"
		shift
		;;
	--no-search) search=0 ;;
	--smoke) smoke=1 search=0 ;;
	*)
		say "there is no option $1; see the head of this script"
		exit 2
		;;
	esac
	shift
done

tick_p99_of_budget() { awk -v t="$(quantile simulation_tick_seconds 0.99)" 'BEGIN { printf "%.3f\n", t / 0.05 }'; }

# Of the last run: whether it held, and a line of the table.
held() {
	awk -v joined="$(figure players)" -v wanted="$1" -v gone="$(figure disconnects)" \
		-v lost="$(figure reliable_lost)" -v p99="$(tick_p99_of_budget)" \
		-v skipped="$(metric simulation_ticks_skipped_total)" -v missed="$(figure updates_missed)" \
		-v came="$(figure updates)" 'BEGIN {
			exit !(joined == wanted && !gone && !lost && p99 <= 0.5 && !skipped &&
				missed <= 0.01 * (came + missed))
		}'
}

columns='%-8s %8s %6s %9s %9s %9s %8s %6s %6s %9s %8s %7s\n'
head_line() {
	# shellcheck disable=SC2059 # the columns
	printf "$columns" walk players held tick_p50 tick_p99 of_budget missed_% lost gone heard_p99 bytes gen_idle
}
line() {
	# shellcheck disable=SC2059 # the columns
	printf "$columns" "$1" "$2" "$3" \
		"$(quantile simulation_tick_seconds 0.5 | awk '{ printf "%.1f ms", $1 * 1000 }')" \
		"$(quantile simulation_tick_seconds 0.99 | awk '{ printf "%.1f ms", $1 * 1000 }')" \
		"$(tick_p99_of_budget)" \
		"$(awk -v a="$(figure updates_missed)" -v b="$(figure updates)" 'BEGIN { printf "%.2f", 100 * a / (a + b + 1e-9) }')" \
		"$(figure reliable_lost)" "$(figure disconnects)" "$(figure heard_p99_ms)" \
		"$(awk -v a="$(figure update_bytes)" -v b="$(figure updates)" 'BEGIN { printf "%d", a / (b + 1e-9) }')" \
		"$(figure idle_percent)"
}

# try PLAYERS SECONDS WALK: whether it held. Ends the script when the run could not be made: nothing was measured then.
try() {
	local is=no status=0
	onemap_run "$@" || status=$?
	if ((status == 2)); then
		say "the run of $1 players ($3) could not be made; its logs are in $out"
		exit 1
	fi
	if ((status)); then
		# shellcheck disable=SC2059 # the columns
		printf "$columns" "$3" "$1" no - - - - - - - - -
		return 1
	fi
	! held "$1" || is=yes
	line "$3" "$1" "$is"
	[[ $is == yes ]]
}

stages() {
	local ticks stage
	ticks=$(metric simulation_ticks_total)
	echo "shard, a tick:"
	for stage in reset lazy_join deferred party messages actors interest flush; do
		awk -v name="$stage" -v s="$(metric "simulation_stage_${stage}_seconds_sum")" -v n="$ticks" \
			'BEGIN { printf "  %-10s %7.3f ms\n", name, n ? s / n * 1000 : 0 }'
	done
	echo "dataplane, cycles a frame in or out:"
	for stage in ring receive parse engine frame transmit idle; do
		awk -v name="$stage" -v c="$(metric "dataplane_cycles_${stage}_total")" \
			-v n="$(($(metric dataplane_rx_packets_total) + $(metric dataplane_tx_packets_total)))" \
			'BEGIN { printf "  %-10s %7.0f\n", name, n ? c / n : 0 }'
	done
	echo "from receive burst to input slot: p50 $(quantile simulation_input_wait_seconds 0.5) s," \
		"p95 $(quantile simulation_input_wait_seconds 0.95) s, p99 $(quantile simulation_input_wait_seconds 0.99) s"
}

# Doubles or halves from N until it has one that holds and one that does not, then halves the gap down to a tenth.
# LIMIT, and a command that tries N, follow. Sets best (0: none).
search() {
	local n=$1 limit=$2 low=0 high=0
	shift 2
	while ((!low || !high || high - low > low / 10)); do
		if "$@" "$n"; then low=$n; else high=$n; fi
		if ((!high)); then
			n=$((n * 6 / 5)) # a step up at the end of what is wanted, not a doubling
		elif ((!low)); then
			n=$((n / 2))
		else
			n=$(((low + high) / 2))
		fi
		((n <= limit)) || n=$limit
		((n >= 20 && n != low)) || break
	done
	best=$low
}
probe_ours() { try "$1" "$probe" uniform; }

stock_limits() {
	local limit file was
	for limit in rmem_max wmem_max; do
		file=/proc/sys/net/core/$limit
		was=$(cat $file)
		if [[ $1 == up ]]; then
			((was >= 16777216)) || {
				echo "$was" >"$dir/$limit"
				echo 16777216 >$file
			}
		elif [[ -s $dir/$limit ]]; then
			cat "$dir/$limit" >$file
			rm "$dir/$limit"
		fi
	done
}

# try_stock PLAYERS: held when 20 ticks a second ran, 99 % of them sent within 50 ms, and 99 % of updates came.
try_stock() {
	local n=$1 is=no status=0 p99 ticks
	onemap_tickets "$n"
	: >"$dir/stock.log"
	: >"$dir/figures"
	process_spawn "$dir/server.pid" "$dir/stock.log" taskset -c "$cpu_worker" nice -n -15 \
		"$bin/stormweir-stock-game" 127.0.0.1 17777 "$n" "$(onemap_width "$n")" "$probe"
	process_wait_for 10 "$dir/server.pid" grep -q '^stock: ready' "$dir/stock.log" || {
		cat "$dir/stock.log" >&2
		say "stormweir-stock-game did not start"
		exit 1
	}
	onemap_first "$dir/server.pid"
	process_spawn "$dir/generator.pid" "$dir/figures" taskset -c "$cpu_generator" nice -n -15 \
		"$bin/stormweir-gen-kernel" --tx-ip 127.0.0.1 --tx-udp 17777 --forward-mode game --clients "$n" \
		--tickets "$dir/tickets" --login-rate 1000 --settle 5 --seconds "$probe"
	onemap_first "$dir/generator.pid"
	onemap_wait 'gen: done' $((30 + n / 200 + probe)) && onemap_wait 'stock: done' 5 "$dir/stock.log" || status=$?
	if ((status == 2)); then
		tail -n 5 "$dir/stock.log" "$dir/figures" >&2
		exit 1
	fi
	onemap_leave
	process_stop "$dir/generator.pid" TERM 5 || say "the generator did not end in time"
	process_stop "$dir/server.pid" TERM 5 || say "stormweir-stock-game did not end in time"
	p99=$(awk '$1 == "stock_tick_p99_us" { print $2 }' "$dir/stock.log")
	ticks=$(awk '$1 == "stock_ticks" { n = $2 } $1 == "stock_seconds" { s = $2 } END { print s ? n / s : 0 }' "$dir/stock.log")
	if ((!status)) && awk -v p99="${p99:-1e9}" -v hz="$ticks" -v gone="$(figure disconnects)" -v lost="$(figure reliable_lost)" \
		-v missed="$(figure updates_missed)" -v came="$(figure updates)" 'BEGIN {
			exit !(p99 <= 50000 && hz >= 19.8 && !gone && !lost && came && missed <= 0.01 * (came + missed))
		}'; then
		is=yes
	fi
	printf 'stock    %8s %6s: tick p99 %s us, %s ticks/s, idle %s %%, %s updates missed, %s disconnects, %s bytes an update\n' \
		"$n" "$is" "${p99:--}" "$ticks" \
		"$(awk '$1 == "stock_idle_percent" { print $2 }' "$dir/stock.log")" \
		"$(figure updates_missed)" "$(figure disconnects)" \
		"$(awk -v a="$(figure update_bytes)" -v b="$(figure updates)" 'BEGIN { printf "%d", a / (b + 1e-9) }')"
	[[ $is == yes ]]
}

onemap_undo() { stock_limits down; }

onemap_begin "$build"
onemap_head
head_line
best=$players
if ((search)); then
	search "$players" "$limit" probe_ours
	((best)) || {
		say "not even 20 players were held"
		exit 1
	}
fi
run=$((best < players ? best : players))
status=0
try "$run" "$seconds" uniform || status=1
[[ -s $dir/after ]] || {
	say "the run that was to be reported has no figures: not all of $run players came in, or were heard to the end"
	exit 1
}
stages
result_p99=$(tick_p99_of_budget)
result_lost=$(figure reliable_lost)
result_gone=$(figure disconnects)
result_in=$(figure players)
if ((status)); then
	say "$run players were not held for $seconds s"
	best=0
fi
if ((crowd)) && ! try "$crowd" "$probe" crowd && [[ ! -s $dir/after ]]; then
	say "not all of the crowd's $crowd players came in, or were heard to the end"
	exit 1
fi
best_ours=$best stock_best=0
if ((stock)); then
	stock_limits up
	search "$stock" $((limit < 4095 ? limit : 4095)) try_stock
	stock_best=$best
fi
metric_json() { printf '"%s": {"median": %s, "low": %s, "high": %s%s, "better": "%s"}' "$1" "$2" "$2" "$2" "${4:+, \"target\": $4}" "$3"; }
printf '{"bench": "W3", "commit": "%s", "metrics": {%s, %s, %s, %s, %s}}\n' "$commit" \
	"$(metric_json players "$best_ours" higher 25000)" \
	"$(metric_json tick_p99_of_budget "$result_p99" lower 0.5)" \
	"$(metric_json reliable_lost "$result_lost" lower 0)" \
	"$(metric_json disconnects "$result_gone" lower 0)" \
	"$(metric_json stock_players "$stock_best" higher '')"
((!smoke)) || ((result_in == run && !result_lost && !result_gone)) || {
	say "$result_in of $run players were there, $result_gone disconnected, $result_lost reliable messages lost"
	exit 1
}
