#!/usr/bin/env bash
# battle.sh BIN: ten bots fight battles in rooms of the real server.
#
#   an NPC of the meadow sends whoever clicks it to the arena, a room of the rule battle with short times; ten are
#   there, it counts down, offers cards, shrinks its zone, has a winner, keeps ten places in the database and sends
#   everybody home, who go again. Rooms end, are warm again, and each match has each place of each fighter once.
#
# Leaves nothing behind: no process, namespace, interface or file.
set -uo pipefail
# shellcheck source=tests/e2e/e2e.sh
. "$(dirname "$0")/e2e.sh"
e2e_begin "$@"

configure() {
	local content=$stage_run/content
	mkdir -p "$content"
	cat >"$content/meadow.lua" <<-LUA
		npc {
			name = "Herald", x = 20, y = 20,
			on_click = function(npc, player) npc:send(player, "arena") end,
		}
	LUA
	cp "$stage_root/lua/content/cards.yaml" "$content/"
	cat >"$content/battle.yaml" <<-YAML
		battle:
		  - {at_s: 0, radius_permille: 3000, pick_s: 1}
		  - {at_s: 2, radius_permille: 0, shrink_s: 2, damage: 60}
	YAML
	# shellcheck disable=SC2154 # the stage's
	sed -i -e "s|^  content: .*|  content: $content|" -e '/^maps:/,/^admission:/{/^admission:/!d}' "$stage_dir/node.yaml"
	cat >>"$stage_dir/node.yaml" <<-YAML
		maps:
		  - {name: meadow, shard: 0, width: 40m, height: 40m, script: meadow.lua}
		  - {name: arena, kind: room, rule: battle, start_players: 10, start_wait: 4s, countdown: 1s, match_time: 8s,
		     empty_time: 3s, warm: 1, instances_max: 3, players_max: 10, width: 40m, height: 40m, tick_hz: 15}
	YAML
	"$stage_bin/stormweir-config" --check "$stage_dir/node.yaml" >/dev/null || die "the configuration is not good"
}

step "ten bots fight"
configure
stage_server_start || die "the server did not start"
bots_run fighters 3001 10 --travel Herald --pick --seconds 30 --expect-moves 2 --expect-results 1 --until-well ||
	die "someone came to no result"

step "what was said, and what was kept"
until_is 0 simulation_players
until_is 1 instances_warm
matches=$(metric simulation_matches_total) kept=$(metric simulation_results_total)
((matches >= 1)) || die "no match came to a result"
((kept >= 10 && kept <= 10 * matches)) || die "$kept results of $matches matches were kept"
(($(metric simulation_cards_picked_total) >= 10)) || die "only $(metric simulation_cards_picked_total) cards were chosen"
is 0 simulation_results_lost_total
is 0 'simulation_malformed_[a-z_]+_total'
(($(metric simulation_instances_ended_total) >= 1)) || die "no room ended"
# What was asked for last may be kept a moment later.
for _ in {1..20}; do
	kept=$(metric simulation_results_total)
	rows=$(services_sql "$stage_dir" stormweir 'SELECT count(*) FROM match_result WHERE rule = 2') || die "the database was not asked"
	[[ $rows == "$kept" ]] && break
	sleep 0.2
done
[[ $rows == "$kept" ]] || die "the database has $rows results, the server counted $kept"
odd=$(services_sql "$stage_dir" stormweir "SELECT count(*) FROM (SELECT FROM match_result GROUP BY match_id HAVING min(place) <> 1 OR max(place) > count(*)) m")
[[ $odd == 0 ]] || die "$odd matches have no first place, or places that nobody could have"
stage_server_stop || die "the server did not stop in order"
e2e_passed
