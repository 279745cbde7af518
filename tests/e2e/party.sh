#!/usr/bin/env bash
# party.sh BIN: bots make and change parties on the whole machine, with real Redis and PostgreSQL: nobody is ever told
# what cannot be, requests that are said again are not done twice, and a Redis that is killed and comes back empty is
# filled from PostgreSQL while they play.
#
# Leaves nothing behind: no process, namespace, interface or file.
set -uo pipefail
# shellcheck source=tests/e2e/e2e.sh
. "$(dirname "$0")/e2e.sh"
e2e_begin "$@"

step "twelve bots make and change parties"
stage_server_start || die "the server did not start"
until_is 1 party_attached
until_is 1 party_restores_total # a Redis that knows nothing has been filled with nothing
# shellcheck disable=SC2154 # the stage's
bots_start first 5001 12 --party --seconds 6 --expect-parties 4 --report "$stage_run/first.json"
bots_wait first
grep -q '"differing": *0' "$stage_run/first.json" || die "the report has no parties"
! grep -Eq '"(differing|odd)": *[1-9]' "$stage_run/first.json" || die "a repeated request had another answer"
bots_start fellows 5101 12 --party --seconds 9 --expect-parties 4
until_is 12 simulation_players
# Until something is written down that a restore would find.
turns=100 before=$(metric world_parties_saved_total)
until (($(metric world_parties_saved_total) >= before + 3)); do
	((turns-- > 0)) || die "no party was written down"
	sleep 0.1
done

step "an operator looks at one of them"
# looks: at a party that one of the bots is in just now.
looks() {
	# shellcheck disable=SC2154 # the stage's
	said=$("$stage_bin/swctl" party "fellows$((RANDOM % 12 + 1))" --http "127.0.0.1:$stage_http_port" --token "$stage_token" 2>&1)
}
turns=100
until looks; do
	((turns-- > 0)) || die "nobody is in a party: $said"
	sleep 0.1
done
[[ $said =~ ^party\ +[0-9]+,\ version\ [0-9]+,\ [0-9]+\ members$'\n' ]] || die "said: $said"
(($(grep -Ec '^(leader|member) +51[01][0-9] fellows[0-9]+, .*(instance [0-9.]+, shard 0|away for)' <<<"$said") > 1)) || die "said: $said"
[[ $(grep -c ^leader <<<"$said") == 1 ]] || die "said: $said"
"$stage_bin/swctl" status --http "127.0.0.1:$stage_http_port" | grep -Eq '^ +parties +green .*version' || die "/status has no line on parties"

step "Redis is killed, and comes back empty"
kill_hard "$stage_dir/redis/redis.pid"
until_is 0 party_attached
health_body | tr -d ' \n' | grep -q '"level":"yellow","name":"parties"' || die "/health does not say that parties cannot be changed"
services_redis_start "$stage_dir" || die "Redis did not start again"
until_is 1 party_attached
until_is 2 party_restores_total
(($(metric party_answers_done_total) > 0)) || die "nothing was done"
bots_wait fellows

step "nothing was odd"
is 0 party_malformed_total
is 0 party_errors_total
is 0 simulation_party_odd_total
is 0 simulation_party_lost_total
is 0 world_parties_invalid_total
until_is 0 world_parties_pending
until_is 0 simulation_players
stage_server_stop || die "the server did not stop in good order"
e2e_passed
