#!/usr/bin/env bash
# bench_W8 [BUILD_FOLDER [ROUNDS]]: see commits/commits.c. A PostgreSQL of its own, on a unix socket, with fsync
# and synchronous_commit as they come. Results go to BUILD_FOLDER/bench/W8; the last line is one JSON object.
set -euo pipefail
here=$(cd "$(dirname "${BASH_SOURCE[0]}")/.." && pwd)
# shellcheck source=tests/lib/services.sh
. "$here/tests/lib/services.sh"
build=$(realpath "${1:-$here/build/release}")
program=$build/bin/stormweir-bench-commits
out=$build/bench/W8
[[ -x $program ]] || {
	echo "W8: $program is missing: ./dev build release" >&2
	exit 1
}
SW_PGBENCH=$(services_postgres_bin)/pgbench
export SW_PGBENCH
mkdir -p "$out"
commit=$(git -C "$here" rev-parse --short HEAD 2>/dev/null || echo unknown)
[[ -z $(git -C "$here" status --porcelain 2>/dev/null) ]] || commit+=-changed
echo "W8: $(nproc) CPUs, $(sed -n 's/^model name[^:]*: //p' /proc/cpuinfo | head -1), Linux $(uname -r)," \
	"load $(cut -d' ' -f1-3 /proc/loadavg); commit $commit; $("$SW_PGBENCH" --version); results in $out"
exec "$here/control/world/private_postgres.sh" run "$program" "$commit" "$out" ${2:+"$2"}
