#!/usr/bin/env bash
# quests.sh BIN: bots do quests on the real server, which is killed in the middle of it.
#
#   A letter to be brought, and monsters to be killed for a thing that they leave. The server is killed with -9 while
#   eight bots are at it, and PostgreSQL is away for a while; they come again and do what is left. Each quest of each
#   character is completed once, with one reward; what the database has is what everybody is shown; what was recorded
#   is repeated by swreplay.
#
# Leaves nothing behind: no process, namespace, interface or file.
set -uo pipefail
# shellcheck source=tests/e2e/e2e.sh
. "$(dirname "$0")/e2e.sh"
e2e_begin "$@"

bots=8
first=4001
done=15872 # of common state 0x3e00: simulation/game/quests.h

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
	LUA
	cat >"$content/quests.yaml" <<-YAML
		quests:
		  - {number: 1, name: letter, title: Letter, gives: sealed letter, gold: 1000,
		     steps: [{number: 1, text: Bring it., talk: Taker, bring: sealed letter}]}
		  - {number: 2, name: hunt, title: Hunt, experience: 5000, rewards: [{item: hide coat}],
		     steps: [{number: 1, text: Kill 2., kill: wanderer, count: 2}, {number: 2, text: Get 1., have: gel},
		             {number: 3, text: Bring it., talk: Hunter, bring: gel}]}
	YAML
	echo '  - {table: wanderer, item: gel, chance_permille: 1000, count_max: 3}' >>"$content/loot.yaml"
	sed -i 's|{name: wanderer, .*|{name: wanderer, health: 10, speed_mm_per_s: 1000, experience: 5, gold_min: 1, gold_max: 3, loot: wanderer}|' \
		"$content/monsters.yaml"
	sed -i -e "s|^  content: .*|&\n  record: $stage_run/recordings|" \
		-e '/^maps:/,/^admission:/{/^admission:/!d}' "$stage_dir/node.yaml"
	cat >>"$stage_dir/node.yaml" <<-YAML
		maps:
		  - {name: meadow, shard: 0, width: 28m, height: 28m, monsters: 30, script: village.lua}
	YAML
	"$stage_bin/stormweir-config" --check "$stage_dir/node.yaml" >/dev/null || die "the configuration is not good"
}

# count QUERY WANT WHAT
count() {
	local got
	got=$(services_sql "$stage_dir" stormweir "$1") || die "the database was not asked"
	[[ $got == "$2" ]] || die "$3: $got, expected $2"
}

# Of each character: each quest done, completed by one operation, and its reward given by one.
once() {
	count "SELECT count(*) FROM quest WHERE state = $done" $((2 * bots)) "quests that are done"
	count "SELECT count(*) FROM ledger WHERE kind = 3 AND balance = $done" $((2 * bots)) "completions"
	count "SELECT count(*) FROM ledger WHERE kind = 0 AND amount = 1000" "$bots" "rewards of gold"
	count "SELECT count(*) FROM ledger WHERE kind = 1 AND amount = 5000" "$bots" "rewards of experience"
	count "SELECT coalesce(sum(amount), 0) FROM ledger WHERE kind = 2 AND item = 21 AND amount > 0 AND reason = 4" "$bots" \
		"coats that were given"
	count "SELECT count(*) FROM item_slot WHERE item = 5" 0 "letters that are left"
	"$stage_bin/swctl" audit ledger --config "$stage_dir/node.yaml" || die "the ledger does not balance"
}

step "bots do quests; the server is killed"
configure
mkdir -p "$stage_run/recordings"
stage_server_start || die "the server did not start"
bots_start early "$first" "$bots" --quests --seconds 60
sleep 5
kill_hard "$stage_dir/stormweir.pid"
(($(services_sql "$stage_dir" stormweir "SELECT count(*) FROM quest") > 0)) || die "no quest was begun"
process_stop "$stage_run/early.pid" INT 10
rm -f "$stage_run"/recordings/*

step "they come again, PostgreSQL is away for a while, and all is done"
stage_server_start || die "the server did not start again"
bots_start late "$first" "$bots" --quests --seconds 40 --expect-quests 2
sleep 2
services_postgres_stop "$stage_dir" || die "PostgreSQL did not stop"
sleep 2
services_postgres_start "$stage_dir" "$stage_fsync" || die "PostgreSQL did not start again"
for _ in {1..150}; do
	rows=$(services_sql "$stage_dir" stormweir "SELECT count(*) FROM quest WHERE state = $done")
	[[ $rows == $((2 * bots)) ]] && break
	sleep 0.2
done
bots_leave late
is 0 'simulation_malformed_[a-z_]+_total'
once

step "what was recorded is repeated"
stage_server_stop || die "the server did not stop in order"
once
for file in "$stage_run"/recordings/*.swrec; do
	"$stage_bin/swreplay" --config "$stage_dir/node.yaml" "$file" >"$stage_run/replay.log" || die "${file##*/}: $(tail -n 1 "$stage_run/replay.log")"
	tail -n 1 "$stage_run/replay.log"
done

step "who comes again has it all, and gets nothing twice"
stage_server_start || die "the server did not start a third time"
bots_run again "$first" "$bots" --quests --seconds 20 --expect-quests 2 --until-well || die "somebody's quests were not there"
once
e2e_passed
