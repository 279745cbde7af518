#!/usr/bin/env bash
# belongings.sh BIN: nothing that anybody owns appears or vanishes, whatever breaks.
#
#   Players fight, pick up, drop, trade and go through portals; they cheat, break trades off, lose their connections
#   in the middle of them and connect from elsewhere. Meanwhile, in each round: the server is killed with -9, PostgreSQL
#   is, the wire is cut, and PostgreSQL and the server are killed at once, while commits are unknown. Each starts again.
#   In the end everybody stands still, and then
#     - `swctl audit ledger` balances;
#     - what the server has taken from the ground is what the ledger has as picked up;
#     - belongings.py compares all that clients were told with the tables, each trade and each bag;
#     - who comes again is shown what the tables have;
#     - the recordings of all starts replay to the same states.
#
#   STORMWEIR_ROUNDS=20 (1), STORMWEIR_PLAYERS=60 (30) and STORMWEIR_SEED=7 (drawn) make it longer; the seed decides what
#   players do, and when things break.
#
# Leaves nothing behind: no process, namespace, interface or file.
set -uo pipefail
# shellcheck source=tests/e2e/e2e.sh
. "$(dirname "$0")/e2e.sh"
e2e_begin "$@"
# shellcheck disable=SC2034 # tools/stage.sh uses it
stage_lcores=3 # two shards: a portal leads from one to the other

rounds=${STORMWEIR_ROUNDS:-1}
players=${STORMWEIR_PLAYERS:-30}
seed=${STORMWEIR_SEED:-$RANDOM}
RANDOM=$seed
first=1001
# So often somebody comes again, at most.
returns=$((20 * rounds + 20))
found=$stage_run/found

# Much to win, and near the portals: the cave is small.
configure() {
	content_own
	cat >>"$content/loot.yaml" <<-YAML
		  - {table: wanderer, item: gel, chance_permille: 800, count_min: 1, count_max: 9}
		  - {table: wanderer, item: wooden club, chance_permille: 400}
		  - {table: wanderer, item: leather cap, chance_permille: 200}
	YAML
	sed -i 's|{name: wanderer, .*|{name: wanderer, health: 10, attack: 3, speed_mm_per_s: 2000, experience: 5, gold_min: 5, gold_max: 30, loot: wanderer}|' \
		"$content/monsters.yaml"
	sed -i -e "/^simulation:/,/^[a-z]*:\$/s/^  lcores: .*/  lcores: [1, 2]/" -e "s|^  content: .*|&\n  record: $stage_run/recordings|" -e '/^maps:/,/^admission:/{/^admission:/!d}' \
		-e 's/^  first_map: .*/  first_map: cave/' "$stage_dir/node.yaml"
	cat >>"$stage_dir/node.yaml" <<-YAML
		maps:
		  - {name: cave, shard: 0, file: maps/cave.tmj, view: 40m, monsters: 40}
		  - {name: meadow, shard: 1, file: maps/meadow.tmj, view: 40m}
	YAML
	"$stage_bin/stormweir-config" --check "$stage_dir/node.yaml" >/dev/null || die "the configuration is not good"
}

traders_start() {
	local name=$1 times=$2
	shift 2
	bots_again_start "$name" "$first" "$players" "$times" --seed "$seed" --maps "$stage_run/content/maps" \
		--journal "$found/$name.journal" --report "$stage_run/$name.json" "$@"
}

# told NAME EVENT: how many of that event the journal has.
told() {
	local lines
	lines=$(grep -cs "\"event\":\"$2\"" "$found/$1.journal")
	echo "${lines:-0}"
}

# heard NAME EVENT COUNT: waits until the journal has so many of that event.
heard() {
	local turns=300
	until (($(told "$1" "$2") >= $3)); do
		((turns-- > 0)) || die "the bots called $1 heard of $(told "$1" "$2") $2, not $3"
		sleep 0.1
	done
}

# more EVENT COUNT: waits for so many more of that event among the traders.
more() {
	heard traders "$1" $(($(told traders "$1") + $2))
}

# at_least COUNT NAME: waits up to 10 s for a counter to come to that.
at_least() {
	local turns=200 value
	until value=$(metric "$2") && ((${value:-0} >= $1)); do
		((turns-- > 0)) || die "$2 is \"$value\", expected $1 at least"
		sleep 0.05
	done
}

server_again() {
	last_start=$(services_sql "$stage_dir" stormweir "SELECT clock_timestamp()") || die "PostgreSQL does not answer"
	stage_server_start || die "the server did not start again"
}

# People trade; then PostgreSQL stands still, and commits wait for it.
commits_wait() {
	more under_way 4
	postgres_all STOP
	at_least 2 world_commits_pending
	sleep "0.0$((RANDOM % 10))"
}

# What waits is carried out when PostgreSQL goes on, or never is when it is killed; a server that has been killed
# meanwhile has told nobody.
break_things() {
	step "round $1: the server is killed, its commits are carried out"
	commits_wait
	kill_hard "$stage_dir/stormweir.pid"
	postgres_all CONT
	server_again

	step "round $1: PostgreSQL is killed, its commits are sent again"
	commits_wait
	postgres_kill
	postgres_again
	health_until "is good again" stage_healthy

	step "round $1: the wire is cut"
	more under_way 4
	stage_client ip link set "$stage_client_end" down || die "the wire was not cut"
	more end $((players / 2)) # so many have given up
	stage_client ip link set "$stage_client_end" up || die "the wire was not mended"

	step "round $1: both are killed, nobody knows"
	commits_wait
	if ((RANDOM % 2)); then # some have been carried out, some have not
		postgres_all CONT
		sleep "0.0$((RANDOM % 10))"
	fi
	kill_hard "$stage_dir/stormweir.pid"
	postgres_kill
	postgres_again
	server_again
}

