-- sessions.lua: messages of benchmark sessions at SW_RATE for SW_SECONDS, each of which comes back; by
-- Pktgen's range mode, one frame for each session in turn.
--   stormweir-echo ... --benchmark-sessions 1000 --benchmark-acknowledged yes
--   pktgen -l 0-2 -- -P -m "[1:2].0" -f perf/pktgen/sessions.lua      (in the checkout's root)
-- SW_SESSIONS (1000) from address SW_SESSION_IP (10.128.0.1) on, UDP port SW_SESSION_UDP (20000): as the
-- server was told. Pktgen fills each of its buffers once and sends them round and round, so it reaches at
-- most as many sessions as it has transmit buffers.
--
-- How a frame becomes a message (see probe_latency.lua for the pattern of 16 bytes, which ends with its
-- first zero byte): the payload begins with byte 10 of the pattern,
--   11 01              peer id 0x101, session 1, no sent time
--   49 01 00 00        SEND_UNSEQUENCED on channel 1
--   01 01 01 01        group 0x101, length 0x101 = 257: no byte of a length that is shorter may be zero
-- and 257 bytes of data behind that are the rest of the frame. The group is always the same; a benchmark
-- session takes it each time. For other lengths and kinds use replay.lua with a capture `unsequenced`,
-- `unreliable` or `reliable`.
package.path = package.path .. ";perf/pktgen/?.lua"
local common = require("common")

local sessions = math.tointeger(common.number("SW_SESSIONS", 1000, 1, 1000000))
local client_udp = math.tointeger(common.number("SW_SESSION_UDP", 20000, 1, 65535))
local server_udp = math.tointeger(common.number("SW_SERVER_UDP", 7777, 1, 65535))
local first = os.getenv("SW_SESSION_IP") or "10.128.0.1"
local size = 14 + 20 + 8 + 2 + 8 + 257 + 4 -- headers, command, data, and Ethernet's checksum

-- The address so many after one.
local function plus(address, more)
	local a, b, c, d = address:match("^(%d+)%.(%d+)%.(%d+)%.(%d+)$")
	local n = ((tonumber(a) * 256 + tonumber(b)) * 256 + tonumber(c)) * 256 + tonumber(d) + more
	return string.format("%d.%d.%d.%d", n >> 24, n >> 16 & 255, n >> 8 & 255, n & 255)
end

-- One field of the range: from low to high by inc.
local function range(field, low, high, inc)
	local set = pktgen.range[field]
	set(common.port, "start", low)
	set(common.port, "inc", inc)
	set(common.port, "min", low)
	set(common.port, "max", high)
end

common.prepare()
pktgen.range.set_type(common.port, "ipv4")
pktgen.range.ip_proto(common.port, "udp")
pktgen.range.dst_mac(common.port, "start", common.server_mac)
range("src_ip", first, plus(first, sessions - 1), "0.0.0.1")
range("dst_ip", common.server_ip, common.server_ip, "0.0.0.0")
range("src_port", client_udp, client_udp, 0)
range("dst_port", server_udp, server_udp, 0)
range("pkt_size", size, size, 0)
pktgen.userPattern(common.port, "\x01\x01\x01\x01 data \x11\x01\x49\x01")
pktgen.set_range(common.port, "on")
local sent, came = common.run()
pktgen.set_range(common.port, "off")
print(string.format("messages sent %d, packets back %d; the server counts delivered, datagrams_out, and" ..
	" dropped_queue for what it could not send", sent, came))
pktgen.screen("on")
