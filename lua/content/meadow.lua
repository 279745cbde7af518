-- Meadow: the first map, with a town. Old Tom has a letter to be brought, Mara wants the wolves gone, Bess keeps a
-- shop, the watchman walks his round, and the herald calls to the ring. What the quests want and give stands in
-- quests.yaml; meadow_test.lua plays all of it.

local greetings = {
	"Mind the storm, %s!",
	"The weir holds, %s. It always has.",
	"Back again, %s? The meadow remembers you.",
}

local visits, visitors = {}, 0 -- by player name; gone when the map starts again
local visitors_max = 5000 -- then all are new again: what grows with the players needs a limit

-- Offers a quest; begins it if the player wants to. Returns whether it has begun.
local function offer(npc, player, quest, text)
	if npc:ask(player, text, { "I will.", "Not today." }) ~= 1 then
		return false
	end
	player:begin_quest(quest)
	local kept, why = commit()
	if why == "bag_full" then
		npc:say(player, "Your bag is full. Make room, and come again.")
	elseif not kept then
		npc:say(player, "Something came up. Ask me again.")
	end
	return kept
end

npc {
	name = "Old Tom",
	at = "tom", -- in maps/meadow.tmj
	appearance = 0x8a5a2b,
	on_click = function(npc, player)
		if not visits[player.name] then
			visitors = visitors + 1
			if visitors > visitors_max then
				visits, visitors = {}, 1
			end
		end
		local times = (visits[player.name] or 0) + 1
		visits[player.name] = times
		local line = times == 1 and greetings[1] or greetings[math.random(#greetings)]
		npc:say(player, line:format(player.name))
		if times == 10 then
			npc:say(player, "Ten talks! You must like old men's stories.")
		end
		if player:quest("letter") == "new"
			and offer(npc, player, "letter", "Would you bring a letter to the Watchman for me?") then
			npc:say(player, "Here it is. He walks around the square.")
		end
	end,
}

npc {
	name = "Mara",
	x = 246, y = 254,
	appearance = 0x5a7a3a,
	on_click = function(npc, player)
		local phase, step, count = player:quest("wolves")
		if phase == "new" then
			if offer(npc, player, "wolves", "Wolves, in the wood to the north-west. Will you kill three of them?") then
				npc:say(player, "Good. And bring me two of their pelts.")
			end
		elseif phase == "open" and step == 1 then
			npc:say(player, ("%d of three. Go on."):format(count))
		elseif phase == "open" and step == 2 then
			npc:say(player, "They are dead? Then get me two pelts.")
		elseif phase == "open" then
			player:complete_quest("wolves") -- takes the pelts, gives the reward; or does nothing at all
			local kept, why = commit()
			if kept then
				npc:say(player, "Fine pelts. Take this cap, it was my father's.")
			elseif why == "not_enough" then
				npc:say(player, "Where are the pelts? I need two.")
			else
				npc:say(player, "Let me see that again.")
			end
		else
			npc:say(player, "The nights are quiet now, " .. player.name .. ".")
		end
	end,
}

-- What Bess sells, and what she buys.
local goods = {
	{ text = "A loaf of bread, 3 gold.", give = "bread", gold = -3 },
	{ text = "A leather cap, 60 gold.", give = "leather cap", gold = -60 },
	{ text = "I sell a boar hide, for 4 gold.", take = "boar hide", gold = 4 },
	{ text = "I sell a bit of gel, for 1 gold.", take = "gel", gold = 1 },
}
local choices = {}
for i, good in ipairs(goods) do
	choices[i] = good.text
end

npc {
	name = "Bess",
	x = 254, y = 246,
	appearance = 0xc08060,
	on_click = function(npc, player)
		local good = goods[npc:ask(player, "What will it be?", choices)]
		if not good then
			return
		end
		if good.give then
			player:give_item(good.give)
		else
			player:take_item(good.take)
		end
		player:add_gold(good.gold)
		local kept, why = commit()
		if kept then
			npc:say(player, "A pleasure.")
		elseif why == "not_enough" then
			npc:say(player, good.give and "That is not enough gold." or "You have none.")
		else
			npc:say(player, "Not now.")
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
		npc.rest_until = tick() + 40
		local phase, step = player:quest("round")
		if player:quest("letter") == "open" then
			player:complete_quest("letter")
			if commit() then
				npc:say(player, "From Old Tom? Thank you, " .. player.name .. ". This is for your way.")
			else
				npc:say(player, "A letter? I see none.")
			end
		elseif phase == "new" then
			if offer(npc, player, "round", "Would you look around the north-east corner for me?") then
				npc:say(player, "Come back when you have seen it.")
			end
		elseif phase == "open" and step == 2 then
			player:complete_quest("round")
			npc:say(player, commit() and "All quiet? Good." or "Say that again?")
		else
			npc:say(player, "All quiet, " .. player.name .. ". Talk to Old Tom if you want stories.")
		end
	end,
}

npc {
	name = "Herald",
	x = 246, y = 246,
	appearance = 0xa08030,
	storage = { version = 1, fields = { sent = 0 } }, -- goes on when this file is loaded anew
	on_click = function(npc, player)
		local text = ("%d have fought in the ring. Will you?"):format(npc.storage.sent)
		if npc:ask(player, text, { "I will.", "Not today." }) ~= 1 then
			return
		end
		npc.storage.sent = npc.storage.sent + 1
		if not npc:send(player, "duel") then
			npc:say(player, "The ring is closed.")
		end
	end,
}

-- What lies on the ground stands in loot.yaml. One wolf in four besides leaves a whole pelt to whom it was: a fight may
-- not put it into a bag, so that is an intent, asked for after the tick; its key makes it one in ten seconds.
monster {
	kind = "wolf",
	on_death = function(wolf, player)
		if math.random(4) == 1 then
			queue_intent("pelt " .. player.name, player, { give = { ["wolf pelt"] = 1 } })
		end
	end,
}

quest {
	name = "wolves",
	on_complete = function(player)
		map.announce(player.name .. " has made the nights quiet.")
	end,
}

-- A bell each quarter of an hour, from when the first player is there.
local rings = false

map_events {
	on_enter = function()
		if not rings then
			rings = start_timer("bell", 900, 1)
		end
	end,
}

timer {
	name = "bell",
	on_time = function(quarters)
		map.announce(("The bell of the weir rings %d."):format((quarters - 1) % 12 + 1))
		start_timer("bell", 900, quarters + 1)
	end,
}
