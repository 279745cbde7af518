-- Says where characters are, or says it again before it expires.
-- KEYS[i] a character's presence key
-- ARGV[1] node   ARGV[2] expiry in ms   ARGV[2i+1] session   ARGV[2i+2] generation (of KEYS[i])
-- The generation is the character's writer epoch, which PostgreSQL raises at each login anywhere: a
-- greater one is a newer login, and is never overwritten.
-- Returns how many of the keys were another node's newer login and stay as they are.

-- 64-bit numbers as decimal text: Lua 5.1's doubles would round them.
local function newer(a, b)
	if #a ~= #b then
		return #a > #b
	end
	return a > b
end

local kept = 0
for i, key in ipairs(KEYS) do
	local generation = ARGV[2 * i + 2]
	local there = redis.call('HGET', key, 'generation')
	if there and newer(there, generation) then
		kept = kept + 1
	else
		redis.call('HSET', key, 'node', ARGV[1], 'session', ARGV[2 * i + 1],
			'generation', generation)
		redis.call('PEXPIRE', key, ARGV[2])
	end
end
return kept
