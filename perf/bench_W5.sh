#!/usr/bin/env bash
# bench_W5.sh [BUILD_FOLDER] [options]: a reconnect storm: thousands log in at once on one map while others play, with the
# gates (a queue in Redis that lets in a chosen number a second) and without, each in a server of its own, with real Redis,
# PostgreSQL and signed tickets over memif. What the players who were there notice. About 4 minutes.
#   --playing N    players before (3000)                    --storm N       who log in at once (15000)
#   --within S     the gates' rate is such that all are in after so many seconds (50)
#   --seconds N    of play before the storm, and after it (20)
#   --limit S      a storm is not waited for longer (180)
#   --smoke        judge nothing, but fail when somebody does not come in, or something is lost
#   --help         this text
# When so many cannot be on this machine's one map at all, with the gates, the storm is halved, and that is said. p99: of the
# time from when an input was due to the update that says it was applied, over all players who were there before ("heard"),
# and of the shard's ticks. Ratios of one server: the storm to before, which has the cost of six times the players on the
# map in it, and the storm to after, with all of them there and no storm. The last line is one JSON object.
# No client does work here, so nobody is asked for a proof of work. Without gates: rate and batch at what is let in whole.
# Needs root: hugepages, priorities. Leaves series.tsv, plot.svg and logs in BUILD_FOLDER/bench/W5.
set -euo pipefail

name=W5
# shellcheck source=perf/onemap.sh
. "$(dirname "${BASH_SOURCE[0]}")/onemap.sh"
playing=3000 storm=15000 within=50 seconds=20 limit=180 smoke=0
onemap_option() {
	[[ $1 != --smoke ]] || smoke=1 taken=1
}
onemap_options "playing storm within seconds limit" "$@"
((playing && storm && within && seconds)) || onemap_usage "--playing, --storm, --within and --seconds begin at 1"

columns='%-5s %-7s %7s %9s %9s %10s %10s %8s %9s %5s %8s %8s %8s\n'

# storm_phase NAME: its seconds end here: /metrics, and the generator's figures of it alone.
storm_phase() {
	local marks
	marks=$(grep -c '^gen: mark' "$dir/figures") || true
	onemap_metrics "end.$1" || return 2
	kill -USR1 "$(process_pid "$dir/generator.pid")"
	until (($(grep -c '^gen: mark' "$dir/figures") > marks)); do
		[[ -n $(process_pid "$dir/generator.pid") ]] || return 2
		sleep 0.05
	done
	awk -v want="$marks" '/^gen: mark/ { n++ } n == want' "$dir/figures" >"$dir/figures.$1"
}

gauge() { awk -v name="stormweir_$1" '{ key = $1; sub(/\{.*/, "", key) } key == name { n += $2 } END { print n + 0 }' "$dir/now"; }

# storm_look GATES: one second's line of the series. Returns 2 when the server has ended.
storm_look() {
	mv "$dir/now" "$dir/then"
	onemap_metrics now || return 2
	printf '%s\t%s\t%s\t%s\t%s\n' "$1" "$((SECONDS - storm_begin))" "$(gauge simulation_players)" "$(gauge gate_waiting)" \
		"$(quantile simulation_tick_seconds 0.99 "$dir/then" "$dir/now")" >>"$out/series.tsv"
}

# storm_watch GATES SECONDS [LINE]: looks each second, to the end of them or until the generator says LINE.
storm_watch() {
	local end=$((SECONDS + $2))
	while ((SECONDS < end)); do
		sleep 1
		storm_look "$1" || return 2
		[[ -z ${3:-} ]] || ! grep -q "^$3" "$dir/figures" || return 0
	done
	[[ -z ${3:-} ]]
}

storm_lines() {
	local phase before=before
	for phase in before storm after; do
		# shellcheck disable=SC2059 # the columns
		printf "$columns" "$1" $phase "$(figure players "$dir/figures.$phase")" \
			"$(storm_tick_ms 0.5 $before end.$phase)" "$(storm_tick_ms 0.99 $before end.$phase)" \
			"$(figure heard_p50_ms "$dir/figures.$phase")" "$(figure heard_p99_ms "$dir/figures.$phase")" \
			"$(metric simulation_ticks_skipped_total "$dir/$before" "$dir/end.$phase")" \
			"$(figure settled_missed "$dir/figures.$phase")" "$(figure settled_disconnects "$dir/figures.$phase")" \
			"$(figure retries "$dir/figures.$phase")" "$(figure refused "$dir/figures.$phase")" \
			"$(figure unanswered "$dir/figures.$phase")"
		before=end.$phase
	done
}
storm_tick_ms() { awk -v t="$(quantile simulation_tick_seconds "$1" "$dir/$2" "$dir/$3")" 'BEGIN { printf "%.2f", t * 1000 }'; }

