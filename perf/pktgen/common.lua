-- common.lua: what the Pktgen-DPDK scripts share. They take their settings from the environment:
--   SW_PORT (0)  SW_SECONDS (10)  SW_RATE (1, per cent of the line)
--   SW_SERVER_MAC  SW_SERVER_IP (10.0.0.1)  SW_SERVER_UDP  SW_CLIENT_IP (10.0.0.2)
-- Written for Pktgen 26.02 with its Lua 5.4; functions and arguments are those of the manual's page
-- "Using Lua with Pktgen".
local common = {}

-- A number of the environment.
function common.number(name, default, low, high)
	local value = tonumber(os.getenv(name) or default)
	if not value or value < low or value > high then
		error(string.format("%s: allowed are %g to %g", name, low, high))
	end
	return value
end

common.port = tostring(math.tointeger(common.number("SW_PORT", 0, 0, 63)))
common.seconds = math.tointeger(common.number("SW_SECONDS", 10, 1, 3600))
common.rate = common.number("SW_RATE", 1, 0.0001, 100)
common.server_mac = os.getenv("SW_SERVER_MAC") or "02:00:00:00:00:01"
common.server_ip = os.getenv("SW_SERVER_IP") or "10.0.0.1"
common.client_ip = os.getenv("SW_CLIENT_IP") or "10.0.0.2"

-- The port as every script wants it: quiet, at the rate, without a limit of packets.
function common.prepare()
	pktgen.screen("off")
	pktgen.stop(common.port)
	pktgen.set(common.port, "count", 0)
	pktgen.set(common.port, "rate", common.rate)
end

-- UDP over IPv4 to the server, by default to that port.
function common.to_server(udp_port)
	pktgen.set_mac(common.port, "dst", common.server_mac)
	pktgen.set_type(common.port, "ipv4")
	pktgen.set_proto(common.port, "udp")
	pktgen.set_ipaddr(common.port, "dst", common.server_ip)
	pktgen.set_ipaddr(common.port, "src", common.client_ip .. "/24")
	pktgen.set(common.port, "sport", 40000)
	pktgen.set(common.port, "dport", math.tointeger(common.number("SW_SERVER_UDP", udp_port, 1, 65535)))
end

-- Sends for SW_SECONDS, waits for the last answers, and returns what went and came.
function common.run()
	pktgen.clr()
	pktgen.start(common.port)
	pktgen.delay(common.seconds * 1000)
	pktgen.stop(common.port)
	pktgen.delay(500)
	local now = pktgen.portStats(common.port)[math.tointeger(tonumber(common.port))].curr
	return now.opackets, now.ipackets
end

return common
