# process.sh: processes that are known by pid *and* start time, so that a pid used again by a
# stranger is never signalled. Sourced by ./dev and tests/lib/services.sh.
# shellcheck shell=bash

# Start time of a pid in clock ticks since boot (field 22 of /proc/PID/stat; the second field may
# hold blanks and brackets); nothing when there is no such process, or only its zombie.
process_start_time() {
	local stat
	stat=$(cat "/proc/$1/stat" 2>/dev/null) || return 0
	stat=${stat##*) }
	# shellcheck disable=SC2086 # split into fields, from the third on
	set -- $stat
	[[ $1 == Z || $1 == X ]] || echo "${20}"
}

# process_note FILE PID: writes "PID START" to FILE, whole or not at all.
process_note() {
	echo "$2 $(process_start_time "$2")" >"$1.new" && mv "$1.new" "$1"
}

# process_pid FILE: the pid of FILE while that very process lives, else nothing.
process_pid() {
	local pid start
	[[ -r $1 ]] && read -r pid start <"$1" || return 0
	[[ $pid =~ ^[0-9]+$ && -n $start ]] || return 0
	[[ $(process_start_time "$pid") == "$start" ]] && echo "$pid"
	return 0
}

# process_spawn FILE LOG COMMAND...: starts COMMAND in a session of its own (a Ctrl-C at the terminal
# does not reach it; we stop it in order) and notes its pid in FILE. Returns at once. fd 9 is the
# lock of ./dev run: it must not outlive ./dev in a child.
process_spawn() {
	local file=$1 log=$2
	shift 2
	setsid env --default-signal=INT,QUIT "$@" >>"$log" 2>&1 </dev/null 9>&- &
	process_note "$file" $!
}

# process_stop FILE SIGNAL SECONDS: signals the process of FILE, waits, kills it after SECONDS, waits
# again, removes FILE. Returns 1 when it had to be killed.
process_stop() {
	local file=$1 signal=$2 turns=$(($3 * 20)) pid killed=0
	pid=$(process_pid "$file")
	[[ -n $pid ]] && kill "-$signal" "$pid" 2>/dev/null
	while [[ -n $(process_pid "$file") ]]; do
		if ((turns-- == 0)); then
			killed=1
			kill -KILL "$pid" 2>/dev/null
		fi
		((turns < -200)) && return 1
		sleep 0.05
	done
	rm -f "$file"
	return $killed
}

# process_wait_for SECONDS FILE COMMAND...: tries COMMAND until it succeeds; fails when the process of
# FILE has ended or the time is over.
process_wait_for() {
	local turns=$(($1 * 20)) file=$2
	shift 2
	until "$@" >/dev/null 2>&1; do
		[[ -n $(process_pid "$file") ]] || return 1
		((turns-- > 0)) || return 1
		sleep 0.05
	done
}
