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
	set_range = { { port, on } },
	portStats = { { port } },
	isSending = { { port } },
	linkState = { { port } },
}
-- The functions of pktgen.range.
local which = { "start", "inc", "min", "max" }
local documented_range = {
	set_type = { { port, { "ipv4", "ipv6" } } },
	ip_proto = { { port, { "udp", "tcp", "icmp" } } },
	dst_mac = { { port, which, "mac" } },
	src_mac = { { port, which, "mac" } },
	dst_ip = { { port, which, "address" } },
	src_ip = { { port, which, "address" } },
	dst_port = { { port, which, "number" } },
	src_port = { { port, which, "number" } },
	ttl = { { port, which, "number" } },
	pkt_size = { { port, which, "number" } },
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

local calls, sending, fed, ranged = {}, false, {}, {}

-- Notes the call of a documented function, or raises.
local function checked(list, name, ...)
	local given, good = table.pack(...), false
	for _, form in ipairs(list[name] or error("pktgen: " .. name .. " is not documented", 3)) do
		local all = #form == given.n
		for i = 1, #form do all = all and fits(form[i], given[i]) end
		good = good or all
	end
	if not good then error("pktgen: " .. name .. ": wrong arguments", 3) end
	calls[#calls + 1] = name
	return given
end

local ranges = setmetatable({}, { __index = function(_, name)
	return function(...)
		local given = checked(documented_range, name, ...)
		ranged[name] = ranged[name] or {}
		ranged[name][given[2]] = given[3]
	end
end })
pktgen = setmetatable({}, { __index = function(_, name)
	if name == "range" then return ranges end
	return function(...)
		local given = checked(documented, name, ...)
		if name == "set_range" then fed.range = given[2] end
		if name == "start" and fed.range == "on" then fed.ranged = true end
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
assert(not pcall(function() pktgen.range.colour("0", "start", 1) end))
assert(not pcall(function() pktgen.range.src_ip("0", "from", "10.0.0.1") end))

package.path = folder .. "/?.lua;" .. package.path
dofile(folder .. "/" .. script)
assert(#calls > 0 and not sending, "the port is left sending")
assert(fed.ms and fed.ms > 0, "nothing was sent")
-- The first bytes of a payload, as Pktgen fills a frame with the pattern; the string ends with a zero.
local function payload_of(bytes)
	local pattern, payload = fed.pattern .. string.rep("\0", 16 - #fed.pattern), ""
	assert(#fed.pattern <= 15 and not fed.pattern:find("\0"))
	for at = 42, 42 + bytes - 1 do payload = payload .. pattern:sub(at % 16 + 1, at % 16 + 1) end
	return payload
end

if script == "probe_latency.lua" then
	local payload = payload_of(6)
	assert(payload:sub(1, 4) == "\x3f\xff\x01\x00", "no probe")
	assert(fed.size >= 42 + 22 + 4, "no room for the latency mark")
	assert(fed.dport == 1028, "latency packets go to another port")
end
if script == "sessions.lua" then
	assert(fed.ranged and fed.range == "off", "not sent in range mode, or left in it")
	local head, command, channel, reliable, group, length = string.unpack(">I2BBI2I2I2", payload_of(10))
	assert(head == 0x1101 and command == 0x49 and channel < 4 and reliable == 0, "no message of a session")
	assert(group == 0x101 and length == 257)
	for _, at in ipairs({ "start", "min", "max" }) do
		assert(ranged.pkt_size[at] == 42 + 10 + length + 4, "the message does not end where the frame does")
		assert(ranged.src_port[at] == 20000 and ranged.dst_port[at] == 7777)
		assert(ranged.dst_ip[at] == "10.0.0.1")
	end
	assert(ranged.src_ip.min == "10.128.0.1" and ranged.src_ip.max == "10.128.3.232", "not 1,000 sessions")
	assert(ranged.src_ip.inc == "0.0.0.1" and ranged.dst_ip.inc == "0.0.0.0")
	assert(ranged.src_port.inc == 0 and ranged.dst_port.inc == 0 and ranged.pkt_size.inc == 0)
	assert(ranged.dst_mac.start == "02:00:00:00:00:01")
end
print(script .. ": " .. #calls .. " calls, all documented")
