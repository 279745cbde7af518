-- A login asks for its character, so that no two nodes play one at a time: it is reserved for the
-- login unless a node that lives has it; that node is told to end it.
-- KEYS[1] the base, which ends in the hash tag that all keys below share:
--   :alive:<node>             its boot id, while it beats
--   :at:<realm>:<character>   hash: node, boot, session, generation ("0": a login under way)
--   :mail:<node>              list for that node: boot, session and character of a stay to end
-- ARGV[1] realm:character   ARGV[2] node   ARGV[3] boot   ARGV[4] session   ARGV[5] expiry in ms
-- ARGV[6] "1": reserve in any case; whoever has it has had its time   ARGV[7] expiry of alive in ms
-- Returns {"OURS"}, or {"HELD", node}.
local base, who, node, boot, session = KEYS[1], ARGV[1], ARGV[2], ARGV[3], ARGV[4]
local key = base .. ':at:' .. who
local there = redis.call('HMGET', key, 'node', 'boot', 'session')
redis.call('SET', base .. ':alive:' .. node, boot, 'PX', ARGV[7]) -- after Redis was emptied: before its beat
local others = there[1] and (there[1] ~= node or there[2] ~= boot)

if others and redis.call('GET', base .. ':alive:' .. there[1]) == there[2] then
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
