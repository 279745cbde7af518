#!/bin/sh
# bench_W10 [BUILD_FOLDER]: see engine/idle_peers.c.
exec "$(dirname "$0")/engine/run.sh" W10 stormweir-bench-idle "$@"
