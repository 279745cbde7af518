#!/usr/bin/env bash
# bench_W3.sh [BUILD_FOLDER] [options]: how many players one map holds: one shard, one dataplane worker (on one lcore
# where the machine has fewer than four CPUs), over memif, with real Redis, PostgreSQL and signed tickets; with every rule
# of the game; in a crowd; and stock libenet doing the same work on kernel sockets, one thread. About 10 minutes.
#   --hold S       one run of S seconds with --players N, held or not, and nothing else (600: what the target asks for)
#   --walk HOW     of that run and of the search: uniform (default), crowd, game
#   --players N    where the search begins (25000)          --seconds N    of the run that is reported (60)
#   --probe N      seconds of each step of the searches (8)  --no-search    that many players, held or not
#   --game N       where the search with the game begins (-: --players, or what was held without if less; 0: none)
#   --crowd N      players in the crowd (5000; 0: none)      --stock N      where stock's search begins (6000; 0: none)
#   --limit N      the searches go no higher (60000)         --minutes N    the searches end in time for so many (12)
#   --smoke        judge nothing, but fail when players do not come in, or something is lost
#   --help         this text
# A number is held when all came in, nobody was disconnected, nothing reliable was lost, the p99 of a tick is at most
# half its 50 ms, at most one tick of a thousand was left out, 99 % of the updates arrived, and 95 % of the inputs were
# sent (the rest the generator was too late for). What is reported, and what the last line, one
# JSON object, is about, is the largest number that was held in the search and again for --seconds. Exit status 0: it was
# measured, whatever the figures are; else a sentence says what went wrong, and there are no figures.
# Needs root: hugepages, priorities. PERF=1: perf record of the server's CPU behind each run. MONSTERS=N: with the game (one
# for eight players). Leaves runs.tsv, stages.tsv, series.tsv, plot.svg and logs in BUILD_FOLDER/bench/W3.
set -euo pipefail

name=W3
# shellcheck source=perf/onemap.sh
. "$(dirname "${BASH_SOURCE[0]}")/onemap.sh"
# shellcheck source=perf/search.sh
. "$here/perf/search.sh"
# shellcheck source=perf/stock.sh
. "$here/perf/stock.sh"
players=25000 seconds=60 probe=8 search=1 game=- crowd=5000 stock=6000 limit=60000 minutes=12 smoke=0 walk=uniform
# Those that more than a number belongs to.
onemap_option() {
	case "$1 ${2:-}" in
	'--game -') game=- taken=2 ;;
	'--hold '*)
		[[ ${2:-} =~ ^[0-9]{1,6}$ ]] || onemap_usage "--hold takes a number"
		seconds=$2 search=0 game=0 crowd=0 stock=0 taken=2
		;;
	'--no-search '*) search=0 taken=1 ;;
	'--smoke '*) smoke=1 search=0 taken=1 ;;
	esac
}
onemap_options "players seconds probe game crowd stock limit minutes" "$@"

columns='%-8s %7s %4s %7s %7s %9s %7s %8s %6s %4s %4s %8s %5s %5s %8s %8s\n'
head_line() {
	# shellcheck disable=SC2059 # the columns
	printf "$columns" walk players held p50_ms p99_ms of_budget skipped missed_% late_% lost gone heard_ms bytes views gen_idle srv_idle
}
line() {
	# shellcheck disable=SC2059 # the columns
	printf "$columns" "$1" "$2" "$3" "$(tick_ms 0.5)" "$(tick_ms 0.99)" "$(tick_p99_of_budget)" \
		"$(metric simulation_ticks_skipped_total)" "$(share "$(figure updates_missed)" "$(figure updates)")" \
		"$(share "$(figure inputs_late)" "$(figure inputs)")" "$(figure reliable_lost)" "$(figure disconnects)" \
		"$(figure heard_p99_ms)" "$(per "$(figure update_bytes)" "$(figure updates)" %d)" \
		"$(per "$(figure view_changes)" "$(figure updates)" %.2f)" "$(figure idle_percent)" "$(cycles_left)"
	printf '%s\t%s\t%s\t%s\t%s\n' "$1" "$2" "$3" "$(tick_ms 0.5)" "$(tick_ms 0.99)" >>"$out/runs.tsv"
}

