#!/usr/bin/env bash
# run.sh NAME PROGRAM [BUILD_FOLDER]: a benchmark of the engine inside one process, on CPU 0. Results go
# to BUILD_FOLDER/bench/NAME; the last line is one JSON object.
set -euo pipefail
here=$(cd "$(dirname "${BASH_SOURCE[0]}")/../.." && pwd)
name=$1 program=$2
build=$(realpath "${3:-$here/build/release}")
out=$build/bench/$name
[[ -x $build/bin/$program ]] || {
	echo "$name: $build/bin/$program is missing: ./dev build release" >&2
	exit 1
}
mkdir -p "$out"
commit=$(git -C "$here" rev-parse --short HEAD 2>/dev/null || echo unknown)
[[ -z $(git -C "$here" status --porcelain 2>/dev/null) ]] || commit+=-changed
echo "$name: $(nproc) CPUs, $(sed -n 's/^model name[^:]*: //p' /proc/cpuinfo | head -1), Linux $(uname -r)," \
	"load $(cut -d' ' -f1-3 /proc/loadavg); commit $commit; results in $out"
exec taskset -c 0 "$build/bin/$program" "$commit" "$out"
