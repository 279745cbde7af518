#!/usr/bin/env bash
# bench_W9 [BUILD_FOLDER [ROUNDS [TICKS]]]: see script/script_bench.c. The last line is one JSON object.
set -euo pipefail
here=$(cd "$(dirname "${BASH_SOURCE[0]}")/.." && pwd)
build=$(realpath "${1:-$here/build/release}")
program=$build/bin/stormweir-bench-script
[[ -x $program ]] || {
	echo "W9: $program is missing: ./dev build release" >&2
	exit 1
}
command -v lua5.4 >/dev/null || {
	echo "W9: lua5.4 is missing: ./dev setup" >&2
	exit 1
}
commit=$(git -C "$here" rev-parse --short HEAD 2>/dev/null || echo unknown)
[[ -z $(git -C "$here" status --porcelain 2>/dev/null) ]] || commit+=-changed
echo "W9: $(nproc) CPUs, $(sed -n 's/^model name[^:]*: //p' /proc/cpuinfo | head -1), Linux $(uname -r)," \
	"load $(cut -d' ' -f1-3 /proc/loadavg); commit $commit; $(lua5.4 -v)"
exec "$program" "$here/perf/script" "$commit" "${@:2}"
