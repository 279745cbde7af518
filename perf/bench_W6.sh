#!/bin/sh
# bench_W6 [BUILD_FOLDER] [options of stormweir-bench]: see flood.sh.
exec "$(dirname "$0")/flood.sh" "$@"
