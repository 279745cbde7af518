#!/usr/bin/env bats
# Proves what W3's and W4's figures rest on, without a server: that counters of all threads are summed and their growth
# taken, that quantiles of a histogram are those of what came between two looks, that a run is held by the stated rule
# and by nothing less, that the stages' table and the last line say what the files say, and that the search finds the
# largest number that holds, to a tenth, in few steps, inside its limit and its time.

bats_require_minimum_version 1.5.0

setup() {
	here=$(cd "$BATS_TEST_DIRNAME/.." && pwd)
	. "$here/perf/figures.sh"
	. "$here/perf/search.sh"
	dir=$BATS_TEST_TMPDIR
	search_time() { true; }
	# 1000 ticks of 20 ms, of which 100 were there before: all in the bucket from 10 to 20 ms; two threads.
	metrics 100 0 >"$dir/before"
	metrics 1100 0 >"$dir/after"
	figures >"$dir/figures"
}

# metrics TICKS SKIPPED [LATE]: LATE of them took 30 to 40 ms.
metrics() {
	local late=${3:-0}
	cat <<-END
		# HELP stormweir_simulation_ticks_total map ticks run
		stormweir_simulation_ticks_total{thread="0"} $(($1 / 2))
		stormweir_simulation_ticks_total{thread="1"} $(($1 - $1 / 2))
		stormweir_simulation_ticks_skipped_total{thread="0"} $2
		stormweir_simulation_tick_seconds_bucket{thread="0",le="0.01"} 0
		stormweir_simulation_tick_seconds_bucket{thread="0",le="0.02"} $(($1 - late))
		stormweir_simulation_tick_seconds_bucket{thread="0",le="0.03"} $(($1 - late))
		stormweir_simulation_tick_seconds_bucket{thread="0",le="0.04"} $1
		stormweir_simulation_tick_seconds_bucket{thread="0",le="+Inf"} $1
		stormweir_simulation_tick_seconds_sum{thread="0"} $(awk -v n="$1" 'BEGIN { print n * 0.02 }')
		stormweir_simulation_stage_flush_seconds_bucket{thread="0",le="0.008"} 0
		stormweir_simulation_stage_flush_seconds_bucket{thread="0",le="0.016"} $1
		stormweir_simulation_stage_flush_seconds_bucket{thread="0",le="+Inf"} $1
		stormweir_simulation_stage_flush_seconds_sum{thread="0"} $(awk -v n="$1" 'BEGIN { print n * 0.015 }')
		stormweir_dataplane_cycles_idle_total{thread="0"} $(($1 * 10))
		stormweir_dataplane_cycles_engine_total{thread="0"} $(($1 * 25))
		stormweir_dataplane_cycles_ring_total{thread="0"} $(($1 * 5))
	END
}

figures() {
	echo "gen: playing 500"
	printf '%s\n' "players 500" "disconnects 0" "reliable_lost 0" "updates 9900" "updates_missed 100" \
		"inputs 9500" "inputs_late 500"
}

@test "counters grow, over all threads" {
	[ "$(metric simulation_ticks_total)" = 1000 ]
	[ "$(metric simulation_ticks_total "$dir/before" "$dir/before")" = 0 ]
	[ "$(metric no_such_counter)" = 0 ]
	[ "$(figure players)" = 500 ]
	[ "$(figure no_such_figure)" = 0 ]
	[ "$(share 1 3)" = 25.00 ]
	[ "$(share 0 0)" = 0.00 ]
	[ "$(per 3 2 %.2f)" = 1.50 ]
	[ "$(per 3 0)" = 0.0 ]
	[ "$(cycles_left)" = 25.00 ]
}

@test "quantiles are of what came between the two" {
	[ "$(quantile simulation_tick_seconds 0.5)" = 0.015000000 ]
	[ "$(quantile simulation_tick_seconds 1)" = 0.020000000 ]
	[ "$(quantile simulation_tick_seconds 0.5 "$dir/after" "$dir/after")" = 0 ]
	[ "$(quantile no_such_histogram 0.5)" = 0 ]
	# 20 of the 1000 were slow: half of the slowest two hundredths
	metrics 1100 0 20 >"$dir/after"
	[ "$(quantile simulation_tick_seconds 0.99)" = 0.035000000 ]
	[ "$(tick_p99_of_budget)" = 0.700 ]
	[ "$(tick_ms 0.99)" = 35.00 ]
	# beyond the last bound: twice that
	sed -i 's/\(le="0.04"}\) .*/\1 1080/' "$dir/after"
	[ "$(quantile simulation_tick_seconds 1)" = 0.080000000 ]
}

