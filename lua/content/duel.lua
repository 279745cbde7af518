-- Duel: a match rule. A room (rule: script) for two to eight: when two are there, five seconds are counted down; then
-- each is offered cards, and others each half minute. Who stands last has won. duel_test.lua plays it.

local countdown, between_offers, offer_time = 5, 30, 8 -- seconds
local cards = { "sharp blade", "iron shirt", "big heart", "light feet", "steady hand", "second wind" }

local phase, since, offered_at = "waiting", 0, 0
local fighters = {} -- those who still stand, in no order
local offers = {} -- by name: what was offered last

local function go_to(next_phase)
	phase, since = next_phase, match.seconds()
	match.hold(phase == "countdown")
	match.lock(phase ~= "waiting")
	match.fight(phase == "fight")
end

-- Three different cards for each.
local function offer(players)
	offered_at = match.seconds()
	for _, player in ipairs(players) do
		local left, choice = table.move(cards, 1, #cards, 1, {}), {}
		for i = 1, 3 do
			choice[i] = table.remove(left, math.random(#left))
		end
		offers[player.name] = choice
		match.offer(player, choice, offer_time)
	end
end

-- Those who fell in this tick share a place: the one after all who stand.
local function place_the_fallen(standing)
	for i = #fighters, 1, -1 do
		if fighters[i].health == 0 then
			match.result(fighters[i], standing + 1)
			table.remove(fighters, i)
		end
	end
end

local function fight(living)
	place_the_fallen(#living)
	if #living > 1 then
		if match.seconds() - offered_at >= between_offers then
			offer(living)
		end
		return
	end
	if living[1] then
		match.result(living[1], 1)
		map.announce(living[1].name .. " has won.")
	end
	phase = "over"
	match.finish()
end

rule {
	on_tick = function()
		local living = match.players()
		if phase == "waiting" and #living >= 2 then
			go_to("countdown")
		elseif phase == "countdown" and #living < 2 then
			go_to("waiting")
		elseif phase == "countdown" and match.seconds() - since >= countdown then
			go_to("fight")
			fighters = living
			offer(living)
		elseif phase == "fight" then
			fight(living)
		end
	end,
	on_pick = function(player, choice)
		match.boost(player, offers[player.name][choice])
	end,
	on_leave = function(player)
		for i, fighter in ipairs(fighters) do
			if fighter == player then
				table.remove(fighters, i)
				match.result(player, #fighters + 1)
				return
			end
		end
	end,
}
