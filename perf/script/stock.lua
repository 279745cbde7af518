-- lua5.4 stock.lua w9.lua TICKS: runs the same handlers in the stock interpreter, and prints the CPU seconds that they
-- took. An NPC is a plain table: what stock Lua would have for one.
local npcs, handlers = {}, {}
local methods = {}
methods.__index = methods
function methods:walk(dx, dy)
	self.dx, self.dy = dx, dy
end

function npc(declaration)
	npcs[#npcs + 1] = setmetatable({ x = declaration.x, y = declaration.y }, methods)
	handlers[#npcs] = declaration.on_tick
end

dofile(arg[1])
local ticks = tonumber(arg[2])
local begin = os.clock()
for _ = 1, ticks do
	for i = 1, #npcs do
		handlers[i](npcs[i])
	end
end
print(os.clock() - begin)
