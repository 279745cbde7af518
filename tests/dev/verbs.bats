# Proves: ./dev explains itself, refuses wrong arguments with code 2 before it does anything, allows
# one run at a time in a checkout, and the set-up asks for nothing that is installed.

setup() {
	root=$(cd "$BATS_TEST_DIRNAME/../.." && pwd)
}

@test "help names every verb, and no verb is help" {
	run "$root/dev" help
	[ "$status" -eq 0 ]
	for verb in run test setup build bench fuzz swctl clean help; do
		[[ "$output" == *$'\n  '"$verb"* ]]
	done
	help=$output
	run "$root/dev"
	[ "$status" -eq 0 ]
	[ "$output" = "$help" ]
}

@test "wrong arguments are refused" {
	while read -r arguments; do
		# shellcheck disable=SC2086 # words
		run "$root/dev" $arguments
		[ "$status" -eq 2 ] || { echo "$arguments: $status $output"; return 1; }
		[[ "$output" == dev:*"see ./dev help" ]]
	done <<-END
		walk
		setup now
		build fastest
		build dev asan
		run --bots
		run --bots many
		run --bots -1
		run --seconds 1s
		run --preset quick
		run --loud
		clean all
		bench --hold 600
		bench W3 W4 --hold 600
	END
	STORMWEIR_HTTP_PORT=web run "$root/dev" run
	[ "$status" -eq 2 ]
	STORMWEIR_HTTP_PORT=65536 run "$root/dev" run
	[ "$status" -eq 2 ]
}

@test "each package is asked for once, and only when missing" {
	run "$root/tools/packages.sh" missing
	[ "$status" -eq 0 ]
	for name in $output; do
		[ "$(dpkg-query -W -f '${db:Status-Status}' "$name" 2>/dev/null)" != installed ]
	done
	run "$root/tools/packages.sh" install-all
	[ "$status" -eq 2 ]
}

@test "a second run in the same checkout is refused" {
	((EUID == 0)) || skip "needs root"
	copy=$(mktemp -d)
	cp -r "$root/dev" "$root/tools" "$copy"
	mkdir -p "$copy/tests/lib" && cp "$root"/tests/lib/services.sh "$copy/tests/lib/"
	name=$(printf %s "$copy" | sha256sum | cut -c1-7)
	state=/var/lib/stormweir-dev/$name
	mkdir -p "$state"
	(
		flock 9
		# clean takes the same lock as run, and builds nothing first
		cd "$copy" && ./dev clean 9>&-
	) 9>"$state/lock" >"$copy/said" 2>&1 && status=0 || status=$?
	[ "$status" -eq 1 ]
	grep -q 'active in this checkout already' "$copy/said"
	"$copy/dev" clean
	[ ! -e "$state" ]
	rm -rf "$copy"
}
