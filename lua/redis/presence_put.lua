-- Says where characters are, or says it again before it expires.
-- KEYS[1] the base, as in presence_seek
-- ARGV[1] node   ARGV[2] boot   ARGV[3] expiry in ms   ARGV[4] expiry of alive in ms
-- ARGV[3i+2] realm:character   ARGV[3i+3] session   ARGV[3i+4] generation
-- The generation is the character's writer epoch, which PostgreSQL raises at each login anywhere: a
-- greater one is a newer login, and neither that nor a login under way is overwritten while its node
-- lives. An older one of another node is told to end.
-- Returns the i of those that are another node's by now.
local base, node, boot = KEYS[1], ARGV[1], ARGV[2]

-- 64-bit numbers as decimal text: Lua 5.1's doubles would round them.
local function newer(a, b)
	if #a ~= #b then
		return #a > #b
	end
	return a > b
end

local lost = {}
redis.call('SET', base .. ':alive:' .. node, boot, 'PX', ARGV[4])
for at = 5, #ARGV, 3 do
	local who, session, generation = ARGV[at], ARGV[at + 1], ARGV[at + 2]
	local key = base .. ':at:' .. who
	local there = redis.call('HMGET', key, 'node', 'boot', 'session', 'generation')
	local others = there[1] and (there[1] ~= node or there[2] ~= boot) and
		redis.call('GET', base .. ':alive:' .. there[1]) == there[2]

	if others and (there[4] == '0' or newer(there[4], generation)) then
		lost[#lost + 1] = (at - 2) / 3
	else
		if others then
			local mail = base .. ':mail:' .. there[1]
			redis.call('RPUSH', mail, there[2] .. ' ' .. there[3] .. ' ' .. who)
			redis.call('LTRIM', mail, -4096, -1)
			redis.call('PEXPIRE', mail, 60000)
		end
		redis.call('HSET', key, 'node', node, 'boot', boot, 'session', session,
			'generation', generation)
		redis.call('PEXPIRE', key, ARGV[3])
	end
end
return lost
