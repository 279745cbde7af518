#!/bin/sh
# bench_W1 [BUILD_FOLDER] [options of stormweir-bench]: see take_turns.sh.
exec "$(dirname "$0")/take_turns.sh" W1 unreliable 30 0.4 "$@"
