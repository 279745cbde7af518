# bench.sh: ./dev bench and ./dev fuzz. Sourced by ./dev.
#
# A benchmark is a script perf/bench_NAME.sh; it gets the folder of the release build as its argument, and what follows
# its name, if that begins with "-" and no other benchmark is named. A
# fuzz target is a program FOLDER_NAME_fuzz of the fuzz build (sw_fuzz in cmake/sw.cmake), its seeds, if it
# has any, FOLDER/NAME_corpus.
# shellcheck shell=bash
# shellcheck disable=SC2154 # root is ./dev's

bench_names() {
	local file
	for file in perf/bench_*.sh; do
		[[ -x $file ]] && basename "$file" .sh | cut -c7-
	done
	return 0
}

fuzz_programs() {
	find build/fuzz -name '*_fuzz' -type f -perm -u+x | sort
}

bench() {
	local name failed=0 names=()
	while (($#)) && [[ $1 != -* ]]; do
		names+=("$1")
		shift
	done
	(($# == 0 || ${#names[@]} == 1)) || usage "options go to one benchmark"
	setup
	build release programs
	if ((${#names[@]} == 0)); then
		echo "benchmarks:"
		bench_names | sed 's/^/  /'
		return
	fi
	for name in "${names[@]}"; do
		bench_names | grep -qx -- "$name" || usage "there is no benchmark $name"
	done
	for name in "${names[@]}"; do
		as_root "perf/bench_$name.sh" "$root/build/release" "$@" || failed=1
	done
	exit $failed
}

fuzz() {
	local program folder seeds=()
	setup fuzz
	build fuzz
	if (($# == 0)); then
		echo "fuzz targets:"
		fuzz_programs | sed 's|.*/|  |'
		return
	fi
	if (($# != 2)) || [[ ! $2 =~ ^[0-9]{1,6}$ ]]; then
		usage "fuzz takes a target and seconds"
	fi
	program=$(fuzz_programs | grep -x -m 1 -- ".*/$1") || usage "there is no fuzz target $1"
	while read -r folder; do
		[[ ${folder//\//_} != "${1%_fuzz}_corpus" ]] || seeds+=("$folder")
	done < <(find -- * -name build -prune -o -type d -name '*_corpus' -print)
	mkdir -p "build/fuzz/corpus/$1" "build/fuzz/found"
	exec "$program" -max_total_time="$2" -print_final_stats=1 \
		-artifact_prefix="build/fuzz/found/$1-" "build/fuzz/corpus/$1" "${seeds[@]}"
}
