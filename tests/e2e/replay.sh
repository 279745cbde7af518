#!/usr/bin/env bash
# replay.sh BIN: what the real server records of a shard, swreplay repeats: the same hash in every tick.
#
#   the sample maps with walls, monsters and scripts, two shards and a room; bots walk, click, travel and leave. Then
#   each shard's recording is replayed offline and agrees; what is altered in it is found; a range of ticks shows a
#   player. A recording that is as large as allowed ends by name, and agrees up to there.
#
# Leaves nothing behind: no process, namespace, interface or file.
set -uo pipefail
# shellcheck source=tests/e2e/e2e.sh
. "$(dirname "$0")/e2e.sh"
e2e_begin "$@"
# shellcheck disable=SC2034 # tools/stage.sh uses it
stage_lcores=3

# shellcheck disable=SC2154 # the stage's
configure() {
	content_own
	rm "$content/quests.yaml" # places that our small maps do not have
	cat >"$content/ferry.lua" <<-LUA
		npc {
			name = "Ferryman", x = 20, y = 20,
			on_tick = function(npc) npc:walk(math.random(-1, 1), math.random(-1, 1)) end,
			on_click = function(npc, player)
				local ways = { "arena", "cave", "meadow" }
				npc:send(player, ways[math.random(3)])
			end,
		}
	LUA
	sed -i -e "/^simulation:/,/^[a-z]*:\$/s/^  lcores: .*/  lcores: [1, 2]/" \
		-e "s|^  content: .*|&\n  record: $stage_run/recordings|" \
		-e '/^maps:/,/^admission:/{/^admission:/!d}' "$stage_dir/node.yaml"
	cat >>"$stage_dir/node.yaml" <<-YAML
		maps:
		  - {name: meadow, shard: 0, width: 40m, height: 40m, monsters: 20, script: ferry.lua}
		  - {name: cave, shard: 1, width: 40m, height: 40m, tick_hz: 30, monsters: 10, script: ferry.lua}
		  - {name: arena, kind: room, rule: timed, match_time: 2s, empty_time: 1s, warm: 1, instances_max: 4,
		     players_max: 5, width: 40m, height: 40m, tick_hz: 15}
	YAML
	"$stage_bin/stormweir-config" --check "$stage_dir/node.yaml" >/dev/null || die "the configuration is not good"
}

# agrees FILE: swreplay's line
agrees() {
	local line
	line=$("$stage_bin/swreplay" "$1") || die "${1##*/}: $line"
	echo "${1##*/}: $line"
	(($(sed -n 's/^\([0-9]*\) ticks agree.*/\1/p' <<<"$line") > 50)) || die "too few ticks"
}

step "a dozen bots travel while two shards are recorded"
configure
stage_server_start || die "the server did not start"
bots_start travellers 1001 12 --travel Ferryman --seconds 7 --expect-moves 1 --report "$stage_run/first.json"
bots_wait travellers
stage_server_stop || die "the server did not stop in order"

step "the replay agrees"
files=("$stage_run"/recordings/shard-*.swrec)
((${#files[@]} == 2)) || die "expected two recordings: ${files[*]}"
for file in "${files[@]}"; do
	agrees "$file"
	"$stage_bin/swreplay" "$file" | grep -q 'has ended (stopped)' || die "$file has no end"
done

step "a range of ticks shows a player; an altered byte is found"
"$stage_bin/swreplay" --from 40 --to 42 --map meadow --print players,in --hash 1 "${files[0]}" >"$stage_run/shown" ||
	die "the range was not shown: $(tail -n 2 "$stage_run/shown")"
grep -q '^meadow tick 41 player 10[0-9]* .* at [0-9]* [0-9]* ' "$stage_run/shown" || die "no player in the range"
grep -q '^meadow tick 42 hash ' "$stage_run/shown" || die "no hash in the range"
cp "${files[0]}" "$stage_run/altered.swrec"
# A byte of the node's seed: all that is left to chance comes out otherwise.
printf '\x5a' | dd of="$stage_run/altered.swrec" bs=1 seek=24 conv=notrunc status=none
if "$stage_bin/swreplay" "$stage_run/altered.swrec" >"$stage_run/altered"; then
	die "an altered seed was not found"
fi
grep -q '^DIFFERS: map meadow, slot 0, tick 1: ' "$stage_run/altered" || die "$(cat "$stage_run/altered")"

step "a recording that is full ends by name"
sed -i "s/^  record: .*/&\n  record_max: 1MiB/" "$stage_dir/node.yaml"
rm "${files[@]}"
stage_server_start || die "the server did not start"
bots_start crowd 2001 200 --seconds 6
bots_wait crowd
stage_server_stop || die "the server did not stop in order"
files=("$stage_run"/recordings/shard-0-*.swrec)
"$stage_bin/swreplay" "${files[0]}" | tee "$stage_run/full"
grep -q 'has ended (full)' "$stage_run/full" || die "the recording did not end by its size"
grep -q 'shard 0 has ended (full)' "$stage_log/stormweir.log" || die "the log does not say so"
e2e_passed
