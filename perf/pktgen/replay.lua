-- replay.lua: a capture of stormweir-pcap over and over at SW_RATE, for SW_SECONDS: floods of malformed
-- frames (malformed, malformed6, enet, random, probe-bad) and of connects (connect).
--   stormweir-pcap malformed malformed.pcap
--   pktgen -l 0-2 -- -P -m "[1:2].0" -s 0:malformed.pcap -f perf/pktgen/replay.lua
-- Pktgen takes no notice of the times in a capture. The addresses are those in the capture.
package.path = package.path .. ";perf/pktgen/?.lua"
local common = require("common")

common.prepare()
pktgen.pcap(common.port, "on")
local sent, came = common.run()
pktgen.pcap(common.port, "off")
print(string.format("frames sent %d, packets back %d", sent, came))
pktgen.screen("on")
