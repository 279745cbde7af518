# bench.sh: ./dev bench and ./dev fuzz. Sourced by ./dev.
#
# A benchmark is an executable perf/<name>/run, or a program bench-<name> of the build; it gets the
# folder of the release build in SW_BUILD. A fuzz target is a program fuzz-<name>, its corpus
# tests/fuzz/<name>.
# shellcheck shell=bash
# shellcheck disable=SC2154 # root is ./dev's

programs() {
	local file
	for file in build/"$1"/bin/"$2"-*; do
		[[ -x $file ]] && basename "$file" | cut -d- -f2-
	done
	return 0
}

bench_names() {
	local file
	for file in perf/*/run; do
		[[ -x $file ]] && basename "$(dirname "$file")"
	done
	programs release bench
}

bench() {
	local name failed=0
	setup
	build release
	if (($# == 0)); then
		echo "benchmarks:"
		bench_names | sed 's/^/  /'
		return
	fi
	for name in "$@"; do
		bench_names | grep -qx -- "$name" || usage "there is no benchmark $name"
	done
	export SW_BUILD=$root/build/release
	for name in "$@"; do
		if [[ -x perf/$name/run ]]; then
			"perf/$name/run" || failed=1
		else
			"build/release/bin/bench-$name" || failed=1
		fi
	done
	exit $failed
}

fuzz() {
	setup fuzz
	build fuzz
	if (($# == 0)); then
		echo "fuzz targets:"
		programs fuzz fuzz | sed 's/^/  /'
		return
	fi
	if (($# != 2)) || [[ ! $2 =~ ^[0-9]{1,6}$ ]]; then
		usage "fuzz takes a target and seconds"
	fi
	programs fuzz fuzz | grep -qx -- "$1" || usage "there is no fuzz target $1"
	mkdir -p "build/fuzz/corpus/$1" "build/fuzz/found"
	local seeds=()
	[[ ! -d tests/fuzz/$1 ]] || seeds=("tests/fuzz/$1")
	exec "build/fuzz/bin/fuzz-$1" -max_total_time="$2" -print_final_stats=1 \
		-artifact_prefix="build/fuzz/found/$1-" "build/fuzz/corpus/$1" "${seeds[@]}"
}
