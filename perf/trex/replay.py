"""TRex stateless: a capture of stormweir-pcap, frame by frame, with the MACs that it has.

    start -f perf/trex/replay.py -p 0 -t --capture malformed.pcap --gap-us 10 --loops 0

--loops 0 has no end. TRex makes one stream of each frame: captures of some hundred frames are enough."""
import argparse

from trex_stl_lib.api import *


class Replay(object):
    def get_streams(self, port_id, direction, tunables, **kwargs):
        parser = argparse.ArgumentParser(description=__doc__)
        parser.add_argument("--capture", required=True)
        parser.add_argument("--gap-us", type=float, default=10.0)
        parser.add_argument("--loops", type=int, default=1)
        args = parser.parse_args(tunables)
        profile = STLProfile.load_pcap(
            args.capture, ipg_usec=args.gap_us, loop_count=args.loops, src_mac_pcap=True, dst_mac_pcap=True
        )
        return profile.get_streams()


def register():
    return Replay()
