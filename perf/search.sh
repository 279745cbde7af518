# search.sh: how a benchmark looks for the largest number that holds, in bounded time. Sourced by bash scripts.
# shellcheck shell=bash
# shellcheck disable=SC2034 # best and search_cut are the caller's

# search START LIMIT TRY...: `TRY... N` says whether N holds. A fifth more while it holds, half while it does not, until
# there is one that holds and one that does not; then halves the gap down to a tenth. Goes no higher than LIMIT and not
# below 20. Before each step but the first it asks search_time, a function of the caller's, whether there is time for it
# (status 0). Sets best (0: none held) and search_cut (1: it ran out of time).
search() {
	local n=$1 limit=$2 low=0 high=0
	shift 2
	search_cut=0
	((n <= limit)) || n=$limit
	while ((!low || !high || high - low > low / 10)); do
		if ((low || high)) && ! search_time "$n"; then
			search_cut=1
			break
		fi
		if "$@" "$n"; then low=$n; else high=$n; fi
		if ((!high)); then
			n=$((n * 6 / 5))
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

# search_back N START: what to try when N, which a search from START found, does not hold for long: a tenth less, but
# START if that lies between, for it held.
search_back() { echo $(($1 > $2 && $1 * 9 / 10 < $2 ? $2 : $1 * 9 / 10)); }

# search_behind BESIDE PROBE GAME CROWD STOCK: seconds to keep for what comes behind W3's reported run, if it is wanted (0:
# it is not): a run with the game, of PROBE seconds and BESIDE for all that a run is besides; a crowd; three runs of stock.
search_behind() {
	local sum=0
	[[ $3 == 0 ]] || sum=$((sum + $1 + $2 + 15))
	[[ $4 == 0 ]] || sum=$((sum + 25 + $2))
	[[ $5 == 0 ]] || sum=$((sum + 3 * (20 + $2)))
	echo "$sum"
}
