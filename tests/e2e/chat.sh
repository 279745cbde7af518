#!/usr/bin/env bash
# chat.sh BIN: stock clients chat on the whole machine, with real Redis and PostgreSQL: whoever is in a channel hears all
# that is said in it, once and in order, and nothing after it has left; whispers find whom they are for; and who breaks off and
# comes again gets nothing that was meant for the session before.
#
# Leaves nothing behind: no process, namespace, interface or file.
set -uo pipefail
# shellcheck source=tests/e2e/e2e.sh
. "$(dirname "$0")/e2e.sh"
e2e_begin "$@"

step "ten bots stand together and chat until each has heard thirty lines"
stage_server_start || die "the server did not start"
# shellcheck disable=SC2154 # the stage's
bots_start talk 6001 10 --walk still --chat --until-well --expect-lines 30 --seconds 120 --report "$stage_run/talk.json"
bots_wait talk
# sum NAME REPORT: of all bots.
sum() { grep -o "\"$1\": *[0-9]*" "$2" | awk -F: '{ n += $2 } END { print n + 0 }'; }
for one in said 'done' heard own whispers whispered came; do
	(($(sum $one "$stage_run/talk.json") > 0)) || die "nobody has $one anything"
done
for one in missed disorder; do
	(($(sum $one "$stage_run/talk.json") == 0)) || die "$one: $(sum $one "$stage_run/talk.json")"
done
(($(metric dataplane_chat_deliveries_total) >= $(sum heard "$stage_run/talk.json"))) || die "more was heard than sent"

step "eight bots break off and come again, and go on chatting"
bots_start again 6101 8 --chat --pass --vanish 3 --until-well --expect-lines 15 --seconds 120 --report "$stage_run/again.json"
bots_wait again
(($(sum disorder "$stage_run/again.json") == 0)) || die "somebody heard something twice, or out of order"

step "nothing was dropped"
for one in slow_peer memory invalid; do
	is 0 dataplane_drop_chat_${one}_total
done
is 0 dataplane_drop_ring_unknown_total
until_is 0 simulation_players
stage_server_stop || die "the server did not stop in good order"
e2e_passed
