-- Something that a character owns was changed from outside its stay (an operator's correction): the node that plays it
-- is told, and reads it again.
-- KEYS[1] the base, as in presence_seek; the letter in :mail:<node> is "reload", boot, session and character: a server
--   from before this word does not take it for a stay to end
-- ARGV[1] realm:character   ARGV[2] node   ARGV[3] boot, of who tells, and needs no letter
-- Returns 1 when another node was told.
local base, who = KEYS[1], ARGV[1]
local there = redis.call('HMGET', base .. ':at:' .. who, 'node', 'boot', 'session', 'generation')

-- A login under way reads it anyhow, or has just read it: told, too.
if not there[1] or (there[1] == ARGV[2] and there[2] == ARGV[3]) or
	redis.call('GET', base .. ':alive:' .. there[1]) ~= there[2] then
	return 0
end
local mail = base .. ':mail:' .. there[1]
redis.call('RPUSH', mail, 'reload ' .. there[2] .. ' ' .. there[3] .. ' ' .. who)
redis.call('LTRIM', mail, -4096, -1)
redis.call('PEXPIRE', mail, 60000)
return 1
