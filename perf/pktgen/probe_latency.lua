-- probe_latency.lua: stateless probes as fast as SW_RATE says, each of which comes back, and among
-- them Pktgen's latency packets, which are probes, too: "page latency" shows their times.
--   pktgen -l 0-2 -- -P -m "[1:2].0" -f perf/pktgen/probe_latency.lua      (in the checkout's root)
--
-- How a packet of Pktgen becomes a probe: its user pattern of 16 bytes is laid over the whole frame
-- from byte 0, again and again, then the headers are written. The payload of UDP over IPv4 without a
-- tag begins at byte 42, so it begins with byte 42 mod 16 = 10 of the pattern: 3f ff 01, and a fourth
-- byte 0, the end of the string. The latency mark lies at bytes 48 to 63 of the frame, which are 6 to
-- 21 of the payload: behind the probe's 4 bytes, and the server leaves it as it is.
--
-- Pktgen sends its latency packets to UDP port 1028 and has no command to change that, so the server
-- is to listen there (dataplane.udp_port, or stormweir-echo --udp-port 1028), and the script's default
-- for SW_SERVER_UDP is 1028.
package.path = package.path .. ";perf/pktgen/?.lua"
local common = require("common")

common.prepare()
common.to_server(1028)
pktgen.set(common.port, "size", 96)
pktgen.userPattern(common.port, "stormweir-\x3f\xff\x01")
pktgen.latency(common.port, "rate", 1000) -- one in 1,000 us
pktgen.latency(common.port, "enable")
local sent, came = common.run()
pktgen.latency(common.port, "disable")
print(string.format("probes sent %d, packets back %d; the server counts probe_replies, and" ..
	" drop_probe_rate above its limit", sent, came))
pktgen.screen("on")
pktgen.page("latency")