# The long form only: it takes a while. A stop waits for what is under way.
stop_in_order() {
	step "round $1: the server is stopped in order"
	commits_wait
	kill -TERM "$(process_pid "$stage_dir/stormweir.pid")"
	sleep "0.$((RANDOM % 9))"
	postgres_all CONT
	stage_server_stop || die "the server did not stop in order"
	server_again
}

# table NAME COLUMNS: of all rows, as CSV.
table() {
	services_sql "$stage_dir" stormweir "COPY (SELECT $2 FROM $1) TO STDOUT WITH (FORMAT csv, HEADER)" >"$found/$1.csv" ||
		die "the table $1 could not be read"
}

# look [--spoil]
look() {
	[[ -z ${STORMWEIR_KEEP:-} ]] || cp -r "$found" "$stage_run"/*.json "$STORMWEIR_KEEP" # to look into
	table ledger "request, op, kind, character_id, slot, item, serial, amount, balance, reason"
	table commit_record "request, result"
	table character "character_id, name, gold, experience"
	table item_slot "character_id, slot, item, serial, count"
	"$stage_bin/swctl" audit ledger --config "$stage_dir/node.yaml" || die "the ledger does not balance"
	python3 "$(dirname "$0")/belongings.py" "$@" "$found" || die "clients were told what is not so"
}

# Waits until nothing is under way, and everybody was shown all that it has earned.
until_settled() {
	local turns=100
	until [[ $(metric world_commits_pending) == 0 ]] && python3 "$(dirname "$0")/belongings.py" --settled "$found"; do
		((turns-- > 0)) || die "what was earned is not kept"
		sleep 0.2
	done
}

# What the shards have taken from the ground since the last start is what they have in the ledger as picked up.
loot_is_kept() {
	local taken kept
	taken=$(metric simulation_loot_taken_total)
	kept=$(services_sql "$stage_dir" stormweir "SELECT count(*) FROM ledger WHERE reason = 2 AND at > '$last_start'")
	[[ $taken == "$kept" ]] || die "$taken taken from the ground, the ledger has $kept"
}

# Everybody begins with something to give: a commit as any other, by an operator.
gifts() {
	traders_start first 0 --walk still
	heard first detail "$players"
	bots_leave first
	services_sql "$stage_dir" stormweir "SELECT count(*) FROM character c, LATERAL commit_batch_1(c.realm_id,
		ARRAY[gen_random_uuid()], ARRAY[c.character_id], ARRAY[0::bigint], ARRAY[c.epoch], ARRAY[0::bigint], ARRAY[9],
		ARRAY[5], ARRAY[0, 2, 2, 2, 2], ARRAY[0, 0, 0, 0, 0], ARRAY[0, 0, 1, 2, 3], ARRAY[0, 1, 2, 10, 20],
		ARRAY[300, 40, 15, 1, 1]::bigint[], ARRAY[0, 0, 0, 2 * c.character_id, 2 * c.character_id + 1])
		WHERE result = 0" >"$stage_run/gifts"
	[[ $(<"$stage_run/gifts") == "$players" ]] || die "$(<"$stage_run/gifts") got something"
}

# Also those that kill -9 has cut off: what players did, and what came of it, comes out the same offline.
replays_agree() {
	local file line ticks=0
	for file in "$stage_run"/recordings/shard-*.swrec; do
		line=$("$stage_bin/swreplay" "$file") || die "${file##*/}: $line"
		ticks=$((ticks + $(sed -n 's/^\([0-9]*\) ticks agree.*/\1/p' <<<"$line")))
	done
	((ticks > 100)) || die "only $ticks ticks were recorded"
	echo "$ticks ticks agree offline"
}

step "$players players trade; seed $seed"
configure
mkdir "$found"
stage_server_start || die "the server did not start"
gifts
traders_start traders "$returns" --fight --trade --portals --silence 1.5 --connect-timeout 3 \
	--expect-trades $((10 * rounds)) --seconds $((rounds * 100))
# What the checker is to be tried with has happened.
sql_until t "SELECT count(*) FILTER (WHERE reason = 2 AND serial <> 0) > 0 AND count(*) FILTER (WHERE reason = 3 AND kind = 0) > 0
	FROM ledger" "a club that was picked up, and gold that was traded"
for ((round = 1; round <= rounds; round++)); do
	((round == 1)) || stop_in_order "$round"
	break_things "$round"
done
more trade_end 5
stand_still traders
until_is "$players" simulation_players
until_settled

step "peace: what there is, is what everybody was told"
bots_leave traders
until_is 0 simulation_players
loot_is_kept
look
stage_server_stop || die "the server did not stop in order"
look
stage_server_start || die "the server did not start again"
traders_start visitors 0 --walk still
heard visitors detail "$players"
heard visitors inventory "$(services_sql "$stage_dir" stormweir "SELECT count(DISTINCT character_id) FROM item_slot")"
bots_leave visitors
look --spoil
stage_server_stop || die "the server did not stop in order"
replays_agree
e2e_passed
