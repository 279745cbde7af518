"""TRex stateless: ENet CONNECTs from random sources, never acknowledged.

    start -f perf/trex/connect_flood.py -p 0 -t --server 10.0.0.1 --udp-port 7777 --pps 100000

Each has another address, UDP port and connect id. The answers go to 10.64.0.0/10, which must lead back
to TRex's port or nowhere. The UDP checksum is left out, the IPv4 one mended."""
import argparse
import struct

from trex_stl_lib.api import *


def connect():
    """An ENet 1.3 CONNECT: no peer id yet, own id 0, MTU 1400, 4 channels."""
    head = struct.pack(">HH", 0x8FFF, 0)
    command = struct.pack(">BBH", 0x82, 0xFF, 1)
    body = struct.pack(">HBB10I", 0, 0xFF, 0xFF, 1400, 65536, 4, 0, 0, 5000, 2, 2, 0, 0)
    return head + command + body


CONNECT_ID_AT = 14 + 20 + 8 + 4 + 4 + 36


class ConnectFlood(object):
    def get_streams(self, port_id, direction, tunables, **kwargs):
        parser = argparse.ArgumentParser(description=__doc__)
        parser.add_argument("--server", default="10.0.0.1")
        parser.add_argument("--udp-port", type=int, default=7777)
        parser.add_argument("--pps", type=int, default=10000)
        args = parser.parse_args(tunables)
        base = Ether() / IP(src="10.64.0.2", dst=args.server) / UDP(sport=20000, dport=args.udp_port, chksum=0) / connect()
        vm = STLScVmRaw(
            [
                STLVmFlowVar(name="address", min_value="10.64.0.2", max_value="10.127.255.254", size=4, op="random"),
                STLVmFlowVar(name="port", min_value=1025, max_value=65000, size=2, op="random"),
                STLVmFlowVar(name="connect", min_value=0, max_value=0xFFFFFFFF, size=4, op="random"),
                STLVmWrFlowVar(fv_name="address", pkt_offset="IP.src"),
                STLVmWrFlowVar(fv_name="port", pkt_offset="UDP.sport"),
                STLVmWrFlowVar(fv_name="connect", pkt_offset=CONNECT_ID_AT),
                STLVmFixIpv4(offset="IP"),
            ]
        )
        return [STLStream(packet=STLPktBuilder(pkt=base, vm=vm), mode=STLTXCont(pps=args.pps))]


def register():
    return ConnectFlood()
