#!/usr/bin/env bash
# maps.sh BIN: players move between maps and rooms of the real server without a new connection.
#
#   two maps on one shard or two, and a room of two seconds that is kept warm; an NPC on each map sends whoever
#   clicks it to another one, the room sends everybody home when it ends. Every bot changes maps several times, loses
#   no reliable message and is never refused; in the end nobody is left anywhere, rooms have ended and their
#   slots serve again, and everyone is where they were when they come again.
#   Then the sample maps: bots walk from the cave to the meadow and back, through their portals.
#
# Leaves nothing behind: no process, namespace, interface or file.
set -uo pipefail
# shellcheck source=tests/e2e/e2e.sh
. "$(dirname "$0")/e2e.sh"
e2e_begin "$@"
# shellcheck disable=SC2034 # tools/stage.sh uses it
stage_lcores=3

configure() {
	local content=$stage_run/content map
	mkdir -p "$content"
	for map in meadow cave; do
		cat >"$content/$map.lua" <<-LUA
			npc {
				name = "Ferryman", x = 20, y = 20,
				on_click = function(npc, player)
					local ways = { "arena", "$([[ $map == meadow ]] && echo cave || echo meadow)", "nowhere" }
					npc:send(player, ways[math.random(3)])
				end,
			}
		LUA
	done
	# shellcheck disable=SC2154 # the stage's
	sed -i -e "/^simulation:/,/^[a-z]*:\$/s/^  lcores: .*/  lcores: [1, 2]/" \
		-e "s|^  content: .*|  content: $content|" -e '/^maps:/,/^admission:/{/^admission:/!d}' "$stage_dir/node.yaml"
	cat >>"$stage_dir/node.yaml" <<-YAML
		maps:
		  - {name: meadow, shard: 0, width: 40m, height: 40m, script: meadow.lua}
		  - {name: cave, width: 40m, height: 40m, tick_hz: 30, script: cave.lua}
		  - {name: arena, kind: room, rule: timed, match_time: 2s, empty_time: 1s, warm: 1, instances_max: 4,
		     players_max: 5, width: 40m, height: 40m, tick_hz: 15}
	YAML
	"$stage_bin/stormweir-config" --check "$stage_dir/node.yaml" >/dev/null || die "the configuration is not good"
}

step "twelve bots go to and fro"
configure
stage_server_start || die "the server did not start"
bots_start travellers 1001 12 --travel Ferryman --seconds 12 --expect-moves 2 --report "$stage_run/first.json"
sleep 5
"$stage_bin/swctl" status --http "127.0.0.1:$stage_http_port" >"$stage_run/status" || die "swctl status: $?"
grep -q '^meadow *0\.1 *open *0 ' "$stage_run/status" || die "meadow is not in: $(<"$stage_run/status")"
grep -q '^arena ' "$stage_run/status" || die "no arena is in: $(<"$stage_run/status")"
bots_wait travellers

step "nobody is left, nobody was lost"
until_is 0 simulation_players
until_is 0 instance_players
is 0 admission_players
joined=$(metric admission_joined_total) left=$(metric admission_left_total) moved=$(metric admission_transfers_total)
# Who goes before the map has announced him was not counted as joined.
((joined <= left + moved && left <= 12)) || die "$joined joined, $left left, $moved moved"
((moved >= 24)) || die "only $moved moved"
(($(metric admission_turned_back_total) > 0)) || die "nobody came back from nowhere"
(($(metric simulation_instances_ended_total) >= 2)) || die "rooms did not end"
is 0 instances_builds_failed_total
is 0 'simulation_malformed_[a-z_]+_total'
is 0 admission_refused_no_room_total
is 0 admission_refused_no_instance_total
until_is 1 instances_warm

step "stop and start: everyone comes to a map"
stage_server_stop || die "the server did not stop in order"
stage_server_start || die "the server did not start again"
bots_run again 1001 12 --seconds 2 --walk still || die "someone could not come again"
stage_server_stop || die "the server did not stop in order"

step "the sample maps' portals, both ways"
sed -i -e '/^maps:/,$d' -e 's/^  first_map: .*/  first_map: cave/' "$stage_dir/node.yaml"
sed -i "s|^  content: .*|  content: $stage_root/lua/content|" "$stage_dir/node.yaml"
cat >>"$stage_dir/node.yaml" <<-YAML
	maps:
	  - {name: meadow, file: maps/meadow.tmj, view: 40m}
	  - {name: cave, shard: 0, file: maps/cave.tmj, view: 40m, tick_hz: 30}
YAML
stage_server_start || die "the server did not start with the sample maps"
bots_run pilgrims 2001 6 --portals --seconds 30 --expect-moves 2 --until-well || die "someone did not come through and back"
(($(metric simulation_portals_total) >= 12)) || die "only $(metric simulation_portals_total) went through a portal"
is 0 admission_turned_back_total
stage_server_stop || die "the server did not stop in order"
e2e_passed