# What players did besides walking; only with the game.
game_lines() {
	local s one
	s=$(figure seconds)
	rate() { per "$(metric "$1")" "$s"; }
	echo "  the game, a second: $(rate simulation_blows_total) blows, $(rate simulation_monsters_killed_total) monsters and" \
		"$(rate simulation_players_killed_total) players killed, $(rate simulation_loot_fell_total) things fell," \
		"$(rate simulation_loot_taken_total) picked up"
	echo "  commits a second: $(rate world_commits_ok_total) done; in all $(metric simulation_commits_total) asked," \
		"$(metric simulation_commits_refused_total) refused, $(metric simulation_commits_held_total) held back;" \
		"saves a second $(rate world_saves_committed_total)"
	printf '  asked by the bots: %s blows, %s pick-ups; refused:' "$(figure attacks)" "$(figure picks)"
	for one in $(sed -n 's/^stormweir_simulation_\(refused_[a-z_]*\)_total.*/\1/p' "$dir/after" | sort -u); do
		[[ $(metric "simulation_${one}_total") == 0 ]] || printf ' %s %s' "${one#refused_}" "$(metric "simulation_${one}_total")"
	done
	echo
}

# try PLAYERS SECONDS WALK: whether it held. Ends the script when the run could not be made: nothing was measured then.
try() {
	local is=no status=0 begin=$SECONDS
	onemap_run "$@" || status=$?
	beside=$((SECONDS - begin - $2))
	if ((status == 2)); then
		say "the run of $1 players ($3) could not be made; its logs are in $out"
		exit 1
	fi
	if ((status)); then
		# shellcheck disable=SC2059 # the columns
		printf "$columns" "$3" "$1" no - - - - - - - - - - - - -
		printf '%s\t%s\tno\t-\t-\n' "$3" "$1" >>"$out/runs.tsv"
		return 1
	fi
	! held "$1" || is=yes
	line "$3" "$1" "$is"
	[[ $3 != game ]] || game_lines
	[[ $is == yes ]]
}

# Milliseconds that a process's busiest thread has waited for a CPU.
waited() {
	cat "/proc/$(process_pid "$1")"/task/*/schedstat | sort -n | tail -1 | awk '{ printf "%.0f\n", $2 / 1e6 }'
}

# What a long run grows, or suffers. Called every $every seconds of a run.
onemap_look() {
	local one kib=() waits=()
	for one in server generator; do
		kib+=("$(sed -n 's/^VmRSS:\s*\([0-9]*\).*/\1/p' "/proc/$(process_pid "$dir/$one.pid")/status")")
		waits+=("$(waited "$dir/$one.pid")")
	done
	kib+=("$(($(redis-cli -s "$dir/redis/redis.sock" info memory | sed -n 's/^used_memory:\([0-9]*\).*/\1/p') / 1024))")
	kib+=("$(($(services_sql "$dir" stormweir "SELECT pg_database_size('stormweir')") / 1024))"
		"$(($(services_sql "$dir" stormweir 'SELECT sum(size) FROM pg_ls_waldir()') / 1024))")
	printf '%s\t' "$1" "$(quantile simulation_tick_seconds 0.5 "$dir/then" "$dir/now")" \
		"$(quantile simulation_tick_seconds 0.99 "$dir/then" "$dir/now")" \
		"$(metric simulation_ticks_skipped_total "$dir/before" "$dir/now")" "$(cycles_left "$dir/then" "$dir/now")" \
		"$(awk '/^stormweir_world_saves_pending/ { n += $2 } END { print n + 0 }' "$dir/now")" "${kib[@]}" "${waits[@]}" \
		>>"$out/series.tsv"
	echo >>"$out/series.tsv"
	tail -n 1 "$out/series.tsv" | awk -F'\t' '{
		printf "'"$name"': %s s: tick p50 %.1f, p99 %.1f ms, %s skipped, %s %% of cycles left, %s saves wait; KiB: server %s, generator %s, redis %s, postgres %s and %s of WAL; waited for a CPU, ms: server %s, generator %s\n",
			$1, $2 * 1000, $3 * 1000, $4, $5, $6, $7, $8, $9, $10, $11, $12, $13 }' >&2
}

