#!/usr/bin/env bash
# bench_W7.sh [BUILD_FOLDER] [options]: chat: one line to 100,000 members, and what the game notices. About 4 minutes.
#   --members N    of the channel in the first half (100000)  --rounds N   of its turns, at most (40)
#   --players N    on one map in the second half (5000)       --rate N     lines a second that they say to all (20)
#   --seconds N    of each stretch with and without chat (10)  --pairs N    of such stretches (4)
#   --smoke        judge nothing, but fail when somebody does not come in, or something is lost
#   --help         this text
# First half: perf/fanout.sh: deliveries a second of one server core, and in units of W2 in the same run. Where so many
# members cannot connect, they are halved, and that is said.
# Second half: the real server, one shard and one dataplane worker (on one lcore where there are fewer than four CPUs), chat
# thread, Redis and PostgreSQL; all players walk and are in the channel of all, in which one after the other says a line.
# Stretches without and with chat take turns in one run; the p99 of the shard's ticks with chat over that without, of each
# pair. The last line is one JSON object. Needs root: hugepages, priorities. Leaves logs in BUILD_FOLDER/bench/W7.
set -euo pipefail

name=W7
# shellcheck source=perf/onemap.sh
. "$(dirname "${BASH_SOURCE[0]}")/onemap.sh"
members=100000 rounds=40 players=5000 rate=20 seconds=10 pairs=4 smoke=0
onemap_option() {
	[[ $1 != --smoke ]] || smoke=1 taken=1
}
onemap_options "members rounds players rate seconds pairs" "$@"
((members && rounds && players && rate && seconds && pairs)) || onemap_usage "all numbers begin at 1"
lines_per_s=$rate # rate is the gate's, in onemap_config
unset rate

# --- first half ---

mkdir -p "$build/bench/$name"
first=$build/bench/$name/fanout.log
until MEMBERS=$members "$here/perf/fanout.sh" "$build" --rounds-max "$rounds" | tee "$first"; do
	((members >= 2000)) || {
		say "no fan-out could be measured; see $first"
		exit 1
	}
	members=$((members / 2))
	say "this machine does not hold so many: scaled down to $members members"
done
# turns_of SHARE [OTHER]: that quantile of the lines' rates, or of what they are in rates of the other side in the same round; of
# quiet turns, or of all where none was.
turns_of() {
	awk -F'\t' -v share="$1" -v other="${2:-}" '
		$4 > 0 { rate[$1, $2] = $4; kept[$1, $2] = $3; last = $1 }
		function take(quiet,   r, n) {
			for (r = 0; r <= last; r++) {
				if (!((r, "lines") in rate) || (other && !((r, other) in rate))) continue
				if (quiet && !(kept[r, "lines"] && (!other || kept[r, other]))) continue
				value[n++] = other ? rate[r, "lines"] / rate[r, other] : rate[r, "lines"]
			}
			return n + 0
		}
		END {
			n = take(1)
			if (!n) n = take(0)
			for (i = 1; i < n; i++)
				for (j = i; j && value[j - 1] > value[j]; j--) { t = value[j]; value[j] = value[j - 1]; value[j - 1] = t }
			printf other ? "%.3f\n" : "%.0f\n", n ? value[int((n - 1) * share + 0.5)] : 0
		}' "$build/bench/$name/turns.tsv"
}
deliveries=("$(turns_of 0.5)" "$(turns_of 0.25)" "$(turns_of 0.75)")
vs_w2=("$(turns_of 0.5 w2)" "$(turns_of 0.25 w2)" "$(turns_of 0.75 w2)")
echo "deliveries a second: ${deliveries[0]} (quartiles ${deliveries[1]} to ${deliveries[2]}); of W2 in the same round ${vs_w2[0]}" \
	"(${vs_w2[1]} to ${vs_w2[2]})"

# --- second half ---

# chat_stretch NAME: so many seconds, then /metrics and the generator's figures of it alone; the mark turns chat on or off.
chat_stretch() {
	local marks end=$((SECONDS + seconds))
	marks=$(grep -c '^gen: mark' "$dir/figures") || true
	while ((SECONDS < end)); do
		[[ -n $(process_pid "$dir/generator.pid") && -n $(process_pid "$dir/server.pid") ]] || return 2
		sleep 0.2
	done
	onemap_metrics "end.$1" || return 2
	kill -USR1 "$(process_pid "$dir/generator.pid")"
	until (($(grep -c '^gen: mark' "$dir/figures") > marks)); do
		[[ -n $(process_pid "$dir/generator.pid") ]] || return 2
		sleep 0.05
	done
	awk -v want="$marks" '/^gen: mark/ { n++ } n == want' "$dir/figures" >"$dir/figures.$1"
	onemap_metrics "begin.next" || return 2
}

