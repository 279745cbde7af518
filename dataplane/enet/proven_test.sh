#!/usr/bin/env bash
# Proves that docs/enet.md names only tests that exist: in its section "What proves it", each
# `file: name; name` must be a test's file below dataplane/ that has each name in it.
set -euo pipefail
root=$1
section=$(sed -n '/^## What proves it/,/^## Where/p' "$root/docs/enet.md")
checked=0
# shellcheck disable=SC2016 # the backticks are the document's
entries=$(grep -o '`[a-z_0-9]*_test: [^`]*`' <<<"$section" | tr -d '`')
while IFS= read -r entry; do
	file=$(find "$root/dataplane" -name "${entry%%: *}.c")
	[[ -f $file ]] || { echo "no test ${entry%%: *}"; exit 1; }
	names=${entry#*: }
	while IFS= read -r name; do
		grep -qF -- "$name" "$file" || { echo "$file has no $name"; exit 1; }
		checked=$((checked + 1))
	done <<<"${names//; /$'\n'}"
done <<<"$entries"
((checked >= 90)) || { echo "only $checked names read"; exit 1; }
echo "$checked tests are there"
