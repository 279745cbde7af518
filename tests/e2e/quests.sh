#!/usr/bin/env bash
# quests.sh BIN: bots do quests on the real server, and rewards come once, whatever breaks while one is being given.
#
#   A letter to be brought, monsters to be killed for a thing that they leave, and bread that may be fetched again and
#   again. When the commit of a reward is under way (it waits for a lock in PostgreSQL) the server is killed with -9, and
#   then PostgreSQL carries it out: nobody has heard of it. At the next reward PostgreSQL is killed, and the server has
#   to ask again. Bots come again and do what is left. Each quest of each character is completed once, with one reward,
#   bread never before its time; what the database has is what everybody is shown; what was recorded is repeated by
#   swreplay.
#
# Leaves nothing behind: no process, namespace, interface or file.
set -uo pipefail
# shellcheck source=tests/e2e/e2e.sh
. "$(dirname "$0")/e2e.sh"
e2e_begin "$@"

bots=5
first=4001
done=15872 # of common state 0x3e00: simulation/game/quests.h
again_s=2

# shellcheck disable=SC2154 # the stage's
configure() {
	content_own
	cat >"$content/village.lua" <<-'LUA'
		local function talk(npc, player, quest)
			local phase = player:quest(quest)
			if phase == "new" and npc:ask(player, "Will you?", { "Yes.", "No." }) == 1 then
				player:begin_quest(quest)
			elseif phase == "open" then
				player:complete_quest(quest)
			end
			npc:say(player, tostring(commit()))
		end
		npc { name = "Giver", x = 12, y = 12, on_click = function(npc, player) talk(npc, player, "letter") end }
		npc { name = "Taker", x = 16, y = 12, on_click = function(npc, player)
			if player:quest("letter") == "open" then talk(npc, player, "letter") end end }
		npc { name = "Hunter", x = 12, y = 16, on_click = function(npc, player) talk(npc, player, "hunt") end }
		npc { name = "Baker", x = 16, y = 16, on_click = function(npc, player) talk(npc, player, "bread") end }
	LUA
	cat >"$content/quests.yaml" <<-YAML
		quests:
		  - {number: 1, name: letter, title: Letter, gives: sealed letter, gold: 1000,
		     steps: [{number: 1, text: Bring it., talk: Taker, bring: sealed letter}]}
		  - {number: 2, name: hunt, title: Hunt, experience: 5000, rewards: [{item: hide coat}],
		     steps: [{number: 1, text: Kill 2., kill: wanderer, count: 2}, {number: 2, text: Get 1., have: gel},
		             {number: 3, text: Bring it., talk: Hunter, bring: gel}]}
		  - {number: 3, name: bread, title: Bread, rewards: [{item: bread}], again_s: $again_s,
		     steps: [{number: 1, text: Fetch it., talk: Baker}]}
	YAML
	echo '  - {table: wanderer, item: gel, chance_permille: 1000, count_max: 3}' >>"$content/loot.yaml"
	sed -i 's|{name: wanderer, .*|{name: wanderer, health: 5, speed_mm_per_s: 1000, experience: 5, gold_min: 1, gold_max: 3, loot: wanderer}|' \
		"$content/monsters.yaml"
	sed -i -e "s|^  content: .*|&\n  record: $stage_run/recordings|" \
		-e '/^maps:/,/^admission:/{/^admission:/!d}' "$stage_dir/node.yaml"
	cat >>"$stage_dir/node.yaml" <<-YAML
		maps:
		  - {name: meadow, shard: 0, width: 24m, height: 24m, monsters: 120, script: village.lua}
	YAML
	"$stage_bin/stormweir-config" --check "$stage_dir/node.yaml" >/dev/null || die "the configuration is not good"
}

completed="SELECT count(*) FROM ledger WHERE kind = 3 AND item < 3 AND balance = $done"

# A session of PostgreSQL that locks the rows of quests which only their reward is missing of, as they come, until a
# commit waits for one of them. Rewards of letter and hunt alone touch those.
hold_rewards() {
	coproc holder { "$(services_postgres_bin)/psql" -XAtq -v ON_ERROR_STOP=1 -h "$stage_dir/pgrun" -U stormweir -d stormweir; } 2>&1
	cat >&"${holder[1]}" <<-SQL
		BEGIN;
		DO \$\$ BEGIN
			FOR turn IN 1 .. 2000 LOOP
				PERFORM 1 FROM quest WHERE (quest, state) IN ((1, 1 << 9), (2, 3 << 9)) FOR UPDATE SKIP LOCKED;
				IF EXISTS (SELECT FROM pg_locks WHERE NOT granted AND locktype = 'transactionid'
					AND transactionid = pg_current_xact_id()::xid) THEN RETURN; END IF;
				PERFORM pg_sleep(0.01);
			END LOOP;
			RAISE 'no reward came in 20 s';
		END \$\$;
		\echo held
	SQL
}

