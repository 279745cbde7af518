-- swscript test lua/content/cave_test.lua

content "cave.lua"

test("the king has three stages", function(world)
	local ada = world:player { name = "Ada" }
	local king = world:monster("bat king")
	world:hurt(king, ada, 100)
	expect(#world:shouted(), 0)
	world:hurt(king, ada, 80)
	expect(world:shouted()[1], "Who comes into my dark?")
	expect(king.attack, 16)
	world:hurt(king, ada, 130)
	expect(world:shouted()[2], "Then stay here for ever!")
	expect(king.health, 400 - 310 + 60)
	world:hurt(king, ada, 20)
	expect(#world:shouted(), 2)
end)

test("his screech hurts all who are near, and nobody else", function(world)
	local ada, bo = world:player { name = "Ada", x = 3 }, world:player { name = "Bo", x = 30 }
	world:hurt(world:monster("bat king"), ada, 10)
	world:seconds(7)
	expect(world:shouted()[1], "Skreeee!")
	expect(ada.health, 96)
	expect(bo.health, 100)
end)

test("who brings him down has his crown, and is known for it", function(world)
	local ada = world:player { name = "Ada" }
	world:hurt(world:monster("bat king"), ada, 1000)
	expect(world:shouted()[1], "drops 1 bat crown")
	expect(world:announced()[1], "Ada has brought the bat king down.")
	expect(ada.experience, 150 + 50)
end)

test("the next one begins at the first stage", function(world)
	local ada = world:player { name = "Ada" }
	local king = world:monster("bat king")
	world:hurt(king, ada, 200)
	world:hurt(king, ada, 1000)
	king = world:monster("bat king")
	world:hurt(king, ada, 170)
	expect(king.attack, 16)
end)
