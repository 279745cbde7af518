#!/usr/bin/env python3
"""Proves that the TRex profiles use nothing but documented constructors and arguments of TRex's stateless
API, and that their packets are what they say: TRex is no Debian package, so a stand-in trex_stl_lib
records what they build."""
import importlib
import os
import sys
import types
import unittest

sys.dont_write_bytecode = True
HERE = os.path.dirname(os.path.abspath(__file__))
RATES = ("pps", "bps_L1", "bps_L2", "percentage")

# Constructor: positional order of its documented arguments; how many are required.
DOCUMENTED = {
    "STLTXCont": (RATES, 0),
    "STLTXSingleBurst": (("total_pkts",) + RATES, 0),
    "STLStream": (("name", "packet", "mode", "enabled", "self_start", "isg", "flow_stats", "next", "stream_id",
                   "action_count", "random_seed", "mac_src_override_by_pkt", "mac_dst_override_mode", "dummy_stream",
                   "start_paused", "core_id"), 0),
    "STLPktBuilder": (("pkt", "pkt_buffer", "vm", "path_relative_to_profile", "build_raw", "remove_fcs"), 0),
    "STLFlowLatencyStats": (("pg_id", "vxlan", "ieee_1588"), 1),
    "STLScVmRaw": (("list_of_commands", "split_by_field", "cache_size"), 0),
    "STLVmFlowVar": (("name", "init_value", "min_value", "max_value", "size", "step", "op"), 1),
    "STLVmWrFlowVar": (("fv_name", "pkt_offset", "offset_fixup", "add_val", "is_big"), 2),
    "STLVmFixIpv4": (("offset",), 1),
    "Ether": (("dst", "src", "type"), 0),
    "IP": (("src", "dst", "id", "ttl", "tos"), 0),
    "UDP": (("sport", "dport", "len", "chksum"), 0),
}
LOAD_PCAP = ("ipg_usec", "speedup", "loop_count", "vm", "packet_hook", "split_mode", "min_ipg_usec",
             "src_mac_pcap", "dst_mac_pcap")


class Made:
    """What a constructor was given; "/" stacks layers as scapy does."""

    def __init__(self, *given, **named):
        names, required = DOCUMENTED[type(self).__name__]
        if len(given) > len(names):
            raise TypeError("too many arguments")
        self.args = dict(zip(names, given))
        for name, value in named.items():
            if name not in names or name in self.args:
                raise TypeError(f"{type(self).__name__}: {name}")
            self.args[name] = value
        if any(name not in self.args for name in names[:required]):
            raise TypeError(f"{type(self).__name__}: an argument is missing")
        self.layers = [self]

    def __truediv__(self, other):
        both = Made.__new__(type(self))
        both.args = self.args
        both.layers = self.layers + (other.layers if isinstance(other, Made) else [other])
        return both


class STLProfile:
    loaded = []

    @classmethod
    def load_pcap(cls, pcap_file, **named):
        if not set(named) <= set(LOAD_PCAP):
            raise TypeError("load_pcap")
        cls.loaded.append((pcap_file, named))
        return cls()

    def get_streams(self):
        return [API["STLStream"]()]


API = {name: type(name, (Made,), {}) for name in DOCUMENTED}
API["STLProfile"] = STLProfile


def streams(profile, *tunables):
    module = types.ModuleType("trex_stl_lib.api")
    module.__dict__.update(API)
    sys.modules["trex_stl_lib"] = types.ModuleType("trex_stl_lib")
    sys.modules["trex_stl_lib.api"] = module
    sys.path.insert(0, HERE)
    made = importlib.import_module(profile).register().get_streams(
        direction=0, port_id=0, tunables=list(tunables))
    assert all(isinstance(stream, API["STLStream"]) for stream in made)
    return made


def packet(stream):
    _, ip, udp, payload = stream.args["packet"].args["pkt"].layers
    return ip.args, udp.args, payload


