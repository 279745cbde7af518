#!/usr/bin/env bash
# orders.sh BIN: an operator gives orders to a running server with players on it.
#
#   without a token, or with one of a smaller role, nothing happens; an instance is opened, the players of another are moved to it without losing their
#   connection, what is one too many closes by itself, a map's script is reloaded, refused where it is broken, given up where it fails, and rolled back, a player is looked up and kicked, what it owns is corrected; each order is in ops_audit_log
#   once, with who gave it, also one that was given while PostgreSQL was away.
#
# Leaves nothing behind: no process, namespace, interface or file.
set -uo pipefail
# shellcheck source=tests/e2e/e2e.sh
. "$(dirname "$0")/e2e.sh"
e2e_begin "$@"

# shellcheck disable=SC2154 # the stage's
token=$stage_token

configure() {
	sed -i -e '/^maps:/,/^admission:/{/^admission:/!d}' "$stage_dir/node.yaml"
	cat >>"$stage_dir/node.yaml" <<-YAML
		maps:
		  - {name: meadow, shard: 0, script: npcs.lua, width: 300m, height: 300m, players_max: 200, instances_max: 3, close_after: 2s}
		  - {name: arena, kind: room, instances_max: 2, width: 40m, height: 40m, match_time: 600s}
	YAML
	content_own
	script "x = 1"
	"$stage_bin/stormweir-config" --check "$stage_dir/node.yaml" || die "the configuration is not good"
	sed -i 's/^[^ ]*/anna/' "$token"
}

# script LINES: the script of the meadow from now on.
script() {
	printf '%s\n' "npc { name = 'Tom', x = 150, y = 150, on_tick = function(npc)" "$1" "end }" >"$content/npcs.lua"
}

# until_more THAN NAME: waits up to 60 s.
until_more() {
	local turns=300
	until (($(metric "$2") > $1)); do
		((turns-- > 0)) || die "$2 is still $(metric "$2")"
		sleep 0.2
	done
}

# reload WORDS: on a slow machine it may go on when its order has been answered.
reload() {
	order script reload "$@" || [[ $said == *"longer than usual"* ]] || die "reload: $said"
}

# reload_not SAYS WORDS
reload_not() {
	order script reload "${@:2}" && die "reload ${*:2}: was done: $said"
	[[ $said == *"$1"* || $said == *"longer than usual"* ]] || die "reload ${*:2}: said \"$said\", expected \"$1\""
}

# until_version N: of the meadow's script; waits up to 60 s.
until_version() {
	local turns=600
	until must script list && [[ $said == *"map meadow  version $1 "* ]]; do
		((turns-- > 0)) || die "the script is not version $1: $said"
		sleep 0.1
	done
}

# order WORDS: as anna; its answer in $said.
order() {
	said=$("$stage_bin/swctl" "$@" --http "127.0.0.1:$stage_http_port" --token "$token" 2>&1)
}

# order_of TOKENFILE WORDS: as whose token it is.
order_of() {
	local token=$1
	shift
	order "$@"
}

must() {
	order "$@" || die "$*: $said"
}

must_not() {
	local says=$1
	shift
	order "$@" && die "$*: was done: $said"
	[[ $said == *"$says"* ]] || die "$*: said \"$said\", expected \"$says\""
}

# place MAP STATE: the first instance of the map in that state, as slot.generation.
place() {
	"$stage_bin/swctl" instance list --http "127.0.0.1:$stage_http_port" |
		awk -v map="$1" -v state="$2" '$1 == map && $3 == state { print $2; exit }'
}

audited() {
	services_sql "$stage_dir" stormweir "SELECT count(*) FROM ops_audit_log WHERE $1"
}

step "without a token nothing happens"
configure
stage_server_start || die "the server did not start"
bots_start crowd 5001 30 --seconds 60
until_is 30 simulation_players
first=$(place meadow open)
[[ $first ]] || die "there is no meadow"
"$stage_bin/swctl" instance close "$first" --http "127.0.0.1:$stage_http_port" 2>"$stage_run/said" && die "closed without a token"
grep -q 'no token came' "$stage_run/said" || die "it is not said that the token is missing: $(cat "$stage_run/said")"
is 1 ops_orders_unauthorized_total

