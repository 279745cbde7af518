#!/bin/sh
# bench_W11 [BUILD_FOLDER]: see engine/handshakes.c.
exec "$(dirname "$0")/engine/run.sh" W11 stormweir-bench-handshakes "$@"