@test "a run is held by the stated rule" {
	held 500
	run ! held 501
	while read -r file change; do
		cp "$dir/figures" "$dir/figures.good"
		cp "$dir/after" "$dir/after.good"
		sed -i "$change" "$dir/$file"
		run held 500
		[ "$status" -ne 0 ] || { echo "held although $file: $change"; return 1; }
		mv "$dir/figures.good" "$dir/figures"
		mv "$dir/after.good" "$dir/after"
	done <<-'END'
		figures s/^players.*/players 499/
		figures s/^disconnects.*/disconnects 1/
		figures s/^reliable_lost.*/reliable_lost 1/
		figures s/^updates_missed.*/updates_missed 101/
		figures s/^updates .*/updates 0/
		figures s/^inputs_late.*/inputs_late 501/
		after s/^\(stormweir_simulation_ticks_skipped_total.*\) .*/\1 2/
		after /^stormweir_simulation_ticks_total/d
	END
	metrics 1100 1 9 >"$dir/after" # one of a thousand left out, less than one of a hundred slow
	held 500
	metrics 1100 0 12 >"$dir/after"
	run ! held 500
}

@test "the stages' table" {
	run stage_lines
	[ "${#lines[@]}" = 9 ]
	[ "${lines[0]}" = "reset 0.000 0.0 0.000 0.000" ]
	[ "${lines[7]}" = "flush 15.000 75.0 12.000 15.920" ]
	[ "${lines[8]}" = "tick 20.000 100.0 15.000 19.900" ]
}

@test "the last line is JSON with every metric" {
	run bench_json W3 abc1234 "$(metric_json players 1 0 2 higher 25000)" "$(metric_json stock_players 7 7 7 higher)"
	[ "$(jq -r '.bench + .commit' <<<"$output")" = W3abc1234 ]
	[ "$(jq -c '.metrics.players' <<<"$output")" = '{"median":1,"low":0,"high":2,"target":25000,"better":"higher"}' ]
	[ "$(jq -c '.metrics.stock_players' <<<"$output")" = '{"median":7,"low":7,"high":7,"better":"higher"}' ]
}

# holds MOST N: a server that holds MOST; counts its tries.
holds() {
	tried+=("$2")
	(($2 <= $1))
}

@test "the search finds the most that holds, to a tenth, in few steps" {
	for most in 24 25 300 12499 12500 13000 24999 25000 25001 27000 29999 30000 33000 59999 60000 70000; do
		tried=()
		search 25000 60000 holds "$most"
		((best <= most && best <= 60000)) || { echo "$most: $best"; return 1; }
		((best * 11 / 10 + 1 >= (most < 60000 ? most : 60000))) || { echo "$most: $best is too low"; return 1; }
		((${#tried[@]} <= 16)) || { echo "$most: tried ${tried[*]}"; return 1; }
		[ "$search_cut" = 0 ]
	done
	# at what is expected: one step that holds and two that do not
	tried=()
	search 25000 60000 holds 26000
	[ "${tried[*]}" = "25000 30000 27500" ]
	search 25000 60000 holds 0
	[ "$best" = 0 ]
}

@test "the search ends at its limit and at its time" {
	tried=()
	search 25000 25000 holds 99999
	[ "${tried[*]} $best" = "25000 25000" ]
	tried=()
	search 25000 800 holds 99999
	[ "${tried[*]} $best" = "800 800" ]
	search_time() { ((${#tried[@]} < 2)); }
	tried=()
	search 25000 60000 holds 99999
	[ "${tried[*]} $best $search_cut" = "25000 30000 30000 1" ]
	tried=()
	search 25000 60000 holds 10
	[ "${tried[*]} $best $search_cut" = "25000 12500 0 1" ]
}

@test "what does not hold for long is tried with less" {
	[ "$(search_back 27500 25000)" = 25000 ]
	[ "$(search_back 30000 25000)" = 27000 ]
	[ "$(search_back 25000 25000)" = 22500 ]
	[ "$(search_back 12500 25000)" = 11250 ]
}

@test "time is kept for what comes behind the search" {
	[ "$(search_behind 30 8 0 0 0)" = 0 ]
	[ "$(search_behind 30 8 - 0 0)" = 53 ]
	[ "$(search_behind 30 8 25000 0 0)" = 53 ]
	[ "$(search_behind 30 8 - 5000 4000)" = 170 ]
}

@test "the plot is SVG and holds every run and stage" {
	printf 'uniform\t25000\tyes\t13.00\t16.00\ngame\t25000\tno\t-\t-\nstock\t4000\tyes\t9\t19\n' >"$dir/runs.tsv"
	stage_lines | tr ' ' '\t' | grep -v ^tick >"$dir/stages.tsv"
	awk -f "$here/perf/onemap_plot.awk" "$dir/runs.tsv" "$dir/stages.tsv" >"$dir/plot.svg"
	python3 -c 'import sys, xml.dom.minidom; xml.dom.minidom.parse(sys.argv[1])' "$dir/plot.svg"
	for word in uniform game stock crowd lazy_join flush; do
		[ "$word" = crowd ] || grep -q ">$word<" "$dir/plot.svg"
	done
	run ! grep -q '>crowd<' "$dir/plot.svg"
	[ "$(grep -c "r='5' stroke" "$dir/plot.svg")" = 2 ]
}
