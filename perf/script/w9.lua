-- What the 1,000 NPCs of W9 do each tick: the same text in the server's sandbox and in the stock interpreter,
-- where stock.lua stands in for npc { }. A patrol that looks for whom to fear and, once a second, says so.
local function patrol(number)
	local route, others = {}, {}
	for i = 1, 4 do
		route[i] = { x = (number * 7 + i * 13) % 100, y = (number * 3 + i * 29) % 100 }
	end
	for i = 1, 24 do
		others[i] = { x = (number + i * 5) % 100, y = (number + i * 11) % 100, level = (number * i) % 97 }
	end
	return { route = route, others = others, at = 1, ticks = 0 }
end

for number = 1, 1000 do
	local mind = patrol(number)
	npc {
		name = "npc " .. number,
		x = number % 100,
		y = number // 100,
		on_tick = function(npc)
			local x, y = npc.x, npc.y
			local goal = mind.route[mind.at]
			local dx, dy = goal.x - x, goal.y - y
			local away = math.sqrt(dx * dx + dy * dy)
			if away < 1 then
				mind.at = mind.at % #mind.route + 1
			end
			local feared, most = nil, 0
			for i, other in ipairs(mind.others) do
				local ox, oy = other.x - x, other.y - y
				local fear = other.level * 3 - (ox * ox + oy * oy) * 0.01
				if fear > most then
					feared, most = i, fear
				end
				other.level = (other.level * 31 + i) % 97
			end
			mind.ticks = mind.ticks + 1
			if mind.ticks % 20 == 0 then
				mind.note = ("%d fears %s by %.1f"):format(mind.ticks, tostring(feared), most)
			end
			npc:walk(dx / (away + 1), dy / (away + 1))
		end,
	}
end
