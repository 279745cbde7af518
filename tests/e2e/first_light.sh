#!/usr/bin/env bash
# first_light.sh BIN: the whole machine on real input. Stock libenet clients in a network namespace, the server on
# AF_XDP, a private Redis and PostgreSQL.
#
#   1. without Redis, or without PostgreSQL, the server says so and does not start;
#   2. 100 bots walk, see each other come and go, talk to an NPC, lose no reliable message;
#   3. SIGTERM, start again: everyone is where they were;
#   4. bad clients beside good ones are refused by the right name and disturb nobody;
#   5. Redis and then PostgreSQL are killed: play goes on, /health says so, newcomers are told to try later and
#      may with the same ticket, who leaves meanwhile is saved afterwards, recovery is automatic;
#   6. SIGTERM, start again: everyone is where they were;
#   7. kill -9, start again: it serves; players whose connections break, also by that, come back with the passes
#      that they were given: no second ticket, no second signature;
#   8. the wire is cut and mended: /health says so, and it serves again.
#
# Leaves nothing behind: no process, namespace, interface or file.
set -uo pipefail
# shellcheck source=tests/e2e/e2e.sh
. "$(dirname "$0")/e2e.sh"
e2e_begin "$@"

step "without Redis or PostgreSQL there is no start"
tickets_early
# What is not there is not waited for so long; all later starts may take their time.
# shellcheck disable=SC2154 # the stage's
cp "$stage_dir/node.yaml" "$stage_run/node.yaml"
sed -i -E 's/^(redis|postgres):/&\n  connect_timeout: 1s/' "$stage_dir/node.yaml"
services_redis_stop "$stage_dir"
must_not_start Redis
services_redis_start "$stage_dir" || die "Redis did not start"
services_postgres_stop "$stage_dir"
must_not_start PostgreSQL
mv "$stage_run/node.yaml" "$stage_dir/node.yaml"
services_postgres_start "$stage_dir" "$stage_fsync" || die "PostgreSQL did not start"

step "100 bots walk"
stage_server_start || die "the server did not start"
bots_start walkers 1001 100 --expect-enters 20 --expect-leaves 100 --click "Old Tom" \
	--expect-disconnect SERVER_STOPPING --report "$stage_run/walk.json"
until_is 100 simulation_players
# Ten more come for a while: the walkers see them go.
bots_run visitors 2001 10 --seconds 5 --leave-over 2 || die "the visitors were not well"
until_is 100 simulation_players
sleep 1 # the last of them is told
stand_still walkers
sleep 2

step "stop and start: everyone is where they were"
stage_server_stop || die "the server did not stop in order"
bots_wait walkers
stage_server_start || die "the server did not start again"
bots_run returned 1001 100 --seconds 3 --walk still --connects-per-s 200 \
	--expect-positions "$stage_run/walk.json" || die "someone was not where they were"

step "bad clients beside good ones"
bots_start good 3001 40 --expect-enters 1 --expect-disconnect SERVER_STOPPING \
	--report "$stage_run/good.json"
until_is 40 simulation_players
bad_clients

step "Redis is killed and comes back"
stage_tickets 4001 1 waits "$stage_run/waits.redis" || die "no ticket"
kill_hard "$stage_dir/redis/redis.pid"
health_until "says redis" says_red redis
refused TRY_LATER "$stage_run/waits.redis"
services_redis_start "$stage_dir" || die "Redis did not start again"
health_until "is good again" stage_healthy
joins "$stage_run/waits.redis"

step "PostgreSQL is killed and comes back"
bots_start leavers 6001 5 --report "$stage_run/leavers.json"
stage_tickets 5001 1 waits "$stage_run/waits.postgres" || die "no ticket"
until_is 45 simulation_players
sleep 1 # they walk
stand_still leavers
sleep 1
kill_hard "$stage_dir/postgres.pid"
health_until "says postgres" says_red postgres
refused TRY_LATER "$stage_run/waits.postgres"
bots_leave leavers # their saves must wait
services_postgres_start "$stage_dir" "$stage_fsync" || die "PostgreSQL did not start again"
health_until "is good again" stage_healthy
joins "$stage_run/waits.postgres"
bots_run leavers_again 6001 5 --seconds 1 --walk still --expect-positions "$stage_run/leavers.json" ||
	die "who left while PostgreSQL was away was not saved"
bots_live good

step "stop and start: everyone is where they were"
stand_still good
sleep 2
stage_server_stop || die "the server did not stop in order"
bots_wait good
stage_server_start || die "the server did not start again"
bots_run good_again 3001 40 --seconds 2 --walk still --expect-positions "$stage_run/good.json" ||
	die "someone was not where they were"

step "the server is killed and starts again, and players come back with their passes"
bots_start breakers 7001 20 --connects-per-s 200 --pass --vanish 1 --silence 1.5 --connect-timeout 5
until_over 9 admission_passes_good_total
stand_still breakers
sleep 2 # nobody is between two connections
until_is 20 simulation_players
is 60 verifier_verified_total # the 40 before, and these
kill_hard "$stage_dir/stormweir.pid"
stage_server_start || die "the server did not start after kill -9"
until_is 20 simulation_players
(($(metric admission_passes_good_total) >= 20)) || die "not all came back with a pass after kill -9"
is 0 verifier_verified_total
bots_leave breakers
bots_run after_kill 3001 40 --seconds 2 --connects-per-s 200 || die "nobody could join after kill -9"

step "the wire is cut and mended"
# shellcheck disable=SC2154 # the stage's
stage_client ip link set "$stage_client_end" down || die "the wire was not cut"
health_until "says dataplane" says_red dataplane
stage_client ip link set "$stage_client_end" up || die "the wire was not mended"
health_until "is good again" stage_healthy
bots_run after_cut 3001 40 --seconds 2 --connects-per-s 200 || die "nobody could join after the cut"
tickets_late
stage_server_stop || die "the server did not stop in order"
e2e_passed
