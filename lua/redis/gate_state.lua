-- An operator's word on the gate: it stands for all nodes, until the next.
-- KEYS[1] the prefix of gate_turn.lua
-- ARGV[1] open, closed or throttled   ARGV[2] rate of throttled, else 0   ARGV[3] author   ARGV[4] reason
-- Returns what was said before: state, rate, author, reason.
-- Also while Redis is being rebuilt: a word has no epoch, the newest stands.
local key = KEYS[1] .. 'state'
local time = redis.call('TIME')
local before = redis.call('HMGET', key, 'state', 'rate', 'author', 'reason', 'at')
local now = time[1] * 1000000 + time[2]
now = math.max(now, tonumber(before[5] or '0') + 1)
redis.call('HSET', key, 'state', ARGV[1], 'rate', ARGV[2], 'author', ARGV[3], 'reason', ARGV[4],
	'at', string.format('%.0f', now))
return {before[1] or 'open', before[2] or '0', before[3] or '', before[4] or ''}
