# figures.sh: what W3 and W4 read from their runs' files, and how they say it. Needs no server. Sourced; DIR is a run's:
#   $dir/figures   "NAME NUMBER" lines of the generator      $dir/before, $dir/after   /metrics at both ends
# shellcheck shell=bash
# shellcheck disable=SC2154 # dir is the caller's

stages_of_tick='reset lazy_join deferred party messages actors interest flush'

# figure NAME [FILE]: the last of the generator's; 0 where it is not there.
figure() { awk -v name="$1" '$1 == name { n = $2 } END { print n + 0 }' "${2:-$dir/figures}"; }

# metric NAME [BEFORE AFTER]: how much a counter grew, all threads together.
metric() {
	awk -v name="stormweir_$1" '
		{ key = $1; sub(/\{.*/, "", key) }
		key == name { sum[FILENAME] += $2 }
		END { printf "%.9g\n", sum[ARGV[2]] - sum[ARGV[1]] }' "${2:-$dir/before}" "${3:-$dir/after}"
}

# quantile HISTOGRAM SHARE [BEFORE AFTER]: in seconds, straight between the bounds of its bucket. Of what came between
# the two; 0 when nothing did.
quantile() {
	awk -v name="stormweir_$1_bucket" -v share="$2" '
		{ key = $1; sub(/\{.*/, "", key) }
		key != name { next }
		{
			bound = $1; sub(/.*le="/, "", bound); sub(/".*/, "", bound)
			if (FILENAME == ARGV[1]) before[bound] += $2
			else { if (!(bound in after)) order[n++] = bound; after[bound] += $2 }
		}
		END {
			all = after["+Inf"] - before["+Inf"]
			last = 0; below = 0
			for (i = 0; i < n; i++) {
				count = after[order[i]] - before[order[i]]
				if (all && count >= share * all) {
					high = order[i] == "+Inf" ? last * 2 : order[i]
					part = count > below ? (share * all - below) / (count - below) : 1
					printf "%.9f\n", last + (high - last) * part
					exit
				}
				below = count; last = order[i]
			}
			print 0
		}' "${3:-$dir/before}" "${4:-$dir/after}"
}

# share A B: A of A + B, in per cent.
share() { awk -v a="$1" -v b="$2" 'BEGIN { printf "%.2f\n", a + b ? 100 * a / (a + b) : 0 }'; }
# per A B FORMAT: A / B.
per() { awk -v a="$1" -v b="$2" -v f="${3:-%.1f}" 'BEGIN { printf f "\n", b ? a / b : 0 }'; }

tick_ms() { awk -v t="$(quantile simulation_tick_seconds "$1")" 'BEGIN { printf "%.2f\n", t * 1000 }'; }
tick_p99_of_budget() { awk -v t="$(quantile simulation_tick_seconds 0.99)" 'BEGIN { printf "%.3f\n", t / 0.05 }'; }

# Cycles of the workers that found nothing to do, in per cent of all.
cycles_left() {
	local stage sum=0
	for stage in ring receive parse engine frame transmit; do
		sum=$(awk -v a="$sum" -v b="$(metric "dataplane_cycles_${stage}_total" "$@")" 'BEGIN { printf "%.0f", a + b }')
	done
	share "$(metric dataplane_cycles_idle_total "$@")" "$sum"
}

# held PLAYERS: all came in, nobody was disconnected, nothing reliable was lost, the p99 of a tick is at most half its 50
# ms, at most one tick of a thousand was left out, 99 % of the updates arrived, and 95 % of the inputs were sent.
held() {
	awk -v joined="$(figure players)" -v wanted="$1" -v gone="$(figure disconnects)" \
		-v lost="$(figure reliable_lost)" -v p99="$(tick_p99_of_budget)" \
		-v skipped="$(metric simulation_ticks_skipped_total)" -v ticks="$(metric simulation_ticks_total)" \
		-v missed="$(figure updates_missed)" -v came="$(figure updates)" \
		-v late="$(figure inputs_late)" -v sent="$(figure inputs)" 'BEGIN {
			exit !(joined == wanted && !gone && !lost && ticks && p99 <= 0.5 && skipped * 1000 <= ticks &&
				came && missed <= 0.01 * (came + missed) && late <= 0.05 * (sent + late))
		}'
}

# Of each stage: name, milliseconds a tick, share of the tick in per cent, p50 and p99 in milliseconds.
stage_lines() {
	local ticks all=0 stage
	ticks=$(metric simulation_ticks_total)
	all=$(metric simulation_tick_seconds_sum)
	for stage in $stages_of_tick; do
		awk -v name="$stage" -v s="$(metric "simulation_stage_${stage}_seconds_sum")" -v n="$ticks" -v all="$all" \
			-v p50="$(quantile "simulation_stage_${stage}_seconds" 0.5)" \
			-v p99="$(quantile "simulation_stage_${stage}_seconds" 0.99)" 'BEGIN {
				printf "%s %.3f %.1f %.3f %.3f\n", name, n ? s / n * 1000 : 0, all ? 100 * s / all : 0,
					p50 * 1000, p99 * 1000
			}'
	done
	awk -v s="$all" -v n="$ticks" -v p50="$(quantile simulation_tick_seconds 0.5)" \
		-v p99="$(quantile simulation_tick_seconds 0.99)" 'BEGIN {
			printf "tick %.3f 100.0 %.3f %.3f\n", n ? s / n * 1000 : 0, p50 * 1000, p99 * 1000
		}'
}

# metric_json NAME MEDIAN LOW HIGH higher|lower [TARGET]
metric_json() {
	printf '"%s": {"median": %s, "low": %s, "high": %s%s, "better": "%s"}' \
		"$1" "$2" "$3" "$4" "${6:+, \"target\": $6}" "$5"
}
# bench_json BENCH COMMIT METRIC_JSON...
bench_json() {
	local bench=$1 commit=$2 metrics
	shift 2
	printf -v metrics '%s, ' "$@"
	printf '{"bench": "%s", "commit": "%s", "metrics": {%s}}\n' "$bench" "$commit" "${metrics%, }"
}