tick_of() { awk -v t="$(quantile simulation_tick_seconds "$2" "$dir/begin.$1" "$dir/end.$1")" 'BEGIN { printf "%.3f\n", t * 1000 }'; }

columns='%-6s %-8s %9s %9s %8s %10s %11s %9s %8s %7s\n'
chat_line() {
	local both=("$dir/begin.$1" "$dir/end.$1")
	# shellcheck disable=SC2059 # the columns
	printf "$columns" "${1%.*}" "${1#*.}" "$(tick_of "$1" 0.5)" "$(tick_of "$1" 0.99)" \
		"$(figure chat_said "$dir/figures.$1")" "$(metric dataplane_chat_lines_total "${both[@]}")" \
		"$(per "$(metric dataplane_chat_deliveries_total "${both[@]}")" "$seconds" %.0f)" \
		"$(awk -v t="$(quantile dataplane_chat_delay_seconds 0.99 "${both[@]}")" 'BEGIN { printf "%.1f", t * 1000 }')" \
		"$(figure updates_missed "$dir/figures.$1")" "$(figure disconnects "$dir/figures.$1")"
}

chat_play() {
	local pair chat
	onemap_generator "$players" --login-rate 1500 --settle "${SETTLE:-5}" --seconds 0 --walk uniform --chat-rate "$lines_per_s"
	progress "$players players log in"
	onemap_wait 'gen: playing' $((60 + players / 500)) || return $?
	onemap_metrics begin.next || return 2
	progress "they play, $pairs times $seconds s without and $seconds s with chat"
	for ((pair = 1; pair <= pairs; pair++)); do
		for chat in without with; do
			cp "$dir/begin.next" "$dir/begin.$pair.$chat"
			chat_stretch "$pair.$chat" || return 2
			chat_line "$pair.$chat"
		done
	done
}

chat_run() {
	local width status=0
	width=$(onemap_width "$players")
	onemap_config "$players" "$width" uniform || return 2
	# Who speaks is not what is measured; lines that nobody may say are not heard.
	echo "chat: { channel_rate: $((lines_per_s < 500 ? 2 * lines_per_s : 1000)), log_days: 0 }" >>"$dir/node.yaml"
	onemap_tickets "$players" || return 2
	# shellcheck disable=SC2059 # the columns
	printf "$columns" pair chat tick_p50 tick_p99 said pieces deliv/s delay_p99 missed gone
	if onemap_server_start && onemap_characters "$players" "$width" uniform; then
		chat_play || status=$?
	else
		status=2
	fi
	onemap_server_stop
	cp "$dir/server.log" "$out/server.log"
	cp "$dir/figures" "$out/generator"
	return $status
}

onemap_begin "$build"
onemap_head
chat_run || {
	say "the run could not be made; its logs are in $out"
	exit 1
}
echo "milliseconds; delay: from a line's taking to its last deliveries being queued; pieces: of lines, each for 1,020 members of a worker at most"
# changes: of the p99, with chat over without, less 1; sorted.
changes() {
	local pair
	for ((pair = 1; pair <= pairs; pair++)); do
		awk -v a="$(tick_of "$pair.with" 0.99)" -v b="$(tick_of "$pair.without" 0.99)" 'BEGIN { printf "%.4f\n", b ? a / b - 1 : 0 }'
	done | sort -n
}
mapfile -t change < <(changes)
heard=0 said=0 gone=0
for ((pair = 1; pair <= pairs; pair++)); do
	for chat in without with; do
		heard=$((heard + $(figure chat_heard "$dir/figures.$pair.$chat")))
		said=$((said + $(figure chat_said "$dir/figures.$pair.$chat") - $(figure chat_refused "$dir/figures.$pair.$chat")))
		gone=$((gone + $(figure disconnects "$dir/figures.$pair.$chat")))
	done
done
dropped=0
for one in slow_peer memory invalid; do
	dropped=$((dropped + $(metric "dataplane_drop_chat_${one}_total" "$dir/begin.1.without" "$dir/end.$pairs.with")))
done
echo "$said lines were taken, $heard deliveries heard ($(per "$heard" "$said" %.1f) a line), $dropped dropped, $gone players gone"
if ((smoke)) && ((!heard || dropped || gone || heard < said * players * 9 / 10)); then
	say "something was lost, or nothing was heard"
	exit 1
fi
bench_json W7 "$commit" \
	"$(metric_json deliveries_per_s "${deliveries[@]}" higher 1000000)" "$(metric_json vs_w2 "${vs_w2[@]}" higher 0.6)" \
	"$(metric_json tick_p99_change "${change[pairs / 2]}" "${change[0]}" "${change[pairs - 1]}" lower 0.05)"
