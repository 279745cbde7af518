-- A login asks for its character, so that no two nodes play one at a time: it is reserved for the
-- login unless a node that lives has it; that node is told to end it.
-- KEYS[1] the base, which ends in the hash tag that all keys below share:
--   :alive:<node>             its boot id, while it beats
--   :at:<realm>:<character>   hash: node, boot, session, generation ("0": a login under way)
--   :mail:<node>              list for that node: boot, session and character of a stay to end
-- ARGV[1] realm:character   ARGV[2] node   ARGV[3] boot   ARGV[4] session   ARGV[5] expiry in ms
-- ARGV[6] "1": reserve in any case; whoever has it has had its time   ARGV[7] expiry of alive in ms
-- ARGV[8] "0", or the generation that the login is of: whoever has it by a newer one keeps it, and whoever is
--   under way to it is waited for, in any case
-- Returns {"OURS"}, {"HELD", node}, or {"NEWER", node}.
local base, who, node, boot, session = KEYS[1], ARGV[1], ARGV[2], ARGV[3], ARGV[4]
local key = base .. ':at:' .. who
local there = redis.call('HMGET', key, 'node', 'boot', 'session', 'generation')
redis.call('SET', base .. ':alive:' .. node, boot, 'PX', ARGV[7]) -- after Redis was emptied: before its beat
local others = there[1] and (there[1] ~= node or there[2] ~= boot)

-- 64-bit numbers as decimal text: Lua 5.1's doubles would round them.
local function newer(a, b)
	if #a ~= #b then
		return #a > #b
	end
	return a > b
end

if others and redis.call('GET', base .. ':alive:' .. there[1]) == there[2] then
	if ARGV[8] ~= '0' and there[4] == '0' then
		return {'HELD', there[1]} -- nobody is told: that login goes first, and may come to nothing
	end
	if ARGV[8] ~= '0' and newer(there[4], ARGV[8]) then
		return {'NEWER', there[1]}
	end
	local mail = base .. ':mail:' .. there[1]
	redis.call('RPUSH', mail, there[2] .. ' ' .. there[3] .. ' ' .. who)
	redis.call('LTRIM', mail, -4096, -1)
	redis.call('PEXPIRE', mail, 60000)
	if ARGV[6] ~= '1' then
		return {'HELD', there[1]}
	end
end
redis.call('DEL', key)
redis.call('HSET', key, 'node', node, 'boot', boot, 'session', session, 'generation', '0')
redis.call('PEXPIRE', key, ARGV[5])
return {'OURS'}
