-- Proves that the Pktgen scripts call nothing but what Pktgen documents, with the number and kinds of
-- arguments that it takes, and that they send what they say: Pktgen itself is no Debian package, so a
-- stand-in `pktgen` records their calls.  lua5.4 scripts_test.lua FOLDER SCRIPT
local folder, script = arg[1], arg[2]
local port, on = "port", "state"

-- Pktgen 26.02: name and arguments. "port": a port list, as text; "state": on, off, enable, disable.
local documented = {
	screen = { { on } },
	start = { { port } },
	stop = { { port } },
	clr = { {} },
	delay = { { "number" } },
	page = { { "string" } },
	set = { { port, { "count", "size", "rate", "burst", "sport", "dport", "ttl", "seq_cnt", "prime" }, "number" } },
	set_mac = { { port, { "src", "dst" }, "mac" } },
	set_ipaddr = { { port, { "src", "dst" }, "address" } },
	set_type = { { port, { "ipv4", "ipv6", "vlan", "arp" } } },
	set_proto = { { port, { "udp", "tcp", "icmp" } } },
	pcap = { { port, on } },
	latency = { { port, on }, { port, { "rate", "entropy" }, "number" } },
	pattern = { { port, { "abc", "none", "user", "zero" } } },
	userPattern = { { port, "string" } },
	portStats = { { port } },
	isSending = { { port } },
	linkState = { { port } },
}
local states = { on = true, off = true, enable = true, disable = true }

local function fits(kind, value)
	if type(kind) == "table" then
		for _, word in ipairs(kind) do
			if word == value then return true end
		end
		return false
	elseif kind == port then
		return type(value) == "string" and value:match("^%d+$") ~= nil
	elseif kind == on then
		return states[value] == true
	elseif kind == "mac" then
		return type(value) == "string" and value:match("^%x%x:%x%x:%x%x:%x%x:%x%x:%x%x$") ~= nil
	elseif kind == "address" then
		return type(value) == "string" and value:match("^%d+%.%d+%.%d+%.%d+/?%d*$") ~= nil
	end
	return type(value) == kind
end

local calls, sending, fed = {}, false, {}
pktgen = setmetatable({}, { __index = function(_, name)
	local forms = documented[name] or error("pktgen." .. name .. " is not documented", 2)
	return function(...)
		local given, good = table.pack(...), false
		for _, form in ipairs(forms) do
			local all = #form == given.n
			for i = 1, #form do all = all and fits(form[i], given[i]) end
			good = good or all
		end
		if not good then error("pktgen." .. name .. ": wrong arguments", 2) end
		calls[#calls + 1] = name
		if name == "start" then sending = true elseif name == "stop" then sending = false end
		if name == "delay" and sending then fed.ms = (fed.ms or 0) + given[1] end
		if name == "userPattern" then fed.pattern = given[2] end
		if name == "set" then fed[given[2]] = given[3] end
		if name == "portStats" then
			return { n = 1, [tonumber(given[1])] = { curr = { opackets = 5, ipackets = 4 } } }
		end
	end
end })

-- The check itself can fail.
assert(not pcall(function() pktgen.noSuchThing() end))
assert(not pcall(function() pktgen.start() end))
assert(not pcall(function() pktgen.set("0", "colour", 1) end))

package.path = folder .. "/?.lua;" .. package.path
dofile(folder .. "/" .. script)
assert(#calls > 0 and not sending, "the port is left sending")
assert(fed.ms and fed.ms > 0, "nothing was sent")
if script == "probe_latency.lua" then
	-- As Pktgen fills a frame; the string ends with a zero.
	local pattern, payload = fed.pattern .. string.rep("\0", 16 - #fed.pattern), ""
	assert(#fed.pattern <= 15 and not fed.pattern:find("\0"))
	for at = 42, 47 do payload = payload .. pattern:sub(at % 16 + 1, at % 16 + 1) end
	assert(payload:sub(1, 4) == "\x3f\xff\x01\x00", "no probe")
	assert(fed.size >= 42 + 22 + 4, "no room for the latency mark")
	assert(fed.dport == 1028, "latency packets go to another port")
end
print(script .. ": " .. #calls .. " calls, all documented")