stages() {
	local stage
	echo "shard, a tick:  mean ms    share   p50 ms   p99 ms"
	stage_lines | tee "$dir/stages" | awk '{ printf "  %-10s   %8.3f %7.1f%% %8.3f %8.3f\n", $1, $2, $3, $4, $5 }'
	tr ' ' '\t' <"$dir/stages" | grep -v '^tick' >"$out/stages.tsv"
	echo "dataplane, cycles a frame in or out:"
	for stage in ring receive parse engine frame transmit idle; do
		printf '  %-10s   %8s\n' "$stage" "$(per "$(metric "dataplane_cycles_${stage}_total")" \
			"$(($(metric dataplane_rx_packets_total) + $(metric dataplane_tx_packets_total)))" %.0f)"
	done
	echo "from receive burst to input slot: p50 $(quantile simulation_input_wait_seconds 0.5) s," \
		"p95 $(quantile simulation_input_wait_seconds 0.95) s, p99 $(quantile simulation_input_wait_seconds 0.99) s"
}

# Seconds of one more run with a probe's length, as the last one took, and what is to come behind the search.
beside=60 behind=0
search_time() { ((SECONDS + beside + probe + behind <= minutes * 60)); }
probe_walk() { try "$2" "$probe" "$1"; }
cut_short() { ((!search_cut)) || say "the search ($1) ended before it was done: --minutes $minutes"; }

onemap_undo() { buffers_restore "$dir"; }

onemap_begin "$build"
onemap_head
rm -f "$out/runs.tsv" "$out/stages.tsv" "$out/series.tsv"
head_line
best=$players
if ((search)); then
	behind=$((seconds + beside + $(search_behind "$beside" "$probe" "$game" "$crowd" "$stock")))
	search "$players" "$limit" probe_walk "$walk"
	cut_short "$walk"
	((best)) || {
		say "no number of players was held, down to 20 or to what there was time for"
		exit 1
	}
fi
run=$best status=0
try "$run" "$seconds" "$walk" || status=1
if ((search && status)); then # what held for a moment need not hold for long
	run=$(search_back "$run" "$players") status=0
	try "$run" "$seconds" "$walk" || status=1
fi
[[ -s $dir/after ]] || {
	say "the run that was to be reported has no figures: not all of $run players came in, or were heard to the end"
	exit 1
}
stages
result_p99=$(tick_p99_of_budget)
result_lost=$(figure reliable_lost)
result_gone=$(figure disconnects)
result_in=$(figure players)
best_ours=$run
if ((status)); then
	say "$run players were not held for $seconds s"
	best_ours=0
fi
if [[ $game != 0 ]]; then
	[[ $game != - ]] || game=$((run < players ? run : players))
	behind=$(search_behind "$beside" "$probe" 0 "$crowd" "$stock")
	if ((search)); then
		search "$game" "$game" probe_walk game
		cut_short game
		echo "with the game: $best players held"
	elif ! try "$game" "$probe" game && [[ ! -s $dir/after ]]; then
		say "not all of $game players of the game came in, or were heard to the end"
		exit 1
	fi
fi
if ((crowd)) && ! try "$crowd" "$probe" crowd && [[ ! -s $dir/after ]]; then
	say "not all of the crowd's $crowd players came in, or were heard to the end"
	exit 1
fi
stock_best=0
if ((stock)); then
	buffers_raise "$dir"
	behind=0
	search "$stock" "$limit" try_stock
	cut_short stock
	stock_best=$best
fi
awk -f "$here/perf/onemap_plot.awk" "$out/runs.tsv" "$out/stages.tsv" >"$out/plot.svg"
progress "done; the plot is $out/plot.svg"
results=()
((!stock)) || results=("$(metric_json stock_players "$stock_best" "$stock_best" "$stock_best" higher)")
bench_json W3 "$commit" \
	"$(metric_json players "$best_ours" "$best_ours" "$best_ours" higher 25000)" \
	"$(metric_json tick_p99_of_budget "$result_p99" "$result_p99" "$result_p99" lower 0.5)" \
	"$(metric_json reliable_lost "$result_lost" "$result_lost" "$result_lost" lower 0)" \
	"$(metric_json disconnects "$result_gone" "$result_gone" "$result_gone" lower 0)" "${results[@]}"
((!smoke)) || ((result_in == run && !result_lost && !result_gone)) || {
	say "$result_in of $run players were there, $result_gone disconnected, $result_lost reliable messages lost"
	exit 1
}
