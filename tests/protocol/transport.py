"""ENet 1.3 through the installed libenet.so.7: just what a client of docs/protocol.md needs."""

import ctypes as c

RELIABLE, UNSEQUENCED, UNRELIABLE_FRAGMENT = 1, 2, 8
CONNECT, DISCONNECT, RECEIVE = 1, 2, 3


class Address(c.Structure):
    _fields_ = [("host", c.c_uint32), ("port", c.c_uint16)]


class Packet(c.Structure):
    _fields_ = [("references", c.c_size_t), ("flags", c.c_uint32), ("data", c.c_void_p), ("length", c.c_size_t)]


class Event(c.Structure):
    _fields_ = [("type", c.c_int), ("peer", c.c_void_p), ("channel", c.c_uint8), ("data", c.c_uint32),
                ("packet", c.POINTER(Packet))]


_lib = c.CDLL("libenet.so.7")
for _name, _result, _arguments in (
        ("enet_initialize", c.c_int, []),
        ("enet_address_set_host_ip", c.c_int, [c.POINTER(Address), c.c_char_p]),
        ("enet_host_create", c.c_void_p, [c.POINTER(Address), c.c_size_t, c.c_size_t, c.c_uint32, c.c_uint32]),
        ("enet_host_connect", c.c_void_p, [c.c_void_p, c.POINTER(Address), c.c_size_t, c.c_uint32]),
        ("enet_host_service", c.c_int, [c.c_void_p, c.POINTER(Event), c.c_uint32]),
        ("enet_host_flush", None, [c.c_void_p]),
        ("enet_host_destroy", None, [c.c_void_p]),
        ("enet_packet_create", c.c_void_p, [c.c_char_p, c.c_size_t, c.c_uint32]),
        ("enet_packet_destroy", None, [c.c_void_p]),
        ("enet_peer_send", c.c_int, [c.c_void_p, c.c_uint8, c.c_void_p]),
        ("enet_peer_disconnect_later", None, [c.c_void_p, c.c_uint32]),
        ("enet_peer_disconnect_now", None, [c.c_void_p, c.c_uint32]),
        ("enet_peer_reset", None, [c.c_void_p])):
    getattr(_lib, _name).restype = _result
    getattr(_lib, _name).argtypes = _arguments
if _lib.enet_initialize() != 0:
    raise OSError("enet_initialize failed")


class Connection:
    """One host with one peer. events() never blocks longer than it is told."""

    def __init__(self, ip, port, channels=4, data=1):
        address = Address(0, port)
        if _lib.enet_address_set_host_ip(c.byref(address), ip.encode()) != 0:
            raise ValueError(f"{ip} is not an IPv4 address")
        self.host = _lib.enet_host_create(None, 1, channels, 0, 0)
        self.peer = self.host and _lib.enet_host_connect(self.host, c.byref(address), channels, data)
        if not self.peer:
            raise OSError("no ENet host")

    def events(self, timeout_ms):
        """Yields (CONNECT | DISCONNECT | RECEIVE, channel, number or bytes)."""
        event = Event()
        while self.host and _lib.enet_host_service(self.host, c.byref(event), timeout_ms) > 0:
            timeout_ms = 0
            what = event.data
            if event.type == RECEIVE:
                what = c.string_at(event.packet.contents.data, event.packet.contents.length)
                _lib.enet_packet_destroy(event.packet)
            yield event.type, event.channel, what

    def send(self, channel, data, flags):
        """False when ENet does not take it (not connected, too large)."""
        packet = _lib.enet_packet_create(data, len(data), flags)
        if _lib.enet_peer_send(self.peer, channel, packet) == 0:
            return True
        _lib.enet_packet_destroy(packet)
        return False

    def flush(self):
        _lib.enet_host_flush(self.host)

    def disconnect_later(self):
        _lib.enet_peer_disconnect_later(self.peer, 0)

    def disconnect_now(self):
        _lib.enet_peer_disconnect_now(self.peer, 0)

    def vanish(self):
        """The other side gets no word of it."""
        _lib.enet_host_destroy(self.host)
        self.host = None
