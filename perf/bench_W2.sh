#!/bin/sh
# bench_W2 [BUILD_FOLDER] [options of stormweir-bench]: see take_turns.sh.
exec "$(dirname "$0")/take_turns.sh" W2 reliable 20 - "$@"
