-- A node says that it lives, and what it has room for.
-- KEYS[1] its hash   KEYS[2] the set of all that ever said so   KEYS[3] the id of this life of the
-- data, which is missing after Redis was emptied
-- ARGV[1] its name   ARGV[2] expiry in ms   then field and value in turn, the same ones each time
-- Returns what the hash held before: boot, state ("" for what was not there).
local before = redis.call('HMGET', KEYS[1], 'boot', 'state')
local time = redis.call('TIME')

redis.call('HSET', KEYS[1], 'at_us', time[1] .. string.format('%06d', time[2]), 'epoch',
	redis.call('GET', KEYS[3]) or '', unpack(ARGV, 3))
redis.call('PEXPIRE', KEYS[1], ARGV[2])
redis.call('SADD', KEYS[2], ARGV[1])
return {before[1] or '', before[2] or ''}
