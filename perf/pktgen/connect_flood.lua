-- connect_flood.lua: one real ENet CONNECT of the capture after the other, while the rate climbs from
-- a hundredth of SW_RATE to SW_RATE. The capture has one source for each CONNECT; none acknowledges.
--   stormweir-pcap connect connect.pcap --count 100000
--   pktgen -l 0-2 -- -P -m "[1:2].0" -s 0:connect.pcap -f perf/pktgen/connect_flood.lua
-- The server answers each with at most as many bytes: packets back are never more than sent.
package.path = package.path .. ";perf/pktgen/?.lua"
local common = require("common")

common.prepare()
pktgen.pcap(common.port, "on")
for _, share in ipairs({ 0.01, 0.1, 1 }) do
	pktgen.set(common.port, "rate", common.rate * share)
	local sent, came = common.run()
	print(string.format("rate %g %%: connects sent %d, answers %d", common.rate * share, sent, came))
end
pktgen.pcap(common.port, "off")
pktgen.screen("on")