storm_play() {
	local gates=$1 status=0
	onemap_generator $((playing + storm)) --storm "$storm" --storm-rate "$storm" --give-up "$limit" --login-rate 1500 --settle "${SETTLE:-5}" --seconds 0
	progress "gates $gates: $playing players log in"
	onemap_wait 'gen: playing' $((60 + playing / 100)) || return $?
	onemap_metrics before && cp "$dir/before" "$dir/now" || return 2
	storm_begin=$((SECONDS + seconds))
	progress "gates $gates: they play for $seconds s"
	storm_watch "$gates" "$seconds" || return 2
	storm_phase before || return 2
	progress "gates $gates: $storm more log in at once"
	storm_watch "$gates" "$limit" 'gen: storm over' || status=$?
	((status != 2)) || return 2
	storm_phase storm || return 2
	((status == 0)) || say "after $limit s some were still not in"
	progress "gates $gates: $(figure storm_in "$dir/figures.storm") of them are in; all play for $seconds s"
	storm_watch "$gates" "$seconds" || return 2
	storm_phase after || return 2
	storm_lines "$gates" >"$dir/lines.$gates"
	cp "$dir/figures.before" "$dir/before.$gates"
	cp "$dir/figures.storm" "$dir/storm.$gates"
	cp "$dir/figures.after" "$dir/after.$gates"
	storm_tick_ms 0.99 before end.before >"$dir/tick.before.$gates"
	storm_tick_ms 0.99 end.before end.storm >"$dir/tick.storm.$gates"
	storm_tick_ms 0.99 end.storm end.after >"$dir/tick.after.$gates"
}

# storm_run on|off: 1: not all could be there; 2: it could not be made.
storm_run() {
	local gates=$1 players=$((playing + storm)) width status=0
	local rate=100000 burst=100000 batch=1000 queue=$((storm + 64))
	if [[ $gates == on ]]; then
		rate=$(((storm + within - 1) / within))
		burst=$(((rate + 4) / 5))
		batch=$(((rate + 9) / 10))
		batch=$((batch < 1000 ? batch : 1000))
	fi
	sed -i "/^$gates\t/d" "$out/series.tsv"
	width=$(onemap_width "$players")
	onemap_config "$players" "$width" uniform || return 2
	onemap_tickets "$players" || return 2
	if onemap_server_start && onemap_characters "$players" "$width" uniform; then
		storm_play "$gates" || status=$?
	else
		status=2
	fi
	onemap_server_stop
	cp "$dir/server.log" "$out/server.$gates.log"
	cp "$dir/figures" "$out/generator.$gates"
	((status == 0)) || return $status
	# All were there at the end, and the map had time for them: else the machine is too small, storm or not.
	[[ $(figure players "$dir/after.$gates") == "$players" ]] || return 1
}

trouble() { # FIGURES: all that went wrong, of both kinds of players
	echo $(($(figure refused "$1") + $(figure unanswered "$1") + $(figure disconnects "$1") + $(figure reliable_lost "$1")))
}
ratio() { per "$(figure heard_p99_ms "$dir/storm.$1")" "$(figure heard_p99_ms "$dir/$2.$1")" %.3f; } # GATES TO
tick_ratio() { per "$(cat "$dir/tick.storm.$1")" "$(cat "$dir/tick.$2.$1")" %.3f; }

onemap_begin "$build"
onemap_head
: >"$out/series.tsv"
while :; do
	status=0
	storm_run on || status=$?
	((status)) || break
	if ((status == 2 || smoke || storm < 2000)); then
		say "the storm of $storm could not be made; its logs are in $out"
		exit 1
	fi
	storm=$((storm / 2))
	say "this machine does not hold so many: scaled down to a storm of $storm"
done
storm_run off || {
	(($? == 1)) || {
		say "the storm without gates could not be made; its logs are in $out"
		exit 1
	}
	say "without gates not all came in"
}
echo "W5: $storm log in at once beside $playing who play; with gates $(((storm + within - 1) / within)) a second are let in"
# shellcheck disable=SC2059 # the columns
printf "$columns" gates phase players tick_p50 tick_p99 heard_p50 heard_p99 skipped missed gone later refused silent
cat "$dir/lines.on" "$dir/lines.off"
for gates in on off; do
	echo "gates $gates: p99 heard in the storm $(ratio $gates after) of after, $(ratio $gates before) of before; of a tick" \
		"$(tick_ratio $gates after) and $(tick_ratio $gates before)"
	echo "  half were in after $(figure storm_p50_s "$dir/storm.$gates") s, the last after" \
		"$(figure storm_last_s "$dir/storm.$gates") s; errors $(trouble "$dir/storm.$gates")"
done
echo "milliseconds; missed: updates of the $playing; gone: of them; later: logins told to try again, and did"
awk -f "$here/perf/storm_plot.awk" -v playing="$playing" "$out/series.tsv" >"$out/plot.svg"
echo "plot: $out/plot.svg"
if ((smoke)) && (($(trouble "$dir/storm.on") + $(trouble "$dir/storm.off") + $(figure settled_disconnects "$dir/after.on"))); then
	say "somebody did not come in, or something was lost"
	exit 1
fi
one() { metric_json "$1" "$2" "$2" "$2" lower "${3:-}"; }
bench_json W5 "$commit" "$(one p99_ratio "$(ratio on after)" 1.2)" "$(one p99_ratio_gates_off "$(ratio off after)")" \
	"$(one p99_to_before "$(ratio on before)")" "$(one p99_to_before_gates_off "$(ratio off before)")" \
	"$(one tick_p99_ratio "$(tick_ratio on after)")" "$(one tick_p99_ratio_gates_off "$(tick_ratio off after)")" \
	"$(one last_in_s "$(figure storm_last_s "$dir/storm.on")" 60)" "$(one errors "$(trouble "$dir/storm.on")" 0)"
