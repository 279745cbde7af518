-- Meadow: the first map. Old Tom answers a click; the watchman walks his round and greets.

local greetings = {
	"Mind the storm, %s!",
	"The weir holds, %s. It always has.",
	"Back again, %s? The meadow remembers you.",
}

local visits = {} -- by player name; gone when the map starts again

npc {
	name = "Old Tom",
	at = "tom", -- in maps/meadow.tmj
	appearance = 0x8a5a2b,
	on_click = function(npc, player)
		local times = (visits[player.name] or 0) + 1
		visits[player.name] = times
		local line = times == 1 and greetings[1] or greetings[math.random(#greetings)]
		npc:say(player, line:format(player.name))
		if times == 10 then
			npc:say(player, "Ten talks! You must like old men's stories.")
		end
	end,
}

-- Corners of the watchman's round, in metres.
local round = { { 240, 240 }, { 260, 240 }, { 260, 260 }, { 240, 260 } }

npc {
	name = "Watchman",
	at = "watchman",
	appearance = 0x30507a,
	on_tick = function(npc)
		-- He rests for a while at each corner.
		if npc.rest_until and tick() < npc.rest_until then
			npc:walk(0, 0)
			return
		end
		local at = npc.corner or 2
		local dx, dy = round[at][1] - npc.x, round[at][2] - npc.y
		if math.abs(dx) < 0.5 and math.abs(dy) < 0.5 then
			npc.corner = at % #round + 1
			npc.rest_until = tick() + math.random(20, 60)
			return
		end
		npc:walk(dx, dy)
	end,
	on_click = function(npc, player)
		npc:say(player, "All quiet, " .. player.name .. ". Talk to Old Tom if you want stories.")
		npc.rest_until = tick() + 40
	end,
}
