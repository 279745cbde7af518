-- Where a character is, for whispers. KEYS: the character. ARGV: what is to be found there
-- ("node session generation name"), its generation, for how many ms; 0: it is no longer so.
-- A newer generation, on whatever node, is left alone.
local old = redis.call('GET', KEYS[1])
if old then
	local generation = tonumber(string.match(old, '^%S+ %d+ (%d+)')) or 0
	if generation > tonumber(ARGV[2]) then
		return 0
	end
end
if ARGV[3] == '0' then
	if old == ARGV[1] then
		redis.call('DEL', KEYS[1])
	end
	return 1
end
redis.call('SET', KEYS[1], ARGV[1], 'PX', ARGV[3])
return 1
