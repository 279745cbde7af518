-- swscript test lua/content/meadow_test.lua

content "meadow.lua"

test("the letter is brought", function(world)
	local ada = world:player { name = "Ada" }
	world:click("Old Tom", ada, { "Not today." })
	expect(ada:quest("letter"), "new")
	world:click("Old Tom", ada, { "I will." })
	expect(ada.last, "Here it is. He walks around the square.")
	expect(ada:count("sealed letter"), 1)
	world:click("Watchman", ada)
	expect(ada:quest("letter"), "done")
	expect(ada:count("sealed letter"), 0)
	expect(ada.gold, 15)
end)

test("Old Tom greets, and counts", function(world)
	local ada = world:player { name = "Ada" }
	world:click("Old Tom", ada)
	expect(world:said(ada)[1], "Mind the storm, Ada!")
	for _ = 2, 10 do
		world:click("Old Tom", ada)
	end
	local said = table.concat(world:said(ada), "\n")
	expect(said:match("Ten talks!"), "Ten talks!")
end)

test("three wolves and two pelts", function(world)
	local ada = world:player { name = "Ada" }
	world:click("Mara", ada, { "I will." })
	for _ = 1, 3 do
		world:hurt(world:monster("wolf"), ada, 100)
	end
	world:tick()
	local _, step = ada:quest("wolves")
	expect(step, 2)
	ada:give("wolf pelt", 2)
	world:tick()
	world:click("Mara", ada)
	expect(ada.last, "Fine pelts. Take this cap, it was my father's.")
	expect(ada:count("leather cap"), 1)
	expect(ada.gold, 60)
	world:tick()
	expect(world:announced()[1], "Ada has made the nights quiet.")
end)

test("without pelts there is no reward", function(world)
	local ada = world:player { name = "Ada" }
	ada:set_quest("wolves", 3)
	world:click("Mara", ada)
	expect(ada.last, "Where are the pelts? I need two.")
	expect(ada.gold, 0)
end)

test("Bess sells and buys", function(world)
	local ada = world:player { name = "Ada", gold = 10 }
	world:click("Bess", ada, { "A loaf of bread, 3 gold." })
	expect(ada.last, "A pleasure.")
	expect(ada:count("bread"), 1)
	expect(ada.gold, 7)
	world:click("Bess", ada, { "A leather cap, 60 gold." })
	expect(ada.last, "That is not enough gold.")
	world:click("Bess", ada, { "I sell a boar hide, for 4 gold." })
	expect(ada.last, "You have none.")
	ada:give("boar hide")
	world:click("Bess", ada, { "I sell a boar hide, for 4 gold." })
	expect(ada.gold, 11)
end)

test("nothing is sold while the database is away", function(world)
	local ada = world:player { name = "Ada", gold = 10 }
	world:refuse("unavailable")
	world:click("Bess", ada, { 1 })
	expect(ada.last, "Not now.")
	expect(ada.gold, 10)
	expect(ada:count("bread"), 0)
end)

test("the watchman walks his round", function(world)
	local east, north = 0, 0
	for _ = 1, 600 do
		world:tick()
		local at = world:npc("Watchman")
		east, north = math.max(east, at.x), math.max(north, at.y)
	end
	expect(east > 20 and north > 20, true)
end)

test("a wolf leaves a pelt now and then, and not more often", function(world)
	local ada = world:player { name = "Ada" }
	for _ = 1, 60 do
		world:hurt(world:monster("wolf"), ada, 100)
		world:tick()
	end
	expect(ada:count("wolf pelt"), 1) -- within ten seconds
end)

test("the herald sends to the ring, and remembers how many", function(world)
	local ada, bo = world:player { name = "Ada" }, world:player { name = "Bo" }
	world:click("Herald", ada, { "I will." })
	expect(ada.map, "duel")
	world:click("Herald", bo, { "Not today." })
	expect(bo.last, "1 have fought in the ring. Will you?")
	expect(bo.map, "")
end)

test("the bell rings each quarter of an hour", function(world)
	world:enter(world:player { name = "Ada" })
	world:enter(world:player { name = "Bo" })
	world:seconds(901)
	expect(world:announced()[1], "The bell of the weir rings 1.")
	world:seconds(900)
	expect(#world:announced(), 2)
end)