step "who may only read, reads"
reader=$stage_run/bert.token
(umask 077 && "$stage_bin/swctl" token bert read >"$reader") || die "no token for bert"
cat "$reader" >>"$token" # no restart
order_of "$reader" player crowd5 || die "bert may not look at a player: $said"
order_of "$reader" kick crowd5 --reason "to see what it says" && die "bert kicked a player: $said"
[[ $said == *"needs the role operate, and this token has read"* ]] || die "said: $said"
is 1 control_orders_forbidden_total
is 30 simulation_players

step "what cannot be done is said"
must_not "only one of its map" instance close "$first" --reason "to see what it says"
must_not "there is no such instance" instance close 0.999
must_not "no instance: its slot" instance close meadow
must_not "there is no map nowhere" instance open nowhere
must_not "no player 424242 is on this node" kick 424242
must_not "there is no such order" instance burn "$first"

step "chat takes orders, too"
must chat mute 424242 5 --reason "to see what it says"
[[ $said == *"character 424242 is muted"* ]] || die "said: $said"
must chat mute 424242 0
must chat announce "restart at six"
[[ $said == *"announcement "* ]] || die "said: $said"
until_more 0 chat_announced_total
must chat slow global 3
must chat history global
[[ $said == *"channel #"* ]] || die "said: $said"
must_not "is no channel" chat ban 424242 nowhere 5
must_not "there is no report 1" chat close 1

step "players move to another instance"
must instance open meadow
[[ $said == *"of meadow is open on shard 0"* ]] || die "said: $said"
must instance close "$first" --reason "its walls are wrong"
until_is 30 simulation_transfers_total
until_is 30 simulation_players
until_is 1 simulation_instances_ended_total
second=$(place meadow open)
[[ $second && $second != "$first" ]] || die "the players are nowhere: $second"
bots_live crowd

step "what is one too many closes by itself"
must instance open meadow
until_is 1 instances_closed_empty_total
until_is 2 simulation_instances_ended_total
is 30 simulation_players
must instance open arena
[[ $("$stage_bin/swctl" instance show "$(place arena open)" --http "127.0.0.1:$stage_http_port") == *room* ]] || die "no room"

step "a script is reloaded, and what is bad never stays"
must script list
[[ $said == *"map meadow  version 1 "*npcs.lua* ]] || die "said: $said"
script "npc:walk(1, 0)"
reload meadow --reason "Tom shall walk"
until_version 2
until_more 0 script_moves_total
script "end end"
reload_not "npcs.lua:2:" all
reload_not "no map nowhere with a script" nowhere
script "npc:walk(0, 1)"
printf '%s\n' 'content "npcs.lua"' 'test("Tom talks", function(world) world:tick(1) error("he is silent") end)' >"$content/npcs_test.lua"
reload_not "he is silent" meadow
rm "$content/npcs_test.lua"
script "error('every time')"
reload meadow
until_more 0 simulation_script_returns_total
until_version 2
must script errors meadow
[[ $said == *"error in on_tick (npc_tick) of Tom, script version 3"*"npcs.lua:2: every time"* ]] || die "said: $said"
must script profile all
[[ $said == *"on_tick (npc_tick) of Tom"*"version 2"* ]] || die "said: $said"
for ((i = 0; i < 600; i++)); do # all instances are to follow the one that returned
	order script rollback meadow && die "rolled back to a version that failed: $said"
	[[ $said == *"another change of scripts is under way"* ]] || break
	sleep 0.1
done
[[ $said == *"no version before this one"* ]] || die "said: $said"
script "x = 2"
reload meadow
until_version 4
must script release meadow Tom
[[ $said == *"0 handlers were released"* ]] || die "said: $said"
until order script rollback meadow; do # the reload's last step may be under way
	[[ $said == *"under way"* || $said == *"longer than usual"* ]] || die "rollback: $said"
	[[ $said == *"under way"* ]] || break
	sleep 0.1
done
until_version 2
bots_live crowd

