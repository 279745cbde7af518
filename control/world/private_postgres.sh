#!/bin/sh
# A PostgreSQL of one's own for tests: its own data and socket folder, no TCP, fsync on, run as user
# postgres when we are root (it refuses root). Touches no server that exists.
#
#   private_postgres.sh init DIR      makes DIR, a cluster in it, and starts it
#   private_postgres.sh start DIR     starts it, returns when it answers
#   private_postgres.sh stop DIR      stops it in order
#   private_postgres.sh kill DIR      kill -9 of the postmaster; returns when all its processes are gone
#   private_postgres.sh freeze DIR    stops all its processes (SIGSTOP): a server that goes silent
#   private_postgres.sh thaw DIR      lets them go on
#   private_postgres.sh lock DIR      from now on user 'locked' needs a password
#   private_postgres.sh run COMMAND…  the command with SW_PG_DIR set to a fresh server, gone after it
#
# Connect with host=DIR/socket user=stormweir dbname=stormweir.
set -eu
self=$0
bin=$(ls -d /usr/lib/postgresql/15/bin 2>/dev/null || dirname "$(command -v initdb)")

as_postgres() {
	if [ "$(id -u)" = 0 ]; then
		setpriv --reuid=postgres --regid=postgres --init-groups "$@"
	else
		"$@"
	fi
}

start() {
	as_postgres "$bin/pg_ctl" -s -w -t 30 -D "$1/data" -l "$1/log" start </dev/null >/dev/null || {
		tail -n 20 "$1/log" >&2
		return 1
	}
}

case $1 in
init)
	mkdir -p "$2/socket"
	[ "$(id -u)" != 0 ] || chown -R postgres "$2"
	(cd "$2" && as_postgres "$bin/initdb" -D "$2/data" -U stormweir -A trust -E UTF8 \
		--locale=C.UTF-8 --no-sync >"$2/initdb.log")
	cat >>"$2/data/postgresql.conf" <<-END
		listen_addresses = ''
		unix_socket_directories = '$2/socket'
		max_connections = 30
		shared_buffers = 16MB
		fsync = on
		timezone = 'UTC'
	END
	start "$2"
	"$bin/createdb" -h "$2/socket" -U stormweir stormweir
	;;
start)
	start "$2"
	;;
stop)
	[ ! -f "$2/data/postmaster.pid" ] ||
		as_postgres "$bin/pg_ctl" -s -w -m fast -D "$2/data" stop
	;;
kill)
	pid=$(head -n 1 "$2/data/postmaster.pid")
	children=$(cat /proc/"$pid"/task/"$pid"/children)
	kill -9 "$pid"
	# The others see that it is gone and end; until then a start is refused.
	for child in $pid $children; do
		while [ -e /proc/"$child" ] && ! grep -q '^State:.*Z' /proc/"$child"/status 2>/dev/null; do
			sleep 0.02
		done
	done
	# A zombie that nobody has reaped yet still counts as a running server.
	rm -f "$2/data/postmaster.pid" "$2"/socket/.s.PGSQL.*
	;;
freeze | thaw)
	pid=$(head -n 1 "$2/data/postmaster.pid")
	signal=STOP
	[ "$1" = freeze ] || signal=CONT
	# The postmaster first, so that it makes no more.
	kill -$signal "$pid"
	for child in $(cat /proc/"$pid"/task/"$pid"/children); do
		kill -$signal "$child" || true
	done
	;;
lock)
	sed -i '1i local all locked scram-sha-256' "$2/data/pg_hba.conf"
	as_postgres "$bin/pg_ctl" -s -D "$2/data" reload
	;;
run)
	shift
	SW_PG_DIR=$(mktemp -d /tmp/sw-pg.XXXXXX)
	SW_PG_SCRIPT=$(realpath "$self")
	export SW_PG_DIR SW_PG_SCRIPT
	chmod 755 "$SW_PG_DIR"
	end() {
		"$SW_PG_SCRIPT" stop "$SW_PG_DIR" || true
		rm -rf "$SW_PG_DIR"
	}
	trap end EXIT
	trap 'exit 1' INT TERM
	"$SW_PG_SCRIPT" init "$SW_PG_DIR"
	"$@"
	;;
*)
	sed -n '2,/^set/s/^# \{0,1\}//p' "$self" >&2
	exit 2
	;;
esac
