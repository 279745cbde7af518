-- Cave: bats, and their king, who fights by a plan. He is left alone until somebody hurts him (no sight_mm in
-- monsters.yaml). cave_test.lua plays it.

local stage, seconds = 1, 0 -- of his fight; one king, so one of each

-- He goes to a stage when he has no more than that share of his health left.
local stages = {
	{ below = 1 },
	{ below = 0.6, says = "Who comes into my dark?", attack = 16 },
	{ below = 0.25, says = "Then stay here for ever!", attack = 22, heals = 60 },
}

local function begin_again()
	stage, seconds = 1, 0
end

monster {
	kind = "bat king",
	on_hurt = function(king)
		local left = king.health / king.health_max
		local next_stage = stages[stage + 1]
		if stage > 1 and left > stages[stage].below + 0.3 then
			begin_again() -- he had gone home, and is whole again
		elseif next_stage and left <= next_stage.below then
			stage = stage + 1
			king:shout(next_stage.says)
			king:set_attack(next_stage.attack)
			if next_stage.heals then
				king:heal(next_stage.heals)
			end
		end
	end,
	on_fight = function(king)
		seconds = seconds + 1
		local near = players_near(king, 8)
		if #near == 0 then
			return
		end
		if seconds % 6 == 0 then -- a screech, which hurts whoever stands near
			king:shout("Skreeee!")
			for _, player in ipairs(near) do
				king:strike(player, 4 * stage)
			end
		elseif seconds % 10 == 0 then -- nobody is safe behind another
			king:chase(near[math.random(#near)])
		end
	end,
	on_death = function(king, player)
		begin_again()
		king:drop("bat crown", 1, player)
		player:add_experience(50)
		map.announce(player.name .. " has brought the bat king down.")
	end,
}
