-- Parties of a realm: every change of any of them is one call of this script.
--
-- KEYS[1] the realm's prefix, which ends in the hash tag that all keys below share:
--   :epoch            set while the parties are whole; gone: Redis was emptied, and nothing is known
--   :restoring        whose turn it is to fill an emptied Redis, for a time
--   :version          the newest version; each event has the next one, so that none is missed unseen
--   :events           stream of what happened, for all nodes
--   :p:<party>        JSON: id, v (version), leader, m (members, who joined first first: c character,
--                     n name, map, s when it was seen last, a since when it is away, 0: it is here),
--                     w when it was to be written down last
--   :c:<character>    its party; this key decides whom a character belongs to
--   :o:<character>    hash of one who is in the game: n name, g generation (as of presence_put)
--   :n:<name>         its character
--   :i:<character>    invitations to it: hash of the inviting character to JSON: n name, p party, t until
--   :r:<character>:<request>   the answer that a request got, for whoever repeats it
-- Numbers of 64 bits are decimal text throughout: doubles, and cjson with its 14 digits, would round
-- them. Versions are epoch * 2^32 + n, below 2^53 for 2 million epochs.
--
-- ARGV[1] operation, ARGV[2] now in ms or 0 for the server's clock, ARGV[3..9] members_max, invite ms,
-- who may invite (leader or all), grace of the leader ms, of a member ms, lease of presence ms, how
-- long answers are kept ms; then what the operation takes:
--   change   act character generation name request target target-name new-party
--   arrive   character generation name map
--   here     (character generation name)*        away     (character generation)*
--   attach newest-version-that-was-read       look party-or-character-or-name
--   restore_begin token      restore_row token epoch party text     restore_end token epoch
-- Returns a list: a word, then what belongs to it, then for each party that has changed its id, its
-- version and the text that it can be restored from ("": it is no more):
--   change   result, "0"              arrive  "STATE", the number of fields that follow up to the
--            changed parties, version, party as JSON or "", (inviter, name, ms left)*
--   here, away, restore_*  "OK", "0"  attach  "OK", "3", version, id of the last event,
--            1: something that had been read was lost
--   look     "NONE", "0", or "PARTY", "2", party as JSON, now in ms
-- or {"NO_EPOCH"}, {"OTHER"} (somebody else restores), {"HAVE"} (it is whole already), {"BAD"} (a text
-- that no party can be read from: it is left out).

local base, op, now = KEYS[1], ARGV[1], tonumber(ARGV[2])
local members_max, invite_ms, all_invite = tonumber(ARGV[3]), tonumber(ARGV[4]), ARGV[5] == 'all'
local leader_grace, member_grace = tonumber(ARGV[6]), tonumber(ARGV[7])
local lease, repeat_ms = tonumber(ARGV[8]), tonumber(ARGV[9])
local arg = {unpack(ARGV, 10)}
local EVENTS_KEPT, INVITES_MAX = 8192, 8
-- party_change of common/party.h
local JOINED, LEFT, KICKED, PROMOTED, DISBANDED, AWAY, BACK, MOVED, FORGOTTEN, RESTORED =
	1, 2, 3, 4, 5, 6, 7, 8, 9, 10

if now == 0 then
	local time = redis.call('TIME')
	now = time[1] * 1000 + math.floor(time[2] / 1000)
end

local function call(...)
	return redis.call(...)
end

local function whole(number)
	return string.format('%.0f', number)
end

-- Decimal text; as in presence_put.
local function newer(a, b)
	if #a ~= #b then
		return #a > #b
	end
	return a > b
end

-- A party whose members are all away for longer than that is forgotten by everybody.
local keep_ms = whole(member_grace + 2 * lease)
local saves, saved_order = {}, {}

local function party_key(id)
	return base .. ':p:' .. id
end

local function party_of(character)
	local id = call('GET', base .. ':c:' .. character)
	local text = id and call('GET', party_key(id))
	return text and cjson.decode(text) or nil
end