class Profiles(unittest.TestCase):
    def test_stand_in_refuses(self):
        for wrong in (lambda: API["STLTXCont"](speed=1), lambda: API["STLFlowLatencyStats"](),
                      lambda: API["STLVmFixIpv4"](1, 2)):
            self.assertRaises(TypeError, wrong)

    def test_probe_latency(self):
        measured, load = streams("probe_latency", "--server", "192.0.2.1", "--load", "5")
        for stream in (measured, load):
            ip, udp, payload = packet(stream)
            self.assertEqual(ip["dst"], "192.0.2.1")
            self.assertEqual((udp["dport"], udp["chksum"]), (7777, 0))
            self.assertEqual(payload[:4], b"\x3f\xff\x01\x00")
            self.assertGreaterEqual(len(payload), 4 + 16)
        self.assertIsInstance(measured.args["flow_stats"], API["STLFlowLatencyStats"])
        self.assertNotIn("flow_stats", load.args)

    def test_connect_flood(self):
        (stream,) = streams("connect_flood", "--pps", "7")
        _, udp, payload = packet(stream)
        self.assertEqual((udp["chksum"], len(payload), payload[4]), (0, 52, 0x82))
        self.assertEqual(payload[8 + 12 : 8 + 16], b"\0\0\0\4")
        commands = stream.args["packet"].args["vm"].args["list_of_commands"]
        known = {c.args["name"] for c in commands if isinstance(c, API["STLVmFlowVar"])}
        written = {c.args["fv_name"]: c.args["pkt_offset"] for c in commands if isinstance(c, API["STLVmWrFlowVar"])}
        self.assertEqual(set(written), known)
        self.assertEqual(written["connect"], 42 + 8 + 36)
        self.assertIsInstance(commands[-1], API["STLVmFixIpv4"])

    def fields(self, stream):
        """Where a stream's variables are written, and the variables."""
        commands = stream.args["packet"].args["vm"].args["list_of_commands"]
        self.assertIsInstance(commands[-1], API["STLVmFixIpv4"])
        variables = {c.args["name"]: c.args for c in commands if isinstance(c, API["STLVmFlowVar"])}
        written = {c.args["pkt_offset"]: c.args["fv_name"] for c in commands if isinstance(c, API["STLVmWrFlowVar"])}
        self.assertEqual(set(written.values()), set(variables))
        return {at: variables[name] for at, name in written.items()}

    def test_sessions_in_turn(self):
        for kind, command in (("unsequenced", 0x49), ("unreliable", 0x07)):
            (stream,) = streams("sessions", "--kind", kind, "--sessions", "300", "--bytes", "50")
            ip, udp, payload = packet(stream)
            self.assertEqual((udp["sport"], udp["dport"], udp["chksum"]), (20000, 7777, 0))
            self.assertEqual(payload[:10], bytes((0x11, 0x01, command, 0, 0, 0, 0, 0, 0, 50)))
            self.assertEqual(len(payload), 10 + 50)
            fields = self.fields(stream)
            self.assertEqual(
                (fields["IP.src"]["min_value"], fields["IP.src"]["max_value"], fields["IP.src"]["size"]),
                ("10.128.0.1", "10.128.1.44", 4))
            self.assertEqual((fields[42 + 6]["max_value"], fields[42 + 6]["size"]), (0xFFFF, 2))
            self.assertNotIn("core_id", stream.args)

    def test_sessions_reliable(self):
        many = streams("sessions", "--kind", "reliable", "--sessions", "3", "--bytes", "50", "--pps", "30")
        for i, stream in enumerate(many):
            ip, _, payload = packet(stream)
            self.assertEqual(ip["src"], f"10.128.0.{1 + i}")
            self.assertEqual(payload[:2] + payload[4:10], bytes((0x91, 0x01, 0x86, 0, 0, 0, 0, 50)))
            self.assertEqual(len(payload), 10 + 50)
            (at, number), = self.fields(stream).items()
            # Number 0 is one that the server has; then they run, and wrap.
            self.assertEqual((at, number["size"], number["min_value"], number["max_value"]), (42 + 6, 2, 0, 0xFFFF))
            self.assertEqual((stream.args["core_id"], stream.args["mode"].args["pps"]), (0, 10))
        self.assertEqual(len(many), 3)
        self.assertRaises(SystemExit, streams, "sessions", "--kind", "reliable", "--sessions", "65")

    def test_replay(self):
        streams("replay", "--capture", "x.pcap", "--loops", "3")
        name, named = STLProfile.loaded[-1]
        self.assertEqual((name, named["loop_count"], named["dst_mac_pcap"]), ("x.pcap", 3, True))


if __name__ == "__main__":
    unittest.main()