# Waits until the commit of a reward is under way.
await_reward() {
	local said=
	read -r said <&"${holder[0]}"
	[[ $said == held ]] || die "no reward was under way: $said"
}

# let_go [STATEMENT]: the session ends.
let_go() {
	printf '%s\n\\q\n' "${1:-}" >&"${holder[1]}"
	# shellcheck disable=SC2154 # of the coproc
	wait "$holder_PID" 2>/dev/null
}

# count QUERY WANT WHAT
count() {
	local got
	got=$(sql "$1")
	[[ $got == "$2" ]] || die "$3: $got, expected $2"
}

# Of each character: each quest done, completed by one operation, and its reward given by one; bread as often as it was
# fetched, and begun again when its time had passed.
once() {
	count "SELECT count(*) FROM quest WHERE quest < 3 AND state = $done" $((2 * bots)) "quests that are done"
	count "$completed" $((2 * bots)) "completions"
	count "SELECT count(*) FROM ledger WHERE kind = 0 AND amount = 1000" "$bots" "rewards of gold"
	count "SELECT count(*) FROM ledger WHERE kind = 1 AND amount = 5000" "$bots" "rewards of experience"
	count "SELECT coalesce(sum(amount), 0) FROM ledger WHERE kind = 2 AND item = 21 AND amount > 0 AND reason = 4" "$bots" \
		"coats that were given"
	count "SELECT count(*) FROM item_slot WHERE item = 5" 0 "letters that are left"
	count "SELECT count(*) FILTER (WHERE kind = 3 AND item = 3 AND balance = $done) -
		count(*) FILTER (WHERE kind = 2 AND item = 6 AND amount = 1) FROM ledger" 0 "bread that was not given"
	count "SELECT count(*) FROM (SELECT balance, at, lag(balance) OVER w AS was, lag(at) OVER w AS was_at FROM ledger
		WHERE kind = 3 AND item = 3 WINDOW w AS (PARTITION BY character_id ORDER BY at, op)) l
		WHERE was = $done AND balance < $done AND at - was_at < interval '$again_s s'" 0 "bread that was begun too early"
	"$stage_bin/swctl" audit ledger --config "$stage_dir/node.yaml" || die "the ledger does not balance"
}

step "bots do quests; the server is killed while a reward is given"
configure
mkdir -p "$stage_run/recordings"
stage_server_start || die "the server did not start"
hold_rewards
bots_again_start heroes "$first" "$bots" 5 --quests --silence 1 --connect-timeout 3 --expect-quests 2
await_reward
kill_hard "$stage_dir/stormweir.pid"
before=$(sql "$completed")
let_go 'COMMIT;' # and what waits for it goes on
sql_until 0 "SELECT count(*) FROM pg_stat_activity WHERE pid <> pg_backend_pid() AND backend_type = 'client backend'" "sessions of the dead"
after=$(sql "$completed")
((after > before)) || die "the reward that was under way was not given"
echo "$((after - before)) rewards were given that nobody heard of"

step "the server comes again; PostgreSQL is killed while a reward is given"
hold_rewards
stage_server_start || die "the server did not start again"
await_reward
postgres_kill
let_go
postgres_again

step "all is done; bread is fetched again"
sql_until $((2 * bots)) "$completed" "completions"
sql_until t "SELECT count(*) >= 2 FROM ledger WHERE kind = 3 AND item = 3 AND amount < 0 AND balance > 0" "bread is not begun again"
bots_leave heroes
is 0 'simulation_malformed_[a-z_]+_total'
once

step "who comes again has it all, and gets nothing twice"
bots_run again "$first" "$bots" --quests --seconds 3 --expect-quests 2 || die "somebody's quests were not there"
once
stage_server_stop || die "the server did not stop in order"
once

step "what was recorded is repeated"
for file in "$stage_run"/recordings/*.swrec; do
	"$stage_bin/swreplay" --config "$stage_dir/node.yaml" "$file" >"$stage_run/replay.log" || die "${file##*/}: $(tail -n 1 "$stage_run/replay.log")"
	tail -n 1 "$stage_run/replay.log"
done
e2e_passed