local function member_of(p, character)
	for i, m in ipairs(p.m) do
		if m.c == character then
			return m, i
		end
	end
end

local function put(p)
	local text = cjson.encode(p)
	call('SET', party_key(p.id), text, 'PX', keep_ms)
	return text
end

local function event(...)
	local version = whole(call('INCR', base .. ':version'))
	call('XADD', base .. ':events', 'MAXLEN', '~', EVENTS_KEPT, '*', 'v', version, ...)
	return version
end

-- Who is not a member any more, unless it belongs elsewhere by now.
local function let_go(p, character, gone)
	gone[#gone + 1] = character
	if call('GET', base .. ':c:' .. character) == p.id then
		call('DEL', base .. ':c:' .. character)
	end
end

local function snapshot(p)
	local members = {}
	for i, m in ipairs(p.m) do
		members[i] = {c = m.c, n = m.n}
	end
	return cjson.encode({leader = p.leader, m = members})
end

local function to_save(p, text)
	if not saves[p.id] then
		saved_order[#saved_order + 1] = p.id
	end
	saves[p.id] = {p.v, text}
end

local function first_here(p)
	for _, m in ipairs(p.m) do
		if m.a == 0 then
			return m
		end
	end
end

-- The party has changed: it is kept, everybody is told, and it will be written down. One alone is no
-- party.
local function changed(p, what, subject, gone)
	local text, save = '', ''
	p.w = now
	gone = gone or {}
	-- Whose key ran out, and who has gone elsewhere since, is no member; it belongs there.
	for at = #p.m, 1, -1 do
		local belongs = call('GET', base .. ':c:' .. p.m[at].c)
		if belongs and belongs ~= p.id then
			local left = table.remove(p.m, at)
			if p.leader == left.c and #p.m > 0 then
				p.leader = (first_here(p) or p.m[1]).c
			end
		end
	end
	if #p.m < 2 then
		for _, m in ipairs(p.m) do
			let_go(p, m.c, gone)
		end
		p.m = {}
	end
	p.v = whole(tonumber(call('GET', base .. ':version') or '0') + 1) -- what event() will draw
	if #p.m > 0 then
		text = put(p)
		save = snapshot(p)
		for _, m in ipairs(p.m) do
			call('SET', base .. ':c:' .. m.c, p.id, 'PX', keep_ms)
		end
	else
		call('DEL', party_key(p.id))
	end
	event('k', 'state', 'p', p.id, 'j', text, 'g', what, 's', subject, 'x', table.concat(gone, ','))
	to_save(p, save)
end

local function answer(...)
	local out = {...}
	for _, id in ipairs(saved_order) do
		out[#out + 1] = id
		out[#out + 1] = saves[id][1]
		out[#out + 1] = saves[id][2]
	end
	return out
end

local function remove(p, character, what, subject)
	local gone, _, at = {}, member_of(p, character)
	table.remove(p.m, at)
	let_go(p, character, gone)
	if p.leader == character and #p.m > 0 then
		p.leader = (first_here(p) or p.m[1]).c
	end
	changed(p, what, subject or character, gone)
end

-- What time has done to a party since it was looked at last. Each touch of a member comes here.
local function sweep(p)
	for _, m in ipairs(p.m) do
		if m.a == 0 and m.s + lease < now then -- its node has died
			m.a = m.s
			changed(p, AWAY, m.c)
		end
	end
	local at = 1
	while p.m[at] do
		local m = p.m[at]
		if m.a > 0 and now - m.a > member_grace then
			remove(p, m.c, FORGOTTEN)
		else
			at = at + 1
		end
	end
	if #p.m == 0 then
		return
	end
	local leader, heir = member_of(p, p.leader), first_here(p)
	if leader.a > 0 and now - leader.a > leader_grace and heir then
		p.leader = heir.c
		changed(p, PROMOTED, heir.c)
	end
end

-- The character is in the game: said again and again. False: a newer login is, elsewhere.
local function here(character, generation, name)
	local key = base .. ':o:' .. character
	local there = call('HGET', key, 'g')
	if there and newer(there, generation) then
		return false
	end
	call('HSET', key, 'n', name, 'g', generation)
	call('PEXPIRE', key, whole(lease))
	call('SET', base .. ':n:' .. name, character, 'PX', whole(lease))
	return true
end

local function touch(character, map)
	local p = party_of(character)
	local m = p and member_of(p, character)
	if not m then
		return nil
	end
	local what
	if m.a ~= 0 then
		what = BACK
	elseif map and m.map ~= map then
		what = MOVED
	end
	m.a, m.s, m.map = 0, now, map or m.map
	if what then
		changed(p, what, character)
	else
		if now - (p.w or 0) > member_grace / 2 then -- so that what is written down stays good
			p.w = now
			to_save(p, snapshot(p))
		end
		put(p)
		call('PEXPIRE', base .. ':c:' .. character, keep_ms)
	end
	sweep(p)
	return #p.m > 0 and member_of(p, character) and p or nil
end

-- The invitations that still stand; the others go.
local function invites_to(character)
	local key, list = base .. ':i:' .. character, {}
	local all = call('HGETALL', key)
	for i = 1, #all, 2 do
		local invite = cjson.decode(all[i + 1])
		if invite.t > now then
			invite.c = all[i]
			list[#list + 1] = invite
		else
			call('HDEL', key, all[i])
		end
	end
	table.sort(list, function(a, b)
		return a.t < b.t or (a.t == b.t and a.c < b.c)
	end)
	return list
end

local function invite_from(character, inviter)
	for _, invite in ipairs(invites_to(character)) do
		if invite.c == inviter then
			return invite
		end
	end
end

local function may_invite(p, character)
	return all_invite or p.leader == character
end

local act = {}

function act.invite(character, name, target, target_name)
	if target == '0' then
		target = call('GET', base .. ':n:' .. target_name) or ''
	end
	if target == character then
		return 'TARGET_ONESELF'
	end
	if target == '' or call('EXISTS', base .. ':o:' .. target) == 0 then
		return 'TARGET_OFFLINE'
	end
	local p = party_of(character)
	if p and not may_invite(p, character) then
		return 'NOT_LEADER'
	end
	if p and #p.m >= members_max then
		return 'FULL'
	end
	if party_of(target) then
		return 'TARGET_IN_PARTY'
	end
	local waiting = invites_to(target)
	for _, invite in ipairs(waiting) do
		if invite.c == character then
			return 'ALREADY_INVITED'
		end
	end
	if #waiting >= INVITES_MAX then
		return 'TOO_MANY_INVITES'
	end
	local key = base .. ':i:' .. target
	call('HSET', key, character, cjson.encode({n = name, p = p and p.id or '', t = now + invite_ms}))
	call('PEXPIRE', key, whole(invite_ms))
	event('k', 'invite', 't', target, 'c', character, 'n', name, 'l', whole(invite_ms), 'd', '0')
	return 'DONE'
end

function act.accept(character, name, inviter, _, new_party)
	if party_of(character) then
		return 'ALREADY_IN_PARTY'
	end
	local invite = invite_from(character, inviter)
	if not invite then
		return 'NO_INVITE'
	end
	local key = base .. ':i:' .. character
	local p = party_of(inviter)
	-- Into the party that it was meant for, or the one that the inviter has made since.
	if (invite.p ~= '' and not (p and p.id == invite.p)) or (p and not may_invite(p, inviter)) then
		call('HDEL', key, inviter)
		return 'NO_INVITE'
	end
	if p and #p.m >= members_max then
		return 'FULL'
	end
	if not p then
		if call('EXISTS', base .. ':o:' .. inviter) == 0 then
			call('HDEL', key, inviter)
			return 'TARGET_OFFLINE'
		end
		if call('EXISTS', party_key(new_party)) == 1 then
			return 'UNAVAILABLE' -- the number is taken: with another one it will do
		end
		p = {id = new_party, leader = inviter,
			m = {{c = inviter, n = invite.n, map = '', s = now, a = 0}}}
	end
	p.m[#p.m + 1] = {c = character, n = name, map = '', s = now, a = 0}
	for _, m in ipairs({p.m[1], p.m[#p.m]}) do -- a party that is gone may have left its number there
		if not party_of(m.c) then
			call('SET', base .. ':c:' .. m.c, p.id)
		end
	end
	for _, other in ipairs(invites_to(character)) do
		if other.c ~= inviter then
			event('k', 'invite', 't', character, 'c', other.c, 'n', other.n, 'l', '0', 'd', '0')
		end
	end
	call('DEL', key)
	changed(p, JOINED, character)
	return 'DONE'
end

function act.decline(character, name, inviter)
	if not invite_from(character, inviter) then
		return 'NO_INVITE'
	end
	call('HDEL', base .. ':i:' .. character, inviter)
	event('k', 'invite', 't', inviter, 'c', character, 'n', name, 'l', '0', 'd', '1')
	return 'DONE'
end

function act.leave(character)
	local p = party_of(character)
	if not p then
		return 'NOT_IN_PARTY'
	end
	remove(p, character, LEFT)
	return 'DONE'
end

-- What only a leader does, to a member.
local function led(character, target, what)
	local p = party_of(character)
	if not p then
		return 'NOT_IN_PARTY'
	end
	if p.leader ~= character then
		return 'NOT_LEADER'
	end
	if target == character then
		return 'TARGET_ONESELF'
	end
	if not member_of(p, target) then
		return 'TARGET_NOT_MEMBER'
	end
	what(p)
	return 'DONE'
end

function act.kick(character, _, target)
	return led(character, target, function(p)
		remove(p, target, KICKED)
	end)
end

function act.promote(character, _, target)
	return led(character, target, function(p)
		p.leader = target
		changed(p, PROMOTED, target)
	end)
end

function act.disband(character)
	local p = party_of(character)
	if not p then
		return 'NOT_IN_PARTY'
	end
	if p.leader ~= character then
		return 'NOT_LEADER'
	end
	local gone = {}
	for _, m in ipairs(p.m) do
		let_go(p, m.c, gone)
	end
	p.m = {}
	changed(p, DISBANDED, character, gone)
	return 'DONE'
end

local ops = {}

function ops.change(name_of_act, character, generation, name, request, target, target_name, new_party)
	local key = base .. ':r:' .. character .. ':' .. request
	local before = call('GET', key)
	if before then
		return answer(before, '0')
	end
	if not act[name_of_act] then
		return answer('NO_SUCH_ACT', '0')
	end
	here(character, generation, name)
	touch(character)
	local result = act[name_of_act](character, name, target, target_name, new_party)
	if result ~= 'UNAVAILABLE' then
		call('SET', key, result, 'PX', whole(repeat_ms))
	end
	return answer(result, '0')
end

function ops.arrive(character, generation, name, map)
	local out, p = {'STATE', 0, '0', ''}
	if here(character, generation, name) then
		p = touch(character, map)
	else
		p = party_of(character)
	end
	-- As of now, not of the party's last change: a shard may know a later one that Redis has lost.
	out[3] = whole(tonumber(call('GET', base .. ':version') or '0'))
	if p then
		out[4] = cjson.encode(p)
	end
	for _, invite in ipairs(invites_to(character)) do
		out[#out + 1] = invite.c
		out[#out + 1] = invite.n
		out[#out + 1] = whole(invite.t - now)
	end
	out[2] = whole(#out - 2)
	return answer(unpack(out))
end

function ops.here(...)
	local list = {...}
	for i = 1, #list, 3 do
		if here(list[i], list[i + 1], list[i + 2]) then
			touch(list[i])
		end
	end
	return answer('OK', '0')
end

function ops.away(...)
	local list = {...}
	for i = 1, #list, 2 do
		local character, key = list[i], base .. ':o:' .. list[i]
		local there = call('HMGET', key, 'g', 'n')
		if there[1] == list[i + 1] then
			call('DEL', key)
			if call('GET', base .. ':n:' .. there[2]) == character then
				call('DEL', base .. ':n:' .. there[2])
			end
			local p = party_of(character)
			local m = p and member_of(p, character)
			if m and m.a == 0 then
				m.a = now
				changed(p, AWAY, character)
				sweep(p)
			end
		end
	end
	return answer('OK', '0')
end

-- A Redis that is behind what a node has read has lost something: a replica took over, or its last
-- second was not on disk. Then versions go on above what was read, so that what Redis says now is
-- newer than what it said before, to shards and in PostgreSQL.
function ops.attach(newest)
	local lost = tonumber(call('GET', base .. ':version') or '0') < tonumber(newest)
	if lost then
		call('SET', base .. ':version', whole(tonumber(newest) + 1))
	end
	local last = call('XREVRANGE', base .. ':events', '+', '-', 'COUNT', 1)
	return answer('OK', '3', call('GET', base .. ':version') or '0', last[1] and last[1][1] or '0-0',
		lost and '1' or '0')
end

-- For an operator: nothing is touched.
function ops.look(who)
	local text = call('GET', party_key(who))
	for _, character in ipairs({who, call('GET', base .. ':n:' .. who) or who}) do
		local p = not text and party_of(character)
		if p and member_of(p, character) then
			text = cjson.encode(p)
		end
	end
	if not text then
		return answer('NONE', '0')
	end
	return answer('PARTY', '2', text, whole(now))
end

function ops.restore_begin(token)
	if call('EXISTS', base .. ':epoch') == 1 then
		return {'HAVE'}
	end
	local there = call('GET', base .. ':restoring')
	if there and there ~= token then
		return {'OTHER'}
	end
	call('SET', base .. ':restoring', token, 'PX', 30000)
	return answer('OK', '0')
end

local function epoch_is(epoch)
	local first = tonumber(epoch) * 4294967296
	if tonumber(call('GET', base .. ':version') or '0') < first then
		call('SET', base .. ':version', whole(first))
	end
end

local function is_snapshot(row)
	if type(row) ~= 'table' or type(row.m) ~= 'table' or type(row.leader) ~= 'string' then
		return false
	end
	for _, m in ipairs(row.m) do
		if type(m) ~= 'table' or type(m.c) ~= 'string' or type(m.n) ~= 'string' then
			return false
		end
	end
	return true
end

-- Rows come with the greatest version first: who is in two of them belongs to the newer one. All are
-- away from now on, until their nodes say that they are here.
function ops.restore_row(token, epoch, id, text)
	if call('GET', base .. ':restoring') ~= token then
		return {'OTHER'}
	end
	call('PEXPIRE', base .. ':restoring', 30000)
	epoch_is(epoch)
	local good, row = pcall(cjson.decode, text)
	if not good or not is_snapshot(row) then
		return {'BAD'}
	end
	local p = {id = id, leader = row.leader, m = {}}
	for _, m in ipairs(row.m) do
		local belongs = call('GET', base .. ':c:' .. m.c)
		if not belongs or belongs == id then -- an earlier try may have come so far
			p.m[#p.m + 1] = {c = m.c, n = m.n, map = '', s = now, a = now}
		end
	end
	if #p.m > 0 and not member_of(p, p.leader) then
		p.leader = p.m[1].c
	end
	changed(p, RESTORED, p.leader)
	return answer('OK', '0')
end

function ops.restore_end(token, epoch)
	if call('GET', base .. ':restoring') ~= token then
		return {'OTHER'}
	end
	epoch_is(epoch)
	call('SET', base .. ':epoch', epoch)
	call('DEL', base .. ':restoring')
	return answer('OK', '0')
end

if op:sub(1, 8) ~= 'restore_' and call('EXISTS', base .. ':epoch') == 0 then
	return {'NO_EPOCH'}
end
return ops[op](unpack(arg))
