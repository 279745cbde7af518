"""TRex stateless: probes whose latency TRex measures, and more of them as load.

    start -f perf/trex/probe_latency.py -p 0 -t --server 10.0.0.1 --udp-port 7777 --pps 1000 --load 10000

TRex marks a latency packet in its last 16 bytes and in the IPv4 identification, and does not mend the
UDP checksum: so there is none (0), which IPv4 allows. The answer has both marks untouched."""
import argparse

from trex_stl_lib.api import *

PROBE = b"\x3f\xff\x01\x00"  # a request; the rest is the sender's own
PAYLOAD_BYTES = 64


class ProbeLatency(object):
    def get_streams(self, port_id, direction, tunables, **kwargs):
        parser = argparse.ArgumentParser(description=__doc__)
        parser.add_argument("--server", default="10.0.0.1")
        parser.add_argument("--client", default="10.0.0.2")
        parser.add_argument("--udp-port", type=int, default=7777)
        parser.add_argument("--pps", type=int, default=1000, help="measured probes a second")
        parser.add_argument("--load", type=int, default=0, help="probes a second that are not measured")
        args = parser.parse_args(tunables)
        pad = b"\0" * (PAYLOAD_BYTES - len(PROBE))
        base = Ether() / IP(src=args.client, dst=args.server)
        streams = [
            STLStream(
                packet=STLPktBuilder(pkt=base / UDP(sport=40000, dport=args.udp_port, chksum=0) / (PROBE + pad)),
                mode=STLTXCont(pps=args.pps),
                flow_stats=STLFlowLatencyStats(pg_id=port_id + 1),
            )
        ]
        if args.load:
            streams.append(
                STLStream(
                    packet=STLPktBuilder(pkt=base / UDP(sport=40001, dport=args.udp_port, chksum=0) / (PROBE + pad)),
                    mode=STLTXCont(pps=args.load),
                )
            )
        return streams


def register():
    return ProbeLatency()
