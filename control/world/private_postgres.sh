#!/usr/bin/env bash
# A private PostgreSQL (tests/lib/services.sh) with fsync on, for tests that also take it away.
#
#   private_postgres.sh run COMMAND…  the command with SW_PG_DIR set to a fresh server, gone after it
#   private_postgres.sh start DIR     starts it again
#   private_postgres.sh kill DIR      kill -9 of the postmaster; returns when all its processes are gone
#   private_postgres.sh freeze DIR    SIGSTOP to all its processes: a server that goes silent
#   private_postgres.sh thaw DIR      lets them go on
#   private_postgres.sh standby DIR   a hot standby of it in DIR/s, which goes with the rest
#   private_postgres.sh lock DIR      from now on user 'locked' needs a password
#
# Connect with host=DIR/pgrun user=stormweir dbname=stormweir.
set -euo pipefail
self=$(realpath "$0")
# shellcheck source=tests/lib/services.sh
. "$(dirname "$self")/../../tests/lib/services.sh"

# The postmaster and its children.
processes() {
	local pid
	pid=$(process_pid "$1/postgres.pid")
	echo "$pid" "$(cat "/proc/$pid/task/$pid/children")"
}

case ${1:-} in
start)
	services_postgres_start "$2" on
	;;
kill)
	all=$(processes "$2")
	kill -KILL "${all%% *}"
	# The others see that it is gone and end; until then a start is refused.
	for pid in $all; do
		while [[ -n $(process_start_time "$pid") ]]; do
			sleep 0.02
		done
	done
	rm -f "$2/pgdata/postmaster.pid" # a zombie that nobody reaped still counts as a server
	;;
freeze | thaw)
	signal=STOP
	[[ $1 == freeze ]] || signal=CONT
	# The postmaster comes first, so that it makes no more.
	for pid in $(processes "$2"); do
		kill -$signal "$pid" || true
	done
	;;
standby)
	mkdir -p "$2/s/pgdata"
	chmod 711 "$2/s"
	chmod 700 "$2/s/pgdata"
	((EUID != 0)) || chown postgres: "$2/s/pgdata"
	"$services_root/tests/lib/as_postgres" "$(services_postgres_bin)/pg_basebackup" -h "$2/pgrun" -U stormweir \
		-D "$2/s/pgdata" --write-recovery-conf --wal-method=stream --checkpoint=fast
	services_postgres_start "$2/s" on
	;;
lock)
	sed -i '1i local all locked scram-sha-256' "$2/pgdata/pg_hba.conf"
	kill -HUP "$(process_pid "$2/postgres.pid")"
	;;
run)
	shift
	SW_PG_DIR=$(services_folder)
	SW_PG_SCRIPT=$self
	export SW_PG_DIR SW_PG_SCRIPT
	end() {
		[[ ! -d $SW_PG_DIR/s ]] || services_postgres_stop "$SW_PG_DIR/s"
		services_postgres_stop "$SW_PG_DIR"
		umount "$SW_PG_DIR/disk" 2>/dev/null || true # of world_full_test, had it crashed
		rm -rf "$SW_PG_DIR"
	}
	trap end EXIT
	trap 'exit 130' INT TERM
	services_postgres_start "$SW_PG_DIR" on
	"$@"
	;;
*)
	sed -n '2,/^set/s/^# \{0,1\}//p' "$self" >&2
	exit 2
	;;
esac
