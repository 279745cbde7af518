"""TRex stateless: messages of benchmark sessions, each of which comes back.

    stormweir-echo ... --benchmark-sessions 1000 --benchmark-acknowledged yes
    start -f perf/trex/sessions.py -p 0 -t --server 10.0.0.1 --sessions 1000 --pps 1000000 --kind unsequenced

Session i has address --client + i and UDP port --client-udp-port; the payload is the same for all but
for the number of the message. unsequenced and unreliable: one stream, the sessions in turn. reliable: a
stream for each session, 64 at most, since its numbers must run without a gap; pinned to one core
(core_id), which keeps their order. A frame that is lost stops its session: ENet repeats, TRex does not.
The UDP checksum is left out, the IPv4 one mended."""
import argparse
import ipaddress
import struct

from trex_stl_lib.api import *

HEAD = 0x1101  # peer id 0x101, session 1
NUMBER_AT = 14 + 20 + 8 + 6  # of unsequenced group, unreliable and reliable number alike
RELIABLE_MAX = 64


def message(kind, size):
    if kind == "reliable":
        # With sent time, which an acknowledgement repeats.
        return struct.pack(">HHBBHH", HEAD | 0x8000, 0, 0x86, 0, 0, size) + b"\0" * size
    return struct.pack(">HBBHHH", HEAD, 0x49 if kind == "unsequenced" else 0x07, 0, 0, 0, size) + b"\0" * size


class Sessions(object):
    def get_streams(self, port_id, direction, tunables, **kwargs):
        parser = argparse.ArgumentParser(description=__doc__)
        parser.add_argument("--server", default="10.0.0.1")
        parser.add_argument("--udp-port", type=int, default=7777)
        parser.add_argument("--client", default="10.128.0.1")
        parser.add_argument("--client-udp-port", type=int, default=20000)
        parser.add_argument("--sessions", type=int, default=1000)
        parser.add_argument("--kind", choices=("unsequenced", "unreliable", "reliable"), default="unsequenced")
        parser.add_argument("--bytes", type=int, default=40)
        parser.add_argument("--pps", type=int, default=100000, help="messages a second, all sessions together")
        args = parser.parse_args(tunables)
        if args.kind == "reliable" and args.sessions > RELIABLE_MAX:
            parser.error(f"--kind reliable: at most {RELIABLE_MAX} sessions, a stream each")
        first = ipaddress.IPv4Address(args.client)
        number = [
            STLVmFlowVar(name="number", min_value=0, max_value=0xFFFF, size=2, op="inc"),
            STLVmWrFlowVar(fv_name="number", pkt_offset=NUMBER_AT),
        ]

        def stream(source, before, pps, **more):
            base = Ether() / IP(src=source, dst=args.server) / UDP(
                sport=args.client_udp_port, dport=args.udp_port, chksum=0) / message(args.kind, args.bytes)
            vm = STLScVmRaw(before + number + [STLVmFixIpv4(offset="IP")])
            return STLStream(packet=STLPktBuilder(pkt=base, vm=vm), mode=STLTXCont(pps=pps), **more)

        if args.kind == "reliable":
            return [
                stream(str(first + i), [], args.pps / args.sessions, core_id=0) for i in range(args.sessions)
            ]
        turn = [
            STLVmFlowVar(name="session", min_value=args.client, max_value=str(first + args.sessions - 1), size=4, op="inc"),
            STLVmWrFlowVar(fv_name="session", pkt_offset="IP.src"),
        ]
        return [stream(args.client, turn, args.pps)]


def register():
    return Sessions()
