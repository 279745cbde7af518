#!/usr/bin/env bash
# cluster.sh BIN: two nodes on one PostgreSQL and one Redis with Sentinels, players through both.
#
#   a player who logs in at one node ends its stay at the other, and goes on where it stood; nobody is ever on both;
#   a Redis that comes back empty, a failover of the Sentinels, and the death of a node cost nobody in the game
#   anything, and whose node has died plays on at the other.
#
# Leaves nothing behind: no process, namespace, interface or file.
set -uo pipefail
# shellcheck source=tests/e2e/e2e.sh
. "$(dirname "$0")/e2e.sh"
# shellcheck source=tests/e2e/cluster_stage.sh
. "$(dirname "$0")/cluster_stage.sh"
e2e_begin "$@"
e2e_undo() { cluster_down; }

# How many characters Redis knows to be played, and how many play.
known() { redis keys 'sw{presence}:at:*' | grep -c .; }
playing() { echo $(($(on a metric simulation_players) + $(on b metric simulation_players))); }
just_known() { [[ $(known) == "$1" ]]; } # where a node is dead that would have to be asked who plays
nobody_known() { [[ $(known) == 0 ]]; }
all_known() { [[ $(known) == "$1" && $(playing) == "$1" ]]; }
# Nobody has found another node's newer login in the place of its own.
nobody_twice() {
	on a is 0 presence_lost_total
	on b is 0 presence_lost_total
	on a is 0 admission_takeovers_forced_total
	on b is 0 admission_takeovers_forced_total
}

replica_follows() { redis info replication | grep -q '^slave0:.*state=online'; }
is_master() { [[ $(cluster_master) == "$1" ]]; }
both_beat() { [[ $(redis scard 'sw{gate}:nodes') == 2 && $(redis exists 'sw{gate}:n:a' 'sw{gate}:n:b') == 2 ]]; }

step "two nodes, a Redis with a replica, three Sentinels"
cluster_up || die "the cluster could not be set up"
cluster_start a & # both at once: they meet at the database's migrations
started=$!
cluster_start b
wait $started || exit 1
waits_until "both nodes beat" both_beat
[[ $(redis hget 'sw{gate}:n:b' address) == 10.77.1.1:7777 ]] || die "b does not say where it is"
[[ $(services_sql "$stage_dir" stormweir 'SELECT string_agg(name, $$ $$ ORDER BY name) FROM node') == "a b" ]] ||
	die "PostgreSQL does not know both nodes"

step "players through both"
on a bots_start ann 5001 20 --no-redirects
on b bots_start ben 5101 20 --no-redirects
on a bots_start here 5201 5 --no-redirects --walk still --report "$stage_run/here.json" --expect-disconnect REPLACED
waits_until "45 play and are known" all_known 45

step "who is let in where the other node has more room is sent there, and is a player of that one"
moved() { [[ $(on a metric admission_moved_total) -gt 0 && $(on a metric admission_moved_total) == $(on b metric admission_moved_here_total) ]]; }
on a bots_start many 6001 60
waits_until "105 play and are known" all_known 105
moved || die "nobody was sent to b, or not all arrived"
bots_leave many
waits_until "45 play and are known, the many have left" all_known 45

step "who logs in at the other node ends its stay at this one, and stands where it stood"
on b bots_start there 5201 5 --no-redirects --walk still --expect-positions "$stage_run/here.json" --expect-disconnect REPLACED
bots_wait here
waits_until "45 play and are known, again" all_known 45
on b is 5 admission_takeovers_elsewhere_total
on a is 5 admission_ousted_total
nobody_twice

step "Redis is killed, and comes back empty"
kill_hard "$stage_run/redis-first.pid"
cluster_redis first || die "Redis did not start again"
waits_until "all who play are known again" all_known 45
waits_until "both nodes beat again" both_beat
on a bots_start back 5201 5 --no-redirects --walk still
bots_wait there
waits_until "45 play and are known, with five back" all_known 45
nobody_twice

step "the master dies, and the Sentinels make the replica one"
waits_until "the replica follows" replica_follows
kill_hard "$stage_run/redis-first.pid"
waits_until "another master" is_master "$(cluster_port second)"
waits_until "both nodes beat at the new master" both_beat
on a until_is 1 redis_up
on b until_is 1 redis_up
waits_until "all who play are known at the new master" all_known 45
on b bots_run late 5301 1 --seconds 1 || die "nobody is let in after the failover"
nobody_twice
bots_live ann
bots_live ben

step "a node dies, and its players go on at the other"
cluster_kill b
kill_hard "$stage_run/ben.pid"
rm -f "$stage_run/ben.pid"
on a bots_start refuge 5101 20 --no-redirects
on a until_is 45 simulation_players
on a is 0 presence_lost_total
on a is 0 admission_takeovers_forced_total
waits_until "just the 45 who play are known" just_known 45

step "whoever is sent to a node that does not let them in is back where it stood, and plays there"
"$stage_bin/swctl" pass-key new "$cluster_b/pass.keys" >/dev/null || die "no keys"
sed -i -e "s|pass_keys: .*|pass_keys: $cluster_b/pass.keys|" "$cluster_b/node.yaml"
cluster_start b
b_has_room() { [[ $(redis hget 'sw{gate}:n:b' room) -gt 0 ]]; }
waits_until "b has room" b_has_room
on a bots_start fond 6101 60 --no-redirects
waits_until "105 play" all_known 105
sent=$(on a metric admission_moved_total)
on a bots_start sent 6201 10
waits_until "115 play" all_known 115
[[ $(on a metric admission_moves_refused_total) -gt 0 ]] || die "nobody was refused at b"
[[ $(on a metric admission_moved_total) -gt $sent && $(on b metric admission_moved_here_total) == 0 ]] || die "b took somebody"
on b is 0 simulation_players
cluster_stop b

step "all leave"
bots_leave ann
bots_leave back
bots_leave refuge
bots_leave fond
bots_leave sent
waits_until "nobody is left in Redis" nobody_known
cluster_stop a
[[ -z $(services_sql "$stage_dir" stormweir 'SELECT name FROM node WHERE NOT stopped') ]] || die "a, or b, did not say that it stops"
e2e_passed
