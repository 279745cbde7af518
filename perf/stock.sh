# stock.sh: W3's reference: stormweir-stock-game, stock libenet doing the same work, over loopback. Sourced by bench_W3.sh
# after onemap.sh and search.sh.
# shellcheck shell=bash
# shellcheck disable=SC2034,SC2154 # the caller's

stock_start() {
	local n=$1
	: >"$dir/stock.log"
	: >"$dir/figures"
	process_spawn "$dir/server.pid" "$dir/stock.log" taskset -c "$cpu_worker" nice -n -15 \
		"$bin/stormweir-stock-game" 127.0.0.1 17777 "$n" "$(onemap_width "$n")" "${SETTLE:-5}" "$probe"
	process_wait_for 10 "$dir/server.pid" grep -q '^stock: ready' "$dir/stock.log" || {
		cat "$dir/stock.log" >&2
		say "stormweir-stock-game did not start"
		exit 1
	}
	onemap_first "$dir/server.pid"
	process_spawn "$dir/generator.pid" "$dir/figures" taskset -c "$cpu_generator" nice -n -15 \
		"$bin/stormweir-gen-kernel" --tx-ip 127.0.0.1 --tx-udp 17777 --forward-mode game --clients "$n" \
		--tickets "$dir/tickets" --login-rate 1000 --settle "${SETTLE:-5}" --seconds "$probe"
	onemap_first "$dir/generator.pid"
}

# try_stock PLAYERS: held when 20 ticks a second ran, 99 % of them sent within 50 ms, nobody was lost, nothing reliable
# either, and 99 % of updates came.
try_stock() {
	local n=$1 is=no status=0 p50 p99 hz begin=$SECONDS
	progress "stock libenet, $n players"
	onemap_tickets "$n"
	stock_start "$n"
	# Players come in within a minute, or are not held; what a server that is behind says later is no figure either.
	onemap_wait 'gen: done' $((40 + n / 400 + probe)) && onemap_wait 'stock: done' 5 "$dir/stock.log" || status=$?
	if ((status == 2)); then
		tail -n 5 "$dir/stock.log" "$dir/figures" >&2
		exit 1
	fi
	onemap_leave
	process_stop "$dir/generator.pid" TERM 5 || say "the generator did not end in time"
	process_stop "$dir/server.pid" TERM 5 || say "stormweir-stock-game did not end in time"
	beside=$((SECONDS - begin - probe))
	if ((status)); then
		# shellcheck disable=SC2059 # the columns
		printf "$columns" stock "$n" no - - - - - - - - - - - - -
		printf 'stock\t%s\tno\t-\t-\n' "$n" >>"$out/runs.tsv"
		return 1
	fi
	p50=$(per "$(figure stock_tick_p50_us "$dir/stock.log")" 1000 %.2f)
	p99=$(per "$(figure stock_tick_p99_us "$dir/stock.log")" 1000 %.2f)
	hz=$(per "$(figure stock_ticks "$dir/stock.log")" "$(figure stock_seconds "$dir/stock.log")" %.2f)
	if awk -v p99="$p99" -v hz="$hz" -v gone="$(figure disconnects)" -v lost="$(figure reliable_lost)" \
		-v missed="$(figure updates_missed)" -v came="$(figure updates)" 'BEGIN {
			exit !(p99 <= 50 && hz >= 19.8 && !gone && !lost && came && missed <= 0.01 * (came + missed))
		}'; then
		is=yes
	fi
	# shellcheck disable=SC2059 # the columns
	printf "$columns" stock "$n" "$is" "$p50" "$p99" "$(per "$p99" 50 %.3f)" \
		- "$(share "$(figure updates_missed)" "$(figure updates)")" \
		"$(share "$(figure inputs_late)" "$(figure inputs)")" "$(figure reliable_lost)" "$(figure disconnects)" \
		"$(figure heard_p99_ms)" "$(per "$(figure update_bytes)" "$(figure updates)" %d)" \
		"$(per "$(figure view_changes)" "$(figure updates)" %.2f)" "$(figure idle_percent)" "$(figure stock_idle_percent "$dir/stock.log")"
	printf 'stock\t%s\t%s\t%s\t%s\n' "$n" "$is" "$p50" "$p99" >>"$out/runs.tsv"
	[[ $is == yes ]]
}
