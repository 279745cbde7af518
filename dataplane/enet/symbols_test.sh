#!/bin/sh
# Proves that the engine is pure: all that its library needs from outside is named here, and none of
# it allocates, locks, reads a clock or calls the system.
# usage: symbols_test.sh libsw_enet.a
set -eu
allowed='^(memcpy|memset|memcmp|memmove|crypto_shorthash|check_failed|__memcpy_chk|__memset_chk|__stack_chk_fail|_GLOBAL_OFFSET_TABLE_)$'
undefined=$(nm -u "$1" | awk '$1 == "U" { print $2 }' | sort -u)
defined=$(nm --defined-only "$1" | awk 'NF == 3 { print $3 }' | sort -u)
[ -n "$defined" ] || { echo "$1: no symbols" >&2; exit 1; }
foreign=$(echo "$undefined" | grep -vxF "$defined" | grep -vE "$allowed" || true)
[ -z "$foreign" ] || { echo "the engine needs:" $foreign >&2; exit 1; }
