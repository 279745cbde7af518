-- swscript test lua/content/duel_test.lua

content "duel.lua"

-- Both are there, and the countdown is over.
local function begin(world)
	local ada, bo = world:player { name = "Ada" }, world:player { name = "Bo" }
	world:tick()
	expect(world:match().held, true)
	world:seconds(5.1)
	expect(world:match().fighting, true)
	return ada, bo
end

test("one alone waits, two are counted down", function(world)
	local ada = world:player { name = "Ada" }
	world:seconds(60)
	expect(world:match().locked, false)
	local bo = world:player { name = "Bo" }
	world:tick()
	expect(world:match().locked, true)
	world:leave(bo)
	world:tick()
	expect(world:match().locked, false)
	expect(world:match().held, false)
	expect(ada.place, 0)
end)

test("cards are chosen, or given when the time is up", function(world)
	local ada, bo = begin(world)
	expect(ada.offered, 3)
	expect(world:pick(ada, 2), true)
	expect(world:pick(ada, 2), false)
	world:seconds(9)
	expect(bo.offered, 0)
	expect(bo.attack + bo.speed_permille + bo.health > 100, true)
	world:seconds(22)
	expect(ada.offered, 3)
end)

test("who stands last has won", function(world)
	local ada, bo = begin(world)
	ada.health = 0
	world:tick()
	expect(ada.place, 2)
	expect(bo.place, 1)
	expect(world:match().finished, true)
	expect(world:announced()[1], "Bo has won.")
end)

test("who leaves has fallen", function(world)
	local ada, bo = begin(world)
	world:leave(ada)
	world:tick()
	expect(ada.place, 2)
	expect(bo.place, 1)
end)

test("who fall together share their place", function(world)
	local ada, bo = world:player { name = "Ada" }, world:player { name = "Bo" }
	local cy = world:player { name = "Cy" }
	world:tick()
	world:seconds(5.1)
	ada.health, bo.health = 0, 0
	world:tick()
	expect(ada.place, 2)
	expect(bo.place, 2)
	expect(cy.place, 1)
end)
