# test.sh: ./dev test. Sourced by ./dev.
# shellcheck shell=bash
# shellcheck disable=SC2154 # root is ./dev's

# suite PRESET [ctest options]: runs it with progress and adds a line to the summary.
suite() {
	local preset=$1 log begin=$SECONDS status line
	shift
	log=$(log_file "test-$preset")
	# Tests that make namespaces need root.
	as_root env CTEST_OUTPUT_ON_FAILURE=1 ASAN_OPTIONS="$ASAN_OPTIONS" \
		TSAN_OPTIONS="$TSAN_OPTIONS" ctest --test-dir "build/$preset" \
		--no-tests=error -j 2 "$@" 2>&1 | tee "$log"
	status=${PIPESTATUS[0]}
	line=$(grep -E '^[0-9]+% tests passed' "$log" | tail -n 1)
	summary+="$(printf '  %-5s %s, %d s' "$preset" "${line:-no tests ran}" \
		$((SECONDS - begin)))"$'\n'
	if ((status)); then
		failed=1
		summary+=$(sed -n '/^The following tests FAILED:/,/^Errors while/p' "$log" |
			grep -E '^\s+[0-9]+ - ' | sed 's/^/      /')$'\n'
	fi
	((EUID == 0)) || as_root chown -R "$(id -u):$(id -g)" "build/$preset"
}

# sanitizer PRESET LABEL: builds it and runs the tests that carry the label.
sanitizer() {
	if (build "$1"); then
		suite "$1" -L "^$2\$"
	else
		failed=1
		summary+="  $1 did not build"$'\n'
	fi
}

test_all() {
	local failed=0 summary='' begin=$SECONDS
	setup
	build dev
	export ASAN_OPTIONS=${ASAN_OPTIONS:-detect_stack_use_after_return=1}
	export TSAN_OPTIONS=${TSAN_OPTIONS:-halt_on_error=1}
	suite dev "$@"
	if (($# == 0)); then
		sanitizer asan pure
		sanitizer tsan ring
	fi
	printf '\nSummary (%d s)\n%s' $((SECONDS - begin)) "$summary"
	if ((failed)); then
		echo "FAILED; the full output is in build/log/test-*.log"
	else
		echo "all passed"
	fi
	exit $failed
}