step "the page reads what there is"
curl -sS --max-time 2 "http://127.0.0.1:$stage_http_port/" >"$stage_run/page.html"
status=$(curl -sS --max-time 2 "http://127.0.0.1:$stage_http_port/status")
fields=$({
	grep -oE '\b(s|i|c|t|h|tick|counters)\.[a-z_0-9]+' "$stage_run/page.html" | sed 's/.*\.//'
	grep -oE 'sum\(s\.[a-z.]+, "[a-z_]+"' "$stage_run/page.html" | sed 's/.*"\(.*\)"/\1/'
	sed -n 's/^const stages = \[\(.*\)\];/\1/p' "$stage_run/page.html" | tr -d '" ' | tr , '\n' |
		sed 's/.*/stage_&_ns\noverruns_&/'
} | sort -u)
(($(wc -w <<<"$fields") > 45)) || die "only these fields were found in the page: $fields"
for field in $fields; do
	[[ $field == overrun_stage || $status == *"\"$field\":"* ]] || die "the page reads $field, which /status does not have"
done

step "a player is looked up and kicked"
must player 5003
[[ $said == *"5003 crowd3, account 1"*"meadow, instance $second, shard 0"*"epoch         1"*"not saved "* ]] || die "said: $said"
must player crowd3
must kick crowd3 --reason "was rude"
until_is 29 simulation_players
must_not "no player crowd3" player crowd3

step "what a player owns is corrected, once for a request, and reversed"
gold() {
	services_sql "$stage_dir" stormweir "SELECT gold FROM character WHERE character_id = 5005"
}
before=$(gold)
request=11111111-2222-4333-8444-555555555555
must ledger grant 5005 gold 100000 --request $request --reason "lost in a bug"
must ledger grant 5005 gold 100000 --request $request --reason "lost in a bug"
[[ $said == *"not done again; then: done; request $request"* ]] || die "said: $said"
(($(gold) - before >= 100000 && $(gold) - before < 200000)) || die "$before gold became $(gold)"
must ledger reverse $request --reason "it was no bug"
(($(gold) < 100000)) || die "the grant was not reversed: $(gold) gold"
must_not "not enough gold or items" ledger take 5005 item:1 1000000 --reason "to see what it says"
[[ $said == *"with --request and the same words"* ]] || die "said: $said"
"$stage_bin/swctl" audit ledger --config "$stage_dir/node.yaml" || die "the ledger does not balance"

step "all of it is in ops_audit_log"
until_is 0 world_audits_waiting
[[ $(audited "what NOT LIKE 'script%'") == 27 ]] || die "$(audited "what NOT LIKE 'script%'") orders are in ops_audit_log"
[[ $(audited "author = 'anna' AND good AND what = 'kick crowd3 was rude'") == 1 ]] || die "the kick is not in ops_audit_log"
[[ $(audited "author = 'bert' AND NOT good AND what LIKE 'kick crowd5 %' AND outcome LIKE '%role operate%'") == 1 ]] ||
	die "what bert was refused is not in ops_audit_log"
[[ $(audited "author = 'anna' AND good AND what LIKE 'ledger grant 5005 gold 100000 $request lost in a bug'") == 2 ]] ||
	die "the grant is not in ops_audit_log"
[[ $(audited "NOT good AND what NOT LIKE 'script%'") == 11 ]] || die "$(audited "NOT good AND what NOT LIKE 'script%'") orders were refused"
[[ $(audited "what = 'script reload meadow Tom shall walk'") == 1 ]] || die "the reload is not in ops_audit_log"

step "PostgreSQL is away"
services_postgres_stop "$stage_dir" || die "PostgreSQL did not stop"
health_until "turned red" says_red postgres
must kick crowd4 --reason "while away"
until_is 28 simulation_players
[[ -s $(dirname "$token")/orders.journal ]] || die "the journal is empty"
services_postgres_start "$stage_dir" off || die "PostgreSQL did not start"
health_until "turned green" stage_healthy
until_is 0 world_audits_waiting
[[ $(audited "what = 'kick crowd4 while away'") == 1 ]] || die "the second kick is not in ops_audit_log"
is 0 world_audits_lost_total

bots_live crowd
e2e_passed
