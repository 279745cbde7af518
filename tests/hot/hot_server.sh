#!/usr/bin/env bash
# hot_server.sh BUILD: no allocation, lock, stdio or system call in the poll loop and the tick, on the running server:
# bots join, walk, click NPCs, go to rooms, come home and leave, once per idle mode; rooms with scripts are prepared
# while the maps tick, handed over and handed back; the shard is recorded; and meanwhile
#   - the guard library names forbidden libc calls of hot threads (guard.c), and
#   - strace lists what the hot threads ask of the kernel. Allowed is what architecture.md says of AF_XDP: its
#     driver's wake-up for each transmit burst (sendto); and in adaptive mode the sleeps and yields of an idle loop.
set -uo pipefail
# shellcheck source=tests/e2e/e2e.sh
. "$(dirname "$0")/../e2e/e2e.sh"
e2e_begin "$1/bin"
build=$(dirname "$bin")

report=$stage_run/hot
# shellcheck disable=SC2034 # tools/stage.sh uses it
stage_wrap=(env "LD_PRELOAD=$build/lib/libsw_hot_guard.so" "SW_HOT_GUARD_REPORT=$report")

# A ferryman beside Old Tom takes players to a room of a second that is prepared only when somebody comes.
rooms() {
	local content=$stage_run/content
	cp -r "$stage_root/lua/content" "$content"
	cat >>"$content/meadow.lua" <<-LUA
		npc { name = "Ferryman", at = "tom", on_click = function(npc, player) npc:send(player, "arena") end }
	LUA
	cat >"$content/arena.lua" <<-LUA
		npc { name = "Guard", x = 8, y = 8, on_tick = function(npc) npc:walk(1, 0) end }
	LUA
	sed -i -e "s|^  content: .*|  content: $content\n  record: $stage_run/recordings|" -e '/^admission:/i\
  - {name: arena, kind: room, match_time: 1s, empty_time: 1s, players_max: 12, instances_max: 6, width: 32m,\
     height: 32m, tick_hz: 15, script: arena.lua}\
' "$stage_dir/node.yaml"
	"$bin/stormweir-config" --check "$stage_dir/node.yaml" >/dev/null || die "the configuration is not good"
}

# hot_threads: the ids of the EAL worker threads, all but the main one.
hot_threads() {
	local task pid
	pid=$(process_pid "$stage_dir/stormweir.pid")
	for task in /proc/"$pid"/task/*; do
		grep -q -- '-worker' "$task/comm" && basename "$task"
	done
}

# run_mode MODE ALLOWED...
run_mode() {
	local mode=$1 tid call calls
	shift
	step "idle: $mode"
	sed -i "s/^  idle: .*/  idle: $mode/" "$stage_dir/node.yaml"
	stage_server_start || die "the server did not start"
	bots_start "$mode" $((RANDOM * 10 + 1000)) 50 --seconds 8 --click "Old Tom" \
		--travel Ferryman
	sleep 4
	tid=$(hot_threads)
	[[ $tid =~ ^[0-9]+$ ]] || die "expected one hot thread, found: $tid"
	timeout -s INT 2 strace -qq -p "$tid" -o "$stage_run/strace" 2>/dev/null
	[[ -s $stage_run/strace ]] || die "strace saw nothing, not even transmit wake-ups"
	calls=$(sed -n 's/^\([a-z0-9_]*\)(.*/\1/p' "$stage_run/strace" | sort | uniq -c | sort -rn)
	echo "$calls"
	for call in $(awk '{print $2}' <<<"$calls"); do
		[[ " $* " == *" $call "* ]] || die "$call on a hot thread in $mode mode"
	done
	bots_wait "$mode"
	(($(metric admission_transfers_total) > 10)) || die "only $(metric admission_transfers_total) players changed maps"
	(($(metric simulation_instances_ended_total) > 0)) || die "no room ended"
	(($(metric recorder_bytes_total) > 10000)) || die "nothing was recorded"
	rm -f "$report"
	stage_server_stop || die "the server did not stop in order"
	cat "$report" 2>/dev/null
	grep -q '^hot thread .*: 0 violations' "$report" || die "the guard found violations, or was not on"
}

rooms
run_mode poll sendto
# restart_syscall is the clock_nanosleep that strace's own attaching interrupted.
run_mode adaptive sendto sched_yield clock_nanosleep restart_syscall
e2e_passed
