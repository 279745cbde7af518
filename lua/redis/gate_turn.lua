-- The cluster's queue and gate: each node calls this about ten times a second, and says and hears all
-- that is new. Whoever calls lets in for all nodes, from one bucket; where a player goes follows from room,
-- not from who called.
--
-- KEYS[1] the prefix, which ends in the hash tag that all keys below share:
--   epoch              random id of this life of the data; gone: Redis was emptied, and nothing is known
--   rebuild, rebuilt   hash since; set of the nodes that have said all their places again
--   fresh              for a grace after that
--   state              hash state (open closed throttled), rate, at (us), author, reason: the operators' word
--   bucket             hash tokens, at (us)
--   clock              hash last, hold_places, hold_leases, hold_nodes (us): after a gap nobody is called late
--   seq, head, stride  hashes by lane: the newest place, the newest that was let in, the lane's turn
--   q:<lane>           zset of seq: who waits, <realm>:<character>
--   p:<character>      hash lane, seq, node, sid, seat, stays, away, aside: a place. seat: its older session
--                      has a place at that node, so it needs no room. stays: it can be let in there alone. away:
--                      its client is not connected. aside: taken out of q, 1 until it is heard of, 2 until its
--                      node has room
--   w:<lane>:<node>    zset of seq: who stays at that node, which was full when others were not
--   full               set of <lane>:<node>: those that there are
--   dry                hash by node: since when it has no room
--   seen               zset of us: when each place was last heard of. Place and entry go together
--   l:<character>      hash node, from, sid, lane, seq, seat, stays: let in, and a place reserved at node
--   lease              zset of us: until when       leases   hash by node: how many of them need room
--   out:<node>         list: what that node is to hear
--   turns              hash by node: when it last called      d:<node>   hash boot, total: its admitted
--   n:<node>           hash of the node's heartbeat: boot, room, places, admitted, address; gone: unknown
--   r:<character>      was in the game within the grace time
--   let_in             stream of who was let in, the last LET_IN_KEPT or some more: who, lane, seq, at (where it waited),
--                      node (where it goes); its ids are Redis's clock in ms. For people: nothing here reads it
-- sid names a session: <boot>:<handle>, both hexadecimal.
--
-- ARGV 1 now in us, or 0 for the server's clock   2 node   3 its boot   4 an epoch, should one be needed
--   5 rate   6 burst   7 batch   8 grace ms   9 lease ms   10 rebuild ms   11 the lanes' shares, "20 30 50"
--   12 room here   13 places taken here   14 admitted here since boot
--   15 "1": all places that this node knows have been said   16 nodes that are to be waited for; "?": not known
--   17..21 the operators' word as this node knows it: at, state, rate, author, reason
--   22 "1": clients that wait here can be sent to other nodes
--   23..29 how many of each follow, in this order:
--   taken  character sid        its lease has become a place       back  character sid   no place after all
--   left   character            has left the game                  away  character sid   disconnected
--   gone   character sid        wants no place any more            beat  character sid   is still there
--   new    character sid lane seq flags    seq: the place it had, or 0; flags: s seat, r said before, p the
--          place is a client's pass, which counts while Redis is put together again, and a grace longer; t its
--          client goes to no other node; h it was sent to another one, and is back
-- Returns five lists of strings:
--   OK or REBUILDING, epoch, state, rate, at, author, reason, room of all, places of all as believed, as
--      reported, error here, leases, then counts of this call: let in, places that expired, leases that did,
--      set aside
--   lane by lane: newest let in, how many wait
--   for each new: PLACE lane seq | ADMIT lane seq | MOVE lane seq (follows in the last list) | WAIT 0 0 |
--      REPLACED 0 0
--   for each beat that is not well: its number, LOST | REPLACED | ADMIT | MOVE
--   "A sid" let in here | "M sid node address" let in at another node | "R sid" another session has its place

local base = KEYS[1]
local now, node, boot = tonumber(ARGV[1]), ARGV[2], ARGV[3]
local rate, burst, batch = tonumber(ARGV[5]), tonumber(ARGV[6]), tonumber(ARGV[7])
local grace, lease_time, rebuild_time = ARGV[8] * 1000, ARGV[9] * 1000, ARGV[10] * 1000
local stays = ARGV[22] == '1' and '0' or '1'
local ALIVE, GAP, ASIDE_MORE, REAP_MAX, OUT_MAX = 3000000, 2000000, 64, 256, 1024
local LET_IN_KEPT = 10000 -- 1.5 MiB of Redis

local function call(...)
	return redis.call(...)
end

local function whole(number)
	return string.format('%.0f', number)
end

if now == 0 then
	local time = call('TIME')
	now = time[1] * 1000000 + time[2]
end

local shares = {}
for share in string.gmatch(ARGV[11], '%d+') do
	shares[#shares + 1] = tonumber(share)
end
local LANES, NORMAL, RETURNING = #shares, #shares, #shares - 1

local epoch = call('GET', base .. 'epoch')
local outs, expired_places, expired_leases, set_aside, popped = {}, 0, 0, 0, 0

-- ---- nodes ----

local turns = {}
call('HSET', base .. 'turns', node, whole(now))
do
	local all = call('HGETALL', base .. 'turns')
	for i = 1, #all, 2 do
		local age = now - tonumber(all[i + 1])
		if age <= ALIVE and age >= -GAP then
			turns[all[i]] = true
		elseif age > 3600000000 then
			call('HDEL', base .. 'turns', all[i])
			call('HDEL', base .. 'leases', all[i])
			call('HDEL', base .. 'dry', all[i])
			call('DEL', base .. 'd:' .. all[i])
		end
	end
end
call('HSET', base .. 'd:' .. node, 'boot', boot, 'total', ARGV[14])

local function address_of(name)
	local address = call('HGET', base .. 'n:' .. name, 'address')
	return address and address ~= '' and address or nil
end

local function tell(name, words)
	if name == node then
		outs[#outs + 1] = words
		return
	end
	call('RPUSH', base .. 'out:' .. name, words)
	call('PEXPIRE', base .. 'out:' .. name, ARGV[9])
end

-- ---- places and leases ----

local function place_of(member)
	local p = call('HMGET', base .. 'p:' .. member, 'lane', 'seq', 'node', 'sid', 'seat', 'away', 'aside',
		'stays')
	return p[1] and {lane = p[1], seq = p[2], node = p[3], sid = p[4], seat = p[5], away = p[6], aside = p[7],
		stays = p[8]}
end

local function lease_of(member)
	local l = call('HMGET', base .. 'l:' .. member, 'node', 'from', 'sid', 'lane', 'seq', 'seat', 'stays')
	return l[1] and {node = l[1], from = l[2], sid = l[3], lane = l[4], seq = l[5], seat = l[6],
		stays = l[7] or '0'} -- a lease of an older version has none
end

local function place_put(member, lane, seq, sid, seat, tied)
	local newest = tonumber(call('HGET', base .. 'seq', lane) or '0')
	if tonumber(seq) > newest then
		call('HSET', base .. 'seq', lane, seq)
	end
	call('ZADD', base .. 'q:' .. lane, seq, member)
	call('HSET', base .. 'p:' .. member, 'lane', lane, 'seq', seq, 'node', node, 'sid', sid, 'seat', seat,
		'stays', tied or stays, 'away', '0', 'aside', '0')
	call('ZADD', base .. 'seen', whole(now), member)
end

-- The node where it waits is full, and others, where it cannot go, are not: it holds nobody up, and is the first
-- that is let in there.
local function place_park(member, p)
	local name = p.lane .. ':' .. p.node
	call('ZREM', base .. 'q:' .. p.lane, member)
	call('HSET', base .. 'p:' .. member, 'aside', '2')
	call('ZADD', base .. 'w:' .. name, p.seq, member)
	call('PEXPIRE', base .. 'w:' .. name, ARGV[8])
	call('SADD', base .. 'full', name)
end

local function place_unpark(member, p)
	if p.aside == '2' then
		call('ZREM', base .. 'w:' .. p.lane .. ':' .. p.node, member)
	end
end

local function place_drop(member, p)
	place_unpark(member, p)
	call('ZREM', base .. 'q:' .. p.lane, member)
	call('ZREM', base .. 'seen', member)
	call('DEL', base .. 'p:' .. member)
end

-- Its client is there: heard of, and if it was set aside, in the queue again where it was. moved: from where it
-- was heard of last.
local function place_wake(member, p, moved)
	call('ZADD', base .. 'seen', whole(now), member)
	if p.aside == '2' and p.away ~= '1' and p.stays == '1' and not moved then
		place_park(member, p)
	elseif p.away == '1' or p.aside ~= '0' then
		place_unpark(member, p)
		call('HSET', base .. 'p:' .. member, 'away', '0', 'aside', '0')
		call('ZADD', base .. 'q:' .. p.lane, p.seq, member)
	end
end

local function lease_end(member, l)
	if l.seat ~= '1' then
		call('HINCRBY', base .. 'leases', l.node, -1)
	end
	call('ZREM', base .. 'lease', member)
	call('DEL', base .. 'l:' .. member)
end

local function lease_renew(member)
	call('ZADD', base .. 'lease', whole(now + lease_time), member)
end

-- Nobody came. Who was sent to another node, and did not get there, has its place again when it is heard of.
local function lease_expire(member, l)
	lease_end(member, l)
	if l.node ~= l.from then
		call('HSET', base .. 'p:' .. member, 'lane', l.lane, 'seq', l.seq, 'node', l.from, 'sid', l.sid,
			'seat', l.seat, 'stays', l.stays, 'away', '1', 'aside', '1')
		call('ZADD', base .. 'seen', whole(now), member)
	end
end

-- ---- what the node says ----

local at, count = 30, {}
for i = 1, 7 do
	count[i] = tonumber(ARGV[22 + i])
end

local function each(n, fields, fn)
	for i = 1, n do
		fn(i, ARGV[at], ARGV[at + 1], ARGV[at + 2], ARGV[at + 3], ARGV[at + 4])
		at = at + fields
	end
end

each(count[1], 2, function(_, member, sid)
	local l = lease_of(member)
	if l and l.sid == sid then
		lease_end(member, l)
		return
	end
	-- That it was let in is lost, with a master that died; it is in all the same.
	local p = place_of(member)
	if p and p.sid == sid then
		place_drop(member, p)
	end
end)
each(count[2], 2, function(_, member, sid)
	local l = lease_of(member)
	if l and l.sid == sid then
		lease_end(member, l)
		place_put(member, l.lane, l.seq, sid, l.seat, l.stays)
	end
end)
each(count[3], 1, function(_, member)
	call('SET', base .. 'r:' .. member, '1', 'PX', ARGV[8])
end)
each(count[4], 2, function(_, member, sid)
	local p = place_of(member)
	if p and p.sid == sid then
		call('HSET', base .. 'p:' .. member, 'away', '1')
		call('ZADD', base .. 'seen', whole(now), member)
	end
end)
each(count[5], 2, function(_, member, sid)
	local p, l = place_of(member), lease_of(member)
	if p and p.sid == sid then
		place_drop(member, p)
	end
	if l and l.sid == sid then
		lease_end(member, l)
	end
end)

-- Who was let in already, and asks: the lease is its own wherever it comes from.
local function leased(member, l, sid, tied)
	tied = tied or l.stays
	call('HSET', base .. 'l:' .. member, 'sid', sid, 'from', node, 'stays', tied)
	lease_renew(member)
	if l.node == node then
		return 'ADMIT'
	end
	local address = tied == '0' and turns[l.node] and address_of(l.node)
	if address then
		tell(node, 'M ' .. sid .. ' ' .. l.node .. ' ' .. address)
		return 'MOVE'
	end
end

local beats = {}
each(count[6], 2, function(i, member, sid)
	local p, word = place_of(member), nil
	if p and p.sid == sid then
		place_wake(member, p)
	elseif p then
		word = 'REPLACED'
	else
		local l = lease_of(member)
		if not l then
			word = 'LOST'
		elseif l.sid ~= sid then
			word = 'REPLACED'
		else
			word = leased(member, l, sid)
			if not word then
				lease_end(member, l)
				place_put(member, l.lane, l.seq, sid, '0', l.stays)
			end
		end
	end
	if word then
		beats[#beats + 1] = whole(i)
		beats[#beats + 1] = word
	end
end)

local news = {}
local function answer(word, lane, seq)
	news[#news + 1], news[#news + 2], news[#news + 3] = word, lane or '0', seq or '0'
end

each(count[7], 5, function(_, member, sid, lane, seq, flags)
	local seat, again = flags:find('s', 1, true) and '1' or '0', flags:find('r', 1, true)
	local tied, back = flags:find('t', 1, true) and '1' or stays, flags:find('h', 1, true)
	local l, p = lease_of(member), place_of(member)
	if l then
		if again and l.sid ~= sid then
			return answer('REPLACED')
		end
		if l.sid ~= sid then
			tell(l.from, 'R ' .. l.sid)
		end
		local word = not back and leased(member, l, sid, tied)
		if word then
			return answer(word, l.lane, l.seq)
		end
		lease_end(member, l)
		place_put(member, l.lane, l.seq, sid, seat, tied)
		return answer('PLACE', l.lane, l.seq)
	end
	if p then
		if again and p.sid ~= sid then
			return answer('REPLACED')
		end
		if p.sid ~= sid and p.away ~= '1' then
			tell(p.node, 'R ' .. p.sid)
		end
		call('HSET', base .. 'p:' .. member, 'sid', sid, 'node', node, 'seat', seat, 'stays', tied)
		place_wake(member, p, true)
		return answer('PLACE', p.lane, p.seq)
	end
	if flags:find('p', 1, true) and epoch and call('EXISTS', base .. 'fresh') == 0 then
		seq = '0'
	end
	if seq == '0' then
		if not epoch then
			return answer('WAIT')
		end
		if tonumber(lane) == NORMAL and call('EXISTS', base .. 'r:' .. member) == 1 then
			lane = whole(RETURNING)
		end
		seq = whole(call('HINCRBY', base .. 'seq', lane, 1))
	end
	place_put(member, lane, seq, sid, seat, tied)
	answer('PLACE', lane, seq)
end)

-- ---- the operators' word ----

-- A node may know a newer one than a Redis that was emptied, or has lost its last writes.
if tonumber(ARGV[17]) > tonumber(call('HGET', base .. 'state', 'at') or '0') then
	call('HSET', base .. 'state', 'at', ARGV[17], 'state', ARGV[18], 'rate', ARGV[19], 'author', ARGV[20],
		'reason', ARGV[21])
end
local word = call('HMGET', base .. 'state', 'state', 'rate', 'at', 'author', 'reason')
local state = word[1] or 'open'
if state == 'throttled' then
	rate = math.min(rate, tonumber(word[2]))
end
burst = math.max(1, math.min(burst, rate)) -- never more than a second's worth

-- ---- an emptied Redis ----

if not epoch then
	call('HSETNX', base .. 'rebuild', 'since', whole(now))
	local since = tonumber(call('HGET', base .. 'rebuild', 'since'))
	if ARGV[15] == '1' then
		call('SADD', base .. 'rebuilt', node)
	end
	local complete = ARGV[16] ~= '?'
	for name in string.gmatch(ARGV[16], '%S+') do
		complete = complete and call('SISMEMBER', base .. 'rebuilt', name) == 1
	end
	if complete or now - since >= rebuild_time then
		epoch = ARGV[4]
		call('SET', base .. 'epoch', epoch)
		call('DEL', base .. 'rebuild', base .. 'rebuilt')
		call('SET', base .. 'fresh', '1', 'PX', ARGV[8])
		-- What was let in just before is not known: the bucket begins empty.
		call('HSET', base .. 'bucket', 'tokens', '0', 'at', whole(now))
		for lane = 1, LANES do
			local first = call('ZRANGE', base .. 'q:' .. lane, 0, 0, 'WITHSCORES')
			if first[2] then
				call('HSET', base .. 'head', lane, whole(tonumber(first[2]) - 1))
			end
		end
	end
end

-- ---- time ----

local clock = call('HMGET', base .. 'clock', 'last', 'hold_places', 'hold_leases', 'hold_nodes')
local last = tonumber(clock[1] or whole(now))
local hold_places, hold_leases = tonumber(clock[2] or '0'), tonumber(clock[3] or '0')
local hold_nodes = tonumber(clock[4] or '0')
-- Nobody called for a while (Redis was away), or it is another machine's clock: who could not be heard of is
-- not late, and what was let in last may be unknown here.
local gap = now - last > GAP or last - now > GAP
if gap then
	hold_places, hold_leases, hold_nodes = now + grace, now + lease_time, now + ALIVE
	call('HSET', base .. 'clock', 'hold_places', whole(hold_places), 'hold_leases', whole(hold_leases),
		'hold_nodes', whole(hold_nodes))
	call('HSET', base .. 'bucket', 'tokens', '0', 'at', whole(now))
end
call('HSET', base .. 'clock', 'last', whole(now))

-- What another machine's clock has put into the future.
for _, member in ipairs(call('ZRANGEBYSCORE', base .. 'seen', '(' .. whole(now), '+inf', 'LIMIT', 0, REAP_MAX)) do
	call('ZADD', base .. 'seen', whole(now), member)
end
for _, member in ipairs(call('ZRANGEBYSCORE', base .. 'lease', '(' .. whole(now + lease_time), '+inf', 'LIMIT', 0,
	REAP_MAX)) do
	lease_renew(member)
end
if now >= hold_places then
	for _, member in ipairs(call('ZRANGEBYSCORE', base .. 'seen', '-inf', whole(now - grace), 'LIMIT', 0,
		REAP_MAX)) do
		local p = place_of(member)
		if p then
			place_drop(member, p)
		else
			call('ZREM', base .. 'seen', member)
		end
		expired_places = expired_places + 1
	end
end
if now >= hold_leases then
	for _, member in ipairs(call('ZRANGEBYSCORE', base .. 'lease', '-inf', whole(now), 'LIMIT', 0, REAP_MAX)) do
		local l = lease_of(member)
		if l then
			lease_expire(member, l)
		else
			call('ZREM', base .. 'lease', member)
		end
		expired_leases = expired_leases + 1
	end
end

-- ---- room ----

local leases, room, open_to, believed, reported, room_all, error_here = {}, {}, {}, 0, 0, 0, 0
do
	local all = call('HGETALL', base .. 'leases')
	for i = 1, #all, 2 do
		leases[all[i]] = math.max(0, tonumber(all[i + 1]))
	end
	for name in pairs(turns) do
		local n = call('HMGET', base .. 'n:' .. name, 'boot', 'room', 'places', 'admitted', 'address')
		local d = call('HMGET', base .. 'd:' .. name, 'boot', 'total')
		local held = leases[name] or 0
		-- Let in since that report: not in its figures.
		local since = tonumber(d[2] or '0') - (n[1] == d[1] and tonumber(n[4] or '0') or 0)
		since = math.max(0, since)
		if n[1] then
			reported = reported + tonumber(n[3] or '0')
		end
		if name == node then
			room[name] = tonumber(ARGV[12]) - held
			believed = believed + tonumber(ARGV[13]) + held
			if n[1] == boot then
				error_here = tonumber(n[3] or '0') + since - tonumber(ARGV[13])
			end
		elseif n[1] then
			room[name] = tonumber(n[2] or '0') - since - held
			believed = believed + tonumber(n[3] or '0') + since + held
		end
		open_to[name] = n[5] and n[5] ~= '' and n[5] or nil
		if room[name] then
			room_all = room_all + math.max(0, room[name])
		end
	end
end

local dry = {}
do
	local all = call('HGETALL', base .. 'dry')
	for i = 1, #all, 2 do
		dry[all[i]] = tonumber(all[i + 1])
	end
	for name, places in pairs(room) do
		if places > 0 and dry[name] then
			call('HDEL', base .. 'dry', name)
			dry[name] = nil
		elseif places <= 0 and (not dry[name] or dry[name] > now) then
			call('HSET', base .. 'dry', name, whole(now))
			dry[name] = now
		end
	end
end

-- Most room; where it waits already, if that has nearly as much: a move costs the client a connection.
local function destination(p)
	if p.seat == '1' then
		return p.node
	end
	local own, best, name = room[p.node] or 0, 0, nil
	if p.stays == '1' then
		return own > 0 and p.node or nil
	end
	for other, places in pairs(room) do
		if open_to[other] and (places > best or (places == best and name and other < name)) then
			best, name = places, other
		end
	end
	if own > 0 and own * 4 >= best * 3 then
		return p.node
	end
	return best > 0 and name or nil
end

-- ---- who waits for a node of its own ----

local parked, crowded = {}, {}
for _, name in ipairs(call('SMEMBERS', base .. 'full')) do
	local key, lane, where = base .. 'w:' .. name, name:match('^(%d+):(.*)$')
	local many = call('ZCARD', key)
	if (room[where] or 0) > 0 then
		-- Into the queue, where they stand before all that came later.
		for _, member in ipairs(call('ZRANGE', key, 0, math.min(batch, room[where]) - 1)) do
			local p = place_of(member)
			call('ZREM', key, member)
			if p and p.aside == '2' and p.lane == lane and p.node == where then
				call('HSET', base .. 'p:' .. member, 'aside', '0')
				call('ZADD', base .. 'q:' .. lane, p.seq, member)
			end
			many = many - 1
		end
	end
	if many == 0 then
		call('SREM', base .. 'full', name)
	end
	crowded[name] = many > 0
	parked[lane] = (parked[lane] or 0) + many
end

-- Nobody waits long for a node that is full for a moment; behind others that are parked, not at all.
local function place_parks(p)
	local since = dry[p.node]
	return crowded[p.lane .. ':' .. p.node] or (since and now - since >= ALIVE)
end

-- ---- who is let in ----

local bucket = call('HMGET', base .. 'bucket', 'tokens', 'at')
local tokens, filled = tonumber(bucket[1] or '0'), tonumber(bucket[2] or whole(now))
tokens = math.min(burst, tokens + math.max(0, now - filled) * rate / 1000000)

local turn_of, served = {}, 0
if epoch and state ~= 'closed' and tokens >= 1 then
	local strides = call('HGETALL', base .. 'stride')
	for i = 1, #strides, 2 do
		turn_of[strides[i]] = tonumber(strides[i + 1])
	end
	served = turn_of.v or 0
	local blocked, looks = {}, 4 * batch + ASIDE_MORE
	while popped < batch and tokens >= 1 and looks > 0 do
		looks = looks - 1
		local lane, first
		for i = 1, LANES do
			local name = whole(i)
			-- A lane that had nobody has saved nothing up.
			local turn = math.max(turn_of[name] or 0, served)
			if not blocked[i] and (not lane or turn < turn_of[lane]) then
				local head = call('ZRANGE', base .. 'q:' .. name, 0, 0, 'WITHSCORES')
				if head[1] then
					turn_of[name] = turn
					lane, first = name, head
				else
					blocked[i] = true
				end
			end
		end
		if not lane then
			break
		end
		local member, seq = first[1], first[2]
		local p = place_of(member)
		local to = p and destination(p)
		if not p then
			call('ZREM', base .. 'q:' .. lane, member)
		elseif p.away ~= '1' and not turns[p.node] and now < hold_nodes then
			-- Its node has not found Redis again yet; those of one that was faster do not overtake it.
			blocked[tonumber(lane)] = true
		elseif p.away == '1' or not turns[p.node] then
			call('ZREM', base .. 'q:' .. lane, member)
			call('HSET', base .. 'p:' .. member, 'aside', '1')
			set_aside = set_aside + 1
		elseif not to and (room_all == 0 or not place_parks(p)) then
			blocked[tonumber(lane)] = true -- the head waits, and nobody of its lane passes it
		elseif not to then
			place_park(member, p)
			set_aside = set_aside + 1
		else
			place_drop(member, p)
			call('HSET', base .. 'l:' .. member, 'node', to, 'from', p.node, 'sid', p.sid, 'lane', lane,
				'seq', p.seq, 'seat', p.seat, 'stays', p.stays)
			lease_renew(member)
			if p.seat ~= '1' then
				call('HINCRBY', base .. 'leases', to, 1)
				room[to] = room[to] - 1
				believed = believed + 1
				room_all = room_all - 1
			end
			if to == p.node then
				tell(to, 'A ' .. p.sid)
			else
				tell(p.node, 'M ' .. p.sid .. ' ' .. to .. ' ' .. open_to[to])
			end
			if tonumber(seq) > tonumber(call('HGET', base .. 'head', lane) or '0') then
				call('HSET', base .. 'head', lane, p.seq)
			end
			served = turn_of[lane]
			turn_of[lane] = served + 1 / shares[tonumber(lane)]
			call('XADD', base .. 'let_in', 'MAXLEN', '~', LET_IN_KEPT, '*', 'who', member, 'lane', lane, 'seq', p.seq,
				'at', p.node, 'node', to)
			tokens = tokens - 1
			popped = popped + 1
		end
	end
	if popped > 0 then
		for name, turn in pairs(turn_of) do
			if name ~= 'v' then
				call('HSET', base .. 'stride', name, string.format('%.9f', turn))
			end
		end
		call('HSET', base .. 'stride', 'v', string.format('%.9f', served))
	end
end
call('HSET', base .. 'bucket', 'tokens', string.format('%.6f', tokens), 'at', whole(math.max(now, filled)))

-- ---- what the node hears ----

local waiting = call('LRANGE', base .. 'out:' .. node, 0, OUT_MAX - 1)
if #waiting > 0 then
	call('LTRIM', base .. 'out:' .. node, OUT_MAX, -1)
	for i = 1, #waiting do
		outs[#outs + 1] = waiting[i]
	end
end
local lanes = {}
for i = 1, LANES do
	lanes[#lanes + 1] = call('HGET', base .. 'head', i) or '0'
	lanes[#lanes + 1] = whole(call('ZCARD', base .. 'q:' .. i) + (parked[whole(i)] or 0))
end
return {
	{epoch and 'OK' or 'REBUILDING', epoch or '0', state, whole(rate), word[3] or '0', word[4] or '',
		word[5] or '', whole(room_all), whole(believed), whole(reported), whole(error_here),
		whole(call('ZCARD', base .. 'lease')), whole(popped), whole(expired_places), whole(expired_leases),
		whole(set_aside)},
	lanes, news, beats, outs,
}
